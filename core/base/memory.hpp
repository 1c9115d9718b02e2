// Plain memory, in large pages where there is much of it, and growing arrays of plain data that are not zeroed first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace broadphase {

struct FreeMemory {
  void operator()(void* block) const { std::free(block); }
};
template <class T>
using PlainMemory = std::unique_ptr<T[], FreeMemory>;

// Not zeroed. Throws bad_alloc. Above a few megabytes the system is asked for large pages: with small ones, taking and
// first touching the memory is a third of the time of a call on a million boxes.
template <class T>
PlainMemory<T> allocate_plain(std::size_t count) {
  std::size_t bytes = (count > 0 ? count : 1) * sizeof(T);
  void* block = nullptr;
#if defined(__linux__)
  constexpr std::size_t kLargePage = std::size_t{1} << 21;
  if (bytes >= 2 * kLargePage) {
    bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
    block = std::aligned_alloc(kLargePage, bytes);
    if (block != nullptr) madvise(block, bytes, MADV_HUGEPAGE);  // a hint: the result does not matter
  } else {
    block = std::malloc(bytes);
  }
#else
  block = std::malloc(bytes);
#endif
  if (block == nullptr) throw std::bad_alloc();
  return PlainMemory<T>(static_cast<T*>(block));
}

// A growing array of plain data.
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

// Room for `size` entries, at least half as many again as before where it grows: `vector::reserve` grows to exactly
// what it is given, so reserving for one entry more each time would copy all of them each time. Throws bad_alloc, and
// then nothing has changed.
template <class T>
void reserve_ahead(std::vector<T>& values, std::size_t size) {
  if (size > values.capacity()) values.reserve(std::max(size, values.capacity() + values.capacity() / 2));
}

}  // namespace broadphase
