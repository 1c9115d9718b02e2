// A scene's own coordinates: floats near 1, whatever the numbers given.
//
// Trees keep their boxes as floats, for they only find candidates; the exact test reads the numbers as they were given.
// A box becomes at most one unit in the last place larger on each side, never smaller, so no candidate is lost, and far
// from the origin or on any scale as many bits tell boxes apart as near 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/with_dimension.hpp"
#include "boxes/box_view.hpp"
#include "boxes/extent.hpp"

namespace broadphase {

// local = (given - origin) * scale; the scale is a power of two and the same along all axes, so distances keep their
// proportions.
struct LocalFrame {
  double origin[4] = {0, 0, 0, 0};
  double scale = 1;
  // Every float32 is then itself in local coordinates: true of float32 scenes that are not on wildly different scales.
  bool exact = true;

  double local(double given, std::size_t axis) const {
    const double value = (given - origin[axis]) * scale;
    return std::isinf(value) && std::isfinite(given) ? std::copysign(1e300, value) : value;
  }
  double given(double local, std::size_t axis) const { return local / scale + origin[axis]; }

  // The nearest floats below and above. A sum that was rounded is never taken for an exact one.
  float below(double given, std::size_t axis) const { return below(local(given, axis)); }
  float above(double given, std::size_t axis) const { return above(local(given, axis)); }
  float below(double value) const {
    const auto near = static_cast<float>(value);
    if (exact && static_cast<double>(near) == value) return near;
    // What is too far for a float is not at infinity: only that is.
    return near == kInfinity && value < kInfinity ? kFarthest : near - step(near);
  }
  float above(double value) const {
    const auto near = static_cast<float>(value);
    if (exact && static_cast<double>(near) == value) return near;
    return near == -kInfinity && value > -kInfinity ? -kFarthest : near + step(near);
  }
  // True if nothing was rounded on the way.
  bool keeps(double given, std::size_t axis) const {
    const double value = local(given, axis);
    return exact && static_cast<double>(static_cast<float>(value)) == value;
  }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static constexpr float kFarthest = std::numeric_limits<float>::max();

  // More than a unit in the last place, also among the denormals; 0 for infinities, which stay what they are.
  static float step(float near) {
    constexpr float kStep = 1.25e-7F, kLeast = 1e-37F;
    return std::isfinite(near) ? std::fabs(near) * kStep + kLeast : 0.0F;
  }
};

// The frame in which numbers between these corners fall into [-1, 1]; low > high along an axis that has none. A frame
// that is to be exact keeps its origin, so that all that changes is the exponent.
inline LocalFrame frame_between(const double* low, const double* high, std::size_t dimension, bool exact) {
  LocalFrame frame;
  frame.exact = exact;
  double reach = 0;
  for (std::size_t k = 0; k < dimension; ++k) {
    if (!(low[k] <= high[k])) continue;
    if (!exact) frame.origin[k] = low[k] / 2 + high[k] / 2;
    reach = std::max(reach, exact ? std::max(std::fabs(low[k]), std::fabs(high[k])) : high[k] / 2 - low[k] / 2);
  }
  if (reach > 0) frame.scale = std::ldexp(1.0, -std::clamp(std::ilogb(reach) + 1, -1000, 1000));
  return frame;
}

// The frame of the given rows, for their finite coordinates; that of float32 is exact if it can be.
template <class T>
LocalFrame frame_of(const BoxView<T>& boxes, std::size_t dimension, const std::int32_t* rows, std::size_t count) {
  const Extent<T> extent = with_dimension(dimension, [&]<std::size_t D>(Dimension<D>) {
    return finite_extent<D, T>(count, T(0), [&](std::size_t at) {
      const auto row = static_cast<std::size_t>(rows[at]);
      return BoxCorners<T>{boxes.lower_of(row), boxes.upper_of(row)};
    });
  });
  double low[4], high[4];
  std::copy_n(extent.low, 4, low);
  std::copy_n(extent.high, 4, high);
  LocalFrame frame = frame_between(low, high, dimension, std::is_same_v<T, float>);
  if (!frame.exact) return frame;
  T least = std::numeric_limits<T>::infinity();  // of the magnitudes that are not zero
  for (std::size_t at = 0; at < count; ++at) {
    const auto row = static_cast<std::size_t>(rows[at]);
    for (std::size_t k = 0; k < dimension; ++k)
      for (const T x : {std::fabs(boxes.lower_of(row)[k]), std::fabs(boxes.upper_of(row)[k])})
        least = x > 0 && x < least ? x : least;
  }
  // Local numbers below this would lose bits as denormals.
  if (static_cast<double>(least) * frame.scale < 0x1p-100) frame.exact = false;
  return frame;
}

}  // namespace broadphase
