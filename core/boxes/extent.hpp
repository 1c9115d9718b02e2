// How far boxes reach, infinite corners left out, and where most of them are. The core has no other such scan.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/samples.hpp"
#include "base/with_dimension.hpp"

namespace broadphase {

// From the least finite coordinate to the largest; low > high along an axis that has none.
template <class T>
struct Extent {
  T low[4], high[4];

  Extent() {
    std::fill_n(low, 4, std::numeric_limits<T>::infinity());
    std::fill_n(high, 4, -std::numeric_limits<T>::infinity());
  }
  void add(const Extent& other) {
    for (std::size_t k = 0; k < 4; ++k) {
      low[k] = std::min(low[k], other.low[k]);
      high[k] = std::max(high[k], other.high[k]);
    }
  }
};

// Pointers to the two corners of a box.
template <class T>
struct BoxCorners {
  const T* lower;
  const T* upper;
};

namespace detail {

// Gives the corners of box `at` of an object, `of`, of any type: what takes such a function is compiled once for all.
template <class T>
using CornersAt = BoxCorners<T> (*)(const void* of, std::size_t at);
template <class T, class Corners>
BoxCorners<T> corners_at(const void* of, std::size_t at) {
  return (*static_cast<const Corners*>(of))(at);
}

// The extent of boxes some of which are infinite: one that is so on one side counts with its other corner. Rare, and
// twice the comparisons, so it is compiled once.
template <class T>
Extent<T> extent_of_finite(std::size_t dimension, std::size_t count, T grow, const void* of, CornersAt<T> corners) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  Extent<T> extent;
  for (std::size_t at = 0; at < count; ++at) {
    const BoxCorners<T> box = corners(of, at);
    for (std::size_t k = 0; k < dimension; ++k)
      for (const T x : {box.lower[k] - grow, box.upper[k] + grow}) {
        extent.low[k] = x < extent.low[k] && x > -kInfinity ? x : extent.low[k];
        extent.high[k] = x > extent.high[k] && x < kInfinity ? x : extent.high[k];
      }
  }
  return extent;
}

// The corners of some of the boxes, axis by axis.
template <class T>
struct CornerSample {
  static constexpr std::size_t kMost = 64;
  T lower[4][kMost], upper[4][kMost];
  std::size_t size = 0;
};

template <class T>
Extent<T> bulk_of_sample(const Extent<T>& extent, std::size_t dimension, CornerSample<T>& sample) {
  constexpr std::size_t kLeast = 8;
  Extent<T> bulk = extent;
  bool wide = false;
  for (std::size_t k = 0; k < dimension; ++k) {
    T *const lower = sample.lower[k], *const upper = sample.upper[k];
    const auto finite = [&](T* from) {
      return static_cast<std::size_t>(std::remove_if(from, from + sample.size, [](T x) { return !std::isfinite(x); }) -
                                      from);
    };
    const std::size_t lowers = finite(lower), uppers = finite(upper);
    if (lowers < kLeast || uppers < kLeast) {
      wide = wide || extent.low[k] < extent.high[k];
      continue;
    }
    T* const low = lower + lowers / 8;
    T* const high = upper + (uppers - 1 - uppers / 8);
    std::nth_element(lower, low, lower + lowers);
    std::nth_element(upper, high, upper + uppers);
    const T least = std::min(*low, *high), most = std::max(*low, *high), room = 2 * (most - least);
    bulk.low[k] = std::max(extent.low[k], least - room);
    bulk.high[k] = std::min(extent.high[k], most + room);
    wide = wide || least < most;
  }
  return wide ? bulk : extent;
}

// With the number of dimensions as a constant or as a number.
template <class T, class Corners, class Dimensions>
Extent<T> extent_of_all(Dimensions dimension, std::size_t count, T grow, const Corners& corners) {
  Extent<T> extent;
  for (std::size_t at = 0; at < count; ++at) {
    const BoxCorners<T> box = corners(at);
    for (std::size_t k = 0; k < dimension; ++k) {
      const T lower = box.lower[k] - grow, upper = box.upper[k] + grow;
      extent.low[k] = lower < extent.low[k] ? lower : extent.low[k];
      extent.high[k] = upper > extent.high[k] ? upper : extent.high[k];
    }
  }
  return extent;
}

// `extent`, or that of finite corners where it is infinite.
template <class T>
Extent<T> made_finite(const Extent<T>& extent, std::size_t dimension, std::size_t count, T grow, const void* of,
                      CornersAt<T> corners) {
  bool finite = true;
  for (std::size_t k = 0; k < dimension; ++k) finite &= std::isfinite(extent.low[k]) && std::isfinite(extent.high[k]);
  return finite || count == 0 ? extent : extent_of_finite<T>(dimension, count, grow, of, corners);
}

template <class T>
Extent<T> bulk_of(const Extent<T>& extent, std::size_t dimension, std::size_t count, const void* of,
                  CornersAt<T> corners) {
  const StratifiedSample places(count, CornerSample<T>::kMost);
  CornerSample<T> sample;
  for (; sample.size < places.size(); ++sample.size) {
    const BoxCorners<T> box = corners(of, places[sample.size]);
    for (std::size_t k = 0; k < dimension; ++k) {
      sample.lower[k][sample.size] = box.lower[k];
      sample.upper[k][sample.size] = box.upper[k];
    }
  }
  return bulk_of_sample(extent, dimension, sample);
}

}  // namespace detail

// Of `count` boxes, each larger by `grow` on every side; corners(k) gives BoxCorners of box k. Precondition: no NaN,
// and lower <= upper.
template <class T, class Corners>
Extent<T> finite_extent(std::size_t dimension, std::size_t count, T grow, const Corners& corners) {
  const Extent<T> extent = dimension == 2   ? detail::extent_of_all<T>(Dimension<2>(), count, grow, corners)
                           : dimension == 3 ? detail::extent_of_all<T>(Dimension<3>(), count, grow, corners)
                                            : detail::extent_of_all<T>(dimension, count, grow, corners);
  return detail::made_finite<T>(extent, dimension, count, grow, &corners, detail::corners_at<T, Corners>);
}

// The part of the extent that holds most boxes, by a sample: what lies beyond is more than twice as far from the middle
// three quarters as these are wide. A few boxes far away, or far larger than the others, then do not set the scale.
template <class T, class Corners>
Extent<T> bulk_of(const Extent<T>& extent, std::size_t dimension, std::size_t count, const Corners& corners) {
  return detail::bulk_of<T>(extent, dimension, count, &corners, detail::corners_at<T, Corners>);
}

}  // namespace broadphase
