// Are boxes legal: no NaN, and lower <= upper along every axis?
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "base/parallel.hpp"
#include "boxes/box_view.hpp"

namespace broadphase {

// True if no box has NaN or lower > upper.
template <class T>
bool all_valid(const BoxView<T>& boxes, std::size_t dimension, unsigned workers, Interrupt& interrupt) {
  std::atomic<bool> all{true};
  in_stretches_on_threads(boxes.count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
    bool valid = true;
    for (std::size_t row = begin; row < end; ++row) {
      const T *lower = boxes.lower_of(row), *upper = boxes.upper_of(row);
      for (std::size_t k = 0; k < dimension; ++k) valid &= lower[k] <= upper[k];  // false for NaN
    }
    if (!valid) all.store(false, std::memory_order_relaxed);
  });
  return all.load(std::memory_order_relaxed);
}

namespace detail {

// Of the boxes [from, to); `to` if there is none.
template <std::size_t D, class T>
std::size_t first_invalid(const BoxView<T>& boxes, std::size_t from, std::size_t to) {
  constexpr std::size_t kTogether = 256;
  for (std::size_t begin = from; begin < to; begin += kTogether) {
    const std::size_t end = std::min(to, begin + kTogether);
    // One branch for many boxes: nearly always all are valid.
    bool valid = true;
    for (std::size_t row = begin; row < end; ++row) {
      const T *lower = boxes.lower_of(row), *upper = boxes.upper_of(row);
      bool is_valid = lower[0] <= upper[0];  // rows need not wait for each other
      if constexpr (D > 1) is_valid &= lower[1] <= upper[1];
      if constexpr (D > 2) is_valid &= lower[2] <= upper[2];
      if constexpr (D > 3) is_valid &= lower[3] <= upper[3];
      valid &= is_valid;
    }
    for (std::size_t row = begin; !valid && row < end; ++row)
      for (std::size_t k = 0; k < D; ++k)
        if (!(boxes.lower_of(row)[k] <= boxes.upper_of(row)[k])) return row;
  }
  return to;
}

}  // namespace detail

// The first box with NaN or lower > upper; their number if there is none.
template <std::size_t D, class T>
std::size_t first_invalid(const BoxView<T>& boxes, unsigned workers, Interrupt& interrupt) {
  std::atomic<std::size_t> first{boxes.count};
  in_stretches_on_threads(boxes.count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
    const std::size_t row = detail::first_invalid<D>(boxes, begin, end);
    if (row == end) return;
    std::size_t least = first.load(std::memory_order_relaxed);
    while (row < least && !first.compare_exchange_weak(least, row, std::memory_order_relaxed)) {
    }
  });
  return first.load(std::memory_order_relaxed);
}

}  // namespace broadphase
