// The kernels of the walks in walks.hpp: eight boxes a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simd/lanes.hpp"
#include "tree/walks.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// The keys of a walk, see OrderedWalk. In a wide tree: of numbers that are not negative, rounded down; infinity from
// 2^1017 on.
inline Eight keys_of(const Eight& numbers) { return numbers; }
inline Eight keys_of(const WideEight& numbers) { return upper_halves(numbers, 0x7f800000); }
// The least number with this key; infinity for infinity.
inline double number_of(float key) {
  std::uint32_t upper;
  std::memcpy(&upper, &key, sizeof upper);
  const std::uint64_t bits = std::uint64_t{upper == 0x7f800000u ? 0x7ff00000u : upper} << 32;
  double number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

// The numbers that eight lanes hold, and tests of them; the numbers of a moving box, its motion and its limit, and a
// factor of more than half a dozen roundings.
template <class E>
struct NumbersOf {
  using Type = float;
  using Tests = EightTests;
  static constexpr float kLonger = 1.000001F;
  static const float* box(const auto& walk) { return walk.box; }
  // The point of a ball, rounded down and up along each axis.
  static const float* low_center(const BallWalk& walk, std::size_t) { return walk.center; }
  static const float* high_center(const BallWalk& walk, std::size_t dimension) { return walk.center + dimension; }
  static const float* outside(const NearWalk& walk) { return walk.outside; }
  static const float* inverse(const SweepWalk& walk) { return walk.inverse; }
  static float limit(const SweepWalk& walk) { return walk.limit; }
};
template <>
struct NumbersOf<WideEight> {
  using Type = double;
  using Tests = WideTests;
  static constexpr double kLonger = 1 + 1e-14;
  static const double* box(const auto& walk) { return walk.wide_box; }
  static const double* low_center(const BallWalk& walk, std::size_t) { return walk.wide_center; }
  static const double* high_center(const BallWalk& walk, std::size_t) { return walk.wide_center; }
  static const double* outside(const NearWalk& walk) { return walk.wide_outside; }
  static const double* inverse(const SweepWalk& walk) { return walk.wide_inverse; }
  static double limit(const SweepWalk& walk) { return number_of(walk.limit); }
};

// Word k from some place in a block on. The memory of blocks is one of floats: no float is read as another type, its
// bits are copied.
inline std::int32_t word_at(const void* place, std::size_t k) {
  std::int32_t word;
  std::memcpy(&word, static_cast<const unsigned char*>(place) + k * sizeof word, sizeof word);
  return word;
}

// A block as a walk sees it. E: Eight, or WideEight where the tree is wide.
template <std::size_t D, class E = Eight>
class BlockReader {
 public:
  using Number = typename NumbersOf<E>::Type;
  using Tests = typename NumbersOf<E>::Tests;

  BlockReader(const float* memory, std::int32_t block) : block_(memory + static_cast<std::size_t>(block) * kWords) {}

  const float* memory() const { return block_; }
  // One of the numbers of all lanes and axes in the memory of a block, and eight of them.
  static Number number_at(const float* memory, std::size_t offset) {
    if constexpr (std::is_same_v<Number, float>) {
      return memory[offset];
    } else {
      Number number;
      std::memcpy(&number, memory + offset * kWordsOfNumber, sizeof number);
      return number;
    }
  }
  E eight(std::size_t offset) const { return E::load(block_ + offset * kWordsOfNumber); }
  E lower(std::size_t axis) const { return eight(axis * kLanes); }
  E upper(std::size_t axis) const { return eight((D + axis) * kLanes); }
  const void* children() const { return block_ + kChild; }  // eight words
  std::int32_t child(std::size_t lane) const { return word_at(block_, kChild + lane); }
  std::uint32_t occupied() const { return static_cast<std::uint32_t>(word_at(block_, kOccupied)); }
  std::uint32_t rows() const { return static_cast<std::uint32_t>(word_at(block_, kRows)); }
  std::int32_t next() const { return word_at(block_, kNext); }

  // Compile-time constants: calls of the layout's functions would be shared between instruction sets.
  static constexpr std::size_t kWordsOfNumber = sizeof(Number) / sizeof(float);
  static constexpr BlockLayout kLayout{D, kWordsOfNumber == 2};
  static constexpr std::size_t kWords = kLayout.words(), kChild = kLayout.child(), kOccupied = kLayout.occupied(),
                               kRows = kLayout.rows(), kNext = kLayout.next();

 private:
  const float* block_;
};

// A block with rows whose boxes meet that of a walk.
struct RowsOfBlock {
  std::int32_t block;
  std::uint32_t rows;
};

// Of such rows, tells apart those that surely meet the box.
template <std::size_t D>
void part_sure_rows(BoxWalk& walk, const RowsOfBlock* blocks, std::size_t count) {
  Eight lower[D], upper[D];
  for (std::size_t k = 0; k < D; ++k) {
    lower[k] = Eight::splat(walk.inner_box[k]);
    upper[k] = Eight::splat(walk.inner_box[D + k]);
  }
  std::size_t found = 0, sure_found = 0;
  for (std::size_t at = 0; at < count; ++at) {
    const BlockReader<D> block(walk.memory, blocks[at].block);
    EightTests reach;
    for (std::size_t k = 0; k < D; ++k) {
      reach.at_most(lower[k], block.upper(k));
      reach.at_most(block.lower(k), upper[k]);
    }
    const std::uint32_t rows = blocks[at].rows, sure = rows & reach.bits();
    sure_found += keep(block.children(), sure, walk.sure + sure_found);
    found += keep(block.children(), rows ^ sure, walk.rows + found);
  }
  walk.found = found;
  walk.sure_found = sure_found;
}

// Rows and blocks are written unconditionally, then counted: a branch for each costs more. `Surely`: rows that surely
// meet the box are told apart, once the walk is done: most blocks have none that meet it.
template <std::size_t D, class E, class BoxedWalk, bool Surely = false>
void next_by_box(BoxedWalk& walk) {
  const auto* box = NumbersOf<E>::box(walk);
  E lower[D], upper[D];
  for (std::size_t k = 0; k < D; ++k) {
    lower[k] = E::splat(box[k]);
    upper[k] = E::splat(box[D + k]);
  }
  RowsOfBlock with_rows[Surely ? kMostRows + kBlocksTogether : 1];
  std::size_t depth = walk.depth, found = 0, found_in = 0;
  while (depth > 0 && found < kMostRows) {
    // Which block comes next is known late. With several popped at once, the processor can prefetch the next ones.
    const bool is_deep = depth >= kHalfStack;
    const std::size_t together = is_deep ? 1 : depth < kBlocksTogether ? depth : kBlocksTogether;
    std::int32_t at[kBlocksTogether] = {};
    depth -= together;
    if (is_deep)
      at[0] = walk.stack[depth];
    else
      for (std::size_t k = 0; k < kBlocksTogether; ++k) at[k] = walk.stack[depth + k];
    walk.visited += together;
    for (std::size_t g = 0; g < together; ++g) {
      const BlockReader<D, E> block(walk.memory, at[g]);
      typename NumbersOf<E>::Tests meet;
      for (std::size_t k = 0; k < D; ++k) {
        meet.at_most(lower[k], block.upper(k));
        meet.at_most(block.lower(k), upper[k]);
      }
      const std::uint32_t hits = meet.bits() & block.occupied(), rows = hits & block.rows();
      if (block.next() != kNoBlock) walk.stack[depth++] = block.next();
      depth += keep(block.children(), hits ^ rows, walk.stack + depth);
      if constexpr (Surely) {
        with_rows[found_in] = {at[g], rows};
        found_in += rows != 0;
        found += bit_count(rows);
      } else {
        found += keep(block.children(), rows, walk.rows + found);
      }
    }
  }
  walk.depth = depth;
  walk.found = found;
  if constexpr (Surely) part_sure_rows<D>(walk, with_rows, found_in);
}
template <std::size_t D>
void next_surely_by_box(BoxWalk& walk) {
  next_by_box<D, Eight, BoxWalk, true>(walk);
}

// Puts the children of the lanes set in `lanes` on a stack, those with the smallest keys on top, and returns how many.
inline std::size_t push_in_order(Eight keys, const void* children, std::uint32_t lanes, float* key,
                                 std::int32_t* stack) {
  keep(keys, lanes, key);
  const std::size_t count = keep(children, lanes, stack);
  for (std::size_t at = 1; at < count; ++at) {
    const float own = key[at];
    const std::int32_t block = stack[at];
    std::size_t place = at;
    for (; place > 0 && key[place - 1] < own; --place) {
      key[place] = key[place - 1];
      stack[place] = stack[place - 1];
    }
    key[place] = own;
    stack[place] = block;
  }
  return count;
}

// Whether no row below a block comes before the last one wanted. In the order of operations that rows are tested in,
// each of which is monotonic, also when it rounds.
inline bool comes_after(const Ties& ties, const ExactBound& bound, double least) {
  return least > ties.last || (least == ties.last && bound.least_row >= ties.last_row);
}
inline bool has_no_better(const BallWalk& walk, const ExactBound& bound) {
  double square = 0;
  for (std::size_t k = 0; k < walk.ties.dimension; ++k) {
    const double before = bound.box[k] - walk.wide_center[k],
                 behind = walk.wide_center[k] - bound.box[walk.ties.dimension + k];
    double gap = before > behind ? before : behind;
    gap = gap > 0 ? gap : 0;
    square = k == 0 ? gap * gap : square + gap * gap;
  }
  return comes_after(walk.ties, bound, square);
}
inline bool has_no_better(const SweepWalk& walk, const ExactBound& bound) {
  double enter = 0;
  for (std::size_t k = 0; k < walk.ties.dimension; ++k) {
    if (walk.ties.motion[k] == 0) continue;
    const double way = walk.ties.motion[k] > 0 ? bound.box[k] - walk.ties.given_box[walk.ties.dimension + k]
                                               : bound.box[walk.ties.dimension + k] - walk.ties.given_box[k];
    const double time = way / walk.ties.motion[k];
    enter = time > enter ? time : enter;
  }
  return comes_after(walk.ties, bound, enter);
}
// Of blocks on the stack from `bottom` on, whose keys descend, those with equal keys so that the least row is on top.
inline void order_ties(OrderedWalk& walk, const ExactBound* bounds, std::size_t bottom) {
  for (std::size_t at = bottom + 1; at < walk.depth; ++at) {
    const float own = walk.key[at];
    if (walk.key[at - 1] != own) continue;
    const std::int32_t block = walk.stack[at], row = bounds[block].least_row;
    std::size_t place = at;
    for (; place > bottom && walk.key[place - 1] == own && bounds[walk.stack[place - 1]].least_row < row; --place)
      walk.stack[place] = walk.stack[place - 1];
    walk.stack[place] = block;
  }
}

// One step of an ordered walk, once the keys of a block's lanes are known: lanes within the limit are pushed, if wanted
// with the smallest key on top, or are returned. `static`, and for one kind of walk: compilers inline what has one
// caller, and the registers of the loop around it stay where they are.
template <bool ByRow, class AWalk, class Block>
static void sort_out(AWalk& walk, std::int32_t at, const Block& block, Eight keys, std::uint32_t hits, float own_key) {
  hits &= block.occupied();
  const std::uint32_t rows = hits & block.rows(), inner = hits ^ rows;
  if (block.next() != kNoBlock) {
    walk.key[walk.depth] = own_key;
    walk.stack[walk.depth++] = block.next();
  }
  float* key = walk.key + walk.depth;
  std::int32_t* stack = walk.stack + walk.depth;
  if (walk.ordered) {
    keys.store(walk.lane_key);
    walk.block = at;
    walk.lanes = rows;
    walk.found = rows != 0 ? 1 : 0;
    if (inner != 0) {
      const std::size_t bottom = walk.depth;
      walk.depth += push_in_order(keys, block.children(), inner, key, stack);
      if (ByRow) order_ties(walk, walk.ties.bounds, bottom);
    }
  } else {
    walk.found += keep(block.children(), rows, walk.rows + walk.found);
    keep(keys, inner, key);
    walk.depth += keep(block.children(), inner, stack);
  }
}

// True if the walk has nothing to return yet and is not finished.
inline bool wants_more(const OrderedWalk& walk) {
  return walk.depth > 0 && walk.found < (walk.ordered ? 1 : kMostRows);
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

// `ByRow`: a walk by key and row.
template <std::size_t D, class E, bool ByRow = false>
void next_by_distance(BallWalk& walk) {
  constexpr bool kIsWide = std::is_same_v<E, WideEight>;
  const E zero = E::splat(0);
  const Eight limit = Eight::splat(walk.limit);
  E low[D], high[D];
  for (std::size_t k = 0; k < D; ++k) {
    low[k] = E::splat(NumbersOf<E>::low_center(walk, D)[k]);
    high[k] = E::splat(NumbersOf<E>::high_center(walk, D)[k]);
  }
  if (kIsWide && walk.ordered) drop_far(walk);
  for (walk.found = 0; wants_more(walk);) {
    if (kIsWide) bring_nearest(walk);
    const std::int32_t at = walk.stack[--walk.depth];
    const float own_key = walk.key[walk.depth];
    if (own_key > walk.limit) continue;
    if (ByRow && own_key >= walk.ties.tie && has_no_better(walk, walk.ties.bounds[at])) continue;
    const BlockReader<D, E> block(walk.memory, at);
    ++walk.visited;
    E square = zero;
    for (std::size_t k = 0; k < D; ++k) {
      // Where infinities make the gap NaN, it counts as 0.
      const E gap = raised(low[k] - block.upper(k), raised(block.lower(k) - high[k], zero));
      square = k == 0 ? gap * gap : square + gap * gap;
    }
    const Eight keys = keys_of(square);
    sort_out<ByRow>(walk, at, block, keys, at_most(keys, limit), own_key);
  }
}

template <std::size_t D, class E>
void collect_near(NearWalk& walk) {
  const E zero = E::splat(0);
  const Eight limit = Eight::splat(walk.limit);
  E low[D], high[D], outside[D];
  for (std::size_t k = 0; k < D; ++k) {
    low[k] = E::splat(NumbersOf<E>::low_center(walk, D)[k]);
    high[k] = E::splat(NumbersOf<E>::high_center(walk, D)[k]);
    outside[k] = E::splat(NumbersOf<E>::outside(walk)[k]);
  }
  std::size_t depth = walk.depth, found = walk.found;
  while (depth > 0 && found + kLanes <= walk.near_room) {
    const std::int32_t at = walk.stack[--depth];
    const float own_key = walk.key[depth];
    if (own_key > walk.limit) continue;
    const BlockReader<D, E> block(walk.memory, at);
    ++walk.visited;
    E square = zero;
    for (std::size_t k = 0; k < D; ++k) {
      // As in next_by_distance().
      const E gap = larger(larger(block.lower(k) - high[k], low[k] - block.upper(k)), zero);
      square = k == 0 ? gap * (gap + outside[k]) : square + gap * (gap + outside[k]);
    }
    const Eight keys = keys_of(square);
    const std::uint32_t hits = at_most(keys, limit) & block.occupied(), rows = hits & block.rows(), inner = hits ^ rows;
    if (block.next() != kNoBlock) {
      walk.key[depth] = own_key;
      walk.stack[depth++] = block.next();
    }
    keep(keys, rows, walk.near_keys + found);
    found += keep(block.children(), rows, walk.near_rows + found);
    if (inner == 0) continue;
    if (walk.ordered) {
      depth += push_in_order(keys, block.children(), inner, walk.key + depth, walk.stack + depth);
    } else {
      keep(keys, inner, walk.key + depth);
      depth += keep(block.children(), inner, walk.stack + depth);
    }
  }
  walk.depth = depth;
  walk.found = found;
}

template <std::size_t D, class E, bool ByRow = false>
void next_by_time(SweepWalk& walk) {
  using Numbers = NumbersOf<E>;
  const auto *box = Numbers::box(walk), *inverses = Numbers::inverse(walk);
  const E limit = E::splat(Numbers::limit(walk)), longer = E::splat(Numbers::kLonger);
  // The side of a box that is met first along each axis, by its place in a block, and the side of the moving box that
  // meets it; then the two that part last.
  E front[D], rear[D], inverse[D];
  std::size_t near[D], far[D];
  for (std::size_t k = 0; k < D; ++k) {
    const bool forward = inverses[k] > 0;
    near[k] = (forward ? k : D + k) * kLanes;
    far[k] = (forward ? D + k : k) * kLanes;
    front[k] = E::splat(box[forward ? D + k : k]);
    rear[k] = E::splat(box[forward ? k : D + k]);
    inverse[k] = E::splat(inverses[k]);
  }
  for (walk.found = 0; wants_more(walk);) {
    const std::int32_t at = walk.stack[--walk.depth];
    const float own_key = walk.key[walk.depth];
    if (own_key > walk.limit) continue;
    if (ByRow && own_key >= walk.ties.tie && has_no_better(walk, walk.ties.bounds[at])) continue;
    const BlockReader<D, E> block(walk.memory, at);
    ++walk.visited;
    // Where infinities make a time NaN, it counts for nothing.
    E enter = E::splat(0), leave = limit;
    for (std::size_t k = 0; k < D; ++k) {
      enter = raised((block.eight(near[k]) - front[k]) * inverse[k], enter);
      leave = lowered((block.eight(far[k]) - rear[k]) * inverse[k], leave);
    }
    typename Numbers::Tests within;
    within.at_most(enter, leave * longer);
    sort_out<ByRow>(walk, at, block, keys_of(enter), within.bits(), own_key);
  }
}

// All rows below a block meet the region: what goes on the stack for it is marked likewise.
template <std::size_t D>
void take_all(ConvexWalk& walk, const BlockReader<D>& block) {
  const std::uint32_t rows = block.occupied() & block.rows();
  if (block.next() != kNoBlock) walk.stack[walk.depth++] = ~block.next();
  const std::size_t bottom = walk.depth;
  walk.depth += keep(block.children(), block.occupied() ^ rows, walk.stack + bottom);
  for (std::size_t at = bottom; at < walk.depth; ++at) walk.stack[at] = ~walk.stack[at];
  walk.sure_found += keep(block.children(), rows, walk.sure + walk.sure_found);
}

template <std::size_t D>
void next_by_region(ConvexWalk& walk) {
  // Relative to the sum of the terms' magnitudes: more than all roundings of a sum of four products and of the boxes.
  constexpr float kRounding = 1e-6F, kLeast = 1e-30F;
  walk.found = walk.sure_found = 0;
  while (walk.depth > 0 && walk.found < kMostRows && walk.sure_found < kMostRows) {
    const std::int32_t top = walk.stack[--walk.depth];
    ++walk.visited;
    if (top < 0) {
      take_all(walk, BlockReader<D>(walk.memory, ~top));
      continue;
    }
    const BlockReader<D> block(walk.memory, top);
    EightTests meet, reach, inside;
    Eight corner[2][D], error[D];
    for (std::size_t k = 0; k < D; ++k) {
      const Eight lower = block.lower(k), upper = block.upper(k), low = Eight::splat(walk.inner_box[k]),
                  high = Eight::splat(walk.inner_box[D + k]);
      corner[0][k] = lower;
      corner[1][k] = upper;
      meet.at_most(Eight::splat(walk.box[k]), upper);
      meet.at_most(lower, Eight::splat(walk.box[D + k]));
      error[k] = larger(absolute(lower), absolute(upper)) * Eight::splat(kRounding);
      const Eight room = error[k] + Eight::splat(kLeast);
      reach.at_most(low, upper - room);
      reach.at_most(lower + room, high);
      inside.at_most(low, lower - room);
      inside.at_most(upper + room, high);
    }
    std::uint32_t hits = meet.bits() & block.occupied();
    std::uint32_t within = inside.bits();
    const std::uint32_t slabs = walk.slabs[walk.depth];
    std::uint32_t across[8] = {};  // the slabs that a lane does not lie within
    for (std::uint32_t left = slabs; left != 0 && hits != 0; left &= left - 1) {
      const std::uint32_t bit = left & (0u - left);
      std::size_t slab = lowest_bit(left);
      const std::size_t end = slab < ConvexWalk::kOwnBits ? slab + 1 : walk.count;
      std::uint32_t in_slab = 0xff;
      for (; slab < end; ++slab) {
        Eight least = Eight::splat(0.0F), most = least, slack = Eight::splat(kLeast);
        for (std::size_t k = 0; k < D; ++k) {
          const float a = walk.axes[slab * D + k];
          if (a == 0.0F) continue;  // infinite corners are ignored along this axis
          const Eight axis = Eight::splat(a);
          const std::size_t far = a > 0.0F ? 1 : 0;
          least = least + axis * corner[1 - far][k];
          most = most + axis * corner[far][k];
          slack = slack + absolute(axis) * error[k];
        }
        // Not `at_most`: NaN stays a candidate, but is not sure.
        EightTests candidates;
        candidates.not_below(most + slack, Eight::splat(walk.least[slab]));
        candidates.not_below(Eight::splat(walk.most[slab]), least - slack);
        hits &= candidates.bits();
        const Eight low = Eight::splat(walk.inner_least[slab]), high = Eight::splat(walk.inner_most[slab]);
        reach.at_most(low, most - slack);
        reach.at_most(least + slack, high);
        EightTests wholly;
        wholly.at_most(low, least - slack);
        wholly.at_most(most + slack, high);
        in_slab &= wholly.bits();
      }
      for (std::uint32_t l = 0; l < kLanes; ++l) across[l] |= (in_slab >> l & 1u) != 0 ? 0u : bit;
      within &= in_slab;
    }
    const std::uint32_t rows = hits & block.rows(), inner = hits ^ rows, sure = rows & reach.bits();
    if (block.next() != kNoBlock) {
      walk.slabs[walk.depth] = slabs;
      walk.stack[walk.depth++] = block.next();
    }
    for (std::uint32_t left = inner; left != 0; left &= left - 1) {
      const std::uint32_t lane = lowest_bit(left);
      const std::int32_t child = block.child(lane);
      walk.slabs[walk.depth] = across[lane];
      walk.stack[walk.depth++] = (within >> lane & 1u) != 0 ? ~child : child;
    }
    walk.found += keep(block.children(), rows & ~sure, walk.rows + walk.found);
    walk.sure_found += keep(block.children(), sure, walk.sure + walk.sure_found);
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
