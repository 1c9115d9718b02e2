// Flat convex polygons of a few corners: the features of cores at which they touch, and how one is cut by another.
#pragma once

#include "narrow/narrow_3d_gap.hpp"

namespace broadphase::solid {

// A face, an edge or a corner of a core. Four corners cut by four planes are eight at most.
struct Feature {
  static constexpr std::size_t kMostCorners = 8;
  std::size_t count = 0;
  std::array<Vec3, kMostCorners> corners{};
  Vec3 normal{};  // of a face: a unit vector out of it

  void add(const Vec3& corner) {
    if (count < kMostCorners) corners[count++] = corner;
  }
};

// Directions this close are taken for one: 1 - cosine, and cosine of what is perpendicular.
inline constexpr double kSameDirection = 5e-7, kPerpendicular = 1e-3;

inline Feature face_of(const BoxCore& a, std::size_t k, double side) {
  const std::size_t i = (k + 1) % 3, j = (k + 2) % 3;
  const Vec3 middle = a.centre + a.axes[k] * (side * a.half[k]);
  const Vec3 x = a.axes[i] * a.half[i], y = a.axes[j] * a.half[j];
  return {4, {middle - x - y, middle + x - y, middle + x + y, middle - x + y}, a.axes[k] * side};
}

// A face this narrow, relative to its length, is an edge: rounding hides which of its sides is inside.
inline constexpr double kNarrow = 1e-9;

// The face whose normal is `n`, a unit vector: of no corners if there is none.
inline Feature face_along(const SegmentCore&, const Vec3&) { return {}; }
inline Feature face_along(const TriangleCore& a, const Vec3& n) {
  const Vec3 normal = unit(a.normal);
  const double along = dot(normal, n);
  if (std::fabs(along) < 1 - kSameDirection) return {};
  const double size = magnitude(a);
  if (squared(a.normal) <= kNarrow * kNarrow * size * size * size * size) return {};
  return {3, {a.corners[0], a.corners[1], a.corners[2]}, along > 0 ? normal : -normal};
}
inline Feature face_along(const BoxCore& a, const Vec3& n) {
  for (std::size_t k = 0; k < 3; ++k) {
    const double along = dot(a.axes[k], n);
    if (std::fabs(along) < 1 - kSameDirection) continue;
    const double narrow = kNarrow * magnitude(a);
    if (a.half[(k + 1) % 3] <= narrow || a.half[(k + 2) % 3] <= narrow) return {};
    return face_of(a, k, along > 0 ? 1 : -1);
  }
  return {};
}

// What looks most along `n`: a face of what has any.
inline Feature facing(const SegmentCore& a, const Vec3&) { return {2, {a.begin, a.end}, {}}; }
inline Feature facing(const TriangleCore& a, const Vec3&) {
  return {3, {a.corners[0], a.corners[1], a.corners[2]}, {}};
}
inline Feature facing(const BoxCore& a, const Vec3& n) {
  std::size_t most = 0;
  for (std::size_t k = 1; k < 3; ++k)
    if (std::fabs(dot(a.axes[k], n)) > std::fabs(dot(a.axes[most], n))) most = k;
  return face_of(a, most, dot(a.axes[most], n) > 0 ? 1 : -1);
}

// Of edges that may be the outermost along a direction, the one that falls back the least; of those that fall back
// equally little but for rounding, as all edges of a needle do, the longest.
struct OutermostEdge {
  double size;  // of the core
  double drop = kNever, length = 0;

  // Whether this is the best so far: `fall`, at most, from the outermost corner to either end.
  bool take(double fall, double extent) {
    const double even = kNarrow * size;
    if (fall > kPerpendicular * extent || fall > drop + even || (fall >= drop - even && extent <= length)) return false;
    drop = fall;
    length = extent;
    return true;
  }
};

// The outermost edge along `n`, if one is perpendicular to it, or else the outermost corner.
inline Feature outermost(const SegmentCore& a, const Vec3& n) {
  const double along = dot(a.edge, n);
  if (std::fabs(along) <= kPerpendicular * std::sqrt(squared(a.edge))) return {2, {a.begin, a.end}, {}};
  return {1, {along > 0 ? a.end : a.begin}, {}};
}
inline Feature outermost(const TriangleCore& a, const Vec3& n) {
  const std::array<double, 3> along = {dot(a.corners[0], n), dot(a.corners[1], n), dot(a.corners[2], n)};
  std::size_t top = 0;
  for (std::size_t k = 1; k < 3; ++k)
    if (along[k] > along[top]) top = k;
  OutermostEdge edge{magnitude(a)};
  Feature best{1, {a.corners[top]}, {}};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t next = (k + 1) % 3;
    const double lower = along[k] < along[next] ? along[k] : along[next];
    if (edge.take(along[top] - lower, std::sqrt(squared(a.edges[k])))) best = {2, {a.corners[k], a.corners[next]}, {}};
  }
  return best;
}
inline Feature outermost(const BoxCore& a, const Vec3& n) {
  OutermostEdge edge{magnitude(a)};
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

// What of a feature lies on the inner side of a plane: where dot(normal, x) <= limit. A corner no more than `slack`
// beyond it is kept where it is.
inline Feature cut(const Feature& feature, const Vec3& normal, double limit, double slack) {
  Feature result{};
  const std::size_t n = feature.count;
  for (std::size_t k = 0; k < n; ++k) {
    const Vec3& here = feature.corners[k];
    const Vec3& next = feature.corners[(k + 1) % n];
    const double at = dot(normal, here) - limit, then = dot(normal, next) - limit;
    if (at <= slack) result.add(here);
    // An edge alone is not closed: it goes there and does not come back.
    const bool is_way_back = n == 2 && k == 1;
    if (!is_way_back && ((at < 0 && then > slack) || (at > slack && then < 0)))
      result.add(here + (next - here) * (at / (at - then)));
  }
  return result;
}

// What of a feature lies between the sides of a face; those may be listed either way round.
inline Feature cut_by_sides(Feature feature, const Feature& face, double slack) {
  const Vec3 middle = (face.corners[0] + face.corners[face.count / 2]) * 0.5;
  for (std::size_t k = 0; k < face.count; ++k) {
    const Vec3& corner = face.corners[k];
    const Vec3 side = cross(face.normal, face.corners[(k + 1) % face.count] - corner);
    const double length = squared(side);
    if (!(length > 0)) continue;
    // A triangle's middle of two corners is on one side: the third corner tells for that one.
    const Vec3& inner = face.count == 3 ? face.corners[(k + 2) % 3] : middle;
    const Vec3 outward = side * ((dot(side, inner - corner) > 0 ? -1.0 : 1.0) / std::sqrt(length));
    feature = cut(feature, outward, dot(outward, corner), slack);
  }
  return feature;
}

}  // namespace broadphase::solid
