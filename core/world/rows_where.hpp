// Rows chosen by a condition.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.hpp"

namespace broadphase {

// Finds the rows for which is(row) holds, on threads: calls use(part, rows, count) for some of them at a time, soon
// after they were looked at. Returns the parts, which together have all rows in ascending order.
template <class Part, class Is, class Use>
std::vector<Part> for_rows_where(std::size_t count, unsigned workers, Is&& is, Use&& use) {
  constexpr std::size_t kRowsATask = 16384, kTasksWorthThreads = 3, kBlock = 256;
  const bool is_alone = workers <= 1 || count < kTasksWorthThreads * kRowsATask;
  const std::size_t rows_a_task = is_alone ? std::max<std::size_t>(count, 1) : kRowsATask,
                    tasks = (count + rows_a_task - 1) / rows_a_task;
  std::vector<Part> parts(tasks);
  Interrupt none;
  for_each_task(tasks, workers, none, [&](unsigned, std::size_t task) {
    const std::size_t end = std::min(count, (task + 1) * rows_a_task);
    for (std::size_t begin = task * rows_a_task; begin < end; begin += kBlock) {
      // Written unconditionally, then counted: branches on rows of which some are chosen could not be predicted.
      std::int32_t rows[kBlock];
      std::size_t chosen = 0;
      for (std::size_t row = begin; row < std::min(end, begin + kBlock); ++row) {
        rows[chosen] = static_cast<std::int32_t>(row);
        chosen += is(row) ? 1 : 0;
      }
      use(parts[task], rows, chosen);
    }
  });
  return parts;
}

// The rows themselves, in ascending order.
template <class Is>
std::vector<std::int32_t> rows_where(std::size_t count, unsigned workers, Is&& is) {
  using Rows = std::vector<std::int32_t>;
  std::vector<Rows> parts = for_rows_where<Rows>(
      count, workers, is,
      [](Rows& some, const std::int32_t* rows, std::size_t chosen) { some.insert(some.end(), rows, rows + chosen); });
  for (std::size_t task = 1; task < parts.size(); ++task)
    parts[0].insert(parts[0].end(), parts[task].begin(), parts[task].end());
  return parts.empty() ? Rows() : std::move(parts[0]);
}

}  // namespace broadphase
