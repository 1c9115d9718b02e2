// Every point at which a ray crosses the surface of a shape.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "narrow/exact_sign.hpp"
#include "narrow/meshes.hpp"
#include "narrow/shape_queries.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

template <std::size_t D>
struct RayCrossing {
  double time;
  Vec<D> normal;      // of length 1, out of the shape; of a face, to the side from which it is counterclockwise
  std::int32_t face;  // its row; -1 for shapes without faces
};

namespace detail {

// On which side of an edge the origin of the plane is: 1 or -1. Where the edge passes through it, an origin decides
// that is moved a little along the first axis, and far less along the second one. So of the faces around an edge or a
// vertex as many count as if the ray passed beside it. 0: the edge is a point.
inline int side_of_edge(const Vec<3>& p, const Vec<3>& q, double area) {
  constexpr double kError = 4 * 0x1p-53, kUnderflow = 0x1p-960;
  const double bound = kError * (std::abs(p[0] * q[1]) + std::abs(p[1] * q[0])) + kUnderflow;
  if (area > bound) return 1;
  if (area < -bound) return -1;
  constexpr double kOrigin[2] = {0, 0};
  if (const int side = orient2d(kOrigin, p.data(), q.data()); side != 0) return side;
  if (p[1] != q[1]) return p[1] > q[1] ? 1 : -1;
  return q[0] > p[0] ? 1 : q[0] < p[0] ? -1 : 0;
}

// A shape without an inside: where a ray leaves it is where it enters it.
template <std::size_t D>
bool is_thin(const ShapeView<D>& part) {
  const CoreForm core = traits_of(part.kind).core;
  const bool is_flat =
      core == CoreForm::kPoint || core == CoreForm::kSegment || (D == 3 && core == CoreForm::kTriangle);
  return is_flat && !(radius_of(part) > 0);
}

// Appends where a ray enters a convex shape and where it leaves it, at times from 0 to `limit`: of one that begins
// inside, only the second. `hit(origin, direction, normal)` is the shape's `ray_hit`, `farthest` a time at which the
// ray has left it. The direction has length 1.
template <std::size_t D, class Hit>
void add_crossings_of_convex(const Hit& hit, const Vec<D>& origin, const Vec<D>& direction, double farthest,
                             bool is_thin, double limit, std::vector<RayCrossing<D>>& found) {
  Vec<D> normal{};
  const double enters = hit(origin, direction, &normal);
  if (!(enters <= limit && enters < std::numeric_limits<double>::infinity())) return;
  if (is_thin || enters > 0) found.push_back({enters, normal, -1});
  if (is_thin) return;
  // From there back. A power of two keeps round numbers round.
  int exponent;
  std::frexp(std::max(farthest, enters), &exponent);
  const double beyond = std::ldexp(1.0, exponent + 1);
  Vec<D> from, back;
  for (std::size_t k = 0; k < D; ++k) {
    from[k] = origin[k] + direction[k] * beyond;
    back[k] = -direction[k];
  }
  Vec<D> other{};
  const double left = hit(from, back, &other);
  // Rounding may hide one of two crossings that are in one place.
  const bool is_known = left < std::numeric_limits<double>::infinity() && beyond - left >= enters;
  const double leaves = is_known ? beyond - left : enters;
  if (leaves <= limit) found.push_back({leaves, is_known ? other : direction, -1});
}

// A time at which a ray from the origin has left a box for sure, not much shorter than the box.
template <std::size_t D>
double time_beyond(const Vec<D>& lower, const Vec<D>& upper, const Vec<D>& origin, const Vec<D>& direction) {
  double time = 0, size = 0;
  for (std::size_t k = 0; k < D; ++k) {
    time += std::max((lower[k] - origin[k]) * direction[k], (upper[k] - origin[k]) * direction[k]);
    size += upper[k] - lower[k];
  }
  return std::max({time, 0x1p-10 * size, 0x1p-500});
}

template <std::size_t D>
void add_crossings_of_simple(const ShapeView<D>& shape, const Vec<D>& origin, const Vec<D>& direction, double limit,
                             std::vector<RayCrossing<D>>& found) {
  for_each_simple<D>(shape, [&](const ShapeView<D>& part) {
    ShapeBounds<D> bounds;
    add_bounds<D>(part, bounds);
    add_crossings_of_convex<D>(
        [&](const Vec<D>& from, const Vec<D>& way, Vec<D>* normal) { return ray_hit(part, from, way, normal); }, origin,
        direction, time_beyond<D>(bounds.lower, bounds.upper, origin, direction), is_thin(part), limit, found);
    return true;
  });
}

// The direction is not rounded to length 1: rays in round numbers pass through vertices in round numbers.
inline void add_crossings_of_mesh(const MeshSide& mesh, const Vec<3>& origin, const Vec<3>& direction, double limit,
                                  std::vector<RayCrossing<3>>& found) {
  using namespace solid;
  const MeshRay ray(mesh, origin, direction);
  const double length = std::sqrt(squared(direction)), last = limit / length;
  ray.walk(last, [&](std::int32_t face) {
    const MeshRay::Seen corners = ray.seen(face);
    const std::array<double, 3> areas{MeshRay::side(corners[0], corners[1]), MeshRay::side(corners[1], corners[2]),
                                      MeshRay::side(corners[2], corners[0])};
    const int side = side_of_edge(corners[0], corners[1], areas[0]);
    if (side == 0 || side_of_edge(corners[1], corners[2], areas[1]) != side ||
        side_of_edge(corners[2], corners[0], areas[2]) != side)
      return last;
    const double time = ray.time(corners, areas) * length + 0.0;  // makes 0.0 of -0.0
    if (!(time >= 0 && time <= limit)) return last;
    const MeshTree& tree = mesh.tree();
    const Vec3 p = vector_at(std::span(tree.corner(face, 0), 3), 0),
               q = vector_at(std::span(tree.corner(face, 1), 3), 0),
               r = vector_at(std::span(tree.corner(face, 2), 3), 0);
    const Vec3 own = normal_of({q - p, r - q, p - r});
    found.push_back(
        {time, unit(mesh.axis(0) * own[0] + mesh.axis(1) * own[1] + mesh.axis(2) * own[2]), mesh.row_of(face)});
    return last;
  });
}

template <std::size_t D>
void sort_crossings(std::vector<RayCrossing<D>>& found) {
  std::stable_sort(found.begin(), found.end(), [](const RayCrossing<D>& a, const RayCrossing<D>& b) {
    return a.time != b.time ? a.time < b.time : a.face < b.face;
  });
}

}  // namespace detail

// A ray: its direction with length 1, and as it was given but for a power of two, its largest number near 1.
template <std::size_t D>
struct CrossingRay {
  Vec<D> origin, direction, given;
};

// Replaces `found` by the crossings of a ray at distances from 0 to `limit`, in their order; at one distance, by the
// row of the face. A ray of zero direction has none.
inline void ray_crossings(const ShapeView<2>& shape, const CrossingRay<2>& ray, double limit,
                          std::vector<RayCrossing<2>>& found) {
  const auto& [origin, direction, given] = ray;
  found.clear();
  if (direction == Vec<2>{}) return;
  detail::add_crossings_of_simple<2>(shape, origin, direction, limit, found);
  detail::sort_crossings(found);
}

inline void ray_crossings(const MeshSide& shape, const CrossingRay<3>& ray, double limit,
                          std::vector<RayCrossing<3>>& found) {
  const auto& [origin, direction, given] = ray;
  found.clear();
  if (direction == Vec<3>{}) return;
  if (shape.is_mesh()) {
    detail::add_crossings_of_mesh(shape, origin, given, limit, found);
  } else if (const Element& alone = shape.alone(); alone.polytope == nullptr) {
    detail::add_crossings_of_simple<3>(alone.shape, origin, direction, limit, found);
  } else {
    const double reach = std::ldexp(2 * alone.polytope->reach(), alone.polytope->exponent());
    Vec<3> lower, upper;
    for (std::size_t k = 0; k < 3; ++k) {
      double middle = alone.shape.record[1 + k];
      for (std::size_t i = 0; i < 3; ++i)
        middle += std::ldexp(alone.polytope->middle()[i], alone.polytope->exponent()) * shape.axis(i)[k];
      lower[k] = middle - reach;
      upper[k] = middle + reach;
    }
    detail::add_crossings_of_convex<3>(
        [&](const Vec<3>& from, const Vec<3>& way, Vec<3>* normal) { return ray_hit(alone, from, way, normal); },
        origin, direction, detail::time_beyond<3>(lower, upper, origin, direction), false, limit, found);
  }
  detail::sort_crossings(found);
}

}  // namespace broadphase
