// The cells of a linear tree that a walk goes through, found in the order of the keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "linear_tree/order.hpp"

namespace broadphase {

// A run of entries. Nodes are in the order of a walk: a node's children begin right behind it, and `next` is the first
// node that is not below it. Children that lie within [begin, own_end) hold the boxes that fit in none of the cells
// below: all that comes later in this node may meet those, whereas the other children are cells apart from each other.
//
//        begin            own_end                          end
//          | own | own |...| cell | cell        |  cell     |      cells with a few boxes each are one child
struct LinearNode {
  std::uint32_t begin, own_end, end;
  std::uint32_t next;
  std::uint32_t parent;
};

inline constexpr std::uint32_t kNoNode = 0xFFFFFFFF;
// Boxes in a leaf. More are tested against more in vain; fewer leave the tests of a vector unused.
inline constexpr std::size_t kLeafBoxes = 32;

class LinearNodes {
 public:
  LinearNodes() = default;
  explicit LinearNodes(const LinearOrder& order) : order_(&order) {
    if (order.size() == 0) return;
    nodes_.reserve(order.size() / 8 + 8);
    add(0, order.size(), kNoNode);
    order_ = nullptr;
  }

  std::size_t count() const { return nodes_.size(); }
  const LinearNode& operator[](std::size_t node) const { return nodes_[node]; }
  bool is_leaf(std::size_t node) const { return nodes_[node].next == node + 1; }
  std::size_t bytes() const { return nodes_.capacity() * sizeof(LinearNode); }

 private:
  // A crowd is cut into so many parts, those again.
  static constexpr std::size_t kParts = 4;

  std::uint32_t open(std::size_t begin, std::size_t own_end, std::size_t end, std::uint32_t parent) {
    const auto node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(own_end),
                      static_cast<std::uint32_t>(end), node + 1, parent});
    return node;
  }
  void close(std::uint32_t node) { nodes_[node].next = static_cast<std::uint32_t>(nodes_.size()); }

  // Entries of several cells. Calls itself at most once a level of the tree, and in add_crowd once for each factor of
  // kParts: some 75 deep.
  void add(std::size_t begin, std::size_t end, std::uint32_t parent) {
    if (end - begin <= kLeafBoxes) {
      open(begin, end, end, parent);
      return;
    }
    const CellKeys& keys = order_->keys;
    const std::uint64_t cell = keys.common(order_->key[begin], order_->key[end - 1]);
    const std::size_t own_end = order_->key[begin] == cell ? first_from(begin, end, cell + 1) : begin;
    if (own_end == end) {
      add_crowd(begin, end, parent);
      return;
    }
    const std::uint32_t node = open(begin, own_end, end, parent);
    if (own_end > begin) add_crowd_parts(begin, own_end, node);
    const std::size_t level = keys.level(cell) + 1, shift = keys.shift(level);
    std::size_t pending = own_end;  // cells from here on have few boxes so far
    for (std::size_t at = own_end; at < end;) {
      const std::uint64_t first = keys.first(order_->key[at]) >> shift << shift;
      const std::size_t behind = first_from(at, end, keys.behind(first, level));
      if (behind - pending > kLeafBoxes) {
        if (at > pending) open(pending, at, at, node);
        pending = at;
        if (behind - at > kLeafBoxes) {
          add(at, behind, node);
          pending = behind;
        }
      }
      at = behind;
    }
    if (pending < end) open(pending, end, end, node);
    close(node);
  }

  // Entries of one cell.
  void add_crowd(std::size_t begin, std::size_t end, std::uint32_t parent) {
    const std::uint32_t node = open(begin, end, end, parent);
    if (end - begin > kLeafBoxes) add_crowd_parts(begin, end, node);
    close(node);
  }
  void add_crowd_parts(std::size_t begin, std::size_t end, std::uint32_t node) {
    const std::size_t leaves = (end - begin + kLeafBoxes - 1) / kLeafBoxes, parts = std::min(leaves, kParts);
    for (std::size_t part = 0; part < parts; ++part)
      add_crowd(begin + leaves * part / parts * (end - begin) / leaves,
                begin + leaves * (part + 1) / parts * (end - begin) / leaves, node);
  }

  // The first entry in [begin, end) whose key is at least `key`; searched for in growing steps.
  std::size_t first_from(std::size_t begin, std::size_t end, std::uint64_t key) const {
    std::size_t step = 8, low = begin;
    while (low + step < end && order_->key[low + step] < key) {
      low += step;
      step *= 2;
    }
    const auto first = order_->key.begin();
    return static_cast<std::size_t>(std::lower_bound(first + static_cast<std::ptrdiff_t>(low),
                                                     first + static_cast<std::ptrdiff_t>(std::min(end, low + step)),
                                                     key) -
                                    first);
  }

  const LinearOrder* order_ = nullptr;
  std::vector<LinearNode> nodes_;
};

}  // namespace broadphase
