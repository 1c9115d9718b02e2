// All of space, divided into tiles, and which of them each box meets.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/with_dimension.hpp"
#include "boxes/box_view.hpp"
#include "query/problem.hpp"

namespace broadphase {

// The rows that meet each tile, one tile after the other: first those whose lower corner lies in the tile (each row is
// in exactly one), ascending, then the others, ascending.
struct TileRows {
  std::vector<std::int64_t> offsets;  // of each tile in `rows`, and the end
  std::vector<std::int64_t> homes;    // how many of each tile's rows have their lower corner there
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> wide;  // rows that meet more tiles than allowed, and are in none of the above
};

// A complete binary tree of planes: the children of node k are 2k + 1 and 2k + 2. Coordinates below a plane are on its
// first side, the plane itself and all above on its second: tiles are half-open, and the outermost reach to infinity.
// Of a node whose plane is at NaN, all is on the first side.
class Tiling {
 public:
  struct Plane {
    double at;
    std::int32_t axis;
  };

  static constexpr std::size_t kMaxDepth = 24;

  // `leaves`: the tile of each leaf, from 0 to tiles - 1; -1 for leaves that nothing reaches. 2^depth of them.
  Tiling(std::vector<Plane> planes, std::vector<std::int32_t> leaves, std::size_t dimension)
      : planes_(std::move(planes)), leaves_(std::move(leaves)), dimension_(dimension) {
    for (std::size_t count = leaves_.size(); count > 1; count /= 2) ++depth_;
    for (const std::int32_t tile : leaves_) tiles_ = std::max(tiles_, static_cast<std::size_t>(tile + 1));
    // Never reached: NaN.
    ends_.assign(leaves_.size() * dimension_, std::numeric_limits<double>::quiet_NaN());
    std::array<double, 4> end;
    end.fill(std::numeric_limits<double>::quiet_NaN());
    find_ends(0, end);
  }

  std::size_t tiles() const { return tiles_; }

  // Throws InvalidBoxes for NaN and for lower > upper. O(n * depth) time; `most`: rows that meet more tiles are wide.
  template <class T>
  TileRows assign(const BoxView<T>& boxes, std::size_t most) const {
    return with_dimension(dimension_, [&](auto dimension) {
      constexpr std::size_t kDimension = decltype(dimension)::value;
      return assign_in<kDimension>(boxes, most);
    });
  }

 private:
  static constexpr std::size_t kTogether =
      16;  // boxes that descend side by side: their loads do not wait for each other
  static constexpr std::int32_t kWide = -1;

  struct Copy {
    std::int32_t tile, row;
  };

  // The planes that end each leaf, along every axis. No recursion is deeper than kMaxDepth.
  void find_ends(std::size_t node, const std::array<double, 4>& end) {
    if (node >= planes_.size()) {
      std::copy_n(end.begin(), dimension_,
                  ends_.begin() + static_cast<std::ptrdiff_t>((node - planes_.size()) * dimension_));
      return;
    }
    std::array<double, 4> below = end;
    const double at = planes_[node].at;
    double& nearer = below[static_cast<std::size_t>(planes_[node].axis)];
    if (at < nearer || std::isnan(nearer)) nearer = at;
    find_ends(2 * node + 1, below);
    find_ends(2 * node + 2, end);
  }

  template <std::size_t D, class T>
  TileRows assign_in(const BoxView<T>& boxes, std::size_t most) const {
    TileRows result;
    result.homes.resize(tiles_);
    std::vector<std::int32_t> home(boxes.count);
    std::vector<Copy> copies;
    bool valid = true;
    for (std::size_t begin = 0; begin < boxes.count; begin += kTogether) {
      const std::size_t count = std::min(kTogether, boxes.count - begin);
      std::array<std::size_t, kTogether> leaf = leaves_of<D>(boxes, begin, count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = begin + i;
        const T *lower = boxes.lower_of(row), *upper = boxes.upper_of(row);
        const double* end = ends_.data() + leaf[i] * D;
        bool inside = true;
        for (std::size_t k = 0; k < D; ++k) {
          valid &= lower[k] <= upper[k];
          inside &= !(static_cast<double>(upper[k]) >= end[k]);  // true where nothing ends the leaf
        }
        home[row] = leaves_[leaf[i]];
        if (!inside && valid) {
          const std::size_t before = copies.size();
          if (!find_others(lower, upper, static_cast<std::int32_t>(row), leaf[i], most, copies)) {
            copies.resize(before);
            home[row] = kWide;
            result.wide.push_back(static_cast<std::int32_t>(row));
            continue;
          }
        }
        ++result.homes[static_cast<std::size_t>(home[row])];
      }
      if (!valid) throw InvalidBoxes();
    }
    file(home, copies, result);
    return result;
  }

  template <std::size_t D, class T>
  std::array<std::size_t, kTogether> leaves_of(const BoxView<T>& boxes, std::size_t begin, std::size_t count) const {
    std::array<std::size_t, kTogether> node{};
    std::array<std::array<double, D>, kTogether> lower;
    for (std::size_t i = 0; i < kTogether; ++i)
      for (std::size_t k = 0; k < D; ++k)
        lower[i][k] = static_cast<double>(boxes.lower_of(begin + std::min(i, count - 1))[k]);
    for (std::size_t level = 0; level < depth_; ++level)
      for (std::size_t i = 0; i < kTogether; ++i) {
        const Plane& plane = planes_[node[i]];
        node[i] = 2 * node[i] + 1 + (lower[i][static_cast<std::size_t>(plane.axis)] >= plane.at ? 1 : 0);
      }
    for (std::size_t& leaf : node) leaf -= planes_.size();
    return node;
  }

  // Adds the tiles that a box meets besides that of the leaf of its lower corner. False if it meets more than `most` in
  // all. They are behind the planes above that leaf which the box reaches: most of these are near the leaf, so that
  // climbing up from it is much less work than a walk down from the root, and its loads do not wait for each other.
  template <class T>
  bool find_others(const T* lower, const T* upper, std::int32_t row, std::size_t leaf, std::size_t most,
                   std::vector<Copy>& copies) const {
    std::size_t met = 1;
    for (std::size_t node = leaf + planes_.size(); node > 0; node = (node - 1) / 2) {
      if (node % 2 == 0) continue;  // beyond its plane already
      const Plane& plane = planes_[node / 2];
      if (static_cast<double>(upper[plane.axis]) >= plane.at && !walk(node + 1, lower, upper, row, met, most, copies))
        return false;
    }
    return met <= most;
  }

  // Adds the tiles below a node that a box meets.
  template <class T>
  bool walk(std::size_t node, const T* lower, const T* upper, std::int32_t row, std::size_t& met, std::size_t most,
            std::vector<Copy>& copies) const {
    std::array<std::size_t, kMaxDepth + 1> waiting;
    std::size_t count = 0;
    waiting[count++] = node;
    while (count > 0) {
      node = waiting[--count];
      while (node < planes_.size()) {
        const Plane& plane = planes_[node];
        const bool above = static_cast<double>(upper[plane.axis]) >= plane.at;
        const bool below = !(static_cast<double>(lower[plane.axis]) >= plane.at);
        if (above && below) waiting[count++] = 2 * node + 2;
        node = 2 * node + (below ? 1 : 2);
      }
      if (++met > most) return false;
      copies.push_back({leaves_[node - planes_.size()], row});
    }
    return true;
  }

  void file(const std::vector<std::int32_t>& home, const std::vector<Copy>& copies, TileRows& result) const {
    std::vector<std::int64_t> next_home(tiles_), next_copy(tiles_);
    for (const Copy& copy : copies) ++next_copy[static_cast<std::size_t>(copy.tile)];
    result.offsets.resize(tiles_ + 1);
    for (std::size_t tile = 0; tile < tiles_; ++tile) {
      const std::int64_t others = next_copy[tile];
      next_home[tile] = result.offsets[tile];
      next_copy[tile] = next_home[tile] + result.homes[tile];
      result.offsets[tile + 1] = next_copy[tile] + others;
    }
    result.rows.resize(static_cast<std::size_t>(result.offsets.back()));
    for (std::size_t row = 0; row < home.size(); ++row)
      if (home[row] != kWide)
        result.rows[static_cast<std::size_t>(next_home[static_cast<std::size_t>(home[row])]++)] =
            static_cast<std::int32_t>(row);
    for (const Copy& copy : copies)
      result.rows[static_cast<std::size_t>(next_copy[static_cast<std::size_t>(copy.tile)]++)] = copy.row;
  }

  std::vector<Plane> planes_;
  std::vector<std::int32_t> leaves_;
  std::vector<double> ends_;  // of leaf l along axis k, at l * dimension + k; NaN: none
  std::size_t dimension_, depth_ = 0, tiles_ = 0;
};

}  // namespace broadphase
