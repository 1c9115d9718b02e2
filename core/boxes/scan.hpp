// One pass over the boxes: are they all legal, and how do they lie?
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/parallel.hpp"
#include "boxes/box_view.hpp"

namespace broadphase {

inline constexpr std::size_t kMaxDimension = 4;

// True if no box has NaN or lower > upper.
template <class T>
bool all_valid(const BoxView<T>& boxes, std::size_t dimension, Interrupt& interrupt) {
  bool valid = true;
  in_stretches(boxes.count, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const T *lower = boxes.lower_of(row), *upper = boxes.upper_of(row);
      for (std::size_t k = 0; k < dimension; ++k) valid &= lower[k] <= upper[k];  // false for NaN
    }
  });
  return valid;
}

}  // namespace broadphase
