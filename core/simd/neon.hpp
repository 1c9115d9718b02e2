// NEON of 64-bit Arm: 128 bits. See lanes.hpp.
#pragma once

#include <arm_neon.h>

#include "simd/scalar.hpp"

namespace broadphase::BROADPHASE_LEVEL::with_neon {

using with_scalar::kLaneTable;

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

inline std::uint32_t lowest_bit(std::uint32_t bits) {
#if defined(_MSC_VER) && !defined(__clang__)
  return _CountTrailingZeros(bits);
#else
  return bits == 0 ? 32u : static_cast<std::uint32_t>(__builtin_ctz(bits));  // of two instructions, without a branch
#endif
}
inline std::uint32_t bit_count(std::uint32_t bits) { return vaddv_u8(vcnt_u8(vcreate_u8(bits))); }

// Bit l: number l of a mask of eight.
inline std::uint32_t eight_bits(uint16x8_t mask) {
  static constexpr std::uint16_t kBit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  return vaddvq_u16(vandq_u16(mask, vld1q_u16(kBit)));
}
inline std::uint32_t eight_bits(uint32x4_t low, uint32x4_t high) {
  return eight_bits(vuzp1q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high)));
}

inline std::uint64_t full_bytes(std::uint32_t bits) {
  static constexpr std::uint8_t kBit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  return vget_lane_u64(vreinterpret_u64_u8(vtst_u8(vdup_n_u8(static_cast<std::uint8_t>(bits)), vld1_u8(kBit))), 0);
}

struct Eight {
  float32x4_t low, high;
  static Eight splat(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
  static Eight load(const float* p) { return read(p); }
  static Eight read(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
  void store(float* p) const {
    vst1q_f32(p, low);
    vst1q_f32(p + 4, high);
  }
};
inline Eight operator+(Eight a, Eight b) { return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)}; }
inline Eight operator-(Eight a, Eight b) { return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)}; }
inline Eight operator*(Eight a, Eight b) { return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)}; }
// Not by the instructions for the larger and the smaller number: those give NaN, or the other number, where one is NaN.
inline Eight larger(Eight a, Eight b) {
  return {vbslq_f32(vcgtq_f32(a.low, b.low), a.low, b.low), vbslq_f32(vcgtq_f32(a.high, b.high), a.high, b.high)};
}
inline Eight smaller(Eight a, Eight b) {
  return {vbslq_f32(vcltq_f32(a.low, b.low), a.low, b.low), vbslq_f32(vcltq_f32(a.high, b.high), a.high, b.high)};
}
// One instruction where either may be: a number wins over NaN.
inline Eight raised(Eight a, Eight b) { return {vmaxnmq_f32(a.low, b.low), vmaxnmq_f32(a.high, b.high)}; }
inline Eight lowered(Eight a, Eight b) { return {vminnmq_f32(a.low, b.low), vminnmq_f32(a.high, b.high)}; }
inline Eight absolute(Eight a) { return {vabsq_f32(a.low), vabsq_f32(a.high)}; }
inline Eight root(Eight a) { return {vsqrtq_f32(a.low), vsqrtq_f32(a.high)}; }
inline Eight where_at_most(Eight a, Eight b, Eight x, Eight y) {
  return {vbslq_f32(vcleq_f32(a.low, b.low), x.low, y.low), vbslq_f32(vcleq_f32(a.high, b.high), x.high, y.high)};
}
inline Eight moved_up(Eight a, float first) {
  return {vextq_f32(vdupq_n_f32(first), a.low, 3), vextq_f32(a.low, a.high, 3)};
}
inline Eight marked(Eight a, std::uint32_t mark) {
  const uint32x4_t last = vdupq_n_u32(0xff);
  const float32x4_t marks = vreinterpretq_f32_u32(vdupq_n_u32(mark));
  return {vbslq_f32(last, marks, a.low), vbslq_f32(last, marks, a.high)};
}
inline std::uint32_t at_most(Eight a, Eight b) {
  return eight_bits(vcleq_f32(a.low, b.low), vcleq_f32(a.high, b.high));
}
inline std::uint32_t below(Eight a, Eight b) { return eight_bits(vcltq_f32(a.low, b.low), vcltq_f32(a.high, b.high)); }

class EightTests {
 public:
  void at_most(Eight a, Eight b) {
    low_ = vandq_u32(low_, vcleq_f32(a.low, b.low));
    high_ = vandq_u32(high_, vcleq_f32(a.high, b.high));
  }
  void not_below(Eight a, Eight b) {
    low_ = vbicq_u32(low_, vcltq_f32(a.low, b.low));
    high_ = vbicq_u32(high_, vcltq_f32(a.high, b.high));
  }
  std::uint32_t bits() const { return eight_bits(low_, high_); }

 private:
  uint32x4_t low_ = vdupq_n_u32(~0u), high_ = low_;
};

struct WideEight {
  float64x2_t v[4];
  static WideEight splat(double x) { return {{vdupq_n_f64(x), vdupq_n_f64(x), vdupq_n_f64(x), vdupq_n_f64(x)}}; }
  // As bytes: a block holds words.
  static WideEight load(const void* p) {
    const auto* bytes = static_cast<const std::uint8_t*>(p);
    const auto part = [&](int k) { return vreinterpretq_f64_u8(vld1q_u8(bytes + 16 * k)); };
    return {{part(0), part(1), part(2), part(3)}};
  }
  static WideEight read(const double* p) {
    return {{vld1q_f64(p), vld1q_f64(p + 2), vld1q_f64(p + 4), vld1q_f64(p + 6)}};
  }
  void store(double* p) const {
    for (int k = 0; k < 4; ++k) vst1q_f64(p + 2 * k, v[k]);
  }
};
template <class Each>
inline WideEight wide_of(Each each) {
  return {{each(0), each(1), each(2), each(3)}};
}
inline WideEight operator+(WideEight a, WideEight b) {
  return wide_of([&](int k) { return vaddq_f64(a.v[k], b.v[k]); });
}
inline WideEight operator-(WideEight a, WideEight b) {
  return wide_of([&](int k) { return vsubq_f64(a.v[k], b.v[k]); });
}
inline WideEight operator*(WideEight a, WideEight b) {
  return wide_of([&](int k) { return vmulq_f64(a.v[k], b.v[k]); });
}
inline WideEight larger(WideEight a, WideEight b) {
  return wide_of([&](int k) { return vbslq_f64(vcgtq_f64(a.v[k], b.v[k]), a.v[k], b.v[k]); });
}
inline WideEight smaller(WideEight a, WideEight b) {
  return wide_of([&](int k) { return vbslq_f64(vcltq_f64(a.v[k], b.v[k]), a.v[k], b.v[k]); });
}

inline WideEight root(WideEight a) {
  return wide_of([&](int k) { return vsqrtq_f64(a.v[k]); });
}
inline WideEight marked(WideEight a, std::uint32_t mark) {
  const uint64x2_t last = vdupq_n_u64(0xff);
  const float64x2_t marks = vreinterpretq_f64_u64(vdupq_n_u64(mark));
  return wide_of([&](int k) { return vbslq_f64(last, marks, a.v[k]); });
}
inline WideEight raised(WideEight a, WideEight b) {
  return wide_of([&](int k) { return vmaxnmq_f64(a.v[k], b.v[k]); });
}
inline WideEight lowered(WideEight a, WideEight b) {
  return wide_of([&](int k) { return vminnmq_f64(a.v[k], b.v[k]); });
}

class WideTests {
 public:
  void at_most(WideEight a, WideEight b) {
    for (int k = 0; k < 4; ++k) all_[k] = vandq_u64(all_[k], vcleq_f64(a.v[k], b.v[k]));
  }
  std::uint32_t bits() const { return eight_bits(narrow(all_[0], all_[1]), narrow(all_[2], all_[3])); }

 private:
  static uint32x4_t narrow(uint64x2_t a, uint64x2_t b) {
    return vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
  }
  static uint64x2_t every() { return vdupq_n_u64(~std::uint64_t{0}); }
  uint64x2_t all_[4] = {every(), every(), every(), every()};
};

inline WideEight widened(const float* p) {
  const float32x4_t low = vld1q_f32(p), high = vld1q_f32(p + 4);
  return {{vcvt_f64_f32(vget_low_f32(low)), vcvt_high_f64_f32(low), vcvt_f64_f32(vget_low_f32(high)),
           vcvt_high_f64_f32(high)}};
}
inline WideEight widened(const double* p) { return WideEight::read(p); }
inline Eight narrowed(WideEight a) {
  return {vcvt_high_f32_f64(vcvt_f32_f64(a.v[0]), a.v[1]), vcvt_high_f32_f64(vcvt_f32_f64(a.v[2]), a.v[3])};
}
inline Eight upper_halves(WideEight numbers, std::int32_t most) {
  const int32x4_t limit = vdupq_n_s32(most);
  const auto part = [&](int k) {
    const int32x4_t upper = vuzp2q_s32(vreinterpretq_s32_f64(numbers.v[k]), vreinterpretq_s32_f64(numbers.v[k + 1]));
    return vreinterpretq_f32_s32(vminq_s32(upper, limit));
  };
  return {part(0), part(2)};
}

// Eight numbers take several registers here: lanes that meet no box at all are left out before each is compared.
inline constexpr bool kIsTestedByBoundsFirst = true;
inline Eight least(Eight a) { return Eight::splat(vminnmvq_f32(vminnmq_f32(a.low, a.high))); }
inline Eight largest(Eight a) { return Eight::splat(vmaxnmvq_f32(vmaxnmq_f32(a.low, a.high))); }
inline WideEight least(WideEight a) {
  return WideEight::splat(vminnmvq_f64(vminnmq_f64(vminnmq_f64(a.v[0], a.v[1]), vminnmq_f64(a.v[2], a.v[3]))));
}
inline WideEight largest(WideEight a) {
  return WideEight::splat(vmaxnmvq_f64(vmaxnmq_f64(vmaxnmq_f64(a.v[0], a.v[1]), vmaxnmq_f64(a.v[2], a.v[3]))));
}

// Row m: where the numbers of the set bits of m begin in 32 bytes, ascending, in both bytes of a word; the rest is
// never used. And how many there are.
struct ByteTable {
  std::uint16_t bytes[256][8];
  constexpr ByteTable() : bytes() {
    for (unsigned m = 0; m < 256; ++m)
      for (unsigned l = 0, n = 0; l < 8; ++l)
        if ((m >> l & 1u) != 0) bytes[m][n++] = static_cast<std::uint16_t>(4 * 0x0101 * l);
  }
};
struct CountTable {
  std::uint8_t count[256];
  constexpr CountTable() : count() {
    for (unsigned m = 1; m < 256; ++m) count[m] = static_cast<std::uint8_t>(count[m / 2] + m % 2);
  }
};
alignas(64) inline constexpr ByteTable kByteTable;
alignas(64) inline constexpr CountTable kCountTable;

// Of eight numbers of 32 bits, those whose bits are set.
inline uint8x16x2_t kept(uint8x16x2_t numbers, std::uint32_t bits) {
  static constexpr std::uint8_t kInside[16] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  const uint8x16_t inside = vld1q_u8(kInside);
  const uint16x8_t begin = vld1q_u16(kByteTable.bytes[bits]);
  return {{vqtbl2q_u8(numbers, vaddq_u8(vreinterpretq_u8_u16(vzip1q_u16(begin, begin)), inside)),
           vqtbl2q_u8(numbers, vaddq_u8(vreinterpretq_u8_u16(vzip2q_u16(begin, begin)), inside))}};
}

inline std::size_t keep(const void* values, std::uint32_t bits, std::int32_t* to) {
  const auto* bytes = static_cast<const std::uint8_t*>(values);
  const uint8x16x2_t own = kept({{vld1q_u8(bytes), vld1q_u8(bytes + 16)}}, bits);
  vst1q_s32(to, vreinterpretq_s32_u8(own.val[0]));
  vst1q_s32(to + 4, vreinterpretq_s32_u8(own.val[1]));
  return kCountTable.count[bits];
}
inline std::size_t keep(Eight values, std::uint32_t bits, float* to) {
  const uint8x16x2_t own = kept({{vreinterpretq_u8_f32(values.low), vreinterpretq_u8_f32(values.high)}}, bits);
  vst1q_f32(to, vreinterpretq_f32_u8(own.val[0]));
  vst1q_f32(to + 4, vreinterpretq_f32_u8(own.val[1]));
  return kCountTable.count[bits];
}

inline bool keep_few_in_order(Eight keys, const void* values, std::uint32_t bits, float* key, std::int32_t* to,
                              std::size_t& count) {
  static constexpr std::uint32_t kLane[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  static constexpr std::uint32_t kThird[4] = {0, 0, ~0u, ~0u}, kSecond[4] = {0, ~0u, 0, ~0u},
                                 kMiddle[4] = {0, 0, ~0u, 0};
  count = kCountTable.count[bits];
  if (count > 4) return false;
  const uint32x4_t last = vdupq_n_u32(7), lanes = vld1q_u32(kLane);
  // Keys with the numbers of their lanes in their last bits, the first four of those wanted; 0 behind them.
  const uint8x16x2_t numbered = {
      {vreinterpretq_u8_u32(vbslq_u32(last, lanes, vreinterpretq_u32_f32(keys.low))),
       vreinterpretq_u8_u32(vbslq_u32(last, vld1q_u32(kLane + 4), vreinterpretq_u32_f32(keys.high)))}};
  uint32x4_t x = vandq_u32(vreinterpretq_u32_u8(kept(numbered, bits).val[0]),
                           vcgtq_u32(vdupq_n_u32(kCountTable.count[bits]), lanes));
  // A network that sorts four: with the number two places away, one place away, and those in the middle.
  uint32x4_t other = vextq_u32(x, x, 2);
  x = vbslq_u32(vld1q_u32(kThird), vminq_u32(x, other), vmaxq_u32(x, other));
  other = vrev64q_u32(x);
  x = vbslq_u32(vld1q_u32(kSecond), vminq_u32(x, other), vmaxq_u32(x, other));
  other = vzip1q_u32(x, vextq_u32(x, x, 2));
  x = vbslq_u32(vld1q_u32(kMiddle), vminq_u32(x, other), vmaxq_u32(x, other));
  const uint32x4_t bytes = vaddq_u32(vmulq_n_u32(vandq_u32(x, last), 0x04040404u), vdupq_n_u32(0x03020100u));
  const auto* all = static_cast<const std::uint8_t*>(values);
  const uint8x16_t sorted = vqtbl2q_u8({{vld1q_u8(all), vld1q_u8(all + 16)}}, vreinterpretq_u8_u32(bytes));
  vst1q_s32(to, vreinterpretq_s32_u8(sorted));
  vst1q_f32(key, vreinterpretq_f32_u32(vbicq_u32(x, last)));
  return true;
}

inline std::size_t emit_eight(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) {
  const uint16x8_t lanes = vshrq_n_u16(vld1q_u16(kByteTable.bytes[bits]), 10);
  const uint32x4_t from = vdupq_n_u32(j);
  vst1q_u32(out, vaddw_u16(from, vget_low_u16(lanes)));
  vst1q_u32(out + 4, vaddw_high_u16(from, lanes));
  return kCountTable.count[bits];
}

inline std::size_t keep_of_block(const std::int32_t* values, std::uint32_t bits, std::int32_t* to) {
  std::int32_t* end = to;
  for (std::uint32_t lane = 0; lane < 32; lane += 8) end += keep(values + lane, bits >> lane & 0xffu, end);
  return static_cast<std::size_t>(end - to);
}

struct EightWords {
  static constexpr bool kInRegister = true;
  int16x8_t v;
  static EightWords load(const void* p) {
    return {vreinterpretq_s16_u8(vld1q_u8(static_cast<const std::uint8_t*>(p)))};
  }
  void store(void* p) const { vst1q_u8(static_cast<std::uint8_t*>(p), vreinterpretq_u8_s16(v)); }
  static EightWords splat(std::int16_t x) { return {vdupq_n_s16(x)}; }
  static EightWords smaller(EightWords a, EightWords b) { return {vminq_s16(a.v, b.v)}; }
  static EightWords larger(EightWords a, EightWords b) { return {vmaxq_s16(a.v, b.v)}; }
  static EightWords equal(EightWords a, EightWords b) { return {vreinterpretq_s16_u16(vceqq_s16(a.v, b.v))}; }
  static void store_pairs(std::uint32_t* p, EightWords a, EightWords b) {
    vst1q_u32(p, vreinterpretq_u32_s16(vzip1q_s16(a.v, b.v)));
    vst1q_u32(p + 4, vreinterpretq_u32_s16(vzip2q_s16(a.v, b.v)));
  }
  static void transpose(const EightWords (&in)[8], EightWords (&out)[8]) {
    int16x8_t a[4], b[4];  // words 0-3 and 4-7 of vectors x and x + 4, by turns
    for (int x = 0; x < 4; ++x) {
      a[x] = vzip1q_s16(in[x].v, in[x + 4].v);
      b[x] = vzip2q_s16(in[x].v, in[x + 4].v);
    }
    // Two words of the vectors 0, 2, 4, 6, and of 1, 3, 5, 7.
    const int16x8_t even[4] = {vzip1q_s16(a[0], a[2]), vzip2q_s16(a[0], a[2]), vzip1q_s16(b[0], b[2]),
                               vzip2q_s16(b[0], b[2])};
    const int16x8_t odd[4] = {vzip1q_s16(a[1], a[3]), vzip2q_s16(a[1], a[3]), vzip1q_s16(b[1], b[3]),
                              vzip2q_s16(b[1], b[3])};
    for (int x = 0; x < 4; ++x) {
      out[2 * x] = {vzip1q_s16(even[x], odd[x])};
      out[2 * x + 1] = {vzip2q_s16(even[x], odd[x])};
    }
  }
};
inline EightWords operator&(EightWords a, EightWords b) { return {vandq_s16(a.v, b.v)}; }
inline EightWords operator|(EightWords a, EightWords b) { return {vorrq_s16(a.v, b.v)}; }

// A register for each of two boxes: see avx2.hpp, where they share one.
struct Fours {
  static constexpr bool kInRegister = true;
  using Half = EightWords;
  int32x4_t low, high;
  static Fours splat(std::int32_t x) { return {vdupq_n_s32(x), vdupq_n_s32(x)}; }
  static Fours twice(const std::int32_t* p) { return {vld1q_s32(p), vld1q_s32(p)}; }
  static Fours halves(std::int32_t low, std::int32_t high) { return {vdupq_n_s32(low), vdupq_n_s32(high)}; }
  void store(void* p) const {
    auto* bytes = static_cast<std::uint8_t*>(p);
    vst1q_u8(bytes, vreinterpretq_u8_s32(low));
    vst1q_u8(bytes + 16, vreinterpretq_u8_s32(high));
  }

  static Fours smaller(Fours a, Fours b) { return {vminq_s32(a.low, b.low), vminq_s32(a.high, b.high)}; }
  static Fours above(Fours a, Fours b) {
    return {vreinterpretq_s32_u32(vcgtq_s32(a.low, b.low)), vreinterpretq_s32_u32(vcgtq_s32(a.high, b.high))};
  }
  static Fours without(Fours a, Fours b) { return {vbicq_s32(a.low, b.low), vbicq_s32(a.high, b.high)}; }
  template <int Bits>
  static Fours up(Fours a) {
    return {vshlq_n_s32(a.low, Bits), vshlq_n_s32(a.high, Bits)};
  }
  template <int Bits>
  static Fours down(Fours a) {
    return {vshrq_n_s32(a.low, Bits), vshrq_n_s32(a.high, Bits)};
  }
  bool any() const { return vmaxvq_u32(vreinterpretq_u32_s32(vorrq_s32(low, high))) != 0; }
  std::uint32_t negative() const {
    return eight_bits(vcltzq_s16(vuzp2q_s16(vreinterpretq_s16_s32(low), vreinterpretq_s16_s32(high))));
  }
  static Fours half_sums(Fours a) {
    const int32x4_t two = vpaddq_s32(a.low, a.high), one = vpaddq_s32(two, two);
    return {vdupq_laneq_s32(one, 0), vdupq_laneq_s32(one, 1)};
  }

  // Bytes of a half by number; a number that is too large gives zero.
  static Fours choice_of(std::size_t axis) {
    const auto first = static_cast<std::int32_t>(4 * axis);
    return splat(first * 0x01010101 + 0x03020100);
  }
  static Fours choice_of_none() { return splat(-1); }
  static Fours chosen(Fours a, Fours choice) { return {chosen(a.low, choice.low), chosen(a.high, choice.high)}; }

  static Fours record_rows(Fours row) { return {record_row(row.low), record_row(row.high)}; }
  static Fours records(Fours low, Fours high, Fours floor, Fours record_rows) {
    return {record(low.low, high.low, floor.low, record_rows.low),
            record(low.high, high.high, floor.high, record_rows.high)};
  }
  static Fours record_floor(std::int16_t low, std::int16_t high) {
    const std::int16_t words[8] = {low, low, low, high, high, high, high, high};
    const int32x4_t floor = vreinterpretq_s32_s16(vld1q_s16(words));
    return {floor, floor};
  }

 private:
  static int32x4_t chosen(int32x4_t a, int32x4_t choice) {
    return vreinterpretq_s32_u8(vqtbl1q_u8(vreinterpretq_u8_s32(a), vreinterpretq_u8_s32(choice)));
  }
  static int32x4_t record_row(int32x4_t row) {
    static constexpr std::int64_t kUp[2] = {48, 32};
    return vreinterpretq_s32_s64(vshlq_s64(vreinterpretq_s64_s32(row), vld1q_s64(kUp)));
  }
  static int32x4_t record(int32x4_t low, int32x4_t high, int32x4_t floor, int32x4_t row) {
    static constexpr std::uint16_t kRow[8] = {0, 0, 0, 0xffff, 0, 0, 0, 0xffff};
    const int16x8_t words = vmaxq_s16(vqmovn_high_s32(vqmovn_s32(low), high), vreinterpretq_s16_s32(floor));
    return vreinterpretq_s32_s16(vbslq_s16(vld1q_u16(kRow), vreinterpretq_s16_s32(row), words));
  }
};
inline Fours operator+(Fours a, Fours b) { return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }
inline Fours operator-(Fours a, Fours b) { return {vsubq_s32(a.low, b.low), vsubq_s32(a.high, b.high)}; }
inline Fours operator*(Fours a, Fours b) { return {vmulq_s32(a.low, b.low), vmulq_s32(a.high, b.high)}; }
inline Fours operator&(Fours a, Fours b) { return {vandq_s32(a.low, b.low), vandq_s32(a.high, b.high)}; }
inline Fours operator|(Fours a, Fours b) { return {vorrq_s32(a.low, b.low), vorrq_s32(a.high, b.high)}; }

// One corner each of two boxes, an axis a lane; lanes past D hold anything.
template <class T>
struct CornerFours;

template <>
struct CornerFours<float> {
  float32x4_t low, high;
  // Reads a fourth number where D is 3.
  template <std::size_t D>
  static CornerFours load(const float* p, const float* q) {
    return {load_one<D>(p), load_one<D>(q)};
  }
  // Four numbers for both.
  static CornerFours twice(const float* p) { return {vld1q_f32(p), vld1q_f32(p)}; }
  static CornerFours splat(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }

  // Lanes where a is not at most b gather here.
  struct Faults {
    uint32x4_t v = vdupq_n_u32(0);
    void add(CornerFours a, CornerFours b) {
      v = vornq_u32(vornq_u32(v, vcleq_f32(a.low, b.low)), vcleq_f32(a.high, b.high));
    }
    template <std::size_t D>
    bool any() const {
      return (four_bits(v) & ((1u << D) - 1u)) != 0;
    }
  };

  // Rounded down after they are kept in [0, most]; NaN gives 0.
  static Fours whole(CornerFours a, float most) { return {whole_one(a.low, most), whole_one(a.high, most)}; }

 private:
  template <std::size_t D>
  static float32x4_t load_one(const float* p) {
    if constexpr (D == 1) return vsetq_lane_f32(*p, vdupq_n_f32(0), 0);
    if constexpr (D == 2) return vcombine_f32(vld1_f32(p), vdup_n_f32(0));
    return vld1q_f32(p);
  }
  static int32x4_t whole_one(float32x4_t a, float most) {
    return vcvtq_s32_f32(vminnmq_f32(vmaxnmq_f32(a, vdupq_n_f32(0)), vdupq_n_f32(most)));
  }
};
inline CornerFours<float> operator+(CornerFours<float> a, CornerFours<float> b) {
  return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}
inline CornerFours<float> operator-(CornerFours<float> a, CornerFours<float> b) {
  return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)};
}
inline CornerFours<float> operator*(CornerFours<float> a, CornerFours<float> b) {
  return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)};
}

template <>
struct CornerFours<double> {
  float64x2_t v[4];  // two axes each
  template <std::size_t D>
  static CornerFours load(const double* p, const double* q) {
    return {{load_two<D>(p, 0), load_two<D>(p, 2), load_two<D>(q, 0), load_two<D>(q, 2)}};
  }
  static CornerFours twice(const double* p) {
    return {{vld1q_f64(p), vld1q_f64(p + 2), vld1q_f64(p), vld1q_f64(p + 2)}};
  }
  static CornerFours splat(double x) { return {{vdupq_n_f64(x), vdupq_n_f64(x), vdupq_n_f64(x), vdupq_n_f64(x)}}; }

  struct Faults {
    uint64x2_t v[2] = {vdupq_n_u64(0), vdupq_n_u64(0)};
    void add(CornerFours a, CornerFours b) {
      for (int k = 0; k < 4; ++k) v[k & 1] = vornq_u64(v[k & 1], vcleq_f64(a.v[k], b.v[k]));
    }
    template <std::size_t D>
    bool any() const {
      return (four_bits(vcombine_u32(vmovn_u64(v[0]), vmovn_u64(v[1]))) & ((1u << D) - 1u)) != 0;
    }
  };

  static Fours whole(CornerFours a, double most) {
    return {whole_one(a.v[0], a.v[1], most), whole_one(a.v[2], a.v[3], most)};
  }

 private:
  template <std::size_t D>
  static float64x2_t load_two(const double* p, std::size_t axis) {
    if (axis >= D) return vdupq_n_f64(0);
    return axis + 1 == D && D == 1 ? vsetq_lane_f64(*p, vdupq_n_f64(0), 0) : vld1q_f64(p + axis);
  }
  static int32x4_t whole_one(float64x2_t a, float64x2_t b, double most) {
    const auto whole = [&](float64x2_t x) {
      return vreinterpretq_s32_s64(vcvtq_s64_f64(vminnmq_f64(vmaxnmq_f64(x, vdupq_n_f64(0)), vdupq_n_f64(most))));
    };
    return vuzp1q_s32(whole(a), whole(b));
  }
};
inline CornerFours<double> operator+(CornerFours<double> a, CornerFours<double> b) {
  for (int k = 0; k < 4; ++k) a.v[k] = vaddq_f64(a.v[k], b.v[k]);
  return a;
}
inline CornerFours<double> operator-(CornerFours<double> a, CornerFours<double> b) {
  for (int k = 0; k < 4; ++k) a.v[k] = vsubq_f64(a.v[k], b.v[k]);
  return a;
}
inline CornerFours<double> operator*(CornerFours<double> a, CornerFours<double> b) {
  for (int k = 0; k < 4; ++k) a.v[k] = vmulq_f64(a.v[k], b.v[k]);
  return a;
}

}  // namespace broadphase::BROADPHASE_LEVEL::with_neon
