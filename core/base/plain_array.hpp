// A growing array of plain data that is not zeroed first.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/memory.hpp"

namespace broadphase {

template <class T>
class PlainArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  T* get() const { return data_.get(); }
  T& operator[](std::size_t k) const { return data_[k]; }
  std::size_t size() const { return size_; }

  // At least `size` entries; keeps what it holds. Throws bad_alloc, and then nothing has changed.
  void grow(std::size_t size) {
    if (size <= size_) return;
    PlainMemory<T> data = allocate_plain<T>(size);
    if (size_ > 0) std::memcpy(data.get(), data_.get(), size_ * sizeof(T));
    data_ = std::move(data);
    size_ = size;
  }

 private:
  PlainMemory<T> data_;
  std::size_t size_ = 0;
};

}  // namespace broadphase
