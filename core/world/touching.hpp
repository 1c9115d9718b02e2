// Which pairs touch, from one step to the next: what began, what goes on, what ended.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/read_ahead.hpp"
#include "narrow/batch.hpp"
#include "query/collect.hpp"

namespace broadphase {

// Two columns of row numbers, first < second.
struct PairColumns {
  const std::int32_t* first = nullptr;
  const std::int32_t* second = nullptr;
  std::size_t count = 0;

  // Whether there is a pair at a place that is less than (i, j) in lexicographic order; whether it is (i, j).
  bool has_less(std::size_t at, std::int32_t i, std::int32_t j) const {
    return at < count && (first[at] < i || (first[at] == i && second[at] < j));
  }
  bool has(std::size_t at, std::int32_t i, std::int32_t j) const {
    return at < count && first[at] == i && second[at] == j;
  }
};

inline PairColumns columns_of(const Pairs& pairs) {
  return {pairs.block.get(), pairs.block.get() + pairs.stride, pairs.size};
}
inline Pairs copy_of(const PairColumns& columns) {
  Pairs pairs{allocate_pairs(columns.count + 1), columns.count, columns.count + 1};
  std::copy_n(columns.first, columns.count, pairs.block.get());
  std::copy_n(columns.second, columns.count, pairs.block.get() + pairs.stride);
  return pairs;
}

// Makes room for so many pairs.
inline void reserve(Pairs& pairs, std::size_t size) {
  if (size <= pairs.stride) return;
  const std::size_t stride = std::max(size, pairs.stride * 2 + 256);
  PairBlock block = allocate_pairs(stride);
  std::copy_n(pairs.block.get(), pairs.size, block.get());
  std::copy_n(pairs.block.get() + pairs.stride, pairs.size, block.get() + stride);
  pairs.block = std::move(block);
  pairs.stride = stride;
}

inline void push(Pairs& pairs, std::int32_t i, std::int32_t j) {
  reserve(pairs, pairs.size + 1);
  pairs.block[pairs.size] = i;
  pairs.block[pairs.stride + pairs.size++] = j;
}

// Puts pairs behind others.
inline void append(Pairs& pairs, Pairs&& more) {
  if (pairs.size == 0) {
    pairs = std::move(more);
    return;
  }
  reserve(pairs, pairs.size + more.size);
  std::copy_n(more.block.get(), more.size, pairs.block.get() + pairs.size);
  std::copy_n(more.block.get() + more.stride, more.size, pairs.block.get() + pairs.stride + pairs.size);
  pairs.size += more.size;
}

// Keeps the pairs for which keep(i, j) holds. Each is written, and then counted: which ones stay cannot be predicted.
template <class Keep>
void keep_pairs(Pairs& pairs, Keep&& keep) {
  std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < pairs.size; ++k) {
    const std::int32_t i = first[k], j = second[k];
    first[kept] = i;
    second[kept] = j;
    kept += keep(i, j) ? 1 : 0;
  }
  pairs.size = kept;
}

// Of pairs in order: the first that is not less than (i, j).
inline std::size_t first_not_before(const PairColumns& pairs, std::int32_t i, std::int32_t j) {
  std::size_t begin = 0, end = pairs.count;
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    const bool is_before = pairs.has_less(middle, i, j);
    (is_before ? begin : end) = is_before ? middle + 1 : middle;
  }
  return begin;
}
inline bool is_among(const PairColumns& pairs, std::int32_t i, std::int32_t j) {
  return pairs.has(first_not_before(pairs, i, j), i, j);
}

// What is known of rows since the last step; either may be null.
struct RowChanges {
  const std::uint8_t* changed;  // all its pairs were searched for; null: those of every row
  const std::uint8_t* renewed;  // it was removed, even if the row is in use again; null: none
};

// What touched after a step, in lexicographic order: pair `starts[row]` is the first whose first row is `row` or
// greater.
struct TouchingPairs {
  PairColumns pairs;
  const std::uint32_t* starts;
  std::size_t rows;  // that `starts` knows: one less than its numbers
};

struct TouchingStep {
  bool same = false;  // nothing began or ended; the next two are empty then
  Pairs touching;     // in order, each once
  PlainArray<std::uint32_t> starts;
  Pairs began, ended;                  // in order
  std::vector<std::int64_t> began_at;  // where the pairs of `began` are in `touching`
};

namespace detail {

// A thread takes some 50 us to start.
inline constexpr std::size_t kTasksWorthThreads = 3;

// Of the first pair that is not less than (i, j).
inline std::size_t place_of(const TouchingPairs& last, std::int32_t i, std::int32_t j) {
  if (static_cast<std::size_t>(i) >= last.rows) return last.pairs.count;
  const std::int32_t *begin = last.pairs.second + last.starts[i], *end = last.pairs.second + last.starts[i + 1];
  constexpr std::ptrdiff_t kMany = 24;
  const std::int32_t* at = begin;
  if (end - begin > kMany)
    at = std::lower_bound(begin, end, j);
  else
    while (at < end && *at < j) ++at;
  return static_cast<std::size_t>(at - last.pairs.second);
}

// The pair (i, j), or `count` of the pairs if it is not there.
inline std::size_t find_pair(const TouchingPairs& last, std::int32_t i, std::int32_t j) {
  const std::size_t at = place_of(last, i, j);
  return last.pairs.has(at, i, j) ? at : last.pairs.count;
}

// Drops repetitions from pairs in order.
inline void make_unique(Pairs& pairs) {
  std::int32_t last_i = -1, last_j = -1;
  keep_pairs(pairs, [&](std::int32_t i, std::int32_t j) {
    const bool is_other = i != last_i || j != last_j;
    last_i = i, last_j = j;
    return is_other;
  });
}

// Where the pairs of a row begin, or of the first row after it that has some.
inline std::size_t start_of(const TouchingPairs& last, std::size_t row) {
  return row < last.rows ? last.starts[row] : last.pairs.count;
}

// Puts together what touches, of the rows from `row` up to `end`: runs of pairs that go on, and between them what
// began. Numbers of `starts` are those of before, and as many more as pairs came and went up to there.
inline void merge_rows(const TouchingPairs& last, const std::vector<std::size_t>& ended_at, std::size_t row,
                       std::size_t end, TouchingStep& step) {
  const PairColumns& old = last.pairs;
  std::int32_t *first = step.touching.block.get(), *second = first + step.touching.stride;
  const std::int32_t *new_first = step.began.block.get(), *new_second = new_first + step.began.stride;
  const auto began_before = [&](std::size_t at) {
    return static_cast<std::size_t>(
        std::lower_bound(new_first, new_first + step.began.size, static_cast<std::int32_t>(at)) - new_first);
  };
  const auto ended_before = [&](std::size_t at) {
    return static_cast<std::size_t>(std::lower_bound(ended_at.begin(), ended_at.end(), at) - ended_at.begin());
  };
  std::size_t from = start_of(last, row);
  const std::size_t old_end = start_of(last, end);
  std::size_t began = began_before(row), ended = ended_before(from), to = from + began - ended;
  const std::size_t began_end = began_before(end), ended_end = ended_before(old_end);
  // Pairs up to `stop` go on; the rows up to `row_stop` have their pairs begin after as many have come and gone.
  const auto copy_until = [&](std::size_t stop, std::size_t row_stop) {
    const auto shift = static_cast<std::uint32_t>(to - from);  // modulo 2^32
    std::copy(old.first + from, old.first + stop, first + to);
    std::copy(old.second + from, old.second + stop, second + to);
    to += stop - from;
    from = stop;
    for (; row < std::min(row_stop, last.rows + 1); ++row) step.starts[row] = last.starts[row] + shift;
    for (; row < row_stop; ++row) step.starts[row] = static_cast<std::uint32_t>(old.count) + shift;
  };
  while (began < began_end || ended < ended_end) {
    std::size_t place = old_end;
    if (began < began_end) place = place_of(last, new_first[began], new_second[began]);
    if (ended < ended_end && ended_at[ended] < place) {
      const std::size_t gone = ended_at[ended++];
      copy_until(gone, static_cast<std::size_t>(old.first[gone]) + 1);
      ++from;
    } else {
      copy_until(place, static_cast<std::size_t>(new_first[began]) + 1);
      step.began_at[began] = static_cast<std::int64_t>(to);
      first[to] = new_first[began];
      second[to++] = new_second[began++];
    }
  }
  copy_until(old_end, end);
}

// The same for all rows, on threads.
inline void merge(const TouchingPairs& last, const std::vector<std::size_t>& ended_at, std::size_t rows,
                  unsigned workers, std::size_t pairs_a_task, TouchingStep& step) {
  const std::size_t size = last.pairs.count - step.ended.size + step.began.size, tasks = size / pairs_a_task + 1;
  if (size > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();  // `starts` cannot number so many
  step.touching.block = allocate_pairs(size + 1);
  step.touching.stride = size + 1;
  step.touching.size = size;
  step.began_at.resize(step.began.size);
  step.starts.grow(rows + 1);
  step.starts[rows] = static_cast<std::uint32_t>(size);
  const EvenSplit split{rows, tasks};
  Interrupt none;
  for_each_task(tasks, tasks < kTasksWorthThreads ? 1 : workers, none, [&](unsigned, std::size_t task) {
    merge_rows(last, ended_at, split.at(task), split.at(task + 1), step);
  });
}

}  // namespace detail

// Pairs from queries around some rows, each of which found rows `found[offsets[k]]` to `found[offsets[k + 1]]`: each
// pair once, though a pair of two of these rows was found from both. `of` flags them.
template <class Allows>
Pairs pairs_around(const std::int32_t* rows, std::size_t count, const std::int32_t* found, const std::int64_t* offsets,
                   const std::uint8_t* of, Allows&& allows) {
  const auto most = static_cast<std::size_t>(count > 0 ? offsets[count] : 0) + 1;
  Pairs pairs;
  pairs.block = allocate_pairs(most);
  pairs.stride = most;
  std::int32_t *first = pairs.block.get(), *second = first + most;
  for (std::size_t k = 0; k < count; ++k) {
    const std::int32_t row = rows[k];
    for (std::int64_t at = offsets[k]; at < offsets[k + 1]; ++at) {
      const std::int32_t other = found[at], low = std::min(row, other), high = std::max(row, other);
      first[pairs.size] = low;
      second[pairs.size] = high;
      const bool is_other = (of[other] == 0) | (row < other);
      pairs.size += is_other && allows(static_cast<std::size_t>(low), static_cast<std::size_t>(high)) ? 1 : 0;
    }
  }
  return pairs;
}

// Flags those of a few pairs that are among many others. Where these are in lexicographic order, in time
// O(few log many); otherwise O(many), at less than 1 ns a pair.
inline void mark_among(const PairColumns& few, const PairColumns& many, bool is_ordered,
                       std::vector<std::uint8_t>& found) {
  if (is_ordered) {
    for (std::size_t k = 0; k < few.count; ++k) found[k] = is_among(many, few.first[k], few.second[k]) ? 1 : 0;
    return;
  }
  using Key = std::pair<std::uint64_t, std::size_t>;
  std::vector<Key> keys(few.count);
  const auto key_of = [](std::int32_t i, std::int32_t j) {
    return std::uint64_t{static_cast<std::uint32_t>(i)} << 32 | static_cast<std::uint32_t>(j);
  };
  for (std::size_t k = 0; k < few.count; ++k) keys[k] = {key_of(few.first[k], few.second[k]), k};
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  // Where they are not few, `many` is filed by first rows, each of which marks its second ones.
  constexpr std::size_t kFew = 16;
  std::int32_t most = -1;
  for (std::size_t k = 0; k < few.count; ++k) most = std::max({most, few.first[k], few.second[k]});
  const auto rows = static_cast<std::size_t>(most + 1);
  if (few.count * kFew >= std::max(many.count, rows)) {
    std::vector<std::uint32_t> ends(rows + 1);
    const auto for_each = [&](auto&& use) {
      for (std::size_t k = 0; k < many.count; ++k)
        if (many.first[k] <= most && many.second[k] <= most)
          use(static_cast<std::size_t>(many.first[k]), many.second[k]);
    };
    for_each([&](std::size_t i, std::int32_t) { ++ends[i + 1]; });
    for (std::size_t row = 0; row < rows; ++row) ends[row + 1] += ends[row];
    std::vector<std::int32_t> seconds(ends[rows]), marks(rows, -1);
    for_each([&](std::size_t i, std::int32_t j) { seconds[ends[i]++] = j; });  // then each begins where the last ends
    std::int32_t last = -1;
    for (const Key& key : keys) {
      const auto i = static_cast<std::int32_t>(key.first >> 32);
      for (std::size_t at = i == 0 ? 0 : ends[static_cast<std::size_t>(i) - 1];
           i != last && at < ends[static_cast<std::size_t>(i)]; ++at)
        marks[static_cast<std::size_t>(seconds[at])] = i;
      last = i;
      if (marks[key.first & 0xffffffffu] == i) found[key.second] = 1;
    }
    return;
  }
  // Between which places the keys of first rows are that are the same modulo some number: nearly always of no row, or
  // of one.
  const std::size_t mark_count = std::bit_ceil(std::clamp<std::size_t>(8 * few.count, 256, 32768));
  struct Places {
    std::uint32_t begin = 0, end = 0;
  };
  std::vector<Places> marks(mark_count);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    Places& places = marks[(keys[k].first >> 32) & (mark_count - 1)];
    if (places.end == 0) places.begin = static_cast<std::uint32_t>(k);
    places.end = static_cast<std::uint32_t>(k + 1);
  }
  for (std::size_t k = 0; k < many.count; ++k) {
    const Places& places = marks[static_cast<std::size_t>(many.first[k]) & (mark_count - 1)];
    if (places.end == 0) continue;
    const std::uint64_t key = key_of(many.first[k], many.second[k]);
    const Key *begin = keys.data() + places.begin, *end = keys.data() + places.end;
    constexpr std::ptrdiff_t kMany = 16;
    if (end - begin > kMany) begin = std::lower_bound(begin, end, Key(key, 0));
    for (; begin != end && begin->first <= key; ++begin)
      if (begin->first == key) found[begin->second] = 1;
  }
}

// `last`: what touched after the last step. `found`: what touches now, of the pairs that were tested, in any order,
// repetitions allowed: all pairs with a changed row, and those of `again`, pairs of unchanged rows that were tested, in
// order. What was not tested is as it was. Rows are below `rows`.
//
// From one step to the next little begins and little ends, so each pair found is looked up among the last ones of its
// first row, which are few and next to each other; only what is not there must be sorted. Time O(rows + pairs), but for
// sorting what began.
inline TouchingStep next_touching(const TouchingPairs& last, const PairColumns& found, const PairColumns& again,
                                  const RowChanges& since, std::size_t rows, unsigned workers, Interrupt& interrupt,
                                  std::size_t pairs_a_task = 4096) {
  constexpr std::size_t kAhead = 24;
  const PairColumns& old = last.pairs;
  TouchingStep step;
  // Several threads may find the same pair.
  std::vector<std::atomic<std::uint8_t>> goes_on(old.count + 1);
  const auto is_renewed = [&](std::int32_t i, std::int32_t j) {
    return since.renewed != nullptr && (since.renewed[i] | since.renewed[j]) != 0;
  };
  // Calls work(task, begin, end) for stretches of [0, count).
  const auto in_tasks = [&](std::size_t count, auto&& work) {
    const std::size_t tasks = (count + pairs_a_task - 1) / pairs_a_task;
    for_each_task(tasks, tasks < detail::kTasksWorthThreads ? 1 : workers, interrupt, [&](unsigned, std::size_t task) {
      work(task, task * pairs_a_task, std::min(count, (task + 1) * pairs_a_task));
    });
  };

  std::vector<Pairs> began(found.count / pairs_a_task + 1);
  in_tasks(found.count, [&](std::size_t task, std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      if (k + 2 * kAhead < end) {
        read_ahead(last.starts + found.first[k + 2 * kAhead]);
        if (static_cast<std::size_t>(found.first[k + kAhead]) < last.rows)
          read_ahead(last.pairs.second + last.starts[found.first[k + kAhead]]);
      }
      const std::int32_t i = found.first[k], j = found.second[k];
      const std::size_t at = detail::find_pair(last, i, j);
      if (at < old.count && !is_renewed(i, j))
        goes_on[at].store(1, std::memory_order_relaxed);
      else
        push(began[task], i, j);
    }
  });
  for (Pairs& some : began) append(step.began, std::move(some));
  if (step.began.size > 0) {
    sort_pairs(step.began, rows, workers, interrupt);
    detail::make_unique(step.began);
  }

  std::vector<std::vector<std::size_t>> gone(old.count / pairs_a_task + 1);
  in_tasks(old.count, [&](std::size_t task, std::size_t begin, std::size_t end) {
    std::size_t retested = first_not_before(again, old.first[begin], old.second[begin]);
    const auto was_tested = [&](std::int32_t i, std::int32_t j) {
      if (since.changed == nullptr || (since.changed[i] | since.changed[j]) != 0) return true;
      while (again.has_less(retested, i, j)) ++retested;
      return again.has(retested, i, j);
    };
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t i = old.first[k], j = old.second[k];
      if (goes_on[k].load(std::memory_order_relaxed) == 0 && (is_renewed(i, j) || was_tested(i, j)))
        gone[task].push_back(k);
    }
  });
  std::vector<std::size_t> ended_at;
  for (const std::vector<std::size_t>& some : gone) ended_at.insert(ended_at.end(), some.begin(), some.end());
  for (const std::size_t k : ended_at) push(step.ended, old.first[k], old.second[k]);
  if (step.began.size == 0 && step.ended.size == 0) {
    step.same = true;
    return step;
  }
  detail::merge(last, ended_at, rows, workers, pairs_a_task, step);
  return step;
}

// All pairs that can have begun to touch, or stopped. Flags: which touched before; where to write which touch now.
struct KeptPairs {
  ShapePairs pairs;
  const std::uint8_t* before;
  std::uint8_t* now;
};

namespace detail {

// Those of a stretch of pairs that began to touch, and those that ended.
struct Differences {
  Pairs began, ended;

  void add(const KeptPairs& kept, std::size_t begin, std::size_t end) {
    constexpr std::size_t kTogether = 8;
    for (std::size_t k = begin; k < end; ++k) {
      if (k + kTogether <= end && std::memcmp(kept.before + k, kept.now + k, kTogether) == 0) {
        k += kTogether - 1;
        continue;
      }
      if (kept.before[k] == kept.now[k]) continue;
      push(kept.now[k] != 0 ? began : ended, kept.pairs.first[k], kept.pairs.second[k]);
    }
  }
};

}  // namespace detail

// As `next_touching`, where nothing else can have begun or ended. Nothing is looked up but what has: in the few steps
// for which a search serves, that is a fiftieth of what touches. With the sizes of a periodic world, pairs may touch in
// the image where they are nearest. Precondition: no shape is a hull or a mesh. Pairs may be there twice.
template <std::size_t D>
TouchingStep next_touching_of_kept(const ShapeStore& shapes, const KeptPairs& kept, const double* boxes,
                                   const double* period, const TouchingPairs& last, std::size_t rows, unsigned workers,
                                   std::size_t pairs_a_task = 8192) {
  const std::size_t count = kept.pairs.count, tasks = (count + pairs_a_task - 1) / pairs_a_task;
  const PairBoxes around{boxes, boxes};
  struct Scratch {
    PlainArray<std::int32_t> touching;  // pairs, which nobody reads
    OtherPairs others;
  };
  std::vector<Scratch> scratch(std::max(1u, workers));
  std::vector<detail::Differences> found(tasks);
  Interrupt none;
  for_each_task(tasks, tasks < detail::kTasksWorthThreads ? 1 : workers, none, [&](unsigned worker, std::size_t task) {
    const std::size_t begin = task * pairs_a_task, size = std::min(pairs_a_task, count - begin);
    const ShapePairs part{kept.pairs.first + begin, kept.pairs.second + begin, nullptr, size};
    Scratch& own = scratch[worker];
    own.touching.grow(2 * pairs_a_task);
    own.others.far.clear();
    own.others.limit = squared_half<D>(period);
    keep_touching<D>(shapes, part, around, own.touching.get(), own.touching.get() + pairs_a_task, own.others,
                     kept.now + begin);
    assert(own.others.unknown.empty());
    if (!own.others.far.empty()) {
      const NearestImages<D> images(part, own.others.far, boxes, period);
      for (const std::size_t k : keep_touching_images<D>(shapes, images.pairs(), around).touching)
        kept.now[begin + own.others.far[k]] = 1;
    }
    found[task].add(kept, begin, begin + size);
  });

  TouchingStep step;
  for (detail::Differences& some : found) {
    append(step.began, std::move(some.began));
    append(step.ended, std::move(some.ended));
  }
  if (step.began.size + step.ended.size == 0) {
    step.same = true;
    return step;
  }
  std::vector<std::size_t> ended_at(step.ended.size);
  for_each_task(2, workers, none, [&](unsigned, std::size_t which) {
    Interrupt alone;  // this may not be the calling thread
    Pairs& pairs = which == 0 ? step.began : step.ended;
    if (pairs.size > 0) sort_pairs(pairs, rows, 1, alone);
    if (pairs.size > 0) detail::make_unique(pairs);
    if (which == 0) return;
    ended_at.resize(pairs.size);
    for (std::size_t k = 0; k < pairs.size; ++k)
      ended_at[k] = detail::find_pair(last, pairs.block[k], pairs.block[pairs.stride + k]);
  });
  detail::merge(last, ended_at, rows, workers, 4096, step);
  return step;
}

}  // namespace broadphase
