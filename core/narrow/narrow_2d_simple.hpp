// Closed forms for balls, points and boxes of the plane, which are most of what moves.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "shapes/shape.hpp"

namespace broadphase::narrow_2d {

// A point is a ball of no radius.
struct Disc {
  double x, y, radius;

  explicit Disc(const ShapeView<2>& shape)
      : x(shape.record[0]), y(shape.record[1]), radius(shape.kind == ShapeKind::kBall ? shape.record[2] : 0) {}
};

inline bool is_disc(const ShapeView<2>& shape) {
  return shape.kind == ShapeKind::kBall || shape.kind == ShapeKind::kPoint;
}

inline bool discs_overlap(const Disc& a, const Disc& b) {
  const double dx = b.x - a.x, dy = b.y - a.y, reach = a.radius + b.radius;
  return dx * dx + dy * dy <= reach * reach;
}

inline double disc_distance(const Disc& a, const Disc& b, Vec<2>* normal) {
  const double dx = b.x - a.x, dy = b.y - a.y, between = std::sqrt(dx * dx + dy * dy);
  *normal = between > 0 ? Vec<2>{dx / between, dy / between} : Vec<2>{1, 0};
  return between - (a.radius + b.radius);
}

// Precondition: they overlap. One point, midway between the two surfaces.
inline Contact<2> disc_contact(const Disc& a, const Disc& b) {
  Contact<2> result;
  const double distance = disc_distance(a, b, &result.normal);
  result.depth = distance < 0 ? -distance : 0;
  result.count = 1;
  const double forward = (a.radius - b.radius) / 2;
  result.points[0] = {(a.x + b.x) / 2 + forward * result.normal[0], (a.y + b.y) / 2 + forward * result.normal[1]};
  return result;
}

// What a coordinate is outside an interval about the middle, or 0.
inline double beyond(double at, double half) {
  const double outside = std::abs(at) - half;
  return outside > 0 ? outside : 0;
}

// A placed box: lower and upper corner.
struct Corners {
  Vec<2> lower, upper;

  explicit Corners(const ShapeView<2>& box)
      : lower{box.record[0], box.record[1]}, upper{box.record[2], box.record[3]} {}
  Corners(const Vec<2>& lower_corner, const Vec<2>& upper_corner) : lower(lower_corner), upper(upper_corner) {}
};

inline bool boxes_overlap(const ShapeView<2>& a, const ShapeView<2>& b) {
  const double* p = a.record.data();
  const double* q = b.record.data();
  return (p[0] <= q[2]) & (q[0] <= p[2]) & (p[1] <= q[3]) & (q[1] <= p[3]);
}

inline bool disc_overlaps_box(const Disc& disc, const Corners& box) {
  const auto outside = [](double at, double lower, double upper) {
    return at < lower ? lower - at : at > upper ? at - upper : 0.0;
  };
  const double dx = outside(disc.x, box.lower[0], box.upper[0]), dy = outside(disc.y, box.lower[1], box.upper[1]);
  return dx * dx + dy * dy <= disc.radius * disc.radius;
}

inline bool disc_overlaps_oriented_box(const Disc& disc, const ShapeView<2>& box) {
  const double* record = box.record.data();
  const double dx = disc.x - record[0], dy = disc.y - record[1];
  const double u = beyond(dx * record[4] + dy * record[5], record[2]);
  const double v = beyond(dx * record[6] + dy * record[7], record[3]);
  return u * u + v * v <= disc.radius * disc.radius;
}

// How far a point is from a box, below 0 inside; and which way it lies from the nearest place of the surface.
inline double distance_from_box(const Vec<2>& at, const Corners& box, Vec<2>* outward) {
  Vec<2> outside;
  for (std::size_t axis = 0; axis < 2; ++axis)
    outside[axis] = at[axis] < box.lower[axis]   ? at[axis] - box.lower[axis]
                    : at[axis] > box.upper[axis] ? at[axis] - box.upper[axis]
                                                 : 0;
  if (outside[0] != 0 || outside[1] != 0) {
    const double distance =
        outside[0] == 0 || outside[1] == 0 ? std::abs(outside[0] + outside[1]) : std::hypot(outside[0], outside[1]);
    *outward = {outside[0] / distance, outside[1] / distance};
    return distance;
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const double below = at[axis] - box.lower[axis], above = box.upper[axis] - at[axis];
    const double inside = below < above ? below : above;
    if (inside < least) {
      least = inside;
      *outward = {0, 0};
      (*outward)[axis] = below < above ? -1 : 1;
    }
  }
  return -least;
}

// A box of either kind; the normal is from the disc to the box.
inline double disc_box_distance(const Disc& disc, const ShapeView<2>& box, Vec<2>* normal) {
  const double* record = box.record.data();
  Vec<2> outward;
  if (box.kind == ShapeKind::kBox) {
    const double distance = distance_from_box({disc.x, disc.y}, Corners(box), &outward);
    *normal = {-outward[0], -outward[1]};
    return distance - disc.radius;
  }
  const double dx = disc.x - record[0], dy = disc.y - record[1];
  const Corners own({-record[2], -record[3]}, {record[2], record[3]});
  const double distance =
      distance_from_box({dx * record[4] + dy * record[5], dx * record[6] + dy * record[7]}, own, &outward);
  *normal = {-outward[0] * record[4] - outward[1] * record[6], -outward[0] * record[5] - outward[1] * record[7]};
  return distance - disc.radius;
}

// Precondition: they overlap. One point, midway between the two surfaces.
inline Contact<2> disc_box_contact(const Disc& disc, const ShapeView<2>& box) {
  Contact<2> result;
  const double distance = disc_box_distance(disc, box, &result.normal);
  result.depth = distance < 0 ? -distance : 0;
  result.count = 1;
  const double forward = disc.radius - result.depth / 2;
  result.points[0] = {disc.x + forward * result.normal[0], disc.y + forward * result.normal[1]};
  return result;
}

inline bool is_any_box(const ShapeView<2>& shape) {
  return shape.kind == ShapeKind::kBox || shape.kind == ShapeKind::kOrientedBox;
}

// A box of either kind: its middle, and half its sides along their directions.
struct TurnedBox {
  double x, y;
  double half_u, half_v;
  double ux = 1, uy = 0, vx = 0, vy = 1;

  explicit TurnedBox(const ShapeView<2>& box) {
    const double* record = box.record.data();
    if (box.kind == ShapeKind::kBox) {
      half_u = (record[2] - record[0]) / 2;
      half_v = (record[3] - record[1]) / 2;
      x = record[0] + half_u;
      y = record[1] + half_v;
      return;
    }
    x = record[0];
    y = record[1];
    half_u = record[2];
    half_v = record[3];
    ux = record[4];
    uy = record[5];
    vx = record[6];
    vy = record[7];
  }

  // Whether there is a gap along one of its directions.
  bool is_apart(const TurnedBox& other) const {
    const double dx = other.x - x, dy = other.y - y;
    const auto reach = [&](double nx, double ny) {
      return std::abs(nx * other.ux + ny * other.uy) * other.half_u +
             std::abs(nx * other.vx + ny * other.vy) * other.half_v;
    };
    return std::abs(dx * ux + dy * uy) > half_u + reach(ux, uy) || std::abs(dx * vx + dy * vy) > half_v + reach(vx, vy);
  }
};

inline bool turned_boxes_overlap(const TurnedBox& a, const TurnedBox& b) { return !a.is_apart(b) && !b.is_apart(a); }

// The gap between two boxes along each axis, negative where they overlap, and whether b is the one above.
struct AxisGaps {
  Vec<2> gap;
  std::array<bool, 2> above;

  AxisGaps(const Corners& a, const Corners& b) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const double up = b.lower[axis] - a.upper[axis], down = a.lower[axis] - b.upper[axis];
      above[axis] = up >= down;
      gap[axis] = above[axis] ? up : down;
    }
  }
  double signed_gap(std::size_t axis) const { return above[axis] ? gap[axis] : -gap[axis]; }
  std::size_t widest() const { return gap[1] > gap[0] ? 1 : 0; }
};

inline double box_distance(const Corners& a, const Corners& b, Vec<2>* normal) {
  const AxisGaps gaps(a, b);
  if (gaps.gap[0] > 0 && gaps.gap[1] > 0) {
    const double between = std::hypot(gaps.gap[0], gaps.gap[1]);
    *normal = {gaps.signed_gap(0) / between, gaps.signed_gap(1) / between};
    return between;
  }
  const std::size_t axis = gaps.widest();
  *normal = {0, 0};
  (*normal)[axis] = gaps.above[axis] ? 1 : -1;
  return gaps.gap[axis];
}

// Precondition: they overlap. Two points where the faces have a length in common.
inline Contact<2> box_contact(const Corners& a, const Corners& b) {
  const AxisGaps gaps(a, b);
  const std::size_t axis = gaps.widest(), along = 1 - axis;
  const bool above = gaps.above[axis];
  Contact<2> result;
  result.normal[axis] = above ? 1 : -1;
  result.depth = -gaps.gap[axis];
  const double at = above ? (a.upper[axis] + b.lower[axis]) / 2 : (a.lower[axis] + b.upper[axis]) / 2;
  const double from = a.lower[along] > b.lower[along] ? a.lower[along] : b.lower[along];
  const double to = a.upper[along] < b.upper[along] ? a.upper[along] : b.upper[along];
  result.count = from < to ? 2 : 1;
  for (std::size_t k = 0; k < result.count; ++k) {
    result.points[k][axis] = at;
    result.points[k][along] = k == 0 ? from : to;
  }
  return result;
}

// The first t >= 0 at which a ray is in a box, by the interval of t in which it is between each pair of sides.
inline double ray_meets_box(const Corners& box, const Vec<2>& origin, const Vec<2>& direction, Vec<2>* normal) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double first = 0, last = kNever;
  std::size_t entered = 2;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const double speed = direction[axis];
    if (speed == 0) {
      if (origin[axis] < box.lower[axis] || origin[axis] > box.upper[axis]) return kNever;
      continue;
    }
    double in = (box.lower[axis] - origin[axis]) / speed, out = (box.upper[axis] - origin[axis]) / speed;
    if (speed < 0) std::swap(in, out);
    if (in > first || (entered == 2 && in == 0)) {  // 0 where a quotient is too small to be written
      first = in;
      entered = axis;
    }
    last = out < last ? out : last;
  }
  if (first > last || entered == 2) return kNever;  // starting inside is for the caller to notice
  *normal = {0, 0};
  (*normal)[entered] = direction[entered] > 0 ? -1 : 1;
  return first;
}

}  // namespace broadphase::narrow_2d
