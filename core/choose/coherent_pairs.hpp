// Pairs of boxes that move a little from one search to the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/even_sample.hpp"
#include "base/with_dimension.hpp"
#include "choose/find.hpp"
#include "choose/reach.hpp"
#include "query/collect.hpp"

namespace broadphase {

// A search finds the pairs of boxes that are enlarged by a reach, and keeps a copy of the boxes. As long as no box has
// grown beyond its copy by more than that, no other pair overlaps: the next searches test these. Whether that is worth
// it is seen from a sample of the boxes, which costs next to nothing where it is not.
template <class T>
class CoherentPairs {
 public:
  // All pairs of one set of boxes in open space, if near pairs serve; otherwise the caller searches, and tells how many
  // it has found. Throws TooManyPairs beyond the limit.
  std::optional<Pairs> find(const Problem<T>& problem, MethodName method, std::uint64_t limit, const Kernels& kernels,
                            unsigned workers, Interrupt& interrupt) {
    if (rows_ != problem.first.count || dimension_ != problem.dimension) {
      *this = CoherentPairs();
      rows_ = problem.first.count;
      dimension_ = problem.dimension;
    }
    if (is_kept_) {
      if (growth_since(problem, interrupt) <= reach_) {
        ++uses_;
        return test(problem, limit, workers, interrupt);
      }
      forget();
    }
    if (wait_ > 0) {
      --wait_;
      sample_.clear();
      return std::nullopt;
    }
    std::vector<T> before = std::move(sample_);
    take_sample(problem);
    if (before.empty() || pairs_a_row_ < 0) return std::nullopt;
    const double growth = kMoreThanSampled * sampled_growth(before),
                 reach = Reach::among_all(sampled_extent(), growth, pairs_a_row_, dimension_, false);
    if (!(reach > 0) || !search(problem, static_cast<T>(reach), method, kernels, workers, interrupt)) {
      note_not_worth();
      return std::nullopt;
    }
    return test(problem, limit, workers, interrupt);
  }

  void note(std::size_t pairs) {
    if (rows_ > 0) pairs_a_row_ = static_cast<double>(pairs) / static_cast<double>(rows_);
  }
  // Searches that near pairs have served since they were found.
  int uses() const { return is_kept_ ? uses_ : 0; }
  std::size_t memory_bytes() const {
    return (first_.capacity() + second_.capacity()) * sizeof(std::int32_t) +
           (then_.capacity() + sample_.capacity()) * sizeof(T);
  }

 private:
  // Of all boxes, some may move by more than those of the sample.
  static constexpr double kMoreThanSampled = 1.25;
  static constexpr int kMostPatience = 64;
  static constexpr std::size_t kSample = 512;
  // More than rounding takes from a difference.
  static constexpr T kMore = 1 + 16 * std::numeric_limits<T>::epsilon();

  void note_not_worth() {
    wait_ = patience_;
    patience_ = std::min(2 * patience_, kMostPatience);
  }
  void forget() {
    is_kept_ = false;
    first_.clear();
    second_.clear();
    if (uses_ < Reach::kFewestUses)
      note_not_worth();
    else
      patience_ = 1;
  }

  void take_sample(const Problem<T>& problem) {
    const EvenSample some(rows_, std::min(rows_, kSample));
    for (std::size_t k = 0; k < some.size(); ++k) {
      const std::size_t row = some[k];
      sample_.insert(sample_.end(), problem.first.lower_of(row), problem.first.lower_of(row) + dimension_);
      sample_.insert(sample_.end(), problem.first.upper_of(row), problem.first.upper_of(row) + dimension_);
    }
  }
  double sampled_growth(const std::vector<T>& before) const {
    T most = 0;
    for (std::size_t at = 0; at < before.size(); at += 2 * dimension_)
      most = std::max(most, grown(before.data() + at, sample_.data() + at, sample_.data() + at + dimension_));
    return static_cast<double>(most);
  }
  double sampled_extent() const {
    std::vector<double> extents;
    for (std::size_t at = 0; at < sample_.size(); at += 2 * dimension_) {
      double extent = 0;
      for (std::size_t axis = at; axis < at + dimension_; ++axis)
        extent = std::max(extent, static_cast<double>(sample_[axis + dimension_]) - static_cast<double>(sample_[axis]));
      extents.push_back(extent);
    }
    return usual_extent(extents);
  }

  // By how much a box reaches beyond what it was, lower and upper corner.
  T grown(const T* then, const T* lower, const T* upper) const {
    T most = 0;
    for (std::size_t axis = 0; axis < dimension_; ++axis) {
      const T low = then[axis], high = then[dimension_ + axis];
      if (lower[axis] < low) most = std::max(most, low - lower[axis]);
      if (upper[axis] > high) most = std::max(most, upper[axis] - high);
    }
    return most;
  }
  T growth_since(const Problem<T>& problem, Interrupt& interrupt) const {
    T most = 0;
    with_dimension(dimension_, [&](auto d) {
      in_stretches(rows_, interrupt, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
          const T *then = then_.data() + row * 2 * d(), *lower = problem.first.lower_of(row),
                  *upper = problem.first.upper_of(row);
          for (std::size_t axis = 0; axis < d(); ++axis) {
            // What is infinite and stays so has not grown; a difference of such numbers is no number, and is passed
            // over.
            const T below = then[axis] - lower[axis], above = upper[axis] - then[d() + axis];
            most = below > most ? below : most;
            most = above > most ? above : most;
          }
        }
      });
    });
    return most * kMore;
  }

  // False if there are too many near pairs.
  bool search(const Problem<T>& problem, T reach, MethodName method, const Kernels& kernels, unsigned workers,
              Interrupt& interrupt) {
    Problem<T> near = problem;
    near.grow = reach;
    near.touching = true;
    near.filter = nullptr;
    Pairs found;
    try {
      found = with_method(method, near, {kernels, workers, interrupt},
                          [&](const MethodCalls<T>& calls, const Preparation& with) {
                            return calls.collect(near, kMostNearPairs * rows_, with);
                          });
    } catch (const TooManyPairs&) {
      return false;
    }
    first_.assign(found.block.get(), found.block.get() + found.size);
    second_.assign(found.block.get() + found.stride, found.block.get() + found.stride + found.size);
    then_.resize(rows_ * 2 * dimension_);
    for (std::size_t row = 0; row < rows_; ++row) {
      std::copy_n(problem.first.lower_of(row), dimension_, then_.data() + row * 2 * dimension_);
      std::copy_n(problem.first.upper_of(row), dimension_, then_.data() + (row * 2 + 1) * dimension_);
    }
    reach_ = reach;
    uses_ = 0;
    is_kept_ = true;
    return true;
  }

  // Those of the near pairs that overlap.
  Pairs test(const Problem<T>& problem, std::uint64_t limit, unsigned workers, Interrupt& interrupt) const {
    constexpr std::size_t kPairsATask = std::size_t{1} << 15;
    const std::size_t count = first_.size(), tasks = (count + kPairsATask - 1) / kPairsATask;
    Pairs pairs;
    pairs.stride = std::max<std::size_t>(count, 1);
    pairs.block = allocate_pairs(pairs.stride);
    std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
    std::vector<std::size_t> sizes(tasks);
    for_each_task(tasks, workers, interrupt, [&](unsigned, std::size_t task) {
      const std::size_t begin = task * kPairsATask, end = std::min(count, begin + kPairsATask);
      std::size_t at = begin;
      with_dimension(dimension_, [&](auto d) {
        for (std::size_t k = begin; k < end; ++k) {
          const auto i = static_cast<std::size_t>(first_[k]), j = static_cast<std::size_t>(second_[k]);
          // Written unconditionally, then counted: whether a pair overlaps cannot be predicted.
          first[at] = first_[k];
          second[at] = second_[k];
          at += overlaps(problem.first.lower_of(i), problem.first.upper_of(i), problem.first.lower_of(j),
                         problem.first.upper_of(j), d(), problem.touching, T(0))
                    ? 1
                    : 0;
        }
      });
      if (problem.filter != nullptr) at = begin + problem.filter->compact(first + begin, second + begin, at - begin);
      sizes[task] = at - begin;
    });
    for (std::size_t task = 0; task < tasks; ++task) {
      if (pairs.size < task * kPairsATask) {
        std::copy_n(first + task * kPairsATask, sizes[task], first + pairs.size);
        std::copy_n(second + task * kPairsATask, sizes[task], second + pairs.size);
      }
      pairs.size += sizes[task];
    }
    if (pairs.size > limit) throw TooManyPairs();
    return pairs;
  }

  std::size_t rows_ = 0, dimension_ = 0;
  bool is_kept_ = false;
  std::vector<std::int32_t> first_, second_;  // near pairs
  std::vector<T> then_;                       // the boxes when they were found: lower corner, upper corner
  T reach_ = 0;
  int uses_ = 0, wait_ = 0, patience_ = 1;
  std::vector<T> sample_;  // of the boxes at the last search
  double pairs_a_row_ = -1;
};

}  // namespace broadphase
