// The pairs among the rows of an octree, as tasks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "octree/arrangement.hpp"
#include "octree/walk.hpp"
#include "query/method.hpp"
#include "sweep/sweep_and_prune.hpp"

namespace broadphase {

// The rows of a cell that has very many, such as equal boxes, or sticks across the world: swept among themselves.
template <class T>
class OctreeCrowd {
 public:
  OctreeCrowd(const OctreeCells& cells, std::int32_t number, const BoxView<T>& rows, bool touching,
              const OctreeKinds& kinds, const Kernels& kernels, Interrupt& interrupt)
      : first_count_(kinds.first_count) {
    const std::size_t dimension = cells.blocks().dimension();
    cells.for_each_row(number, [&](std::int32_t row) {
      const std::size_t kind = kinds.of(row);
      numbers_[kind].push_back(row);
      const auto at = static_cast<std::size_t>(row);
      corners_[kind].insert(corners_[kind].end(), rows.lower_of(at), rows.lower_of(at) + dimension);
      corners_[kind].insert(corners_[kind].end(), rows.upper_of(at), rows.upper_of(at) + dimension);
    });
    for (std::size_t kind = 0; kind < 2; ++kind)
      for (std::size_t other = kind; other < 2; ++other) {
        if ((kinds.partners[kind] >> other & 1u) == 0 || numbers_[kind].empty() || numbers_[other].empty()) continue;
        Problem<T> problem;
        problem.first = view(kind, dimension);
        problem.cross = kind != other;
        if (problem.cross) problem.second = view(other, dimension);
        problem.dimension = dimension;
        problem.touching = touching;
        sweeps_.push_back({kind, other, std::make_unique<SweepAndPrune<T>>(problem, kernels, 1, interrupt)});
      }
  }

  std::size_t sweep_count() const { return sweeps_.size(); }
  std::size_t task_count(std::size_t sweep) const { return sweeps_[sweep].method->task_count(); }
  std::uint64_t tests() const {
    std::uint64_t sum = 0;
    for (const Sweep& sweep : sweeps_) sum += sweep.method->candidate_count();
    return sum;
  }

  void run(std::size_t number, std::size_t task, typename SweepAndPrune<T>::Scratch& scratch, PairBuffer& out) const {
    const Sweep& sweep = sweeps_[number];
    PairBuffer found(nullptr, out.counts_only());
    sweep.method->run(task, scratch, found);
    if (out.counts_only()) {
      out.add_count(found.count());
      return;
    }
    out.room(found.size());
    std::int32_t *first = out.first(), *second = out.second();
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::int32_t i = numbers_[sweep.kind][static_cast<std::size_t>(found.first_column()[k])];
      const std::int32_t j = numbers_[sweep.other][static_cast<std::size_t>(found.second_column()[k])];
      first[k] = std::min(i, j);
      second[k] = std::max(i, j) - first_count_;
    }
    out.commit(found.size());
  }

 private:
  struct Sweep {
    std::size_t kind, other;
    std::unique_ptr<SweepAndPrune<T>> method;
  };

  BoxView<T> view(std::size_t kind, std::size_t dimension) const {
    const auto stride = static_cast<std::ptrdiff_t>(2 * dimension);
    return {corners_[kind].data(), corners_[kind].data() + dimension, stride, stride, numbers_[kind].size()};
  }

  std::int32_t first_count_;
  std::vector<std::int32_t> numbers_[2];
  std::vector<T> corners_[2];
  std::vector<Sweep> sweeps_;
};

// A method over a tree that is up to date. Reads the tree and the rows' boxes for as long as it lives.
template <class T>
class OctreePairs {
 public:
  struct Scratch {
    OctreeScratch walk;
    typename SweepAndPrune<T>::Scratch sweep;
  };

  OctreePairs(const OctreeArrangement& tree, const BoxView<T>& rows, bool touching, const OctreeKinds& kinds,
              const Kernels& kernels, Interrupt& interrupt)
      : tree_(tree), rows_(rows), touching_(touching), kinds_(kinds), kernels_(kernels), below_(tree.limit(), 0) {
    if (tree.limit() == 0) return;
    if (!kinds.is_plain()) kinds_below_.assign(tree.limit(), 0);
    count_below(OctreeCells::kTop);
    if (!kinds_below_.empty() && !kinds.pair_among(kinds_below_[OctreeCells::kTop])) return;
    const std::size_t all = below_[OctreeCells::kTop];
    most_ = std::clamp(all / kParts, kFewRows, kManyRows);
    plan(OctreeCells::kTop, interrupt);
  }

  std::size_t task_count() const { return tasks_.size(); }
  std::uint64_t tests() const { return tests_.load(std::memory_order_relaxed) + crowd_tests_; }
  std::uint64_t cell_tests() const { return cell_tests_.load(std::memory_order_relaxed); }

  void run(std::size_t number, Scratch& scratch, PairBuffer& out) const {
    const Task& task = tasks_[number];
    if (task.what == kSweep) {
      crowds_[task.crowd]->run(static_cast<std::size_t>(task.begin), static_cast<std::size_t>(task.end), scratch.sweep,
                               out);
      return;
    }
    OctreeWalk<T> walk(tree_, rows_, touching_, tree_.is_exact(), kinds_, kinds_below_, kCrowded, kernels_,
                       scratch.walk, out);
    const auto from = walk.descend_to(task.cell);
    if (task.what == kSubtree)
      walk.visit(task.cell, from);
    else
      walk.visit_rows(task.cell, from, task.begin, task.end, task.what == kOwnRows);
    tests_.fetch_add(scratch.walk.tests, std::memory_order_relaxed);
    cell_tests_.fetch_add(scratch.walk.cell_tests, std::memory_order_relaxed);
    scratch.walk.tests = scratch.walk.cell_tests = 0;
  }

 private:
  // More parts share better among threads, but each finds its way down from the top anew.
  static constexpr std::size_t kParts = 64, kFewRows = 512, kManyRows = 16384;
  // From so many rows of one cell on, sorting them is cheaper than testing all against all.
  static constexpr std::size_t kCrowded = 1024;

  enum What : std::uint8_t { kSubtree, kOwnRows, kSomeRows, kSweep };
  struct Task {
    What what;
    std::int32_t cell, begin = 0, end = 0;  // of its own rows; kSweep: which sweep, and which task of it
    std::size_t crowd = 0;
  };

  // Recursion: one call a level.
  std::size_t count_below(std::int32_t number) {
    const auto at = static_cast<std::size_t>(number);
    auto count = static_cast<std::size_t>(tree_.cell(number).rows);
    unsigned kinds = 0;
    if (!kinds_below_.empty()) tree_.for_each_row(number, [&](std::int32_t row) { kinds |= 1u << kinds_.of(row); });
    tree_.for_each_child(number, [&](std::int32_t child) {
      count += count_below(child);
      if (!kinds_below_.empty()) kinds |= kinds_below_[static_cast<std::size_t>(child)];
    });
    if (!kinds_below_.empty()) kinds_below_[at] = static_cast<std::uint8_t>(kinds);
    return below_[at] = count;
  }

  void plan(std::int32_t number, Interrupt& interrupt) {
    if (below_[static_cast<std::size_t>(number)] <= std::min(most_, kCrowded)) {
      tasks_.push_back({kSubtree, number});
      return;
    }
    const bool is_part = below_[static_cast<std::size_t>(number)] <= most_;
    if (is_part) tasks_.push_back({kSubtree, number});
    plan_rows(number, is_part, interrupt);
    tree_.for_each_child(number, [&](std::int32_t child) {
      if (is_part)
        plan_crowds(child, interrupt);
      else
        plan(child, interrupt);
    });
  }
  // Only what a walk leaves out.
  void plan_crowds(std::int32_t number, Interrupt& interrupt) {
    if (below_[static_cast<std::size_t>(number)] <= kCrowded) return;
    plan_rows(number, true, interrupt);
    tree_.for_each_child(number, [&](std::int32_t child) { plan_crowds(child, interrupt); });
  }
  void plan_rows(std::int32_t number, bool is_walked, Interrupt& interrupt) {
    const std::int32_t rows = tree_.cell(number).rows;
    if (static_cast<std::size_t>(rows) <= kCrowded) {
      if (!is_walked && rows > 0) tasks_.push_back({kOwnRows, number, 0, rows});
      return;
    }
    constexpr auto kChunk = static_cast<std::int32_t>(kCrowded);
    if (number != OctreeCells::kTop)
      for (std::int32_t begin = 0; begin < rows; begin += kChunk)
        tasks_.push_back({kSomeRows, number, begin, std::min(rows, begin + kChunk)});
    interrupt.check();
    crowds_.push_back(std::make_unique<OctreeCrowd<T>>(tree_, number, rows_, touching_, kinds_, kernels_, interrupt));
    const OctreeCrowd<T>& crowd = *crowds_.back();
    crowd_tests_ += crowd.tests();
    for (std::size_t sweep = 0; sweep < crowd.sweep_count(); ++sweep)
      for (std::size_t task = 0; task < crowd.task_count(sweep); ++task)
        tasks_.push_back(
            {kSweep, number, static_cast<std::int32_t>(sweep), static_cast<std::int32_t>(task), crowds_.size() - 1});
  }

  const OctreeArrangement& tree_;
  BoxView<T> rows_;
  bool touching_;
  OctreeKinds kinds_;
  const Kernels& kernels_;
  std::vector<std::size_t> below_;         // rows below each cell, and in it
  std::vector<std::uint8_t> kinds_below_;  // their kinds, as bits
  std::size_t most_ = 0;
  std::vector<Task> tasks_;
  std::vector<std::unique_ptr<OctreeCrowd<T>>> crowds_;
  std::uint64_t crowd_tests_ = 0;
  mutable std::atomic<std::uint64_t> tests_{0}, cell_tests_{0};
};

}  // namespace broadphase
