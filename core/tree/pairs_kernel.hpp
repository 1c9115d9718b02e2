// The kernel for pairs of rows whose boxes overlap: two blocks, 64 tests a step.
#pragma once

#include "tree/queries_kernel.hpp"
#include "tree/walks.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// Which lanes of two blocks overlap: byte a, bit b.
using LaneMatrix = std::uint64_t;

inline std::uint32_t lowest_of(LaneMatrix bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  return low != 0 ? lowest_bit(low) : 32u + lowest_bit(static_cast<std::uint32_t>(bits >> 32));
}
inline std::uint32_t count_of(LaneMatrix bits) {
  return bit_count(static_cast<std::uint32_t>(bits)) + bit_count(static_cast<std::uint32_t>(bits >> 32));
}

// `lanes` in every byte; and byte a full where bit a is set.
inline LaneMatrix columns_of(std::uint32_t lanes) { return lanes * 0x0101010101010101u; }
inline LaneMatrix full_rows_of(std::uint32_t lanes) { return full_bytes(lanes); }
// Bit a: bit `lane` of byte a.
inline std::uint32_t column(LaneMatrix matrix, std::uint32_t lane) {
  return static_cast<std::uint32_t>((matrix >> lane & 0x0101010101010101u) * 0x0102040810204080u >> 56);
}
inline std::uint32_t lanes_with_any(LaneMatrix matrix) {
  matrix |= matrix >> 32;
  matrix |= matrix >> 16;
  return static_cast<std::uint32_t>((matrix | matrix >> 8) & 0xffu);
}
// b > a: each unordered pair of a block's lanes once.
inline constexpr LaneMatrix kAfter = 0x0080c0e0f0f8fcfeu;

// Of some lanes of another block, those that meet the box around all lanes of a block.
template <std::size_t D, class E>
std::uint32_t lanes_near(BlockReader<D, E> other, const E* lower, const E* upper) {
  typename BlockReader<D, E>::Tests meet;
  for (std::size_t k = 0; k < D; ++k) {
    meet.at_most(least(lower[k]), other.upper(k));
    meet.at_most(other.lower(k), largest(upper[k]));
  }
  return meet.bits();
}

// By how much numbers are moved inwards, see kInwards. Infinity becomes NaN by it.
inline Eight inwards_by(const Eight& corner) {
  return absolute(corner) * Eight::splat(kInwards) + Eight::splat(kLeastInwards);
}

// `Surely`: only those that surely do.
template <std::size_t D, class E, bool Surely = false>
static LaneMatrix meeting_lanes(BlockReader<D, E> other, std::uint32_t lanes, BlockReader<D, E> block) {
  const float* a = other.memory();
  E lower[D], upper[D];
  for (std::size_t k = 0; k < D; ++k) {
    lower[k] = block.lower(k);
    upper[k] = block.upper(k);
    if constexpr (Surely) {
      lower[k] = lower[k] + inwards_by(lower[k]);
      upper[k] = upper[k] - inwards_by(upper[k]);
    }
  }
  if constexpr (kIsTestedByBoundsFirst) lanes &= lanes_near<D, E>(other, lower, upper);
  LaneMatrix matrix = 0;
  const auto test = [&](std::uint32_t lane) {
    typename BlockReader<D, E>::Tests meet;
    for (std::size_t k = 0; k < D; ++k) {
      meet.at_most(lower[k], E::splat(BlockReader<D, E>::number_at(a, (D + k) * kLanes + lane)));
      meet.at_most(E::splat(BlockReader<D, E>::number_at(a, k * kLanes + lane)), upper[k]);
    }
    matrix |= static_cast<LaneMatrix>(meet.bits()) << (8 * lane);
  };
  if constexpr (kIsTestedByBoundsFirst) {
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) test(lowest_bit(rest));
    return matrix & columns_of(block.occupied());
  } else if (bit_count(lanes) <= 4) {
    // Up to four lanes, a loop with a variable end is faster; above, one that can be unrolled.
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) test(lowest_bit(rest));
    return matrix & columns_of(block.occupied());
  } else {
    for (std::uint32_t lane = 0; lane < 8; ++lane) test(lane);
    return matrix & full_rows_of(lanes) & columns_of(block.occupied());
  }
}

// The lanes whose boxes surely have an interior.
template <std::size_t D>
std::uint32_t lanes_with_interior(const BlockReader<D>& block) {
  EightTests tests;
  for (std::size_t k = 0; k < D; ++k) {
    const Eight lower = block.lower(k);
    tests.at_most(lower + inwards_by(lower), block.upper(k));
  }
  return tests.bits();
}

// Those of the hits, which are not none, that surely overlap.
template <std::size_t D>
LaneMatrix sure_lanes(const BlockReader<D>& a, const BlockReader<D>& b, LaneMatrix hits, bool open) {
  std::uint32_t lanes = 0;
  for (std::uint32_t lane = 0; lane < 8; ++lane)
    lanes |= static_cast<std::uint32_t>((hits >> (8 * lane) & 0xffu) != 0) << lane;
  hits &= meeting_lanes<D, Eight, true>(a, lanes, b);
  if (open) hits &= full_rows_of(lanes_with_interior<D>(a)) & columns_of(lanes_with_interior<D>(b));
  return hits;
}

// Puts them from a place in the columns on, and returns the place behind.
inline std::size_t name_pairs(const PairWalk& walk, LaneMatrix hits, const void* rows_a, const void* rows_b,
                              bool swapped, std::size_t place) {
  std::int32_t *first = walk.first + place, *second = walk.second + place;
  const bool one_tree = walk.one_tree;
  for (; hits != 0; hits &= hits - 1) {
    const std::uint32_t at = lowest_of(hits);
    const std::int32_t p = word_at(rows_a, at >> 3), q = word_at(rows_b, at & 7u);
    const bool swap = one_tree ? q < p : swapped;
    *first++ = swap ? q : p;
    *second++ = swap ? p : q;
  }
  return static_cast<std::size_t>(first - walk.first);
}

// True if the room for pairs ran out: call again.
template <std::size_t D, class E>
bool pair_blocks(PairWalk& walk) {
  BlockPair* const stack = walk.stack;
  const bool expanding = walk.expanding;
  std::size_t depth = walk.depth;
  while (depth > 0) {
    if (walk.room - walk.found - walk.doubts < kHitsAStep) {
      walk.depth = depth;
      return true;
    }
    --depth;
    const std::int32_t number_a = stack[depth].a, number_b = stack[depth].b;
    const std::uint32_t wanted = stack[depth].lanes, flags = stack[depth].flags;
    const bool self = (flags & BlockPair::kSelf) != 0, swapped = (flags & BlockPair::kSwapped) != 0;
    const BlockReader<D, E> a(walk.memory[swapped], number_a), b(walk.memory[!swapped], number_b);
    const auto push = [&](std::int32_t p, std::int32_t q, std::uint32_t lanes_of_p, std::uint32_t its_flags) {
      stack[depth++] = {p, q, static_cast<std::uint16_t>(lanes_of_p), static_cast<std::uint16_t>(its_flags)};
    };
    const std::uint32_t sides = flags & BlockPair::kSwapped;
    const bool below = (flags & BlockPair::kRowsOnly) == 0;
    if (below) {
      if (b.next() != kNoBlock) push(number_a, b.next(), wanted, sides | BlockPair::kAlone);
      if (a.next() != kNoBlock && (flags & BlockPair::kAlone) == 0)
        push(a.next(), self ? a.next() : number_b, BlockPair::kAllLanes, self ? flags : sides);
    }

    const std::uint32_t lanes = a.occupied() & wanted;
    LaneMatrix meet = meeting_lanes<D, E>(a, lanes, b);
    walk.tests += bit_count(lanes) * bit_count(b.occupied());
    if (self) {
      meet &= kAfter;
      for (std::uint32_t inner = below ? lanes & ~a.rows() : 0; inner != 0; inner &= inner - 1) {
        const std::int32_t child = a.child(lowest_bit(inner));
        push(child, child, BlockPair::kAllLanes, BlockPair::kSelf);
      }
    }
    if (meet != 0) {
      const LaneMatrix of_rows_a = full_rows_of(a.rows()), of_rows_b = columns_of(b.rows());
      const LaneMatrix hits = meet & of_rows_a & of_rows_b;
      if (hits != 0 && !expanding) {
        LaneMatrix sure = hits;
        if constexpr (std::is_same_v<E, Eight>) {
          if (walk.split) {
            sure = sure_lanes<D>(a, b, hits, walk.open);
            walk.doubts += count_of(hits ^ sure);
            name_pairs(walk, hits ^ sure, a.children(), b.children(), swapped, walk.room - walk.doubts);
          }
        }
        if (walk.counting)
          walk.count += count_of(sure);
        else
          walk.found = name_pairs(walk, sure, a.children(), b.children(), swapped, walk.found);
      }
      meet ^= hits;
      if (meet != 0 && below) {
        for (LaneMatrix both = meet & ~of_rows_a & ~of_rows_b; both != 0; both &= both - 1) {
          const std::uint32_t at = lowest_of(both);
          push(a.child(at >> 3), b.child(at & 7u), BlockPair::kAllLanes, sides);
        }
        // Rows of one block against what is below a lane of the other: all such rows in one entry.
        const LaneMatrix rows_with = meet & of_rows_a, with_rows = meet & of_rows_b;
        for (std::uint32_t inner = lanes_with_any(rows_with); inner != 0; inner &= inner - 1) {
          const std::uint32_t lane = lowest_bit(inner);
          push(number_a, b.child(lane), column(rows_with, lane), sides | BlockPair::kAlone);
        }
        for (std::uint32_t lane = 0; with_rows != 0 && lane < 8; ++lane) {
          const auto rows = static_cast<std::uint32_t>(with_rows >> (8 * lane) & 0xffu);
          if (rows != 0) push(number_b, a.child(lane), rows, (sides ^ BlockPair::kSwapped) | BlockPair::kAlone);
        }
      }
    }
    if (expanding) break;
  }
  walk.depth = depth;
  return false;
}

}  // namespace broadphase::BROADPHASE_LEVEL
