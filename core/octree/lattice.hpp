// The lattice of an octree's cells: cubes that halve from level to level, and which of them a box belongs to.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "boxes/box_view.hpp"
#include "boxes/extent.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

struct OctreeOptions {
  double minimum = 0;         // edge of the smallest cells, in given units; 0: derived from the boxes
  double looseness = 2;       // a cell accepts boxes within its cube enlarged by this factor about its centre
  std::size_t capacity = 32;  // a leaf with more is split
  // The least extent of the root, in given coordinates; empty: only the boxes.
  std::vector<double> world_lower, world_upper;
};

// The smallest cell that contains a box: a lattice point in it, and its level (0: the smallest cells).
struct Spot {
  std::int64_t at[4];
  int level;
};

// Lattice coordinates count the smallest cells from `base_`. The root covers [low, low + 2^levels) along every axis,
// where low is 0 at first and decreases when the root grows downwards; cells keep their coordinates.
//
//        low            0                    2^levels_before
//         |-------------|--------------------|            the root before, and after it has doubled
//         |------------------ root ------------------|
class OctreeLattice {
 public:
  // Levels below the root. The stack of a walk holds one block and up to 15 more lanes per level: see kMostLevels of
  // trees.
  static constexpr int kMostLevels = 40;
  static_assert(kMostLevels * 17 < static_cast<int>(broadphase::kMostLevels * kLanes));
  static constexpr int kOutside = 127;  // the level of rows outside the root

  double looseness() const { return looseness_; }
  int levels() const { return levels_; }
  // Of the root.
  std::int64_t low(std::size_t axis) const { return low_[axis]; }
  std::int64_t high(std::size_t axis) const { return low_[axis] + (std::int64_t{1} << levels_); }

  // In local coordinates, like all numbers here except lattice points.
  double local(double lattice, std::size_t axis) const { return base_[axis] + lattice / steps_; }
  double edge(int level) const { return std::ldexp(1.0, level) / steps_; }

  // The cell that a box belongs to; false, and level kOutside, if it is not contained in the root.
  template <std::size_t D>
  bool place(const double* lower, const double* upper, Spot& spot) const {
    double from[D], to[D], size = 0;
    spot.level = kOutside;
    for (std::size_t k = 0; k < D; ++k) {
      from[k] = (lower[k] - base_[k]) * steps_;
      to[k] = (upper[k] - base_[k]) * steps_;
      // False for infinities, and for anything that an int64 cannot hold.
      if (!(from[k] >= static_cast<double>(low_[k]) && to[k] <= static_cast<double>(high(k)))) return false;
      size = std::max(size, to[k] - from[k]);
      // A box that ends at the root's upper face is in the last cell.
      spot.at[k] = std::min(floor_of(from[k] / 2 + to[k] / 2), high(k) - 1);
    }
    if (looseness_ > 1)
      sink_loosely<D>(from, to, size, spot);
    else
      sink_strictly<D>(from, to, spot);
    return true;
  }

  // The lower corner of the cell of a level that contains a lattice point.
  std::int64_t corner(std::int64_t at, int level, std::size_t axis) const {
    return ((at - low_[axis]) >> level << level) + low_[axis];
  }

  // Doubles the root, downwards along the axes in which the box lies below it; false at the maximum number of levels.
  bool grow(const double* lower) {
    if (levels_ == kMostLevels) return false;
    for (std::size_t k = 0; k < dimension_; ++k)
      if ((lower[k] - base_[k]) * steps_ < static_cast<double>(low_[k])) low_[k] -= std::int64_t{1} << levels_;
    ++levels_;
    return true;
  }

  // True if the root can grow to contain the box with a few levels more.
  bool is_near(const double* lower, const double* upper) const {
    constexpr double kReach = 16;
    const double size = std::ldexp(kReach, levels_);
    for (std::size_t k = 0; k < dimension_; ++k)
      if (!((lower[k] - base_[k]) * steps_ >= static_cast<double>(low_[k]) - size &&
            (upper[k] - base_[k]) * steps_ <= static_cast<double>(high(k)) + size))
        return false;
    return true;
  }

  // Sets up the lattice for boxes between `low` and `high` whose largest edges have `size` as lower quartile. Cells
  // begin at multiples of `minimum` as given; 0: not given.
  void lay(const LocalFrame& frame, std::size_t dimension, const double* low, const double* high, double size,
           double minimum, double looseness) {
    dimension_ = dimension;
    looseness_ = looseness;
    double extent = 0, begin[4] = {};
    for (std::size_t k = 0; k < dimension; ++k) extent = std::max(extent, high[k] - low[k]);
    const double given = minimum;
    minimum *= frame.scale;
    if (!(minimum > 0)) minimum = smallest_cell(extent, size);
    minimum = std::clamp(minimum, 0x1p-100, 0x1p100);
    while (std::ldexp(minimum, kMostLevels - 1) < extent) minimum *= 2;
    steps_ = 1 / minimum;
    for (std::size_t k = 0; k < dimension; ++k) {
      begin[k] = std::floor(low[k] * steps_) * minimum;
      if (given > 0) begin[k] = frame.local(std::floor(frame.given(low[k], k) / given) * given, k);
      if (!(begin[k] <= low[k])) begin[k] = low[k];  // far from the origin, multiples are rounded
    }
    // Centres the boxes in the root, to the nearest cell.
    for (levels_ = 0;; ++levels_) {
      const double cells = std::ldexp(1.0, levels_);
      bool encloses = true;
      for (std::size_t k = 0; k < dimension; ++k) {
        const double spare = std::floor((cells - (high[k] - begin[k]) * steps_) / 2);
        base_[k] = begin[k] - std::max(spare, 0.0) * minimum;
        low_[k] = 0;
        encloses = encloses && (low[k] - base_[k]) * steps_ >= 0 && (high[k] - base_[k]) * steps_ <= cells;
      }
      if (encloses || levels_ == kMostLevels) return;
    }
  }

 private:
  // Far smaller than most boxes and than the distances in all but the most crowded scenes: splitting ends earlier.
  static double smallest_cell(double extent, double size) {
    const double least = std::max({size / 16, extent * 0x1p-20, 0x1p-60});
    return std::ldexp(1.0, std::ilogb(least));
  }

  // Like std::floor and std::ilogb, which compile to calls for a baseline processor. For values that an int64 holds,
  // and for numbers of at least 1.
  static std::int64_t floor_of(double x) {
    const auto whole = static_cast<std::int64_t>(x);
    return whole - (static_cast<double>(whole) > x);
  }
  static int exponent_of(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52) - 1023; }

  template <std::size_t D>
  void sink_loosely(const double* from, const double* to, double size, Spot& spot) const {
    int level = 0;
    if (size > looseness_) level = exponent_of(size / looseness_);
    while (level < levels_ && !holds<D>(from, to, spot, level)) ++level;
    spot.level = level;
  }

  // True if the box is within the enlarged cube of the cell.
  template <std::size_t D>
  bool holds(const double* from, const double* to, const Spot& spot, int level) const {
    const double edge = static_cast<double>(std::int64_t{1} << level), beyond = (looseness_ - 1) / 2 * edge;
    for (std::size_t k = 0; k < D; ++k) {
      const auto begin = static_cast<double>(corner(spot.at[k], level, k));
      if (!(from[k] >= begin - beyond && to[k] <= begin + edge + beyond)) return false;
    }
    return true;
  }

  // The highest bit in which the numbers of the first and last smallest cell of the box differ is the level of the cell
  // that contains both.
  template <std::size_t D>
  void sink_strictly(const double* from, const double* to, Spot& spot) const {
    std::uint64_t differ = 0;
    for (std::size_t k = 0; k < D; ++k) {
      const auto first = std::min(floor_of(from[k]), high(k) - 1);
      const auto last = std::max(static_cast<std::int64_t>(std::ceil(to[k])) - 1, first);
      differ |= static_cast<std::uint64_t>((first - low_[k]) ^ (last - low_[k]));
      spot.at[k] = first;
    }
    spot.level = static_cast<int>(std::bit_width(differ));
  }

  std::size_t dimension_ = 3;
  double looseness_ = 2;
  double base_[4] = {};
  double steps_ = 1;  // smallest cells in a unit
  std::int64_t low_[4] = {};
  int levels_ = 0;
};

// What the root encloses: all boxes without infinite corners, which no cell contains, or only most of them. A few boxes
// far away stay outside, and so do those that are so far away that their cells would be levels without another box.
template <std::size_t D, class T, class Corners>
Extent<T> enclosed_extent(const Reach<T>& reach, std::size_t count, const Corners& corners) {
  constexpr std::size_t kFew = 2 * kLanes;
  constexpr T kEmptyLevels = 1024;  // 2^10
  const Extent<T>&extent = reach.extent, &bulk = reach.bulk;
  T size = 0, whole = 0;
  bool same = true;
  for (std::size_t k = 0; k < D; ++k) {
    size = std::max(size, bulk.high[k] - bulk.low[k]);
    whole = std::max(whole, extent.high[k] - extent.low[k]);
    same = same && bulk.low[k] == extent.low[k] && bulk.high[k] == extent.high[k];
  }
  if (same || whole > size * kEmptyLevels) return bulk;
  std::size_t outside = 0;
  for (std::size_t at = 0; at < count; ++at) {
    const BoxCorners<T> box = corners(at);
    bool is_inside = true;
    for (std::size_t k = 0; k < D; ++k)
      is_inside = is_inside && bulk.low[k] <= box.lower[k] && box.upper[k] <= bulk.high[k];
    outside += is_inside ? 0 : 1;
  }
  return outside <= kFew ? bulk : extent;
}

// The lattice for the given rows, which reach so far.
template <class T>
OctreeLattice lattice_of(const LocalFrame& frame, const Reach<T>& reach, const BoxView<T>& boxes, std::size_t dimension,
                         const std::int32_t* rows, std::size_t count, const OctreeOptions& options) {
  constexpr std::size_t kLookedAt = 1024;
  const auto corners = [&](std::size_t at) {
    const auto row = static_cast<std::size_t>(rows[at]);
    return BoxCorners<T>{boxes.lower_of(row), boxes.upper_of(row)};
  };
  const Extent<T> extent =
      with_dimension(dimension, [&]<std::size_t D>(Dimension<D>) { return enclosed_extent<D>(reach, count, corners); });
  std::vector<double> sizes;
  const StratifiedSample sample(count, kLookedAt);
  for (std::size_t at = 0; at < sample.size(); ++at) {
    const BoxCorners<T> box = corners(sample[at]);
    double size = 0;
    for (std::size_t k = 0; k < dimension; ++k)
      size = std::max(
          size, frame.local(static_cast<double>(box.upper[k]), k) - frame.local(static_cast<double>(box.lower[k]), k));
    if (std::isfinite(size)) sizes.push_back(size);
  }
  double low[4], high[4];
  for (std::size_t k = 0; k < dimension; ++k) {
    low[k] = frame.local(static_cast<double>(extent.low[k]), k);
    high[k] = frame.local(static_cast<double>(extent.high[k]), k);
  }
  for (std::size_t k = 0; k < options.world_lower.size(); ++k) {
    low[k] = std::min(low[k], frame.local(options.world_lower[k], k));
    high[k] = std::max(high[k], frame.local(options.world_upper[k], k));
  }
  for (std::size_t k = 0; k < dimension; ++k)
    if (!(low[k] <= high[k]) || !std::isfinite(low[k]) || !std::isfinite(high[k])) low[k] = high[k] = 0;
  double quartile = 0;
  if (!sizes.empty()) {
    const auto place = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 4);
    std::nth_element(sizes.begin(), place, sizes.end());
    quartile = *place;
  }
  OctreeLattice lattice;
  lattice.lay(frame, dimension, low, high, quartile, options.minimum, options.looseness);
  return lattice;
}

}  // namespace broadphase
