// Points in the plane, to be found by boxes: in slices of equal count along x, and sorted along y within a slice, so
// that those in a box lie in a few stretches, however unevenly points are spread.
//
// They are sorted by their coordinates less the least ones, as floats: rounding changes no order, and what it makes
// equal is compared as it is given.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"

namespace broadphase {

struct RowPoint {
  double place[2];
  std::int64_t row;
};

class SlicedPoints {
 public:
  // Rows of a table of which four numbers are a row, x and y the first two. Preconditions: they are finite; fewer than
  // 2^32 rows.
  SlicedPoints(const double* table, std::span<const std::int64_t> rows, Interrupt& interrupt) {
    const std::size_t count = rows.size();
    PlainArray<RowPoint> given;
    given.grow(count);
    if (count > 0) std::copy_n(table + 4 * rows[0], 2, least_);
    for (std::size_t k = 0; k < count; ++k) {
      const double* place = table + 4 * rows[k];
      given[k] = {{place[0], place[1]}, rows[k]};
      for (std::size_t axis = 0; axis < 2; ++axis) least_[axis] = std::min(least_[axis], place[axis]);
    }
    const PlainMemory<std::uint64_t> items = allocate_plain<std::uint64_t>(count);
    const PlainMemory<std::uint64_t> spare = allocate_plain<std::uint64_t>(count);
    const auto sort_along = [&](std::size_t axis) {
      for (std::size_t k = 0; k < count; ++k)
        items[k] = std::uint64_t{std::bit_cast<std::uint32_t>(level_of(given[k].place[axis], axis))} << 32 | k;
      const auto key = [](std::uint64_t item) { return item; };
      return radix_sort<11>(items.get(), spare.get(), count, 32, 64, key, 1, interrupt);
    };
    const auto slices = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count) / kShape)));
    const std::size_t size = slices > 0 ? (count + slices - 1) / slices : 0;
    std::vector<std::uint32_t> slice_of(count);
    const std::uint64_t* sorted = sort_along(0);
    for (std::size_t begin = 0; begin < count; begin += size) {
      const std::size_t end = std::min(count, begin + size);
      for (std::size_t k = begin; k < end; ++k)
        slice_of[static_cast<std::uint32_t>(sorted[k])] = static_cast<std::uint32_t>(slices_.size());
      slices_.push_back({level(sorted[begin]), level(sorted[end - 1]), begin, end});
    }
    sorted = sort_along(1);
    points_.grow(count);
    levels_.grow(count);
    std::vector<std::size_t> next(slices_.size());
    for (std::size_t slice = 0; slice < next.size(); ++slice) next[slice] = slices_[slice].begin;
    for (std::size_t k = 0; k < count; ++k) {
      const auto number = static_cast<std::uint32_t>(sorted[k]);
      const std::size_t to = next[slice_of[number]]++;
      levels_[to] = level(sorted[k]);
      points_[to] = given[number];
    }
  }

  // Appends the points in a box, which is closed, to the first `count` that there are; returns how many there are then.
  std::size_t find(const double* box, PlainArray<RowPoint>& found, std::size_t count) const {
    const float left = level_of(box[0], 0), right = level_of(box[2], 0), low = level_of(box[1], 1),
                high = level_of(box[3], 1);
    auto slice = std::partition_point(slices_.begin(), slices_.end(), [&](const Slice& s) { return s.last < left; });
    for (; slice != slices_.end() && slice->first <= right; ++slice) {
      const float *begin = levels_.get() + slice->begin, *end = levels_.get() + slice->end;
      begin = std::lower_bound(begin, end, low);
      end = std::upper_bound(begin, end, high);
      const auto size = static_cast<std::size_t>(end - begin);
      if (count + size > found.size()) found.grow(2 * (count + size));
      const RowPoint* point = points_.get() + (begin - levels_.get());
      for (std::size_t k = 0; k < size; ++k) {
        const double x = point[k].place[0], y = point[k].place[1];
        found[count] = point[k];
        count += (box[0] <= x) & (x <= box[2]) & (box[1] <= y) & (y <= box[3]) ? 1 : 0;
      }
    }
    return count;
  }

 private:
  static constexpr double kShape = 4;  // points of a slice for each slice

  struct Slice {
    float first, last;  // along x
    std::size_t begin, end;
  };

  float level_of(double value, std::size_t axis) const {
    constexpr double kMost = std::numeric_limits<float>::max();
    return static_cast<float>(std::clamp(value - least_[axis], -kMost, kMost));
  }
  static float level(std::uint64_t item) { return std::bit_cast<float>(static_cast<std::uint32_t>(item >> 32)); }

  double least_[2] = {0, 0};
  std::vector<Slice> slices_;
  PlainArray<float> levels_;  // of the points, along y
  PlainArray<RowPoint> points_;
};

}  // namespace broadphase
