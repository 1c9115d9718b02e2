// Columns cut to the scene, and in each a short sweep.
//
// A box is filed in every cell it covers, so the two boxes of a pair meet in at least one. They may meet in several:
// the pair counts where, along every axis, one of the two began in the cell, which is true of exactly one cell, the one
// that holds the larger lower corner along each axis (Dittrich and Seeger, ICDE 2000, doi 10.1109/ICDE.2000.839452).
//
// A cell that holds too many boxes gets a grid of their own, to any depth, with a map of its own. Along an axis where
// the boxes lie on many scales, that map is cut at quantiles. Where whole numbers do not tell the boxes of a cell
// apart, ranks do.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/samples.hpp"
#include "grid/plan.hpp"
#include "grid/rank_cell.hpp"
#include "query/method.hpp"
#include "query/preparation.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

// The boxes of one set that a grid is over, where they are not all of it.
struct Crowd {
  std::vector<std::uint32_t> rows;
  // Along which axes a box began before the cell, or before one of those around it: see CellArrays::began_before.
  // One mark for all levels suffices. Where box p is marked by a cell around and q is not, p begins below q, and the
  // map of a grid within keeps that order: what marks q there marks p as well. So two boxes are both marked by some
  // level exactly where one and the same level marks both.
  std::vector<std::uint8_t> began_before;
};

// Some records of a cell, and all that follow in memory that is read next.
struct RecordRuns {
  const RecordRun *begin, *end, *last;
};

// The row of a record.
template <std::size_t D>
std::uint32_t number_of(const Record<D>& record) {
  if constexpr (D < 4)
    return record.row_low | static_cast<std::uint32_t>(record.row_high) << 16;
  else
    return record.row;
}

template <class T>
class GridLevel {
 public:
  // All boxes of the problem. Throws InvalidBoxes for NaN and for lower > upper; if it is checked, PlanMissed where
  // they cover far more cells than planned.
  GridLevel(const Problem<T>& problem, const Kernels& kernels, unsigned workers, const SceneShape& shape,
            const GridPlan& plan, Interrupt& interrupt, bool is_checked = false)
      : problem_(problem), kernels_(kernels) {
    build(shape, plan, workers, interrupt, is_checked);
  }
  // Those of a cell of `parent`.
  GridLevel(const GridLevel& parent, Crowd (&&crowds)[2], const SceneShape& shape, const GridPlan& plan,
            unsigned workers, Interrupt& interrupt)
      : problem_(parent.problem_),
        kernels_(parent.kernels_),
        crowds_{std::move(crowds[0]), std::move(crowds[1])},
        depth_(parent.depth_ + 1) {
    build(shape, plan, workers, interrupt, false);
  }
  GridLevel(const GridLevel&) = delete;
  GridLevel& operator=(const GridLevel&) = delete;

  const GridLayout<T>& layout() const { return layout_; }
  // The number at which a cell begins along an axis.
  double edge(std::size_t axis, std::size_t cell) const {
    return maps_[axis].at(static_cast<double>(cell) / layout_.cells[axis]);
  }
  std::size_t depth() const { return depth_; }
  std::size_t count_in(std::size_t set, std::size_t cell) const { return filed_[set].count[cell]; }
  std::size_t record_count() const { return filed_[0].record_count + filed_[1].record_count; }

  // What one thread needs to go through cells one after the other.
  struct Scratch {
    const GridLevel* level = nullptr;
    std::size_t cell = 0;
    bool ranked = false;         // the numbers are ranks
    std::size_t sweep_axis = 0;  // that the cell is sorted along
    CellRoom room[2];
    Buckets buckets{};
    PlainArray<std::byte> sorted;
    RankedCell<T> ranks;

    std::size_t bucket(std::int32_t x) const {
      return std::min(static_cast<std::uint32_t>((x - buckets.lowest) >> buckets.shift), buckets.count - 1);
    }
  };

  // Sorts a cell's records into the scratch, unless they are there.
  void prepare(std::size_t cell, bool ranked, Scratch& scratch) const {
    if (scratch.level == this && scratch.cell == cell && scratch.ranked == ranked) return;
    scratch.level = nullptr;
    sort_along(layout_.sweep_axis, kUsualBuckets, cell, scratch);
    improve_order(cell, scratch);
    if (depth_ > 0)
      for (std::size_t k = 0; k < sets(); ++k) name_crowd(crowds_[k], scratch.room[k].arrays);
    if (ranked) scratch.sweep_axis = scratch.ranks.rank(problem_, scratch.room, scratch.buckets);
    scratch.level = this;
    scratch.cell = cell;
    scratch.ranked = ranked;
  }

  // Of the records that the sweep of a prepared cell tests record i of set k against: where the first is, and the end.
  // Of the same set those behind it; of the other set those from the record's own bucket on, or from the next one on
  // for the second set, so that each pair is tested once.
  std::pair<std::size_t, std::size_t> run_of(const Scratch& scratch, std::size_t k, std::size_t i) const {
    const std::size_t axis = scratch.sweep_axis;
    const CellArrays &a = scratch.room[k].arrays, &b = scratch.room[problem_.cross ? 1 - k : 0].arrays;
    std::size_t first = i + 1;
    if (problem_.cross) {
      const std::size_t own = scratch.bucket(a.lower[axis][i]);
      first = k == 1 ? b.bucket_end[own] : own == 0 ? 0 : b.bucket_end[own - 1];
    }
    return {first, std::max<std::size_t>(first, b.bucket_end[scratch.bucket(-a.negated_upper[axis][i])])};
  }

  // Of all others in a cell, how many a box would be tested against: the share of them, by a few.
  double share_met_in(std::size_t cell, std::size_t axis, std::uint64_t draw, std::size_t few = kLookedAt) const {
    SampledEnds ends;
    for (std::size_t k = 0; k < sets(); ++k)
      for_some(k, cell, few, draw, [&](const RecordRun& run, std::size_t i) {
        ends.lower.push_back(lower_of(run, i, axis));
        ends.upper.push_back(upper_of(run, i, axis));
      });
    return sorted_meeting_share(ends);
  }

  // How many pairs for each box of a cell its numbers leave undecided, by a few boxes. Where a tenth of the boxes lie
  // so close that their numbers are equal, fewer show little of it.
  double undecided_in(std::size_t cell) const {
    std::size_t undecided = 0;
    const std::size_t compared = compare_some(cell, kMostCompared, draw(), [&](const Numbers& a, const Numbers& b) {
      std::int32_t least = 1;
      for (std::size_t d = 0; d < 4; ++d) least = std::min({least, a.upper[d] - b.lower[d], b.upper[d] - a.lower[d]});
      undecided += least == 0 && (a.before & b.before) == 0;
    });
    const auto one = static_cast<double>(count_in(0, cell)),
               two = problem_.cross ? static_cast<double>(count_in(1, cell)) : 0.0;
    const double pairs = problem_.cross ? one * two : one * (one - 1) / 2, total = one + two;
    return compared > 0 ? pairs * static_cast<double>(undecided) / static_cast<double>(compared) / total : 0;
  }

  // Of all pairs in a cell, the share that is tested along the best axis and does not overlap, by a few boxes.
  double share_in_vain(std::size_t cell, std::uint64_t own_draw) const {
    std::size_t met[4] = {}, overlapping = 0;
    const std::size_t compared = compare_some(cell, kLookedAt, own_draw, [&](const Numbers& a, const Numbers& b) {
      bool overlap = true;
      for (std::size_t d = 0; d < problem_.dimension; ++d) {
        const bool meet = a.upper[d] >= b.lower[d] && b.upper[d] >= a.lower[d];
        met[d] += meet ? 1 : 0;
        overlap &= meet;
      }
      overlapping += overlap ? 1 : 0;
    });
    const std::size_t least = *std::min_element(met, met + problem_.dimension) - overlapping;
    return compared > 0 ? static_cast<double>(least) / static_cast<double>(compared) : 0;
  }

  // Boxes of the crowds of a cell, to plan by: as much of them as lies in the cell, for nothing else is looked for
  // there.
  Sample sample_of(const Crowd (&crowds)[2], std::size_t cell) const {
    Sample sample;
    const std::size_t most = std::clamp<std::size_t>((crowds[0].rows.size() + crowds[1].rows.size()) / 64, 32, 512);
    for (std::size_t k = 0; k < sets(); ++k)
      take_sample(set(k), crowds[k].rows, problem_.dimension, problem_.grow, most, draw() + k, sample);
    for (std::size_t d = 0; d < problem_.dimension; ++d) {
      const auto cells = static_cast<std::size_t>(layout_.cells[d]);
      const std::size_t at = cell / static_cast<std::size_t>(layout_.cell_stride[d]) % cells;
      // Those at the border go on for ever.
      const double low = at > 0 ? edge(d, at) : -kInfinity, high = at + 1 < cells ? edge(d, at + 1) : kInfinity;
      for (Sample::Box& box : sample.boxes) {
        box.lower[d] = std::clamp(low, box.lower[d], box.upper[d]);
        box.upper[d] = std::clamp(high, box.lower[d], box.upper[d]);
      }
    }
    return sample;
  }

  // Of samples within cells of this level. A cell may hold all boxes of the level, and is then to be judged by others
  // than those by which it was made.
  std::uint64_t draw() const { return kDraws * (depth_ + 1); }

  // The records of a cell of the first set, by row.
  RecordRuns runs_in(std::size_t cell) const {
    const RecordRun* runs = filed_[0].runs.data();
    return {runs + filed_[0].start[cell], runs + filed_[0].start[cell + 1], runs + filed_[0].runs.size() - 1};
  }

  // The boxes of a cell, as a set of their own.
  Crowd crowd_in(std::size_t k, std::size_t cell) const {
    Crowd crowd;
    crowd.rows.reserve(count_in(k, cell));
    crowd.began_before.reserve(count_in(k, cell));
    for_each_run(k, cell, [&](const RecordRun& run) {
      for (std::size_t i = 0; i < run.count; ++i) {
        std::uint32_t row = row_of(run, i);
        unsigned marks = 0;
        for (std::size_t d = 0; d < problem_.dimension; ++d)
          marks |= static_cast<unsigned>(lower_of(run, i, d) == kBeganBefore) << d;
        if (depth_ > 0) {
          marks |= crowds_[k].began_before[row];
          row = crowds_[k].rows[row];
        }
        crowd.rows.push_back(row);
        crowd.began_before.push_back(static_cast<std::uint8_t>(marks));
      }
    });
    return crowd;
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
  template <class Use>
  void for_each_run(std::size_t k, std::size_t cell, Use&& use) const {
    for (std::uint32_t r = filed_[k].start[cell]; r < filed_[k].start[cell + 1]; ++r) use(filed_[k].runs[r]);
  }
  // Calls use(run, place in it) for up to `most` of a cell's records, and no more than kMostCompared.
  template <class Use>
  void for_some(std::size_t k, std::size_t cell, std::size_t most, std::uint64_t draw, Use&& use) const {
    const RandomSample sample(count_in(k, cell), most, draw + k);
    std::array<std::size_t, kMostCompared> taken;
    for (std::size_t at = 0; at < sample.size(); ++at) taken[at] = sample[at];
    std::sort(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(sample.size()));
    std::size_t next = 0, passed = 0;  // passed: records of the runs before
    for_each_run(k, cell, [&](const RecordRun& run) {
      for (; next < sample.size() && taken[next] < passed + run.count; ++next) use(run, taken[next] - passed);
      passed += run.count;
    });
  }
  struct Numbers {
    std::int32_t lower[4] = {0, 0, 0, 0}, upper[4] = {1, 1, 1, 1};
    unsigned before = 0;
  };
  // Calls use(a, b) for the pairs of up to `most` boxes of each set of a cell; returns how many pairs these are.
  template <class Use>
  std::size_t compare_some(std::size_t cell, std::size_t most, std::uint64_t own_draw, const Use& use) const {
    std::vector<Numbers> some[2];
    for (std::size_t k = 0; k < sets(); ++k)
      for_some(k, cell, most, own_draw, [&](const RecordRun& run, std::size_t i) {
        Numbers& numbers = some[k].emplace_back();
        for (std::size_t d = 0; d < problem_.dimension; ++d) {
          numbers.lower[d] = lower_of(run, i, d);
          numbers.upper[d] = upper_of(run, i, d);
          numbers.before |= static_cast<unsigned>(numbers.lower[d] == kBeganBefore) << d;
        }
      });
    std::size_t compared = 0;
    const std::vector<Numbers>& others = some[problem_.cross ? 1 : 0];
    for (std::size_t i = 0; i < some[0].size(); ++i)
      for (std::size_t j = problem_.cross ? 0 : i + 1; j < others.size(); ++j, ++compared) use(some[0][i], others[j]);
    return compared;
  }
  template <class Use>
  auto with_record(const RecordRun& run, std::size_t i, Use&& use) const {
    return problem_.dimension < 4 ? use(static_cast<const Record<3>*>(run.records)[i])
                                  : use(static_cast<const Record<4>*>(run.records)[i]);
  }
  std::int32_t lower_of(const RecordRun& run, std::size_t i, std::size_t axis) const {
    return with_record(run, i, [&](const auto& record) { return std::int32_t{record.lower[axis]}; });
  }
  std::int32_t upper_of(const RecordRun& run, std::size_t i, std::size_t axis) const {
    return with_record(run, i, [&](const auto& record) { return -std::int32_t{record.negated_upper[axis]}; });
  }
  std::uint32_t row_of(const RecordRun& run, std::size_t i) const {
    return with_record(run, i, [](const auto& record) { return number_of(record); });
  }
  std::size_t record_size() const { return problem_.dimension < 4 ? sizeof(Record<3>) : sizeof(Record<4>); }
  std::size_t index() const { return problem_.dimension - 1; }
  const BoxView<T>& set(std::size_t k) const { return k == 0 ? problem_.first : problem_.second; }

  // `buckets_wanted`: for each four records.
  void sort_along(std::size_t axis, std::size_t buckets_wanted, std::size_t cell, Scratch& scratch) const {
    CellRecords records[2];
    std::size_t total = 0;
    std::int32_t low = 32767, high = -32768;
    for (std::size_t k = 0; k < sets(); ++k) {
      const std::uint32_t* start = &filed_[k].start[cell];
      records[k] = {filed_[k].runs.data() + start[0], start[1] - start[0], count_in(k, cell)};
      kernels_.sweep_range[index()](records[k], axis, &low, &high);
      total += count_in(k, cell);
    }
    Buckets& buckets = scratch.buckets;
    buckets = {low, 0, 0};
    const std::size_t most = std::max<std::size_t>(total * buckets_wanted / 4, 8);
    while (static_cast<std::size_t>((high - low) >> buckets.shift) >= most) ++buckets.shift;
    buckets.count = static_cast<std::uint32_t>((high - low) >> buckets.shift) + 1;
    for (std::size_t k = 0; k < sets(); ++k) {
      scratch.room[k].prepare(count_in(k, cell), problem_.dimension, buckets.count);
      scratch.sorted.grow(count_in(k, cell) * record_size());
      kernels_.sort_cell[index()](records[k], axis, buckets, scratch.sorted.get(), scratch.room[k].arrays);
    }
    scratch.sweep_axis = axis;
  }

  // Where runs are long, another axis may have shorter ones; and where they are longer than the boxes' numbers ask for,
  // many boxes lie in a small part of the cell and share a few buckets: narrower ones tell them apart.
  void improve_order(std::size_t cell, Scratch& scratch) const {
    constexpr std::size_t kOneOf = 16, kLongRun = 4 * kBlockLanes;
    std::size_t tests = 0, looked_at = 1, total = 0;
    for (std::size_t k = 0; k < sets(); ++k) {
      const std::size_t count = scratch.room[k].arrays.count;
      const StratifiedSample taken(count, (count + kOneOf - 1) / kOneOf, k);
      for (std::size_t i = 0; i < taken.size(); ++i) {
        const auto [first, end] = run_of(scratch, k, taken[i]);
        tests += end - first;
      }
      looked_at += taken.size();
      total += count;
    }
    if (tests <= kLongRun * looked_at) return;
    double share[4];
    SampledEnds ends[4];
    for (std::size_t k = 0; k < sets(); ++k) {
      const CellArrays& arrays = scratch.room[k].arrays;
      const RandomSample sample(arrays.count, kLookedAt, k);
      for (std::size_t i = 0; i < sample.size(); ++i) {
        const std::size_t taken = sample[i];
        for (std::size_t d = 0; d < problem_.dimension; ++d) {
          ends[d].lower.push_back(arrays.lower[d][taken]);
          ends[d].upper.push_back(-arrays.negated_upper[d][taken]);
        }
      }
    }
    for (std::size_t d = 0; d < problem_.dimension; ++d) share[d] = sorted_meeting_share(ends[d]);
    const std::size_t own = scratch.sweep_axis;
    const auto best = static_cast<std::size_t>(std::min_element(share, share + problem_.dimension) - share);
    const bool other = share[best] < 0.6 * share[own];
    const double run = static_cast<double>(tests) / static_cast<double>(looked_at);
    const bool crowded_buckets = run > kBlockLanes + 1.3 * share[own] * static_cast<double>(total);
    if (other || crowded_buckets)
      sort_along(other ? best : own, crowded_buckets ? kManyBuckets : kUsualBuckets, cell, scratch);
  }

  static double sorted_meeting_share(SampledEnds& ends) {
    ends.sort();
    return meeting_share(ends);
  }

  void build(const SceneShape& shape, const GridPlan& plan, unsigned workers, Interrupt& interrupt, bool is_checked) {
    layout_ = layout_of<T>(plan, shape, problem_.dimension);
    for (std::size_t d = 0; d < problem_.dimension; ++d) {
      maps_[d] = shape.map[d];
      if (shape.map[d].quantiles.empty()) continue;
      segments_[d] = std::make_unique<Segments<T>>(segments_of<T>(shape.map[d]));
      layout_.segments[d] = segments_[d].get();
    }
    for (;;) {
      finish_layout(layout_, shape, problem_.dimension);
      bool filed = true;
      for (std::size_t k = 0; k < sets() && filed; ++k) filed = file(k, workers, interrupt);
      if (filed) return;
      if (is_checked) throw PlanMissed(std::numeric_limits<double>::infinity());
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
      const PoolSize size(rows, layout_.cell_count);
      reserve(pool, size, size.first());
      while (request.begin < end) {
        request.end = std::min(end, request.begin + kRowsAtATime);
        while ((request.begin = file_boxes()(request)) < request.end) {
          const std::size_t chunks = size.after(pool.view.capacity);
          if (chunks == 0) return fits.store(false);
          reserve(pool, size, chunks);
        }
        if (worker == 0) interrupt.check();
      }
      if (!request.valid) valid.store(false);
    });
    if (!valid) throw InvalidBoxes();
    if (fits) string_runs(to);
    return fits;
  }

  void reserve(Pool& pool, const PoolSize& size, std::size_t chunks) {
    ChunkPool& view = pool.view;
    if (view.capacity == 0) {
      pool.slots.assign(layout_.cell_count, 0);
      pool.first_chunk.assign(layout_.cell_count, kNoChunk);
      view.used = 1;
    }
    pool.records.grow((chunks << size.chunk_bits()) * record_size());
    pool.next_chunk.resize(chunks);
    view = {pool.records.get(),
            pool.next_chunk.data(),
            pool.first_chunk.data(),
            pool.slots.data(),
            view.used,
            static_cast<std::uint32_t>(chunks),
            size.chunk_bits(),
            static_cast<std::uint32_t>(size.at_a_time())};
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

  auto file_boxes() const { return kernels_.eight->of<T>().file_boxes[index()]; }

  // Own row numbers to those of the whole problem; the marks of the cells around are added.
  void name_crowd(const Crowd& crowd, const CellArrays& arrays) const {
    for (std::size_t k = 0; k < arrays.count; ++k) {
      const std::uint32_t own = arrays.row[k];
      const unsigned marks = arrays.began_before[k] | static_cast<unsigned>(crowd.began_before[own]);
      arrays.began_before[k] = static_cast<std::uint16_t>(marks);
      arrays.row[k] = crowd.rows[own];
    }
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr std::uint64_t kDraws = 16;                         // more than those of a problem
  static constexpr std::size_t kLookedAt = 64;                        // of a cell's boxes, to decide what to do with it
  static constexpr std::size_t kMostCompared = 128;                   // of them, with each other
  static constexpr std::size_t kUsualBuckets = 1, kManyBuckets = 64;  // for each four of a cell's records

  Problem<T> problem_;
  const Kernels& kernels_;
  Crowd crowds_[2];
  std::size_t depth_ = 0;  // 0: over all boxes
  AxisMap maps_[4];
  std::unique_ptr<Segments<T>> segments_[4];
  GridLayout<T> layout_{};
  Filed filed_[2];
};

template <class T>
class Grid {
 public:
  static constexpr std::size_t kBlocks = 128;

  struct Scratch : GridLevel<T>::Scratch {
    CandidateBlock blocks[kBlocks];
    std::unique_ptr<std::uint64_t[]> hits = std::make_unique_for_overwrite<std::uint64_t[]>(kBlocks * kBlockLanes + 4);
  };

  // Throws InvalidBoxes for NaN and for lower > upper, which it finds while it files the boxes, and PlanMissed.
  Grid(const Problem<T>& problem, const Preparation& with) : problem_(problem), kernels_(with.kernels) {
    const SceneShape own_shape = with.shape != nullptr ? SceneShape() : shape_of(sample_of(problem), problem.dimension);
    const SceneShape& shape = with.shape != nullptr ? *with.shape : own_shape;
    const GridPlan plan =
        with.plan != nullptr ? *with.plan : plan_cells(shape, box_count_of(problem), problem.dimension);
    const bool is_checked = !std::isinf(with.most_tests);
    add_level(std::make_unique<GridLevel<T>>(problem, kernels_, with.workers, shape, plan, with.interrupt, is_checked),
              with.workers, with.interrupt, made_);
    if (!is_checked) return;
    const double tests = tests_in_vain(with.most_tests);
    if (tests > with.most_tests) throw PlanMissed(tests);
  }

  std::size_t task_count() const { return made_.tasks.size(); }

  void run(std::size_t number, Scratch& scratch, PairBuffer& out) const {
    const Task& task = made_.tasks[number];
    task.level->prepare(task.cell, task.ranked, scratch);
    const PairBuffer::Mark before = out.mark();
    // Parts of one cell must agree on its numbers, so they are chosen beforehand.
    std::size_t undecided = task.parts > 1 || task.ranked ? kNone : most_undecided(scratch);
    if (sweep_part(task, undecided, scratch, out)) return;
    out.rewind(before);
    task.level->prepare(task.cell, true, scratch);
    undecided = kNone;
    sweep_part(task, undecided, scratch, out);
  }

  // The grids: over all boxes first, then those of crowded cells.
  const GridLevel<T>& level(std::size_t number) const { return *made_.levels[number]; }
  std::size_t level_count() const { return made_.levels.size(); }

  // Calls use(level, cell) for every cell with two boxes or more to compare.
  template <class Use>
  void for_each_cell(Use&& use) const {
    for (const Task& task : made_.tasks)
      if (task.part == 0) use(*task.level, std::size_t{task.cell});
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
    const GridLevel<T>* level;
    std::uint32_t cell, part, parts;
    bool ranked;
  };
  struct Made {
    std::vector<std::unique_ptr<GridLevel<T>>> levels;
    std::vector<Task> tasks;
  };
  // Where a box is expected to be tested against so many of them or more.
  static constexpr double kRunsWorthALook = 100, kRunsWorthRanks = 25;
  static constexpr double kMostUndecided = GridCosts::kRank / GridCosts::kUndecided;  // for each box: else ranks
  static constexpr std::size_t kNone = ~std::size_t{0};

  static double box_count_of(const Problem<T>& problem) {
    return static_cast<double>(problem.first.count + (problem.cross ? problem.second.count : 0));
  }

  std::size_t index() const { return problem_.dimension - 1; }
  std::size_t sets() const { return problem_.cross ? 2 : 1; }

  // How many pairs of boxes that do not overlap a search compares, by some cells; or more, if these are no more than
  // `enough`. Of cells with more pairs of boxes, more are taken, so that they suffice where a few have nearly all.
  double tests_in_vain(double enough) const {
    constexpr std::size_t kMostCells = 16, kBoxesACell = 4096, kLookedAt = 64, kAll = std::size_t{1} << 31;
    double pairs = 0;
    for_each_cell(
        [&](const GridLevel<T>& level, std::size_t cell) { pairs += static_cast<double>(most_in(level, cell)); });
    if (pairs <= enough) return pairs;
    // Fewer show a large share. Each is read from where nothing has been read before, which is most of the time.
    const std::size_t one_of = 16 * enough > pairs ? 4 : 1;
    const auto boxes = static_cast<std::size_t>(box_count_of(problem_));
    const auto mean = [&](std::size_t most_cells, const auto& share_in) {
      const StratifiedSample places(kAll, std::clamp(boxes / kBoxesACell, std::size_t{2}, most_cells));
      double sum = 0, passed = 0;
      std::size_t next = 0;
      for_each_cell([&](const GridLevel<T>& level, std::size_t cell) {
        passed += static_cast<double>(most_in(level, cell));
        const std::size_t before = next;
        while (next < places.size() && static_cast<double>(places[next]) * pairs < passed * static_cast<double>(kAll))
          ++next;
        if (next > before) sum += static_cast<double>(next - before) * share_in(level, cell, level.draw() + 2);
      });
      return sum / static_cast<double>(places.size());
    };
    // Of all others, a box is tested against those that it meets behind it: half of those that it meets.
    const auto share_met = [&](const GridLevel<T>& level, std::size_t cell, std::uint64_t draw) {
      return 2 * level.share_met_in(cell, level.layout().sweep_axis, draw, kLookedAt / one_of);
    };
    const double tests = pairs * mean(kMostCells / one_of, share_met);
    if (tests <= enough) return tests;
    return pairs * mean(kMostCells, [](const GridLevel<T>& level, std::size_t cell, std::uint64_t draw) {
             return level.share_in_vain(cell, draw);
           });
  }

  std::size_t most_undecided(const Scratch& scratch) const {
    std::size_t boxes = 0;
    for (std::size_t k = 0; k < sets(); ++k) boxes += scratch.room[k].arrays.count;
    return 64 + static_cast<std::size_t>(kMostUndecided) * boxes;
  }

  // The grid, those of its crowded cells, and the tasks of all: in the order of the cells, whatever `workers`.
  void add_level(std::unique_ptr<GridLevel<T>> own, unsigned workers, Interrupt& interrupt, Made& to) const {
    const GridLevel<T>& level = *own;
    to.levels.push_back(std::move(own));
    std::vector<std::uint32_t> crowded;
    for (std::size_t cell = 0; cell < level.layout().cell_count; ++cell)
      if (level.count_in(0, cell) + (problem_.cross ? level.count_in(1, cell) : 0) > kCrowd && most_in(level, cell) > 0)
        crowded.push_back(static_cast<std::uint32_t>(cell));
    // Few crowds are large ones, and each is then built by all workers.
    const bool each = crowded.size() >= workers;
    std::vector<Made> made(crowded.size());
    for_each_task(crowded.size(), each ? workers : 1, interrupt, [&](unsigned worker, std::size_t k) {
      Interrupt none;
      split_cell(level, crowded[k], each ? 1 : workers, worker == 0 ? interrupt : none, made[k]);
    });
    std::size_t next = 0;
    for (std::size_t cell = 0; cell < level.layout().cell_count; ++cell) {
      const std::size_t most = most_in(level, cell);
      if (next < crowded.size() && crowded[next] == cell) {
        Made& inner = made[next++];
        std::move(inner.levels.begin(), inner.levels.end(), std::back_inserter(to.levels));
        to.tasks.insert(to.tasks.end(), inner.tasks.begin(), inner.tasks.end());
      } else if (most > 0) {
        to.tasks.push_back({&level, static_cast<std::uint32_t>(cell), 0, 1, false});
      }
    }
  }

  // Pairs of boxes in a cell.
  std::size_t most_in(const GridLevel<T>& level, std::size_t cell) const {
    const std::size_t a = level.count_in(0, cell);
    return problem_.cross ? a * level.count_in(1, cell) : a * (a - (a > 0)) / 2;
  }

  // A grid for the boxes of one cell, or the tasks to sweep it where that would not pay.
  void split_cell(const GridLevel<T>& level, std::uint32_t cell, unsigned workers, Interrupt& interrupt,
                  Made& to) const {
    // Most crowds are swept quickly as they are: a sample of their boxes shows it.
    const auto in_cell = static_cast<double>(level.count_in(0, cell) + (problem_.cross ? level.count_in(1, cell) : 0));
    const auto meeting_along = [&](std::size_t axis) { return in_cell * level.share_met_in(cell, axis, level.draw()); };
    double meeting = meeting_along(level.layout().sweep_axis);
    for (std::size_t d = 0; d < problem_.dimension && meeting >= kRunsWorthALook; ++d)
      meeting = std::min(meeting, meeting_along(d));
    const double undecided = meeting >= kRunsWorthRanks ? level.undecided_in(cell) : 0;
    if (meeting >= kRunsWorthALook || undecided > kMostUndecided) {
      Crowd crowds[2];
      double all = 0;
      for (std::size_t k = 0; k < sets(); ++k) {
        crowds[k] = level.crowd_in(k, cell);
        all += static_cast<double>(crowds[k].rows.size());
      }
      const SceneShape shape = shape_of(level.sample_of(crowds, cell), problem_.dimension);
      const double as_it_is = all * (GridCosts::kRecord + GridCosts::kBlock * (1 + meeting / kBlockLanes) +
                                     std::min(GridCosts::kRank, GridCosts::kUndecided * undecided));
      const GridPlan plan = plan_cells(shape, all, problem_.dimension);
      const double split = plan.cost + all * GridCosts::kRefile;
      if (split < 0.7 * as_it_is) {
        auto made = std::make_unique<GridLevel<T>>(level, std::move(crowds), shape, plan, workers, interrupt);
        if (is_progress(level, *made, all)) return add_level(std::move(made), workers, interrupt, to);
      }
    }
    const std::size_t a = level.count_in(0, cell), b = problem_.cross ? level.count_in(1, cell) : a;
    const std::size_t parts = std::min(std::max(a, b), most_in(level, cell) / kTaskCandidates + 1);
    const bool ranked = parts > 1 && undecided > kMostUndecided;
    for (std::size_t part = 0; part < parts; ++part)
      to.tasks.push_back({&level, cell, static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(parts), ranked});
  }

  // No gain if all boxes end up together again, or many times over. A single cell that has been cut out of several
  // tells its boxes apart better.
  bool is_progress(const GridLevel<T>& from, const GridLevel<T>& made, double boxes) const {
    if (made.layout().cell_count == 1) return from.depth() == 0 || from.layout().cell_count > 1;
    if (static_cast<double>(made.record_count()) > 4 * boxes) return false;
    for (std::size_t c = 0; c < made.layout().cell_count; ++c)
      if (static_cast<double>(made.count_in(0, c) + (problem_.cross ? made.count_in(1, c) : 0)) > 0.9 * boxes)
        return false;
    return true;
  }

  std::size_t sweep_blocks(SweepRequest& request, Scratch& scratch) const {
    return (problem_.cross ? kernels_.sweep_across : kernels_.sweep_behind)[index()](request, scratch.blocks);
  }
  static std::size_t undecided_of(const CandidateBlock& block) {
    return static_cast<std::size_t>(std::popcount(block.possible & ~block.sure));
  }

  // By the numbers that the cell is swept with at first.
  std::uint64_t tests_in(const GridLevel<T>& level, std::size_t cell, Scratch& scratch) const {
    level.prepare(cell, false, scratch);
    std::uint64_t tests = 0;
    for (std::size_t k = 0; k < sets(); ++k)
      for (std::size_t i = 0; i < scratch.room[k].arrays.count; ++i) {
        const auto [first, end] = level.run_of(scratch, k, i);
        tests += end - first;
      }
    return tests;
  }

  // Sweeps a prepared cell, or a part of it. False, with some pairs written, once more than `undecided` are left open.
  bool sweep_part(const Task& task, std::size_t& undecided, Scratch& scratch, PairBuffer& out) const {
    const CellArrays &a = scratch.room[0].arrays, &b = scratch.room[problem_.cross ? 1 : 0].arrays;
    const std::size_t axis = scratch.sweep_axis;
    const auto part_of = [&](std::size_t count, std::size_t part) {
      return std::min(count, EvenSplit{(count + kBlockLanes - 1) / kBlockLanes, task.parts}.at(part) * kBlockLanes);
    };
    SweepRequest request{
        &a, &b, &scratch.buckets, axis, false, part_of(a.count, task.part), part_of(a.count, task.part + 1), kBlocks};
    if (!sweep(request, false, undecided, scratch, out)) return false;
    if (!problem_.cross) return true;
    request = {&b,     &a, &scratch.buckets, axis, true, part_of(b.count, task.part), part_of(b.count, task.part + 1),
               kBlocks};
    return sweep(request, true, undecided, scratch, out);
  }

  bool sweep(SweepRequest& request, bool swapped, std::size_t& undecided, Scratch& scratch, PairBuffer& out) const {
    const std::uint32_t *a = request.a->row, *b = request.b->row;
    while (request.begin < request.end) {
      const std::size_t used = sweep_blocks(request, scratch);
      for (std::size_t k = 0; k < used; ++k)
        if (scratch.blocks[k].sure != scratch.blocks[k].possible) {
          const std::size_t open = undecided_of(scratch.blocks[k]);
          if (open > undecided) return false;
          undecided -= open;
          resolve(scratch.blocks[k], a, b, swapped);
        }
      if (out.counts_only()) {
        out.add_count(kernels_.count_hits(scratch.blocks, used));
        continue;
      }
      const std::size_t found = kernels_.list_hits(scratch.blocks, used, scratch.hits.get());
      out.room(found);
      kernels_.name_rows(scratch.hits.get(), found, a, b, !problem_.cross, swapped ? out.second() : out.first(),
                         swapped ? out.first() : out.second());
      out.commit(found);
    }
    return true;
  }

  // Equal numbers in a cell decide nothing: compare the boxes themselves.
  void resolve(CandidateBlock& block, const std::uint32_t* a, const std::uint32_t* b, bool swapped) const {
    const std::uint32_t record = block.record & ~kDiagonal, step = block.record >> 31;
    for (std::uint32_t bits = block.possible & ~block.sure; bits != 0; bits &= bits - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(bits));
      const std::size_t i = a[record + lane * step], j = b[block.candidate + lane];
      block.sure |= static_cast<std::uint32_t>(swapped ? overlap(j, i) : overlap(i, j)) << lane;
    }
  }

  // As overlaps() of the problem, but without a branch for each axis: which one parts two boxes cannot be predicted.
  bool overlap(std::size_t i, std::size_t j) const {
    const BoxView<T>& other = problem_.cross ? problem_.second : problem_.first;
    const T *lower_i = problem_.first.lower_of(i), *upper_i = problem_.first.upper_of(i);
    const T *lower_j = other.lower_of(j), *upper_j = other.upper_of(j);
    unsigned apart = 0;
    for (std::size_t k = 0; k < problem_.dimension; ++k) {
      const T li = lower_i[k] - problem_.grow, ui = upper_i[k] + problem_.grow;
      const T lj = lower_j[k] - problem_.grow, uj = upper_j[k] + problem_.grow;
      if (problem_.touching)
        apart |= static_cast<unsigned>(li > uj) | static_cast<unsigned>(lj > ui);
      else
        apart |= static_cast<unsigned>(li >= uj) | static_cast<unsigned>(lj >= ui) | static_cast<unsigned>(li >= ui) |
                 static_cast<unsigned>(lj >= uj);
    }
    return apart == 0;
  }

  Problem<T> problem_;
  const Kernels& kernels_;
  Made made_;
};

}  // namespace broadphase
