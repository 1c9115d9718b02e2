// Pairs of a question and a row, turned into an answer for each question.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/plain_array.hpp"
#include "base/radix_sort.hpp"
#include "query/collect.hpp"
#include "query/ragged.hpp"

namespace broadphase {

namespace detail {

// A few numbers by insertion, more by what the library has, many by radix. `spare` is as large as `rows`.
inline void sort_rows(std::int32_t* rows, std::size_t count, PlainArray<std::int32_t>& spare, int bits) {
  constexpr std::size_t kFew = 24, kMany = 512;
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
  spare.grow(count);
  Interrupt none;  // short, and only the calling thread may be interrupted
  const auto key = [](std::int32_t row) { return static_cast<std::uint32_t>(row); };
  const std::int32_t* sorted = radix_sort<11>(rows, spare.get(), count, 0, bits, key, 1, none);
  if (sorted != rows) std::copy(sorted, sorted + count, rows);
}

}  // namespace detail

// Answer k holds the second numbers of the pairs whose first number is k, ascending. `rows`: all second numbers are
// below. O(pairs), and memory of the answers besides the pairs.
inline Ragged by_question(const Pairs& pairs, std::size_t questions, std::size_t rows, unsigned workers,
                          Interrupt& interrupt) {
  const std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  Ragged result;
  result.offsets.assign(questions + 1, 0);
  result.rows.resize(pairs.size);
  in_stretches(pairs.size, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) ++result.offsets[static_cast<std::size_t>(first[k]) + 1];
  });
  for (std::size_t k = 0; k < questions; ++k) result.offsets[k + 1] += result.offsets[k];
  std::vector<std::int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  in_stretches(pairs.size, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      result.rows[static_cast<std::size_t>(next[static_cast<std::size_t>(first[k])]++)] = second[k];
  });
  const int bits = static_cast<int>(std::bit_width(rows > 1 ? rows - 1 : 1));
  constexpr std::size_t kTogether = 1024;
  std::vector<PlainArray<std::int32_t>> spares(std::max(1u, workers));
  for_each_task((questions + kTogether - 1) / kTogether, workers, interrupt, [&](unsigned worker, std::size_t task) {
    for (std::size_t k = task * kTogether; k < std::min(questions, (task + 1) * kTogether); ++k)
      detail::sort_rows(result.rows.data() + result.offsets[k],
                        static_cast<std::size_t>(result.offsets[k + 1] - result.offsets[k]), spares[worker], bits);
  });
  return result;
}

}  // namespace broadphase
