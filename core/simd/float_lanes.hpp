// Comparisons of several floats or doubles at a time, one form for every instruction set.
//
// Lanes<T> of a level offers
//   kWidth                   values handled together
//   Vector, Mask             their types
//   splat(x), load(p)        p needs no alignment
//   less(a, b), less_equal(a, b), both(a, b)
//   bits(mask)               bit l is lane l
//   emit(bits, j, out)       writes j + l for every set bit l, ascending, and returns how many; may write kWidth values
// The level is taken from the name in BROADPHASE_LEVEL and not from what the compiler was told to use: `scalar` stays
// scalar on a processor whose baseline has vectors, and MSVC says nothing of SSE2.
#pragma once

#include <cstddef>
#include <cstdint>

#define BROADPHASE_LANES_scalar 1
#define BROADPHASE_LANES_sse2 2
#define BROADPHASE_LANES_avx2 3
#define BROADPHASE_LANES_avx512 4
#define BROADPHASE_LANES_neon 5
#define BROADPHASE_LANES_JOIN(level) BROADPHASE_LANES_##level
#define BROADPHASE_LANES_OF(level) BROADPHASE_LANES_JOIN(level)
#define BROADPHASE_LANES BROADPHASE_LANES_OF(BROADPHASE_LEVEL)

#if BROADPHASE_LANES == BROADPHASE_LANES_sse2
#include <emmintrin.h>
#elif BROADPHASE_LANES == BROADPHASE_LANES_avx2 || BROADPHASE_LANES == BROADPHASE_LANES_avx512
#include <immintrin.h>
#elif BROADPHASE_LANES == BROADPHASE_LANES_neon
#include <arm_neon.h>
#elif BROADPHASE_LANES != BROADPHASE_LANES_scalar
#error "BROADPHASE_LEVEL names no level"
#endif

namespace broadphase::BROADPHASE_LEVEL {

template <class T>
struct Lanes;

#if BROADPHASE_LANES == BROADPHASE_LANES_scalar

template <class T>
struct Lanes {
  static constexpr std::size_t kWidth = 1;
  using Vector = T;
  using Mask = bool;
  static Vector splat(T x) { return x; }
  static Vector load(const T* p) { return *p; }
  static Mask less(Vector a, Vector b) { return a < b; }
  static Mask less_equal(Vector a, Vector b) { return a <= b; }
  static Mask both(Mask a, Mask b) { return a & b; }
  static std::uint32_t bits(Mask mask) { return mask ? 1u : 0u; }
  static std::size_t emit(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) {
    *out = j;
    return bits;
  }
};

#elif BROADPHASE_LANES == BROADPHASE_LANES_sse2 || BROADPHASE_LANES == BROADPHASE_LANES_neon

// Row m: the numbers of the set bits of m, ascending; the rest is never used.
struct LaneTable {
  std::uint32_t lane[16][4];
  std::uint8_t count[16];
  constexpr LaneTable() : lane(), count() {
    for (unsigned m = 0; m < 16; ++m)
      for (unsigned l = 0; l < 4; ++l)
        if ((m >> l & 1u) != 0) lane[m][count[m]++] = l;
  }
};
alignas(64) inline constexpr LaneTable kLaneTable;

#if BROADPHASE_LANES == BROADPHASE_LANES_sse2

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

#else  // neon

inline std::uint32_t four_bits(uint32x4_t mask) {
  alignas(16) static constexpr std::uint32_t kBit[4] = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(mask, vld1q_u32(kBit)));
}

inline std::size_t emit_four(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) {
  vst1q_u32(out, vaddq_u32(vld1q_u32(kLaneTable.lane[bits]), vdupq_n_u32(j)));
  return kLaneTable.count[bits];
}

template <>
struct Lanes<float> {
  static constexpr std::size_t kWidth = 4;
  using Vector = float32x4_t;
  using Mask = uint32x4_t;
  static Vector splat(float x) { return vdupq_n_f32(x); }
  static Vector load(const float* p) { return vld1q_f32(p); }
  static Mask less(Vector a, Vector b) { return vcltq_f32(a, b); }
  static Mask less_equal(Vector a, Vector b) { return vcleq_f32(a, b); }
  static Mask both(Mask a, Mask b) { return vandq_u32(a, b); }
  static std::uint32_t bits(Mask mask) { return four_bits(mask); }
  static std::size_t emit(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) { return emit_four(bits, j, out); }
};

template <>
struct Lanes<double> {
  static constexpr std::size_t kWidth = 4;
  struct Vector {
    float64x2_t low, high;
  };
  struct Mask {
    uint64x2_t low, high;
  };
  static Vector splat(double x) { return {vdupq_n_f64(x), vdupq_n_f64(x)}; }
  static Vector load(const double* p) { return {vld1q_f64(p), vld1q_f64(p + 2)}; }
  static Mask less(Vector a, Vector b) { return {vcltq_f64(a.low, b.low), vcltq_f64(a.high, b.high)}; }
  static Mask less_equal(Vector a, Vector b) { return {vcleq_f64(a.low, b.low), vcleq_f64(a.high, b.high)}; }
  static Mask both(Mask a, Mask b) { return {vandq_u64(a.low, b.low), vandq_u64(a.high, b.high)}; }
  static std::uint32_t bits(Mask mask) { return four_bits(vcombine_u32(vmovn_u64(mask.low), vmovn_u64(mask.high))); }
  static std::size_t emit(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) { return emit_four(bits, j, out); }
};

#endif

#elif BROADPHASE_LANES == BROADPHASE_LANES_avx2

// Row m: the numbers of the set bits of m, ascending, a byte each; the rest is never used.
struct LaneTable {
  std::uint8_t lane[256][8];
  constexpr LaneTable() : lane() {
    for (unsigned m = 0; m < 256; ++m)
      for (unsigned l = 0, n = 0; l < 8; ++l)
        if ((m >> l & 1u) != 0) lane[m][n++] = static_cast<std::uint8_t>(l);
  }
};
alignas(64) inline constexpr LaneTable kLaneTable;

inline std::size_t emit_eight(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kLaneTable.lane[bits]));
  const __m256i position = _mm256_add_epi32(_mm256_cvtepu8_epi32(bytes), _mm256_set1_epi32(static_cast<int>(j)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), position);
  return static_cast<std::size_t>(_mm_popcnt_u32(bits));
}

template <>
struct Lanes<float> {
  static constexpr std::size_t kWidth = 8;
  using Vector = __m256;
  using Mask = __m256;
  static Vector splat(float x) { return _mm256_set1_ps(x); }
  static Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static Mask less(Vector a, Vector b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  static Mask less_equal(Vector a, Vector b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
  static Mask both(Mask a, Mask b) { return _mm256_and_ps(a, b); }
  static std::uint32_t bits(Mask mask) { return static_cast<std::uint32_t>(_mm256_movemask_ps(mask)); }
  static std::size_t emit(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) { return emit_eight(bits, j, out); }
};

template <>
struct Lanes<double> {
  static constexpr std::size_t kWidth = 8;
  struct Vector {
    __m256d low, high;
  };
  using Mask = Vector;
  static Vector splat(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
  static Vector load(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
  static Mask less(Vector a, Vector b) {
    return {_mm256_cmp_pd(a.low, b.low, _CMP_LT_OQ), _mm256_cmp_pd(a.high, b.high, _CMP_LT_OQ)};
  }
  static Mask less_equal(Vector a, Vector b) {
    return {_mm256_cmp_pd(a.low, b.low, _CMP_LE_OQ), _mm256_cmp_pd(a.high, b.high, _CMP_LE_OQ)};
  }
  static Mask both(Mask a, Mask b) { return {_mm256_and_pd(a.low, b.low), _mm256_and_pd(a.high, b.high)}; }
  static std::uint32_t bits(Mask mask) {
    return static_cast<std::uint32_t>(_mm256_movemask_pd(mask.low) | _mm256_movemask_pd(mask.high) << 4);
  }
  static std::size_t emit(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) { return emit_eight(bits, j, out); }
};

#else  // avx512

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

#endif

}  // namespace broadphase::BROADPHASE_LEVEL
