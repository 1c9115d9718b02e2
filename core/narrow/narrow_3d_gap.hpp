// Signed distance and overlap of two cores with radii.
#pragma once

#include "narrow/narrow_3d_nearest.hpp"

namespace broadphase::solid {

// The gap between two cores. Two points at the same place are apart along the x axis.
inline Gap gap_of(const PointCore& a, const PointCore& b) {
  const Vec3 between = b.at - a.at;
  const double distance = std::sqrt(squared(between));
  return distance > 0 ? Gap{distance, between * (1 / distance)} : Gap{0, {1, 0, 0}};
}

// Takes the direction between the nearest points if the gap along it is wider. It is at most their distance, along any
// direction; along the right one it is their distance.
template <class A, class B>
void keep_wider(Gap& widest, const A& a, const B& b, const Vec3& between) {
  const double length = squared(between);
  if (!(length > 0)) return;
  const Vec3 normal = between * (1 / std::sqrt(length));
  const double along = project(b, normal).lower - project(a, normal).upper;
  if (along > widest.distance) widest = {along, normal};
}

template <class A, class B>
Gap gap_of(const A& a, const B& b) {
  Gap widest = widest_gap(a, b);
  if (kAxesTell<A, B> && widest.distance <= 0) return widest;
  const Nearest near = nearest(a, b);
  const bool is_bound = kAxesTell<A, B> && widest.distance * widest.distance > near.squared;
  const double distance = is_bound ? widest.distance : std::sqrt(near.squared);
  // Where two things nearly touch, that direction may be nothing but rounding, and one of the axes is better.
  keep_wider(widest, a, b, near.between);
  if constexpr (A::kRank > PointCore::kRank) {
    // Where edges are nearly parallel, several features are equally near but for rounding, and their directions differ
    // by much more.
    const double slack = 16 * kRounding * (magnitude(a) + magnitude(b));
    if (widest.distance < distance - slack) {
      const double limit = (distance + slack) * (distance + slack);
      for_each_near(a, b, limit, [&](const Nearest& other) {
        if (other.squared <= limit) keep_wider(widest, a, b, other.between);
      });
    }
  }
  return {distance, widest.normal};
}

// Whether two cores are at most `radius` apart.
template <class A, class B>
bool within(const A& a, const B& b, double radius) {
  if constexpr (!kAxesTell<A, B> || A::kRank == PointCore::kRank) {
    return nearest(a, b).squared <= radius * radius;
  } else {
    if (radius > 0)
      for (const Vec3& corner : corners_of(a))
        if (nearest(PointCore{corner}, b).squared <= radius * radius) return true;
    bool apart = false;
    const bool near = for_each_axis(a, b, [&](const Vec3& axis, bool) {
      bool backwards = false;
      const double gap = gap_between(project(a, axis), project(b, axis), backwards);
      if (!(gap > 0)) return true;
      apart = true;
      return radius > 0 && gap * gap <= radius * radius * squared(axis);
    });
    return near && (!apart || nearest(a, b).squared <= radius * radius);
  }
}

// Two boxes, by the fifteen axes: numbers of the second in the frame of the first, and the first that parts them ends
// it.
inline bool within(const BoxCore& a, const BoxCore& b, double) {
  const Vec3 between = b.centre - a.centre;
  std::array<Vec3, 3> turn, size;  // [i][j]: axis j of the second along axis i of the first, and how much of it
  Vec3 from;
  for (std::size_t i = 0; i < 3; ++i) {
    from[i] = dot(between, a.axes[i]);
    for (std::size_t j = 0; j < 3; ++j) {
      turn[i][j] = dot(a.axes[i], b.axes[j]);
      size[i][j] = std::fabs(turn[i][j]);
    }
    if (std::fabs(from[i]) > a.half[i] + dot(b.half, size[i])) return false;
  }
  for (std::size_t j = 0; j < 3; ++j) {
    const double reach = a.half[0] * size[0][j] + a.half[1] * size[1][j] + a.half[2] * size[2][j];
    if (std::fabs(dot(between, b.axes[j])) > reach + b.half[j]) return false;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t next = (i + 1) % 3, last = (i + 2) % 3;
    for (std::size_t j = 0; j < 3; ++j) {
      const std::size_t after = (j + 1) % 3, before = (j + 2) % 3;
      if (turn[next][j] * turn[next][j] + turn[last][j] * turn[last][j] < kNearlyParallel) {
        // Edges nearly parallel: their product must be made perpendicular to them, or is none at all.
        const Vec3 axis = across(a.axes[i], b.axes[j]);
        bool backwards = false;
        if (!is_zero(axis) && gap_between(project(a, axis), project(b, axis), backwards) > 0) return false;
        continue;
      }
      const double gap = std::fabs(from[last] * turn[next][j] - from[next] * turn[last][j]);
      const double reach = a.half[next] * size[last][j] + a.half[last] * size[next][j] +
                           b.half[after] * size[i][before] + b.half[before] * size[i][after];
      if (gap > reach) return false;
    }
  }
  return true;
}

}  // namespace broadphase::solid
