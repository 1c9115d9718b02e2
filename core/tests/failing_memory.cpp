// Replaces operator new in all its forms, and malloc and mmap where the linker can put functions in between (--wrap).
// Not in the file of the test: compilers warn of a mismatch where they see into both operator new and operator delete.
#include "failing_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/memory.hpp"

#if defined(_WIN32)
#include <malloc.h>
#endif
#if defined(BROADPHASE_WRAP_MALLOC)
#include <sys/mman.h>
#endif

namespace {

std::atomic<long long> allowance{-1};
std::atomic<std::size_t> bound{0}, largest{0};

bool refused(std::size_t size) {
  std::size_t seen = largest.load(std::memory_order_relaxed);
  while (size > seen && !largest.compare_exchange_weak(seen, size, std::memory_order_relaxed)) {
  }
  const std::size_t most = bound.load(std::memory_order_relaxed);
  if (most > 0 && size > most) return true;
  if (allowance.load(std::memory_order_relaxed) < 0) return false;
  if (allowance.fetch_sub(1, std::memory_order_relaxed) > 0) return false;
  allowance.store(0, std::memory_order_relaxed);  // and every later one: memory does not come back by itself
  return true;
}

}  // namespace

// Spare blocks would be given without asking the system.
void broadphase::tests::allow_allocations(long long count) {
  drop_spare_blocks();
  allowance = count;
}
void broadphase::tests::refuse_blocks_above(std::size_t bytes) {
  drop_spare_blocks();
  bound = bytes;
}
std::size_t broadphase::tests::largest_block_asked_for() { return largest.exchange(0); }

#if defined(BROADPHASE_WRAP_MALLOC)
extern "C" void* __real_malloc(std::size_t size);
extern "C" void* __wrap_malloc(std::size_t size);
extern "C" void* __wrap_malloc(std::size_t size) { return refused(size) ? nullptr : __real_malloc(size); }
extern "C" void* __real_mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset);
extern "C" void* __wrap_mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset);
extern "C" void* __wrap_mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) {
  return refused(size) ? MAP_FAILED : __real_mmap(at, size, protection, flags, file, offset);
}
#define BROADPHASE_PLAIN_MALLOC __real_malloc
#else
#define BROADPHASE_PLAIN_MALLOC std::malloc
#endif

namespace {

void* plain(std::size_t size) { return refused(size) ? nullptr : BROADPHASE_PLAIN_MALLOC(size > 0 ? size : 1); }

void* aligned(std::size_t size, std::align_val_t alignment) {
  if (refused(size)) return nullptr;
  if (size == 0) size = 1;
#if defined(_WIN32)
  return _aligned_malloc(size, static_cast<std::size_t>(alignment));
#else
  void* memory = nullptr;
  return posix_memalign(&memory, static_cast<std::size_t>(alignment), size) == 0 ? memory : nullptr;
#endif
}

void free_aligned(void* memory) {
#if defined(_WIN32)
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return or_throw(plain(size)); }
void* operator new[](std::size_t size) { return or_throw(plain(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return plain(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return plain(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return or_throw(aligned(size, alignment)); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return or_throw(aligned(size, alignment)); }

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free_aligned(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { free_aligned(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { free_aligned(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { free_aligned(memory); }
