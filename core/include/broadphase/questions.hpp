// What is asked of an index, one question at a time, and the exact answer for one box.
//
// All arithmetic is in doubles, in the order written here, so that it can be repeated elsewhere to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "broadphase/any_boxes.hpp"

namespace broadphase {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Layers of the rows and of the questions; null pointers let everything pass.
struct QueryFilter {
  const std::uint64_t *row_layer = nullptr, *row_mask = nullptr;
  const std::uint64_t *query_layer = nullptr, *query_mask = nullptr;

  bool allows(std::size_t row, std::size_t query) const {
    return row_layer == nullptr ||
           ((row_layer[row] & query_mask[query]) != 0 && (query_layer[query] & row_mask[row]) != 0);
  }
};

// What lengths are multiplied by before they are squared: a power of two, which rounds nothing, and 1 unless squares of
// about `length` would be too large or too small for doubles of full precision.
inline double square_scale(double length) {
  constexpr double kSmall = 0x1p-400, kLarge = 0x1p500;
  if (length >= kSmall && length <= kLarge) return 1;
  // What is compared with 0 must not become 0.
  if (!(length > 0)) return 0x1p1000;
  return std::ldexp(1.0, std::isfinite(length) ? -std::clamp(std::ilogb(length), -1000, 1000) : 0);
}

// The square of the distance of a point to a box, all lengths multiplied by `scale`; 0 inside.
inline double squared_distance(const double* point, const double* box, std::size_t dimension, double scale = 1) {
  double sum = 0;
  for (std::size_t k = 0; k < dimension; ++k) {
    const double gap = std::max(std::max(box[k] - point[k], point[k] - box[dimension + k]), 0.0) * scale;
    sum = k == 0 ? gap * gap : sum + gap * gap;
  }
  return sum;
}

// A box [a, b] moved by `motion`; a point for a ray.
struct Sweep {
  double box[8];
  double motion[4];
};

// The first time at which the moving box touches another, from 0 on, if not later than `latest`; kNever otherwise.
inline double touch_time(const Sweep& sweep, const double* box, std::size_t dimension, double latest) {
  double enter = 0, leave = latest;
  for (std::size_t k = 0; k < dimension; ++k) {
    const double ahead = box[k] - sweep.box[dimension + k], behind = box[dimension + k] - sweep.box[k];
    const double m = sweep.motion[k];
    if (m == 0) {
      if (ahead > 0 || behind < 0) return kNever;
    } else {
      enter = std::max(enter, (m > 0 ? ahead : behind) / m);
      leave = std::min(leave, (m > 0 ? behind : ahead) / m);
    }
  }
  return enter <= leave ? enter : kNever;
}

// A convex region: where `least <= axis . x <= most` for all its slabs, and `around` is a box that holds it.
struct ConvexRegion {
  const double* around;  // D lower, D upper
  const double* axes;    // D numbers a slab
  const double* least;
  const double* most;
  std::size_t count;
};

inline bool meets(const ConvexRegion& region, const double* box, std::size_t dimension) {
  if (!boxes_meet(region.around, box, dimension)) return false;
  for (std::size_t slab = 0; slab < region.count; ++slab) {
    double low = 0, high = 0;
    for (std::size_t k = 0; k < dimension; ++k) {
      const double a = region.axes[slab * dimension + k];
      if (a == 0) continue;
      low += a * (a > 0 ? box[k] : box[dimension + k]);
      high += a * (a > 0 ? box[dimension + k] : box[k]);
    }
    if (high < region.least[slab] || low > region.most[slab]) return false;
  }
  return true;
}

}  // namespace broadphase
