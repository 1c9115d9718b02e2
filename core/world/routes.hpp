// Which bodies can meet a followed one on its route: a filter, so that all else is computed for few of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/parallel.hpp"
#include "base/samples.hpp"
#include "world/limits.hpp"
#include "world/rows_where.hpp"
#include "world/turning_rows.hpp"

namespace broadphase {

// How rows moved during a step, D numbers a row.
template <std::size_t D>
struct RowMotions {
  static constexpr std::uint8_t kReflected = 1, kWrapped = 2;

  const double *before, *after, *now;  // `after`: as if there were no boundary, but for the turned rows
  const double* boxes;                 // (n, 2, D), where the rows are now
  const std::uint8_t *counts, *is_followed;
  const std::uint8_t* is_sought;    // whose routes are searched for
  const std::int64_t* keys;         // may be null; only rows of one key meet
  const std::uint8_t* turned;       // how the boundary acted on each row, may be null
  const std::int32_t* turned_rows;  // those with a flag there, ascending
  const double* turned_after;       // where they would be if there were no boundary
  std::size_t turned_count;
  const double* bounds;  // lower and upper corner, may be null
  bool is_periodic;
  const TurningRows<D>* turning;

  // A box around a row where it is now, in all rotations that it has during the step; a wider one is found sooner.
  std::array<double, 2 * D> box_of(std::size_t row, bool is_rough) const {
    if (turning->has(row)) return is_rough ? turning->rough_box_of(row) : turning->box_of(row);
    std::array<double, 2 * D> box;
    std::copy_n(boxes + row * 2 * D, 2 * D, box.begin());
    return box;
  }

  const double* after_of(std::size_t row) const {
    if (turned == nullptr || turned[row] == 0) return after + row * D;
    const auto at = std::lower_bound(turned_rows, turned_rows + turned_count, static_cast<std::int32_t>(row));
    return turned_after + static_cast<std::size_t>(at - turned_rows) * D;
  }

  // A box around the route of a row, rounded outwards; in a periodic world, around one image of it.
  void around(std::size_t row, std::array<double, D>& lower, std::array<double, D>& upper) const {
    constexpr double kMost = 0x1p900, kSlack = 0x1p-46;
    const std::uint8_t turn = turned != nullptr ? turned[row] : 0;
    const double* ends = after_of(row);
    const std::array<double, 2 * D> box = box_of(row, true);
    for (std::size_t k = 0; k < D; ++k) {
      const double from = before[row * D + k], to = ends[k], here = now[row * D + k];
      double low = std::min(from, to), high = std::max(from, to);
      if (!is_periodic || turn == kReflected) low = std::min(low, here), high = std::max(high, here);
      if (turn == kReflected) {
        const double route = std::min(high - low, kMost);
        low -= route;
        high += route;
      }
      if (turn == kWrapped && !is_periodic) low = std::min(low, bounds[k]), high = std::max(high, bounds[D + k]);
      const double slack =
          kSlack * (std::abs(low) + std::abs(high) + std::abs(here) + std::max(std::abs(box[k]), std::abs(box[D + k])));
      lower[k] = std::clamp(low + (box[k] - here) - slack, -kMost, kMost);
      upper[k] = std::clamp(high + (box[D + k] - here) + slack, -kMost, kMost);
    }
  }
};

// A grid of bits: which cells the routes that are searched for go through. The first axis is a word of 64 cells.
template <std::size_t D>
class RouteMap {
 public:
  static constexpr std::size_t kRowsTogether = 16;

  explicit RouteMap(const RowMotions<D>& row_motions, std::size_t rows) : is_periodic_(row_motions.is_periodic) {
    from_.fill(std::numeric_limits<double>::infinity());
    to_.fill(-std::numeric_limits<double>::infinity());
    std::vector<std::size_t> sought;
    for (std::size_t row = 0; row < rows; ++row) {
      if (row + 8 <= rows && no_flags(row_motions.is_sought + row))
        row += 7;
      else if (row_motions.is_sought[row] != 0)
        sought.push_back(row);
    }
    for (const std::size_t row : sought) {
      Box box{{}, {}, row_motions.keys != nullptr ? row_motions.keys[row] : 0};
      row_motions.around(row, box.lower, box.upper);
      for (std::size_t k = 0; k < D; ++k)
        from_[k] = std::min(from_[k], box.lower[k]), to_[k] = std::max(to_[k], box.upper[k]);
      boxes_.push_back(box);
      widest_ = std::max(widest_, box.upper[0] - box.lower[0]);
    }
    for (std::size_t k = 0; k < D; ++k) {
      if (is_periodic_) from_[k] = row_motions.bounds[k], to_[k] = row_motions.bounds[D + k];
      const double by = static_cast<double>(kCells[k]) / (to_[k] - from_[k]);
      cells_a_unit_[k] = by <= std::numeric_limits<double>::max() ? by : 0.0;
      offset_[k] = std::max(std::abs(from_[k]), std::abs(to_[k])) * cells_a_unit_[k];
    }
    set_reach(row_motions, rows);
    for (std::size_t i = 0; i < kRowsTogether * D; ++i) {
      from_each_[i] = from_[i % D];
      cells_each_[i] = offset_[i % D] <= kFarthest ? cells_a_unit_[i % D] : std::numeric_limits<double>::infinity();
      most_each_[i] = static_cast<double>(kCells[i % D]) - kSlack;
      reach_each_[i] = reach_[i % D];
    }
    if (is_periodic_)
      for (Box& box : boxes_) to_this_world(box);
    std::sort(boxes_.begin(), boxes_.end(),
              [](const Box& a, const Box& b) { return a.key != b.key ? a.key < b.key : a.lower[0] < b.lower[0]; });
    for (std::size_t k = 0; k < boxes_.size(); ++k)
      if (k == 0 || boxes_[k].key != boxes_[k - 1].key) keys_.push_back({boxes_[k].key, k});
    words_.assign(kCells[1] * (D == 3 ? kCells[2] : 1), 0);
    around_words_ = words_;
    const std::array<double, D> none{};
    for (const std::size_t row : sought) {
      mark(row_motions, row, none, words_);
      mark(row_motions, row, reach_, around_words_);
    }
  }

  // Which of N rows from `begin` on may meet a route, as bits: one look at the cell of the lower corner of each row's
  // box and motion, where these are together no longer than most are. Few rows. All rows and axes are calculated side
  // by side, without a branch.
  template <std::size_t N, bool kPeriodic>
  std::uint32_t near_ones(const RowMotions<D>& row_motions, std::size_t begin) const {
    const double *boxes = row_motions.boxes + begin * 2 * D, *before = row_motions.before + begin * D,
                 *after = row_motions.after + begin * D;
    double low[N * D], length[N * D];
    for (std::size_t row = 0; row < N; ++row)
      for (std::size_t k = 0; k < D; ++k) {
        low[row * D + k] = boxes[row * 2 * D + k];
        length[row * D + k] = boxes[(row * 2 + 1) * D + k] - boxes[row * 2 * D + k];
      }
    std::int32_t cell[N * D];
    for (std::size_t i = 0; i < N * D; ++i) {
      const double route = std::abs(after[i] - before[i]), place = (low[i] - route - from_each_[i]) * cells_each_[i];
      const double most = most_each_[i], least = kPeriodic ? -most : 0.0;
      double inside = place > least ? place : least;
      inside = inside < most ? inside : most;
      length[i] = (length[i] + 2 * route) * cells_each_[i];
      if constexpr (kPeriodic) length[i] += std::abs(place - inside) * 0x1p21;  // beyond: as if it were long
      cell[i] = static_cast<std::int32_t>(kPeriodic ? inside + (most + kSlack) : inside);
    }
    std::uint32_t near = 0;
    for (std::size_t row = 0; row < N; ++row) {
      bool is_large = false;
      std::size_t at[D];
      for (std::size_t k = 0; k < D; ++k) {
        is_large |= !(length[row * D + k] <= reach_each_[k]);
        at[k] = static_cast<std::size_t>(cell[row * D + k]) & (kCells[k] - 1);
      }
      const std::size_t word = D == 2 ? at[1] : at[1] * kCells[2] + at[D - 1];
      const std::uint64_t is_near = (around_words_[word] >> at[0] & 1) | static_cast<std::uint64_t>(is_large);
      near |= static_cast<std::uint32_t>(is_near) << row;
    }
    return near;
  }

  // The routes of a key, in the order of their lower first numbers: rows with it often come one after the other.
  struct Box {
    std::array<double, D> lower, upper;
    std::int64_t key;
  };
  struct RoutesOfKey {
    std::int64_t key;
    const Box *first = nullptr, *last = nullptr;  // the latter null: not looked up yet
  };

  // Whether a row may meet a route of its key. `known` is kept from one call to the next.
  bool meets(const RowMotions<D>& row_motions, std::size_t row, RoutesOfKey& known) const {
    const std::int64_t key = row_motions.keys != nullptr ? row_motions.keys[row] : 0;
    if (known.last == nullptr || known.key != key) known = routes_of(key);
    if (known.first == known.last) return false;
    Box box;
    row_motions.around(row, box.lower, box.upper);
    return is_periodic_ ? meets_image(known.first, known.last, box) : meets_box(known.first, known.last, box);
  }

 private:
  // The most cells by which routes are enlarged where they are marked, and so many routes are compared before their
  // cells are looked at.
  static constexpr double kMostReach = 3;
  static constexpr std::ptrdiff_t kFew = 16;
  static constexpr std::array<std::size_t, 3> kCells = {64, D == 3 ? std::size_t{64} : 1024, 64};

  struct KeyBegin {
    std::int64_t key;
    std::size_t begin;
  };

  RoutesOfKey routes_of(std::int64_t key) const {
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key,
                                     [](const KeyBegin& one, std::int64_t other) { return one.key < other; });
    const Box *first = boxes_.data(), *end = first + boxes_.size();
    if (at == keys_.end() || at->key != key) return {key, end, end};
    return {key, first + at->begin, at + 1 == keys_.end() ? end : first + (at + 1)->begin};
  }

  static bool no_flags(const std::uint8_t* flags) {
    std::uint64_t eight;
    std::memcpy(&eight, flags, sizeof(eight));
    return eight == 0;
  }

  // How many cells most rows are long, with their motion: a little more than all of a sample.
  void set_reach(const RowMotions<D>& row_motions, std::size_t rows) {
    const StratifiedSample sample(rows, 256);
    reach_.fill(0);
    for (std::size_t at = 0; at < sample.size(); ++at) {
      const std::size_t row = sample[at];
      if (row_motions.counts[row] == 0) continue;
      for (std::size_t k = 0; k < D; ++k) {
        const double* box = row_motions.boxes + row * 2 * D;
        const double route = std::abs(row_motions.after[row * D + k] - row_motions.before[row * D + k]);
        const double length = (box[D + k] - box[k] + 2 * route) * cells_a_unit_[k] * 1.0625;
        reach_[k] = std::max(reach_[k], std::min(length, kMostReach));
      }
    }
  }

  // Whether the cells of a box have a route.
  bool meets_cells(const Box& box) const {
    std::array<Range, D> ranges;
    for (std::size_t k = 0; k < D; ++k) ranges[k] = range(k, box.lower[k], box.upper[k]);
    bool any = false;
    for_each_word(ranges, [&](std::size_t word, std::uint64_t bits) { any |= (words_[word] & bits) != 0; });
    return any;
  }

  // Whether a box meets one around the routes from `first` on, which are in the order of their lower first numbers.
  bool meets_box(const Box* first, const Box* last, const Box& box) const {
    for (std::size_t k = 0; k < D; ++k)
      if (box.lower[k] > to_[k] || box.upper[k] < from_[k]) return false;
    const Box* at = from_first_number(first, last, box.lower[0] - widest_ * (1 + 0x1p-50));
    for (const Box* few = at + std::min(kFew, last - at); at != last && at->lower[0] <= box.upper[0]; ++at) {
      if (at == few && !meets_cells(box)) return false;
      bool is_apart = false;
      for (std::size_t k = 0; k < D; ++k) {
        is_apart |= at->lower[k] > box.upper[k];
        is_apart |= at->upper[k] < box.lower[k];
      }
      if (!is_apart) return true;
    }
    return false;
  }

  // The same in a periodic world: whether any image of a box does.
  bool meets_image(const Box* first, const Box* last, Box box) const {
    const double period = to_[0] - from_[0], reach = widest_ * (1 + 0x1p-50) + kSlack * period;
    to_this_world(box);
    if (!(box.upper[0] - box.lower[0] + reach < period && offset_[0] <= kFarthest)) {
      for (; first != last; ++first)
        if (overlap_somewhere(*first, box)) return true;
      return false;
    }
    std::ptrdiff_t compared = 0;
    for (const double world : {-period, 0.0, period}) {
      const Box* at = from_first_number(first, last, box.lower[0] + world - reach);
      for (; at != last && at->lower[0] <= box.upper[0] + world + reach; ++at) {
        if (compared++ == kFew && !meets_cells(box)) return false;
        if (overlap_somewhere(*at, box)) return true;
      }
    }
    return false;
  }
  static const Box* from_first_number(const Box* first, const Box* last, double x) {
    return std::lower_bound(first, last, x, [](const Box& box, double number) { return box.lower[0] < number; });
  }
  // Whether two boxes overlap, moved by any number of worlds along each axis; perhaps also where they nearly do.
  bool overlap_somewhere(const Box& a, const Box& b) const {
    constexpr double kMost = 0x1p52;
    for (std::size_t k = D; k-- > 0;) {
      const double period = to_[k] - from_[k], low = (a.lower[k] - b.upper[k]) / period,
                   high = (a.upper[k] - b.lower[k]) / period;
      const double slack = kSlack * (1 + std::abs(low) + std::abs(high)) + offset_[k] * 0x1p-46;
      if (!(std::abs(low) + std::abs(high) + slack < kMost)) continue;
      if (floor_of(high + slack) < -floor_of(slack - low)) return false;
    }
    return true;
  }
  // Moves a box along the first axis by whole worlds, to where its lower number is within this one.
  void to_this_world(Box& box) const {
    const double period = to_[0] - from_[0], route = std::floor((box.lower[0] - from_[0]) / period) * period;
    box.lower[0] -= route;
    box.upper[0] -= route;
  }

  // Of a cell, or of a world: more than rounding takes, up to so many cells from 0.
  static constexpr double kSlack = 0x1p-20, kFarthest = 0x1p24;

  struct Range {
    std::size_t first, count;  // cells; past the last one, the first follows
  };

  // The cells of numbers from `low` to `high`, and of as many cells before them as `more`; all of them in case of
  // doubt.
  Range range(std::size_t axis, double low, double high, double more = 0) const {
    const auto cells = static_cast<std::int64_t>(kCells[axis]);
    const double begin = (low - from_[axis]) * cells_a_unit_[axis] - more,
                 end = (high - from_[axis]) * cells_a_unit_[axis];
    if (!(begin >= -kFarthest && end <= kFarthest && begin <= end && offset_[axis] <= kFarthest))
      return {0, kCells[axis]};
    std::int64_t first = floor_of(begin - kSlack), last = floor_of(end + kSlack);
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

  // Marks a route piece by piece, where it is straight, and so many cells before it.
  void mark(const RowMotions<D>& row_motions, std::size_t row, const std::array<double, D>& more,
            std::vector<std::uint64_t>& words) const {
    constexpr double kMostPieces = 256;
    std::array<double, D> lower, upper, move{};
    row_motions.around(row, lower, upper);
    bool is_straight = row_motions.turned == nullptr || row_motions.turned[row] == 0 ||
                       (row_motions.turned[row] == RowMotions<D>::kWrapped && is_periodic_);
    const double *from = row_motions.before + row * D, *to = row_motions.after_of(row);
    for (std::size_t k = 0; k < D; ++k) is_straight &= std::abs(to[k] - from[k]) * cells_a_unit_[k] < kFarthest;
    double pieces = 1;
    for (std::size_t k = 0; is_straight && k < D; ++k) {
      move[k] = to[k] - from[k];
      pieces = std::max(pieces, std::min(kMostPieces, std::ceil(std::abs(move[k]) * cells_a_unit_[k])));
    }
    for (double piece = 0; piece < pieces; ++piece) {
      std::array<Range, D> ranges;
      for (std::size_t k = 0; k < D; ++k) {
        const double length = std::abs(move[k]), begin = length * (piece / pieces),
                     end = length * (1 - (piece + 1) / pieces);
        const bool up = move[k] >= 0;
        ranges[k] = range(k, lower[k] + (up ? begin : end), upper[k] - (up ? end : begin), more[k]);
      }
      for_each_word(ranges, [&](std::size_t word, std::uint64_t bits) { words[word] |= bits; });
    }
  }

  bool is_periodic_;
  std::vector<Box> boxes_;      // around routes; by key
  std::vector<KeyBegin> keys_;  // ascending
  double widest_ = 0;
  std::array<double, D> from_, to_, cells_a_unit_, offset_;  // the last: how many cells from 0
  std::array<double, D> reach_;                              // in cells
  // For each axis of several rows: that of `from_`, of `cells_a_unit_`, of `reach_`, and nearly the number of cells.
  std::array<double, kRowsTogether * D> from_each_, cells_each_, reach_each_, most_each_;
  std::vector<std::uint64_t> words_, around_words_;  // the cells of routes; those and others by `reach_` before them
};

// Bits of up to 32 flags.
inline std::uint32_t flags_of(const std::uint8_t* flags, std::size_t count) {
  std::uint32_t bits = 0;
  for (std::size_t k = 0; k < count; ++k) bits |= static_cast<std::uint32_t>(flags[k] != 0) << k;
  return bits;
}

// Whether so many rows are sought that to find out what is far from them takes longer than to look at all.
template <std::size_t D>
bool are_many_sought(const RowMotions<D>& row_motions, std::size_t rows) {
  const auto others = static_cast<std::size_t>(std::count(row_motions.is_sought, row_motions.is_sought + rows, 0));
  return static_cast<double>(rows - others) > step_limits.followed * static_cast<double>(rows);
}

// The rows that are there, and those that are followed though they are not; ascending.
template <std::size_t D>
std::vector<std::int32_t> all_rows(const RowMotions<D>& row_motions, std::size_t rows, unsigned workers) {
  return rows_where(rows, workers,
                    [&](std::size_t row) { return (row_motions.counts[row] | row_motions.is_followed[row]) != 0; });
}

// The rows that are sought, and all others that may meet one of them on its route; ascending.
template <std::size_t D>
std::vector<std::int32_t> rows_near_routes(const RowMotions<D>& row_motions, std::size_t rows, unsigned workers) {
  if (are_many_sought(row_motions, rows)) return all_rows(row_motions, rows, workers);
  const RouteMap<D> map(row_motions, rows);
  constexpr std::size_t kTogether = RouteMap<D>::kRowsTogether, kRowsATask = 1024 * kTogether, kTasksWorthThreads = 3;
  const std::size_t tasks = (rows + kRowsATask - 1) / kRowsATask;
  std::vector<std::vector<std::int32_t>> found(tasks);
  Interrupt none;
  for_each_task(tasks, tasks < kTasksWorthThreads ? 1 : workers, none, [&](unsigned, std::size_t task) {
    const std::size_t end = std::min(rows, (task + 1) * kRowsATask);
    std::size_t row = task * kRowsATask;
    typename RouteMap<D>::RoutesOfKey known{};
    const auto add = [&](std::size_t count, std::uint32_t near) {
      for (const std::uint8_t* flags : {row_motions.is_sought, row_motions.turned, row_motions.turning->flags()})
        if (flags != nullptr) near |= flags_of(flags + row, count);
      for (; near != 0; near &= near - 1) {
        const std::size_t one = row + static_cast<std::size_t>(std::countr_zero(near));
        if (row_motions.is_sought[one] != 0 || (row_motions.counts[one] != 0 && map.meets(row_motions, one, known)))
          found[task].push_back(static_cast<std::int32_t>(one));
      }
    };
    const auto look = [&]<bool kPeriodic>() {
      for (; row + kTogether <= end; row += kTogether)
        add(kTogether, map.template near_ones<kTogether, kPeriodic>(row_motions, row));
      for (; row < end; ++row) add(1, map.template near_ones<1, kPeriodic>(row_motions, row));
    };
    if (row_motions.is_periodic)
      look.template operator()<true>();
    else
      look.template operator()<false>();
  });
  std::vector<std::int32_t> all;
  for (const std::vector<std::int32_t>& some : found) all.insert(all.end(), some.begin(), some.end());
  return all;
}

// Seeks the followed rows, too, that may meet one of some others on its route.
template <std::size_t D>
void seek_followed_near(RowMotions<D> row_motions, const std::vector<std::uint8_t>& others, std::size_t rows,
                        unsigned workers, std::vector<std::uint8_t>& sought) {
  row_motions.is_sought = others.data();
  for (const std::int32_t row : rows_near_routes(row_motions, rows, workers))
    sought[static_cast<std::size_t>(row)] |= row_motions.is_followed[row];
}

}  // namespace broadphase
