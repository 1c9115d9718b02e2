// When a rounded polygon that moves first touches another that does not; a ray is the motion of a point.
//
// Seen from the moving one, this is a ray against all differences of a point of one and a point of the other: again a
// rounded polygon. Nothing is stepped and nothing iterated, so no speed is too large:
// 1. Does the line of the ray meet it at all? Seen along the line, is there something on both sides.
// 2. Along every normal of an edge, when is the gap closed? Not before the latest of these. There the ray enters the
//    polygon whose edges are those of the rounded one and whose corners are sharp.
// 3. It is at an edge, and done, or in front of a round corner, the nearest. Then it meets the disc of that corner, or
//    leaves past the corner without having met anything, which the first step has ruled out.
#pragma once

#include <cmath>
#include <cstddef>

#include "broadphase/narrow_2d_separation.hpp"

namespace broadphase::narrow_2d {

struct Approach {
  Vec<2> direction;  // unit
  double reach;      // sum of the radii
  double place;      // how far along the direction they can not have touched before
  Vec<2> normal;     // of what decides that, from the moving one to the other
  bool parting = false;
};

// An edge at a smaller angle than this to the motion, in radians, is slid along and not run into.
inline constexpr double kSliding = 1e-15;

// `sign` is 1 if the polygon is the one that moves, -1 if it is the other.
inline void approach_edges(const Rounded& polygon, const Rounded& other, double sign, Approach& approach) {
  for (std::size_t k = 0; k < polygon.count; ++k) {
    const Edge edge(polygon, k);
    const double length = std::sqrt(edge.squared_length());
    if (length == 0) continue;
    const Vec<2> outward = edge.normal(length);
    const Vec<2> normal{sign * outward[0], sign * outward[1]};
    const double speed = normal[0] * approach.direction[0] + normal[1] * approach.direction[1];
    double gap = least_outside(edge, other) / length - approach.reach;
    if (speed > kSliding) {
      if (!(gap > approach.place * speed)) continue;
    } else if (!(speed <= 0 && gap > 0)) {
      continue;
    }
    gap -= overhang(edge, polygon) / length;
    if (speed > kSliding) {
      if (gap > approach.place * speed) {
        approach.place = gap / speed;
        approach.normal = normal;
      }
    } else if (gap > 0) {
      approach.parting = true;
      return;
    }
  }
}

// Least and most of the products with `axis` of corners of b less corners of a.
struct Range {
  double least, most;
};

inline Range range_along(const Rounded& a, const Rounded& b, const Vec<2>& axis) {
  // From one of the corners, so that coordinates far from the origin cancel before they are multiplied.
  const double x = a.x(0), y = a.y(0);
  const auto range = [&](const Rounded& polygon) {
    Range found{kInfinity, -kInfinity};
    for (std::size_t k = 0; k < polygon.count; ++k) {
      const double at = axis[0] * (polygon.x(k) - x) + axis[1] * (polygon.y(k) - y);
      found.least = at < found.least ? at : found.least;
      found.most = at > found.most ? at : found.most;
    }
    return found;
  };
  const Range of_a = range(a), of_b = range(b);
  return {of_b.least - of_a.most, of_b.most - of_a.least};
}

// How far along the motion of a corner until it is on the disc of another. It does meet it, but for rounding.
inline double place_of_corners(const Rounded& a, const Rounded& b, const Closest& closest, Approach& approach) {
  const double dx = b.x(closest.second) - a.x(closest.first), dy = b.y(closest.second) - a.y(closest.first);
  const Vec<2>& u = approach.direction;
  const double middle = u[0] * dx + u[1] * dy;
  const double aside = std::abs(u[0] * dy - u[1] * dx);
  if (middle < 0) return kInfinity;  // it moves away
  const double inside = (approach.reach - aside) * (approach.reach + aside);
  const double met = middle - std::sqrt(inside > 0 ? inside : 0);
  const double place = met > approach.place ? met : approach.place;
  const double nx = dx - place * u[0], ny = dy - place * u[1];
  const double length = std::sqrt(nx * nx + ny * ny);
  approach.normal = length > 0 ? Vec<2>{nx / length, ny / length} : u;
  return place;
}

// The first t >= 0 at which `a`, moved by t * motion, touches `b`; infinity if it never does. The normal, from a to b
// when they touch, is left alone then. Precondition: they do not overlap.
inline double first_touch(const Rounded& a, const Vec<2>& motion, const Rounded& b, Vec<2>* normal) {
  const double speed = std::hypot(motion[0], motion[1]);
  if (!(speed > 0)) return kInfinity;
  Approach approach{
      .direction = {motion[0] / speed, motion[1] / speed}, .reach = a.radius + b.radius, .place = 0, .normal = {}};
  const Vec<2>& u = approach.direction;
  // By the motion as given, not as a unit vector: on a lattice, this is exact.
  const Range sides = range_along(a, b, {-motion[1], motion[0]});
  if (sides.least > approach.reach * speed || sides.most < -approach.reach * speed) return kInfinity;
  const Range ahead = range_along(a, b, u);
  if (ahead.most + approach.reach < 0) return kInfinity;
  approach.normal = u;
  const double nearest = ahead.least - approach.reach;
  approach.place = nearest > 0 ? nearest : 0;
  if (a.count > 1) approach_edges(a, b, 1, approach);
  if (b.count > 1 && !approach.parting) approach_edges(b, a, -1, approach);
  if (approach.parting) return kInfinity;
  if (approach.reach > 0) {
    const Closest closest = closest_features(a, b, {approach.place * u[0], approach.place * u[1]});
    if (closest.feature == Feature::kCorners) {
      approach.place = place_of_corners(a, b, closest, approach);
      if (approach.place == kInfinity) return kInfinity;
    }
  }
  *normal = approach.normal;
  return approach.place / speed;
}

}  // namespace broadphase::narrow_2d
