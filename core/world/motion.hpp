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
#include <utility>
#include <vector>

#include "base/parallel.hpp"

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

// Writes to `to` where every row is after the step. Rows that do not move are copied.
template <std::size_t D>
void take_step(const double* places, const double* speeds, const std::uint8_t* moves, std::size_t count, double dt,
               double* to) {
  constexpr std::uint64_t kAll = 0x0101010101010101u;
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
    std::copy_n(place, kRowsTogether * D, next);
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
  std::copy_n(rotations, count * 4, to);
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

// The rows that a motion has changed, as long as these are few: listing many costs more than copying all.
class FewRows {
 public:
  explicit FewRows(std::size_t count) : most_(count / 8) {}
  static FewRows up_to(std::size_t rows) { return FewRows(8 * rows); }

  bool are_few() const { return rows_.size() <= most_; }
  std::vector<std::int32_t> take() && { return std::move(rows_); }

  // Puts rows behind these, which come before them.
  void append(const FewRows& more) {
    if (are_few()) rows_.insert(rows_.end(), more.rows_.begin(), more.rows_.end());
  }

  // Adds the rows from `begin` on whose N numbers differ to the bit.
  template <std::size_t N>
  void add_changed(const double* before, const double* after, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end && are_few(); row += kRowsTogether) {
      const std::size_t together = std::min(kRowsTogether, end - row);
      if (std::memcmp(before + row * N, after + row * N, together * N * sizeof(double)) == 0) continue;
      for (std::size_t k = row; k < row + together; ++k)
        if (std::memcmp(before + k * N, after + k * N, N * sizeof(double)) != 0)
          rows_.push_back(static_cast<std::int32_t>(k));
    }
  }

 private:
  std::size_t most_;
  std::vector<std::int32_t> rows_;
};

// Arrays of everything that moves, D = 2 or 3: positions and velocities of D numbers a row; rotations and angular
// velocities, which may be null, of one number in the plane, and of a quaternion and three in space. Where all rows are
// afterwards is written to `to_positions` and `to_rotations`, other arrays than those that are read.
template <std::size_t D>
struct Motion {
  static constexpr std::size_t kRotation = D == 2 ? 1 : 4, kSpin = D == 2 ? 1 : 3;

  const double *positions, *velocities, *rotations, *angular_velocities;
  const std::uint8_t* moves;
  double dt;
  double *to_positions, *to_rotations;

  bool turns() const { return rotations != nullptr && angular_velocities != nullptr; }
};

// Moves the rows from `begin` to `end`. Returns `end`; or the first row that would not be finite, and then what has
// been written means nothing. The rows are taken in blocks that stay in the cache between the check and the motion.
template <std::size_t D>
std::size_t integrate_rows(const Motion<D>& motion, std::size_t begin, std::size_t end, FewRows& shifted,
                           FewRows& rotated) {
  constexpr std::size_t kBlock = 512, R = Motion<D>::kRotation, S = Motion<D>::kSpin;
  const bool turn = motion.turns();
  for (; begin < end; begin += kBlock) {
    const std::size_t size = std::min(kBlock, end - begin);
    const double *place = motion.positions + begin * D, *speed = motion.velocities + begin * D;
    const double *rotation = turn ? motion.rotations + begin * R : nullptr,
                 *spin = turn ? motion.angular_velocities + begin * S : nullptr;
    const std::uint8_t* moves = motion.moves + begin;
    std::size_t lost = first_lost<D>(place, speed, moves, size, motion.dt);
    if (turn)
      lost = std::min(lost, D == 2 ? first_lost<1>(rotation, spin, moves, size, motion.dt)
                                   : first_lost_turn(rotation, spin, moves, size, motion.dt));
    if (lost < size) return begin + lost;
    take_step<D>(place, speed, moves, size, motion.dt, motion.to_positions + begin * D);
    shifted.add_changed<D>(motion.positions, motion.to_positions, begin, begin + size);
    if (!turn) continue;
    if constexpr (D == 2)
      take_step<1>(rotation, spin, moves, size, motion.dt, motion.to_rotations + begin);
    else
      take_turns(rotation, spin, moves, size, motion.dt, motion.to_rotations + begin * 4);
    rotated.add_changed<R>(motion.rotations, motion.to_rotations, begin, begin + size);
  }
  return end;
}

// The same for all rows, on threads: returns `count`, or the first row that would not be finite.
template <std::size_t D>
std::size_t integrate(const Motion<D>& motion, std::size_t count, unsigned workers, FewRows& shifted,
                      FewRows& rotated) {
  constexpr std::size_t kRowsATask = 8192, kTasksWorthThreads = 4;
  if (workers <= 1 || count < kTasksWorthThreads * kRowsATask) {
    return integrate_rows<D>(motion, 0, count, shifted, rotated);
  }
  const std::size_t tasks = (count + kRowsATask - 1) / kRowsATask;
  std::vector<FewRows> shifted_by_task(tasks, FewRows(count)), rotated_by_task(tasks, FewRows(count));
  std::vector<std::size_t> lost(tasks, count);
  Interrupt none;
  for_each_task(tasks, workers, none, [&](unsigned, std::size_t task) {
    const std::size_t begin = task * kRowsATask, end = std::min(count, begin + kRowsATask);
    const std::size_t at = integrate_rows<D>(motion, begin, end, shifted_by_task[task], rotated_by_task[task]);
    if (at < end) lost[task] = at;
  });
  for (std::size_t task = 0; task < tasks; ++task) {
    if (lost[task] < count) return lost[task];
    shifted.append(shifted_by_task[task]);
    rotated.append(rotated_by_task[task]);
  }
  return count;
}

}  // namespace broadphase
