// A set of boxes where it lies: the caller's memory, read-only.
#pragma once

#include <cstddef>

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
};

}  // namespace broadphase
