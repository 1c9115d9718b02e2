// A set of boxes where it lies: the caller's memory, read-only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace broadphase {

// Corner k of row i is at lower[i * lower_stride + k]; strides count elements, not bytes, and may be anything.
// The coordinates of one corner are contiguous. Lives as long as the caller's arrays.
template <class T>
struct BoxView {
  const T* lower = nullptr;
  const T* upper = nullptr;
  std::ptrdiff_t lower_stride = 0;
  std::ptrdiff_t upper_stride = 0;
  std::size_t count = 0;

  const T* lower_of(std::size_t row) const { return lower + static_cast<std::ptrdiff_t>(row) * lower_stride; }
  const T* upper_of(std::size_t row) const { return upper + static_cast<std::ptrdiff_t>(row) * upper_stride; }
  BoxView part(std::size_t begin, std::size_t end) const {
    return {lower_of(begin), upper_of(begin), lower_stride, upper_stride, end - begin};
  }
};

// Copies each box to its row of `kept`, which has D lower and D upper numbers a row; null rows: 0, 1, 2... The boxes
// have been checked, but another thread may have written to them since: what is kept are boxes in any case.
template <std::size_t D, class T>
void keep_boxes(const BoxView<T>& boxes, const std::int32_t* rows, T* kept) {
  for (std::size_t i = 0; i < boxes.count; ++i) {
    T* to = kept + (rows != nullptr ? static_cast<std::size_t>(rows[i]) : i) * 2 * D;
    const T *lower = boxes.lower_of(i), *upper = boxes.upper_of(i);
    for (std::size_t k = 0; k < D; ++k) {
      const T low = lower[k], high = upper[k];
      const bool is_valid = low <= high;
      to[k] = is_valid ? low : T(0);
      to[D + k] = is_valid ? high : T(0);
    }
  }
}

// The pointer may be null if there are none: then nothing is added to it.
template <class T>
BoxView<T> view_of_rows(const T* corners, std::size_t dimension, std::size_t count) {
  if (count == 0) return {};
  const auto stride = static_cast<std::ptrdiff_t>(2 * dimension);
  return {corners, corners + dimension, stride, stride, count};
}

}  // namespace broadphase
