// The kernels of walks over wide trees: as in queries_kernel.hpp, over doubles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tree/eight_doubles.hpp"
#include "tree/queries_kernel.hpp"
#include "tree/walks.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// For walks with a `wide_box`.
template <std::size_t D, class BoxedWalk>
void wide_next_by_box(BoxedWalk& walk) {
  WideEight lower[D], upper[D];
  for (std::size_t k = 0; k < D; ++k) {
    lower[k] = WideEight::splat(walk.wide_box[k]);
    upper[k] = WideEight::splat(walk.wide_box[D + k]);
  }
  walk.found = 0;
  while (walk.depth > 0 && walk.found < kMostRows) {
    const BlockReader<D, WideEight> block(walk.memory, walk.stack[--walk.depth]);
    ++walk.visited;
    WideTests meet;
    for (std::size_t k = 0; k < D; ++k) {
      meet.at_most(lower[k], block.upper(k));
      meet.at_most(block.lower(k), upper[k]);
    }
    const std::uint32_t hits = meet.bits() & block.occupied(), rows = hits & block.rows();
    if (block.next() != kNoBlock) walk.stack[walk.depth++] = block.next();
    walk.depth += keep(block.child(), hits ^ rows, walk.stack + walk.depth);
    walk.found += keep(block.child(), rows, walk.rows + walk.found);
  }
}

template <std::size_t D>
void wide_next_by_distance(BallWalk& walk) {
  for (walk.found = 0; wants_more(walk);) {
    const std::int32_t at = walk.stack[--walk.depth];
    const float own_key = walk.key[walk.depth];
    if (own_key > walk.limit) continue;
    const BlockReader<D, WideEight> block(walk.memory, at);
    ++walk.visited;
    WideEight square = WideEight::splat(0);
    for (std::size_t k = 0; k < D; ++k) {
      const double center = walk.wide_center[k];
      const double *lower = block.numbers() + k * kLanes, *upper = block.numbers() + (D + k) * kLanes;
      for (std::size_t l = 0; l < kLanes; ++l) {
        const double before = lower[l] - center, behind = center - upper[l];
        double gap = before > behind ? before : behind;
        gap = gap > 0 ? gap : 0;  // also where infinities make it NaN
        square.at[l] += gap * gap;
      }
    }
    const Eight keys = keys_of(square);
    sort_out(walk, at, block, keys, at_most(keys, Eight::splat(walk.limit)), own_key);
  }
}

template <std::size_t D>
void wide_next_by_time(SweepWalk& walk) {
  // Half a dozen roundings of 2^-53 on either side.
  constexpr double kLonger = 1 + 1e-14;
  const double limit = number_of(walk.limit);
  for (walk.found = 0; wants_more(walk);) {
    const std::int32_t at = walk.stack[--walk.depth];
    const float own_key = walk.key[walk.depth];
    if (own_key > walk.limit) continue;
    const BlockReader<D, WideEight> block(walk.memory, at);
    ++walk.visited;
    WideEight enter = WideEight::splat(0), leave = WideEight::splat(limit);
    for (std::size_t k = 0; k < D; ++k) {
      const double low = walk.wide_box[k], high = walk.wide_box[D + k], inverse = walk.wide_inverse[k];
      const double *lower = block.numbers() + k * kLanes, *upper = block.numbers() + (D + k) * kLanes;
      for (std::size_t l = 0; l < kLanes; ++l) {
        const double one = (lower[l] - high) * inverse, other = (upper[l] - low) * inverse;
        const double first = one < other ? one : other, last = one < other ? other : one;
        enter.at[l] = first > enter.at[l] ? first : enter.at[l];
        leave.at[l] = last < leave.at[l] ? last : leave.at[l];
      }
    }
    WideTests within;
    for (std::size_t l = 0; l < kLanes; ++l) leave.at[l] *= kLonger;
    within.at_most(enter, leave);
    sort_out(walk, at, block, keys_of(enter), within.bits(), own_key);
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
