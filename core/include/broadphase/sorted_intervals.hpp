// Boxes in the order in which they begin along a direction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "broadphase/box_columns.hpp"
#include "broadphase/problem.hpp"
#include "broadphase/radix_sort.hpp"
#include "broadphase/sweep_direction.hpp"

namespace broadphase {

// The delimiters of the boxes of one set: begins ascending, each with its end, and the boxes in that order. Boxes that
// begin together stay in the order of their rows. Built once, then read-only and so safe to read from any thread.
template <class T>
class SortedIntervals {
 public:
  SortedIntervals() = default;
  // Where boxes are open (not `touching`), those without an interior are left out.
  SortedIntervals(const BoxView<T>& boxes, std::size_t dimension, bool touching, T grow,
                  const SweepDirection& direction, Interrupt& interrupt)
      : dimension_(dimension), direction_(direction) {
    sort(boxes, touching, grow, interrupt);
    order_axes();
    columns_ = BoxColumns<T>(rows_.size(), dimension);
    switch (dimension) {
      case 1: fill(boxes, grow, interrupt, std::make_index_sequence<1>()); break;
      case 2: fill(boxes, grow, interrupt, std::make_index_sequence<2>()); break;
      case 3: fill(boxes, grow, interrupt, std::make_index_sequence<3>()); break;
      default: fill(boxes, grow, interrupt, std::make_index_sequence<4>()); break;
    }
    point_to_columns();
    if (direction.axis < 0) keep_intervals(boxes, grow, interrupt);
  }
  SortedIntervals(const SortedIntervals&) = delete;
  SortedIntervals& operator=(const SortedIntervals&) = delete;

  std::size_t count() const { return rows_.size(); }
  std::size_t dimension() const { return dimension_; }
  const SweepDirection& direction() const { return direction_; }
  const std::int32_t* rows() const { return rows_.data(); }
  const T* begins() const { return direction_.axis < 0 ? begin_.data() : columns_.lower(dimension_ - 1); }
  const T* ends() const { return direction_.axis < 0 ? end_.data() : columns_.upper(dimension_ - 1); }

  // The columns that decide whether boxes overlap whose intervals do: all axes, or all but the one swept along.
  std::size_t tested_axes() const { return direction_.axis < 0 ? dimension_ : dimension_ - 1; }
  const T* const* tested_columns() const { return tested_; }
  // The columns of all axes, in the order of axis().
  const T* const* columns() const { return columns_.pointers(); }
  // The axis of column k: the one swept along comes last.
  std::size_t axis(std::size_t k) const { return axis_[k]; }

  // Of the box at a position, what tested_columns() holds.
  void gather_tested(std::size_t position, T* box) const {
    for (std::size_t k = 0; k < 2 * tested_axes(); ++k) box[k] = tested_[k][position];
  }

 private:
  Interval<T> interval_of(const BoxView<T>& boxes, std::size_t row, T grow) const {
    return interval_along(direction_, boxes.lower_of(row), boxes.upper_of(row), dimension_, grow);
  }

  void sort(const BoxView<T>& boxes, bool touching, T grow, Interrupt& interrupt) {
    RowSorter<T> sorter(boxes.count);
    in_stretches(boxes.count, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        if (touching || has_interior(boxes.lower_of(row), boxes.upper_of(row), dimension_, grow))
          sorter.add(interval_of(boxes, row, grow).begin, static_cast<std::uint32_t>(row));
    });
    sorter.sort(interrupt);
    rows_.resize(sorter.count());
    for (std::size_t k = 0; k < rows_.size(); ++k) rows_[k] = static_cast<std::int32_t>(sorter.row(k));
  }

  void order_axes() {
    std::size_t next = 0;
    for (std::size_t k = 0; k < dimension_; ++k)
      if (static_cast<int>(k) != direction_.axis) axis_[next++] = k;
    if (direction_.axis >= 0) axis_[next] = static_cast<std::size_t>(direction_.axis);
  }

  // Row by row, so that a box is read once from wherever it lies, and without a loop over the axes.
  template <std::size_t... K>
  void fill(const BoxView<T>& boxes, T grow, Interrupt& interrupt, std::index_sequence<K...>) {
    T* const lower[] = {columns_.lower(K)...};
    T* const upper[] = {columns_.upper(K)...};
    const std::size_t axis[] = {axis_[K]...};
    in_stretches(count(), interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t position = begin; position < end; ++position) {
        const auto row = static_cast<std::size_t>(rows_[position]);
        const T *from_lower = boxes.lower_of(row), *from_upper = boxes.upper_of(row);
        ((lower[K][position] = from_lower[axis[K]] - grow, upper[K][position] = from_upper[axis[K]] + grow), ...);
      }
    });
  }

  void keep_intervals(const BoxView<T>& boxes, T grow, Interrupt& interrupt) {
    begin_.reserve(count());
    end_.reserve(count());
    in_stretches(count(), interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t position = begin; position < end; ++position) {
        const auto interval = interval_of(boxes, static_cast<std::size_t>(rows_[position]), grow);
        begin_.push_back(interval.begin);
        end_.push_back(interval.end);
      }
    });
  }

  void point_to_columns() {
    for (std::size_t k = 0; k < tested_axes(); ++k) {
      tested_[k] = columns_.lower(k);
      tested_[tested_axes() + k] = columns_.upper(k);
    }
  }

  std::size_t dimension_ = 0;
  SweepDirection direction_;
  std::vector<std::int32_t> rows_;
  std::size_t axis_[4] = {};
  BoxColumns<T> columns_;
  const T* tested_[8] = {};
  std::vector<T> begin_, end_;  // along a direction that is no axis
};

// The first position at or after `from` whose value is > limit (or >= limit if not `Closed`), in ascending values.
// Looks near `guess` first: neighbours in a sweep have nearly the same answer.
template <bool Closed, class T>
std::size_t end_of_run(const T* values, std::size_t from, std::size_t count, std::size_t guess, T limit) {
  const auto within = [&](std::size_t position) {
    return Closed ? values[position] <= limit : values[position] < limit;
  };
  // Mostly the answer is in a window around the guess: six halvings without a branch that is hard to foretell.
  constexpr std::size_t kWindow = 64;
  if (guess >= from + kWindow / 2 && guess + kWindow / 2 < count) {
    std::size_t low = guess - kWindow / 2;
    if (within(low) && !within(low + kWindow)) {
      for (std::size_t half = kWindow / 2; half > 0; half /= 2) low += half * within(low + half);
      return low + 1;
    }
  }
  guess = std::clamp(guess, from, count);
  std::size_t low = guess, high = guess;  // all before low are within, none from high on
  for (std::size_t step = 1; high < count && within(high); step *= 2) {
    low = high + 1;
    high = std::min(count, high + step);
  }
  if (low == guess)
    for (std::size_t step = 1; low > from && !within(low - 1); step *= 2) {
      high = low - 1;
      low = low - from > step ? low - step : from;
    }
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (within(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace broadphase
