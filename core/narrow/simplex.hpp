// Simplexes of the Minkowski difference of two convex cores, and their points nearest to the origin.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <limits>

#include "narrow/narrow_3d.hpp"

namespace broadphase::polytopes {

using solid::Vec3, solid::dot, solid::cross, solid::squared;
using solid::operator+, solid::operator-, solid::operator*;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// `Name`: what names a corner of a core.
template <class Name>
struct Simplex {
  struct Corner {
    Vec3 at;  // a point of the difference: a corner of the second minus one of the first
    Name first, second;
    double share;  // of the point nearest to the origin
  };
  std::size_t count = 0;
  std::array<Corner, 4> corners;

  void keep(std::initializer_list<std::size_t> rows) {
    std::array<Corner, 4> kept;
    std::size_t size = 0;
    for (const std::size_t row : rows) kept[size++] = corners[row];
    corners = kept;
    count = size;
  }
};

// Its point nearest to the origin, as the shares say.
template <class Name>
inline Vec3 nearest_of(const Simplex<Name>& s) {
  Vec3 at{};
  for (std::size_t k = 0; k < s.count; ++k) at = at + s.corners[k].at * s.corners[k].share;
  return at;
}

template <class Name>
inline Vec3 nearest_of_segment(Simplex<Name>& s) {
  const Vec3 &a = s.corners[0].at, &b = s.corners[1].at, edge = b - a;
  const double along = -dot(a, edge), length = squared(edge);
  if (!(along > 0)) {
    s.keep({0});
  } else if (along >= length) {
    s.keep({1});
  } else {
    const double share = along / length;
    s.corners[0].share = 1 - share;
    s.corners[1].share = share;
    return solid::without(a, edge, length);
  }
  s.corners[0].share = 1;
  return s.corners[0].at;
}

template <class Name>
inline Vec3 nearest_of_triangle(Simplex<Name>& s) {
  const Vec3 a = s.corners[0].at, b = s.corners[1].at, c = s.corners[2].at;
  const Vec3 ab = b - a, ac = c - a, normal = cross(ab, ac);
  const double size = squared(normal);
  // Twice the areas of the triangles that the origin makes with the edges, times that of all.
  const double x = dot(cross(b, c), normal), y = dot(cross(c, a), normal), z = dot(cross(a, b), normal);
  if (size > 0 && x > 0 && y > 0 && z > 0) {
    const double sum = x + y + z;
    s.corners[0].share = x / sum;
    s.corners[1].share = y / sum;
    s.corners[2].share = z / sum;
    return normal * (dot(normal, a) / size);
  }
  // On an edge: on one that the origin is beyond, or on any if there is no normal.
  Simplex<Name> best;
  Vec3 nearest{};
  double least = kInfinity;
  const std::array<std::array<std::size_t, 2>, 3> edges = {{{0, 1}, {1, 2}, {2, 0}}};
  const std::array<double, 3> inside = {z, x, y};
  for (std::size_t k = 0; k < 3; ++k) {
    if (size > 0 && inside[k] > 0) continue;
    Simplex<Name> edge = s;
    edge.keep({edges[k][0], edges[k][1]});
    const Vec3 point = nearest_of_segment(edge);
    if (const double far = squared(point); far < least) {
      least = far;
      nearest = point;
      best = edge;
    }
  }
  s = best;
  return nearest;
}

// Its point on the surface of a tetrahedron that is nearest to the origin. Keeps all corners.
template <class Name>
inline Vec3 nearest_of_faces(const Simplex<Name>& s) {
  Vec3 nearest{};
  double least = kInfinity;
  for (std::size_t left_out = 0; left_out < 4; ++left_out) {
    Simplex<Name> triangle;
    for (std::size_t k = 0; k < 4; ++k)
      if (k != left_out) triangle.corners[triangle.count++] = s.corners[k];
    const Vec3 point = nearest_of_triangle(triangle);
    if (const double far = squared(point); far < least) {
      least = far;
      nearest = point;
    }
  }
  return nearest;
}

// If the origin is inside, all four corners are kept.
template <class Name>
inline Vec3 nearest_of_tetrahedron(Simplex<Name>& s) {
  constexpr std::array<std::array<std::size_t, 4>, 4> kFaces = {
      {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}}};
  Simplex<Name> best;
  Vec3 nearest{};
  double least = kInfinity;
  for (const auto& face : kFaces) {
    const Vec3 &a = s.corners[face[0]].at, &b = s.corners[face[1]].at, &c = s.corners[face[2]].at;
    const Vec3 normal = cross(b - a, c - a);
    const double other = dot(normal, s.corners[face[3]].at - a), origin = -dot(normal, a);
    if (other * origin > 0) continue;
    Simplex<Name> triangle = s;
    triangle.keep({face[0], face[1], face[2]});
    const Vec3 point = nearest_of_triangle(triangle);
    if (const double far = squared(point); far < least) {
      least = far;
      nearest = point;
      best = triangle;
    }
  }
  if (least < kInfinity) s = best;
  return nearest;
}

}  // namespace broadphase::polytopes
