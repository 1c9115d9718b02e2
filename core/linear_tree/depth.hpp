// How deep a linear tree should be.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/even_sample.hpp"
#include "linear_tree/order.hpp"

namespace broadphase {

// From a sample: so deep that most boxes have few others in their cell, and no deeper than most boxes can sink, for a
// box as long as 2^-L of the world lies in no cell below level L.
template <class T>
std::size_t measured_depth(const LinearSource<T>& source, const std::vector<std::uint32_t>& items,
                           const LinearWorld& world, Interrupt& interrupt) {
  // 512 boxes tell the quarters apart within a few per cent. A cell of 8 boxes is a quarter of a leaf: deeper cells
  // would only cost digits to sort by.
  constexpr std::size_t kLookedAt = 512, kInCell = 8;
  const std::size_t count = items.size(), dimension = source.dimension;
  const EvenSample sample(count, kLookedAt);
  const std::size_t looked_at = sample.size();
  if (looked_at < 2) return 1;
  std::vector<std::size_t> apart(looked_at), sinks(looked_at);
  const std::size_t most = kMostDepth[dimension - 1];
  RowSorter<std::uint64_t> sorter(looked_at);
  with_dimension(dimension, [&]<std::size_t D>(Dimension<D>) {
    const CellMap<D> map(world, most);
    for (std::size_t at = 0; at < looked_at; ++at) {
      const std::uint32_t item = items[sample[at]];
      const T *lower = source.lower(item), *upper = source.upper(item);
      std::uint64_t cell[D], length = 0;
      for (std::size_t k = 0; k < D; ++k) {
        cell[k] = map.coordinate(static_cast<double>(lower[k]) / 2 + static_cast<double>(upper[k]) / 2, k);
        length = std::max(length, map.coordinate(static_cast<double>(upper[k] + source.grow), k) -
                                      map.coordinate(static_cast<double>(lower[k] - source.grow), k));
      }
      sinks[at] = most - static_cast<std::size_t>(std::bit_width(length));
      sorter.add(morton_number<D>(cell), static_cast<std::uint32_t>(at));
    }
  });
  sorter.sort(interrupt);
  // Neighbours in Z order part at this level.
  for (std::size_t at = 0; at + 1 < looked_at; ++at)
    apart[at] = most - levels_to_common(sorter.bits(at), sorter.bits(at + 1), dimension) + 1;
  apart.pop_back();
  const auto quarter = [](std::vector<std::size_t>& levels) {
    const auto at = levels.begin() + static_cast<std::ptrdiff_t>(levels.size() * 3 / 4);
    std::nth_element(levels.begin(), at, levels.end());
    return *at;
  };
  const double more = std::log2(static_cast<double>(count) / static_cast<double>(looked_at * kInCell));
  const double crowded = static_cast<double>(quarter(apart)) + more / static_cast<double>(dimension);
  const auto depth = static_cast<std::size_t>(std::max(1.0, std::ceil(crowded)));
  return std::clamp<std::size_t>(std::min(depth, quarter(sinks)), 1, most);
}

// The origins' rule: every so many updates, one level deeper where at least 57 % of the occupied cells are leaves, one
// shallower where at most 30 % are.
struct TunedDepth {
  static constexpr std::size_t kFirst = 3, kEvery = 60, kUsualMost = 6, kMost = 8;
  static constexpr double kDeeperFrom = 0.57, kShallowerTo = 0.30;

  static std::size_t next(std::size_t depth, std::size_t most, std::size_t cells, std::size_t leaves) {
    const auto share = static_cast<double>(leaves) / static_cast<double>(std::max<std::size_t>(cells, 1));
    if (cells > 0 && share >= kDeeperFrom) return std::min(depth + 1, most);
    if (share <= kShallowerTo && depth > 1) return depth - 1;
    return depth;
  }
};

}  // namespace broadphase
