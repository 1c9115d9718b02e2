// What lanes of floats or of doubles hold; and the keys of walks over doubles.
#pragma once

#include <cstdint>
#include <cstring>

#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// The numbers that eight lanes hold, and tests of them.
template <class E>
struct NumbersOf {
  using Type = float;
  using Tests = EightTests;
};
template <>
struct NumbersOf<WideEight> {
  using Type = double;
  using Tests = WideTests;
};

// ---- Keys of a wide tree: see OrderedWalk ----

// Of numbers that are not negative, rounded down; infinity from 2^1017 on.
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

}  // namespace broadphase::BROADPHASE_LEVEL
