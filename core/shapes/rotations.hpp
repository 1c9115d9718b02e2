// Rotations in space: unit quaternions, and how they go on by a rotation vector.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace broadphase {

using Quaternion = std::array<double, 4>;  // w, x, y, z

// cos(angle) and sin(angle) / angle of half the angle by which an angular velocity turns in the time.
struct HalfTurn {
  double cosine, sine_by_angle;

  explicit HalfTurn(const std::array<double, 3>& half) {
    const double square = half[0] * half[0] + half[1] * half[1] + half[2] * half[2];
    // Up to one radian a step the series are exact to the last bit or two, and several times as fast as the library's.
    if (square <= 0.25) {
      cosine = sine_by_angle = 0;
      for (std::size_t k = kTerms; k-- > 0;) {
        cosine = cosine * square + kCosine[k];
        sine_by_angle = sine_by_angle * square + kSine[k];
      }
    } else {
      const double angle = std::hypot(half[0], half[1], half[2]);
      cosine = std::cos(angle);
      sine_by_angle = std::sin(angle) / angle;
    }
  }

 private:
  // What follows is below 2^-60.
  static constexpr std::size_t kTerms = 8;
  static constexpr std::array<double, kTerms> kCosine = {1.,         -1. / 2,       1. / 24,        -1. / 720,
                                                         1. / 40320, -1. / 3628800, 1. / 479001600, -1. / 87178291200};
  static constexpr std::array<double, kTerms> kSine = {
      1., -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800, -1. / 1307674368000};
};

// Of length 1. Precondition: finite, and not all zero.
inline Quaternion unit(Quaternion q) {
  const auto square = [&] { return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]; };
  double length_2 = square();
  if (!(length_2 > 0.5 && length_2 < 2)) {
    // Squares of what is far from 1 may be too large, or vanish.
    double most = 0;
    for (const double x : q) most = std::max(most, std::abs(x));
    for (double& x : q) x /= most;
    length_2 = square();
  }
  const double by = 1 / std::sqrt(length_2);
  for (double& x : q) x *= by;
  return q;
}

// A rotation after a turn by this vector, an axis in the world times an angle: exact, by the exponential map.
inline Quaternion turned(const Quaternion& q, const std::array<double, 3>& turn) {
  const std::array<double, 3> half = {turn[0] / 2, turn[1] / 2, turn[2] / 2};
  const HalfTurn by(half);
  const double c = by.cosine, x = by.sine_by_angle * half[0], y = by.sine_by_angle * half[1],
               z = by.sine_by_angle * half[2];
  return unit({c * q[0] - x * q[1] - y * q[2] - z * q[3], c * q[1] + x * q[0] + y * q[3] - z * q[2],
               c * q[2] - x * q[3] + y * q[0] + z * q[1], c * q[3] + x * q[2] - y * q[1] + z * q[0]});
}

}  // namespace broadphase
