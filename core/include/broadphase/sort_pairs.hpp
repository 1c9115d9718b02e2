// Lexicographic order for pairs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "broadphase/collect.hpp"
#include "broadphase/plain_array.hpp"

namespace broadphase {

namespace detail {

// Most boxes have a few pairs only: insertion beats anything else for those.
inline void sort_few(std::int32_t* begin, std::int32_t* end) {
  if (end - begin > 24) {
    std::sort(begin, end);
    return;
  }
  for (std::int32_t* next = begin + 1; next < end; ++next) {
    const std::int32_t value = *next;
    std::int32_t* place = next;
    for (; place > begin && place[-1] > value; --place) *place = place[-1];
    *place = value;
  }
}

// Pairs whose first row is in [low, low + count), by counting; `starts` has room for count + 1.
inline void sort_by_counting(const std::int32_t* first, const std::int32_t* second, std::size_t pairs, std::int32_t low,
                             std::size_t count, std::uint32_t* starts, std::int32_t* to_first,
                             std::int32_t* to_second) {
  std::fill(starts, starts + count + 1, 0u);
  for (std::size_t k = 0; k < pairs; ++k) ++starts[first[k] - low + 1];
  for (std::size_t row = 0; row < count; ++row) starts[row + 1] += starts[row];
  for (std::size_t k = 0; k < pairs; ++k) to_second[starts[first[k] - low]++] = second[k];
  // Each start has moved on to its row's end.
  std::uint32_t begin = 0;
  for (std::size_t row = 0; row < count; ++row) {
    const std::uint32_t end = starts[row];
    for (std::uint32_t k = begin; k < end; ++k) to_first[k] = low + static_cast<std::int32_t>(row);
    if (end - begin > 1) sort_few(to_second + begin, to_second + end);
    begin = end;
  }
}

}  // namespace detail

// `rows`: of the first set. Time O(rows + pairs log(pairs of one row)); memory of the pairs once more, and a counter for
// each row or, where those would not fit a cache, for each of a stretch of rows.
inline void sort_pairs(Pairs& pairs, std::size_t rows, unsigned workers, Interrupt& interrupt) {
  constexpr int kStretchBits = 16;
  constexpr std::size_t kStretch = std::size_t{1} << kStretchBits;
  if (pairs.size < 2) return;
  const std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  Pairs sorted{allocate_pairs(pairs.size), pairs.size, pairs.size};
  std::int32_t *to_first = sorted.block.get(), *to_second = to_first + sorted.stride;
  const std::size_t stretches = (rows + kStretch - 1) / kStretch;
  if (stretches <= 2) {
    PlainArray<std::uint32_t> starts;
    starts.grow(rows + 1);
    detail::sort_by_counting(first, second, pairs.size, 0, rows, starts.get(), to_first, to_second);
    pairs = std::move(sorted);
    return;
  }
  // By stretch of rows, into `sorted`; then each stretch back into place.
  std::vector<std::size_t> start(stretches + 1, 0);
  for (std::size_t k = 0; k < pairs.size; ++k) ++start[(static_cast<std::size_t>(first[k]) >> kStretchBits) + 1];
  for (std::size_t s = 0; s < stretches; ++s) start[s + 1] += start[s];
  std::vector<std::size_t> next(start.begin(), start.end() - 1);
  for (std::size_t k = 0; k < pairs.size; ++k) {
    const std::size_t place = next[static_cast<std::size_t>(first[k]) >> kStretchBits]++;
    to_first[place] = first[k];
    to_second[place] = second[k];
  }
  interrupt.check();
  std::int32_t *back_first = pairs.block.get(), *back_second = back_first + pairs.stride;
  std::vector<PlainArray<std::uint32_t>> starts(std::max(1u, workers));
  for_each_task(stretches, workers, interrupt, [&](unsigned worker, std::size_t s) {
    starts[worker].grow(kStretch + 1);
    detail::sort_by_counting(to_first + start[s], to_second + start[s], start[s + 1] - start[s],
                             static_cast<std::int32_t>(s << kStretchBits), std::min(kStretch, rows - (s << kStretchBits)),
                             starts[worker].get(), back_first + start[s], back_second + start[s]);
  });
}

}  // namespace broadphase
