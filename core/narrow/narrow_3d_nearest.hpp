// The nearest points of two convex cores that are apart, by closed forms of their features.
//
// Which feature is nearest is decided by signs of products without a division, and distances are quotients of two
// products: on small whole numbers, none of it is rounded before the end.
//
// Reference: C. Ericson, "Real-Time Collision Detection", Morgan Kaufmann 2005, chapter 5.
#pragma once

#include <initializer_list>

#include "narrow/narrow_3d_axes.hpp"

namespace broadphase::solid {

// `between` leads from the nearest point of the first to that of the second, but for its length: of it the direction is
// meant, which is precise also where the distance is next to nothing. It is zero where there is none.
struct Nearest {
  double squared;  // the distance
  Vec3 between;
};

inline void keep_nearer(Nearest& best, const Nearest& other) {
  if (other.squared < best.squared) best = other;
}
inline Nearest turned(const Nearest& near) { return {near.squared, -near.between}; }

inline Nearest nearest(const PointCore& a, const PointCore& b) {
  const Vec3 between = b.at - a.at;
  return {squared(between), between};
}

inline Nearest nearest_on_edge(const Vec3& point, const Vec3& begin, const Vec3& end, const Vec3& edge) {
  const Vec3 from = begin - point;
  const double length = squared(edge), at = -dot(from, edge);
  if (at <= 0) return {squared(from), from};
  if (at >= length) {
    const Vec3 to = end - point;
    return {squared(to), to};
  }
  return {squared(cross(from, edge)) / length, without(from, edge, length)};
}
inline Nearest nearest(const PointCore& a, const SegmentCore& b) {
  return nearest_on_edge(a.at, b.begin, b.end, b.edge);
}

inline Nearest nearest(const PointCore& a, const TriangleCore& b) {
  Nearest best{kNever, {}};
  bool inside = true;
  for (std::size_t k = 0; k < 3; ++k) {
    // Outside, the nearest edge is one that the point is beyond.
    if (dot(cross(b.normal, b.edges[k]), a.at - b.corners[k]) >= 0) continue;
    inside = false;
    keep_nearer(best, nearest_on_edge(a.at, b.corners[k], b.corners[(k + 1) % 3], b.edges[k]));
  }
  if (!inside) return best;
  const double height = dot(b.normal, a.at - b.corners[0]);
  return {height * height / squared(b.normal), b.normal * (height > 0 ? -1.0 : height < 0 ? 1.0 : 0.0)};
}

inline Nearest nearest(const PointCore& a, const BoxCore& b) {
  const Vec3 from = a.at - b.centre;
  Nearest result{0, {}};
  for (std::size_t k = 0; k < 3; ++k) {
    const double at = dot(b.axes[k], from);
    const double outside = at - clamped(at, -b.half[k], b.half[k]);
    result.squared += outside * outside;
    result.between = result.between - b.axes[k] * outside;
  }
  return result;
}

// Two edges where they pass each other: nearer than they are at their ends only if the perpendicular to both meets
// both. `normal` is across(e, f).
inline Nearest nearest_crossing(const SegmentCore& a, const SegmentCore& b, const Vec3& normal) {
  const Vec3 from = b.begin - a.begin;
  const double nn = squared(normal), ee = squared(a.edge), ff = squared(b.edge);
  const double s = dot(cross(from, b.edge), normal), t = dot(cross(from, a.edge), normal);
  const double height = dot(from, normal);
  if (nn > kNearlyParallel * ee * ff) {
    if (s < 0 || s > nn || t < 0 || t > nn) return {kNever, {}};
    return {height * height / nn, normal * (height > 0 ? 1.0 : height < 0 ? -1.0 : 0.0)};
  }
  // Nearly parallel: where they pass is known badly, but any two points of them are a bound, and these are next to the
  // nearest.
  const Vec3 x = a.begin + a.edge * clamped(s / nn, 0, 1);
  const Vec3 y = b.begin + b.edge * clamped(dot(x - b.begin, b.edge) / ff, 0, 1);
  const Vec3 nearer = a.begin + a.edge * clamped(dot(y - a.begin, a.edge) / ee, 0, 1);
  const Vec3 between = y - nearer;
  const bool is_tiny = squared(between) <= 1e-20 * (ee + ff);
  return {squared(between), is_tiny ? normal * (height < 0 ? -1.0 : 1.0) : between};
}

// Where two lines pass each other within both segments, nothing is nearer; else an end of one is at the nearest place.
inline Nearest nearest(const SegmentCore& a, const SegmentCore& b) {
  Nearest best{kNever, {}};
  if (const Vec3 normal = across(a.edge, b.edge); !is_zero(normal)) {
    best = nearest_crossing(a, b, normal);
    const bool are_skew = squared(normal) > kNearlyParallel * squared(a.edge) * squared(b.edge);
    if (are_skew && best.squared < kNever) return best;
  }
  for (const Vec3& end : corners_of(a)) keep_nearer(best, nearest(PointCore{end}, b));
  for (const Vec3& end : corners_of(b)) keep_nearer(best, turned(nearest(PointCore{end}, a)));
  return best;
}

// The edges of a core in its k-th direction that may be its outermost along `axis`.
template <class Visit>
void for_each_outermost_edge(const SegmentCore& a, std::size_t, const Vec3&, Visit&& visit) {
  visit(a);
}
template <class Visit>
void for_each_outermost_edge(const TriangleCore& a, std::size_t k, const Vec3&, Visit&& visit) {
  visit(SegmentCore{a.corners[k], a.corners[(k + 1) % 3], a.edges[k]});
}
template <class Visit>
void for_each_outermost_edge(const BoxCore& a, std::size_t k, const Vec3& axis, Visit&& visit) {
  // Of the four parallel edges, it is one; two or all four where a face is perpendicular to the axis but for rounding.
  constexpr double kEven = 1e-9;
  const std::size_t i = (k + 1) % 3, j = (k + 2) % 3;
  const double along_i = dot(axis, a.axes[i]), along_j = dot(axis, a.axes[j]);
  const double even = kEven * std::sqrt(squared(axis));
  const Vec3 edge = a.axes[k] * (2 * a.half[k]);
  for (const double side_i : {-1.0, 1.0}) {
    if (side_i * along_i < -even) continue;
    for (const double side_j : {-1.0, 1.0}) {
      if (side_j * along_j < -even) continue;
      const Vec3 middle = a.centre + a.axes[i] * (side_i * a.half[i]) + a.axes[j] * (side_j * a.half[j]);
      visit(SegmentCore{middle - edge * 0.5, middle + edge * 0.5, edge});
    }
  }
}

inline std::size_t edge_directions(const SegmentCore&) { return 1; }
inline std::size_t edge_directions(const TriangleCore&) { return 3; }
inline std::size_t edge_directions(const BoxCore&) { return 3; }

// Calls visit(nearest) for edges that pass each other. Where those are the nearest, the cores are apart along the
// perpendicular to both, and the edges are the outermost along it: so most need not be looked at. Nor are those of
// which it is plain that the square of their distance is not less than `limit`, which is read anew each time.
template <class A, class B, class Visit>
void for_each_near_edges(const A& a, const B& b, const double& limit, Visit&& visit) {
  // Two that hardly are apart may be so along another axis only, by rounding.
  const double slack = 1e-14 * (magnitude(a) + magnitude(b));
  for (std::size_t i = 0; i < edge_directions(a); ++i)
    for (std::size_t j = 0; j < edge_directions(b); ++j) {
      const Vec3 axis = across(edges_of(a)[i], edges_of(b)[j]);
      if (is_zero(axis)) continue;
      bool backwards = false;
      const double gap = gap_between(project(a, axis), project(b, axis), backwards);
      if (gap <= 0 ? gap * gap > slack * slack * squared(axis) : gap * gap >= limit * squared(axis)) continue;
      const Vec3 onwards = backwards ? -axis : axis;
      for_each_outermost_edge(a, i, onwards, [&](const SegmentCore& e) {
        for_each_outermost_edge(b, j, -onwards, [&](const SegmentCore& f) {
          // Of a box without width along an edge, the edge is a point, and its corners have been looked at.
          const Vec3 normal = across(e.edge, f.edge);
          if (!is_zero(normal)) visit(nearest_crossing(e, f, normal));
        });
      });
    }
}

// Calls visit(nearest) for features of which some are the nearest. Precondition: apart, or without volume both.
template <class A, class B, class Visit>
void for_each_near(const A& a, const B& b, const double& limit, Visit&& visit) {
  for (const Vec3& corner : corners_of(a)) visit(nearest(PointCore{corner}, b));
  for (const Vec3& corner : corners_of(b)) visit(turned(nearest(PointCore{corner}, a)));
  for_each_near_edges(a, b, limit, visit);
}

template <class A, class B>
Nearest nearest(const A& a, const B& b) {
  Nearest best{kNever, {}};
  for_each_near(a, b, best.squared, [&](const Nearest& near) { keep_nearer(best, near); });
  return best;
}

}  // namespace broadphase::solid
