// The order of tests where a step may not test all pairs: high priorities first, and among equals what has waited
// longest.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "base/parallel.hpp"
#include "narrow/batch.hpp"
#include "query/collect.hpp"
#include "world/touching.hpp"

namespace broadphase {

// Pairs that earlier steps have left, in lexicographic order. Those that were dropped are not tested again as long as
// their rows do not change.
struct WaitingPairs {
  PairColumns pairs;
  const std::int64_t* since;  // the step that left each first
  const std::uint8_t* is_dropped;
};

// Priorities by their rank among all there are: 0 is the lowest. A row has the highest of its layers.
struct Ranks {
  static constexpr std::uint8_t kNoName = 255;
  const std::uint64_t* bits;            // layers of each row; null: bit 0
  std::array<std::uint8_t, 64> of_bit;  // kNoName for a layer without a name
  std::uint8_t otherwise;               // of rows in no layer with a name

  std::uint8_t of_row(std::size_t row) const {
    std::uint64_t rest = bits == nullptr ? 1 : bits[row];
    int highest = -1;
    for (; rest != 0; rest &= rest - 1) {
      const std::uint8_t rank = of_bit[static_cast<std::size_t>(std::countr_zero(rest))];
      if (rank != kNoName) highest = std::max<int>(highest, rank);
    }
    return highest < 0 ? otherwise : static_cast<std::uint8_t>(highest);
  }
};

// The pairs of a step, and the order in which they are tested.
struct TestQueue {
  Pairs pairs;
  std::int64_t oldest = 0;            // the earliest step since which one of those in the order waits
  std::vector<std::int64_t> since;    // the step that left each first; this one for the others
  std::vector<std::uint8_t> is_idle;  // dropped, and its rows have not changed: it is not tested
  std::vector<std::int32_t> order;    // places in `pairs`
  std::vector<std::uint64_t> ends;    // of each priority in `order`, from the highest on
};

namespace detail {

inline bool is_flagged(const std::uint8_t* flags, std::int32_t i, std::int32_t j) {
  return flags != nullptr && (flags[i] | flags[j]) != 0;
}

// Makes the order: by ranks, from the highest on, then by the steps since which pairs wait, then by rows.
inline void sort_queue(TestQueue& queue, const std::vector<std::uint8_t>& rank_of_row, std::size_t rank_count,
                       std::int64_t number) {
  const std::size_t count = queue.pairs.size;
  if (count > std::numeric_limits<std::int32_t>::max()) throw std::bad_alloc();  // `order` cannot number so many
  const std::int32_t *first = queue.pairs.block.get(), *second = first + queue.pairs.stride;
  std::int64_t& oldest = queue.oldest;
  oldest = number;
  std::size_t waiting = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (queue.is_idle[k] != 0) continue;
    oldest = std::min(oldest, queue.since[k]);
    ++waiting;
  }
  // 0 for the highest rank.
  const auto place_of = [&](std::size_t k) -> std::uint64_t {
    if (rank_count <= 1) return 0;
    return rank_count - 1 -
           std::max(rank_of_row[static_cast<std::size_t>(first[k])], rank_of_row[static_cast<std::size_t>(second[k])]);
  };
  queue.order.resize(waiting);
  queue.ends.assign(rank_count, 0);
  const std::uint64_t steps = static_cast<std::uint64_t>(number - oldest) + 1;
  constexpr std::uint64_t kMostBuckets = 1 << 16;
  if (steps <= kMostBuckets / rank_count) {
    std::vector<std::uint32_t> begins(rank_count * steps + 1, 0);
    const auto bucket_of = [&](std::size_t k) {
      return place_of(k) * steps + static_cast<std::uint64_t>(queue.since[k] - oldest);
    };
    for (std::size_t k = 0; k < count; ++k)
      if (queue.is_idle[k] == 0) ++begins[bucket_of(k) + 1];
    for (std::size_t b = 0; b + 1 < begins.size(); ++b) begins[b + 1] += begins[b];
    for (std::size_t rank = 0; rank < rank_count; ++rank) queue.ends[rank] = begins[(rank + 1) * steps];
    for (std::size_t k = 0; k < count; ++k)
      if (queue.is_idle[k] == 0) queue.order[begins[bucket_of(k)]++] = static_cast<std::int32_t>(k);
    return;
  }
  std::size_t at = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (queue.is_idle[k] != 0) continue;
    queue.order[at++] = static_cast<std::int32_t>(k);
    ++queue.ends[place_of(k)];
  }
  for (std::size_t rank = 1; rank < rank_count; ++rank) queue.ends[rank] += queue.ends[rank - 1];
  std::stable_sort(queue.order.begin(), queue.order.end(), [&](std::int32_t a, std::int32_t b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    const std::uint64_t p = place_of(i), q = place_of(j);
    return p != q ? p < q : queue.since[i] < queue.since[j];
  });
}

}  // namespace detail

// What is known of the rows of a step.
struct RowsOfStep {
  const double* boxes;          // (rows, 2, D)
  const std::uint8_t* changed;  // all whose pairs are candidates
  const std::uint8_t* renewed;  // removed since the last step
  std::size_t count;
};

// What step `number` is to test: candidates, each once, and of the pairs that wait those of rows that have not changed;
// pairs of changed rows are candidates, or do not touch. What is tested within a limit does not depend on the order of
// the candidates, nor on the boxes of an index, which may be larger: only pairs whose own boxes overlap are in the
// order. `is_tight`: those of all candidates are known to. `ranks`: null where all priorities are equal. `is_sorted`:
// pairs in lexicographic order; otherwise in that of the candidates, which tests of neighbours are quicker in; none may
// wait then.
template <std::size_t D>
TestQueue test_queue_of(Pairs&& candidates, bool is_tight, const WaitingPairs& waiting, const RowsOfStep& rows,
                        const Ranks* ranks, std::size_t rank_count, std::int64_t number, bool is_sorted,
                        Interrupt& interrupt) {
  const PairBoxes boxes{rows.boxes, rows.boxes};
  if (!is_tight) {
    keep_pairs(candidates, [&](std::int32_t i, std::int32_t j) { return boxes.overlap<D>({&i, &j, nullptr, 1}, 0); });
  }
  if (is_sorted) sort_pairs(candidates, rows.count, 1, interrupt);
  const std::int32_t *first = candidates.block.get(), *second = first + candidates.stride;
  TestQueue queue;
  queue.pairs.stride = std::max<std::size_t>(candidates.size + waiting.pairs.count, 1);
  queue.pairs.block = allocate_pairs(queue.pairs.stride);
  std::int32_t *to_first = queue.pairs.block.get(), *to_second = to_first + queue.pairs.stride;
  queue.since.resize(queue.pairs.stride);
  queue.is_idle.resize(queue.pairs.stride);
  std::size_t size = 0, at = 0;
  const auto add = [&](std::int32_t i, std::int32_t j, std::int64_t since, std::uint8_t is_idle) {
    to_first[size] = i;
    to_second[size] = j;
    queue.since[size] = since;
    queue.is_idle[size++] = is_idle;
  };
  const ShapePairs again{waiting.pairs.first, waiting.pairs.second, nullptr, waiting.pairs.count};
  const auto add_waiting = [&](std::size_t k) {
    const std::int32_t i = again.first[k], j = again.second[k];
    if (!detail::is_flagged(rows.changed, i, j) && !detail::is_flagged(rows.renewed, i, j) &&
        boxes.overlap<D>(again, k))
      add(i, j, waiting.since[k], waiting.is_dropped[k]);
  };
  for (std::size_t k = 0; k < candidates.size; ++k) {
    const std::int32_t i = first[k], j = second[k];
    while (waiting.pairs.has_less(at, i, j)) add_waiting(at++);
    std::int64_t since = number;
    if (waiting.pairs.has(at, i, j)) {
      if (!detail::is_flagged(rows.renewed, i, j)) since = waiting.since[at];
      ++at;
    }
    add(i, j, since, 0);
  }
  while (at < again.count) add_waiting(at++);
  queue.pairs.size = size;
  queue.since.resize(size);
  queue.is_idle.resize(size);
  std::vector<std::uint8_t> rank_of_row;
  if (ranks != nullptr) {
    rank_of_row.resize(rows.count);
    for (std::size_t row = 0; row < rows.count; ++row) rank_of_row[row] = ranks->of_row(row);
  }
  detail::sort_queue(queue, rank_of_row, ranks != nullptr ? rank_count : 1, number);
  return queue;
}

// What a step leaves.
struct LeftPairs {
  Pairs pairs;                           // in lexicographic order
  std::vector<std::int64_t> since;       // which step left each first
  std::vector<std::uint8_t> is_dropped;  // those that were idle
  Pairs touching;                        // those of them that touched after the last step, and count as touching
};

// `pairs`, `since` and `is_idle` as in `TestQueue`; `is_tested` says which were tested. Where they are not sorted,
// all wait since this step.
inline LeftPairs left_pairs(const PairColumns& pairs, const std::int64_t* since, const std::uint8_t* is_idle,
                            const std::uint8_t* is_tested, const PairColumns& last, const std::uint8_t* renewed,
                            std::size_t rows, bool is_sorted, Interrupt& interrupt) {
  LeftPairs left;
  for (std::size_t k = 0; k < pairs.count; ++k) {
    if (is_tested[k] != 0) continue;
    push(left.pairs, pairs.first[k], pairs.second[k]);
    left.since.push_back(since[k]);
    left.is_dropped.push_back(is_sorted ? is_idle[k] : 0);
  }
  if (!is_sorted && left.pairs.size > 0) sort_pairs(left.pairs, rows, 1, interrupt);
  for (std::size_t k = 0, at = 0; k < left.pairs.size; ++k) {
    const std::int32_t i = left.pairs.block[k], j = left.pairs.block[left.pairs.stride + k];
    while (last.has_less(at, i, j)) ++at;
    if (last.has(at, i, j) && !detail::is_flagged(renewed, i, j)) push(left.touching, i, j);
  }
  return left;
}

// Two balls, two boxes, or one of each take less time to test than to put off: they are tested at once.
template <std::size_t D>
bool is_quick(const StoredBall& ball) {
  return (ball[D] >= kLeastReach && ball[D] <= kMostReach / 2) || ball[D] == ShapeStore::kBoxMark;
}

// How long tests with each row take, roughly: 0 for what is quick, otherwise the length of its record.
template <std::size_t D>
std::vector<std::uint8_t> weights_of(const ShapeStore& shapes, const std::uint8_t* alive, std::size_t rows) {
  std::vector<std::uint8_t> weights(rows, 0);
  for (std::size_t row = 0; row < rows; ++row)
    if (alive[row] != 0 && !is_quick<D>(shapes.balls()[row]))
      weights[row] = static_cast<std::uint8_t>(std::clamp<std::size_t>(shapes.placed<D>(row).record.size(), 1, 255));
  return weights;
}

struct TestedPairs {
  std::size_t tested = 0;  // the first so many of the order
  Pairs touching;
  std::vector<std::int32_t> unknown;  // places of pairs with a hull or a mesh whose boxes overlap
};

// Tests pairs, whose boxes overlap, in an order until the time is up; at least a few. The clock is looked at after
// tests of some tens of microseconds.
template <std::size_t D>
TestedPairs touching_in_time(const ShapeStore& shapes, const PairColumns& pairs, const std::int32_t* order,
                             std::size_t count, const std::uint8_t* weights, double seconds, unsigned workers) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kQuick = 1, kSlow = 16, kLook = 8192;
  const Clock::time_point began = Clock::now();
  TestedPairs found;
  found.touching.stride = std::max<std::size_t>(count, 1);
  found.touching.block = allocate_pairs(found.touching.stride);
  std::int32_t *first = found.touching.block.get(), *second = first + found.touching.stride;
  struct Task {
    std::size_t begin, touching = 0;
    std::vector<std::int32_t> unknown;
  };
  std::vector<Task> tasks;
  std::size_t cost = kLook;
  for (std::size_t k = 0; k < count; ++k) {
    if (cost >= kLook) {
      tasks.push_back({k, 0, {}});
      cost = 0;
    }
    const auto pair = static_cast<std::size_t>(order[k]);
    const std::size_t a = weights[pairs.first[pair]], b = weights[pairs.second[pair]];
    cost += (a | b) == 0 ? kQuick : kSlow + a * b / 8;
  }
  struct Scratch {
    std::vector<std::int32_t> first, second;
    OtherPairs others;
  };
  std::vector<Scratch> scratch(std::max(1u, workers));
  std::atomic<std::size_t> end = tasks.size();
  Interrupt none;
  for_each_task(tasks.size(), workers, none, [&](unsigned worker, std::size_t number) {
    if (number >= end.load(std::memory_order_relaxed)) return;
    if (number > 0 && std::chrono::duration<double>(Clock::now() - began).count() >= seconds) {
      // What a thread has tested behind this does not count.
      std::size_t last = end.load();
      while (number < last && !end.compare_exchange_weak(last, number)) {
      }
      return;
    }
    Task& task = tasks[number];
    Scratch& own = scratch[worker];
    const std::size_t until = number + 1 < tasks.size() ? tasks[number + 1].begin : count;
    own.first.clear();
    own.second.clear();
    own.others.unknown.clear();
    for (std::size_t k = task.begin; k < until; ++k) {
      own.first.push_back(pairs.first[order[k]]);
      own.second.push_back(pairs.second[order[k]]);
    }
    task.touching = keep_touching<D>(shapes, {own.first.data(), own.second.data(), nullptr, until - task.begin}, {},
                                     first + task.begin, second + task.begin, own.others);
    const RowPairs& unknown = own.others.unknown;
    for (std::size_t k = 0, next = 0; next < unknown.size(); ++k) {
      if (own.first[k] != unknown[next] || own.second[k] != unknown[next + 1]) continue;
      task.unknown.push_back(order[task.begin + k]);
      next += 2;
    }
  });
  const std::size_t done = end.load();
  found.tested = done < tasks.size() ? tasks[done].begin : count;
  for (std::size_t k = 0; k < done; ++k) {
    const Task& task = tasks[k];
    std::copy_n(first + task.begin, task.touching, first + found.touching.size);
    std::copy_n(second + task.begin, task.touching, second + found.touching.size);
    found.touching.size += task.touching;
    found.unknown.insert(found.unknown.end(), task.unknown.begin(), task.unknown.end());
  }
  return found;
}

}  // namespace broadphase
