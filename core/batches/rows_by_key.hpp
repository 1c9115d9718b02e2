// Rows with a key each, in the order of their keys, and the stretches of one key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"

namespace broadphase {

// The key of each row of a set: those of an array, or row / `each`.
struct RowKeys {
  std::size_t count = 0;
  const std::int64_t* keys = nullptr;
  std::size_t each = 1;

  std::int64_t of(std::size_t row) const { return keys != nullptr ? keys[row] : static_cast<std::int64_t>(row / each); }
};

// Positions are those in the order of keys, and of rows where keys are equal.
struct RowsByKey {
  PlainArray<std::int32_t> rows;     // at each position; empty where that is the position itself
  std::vector<std::uint32_t> start;  // of each key's positions, ascending, and the end of the last

  bool sorted_already() const { return rows.size() == 0; }
  std::size_t key_count() const { return start.size() - 1; }
  std::int32_t row(std::size_t position) const {
    return sorted_already() ? static_cast<std::int32_t>(position) : rows[position];
  }
};

// One radix sort, or none where the keys ascend already. 16 or 32 bytes a row while it sorts.
RowsByKey rows_by_key(const RowKeys& keys, Interrupt& interrupt);

// The positions [begin, end) of one key in each set. With one set the second range is empty.
struct Batch {
  std::uint32_t begin[2], end[2];

  std::size_t count(std::size_t set) const { return end[set] - begin[set]; }
  double all_pairs(bool cross) const {
    const auto a = static_cast<double>(count(0));
    return cross ? a * static_cast<double>(count(1)) : a * (a - 1) / 2;
  }
};

// Boxes that come in batches: rows of different keys are never compared.
struct Batches {
  RowsByKey sets[2];
  std::vector<Batch> with_pairs;  // by key; those in which a pair is possible
  std::size_t key_count = 0;      // of all, also of those without pairs

  // One batch is all rows of all sets, so that there is nothing to keep apart.
  bool is_whole = false;
};

// Of one set of boxes (`second` null), or of two.
Batches batches_of(const RowKeys& first, const RowKeys* second, Interrupt& interrupt);

}  // namespace broadphase
