// Lexicographic order for pairs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/plain_array.hpp"
#include "base/radix_sort.hpp"
#include "query/collect.hpp"

namespace broadphase {

// `rows`: of the larger set. Pairs go to stretches of first rows, so that each stretch fits a near cache, and are
// sorted there by radix. Time O(pairs); memory of the pairs once more.
inline void sort_pairs(Pairs& pairs, std::size_t rows, unsigned workers, Interrupt& interrupt) {
  constexpr std::size_t kPairsAStretch = 40000, kMostStretches = 2048;
  if (pairs.size < 2) return;
  std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  const int row_bits = static_cast<int>(std::bit_width(rows > 1 ? rows - 1 : 1));
  const std::size_t wanted = std::clamp<std::size_t>(pairs.size / kPairsAStretch, 1, kMostStretches);
  const int stretch_bits = std::max(0, row_bits - static_cast<int>(std::bit_width(wanted) - 1));
  const std::size_t stretches = ((rows > 0 ? rows - 1 : 0) >> stretch_bits) + 1;
  const std::uint64_t low_mask = (std::uint64_t{1} << stretch_bits) - 1;

  PlainArray<std::uint64_t> keys;
  keys.grow(pairs.size);
  std::vector<std::size_t> start(stretches + 1, 0);
  for (std::size_t k = 0; k < pairs.size; ++k) ++start[(static_cast<std::size_t>(first[k]) >> stretch_bits) + 1];
  for (std::size_t s = 0; s < stretches; ++s) start[s + 1] += start[s];
  std::vector<std::size_t> next(start.begin(), start.end() - 1);
  for (std::size_t k = 0; k < pairs.size; ++k) {
    const auto row = static_cast<std::uint64_t>(first[k]);
    keys[next[row >> stretch_bits]++] = (row & low_mask) << row_bits | static_cast<std::uint32_t>(second[k]);
  }
  interrupt.check();
  std::vector<PlainArray<std::uint64_t>> spares(std::max(1u, workers));
  for_each_task(stretches, workers, interrupt, [&](unsigned worker, std::size_t s) {
    const std::size_t begin = start[s], count = start[s + 1] - begin;
    if (count == 0) return;
    std::uint64_t* own = keys.get() + begin;
    const std::uint64_t* sorted = own;
    if (count <= 256) {
      std::sort(own, own + count);
    } else {
      spares[worker].grow(count);
      Interrupt none;  // tasks are short, and only the calling thread may be interrupted
      const auto key = [](std::uint64_t pair) { return pair; };
      sorted = radix_sort<11>(own, spares[worker].get(), count, 0, row_bits + stretch_bits, key, 1, none);
    }
    const auto high = static_cast<std::uint64_t>(s) << stretch_bits;
    for (std::size_t k = 0; k < count; ++k) {
      first[begin + k] = static_cast<std::int32_t>(high | sorted[k] >> row_bits);
      second[begin + k] = static_cast<std::int32_t>(sorted[k] & ((std::uint64_t{1} << row_bits) - 1));
    }
  });
}

}  // namespace broadphase
