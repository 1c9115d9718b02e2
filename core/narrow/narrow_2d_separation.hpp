// Whether two rounded polygons overlap, how far they are apart or how deep in each other, and by which features.
//
// The signed distance of two convex sets is the largest, over all directions, of the gap between them along it. Where
// they overlap, that is along a normal of an edge of either; where they are apart, along such a normal, or from a
// corner of one to a corner of the other. A gap along any direction whatever is never more than the distance: an edge
// of no account, a few rounding errors long, may point anywhere and does no harm, as long as the gap is taken from the
// whole of its polygon and not only from its own line.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "narrow/narrow_2d_rounded.hpp"

namespace broadphase::narrow_2d {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Relative to the largest coordinate. Polygons less deep than kShallow in each other along every normal may be apart
// all the same: on one line, or so nearly that the corners' own rounding decides. They are looked at more closely. Much
// larger, and shapes at rest on each other take the longer way; not above the rounding of placed corners, and needles
// far from the origin overlap what lies in front of them.
inline constexpr double kShallow = 1e-12;
// What remains after a few subtractions and a product: less is no distance.
inline constexpr double kRounding = 1e-15;

enum class Feature : unsigned char {
  kCorners,       // a corner of each
  kEdgeOfFirst,   // an edge of the first, a corner of the second
  kEdgeOfSecond,  // a corner of the first, an edge of the second
};

// How two polygons lie to each other, their radii left aside.
struct Separation {
  double distance = -kInfinity;  // minus the depth where they overlap
  Vec<2> normal{1, 0};           // unit, from the first to the second
  Feature feature = Feature::kCorners;
  std::size_t first = 0, second = 0;  // corners, or the corner where the edge begins
};

// The least that a corner of `other` lies outside an edge, times the edge's length.
inline double least_outside(const Edge& edge, const Rounded& other) {
  double least = edge.outside(other.x(0), other.y(0));
  for (std::size_t k = 1; k < other.count; ++k) {
    const double outside = edge.outside(other.x(k), other.y(k));
    least = outside < least ? outside : least;
  }
  return least;
}

inline double most_outside(const Edge& edge, const Rounded& other) {
  double most = edge.outside(other.x(0), other.y(0));
  for (std::size_t k = 1; k < other.count; ++k) {
    const double outside = edge.outside(other.x(k), other.y(k));
    most = outside > most ? outside : most;
  }
  return most;
}

// What an edge's own polygon has outside it: nothing, but for rounding and for edges that are nothing else.
inline double overhang(const Edge& edge, const Rounded& polygon) {
  const double most = most_outside(edge, polygon);
  return most > 0 ? most : 0;
}

inline std::size_t innermost_corner(const Edge& edge, const Rounded& other) {
  std::size_t innermost = 0;
  double least = edge.outside(other.x(0), other.y(0));
  for (std::size_t k = 1; k < other.count; ++k) {
    const double outside = edge.outside(other.x(k), other.y(k));
    if (outside < least) {
      least = outside;
      innermost = k;
    }
  }
  return innermost;
}

// Raises `best` to the largest gap along a normal of `polygon`.
inline void raise_by_edges(const Rounded& polygon, const Rounded& other, bool polygon_is_first, Separation& best) {
  for (std::size_t k = 0; k < polygon.count; ++k) {
    const Edge edge(polygon, k);
    const double length = std::sqrt(edge.squared_length());
    if (length == 0) continue;
    const double outside = least_outside(edge, other);
    if (!(outside > best.distance * length)) continue;
    const double gap = (outside - overhang(edge, polygon)) / length;
    if (!(gap > best.distance)) continue;
    const Vec<2> normal = edge.normal(length);
    best.distance = gap;
    if (polygon_is_first) {
      best.normal = normal;
      best.feature = Feature::kEdgeOfFirst;
      best.first = k;
    } else {
      best.normal = {-normal[0], -normal[1]};
      best.feature = Feature::kEdgeOfSecond;
      best.second = k;
    }
  }
}

// The features of two polygons that are next to each other: those of least distance. Found by looking at all.
struct Closest {
  double squared = kInfinity;
  Feature feature = Feature::kCorners;
  std::size_t first = 0, second = 0;
};

// Corners of `other`, moved by `shift`, that lie beside an edge.
inline void lower_by_edges(const Rounded& polygon, const Rounded& other, const Vec<2>& shift, bool polygon_is_first,
                           Closest& best) {
  for (std::size_t k = 0; k < polygon.lines(); ++k) {
    const Edge edge(polygon, k);
    const double squared_length = edge.squared_length();
    if (squared_length == 0) continue;
    for (std::size_t corner = 0; corner < other.count; ++corner) {
      const double px = other.x(corner) + shift[0], py = other.y(corner) + shift[1];
      const double along = (px - edge.x) * edge.dx + (py - edge.y) * edge.dy;
      if (!(along > 0 && along < squared_length)) continue;
      const double outside = edge.outside(px, py);
      const double squared = outside / squared_length * outside;
      if (!(squared < best.squared)) continue;
      best.squared = squared;
      best.feature = polygon_is_first ? Feature::kEdgeOfFirst : Feature::kEdgeOfSecond;
      best.first = polygon_is_first ? k : corner;
      best.second = polygon_is_first ? corner : k;
    }
  }
}

// With `a` moved by `shift`.
inline Closest closest_features(const Rounded& a, const Rounded& b, const Vec<2>& shift = {0, 0}) {
  Closest best;
  for (std::size_t i = 0; i < a.count; ++i) {
    const double x = a.x(i) + shift[0], y = a.y(i) + shift[1];
    for (std::size_t j = 0; j < b.count; ++j) {
      const double dx = b.x(j) - x, dy = b.y(j) - y;
      const double squared = dx * dx + dy * dy;
      if (squared < best.squared) best = {squared, Feature::kCorners, i, j};
    }
  }
  if (a.count > 1) lower_by_edges(a, b, {-shift[0], -shift[1]}, true, best);
  if (b.count > 1) lower_by_edges(b, a, shift, false, best);
  return best;
}

// The distance and direction of features that are apart: from the numbers given, not from points worked out of them.
inline Separation separation_of(const Closest& closest, const Rounded& a, const Rounded& b) {
  Separation result{.feature = closest.feature, .first = closest.first, .second = closest.second};
  if (closest.feature == Feature::kCorners) {
    const double dx = b.x(closest.second) - a.x(closest.first), dy = b.y(closest.second) - a.y(closest.first);
    result.distance = std::sqrt(closest.squared);
    if (result.distance > 0) result.normal = {dx / result.distance, dy / result.distance};
    return result;
  }
  const bool of_first = closest.feature == Feature::kEdgeOfFirst;
  const Edge edge = of_first ? Edge(a, closest.first) : Edge(b, closest.second);
  const double outside = of_first ? edge.outside(b.x(closest.second), b.y(closest.second))
                                  : edge.outside(a.x(closest.first), a.y(closest.first));
  const double length = std::sqrt(edge.squared_length());
  // A segment's edge stands for the one that leads back as well.
  const double sign = (outside < 0) == of_first ? -1 : 1;
  const Vec<2> normal = edge.normal(length);
  result.distance = std::abs(outside) / length;
  result.normal = {sign * normal[0], sign * normal[1]};
  return result;
}

// Whether a corner is in front of an edge, between its ends and no farther off than a gap: then no features are closer.
inline bool is_across(const Rounded& polygon, std::size_t k, const Rounded& other, std::size_t corner, double gap) {
  const Edge edge(polygon, k);
  const double x = other.x(corner), y = other.y(corner), squared_length = edge.squared_length();
  const double along = (x - edge.x) * edge.dx + (y - edge.y) * edge.dy;
  return along >= 0 && along <= squared_length && edge.outside(x, y) <= gap * std::sqrt(squared_length);
}

inline Separation separation(const Rounded& a, const Rounded& b) {
  Separation best;
  if (a.count > 1) raise_by_edges(a, b, true, best);
  if (b.count > 1) raise_by_edges(b, a, false, best);
  const double scale = magnitude(a) + magnitude(b);
  if (best.feature == Feature::kEdgeOfFirst) best.second = innermost_corner(Edge(a, best.first), b);
  if (best.feature == Feature::kEdgeOfSecond) best.first = innermost_corner(Edge(b, best.second), a);
  if (best.feature != Feature::kCorners) {
    if (best.distance < -kShallow * scale) return best;
    const double gap = best.distance + kRounding * scale;
    if (best.distance > kShallow * scale &&
        (best.feature == Feature::kEdgeOfFirst ? is_across(a, best.first, b, best.second, gap)
                                               : is_across(b, best.second, a, best.first, gap)))
      return best;
  }
  const Separation closest = separation_of(closest_features(a, b), a, b);
  if (best.feature == Feature::kCorners) return closest;  // two points
  // Polygons that overlap have a corner of one as near to an edge of the other as they are deep.
  const double certain = best.distance > 0 ? 0 : -best.distance;
  return closest.distance > certain + kRounding * scale ? closest : best;
}

// What the edges of `polygon` say. `shallow` is a distance.
enum class Verdict : unsigned char { kOverlap, kShallow, kApart, kFarApart };

inline Verdict verdict_by_edges(const Rounded& polygon, const Rounded& other, double reach, double shallow) {
  Verdict verdict = Verdict::kOverlap;
  for (std::size_t k = 0; k < polygon.lines(); ++k) {
    const Edge edge(polygon, k);
    double outside = least_outside(edge, other);
    if (polygon.count == 2) {
      const double behind = -most_outside(edge, other);
      outside = behind > outside ? behind : outside;
    }
    // The sum is the length or up to 1.4 times as much, and needs no root.
    if (outside < -shallow * (std::abs(edge.dx) + std::abs(edge.dy))) continue;
    outside -= overhang(edge, polygon);
    if (outside > 0) {
      if (reach == 0 || outside > reach * std::sqrt(edge.squared_length())) return Verdict::kFarApart;
      verdict = Verdict::kApart;
    } else if (verdict == Verdict::kOverlap) {
      verdict = Verdict::kShallow;
    }
  }
  return verdict;
}

// Signs are those of products of differences, so corners on a lattice are judged exactly.
inline bool overlaps(const Rounded& a, const Rounded& b) {
  const double reach = a.radius + b.radius;
  const double shallow = kShallow * (magnitude(a) + magnitude(b));
  const Verdict first = a.count > 1 ? verdict_by_edges(a, b, reach, shallow) : Verdict::kOverlap;
  if (first == Verdict::kFarApart) return false;
  const Verdict second = b.count > 1 ? verdict_by_edges(b, a, reach, shallow) : Verdict::kOverlap;
  if (second == Verdict::kFarApart) return false;
  if (first == Verdict::kApart || second == Verdict::kApart || a.count + b.count == 2)
    return closest_features(a, b).squared <= reach * reach;
  if (first == Verdict::kOverlap && second == Verdict::kOverlap) return true;
  return separation(a, b).distance <= reach;
}

}  // namespace broadphase::narrow_2d
