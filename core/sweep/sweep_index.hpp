// Sweep and prune as an index: boxes are inserted, removed and moved, and are sorted starting from the order they had.
// It also finds the boxes that overlap one of them, or a box of the caller's, without going through all pairs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/forks.hpp"
#include "base/samples.hpp"
#include "query/collect.hpp"
#include "simd/kernels.hpp"
#include "sweep/coherent_intervals.hpp"
#include "sweep/sorted_intervals.hpp"
#include "sweep/sweep_and_prune.hpp"
#include "sweep/sweep_direction.hpp"

namespace broadphase {

// A place that no interval covers: from the end of the last one before it to the begin of the next.
template <class T>
struct VoidBorder {
  T end, begin;
};

// Overlap queries on closed boxes that are sorted. Everything const is safe to call from many threads at once.
//
// Intervals that begin within the queried one are a run, found by binary search. Those that begin before may reach
// into it; no earlier one does than the first block where the furthest end so far reaches it, and that is never before
// the block with a void border, as the furthest end so far does not reach over one. In between, blocks of boxes that
// all end too early are passed over: a single long box in front costs no more than that.
template <class T>
class Interference {
 public:
  using Scratch = std::vector<std::uint32_t>;

  Interference() = default;
  Interference(const SortedIntervals<T>& sorted, const Kernels& kernels, Interrupt interrupt = Interrupt()) {
    prepare(sorted, kernels, 1, interrupt);
  }

  // `sorted` must outlive this. Reuses the memory of what was prepared before.
  void prepare(const SortedIntervals<T>& sorted, const Kernels& kernels, unsigned workers, Interrupt& interrupt) {
    sorted_ = &sorted;
    overlap_ = overlap_kernels<T>(kernels, true).run[sorted.dimension() - 1];
    const T* end = sorted.ends();
    const std::size_t blocks = (count() + kBlock - 1) / kBlock, groups = (blocks + kBlock - 1) / kBlock;
    block_end_.resize(blocks);
    furthest_.resize(blocks);
    group_end_.resize(groups);
    for_each_task(groups, groups < kGroupsWorthThreads ? 1 : workers, interrupt, [&](unsigned, std::size_t group) {
      const std::size_t first = group * kBlock;
      for (std::size_t block = first; block < std::min(blocks, first + kBlock); ++block) {
        const std::size_t begin = block * kBlock, behind = std::min(count(), begin + kBlock);
        // Four at a time, which wait for no other.
        T most[4] = {end[begin], end[begin], end[begin], end[begin]};
        std::size_t position = begin;
        for (; position + 4 <= behind; position += 4)
          for (std::size_t k = 0; k < 4; ++k) most[k] = std::max(most[k], end[position + k]);
        for (; position < behind; ++position) most[0] = std::max(most[0], end[position]);
        block_end_[block] = std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
        group_end_[group] = block == first ? block_end_[block] : std::max(group_end_[group], block_end_[block]);
      }
    });
    for (std::size_t block = 0; block < blocks; ++block)
      furthest_[block] = block == 0 ? block_end_[0] : std::max(furthest_[block - 1], block_end_[block]);
  }

  std::size_t count() const { return sorted_->count(); }
  const SortedIntervals<T>& sorted() const { return *sorted_; }
  std::size_t bytes() const {
    return (furthest_.capacity() + block_end_.capacity() + group_end_.capacity()) * sizeof(T);
  }

  std::vector<VoidBorder<T>> void_borders() const {
    std::vector<VoidBorder<T>> result;
    const T *begin = sorted_->begins(), *end = sorted_->ends();
    T furthest = count() > 0 ? end[0] : T(0);
    for (std::size_t position = 1; position < count(); ++position) {
      if (furthest < begin[position]) result.push_back({furthest, begin[position]});
      furthest = std::max(furthest, end[position]);
    }
    return result;
  }

  // Appends to `rows`, ascending, those that overlap a box of the caller's.
  void query(const T* lower, const T* upper, Scratch& scratch, std::vector<std::int32_t>& rows) const {
    T box[8];
    for (std::size_t k = 0; k < sorted_->dimension(); ++k) {
      box[k] = lower[sorted_->axis(k)];
      box[sorted_->dimension() + k] = upper[sorted_->axis(k)];
    }
    search(box, interval_along(sorted_->direction(), lower, upper, sorted_->dimension(), T(0)), count(), scratch, rows);
  }

  // Those that overlap the box at a position, itself not among them.
  void query_position(std::size_t position, Scratch& scratch, std::vector<std::int32_t>& rows) const {
    T box[8];
    for (std::size_t k = 0; k < 2 * sorted_->dimension(); ++k) box[k] = sorted_->columns()[k][position];
    search(box, {sorted_->begins()[position], sorted_->ends()[position]}, position, scratch, rows);
  }

 private:
  // 64 blocks of 64 boxes are a group. Runs are tested a piece at a time, so that a small scratch does.
  static constexpr std::size_t kBlock = 64, kPiece = 1024;
  static constexpr std::size_t kGroupsWorthThreads = 16;

  void search(const T* box, const Interval<T>& queried, std::size_t left_out, Scratch& scratch,
              std::vector<std::int32_t>& rows) const {
    const T* begins = sorted_->begins();
    const std::size_t known = rows.size();
    const auto last = static_cast<std::size_t>(std::upper_bound(begins, begins + count(), queried.end) - begins);
    const auto sure = static_cast<std::size_t>(std::lower_bound(begins, begins + last, queried.begin) - begins);
    std::size_t position =
        kBlock * static_cast<std::size_t>(std::lower_bound(furthest_.begin(), furthest_.end(), queried.begin) -
                                          furthest_.begin());
    scratch.resize(kPiece + 64);
    while (position < last) {
      if (position < sure && position % (kBlock * kBlock) == 0 &&
          group_end_[position / (kBlock * kBlock)] < queried.begin) {
        position = std::min(sure, position + kBlock * kBlock);
      } else if (position < sure && block_end_[position / kBlock] < queried.begin) {
        position = std::min(sure, position / kBlock * kBlock + kBlock);
      } else {
        // A block that may reach, or all that is left, where every interval does.
        const std::size_t piece =
            std::min(last, position < sure ? position / kBlock * kBlock + kBlock : position + kPiece);
        const std::size_t found = overlap_({sorted_->columns(), position, piece, box}, scratch.data());
        for (std::size_t k = 0; k < found; ++k)
          if (scratch[k] != left_out) rows.push_back(sorted_->rows()[scratch[k]]);
        position = piece;
      }
    }
    std::sort(rows.begin() + static_cast<std::ptrdiff_t>(known), rows.end());
  }

  const SortedIntervals<T>* sorted_ = nullptr;
  OverlapRun<T> overlap_ = nullptr;
  std::vector<T> furthest_;               // end of all intervals up to and with a block
  std::vector<T> block_end_, group_end_;  // of the intervals in each block, in each group
};

// What to sort along: a given direction, the principal one, or whatever is expected to leave the fewest tests.
enum class SweepAlong { automatic, principal, given };

// Chooses it, by a sample. Keeps its memory.
template <class T>
class DirectionChoice {
 public:
  DirectionChoice(std::size_t dimension, SweepAlong along, const SweepDirection& given)
      : dimension_(dimension), along_(along), direction_(given) {}

  const SweepDirection& direction() const { return direction_; }
  std::uint64_t times_changed() const { return changed_; }
  // The next look chooses: the boxes are others.
  void look_again() { looks_left_out_ = kLookEvery; }

  // Before the boxes are sorted. `candidates`: of the last sweep; 0 if there was none since the last choice.
  void look(const BoxView<T>& boxes, CoherentIntervals<T>& order, std::uint64_t candidates) {
    if (along_ == SweepAlong::given || order.alive() == 0) return;
    if (chosen_ && candidates > 0 && candidates_ == 0) candidates_ = candidates;
    const bool clustered = candidates_ > 0 && candidates > candidates_ + candidates_ / 2 + 4 * order.alive();
    if (chosen_ && !clustered && ++looks_left_out_ < kLookEvery) return;
    looks_left_out_ = 0;
    candidates_ = 0;
    take_sample(order);
    const SweepDirection best =
        along_ == SweepAlong::principal ? principal_direction(boxes, sample_, dimension_) : cheapest(boxes);
    if (chosen_ && !differs(best)) return;
    changed_ += chosen_;
    chosen_ = true;
    direction_ = best;
  }

 private:
  // So many changes pass between two choices, each of which takes about as long as sorting some thousand boxes.
  static constexpr int kLookEvery = 64;
  // A direction is kept unless another is expected to need a fifth fewer tests: a full sort has its cost, too.
  static constexpr double kWorthIt = 0.8;

  void take_sample(CoherentIntervals<T>& order) {
    // One box in 32, at least 64 and at most 512: as for a sweep that is not kept.
    sample_.clear();
    sample_.reserve(512);
    order.with_known_rows([&](std::size_t count, const auto& row_at) {
      const RandomSample sample(count, std::clamp<std::size_t>(count / 32, 64, 512));
      for (std::size_t k = 0; k < sample.size(); ++k) {
        const std::size_t row = row_at(sample[k]);
        if (order.is_alive(row)) sample_.push_back(row);
      }
    });
  }

  // Tests to expect, as a share of all pairs, times what a test costs: one axis more along a direction that is none.
  double cost(const BoxView<T>& boxes, const SweepDirection& direction) {
    ends_.take(boxes, sample_, dimension_, T(0), direction);
    const auto d = static_cast<double>(dimension_);
    return detail::overlapping_share(ends_) * (direction.axis < 0 ? (d + 1) / d : 1);
  }

  SweepDirection cheapest(const BoxView<T>& boxes) {
    SweepDirection best{0, {}};
    if (dimension_ == 1) return best;
    double least = cost(boxes, best);
    const auto consider = [&](const SweepDirection& direction, double worth) {
      const double expected = cost(boxes, direction);
      if (expected >= least * worth) return;
      least = expected;
      best = direction;
    };
    for (std::size_t k = 1; k < dimension_; ++k) consider({static_cast<int>(k), {}}, 1);
    consider(principal_direction(boxes, sample_, dimension_), kWorthIt);
    if (chosen_) consider(direction_, 1 / kWorthIt);
    return best;
  }

  bool differs(const SweepDirection& other) const {
    if (other.axis >= 0 || direction_.axis >= 0) return other.axis != direction_.axis;
    double product = 0, own = 0, others = 0;
    for (std::size_t k = 0; k < dimension_; ++k) {
      product += other.weight[k] * direction_.weight[k];
      own += direction_.weight[k] * direction_.weight[k];
      others += other.weight[k] * other.weight[k];
    }
    return std::abs(product) < 0.99 * std::sqrt(own * others);
  }

  std::size_t dimension_;
  SweepAlong along_;
  SweepDirection direction_;
  bool chosen_ = false;
  int looks_left_out_ = 0;
  std::uint64_t candidates_ = 0, changed_ = 0;
  std::vector<std::size_t> sample_;
  detail::SortedSample<T> ends_;
};

// Rows of a store that the caller owns and passes to each query in its current state. Changes are noted, and the next
// query brings the order up to date. Queries may run on any number of threads at once, changes only while no query
// runs.
template <class T>
class SweepIndex {
 public:
  SweepIndex(std::size_t dimension, SweepAlong along, const SweepDirection& given, unsigned workers = 1)
      : workers_(workers), order_(dimension), choice_(dimension, along, given) {}
  SweepIndex(const SweepIndex&) = delete;
  SweepIndex& operator=(const SweepIndex&) = delete;

  void replace(std::size_t slots, const std::int32_t* rows, std::size_t count) {
    order_.replace(slots, rows, count);
    choice_.look_again();
  }
  // Insert, move and remove rows here.
  CoherentIntervals<T>& order() { return order_; }
  const CoherentIntervals<T>& order() const { return order_; }
  const DirectionChoice<T>& choice() const { return choice_; }

  void arrange(const BoxView<T>& boxes, Interrupt& interrupt);

  // What is returned is valid until the next change.
  const SweepAndPrune<T>& sweep(const BoxView<T>& boxes, bool touching, const Kernels& kernels, Interrupt& interrupt);
  // `places`: order() is asked for positions of rows.
  const Interference<T>& interference(const BoxView<T>& boxes, const Kernels& kernels, Interrupt& interrupt,
                                      bool places = false);

  Pairs pairs(const BoxView<T>& boxes, bool touching, const Filter* filter, const Kernels& kernels, unsigned workers,
              std::uint64_t limit, Interrupt& interrupt);
  std::uint64_t count(const BoxView<T>& boxes, bool touching, const Filter* filter, const Kernels& kernels,
                      unsigned workers, Interrupt& interrupt);

  // Of the last sweep, and the pairs that the last pairs() found.
  std::uint64_t tests() const { return tests_; }
  std::uint64_t pairs_found() const { return pairs_; }
  std::size_t bytes() const { return order_.bytes() + closed_.bytes() + open_.bytes() + interference_.bytes(); }

 private:
  using Scratch = typename SweepAndPrune<T>::Scratch;

  void bring_up_to_date(const BoxView<T>& boxes, Interrupt& interrupt) {
    if (order_.up_to_date()) return;
    closed_is_ready_ = open_is_ready_ = interference_is_ready_ = false;
    choice_.look(boxes, order_, candidates_);
    candidates_ = 0;
    order_.arrange(boxes, choice_.direction(), workers_, interrupt);
  }

  Scratch take_scratch() {
    const std::lock_guard<ForkedMutex> guard(lock_);
    if (scratches_.empty()) return {};
    Scratch scratch = std::move(scratches_.back());
    scratches_.pop_back();
    return scratch;
  }
  void give_back(Scratch&& scratch) {
    const std::lock_guard<ForkedMutex> guard(lock_);
    scratches_.push_back(std::move(scratch));
  }

  unsigned workers_;
  ForkedMutex lock_;  // held while anything but a read-only structure is touched
  CoherentIntervals<T> order_;
  DirectionChoice<T> choice_;
  SweepAndPrune<T> closed_, open_;
  Interference<T> interference_;
  bool closed_is_ready_ = false, open_is_ready_ = false, interference_is_ready_ = false;
  std::uint64_t candidates_ = 0;  // of the order as it is; 0 before the first search for pairs
  std::vector<Scratch> scratches_;
  std::atomic<std::uint64_t> tests_{0}, pairs_{0};
};

template <class T>
void SweepIndex<T>::arrange(const BoxView<T>& boxes, Interrupt& interrupt) {
  const std::lock_guard<ForkedMutex> guard(lock_);
  bring_up_to_date(boxes, interrupt);
}

template <class T>
const Interference<T>& SweepIndex<T>::interference(const BoxView<T>& boxes, const Kernels& kernels,
                                                   Interrupt& interrupt, bool places) {
  const std::lock_guard<ForkedMutex> guard(lock_);
  bring_up_to_date(boxes, interrupt);
  if (places) order_.note_places(interrupt);
  if (!interference_is_ready_) interference_.prepare(order_, kernels, workers_, interrupt);
  interference_is_ready_ = true;
  return interference_;
}

template <class T>
const SweepAndPrune<T>& SweepIndex<T>::sweep(const BoxView<T>& boxes, bool touching, const Kernels& kernels,
                                             Interrupt& interrupt) {
  const std::lock_guard<ForkedMutex> guard(lock_);
  bring_up_to_date(boxes, interrupt);
  SweepAndPrune<T>& method = touching ? closed_ : open_;
  bool& ready = touching ? closed_is_ready_ : open_is_ready_;
  if (!ready) method.prepare(order_, nullptr, kernels, touching, interrupt);
  ready = true;
  candidates_ = tests_ = method.candidate_count();
  return method;
}

template <class T>
Pairs SweepIndex<T>::pairs(const BoxView<T>& boxes, bool touching, const Filter* filter, const Kernels& kernels,
                           unsigned workers, std::uint64_t limit, Interrupt& interrupt) {
  const SweepAndPrune<T>& method = sweep(boxes, touching, kernels, interrupt);
  Pairs found;
  if (workers <= 1) {
    Scratch scratch = take_scratch();
    // As many as last time, or a few more: the answer is then the only memory that is taken.
    found = collect_in_order(method, filter, limit, interrupt, scratch, pairs_ + pairs_ / 8);
    give_back(std::move(scratch));
  } else {
    found = collect_pairs(method, filter, workers, limit, interrupt);
  }
  pairs_ = found.size;
  return found;
}

template <class T>
std::uint64_t SweepIndex<T>::count(const BoxView<T>& boxes, bool touching, const Filter* filter, const Kernels& kernels,
                                   unsigned workers, Interrupt& interrupt) {
  const SweepAndPrune<T>& method = sweep(boxes, touching, kernels, interrupt);
  if (workers > 1) return count_pairs(method, filter, workers, interrupt);
  Scratch scratch = take_scratch();
  const std::uint64_t found = count_in_order(method, filter, interrupt, scratch);
  give_back(std::move(scratch));
  return found;
}

// Compiled once: sweep.cpp.
extern template class SweepIndex<float>;
extern template class SweepIndex<double>;

}  // namespace broadphase
