// Which pairs touch, from one step to the next: what began, what goes on, what ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "broadphase/collect.hpp"
#include "broadphase/memory.hpp"

namespace broadphase {

// Two columns of row numbers, first < second.
struct PairColumns {
  const std::int32_t* first = nullptr;
  const std::int32_t* second = nullptr;
  std::size_t count = 0;
};

struct TouchingStep {
  Pairs touching;                    // in lexicographic order, each once
  PlainMemory<std::uint8_t> is_new;  // for each of them
  std::vector<std::int32_t> began_first, began_second, ended_first, ended_second;
};

// What is known of rows since the last step; either may be null.
struct RowChanges {
  const std::uint8_t* changed;  // all its pairs were looked for anew; null: of every row
  const std::uint8_t* renewed;  // it was removed, whether or not something else has its number by now; null: none
};

namespace detail {

// Few numbers at a time, nearly always.
inline void sort_row(std::int32_t* begin, std::int32_t* end) {
  if (end - begin > 32) {
    std::sort(begin, end);
    return;
  }
  for (std::int32_t* at = begin + 1; at < end; ++at) {
    const std::int32_t value = *at;
    std::int32_t* to = at;
    for (; to > begin && to[-1] > value; --to) *to = to[-1];
    *to = value;
  }
}

}  // namespace detail

// `last`: what touched after the last step, in order. `found`: what touches now, of the pairs that were tested, in any
// order, repetitions allowed: all pairs with a changed row, and those of `again`. What was not tested is as it was.
// `again`: pairs of unchanged rows that were tested, in order. Rows are below `rows`. Time O(rows + pairs).
inline TouchingStep next_touching(const PairColumns& last, const PairColumns& found, const PairColumns& again,
                                  const RowChanges& rows_since, std::size_t rows) {
  std::vector<std::uint32_t> end(rows + 1, 0);
  for (std::size_t k = 0; k < found.count; ++k) ++end[static_cast<std::size_t>(found.first[k]) + 1];
  for (std::size_t row = 0; row < rows; ++row) end[row + 1] += end[row];
  const PlainMemory<std::int32_t> partners = allocate_plain<std::int32_t>(found.count + 1);
  // Afterwards end[row] is where the partners of the row end; where they begin, those of the row before do.
  for (std::size_t k = 0; k < found.count; ++k)
    partners.get()[end[static_cast<std::size_t>(found.first[k])]++] = found.second[k];

  TouchingStep step;
  const std::size_t most = found.count + last.count;
  step.touching.block = allocate_pairs(most + 1);
  step.touching.stride = most + 1;
  step.is_new = allocate_plain<std::uint8_t>(most + 1);
  std::int32_t *first = step.touching.block.get(), *second = first + step.touching.stride;
  std::uint8_t* is_new = step.is_new.get();
  std::size_t size = 0, old = 0, retested = 0, at = 0;

  const auto is_renewed = [&](std::int32_t i, std::int32_t j) {
    return rows_since.renewed != nullptr && (rows_since.renewed[i] | rows_since.renewed[j]) != 0;
  };
  const auto was_tested = [&](std::int32_t i, std::int32_t j) {
    if (rows_since.changed == nullptr || (rows_since.changed[i] | rows_since.changed[j]) != 0) return true;
    while (retested < again.count &&
           (again.first[retested] < i || (again.first[retested] == i && again.second[retested] < j)))
      ++retested;
    return retested < again.count && again.first[retested] == i && again.second[retested] == j;
  };
  const auto keep = [&](std::int32_t i, std::int32_t j, bool fresh) {
    first[size] = i;
    second[size] = j;
    is_new[size++] = fresh ? 1 : 0;
    if (fresh) {
      step.began_first.push_back(i);
      step.began_second.push_back(j);
    }
  };
  const auto finish = [&](std::int32_t i, std::int32_t j) {
    step.ended_first.push_back(i);
    step.ended_second.push_back(j);
  };

  for (std::size_t row = 0; row < rows; ++row) {
    const auto i = static_cast<std::int32_t>(row);
    const std::size_t stop = end[row];
    if (stop - at > 1) detail::sort_row(partners.get() + at, partners.get() + stop);
    while (true) {
      const bool has_old = old < last.count && last.first[old] == i;
      if (at == stop && !has_old) break;
      const std::int32_t now = partners.get()[at];
      if (at < stop && (!has_old || now <= last.second[old])) {
        const bool lasts = has_old && now == last.second[old];
        if (lasts) ++old;
        const bool again_new = lasts && is_renewed(i, now);
        if (again_new) finish(i, now);
        keep(i, now, !lasts || again_new);
        do ++at;
        while (at < stop && partners.get()[at] == now);
      } else {
        const std::int32_t j = last.second[old++];
        if (is_renewed(i, j) || was_tested(i, j))
          finish(i, j);
        else
          keep(i, j, false);
      }
    }
  }
  step.touching.size = size;
  return step;
}

}  // namespace broadphase
