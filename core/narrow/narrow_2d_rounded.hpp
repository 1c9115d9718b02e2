// What every simple shape of the plane is: a convex polygon of one corner or more, and all within some radius of it.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "shapes/shape.hpp"

namespace broadphase::narrow_2d {

// Corners go round counter-clockwise. There may be one or two, and corners may coincide or lie on a line, so whatever
// reads this asks no edge for its normal before it has a length. A polygon of two corners has two edges, there and
// back: the normals of both sides are among those of the edges, as they should be.
struct Rounded {
  const double* corners;  // x, y of each
  std::size_t count;
  double radius;

  double x(std::size_t corner) const { return corners[2 * corner]; }
  double y(std::size_t corner) const { return corners[2 * corner + 1]; }
  // Edges on different lines: both of a segment lie on one.
  std::size_t lines() const { return count == 2 ? 1 : count; }
  std::size_t after(std::size_t corner) const { return corner + 1 == count ? 0 : corner + 1; }
  std::size_t before(std::size_t corner) const { return corner == 0 ? count - 1 : corner - 1; }
};

// From one corner to the next.
struct Edge {
  double x, y;    // where it begins
  double dx, dy;  // to where it ends

  Edge(const Rounded& polygon, std::size_t corner)
      : x(polygon.x(corner)),
        y(polygon.y(corner)),
        dx(polygon.x(polygon.after(corner)) - x),
        dy(polygon.y(polygon.after(corner)) - y) {}

  double squared_length() const { return dx * dx + dy * dy; }
  // How far outside its line a point lies, times the length of the edge.
  double outside(double px, double py) const { return dy * (px - x) - dx * (py - y); }
  Vec<2> normal(double length) const { return {dy / length, -dx / length}; }
};

// A shape as a rounded polygon: its record where that holds the corners in order, or corners of its own.
class RoundedShape {
 public:
  // Any kind but a compound.
  explicit RoundedShape(const ShapeView<2>& shape) {
    const double* record = shape.record.data();
    switch (shape.kind) {
      case ShapeKind::kPoint: view_ = {record, 1, 0}; break;
      case ShapeKind::kBall: view_ = {record, 1, record[2]}; break;
      case ShapeKind::kSegment: view_ = {record, 2, 0}; break;
      case ShapeKind::kCapsule: view_ = {record, 2, record[4]}; break;
      case ShapeKind::kBox:
        own_ = {record[0], record[1], record[2], record[1], record[2], record[3], record[0], record[3]};
        view_ = {own_.data(), 4, 0};
        break;
      case ShapeKind::kOrientedBox: set_oriented_box(record); break;
      case ShapeKind::kTriangle: set_triangle(record); break;
      default: view_ = {record, shape.record.size() / 2, 0}; break;
    }
  }
  RoundedShape(const RoundedShape&) = delete;
  RoundedShape& operator=(const RoundedShape&) = delete;

  const Rounded& view() const { return view_; }

 private:
  void set_oriented_box(const double* record) {
    const double ux = record[2] * record[4], uy = record[2] * record[5];
    double vx = record[3] * record[6], vy = record[3] * record[7];
    if (ux * vy - uy * vx < 0) {  // axes that are mirrored
      vx = -vx;
      vy = -vy;
    }
    own_ = {record[0] - ux - vx, record[1] - uy - vy, record[0] + ux - vx, record[1] + uy - vy,
            record[0] + ux + vx, record[1] + uy + vy, record[0] - ux + vx, record[1] - uy + vy};
    view_ = {own_.data(), 4, 0};
  }

  void set_triangle(const double* record) {
    const double turn =
        (record[2] - record[0]) * (record[5] - record[1]) - (record[3] - record[1]) * (record[4] - record[0]);
    if (turn >= 0) {
      view_ = {record, 3, 0};
    } else {
      own_ = {record[0], record[1], record[4], record[5], record[2], record[3]};
      view_ = {own_.data(), 3, 0};
    }
  }

  Rounded view_{};
  std::array<double, 8> own_;  // of those kinds that need it, and of no others set
};

// The largest coordinate, by which rounding errors are judged.
inline double magnitude(const Rounded& polygon) {
  double largest_x = 0, largest_y = 0;  // apart: two short waits instead of a long one
  for (std::size_t k = 0; k < polygon.count; ++k) {
    const double x = std::abs(polygon.x(k)), y = std::abs(polygon.y(k));
    largest_x = x > largest_x ? x : largest_x;
    largest_y = y > largest_y ? y : largest_y;
  }
  return largest_x > largest_y ? largest_x : largest_y;
}

// Of any two shapes, the same one is first whichever way round they come. What is worked out in that order is symmetric
// bit for bit, ties and rounding included. Equal shapes are in order both ways.
inline bool in_order(const ShapeView<2>& a, const ShapeView<2>& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.record.size() != b.record.size()) return a.record.size() < b.record.size();
  for (std::size_t k = 0; k < a.record.size(); ++k)
    if (a.record[k] != b.record[k]) return a.record[k] < b.record[k];
  return true;
}

}  // namespace broadphase::narrow_2d
