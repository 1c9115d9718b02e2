// Boxes that a fuzzer spells: numbers on a lattice, the ends of the number range, numbers once more or next to one
// another, and any bits at all.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/scenes.hpp"

namespace broadphase::fuzz {

using tests::Boxes;
using tests::Random;

template <class T>
class Coordinates {
 public:
  // Without `anything`: only numbers whose sums and differences are exact, from -64 to 63 steps.
  Coordinates(Random& random, bool anything) : random_(random), anything_(anything) {
    if (anything && random.chance(0.25)) step_ = std::ldexp(T(1), static_cast<int>(random.below(255)) - 127);
    if (anything && random.chance(0.125)) step_ = T(0.1);
    if (anything && random.chance(0.125)) origin_ = static_cast<T>(random.below(2) == 0 ? 1e6 : -3e15) * step_;
  }

  // May be NaN.
  T number() {
    const std::size_t what = random_.below(256);
    if (what < 128 || !anything_) return keep(origin_ + step_ * static_cast<T>(static_cast<int>(what % 128) - 64));
    if (what < 200) return earlier(what);
    if (what < 215) return keep(std::nextafter(earlier(what), kInfinity));
    if (what < 230) return keep(std::nextafter(earlier(what), -kInfinity));
    if (what < 248) return special(what - 230);
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return keep(std::bit_cast<T>(static_cast<Bits>(random_.bits())));
  }

  T finite() {
    const T x = number();
    return std::isfinite(x) ? x : T(0);
  }

  // Corners of boxes, of which none, nearly always, is invalid.
  Boxes<T> boxes(std::size_t count, std::size_t dimension) {
    std::vector<T> lower, upper;
    const bool may_be_invalid = random_.chance(0.0625);
    for (std::size_t k = 0; k < count * dimension; ++k) {
      T low = number(), high = random_.chance(0.75) ? low + step_ * static_cast<T>(random_.below(4)) : number();
      if (!may_be_invalid) order(low, high);
      lower.push_back(low);
      upper.push_back(high);
    }
    return Boxes<T>(lower, upper, dimension, random_.below(3));
  }
  void order(T& low, T& high) {
    if (std::isnan(low)) low = origin_;
    if (std::isnan(high)) high = low;
    if (low > high) std::swap(low, high);
  }

 private:
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();

  T keep(T number) {
    kept_.push_back(number);
    return number;
  }
  T earlier(std::size_t what) { return kept_.empty() ? origin_ : kept_[what * 7 % kept_.size()]; }
  static T special(std::size_t which) {
    using Limits = std::numeric_limits<T>;
    const T numbers[] = {T(0),
                         -T(0),
                         kInfinity,
                         -kInfinity,
                         Limits::max(),
                         Limits::lowest(),
                         Limits::min(),
                         -Limits::min(),
                         Limits::denorm_min(),
                         -Limits::denorm_min(),
                         Limits::quiet_NaN(),
                         Limits::max() / 2,
                         Limits::lowest() / 2,
                         std::sqrt(Limits::max()),
                         std::sqrt(Limits::min()),
                         T(1e9),
                         T(-1e-9),
                         T(16777217)};
    return numbers[which];
  }

  Random& random_;
  bool anything_;
  T step_ = 1, origin_ = 0;
  std::vector<T> kept_;
};

// Few, or now and then enough for the ways that methods have for many.
inline std::size_t some(Random& random) {
  const std::size_t size = random.below(256);
  return size < 232 ? size % 40 : size < 254 ? 4 * (size - 222) : 400 * (size - 253);
}

}  // namespace broadphase::fuzz
