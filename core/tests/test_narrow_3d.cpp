// The narrow phase in space: what must hold of any two shapes, whatever their kinds.
#include "narrow/narrow_3d.hpp"

#include <algorithm>
#include <string>

#include "solids.hpp"

namespace broadphase::tests {
namespace {

std::string describe(const Solid& solid) {
  std::string text = std::to_string(static_cast<int>(solid.kind)) + " {";
  char number[40];
  for (const double value : solid.record) {
    std::snprintf(number, sizeof number, "%.17g, ", value);
    text += number;
  }
  return text + "}";
}

// Of these, the normal is the x axis, whichever comes first.
bool are_concentric(const Solid& a, const Solid& b) {
  return a.record.size() <= 4 && b.record.size() <= 4 && a.at(0) == b.at(0);
}

// The distance is the greatest gap along any direction, and the normal is a direction along which it is attained. So
// the first of these makes it no greater than that, the second no less, as far as directions at random can tell.
void check_distance(Random& random, const Solid& a, const Solid& b, double tolerance) {
  Point normal{}, back{};
  const double distance = signed_distance(a.view(), b.view(), &normal);
  CHECK(std::fabs(length(normal) - 1) < 1e-12);
  CHECK(std::fabs(gap_along(a, b, normal) - distance) <= tolerance);
  for (int k = 0; k < 20; ++k) {
    Point along = k < 10 ? random_direction(random) : add(normal, random_direction(random), std::pow(0.1, k - 9));
    along = add({}, along, 1 / length(along));
    CHECK(gap_along(a, b, along) <= distance + tolerance);
  }
  CHECK(signed_distance(b.view(), a.view(), &back) == distance);
  if (a.record != b.record && !are_concentric(a, b))
    for (std::size_t k = 0; k < 3; ++k) CHECK(back[k] == -normal[k]);
  const bool overlap = overlaps(a.view(), b.view());
  CHECK(overlaps(b.view(), a.view()) == overlap);
  if (std::fabs(distance) > tolerance) CHECK(overlap == (distance < 0));
}

void check_contact(const Solid& a, const Solid& b, double tolerance) {
  Point normal{};
  const double distance = signed_distance(a.view(), b.view(), &normal);
  const Contact<3> found = contact(a.view(), b.view());
  const Contact<3> turned = are_concentric(a, b) ? found : contact(b.view(), a.view());
  CHECK(std::fabs(found.depth + distance) <= tolerance);
  CHECK(found.normal == normal);
  CHECK(found.count >= 1 && found.count <= 4);
  CHECK(turned.count == found.count && turned.depth == found.depth);
  for (std::size_t k = 0; k < found.count; ++k) {
    CHECK(turned.points[k] == found.points[k]);
    // Midway between the surfaces, so in both shapes, unless they meet at an angle.
    const Solid point{ShapeKind::kPoint, {found.points[k][0], found.points[k][1], found.points[k][2]}};
    Point way{};
    const double slack = found.depth / 2 + tolerance + 2e-3 * std::min(a.size(), b.size());
    CHECK(signed_distance(point.view(), a.view(), &way) <= slack);
    CHECK(signed_distance(point.view(), b.view(), &way) <= slack);
  }
}

void check_impact(Random& random, const Solid& a, const Solid& b, double tolerance) {
  Point normal{}, way{};
  const double before = signed_distance(a.view(), b.view(), &way);
  const Point aim = add(add(b.at(0), a.at(0), -1), random_direction(random), b.size());
  const Point motion = add({}, aim, random.chance(0.2) ? 1e6 : 3 * random.uniform());
  const double time = impact_time(a.view(), motion, b.view(), &normal);
  const double slack = tolerance + 1e-12 * length(motion);
  if (overlaps(a.view(), b.view())) {
    CHECK(time == 0);
    return;
  }
  if (before <= slack) return;
  const bool hits = time <= 1;
  CHECK(hits || time == INFINITY);
  // On the way there, nothing touches; at its end, they do.
  const double end = hits ? time : 1;
  for (int k = 0; k <= 40; ++k) {
    const double fraction = k < 20 ? k / 20.0 : 1 - std::pow(0.5, k - 19);
    const double distance = signed_distance(a.moved(add({}, motion, end * fraction)).view(), b.view(), &way);
    CHECK(distance >= -slack);
  }
  if (hits) {
    CHECK(std::fabs(signed_distance(a.moved(add({}, motion, time)).view(), b.view(), &way)) <= slack);
    CHECK(std::fabs(length(normal) - 1) < 1e-12);
  } else {
    CHECK(signed_distance(a.moved(motion).view(), b.view(), &way) > -slack);
  }
}

void check_pairs(std::uint64_t rounds) {
  for (const ShapeKind first : kSimpleKinds)
    for (const ShapeKind second : kSimpleKinds)
      for (const Form form : kForms)
        for (std::uint64_t seed = 0; seed < rounds; ++seed) {
          Random random(seed * 1000 + static_cast<std::uint64_t>(first) * 16 + static_cast<std::uint64_t>(second));
          const Solid a = random_solid(random, first, form), b = random_solid(random, second, form);
          current_case() = "seed " + std::to_string(seed) + ", form " + std::to_string(static_cast<int>(form)) +
                           "\n  " + describe(a) + "\n  " + describe(b);
          const double tolerance = 1e-11 * (a.size() + b.size() + length(add(a.at(0), b.at(0), -1)));
          check_distance(random, a, b, tolerance);
          if (overlaps(a.view(), b.view())) check_contact(a, b, tolerance);
          check_impact(random, a, b, tolerance);
        }
}

Solid compound_of(const std::vector<Solid>& parts) {
  Solid result{ShapeKind::kCompound, {}};
  for (const Solid& part : parts) {
    result.record.push_back(static_cast<double>(part.kind));
    result.record.push_back(static_cast<double>(part.record.size()));
    result.record.insert(result.record.end(), part.record.begin(), part.record.end());
  }
  return result;
}

// A compound's answer is the least of its parts'.
void check_compounds(std::uint64_t rounds) {
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    Random random(seed);
    const Form form = kForms[random.below(kForms.size())];
    std::vector<Solid> first, second;
    for (std::size_t k = 0; k < 1 + seed % 3; ++k)
      first.push_back(random_solid(random, kSimpleKinds[random.below(7)], form));
    for (std::size_t k = 0; k < 1 + seed / 3 % 3; ++k)
      second.push_back(random_solid(random, kSimpleKinds[random.below(7)], form));
    const Solid a = compound_of(first);
    const Solid b = second.size() == 1 && random.chance(0.5) ? second[0] : compound_of(second);
    current_case() = "compounds, seed " + std::to_string(seed);
    const Point motion = random_point(random, 4), origin = random_point(random, 4);
    Point way{}, back{};
    bool overlap = false;
    double distance = INFINITY, time = INFINITY, hit = INFINITY, size = 1;
    for (const Solid& x : first) {
      for (const Solid& y : second) {
        overlap |= overlaps(x.view(), y.view());
        distance = std::min(distance, signed_distance(x.view(), y.view(), &way));
        time = std::min(time, impact_time(x.view(), motion, y.view(), &way));
        size = std::max({size, x.size(), y.size()});
      }
      hit = std::min(hit, ray_hit(x.view(), origin, motion, &way));
    }
    const auto close = [&](double x, double y) { return x == y || std::fabs(x - y) < 1e-11 * size; };
    CHECK(overlaps(a.view(), b.view()) == overlap);
    CHECK(overlaps(b.view(), a.view()) == overlap);
    CHECK(close(signed_distance(a.view(), b.view(), &way), distance));
    CHECK(close(signed_distance(b.view(), a.view(), &back), distance));
    CHECK(close(impact_time(a.view(), motion, b.view(), &way), time));
    CHECK(close(ray_hit(a.view(), origin, motion, &way), hit));
    if (!overlap) continue;
    const Contact<3> found = contact(a.view(), b.view());
    CHECK(close(found.depth, -distance) && found.count >= 1);
  }
  const Solid none{ShapeKind::kCompound, {}}, ball{ShapeKind::kBall, {0, 0, 0, 1}};
  Point way{};
  CHECK(!overlaps(none.view(), ball.view()) && signed_distance(ball.view(), none.view(), &way) == INFINITY);
  CHECK(impact_time(none.view(), {1, 0, 0}, ball.view(), &way) == INFINITY);
}

void check_ray(const Solid& shape, const Point& origin, const Point& direction, double time, const Point& normal) {
  Point found{};
  const double hit = ray_hit(shape.view(), origin, direction, &found);
  CHECK(hit == time || std::fabs(hit - time) < 1e-14);
  for (std::size_t k = 0; k < 3; ++k) CHECK(std::fabs(found[k] - normal[k]) < 1e-14);
}

void check_closed_forms() {
  current_case() = "closed forms";
  const Solid ball{ShapeKind::kBall, {0, 0, 0, 1}}, box{ShapeKind::kBox, {-1, -2, -3, 1, 2, 3}};
  const Solid capsule{ShapeKind::kCapsule, {-1, 0, 0, 1, 0, 0, 0.5}}, segment{ShapeKind::kSegment, {0, 0, 0, 2, 0, 0}};
  const Solid triangle{ShapeKind::kTriangle, {0, 0, 0, 2, 0, 0, 0, 2, 0}}, point{ShapeKind::kPoint, {1, 2, 3}};
  const double r = std::sqrt(0.5);
  const Solid turned{ShapeKind::kOrientedBox, {0, 0, 0, 1, 1, 1, r, r, 0, -r, r, 0, 0, 0, 1}};
  constexpr double kNone = INFINITY;
  check_ray(ball, {-3, 0, 0}, {2, 0, 0}, 1, {-1, 0, 0});
  check_ray(ball, {-3, 1, 0}, {1, 0, 0}, 3, {0, 1, 0});  // it grazes
  check_ray(ball, {-3, 1.0000001, 0}, {1, 0, 0}, kNone, {});
  check_ray(ball, {-3, 0, 0}, {-1, 0, 0}, kNone, {});
  check_ray(ball, {0.5, 0, 0}, {0, 0, 4}, 0, {0, 0, -1});
  check_ray(ball, {0.5, 0, 0}, {}, 0, {});
  check_ray(ball, {5, 0, 0}, {}, kNone, {});
  check_ray(box, {-3, 1, 1}, {1, 0, 0}, 2, {-1, 0, 0});
  check_ray(box, {0, 9, 0}, {0, -7, 0}, 1, {0, 1, 0});
  check_ray(box, {-3, 2, 3}, {4, 0, 0}, 0.5, {-1, 0, 0});  // along an edge
  check_ray(turned, {-3, 0.1, 0}, {1, 0, 0}, 3 - std::sqrt(2) + 0.1, {-r, r, 0});
  check_ray(capsule, {0, 2, 0}, {0, -1, 0}, 1.5, {0, 1, 0});
  check_ray(capsule, {-3, 0, 0}, {1, 0, 0}, 1.5, {-1, 0, 0});
  check_ray(capsule, {-3, 0.5, 0}, {1, 0, 0}, 2, {0, 1, 0});
  check_ray(triangle, {0.5, 0.5, 2}, {0, 0, -4}, 0.5, {0, 0, 1});
  check_ray(triangle, {0.5, 0.5, -2}, {0, 0, 4}, 0.5, {0, 0, -1});
  check_ray(triangle, {1, 1, -1}, {0, 0, 1}, 1, {0, 0, -1});  // through its edge
  check_ray(triangle, {1.0001, 1, -1}, {0, 0, 1}, kNone, {});
  check_ray(triangle, {-1, 1, 0}, {2, 0, 0}, 0.5, {-1, 0, 0});  // in its plane
  check_ray(segment, {1, 1, 0}, {0, -1, 0}, 1, {0, 1, 0});
  check_ray(segment, {-1, 0, 0}, {1, 0, 0}, 1, {-1, 0, 0});
  check_ray(segment, {-1, 0, 1e-9}, {1, 0, 0}, kNone, {});
  check_ray(point, {0, 0, 0}, {1, 2, 3}, 1, add({}, {1, 2, 3}, -1 / std::sqrt(14)));
  check_ray(point, {0, 0, 0}, {1, 2, 3.0001}, kNone, {});

  Point way{};
  // Two segments that cross, and a ball at the very middle of a box: the least way out.
  const Solid crossing{ShapeKind::kSegment, {1, -1, 0, 1, 1, 0}}, dot{ShapeKind::kBall, {0, 0, 0, 0.25}};
  CHECK(overlaps(segment.view(), crossing.view()) && signed_distance(segment.view(), crossing.view(), &way) == 0);
  CHECK(std::fabs(way[2]) == 1);
  CHECK(signed_distance(dot.view(), box.view(), &way) == -1.25 && way == (Point{1, 0, 0}));
  CHECK(signed_distance(ball.view(), ball.view(), &way) == -2 && way == (Point{1, 0, 0}));
  // A needle through a triangle comes out sideways: its corner is nearest.
  const Solid needle{ShapeKind::kSegment, {0.25, 0.25, -5, 0.25, 0.25, 5}};
  CHECK(signed_distance(needle.view(), triangle.view(), &way) == -0.25);
  // Boxes that lie on each other: four points, in the plane between.
  const Solid upper{ShapeKind::kBox, {-4, -4, 2.5, 0, 0, 9}};
  const Contact<3> found = contact(box.view(), upper.view());
  CHECK(found.count == 4 && found.depth == 0.5 && found.normal == (Point{0, 0, 1}));
  for (const Point& corner : found.points) CHECK(corner[2] == 2.75);
  CHECK(impact_time(ball.view(), {1e9, 0, 0}, box.moved({1e6, 0, 0}).view(), &way) == (1e6 - 2) / 1e9);
  CHECK(way == (Point{1, 0, 0}));
  CHECK(impact_time(box.view(), {0, 0, 4}, box.moved({0, 0, 10}).view(), &way) == 1);
  CHECK(impact_time(box.view(), {0, 0, 0}, box.moved({0, 0, 10}).view(), &way) == INFINITY);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t count = rounds(argc, argv, 200);
  check_closed_forms();
  check_compounds(10 * count);
  check_pairs(count);
}
