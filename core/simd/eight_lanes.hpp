// Eight floats at a time: one register where there are such, otherwise a loop for the compiler to cut into registers.
//
// Comparisons with NaN are false; larger(a, b) and smaller(a, b) are b where either is NaN.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/float_lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

#if BROADPHASE_LANES == BROADPHASE_LANES_avx2 || BROADPHASE_LANES == BROADPHASE_LANES_avx512

struct Eight {
  __m256 v;
  static Eight splat(float x) { return {_mm256_set1_ps(x)}; }
  static Eight load(const float* p) { return {_mm256_load_ps(p)}; }
  void store(float* p) const { _mm256_storeu_ps(p, v); }
};
inline Eight operator+(Eight a, Eight b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Eight operator-(Eight a, Eight b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Eight operator*(Eight a, Eight b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Eight larger(Eight a, Eight b) { return {_mm256_max_ps(a.v, b.v)}; }
inline Eight smaller(Eight a, Eight b) { return {_mm256_min_ps(a.v, b.v)}; }
inline Eight absolute(Eight a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0F), a.v)}; }
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
  std::uint32_t bits() const { return static_cast<std::uint32_t>(_mm256_movemask_ps(all_)); }

 private:
  __m256 all_;
};

// Writes those of eight values whose bits are set one after the other, and returns how many; may write all eight
// places.
#if BROADPHASE_LANES == BROADPHASE_LANES_avx512
inline __m256i kept(__m256i values, std::uint32_t bits) {
  return _mm256_maskz_compress_epi32(static_cast<__mmask8>(bits), values);
}
#else
inline __m256i kept(__m256i values, std::uint32_t bits) {
  const __m128i lanes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kLaneTable.lane[bits]));
  return _mm256_permutevar8x32_epi32(values, _mm256_cvtepu8_epi32(lanes));
}
#endif
inline std::size_t keep(const std::int32_t* values, std::uint32_t bits, std::int32_t* to) {
  const __m256i all = _mm256_load_si256(reinterpret_cast<const __m256i*>(values));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), kept(all, bits));
  return static_cast<std::size_t>(_mm_popcnt_u32(bits));
}
inline std::size_t keep(Eight values, std::uint32_t bits, float* to) {
  _mm256_storeu_ps(to, _mm256_castsi256_ps(kept(_mm256_castps_si256(values.v), bits)));
  return static_cast<std::size_t>(_mm_popcnt_u32(bits));
}

#else

struct Eight {
  float v[8];
  static Eight splat(float x) { return {{x, x, x, x, x, x, x, x}}; }
  static Eight load(const float* p) { return {{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]}}; }
  void store(float* p) const {
    for (std::size_t l = 0; l < 8; ++l) p[l] = v[l];
  }
};

template <class Each>
Eight eight_of(Each&& each) {
  Eight result;
  for (std::size_t l = 0; l < 8; ++l) result.v[l] = each(l);
  return result;
}
inline Eight operator+(const Eight& a, const Eight& b) {
  return eight_of([&](std::size_t l) { return a.v[l] + b.v[l]; });
}
inline Eight operator-(const Eight& a, const Eight& b) {
  return eight_of([&](std::size_t l) { return a.v[l] - b.v[l]; });
}
inline Eight operator*(const Eight& a, const Eight& b) {
  return eight_of([&](std::size_t l) { return a.v[l] * b.v[l]; });
}
inline Eight larger(const Eight& a, const Eight& b) {
  return eight_of([&](std::size_t l) { return a.v[l] > b.v[l] ? a.v[l] : b.v[l]; });
}
inline Eight smaller(const Eight& a, const Eight& b) {
  return eight_of([&](std::size_t l) { return a.v[l] < b.v[l] ? a.v[l] : b.v[l]; });
}
inline Eight absolute(const Eight& a) {
  return eight_of([&](std::size_t l) { return a.v[l] < 0.0F ? -a.v[l] : a.v[l]; });
}
inline std::uint32_t at_most(const Eight& a, const Eight& b) {
  std::uint32_t bits = 0;
  for (std::uint32_t l = 0; l < 8; ++l) bits |= static_cast<std::uint32_t>(a.v[l] <= b.v[l]) << l;
  return bits;
}
inline std::uint32_t below(const Eight& a, const Eight& b) {
  std::uint32_t bits = 0;
  for (std::uint32_t l = 0; l < 8; ++l) bits |= static_cast<std::uint32_t>(a.v[l] < b.v[l]) << l;
  return bits;
}

class EightTests {
 public:
  void at_most(const Eight& a, const Eight& b) {
    for (std::size_t l = 0; l < 8; ++l) all_[l] &= a.v[l] <= b.v[l] ? ~0u : 0u;
  }
  std::uint32_t bits() const {
    std::uint32_t result = 0;
    for (std::uint32_t l = 0; l < 8; ++l) result |= (all_[l] & 1u) << l;
    return result;
  }

 private:
  std::uint32_t all_[8] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
};

inline std::size_t keep(const std::int32_t* values, std::uint32_t bits, std::int32_t* to) {
  std::size_t count = 0;
  for (std::uint32_t l = 0; l < 8; ++l) {
    to[count] = values[l];
    count += bits >> l & 1u;
  }
  return count;
}
inline std::size_t keep(const Eight& values, std::uint32_t bits, float* to) {
  std::size_t count = 0;
  for (std::uint32_t l = 0; l < 8; ++l) {
    to[count] = values.v[l];
    count += bits >> l & 1u;
  }
  return count;
}

#endif

}  // namespace broadphase::BROADPHASE_LEVEL
