// A few boxes against many: cells of the few, and one pass over the many.
//
//   +-------+-------+-------+   The few, A and B, are enlarged downwards by the size of a usual box of the many, which
//   |       |   +-----+     |   then meets one of them only if its lower corner is in a marked cell:
//   |       |   |:::B:|     |
//   |  +----|-+ |:::::|     |     a bit for each cell         most of the many are rejected by one
//   |  |::A:| : +-----+     |     a list for 4 or 8 of them   the others are compared with the few on it
//   |  +----|-+     |       |
//   +-------+-------+-------+   A pair is found once: a lower corner is in one cell.
//
// Longer boxes of the many are looked up in cells made for greater lengths, and the longest are compared with all of
// the few. Those of the few that meet many of the many are in no cells: all are compared with them, 64 at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/memory.hpp"
#include "boxes/box_columns.hpp"
#include "query/method.hpp"
#include "query/preparation.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

// The cells of the few. Reads their boxes once, and some of the many.
template <class T>
class FewCells {
 public:
  // Whether one set is so small that its cells may be worth making.
  static bool suit(const Problem<T>& problem) {
    constexpr std::size_t kTimesAsMany = 64, kMany = 8192;
    const auto [few, many] = std::minmax(problem.first.count, problem.second.count);
    return problem.cross && (problem.dimension == 2 || problem.dimension == 3) && problem.batches == nullptr &&
           few > 0 && many >= kMany && few * kTimesAsMany <= many;
  }

  // `look`: as of sample_of in grid/plan.hpp. Precondition: they suit the problem.
  FewCells(const Problem<T>& problem, unsigned look);

  // Of the sampled boxes of the many, on average: how many have a list, and how many boxes are on it, where the list is
  // short and where it is long.
  struct Work {
    double listed = 0, tests = 0, long_tests = 0, wide = 0;  // wide: boxes that are in no cells
  };
  const Work& work() const { return work_; }
  // Along each axis, of the finest level.
  std::size_t cells_along(std::size_t axis) const { return std::size_t{1} << levels_[0].bits[axis]; }

 private:
  template <class>
  friend class FewInCells;

  // Cells for boxes of the many of no more than such a length along each axis.
  struct Level {
    T reach[3];
    T low[3], scale[3], last[3];                 // see cell_along
    unsigned bits[3], shift[3];                  // of the number of a cell
    std::vector<std::uint64_t> marks, has_list;  // of cells, and of blocks of two cells along each axis
    std::vector<std::uint32_t> lists_before;     // of each word of `has_list`: the number of the first list
  };
  // Lists from this length on are compared by vectors, from columns of their own.
  static constexpr std::uint32_t kLong = 16, kNotLong = ~std::uint32_t{0};
  static constexpr std::uint32_t kListOfAll = 0;

  // Some of the many, grown: lower corners by axis, then sizes by axis.
  struct Sample {
    std::vector<T> lower[3], upper[3];
    std::size_t size() const { return lower[0].size(); }
  };

  template <std::size_t D>
  void make(const BoxView<T>& few, const BoxView<T>& many, bool touching, T grow, unsigned look);
  template <std::size_t D>
  void take_wide_out(const double* reach, const Sample& sample);
  template <std::size_t D>
  void add_level(const T* reach, const Sample& sample, std::size_t many);
  void lengthen_lists(std::size_t dimension);
  template <std::size_t D>
  std::uint32_t list_of(const T* lower, const T* upper) const;
  template <std::size_t D>
  static std::uint32_t list_in(const Level& level, std::uint32_t cell);
  std::uint32_t length(std::uint32_t list) const { return start_[list + 1] - start_[list]; }

  std::size_t dimension_;
  bool valid_ = true;               // the few
  std::vector<T> boxes_;            // lower and upper corners, grown
  std::vector<std::int32_t> rows_;  // of these boxes
  std::vector<T> wide_boxes_;       // likewise
  std::vector<std::int32_t> wide_rows_;
  std::vector<Level> levels_;               // for ever longer boxes
  std::vector<std::uint32_t> start_, few_;  // the lists of all levels; the first has all boxes
  std::vector<std::uint32_t> column_;       // of each list: where it begins in the columns
  BoxColumns<T> columns_;
  Work work_;
};
extern template class FewCells<float>;
extern template class FewCells<double>;

// The search, as a method. Reads the many while it is prepared: checks them, looks them up, and compares them with
// short lists. Only long lists are left for the tasks.
template <class T>
class FewInCells {
 public:
  struct Scratch {};

  // `with.plan` has the cells.
  FewInCells(const Problem<T>& problem, const Preparation& with);

  std::size_t task_count() const { return tasks_.size(); }
  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const;

 private:
  // A box of the many and its list; of a short one, bit k: it overlaps entry k.
  struct Listed {
    std::uint32_t row, list, hits;
  };
  // Bit k: the box `wide` of the few overlaps row + k.
  struct WideHits {
    std::uint32_t row, wide;
    std::uint64_t hits;
  };
  struct Stretch {
    PlainArray<Listed> listed;
    std::vector<WideHits> wide;
    std::size_t count = 0;
    std::uint64_t tests = 0, pairs = 0;  // pairs: at most, with those of long lists
  };
  struct Task {
    const Listed *begin, *end;
    const WideHits *wide_begin, *wide_end;
  };
  static constexpr std::size_t kStretch = 8192;

  template <std::size_t D, bool Closed>
  bool look_up(std::size_t begin, std::size_t end, Listed* room, Stretch& to) const;
  template <std::size_t D>
  bool read(std::uint32_t row, T* box) const;
  template <std::size_t D>
  std::size_t put_of(const Listed& box, std::int32_t* few, std::int32_t* many) const;
  std::size_t put(const Listed& box, std::int32_t* few, std::int32_t* many) const;
  std::size_t put(const WideHits& hits, std::int32_t* few, std::int32_t* many) const;
  std::size_t most_pairs(const Listed& box) const;
  std::size_t most_pairs(const WideHits& hits) const;
  template <class Found>
  void put_all(const Found* begin, const Found* end, PairBuffer& out) const;

  std::shared_ptr<const FewCells<T>> cells_;
  BoxView<T> many_;
  std::size_t dimension_;
  bool touching_, few_first_;
  T grow_;
  OverlapRun<T> overlap_;
  std::vector<Stretch> stretches_;
  std::vector<Task> tasks_;
};
extern template class FewInCells<float>;
extern template class FewInCells<double>;

}  // namespace broadphase
