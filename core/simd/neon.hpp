// NEON of 64-bit Arm: 128 bits. See lanes.hpp.
#pragma once

#include <arm_neon.h>

#include "simd/scalar.hpp"

namespace broadphase::BROADPHASE_LEVEL::with_neon {

using with_scalar::CornerFours;
using with_scalar::Eight;
using with_scalar::EightTests;
using with_scalar::EightWords;
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

struct Words {
  using Vector = int16x8_t;
  static constexpr std::size_t kWidth = 8, kParts = 4;
  static Vector splat(std::int16_t x) { return vdupq_n_s16(x); }
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
  static bool decide(const Vector* a, const std::uint16_t* p, const Vector* x, std::size_t step, std::uint32_t& sure,
                     std::uint32_t& possible) {
    sure = possible = 0;
    for (std::size_t part = 0; part < kParts; ++part) {
      const uint16x8_t common = vtstq_u16(vld1q_u16(p + part * kWidth), vreinterpretq_u16_s16(x[part * step]));
      sure |= bits(vbicq_u16(vcltzq_s16(a[part]), common)) << (8 * part);
      possible |= bits(vbicq_u16(vclezq_s16(a[part]), common)) << (8 * part);
    }
    return possible != 0;
  }
};

inline std::uint32_t bit_count(std::uint32_t bits) { return vaddv_u8(vcnt_u8(vcreate_u8(bits))); }

}  // namespace broadphase::BROADPHASE_LEVEL::with_neon
