// Points in a balanced tree: halves along the longest axis, down to leaves of a few points.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "neighbors/framed_points.hpp"
#include "neighbors/group_walk.hpp"

namespace broadphase {

// Positions are places in the leaves, one after the other: all leaves but the last are full. Keeps its memory for the
// next points.
class PointTree {
 public:
  // O(n log n) for any points: where they are equal along an axis, their order in the input halves them.
  void build(const FramedPoints& framed, unsigned workers, Interrupt& interrupt) {
    count_ = framed.points().count;
    leaf_count_ = (count_ + kLeafPoints - 1) / kLeafPoints;
    has_wraps_ = framed.has_wraps();
    if (count_ == 0) return;
    items_.grow(count_);
    nodes_.grow(2 * leaf_count_ - 1);
    leaves_.grow(leaf_count_);
    leaf_nodes_.grow(leaf_count_);
    exact_.grow(count_);
    if (has_wraps_) wraps_.grow(count_);
    in_stretches_on_threads(count_, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) items_[k] = {framed.place(k), static_cast<std::uint32_t>(k)};
    });
    // Level by level, as long as there are fewer parts than threads could take; then each part at once.
    std::vector<Part> parts{{0, 0, static_cast<std::uint32_t>(leaf_count_)}}, next;
    constexpr std::size_t kWorthWorkers = 512;  // leaves
    const std::size_t wanted = workers > 1 && leaf_count_ > kWorthWorkers ? std::size_t{4} * workers : 1;
    std::vector<Part> above;
    while (parts.size() < wanted) {
      next.assign(2 * parts.size(), {});
      for_each_task(parts.size(), workers, interrupt, [&](unsigned, std::size_t k) {
        next[2 * k] = next[2 * k + 1] = parts[k];
        halve(next[2 * k], next[2 * k + 1]);
      });
      above.insert(above.end(), parts.begin(), parts.end());
      parts.swap(next);
    }
    for_each_task(parts.size(), workers, interrupt, [&](unsigned, std::size_t k) { build(framed, parts[k]); });
    for (std::size_t k = above.size(); k-- > 0;) join(above[k]);
  }

  std::size_t count() const { return count_; }
  std::size_t leaf_count() const { return leaf_count_; }
  const PointNode* nodes() const { return nodes_.get(); }
  const PointLeaf* leaves() const { return leaves_.get(); }
  const PointNode& node_of(std::size_t leaf) const { return nodes_[leaf_nodes_[leaf]]; }
  std::size_t leaf_size(std::size_t leaf) const { return std::min(kLeafPoints, count_ - leaf * kLeafPoints); }
  const ExactPoint& exact(std::size_t position) const { return exact_[position]; }
  const Shift* wraps() const { return has_wraps_ ? wraps_.get() : nullptr; }  // or null: none is wrapped

 private:
  struct Item {
    Vector3 place;
    std::uint32_t from;
  };
  struct Part {
    std::uint32_t node, first_leaf, leaves;
  };

  // The part, of more than one leaf, becomes two.
  void halve(Part& left, Part& right) {
    Item* const begin = items_.get() + left.first_leaf * kLeafPoints;
    Item* const end = items_.get() + std::min(count_, (left.first_leaf + std::size_t{left.leaves}) * kLeafPoints);
    Vector3 lower = begin->place, upper = lower;
    for (const Item* item = begin; item != end; ++item)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        lower[axis] = std::min(lower[axis], item->place[axis]);
        upper[axis] = std::max(upper[axis], item->place[axis]);
      }
    std::size_t longest = 0;
    for (std::size_t axis = 1; axis < 3; ++axis)
      if (upper[axis] - lower[axis] > upper[longest] - lower[longest]) longest = axis;
    const std::uint32_t left_leaves = left.leaves / 2;
    std::nth_element(begin, begin + left_leaves * kLeafPoints, end, [longest](const Item& a, const Item& b) {
      return a.place[longest] < b.place[longest] || (a.place[longest] == b.place[longest] && a.from < b.from);
    });
    right.node = left.node + 2 * left_leaves;
    right.first_leaf = left.first_leaf + left_leaves;
    right.leaves = left.leaves - left_leaves;
    left.node += 1;
    left.leaves = left_leaves;
  }

  // No deeper than the tree: halves of halves.
  void build(const FramedPoints& framed, const Part& part) {
    if (part.leaves == 1) return fill(framed, part);
    Part left = part, right;
    halve(left, right);
    build(framed, left);
    build(framed, right);
    join(part);
  }

  // The node of both halves.
  void join(const Part& part) {
    const PointNode &left = nodes_[part.node + 1], &right = nodes_[part.node + 2 * left.leaves];
    PointNode& node = nodes_[part.node];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      node.lower[axis] = std::min(left.lower[axis], right.lower[axis]);
      node.upper[axis] = std::max(left.upper[axis], right.upper[axis]);
    }
    node.least_row = std::min(left.least_row, right.least_row);
    node.first_leaf = part.first_leaf;
    node.leaves = part.leaves;
  }

  void fill(const FramedPoints& framed, const Part& part) {
    PointNode& node = nodes_[part.node];
    PointLeaf& leaf = leaves_[part.first_leaf];
    leaf_nodes_[part.first_leaf] = part.node;
    const std::size_t first = part.first_leaf * kLeafPoints, count = leaf_size(part.first_leaf);
    node.least_row = std::numeric_limits<std::int32_t>::max();
    node.first_leaf = part.first_leaf;
    node.leaves = 1;
    for (std::size_t k = 0; k < kLeafPoints; ++k) {
      const Item& item = items_[first + std::min(k, count - 1)];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        leaf.columns[axis][k] = item.place[axis];
        node.lower[axis] = k == 0 ? item.place[axis] : std::min(node.lower[axis], item.place[axis]);
        node.upper[axis] = k == 0 ? item.place[axis] : std::max(node.upper[axis], item.place[axis]);
      }
      if (k >= count) continue;
      const Vector3 point = framed.points().at(item.from);
      const std::int32_t row = framed.points().row(item.from);
      exact_[first + k] = {point[0], point[1], point[2], row, 0};
      if (has_wraps_) wraps_[first + k] = framed.wrap(item.from);
      node.least_row = std::min(node.least_row, row);
    }
  }

  std::size_t count_ = 0, leaf_count_ = 0;
  bool has_wraps_ = false;
  PlainArray<Item> items_;
  PlainArray<PointNode> nodes_;
  PlainArray<PointLeaf> leaves_;
  PlainArray<std::uint32_t> leaf_nodes_;
  PlainArray<ExactPoint> exact_;
  PlainArray<Shift> wraps_;
};

}  // namespace broadphase
