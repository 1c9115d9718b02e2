// What the narrow phase does with compounds, whose parts it asks one by one, and in which order it asks two shapes: the
// same in the plane and in space.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "shapes/shape.hpp"

namespace broadphase {

template <std::size_t D>
Vec<D> opposite(Vec<D> v) {
  for (double& x : v) x = -x;
  return v;
}

// Signed distance: the distance, or minus the length of the shortest translation that separates two shapes, along
// `normal`, a unit vector from the first to the second.
template <std::size_t D>
struct ShapeGap {
  double distance;
  Vec<D> normal;
};

// When the first, which moves, touches the second: infinite if never. The normal is from the first to the second.
template <std::size_t D>
struct ShapeImpact {
  double time = std::numeric_limits<double>::infinity();
  Vec<D> normal{};
};

template <std::size_t D>
ShapeGap<D> turned(const ShapeGap<D>& gap) {
  return {gap.distance, opposite<D>(gap.normal)};
}
template <std::size_t D>
ShapeImpact<D> turned(const ShapeImpact<D>& impact) {
  return {impact.time, opposite<D>(impact.normal)};
}
template <std::size_t D>
Contact<D> turned(Contact<D> contact) {
  contact.normal = opposite<D>(contact.normal);
  return contact;
}

// Whether the canonical order of two shapes is (b, a). What is computed in that order is symmetric bit for bit, ties
// and rounding included. Mostly decided by the kinds or the first numbers; equal shapes are in order both ways. Of
// kinds any order does in which points and balls come first: of a round shape and another, closed forms take the round
// one first.
inline constexpr std::uint32_t kRoundKinds =
    kinds_that([](const ShapeTraits& row) { return row.core == CoreForm::kPoint; });
static_assert((kRoundKinds & (kRoundKinds + 1)) == 0, "points and balls have the first rows");
template <std::size_t D>
bool is_turned(const ShapeView<D>& a, const ShapeView<D>& b) {
  if (a.kind != b.kind) return a.kind > b.kind;
  const std::size_t count = std::min(a.record.size(), b.record.size());
  for (std::size_t k = 0; k < count; ++k)
    if (a.record[k] != b.record[k]) return a.record[k] > b.record[k];
  return a.record.size() > b.record.size();
}

// Calls `visit(part)` for each part of a compound, or for the shape itself, until it returns false.
template <std::size_t D, class Visit>
void for_each_simple(const ShapeView<D>& shape, Visit&& visit) {
  if (shape.kind == ShapeKind::kCompound)
    for_each_part<D>(shape.record, visit);
  else
    visit(shape);
}

// The queries on two shapes by those on two that are not compounds, in either order, which `Simple` has:
//   overlap(a, b); gap(a, b); contact(a, b), of shapes that overlap; cast(a, motion, b), of shapes that do not.
template <std::size_t D, class Simple>
class ShapeQueries {
 public:
  using Shape = ShapeView<D>;

  static bool overlap(const Shape& a, const Shape& b) {
    if (!has_parts(a, b)) return Simple::overlap(a, b);
    bool found = false;
    for_each_pair(a, b, [&](const Shape& x, const Shape& y, const ShapeBounds<D>& at_x, const ShapeBounds<D>& at_y) {
      found = squared_gap(at_x, at_y) == 0 && Simple::overlap(x, y);
      return !found;
    });
    return found;
  }

  static double signed_distance(const Shape& a, const Shape& b, Vec<D>* normal) {
    const ShapeGap<D> gap = has_parts(a, b) ? gap_of_parts(a, b) : Simple::gap(a, b);
    *normal = gap.normal;
    return gap.distance;
  }

  static Contact<D> contact(const Shape& a, const Shape& b) {
    if (!has_parts(a, b)) return Simple::contact(a, b);
    if (is_turned(a, b)) return turned(contact(b, a));
    const NearestParts parts = nearest_parts(a, b);
    return parts.gap.distance < kNever ? Simple::contact(parts.first, parts.second) : Contact<D>{};
  }

  static double ray_hit(const Shape& shape, const Vec<D>& origin, const Vec<D>& direction, Vec<D>* normal) {
    const Shape point{ShapeKind::kPoint, origin};
    *normal = {};
    if (overlap(point, shape)) {
      double squared = 0;
      for (const double x : direction) squared += x * x;
      for (std::size_t k = 0; k < D && squared > 0; ++k) (*normal)[k] = -direction[k] / std::sqrt(squared);
      return 0;
    }
    const ShapeImpact<D> impact = cast(point, direction, shape);
    if (impact.time < kNever) *normal = opposite<D>(impact.normal);
    return impact.time;
  }

  static double impact_time(const Shape& a, const Vec<D>& motion, const Shape& b, Vec<D>* normal) {
    return impact_time(a, b, normal, overlap(a, b), [&] { return cast(a, motion, b); });
  }
  // By whether they overlap at the begin, and by what cast() finds if they do not.
  template <class Cast>
  static double impact_time(const Shape& a, const Shape& b, Vec<D>* normal, bool is_overlap, const Cast& cast) {
    *normal = {};
    if (is_overlap) {
      signed_distance(a, b, normal);
      return 0;
    }
    const ShapeImpact<D> impact = cast();
    // At the very end of the motion, rounding must not lose a contact.
    if (!(impact.time <= 1 + kRounding)) return kNever;
    *normal = impact.normal;
    // They touch but for rounding: nothing has closed yet whose direction would count.
    if (impact.time == 0) signed_distance(a, b, normal);
    return std::min(impact.time, 1.0);
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity(), kRounding = 4e-16;

  // The parts of two shapes with the least signed distance.
  struct NearestParts {
    ShapeGap<D> gap{kNever, {1}};
    Shape first{}, second{};
  };

  static bool has_parts(const Shape& a, const Shape& b) {
    return a.kind == ShapeKind::kCompound || b.kind == ShapeKind::kCompound;
  }
  static ShapeBounds<D> bounds_of(const Shape& shape) {
    ShapeBounds<D> bounds;
    add_bounds<D>(shape, bounds);
    return bounds;
  }

  // Calls `visit(part of a, part of b, bounds, bounds)` for all pairs of parts until it returns false.
  template <class Visit>
  static void for_each_pair(const Shape& a, const Shape& b, const Visit& visit) {
    bool goes_on = true;
    for_each_simple<D>(a, [&](const Shape& first) {
      const ShapeBounds<D> bounds = bounds_of(first);
      for_each_simple<D>(
          b, [&](const Shape& second) { return goes_on = visit(first, second, bounds, bounds_of(second)); });
      return goes_on;
    });
  }

  // A lower bound of the squared distance of what is in two boxes.
  static double squared_gap(const ShapeBounds<D>& a, const ShapeBounds<D>& b) {
    double sum = 0;
    for (std::size_t k = 0; k < D; ++k) {
      const double gap = std::max({b.lower[k] - a.upper[k], a.lower[k] - b.upper[k], 0.0});
      sum += gap * gap;
    }
    return sum;
  }

  // Of equally near parts the first in the canonical order of the compounds counts.
  static ShapeGap<D> gap_of_parts(const Shape& a, const Shape& b) {
    return is_turned(a, b) ? turned(nearest_parts(b, a).gap) : nearest_parts(a, b).gap;
  }
  static NearestParts nearest_parts(const Shape& a, const Shape& b) {
    NearestParts best;
    for_each_pair(a, b, [&](const Shape& x, const Shape& y, const ShapeBounds<D>& at_x, const ShapeBounds<D>& at_y) {
      const double least = squared_gap(at_x, at_y), limit = best.gap.distance;
      if (least > 0 && (limit <= 0 || least >= limit * limit)) return true;
      const ShapeGap<D> gap = Simple::gap(x, y);
      if (gap.distance < limit) best = {gap, x, y};
      return true;
    });
    return best;
  }

  static ShapeImpact<D> cast(const Shape& a, const Vec<D>& motion, const Shape& b) {
    if (!has_parts(a, b)) return Simple::cast(a, motion, b);
    if (is_turned(a, b)) return turned(cast(b, opposite<D>(motion), a));
    ShapeImpact<D> first;
    for_each_pair(a, b, [&](const Shape& x, const Shape& y, const ShapeBounds<D>& at_x, const ShapeBounds<D>& at_y) {
      if (!may_meet(at_x, motion, at_y, first.time)) return true;
      if (const ShapeImpact<D> impact = Simple::cast(x, motion, y); impact.time < first.time) first = impact;
      return true;
    });
    return first;
  }

  // Whether the first may touch the second while it moves from time 0 to `limit`.
  static bool may_meet(const ShapeBounds<D>& a, const Vec<D>& motion, const ShapeBounds<D>& b, double limit) {
    double entry = 0, exit = limit;
    for (std::size_t k = 0; k < D; ++k) {
      const double lower = b.lower[k] - a.upper[k], upper = b.upper[k] - a.lower[k];
      if (motion[k] == 0) {
        if (lower > 0 || upper < 0) return false;
        continue;
      }
      entry = std::max(entry, (motion[k] > 0 ? lower : upper) / motion[k]);
      exit = std::min(exit, (motion[k] > 0 ? upper : lower) / motion[k]);
    }
    // A tolerance greater than the rounding error of the divisions.
    return entry <= exit + 1e-12 * std::abs(exit);
  }
};

}  // namespace broadphase
