// Non-maximum suppression: of boxes in the order of their scores, each is kept unless it overlaps one that was kept
// before it by more than a threshold (greedy), or loses a part of its score to each of them (soft).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "base/samples.hpp"
#include "boxes/overlap_ratio.hpp"

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
    const StratifiedSample sample(count, 256);
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
    constexpr double kMost = 0x1p60;
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

// When a box excludes a worse one.
struct Exclusion {
  RatioTo measure;
  double threshold;
};

// Rows by descending score, equal ones ascending. Null: a score is NaN.
template <class Score>
std::optional<std::vector<std::int32_t>> best_first(const Score* scores, std::size_t count, Interrupt& interrupt) {
  RowSorter<Score> sorter(count);
  bool is_number = true;
  for (std::size_t row = 0; row < count; ++row) {
    is_number &= scores[row] == scores[row];
    if constexpr (std::is_unsigned_v<Score>)
      sorter.add(static_cast<Score>(~scores[row]), static_cast<std::uint32_t>(row));
    else
      sorter.add(-scores[row], static_cast<std::uint32_t>(row));
  }
  if (!is_number) return std::nullopt;
  sorter.sort(interrupt);
  std::vector<std::int32_t> rows(count);
  for (std::size_t k = 0; k < count; ++k) rows[k] = static_cast<std::int32_t>(sorter.row(k));
  return rows;
}

namespace detail {

// Rows that are sorted by key, in their order for one key, and where each key begins; then the end.
struct Batches {
  std::vector<std::int32_t> rows;
  std::vector<std::size_t> starts;
};

// `keys` may be null: all rows have one.
inline Batches in_batches(std::vector<std::int32_t> rows, const std::int64_t* keys, Interrupt& interrupt) {
  const std::size_t count = rows.size();
  std::vector<std::size_t> starts{0};
  if (keys != nullptr && count > 0) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    RowSorter<std::uint64_t> sorter(count);
    for (const std::int32_t row : rows)
      sorter.add(static_cast<std::uint64_t>(keys[row]) ^ kSign, static_cast<std::uint32_t>(row));
    sorter.sort(interrupt);
    for (std::size_t k = 0; k < count; ++k) {
      rows[k] = static_cast<std::int32_t>(sorter.row(k));
      if (k > 0 && sorter.bits(k) != sorter.bits(k - 1)) starts.push_back(k);
    }
  }
  starts.push_back(count);
  return {std::move(rows), std::move(starts)};
}

// Calls run(workspace, rows, count, interrupt) for each batch, on threads where there are several; make() makes a
// workspace.
template <class Make, class Run>
void for_each_batch(const Batches& batches, unsigned workers, Interrupt& interrupt, const Make& make, const Run& run) {
  constexpr std::size_t kRowsATask = 4096;
  const std::vector<std::size_t>& starts = batches.starts;
  const std::int32_t* rows = batches.rows.data();
  if (starts.size() == 2) {
    auto workspace = make();
    run(workspace, rows, starts[1], interrupt);
    return;
  }
  std::vector<std::size_t> tasks{0};  // of whole batches
  for (std::size_t k = 1; k < starts.size(); ++k)
    if (k + 1 == starts.size() || starts[k] - starts[tasks.back()] >= kRowsATask) tasks.push_back(k);
  for_each_task(tasks.size() - 1, workers, interrupt, [&](unsigned, std::size_t task) {
    Interrupt none;
    auto workspace = make();
    for (std::size_t k = tasks[task]; k < tasks[task + 1]; ++k)
      run(workspace, rows + starts[k], starts[k + 1] - starts[k], none);
  });
}

}  // namespace detail

// Flags of the rows that are kept, of `rows` in the order of their scores. Only rows with the same key exclude each
// other; `keys` may be null.
template <class Boxes>
std::vector<std::uint8_t> keep_best(const Boxes& boxes, std::vector<std::int32_t> rows, const std::int64_t* keys,
                                    Exclusion exclusion, unsigned workers, Interrupt& interrupt) {
  using Kept = KeptBoxes<Boxes>;
  constexpr std::size_t kRowsAhead = 8;  // about as long as memory takes
  const auto [measure, threshold] = exclusion;
  const bool keeps_all = threshold >= 1;  // no ratio is larger, as it is rounded
  std::vector<std::uint8_t> flags(rows.size(), keeps_all ? 1 : 0);
  if (keeps_all) return flags;
  const auto make = [&, measure = measure, threshold = threshold] {
    return Kept(boxes, typename Kept::Reach(threshold, measure));
  };
  const auto run = [&, measure = measure, threshold = threshold](Kept& kept, const std::int32_t* batch,
                                                                 std::size_t count, Interrupt& pause) {
    kept.clear();
    for (std::size_t k = 0; k < count; ++k) {
      if (k + kRowsAhead < count) boxes.read_ahead(static_cast<std::size_t>(batch[k + kRowsAhead]));
      const auto row = static_cast<std::size_t>(batch[k]);
      const auto& box = boxes[row];
      if (!box.has_volume()) {  // overlaps none
        flags[row] = 1;
        continue;
      }
      if (k % 1024 == 1023) pause.check();
      if (kept.any_near(box, 0,
                        [&](const auto& other, std::uint32_t) { return other.exceeds(box, measure, threshold); }))
        continue;
      flags[row] = 1;
      kept.keep(box, count - k - 1, [&](std::size_t next) { return static_cast<std::size_t>(batch[k + 1 + next]); });
    }
  };
  detail::for_each_batch(detail::in_batches(std::move(rows), keys, interrupt), workers, interrupt, make, run);
  return flags;
}

struct RowPair {
  std::int32_t first, second;
};

namespace detail {

// Two rows, one of which excludes the other, by their places in the order of the scores.
struct Rivals {
  std::uint32_t better, worse;
};

inline std::vector<std::uint32_t> ranks_of(const std::vector<std::int32_t>& rows) {
  std::vector<std::uint32_t> rank(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) rank[static_cast<std::size_t>(rows[k])] = static_cast<std::uint32_t>(k);
  return rank;
}

// Flags of the rows that are kept, of `rows` in the order of their scores.
inline std::vector<std::uint8_t> keep_unrivaled(const std::vector<std::int32_t>& rows,
                                                const std::vector<Rivals>& rivals) {
  std::vector<std::uint32_t> end(rows.size() + 1);
  for (const Rivals& pair : rivals) ++end[pair.better + 1];
  for (std::size_t k = 0; k < rows.size(); ++k) end[k + 1] += end[k];
  std::vector<std::uint32_t> worse(rivals.size()), next(end.begin(), end.end() - 1);
  for (const Rivals& pair : rivals) worse[next[pair.better]++] = pair.worse;
  std::vector<std::uint8_t> kept(rows.size(), 1);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (kept[static_cast<std::size_t>(rows[k])] == 0) continue;
    for (std::uint32_t at = end[k]; at < end[k + 1]; ++at) kept[static_cast<std::size_t>(rows[worse[at]])] = 0;
  }
  return kept;
}

}  // namespace detail

// The same, by the pairs of all boxes that overlap and have the same key: `pairs(k)`, k < count.
template <class Boxes, class Pairs>
std::vector<std::uint8_t> keep_best_by_pairs(const Boxes& boxes, const std::vector<std::int32_t>& rows,
                                             std::size_t count, Pairs&& pairs, Exclusion exclusion,
                                             Interrupt& interrupt) {
  constexpr std::size_t kAhead = 16;  // pairs: about as long as memory takes
  const std::vector<std::uint32_t> rank = detail::ranks_of(rows);
  std::vector<detail::Rivals> rivals(count);
  std::size_t found = 0;
  in_stretches(count, interrupt, [&](std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to; ++k) {
      if (k + kAhead < count) {
        const RowPair later = pairs(k + kAhead);
        boxes.read_ahead(static_cast<std::size_t>(later.first));
        boxes.read_ahead(static_cast<std::size_t>(later.second));
      }
      const RowPair pair = pairs(k);
      const auto i = static_cast<std::size_t>(pair.first), j = static_cast<std::size_t>(pair.second);
      rivals[found] = {std::min(rank[i], rank[j]), std::max(rank[i], rank[j])};
      found += boxes[i].exceeds(boxes[j], exclusion.measure, exclusion.threshold) ? 1 : 0;
    }
  });
  rivals.resize(found);
  return detail::keep_unrivaled(rows, rivals);
}

// What is left of the score of a box that overlaps a better one by a ratio.
struct Decay {
  enum class Kind { kLinear, kGaussian } kind;
  double parameter;  // the least ratio that counts, or sigma

  double factor(double ratio) const {
    if (kind == Kind::kGaussian) return std::exp(-(ratio * ratio) / parameter);
    return ratio >= parameter ? 1 - ratio : 1;
  }
};

struct Softened {
  std::vector<std::int32_t> rows;  // that are kept, by descending score, equal ones ascending
  std::vector<double> scores;      // of all rows, as they are when the row is kept or falls below the least
};

namespace detail {

struct SoftEntry {
  double score;  // no less than it is
  std::int32_t row;
  bool operator<(const SoftEntry& other) const { return score != other.score ? score < other.score : row > other.row; }
};

// A box that was taken, as the `order`-th, and by what it multiplies a score.
struct SoftHit {
  std::uint32_t order;
  double factor;
  bool operator<(const SoftHit& other) const { return order < other.order; }
};

}  // namespace detail

// Boxes that were taken, for one batch after the other. Those near a box are found by their places.
template <class Boxes>
class TakenByPlace {
 public:
  using Box = typename KeptBoxes<Boxes>::Box;

  TakenByPlace(const Boxes& boxes, typename Box::Reach reach) : kept_(boxes, reach) {}

  void start(const std::int32_t* batch, std::size_t rows) {
    kept_.clear();
    batch_ = batch;
    rows_ = rows;
  }
  std::uint32_t count() const { return kept_.count(); }
  void take(std::size_t, const Box& box) {
    kept_.keep(box, rows_, [&](std::size_t next) { return static_cast<std::size_t>(batch_[next]); });
  }
  // Calls visit(taken, number) for those with a number from `since` on that may overlap the box. In no order, and some
  // twice.
  template <class Visit>
  void each_near(std::size_t, const Box& box, std::uint32_t since, Visit&& visit) const {
    kept_.any_near(box, since, [&](const Box& other, std::uint32_t number) {
      visit(other, number);
      return false;
    });
  }

 private:
  KeptBoxes<Boxes> kept_;
  const std::int32_t* batch_ = nullptr;
  std::size_t rows_ = 0;
};

// The boxes that overlap each box and have the same key, of `pairs(k)`, k < count.
class Neighbors {
 public:
  template <class Pairs>
  Neighbors(std::size_t boxes, std::size_t count, Pairs&& pairs) : starts_(boxes + 2), rows_(2 * count) {
    for (std::size_t k = 0; k < count; ++k)
      for (const std::int32_t row : {pairs(k).first, pairs(k).second}) ++starts_[static_cast<std::size_t>(row) + 2];
    for (std::size_t row = 0; row < boxes; ++row) starts_[row + 2] += starts_[row + 1];
    for (std::size_t k = 0; k < count; ++k) {
      const auto [first, second] = pairs(k);
      rows_[starts_[static_cast<std::size_t>(first) + 1]++] = second;
      rows_[starts_[static_cast<std::size_t>(second) + 1]++] = first;
    }
  }

  std::span<const std::int32_t> of(std::size_t row) const {
    return {rows_.data() + starts_[row], starts_[row + 1] - starts_[row]};
  }

 private:
  std::vector<std::size_t> starts_;
  std::vector<std::int32_t> rows_;
};

// As `TakenByPlace`, by the pairs of all boxes that overlap. `numbers`, 0 for each row, are for all batches.
template <class Boxes>
class TakenByPairs {
 public:
  using Box = typename KeptBoxes<Boxes>::Box;

  TakenByPairs(const Boxes& boxes, const Neighbors& neighbors, std::uint32_t* numbers)
      : boxes_(boxes), neighbors_(neighbors), numbers_(numbers) {}

  void start(const std::int32_t*, std::size_t) { count_ = 0; }
  std::uint32_t count() const { return count_; }
  void take(std::size_t row, const Box&) { numbers_[row] = ++count_; }
  template <class Visit>
  void each_near(std::size_t row, const Box&, std::uint32_t since, Visit&& visit) const {
    for (const std::int32_t other : neighbors_.of(row))
      if (const std::uint32_t number = numbers_[other]; number > since)
        visit(boxes_[static_cast<std::size_t>(other)], number - 1);
  }

 private:
  const Boxes& boxes_;
  const Neighbors& neighbors_;
  std::uint32_t* numbers_;  // of what was taken, from 1 on
  std::uint32_t count_ = 0;
};

// Soft-NMS. Always the best box is taken next, and those that overlap it lose a part of their scores; what falls below
// `least` is gone. Scores are finite and not negative. They only fall, so a box is compared with those that were taken
// since its last turn when its turn comes, and not with all those that it overlaps. O((n + p) log n) time for p
// comparisons, of boxes with those that were taken before them and near them; O(n) memory. `make_taken` makes what
// finds these.
template <class Boxes, class MakeTaken>
Softened soften(const Boxes& boxes, const MakeTaken& make_taken, std::vector<double> scores, const std::int64_t* keys,
                Decay decay, double least, unsigned workers, Interrupt& interrupt) {
  using detail::SoftEntry, detail::SoftHit;
  struct Workspace {
    decltype(make_taken()) taken;
    std::vector<SoftHit> hits;
  };
  const std::size_t count = scores.size();
  std::vector<std::uint32_t> seen(count);  // how many were taken when the score was computed
  std::vector<std::uint8_t> flags(count);
  const auto make = [&] { return Workspace{make_taken(), {}}; };
  const auto run = [&](Workspace& workspace, const std::int32_t* batch, std::size_t rows, Interrupt& pause) {
    auto& [taken, hits] = workspace;
    taken.start(batch, rows);
    std::vector<SoftEntry> entries(rows);
    for (std::size_t k = 0; k < rows; ++k) entries[k] = {scores[static_cast<std::size_t>(batch[k])], batch[k]};
    std::priority_queue<SoftEntry> queue(std::less<SoftEntry>(), std::move(entries));
    for (std::size_t turn = 1; !queue.empty(); ++turn) {
      if (turn % 1024 == 0) pause.check();
      const SoftEntry best = queue.top();
      if (best.score < least) break;
      queue.pop();
      const auto row = static_cast<std::size_t>(best.row);
      const auto& box = boxes[row];
      const bool can_lose = best.score > 0 && box.has_volume();
      if (can_lose && seen[row] < taken.count()) {
        hits.clear();
        taken.each_near(row, box, seen[row], [&](const auto& other, std::uint32_t order) {
          const double ratio = other.ratio(box, RatioTo::kUnion);
          if (ratio > 0) hits.push_back({order, decay.factor(ratio)});
        });
        seen[row] = taken.count();
        // In the order in which they were taken, each once: the product is that of the plain loop.
        std::sort(hits.begin(), hits.end());
        double score = best.score;
        for (std::size_t k = 0; k < hits.size() && score >= least; ++k)
          if (k == 0 || hits[k].order != hits[k - 1].order) score *= hits[k].factor;
        scores[row] = score;
        const SoftEntry current{score, best.row};
        if (score < least) continue;
        if (!queue.empty() && current < queue.top()) {
          queue.push(current);
          continue;
        }
      }
      flags[row] = 1;
      if (box.has_volume()) taken.take(row, box);
    }
  };
  std::vector<std::int32_t> all(count);
  for (std::size_t row = 0; row < count; ++row) all[row] = static_cast<std::int32_t>(row);
  detail::for_each_batch(detail::in_batches(std::move(all), keys, interrupt), workers, interrupt, make, run);
  Softened result;
  const auto order = best_first(scores.data(), count, interrupt);
  for (const std::int32_t row : *order)
    if (flags[static_cast<std::size_t>(row)] != 0) result.rows.push_back(row);
  result.scores = std::move(scores);
  return result;
}

}  // namespace broadphase
