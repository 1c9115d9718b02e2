// The boxes of bodies in an index, which are larger than those of the shapes, so that they need not follow every
// motion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "world/motion.hpp"

namespace broadphase {

// Boxes are D lower and D upper numbers each.

// Appends the rows that are flagged as behind, are in use, and whose boxes are not within those kept: ascending.
template <std::size_t D>
void add_rows_that_left(const double* boxes, const double* kept, const std::uint8_t* behind, const std::uint8_t* alive,
                        std::size_t slots, std::vector<std::int32_t>& rows) {
  for_moving_rows(behind, slots, [&](std::size_t begin, auto length) {
    for (std::size_t row = begin; row < begin + length(); ++row) {
      const double *box = boxes + row * 2 * D, *within = kept + row * 2 * D;
      bool left = false;
      for (std::size_t axis = 0; axis < D; ++axis)
        left |= (box[axis] < within[axis]) | (box[D + axis] > within[D + axis]);
      if (left && alive[row] != 0) rows.push_back(static_cast<std::int32_t>(row));
    }
    return true;
  });
}

// Writes a box that is larger on both sides by a share of its extents, where these are finite, and by a length.
template <std::size_t D>
void enlarge(const double* box, double share, double length, double* to) {
  for (std::size_t axis = 0; axis < D; ++axis) {
    const double extent = box[D + axis] - box[axis], reach = (is_finite(extent) ? share * extent : 0.0) + length;
    to[axis] = box[axis] - reach;
    to[D + axis] = box[D + axis] + reach;
  }
}

}  // namespace broadphase
