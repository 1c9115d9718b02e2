// Columns cut to the scene, and in each a short sweep.
//
// A box is filed in every cell it covers, so the two boxes of a pair meet in at least one. They may meet in several:
// the pair counts where, along every axis, one of the two began in the cell, which is true of exactly one cell, the one
// that holds the larger lower corner along each axis (Dittrich and Seeger, ICDE 2000, doi 10.1109/ICDE.2000.839452).
//
// Where the boxes of one cell are so many, or so close together on the cell's scale, that a grid of their own pays,
// they get one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "choose/choose.hpp"
#include "grid/level.hpp"
#include "query/method.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

template <class T>
class Grid {
 public:
  static constexpr std::size_t kBlocks = 128;

  struct Scratch : GridLevel<T>::Scratch {
    CandidateBlock blocks[kBlocks];
    std::uint32_t sure[kBlocks], possible[kBlocks];
    std::unique_ptr<std::uint64_t[]> hits = std::make_unique_for_overwrite<std::uint64_t[]>(kBlocks * kBlockLanes + 4);
  };

  // Throws InvalidBoxes for NaN and for lower > upper. `shape`: of the problem's boxes, if that is known already.
  Grid(const Problem<T>& problem, const Kernels& kernels, unsigned workers, const SceneShape& shape,
       Interrupt interrupt = Interrupt())
      : problem_(problem), kernels_(kernels) {
    levels_.push_back(std::make_unique<GridLevel<T>>(problem, kernels, workers, shape, interrupt));
    std::unique_ptr<Scratch> scratch;
    add_tasks(0, scratch, interrupt);
  }
  Grid(const Problem<T>& problem, const Kernels& kernels, unsigned workers)
      : Grid(problem, kernels, workers, report_scene(problem, looked_at(problem)).shape) {}

  std::size_t task_count() const { return tasks_.size(); }

  void run(std::size_t number, Scratch& scratch, PairBuffer& out) const {
    const Task& task = tasks_[number];
    const GridLevel<T>& level = *levels_[task.level];
    level.prepare(task.cell, scratch);
    const CellArrays &a = scratch.room[0].arrays, &b = scratch.room[problem_.cross ? 1 : 0].arrays;
    const std::size_t axis = level.layout().sweep_axis;
    const EvenSplit split{a.count, task.parts};
    SweepRequest request{
        &a, &b,     &scratch.buckets, axis, !problem_.cross, false, split.at(task.part), split.at(task.part + 1),
        0,  kBlocks};
    sweep(request, false, scratch, out);
    if (!problem_.cross) return;
    const EvenSplit other{b.count, task.parts};
    request = {&b, &a, &scratch.buckets, axis, false, true, other.at(task.part), other.at(task.part + 1), 0, kBlocks};
    sweep(request, true, scratch, out);
  }

  // The grids: over all boxes first, then those of crowded cells.
  const GridLevel<T>& level(std::size_t number) const { return *levels_[number]; }
  std::size_t level_count() const { return levels_.size(); }

  // Calls use(level, cell) for every cell that has pairs to look for.
  template <class Use>
  void for_each_cell(Use&& use) const {
    for (const Task& task : tasks_)
      if (task.part == 0) use(*levels_[task.level], std::size_t{task.cell});
  }

  // How many boxes a search compares with how many others, by a second look at every cell.
  std::uint64_t count_tests(Interrupt& interrupt) const {
    std::uint64_t tests = 0;
    Scratch scratch;
    for_each_cell([&](const GridLevel<T>& level, std::size_t cell) {
      tests += tests_in(level, cell, scratch);
      interrupt.check();
    });
    return tests;
  }

 private:
  struct Task {
    std::uint32_t level, cell, part, parts;
  };
  // Where a box is expected to be tested against so many of them or more.
  static constexpr double kRunsWorthALook = 100;

  std::size_t index() const { return problem_.dimension - 1; }

  void add_tasks(std::size_t number, std::unique_ptr<Scratch>& scratch, Interrupt& interrupt) {
    const GridLevel<T>& level = *levels_[number];
    for (std::size_t cell = 0; cell < level.layout().cell_count; ++cell) {
      const std::size_t a = level.count_in(0, cell), b = problem_.cross ? level.count_in(1, cell) : a;
      const std::size_t most = problem_.cross ? a * b : a * (a - (a > 0)) / 2;
      if (most == 0) continue;
      if (problem_.cross ? a + b > kCrowd : a > kCrowd) {
        if (!scratch) scratch = std::make_unique<Scratch>();
        if (auto crowded = split_cell(level, cell, *scratch, interrupt)) {
          levels_.push_back(std::move(crowded));
          add_tasks(levels_.size() - 1, scratch, interrupt);
          continue;
        }
        interrupt.check();
      }
      const std::size_t parts = std::min(std::max(a, b), most / kTaskCandidates + 1);
      for (std::size_t part = 0; part < parts; ++part)
        tasks_.push_back({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(cell),
                          static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(parts)});
    }
  }

  // A grid for the boxes of one cell, or none where it would not pay.
  std::unique_ptr<GridLevel<T>> split_cell(const GridLevel<T>& level, std::size_t cell, Scratch& scratch,
                                           Interrupt& interrupt) const {
    // Every level needs a bit for each axis.
    if ((level.depth() + 2) * problem_.dimension > 16) return nullptr;
    // Most crowds are swept quickly as they are, which a look at a few of their boxes tells.
    if (level.meeting_in(cell) < kRunsWorthALook) return nullptr;
    const double blocks = blocks_in(level, cell, scratch);
    Crowd crowds[2];
    double all = 0;
    for (std::size_t k = 0; k < (problem_.cross ? 2u : 1u); ++k) {
      crowds[k] = level.crowd_in(k, cell, scratch);
      all += static_cast<double>(crowds[k].rows.size());
    }
    const SceneShape shape = shape_of(level.sample_of(crowds), problem_.dimension);
    const double as_it_is = all * GridCosts::kRecord + blocks * GridCosts::kBlock;
    const double split = plan_cells(shape, all, problem_.dimension).cost + all * GridCosts::kRefile;
    if (split > 0.7 * as_it_is) return nullptr;
    auto made = std::make_unique<GridLevel<T>>(level, std::move(crowds), shape, interrupt);
    // No gain if they all end up together again.
    for (std::size_t c = 0; c < made->layout().cell_count; ++c)
      if (static_cast<double>(made->count_in(0, c) + (problem_.cross ? made->count_in(1, c) : 0)) > 0.9 * all &&
          made->layout().cell_count > 1)
        return nullptr;
    return made;
  }

  // How many blocks of candidates the sweep of a cell would test.
  double blocks_in(const GridLevel<T>& level, std::size_t cell, Scratch& scratch) const {
    level.prepare(cell, scratch);
    const std::size_t axis = level.layout().sweep_axis;
    double blocks = 0;
    for (std::size_t k = 0; k < (problem_.cross ? 2u : 1u); ++k) {
      const CellArrays &a = scratch.room[k].arrays, &b = scratch.room[problem_.cross ? 1 - k : 0].arrays;
      // Every eighth will do.
      for (std::size_t i = 0; i < a.count; i += 8) {
        const std::size_t first = problem_.cross ? b.bucket_end[scratch.bucket(a.lower[axis][i])] : i + 1;
        const std::size_t end = b.bucket_end[scratch.bucket(-a.negated_upper[axis][i])];
        blocks += 1 + static_cast<double>(end > first ? (end - first) / kBlockLanes : 0);
      }
    }
    return 8 * blocks;
  }

  std::uint64_t tests_in(const GridLevel<T>& level, std::size_t cell, Scratch& scratch) const {
    level.prepare(cell, scratch);
    const std::size_t axis = level.layout().sweep_axis;
    std::uint64_t tests = 0;
    for (std::size_t k = 0; k < (problem_.cross ? 2u : 1u); ++k) {
      const CellArrays &a = scratch.room[k].arrays, &b = scratch.room[problem_.cross ? 1 - k : 0].arrays;
      for (std::size_t i = 0; i < a.count; ++i) {
        const std::size_t first = problem_.cross ? b.bucket_end[scratch.bucket(a.lower[axis][i])] : i + 1;
        const std::size_t end = b.bucket_end[scratch.bucket(-a.negated_upper[axis][i])];
        tests += end > first ? end - first : 0;
      }
    }
    return tests;
  }

  void sweep(SweepRequest& request, bool swapped, Scratch& scratch, PairBuffer& out) const {
    const std::uint32_t *a = request.a->row, *b = request.b->row;
    while (request.begin < request.end) {
      const std::size_t used = kernels_.sweep_blocks[index()](request, scratch.blocks, scratch.sure, scratch.possible);
      for (std::size_t k = 0; k < used; ++k)
        if (scratch.sure[k] != scratch.possible[k]) resolve(scratch, k, a, b, swapped);
      if (out.counts_only()) {
        out.add_count(kernels_.count_hits(scratch.sure, used));
        continue;
      }
      const std::size_t found = kernels_.list_hits(scratch.blocks, scratch.sure, used, scratch.hits.get());
      out.room(found);
      kernels_.name_rows(scratch.hits.get(), found, a, b, !problem_.cross, swapped ? out.second() : out.first(),
                         swapped ? out.first() : out.second());
      out.commit(found);
    }
  }

  // Equal numbers in a cell do not tell the order of what they stand for: ask the boxes.
  void resolve(Scratch& scratch, std::size_t k, const std::uint32_t* a, const std::uint32_t* b, bool swapped) const {
    const CandidateBlock block = scratch.blocks[k];
    const auto i = static_cast<std::int32_t>(a[block.record]);
    for (std::uint32_t bits = scratch.possible[k] & ~scratch.sure[k]; bits != 0; bits &= bits - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(bits));
      const auto j = static_cast<std::int32_t>(b[block.first_candidate + lane]);
      const bool hit = swapped ? overlaps(problem_, j, i) : overlaps(problem_, i, j);
      scratch.sure[k] |= static_cast<std::uint32_t>(hit) << lane;
    }
  }

  Problem<T> problem_;
  const Kernels& kernels_;
  std::vector<std::unique_ptr<GridLevel<T>>> levels_;
  std::vector<Task> tasks_;
};

}  // namespace broadphase
