// The cell that a thread is at: its memory; and, where whole numbers do not tell its boxes apart, the ranks of their
// corners, which do, on any scale.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/radix_sort.hpp"
#include "grid/record.hpp"
#include "query/problem.hpp"

namespace broadphase {

// Room for one set's share of a cell, reused from cell to cell.
class CellRoom {
 public:
  CellArrays arrays{};

  void prepare(std::size_t count, std::size_t dimension, std::size_t buckets) {
    const std::size_t padded = count + kCellPadding;
    if (padded > padded_) {
      padded_ = (padded + padded / 2 + kAligned - 1) / kAligned * kAligned;
      room_.grow(padded_ * (2 * dimension + 3) + kAligned);
    }
    if (buckets + 2 > buckets_) {
      buckets_ = 2 * buckets + 2;
      ends_.grow(buckets_);
    }
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(room_.get()) / sizeof(std::int16_t) % kAligned;
    std::int16_t* words = room_.get() + (kAligned - beyond) % kAligned;
    for (std::size_t d = 0; d < dimension; ++d) {
      arrays.lower[d] = words + (2 * d) * padded_;
      arrays.negated_upper[d] = words + (2 * d + 1) * padded_;
    }
    words += 2 * dimension * padded_;
    arrays.row = reinterpret_cast<std::uint32_t*>(words);
    arrays.began_before = reinterpret_cast<std::uint16_t*>(words + 2 * padded_);
    arrays.bucket_end = ends_.get();
    arrays.count = count;
  }

 private:
  static constexpr std::size_t kAligned = 32;  // words: 64 bytes, a register or a line of cache

  std::size_t padded_ = 0, buckets_ = 0;
  PlainArray<std::int16_t> room_;
  PlainArray<std::uint32_t> ends_;
};

// Along each axis all corners of the cell, sorted: number k stands for the k-th. Of equal ones, those that begin come
// first where boxes are closed, and those that end where they are open, so that two boxes overlap where their numbers
// do. Above 2^14 boxes neighbours share a number, which decides nothing about the few that do.
// Time O(n) for each axis; 70 bytes a box.
template <class T>
class RankedCell {
 public:
  // Writes the numbers of the boxes that `room` names, of one set or of two, sorted along the axis where the fewest
  // overlap, which is returned.
  std::size_t rank(const Problem<T>& problem, CellRoom (&room)[2], Buckets& buckets) {
    const std::size_t sets = problem.cross ? 2 : 1;
    boxes_.clear();
    for (std::size_t k = 0; k < sets; ++k) {
      const CellArrays& arrays = room[k].arrays;
      for (std::size_t i = 0; i < arrays.count; ++i) boxes_.push_back({arrays.row[i], arrays.began_before[i]});
    }
    const std::size_t own = room[0].arrays.count, all = boxes_.size();
    std::size_t best_axis = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t d = 0; d < problem.dimension; ++d) {
      numbers_[d].resize(2 * all);
      const std::uint64_t meetings = rank_axis(problem, own, d);
      if (meetings >= least) continue;
      least = meetings;
      best_axis = d;
      std::swap(order_, best_order_);
    }
    const auto number_of = [&](std::uint32_t box) { return std::int32_t{numbers_[best_axis][2 * box]}; };
    buckets = {number_of(best_order_.front()), 0, 0};
    const std::int32_t width = number_of(best_order_.back()) - buckets.lowest;
    while (width >> buckets.shift >= static_cast<std::int32_t>(std::max<std::size_t>(all / 2, 8))) ++buckets.shift;
    buckets.count = static_cast<std::uint32_t>(width >> buckets.shift) + 1;
    for (std::size_t k = 0; k < sets; ++k) {
      room[k].prepare(k == 0 ? own : all - own, problem.dimension, buckets.count);
      std::fill_n(room[k].arrays.bucket_end, buckets.count + 1, 0u);
    }
    std::size_t written[2] = {0, 0};
    for (const std::uint32_t box : best_order_) {
      const std::size_t k = box < own ? 0 : 1, at = written[k]++;
      const CellArrays& to = room[k].arrays;
      for (std::size_t d = 0; d < problem.dimension; ++d)
        to.lower[d][at] = numbers_[d][2 * box],
        to.negated_upper[d][at] = static_cast<std::int16_t>(-numbers_[d][2 * box + 1]);
      to.row[at] = boxes_[box].row;
      to.began_before[at] = boxes_[box].began_before;
      ++to.bucket_end[(number_of(box) - buckets.lowest) >> buckets.shift];
    }
    for (std::size_t k = 0; k < sets; ++k) {
      const CellArrays& to = room[k].arrays;
      for (std::size_t b = 1; b <= buckets.count; ++b) to.bucket_end[b] += to.bucket_end[b - 1];
      for (std::size_t at = to.count; at < to.count + kCellPadding; ++at) {
        for (std::size_t d = 0; d < problem.dimension; ++d) to.lower[d][at] = to.negated_upper[d][at] = 32767;
        to.row[at] = 0;
        to.began_before[at] = 0;
      }
    }
    return best_axis;
  }

 private:
  struct Box {
    std::uint32_t row;
    std::uint16_t began_before;
  };

  // Fills numbers_ of the axis, and order_: the boxes as they begin. Returns how many pairs overlap along it.
  std::uint64_t rank_axis(const Problem<T>& problem, std::size_t own, std::size_t axis) {
    constexpr std::size_t kNumbers = std::size_t{1} << kCellBits;
    const std::size_t all = boxes_.size();
    sorter_.start(2 * all);
    for (const bool ends : {!problem.touching, problem.touching})
      for (std::size_t box = 0; box < all; ++box) {
        const BoxView<T>& from = box < own ? problem.first : problem.second;
        const std::size_t row = boxes_[box].row;
        sorter_.add(ends ? from.upper_of(row)[axis] + problem.grow : from.lower_of(row)[axis] - problem.grow,
                    static_cast<std::uint32_t>(2 * box + (ends ? 1 : 0)));
      }
    Interrupt none;  // a cell's share of time is short, and this may not be the calling thread
    sorter_.sort(none);
    order_.clear();
    std::uint64_t meetings = 0;
    for (std::size_t rank = 0; rank < 2 * all; ++rank) {
      const std::uint32_t corner = sorter_.row(rank);
      const std::size_t number = 2 * all <= kNumbers ? rank : rank * kNumbers / (2 * all);
      numbers_[axis][corner] = static_cast<std::int16_t>(static_cast<std::int32_t>(number) - kCellSteps / 2);
      if (corner % 2 == 0)
        order_.push_back(corner / 2);
      else
        meetings += order_.size();
    }
    return meetings;
  }

  RowSorter<T> sorter_;
  std::vector<Box> boxes_;
  std::vector<std::int16_t> numbers_[4];  // of box b: lower at 2 b, upper at 2 b + 1
  std::vector<std::uint32_t> order_, best_order_;
};

}  // namespace broadphase
