// Where things are in a block: eight boxes side by side, so that one comparison tests all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadphase {

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

}  // namespace broadphase
