// A cell that repeats along some axes, and spans of an axis in it, compared without rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/exact_sum.hpp"

namespace broadphase {

// What lies at x also lies at x + k * period for every whole k, in exact arithmetic.
struct PeriodicCell {
  std::size_t dimension = 3;
  double period[4] = {};  // positive; infinite: the axis does not repeat
  double from[4] = {};    // a box has its place where its lower corner is in [from, from + period)

  bool repeats(std::size_t axis) const { return period[axis] < std::numeric_limits<double>::infinity(); }
};

// From base + worlds * period, by width + rest; exact, and `worlds` is whole. An infinite width: all there is.
struct AxisSpan {
  double base, worlds, width, rest;

  bool is_everywhere() const { return width == std::numeric_limits<double>::infinity(); }
};

namespace detail {

// a + b == sum + error, if nothing overflows.
struct TwoSum {
  double sum, error;
  TwoSum(double a, double b) : sum(a + b) {
    const double part = sum - a;
    error = (a - (sum - part)) + (b - part);
  }
};

// The sign of start + width + rest - end + worlds * period.
inline int sign_of_way(double start, double width, double rest, double end, double worlds, double period) {
  const double way = worlds * period;
  const TwoSum between(start, -end), moved(between.sum, way), reached(moved.sum, width);
  const double near = reached.sum + rest;
  const double error = 0x1p-50 * (std::abs(start) + std::abs(end) + std::abs(way) + std::abs(width));
  if (near > error || near < -error) return near > 0 ? 1 : -1;
  // Round numbers that touch.
  const bool exact_way = worlds == 0 || worlds == 1 || worlds == -1;
  if (exact_way && rest == 0 && between.error == 0 && moved.error == 0 && reached.error == 0)
    return near > 0 ? 1 : near < 0 ? -1 : 0;
  ExactSum::Range range;
  for (const double x : {start, width, rest, end, worlds, period, 1.0}) range.see(x);
  ExactSum sum(range);
  for (const double x : {start, width, rest}) sum.add(x, 1, 1);
  sum.subtract(end, 1, 1);
  sum.add(worlds, period, 1);
  return sum.sign();
}

}  // namespace detail

// Whether two spans meet if the second is moved by so many periods: as closed ones, or their interiors.
inline bool spans_meet(const AxisSpan& a, const AxisSpan& b, double worlds, double period, bool closed) {
  const double between = a.worlds - b.worlds - worlds;
  const int over = detail::sign_of_way(a.base, a.width, a.rest, b.base, between, period);
  if (over < 0 || (over == 0 && !closed)) return false;
  const int back = detail::sign_of_way(b.base, b.width, b.rest, a.base, -between, period);
  return back > 0 || (back == 0 && closed);
}

// A span where it was given. Preconditions: lower <= upper, and not the same infinity.
inline AxisSpan span_of(double lower, double upper) {
  const detail::TwoSum width(upper, -lower);
  const bool is_finite = width.sum < std::numeric_limits<double>::infinity();
  return {is_finite ? lower : 0.0, 0.0, width.sum, is_finite ? width.error : 0.0};
}

inline constexpr double kFewPeriods = 1024;

// The same at its place in the cell: either base is within half a period of 0, or it is moved by few periods.
inline void put_into_cell(const PeriodicCell& cell, std::size_t axis, AxisSpan& span) {
  if (span.is_everywhere()) return;
  const double period = cell.period[axis], from = cell.from[axis];
  // Nearly always, rounded numbers tell which period a box is in, and a sum with so few periods loses nothing to speak
  // of.
  const double periods = (span.base - from) / period;
  if (std::abs(periods) < kFewPeriods) {
    const double whole = static_cast<double>(static_cast<int>(periods)), worlds = periods < whole ? 1 - whole : -whole;
    const double beyond = span.base + worlds * period - from;
    const double room = 0x1p-48 * (std::abs(span.base) + std::abs(from) + period);
    if (beyond > room && beyond < period - room) {
      span.worlds = worlds;
      return;
    }
  }
  span.base = std::remainder(span.base, period);  // exact, however far away
  span.worlds = -std::floor((span.base - from) / period);
  const auto side = [&](double worlds) { return detail::sign_of_way(span.base, 0, 0, from, worlds, period); };
  while (side(span.worlds) < 0) span.worlds += 1;
  while (side(span.worlds - 1) >= 0) span.worlds -= 1;
}

// Chooses where the cell begins along an axis, by the lower corners of some boxes, which are sorted: so that most boxes
// are given at their places. Any choice is right.
inline double choose_from(double period, double* lower, std::size_t count) {
  constexpr double kFarthest = 0x1p40;  // in periods
  std::sort(lower, lower + count);
  std::size_t best = 0, most = 0;
  for (std::size_t begin = 0, end = 0; begin < count; ++begin) {
    while (end < count && lower[end] - lower[begin] < period) ++end;
    if (end - begin > most) most = end - begin, best = begin;
  }
  const double least = most > 0 ? lower[best] : -period / 2,
               spread = most > 0 ? lower[best + most - 1] - least : period;
  const double from = least - (period - spread) / 2;
  const bool is_near = std::abs(from) < kFarthest * period && std::abs(from) + period < 0x1p1000;
  return is_near ? from : -period / 2;
}

}  // namespace broadphase
