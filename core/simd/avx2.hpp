// AVX2 with BMI, BMI2 and POPCNT: 256 bits. See lanes.hpp.
#pragma once

#include <immintrin.h>

#include "simd/sse2.hpp"

namespace broadphase::BROADPHASE_LEVEL::with_avx2 {

using with_scalar::full_bytes;
using with_scalar::kIsTestedByBoundsFirst;
using with_sse2::EightWords;

template <class T>
struct Lanes;

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

struct Words {
  using Vector = __m256i;
  static constexpr std::size_t kWidth = 16, kParts = 2;
  static Vector splat(std::int16_t x) { return _mm256_set1_epi16(x); }
  static Vector load(const std::int16_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Vector add(Vector a, Vector b) { return _mm256_adds_epi16(a, b); }
  static Vector larger(Vector a, Vector b) { return _mm256_max_epi16(a, b); }
  static std::uint32_t signs(Vector a, Vector b) {
    const Vector bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8);  // packing works in halves
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
  }
  static std::uint32_t negative(const Vector* a) { return signs(a[0], a[1]); }
  static bool decide(const Vector* a, const std::uint16_t* p, const Vector* x, std::size_t step, std::uint32_t& sure,
                     std::uint32_t& possible) {
    const Vector zero = _mm256_setzero_si256();
    const auto* q = reinterpret_cast<const __m256i*>(p);
    const std::uint32_t counted = signs(_mm256_cmpeq_epi16(_mm256_and_si256(_mm256_loadu_si256(q), x[0]), zero),
                                        _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_loadu_si256(q + 1), x[step]), zero));
    sure = negative(a) & counted;
    possible = ~signs(_mm256_cmpgt_epi16(a[0], zero), _mm256_cmpgt_epi16(a[1], zero)) & counted;
    return possible != 0;
  }
};

struct Eight {
  __m256 v;
  static Eight splat(float x) { return {_mm256_set1_ps(x)}; }
  static Eight load(const float* p) { return {_mm256_load_ps(p)}; }
  static Eight read(const float* p) { return {_mm256_loadu_ps(p)}; }
  void store(float* p) const { _mm256_storeu_ps(p, v); }
};
inline Eight operator+(Eight a, Eight b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Eight operator-(Eight a, Eight b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Eight operator*(Eight a, Eight b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Eight larger(Eight a, Eight b) { return {_mm256_max_ps(a.v, b.v)}; }
inline Eight smaller(Eight a, Eight b) { return {_mm256_min_ps(a.v, b.v)}; }
inline Eight raised(Eight a, Eight b) { return larger(a, b); }
inline Eight lowered(Eight a, Eight b) { return smaller(a, b); }
inline Eight absolute(Eight a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0F), a.v)}; }
inline Eight root(Eight a) { return {_mm256_sqrt_ps(a.v)}; }
inline Eight where_at_most(Eight a, Eight b, Eight x, Eight y) {
  return {_mm256_blendv_ps(y.v, x.v, _mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ))};
}
inline Eight moved_up(Eight a, float first) {
  const __m256 moved = _mm256_permutevar8x32_ps(a.v, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
  return {_mm256_blend_ps(moved, _mm256_set1_ps(first), 1)};
}
inline Eight marked(Eight a, std::uint32_t mark) {
  const __m256i bits = _mm256_andnot_si256(_mm256_set1_epi32(0xff), _mm256_castps_si256(a.v));
  return {_mm256_castsi256_ps(_mm256_or_si256(bits, _mm256_set1_epi32(static_cast<int>(mark))))};
}
// Bit l: lane l of a is at most lane l of b.
inline std::uint32_t at_most(Eight a, Eight b) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)));
}
inline std::uint32_t below(Eight a, Eight b) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)));
}

// Several tests, of which each lane must pass all: their masks meet in registers, and leave them once.
class EightTests {
 public:
  EightTests() : all_(_mm256_castsi256_ps(_mm256_set1_epi32(-1))) {}
  void at_most(Eight a, Eight b) { all_ = _mm256_and_ps(all_, _mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)); }
  void not_below(Eight a, Eight b) { all_ = _mm256_and_ps(all_, _mm256_cmp_ps(a.v, b.v, _CMP_NLT_UQ)); }
  std::uint32_t bits() const { return static_cast<std::uint32_t>(_mm256_movemask_ps(all_)); }

 private:
  __m256 all_;
};

struct WideEight {
  __m256d low, high;
  static WideEight splat(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
  static WideEight load(const void* p) { return {of(_mm256_load_si256(half(p))), of(_mm256_load_si256(half(p) + 1))}; }
  static WideEight read(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
  void store(double* p) const { _mm256_storeu_pd(p, low), _mm256_storeu_pd(p + 4, high); }

 private:
  static const __m256i* half(const void* p) { return static_cast<const __m256i*>(p); }
  static __m256d of(__m256i bits) { return _mm256_castsi256_pd(bits); }
};
inline WideEight operator+(WideEight a, WideEight b) {
  return {_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high)};
}
inline WideEight operator-(WideEight a, WideEight b) {
  return {_mm256_sub_pd(a.low, b.low), _mm256_sub_pd(a.high, b.high)};
}
inline WideEight operator*(WideEight a, WideEight b) {
  return {_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high)};
}
inline WideEight larger(WideEight a, WideEight b) {
  return {_mm256_max_pd(a.low, b.low), _mm256_max_pd(a.high, b.high)};
}
inline WideEight smaller(WideEight a, WideEight b) {
  return {_mm256_min_pd(a.low, b.low), _mm256_min_pd(a.high, b.high)};
}

inline WideEight root(WideEight a) { return {_mm256_sqrt_pd(a.low), _mm256_sqrt_pd(a.high)}; }
inline WideEight marked(WideEight a, std::uint32_t mark) {
  const __m256d last = _mm256_castsi256_pd(_mm256_set1_epi64x(0xff));
  const __m256d marks = _mm256_castsi256_pd(_mm256_set1_epi64x(mark));
  return {_mm256_or_pd(_mm256_andnot_pd(last, a.low), marks), _mm256_or_pd(_mm256_andnot_pd(last, a.high), marks)};
}
inline WideEight raised(WideEight a, WideEight b) { return larger(a, b); }
inline WideEight lowered(WideEight a, WideEight b) { return smaller(a, b); }

class WideTests {
 public:
  void at_most(WideEight a, WideEight b) {
    low_ = _mm256_and_pd(low_, _mm256_cmp_pd(a.low, b.low, _CMP_LE_OQ));
    high_ = _mm256_and_pd(high_, _mm256_cmp_pd(a.high, b.high, _CMP_LE_OQ));
  }
  std::uint32_t bits() const {
    return static_cast<std::uint32_t>(_mm256_movemask_pd(low_) | _mm256_movemask_pd(high_) << 4);
  }

 private:
  __m256d low_ = _mm256_castsi256_pd(_mm256_set1_epi32(-1)), high_ = low_;
};

inline WideEight widened(const float* p) {
  return {_mm256_cvtps_pd(_mm_loadu_ps(p)), _mm256_cvtps_pd(_mm_loadu_ps(p + 4))};
}
inline WideEight widened(const double* p) { return WideEight::read(p); }
inline Eight narrowed(WideEight a) { return {_mm256_set_m128(_mm256_cvtpd_ps(a.high), _mm256_cvtpd_ps(a.low))}; }
inline Eight upper_halves(WideEight numbers, std::int32_t most) {
  const __m256 mixed = _mm256_shuffle_ps(_mm256_castpd_ps(numbers.low), _mm256_castpd_ps(numbers.high), 0xdd);
  const __m256i upper = _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8);  // shuffling works in halves
  return {_mm256_castsi256_ps(_mm256_min_epi32(upper, _mm256_set1_epi32(most)))};
}

// Keys with the numbers of their lanes in their last bits.
inline __m256i numbered(Eight keys) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_or_si256(_mm256_andnot_si256(_mm256_set1_epi32(7), _mm256_castps_si256(keys.v)), lanes);
}
// Sorts the first four, and writes them and their values. What is no key has to be 0.
inline void put_in_order(__m128i numbered, const void* values, float* key, std::int32_t* to) {
  __m128i x = numbered, other = _mm_shuffle_epi32(x, 0x4e);
  x = _mm_blend_epi32(_mm_max_epu32(x, other), _mm_min_epu32(x, other), 0xc);
  other = _mm_shuffle_epi32(x, 0xb1);
  x = _mm_blend_epi32(_mm_max_epu32(x, other), _mm_min_epu32(x, other), 0xa);
  other = _mm_shuffle_epi32(x, 0xd8);
  x = _mm_blend_epi32(_mm_max_epu32(x, other), _mm_min_epu32(x, other), 0x4);
  const __m256i all = _mm256_load_si256(static_cast<const __m256i*>(values));
  const __m256i sorted = _mm256_permutevar8x32_epi32(all, _mm256_castsi128_si256(x));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(sorted));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(key), _mm_andnot_si128(_mm_set1_epi32(7), x));
}

// An argument of type Eight does not bring these: AVX-512 has its own.
namespace by_table {

inline __m256i kept(__m256i values, std::uint32_t bits) {
  const __m128i lanes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kLaneTable.lane[bits]));
  return _mm256_permutevar8x32_epi32(values, _mm256_cvtepu8_epi32(lanes));
}
inline std::size_t keep(const void* values, std::uint32_t bits, std::int32_t* to) {
  const __m256i all = _mm256_load_si256(static_cast<const __m256i*>(values));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), kept(all, bits));
  return static_cast<std::size_t>(_mm_popcnt_u32(bits));
}
inline std::size_t keep(Eight values, std::uint32_t bits, float* to) {
  _mm256_storeu_ps(to, _mm256_castsi256_ps(kept(_mm256_castps_si256(values.v), bits)));
  return static_cast<std::size_t>(_mm_popcnt_u32(bits));
}

inline bool keep_few_in_order(Eight keys, const void* values, std::uint32_t bits, float* key, std::int32_t* to,
                              std::size_t& count) {
  count = static_cast<std::size_t>(_mm_popcnt_u32(bits));
  if (count > 4) return false;
  const __m128i used = _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), _mm_setr_epi32(0, 1, 2, 3));
  put_in_order(_mm_and_si128(_mm256_castsi256_si128(kept(numbered(keys), bits)), used), values, key, to);
  return true;
}

}  // namespace by_table
using namespace by_table;

inline std::size_t keep_of_block(const std::int32_t* values, std::uint32_t bits, std::int32_t* to) {
  std::int32_t* end = to;
  for (std::uint32_t lane = 0; lane < 32; lane += 8) end += keep(values + lane, bits >> lane & 0xffu, end);
  return static_cast<std::size_t>(end - to);
}

inline std::uint32_t lowest_bit(std::uint32_t bits) { return _tzcnt_u32(bits); }
inline std::uint32_t bit_count(std::uint32_t bits) { return static_cast<std::uint32_t>(_mm_popcnt_u32(bits)); }

// Two boxes in one register: four 32-bit numbers a half, an axis or a place each.
struct Fours {
  static constexpr bool kInRegister = true;
  using Half = EightWords;
  __m256i v;
  static Fours splat(std::int32_t x) { return {_mm256_set1_epi32(x)}; }
  // The same four numbers twice.
  static Fours twice(const std::int32_t* p) {
    return {_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
  }
  static Fours halves(std::int32_t low, std::int32_t high) {
    return {_mm256_setr_epi32(low, low, low, low, high, high, high, high)};
  }
  // `p` is aligned to 32 bytes.
  void store(void* p) const { _mm256_store_si256(static_cast<__m256i*>(p), v); }

  static Fours smaller(Fours a, Fours b) { return {_mm256_min_epi32(a.v, b.v)}; }
  // All bits of the numbers for which it is true.
  static Fours above(Fours a, Fours b) { return {_mm256_cmpgt_epi32(a.v, b.v)}; }
  static Fours without(Fours a, Fours b) { return {_mm256_andnot_si256(b.v, a.v)}; }
  template <int Bits>
  static Fours up(Fours a) {
    return {_mm256_slli_epi32(a.v, Bits)};
  }
  template <int Bits>
  static Fours down(Fours a) {  // of numbers that are not negative
    return {_mm256_srli_epi32(a.v, Bits)};
  }
  bool any() const { return _mm256_testz_si256(v, v) == 0; }
  // Bit l: number l is negative.
  std::uint32_t negative() const { return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(v))); }
  // Each number replaced by the sum of its half.
  static Fours half_sums(Fours a) {
    const __m256i two = _mm256_add_epi32(a.v, _mm256_shuffle_epi32(a.v, 0x4e));
    return {_mm256_add_epi32(two, _mm256_shuffle_epi32(two, 0xb1))};
  }

  // Each number replaced by number `axis` of its half, or by 0 if the choice is of none.
  static Fours choice_of(std::size_t axis) {
    return {_mm256_add_epi8(_mm256_set1_epi32(0x03020100), _mm256_set1_epi8(static_cast<char>(4 * axis)))};
  }
  static Fours choice_of_none() { return {_mm256_set1_epi8(-128)}; }  // a byte with its top bit set gives zero
  static Fours chosen(Fours a, Fours choice) { return {_mm256_shuffle_epi8(a.v, choice.v)}; }

  // Records of the grid for two boxes: three of 16-bit `low`, half of the row, three of `high`, the other half.
  // `floor`: eight words a half, the least that there may be.
  static Fours record_rows(Fours row) { return {_mm256_blend_epi16(_mm256_slli_epi64(row.v, 48), row.v, 0x80)}; }
  static Fours records(Fours low, Fours high, Fours floor, Fours record_rows) {
    return {_mm256_blend_epi16(_mm256_max_epi16(_mm256_packs_epi32(low.v, high.v), floor.v), record_rows.v, 0x88)};
  }
  static Fours record_floor(std::int16_t low, std::int16_t high) {
    return {_mm256_broadcastsi128_si256(_mm_setr_epi16(low, low, low, high, high, high, high, high))};
  }
};
inline Fours operator+(Fours a, Fours b) { return {_mm256_add_epi32(a.v, b.v)}; }
inline Fours operator-(Fours a, Fours b) { return {_mm256_sub_epi32(a.v, b.v)}; }
inline Fours operator*(Fours a, Fours b) { return {_mm256_mullo_epi32(a.v, b.v)}; }
inline Fours operator&(Fours a, Fours b) { return {_mm256_and_si256(a.v, b.v)}; }
inline Fours operator|(Fours a, Fours b) { return {_mm256_or_si256(a.v, b.v)}; }

// One corner each of two boxes, an axis a lane; lanes past D hold anything.
template <class T>
struct CornerFours;

template <>
struct CornerFours<float> {
  __m256 v;
  // Reads a fourth number where D is 3.
  template <std::size_t D>
  static CornerFours load(const float* p, const float* q) {
    return {_mm256_insertf128_ps(_mm256_castps128_ps256(load_one<D>(p)), load_one<D>(q), 1)};
  }
  // Four numbers for both.
  static CornerFours twice(const float* p) { return {_mm256_broadcast_ps(reinterpret_cast<const __m128*>(p))}; }
  static CornerFours splat(float x) { return {_mm256_set1_ps(x)}; }

  // Lanes where a is not at most b gather here.
  struct Faults {
    __m256 v = _mm256_setzero_ps();
    void add(CornerFours a, CornerFours b) { v = _mm256_or_ps(v, _mm256_cmp_ps(a.v, b.v, _CMP_NLE_UQ)); }
    template <std::size_t D>
    bool any() const {
      return (_mm256_movemask_ps(v) & ((1 << D) - 1) * 0x11) != 0;
    }
  };

  // Rounded down after they are kept in [0, most]; NaN gives 0.
  static Fours whole(CornerFours a, float most) {
    return {_mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(a.v, _mm256_setzero_ps()), _mm256_set1_ps(most)))};
  }

 private:
  template <std::size_t D>
  static __m128 load_one(const float* p) {
    if constexpr (D == 1) return _mm_load_ss(p);
    if constexpr (D == 2) return _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    return _mm_loadu_ps(p);
  }
};
inline CornerFours<float> operator+(CornerFours<float> a, CornerFours<float> b) { return {_mm256_add_ps(a.v, b.v)}; }
inline CornerFours<float> operator-(CornerFours<float> a, CornerFours<float> b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline CornerFours<float> operator*(CornerFours<float> a, CornerFours<float> b) { return {_mm256_mul_ps(a.v, b.v)}; }

template <>
struct CornerFours<double> {
  __m256d v, w;
  template <std::size_t D>
  static CornerFours load(const double* p, const double* q) {
    return {load_one<D>(p), load_one<D>(q)};
  }
  static CornerFours twice(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p)}; }
  static CornerFours splat(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }

  struct Faults {
    __m256d v = _mm256_setzero_pd();
    void add(CornerFours a, CornerFours b) {
      v = _mm256_or_pd(v, _mm256_cmp_pd(a.v, b.v, _CMP_NLE_UQ));
      v = _mm256_or_pd(v, _mm256_cmp_pd(a.w, b.w, _CMP_NLE_UQ));
    }
    template <std::size_t D>
    bool any() const {
      return (_mm256_movemask_pd(v) & ((1 << D) - 1)) != 0;
    }
  };

  static Fours whole(CornerFours a, double most) {
    return {_mm256_inserti128_si256(_mm256_castsi128_si256(whole_one(a.v, most)), whole_one(a.w, most), 1)};
  }

 private:
  template <std::size_t D>
  static __m256d load_one(const double* p) {
    if constexpr (D == 1) return _mm256_castpd128_pd256(_mm_load_sd(p));
    if constexpr (D == 2) return _mm256_castpd128_pd256(_mm_loadu_pd(p));
    return _mm256_loadu_pd(p);
  }
  static __m128i whole_one(__m256d a, double most) {
    return _mm256_cvttpd_epi32(_mm256_min_pd(_mm256_max_pd(a, _mm256_setzero_pd()), _mm256_set1_pd(most)));
  }
};
inline CornerFours<double> operator+(CornerFours<double> a, CornerFours<double> b) {
  return {_mm256_add_pd(a.v, b.v), _mm256_add_pd(a.w, b.w)};
}
inline CornerFours<double> operator-(CornerFours<double> a, CornerFours<double> b) {
  return {_mm256_sub_pd(a.v, b.v), _mm256_sub_pd(a.w, b.w)};
}
inline CornerFours<double> operator*(CornerFours<double> a, CornerFours<double> b) {
  return {_mm256_mul_pd(a.v, b.v), _mm256_mul_pd(a.w, b.w)};
}

}  // namespace broadphase::BROADPHASE_LEVEL::with_avx2
