// Shapes in space as the narrow phase works on them: a convex core, and a radius around it.
//
// Every shape but the compound is such a thing: a ball is a point with a radius, a capsule a segment with one. The
// coordinates are relative to a place that the caller chooses, one of the shapes, so that nothing is lost far from the
// origin. A triangle whose corners are on a line is read as a segment, a segment of no length as a point.
#pragma once

#include <array>
#include <type_traits>

#include "narrow/narrow_3d_vector.hpp"

namespace broadphase::solid {

struct PointCore {
  static constexpr int kRank = 0;
  Vec3 at;
};

struct SegmentCore {
  static constexpr int kRank = 1;
  Vec3 begin, end;
  Vec3 edge;  // from begin to end, never zero
};

struct TriangleCore {
  static constexpr int kRank = 2;
  std::array<Vec3, 3> corners;
  std::array<Vec3, 3> edges;  // the k-th from corner k to the next
  Vec3 normal;                // of any length, never zero
};

struct BoxCore {
  static constexpr int kRank = 3;
  Vec3 centre, half;
  std::array<Vec3, 3> axes;
};

// The least and the greatest of the products with a vector.
struct Interval {
  double lower, upper;
};

inline Interval project(const PointCore& a, const Vec3& n) {
  const double at = dot(a.at, n);
  return {at, at};
}
inline Interval project(const SegmentCore& a, const Vec3& n) {
  const double x = dot(a.begin, n), y = dot(a.end, n);
  return x < y ? Interval{x, y} : Interval{y, x};
}
inline Interval project(const TriangleCore& a, const Vec3& n) {
  const double x = dot(a.corners[0], n), y = dot(a.corners[1], n), z = dot(a.corners[2], n);
  const double least = x < y ? x : y, most = x < y ? y : x;
  return {least < z ? least : z, most > z ? most : z};
}
inline Interval project(const BoxCore& a, const Vec3& n) {
  const double at = dot(a.centre, n);
  const double reach = a.half[0] * std::fabs(dot(a.axes[0], n)) + a.half[1] * std::fabs(dot(a.axes[1], n)) +
                       a.half[2] * std::fabs(dot(a.axes[2], n));
  return {at - reach, at + reach};
}

inline PointCore moved(const PointCore& a, const Vec3& by) { return {a.at + by}; }
inline SegmentCore moved(const SegmentCore& a, const Vec3& by) { return {a.begin + by, a.end + by, a.edge}; }
inline TriangleCore moved(const TriangleCore& a, const Vec3& by) {
  return {{a.corners[0] + by, a.corners[1] + by, a.corners[2] + by}, a.edges, a.normal};
}
inline BoxCore moved(const BoxCore& a, const Vec3& by) { return {a.centre + by, a.half, a.axes}; }

inline std::array<Vec3, 1> corners_of(const PointCore& a) { return {a.at}; }
inline std::array<Vec3, 2> corners_of(const SegmentCore& a) { return {a.begin, a.end}; }
inline const std::array<Vec3, 3>& corners_of(const TriangleCore& a) { return a.corners; }
inline std::array<Vec3, 8> corners_of(const BoxCore& a) {
  const Vec3 x = a.axes[0] * a.half[0], y = a.axes[1] * a.half[1], z = a.axes[2] * a.half[2];
  const Vec3 low = a.centre - z, high = a.centre + z;
  return {low - y - x, low - y + x, low + y - x, low + y + x, high - y - x, high - y + x, high + y - x, high + y + x};
}

// The directions of the edges.
inline std::array<Vec3, 1> edges_of(const SegmentCore& a) { return {a.edge}; }
inline const std::array<Vec3, 3>& edges_of(const TriangleCore& a) { return a.edges; }
inline const std::array<Vec3, 3>& edges_of(const BoxCore& a) { return a.axes; }

// The largest number in it, for what rounding may amount to.
inline double magnitude(const Vec3& a) {
  const double x = std::fabs(a[0]), y = std::fabs(a[1]), z = std::fabs(a[2]);
  const double xy = x > y ? x : y;
  return xy > z ? xy : z;
}
inline double magnitude(const BoxCore& a) { return magnitude(a.centre) + a.half[0] + a.half[1] + a.half[2]; }
template <class Core>
double magnitude(const Core& a) {
  double most = 0;
  for (const Vec3& corner : corners_of(a)) {
    const double size = magnitude(corner);
    most = size > most ? size : most;
  }
  return most;
}

// The place that coordinates are to be relative to.
inline Vec3 place_of(const ShapeView<3>& shape) {
  const auto& r = shape.record;
  if (shape.kind != ShapeKind::kBox) return {r[0], r[1], r[2]};
  return {0.5 * (r[0] + r[3]), 0.5 * (r[1] + r[4]), 0.5 * (r[2] + r[5])};
}

inline Vec3 vector_at(std::span<const double> record, std::size_t at) {
  return {record[at], record[at + 1], record[at + 2]};
}

// Perpendicular to the triangle's plane. Of the three products of two edges, that of the shorter two has the least
// error; of a needle it is not yet perpendicular to the longest edge, and made so.
inline Vec3 normal_of(const std::array<Vec3, 3>& edges) {
  const std::array<double, 3> lengths = {squared(edges[0]), squared(edges[1]), squared(edges[2])};
  const std::size_t longest =
      lengths[0] >= lengths[1] ? (lengths[0] >= lengths[2] ? 0 : 2) : (lengths[1] >= lengths[2] ? 1 : 2);
  const std::size_t next = (longest + 1) % 3, last = (longest + 2) % 3;
  const Vec3 normal = cross(edges[next], edges[last]);
  if (squared(normal) > kNearlyParallel * lengths[next] * lengths[longest] || lengths[longest] == 0) return normal;
  return normal - edges[longest] * (dot(normal, edges[longest]) / lengths[longest]);
}

template <class Visit>
auto with_segment(const Vec3& begin, const Vec3& end, const Vec3& origin, double radius, Visit&& visit) {
  const Vec3 edge = end - begin;
  if (squared(edge) > 0) return visit(SegmentCore{begin - origin, end - origin, edge}, radius);
  return visit(PointCore{begin - origin}, radius);
}

template <class Visit>
auto with_triangle(const std::array<Vec3, 3>& corners, const Vec3& origin, Visit&& visit) {
  const std::array<Vec3, 3> edges = {corners[1] - corners[0], corners[2] - corners[1], corners[0] - corners[2]};
  const Vec3 normal = normal_of(edges);
  if (squared(normal) > 0)
    return visit(TriangleCore{{corners[0] - origin, corners[1] - origin, corners[2] - origin}, edges, normal}, 0.0);
  std::size_t longest = 0;
  for (std::size_t k = 1; k < 3; ++k)
    if (squared(edges[k]) > squared(edges[longest])) longest = k;
  return with_segment(corners[longest], corners[(longest + 1) % 3], origin, 0.0, visit);
}

// Calls `visit(core, radius)`. The shape is no compound, hull or mesh.
template <class Visit>
auto with_core(const ShapeView<3>& shape, const Vec3& origin, Visit&& visit) {
  const auto& r = shape.record;
  switch (shape.kind) {
    case ShapeKind::kBall: return visit(PointCore{vector_at(r, 0) - origin}, r[3]);
    case ShapeKind::kSegment: return with_segment(vector_at(r, 0), vector_at(r, 3), origin, 0.0, visit);
    case ShapeKind::kCapsule: return with_segment(vector_at(r, 0), vector_at(r, 3), origin, r[6], visit);
    case ShapeKind::kBox: {
      const Vec3 half = (vector_at(r, 3) - vector_at(r, 0)) * 0.5;
      return visit(BoxCore{place_of(shape) - origin, half, {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}}}, 0.0);
    }
    case ShapeKind::kOrientedBox:
      return visit(
          BoxCore{vector_at(r, 0) - origin, vector_at(r, 3), {vector_at(r, 6), vector_at(r, 9), vector_at(r, 12)}},
          0.0);
    case ShapeKind::kTriangle: return with_triangle({vector_at(r, 0), vector_at(r, 3), vector_at(r, 6)}, origin, visit);
    default: return visit(PointCore{vector_at(r, 0) - origin}, 0.0);
  }
}

// Calls `visit(first, second, radius, turned)` with the cores in the order of their ranks, the sum of their radii, and
// whether they changed places for it.
template <class Visit>
auto with_cores(const ShapeView<3>& a, const ShapeView<3>& b, Visit&& visit) {
  const Vec3 origin = place_of(a);
  return with_core(a, origin, [&](const auto& first, double first_radius) {
    return with_core(b, origin, [&](const auto& second, double second_radius) {
      using First = std::decay_t<decltype(first)>;
      using Second = std::decay_t<decltype(second)>;
      if constexpr (First::kRank <= Second::kRank)
        return visit(first, second, first_radius, second_radius, false);
      else
        return visit(second, first, second_radius, first_radius, true);
    });
  });
}

}  // namespace broadphase::solid
