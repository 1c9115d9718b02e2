// Lexicographic order for pairs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadphase/collect.hpp"

namespace broadphase {

inline void sort_pairs(Pairs& pairs, std::size_t, unsigned, Interrupt&) {
  std::vector<std::uint64_t> keys(pairs.size);
  std::int32_t *i = pairs.block.get(), *j = i + pairs.stride;
  for (std::size_t k = 0; k < pairs.size; ++k)
    keys[k] = static_cast<std::uint64_t>(i[k]) << 32 | static_cast<std::uint32_t>(j[k]);
  std::sort(keys.begin(), keys.end());
  for (std::size_t k = 0; k < pairs.size; ++k) {
    i[k] = static_cast<std::int32_t>(keys[k] >> 32);
    j[k] = static_cast<std::int32_t>(keys[k] & 0xffffffffu);
  }
}

}  // namespace broadphase
