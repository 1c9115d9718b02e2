// Columns cut to the scene, and in each a short sweep.
//
// A box is filed in every cell it covers, so the two boxes of a pair meet in at least one. They may meet in several:
// the pair counts where, along every axis, one of the two began in the cell, which is true of exactly one cell, the one
// that holds the larger lower corner along each axis (Dittrich and Seeger, ICDE 2000, doi 10.1109/ICDE.2000.839452).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "broadphase/grid_plan.hpp"
#include "broadphase/kernels.hpp"
#include "broadphase/method.hpp"
#include "broadphase/parallel.hpp"
#include "broadphase/plain_array.hpp"
#include "broadphase/problem.hpp"

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

template <class T>
class Grid {
 public:
  static constexpr std::size_t kBlocks = 128;

  struct Scratch {
    std::size_t cell = SIZE_MAX;
    CellRoom room[2];
    Buckets buckets{};
    CandidateBlock blocks[kBlocks];
    std::uint32_t sure[kBlocks], possible[kBlocks];
    std::unique_ptr<std::byte[]> sorted;
    std::size_t sorted_room = 0;
    std::unique_ptr<std::uint64_t[]> hits = std::make_unique_for_overwrite<std::uint64_t[]>(kBlocks * kBlockLanes + 4);
  };

  // Throws InvalidBoxes for NaN and for lower > upper.
  Grid(const Problem<T>& problem, const Kernels& kernels, unsigned workers) : problem_(problem), kernels_(kernels) {
    const SceneShape shape = look();
    const std::size_t sets = problem.cross ? 2 : 1;
    for (;;) {
      finish_layout(layout_, shape, problem.dimension);
      bool filed = true;
      for (std::size_t set = 0; set < sets && filed; ++set) filed = file(set, workers);
      if (filed) break;
      // The boxes cover far more cells than those looked at promised: cut more coarsely.
      for (std::int32_t& cells : layout_.cells) cells = cells / 2 + cells % 2;
    }
    make_tasks();
  }

  std::size_t task_count() const { return tasks_.size(); }

  void run(std::size_t number, Scratch& scratch, PairBuffer& out) const {
    const Task& task = tasks_[number];
    prepare(task.cell, scratch);
    const CellArrays &a = scratch.room[0].arrays, &b = scratch.room[problem_.cross ? 1 : 0].arrays;
    const EvenSplit split{a.count, task.parts};
    SweepRequest request{&a, &b, &scratch.buckets, layout_.sweep_axis, !problem_.cross, false, split.at(task.part),
                         split.at(task.part + 1), 0, kBlocks};
    sweep(request, false, scratch, out);
    if (!problem_.cross) return;
    const EvenSplit other{b.count, task.parts};
    request = {&b, &a, &scratch.buckets, layout_.sweep_axis, false, true, other.at(task.part),
               other.at(task.part + 1), 0, kBlocks};
    sweep(request, true, scratch, out);
  }

  const GridLayout<T>& layout() const { return layout_; }
  std::size_t record_count() const { return filed_[0].record_count + filed_[1].record_count; }

 private:
  struct Pool {
    PlainArray<std::byte> records;
    std::vector<std::uint32_t> next_chunk, first_chunk, slots;
    ChunkPool view{};
  };
  struct Filed {
    std::vector<Pool> pools;          // one for each worker that filed
    std::vector<RecordRun> runs;      // of all cells
    std::vector<std::uint32_t> start;  // of each cell's runs, and the end of the last
    std::vector<std::uint32_t> count;  // of each cell's records
    std::size_t record_count = 0;
  };
  struct Task {
    std::uint32_t cell, part, parts;
  };

  std::size_t record_size() const { return problem_.dimension < 4 ? sizeof(Record<3>) : sizeof(Record<4>); }
  std::size_t index() const { return problem_.dimension - 1; }
  const BoxView<T>& set(std::size_t k) const { return k == 0 ? problem_.first : problem_.second; }

  SceneShape look() {
    Sample sample;
    const std::size_t sets = problem_.cross ? 2 : 1;
    const std::size_t most = std::clamp<std::size_t>((set(0).count + set(sets - 1).count) / 64, 32, 512);
    for (std::size_t k = 0; k < sets; ++k)
      take_sample(set(k), problem_.dimension, problem_.grow, most, sample);
    SceneShape shape = shape_of(sample, problem_.dimension);
    layout_ = plan_grid<T>(shape, sample.box_count, problem_.dimension);
    return shape;
  }

  // False if the boxes cover too many cells.
  bool file(std::size_t k, unsigned workers) {
    constexpr std::size_t kWorthAWorker = 32768;
    Filed& to = filed_[k];
    const BoxView<T>& boxes = set(k);
    const EvenSplit split{boxes.count, std::clamp<std::size_t>(boxes.count / kWorthAWorker, 1, std::max(1u, workers))};
    to.pools = std::vector<Pool>(split.parts);
    std::atomic<bool> valid{true}, fits{true};
    Interrupt none;
    for_each_task(split.parts, workers, none, [&](unsigned, std::size_t part) {
      Pool& pool = to.pools[part];
      FileBoxes<T> request{boxes.lower, boxes.upper, boxes.lower_stride, boxes.upper_stride, split.at(part),
                           split.at(part + 1), problem_.grow, !problem_.touching, true, &layout_, &pool.view};
      const std::size_t rows = request.end - request.begin;
      for (reserve(pool, rows + rows / 2, rows); file_boxes()(request) < split.at(part + 1);) {
        const std::size_t room = static_cast<std::size_t>(pool.view.capacity) << pool.view.chunk_bits;
        if (room > 5 * rows + 4096 && layout_.cell_count > 1) return fits.store(false);
        reserve(pool, room + room / 2 + (layout_.cell_count << pool.view.chunk_bits), rows);
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
    const std::size_t chunks =
        (records >> view.chunk_bits) + chunks_at_a_time(layout_.cell_count, view.chunk_bits) + 2;
    pool.records.grow((chunks << view.chunk_bits) * record_size());
    pool.next_chunk.resize(chunks);
    view = {pool.records.get(), pool.next_chunk.data(), pool.first_chunk.data(), pool.slots.data(), view.used,
            static_cast<std::uint32_t>(chunks), view.chunk_bits};
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
    if constexpr (sizeof(T) == 4) return kernels_.file_boxes_f32[index()];
    else return kernels_.file_boxes_f64[index()];
  }

  std::size_t count_in(std::size_t k, std::size_t cell) const { return filed_[k].count[cell]; }

  void make_tasks() {
    for (std::size_t cell = 0; cell < layout_.cell_count; ++cell) {
      const std::size_t a = count_in(0, cell), b = problem_.cross ? count_in(1, cell) : a;
      const std::size_t most = problem_.cross ? a * b : a * (a - (a > 0)) / 2;
      if (most == 0) continue;
      const std::size_t parts = std::min(std::max(a, b), most / kTaskCandidates + 1);
      for (std::size_t part = 0; part < parts; ++part)
        tasks_.push_back({static_cast<std::uint32_t>(cell), static_cast<std::uint32_t>(part),
                          static_cast<std::uint32_t>(parts)});
    }
  }

  void prepare(std::size_t cell, Scratch& scratch) const {
    if (scratch.cell == cell) return;
    scratch.cell = SIZE_MAX;
    const std::size_t sets = problem_.cross ? 2 : 1;
    CellRecords records[2];
    std::size_t total = 0;
    std::int32_t low = 32767, high = -32768;
    for (std::size_t k = 0; k < sets; ++k) {
      const std::uint32_t *start = &filed_[k].start[cell];
      records[k] = {filed_[k].runs.data() + start[0], start[1] - start[0], count_in(k, cell)};
      kernels_.sweep_range[index()](records[k], layout_.sweep_axis, &low, &high);
      total += count_in(k, cell);
    }
    Buckets& buckets = scratch.buckets;
    buckets = {low, 0, 0};
    while ((high - low) >> buckets.shift >= static_cast<std::int32_t>(std::max<std::size_t>(total / 4, 8))) ++buckets.shift;
    buckets.count = static_cast<std::uint32_t>((high - low) >> buckets.shift) + 1;
    for (std::size_t k = 0; k < sets; ++k) {
      scratch.room[k].prepare(count_in(k, cell), problem_.dimension, buckets.count);
      if (const std::size_t needed = count_in(k, cell) * record_size(); needed > scratch.sorted_room) {
        scratch.sorted_room = needed + needed / 2;
        scratch.sorted = std::make_unique_for_overwrite<std::byte[]>(scratch.sorted_room);
      }
      kernels_.sort_cell[index()](records[k], layout_.sweep_axis, buckets, scratch.sorted.get(),
                                  scratch.room[k].arrays);
    }
    scratch.cell = cell;
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
  GridLayout<T> layout_{};
  Filed filed_[2];
  std::vector<Task> tasks_;
};

}  // namespace broadphase
