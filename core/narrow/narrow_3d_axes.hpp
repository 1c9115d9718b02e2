// Separating axes: the directions in which two convex cores must be looked at to know whether they overlap, and by how
// much.
//
// Two polytopes are apart exactly if they are apart along the normal of a face of their Minkowski difference, and the
// least translation that separates them is along one, too. Those normals are the normals of faces of either, and the
// products of an edge of each. Things without volume need some more: what is flat has its edges' normals in the plane,
// as if it were a prism of no height. More axes than needed do no harm.
//
// Reference: S. Gottschalk, M. C. Lin, D. Manocha, "OBBTree: A Hierarchical Structure for Rapid Interference
// Detection", SIGGRAPH 1996, doi:10.1145/237170.237244.
#pragma once

#include "narrow/narrow_3d_cores.hpp"

namespace broadphase::solid {

// Each calls `visit(axis, is_edge)` with axes of any length, none of it zero, until it returns false; false if it did.
// Faces come first: where several answers are equally good, the first is given.
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
  return true;
}

template <class Visit>
bool for_each_axis(const PointCore&, const TriangleCore& b, Visit&& visit) {
  return for_each_face_axis(b, visit) && for_each_side_axis(b, visit);
}
template <class Visit>
bool for_each_axis(const PointCore&, const BoxCore& b, Visit&& visit) {
  return for_each_face_axis(b, visit);
}
// Of a point and a segment, and of two segments, these do not tell whether they are apart: their distance does. They
// are for things that touch: there, one of these is a normal.
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

// Whether the axes alone tell if two cores overlap.
template <class A, class B>
inline constexpr bool kAxesTell = B::kRank >= TriangleCore::kRank;

// The way from one core to the other: `distance` between them, or minus the least translation that takes them apart;
// along `normal`, a unit vector from the first to the second.
struct Gap {
  double distance;
  Vec3 normal;
};

// The gap between two intervals, the greater of the two ways to look at it; below zero if they overlap.
inline double gap_between(const Interval& a, const Interval& b, bool& backwards) {
  const double onwards = b.lower - a.upper, back = a.lower - b.upper;
  backwards = back > onwards;
  return backwards ? back : onwards;
}

// The greatest gap along any of the axes. Up to what rounding may amount to, a face is preferred to two edges, for
// things touch there at more than one point.
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

}  // namespace broadphase::solid
