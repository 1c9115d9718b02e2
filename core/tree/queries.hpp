// Queries on a tree of blocks, one at a time: rows that overlap a box or a ball, the nearest rows, rows hit by a ray or
// by a moving box, rows that overlap a convex region.
//
// A walk over the tree's float boxes yields candidates; the exact test reads the rows in double precision. Everything
// here only reads, so any number of threads may query at once, each with its own TreeQueries and scratch.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <vector>

#include "base/memory.hpp"
#include "base/read_ahead.hpp"
#include "base/with_dimension.hpp"
#include "boxes/any_boxes.hpp"
#include "query/queries.hpp"
#include "query/sort_rows.hpp"
#include "simd/kernels.hpp"
#include "tree/blocks.hpp"
#include "tree/curve_order.hpp"
#include "tree/interleaved.hpp"
#include "tree/near_candidates.hpp"
#include "tree/nearest_rows.hpp"
#include "tree/together.hpp"
#include "tree/walks.hpp"

namespace broadphase {

// ---- Preparing a walk: the query in the tree's local coordinates, rounded so that no candidate is lost ----

inline void start(Walk& walk, const BlockTree& tree) {
  walk.memory = tree.blocks.memory();
  walk.depth = 0;
  if (tree.root != kNoBlock) walk.stack[walk.depth++] = tree.root;
}

// True if the walk's own test is exact: neither the tree's boxes nor this one were rounded.
inline bool start(BoxWalk& walk, const BlockTree& tree, const double* box) {
  start(static_cast<Walk&>(walk), tree);
  const std::size_t dimension = tree.dimension();
  if (tree.is_wide()) {
    put_box(box, dimension, walk.wide_box);
    return true;
  }
  const std::size_t axes = tree.blocks.layout().axes;
  bool exact = tree.is_exact();
  span_second_axis(walk.box);
  for (std::size_t k = 0; k < dimension; ++k) {
    walk.box[k] = tree.frame.below(box[k], k);
    walk.box[axes + k] = tree.frame.above(box[dimension + k], k);
    exact = exact && tree.frame.keeps(box[k], k) && tree.frame.keeps(box[dimension + k], k);
  }
  if (exact) return true;
  span_second_axis(walk.inner_box);
  for (std::size_t k = 0; k < dimension; ++k) {
    walk.inner_box[k] = surely_above(tree.frame.local(box[k], k));
    walk.inner_box[axes + k] = -surely_above(-tree.frame.local(box[dimension + k], k));
  }
  return false;
}

// Slightly more than `value`, for comparisons with keys that accumulate half a dozen roundings.
inline float rounded_up(double value) {
  constexpr double kMore = 1 + 2e-6, kLeast = 1e-37;
  const double more = value * kMore + kLeast;
  return more <= static_cast<double>(std::numeric_limits<float>::max()) ? static_cast<float>(more)
                                                                        : std::numeric_limits<float>::infinity();
}

// The key in a wide tree, see OrderedWalk, of slightly more than `value`, which is not negative.
inline float wide_key(double value) {
  constexpr double kMore = 1 + 1e-14, kMost = 0x1p1016;
  if (!(value <= kMost)) return std::numeric_limits<float>::infinity();
  return std::bit_cast<float>(static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(value * kMore) >> 32) + 1);
}

// The squared distance in the walk's units that corresponds to a distance, or to a squared one.
inline float limit_of_distance(const BlockTree& tree, double distance) {
  if (tree.is_wide()) return wide_key(distance * distance);
  const double local = distance * tree.frame.scale;
  return rounded_up(local * local);
}
inline float limit_of_square(const BlockTree& tree, double squared) {
  if (tree.is_wide()) return wide_key(squared);
  return rounded_up(squared * tree.frame.scale * tree.frame.scale);
}
inline float limit_of_square(const BlockTree& tree, const WideNumber& squared) {
  if (tree.is_wide()) return wide_key(squared.to_double());
  return rounded_up(squared.scaled(2 * std::ilogb(tree.frame.scale)));
}

// Keys from here on may stand for as much as this limit: they lack of that by rounding, besides a share, up to `lack`.
inline float tie_of(const BlockTree& tree, float limit, float lack) {
  constexpr float kLess = 0.9999F;
  constexpr std::uint32_t kSteps = 2;
  if (tree.is_wide()) return std::bit_cast<float>(std::max(std::bit_cast<std::uint32_t>(limit), kSteps) - kSteps);
  return std::max(0.0F, limit * kLess - lack);
}
inline void start(BallWalk& walk, const BlockTree& tree, const double* center, float limit, bool ordered) {
  start(static_cast<Walk&>(walk), tree);
  const std::size_t dimension = tree.dimension(), axes = tree.blocks.layout().axes;
  for (std::size_t k = 0; k < axes; ++k) {
    walk.center[k] = k < dimension ? tree.frame.below(center[k], k) : 0;
    walk.center[axes + k] = k < dimension ? tree.frame.above(center[k], k) : 0;
    walk.wide_center[k] = k < dimension ? center[k] : 0;
  }
  walk.key[0] = 0;
  walk.limit = limit;
  walk.ordered = ordered;
}

// Query number `query` of those walked together; returns what a distance from its point, in the walk's units, to a box
// may differ by from the true one, besides a relative error of 1e-6. Infinite if the point is too far away for floats.
template <std::size_t D>
double place(PointsWalk& walk, const BlockTree& tree, std::size_t query, const double* point) {
  constexpr double kRounding = 5e-7, kLeast = 1e-18, kFarthest = 1e15;  // smaller gaps have no square in floats
  double squared = 0;
  if constexpr (D == 1) walk.center[1][query] = 0;
  for (std::size_t k = 0; k < D; ++k) {
    const double at = std::clamp(tree.frame.local(point[k], k), -2 * kFarthest, 2 * kFarthest);
    walk.center[k][query] = static_cast<float>(at);
    squared += at * at;
  }
  const double size = std::sqrt(squared);
  return size <= kFarthest ? size * kRounding + kLeast : std::numeric_limits<double>::infinity();
}

// Queries of a walk from this number on are not in use.
inline void leave_out(PointsWalk& walk, const BlockTree& tree, std::size_t query) {
  for (std::size_t k = 0; k < tree.blocks.layout().axes; ++k) walk.center[k][query] = walk.center[k][0];
  walk.limit[query] = -1;
}

// The squared distance in the walk's units up to which a row may be at most `distance` from the point, and that up to
// which it surely is; negative if none is.
inline float limit_of_distance(const BlockTree& tree, double distance, double error) {
  const double local = distance * tree.frame.scale * (1 + 1e-6) + error;
  return rounded_up(local * local);
}
inline float sure_of_distance(const BlockTree& tree, double distance, double error) {
  constexpr double kFarthest = 1e18;
  const double local = std::min(distance * tree.frame.scale * (1 - 2e-6), kFarthest) - error;
  return local > 0 ? static_cast<float>(local * local * (1 - 1e-6)) : -1.0F;
}

// The greatest motion along an axis. A walk's unit of time is the one in which that axis moves by 1 in local
// coordinates.
inline double fastest(const Sweep& sweep, std::size_t dimension) {
  double motion = 0;
  for (std::size_t k = 0; k < dimension; ++k) motion = std::max(motion, std::fabs(sweep.motion[k]));
  return motion;
}

// A time in the walk's units, for a motion with this fastest axis.
inline float time_limit(const BlockTree& tree, double fastest, double time) {
  if (tree.is_wide()) return wide_key(time > 0 ? time * fastest : 0.0);
  return rounded_up(time > 0 ? time * (fastest * tree.frame.scale) : 0.0);
}
inline float time_limit(const BlockTree& tree, double fastest, const WideNumber& time) {
  if (tree.is_wide()) return wide_key((time * WideNumber(fastest)).to_double());
  return rounded_up((time * WideNumber(fastest) * WideNumber(tree.frame.scale)).to_double());
}

// What a walk takes for the motion of a moving box along one axis, at `motion` in units of the fastest axis. Without
// motion it is never entered nor left there: all times are infinite, before or after all others. With almost no motion
// it may still arrive in the end: such an axis is without limits.
template <class T>
struct AxisMotion {
  T low, high, inverse;

  AxisMotion(T from, T to, double motion, bool moves, double slowest) : low(from), high(to) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const bool is_slow = std::fabs(motion) < slowest;
    inverse = is_slow ? kInfinity : static_cast<T>(1 / motion);
    if (!is_slow || !moves) return;
    low = -kInfinity;
    high = kInfinity;
  }
};

// By which a length along a motion, as what limits rays, becomes a time in the walk's units.
inline double units_of_length(const Sweep& sweep, double length, std::size_t dimension) {
  const double unit = fastest(sweep, dimension);
  // In local coordinates the fastest axis moves by as much as the whole motion at most.
  return sweep.ends ? unit : is_safe_length(length) ? unit / length : 1;
}

// `length` is that of the motion, by which times become what `farthest` limits; perhaps out of range (see length_of).
inline void start(SweepWalk& walk, const BlockTree& tree, const Sweep& sweep, double length, double farthest,
                  bool ordered) {
  start(static_cast<Walk&>(walk), tree);
  const std::size_t dimension = tree.dimension();
  const double unit = fastest(sweep, dimension);
  // A box without motion touches at any time or never: any time is as good as 0.
  const double reach = unit > 0 ? farthest * units_of_length(sweep, length, dimension) : 0;
  walk.key[0] = 0;
  walk.ordered = ordered;
  const auto motion_along = [&](std::size_t k) { return unit > 0 ? sweep.motion[k] / unit : 0; };
  const std::size_t axes = tree.blocks.layout().axes;
  if (tree.is_wide()) {
    constexpr double kFarthest = std::numeric_limits<double>::max();
    span_second_axis(walk.wide_box);
    walk.wide_inverse[1] = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < dimension; ++k) {
      const AxisMotion<double> motion(std::clamp(sweep.box[k], -kFarthest, kFarthest),
                                      std::clamp(sweep.box[dimension + k], -kFarthest, kFarthest), motion_along(k),
                                      sweep.motion[k] != 0, 1e-300);
      walk.wide_box[k] = motion.low;
      walk.wide_box[axes + k] = motion.high;
      walk.wide_inverse[k] = motion.inverse;
    }
    walk.limit = wide_key(reach);
    return;
  }
  span_second_axis(walk.box);
  walk.inverse[1] = std::numeric_limits<float>::infinity();
  for (std::size_t k = 0; k < dimension; ++k) {
    // Beyond all floats the box reaches to infinity: drawn in to the largest float, it would leave too early.
    const AxisMotion<float> motion(tree.frame.below(sweep.box[k], k), tree.frame.above(sweep.box[dimension + k], k),
                                   motion_along(k), sweep.motion[k] != 0, 1e-36);
    walk.box[k] = motion.low;
    walk.box[axes + k] = motion.high;
    walk.inverse[k] = motion.inverse;
  }
  walk.limit = rounded_up(reach * tree.frame.scale);
}

// A region's slabs as floats. Owns them: the walk only points to them.
class LocalRegion {
 public:
  void start(ConvexWalk& walk, const BlockTree& tree, const ConvexRegion& region) {
    broadphase::start(static_cast<Walk&>(walk), tree);
    const std::size_t dimension = tree.dimension();
    if (tree.is_wide()) {
      walk.sure_found = 0;
      put_box(region.around, dimension, walk.wide_box);
      return;
    }
    const std::size_t axes = tree.blocks.layout().axes;
    span_second_axis(walk.box);
    span_second_axis(walk.inner_box);
    for (std::size_t k = 0; k < dimension; ++k) {
      walk.box[k] = tree.frame.below(region.around[k], k);
      walk.box[axes + k] = tree.frame.above(region.around[dimension + k], k);
      walk.inner_box[k] = tree.frame.above(region.around[k], k);
      walk.inner_box[axes + k] = tree.frame.below(region.around[dimension + k], k);
    }
    for (std::vector<float>* list : {&axes_, &least_, &most_, &inner_least_, &inner_most_}) list->clear();
    for (std::size_t slab = 0; slab < region.count; ++slab) {
      const double* axis = region.axes + slab * dimension;
      double offset = 0, size = 0, length = 0;
      for (std::size_t k = 0; k < dimension; ++k) length = std::max(length, std::fabs(axis[k]));
      if (!(length > 0)) {  // not an axis: left to the exact test
        walk.inner_box[0] = std::numeric_limits<float>::quiet_NaN();
        continue;
      }
      for (std::size_t k = 0; k < dimension; ++k) {
        // A component is 0 only if it is 0 in the exact test, which then ignores infinite corners along it.
        const auto component = static_cast<float>(axis[k] / length);
        axes_.push_back(component == 0 && axis[k] != 0 ? static_cast<float>(std::copysign(1e-37, axis[k])) : component);
        offset += axis[k] / length * tree.frame.origin[k];
        size += std::fabs(axis[k] / length * tree.frame.origin[k]);
      }
      if (dimension == 1) axes_.push_back(0);
      least_.push_back(limit(region.least[slab] / length, offset, size, tree.frame.scale, -1));
      most_.push_back(limit(region.most[slab] / length, offset, size, tree.frame.scale, 1));
      inner_least_.push_back(inner(region.least[slab], length, offset, size, tree.frame.scale, 1));
      inner_most_.push_back(inner(region.most[slab], length, offset, size, tree.frame.scale, -1));
    }
    walk.count = least_.size();
    constexpr std::size_t kOwn = ConvexWalk::kOwnBits;
    walk.slabs[0] = walk.count > kOwn ? ~0u : static_cast<std::uint32_t>((std::uint64_t{1} << walk.count) - 1);
    walk.axes = axes_.data();
    walk.least = least_.data();
    walk.most = most_.data();
    walk.inner_least = inner_least_.data();
    walk.inner_most = inner_most_.data();
  }

 private:
  static constexpr double kDoubleRounding = 1e-14, kFloatRounding = 1e-6;
  static constexpr double kLeast = 0x1p-1069;  // more than a few roundings of the smallest numbers

  // Of a limit in local coordinates, and of the sums that the exact test compares it with.
  static double error_of(double value, double size, double local, double scale) {
    return (std::fabs(value) + size) * scale * kDoubleRounding + kLeast * scale + std::fabs(local) * kFloatRounding +
           1e-30;
  }

  // Moved outwards by the rounding error.
  static float limit(double value, double offset, double size, double scale, double sign) {
    constexpr double kFarthest = 1e38;
    const double local = (value - offset) * scale;
    const double error = error_of(value, size, local, scale);
    if (!std::isfinite(local)) return static_cast<float>(sign) * std::numeric_limits<float>::infinity();
    const double result = local + sign * error;
    if (std::fabs(result) > kFarthest && (result > 0) == (sign > 0))
      return static_cast<float>(sign) * std::numeric_limits<float>::infinity();
    return static_cast<float>(std::clamp(result, -kFarthest, kFarthest));
  }

  // Moved inwards by it. An infinite limit stays infinite; NaN means that no row is sure.
  static float inner(double end, double length, double offset, double size, double scale, double sign) {
    if (std::isinf(end) && std::isfinite(offset) && (end > 0) != (sign > 0)) return static_cast<float>(end);
    const double value = end / length, local = (value - offset) * scale;
    if (!(std::fabs(local) <= 1e30)) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(local + sign * error_of(value, size, local, scale));
  }

  std::vector<float> axes_, least_, most_, inner_least_, inner_most_;
};

// ---- The queries ----

class TreeQueries {
 public:
  // `next_copy`: the rows of the tree stand for their copies, see DistinctTree. That is for the nearest rows, those
  // touched, and walks for callers with a test of their own.
  TreeQueries(const BlockTree& tree, const AnyBoxes& rows, const QueryFilter& filter, const Kernels& kernels,
              const std::int32_t* next_copy = nullptr)
      : tree_(tree),
        rows_(rows),
        filter_(filter),
        kernels_(kernels),
        dimension_(tree.dimension()),
        next_copy_(next_copy) {}

  // How many rows the filter has left out so far, and how many were visited. Only for one thread: each has a copy of
  // this object.
  std::uint64_t rejected() const { return rejected_; }
  std::uint64_t visited() const { return visited_; }

  // Appends the rows that overlap `box`, ascending. The tree has their boxes, none larger. `loosely`: candidates,
  // without reading rows, which takes a third of the time of a few queries on a large tree.
  void by_box(std::size_t query, const double* box, BoxWalk& walk, std::vector<std::int32_t>& found,
              bool loosely = false) const {
    const std::size_t begin = found.size();
    if (start(walk, tree_, box) || loosely) {
      const auto next = walks().next_by_box[dimension_ - 1];
      for (next(walk); walk.found > 0; next(walk)) add(query, walk.rows, walk.found, found);
    } else {
      const auto next = kernels_.trees->next_surely_by_box[dimension_ - 1];
      for (next(walk); walk.found > 0 || walk.sure_found > 0; next(walk)) {
        add(query, walk.sure, walk.sure_found, found);
        for (std::size_t at = 0; at < walk.found; ++at)
          if (allows(query, walk.rows[at]) && boxes_meet(box, read(walk.rows[at]).box, dimension_))
            found.push_back(walk.rows[at]);
      }
    }
    sort_from(found, begin);
  }

  // Appends the rows at most `radius` from `center`, ascending.
  void by_ball(std::size_t query, const double* center, double radius, BallWalk& walk,
               std::vector<std::int32_t>& found) const {
    const std::size_t begin = found.size();
    const Ball ball(center, radius, dimension_);
    start(walk, tree_, center, limit_of_distance(tree_, radius), false);
    const auto next = walks().next_by_distance[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk))
      for (std::size_t at = 0; at < walk.found; ++at)
        if (allows(query, walk.rows[at]) && ball.meets(read(walk.rows[at]).box)) found.push_back(walk.rows[at]);
    sort_from(found, begin);
  }

  // Calls visit(row) for the rows that the filter allows and whose boxes are at most about `radius` from `center`, in
  // no order: none is missed whose shape, which lies within its box but for rounding, is so near.
  template <class Visit>
  void each_in_ball(std::size_t query, const double* center, double radius, BallWalk& walk, const Visit& visit) const {
    constexpr double kRoom = 0x1p-40;
    double reach = 0;
    for (std::size_t k = 0; k < dimension_; ++k) reach = std::max(reach, std::fabs(center[k]));
    start(walk, tree_, center, limit_of_distance(tree_, radius + kRoom * (radius + reach)), false);
    const auto next = walks().next_by_distance[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk))
      for (std::size_t at = 0; at < walk.found; ++at)
        if (const std::int32_t row = lowest_allowed(query, walk.rows[at]); row >= 0) visit(row);
  }

  // Appends the rows of each of up to eight balls, as by_ball does, and calls ended(query) after each. Ball k is number
  // queries[k], with the center at points + D * queries[k] and the radius radii[queries[k]].
  struct BallsScratch {
    BallWalk walk;
    BallsTogether together;
    std::vector<std::int32_t> more[kTogether];  // rows for which there was no room
  };
  template <class Ended>
  void by_balls(const std::uint32_t* queries, std::size_t count, const double* points, const double* radii,
                BallsScratch& scratch, std::vector<std::int32_t>& found, const Ended& ended) const {
    BallsTogether& walk = scratch.together;
    const auto center_of = [&](std::size_t k) { return points + dimension_ * queries[k]; };
    if (tree_.is_wide()) {
      for (std::size_t k = 0; k < count; ++k) {
        by_ball(queries[k], center_of(k), radii[queries[k]], scratch.walk, found);
        ended(queries[k]);
      }
      return;
    }
    std::uint32_t alone = 0;  // too far away to be walked with the others
    with_dimension(dimension_, [&](auto dimension) {
      constexpr std::size_t D = decltype(dimension)::value;
      for (std::size_t k = 0; k < kTogether; ++k) {
        scratch.more[k].clear();
        walk.found[k] = 0;
        const double error = k < count ? place<D>(walk, tree_, k, center_of(k)) : 0;
        if (k < count && error < kNever) {
          walk.limit[k] = limit_of_distance(tree_, radii[queries[k]], error);
          walk.sure[k] = sure_of_distance(tree_, radii[queries[k]], error);
        } else {
          walk.limit[k] = walk.sure[k] = -1;
          if (k < count)
            alone |= 1u << k;
          else
            leave_out(walk, tree_, k);
        }
      }
    });
    walk.memory = tree_.blocks.memory();
    walk.depth = walk.doubts = 0;
    if (tree_.root != kNoBlock) {
      walk.stack[0] = tree_.root;
      walk.active[0] = (1u << count) - 1u;
      walk.depth = 1;
    }
    while (walk.depth > 0) {
      kernels_.eight->balls_together[dimension_ - 1](walk);
      for (std::size_t at = 0; at < walk.doubts; ++at) {
        const std::size_t k = walk.doubt_query[at];
        if (Ball(center_of(k), radii[queries[k]], dimension_).meets(read(walk.doubt_row[at]).box))
          scratch.more[k].push_back(walk.doubt_row[at]);
      }
      walk.doubts = 0;
      if (walk.depth == 0) break;
      for (std::size_t k = 0; k < count; ++k) {
        scratch.more[k].insert(scratch.more[k].end(), walk.rows[k], walk.rows[k] + walk.found[k]);
        walk.found[k] = 0;
      }
    }
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t query = queries[k], begin = found.size();
      if ((alone >> k & 1u) != 0) {
        by_ball(query, center_of(k), radii[query], scratch.walk, found);
      } else {
        add(query, walk.rows[k], walk.found[k], found);
        add(query, scratch.more[k].data(), scratch.more[k].size(), found);
        sort_from(found, begin);
      }
      ended(query);
    }
  }

  // The distance to the k-th nearest row of one query bounds that of the next on the same tree: they differ by at most
  // the distance between the two query points.
  struct NearestScratch {
    NearWalk walk;
    NearCandidates candidates_of_many;
    // How far behind the first place of the tree that a query comes to its last row was, about, in local coordinates;
    // and by how much more the key of the next query's last row is taken to be.
    double last_depth = kNever, more = 1.3;
    std::vector<KeyedRow> found;  // nearest first, with squared distances
    std::vector<RowAt<WideNumber>> wide;
    const float* blocks;     // of the tree of the previous query
    double point[4];         // of the previous query
    std::size_t wanted = 0;  // by the previous query; 0 if it found fewer, or if there was none
    double reach = 0;        // the distance of the last row wanted
  };

  // Calls report(row, distance) for the `wanted` nearest rows that are at most `farthest` away, nearest first. A
  // distance beyond the largest double is infinite.
  // `alike`: floats are known not to tell many rows apart.
  template <class Report>
  void nearest(std::size_t query, const double* center, std::size_t wanted, double farthest, NearestScratch& scratch,
               const Report& report, bool alike = false) const {
    const double reach = std::min(farthest, reach_of(center, dimension_, wanted, scratch));
    const float limit = limit_of_distance(tree_, reach);
    const bool are_many = wanted > kFewNearest || (wanted >= kSomeNearest && scratch.last_depth < kNever);
    if (((are_many && !alike) || is_far(center)) && with_dimension(dimension_, [&](auto dimension) {
          return nearest_of_candidates<decltype(dimension)::value>(query, center, wanted, farthest, reach, scratch,
                                                                   report, alike);
        }))
      return;
    if (nearest_of(query, center, wanted, farthest, limit, alike, scratch.walk, scratch.found)) {
      for (const KeyedRow& row : scratch.found) report(row.second, std::sqrt(row.first));
      const std::size_t found = scratch.found.size();
      const double last = found > 0 ? std::sqrt(scratch.found.back().first) : 0;
      note(center, wanted, found, last, scratch);
      if (wanted >= kSomeNearest && found == wanted && !tree_.is_wide()) scratch.last_depth = last * tree_.frame.scale;
      return;
    }
    nearest_of(query, center, wanted, farthest, limit, alike, scratch.walk, scratch.wide);
    for (const RowAt<WideNumber>& row : scratch.wide) report(row.second, row.first.root().to_double());
    scratch.wanted = 0;
  }

  // The same for points near each other, one after the other, if walks_together(wanted); at most kGroup. Point k is
  // number queries[k], at points + D * queries[k], and its rows are at most farthest[queries[k]] away. Calls
  // report(query, rank, row, distance); ranks count from 0 on. `boxes` are those of the rows, in their own type.
  struct TogetherScratch : NearestScratch {
    static constexpr std::size_t kGroup = 4 * kTogether;
    struct Candidates {
      bool is_alone, is_crowded;
      std::size_t count;
      std::int32_t rows[NearestTogether::kRoom];
      float limit;  // rows whose boxes are within this, as limit_of_distance() with the error has it, are all there
      double error;
    };
    NearestTogether together;
    const float* memory = nullptr;  // of the blocks, and how many rows were wanted, when points were walked last
    std::size_t wanted_before = 0;
    Candidates candidates[kGroup];
    std::size_t alone_next = 0;  // so many more points go alone, see InterleavedScratch
  };
  bool walks_together(std::size_t wanted) const { return filter_.allows_all() && can_walk_together(wanted); }
  bool can_walk_together(std::size_t wanted) const {
    return kernels_.eight->nearest_together[dimension_ - 1] != nullptr && wanted > 0 &&
           wanted <= NearestTogether::kMostWanted && !tree_.is_wide();
  }
  template <class T, class Report>
  void nearest_together(const BoxView<T>& boxes, const std::uint32_t* queries, std::size_t count, const double* points,
                        std::size_t wanted, const double* farthest, TogetherScratch& scratch,
                        const Report& report) const {
    with_dimension(dimension_, [&](auto dimension) {
      constexpr std::size_t D = decltype(dimension)::value;
      const auto center_of = [&](std::size_t k) { return points + D * queries[k]; };
      const auto ahead = [&](std::int32_t row) {
        read_ahead(boxes.lower_of(static_cast<std::size_t>(row)));
        read_ahead(boxes.upper_of(static_cast<std::size_t>(row)) + D - 1);
      };
      const bool are_alone = scratch.alone_next > 0;
      scratch.alone_next -= std::min(scratch.alone_next, count);
      for (std::size_t first = 0; first < count && !are_alone; first += kTogether)
        find_candidates<D>(queries + first, std::min(kTogether, count - first), points, wanted, {farthest, 1, 0, 1},
                           scratch, ahead, scratch.candidates + first);
      // By now the rows are in the cache.
      std::size_t crowded = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t query = queries[k];
        auto& candidates = scratch.candidates[k];
        if (are_alone) candidates.is_alone = true, candidates.is_crowded = false;
        if (candidates.is_crowded) {
          ++crowded;
          visited_ += NearestTogether::kRoom;  // in vain
        }
        KeyedRow found[NearestTogether::kRoom];
        if (!candidates.is_alone && decide_nearest<D>(candidates.rows, candidates.count, boxes, query, center_of(k),
                                                      wanted, farthest[query], next_copy_, found, report))
          continue;
        std::size_t rank = 0;
        nearest(
            query, center_of(k), wanted, farthest[query], scratch,
            [&](std::int32_t row, double distance) { report(query, rank++, row, distance); }, candidates.is_crowded);
      }
      if (2 * crowded > count) scratch.alone_next = kAloneAfterCrowd * TogetherScratch::kGroup;
    });
  }

  // The same for points far from each other, several in turn, if can_interleave_near(wanted). interleave_near() may
  // report the rows of points before, finish_near() those of all that are left. These may be points in other trees of
  // the same rows. `center` is read until then.
  struct InterleavedNearScratch {
    // Not zeroed, as it is large.
    PlainMemory<Interleaved<InterleavedNear>> kept = allocate_plain<Interleaved<InterleavedNear>>(1);
    Interleaved<InterleavedNear>& interleaved = *new (kept.get()) Interleaved<InterleavedNear>;
    struct Begun {
      std::size_t query;
      const double* center;
      double farthest;
      const std::int32_t* next_copy;  // of its tree
      std::int32_t root;              // the same
      double outside;                 // twice how far it is from the box around all rows, in local coordinates
      float guess, surely;            // the limit to begin with; infinite where it is that which is sure
    } begun[Interleaved<InterleavedNear>::kMost];
    // How far behind the first place of the tree points come to their last row, on average, in local coordinates; and
    // by how much more its key is taken to be.
    double depth = kNever, more = 2;
    // The candidates of one that has ended, whose boxes are on their way to the cache.
    Begun ended;
    bool is_undecided = false;
    std::size_t count;
    std::int32_t rows[InterleavedNear::kRoom + kLanes];
    NearestScratch alone;
    std::size_t alone_next = 0;  // so many more points go alone, see InterleavedScratch
  };
  bool can_interleave_near(std::size_t wanted) const {
    return filter_.allows_all() && can_interleave() && wanted > 0 && wanted <= InterleavedNear::kMostWanted;
  }
  template <class T, class Report>
  void interleave_near(const BoxView<T>& boxes, std::size_t query, const double* center, std::size_t wanted,
                       double farthest, InterleavedNearScratch& scratch, const Report& report) const {
    Interleaved<InterleavedNear>& interleaved = scratch.interleaved;
    InterleavedNearScratch::Begun begun{query, center, farthest, next_copy_, tree_.root, 0, 0, 0};
    if (scratch.alone_next > 0 || !can_interleave()) {
      scratch.alone_next -= std::min<std::size_t>(scratch.alone_next, 1);
      return alone(begun, wanted, scratch, report);
    }
    while (interleaved.count == interleaved.kMost) end_near(boxes, wanted, scratch, report);
    const std::size_t number = free_number(interleaved);
    InterleavedNear& near = interleaved.motion[number];
    if (!start_near(near, center, wanted, farthest, begun.outside)) return alone(begun, wanted, scratch, report);
    begun.surely = near.limit;
    begun.guess = rounded_up(scratch.depth * (scratch.depth + begun.outside) * scratch.more);
    if (begun.guess < begun.surely) near.limit = begun.guess;
    scratch.begun[number] = begun;
    interleaved.active[interleaved.count++] = static_cast<std::uint32_t>(number);
  }
  template <class T, class Report>
  void finish_near(const BoxView<T>& boxes, std::size_t wanted, InterleavedNearScratch& scratch,
                   const Report& report) const {
    while (scratch.interleaved.count > 0) end_near(boxes, wanted, scratch, report);
    with_dimension(dimension_,
                   [&](auto dimension) { decide_ended<decltype(dimension)::value>(boxes, wanted, scratch, report); });
  }

  // Calls report(row, value) with the row touched first, if any. The value is its time, for a ray times the length of
  // the motion, and at most `farthest`; infinite if it is beyond the largest double.
  template <class Report>
  void first_touched(std::size_t query, const Sweep& sweep, double farthest, SweepWalk& walk,
                     const Report& report) const {
    const auto length = length_of<double>(sweep, dimension_);
    KeyedRow best(kNever, -1);
    if (is_safe(sweep, length) && first_of(query, sweep, length, farthest, walk, best)) {
      if (best.second >= 0) report(best.second, best.first * length);
      return;
    }
    const auto wide_length = length_of<WideNumber>(sweep, dimension_);
    RowAt<WideNumber> wide(WideNumber::infinite(), -1);
    first_of(query, sweep, wide_length, farthest, walk, wide);
    if (wide.second >= 0) report(wide.second, (wide.first * wide_length).to_double());
  }

  // Of many moving boxes or rays, several at a time: what each touches first, report(query, row, value) as
  // first_touched, or whether it touches anything, report(query). interleave() may report those of queries before, and
  // finish_interleaved() reports all that are left. For AnyInterleaved, these may be sweeps in other trees of
  // the same rows.
  template <class Motion>
  struct InterleavedScratch {
    Interleaved<Motion> interleaved;
    SweepWalk walk, alone;  // of the query to begin, and of one that ends by itself
    struct Begun {
      std::size_t query;
      Sweep sweep;
      double length, farthest;
      const std::int32_t* next_copy;  // of its tree
    } begun[Interleaved<Motion>::kMost];
    // So many more queries go alone: where more rows tie than there is room for, they would be in vain.
    std::size_t alone_next = 0;
  };
  using FirstInterleaved = InterleavedScratch<InterleavedSweep>;  // without layers, and with few rows to ignore
  using AnyInterleaved = InterleavedScratch<InterleavedTouch>;
  // Otherwise each goes its motion alone. In a single block there is nothing to wait for; and that of a few rows of a
  // forest is gone with the next query, see Forest::Room.
  bool can_interleave() const { return !tree_.is_wide() && tree_.root != kNoBlock && tree_.blocks.limit() > 1; }

  template <class Motion, class Report>
  void interleave(std::size_t query, const Sweep& sweep, double farthest, InterleavedScratch<Motion>& scratch,
                  const Report& report) const {
    Interleaved<Motion>& interleaved = scratch.interleaved;
    const typename InterleavedScratch<Motion>::Begun begun{query, sweep, length_of<double>(sweep, dimension_), farthest,
                                                           next_copy_};
    if (scratch.alone_next > 0) {
      --scratch.alone_next;
      return alone(begun, scratch, report);
    }
    start(scratch.walk, tree_, sweep, begun.length, farthest, true);
    if (!can_interleave() || !is_safe(sweep, begun.length) || !is_near(scratch.walk))
      return alone(begun, scratch, report);
    std::size_t number = interleaved.count;
    if (interleaved.count < Interleaved<Motion>::kMost)
      interleaved.active[interleaved.count++] = static_cast<std::uint32_t>(number);
    else
      number = decide(scratch, report);
    scratch.begun[number] = begun;
    begin(interleaved.motion[number], scratch.walk, query);
  }
  template <class Motion, class Report>
  void finish_interleaved(InterleavedScratch<Motion>& scratch, const Report& report) const {
    Interleaved<Motion>& interleaved = scratch.interleaved;
    while (interleaved.count > 0) {
      decide(scratch, report);
      drop_ended(interleaved);
    }
  }

  struct TouchedScratch {
    SweepWalk walk;
    std::vector<KeyedRow> found;
    std::vector<RowAt<WideNumber>> wide;
  };

  // Calls report(row, value), as first_touched, for all the rows touched, by time and then by row.
  template <class Report>
  void all_touched(std::size_t query, const Sweep& sweep, double farthest, TouchedScratch& scratch,
                   const Report& report) const {
    const auto length = length_of<double>(sweep, dimension_);
    if (is_safe(sweep, length) && all_of(query, sweep, length, farthest, scratch.walk, scratch.found)) {
      for (const KeyedRow& row : scratch.found) report(row.second, row.first * length);
      return;
    }
    const auto wide_length = length_of<WideNumber>(sweep, dimension_);
    all_of(query, sweep, wide_length, farthest, scratch.walk, scratch.wide);
    for (const RowAt<WideNumber>& row : scratch.wide) report(row.second, (row.first * wide_length).to_double());
  }

  bool any_touched(std::size_t query, const Sweep& sweep, double farthest, SweepWalk& walk) const {
    const auto length = length_of<double>(sweep, dimension_);
    start(walk, tree_, sweep, length, farthest, true);
    const auto goes_on = [&](std::size_t lane, std::int32_t) {
      return !touches(sweep, read(walk.block, lane), length, farthest);
    };
    return !visit_in_order(query, walk, walks().next_by_time[dimension_ - 1], goes_on);
  }

  // ---- Walks for callers with a test of their own for rows, which lies within their boxes but for rounding ----
  //
  // Only rows that the filter allows are visited. Of rows that are copies of each other, where these are known, that is
  // the lowest; the others follow by next_copy().

  // The next higher row that is a copy of one visited, and that the filter allows; -1 if there is none.
  std::int32_t next_copy(std::size_t query, std::int32_t row) const { return next_copy(query, row, next_copy_); }

  // Calls visit(row) for the rows whose boxes may meet `box`, in no order.
  template <class Visit>
  void each_in_box(std::size_t query, const double* box, BoxWalk& walk, const Visit& visit) const {
    start(walk, tree_, box);
    const auto next = walks().next_by_box[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk))
      for (std::size_t at = 0; at < walk.found; ++at)
        if (allows(query, walk.rows[at])) visit(walk.rows[at]);
  }

  // Calls visit(row) for the rows whose boxes may be at most `farthest` from `center`, the nearer first but for
  // neighbours. It returns how far away rows may be from then on.
  template <class Visit>
  void each_near(std::size_t query, const double* center, double farthest, BallWalk& walk, const Visit& visit) const {
    start(walk, tree_, center, limit_of_distance(tree_, farthest * kRoom), true);
    visit_in_order(query, walk, walks().next_by_distance[dimension_ - 1], [&](std::size_t, std::int32_t row) {
      const double reach = visit(row);
      walk.limit = std::min(walk.limit, limit_of_distance(tree_, reach * kRoom));
      return true;
    });
  }

  // The same for points near each other, one after the other, if can_walk_together(wanted); see nearest_together().
  // Calls begin(query), visit(row) as above and end(query) for each point. The rows whose boxes are nearest are visited
  // first; a query that needs others begins again. ahead(row) is called a little before a visit.
  struct NearScratch : TogetherScratch {
    double more = 0;  // by how much the last row that counts is mostly farther away than the last box of those wanted
  };
  template <class Ahead, class Begin, class Visit, class End>
  void each_near_together(const std::uint32_t* queries, std::size_t count, const double* points, std::size_t wanted,
                          const double* farthest, NearScratch& scratch, const Ahead& ahead, const Begin& begin,
                          const Visit& visit, const End& end) const {
    // The box of the last row that counts may be nearer by an error than it seems, and farther than its shape by
    // another.
    constexpr double kErrors = 3;
    with_dimension(dimension_, [&](auto dimension) {
      for (std::size_t first = 0; first < count; first += kTogether)
        find_candidates<decltype(dimension)::value>(queries + first, std::min(kTogether, count - first), points, wanted,
                                                    {farthest, kRoom, scratch.more, kErrors}, scratch, ahead,
                                                    scratch.candidates + first);
    });
    for (std::size_t k = 0; k < count; ++k) {
      const auto& candidates = scratch.candidates[k];
      const std::size_t query = queries[k];
      double reach = farthest[query];
      begin(query);
      if (!candidates.is_alone)
        for (std::size_t at = 0; at < candidates.count; ++at)
          if (const std::int32_t row = lowest_allowed(query, candidates.rows[at]); row >= 0) reach = visit(row);
      const bool is_complete =
          !candidates.is_alone && limit_of_distance(tree_, reach * kRoom, candidates.error) <= candidates.limit;
      // Grows faster than it shrinks, so that few begin again; and shrinks at once where there are too many candidates.
      if (candidates.is_alone) {
        scratch.more *= 0.5;
      } else if (is_complete) {
        scratch.more *= 0.995;
      } else {
        const double searched =
            (std::sqrt(static_cast<double>(candidates.limit)) - candidates.error) / tree_.frame.scale;
        if (reach < kNever) scratch.more += 0.5 * std::max(0.0, reach - searched);
      }
      if (!is_complete) {
        begin(query);
        each_near(query, points + dimension_ * query, reach, scratch.walk, visit);
      }
      end(query);
    }
  }

  // The same for a ray whose length is safe, or whose direction is zero. visit(row) may return a negative length: no
  // more rows are visited then.
  template <class Visit>
  void each_on_ray(std::size_t query, const Sweep& ray, double length, double farthest, SweepWalk& walk,
                   const Visit& visit) const {
    start(walk, tree_, ray, length, farthest * kRoom, true);
    const double units = units_of_length(ray, length, dimension_);
    visit_in_order(query, walk, walks().next_by_time[dimension_ - 1], [&](std::size_t, std::int32_t row) {
      const double reach = visit(row);
      walk.limit = std::min(walk.limit, limit_of_length(units, reach));
      return reach >= 0;
    });
  }

  // The same for many rays, several at a time. A Ray has `query`, `sweep`, `length` and `farthest`. ahead(row) is
  // called a little before visit(ray, row), and end(ray) at the end of each, also of rays before; finish_rays() goes on
  // with those that are left. These may be rays in other trees of the same rows.
  template <class Ray>
  struct RaysScratch {
    Interleaved<InterleavedVisit> interleaved;
    SweepWalk walk, alone;  // of the ray to begin, and of one that ends by itself
    Ray rays[Interleaved<InterleavedVisit>::kMost];
    double units[Interleaved<InterleavedVisit>::kMost];                   // a limit in the walk's units for each length
    const std::int32_t* next_copy[Interleaved<InterleavedVisit>::kMost];  // of the tree of each
  };
  template <class Ray, class Ahead, class Visit, class End>
  void interleave_ray(const Ray& ray, RaysScratch<Ray>& scratch, const Ahead& ahead, const Visit& visit,
                      const End& end) const {
    Interleaved<InterleavedVisit>& interleaved = scratch.interleaved;
    start(scratch.walk, tree_, ray.sweep, ray.length, ray.farthest * kRoom, true);
    if (!can_interleave() || !is_near(scratch.walk)) {
      Ray alone = ray;
      each_on_ray(ray.query, ray.sweep, ray.length, ray.farthest, scratch.alone,
                  [&](std::int32_t row) { return visit(alone, row); });
      end(alone);
      return;
    }
    std::size_t number = interleaved.count;
    if (interleaved.count < Interleaved<InterleavedVisit>::kMost)
      interleaved.active[interleaved.count++] = static_cast<std::uint32_t>(number);
    else
      number = go_on(scratch, ahead, visit, end);
    scratch.rays[number] = ray;
    scratch.units[number] = units_of_length(ray.sweep, ray.length, dimension_) * tree_.frame.scale;
    scratch.next_copy[number] = next_copy_;
    InterleavedVisit& motion = interleaved.motion[number];
    begin_motion(motion, scratch.walk);
    motion.key[0] = 0;
    motion.is_ahead = false;
  }
  template <class Ray, class Ahead, class Visit, class End>
  void finish_rays(RaysScratch<Ray>& scratch, const Ahead& ahead, const Visit& visit, const End& end) const {
    Interleaved<InterleavedVisit>& interleaved = scratch.interleaved;
    while (interleaved.count > 0) {
      go_on(scratch, ahead, visit, end);
      drop_ended(interleaved);
    }
  }

  struct RegionScratch {
    ConvexWalk walk;
    LocalRegion local;
  };

  // Calls visit(row) for the rows that the filter allows and that may meet a convex region, in no order.
  template <class Visit>
  void each_in_region(std::size_t query, const ConvexRegion& region, RegionScratch& scratch, const Visit& visit) const {
    ConvexWalk& walk = scratch.walk;
    scratch.local.start(walk, tree_, region);
    const auto next = walks().next_by_region[dimension_ - 1];
    for (next(walk); walk.found > 0 || walk.sure_found > 0; next(walk)) {
      for (std::size_t at = 0; at < walk.found; ++at)
        if (allows(query, walk.rows[at])) visit(walk.rows[at]);
      for (std::size_t at = 0; at < walk.sure_found; ++at)
        if (allows(query, walk.sure[at])) visit(walk.sure[at]);
    }
  }

  // Appends the rows that meet a convex region, ascending.
  void by_region(std::size_t query, const ConvexRegion& region, RegionScratch& scratch,
                 std::vector<std::int32_t>& found) const {
    const std::size_t begin = found.size();
    ConvexWalk& walk = scratch.walk;
    scratch.local.start(walk, tree_, region);
    const auto next = walks().next_by_region[dimension_ - 1];
    for (next(walk); walk.found > 0 || walk.sure_found > 0; next(walk)) {
      for (std::size_t at = 0; at < walk.found; ++at)
        if (allows(query, walk.rows[at]) && meets(region, read(walk.rows[at]).box, dimension_))
          found.push_back(walk.rows[at]);
      if (filter_.allows_all()) {
        found.insert(found.end(), walk.sure, walk.sure + walk.sure_found);
      } else {
        for (std::size_t at = 0; at < walk.sure_found; ++at)
          if (allows(query, walk.sure[at])) found.push_back(walk.sure[at]);
      }
    }
    sort_from(found, begin);
  }

 private:
  static constexpr std::size_t kAloneAfterCrowd = 15;
  // So many rows are taken one by one; or so many, where it is known about how far the last of them is.
  static constexpr std::size_t kFewNearest = 16, kSomeNearest = 5;

  struct Box {
    double box[8];
  };
  Box read(std::int32_t row) const {
    Box result;
    rows_.read(static_cast<std::size_t>(row), result.box);
    return result;
  }

  bool allows(std::size_t query, std::int32_t row) const {
    if (filter_.allows(static_cast<std::size_t>(row), query)) return true;
    ++rejected_;
    return false;
  }
  // The row to visit for one of the tree; -1 if there is none.
  std::int32_t lowest_allowed(std::size_t query, std::int32_t row) const {
    return lowest_allowed(query, row, next_copy_);
  }
  std::int32_t lowest_allowed(std::size_t query, std::int32_t row, const std::int32_t* next_copy) const {
    ++visited_;
    while (!allows(query, row)) {
      row = next_copy != nullptr ? next_copy[row] : -1;
      if (row < 0) break;
    }
    return row;
  }
  std::int32_t next_copy(std::size_t query, std::int32_t row, const std::int32_t* next_copy) const {
    const std::int32_t next = next_copy != nullptr ? next_copy[row] : -1;
    return next < 0 ? -1 : lowest_allowed(query, next, next_copy);
  }
  void add(std::size_t query, const std::int32_t* rows, std::size_t count, std::vector<std::int32_t>& found) const {
    if (filter_.allows_all()) {
      found.insert(found.end(), rows, rows + count);
      return;
    }
    for (std::size_t at = 0; at < count; ++at)
      if (allows(query, rows[at])) found.push_back(rows[at]);
  }

  // Calls visit(lane, row), in the order of keys, for the rows of an ordered walk that has started, until it returns
  // false; then it does so itself. It may lower the limit of the walk.
  template <class AWalk, class Next, class Visit>
  bool visit_in_order(std::size_t query, AWalk& walk, const Next& next, const Visit& visit) const {
    for (next(walk); walk.found > 0; next(walk))
      while (walk.lanes != 0) {
        const std::size_t lane = take_least(walk);
        if (walk.lane_key[lane] > walk.limit) break;
        const std::int32_t row = lowest_allowed(query, tree_.blocks.child(walk.block)[lane]);
        if (row >= 0 && !visit(lane, row)) return false;
      }
    return true;
  }

  // What is tested for a row lies in its box up to rounding: boxes are walked a little farther.
  static constexpr double kRoom = 1 + 1e-9;
  // The time in the walk's units at which a ray is so long.
  float limit_of_length(double units, double length) const {
    return tree_.is_wide() ? wide_key(std::max(0.0, length * kRoom * units))
                           : rounded_up(length * kRoom * units * tree_.frame.scale);
  }

  // The one that has ended is the next one.
  template <class Motion>
  static void drop_ended(Interleaved<Motion>& interleaved) {
    interleaved.active[interleaved.next] = interleaved.active[--interleaved.count];
    if (interleaved.next == interleaved.count) interleaved.next = 0;
  }

  // A number that is not active.
  template <class Motion>
  static std::size_t free_number(const Interleaved<Motion>& interleaved) {
    std::uint32_t used = 0;
    for (std::size_t k = 0; k < interleaved.count; ++k) used |= 1u << interleaved.active[k];
    return static_cast<std::size_t>(std::countr_one(used));
  }

  // Goes on until one of the points has been to all blocks within its limit, and decides the one before.
  template <class T, class Report>
  void end_near(const BoxView<T>& boxes, std::size_t wanted, InterleavedNearScratch& scratch,
                const Report& report) const {
    const std::size_t number = kernels_.trees->finish_near[dimension_ - 1](scratch.interleaved);
    InterleavedNear& near = scratch.interleaved.motion[number];
    InterleavedNearScratch::Begun& begun = scratch.begun[number];
    const float last = near.best[wanted - 1];
    if (begun.guess < begun.surely) {
      constexpr double kLeastMore = 1.1, kMostMore = 6;  // about one guess of 26 is to be too low
      const bool is_too_low = !near.crowded && last * near.factor + near.rest > begun.guess;
      scratch.more = is_too_low ? std::min(kMostMore, scratch.more * 1.3) : std::max(kLeastMore, scratch.more * 0.99);
      if (is_too_low) {
        near.stack[0] = begun.root;
        begin_walk(near, begun.surely);
        begun.guess = std::numeric_limits<float>::infinity();
        return;
      }
    }
    if (last < std::numeric_limits<float>::infinity()) {
      constexpr double kShare = 0.25;  // of one point in the average
      const auto key = static_cast<double>(last);
      const double own = 2 * key / (std::sqrt(begun.outside * begun.outside + 4 * key) + begun.outside);
      if (own > 0) scratch.depth = scratch.depth < kNever ? scratch.depth + kShare * (own - scratch.depth) : own;
    }
    with_dimension(dimension_, [&](auto dimension) {
      constexpr std::size_t D = decltype(dimension)::value;
      decide_ended<D>(boxes, wanted, scratch, report);
      if (near.crowded) {
        scratch.alone_next = kAloneAfterCrowd;
        visited_ += InterleavedNear::kRoom;  // in vain
        alone(begun, wanted, scratch, report, true);
      } else {
        scratch.ended = begun;
        scratch.is_undecided = true;
        scratch.count = 0;
        for (std::size_t at = 0; at < near.found; ++at) {
          if (near.row_key[at] > near.limit) continue;
          const auto row = static_cast<std::size_t>(scratch.rows[scratch.count++] = near.rows[at]);
          read_ahead(boxes.lower_of(row));
          read_ahead(boxes.upper_of(row) + D - 1);
        }
        visited_ += scratch.count;
      }
    });
    drop_ended(scratch.interleaved);
  }
  template <std::size_t D, class T, class Report>
  void decide_ended(const BoxView<T>& boxes, std::size_t wanted, InterleavedNearScratch& scratch,
                    const Report& report) const {
    if (!scratch.is_undecided) return;
    scratch.is_undecided = false;
    KeyedRow found[InterleavedNear::kRoom + kLanes];
    const auto& ended = scratch.ended;
    if (!decide_nearest<D>(scratch.rows, scratch.count, boxes, ended.query, ended.center, wanted, ended.farthest,
                           ended.next_copy, found, report))
      alone(ended, wanted, scratch, report);
  }
  template <class Report>
  void alone(const InterleavedNearScratch::Begun& begun, std::size_t wanted, InterleavedNearScratch& scratch,
             const Report& report, bool alike = false) const {
    std::size_t rank = 0;
    nearest(
        begun.query, begun.center, wanted, begun.farthest, scratch.alone,
        [&](std::int32_t row, double distance) { report(begun.query, rank++, row, distance); }, alike);
  }

  // Goes on until one of the rays has ended. Returns its number.
  template <class Ray, class Ahead, class Visit, class End>
  std::size_t go_on(RaysScratch<Ray>& scratch, const Ahead& ahead, const Visit& visit, const End& end) const {
    Interleaved<InterleavedVisit>& interleaved = scratch.interleaved;
    const auto next = kernels_.trees->find_on_ray[dimension_ - 1];
    for (;;) {
      const std::size_t number = next(interleaved);
      InterleavedVisit& motion = interleaved.motion[number];
      if (motion.found > 0 && !motion.is_ahead) {
        // Tested when it is this ray's turn again: the rows will be in the cache.
        for (std::size_t at = motion.found > 3 ? motion.found - 3 : 0; at < motion.found; ++at) ahead(motion.rows[at]);
        motion.is_ahead = true;
        interleaved.next = interleaved.next + 1 < interleaved.count ? interleaved.next + 1 : 0;
        continue;
      }
      Ray& ray = scratch.rays[number];
      while (motion.found > 0) {
        const std::size_t at = --motion.found;  // the nearest of those left
        if (motion.row_key[at] > motion.limit) break;
        const std::int32_t row = lowest_allowed(ray.query, motion.rows[at], scratch.next_copy[number]);
        if (row < 0) continue;
        const double reach = visit(ray, row);
        motion.limit = std::min(motion.limit, rounded_up(reach * kRoom * scratch.units[number]));
        if (reach < 0) motion.depth = 0;
      }
      motion.found = 0;
      motion.is_ahead = false;
      if (motion.depth > 0) continue;
      end(ray);
      return number;
    }
  }

  // No row wanted by this query is farther away, by the previous one; infinite where nothing is known.
  double reach_of(const double* center, std::size_t dimension, std::size_t wanted,
                  const NearestScratch& scratch) const {
    if (wanted == 0 || scratch.wanted != wanted || scratch.blocks != tree_.blocks.memory()) return kNever;
    // More than all roundings of these few sums and roots.
    constexpr double kMore = 1 + 1e-12;
    double squared = 0, sum = 0;
    for (std::size_t k = 0; k < dimension; ++k) {
      const double step = std::fabs(center[k] - scratch.point[k]);
      squared += step * step;
      sum += step;
    }
    return (scratch.reach + (squared > kLeastSafe ? std::sqrt(squared) : sum)) * kMore;
  }
  // Remembers for the next query how far the last row of this one is.
  void note(const double* center, std::size_t wanted, std::size_t found, double reach, NearestScratch& scratch) const {
    // A single block is read in any case, and the next tree may lie where this one was.
    const bool is_known = found == wanted && filter_.allows_all() && tree_.blocks.limit() > 1;
    scratch.wanted = is_known ? wanted : 0;
    scratch.reach = reach;
    scratch.blocks = tree_.blocks.memory();
    std::copy_n(center, dimension_, scratch.point);
  }

  // How far candidates may be away: the given distances times a factor, and as far as the last of those wanted and some
  // more, besides so many errors of the distances.
  struct Reach {
    const double* farthest;
    double room, more, errors;
  };
  // Walks through the tree for up to eight points. ahead(row) is called for each candidate.
  template <std::size_t D, class Ahead>
  void find_candidates(const std::uint32_t* queries, std::size_t count, const double* points, std::size_t wanted,
                       const Reach& reach, TogetherScratch& scratch, const Ahead& ahead,
                       TogetherScratch::Candidates* candidates) const {
    NearestTogether& walk = scratch.together;
    std::uint32_t alone = 0;
    for (std::size_t k = 0; k < kTogether; ++k) {
      walk.found[k] = 0;
      walk.error[k] = 0;
      if (k >= count) {
        leave_out(walk, tree_, k);
        continue;
      }
      const double error = candidates[k].error = place<D>(walk, tree_, k, points + D * queries[k]);
      if (error < kNever) {
        walk.error[k] = static_cast<float>((error * reach.errors + reach.more * tree_.frame.scale) * (1 + 1e-6));
        walk.limit[k] = limit_of_distance(tree_, reach.farthest[queries[k]] * reach.room, error);
      } else {
        walk.limit[k] = -1;
        alone |= 1u << k;
      }
    }
    // The next single block may lie where this one was.
    if (scratch.memory != tree_.blocks.memory() || scratch.wanted_before != wanted || tree_.blocks.limit() <= 1) {
      scratch.memory = walk.memory = tree_.blocks.memory();
      scratch.wanted_before = walk.wanted = wanted;
      std::fill_n(walk.reach, kTogether, std::numeric_limits<float>::infinity());
      for (auto& axis : walk.before) std::fill_n(axis, kTogether, 0.0F);
    }
    walk.leaves = walk.crowded = 0;
    walk.depth = 0;
    if (tree_.root != kNoBlock) {
      walk.stack[0] = tree_.root;
      walk.key[0] = 0;
      walk.depth = 1;
    }
    kernels_.eight->nearest_together[D - 1](walk);
    alone |= walk.crowded;
    for (std::size_t k = 0; k < count; ++k) {
      auto& found = candidates[k];
      found.is_alone = (alone >> k & 1u) != 0;
      found.is_crowded = (walk.crowded >> k & 1u) != 0;
      found.count = walk.found[k];
      found.limit = walk.limit[k];
      for (std::size_t at = 0; at < found.count; ++at) {
        found.rows[at] = walk.rows[k][at];
        ahead(found.rows[at]);
      }
    }
  }

  // Decides the candidates of a query, in doubles. False if these may have changed the result.
  template <std::size_t D, class T, class Report>
  bool decide_nearest(const std::int32_t* candidates, std::size_t count, const BoxView<T>& boxes, std::size_t query,
                      const double* center, std::size_t wanted, double farthest, const std::int32_t* next_copy,
                      KeyedRow* nearest, const Report& report) const {
    const double squared = farthest * farthest, surely = squared * (1 - kRounding), hardly = squared * (1 + kRounding);
    constexpr std::size_t kMovesEach = 16;  // where there are more, they are sorted at the end
    std::size_t found = 0, moves_left = next_copy == nullptr ? kMovesEach * count : ~std::size_t{0};
    for (std::size_t at = 0; at < count; ++at) {
      const auto row = static_cast<std::size_t>(candidates[at]);
      const T *lower = boxes.lower_of(row), *upper = boxes.upper_of(row);
      double box[2 * D];
      for (std::size_t axis = 0; axis < D; ++axis) {
        box[axis] = static_cast<double>(lower[axis]);
        box[D + axis] = static_cast<double>(upper[axis]);
      }
      KeyedRow candidate(squared_distance<double>(center, box, D), candidates[at]);
      if (candidate.first < kLeastSafe && !holds_point(box, center, D)) return false;
      if (candidate.first > kMostSafe) return false;
      if (candidate.first > hardly) continue;
      if (candidate.first >= surely && candidate.first > 0 && farthest < kNever &&
          !Ball(center, farthest, D).meets_exactly(box))
        continue;
      const auto take = [&] {
        std::size_t to = found++;  // nearly always the last: they are in order already
        for (; to > 0 && moves_left > 0 && candidate < nearest[to - 1]; --to, --moves_left)
          nearest[to] = nearest[to - 1];
        nearest[to] = candidate;
      };
      if (next_copy == nullptr) {
        take();
        continue;
      }
      for (; candidate.second >= 0; candidate.second = this->next_copy(query, candidate.second, next_copy)) {
        if (found == wanted && !(candidate < nearest[wanted - 1])) break;
        found = std::min(found, wanted - 1);
        take();
      }
    }
    if (moves_left == 0) std::sort(nearest, nearest + found);
    found = std::min(found, wanted);
    for (std::size_t rank = 0; rank < found; ++rank)
      report(query, rank, nearest[rank].second, std::sqrt(nearest[rank].first));
    return true;
  }

  // ---- Many nearest rows, and those nearest to places far away ----

  // In local coordinates: a box around all rows.
  const double* bounds() const {
    if (knows_bounds_) return bounds_;
    std::fill_n(bounds_, dimension_, kNever);
    std::fill_n(bounds_ + dimension_, dimension_, -kNever);
    const Blocks& blocks = tree_.blocks;
    for (std::int32_t block = tree_.root; block != kNoBlock; block = blocks.next(block))
      for (auto lanes = static_cast<std::uint32_t>(blocks.occupied(block)); lanes != 0; lanes &= lanes - 1) {
        double box[8];
        blocks.read_box(block, static_cast<std::size_t>(std::countr_zero(lanes)), box);
        for (std::size_t k = 0; k < dimension_; ++k) {
          bounds_[k] = std::min(bounds_[k], box[k]);
          bounds_[dimension_ + k] = std::max(bounds_[dimension_ + k], box[dimension_ + k]);
        }
      }
    knows_bounds_ = true;
    return bounds_;
  }
  // Whether a place is thousands of times as far from all rows as these are from each other: floats hardly tell which
  // are nearer.
  bool is_far(const double* center) const {
    constexpr double kFar = 0x1p12;
    if (!knows_near_) {
      const double* bounds = this->bounds();
      double size = 0;
      for (std::size_t k = 0; k < dimension_; ++k) size = std::max(size, bounds[dimension_ + k] - bounds[k]);
      for (std::size_t k = 0; k < dimension_; ++k) {
        near_[k] = tree_.frame.given(bounds[k] - kFar * size, k);
        near_[dimension_ + k] = tree_.frame.given(bounds[dimension_ + k] + kFar * size, k);
      }
      knows_near_ = true;
    }
    bool is_far = false;
    for (std::size_t k = 0; k < dimension_; ++k) is_far |= center[k] < near_[k] || center[k] > near_[dimension_ + k];
    return is_far;
  }

  // How keys of a NearWalk stand for distances: what they are less than their squares, and by how much they may be
  // wrong, besides a share.
  struct NearKeys {
    double less, rounding;  // the latter of squares that were computed from the given numbers
    double error, most_outside;
  };
  // Where a walk measures from along an axis, and how far the point is from there.
  struct NearPlace {
    double nearest, outside;
    float low(const LocalFrame& frame) const {
      return outside > 0 ? static_cast<float>(nearest) : frame.below(nearest);
    }
    float high(const LocalFrame& frame) const {
      return outside > 0 ? static_cast<float>(nearest) : frame.above(nearest);
    }
  };
  // False where the point is farther away than floats tell.
  bool place_near(const double* center, NearPlace* places, NearKeys& keys) const {
    constexpr double kRounding = 5e-7, kLeast = 1e-18, kFarthest = 1e15;
    const double* bounds = this->bounds();
    keys = {};
    double size = 0;
    for (std::size_t k = 0; k < dimension_; ++k) {
      const double at = tree_.frame.local(center[k], k), nearest = std::clamp(at, bounds[k], bounds[dimension_ + k]);
      const double outside = std::fabs(at - nearest);
      if (!(outside <= kFarthest)) return false;
      places[k] = {nearest, outside};
      keys.less += outside * outside;
      keys.most_outside = std::max(keys.most_outside, 2 * outside);
      size += std::fabs(nearest);
    }
    keys.rounding = keys.less * 0x1p-47;
    keys.error = tree_.is_wide() ? 0 : size * kRounding + kLeast;
    return true;
  }
  bool start_near(NearWalk& walk, const double* center, NearKeys& keys) const {
    NearPlace places[4];
    if (!place_near(center, places, keys)) return false;
    begin_walk(walk);
    const std::size_t axes = tree_.blocks.layout().axes;
    for (std::size_t k = 0; k < axes; ++k) {
      const bool is_used = k < dimension_;
      walk.center[k] = is_used ? places[k].low(tree_.frame) : 0;
      walk.center[axes + k] = is_used ? places[k].high(tree_.frame) : 0;
      walk.outside[k] = is_used ? static_cast<float>(2 * places[k].outside) : 0;
      walk.wide_center[k] = is_used ? places[k].nearest : 0;
      walk.wide_outside[k] = is_used ? 2 * places[k].outside : 0;
    }
    return true;
  }
  // The same for one of several in turn.
  bool start_near(InterleavedNear& near, const double* center, std::size_t wanted, double farthest,
                  double& outside) const {
    NearPlace places[4];
    NearKeys keys;
    if (!place_near(center, places, keys)) return false;
    for (std::size_t k = 0; k < tree_.blocks.layout().axes; ++k) {
      const bool is_used = k < dimension_;
      near.low[k] = is_used ? places[k].low(tree_.frame) : 0;
      near.high[k] = is_used ? places[k].high(tree_.frame) : 0;
      near.outside[k] = is_used ? static_cast<float>(2 * places[k].outside) : 0;
    }
    // As limit_of_key(): twice the product of a root and an error is less than kShare of the square of the root, and
    // the square of the error over kShare.
    constexpr double kShare = 1e-5;
    near.factor = static_cast<float>(1 + kShare + 6e-6);
    near.rest = rounded_up(
        (keys.error * keys.error * (1 + 1 / kShare) + keys.error * keys.most_outside + keys.rounding) * (1 + 1e-6));
    outside = keys.less > 0 ? 2 * std::sqrt(keys.less) : 0;
    near.memory = tree_.blocks.memory();
    near.wanted = wanted;
    near.stack[0] = tree_.root;
    begin_walk(near, limit_of_reach(farthest, keys));
    return true;
  }
  // Where it begins is on its stack already.
  static void begin_walk(InterleavedNear& near, float limit) {
    near.limit = limit;
    std::fill_n(near.best, InterleavedNear::kMostWanted, std::numeric_limits<float>::infinity());
    near.crowded = false;
    near.found = 0;
    near.depth = 1;
    near.key[0] = 0;
  }
  // The key up to which a row may be at most so far away.
  float limit_of_reach(double reach, const NearKeys& keys) const {
    const double local = reach * tree_.frame.scale, squared = local * local;
    if (!(squared < kNever)) return std::numeric_limits<float>::infinity();
    const double key = squared - keys.less + squared * 0x1p-47 + keys.rounding;
    if (key < squared * -1e-9) return -1;  // surely: not by a rounding
    return tree_.is_wide() ? wide_key(std::max(key, 0.0)) : rounded_up(std::max(key, 0.0));
  }
  // The key up to which a row may be as near as one with this key.
  float limit_of_key(float key, const NearKeys& keys) const {
    if (tree_.is_wide()) {
      const auto above = static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(key) + 1) << 32;
      return wide_key(std::bit_cast<double>(above) + keys.rounding);
    }
    const double root = std::sqrt(static_cast<double>(key)) * (1 + 1e-6) + keys.error;
    return rounded_up(root * root + keys.error * keys.most_outside + keys.rounding);
  }

  // As nearest_of(), in doubles. False if the rows cannot be told by candidates: then these may be `alike`.
  template <std::size_t D, class Report>
  bool nearest_of_candidates(std::size_t query, const double* center, std::size_t wanted, double farthest, double reach,
                             NearestScratch& scratch, const Report& report, bool& alike) const {
    constexpr double kLeastMore = 1.1, kMostMore = 4;  // about one guess of forty is to be too low
    if (tree_.root == kNoBlock || wanted == 0) return false;
    NearWalk& walk = scratch.walk;
    NearCandidates& candidates = scratch.candidates_of_many;
    NearKeys keys;
    if (!start_near(walk, center, keys)) {
      alike = true;
      return false;
    }
    const auto limit_of = [&](float key) { return limit_of_key(key, keys); };
    const float surely = limit_of_reach(reach, keys);
    const double outside = 2 * std::sqrt(keys.less), depth = scratch.last_depth;
    const float guess = rounded_up(depth * (depth + outside) * scratch.more);
    bool is_guess = guess < surely;
    std::size_t count = 0;
    for (;;) {
      walk.limit = is_guess ? guess : surely;
      walk.ordered = walk.limit == std::numeric_limits<float>::infinity();
      candidates.begin(wanted, walk);
      if (!collect(query, walk, candidates, limit_of)) {
        alike = true;
        return false;
      }
      const float limit = candidates.put_in_order(walk, limit_of, count);
      const auto last = static_cast<double>(std::min(limit, walk.limit));
      if (!tree_.is_wide()) scratch.last_depth = 2 * last / (std::sqrt(outside * outside + 4 * last) + outside);
      if (!is_guess || walk.limit < guess || limit <= guess) break;
      scratch.more = std::min(kMostMore, scratch.more * 1.3);
      is_guess = false;
      begin_walk(walk);
    }
    if (is_guess) scratch.more = std::max(kLeastMore, scratch.more * 0.99);
    if (filter_.allows_all()) visited_ += count;
    const std::int32_t* rows = candidates.rows();
    scratch.found.resize(std::max(count, wanted));
    return rows_.use([&](const auto& boxes) {
      for (std::size_t at = 0; at < count; ++at) {
        read_ahead(boxes.lower_of(static_cast<std::size_t>(rows[at])));
        read_ahead(boxes.upper_of(static_cast<std::size_t>(rows[at])) + D - 1);
      }
      std::size_t found = 0;
      double last = 0;
      if (!decide_nearest<D>(rows, count, boxes, query, center, wanted, farthest, next_copy_, scratch.found.data(),
                             [&](std::size_t, std::size_t rank, std::int32_t row, double distance) {
                               report(row, distance);
                               found = rank + 1;
                               last = distance;
                             }))
        return false;
      note(center, wanted, found, last, scratch);
      return true;
    });
  }
  void begin_walk(NearWalk& walk) const {
    start(static_cast<Walk&>(walk), tree_);
    walk.key[0] = 0;
  }
  // False if there are too many whose keys are alike.
  template <class LimitOf>
  bool collect(std::size_t query, NearWalk& walk, NearCandidates& candidates, const LimitOf& limit_of) const {
    const auto next = kernels_.trees->collect_near[tree_.is_wide() ? 1 : 0][dimension_ - 1];
    for (std::size_t before = 0;; before = walk.found) {
      next(walk);
      if (!filter_.allows_all())
        candidates.replace(walk, before, [&](std::int32_t row) { return lowest_allowed(query, row); });
      if (walk.depth == 0) return true;
      if (!candidates.cut(walk, limit_of)) return false;
    }
  }

  // ---- Queries in doubles first, and in wide numbers where these overflow or vanish ----
  //
  // Those in doubles return false if that may have changed their result. What is too far away for a double only has to
  // be known if nothing nearer is found.

  template <class Number>
  bool nearest_of(std::size_t query, const double* center, std::size_t wanted, double farthest, float limit, bool alike,
                  BallWalk& walk, std::vector<RowAt<Number>>& found) const {
    NearestRows<Number> nearest(center, dimension_, wanted, farthest, found);
    if (wanted == 0) return true;
    start(walk, tree_, center, limit, true);
    FirstRows<Number, BallWalk> rows(*this, walk);
    const std::uint64_t most = walk.visited + blocks_before_bounds(wanted, alike);
    // Where many blocks are visited for few rows, bounds would not leave out more of them.
    const std::uint64_t few = alike ? 0 : 64 + 4 * wanted;
    std::uint64_t looked_at = 0;
    for (rows.next(); walk.found > 0 && (walk.visited <= most || looked_at <= few); rows.next())
      while (walk.lanes != 0) {
        const std::size_t lane = take_least(walk);
        if (walk.lane_key[lane] > walk.limit) break;
        ++looked_at;
        std::int32_t row = lowest_allowed(query, tree_.blocks.child(walk.block)[lane]);
        if (row < 0) continue;
        const Box box = read(walk.block, lane);
        const Taken taken = nearest.add(box.box, row);
        if (taken == Taken::unknown) return false;
        if (taken == Taken::ties) rows.count_tie(nearest.last());
        if (taken != Taken::yes) continue;
        while ((row = next_copy(query, row)) >= 0 && nearest.add(box.box, row) == Taken::yes) {
        }
        if (!nearest.is_full()) continue;
        walk.limit = std::min(walk.limit, limit_of_square(tree_, nearest.last().first));
        rows.set_last(nearest.last());
      }
    if (walk.found == 0) return nearest.is_complete();
    NearestRows<Number> again(center, dimension_, wanted, farthest, found);
    return add_by_bounds(tree_, rows_, filter_, next_copy_, query, again, rejected_) && again.is_complete();
  }

  template <class Number>
  bool first_of(std::size_t query, const Sweep& sweep, const Number& length, double farthest, SweepWalk& walk,
                RowAt<Number>& best) const {
    const double unit = fastest(sweep, dimension_);
    start(walk, tree_, sweep, rounded(length), farthest, true);
    FirstRows<Number, SweepWalk> rows(*this, walk, &sweep);
    return visit_in_order(
        query, walk, [&](SweepWalk&) { rows.next(); },
        [&](std::size_t lane, std::int32_t row) {
          const RowAt<Number> candidate(time_of<Number>(sweep, read(walk.block, lane).box), row);
          if constexpr (std::is_same_v<Number, double>) {
            if (std::isnan(candidate.first)) return false;
          }
          if (is_never(candidate.first) || !is_within(candidate.first, length, farthest)) return true;
          if (best.second >= 0 && !(candidate < best)) {
            if (candidate.first == best.first) rows.count_tie(best);
            return true;
          }
          best = candidate;
          walk.limit = std::min(walk.limit, time_limit(tree_, unit, best.first));
          rows.set_last(best);
          return true;
        });
  }

  // Goes through a tree for the rows that come first. Where many rows only tie with the last one wanted, what can only
  // do that is left out from then on, by exact bounds. Few do, so what each walk takes is short.
  template <class Number, class AWalk>
  class FirstRows {
   public:
    // `sweep` is that of a walk by time.
    FirstRows(const TreeQueries& queries, AWalk& walk, const Sweep* sweep = nullptr)
        : queries_(queries), walk_(walk), sweep_(sweep), next_(queries.template next_of<AWalk>(false)) {
      if (kAreDoubles && bounds().ties_until_due(queries.tree_.blocks.count()) == 0) go_by_row();
    }
    ~FirstRows() {
      if (ties_ > kUsual) bounds().note_ties(ties_ - kUsual);
    }
    FirstRows(const FirstRows&) = delete;
    FirstRows& operator=(const FirstRows&) = delete;

    void next() { next_(walk_); }
    // `last` is the last row wanted, of as many as there are to be.
    void count_tie(const RowAt<Number>& last) {
      if (!kAreDoubles) return;
      if (++ties_ == kUsual) due_ = kUsual + bounds().ties_until_due(queries_.tree_.blocks.count());
      if (by_row_ || ties_ <= due_) return;
      go_by_row();
      lower(last);
    }
    // With the limit lowered to that.
    void set_last(const RowAt<Number>& last) {
      if (by_row_) lower(last);
    }

   private:
    static constexpr bool kAreDoubles = std::is_same_v<Number, double>;
    // Where boxes overlap, so many have the query in them: it takes less time to test them.
    static constexpr std::uint64_t kUsual = 32;
    const ExactBounds& bounds() const { return queries_.tree_.exact_bounds; }
    void go_by_row() {
      by_row_ = true;
      next_ = queries_.template next_of<AWalk>(true);
      // Keys may be infinite, too: nothing is left out before there is a last row.
      walk_.ties.tie = std::numeric_limits<float>::infinity();
      walk_.ties.last = kNever;
      walk_.ties.last_row = std::numeric_limits<std::int32_t>::max();
      walk_.ties.dimension = queries_.dimension_;
      if constexpr (std::is_same_v<AWalk, SweepWalk>) {
        std::copy_n(sweep_->box, 2 * walk_.ties.dimension, walk_.ties.given_box);
        std::copy_n(sweep_->motion, walk_.ties.dimension, walk_.ties.motion);
      }
      walk_.ties.bounds = bounds().get(queries_.tree_.blocks, queries_.tree_.root, queries_.rows_);
    }
    void lower(const RowAt<Number>& last) {
      if constexpr (kAreDoubles) {
        walk_.ties.tie = tie_of(queries_.tree_, walk_.limit, queries_.lack_of(walk_));
        walk_.ties.last = last.first;
        walk_.ties.last_row = last.second;
      }
    }

    const TreeQueries& queries_;
    AWalk& walk_;
    const Sweep* sweep_;
    void (*next_)(AWalk&);
    bool by_row_ = false;
    std::uint64_t due_ = kUsual, ties_ = 0;
  };
  template <class AWalk>
  auto next_of(bool by_row) const {
    const std::size_t k = dimension_ - 1;
    if constexpr (std::is_same_v<AWalk, BallWalk>)
      return by_row ? walks().next_by_distance_and_row[k] : walks().next_by_distance[k];
    else
      return by_row ? walks().next_by_time_and_row[k] : walks().next_by_time[k];
  }

  // What the keys of a walk lack by rounding, besides a share of themselves. A square whose root lacks so much lacks
  // twice the product of both, which is less than these two. An axis along which next to nothing moves does not make
  // it more: this is only where ties are looked for.
  float lack_of(const BallWalk& walk) const {
    const float lack = rounding_of(walk.center);
    return lack * lack * 1e4F;
  }
  float lack_of(const SweepWalk& walk) const {
    constexpr float kMost = 1e3F;
    float most = 1;
    for (std::size_t k = 0; k < tree_.blocks.layout().axes; ++k)
      if (std::fabs(walk.inverse[k]) < kMost) most = std::max(most, std::fabs(walk.inverse[k]));
    return rounding_of(walk.box) * most;
  }
  // Of the coordinates of a tree, for a query at two corners: more than a few roundings of floats.
  float rounding_of(const float* corners) const {
    constexpr float kRounding = 6e-7F;
    float reach = 1;
    for (std::size_t k = 0; k < 2 * tree_.blocks.layout().axes; ++k) reach = std::max(reach, std::fabs(corners[k]));
    return reach * kRounding;
  }

  // Whether floats tell times at which a box is surely touched: not where the start is far away, or next to nothing
  // moves along an axis.
  bool is_near(const SweepWalk& walk) const {
    constexpr float kFar = 1e30F;
    return std::all_of(walk.box, walk.box + 2 * tree_.blocks.layout().axes,
                       [](float at) { return std::fabs(at) < kFar; });
  }

  void begin(InterleavedSweep& sweep, const SweepWalk& walk, std::size_t query) const {
    begin_motion(sweep, walk);
    sweep.ignored = filter_.ignored_by(query);
    sweep.ignored_count = next_copy_ == nullptr ? filter_.ignored_count : 0;  // a copy may stand in for one
    sweep.crowded = false;
    sweep.key[0] = 0;
  }
  void begin(InterleavedTouch& motion, const SweepWalk& walk, std::size_t) const {
    // A longer time may be infinite as a float; a shorter limit has no relative error. More than all roundings.
    constexpr float kLongest = 1e30F, kLess = 0.999992F;
    begin_motion(motion, walk);
    motion.sure_limit = walk.limit > 1 / kLongest ? std::min(walk.limit, kLongest) * kLess : 0.0F;
  }
  template <class Motion>
  void begin_motion(Motion& motion, const SweepWalk& walk) const {
    const std::size_t axes = tree_.blocks.layout().axes;
    float reach = 1;
    for (std::size_t k = 0; k < 2 * axes; ++k) reach = std::max(reach, std::fabs(walk.box[k]));
    for (std::size_t k = 0; k < axes; ++k) {
      const bool forward = walk.inverse[k] > 0;
      const float low = walk.box[k], high = walk.box[axes + k];
      // Twice as much as rounding has added.
      const float more = (std::fabs(low) + std::fabs(high)) * 1e-6F + reach * 1e-15F;
      motion.front[k] = forward ? high : low;
      motion.rear[k] = forward ? low : high;
      motion.inner_front[k] = forward ? high - more : low + more;
      motion.inner_rear[k] = forward ? low + more : high - more;
      motion.near[k] = (forward ? k : axes + k) * kLanes;
      motion.far[k] = (forward ? axes + k : k) * kLanes;
      motion.inverse[k] = walk.inverse[k];
    }
    motion.memory = tree_.blocks.memory();
    motion.rough = tree_.is_exact() ? 0.0F : 5e-7F;
    motion.limit = walk.limit;
    motion.depth = 1;
    motion.found = 0;
    motion.stack[0] = tree_.root;
  }

  // Waits for one of the sweeps to end, and decides what it touches first. Returns its number.
  template <class Report>
  std::size_t decide(FirstInterleaved& scratch, const Report& report) const {
    const std::size_t number = kernels_.trees->finish_sweep[dimension_ - 1](scratch.interleaved);
    const InterleavedSweep& sweep = scratch.interleaved.motion[number];
    const auto& begun = scratch.begun[number];
    KeyedRow best(kNever, -1);
    bool sure = !sweep.crowded;
    if (sweep.crowded) scratch.alone_next = kAloneAfterCrowd;
    for (std::size_t at = 0; at < sweep.found && sure; ++at) {
      if (sweep.row_key[at] > sweep.limit) continue;
      std::int32_t row = sweep.rows[at];
      if (begun.next_copy != nullptr && (row = lowest_allowed(begun.query, row, begun.next_copy)) < 0) {
        sure = false;  // the limit may be that of rows which are all ignored
        break;
      }
      const KeyedRow candidate(touch_time(begun.sweep, read(row).box, dimension_), row);
      sure = !std::isnan(candidate.first);
      if (!is_never(candidate.first) && is_within(candidate.first, begun.length, begun.farthest))
        best = std::min(best, candidate);
    }
    if (!sure) {
      alone(begun, scratch, report);
    } else if (best.second >= 0) {
      report(begun.query, best.second, best.first * begun.length);
    }
    return number;
  }
  template <class Report>
  void alone(const FirstInterleaved::Begun& begun, FirstInterleaved& scratch, const Report& report) const {
    first_touched(begun.query, begun.sweep, begun.farthest, scratch.alone,
                  [&](std::int32_t row, double value) { report(begun.query, row, value); });
  }

  // Goes on until one of them has touched something, or nothing at all. Returns its number.
  template <class Report>
  std::size_t decide(AnyInterleaved& scratch, const Report& report) const {
    const auto next = kernels_.trees->find_touched[dimension_ - 1];
    for (;;) {
      const std::size_t number = next(scratch.interleaved);
      InterleavedTouch& motion = scratch.interleaved.motion[number];
      const auto& begun = scratch.begun[number];
      bool touched = false;
      for (std::size_t at = 0; at < motion.found && !touched; ++at)
        touched = allows(begun.query, motion.rows[at]) &&
                  ((motion.sure >> at & 1u) != 0 ||
                   touches(begun.sweep, read(motion.rows[at]), begun.length, begun.farthest));
      if (touched) report(begun.query);
      if (touched || motion.depth == 0) return number;
      motion.found = 0;
    }
  }
  template <class Report>
  void alone(const AnyInterleaved::Begun& begun, AnyInterleaved& scratch, const Report& report) const {
    if (any_touched(begun.query, begun.sweep, begun.farthest, scratch.alone)) report(begun.query);
  }

  // Whether a row is touched within the limit; `length` is that of the motion, perhaps out of range.
  bool touches(const Sweep& sweep, const Box& row, double length, double farthest) const {
    const double time = touch_time(sweep, row.box, dimension_);
    if (is_never(time)) return false;
    if (is_safe(sweep, length) && !std::isnan(time)) return is_within(time, length, farthest);
    return is_within(wide_touch_time(sweep, row.box, dimension_), length_of<WideNumber>(sweep, dimension_), farthest);
  }

  template <class Number>
  bool all_of(std::size_t query, const Sweep& sweep, const Number& length, double farthest, SweepWalk& walk,
              std::vector<RowAt<Number>>& found) const {
    found.clear();
    start(walk, tree_, sweep, rounded(length), farthest, false);
    const auto next = walks().next_by_time[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk))
      for (std::size_t at = 0; at < walk.found; ++at) {
        std::int32_t row = lowest_allowed(query, walk.rows[at]);
        if (row < 0) continue;
        const Number time = time_of<Number>(sweep, read(row).box);
        if constexpr (std::is_same_v<Number, double>) {
          if (std::isnan(time)) return false;
        }
        if (is_never(time) || !is_within(time, length, farthest)) continue;
        for (; row >= 0; row = next_copy(query, row)) found.emplace_back(time, row);
      }
    std::sort(found.begin(), found.end());
    return true;
  }

  template <class Number>
  Number time_of(const Sweep& sweep, const double* box) const {
    if constexpr (std::is_same_v<Number, double>)
      return touch_time(sweep, box, dimension_);
    else
      return wide_touch_time(sweep, box, dimension_);
  }

  static bool is_never(double time) { return time == kNever; }
  static bool is_never(const WideNumber& time) { return time.is_infinite(); }
  static bool is_within(double time, double length, double farthest) { return time * length <= farthest; }
  static bool is_within(const WideNumber& time, const WideNumber& length, double farthest) {
    return time * length <= WideNumber(farthest);
  }
  static double rounded(double length) { return length; }
  static double rounded(const WideNumber& length) { return length.to_double(); }

  // Whether doubles hold the length of the motion.
  bool is_safe(const Sweep& sweep, double length) const {
    return is_safe_length(length) || fastest(sweep, dimension_) == 0;
  }

  const WalkKernels& walks() const { return tree_.is_wide() ? kernels_.trees->doubles : kernels_.trees->floats; }

  // The box of a lane's row as it was given. If nothing was rounded, it is computed from the block, which is in the
  // cache.
  Box read(std::int32_t block, std::size_t lane) const {
    if (!tree_.is_exact()) return read(tree_.blocks.child(block)[lane]);
    Box result;
    if (tree_.is_wide()) {
      tree_.blocks.get_box(block, lane, result.box);
      return result;
    }
    const double scale = 1 / tree_.frame.scale;  // a power of two, like its inverse
    for (std::size_t k = 0; k < dimension_; ++k) {
      result.box[k] = static_cast<double>(tree_.blocks.lower(block, k)[lane]) * scale;
      result.box[dimension_ + k] = static_cast<double>(tree_.blocks.upper(block, k)[lane]) * scale;
    }
    return result;
  }

  // Takes the lane with the smallest key from those left: it often makes the others unnecessary.
  static std::size_t take_least(OrderedWalk& walk) {
    auto least = static_cast<std::size_t>(std::countr_zero(walk.lanes));
    for (std::uint32_t lanes = walk.lanes & (walk.lanes - 1); lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
      least = walk.lane_key[lane] < walk.lane_key[least] ? lane : least;
    }
    walk.lanes &= ~(1u << least);
    return least;
  }

  // So many blocks a walk visits before it gives motion to one by exact bounds: more than an ordinary one does, and
  // where the bounds are still to be computed, about as many as take that long. All, in a chain of blocks.
  std::uint64_t blocks_before_bounds(std::size_t wanted, bool alike) const {
    constexpr std::uint64_t kOrdinary = 48;
    const Blocks& blocks = tree_.blocks;
    if (tree_.root == kNoBlock || blocks.rows(tree_.root) == blocks.occupied(tree_.root)) return UINT64_MAX / 2;
    const std::uint64_t ordinary = alike ? 0 : kOrdinary + wanted;
    return tree_.exact_bounds.are_known() ? ordinary : ordinary + blocks.count() / 8;
  }

  void sort_from(std::vector<std::int32_t>& rows, std::size_t begin) const {
    // Marks take a bit of memory for each row of all: not for a query or two.
    constexpr std::size_t kFew = 24, kRowsWorthOne = 32;
    const std::size_t count = rows.size() - begin;
    if (count > kFew) sorted_ += count;
    if (count <= kFew || sorted_ < rows_.count() / kRowsWorthOne)
      sort_rows(rows.data() + begin, count);
    else
      marks_.sort(rows.data() + begin, count, rows_.count());
  }

  const BlockTree& tree_;
  AnyBoxes rows_;
  QueryFilter filter_;
  const Kernels& kernels_;
  std::size_t dimension_;
  const std::int32_t* next_copy_;
  mutable std::uint64_t rejected_ = 0, visited_ = 0;
  mutable std::size_t sorted_ = 0;  // rows of long answers so far
  mutable RowMarks marks_;
  mutable double bounds_[8], near_[8];
  mutable bool knows_bounds_ = false, knows_near_ = false;
};

// ---- Many queries: in an order in which consecutive queries are near each other in space ----

// From so many queries on, they are answered in the order of a curve through them, and those around points in groups.
inline constexpr std::size_t kManyQueries = 512;

// The order of queries by the boxes that they are about. Empty where sorting does not pay: for few queries.
template <class T>
std::vector<std::uint32_t> nearby_order(const BoxView<T>& begun, std::size_t dimension, const Kernels& kernels,
                                        unsigned workers, Interrupt& interrupt) {
  std::vector<std::uint32_t> order;
  if (begun.count < kManyQueries) return order;
  CurveOrder<T> along;
  along.sort(GrownBoxes<T>{begun, dimension}, nullptr, begun.count, kernels, workers, interrupt);
  order.resize(begun.count);
  for (std::size_t k = 0; k < begun.count; ++k) order[k] = along.row(k);
  return order;
}

}  // namespace broadphase
