// Greedy non-maximum suppression: of boxes in the order of their scores, each is kept unless it overlaps one that was
// kept before it by more than a threshold.
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
#include "base/parallel.hpp"
#include "boxes/overlap_ratio.hpp"

namespace broadphase {

// The boxes of one batch that are kept so far. A box is compared with a few of them: those whose lower corner is near
// its own. Where two boxes overlap by more than a share t of their union, so do they along each axis, and one reaches
// beyond the other by less than 1 - t of that. Kept boxes are in cells by their lower corners, in levels by their
// sizes.
template <class T, std::size_t D>
class Suppression {
 public:
  // Corners of all boxes: d lower and d upper numbers each, finite.
  Suppression(const T* boxes, double threshold, RatioTo measure)
      : boxes_(boxes), threshold_(threshold), measure_(measure) {
    // More than what rounding changes of a ratio.
    if (measure == RatioTo::kUnion) apart_ = std::min(1.0, 1 - threshold + kMore);
    // So that a usual box looks into three cells along each axis.
    cell_ = std::clamp(apart_ * std::min(2.0, 1 / threshold), 0.125, 1.0);
  }

  // Whether the better of two boxes excludes the other.
  bool excludes(std::size_t row, std::size_t other) const {
    return overlaps(Box(boxes_ + row * 2 * D), Box(boxes_ + other * 2 * D));
  }

  // Sets the flags of the rows that are kept, of `count` in the order of their scores.
  void run(const std::int32_t* rows, std::size_t count, std::uint8_t* kept, Interrupt& interrupt) {
    kept_.clear();
    cells_.clear();
    for (std::size_t k = 0; k < count; ++k) {
      const auto row = static_cast<std::size_t>(rows[k]);
      const Box box(boxes_ + row * 2 * D);
      if (!box.has_volume()) {  // overlaps none
        kept[row] = 1;
        continue;
      }
      if (k % 1024 == 1023) interrupt.check();
      const bool is_scanned = cells_.empty();
      if (is_scanned ? overlaps_any(box) : overlaps_near(box)) continue;
      kept[row] = 1;
      if (!is_scanned)
        put(box);
      else
        kept_.push_back(box);
      if (is_scanned && kept_.size() == kMostScanned && count - k > kMostScanned) file(rows + k + 1, count - k - 1);
    }
  }

 private:
  static constexpr std::size_t kMostScanned = 48;
  static constexpr double kMore = 1e-5;
  // Up to four of them multiplied, or their inverses, are normal numbers.
  static constexpr T kSmall = std::is_same_v<T, float> ? T(0x1p-30) : T(0x1p-250);
  static constexpr std::size_t kLevels = 64;

  struct Cell {
    std::uint32_t begin, size;  // of what is kept, in `kept_`
  };
  struct Box {
    T lower[D], upper[D], volume;
    bool is_usual;  // products of its sides, and of parts of these, neither overflow nor lose digits

    Box() = default;
    explicit Box(const T* corners) {
      volume = 1;
      is_usual = true;
      for (std::size_t k = 0; k < D; ++k) {
        lower[k] = corners[k];
        upper[k] = corners[D + k];
        const T side = upper[k] - lower[k];
        volume *= side;
        is_usual &= side >= kSmall && side <= 1 / kSmall;
      }
    }
    bool has_volume() const {
      bool has = true;
      for (std::size_t k = 0; k < D; ++k) has &= lower[k] < upper[k];
      return has;
    }
    // As much as a double can say.
    double side(std::size_t k) const { return static_cast<double>(upper[k]) - static_cast<double>(lower[k]); }
  };

  bool overlaps(const Box& a, const Box& b) const {
    T common = 1, least = std::numeric_limits<T>::max();
    for (std::size_t k = 0; k < D; ++k) {
      const T both = std::min(a.upper[k], b.upper[k]) - std::max(a.lower[k], b.lower[k]);
      common *= both;
      least = std::min(least, both);
    }
    if (!(least > 0)) return false;
    if (!(least >= kSmall) || !a.is_usual || !b.is_usual) return exact_ratio(a, b) > threshold_;
    const T whole = measure_ == RatioTo::kUnion ? a.volume + b.volume - common : std::min(a.volume, b.volume);
    return static_cast<double>(common / whole) > threshold_;
  }
  double exact_ratio(const Box& a, const Box& b) const {
    double first[2 * D], second[2 * D];
    for (std::size_t k = 0; k < D; ++k) {
      first[k] = a.lower[k], first[D + k] = a.upper[k];
      second[k] = b.lower[k], second[D + k] = b.upper[k];
    }
    return overlap_ratio(first, second, D, measure_);
  }

  bool overlaps_any(const Box& box) const {
    for (const Box& kept : kept_)
      if (overlaps(kept, box)) return true;
    return false;
  }

  // Chooses cells for these boxes, which are to come, and puts those that are kept into them.
  void file(const std::int32_t* rows, std::size_t count) {
    const auto box_of = [&](std::size_t k) { return Box(boxes_ + static_cast<std::size_t>(rows[k]) * 2 * D); };
    const EvenSample sample(count, 256);
    std::vector<double> sides(sample.size());
    for (std::size_t k = 0; k < D; ++k) {
      for (std::size_t at = 0; at < sample.size(); ++at) sides[at] = box_of(sample[at]).side(k);
      std::nth_element(sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(sides.size() / 2), sides.end());
      const double usual = sides[sides.size() / 2];
      side_[k] = usual > 0 && std::isfinite(usual) ? usual : 1;
      boxes_a_unit_[k] = 1 / side_[k];
    }
    for (std::size_t level = 0; level < kLevels; ++level)
      for (std::size_t k = 0; k < D; ++k)
        cells_a_unit_[level][k] = 1 / std::ldexp(side_[k] * cell_, static_cast<int>(level));
    cells_.assign(std::bit_ceil(2 * count), {0, 0});
    by_level_.assign(kLevels, {});
    levels_ = 0;
    const std::vector<Box> before = std::move(kept_);
    for (std::size_t k = 0; k < count; ++k) ++cell_at(box_of(k)).size;
    for (const Box& box : before) ++cell_at(box).size;
    std::uint32_t end = 0;
    for (Cell& cell : cells_) {
      cell.begin = end;
      end += std::exchange(cell.size, 0);
    }
    kept_.resize(end);
    for (const Box& box : before) put(box);
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
  Cell& cell_at(const std::array<std::int64_t, D>& place, std::size_t level) {
    auto mixed = static_cast<std::uint64_t>(level) * 0x9e3779b97f4a7c15u;
    for (std::size_t k = 1; k < D; ++k) {
      mixed = (mixed ^ static_cast<std::uint64_t>(place[k])) * 0xbf58476d1ce4e5b9u;
      mixed ^= mixed >> 29;
    }
    return cells_[(mixed + static_cast<std::uint64_t>(place[0])) & (cells_.size() - 1)];
  }
  Cell& cell_at(const Box& box) {
    const std::size_t level = level_of(size_of(box));
    std::array<std::int64_t, D> place;
    for (std::size_t k = 0; k < D; ++k) place[k] = place_of(static_cast<double>(box.lower[k]), k, level);
    return cell_at(place, level);
  }

  void put(const Box& box) {
    Cell& cell = cell_at(box);
    const std::uint32_t number = cell.begin + cell.size++;
    kept_[number] = box;
    const std::size_t level = level_of(size_of(box));
    by_level_[level].push_back(number);
    levels_ = std::max(levels_, level + 1);
  }

  bool overlaps_near(const Box& box) {
    const double size = size_of(box);
    for (std::size_t level = 0; level < levels_; ++level) {
      if (by_level_[level].empty()) continue;
      const double most = most_of(level);
      if (measure_ == RatioTo::kUnion) {  // boxes that are too short, or too long
        const double least = level == 0 ? 0 : most_of(level - 1);
        if (most < size * threshold_ * (1 - kMore) || size < least * threshold_ * (1 - kMore)) continue;
      }
      if (overlaps_in(box, level, most)) return true;
    }
    return false;
  }

  bool overlaps_in(const Box& box, std::size_t level, double most) {
    std::array<std::int64_t, D> from, to;
    double cells = 1;
    for (std::size_t k = 0; k < D; ++k) {
      const double own = box.side(k), other = most * side_[k], begin = static_cast<double>(box.lower[k]);
      double before = other, behind = own;
      if (measure_ == RatioTo::kUnion) {
        const double whole = std::min(own + other, std::min(own, other) / (threshold_ * (1 - kMore)));
        before = std::min(before, apart_ * whole);
        behind = std::min(behind, apart_ * whole);
      }
      from[k] = place_of(begin - before * (1 + kMore), k, level);
      to[k] = place_of(begin + behind * (1 + kMore), k, level);
      cells *= static_cast<double>(to[k] - from[k] + 1);
    }
    const std::vector<std::uint32_t>& all = by_level_[level];
    if (cells > static_cast<double>(all.size())) {
      for (const std::uint32_t number : all)
        if (overlaps(kept_[number], box)) return true;
      return false;
    }
    for (std::array<std::int64_t, D> place = from;;) {
      for (place[0] = from[0]; place[0] <= to[0]; ++place[0]) {
        const Cell cell = cell_at(place, level);
        for (std::uint32_t number = cell.begin; number < cell.begin + cell.size; ++number)
          if (overlaps(kept_[number], box)) return true;
      }
      std::size_t axis = 1;
      while (axis < D && ++place[axis] > to[axis]) {
        place[axis] = from[axis];
        ++axis;
      }
      if (axis >= D) return false;
    }
  }

  const T* boxes_;
  double threshold_, apart_ = 1, cell_ = 1;  // of a level, as a share of the side of its longest boxes
  RatioTo measure_;
  std::vector<Box> kept_;
  std::vector<Cell> cells_;  // by hash of the place; empty: all boxes are scanned
  std::vector<std::vector<std::uint32_t>> by_level_;
  std::size_t levels_ = 0;
  std::array<double, D> side_{}, boxes_a_unit_{};  // of a usual box
  std::array<std::array<double, D>, kLevels> cells_a_unit_{};
};

}  // namespace broadphase
