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

#include "narrow/narrow_2d_separation.hpp"

namespace broadphase::narrow_2d {

struct Approach {
  Vec<2> motion;
  double squared_speed, speed;  // of the motion: its length
  double reach;                 // sum of the radii
  double time;                  // they cannot have touched before
  Vec<2> normal;                // of what decides that, from the moving one to the other
  bool parting = false;
};

// An edge at a smaller angle than this to the motion, in radians, is slid along and not run into.
inline constexpr double kSliding = 1e-15;

// `sign` is 1 if the polygon is the one that moves, -1 if it is the other. Gaps and what closes them are both times the
// length of the edge, so that times are quotients of numbers that a lattice keeps exact.
inline void approach_edges(const Rounded& polygon, const Rounded& other, double sign, Approach& approach) {
  for (std::size_t k = 0; k < polygon.count; ++k) {
    const Edge edge(polygon, k);
    const double length = std::sqrt(edge.squared_length());
    if (length == 0) continue;
    const double closing = sign * (edge.dy * approach.motion[0] - edge.dx * approach.motion[1]);
    const bool is_ahead = closing > kSliding * length * approach.speed;
    double gap = least_outside(edge, other) - approach.reach * length;
    if (is_ahead ? !(gap > approach.time * closing) : !(closing <= 0 && gap > 0)) continue;
    gap -= overhang(edge, polygon);
    if (is_ahead) {
      if (gap > approach.time * closing) {
        approach.time = gap / closing;
        const Vec<2> outward = edge.normal(length);
        approach.normal = {sign * outward[0], sign * outward[1]};
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

// When a corner that moves is on the disc around another. It does meet it, but for rounding.
inline double time_of_corners(const Rounded& a, const Rounded& b, const Closest& closest, Approach& approach) {
  const double dx = b.x(closest.second) - a.x(closest.first), dy = b.y(closest.second) - a.y(closest.first);
  const Vec<2>& m = approach.motion;
  const double middle = m[0] * dx + m[1] * dy;
  if (middle < 0) return kInfinity;  // it moves away
  const double aside = m[0] * dy - m[1] * dx;
  const double inside = approach.reach * approach.reach * approach.squared_speed - aside * aside;
  const double met = (middle - std::sqrt(inside > 0 ? inside : 0)) / approach.squared_speed;
  const double time = met > approach.time ? met : approach.time;
  const double nx = dx - time * m[0], ny = dy - time * m[1];
  const double length = std::sqrt(nx * nx + ny * ny);
  if (length > 0) approach.normal = {nx / length, ny / length};
  return time;
}

// The first t >= 0 at which `a`, moved by t * motion, touches `b`; infinity if it never does. The normal, from a to b
// when they touch, is left alone then. Precondition: they do not overlap.
inline double first_touch(const Rounded& a, const Vec<2>& motion, const Rounded& b, Vec<2>* normal) {
  // A motion of about 1, whatever the speed: a power of two changes none of its digits.
  int exponent = 0;
  std::frexp(std::abs(motion[0]) > std::abs(motion[1]) ? motion[0] : motion[1], &exponent);
  const Vec<2> m{std::ldexp(motion[0], -exponent), std::ldexp(motion[1], -exponent)};
  const double squared_speed = m[0] * m[0] + m[1] * m[1];
  if (squared_speed == 0) return kInfinity;
  const double speed = std::sqrt(squared_speed), reach = a.radius + b.radius;
  const Range sides = range_along(a, b, {-m[1], m[0]});
  // Where it passes: all of the other on one side, and farther off than the radii. Squares are exact on a lattice.
  const double aside = sides.least > 0 ? sides.least : sides.most < 0 ? sides.most : 0;
  if (aside * aside > reach * reach * squared_speed) return kInfinity;
  const Range ahead = range_along(a, b, m);
  if (ahead.most < -reach * speed) return kInfinity;
  const double nearest = ahead.least - reach * speed;
  Approach approach{.motion = m,
                    .squared_speed = squared_speed,
                    .speed = speed,
                    .reach = reach,
                    .time = nearest > 0 ? nearest / squared_speed : 0,
                    .normal = {m[0] / speed, m[1] / speed}};
  if (a.count > 1) approach_edges(a, b, 1, approach);
  if (b.count > 1 && !approach.parting) approach_edges(b, a, -1, approach);
  if (approach.parting) return kInfinity;
  if (reach > 0) {
    const Closest closest = closest_features(a, b, {approach.time * m[0], approach.time * m[1]});
    if (closest.feature == Feature::kCorners) {
      approach.time = time_of_corners(a, b, closest, approach);
      if (approach.time == kInfinity) return kInfinity;
    }
  }
  *normal = approach.normal;
  return std::ldexp(approach.time, -exponent);
}

}  // namespace broadphase::narrow_2d
