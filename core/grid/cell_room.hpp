// The memory of the cell that a thread is at.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.hpp"
#include "grid/record.hpp"

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

}  // namespace broadphase
