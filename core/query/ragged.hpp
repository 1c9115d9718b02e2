// Answers of unequal length, one for each of many queries, in two arrays.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "query/collect.hpp"
#include "query/method.hpp"

namespace broadphase {

// Answer k is rows[offsets[k]] to rows[offsets[k + 1]], that one not included.
struct Ragged {
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> offsets;
};

// The same where all answers are known before they are put together: in memory that is not zeroed first, and that waits
// for the next call when it is given back.
struct RaggedBlocks {
  PlainArray<std::int32_t> rows;
  PlainArray<std::int64_t> offsets;

  // Room for the lengths of so many answers, which are 0: that of answer k goes to offsets[k + 1].
  void begin(std::size_t count) {
    offsets.grow(count + 1);
    std::fill_n(offsets.get(), count + 1, 0);
  }
  // Turns the lengths into offsets, and makes room for the rows.
  void add_up() {
    for (std::size_t k = 1; k < offsets.size(); ++k) offsets[k] += offsets[k - 1];
    rows.grow(static_cast<std::size_t>(offsets[offsets.size() - 1]));
  }
};

// Rows that wait to be put together, in blocks that stay where they are.
class RowRoom {
 public:
  std::int32_t* next = nullptr;
  std::size_t room = 0;

  void advance(std::size_t rows) {
    next += rows;
    room -= rows;
  }
  // A block with room for at least so many rows.
  void take(std::size_t rows) {
    const std::size_t size = std::max(rows, taken_ / 2);
    blocks_.push_back(allocate_plain<std::int32_t>(size));
    next = blocks_.back().get();
    room = size;
    taken_ += size;
  }
  const std::int32_t* put(const std::int32_t* rows, std::size_t count) {
    constexpr std::size_t kLeast = std::size_t{1} << 12;
    if (room < count) take(std::max(count, kLeast));
    std::int32_t* const to = next;
    std::copy_n(rows, count, to);
    advance(count);
    return to;
  }

 private:
  std::vector<PlainMemory<std::int32_t>> blocks_;
  std::size_t taken_ = 0;
};

// A task is short enough to be interrupted after, and long enough to be worth handing out.
inline std::size_t queries_together(std::size_t most_candidates) {
  return std::clamp<std::size_t>(kTaskCandidates / std::max<std::size_t>(1, most_candidates), 1, 64);
}

// Runs `count` queries: run(query, scratch, rows) appends the answer to `rows`, on any thread, each with a scratch of
// its own. No query reads more than `most_candidates` boxes. With `order`, a permutation, they run in that order:
// queries that are near each other in space then find what they need in the cache. The answers depend neither on it nor
// on `workers`.
template <class Scratch, class Run>
RaggedBlocks collect_ragged(std::size_t count, std::size_t most_candidates, unsigned workers, Interrupt& interrupt,
                            const Run& run, const std::uint32_t* order = nullptr) {
  struct Share {
    Scratch scratch;
    std::vector<std::int32_t> rows;  // of a task
    RowRoom room;
  };
  const std::size_t together = queries_together(most_candidates);
  const std::size_t tasks = (count + together - 1) / together;
  const auto query = [order](std::size_t k) { return order == nullptr ? k : std::size_t{order[k]}; };
  RaggedBlocks result;
  result.begin(count);
  std::vector<Share> shares(std::max(1u, workers));
  std::vector<const std::int32_t*> found(tasks);
  for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
    Share& share = shares[worker];
    share.rows.clear();
    for (std::size_t k = task * together; k < std::min(count, (task + 1) * together); ++k) {
      const std::size_t before = share.rows.size();
      run(query(k), share.scratch, share.rows);
      result.offsets[query(k) + 1] = static_cast<std::int64_t>(share.rows.size() - before);
    }
    found[task] = share.room.put(share.rows.data(), share.rows.size());
  });
  result.add_up();
  constexpr std::size_t kCopiesInARow = 16;
  for_each_task(
      tasks, workers, interrupt,
      [&](unsigned, std::size_t task) {
        const std::int32_t* from = found[task];
        for (std::size_t k = task * together; k < std::min(count, (task + 1) * together); ++k) {
          const std::int64_t begin = result.offsets[query(k)], length = result.offsets[query(k) + 1] - begin;
          std::copy_n(from, length, result.rows.get() + begin);
          from += length;
        }
      },
      kCopiesInARow);
  return result;
}

namespace detail {

// Calls use(k) for all k below `count`, from four places in turn: what is near each other often counts or goes to the
// same place in memory, and would wait for the one before.
template <class Use>
void from_four_places(std::size_t count, Interrupt& interrupt, const Use& use) {
  const std::size_t quarter = count / 4;
  in_stretches(quarter, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      use(k);
      use(k + quarter);
      use(k + 2 * quarter);
      use(k + 3 * quarter);
    }
  });
  for (std::size_t k = 4 * quarter; k < count; ++k) use(k);
}

// Pairs by their first numbers, in stretches of 2^bits, of which the pairs stay in a near cache; and in each stretch
// sorted by radix, the second numbers first. A key is the first number's place in its stretch and the second number.
template <class Key>
RaggedBlocks by_query(Pairs pairs, std::size_t queries, int bits, int row_bits, unsigned workers,
                      Interrupt& interrupt) {
  constexpr int kDigit = 9;
  const std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  const std::size_t stretches = (queries >> bits) + 1, size = std::size_t{1} << bits;
  const Key low = static_cast<Key>(size - 1), row_mask = (Key{1} << row_bits) - 1;

  std::vector<std::size_t> next(stretches + 1, 0);
  const auto stretch_of = [&](std::size_t k) { return static_cast<std::size_t>(first[k]) >> bits; };
  from_four_places(pairs.size, interrupt, [&](std::size_t k) { ++next[stretch_of(k) + 1]; });
  for (std::size_t s = 0; s < stretches; ++s) next[s + 1] += next[s];
  const std::vector<std::size_t> start = next;
  PlainArray<Key> keys;
  keys.grow(pairs.size);
  from_four_places(pairs.size, interrupt, [&](std::size_t k) {
    keys[next[stretch_of(k)]++] =
        (static_cast<Key>(first[k]) & low) << row_bits | static_cast<Key>(static_cast<std::uint32_t>(second[k]));
  });
  pairs.block.reset();

  RaggedBlocks result;
  result.begin(queries);
  result.rows.grow(pairs.size);
  struct Scratch {
    PlainArray<Key> spare;
    std::vector<std::uint32_t> count;
  };
  std::vector<Scratch> scratch(std::max(1u, workers));
  for_each_task(stretches, workers, interrupt, [&](unsigned worker, std::size_t s) {
    auto& [spare, count] = scratch[worker];
    const std::size_t number = start[s + 1] - start[s], from = s << bits;
    spare.grow(number);
    Interrupt none;  // this may not be the calling thread, the only one that can be interrupted
    const Key* sorted = radix_sort<kDigit>(
        keys.get() + start[s], spare.get(), number, 0, row_bits, [](Key key) { return key; }, 1, none);
    count.assign(size + 1, 0);
    std::uint32_t* next_of = count.data();
    for (std::size_t k = 0; k < number; ++k) ++next_of[static_cast<std::size_t>(sorted[k] >> row_bits) + 1];
    for (std::size_t q = 0; q < size; ++q) {
      next_of[q + 1] += next_of[q];
      if (from + q <= queries) result.offsets[from + q] = static_cast<std::int64_t>(start[s] + next_of[q]);
    }
    std::int32_t* to = result.rows.get() + start[s];
    for (std::size_t k = 0; k < number; ++k)
      to[next_of[static_cast<std::size_t>(sorted[k] >> row_bits)]++] = static_cast<std::int32_t>(sorted[k] & row_mask);
  });
  return result;
}

}  // namespace detail

// Answer k holds the second numbers, below `rows`, of the pairs whose first number is k, ascending. O(pairs), and
// memory of the pairs once more besides the answers.
inline RaggedBlocks by_query(Pairs pairs, std::size_t queries, std::size_t rows, unsigned workers,
                             Interrupt& interrupt) {
  constexpr int kStretch = 10, kMostBits = 16;
  constexpr std::size_t kMostStretches = 512;
  const auto row_bits = static_cast<int>(std::bit_width(rows > 1 ? rows - 1 : 1));
  int bits = kStretch;
  while (bits < kMostBits && queries >> bits > kMostStretches) ++bits;
  return row_bits + bits <= 32
             ? detail::by_query<std::uint32_t>(std::move(pairs), queries, bits, row_bits, workers, interrupt)
             : detail::by_query<std::uint64_t>(std::move(pairs), queries, bits, row_bits, workers, interrupt);
}

}  // namespace broadphase
