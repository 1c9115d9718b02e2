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

// Puts the block with the smallest key on top of the stack. Where scales nest, blocks overlap, and a crowd that is tiny
// beside the distance lies at one and the same distance: it must wait until the limit is as low as can be. Only up to
// half of the stack; beyond, the walk goes on depth first, which keeps the bound.
inline void bring_nearest(OrderedWalk& walk) {
  constexpr std::size_t kMost = 64;  // looked at: deeper stacks take longer to search than is gained
  if (!walk.ordered || walk.depth >= kHalfStack) return;
  const std::size_t end = walk.depth > kMost ? walk.depth - kMost : 0;
  std::size_t nearest = walk.depth - 1;
  for (std::size_t at = nearest; at-- > end;) nearest = walk.key[at] < walk.key[nearest] ? at : nearest;
  const float key = walk.key[nearest];
  const std::int32_t block = walk.stack[nearest];
  walk.key[nearest] = walk.key[walk.depth - 1];
  walk.stack[nearest] = walk.stack[walk.depth - 1];
  walk.key[walk.depth - 1] = key;
  walk.stack[walk.depth - 1] = block;
}

// Drops the blocks on the stack beyond the limit, which the caller lowers from call to call: the nearest is then found
// among fewer.
inline void drop_far(OrderedWalk& walk) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < walk.depth; ++at) {
    const float key = walk.key[at];
    walk.key[kept] = key;
    walk.stack[kept] = walk.stack[at];
    kept += key <= walk.limit ? 1 : 0;
  }
  walk.depth = kept;
}

template <std::size_t D>
void wide_next_by_distance(BallWalk& walk) {
  const WideEight zero = WideEight::splat(0);
  const Eight limit = Eight::splat(walk.limit);
  WideEight center[D];
  for (std::size_t k = 0; k < D; ++k) center[k] = WideEight::splat(walk.wide_center[k]);
  if (walk.ordered) drop_far(walk);
  for (walk.found = 0; wants_more(walk);) {
    bring_nearest(walk);
    const std::int32_t at = walk.stack[--walk.depth];
    const float own_key = walk.key[walk.depth];
    if (own_key > walk.limit) continue;
    const BlockReader<D, WideEight> block(walk.memory, at);
    ++walk.visited;
    WideEight square = zero;
    for (std::size_t k = 0; k < D; ++k) {
      // Where infinities make the gap NaN, it counts as 0.
      const WideEight gap = larger(larger(block.lower(k) - center[k], center[k] - block.upper(k)), zero);
      square = k == 0 ? gap * gap : square + gap * gap;
    }
    const Eight keys = keys_of(square);
    sort_out(walk, at, block, keys, at_most(keys, limit), own_key);
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
