// A sweep over boxes that are sorted already.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/memory.hpp"
#include "base/samples.hpp"
#include "boxes/box_columns.hpp"
#include "query/method.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"
#include "sweep/sorted_intervals.hpp"

namespace broadphase {

template <class T>
struct SweepScratch {
  // Rows that follow each other have much the same run: they go through it together.
  static constexpr std::size_t kRowsTogether = 32;

  std::vector<std::uint32_t> positions, blocks;
  std::uint32_t run_begin[kRowsTogether], run_end[kRowsTogether];
  PlainArray<RunHits> hits;
  // Where the numbers are rounded and many of them equal: the boxes of a tile.
  BoxColumns<T> exact;
  std::size_t room = 0;
};

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
// while. Time O(n + candidates); a quarter of a byte a box.
//
// `T` is the type of the sorted numbers, `Given` that of the boxes. Where they differ, the numbers are rounded, and
// what overlaps as closed boxes does so for certain only if no two numbers that were compared are equal: otherwise the
// the given boxes decide. See RoundedIntervals.
template <class T, class Given>
class IntervalSweep {
 public:
  using Scratch = SweepScratch<Given>;
  static constexpr bool kRounded = !std::is_same_v<T, Given>;

  IntervalSweep() = default;
  IntervalSweep(const IntervalSweep&) = delete;
  IntervalSweep& operator=(const IntervalSweep&) = delete;

  // Over the rounded boxes of a problem, which must outlive this. False where far more may be tested than for the boxes
  // themselves: where too many begin in the number in which others end.
  bool prepare(const SortedIntervals<T>& first, const SortedIntervals<T>* second, const Problem<Given>& problem,
               const Kernels& kernels, Interrupt& interrupt)
    requires kRounded
  {
    problem_ = &problem;
    exact_overlap_ = overlap_kernels<Given>(kernels, problem.touching).run[problem.dimension - 1];
    prepare(first, second, kernels, true, interrupt);
    // Some are to be expected: boxes that are stacked touch.
    return std::all_of(passes_.begin(), passes_.end(), [](const Pass& pass) {
      return pass.equal <= 4 * pass.certain + kRowsTogether * pass.queries->count();
    });
  }

  // Over boxes that are sorted already, closed or not; two sets along the same direction. They must outlive this.
  // Reuses the memory of what was prepared before.
  void prepare(const SortedIntervals<T>& first, const SortedIntervals<T>* second, const Kernels& kernels, bool touching,
               Interrupt& interrupt) {
    tasks_.clear();
    const std::size_t axes = first.tested_axes();
    const OverlapKernels<T>& overlap = overlap_kernels<T>(kernels, touching);
    const bool along_axis = first.direction().axis >= 0;
    passes_.resize(second == nullptr ? 1 : 2);
    for (std::uint32_t k = 0; k < passes_.size(); ++k) {
      // Of two intervals that overlap, the second begins within the first, or else the first after the second begins.
      Pass& pass = passes_[k];
      pass.queries = k == 0 ? &first : second;
      pass.columns = k == 1 || second == nullptr ? &first : second;
      pass.overlap = axes > 0 ? overlap.run[axes - 1] : nullptr;
      pass.ahead = along_axis && axes > 0 ? overlap.ahead[axes - 1] : nullptr;
      pass.cross = second != nullptr;
      pass.turned = k == 1;
      // Intervals along a direction are rounded, so that open ones may seem empty: they are taken as closed there.
      pass.closed = touching || !along_axis;
      pass.overlap_blocks = axes > 0 ? overlap.blocks[axes - 1] : nullptr;
      mark_solid(pass, touching);
      find_reaches(pass, interrupt);
      find_blocks(pass, interrupt);
      add_tasks(k);
    }
  }

  std::size_t bytes() const {
    std::size_t result = tasks_.capacity() * sizeof(Task);
    for (const Pass& pass : passes_) {
      result += pass.reaches.capacity() * sizeof(Reach) + pass.solid.capacity();
      if (pass.block_room > 0) result += pass.blocks.bytes();
    }
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
  // Of some boxes at least.
  bool tests_blocks() const {
    return std::any_of(passes_.begin(), passes_.end(), [](const Pass& pass) { return pass.by_blocks; });
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
  static constexpr std::size_t kRowsTogether = Scratch::kRowsTogether;
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
    std::vector<std::uint8_t> solid;       // where boxes are open and not all have an interior: which columns do
    std::uint64_t beyond = 0;              // how far runs reach behind what is tested ahead, at most, in all
    std::uint64_t certain = 0, equal = 0;  // rounded: of the reaches, what begins before the end, and in that number
    // The bounds of blocks of kBlockOfRun of the tested columns, where they are used.
    bool by_blocks = false;
    OverlapBlocks<T> overlap_blocks = nullptr;
    BoxColumns<T> blocks;
    std::size_t block_room = 0, block_axes = 0;

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
  // Of a run so much is tested before it is known where it ends. Blocks are quicker where many are missed.
  static constexpr std::size_t kAhead = 1024, kAheadOfBlocks = 128;
  // Rounded: so many boxes are decided before it is worth it to gather all that are near.
  static constexpr std::size_t kWorthATile = 256;
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
    pass.beyond = pass.certain = pass.equal = 0;
    pass.reaches.resize((rows + kRowsTogether - 1) / kRowsTogether);
    in_stretches(pass.reaches.size(), interrupt, [&](std::size_t group_begin, std::size_t group_end) {
      for (std::size_t group = group_begin; group < group_end; ++group) {
        const std::size_t first = group * kRowsTogether;
        run_begin = pass.cross ? pass.begin_of_run(run_begin, columns, begin[first]) : first + 1;
        const T furthest = *std::max_element(end + first, end + first + pass.rows_of(group));
        reached = pass.end_of_run(run_begin, columns, reached + kRowsTogether, furthest);
        pass.reaches[group] = {static_cast<std::uint32_t>(run_begin), static_cast<std::uint32_t>(reached)};
        const std::size_t length = reached - run_begin, members = pass.rows_of(group);
        if (length > kAhead) pass.beyond += (length - kAhead) * members;
        if constexpr (kRounded) {
          const std::size_t certain =
              broadphase::end_of_run<false>(pass.columns->begins(), run_begin, reached, reached, furthest) - run_begin;
          pass.certain += certain * members;
          pass.equal += (length - certain) * members;
        }
      }
    });
  }

  // Makes blocks where runs are long and, by some of the boxes, most of the blocks in them are missed: where large
  // boxes have many small ones beside them.
  static void find_blocks(Pass& pass, Interrupt& interrupt) {
    constexpr std::uint64_t kWorthIt = 200;  // candidates of each box behind what is tested ahead
    constexpr std::size_t kGroups = 16, kOneOf = 4;
    pass.by_blocks = false;
    if (pass.overlap == nullptr || pass.beyond < kWorthIt * pass.queries->count()) return;
    struct Run {
      std::size_t row, begin, end;
    };
    std::vector<Run> runs;
    std::uint64_t beyond = 0, looked_at = 0;
    Scratch scratch;
    const StratifiedSample sample(pass.reaches.size(), kGroups);
    for (std::size_t k = 0; k < sample.size(); ++k) {
      find_begins(pass, sample[k], scratch);
      find_ends(pass, sample[k], scratch);
      const StratifiedSample few(pass.rows_of(sample[k]), (pass.rows_of(sample[k]) + kOneOf - 1) / kOneOf, k);
      std::size_t next = 0;
      for (std::size_t row = 0; row < pass.rows_of(sample[k]); ++row, ++looked_at) {
        const bool is_taken = next < few.size() && few[next] == row;
        next += is_taken ? 1 : 0;
        const std::size_t begin = scratch.run_begin[row] + kAheadOfBlocks, end = scratch.run_end[row];
        if (begin >= end) continue;
        beyond += end - begin;
        if (is_taken) runs.push_back({sample[k] * kRowsTogether + row, begin, end});
      }
    }
    if (beyond < kWorthIt * looked_at) return;
    make_blocks(pass, interrupt);
    std::uint64_t met = 0, all = 0;
    for (const Run& run : runs) {
      T box[8];
      pass.queries->gather_tested(run.row, box);
      const std::size_t begin = run.begin / kBlockOfRun, end = (run.end + kBlockOfRun - 1) / kBlockOfRun;
      scratch.positions.resize(end - begin + 64);
      met += pass.overlap({pass.blocks.pointers(), begin, end, box}, scratch.positions.data());
      all += end - begin;
    }
    pass.by_blocks = 4 * met < all;
  }

  static void make_blocks(Pass& pass, Interrupt& interrupt) {
    const std::size_t count = pass.columns->count(), axes = pass.columns->tested_axes();
    const std::size_t blocks = (count + kBlockOfRun - 1) / kBlockOfRun;
    if (blocks > pass.block_room || axes != pass.block_axes) {
      pass.blocks = BoxColumns<T>(blocks, axes);
      pass.block_room = blocks;
      pass.block_axes = axes;
    }
    in_stretches(blocks, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = 0; k < axes; ++k) {
        const T *lower = pass.columns->tested_columns()[k], *upper = pass.columns->tested_columns()[axes + k];
        T *lowest = pass.blocks.lower(k), *highest = pass.blocks.upper(k);
        for (std::size_t block = begin; block < end; ++block) {
          const std::size_t from = block * kBlockOfRun, to = std::min(count, from + kBlockOfRun);
          lowest[block] = *std::min_element(lower + from, lower + to);
          highest[block] = *std::max_element(upper + from, upper + to);
        }
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

  // The first columns of each run. False where some go on, or where many numbers are equal: then nothing is done yet.
  bool sweep_ahead(const Pass& pass, std::size_t group, Scratch& scratch, PairBuffer& out) const {
    const SortedIntervals<T>&queries = *pass.queries, &columns = *pass.columns;
    const std::size_t first = group * kRowsTogether, rows = pass.rows_of(group);
    scratch.hits.grow((kAhead + 2) * kRowsTogether);
    RunHits* hits = scratch.hits.get();
    const std::size_t found = pass.ahead(
        {queries.tested_columns(), queries.ends(), first, first + rows, scratch.run_begin, columns.tested_columns(),
         columns.begins(), columns.count(), pass.by_blocks ? kAheadOfBlocks : kAhead},
        hits);
    std::size_t pairs = 0;
    [[maybe_unused]] std::size_t decided = 0;
    for (std::size_t k = 0; k < found; ++k) {
      if (!pass.solid.empty()) keep_solid(pass, hits[k]);
      if constexpr (kRounded) {
        decided += problem_->dimension == 3 ? decide<3>(pass, hits[k]) : decide<4>(pass, hits[k]);
        if (decided > kWorthATile && decided > pass.reaches[group].end - pass.reaches[group].begin) {
          find_begins(pass, group, scratch);
          return false;
        }
      }
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
    const std::size_t length = pass.by_blocks ? kTileColumns * kBlockOfRun : kTileColumns;
    scratch.positions.resize(length + 64);
    scratch.blocks.resize(kTileColumns + 64);
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
    for (; tile < end; tile += length) {
      const std::size_t tile_begin = std::max({tile, begin, std::size_t{task.column_begin}});
      const std::size_t tile_end = std::min(tile + length, end);
      std::size_t decided = 0;
      bool decide_all = false;
      for (std::uint32_t k = 0; k < count; ++k) {
        const std::size_t row = group * kRowsTogether + left[k];
        const std::size_t from = std::max(tile_begin, std::size_t{scratch.run_begin[left[k]]});
        const std::size_t to = std::min(tile_end, std::size_t{scratch.run_end[left[k]]});
        if (from >= to) continue;
        std::size_t found;
        if constexpr (kRounded) {
          if (!decide_all && decided > kWorthATile && decided > tile_end - tile_begin) {
            gather_exact(pass, tile_begin, tile_end, scratch);
            decide_all = true;
          }
          if (decide_all) {
            found = test_exact(pass, row, from, to, tile_begin, scratch);
          } else {
            found = test(pass, row, from, to, scratch, out);
            found = problem_->dimension == 3 ? decide<3>(pass, row, scratch.positions.data(), found, decided)
                                             : decide<4>(pass, row, scratch.positions.data(), found, decided);
          }
        } else {
          found = test(pass, row, from, to, scratch, out);
        }
        if (found > 0) put(pass, row, scratch.positions.data(), found, out);
      }
    }
  }

  // Those of [from, to) that overlap; only how many, where `out` needs no more.
  std::size_t test(const Pass& pass, std::size_t row, std::size_t from, std::size_t to, Scratch& scratch,
                   const PairBuffer& out) const {
    std::uint32_t* positions = scratch.positions.data();
    std::size_t found = to - from;
    if (pass.overlap != nullptr) {
      T box[8];
      pass.queries->gather_tested(row, box);
      const T* const* columns = pass.columns->tested_columns();
      const std::size_t first = (from + kBlockOfRun - 1) / kBlockOfRun, last = to / kBlockOfRun;
      if (pass.by_blocks && first < last) {
        found = pass.overlap({columns, from, first * kBlockOfRun, box}, positions);
        const std::size_t blocks = pass.overlap({pass.blocks.pointers(), first, last, box}, scratch.blocks.data());
        found += pass.overlap_blocks({columns, scratch.blocks.data(), blocks, box}, positions + found);
        found += pass.overlap({columns, last * kBlockOfRun, to, box}, positions + found);
      } else {
        found = pass.overlap({columns, from, to, box}, positions);
      }
    } else if (!out.counts_only() || !pass.solid.empty()) {
      std::iota(positions, positions + found, static_cast<std::uint32_t>(from));
    }
    return pass.solid.empty() ? found : keep_solid(pass, row, positions, found);
  }

  void put(const Pass& pass, std::size_t row, const std::uint32_t* positions, std::size_t found,
           PairBuffer& out) const {
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

  // Of a box among the queries and one that overlaps it: is any number equal to the one it was compared with?
  template <std::size_t D>
  class Equality {
   public:
    Equality(const Pass& pass, std::size_t row) : columns_(pass.columns->columns()) {
      for (std::size_t k = 0; k < 2 * D; ++k) box_[k] = pass.queries->columns()[k][row];
    }
    bool operator()(std::size_t position) const {
      bool equal = false;
      for (std::size_t k = 0; k < D; ++k)
        equal |= (box_[k] == columns_[D + k][position]) | (columns_[k][position] == box_[D + k]);
      return equal;
    }

   private:
    const T* const* columns_;
    T box_[2 * D];
  };
  bool boxes_overlap(const Pass& pass, std::size_t row, std::size_t position) const {
    const std::int32_t query = pass.queries->rows()[row], other = pass.columns->rows()[position];
    return pass.turned ? overlaps(*problem_, other, query) : overlaps(*problem_, query, other);
  }
  // Leaves what overlaps; returns how many boxes were decided.
  template <std::size_t D>
  std::size_t decide(const Pass& pass, RunHits& hits) const {
    const Equality<D> equal(pass, hits.box);
    std::size_t decided = 0;
    for (std::uint32_t bits = hits.lanes; bits != 0; bits &= bits - 1) {
      const std::size_t position = hits.position + static_cast<std::uint32_t>(std::countr_zero(bits));
      if (!equal(position)) continue;
      ++decided;
      if (!boxes_overlap(pass, hits.box, position)) hits.lanes &= ~(bits & (~bits + 1));
    }
    return decided;
  }
  // Returns how many positions are left.
  template <std::size_t D>
  std::size_t decide(const Pass& pass, std::size_t row, std::uint32_t* positions, std::size_t count,
                     std::size_t& decided) const {
    const Equality<D> equal(pass, row);
    const auto apart = [&](std::uint32_t position) {
      if (!equal(position)) return false;
      ++decided;
      return !boxes_overlap(pass, row, position);
    };
    return static_cast<std::size_t>(std::remove_if(positions, positions + count, apart) - positions);
  }

  // All boxes in [begin, end), to test them many at a time.
  void gather_exact(const Pass& pass, std::size_t begin, std::size_t end, Scratch& scratch) const {
    const std::size_t dimension = problem_->dimension;
    if (end - begin > scratch.room) {
      scratch.exact = BoxColumns<Given>(end - begin, dimension);
      scratch.room = end - begin;
    }
    const BoxView<Given>& boxes = pass.cross && !pass.turned ? problem_->second : problem_->first;
    for (std::size_t position = begin; position < end; ++position) {
      const auto row = static_cast<std::size_t>(pass.columns->rows()[position]);
      for (std::size_t k = 0; k < dimension; ++k) {
        scratch.exact.lower(k)[position - begin] = boxes.lower_of(row)[k] - problem_->grow;
        scratch.exact.upper(k)[position - begin] = boxes.upper_of(row)[k] + problem_->grow;
      }
    }
  }
  // Those of [from, to) that overlap, by the boxes from `tile` on.
  std::size_t test_exact(const Pass& pass, std::size_t row, std::size_t from, std::size_t to, std::size_t tile,
                         Scratch& scratch) const {
    const BoxView<Given>& boxes = pass.turned ? problem_->second : problem_->first;
    const auto query = static_cast<std::size_t>(pass.queries->rows()[row]);
    Given box[8];
    for (std::size_t k = 0; k < problem_->dimension; ++k) {
      box[k] = boxes.lower_of(query)[k] - problem_->grow;
      box[problem_->dimension + k] = boxes.upper_of(query)[k] + problem_->grow;
    }
    std::uint32_t* positions = scratch.positions.data();
    const std::size_t found = exact_overlap_({scratch.exact.pointers(), from - tile, to - tile, box}, positions);
    for (std::size_t k = 0; k < found; ++k) positions[k] += static_cast<std::uint32_t>(tile);
    return found;
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

  std::vector<Pass> passes_;
  std::vector<Task> tasks_;
  // Rounded: of which boxes the numbers are, and the kernel that tests those in all axes.
  const Problem<Given>* problem_ = nullptr;
  OverlapRun<Given> exact_overlap_ = nullptr;
};

}  // namespace broadphase
