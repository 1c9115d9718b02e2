// The boxes of one set filed in small cells, and kept: many boxes at once are looked up in them.
//
// A cell holds its boxes by row, so that what a query finds in a cell ascends. Queries are taken in the order of the
// cells they begin in, which then are in a near cache, and what each finds is copied once to its place in the answer. A
// box and a query that share several cells are found in one of them, as in grid.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/read_ahead.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "boxes/box_view.hpp"
#include "grid/grid.hpp"
#include "grid/look_up.hpp"
#include "grid/plan.hpp"
#include "query/ragged.hpp"
#include "query/sort_rows.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

// How a scene is cut into cells that many boxes are looked up in: as is best for as many of them as there are boxes.
inline GridPlan look_up_plan(const SceneShape& shape, std::size_t count, std::size_t dimension) {
  // In nanoseconds, fitted to measurements; only the ratios matter. A few more or fewer cells make no difference.
  constexpr double kVisit = 20, kBlock = 4, kCell = 20;
  GridPlan plan{};
  cut_while_cheaper(plan, shape, dimension, 1.2, [&](const double* cells, double all) {
    const double records = static_cast<double>(count) * shape.cells_covered(cells, dimension);
    return records * (kVisit + kBlock * (records / all / kBlockLanes + 0.5)) + kCell * all;
  });
  return plan;
}

// How many of the boxes a query overlaps on average, by some of both: less than one is not told from none.
template <class T>
double boxes_of_query(const BoxView<T>& boxes, const BoxView<T>& queries, std::size_t dimension,
                      const Kernels& kernels) {
  constexpr std::size_t kQueries = 32, kLeastBoxes = 512, kOneOf = 16, kTogether = 256, kReadable = 64;
  const StratifiedSample sampled(queries.count, kQueries),
      taken(boxes.count, std::max(kLeastBoxes, boxes.count / kOneOf));
  const OverlapRun<T> overlap = overlap_kernels<T>(kernels, true).run[dimension - 1];
  T corners[8][kTogether + kReadable] = {};
  const T* columns[8];
  for (std::size_t k = 0; k < 2 * dimension; ++k) columns[k] = corners[k];
  std::uint32_t positions[kTogether + kReadable];
  std::size_t found = 0;
  for (std::size_t begin = 0; begin < taken.size(); begin += kTogether) {
    const std::size_t count = std::min(kTogether, taken.size() - begin);
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t d = 0; d < dimension; ++d) {
        corners[d][k] = boxes.lower_of(taken[begin + k])[d];
        corners[dimension + d][k] = boxes.upper_of(taken[begin + k])[d];
      }
    for (std::size_t k = 0; k < sampled.size(); ++k) {
      T box[8];
      std::copy_n(queries.lower_of(sampled[k]), dimension, box);
      std::copy_n(queries.upper_of(sampled[k]), dimension, box + dimension);
      found += overlap({columns, 0, count, box}, positions);
    }
  }
  const auto compared = static_cast<double>(std::max<std::size_t>(sampled.size() * taken.size(), 1));
  return static_cast<double>(found) * static_cast<double>(boxes.count) / compared;
}

namespace detail {

// Writes the records of a cell as FiledBoxes has them.
template <std::size_t D>
void write_columns(const RecordRuns& runs, std::size_t entries, std::int16_t* to) {
  constexpr std::ptrdiff_t kRunsAhead = 8;  // they lie in many places
  using Own = Record<(D < 4 ? 3 : 4)>;
  std::int16_t* const before = to + 2 * D * entries;
  auto* const rows = reinterpret_cast<std::int32_t*>(before + entries);
  std::size_t at = 0;
  for (const RecordRun* run = runs.begin; run < runs.end; ++run) {
    const RecordRun& soon = run[std::min(kRunsAhead, runs.last - run)];
    for (std::size_t line = 0; line < soon.count * sizeof(Own); line += 64)
      read_ahead(static_cast<const std::byte*>(soon.records) + line);
    const auto* records = static_cast<const Own*>(run->records);
    for (std::size_t i = 0; i < run->count; ++i, ++at) {
      unsigned marks = 0;
      for (std::size_t d = 0; d < D; ++d) {
        to[2 * d * entries + at] = records[i].lower[d];
        to[(2 * d + 1) * entries + at] = records[i].negated_upper[d];
        marks |= static_cast<unsigned>(records[i].lower[d] == kBeganBefore) << d;
      }
      before[at] = static_cast<std::int16_t>(marks);
      rows[at] = static_cast<std::int32_t>(number_of(records[i]));
    }
  }
  // What is behind the last record overlaps nothing.
  for (; at < entries; ++at) {
    for (std::size_t column = 0; column < 2 * D; ++column) to[column * entries + at] = 32767;
    before[at] = 0;
    rows[at] = 0;
  }
}

struct RowsOfQuery {
  const std::int32_t* rows;
  std::size_t count;
};

// Sorts up to kFewRows different rows, each to the place of how many are less: without a branch that depends on them.
// Reads kFewRows numbers.
inline constexpr std::size_t kFewRows = 16;
inline void sort_few(std::int32_t* rows, std::size_t count) {
  std::int32_t row[kFewRows], rank[kFewRows];
  for (std::size_t l = 0; l < kFewRows; ++l) {
    row[l] = rows[l];
    rank[l] = 0;
  }
  for (std::size_t k = 0; k < count; ++k) {
    const std::int32_t other = row[k];
    for (std::size_t l = 0; l < kFewRows; ++l) rank[l] += row[l] > other ? 1 : 0;
  }
  for (std::size_t k = 0; k < count; ++k) rows[rank[k]] = row[k];
}

// Most answers are short: a fixed number of rows is copied without a branch, where the answers behind have room for
// what is too much.
inline void copy_rows(const RowsOfQuery* found, std::size_t begin, std::size_t end, RaggedBlocks& result) {
  constexpr std::size_t kAhead = 12, kFixed = 16;
  const auto last = static_cast<std::size_t>(result.offsets[end]);
  for (std::size_t k = begin; k < end; ++k) {
    if (k + kAhead < end) read_ahead(found[k + kAhead].rows);
    const auto at = static_cast<std::size_t>(result.offsets[k]);
    const auto& [rows, count] = found[k];
    if (count <= kFixed && at + kFixed <= last)
      std::memcpy(result.rows.get() + at, rows, kFixed * sizeof(std::int32_t));
    else
      std::memcpy(result.rows.get() + at, rows, count * sizeof(std::int32_t));
  }
}

struct FoundRoom : RowRoom {
  RowMarks marks;
};

}  // namespace detail

template <class T>
class BoxCells {
 public:
  BoxCells() = default;
  BoxCells(const BoxCells&) = delete;
  BoxCells& operator=(const BoxCells&) = delete;

  // False, with nothing to be looked up, where cells do not suit the boxes: they lie on many scales, cover too many
  // cells, or crowd in a few. Throws bad_alloc, Interrupted, or InvalidBoxes for NaN and for lower > upper.
  bool file(const BoxView<T>& boxes, std::size_t dimension, const Kernels& kernels, unsigned workers,
            Interrupt& interrupt) {
    Problem<T> problem;
    problem.first = boxes;
    problem.dimension = dimension_ = dimension;
    const SceneShape shape = shape_of(sample_of(problem), dimension);
    for (std::size_t d = 0; d < dimension; ++d)
      if (!shape.map[d].quantiles.empty()) return false;
    const GridPlan plan = look_up_plan(shape, boxes.count, dimension);
    const GridLevel<T> level(problem, kernels, workers, shape, plan, interrupt);
    layout_ = level.layout();
    return keep(level, workers, interrupt);
  }
  std::size_t bytes() const { return words_.size() * sizeof(std::int16_t) + start_.capacity() * sizeof(std::uint32_t); }

  // The rows that overlap each query, ascending; both sets closed. `boxes`: those that were filed. Nothing where a
  // sample shows that the queries cover too many cells.
  std::optional<RaggedBlocks> find(const BoxView<T>& boxes, const BoxView<T>& queries, const Kernels& kernels,
                                   unsigned workers, Interrupt& interrupt) const {
    if (!suits(boxes, queries, kernels)) return std::nullopt;
    const std::vector<std::uint32_t> order = by_cell(queries, interrupt);
    RaggedBlocks result;
    result.begin(queries.count);
    const PlainMemory<detail::RowsOfQuery> found = allocate_plain<detail::RowsOfQuery>(queries.count);
    std::vector<detail::FoundRoom> room(std::max(1u, workers));
    const std::size_t tasks = (queries.count + kTogether - 1) / kTogether;
    const auto end_of = [&](std::size_t task) { return std::min(queries.count, (task + 1) * kTogether); };
    for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
      const std::size_t begin = task * kTogether;
      find_some(boxes, queries, order.data() + begin, end_of(task) - begin, kernels, room[worker], found.get());
    });
    for (std::size_t k = 0; k < queries.count; ++k) result.offsets[k + 1] = static_cast<std::int64_t>(found[k].count);
    result.add_up();
    for_each_task(tasks, workers, interrupt, [&](unsigned, std::size_t task) {
      detail::copy_rows(found.get(), task * kTogether, end_of(task), result);
    });
    return result;
  }

 private:
  static constexpr std::size_t kTogether = 256;  // queries

  // Copies the records of all cells.
  bool keep(const GridLevel<T>& level, unsigned workers, Interrupt& interrupt) {
    constexpr std::size_t kLine = 32, kCellsTogether = 64;  // words; cells
    constexpr double kMostBlocks = 24;                      // in the cell of a box, on average
    const std::size_t cells = layout_.cell_count, words = words_of_block(dimension_);
    start_.assign(1, 0);
    start_.reserve(cells + 1);
    double blocks = 0;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const std::size_t count = level.count_in(0, cell), here = (count + kBlockLanes - 1) / kBlockLanes;
      blocks += static_cast<double>(count) * static_cast<double>(here);
      start_.push_back(start_.back() + static_cast<std::uint32_t>(here));
    }
    if (blocks > kMostBlocks * static_cast<double>(level.record_count())) return false;
    words_.grow(start_.back() * words + kLine);
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(words_.get()) / sizeof(std::int16_t) % kLine;
    std::int16_t* const to = words_.get() + (kLine - beyond) % kLine;
    for_each_task((cells + kCellsTogether - 1) / kCellsTogether, workers, interrupt, [&](unsigned, std::size_t task) {
      with_dimension(dimension_, [&](auto dimension) {
        const std::size_t end = std::min(cells, (task + 1) * kCellsTogether);
        for (std::size_t cell = task * kCellsTogether; cell < end; ++cell)
          if (const std::size_t own = start_[cell + 1] - start_[cell]; own > 0)
            detail::write_columns<decltype(dimension)::value>(level.runs_in(cell), own * kBlockLanes,
                                                              to + start_[cell] * words);
      });
    });
    filed_.words = to;
    filed_.start = start_.data();
    std::copy_n(layout_.cell_stride, 4, filed_.cell_stride);
    return true;
  }

  // As the kernels that file boxes compute it: monotone, and defined for all numbers.
  std::int32_t steps(T x, std::size_t axis) const {
    constexpr T kMost = T{1073741824};
    T steps = (x - layout_.origin[axis]) * layout_.scale[axis];
    steps = steps > T{0} ? steps : T{0};
    steps = steps < kMost ? steps : kMost;
    return std::min(static_cast<std::int32_t>(steps), layout_.largest[axis]);
  }
  // Of each of some queries the lower numbers, and then the upper ones.
  void take_steps(const BoxView<T>& queries, const std::uint32_t* numbers, std::size_t count, std::int32_t* to) const {
    constexpr std::size_t kAhead = 12;
    with_dimension(dimension_, [&](auto dimension) {
      constexpr std::size_t D = decltype(dimension)::value;
      for (std::size_t k = 0; k < count; ++k, to += 2 * D) {
        const std::size_t soon = numbers[std::min(k + kAhead, count - 1)];
        read_ahead(queries.lower_of(soon));
        read_ahead(queries.upper_of(soon));
        const T *low = queries.lower_of(numbers[k]), *high = queries.upper_of(numbers[k]);
        for (std::size_t d = 0; d < D; ++d) {
          to[d] = steps(low[d], d);
          to[D + d] = std::max(to[d], steps(high[d], d));  // also of queries that are written to meanwhile
        }
      }
    });
  }

  // By a few of them: whether each is compared with few blocks, as many more as it finds rows: these would be put in
  // order.
  bool suits(const BoxView<T>& boxes, const BoxView<T>& queries, const Kernels& kernels) const {
    constexpr double kMostBlocks = 64, kVisit = 4;  // a cell takes as long as so many blocks
    constexpr double kOfRow = 1.5;  // in blocks: what it takes longer to put a row in order among all than here
    const StratifiedSample taken(queries.count, kTogether);
    std::uint32_t numbers[kTogether];
    std::int32_t steps_of[kTogether * 8];
    for (std::size_t k = 0; k < taken.size(); ++k) numbers[k] = static_cast<std::uint32_t>(taken[k]);
    take_steps(queries, numbers, taken.size(), steps_of);
    double cells = 0;
    for (std::size_t k = 0; k < taken.size(); ++k) {
      const std::int32_t *low = steps_of + 2 * dimension_ * k, *high = low + dimension_;
      double covered = 1;
      for (std::size_t d = 0; d < dimension_; ++d) covered *= (high[d] >> kCellBits) - (low[d] >> kCellBits) + 1;
      cells += covered;
    }
    const double in_cell = static_cast<double>(start_.back()) / static_cast<double>(layout_.cell_count);
    const double blocks = cells / static_cast<double>(taken.size()) * (kVisit + in_cell);
    return blocks <= kMostBlocks ||
           blocks <= kMostBlocks + kOfRow * boxes_of_query(boxes, queries, dimension_, kernels);
  }

  // The queries in the order of the cells that they begin in.
  std::vector<std::uint32_t> by_cell(const BoxView<T>& queries, Interrupt& interrupt) const {
    std::vector<std::uint32_t> next(layout_.cell_count + 1, 0), homes(queries.count), order(queries.count);
    in_stretches(queries.count, interrupt, [&](std::size_t begin, std::size_t end) {
      with_dimension(dimension_, [&](auto dimension) {
        for (std::size_t k = begin; k < end; ++k) {
          const T* low = queries.lower_of(k);
          std::int32_t cell = 0;
          for (std::size_t d = 0; d < decltype(dimension)::value; ++d)
            cell += (steps(low[d], d) >> kCellBits) * layout_.cell_stride[d];
          homes[k] = static_cast<std::uint32_t>(cell);
          ++next[homes[k] + 1];
        }
      });
    });
    for (std::size_t cell = 0; cell < layout_.cell_count; ++cell) next[cell + 1] += next[cell];
    in_stretches(queries.count, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) order[next[homes[k]]++] = static_cast<std::uint32_t>(k);
    });
    return order;
  }

  // For up to kTogether queries.
  void find_some(const BoxView<T>& boxes, const BoxView<T>& queries, const std::uint32_t* order, std::size_t count,
                 const Kernels& kernels, detail::FoundRoom& to, detail::RowsOfQuery* found) const {
    constexpr std::size_t kUsualRoom = std::size_t{1} << 16;
    std::int32_t steps_of[kTogether * 8];
    FoundRows answers[kTogether];
    for (std::size_t k = 0; k < count; ++k) read_ahead(found + order[k]);
    take_steps(queries, order, count, steps_of);
    for (std::size_t done = 0; done < count;) {
      const LookUps request{&filed_, steps_of + 2 * dimension_ * done, count - done, to.next, to.room, answers};
      const std::size_t answered = kernels.look_up[dimension_ - 1](request);
      for (std::size_t k = 0; k < answered; ++k) {
        const std::uint32_t query = order[done + k];
        std::int32_t* const rows = to.next;
        std::size_t row_count = answers[k].count;
        to.advance(row_count);
        if (!answers[k].sure) row_count = keep_overlapping(boxes, queries, query, rows, row_count);
        if (!answers[k].in_order) {
          if (row_count <= detail::kFewRows)
            detail::sort_few(rows, row_count);
          else
            to.marks.sort(rows, row_count, boxes.count);
        }
        found[query] = {rows, row_count};
      }
      done += answered;
      if (done == count) return;
      // Where the usual room does not suffice for one query: for all that it may find, and two blocks more.
      const bool is_large = answered == 0 && to.room >= kUsualRoom;
      to.take(is_large ? (std::size_t{start_.back()} + 2) * kBlockLanes : kUsualRoom);
    }
  }

  std::size_t keep_overlapping(const BoxView<T>& boxes, const BoxView<T>& queries, std::size_t query,
                               std::int32_t* rows, std::size_t count) const {
    const T *lower = queries.lower_of(query), *upper = queries.upper_of(query);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const auto row = static_cast<std::size_t>(rows[k]);
      const T *low = boxes.lower_of(row), *high = boxes.upper_of(row);
      bool meet = true;
      for (std::size_t d = 0; d < dimension_; ++d) meet &= low[d] <= upper[d] && lower[d] <= high[d];
      rows[kept] = rows[k];
      kept += meet;
    }
    return kept;
  }

  std::size_t dimension_ = 0;
  GridLayout<T> layout_{};
  std::vector<std::uint32_t> start_;
  PlainArray<std::int16_t> words_;
  FiledBoxes filed_{};
};

}  // namespace broadphase
