// Sums of products without any rounding, of which the sign is wanted.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace broadphase {

namespace detail {

// value == mantissa * 2^exponent, apart from the sign; any finite number, also a subnormal one.
struct SplitNumber {
  std::uint64_t mantissa;
  int exponent;
  bool negative;
};

inline constexpr std::uint64_t kMantissaBits = 52;

inline SplitNumber split_number(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << kMantissaBits) - 1);
  const auto exponent = static_cast<int>(bits >> kMantissaBits & 0x7ff);
  constexpr int kLeast = -1074;
  if (exponent == 0) return {fraction, kLeast, value < 0};
  return {fraction | std::uint64_t{1} << kMantissaBits, exponent - 1 + kLeast, value < 0};
}

}  // namespace detail

// Sums products of three numbers without rounding, overflow or underflow in a long fixed-point accumulator, after
// Kulisch (Computer Arithmetic and Validity, 2013, DOI 10.1515/9783110301793). Digits have 32 bits and are stored
// signed in 64, so that carries can be deferred to the end. Preconditions: finite numbers, their least and greatest
// exponent known beforehand, fewer than 2^30 products.
class ExactSum {
 public:
  // The range of exponents of the non-zero numbers that will be added.
  class Range {
   public:
    void see(double value) {
      if (value == 0) return;
      const int exponent = detail::split_number(value).exponent;
      least_ = std::min(least_, exponent);
      most_ = std::max(most_, exponent);
    }
    bool only_zeros() const { return least_ > most_; }

   private:
    friend class ExactSum;
    int least_ = 1024, most_ = -1075;
  };

  explicit ExactSum(const Range& range) : origin_(3 * range.least_) {
    // The highest product starts 3 * (most - least) bits up, at any bit of a digit, and has six digits; plus one for
    // carries.
    count_ = range.only_zeros() ? 0 : static_cast<std::size_t>(3 * (range.most_ - range.least_)) / 32 + 7;
    for (std::size_t k = 0; k < count_; ++k) digits_[k] = 0;
  }

  void add(double a, double b, double c) { put(a, b, c, false); }
  void subtract(double a, double b, double c) { put(a, b, c, true); }

  int sign() const {
    std::int64_t carry = 0;
    bool any = false;
    for (std::size_t k = 0; k < count_; ++k) {
      const std::int64_t digit = digits_[k] + carry;
      any = any || (digit & kDigit) != 0;
      carry = digit >> 32;  // rounds down, so the remaining digit is not negative
    }
    return carry < 0 ? -1 : any || carry > 0 ? 1 : 0;
  }

 private:
  static constexpr std::int64_t kDigit = 0xffffffff;
  // From 2^(3 * -1074) up to 2^(3 * 1024).
  static constexpr std::size_t kMostDigits = 3 * (971 + 1074) / 32 + 7;

  void put(double a, double b, double c, bool turned) {
    if (a == 0 || b == 0 || c == 0) return;
    const detail::SplitNumber x = detail::split_number(a), y = detail::split_number(b), z = detail::split_number(c);
    Digits product{x.mantissa & kDigit, x.mantissa >> 32};
    product = times(product, 2, y.mantissa);
    product = times(product, 4, z.mantissa);  // 159 bits: five digits, six when shifted
    const auto place = static_cast<std::size_t>(x.exponent + y.exponent + z.exponent - origin_);
    const std::size_t shift = place % 32;
    std::int64_t* const at = digits_.data() + place / 32;
    const bool negative = (x.negative != y.negative) != (z.negative != turned);
    std::uint64_t below = 0;
    for (std::size_t k = 0; k < product.size(); ++k) {
      const std::uint64_t shifted = product[k] << shift | below;
      const auto digit = static_cast<std::int64_t>(shifted & kDigit);
      below = shifted >> 32;
      at[k] += negative ? -digit : digit;
    }
  }

  using Digits = std::array<std::uint64_t, 6>;

  // The first `count` digits times a number of two digits.
  static Digits times(const Digits& digits, std::size_t count, std::uint64_t factor) {
    const std::uint64_t factors[2] = {factor & kDigit, factor >> 32};
    Digits product{};
    for (std::size_t f = 0; f < 2; ++f) {
      std::uint64_t carry = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t sum = digits[k] * factors[f] + product[k + f] + carry;
        product[k + f] = sum & kDigit;
        carry = sum >> 32;
      }
      product[count + f] = carry;
    }
    return product;
  }

  int origin_;
  std::size_t count_;
  std::array<std::int64_t, kMostDigits> digits_;
};

}  // namespace broadphase
