// Axis-aligned boxes, by their corners as they are: closed forms, for they are many.
#pragma once

#include "narrow/narrow_3d_cast.hpp"

namespace broadphase::solid {

// A record is lower[3], upper[3].
inline bool boxes_overlap(std::span<const double> a, std::span<const double> b) {
  return (a[0] <= b[3]) & (b[0] <= a[3]) & (a[1] <= b[4]) & (b[1] <= a[4]) & (a[2] <= b[5]) & (b[2] <= a[5]);
}

// The square of the distance of a point from a box given by its corners.
inline double squared_distance_to_box(std::span<const double> point, std::span<const double> box) {
  double sum = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double below = box[k] - point[k], above = point[k] - box[k + 3];
    const double farther = below > above ? below : above, outside = farther > 0 ? farther : 0;
    sum += outside * outside;
  }
  return sum;
}

// From a point to the nearest of such a box.
inline Vec3 to_box(std::span<const double> point, std::span<const double> box) {
  Vec3 way;
  for (std::size_t k = 0; k < 3; ++k)
    way[k] = point[k] < box[k] ? box[k] - point[k] : point[k] > box[k + 3] ? box[k + 3] - point[k] : 0;
  return way;
}

// Two boxes given by their corners: the fifteen axes of turned ones are three.
inline Gap gap_of_boxes(std::span<const double> a, std::span<const double> b) {
  Gap widest{-kNever, {}};
  Vec3 way{};
  double sum = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double onwards = b[k] - a[k + 3], back = a[k] - b[k + 3];
    const double gap = onwards >= back ? onwards : back;
    if (gap > 0) {
      way[k] = onwards >= back ? gap : -gap;
      sum += gap * gap;
    }
    if (gap > widest.distance) {
      widest = {gap, {}};
      widest.normal[k] = onwards >= back ? 1 : -1;
    }
  }
  const double distance = std::sqrt(sum);
  return distance > 0 ? Gap{distance, way * (1 / distance)} : widest;
}

// Where two that overlap touch: at the corners of what their faces have in common, midway between those.
inline void put_points_of_boxes(std::span<const double> a, std::span<const double> b, Contact<3>& contact) {
  std::size_t axis = 0;
  for (std::size_t k = 1; k < 3; ++k)
    if (std::fabs(contact.normal[k]) > std::fabs(contact.normal[axis])) axis = k;
  const std::size_t i = (axis + 1) % 3, j = (axis + 2) % 3;
  const bool is_onwards = contact.normal[axis] > 0;
  Vec3 lower, upper;
  for (std::size_t k = 0; k < 3; ++k) {
    lower[k] = a[k] > b[k] ? a[k] : b[k];
    upper[k] = a[k + 3] < b[k + 3] ? a[k + 3] : b[k + 3];
  }
  lower[axis] = is_onwards ? 0.5 * (a[axis + 3] + b[axis]) : 0.5 * (a[axis] + b[axis + 3]);
  // Of what is flat, there are two corners, or one.
  for (std::size_t x = 0; x < (lower[i] < upper[i] ? 2u : 1u); ++x)
    for (std::size_t y = 0; y < (lower[j] < upper[j] ? 2u : 1u); ++y) {
      Vec3& point = contact.points[contact.count++];
      point[axis] = lower[axis];
      point[i] = x == 0 ? lower[i] : upper[i];
      point[j] = y == 0 ? lower[j] : upper[j];
    }
}

// When a moving box, or a ball, meets a box.
inline Impact cast_to_box(std::span<const double> lower, std::span<const double> upper, const Vec3& motion,
                          std::span<const double> box, double radius) {
  SlabClip slabs(motion);
  double size = radius;
  for (std::size_t k = 0; k < 3; ++k) {
    Vec3 axis{};
    axis[k] = 1;
    const double ends = std::fabs(lower[k]) + std::fabs(upper[k]) + std::fabs(box[k]) + std::fabs(box[k + 3]);
    const double error = kRounding * (ends + radius);
    if (!slabs.clip(box[k] - upper[k] - radius, box[k + 3] - lower[k] + radius, axis, error)) return {};
    size += ends;
  }
  return is_zero(motion) ? Impact{} : slabs.entry(size);
}
inline Impact cast_box(std::span<const double> a, const Vec3& motion, std::span<const double> b) {
  return cast_to_box(a.first(3), a.subspan(3), motion, b, 0);
}
inline Impact cast_ball(std::span<const double> centre, double radius, const Vec3& motion, std::span<const double> b) {
  const Impact slabs = cast_to_box(centre, centre, motion, b, radius);
  if (slabs.time == kNever || radius == 0) return slabs;
  const double size = magnitude(vector_at(centre, 0)) + magnitude(vector_at(b, 0)) + magnitude(vector_at(b, 3));
  const auto gap_at = [&](const Vec3& way) {
    const Vec3 at = vector_at(centre, 0) + way, to = to_box(at, b);
    const double distance = std::sqrt(squared(to));
    return Gap{distance, distance > 0 ? to * (1 / distance) : Vec3{}};
  };
  return cast_by_steps(gap_at, motion, radius, size, slabs);
}

}  // namespace broadphase::solid
