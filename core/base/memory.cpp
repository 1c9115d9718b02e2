#include "base/memory.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>

#include <cstdint>
#endif

namespace broadphase {

namespace {

// Of the blocks that wait, in all. One that would make it more pushes out those that have waited longest.
constexpr std::size_t kMostSpare = std::size_t{1} << 27;
constexpr std::size_t kPage = std::size_t{1} << 12, kLargePage = std::size_t{1} << 21;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

#if defined(__linux__)

void* system_block(std::size_t bytes) {
  const auto map = [](std::size_t size) -> void* {
    void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? nullptr : block;
  };
  if (bytes < 2 * kLargePage) return map(bytes);
  // The system gives large pages to addresses that are multiples of their size.
  auto* first = static_cast<std::byte*>(map(bytes + kLargePage));
  if (first == nullptr) return map(bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  const std::size_t before = rounded_up(address, kLargePage) - address;
  if (before > 0) munmap(first, before);
  munmap(first + before + bytes, kLargePage - before);
  madvise(first + before, bytes, MADV_HUGEPAGE);  // a hint: the result does not matter
  return first + before;
}

void free_system_block(void* block, std::size_t bytes) { munmap(block, bytes); }

#else

void* system_block(std::size_t bytes) { return std::malloc(bytes); }
void free_system_block(void* block, std::size_t) { std::free(block); }

#endif

// The blocks that wait, the longest first. Never destroyed: arrays of Python's can outlive what is destroyed at exit.
struct Spare {
  struct Block {
    void* at;
    std::size_t bytes;
  };
  std::array<Block, 64> blocks{};
  std::size_t count = 0, bytes = 0;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;

  Block remove(std::size_t which) {
    const Block block = blocks[which];
    for (std::size_t k = which + 1; k < count; ++k) blocks[k - 1] = blocks[k];
    --count;
    bytes -= block.bytes;
    return block;
  }
};
constinit Spare spare;

// If another thread holds it, or held it when this process was forked, memory is allocated as usual.
class Hold {
 public:
  Hold() : held_(!spare.busy.test_and_set(std::memory_order_acquire)) {}
  ~Hold() {
    if (held_) spare.busy.clear(std::memory_order_release);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_;
};

}  // namespace

void* take_block(std::size_t& bytes) {
  bytes = rounded_up(bytes, bytes >= 2 * kLargePage ? kLargePage : kPage);
  if (const Hold hold; hold) {
    // The smallest that suffices; not one of more than twice the size, which somebody else may need.
    std::size_t best = spare.count;
    for (std::size_t k = 0; k < spare.count; ++k) {
      const std::size_t has = spare.blocks[k].bytes;
      if (has >= bytes && has / 2 <= bytes && (best == spare.count || has < spare.blocks[best].bytes)) best = k;
    }
    if (best < spare.count) {
      const Spare::Block block = spare.remove(best);
      bytes = block.bytes;
      return block.at;
    }
  }
  void* block = system_block(bytes);
  if (block == nullptr && drop_spare_blocks()) block = system_block(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void give_block(void* block, std::size_t bytes) noexcept {
  if (bytes <= kMostSpare) {
    if (const Hold hold; hold) {
      while (spare.count == spare.blocks.size() || spare.bytes + bytes > kMostSpare) {
        const Spare::Block oldest = spare.remove(0);
        free_system_block(oldest.at, oldest.bytes);
      }
      spare.blocks[spare.count++] = {block, bytes};
      spare.bytes += bytes;
      return;
    }
  }
  free_system_block(block, bytes);
}

bool drop_spare_blocks() noexcept {
  const Hold hold;
  if (!hold || spare.count == 0) return false;
  while (spare.count > 0) {
    const Spare::Block block = spare.remove(spare.count - 1);
    free_system_block(block.at, block.bytes);
  }
  return true;
}

}  // namespace broadphase
