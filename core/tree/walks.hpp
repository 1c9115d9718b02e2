// Walks through a tree of blocks, as the kernels make them: they name the rows that may be an answer.
//
// A walk is prepared by its caller (tree_walks.hpp), and each call of its kernel goes on until there are some rows for
// him to look at: `found` of them in `rows`; none means that the walk has ended. The tests are on local floats and let
// through too much rather than too little: what is let through is tested on the numbers as they were given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tree/block_layout.hpp"

namespace broadphase {

// Every block of a path leaves at most seven lanes and a `next` behind it. Up to a half of the stack, several blocks
// are taken from it at a time; from there on, one, which keeps the bound.
inline constexpr std::size_t kHalfStack = kMostLevels * kLanes;
inline constexpr std::size_t kBlocksTogether = 4;
inline constexpr std::size_t kStackSize = 2 * kHalfStack + kBlocksTogether * (kLanes + 1);

// Rows that a walk hands out at a time.
inline constexpr std::size_t kMostRows = 256;

// What all walks have. Started with the root on the stack.
struct Walk {
  const float* memory = nullptr;  // of the blocks
  std::uint64_t visited = 0;      // blocks so far: each is a test of up to eight boxes
  std::size_t depth = 0;          // of the stack
  std::size_t found = 0;
  std::int32_t rows[kMostRows + kBlocksTogether * kLanes];
  std::int32_t stack[kStackSize + kLanes];
};

// Rows whose boxes meet a box.
struct BoxWalk : Walk {
  float box[8] = {};  // D lower, then D upper; closed
};

// Walks that look at what is near before what is far. `key` is of each block on the stack: the least that a row below
// can have. What has more than `limit` is passed over.
struct OrderedWalk : Walk {
  float limit = 0;
  // The blocks with the least keys first, and one block's rows at a time, for the limit to shrink in between: those of
  // the lanes whose bits are set in `lanes`, with a key each. `rows` is not used. Otherwise as it comes.
  bool ordered = false;
  std::int32_t block = kNoBlock;
  std::uint32_t lanes = 0;
  float lane_key[kLanes];
  float key[kStackSize + kLanes];
};

// Rows whose boxes come near a point; keys are squares of distances.
struct BallWalk : OrderedWalk {
  float center[8] = {};  // the point, rounded down along each axis, then rounded up
};

// Rows whose boxes a moving box or a ray may touch; keys are times.
struct SweepWalk : OrderedWalk {
  float box[8] = {};      // at the start: D lower, then D upper
  float inverse[4] = {};  // of the motion along each axis; finite, not zero
};

// Rows whose boxes may meet a convex region: the intersection of slabs, each between two parallel planes.
struct ConvexWalk : Walk {
  float box[8] = {};             // around the region
  std::size_t count = 0;         // of slabs
  const float* axes = nullptr;   // D numbers a slab
  const float* least = nullptr;  // a point x of the region has least <= axis . x <= most
  const float* most = nullptr;
  // The same a little inside: what meets all of these needs no other test, and goes to `sure`.
  float inner_box[8] = {};
  const float* inner_least = nullptr;
  const float* inner_most = nullptr;
  std::size_t sure_found = 0;
  std::int32_t sure[kMostRows + kLanes];
};

}  // namespace broadphase
