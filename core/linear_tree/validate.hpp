// Is everything in a linear tree where it must be? For tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "linear_tree/index.hpp"

namespace broadphase {

template <class T>
class LinearValidation {
 public:
  LinearValidation(const LinearIndex& index, const BlockTree& tree, const BoxView<T>& boxes, const std::int32_t* rows,
                   std::size_t count)
      : index_(index), tree_(tree), boxes_(boxes), expected_(rows, rows + count) {}

  // What is wrong, or nothing.
  std::string fault() {
    if (std::string wrong = entries(); !wrong.empty()) return wrong;
    if (std::string wrong = cells(); !wrong.empty()) return wrong;
    if (std::string wrong = nodes(); !wrong.empty()) return wrong;
    return blocks();
  }

 private:
  std::string entries() const {
    const LinearOrder& order = index_.order();
    std::vector<std::int32_t> rows(order.item.begin(), order.item.end()), expected = expected_;
    std::sort(rows.begin(), rows.end());
    std::sort(expected.begin(), expected.end());
    if (rows != expected) return "the rows filed are not those in use";
    for (std::size_t entry = 1; entry < order.size(); ++entry)
      if (order.key[entry - 1] > order.key[entry]) return "keys descend at entry " + std::to_string(entry);
    const LinearSource<T> source = index_.source_of(boxes_);
    return with_dimension(tree_.dimension(), [&]<std::size_t D>(Dimension<D>) -> std::string {
      const CellMap<D> map(index_.world(), order.keys.depth);
      for (std::size_t entry = 0; entry < order.size(); ++entry)
        if (map.key(source.lower(order.item[entry]), source.upper(order.item[entry]), T(0)) != order.key[entry])
          return "row " + std::to_string(order.item[entry]) + " is in another cell than the smallest around it";
      return {};
    });
  }

  std::string cells() const {
    const LinearCells& cells = index_.cells();
    const LinearOrder& order = index_.order();
    std::uint64_t counted = 0;
    for (const std::uint64_t level : cells.count_by_level()) counted += level;
    if (counted != cells.count()) return "cells by level are not the cells";
    for (std::size_t cell = 0; cell < cells.count(); ++cell) {
      const std::string name = "cell " + std::to_string(cell);
      if (cells.begin(cell) >= cells.begin(cell + 1)) return name + " is empty";
      for (std::size_t entry = cells.begin(cell); entry < cells.begin(cell + 1); ++entry)
        if (order.key[entry] != cells.key(cell)) return name + " has entries of others";
      const std::uint32_t parent = cells.parent(cell);
      if (parent != kNotOccupied && !(parent < cell && cells.behind(parent) >= cells.behind(cell) &&
                                      cells.keys().contains(cells.key(parent), cells.key(cell))))
        return name + " is not within its parent";
      if (cells.around(cells.keys().first(cells.key(cell))) < cell) return name + " is not found";
    }
    return {};
  }

  std::string nodes() const {
    const LinearNodes& nodes = index_.nodes();
    std::size_t leaves_end = 0;
    for (std::size_t node = 0; node < nodes.count(); ++node) {
      const LinearNode& at = nodes[node];
      const std::string name = "node " + std::to_string(node);
      if (nodes.is_leaf(node)) {
        if (at.begin != leaves_end || at.end <= at.begin || at.end - at.begin > kLeafBoxes)
          return name + " is not the next leaf";
        leaves_end = at.end;
        continue;
      }
      std::size_t end = at.begin;
      for (std::size_t child = node + 1; child < at.next; child = nodes[child].next) {
        if (nodes[child].parent != node || nodes[child].begin != end) return name + " does not have its children";
        if (nodes[child].begin < at.own_end && nodes[child].end > at.own_end)
          return name + " mixes its own with others";
        end = nodes[child].end;
      }
      if (end != at.end) return name + " is more than its children";
    }
    return leaves_end == index_.order().size() ? "" : "the leaves are not all entries";
  }

  std::string blocks() {
    std::vector<std::int32_t> found;
    if (tree_.root != kNoBlock)
      if (std::string wrong = block(tree_.root, nullptr, 1, found); !wrong.empty()) return wrong;
    std::sort(found.begin(), found.end());
    std::vector<std::int32_t> expected = expected_;
    std::sort(expected.begin(), expected.end());
    return found == expected ? "" : "the blocks do not hold each row once";
  }
  // As deep as kMostLevels.
  std::string block(std::int32_t at, const float* around, std::size_t level, std::vector<std::int32_t>& found) const {
    const std::size_t dimension = tree_.dimension();
    if (level > kMostLevels) return "the blocks are too deep";
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if ((tree_.blocks.occupied(at) >> lane & 1) == 0) continue;
      const std::string name = "lane " + std::to_string(lane) + " of block " + std::to_string(at);
      const std::int32_t child = tree_.blocks.child(at)[lane];
      float box[8], own[8];
      tree_.blocks.get_box(at, lane, box);
      if (around != nullptr && !within(box, around)) return name + " reaches out of the lane above";
      if ((tree_.blocks.rows(at) >> lane & 1) == 0) {
        if (std::string wrong = block(child, box, level + 1, found); !wrong.empty()) return wrong;
        continue;
      }
      local_box(tree_.frame, boxes_, static_cast<std::size_t>(child), dimension, own);
      if (!within(own, box)) return name + " does not hold its row";
      found.push_back(child);
    }
    return tree_.blocks.next(at) == kNoBlock ? "" : block(tree_.blocks.next(at), around, level + 1, found);
  }
  bool within(const float* inner, const float* outer) const {
    bool inside = true;
    for (std::size_t k = 0; k < tree_.dimension(); ++k)
      inside &= outer[k] <= inner[k] && inner[tree_.dimension() + k] <= outer[tree_.dimension() + k];
    return inside;
  }

  const LinearIndex& index_;
  const BlockTree& tree_;
  const BoxView<T>& boxes_;
  std::vector<std::int32_t> expected_;
};

}  // namespace broadphase
