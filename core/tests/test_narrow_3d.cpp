// The narrow phase in space: what must hold of any two shapes, whatever their kinds.
#include "narrow_3d_checks.hpp"

namespace broadphase::tests {
namespace {

void check_pairs(std::uint64_t rounds) {
  for (const ShapeKind first : kSimpleKinds<3>)
    for (const ShapeKind second : kSimpleKinds<3>)
      for (const Form form : kForms)
        for (std::uint64_t seed = 0; seed < rounds; ++seed) {
          Random random(seed * 1000 + static_cast<std::uint64_t>(first) * 16 + static_cast<std::uint64_t>(second));
          const Solid a = random_solid(random, first, form), b = random_solid(random, second, form);
          current_case() = "seed " + std::to_string(seed) + ", form " + std::to_string(static_cast<int>(form)) +
                           "\n  " + describe(a) + "\n  " + describe(b);
          check_pair(random, a, b);
        }
}

void check_compounds(std::uint64_t rounds) {
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    Random random(seed);
    current_case() = "compounds, seed " + std::to_string(seed);
    check_compound(random, 1 + seed % 3, 1 + seed / 3 % 3);
    // A corner of a box touches the box exactly, in whatever order the parts come.
    const Solid box = random_solid(random, ShapeKind::kBox, kForms[random.below(kForms.size())]);
    const Point corner = box.corners()[random.below(8)];
    const Solid boxes = compound_of({{ShapeKind::kPoint, {-1e5, 0, 0}}, box});
    const Solid points = compound_of({{ShapeKind::kPoint, {corner[0], corner[1], corner[2]}}});
    Point normal{};
    for (const auto& [a, b] : {std::pair(boxes, points), std::pair(points, boxes)})
      CHECK(overlaps(a.view(), b.view()) && impact_time(a.view(), random_point(random, 4), b.view(), &normal) == 0);
  }
  const Solid none{ShapeKind::kCompound, {}}, ball{ShapeKind::kBall, {0, 0, 0, 1}};
  Point way{};
  CHECK(!overlaps(none.view(), ball.view()) && signed_distance(ball.view(), none.view(), &way) == INFINITY);
  CHECK(impact_time(none.view(), {1, 0, 0}, ball.view(), &way) == INFINITY);
}

// Triangles whose corners are on one line up to rounding, one behind the other: a distance, a way, no overlap.
void check_needles(std::uint64_t rounds) {
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    Random random(seed);
    const Point from = random_direction(random), way = random_direction(random);
    const auto at = [&](double along) { return add(from, way, along); };
    const auto needle = [&](double begin) {
      Solid triangle{ShapeKind::kTriangle, {}};
      for (std::size_t k = 0; k < 3; ++k)
        for (const double x : at(begin + random.uniform())) triangle.record.push_back(x);
      return triangle;
    };
    const Solid first = needle(0), second = needle(2);
    current_case() = "needles, seed " + std::to_string(seed) + "\n  " + describe(first) + "\n  " + describe(second);
    double gap = INFINITY;
    for (const Point& here : first.corners())
      for (const Point& there : second.corners()) gap = std::min(gap, length(add(there, here, -1)));
    Point normal{};
    CHECK(!overlaps(first.view(), second.view()));
    CHECK(std::fabs(signed_distance(first.view(), second.view(), &normal) - gap) < 1e-12);
    for (const double beyond : {1.5, 3.5}) {
      const Solid point{ShapeKind::kPoint, {at(beyond)[0], at(beyond)[1], at(beyond)[2]}};
      CHECK(!overlaps(point.view(), first.view()) && !overlaps(point.view(), second.view()));
    }
  }
}

// Triangles of any height from nothing to a thousandth of their length: a point beyond their end on the way along them.
void check_slim_triangles(std::uint64_t rounds) {
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    Random random(seed);
    const Point from = random_direction(random), way = random_direction(random), side = random_direction(random);
    const double height = std::pow(0.1, 3 + 14 * random.uniform()), beyond = std::pow(0.1, 9 * random.uniform());
    const Point end = add(from, way), third = add(add(from, way, random.uniform()), side, height);
    const Point at = add(end, way, beyond);
    const Solid point{ShapeKind::kPoint, {at[0], at[1], at[2]}}, ball{ShapeKind::kBall, {at[0], at[1], at[2], beyond}};
    Solid triangle{ShapeKind::kTriangle, {}};
    const std::array<Point, 3> corners = {from, end, third};
    for (std::size_t k = 0, first = random.below(3); k < 9; ++k)
      triangle.record.push_back(corners[(first + k / 3) % 3][k % 3]);
    current_case() =
        "slim triangles, seed " + std::to_string(seed) + "\n  " + describe(triangle) + "\n  " + describe(point);
    const double gap = length(add(at, end, -1)), speed = 2 * random.uniform() + 1;
    Point normal{};
    CHECK(!overlaps(triangle.view(), point.view()));
    CHECK(std::fabs(signed_distance(triangle.view(), point.view(), &normal) - gap) < 1e-12);
    CHECK(length(add(normal, way, -1)) < 1e-6);
    CHECK(std::fabs(signed_distance(triangle.view(), ball.view(), &normal)) < 1e-12);
    // Its end comes to the point on a way along it, or not quite: where it is said to touch the point, it does.
    for (const double aside : {0.0, height / 8}) {
      const Point motion = add(add({}, add(at, end, -1), speed), side, aside * beyond * speed);
      const Solid behind = triangle.moved(add(add(at, end, -1), motion, -1 / speed));
      const double time = impact_time(behind.view(), motion, point.view(), &normal);
      const Solid there = behind.moved(add({}, motion, std::min(time, 1 / speed)));
      CHECK(signed_distance(there.view(), point.view(), &normal) < 1e-12);
    }
    // Beside it, near an end: along the normal, all of it is as far.
    const Point beside = add(random.chance(0.5) ? from : end, random_direction(random), beyond);
    const Solid other{ShapeKind::kPoint, {beside[0], beside[1], beside[2]}};
    const double distance = signed_distance(triangle.view(), other.view(), &normal);
    CHECK(std::fabs(gap_along(triangle, other, normal) - distance) < 1e-12);
  }
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
  // A small triangle at the end of a long box that is only a line: where they touch, however far the middle of the box.
  const Solid line{ShapeKind::kBox, {0, 0, 0, 0, 0, 186}};
  const Solid small{ShapeKind::kTriangle, {0, 0, 0, -7e-6, 15e-6, -28e-6, -93e-6, -175e-6, 146e-6}};
  const Contact<3> at = contact(line.view(), small.view());
  CHECK(at.count == 1 && length(at.points[0]) < 1e-13);
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
  check_needles(10 * count);
  check_slim_triangles(10 * count);
  check_pairs(count);
}
