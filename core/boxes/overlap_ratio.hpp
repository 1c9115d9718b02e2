// How much two boxes with sides along the axes overlap: the measure of their intersection over that of their union, or
// of the smaller box; or the former, less a penalty for the distance of their centers.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "base/read_ahead.hpp"

namespace broadphase {

// The last one is DIoU: Z. Zheng et al., Distance-IoU Loss, AAAI 2020. No more than the first, and below 0 where boxes
// are apart.
enum class RatioTo { kUnion, kSmaller, kUnionLessDistance };

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

// The square of the distance of the centers of two boxes over that of the diagonal of the box around both; 0 where that
// has no extent. Rounded as sums of squares in the order of the axes are, without overflow and underflow on the way.
inline double distance_penalty(const double* a, const double* b, std::size_t dimension) {
  constexpr double kLarge = 0x1p1000;
  double farthest = 0, longest = 0;
  for (std::size_t k = 0; k < 2 * dimension; ++k) farthest = std::max({farthest, std::abs(a[k]), std::abs(b[k])});
  const double part = farthest > kLarge ? 0.25 : 1;
  const auto around = [&](std::size_t k) {
    return part * std::max(a[dimension + k], b[dimension + k]) - part * std::min(a[k], b[k]);
  };
  for (std::size_t k = 0; k < dimension; ++k) longest = std::max(longest, around(k));
  if (!(longest > 0)) return 0;
  const int exponent = -std::ilogb(longest);
  double apart = 0, diagonal = 0;
  for (std::size_t k = 0; k < dimension; ++k) {
    const double lower = part * a[k] - part * b[k], upper = part * a[dimension + k] - part * b[dimension + k];
    const double between = std::ldexp(lower + upper, exponent) / 2, side = std::ldexp(around(k), exponent);
    apart += between * between;
    diagonal += side * side;
  }
  return apart / diagonal;
}

// 0 where the boxes have no interior in common, before any penalty. Boxes are d lower and d upper corners, finite.
// Rounded as products in the order of the axes are, without overflow and underflow on the way.
inline double overlap_ratio(const double* a, const double* b, std::size_t dimension, RatioTo measure) {
  if (measure == RatioTo::kUnionLessDistance)
    return overlap_ratio(a, b, dimension, RatioTo::kUnion) - distance_penalty(a, b, dimension);
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

// A box as suppression compares it. Ratios are computed in T, by the operations of `torchvision.ops.nms`: the same
// result to the last bit.
template <class T, std::size_t D>
class UprightBox {
 public:
  static constexpr std::size_t kDimension = D;

  UprightBox() = default;
  // Of d lower and d upper numbers, finite.
  explicit UprightBox(const T* corners) {
    volume_ = 1;
    is_usual_ = true;
    for (std::size_t k = 0; k < D; ++k) {
      lower_[k] = corners[k];
      upper_[k] = corners[D + k];
      const T side = upper_[k] - lower_[k];
      volume_ *= side;
      is_usual_ &= side >= kSmall && side <= 1 / kSmall;
    }
  }

  bool has_volume() const {
    bool has = true;
    for (std::size_t k = 0; k < D; ++k) has &= lower_[k] < upper_[k];
    return has;
  }
  double lower(std::size_t k) const { return static_cast<double>(lower_[k]); }
  // A side, as much as a double can say.
  double size(std::size_t k) const { return static_cast<double>(upper_[k]) - static_cast<double>(lower_[k]); }

  // Where a ratio before a penalty is `enough` or less, that: it is no less than the ratio, in floats too.
  double ratio(const UprightBox& other, RatioTo measure, double enough = -1) const {
    T common = 1, least = std::numeric_limits<T>::max();
    for (std::size_t k = 0; k < D; ++k) {
      const T both = std::min(upper_[k], other.upper_[k]) - std::max(lower_[k], other.lower_[k]);
      common *= both;
      least = std::min(least, both);
    }
    if (!(least > 0)) return 0;
    if (!(least >= kSmall) || !is_usual_ || !other.is_usual_) return long_ratio(other, measure);
    const T whole = measure == RatioTo::kSmaller ? std::min(volume_, other.volume_) : volume_ + other.volume_ - common;
    const T share = common / whole;
    if (measure != RatioTo::kUnionLessDistance || static_cast<double>(share) <= enough)
      return static_cast<double>(share);
    T apart = 0, diagonal = 0;
    for (std::size_t k = 0; k < D; ++k) {
      const T between = ((lower_[k] - other.lower_[k]) + (upper_[k] - other.upper_[k])) / 2;
      const T around = std::max(upper_[k], other.upper_[k]) - std::min(lower_[k], other.lower_[k]);
      apart += between * between;
      diagonal += around * around;
    }
    return static_cast<double>(share - apart / diagonal);
  }
  // By 0 or more.
  bool exceeds(const UprightBox& other, RatioTo measure, double threshold) const {
    return ratio(other, measure, threshold) > threshold;
  }

  // How far apart two boxes begin whose ratio, before any penalty, exceeds a threshold. Where they overlap by more than
  // a share t of their union, so do they along each axis, and one reaches beyond the other by less than 1 - t of that.
  class Reach {
   public:
    static constexpr std::size_t kFrames = 1;
    static constexpr std::array<std::size_t, 1> kSets{};
    struct Seen {
      std::array<double, D> place, extent;
      double rounding = 0;  // what it changes of places
    };
    struct Sought {};

    Reach(double threshold, RatioTo measure) : threshold_(threshold), is_of_union_(measure != RatioTo::kSmaller) {
      // More than what rounding changes of a ratio.
      if (is_of_union_) apart_ = std::min(1.0, 1 - threshold + kMore);
    }
    // In which frame a box is filed, and the set of a frame.
    static std::size_t set_of(std::size_t) { return 0; }
    static std::size_t frame_of(const UprightBox&) { return 0; }
    // A box along the axes of a frame.
    static Seen seen(const UprightBox& box, std::size_t) {
      Seen seen;
      for (std::size_t k = 0; k < D; ++k) seen.place[k] = box.lower(k), seen.extent[k] = box.size(k);
      return seen;
    }
    // The greatest extent of boxes of a frame along its axis k, as a share of the size that they have at most.
    static double widest(std::size_t, std::size_t) { return 1; }
    // The side of a cell, as a share of the longest boxes in it: a usual box then looks into three along each axis.
    double cell(std::size_t, std::size_t) const {
      return std::clamp(apart_ * std::min(2.0, 1 / threshold_), kMore, 1.0);
    }
    // The size of a box in a set of frames by which levels are chosen, and the axis whose usual size is its unit.
    static double size(const UprightBox& box, std::size_t, std::size_t k) { return box.size(k); }
    static std::size_t unit_of(std::size_t, std::size_t k) { return k; }
    // Calls visit(frame) for those of a set in which boxes of sizes from one to another may be near, until one returns
    // true.
    Sought sought(const UprightBox&) const { return {}; }
    template <class Visit>
    static bool any_frame(const Sought&, std::size_t, std::array<double, 2>, Visit&& visit) {
      return visit(std::size_t{0});
    }
    // The least share of the longer of two boxes that the shorter one is, along any axis.
    double least_share(std::size_t) const { return is_of_union_ ? threshold_ * (1 - kMore) : 0; }
    // By how much the place of the other box is before and behind that of this one at most, along axis k of a frame.
    double before(std::size_t, double own, double other) const { return std::min(other, apart_ * whole(own, other)); }
    double behind(std::size_t, double own, double other) const { return std::min(own, apart_ * whole(own, other)); }

   private:
    static constexpr double kMore = 1e-5;

    double whole(double own, double other) const {
      if (!is_of_union_) return own + other;
      return std::min(own + other, std::min(own, other) / (threshold_ * (1 - kMore)));
    }

    double threshold_, apart_ = 1;
    bool is_of_union_;
  };

 private:
  // Up to four of them multiplied, or their inverses, are normal numbers.
  static constexpr T kSmall = std::is_same_v<T, float> ? T(0x1p-30) : T(0x1p-250);

  double long_ratio(const UprightBox& other, RatioTo measure) const {
    double first[2 * D], second[2 * D];
    for (std::size_t k = 0; k < D; ++k) {
      first[k] = lower_[k], first[D + k] = upper_[k];
      second[k] = other.lower_[k], second[D + k] = other.upper_[k];
    }
    return overlap_ratio(first, second, D, measure);
  }

  T lower_[D], upper_[D], volume_;
  bool is_usual_;  // products of its sides, and of parts of these, neither overflow nor lose digits
};

// Rows of corners, each read as a box where it is looked at.
template <class T, std::size_t D>
struct UprightBoxes {
  const T* corners;
  UprightBox<T, D> operator[](std::size_t row) const { return UprightBox<T, D>(corners + row * 2 * D); }
  void read_ahead(std::size_t row) const { broadphase::read_ahead(corners + row * 2 * D); }
};

}  // namespace broadphase
