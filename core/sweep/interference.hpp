// Which boxes interfere with this one? Asked of boxes in sorted order, from any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simd/kernels.hpp"
#include "sweep/sorted_intervals.hpp"

namespace broadphase {

// A place that no interval covers: from the end of the last one before it to the begin of the next.
template <class T>
struct VoidBorder {
  T end, begin;
};

// Questions about closed boxes that are sorted. Everything const is safe to call from many threads at once.
//
// Intervals that begin within the one asked about are a run, found by binary search. Those that begin before may reach
// into it; no earlier one does than the first place where the furthest end so far reaches it. That place is never
// before a void border, as the furthest end so far does not reach over one. In between, blocks of boxes that all end
// too early are passed over: a single long box in front costs no more than that.
template <class T>
class Interference {
 public:
  using Scratch = std::vector<std::uint32_t>;

  Interference() = default;
  Interference(const SortedIntervals<T>& sorted, const Kernels& kernels, Interrupt interrupt = Interrupt()) {
    prepare(sorted, kernels, interrupt);
  }

  // `sorted` must outlive this. Reuses the memory of what was prepared before.
  void prepare(const SortedIntervals<T>& sorted, const Kernels& kernels, Interrupt& interrupt) {
    sorted_ = &sorted;
    overlap_ = overlap_kernel<T>(kernels, sorted.dimension(), true);
    const T* end = sorted.ends();
    furthest_.resize(count());
    block_end_.clear();
    group_end_.clear();
    in_stretches(count(), interrupt, [&](std::size_t from, std::size_t to) {
      for (std::size_t position = from; position < to; ++position) {
        furthest_[position] = position == 0 ? end[0] : std::max(furthest_[position - 1], end[position]);
        raise(block_end_, position / kBlock, end[position]);
        raise(group_end_, position / (kBlock * kBlock), end[position]);
      }
    });
  }

  std::size_t count() const { return sorted_->count(); }
  const SortedIntervals<T>& sorted() const { return *sorted_; }
  std::size_t bytes() const {
    return (furthest_.capacity() + block_end_.capacity() + group_end_.capacity()) * sizeof(T);
  }

  std::vector<VoidBorder<T>> void_borders() const {
    std::vector<VoidBorder<T>> result;
    for (std::size_t position = 1; position < count(); ++position)
      if (furthest_[position - 1] < sorted_->begins()[position])
        result.push_back({furthest_[position - 1], sorted_->begins()[position]});
    return result;
  }

  // Appends to `rows`, ascending, those that overlap a box of the caller's.
  void query(const T* lower, const T* upper, Scratch& scratch, std::vector<std::int32_t>& rows) const {
    T box[8];
    for (std::size_t k = 0; k < sorted_->dimension(); ++k) {
      box[k] = lower[sorted_->axis(k)];
      box[sorted_->dimension() + k] = upper[sorted_->axis(k)];
    }
    search(box, interval_along(sorted_->direction(), lower, upper, sorted_->dimension(), T(0)), count(), scratch, rows);
  }

  // Those that overlap the box at a position, itself not among them.
  void query_position(std::size_t position, Scratch& scratch, std::vector<std::int32_t>& rows) const {
    T box[8];
    for (std::size_t k = 0; k < 2 * sorted_->dimension(); ++k) box[k] = sorted_->columns()[k][position];
    search(box, {sorted_->begins()[position], sorted_->ends()[position]}, position, scratch, rows);
  }

 private:
  // 64 blocks of 64 boxes are a group. Runs are tested a piece at a time, so that a small scratch does.
  static constexpr std::size_t kBlock = 64, kPiece = 1024;

  static void raise(std::vector<T>& ends, std::size_t at, T end) {
    if (at == ends.size())
      ends.push_back(end);
    else
      ends[at] = std::max(ends[at], end);
  }

  void search(const T* box, const Interval<T>& asked, std::size_t left_out, Scratch& scratch,
              std::vector<std::int32_t>& rows) const {
    const T* begins = sorted_->begins();
    const std::size_t known = rows.size();
    const auto last = static_cast<std::size_t>(std::upper_bound(begins, begins + count(), asked.end) - begins);
    const auto sure = static_cast<std::size_t>(std::lower_bound(begins, begins + last, asked.begin) - begins);
    auto position =
        static_cast<std::size_t>(std::lower_bound(furthest_.begin(), furthest_.end(), asked.begin) - furthest_.begin());
    scratch.resize(kPiece + 64);
    while (position < last) {
      if (position < sure && position % (kBlock * kBlock) == 0 &&
          group_end_[position / (kBlock * kBlock)] < asked.begin) {
        position = std::min(sure, position + kBlock * kBlock);
      } else if (position < sure && block_end_[position / kBlock] < asked.begin) {
        position = std::min(sure, position / kBlock * kBlock + kBlock);
      } else {
        // A block that may reach, or all that is left, where every interval does.
        const std::size_t piece =
            std::min(last, position < sure ? position / kBlock * kBlock + kBlock : position + kPiece);
        const std::size_t found = overlap_({sorted_->columns(), position, piece, box}, scratch.data());
        for (std::size_t k = 0; k < found; ++k)
          if (scratch[k] != left_out) rows.push_back(sorted_->rows()[scratch[k]]);
        position = piece;
      }
    }
    std::sort(rows.begin() + static_cast<std::ptrdiff_t>(known), rows.end());
  }

  const SortedIntervals<T>* sorted_ = nullptr;
  OverlapRun<T> overlap_ = nullptr;
  std::vector<T> furthest_;               // end of all intervals up to and with a position
  std::vector<T> block_end_, group_end_;  // of the intervals in each block, in each group
};

}  // namespace broadphase
