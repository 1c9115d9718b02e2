// From blocks of candidates to pairs of row numbers.
#pragma once

#include "grid/record.hpp"
#include "simd/float_lanes.hpp"

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace broadphase::BROADPHASE_LEVEL {

inline std::uint32_t lowest_bit(std::uint32_t bits) {  // 31 or 32 for none: never used then
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long index = 31;
  _BitScanForward(&index, bits);
  return index;
#elif BROADPHASE_LANES >= BROADPHASE_LANES_avx2 && defined(__BMI__)
  return _tzcnt_u32(bits);
#else
  return static_cast<std::uint32_t>(__builtin_ctz(bits | 0x80000000u));
#endif
}

inline std::uint32_t bit_count(std::uint32_t bits) {
#if defined(__POPCNT__) || BROADPHASE_LANES == BROADPHASE_LANES_neon
  return static_cast<std::uint32_t>(__builtin_popcount(bits));
#else
  bits -= bits >> 1 & 0x55555555u;
  bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
  return ((bits + (bits >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
#endif
}

inline std::uint64_t count_hits(const std::uint32_t* sure, std::size_t blocks) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < blocks; ++k) sum += bit_count(sure[k]);
  return sum;
}

// Writes record << 32 | candidate for every set bit, ascending; returns how many. Room for four more is a precondition:
// most blocks hold few hits, and four writes without asking cost less than one wrong guess of a branch.
inline std::size_t list_hits(const CandidateBlock* blocks, const std::uint32_t* sure, std::size_t count,
                             std::uint64_t* hits) {
  std::size_t found = 0;
  for (std::size_t k = 0; k < count; ++k) {
    std::uint32_t bits = sure[k];
    const std::uint64_t base = static_cast<std::uint64_t>(blocks[k].record) << 32 | blocks[k].first_candidate;
    const std::uint32_t here = bit_count(bits);
    std::uint64_t* to = hits + found;
    for (int unrolled = 0; unrolled < 4; ++unrolled) {
      to[unrolled] = base + lowest_bit(bits);
      bits &= bits - 1;
    }
    if (here > 4) {
      for (to += 4; bits != 0; bits &= bits - 1) *to++ = base + lowest_bit(bits);
    }
    found += here;
  }
  return found;
}

// Hits to rows. `ordered`: the smaller row goes first; otherwise the row of `a`.
inline void name_rows(const std::uint64_t* hits, std::size_t count, const std::uint32_t* a, const std::uint32_t* b,
                      bool ordered, std::int32_t* first, std::int32_t* second) {
  if (ordered) {
    for (std::size_t k = 0; k < count; ++k) {
      const auto p = static_cast<std::int32_t>(a[hits[k] >> 32]),
                 q = static_cast<std::int32_t>(b[hits[k] & 0xffffffffu]);
      first[k] = p < q ? p : q;
      second[k] = p < q ? q : p;
    }
  } else {
    for (std::size_t k = 0; k < count; ++k) {
      first[k] = static_cast<std::int32_t>(a[hits[k] >> 32]);
      second[k] = static_cast<std::int32_t>(b[hits[k] & 0xffffffffu]);
    }
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
