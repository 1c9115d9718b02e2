// Answers of unequal length, one for each of many questions, in two arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "query/method.hpp"

namespace broadphase {

// Answer k is rows[offsets[k]] to rows[offsets[k + 1]], that one not included.
struct Ragged {
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> offsets;
};

// A task is short enough to be interrupted after, and long enough to be worth handing out.
inline std::size_t questions_together(std::size_t most_candidates) {
  return std::clamp<std::size_t>(kTaskCandidates / std::max<std::size_t>(1, most_candidates), 1, 64);
}

// Asks `count` questions: ask(question, scratch, rows) appends the answer to `rows`, on any thread, each with a scratch
// of its own. No question looks at more than `most_candidates` boxes. With `order`, a permutation, they are asked in
// that order: neighbours after each other find what they need in the cache. The answers depend neither on it nor on
// `workers`.
template <class Scratch, class Ask>
Ragged collect_ragged(std::size_t count, std::size_t most_candidates, unsigned workers, Interrupt& interrupt,
                      const Ask& ask, const std::uint32_t* order = nullptr) {
  struct Share {
    Scratch scratch;
    std::vector<std::int32_t> rows;
    std::vector<std::size_t> tasks, ends;  // what was asked, and how far `rows` reached after it
  };
  const std::size_t together = questions_together(most_candidates);
  const std::size_t tasks = (count + together - 1) / together;
  const auto question = [order](std::size_t k) { return order == nullptr ? k : std::size_t{order[k]}; };
  Ragged result;
  result.offsets.assign(count + 1, 0);
  std::vector<Share> shares(std::max(1u, workers));
  for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
    Share& share = shares[worker];
    for (std::size_t k = task * together; k < std::min(count, (task + 1) * together); ++k) {
      const std::size_t before = share.rows.size();
      ask(question(k), share.scratch, share.rows);
      result.offsets[question(k) + 1] = static_cast<std::int64_t>(share.rows.size() - before);
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
        const std::int64_t begin = result.offsets[question(k)], length = result.offsets[question(k) + 1] - begin;
        std::copy_n(share.rows.begin() + static_cast<std::ptrdiff_t>(from), length, result.rows.begin() + begin);
        from += static_cast<std::size_t>(length);
      }
  return result;
}

}  // namespace broadphase
