// Which bodies can meet a followed one on its way: a filter, so that all else is computed for few of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/parallel.hpp"

namespace broadphase {

// How rows moved during a step, D numbers a row.
template <std::size_t D>
struct Journeys {
  static constexpr std::uint8_t kReflected = 1, kWrapped = 2;

  const double *before, *after, *now;  // `after`: as if there were no boundary
  const double* boxes;                 // (n, 2, D), where the rows are now
  const std::uint8_t *counts, *is_followed;
  const std::uint8_t* turned;  // may be null: kReflected; kWrapped, where the world is not periodic
  const double* bounds;        // lower and upper corner, may be null
  bool is_periodic;

  // A box around the way of a row, rounded outwards; in a periodic world, around one image of it.
  void around(std::size_t row, std::array<double, D>& lower, std::array<double, D>& upper) const {
    constexpr double kMost = 0x1p900, kSlack = 0x1p-46;
    const std::uint8_t turn = turned != nullptr ? turned[row] : 0;
    for (std::size_t k = 0; k < D; ++k) {
      const double from = before[row * D + k], to = after[row * D + k], here = now[row * D + k];
      double low = std::min(from, to), high = std::max(from, to);
      if (!is_periodic || turn == kReflected) low = std::min(low, here), high = std::max(high, here);
      if (turn == kReflected) {
        const double way = std::min(high - low, kMost);
        low -= way;
        high += way;
      }
      if (turn == kWrapped) low = std::min(low, bounds[k]), high = std::max(high, bounds[D + k]);
      const double *box = boxes + row * 2 * D, slack = kSlack * (std::abs(low) + std::abs(high) + std::abs(here) +
                                                                 std::max(std::abs(box[k]), std::abs(box[D + k])));
      lower[k] = std::clamp(low + (box[k] - here) - slack, -kMost, kMost);
      upper[k] = std::clamp(high + (box[D + k] - here) + slack, -kMost, kMost);
    }
  }
};

// A grid of bits: which cells the ways of followed bodies go through. The first axis is a word of 64 cells.
template <std::size_t D>
class WayMap {
 public:
  static constexpr std::size_t kRowsTogether = 16;

  explicit WayMap(const Journeys<D>& journeys, std::size_t rows) : is_periodic_(journeys.is_periodic) {
    from_.fill(std::numeric_limits<double>::infinity());
    to_.fill(-std::numeric_limits<double>::infinity());
    std::array<double, D> lower, upper;
    std::vector<std::size_t> followed;
    for (std::size_t row = 0; row < rows; ++row)
      if (journeys.is_followed[row] != 0) followed.push_back(row);
    for (const std::size_t row : followed) {
      journeys.around(row, lower, upper);
      for (std::size_t k = 0; k < D; ++k) from_[k] = std::min(from_[k], lower[k]), to_[k] = std::max(to_[k], upper[k]);
      boxes_.push_back({lower, upper});
      widest_ = std::max(widest_, upper[0] - lower[0]);
    }
    for (std::size_t k = 0; k < D; ++k) {
      if (is_periodic_) from_[k] = journeys.bounds[k], to_[k] = journeys.bounds[D + k];
      const double by = static_cast<double>(kCells[k]) / (to_[k] - from_[k]);
      cells_a_unit_[k] = by <= std::numeric_limits<double>::max() ? by : 0.0;
      offset_[k] = std::max(std::abs(from_[k]), std::abs(to_[k])) * cells_a_unit_[k];
    }
    for (std::size_t i = 0; i < kRowsTogether * D; ++i) {
      from_each_[i] = from_[i % D];
      cells_each_[i] = offset_[i % D] <= kFarthest ? cells_a_unit_[i % D] : std::numeric_limits<double>::infinity();
      most_each_[i] = static_cast<double>(kCells[i % D]) - kSlack;
    }
    if (is_periodic_)
      for (Box& box : boxes_) to_this_world(box);
    std::sort(boxes_.begin(), boxes_.end(), [](const Box& a, const Box& b) { return a.lower[0] < b.lower[0]; });
    words_.assign(kCells[1] * (D == 3 ? kCells[2] : 1), 0);
    around_words_ = words_;
    for (const std::size_t row : followed) {
      mark(journeys, row, 0, words_);
      mark(journeys, row, kReach, around_words_);
    }
  }

  // Which of N rows from `begin` on may meet a way, as bits: one look at the cell of the lower corner of each row's box
  // and motion, where these are together no longer than `kReach` cells. Few rows. All rows and axes are calculated side
  // by side, without a branch.
  template <std::size_t N>
  std::uint32_t near_ones(const Journeys<D>& journeys, std::size_t begin) const {
    constexpr double kLongest = kReach - 0.01;
    const double *boxes = journeys.boxes + begin * 2 * D, *before = journeys.before + begin * D,
                 *after = journeys.after + begin * D;
    double low[N * D], length[N * D];
    for (std::size_t row = 0; row < N; ++row)
      for (std::size_t k = 0; k < D; ++k) {
        low[row * D + k] = boxes[row * 2 * D + k];
        length[row * D + k] = boxes[(row * 2 + 1) * D + k] - boxes[row * 2 * D + k];
      }
    std::int32_t cell[N * D];
    for (std::size_t i = 0; i < N * D; ++i) {
      const double way = std::abs(after[i] - before[i]), place = (low[i] - way - from_each_[i]) * cells_each_[i];
      const double most = most_each_[i], least = is_periodic_ ? -most : 0.0;
      double inside = place > least ? place : least;
      inside = inside < most ? inside : most;
      length[i] = (length[i] + 2 * way) * cells_each_[i];
      if (is_periodic_) length[i] += std::abs(place - inside) * kLongest * 0x1p20;  // beyond: as if it were long
      cell[i] = static_cast<std::int32_t>(is_periodic_ ? inside + (most + kSlack) : inside);
    }
    std::uint32_t near = 0;
    for (std::size_t row = 0; row < N; ++row) {
      bool is_large = false;
      std::size_t at[D];
      for (std::size_t k = 0; k < D; ++k) {
        is_large |= !(length[row * D + k] <= kLongest);
        at[k] = static_cast<std::size_t>(cell[row * D + k]) & (kCells[k] - 1);
      }
      const std::size_t word = D == 2 ? at[1] : at[1] * kCells[2] + at[D - 1];
      const std::uint64_t is_near = (around_words_[word] >> at[0] & 1) | static_cast<std::uint64_t>(is_large);
      near |= static_cast<std::uint32_t>(is_near) << row;
    }
    return near;
  }

  // Whether a box may meet a way.
  bool meets(const std::array<double, D>& lower, const std::array<double, D>& upper) const {
    std::array<Range, D> ranges;
    for (std::size_t k = 0; k < D; ++k) {
      if (!is_periodic_ && (lower[k] > to_[k] || upper[k] < from_[k])) return false;
      ranges[k] = range(k, lower[k], upper[k], 0);
    }
    bool any = false;
    for_each_word(ranges, [&](std::size_t word, std::uint64_t bits) { any |= (words_[word] & bits) != 0; });
    return any && (is_periodic_ ? meets_image({lower, upper}) : meets_box(lower, upper));
  }

 private:
  static constexpr int kReach = 2;
  static constexpr std::array<std::size_t, 3> kCells = {64, D == 3 ? std::size_t{64} : 1024, 64};

  struct Box {
    std::array<double, D> lower, upper;
  };

  // Whether a box meets that around one of the ways, which are in the order of their lower first numbers.
  bool meets_box(const std::array<double, D>& lower, const std::array<double, D>& upper) const {
    auto at = std::lower_bound(boxes_.begin(), boxes_.end(), lower[0] - widest_ * (1 + 0x1p-50),
                               [](const Box& box, double x) { return box.lower[0] < x; });
    for (; at != boxes_.end() && at->lower[0] <= upper[0]; ++at) {
      bool is_apart = false;
      for (std::size_t k = 0; k < D; ++k) {
        is_apart |= at->lower[k] > upper[k];
        is_apart |= at->upper[k] < lower[k];
      }
      if (!is_apart) return true;
    }
    return false;
  }

  // The same in a periodic world: whether any image of a box does.
  bool meets_image(Box box) const {
    const double period = to_[0] - from_[0], reach = widest_ * (1 + 0x1p-50) + kSlack * period;
    to_this_world(box);
    if (!(box.upper[0] - box.lower[0] + reach < period && offset_[0] <= kFarthest)) {
      for (const Box& way : boxes_)
        if (overlap_somewhere(way, box)) return true;
      return false;
    }
    for (const double world : {-period, 0.0, period}) {
      auto at = std::lower_bound(boxes_.begin(), boxes_.end(), box.lower[0] + world - reach,
                                 [](const Box& way, double x) { return way.lower[0] < x; });
      for (; at != boxes_.end() && at->lower[0] <= box.upper[0] + world + reach; ++at)
        if (overlap_somewhere(*at, box)) return true;
    }
    return false;
  }
  // Whether two boxes overlap, moved by any number of worlds along each axis; perhaps also where they nearly do.
  bool overlap_somewhere(const Box& a, const Box& b) const {
    bool do_so = true;
    for (std::size_t k = 0; k < D; ++k) {
      const double period = to_[k] - from_[k], low = (a.lower[k] - b.upper[k]) / period,
                   high = (a.upper[k] - b.lower[k]) / period;
      const double slack = kSlack * (1 + std::abs(low) + std::abs(high)) + offset_[k] * 0x1p-46;
      do_so &= std::floor(high + slack) >= std::ceil(low - slack);
    }
    return do_so;
  }
  // Moves a box along the first axis by whole worlds, to where its lower number is within this one.
  void to_this_world(Box& box) const {
    const double period = to_[0] - from_[0], way = std::floor((box.lower[0] - from_[0]) / period) * period;
    box.lower[0] -= way;
    box.upper[0] -= way;
  }

  // Of a cell, or of a world: more than rounding takes, up to so many cells from 0.
  static constexpr double kSlack = 0x1p-20, kFarthest = 0x1p24;

  struct Range {
    std::size_t first, count;  // cells; past the last one, the first follows
  };

  // The cells of numbers from `low` to `high`, and as many more before them; all of them in case of doubt.
  Range range(std::size_t axis, double low, double high, std::int64_t more) const {
    const auto cells = static_cast<std::int64_t>(kCells[axis]);
    const double begin = (low - from_[axis]) * cells_a_unit_[axis], end = (high - from_[axis]) * cells_a_unit_[axis];
    if (!(begin >= -kFarthest && end <= kFarthest && begin <= end && offset_[axis] <= kFarthest))
      return {0, kCells[axis]};
    std::int64_t first = floor_of(begin - kSlack) - more, last = floor_of(end + kSlack);
    if (!is_periodic_) {
      first = std::clamp<std::int64_t>(first, 0, cells - 1);
      last = std::clamp<std::int64_t>(last, 0, cells - 1);
    }
    if (last - first >= cells) return {0, kCells[axis]};
    // Their numbers are powers of two.
    return {static_cast<std::size_t>(first & (cells - 1)), static_cast<std::size_t>(last - first + 1)};
  }
  // As std::floor, which is a call of the library on some processors.
  static std::int64_t floor_of(double x) {
    const auto whole = static_cast<std::int64_t>(x);
    return whole - (x < static_cast<double>(whole) ? 1 : 0);
  }

  template <class Use>
  static void for_each_word(const std::array<Range, D>& ranges, Use&& use) {
    const Range& x = ranges[0];
    const std::uint64_t ones = x.count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << x.count) - 1;
    const std::uint64_t bits = x.first == 0 ? ones : ones << x.first | ones >> (64 - x.first);
    for (std::size_t i = 0; i < ranges[1].count; ++i) {
      const std::size_t y = (ranges[1].first + i) & (kCells[1] - 1);
      if constexpr (D == 2)
        use(y, bits);
      else
        for (std::size_t j = 0; j < ranges[2].count; ++j)
          use(y * kCells[2] + ((ranges[2].first + j) & (kCells[2] - 1)), bits);
    }
  }

  // Marks a way piece by piece, where it is straight, and so many cells around it.
  void mark(const Journeys<D>& journeys, std::size_t row, std::int64_t more, std::vector<std::uint64_t>& words) const {
    constexpr double kMostPieces = 256;
    std::array<double, D> lower, upper, move{};
    journeys.around(row, lower, upper);
    bool is_straight = journeys.turned == nullptr || journeys.turned[row] == 0;
    for (std::size_t k = 0; k < D; ++k)
      is_straight &=
          std::abs(journeys.after[row * D + k] - journeys.before[row * D + k]) * cells_a_unit_[k] < kFarthest;
    double pieces = 1;
    for (std::size_t k = 0; is_straight && k < D; ++k) {
      move[k] = journeys.after[row * D + k] - journeys.before[row * D + k];
      pieces = std::max(pieces, std::min(kMostPieces, std::ceil(std::abs(move[k]) * cells_a_unit_[k])));
    }
    for (double piece = 0; piece < pieces; ++piece) {
      std::array<Range, D> ranges;
      for (std::size_t k = 0; k < D; ++k) {
        const double length = std::abs(move[k]), begin = length * (piece / pieces),
                     end = length * (1 - (piece + 1) / pieces);
        const bool up = move[k] >= 0;
        ranges[k] = range(k, lower[k] + (up ? begin : end), upper[k] - (up ? end : begin), more);
      }
      for_each_word(ranges, [&](std::size_t word, std::uint64_t bits) { words[word] |= bits; });
    }
  }

  bool is_periodic_;
  std::vector<Box> boxes_;  // around ways
  double widest_ = 0;
  std::array<double, D> from_, to_, cells_a_unit_, offset_;  // the last: how many cells from 0
  // For each axis of several rows: that of `from_`, of `cells_a_unit_`, and nearly the number of cells.
  std::array<double, kRowsTogether * D> from_each_, cells_each_, most_each_;
  std::vector<std::uint64_t> words_, around_words_;  // the cells of ways; those and others `kReach` cells around
};

// The followed rows, and all others that may meet one of them on its way; ascending.
template <std::size_t D>
std::vector<std::int32_t> rows_near_ways(const Journeys<D>& journeys, std::size_t rows, unsigned workers) {
  const WayMap<D> map(journeys, rows);
  const auto is_near = [&](std::size_t row) {
    if (journeys.counts[row] == 0) return false;
    std::array<double, D> lower, upper;
    journeys.around(row, lower, upper);
    return map.meets(lower, upper);
  };
  constexpr std::size_t kTogether = WayMap<D>::kRowsTogether, kRowsATask = 1024 * kTogether, kTasksWorthThreads = 3;
  const std::size_t tasks = (rows + kRowsATask - 1) / kRowsATask;
  std::vector<std::vector<std::int32_t>> found(tasks);
  Interrupt none;
  for_each_task(tasks, tasks < kTasksWorthThreads ? 1 : workers, none, [&](unsigned, std::size_t task) {
    const std::size_t end = std::min(rows, (task + 1) * kRowsATask);
    std::size_t row = task * kRowsATask;
    const auto add = [&](std::size_t count, std::uint32_t near) {
      for (std::size_t k = 0; k < count; ++k)
        if (journeys.is_followed[row + k] != 0 ||
            (((near >> k & 1) != 0 || (journeys.turned != nullptr && journeys.turned[row + k] != 0)) &&
             is_near(row + k)))
          found[task].push_back(static_cast<std::int32_t>(row + k));
    };
    for (; row + kTogether <= end; row += kTogether) add(kTogether, map.template near_ones<kTogether>(journeys, row));
    for (; row < end; ++row) add(1, map.template near_ones<1>(journeys, row));
  });
  std::vector<std::int32_t> all;
  for (const std::vector<std::int32_t>& some : found) all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace broadphase
