// What is done to every box on its way into an index: is it one, and where it is kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "boxes/box_view.hpp"

namespace broadphase {

// The first box with NaN or lower > upper; their number if there is none.
template <std::size_t D, class T>
std::size_t first_invalid(const BoxView<T>& boxes) {
  constexpr std::size_t kTogether = 256;
  for (std::size_t begin = 0; begin < boxes.count; begin += kTogether) {
    const std::size_t end = std::min(boxes.count, begin + kTogether);
    // One branch for many boxes: nearly always all are valid.
    bool valid = true;
    for (std::size_t row = begin; row < end; ++row) {
      const T *lower = boxes.lower_of(row), *upper = boxes.upper_of(row);
      for (std::size_t k = 0; k < D; ++k) valid &= lower[k] <= upper[k];
    }
    for (std::size_t row = begin; !valid && row < end; ++row)
      for (std::size_t k = 0; k < D; ++k)
        if (!(boxes.lower_of(row)[k] <= boxes.upper_of(row)[k])) return row;
  }
  return boxes.count;
}

// Copies each box to its row of `kept`, which has D lower and D upper numbers a row; null rows: 0, 1, 2...
template <std::size_t D, class T>
void keep_boxes(const BoxView<T>& boxes, const std::int32_t* rows, T* kept) {
  for (std::size_t i = 0; i < boxes.count; ++i) {
    T* to = kept + (rows != nullptr ? static_cast<std::size_t>(rows[i]) : i) * 2 * D;
    const T *lower = boxes.lower_of(i), *upper = boxes.upper_of(i);
    for (std::size_t k = 0; k < D; ++k) {
      to[k] = lower[k];
      to[D + k] = upper[k];
    }
  }
}

}  // namespace broadphase
