// Local coordinates: floats near 1, whatever the scale of the scene.
//
// Trees store their boxes as floats, because they only find candidates; the exact test reads the given numbers. A box
// grows by at most one unit in the last place on each side and never shrinks, so no candidate is lost. Far from the
// origin, and on any scale, boxes keep the relative precision of floats near 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <type_traits>

#include "base/parallel.hpp"
#include "boxes/box_view.hpp"
#include "boxes/extent.hpp"
#include "tree/walks.hpp"

namespace broadphase {

// local = (given - origin) * scale. The scale is a power of two and the same along all axes, so distances keep their
// proportions.
struct LocalFrame {
  double origin[4] = {0, 0, 0, 0};
  double scale = 1;
  // True if every float32 is represented exactly in local coordinates: float32 scenes whose magnitudes do not differ
  // wildly.
  bool exact = true;

  double local(double given, std::size_t axis) const {
    double value = (given - origin[axis]) * scale;
    if (!std::isinf(value) || std::isinf(given)) return value;
    value = (given / 2 - origin[axis] / 2) * scale * 2;  // the difference alone may overflow
    return std::isinf(value) ? std::copysign(1e300, value) : value;
  }
  double given(double local, std::size_t axis) const { return local / scale + origin[axis]; }

  // The nearest floats below and above. A rounded sum is never taken for an exact one.
  float below(double given, std::size_t axis) const { return below(local(given, axis)); }
  float above(double given, std::size_t axis) const { return above(local(given, axis)); }
  float below(double value) const {
    const auto near = static_cast<float>(value);
    if (exact && static_cast<double>(near) == value) return near;
    // A finite number too large for a float becomes the largest float, not infinity.
    return near == kInfinity && value < kInfinity ? kFarthest : near - step(near);
  }
  float above(double value) const {
    const auto near = static_cast<float>(value);
    if (exact && static_cast<double>(near) == value) return near;
    return near == -kInfinity && value > -kInfinity ? -kFarthest : near + step(near);
  }
  // True if the conversion rounds nothing, not even to 0.
  bool keeps(double given, std::size_t axis) const {
    const double value = local(given, axis);
    return exact && static_cast<double>(static_cast<float>(value)) == value && (value != 0 || given == 0);
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

// An upper corner of a tree's blocks that is at least this one is at least `local` in truth, and than the number for
// which a block holds that as a lower corner; NaN where that cannot be told. For lower corners against an upper one,
// with both signs turned.
inline float surely_above(double local) {
  constexpr double kFarthest = 1e38;  // floats beyond may stand for any number
  if (!(local < kFarthest)) return std::numeric_limits<float>::quiet_NaN();
  const double from = std::max(local, -kFarthest);
  return static_cast<float>(from +
                            (std::fabs(from) * static_cast<double>(kInwards) + static_cast<double>(kLeastInwards)));
}

// The frame in which numbers between these corners fall into [-1, 1], and others beyond, as precise for their size; low
// > high along an axis without any. A frame that is to be exact keeps its origin, so that only the exponent changes.
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

// How far some rows reach, and where most of them are.
template <class T>
struct Reach {
  Extent<T> extent, bulk;
  T least = std::numeric_limits<T>::infinity();  // of the magnitudes that are not zero, of float32 alone
};

template <class T>
Reach<T> reach_of(const BoxView<T>& boxes, std::size_t dimension, const std::int32_t* rows, std::size_t count,
                  unsigned workers, Interrupt& interrupt) {
  const auto corners = [&](std::size_t at) {
    const auto row = static_cast<std::size_t>(rows[at]);
    return BoxCorners<T>{boxes.lower_of(row), boxes.upper_of(row)};
  };
  constexpr bool kMayBeExact = std::is_same_v<T, float>;
  constexpr std::size_t kTogether = 4096;  // boxes, which are read twice: they stay in a near cache
  Reach<T> reach;
  std::mutex mutex;
  in_stretches_on_threads(count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
    Extent<T> own;
    T own_least = std::numeric_limits<T>::infinity();
    for (std::size_t from = begin; from < end; from += kTogether) {
      const std::size_t some = std::min(end - from, kTogether);
      own.add(finite_extent(dimension, some, T(0), [&](std::size_t at) { return corners(from + at); }));
      for (std::size_t at = from; kMayBeExact && at < from + some; ++at) {
        const BoxCorners<T> box = corners(at);
        for (std::size_t k = 0; k < dimension; ++k)
          for (const T x : {std::fabs(box.lower[k]), std::fabs(box.upper[k])})
            own_least = x > 0 && x < own_least ? x : own_least;
      }
    }
    const std::lock_guard lock(mutex);
    reach.extent.add(own);
    reach.least = std::min(reach.least, own_least);
  });
  reach.bulk = bulk_of(reach.extent, dimension, count, corners);
  return reach;
}

// The frame of where most of the rows are; exact for float32 where possible.
template <class T>
LocalFrame frame_of(const Reach<T>& reach, std::size_t dimension) {
  double low[4], high[4];
  std::copy_n(reach.bulk.low, 4, low);
  std::copy_n(reach.bulk.high, 4, high);
  LocalFrame frame = frame_between(low, high, dimension, std::is_same_v<T, float>);
  if (!frame.exact) return frame;
  const Extent<T>& extent = reach.extent;
  T most = 0;  // of the finite ones
  for (std::size_t k = 0; k < dimension; ++k)
    if (extent.low[k] <= extent.high[k]) most = std::max({most, std::fabs(extent.low[k]), std::fabs(extent.high[k])});
  // Local numbers below the first would lose bits as denormals, and those beyond the second become the farthest float.
  if (static_cast<double>(reach.least) * frame.scale < 0x1p-100 ||
      static_cast<double>(most) * frame.scale > static_cast<double>(std::numeric_limits<float>::max()))
    frame.exact = false;
  return frame;
}

template <class T>
LocalFrame frame_of(const BoxView<T>& boxes, std::size_t dimension, const std::int32_t* rows, std::size_t count,
                    unsigned workers, Interrupt& interrupt) {
  return frame_of(reach_of(boxes, dimension, rows, count, workers, interrupt), dimension);
}

}  // namespace broadphase
