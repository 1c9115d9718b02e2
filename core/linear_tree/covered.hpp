// All pairs of a linear tree by going from each box to the deepest cells that it covers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "linear_tree/boxes.hpp"
#include "linear_tree/cells.hpp"
#include "query/method.hpp"

namespace broadphase {

// A cell pairs its own boxes. Besides, each box of a cell that has others within it visits those of the deepest cells
// that the box covers, and climbs from each to the cell of the box, unless it has been there. Where a box covers more
// of the deepest cells than there are occupied ones, it goes through these.
//
// One set of boxes. What is given must outlive this.
template <class T>
class CoveredLeaves {
 public:
  struct Scratch {
    std::vector<std::uint32_t> positions;
    std::vector<std::uint32_t> visited;  // for each cell, the last entry that was there
    std::uint64_t tests = 0;
  };

  CoveredLeaves(const LinearOrder& order, const LinearCells& cells, const LinearWorld& world,
                const LinearSource<T>& source, bool touching, const Kernels& kernels, Interrupt& interrupt)
      : cells_(cells),
        world_(world),
        dimension_(source.dimension),
        overlap_(overlap_kernel<T>(kernels, source.dimension, touching)),
        boxes_(order, source, false, touching, interrupt) {
    plan();
  }
  CoveredLeaves(const CoveredLeaves&) = delete;
  CoveredLeaves& operator=(const CoveredLeaves&) = delete;

  std::size_t task_count() const { return tasks_.size(); }
  std::uint64_t test_count() const { return tests_.load(std::memory_order_relaxed); }

  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
    scratch.visited.resize(cells_.count(), kNotOccupied);
    scratch.tests = 0;
    with_dimension(dimension_, [&]<std::size_t D>(Dimension<D>) {
      const CellMap<D> map(world_, cells_.keys().depth);
      const Task& part = tasks_[task];
      for (std::size_t cell = part.cell; cell < part.cell_end; ++cell) {
        const std::size_t end = cells_.begin(cell + 1);
        for (std::size_t entry = std::max(part.begin, cells_.begin(cell)); entry < std::min(part.end, end); ++entry) {
          test(entry, entry + 1, end, scratch, out);
          if (cells_.behind(cell) > cell + 1) visit<D>(map, cell, entry, scratch, out);
        }
      }
    });
    tests_.fetch_add(scratch.tests, std::memory_order_relaxed);
  }

 private:
  // Cells [cell, cell_end), and of their entries those in [begin, end).
  struct Task {
    std::size_t cell, cell_end, begin, end;
  };

  void plan() {
    std::size_t pending = kTaskCandidates;
    for (std::size_t cell = 0; cell < cells_.count(); ++cell) {
      const std::size_t begin = cells_.begin(cell), end = cells_.begin(cell + 1);
      const std::size_t below = cells_.begin(cells_.behind(cell)) - begin, work = (end - begin) * below;
      if (work <= kTaskCandidates) {
        if (pending + work > kTaskCandidates) {
          tasks_.push_back({cell, cell, begin, begin});
          pending = 0;
        }
        tasks_.back().cell_end = cell + 1;
        tasks_.back().end = end;
        pending += work;
        continue;
      }
      const std::size_t rows = std::max<std::size_t>(1, kTaskCandidates / below);
      for (std::size_t at = begin; at < end; at += rows)
        tasks_.push_back({cell, cell + 1, at, std::min(end, at + rows)});
      pending = kTaskCandidates;
    }
  }

  template <std::size_t D>
  void visit(const CellMap<D>& map, std::size_t cell, std::size_t entry, Scratch& scratch, PairBuffer& out) const {
    std::uint64_t low[D], high[D];
    const std::size_t within = cells_.behind(cell) - cell;
    double covered = 1;
    for (std::size_t k = 0; k < D; ++k) {
      low[k] = map.coordinate(static_cast<double>(boxes_.columns[0].lower(k)[entry]), k);
      high[k] = std::max(low[k], map.coordinate(static_cast<double>(boxes_.columns[0].upper(k)[entry]), k));
      covered *= static_cast<double>(high[k] - low[k] + 1);
    }
    if (covered > static_cast<double>(within)) {
      for (std::size_t other = cell + 1; other < cell + within; ++other)
        if (meets<D>(other, low, high)) search(other, entry, scratch, out);
      return;
    }
    std::uint64_t at[D];
    std::copy_n(low, D, at);
    for (;;) {
      for (std::uint32_t other = cells_.around(morton_number<D>(at)); other != cell; other = cells_.parent(other)) {
        if (scratch.visited[other] == entry) break;
        scratch.visited[other] = static_cast<std::uint32_t>(entry);
        search(other, entry, scratch, out);
      }
      std::size_t k = 0;
      while (k < D && at[k] == high[k]) {
        at[k] = low[k];
        ++k;
      }
      if (k == D) return;
      ++at[k];
    }
  }
  template <std::size_t D>
  bool meets(std::size_t cell, const std::uint64_t* low, const std::uint64_t* high) const {
    const std::size_t up = cells_.keys().depth - cells_.level(cell);
    const auto at = morton_cell(cells_.number(cell), D);
    for (std::size_t k = 0; k < D; ++k)
      if (low[k] >> up > at[k] || high[k] >> up < at[k]) return false;
    return true;
  }

  void search(std::size_t cell, std::size_t entry, Scratch& scratch, PairBuffer& out) const {
    test(entry, cells_.begin(cell), cells_.begin(cell + 1), scratch, out);
  }
  void test(std::size_t entry, std::size_t begin, std::size_t end, Scratch& scratch, PairBuffer& out) const {
    if (begin >= end) return;
    if (scratch.positions.size() < end - begin + 64) scratch.positions.resize(end - begin + 64);
    T box[8];
    boxes_.columns[0].gather(entry, box);
    scratch.tests += end - begin;
    const std::size_t found = overlap_({boxes_.columns[0].pointers(), begin, end, box}, scratch.positions.data());
    if (found == 0) return;
    if (out.counts_only()) {
      out.add_count(found);
      return;
    }
    out.room(found);
    const std::int32_t row = boxes_.rows[0][entry];
    for (std::size_t k = 0; k < found; ++k) {
      const std::int32_t other = boxes_.rows[0][scratch.positions[k]];
      out.first()[k] = std::min(row, other);
      out.second()[k] = std::max(row, other);
    }
    out.commit(found);
  }

  const LinearCells& cells_;
  LinearWorld world_;
  std::size_t dimension_;
  OverlapRun<T> overlap_;
  LinearBoxes<T> boxes_;
  std::vector<Task> tasks_;
  mutable std::atomic<std::uint64_t> tests_{0};
};

}  // namespace broadphase
