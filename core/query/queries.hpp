// The queries of an index, and the answer of each for one box.
//
// Which boxes are found is decided exactly, whatever the magnitudes; distances and times are rounded like doubles, in
// the order written here, so that they can be repeated elsewhere to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/exact_sum.hpp"
#include "base/wide_number.hpp"
#include "boxes/any_boxes.hpp"
#include "query/sight.hpp"

namespace broadphase {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Layers of the rows and of the queries, and rows that queries ignore; null pointers let everything pass.
struct QueryFilter {
  // So few ignored rows are compared one after the other.
  static constexpr std::size_t kFewIgnored = 8;
  static constexpr std::uint64_t kNoVersion = std::numeric_limits<std::uint64_t>::max();

  const std::uint64_t *row_layer = nullptr, *row_mask = nullptr;
  const std::uint64_t *query_layer = nullptr, *query_mask = nullptr;
  std::size_t row_layer_step = 1, row_mask_step = 1;  // from row to row; 0 where one entry is for all
  // Of each query, ascending; -1 is none.
  const std::int32_t* ignored = nullptr;
  std::size_t ignored_count = 0, ignored_step = 0;  // of one query; from query to query, 0 where one list is for all
  bool is_uniform = false;                          // all queries have one layer and one mask
  const RowSight* sight = nullptr;                  // or all are seen
  // While it is the same, so are the rows of a tree, their boxes, and their layers and masks.
  std::uint64_t version = kNoVersion;

  bool has_layers() const { return row_layer != nullptr; }
  // Whether any number of rows may be rejected.
  bool is_selective() const { return has_layers() || sight != nullptr; }
  bool allows_all() const { return !is_selective() && ignored_count == 0; }
  bool allows(std::size_t row, std::size_t query) const {
    if (has_layers() && ((row_layer[row * row_layer_step] & query_mask[query]) == 0 ||
                         (query_layer[query] & row_mask[row * row_mask_step]) == 0))
      return false;
    if (ignored_count > 0 && ignores(row, query)) return false;
    return sight == nullptr || sight->sees(row, query);
  }
  QueryFilter without_layers() const {
    QueryFilter rest = *this;
    rest.row_layer = nullptr;
    return rest;
  }
  // What is left for all queries of one layer and one mask.
  QueryFilter without_ignored() const {
    QueryFilter rest = *this;
    rest.ignored_count = 0;
    rest.sight = nullptr;
    return rest;
  }
  const std::int32_t* ignored_by(std::size_t query) const { return ignored + query * ignored_step; }
  bool ignores(std::size_t row, std::size_t query) const {
    const std::int32_t *first = ignored_by(query), *last = first + ignored_count;
    if (ignored_count > kFewIgnored) return std::binary_search(first, last, static_cast<std::int32_t>(row));
    return std::find(first, last, static_cast<std::int32_t>(row)) != last;
  }
};

// ---- Distances ----

// The square of the distance of a point to a box, 0 inside. Number: a double, or a WideNumber if squares of doubles
// overflow or vanish. Infinite for a box at infinity.
template <class Number>
Number squared_distance(const double* point, const double* box, std::size_t dimension) {
  Number sum{};
  for (std::size_t k = 0; k < dimension; ++k) {
    Number gap{};
    if constexpr (std::is_same_v<Number, double>) {
      gap = std::max(std::max(box[k] - point[k], point[k] - box[dimension + k]), 0.0);
    } else {
      if (box[k] > point[k]) gap = Number::difference(box[k], point[k]);
      if (point[k] > box[dimension + k]) gap = Number::difference(point[k], box[dimension + k]);
    }
    sum = k == 0 ? gap * gap : sum + gap * gap;
  }
  return sum;
}

inline bool holds_point(const double* box, const double* point, std::size_t dimension) {
  bool holds = true;
  for (std::size_t k = 0; k < dimension; ++k) holds &= box[k] <= point[k] && point[k] <= box[dimension + k];
  return holds;
}

// True if no distance to the box is finite.
inline bool is_at_infinity(const double* box, std::size_t dimension) {
  bool away = false;
  for (std::size_t k = 0; k < dimension; ++k) away |= box[k] == kNever || box[dimension + k] == -kNever;
  return away;
}

// In doubles, squares and times from here to there have lost nothing to overflow or underflow.
inline constexpr double kLeastSafe = 0x1p-900, kMostSafe = 0x1p900;
// Above the relative error of a few rounded operations: numbers that are farther apart are in their true order.
inline constexpr double kRounding = 0x1p-48;

// All points at most a distance from a center. What touches is decided exactly.
class Ball {
 public:
  Ball(const double* center, double radius, std::size_t dimension)
      : center_(center), radius_(radius), dimension_(dimension) {
    // The power of two that takes the radius to [1, 2): squares in its range neither overflow nor vanish.
    constexpr int kMost = 1000;
    scale_ = std::ldexp(1.0, radius > 0 ? -std::clamp(std::ilogb(radius), -kMost, kMost) : kMost);
    const double squared = radius * scale_ * (radius * scale_);
    surely_ = squared * (1 - kRounding);
    hardly_ = squared * (1 + kRounding);
  }

  bool meets(const double* box) const {
    double sum = 0;
    for (std::size_t k = 0; k < dimension_; ++k) {
      const double gap = std::max(std::max(box[k] - center_[k], center_[k] - box[dimension_ + k]), 0.0) * scale_;
      sum += gap * gap;
    }
    if (sum > hardly_) return false;
    return sum < surely_ || sum == 0 || meets_exactly(box);
  }
  // Without a look at rounded numbers first.
  bool meets_exactly(const double* box) const {
    if (is_at_infinity(box, dimension_)) return false;
    double side[4];  // the coordinate of the box that is nearest
    ExactSum::Range range;
    for (const double factor : {1.0, 2.0, radius_}) range.see(factor);
    for (std::size_t k = 0; k < dimension_; ++k) {
      side[k] = std::clamp(center_[k], box[k], box[dimension_ + k]);
      if (side[k] == center_[k]) continue;
      range.see(side[k]);
      range.see(center_[k]);
    }
    ExactSum sum(range);
    sum.subtract(radius_, radius_, 1.0);
    for (std::size_t k = 0; k < dimension_; ++k) {
      if (side[k] == center_[k]) continue;
      sum.add(side[k], side[k], 1.0);
      sum.subtract(side[k], center_[k], 2.0);
      sum.add(center_[k], center_[k], 1.0);
    }
    return sum.sign() <= 0;
  }

 private:
  const double* center_;
  double radius_, scale_, surely_, hardly_;
  std::size_t dimension_;
};

// ---- Moving boxes and rays ----

// A box [a, b] moved by `motion`, at times from 0 on; a point for a ray.
struct Sweep {
  double box[8];
  double motion[4];
  bool ends = false;  // at time 1
};

// The length of the motion, by which times of rays become distances; 1 for a motion that ends.
template <class Number>
Number length_of(const Sweep& sweep, std::size_t dimension) {
  if (sweep.ends) return Number(1.0);
  Number sum(0.0);
  for (std::size_t k = 0; k < dimension; ++k) {
    const Number part(std::fabs(sweep.motion[k]));
    sum = k == 0 ? part * part : sum + part * part;
  }
  if constexpr (std::is_same_v<Number, double>)
    return std::sqrt(sum);
  else
    return sum.root();
}

// Whether a length has lost nothing to overflow or underflow.
inline bool is_safe_length(double length) { return length >= 0x1p-440 && length <= 0x1p440; }

namespace detail {

// Whether the moving box ever touches another: every time of entering, of an axis, is at most every time of leaving.
// Exact.
inline bool touches_exactly(const Sweep& sweep, const double* box, std::size_t dimension) {
  // Along each moving axis the distance to the other box is from[k] - to[k], and out of it beyond[k] - behind[k].
  double from[4], to[4], beyond[4], behind[4], speed[4];
  for (std::size_t k = 0; k < dimension; ++k) {
    const bool forward = sweep.motion[k] > 0;
    speed[k] = std::fabs(sweep.motion[k]);
    from[k] = forward ? box[k] : sweep.box[k];
    to[k] = forward ? sweep.box[dimension + k] : box[dimension + k];
    beyond[k] = forward ? box[dimension + k] : sweep.box[dimension + k];
    behind[k] = forward ? sweep.box[k] : box[k];
    if (speed[k] == 0 && (box[k] > sweep.box[dimension + k] || sweep.box[k] > box[dimension + k])) return false;
    if (beyond[k] < behind[k]) return false;
  }
  for (std::size_t i = 0; i < dimension; ++i) {
    if (speed[i] == 0 || from[i] <= to[i]) continue;
    if (std::isinf(from[i]) || std::isinf(to[i])) return false;
    ExactSum::Range range;
    for (const double value : {1.0, from[i], to[i], speed[i]}) range.see(value);
    if (sweep.ends) {
      ExactSum excess(range);
      excess.add(from[i], 1.0, 1.0);
      excess.subtract(to[i], 1.0, 1.0);
      excess.subtract(speed[i], 1.0, 1.0);
      if (excess.sign() > 0) return false;
    }
    for (std::size_t j = 0; j < dimension; ++j) {
      if (j == i || speed[j] == 0 || std::isinf(beyond[j]) || std::isinf(behind[j])) continue;
      const double enter = (from[i] - to[i]) / speed[i], leave = (beyond[j] - behind[j]) / speed[j];
      if (enter >= kLeastSafe && enter <= kMostSafe) {
        if (enter * (1 + kRounding) < leave && leave < kNever) continue;  // otherwise it may have overflowed
        if (leave * (1 + kRounding) < enter) return false;
      }
      ExactSum::Range both = range;
      for (const double value : {beyond[j], behind[j], speed[j]}) both.see(value);
      ExactSum late(both);
      late.add(from[i], speed[j], 1.0);
      late.subtract(to[i], speed[j], 1.0);
      late.subtract(beyond[j], speed[i], 1.0);
      late.add(behind[j], speed[i], 1.0);
      if (late.sign() > 0) return false;
    }
  }
  return true;
}

}  // namespace detail

// The first time at which the moving box touches another, from 0 on; kNever if it does not. Whether it does is decided
// exactly, and the time is rounded. NaN if the time, or what decides it, may have overflowed or vanished.
inline double touch_time(const Sweep& sweep, const double* box, std::size_t dimension) {
  double enter = 0, leave = sweep.ends ? 1 : kNever;
  for (std::size_t k = 0; k < dimension; ++k) {
    const double ahead = box[k] - sweep.box[dimension + k], behind = box[dimension + k] - sweep.box[k];
    const double m = sweep.motion[k];
    if (m == 0) {
      if (ahead > 0 || behind < 0) return kNever;
    } else {
      enter = std::max(enter, (m > 0 ? ahead : behind) / m);
      leave = std::min(leave, (m > 0 ? behind : ahead) / m);
    }
  }
  if (leave < 0) return kNever;
  if (enter >= kLeastSafe && enter <= kMostSafe) {
    if (enter * (1 + kRounding) < leave && leave < kNever) return enter;  // otherwise it may have overflowed
    if (leave * (1 + kRounding) < enter) return kNever;
    return detail::touches_exactly(sweep, box, dimension) ? enter : kNever;
  }
  if (enter == 0 && boxes_meet(sweep.box, box, dimension)) return 0;
  return detail::touches_exactly(sweep, box, dimension) ? std::numeric_limits<double>::quiet_NaN() : kNever;
}

// The same as a number that is always in range.
inline WideNumber wide_touch_time(const Sweep& sweep, const double* box, std::size_t dimension) {
  if (!detail::touches_exactly(sweep, box, dimension)) return WideNumber::infinite();
  WideNumber enter;
  for (std::size_t k = 0; k < dimension; ++k) {
    const double m = sweep.motion[k];
    const double from = m > 0 ? box[k] : sweep.box[k], to = m > 0 ? sweep.box[dimension + k] : box[dimension + k];
    if (m != 0 && from > to) enter = std::max(enter, WideNumber::difference(from, to) / WideNumber(std::fabs(m)));
  }
  return enter;
}

// ---- Convex regions ----

// A convex region: where `least <= axis . x <= most` for all its slabs, and `around` is a box that holds it.
struct ConvexRegion {
  const double* around;  // D lower, D upper
  const double* axes;    // D numbers a slab
  const double* least;
  const double* most;
  std::size_t count;
};

// Where a box begins and ends along an axis, in units.
inline void extent_along(const double* axis, double unit, const double* box, std::size_t dimension, double& low,
                         double& high) {
  low = high = 0;
  for (std::size_t k = 0; k < dimension; ++k) {
    const double a = axis[k] * unit;
    if (a == 0) continue;
    low += a * (a > 0 ? box[k] : box[dimension + k]);
    high += a * (a > 0 ? box[dimension + k] : box[k]);
  }
}

inline bool meets(const ConvexRegion& region, const double* box, std::size_t dimension) {
  constexpr double kMost = std::numeric_limits<double>::max();
  if (!boxes_meet(region.around, box, dimension)) return false;
  for (std::size_t slab = 0; slab < region.count; ++slab) {
    const double* axis = region.axes + slab * dimension;
    double unit = 1, low, high;
    extent_along(axis, unit, box, dimension, low, high);
    // Infinite corners, or sums of others that are beyond all doubles: a quarter of each corner at most is not.
    if (!(std::fabs(low) <= kMost && std::fabs(high) <= kMost)) {
      double longest = 0;
      for (std::size_t k = 0; k < dimension; ++k) longest = std::max(longest, std::fabs(axis[k]));
      unit = std::ldexp(1, -3 - std::ilogb(longest));
      extent_along(axis, unit, box, dimension, low, high);
    }
    if (high < region.least[slab] * unit || low > region.most[slab] * unit) return false;
  }
  return true;
}

}  // namespace broadphase
