// The nearest rows of a small batch to many points: all rows are compared, in order of their distances and then of
// their numbers, exactly as walks through a tree find them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "batches/batch_nearest.hpp"
#include "batches/forest.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

// In the plane and in space. One thread's scratch memory.
class NearestOfBatch {
 public:
  static constexpr std::size_t kPoints = BatchNearest::kPoints, kMostRows = BatchNearest::kMostRows,
                               kMostWanted = BatchNearest::kMostWanted;

  static bool serves(const Kernels& kernels, std::size_t dimension, std::size_t wanted) {
    return dimension <= 4 && kernels.eight->batch_nearest[dimension - 1] != nullptr && wanted > 0 &&
           wanted <= kMostWanted;
  }
  // Whether comparing all takes less time than as many walks through a tree: taking a row over and comparing it with
  // eight points takes about a twelfth of a walk. With 24 rows, all take half the time of walks, with 128 two thirds.
  static bool pays(std::size_t rows, std::size_t points) {
    constexpr std::size_t kRowsAPoint = 12;
    return rows > 0 && rows <= kMostRows && rows <= kRowsAPoint * points;
  }

  // Takes the rows of a batch, ascending, kMostRows at most. read(row, box, radius) gives the box of each, grown by a
  // radius where `has_radii`; false: there is another shape. Returns false then, or if squares may overflow.
  template <class Read>
  bool take(std::size_t dimension, std::span<const std::int32_t> rows, bool has_radii, const Read& read) {
    dimension_ = dimension;
    batch_.count = rows.size();
    batch_.has_radii = has_radii;
    double reach = 0;
    for (std::size_t at = 0; at < rows.size(); ++at) {
      double box[8], radius = 0;
      if (!read(rows[at], box, radius)) return false;
      rows_[at] = rows[at];
      batch_.radius[at] = radius;
      for (std::size_t k = 0; k < dimension; ++k) {
        batch_.lower[k][at] = box[k];
        batch_.upper[k][at] = box[dimension + k];
        reach = std::max({reach, std::fabs(box[k]), std::fabs(box[dimension + k])});
      }
    }
    return reach <= kFarthest;
  }

  // The same of a tree of a forest for so many points, unless it has been taken before; false too if it does not pay.
  template <class Read>
  bool take_tree(const Forest& forest, std::uint32_t number, std::size_t points, bool has_radii, const Read& read) {
    if (!pays(forest.rows_of(number), points)) return false;
    if (number == tree_) return is_taken_;
    tree_ = number;
    of_tree_.clear();
    forest.each_row(number, [&](std::int32_t row) { of_tree_.push_back(row); });
    std::sort(of_tree_.begin(), of_tree_.end());
    return is_taken_ = take(forest.dimension(), of_tree_, has_radii, read);
  }

  // Compares up to eight points, of numbers queries[0], queries[1] ... among `points`, with all rows. False if squares
  // may overflow.
  bool compare(const Kernels& kernels, const double* points, const std::uint32_t* queries, std::size_t count,
               std::size_t wanted) {
    double reach = 0;
    for (std::size_t k = 0; k < dimension_; ++k)
      for (std::size_t at = 0; at < kPoints; ++at) {
        const double x = points[queries[at < count ? at : 0] * dimension_ + k];
        batch_.center[k][at] = x;
        reach = std::max(reach, std::fabs(x));
      }
    if (!(reach <= kFarthest)) return false;
    batch_.wanted = wanted;
    kernels.eight->batch_nearest[dimension_ - 1](batch_);
    return true;
  }

  struct Found {
    double value;
    std::uint32_t at;  // among the rows of the batch
    bool operator<(const Found& other) const { return value != other.value ? value < other.value : at < other.at; }
  };
  std::int32_t row(std::uint32_t at) const { return rows_[at]; }

  // Gives the rows wanted of a point that was compared, nearest first, and returns how many. exact(at, value) is the
  // value by which they are in order: the one that was compared, but for a few roundings.
  template <class Exact>
  std::size_t nearest(std::size_t point, Found* found, const Exact& exact) const {
    std::size_t count = 0;
    for (; count < batch_.wanted && batch_.key[count][point] < std::numeric_limits<double>::infinity(); ++count) {
      const auto at =
          static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(batch_.key[count][point]) & BatchNearest::kNumber);
      put(found, count, {exact(at, batch_.value[at][point]), at});
    }
    if (count < batch_.wanted) return count;
    // Others may have values that are nearly the same as that of the last one.
    const double last = batch_.key[count - 1][point] * (1 + kNearly) + kLeast;
    if (batch_.key[count][point] > last) return count;
    count = 0;
    for (std::uint32_t at = 0; at < batch_.count; ++at) {
      const double value = batch_.value[at][point];
      if (value > last) continue;
      const Found one{exact(at, value), at};
      if (count == batch_.wanted && !(one < found[count - 1])) continue;
      count -= count == batch_.wanted ? 1 : 0;
      put(found, count++, one);
    }
    return count;
  }

 private:
  static constexpr double kFarthest = 0x1p400;
  // More than the last bits of a key and a few roundings; and more than distances whose squares vanish.
  static constexpr double kNearly = 0x1p-40, kLeast = 0x1p-430;

  // Behind `count` that are in order.
  static void put(Found* found, std::size_t count, const Found& one) {
    for (; count > 0 && one < found[count - 1]; --count) found[count] = found[count - 1];
    found[count] = one;
  }

  std::size_t dimension_ = 0;
  std::uint32_t tree_ = Forest::kNoTree;
  bool is_taken_ = false;
  std::vector<std::int32_t> of_tree_;
  std::int32_t rows_[kMostRows];
  BatchNearest batch_;
};

}  // namespace broadphase
