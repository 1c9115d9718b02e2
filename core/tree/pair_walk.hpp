// Two trees of blocks walked together, or one with itself: what the kernel and its caller hand to each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tree/block_layout.hpp"

namespace broadphase {

// The lanes of one block against those of another, and all that is below both.
struct BlockPair {
  std::int32_t a, b;
  std::uint16_t lanes;  // of `a`
  std::uint16_t flags;

  // a and b are one block: every two of its lanes once, and each lane with itself where it is a block.
  static constexpr std::uint16_t kSelf = 1;
  // a is in the second tree and b in the first.
  static constexpr std::uint16_t kTurned = 2;
  // The blocks that go on with a's lanes have an entry of their own.
  static constexpr std::uint16_t kAlone = 4;
  // Only the rows of these two blocks: what is below them has entries of its own.
  static constexpr std::uint16_t kRowsOnly = 8;
  static constexpr std::uint16_t kAllLanes = 0xff;
};

// One step puts at most so many on the stack: 64 pairs of blocks, or fewer and up to 16 of rows with a block; two where
// blocks go on; eight of lanes with themselves.
inline constexpr std::size_t kPairsAStep = 80;
// A step writes at most so many pairs of rows.
inline constexpr std::size_t kHitsAStep = kLanes * kLanes;

struct PairWalk {
  const float* memory[2] = {};  // of the blocks of the two trees; the same twice where there is one
  bool one_tree = false;        // the smaller row goes first; otherwise that of the first tree
  BlockPair* stack = nullptr;
  std::size_t depth = 0;  // of the stack
  std::int32_t* first = nullptr;
  std::int32_t* second = nullptr;
  std::size_t room = 0, found = 0;  // of and in the two columns
  bool counting = false;            // only count
  bool expanding = false;           // take one step down, and leave the rows to the caller
  std::uint64_t count = 0, tests = 0;
};

}  // namespace broadphase
