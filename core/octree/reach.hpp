// What reaches into a cell from outside: the lists that a walk down an octree carries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/plain_array.hpp"
#include "simd/kernels.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// Boxes as structure of arrays, each with a number; used as a stack.
class BoxStack {
 public:
  // Kernels read up to so many values behind the last.
  static constexpr std::size_t kSlack = 64;

  // Empty, for boxes of so many dimensions.
  void start(std::size_t dimension) {
    if (dimension != dimension_) *this = BoxStack();
    dimension_ = dimension;
    size_ = 0;
  }
  std::size_t size() const { return size_; }
  std::int32_t number(std::size_t at) const { return numbers_[at]; }
  const float* const* columns() const { return columns_; }
  void cut(std::size_t size) { size_ = size; }

  // Throws bad_alloc, and then nothing has changed.
  void push(const float* box, std::int32_t number) {
    room(1);
    for (std::size_t k = 0; k < 2 * dimension_; ++k) column(k)[size_] = box[k];
    numbers_[size_++] = number;
  }
  void get(std::size_t at, float* box) const {
    for (std::size_t k = 0; k < 2 * dimension_; ++k) box[k] = columns_[k][at];
  }
  // Copies entries of its own.
  void push_from(const std::uint32_t* positions, std::size_t count) {
    room(count);
    for (std::size_t k = 0; k < 2 * dimension_; ++k) {
      float* to = column(k);
      for (std::size_t i = 0; i < count; ++i) to[size_ + i] = to[positions[i]];
    }
    for (std::size_t i = 0; i < count; ++i) numbers_[size_ + i] = numbers_[positions[i]];
    size_ += count;
  }

 private:
  float* column(std::size_t k) { return values_.get() + k * capacity_; }
  void room(std::size_t count) {
    if (size_ + count + kSlack <= capacity_) return;
    const std::size_t capacity = 2 * (size_ + count) + 512;
    PlainArray<float> values;
    PlainArray<std::int32_t> numbers;
    values.grow(2 * dimension_ * capacity);
    numbers.grow(capacity);
    // Kernels load a little behind what was pushed: never memory that nobody has written.
    std::fill_n(values.get(), values.size(), 0.0F);
    for (std::size_t k = 0; k < 2 * dimension_; ++k) {
      if (size_ > 0) std::memcpy(values.get() + k * capacity, columns_[k], size_ * sizeof(float));
      columns_[k] = values.get() + k * capacity;
    }
    if (size_ > 0) std::memcpy(numbers.get(), numbers_.get(), size_ * sizeof(std::int32_t));
    values_ = std::move(values);
    numbers_ = std::move(numbers);
    capacity_ = capacity;
  }

  std::size_t dimension_ = 0, size_ = 0, capacity_ = 0;
  PlainArray<float> values_;
  PlainArray<std::int32_t> numbers_;
  const float* columns_[8] = {};
};

// Three stacks side by side: rows of the first kind, rows of the second, cells. See OctreeWalk for the kinds.
struct OctreeReach {
  static constexpr std::size_t kCells = 2;
  struct Mark {
    std::size_t at[3];
  };
  Mark mark() const { return {{stack[0].size(), stack[1].size(), stack[2].size()}}; }
  void cut(const Mark& mark) {
    for (std::size_t k = 0; k < 3; ++k) stack[k].cut(mark.at[k]);
  }

  void start(std::size_t dimension) {
    for (BoxStack& each : stack) each.start(dimension);
  }

  BoxStack stack[3];
};

}  // namespace broadphase
