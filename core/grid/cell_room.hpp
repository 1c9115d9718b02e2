// The memory of the cell that a thread is at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "grid/record.hpp"

namespace broadphase {

// Room for one set's share of a cell, reused from cell to cell.
class CellRoom {
 public:
  CellArrays arrays{};

  void prepare(std::size_t count, std::size_t dimension, std::size_t buckets) {
    const std::size_t padded = count + kCellPadding;
    if (padded > padded_) {
      padded_ = padded + padded / 2;
      words_ = std::make_unique_for_overwrite<std::int16_t[]>(padded_ * dimension * 2);
      doubled_ = std::make_unique_for_overwrite<std::uint32_t[]>(padded_ * (dimension * 2 + 2));
      before_ = std::make_unique_for_overwrite<std::uint16_t[]>(padded_);
    }
    if (buckets + 2 > buckets_) {
      buckets_ = 2 * buckets + 2;
      ends_ = std::make_unique_for_overwrite<std::uint32_t[]>(buckets_);
    }
    for (std::size_t d = 0; d < dimension; ++d) {
      arrays.lower[d] = words_.get() + (2 * d) * padded_;
      arrays.negated_upper[d] = words_.get() + (2 * d + 1) * padded_;
      arrays.doubled_lower[d] = doubled_.get() + (2 * d) * padded_;
      arrays.doubled_negated_upper[d] = doubled_.get() + (2 * d + 1) * padded_;
    }
    arrays.began_before = before_.get();
    arrays.doubled_began_before = doubled_.get() + 2 * dimension * padded_;
    arrays.row = doubled_.get() + (2 * dimension + 1) * padded_;
    arrays.bucket_end = ends_.get();
    arrays.count = count;
  }

 private:
  std::size_t padded_ = 0, buckets_ = 0;
  std::unique_ptr<std::int16_t[]> words_;
  std::unique_ptr<std::uint16_t[]> before_;
  std::unique_ptr<std::uint32_t[]> doubled_, ends_;
};

}  // namespace broadphase
