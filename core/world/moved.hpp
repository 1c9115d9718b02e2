// The first part of a step: what moves is moved, and what the boundary does to it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "world/boundary.hpp"
#include "world/callbacks.hpp"
#include "world/columns.hpp"
#include "world/limits.hpp"
#include "world/motion.hpp"
#include "world/placing.hpp"
#include "world/turning_rows.hpp"

namespace broadphase {

// Bounds of a world, lower and upper corner, and flags of the rows that come in at the other side; both may be null.
struct Wrapping {
  const double* bounds;
  const std::uint8_t* wraps;
};

// What a step reads and writes, arrays by row.
template <std::size_t D>
struct Advance {
  Motion<D> motion;
  Wrapping wrapping;
  Placements<D> placements;
  ChangeFlags flags;
  double *to_positions, *to_rotations;  // where all rows are afterwards; may be null
  const double* period;                 // the sizes of a periodic world, or null
};

template <std::size_t D>
struct Advanced {
  std::size_t lost;             // the first row that would not be finite, or the number of rows
  std::ptrdiff_t nowhere = -1;  // a row without a place
  FewRows shifted, rotated;     // whose position, or rotation, the motion has changed
  std::vector<std::int32_t> wrapped;
  Growth<D> growth;
};

// Moves, wraps and places the rows from `begin` to `end`. Block by block, which stay in the cache: of each row, only
// what it was and what it becomes is read from memory and written there.
//
// Poses may be written to by other threads meanwhile: each is copied, and the copy is looked at and used.
template <std::size_t D>
void advance_rows(ShapeStore& shapes, const Advance<D>& step, std::size_t begin, std::size_t end, std::size_t count,
                  Advanced<D>& found) {
  constexpr std::size_t kBlock = 16 * kRowsAStretch, R = kRotationNumbers<D>;
  double positions[kBlock * D], rotations[kBlock * R];
  const bool turn = step.motion.rotations != nullptr;
  for (; begin < end; begin += kBlock) {
    const std::size_t size = std::min(kBlock, end - begin);
    double reach = 0;
    const std::size_t at =
        integrate_rows<D>(step.motion, begin, begin + size, positions, rotations, reach, found.shifted, found.rotated);
    if (at < begin + size) {
      found.lost = std::min(at, count);
      return;
    }
    if (step.wrapping.wraps != nullptr) {
      const auto rows = wrap<D>(positions, step.wrapping.bounds, step.wrapping.wraps + begin, size);
      for (const std::int32_t row : rows) found.wrapped.push_back(row + static_cast<std::int32_t>(begin));
      if (!rows.empty()) reach = sum_of_sizes(positions, size * D);
    }
    if (step.to_positions != nullptr) std::copy_n(positions, size * D, step.to_positions + begin * D);
    if (turn && step.to_rotations != nullptr) std::copy_n(rotations, size * R, step.to_rotations + begin * R);
    const NextPoses<D> next{positions, turn ? rotations : nullptr, begin, reach};
    found.nowhere = place_moved<D>(shapes, next, step.placements, step.flags, found.growth, begin, begin + size);
    if (found.nowhere >= 0) return;
  }
}

// The same for all rows, on threads. The row that is lost, or without a place, is the first one.
template <std::size_t D>
Advanced<D> advance_all(ShapeStore& shapes, const Advance<D>& step, std::size_t count, unsigned workers) {
  constexpr std::size_t kRowsATask = 4096, kTasksWorthThreads = 4;
  const std::size_t size =
      workers <= 1 || count < kTasksWorthThreads * kRowsATask ? std::max<std::size_t>(count, 1) : kRowsATask;
  const std::size_t tasks = (count + size - 1) / size;
  std::atomic<std::size_t> shifted{0}, rotated{0};
  const auto nothing = [&](std::atomic<std::size_t>* shifts, std::atomic<std::size_t>* rotates) {
    return Advanced<D>{count, -1, FewRows(count, shifts), FewRows(count, rotates), {}, Growth<D>(step.period)};
  };
  Advanced<D> all = nothing(nullptr, nullptr);
  std::vector<Advanced<D>> parts(tasks, all);
  Interrupt none;
  for_each_task(tasks, workers, none, [&](unsigned, std::size_t task) {
    Advanced<D> part = nothing(&shifted, &rotated);  // no other thread writes near it
    advance_rows<D>(shapes, step, task * size, std::min(count, (task + 1) * size), count, part);
    parts[task] = std::move(part);
  });
  for (Advanced<D>& part : parts) {
    if (part.lost < count || part.nowhere >= 0) {
      all.lost = part.lost, all.nowhere = part.nowhere;
      return all;
    }
    all.shifted.append(part.shifted);
    all.rotated.append(part.rotated);
    all.wrapped.insert(all.wrapped.end(), part.wrapped.begin(), part.wrapped.end());
    all.growth.append(part.growth);
  }
  return all;
}

// The same for the rows listed, ascending, and then for what is stale: for a world in which few rows move, and nobody
// has written to the others.
template <std::size_t D>
Advanced<D> advance_few(ShapeStore& shapes, const Advance<D>& step, std::size_t count, const std::int32_t* rows,
                        std::size_t row_count) {
  Advanced<D> found{count, -1, FewRows::up_to(row_count), FewRows::up_to(row_count), {}, Growth<D>(step.period)};
  std::fill_n(step.flags.moved, count, std::uint8_t{0});
  for (std::size_t k = 0; k < row_count && found.lost == count && found.nowhere < 0; ++k) {
    const auto row = static_cast<std::size_t>(rows[k]);
    advance_rows<D>(shapes, step, row, row + 1, count, found);
  }
  if (found.lost == count && found.nowhere < 0)
    place_stale<D>(shapes, step.placements, step.motion.rotations != nullptr, step.flags, count);
  return found;
}

// Where rows are after the motion of a step. The spare placement has their shapes, and `next_changed` and `moved` of
// the columns have flags.
template <std::size_t D>
struct Moved {
  double *positions, *rotations;  // by row; rotations: null where nothing is rotated
  Trace<D> trace;
  bool is_of_few;              // only rows that can have moved were looked at; all others are where they were seen
  bool shifts_few, turns_few;  // the rows whose position, or rotation, has changed are listed
  RowList shifted, rotated;
  RowList bounced;
  std::vector<double> velocities;  // of those
  RowList removed;                 // they have left the world
  double growth;                   // by how much boxes reach beyond those that were seen, and did meanwhile
};

// Who held the arrays of a world when all its rows were looked at, and which rows can move by themselves since then.
class Steadiness {
 public:
  // Notes a look at all rows, after so many times that arrays were given out.
  void note(std::uint64_t writes, std::uint64_t version) {
    holds_ = true, has_rows_ = false;
    writes_ = writes, version_ = version;
  }
  void forget() { holds_ = false; }

  // The rows that the next step has to look at, ascending; null where that may be any.
  template <std::size_t D>
  const RowList* rows(const Columns<D>& columns, const RowKinds& kinds, bool has_displaced, std::uint64_t writes) {
    if (!holds_ || writes_ != writes || version_ != columns.version) return nullptr;
    const auto are_few = [&](const RowList& some) {
      return static_cast<double>(some.size()) <= step_limits.steady * static_cast<double>(columns.slots);
    };
    if (!has_rows_) {
      moving_.clear();
      constexpr std::size_t kSpin = D == 2 ? 1 : 3;
      const auto is_moving = [](const double* speeds, std::size_t count) {
        return std::any_of(speeds, speeds + count, [](double x) { return !(x == 0); });
      };
      for (std::size_t row = 0; row < columns.slots; ++row) {
        const bool has_speed =
            is_moving(columns.velocities + row * D, D) ||
            (columns.angular_velocities != nullptr && is_moving(columns.angular_velocities + row * kSpin, kSpin));
        if (has_speed && kinds.moves[row] != 0) moving_.push_back(static_cast<std::int32_t>(row));
      }
      has_rows_ = true;
    }
    if (!are_few(moving_)) return nullptr;
    rows_.clear();
    const auto add_others = [&](const std::uint8_t* flags) {
      for_moving_rows(flags, columns.slots, [&](std::size_t begin, auto count) {
        for (std::size_t row = begin; row < begin + count(); ++row) rows_.push_back(static_cast<std::int32_t>(row));
        return true;
      });
    };
    add_others(columns.changed);
    if (has_displaced) add_others(columns.displaced);
    if (rows_.empty()) return &moving_;
    rows_.insert(rows_.end(), moving_.begin(), moving_.end());
    std::sort(rows_.begin(), rows_.end());
    rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
    return are_few(rows_) ? &rows_ : nullptr;
  }

 private:
  bool holds_ = false, has_rows_ = false;
  std::uint64_t writes_ = 0, version_ = 0;
  RowList moving_, rows_;
};

// Where poses are computed that the spare placement must not have: of rows that are seldom looked at.
struct NextPoseRoom {
  std::vector<double> positions, rotations;
};

namespace detail {

inline void add_rows(RowList& some, const RowList& more) {
  if (more.empty()) return;
  const auto middle = static_cast<std::ptrdiff_t>(some.size());
  some.insert(some.end(), more.begin(), more.end());
  std::inplace_merge(some.begin(), some.begin() + middle, some.end());
  some.erase(std::unique(some.begin(), some.end()), some.end());
}

// Where rows would be after a motion if there were no boundary.
template <std::size_t D>
std::vector<double> unturned(const Columns<D>& columns, const RowKinds& kinds, const RowList& rows, double dt) {
  std::vector<double> places(rows.size() * D);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto row = static_cast<std::size_t>(rows[k]);
    for (std::size_t axis = 0; axis < D; ++axis) {
      const double x = columns.positions[row * D + axis];
      const double place = dt != 0 && kinds.moves[row] != 0 ? x + columns.velocities[row * D + axis] * dt : x;
      places[k * D + axis] = is_finite(place) ? place : 0;  // as it was when it was moved, unless written to since
    }
  }
  return places;
}

// Begins to follow the rows that are marked as ccd, if there are any.
template <std::size_t D>
Trace<D> trace_of(const Columns<D>& columns, const RowKinds& kinds, bool has_displaced) {
  Trace<D> trace;
  trace.is_ccd = kinds.is_ccd;
  if (trace.is_ccd.empty()) return trace;
  trace.before = columns.seen.positions;
  if (has_displaced) {  // what was put elsewhere touches nothing on the route there
    trace.kept.assign(trace.before, trace.before + columns.slots * D);
    for (std::size_t row = 0; row < columns.slots; ++row)
      for (std::size_t axis = 0; axis < D && columns.displaced[row] != 0; ++axis) {
        const double x = columns.positions[row * D + axis];
        if (is_finite(x)) trace.kept[row * D + axis] = x;
      }
    trace.before = trace.kept.data();
  }
  return trace;
}

// Reflects what sticks out of the world. A shape is reflected where its box meets the boundary, each axis on its own,
// as often as it would have been on its route; see `bounce_within`.
template <std::size_t D>
void bounce_rows(const Columns<D>& columns, const RowKinds& kinds, Moved<D>& moved) {
  RowFlags flags = kinds.bounces;
  for (std::size_t row = 0; row < columns.slots; ++row) {
    flags[row] &= columns.next_changed[row];
    columns.stale[row] |= flags[row];  // until the placements are swapped
  }
  const RowList rows = rows_sticking_out<D>(columns.spare.boxes, columns.bounds, flags.data(), columns.slots);
  if (rows.empty()) return;
  // Relative boxes, not those placed less the positions: far from the origin, that difference has lost most digits.
  std::vector<double> relative(rows.size() * 2 * D), speeds(rows.size() * D);
  const auto rotation_of = [&](std::size_t row) {
    return moved.rotations != nullptr ? moved.rotations + row * kRotationNumbers<D> : nullptr;
  };
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto row = static_cast<std::size_t>(rows[k]);
    const auto box = columns.spare.shapes->template relative_bounds<D>(row, rotation_of(row));
    std::copy_n(box.lower.begin(), D, relative.data() + 2 * k * D);
    std::copy_n(box.upper.begin(), D, relative.data() + (2 * k + 1) * D);
    std::copy_n(columns.velocities + row * D, D, speeds.data() + k * D);
  }
  const std::vector<std::int32_t> which =
      bounce<D>(moved.positions, speeds.data(), rows.data(), relative.data(), rows.size(), columns.bounds);
  const Poses<D> poses{moved.positions, moved.rotations, columns.spare.positions, columns.spare.rotations,
                       columns.spare.boxes};
  for (const std::int32_t k : which) {
    const auto row = static_cast<std::size_t>(rows[static_cast<std::size_t>(k)]);
    moved.bounced.push_back(rows[static_cast<std::size_t>(k)]);
    for (std::size_t axis = 0; axis < D; ++axis)
      moved.velocities.push_back(speeds[static_cast<std::size_t>(k) * D + axis]);
    place_row<D>(*columns.spare.shapes, poses, row);
    columns.next_changed[row] = columns.moved[row] = 1;
  }
}

// The rows that have left the world and are to be removed. A followed body is removed when none of its route was in the
// world: before that, it may have met something there.
template <std::size_t D>
RowList rows_that_left(const Columns<D>& columns, const RowKinds& kinds, const Trace<D>& trace) {
  RowFlags flags = kinds.leaves;
  for (std::size_t row = 0; row < columns.slots; ++row)
    flags[row] &= static_cast<std::uint8_t>(columns.next_changed[row] | (trace.is_ccd.empty() ? 0 : trace.is_ccd[row]));
  RowList rows = rows_outside<D>(columns.spare.boxes, columns.bounds, flags.data(), columns.slots);
  if (trace.is_ccd.empty()) return rows;
  constexpr std::uint8_t kLook = 1;
  std::erase_if(rows, [&](std::int32_t row) {
    const auto at = static_cast<std::size_t>(row);
    std::array<double, 2 * D> route;
    if (trace.turning.has(at))
      route = trace.turning.rough_box_of(at);
    else
      std::copy_n(columns.spare.boxes + at * 2 * D, 2 * D, route.begin());
    for (std::size_t axis = 0; axis < D && trace.is_ccd[at] != 0; ++axis) {
      const double back = trace.before[at * D + axis] - trace.end_of(at)[axis];
      route[axis] += std::min(back, 0.0);
      route[D + axis] += std::max(back, 0.0);
    }
    return rows_outside<D>(route.data(), columns.bounds, &kLook, 1).empty();
  });
  return rows;
}

// How far some rows can have come meanwhile, by where they would be if there were no boundary.
template <std::size_t D>
double longest_route(const double* before, const RowList& rows, const std::vector<double>& ends) {
  double most = 0;
  for (std::size_t k = 0; k < rows.size() * D; ++k) {
    const double route = std::abs(ends[k] - before[static_cast<std::size_t>(rows[k / D]) * D + k % D]);
    if (!is_finite(route)) return std::numeric_limits<double>::infinity();
    most = std::max(most, route);
  }
  return (1 + 0x1p-40) * most;
}

// By how much the boxes of some rows have grown.
template <std::size_t D>
double growth_of(const Columns<D>& columns, const RowList& rows) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const std::int32_t row : rows) {
    const double *before = columns.seen.boxes + static_cast<std::size_t>(row) * 2 * D,
                 *after = columns.spare.boxes + static_cast<std::size_t>(row) * 2 * D;
    for (std::size_t axis = 0; axis < D; ++axis) {
      const double grown = std::max(before[axis] - after[axis], after[D + axis] - before[D + axis]);
      if (!(grown < kInfinity)) return kInfinity;
      most = std::max(most, grown);
    }
  }
  return (1 + 0x1p-40) * most;
}

}  // namespace detail

// Moves what moves by itself, places shapes in the spare placement, and lets the boundary act. `few`: rows that can be
// elsewhere than they were seen, ascending, or null for all.
//
// Throws what `callbacks` says where a row would be nowhere; what has been written to the spare placement is marked as
// stale.
template <std::size_t D>
Moved<D> move_rows(const Columns<D>& columns, const RowKinds& kinds, const RowList* few, const std::uint8_t* looked_at,
                   double dt, bool has_displaced, NextPoseRoom& room, Trace<D>&& trace, unsigned workers,
                   StepCallbacks<D>& callbacks) {
  constexpr std::size_t R = kRotationNumbers<D>;
  const Placement<D>&seen = columns.seen, &spare = columns.spare;
  double *to_positions = nullptr, *to_rotations = nullptr;
  if (columns.update_intervals != nullptr) {  // rows that are seldom looked at move on, but their shapes do not
    room.positions.resize(columns.slots * D);
    to_positions = room.positions.data();
    if (columns.rotations != nullptr) {
      room.rotations.resize(columns.slots * R);
      to_rotations = room.rotations.data();
    }
  }
  const double* period = columns.period_bounds() != nullptr ? kinds.period : nullptr;
  const Advance<D> step{
      {columns.positions, columns.velocities, columns.rotations, columns.angular_velocities, kinds.moves.data(), dt},
      {columns.bounds, or_null(kinds.wraps)},
      {seen.positions, seen.rotations, spare.positions, spare.rotations, spare.boxes, seen.boxes,
       to_positions == nullptr},
      {looked_at, columns.stale, columns.next_changed, columns.moved},
      to_positions,
      to_rotations,
      period};
  Advanced<D> found = few != nullptr ? advance_few<D>(*spare.shapes, step, columns.slots, few->data(), few->size())
                                     : advance_all<D>(*spare.shapes, step, columns.slots, workers);
  if (found.lost < columns.slots) callbacks.refuse(StepCallbacks<D>::Refusal::motion, found.lost);
  if (found.nowhere >= 0) callbacks.refuse(StepCallbacks<D>::Refusal::place, static_cast<std::size_t>(found.nowhere));
  Moved<D> moved{};
  moved.positions = to_positions != nullptr ? to_positions : spare.positions;
  moved.rotations = to_positions != nullptr ? to_rotations : spare.rotations;
  moved.trace = std::move(trace);
  moved.is_of_few = few != nullptr;
  moved.shifts_few = found.shifted.are_few();
  moved.turns_few = found.rotated.are_few();
  moved.shifted = std::move(found.shifted).take();
  moved.rotated = std::move(found.rotated).take();
  detail::add_rows(moved.shifted, found.wrapped);
  moved.growth = found.growth.most();
  Trace<D>& follows = moved.trace;
  follows.wrapped = std::move(found.wrapped);
  const bool is_traced = !follows.is_ccd.empty();
  if (is_traced) {
    if (follows.kept.empty()) follows.before = seen.positions;
    follows.after = moved.positions;
    follows.turn(follows.wrapped, detail::unturned(columns, kinds, follows.wrapped, dt));
    follows.turning = TurningRows<D>(columns, kinds, follows.is_ccd, few, looked_at, dt, has_displaced);
    if (follows.turning.too_often() >= 0)
      callbacks.refuse(StepCallbacks<D>::Refusal::turn, static_cast<std::size_t>(follows.turning.too_often()));
    // A body may come round to where it was.
    for_rows_that_can_move(few, columns.slots, [&](std::size_t row) {
      if (follows.is_ccd[row] == 0 || kinds.moves[row] == 0 || columns.next_changed[row] != 0) return true;
      const double *end = follows.end_of(row), *before = follows.before + row * D;
      columns.next_changed[row] = !std::equal(end, end + D, before);
      return true;
    });
  }
  if (!kinds.bounces.empty()) {
    detail::bounce_rows(columns, kinds, moved);
    detail::add_rows(moved.shifted, moved.bounced);
    if (!moved.bounced.empty()) moved.growth = std::max(moved.growth, detail::growth_of(columns, moved.bounced));
    if (is_traced && !moved.bounced.empty()) {
      follows.bounced = moved.bounced;
      const std::vector<double> ends = detail::unturned(columns, kinds, moved.bounced, dt);
      moved.growth = std::max(moved.growth, detail::longest_route<D>(follows.before, moved.bounced, ends));
      follows.turn(moved.bounced, ends);
    }
  }
  if (!kinds.leaves.empty()) moved.removed = detail::rows_that_left(columns, kinds, follows);
  for (const std::int32_t row : moved.removed) {
    columns.next_changed[static_cast<std::size_t>(row)] = 0;
    // None of its route was in the world, so it meets nothing there.
    if (is_traced) follows.is_ccd[static_cast<std::size_t>(row)] = 0;
  }
  return moved;
}

}  // namespace broadphase
