// What surrounds a placed shape: a box, a rod or a point, with a radius.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "shapes/shape.hpp"

namespace broadphase {

// What surrounds a placed shape: all points within a radius of a box in any direction, or of a segment or a point,
// whose half sizes are 0. Its distance from another is a lower bound that costs a tenth of that of the shapes.
struct Surrounding {
  Vec<3> centre{};
  std::array<Vec<3>, 3> axes{};  // unit; of a segment, only the first
  Vec<3> half{};
  double radius = 0;
  bool has_frame = false;  // three axes
  bool is_shape = true;    // it is the very shape

  Surrounding() = default;  // a point
  explicit Surrounding(const ShapeView<3>& shape) {
    const double* const r = shape.record.data();
    if (shape.kind == ShapeKind::kPoint || shape.kind == ShapeKind::kBall) {
      std::copy_n(r, 3, centre.begin());
      if (shape.kind == ShapeKind::kBall) radius = r[3];
    } else if (shape.kind == ShapeKind::kSegment || shape.kind == ShapeKind::kCapsule) {
      Vec<3> way{};
      for (std::size_t k = 0; k < 3; ++k) {
        centre[k] = r[k] / 2 + r[3 + k] / 2;
        way[k] = r[3 + k] / 2 - r[k] / 2;
      }
      half[0] = std::sqrt(dot(way, way));
      for (std::size_t k = 0; k < 3 && half[0] > 0; ++k) axes[0][k] = way[k] / half[0];
      if (shape.kind == ShapeKind::kCapsule) radius = r[6];
    } else if (shape.kind == ShapeKind::kOrientedBox) {
      set_frame(r + 6);
      std::copy_n(r, 3, centre.begin());
      std::copy_n(r + 3, 3, half.begin());
    } else if (broadphase::is_unbounded(shape)) {  // all of space: its distance is a lower bound as quickly as anything
      is_shape = false;
      half.fill(std::numeric_limits<double>::infinity());
    } else if (is_kept_elsewhere(shape.kind)) {
      is_shape = false;
      set_frame(r + 4);
      for (std::size_t i = 0; i < 3; ++i) {
        half[i] = r[16 + i] / 2 - r[13 + i] / 2;
        for (std::size_t k = 0; k < 3; ++k) centre[k] += axes[i][k] * (r[16 + i] / 2 + r[13 + i] / 2);
      }
      for (std::size_t k = 0; k < 3; ++k) centre[k] += r[1 + k];
    } else {  // of any other, the box around it
      constexpr std::array<double, 9> kAlongAxes{1, 0, 0, 0, 1, 0, 0, 0, 1};
      is_shape = shape.kind == ShapeKind::kBox;
      set_frame(kAlongAxes.data());
      ShapeBounds<3> bounds;
      add_bounds<3>(shape, bounds);
      for (std::size_t k = 0; k < 3; ++k) {
        centre[k] = bounds.lower[k] / 2 + bounds.upper[k] / 2;
        half[k] = bounds.upper[k] / 2 - bounds.lower[k] / 2;
      }
    }
  }

  bool is_unbounded() const { return half[0] == std::numeric_limits<double>::infinity(); }

  // A lower bound of the distance of two, less their rounding errors.
  static double apart(const Surrounding& a, const Surrounding& b) {
    const Vec<3> way{b.centre[0] - a.centre[0], b.centre[1] - a.centre[1], b.centre[2] - a.centre[2]};
    double squared = 0;
    if (b.has_frame) squared = b.squared_gap(way, a);
    if (a.has_frame) squared = std::max(squared, a.squared_gap(way, b));
    if (!a.has_frame && !b.has_frame) {  // two balls around them
      const double gap = std::sqrt(dot(way, way)) - a.half[0] - b.half[0];
      squared = gap > 0 ? gap * gap : 0;
    }
    double size = 0;
    for (std::size_t k = 0; k < 3; ++k) size += std::abs(a.centre[k]) + std::abs(b.centre[k]) + a.half[k] + b.half[k];
    constexpr double kRounding = 1e-14;
    return std::sqrt(squared) * (1 - kRounding) - (a.radius + b.radius) - kRounding * (size + a.radius + b.radius);
  }

 private:
  static double dot(const Vec<3>& a, const Vec<3>& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  void set_frame(const double* numbers) {
    has_frame = true;
    for (std::size_t i = 0; i < 3; ++i) std::copy_n(numbers + 3 * i, 3, axes[i].begin());
  }
  // Of this box and the box around the other in its frame.
  double squared_gap(const Vec<3>& way, const Surrounding& other) const {
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      double gap = std::abs(dot(way, axes[i])) - half[i] - other.half[0] * std::abs(dot(other.axes[0], axes[i]));
      if (other.has_frame)
        gap -= other.half[1] * std::abs(dot(other.axes[1], axes[i])) +
               other.half[2] * std::abs(dot(other.axes[2], axes[i]));
      sum += gap > 0 ? gap * gap : 0;
    }
    return sum;
  }
};

}  // namespace broadphase
