// A ray and a disc, in closed form.
#pragma once

#include <cmath>
#include <limits>

#include "shapes/shape.hpp"

namespace broadphase::narrow_2d {

// As `ray_hit` of a disc: equal bit for bit to the general time of impact of a point (narrow_2d.cpp). `disc` is the
// record of a ball. `normal` may be null.
inline double ray_meets_disc(const double* disc, const Vec<2>& origin, const Vec<2>& direction, Vec<2>* normal) {
  constexpr double kNever = std::numeric_limits<double>::infinity(), kRounding = 1e-15;
  const double dx = disc[0] - origin[0], dy = disc[1] - origin[1], radius = disc[2];
  const double fastest = std::abs(direction[0]) > std::abs(direction[1]) ? direction[0] : direction[1];
  // The direction scaled to about 1 by a power of two, which rounds nothing: most are.
  Vec<2> m = direction;
  int exponent = 0;
  if (!(std::abs(fastest) >= 0.5 && std::abs(fastest) < 1)) {
    std::frexp(fastest, &exponent);
    m = {std::ldexp(direction[0], -exponent), std::ldexp(direction[1], -exponent)};
  }
  const double squared_speed = m[0] * m[0] + m[1] * m[1];
  if (dx * dx + dy * dy <= radius * radius) {
    if (normal != nullptr) {
      const double squared = direction[0] * direction[0] + direction[1] * direction[1];
      *normal = {0, 0};
      if (squared > 0) *normal = {-direction[0] / std::sqrt(squared), -direction[1] / std::sqrt(squared)};
    }
    return 0;
  }
  const double aside = m[0] * dy - m[1] * dx, ahead = m[0] * dx + m[1] * dy;
  if (squared_speed == 0 || ahead < 0 || aside * aside > radius * radius * squared_speed) return kNever;
  const double speed = std::sqrt(squared_speed), nearest = ahead - radius * speed;
  const double earliest = nearest > 0 ? nearest / squared_speed : 0;
  const double inside = radius * radius * squared_speed - aside * aside;
  const double met = (ahead - std::sqrt(inside > 0 ? inside : 0)) / squared_speed;
  const double time = radius > 0 && met > earliest ? met : earliest;
  if (normal != nullptr) {
    const double nx = dx - time * m[0], ny = dy - time * m[1], length = std::sqrt(nx * nx + ny * ny);
    // For radii of almost 0, this direction is mere rounding.
    *normal = radius > 0 && length > 16 * kRounding * (std::abs(dx) + std::abs(dy))
                  ? Vec<2>{-nx / length, -ny / length}
                  : Vec<2>{-m[0] / speed, -m[1] / speed};
  }
  return exponent == 0 ? time : std::ldexp(time, -exponent);
}

}  // namespace broadphase::narrow_2d
