// Places on a grid to places on a Hilbert curve.
#pragma once

#include "broadphase/kernels.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// After J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004, 10.1063/1.1751381: first
// the turns and mirrors of ever smaller cells, then a Gray code, then the bits of the axes one after the other. Without
// branches and in strips, so that the compiler handles several places at once. The places are worked on where they are.
template <std::size_t D>
void curve_keys(std::uint32_t (*place)[kCurveRun], std::size_t count, int bits, std::uint32_t* keys) {
  constexpr std::size_t kStrip = 32;
  static_assert(kCurveRun % kStrip == 0);
  for (std::size_t begin = 0; begin < count; begin += kStrip) {
    std::uint32_t x[D][kStrip], key[kStrip] = {}, turned[kStrip];
    for (std::size_t k = 0; k < D; ++k)
      for (std::size_t l = 0; l < kStrip; ++l) x[k][l] = place[k][begin + l];
    if constexpr (D > 1) {
      for (int bit = bits - 1; bit > 0; --bit) {
        const std::uint32_t below = (1u << bit) - 1u;
        for (std::size_t l = 0; l < kStrip; ++l) x[0][l] ^= below & (0u - (x[0][l] >> bit & 1u));
        for (std::size_t k = 1; k < D; ++k)
          for (std::size_t l = 0; l < kStrip; ++l) {
            const std::uint32_t set = 0u - (x[k][l] >> bit & 1u);
            const std::uint32_t swapped = (x[0][l] ^ x[k][l]) & below & ~set;
            x[0][l] ^= (below & set) ^ swapped;
            x[k][l] ^= swapped;
          }
      }
      for (std::size_t k = 1; k < D; ++k)
        for (std::size_t l = 0; l < kStrip; ++l) x[k][l] ^= x[k - 1][l];
      for (std::size_t l = 0; l < kStrip; ++l) {
        turned[l] = x[D - 1][l] >> 1;
        for (int shift = 1; shift < 32; shift *= 2) turned[l] ^= turned[l] >> shift;
      }
      for (std::size_t k = 0; k < D; ++k)
        for (std::size_t l = 0; l < kStrip; ++l) x[k][l] ^= turned[l];
    }
    for (int bit = bits - 1; bit >= 0; --bit)
      for (std::size_t k = 0; k < D; ++k)
        for (std::size_t l = 0; l < kStrip; ++l) key[l] = key[l] << 1 | (x[k][l] >> bit & 1u);
    for (std::size_t l = 0; l < kStrip; ++l) keys[begin + l] = key[l];
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
