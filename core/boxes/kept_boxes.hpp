// Boxes that are kept one after another, and which of them may overlap a box by more than a threshold.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/even_sample.hpp"

namespace broadphase {

// A box is compared with a few of those that are kept: those whose lower corner is near its own. How near is what its
// class says (`Reach`). Kept boxes are in cells by their lower corners, in levels by their sizes; few are in no cells.
template <class Boxes>
class KeptBoxes {
 public:
  using Box = std::remove_cvref_t<decltype(std::declval<const Boxes&>()[0])>;
  using Reach = typename Box::Reach;

  // `boxes` stay where they are.
  KeptBoxes(const Boxes& boxes, Reach reach) : boxes_(boxes), reach_(reach), cell_(reach.cell()) {}

  void clear() {
    kept_.clear();
    orders_.clear();
    cells_.clear();
    count_ = 0;
  }
  // How many are kept. Each has a number, in the order in which they came.
  std::uint32_t count() const { return count_; }

  // `next(k)` is the row of the k-th of `rest` boxes, among which are all that are kept after this one.
  template <class Next>
  void keep(const Box& box, std::size_t rest, Next&& next) {
    if (!cells_.empty()) {
      put(box, count_++);
      return;
    }
    kept_.push_back(box);
    orders_.push_back(count_++);
    if (kept_.size() == kMostScanned && rest > kMostScanned) file(rest, next);
  }

  // Calls visit(kept, number) for those with a number from `since` on that may overlap the box by more than the
  // threshold, until one returns true. In no order, and some twice.
  template <class Visit>
  bool any_near(const Box& box, std::uint32_t since, Visit&& visit) const {
    if (cells_.empty()) return any_of(since, static_cast<std::uint32_t>(kept_.size()), 0, at_place, visit);
    const double size = size_of(box), least_share = reach_.least_share();
    for (std::size_t level = 0; level < levels_; ++level) {
      if (by_level_[level].empty()) continue;
      // Boxes that are too short, or too long.
      const double most = most_of(level), least = level == 0 ? 0 : most_of(level - 1);
      if (most < size * least_share || size < least * least_share) continue;
      if (any_in(box, level, most, since, visit)) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t D = Box::kDimension;
  static constexpr std::size_t kMostScanned = 48;
  static constexpr double kMore = 1e-5;
  static constexpr std::size_t kLevels = 64;

  struct Cell {
    std::uint32_t begin, size;  // of what is kept, in `kept_`
  };

  // Chooses cells for these boxes, which are to come, and puts those that are kept into them.
  template <class Next>
  void file(std::size_t count, Next&& next) {
    const EvenSample sample(count, 256);
    std::vector<double> sides(sample.size());
    for (std::size_t k = 0; k < D; ++k) {
      for (std::size_t at = 0; at < sample.size(); ++at) sides[at] = boxes_[next(sample[at])].side(k);
      std::nth_element(sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(sides.size() / 2), sides.end());
      const double usual = sides[sides.size() / 2];
      constexpr double kLeast = 1e-300;  // its inverse is finite
      side_[k] = usual > kLeast && std::isfinite(usual) ? usual : 1;
      boxes_a_unit_[k] = 1 / side_[k];
    }
    for (std::size_t level = 0; level < kLevels; ++level)
      for (std::size_t k = 0; k < D; ++k)
        cells_a_unit_[level][k] = 1 / std::ldexp(side_[k] * cell_, static_cast<int>(level));
    cells_.assign(std::bit_ceil(2 * count), {0, 0});
    by_level_.assign(kLevels, {});
    levels_ = 0;
    const std::vector<Box> before = std::move(kept_);
    for (std::size_t k = 0; k < count; ++k) ++cell_at(boxes_[next(k)]).size;
    for (const Box& box : before) ++cell_at(box).size;
    std::uint32_t end = 0;
    for (Cell& cell : cells_) {
      cell.begin = end;
      end += std::exchange(cell.size, 0);
    }
    kept_.resize(end);
    orders_.resize(end);
    for (std::uint32_t k = 0; k < before.size(); ++k) put(before[k], k);
  }

  // How many times as long as a usual box this one is at most, along any axis.
  double size_of(const Box& box) const {
    double size = 0;
    for (std::size_t k = 0; k < D; ++k) size = std::max(size, box.side(k) * boxes_a_unit_[k]);
    return size;
  }
  // Boxes of a level are at most 2^level times as long as usual ones, and longer than half of that along one axis; the
  // last level has all that are longer.
  static std::size_t level_of(double size) {
    return size <= 1 ? 0 : static_cast<std::size_t>(std::min(std::ilogb(size), static_cast<int>(kLevels) - 2) + 1);
  }
  static double most_of(std::size_t level) {
    return level + 1 == kLevels ? std::numeric_limits<double>::infinity()
                                : static_cast<double>(std::uint64_t{1} << level);
  }
  std::int64_t place_of(double at, std::size_t axis, std::size_t level) const {
    constexpr double kMost = 0x1p40;
    const double place = std::floor(at * cells_a_unit_[level][axis]);
    return static_cast<std::int64_t>(std::clamp(place, -kMost, kMost));
  }

  // Boxes that begin in a place, and perhaps in others. Places side by side are side by side in memory.
  std::size_t cell_of(const std::array<std::int64_t, D>& place, std::size_t level) const {
    auto mixed = static_cast<std::uint64_t>(level) * 0x9e3779b97f4a7c15u;
    for (std::size_t k = 1; k < D; ++k) {
      mixed = (mixed ^ static_cast<std::uint64_t>(place[k])) * 0xbf58476d1ce4e5b9u;
      mixed ^= mixed >> 29;
    }
    return static_cast<std::size_t>(mixed + static_cast<std::uint64_t>(place[0])) & (cells_.size() - 1);
  }
  Cell& cell_at(const Box& box) {
    const std::size_t level = level_of(size_of(box));
    std::array<std::int64_t, D> place;
    for (std::size_t k = 0; k < D; ++k) place[k] = place_of(box.lower(k), k, level);
    return cells_[cell_of(place, level)];
  }

  void put(const Box& box, std::uint32_t order) {
    Cell& cell = cell_at(box);
    const std::uint32_t slot = cell.begin + cell.size++;
    kept_[slot] = box;
    orders_[slot] = order;
    const std::size_t level = level_of(size_of(box));
    by_level_[level].push_back(slot);
    levels_ = std::max(levels_, level + 1);
  }

  // Slots [begin, end) of a list that has them in the order in which they came.
  template <class Slot, class Visit>
  bool any_of(std::uint32_t since, std::uint32_t end, std::uint32_t begin, Slot&& slot, Visit&& visit) const {
    std::uint32_t from = begin;
    if (since > 0)
      for (from = end; from > begin && orders_[slot(from - 1)] >= since;) --from;
    for (std::uint32_t k = from; k < end; ++k)
      if (visit(kept_[slot(k)], orders_[slot(k)])) return true;
    return false;
  }
  static constexpr auto at_place = [](std::uint32_t k) { return k; };

  template <class Visit>
  bool any_in(const Box& box, std::size_t level, double most, std::uint32_t since, Visit&& visit) const {
    std::array<std::int64_t, D> from, to;
    double cells = 1;
    for (std::size_t k = 0; k < D; ++k) {
      const double own = box.side(k), other = most * side_[k], begin = box.lower(k);
      from[k] = place_of(begin - reach_.before(k, own, other) * (1 + kMore), k, level);
      to[k] = place_of(begin + reach_.behind(k, own, other) * (1 + kMore), k, level);
      cells *= static_cast<double>(to[k] - from[k] + 1);
    }
    const std::vector<std::uint32_t>& all = by_level_[level];
    if (cells > static_cast<double>(all.size()))
      return any_of(since, static_cast<std::uint32_t>(all.size()), 0, [&](std::uint32_t k) { return all[k]; }, visit);
    for (std::array<std::int64_t, D> place = from;;) {
      for (place[0] = from[0]; place[0] <= to[0]; ++place[0]) {
        const Cell cell = cells_[cell_of(place, level)];
        if (any_of(since, cell.begin + cell.size, cell.begin, at_place, visit)) return true;
      }
      std::size_t axis = 1;
      while (axis < D && ++place[axis] > to[axis]) {
        place[axis] = from[axis];
        ++axis;
      }
      if (axis >= D) return false;
    }
  }

  const Boxes& boxes_;
  Reach reach_;
  double cell_;  // of a level, as a share of the side of its longest boxes
  std::vector<Box> kept_;
  std::vector<std::uint32_t> orders_;  // of what is in `kept_`
  std::uint32_t count_ = 0;
  std::vector<Cell> cells_;  // by hash of the place; empty: all boxes are scanned
  std::vector<std::vector<std::uint32_t>> by_level_;
  std::size_t levels_ = 0;
  std::array<double, D> side_{}, boxes_a_unit_{};  // of a usual box
  std::array<std::array<double, D>, kLevels> cells_a_unit_{};
};

}  // namespace broadphase
