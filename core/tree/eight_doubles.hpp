// What differs between walks over floats and over doubles: numbers, keys, and how much is rounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd/lanes.hpp"
#include "tree/walks.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// The keys of a walk, see OrderedWalk. In a wide tree: of numbers that are not negative, rounded down; infinity from
// 2^1017 on.
inline Eight keys_of(const Eight& numbers) { return numbers; }
inline Eight keys_of(const WideEight& numbers) { return upper_halves(numbers, 0x7f800000); }
// The least number with this key; infinity for infinity.
inline double number_of(float key) {
  std::uint32_t upper;
  std::memcpy(&upper, &key, sizeof upper);
  const std::uint64_t bits = std::uint64_t{upper == 0x7f800000u ? 0x7ff00000u : upper} << 32;
  double number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

// The numbers that eight lanes hold, and tests of them; the numbers of a moving box, its motion and its limit, and a
// factor of more than half a dozen roundings.
template <class E>
struct NumbersOf {
  using Type = float;
  using Tests = EightTests;
  static constexpr float kLonger = 1.000001F;
  static const float* box(const auto& walk) { return walk.box; }
  // The point of a ball, rounded down and up along each axis.
  static const float* low_center(const BallWalk& walk, std::size_t) { return walk.center; }
  static const float* high_center(const BallWalk& walk, std::size_t dimension) { return walk.center + dimension; }
  static const float* inverse(const SweepWalk& walk) { return walk.inverse; }
  static float limit(const SweepWalk& walk) { return walk.limit; }
};
template <>
struct NumbersOf<WideEight> {
  using Type = double;
  using Tests = WideTests;
  static constexpr double kLonger = 1 + 1e-14;
  static const double* box(const auto& walk) { return walk.wide_box; }
  static const double* low_center(const BallWalk& walk, std::size_t) { return walk.wide_center; }
  static const double* high_center(const BallWalk& walk, std::size_t) { return walk.wide_center; }
  static const double* inverse(const SweepWalk& walk) { return walk.wide_inverse; }
  static double limit(const SweepWalk& walk) { return number_of(walk.limit); }
};

}  // namespace broadphase::BROADPHASE_LEVEL
