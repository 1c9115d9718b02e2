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
#include "query/collect.hpp"
#include "query/method.hpp"
#include "query/sort_rows.hpp"

namespace broadphase {

// Answer k is rows[offsets[k]] to rows[offsets[k + 1]], that one not included.
struct Ragged {
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> offsets;
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
Ragged collect_ragged(std::size_t count, std::size_t most_candidates, unsigned workers, Interrupt& interrupt,
                      const Run& run, const std::uint32_t* order = nullptr) {
  struct Share {
    Scratch scratch;
    std::vector<std::int32_t> rows;
    std::vector<std::size_t> tasks, ends;  // the tasks done, and how far `rows` reached after each
  };
  const std::size_t together = queries_together(most_candidates);
  const std::size_t tasks = (count + together - 1) / together;
  const auto query = [order](std::size_t k) { return order == nullptr ? k : std::size_t{order[k]}; };
  Ragged result;
  result.offsets.assign(count + 1, 0);
  std::vector<Share> shares(std::max(1u, workers));
  for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
    Share& share = shares[worker];
    for (std::size_t k = task * together; k < std::min(count, (task + 1) * together); ++k) {
      const std::size_t before = share.rows.size();
      run(query(k), share.scratch, share.rows);
      result.offsets[query(k) + 1] = static_cast<std::int64_t>(share.rows.size() - before);
    }
    share.tasks.push_back(task);
    share.ends.push_back(share.rows.size());
  });
  for (std::size_t k = 0; k < count; ++k) result.offsets[k + 1] += result.offsets[k];
  if (shares.size() == 1 && order == nullptr) {
    result.rows = std::move(shares[0].rows);
    return result;
  }
  result.rows.resize(static_cast<std::size_t>(result.offsets[count]));
  for (const Share& share : shares)
    for (std::size_t at = 0, from = 0; at < share.tasks.size(); ++at)
      for (std::size_t k = share.tasks[at] * together; k < std::min(count, (share.tasks[at] + 1) * together); ++k) {
        const std::int64_t begin = result.offsets[query(k)], length = result.offsets[query(k) + 1] - begin;
        std::copy_n(share.rows.begin() + static_cast<std::ptrdiff_t>(from), length, result.rows.begin() + begin);
        from += static_cast<std::size_t>(length);
      }
  return result;
}

// Answer k holds the second numbers of the pairs whose first number is k, ascending. O(pairs), and memory of the
// answers besides the pairs.
inline Ragged by_query(const Pairs& pairs, std::size_t queries, unsigned workers, Interrupt& interrupt) {
  const std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  Ragged result;
  result.offsets.assign(queries + 1, 0);
  result.rows.resize(pairs.size);
  in_stretches(pairs.size, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) ++result.offsets[static_cast<std::size_t>(first[k]) + 1];
  });
  for (std::size_t k = 0; k < queries; ++k) result.offsets[k + 1] += result.offsets[k];
  std::vector<std::int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  in_stretches(pairs.size, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      result.rows[static_cast<std::size_t>(next[static_cast<std::size_t>(first[k])]++)] = second[k];
  });
  constexpr std::size_t kTogether = 1024;
  for_each_task((queries + kTogether - 1) / kTogether, workers, interrupt, [&](unsigned, std::size_t task) {
    for (std::size_t k = task * kTogether; k < std::min(queries, (task + 1) * kTogether); ++k)
      sort_rows(result.rows.data() + result.offsets[k],
                static_cast<std::size_t>(result.offsets[k + 1] - result.offsets[k]));
  });
  return result;
}

}  // namespace broadphase
