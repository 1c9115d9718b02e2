// Which of the boxes that seem to overlap another one, rounded outwards like it, surely do.
#pragma once

#include <cstddef>
#include <limits>
#include <utility>

#include "tree/local_frame.hpp"

namespace broadphase {

// Moves a box in local coordinates, D lower then D upper, inwards: one that overlaps it, as it is rounded, surely
// overlaps the box. NaN where that cannot be told.
inline void move_inwards(const float* box, std::size_t dimension, float* inner) {
  for (std::size_t k = 0; k < dimension; ++k) {
    inner[k] = surely_above(static_cast<double>(box[k]));
    inner[dimension + k] = -surely_above(static_cast<double>(-box[dimension + k]));
  }
}

// Whether one of some columns, lower ones first, surely overlaps a box that was moved inwards. `open`: the interiors
// are to meet; that of the other box is left to the caller.
inline bool surely_overlaps(const float* inner, const float* const* columns, std::size_t at, std::size_t dimension,
                            bool open) {
  bool all = true;
  for (std::size_t k = 0; k < dimension; ++k) {
    const float lower = columns[k][at], upper = columns[dimension + k][at];
    all &= (inner[k] <= upper) & (lower <= inner[dimension + k]);
    if (open) all &= surely_above(static_cast<double>(lower)) <= upper;
  }
  return all;
}

// The same of closed boxes, with the number of axes known: compilers unroll it then, and keep the box in registers.
template <std::size_t D>
bool surely_overlaps(const float (&inner)[2 * D], const float* const (&columns)[2 * D], std::size_t at) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return (((inner[K] <= columns[D + K][at]) & (columns[K][at] <= inner[D + K])) & ...);
  }(std::make_index_sequence<D>());
}

}  // namespace broadphase
