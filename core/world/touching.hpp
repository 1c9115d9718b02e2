// Which pairs touch, from one step to the next: what began, what goes on, what ended.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "query/collect.hpp"

namespace broadphase {

// Two columns of row numbers, first < second.
struct PairColumns {
  const std::int32_t* first = nullptr;
  const std::int32_t* second = nullptr;
  std::size_t count = 0;
};

// What is known of rows since the last step; either may be null.
struct RowChanges {
  const std::uint8_t* changed;  // all its pairs were searched for; null: those of every row
  const std::uint8_t* renewed;  // it was removed, even if the row is in use again; null: none
};

// What touched after a step, in lexicographic order: pair `starts[row]` is the first whose first row is `row` or
// greater.
struct TouchingPairs {
  PairColumns pairs;
  const std::uint32_t* starts;
  std::size_t rows;  // that `starts` knows: one less than its numbers
};

struct TouchingStep {
  bool same = false;  // nothing began or ended; the next two are empty then
  Pairs touching;     // in order, each once
  std::vector<std::uint32_t> starts;
  Pairs began, ended;                  // in order
  std::vector<std::int64_t> began_at;  // where the pairs of `began` are in `touching`
};

namespace detail {

inline void push(Pairs& pairs, std::int32_t i, std::int32_t j) {
  if (pairs.size == pairs.stride) {
    const std::size_t stride = pairs.stride * 2 + 256;
    PairBlock block = allocate_pairs(stride);
    std::copy_n(pairs.block.get(), pairs.size, block.get());
    std::copy_n(pairs.block.get() + pairs.stride, pairs.size, block.get() + stride);
    pairs.block = std::move(block);
    pairs.stride = stride;
  }
  pairs.block[pairs.size] = i;
  pairs.block[pairs.stride + pairs.size++] = j;
}

// Of the first pair that is not less than (i, j).
inline std::size_t place_of(const TouchingPairs& last, std::int32_t i, std::int32_t j) {
  if (static_cast<std::size_t>(i) >= last.rows) return last.pairs.count;
  const std::int32_t *begin = last.pairs.second + last.starts[i], *end = last.pairs.second + last.starts[i + 1];
  constexpr std::ptrdiff_t kMany = 24;
  const std::int32_t* at = begin;
  if (end - begin > kMany)
    at = std::lower_bound(begin, end, j);
  else
    while (at < end && *at < j) ++at;
  return static_cast<std::size_t>(at - last.pairs.second);
}

// The pair (i, j), or `count` of the pairs if it is not there. The pairs of a row are compared four at a time, because
// branches on each could not be foretold.
inline std::size_t find_pair(const TouchingPairs& last, std::int32_t i, std::int32_t j) {
  constexpr std::size_t kStep = 4, kMany = 64;
  const std::size_t none = last.pairs.count;
  if (static_cast<std::size_t>(i) >= last.rows) return none;
  std::size_t at = last.starts[i];
  const std::size_t end = last.starts[i + 1];
  if (end - at <= kMany) {
    for (; at < end && at + kStep <= none; at += kStep) {
      const std::int32_t* second = last.pairs.second + at;
      const auto is = [&](unsigned k) { return static_cast<unsigned>(second[k] == j) << k; };
      const unsigned in_row = (1u << std::min(end - at, kStep)) - 1, same = (is(0) | is(1) | is(2) | is(3)) & in_row;
      if (same != 0) return at + static_cast<std::size_t>(std::countr_zero(same));
    }
    if (at >= end) return none;
  }
  at = place_of(last, i, j);
  return at < end && last.pairs.second[at] == j ? at : none;
}

// Drops repetitions from pairs in order.
inline void make_unique(Pairs& pairs) {
  std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < pairs.size; ++k) {
    if (kept > 0 && first[kept - 1] == first[k] && second[kept - 1] == second[k]) continue;
    first[kept] = first[k];
    second[kept++] = second[k];
  }
  pairs.size = kept;
}

// Puts together what touches: runs of pairs that go on, and between them what began. Numbers of `starts` are those of
// before, and as many more as pairs came and went up to there.
inline void merge(const TouchingPairs& last, const std::vector<std::size_t>& ended_at, std::size_t rows,
                  TouchingStep& step) {
  const PairColumns& old = last.pairs;
  const std::size_t size = old.count - step.ended.size + step.began.size, stride = size + 1;
  step.touching.block = allocate_pairs(stride);
  step.touching.stride = stride;
  step.touching.size = size;
  step.began_at.reserve(step.began.size);
  step.starts.resize(rows + 1);
  std::int32_t *first = step.touching.block.get(), *second = first + stride;
  const std::int32_t *new_first = step.began.block.get(), *new_second = new_first + step.began.stride;
  std::size_t from = 0, to = 0, row = 0;
  // Pairs up to `stop` go on; the rows up to `row_stop` have their pairs begin after as many have come and gone.
  const auto copy_until = [&](std::size_t stop, std::size_t row_stop) {
    const auto shift = static_cast<std::uint32_t>(to - from);  // modulo 2^32
    std::copy(old.first + from, old.first + stop, first + to);
    std::copy(old.second + from, old.second + stop, second + to);
    to += stop - from;
    from = stop;
    for (; row < std::min(row_stop, last.rows + 1); ++row) step.starts[row] = last.starts[row] + shift;
    for (; row < row_stop; ++row) step.starts[row] = static_cast<std::uint32_t>(old.count) + shift;
  };
  std::size_t began = 0, ended = 0;
  while (began < step.began.size || ended < ended_at.size()) {
    std::size_t place = old.count;
    if (began < step.began.size) place = place_of(last, new_first[began], new_second[began]);
    if (ended < ended_at.size() && ended_at[ended] < place) {
      const std::size_t gone = ended_at[ended++];
      copy_until(gone, static_cast<std::size_t>(old.first[gone]) + 1);
      ++from;
    } else {
      copy_until(place, static_cast<std::size_t>(new_first[began]) + 1);
      step.began_at.push_back(static_cast<std::int64_t>(to));
      first[to] = new_first[began];
      second[to++] = new_second[began++];
    }
  }
  copy_until(old.count, rows + 1);
}

}  // namespace detail

// `last`: what touched after the last step. `found`: what touches now, of the pairs that were tested, in any order,
// repetitions allowed: all pairs with a changed row, and those of `again`, pairs of unchanged rows that were tested, in
// order. What was not tested is as it was. Rows are below `rows`.
//
// From one step to the next little begins and little ends, so each pair found is looked up among the last ones of its
// first row, which are few and next to each other; only what is not there must be sorted. Time O(rows + pairs), but for
// sorting what began.
inline TouchingStep next_touching(const TouchingPairs& last, const PairColumns& found, const PairColumns& again,
                                  const RowChanges& since, std::size_t rows, Interrupt& interrupt) {
  const PairColumns& old = last.pairs;
  TouchingStep step;
  std::vector<std::uint8_t> goes_on(old.count + 1, 0);
  const auto is_renewed = [&](std::int32_t i, std::int32_t j) {
    return since.renewed != nullptr && (since.renewed[i] | since.renewed[j]) != 0;
  };
  for (std::size_t k = 0; k < found.count; ++k) {
    const std::int32_t i = found.first[k], j = found.second[k];
    const std::size_t at = detail::find_pair(last, i, j);
    if (at < old.count && !is_renewed(i, j))
      goes_on[at] = 1;
    else
      detail::push(step.began, i, j);
  }
  if (step.began.size > 0) {
    sort_pairs(step.began, rows, 1, interrupt);
    detail::make_unique(step.began);
  }

  std::size_t retested = 0;
  const auto was_tested = [&](std::int32_t i, std::int32_t j) {
    if (since.changed == nullptr || (since.changed[i] | since.changed[j]) != 0) return true;
    while (retested < again.count &&
           (again.first[retested] < i || (again.first[retested] == i && again.second[retested] < j)))
      ++retested;
    return retested < again.count && again.first[retested] == i && again.second[retested] == j;
  };
  std::vector<std::size_t> ended_at;
  for (std::size_t k = 0; k < old.count; ++k) {
    if (goes_on[k] != 0) continue;
    const std::int32_t i = old.first[k], j = old.second[k];
    if (!is_renewed(i, j) && !was_tested(i, j)) continue;
    detail::push(step.ended, i, j);
    ended_at.push_back(k);
  }
  if (step.began.size == 0 && step.ended.size == 0) {
    step.same = true;
    return step;
  }
  detail::merge(last, ended_at, rows, step);
  return step;
}

}  // namespace broadphase
