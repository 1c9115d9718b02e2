// Boxes as structure of arrays, the form that the kernels read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.hpp"
#include "boxes/box_view.hpp"

namespace broadphase {

// 2 * D columns, lower ones first, each aligned and readable for 64 values past its end, as kernels require.
template <class T>
class BoxColumns {
 public:
  BoxColumns() = default;
  BoxColumns(std::size_t count, std::size_t dimension) : dimension_(dimension) {
    // Columns a power of two apart would compete for the same few places in the cache: hence the odd 64 bytes.
    const std::size_t per_line = kAlignment / sizeof(T);
    stride_ = (count + kPadding + per_line - 1) / per_line * per_line + per_line;
    memory_ = allocate_plain<T>(stride_ * 2 * dimension + per_line);
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(memory_.get()) % kAlignment / sizeof(T);
    T* const first = memory_.get() + (per_line - beyond) % per_line;
    for (std::size_t k = 0; k < 2 * dimension; ++k) {
      T* column = first + k * stride_;
      for (std::size_t j = count; j < stride_; ++j) column[j] = T(0);
      column_[k] = column;
    }
  }

  T* lower(std::size_t k) { return column_[k]; }
  T* upper(std::size_t k) { return column_[dimension_ + k]; }
  const T* lower(std::size_t k) const { return column_[k]; }
  const T* upper(std::size_t k) const { return column_[dimension_ + k]; }
  const T* const* pointers() const { return column_; }

  std::size_t bytes() const { return stride_ * 2 * dimension_ * sizeof(T); }

  // The box at a position as the kernels take it: `box` has room for 2 * D values.
  void gather(std::size_t position, T* box) const {
    for (std::size_t k = 0; k < 2 * dimension_; ++k) box[k] = column_[k][position];
  }

 private:
  static constexpr std::size_t kAlignment = 64, kPadding = 64;

  PlainMemory<T> memory_;
  T* column_[8] = {};
  std::size_t dimension_ = 0, stride_ = 0;
};

// True if the box has an interior after growing: others overlap nothing where boxes are open.
template <class T>
bool has_interior(const T* lower, const T* upper, std::size_t dimension, T grow) {
  bool interior = true;
  for (std::size_t k = 0; k < dimension; ++k) interior &= lower[k] - grow < upper[k] + grow;
  return interior;
}

}  // namespace broadphase
