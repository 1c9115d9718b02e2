// What must hold of any two shapes in space, whatever their kinds.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "narrow/shape_queries.hpp"
#include "solids.hpp"

namespace broadphase::tests {

inline std::string describe(const Solid& solid) {
  std::string text = std::to_string(static_cast<int>(solid.kind)) + " {";
  char number[40];
  for (const double value : solid.record) {
    std::snprintf(number, sizeof number, "%.17g, ", value);
    text += number;
  }
  return text + "}";
}

// Of these, the normal is the x axis, whichever comes first.
inline bool are_concentric(const Solid& a, const Solid& b) {
  return a.record.size() <= 4 && b.record.size() <= 4 && a.at(0) == b.at(0);
}

// The distance is the greatest gap along any direction, and the normal is a direction along which it is attained. So
// the first of these makes it no greater than that, the second no less, as far as directions at random can tell.
inline void check_distance(Random& random, const Solid& a, const Solid& b, double tolerance) {
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
  if (std::fabs(distance) > tolerance) CHECK(overlap == (distance < 0));
}

// The height of a triangle that counts as an edge in contacts, where any of its long edges may stand for it; else 0.
inline double needle_height(const Solid& a) {
  if (a.kind != ShapeKind::kTriangle) return 0;
  const Point first = add(a.at(3), a.at(0), -1), second = add(a.at(6), a.at(0), -1);
  const double longest = std::max({length(first), length(second), length(add(second, first, -1))});
  const double height = longest > 0 ? length(cross(first, second)) / longest : 0;
  return height < 2e-9 * longest ? height : 0;
}

inline void check_contact(const Solid& a, const Solid& b, double tolerance) {
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
    const double needle = std::max(needle_height(a), needle_height(b));
    const double slack = found.depth / 2 + tolerance + needle + 2e-3 * std::min(a.size(), b.size());
    CHECK(signed_distance(point.view(), a.view(), &way) <= slack);
    CHECK(signed_distance(point.view(), b.view(), &way) <= slack);
  }
}

inline void check_impact(Random& random, const Solid& a, const Solid& b, double tolerance) {
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

inline void check_pair(Random& random, const Solid& a, const Solid& b) {
  // The second part is what the places lose when the judge adds a size to them.
  const double tolerance =
      1e-11 * (a.size() + b.size() + length(add(a.at(0), b.at(0), -1))) + 1e-15 * (length(a.at(0)) + length(b.at(0)));
  check_distance(random, a, b, tolerance);
  if (overlaps(a.view(), b.view())) check_contact(a, b, tolerance);
  check_impact(random, a, b, tolerance);
}

inline Solid compound_of(const std::vector<Solid>& parts) {
  Solid result{ShapeKind::kCompound, {}};
  for (const Solid& part : parts) {
    result.record.push_back(static_cast<double>(part.kind));
    result.record.push_back(static_cast<double>(part.record.size()));
    result.record.insert(result.record.end(), part.record.begin(), part.record.end());
  }
  return result;
}

// A compound's answer is the least of its parts'.
inline void check_compound(Random& random, std::size_t parts, std::size_t other_parts) {
  const Form form = kForms[random.below(kForms.size())];
  std::vector<Solid> first, second;
  for (std::size_t k = 0; k < parts; ++k) first.push_back(random_solid(random, random_simple_kind<3>(random), form));
  for (std::size_t k = 0; k < other_parts; ++k)
    second.push_back(random_solid(random, random_simple_kind<3>(random), form));
  const Solid a = compound_of(first);
  const Solid b = second.size() == 1 && random.chance(0.5) ? second[0] : compound_of(second);
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
  CHECK(overlaps(b.view(), a.view()) == overlaps(a.view(), b.view()));
  // Where parts touch, rounding decides, here and in the comparison of their boxes.
  if (!close(distance, 0)) CHECK(overlaps(a.view(), b.view()) == overlap);
  CHECK(close(signed_distance(a.view(), b.view(), &way), distance));
  CHECK(close(signed_distance(b.view(), a.view(), &back), distance));
  if (overlaps(a.view(), b.view()) == overlap) CHECK(close(impact_time(a.view(), motion, b.view(), &way), time));
  CHECK(close(ray_hit(a.view(), origin, motion, &way), hit));
  if (!overlap || !overlaps(a.view(), b.view())) return;
  const Contact<3> found = contact(a.view(), b.view());
  CHECK(close(found.depth, -distance) && found.count >= 1);
}

}  // namespace broadphase::tests
