#include "query/collect.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"

namespace broadphase {

namespace detail {

namespace {

// What one worker found in tasks that follow each other.
struct Segment {
  std::size_t task, last_task, worker, begin, end;
};

void check_limit(std::uint64_t found, std::uint64_t limit) {
  if (found > limit) throw TooManyPairs();
}

// The pairs of a buffer, which gives its block away.
Pairs take(PairBuffer& out) {
  Pairs result;
  result.size = out.size();
  result.stride = out.capacity();
  result.block = out.capacity() > 0 ? out.release() : allocate_pairs(0);
  return result;
}

std::vector<PairBuffer> buffers_of(unsigned workers, const Filter* filter, bool counting,
                                   std::uint64_t limit = kNoLimit) {
  std::vector<PairBuffer> buffers;
  buffers.reserve(workers);
  for (unsigned worker = 0; worker < workers; ++worker) buffers.emplace_back(filter, counting, limit);
  return buffers;
}

Pairs assemble(std::vector<Segment>& segments, const std::vector<PairBuffer>& buffers, unsigned workers,
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

}  // namespace

Pairs collect_in_order(const Tasks& tasks, const Filter* filter, std::uint64_t limit, Interrupt& interrupt,
                       std::size_t expected) {
  PairBuffer out(filter, false, limit);
  out.expect(expected);
  for (std::size_t task = 0; task < tasks.count; ++task) {
    tasks.run(task, 0, out);
    check_limit(out.count(), limit);
    // Extrapolates from the tasks done so far: one allocation instead of several.
    if (task + 1 < tasks.count && task >= tasks.count / 16)
      out.expect(static_cast<std::size_t>(1.1 * static_cast<double>(out.size()) * static_cast<double>(tasks.count) /
                                          static_cast<double>(task + 1)));
    interrupt.check();
  }
  return take(out);
}

Pairs collect_on_threads(const Tasks& tasks, const Filter* filter, unsigned workers, std::uint64_t limit,
                         Interrupt& interrupt) {
  std::vector<PairBuffer> buffers = buffers_of(workers, filter, false, limit);
  std::vector<std::vector<Segment>> segments(workers);
  std::atomic<std::uint64_t> found{0};
  std::atomic<std::size_t> finished{0};
  const std::size_t grain = tasks.count / (std::size_t{workers} * 32) + 1;
  for_each_task(
      tasks.count, workers, interrupt,
      [&](unsigned worker, std::size_t task) {
        PairBuffer& out = buffers[worker];
        const std::size_t begin = out.size();
        const std::uint64_t before = out.count();
        tasks.run(task, worker, out);
        const std::uint64_t so_far = found += out.count() - before;
        check_limit(so_far, limit);
        // Extrapolated from the tasks that have finished, which may be many more than those before this one: the
        // system may have kept this thread waiting.
        const std::size_t done = ++finished;
        if (done > tasks.count / 16)
          out.expect(static_cast<std::size_t>(1.2 * static_cast<double>(so_far) * static_cast<double>(tasks.count) /
                                              static_cast<double>(done) / workers));
        // Tasks in a row that one worker did are one segment.
        auto& own = segments[worker];
        if (!own.empty() && own.back().last_task + 1 == task)
          own.back().last_task = task, own.back().end = out.size();
        else
          own.push_back({task, task, worker, begin, out.size()});
      },
      grain);
  std::vector<Segment> all;
  for (const auto& list : segments) all.insert(all.end(), list.begin(), list.end());
  return assemble(all, buffers, workers, interrupt);
}

Pairs collect_some(const Tasks& tasks, const Filter* filter, std::size_t wanted, std::size_t& task,
                   Interrupt& interrupt) {
  PairBuffer out(filter, false);
  for (; task < tasks.count && out.size() < wanted; ++task) {
    tasks.run(task, 0, out);
    interrupt.check();
  }
  return take(out);
}

std::uint64_t count(const Tasks& tasks, const Filter* filter, unsigned workers, Interrupt& interrupt) {
  if (workers <= 1) {  // without memory
    PairBuffer out(filter, true);
    for_each_task(tasks.count, 1, interrupt, [&](unsigned, std::size_t task) { tasks.run(task, 0, out); });
    return out.count();
  }
  std::vector<PairBuffer> buffers = buffers_of(workers, filter, true);
  for_each_task(tasks.count, workers, interrupt,
                [&](unsigned worker, std::size_t task) { tasks.run(task, worker, buffers[worker]); });
  std::uint64_t total = 0;
  for (const PairBuffer& buffer : buffers) total += buffer.count();
  return total;
}

}  // namespace detail

void sort_pairs(Pairs& pairs, std::size_t rows, unsigned workers, Interrupt& interrupt) {
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
