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
#include "sweep/sorted_intervals.hpp"
#include "sweep/sweep_direction.hpp"

namespace broadphase {

// The key of a row that is in no pair, whatever its corners.
inline constexpr std::uint32_t kNoKey = 0xffffffffu;

// One set of intervals: floating-point or whole numbers. `keys`: of each row, below a count that both sets share, or
// kNoKey; null: all rows have key 0.
template <class T>
struct KeyedIntervals {
  BoxView<T> boxes;
  const std::uint32_t* keys = nullptr;
};

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
// Rows are sorted by scattering them to buckets of some hundred, of equal width between the ends of a sample, which is
// one pass through memory; each bucket is sorted in the nearest cache by counting, and what that leaves by insertion.
// Crowded buckets are sorted by radix, so that the time is linear whatever the numbers.
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
      : is_cross_(cross), is_closed_(touching), grow_(grow), rows_{first.boxes.count, second.boxes.count} {
    const KeyedIntervals<Given> sets[2] = {first, second};
    if (!plan_buckets(sets, std::max<std::size_t>(key_count, 1)) || !scatter(sets, workers, interrupt)) {
      is_exact_ = false;
      return;
    }
    sort(workers, interrupt);
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
  bool is_exact() const { return is_exact_; }

  std::size_t task_count() const { return tasks_.size(); }

  template <class AnyScratch>
  void run(std::size_t number, AnyScratch&, PairBuffer& out) const {
    run(number, out);
  }
  void run(std::size_t number, PairBuffer& out) const;

  // What a sweep tells of itself.
  std::size_t bytes() const {
    std::size_t result = tasks_.capacity() * sizeof(Task) + stretches_.capacity() * sizeof(Stretch);
    for (const Column& column : columns_)
      result += (column.lower.size() + column.upper.size()) * sizeof(T) +
                (column.rows.size() + column.begins.size()) * sizeof(std::int32_t);
    return result;
  }
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
    std::fill_n(counts, rows_[0], 0);
    const Column &first = columns_[0], &second = columns_[1];
    // A run of the second set's intervals adds 1 to all in it: where it begins, and less 1 behind it.
    PlainArray<std::int32_t> steps;
    steps.grow(first.count + 1);
    std::fill_n(steps.get(), first.count + 1, 0);
    for (const Stretch& stretch : stretches_)
      in_stretches(stretch.end[1] - stretch.begin[1], interrupt, [&](std::size_t from, std::size_t to) {
        for (std::size_t k = stretch.begin[1] + from; k < stretch.begin[1] + to; ++k) {
          const std::size_t begin = second.begins[k], end = end_of(first, begin, stretch.end[0], second.upper[k]);
          if (begin == end) continue;
          ++steps[begin];
          if (end < stretch.end[0]) --steps[end];
        }
      });
    for (const Stretch& stretch : stretches_) {
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
    std::fill_n(nearest, rows_[0], -1);
    std::fill_n(gaps, rows_[0], Gap(0));
    const Column &first = columns_[0], &second = columns_[1];
    PlainArray<std::uint32_t> furthest;  // of those up to each: the first of those that end last
    furthest.grow(second.count + 1);
    for (const Stretch& stretch : stretches_) {
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
    const Column &first = columns_[0], &second = columns_[1];
    const MaximumTree<T> ends(second.upper.get(), second.count);
    struct End {
      T upper;
      std::uint32_t position;
    };
    std::vector<End> falling;  // of a stretch, by their ends, the last of them first
    std::vector<std::int32_t> rows;
    std::vector<Gap> gaps;
    std::vector<std::size_t> found(first.count + 1);  // by the positions of the first set
    for (const Stretch& stretch : stretches_) {
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
  // Some hundred items of 24 bytes fit the nearest cache, and a few thousand buckets as many lines of the next one.
  static constexpr std::size_t kBucketRows = 512, kMostInCache = 2048, kParts = 1024, kFew = 16;
  static constexpr std::size_t kSample = 4096;
  // Rows whose runs are looked at together, and numbers of a run.
  static constexpr std::size_t kTogether = 64, kWindow = 8;
  // A quarter of what a task may find, so that a few threads have equal shares.
  static constexpr std::uint64_t kCandidates = kTaskCandidates / 4;
  static constexpr std::uint32_t kSecond = std::uint32_t{1} << 31;  // marks rows of the second set

  struct Item {
    T lower, upper;
    std::uint32_t row;
    std::uint32_t part;  // of the bucket
  };
  // Where the begins of a key's intervals go: evenly from `low` on; what lies outside goes to the ends.
  struct Place {
    double low = 0, scale = 0, top = 0;
    std::uint32_t bucket = 0, buckets = 1;

    double of(T begin) const {
      double place = (static_cast<double>(begin) - low) * scale;
      place = place > 0 ? place : 0;  // and NaN
      return place < top ? place : top;
    }
  };
  // Where its items begin, and how many items of the first set are before it.
  struct Bucket {
    std::uint32_t begin, of_first;
  };
  struct Column {
    std::size_t count = 0;
    PlainArray<T> lower, upper;
    PlainArray<std::int32_t> rows;
    PlainArray<std::uint32_t> begins;  // of two sets: of the run, in the other one
  };
  // The positions of a key in both sets.
  struct Stretch {
    std::size_t begin[2], end[2];
  };
  // The runs of positions [begin, end) of a set, whose first lies in a stretch; of a piece, one run's [from, to).
  struct Task {
    std::uint32_t set, begin, end, from, to;
    std::uint32_t stretch;
    bool is_piece;
  };

  // A number as T, or another one where T does not hold it.
  template <class Given>
  static T kept(Given given) {
    if constexpr (std::is_same_v<Given, T>) {
      return given;
    } else {
      constexpr T kLeast = std::numeric_limits<T>::lowest(), kMost = std::numeric_limits<T>::max();
      return given >= static_cast<Given>(kLeast) && given <= static_cast<Given>(kMost) ? static_cast<T>(given) : T(0);
    }
  }

  template <class Given>
  static std::uint32_t key_of(const KeyedIntervals<Given>& set, std::size_t row) {
    return set.keys == nullptr ? 0 : set.keys[row];
  }

  // By a sample: as many buckets for a key as it has rows, between the first and the last begin. False if T does not
  // hold it.
  template <class Given>
  bool plan_buckets(const KeyedIntervals<Given> (&sets)[2], std::size_t key_count) {
    struct Seen {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      std::size_t count = 0;
    };
    std::vector<Seen> seen(key_count);
    std::size_t sampled = 0;
    for (const KeyedIntervals<Given>& set : sets) {
      const StratifiedSample sample(set.boxes.count, kSample);
      for (std::size_t k = 0; k < sample.size(); ++k) {
        const std::uint32_t key = key_of(set, sample[k]);
        const Given given = set.boxes.lower_of(sample[k])[0];
        const T lower = kept(given);
        const double begin = static_cast<double>(lower - grow_);
        if (key != kNoKey && given == given && static_cast<Given>(lower) != given) return false;
        if (key == kNoKey || !std::isfinite(begin)) continue;
        seen[key].low = std::min(seen[key].low, begin);
        seen[key].high = std::max(seen[key].high, begin);
        ++seen[key].count;
        ++sampled;
      }
    }
    const double rows = static_cast<double>(rows_[0] + rows_[1]);
    places_.resize(key_count);
    std::uint32_t next = 0;
    for (std::size_t key = 0; key < key_count; ++key) {
      Place& place = places_[key];
      place.bucket = next;
      if (seen[key].count > 0) {
        const double share = static_cast<double>(seen[key].count) / static_cast<double>(sampled);
        place.buckets = 1 + static_cast<std::uint32_t>(share * rows / kBucketRows);
        place.low = seen[key].low;
        const double width = seen[key].high - seen[key].low;
        place.scale = width > 0 ? place.buckets / width : 0;
        place.top = place.buckets - 0.5 / kParts;
      }
      next += place.buckets;
    }
    bucket_count_ = next;
    return true;
  }

  static std::uint32_t part_of(double place, std::uint32_t bucket) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>((place - static_cast<std::int32_t>(bucket)) * kParts));
  }

  // Calls use(row, bucket, item) for each row; the bucket behind the last is for those that are in no pair.
  template <class Given, class Use>
  void each_row(const KeyedIntervals<Given>& set, std::size_t from, std::size_t to, const Use& use) const {
    const bool leave_out_empty = !is_closed_;
    if (set.keys == nullptr) {
      const Place place = places_[0];
      for (std::size_t row = from; row < to; ++row) {
        const T lower = kept(set.boxes.lower_of(row)[0]) - grow_, upper = kept(set.boxes.upper_of(row)[0]) + grow_;
        const double at = place.of(lower);
        auto bucket = static_cast<std::uint32_t>(static_cast<std::int32_t>(at));
        const std::uint32_t part = part_of(at, bucket);
        if (leave_out_empty) bucket = lower < upper ? bucket : bucket_count_;
        use(row, bucket, Item{lower, upper, static_cast<std::uint32_t>(row), part});
      }
      return;
    }
    for (std::size_t row = from; row < to; ++row) {
      const std::uint32_t key = set.keys[row];
      const Place& place = places_[key == kNoKey ? 0 : key];
      const T lower = kept(set.boxes.lower_of(row)[0]) - grow_, upper = kept(set.boxes.upper_of(row)[0]) + grow_;
      const double at = place.of(lower);
      auto bucket = static_cast<std::uint32_t>(static_cast<std::int32_t>(at));
      const std::uint32_t part = part_of(at, bucket);
      bucket += place.bucket;
      bucket = key == kNoKey || (leave_out_empty && !(lower < upper)) ? bucket_count_ : bucket;
      use(row, bucket, Item{lower, upper, static_cast<std::uint32_t>(row), part});
    }
  }

  // Rows of one set that one task counts, and then puts into their buckets.
  struct Part {
    std::size_t set, begin, end;
    std::vector<std::uint32_t> next;  // for each bucket: a count, then the place of its next row
  };

  // Counts the rows of each bucket, looks for invalid ones, and puts all rows into their buckets, those of the first
  // set first, each set in the order of its rows. False if T does not hold one of them. Numbers are read twice, and
  // another thread may write to them in between: a row goes to the bucket in which it was counted.
  template <class Given>
  bool scatter(const KeyedIntervals<Given> (&sets)[2], unsigned workers, Interrupt& interrupt) {
    constexpr std::size_t kPartRows = 20000;  // fewer are read sooner than a thread wakes
    std::vector<Part> parts;
    for (std::size_t set = 0; set < 2; ++set) {
      const EvenSplit split{rows_[set], std::clamp<std::size_t>(rows_[set] / kPartRows, 1, std::max(1u, workers))};
      for (std::size_t k = 0; k < split.parts; ++k)
        parts.push_back({set, split.at(k), split.at(k + 1), std::vector<std::uint32_t>(bucket_count_ + 1, 0)});
    }
    const PlainMemory<std::uint32_t> buckets = allocate_plain<std::uint32_t>(rows_[0] + rows_[1]);
    const PlainMemory<std::uint16_t> bucket_parts = allocate_plain<std::uint16_t>(rows_[0] + rows_[1]);
    std::atomic<bool> is_exact{true};
    // Calls work(part, from, to, bucket_of, part_of_row) for stretches of the parts' rows.
    const auto in_parts = [&](const auto& work) {
      for_each_task(parts.size(), workers, interrupt, [&](unsigned worker, std::size_t number) {
        Interrupt alone;  // for threads other than the calling one
        Part& part = parts[number];
        const std::size_t before = part.set == 0 ? 0 : rows_[0];
        in_stretches(part.end - part.begin, worker == 0 ? interrupt : alone, [&](std::size_t from, std::size_t to) {
          work(part, part.begin + from, part.begin + to, buckets.get() + before, bucket_parts.get() + before);
        });
      });
    };
    in_parts([&](Part& part, std::size_t from, std::size_t to, std::uint32_t* bucket_of, std::uint16_t* part_of_row) {
      if (!is_exact.load(std::memory_order_relaxed)) return;
      const KeyedIntervals<Given>& set = sets[part.set];
      const bool has_keys = set.keys != nullptr;
      bool are_exact = true, are_valid = true;
      std::uint32_t* const counts = part.next.data();
      each_row(set, from, to, [&](std::size_t row, std::uint32_t bucket, const Item& item) {
        const Given lower = set.boxes.lower_of(row)[0], upper = set.boxes.upper_of(row)[0];
        const bool matters = !has_keys || set.keys[row] != kNoKey;
        are_valid &= lower <= upper || !matters;  // false for NaN
        if constexpr (!std::is_same_v<Given, T>)
          are_exact &= (static_cast<Given>(item.lower) == lower && static_cast<Given>(item.upper) == upper) || !matters;
        ++counts[bucket];
        bucket_of[row] = bucket;
        part_of_row[row] = static_cast<std::uint16_t>(item.part);
      });
      if (!are_valid) throw InvalidBoxes();
      if (!are_exact) is_exact.store(false, std::memory_order_relaxed);
    });
    if (!is_exact.load(std::memory_order_relaxed)) return false;
    buckets_.resize(bucket_count_ + 1);
    std::uint32_t sum = 0, of_first = 0;
    for (std::uint32_t bucket = 0; bucket <= bucket_count_; ++bucket) {
      buckets_[bucket] = {sum, of_first};
      for (Part& part : parts) {
        const std::uint32_t count = std::exchange(part.next[bucket], sum);
        sum += count;
        of_first += part.set == 0 ? count : 0;
      }
    }
    items_ = allocate_plain<Item>(rows_[0] + rows_[1]);
    in_parts([&](Part& part, std::size_t from, std::size_t to, const std::uint32_t* bucket_of,
                 const std::uint16_t* part_of_row) {
      const BoxView<Given>& boxes = sets[part.set].boxes;
      const std::uint32_t mark = part.set == 0 ? 0 : kSecond;
      std::uint32_t* const next = part.next.data();
      bool are_valid = true;
      for (std::size_t row = from; row < to; ++row) {
        const T lower = kept(boxes.lower_of(row)[0]) - grow_, upper = kept(boxes.upper_of(row)[0]) + grow_;
        const std::uint32_t bucket = bucket_of[row];
        are_valid &= lower <= upper || bucket == bucket_count_;
        items_[next[bucket]++] = {lower, upper, static_cast<std::uint32_t>(row) | mark, part_of_row[row]};
      }
      if (!are_valid) throw InvalidBoxes();
    });
    return true;
  }

  // Sorts the items of each bucket, and puts them into the columns of their sets.
  void sort(unsigned workers, Interrupt& interrupt);

  void sort_bucket(std::uint32_t bucket, PlainArray<Item>& spare, unsigned workers, Interrupt& interrupt) {
    const Bucket& from = buckets_[bucket];
    Item* const items = items_.get() + from.begin;
    const std::size_t count = buckets_[bucket + 1].begin - from.begin;
    const auto in_place = [](std::size_t k) { return k; };
    if (count > kMostInCache) return file(sort_many(items, count, spare, workers, interrupt), count, from, in_place);
    std::uint16_t order[kMostInCache];
    if (count <= kFew) {
      for (std::size_t k = 0; k < count; ++k) order[k] = static_cast<std::uint16_t>(k);
    } else {
      std::uint16_t places[kParts] = {};
      for (std::size_t k = 0; k < count; ++k) ++places[items[k].part];
      std::uint16_t sum = 0;
      for (std::uint16_t& next : places) {
        const std::uint16_t here = next;
        next = sum;
        sum = static_cast<std::uint16_t>(sum + here);
      }
      for (std::size_t k = 0; k < count; ++k) order[places[items[k].part]++] = static_cast<std::uint16_t>(k);
    }
    // Many have the same place where numbers are crowded, or lie beyond the sample.
    const auto begin = [&](std::uint16_t k) { return items[k].lower; };
    if (!insertion_sort(order, count, begin, 4 * count + kFew * kFew))
      std::sort(order, order + count, [&](std::uint16_t a, std::uint16_t b) {
        return items[a].lower < items[b].lower || (items[a].lower == items[b].lower && a < b);
      });
    file(items, count, from, [&](std::size_t k) { return order[k]; });
  }

  // By radix: the highest 33 bits, which settle all but a few, or all of them. Returns where the items are then.
  Item* sort_many(Item* items, std::size_t count, PlainArray<Item>& spare, unsigned workers, Interrupt& interrupt) {
    spare.grow(count);
    using Bits = OrderBits<T>;
    const auto bits = [](const Item& item) {
      if constexpr (std::is_floating_point_v<T>)
        return order_bits(item.lower);
      else
        return static_cast<Bits>(static_cast<Bits>(item.lower) ^ Bits{1} << (8 * sizeof(T) - 1));
    };
    Bits least = bits(items[0]), most = least;
    for (std::size_t k = 1; k < count; ++k) {
      const Bits here = bits(items[k]);
      least = here < least ? here : least;
      most = here > most ? here : most;
    }
    const auto key = [&](const Item& item) { return static_cast<Bits>(bits(item) - least); };
    const auto width = static_cast<int>(std::bit_width(static_cast<Bits>(most - least)));
    const int skipped = width > 33 ? width - 33 : 0;
    Item* sorted = radix_sort<11>(items, spare.get(), count, skipped, width, key, workers, interrupt);
    const auto begin = [](const Item& item) { return item.lower; };
    if (skipped > 0 && !insertion_sort(sorted, count, begin, 4 * count))
      sorted = radix_sort<11>(sorted, sorted == items ? spare.get() : items, count, 0, width, key, workers, interrupt);
    return sorted;
  }

  template <class Order>
  void file(const Item* items, std::size_t count, const Bucket& from, const Order& order) {
    if (is_cross_)
      file<true>(items, count, from, order);
    else
      file<false>(items, count, from, order);
  }
  template <bool Cross, class Order>
  void file(const Item* items, std::size_t count, const Bucket& from, const Order& order) {
    T *lower[2], *upper[2];
    std::int32_t* rows[2];
    std::uint32_t* begins[2];
    for (std::size_t k = 0; k < 2; ++k) {
      lower[k] = columns_[k].lower.get();
      upper[k] = columns_[k].upper.get();
      rows[k] = columns_[k].rows.get();
      begins[k] = columns_[k].begins.get();
    }
    std::size_t first = from.of_first, second = from.begin - from.of_first;
    for (std::size_t k = 0; k < count; ++k) {
      const Item& item = items[order(k)];
      // Without a branch, which would be as good as random.
      const std::size_t set = Cross ? item.row / kSecond : 0;
      const std::size_t at = Cross ? first ^ ((first ^ second) & (0 - set)) : first;
      lower[set][at] = item.lower;
      upper[set][at] = item.upper;
      rows[set][at] = static_cast<std::int32_t>(item.row & ~kSecond);
      if constexpr (Cross) begins[set][at] = static_cast<std::uint32_t>(first + second - at);
      first += 1 - set;
      second += set;
    }
  }

  // The set in which the runs of a set lie.
  std::size_t other(std::size_t set) const { return is_cross_ ? 1 - set : 0; }
  std::size_t begin_of_run(std::size_t set, std::size_t position) const {
    return is_cross_ ? columns_[set].begins[position] : position + 1;
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
    const Column& column = columns_[other(set)];
    const std::size_t last = stretches_[s].end[other(set)];
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t to = end_of(column, begin_of_run(set, k), last, columns_[set].upper[k]);
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
    for (std::size_t s = task.stretch; s < stretches_.size() && begin < task.end; ++s) {
      const std::size_t end = std::min<std::size_t>(task.end, stretches_[s].end[task.set]);
      use(std::max(begin, stretches_[s].begin[task.set]), end, stretches_[s].end[other(task.set)]);
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
    const Column& queried = columns_[task.set];
    const T* begins = columns_[other(task.set)].lower.get();
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
    const T* uppers = columns_[task.set].upper.get();
    const std::int32_t* own = columns_[task.set].rows.get();
    const std::uint32_t* run_begins = columns_[task.set].begins.get();
    const T* begins = columns_[other(task.set)].lower.get();
    const std::int32_t* rows = columns_[other(task.set)].rows.get();
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
    Near<Gap> result{std::vector<std::int64_t>(rows_[0] + 1), std::vector<std::int32_t>(rows.size()),
                     std::vector<Gap>(rows.size())};
    for (std::size_t k = 0; k < column.count; ++k)
      result.offsets[static_cast<std::size_t>(column.rows[k]) + 1] = static_cast<std::int64_t>(found[k]);
    for (std::size_t row = 0; row < rows_[0]; ++row) result.offsets[row + 1] += result.offsets[row];
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

  bool is_cross_, is_closed_, is_exact_ = true;
  T grow_;
  std::size_t rows_[2];
  SweepDirection direction_{0, {}};
  std::vector<Place> places_;  // of each key
  std::uint32_t bucket_count_ = 0;
  std::vector<Bucket> buckets_;  // and one for the rows that are in no pair
  PlainMemory<Item> items_;
  Column columns_[2];
  std::vector<Stretch> stretches_;
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

template <class T>
void IntervalPairs<T>::sort(unsigned workers, Interrupt& interrupt) {
  constexpr std::uint32_t kTogetherBuckets = 16;
  constexpr std::size_t kLarge = std::size_t{1} << 17;  // items that take some milliseconds, on all threads
  for (std::size_t k = 0; k < 2; ++k) {
    columns_[k].lower.grow(rows_[k]);
    columns_[k].upper.grow(rows_[k]);
    columns_[k].rows.grow(rows_[k]);
    if (is_cross_) columns_[k].begins.grow(rows_[k]);
  }
  columns_[0].count = buckets_[bucket_count_].of_first;
  columns_[1].count = buckets_[bucket_count_].begin - columns_[0].count;
  std::vector<PlainArray<Item>> spares(std::max(1u, workers));
  const auto is_large = [&](std::uint32_t bucket) {
    return buckets_[bucket + 1].begin - buckets_[bucket].begin > kLarge;
  };
  for (std::uint32_t bucket = 0; bucket < bucket_count_; ++bucket)
    if (is_large(bucket)) sort_bucket(bucket, spares[0], workers, interrupt);
  const std::uint32_t tasks = (bucket_count_ + kTogetherBuckets - 1) / kTogetherBuckets;
  const bool is_alone = rows_[0] + rows_[1] < kLarge / 8;
  for_each_task(tasks, is_alone ? 1 : workers, interrupt, [&](unsigned worker, std::size_t task) {
    Interrupt alone;  // for threads other than the calling one
    const auto begin = static_cast<std::uint32_t>(task) * kTogetherBuckets;
    for (std::uint32_t bucket = begin; bucket < std::min(begin + kTogetherBuckets, bucket_count_); ++bucket)
      if (!is_large(bucket)) sort_bucket(bucket, spares[worker], 1, alone);
  });
  for (const Place& place : places_) {
    const Bucket &begin = buckets_[place.bucket], &end = buckets_[place.bucket + place.buckets];
    const Stretch stretch{{begin.of_first, begin.begin - begin.of_first}, {end.of_first, end.begin - end.of_first}};
    const std::size_t own = stretch.end[0] - stretch.begin[0], other = stretch.end[1] - stretch.begin[1];
    if (is_cross_ ? own > 0 && other > 0 : own > 1) stretches_.push_back(stretch);
  }
  items_.reset();
}

// For each kTogether rows of a set in a stretch, one stretch after the other: how long a run of theirs can be.
template <class T>
std::vector<std::uint64_t> IntervalPairs<T>::reaches(std::uint32_t set, unsigned workers, Interrupt& interrupt) const {
  const Column &queried = columns_[set], &column = columns_[other(set)];
  std::vector<std::size_t> first(1, 0);  // of each stretch
  for (const Stretch& stretch : stretches_)
    first.push_back(first.back() + (stretch.end[set] - stretch.begin[set] + kTogether - 1) / kTogether);
  std::vector<std::uint64_t> found(first.back());
  constexpr std::size_t kATask = 512;
  for_each_task((found.size() + kATask - 1) / kATask, workers, interrupt, [&](unsigned, std::size_t task) {
    std::size_t at = task * kATask;
    auto s = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), at) - first.begin()) - 1;
    for (const std::size_t last = std::min(found.size(), at + kATask); at < last; ++at) {
      while (first[s + 1] <= at) ++s;
      const Stretch& stretch = stretches_[s];
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
  for (std::uint32_t s = 0; s < stretches_.size(); ++s) {
    const Stretch& stretch = stretches_[s];
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
