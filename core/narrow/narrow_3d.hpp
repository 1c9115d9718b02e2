// The narrow phase in 3-d of convex cores with a radius: what shape queries (narrow_3d.cpp) and those of hulls and
// meshes are made of.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "narrow/compounds.hpp"
#include "shapes/shape.hpp"

namespace broadphase::solid {

// ---- Vectors ----

using Vec3 = Vec<3>;

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Relative error of values computed from coordinates.
inline constexpr double kRounding = 4e-16;

constexpr Vec3 operator+(const Vec3& a, const Vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
constexpr Vec3 operator-(const Vec3& a, const Vec3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
constexpr Vec3 operator-(const Vec3& a) { return {-a[0], -a[1], -a[2]}; }
constexpr Vec3 operator*(const Vec3& a, double s) { return {a[0] * s, a[1] * s, a[2] * s}; }

constexpr double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
constexpr double squared(const Vec3& a) { return dot(a, a); }
constexpr Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
constexpr bool is_zero(const Vec3& a) { return a[0] == 0 && a[1] == 0 && a[2] == 0; }
constexpr double clamped(double value, double lower, double upper) {
  return value < lower ? lower : value > upper ? upper : value;
}

inline Vec3 unit(const Vec3& a) { return a * (1 / std::sqrt(squared(a))); }

// The component of `a` perpendicular to `along`. For a vector nearly parallel to it, the first subtraction cancels most
// digits and the rest is not perpendicular: the second pass corrects that.
constexpr Vec3 without(const Vec3& a, const Vec3& along, double squared_along) {
  const Vec3 once = a - along * (dot(a, along) / squared_along);
  return once - along * (dot(once, along) / squared_along);
}

// A unit vector perpendicular to `a`, which is not zero; a deterministic choice.
inline Vec3 perpendicular(const Vec3& a) {
  const double x = std::fabs(a[0]), y = std::fabs(a[1]), z = std::fabs(a[2]);
  const Vec3 least = x <= y && x <= z ? Vec3{1, 0, 0} : y <= z ? Vec3{0, 1, 0} : Vec3{0, 0, 1};
  return unit(cross(a, least));
}

// The square of the sine of 1/1000 rad. At smaller angles, cross products lose so many digits that they must be
// corrected.
inline constexpr double kNearlyParallel = 1e-6;

// A vector perpendicular to both, accurate also if they are nearly parallel; zero if they are parallel up to rounding.
inline Vec3 across(const Vec3& e, const Vec3& f) {
  const Vec3 normal = cross(e, f);
  const double ee = squared(e), limit = ee * squared(f), nn = squared(normal);
  if (nn > kNearlyParallel * limit) return normal;
  if (!(nn > 1e-24 * limit)) return {};
  return normal - e * (dot(normal, e) / ee);
}

// ---- Cores: every shape but a compound is a convex core and a radius around it ----
//
// A ball is a point with a radius, a capsule a segment with a radius. Coordinates are relative to a point of one of the
// shapes, so no precision is lost far from the origin. A triangle with collinear corners is read as a segment, a
// segment of length 0 as a point.

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
  std::size_t longest;        // edge
  bool is_needle;             // so slim that rounding hides where the sides meet at its ends
};

struct BoxCore {
  static constexpr int kRank = 3;
  Vec3 centre, half;
  std::array<Vec3, 3> axes;
};

// The range of the dot products with a vector.
struct Projection {
  double lower, upper;
};

inline Projection project(const PointCore& a, const Vec3& n) {
  const double at = dot(a.at, n);
  return {at, at};
}
inline Projection project(const SegmentCore& a, const Vec3& n) {
  const double x = dot(a.begin, n), y = dot(a.end, n);
  return x < y ? Projection{x, y} : Projection{y, x};
}
inline Projection project(const TriangleCore& a, const Vec3& n) {
  const double x = dot(a.corners[0], n), y = dot(a.corners[1], n), z = dot(a.corners[2], n);
  const double least = x < y ? x : y, most = x < y ? y : x;
  return {least < z ? least : z, most > z ? most : z};
}
inline Projection project(const BoxCore& a, const Vec3& n) {
  const double at = dot(a.centre, n);
  const double reach = a.half[0] * std::fabs(dot(a.axes[0], n)) + a.half[1] * std::fabs(dot(a.axes[1], n)) +
                       a.half[2] * std::fabs(dot(a.axes[2], n));
  return {at - reach, at + reach};
}

inline PointCore moved(const PointCore& a, const Vec3& by) { return {a.at + by}; }
inline SegmentCore moved(const SegmentCore& a, const Vec3& by) { return {a.begin + by, a.end + by, a.edge}; }
inline TriangleCore moved(const TriangleCore& a, const Vec3& by) {
  return {{a.corners[0] + by, a.corners[1] + by, a.corners[2] + by}, a.edges, a.normal, a.longest, a.is_needle};
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

// The largest absolute coordinate, the scale of rounding errors.
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

// The point that coordinates are made relative to.
inline Vec3 place_of(const ShapeView<3>& shape) {
  const auto& r = shape.record;
  if (shape.kind != ShapeKind::kBox) return {r[0], r[1], r[2]};
  return {0.5 * (r[0] + r[3]), 0.5 * (r[1] + r[4]), 0.5 * (r[2] + r[5])};
}

inline Vec3 vector_at(std::span<const double> record, std::size_t at) {
  return {record[at], record[at + 1], record[at + 2]};
}

inline std::size_t longest_of(const std::array<Vec3, 3>& edges) {
  const std::array<double, 3> lengths = {squared(edges[0]), squared(edges[1]), squared(edges[2])};
  return lengths[0] >= lengths[1] ? (lengths[0] >= lengths[2] ? 0 : 2) : (lengths[1] >= lengths[2] ? 1 : 2);
}

// The normal of the triangle's plane. Of the three cross products of two edges, that of the two shorter ones has the
// least error; for a needle it is then made perpendicular to the longest edge, too.
inline Vec3 normal_of(const std::array<Vec3, 3>& edges) {
  const std::size_t longest = longest_of(edges), next = (longest + 1) % 3, last = (longest + 2) % 3;
  const Vec3 normal = cross(edges[next], edges[last]), along = edges[longest];
  const double length = squared(along);
  if (squared(normal) > kNearlyParallel * squared(edges[next]) * length || length == 0) return normal;
  return normal - along * (dot(normal, along) / length);
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
  const std::size_t longest = longest_of(edges);
  const Vec3 normal = normal_of(edges);
  if (const double nn = squared(normal); nn > 0) {
    const double length = squared(edges[longest]);
    return visit(TriangleCore{{corners[0] - origin, corners[1] - origin, corners[2] - origin},
                              edges,
                              normal,
                              longest,
                              nn <= kNearlyParallel * length * length},
                 0.0);
  }
  return with_segment(corners[longest], corners[(longest + 1) % 3], origin, 0.0, visit);
}

// Calls `visit(core, radius)`. Precondition: the core has corners.
template <class Visit>
auto with_core(const ShapeView<3>& shape, const Vec3& origin, Visit&& visit) {
  const auto& r = shape.record;
  switch (traits_of(shape.kind).core) {
    case CoreForm::kSegment: return with_segment(vector_at(r, 0), vector_at(r, 3), origin, radius_of(shape), visit);
    case CoreForm::kTriangle: return with_triangle({vector_at(r, 0), vector_at(r, 3), vector_at(r, 6)}, origin, visit);
    case CoreForm::kBox: {
      if (shape.kind == ShapeKind::kOrientedBox)
        return visit(
            BoxCore{vector_at(r, 0) - origin, vector_at(r, 3), {vector_at(r, 6), vector_at(r, 9), vector_at(r, 12)}},
            0.0);
      const Vec3 half = (vector_at(r, 3) - vector_at(r, 0)) * 0.5;
      return visit(BoxCore{place_of(shape) - origin, half, {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}}}, 0.0);
    }
    case CoreForm::kPoint:
    case CoreForm::kPolygon:  // in the plane only
    case CoreForm::kNone:
    case CoreForm::kHalfSpace:
    case CoreForm::kCurved: break;
  }
  return visit(PointCore{vector_at(r, 0) - origin}, radius_of(shape));
}

// Calls `visit(first, second, first radius, second radius, swapped)` with the cores in the order of their ranks.
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

// ---- Separating axes ----
//
// Two convex polytopes are disjoint exactly if they are separated along the normal of a face of their Minkowski
// difference, and the minimum translation that separates them is along such a normal, too. These normals are the face
// normals of either, and the cross products of an edge of each. Flat shapes also need the normals of their edges within
// their plane, as if they were prisms of height 0. More axes than needed do no harm.
//
// S. Gottschalk, M. C. Lin, D. Manocha, "OBBTree: A Hierarchical Structure for Rapid Interference Detection", SIGGRAPH
// 1996, doi:10.1145/237170.237244.

// These call `visit(axis, is_edge)` with non-zero axes of any length until it returns false; they return false if it
// did. Face normals come first: of equally good axes, the first is chosen.
template <class A, class B, class Visit>
bool for_each_cross_axis(const A& a, const B& b, Visit&& visit) {
  for (const Vec3& e : edges_of(a))
    for (const Vec3& f : edges_of(b)) {
      const Vec3 axis = across(e, f);
      if (!is_zero(axis) && !visit(axis, true)) return false;
    }
  return true;
}

template <class Visit>
bool for_each_face_axis(const BoxCore& a, Visit&& visit) {
  return visit(a.axes[0], false) && visit(a.axes[1], false) && visit(a.axes[2], false);
}
template <class Visit>
bool for_each_face_axis(const TriangleCore& a, Visit&& visit) {
  return visit(a.normal, false);
}
template <class Visit>
bool for_each_side_axis(const TriangleCore& a, Visit&& visit) {
  for (const Vec3& edge : a.edges)
    if (!visit(cross(a.normal, edge), true)) return false;
  // The sides of a needle hardly tell what lies beyond its ends.
  return !a.is_needle || visit(a.edges[a.longest], true);
}

template <class Visit>
bool for_each_axis(const PointCore&, const TriangleCore& b, Visit&& visit) {
  return for_each_face_axis(b, visit) && for_each_side_axis(b, visit);
}
template <class Visit>
bool for_each_axis(const PointCore&, const BoxCore& b, Visit&& visit) {
  return for_each_face_axis(b, visit);
}
// For a point and a segment, and for two segments, these axes do not decide whether they are disjoint: their distance
// does. They are for cores in contact, where one of them is a normal.
template <class Visit>
bool for_each_axis(const PointCore&, const SegmentCore& b, Visit&& visit) {
  return visit(perpendicular(b.edge), true);
}
template <class Visit>
bool for_each_axis(const SegmentCore& a, const SegmentCore& b, Visit&& visit) {
  const Vec3 axis = across(a.edge, b.edge);
  if (is_zero(axis)) return visit(perpendicular(a.edge), true);
  return visit(axis, true) && visit(cross(axis, a.edge), true) && visit(cross(axis, b.edge), true);
}
template <class Visit>
bool for_each_axis(const SegmentCore& a, const TriangleCore& b, Visit&& visit) {
  if (!for_each_face_axis(b, visit) || !for_each_side_axis(b, visit)) return false;
  const Vec3 side = across(b.normal, a.edge);
  if (!is_zero(side) && !visit(side, true)) return false;
  return for_each_cross_axis(a, b, visit);
}
template <class Visit>
bool for_each_axis(const SegmentCore& a, const BoxCore& b, Visit&& visit) {
  return for_each_face_axis(b, visit) && for_each_cross_axis(a, b, visit);
}
template <class Visit>
bool for_each_axis(const TriangleCore& a, const TriangleCore& b, Visit&& visit) {
  return for_each_face_axis(a, visit) && for_each_face_axis(b, visit) && for_each_side_axis(a, visit) &&
         for_each_side_axis(b, visit) && for_each_cross_axis(a, b, visit);
}
template <class Visit>
bool for_each_axis(const TriangleCore& a, const BoxCore& b, Visit&& visit) {
  return for_each_face_axis(a, visit) && for_each_face_axis(b, visit) && for_each_cross_axis(a, b, visit);
}
template <class Visit>
bool for_each_axis(const BoxCore& a, const BoxCore& b, Visit&& visit) {
  return for_each_face_axis(a, visit) && for_each_face_axis(b, visit) && for_each_cross_axis(a, b, visit);
}

// Whether the axes alone decide if two cores overlap.
template <class A, class B>
inline constexpr bool kAxesTell = B::kRank >= TriangleCore::kRank;

// Of two cores.
using Gap = ShapeGap<3>;

// The signed gap between two ranges: negative if they overlap. `backwards`: the second is below the first.
inline double gap_between(const Projection& a, const Projection& b, bool& backwards) {
  const double onwards = b.lower - a.upper, back = a.lower - b.upper;
  backwards = back > onwards;
  return backwards ? back : onwards;
}

// The greatest gap along any of the axes. Up to rounding, faces are preferred to pairs of edges, because face contacts
// have several points.
template <class A, class B>
Gap widest_gap(const A& a, const B& b) {
  constexpr double kBias = 4e-15;
  const double bias = kBias * (magnitude(a) + magnitude(b));
  Gap widest{-kNever, {1, 0, 0}};
  for_each_axis(a, b, [&](const Vec3& axis, bool is_edge) {
    bool backwards = false;
    const double scale = 1 / std::sqrt(squared(axis));
    const double gap = gap_between(project(a, axis), project(b, axis), backwards) * scale;
    if (gap > widest.distance + (is_edge ? bias : 0)) widest = {gap, axis * (backwards ? -scale : scale)};
    return true;
  });
  return widest;
}

// ---- Nearest points of two disjoint cores, by closed forms of their features ----
//
// Which features are nearest is decided by signs of products without a division, and distances are quotients of two
// products: on small integers nothing is rounded before the last operation.
//
// C. Ericson, "Real-Time Collision Detection", Morgan Kaufmann 2005, chapter 5.

// `between` has the direction from the nearest point of the first to that of the second, but not its length, so that
// the direction is accurate even if the distance is tiny. Zero if there is none.
struct Nearest {
  double squared;  // distance
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
    // If the projection is outside, the nearest edge is one that the point is beyond.
    if (dot(cross(b.normal, b.edges[k]), a.at - b.corners[k]) >= 0) continue;
    inside = false;
    keep_nearer(best, nearest_on_edge(a.at, b.corners[k], b.corners[(k + 1) % 3], b.edges[k]));
  }
  if (b.is_needle) {
    const Vec3& along = b.edges[b.longest];
    const double at = dot(along, a.at);
    const Projection ends = project(b, along);
    inside = inside && at >= ends.lower && at <= ends.upper;
    // The direction to another edge counts only if this is nearer by more than rounding: of two that meet, both equally
    // near, only one has the rest of the needle behind it.
    const double slack = 4 * kRounding * (magnitude(a) + magnitude(b));
    for (std::size_t k = 0; k < 3 && !inside; ++k) {
      const Nearest other = nearest_on_edge(a.at, b.corners[k], b.corners[(k + 1) % 3], b.edges[k]);
      if (std::sqrt(other.squared) + slack < std::sqrt(best.squared)) best.between = other.between;
      if (other.squared < best.squared) best.squared = other.squared;
    }
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

// The nearest points in the interiors of two edges: only if the common perpendicular meets both. `normal` is across(e,
// f).
inline Nearest nearest_crossing(const SegmentCore& a, const SegmentCore& b, const Vec3& normal) {
  const Vec3 from = b.begin - a.begin;
  const double nn = squared(normal), ee = squared(a.edge), ff = squared(b.edge);
  const double s = dot(cross(from, b.edge), normal), t = dot(cross(from, a.edge), normal);
  const double height = dot(from, normal);
  if (nn > kNearlyParallel * ee * ff) {
    if (s < 0 || s > nn || t < 0 || t > nn) return {kNever, {}};
    return {height * height / nn, normal * (height > 0 ? 1.0 : height < 0 ? -1.0 : 0.0)};
  }
  // Nearly parallel: the nearest points are ill-conditioned, but any two points give an upper bound, and these are
  // close to the nearest.
  const Vec3 x = a.begin + a.edge * clamped(s / nn, 0, 1);
  const Vec3 y = b.begin + b.edge * clamped(dot(x - b.begin, b.edge) / ff, 0, 1);
  const Vec3 nearer = a.begin + a.edge * clamped(dot(y - a.begin, a.edge) / ee, 0, 1);
  const Vec3 between = y - nearer;
  const bool is_tiny = squared(between) <= 1e-20 * (ee + ff);
  return {squared(between), is_tiny ? normal * (height < 0 ? -1.0 : 1.0) : between};
}

// If the nearest points of two lines are within both segments, nothing is nearer; otherwise an end of one is nearest.
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

// The edges of a core in its k-th direction that may be the outermost along `axis`.
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
  // One of the four parallel edges; two or all four if a face is perpendicular to the axis up to rounding.
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

// Calls visit(nearest) for pairs of edges. If those are nearest, the cores are separated along their common
// perpendicular, and the edges are the outermost along it, so most pairs can be skipped; so can pairs whose squared
// distance is certainly not below `limit`, which is re-read each time.
template <class A, class B, class Visit>
void for_each_near_edges(const A& a, const B& b, const double& limit, Visit&& visit) {
  // Cores that are hardly separated may be so only along another axis, because of rounding.
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
          // The edge of a box with width 0 along it is a point, and corners have been tested already.
          const Vec3 normal = across(e.edge, f.edge);
          if (!is_zero(normal)) visit(nearest_crossing(e, f, normal));
        });
      });
    }
}

// Calls visit(nearest) for pairs of features that include the nearest. Precondition: the cores are disjoint, or both
// without volume.
template <class A, class B, class Visit>
void for_each_near(const A& a, const B& b, const double& limit, Visit&& visit) {
  for (const Vec3& corner : corners_of(a)) visit(nearest(PointCore{corner}, b));
  for (const Vec3& corner : corners_of(b)) visit(turned(nearest(PointCore{corner}, a)));
  for_each_near_edges(a, b, limit, visit);
}

// Calls visit(nearest) for the corners of a core and the edges of a triangle, each on its own: of edges as near as each
// other but for rounding, any may have the right direction.
template <class A, class B, class Visit>
void for_each_near_side(const A& a, const B& b, Visit&& visit) {
  if constexpr (B::kRank == TriangleCore::kRank)
    for (std::size_t k = 0; k < 3; ++k)
      for (const Vec3& corner : corners_of(a))
        visit(nearest_on_edge(corner, b.corners[k], b.corners[(k + 1) % 3], b.edges[k]));
}

template <class A, class B>
Nearest nearest(const A& a, const B& b) {
  Nearest best{kNever, {}};
  for_each_near(a, b, best.squared, [&](const Nearest& near) { keep_nearer(best, near); });
  return best;
}

// ---- Signed distance and overlap of two cores with radii ----

// The signed distance of two cores. Coincident points are separated along the x axis.
inline Gap gap_of(const PointCore& a, const PointCore& b) {
  const Vec3 between = b.at - a.at;
  const double distance = std::sqrt(squared(between));
  return distance > 0 ? Gap{distance, between * (1 / distance)} : Gap{0, {1, 0, 0}};
}

// Uses the direction between the nearest points if the gap along it is wider. The gap along any direction is at most
// the distance, and equal to it along the right one.
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
  // For cores that nearly touch, that direction may be mere rounding, and one of the axes is better.
  keep_wider(widest, a, b, near.between);
  if constexpr (A::kRank > PointCore::kRank) {
    // If edges are nearly parallel, several features are equally near up to rounding, but their directions differ by
    // much more.
    const double slack = 16 * kRounding * (magnitude(a) + magnitude(b));
    if (widest.distance < distance - slack) {
      const double limit = (distance + slack) * (distance + slack);
      const auto keep = [&](const Nearest& other) {
        if (other.squared <= limit) keep_wider(widest, a, b, other.between);
      };
      for_each_near(a, b, limit, keep);
      for_each_near_side(a, b, keep);
      for_each_near_side(b, a, [&](const Nearest& other) { keep(turned(other)); });
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

// Two boxes, by their fifteen axes, with the second in the frame of the first. Ends at the first separating axis.
inline bool within(const BoxCore& a, const BoxCore& b, double) {
  const Vec3 between = b.centre - a.centre;
  std::array<Vec3, 3> turn, size;  // [i][j]: axis j of the second along axis i of the first, and its absolute value
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
        // Nearly parallel edges: their cross product must be made perpendicular to them, or is no axis at all.
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

// ---- Time of impact of a moving core: a ray against the Minkowski difference, rounded by the sum of the radii ----
//
// The difference of two polytopes is an intersection of slabs, one per separating axis: the ray is inside between the
// last entry and the first exit. Against a ball or a capsule it is a quadratic equation. For all others the distance
// along the motion is a convex function of time, so Newton's method never steps beyond the first contact.
//
// G. van den Bergen, "Ray Casting against General Convex Objects with Application to Continuous Collision Detection",
// 2004.

using Impact = ShapeImpact<3>;

inline void keep_first(Impact& best, const Impact& other) {
  if (other.time < best.time) best = other;
}

// A ray clipped by slabs. Each slab is used as it is and also enlarged by the rounding error, so that a ray through the
// edge between two faces is not lost.
class SlabClip {
 public:
  explicit SlabClip(const Vec3& motion) : motion_(motion), still_(1e-16 * std::sqrt(squared(motion))) {}

  // Inside while lower <= speed * time <= upper; `normal` is a unit vector. Returns false if the ray misses.
  bool clip(double lower, double upper, const Vec3& normal, double error) {
    const double speed = dot(motion_, normal);
    if (std::fabs(speed) <= still_) return lower <= error && upper >= -error;
    const double entry = speed > 0 ? lower : upper, exit = speed > 0 ? upper : lower;
    const double inverse = 1 / speed, slack = error * std::fabs(inverse);
    if (entry * inverse > entry_) {
      entry_ = entry * inverse;
      normal_ = speed > 0 ? normal : -normal;
    }
    if (entry * inverse - slack > wide_entry_) wide_entry_ = entry * inverse - slack;
    if (exit * inverse + slack < wide_exit_) wide_exit_ = exit * inverse + slack;
    return wide_exit_ >= 0 && wide_entry_ <= wide_exit_;
  }

  // The time of entry, if the ray meets all slabs; `scale`: the size of the shapes.
  Impact entry(double scale) const {
    // A ray that grazes a face may be late by much more than rounding, at almost no distance.
    const bool is_sharp = (entry_ - wide_entry_) * std::sqrt(squared(motion_)) <= 1e-9 * scale;
    const double time = is_sharp && entry_ <= wide_exit_ ? entry_ : wide_entry_;
    return {time > 0 ? time : 0, normal_};
  }

 private:
  Vec3 motion_;
  double still_;
  double entry_ = -kNever, wide_entry_ = -kNever, wide_exit_ = kNever;
  Vec3 normal_{};
};

// When the first enters the slabs of their separating axes, enlarged by `radius`.
template <class A, class B>
Impact cast_on_axes(const A& a, const Vec3& motion, const B& b, double radius) {
  SlabClip slabs(motion);
  const double size = magnitude(a) + magnitude(b) + radius, error = 2 * kRounding * size;
  const bool met = for_each_axis(a, b, [&](const Vec3& axis, bool) {
    const double scale = 1 / std::sqrt(squared(axis));
    const Projection at = project(a, axis), to = project(b, axis);
    return slabs.clip((to.lower - at.upper) * scale - radius, (to.upper - at.lower) * scale + radius, axis * scale,
                      error);
  });
  if (!met || is_zero(motion)) return {};
  return slabs.entry(size);
}

// A moving point that starts outside the ball.
inline Impact cast(const PointCore& a, const Vec3& motion, const PointCore& b, double radius) {
  const Vec3 to = b.at - a.at;
  const double speed = squared(motion), toward = dot(to, motion);
  if (!(speed > 0) || toward < 0) return {};
  const double distance = std::sqrt(squared(to)), reach = radius + kRounding * distance;
  const double aside = squared(cross(to, motion)) / speed;
  if (aside > reach * reach) return {};
  const double deep = radius * radius - aside;
  const double half = std::sqrt(deep > 0 ? deep * speed : 0);
  // The smaller root as the product of both over the larger one: no cancellation near 0. Of a point that grazes the
  // ball this is mere rounding, but it cannot be later than the time at which the point is nearest to the centre.
  const double greater = toward + half, nearest = toward / speed;
  const double root = greater > 0 ? (distance - radius) * (distance + radius) / greater : 0;
  const double time = root < nearest ? root : nearest;
  const Vec3 normal = to - motion * time;
  // For a radius of almost 0, this normal is mere rounding.
  const bool is_point = std::sqrt(squared(normal)) <= 8 * kRounding * distance;
  return {time > 0 ? time : 0, unit(is_point ? motion : normal)};
}

// A moving point that starts outside the capsule: against the cylinder, as a ball in the projection along its edge, and
// against the balls at its ends.
inline Impact cast(const PointCore& a, const Vec3& motion, const SegmentCore& b, double radius) {
  const double length = squared(b.edge);
  const Vec3 to = b.begin - a.at;
  const Vec3 aside = without(motion, b.edge, length);
  Impact first{};
  if (squared(aside) > 1e-30 * squared(motion)) {
    const Impact side = cast(PointCore{}, aside, PointCore{without(to, b.edge, length)}, radius);
    if (side.time < kNever) {
      const double at = dot(motion * side.time - to, b.edge);
      if (at >= 0 && at <= length) first = side;
    }
  }
  const auto cast_to_end = [&](const Vec3& end, const Vec3& onwards) {
    Impact impact = cast(a, motion, PointCore{end}, radius);
    // The rest of the segment is not before its end, where that is more than rounding.
    const double rounding = 8 * kRounding * std::sqrt(squared(end - a.at));
    if (impact.time < kNever && dot(impact.normal, onwards) < -rounding)
      if (const Vec3 across = without(impact.normal, b.edge, length); !is_zero(across)) impact.normal = unit(across);
    keep_first(first, impact);
  };
  cast_to_end(b.begin, b.edge);
  cast_to_end(b.end, -b.edge);
  return first;
}

// Newton's method on the distance, starting at a time that is not too late. `gap_at(offset)` is the gap after the first
// has moved by that offset; `size` is the scale of the shapes. Precondition: they do not overlap at time 0.
template <class GapAt>
Impact cast_by_steps(GapAt&& gap_at, const Vec3& motion, double radius, double size, Impact impact) {
  // For a grazing ball, each step only halves the rest: after this many, nothing is left.
  constexpr int kMostSteps = 200;
  const double fastest = std::sqrt(squared(motion));
  for (int step = 0; step < kMostSteps; ++step) {
    const Gap gap = gap_at(motion * impact.time);
    const double left = gap.distance - radius, speed = dot(gap.normal, motion);
    const bool touches = left <= 2 * kRounding * (size + fastest * impact.time);
    if (!touches && !(speed > 0)) return {};
    // Where cores without volume touch, either side of the normal may come out.
    if (speed > 0) impact.normal = gap.normal;
    if (touches) {
      if (left > 0 && speed > 1e-3 * fastest) impact.time += left / speed;
      return impact;
    }
    const double next = impact.time + left / speed;
    if (!(next < kNever) || next == impact.time) return next < kNever ? impact : Impact{};
    impact.time = next;
  }
  return impact;
}

// When the first core, moving by `motion` per unit of time, is within `radius` of the second. Precondition: it is not
// at time 0.
template <class A, class B>
Impact cast(const A& a, const Vec3& motion, const B& b, double radius) {
  const Impact slabs = cast_on_axes(a, motion, b, radius);
  if (slabs.time == kNever || (kAxesTell<A, B> && radius == 0)) return slabs;
  const double size = magnitude(a) + magnitude(b) + radius;
  return cast_by_steps([&](const Vec3& way) { return gap_of(moved(a, way), b); }, motion, radius, size, slabs);
}

// ---- Axis-aligned boxes: closed forms on their corners, because they are frequent ----

// A record is lower[3], upper[3].
inline bool boxes_overlap(std::span<const double> a, std::span<const double> b) {
  bool overlap = true;
  for (std::size_t k = 0; k < 3; ++k) {
    overlap &= a[k] <= b[k + 3];
    overlap &= b[k] <= a[k + 3];
  }
  return overlap;
}

// The squared distance of a point from a box given by its corners.
inline double squared_distance_to_box(std::span<const double> point, std::span<const double> box) {
  double sum = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double below = box[k] - point[k], above = point[k] - box[k + 3];
    const double farther = below > above ? below : above, outside = farther > 0 ? farther : 0;
    sum += outside * outside;
  }
  return sum;
}

// The vector from a point to the nearest point of such a box.
inline Vec3 to_box(std::span<const double> point, std::span<const double> box) {
  Vec3 way;
  for (std::size_t k = 0; k < 3; ++k)
    way[k] = point[k] < box[k] ? box[k] - point[k] : point[k] > box[k + 3] ? box[k + 3] - point[k] : 0;
  return way;
}

// The signed distance of two axis-aligned boxes: three axes instead of the fifteen of oriented ones.
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

// Contact points of two overlapping boxes: the corners of the common rectangle of the touching faces, midway between
// these.
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
  // A flat common rectangle has two corners, or one.
  for (std::size_t x = 0; x < (lower[i] < upper[i] ? 2u : 1u); ++x)
    for (std::size_t y = 0; y < (lower[j] < upper[j] ? 2u : 1u); ++y) {
      Vec3& point = contact.points[contact.count++];
      point[axis] = lower[axis];
      point[i] = x == 0 ? lower[i] : upper[i];
      point[j] = y == 0 ? lower[j] : upper[j];
    }
}

// When a moving box or ball meets a box.
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

// ---- Contact features: faces, edges and corners of cores, and clipping one by another ----

// A face, an edge or a corner of a core. Four corners clipped by four planes are at most eight.
struct ContactFeature {
  static constexpr std::size_t kMostCorners = 8;
  std::size_t count = 0;
  std::array<Vec3, kMostCorners> corners{};
  Vec3 normal{};  // of a face: the outward unit normal

  void add(const Vec3& corner) {
    if (count < kMostCorners) corners[count++] = corner;
  }
};

// Tolerances: 1 - cosine of directions that count as equal, cosine of directions that count as perpendicular.
inline constexpr double kSameDirection = 5e-7, kPerpendicular = 1e-3;

inline ContactFeature face_of(const BoxCore& a, std::size_t k, double side) {
  const std::size_t i = (k + 1) % 3, j = (k + 2) % 3;
  const Vec3 middle = a.centre + a.axes[k] * (side * a.half[k]);
  const Vec3 x = a.axes[i] * a.half[i], y = a.axes[j] * a.half[j];
  return {4, {middle - x - y, middle + x - y, middle + x + y, middle - x + y}, a.axes[k] * side};
}

// A face this narrow counts as an edge: rounding hides which of its sides is inside. Relative to the length of the
// core, and, since corners may lie far from the origin of the calculation, to their places.
inline double narrow(double length, double place) { return 1e-9 * length + 1e-13 * place; }
inline double longest_edge(const TriangleCore& a) { return std::sqrt(squared(a.edges[a.longest])); }
inline double narrow(const TriangleCore& a) { return narrow(longest_edge(a), magnitude(a)); }
inline double narrow(const BoxCore& a) { return narrow(a.half[0] + a.half[1] + a.half[2], magnitude(a)); }

// The face with the unit normal `n`; without corners if there is none.
inline ContactFeature face_along(const SegmentCore&, const Vec3&) { return {}; }
inline ContactFeature face_along(const TriangleCore& a, const Vec3& n) {
  const Vec3 normal = unit(a.normal);
  const double along = dot(normal, n);
  if (std::fabs(along) < 1 - kSameDirection) return {};
  const double least = narrow(a) * longest_edge(a);  // the normal is as long as the longest edge times the height
  if (squared(a.normal) <= least * least) return {};
  return {3, {a.corners[0], a.corners[1], a.corners[2]}, along > 0 ? normal : -normal};
}
inline ContactFeature face_along(const BoxCore& a, const Vec3& n) {
  for (std::size_t k = 0; k < 3; ++k) {
    const double along = dot(a.axes[k], n);
    if (std::fabs(along) < 1 - kSameDirection) continue;
    const double least = narrow(a);
    if (a.half[(k + 1) % 3] <= least || a.half[(k + 2) % 3] <= least) return {};
    return face_of(a, k, along > 0 ? 1 : -1);
  }
  return {};
}

// The face that faces `n` the most, or the core itself if it has no faces.
inline ContactFeature facing(const SegmentCore& a, const Vec3&) { return {2, {a.begin, a.end}, {}}; }
inline ContactFeature facing(const TriangleCore& a, const Vec3&) {
  return {3, {a.corners[0], a.corners[1], a.corners[2]}, {}};
}
inline ContactFeature facing(const BoxCore& a, const Vec3& n) {
  std::size_t most = 0;
  for (std::size_t k = 1; k < 3; ++k)
    if (std::fabs(dot(a.axes[k], n)) > std::fabs(dot(a.axes[most], n))) most = k;
  return face_of(a, most, dot(a.axes[most], n) > 0 ? 1 : -1);
}

// Selects, of edges that may be the outermost along a direction, the one that falls back least; of those that are equal
// up to rounding, as all edges of a needle are, the longest.
struct OutermostEdge {
  double even;  // falls this much apart are equal
  double drop = kNever, length = 0;

  // Whether this is the best so far. `fall`: the larger distance from the outermost corner back to an end.
  bool take(double fall, double extent) {
    if (fall > kPerpendicular * extent || fall > drop + even || (fall >= drop - even && extent <= length)) return false;
    drop = fall;
    length = extent;
    return true;
  }
};

// The outermost edge along `n`, if one is perpendicular to it, else the outermost corner.
inline ContactFeature outermost(const SegmentCore& a, const Vec3& n) {
  const double along = dot(a.edge, n);
  if (std::fabs(along) <= kPerpendicular * std::sqrt(squared(a.edge))) return {2, {a.begin, a.end}, {}};
  return {1, {along > 0 ? a.end : a.begin}, {}};
}
inline ContactFeature outermost(const TriangleCore& a, const Vec3& n) {
  const std::array<double, 3> along = {dot(a.corners[0], n), dot(a.corners[1], n), dot(a.corners[2], n)};
  std::size_t top = 0;
  for (std::size_t k = 1; k < 3; ++k)
    if (along[k] > along[top]) top = k;
  OutermostEdge edge{narrow(a)};
  ContactFeature best{1, {a.corners[top]}, {}};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t next = (k + 1) % 3;
    const double lower = along[k] < along[next] ? along[k] : along[next];
    const double upper = along[k] < along[next] ? along[next] : along[k];
    if (along[top] - upper <= edge.even && edge.take(along[top] - lower, std::sqrt(squared(a.edges[k]))))
      best = {2, {a.corners[k], a.corners[next]}, {}};
  }
  return best;
}
inline ContactFeature outermost(const BoxCore& a, const Vec3& n) {
  OutermostEdge edge{narrow(a)};
  std::size_t best = 3;
  Vec3 corner = a.centre;
  for (std::size_t k = 0; k < 3; ++k) {
    const double along = dot(a.axes[k], n), extent = 2 * a.half[k];
    corner = corner + a.axes[k] * (along > 0 ? a.half[k] : -a.half[k]);
    if (edge.take(std::fabs(along) * extent, extent)) best = k;
  }
  if (best == 3) return {1, {corner}, {}};
  const double side = dot(a.axes[best], n) > 0 ? -2 : 2;
  return {2, {corner, corner + a.axes[best] * (side * a.half[best])}, {}};
}

// The part of a feature on the inner side of a plane, where dot(normal, x) <= limit. Corners up to `slack` beyond it
// are kept unchanged.
inline ContactFeature cut(const ContactFeature& feature, const Vec3& normal, double limit, double slack) {
  ContactFeature result{};
  const std::size_t n = feature.count;
  for (std::size_t k = 0; k < n; ++k) {
    const Vec3& here = feature.corners[k];
    const Vec3& next = feature.corners[(k + 1) % n];
    const double at = dot(normal, here) - limit, then = dot(normal, next) - limit;
    if (at <= slack) result.add(here);
    // A single edge is not a closed polygon: there is no edge back.
    const bool is_way_back = n == 2 && k == 1;
    if (!is_way_back && ((at < 0 && then > slack) || (at > slack && then < 0)))
      result.add(here + (next - here) * (at / (at - then)));
  }
  return result;
}

// The part of a feature within the sides of a face, whose corners may be listed in either direction. Corners up to
// `aside` and, for rounding, `slack` beside a side are within. In a narrow face it is less of the slack: two sides that
// are nearly parallel are that near each other far beyond its tip, too.
inline ContactFeature cut_by_sides(ContactFeature feature, const ContactFeature& face, double slack, double aside) {
  constexpr double kOfWidth = 1e-3;
  const Vec3 middle = (face.corners[0] + face.corners[face.count / 2]) * 0.5;
  for (std::size_t k = 0; k < face.count; ++k) {
    const Vec3& corner = face.corners[k];
    const Vec3 side = cross(face.normal, face.corners[(k + 1) % face.count] - corner);
    const double length = squared(side);
    if (!(length > 0)) continue;
    // The midpoint of two corners of a triangle is on one of its sides: for that side, the third corner is used.
    const Vec3& inner = face.count == 3 ? face.corners[(k + 2) % 3] : middle;
    const double inwards = dot(side, inner - corner), scale = 1 / std::sqrt(length);
    const Vec3 outward = side * (inwards > 0 ? -scale : scale);
    const double most = kOfWidth * std::fabs(inwards) * scale;
    feature = cut(feature, outward, dot(outward, corner), (slack < most ? slack : most) + aside);
  }
  return feature;
}

// ---- Contact points of two overlapping cores: up to four ----

// Candidate contact points with their depths. Points within `same` of each other count as one.
struct Touching {
  double same;
  std::size_t count = 0;
  std::array<Vec3, ContactFeature::kMostCorners> points{};
  std::array<double, ContactFeature::kMostCorners> depths{};

  void add(const Vec3& point, double depth) {
    for (std::size_t k = 0; k < count; ++k)
      if (squared(points[k] - point) <= same * same) {
        if (depth > depths[k]) {
          points[k] = point;
          depths[k] = depth;
        }
        return;
      }
    if (count == ContactFeature::kMostCorners) return;
    points[count] = point;
    depths[count++] = depth;
  }

  double deepest() const {
    double most = -kNever;
    for (std::size_t k = 0; k < count; ++k) most = depths[k] > most ? depths[k] : most;
    return most;
  }
};

// Relative tolerance of contact points.
inline constexpr double kSlack = 1e-12;

// Moves the point with the greatest `value`, of those from index `from` on, to that index.
template <class Value>
void pull_best(Touching& touching, std::size_t from, Value&& value) {
  std::size_t best = from;
  for (std::size_t k = from + 1; k < touching.count; ++k)
    if (value(k) > value(best)) best = k;
  const Vec3 point = touching.points[best];
  const double depth = touching.depths[best];
  touching.points[best] = touching.points[from];
  touching.depths[best] = touching.depths[from];
  touching.points[from] = point;
  touching.depths[from] = depth;
}

// Chooses the contact points: the deepest first, then those that span the largest area: the farthest from it, the
// farthest from the line through both, and the farthest from that triangle on its other side.
inline void put_points(Touching touching, const Vec3& normal, Contact<3>& contact) {
  const auto& at = touching.points;
  if (touching.count > 0) pull_best(touching, 0, [&](std::size_t k) { return touching.depths[k]; });
  if (touching.count > 4) {
    pull_best(touching, 1, [&](std::size_t k) { return squared(at[k] - at[0]); });
    const auto area = [&](std::size_t i, std::size_t j, std::size_t k) {
      return dot(normal, cross(at[j] - at[i], at[k] - at[i]));
    };
    pull_best(touching, 2, [&](std::size_t k) { return std::fabs(area(0, 1, k)); });
    const double side = area(0, 1, 2) < 0 ? -1 : 1;
    pull_best(touching, 3, [&](std::size_t k) {
      const double ab = -side * area(0, 1, k), bc = -side * area(1, 2, k), ca = -side * area(2, 0, k);
      const double most = ab > bc ? ab : bc;
      return most > ca ? most : ca;
    });
    touching.count = 4;
  }
  contact.count = touching.count;
  for (std::size_t k = 0; k < touching.count; ++k) contact.points[k] = at[k];
}

// The points of a feature below a face, moved midway between the two surfaces. `normal` points out of the face, nearly
// along the face's own normal, and depths are measured along it; the radii are those of the face's core and of the
// feature's. Corners of the feature up to `aside` beside the face count.
inline Touching below_face(const ContactFeature& face, const ContactFeature& feature, const Vec3& normal,
                           double face_radius, double radius, double size, double aside) {
  const double slack = size * kSlack;
  Touching touching{slack};
  const ContactFeature inside = cut_by_sides(feature, face, slack, aside);
  const double slope = 1 / dot(face.normal, normal);
  for (std::size_t k = 0; k < inside.count; ++k) {
    const double gap = dot(face.normal, inside.corners[k] - face.corners[0]) * slope;
    const double depth = face_radius + radius - gap;
    if (depth < -slack) continue;
    touching.add(inside.corners[k] + normal * (0.5 * (face_radius - radius - gap)), depth);
  }
  return touching;
}

// Two edges or corners: their nearest points, or, for nearly parallel edges, the ends of their common stretch.
inline Touching between_edges(const ContactFeature& a, const ContactFeature& b, const Vec3& normal, double first_radius,
                              double second_radius, double size) {
  const double slack = size * kSlack;
  Touching touching{slack};
  const auto add = [&](const Vec3& x, const Vec3& y) {
    const Vec3 middle = (x + normal * first_radius + y - normal * second_radius) * 0.5;
    touching.add(middle, first_radius + second_radius - dot(normal, y - x));
  };
  const Vec3 begin = a.corners[0], from = b.corners[0];
  const Vec3 first = a.count == 2 ? a.corners[1] - begin : Vec3{}, second = b.count == 2 ? b.corners[1] - from : Vec3{};
  // Along the normal the edges may penetrate, so what decides are their projections on a plane.
  const auto flat = [&](const Vec3& way) { return way - normal * dot(normal, way); };
  const Vec3 apart = flat(from - begin), e = flat(first), f = flat(second), both = cross(e, f);
  const double ee = squared(e), ff = squared(f), limit = ee * ff, nn = squared(both);
  const auto on_first = [&](double t) { return ee > 0 ? clamped(dot(apart + f * t, e) / ee, 0, 1) : 0; };
  const auto on_second = [&](double s) { return ff > 0 ? clamped(dot(e * s - apart, f) / ff, 0, 1) : 0; };
  const bool are_parallel = nn <= kPerpendicular * kPerpendicular * limit;
  if (limit > 0 && are_parallel) {
    const double x = dot(apart, e) / ee, y = dot(apart + f, e) / ee;
    const double lower = clamped(x < y ? x : y, 0, 1), upper = clamped(x < y ? y : x, 0, 1);
    if (upper > lower) {
      for (const double s : {lower, upper}) {
        const Vec3 here = begin + first * s, there = from + second * on_second(s);
        if (first_radius + second_radius - dot(normal, there - here) >= -slack) add(here, there);
      }
      if (touching.count > 0) return touching;
    }
  }
  double s = 0, t = 0;
  if (limit > 0 && !are_parallel) {
    s = clamped(dot(cross(apart, f), both) / nn, 0, 1);
    t = clamped(dot(cross(apart, e), both) / nn, 0, 1);
  }
  if (are_parallel || s == 0 || s == 1 || t == 0 || t == 1) {  // where the lines cross may be beyond an end
    t = on_second(are_parallel ? on_first(0.5) : s);
    s = on_first(t);
  }
  add(begin + first * s, from + second * t);
  return touching;
}

// Candidate contact points of two cores, neither of them a point, that overlap along `n` within their radii.
template <class A, class B>
Touching touching_of(const A& a, const B& b, const Vec3& n, double first_radius, double second_radius) {
  const double size = magnitude(a) + magnitude(b) + first_radius + second_radius;
  const ContactFeature first = face_along(a, n);
  const ContactFeature second = first.count > 0 ? ContactFeature{} : face_along(b, -n);
  Touching touching{0};
  if (first.count > 0 || second.count > 0) {
    const auto below = [&](double aside) {
      return first.count > 0 ? below_face(first, facing(b, -n), n, first_radius, second_radius, size, aside)
                             : below_face(second, facing(a, n), -n, second_radius, first_radius, size, aside);
    };
    touching = below(0);
    // A normal that leans a little from that of the face may be that of a corner beside it, which is the deepest.
    // Depths below a face that leans are exact but for the square of that.
    const double radius = first_radius + second_radius, slack = 2 * kSameDirection * radius + size * kSlack;
    if (radius > 0 && touching.deepest() < radius + project(a, n).upper - project(b, n).lower - slack) {
      const Touching beside = below(2 * kPerpendicular * radius);
      if (beside.deepest() > touching.deepest() + slack) touching = beside;
    }
  }
  if (touching.count == 0)
    touching = between_edges(outermost(a, n), outermost(b, -n), n, first_radius, second_radius, size);
  return touching;
}

}  // namespace broadphase::solid
