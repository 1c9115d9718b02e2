#include "base/memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#define BROADPHASE_MAPS
#if defined(__linux__) && !defined(MADV_FREE)
#define MADV_FREE 8  // older C libraries do not name it
#endif
#endif

namespace broadphase {

namespace {

// Of the blocks that wait, those that keep their pages, in all.
constexpr std::size_t kMostHeld = std::size_t{1} << 27;
constexpr std::size_t kPage = std::size_t{1} << 12, kLargePage = std::size_t{1} << 21;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

#if defined(BROADPHASE_MAPS)

void* system_block(std::size_t bytes) {
  const auto map = [](std::size_t size) -> void* {
    void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? nullptr : block;
  };
#if defined(__linux__)
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
#else
  return map(bytes);
#endif
}

void free_system_block(void* block, std::size_t bytes) { munmap(block, bytes); }

// Lets the system take the pages of a block whenever it runs short of memory. Those that it has not taken are as they
// were when they are next written to, at no cost; the others are zeroed, as those of a new block. False if it cannot.
bool offer_pages(void* block, std::size_t bytes) { return madvise(block, bytes, MADV_FREE) == 0; }

std::uint64_t memory_of_machine() {
  static const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

std::uint64_t most_addresses() {
  rlimit limit{};
  const bool is_known = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_known ? limit.rlim_cur : std::numeric_limits<std::size_t>::max();
}

#else

void* system_block(std::size_t bytes) { return std::malloc(bytes); }
void free_system_block(void* block, std::size_t) { std::free(block); }
bool offer_pages(void*, std::size_t) { return false; }
std::uint64_t memory_of_machine() { return 0; }
std::uint64_t most_addresses() { return 0; }

#endif

// The blocks that wait, the longest first. Never destroyed: arrays of Python's can outlive what is destroyed at exit.
struct Spare {
  struct Block {
    void* at;
    std::size_t bytes;
  };
  std::array<Block, 64> blocks{};
  std::size_t count = 0, bytes = 0;
  std::size_t offered = 0, held = 0;  // the first so many are offered to the system; bytes of the others
  std::atomic_flag busy = ATOMIC_FLAG_INIT;

  Block remove(std::size_t which) {
    const Block block = blocks[which];
    for (std::size_t k = which + 1; k < count; ++k) blocks[k - 1] = blocks[k];
    --count;
    bytes -= block.bytes;
    if (which < offered)
      --offered;
    else
      held -= block.bytes;
    return block;
  }
  void free(std::size_t which) {
    const Block block = remove(which);
    free_system_block(block.at, block.bytes);
  }
  void add(const Block& block) {
    blocks[count++] = block;
    bytes += block.bytes;
    held += block.bytes;
    while (held > kMostHeld) {
      const Block& oldest = blocks[offered];
      if (!offer_pages(oldest.at, oldest.bytes)) {
        free(offered);
        continue;
      }
      held -= oldest.bytes;
      ++offered;
    }
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
    // In place of offered ones: with those, no more is ever in use than was at once before.
    for (std::size_t freed = 0; freed < bytes && spare.offered > 0; spare.free(0)) freed += spare.blocks[0].bytes;
  }
  void* block = system_block(bytes);
  if (block == nullptr && drop_spare_blocks()) block = system_block(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void give_block(void* block, std::size_t bytes) noexcept {
  if (const Hold hold; hold) {
    const std::size_t most = spare.bytes + bytes > kMostHeld ? most_spare_bytes() : kMostHeld;
    if (bytes <= most) {
      while (spare.count == spare.blocks.size() || spare.bytes + bytes > most) spare.free(0);
      return spare.add({block, bytes});
    }
  }
  free_system_block(block, bytes);
}

std::size_t most_spare_bytes() noexcept {
  constexpr std::uint64_t kOneOf = 8;
  return std::max(kMostHeld, static_cast<std::size_t>(std::min(memory_of_machine(), most_addresses()) / kOneOf));
}

bool drop_spare_blocks() noexcept {
  const Hold hold;
  if (!hold || spare.count == 0) return false;
  while (spare.count > 0) spare.free(spare.count - 1);
  return true;
}

}  // namespace broadphase
