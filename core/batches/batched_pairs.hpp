// Pairs of boxes that come in batches: thousands of scenes in one place, in one call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/memory.hpp"
#include "batches/rows_by_key.hpp"
#include "boxes/box_columns.hpp"
#include "boxes/box_view.hpp"
#include "choose/find.hpp"
#include "query/collect.hpp"
#include "query/hits.hpp"
#include "query/method.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"
#include "sweep/interval_pairs.hpp"

namespace broadphase {

// Below, a batch is compared pair by pair whatever the method: preparing one would take longer.
template <class T>
bool is_small(double all_pairs) {
  return all_pairs < kPairsWorthALook<T>;
}

// A batch as a problem of its own, without a filter. Boxes that do not lie together are copied to `copies`; the names
// are those of the numbers that the problem's pairs have.
template <class T>
Problem<T> problem_of(const Problem<T>& all, const Batch& batch, PlainArray<T> (&copies)[2], RowNames (&names)[2]) {
  Problem<T> result = all;
  result.filter = nullptr;
  result.batches = nullptr;
  result.is_own =
      all.is_own || !(all.batches->sets[0].sorted_already() || (all.cross && all.batches->sets[1].sorted_already()));
  for (std::size_t k = 0; k < (all.cross ? 2u : 1u); ++k) {
    BoxView<T>& boxes = k == 0 ? result.first : result.second;
    const RowsByKey& by_key = all.batches->sets[k];
    const std::size_t begin = batch.begin[k], count = batch.count(k), dimension = all.dimension;
    if (by_key.sorted_already()) {
      boxes = {boxes.lower_of(begin), boxes.upper_of(begin), boxes.lower_stride, boxes.upper_stride, count};
      names[k] = {nullptr, static_cast<std::int32_t>(begin)};
      continue;
    }
    copies[k].grow(2 * dimension * count);
    T* to = copies[k].get();
    for (std::size_t i = 0; i < count; ++i, to += 2 * dimension) {
      const auto row = static_cast<std::size_t>(by_key.rows[begin + i]);
      std::copy_n(boxes.lower_of(row), dimension, to);
      std::copy_n(boxes.upper_of(row), dimension, to + dimension);
    }
    boxes = view_of_rows<T>(copies[k].get(), dimension, count);
    names[k] = {by_key.rows.get() + begin, 0};
  }
  if (!all.cross) names[1] = names[0];
  return result;
}

// A batch is a stretch of the rows in the order of their keys, so that nothing is compared across batches, and no pair
// is found twice:
//
//   keys  | 0 0 0 0 0 | 1 1 1 | 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 | 3 | 4 4 4 4 |
//          \_________________/ \_____________________________/     \_______/
//           a task of some        prepared as a problem of its        the next task
//           small batches         own, with tasks of its own
//
// Small batches are gathered into columns, box against all boxes before it, many at a time. Others are problems of
// their own for the method; those of more candidates than a task may have are prepared before all tasks, those below
// within theirs.
template <class T>
class BatchedPairs {
 public:
  struct Scratch {
    BoxColumns<T> columns[2];
    std::size_t room[2] = {0, 0};
    std::vector<std::int32_t> rows[2];
    PlainArray<RunHits> hits;
    PlainArray<T> copies[2];
    const PreparedMethod* method = nullptr;  // whose scratch this is
    std::shared_ptr<void> of_method;
  };

  BatchedPairs(const Problem<T>& problem, const Preparation& with)
      : problem_(checked(problem, with)),
        kernels_(with.kernels),
        name_(with.name),
        overlaps_(overlap_kernels<T>(with.kernels, problem.touching).runs[problem.dimension - 1]) {
    const std::vector<Batch>& batches = problem.batches->with_pairs;
    if (sorts_intervals()) {
      sort_intervals(with.workers, with.interrupt);
      return;
    }
    std::uint32_t begin = 0;
    double pending = 0;
    const auto flush = [&](std::uint32_t end) {
      if (begin < end) tasks_.push_back({kNone, begin, end});
      begin = end;
      pending = 0;
    };
    for (std::uint32_t k = 0; k < batches.size(); ++k) {
      const double here = candidates(batches[k]);
      if (here > kTaskCandidates) {
        flush(k);
        prepare(batches[k], with);
        begin = k + 1;
        continue;
      }
      // Rows count as well: a million batches of two boxes are more than one task.
      pending += here + kCandidatesARow * static_cast<double>(batches[k].count(0) + batches[k].count(1));
      if (pending > kStretch) flush(k + 1);
    }
    flush(static_cast<std::uint32_t>(batches.size()));
  }

  std::size_t task_count() const { return intervals_ ? intervals_->task_count() : tasks_.size(); }

  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
    if (intervals_) return intervals_->run(task, scratch, out);
    const Task& part = tasks_[task];
    if (part.large == kNone) {
      for (std::uint32_t k = part.begin; k < part.end; ++k) {
        const Batch& batch = problem_.batches->with_pairs[k];
        if (is_small<T>(candidates(batch)))
          compare(batch, scratch, out);
        else
          search(batch, scratch, out);
      }
      return;
    }
    const Large& large = *large_[part.large];
    if (scratch.method != &large.method) {
      scratch.of_method = large.method.make_scratch();
      scratch.method = &large.method;
    }
    out.use_names(large.names);
    large.method.run(part.begin, scratch.of_method.get(), out);
    out.use_names(nullptr);
  }

 private:
  // Tasks of small batches: about a tenth of a millisecond.
  static constexpr double kStretch = 262144, kCandidatesARow = 64;
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // A task of a large batch, or small batches [begin, end).
  struct Task {
    std::uint32_t large, begin, end;
  };
  struct Large {
    PlainArray<T> copies[2];
    RowNames names[2];
    PreparedMethod method;
  };

  // Boxes of one axis are sorted by batch and begin at once, unless most batches are small.
  bool sorts_intervals() const {
    constexpr std::size_t kWorthSorting = 32;
    const bool is_chosen = name_ == MethodName::automatic || name_ == MethodName::sweep_and_prune;
    return is_chosen && problem_.dimension == 1 &&
           problem_.first.count + problem_.second.count >= kWorthSorting * problem_.batches->with_pairs.size();
  }
  void sort_intervals(unsigned workers, Interrupt& interrupt) {
    PlainArray<std::uint32_t> keys[2];
    KeyedIntervals<T> sets[2];
    for (std::size_t k = 0; k < (problem_.cross ? 2u : 1u); ++k) {
      sets[k].boxes = k == 0 ? problem_.first : problem_.second;
      keys[k].grow(sets[k].boxes.count);
      std::fill_n(keys[k].get(), sets[k].boxes.count, kNoKey);
      sets[k].keys = keys[k].get();
      std::uint32_t key = 0;
      for (const Batch& batch : problem_.batches->with_pairs) {
        for (std::size_t at = batch.begin[k]; at < batch.end[k]; ++at)
          keys[k][static_cast<std::size_t>(problem_.batches->sets[k].row(at))] = key;
        ++key;
      }
    }
    intervals_ =
        std::make_unique<IntervalPairs<T>>(sets[0], sets[1], problem_.cross, problem_.batches->with_pairs.size(),
                                           problem_.touching, problem_.grow, workers, interrupt);
  }

  double candidates(const Batch& batch) const { return batch.all_pairs(problem_.cross); }

  void prepare(const Batch& batch, const Preparation& with) {
    auto large = std::make_unique<Large>();
    const Problem<T> problem = problem_of(problem_, batch, large->copies, large->names);
    large->method = prepare_method(name_, problem, with);
    const auto number = static_cast<std::uint32_t>(large_.size());
    for (std::uint32_t task = 0; task < large->method.task_count; ++task) tasks_.push_back({number, task, task + 1});
    large_.push_back(std::move(large));
  }

  // By the method, on this thread.
  void search(const Batch& batch, Scratch& scratch, PairBuffer& out) const {
    RowNames names[2];
    const Problem<T> problem = problem_of(problem_, batch, scratch.copies, names);
    Interrupt none;  // this may not be the calling thread, the only one that can be interrupted
    const PreparedMethod method = prepare_method(name_, problem, {kernels_, 1, none});
    const std::shared_ptr<void> own = method.make_scratch();
    out.use_names(names);
    for (std::size_t task = 0; task < method.task_count; ++task) method.run(task, own.get(), out);
    out.use_names(nullptr);
  }

  // Pair by pair.
  void compare(const Batch& batch, Scratch& scratch, PairBuffer& out) const {
    const bool cross = problem_.cross;
    std::size_t count[2] = {gather(batch, 0, scratch), 0};
    if (cross) count[1] = gather(batch, 1, scratch);
    // Long runs: the boxes of the smaller set go through those of the larger one.
    const std::size_t runs = cross && count[1] > count[0] ? 0 : 1, into = cross ? 1 - runs : 0;
    const BoxColumns<T>& boxes = scratch.columns[cross ? runs : 0];
    const BoxColumns<T>& columns = scratch.columns[into];
    const std::size_t tests = cross ? count[0] * count[1] : count[0] * (count[0] - 1) / 2;
    if (tests == 0) return;
    scratch.hits.grow(tests + 1);
    RunHits* hits = scratch.hits.get();
    const RunsQuery<T> query =
        cross ? RunsQuery<T>{boxes.pointers(), 0, count[runs], columns.pointers(), 0, count[into], 0}
              : RunsQuery<T>{boxes.pointers(), 1, count[0], columns.pointers(), 0, 1, 1};
    const std::size_t found = overlaps_(query, hits);
    const std::int32_t *by_box = scratch.rows[cross ? runs : 0].data(), *by_position = scratch.rows[into].data();
    // One set: the box comes behind those of its run.
    put_hits(
        hits, found, cross && runs == 0 ? FirstRow::kOwn : FirstRow::kOther,
        [by_box](std::uint32_t box) { return by_box[box]; },
        [by_position](std::uint32_t position) { return by_position[position]; }, out);
  }

  // Fills the columns with the grown boxes of a batch, and their rows; returns how many. Where boxes are open, those
  // without an interior are left out.
  std::size_t gather(const Batch& batch, std::size_t k, Scratch& scratch) const {
    const BoxView<T>& boxes = k == 0 ? problem_.first : problem_.second;
    const RowsByKey& by_key = problem_.batches->sets[k];
    std::size_t count = batch.count(k);
    if (count > scratch.room[k]) {
      scratch.room[k] = count + count / 2 + 32;
      scratch.columns[k] = BoxColumns<T>(scratch.room[k], problem_.dimension);
      scratch.rows[k].resize(scratch.room[k]);
    }
    std::int32_t* rows = scratch.rows[k].data();
    for (std::size_t i = 0; i < count; ++i) rows[i] = by_key.row(batch.begin[k] + i);
    if (!problem_.touching) {
      const auto kept = std::remove_if(rows, rows + count, [&](std::int32_t row) {
        const auto at = static_cast<std::size_t>(row);
        return !has_interior(boxes.lower_of(at), boxes.upper_of(at), problem_.dimension, problem_.grow);
      });
      count = static_cast<std::size_t>(kept - rows);
    }
    for (std::size_t d = 0; d < problem_.dimension; ++d) {
      T *lower = scratch.columns[k].lower(d), *upper = scratch.columns[k].upper(d);
      for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(rows[i]);
        lower[i] = boxes.lower_of(at)[d] - problem_.grow;
        upper[i] = boxes.upper_of(at)[d] + problem_.grow;
      }
    }
    return count;
  }

  const Problem<T> problem_;
  const Kernels& kernels_;
  MethodName name_;
  OverlapRuns<T> overlaps_;
  std::unique_ptr<IntervalPairs<T>> intervals_;  // of one axis, sorted
  std::vector<std::unique_ptr<Large>> large_;
  std::vector<Task> tasks_;
};

}  // namespace broadphase
