// Rows chosen by a condition.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.hpp"

namespace broadphase {

// Rows in ascending order for which is(row) holds, found on threads.
template <class Is>
std::vector<std::int32_t> rows_where(std::size_t count, unsigned workers, Is&& is) {
  constexpr std::size_t kRowsATask = 16384, kTasksWorthThreads = 3;
  const std::size_t tasks = (count + kRowsATask - 1) / kRowsATask;
  std::vector<std::vector<std::int32_t>> found(tasks);
  Interrupt none;
  for_each_task(tasks, tasks < kTasksWorthThreads ? 1 : workers, none, [&](unsigned, std::size_t task) {
    const std::size_t end = std::min(count, (task + 1) * kRowsATask);
    for (std::size_t row = task * kRowsATask; row < end; ++row)
      if (is(row)) found[task].push_back(static_cast<std::int32_t>(row));
  });
  for (std::size_t task = 1; task < tasks; ++task)
    found[0].insert(found[0].end(), found[task].begin(), found[task].end());
  return tasks > 0 ? std::move(found[0]) : std::vector<std::int32_t>();
}

}  // namespace broadphase
