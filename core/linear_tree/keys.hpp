// Where boxes go in a linear tree: its world, and keys that sort its cells as a walk meets them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/morton.hpp"
#include "base/with_dimension.hpp"

namespace broadphase {

// The part of space that the tree halves. Its outermost cells reach to infinity: what lies outside is filed in them.
struct LinearWorld {
  double low[4] = {0, 0, 0, 0}, high[4] = {0, 0, 0, 0};
};

// A cell as a number of 64 bits: the Morton number of the first of the deepest cells within it, then its level. In the
// order of keys, a cell comes before all that are within it, and those come before all behind it: the order of a walk.
struct CellKeys {
  std::size_t dimension = 2, depth = 0, level_bits = 0;

  CellKeys() = default;
  CellKeys(std::size_t dimensions, std::size_t levels)
      : dimension(dimensions), depth(levels), level_bits(static_cast<std::size_t>(std::bit_width(levels))) {}

  std::uint64_t key(std::uint64_t first, std::size_t level) const { return first << level_bits | level; }
  std::uint64_t first(std::uint64_t key) const { return key >> level_bits; }
  std::size_t level(std::uint64_t key) const { return key & ((std::uint64_t{1} << level_bits) - 1); }
  // Bits of a deepest cell's number that lie below a level.
  std::size_t shift(std::size_t level) const { return dimension * (depth - level); }
  std::uint64_t number(std::uint64_t key) const { return first(key) >> shift(level(key)); }
  // The first key behind all cells within this one.
  std::uint64_t behind(std::uint64_t first, std::size_t level) const {
    return (first + (std::uint64_t{1} << shift(level))) << level_bits;
  }
  // The smallest cell around two.
  std::uint64_t common(std::uint64_t a, std::uint64_t b) const {
    const std::size_t apart = levels_to_common(first(a), first(b), dimension);
    const std::size_t level_of = std::min({depth - apart, level(a), level(b)});
    return key(first(a) >> shift(level_of) << shift(level_of), level_of);
  }
  bool contains(std::uint64_t outer, std::uint64_t inner) const { return common(outer, inner) == outer; }

  int bits() const { return static_cast<int>(dimension * depth + level_bits); }
};

// The deepest tree whose keys fit, with a bit to spare for the key behind the last.
inline constexpr std::size_t kMostDepth[4] = {57, 29, 19, 14};

// Coordinates to cells of the deepest level. Monotone: of two numbers the larger never has the smaller cell. So boxes
// that overlap share a cell, and nothing is lost to rounding, nor to the border.
template <std::size_t D>
class CellMap {
 public:
  CellMap(const LinearWorld& world, std::size_t depth) : keys_(D, depth) {
    const double cells = std::ldexp(1.0, static_cast<int>(depth));
    last_ = std::nextafter(cells, 0.0);
    for (std::size_t k = 0; k < D; ++k) {
      low_[k] = world.low[k];
      const double half = world.high[k] / 2 - world.low[k] / 2;
      scale_[k] = std::min(cells / 2 / half, std::numeric_limits<double>::max());  // half 0: one cell
    }
  }

  const CellKeys& keys() const { return keys_; }

  std::uint64_t coordinate(double x, std::size_t k) const {
    const double place = std::min(std::max((x - low_[k]) * scale_[k], 0.0), last_);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(place));
  }

  // The smallest cell around a box.
  template <class T>
  std::uint64_t key(const T* lower, const T* upper, T grow) const {
    return key(lower, upper, grow, std::make_index_sequence<D>());
  }

 private:
  // Written out by axis: compilers keep the loop, and the coordinates in memory.
  template <class T, std::size_t... K>
  std::uint64_t key(const T* lower, const T* upper, T grow, std::index_sequence<K...>) const {
    const std::uint64_t cell[] = {coordinate(static_cast<double>(lower[K] - grow), K)...};
    const std::uint64_t differ = ((cell[K] ^ coordinate(static_cast<double>(upper[K] + grow), K)) | ...);
    // The highest bit in which the corners differ along any axis is the highest digit in which their numbers do.
    const auto up = static_cast<std::size_t>(std::bit_width(differ << 1 | 1)) - 1;
    const std::uint64_t first = ((spread_bits<D>(cell[K] >> up << up) << K) | ...);
    return keys_.key(first, keys_.depth - up);
  }

  CellKeys keys_;
  double low_[D], scale_[D], last_;
};

}  // namespace broadphase
