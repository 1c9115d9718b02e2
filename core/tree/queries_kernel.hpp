// The kernels of the walks in walks.hpp: eight boxes a step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/lanes.hpp"
#include "tree/walks.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// A block as a walk sees it.
template <std::size_t D>
class BlockReader {
 public:
  BlockReader(const float* memory, std::int32_t block) : block_(memory + static_cast<std::size_t>(block) * kWords) {}

  Eight lower(std::size_t axis) const { return Eight::load(block_ + axis * kLanes); }
  Eight upper(std::size_t axis) const { return Eight::load(block_ + (D + axis) * kLanes); }
  const std::int32_t* child() const { return words() + kChild; }
  std::uint32_t occupied() const { return static_cast<std::uint32_t>(words()[kOccupied]); }
  std::uint32_t rows() const { return static_cast<std::uint32_t>(words()[kRows]); }
  std::int32_t next() const { return words()[kNext]; }

  // Compile-time constants: calls of the layout's functions would be shared between instruction sets.
  static constexpr std::size_t kWords = BlockLayout{D}.words(), kChild = BlockLayout{D}.child(),
                               kOccupied = BlockLayout{D}.occupied(), kRows = BlockLayout{D}.rows(),
                               kNext = BlockLayout{D}.next();

 private:
  const std::int32_t* words() const { return reinterpret_cast<const std::int32_t*>(block_); }
  const float* block_;
};

// Rows and blocks are written unconditionally, then counted: a branch for each costs more.
template <std::size_t D>
void next_by_box(BoxWalk& walk) {
  Eight lower[D], upper[D];
  for (std::size_t k = 0; k < D; ++k) {
    lower[k] = Eight::splat(walk.box[k]);
    upper[k] = Eight::splat(walk.box[D + k]);
  }
  std::size_t depth = walk.depth, found = 0;
  while (depth > 0 && found < kMostRows) {
    // Which block comes next is known late. With several popped at once, the processor can prefetch the next ones.
    const std::size_t together = depth >= kHalfStack ? 1 : depth < kBlocksTogether ? depth : kBlocksTogether;
    std::int32_t at[kBlocksTogether];
    depth -= together;
    for (std::size_t k = 0; k < kBlocksTogether; ++k) at[k] = walk.stack[depth + k];
    walk.visited += together;
    for (std::size_t g = 0; g < together; ++g) {
      const BlockReader<D> block(walk.memory, at[g]);
      EightTests meet;
      for (std::size_t k = 0; k < D; ++k) {
        meet.at_most(lower[k], block.upper(k));
        meet.at_most(block.lower(k), upper[k]);
      }
      const std::uint32_t hits = meet.bits() & block.occupied(), rows = hits & block.rows();
      if (block.next() != kNoBlock) walk.stack[depth++] = block.next();
      depth += keep(block.child(), hits ^ rows, walk.stack + depth);
      found += keep(block.child(), rows, walk.rows + found);
    }
  }
  walk.depth = depth;
  walk.found = found;
}

// One step of an ordered walk, once the keys of a block's lanes are known: lanes within the limit are pushed, if wanted
// with the smallest key on top, or are returned.
template <std::size_t D>
void sort_out(OrderedWalk& walk, std::int32_t at, const BlockReader<D>& block, Eight keys, std::uint32_t hits,
              float own_key) {
  hits &= block.occupied();
  const std::uint32_t rows = hits & block.rows(), inner = hits ^ rows;
  if (block.next() != kNoBlock) {
    walk.key[walk.depth] = own_key;
    walk.stack[walk.depth++] = block.next();
  }
  if (walk.ordered) {
    keys.store(walk.lane_key);
    walk.block = at;
    walk.lanes = rows;
    walk.found = rows != 0 ? 1 : 0;
  } else {
    walk.found += keep(block.child(), rows, walk.rows + walk.found);
  }
  const std::size_t bottom = walk.depth;
  keep(keys, inner, walk.key + bottom);
  walk.depth += keep(block.child(), inner, walk.stack + bottom);
  if (!walk.ordered) return;
  for (std::size_t at = bottom + 1; at < walk.depth; ++at) {
    const float key = walk.key[at];
    const std::int32_t child = walk.stack[at];
    std::size_t place = at;
    for (; place > bottom && walk.key[place - 1] < key; --place) {
      walk.key[place] = walk.key[place - 1];
      walk.stack[place] = walk.stack[place - 1];
    }
    walk.key[place] = key;
    walk.stack[place] = child;
  }
}

// True if the walk has nothing to return yet and is not finished.
inline bool wants_more(const OrderedWalk& walk) {
  return walk.depth > 0 && walk.found < (walk.ordered ? 1 : kMostRows);
}

template <std::size_t D>
void next_by_distance(BallWalk& walk) {
  const Eight zero = Eight::splat(0.0F), limit = Eight::splat(walk.limit);
  Eight low[D], high[D];
  for (std::size_t k = 0; k < D; ++k) {
    low[k] = Eight::splat(walk.center[k]);
    high[k] = Eight::splat(walk.center[D + k]);
  }
  for (walk.found = 0; wants_more(walk);) {
    const std::int32_t at = walk.stack[--walk.depth];
    const float own_key = walk.key[walk.depth];
    if (own_key > walk.limit) continue;
    const BlockReader<D> block(walk.memory, at);
    ++walk.visited;
    Eight square = zero;
    for (std::size_t k = 0; k < D; ++k) {
      // Where infinities make the gap NaN, it counts as 0.
      const Eight gap = larger(larger(block.lower(k) - high[k], low[k] - block.upper(k)), zero);
      square = k == 0 ? gap * gap : square + gap * gap;
    }
    sort_out<D>(walk, at, block, square, at_most(square, limit), own_key);
  }
}

template <std::size_t D>
void next_by_time(SweepWalk& walk) {
  // Half a dozen roundings of 2^-24 on either side.
  constexpr float kLonger = 1.000001F;
  const Eight limit = Eight::splat(walk.limit);
  Eight low[D], high[D], inverse[D];
  for (std::size_t k = 0; k < D; ++k) {
    low[k] = Eight::splat(walk.box[k]);
    high[k] = Eight::splat(walk.box[D + k]);
    inverse[k] = Eight::splat(walk.inverse[k]);
  }
  for (walk.found = 0; wants_more(walk);) {
    const std::int32_t at = walk.stack[--walk.depth];
    const float own_key = walk.key[walk.depth];
    if (own_key > walk.limit) continue;
    const BlockReader<D> block(walk.memory, at);
    ++walk.visited;
    Eight enter = Eight::splat(0.0F), leave = limit;
    for (std::size_t k = 0; k < D; ++k) {
      const Eight one = (block.lower(k) - high[k]) * inverse[k], other = (block.upper(k) - low[k]) * inverse[k];
      enter = larger(smaller(one, other), enter);
      leave = smaller(larger(one, other), leave);
    }
    sort_out<D>(walk, at, block, enter, at_most(enter, leave * Eight::splat(kLonger)), own_key);
  }
}

template <std::size_t D>
void next_by_region(ConvexWalk& walk) {
  // Relative to the sum of the terms' magnitudes: more than all roundings of a sum of four products and of the boxes.
  constexpr float kRounding = 1e-6F, kLeast = 1e-30F;
  walk.found = walk.sure_found = 0;
  while (walk.depth > 0 && walk.found < kMostRows && walk.sure_found < kMostRows) {
    const BlockReader<D> block(walk.memory, walk.stack[--walk.depth]);
    ++walk.visited;
    EightTests meet, inside;
    Eight lower[D], upper[D], reach[D];
    for (std::size_t k = 0; k < D; ++k) {
      lower[k] = block.lower(k);
      upper[k] = block.upper(k);
      reach[k] = larger(absolute(lower[k]), absolute(upper[k]));
      meet.at_most(Eight::splat(walk.box[k]), upper[k]);
      meet.at_most(lower[k], Eight::splat(walk.box[D + k]));
      const Eight error = reach[k] * Eight::splat(kRounding) + Eight::splat(kLeast);
      inside.at_most(Eight::splat(walk.inner_box[k]), upper[k] - error);
      inside.at_most(lower[k] + error, Eight::splat(walk.inner_box[D + k]));
    }
    std::uint32_t hits = meet.bits() & block.occupied(), sure = hits & inside.bits() & block.rows();
    for (std::size_t slab = 0; slab < walk.count && hits != 0; ++slab) {
      Eight least = Eight::splat(0.0F), most = least, error = Eight::splat(kLeast);
      for (std::size_t k = 0; k < D; ++k) {
        const float a = walk.axes[slab * D + k];
        if (a == 0.0F) continue;  // infinite corners are ignored along this axis
        const Eight axis = Eight::splat(a);
        least = least + axis * (a > 0.0F ? lower[k] : upper[k]);
        most = most + axis * (a > 0.0F ? upper[k] : lower[k]);
        error = error + absolute(axis) * reach[k] * Eight::splat(kRounding);
      }
      // Not `at_most`: NaN stays a candidate, but is not sure.
      hits &= ~below(most + error, Eight::splat(walk.least[slab]));
      hits &= ~below(Eight::splat(walk.most[slab]), least - error);
      sure &= at_most(Eight::splat(walk.inner_least[slab]), most - error);
      sure &= at_most(least + error, Eight::splat(walk.inner_most[slab]));
    }
    const std::uint32_t rows = hits & block.rows();
    if (block.next() != kNoBlock) walk.stack[walk.depth++] = block.next();
    walk.depth += keep(block.child(), hits ^ rows, walk.stack + walk.depth);
    walk.found += keep(block.child(), rows & ~sure, walk.rows + walk.found);
    walk.sure_found += keep(block.child(), sure, walk.sure + walk.sure_found);
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
