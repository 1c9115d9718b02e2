// The kernel of several interleaved sweeps: see interleaved.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/lanes.hpp"
#include "tree/interleaved.hpp"
#include "tree/queries_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// The lanes that are touched in spite of all roundings, and up to this time; and a time by which each surely is.
template <std::size_t D>
std::uint32_t touched_surely(const InterleavedMotion& motion, const BlockReader<D>& block, float limit, Eight& enter) {
  constexpr float kMore = 1.000004F, kLess = 0.999996F;
  // As in lanes_on_motion(): a time that is NaN counts for nothing.
  Eight leave = Eight::splat(limit);
  enter = Eight::splat(0.0F);
  for (std::size_t k = 0; k < D; ++k) {
    const Eight inverse = Eight::splat(motion.inverse[k]);
    Eight near = block.eight(motion.near[k]), far = block.eight(motion.far[k]);
    if (motion.rough > 0) {
      const Eight inwards = Eight::splat(motion.inverse[k] > 0 ? motion.rough : -motion.rough);
      near = near + absolute(near) * inwards;
      far = far - absolute(far) * inwards;
    }
    const Eight first = (near - Eight::splat(motion.inner_front[k])) * inverse,
                last = (far - Eight::splat(motion.inner_rear[k])) * inverse;
    const Eight later = larger(first * Eight::splat(kMore), first * Eight::splat(kLess)),
                earlier = smaller(last * Eight::splat(kMore), last * Eight::splat(kLess));
    enter = raised(later, enter);
    leave = lowered(earlier, leave);
  }
  return at_most(enter, leave);
}

// The lanes that may be touched within the limit, and when.
template <std::size_t D>
std::uint32_t lanes_on_motion(const InterleavedMotion& motion, const BlockReader<D>& block, Eight& enter) {
  constexpr float kLonger = 1.000002F;
  // As next_by_time().
  Eight leave = Eight::splat(motion.limit);
  enter = Eight::splat(0.0F);
  for (std::size_t k = 0; k < D; ++k) {
    const Eight inverse = Eight::splat(motion.inverse[k]);
    enter = raised((block.eight(motion.near[k]) - Eight::splat(motion.front[k])) * inverse, enter);
    leave = lowered((block.eight(motion.far[k]) - Eight::splat(motion.rear[k])) * inverse, leave);
  }
  EightTests within;
  within.at_most(enter, leave * Eight::splat(kLonger));
  return within.bits() & block.occupied();
}

template <std::size_t D>
void prefetch_block(const float* memory, std::int32_t number) {
  constexpr std::size_t kLine = 16;  // floats
  const BlockReader<D> block(memory, number);
  for (std::size_t word = 0; word < BlockReader<D>::kWords; word += kLine) prefetch(block.memory() + word);
}

// The lanes whose rows are not ignored.
inline std::uint32_t lanes_not_ignored(const InterleavedSweep& sweep, const void* children, std::uint32_t rows) {
  std::uint32_t kept = rows;
  for (std::uint32_t left = rows; left != 0; left &= left - 1) {
    const std::uint32_t lane = lowest_bit(left);
    for (std::size_t at = 0; at < sweep.ignored_count; ++at)
      if (sweep.ignored[at] == word_at(children, lane)) kept &= ~(1u << lane);
  }
  return kept;
}

// Adds rows to the candidates. False if there are too many: then the motion has ended.
template <std::size_t D, class Motion>
bool add_candidates(Motion& motion, const BlockReader<D>& block, Eight keys, std::uint32_t rows) {
  if (motion.found > Motion::kRoom) {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < motion.found; ++at) {
      motion.rows[kept] = motion.rows[at];
      motion.row_key[kept] = motion.row_key[at];
      kept += motion.row_key[at] <= motion.limit ? 1 : 0;
    }
    motion.found = kept;
    motion.crowded = kept > Motion::kRoom;
    if (motion.crowded) motion.depth = motion.found = 0;
    if (motion.crowded) return false;
  }
  keep(keys, rows, motion.row_key + motion.found);
  motion.found += keep(block.children(), rows, motion.rows + motion.found);
  return true;
}

// Takes rows that may be touched to the candidates, and lowers the limit.
template <std::size_t D>
void take_touched(InterleavedSweep& sweep, const BlockReader<D>& block, Eight keys, std::uint32_t rows) {
  if (!add_candidates(sweep, block, keys, rows)) return;
  Eight enter;
  std::uint32_t surely = touched_surely<D>(sweep, block, sweep.limit, enter) & rows;
  float time[kLanes], limit = sweep.limit;
  enter.store(time);
  for (; surely != 0; surely &= surely - 1) {
    const float touched = time[lowest_bit(surely)];
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

// Pushes the block that goes on with this one's lanes, and what is below some of them, the nearest last.
template <std::size_t D, class Motion>
void push_below(Motion& motion, const BlockReader<D>& block, float own_key, Eight enter, std::uint32_t lanes) {
  if (block.next() != kNoBlock) {
    motion.key[motion.depth] = own_key;
    motion.stack[motion.depth++] = block.next();
  }
  // Without a branch for each block: in a walk by itself, a wrong guess now and then costs less.
  float* key = motion.key + motion.depth;
  std::int32_t* stack = motion.stack + motion.depth;
  std::size_t pushed = 0;
  if (!keep_few_in_order(enter, block.children(), lanes, key, stack, pushed))
    pushed = push_in_order(enter, block.children(), lanes, key, stack);
  motion.depth += pushed;
}

template <std::size_t D>
std::size_t finish_sweep(Interleaved<InterleavedSweep>& all) {
  for (;; all.next = all.next + 1 < all.count ? all.next + 1 : 0) {
    const std::size_t number = all.active[all.next];
    InterleavedSweep& sweep = all.motion[number];
    const float own_key = sweep.key[--sweep.depth];
    const BlockReader<D> block(sweep.memory, sweep.stack[sweep.depth]);
    ++all.visited;
    Eight enter;
    const std::uint32_t hits = lanes_on_motion<D>(sweep, block, enter), rows = hits & block.rows();
    push_below<D>(sweep, block, own_key, enter, hits ^ rows);
    if (rows != 0) {
      const std::uint32_t taken = sweep.ignored_count == 0 ? rows : lanes_not_ignored(sweep, block.children(), rows);
      if (taken != 0) take_touched<D>(sweep, block, enter, taken);
    }
    if (sweep.depth == 0) return number;
    prefetch_block<D>(sweep.memory, sweep.stack[sweep.depth - 1]);
  }
}

// Takes rows that may be among the nearest to the candidates, and lowers the limit.
template <std::size_t D>
void take_near(InterleavedNear& near, const BlockReader<D>& block, Eight keys, std::uint32_t rows) {
  if (!add_candidates(near, block, keys, rows)) return;
  float key[kLanes];
  keys.store(key);
  // What is in order stays so if each number is put in the place of a larger one behind it.
  Eight best = Eight::read(near.best);
  if (near.wanted <= kLanes) {
    for (; rows != 0; rows &= rows - 1) {
      const Eight own = Eight::splat(key[lowest_bit(rows)]);
      best = smaller(best, larger(moved_up(best, 0.0F), own));
    }
  } else {
    Eight behind = Eight::read(near.best + kLanes);
    for (; rows != 0; rows &= rows - 1) {
      const Eight own = Eight::splat(key[lowest_bit(rows)]);
      best.store(near.best);
      behind = smaller(behind, larger(moved_up(behind, near.best[kLanes - 1]), own));
      best = smaller(best, larger(moved_up(best, 0.0F), own));
    }
    behind.store(near.best + kLanes);
  }
  best.store(near.best);
  const std::size_t last = near.wanted - 1;
  const float limit = near.best[last] * near.factor + near.rest;
  near.limit = limit < near.limit ? limit : near.limit;
}

// As push_below(): only the nearest has its place, the last one. The others are hardly ever visited before the limit is
// near its end.
template <std::size_t D>
void push_nearest_last(InterleavedNear& near, const BlockReader<D>& block, float own_key, Eight keys,
                       std::uint32_t lanes) {
  if (block.next() != kNoBlock) {
    near.key[near.depth] = own_key;
    near.stack[near.depth++] = block.next();
  }
  float* key = near.key + near.depth;
  std::int32_t* stack = near.stack + near.depth;
  std::size_t pushed = 0;
  if (!keep_few_in_order(keys, block.children(), lanes, key, stack, pushed)) {
    keep(keys, lanes, key);
    pushed = keep(block.children(), lanes, stack);
    std::size_t nearest = 0;
    for (std::size_t at = 1; at < pushed; ++at) nearest = key[at] < key[nearest] ? at : nearest;
    const float least = key[nearest];
    const std::int32_t first = stack[nearest];
    const std::size_t last = pushed > 0 ? pushed - 1 : 0;
    key[nearest] = key[last];
    stack[nearest] = stack[last];
    key[last] = least;
    stack[last] = first;
  }
  near.depth += pushed;
}

template <std::size_t D>
std::size_t finish_near(Interleaved<InterleavedNear>& all) {
  const Eight zero = Eight::splat(0.0F);
  for (;; all.next = all.next + 1 < all.count ? all.next + 1 : 0) {
    const std::size_t number = all.active[all.next];
    InterleavedNear& near = all.motion[number];
    const float own_key = near.key[--near.depth];
    const BlockReader<D> block(near.memory, near.stack[near.depth]);
    ++all.visited;
    Eight square = zero;
    for (std::size_t k = 0; k < D; ++k) {
      // As in collect_near().
      const Eight gap =
          larger(larger(block.lower(k) - Eight::splat(near.high[k]), Eight::splat(near.low[k]) - block.upper(k)), zero);
      square =
          k == 0 ? gap * (gap + Eight::splat(near.outside[k])) : square + gap * (gap + Eight::splat(near.outside[k]));
    }
    const std::uint32_t hits = at_most(square, Eight::splat(near.limit)) & block.occupied(), rows = hits & block.rows();
    push_nearest_last<D>(near, block, own_key, square, hits ^ rows);
    if (rows != 0) take_near<D>(near, block, square, rows);
    while (near.depth > 0 && near.key[near.depth - 1] > near.limit) --near.depth;
    if (near.depth == 0) return number;
    prefetch_block<D>(near.memory, near.stack[near.depth - 1]);
  }
}

template <std::size_t D>
std::size_t find_touched(Interleaved<InterleavedTouch>& all) {
  for (;; all.next = all.next + 1 < all.count ? all.next + 1 : 0) {
    const std::size_t number = all.active[all.next];
    InterleavedTouch& motion = all.motion[number];
    const BlockReader<D> block(motion.memory, motion.stack[--motion.depth]);
    ++all.visited;
    Eight enter;
    const std::uint32_t hits = lanes_on_motion<D>(motion, block, enter), rows = hits & block.rows();
    if (block.next() != kNoBlock) motion.stack[motion.depth++] = block.next();
    motion.depth += keep(block.children(), hits ^ rows, motion.stack + motion.depth);
    if (motion.depth > 0) prefetch_block<D>(motion.memory, motion.stack[motion.depth - 1]);
    if (rows != 0) {
      const std::uint32_t surely = touched_surely<D>(motion, block, motion.sure_limit, enter) & rows;
      motion.sure = 0;
      for (std::uint32_t left = rows; left != 0; left &= left - 1, ++motion.found) {
        const std::uint32_t lane = lowest_bit(left);
        motion.sure |= (surely >> lane & 1u) << motion.found;
        motion.rows[motion.found] = block.child(lane);
      }
      return number;
    }
    if (motion.depth == 0) return number;
  }
}

template <std::size_t D>
std::size_t find_on_ray(Interleaved<InterleavedVisit>& all) {
  for (;; all.next = all.next + 1 < all.count ? all.next + 1 : 0) {
    const std::size_t number = all.active[all.next];
    InterleavedVisit& ray = all.motion[number];
    if (ray.found > 0) return number;  // not tested yet
    // The limit may have been lowered since these were put there.
    while (ray.depth > 0 && ray.key[ray.depth - 1] > ray.limit) --ray.depth;
    if (ray.depth == 0) return number;
    const float own_key = ray.key[--ray.depth];
    const BlockReader<D> block(ray.memory, ray.stack[ray.depth]);
    ++all.visited;
    Eight enter;
    const std::uint32_t hits = lanes_on_motion<D>(ray, block, enter), rows = hits & block.rows();
    push_below<D>(ray, block, own_key, enter, hits ^ rows);
    if (ray.depth > 0) prefetch_block<D>(ray.memory, ray.stack[ray.depth - 1]);
    if (rows != 0) {
      ray.found = push_in_order(enter, block.children(), rows, ray.row_key, ray.rows);
      return number;
    }
    if (ray.depth == 0) return number;
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
