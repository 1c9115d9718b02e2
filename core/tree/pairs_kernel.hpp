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
inline LaneMatrix rows_of(std::uint32_t lanes) {
  const LaneMatrix diagonal = columns_of(lanes) & 0x8040201008040201u;
  return (((diagonal & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu) | diagonal) >> 7 & 0x0101010101010101u;
}
inline LaneMatrix full_rows_of(std::uint32_t lanes) { return rows_of(lanes) * 0xffu; }
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

template <std::size_t D, class E>
LaneMatrix meeting_lanes(const BlockReader<D, E>& other, std::uint32_t lanes, const BlockReader<D, E>& block) {
  const float* a = other.memory();
  E lower[D], upper[D];
  for (std::size_t k = 0; k < D; ++k) {
    lower[k] = block.lower(k);
    upper[k] = block.upper(k);
  }
  LaneMatrix matrix = 0;
  const auto test = [&](std::uint32_t lane) {
    typename BlockReader<D, E>::Tests meet;
    for (std::size_t k = 0; k < D; ++k) {
      meet.at_most(lower[k], E::splat(BlockReader<D, E>::number_at(a, (D + k) * kLanes + lane)));
      meet.at_most(E::splat(BlockReader<D, E>::number_at(a, k * kLanes + lane)), upper[k]);
    }
    matrix |= static_cast<LaneMatrix>(meet.bits()) << (8 * lane);
  };
  // Up to four lanes, a loop with a variable end is faster; above, one that can be unrolled.
  if (bit_count(lanes) <= 4) {
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) test(lowest_bit(rest));
  } else {
    for (std::uint32_t lane = 0; lane < 8; ++lane) test(lane);
  }
  return matrix & full_rows_of(lanes) & columns_of(block.occupied());
}

inline void name_pairs(PairWalk& walk, LaneMatrix hits, const void* rows_a, const void* rows_b, bool swapped) {
  std::int32_t *first = walk.first + walk.found, *second = walk.second + walk.found;
  for (; hits != 0; hits &= hits - 1) {
    const std::uint32_t at = lowest_of(hits);
    const std::int32_t p = word_at(rows_a, at >> 3), q = word_at(rows_b, at & 7u);
    const bool swap = walk.one_tree ? q < p : swapped;
    *first++ = swap ? q : p;
    *second++ = swap ? p : q;
  }
  walk.found = static_cast<std::size_t>(first - walk.first);
}

// True if the room for pairs ran out: call again.
template <std::size_t D, class E>
bool pair_blocks(PairWalk& walk) {
  std::size_t depth = walk.depth;
  while (depth > 0) {
    if (walk.room - walk.found < kHitsAStep) {
      walk.depth = depth;
      return true;
    }
    const BlockPair entry = walk.stack[--depth];
    const bool self = (entry.flags & BlockPair::kSelf) != 0, swapped = (entry.flags & BlockPair::kSwapped) != 0;
    const float* memory_a = walk.memory[swapped];
    const float* memory_b = walk.memory[!swapped];
    const BlockReader<D, E> a(memory_a, entry.a), b(memory_b, entry.b);
    const auto push = [&](std::int32_t p, std::int32_t q, std::uint32_t lanes, std::uint32_t flags) {
      walk.stack[depth++] = {p, q, static_cast<std::uint16_t>(lanes), static_cast<std::uint16_t>(flags)};
    };
    const std::uint32_t sides = entry.flags & BlockPair::kSwapped;
    const bool below = (entry.flags & BlockPair::kRowsOnly) == 0;
    if (below) {
      if (b.next() != kNoBlock) push(entry.a, b.next(), entry.lanes, sides | BlockPair::kAlone);
      if (a.next() != kNoBlock && (entry.flags & BlockPair::kAlone) == 0)
        push(a.next(), self ? a.next() : entry.b, BlockPair::kAllLanes, self ? entry.flags : sides);
    }

    const std::uint32_t lanes = a.occupied() & entry.lanes;
    LaneMatrix meet = meeting_lanes<D, E>(a, lanes, b);
    if (self) meet &= kAfter;
    walk.tests += bit_count(lanes) * bit_count(b.occupied());
    const LaneMatrix of_rows_a = full_rows_of(a.rows()), of_rows_b = columns_of(b.rows());
    const LaneMatrix hits = meet & of_rows_a & of_rows_b;
    if (!walk.expanding) {
      if (walk.counting)
        walk.count += count_of(hits);
      else
        name_pairs(walk, hits, a.children(), b.children(), swapped);
    }
    if (below) {
      if (self)
        for (std::uint32_t inner = lanes & ~a.rows(); inner != 0; inner &= inner - 1) {
          const std::int32_t child = a.child(lowest_bit(inner));
          push(child, child, BlockPair::kAllLanes, BlockPair::kSelf);
        }
      meet ^= hits;
      for (LaneMatrix both = meet & ~of_rows_a & ~of_rows_b; both != 0; both &= both - 1) {
        const std::uint32_t at = lowest_of(both);
        push(a.child(at >> 3), b.child(at & 7u), BlockPair::kAllLanes, sides);
      }
      // Rows of one block against what is below a lane of the other: all such rows in one entry.
      const LaneMatrix rows_with = meet & of_rows_a, with_rows = meet & of_rows_b;
      for (std::uint32_t inner = lanes_with_any(rows_with); inner != 0; inner &= inner - 1) {
        const std::uint32_t lane = lowest_bit(inner);
        push(entry.a, b.child(lane), column(rows_with, lane), sides | BlockPair::kAlone);
      }
      for (std::uint32_t lane = 0; with_rows != 0 && lane < 8; ++lane) {
        const auto rows = static_cast<std::uint32_t>(with_rows >> (8 * lane) & 0xffu);
        if (rows != 0) push(entry.b, a.child(lane), rows, (sides ^ BlockPair::kSwapped) | BlockPair::kAlone);
      }
    }
    if (walk.expanding) break;
  }
  walk.depth = depth;
  return false;
}

}  // namespace broadphase::BROADPHASE_LEVEL
