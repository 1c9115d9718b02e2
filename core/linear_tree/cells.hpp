// The occupied cells of a linear tree, and where to find one by its number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "linear_tree/order.hpp"

namespace broadphase {

inline constexpr std::uint32_t kNotOccupied = 0xFFFFFFFF;

// Cells in the order of their keys: a cell's ancestors are before it, and all that is within it follows at once.
// Sparse storage has nothing but these, and finds a cell by halving. Flat storage has a table besides, an entry for
// every cell there could be, coarse levels first (see level_start): found at once, at the price of its memory.
class LinearCells {
 public:
  LinearCells() = default;
  LinearCells(const LinearOrder& order, bool flat) : keys_(order.keys), by_level_(order.keys.depth + 1, 0) {
    std::vector<std::uint32_t> open;  // the cells around the one looked at, at most one a level
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
  // Its entries of the order are [begin(cell), begin(cell + 1)).
  std::size_t begin(std::size_t cell) const { return begin_[cell]; }
  // The smallest occupied cell around it, or kNotOccupied.
  std::uint32_t parent(std::size_t cell) const { return parent_[cell]; }
  // The first cell behind those within it.
  std::size_t behind(std::size_t cell) const { return behind_[cell]; }

  // The smallest occupied cell around one of the deepest level, or kNotOccupied.
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

}  // namespace broadphase
