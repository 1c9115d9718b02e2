// Oriented boxes as convex regions (query/planes.hpp).
//
// Rounding errs on one side: a box that touches a region is never missed; one that misses it by less than some 1e-14 of
// the region's coordinates may be found. Quarter turns are exact.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "query/planes.hpp"

namespace broadphase {

// Appends the region of a box, its center and half its width along its own axes: the columns of `turn`, row by row.
template <std::size_t D>
void add_turned_box(const double* center, const double* half, const double* turn, RegionSlabs& to) {
  constexpr double kAxisRounding = 32 * std::numeric_limits<double>::epsilon();  // of products, on both sides
  constexpr double kLeast = 0x1p-1069;    // more than a few roundings of the smallest numbers
  constexpr double kLarge = 0x1p1000;     // a sum of a few of these may overflow
  constexpr double kNoComponent = 1e-15;  // a part of an axis that is only rounding
  using Axis = std::array<double, D>;
  constexpr std::size_t kMost = D == 2 ? 2 : 12;
  std::array<Axis, kMost> axes;
  std::array<Axis, D> edges;
  for (std::size_t edge = 0; edge < D; ++edge)
    for (std::size_t k = 0; k < D; ++k) edges[edge][k] = turn[k * D + edge];
  if constexpr (D == 2) {
    for (std::size_t edge = 0; edge < D; ++edge) axes[edge] = {-edges[edge][1], edges[edge][0]};
  } else {
    for (std::size_t face = 0; face < D; ++face)
      axes[face] = detail::cross(edges[(face + 1) % D], edges[(face + 2) % D]);
    for (std::size_t edge = 0; edge < D; ++edge) {
      const auto [x, y, z] = edges[edge];
      axes[3 + edge] = {0, -z, y};
      axes[6 + edge] = {z, 0, -x};
      axes[9 + edge] = {-y, x, 0};
    }
  }
  double largest = 0, entries = 0;
  for (std::size_t k = 0; k < D; ++k) largest = std::max({largest, std::fabs(center[k]), half[k]});
  for (std::size_t k = 0; k < D * D; ++k) entries += std::fabs(turn[k]);
  // Where sums of a few lengths may overflow, all are divided by a power of two.
  const double scale = largest >= kLarge ? 0x1p-4 : 1.0;
  // Rotations other than quarter turns have errors in proportion to the size of the box, along every axis.
  const bool is_exact = entries == static_cast<double>(D);
  Axis middle, extent, reach, size;
  double extents = 0;
  for (std::size_t k = 0; k < D; ++k) {
    middle[k] = center[k] * scale;
    extent[k] = half[k] * scale;
    extents += extent[k];
  }
  for (std::size_t k = 0; k < D; ++k) {
    reach[k] = 0;
    for (std::size_t edge = 0; edge < D; ++edge) reach[k] += std::fabs(turn[k * D + edge]) * extent[edge];
    size[k] = std::fabs(middle[k]) + (is_exact ? reach[k] : extents);
    const double margin = reach[k] + (is_exact ? 0 : kAxisRounding * size[k] + kLeast);
    to.around_lower.push_back((middle[k] - margin) / scale);
    to.around_upper.push_back((middle[k] + margin) / scale);
  }
  for (Axis& axis : axes) {
    std::size_t used = 0;
    double place = 0, radius = 0, sizes = 0;
    for (double& x : axis) {
      if (std::fabs(x) < kNoComponent) x = 0;
      used += x != 0 ? 1 : 0;
    }
    if (used < 2) continue;  // the box around the region is as narrow
    for (std::size_t k = 0; k < D; ++k) {
      place += axis[k] * middle[k];
      sizes += std::fabs(axis[k]) * size[k];
    }
    for (std::size_t edge = 0; edge < D; ++edge) radius += std::fabs(detail::dot(axis, edges[edge])) * extent[edge];
    radius += kAxisRounding * sizes + kLeast;
    for (double& x : axis) x *= scale;
    to.axes.insert(to.axes.end(), axis.begin(), axis.end());
    to.least.push_back(place - radius);
    to.most.push_back(place + radius);
  }
  to.offsets.push_back(static_cast<std::int64_t>(to.least.size()));
}

}  // namespace broadphase
