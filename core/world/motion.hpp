// Motion of bodies: positions by their velocities, rotations by their angular velocities.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace broadphase {

inline bool is_finite(double x) { return std::abs(x) <= std::numeric_limits<double>::max(); }

// The position after a step. A step of 0 changes nothing; adding it would make 0 of -0.
inline double after_step(double x, double step) { return step == 0 ? x : x + step; }

// Rows are looked at this many at a time: what sleeps costs an eighth of a comparison.
inline constexpr std::size_t kRowsTogether = 8;

// Calls some(row, rows) for stretches of rows that all move, and never for one that does not, in order, until it
// returns false. `moves` is 0 or 1 for each row.
template <class Some>
void for_moving_rows(const std::uint8_t* moves, std::size_t count, Some&& some) {
  constexpr std::uint64_t kAll = 0x0101010101010101u;
  static_assert(sizeof(kAll) == kRowsTogether);
  std::size_t row = 0;
  for (; row + kRowsTogether <= count; row += kRowsTogether) {
    std::uint64_t these;
    std::memcpy(&these, moves + row, sizeof(these));
    if (these == 0) continue;
    if (these == kAll) {
      if (!some(row, std::integral_constant<std::size_t, kRowsTogether>())) return;
      continue;
    }
    for (std::size_t k = row; k < row + kRowsTogether; ++k)
      if (moves[k] != 0 && !some(k, std::integral_constant<std::size_t, 1>())) return;
  }
  for (; row < count; ++row)
    if (moves[row] != 0 && !some(row, std::integral_constant<std::size_t, 1>())) return;
}

// The first row that moves, and that the step would take to where a number is not finite; `count` if there is none.
// Rows have D numbers each.
template <std::size_t D>
std::size_t first_lost(const double* places, const double* speeds, const std::uint8_t* moves, std::size_t count,
                       double dt) {
  std::size_t lost = count;
  for_moving_rows(moves, count, [&](std::size_t row, auto rows) {
    const double *place = places + row * D, *speed = speeds + row * D;
    // Where this sum is finite, every number of it is, and every sum of less. Side by side, for the compiler to take
    // several at a time.
    double reach[rows()] = {};
    for (std::size_t k = 0; k < D; ++k)
      for (std::size_t j = 0; j < rows(); ++j)
        reach[j] += std::abs(place[k * rows() + j]) + std::abs(speed[k * rows() + j] * dt);
    double all = 0;
    for (const double x : reach) all += x;
    if (is_finite(all)) return true;
    for (std::size_t k = rows() * D; k-- > 0;)
      if (!is_finite(after_step(place[k], speed[k] * dt))) lost = row + k / D;
    return lost == count;
  });
  return lost;
}

// Writes to `to` where every row is after the step; `to` may be `places`. Rows that do not move are copied.
template <std::size_t D>
void take_step(const double* places, const double* speeds, const std::uint8_t* moves, std::size_t count, double dt,
               double* to) {
  constexpr std::uint64_t kAll = 0x0101010101010101u;
  const bool copies = to != places;
  std::size_t row = 0;
  for (; row + kRowsTogether <= count; row += kRowsTogether) {
    std::uint64_t these;
    std::memcpy(&these, moves + row, sizeof(these));
    const double *place = places + row * D, *speed = speeds + row * D;
    double* next = to + row * D;
    if (these == kAll) {
      for (std::size_t k = 0; k < kRowsTogether * D; ++k) next[k] = after_step(place[k], speed[k] * dt);
      continue;
    }
    if (copies) std::copy_n(place, kRowsTogether * D, next);
    if (these == 0) continue;
    for (std::size_t k = 0; k < kRowsTogether * D; ++k)
      if (moves[row + k / D] != 0) next[k] = after_step(place[k], speed[k] * dt);
  }
  for (; row < count; ++row)
    for (std::size_t k = row * D; k < (row + 1) * D; ++k)
      to[k] = moves[row] != 0 ? after_step(places[k], speeds[k] * dt) : places[k];
}

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

// The first row that moves, and whose rotation is none or cannot be turned on: 4 and 3 numbers a row.
inline std::size_t first_lost_turn(const double* rotations, const double* angular_velocities, const std::uint8_t* moves,
                                   std::size_t count, double dt) {
  std::size_t lost = count;
  for_moving_rows(moves, count, [&](std::size_t begin, auto rows) {
    for (std::size_t row = begin; row < begin + rows(); ++row) {
      const double *q = rotations + row * 4, *s = angular_velocities + row * 3;
      const double angle = std::abs(s[0] * dt) + std::abs(s[1] * dt) + std::abs(s[2] * dt);
      const bool is_any = (q[0] != 0) | (q[1] != 0) | (q[2] != 0) | (q[3] != 0) | (angle == 0);
      // That the sum is past the largest number does not mean that the angle is, but no step is meant to turn so far.
      if (is_any && is_finite(angle) && is_finite(q[0]) && is_finite(q[1]) && is_finite(q[2]) && is_finite(q[3]))
        continue;
      lost = row;
      return false;
    }
    return true;
  });
  return lost;
}

inline void take_turns(const double* rotations, const double* angular_velocities, const std::uint8_t* moves,
                       std::size_t count, double dt, double* to) {
  if (to != rotations) std::copy_n(rotations, count * 4, to);
  for_moving_rows(moves, count, [&](std::size_t begin, auto rows) {
    for (std::size_t row = begin; row < begin + rows(); ++row) {
      const double* s = angular_velocities + row * 3;
      const std::array<double, 3> turn = {s[0] * dt, s[1] * dt, s[2] * dt};
      if (turn[0] == 0 && turn[1] == 0 && turn[2] == 0) continue;
      Quaternion q;
      std::copy_n(rotations + row * 4, 4, q.begin());
      q = turned(q, turn);
      std::copy_n(q.begin(), 4, to + row * 4);
    }
    return true;
  });
}

// Everything that moves, D = 2 or 3: positions and velocities of D numbers a row; rotations and angular velocities,
// which may be null, of one number in the plane, and of a quaternion and three in space. Where all rows are afterwards
// is written to `to_positions` and `to_rotations`, which may be the arrays that are read.
//
// Returns `count`; or, having written nothing, the first row that would not be finite. All is looked at before anything
// is written: that is a second pass, and as fast as keeping what was there would be.
template <std::size_t D>
std::size_t integrate(const double* positions, const double* velocities, const double* rotations,
                      const double* angular_velocities, const std::uint8_t* moves, std::size_t count, double dt,
                      double* to_positions, double* to_rotations) {
  const bool turn = rotations != nullptr && angular_velocities != nullptr;
  std::size_t lost = first_lost<D>(positions, velocities, moves, count, dt);
  if (turn)
    lost = std::min(lost, D == 2 ? first_lost<1>(rotations, angular_velocities, moves, count, dt)
                                 : first_lost_turn(rotations, angular_velocities, moves, count, dt));
  if (lost < count) return lost;
  take_step<D>(positions, velocities, moves, count, dt, to_positions);
  if (!turn) return count;
  if constexpr (D == 2)
    take_step<1>(rotations, angular_velocities, moves, count, dt, to_rotations);
  else
    take_turns(rotations, angular_velocities, moves, count, dt, to_rotations);
  return count;
}

}  // namespace broadphase
