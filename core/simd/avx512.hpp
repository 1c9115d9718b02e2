// AVX-512 with F, BW, DQ, VL and CD: 512 bits. See lanes.hpp.
#pragma once

#include "simd/avx2.hpp"

namespace broadphase::BROADPHASE_LEVEL::with_avx512 {

using with_avx2::bit_count;
using with_avx2::CornerFours;
using with_avx2::Eight;
using with_avx2::EightTests;
using with_avx2::EightWords;
using with_avx2::emit_eight;
using with_avx2::Fours;
using with_avx2::lowest_bit;
using with_avx2::WideEight;
using with_avx2::WideTests;

template <class T>
struct Lanes;

// Compressed in a register and stored whole: compressing straight to memory is microcode on some processors.
inline std::size_t emit_sixteen(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i position = _mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int>(j)));
  _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), position));
  return static_cast<std::size_t>(_mm_popcnt_u32(bits));
}

template <>
struct Lanes<float> {
  static constexpr std::size_t kWidth = 16;
  using Vector = __m512;
  using Mask = __mmask16;
  static Vector splat(float x) { return _mm512_set1_ps(x); }
  static Vector load(const float* p) { return _mm512_loadu_ps(p); }
  static Mask less(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static Mask less_equal(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
  static Mask both(Mask a, Mask b) { return _kand_mask16(a, b); }
  static std::uint32_t bits(Mask mask) { return _cvtmask16_u32(mask); }
  static std::size_t emit(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) {
    return emit_sixteen(bits, j, out);
  }
};

template <>
struct Lanes<double> {
  static constexpr std::size_t kWidth = 16;
  struct Vector {
    __m512d low, high;
  };
  struct Mask {
    __mmask8 low, high;
  };
  static Vector splat(double x) { return {_mm512_set1_pd(x), _mm512_set1_pd(x)}; }
  static Vector load(const double* p) { return {_mm512_loadu_pd(p), _mm512_loadu_pd(p + 8)}; }
  static Mask less(Vector a, Vector b) {
    return {_mm512_cmp_pd_mask(a.low, b.low, _CMP_LT_OQ), _mm512_cmp_pd_mask(a.high, b.high, _CMP_LT_OQ)};
  }
  static Mask less_equal(Vector a, Vector b) {
    return {_mm512_cmp_pd_mask(a.low, b.low, _CMP_LE_OQ), _mm512_cmp_pd_mask(a.high, b.high, _CMP_LE_OQ)};
  }
  static Mask both(Mask a, Mask b) { return {_kand_mask8(a.low, b.low), _kand_mask8(a.high, b.high)}; }
  static std::uint32_t bits(Mask mask) { return _cvtmask8_u32(mask.low) | _cvtmask8_u32(mask.high) << 8; }
  static std::size_t emit(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) {
    return emit_sixteen(bits, j, out);
  }
};

struct Words {
  using Vector = __m512i;
  static constexpr std::size_t kWidth = 32, kParts = 1;
  static Vector splat(std::int16_t x) { return _mm512_set1_epi16(x); }
  static Vector load(const std::int16_t* p) { return _mm512_loadu_si512(p); }
  static Vector add(Vector a, Vector b) { return _mm512_adds_epi16(a, b); }
  static Vector larger(Vector a, Vector b) { return _mm512_max_epi16(a, b); }
  static std::uint32_t negative(const Vector* a) { return _mm512_movepi16_mask(a[0]); }
  static bool decide(const Vector* a, const std::uint16_t* p, const Vector* x, std::size_t, std::uint32_t& sure,
                     std::uint32_t& possible) {
    const Vector zero = _mm512_setzero_si512();
    const __mmask32 counted = _mm512_testn_epi16_mask(_mm512_loadu_si512(p), x[0]);
    // Stored from the mask registers: moving them to general ones first takes the port that the sums need.
    _store_mask32(reinterpret_cast<__mmask32*>(&sure), _mm512_mask_cmplt_epi16_mask(counted, a[0], zero));
    const __mmask32 closed = _mm512_mask_cmple_epi16_mask(counted, a[0], zero);
    _store_mask32(reinterpret_cast<__mmask32*>(&possible), closed);
    return _kortestz_mask32_u8(closed, closed) == 0;
  }
};

inline std::size_t keep_of_block(const std::int32_t* values, std::uint32_t bits, std::int32_t* to) {
  const __m512i low = _mm512_load_si512(values), high = _mm512_load_si512(values + 16);
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), low));
  to += _mm_popcnt_u32(bits & 0xffffu);
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits >> 16), high));
  return static_cast<std::size_t>(_mm_popcnt_u32(bits));
}

}  // namespace broadphase::BROADPHASE_LEVEL::with_avx512
