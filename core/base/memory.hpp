// Plain memory, in large pages where there is much of it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

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
    if (block != nullptr) madvise(block, bytes, MADV_HUGEPAGE);  // a wish; it does no harm where it is not granted
  } else {
    block = std::malloc(bytes);
  }
#else
  block = std::malloc(bytes);
#endif
  if (block == nullptr) throw std::bad_alloc();
  return PlainMemory<T>(static_cast<T*>(block));
}

}  // namespace broadphase
