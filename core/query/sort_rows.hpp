// Sorting the rows that a query has found.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"

namespace broadphase {

// Sorts different row numbers, none negative: a few by insertion, more by std::sort; many by radix, or by marking each
// in a list of bits where they are dense. Allocates only for more than 512, and no more than a few bytes for each.
inline void sort_rows(std::int32_t* rows, std::size_t count) {
  constexpr std::size_t kFew = 24, kMany = 512, kWord = 64;
  if (count <= kFew) {
    for (std::size_t k = 1; k < count; ++k) {
      const std::int32_t row = rows[k];
      std::size_t to = k;
      for (; to > 0 && rows[to - 1] > row; --to) rows[to] = rows[to - 1];
      rows[to] = row;
    }
    return;
  }
  if (count <= kMany) return std::sort(rows, rows + count);
  const auto [least, most] = std::minmax_element(rows, rows + count);
  const auto first = static_cast<std::uint32_t>(*least), span = static_cast<std::uint32_t>(*most) - first;
  if (span / kWord < count) {
    std::vector<std::uint64_t> marks(span / kWord + 1, 0);
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t place = static_cast<std::uint32_t>(rows[k]) - first;
      marks[place / kWord] |= std::uint64_t{1} << place % kWord;
    }
    std::int32_t* to = rows;
    for (std::size_t word = 0; word < marks.size(); ++word)
      for (std::uint64_t left = marks[word]; left != 0; left &= left - 1)
        *to++ = static_cast<std::int32_t>(first + word * kWord + static_cast<std::uint32_t>(std::countr_zero(left)));
    return;
  }
  PlainArray<std::int32_t> spare;
  spare.grow(count);
  Interrupt none;  // this may not be the calling thread, the only one that can be interrupted
  const auto key = [first](std::int32_t row) { return static_cast<std::uint32_t>(row) - first; };
  const auto bits = static_cast<int>(std::bit_width(span));
  const std::int32_t* sorted = radix_sort<11>(rows, spare.get(), count, 0, bits, key, 1, none);
  if (sorted != rows) std::copy(sorted, sorted + count, rows);
}

}  // namespace broadphase
