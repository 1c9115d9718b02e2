// Walks through a tree of blocks, as the kernels make them: stop at every block with rows that may be an answer.
//
// A walk is prepared by its caller (tree_queries.hpp), and each call of its kernel takes it to the next such block:
// `block` and `lanes` then say which rows, by bits; false means that the walk has ended. The tests are on local floats
// and let through too much rather than too little: what is let through is tested on the numbers as they were given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadphase/block_layout.hpp"

namespace broadphase {

// Every block of a path leaves at most seven lanes and a `next` behind it.
inline constexpr std::size_t kStackSize = kMostLevels * kLanes + 16;

// What all walks have. Starts with the root on the stack.
struct Walk {
  const float* memory = nullptr;  // of the blocks
  std::size_t depth = 0;          // of the stack
  std::int32_t stack[kStackSize];
  std::uint64_t visited = 0;  // blocks so far: each is a test of up to eight boxes
  std::int32_t block = kNoBlock;
  std::uint32_t lanes = 0;
};

// Rows whose boxes meet a box: closed, lower corner first.
struct BoxWalk : Walk {
  float box[8] = {};
};

// Rows whose boxes come within a distance of a point. The nearer child first; `reach` may shrink on the way.
struct BallWalk : Walk {
  float center[4] = {};
  float slack = 0;           // added to no gap, taken from every one: what rounding the centre may have cost
  float reach2 = 0;          // the square of the distance, rounded up
  float near2[kStackSize];   // of each block on the stack: the square of the least distance to it
  float lane_near2[kLanes];  // of each lane of `block`
};

// Rows whose boxes a moving box or a ray may touch before a time. The earlier child first; `end` may shrink.
struct SweepWalk : Walk {
  // Along each axis, the box entered at (lower - from_upper) * inverse and left at (upper - from_lower) * inverse where
  // the motion is positive; Python's signs are dealt with by the kernel.
  float from_lower[4] = {}, from_upper[4] = {}, inverse[4] = {};
  float end = 0;
  float time[kStackSize];   // of each block on the stack: the least time of entering it
  float lane_time[kLanes];  // of each lane of `block`
};

// Rows whose boxes may meet a convex region: the intersection of slabs, each between two parallel planes.
struct ConvexWalk : Walk {
  float box[8] = {};             // around the region
  const float* axes = nullptr;   // `count` rows of D
  const float* least = nullptr;  // of each slab, rounded down
  const float* most = nullptr;   // rounded up
  std::size_t count = 0;
};

}  // namespace broadphase
