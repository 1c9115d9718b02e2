// Non-maximum suppression: of boxes in the order of their scores, each is kept unless it overlaps one that was kept
// before it by more than a threshold (greedy), or loses a part of its score to each of them (soft).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
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

// What parts of a search are done by: how many threads, and what may stop them.
struct Threads {
  unsigned workers;
  Interrupt& interrupt;

  // Calls work(k) for k < count, `many` of them in a row: some 50 us.
  template <class Work>
  void each(std::size_t count, std::size_t many, const Work& work) const {
    for_each_task((count + many - 1) / many, workers, interrupt, [&](unsigned, std::size_t task) {
      for (std::size_t k = task * many; k < std::min(count, (task + 1) * many); ++k) work(k);
    });
  }
};

// A box is compared with a few of those that are kept: those whose place is near its own. What its place is, and how
// near, is what its class says (`Reach`). Kept boxes are in groups, by their sizes (levels) and, where they are long,
// by their directions (frames); a group is in cells by the places of its boxes along the axes of its frame. Few are in
// no cells.
template <class Boxes>
class KeptBoxes {
 public:
  using Box = std::remove_cvref_t<decltype(std::declval<const Boxes&>()[0])>;
  using Reach = typename Box::Reach;
  static constexpr std::size_t kRowsAhead = 8;  // about as long as memory takes

  // `boxes` stay where they are.
  KeptBoxes(const Boxes& boxes, const Reach& reach) : boxes_(boxes), reach_(reach) {}

  void clear() {
    kept_.clear();
    cells_.clear();
    count_ = 0;
  }
  // How many are kept. Each has a number, in the order in which they came.
  std::uint32_t count() const { return count_; }

  // `next(k)` is the row of the k-th of `rest` boxes, among which are all that are kept after this one.
  template <class Next>
  void keep(const Box& box, std::size_t rest, Next&& next, const Threads& threads) {
    if (!cells_.empty()) {
      Filed to = cell_of(box);
      put(box, count_++, to);
      note(to);
      return;
    }
    kept_.push_back({box, count_++});
    if (kept_.size() == kMostScanned && rest > kMostScanned) {
      file(rest, next, threads);
      filed_ = {};
    }
  }

  // Chooses cells for `count` boxes that are to come, unless it has some: `next(k)` is the row of the k-th.
  template <class Next>
  void prepare(std::size_t count, Next&& next, const Threads& threads) {
    if (cells_.empty()) file(count, next, threads);
  }

  // Puts `count` boxes, row(k), with those that are kept until it is known which of them are: these have numbers from
  // count() on, ascending. Needs cells.
  template <class Row>
  void propose(std::size_t count, Row&& row, const Threads& threads) {
    filed_.resize(count);
    threads.each(count, kFiledATask, [&](std::size_t k) {
      if (k + kRowsAhead < count) boxes_.read_ahead(row(k + kRowsAhead));
      filed_[k] = cell_of(boxes_[row(k)]);
    });
    by_cell(threads, [&](std::size_t k) { put(boxes_[row(k)], count_ + static_cast<std::uint32_t>(k), filed_[k]); });
    for (Group& group : groups_) group.kept = group.slots.size();
    for (const Filed& to : filed_) note(to);
  }
  // Takes all of them out again.
  void withdraw(const Threads& threads) {
    by_cell(threads, [&](std::size_t k) { --cells_[filed_[k].cell].size; });
    for (Group& group : groups_) group.slots.resize(group.kept);
  }
  // Keeps one of them; those with lower numbers come before it.
  void confirm(std::size_t k) {
    move_back(filed_[k]);
    note(filed_[k]);
  }
  // Keeps all for which is_kept(k) holds.
  template <class IsKept>
  void confirm_all(const IsKept& is_kept, const Threads& threads) {
    by_cell(threads, [&](std::size_t k) {
      if (is_kept(k)) move_back(filed_[k]);
    });
    for (std::size_t k = 0; k < filed_.size(); ++k)
      if (is_kept(k)) note(filed_[k]);
  }
  // Ends what `propose` has begun: all of them have had their numbers.
  void settle() { count_ += static_cast<std::uint32_t>(filed_.size()); }

  // Which of those that are proposed are visited.
  struct Better {
    std::uint32_t until;       // only those with lower numbers
    std::uint32_t most_tests;  // of all boxes, then only of those that are kept
    bool has_more = false;     // some were not visited
  };

  // Calls visit(kept, number) for those with a number from `since` on that may overlap the box by more than the
  // threshold, until one returns true. In no order, and some twice. `better` is null where none are proposed.
  template <class Visit>
  bool any_near(const Box& box, std::uint32_t since, Visit&& visit, Better* better = nullptr) const {
    if (cells_.empty()) return any_of(since, 0, static_cast<std::uint32_t>(kept_.size()), at_place, visit, better);
    const auto sought = reach_.sought(box);
    for (std::size_t set = 0; set < Reach::kSets.size(); ++set) {
      if (levels_of_[set] == 0) continue;
      const double size = size_of(box, set), least_share = reach_.least_share(set);
      for (std::uint64_t levels = levels_of_[set]; levels != 0; levels &= levels - 1) {
        const auto level = static_cast<std::size_t>(std::countr_zero(levels));
        // Boxes that are too short, or too long.
        const double most = most_of(level), least = level == 0 ? 0 : most_of(level - 1);
        if (most < size * least_share || size < least * least_share) continue;
        const auto found = [&](std::size_t frame) {
          const std::uint16_t group = group_of_[frame * kLevels + level];
          return group != kNoGroup && any_in(box, groups_[group], most, since, visit, better);
        };
        if (reach_.any_frame(sought, set, {least * side_[0], most * side_[0]}, found)) return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::size_t D = Box::kDimension;
  static constexpr std::size_t kMostScanned = 48, kFiledATask = 1024;
  static constexpr std::uint32_t kLongList = 32;
  static constexpr double kMore = 1e-5;
  static constexpr std::size_t kLevels = 64, kFrames = Reach::kFrames;
  static constexpr std::uint16_t kNoGroup = 0xffff;

  struct Entry {
    Box box;
    std::uint32_t order;
  };
  struct Cell {
    std::uint32_t begin, size;  // of what is kept, in `kept_`
  };
  // Where a box belongs: `group` is the number of its frame times kLevels, and its level.
  struct Filed {
    std::uint32_t cell, group, slot;
  };
  // The boxes of a level in a frame.
  struct Group {
    std::uint32_t frame, level;
    std::vector<std::uint32_t> slots;  // in the order in which they came
    std::size_t kept = 0;              // of these, without those that are proposed
  };

  // Chooses cells for these boxes, which are to come, and puts those that are kept into them.
  template <class Next>
  void file(std::size_t count, Next&& next, const Threads& threads) {
    const StratifiedSample sample(count, 256);
    std::vector<double> sides(sample.size());
    for (std::size_t k = 0; k < D; ++k) {
      for (std::size_t at = 0; at < sample.size(); ++at) sides[at] = boxes_[next(sample[at])].size(k);
      std::nth_element(sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(sides.size() / 2), sides.end());
      const double usual = sides[sides.size() / 2];
      constexpr double kLeast = 1e-300;  // its inverse is finite
      side_[k] = usual > kLeast && std::isfinite(usual) ? usual : 1;
      boxes_a_unit_[k] = 1 / side_[k];
    }
    for (std::size_t frame = 0; frame < kFrames; ++frame)
      for (std::size_t k = 0; k < D; ++k)
        cells_a_unit_[frame][k] = boxes_a_unit_[Reach::unit_of(Reach::set_of(frame), k)] / reach_.cell(frame, k);
    cells_.assign(std::bit_ceil(2 * count), {0, 0});
    groups_.clear();
    group_of_.fill(kNoGroup);
    levels_of_.fill(0);
    const std::vector<Entry> before = std::move(kept_);
    filed_.resize(count);
    threads.each(count, kFiledATask, [&](std::size_t k) {
      if (k + kRowsAhead < count) boxes_.read_ahead(next(k + kRowsAhead));
      filed_[k] = cell_of(boxes_[next(k)]);
    });
    by_cell(threads, [&](std::size_t k) { ++cells_[filed_[k].cell].size; });
    for (const Entry& entry : before) ++cells_[cell_of(entry.box).cell].size;
    std::uint32_t end = 0;
    for (Cell& cell : cells_) {
      cell.begin = end;
      end += std::exchange(cell.size, 0);
    }
    kept_.resize(end);
    for (std::uint32_t k = 0; k < before.size(); ++k) {
      Filed to = cell_of(before[k].box);
      put(before[k].box, k, to);
      note(to);
    }
  }

  // Calls work(k) for all k of `filed_`, those of a cell one after the other on one thread.
  template <class Work>
  void by_cell(const Threads& threads, const Work& work) const {
    constexpr std::size_t kFewest = 1024;
    const EvenSplit parts{cells_.size(), filed_.size() < kFewest ? 1 : threads.workers};
    for_each_task(parts.parts, threads.workers, threads.interrupt, [&](unsigned, std::size_t part) {
      const std::size_t begin = parts.at(part), end = parts.at(part + 1);
      for (std::size_t k = 0; k < filed_.size(); ++k)
        if (filed_[k].cell - begin < end - begin) work(k);
    });
  }

  // How many times as long as a usual box this one is at most, along any axis.
  double size_of(const Box& box, std::size_t set) const {
    double size = 0;
    for (std::size_t k = 0; k < D; ++k)
      size = std::max(size, Reach::size(box, set, k) * boxes_a_unit_[Reach::unit_of(set, k)]);
    return size;
  }
  // Boxes of a level are at most 2^level times as long as usual ones, and longer than half of that along one axis; the
  // last level has all that are longer.
  static std::size_t level_of(double size) {
    return size <= 1 ? 0 : static_cast<std::size_t>(std::min(std::ilogb(size), static_cast<int>(kLevels) - 2) + 1);
  }
  static double most_of(std::size_t level) {
    return level + 1 == kLevels ? std::numeric_limits<double>::infinity() : scale_of(level);
  }
  static double scale_of(std::size_t level) { return static_cast<double>(std::uint64_t{1} << level); }
  // The number of the cell along an axis, in a level whose boxes are 1 / `shrink` times as long as usual.
  std::int64_t place_of(double at, std::size_t axis, std::size_t frame, double shrink) const {
    constexpr double kMost = 0x1p60;
    const double place = std::clamp(at * (cells_a_unit_[frame][axis] * shrink), -kMost, kMost);
    const auto towards_zero = static_cast<std::int64_t>(place);
    return towards_zero - (static_cast<double>(towards_zero) > place ? 1 : 0);
  }

  // The cell of boxes that begin in a place, and perhaps in others, is that of its line along the first axis, and as
  // many behind it: places side by side are side by side in memory.
  std::size_t line_of(const std::array<std::int64_t, D>& place, std::size_t group) const {
    auto mixed = static_cast<std::uint64_t>(group) * 0x9e3779b97f4a7c15u;
    for (std::size_t k = 1; k < D; ++k) {
      mixed = (mixed ^ static_cast<std::uint64_t>(place[k])) * 0xbf58476d1ce4e5b9u;
      mixed ^= mixed >> 29;
    }
    return static_cast<std::size_t>(mixed);
  }
  std::size_t cell_of(std::size_t line, std::int64_t place) const {
    return (line + static_cast<std::size_t>(place)) & (cells_.size() - 1);
  }
  Filed cell_of(const Box& box) const {
    const std::size_t frame = reach_.frame_of(box), level = level_of(size_of(box, Reach::set_of(frame)));
    const std::array<double, D> at = Reach::seen(box, frame).place;
    std::array<std::int64_t, D> place;
    for (std::size_t k = 0; k < D; ++k) place[k] = place_of(at[k], k, frame, 1 / scale_of(level));
    const std::size_t group = frame * kLevels + level;
    return {static_cast<std::uint32_t>(cell_of(line_of(place, group), place[0])), static_cast<std::uint32_t>(group), 0};
  }

  void put(const Box& box, std::uint32_t order, Filed& to) {
    Cell& cell = cells_[to.cell];
    to.slot = cell.begin + cell.size++;
    kept_[to.slot] = {box, order};
  }
  // To the place behind those that are kept in its cell, where it is or which is before it.
  void move_back(Filed& at) {
    Cell& cell = cells_[at.cell];
    const std::uint32_t slot = cell.begin + cell.size++;
    if (slot == at.slot) return;
    kept_[slot] = kept_[at.slot];
    at.slot = slot;
  }
  void note(const Filed& at) {
    std::uint16_t& number = group_of_[at.group];
    if (number == kNoGroup) {
      number = static_cast<std::uint16_t>(groups_.size());
      levels_of_[Reach::set_of(at.group / kLevels)] |= std::uint64_t{1} << at.group % kLevels;
      groups_.push_back({at.group / std::uint32_t{kLevels}, at.group % std::uint32_t{kLevels}, {}});
    }
    groups_[number].slots.push_back(at.slot);
  }

  // Slots [begin, end) of a list that has them in the order in which they came.
  template <class Slot, class Visit>
  bool any_of(std::uint32_t since, std::uint32_t begin, std::uint32_t end, Slot&& slot, Visit&& visit,
              Better* better) const {
    std::uint32_t from = begin;
    if (end - begin > kLongList) {
      if (since > 0) from = place_in_order(since, begin, end, slot);
      if (better != nullptr) end = limited(from, end, slot, *better);
    } else if (since > 0) {
      for (from = end; from > begin && kept_[slot(from - 1)].order >= since;) --from;
    }
    for (std::uint32_t k = from; k < end; ++k)
      if (visit(kept_[slot(k)].box, kept_[slot(k)].order)) return true;
    return false;
  }
  // The first of a list whose number is no less than this one.
  template <class Slot>
  std::uint32_t place_in_order(std::uint32_t number, std::uint32_t begin, std::uint32_t end, Slot&& slot) const {
    while (begin < end) {
      const std::uint32_t middle = begin + (end - begin) / 2;
      const bool is_less = kept_[slot(middle)].order < number;
      (is_less ? begin : end) = is_less ? middle + 1 : middle;
    }
    return begin;
  }
  // The end of those in a long list that are to be visited.
  template <class Slot>
  std::uint32_t limited(std::uint32_t begin, std::uint32_t end, Slot&& slot, Better& better) const {
    const std::uint32_t wanted = place_in_order(better.until, begin, end, slot);
    if (wanted - begin <= better.most_tests) {
      better.most_tests -= wanted - begin;
      return wanted;
    }
    better.has_more = true;
    better.until = count_;
    return place_in_order(count_, begin, end, slot);
  }
  static constexpr auto at_place = [](std::uint32_t k) { return k; };

  template <class Visit>
  bool any_in(const Box& box, const Group& group, double most, std::uint32_t since, Visit&& visit,
              Better* better) const {
    const std::size_t set = Reach::set_of(group.frame);
    const auto seen = Reach::seen(box, group.frame);
    const double shrink = 1 / scale_of(group.level);
    std::array<std::int64_t, D> from, to;
    double cells = 1;
    for (std::size_t k = 0; k < D; ++k) {
      const double own = seen.extent[k], at = seen.place[k];
      const double other = most * side_[Reach::unit_of(set, k)] * Reach::widest(group.frame, k);
      from[k] = place_of(at - reach_.before(k, own, other) * (1 + kMore) - seen.rounding, k, group.frame, shrink);
      to[k] = place_of(at + reach_.behind(k, own, other) * (1 + kMore) + seen.rounding, k, group.frame, shrink);
      cells *= static_cast<double>(to[k] - from[k] + 1);
    }
    const std::vector<std::uint32_t>& all = group.slots;
    if (cells > static_cast<double>(all.size()))
      return any_of(
          since, 0, static_cast<std::uint32_t>(all.size()), [&](std::uint32_t k) { return all[k]; }, visit, better);
    const std::size_t number = group.frame * kLevels + group.level;
    for (std::array<std::int64_t, D> place = from;;) {
      const std::size_t line = line_of(place, number);
      for (place[0] = from[0]; place[0] <= to[0]; ++place[0]) {
        const Cell cell = cells_[cell_of(line, place[0])];
        if (any_of(since, cell.begin, cell.begin + cell.size, at_place, visit, better)) return true;
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
  std::vector<Entry> kept_;
  std::uint32_t count_ = 0;
  std::vector<Cell> cells_;   // by hash of the place; empty: all boxes are scanned
  std::vector<Filed> filed_;  // of those that are filed together
  std::vector<Group> groups_;
  std::array<std::uint16_t, kFrames * kLevels> group_of_{};     // its number in `groups_`
  std::array<std::uint64_t, Reach::kSets.size()> levels_of_{};  // bits: those that a set of frames has
  std::array<double, D> side_{}, boxes_a_unit_{};               // of a usual box
  std::array<std::array<double, D>, kFrames> cells_a_unit_{};   // of level 0
};

// When a box excludes a worse one.
struct Exclusion {
  RatioTo measure;
  double threshold;
};

// Rows by descending score, equal ones ascending. Null: a score is NaN.
template <class Score>
std::optional<std::vector<std::int32_t>> best_first(const Score* scores, std::size_t count, unsigned workers,
                                                    Interrupt& interrupt) {
  RowSorter<Score> sorter(count);
  std::atomic<bool> is_number{true};
  sorter.add_all(count, workers, interrupt, [&](std::size_t row) {
    const Score score = scores[row];
    if (score != score) is_number.store(false, std::memory_order_relaxed);
    if constexpr (std::is_unsigned_v<Score>)
      return std::pair{static_cast<Score>(~score), static_cast<std::uint32_t>(row)};
    else
      return std::pair{-score, static_cast<std::uint32_t>(row)};
  });
  if (!is_number) return std::nullopt;
  sorter.sort(interrupt, workers);
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

// Calls run(workspace, rows, count, workers, interrupt) for each batch; make() makes a workspace. Batches of at least
// `large` rows, and of more than the share of a worker, are run one after the other with all workers; the others side
// by side, with one each.
template <class Make, class Run>
void for_each_batch(const Batches& batches, std::size_t large, unsigned workers, Interrupt& interrupt, const Make& make,
                    const Run& run) {
  constexpr std::size_t kRowsATask = 4096;
  const std::vector<std::size_t>& starts = batches.starts;
  const std::int32_t* rows = batches.rows.data();
  const auto size = [&](std::size_t k) { return starts[k + 1] - starts[k]; };
  const auto is_large = [&](std::size_t k) {
    return starts.size() == 2 || (size(k) >= large && size(k) > starts.back() / workers);
  };
  struct Stretch {
    std::size_t begin, end;
  };
  std::vector<Stretch> tasks;
  std::size_t task_rows = kRowsATask;
  for (std::size_t k = 0; k + 1 < starts.size(); ++k) {
    if (is_large(k)) {
      auto workspace = make();
      run(workspace, rows + starts[k], size(k), workers, interrupt);
      task_rows = kRowsATask;
      continue;
    }
    if (task_rows >= kRowsATask) {
      tasks.push_back({k, k});
      task_rows = 0;
    }
    tasks.back().end = k + 1;
    task_rows += size(k);
  }
  for_each_task(tasks.size(), workers, interrupt, [&](unsigned, std::size_t task) {
    Interrupt none;
    auto workspace = make();
    for (std::size_t k = tasks[task].begin; k < tasks[task].end; ++k)
      run(workspace, rows + starts[k], size(k), 1, none);
  });
}

}  // namespace detail

// Greedy suppression of one batch after the other. `flags` of the rows that are kept are set.
template <class Boxes>
class Greedy {
 public:
  using Kept = KeptBoxes<Boxes>;
  using Box = typename Kept::Box;
  static constexpr std::size_t kFewestShared = 4096;  // rows that are worth several workers

  Greedy(const Boxes& boxes, Exclusion exclusion, std::uint8_t* flags)
      : boxes_(boxes),
        exclusion_(exclusion),
        flags_(flags),
        kept_(boxes, typename Kept::Reach(exclusion.threshold, exclusion.measure)) {}

  // Of rows in the order of their scores. With several workers, in portions: the boxes of a portion are compared with
  // all that were kept before, and with better ones of the portion, which may be kept. The first ones are few, and each
  // is an eighth as long as all before: most boxes have met what excludes them, or are known to be kept, when their
  // turn comes, and few are compared with boxes that are not kept. What is left then is decided in order.
  void run(const std::int32_t* rows, std::size_t count, unsigned workers, Interrupt& interrupt) {
    constexpr std::size_t kFirst = 1024;
    const Threads threads{count < kFewestShared ? 1 : workers, interrupt};
    rows_ = rows, count_ = count;
    kept_.clear();
    if (threads.workers <= 1) return run_in_order(count, threads);
    run_in_order(kFirst, threads);
    double share = 0;  // of the last portion that was kept
    for (std::size_t begin = kFirst, end = 0; begin < count; begin = end) {
      // Where most are excluded by what was kept before, it is looked for first: the others are few.
      constexpr double kMost = 0.4;
      constexpr std::size_t kFew = 64;
      const bool are_most_kept = share > kMost;
      end = std::min(count, begin + begin / 8);
      open_portion(begin, end, !are_most_kept, threads);
      std::size_t kept = 0;
      if (open_.size() <= kFew) {
        kept = keep_in_order(end, threads);
      } else {
        const std::size_t rest = open_.size() + (count - end);
        kept_.prepare(rest, [&](std::size_t k) { return row_to_come(k, end); }, threads);
        kept_.propose(open_.size(), [&](std::size_t k) { return row(open_[k].place); }, threads);
        look_for_rivals(are_most_kept, threads);
        kept = decide(threads);
      }
      share = static_cast<double>(kept) / static_cast<double>(end - begin);
    }
  }

 private:
  static constexpr std::size_t kRowsAhead = Kept::kRowsAhead;
  static constexpr std::size_t kComparedATask = 64;
  static constexpr std::size_t kMostRivals = 4;
  enum class State : std::uint8_t { kOpen, kKept, kGone };
  // A box of a portion.
  struct Open {
    std::uint32_t place;
    std::array<std::uint32_t, kMostRivals> rivals;  // better ones of the portion: each excludes it if it is kept
    std::uint8_t rival_count = 0;
    bool has_more = false;  // there may be more
    State state = State::kOpen;

    // Returns false: the search goes on.
    bool add(std::uint32_t number, std::uint32_t first, typename Kept::Better& better) {
      if (number >= better.until) return false;
      rivals[rival_count++] = number - first;
      if (rival_count == kMostRivals) better.has_more = true, better.until = first;
      return false;
    }
  };

  std::size_t row(std::size_t place) const { return static_cast<std::size_t>(rows_[place]); }
  void read_ahead(std::size_t place) const {
    if (place + kRowsAhead < count_) boxes_.read_ahead(row(place + kRowsAhead));
  }
  bool exceed(const Box& a, const Box& b) const { return a.exceeds(b, exclusion_.measure, exclusion_.threshold); }

  void run_in_order(std::size_t end, const Threads& threads) {
    for (std::size_t place = 0; place < end; ++place) {
      read_ahead(place);
      const auto& box = boxes_[row(place)];
      if (!box.has_volume()) {  // overlaps none
        flags_[row(place)] = 1;
        continue;
      }
      if (place % 1024 == 1023) threads.interrupt.check();
      if (kept_.any_near(box, 0, [&](const Box& other, std::uint32_t) { return exceed(other, box); })) continue;
      flags_[row(place)] = 1;
      kept_.keep(box, count_ - place - 1, [&](std::size_t next) { return row(place + 1 + next); }, threads);
    }
  }

  // Sets `open_`; without what is excluded by those that were kept before, if these are to be compared. A box without
  // volume overlaps none, and is kept.
  void open_portion(std::size_t begin, std::size_t end, bool are_compared, const Threads& threads) {
    open_.resize(end - begin);
    std::atomic<bool> are_some_gone{false};
    threads.each(end - begin, kComparedATask, [&](std::size_t k) {
      const std::size_t place = begin + k;
      read_ahead(place);
      const auto& box = boxes_[row(place)];
      Open& own = open_[k] = {static_cast<std::uint32_t>(place), {}};
      if (!box.has_volume())
        flags_[row(place)] = 1;
      else if (!are_compared ||
               !kept_.any_near(box, 0, [&](const Box& other, std::uint32_t) { return exceed(other, box); }))
        return;
      own.state = State::kGone;
      are_some_gone.store(true, std::memory_order_relaxed);
    });
    if (are_some_gone) std::erase_if(open_, [](const Open& own) { return own.state == State::kGone; });
  }

  // The row of box k of `open_`, or of those from place `end` on behind these.
  std::size_t row_to_come(std::size_t k, std::size_t end) const {
    return row(k < open_.size() ? open_[k].place : end + (k - open_.size()));
  }

  // Keeps what is to be kept of `open_`, of a portion up to `end`. Returns how many these are.
  std::size_t keep_in_order(std::size_t end, const Threads& threads) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < open_.size(); ++k) {
      const auto& box = boxes_[row(open_[k].place)];
      if (kept_.any_near(box, 0, [&](const Box& other, std::uint32_t) { return exceed(other, box); })) continue;
      flags_[row(open_[k].place)] = 1;
      ++kept;
      const std::size_t rest = open_.size() - k - 1 + (count_ - end);
      kept_.keep(box, rest, [&](std::size_t at) { return row_to_come(k + 1 + at, end); }, threads);
    }
    return kept;
  }

  // Finds which boxes of `open_` are excluded, which are kept as no better one excludes them, and which have rivals.
  void look_for_rivals(bool among_all, const Threads& threads) {
    constexpr std::uint32_t kMostTests = 512;
    const std::uint32_t first = kept_.count();
    threads.each(open_.size(), kComparedATask, [&](std::size_t k) {
      Open& own = open_[k];
      read_ahead(own.place);
      const auto& box = boxes_[row(own.place)];
      typename Kept::Better better{first + static_cast<std::uint32_t>(k), kMostTests};
      const auto excludes = [&](const Box& other, std::uint32_t number) {
        return exceed(other, box) && (number < first || own.add(number, first, better));
      };
      if (kept_.any_near(box, among_all ? 0 : first, excludes, &better)) {
        own.state = State::kGone;
      } else if (own.rival_count == 0 && !better.has_more) {
        own.state = State::kKept;
      }
      own.has_more = better.has_more;
    });
  }

  // Decides the rest of `open_` in order, and keeps what is to be kept. Returns how many these are.
  std::size_t decide(const Threads& threads) {
    const std::uint32_t first = kept_.count();
    bool has_more = false;
    for (const Open& own : open_) has_more |= own.state == State::kOpen && own.has_more;
    kept_.withdraw(threads);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < open_.size(); ++k) {
      Open& own = open_[k];
      if (own.state == State::kOpen) {
        if (k % 1024 == 1023) threads.interrupt.check();
        own.state = is_excluded(own, first) ? State::kGone : State::kKept;
      }
      if (own.state != State::kKept) continue;
      ++kept;
      flags_[row(own.place)] = 1;
      if (has_more) kept_.confirm(k);
    }
    if (!has_more) kept_.confirm_all([&](std::size_t k) { return open_[k].state == State::kKept; }, threads);
    kept_.settle();
    return kept;
  }

  // Whether a better one of the portion that is kept excludes it; all these have been decided.
  bool is_excluded(const Open& own, std::uint32_t first) const {
    for (std::size_t k = 0; k < own.rival_count; ++k)
      if (open_[own.rivals[k]].state == State::kKept) return true;
    if (!own.has_more) return false;
    const auto& box = boxes_[row(own.place)];
    return kept_.any_near(box, first, [&](const Box& other, std::uint32_t) { return exceed(other, box); });
  }

  const Boxes& boxes_;
  Exclusion exclusion_;
  std::uint8_t* flags_;
  Kept kept_;
  const std::int32_t* rows_ = nullptr;
  std::size_t count_ = 0;
  std::vector<Open> open_;  // of a portion
};

// Flags of the rows that are kept, of `rows` in the order of their scores. Only rows with the same key exclude each
// other; `keys` may be null.
template <class Boxes>
std::vector<std::uint8_t> keep_best(const Boxes& boxes, std::vector<std::int32_t> rows, const std::int64_t* keys,
                                    Exclusion exclusion, unsigned workers, Interrupt& interrupt) {
  const bool keeps_all = exclusion.threshold >= 1;  // no ratio is larger, as it is rounded
  std::vector<std::uint8_t> flags(rows.size(), keeps_all ? 1 : 0);
  if (keeps_all) return flags;
  const auto make = [&] { return Greedy<Boxes>(boxes, exclusion, flags.data()); };
  const auto run = [](Greedy<Boxes>& greedy, const std::int32_t* batch, std::size_t count, unsigned threads,
                      Interrupt& pause) { greedy.run(batch, count, threads, pause); };
  detail::for_each_batch(detail::in_batches(std::move(rows), keys, interrupt), Greedy<Boxes>::kFewestShared, workers,
                         interrupt, make, run);
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
    Interrupt none;
    kept_.keep(box, rows_, [&](std::size_t next) { return static_cast<std::size_t>(batch_[next]); }, Threads{1, none});
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
  const auto run = [&](Workspace& workspace, const std::int32_t* batch, std::size_t rows, unsigned, Interrupt& pause) {
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
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  detail::for_each_batch(detail::in_batches(std::move(all), keys, interrupt), kNever, workers, interrupt, make, run);
  Softened result;
  const auto order = best_first(scores.data(), count, workers, interrupt);
  for (const std::int32_t row : *order)
    if (flags[static_cast<std::size_t>(row)] != 0) result.rows.push_back(row);
  result.scores = std::move(scores);
  return result;
}

}  // namespace broadphase
