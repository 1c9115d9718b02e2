// Runs a method's tasks and puts their pairs together: in task order whatever the number of workers, or in
// lexicographic order.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "query/method.hpp"

namespace broadphase {

struct TooManyPairs : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// Pair k is block[k], block[stride + k].
struct Pairs {
  PairBlock block;
  std::size_t size = 0, stride = 0;
};

namespace detail {

// What one worker found in tasks that follow each other.
struct Segment {
  std::size_t task, last_task, worker, begin, end;
};

inline void check_limit(std::uint64_t found, std::uint64_t limit) {
  if (found > limit) throw TooManyPairs("more pairs than max_pairs");
}

inline Pairs assemble(std::vector<Segment>& segments, const std::vector<PairBuffer>& buffers, unsigned workers,
                      Interrupt& interrupt) {
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) { return a.task < b.task; });
  std::vector<std::size_t> target(segments.size() + 1, 0);
  for (std::size_t k = 0; k < segments.size(); ++k) target[k + 1] = target[k] + segments[k].end - segments[k].begin;
  Pairs result;
  result.size = result.stride = target.back();
  result.block = allocate_pairs(result.stride);
  for_each_task(segments.size(), workers, interrupt, [&](unsigned, std::size_t k) {
    const Segment& from = segments[k];
    const PairBuffer& buffer = buffers[from.worker];
    const std::size_t bytes = (from.end - from.begin) * sizeof(std::int32_t);
    if (bytes == 0) return;
    std::memcpy(result.block.get() + target[k], buffer.first_column() + from.begin, bytes);
    std::memcpy(result.block.get() + result.stride + target[k], buffer.second_column() + from.begin, bytes);
  });
  return result;
}

}  // namespace detail

// All pairs, on this thread. `expected`: so many there may be, if that is known.
template <Method M>
Pairs collect_in_order(const M& method, const Filter* filter, std::uint64_t limit, Interrupt& interrupt,
                       typename M::Scratch& scratch, std::size_t expected = 0) {
  const std::size_t tasks = method.task_count();
  PairBuffer out(filter, false);
  out.expect(expected);
  for_each_task(tasks, 1, interrupt, [&](unsigned, std::size_t task) {
    method.run(task, scratch, out);
    detail::check_limit(out.count(), limit);
    // Extrapolates from the tasks done so far: one allocation instead of several.
    if (task + 1 < tasks && task >= tasks / 16)
      out.expect(static_cast<std::size_t>(1.1 * static_cast<double>(out.size()) * static_cast<double>(tasks) /
                                          static_cast<double>(task + 1)));
  });
  Pairs result;
  result.size = out.size();
  result.stride = out.capacity();
  result.block = out.capacity() > 0 ? out.release() : allocate_pairs(0);
  return result;
}

// All pairs. Throws TooManyPairs soon after `limit` is passed.
template <Method M>
Pairs collect_pairs(const M& method, const Filter* filter, unsigned workers, std::uint64_t limit,
                    Interrupt& interrupt) {
  const std::size_t tasks = method.task_count();
  if (workers <= 1 || tasks <= 1) {
    typename M::Scratch scratch;
    return collect_in_order(method, filter, limit, interrupt, scratch);
  }
  std::vector<typename M::Scratch> scratch(workers);
  std::vector<PairBuffer> buffers;
  buffers.reserve(workers);
  for (unsigned worker = 0; worker < workers; ++worker) buffers.emplace_back(filter, false);
  std::vector<std::vector<detail::Segment>> segments(workers);
  std::atomic<std::uint64_t> found{0};
  const std::size_t grain = tasks / (std::size_t{workers} * 32) + 1;
  for_each_task(
      tasks, workers, interrupt,
      [&](unsigned worker, std::size_t task) {
        PairBuffer& out = buffers[worker];
        const std::size_t begin = out.size();
        const std::uint64_t before = out.count();
        method.run(task, scratch[worker], out);
        const std::uint64_t so_far = found += out.count() - before;
        detail::check_limit(so_far, limit);
        // Tasks are handed out in order, so what has been found so far can be extrapolated.
        if (task >= tasks / 16)
          out.expect(static_cast<std::size_t>(1.2 * static_cast<double>(so_far) * static_cast<double>(tasks) /
                                              static_cast<double>(task + 1) / workers));
        // Tasks in a row that one worker did are one segment.
        auto& own = segments[worker];
        if (!own.empty() && own.back().last_task + 1 == task)
          own.back().last_task = task, own.back().end = out.size();
        else
          own.push_back({task, task, worker, begin, out.size()});
      },
      grain);
  std::vector<detail::Segment> all;
  for (const auto& list : segments) all.insert(all.end(), list.begin(), list.end());
  return detail::assemble(all, buffers, workers, interrupt);
}

// Their number, on this thread.
template <Method M>
std::uint64_t count_in_order(const M& method, const Filter* filter, Interrupt& interrupt,
                             typename M::Scratch& scratch) {
  PairBuffer out(filter, true);
  for_each_task(method.task_count(), 1, interrupt, [&](unsigned, std::size_t task) { method.run(task, scratch, out); });
  return out.count();
}

// Their number, in memory that does not depend on it.
template <Method M>
std::uint64_t count_pairs(const M& method, const Filter* filter, unsigned workers, Interrupt& interrupt) {
  workers = std::max(1u, workers);
  std::vector<typename M::Scratch> scratch(workers);
  std::vector<PairBuffer> buffers;
  buffers.reserve(workers);
  for (unsigned worker = 0; worker < workers; ++worker) buffers.emplace_back(filter, true);
  for_each_task(method.task_count(), workers, interrupt,
                [&](unsigned worker, std::size_t task) { method.run(task, scratch[worker], buffers[worker]); });
  std::uint64_t total = 0;
  for (const PairBuffer& buffer : buffers) total += buffer.count();
  return total;
}

// `rows`: of the larger set. Pairs go to stretches of first rows, so that each stretch fits a near cache, and are
// sorted there by radix. Time O(pairs); memory of the pairs once more.
inline void sort_pairs(Pairs& pairs, std::size_t rows, unsigned workers, Interrupt& interrupt) {
  constexpr std::size_t kPairsAStretch = 40000, kMostStretches = 2048;
  if (pairs.size < 2) return;
  std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  const int row_bits = static_cast<int>(std::bit_width(rows > 1 ? rows - 1 : 1));
  const std::size_t wanted = std::clamp<std::size_t>(pairs.size / kPairsAStretch, 1, kMostStretches);
  const int stretch_bits = std::max(0, row_bits - static_cast<int>(std::bit_width(wanted) - 1));
  const std::size_t stretches = ((rows > 0 ? rows - 1 : 0) >> stretch_bits) + 1;
  const std::uint64_t low_mask = (std::uint64_t{1} << stretch_bits) - 1;

  PlainArray<std::uint64_t> keys;
  keys.grow(pairs.size);
  std::vector<std::size_t> start(stretches + 1, 0);
  for (std::size_t k = 0; k < pairs.size; ++k) ++start[(static_cast<std::size_t>(first[k]) >> stretch_bits) + 1];
  for (std::size_t s = 0; s < stretches; ++s) start[s + 1] += start[s];
  std::vector<std::size_t> next(start.begin(), start.end() - 1);
  for (std::size_t k = 0; k < pairs.size; ++k) {
    const auto row = static_cast<std::uint64_t>(first[k]);
    keys[next[row >> stretch_bits]++] = (row & low_mask) << row_bits | static_cast<std::uint32_t>(second[k]);
  }
  interrupt.check();
  std::vector<PlainArray<std::uint64_t>> spares(std::max(1u, workers));
  for_each_task(stretches, workers, interrupt, [&](unsigned worker, std::size_t s) {
    const std::size_t begin = start[s], count = start[s + 1] - begin;
    if (count == 0) return;
    std::uint64_t* own = keys.get() + begin;
    const std::uint64_t* sorted = own;
    if (count <= 256) {
      std::sort(own, own + count);
    } else {
      spares[worker].grow(count);
      Interrupt none;  // this may not be the calling thread, the only one that can be interrupted
      const auto key = [](std::uint64_t pair) { return pair; };
      sorted = radix_sort<11>(own, spares[worker].get(), count, 0, row_bits + stretch_bits, key, 1, none);
    }
    const auto high = static_cast<std::uint64_t>(s) << stretch_bits;
    for (std::size_t k = 0; k < count; ++k) {
      first[begin + k] = static_cast<std::int32_t>(high | sorted[k] >> row_bits);
      second[begin + k] = static_cast<std::int32_t>(sorted[k] & ((std::uint64_t{1} << row_bits) - 1));
    }
  });
}

}  // namespace broadphase
