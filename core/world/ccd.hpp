// Continuous detection: what bodies marked as ccd touch on their route from one step to the next.
//
// `impacts_on_routes` reads a `Followed`, raw arrays by row of the world, and gives the impacts that count. Bodies
// move straight between boundaries, and turn, at an even speed. All move at once: what counts is their relative motion.
// Nothing is missed at any speed: boxes around the routes, rounded outwards, find candidates; each is then narrowed to
// the time in which the boxes overlap, so that the exact test is on numbers of the size of the shapes. That is in
// closed form where neither turns, and otherwise by conservative advancement (narrow/turning.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "base/read_ahead.hpp"
#include "choose/find.hpp"
#include "narrow/batch.hpp"
#include "narrow/turning.hpp"
#include "query/filter.hpp"
#include "shapes/shape.hpp"
#include "shapes/store.hpp"
#include "world/meetings.hpp"
#include "world/routes.hpp"
#include "world/straight_routes.hpp"
#include "world/touching.hpp"

namespace broadphase {

// A step, as bodies are followed through it. Arrays have `rows` rows or more.
template <std::size_t D>
struct Followed {
  std::size_t rows;
  // Its `counts` are the rows that are alive after the step.
  RowMotions<D> row_motions;
  // Where the rows are now, as `row_motions.boxes`; rotations may be null.
  const ShapeStore* shapes;
  const double* rotations;
  // Which rows the step looks at: another one is where it was seen last. One that is seldom looked at and not followed
  // only appears where it is seen; `update_intervals` may be null, all are 1 then.
  const std::uint8_t* looked_at;
  const std::int32_t* update_intervals;
  // Rows that were removed since the last step, those of which something else than their motion has changed, too, and
  // the pairs that touched after the last step: what is among these and touches at the begin is no impact.
  const std::uint8_t *renewed, *unsettled;
  // Rows that have moved or changed; two others meet nothing that is not known.
  const std::uint8_t* active;
  LastTouching last;
  const Filter* filter;  // which pairs count; may be null
  // All pairs of rows on routes that are searched for at once that come near each other, those that count, if these
  // have been found already; and whether `keep_near` has kept them.
  std::optional<PairColumns> near;
  bool are_near_kept;

  // How far a row moves, if there is no boundary. One that is seldom looked at and not followed only appears.
  std::array<double, D> motion_of(std::size_t row) const {
    std::array<double, D> motion{};
    if (looked_at[row] == 0) return motion;
    if (update_intervals != nullptr && row_motions.is_followed[row] == 0 && update_intervals[row] != 1) return motion;
    const double *begin = row_motions.before + row * D, *end = row_motions.after_of(row);
    for (std::size_t axis = 0; axis < D; ++axis) motion[axis] = end[axis] - begin[axis];
    return motion;
  }
};

// Pairs of rows that come near each other, in columns: how the first moves relative to the second, which is moved by an
// offset before; and when they touch, as shares of the motion, infinity if never, NaN where that is not known, with the
// normal, from the first to the second.
template <std::size_t D>
struct Approaches {
  std::vector<std::int32_t> first, second;
  std::vector<double> motions, offsets, times, normals;

  static constexpr std::size_t kPairsATask = 4096;

  std::size_t size() const { return first.size(); }
  void resize(std::size_t count) {
    first.resize(count);
    second.resize(count);
    motions.resize(count * D);
    offsets.resize(count * D);
    times.resize(count, std::numeric_limits<double>::quiet_NaN());
    normals.resize(count * D);
  }
  // Copies what is given of a pair.
  void copy(std::size_t to, const Approaches& other, std::size_t from) {
    first[to] = other.first[from];
    second[to] = other.second[from];
    std::copy_n(other.motions.data() + from * D, D, motions.data() + to * D);
    std::copy_n(other.offsets.data() + from * D, D, offsets.data() + to * D);
  }
  void find(const ShapeStore& shapes, std::size_t begin, std::size_t count) {
    const ShapePairs some{first.data() + begin, second.data() + begin, offsets.data() + begin * D, count};
    impacts_of<D>(shapes, shapes, some, motions.data() + begin * D, times.data() + begin, normals.data() + begin * D);
  }
};

// The same of pairs of which one turns.
template <std::size_t D>
struct TurningApproaches {
  std::vector<std::int32_t> first, second;
  std::vector<PairMotion<D>> motions;
  std::vector<double> times, normals;

  static constexpr std::size_t kPairsATask = 256;

  std::size_t size() const { return first.size(); }
  void resize(std::size_t count) {
    first.resize(count);
    second.resize(count);
    motions.resize(count);
    times.resize(count, std::numeric_limits<double>::quiet_NaN());
    normals.resize(count * D);
  }
  void copy(std::size_t to, const TurningApproaches& other, std::size_t from) {
    first[to] = other.first[from];
    second[to] = other.second[from];
    motions[to] = other.motions[from];
  }
  void find(const ShapeStore& shapes, std::size_t begin, std::size_t count) {
    const std::vector<double> targets(count);
    turning_impacts_of<D>(shapes, shapes, first.data() + begin, second.data() + begin, motions.data() + begin,
                          targets.data(), count, times.data() + begin, normals.data() + begin * D);
  }
};

// A followed row that crosses the world more than `kMostBends` times.
template <std::size_t D>
struct EndlessRoute {
  std::int32_t row;
  std::array<double, D> from, motion;
};

template <std::size_t D>
struct Impacts {
  // Rows of the world, each pair once, first < second, in lexicographic order; times are shares of the step.
  std::vector<Meeting<D>> meetings;
  std::optional<EndlessRoute<D>> endless;  // then there are no meetings
  // What was looked at: rows, and how many pairs of parts of routes.
  std::vector<std::int32_t> rows;
  std::size_t candidate_count = 0;
};

// Where a row that is reflected moves, if it has room to.
template <std::size_t D>
std::optional<Room<D>> reflecting_room(const Followed<D>& followed, std::size_t row) {
  const double* bounds = followed.row_motions.bounds;
  const auto shape = followed.shapes->template relative_bounds<D>(
      row, followed.rotations != nullptr ? followed.rotations + row * kRotationNumbers<D> : nullptr);
  Room<D> room;
  for (std::size_t axis = 0; axis < D; ++axis) {
    room.origin[axis] = bounds[axis] - shape.lower[axis];
    room.period[axis] = bounds[D + axis] - shape.upper[axis] - room.origin[axis];
    if (!(room.period[axis] > 0)) return {};
  }
  return room;
}

// Takes apart the routes of followed bodies, and of those that a boundary turned; `rows` are those of the world that
// are looked at, ascending, and the parts name places among them. Where a route is unknown, a body goes straight from
// where it was to where it is, and its motion is written to.
template <std::size_t D>
std::optional<EndlessRoute<D>> split_routes(const Followed<D>& followed, const std::vector<std::int32_t>& rows,
                                            std::vector<std::array<double, D>>& motions,
                                            std::vector<RoutePart<D>>& routes) {
  const RowMotions<D>& row_motions = followed.row_motions;
  const double* bounds = row_motions.bounds;
  std::vector<std::uint8_t> is_bent(rows.size());
  std::vector<RoutePart<D>> parts;
  std::vector<double> times;
  std::optional<EndlessRoute<D>> endless;
  const auto row_at = [&](std::size_t k) { return static_cast<std::size_t>(rows[k]); };
  const auto turn_of = [&](std::size_t k) { return row_motions.turned != nullptr ? row_motions.turned[row_at(k)] : 0; };
  const auto go_straight = [&](std::size_t k) {
    for (std::size_t axis = 0; axis < D; ++axis)
      motions[k][axis] = row_motions.now[row_at(k) * D + axis] - row_motions.before[row_at(k) * D + axis];
  };
  // False where the route of a followed row is endless.
  const auto fold = [&](std::size_t k, const Room<D>& room, double bends, bool reflects) {
    const double* begin = row_motions.before + row_at(k) * D;
    if (bends > kMostBends) {
      if (row_motions.is_followed[row_at(k)] != 0) {
        endless = EndlessRoute<D>{rows[k], {}, motions[k]};
        std::copy_n(begin, D, endless->from.begin());
        return false;
      }
      motions[k].fill(0.0);
      return true;
    }
    const std::size_t first = parts.size();
    add_bent_route(static_cast<std::int32_t>(k), begin, motions[k], room, reflects, times, parts);
    if (!reflects || arrives(parts, first, row_motions.now + row_at(k) * D, room)) {
      is_bent[k] = 1;
    } else {
      parts.resize(first);
      go_straight(k);
    }
    return true;
  };
  const auto is_within = [&](const double* place) {
    bool is = true;
    for (std::size_t axis = 0; axis < D; ++axis)
      is &= !(place[axis] < bounds[axis]) & !(place[axis] >= bounds[D + axis]);
    return is;
  };
  // In a periodic world, a short route goes on across the boundary: it has few images there.
  const auto is_short = [&](const std::array<double, D>& motion) {
    bool is = true;
    for (std::size_t axis = 0; axis < D; ++axis)
      is &= std::abs(motion[axis]) <= NearestImage<D>::kWidestRoute * (bounds[D + axis] - bounds[axis]);
    return is;
  };
  if (bounds != nullptr) {
    Room<D> world;
    for (std::size_t axis = 0; axis < D; ++axis) {
      world.origin[axis] = bounds[axis];
      world.period[axis] = bounds[D + axis] - bounds[axis];
    }
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const std::size_t row = row_at(k);
      const double* begin = row_motions.before + row * D;
      const auto turn = turn_of(k);
      if (turn == RowMotions<D>::kReflected || row_motions.counts[row] == 0) continue;
      if (row_motions.is_periodic ? is_short(motions[k]) || (is_within(begin) && is_within(row_motions.after_of(row)))
                                  : turn == 0)
        continue;
      const double bends = bends_of(begin, motions[k], world);
      if (bends > 0 && !fold(k, world, bends, false)) return endless;
    }
  }
  for (std::size_t k = 0; row_motions.turned != nullptr && k < rows.size(); ++k) {
    if (turn_of(k) != RowMotions<D>::kReflected) continue;
    const std::size_t row = row_at(k);
    const std::optional<Room<D>> room = reflecting_room(followed, row);
    if (!room)
      go_straight(k);
    else if (!fold(k, *room, bends_of(row_motions.before + row * D, motions[k], *room), true))
      return endless;
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (row_motions.is_followed[row_at(k)] == 0 || is_bent[k] != 0) continue;
    RoutePart<D> route{static_cast<std::int32_t>(k), 0.0, 1.0, {}, motions[k]};
    for (std::size_t axis = 0; axis < D; ++axis)
      route.begin[axis] = row_motions.now[row_at(k) * D + axis] - motions[k][axis];
    routes.push_back(route);
  }
  routes.insert(routes.end(), parts.begin(), parts.end());
  return endless;
}

// When the shapes of pairs touch: by the core, and by others(pairs), which writes times and normals, for those with a
// hull, a mesh or a custom shape. `Pairs`: of either type above.
template <std::size_t D, class Pairs, class Others>
void find_times(const ShapeStore& shapes, Pairs& all, unsigned workers, Interrupt& interrupt, Others&& others) {
  constexpr std::size_t kTasksWorthThreads = 3;
  const std::size_t tasks = (all.size() + Pairs::kPairsATask - 1) / Pairs::kPairsATask;
  for_each_task(tasks, tasks < kTasksWorthThreads ? 1 : workers, interrupt, [&](unsigned, std::size_t task) {
    const std::size_t begin = task * Pairs::kPairsATask;
    all.find(shapes, begin, std::min(Pairs::kPairsATask, all.size() - begin));
  });
  for (double& x : all.normals) x += 0.0;  // makes 0.0 of -0.0
  std::vector<std::size_t> unknown;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (std::isnan(all.times[k])) unknown.push_back(k);
  if (unknown.empty()) return;
  Pairs some;
  some.resize(unknown.size());
  for (std::size_t k = 0; k < unknown.size(); ++k) some.copy(k, all, unknown[k]);
  others(some);
  for (std::size_t k = 0; k < unknown.size(); ++k) {
    all.times[unknown[k]] = some.times[k];
    std::copy_n(some.normals.begin() + static_cast<std::ptrdiff_t>(k * D), D,
                all.normals.begin() + static_cast<std::ptrdiff_t>(unknown[k] * D));
  }
}

// How the two rows of an approach move and turn while their boxes overlap.
template <std::size_t D>
PairMotion<D> motion_of(const Followed<D>& followed, const Approach<D>& one, std::size_t row, std::size_t other) {
  const RowMotions<D>& row_motions = followed.row_motions;
  const double since = one.since + one.duration * one.begin, length = one.duration * one.length;
  PairMotion<D> pair;
  for (std::size_t k = 0; k < D; ++k)
    pair.place[k] = row_motions.now[row * D + k] - row_motions.now[other * D + k] - one.offset[k];
  pair.motion = one.motion;
  const auto turn = [&](std::size_t which, Rotation<D>& rotation, TurnVector<D>& by) {
    if (row_motions.turning->has(which)) {
      const TurnVector<D> whole = row_motions.turning->turn_of(which);
      rotation = row_motions.turning->rotation_at(which, whole, since);
      for (std::size_t k = 0; k < by.size(); ++k) by[k] = whole[k] * length;
    } else if (followed.rotations != nullptr) {
      std::copy_n(followed.rotations + which * rotation.size(), rotation.size(), rotation.begin());
    }
  };
  turn(row, pair.rotation, pair.turn);
  turn(other, pair.other_rotation, pair.other_turn);
  return pair;
}

// When the shapes of approaches touch, as shares of their motions, and the normals: number(row) is that in the world.
struct ApproachTimes {
  std::vector<double> times, normals;
};
template <std::size_t D, class Number, class Others>
ApproachTimes times_of(const Followed<D>& followed, const std::vector<Approach<D>>& near, const Number& number,
                       unsigned workers, Interrupt& interrupt, Others& others) {
  const RowMotions<D>& row_motions = followed.row_motions;
  const auto find = [&](auto& pairs, std::size_t count, const auto& place_of, const auto& put) {
    pairs.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      const Approach<D>& one = near[place_of(k)];
      pairs.first[k] = number(one.first);
      pairs.second[k] = number(one.second);
      put(k, one);
    }
    find_times<D>(*followed.shapes, pairs, workers, interrupt, others);
  };
  Approaches<D> straight;
  const auto put_straight = [&](std::size_t k, const Approach<D>& one) {
    std::copy_n(one.motion.begin(), D, straight.motions.begin() + static_cast<std::ptrdiff_t>(k * D));
    std::copy_n(one.offset.begin(), D, straight.offsets.begin() + static_cast<std::ptrdiff_t>(k * D));
  };
  if (row_motions.turning->flags() == nullptr) {
    find(straight, near.size(), [](std::size_t k) { return k; }, put_straight);
    return {std::move(straight.times), std::move(straight.normals)};
  }
  const auto row = [&](std::int32_t one) { return static_cast<std::size_t>(number(one)); };
  std::array<std::vector<std::size_t>, 2> places;  // of those that go straight, and of those that turn
  for (std::size_t k = 0; k < near.size(); ++k) {
    const bool turns = row_motions.turning->has(row(near[k].first)) || row_motions.turning->has(row(near[k].second));
    places[turns ? 1 : 0].push_back(k);
  }
  TurningApproaches<D> turning;
  find(straight, places[0].size(), [&](std::size_t k) { return places[0][k]; }, put_straight);
  find(
      turning, places[1].size(), [&](std::size_t k) { return places[1][k]; },
      [&](std::size_t k, const Approach<D>& one) {
        turning.motions[k] = motion_of(followed, one, row(one.first), row(one.second));
      });
  ApproachTimes all{std::vector<double>(near.size()), std::vector<double>(near.size() * D)};
  const auto take = [&](const auto& pairs, const std::vector<std::size_t>& at) {
    for (std::size_t k = 0; k < at.size(); ++k) {
      all.times[at[k]] = pairs.times[k];
      std::copy_n(pairs.normals.data() + k * D, D, all.normals.data() + at[k] * D);
    }
  };
  take(straight, places[0]);
  take(turning, places[1]);
  return all;
}

// The pairs of a problem, by the method that fits.
struct RoutePairs {
  const Kernels& kernels;
  unsigned workers;
  Interrupt& interrupt;

  Pairs operator()(const Problem<double>& problem) const {
    // To look at so few boxes takes longer than to compare them all.
    constexpr double kFew = 262144;
    const MethodName name = all_pairs(problem) < kFew ? MethodName::brute_force : MethodName::automatic;
    return find_pairs(name, problem, kNoLimit, {kernels, workers, interrupt});
  }
};

// Adds what the rows that are sought meet. `rows`: those that are looked at, ascending; `rows_near_routes` gives as
// many as there must be.
template <std::size_t D, class Others>
void find_meetings(const Followed<D>& followed, const std::vector<std::int32_t>& rows, const RoutePairs& pairs_of,
                   unsigned workers, Others& others, Impacts<D>& found) {
  const RowMotions<D>& row_motions = followed.row_motions;
  std::vector<std::array<double, D>> motions(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) motions[k] = followed.motion_of(static_cast<std::size_t>(rows[k]));
  std::vector<RoutePart<D>> routes;
  found.endless = split_routes(followed, rows, motions, routes);
  if (found.endless) return;
  std::vector<RouteRow<D>> bodies(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto row = static_cast<std::size_t>(rows[k]);
    RouteRow<D>& body = bodies[k];
    body.box = row_motions.box_of(row, false);
    std::copy_n(row_motions.now + row * D, D, body.place.begin());
    body.motion = motions[k];
    body.key = row_motions.keys != nullptr ? row_motions.keys[row] : 0;
    body.number = rows[k];
    body.counts = row_motions.counts[row] != 0;
    body.is_followed = row_motions.is_followed[row] != 0;
    body.is_sought = row_motions.is_sought[row] != 0;
  }
  MeetingSearch<D> search(std::move(bodies), std::move(routes), row_motions.is_periodic ? row_motions.bounds : nullptr);
  const auto number = [&](std::int32_t row) { return search.number_of(row); };
  while (search.next(followed.filter, pairs_of)) {
    const ApproachTimes at = times_of(followed, search.approaches(), number, workers, pairs_of.interrupt, others);
    search.note(at.times.data(), at.normals.data());
  }
  for (Meeting<D> one : search.meetings()) {
    one.first = search.number_of(one.first);
    one.second = search.number_of(one.second);
    found.meetings.push_back(one);
  }
  found.candidate_count += search.candidate_count();
}

// Of rows that are searched for at once, those whose boxes around their routes overlap, images in a periodic world,
// too.
template <std::size_t D>
Pairs straight_pairs(const Followed<D>& followed, const StraightRoutes<D>& routes, const RoutePairs& pairs_of) {
  const RowMotions<D>& row_motions = followed.row_motions;
  std::vector<std::int32_t> rows;
  std::vector<double> corners;
  std::vector<std::int64_t> keys;
  for (std::size_t row = 0; row < followed.rows; ++row) {
    if (routes.is_here[row] == 0) continue;
    const double* around = routes.around.get() + row * 2 * D;
    rows.push_back(static_cast<std::int32_t>(row));
    corners.insert(corners.end(), around, around + 2 * D);
    if (row_motions.keys != nullptr) keys.push_back(row_motions.keys[row]);
  }
  Problem<double> problem;
  constexpr auto kStride = static_cast<std::int64_t>(2 * D);
  problem.first = {corners.data(), corners.data() + D, kStride, kStride, rows.size()};
  problem.dimension = D;
  problem.is_own = true;
  Batches batches;
  if (row_motions.keys != nullptr) {
    batches = batches_of({rows.size(), keys.data(), 1}, nullptr, pairs_of.interrupt);
    if (!batches.is_whole) problem.batches = &batches;
  }
  Pairs pairs = pairs_of(problem);
  const RowNames names{rows.data()};
  names.name(pairs.block.get(), pairs.size);
  names.name(pairs.block.get() + pairs.stride, pairs.size);
  if (!routes.is_periodic()) return pairs;
  const PeriodicSearch search{routes.around.get(),
                              row_motions.bounds,
                              routes.is_here.data(),
                              followed.rows,
                              nullptr,
                              nullptr,
                              row_motions.keys,
                              true,
                              pairs_of.workers};
  const PeriodicPairs images = find_periodic_pairs<D>(search, pairs_of.kernels, pairs_of.interrupt);
  append(pairs, copy_of({images.first.data(), images.second.data(), images.first.size()}));
  return pairs;
}

// Adds the parts of the route of a row that is reflected, a few times at most. False: others must look at it.
// `motion` is written to where it goes straight after all.
template <std::size_t D>
bool add_few_parts(const Followed<D>& followed, std::size_t row, StraightRoutes<D>& routes,
                   std::vector<double>& times) {
  constexpr double kMostBends = 4;
  const RowMotions<D>& row_motions = followed.row_motions;
  const double *before = row_motions.before + row * D, *now = row_motions.now + row * D;
  std::array<double, D>& motion = routes.balls[row].motion;
  const std::size_t first = routes.parts.size();
  bool is_bent = false;
  if (const std::optional<Room<D>> room = reflecting_room(followed, row)) {
    const double bends = bends_of(before, motion, *room);
    if (bends > kMostBends) return false;
    add_bent_route(static_cast<std::int32_t>(row), before, motion, *room, true, times, routes.parts);
    is_bent = arrives(routes.parts, first, now, *room);
  }
  if (!is_bent) {
    routes.parts.resize(first);
    for (std::size_t k = 0; k < D; ++k) motion[k] = now[k] - before[k];
    return true;
  }
  for (std::size_t at = first; at < routes.parts.size(); ++at)
    for (std::size_t k = 0; k < D; ++k) routes.parts[at].begin[k] -= now[k];
  routes.first_part[row] = static_cast<std::int32_t>(first);
  routes.balls[row].flags |= MovingBall<D>::kHasParts;
  return true;
}

// Writes how rows move, where most rows are sought. Leaves as sought those that are not among these, and those that may
// meet one of these.
template <std::size_t D>
void place_on_routes(const Followed<D>& followed, StraightRoutes<D>& routes, RowFlags& sought, unsigned workers) {
  using Ball = MovingBall<D>;
  const RowMotions<D>& row_motions = followed.row_motions;
  const std::size_t n = followed.rows;
  const StoredBall* const stored = followed.shapes->balls();
  RowFlags goes_otherwise;  // and is not followed
  std::vector<double> times;
  routes.begin(n, row_motions.is_periodic ? row_motions.bounds : nullptr);
  std::fill(sought.begin(), sought.end(), std::uint8_t{0});
  for (std::size_t row = 0; row < n; ++row) {
    const double* const box = row_motions.boxes + row * 2 * D;
    const bool is_followed = row_motions.is_followed[row] != 0, counts = row_motions.counts[row] != 0;
    Ball& ball = routes.balls[row];
    ball.flags = static_cast<std::uint8_t>((is_followed ? Ball::kIsFollowed : 0) |
                                           (followed.active[row] != 0 ? Ball::kIsActive : 0));
    if (!(is_followed || counts)) {
      ball.reach = std::numeric_limits<double>::infinity();
      std::copy_n(box, 2 * D, routes.around.get() + row * 2 * D);
      continue;
    }
    StraightRow<D>& it = routes.rows[row];
    ball.motion = followed.motion_of(row);
    it.box = row_motions.box_of(row, false);
    for (std::size_t k = 0; k < D && row_motions.turning->has(row); ++k) {
      it.box[k] = std::min(it.box[k], box[k]);
      it.box[D + k] = std::max(it.box[D + k], box[D + k]);
    }
    bool is_here = counts;
    if (const auto turn = row_motions.turned != nullptr ? row_motions.turned[row] : 0;
        turn == RowMotions<D>::kReflected)
      is_here &= !row_motions.is_periodic && add_few_parts(followed, row, routes, times);
    else if (turn != 0)
      is_here &= row_motions.is_periodic;
    for (std::size_t k = 0; k < D; ++k) {  // bit for bit as for a route
      const double whole = ball.motion[k], now = row_motions.now[row * D + k];
      it.shift[k] = is_followed ? (now - whole) - now : -whole;
      ball.from[k] = 0.5 * (it.box[k] + it.box[D + k]) + it.shift[k];
    }
    const double radius = stored[row][D];
    const bool is_ball = radius >= kLeastReach && radius <= kMostReach && !row_motions.turning->has(row);
    if (followed.unsettled[row] == 0 && followed.update_intervals == nullptr) ball.flags |= Ball::kIsSettled;
    ball.reach = is_ball ? it.reach_of_ball(ball.motion) : std::numeric_limits<double>::infinity();
    if (is_here && routes.enclose(row, row_motions.bounds)) {
      ball.flags |= Ball::kIsHere;
      routes.is_here[row] = 1;
      continue;
    }
    routes.leave_out(row, box);
    if (is_followed) {
      sought[row] = 1;
    } else {
      goes_otherwise.resize(n);
      goes_otherwise[row] = 1;
    }
  }
  if (!goes_otherwise.empty()) {
    seek_followed_near(row_motions, goes_otherwise, n, workers, sought);
    for (std::size_t row = 0; row < n; ++row)
      if (sought[row] != 0) routes.leave_out(row, row_motions.boxes + row * 2 * D);
  }
}

// Adds what rows meet that are searched for at once.
template <std::size_t D, class Others>
void find_straight_meetings(Followed<D>& followed, const StraightRoutes<D>& routes, const RoutePairs& pairs_of,
                            unsigned workers, Others& others, Impacts<D>& found) {
  Pairs own;
  PairColumns pairs;
  if (followed.are_near_kept) {
    pairs = *followed.near;
  } else {
    own = followed.near ? copy_of(*followed.near) : straight_pairs(followed, routes, pairs_of);
    keep_near(routes, own);
    pairs = columns_of(own);
  }
  // Some at a time, whose numbers stay in the cache.
  constexpr std::size_t kPairsTogether = 1024;
  const std::size_t together = workers > 1 ? std::max<std::size_t>(pairs.count, 1) : kPairsTogether;
  StraightApproaches<D> search(routes, followed.filter, followed.last);
  std::vector<Approach<D>> near;
  near.reserve(std::min(together, pairs.count));
  found.meetings.reserve(pairs.count);
  const auto number = [](std::int32_t row) { return row; };
  for (std::size_t begin = 0; begin < pairs.count; begin += together) {
    const PairColumns some{pairs.first + begin, pairs.second + begin, std::min(together, pairs.count - begin)};
    search.find(some, near);
    const ApproachTimes at = times_of(followed, near, number, workers, pairs_of.interrupt, others);
    for (std::size_t k = 0; k < near.size(); ++k)
      if (is_finite(at.times[k])) found.meetings.push_back(meeting_of(near[k], at.times[k], at.normals.data() + k * D));
  }
  found.candidate_count += search.count();
}

// Sorts meetings in lexicographic order, and keeps the first of each pair.
template <std::size_t D>
void sort_meetings(std::vector<Meeting<D>>& meetings, std::size_t rows, Interrupt& interrupt) {
  struct Place {
    std::uint64_t key;
    std::size_t at;
  };
  const int bits = static_cast<int>(std::bit_width(rows));
  PlainArray<Place> places, spare;
  places.grow(meetings.size());
  spare.grow(meetings.size());
  for (std::size_t k = 0; k < meetings.size(); ++k)
    places[k] = {static_cast<std::uint64_t>(meetings[k].first) << bits | static_cast<std::uint64_t>(meetings[k].second),
                 k};
  constexpr int kDigit = 11;
  const Place* const sorted = radix_sort<kDigit>(
      places.get(), spare.get(), meetings.size(), 0, 2 * bits, [](const Place& place) { return place.key; }, 1,
      interrupt);
  std::vector<Meeting<D>> in_order;
  in_order.reserve(meetings.size());
  for (std::size_t k = 0; k < meetings.size(); ++k) {
    constexpr std::size_t kAhead = 16;
    if (k + kAhead < meetings.size()) read_ahead(meetings.data() + sorted[k + kAhead].at);
    const Meeting<D>& one = meetings[sorted[k].at];
    if (k == 0 || sorted[k].key != sorted[k - 1].key)
      in_order.push_back(one);
    else if (one.time < in_order.back().time)
      in_order.back() = one;
  }
  meetings = std::move(in_order);
}

// What touched a followed body since the last step, and did not touch it then. `sought` has the flags of the rows whose
// routes are searched for; `routes`: of most rows, which are not among these, or null. others(pairs) writes the times
// and normals of pairs with a hull, a mesh or a custom shape, of either type of approaches; it may throw.
template <std::size_t D, class Others>
Impacts<D> impacts_on_routes(Followed<D>& followed, const StraightRoutes<D>* routes, const RowFlags& sought,
                             const Kernels& kernels, unsigned workers, Interrupt& interrupt, Others&& others) {
  Impacts<D> found;
  const RoutePairs pairs_of{kernels, 1, interrupt};
  const RowMotions<D>& row_motions = followed.row_motions;
  found.rows = routes != nullptr ? all_rows(row_motions, followed.rows, workers)
                                 : rows_near_routes(row_motions, followed.rows, workers);
  if (routes != nullptr) find_straight_meetings(followed, *routes, pairs_of, workers, others, found);
  const bool are_some_left = std::memchr(sought.data(), 1, sought.size()) != nullptr;
  if (are_some_left)
    find_meetings(followed, routes != nullptr ? rows_near_routes(row_motions, followed.rows, workers) : found.rows,
                  pairs_of, workers, others, found);
  if (found.endless) {
    found.meetings.clear();
    return found;
  }
  sort_meetings(found.meetings, followed.rows, interrupt);
  std::erase_if(found.meetings, [&](const Meeting<D>& one) {
    const bool is_renewed = (followed.renewed[one.first] | followed.renewed[one.second]) != 0;
    return !(one.time > 0) && !is_renewed && is_among(followed.last.touching.pairs, one.first, one.second);
  });
  return found;
}

}  // namespace broadphase
