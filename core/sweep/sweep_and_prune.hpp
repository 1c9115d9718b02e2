// Boxes sorted along a direction; only those whose intervals overlap there are compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "query/method.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"
#include "sweep/sorted_intervals.hpp"

namespace broadphase {

// After D. Baraff (1992), with a sort by radix in place of insertion, and runs in place of a list of open intervals:
// behind a box in the order of begins, those that begin before it ends are one contiguous run,
//
//      |--------- box ---------|
//        |-----|                         the run of the box: begins within it
//            |-------------------|
//                   |--|
//                                |---|   begins after it: the run ends here
//
// and every pair of overlapping intervals is met once, in the run of the one that begins first. A run ends at the next
// void border (a place that no interval covers) at the latest. Boxes in a run overlap along the axis by construction:
// only the other axes are compared. Time O(n log n + candidates); 8 bytes a box besides the sorted columns.
template <class T>
class SweepAndPrune {
 public:
  struct Scratch {
    std::vector<std::uint32_t> positions;
  };

  // Along the axis where the fewest intervals overlap. `interrupt` is checked while the boxes are sorted.
  SweepAndPrune(const Problem<T>& problem, const Kernels& kernels, unsigned workers, Interrupt interrupt = Interrupt())
      : SweepAndPrune(problem, kernels, workers, best_axis(problem), interrupt) {}
  // Along this axis; below 0: as above.
  SweepAndPrune(const Problem<T>& problem, const Kernels& kernels, unsigned workers, int axis, Interrupt& interrupt)
      : SweepAndPrune(problem, kernels, workers, axis < 0 ? best_axis(problem) : SweepDirection{axis, {}}, interrupt) {}

  SweepAndPrune(const Problem<T>& problem, const Kernels& kernels, unsigned /*workers*/,
                const SweepDirection& direction, Interrupt interrupt = Interrupt())
      : own_first_(std::in_place, problem.first, problem.dimension, problem.touching, problem.grow, direction,
                   interrupt) {
    if (problem.cross)
      own_second_.emplace(problem.second, problem.dimension, problem.touching, problem.grow, direction, interrupt);
    prepare(*own_first_, problem.cross ? &*own_second_ : nullptr, kernels, problem.touching, interrupt);
  }

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
               Interrupt& interrupt) {
    tasks_.clear();
    candidates_ = 0;
    const OverlapRun<T> overlap =
        first.tested_axes() > 0 ? overlap_kernel<T>(kernels, first.tested_axes(), touching) : nullptr;
    // Intervals along a direction are rounded, so that open ones may seem empty: they are taken as closed there.
    const bool closed = touching || first.direction().axis < 0;
    passes_.resize(second == nullptr ? 1 : 2);
    for (std::uint32_t k = 0; k < passes_.size(); ++k) {
      // Of two intervals that overlap, the second begins within the first, or else the first after the second begins.
      Pass& pass = passes_[k];
      pass.queries = k == 0 ? &first : second;
      pass.columns = k == 1 || second == nullptr ? &first : second;
      pass.overlap = overlap;
      pass.cross = second != nullptr;
      pass.turned = k == 1;
      mark_solid(pass, touching);
      if (closed)
        find_runs<true>(pass, k == 0, interrupt);
      else
        find_runs<false>(pass, k == 0, interrupt);
      add_tasks(k);
    }
  }

  std::size_t bytes() const {
    std::size_t result = tasks_.capacity() * sizeof(Task);
    for (const Pass& pass : passes_)
      result += (pass.run_begin.capacity() + pass.run_end.capacity()) * sizeof(std::uint32_t) + pass.solid.capacity();
    return result;
  }
  const SweepDirection& direction() const { return passes_.front().queries->direction(); }
  // How many pairs of boxes are compared.
  std::uint64_t candidate_count() const { return candidates_; }
  std::size_t task_count() const { return tasks_.size(); }

  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
    const Task& part = tasks_[task];
    const Pass& pass = passes_[part.pass];
    scratch.positions.resize(kTileColumns + 64);
    // Rows that follow each other have much the same run: they go through it together, a tile at a time.
    for (std::size_t row = part.row_begin; row < part.row_end; row += kRowsTogether) {
      const std::size_t row_end = std::min<std::size_t>(part.row_end, row + kRowsTogether);
      std::size_t end = 0;
      for (std::size_t k = row; k < row_end; ++k) end = std::max<std::size_t>(end, pass.run_end[k]);
      end = std::min<std::size_t>(end, part.column_end);
      // Tiles begin at multiples of their length, so that the columns are read line by line.
      std::size_t tile = std::max<std::size_t>(pass.begin_of_run(row), part.column_begin) / kLine * kLine;
      for (; tile < end; tile += kTileColumns)
        for (std::size_t k = row; k < row_end; ++k) {
          const std::size_t from = std::max({tile, pass.begin_of_run(k), std::size_t{part.column_begin}});
          const std::size_t to = std::min({tile + kTileColumns, end, std::size_t{pass.run_end[k]}});
          if (from < to) test(pass, k, from, to, scratch, out);
        }
    }
  }

 private:
  // The queries' runs among the columns.
  struct Pass {
    const SortedIntervals<T>* queries = nullptr;
    const SortedIntervals<T>* columns = nullptr;
    OverlapRun<T> overlap = nullptr;       // null: whatever is in the run overlaps
    bool cross = false, turned = false;    // turned: the queries are of the second set
    std::vector<std::uint32_t> run_begin;  // where `cross`; otherwise runs begin right behind the query
    std::vector<std::uint32_t> run_end;
    std::vector<std::uint8_t> solid;  // where boxes are open and not all have an interior: which columns do

    std::size_t begin_of_run(std::size_t k) const { return cross ? run_begin[k] : k + 1; }
  };
  // Rows [row_begin, row_end) of a pass, and of their runs what lies in [column_begin, column_end).
  struct Task {
    std::uint32_t pass, row_begin, row_end, column_begin, column_end;
  };

  // 1024 columns of four floats are 16 KB: half the nearest cache. More rows together reuse a tile more often, and
  // read more of it in vain where runs are short.
  static constexpr std::size_t kTileColumns = 1024, kRowsTogether = 32, kLine = 16;
  // A quarter of what a task may test, so that a few threads have equal shares.
  static constexpr std::size_t kCandidates = kTaskCandidates / 4;
  static constexpr std::size_t kEarlier = 8;

  static void mark_solid(Pass& pass, bool touching) {
    pass.solid.resize(touching ? 0 : pass.columns->count());
    if (touching) return;
    bool all = true;
    for (std::size_t k = 0; k < pass.solid.size(); ++k) {
      pass.solid[k] = static_cast<std::uint8_t>(pass.columns->solid(k));
      all &= pass.solid[k] != 0;
    }
    for (std::size_t k = 0; all && pass.cross && k < pass.queries->count(); ++k) all = pass.queries->solid(k);
    if (all) pass.solid.clear();
  }

  // `together`: intervals that begin where the query does are in its run.
  template <bool Closed>
  static void find_runs(Pass& pass, bool together, Interrupt& interrupt) {
    const std::size_t rows = pass.queries->count(), columns = pass.columns->count();
    const T *begin = pass.queries->begins(), *end = pass.queries->ends(), *starts = pass.columns->begins();
    std::size_t run_begin = 0;
    pass.run_end.resize(rows);
    if (pass.cross) pass.run_begin.resize(rows);
    in_stretches(rows, interrupt, [&](std::size_t stretch_begin, std::size_t stretch_end) {
      for (std::size_t k = stretch_begin; k < stretch_end; ++k) {
        if (pass.cross) {
          while (run_begin < columns && (together ? starts[run_begin] < begin[k] : starts[run_begin] <= begin[k]))
            ++run_begin;
          pass.run_begin[k] = static_cast<std::uint32_t>(run_begin);
        } else {
          run_begin = k + 1;
        }
        // Guessed from a row a little earlier, so that the searches need not wait for each other.
        const std::size_t guess = k < kEarlier ? run_begin : pass.run_end[k - kEarlier] + kEarlier;
        pass.run_end[k] = static_cast<std::uint32_t>(end_of_run<Closed>(starts, run_begin, columns, guess, end[k]));
      }
    });
  }

  void add_tasks(std::uint32_t number) {
    const Pass& pass = passes_[number];
    const auto rows = static_cast<std::uint32_t>(pass.queries->count());
    const auto columns = static_cast<std::uint32_t>(pass.columns->count());
    std::uint32_t start = 0;
    std::size_t pending = 0;  // candidates of the rows from `start` on
    const auto flush = [&](std::uint32_t row) {
      if (pending > 0) tasks_.push_back({number, start, row, 0, columns});
      start = row;
      pending = 0;
    };
    for (std::uint32_t k = 0; k < rows; ++k) {
      const std::size_t begin = pass.begin_of_run(k), length = pass.run_end[k] - begin;
      candidates_ += length;
      if (pending + length > kCandidates) flush(k);
      pending += length;
      if (length <= kCandidates) continue;
      // A run longer than a task is cut to pieces.
      for (std::size_t at = begin; at < begin + length; at += kCandidates)
        tasks_.push_back({number, k, k + 1, static_cast<std::uint32_t>(at),
                          static_cast<std::uint32_t>(std::min(at + kCandidates, begin + length))});
      start = k + 1;
      pending = 0;
    }
    flush(rows);
  }

  void test(const Pass& pass, std::size_t row, std::size_t from, std::size_t to, Scratch& scratch,
            PairBuffer& out) const {
    std::uint32_t* positions = scratch.positions.data();
    std::size_t found = to - from;
    if (pass.overlap != nullptr) {
      T box[8];
      pass.queries->gather_tested(row, box);
      found = pass.overlap({pass.columns->tested_columns(), from, to, box}, positions);
    } else if (!out.counts_only() || !pass.solid.empty()) {
      std::iota(positions, positions + found, static_cast<std::uint32_t>(from));
    }
    if (!pass.solid.empty()) found = keep_solid(pass, row, positions, found);
    if (found == 0) return;
    if (out.counts_only()) {
      out.add_count(found);
      return;
    }
    out.room(found);
    const std::int32_t query = pass.queries->rows()[row];
    const std::int32_t* rows = pass.columns->rows();
    std::int32_t *first = out.first(), *second = out.second();
    for (std::size_t k = 0; k < found; ++k) {
      const std::int32_t other = rows[positions[k]];
      const bool swapped = pass.cross ? pass.turned : other < query;
      first[k] = swapped ? other : query;
      second[k] = swapped ? query : other;
    }
    out.commit(found);
  }

  // Boxes without an interior overlap nothing where boxes are open, but the comparisons would let them pass.
  static std::size_t keep_solid(const Pass& pass, std::size_t row, std::uint32_t* positions, std::size_t count) {
    if (!pass.queries->solid(row)) return 0;
    return static_cast<std::size_t>(
        std::remove_if(positions, positions + count, [&](std::uint32_t k) { return pass.solid[k] == 0; }) - positions);
  }

  std::optional<SortedIntervals<T>> own_first_, own_second_;
  std::vector<Pass> passes_;
  std::vector<Task> tasks_;
  std::uint64_t candidates_ = 0;
};

}  // namespace broadphase
