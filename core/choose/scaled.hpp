// Boxes so small that the numbers of a method leave the range of their type: multiplied by powers of two first.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/samples.hpp"
#include "query/problem.hpp"

namespace broadphase {

// Of the cells of a scene below this size, there are more to a unit than T can count: see finish_layout. Trees round
// boxes to floats, which end a little below it.
template <class T>
inline constexpr T kTiny = sizeof(T) == 4 ? T(0x1p-92) : T(0x1p-900);

// By a few boxes, whether most lie so near 0 along an axis. Not of boxes of one axis, which are only sorted.
template <class T>
bool are_tiny(const Problem<T>& problem) {
  if (problem.dimension == 1) return false;
  const RandomSample some(problem.first.count, 8);
  std::size_t tiny[4] = {0, 0, 0, 0};
  for (std::size_t k = 0; k < some.size(); ++k) {
    const T *lower = problem.first.lower_of(some[k]), *upper = problem.first.upper_of(some[k]);
    for (std::size_t d = 0; d < problem.dimension; ++d) {
      const T most = std::max(std::abs(lower[d]), std::abs(upper[d]));
      tiny[d] += most > 0 && most < kTiny<T> ? 1 : 0;
    }
  }
  return 2 * *std::max_element(tiny, tiny + 4) > some.size();
}

// The same problem with larger numbers along axes where all are small. No number is rounded: a sum of numbers near the
// smallest one of T is exact, or rounded as it would be if they were larger.
template <class T>
class ScaledProblem {
 public:
  ScaledProblem(const Problem<T>& given, Interrupt& interrupt) : problem_(given) {
    T most[4] = {0, 0, 0, 0};
    const std::size_t dimension = given.dimension;
    for (std::size_t k = 0; k < (given.cross ? 2u : 1u); ++k) {
      const BoxView<T>& boxes = k == 0 ? given.first : given.second;
      in_stretches(boxes.count, interrupt, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row)
          for (std::size_t d = 0; d < dimension; ++d) {
            const T size =
                std::max(std::abs(boxes.lower_of(row)[d] - given.grow), std::abs(boxes.upper_of(row)[d] + given.grow));
            if (size <= std::numeric_limits<T>::max()) most[d] = std::max(most[d], size);
          }
      });
    }
    // The largest number goes so far, which leaves room on either side.
    constexpr int kExponent = std::numeric_limits<T>::max_exponent / 2;
    for (std::size_t d = 0; d < dimension; ++d) {
      if (most[d] > 0) exponent_[d] = std::max(0, kExponent - std::ilogb(most[d]));
      // Twice, since the product may not be a number of T.
      factor_[d][0] = std::ldexp(T(1), exponent_[d] / 2);
      factor_[d][1] = std::ldexp(T(1), exponent_[d] - exponent_[d] / 2);
      least_[d] = std::ldexp(T(1), exponent_[d] + std::numeric_limits<T>::min_exponent - kDigits);
    }
    problem_.first = scaled(given.first, corners_[0], interrupt);
    if (given.cross) problem_.second = scaled(given.second, corners_[1], interrupt);
    problem_.grow = 0;
    problem_.is_own = true;
  }
  ScaledProblem(const ScaledProblem&) = delete;
  ScaledProblem& operator=(const ScaledProblem&) = delete;

  const Problem<T>& problem() const { return problem_; }
  // A number as it was given.
  double given(std::size_t axis, double x) const { return std::ldexp(x, -exponent_[axis]); }

 private:
  BoxView<T> scaled(const BoxView<T>& boxes, PlainArray<T>& to, Interrupt& interrupt) const {
    const std::size_t dimension = problem_.dimension;
    to.grow(2 * dimension * boxes.count);
    in_stretches(boxes.count, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        for (std::size_t d = 0; d < dimension; ++d) {
          T* const corner = to.get() + 2 * dimension * row + d;
          corner[0] = scaled(boxes.lower_of(row)[d] - problem_.grow, d);
          corner[dimension] = scaled(boxes.upper_of(row)[d] + problem_.grow, d);
        }
    });
    return view_of_rows<T>(to.get(), dimension, boxes.count);
  }

  // Processors take a hundred cycles to multiply a subnormal number, which is a whole number of the least one.
  T scaled(T x, std::size_t axis) const {
    constexpr Bits kSign = Bits{1} << (sizeof(T) * 8 - 1), kLeastNormal = Bits{1} << (kDigits - 1);
    const Bits bits = std::bit_cast<Bits>(x), size = bits & ~kSign;
    if (size >= kLeastNormal) return x * factor_[axis][0] * factor_[axis][1];
    const T larger = static_cast<T>(static_cast<std::make_signed_t<Bits>>(size)) * least_[axis];
    return (bits & kSign) != 0 ? -larger : larger;
  }

  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int kDigits = std::numeric_limits<T>::digits;

  Problem<T> problem_;
  int exponent_[4] = {0, 0, 0, 0};
  T factor_[4][2];
  T least_[4];  // what becomes of the least number
  PlainArray<T> corners_[2];
};

}  // namespace broadphase
