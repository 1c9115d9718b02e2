// Eight doubles, as a block of a wide tree holds them: as Eight in simd/lanes.hpp, but in plain loops, which the
// compiler vectorizes for each level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

struct WideEight {
  double at[8];

  static WideEight splat(double x) { return {{x, x, x, x, x, x, x, x}}; }
  static WideEight load(const double* p) {
    WideEight result;
    for (std::size_t l = 0; l < 8; ++l) result.at[l] = p[l];
    return result;
  }
};

// Several at_most(a, b), all of which a lane must pass.
class WideTests {
 public:
  void at_most(const WideEight& a, const WideEight& b) {
    for (std::size_t l = 0; l < 8; ++l) passed_[l] &= a.at[l] <= b.at[l] ? ~std::int64_t{0} : std::int64_t{0};
  }
  std::uint32_t bits() const {
    std::int64_t bits = 0;
    for (std::size_t l = 0; l < 8; ++l) bits |= passed_[l] & static_cast<std::int64_t>(1u << l);
    return static_cast<std::uint32_t>(bits);
  }

 private:
  std::int64_t passed_[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
};

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
inline Eight keys_of(const WideEight& numbers) {
  constexpr std::int64_t kInfinity = 0x7f800000;
  alignas(32) float keys[8];
  std::int64_t bits[8];
  std::int32_t upper[8];
  std::memcpy(bits, numbers.at, sizeof bits);
  for (std::size_t l = 0; l < 8; ++l) {
    const std::int64_t half = bits[l] >> 32;
    upper[l] = static_cast<std::int32_t>(half < kInfinity ? half : kInfinity);
  }
  std::memcpy(keys, upper, sizeof keys);
  return Eight::load(keys);
}
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
