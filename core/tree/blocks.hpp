// Trees of boxes in blocks of eight: the one data structure that all queries walk, whichever method built it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/memory.hpp"
#include "base/samples.hpp"
#include "boxes/box_view.hpp"
#include "boxes/grown_boxes.hpp"
#include "tree/exact_bounds.hpp"
#include "tree/local_frame.hpp"
#include "tree/walks.hpp"

namespace broadphase {

// A word of a block that is no float. The memory of blocks is one of floats: no float is read as another type, the bits
// are copied.
class BlockWord {
 public:
  explicit BlockWord(float* at) : at_(at) {}
  BlockWord(const BlockWord&) = default;
  operator std::int32_t() const { return read(at_); }
  BlockWord& operator=(std::int32_t word) {
    std::memcpy(at_, &word, sizeof word);
    return *this;
  }
  BlockWord& operator=(const BlockWord& other) { return *this = static_cast<std::int32_t>(other); }
  BlockWord& operator|=(std::int32_t bits) { return *this = *this | bits; }
  BlockWord& operator&=(std::int32_t bits) { return *this = *this & bits; }

  static std::int32_t read(const float* at) {
    std::int32_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

 private:
  float* at_;
};

// The children of a block, to be read.
class BlockChildren {
 public:
  explicit BlockChildren(const float* first) : first_(first) {}
  std::int32_t operator[](std::integral auto lane) const { return BlockWord::read(first_ + lane); }
  void copy_to(std::int32_t* to) const { std::memcpy(to, first_, kLanes * sizeof *to); }

 private:
  const float* first_;
};

// Blocks, addressed by number. The memory grows, and released blocks are used again.
class Blocks {
 public:
  explicit Blocks(std::size_t dimension = 3, bool wide = false)
      : dimension_(dimension), layout_{axes_of_blocks(dimension), wide} {}
  // So many blocks in memory that belongs to somebody else, to be read.
  Blocks(std::size_t dimension, bool wide, float* first, std::size_t count)
      : dimension_(dimension), layout_{axes_of_blocks(dimension), wide}, first_(first), used_(count) {}

  std::size_t dimension() const { return dimension_; }
  bool is_wide() const { return layout_.wide; }
  const BlockLayout& layout() const { return layout_; }
  std::size_t count() const { return used_ - free_count_; }  // in use
  std::size_t limit() const { return used_; }                // all numbers are below
  std::size_t bytes() const { return capacity_ * layout_.words() * sizeof(float); }
  const float* memory() const { return first_; }

  // The same blocks, in memory of their own. Throws bad_alloc.
  Blocks copy() const {
    Blocks result(dimension_, layout_.wide);
    result.reserve(used_);
    if (used_ > 0) std::memcpy(result.first_, first_, used_ * layout_.words() * sizeof(float));
    result.used_ = used_;
    result.free_count_ = free_count_;
    result.free_ = free_;
    return result;
  }

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
      occupied(block) = rows(block) = 0;
      next(block) = parent(block) = kNoBlock;
    } else {
      if (used_ == capacity_) reserve(used_ + used_ / 2 + 16);
      block = static_cast<std::int32_t>(used_++);
      make_empty(block);
    }
    return block;
  }
  // Room for so many blocks more, one behind the other, each of which is to be written: on any thread. Returns the
  // first. Throws bad_alloc, and then nothing has changed.
  std::int32_t add_unwritten(std::size_t count) {
    reserve(used_ + count);
    used_ += count;
    return static_cast<std::int32_t>(used_ - count);
  }
  // So many blocks instead of those in use, for which there is room, each of which is to be made empty: on any thread.
  void restart(std::size_t count) {
    clear();
    used_ = count;
  }
  void make_empty(std::int32_t block) {
    // Kernels test all lanes, also those not in use, and leave these out afterwards: never uninitialized memory.
    std::memset(at(block), 0, layout_.words() * sizeof(float));
    next(block) = parent(block) = kNoBlock;
  }
  // Calls use(block) for those that are free.
  template <class Use>
  void for_each_free(Use&& use) const {
    for (std::int32_t block = free_; block != kNoBlock; block = next(block)) use(block);
  }
  void release(std::int32_t block) {
    next(block) = free_;
    free_ = block;
    ++free_count_;
  }

  // Of blocks that are not wide.
  float* lower(std::int32_t block, std::size_t axis) { return at(block) + layout_.lower(axis); }
  float* upper(std::int32_t block, std::size_t axis) { return at(block) + layout_.upper(axis); }
  const float* lower(std::int32_t block, std::size_t axis) const { return at(block) + layout_.lower(axis); }
  const float* upper(std::int32_t block, std::size_t axis) const { return at(block) + layout_.upper(axis); }
  BlockChildren child(std::int32_t block) const { return BlockChildren(at(block) + layout_.child()); }
  void set_child(std::int32_t block, std::size_t lane, std::int32_t what) {
    BlockWord(at(block) + layout_.child() + lane) = what;
  }
  BlockWord occupied(std::int32_t block) { return word(block, layout_.occupied()); }
  std::int32_t occupied(std::int32_t block) const { return word(block, layout_.occupied()); }
  BlockWord rows(std::int32_t block) { return word(block, layout_.rows()); }
  std::int32_t rows(std::int32_t block) const { return word(block, layout_.rows()); }
  BlockWord next(std::int32_t block) { return word(block, layout_.next()); }
  std::int32_t next(std::int32_t block) const { return word(block, layout_.next()); }
  BlockWord parent(std::int32_t block) { return word(block, layout_.parent()); }
  std::int32_t parent(std::int32_t block) const { return word(block, layout_.parent()); }

  std::size_t lanes_in_use(std::int32_t block) const {
    return static_cast<std::size_t>(std::popcount(static_cast<std::uint32_t>(occupied(block))));
  }

  // `box`: lower corner, then upper corner; doubles where the blocks are wide, floats where they are not.
  template <class Number>
  void set_lane(std::int32_t block, std::size_t lane, const Number* box, std::int32_t what, bool is_row) {
    set_box(block, lane, box);
    set_child(block, lane, what);
    const auto bit = static_cast<std::int32_t>(1u << lane);
    occupied(block) |= bit;
    rows(block) = is_row ? rows(block) | bit : rows(block) & ~bit;
  }
  template <class Number>
  void set_box(std::int32_t block, std::size_t lane, const Number* box) {
    constexpr std::size_t kStep = kLanes * sizeof(Number) / sizeof(float);
    const std::size_t axes = dimension();
    float *lower = lane_of<Number>(block, lane), *upper = lower + layout_.axes * kStep;
    for (std::size_t k = 0; k < axes; ++k, lower += kStep, upper += kStep) {
      std::memcpy(lower, box + k, sizeof(Number));
      std::memcpy(upper, box + axes + k, sizeof(Number));
    }
  }
  template <class Number>
  void get_box(std::int32_t block, std::size_t lane, Number* box) const {
    constexpr std::size_t kStep = kLanes * sizeof(Number) / sizeof(float);
    const std::size_t axes = dimension();
    const float *lower = lane_of<Number>(block, lane), *upper = lower + layout_.axes * kStep;
    for (std::size_t k = 0; k < axes; ++k, lower += kStep, upper += kStep) {
      std::memcpy(box + k, lower, sizeof(Number));
      std::memcpy(box + axes + k, upper, sizeof(Number));
    }
  }
  // As doubles, whether they are wide or not.
  void read_box(std::int32_t block, std::size_t lane, double* box) const {
    if (is_wide()) return get_box(block, lane, box);
    float narrow[8];
    get_box(block, lane, narrow);
    for (std::size_t k = 0; k < 2 * dimension(); ++k) box[k] = static_cast<double>(narrow[k]);
  }
  void clear_lane(std::int32_t block, std::size_t lane) {
    const auto bit = static_cast<std::int32_t>(1u << lane);
    occupied(block) &= ~bit;
    rows(block) &= ~bit;
  }

 private:
  static constexpr std::size_t kLine = 16;  // floats on a cache line

  float* at(std::int32_t block) const { return first_ + static_cast<std::size_t>(block) * layout_.words(); }
  template <class Number>
  float* lane_of(std::int32_t block, std::size_t lane) const {
    return at(block) + lane * (sizeof(Number) / sizeof(float));
  }
  BlockWord word(std::int32_t block, std::size_t offset) const { return BlockWord(at(block) + offset); }

  std::size_t dimension_;
  BlockLayout layout_;
  PlainMemory<float> memory_;
  float* first_ = nullptr;
  std::size_t used_ = 0, capacity_ = 0, free_count_ = 0;
  std::int32_t free_ = kNoBlock;  // a list linked by `next`
};

// What queries read. `root` is kNoBlock in an empty tree.
//
// Where many boxes are nearer to each other than floats can tell, whatever the frame, a tree is wide: its blocks hold
// doubles, which are the given numbers themselves, and its frame changes nothing. Two clusters far apart, and scenes
// that nest over many scales, are such cases.
struct BlockTree {
  Blocks blocks;
  std::int32_t root = kNoBlock;
  LocalFrame frame;
  // True if a later change brought numbers that this frame rounds although it is exact for those at build time.
  bool lossy = false;
  ExactBounds exact_bounds{};  // what changes the blocks makes it forget

  // True if every row's lane holds exactly the given numbers, scaled by a power of two.
  bool is_exact() const { return frame.exact && !lossy; }
  std::size_t dimension() const { return blocks.dimension(); }
  bool is_wide() const { return blocks.is_wide(); }

  // Calls use(number) with a float, or with a double where the tree is wide.
  template <class Use>
  decltype(auto) with_numbers(Use&& use) const {
    return is_wide() ? use(0.0) : use(0.0F);
  }
};

// Along the second axis of blocks of boxes of one axis, the box of a walk reaches beyond them. To be called before a
// box is written, for one of more axes has these numbers elsewhere.
template <class Number>
void span_second_axis(Number* box) {
  box[1] = -1;
  box[3] = 1;
}

// Writes a box as walks have it.
template <class Number>
void put_box(const Number* box, std::size_t dimension, Number* to) {
  const std::size_t axes = axes_of_blocks(dimension);
  span_second_axis(to);
  for (std::size_t k = 0; k < dimension; ++k) {
    to[k] = box[k];
    to[axes + k] = box[dimension + k];
  }
}

// A row's box as a lane holds it: lower corner, then upper corner.
template <class T>
void local_box(const LocalFrame&, const BoxView<T>& boxes, std::size_t row, std::size_t dimension, double* box) {
  for (std::size_t k = 0; k < dimension; ++k) {
    box[k] = static_cast<double>(boxes.lower_of(row)[k]);
    box[dimension + k] = static_cast<double>(boxes.upper_of(row)[k]);
  }
}
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

// Whether many boxes are nearer to each other than floats can tell, in a frame with its origin in the middle of the
// scene: then they are neither told apart nor sorted well, and the tree is to be wide. Groups of neighbours are looked
// at.
template <class T>
class BlurSample {
 public:
  static constexpr std::size_t kGroups = 64;  // so many show a share of 2 %

  BlurSample(const Extent<T>& bulk, const GrownBoxes<T>& boxes) : boxes_(boxes) {
    for (std::size_t k = 0; k < boxes.dimension; ++k)
      middle_[k] = bulk.low[k] <= bulk.high[k] ? bulk.low[k] / 2 + bulk.high[k] / 2 : T(0);
  }

  // At rows that are near each other.
  void look(const std::int32_t* rows, std::size_t count) {
    // Eight boxes this close together, for their distance from the origin, grow by as much as they are apart when they
    // are rounded. Float32 is not rounded, only sorted by keys of 2^-17.
    constexpr T kClose = std::is_same_v<T, float> ? T(0x1p-20) : T(0x1p-18);
    T size = 0, reach = 0;
    for (std::size_t k = 0; k < boxes_.dimension; ++k) {
      T low = std::numeric_limits<T>::infinity(), high = -low;
      for (std::size_t at = 0; at < count; ++at) {
        const auto row = static_cast<std::size_t>(rows[at]);
        low = std::min(low, boxes_.lower(row, k));
        high = std::max(high, boxes_.upper(row, k));
      }
      size = std::max(size, high - low);
      reach = std::max({reach, std::fabs(low - middle_[k]), std::fabs(high - middle_[k])});
    }
    ++groups_;
    blurred_ += size > 0 && size < reach * kClose ? 1 : 0;  // nothing tells equal points apart
  }
  // Among `count` rows. Pairs among a few cost little more than the rest, even if they are all in one place.
  bool is_blurred(std::size_t count) const {
    return static_cast<double>(blurred_) * std::sqrt(static_cast<double>(count)) > 4 * static_cast<double>(groups_);
  }

 private:
  const GrownBoxes<T>& boxes_;
  T middle_[4];
  std::size_t groups_ = 0, blurred_ = 0;
};

// The same for rows in an order in which neighbours are near each other.
template <class T, class RowAt>
bool is_blurred(const Extent<T>& bulk, const GrownBoxes<T>& boxes, std::size_t count, const RowAt& row_at) {
  BlurSample<T> sample(bulk, boxes);
  // An eighth of a few rows: more would take a notable part of the time to sort them.
  const StratifiedSample groups(count / kLanes, std::clamp<std::size_t>(count / 64, 4, BlurSample<T>::kGroups));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::int32_t rows[kLanes];
    for (std::size_t at = 0; at < kLanes; ++at) rows[at] = static_cast<std::int32_t>(row_at(groups[g] * kLanes + at));
    sample.look(rows, kLanes);
  }
  return sample.is_blurred(count);
}

// The same for the rows that share blocks of a tree; has(row) tells which are still in it.
template <class T, class Has>
bool blocks_are_blurred(const BlockTree& tree, const GrownBoxes<T>& boxes, std::size_t count, const Has& has) {
  if (tree.frame.exact) return false;
  Extent<T> middle;
  for (std::size_t k = 0; k < boxes.dimension; ++k)
    middle.low[k] = middle.high[k] = static_cast<T>(tree.frame.origin[k]);
  BlurSample<T> sample(middle, boxes);
  const Blocks& blocks = tree.blocks;
  const StratifiedSample places(blocks.limit(), BlurSample<T>::kGroups);
  for (std::size_t at = 0; at < places.size(); ++at) {
    const auto block = static_cast<std::int32_t>(places[at]);
    // Also of released blocks: these are few.
    std::int32_t rows[kLanes];
    std::size_t in_block = 0;
    for (auto lanes = static_cast<std::uint32_t>(blocks.rows(block) & blocks.occupied(block)); lanes != 0;
         lanes &= lanes - 1) {
      const std::int32_t row = blocks.child(block)[std::countr_zero(lanes)];
      if (has(static_cast<std::size_t>(row))) rows[in_block++] = row;
    }
    if (in_block > 1) sample.look(rows, in_block);
  }
  return sample.is_blurred(count);
}

}  // namespace broadphase
