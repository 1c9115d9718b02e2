// Checks of the row numbers that a change is given, before anything is changed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/parallel.hpp"

namespace broadphase {

namespace detail {

[[noreturn]] inline void refuse_row(std::int32_t row, const char* what) {
  throw std::invalid_argument("row " + std::to_string(row) + " " + what);
}

[[noreturn]] inline void refuse_presence(std::int32_t row, std::size_t limit, bool present) {
  const bool has_box = static_cast<std::size_t>(row) < limit;
  refuse_row(row, !has_box ? "has no box" : present ? "is not in the index" : "is in the index already");
}

}  // namespace detail

// Throws invalid_argument, naming the first such row, unless all rows are below `limit`, which is the number of boxes.
inline void require_boxes(const std::int32_t* rows, std::size_t count, std::size_t limit, unsigned workers,
                          Interrupt& interrupt) {
  std::atomic<bool> have_all{true};
  in_stretches_on_threads(count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
    bool have = true;
    for (std::size_t at = begin; at < end; ++at) have &= static_cast<std::size_t>(rows[at]) < limit;
    if (!have) have_all.store(false, std::memory_order_relaxed);
  });
  for (std::size_t at = 0; !have_all && at < count; ++at)
    if (static_cast<std::size_t>(rows[at]) >= limit) detail::refuse_row(rows[at], "has no box");
}

inline void require_boxes(const std::int32_t* rows, std::size_t count, std::size_t limit) {
  Interrupt none;
  require_boxes(rows, count, limit, 1, none);
}

// The same, and unless has(row) for each.
template <class Has>
void require_rows(const std::int32_t* rows, std::size_t count, std::size_t limit, const Has& has) {
  for (std::size_t at = 0; at < count; ++at) {
    const auto row = static_cast<std::size_t>(rows[at]);
    if (row >= limit || !has(row)) detail::refuse_presence(rows[at], limit, true);
  }
}

// Throws invalid_argument, naming a row, unless all rows are below `limit`, has(row) is `present` for each, and none is
// given twice. flip(row) turns has(row) round; all rows are as before in the end.
template <class Has, class Flip>
void require_distinct_rows(const std::int32_t* rows, std::size_t count, std::size_t limit, bool present, const Has& has,
                           const Flip& flip) {
  const auto is_wrong = [&](std::size_t row) { return row >= limit || has(row) != present; };
  std::size_t right = 0;
  for (; right < count && !is_wrong(static_cast<std::size_t>(rows[right])); ++right)
    flip(static_cast<std::size_t>(rows[right]));
  for (std::size_t at = 0; at < right; ++at) flip(static_cast<std::size_t>(rows[at]));
  if (right == count) return;
  if (!is_wrong(static_cast<std::size_t>(rows[right]))) detail::refuse_row(rows[right], "is given twice");
  detail::refuse_presence(rows[right], limit, present);
}

}  // namespace broadphase
