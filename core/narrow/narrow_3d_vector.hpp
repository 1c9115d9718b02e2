// Arithmetic of vectors in space, for the narrow phase.
#pragma once

#include <cmath>
#include <limits>

#include "shapes/shape.hpp"

namespace broadphase::solid {

using Vec3 = Vec<3>;

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// What is computed of coordinates is known to about this, relative to them.
inline constexpr double kRounding = 4e-16;

constexpr Vec3 operator+(const Vec3& a, const Vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
constexpr Vec3 operator-(const Vec3& a, const Vec3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
constexpr Vec3 operator-(const Vec3& a) { return {-a[0], -a[1], -a[2]}; }
constexpr Vec3 operator*(const Vec3& a, double s) { return {a[0] * s, a[1] * s, a[2] * s}; }

constexpr double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
constexpr double squared(const Vec3& a) { return dot(a, a); }
constexpr Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
constexpr bool is_zero(const Vec3& a) { return a[0] == 0 && a[1] == 0 && a[2] == 0; }
constexpr double clamped(double value, double lower, double upper) {
  return value < lower ? lower : value > upper ? upper : value;
}

inline Vec3 unit(const Vec3& a) { return a * (1 / std::sqrt(squared(a))); }

// What of `a` is perpendicular to `along`. Of a vector nearly along it, most digits of the first difference are lost,
// and what is left is not perpendicular: the second pass makes it so.
constexpr Vec3 without(const Vec3& a, const Vec3& along, double squared_along) {
  const Vec3 once = a - along * (dot(a, along) / squared_along);
  return once - along * (dot(once, along) / squared_along);
}

// A unit vector perpendicular to `a`, which is not zero: always the same one.
inline Vec3 perpendicular(const Vec3& a) {
  const double x = std::fabs(a[0]), y = std::fabs(a[1]), z = std::fabs(a[2]);
  const Vec3 least = x <= y && x <= z ? Vec3{1, 0, 0} : y <= z ? Vec3{0, 1, 0} : Vec3{0, 0, 1};
  return unit(cross(a, least));
}

// The square of the sine of an angle, a thousandth: below it, a product of two vectors has lost so many digits that it
// must be mended.
inline constexpr double kNearlyParallel = 1e-6;

// Perpendicular to both, also where they are nearly parallel; zero where they are parallel but for rounding.
inline Vec3 across(const Vec3& e, const Vec3& f) {
  const Vec3 normal = cross(e, f);
  const double ee = squared(e), limit = ee * squared(f), nn = squared(normal);
  if (nn > kNearlyParallel * limit) return normal;
  if (!(nn > 1e-24 * limit)) return {};
  return normal - e * (dot(normal, e) / ee);
}

}  // namespace broadphase::solid
