// What the kernels of a tree and their callers hand to each other: the layout of a block, and the state of a walk.
// Plain data: this header is read by every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadphase {

// ---- Blocks: eight boxes side by side, so that one comparison tests all of them ----

inline constexpr std::int32_t kNoBlock = -1;
inline constexpr std::size_t kLanes = 8;
// No tree is deeper, counting `next` as a level: a walk's stack has room for so many blocks' lanes.
inline constexpr std::size_t kMostLevels = 120;

// A block of D dimensions is BlockLayout{D}.words() words of 32 bits, on a cache line of its own:
//   lower[D][8], upper[D][8]   floats in local coordinates, one lane a box
//   child[8]                   a row of the input where the lane is a row, else another block
//   occupied, rows             which lanes are in use (bits 0-7); which of those are rows
//   next                       a block that goes on with this one's lanes, or kNoBlock
//   parent                     the owner's to use: where a block hangs
// A lane's box contains all that is below it. Lanes not in use may hold anything.
struct BlockLayout {
  std::size_t dimension;
  constexpr std::size_t lower(std::size_t axis) const { return axis * kLanes; }
  constexpr std::size_t upper(std::size_t axis) const { return (dimension + axis) * kLanes; }
  constexpr std::size_t child() const { return 2 * dimension * kLanes; }
  constexpr std::size_t occupied() const { return child() + kLanes; }
  constexpr std::size_t rows() const { return occupied() + 1; }
  constexpr std::size_t next() const { return occupied() + 2; }
  constexpr std::size_t parent() const { return occupied() + 3; }
  constexpr std::size_t words() const { return (occupied() + 4 + 15) / 16 * 16; }
};

// ---- Queries on one tree ----
//
// The caller prepares a walk (queries.hpp) and calls its kernel until `found` is 0. Each call runs until it has found
// some candidate rows, `found` of them in `rows`. The tests use local float boxes rounded outwards, so candidates may
// be false positives, never missing; the caller tests them on the exact boxes.

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

// ---- Pairs: two trees of blocks walked together, or one with itself ----

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
