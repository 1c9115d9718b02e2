// Whether two triangles in 3-d intersect, decided by exact signs alone: correct for any finite corners.
//
// Triangles in different planes: Guigue and Devillers, "Fast and Robust Triangle-Triangle Overlap Test Using
// Orientation Predicates", 2003, DOI 10.1080/10867651.2003.10487580. Coplanar triangles, and those that degenerate to a
// segment or a point, are compared edge by edge in projections.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "narrow/exact_sign.hpp"
#include "query/method.hpp"

namespace broadphase {

using Corner = const double*;  // three coordinates
using TriangleCorners = std::array<Corner, 3>;

namespace detail {

using Sides = std::array<int, 3>;

inline Sides sides_of_plane(const TriangleCorners& plane, const TriangleCorners& of) {
  const OrientedPlane through(plane[0], plane[1], plane[2]);
  return {through.side(of[0]), through.side(of[1]), through.side(of[2])};
}

inline bool all(const Sides& sides, int side) { return sides[0] == side && sides[1] == side && sides[2] == side; }

// Strictly on one side of a plane.
inline bool apart(const Sides& sides) { return all(sides, 1) || all(sides, -1); }

// Has corners strictly on both sides of a plane.
inline bool crosses(const Sides& sides) {
  return (sides[0] > 0 || sides[1] > 0 || sides[2] > 0) && (sides[0] < 0 || sides[1] < 0 || sides[2] < 0);
}

// The corner that the plane separates from the other two. Precondition: not all on one side, nor all in the plane.
inline std::size_t lone_corner(const Sides& sides) {
  for (std::size_t k = 0; k < 3; ++k)
    if (sides[k] != 0 && sides[(k + 1) % 3] != sides[k] && sides[(k + 2) % 3] != sides[k]) return k;
  // One in the plane, two on the same side of it.
  return sides[0] == 0 ? 0 : sides[1] == 0 ? 1 : 2;
}

// The side of the plane on which the lone corner is: above (1) or below (-1).
inline int lone_side(const Sides& sides, std::size_t lone) {
  return sides[lone] != 0 ? sides[lone] : -sides[(lone + 1) % 3];
}

// Two triangles in different planes, each meeting the other's plane. Each intersects the common line of the planes in
// an interval; the order of the intervals' ends is a sign.
inline bool intervals_meet(const TriangleCorners& a, const Sides& sides_of_a, const TriangleCorners& b,
                           const Sides& sides_of_b, bool touching) {
  const std::size_t i = lone_corner(sides_of_a), j = lone_corner(sides_of_b);
  const Corner top_a = a[i], top_b = b[j];
  Corner left_a = a[(i + 1) % 3], right_a = a[(i + 2) % 3], left_b = b[(j + 1) % 3], right_b = b[(j + 2) % 3];
  // Oriented so that the lone corner of each is above the other's plane.
  if (lone_side(sides_of_a, i) < 0) std::swap(left_b, right_b);
  if (lone_side(sides_of_b, j) < 0) std::swap(left_a, right_a);
  const int left = orient3d(top_a, left_a, top_b, left_b), right = orient3d(top_a, right_a, top_b, right_b);
  return touching ? left <= 0 && right >= 0 : left < 0 && right > 0;
}

// The projection that drops the coordinate `axis`: it preserves incidence.
struct Flat {
  std::size_t x, y;
  explicit Flat(std::size_t axis) : x(axis == 0 ? 1 : 0), y(axis == 2 ? 1 : 2) {}
  int turn(Corner p, Corner q, Corner r) const {
    const double a[2] = {p[x], p[y]}, b[2] = {q[x], q[y]}, c[2] = {r[x], r[y]};
    return orient2d(a, b, c);
  }
};

// The corners of a triangle without its degeneracies: three corners, the two ends of a segment, or a point.
struct Ends {
  std::array<Corner, 3> at;
  std::size_t count;
};

inline bool same_place(Corner p, Corner q) { return p[0] == q[0] && p[1] == q[1] && p[2] == q[2]; }

// r is in the box around p and q.
inline bool between(Corner p, Corner q, Corner r) {
  for (std::size_t k = 0; k < 3; ++k)
    if (!((p[k] <= r[k] && r[k] <= q[k]) || (q[k] <= r[k] && r[k] <= p[k]))) return false;
  return true;
}

inline Ends ends_of(const TriangleCorners& t) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (Flat(axis).turn(t[0], t[1], t[2]) != 0) return {t, 3};
  for (std::size_t k = 0; k < 3; ++k) {
    const Corner p = t[k], q = t[(k + 1) % 3];
    if (between(p, q, t[(k + 2) % 3])) return same_place(p, q) ? Ends{{p}, 1} : Ends{{p, q}, 2};
  }
  return {t, 3};  // not reached: of three points on a line, one is between the others
}

// Whether some edge of `a` has all of `b` on its outer side in a projection: strictly, or at most touching.
inline bool edge_separates(const Flat& flat, const Ends& a, const Ends& b, bool strictly) {
  if (a.count < 2) return false;
  const int inner = a.count == 3 ? flat.turn(a.at[0], a.at[1], a.at[2]) : 1;
  if (inner == 0) return false;  // projected to a segment
  // Both sides of a segment are outer sides: its two edges are there and back.
  for (std::size_t k = 0; k < a.count; ++k) {
    const Corner p = a.at[k], q = a.at[(k + 1) % a.count];
    bool out = true;
    for (std::size_t c = 0; c < b.count && out; ++c) {
      const int side = flat.turn(p, q, b.at[c]) * inner;
      out = strictly ? side < 0 : side <= 0;
    }
    if (out) return true;
  }
  return false;
}

inline bool boxes_meet(const Ends& a, const Ends& b) {
  for (std::size_t k = 0; k < 3; ++k) {
    double low_a = a.at[0][k], high_a = low_a, low_b = b.at[0][k], high_b = low_b;
    for (std::size_t c = 1; c < a.count; ++c) {
      if (a.at[c][k] < low_a) low_a = a.at[c][k];
      if (a.at[c][k] > high_a) high_a = a.at[c][k];
    }
    for (std::size_t c = 1; c < b.count; ++c) {
      if (b.at[c][k] < low_b) low_b = b.at[c][k];
      if (b.at[c][k] > high_b) high_b = b.at[c][k];
    }
    if (high_a < low_b || high_b < low_a) return false;
  }
  return true;
}

// Coplanar or collinear: on a line, boxes separate whatever edges do not. A projection in which the plane degenerates
// separates nothing, so all three can be tried.
inline bool meet_in_plane(const Ends& a, const Ends& b) {
  if (!boxes_meet(a, b)) return false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Flat flat(axis);
    if (edge_separates(flat, a, b, true) || edge_separates(flat, b, a, true)) return false;
  }
  return true;
}

// Whether the interiors of two coplanar, non-degenerate triangles intersect.
inline bool interiors_meet_in_plane(const Ends& a, const Ends& b) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Flat flat(axis);
    if (edge_separates(flat, a, b, false) || edge_separates(flat, b, a, false)) return false;
  }
  return true;
}

// Whether a triangle and a segment or a point intersect.
inline bool meets_less(const Ends& triangle, const Ends& less) {
  const TriangleCorners& t = triangle.at;
  const Corner p = less.at[0], q = less.at[less.count - 1];
  const int side_p = orient3d(t[0], t[1], t[2], p), side_q = orient3d(t[0], t[1], t[2], q);
  if (side_p == 0 && side_q == 0) return meet_in_plane(triangle, less);
  if (side_p == side_q) return false;
  const Sides around = {orient3d(p, q, t[0], t[1]), orient3d(p, q, t[1], t[2]), orient3d(p, q, t[2], t[0])};
  return !crosses(around);
}

// Coplanar or degenerate triangles.
inline bool degenerate_meet(const TriangleCorners& a, const TriangleCorners& b, bool touching) {
  const Ends ends_a = ends_of(a), ends_b = ends_of(b);
  const bool full_a = ends_a.count == 3, full_b = ends_b.count == 3;
  if (!touching) return full_a && full_b && interiors_meet_in_plane(ends_a, ends_b);
  if (full_a && full_b) return meet_in_plane(ends_a, ends_b);
  if (full_a) return meets_less(ends_a, ends_b);
  if (full_b) return meets_less(ends_b, ends_a);
  if (orient3d(ends_a.at[0], ends_a.at[ends_a.count - 1], ends_b.at[0], ends_b.at[ends_b.count - 1]) != 0) return false;
  return meet_in_plane(ends_a, ends_b);
}

}  // namespace detail

// Whether two closed triangles intersect. If not `touching`: whether their interiors do; a common border does not
// count, and a triangle without area intersects nothing. Precondition: finite corners.
inline bool triangles_meet(const TriangleCorners& a, const TriangleCorners& b, bool touching = true) {
  const detail::Sides sides_of_b = detail::sides_of_plane(a, b);
  if (detail::apart(sides_of_b)) return false;
  const detail::Sides sides_of_a = detail::sides_of_plane(b, a);
  if (detail::apart(sides_of_a)) return false;
  // All zero: they are coplanar, or the triangle that should span the plane is degenerate.
  if (detail::all(sides_of_a, 0) || detail::all(sides_of_b, 0)) return detail::degenerate_meet(a, b, touching);
  if (!touching && !(detail::crosses(sides_of_a) && detail::crosses(sides_of_b))) return false;
  return detail::intervals_meet(a, sides_of_a, b, sides_of_b, touching);
}

// ---- Candidate pairs of triangles of one or two meshes, filtered to those that intersect ----

// A borrowed mesh: vertex v is at 3 * v, face f at 3 * f.
struct MeshView {
  const double* vertices;
  const std::int32_t* faces;

  TriangleCorners corners(std::int32_t face) const {
    const std::int32_t* const of = faces + 3 * std::ptrdiff_t{face};
    return {vertices + 3 * std::ptrdiff_t{of[0]}, vertices + 3 * std::ptrdiff_t{of[1]},
            vertices + 3 * std::ptrdiff_t{of[2]}};
  }
};

// Filters given candidates; satisfies Method. Preconditions: finite vertices, rows in range.
class TrianglePairs {
 public:
  struct Scratch {};

  TrianglePairs(MeshView a, MeshView b, const std::int32_t* first, const std::int32_t* second, std::size_t count,
                bool touching)
      : a_(a), b_(b), first_(first), second_(second), count_(count), touching_(touching) {}

  std::size_t task_count() const { return (count_ + kTogether - 1) / kTogether; }

  void run(std::size_t task, Scratch&, PairBuffer& out) const {
    const std::size_t begin = task * kTogether, end = std::min(count_, begin + kTogether);
    out.room(end - begin);
    std::int32_t *const first = out.first(), *const second = out.second();
    std::size_t kept = 0;
    for (std::size_t k = begin; k < end; ++k) {
      first[kept] = first_[k];
      second[kept] = second_[k];
      kept += triangles_meet(a_.corners(first_[k]), b_.corners(second_[k]), touching_) ? 1 : 0;
    }
    out.commit(kept);
  }

 private:
  // A few milliseconds even if every sign needs the exact sum.
  static constexpr std::size_t kTogether = 2048;

  MeshView a_, b_;
  const std::int32_t *first_, *second_;
  std::size_t count_;
  bool touching_;
};

}  // namespace broadphase
