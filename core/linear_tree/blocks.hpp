// A linear tree as a tree of blocks, for questions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "linear_tree/nodes.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// A lane for every cell that a walk goes through, with the box around all boxes in it: as tight as may be. Cells with
// more than eight children go on in a further block.
template <class T>
class LinearBlocks {
 public:
  LinearBlocks(const LinearOrder& order, const LinearNodes& nodes, const BoxView<T>& boxes, BlockTree& tree)
      : order_(order), nodes_(nodes), boxes_(boxes), tree_(tree), dimension_(tree.dimension()) {}

  // Throws bad_alloc, and then the tree is empty.
  void make() {
    tree_.root = kNoBlock;
    tree_.blocks.clear();
    if (nodes_.count() == 0) return;
    tree_.blocks.reserve(order_.size() / 4 + nodes_.count() + 8);
    float around[8];
    tree_.root = add(0, around);
  }

 private:
  static void widen(float* around, const float* box, std::size_t dimension) {
    for (std::size_t k = 0; k < dimension; ++k) {
      around[k] = std::min(around[k], box[k]);
      around[dimension + k] = std::max(around[dimension + k], box[dimension + k]);
    }
  }
  void start(float* around) const {
    std::fill_n(around, dimension_, std::numeric_limits<float>::infinity());
    std::fill_n(around + dimension_, dimension_, -std::numeric_limits<float>::infinity());
  }

  // Lanes one after the other, from block to block.
  struct Lanes {
    std::int32_t first, last;
    std::size_t lane = 0;
  };
  void put(Lanes& lanes, const float* box, std::int32_t what, bool is_row) {
    if (lanes.lane == kLanes) {
      const std::int32_t next = tree_.blocks.add();
      tree_.blocks.next(lanes.last) = next;
      lanes = {lanes.first, next, 0};
    }
    tree_.blocks.set_lane(lanes.last, lanes.lane++, box, what, is_row);
  }

  // As deep as the nodes are; see there.
  std::int32_t add(std::size_t node, float* around) {
    const LinearNode& from = nodes_[node];
    start(around);
    if (nodes_.is_leaf(node) && from.end - from.begin <= kLanes) return add_rows(from.begin, from.end, around);
    const std::int32_t block = tree_.blocks.add();
    Lanes lanes{block, block};
    float box[8];
    if (nodes_.is_leaf(node)) {
      for (std::size_t begin = from.begin; begin < from.end; begin += kLanes) {
        start(box);
        const std::int32_t below = add_rows(begin, std::min<std::size_t>(from.end, begin + kLanes), box);
        put(lanes, box, below, false);
        widen(around, box, dimension_);
      }
      return block;
    }
    for (std::size_t child = node + 1; child < from.next; child = nodes_[child].next) {
      const std::int32_t below = add(child, box);
      put(lanes, box, below, false);
      widen(around, box, dimension_);
    }
    return block;
  }
  std::int32_t add_rows(std::size_t begin, std::size_t end, float* around) {
    const std::int32_t block = tree_.blocks.add();
    for (std::size_t entry = begin; entry < end; ++entry) {
      float box[8];
      local_box(tree_.frame, boxes_, order_.item[entry], dimension_, box);
      tree_.blocks.set_lane(block, entry - begin, box, static_cast<std::int32_t>(order_.item[entry]), true);
      widen(around, box, dimension_);
    }
    return block;
  }

  const LinearOrder& order_;
  const LinearNodes& nodes_;
  const BoxView<T>& boxes_;
  BlockTree& tree_;
  std::size_t dimension_;
};

}  // namespace broadphase
