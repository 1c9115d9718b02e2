// Numbers with the precision of a double and an exponent that neither overflows nor underflows.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace broadphase {

// fraction * 2^exponent, at least 0 or infinite. Every operation rounds once, like that of doubles wherever theirs is
// in range.
class WideNumber {
 public:
  constexpr WideNumber() = default;
  // Precondition: at least 0, may be infinite.
  explicit WideNumber(double value) : WideNumber(value, 0) {}

  static constexpr WideNumber infinite() { return {Parts{}, kInfinite, 1}; }
  constexpr bool is_zero() const { return exponent_ == kZero; }
  constexpr bool is_infinite() const { return exponent_ == kInfinite; }

  friend constexpr auto operator<=>(const WideNumber&, const WideNumber&) = default;

  // a - b. Precondition: a >= b; either may be infinite.
  static WideNumber difference(double a, double b) {
    if (a == b) return {};
    if (std::isinf(a) || std::isinf(b)) return infinite();
    const int exponent = std::max(exponent_of(a), exponent_of(b));
    return {std::ldexp(a, -exponent) - std::ldexp(b, -exponent), exponent};
  }

  friend WideNumber operator+(const WideNumber& a, const WideNumber& b) {
    const WideNumber &large = std::max(a, b), &small = std::min(a, b);
    constexpr std::int32_t kNegligible = 100;
    if (small.is_zero() || large.is_infinite() || large.exponent_ - small.exponent_ > kNegligible) return large;
    return {large.fraction_ + std::ldexp(small.fraction_, small.exponent_ - large.exponent_), large.exponent_};
  }
  // 0 if either is, whatever the other.
  friend WideNumber operator*(const WideNumber& a, const WideNumber& b) {
    if (a.is_zero() || b.is_zero()) return {};
    if (a.is_infinite() || b.is_infinite()) return infinite();
    return {a.fraction_ * b.fraction_, a.exponent_ + b.exponent_};
  }
  // Precondition: b is neither 0 nor infinite.
  friend WideNumber operator/(const WideNumber& a, const WideNumber& b) {
    if (a.is_zero() || a.is_infinite()) return a;
    return {a.fraction_ / b.fraction_, a.exponent_ - b.exponent_};
  }

  // 0 or infinity where a double has no such exponent.
  double to_double() const { return scaled(0); }
  // This times 2^exponent, as a double.
  double scaled(int exponent) const {
    if (is_zero() || is_infinite()) return is_zero() ? 0.0 : std::numeric_limits<double>::infinity();
    constexpr std::int32_t kBeyond = 4000;
    return std::ldexp(fraction_, std::clamp(exponent_ + exponent, -kBeyond, kBeyond));
  }
  WideNumber root() const {
    if (is_zero() || is_infinite()) return *this;
    const std::int32_t odd = exponent_ & 1;
    return {std::sqrt(std::ldexp(fraction_, odd)), (exponent_ - odd) / 2};
  }

 private:
  static constexpr std::int32_t kZero = -(1 << 20), kInfinite = 1 << 20;
  struct Parts {};

  constexpr WideNumber(Parts, std::int32_t exponent, double fraction) : exponent_(exponent), fraction_(fraction) {}
  WideNumber(double value, std::int32_t exponent) {
    if (value == 0) return;
    if (std::isinf(value)) {
      *this = infinite();
      return;
    }
    int own = 0;
    fraction_ = std::frexp(value, &own);
    exponent_ = exponent + own;
  }
  static int exponent_of(double value) {
    int exponent = -(1 << 12);
    if (value != 0) std::frexp(value, &exponent);
    return exponent;
  }

  // In this order: they are compared one after the other.
  std::int32_t exponent_ = kZero;
  double fraction_ = 0;  // in [1/2, 1)
};

}  // namespace broadphase
