// A tree for each batch of rows, all in one block of memory: queries walk the tree of their key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/memory.hpp"
#include "batches/rows_by_key.hpp"
#include "bvh/build.hpp"
#include "tree/blocks.hpp"
#include "tree/median_order.hpp"

namespace broadphase {

// Each tree has a frame of its own, so that its boxes are as precise as if they were alone, and its blocks are numbered
// from 0: a view of them is a tree like any other. O(n log n) time; 20 to 40 bytes a row.
class Forest {
 public:
  static constexpr std::uint32_t kNoTree = 0xffffffffu;

  explicit Forest(std::size_t dimension) : dimension_(dimension) {}

  std::size_t dimension() const { return dimension_; }
  std::size_t tree_count() const { return trees_.size(); }
  std::size_t bytes() const {
    return memory_.size() * sizeof(float) + trees_.capacity() * sizeof(Tree) + keys_.capacity() * sizeof(std::int64_t);
  }

  // Replaces all trees by those of `count` rows; keys are by row. After bad_alloc or Interrupted there are none.
  template <class T>
  void build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const std::int64_t* keys,
             const Kernels& kernels, Interrupt& interrupt) {
    trees_.clear();
    keys_.clear();
    used_ = 0;
    try {
      std::vector<std::int64_t> of_rows(count);
      for (std::size_t k = 0; k < count; ++k) of_rows[k] = keys[rows[k]];
      const RowsByKey by_key = rows_by_key({count, of_rows.data(), 1}, interrupt);
      TreePacker<T, MedianOrder<T>> packer;
      BlockTree tree{Blocks(dimension_), kNoBlock, {}};
      std::vector<std::int32_t> batch;
      for (std::size_t k = 0; k < by_key.key_count(); ++k) {
        batch.clear();
        for (std::size_t at = by_key.start[k]; at < by_key.start[k + 1]; ++at) batch.push_back(rows[by_key.row(at)]);
        packer.pack(tree, GrownBoxes<T>{boxes, dimension_}, batch.data(), batch.size(), nullptr, kernels, 1, interrupt);
        keys_.push_back(keys[batch.front()]);
        append(tree);
        interrupt.check();
      }
    } catch (...) {
      trees_.clear();
      keys_.clear();
      throw;
    }
  }

  // The tree of a key, or kNoTree; quick where it is that of `guess`.
  std::uint32_t find(std::int64_t key, std::uint32_t guess) const {
    if (guess < keys_.size() && keys_[guess] == key) return guess;
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
    return at != keys_.end() && *at == key ? static_cast<std::uint32_t>(at - keys_.begin()) : kNoTree;
  }

  // What the tree of a number, or of none, is made of. The blocks are those of this forest, which must outlive them.
  Blocks blocks_of(std::uint32_t number) const {
    if (number == kNoTree) return Blocks(dimension_);
    const Tree& tree = trees_[number];
    return Blocks(dimension_, tree.wide, first() + tree.begin, tree.block_count);
  }
  std::int32_t root_of(std::uint32_t number) const { return number == kNoTree ? kNoBlock : trees_[number].root; }
  LocalFrame frame_of(std::uint32_t number) const { return number == kNoTree ? LocalFrame() : trees_[number].frame; }

 private:
  struct Tree {
    LocalFrame frame;
    std::size_t begin, block_count;  // begin: in floats
    std::int32_t root;
    bool wide;
  };

  static constexpr std::size_t kLine = 16;  // floats on a cache line

  // Blocks begin at cache lines.
  float* first() const {
    const auto line = reinterpret_cast<std::uintptr_t>(memory_.get()) / sizeof(float) % kLine;
    return memory_.get() + (kLine - line) % kLine;
  }

  void append(const BlockTree& tree) {
    const std::size_t words = tree.blocks.limit() * tree.blocks.layout().words();
    if (used_ + words + kLine > memory_.size()) {
      PlainArray<float> grown;
      grown.grow((used_ + words) * 3 / 2 + kLine);
      const float* from = first();
      std::swap(memory_, grown);
      if (used_ > 0) std::memcpy(first(), from, used_ * sizeof(float));
    }
    std::memcpy(first() + used_, tree.blocks.memory(), words * sizeof(float));
    trees_.push_back({tree.frame, used_, tree.blocks.limit(), tree.root, tree.is_wide()});
    used_ += words;
  }

  std::size_t dimension_;
  std::vector<std::int64_t> keys_;  // ascending, of each tree
  std::vector<Tree> trees_;
  PlainArray<float> memory_;
  std::size_t used_ = 0;
};

}  // namespace broadphase
