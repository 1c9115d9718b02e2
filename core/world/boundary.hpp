// The boundary of the world: which boxes are beyond it, and what happens to those.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "world/motion.hpp"

namespace broadphase {

// `boxes` have D lower and D upper numbers a row, `bounds` likewise one row. `moves` is 0 for rows to pass over. Rows
// come in ascending order.
//
// Calls beyond(lower, upper, from, to) for every axis of every box; the row counts if it says so for any.
template <std::size_t D, class Beyond>
std::vector<std::int32_t> rows_beyond(const double* boxes, const double* bounds, const std::uint8_t* moves,
                                      std::size_t count, Beyond&& beyond) {
  constexpr std::size_t kTogether = 8;
  constexpr std::uint8_t kNone[kTogether] = {};
  std::vector<std::int32_t> rows;
  const auto is_beyond = [&](std::size_t row) {
    const double* box = boxes + row * 2 * D;
    bool any = false;
    for (std::size_t k = 0; k < D; ++k) any |= beyond(box[k], box[D + k], bounds[k], bounds[D + k]);
    return any;
  };
  for (std::size_t begin = 0; begin < count; begin += kTogether) {
    const std::size_t end = std::min(count, begin + kTogether);
    if (std::memcmp(moves + begin, kNone, end - begin) == 0) continue;
    // One branch for many boxes: most boxes are not near the boundary.
    bool any = false;
    for (std::size_t row = begin; row < end; ++row) any |= is_beyond(row);
    for (std::size_t row = begin; any && row < end; ++row)
      if (moves[row] != 0 && is_beyond(row)) rows.push_back(static_cast<std::int32_t>(row));
  }
  return rows;
}

// Boxes that are not wholly within the closed bounds.
template <std::size_t D>
std::vector<std::int32_t> rows_sticking_out(const double* boxes, const double* bounds, const std::uint8_t* moves,
                                            std::size_t count) {
  return rows_beyond<D>(boxes, bounds, moves, count, [](double lower, double upper, double from, double to) {
    return (lower < from) | (upper > to);
  });
}

// Boxes that do not even touch the closed bounds.
template <std::size_t D>
std::vector<std::int32_t> rows_outside(const double* boxes, const double* bounds, const std::uint8_t* moves,
                                       std::size_t count) {
  return rows_beyond<D>(boxes, bounds, moves, count, [](double lower, double upper, double from, double to) {
    return (upper < from) | (lower > to);
  });
}

// The next number above, of one that is finite and not 0.
inline double next_above(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x);
  return std::bit_cast<double>(x > 0 ? bits + 1 : bits - 1);
}

// a - b, rounded up: a shape there does not reach past the boundary by a rounding error, again and again.
inline double difference_up(double a, double b) {
  const double sum = a - b;
  const double part = sum - a;
  const double error = (a - (sum - part)) - (b + part);        // of the rounding, exactly
  return error > 0 && is_finite(sum) ? next_above(sum) : sum;  // a sum that rounds to 0 is exact
}

inline double difference_down(double a, double b) { return -difference_up(-a, -b); }

// One number of a position between `from` and `to`, and of its velocity.
//
// What went past the boundary was reflected there, at the other side if it came so far, and so on: the triangle wave.
// What is past it but not on the route out (it was put there, or it turned and a corner came out) is set back to the
// boundary and keeps its velocity, or it would be turned round at every step and never come loose. Without room to
// move, a position is put in the middle, and keeps its velocity for the time when there is room.
inline void bounce_within(double from, double to, double& position, double& velocity) {
  const double room = to - from;
  if (!(room > 0)) {
    if (const double middle = from + room / 2; is_finite(middle)) position = middle;  // what has no end stays
    return;
  }
  const bool above = position > to, below = position < from;
  if (!above && !below) return;
  const double side = above ? to : from;
  const double beyond = std::abs(position - side);
  if (above ? velocity <= 0 : velocity >= 0) {
    position = side;
    return;
  }
  // Exact, however far it went. Where there is no other side, its room being infinite, `beyond` is left as it is.
  const double route = std::fmod(beyond, 2 * room);
  const bool turned = route < room;
  if (turned) velocity = -velocity;
  const double inward = turned ? route : 2 * room - route;
  position = above ? to - inward : from + inward;
  // Not what the numbers can say, so far out; and rounding at the other side.
  if (!(position >= from)) position = from;
  if (!(position <= to)) position = to;
}

// Keeps the shapes of some rows within the bounds, each axis on its own. Positions are those of all rows; velocities
// those of `rows`, one after the other; `boxes` likewise, D lower and D upper numbers each, relative to the positions.
// Returns which of `rows` have another position or velocity now.
template <std::size_t D>
std::vector<std::int32_t> bounce(double* positions, double* velocities, const std::int32_t* rows, const double* boxes,
                                 std::size_t count, const double* bounds) {
  std::vector<std::int32_t> changed;
  for (std::size_t i = 0; i < count; ++i) {
    double* position = positions + static_cast<std::size_t>(rows[i]) * D;
    double* velocity = velocities + i * D;
    const double* box = boxes + i * 2 * D;
    bool any = false;
    for (std::size_t k = 0; k < D; ++k) {
      const double place = position[k], speed = velocity[k];
      bounce_within(difference_up(bounds[k], box[k]), difference_down(bounds[D + k], box[D + k]), position[k],
                    velocity[k]);
      any |= (position[k] != place) | (velocity[k] != speed);
    }
    if (any) changed.push_back(static_cast<std::int32_t>(i));
  }
  return changed;
}

// A number moved by a multiple of `to - from` into [from, to). What is there stays as it is, to the bit. What would
// round to `to`, such as a tiny negative number where `from` is 0, becomes `from`: the nearest there is. What is not
// finite is left to later checks.
inline double wrapped(double from, double to, double x) {
  if ((x >= from && x < to) || !is_finite(x)) return x;
  const double period = to - from;
  const bool above = x >= to;
  // Counted from the side that was crossed, which is exact near it; so is fmod, anywhere.
  const double beyond = std::fmod(above ? x - to : from - x, period);
  const double there = above ? from + beyond : to - beyond;
  return there >= from && there < to ? there : from;
}

// Moves positions into the half-open bounds. Returns the rows that were not there.
template <std::size_t D>
std::vector<std::int32_t> wrap(double* positions, const double* bounds, const std::uint8_t* moves, std::size_t count) {
  std::vector<std::int32_t> rows;
  for (std::size_t row = 0; row < count; ++row) {
    double* place = positions + row * D;
    bool is_out = false;
    for (std::size_t k = 0; k < D; ++k) is_out |= (place[k] < bounds[k]) | (place[k] >= bounds[D + k]);
    if (!is_out || moves[row] == 0) continue;
    for (std::size_t k = 0; k < D; ++k) place[k] = wrapped(bounds[k], bounds[D + k], place[k]);
    rows.push_back(static_cast<std::int32_t>(row));
  }
  return rows;
}

}  // namespace broadphase
