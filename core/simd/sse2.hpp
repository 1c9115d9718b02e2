// SSE2, which every x86-64 has: 128 bits. See lanes.hpp.
#pragma once

#include <emmintrin.h>

#include "simd/scalar.hpp"

namespace broadphase::BROADPHASE_LEVEL::with_sse2 {

using with_scalar::bit_count;
using with_scalar::CornerFours;
using with_scalar::Eight;
using with_scalar::EightTests;
using with_scalar::emit_eight;
using with_scalar::Fours;
using with_scalar::keep;
using with_scalar::keep_few_in_order;
using with_scalar::keep_of_block;
using with_scalar::kLaneTable;
using with_scalar::lowest_bit;
using with_scalar::upper_halves;
using with_scalar::WideEight;
using with_scalar::WideTests;

template <class T>
struct Lanes;

inline std::size_t emit_four(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) {
  const __m128i lane = _mm_load_si128(reinterpret_cast<const __m128i*>(kLaneTable.lane[bits]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_add_epi32(lane, _mm_set1_epi32(static_cast<int>(j))));
  return kLaneTable.count[bits];
}

template <>
struct Lanes<float> {
  static constexpr std::size_t kWidth = 4;
  using Vector = __m128;
  using Mask = __m128;
  static Vector splat(float x) { return _mm_set1_ps(x); }
  static Vector load(const float* p) { return _mm_loadu_ps(p); }
  static Mask less(Vector a, Vector b) { return _mm_cmplt_ps(a, b); }
  static Mask less_equal(Vector a, Vector b) { return _mm_cmple_ps(a, b); }
  static Mask both(Mask a, Mask b) { return _mm_and_ps(a, b); }
  static std::uint32_t bits(Mask mask) { return static_cast<std::uint32_t>(_mm_movemask_ps(mask)); }
  static std::size_t emit(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) { return emit_four(bits, j, out); }
};

template <>
struct Lanes<double> {
  static constexpr std::size_t kWidth = 4;
  struct Vector {
    __m128d low, high;
  };
  using Mask = Vector;
  static Vector splat(double x) { return {_mm_set1_pd(x), _mm_set1_pd(x)}; }
  static Vector load(const double* p) { return {_mm_loadu_pd(p), _mm_loadu_pd(p + 2)}; }
  static Mask less(Vector a, Vector b) { return {_mm_cmplt_pd(a.low, b.low), _mm_cmplt_pd(a.high, b.high)}; }
  static Mask less_equal(Vector a, Vector b) { return {_mm_cmple_pd(a.low, b.low), _mm_cmple_pd(a.high, b.high)}; }
  static Mask both(Mask a, Mask b) { return {_mm_and_pd(a.low, b.low), _mm_and_pd(a.high, b.high)}; }
  static std::uint32_t bits(Mask mask) {
    return static_cast<std::uint32_t>(_mm_movemask_pd(mask.low) | _mm_movemask_pd(mask.high) << 2);
  }
  static std::size_t emit(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) { return emit_four(bits, j, out); }
};

struct Words {
  using Vector = __m128i;
  static constexpr std::size_t kWidth = 8, kParts = 4;
  static Vector splat(std::int16_t x) { return _mm_set1_epi16(x); }
  static Vector load(const std::int16_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static Vector add(Vector a, Vector b) { return _mm_adds_epi16(a, b); }
  static Vector larger(Vector a, Vector b) { return _mm_max_epi16(a, b); }
  static std::uint32_t signs(Vector a, Vector b) {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(a, b)));
  }
  static std::uint32_t negative(const Vector* a) { return signs(a[0], a[1]) | signs(a[2], a[3]) << 16; }
  static bool decide(const Vector* a, const std::uint16_t* p, const Vector* x, std::size_t step, std::uint32_t& sure,
                     std::uint32_t& possible) {
    const Vector zero = _mm_setzero_si128();
    const auto* q = reinterpret_cast<const __m128i*>(p);
    Vector apart[kParts], above[kParts];
    for (std::size_t part = 0; part < kParts; ++part) {
      apart[part] = _mm_cmpeq_epi16(_mm_and_si128(_mm_loadu_si128(q + part), x[part * step]), zero);
      above[part] = _mm_cmpgt_epi16(a[part], zero);
    }
    const std::uint32_t counted = negative(apart);
    sure = negative(a) & counted;
    possible = ~negative(above) & counted;
    return possible != 0;
  }
};

struct EightWords {
  static constexpr bool kInRegister = true;
  __m128i v;
  static EightWords load(const void* p) { return {_mm_loadu_si128(static_cast<const __m128i*>(p))}; }
  void store(void* p) const { _mm_storeu_si128(static_cast<__m128i*>(p), v); }
  static EightWords splat(std::int16_t x) { return {_mm_set1_epi16(x)}; }
  static EightWords smaller(EightWords a, EightWords b) { return {_mm_min_epi16(a.v, b.v)}; }
  static EightWords larger(EightWords a, EightWords b) { return {_mm_max_epi16(a.v, b.v)}; }
  static EightWords equal(EightWords a, EightWords b) { return {_mm_cmpeq_epi16(a.v, b.v)}; }
  static void store_pairs(std::uint32_t* p, EightWords a, EightWords b) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_unpacklo_epi16(a.v, b.v));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 4), _mm_unpackhi_epi16(a.v, b.v));
  }
  static void transpose(const EightWords (&in)[8], EightWords (&out)[8]) {
    __m128i a[4], b[4];  // words 0-3 and 4-7 of vectors x and x + 4, by turns
    for (int x = 0; x < 4; ++x) {
      a[x] = _mm_unpacklo_epi16(in[x].v, in[x + 4].v);
      b[x] = _mm_unpackhi_epi16(in[x].v, in[x + 4].v);
    }
    // Two words of the vectors 0, 2, 4, 6, and of 1, 3, 5, 7.
    const __m128i even[4] = {_mm_unpacklo_epi16(a[0], a[2]), _mm_unpackhi_epi16(a[0], a[2]),
                             _mm_unpacklo_epi16(b[0], b[2]), _mm_unpackhi_epi16(b[0], b[2])};
    const __m128i odd[4] = {_mm_unpacklo_epi16(a[1], a[3]), _mm_unpackhi_epi16(a[1], a[3]),
                            _mm_unpacklo_epi16(b[1], b[3]), _mm_unpackhi_epi16(b[1], b[3])};
    for (int x = 0; x < 4; ++x) {
      out[2 * x] = {_mm_unpacklo_epi16(even[x], odd[x])};
      out[2 * x + 1] = {_mm_unpackhi_epi16(even[x], odd[x])};
    }
  }
};
inline EightWords operator&(EightWords a, EightWords b) { return {_mm_and_si128(a.v, b.v)}; }
inline EightWords operator|(EightWords a, EightWords b) { return {_mm_or_si128(a.v, b.v)}; }

}  // namespace broadphase::BROADPHASE_LEVEL::with_sse2
