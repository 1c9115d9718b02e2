// What bodies that go straight meet on their routes, all at once: where most bodies of a world are followed, nearly all
// of these, in most worlds.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/read_ahead.hpp"
#include "query/collect.hpp"
#include "query/problem.hpp"
#include "world/meetings.hpp"
#include "world/touching.hpp"

namespace broadphase {

// A row that goes straight: its box after the step, in all rotations of the step, how far it is from there at the
// begin, and how it moves.
template <std::size_t D>
struct StraightRow {
  std::array<double, 2 * D> box;
  std::array<double, D> shift, motion;
  std::int32_t number;  // in the world
  bool is_followed;
  bool is_active;   // it has moved, or something else about it has changed
  bool is_settled;  // nothing but motion has changed: what touched it after the last step does so at the begin
  bool is_ball;     // within its box, which it does not leave by turning
};

// Memory of a search, kept for the next.
template <std::size_t D>
struct StraightRoom {
  PlainArray<StraightRow<D>> rows;
  PlainArray<double> corners;
  std::size_t count = 0;
  std::vector<std::int32_t> places;  // of rows of the world

  void begin(std::size_t most) {
    count = 0;
    rows.grow(most);
    corners.grow(most * 2 * D);
  }
  // The row after the last, to be written; with a box around its route, rounded outwards, it is added.
  StraightRow<D>& next() { return rows[count]; }
  double* box_of_next() { return corners.get() + count * 2 * D; }
  // Pairs of rows of the world, of which there are so many, as places of these: those of which both are here.
  Pairs places_of(const PairColumns& pairs, std::size_t slots) {
    if (count == slots) return copy_of(pairs);  // ascending: each is at its own place
    places.assign(slots, -1);
    for (std::size_t k = 0; k < count; ++k)
      places[static_cast<std::size_t>(rows[k].number)] = static_cast<std::int32_t>(k);
    Pairs found = copy_of(pairs);
    std::int32_t *first = found.block.get(), *second = first + found.stride;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < pairs.count; ++k) {
      const std::int32_t i = places[static_cast<std::size_t>(pairs.first[k])],
                         j = places[static_cast<std::size_t>(pairs.second[k])];
      first[kept] = i;
      second[kept] = j;
      kept += (i >= 0) & (j >= 0) ? 1 : 0;
    }
    found.size = kept;
    return found;
  }
  // Keeps the rows for which keep(row) holds.
  template <class Keep>
  void keep(const Keep& keep) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < count; ++k) {
      if (!keep(rows[k])) continue;
      rows[kept] = rows[k];
      std::copy_n(corners.get() + k * 2 * D, 2 * D, corners.get() + kept++ * 2 * D);
    }
    count = kept;
  }
};

// Writes a box around a straight route, rounded outwards.
template <std::size_t D>
void box_around(const StraightRow<D>& row, double* around) {
  for (std::size_t k = 0; k < D; ++k) {
    const double low = row.box[k], high = row.box[D + k], from = row.shift[k], to = from + row.motion[k],
                 slack = 4 * kSumSlack * (std::max(std::abs(low), std::abs(high)) + std::abs(from) + std::abs(to));
    around[k] = low + std::min({from, to, 0.0}) - slack;
    around[D + k] = high + std::max({from, to, 0.0}) + slack;
  }
}

// Whether two balls are certainly apart during the whole of the step: by their boxes, which are hardly larger.
template <std::size_t D>
bool are_balls_apart(const StraightRow<D>& a, const StraightRow<D>& b) {
  if (!(a.is_ball & b.is_ball)) return false;
  // From the first to the second at the begin, twice, and how the first moves relative to the second.
  double between[D], motion[D], along = 0, length = 0, size = 0;
  const double reach = (a.box[D] - a.box[0]) + (b.box[D] - b.box[0]);
  for (std::size_t k = 0; k < D; ++k) {
    between[k] = (b.box[k] + b.box[D + k] + 2 * b.shift[k]) - (a.box[k] + a.box[D + k] + 2 * a.shift[k]);
    motion[k] = 2 * (a.motion[k] - b.motion[k]);
    along += between[k] * motion[k];
    length += motion[k] * motion[k];
    size += std::abs(a.box[k]) + std::abs(b.box[k]) + std::abs(a.motion[k]) + std::abs(b.motion[k]);
  }
  const double time = length > 0 ? std::clamp(along / length, 0.0, 1.0) : 0.0;
  double squared = 0;
  for (std::size_t k = 0; k < D; ++k) {
    const double gap = between[k] - motion[k] * time;
    squared += gap * gap;
  }
  const double limit = (1 + 1e-6) * reach + 1e-12 * (size + reach);
  return squared > limit * limit;
}

// The pairs that touched after the last step, and flags of those that may not have done so where they were: that only
// met on a route, or were not tested.
struct LastTouching {
  TouchingPairs touching;
  const std::uint8_t* is_uncertain;

  void read_ahead_of(std::int32_t i) const {
    if (static_cast<std::size_t>(i) < touching.rows) read_ahead(touching.pairs.second + touching.starts[i]);
  }
  bool has(std::int32_t i, std::int32_t j) const {
    const std::size_t at = detail::find_pair(touching, i, j);
    return at < touching.pairs.count && is_uncertain[at] == 0;
  }
};

// The pairs that come near each other, one of them followed, and that may not have touched at the begin, in the order
// of `pairs`, which are places of the rows and are written to; and how many were looked at.
template <std::size_t D>
std::vector<Approach<D>> straight_approaches(const StraightRoom<D>& room, Pairs& pairs, const Filter* filter,
                                             const LastTouching& last, std::size_t& count) {
  constexpr std::size_t kAhead = 16;
  std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  const StraightRow<D>* const rows = room.rows.get();
  // Of most pairs, few numbers tell that they do not meet.
  std::size_t left = 0;
  for (std::size_t k = 0; k < pairs.size; ++k) {
    if (k + kAhead < pairs.size)
      for (const std::int32_t row : {first[k + kAhead], second[k + kAhead]}) {
        read_ahead(rows + row);
        read_ahead(&rows[row].number);
      }
    const std::int32_t i = std::min(first[k], second[k]), j = std::max(first[k], second[k]);
    const StraightRow<D>&a = rows[i], &b = rows[j];
    if (!(a.is_followed | b.is_followed) || !(a.is_active | b.is_active)) continue;
    if (filter != nullptr && !filter->allows(static_cast<std::size_t>(a.number), static_cast<std::size_t>(b.number)))
      continue;
    ++count;
    first[left] = i;
    second[left] = j;
    left += are_balls_apart(a, b) ? 0 : 1;
  }
  std::vector<Approach<D>> approaches;
  approaches.reserve(left / 2);
  for (std::size_t k = 0; k < left; ++k) {
    if (k + kAhead < left) last.read_ahead_of(rows[first[k + kAhead]].number);
    const StraightRow<D>&a = rows[first[k]], &b = rows[second[k]];
    if (a.is_settled && b.is_settled && last.has(a.number, b.number)) continue;
    std::array<double, D> motion, offset;
    for (std::size_t axis = 0; axis < D; ++axis) {
      motion[axis] = a.motion[axis] - b.motion[axis];
      offset[axis] = b.shift[axis] - a.shift[axis];
    }
    const auto [begin, end] = times_of_boxes<D>(a.box, b.box, motion, offset);
    if (!(begin <= end)) continue;
    Approach<D> approach{a.number, b.number, {}, {}, 0.0, 1.0, begin, end - begin};
    for (std::size_t axis = 0; axis < D; ++axis) {
      approach.offset[axis] = offset[axis] - motion[axis] * begin;
      approach.motion[axis] = motion[axis] * (end - begin);
    }
    approaches.push_back(approach);
  }
  return approaches;
}

}  // namespace broadphase
