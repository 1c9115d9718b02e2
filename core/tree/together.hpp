// What the kernels of eight queries walked together and their callers hand to each other, besides walks.hpp.
// Plain data: this header is read by every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/kernels.hpp"
#include "tree/walks.hpp"

namespace broadphase {

// Queries around points, eight of them walked together: a block is read once for all eight.
//
// Number q of each array of eight belongs to query q; queries not in use have a negative limit. Points are rounded to
// the nearest floats, and `limit` allows for that.
inline constexpr std::size_t kTogether = 8;
struct PointsWalk {
  const float* memory = nullptr;  // of the blocks
  std::uint64_t visited = 0;      // blocks so far, each once for all eight
  std::size_t depth = 0;          // of the stack
  float center[4][kTogether];     // by axis
  float limit[kTogether];         // squared distance beyond which nothing is wanted
  std::int32_t stack[kStackSize + kLanes];
};

// The nearest rows of each. The kernel walks to the end, and lowers the limits to bounds of the distances of the last
// row wanted: all rows that are wanted are among the candidates, which are nearly in order.
struct NearestTogether : PointsWalk {
  static constexpr std::size_t kMostWanted = 16, kRoom = 64, kLeaves = 32;

  std::size_t wanted = 0;  // rows for each, kMostWanted at most
  float error[kTogether];  // what a distance from the point to the float boxes may lack of the true one
  float key[kStackSize + kLanes];
  // Points of the walk before this one on the same tree, and for as many rows: no row wanted is farther from them than
  // `reach`, which is infinite where nothing is known.
  float before[4][kTogether], reach[kTogether];
  // So many walks go without marks: where more rows than are wanted are mostly as near, they are in vain.
  std::uint32_t unmarked = 0;
  // Blocks with rows, and the squared distances of their rows by lane and query. Where more rows than are wanted may be
  // as near, candidates are listed from them, later, when the limits are lower.
  std::size_t leaves = 0;
  std::int32_t leaf[kLeaves];
  float leaf_key[kLeaves][kLanes][kTogether];
  // The candidates of each query, and their squared distances where they were listed. If there are more than kRoom, the
  // query is `crowded`.
  std::uint32_t crowded = 0;
  std::size_t found[kTogether];
  std::int32_t rows[kTogether][kRoom];
  float row_key[kTogether][kRoom];
};

// The rows of a ball around each point. The kernel returns when a list is full, and goes on when it is called again
// with `found` and `doubts` set back; it has finished when `depth` is 0.
struct BallsTogether : PointsWalk {
  static constexpr std::size_t kRoom = 120, kMostDoubts = 64;

  float sure[kTogether];                      // squared distance up to which a row surely belongs to the ball
  std::uint32_t active[kStackSize + kLanes];  // by block on the stack: the queries that may have rows in it
  std::size_t found[kTogether];
  std::int32_t rows[kTogether][kRoom + kLanes];
  // Rows that may belong to a ball, and to which query's.
  std::size_t doubts = 0;
  std::int32_t doubt_row[kMostDoubts + kTogether * kLanes];
  std::uint32_t doubt_query[kMostDoubts + kTogether * kLanes];
};

}  // namespace broadphase
