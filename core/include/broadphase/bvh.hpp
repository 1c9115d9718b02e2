// A bounding volume hierarchy: a tree of boxes, eight to a block, that follows its rows as they come, move and go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "broadphase/blocks.hpp"
#include "broadphase/bvh_bounds.hpp"
#include "broadphase/bvh_pairs.hpp"
#include "broadphase/plain_array.hpp"

namespace broadphase {

// How a tree is, in plain numbers.
struct BvhReport {
  std::size_t depth = 0, lanes = 0;  // lanes in use, of all blocks
  // Blocks that a random ray through the root's box is expected to visit: half-areas, divided by the root's.
  double cost = 0;
  std::vector<std::size_t> blocks_by_level;
};

// Arranges rows in the blocks of a tree that its owner shows to everybody's queries.
class Bvh {
 public:
  explicit Bvh(BlockTree& tree) : tree_(tree) {}
  Bvh(const Bvh&) = delete;
  Bvh& operator=(const Bvh&) = delete;

  std::size_t rows() const { return rows_; }
  bool has(std::size_t row) const { return row < places_.size() && places_[row] != kNoPlace; }
  std::size_t bytes() const { return tree_.blocks.bytes() + places_.size() * sizeof(std::uint32_t); }

  // Replaces what was there. Throws bad_alloc or Interrupted, and then the tree is what it was.
  template <class T>
  void build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const Kernels& kernels,
             unsigned workers, Interrupt& interrupt) {
    TreePacker<T> packer;
    PlainArray<std::uint32_t> places;
    places.grow(boxes.count);
    std::fill_n(places.get(), boxes.count, kNoPlace);
    packer.pack(tree_, {boxes, tree_.dimension()}, rows, count, places.get(), kernels, workers, interrupt);
    places_ = std::move(places);
    rows_ = count;
  }

  BvhReport report() const {
    BvhReport result;
    if (tree_.root == kNoBlock) return result;
    const double root = half_area(bounds_of(tree_.blocks, tree_.root).box, tree_.dimension());
    double sum = root;
    for_each_block([&](std::int32_t block, std::size_t level) {
      if (result.blocks_by_level.size() <= level) result.blocks_by_level.resize(level + 1);
      ++result.blocks_by_level[level];
      result.lanes += tree_.blocks.lanes_in_use(block);
      float box[8];
      for_each_lane(tree_.blocks.occupied(block) & ~tree_.blocks.rows(block), [&](std::size_t lane) {
        tree_.blocks.get_box(block, lane, box);
        sum += half_area(box, tree_.dimension());
      });
    });
    result.depth = result.blocks_by_level.size();
    result.cost = root > 0 ? sum / root : static_cast<double>(tree_.blocks.count());
    return result;
  }

  // Calls use(block, level) for every block, parents first; the root's level is 0.
  template <class Use>
  void for_each_block(Use&& use) const {
    if (tree_.root == kNoBlock) return;
    std::vector<std::pair<std::int32_t, std::size_t>> open = {{tree_.root, 0}};
    while (!open.empty()) {
      const auto [block, level] = open.back();
      open.pop_back();
      use(block, level);
      for_each_lane(tree_.blocks.occupied(block) & ~tree_.blocks.rows(block), [&, level = level](std::size_t lane) {
        open.emplace_back(tree_.blocks.child(block)[lane], level + 1);
      });
    }
  }

  // What is wrong; nothing, if all is well.
  template <class T>
  std::string validate(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count) const;

 private:
  BlockTree& tree_;
  PlainArray<std::uint32_t> places_;  // of each row; kNoPlace: it is not there
  std::size_t rows_ = 0;
};

}  // namespace broadphase

#include "broadphase/bvh_validate.hpp"
