// Every box against every other, many at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "boxes/box_columns.hpp"
#include "query/method.hpp"
#include "query/preparation.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

namespace detail {

// The boxes of one set, grown, in their order; those that can overlap nothing are left out.
template <class T>
struct BruteForceSet {
  BoxColumns<T> columns;
  std::vector<std::int32_t> rows;  // of each position; empty: row and position are the same
  std::size_t count = 0;

  // `some`: the rows to take, ascending; empty: all.
  BruteForceSet(const BoxView<T>& boxes, std::size_t dimension, bool touching, T grow, Interrupt& interrupt,
                std::vector<std::int32_t> some = {})
      : rows(std::move(some)), count(rows.empty() ? boxes.count : rows.size()) {
    if (!touching) leave_out_empty(boxes, dimension, grow);
    columns = BoxColumns<T>(count, dimension);
    for (std::size_t k = 0; k < dimension; ++k) {
      T *lower = columns.lower(k), *upper = columns.upper(k);
      in_stretches(count, interrupt, [&](std::size_t begin, std::size_t end) {
        for (std::size_t position = begin; position < end; ++position) {
          const std::size_t row = row_of(position);
          lower[position] = boxes.lower_of(row)[k] - grow;
          upper[position] = boxes.upper_of(row)[k] + grow;
        }
      });
    }
  }

  std::size_t row_of(std::size_t position) const {
    return rows.empty() ? position : static_cast<std::size_t>(rows[position]);
  }

 private:
  void leave_out_empty(const BoxView<T>& boxes, std::size_t dimension, T grow) {
    std::size_t position = 0;
    const auto interior = [&] {
      const std::size_t row = row_of(position);
      return has_interior(boxes.lower_of(row), boxes.upper_of(row), dimension, grow);
    };
    while (position < count && interior()) ++position;
    if (position == count) return;
    std::vector<std::int32_t> kept;
    for (std::size_t k = 0; k < position; ++k) kept.push_back(static_cast<std::int32_t>(row_of(k)));
    for (; position < count; ++position)
      if (interior()) kept.push_back(static_cast<std::int32_t>(row_of(position)));
    rows = std::move(kept);
    count = rows.size();
  }
};

}  // namespace detail

// One set: each box against the boxes behind it. Two sets: each box of the smaller one against all of the larger one,
// so that runs are long. A task is a block of rows by a range of columns, gone through in tiles:
//
//         columns                     one set: tasks on and right of the diagonal
//        +----+----+----+
//   rows | \t | tt | tt |             t: a tile of kTileColumns, read from the nearest cache by every row of the block
//        +----+----+----+
//             | \t | tt |
template <class T>
class BruteForce {
 public:
  struct Scratch {};

  BruteForce(const Problem<T>& problem, const Preparation& with) : BruteForce(checked(problem, with), with, {}) {}
  // `some`: the rows to compare where there is one set, ascending; empty: all. Precondition: boxes are valid.
  BruteForce(const Problem<T>& problem, const Preparation& with, std::vector<std::int32_t> some)
      : cross_(problem.cross),
        turned_(cross_ && problem.first.count > problem.second.count),
        overlap_(overlap_kernels<T>(with.kernels, problem.touching).run[problem.dimension - 1]),
        large_(turned_ || !cross_ ? problem.first : problem.second, problem.dimension, problem.touching, problem.grow,
               with.interrupt, std::move(some)),
        small_(cross_ ? (turned_ ? problem.second : problem.first) : BoxView<T>{}, problem.dimension, problem.touching,
               problem.grow, with.interrupt) {
    const std::size_t rows = cross_ ? small_.count : large_.count;
    if (rows == 0 || large_.count == 0) return;
    task_rows_ = std::min(rows, kMostRows);
    task_columns_ = cross_ ? kTaskCandidates / task_rows_ : task_rows_;
    row_tasks_ = (rows + task_rows_ - 1) / task_rows_;
    column_tasks_ = (large_.count + task_columns_ - 1) / task_columns_;
  }

  std::size_t task_count() const { return cross_ ? row_tasks_ * column_tasks_ : row_tasks_ * (row_tasks_ + 1) / 2; }

  void run(std::size_t task, Scratch&, PairBuffer& out) const {
    const auto [row_task, column_task] = place(task);
    const auto& queries = cross_ ? small_ : large_;
    const std::size_t first_row = row_task * task_rows_, last_row = std::min(queries.count, first_row + task_rows_);
    const std::size_t first_column = column_task * task_columns_;
    const std::size_t last_column = std::min(large_.count, first_column + task_columns_);
    for (std::size_t tile = first_column; tile < last_column; tile += kTileColumns) {
      const std::size_t end = std::min(last_column, tile + kTileColumns);
      for (std::size_t row = first_row; row < last_row; ++row) {
        const std::size_t begin = cross_ ? tile : std::max(tile, row + 1);
        if (begin >= end) break;
        test(queries, row, begin, end, out);
      }
    }
  }

 private:
  // 1024 columns of six floats are 24 KB, which the first level of cache of common processors holds. With 2048 rows
  // a task has kTaskCandidates candidates.
  static constexpr std::size_t kTileColumns = 1024, kMostRows = 2048;
  static_assert(kMostRows * kMostRows <= kTaskCandidates);

  struct Place {
    std::size_t row_task, column_task;
  };

  // One set: the tasks of the upper triangle, column by column: task 0 is (0, 0), 1 is (0, 1), 2 is (1, 1), ...
  Place place(std::size_t task) const {
    if (cross_) return {task / column_tasks_, task % column_tasks_};
    auto column = static_cast<std::size_t>((std::sqrt(8.0 * static_cast<double>(task) + 1.0) - 1.0) / 2.0);
    while (column * (column + 1) / 2 > task) --column;
    while ((column + 1) * (column + 2) / 2 <= task) ++column;
    return {task - column * (column + 1) / 2, column};
  }

  void test(const detail::BruteForceSet<T>& queries, std::size_t position, std::size_t begin, std::size_t end,
            PairBuffer& out) const {
    T box[8];
    queries.columns.gather(position, box);
    out.room(end - begin + 64);
    // Positions are written where the row numbers will be, as unsigned numbers of the same size.
    std::int32_t* found_rows = turned_ ? out.first() : out.second();
    const std::size_t found =
        overlap_({large_.columns.pointers(), begin, end, box}, reinterpret_cast<std::uint32_t*>(found_rows));
    if (found == 0) return;
    if (out.counts_only()) {
      out.add_count(found);
      return;
    }
    if (!large_.rows.empty())
      for (std::size_t k = 0; k < found; ++k) found_rows[k] = large_.rows[static_cast<std::size_t>(found_rows[k])];
    std::int32_t* query_rows = turned_ ? out.second() : out.first();
    std::fill_n(query_rows, found, static_cast<std::int32_t>(queries.row_of(position)));
    out.commit(found);
  }

  bool cross_, turned_;  // turned: the larger set is the first
  OverlapRun<T> overlap_;
  detail::BruteForceSet<T> large_, small_;
  std::size_t task_rows_ = 1, task_columns_ = 1, row_tasks_ = 0, column_tasks_ = 0;
};

}  // namespace broadphase
