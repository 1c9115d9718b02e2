// Trees of boxes in blocks of eight: the one data structure that all queries walk, whichever method built it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/memory.hpp"
#include "boxes/box_view.hpp"
#include "tree/local_frame.hpp"
#include "tree/walks.hpp"

namespace broadphase {

// Blocks, addressed by number. The memory grows, and released blocks are used again.
class Blocks {
 public:
  explicit Blocks(std::size_t dimension = 3) : layout_{dimension} {}

  std::size_t dimension() const { return layout_.dimension; }
  const BlockLayout& layout() const { return layout_; }
  std::size_t count() const { return used_ - free_count_; }  // in use
  std::size_t limit() const { return used_; }                // all numbers are below
  std::size_t bytes() const { return capacity_ * layout_.words() * sizeof(float); }
  const float* memory() const { return first_; }

  // Sets all blocks free and keeps the memory.
  void clear() {
    used_ = free_count_ = 0;
    free_ = kNoBlock;
  }

  // Room for this many blocks in total. Throws bad_alloc, and then nothing has changed.
  void reserve(std::size_t blocks) {
    if (blocks <= capacity_) return;
    PlainMemory<float> memory = allocate_plain<float>(blocks * layout_.words() + kLine);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
    float* first = memory.get() + (kLine * sizeof(float) - address % (kLine * sizeof(float))) / sizeof(float) % kLine;
    if (used_ > 0) std::memcpy(first, first_, used_ * layout_.words() * sizeof(float));
    memory_ = std::move(memory);
    first_ = first;
    capacity_ = blocks;
  }

  // A block with no lanes in use. Throws bad_alloc, and then nothing has changed.
  std::int32_t add() {
    std::int32_t block = free_;
    if (block != kNoBlock) {
      free_ = next(block);
      --free_count_;
    } else {
      if (used_ == capacity_) reserve(used_ + used_ / 2 + 16);
      block = static_cast<std::int32_t>(used_++);
    }
    occupied(block) = rows(block) = 0;
    next(block) = parent(block) = kNoBlock;
    return block;
  }
  void release(std::int32_t block) {
    next(block) = free_;
    free_ = block;
    ++free_count_;
  }

  float* lower(std::int32_t block, std::size_t axis) { return at(block) + layout_.lower(axis); }
  float* upper(std::int32_t block, std::size_t axis) { return at(block) + layout_.upper(axis); }
  const float* lower(std::int32_t block, std::size_t axis) const { return at(block) + layout_.lower(axis); }
  const float* upper(std::int32_t block, std::size_t axis) const { return at(block) + layout_.upper(axis); }
  std::int32_t* child(std::int32_t block) { return word(block, layout_.child()); }
  const std::int32_t* child(std::int32_t block) const { return word(block, layout_.child()); }
  std::int32_t& occupied(std::int32_t block) { return *word(block, layout_.occupied()); }
  std::int32_t occupied(std::int32_t block) const { return *word(block, layout_.occupied()); }
  std::int32_t& rows(std::int32_t block) { return *word(block, layout_.rows()); }
  std::int32_t rows(std::int32_t block) const { return *word(block, layout_.rows()); }
  std::int32_t& next(std::int32_t block) { return *word(block, layout_.next()); }
  std::int32_t next(std::int32_t block) const { return *word(block, layout_.next()); }
  std::int32_t& parent(std::int32_t block) { return *word(block, layout_.parent()); }
  std::int32_t parent(std::int32_t block) const { return *word(block, layout_.parent()); }

  std::size_t lanes_in_use(std::int32_t block) const {
    return static_cast<std::size_t>(std::popcount(static_cast<std::uint32_t>(occupied(block))));
  }

  // `box`: lower corner, then upper corner.
  void set_lane(std::int32_t block, std::size_t lane, const float* box, std::int32_t what, bool is_row) {
    set_box(block, lane, box);
    child(block)[lane] = what;
    const auto bit = static_cast<std::int32_t>(1u << lane);
    occupied(block) |= bit;
    rows(block) = is_row ? rows(block) | bit : rows(block) & ~bit;
  }
  void set_box(std::int32_t block, std::size_t lane, const float* box) {
    for (std::size_t k = 0; k < dimension(); ++k) {
      lower(block, k)[lane] = box[k];
      upper(block, k)[lane] = box[dimension() + k];
    }
  }
  void get_box(std::int32_t block, std::size_t lane, float* box) const {
    for (std::size_t k = 0; k < dimension(); ++k) {
      box[k] = lower(block, k)[lane];
      box[dimension() + k] = upper(block, k)[lane];
    }
  }
  void clear_lane(std::int32_t block, std::size_t lane) {
    const auto bit = static_cast<std::int32_t>(1u << lane);
    occupied(block) &= ~bit;
    rows(block) &= ~bit;
  }

 private:
  static constexpr std::size_t kLine = 16;  // floats on a cache line

  float* at(std::int32_t block) const { return first_ + static_cast<std::size_t>(block) * layout_.words(); }
  std::int32_t* word(std::int32_t block, std::size_t offset) const {
    return reinterpret_cast<std::int32_t*>(at(block) + offset);
  }

  BlockLayout layout_;
  PlainMemory<float> memory_;
  float* first_ = nullptr;
  std::size_t used_ = 0, capacity_ = 0, free_count_ = 0;
  std::int32_t free_ = kNoBlock;  // a list linked by `next`
};

// What queries read. `root` is kNoBlock in an empty tree.
struct BlockTree {
  Blocks blocks;
  std::int32_t root = kNoBlock;
  LocalFrame frame;
  // True if a later change brought numbers that this frame rounds although it is exact for those at build time.
  bool lossy = false;

  // True if every row's lane holds exactly the given numbers, scaled by a power of two.
  bool is_exact() const { return frame.exact && !lossy; }
  std::size_t dimension() const { return blocks.dimension(); }
};

// A row's box in local coordinates: lower corner, then upper corner.
template <class T>
void local_box(const LocalFrame& frame, const BoxView<T>& boxes, std::size_t row, std::size_t dimension, float* box) {
  for (std::size_t k = 0; k < dimension; ++k) {
    box[k] = frame.below(static_cast<double>(boxes.lower_of(row)[k]), k);
    box[dimension + k] = frame.above(static_cast<double>(boxes.upper_of(row)[k]), k);
  }
}

// True if local_box() rounds nothing.
template <class T>
bool keeps_box(const LocalFrame& frame, const BoxView<T>& boxes, std::size_t row, std::size_t dimension) {
  bool kept = true;
  for (std::size_t k = 0; k < dimension; ++k)
    kept = kept && frame.keeps(static_cast<double>(boxes.lower_of(row)[k]), k) &&
           frame.keeps(static_cast<double>(boxes.upper_of(row)[k]), k);
  return kept;
}

}  // namespace broadphase
