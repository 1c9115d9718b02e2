// Shapes in space for tests: made at random in hard forms, and looked at in the plainest way.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "shape_kinds.hpp"
#include "shapes/shape.hpp"

namespace broadphase::tests {

using Point = Vec<3>;

inline Point add(const Point& a, const Point& b, double s = 1) {
  return {a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]};
}
inline double product(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double length(const Point& a) { return std::sqrt(product(a, a)); }

struct Solid {
  ShapeKind kind;
  std::vector<double> record;

  ShapeView<3> view() const { return {kind, record}; }
  Point at(std::size_t k) const { return {record[k], record[k + 1], record[k + 2]}; }
  double radius() const { return radius_of(view()); }
  // The corners of the shape, less its radius.
  std::vector<Point> corners() const {
    std::vector<Point> all;
    if (traits_of(kind).core != CoreForm::kBox) {
      for (std::size_t k = 0; k < traits_of(kind).points; ++k) all.push_back(at(3 * k));
      return all;
    }
    for (std::size_t k = 0; k < 8; ++k) {
      const std::array<bool, 3> high = {(k & 1) != 0, (k & 2) != 0, (k & 4) != 0};
      Point corner = at(0);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (kind == ShapeKind::kBox)
          corner[axis] = record[axis + (high[axis] ? 3 : 0)];
        else
          corner = add(corner, at(6 + 3 * axis), high[axis] ? record[3 + axis] : -record[3 + axis]);
      }
      all.push_back(corner);
    }
    return all;
  }
  Solid moved(const Point& by) const {
    Solid result = *this;
    shift_shape<3>(kind, result.record, by.data());
    return result;
  }
  // How far it reaches along a unit vector.
  double reach(const Point& along) const {
    double most = -INFINITY;
    for (const Point& corner : corners()) most = std::max(most, product(corner, along));
    return most + radius();
  }
  double size() const {
    double most = 0;
    for (const Point& corner : corners()) most = std::max(most, length(add(corner, at(0), -1)));
    return most + radius();
  }
};

// The gap along a direction: of two convex sets, the signed distance is the greatest of all.
inline double gap_along(const Solid& a, const Solid& b, const Point& along) {
  return -b.reach({-along[0], -along[1], -along[2]}) - a.reach(along);
}

enum class Form { kPlain, kLattice, kNeedle, kSizes };
inline constexpr std::array<Form, 4> kForms = {Form::kPlain, Form::kLattice, Form::kNeedle, Form::kSizes};

inline Point random_point(Random& random, double reach) {
  return {reach * (2 * random.uniform() - 1), reach * (2 * random.uniform() - 1), reach * (2 * random.uniform() - 1)};
}
inline Point random_direction(Random& random) {
  for (;;) {
    const Point p = random_point(random, 1);
    if (const double l = length(p); l > 0.1 && l < 1) return {p[0] / l, p[1] / l, p[2] / l};
  }
}
inline std::array<Point, 3> random_frame(Random& random, bool is_lattice) {
  if (is_lattice) {
    std::array<Point, 3> axes{};
    const std::size_t turn = random.below(3);
    for (std::size_t k = 0; k < 3; ++k) axes[k][(k + turn) % 3] = random.chance(0.5) ? 1 : -1;
    return axes;
  }
  const Point x = random_direction(random), near = random_direction(random);
  Point y = add(near, x, -product(near, x));
  if (length(y) < 0.1) return random_frame(random, false);
  y = add({}, y, 1 / length(y));
  return {x, y, cross(x, y)};
}

// Plain: sizes near 1. Lattice: small whole numbers, so that shapes touch and lie in one plane. Needle: long and thin,
// to a millionth. Sizes: from a thousandth to a thousand.
inline Solid random_solid(Random& random, ShapeKind kind, Form form) {
  const bool is_lattice = form == Form::kLattice;
  const double scale = form == Form::kSizes ? std::pow(10.0, 6 * random.uniform() - 3) : 1;
  const auto place = [&](double reach) -> Point {
    if (!is_lattice) return random_point(random, reach);
    return {static_cast<double>(random.below(5)) - 2, static_cast<double>(random.below(5)) - 2,
            static_cast<double>(random.below(5)) - 2};
  };
  const auto extent = [&]() -> double {
    if (is_lattice) return static_cast<double>(random.below(3));
    if (form == Form::kNeedle && random.chance(0.6)) return random.chance(0.3) ? 0 : 1e-6 * random.uniform();
    return scale * random.uniform();
  };
  const Point from = place(1.5);
  Solid solid{kind, {from[0], from[1], from[2]}};
  const auto push = [&](const Point& p) { solid.record.insert(solid.record.end(), p.begin(), p.end()); };
  switch (traits_of(kind).core) {
    case CoreForm::kSegment: push(is_lattice ? place(1) : add(from, random_direction(random), extent())); break;
    case CoreForm::kBox: {
      const Point sizes{extent(), extent(), extent()};
      push(kind == ShapeKind::kBox ? add(from, sizes) : sizes);
      if (kind == ShapeKind::kOrientedBox)
        for (const Point& axis : random_frame(random, is_lattice)) push(axis);
      break;
    }
    case CoreForm::kTriangle: {
      push(is_lattice ? place(1) : add(from, random_direction(random), extent()));
      push(is_lattice ? place(1) : add(from, random_direction(random), extent()));
      if (form == Form::kNeedle && random.chance(0.5)) {  // the third corner next to a point of the first edge
        const Point on = add(from, add(solid.at(3), from, -1), random.uniform());
        const Point corner = add(on, random_direction(random), random.chance(0.5) ? 0 : 1e-9);
        for (std::size_t k = 0; k < 3; ++k) solid.record[6 + k] = corner[k];
      }
      break;
    }
    case CoreForm::kPoint:
    case CoreForm::kPolygon:  // in the plane only
    case CoreForm::kNone:
    case CoreForm::kHalfSpace:
    case CoreForm::kCurved: break;
  }
  if (traits_of(kind).lengths > 0) solid.record.push_back(extent());
  return solid;
}

}  // namespace broadphase::tests
