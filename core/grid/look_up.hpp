// What the kernel that looks up boxes in cells and its caller hand to each other. Plain data: this header is read by
// every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "grid/record.hpp"

namespace broadphase {

// Boxes by cell, and by row in each. A cell has whole blocks of 32 entries, the last one filled up with what overlaps
// nothing, as columns one behind the other: along each axis lower numbers and negated upper ones, as in Record; the
// axes along which a box began before the cell, as bits; and rows, of 32 bits.
struct FiledBoxes {
  const std::int16_t* words;   // aligned as a line of cache
  const std::uint32_t* start;  // of each cell, in blocks; and the end of the last
  std::int32_t cell_stride[4];
};
constexpr std::size_t words_of_block(std::size_t dimension) { return (2 * dimension + 3) * kBlockLanes; }

// How many rows a query has found.
struct FoundRows {
  std::uint32_t count;
  bool in_order;
  bool sure;  // they overlap the query; otherwise some numbers were equal, and the boxes themselves decide
};

// Queries to be looked up one after the other.
struct LookUps {
  const FiledBoxes* boxes;
  const std::int32_t* steps;  // of each query the lower numbers and then the upper ones, from the origin of the scene
  std::size_t count;
  std::int32_t* found;  // the rows of all queries
  std::size_t room;     // for rows; where they end, there is room for 32 more
  FoundRows* answers;   // of each query
};

}  // namespace broadphase
