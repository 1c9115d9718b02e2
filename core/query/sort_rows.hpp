// Sorting the rows that a query has found.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
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

// Sorts different row numbers by marking each in a list of bits, which is kept for the next rows: in time that depends
// on the highest row only where there are millions.
class RowMarks {
 public:
  // `limit`: no row is as high. Throws bad_alloc, and then nothing has changed.
  void sort(std::int32_t* rows, std::size_t count, std::size_t limit) {
    if (limit / kWord / kWord / kWord > count) return sort_rows(rows, count);
    if (words_.size() * kWord < limit) {
      std::vector<std::uint64_t> of_words(limit / kWord / kWord + 1, 0);
      words_.assign(limit / kWord + 1, 0);
      of_words_ = std::move(of_words);
    }
    for (std::size_t k = 0; k < count; ++k) {
      const auto row = static_cast<std::size_t>(rows[k]);
      words_[row / kWord] |= std::uint64_t{1} << row % kWord;
      of_words_[row / kWord / kWord] |= std::uint64_t{1} << row / kWord % kWord;
    }
    std::int32_t* to = rows;
    for (std::size_t k = 0; to < rows + count; ++k)
      for (std::uint64_t words = std::exchange(of_words_[k], 0); words != 0; words &= words - 1) {
        const std::size_t word = k * kWord + static_cast<std::size_t>(std::countr_zero(words));
        for (std::uint64_t left = std::exchange(words_[word], 0); left != 0; left &= left - 1)
          *to++ = static_cast<std::int32_t>(word * kWord + static_cast<std::size_t>(std::countr_zero(left)));
      }
  }

 private:
  static constexpr std::size_t kWord = 64;

  std::vector<std::uint64_t> words_, of_words_;  // a bit for each row; a bit for each word that has some
};

}  // namespace broadphase
