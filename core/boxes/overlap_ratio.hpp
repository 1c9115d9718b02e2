// How much two boxes overlap: the measure of their intersection over that of their union, or of the smaller box.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace broadphase {

enum class RatioTo { kUnion, kSmaller };

namespace detail {

// A product of positive numbers whose exponent has no limits.
struct LongProduct {
  double mantissa = 1;
  long exponent = 0;

  void multiply(double factor) {
    int of_factor = 0, of_product = 0;
    mantissa = std::frexp(mantissa * std::frexp(factor, &of_factor), &of_product);
    exponent += of_factor + of_product;
  }
  // Times 2^-reference.
  double relative_to(long reference) const {
    return std::ldexp(mantissa, static_cast<int>(std::clamp(exponent - reference, -5000L, 5000L)));
  }
};

inline void multiply_by_extent(LongProduct& product, double low, double high) {
  if (const double extent = high - low; std::isfinite(extent)) {
    product.multiply(extent);
  } else {
    product.multiply(high / 2 - low / 2);
    ++product.exponent;
  }
}

}  // namespace detail

// 0 where the boxes have no interior in common. Boxes are d lower and d upper corners, finite. Rounded as products in
// the order of the axes are, without overflow and underflow on the way.
inline double overlap_ratio(const double* a, const double* b, std::size_t dimension, RatioTo measure) {
  constexpr double kSmall = 0x1p-250, kLarge = 0x1p250;  // four of them multiplied are still normal
  double common = 1, first = 1, second = 1, least = kLarge, most = kSmall;
  for (std::size_t k = 0; k < dimension; ++k) {
    const double own = a[dimension + k] - a[k], other = b[dimension + k] - b[k];
    const double both = std::min(a[dimension + k], b[dimension + k]) - std::max(a[k], b[k]);
    if (!(both > 0)) return 0;
    common *= both;
    first *= own;
    second *= other;
    least = std::min(least, both);
    most = std::max(most, std::max(own, other));
  }
  if (least < kSmall || most > kLarge) {
    detail::LongProduct long_common, long_first, long_second;
    for (std::size_t k = 0; k < dimension; ++k) {
      detail::multiply_by_extent(long_common, std::max(a[k], b[k]), std::min(a[dimension + k], b[dimension + k]));
      detail::multiply_by_extent(long_first, a[k], a[dimension + k]);
      detail::multiply_by_extent(long_second, b[k], b[dimension + k]);
    }
    const long larger = std::max(long_first.exponent, long_second.exponent);
    const long smaller = std::min(long_first.exponent, long_second.exponent);
    const long reference = measure == RatioTo::kUnion ? larger : smaller;
    common = long_common.relative_to(reference);
    first = long_first.relative_to(reference);
    second = long_second.relative_to(reference);
  }
  return common / (measure == RatioTo::kUnion ? first + second - common : std::min(first, second));
}

}  // namespace broadphase
