// Compounds: the parts of a shape, and boxes around them by which most pairs of parts are passed over.
#pragma once

#include "narrow/narrow_3d_cast.hpp"

namespace broadphase::solid {

struct Bounds {
  Vec3 lower, upper;
};

// Around a shape that is no compound, a little larger than it: what touches it is not outside by rounding.
inline Bounds bounds_of(const ShapeView<3>& shape) {
  const Vec3 origin = place_of(shape);
  return with_core(shape, origin, [&](const auto& core, double radius) {
    Bounds bounds;
    for (std::size_t k = 0; k < 3; ++k) {
      Vec3 axis{};
      axis[k] = 1;
      const Interval extent = project(core, axis);
      const double slack =
          4 * kRounding * (std::fabs(origin[k]) + std::fabs(extent.lower) + std::fabs(extent.upper) + radius);
      bounds.lower[k] = origin[k] + extent.lower - radius - slack;
      bounds.upper[k] = origin[k] + extent.upper + radius + slack;
    }
    return bounds;
  });
}

// Calls `visit(part)` for each part of a compound, or for a shape itself, until it returns false.
template <class Visit>
void for_each_simple(const ShapeView<3>& shape, Visit&& visit) {
  if (shape.kind == ShapeKind::kCompound)
    for_each_part<3>(shape.record, visit);
  else
    visit(shape);
}

// Calls `visit(part of a, part of b, bounds, bounds)` for all pairs of parts until it returns false.
template <class Visit>
void for_each_pair_of_parts(const ShapeView<3>& a, const ShapeView<3>& b, Visit&& visit) {
  bool goes_on = true;
  for_each_simple(a, [&](const ShapeView<3>& first) {
    const Bounds first_bounds = bounds_of(first);
    for_each_simple(b, [&](const ShapeView<3>& second) {
      goes_on = visit(first, second, first_bounds, bounds_of(second));
      return goes_on;
    });
    return goes_on;
  });
}

// The square of a distance that is not more than theirs.
inline double squared_distance(const Bounds& a, const Bounds& b) {
  double sum = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double onwards = b.lower[k] - a.upper[k], back = a.lower[k] - b.upper[k];
    const double gap = onwards > back ? onwards : back;
    sum += gap > 0 ? gap * gap : 0;
  }
  return sum;
}

// Whether the first may meet the second on its way from time 0 to `limit`.
inline bool may_meet(const Bounds& a, const Vec3& motion, const Bounds& b, double limit) {
  double entry = 0, exit = limit;
  for (std::size_t k = 0; k < 3; ++k) {
    const double lower = b.lower[k] - a.upper[k], upper = b.upper[k] - a.lower[k];
    if (motion[k] == 0) {
      if (lower > 0 || upper < 0) return false;
      continue;
    }
    const double begin = (motion[k] > 0 ? lower : upper) / motion[k], end = (motion[k] > 0 ? upper : lower) / motion[k];
    entry = begin > entry ? begin : entry;
    exit = end < exit ? end : exit;
  }
  // Divisions round: by a little more than this, they cannot be the other way round.
  return entry <= exit + 1e-12 * std::fabs(exit);
}

}  // namespace broadphase::solid
