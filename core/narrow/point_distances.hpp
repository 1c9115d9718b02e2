// The distance of a shape to a point, with closed forms for the most frequent shapes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "narrow/shape_queries.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// All give the distance of a placed shape to a point, 0 inside: bit for bit that to a ball of radius 0 there, see
// signed_distance(). Balls and boxes parallel to the axes need no direction, and no call.

// Of any shape that is not a custom one.
template <std::size_t D>
double distance_by_direction(const ShapeView<D>& shape, const Vec<D>& point) {
  double ball[D + 1] = {};  // of radius 0
  std::copy_n(point.begin(), D, ball);
  Vec<D> normal;
  return std::max(0.0, signed_distance(shape, ShapeView<D>{ShapeKind::kBall, ball}, &normal));
}

// Of the record of a ball.
template <std::size_t D>
double distance_to_ball(const double* record, const Vec<D>& point) {
  double squared = 0;
  for (std::size_t k = 0; k < D; ++k) {
    const double gap = point[k] - record[k];
    squared = k == 0 ? gap * gap : squared + gap * gap;
  }
  return std::max(0.0, std::sqrt(squared) - record[D]);
}

// Of the record of a box parallel to the axes.
template <std::size_t D>
double distance_to_box(const double* record, const Vec<D>& point) {
  double gap[D], sum = 0, squared = 0;
  for (std::size_t k = 0; k < D; ++k) {
    gap[k] = std::max(std::max(record[k] - point[k], point[k] - record[D + k]), 0.0);
    sum += gap[k];
    squared = k == 0 ? gap[k] * gap[k] : squared + gap[k] * gap[k];
  }
  if constexpr (D == 2) return gap[0] > 0 && gap[1] > 0 ? std::hypot(gap[0], gap[1]) : sum;
  if (squared > 0) return std::sqrt(squared);
  // In space, that of a point on the border is rounded.
  return distance_by_direction<D>({ShapeKind::kBox, {record, 2 * D}}, point);
}

}  // namespace broadphase
