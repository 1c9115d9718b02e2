// Boxes sorted along a direction; only those whose intervals overlap there are compared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "query/method.hpp"
#include "query/preparation.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"
#include "sweep/interval_pairs.hpp"
#include "sweep/interval_sweep.hpp"
#include "sweep/sorted_intervals.hpp"

namespace broadphase {

// The rows of one set or of two, each in the order of rows_by_begin.
struct SweptRows {
  SortedRows first, second;
};

// Along an axis, for 500 boxes or more: of fewer a trial would take longer than what it saves. Along two axes a test
// takes little longer than the search for equal numbers.
inline bool may_be_worth_rounding(const Problem<double>& problem, const SweptRows& rows,
                                  const SweepDirection& direction) {
  return direction.axis >= 0 && problem.dimension >= 3 && rows.first.size() + rows.second.size() >= 500;
}

// By a sample.
inline bool is_worth_rounding(const Problem<double>& problem, const SweptRows& rows, std::size_t axis,
                              const std::array<double, 4>& place) {
  RoundingTrial trial;
  if (problem.cross) {
    trial.add(problem.first, rows.first, problem.second, rows.second, problem, axis, place);
    trial.add(problem.second, rows.second, problem.first, rows.first, problem, axis, place);
  } else {
    trial.add(problem.first, rows.first, problem.first, rows.first, problem, axis, place);
  }
  return trial.is_worth_it();
}

// The sorted boxes of one set, or of two. What follows the rows is for the constructor of the intervals.
template <class Intervals>
struct SweptSets {
  Intervals first;
  std::unique_ptr<Intervals> second;

  template <class T, class... Rest>
  SweptSets(const Problem<T>& problem, SweptRows&& rows, Rest&&... rest)
      : first(problem.first, std::move(rows.first), problem.dimension, problem.grow, rest...) {
    if (problem.cross)
      second =
          std::make_unique<Intervals>(problem.second, std::move(rows.second), problem.dimension, problem.grow, rest...);
  }
};

// A sweep over rounded doubles. The problem must outlive it.
struct RoundedSweep : SweptSets<RoundedIntervals> {
  IntervalSweep<float, double> sweep;

  using SweptSets::SweptSets;
  SweptRows take_rows() { return {first.take_rows(), second ? second->take_rows() : SortedRows()}; }
};

// Time O(n log n + candidates); a quarter of a byte a box besides the sorted columns. Doubles are swept as floats where
// that is quicker: see RoundedIntervals. Along a single axis there is nothing to test: see IntervalPairs.
template <class T>
class SweepAndPrune {
 public:
  using Scratch = SweepScratch<T>;

  // Along the axis where the fewest intervals overlap. Boxes of one axis are checked in a pass that is made anyway.
  SweepAndPrune(const Problem<T>& problem, const Preparation& with)
      : SweepAndPrune(problem.dimension > 1 ? checked(problem, with) : problem, with,
                      with.axis < 0 ? best_axis(problem) : SweepDirection{with.axis, {}}) {}
  // Precondition: boxes of more than one axis are valid.
  SweepAndPrune(const Problem<T>& problem, const Preparation& with, const SweepDirection& direction);

  // Over boxes that are sorted already, as closed ones: see prepare().
  SweepAndPrune(const SortedIntervals<T>& sorted, const Kernels& kernels, Interrupt interrupt = Interrupt()) {
    prepare(sorted, nullptr, kernels, true, interrupt);
  }
  SweepAndPrune() = default;

  SweepAndPrune(const SweepAndPrune&) = delete;
  SweepAndPrune& operator=(const SweepAndPrune&) = delete;

  // Over boxes that are sorted already, closed or not; two sets along the same direction. They must outlive this.
  // Reuses the memory of what was prepared before.
  void prepare(const SortedIntervals<T>& first, const SortedIntervals<T>* second, const Kernels& kernels, bool touching,
               Interrupt& interrupt);

  std::size_t bytes() const {
    return of_sweep([](const auto& sweep) { return sweep.bytes(); });
  }
  const SweepDirection& direction() const {
    return *of_sweep([](const auto& sweep) { return &sweep.direction(); });
  }
  std::uint64_t candidate_count() const;
  bool tests_blocks() const {
    return of_sweep([](const auto& sweep) { return sweep.tests_blocks(); });
  }
  std::size_t task_count() const {
    return of_sweep([](const auto& sweep) { return sweep.task_count(); });
  }
  void run(std::size_t number, Scratch& scratch, PairBuffer& out) const;

 private:
  static constexpr bool kMayRound = std::is_same_v<T, double>;

  using Own = SweptSets<SortedIntervals<T>>;

  SortedRows rows_of(const BoxView<T>& boxes, const SweepDirection& direction, const Preparation& with) const {
    return rows_by_begin(boxes, problem_.dimension, problem_.touching, problem_.grow, direction, with.interrupt,
                         with.workers);
  }
  template <class Use>
  decltype(auto) of_sweep(Use&& use) const {
    if (whole_) return use(*whole_);
    if (intervals_) return use(*intervals_);
    if constexpr (kMayRound)
      if (rounded_) return use(rounded_->sweep);
    return use(sweep_);
  }

  Problem<T> problem_;
  std::unique_ptr<Own> own_;               // null: the boxes are not sorted here
  std::unique_ptr<RoundedSweep> rounded_;  // null: the numbers are not rounded
  // Of one axis; whole: doubles that are all int32.
  std::unique_ptr<IntervalPairs<T>> intervals_;
  std::unique_ptr<IntervalPairs<std::int32_t>> whole_;
  IntervalSweep<T, T> sweep_;
};

template <class T>
SweepAndPrune<T>::SweepAndPrune(const Problem<T>& problem, const Preparation& with, const SweepDirection& direction)
    : problem_(problem) {
  const Kernels& kernels = with.kernels;
  Interrupt& interrupt = with.interrupt;
  if (problem.dimension == 1 && direction.axis >= 0) {
    if constexpr (kMayRound)
      if (problem.grow == 0) {
        const KeyedIntervals<T> own{problem.first, nullptr},
            other{problem.cross ? problem.second : BoxView<T>{}, nullptr};
        whole_ = std::make_unique<IntervalPairs<std::int32_t>>(own, other, problem.cross, 1, problem.touching, 0,
                                                               with.workers, interrupt);
        if (whole_->is_exact()) return;
        whole_.reset();
      }
    intervals_ = std::make_unique<IntervalPairs<T>>(problem, with.workers, interrupt);
    return;
  }
  SweptRows rows{rows_of(problem.first, direction, with), {}};
  if (problem.cross) rows.second = rows_of(problem.second, direction, with);
  if constexpr (kMayRound)
    if (may_be_worth_rounding(problem, rows, direction)) {
      const std::array<double, 4> place = place_among(problem.first, problem.dimension);
      if (is_worth_rounding(problem, rows, static_cast<std::size_t>(direction.axis), place)) {
        rounded_ = std::make_unique<RoundedSweep>(problem_, std::move(rows), direction, place, interrupt);
        if (rounded_->sweep.prepare(rounded_->first, rounded_->second.get(), problem_, kernels, interrupt)) return;
        rows = rounded_->take_rows();
        rounded_.reset();
      }
    }
  own_ = std::make_unique<Own>(problem_, std::move(rows), direction, interrupt, with.workers);
  sweep_.prepare(own_->first, own_->second.get(), kernels, problem.touching, interrupt);
}

template <class T>
void SweepAndPrune<T>::prepare(const SortedIntervals<T>& first, const SortedIntervals<T>* second,
                               const Kernels& kernels, bool touching, Interrupt& interrupt) {
  sweep_.prepare(first, second, kernels, touching, interrupt);
}

template <class T>
std::uint64_t SweepAndPrune<T>::candidate_count() const {
  return of_sweep([](const auto& sweep) { return sweep.candidate_count(); });
}

template <class T>
void SweepAndPrune<T>::run(std::size_t number, Scratch& scratch, PairBuffer& out) const {
  of_sweep([&](const auto& sweep) { sweep.run(number, scratch, out); });
}

// Compiled once: sweep.cpp.
extern template class SweepAndPrune<float>;
extern template class SweepAndPrune<double>;

}  // namespace broadphase
