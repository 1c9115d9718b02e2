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

namespace broadphase {

// Blocks of this size and larger come from the system itself, elsewhere than on Linux and macOS from `malloc`, and wait
// for the next call when they are given back: the system zeroes the pages of every new block, which took a fifth of the
// time of a call on 100,000 boxes. 128 MB of them keep their pages. More wait on Linux and macOS, up to an eighth of
// the machine's memory, but the system may take their pages for whatever needs memory (`MADV_FREE`): until it does,
// they count as memory of the process. A new block takes the place of such, so that a process never has more than it
// used at once and 128 MB. `malloc` keeps blocks too, but between others that are still in use, and then cannot put
// them together for a larger one: after a call that ran out of memory, another that needs little could fail.
inline constexpr std::size_t kLargeBlock = std::size_t{1} << 17;

// A block of at least `bytes`, which becomes what the block really has. Throws bad_alloc. Any thread.
void* take_block(std::size_t& bytes);
// `bytes`: as `take_block` left them.
void give_block(void* block, std::size_t bytes) noexcept;
// How many bytes of blocks wait at most. One that would make it more pushes out those that have waited longest.
std::size_t most_spare_bytes() noexcept;
// Gives all blocks that wait back to the system; true if there were any.
bool drop_spare_blocks() noexcept;

struct FreeMemory {
  std::size_t bytes = 0;  // of a large block; 0: from malloc
  void operator()(void* block) const {
    if (bytes > 0)
      give_block(block, bytes);
    else
      std::free(block);
  }
};
template <class T>
using PlainMemory = std::unique_ptr<T[], FreeMemory>;

// Not zeroed. Throws bad_alloc.
template <class T>
PlainMemory<T> allocate_plain(std::size_t count) {
  std::size_t bytes = (count > 0 ? count : 1) * sizeof(T);
#if !defined(__SANITIZE_ADDRESS__)  // which sees the ends of blocks from malloc alone
  if (bytes >= kLargeBlock) {
    void* block = take_block(bytes);
    return PlainMemory<T>(static_cast<T*>(block), FreeMemory{bytes});
  }
#endif
  void* block = std::malloc(bytes);
  if (block == nullptr && drop_spare_blocks()) block = std::malloc(bytes);
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
