// The places of a few numbers in their order, by comparing each with all: for so few, sooner done than any sort.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/float_lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// rank[k]: how many keys are less than key[k]. Keys are all different; `count` is a multiple of 8. Written for the
// compiler to cut into the registers it has.
inline void rank_keys(const std::int32_t* key, std::size_t count, std::int32_t* rank) {
  for (std::size_t begin = 0; begin < count; begin += 8) {
    std::int32_t less[8] = {}, own[8];
    for (std::size_t l = 0; l < 8; ++l) own[l] = key[begin + l];
    for (std::size_t j = 0; j < count; ++j) {
      const std::int32_t other = key[j];
      for (std::size_t l = 0; l < 8; ++l) less[l] += other < own[l] ? 1 : 0;
    }
    for (std::size_t l = 0; l < 8; ++l) rank[begin + l] = less[l];
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
