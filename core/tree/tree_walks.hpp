// Questions in a tree's own coordinates: prepares the walks of walks.hpp so that they lose nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "query/queries.hpp"
#include "tree/blocks.hpp"
#include "tree/walks.hpp"

namespace broadphase {

inline void start(Walk& walk, const BlockTree& tree) {
  walk.memory = tree.blocks.memory();
  walk.depth = 0;
  if (tree.root != kNoBlock) walk.stack[walk.depth++] = tree.root;
}

// True if the walk's own test is exact: neither the tree's boxes nor this one were rounded.
inline bool start(BoxWalk& walk, const BlockTree& tree, const double* box) {
  start(static_cast<Walk&>(walk), tree);
  const std::size_t dimension = tree.dimension();
  bool exact = tree.is_exact();
  for (std::size_t k = 0; k < dimension; ++k) {
    walk.box[k] = tree.frame.below(box[k], k);
    walk.box[dimension + k] = tree.frame.above(box[dimension + k], k);
    exact = exact && tree.frame.keeps(box[k], k) && tree.frame.keeps(box[dimension + k], k);
  }
  return exact;
}

// A little more than `value`, for comparisons with keys that half a dozen roundings may have raised.
inline float rounded_up(double value) {
  constexpr double kMore = 1 + 2e-6, kLeast = 1e-37;
  const double more = value * kMore + kLeast;
  return more <= static_cast<double>(std::numeric_limits<float>::max()) ? static_cast<float>(more)
                                                                        : std::numeric_limits<float>::infinity();
}

// Rows whose distance may be the root of `squared`, a square of lengths multiplied by `scale` (see squared_distance).
inline float ball_limit(const BlockTree& tree, double squared, double scale) {
  const double units = tree.frame.scale / scale;
  return rounded_up(squared * units * units);
}
inline void start(BallWalk& walk, const BlockTree& tree, const double* center, float limit, bool ordered) {
  start(static_cast<Walk&>(walk), tree);
  const std::size_t dimension = tree.dimension();
  for (std::size_t k = 0; k < dimension; ++k) {
    walk.center[k] = tree.frame.below(center[k], k);
    walk.center[dimension + k] = tree.frame.above(center[k], k);
  }
  walk.key[0] = 0;
  walk.limit = limit;
  walk.ordered = ordered;
}

// `latest` in the walk's time; see below.
inline float time_limit(double unit, double latest) { return rounded_up(unit > 0 && latest > 0 ? latest * unit : 0.0); }

// The walk's time is in units in which the fastest axis moves by 1 in the tree's coordinates: unit = walk / given.
inline double start(SweepWalk& walk, const BlockTree& tree, const Sweep& sweep, double latest, bool ordered) {
  start(static_cast<Walk&>(walk), tree);
  const std::size_t dimension = tree.dimension();
  double unit = 0;
  for (std::size_t k = 0; k < dimension; ++k) unit = std::max(unit, std::fabs(sweep.motion[k]));
  double reach = 1;
  for (std::size_t k = 0; k < dimension; ++k) {
    constexpr float kFarthest = std::numeric_limits<float>::max();
    walk.box[k] = std::clamp(tree.frame.below(sweep.box[k], k), -kFarthest, kFarthest);
    walk.box[dimension + k] = std::clamp(tree.frame.above(sweep.box[dimension + k], k), -kFarthest, kFarthest);
    reach = std::max(
        {reach, std::fabs(static_cast<double>(walk.box[k])), std::fabs(static_cast<double>(walk.box[dimension + k]))});
  }
  for (std::size_t k = 0; k < dimension; ++k) {
    // Along an axis that does not move, the box is never entered nor left: with a large inverse and a little more room,
    // all times are far before 0 or far behind everything else, or past the end. Where it all but stands still, it may
    // yet arrive in the end: such an axis does not count.
    constexpr double kStill = 1e-36;
    const double motion = unit > 0 ? sweep.motion[k] / unit : 0;
    if (std::fabs(motion) >= kStill) {
      walk.inverse[k] = static_cast<float>(1 / motion);
    } else {
      walk.inverse[k] = static_cast<float>(1 / kStill);
      const auto room = static_cast<float>(sweep.motion[k] != 0 ? 1e30 : std::min(reach * 1e-16, 1e30));
      const float low = walk.box[k], high = walk.box[dimension + k];
      walk.box[k] = low - std::max(room, std::fabs(low) * 2.5e-7F);
      walk.box[dimension + k] = high + std::max(room, std::fabs(high) * 2.5e-7F);
    }
  }
  // A box that does not move at all may wait: any time is as good as 0.
  unit = unit > 0 ? unit * tree.frame.scale : 0;
  walk.key[0] = 0;
  walk.limit = time_limit(unit, latest);
  walk.ordered = ordered;
  return unit;
}

// A region's slabs as floats. Keeps them: a walk only points at them.
class LocalRegion {
 public:
  void start(ConvexWalk& walk, const BlockTree& tree, const ConvexRegion& region) {
    broadphase::start(static_cast<Walk&>(walk), tree);
    const std::size_t dimension = tree.dimension();
    for (std::size_t k = 0; k < dimension; ++k) {
      walk.box[k] = tree.frame.below(region.around[k], k);
      walk.box[dimension + k] = tree.frame.above(region.around[dimension + k], k);
      walk.inner_box[k] = tree.frame.above(region.around[k], k);
      walk.inner_box[dimension + k] = tree.frame.below(region.around[dimension + k], k);
    }
    for (std::vector<float>* list : {&axes_, &least_, &most_, &inner_least_, &inner_most_}) list->clear();
    for (std::size_t slab = 0; slab < region.count; ++slab) {
      const double* axis = region.axes + slab * dimension;
      double offset = 0, size = 0, length = 0;
      for (std::size_t k = 0; k < dimension; ++k) length = std::max(length, std::fabs(axis[k]));
      if (!(length > 0)) {  // no axis: left to the exact test
        walk.inner_box[0] = std::numeric_limits<float>::quiet_NaN();
        continue;
      }
      for (std::size_t k = 0; k < dimension; ++k) {
        // A component is 0 only if it is so in the exact test, where infinite corners then do not count.
        const auto component = static_cast<float>(axis[k] / length);
        axes_.push_back(component == 0 && axis[k] != 0 ? static_cast<float>(std::copysign(1e-37, axis[k])) : component);
        offset += axis[k] / length * tree.frame.origin[k];
        size += std::fabs(axis[k] / length * tree.frame.origin[k]);
      }
      least_.push_back(limit(region.least[slab] / length, offset, size, tree.frame.scale, -1));
      most_.push_back(limit(region.most[slab] / length, offset, size, tree.frame.scale, 1));
      inner_least_.push_back(inner(region.least[slab] / length, offset, size, tree.frame.scale, 1));
      inner_most_.push_back(inner(region.most[slab] / length, offset, size, tree.frame.scale, -1));
    }
    walk.count = least_.size();
    walk.axes = axes_.data();
    walk.least = least_.data();
    walk.most = most_.data();
    walk.inner_least = inner_least_.data();
    walk.inner_most = inner_most_.data();
  }

 private:
  static constexpr double kDoubleRounding = 1e-14, kFloatRounding = 1e-6;

  // Further out by all that rounding can have done to it and to the sums that the exact test compares it with.
  static float limit(double value, double offset, double size, double scale, double sign) {
    constexpr double kFarthest = 1e38;
    const double local = (value - offset) * scale;
    const double error =
        (std::fabs(value) + size) * scale * kDoubleRounding + std::fabs(local) * kFloatRounding + 1e-30;
    if (!std::isfinite(local)) return static_cast<float>(sign) * std::numeric_limits<float>::infinity();
    const double result = local + sign * error;
    if (std::fabs(result) > kFarthest && (result > 0) == (sign > 0))
      return static_cast<float>(sign) * std::numeric_limits<float>::infinity();
    return static_cast<float>(std::clamp(result, -kFarthest, kFarthest));
  }

  // Further in by as much; a limit at infinity stays there, and what is not a number lets nothing be sure.
  static float inner(double value, double offset, double size, double scale, double sign) {
    if (std::isinf(value) && std::isfinite(offset) && (value > 0) != (sign > 0)) return static_cast<float>(value);
    const double local = (value - offset) * scale;
    if (!(std::fabs(local) <= 1e30)) return std::numeric_limits<float>::quiet_NaN();
    const double error = (std::fabs(value) + size) * scale * kDoubleRounding + std::fabs(local) * kFloatRounding;
    return static_cast<float>(local + sign * (error + 1e-30));
  }

  std::vector<float> axes_, least_, most_, inner_least_, inner_most_;
};

}  // namespace broadphase
