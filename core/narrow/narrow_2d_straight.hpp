// Closed forms for segments and capsules: whether they overlap each other, or a disc.
#pragma once

#include "narrow/narrow_2d_simple.hpp"
#include "shapes/shape.hpp"

namespace broadphase::narrow_2d {

// A segment and all within some radius of it.
struct Straight {
  double x, y, end_x, end_y;
  double radius;

  explicit Straight(const ShapeView<2>& shape)
      : x(shape.record[0]),
        y(shape.record[1]),
        end_x(shape.record[2]),
        end_y(shape.record[3]),
        radius(shape.kind == ShapeKind::kCapsule ? shape.record[4] : 0) {}

  // Which side of the line a point lies on, by the sign.
  double side(double px, double py) const { return (px - x) * (end_y - y) - (py - y) * (end_x - x); }

  double squared_distance(double px, double py) const {
    const double dx = end_x - x, dy = end_y - y;
    const double along = (px - x) * dx + (py - y) * dy, squared_length = dx * dx + dy * dy;
    if (along > 0 && along < squared_length) {
      const double aside = side(px, py);
      return aside / squared_length * aside;
    }
    const double to_x = px - (along > 0 ? end_x : x), to_y = py - (along > 0 ? end_y : y);
    return to_x * to_x + to_y * to_y;
  }
};

inline bool is_straight(const ShapeView<2>& shape) {
  return shape.kind == ShapeKind::kSegment || shape.kind == ShapeKind::kCapsule;
}

inline bool disc_overlaps_straight(const Disc& disc, const Straight& other) {
  const double reach = disc.radius + other.radius;
  return other.squared_distance(disc.x, disc.y) <= reach * reach;
}

// Whether each has its ends on both sides of the other. On one line, sides are decided by rounding, so their boxes must
// meet as well.
inline bool straights_cross(const Straight& a, const Straight& b) {
  const auto straddles = [](const Straight& p, const Straight& q) {
    const double begin = p.side(q.x, q.y), end = p.side(q.end_x, q.end_y);
    return (begin > 0 && end < 0) || (begin < 0 && end > 0);
  };
  const auto meet = [](double from, double to, double other_from, double other_to) {
    return (from < to ? from : to) <= (other_from > other_to ? other_from : other_to) &&
           (other_from < other_to ? other_from : other_to) <= (from > to ? from : to);
  };
  return straddles(a, b) && straddles(b, a) && meet(a.x, a.end_x, b.x, b.end_x) && meet(a.y, a.end_y, b.y, b.end_y);
}

inline bool straights_overlap(const Straight& a, const Straight& b) {
  const double reach = a.radius + b.radius, squared_reach = reach * reach;
  return a.squared_distance(b.x, b.y) <= squared_reach || a.squared_distance(b.end_x, b.end_y) <= squared_reach ||
         b.squared_distance(a.x, a.y) <= squared_reach || b.squared_distance(a.end_x, a.end_y) <= squared_reach ||
         straights_cross(a, b);
}

}  // namespace broadphase::narrow_2d
