// The narrow phase in space: what must hold of any two shapes, whatever their kinds.
#include "broadphase/narrow_3d.hpp"

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

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  check_pairs(rounds(argc, argv, 200));
}
