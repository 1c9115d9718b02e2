#include "query/collect.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"

namespace broadphase {

namespace detail {

namespace {

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

// Puts the pairs of stretches of tasks together in the order of the tasks, while later ones still run: their buffers
// are used again, so that the pairs are in memory once and not twice, and mostly still in a near cache when they are
// copied.
class OrderedPairs {
 public:
  OrderedPairs(std::size_t stretches, const Filter* filter, std::uint64_t limit)
      : filter_(filter), limit_(limit), done_(stretches), result_(nullptr, false, limit) {}

  // What a stretch has found, which leaves an empty buffer in its place. `expected`: so many pairs there may be in all;
  // 0: that is not known yet, and the pairs wait.
  void add(std::size_t stretch, PairBuffer& found, std::size_t expected) {
    std::unique_lock lock(mutex_);
    done_[stretch].emplace(std::exchange(found, PairBuffer(filter_, false, limit_)));
    if (expected > 0) join(lock, expected);
    if (spare_.empty()) return;
    found = std::move(spare_.back());
    spare_.pop_back();
  }
  // When all stretches have been added.
  Pairs finish() {
    std::unique_lock lock(mutex_);
    join(lock, 0);
    return take(result_);
  }

 private:
  void join(std::unique_lock<std::mutex>& lock, std::size_t expected) {
    while (!growing_ && next_ < done_.size() && done_[next_]) {
      const std::size_t size = done_[next_]->size();
      if (result_.size() + size > result_.capacity()) {
        growing_ = true;  // the others leave theirs, which come next, to this thread
        still_.wait(lock, [this] { return copying_ == 0; });
        result_.expect(expected);
        result_.room(size);
        growing_ = false;
      }
      PairBuffer part = std::move(*done_[next_++]);
      std::int32_t *first = result_.first(), *second = result_.second();
      result_.commit(size);
      ++copying_;
      lock.unlock();
      if (size > 0) {
        std::memcpy(first, part.first_column(), size * sizeof(std::int32_t));
        std::memcpy(second, part.second_column(), size * sizeof(std::int32_t));
      }
      part.clear();
      lock.lock();
      if (--copying_ == 0) still_.notify_all();
      spare_.push_back(std::move(part));
    }
  }

  const Filter* filter_;
  std::uint64_t limit_;
  std::mutex mutex_;
  std::condition_variable still_;
  std::vector<std::optional<PairBuffer>> done_;
  std::size_t next_ = 0, copying_ = 0;
  bool growing_ = false;
  PairBuffer result_;
  std::vector<PairBuffer> spare_;
};

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
    interrupt.check(task + 1, tasks.count);
  }
  return take(out);
}

Pairs collect_on_threads(const Tasks& tasks, const Filter* filter, unsigned workers, std::uint64_t limit,
                         Interrupt& interrupt) {
  std::vector<PairBuffer> buffers = buffers_of(workers, filter, false, limit);
  std::atomic<std::uint64_t> found{0};
  std::atomic<std::size_t> finished{0};
  const std::size_t grain = tasks.count / (std::size_t{workers} * 32) + 1;
  OrderedPairs joined((tasks.count + grain - 1) / grain, filter, limit);
  for_each_task(
      tasks.count, workers, interrupt,
      [&](unsigned worker, std::size_t task) {
        PairBuffer& out = buffers[worker];
        const std::uint64_t before = out.count();
        tasks.run(task, worker, out);
        const std::uint64_t so_far = found += out.count() - before;
        check_limit(so_far, limit);
        const std::size_t done = ++finished;
        if (worker == 0) interrupt.check(done, tasks.count);
        if ((task + 1) % grain != 0 && task + 1 < tasks.count) return;
        // Extrapolated from the tasks that have finished, which may be many more than those before this one: the
        // system may have kept this thread waiting.
        const double all = 1.1 * static_cast<double>(so_far) * static_cast<double>(tasks.count);
        joined.add(task / grain, out,
                   done > tasks.count / 16 ? static_cast<std::size_t>(all / static_cast<double>(done)) + 1 : 0);
      },
      grain);
  return joined.finish();
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
    for (std::size_t task = 0; task < tasks.count; ++task) {
      tasks.run(task, 0, out);
      interrupt.check(task + 1, tasks.count);
    }
    return out.count();
  }
  std::vector<PairBuffer> buffers = buffers_of(workers, filter, true);
  std::atomic<std::size_t> finished{0};
  for_each_task(tasks.count, workers, interrupt, [&](unsigned worker, std::size_t task) {
    tasks.run(task, worker, buffers[worker]);
    const std::size_t done = ++finished;
    if (worker == 0) interrupt.check(done, tasks.count);
  });
  std::uint64_t total = 0;
  for (const PairBuffer& buffer : buffers) total += buffer.count();
  return total;
}

}  // namespace detail

namespace {

// Fewer pairs are sorted sooner than threads are started.
constexpr std::size_t kWorthWorkers = 20000;

// Sorts pairs by their second rows, then by their first, each by counting: for pairs and rows that a near cache holds.
void sort_by_counting(Pairs& pairs, std::size_t rows) {
  std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  PlainArray<std::uint32_t> places;
  PlainArray<std::uint64_t> by_second;
  places.grow(2 * rows);
  by_second.grow(pairs.size);
  std::uint32_t *const of_first = places.get(), *const of_second = of_first + rows;
  std::fill_n(places.get(), 2 * rows, 0u);
  for (std::size_t k = 0; k < pairs.size; ++k) {
    ++of_first[first[k]];
    ++of_second[second[k]];
  }
  std::uint32_t before_first = 0, before_second = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    before_first += std::exchange(of_first[row], before_first);
    before_second += std::exchange(of_second[row], before_second);
  }
  for (std::size_t k = 0; k < pairs.size; ++k)
    by_second[of_second[second[k]]++] =
        static_cast<std::uint64_t>(first[k]) << 32 | static_cast<std::uint32_t>(second[k]);
  for (std::size_t k = 0; k < pairs.size; ++k)
    second[of_first[by_second[k] >> 32]++] = static_cast<std::int32_t>(by_second[k] & 0xFFFFFFFF);
  // Four at once, of which those too many are overwritten: most rows have few pairs, and there is no branch to guess.
  constexpr std::size_t kAtOnce = 4;
  std::size_t k = 0, row = 0;
  for (; row < rows && k + kAtOnce <= pairs.size; ++row) {
    const std::size_t end = of_first[row];
    std::fill_n(first + k, kAtOnce, static_cast<std::int32_t>(row));
    for (k += kAtOnce; k < end; ++k) first[k] = static_cast<std::int32_t>(row);
    k = end;
  }
  for (; row < rows; ++row)
    for (; k < of_first[row]; ++k) first[k] = static_cast<std::int32_t>(row);
}

}  // namespace

void sort_pairs(Pairs& pairs, std::size_t rows, unsigned workers, Interrupt& interrupt) {
  constexpr std::size_t kPairsAStretch = 40000, kMostStretches = 2048, kPairsByInsertion = 4;
  // Bytes of pairs and counters that are sorted by counting.
  constexpr std::size_t kBytesByCounting = std::size_t{1} << 23;
  if (pairs.size < 2) return;
  if (pairs.size < kWorthWorkers) workers = 1;
  if (workers <= 1 && rows / 2 <= pairs.size && 8 * (pairs.size + rows) <= kBytesByCounting)
    return sort_by_counting(pairs, rows);
  std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  const int row_bits = static_cast<int>(std::bit_width(rows > 1 ? rows - 1 : 1));
  const std::size_t wanted = std::clamp<std::size_t>(pairs.size / kPairsAStretch, 1, kMostStretches);
  const int stretch_bits = std::max(0, row_bits - static_cast<int>(std::bit_width(wanted) - 1));
  const std::size_t stretches = ((rows > 0 ? rows - 1 : 0) >> stretch_bits) + 1;
  const std::uint64_t low_mask = (std::uint64_t{1} << stretch_bits) - 1;

  PlainArray<std::uint64_t> keys;
  keys.grow(pairs.size);
  // For each part of the pairs, which the threads share, and each stretch: where the next of them goes.
  const EvenSplit split{pairs.size, std::max(1u, workers)};
  std::vector<std::size_t> start(stretches + 1), next(split.parts * stretches, 0);
  for_each_task(split.parts, workers, interrupt, [&](unsigned, std::size_t part) {
    std::size_t* const counts = next.data() + part * stretches;
    for (std::size_t k = split.at(part), end = split.at(part + 1); k < end; ++k)
      ++counts[static_cast<std::size_t>(first[k]) >> stretch_bits];
  });
  std::size_t sum = 0;
  for (std::size_t s = 0; s < stretches; ++s) {
    start[s] = sum;
    for (std::size_t part = 0; part < split.parts; ++part) sum += std::exchange(next[part * stretches + s], sum);
  }
  start[stretches] = sum;
  for_each_task(split.parts, workers, interrupt, [&](unsigned, std::size_t part) {
    std::size_t* const places = next.data() + part * stretches;
    for (std::size_t k = split.at(part), end = split.at(part + 1); k < end; ++k) {
      const auto row = static_cast<std::uint64_t>(first[k]);
      keys[places[row >> stretch_bits]++] = (row & low_mask) << row_bits | static_cast<std::uint32_t>(second[k]);
    }
  });
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
      std::uint64_t *from = own, *spare = spares[worker].get();
      const auto sort_bits = [&](int lowest) {
        std::uint64_t* found = radix_sort<11>(from, spare, count, lowest, row_bits + stretch_bits, key, 1, none);
        if (found != from) std::swap(from, spare);
      };
      // Of few pairs a row, those of a row are put into order by insertion, unless some rows have many.
      const bool is_sparse = count >> stretch_bits < kPairsByInsertion;
      if (is_sparse) sort_bits(row_bits);
      if (!is_sparse || !insertion_sort(from, count, key, kPairsByInsertion * count)) sort_bits(0);
      sorted = from;
    }
    const auto high = static_cast<std::uint64_t>(s) << stretch_bits;
    for (std::size_t k = 0; k < count; ++k) {
      first[begin + k] = static_cast<std::int32_t>(high | sorted[k] >> row_bits);
      second[begin + k] = static_cast<std::int32_t>(sorted[k] & ((std::uint64_t{1} << row_bits) - 1));
    }
  });
}

}  // namespace broadphase
