// Questions to a tree of blocks, one at a time: which rows meet a box, lie near a point, are hit by a ray, are in view.
//
// A walk names candidates; the exact test reads the rows as they were given. All of it only reads, and any number of
// threads may ask at once, each with a scratch of its own.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "broadphase/any_boxes.hpp"
#include "broadphase/blocks.hpp"
#include "broadphase/kernels.hpp"
#include "broadphase/questions.hpp"
#include "broadphase/tree_walks.hpp"

namespace broadphase {

// A row with its distance or its time; ordered by that, then by row.
using KeyedRow = std::pair<double, std::int32_t>;

class TreeQueries {
 public:
  TreeQueries(const BlockTree& tree, const AnyBoxes& rows, const QueryFilter& filter, const Kernels& kernels)
      : tree_(tree), rows_(rows), filter_(filter), kernels_(kernels), dimension_(tree.dimension()) {}

  // Appends the rows that meet `box`, ascending.
  void by_box(std::size_t query, const double* box, BoxWalk& walk, std::vector<std::int32_t>& found) const {
    const std::size_t begin = found.size();
    const bool exact = start(walk, tree_, box);
    const auto next = kernels_.next_by_box[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk)) {
      if (exact && filter_.row_layer == nullptr) {
        found.insert(found.end(), walk.rows, walk.rows + walk.found);
        continue;
      }
      for (std::size_t at = 0; at < walk.found; ++at)
        if (allows(query, walk.rows[at]) && (exact || boxes_meet(box, read(walk.rows[at]).box, dimension_)))
          found.push_back(walk.rows[at]);
    }
    sort_from(found, begin);
  }

  // Appends the rows at most `radius` from `center`, ascending.
  void by_ball(std::size_t query, const double* center, double radius, BallWalk& walk,
               std::vector<std::int32_t>& found) const {
    const std::size_t begin = found.size();
    const double scale = square_scale(radius), squared = radius * scale * (radius * scale);
    start(walk, tree_, center, squared, scale, false);
    const auto next = kernels_.next_by_distance[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk))
      for (std::size_t at = 0; at < walk.found; ++at)
        if (allows(query, walk.rows[at]) &&
            squared_distance(center, read(walk.rows[at]).box, dimension_, scale) <= squared)
          found.push_back(walk.rows[at]);
    sort_from(found, begin);
  }

  // The `wanted` nearest rows at most `farthest` away, nearest first, with the squares of their distances times that of
  // the scale that is returned. What lies at infinity is near nothing.
  double nearest(std::size_t query, const double* center, std::size_t wanted, double farthest, BallWalk& walk,
                 std::vector<KeyedRow>& found) const {
    found.clear();
    if (wanted == 0) return 1;
    double reach = 1 / tree_.frame.scale;
    for (std::size_t k = 0; k < dimension_; ++k) reach = std::max(reach, std::fabs(center[k]));
    const double scale = square_scale(reach), squared = farthest * scale * (farthest * scale);
    start(walk, tree_, center, squared, scale, true);
    const auto next = kernels_.next_by_distance[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk)) {
      least_keys_first(walk);
      for (std::size_t at = 0; at < walk.found && walk.row_key[at] <= walk.limit; ++at) {
        const std::int32_t row = walk.rows[at];
        if (!allows(query, row)) continue;
        const KeyedRow candidate(squared_distance(center, read(row).box, dimension_, scale), row);
        if (candidate.first > squared || candidate.first == kNever) continue;
        if (found.size() < wanted) {
          found.push_back(candidate);
          std::push_heap(found.begin(), found.end());
        } else if (candidate < found.front()) {
          std::pop_heap(found.begin(), found.end());
          found.back() = candidate;
          std::push_heap(found.begin(), found.end());
        } else {
          continue;
        }
        if (found.size() == wanted) walk.limit = std::min(walk.limit, ball_limit(tree_, found.front().first, scale));
      }
    }
    std::sort_heap(found.begin(), found.end());
    return scale;
  }

  // The row touched first, at a time for which length * time <= farthest; (kNever, -1) if there is none.
  KeyedRow first_touched(std::size_t query, const Sweep& sweep, double length, double farthest, SweepWalk& walk) const {
    KeyedRow best(kNever, -1);
    const double unit = start(walk, tree_, sweep, farthest / length, true);
    const auto next = kernels_.next_by_time[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk)) {
      least_keys_first(walk);
      for (std::size_t at = 0; at < walk.found && walk.row_key[at] <= walk.limit; ++at) {
        if (!allows(query, walk.rows[at])) continue;
        const KeyedRow candidate(touch_time(sweep, read(walk.rows[at]).box, dimension_, kNever), walk.rows[at]);
        if (candidate.first == kNever || !(candidate.first * length <= farthest)) continue;
        if (best.second >= 0 && !(candidate < best)) continue;
        best = candidate;
        walk.limit = std::min(walk.limit, time_limit(unit, best.first));
      }
    }
    return best;
  }

  // Appends all the rows touched, by time and then by row.
  void all_touched(std::size_t query, const Sweep& sweep, double length, double farthest, SweepWalk& walk,
                   std::vector<KeyedRow>& found) const {
    found.clear();
    start(walk, tree_, sweep, farthest / length, false);
    const auto next = kernels_.next_by_time[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk))
      for (std::size_t at = 0; at < walk.found; ++at) {
        if (!allows(query, walk.rows[at])) continue;
        const double time = touch_time(sweep, read(walk.rows[at]).box, dimension_, kNever);
        if (time != kNever && time * length <= farthest) found.emplace_back(time, walk.rows[at]);
      }
    std::sort(found.begin(), found.end());
  }

  bool any_touched(std::size_t query, const Sweep& sweep, double length, double farthest, SweepWalk& walk) const {
    start(walk, tree_, sweep, farthest / length, true);
    const auto next = kernels_.next_by_time[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk))
      for (std::size_t at = 0; at < walk.found; ++at) {
        if (!allows(query, walk.rows[at])) continue;
        const double time = touch_time(sweep, read(walk.rows[at]).box, dimension_, kNever);
        if (time != kNever && time * length <= farthest) return true;
      }
    return false;
  }

  struct RegionScratch {
    ConvexWalk walk;
    LocalRegion local;
  };

  // Appends the rows that meet a convex region, ascending.
  void by_region(std::size_t query, const ConvexRegion& region, RegionScratch& scratch,
                 std::vector<std::int32_t>& found) const {
    const std::size_t begin = found.size();
    ConvexWalk& walk = scratch.walk;
    scratch.local.start(walk, tree_, region);
    const auto next = kernels_.next_by_region[dimension_ - 1];
    for (next(walk); walk.found > 0; next(walk))
      for (std::size_t at = 0; at < walk.found; ++at)
        if (allows(query, walk.rows[at]) && meets(region, read(walk.rows[at]).box, dimension_))
          found.push_back(walk.rows[at]);
    sort_from(found, begin);
  }

 private:
  struct Box {
    double box[8];
  };
  Box read(std::int32_t row) const {
    Box result;
    rows_.read(static_cast<std::size_t>(row), result.box);
    return result;
  }

  bool allows(std::size_t query, std::int32_t row) const {
    return filter_.allows(static_cast<std::size_t>(row), query);
  }

  // Of the few rows of one block: the best one often makes the others needless.
  static void least_keys_first(OrderedWalk& walk) {
    for (std::size_t at = 1; at < walk.found; ++at) {
      const float key = walk.row_key[at];
      const std::int32_t row = walk.rows[at];
      std::size_t place = at;
      for (; place > 0 && walk.row_key[place - 1] > key; --place) {
        walk.row_key[place] = walk.row_key[place - 1];
        walk.rows[place] = walk.rows[place - 1];
      }
      walk.row_key[place] = key;
      walk.rows[place] = row;
    }
  }

  static void sort_from(std::vector<std::int32_t>& rows, std::size_t begin) {
    if (rows.size() - begin > 1) std::sort(rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.end());
  }

  const BlockTree& tree_;
  AnyBoxes rows_;
  QueryFilter filter_;
  const Kernels& kernels_;
  std::size_t dimension_;
};

}  // namespace broadphase
