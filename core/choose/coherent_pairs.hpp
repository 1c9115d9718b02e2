// Pairs of boxes that move a little from one search to the next.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/read_ahead.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "choose/find.hpp"
#include "choose/reach.hpp"
#include "query/collect.hpp"

namespace broadphase {

// A search by "auto" finds the pairs of boxes that are enlarged by a reach, and keeps a copy of the boxes. As long as
// no box has grown beyond its copy by more than that, no other pair overlaps: the next searches test these. Whether
// that is worth it is seen from a sample of the boxes, which costs next to nothing where it is not. Boxes are tested in
// the order in which the search came upon them, so that near ones lie together in memory.
template <class T>
class CoherentPairs {
 public:
  // All pairs of one set of boxes in open space, if near pairs serve; otherwise the caller searches, and tells how many
  // it has found. With `living`, those rows alone, ascending. Throws TooManyPairs beyond the limit.
  std::optional<Pairs> find(const Problem<T>& problem, std::span<const std::int32_t> living, MethodName method,
                            std::uint64_t limit, const Kernels& kernels, unsigned workers, Interrupt& interrupt) {
    const std::size_t rows = living.empty() ? problem.first.count : living.size();
    if (rows_ != rows || dimension_ != problem.dimension || !std::ranges::equal(living_, living)) {
      *this = CoherentPairs();
      living_.assign(living.begin(), living.end());
      rows_ = rows;
      dimension_ = problem.dimension;
    }
    if (is_kept_) {
      if (look(problem, interrupt) <= reach_) {
        ++uses_;
        return test(now_.get(), problem, limit, workers, interrupt);
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
    // Costs: measured with 2,000 to 150,000 boxes in the plane and in space, of which 0.05 to 4 overlap each.
    const double growth = kMoreThanSampled * sampled_growth(before),
                 reach = Reach::among_all(sampled_extent(), growth, pairs_a_row_, dimension_, false,
                                          {13, 4, 3.5, 3.7, search_of(method)});
    if (!(reach > 0) || !search(problem, static_cast<T>(reach), kernels, workers, interrupt)) {
      note_not_worth();
      return std::nullopt;
    }
    return test(then_.get(), problem, limit, workers, interrupt);
  }

  void note(std::size_t pairs) {
    if (rows_ > 0) pairs_a_row_ = static_cast<double>(pairs) / static_cast<double>(rows_);
  }
  // Searches that near pairs have served since they were found; how many they are.
  int uses() const { return is_kept_ ? uses_ : 0; }
  std::size_t count() const { return first_.size(); }
  std::size_t memory_bytes() const {
    return (living_.capacity() + first_.capacity() + second_.capacity() + row_at_.capacity()) * sizeof(std::int32_t) +
           (then_.size() + now_.size() + sample_.capacity()) * sizeof(T);
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

  std::int32_t row_of(std::size_t k) const { return living_.empty() ? static_cast<std::int32_t>(k) : living_[k]; }

  void take_sample(const Problem<T>& problem) {
    const StratifiedSample some(rows_, std::min(rows_, kSample));
    for (std::size_t k = 0; k < some.size(); ++k) {
      const auto row = static_cast<std::size_t>(row_of(some[k]));
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

  // Copies the boxes to their places, and gives by how much one of them has grown at most.
  T look(const Problem<T>& problem, Interrupt& interrupt) {
    constexpr std::size_t kAhead = 24;
    T most = 0;
    with_dimension(dimension_, [&](auto d) {
      in_stretches(rows_, interrupt, [&](std::size_t begin, std::size_t end) {
        std::array<T, 2 * decltype(d)::value> grown{};  // one for each number: no row waits for the one before
        for (std::size_t place = begin; place < end; ++place) {
          const auto soon = static_cast<std::size_t>(row_at_[std::min(place + kAhead, rows_ - 1)]),
                     row = static_cast<std::size_t>(row_at_[place]);
          read_ahead(problem.first.lower_of(soon));
          read_ahead(problem.first.upper_of(soon));
          const T *then = then_.get() + place * 2 * d(), *lower = problem.first.lower_of(row),
                  *upper = problem.first.upper_of(row);
          T* now = now_.get() + place * 2 * d();
          for (std::size_t axis = 0; axis < d(); ++axis) {
            now[axis] = lower[axis];
            now[d() + axis] = upper[axis];
            // What is infinite and stays so has not grown; a difference of such numbers is no number, and is passed
            // over.
            const T below = then[axis] - lower[axis], above = upper[axis] - then[d() + axis];
            grown[axis] = below > grown[axis] ? below : grown[axis];
            grown[d() + axis] = above > grown[d() + axis] ? above : grown[d() + axis];
          }
        }
        for (const T by : grown) most = std::max(most, by);
      });
    });
    return most * kMore;
  }

  // False if there are too many near pairs.
  bool search(const Problem<T>& problem, T reach, const Kernels& kernels, unsigned workers, Interrupt& interrupt) {
    Problem<T> near = problem;
    near.grow = reach;
    near.touching = true;
    near.filter = nullptr;
    std::vector<T> lower, upper;
    for (const std::int32_t row : living_) {
      const T *low = problem.first.lower_of(static_cast<std::size_t>(row)),
              *high = problem.first.upper_of(static_cast<std::size_t>(row));
      lower.insert(lower.end(), low, low + dimension_);
      upper.insert(upper.end(), high, high + dimension_);
    }
    const auto stride = static_cast<std::ptrdiff_t>(dimension_);
    if (!living_.empty()) near.first = {lower.data(), upper.data(), stride, stride, rows_};
    Pairs found;
    try {
      found = find_pairs(MethodName::automatic, near, kMostNearPairs * rows_, {kernels, workers, interrupt});
    } catch (const TooManyPairs&) {
      return false;
    }
    std::vector<std::int32_t> place_of(rows_, -1);
    row_at_.clear();
    row_at_.reserve(rows_);
    const auto place = [&](std::int32_t row) {
      std::int32_t& at = place_of[static_cast<std::size_t>(row)];
      if (at < 0) {
        at = static_cast<std::int32_t>(row_at_.size());
        row_at_.push_back(row_of(static_cast<std::size_t>(row)));
      }
      return at;
    };
    first_.resize(found.size);
    second_.resize(found.size);
    for (std::size_t k = 0; k < found.size; ++k) {
      first_[k] = place(found.block[k]);
      second_[k] = place(found.block[found.stride + k]);
    }
    for (std::size_t row = 0; row < rows_; ++row) place(static_cast<std::int32_t>(row));
    then_.grow(rows_ * 2 * dimension_);
    now_.grow(rows_ * 2 * dimension_);
    for (std::size_t at = 0; at < rows_; ++at) {
      const auto row = static_cast<std::size_t>(row_at_[at]);
      std::copy_n(problem.first.lower_of(row), dimension_, then_.get() + at * 2 * dimension_);
      std::copy_n(problem.first.upper_of(row), dimension_, then_.get() + (at * 2 + 1) * dimension_);
    }
    reach_ = reach;
    uses_ = 0;
    is_kept_ = true;
    return true;
  }

  // Those of the near pairs that overlap.
  Pairs test(const T* boxes, const Problem<T>& problem, std::uint64_t limit, unsigned workers,
             Interrupt& interrupt) const {
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
        const auto keep = [&](auto is_touching) {
          for (std::size_t k = begin; k < end; ++k) {
            // Written unconditionally, then counted: whether a pair overlaps cannot be predicted.
            first[at] = first_[k];
            second[at] = second_[k];
            at += meet<decltype(d)::value, decltype(is_touching)::value>(
                boxes + static_cast<std::size_t>(first_[k]) * 2 * d(),
                boxes + static_cast<std::size_t>(second_[k]) * 2 * d());
          }
        };
        problem.touching ? keep(std::true_type()) : keep(std::false_type());
      });
      for (std::size_t k = begin; k < at; ++k) {
        first[k] = row_at_[static_cast<std::size_t>(first[k])];
        second[k] = row_at_[static_cast<std::size_t>(second[k])];
      }
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

  // As overlaps(), of valid boxes and without a branch for each axis: 1 or 0.
  template <std::size_t D, bool kTouching>
  static std::size_t meet(const T* a, const T* b) {
    unsigned apart = 0;
    for (std::size_t axis = 0; axis < D; ++axis) {
      const T la = a[axis], ua = a[D + axis], lb = b[axis], ub = b[D + axis];
      if constexpr (kTouching)
        apart |= static_cast<unsigned>(la > ub) | static_cast<unsigned>(lb > ua);
      else
        apart |= static_cast<unsigned>(la >= ub) | static_cast<unsigned>(lb >= ua) | static_cast<unsigned>(la >= ua) |
                 static_cast<unsigned>(lb >= ub);
    }
    return 1 - apart;
  }

  std::size_t rows_ = 0, dimension_ = 0;
  std::vector<std::int32_t> living_;  // rows that are looked at; empty: all
  bool is_kept_ = false;
  std::vector<std::int32_t> first_, second_;  // near pairs, by place; the first has the lower row
  std::vector<std::int32_t> row_at_;          // by place
  PlainArray<T> then_, now_;  // by place, lower corner and upper corner: when the pairs were found, and now
  T reach_ = 0;
  int uses_ = 0, wait_ = 0, patience_ = 1;
  std::vector<T> sample_;  // of the boxes at the last search
  double pairs_a_row_ = -1;
};

}  // namespace broadphase
