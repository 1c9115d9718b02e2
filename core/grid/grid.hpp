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
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "grid/plan.hpp"
#include "query/method.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

// Room for one set's share of a cell, reused from cell to cell.
class CellRoom {
 public:
  CellArrays arrays{};

  void prepare(std::size_t count, std::size_t dimension, std::size_t buckets) {
    const std::size_t padded = count + kCellPadding;
    if (padded > padded_) {
      padded_ = padded + padded / 2;
      words_ = std::make_unique_for_overwrite<std::int16_t[]>(padded_ * dimension * 2);
      doubled_ = std::make_unique_for_overwrite<std::uint32_t[]>(padded_ * (dimension * 2 + 2));
      before_ = std::make_unique_for_overwrite<std::uint16_t[]>(padded_);
    }
    if (buckets + 2 > buckets_) {
      buckets_ = 2 * buckets + 2;
      ends_ = std::make_unique_for_overwrite<std::uint32_t[]>(buckets_);
    }
    for (std::size_t d = 0; d < dimension; ++d) {
      arrays.lower[d] = words_.get() + (2 * d) * padded_;
      arrays.negated_upper[d] = words_.get() + (2 * d + 1) * padded_;
      arrays.doubled_lower[d] = doubled_.get() + (2 * d) * padded_;
      arrays.doubled_negated_upper[d] = doubled_.get() + (2 * d + 1) * padded_;
    }
    arrays.began_before = before_.get();
    arrays.doubled_began_before = doubled_.get() + 2 * dimension * padded_;
    arrays.row = doubled_.get() + (2 * dimension + 1) * padded_;
    arrays.bucket_end = ends_.get();
    arrays.count = count;
  }

 private:
  std::size_t padded_ = 0, buckets_ = 0;
  std::unique_ptr<std::int16_t[]> words_;
  std::unique_ptr<std::uint16_t[]> before_;
  std::unique_ptr<std::uint32_t[]> doubled_, ends_;
};

// The boxes of one set that a grid is over, where they are not all of it.
struct Crowd {
  std::vector<std::uint32_t> rows;
  // Which boxes began before which cell, in this grid's parents: see CellArrays::began_before.
  std::vector<std::uint16_t> began_before;
};

template <class T>
class GridLevel {
 public:
  // All boxes of the problem. Throws InvalidBoxes for NaN and for lower > upper.
  GridLevel(const Problem<T>& problem, const Kernels& kernels, unsigned workers, const SceneShape& shape,
            Interrupt& interrupt)
      : problem_(problem), kernels_(kernels) {
    build(shape, workers, interrupt);
  }
  // Those of a cell of `parent`.
  GridLevel(const GridLevel& parent, Crowd (&&crowds)[2], const SceneShape& shape, Interrupt& interrupt)
      : problem_(parent.problem_),
        kernels_(parent.kernels_),
        crowds_{std::move(crowds[0]), std::move(crowds[1])},
        depth_(parent.depth_ + 1) {
    build(shape, 1, interrupt);
  }

  const GridLayout<T>& layout() const { return layout_; }
  std::size_t depth() const { return depth_; }
  std::size_t count_in(std::size_t set, std::size_t cell) const { return filed_[set].count[cell]; }
  std::size_t record_count() const { return filed_[0].record_count + filed_[1].record_count; }

  // What one thread needs to go through cells one after the other.
  struct Scratch {
    const GridLevel* level = nullptr;
    std::size_t cell = 0;
    CellRoom room[2];
    Buckets buckets{};
    PlainArray<std::byte> sorted;

    std::size_t bucket(std::int32_t x) const {
      return std::min(static_cast<std::uint32_t>((x - buckets.lowest) >> buckets.shift), buckets.count - 1);
    }
  };

  // Sorts a cell's records into the scratch, unless they are there.
  void prepare(std::size_t cell, Scratch& scratch) const {
    if (scratch.level == this && scratch.cell == cell) return;
    scratch.level = nullptr;
    CellRecords records[2];
    std::size_t total = 0;
    std::int32_t low = 32767, high = -32768;
    for (std::size_t k = 0; k < sets(); ++k) {
      const std::uint32_t* start = &filed_[k].start[cell];
      records[k] = {filed_[k].runs.data() + start[0], start[1] - start[0], count_in(k, cell)};
      kernels_.sweep_range[index()](records[k], layout_.sweep_axis, &low, &high);
      total += count_in(k, cell);
    }
    Buckets& buckets = scratch.buckets;
    buckets = {low, 0, 0};
    while ((high - low) >> buckets.shift >= static_cast<std::int32_t>(std::max<std::size_t>(total / 4, 8)))
      ++buckets.shift;
    buckets.count = static_cast<std::uint32_t>((high - low) >> buckets.shift) + 1;
    for (std::size_t k = 0; k < sets(); ++k) {
      scratch.room[k].prepare(count_in(k, cell), problem_.dimension, buckets.count);
      scratch.sorted.grow(count_in(k, cell) * record_size());
      kernels_.sort_cell[index()](records[k], layout_.sweep_axis, buckets, scratch.sorted.get(),
                                  scratch.room[k].arrays);
      if (depth_ > 0) name_crowd(crowds_[k], scratch.room[k].arrays);
    }
    scratch.level = this;
    scratch.cell = cell;
  }

  // How many candidates a box of a cell would be tested against, by a few of them.
  double meeting_in(std::size_t cell) const {
    constexpr std::size_t kLookedAt = 64;
    SampledEnds ends;
    std::size_t total = 0;
    for (std::size_t k = 0; k < sets(); ++k) {
      const EvenSample taken(count_in(k, cell), kLookedAt);
      std::size_t next = 0, passed = 0;  // passed: records of the runs before
      total += count_in(k, cell);
      for (std::uint32_t r = filed_[k].start[cell]; r < filed_[k].start[cell + 1]; ++r) {
        const RecordRun& run = filed_[k].runs[r];
        for (; next < taken.size() && taken[next] < passed + run.count; ++next) {
          const auto* record = static_cast<const std::byte*>(run.records) + (taken[next] - passed) * record_size();
          ends.lower.push_back(problem_.dimension < 4 ? lower_of<3>(record) : lower_of<4>(record));
          ends.upper.push_back(problem_.dimension < 4 ? upper_of<3>(record) : upper_of<4>(record));
        }
        passed += run.count;
      }
    }
    std::sort(ends.lower.begin(), ends.lower.end());
    std::sort(ends.upper.begin(), ends.upper.end());
    return static_cast<double>(total) * meeting_share(ends, [](double x) { return x; });
  }

  // Boxes of crowds, to plan by.
  Sample sample_of(const Crowd (&crowds)[2]) const {
    Sample sample;
    const std::size_t most = std::clamp<std::size_t>((crowds[0].rows.size() + crowds[1].rows.size()) / 64, 32, 512);
    for (std::size_t k = 0; k < sets(); ++k)
      take_sample(set(k), crowds[k].rows, problem_.dimension, problem_.grow, most, sample);
    return sample;
  }

  // The boxes of a cell, as a set of their own.
  Crowd crowd_in(std::size_t k, std::size_t cell, Scratch& scratch) const {
    prepare(cell, scratch);
    const CellArrays& arrays = scratch.room[k].arrays;
    return {{arrays.row, arrays.row + arrays.count}, {arrays.began_before, arrays.began_before + arrays.count}};
  }

 private:
  struct Pool {
    PlainArray<std::byte> records;
    std::vector<std::uint32_t> next_chunk, first_chunk, slots;
    ChunkPool view{};
  };
  struct Filed {
    std::vector<Pool> pools;           // one for each worker that filed
    std::vector<RecordRun> runs;       // of all cells
    std::vector<std::uint32_t> start;  // of each cell's runs, and the end of the last
    std::vector<std::uint32_t> count;  // of each cell's records
    std::size_t record_count = 0;
  };

  std::size_t sets() const { return problem_.cross ? 2 : 1; }
  template <std::size_t D>
  double lower_of(const std::byte* record) const {
    return reinterpret_cast<const Record<D>*>(record)->lower[layout_.sweep_axis];
  }
  template <std::size_t D>
  double upper_of(const std::byte* record) const {
    return -reinterpret_cast<const Record<D>*>(record)->negated_upper[layout_.sweep_axis];
  }
  std::size_t record_size() const { return problem_.dimension < 4 ? sizeof(Record<3>) : sizeof(Record<4>); }
  std::size_t index() const { return problem_.dimension - 1; }
  const BoxView<T>& set(std::size_t k) const { return k == 0 ? problem_.first : problem_.second; }

  void build(const SceneShape& shape, unsigned workers, Interrupt& interrupt) {
    double all = 0;
    for (std::size_t k = 0; k < sets(); ++k)
      all += static_cast<double>(depth_ > 0 ? crowds_[k].rows.size() : set(k).count);
    layout_ = plan_grid<T>(shape, all, problem_.dimension);
    for (;;) {
      finish_layout(layout_, shape, problem_.dimension);
      bool filed = true;
      for (std::size_t k = 0; k < sets() && filed; ++k) filed = file(k, workers, interrupt);
      if (filed) return;
      // The boxes cover far more cells than the sample promised: cut more coarsely.
      for (std::int32_t& cells : layout_.cells) cells = cells / 2 + cells % 2;
    }
  }

  // False if the boxes cover too many cells.
  bool file(std::size_t k, unsigned workers, Interrupt& interrupt) {
    constexpr std::size_t kWorthAWorker = 32768, kRowsAtATime = std::size_t{1} << 18;
    Filed& to = filed_[k];
    const BoxView<T>& boxes = set(k);
    const Crowd& crowd = crowds_[k];
    const std::size_t all = depth_ > 0 ? crowd.rows.size() : boxes.count;
    const EvenSplit split{all, std::clamp<std::size_t>(all / kWorthAWorker, 1, std::max(1u, workers))};
    to.pools = std::vector<Pool>(split.parts);
    std::atomic<bool> valid{true}, fits{true};
    for_each_task(split.parts, workers, interrupt, [&](unsigned worker, std::size_t part) {
      Pool& pool = to.pools[part];
      FileBoxes<T> request{boxes.lower,        boxes.upper,        boxes.lower_stride,
                           boxes.upper_stride, split.at(part),     split.at(part),
                           problem_.grow,      !problem_.touching, true,
                           &layout_,           &pool.view,         depth_ > 0 ? crowd.rows.data() : nullptr};
      const std::size_t end = split.at(part + 1), rows = end - request.begin;
      reserve(pool, rows + rows / 2, rows);
      while (request.begin < end) {
        request.end = std::min(end, request.begin + kRowsAtATime);
        while ((request.begin = file_boxes()(request)) < request.end) {
          const std::size_t room = static_cast<std::size_t>(pool.view.capacity) << pool.view.chunk_bits;
          if (room > 5 * rows + 4096 && layout_.cell_count > 1) return fits.store(false);
          reserve(pool, room + room / 2 + (layout_.cell_count << pool.view.chunk_bits), rows);
        }
        if (worker == 0) interrupt.check();
      }
      if (!request.valid) valid.store(false);
    });
    if (!valid) throw InvalidBoxes();
    if (fits) string_runs(to);
    return fits;
  }

  void reserve(Pool& pool, std::size_t records, std::size_t rows) {
    ChunkPool& view = pool.view;
    if (view.capacity == 0) {
      // Small enough that the last chunk of each cell, half empty, does not count; large enough to be read in a run.
      const std::size_t usual = rows / layout_.cell_count / 8;
      view.chunk_bits = static_cast<int>(std::bit_width(std::clamp<std::size_t>(usual, 16, 256)) - 1);
      pool.slots.assign(layout_.cell_count, 0);
      pool.first_chunk.assign(layout_.cell_count, kNoChunk);
      view.used = 1;
      records += layout_.cell_count << view.chunk_bits;
    }
    const std::size_t at_a_time = std::min(layout_.cell_count + (kRecordsAtATime >> view.chunk_bits), kRecordsAtATime);
    const std::size_t chunks = (records >> view.chunk_bits) + at_a_time + 2;
    pool.records.grow((chunks << view.chunk_bits) * record_size());
    pool.next_chunk.resize(chunks);
    view = {pool.records.get(),
            pool.next_chunk.data(),
            pool.first_chunk.data(),
            pool.slots.data(),
            view.used,
            static_cast<std::uint32_t>(chunks),
            view.chunk_bits,
            static_cast<std::uint32_t>(at_a_time)};
  }

  // Where each cell's records lie: those of the first rows first.
  void string_runs(Filed& to) const {
    to.start.assign(1, 0);
    to.count.assign(layout_.cell_count, 0);
    to.runs.clear();
    to.record_count = 0;
    for (std::size_t cell = 0; cell < layout_.cell_count; ++cell) {
      for (const Pool& pool : to.pools) {
        const ChunkPool& view = pool.view;
        const std::size_t full = std::size_t{1} << view.chunk_bits;
        for (std::uint32_t chunk = view.first_chunk[cell]; chunk != kNoChunk; chunk = view.next_chunk[chunk]) {
          const bool last = view.next_chunk[chunk] == kNoChunk;
          const std::size_t count = last ? ((view.slots[cell] - 1) & (full - 1)) + 1 : full;
          to.runs.push_back({pool.records.get() + (chunk * full) * record_size(), count});
          to.count[cell] += static_cast<std::uint32_t>(count);
        }
      }
      to.start.push_back(static_cast<std::uint32_t>(to.runs.size()));
      to.record_count += to.count[cell];
    }
  }

  auto file_boxes() const {
    if constexpr (sizeof(T) == 4)
      return kernels_.file_boxes_f32[index()];
    else
      return kernels_.file_boxes_f64[index()];
  }

  // Own row numbers and marks to those of the whole problem. Marks of the parents move up, those of this grid stay low.
  void name_crowd(const Crowd& crowd, const CellArrays& arrays) const {
    const auto axes = static_cast<unsigned>(problem_.dimension);
    for (std::size_t k = 0; k < arrays.count; ++k) {
      const std::uint32_t own = arrays.row[k];
      const unsigned marks = arrays.began_before[k] | static_cast<unsigned>(crowd.began_before[own]) << axes;
      arrays.began_before[k] = static_cast<std::uint16_t>(marks);
      arrays.doubled_began_before[k] = (marks & 0xffffu) * 0x10001u;
      arrays.row[k] = crowd.rows[own];
    }
  }

  Problem<T> problem_;
  const Kernels& kernels_;
  Crowd crowds_[2];
  std::size_t depth_ = 0;  // 0: over all boxes
  GridLayout<T> layout_{};
  Filed filed_[2];
};

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
      : Grid(problem, kernels, workers, shape_of(sample_of(problem), problem.dimension)) {}

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

  // Calls use(level, cell) for every cell with two boxes or more to compare.
  template <class Use>
  void for_each_cell(Use&& use) const {
    for (const Task& task : tasks_)
      if (task.part == 0) use(*levels_[task.level], std::size_t{task.cell});
  }

  // How many pairs of boxes a search compares, by going through every cell again.
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
    // Most crowds are swept quickly as they are: a sample of their boxes shows it.
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

  // How many records the sweep of a prepared cell tests record i of set k against: of the other set, those from the
  // record's own bucket on, or from the next one on for the second set, so that each pair is tested once.
  std::size_t candidates_of(const Scratch& scratch, std::size_t k, std::size_t axis, std::size_t i) const {
    const CellArrays &a = scratch.room[k].arrays, &b = scratch.room[problem_.cross ? 1 - k : 0].arrays;
    std::size_t first = i + 1;
    if (problem_.cross) {
      const std::size_t own = scratch.bucket(a.lower[axis][i]);
      first = k == 1 ? b.bucket_end[own] : own == 0 ? 0 : b.bucket_end[own - 1];
    }
    const std::size_t end = b.bucket_end[scratch.bucket(-a.negated_upper[axis][i])];
    return end > first ? end - first : 0;
  }

  // How many blocks of candidates the sweep of a cell would test.
  double blocks_in(const GridLevel<T>& level, std::size_t cell, Scratch& scratch) const {
    level.prepare(cell, scratch);
    const std::size_t axis = level.layout().sweep_axis;
    double blocks = 0;
    for (std::size_t k = 0; k < (problem_.cross ? 2u : 1u); ++k) {
      const CellArrays& a = scratch.room[k].arrays;
      // Every eighth will do.
      for (std::size_t i = 0; i < a.count; i += 8)
        blocks += 1 + static_cast<double>(candidates_of(scratch, k, axis, i) / kBlockLanes);
    }
    return 8 * blocks;
  }

  std::uint64_t tests_in(const GridLevel<T>& level, std::size_t cell, Scratch& scratch) const {
    level.prepare(cell, scratch);
    const std::size_t axis = level.layout().sweep_axis;
    std::uint64_t tests = 0;
    for (std::size_t k = 0; k < (problem_.cross ? 2u : 1u); ++k)
      for (std::size_t i = 0; i < scratch.room[k].arrays.count; ++i) tests += candidates_of(scratch, k, axis, i);
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

  // Equal numbers in a cell decide nothing: compare the boxes themselves.
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
