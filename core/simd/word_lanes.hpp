// Sums of 16-bit numbers, 32 at a time, one form for every instruction set.
//
// Words of a level holds 32 numbers as kParts vectors and offers
//   splat(x)                 of a number that stands there twice, as 32 bits
//   load(p)                  p needs no alignment
//   add(a, b)                saturating
//   larger(a, b)
//   negative(parts), not_positive(parts)   32 bits, bit l is number l
//   apart(p, x)              32 bits: number l of p has no bit in common with x
#pragma once

#include "simd/float_lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

#if BROADPHASE_LANES == BROADPHASE_LANES_avx512

struct Words {
  using Vector = __m512i;
  static constexpr std::size_t kWidth = 32, kParts = 1;
  static Vector splat(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::int16_t* p) { return _mm512_loadu_si512(p); }
  static Vector add(Vector a, Vector b) { return _mm512_adds_epi16(a, b); }
  static Vector larger(Vector a, Vector b) { return _mm512_max_epi16(a, b); }
  static std::uint32_t negative(const Vector* a) { return _mm512_movepi16_mask(a[0]); }
  static std::uint32_t apart(const std::uint16_t* p, Vector x) {
    return _mm512_testn_epi16_mask(_mm512_loadu_si512(p), x);
  }
  static std::uint32_t not_positive(const Vector* a) { return _mm512_cmple_epi16_mask(a[0], _mm512_setzero_si512()); }
};

#elif BROADPHASE_LANES == BROADPHASE_LANES_avx2

struct Words {
  using Vector = __m256i;
  static constexpr std::size_t kWidth = 16, kParts = 2;
  static Vector splat(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::int16_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Vector add(Vector a, Vector b) { return _mm256_adds_epi16(a, b); }
  static Vector larger(Vector a, Vector b) { return _mm256_max_epi16(a, b); }
  static std::uint32_t signs(Vector a, Vector b) {
    const Vector bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8);  // packing works in halves
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
  }
  static std::uint32_t negative(const Vector* a) { return signs(a[0], a[1]); }
  static std::uint32_t not_positive(const Vector* a) {
    const Vector zero = _mm256_setzero_si256();
    return ~signs(_mm256_cmpgt_epi16(a[0], zero), _mm256_cmpgt_epi16(a[1], zero));
  }
  static std::uint32_t apart(const std::uint16_t* p, Vector x) {
    const Vector zero = _mm256_setzero_si256();
    const auto* q = reinterpret_cast<const __m256i*>(p);
    return signs(_mm256_cmpeq_epi16(_mm256_and_si256(_mm256_loadu_si256(q), x), zero),
                 _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_loadu_si256(q + 1), x), zero));
  }
};

#elif BROADPHASE_LANES == BROADPHASE_LANES_sse2

struct Words {
  using Vector = __m128i;
  static constexpr std::size_t kWidth = 8, kParts = 4;
  static Vector splat(std::uint32_t x) { return _mm_set1_epi32(static_cast<int>(x)); }
  static Vector load(const std::int16_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static Vector add(Vector a, Vector b) { return _mm_adds_epi16(a, b); }
  static Vector larger(Vector a, Vector b) { return _mm_max_epi16(a, b); }
  static std::uint32_t signs(Vector a, Vector b) {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(a, b)));
  }
  static std::uint32_t negative(const Vector* a) { return signs(a[0], a[1]) | signs(a[2], a[3]) << 16; }
  static std::uint32_t not_positive(const Vector* a) {
    const Vector zero = _mm_setzero_si128();
    return ~(signs(_mm_cmpgt_epi16(a[0], zero), _mm_cmpgt_epi16(a[1], zero)) |
             signs(_mm_cmpgt_epi16(a[2], zero), _mm_cmpgt_epi16(a[3], zero)) << 16);
  }
  static std::uint32_t apart(const std::uint16_t* p, Vector x) {
    const auto* q = reinterpret_cast<const __m128i*>(p);
    Vector none[kParts];
    for (std::size_t part = 0; part < kParts; ++part)
      none[part] = _mm_cmpeq_epi16(_mm_and_si128(_mm_loadu_si128(q + part), x), _mm_setzero_si128());
    return negative(none);
  }
};

#elif BROADPHASE_LANES == BROADPHASE_LANES_neon

struct Words {
  using Vector = int16x8_t;
  static constexpr std::size_t kWidth = 8, kParts = 4;
  static Vector splat(std::uint32_t x) { return vreinterpretq_s16_u32(vdupq_n_u32(x)); }
  static Vector load(const std::int16_t* p) { return vld1q_s16(p); }
  static Vector add(Vector a, Vector b) { return vqaddq_s16(a, b); }
  static Vector larger(Vector a, Vector b) { return vmaxq_s16(a, b); }
  static std::uint32_t bits(uint16x8_t mask) {
    static constexpr std::uint16_t kBit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddvq_u16(vandq_u16(mask, vld1q_u16(kBit)));
  }
  static std::uint32_t negative(const Vector* a) {
    std::uint32_t all = 0;
    for (std::size_t part = 0; part < kParts; ++part) all |= bits(vcltzq_s16(a[part])) << (8 * part);
    return all;
  }
  static std::uint32_t not_positive(const Vector* a) {
    std::uint32_t all = 0;
    for (std::size_t part = 0; part < kParts; ++part) all |= bits(vclezq_s16(a[part])) << (8 * part);
    return all;
  }
  static std::uint32_t apart(const std::uint16_t* p, Vector x) {
    std::uint32_t common = 0;
    for (std::size_t part = 0; part < kParts; ++part)
      common |= bits(vtstq_u16(vld1q_u16(p + part * kWidth), vreinterpretq_u16_s16(x))) << (8 * part);
    return ~common;
  }
};

#else

struct Words {
  using Vector = std::int32_t;
  static constexpr std::size_t kWidth = 1, kParts = 32;
  static Vector splat(std::uint32_t x) { return static_cast<std::int16_t>(x & 0xffffu); }
  static Vector load(const std::int16_t* p) { return *p; }
  static Vector add(Vector a, Vector b) { return a + b; }
  static Vector larger(Vector a, Vector b) { return a > b ? a : b; }
  static std::uint32_t negative(const Vector* a) {
    std::uint32_t all = 0;
    for (std::size_t part = 0; part < kParts; ++part) all |= static_cast<std::uint32_t>(a[part] < 0) << part;
    return all;
  }
  static std::uint32_t not_positive(const Vector* a) {
    std::uint32_t all = 0;
    for (std::size_t part = 0; part < kParts; ++part) all |= static_cast<std::uint32_t>(a[part] <= 0) << part;
    return all;
  }
  static std::uint32_t apart(const std::uint16_t* p, Vector x) {
    std::uint32_t all = 0;
    for (std::size_t part = 0; part < kParts; ++part) all |= static_cast<std::uint32_t>((p[part] & x) == 0) << part;
    return all;
  }
};

#endif

}  // namespace broadphase::BROADPHASE_LEVEL
