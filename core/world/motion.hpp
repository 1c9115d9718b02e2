// Motion of bodies: positions by their velocities, rotations by their angular velocities.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "shapes/rotations.hpp"

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

// The sum of the sizes of some numbers. Where it is finite, every one of them is.
inline double sum_of_sizes(const double* numbers, std::size_t count) {
  constexpr std::size_t kTogether = 8;
  double sums[kTogether] = {};  // side by side, for the compiler to take several at a time
  std::size_t k = 0;
  for (; k + kTogether <= count; k += kTogether)
    for (std::size_t j = 0; j < kTogether; ++j) sums[j] += std::abs(numbers[k + j]);
  double all = 0;
  for (const double sum : sums) all += sum;
  for (; k < count; ++k) all += std::abs(numbers[k]);
  return all;
}

// The first row that moves, and that the step takes to where a number is not finite; `count` if there is none. Rows
// have D numbers each.
template <std::size_t D>
std::size_t first_lost(const double* after, const std::uint8_t* moves, std::size_t count) {
  for (std::size_t k = 0; k < count * D; ++k)
    if (moves[k / D] != 0 && !is_finite(after[k])) return k / D;
  return count;
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

inline void can_interleave(const double* rotations, const double* angular_velocities, const std::uint8_t* moves,
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
  // `listed`: counts the rows of all that list parts of `count` rows, and may be null. Where these are many together,
  // nobody lists more of them.
  explicit FewRows(std::size_t count, std::atomic<std::size_t>* listed = nullptr) : most_(count / 8), listed_(listed) {}
  static FewRows up_to(std::size_t rows) { return FewRows(8 * rows); }

  bool are_few() const {
    return rows_.size() <= most_ && (listed_ == nullptr || listed_->load(std::memory_order_relaxed) <= most_);
  }
  std::vector<std::int32_t> take() && { return std::move(rows_); }

  // Puts rows behind these, which come before them.
  void append(const FewRows& more) {
    if (are_few()) rows_.insert(rows_.end(), more.rows_.begin(), more.rows_.end());
  }

  // Adds those of `count` rows, of which the first is `begin`, whose N numbers differ to the bit.
  template <std::size_t N>
  void add_changed(const double* before, const double* after, std::size_t begin, std::size_t count) {
    const std::size_t before_these = rows_.size();
    for (std::size_t at = 0; at < count && are_few(); at += kRowsTogether) {
      const std::size_t together = std::min(kRowsTogether, count - at);
      if (std::memcmp(before + at * N, after + at * N, together * N * sizeof(double)) == 0) continue;
      for (std::size_t k = at; k < at + together; ++k)
        if (std::memcmp(before + k * N, after + k * N, N * sizeof(double)) != 0)
          rows_.push_back(static_cast<std::int32_t>(begin + k));
    }
    if (listed_ != nullptr && rows_.size() > before_these)
      listed_->fetch_add(rows_.size() - before_these, std::memory_order_relaxed);
  }

 private:
  std::size_t most_;
  std::atomic<std::size_t>* listed_;
  std::vector<std::int32_t> rows_;
};

// Arrays of everything that moves, D = 2 or 3: positions and velocities of D numbers a row; rotations and angular
// velocities, which may be null, of one number in the plane, and of a quaternion and three in space. Without a time,
// nothing moves.
template <std::size_t D>
struct Motion {
  static constexpr std::size_t kRotation = D == 2 ? 1 : 4, kSpin = D == 2 ? 1 : 3;

  const double *positions, *velocities, *rotations, *angular_velocities;
  const std::uint8_t* moves;
  double dt;

  bool turns() const { return rotations != nullptr && angular_velocities != nullptr; }
};

// Writes where the rows from `begin` to `end` are after the step, one after the other, to `positions` and, if there are
// any, `rotations`. Returns `end`; or the first row that would not be finite, and then what has been written means
// nothing. `reach` is the sum of the sizes of all the positions' numbers.
template <std::size_t D>
std::size_t integrate_rows(const Motion<D>& motion, std::size_t begin, std::size_t end, double* positions,
                           double* rotations, double& reach, FewRows& shifted, FewRows& rotated) {
  constexpr std::size_t R = Motion<D>::kRotation, S = Motion<D>::kSpin;
  const std::size_t size = end - begin;
  const double* place = motion.positions + begin * D;
  const double* rotation = motion.rotations != nullptr ? motion.rotations + begin * R : nullptr;
  const double* spin = motion.turns() ? motion.angular_velocities + begin * S : nullptr;
  const std::uint8_t* moves = motion.moves + begin;
  const bool stands = motion.dt == 0;
  std::size_t lost = size;
  if (stands)
    std::copy_n(place, size * D, positions);
  else
    take_step<D>(place, motion.velocities + begin * D, moves, size, motion.dt, positions);
  reach = sum_of_sizes(positions, size * D);
  if (!stands && !is_finite(reach)) lost = first_lost<D>(positions, moves, size);
  if (!stands && D == 2 && spin != nullptr) {
    take_step<1>(rotation, spin, moves, size, motion.dt, rotations);
    if (!is_finite(sum_of_sizes(rotations, size))) lost = std::min(lost, first_lost<1>(rotations, moves, size));
  } else if (!stands && spin != nullptr) {
    lost = std::min(lost, first_lost_turn(rotation, spin, moves, size, motion.dt));
    if (lost == size) can_interleave(rotation, spin, moves, size, motion.dt, rotations);
  } else if (rotation != nullptr) {
    std::copy_n(rotation, size * R, rotations);
  }
  if (lost < size) return begin + lost;
  if (!stands) shifted.add_changed<D>(place, positions, begin, size);
  if (!stands && spin != nullptr) rotated.add_changed<R>(rotation, rotations, begin, size);
  return end;
}

}  // namespace broadphase
