// The cells of a linear tree, derived from the sorted keys: the occupied ones, and the nodes that a walk visits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/plain_vector.hpp"
#include "linear_tree/order.hpp"

namespace broadphase {

// ---- The occupied cells ----

inline constexpr std::uint32_t kNotOccupied = 0xFFFFFFFF;

// The occupied cells in the order of their keys: ancestors come before, descendants follow immediately. Sparse storage
// is nothing else, and finds a cell by bisection. Flat storage adds a table with an entry for every possible cell,
// coarse levels first (see level_start): found at once, at the price of memory.
class LinearCells {
 public:
  LinearCells() = default;
  LinearCells(const LinearOrder& order, bool flat) : keys_(order.keys), by_level_(order.keys.depth + 1, 0) {
    std::vector<std::uint32_t> open;  // the ancestors of the current cell, at most one per level
    for (std::size_t entry = 0; entry < order.size(); ++entry) {
      const std::uint64_t key = order.key[entry];
      if (!key_.empty() && key_.back() == key) continue;
      const auto cell = static_cast<std::uint32_t>(key_.size());
      while (!open.empty() && !keys_.contains(key_[open.back()], key)) {
        behind_[open.back()] = cell;
        open.pop_back();
      }
      key_.push_back(key);
      begin_.push_back(static_cast<std::uint32_t>(entry));
      parent_.push_back(open.empty() ? kNotOccupied : open.back());
      behind_.push_back(kNotOccupied);
      open.push_back(cell);
      ++by_level_[keys_.level(key)];
    }
    for (const std::uint32_t cell : open) behind_[cell] = static_cast<std::uint32_t>(key_.size());
    begin_.push_back(static_cast<std::uint32_t>(order.size()));
    if (!flat) return;
    table_.assign(level_start(keys_.depth + 1, keys_.dimension), kNotOccupied);
    for (std::size_t cell = 0; cell < count(); ++cell)
      table_[place(keys_.level(key_[cell]), number(cell))] = cast(cell);
  }

  std::size_t count() const { return key_.size(); }
  const CellKeys& keys() const { return keys_; }
  std::uint64_t key(std::size_t cell) const { return key_[cell]; }
  std::size_t level(std::size_t cell) const { return keys_.level(key_[cell]); }
  std::uint64_t number(std::size_t cell) const { return keys_.number(key_[cell]); }
  // Its entries in the order are [begin(cell), begin(cell + 1)).
  std::size_t begin(std::size_t cell) const { return begin_[cell]; }
  // True if an average box shares its cell with more than this many others, as where all are outside the bounds. To
  // test each with all of those is then most of the work.
  bool is_crowded() const {
    constexpr std::uint64_t kMany = 192;
    std::uint64_t tests = 0;
    for (std::size_t cell = 0; cell < count(); ++cell) {
      const std::uint64_t own = begin(cell + 1) - begin(cell);
      tests += own * own;
    }
    return count() > 0 && tests > kMany * begin_.back();
  }
  // The smallest occupied cell that contains it, or kNotOccupied.
  std::uint32_t parent(std::size_t cell) const { return parent_[cell]; }
  // The first cell after those within it.
  std::size_t behind(std::size_t cell) const { return behind_[cell]; }

  // The smallest occupied cell that contains a cell of the deepest level, or kNotOccupied.
  std::uint32_t around(std::uint64_t first) const {
    if (!table_.empty()) {
      for (std::size_t level = keys_.depth + 1; level-- > 0; first >>= keys_.dimension)
        if (table_[place(level, first)] != kNotOccupied) return table_[place(level, first)];
      return kNotOccupied;
    }
    const std::uint64_t key = keys_.key(first, keys_.depth);
    std::uint32_t cell = cast(static_cast<std::size_t>(std::upper_bound(key_.begin(), key_.end(), key) - key_.begin()));
    if (cell == 0) return kNotOccupied;
    for (--cell; cell != kNotOccupied && !keys_.contains(key_[cell], key);) cell = parent_[cell];
    return cell;
  }

  bool is_flat() const { return !table_.empty(); }
  const std::vector<std::uint64_t>& count_by_level() const { return by_level_; }
  std::vector<std::uint64_t> bytes_by_level() const {
    std::vector<std::uint64_t> bytes = by_level_;
    for (std::size_t level = 0; level < bytes.size(); ++level) {
      bytes[level] *= sizeof(std::uint64_t) + 3 * sizeof(std::uint32_t);
      if (is_flat()) bytes[level] += (std::uint64_t{1} << (keys_.dimension * level)) * sizeof(std::uint32_t);
    }
    return bytes;
  }

 private:
  static std::uint32_t cast(std::size_t cell) { return static_cast<std::uint32_t>(cell); }
  std::size_t place(std::size_t level, std::uint64_t number) const {
    return level_start(level, keys_.dimension) + number;
  }

  CellKeys keys_;
  std::vector<std::uint64_t> key_, by_level_;
  std::vector<std::uint32_t> begin_, parent_, behind_;
  std::vector<std::uint32_t> table_;
};

// ---- The nodes that a walk visits ----

// A run of entries. Nodes are in depth-first order: a node's children follow it immediately, and `next` is the first
// node that is not below it. Children within [begin, own_end) hold the boxes that fit into no smaller cell: everything
// later in this node may overlap these, whereas the other children are disjoint cells.
//
//        begin            own_end                          end
//          | own | own |...| cell | cell        |  cell     |      cells with few boxes share one child
struct LinearNode {
  std::uint32_t begin, own_end, end;
  std::uint32_t next;
  std::uint32_t parent;
};

inline constexpr std::uint32_t kNoNode = 0xFFFFFFFF;
// Boxes in a leaf. More would cause useless tests, fewer would leave vector lanes unused.
inline constexpr std::size_t kLeafBoxes = 32;

class LinearNodes {
 public:
  LinearNodes() = default;
  LinearNodes(const LinearOrder& order, unsigned workers, Interrupt& interrupt) : order_(&order) {
    if (order.size() == 0) return;
    nodes_.reserve(order.size() / 8 + 8);
    const std::size_t part = std::max(kLeastPart, order.size() / (std::size_t{kPartsAWorker} * workers));
    if (workers > 1 && order.size() > part) {
      std::vector<Part> parts;
      parts_ = &parts;
      most_ = part;
      add(0, order.size(), kNoNode);
      parts_ = nullptr;
      put_in(parts, workers, interrupt);
    } else {
      add(0, order.size(), kNoNode);
    }
    order_ = nullptr;
  }

  std::size_t count() const { return nodes_.size(); }
  const LinearNode& operator[](std::size_t node) const { return nodes_[node]; }
  bool is_leaf(std::size_t node) const { return nodes_[node].next == node + 1; }
  std::size_t bytes() const { return nodes_.capacity() * sizeof(LinearNode); }

 private:
  static constexpr std::size_t kLeastPart = 8192, kPartsAWorker = 16;

  // The nodes of some entries, which a thread makes by itself; `at`: the node in whose place they are to be.
  struct Part {
    std::uint32_t at;
    PlainVector<LinearNode> nodes{};
  };
  void put_in(std::vector<Part>& parts, unsigned workers, Interrupt& interrupt) {
    for_each_task(parts.size(), workers, interrupt, [&](unsigned, std::size_t k) {
      const LinearNode& whole = nodes_[parts[k].at];
      LinearNodes alone;
      alone.order_ = order_;
      alone.add(whole.begin, whole.end, kNoNode);
      parts[k].nodes = std::move(alone.nodes_);
    });
    const PlainVector<LinearNode> above = std::move(nodes_);
    std::vector<std::uint32_t> place(above.size() + 1);  // of each node above, and the end
    std::size_t part = 0;
    for (std::size_t node = 0; node < above.size(); ++node) {
      const bool is_part = part < parts.size() && parts[part].at == node;
      place[node + 1] = place[node] + (is_part ? static_cast<std::uint32_t>(parts[part++].nodes.size()) : 1);
    }
    const auto parent_of = [&](const LinearNode& node) {
      return node.parent == kNoNode ? kNoNode : place[node.parent];
    };
    nodes_ = PlainVector<LinearNode>(place.back());
    for (std::size_t node = 0; node < above.size(); ++node) {
      LinearNode& to = nodes_[place[node]] = above[node];
      to.next = place[above[node].next];
      to.parent = parent_of(above[node]);
    }
    for_each_task(parts.size(), workers, interrupt, [&](unsigned, std::size_t k) {
      const std::uint32_t first = place[parts[k].at];
      for (std::size_t node = 0; node < parts[k].nodes.size(); ++node) {
        LinearNode& to = nodes_[first + node] = parts[k].nodes[node];
        to.next += first;
        to.parent = node == 0 ? parent_of(above[parts[k].at]) : to.parent + first;
      }
    });
  }

  std::uint32_t open(std::size_t begin, std::size_t own_end, std::size_t end, std::uint32_t parent) {
    const auto node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(own_end),
                      static_cast<std::uint32_t>(end), node + 1, parent});
    return node;
  }
  void close(std::uint32_t node) { nodes_[node].next = static_cast<std::uint32_t>(nodes_.size()); }

  // Entries of several cells. Recursion: at most one call per level of the tree, and in add_crowd one per factor
  // of eight: at most about 75.
  void add(std::size_t begin, std::size_t end, std::uint32_t parent) {
    if (parts_ != nullptr && end - begin <= most_) {
      parts_->push_back({open(begin, end, end, parent)});
      return;
    }
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
    std::size_t pending = own_end;  // cells from here on have few boxes, and will share a child
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
  // Up to eight parts of as many boxes each as a power of eight, as they are sorted, or leaves.
  void add_crowd_parts(std::size_t begin, std::size_t end, std::uint32_t node) {
    std::size_t part = kLeafBoxes;
    if (end - begin > 2 * kLeafBoxes)
      for (part = 2 * kLeafBoxes; part * 8 < end - begin;) part *= 8;
    for (; begin < end; begin += part) add_crowd(begin, std::min(end, begin + part), node);
  }

  // The first entry in [begin, end) whose key is at least `key`, by galloping search.
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
  PlainVector<LinearNode> nodes_;
  // While they are made: where threads make parts, and how many entries these have at most.
  std::vector<Part>* parts_ = nullptr;
  std::size_t most_ = 0;
};

}  // namespace broadphase
