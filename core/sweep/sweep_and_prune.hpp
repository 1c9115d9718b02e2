// Boxes sorted along a direction; only those whose intervals overlap there are compared.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "base/memory.hpp"
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
// only the other axes are compared. Where a run ends is seen while it is tested; of a long one it is looked for after a
// while. Time O(n log n + candidates); a quarter of a byte a box besides the sorted columns.
template <class T>
class SweepAndPrune {
 public:
  // Rows that follow each other have much the same run: they go through it together.
  static constexpr std::size_t kRowsTogether = 32;

  struct Scratch {
    std::vector<std::uint32_t> positions;
    std::uint32_t run_begin[kRowsTogether], run_end[kRowsTogether];
    PlainArray<RunHits> hits;
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
    const std::size_t axes = first.tested_axes();
    const OverlapRun<T> overlap = axes > 0 ? overlap_kernel<T>(kernels, axes, touching) : nullptr;
    const bool along_axis = first.direction().axis >= 0;
    passes_.resize(second == nullptr ? 1 : 2);
    for (std::uint32_t k = 0; k < passes_.size(); ++k) {
      // Of two intervals that overlap, the second begins within the first, or else the first after the second begins.
      Pass& pass = passes_[k];
      pass.queries = k == 0 ? &first : second;
      pass.columns = k == 1 || second == nullptr ? &first : second;
      pass.overlap = overlap;
      pass.ahead = along_axis && axes > 0 ? sweep_kernel<T>(kernels, axes, touching) : nullptr;
      pass.cross = second != nullptr;
      pass.turned = k == 1;
      // Intervals along a direction are rounded, so that open ones may seem empty: they are taken as closed there.
      pass.closed = touching || !along_axis;
      mark_solid(pass, touching);
      find_reaches(pass, interrupt);
      add_tasks(k);
    }
  }

  std::size_t bytes() const {
    std::size_t result = tasks_.capacity() * sizeof(Task);
    for (const Pass& pass : passes_) result += pass.reaches.capacity() * sizeof(Reach) + pass.solid.capacity();
    return result;
  }
  const SweepDirection& direction() const { return passes_.front().queries->direction(); }
  // How many pairs of boxes are compared, by looking for the end of every run.
  std::uint64_t candidate_count() const {
    std::uint64_t candidates = 0;
    Scratch scratch;
    for (const Pass& pass : passes_)
      for (std::size_t group = 0; group < pass.reaches.size(); ++group) {
        find_begins(pass, group, scratch);
        find_ends(pass, group, scratch);
        for (std::size_t k = 0; k < pass.rows_of(group); ++k) candidates += scratch.run_end[k] - scratch.run_begin[k];
      }
    return candidates;
  }
  std::size_t task_count() const { return tasks_.size(); }

  void run(std::size_t number, Scratch& scratch, PairBuffer& out) const {
    const Task& task = tasks_[number];
    const Pass& pass = passes_[task.pass];
    for (std::size_t group = task.group_begin; group < task.group_end; ++group) {
      find_begins(pass, group, scratch);
      if (pass.ahead == nullptr || task.is_piece || !sweep_ahead(pass, group, scratch, out))
        sweep_tiles(pass, group, task, scratch, out);
    }
  }

 private:
  // Where the runs of kRowsTogether queries lie: no more than that, for most of them end sooner.
  struct Reach {
    std::uint32_t begin, end;
  };
  // The queries' runs among the columns.
  struct Pass {
    const SortedIntervals<T>* queries = nullptr;
    const SortedIntervals<T>* columns = nullptr;
    OverlapRun<T> overlap = nullptr;     // null: whatever is in the run overlaps
    SweepAhead<T> ahead = nullptr;       // for the begin of each run; null: there is none
    bool closed = true;                  // intervals that touch overlap
    bool cross = false, turned = false;  // turned: the queries are of the second set
    std::vector<Reach> reaches;
    std::vector<std::uint8_t> solid;  // where boxes are open and not all have an interior: which columns do

    std::size_t rows_of(std::size_t group) const {
      return std::min(kRowsTogether, queries->count() - group * kRowsTogether);
    }
    // Of two sets: of intervals that begin together, one pass has the pairs.
    std::size_t begin_of_run(std::size_t from, std::size_t to, T begin) const {
      return turned ? broadphase::end_of_run<true>(columns->begins(), from, to, from, begin)
                    : broadphase::end_of_run<false>(columns->begins(), from, to, from, begin);
    }
    std::size_t end_of_run(std::size_t from, std::size_t to, std::size_t guess, T limit) const {
      return closed ? broadphase::end_of_run<true>(columns->begins(), from, to, guess, limit)
                    : broadphase::end_of_run<false>(columns->begins(), from, to, guess, limit);
    }
  };
  // Groups [group_begin, group_end) of the queries of a pass. A piece: of their runs what lies in
  // [column_begin, column_end).
  struct Task {
    std::uint32_t pass, group_begin, group_end, column_begin, column_end;
    bool is_piece;
  };

  // 1024 columns of four floats are 16 KB: half the nearest cache. More rows together reuse a tile more often, and
  // read more of it in vain where runs are short.
  static constexpr std::size_t kTileColumns = 1024, kLine = 16;
  // Of a run so much is tested before it is known where it ends.
  static constexpr std::size_t kAhead = 1024;
  // A quarter of what a task may test, so that a few threads have equal shares.
  static constexpr std::size_t kCandidates = kTaskCandidates / 4;
  static constexpr std::uint32_t kDone = ~std::uint32_t{0};  // of a run: tested to its end

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

  static void find_reaches(Pass& pass, Interrupt& interrupt) {
    const std::size_t rows = pass.queries->count(), columns = pass.columns->count();
    const T *begin = pass.queries->begins(), *end = pass.queries->ends();
    std::size_t run_begin = 0, reached = 0;
    pass.reaches.resize((rows + kRowsTogether - 1) / kRowsTogether);
    in_stretches(pass.reaches.size(), interrupt, [&](std::size_t group_begin, std::size_t group_end) {
      for (std::size_t group = group_begin; group < group_end; ++group) {
        const std::size_t first = group * kRowsTogether;
        run_begin = pass.cross ? pass.begin_of_run(run_begin, columns, begin[first]) : first + 1;
        const T furthest = *std::max_element(end + first, end + first + pass.rows_of(group));
        reached = pass.end_of_run(run_begin, columns, reached + kRowsTogether, furthest);
        pass.reaches[group] = {static_cast<std::uint32_t>(run_begin), static_cast<std::uint32_t>(reached)};
      }
    });
  }

  static void find_begins(const Pass& pass, std::size_t group, Scratch& scratch) {
    const T* begin = pass.queries->begins() + group * kRowsTogether;
    std::size_t run_begin = pass.reaches[group].begin;
    for (std::size_t k = 0; k < pass.rows_of(group); ++k) {
      if (pass.cross) run_begin = pass.begin_of_run(run_begin, pass.reaches[group].end, begin[k]);
      scratch.run_begin[k] = static_cast<std::uint32_t>(pass.cross ? run_begin : run_begin + k);
    }
  }

  // Of the runs that are not done.
  static void find_ends(const Pass& pass, std::size_t group, Scratch& scratch) {
    const T* end = pass.queries->ends() + group * kRowsTogether;
    // Guessed from a row a little earlier, so that the searches need not wait for each other.
    constexpr std::size_t kEarlier = 8;
    std::size_t guess[kEarlier] = {};
    for (std::size_t k = 0; k < pass.rows_of(group); ++k) {
      scratch.run_end[k] = 0;
      if (scratch.run_begin[k] == kDone) continue;
      const std::size_t begin = scratch.run_begin[k], to = std::max<std::size_t>(pass.reaches[group].end, begin);
      const std::size_t found = pass.end_of_run(begin, to, std::max(begin, guess[k % kEarlier]), end[k]);
      scratch.run_end[k] = static_cast<std::uint32_t>(found);
      guess[k % kEarlier] = found + kEarlier;
    }
  }

  void add_tasks(std::uint32_t number) {
    const Pass& pass = passes_[number];
    const auto groups = static_cast<std::uint32_t>(pass.reaches.size());
    const auto columns = static_cast<std::uint32_t>(pass.columns->count());
    std::uint32_t start = 0;
    std::size_t pending = 0;  // candidates of the groups from `start` on, at most
    const auto flush = [&](std::uint32_t group) {
      if (pending > 0) tasks_.push_back({number, start, group, 0, columns, false});
      start = group;
      pending = 0;
    };
    for (std::uint32_t k = 0; k < groups; ++k) {
      const std::size_t begin = pass.reaches[k].begin, length = pass.reaches[k].end - begin;
      const std::size_t candidates = length * pass.rows_of(k);
      if (pending + candidates > kCandidates) flush(k);
      pending += candidates;
      if (candidates <= kCandidates) continue;
      // Runs longer than a task are cut to pieces.
      constexpr std::size_t kPiece = kCandidates / kRowsTogether;
      for (std::size_t at = begin; at < begin + length; at += kPiece)
        tasks_.push_back({number, k, k + 1, static_cast<std::uint32_t>(at),
                          static_cast<std::uint32_t>(std::min(at + kPiece, begin + length)), true});
      start = k + 1;
      pending = 0;
    }
    flush(groups);
  }

  // The first columns of each run. False where some go on.
  bool sweep_ahead(const Pass& pass, std::size_t group, Scratch& scratch, PairBuffer& out) const {
    const SortedIntervals<T>&queries = *pass.queries, &columns = *pass.columns;
    const std::size_t first = group * kRowsTogether, rows = pass.rows_of(group);
    scratch.hits.grow((kAhead + 2) * kRowsTogether);
    RunHits* hits = scratch.hits.get();
    const std::size_t found =
        pass.ahead({queries.tested_columns(), queries.ends(), first, first + rows, scratch.run_begin,
                    columns.tested_columns(), columns.begins(), columns.count(), kAhead},
                   hits);
    std::size_t pairs = 0;
    for (std::size_t k = 0; k < found; ++k) {
      if (!pass.solid.empty()) keep_solid(pass, hits[k]);
      pairs += static_cast<std::size_t>(std::popcount(hits[k].lanes));
    }
    if (out.counts_only()) {
      out.add_count(pairs);
    } else if (pairs > 0) {
      out.room(pairs);
      std::int32_t *to_first = out.first(), *to_second = out.second();
      for (std::size_t k = 0; k < found; ++k)
        for (std::uint32_t bits = hits[k].lanes; bits != 0; bits &= bits - 1) {
          const std::int32_t query = queries.rows()[hits[k].box];
          const std::int32_t other =
              columns.rows()[hits[k].position + static_cast<std::uint32_t>(std::countr_zero(bits))];
          const bool swapped = pass.cross ? pass.turned : other < query;
          *to_first++ = swapped ? other : query;
          *to_second++ = swapped ? query : other;
        }
      out.commit(pairs);
    }
    return std::all_of(scratch.run_begin, scratch.run_begin + rows, [](std::uint32_t from) { return from == kDone; });
  }

  // What is left of the runs, a tile at a time.
  void sweep_tiles(const Pass& pass, std::size_t group, const Task& task, Scratch& scratch, PairBuffer& out) const {
    scratch.positions.resize(kTileColumns + 64);
    find_ends(pass, group, scratch);
    // Mostly few are left, and of those only tiles that they reach are looked at.
    std::uint32_t left[kRowsTogether], count = 0;
    std::size_t begin = task.column_end, end = task.column_begin;
    for (std::uint32_t k = 0; k < pass.rows_of(group); ++k) {
      if (scratch.run_begin[k] >= scratch.run_end[k]) continue;
      left[count++] = k;
      begin = std::min<std::size_t>(begin, scratch.run_begin[k]);
      end = std::max<std::size_t>(end, scratch.run_end[k]);
    }
    end = std::min<std::size_t>(end, task.column_end);
    // Tiles begin at multiples of their length, so that the columns are read line by line.
    std::size_t tile = std::max<std::size_t>(begin, task.column_begin) / kLine * kLine;
    for (; tile < end; tile += kTileColumns)
      for (std::uint32_t k = 0; k < count; ++k) {
        const std::size_t row = left[k];
        const std::size_t from = std::max({tile, std::size_t{scratch.run_begin[row]}, std::size_t{task.column_begin}});
        const std::size_t to = std::min({tile + kTileColumns, end, std::size_t{scratch.run_end[row]}});
        if (from < to) test(pass, group * kRowsTogether + row, from, to, scratch, out);
      }
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
  static void keep_solid(const Pass& pass, RunHits& hits) {
    if (!pass.queries->solid(hits.box)) hits.lanes = 0;
    for (std::uint32_t bits = hits.lanes; bits != 0; bits &= bits - 1)
      if (pass.solid[hits.position + static_cast<std::uint32_t>(std::countr_zero(bits))] == 0)
        hits.lanes &= ~(bits & (~bits + 1));
  }
  static std::size_t keep_solid(const Pass& pass, std::size_t row, std::uint32_t* positions, std::size_t count) {
    if (!pass.queries->solid(row)) return 0;
    return static_cast<std::size_t>(
        std::remove_if(positions, positions + count, [&](std::uint32_t k) { return pass.solid[k] == 0; }) - positions);
  }

  std::optional<SortedIntervals<T>> own_first_, own_second_;
  std::vector<Pass> passes_;
  std::vector<Task> tasks_;
};

}  // namespace broadphase
