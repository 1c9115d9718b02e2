// Doubles in the order in which they begin, as floats.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/even_sample.hpp"
#include "sweep/sorted_intervals.hpp"

namespace broadphase {

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
// those differ; if they are equal, the boxes themselves must be asked.
class RoundedIntervals : public SortedIntervals<float> {
 public:
  // Along an axis, with the rows in the order of rows_by_begin; from one place for two sets that are compared.
  RoundedIntervals(const BoxView<double>& boxes, std::vector<std::int32_t>&& rows, std::size_t dimension, double grow,
                   const SweepDirection& direction, const std::array<double, 4>& place, Interrupt& interrupt)
      : SortedIntervals(std::move(rows), dimension, direction) {
    const auto rounded = [&place](double x, std::size_t axis) { return static_cast<float>(x - place[axis]); };
    in_stretches(count(), interrupt,
                 [&](std::size_t begin, std::size_t end) { fill_columns(boxes, begin, end, grow, rounded); });
  }

  // What is left has no boxes.
  std::vector<std::int32_t> take_rows() { return std::move(rows_); }
};

// What a sweep over rounded numbers would find, by some of the boxes.
class RoundingTrial {
 public:
  // Boxes against others that begin within them. Rows in the order of rows_by_begin; one and the same for one set.
  void add(const BoxView<double>& boxes, const std::vector<std::int32_t>& rows, const BoxView<double>& others,
           const std::vector<std::int32_t>& other_rows, const Problem<double>& problem, std::size_t axis,
           const std::array<double, 4>& place) {
    constexpr std::size_t kTested = 8;
    const auto begin_of = [&](std::int32_t row) {
      return others.lower_of(static_cast<std::size_t>(row))[axis] - problem.grow;
    };
    const EvenSample sample(rows.size(), std::clamp<std::size_t>(rows.size() / 32, 16, 64));
    for (std::size_t k = 0; k < sample.size(); ++k) {
      const auto row = static_cast<std::size_t>(rows[sample[k]]);
      const double begin = boxes.lower_of(row)[axis] - problem.grow, end = boxes.upper_of(row)[axis] + problem.grow;
      const auto first = problem.cross
                             ? std::partition_point(other_rows.begin(), other_rows.end(),
                                                    [&](std::int32_t other) { return begin_of(other) < begin; })
                             : other_rows.begin() + static_cast<std::ptrdiff_t>(sample[k] + 1);
      const auto last =
          std::partition_point(first, other_rows.end(), [&](std::int32_t other) { return begin_of(other) <= end; });
      const EvenSample run(static_cast<std::size_t>(last - first), kTested);
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

  // A test takes half as long. What overlaps is searched for equal numbers, and asked if there are some: in the time of
  // so many tests. Short runs cost little in any case. Where boxes become flat, far more of them overlap.
  bool is_worth_it() const {
    constexpr double kLong = 48, kTestsOfPair = 48, kTestsOfAsked = 128;
    return candidates_ > kLong * boxes_ && 8 * flat_ <= boxes_ &&
           kTestsOfPair * overlapping_ + kTestsOfAsked * equal_ <= candidates_;
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
