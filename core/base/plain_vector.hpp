// Vectors of plain data that are not zeroed when they grow: the threads that write the entries touch their pages first.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory.hpp"

namespace broadphase {

// Memory of allocate_plain(), in front of which there is how large it is.
template <class T>
class PlainAllocator {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;

  PlainAllocator() = default;
  template <class U>
  explicit PlainAllocator(const PlainAllocator<U>&) {}
  friend bool operator==(const PlainAllocator&, const PlainAllocator&) { return true; }

  T* allocate(std::size_t count) {
    PlainMemory<std::byte> block = allocate_plain<std::byte>(kInFront + count * sizeof(T));
    const std::size_t bytes = block.get_deleter().bytes;
    std::memcpy(block.get(), &bytes, sizeof bytes);
    return reinterpret_cast<T*>(block.release() + kInFront);
  }
  void deallocate(T* entries, std::size_t) noexcept {
    std::byte* const block = reinterpret_cast<std::byte*>(entries) - kInFront;
    std::size_t bytes;
    std::memcpy(&bytes, block, sizeof bytes);
    FreeMemory{bytes}(block);
  }

  // An entry without a value holds anything until it is written.
  template <class U>
  void construct(U*) noexcept {}
  template <class U, class... Arguments>
  void construct(U* entry, Arguments&&... arguments) {
    ::new (static_cast<void*>(entry)) U(std::forward<Arguments>(arguments)...);
  }

 private:
  static constexpr std::size_t kInFront = 64;  // a line of the cache
};

template <class T>
using PlainVector = std::vector<T, PlainAllocator<T>>;

}  // namespace broadphase
