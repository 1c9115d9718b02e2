// The queries of an index, and the exact answer of each for one box.
//
// All arithmetic is in doubles, in the order written here, so that it can be repeated elsewhere to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "boxes/any_boxes.hpp"

namespace broadphase {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Layers of the rows and of the queries; null pointers let everything pass.
struct QueryFilter {
  const std::uint64_t *row_layer = nullptr, *row_mask = nullptr;
  const std::uint64_t *query_layer = nullptr, *query_mask = nullptr;

  bool allows(std::size_t row, std::size_t query) const {
    return row_layer == nullptr ||
           ((row_layer[row] & query_mask[query]) != 0 && (query_layer[query] & row_mask[row]) != 0);
  }
};

// The square of the distance of a point to a box, 0 inside; lengths are multiplied by `scale`, a power of two, first,
// so that the squares of very long and very short ones neither overflow nor vanish. kNever for a box at infinity.
inline double squared_distance(const double* point, const double* box, std::size_t dimension, double scale) {
  double sum = 0;
  for (std::size_t k = 0; k < dimension; ++k) {
    const double gap = std::max(std::max(box[k] - point[k], point[k] - box[dimension + k]), 0.0) * scale;
    sum = k == 0 ? gap * gap : sum + gap * gap;
  }
  return sum;
}

// The power of two that takes `length` to [1, 2): in the range of its squares, nothing is lost. 0 counts as the
// smallest.
inline double unit_scale(double length) {
  constexpr int kMost = 1000;
  return std::ldexp(1.0, length > 0 ? -std::clamp(std::ilogb(length), -kMost, kMost) : kMost);
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
