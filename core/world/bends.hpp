// Ways of bodies in straight parts: they bend where a body bounces, or comes in at the other side of a periodic world.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace broadphase {

// A straight part of a way. Times are shares of the step.
template <std::size_t D>
struct WayPart {
  std::int32_t row;
  double since, until;
  std::array<double, D> begin, motion;
};

// Of one way: a body that crosses the world more often in one step has a wrong velocity, or the step is wrong.
inline constexpr int kMostBends = 10000;

// The world of a body: boundaries are at every origin + i * period.
template <std::size_t D>
struct Room {
  std::array<double, D> origin, period;

  double cell(std::size_t axis, double place) const { return std::floor((place - origin[axis]) / period[axis]); }
};

// How many boundaries a straight way crosses; infinity where there are more than can be counted.
template <std::size_t D>
double bends_of(const double* begin, const std::array<double, D>& motion, const Room<D>& room) {
  double count = 0;
  for (std::size_t k = 0; k < D; ++k) count += std::abs(room.cell(k, begin[k] + motion[k]) - room.cell(k, begin[k]));
  return std::isnan(count) ? std::numeric_limits<double>::infinity() : count;
}

// Folds a straight way into its room, and adds its parts in the order of time. `reflects`: at the boundary; otherwise
// it comes in again at the other side. `times` is scratch. Precondition: it crosses no more than `kMostBends`
// boundaries.
template <std::size_t D>
void add_bent_way(std::int32_t row, const double* begin, const std::array<double, D>& motion, const Room<D>& room,
                  bool reflects, std::vector<double>& times, std::vector<WayPart<D>>& parts) {
  times.assign(1, 0.0);
  for (std::size_t k = 0; k < D; ++k) {
    const double first = room.cell(k, begin[k]), last = room.cell(k, begin[k] + motion[k]),
                 count = std::abs(last - first);
    for (double step = 0; step < count; ++step) {
      const double side = motion[k] > 0 ? first + 1 + step : first - step,
                   place = room.origin[k] + side * room.period[k], time = (place - begin[k]) / motion[k];
      times.push_back(time < 0 ? 0.0 : std::min(time, 1.0));
    }
  }
  if (!std::is_sorted(times.begin(), times.end())) std::stable_sort(times.begin(), times.end());
  for (std::size_t i = 0; i < times.size(); ++i) {
    WayPart<D> part{row, times[i], i + 1 < times.size() ? times[i + 1] : 1.0, {}, {}};
    const double middle = 0.5 * (part.since + part.until), duration = part.until - part.since;
    for (std::size_t k = 0; k < D; ++k) {
      const double cell = room.cell(k, begin[k] + motion[k] * middle);
      const double start = begin[k] + motion[k] * part.since - cell * room.period[k], way = motion[k] * duration;
      const bool is_back = reflects && std::abs(std::fmod(cell, 2.0)) == 1;
      part.begin[k] = is_back ? 2 * room.origin[k] + room.period[k] - start : start;
      part.motion[k] = is_back ? -way : way;
    }
    parts.push_back(part);
  }
}

// Whether the parts of a reflected way, from `first` on, end where the body is. Others were set back to the boundary.
template <std::size_t D>
bool arrives(const std::vector<WayPart<D>>& parts, std::size_t first, const double* now, const Room<D>& room) {
  // NaN if any is.
  const auto larger = [](double most, double x) { return x > most || std::isnan(x) ? x : most; };
  double reach = 0, off = 0, period = 0;
  for (std::size_t i = first; i < parts.size(); ++i) {
    double longest = 0;
    for (const double way : parts[i].motion) longest = larger(longest, std::abs(way));
    reach += longest;
  }
  for (std::size_t k = 0; k < D; ++k) {
    off = larger(off, std::abs(parts.back().begin[k] + parts.back().motion[k] - now[k]));
    period = larger(period, room.period[k]);
  }
  return !(off > 1e-9 * (period + reach));
}

}  // namespace broadphase
