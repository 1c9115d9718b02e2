// Replaces operator new, and malloc where the linker can put a function in between (--wrap=malloc). Not in the file of
// the test: compilers warn of a mismatch where they see into both operator new and operator delete.
#include "failing_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long long> allowance{-1};

bool refused() {
  if (allowance.load(std::memory_order_relaxed) < 0) return false;
  if (allowance.fetch_sub(1, std::memory_order_relaxed) > 0) return false;
  allowance.store(0, std::memory_order_relaxed);  // and every later one: memory does not come back by itself
  return true;
}

}  // namespace

#if defined(BROADPHASE_WRAP_MALLOC)
extern "C" void* __real_malloc(std::size_t size);
extern "C" void* __wrap_malloc(std::size_t size);
extern "C" void* __wrap_malloc(std::size_t size) { return refused() ? nullptr : __real_malloc(size); }
#define BROADPHASE_PLAIN_MALLOC __real_malloc
#else
#define BROADPHASE_PLAIN_MALLOC std::malloc
#endif

void* operator new(std::size_t size) {
  void* memory = refused() ? nullptr : BROADPHASE_PLAIN_MALLOC(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#if !defined(_WIN32)
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* memory = nullptr;
  if (refused() || posix_memalign(&memory, static_cast<std::size_t>(alignment), size > 0 ? size : 1) != 0)
    throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

void broadphase::tests::allow_allocations(long long count) { allowance = count; }
