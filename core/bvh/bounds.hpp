// Unions of local boxes, their surface area, and the place of a row or block in a tree.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tree/blocks.hpp"

namespace broadphase {

// Place of a row or of a child block: the block that holds it, and the lane in it.
inline constexpr std::uint32_t kNoPlace = 0xffffffffu;
inline std::uint32_t place_of(std::int32_t block, std::size_t lane) {
  return static_cast<std::uint32_t>(block) * static_cast<std::uint32_t>(kLanes) + static_cast<std::uint32_t>(lane);
}
inline std::int32_t block_of(std::uint32_t place) { return static_cast<std::int32_t>(place / kLanes); }
inline std::size_t lane_of(std::uint32_t place) { return place % kLanes; }

// Calls use(lane) for every set bit, ascending.
template <class Use>
void for_each_lane(std::int32_t bits, Use&& use) {
  for (auto rest = static_cast<std::uint32_t>(bits); rest != 0; rest &= rest - 1)
    use(static_cast<std::size_t>(std::countr_zero(rest)));
}

// The union of boxes as a tree's lanes hold them: lower corner, then upper corner.
template <class Number>
struct LocalBounds {
  Number box[8];
  std::size_t dimension;

  explicit LocalBounds(std::size_t d) : dimension(d) {
    std::fill_n(box, d, std::numeric_limits<Number>::infinity());
    std::fill_n(box + d, d, -std::numeric_limits<Number>::infinity());
  }
  void add(const Number* other) {
    for (std::size_t k = 0; k < dimension; ++k) {
      box[k] = other[k] < box[k] ? other[k] : box[k];
      box[dimension + k] = other[dimension + k] > box[dimension + k] ? other[dimension + k] : box[dimension + k];
    }
  }
};

// Of the lanes in use, each read by read(lane, box).
template <class Number, class Read>
LocalBounds<Number> union_of(const Blocks& blocks, std::int32_t block, const Read& read) {
  LocalBounds<Number> bounds(blocks.dimension());
  Number box[8];
  for_each_lane(blocks.occupied(block), [&](std::size_t lane) {
    read(lane, box);
    bounds.add(box);
  });
  return bounds;
}
template <class Number>
LocalBounds<Number> bounds_of(const Blocks& blocks, std::int32_t block) {
  return union_of<Number>(blocks, block, [&](std::size_t lane, Number* box) { blocks.get_box(block, lane, box); });
}
// As doubles, whether the blocks are wide or not.
inline LocalBounds<double> read_bounds(const Blocks& blocks, std::int32_t block) {
  return union_of<double>(blocks, block, [&](std::size_t lane, double* box) { blocks.read_box(block, lane, box); });
}

// Extents of boxes count up to this when their areas are compared, so that sums and differences stay finite: a million
// times the scene, or nearly all that doubles hold.
template <class Number>
inline constexpr Number kMostExtent = sizeof(Number) == sizeof(float) ? Number(1e6) : Number(0x1p300);

// Half the surface area of a box, which is proportional to the probability that a random ray hits it; the length in
// 1-d. Extents count up to `most`.
template <class Number>
Number half_area(const Number* box, std::size_t dimension, Number most = kMostExtent<Number>) {
  Number extent[4] = {};
  for (std::size_t k = 0; k < dimension; ++k) extent[k] = std::min(most, box[dimension + k] - box[k]);
  switch (dimension) {
    case 1: return extent[0];
    case 2: return extent[0] + extent[1];
    case 3: return extent[0] * extent[1] + (extent[0] + extent[1]) * extent[2];
    default: return extent[0] * extent[1] * (extent[2] + extent[3]) + (extent[0] + extent[1]) * extent[2] * extent[3];
  }
}

}  // namespace broadphase
