// Sorting rows by marks that are kept for the next ones.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "query/sort_rows.hpp"

namespace broadphase {

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
