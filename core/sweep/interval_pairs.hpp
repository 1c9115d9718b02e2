// Pairs of intervals, which are boxes of one axis: of one set or of two, all with each other or by key.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "base/samples.hpp"
#include "boxes/box_view.hpp"
#include "query/method.hpp"
#include "query/problem.hpp"
#include "sweep/keyed_order.hpp"
#include "sweep/sorted_intervals.hpp"
#include "sweep/sweep_direction.hpp"

namespace broadphase {

// Numbers in the leaves of a binary tree, whose nodes have the greatest number below them.
template <class T>
class MaximumTree {
 public:
  MaximumTree(const T* values, std::size_t count) : leaves_(std::bit_ceil(std::max<std::size_t>(count, 1))) {
    nodes_.resize(2 * leaves_, std::numeric_limits<T>::lowest());
    std::copy_n(values, count, nodes_.data() + leaves_);
    for (std::size_t node = leaves_ - 1; node > 0; --node)
      nodes_[node] = std::max(nodes_[2 * node], nodes_[2 * node + 1]);
  }

  // The place of the first number at `from` or behind it that is not below `value`; one behind all numbers if there is
  // none. Time O(log n), and less where it is near.
  std::size_t next(std::size_t from, T value) const {
    if (from >= leaves_) return leaves_;
    std::size_t node = leaves_ + from;
    while (true) {
      if (nodes_[node] >= value) {
        if (node >= leaves_) return node - leaves_;
        node *= 2;
        continue;
      }
      while (node % 2 == 1) node /= 2;
      if (node == 0) return leaves_;
      ++node;
    }
  }

 private:
  std::size_t leaves_;
  std::vector<T> nodes_;
};

// Both sets in the order of key and begin, those of the first set before those of the second that begin with them, and
// within a set by rows. Then what overlaps an interval and begins no sooner is one run of the other set:
//
//      |--------- interval --------|
//        |-----|                            its run: from the first that begins with it or later
//            |-------------------|
//                   |--|                    to the last that begins before it ends
//
// and of each pair, one is in the run of the other. (In one set, a run is what comes behind the interval.)
//
// A run is read eight numbers at a time, all of which are written before it is known how many of them belong to it: of
// short runs, whose ends cannot be predicted, none costs more than another. Time O(n + pairs). The memory of an item
// and of the sorted columns: 52 bytes a row of doubles while it sorts, 28 then.
template <class T>
class IntervalPairs {
 public:
  struct Scratch {};

  // Throws InvalidBoxes for NaN and for lower > upper in a row that has a key. With one set, the second has no rows.
  // Numbers of another type are kept as T if T holds each of them: see is_exact().
  template <class Given>
  IntervalPairs(const KeyedIntervals<Given>& first, const KeyedIntervals<Given>& second, bool cross,
                std::size_t key_count, bool touching, T grow, unsigned workers, Interrupt& interrupt)
      : is_cross_(cross),
        is_closed_(touching),
        order_(first, second, cross, key_count, touching, grow, workers, interrupt) {
    if (!order_.is_exact()) return;
    order_.keep_stretches([&](const Stretch& stretch) {
      const std::size_t own = stretch.end[0] - stretch.begin[0], other = stretch.end[1] - stretch.begin[1];
      return is_cross_ ? own > 0 && other > 0 : own > 1;
    });
    add_tasks(0, workers, interrupt);
    if (is_cross_) add_tasks(1, workers, interrupt);
  }
  IntervalPairs(const Problem<T>& problem, unsigned workers, Interrupt& interrupt)
      : IntervalPairs(KeyedIntervals<T>{problem.first, nullptr},
                      KeyedIntervals<T>{problem.cross ? problem.second : BoxView<T>{}, nullptr}, problem.cross, 1,
                      problem.touching, problem.grow, workers, interrupt) {}
  IntervalPairs(const IntervalPairs&) = delete;
  IntervalPairs& operator=(const IntervalPairs&) = delete;

  // False if T does not hold all numbers: then there is nothing here, and they have to be kept as they are.
  bool is_exact() const { return order_.is_exact(); }

  std::size_t task_count() const { return tasks_.size(); }

  template <class AnyScratch>
  void run(std::size_t number, AnyScratch&, PairBuffer& out) const {
    run(number, out);
  }
  void run(std::size_t number, PairBuffer& out) const;

  // What a sweep tells of itself.
  std::size_t bytes() const { return order_.bytes() + tasks_.capacity() * sizeof(Task); }
  const SweepDirection& direction() const { return direction_; }
  std::uint64_t candidate_count() const {
    std::uint64_t pairs = 0;
    for (const Task& task : tasks_) pairs += is_closed_ ? count<true>(task) : count<false>(task);
    return pairs;
  }
  bool tests_blocks() const { return false; }

  // Of two sets: how many of the second each row of the first is in a pair with; `counts` has room for all rows.
  // Time O(n), however many pairs there are.
  void count_each(std::int64_t* counts, Interrupt& interrupt) const {
    std::fill_n(counts, order_.rows(0), 0);
    const Column &first = order_.column(0), &second = order_.column(1);
    // A run of the second set's intervals adds 1 to all in it: where it begins, and less 1 behind it.
    PlainArray<std::int32_t> steps;
    steps.grow(first.count + 1);
    std::fill_n(steps.get(), first.count + 1, 0);
    for (const Stretch& stretch : order_.stretches())
      in_stretches(stretch.end[1] - stretch.begin[1], interrupt, [&](std::size_t from, std::size_t to) {
        for (std::size_t k = stretch.begin[1] + from; k < stretch.begin[1] + to; ++k) {
          const std::size_t begin = second.begins[k], end = end_of(first, begin, stretch.end[0], second.upper[k]);
          if (begin == end) continue;
          ++steps[begin];
          if (end < stretch.end[0]) --steps[end];
        }
      });
    for (const Stretch& stretch : order_.stretches()) {
      std::int64_t begun = 0;
      in_stretches(stretch.end[0] - stretch.begin[0], interrupt, [&](std::size_t from, std::size_t to) {
        for (std::size_t k = stretch.begin[0] + from; k < stretch.begin[0] + to; ++k) {
          begun += steps[k];
          const std::size_t begin = first.begins[k];
          counts[first.rows[k]] =
              begun + static_cast<std::int64_t>(end_of(second, begin, stretch.end[1], first.upper[k]) - begin);
        }
      });
    }
  }

  // Which of the second set may be near one of the first, besides those that overlap it.
  struct Reach {
    bool before = true, behind = true;
  };

  // Of two sets, both closed: the interval of the second that is nearest to each of the first, its row, or -1 where
  // none has its key and lies within reach; and the width of the gap between them, 0 where they overlap. Of several as
  // near, the one that begins first, and then the first row. Time O(n log n).
  template <class Gap>
  void find_nearest(Reach reach, std::int32_t* nearest, Gap* gaps, Interrupt& interrupt) const {
    std::fill_n(nearest, order_.rows(0), -1);
    std::fill_n(gaps, order_.rows(0), Gap(0));
    const Column &first = order_.column(0), &second = order_.column(1);
    PlainArray<std::uint32_t> furthest;  // of those up to each: the first of those that end last
    furthest.grow(second.count + 1);
    for (const Stretch& stretch : order_.stretches()) {
      const std::size_t start = stretch.begin[1], end = stretch.end[1];
      for (std::size_t k = start; k < end; ++k)
        furthest[k] = static_cast<std::uint32_t>(
            k > start && second.upper[k] <= second.upper[furthest[k - 1]] ? furthest[k - 1] : k);
      in_stretches(stretch.end[0] - stretch.begin[0], interrupt, [&](std::size_t from, std::size_t to) {
        for (std::size_t k = stretch.begin[0] + from; k < stretch.begin[0] + to; ++k) {
          const T lower = first.lower[k], upper = first.upper[k];
          const std::size_t next = end_of_run<true>(second.lower.get(), first.begins[k], end, first.begins[k], upper);
          std::size_t best = end;
          Gap gap{};
          if (next > start && second.upper[furthest[next - 1]] >= lower) {
            best = first_reaching(second, furthest.get(), start, next, lower);
          } else {
            if (reach.before && next > start) {
              best = furthest[next - 1];
              gap = gap_between<Gap>(second.upper[best], lower);
            }
            if (reach.behind && next < end) {
              const Gap other = gap_between<Gap>(upper, second.lower[next]);
              if (best == end || other < gap) best = next, gap = other;
            }
          }
          if (best == end) continue;
          nearest[first.rows[k]] = second.rows[best];
          gaps[first.rows[k]] = gap;
        }
      });
    }
  }

  // How many are wanted, whether those that are as near as the last of them are, too, and up to what gap.
  template <class Gap>
  struct Wanted {
    std::size_t count;
    bool with_ties;
    Gap farthest;
    std::uint64_t limit;  // of all; throws TooManyPairs
  };
  // Of each row of the first set: where its rows of the second begin, and their gaps.
  template <class Gap>
  struct Near {
    std::vector<std::int64_t> offsets;
    std::vector<std::int32_t> rows;
    std::vector<Gap> gaps;
  };

  // As `find_nearest`, the nearest intervals in the order of gap, begin and row. Time O((n + those found) log n).
  template <class Gap>
  Near<Gap> find_near(Reach reach, const Wanted<Gap>& wanted, Interrupt& interrupt) const {
    const Column &first = order_.column(0), &second = order_.column(1);
    const MaximumTree<T> ends(second.upper.get(), second.count);
    struct End {
      T upper;
      std::uint32_t position;
    };
    std::vector<End> falling;  // of a stretch, by their ends, the last of them first
    std::vector<std::int32_t> rows;
    std::vector<Gap> gaps;
    std::vector<std::size_t> found(first.count + 1);  // by the positions of the first set
    for (const Stretch& stretch : order_.stretches()) {
      const std::size_t start = stretch.begin[1], end = stretch.end[1];
      falling.clear();
      if (reach.before) {
        for (std::size_t k = start; k < end; ++k) falling.push_back({second.upper[k], static_cast<std::uint32_t>(k)});
        std::stable_sort(falling.begin(), falling.end(), [](End a, End b) { return a.upper > b.upper; });
      }
      std::size_t before = falling.size();  // the last of those that end before an interval begins
      in_stretches(stretch.end[0] - stretch.begin[0], interrupt, [&](std::size_t from, std::size_t to) {
        for (std::size_t k = stretch.begin[0] + from; k < stretch.begin[0] + to; ++k) {
          const T lower = first.lower[k], upper = first.upper[k];
          const std::size_t next = end_of_run<true>(second.lower.get(), first.begins[k], end, first.begins[k], upper);
          std::size_t taken = 0;
          const auto take = [&](std::size_t position, Gap gap) {
            if (gap > wanted.farthest) return false;
            if (taken >= wanted.count && !(wanted.with_ties && gap == gaps.back())) return false;
            if (rows.size() >= wanted.limit) throw TooManyPairs();
            rows.push_back(second.rows[position]);
            gaps.push_back(gap);
            ++taken;
            return true;
          };
          bool goes_on = true;
          for (std::size_t at = ends.next(start, lower); goes_on && at < next; at = ends.next(at + 1, lower))
            goes_on = take(at, Gap(0));
          while (before > 0 && falling[before - 1].upper < lower) --before;
          for (std::size_t left = before, right = next; goes_on;) {
            const bool has_left = left < falling.size(), has_right = reach.behind && right < end;
            if (!has_left && !has_right) break;
            const Gap own = has_left ? gap_between<Gap>(falling[left].upper, lower) : Gap(0);
            const Gap other = has_right ? gap_between<Gap>(upper, second.lower[right]) : Gap(0);
            const bool is_left = has_left && (!has_right || own <= other);
            goes_on = is_left ? take(falling[left++].position, own) : take(right++, other);
          }
          found[k] = taken;
        }
      });
    }
    return by_rows(first, found, rows, gaps);
  }

 private:
  using Column = typename KeyedOrder<T>::Column;
  using Stretch = typename KeyedOrder<T>::Stretch;
  // Rows whose runs are looked at together, and numbers of a run.
  static constexpr std::size_t kTogether = 64, kWindow = 8;
  // A task takes some 0.1 ms, so that threads have equal shares of a million rows.
  static constexpr std::uint64_t kCandidates = kTaskCandidates / 32;
  // The runs of positions [begin, end) of a set, whose first lies in a stretch; of a piece, one run's [from, to).
  struct Task {
    std::uint32_t set, begin, end, from, to;
    std::uint32_t stretch;
    bool is_piece;
  };

  // The set in which the runs of a set lie.
  std::size_t other(std::size_t set) const { return is_cross_ ? 1 - set : 0; }
  std::size_t begin_of_run(std::size_t set, std::size_t position) const {
    return is_cross_ ? order_.column(set).begins[position] : position + 1;
  }
  // Where the run of an interval that ends at `upper` ends: looked for from its begin.
  std::size_t end_of(const Column& column, std::size_t begin, std::size_t end, T upper) const {
    return is_closed_ ? end_of_run<true>(column.lower.get(), begin, end, begin, upper)
                      : end_of_run<false>(column.lower.get(), begin, end, begin, upper);
  }

  // Four at a time: one would wait for the one before.
  static T greatest(const T* values, std::size_t count) {
    T most[4] = {values[0], values[0], values[0], values[0]};
    std::size_t k = 0;
    for (; k + 4 <= count; k += 4)
      for (std::size_t at = 0; at < 4; ++at) most[at] = values[k + at] > most[at] ? values[k + at] : most[at];
    for (; k < count; ++k) most[0] = values[k] > most[0] ? values[k] : most[0];
    return *std::max_element(most, most + 4);
  }

  // Divides the runs of a set into tasks, by how long those of some rows together can be at most.
  void add_tasks(std::uint32_t set, unsigned workers, Interrupt& interrupt);
  std::vector<std::uint64_t> reaches(std::uint32_t set, unsigned workers, Interrupt& interrupt) const;

  // Long runs, one by one.
  void divide(std::uint32_t set, std::uint32_t s, std::size_t begin, std::size_t end) {
    const Column& column = order_.column(other(set));
    const std::size_t last = order_.stretches()[s].end[other(set)];
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t to = end_of(column, begin_of_run(set, k), last, order_.column(set).upper[k]);
      for (std::size_t from = begin_of_run(set, k); from < to; from += kCandidates)
        tasks_.push_back({set, static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(k + 1),
                          static_cast<std::uint32_t>(from),
                          static_cast<std::uint32_t>(std::min<std::uint64_t>(from + kCandidates, to)), s, true});
    }
  }

  // Calls use(from, to, last) for the rows of a task that are in one stretch, with the end of its runs.
  template <class Use>
  void each_stretch(const Task& task, const Use& use) const {
    std::size_t begin = task.begin;
    for (std::size_t s = task.stretch; s < order_.stretches().size() && begin < task.end; ++s) {
      const std::size_t end = std::min<std::size_t>(task.end, order_.stretches()[s].end[task.set]);
      use(std::max(begin, order_.stretches()[s].begin[task.set]), end, order_.stretches()[s].end[other(task.set)]);
      begin = end;
    }
  }

  // Of the next numbers of a run, those that begin before `upper`: they are the first ones.
  template <bool Closed>
  static std::size_t within(const T* begins, T upper) {
    using Count = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    Count count = 0;
    for (std::size_t k = 0; k < kWindow; ++k) count += Closed ? begins[k] <= upper : begins[k] < upper;
    return static_cast<std::size_t>(count);
  }

  template <bool Closed>
  std::uint64_t count(const Task& task) const {
    if (task.is_piece) return task.to - task.from;
    const Column& queried = order_.column(task.set);
    const T* begins = order_.column(other(task.set)).lower.get();
    std::uint64_t pairs = 0;
    each_stretch(task, [&](std::size_t from, std::size_t to, std::size_t last) {
      for (std::size_t k = from; k < to; ++k) {
        const std::size_t begin = begin_of_run(task.set, k);
        if (begin + kWindow <= last) {
          const std::size_t near = within<Closed>(begins + begin, queried.upper[k]);
          pairs += near;
          if (near < kWindow) continue;
          const std::size_t behind = begin + kWindow;
          pairs += end_of_run<Closed>(begins, behind, last, behind, queried.upper[k]) - behind;
        } else {
          for (std::size_t at = begin; at < last && is_within<Closed>(begins[at], queried.upper[k]); ++at) ++pairs;
        }
      }
    });
    return pairs;
  }

  template <bool Closed>
  static bool is_within(T begin, T upper) {
    return Closed ? begin <= upper : begin < upper;
  }

  // Where pairs are written, some at a time.
  struct Writer {
    // More than a window, and little enough to stay in the nearest cache until it is filtered.
    static constexpr std::size_t kRoom = 1024;

    explicit Writer(PairBuffer& to) : out(to) { start(); }
    void start() {
      out.room(kRoom);
      first = out.first(), second = out.second();
      size = 0;
    }
    void make_room() {
      if (size + kWindow <= kRoom) return;
      out.commit(size);
      start();
    }

    PairBuffer& out;
    std::int32_t *first = nullptr, *second = nullptr;
    std::size_t size = 0;
  };

  template <bool Closed>
  void find(const Task& task, PairBuffer& out) const {
    if (!is_cross_)
      find<Closed, false>(task, out,
                          [](std::int32_t own, const std::int32_t* others, std::int32_t* first, std::int32_t* second,
                             std::size_t count) {
                            for (std::size_t k = 0; k < count; ++k) {
                              const std::int32_t here = others[k];
                              first[k] = here < own ? here : own;
                              second[k] = here < own ? own : here;
                            }
                          });
    else if (task.set == 0)
      find<Closed, true>(task, out,
                         [](std::int32_t own, const std::int32_t* others, std::int32_t* first, std::int32_t* second,
                            std::size_t count) {
                           std::fill_n(first, count, own);
                           std::copy_n(others, count, second);
                         });
    else
      find<Closed, true>(task, out,
                         [](std::int32_t own, const std::int32_t* others, std::int32_t* first, std::int32_t* second,
                            std::size_t count) {
                           std::copy_n(others, count, first);
                           std::fill_n(second, count, own);
                         });
  }

  template <bool Closed, bool Cross, class Write>
  void find(const Task& task, PairBuffer& out, const Write& write) const {
    const T* uppers = order_.column(task.set).upper.get();
    const std::int32_t* own = order_.column(task.set).rows.get();
    const std::uint32_t* run_begins = order_.column(task.set).begins.get();
    const T* begins = order_.column(other(task.set)).lower.get();
    const std::int32_t* rows = order_.column(other(task.set)).rows.get();
    Writer to(out);
    if (task.is_piece) {
      for (std::size_t at = task.from; at < task.to; to.make_room()) {
        const std::size_t count = std::min<std::size_t>(kWindow, task.to - at);
        write(own[task.begin], rows + at, to.first + to.size, to.second + to.size, count);
        to.size += count;
        at += count;
      }
      out.commit(to.size);
      return;
    }
    each_stretch(task, [&](std::size_t from, std::size_t until, std::size_t last) {
      for (std::size_t k = from; k < until; ++k) {
        const T upper = uppers[k];
        std::size_t at = Cross ? run_begins[k] : k + 1;
        for (bool is_open = true; is_open; to.make_room()) {
          if (at + kWindow <= last) {
            const std::size_t count = within<Closed>(begins + at, upper);
            write(own[k], rows + at, to.first + to.size, to.second + to.size, kWindow);
            to.size += count;
            at += count;
            is_open = count == kWindow;
          } else {
            for (; at < last && is_within<Closed>(begins[at], upper); ++at, ++to.size)
              write(own[k], rows + at, to.first + to.size, to.second + to.size, 1);
            is_open = false;
          }
        }
      }
    });
    out.commit(to.size);
  }

  // The first interval in [start, end) that ends at `lower` or later; there is one.
  static std::size_t first_reaching(const Column& column, const std::uint32_t* furthest, std::size_t start,
                                    std::size_t end, T lower) {
    // Mostly it is one of the last.
    const auto reaches = [&](std::size_t k) { return column.upper[furthest[k]] >= lower; };
    std::size_t high = end - 1, low = start;
    for (std::size_t step = 1; high > start; step *= 2) {
      const std::size_t look = high - start > step ? high - step : start;
      if (!reaches(look)) {
        low = look + 1;
        break;
      }
      high = look;
    }
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (reaches(middle))
        high = middle;
      else
        low = middle + 1;
    }
    return furthest[high];
  }

  // What was found for the positions of a set, one after the other, in the order of its rows.
  template <class Gap>
  Near<Gap> by_rows(const Column& column, const std::vector<std::size_t>& found, const std::vector<std::int32_t>& rows,
                    const std::vector<Gap>& gaps) const {
    Near<Gap> result{std::vector<std::int64_t>(order_.rows(0) + 1), std::vector<std::int32_t>(rows.size()),
                     std::vector<Gap>(rows.size())};
    for (std::size_t k = 0; k < column.count; ++k)
      result.offsets[static_cast<std::size_t>(column.rows[k]) + 1] = static_cast<std::int64_t>(found[k]);
    for (std::size_t row = 0; row < order_.rows(0); ++row) result.offsets[row + 1] += result.offsets[row];
    for (std::size_t k = 0, from = 0; k < column.count; from += found[k++]) {
      const auto to = static_cast<std::size_t>(result.offsets[static_cast<std::size_t>(column.rows[k])]);
      std::copy_n(rows.data() + from, found[k], result.rows.data() + to);
      std::copy_n(gaps.data() + from, found[k], result.gaps.data() + to);
    }
    return result;
  }

  // Between an end and a begin behind it, or none.
  template <class Gap>
  static Gap gap_between(T end, T begin) {
    return begin > end ? static_cast<Gap>(begin) - static_cast<Gap>(end) : Gap(0);
  }

  bool is_cross_, is_closed_;
  SweepDirection direction_{0, {}};
  KeyedOrder<T> order_;
  std::vector<Task> tasks_;
};

template <class T>
void IntervalPairs<T>::run(std::size_t number, PairBuffer& out) const {
  const Task& task = tasks_[number];
  if (out.counts_only())
    out.add_count(is_closed_ ? count<true>(task) : count<false>(task));
  else if (is_closed_)
    find<true>(task, out);
  else
    find<false>(task, out);
}

// For each kTogether rows of a set in a stretch, one stretch after the other: how long a run of theirs can be.
template <class T>
std::vector<std::uint64_t> IntervalPairs<T>::reaches(std::uint32_t set, unsigned workers, Interrupt& interrupt) const {
  const Column &queried = order_.column(set), &column = order_.column(other(set));
  std::vector<std::size_t> first(1, 0);  // of each stretch
  for (const Stretch& stretch : order_.stretches())
    first.push_back(first.back() + (stretch.end[set] - stretch.begin[set] + kTogether - 1) / kTogether);
  std::vector<std::uint64_t> found(first.back());
  constexpr std::size_t kATask = 512;
  for_each_task((found.size() + kATask - 1) / kATask, workers, interrupt, [&](unsigned, std::size_t task) {
    std::size_t at = task * kATask;
    auto s = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), at) - first.begin()) - 1;
    for (const std::size_t last = std::min(found.size(), at + kATask); at < last; ++at) {
      while (first[s + 1] <= at) ++s;
      const Stretch& stretch = order_.stretches()[s];
      const std::size_t k = stretch.begin[set] + (at - first[s]) * kTogether;
      const std::size_t end = std::min(k + kTogether, stretch.end[set]), stop = stretch.end[other(set)];
      const std::size_t begin = begin_of_run(set, k);
      const T furthest = greatest(queried.upper.get() + k, end - k);
      found[at] = end_of(column, begin, stop, furthest) - std::min(begin, stop);
    }
  });
  return found;
}

template <class T>
void IntervalPairs<T>::add_tasks(std::uint32_t set, unsigned workers, Interrupt& interrupt) {
  const std::vector<std::uint64_t> all_reaches = reaches(set, workers, interrupt);
  Task open{set, 0, 0, 0, 0, 0, false};
  std::uint64_t pending = 0;
  const auto flush = [&] {
    if (open.begin < open.end) tasks_.push_back(open);
    open.begin = open.end;
    pending = 0;
  };
  std::size_t group = 0;
  for (std::uint32_t s = 0; s < order_.stretches().size(); ++s) {
    const Stretch& stretch = order_.stretches()[s];
    for (std::size_t k = stretch.begin[set]; k < stretch.end[set]; k += kTogether) {
      const std::size_t end = std::min(k + kTogether, stretch.end[set]);
      const std::uint64_t reach = all_reaches[group++];
      if (pending == 0) open.begin = static_cast<std::uint32_t>(k), open.stretch = s;
      open.end = static_cast<std::uint32_t>(end);
      // Rows count as well.
      pending += (reach + kWindow) * (end - k);
      if (reach * (end - k) > kCandidates) {
        open.end = static_cast<std::uint32_t>(k);
        flush();
        divide(set, s, k, end);
        open.begin = open.end = static_cast<std::uint32_t>(end);
      } else if (pending > kCandidates) {
        flush();
      }
    }
    if (s % 1024 == 0) interrupt.check();
  }
  flush();
}

// Compiled once: sweep.cpp.
extern template class IntervalPairs<float>;
extern template class IntervalPairs<double>;
extern template class IntervalPairs<std::int32_t>;

}  // namespace broadphase
