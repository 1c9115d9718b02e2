// Simplexes of the Minkowski difference of two convex cores, and their points nearest to the origin.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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

  // Those corners of three that have shares.
  void keep(const std::array<std::size_t, 3>& rows, const std::array<double, 3>& shares) {
    std::array<Corner, 3> kept;
    count = 0;
    for (std::size_t k = 0; k < 3; ++k)
      if (shares[k] > 0) {
        kept[count] = corners[rows[k]];
        kept[count++].share = shares[k];
      }
    std::copy_n(kept.begin(), count, corners.begin());
  }
};

// Its point nearest to the origin, as the shares say.
template <class Name>
inline Vec3 nearest_of(const Simplex<Name>& s) {
  Vec3 at{};
  for (std::size_t k = 0; k < s.count; ++k) at = at + s.corners[k].at * s.corners[k].share;
  return at;
}

// The point of a segment or a triangle that is nearest to the origin, and the shares of its corners: 0 for those that
// it does not need.
struct NearestPoint {
  Vec3 at{};
  std::array<double, 3> shares{};
};

inline NearestPoint nearest_of(const Vec3& a, const Vec3& b) {
  const Vec3 edge = b - a;
  const double along = -dot(a, edge), length = squared(edge);
  if (!(along > 0)) return {a, {1, 0, 0}};
  if (along >= length) return {b, {0, 1, 0}};
  const double share = along / length;
  return {solid::without(a, edge, length), {1 - share, share, 0}};
}

inline NearestPoint nearest_of(const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 normal = cross(b - a, c - a);
  const double size = squared(normal);
  // Twice the areas of the triangles that the origin makes with the edges, times that of all.
  const double x = dot(cross(b, c), normal), y = dot(cross(c, a), normal), z = dot(cross(a, b), normal);
  if (size > 0 && x > 0 && y > 0 && z > 0) {
    const double sum = x + y + z;
    return {normal * (dot(normal, a) / size), {x / sum, y / sum, z / sum}};
  }
  // On an edge: on one that the origin is beyond, or on any if there is no normal.
  NearestPoint nearest;
  double least = kInfinity;
  const auto look_at = [&](const Vec3& one, const Vec3& two, std::size_t first, std::size_t second) {
    const NearestPoint edge = nearest_of(one, two);
    const double far = squared(edge.at);
    if (!(far < least)) return;
    least = far;
    nearest.at = edge.at;
    nearest.shares = {};
    nearest.shares[first] = edge.shares[0];
    nearest.shares[second] = edge.shares[1];
  };
  if (!(size > 0 && z > 0)) look_at(a, b, 0, 1);
  if (!(size > 0 && x > 0)) look_at(b, c, 1, 2);
  if (!(size > 0 && y > 0)) look_at(c, a, 2, 0);
  return nearest;
}

template <class Name>
inline Vec3 nearest_of_segment(Simplex<Name>& s) {
  const NearestPoint nearest = nearest_of(s.corners[0].at, s.corners[1].at);
  s.keep({0, 1, 1}, nearest.shares);
  return nearest.at;
}

template <class Name>
inline Vec3 nearest_of_triangle(Simplex<Name>& s) {
  const NearestPoint nearest = nearest_of(s.corners[0].at, s.corners[1].at, s.corners[2].at);
  s.keep({0, 1, 2}, nearest.shares);
  return nearest.at;
}

// The faces of a tetrahedron: three corners, and the one that is not of it.
inline constexpr std::array<std::array<std::size_t, 4>, 4> kFacesOfFour = {
    {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}}};

// Its point on the surface of a tetrahedron that is nearest to the origin. Keeps all corners.
template <class Name>
inline Vec3 nearest_of_faces(const Simplex<Name>& s) {
  Vec3 nearest{};
  double least = kInfinity;
  for (std::size_t left_out = 0; left_out < 4; ++left_out) {
    std::array<Vec3, 3> of_face;
    for (std::size_t k = 0, count = 0; k < 4; ++k)
      if (k != left_out) of_face[count++] = s.corners[k].at;
    const Vec3 point = nearest_of(of_face[0], of_face[1], of_face[2]).at;
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
  NearestPoint nearest;
  const std::array<std::size_t, 4>* rows = nullptr;
  double least = kInfinity;
  for (const auto& face : kFacesOfFour) {
    const Vec3 &a = s.corners[face[0]].at, &b = s.corners[face[1]].at, &c = s.corners[face[2]].at;
    const Vec3 normal = cross(b - a, c - a);
    const double other = dot(normal, s.corners[face[3]].at - a), origin = -dot(normal, a);
    if (other * origin > 0) continue;
    const NearestPoint of_face = nearest_of(a, b, c);
    if (const double far = squared(of_face.at); far < least) {
      least = far;
      nearest = of_face;
      rows = &face;
    }
  }
  if (rows != nullptr) s.keep({(*rows)[0], (*rows)[1], (*rows)[2]}, nearest.shares);
  return nearest.at;
}

}  // namespace broadphase::polytopes
