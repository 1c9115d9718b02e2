// Rows of points eight at a time, where registers hold four doubles: for near_kernel.hpp.
#pragma once

#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// The level does not follow the compiler's flags alone: see lanes.hpp.
#if defined(__AVX2__)
inline constexpr bool kHasWideRows = Fours::kInRegister;

// Those of eight doubles whose bits are set, one after the other.
class WideKept {
 public:
  explicit WideKept(std::uint32_t bits) : bits_(bits) {
    low_ = lanes_of(bits & 0xfu);
    high_ = lanes_of(bits >> 4);
    low_count_ = static_cast<std::size_t>(_mm_popcnt_u32(bits & 0xfu));
  }
  // May write eight places.
  void store(WideEight values, double* to) const {
    _mm256_storeu_pd(to, moved(values.low, low_));
    _mm256_storeu_pd(to + low_count_, moved(values.high, high_));
  }
  // The same of eight 32-bit numbers. Returns how many.
  std::size_t store(__m256i numbers, std::int32_t* to) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), with_avx2::by_table::kept(numbers, bits_));
    return static_cast<std::size_t>(_mm_popcnt_u32(bits_));
  }

 private:
  // Halves of the doubles whose bits are set, for four of them: lanes 0 to 3 of kLaneTable, doubled.
  static __m256i lanes_of(std::uint32_t bits) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(with_avx2::kLaneTable.lane[bits]));
    const __m256i twice = _mm256_slli_epi64(_mm256_cvtepu8_epi64(bytes), 1);
    return _mm256_or_si256(twice, _mm256_slli_epi64(_mm256_add_epi64(twice, _mm256_set1_epi64x(1)), 32));
  }
  static __m256d moved(__m256d values, __m256i lanes) {
    return _mm256_castsi256_pd(_mm256_permutevar8x32_epi32(_mm256_castpd_si256(values), lanes));
  }

  std::uint32_t bits_;
  __m256i low_, high_;
  std::size_t low_count_;
};

// Eight rows of three doubles, a 32-bit number and a mark of 32 bits.
struct WideRows {
  using Marks = __m256i;
  using Kept = WideKept;
  WideEight x, y, z, last;

  static WideRows gather(const void* rows, const std::uint32_t* at) {
    const auto* const p = static_cast<const double*>(rows);
    WideRows all;
    const auto four = [p](const std::uint32_t* k, __m256d& a, __m256d& b, __m256d& c, __m256d& d) {
      const __m256d r0 = _mm256_loadu_pd(p + std::size_t{4} * k[0]), r1 = _mm256_loadu_pd(p + std::size_t{4} * k[1]);
      const __m256d r2 = _mm256_loadu_pd(p + std::size_t{4} * k[2]), r3 = _mm256_loadu_pd(p + std::size_t{4} * k[3]);
      const __m256d t0 = _mm256_unpacklo_pd(r0, r1), t1 = _mm256_unpackhi_pd(r0, r1);
      const __m256d t2 = _mm256_unpacklo_pd(r2, r3), t3 = _mm256_unpackhi_pd(r2, r3);
      a = _mm256_permute2f128_pd(t0, t2, 0x20);
      b = _mm256_permute2f128_pd(t1, t3, 0x20);
      c = _mm256_permute2f128_pd(t0, t2, 0x31);
      d = _mm256_permute2f128_pd(t1, t3, 0x31);
    };
    four(at, all.x.low, all.y.low, all.z.low, all.last.low);
    four(at + 4, all.x.high, all.y.high, all.z.high, all.last.high);
    return all;
  }
  __m256i numbers() const { return ordered<0x88>(); }
  Marks marks() const { return ordered<0xdd>(); }

  // Roots of eight; and three times eight, those of a lane together.
  static WideEight root(WideEight a) { return {_mm256_sqrt_pd(a.low), _mm256_sqrt_pd(a.high)}; }
  static void store_in_threes(WideEight x, WideEight y, WideEight z, double* to) {
    const auto store_four = [](__m256d a, __m256d b, __m256d c, double* p) {
      const __m256d ab = _mm256_unpacklo_pd(a, b), ca = _mm256_shuffle_pd(c, a, 0xa), bc = _mm256_unpackhi_pd(b, c);
      _mm256_storeu_pd(p, _mm256_permute2f128_pd(ab, ca, 0x20));
      _mm256_storeu_pd(p + 4, _mm256_blend_pd(bc, ab, 0xc));
      _mm256_storeu_pd(p + 8, _mm256_permute2f128_pd(ca, bc, 0x31));
    };
    store_four(x.low, y.low, z.low, to);
    store_four(x.high, y.high, z.high, to + 12);
  }
  static void store(Marks a, std::int32_t* p) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a); }
  static void store(WideEight a, double* p) {
    _mm256_storeu_pd(p, a.low);
    _mm256_storeu_pd(p + 4, a.high);
  }

  static Marks splat(std::uint32_t mark) { return _mm256_set1_epi32(static_cast<int>(mark)); }
  // Adds the bits in which a and b differ, of the lanes whose bits are set.
  static Marks differing(Marks all, Marks a, Marks b, std::uint32_t lanes) {
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i used = _mm256_cmpeq_epi32(_mm256_and_si256(splat(lanes), bit), bit);
    return _mm256_or_si256(all, _mm256_and_si256(_mm256_xor_si256(a, b), used));
  }
  static std::uint32_t any_bits(Marks marks) {
    __m128i any = _mm_or_si128(_mm256_castsi256_si128(marks), _mm256_extracti128_si256(marks, 1));
    any = _mm_or_si128(any, _mm_shuffle_epi32(any, 0x4e));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_or_si128(any, _mm_shuffle_epi32(any, 0xb1))));
  }

 private:
  template <int Choice>
  __m256i ordered() const {
    const __m256 mixed = _mm256_shuffle_ps(_mm256_castpd_ps(last.low), _mm256_castpd_ps(last.high), Choice);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8);  // shuffling works in halves
  }
};

#else
inline constexpr bool kHasWideRows = false;
struct WideRows {};
#endif

}  // namespace broadphase::BROADPHASE_LEVEL
