// Boxes in the order in which they begin along a direction, as they are or rounded.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/plain_vector.hpp"
#include "base/radix_sort.hpp"
#include "base/read_ahead.hpp"
#include "base/samples.hpp"
#include "boxes/box_columns.hpp"
#include "query/problem.hpp"
#include "sweep/sweep_direction.hpp"

namespace broadphase {

using SortedRows = PlainVector<std::int32_t>;

template <class T>
void take_order(const RowSorter<T>& sorter, SortedRows& rows, unsigned workers, Interrupt& interrupt) {
  rows.resize(sorter.count());
  in_stretches_on_threads(rows.size(), workers, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) rows[k] = static_cast<std::int32_t>(sorter.row(k));
  });
}

// Rows in the order in which their boxes begin. Where boxes are open (not `touching`), those without an interior are
// left out.
template <class T>
SortedRows rows_by_begin(const BoxView<T>& boxes, std::size_t dimension, bool touching, T grow,
                         const SweepDirection& direction, Interrupt& interrupt, unsigned workers = 1) {
  RowSorter<T> sorter(boxes.count);
  const auto begin_of = [&](std::size_t row) {
    return std::pair(interval_along(direction, boxes.lower_of(row), boxes.upper_of(row), dimension, grow).begin,
                     static_cast<std::uint32_t>(row));
  };
  if (touching && direction.axis >= 0) {
    sorter.add_all(boxes.count, workers, interrupt, [&](std::size_t row) {
      return std::pair(boxes.lower_of(row)[direction.axis] - grow, static_cast<std::uint32_t>(row));
    });
  } else if (touching) {
    sorter.add_all(boxes.count, workers, interrupt, begin_of);
  } else {
    in_stretches(boxes.count, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        if (has_interior(boxes.lower_of(row), boxes.upper_of(row), dimension, grow))
          sorter.add(begin_of(row).first, static_cast<std::uint32_t>(row));
    });
  }
  sorter.sort(interrupt, workers);
  SortedRows rows;
  take_order(sorter, rows, workers, interrupt);
  return rows;
}

// The delimiters of the boxes of one set: begins ascending, each with its end, and the boxes in that order. Boxes that
// begin together stay in the order of their rows. Everything const is safe to call from any thread.
template <class T>
class SortedIntervals {
 public:
  SortedIntervals() = default;
  SortedIntervals(const BoxView<T>& boxes, std::size_t dimension, bool touching, T grow,
                  const SweepDirection& direction, Interrupt& interrupt)
      : SortedIntervals(boxes, rows_by_begin(boxes, dimension, touching, grow, direction, interrupt), dimension, grow,
                        direction, interrupt) {}
  // With the rows in the order of rows_by_begin.
  SortedIntervals(const BoxView<T>& boxes, SortedRows&& rows, std::size_t dimension, T grow,
                  const SweepDirection& direction, Interrupt& interrupt, unsigned workers = 1)
      : SortedIntervals(std::move(rows), dimension, direction) {
    grow_ = grow;
    fill(boxes, 0, count(), workers, interrupt);
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
  // False for a box without an interior, which overlaps nothing where boxes are open.
  bool solid(std::size_t position) const {
    bool result = true;
    for (std::size_t k = 0; k < dimension_; ++k) result &= columns_.lower(k)[position] < columns_.upper(k)[position];
    return result;
  }

 protected:
  explicit SortedIntervals(std::size_t dimension) : dimension_(dimension) {}
  // With room for the boxes of these rows.
  SortedIntervals(SortedRows&& rows, std::size_t dimension, const SweepDirection& direction)
      : dimension_(dimension), rows_(std::move(rows)) {
    sweep_along(direction);
    make_room(count());
  }

  Interval<T> interval_of(const BoxView<T>& boxes, std::size_t row) const {
    return interval_along(direction_, boxes.lower_of(row), boxes.upper_of(row), dimension_, grow_);
  }
  T* begins() { return direction_.axis < 0 ? begin_.data() : columns_.lower(dimension_ - 1); }

  void sweep_along(const SweepDirection& direction) {
    direction_ = direction;
    std::size_t next = 0;
    for (std::size_t k = 0; k < dimension_; ++k)
      if (static_cast<int>(k) != direction_.axis) axis_[next++] = k;
    if (direction_.axis >= 0) axis_[next] = static_cast<std::size_t>(direction_.axis);
    make_room(capacity_);
  }

  // For so many boxes; keeps nothing of what was there if it has to grow.
  void make_room(std::size_t count) {
    if (count > capacity_) {
      columns_ = BoxColumns<T>(count, dimension_);
      capacity_ = count;
    }
    if (direction_.axis < 0 && begin_.size() < capacity_) {
      begin_.resize(capacity_);
      end_.resize(capacity_);
    }
    for (std::size_t k = 0; k < tested_axes(); ++k) {
      tested_[k] = columns_.lower(k);
      tested_[tested_axes() + k] = columns_.upper(k);
    }
  }

  // Writes what belongs to positions [begin, end), by their rows.
  void fill(const BoxView<T>& boxes, std::size_t begin, std::size_t end, unsigned workers, Interrupt& interrupt) {
    const auto as_given = [](T x, std::size_t) { return x; };
    in_stretches_on_threads(end - begin, workers, interrupt, [&](std::size_t from, std::size_t to) {
      fill_columns(boxes, begin + from, begin + to, grow_, as_given);
      for (std::size_t position = begin + from; direction_.axis < 0 && position < begin + to; ++position) {
        const auto interval = interval_of(boxes, static_cast<std::size_t>(rows_[position]));
        begin_[position] = interval.begin;
        end_[position] = interval.end;
      }
    });
  }

  // With place(x, axis) for each number x of the grown boxes.
  template <class S, class Place>
  void fill_columns(const BoxView<S>& boxes, std::size_t begin, std::size_t end, S grow, const Place& place) {
    switch (dimension_) {
      case 1: fill_columns(boxes, begin, end, grow, place, std::make_index_sequence<1>()); break;
      case 2: fill_columns(boxes, begin, end, grow, place, std::make_index_sequence<2>()); break;
      case 3: fill_columns(boxes, begin, end, grow, place, std::make_index_sequence<3>()); break;
      default: fill_columns(boxes, begin, end, grow, place, std::make_index_sequence<4>()); break;
    }
  }

  std::size_t dimension_ = 0;
  T grow_ = 0;
  SweepDirection direction_;
  SortedRows rows_;
  std::size_t axis_[4] = {};
  std::size_t capacity_ = 0;
  BoxColumns<T> columns_;
  const T* tested_[8] = {};
  std::vector<T> begin_, end_;  // along a direction that is no axis

 private:
  // Row by row, so that a box is read once from wherever it lies, and without a loop over the axes.
  template <class S, class Place, std::size_t... K>
  void fill_columns(const BoxView<S>& boxes, std::size_t begin, std::size_t end, S grow, const Place& place,
                    std::index_sequence<K...>) {
    T* const lower[] = {columns_.lower(K)...};
    T* const upper[] = {columns_.upper(K)...};
    const std::size_t axis[] = {axis_[K]...};
    for (std::size_t position = begin; position < end; ++position) {
      const auto row = static_cast<std::size_t>(rows_[position]),
                 soon = static_cast<std::size_t>(rows_[std::min(position + kRowsAhead, end - 1)]);
      read_ahead(boxes.lower_of(soon));
      read_ahead(boxes.upper_of(soon));
      const S *from_lower = boxes.lower_of(row), *from_upper = boxes.upper_of(row);
      ((lower[K][position] = place(from_lower[axis[K]] - grow, axis[K]),
        upper[K][position] = place(from_upper[axis[K]] + grow, axis[K])),
       ...);
    }
  }
};

// The first position at or after `from` whose value is > limit (or >= limit if not `Closed`), in ascending values.
// Looks near `guess` first: neighbours in a sweep have nearly the same answer.
template <bool Closed, class T>
std::size_t end_of_run(const T* values, std::size_t from, std::size_t count, std::size_t guess, T limit) {
  const auto within = [&](std::size_t position) {
    return Closed ? values[position] <= limit : values[position] < limit;
  };
  // Mostly the answer is in a window around the guess: six halvings without a branch that is hard to predict.
  constexpr std::size_t kWindow = 64;
  if (guess >= from + kWindow / 2 && guess + kWindow / 2 < count) {
    std::size_t low = guess - kWindow / 2;
    if (within(low) && !within(low + kWindow)) {
      for (std::size_t half = kWindow / 2; half > 0; half /= 2) low += half * within(low + half);
      return low + 1;
    }
  }
  // Elsewhere in a stretch between steps that grow quickly, by halvings: each step may be a wrong guess of a branch.
  constexpr std::size_t kGrowth = 8;
  guess = std::clamp(guess, from, count);
  std::size_t low = guess, high = guess;  // all before low are within, none from high on
  for (std::size_t step = kWindow; high < count && within(high); step *= kGrowth) {
    low = high + 1;
    high = count - low > step ? low + step : count;
  }
  if (low == guess)
    for (std::size_t step = kWindow; low > from && !within(low - 1); step *= kGrowth) {
      high = low - 1;
      low = high - from > step ? high - step : from;
    }
  for (std::size_t length = high - low; length > 0;) {
    const std::size_t half = (length + 1) / 2;
    low += half * static_cast<std::size_t>(within(low + half - 1));
    length -= half;
  }
  return low;
}

// A place among the boxes, finite: a median of some of their lower corners.
inline std::array<double, 4> place_among(const BoxView<double>& boxes, std::size_t dimension) {
  const std::vector<std::size_t> rows = sample_rows(boxes.count, 15);
  std::array<double, 4> place{};
  std::vector<double> numbers(rows.size());
  for (std::size_t k = 0; k < dimension && !rows.empty(); ++k) {
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const double corner = boxes.lower_of(rows[at])[k];
      numbers[at] = std::isfinite(corner) ? corner : 0;
    }
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    std::nth_element(numbers.begin(), middle, numbers.end());
    place[k] = *middle;
  }
  return place;
}

// Half the memory of doubles, and twice as many in a vector. Each number is measured from a place among them and
// rounded. Both steps keep the order: x <= y gives round(x - place) <= round(y - place), infinite or not. So boxes that
// overlap do so here as closed boxes. Of two numbers that are compared, doubles are in the same order as the floats if
// those differ; if they are equal, the given boxes decide.
class RoundedIntervals : public SortedIntervals<float> {
 public:
  // Along an axis, with the rows in the order of rows_by_begin; from one place for two sets that are compared.
  RoundedIntervals(const BoxView<double>& boxes, SortedRows&& rows, std::size_t dimension, double grow,
                   const SweepDirection& direction, const std::array<double, 4>& place, Interrupt& interrupt)
      : SortedIntervals(std::move(rows), dimension, direction) {
    const auto rounded = [&place](double x, std::size_t axis) { return static_cast<float>(x - place[axis]); };
    in_stretches(count(), interrupt,
                 [&](std::size_t begin, std::size_t end) { fill_columns(boxes, begin, end, grow, rounded); });
  }

  // What is left has no boxes.
  SortedRows take_rows() { return std::move(rows_); }
};

// What a sweep over rounded numbers would find, by some of the boxes.
class RoundingTrial {
 public:
  // Boxes against others that begin within them. Rows in the order of rows_by_begin; one and the same for one set.
  void add(const BoxView<double>& boxes, const SortedRows& rows, const BoxView<double>& others,
           const SortedRows& other_rows, const Problem<double>& problem, std::size_t axis,
           const std::array<double, 4>& place) {
    constexpr std::size_t kTested = 8;
    const auto begin_of = [&](std::int32_t row) {
      return others.lower_of(static_cast<std::size_t>(row))[axis] - problem.grow;
    };
    const StratifiedSample sample(rows.size(), std::clamp<std::size_t>(rows.size() / 32, 16, 64));
    for (std::size_t k = 0; k < sample.size(); ++k) {
      const auto row = static_cast<std::size_t>(rows[sample[k]]);
      const double begin = boxes.lower_of(row)[axis] - problem.grow, end = boxes.upper_of(row)[axis] + problem.grow;
      const auto first = problem.cross
                             ? std::partition_point(other_rows.begin(), other_rows.end(),
                                                    [&](std::int32_t other) { return begin_of(other) < begin; })
                             : other_rows.begin() + static_cast<std::ptrdiff_t>(sample[k] + 1);
      const auto last =
          std::partition_point(first, other_rows.end(), [&](std::int32_t other) { return begin_of(other) <= end; });
      const StratifiedSample run(static_cast<std::size_t>(last - first), kTested);
      const auto candidates = static_cast<double>(last - first);
      // Each of them stands for as many.
      for (std::size_t at = 0; at < run.size(); ++at)
        test(boxes, row, others, static_cast<std::size_t>(first[static_cast<std::ptrdiff_t>(run[at])]), problem, place,
             candidates / static_cast<double>(run.size()));
      boxes_ += 1;
      flat_ += becomes_flat(boxes.lower_of(row), boxes.upper_of(row), problem.dimension, place);
      candidates_ += candidates;
    }
  }

  // A test takes half as long. What overlaps is searched for equal numbers, and decided by the given boxes if there are
  // some: in the time of so many tests. Short runs cost little in any case. Where boxes become flat, far more of them
  // overlap.
  bool is_worth_it() const {
    constexpr double kLong = 48, kTestsOfPair = 48, kTestsOfDecided = 128;
    return candidates_ > kLong * boxes_ && 8 * flat_ <= boxes_ &&
           kTestsOfPair * overlapping_ + kTestsOfDecided * equal_ <= candidates_;
  }

 private:
  static bool becomes_flat(const double* lower, const double* upper, std::size_t dimension,
                           const std::array<double, 4>& place) {
    bool flat = false;
    for (std::size_t k = 0; k < dimension; ++k)
      flat |= lower[k] < upper[k] && static_cast<float>(lower[k] - place[k]) == static_cast<float>(upper[k] - place[k]);
    return flat;
  }
  void test(const BoxView<double>& boxes, std::size_t row, const BoxView<double>& others, std::size_t other,
            const Problem<double>& problem, const std::array<double, 4>& place, double weight) {
    const double *lower = boxes.lower_of(row), *upper = boxes.upper_of(row);
    const double *other_lower = others.lower_of(other), *other_upper = others.upper_of(other);
    bool overlap = true, equal = false;
    for (std::size_t k = 0; k < problem.dimension; ++k) {
      const auto low = [&](const double* of) { return static_cast<float>(of[k] - problem.grow - place[k]); };
      const auto high = [&](const double* of) { return static_cast<float>(of[k] + problem.grow - place[k]); };
      overlap &= low(lower) <= high(other_upper) && low(other_lower) <= high(upper);
      equal |= low(lower) == high(other_upper) || low(other_lower) == high(upper);
    }
    if (!overlap) return;
    overlapping_ += weight;
    if (equal) equal_ += weight;
  }

  double boxes_ = 0, flat_ = 0, candidates_ = 0, overlapping_ = 0, equal_ = 0;
};

}  // namespace broadphase
