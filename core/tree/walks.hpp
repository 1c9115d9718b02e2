// What the kernels of a tree and their callers hand to each other: the layout of a block, and the state of a walk.
// Plain data: this header is read by every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadphase {

// ---- Blocks: eight boxes side by side, so that one comparison tests all of them ----

inline constexpr std::int32_t kNoBlock = -1;
inline constexpr std::size_t kLanes = 8;
// Maximum depth of a tree, counting `next` as a level: it bounds the stacks of walks.
inline constexpr std::size_t kMostLevels = 120;

// Boxes of one axis are walked as boxes of two: along the second axis, which nobody writes, each is [0, 0].
constexpr std::size_t axes_of_blocks(std::size_t dimension) { return dimension == 1 ? 2 : dimension; }

// A block of D axes, two or more, is BlockLayout{D}.words() words of 32 bits, on a cache line of its own:
//   lower[D][8], upper[D][8]   floats in local coordinates, one lane a box; or doubles as given, where the tree is wide
//   child[8]                   a row of the input where the lane is a row, else another block
//   occupied, rows             which lanes are in use (bits 0-7); which of those are rows
//   next                       a block that goes on with this one's lanes, or kNoBlock
//   parent                     for the tree's owner: the lane that points to this block
// A lane's box contains all that is below it. Lanes not in use may hold anything.
struct BlockLayout {
  std::size_t axes;
  bool wide = false;
  constexpr std::size_t lower(std::size_t axis) const { return axis * kLanes * (wide ? 2 : 1); }
  constexpr std::size_t upper(std::size_t axis) const { return lower(axes + axis); }
  constexpr std::size_t child() const { return lower(2 * axes); }
  constexpr std::size_t occupied() const { return child() + kLanes; }
  constexpr std::size_t rows() const { return occupied() + 1; }
  constexpr std::size_t next() const { return occupied() + 2; }
  constexpr std::size_t parent() const { return occupied() + 3; }
  constexpr std::size_t words() const { return (occupied() + 4 + 15) / 16 * 16; }
};

// Floats that are moved inwards by this share of their size, and a little more where they are tiny, tell which of the
// boxes that seem to overlap surely do. What a block holds of a row is rounded outwards by less than half of that:
// LocalFrame moves a float that is at most u = 2^-24 of its size away from the true number by 2.1 u outwards, and
// rounds that, so that it is away by 4.2 u at most, besides 1.1e-37. So a number x of one box that is at most the
// number y of another, moved inwards, is less than it in truth, if the move is more than 2 * 4.2 u, and u for its own
// rounding.
inline constexpr float kInwards = 7e-7F, kLeastInwards = 6e-37F;
static_assert(kInwards > (2 * 4.2F + 1.1F) * 0x1p-24F && kLeastInwards > 4 * 1.1e-37F);

// ---- Queries on one tree ----
//
// The caller prepares a walk (queries.hpp) and calls its kernel until `found` is 0. Each call runs until it has found
// some candidate rows, `found` of them in `rows`. The tests use local float boxes rounded outwards, so candidates may
// be false positives, never missing; the caller tests them on the exact boxes.

// A walk leaves at most seven lanes and a `next` per block of the current path on its stack. Up to half of the stack,
// several blocks are popped at a time; beyond that, one at a time, which keeps the bound.
inline constexpr std::size_t kHalfStack = kMostLevels * kLanes;
inline constexpr std::size_t kBlocksTogether = 4;
inline constexpr std::size_t kStackSize = 2 * kHalfStack + kBlocksTogether * (kLanes + 1);

// Rows that a kernel returns at a time.
inline constexpr std::size_t kMostRows = 256;

// Common to all walks. The caller puts the root on the stack.
struct Walk {
  const float* memory = nullptr;  // of the blocks
  std::uint64_t visited = 0;      // blocks so far: each is a test of up to eight boxes
  std::size_t depth = 0;          // of the stack
  std::size_t found = 0;
  std::int32_t rows[kMostRows + kBlocksTogether * kLanes];
  std::int32_t stack[kStackSize + kLanes];

  // So many entries are read at a time, although fewer may be on the stack.
  Walk() {
    for (std::size_t at = 0; at < kBlocksTogether; ++at) stack[at] = kNoBlock;
  }
};

// Rows whose boxes meet a box.
struct BoxWalk : Walk {
  float box[8] = {};  // D lower, then D upper; closed
  double wide_box[8];
  // Of a walk that tells them apart: rows that meet this smaller box surely meet the given one, whatever has been
  // rounded (see kInwards), and go to `sure`.
  float inner_box[8];
  std::size_t sure_found = 0;
  std::int32_t sure[kMostRows + kBlocksTogether * kLanes];
};

// Of all rows below a block and the blocks that continue it, as they were given.
struct ExactBound {
  double box[8];  // lower corner, then upper corner, of as many numbers as there are axes
  std::int32_t least_row;
};

// Walks in order of a key. `key` is a lower bound of the key of all rows below a block on the stack. Blocks with a key
// above `limit` are skipped.
//
// In a wide tree, a key is the upper half of a double, its bits read as a float: the order is the same, and the range
// is that of doubles.
struct OrderedWalk : Walk {
  float limit = 0;
  // If true: blocks with the smallest key first, and rows of one block at a time, so that the caller can lower the
  // limit in between. The rows are those of the lanes set in `lanes`, each with its key; `rows` is not used. If false:
  // in no order.
  bool ordered = false;
  std::int32_t block = kNoBlock;
  std::uint32_t lanes = 0;
  float lane_key[kLanes];
  float key[kStackSize + kLanes];
};

// For walks by key and row. What is below a block whose key is `tie` or more is hardly any better than the last row
// that is wanted: where many boxes are alike, it only ties with that. It is skipped if the bounds, by block, show that
// no row there comes first: by the number that the key stands for, and of equal ones by row.
struct Ties {
  float tie = 0;
  const ExactBound* bounds = nullptr;
  std::size_t dimension = 0;
  double last = 0;  // of the last row wanted
  std::int32_t last_row = 0;
  double given_box[8], motion[4];  // of a walk by time
};

// Rows whose boxes are within a distance of a point; keys are squared distances.
struct BallWalk : OrderedWalk {
  float center[8] = {};   // the point, rounded down along each axis, then rounded up
  double wide_center[4];  // as given
  Ties ties;
};

// Rows whose boxes may be among the nearest to a point, with their keys. A point outside the box around all rows is
// measured from the nearest place of that box, which is the center: numbers are as precise as in the box, however far
// away the point is. Keys are squared distances, less that of the center from the point.
//
// The kernel returns when there is no room for another block's rows, and has finished when `depth` is 0.
struct NearWalk : BallWalk {
  float outside[4] = {};  // twice how far the point is from the center, along each axis
  double wide_outside[4] = {};
  std::int32_t* near_rows;  // these two have room for eight more
  float* near_keys;
  std::size_t near_room;
};

// Rows whose boxes a moving box or a ray may touch; keys are times.
struct SweepWalk : OrderedWalk {
  float box[8] = {};      // at the start: D lower, then D upper
  float inverse[4] = {};  // of the motion along each axis; infinite without one, not zero
  double wide_box[8], wide_inverse[4];
  Ties ties;
};

// Rows whose boxes may meet a convex region: the intersection of slabs, each between two parallel planes. An entry ~b
// of the stack is a block b whose rows all meet it.
struct ConvexWalk : Walk {
  // The slabs that a block on the stack may not lie within: bit s for slab s, and the last bit for all from there on.
  static constexpr std::size_t kOwnBits = 31;

  float box[8] = {};             // around the region
  std::size_t count = 0;         // of slabs
  const float* axes = nullptr;   // D numbers a slab
  const float* least = nullptr;  // a point x of the region has least <= axis . x <= most
  const float* most = nullptr;
  // The same slightly smaller: rows that reach into all of these need no exact test and go to `sure`, and so do all
  // rows below a lane that lies within them.
  float inner_box[8] = {};
  const float* inner_least = nullptr;
  const float* inner_most = nullptr;
  std::size_t sure_found = 0;
  std::int32_t sure[kMostRows + kLanes];
  std::uint32_t slabs[kStackSize + kLanes];
  double wide_box[8];  // in a wide tree, only this box is tested
};

// ---- Pairs: two trees of blocks walked together, or one with itself ----

// The lanes of one block against those of another, and everything below both.
struct BlockPair {
  std::int32_t a, b;
  std::uint16_t lanes;  // of `a`
  std::uint16_t flags;

  // a and b are the same block: each two of its lanes once, and each inner lane with itself.
  static constexpr std::uint16_t kSelf = 1;
  // a is in the second tree and b in the first.
  static constexpr std::uint16_t kSwapped = 2;
  // The blocks that continue a's lanes (`next`) have an entry of their own.
  static constexpr std::uint16_t kAlone = 4;
  // Only the rows of these two blocks: everything below them has entries of its own.
  static constexpr std::uint16_t kRowsOnly = 8;
  static constexpr std::uint16_t kAllLanes = 0xff;
};

// Maximum number of entries that one step pushes: 64 pairs of blocks, or fewer and up to 16 of rows with a block; two
// for continued blocks; eight of lanes with themselves.
inline constexpr std::size_t kPairsAStep = 80;
// Maximum number of pairs of rows that one step writes.
inline constexpr std::size_t kHitsAStep = kLanes * kLanes;

struct PairWalk {
  const float* memory[2] = {};  // of the blocks of the two trees; the same twice where there is one
  bool one_tree = false;        // the smaller row goes first; otherwise that of the first tree
  BlockPair* stack = nullptr;
  std::size_t depth = 0;  // of the stack
  std::int32_t* first = nullptr;
  std::int32_t* second = nullptr;
  std::size_t room = 0, found = 0;  // of and in the two columns
  // Pairs that surely overlap are told apart: of closed boxes, or of their interiors if `open`. The others are at the
  // end of the columns.
  bool split = false, open = false;
  std::size_t doubts = 0;
  bool counting = false;   // only count, but for doubts
  bool expanding = false;  // take one step down and do not report rows
  std::uint64_t count = 0, tests = 0;
};

}  // namespace broadphase
