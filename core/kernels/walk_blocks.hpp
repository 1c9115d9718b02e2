// The walks of walks.hpp: eight boxes a step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadphase/walks.hpp"
#include "eight_lanes.hpp"
#include "name_hits.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// A block as a walk sees it.
template <std::size_t D>
class BlockReader {
 public:
  BlockReader(const float* memory, std::int32_t block) : block_(memory + static_cast<std::size_t>(block) * kWords) {}

  Eight lower(std::size_t axis) const { return Eight::load(block_ + axis * kLanes); }
  Eight upper(std::size_t axis) const { return Eight::load(block_ + (D + axis) * kLanes); }
  std::int32_t child(std::uint32_t lane) const { return words()[kChild + lane]; }
  std::uint32_t occupied() const { return static_cast<std::uint32_t>(words()[kOccupied]); }
  std::uint32_t rows() const { return static_cast<std::uint32_t>(words()[kRows]); }
  std::int32_t next() const { return words()[kNext]; }

 private:
  // Known when this is compiled: functions of the layout would be shared between levels.
  static constexpr std::size_t kWords = BlockLayout{D}.words(), kChild = BlockLayout{D}.child(),
                               kOccupied = BlockLayout{D}.occupied(), kRows = BlockLayout{D}.rows(),
                               kNext = BlockLayout{D}.next();
  const std::int32_t* words() const { return reinterpret_cast<const std::int32_t*>(block_); }
  const float* block_;
};

template <std::size_t D>
bool next_by_box(BoxWalk& walk) {
  Eight lower[D], upper[D];
  for (std::size_t k = 0; k < D; ++k) {
    lower[k] = Eight::splat(walk.box[k]);
    upper[k] = Eight::splat(walk.box[D + k]);
  }
  std::size_t depth = walk.depth;
  while (depth > 0) {
    const std::int32_t at = walk.stack[--depth];
    const BlockReader<D> block(walk.memory, at);
    ++walk.visited;
    EightTests meet;
    for (std::size_t k = 0; k < D; ++k) {
      meet.at_most(lower[k], block.upper(k));
      meet.at_most(block.lower(k), upper[k]);
    }
    const std::uint32_t hits = meet.bits() & block.occupied(), rows = hits & block.rows();
    if (block.next() != kNoBlock) walk.stack[depth++] = block.next();
    for (std::uint32_t inner = hits ^ rows; inner != 0; inner &= inner - 1)
      walk.stack[depth++] = block.child(lowest_bit(inner));
    if (rows != 0) {
      walk.depth = depth;
      walk.block = at;
      walk.lanes = rows;
      return true;
    }
  }
  walk.depth = 0;
  return false;
}

// One step of an ordered walk, once the keys of a block's lanes are known: what is within the limit goes to the stack,
// if wanted with the least key uppermost, or is handed out. True if there are rows.
template <std::size_t D>
bool sort_out(OrderedWalk& walk, std::int32_t at, const BlockReader<D>& block, Eight keys, std::uint32_t hits,
              float own_key) {
  hits &= block.occupied();
  const std::uint32_t rows = hits & block.rows();
  keys.store(walk.lane_key);
  if (block.next() != kNoBlock) {
    walk.key[walk.depth] = own_key;
    walk.stack[walk.depth++] = block.next();
  }
  const std::size_t bottom = walk.depth;
  for (std::uint32_t inner = hits ^ rows; inner != 0; inner &= inner - 1) {
    const std::uint32_t lane = lowest_bit(inner);
    const float key = walk.lane_key[lane];
    std::size_t place = walk.depth++;
    if (walk.ordered)
      for (; place > bottom && walk.key[place - 1] < key; --place) {
        walk.key[place] = walk.key[place - 1];
        walk.stack[place] = walk.stack[place - 1];
      }
    walk.key[place] = key;
    walk.stack[place] = block.child(lane);
  }
  walk.block = at;
  walk.lanes = rows;
  return rows != 0;
}

template <std::size_t D>
bool next_by_distance(BallWalk& walk) {
  const Eight zero = Eight::splat(0.0F);
  Eight low[D], high[D];
  for (std::size_t k = 0; k < D; ++k) {
    low[k] = Eight::splat(walk.center[k]);
    high[k] = Eight::splat(walk.center[D + k]);
  }
  while (walk.depth > 0) {
    const std::int32_t at = walk.stack[--walk.depth];
    const float own_key = walk.key[walk.depth];
    if (own_key > walk.limit) continue;
    const BlockReader<D> block(walk.memory, at);
    ++walk.visited;
    Eight square = zero;
    for (std::size_t k = 0; k < D; ++k) {
      // Where infinities make NaN of a gap, it counts as none.
      const Eight gap = larger(larger(block.lower(k) - high[k], low[k] - block.upper(k)), zero);
      square = k == 0 ? gap * gap : square + gap * gap;
    }
    const std::uint32_t hits = at_most(square, Eight::splat(walk.limit));
    if (sort_out<D>(walk, at, block, square, hits, own_key)) return true;
  }
  return false;
}

template <std::size_t D>
bool next_by_time(SweepWalk& walk) {
  // Half a dozen roundings of 2^-24 each, on either side.
  constexpr float kLonger = 1.000001F;
  Eight low[D], high[D], inverse[D];
  for (std::size_t k = 0; k < D; ++k) {
    low[k] = Eight::splat(walk.box[k]);
    high[k] = Eight::splat(walk.box[D + k]);
    inverse[k] = Eight::splat(walk.inverse[k]);
  }
  while (walk.depth > 0) {
    const std::int32_t at = walk.stack[--walk.depth];
    const float own_key = walk.key[walk.depth];
    if (own_key > walk.limit) continue;
    const BlockReader<D> block(walk.memory, at);
    ++walk.visited;
    Eight enter = Eight::splat(0.0F), leave = Eight::splat(walk.limit);
    for (std::size_t k = 0; k < D; ++k) {
      const Eight one = (block.lower(k) - high[k]) * inverse[k], other = (block.upper(k) - low[k]) * inverse[k];
      enter = larger(smaller(one, other), enter);
      leave = smaller(larger(one, other), leave);
    }
    const std::uint32_t hits = at_most(enter, leave * Eight::splat(kLonger));
    if (sort_out<D>(walk, at, block, enter, hits, own_key)) return true;
  }
  return false;
}

template <std::size_t D>
bool next_by_region(ConvexWalk& walk) {
  // Of the sum of the terms' magnitudes: more than all roundings of a sum of four products.
  constexpr float kRounding = 1e-6F;
  while (walk.depth > 0) {
    const std::int32_t at = walk.stack[--walk.depth];
    const BlockReader<D> block(walk.memory, at);
    ++walk.visited;
    EightTests meet;
    Eight lower[D], upper[D], reach[D];
    for (std::size_t k = 0; k < D; ++k) {
      lower[k] = block.lower(k);
      upper[k] = block.upper(k);
      meet.at_most(Eight::splat(walk.box[k]), upper[k]);
      meet.at_most(lower[k], Eight::splat(walk.box[D + k]));
      reach[k] = larger(absolute(lower[k]), absolute(upper[k]));
    }
    std::uint32_t hits = meet.bits() & block.occupied();
    for (std::size_t slab = 0; slab < walk.count && hits != 0; ++slab) {
      Eight least = Eight::splat(0.0F), most = least, error = least;
      for (std::size_t k = 0; k < D; ++k) {
        const float a = walk.axes[slab * D + k];
        if (a == 0.0F) continue;  // infinite corners do not count here
        const Eight axis = Eight::splat(a);
        least = least + axis * (a > 0.0F ? lower[k] : upper[k]);
        most = most + axis * (a > 0.0F ? upper[k] : lower[k]);
        error = error + absolute(axis) * reach[k];
      }
      error = error * Eight::splat(kRounding);
      // Not "at most": what is NaN stays in.
      hits &= ~below(most + error, Eight::splat(walk.least[slab]));
      hits &= ~below(Eight::splat(walk.most[slab]), least - error);
    }
    const std::uint32_t rows = hits & block.rows();
    if (block.next() != kNoBlock) walk.stack[walk.depth++] = block.next();
    for (std::uint32_t inner = hits ^ rows; inner != 0; inner &= inner - 1)
      walk.stack[walk.depth++] = block.child(lowest_bit(inner));
    if (rows != 0) {
      walk.block = at;
      walk.lanes = rows;
      return true;
    }
  }
  return false;
}

}  // namespace broadphase::BROADPHASE_LEVEL
