// What the kernel of several interleaved sweeps and its callers hand to each other, besides walks.hpp. Plain
// data: this header is read by every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tree/walks.hpp"

namespace broadphase {

// Several moving boxes or rays, a step of each in turn: while one waits for its next block, the others are computed. In
// trees that are not wide.
struct InterleavedMotion {
  const float* memory;      // of the blocks of its tree
  float rough;              // what a number of a block may lack of the true one, as a part of it
  float front[4], rear[4];  // the sides of the box at the start that arrive and leave first, along each axis
  float inner_front[4], inner_rear[4];  // the same of a box that is surely within the true one
  float inverse[4];                     // as SweepWalk
  std::size_t near[4], far[4];          // where a block has the sides that are met by these
  float limit;                          // as OrderedWalk
};

// The row that is touched first. The limit is lowered to times at which a row surely has been touched.
struct InterleavedSweep : InterleavedMotion {
  static constexpr std::size_t kRoom = 64;

  const std::int32_t* ignored;  // rows that are not touched
  std::size_t ignored_count;
  bool crowded;  // more than kRoom rows are within the limit: some are missing
  std::size_t depth, found;
  // Rows that may be the first, and their times: those beyond the limit are not.
  std::int32_t rows[kRoom + kLanes];
  float row_key[kRoom + kLanes];
  std::int32_t stack[kStackSize + kLanes];
  float key[kStackSize + kLanes];
};

// Whether any row is touched.
struct InterleavedTouch : InterleavedMotion {
  float sure_limit;  // a row that surely has been touched by this time is within the true limit
  std::size_t depth, found;
  std::uint32_t sure;  // bit k: rows[k] surely is touched within the limit; the others may be
  std::int32_t rows[kLanes];
  std::int32_t stack[kStackSize + kLanes];
};

// The rows that may be touched, block by block, the nearest blocks first: the caller tests them and lowers the limit.
struct InterleavedVisit : InterleavedMotion {
  std::size_t depth, found;
  bool is_ahead;  // for the caller
  // The farthest first.
  std::int32_t rows[kLanes];
  float row_key[kLanes];
  std::int32_t stack[kStackSize + kLanes];
  float key[kStackSize + kLanes];
};

// The rows that may be among those nearest to a point, which is measured as that of a NearWalk. The limit is lowered to
// what bounds the keys of the rows that are wanted.
struct InterleavedNear {
  static constexpr std::size_t kMostWanted = 2 * kLanes, kRoom = 64;

  const float* memory;                // of the blocks of its tree
  float low[4], high[4], outside[4];  // the center rounded down and up, and `outside` of NearWalk
  float limit;                        // as OrderedWalk
  float factor, rest;       // a row that is as near as one with a key may have the key times one, and the other
  std::size_t wanted;       // rows
  float best[kMostWanted];  // the smallest keys of rows so far, ascending; infinite behind them
  bool crowded;             // more than kRoom rows are within the limit: some are missing
  std::size_t depth, found;
  // Rows that may be wanted, and their keys: those beyond the limit are not.
  std::int32_t rows[kRoom + kLanes];
  float row_key[kRoom + kLanes];
  std::int32_t stack[kStackSize + kLanes];
  float key[kStackSize + kLanes];
};

template <class Motion>
struct Interleaved {
  static constexpr std::size_t kMost = 8;

  std::uint64_t visited = 0;  // blocks so far
  std::size_t count = 0;      // of those on their motion
  std::size_t next = 0;       // which goes on, as a place in `active`
  std::uint32_t active[kMost];
  Motion motion[kMost];
};

}  // namespace broadphase
