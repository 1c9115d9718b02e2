// A growing array of plain data that is not zeroed first.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

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
    auto* data = static_cast<T*>(std::realloc(data_.get(), size * sizeof(T)));
    if (data == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(data);
    size_ = size;
  }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace broadphase
