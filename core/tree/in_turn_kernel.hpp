// The kernel of several sweeps that take turns: see in_turn.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/lanes.hpp"
#include "tree/in_turn.hpp"
#include "tree/queries_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// A row is touched surely where it is in spite of all roundings. Takes rows that may be touched to the candidates, and
// lowers the limit.
template <std::size_t D>
void take_touched(SweepInTurn& sweep, const BlockReader<D>& block, float rough, Eight keys, std::uint32_t rows) {
  constexpr float kMore = 1.000004F, kLess = 0.999996F;
  if (sweep.found > SweepInTurn::kRoom) {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < sweep.found; ++at) {
      sweep.rows[kept] = sweep.rows[at];
      sweep.row_key[kept] = sweep.row_key[at];
      kept += sweep.row_key[at] <= sweep.limit ? 1 : 0;
    }
    sweep.found = kept;
    sweep.crowded = kept > SweepInTurn::kRoom;
    if (sweep.crowded) sweep.depth = sweep.found = 0;
    if (sweep.crowded) return;
  }
  keep(keys, rows, sweep.row_key + sweep.found);
  sweep.found += keep(block.child(), rows, sweep.rows + sweep.found);
  // As in finish_sweep(): a time that is NaN counts for nothing.
  Eight enter = Eight::splat(0.0F), leave = Eight::splat(sweep.limit);
  for (std::size_t k = 0; k < D; ++k) {
    const Eight inverse = Eight::splat(sweep.inverse[k]);
    Eight near = block.eight(sweep.near[k]), far = block.eight(sweep.far[k]);
    if (rough > 0) {
      const Eight inwards = Eight::splat(sweep.inverse[k] > 0 ? rough : -rough);
      near = near + absolute(near) * inwards;
      far = far - absolute(far) * inwards;
    }
    const Eight first = (near - Eight::splat(sweep.inner_front[k])) * inverse,
                last = (far - Eight::splat(sweep.inner_rear[k])) * inverse;
    const Eight later = larger(first * Eight::splat(kMore), first * Eight::splat(kLess)),
                earlier = smaller(last * Eight::splat(kMore), last * Eight::splat(kLess));
    enter = larger(later, enter);
    leave = smaller(earlier, leave);
  }
  float time[kLanes], limit = sweep.limit;
  enter.store(time);
  for (std::uint32_t sure = at_most(enter, leave) & rows; sure != 0; sure &= sure - 1) {
    const float touched = time[lowest_bit(sure)];
    limit = touched < limit ? touched : limit;
  }
  if (limit == sweep.limit) return;
  sweep.limit = limit;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < sweep.depth; at += kLanes) {
    const std::size_t left = sweep.depth - at;
    const Eight key = Eight::read(sweep.key + at);
    const std::uint32_t within = at_most(key, Eight::splat(limit)) & (left < kLanes ? (1u << left) - 1u : 0xffu);
    std::int32_t blocks[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) blocks[l] = sweep.stack[at + l];
    keep(key, within, sweep.key + kept);
    for (std::uint32_t bits = within; bits != 0; bits &= bits - 1) sweep.stack[kept++] = blocks[lowest_bit(bits)];
  }
  sweep.depth = kept;
}

// Goes on until one of the sweeps has been to all blocks within its limit; returns which. None of them may have an
// empty stack before.
template <std::size_t D>
std::size_t finish_sweep(SweepsInTurn& all) {
  constexpr float kLonger = 1.000002F;
  constexpr std::size_t kLine = 16;  // floats
  for (;; all.turn = all.turn + 1 < all.count ? all.turn + 1 : 0) {
    const std::size_t number = all.active[all.turn];
    SweepInTurn& sweep = all.sweep[number];
    const float own_key = sweep.key[--sweep.depth];
    const BlockReader<D> block(all.memory, sweep.stack[sweep.depth]);
    ++all.visited;
    // As next_by_time().
    Eight enter = Eight::splat(0.0F), leave = Eight::splat(sweep.limit);
    for (std::size_t k = 0; k < D; ++k) {
      const Eight inverse = Eight::splat(sweep.inverse[k]);
      enter = larger((block.eight(sweep.near[k]) - Eight::splat(sweep.front[k])) * inverse, enter);
      leave = smaller((block.eight(sweep.far[k]) - Eight::splat(sweep.rear[k])) * inverse, leave);
    }
    EightTests within;
    within.at_most(enter, leave * Eight::splat(kLonger));
    const std::uint32_t hits = within.bits() & block.occupied(), rows = hits & block.rows();
    if (block.next() != kNoBlock) {
      sweep.key[sweep.depth] = own_key;
      sweep.stack[sweep.depth++] = block.next();
    }
    // Without a branch for each block: in a walk by itself, a wrong guess now and then costs less.
    float* key = sweep.key + sweep.depth;
    std::int32_t* stack = sweep.stack + sweep.depth;
    std::size_t pushed = 0;
    if (!keep_few_in_order(enter, block.child(), hits ^ rows, key, stack, pushed))
      pushed = push_in_order(enter, block.child(), hits ^ rows, key, stack);
    sweep.depth += pushed;
    if (rows != 0) take_touched<D>(sweep, block, all.rough, enter, rows);
    if (sweep.depth == 0) return number;
    const BlockReader<D> following(all.memory, sweep.stack[sweep.depth - 1]);
    for (std::size_t word = 0; word < BlockReader<D>::kWords; word += kLine) prefetch(following.memory() + word);
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
