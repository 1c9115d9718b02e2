// Many questions in an order in which neighbours follow each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/morton.hpp"
#include "base/radix_sort.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// Questions by the Morton number of a place each, 10 bits an axis in 3D. Empty where sorting would not pay: few
// questions, or a tree that stays in the nearest caches anyway. `place(question, point)` writes D doubles.
template <class Place>
std::vector<std::uint32_t> near_each_other(std::size_t count, const BlockTree& tree, const Place& place,
                                           Interrupt& interrupt) {
  constexpr std::size_t kFew = 512, kSmallTree = std::size_t{1} << 18;
  std::vector<std::uint32_t> order;
  if (count < kFew || tree.blocks.count() * tree.blocks.layout().words() * sizeof(float) < kSmallTree) return order;
  constexpr int kBits = 32;
  const std::size_t dimension = tree.dimension();
  const auto bits = kBits / static_cast<int>(dimension) < 11 ? kBits / static_cast<int>(dimension) : 11;
  const double cells = static_cast<double>(1u << bits);
  struct Item {
    std::uint32_t key, question;
  };
  std::vector<Item> items(count), spare(count);
  for (std::size_t k = 0; k < count; ++k) {
    double point[4];
    place(k, point);
    std::uint64_t cell[4] = {};
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      // The tree's boxes were in [-1, 1] when it was built.
      const double at = (tree.frame.local(point[axis], axis) + 1) / 2 * cells;
      cell[axis] = static_cast<std::uint64_t>(at > 0 ? std::min(at, cells - 1) : 0.0);
    }
    items[k] = {static_cast<std::uint32_t>(morton_number(cell, dimension)), static_cast<std::uint32_t>(k)};
  }
  const auto key = [](const Item& item) { return item.key; };
  const Item* sorted =
      radix_sort<11>(items.data(), spare.data(), count, 0, bits * static_cast<int>(dimension), key, 1, interrupt);
  order.resize(count);
  for (std::size_t k = 0; k < count; ++k) order[k] = sorted[k].question;
  return order;
}

}  // namespace broadphase
