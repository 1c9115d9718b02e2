// The overlapping pairs among the rows of an octree, and the octree as a one-shot method.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/samples.hpp"
#include "boxes/box_view.hpp"
#include "bvh/pairs.hpp"
#include "octree/cells.hpp"
#include "octree/index.hpp"
#include "query/method.hpp"
#include "query/preparation.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"
#include "sweep/sweep_and_prune.hpp"
#include "tree/blocks.hpp"
#include "tree/sure_box.hpp"
#include "tree/walks.hpp"

namespace broadphase {

// ---- The lists that a walk carries down: boxes of other cells that reach into the current one ----

// A stack of boxes as structure of arrays, each with a number.
class BoxStack {
 public:
  // Kernels read up to this many values past the last.
  static constexpr std::size_t kSlack = 64;

  // Empty, for boxes of so many dimensions.
  void start(std::size_t dimension) {
    if (dimension != dimension_) *this = BoxStack();
    dimension_ = dimension;
    size_ = 0;
  }
  std::size_t size() const { return size_; }
  std::int32_t number(std::size_t at) const { return numbers_[at]; }
  const float* const* columns() const { return columns_; }
  void cut(std::size_t size) { size_ = size; }

  // Throws bad_alloc, and then nothing has changed.
  void push(const float* box, std::int32_t number) {
    room(1);
    for (std::size_t k = 0; k < 2 * dimension_; ++k) column(k)[size_] = box[k];
    numbers_[size_++] = number;
  }
  // Pushes the boxes of all eight lanes of a block.
  void push_block(const Blocks& blocks, std::int32_t block) {
    room(kLanes);
    for (std::size_t k = 0; k < dimension_; ++k) {
      std::memcpy(column(k) + size_, blocks.lower(block, k), kLanes * sizeof(float));
      std::memcpy(column(dimension_ + k) + size_, blocks.upper(block, k), kLanes * sizeof(float));
    }
    blocks.child(block).copy_to(numbers_.get() + size_);
    size_ += kLanes;
  }
  void get(std::size_t at, float* box) const {
    for (std::size_t k = 0; k < 2 * dimension_; ++k) box[k] = columns_[k][at];
  }
  // Pushes copies of own entries.
  void push_from(const std::uint32_t* positions, std::size_t count) {
    room(count);
    for (std::size_t k = 0; k < 2 * dimension_; ++k) {
      float* to = column(k);
      for (std::size_t i = 0; i < count; ++i) to[size_ + i] = to[positions[i]];
    }
    for (std::size_t i = 0; i < count; ++i) numbers_[size_ + i] = numbers_[positions[i]];
    size_ += count;
  }

 private:
  float* column(std::size_t k) { return values_.get() + k * capacity_; }
  void room(std::size_t count) {
    if (size_ + count + kSlack <= capacity_) return;
    const std::size_t capacity = 2 * (size_ + count) + 512;
    PlainArray<float> values;
    PlainArray<std::int32_t> numbers;
    values.grow(2 * dimension_ * capacity);
    numbers.grow(capacity);
    // Kernels load slightly past the last entry: never uninitialized memory.
    std::fill_n(values.get(), values.size(), 0.0F);
    for (std::size_t k = 0; k < 2 * dimension_; ++k) {
      if (size_ > 0) std::memcpy(values.get() + k * capacity, columns_[k], size_ * sizeof(float));
      columns_[k] = values.get() + k * capacity;
    }
    if (size_ > 0) std::memcpy(numbers.get(), numbers_.get(), size_ * sizeof(std::int32_t));
    values_ = std::move(values);
    numbers_ = std::move(numbers);
    capacity_ = capacity;
  }

  std::size_t dimension_ = 0, size_ = 0, capacity_ = 0;
  PlainArray<float> values_;
  PlainArray<std::int32_t> numbers_;
  const float* columns_[8] = {};
};

// Three parallel stacks: rows of kind 0, rows of kind 1, cells. See OctreeWalk for the kinds.
struct OctreeReach {
  static constexpr std::size_t kCells = 2;
  struct Mark {
    std::size_t at[3];
  };
  Mark mark() const { return {{stack[0].size(), stack[1].size(), stack[2].size()}}; }
  void cut(const Mark& mark) {
    for (std::size_t k = 0; k < 3; ++k) stack[k].cut(mark.at[k]);
  }

  void start(std::size_t dimension) {
    for (BoxStack& each : stack) each.start(dimension);
  }

  BoxStack stack[3];
};

// ---- The walk: one pass down the octree that finds every pair once ----

// Rows are in at most two kinds, so that pairs which never count are not even tested: moving and static boxes, or
// boxes of the first and of the second set. Bit q of partners[p]: kind p may pair with kind q.
struct OctreeKinds {
  std::uint8_t partners[2] = {1, 0};
  const std::uint8_t* is_static = nullptr;  // of each row: kind 1
  std::int32_t first_count = 0;             // cross: rows from here on are of the second set, kind 1
  bool cross = false;

  // Static boxes are a kind of their own, if the filter has any.
  static OctreeKinds of_static(const Filter* filter) {
    OctreeKinds kinds;
    if (filter == nullptr || filter->first.is_static == nullptr) return kinds;
    kinds.is_static = filter->first.is_static;
    kinds.partners[0] = 3;
    kinds.partners[1] = 1;
    return kinds;
  }

  bool is_plain() const { return is_static == nullptr && !cross; }
  std::size_t of(std::int32_t row) const {
    if (cross) return row >= first_count;
    return is_static != nullptr && is_static[static_cast<std::size_t>(row)] != 0;
  }
  // The kinds that may pair with those in a set of kinds.
  unsigned wanted(unsigned kinds) const {
    return ((kinds & 1u) != 0 ? partners[0] : 0u) | ((kinds & 2u) != 0 ? partners[1] : 0u);
  }
  bool pair_among(unsigned kinds) const { return (wanted(kinds) & kinds) != 0; }
};

struct OctreeScratch {
  OctreeReach reach;
  std::vector<std::uint32_t> positions;
  BoxWalk walk;
  std::uint64_t tests = 0, cell_tests = 0;  // of two boxes; of a box and a cell
};

// Carries down the list of boxes that reach into a cell from outside: rows of ancestors, and, as loose cells overlap,
// neighbouring cells that come before it. On the way down the list is reduced to what overlaps each child; listed cells
// are replaced by their contents, one level at a time:
//
//       +-----------+-----------+
//       |  a        |   b +--+  |     in b: the rows of the parent, and cell a;
//       |        +--|--+  |  |  |     in a child of b: those of them that overlap it, and, in place of a,
//       |        +--|--+  +--+  |     the rows and children of a that do
//       +-----------+-----------+
//
// A row is tested against the list and against the rows of its cell before it. Without loose cells, the list holds the
// rows of the ancestors only.
template <class T>
class OctreeWalk {
 public:
  using Mark = OctreeReach::Mark;

  // `kinds_below`: for each cell, the kinds of the rows below it; empty if all rows are of kind 0. Boxes of `rows`
  // are those of the tree's row numbers.
  OctreeWalk(const OctreeCells& cells, const BoxView<T>& rows, bool touching, bool is_exact, const OctreeKinds& kinds,
             const std::vector<std::uint8_t>& kinds_below, std::size_t crowded, const Kernels& kernels,
             OctreeScratch& scratch, PairBuffer& out)
      : cells_(cells),
        blocks_(cells.blocks()),
        rows_(rows),
        touching_(touching),
        is_final_(is_exact && touching),
        kinds_(kinds),
        kinds_below_(kinds_below),
        crowded_(static_cast<std::int32_t>(std::min<std::size_t>(crowded, INT32_MAX))),
        overlap_(kernels.closed_f32.run[blocks_.dimension() - 1]),
        next_by_box_(kernels.trees->floats.next_by_box[blocks_.dimension() - 1]),
        scratch_(scratch),
        reach_(scratch.reach),
        out_(out) {
    reach_.start(blocks_.dimension());
    scratch_.walk.memory = blocks_.memory();
  }

  // Prepares the list for a cell, from the top down; returns where its part of the list begins.
  Mark descend_to(std::int32_t number) {
    std::int32_t path[OctreeLattice::kMostLevels + 2];
    std::size_t length = 0;
    for (std::int32_t at = number; at != kNoCell; at = cells_.cell(at).parent) path[length++] = at;
    Mark from = reach_.mark();
    while (length-- > 1) {
      widen(path[length], from);
      const std::int32_t next = path[length - 1];
      cells_.for_each_child(path[length], [&](std::int32_t child) {
        if (cells_.cell(child).octant < cells_.cell(next).octant) list_cell(child);
      });
      from = narrow(next, from);
    }
    return from;
  }

  // Finds all pairs of a row in the cell or below it with a row listed from `from` on, or with another row below the
  // cell; except those of the own rows of crowded cells. Recursion: one call per level, OctreeLattice::kMostLevels at
  // most.
  void visit(std::int32_t number, const Mark& from) {
    const OctreeCell& cell = cells_.cell(number);
    if (cell.children == 0) {
      if (cell.rows <= crowded_) visit_rows(number, from, 0, cell.rows, true);
      return;
    }
    const Mark before = reach_.mark();
    const Mark own = widen(number, from);
    if (cell.rows > 0 && cell.rows <= crowded_) meet(number, from, own);
    cells_.for_each_child(number, [&](std::int32_t child) {
      if (cells_.cell(child).place == kUnhung) return;
      const Mark wide = reach_.mark();
      const Mark below = narrow(child, from);
      if (matters(child, below)) visit(child, below);
      reach_.cut(wide);
      list_cell(child);
    });
    reach_.cut(before);
  }

  // Finds the pairs of the cell's own rows [begin, end) with what is listed, and, if `among`, with each other.
  void visit_rows(std::int32_t number, const Mark& from, std::int32_t begin, std::int32_t end, bool among) {
    const Mark before = reach_.mark();
    float box[8];
    if (reach_.stack[kCells].size() > from.at[kCells] && get_bounds(number, box))
      pull_all(box, wanted(number), from.at[kCells], before.at[kCells]);
    const Mark own = reach_.mark();
    push_rows(number, begin, end);
    test(from, own, reach_.mark(), reach_.mark(), among);
    reach_.cut(before);
  }

 private:
  static constexpr std::size_t kCells = OctreeReach::kCells;
  static constexpr std::int32_t kWidth = static_cast<std::int32_t>(kLanes);
  static constexpr std::size_t kTogether = 64;  // listed cells whose rows are pulled by one walk

  unsigned below(std::int32_t number) const {
    return kinds_below_.empty() ? 1u : kinds_below_[static_cast<std::size_t>(number)];
  }
  unsigned wanted(std::int32_t number) const { return kinds_.wanted(below(number)); }

  bool get_bounds(std::int32_t number, float* box) const {
    const std::int32_t place = cells_.cell(number).place;
    if (place == kUnhung) return false;
    blocks_.get_box(place / kWidth, static_cast<std::size_t>(place % kWidth), box);
    return true;
  }
  void list_cell(std::int32_t number) {
    float box[8];
    if (get_bounds(number, box)) reach_.stack[kCells].push(box, number);
  }

  // False if no pair can be found below the cell.
  bool matters(std::int32_t number, const Mark& from) const {
    if (kinds_.pair_among(below(number))) return true;
    for (std::size_t k = 0; k < 3; ++k)
      if (reach_.stack[k].size() > from.at[k]) return true;
    return false;
  }

  // Pushes the contents of listed cells that reach into this one, then its own rows; returns where these begin.
  Mark widen(std::int32_t number, const Mark& from) {
    const std::size_t cells_end = reach_.stack[kCells].size();
    float box[8];
    if (cells_end > from.at[kCells] && get_bounds(number, box))
      for (std::size_t k = from.at[kCells]; k < cells_end; ++k)
        pull_lanes(reach_.stack[kCells].number(k), box, wanted(number));
    // The listed cells themselves are no longer needed; their contents are behind them.
    const Mark own = reach_.mark();
    done_with_[depth(number)] = cells_end;
    push_rows(number, 0, cells_.cell(number).rows);
    return own;
  }
  std::size_t depth(std::int32_t number) const {
    const int level = cells_.cell(number).level;
    return level == OctreeLattice::kOutside ? OctreeLattice::kMostLevels + 1 : static_cast<std::size_t>(level);
  }

  // Pushes the part of the list that overlaps a child.
  Mark narrow(std::int32_t child, const Mark& from) {
    const Mark begin = reach_.mark();
    float box[8];
    if (!get_bounds(child, box)) return begin;
    const unsigned wanted_kinds = wanted(child);
    for (std::size_t k = 0; k < 3; ++k) {
      if (k != kCells && (wanted_kinds >> k & 1u) == 0) continue;
      const std::size_t first = k == kCells ? done_with_[depth(cells_.cell(child).parent)] : from.at[k];
      BoxStack& stack = reach_.stack[k];
      if (first == begin.at[k]) continue;
      const std::size_t found = find(stack, first, begin.at[k], box);
      scratch_.cell_tests += begin.at[k] - first;
      stack.push_from(scratch_.positions.data(), found);
    }
    return begin;
  }

  std::size_t find(const BoxStack& stack, std::size_t begin, std::size_t end, const float* box) {
    if (scratch_.positions.size() < end - begin + BoxStack::kSlack)
      scratch_.positions.resize(2 * (end - begin) + 2 * BoxStack::kSlack);
    return overlap_({stack.columns(), begin, end, box}, scratch_.positions.data());
  }

  void push_rows(std::int32_t number, std::int32_t begin, std::int32_t end) {
    std::int32_t at = 0, after = 0;
    for (std::int32_t block = cells_.cell(number).block; block != kNoBlock && at < end; block = blocks_.next(block)) {
      auto bits = static_cast<std::uint32_t>(blocks_.rows(block));
      after += std::popcount(bits);
      if (after > begin && at >= begin && after <= end && after - at == kWidth && kinds_.is_plain()) {
        reach_.stack[0].push_block(blocks_, block);
      } else if (after > begin) {
        for (; bits != 0; bits &= bits - 1, ++at)
          if (at >= begin && at < end) push_lane(block, static_cast<std::size_t>(std::countr_zero(bits)), 3u);
      }
      at = after;
    }
  }
  void push_lane(std::int32_t block, std::size_t lane, unsigned wanted_kinds) {
    const std::int32_t row = blocks_.child(block)[lane];
    const std::size_t kind = kinds_.of(row);
    if ((wanted_kinds >> kind & 1u) == 0) return;
    float box[8];
    blocks_.get_box(block, lane, box);
    reach_.stack[kind].push(box, row);
  }

  // Pushes the rows and children of a listed cell that overlap `box`.
  void pull_lanes(std::int32_t number, const float* box, unsigned wanted_kinds) {
    for (std::int32_t block = cells_.cell(number).block; block != kNoBlock; block = blocks_.next(block)) {
      const float* columns[8];
      for (std::size_t k = 0; k < blocks_.dimension(); ++k) {
        columns[k] = blocks_.lower(block, k);
        columns[blocks_.dimension() + k] = blocks_.upper(block, k);
      }
      std::uint32_t lanes[kLanes + BoxStack::kSlack];
      const std::size_t found = overlap_({columns, 0, kLanes, box}, lanes);
      scratch_.cell_tests += kLanes;
      for (std::size_t k = 0; k < found; ++k) {
        if ((static_cast<std::uint32_t>(blocks_.occupied(block)) >> lanes[k] & 1u) == 0) continue;
        if ((static_cast<std::uint32_t>(blocks_.rows(block)) >> lanes[k] & 1u) != 0) {
          push_lane(block, lanes[k], wanted_kinds);
        } else {
          const std::int32_t child = blocks_.parent(blocks_.child(block)[lanes[k]]);
          if ((below(child) & wanted_kinds) != 0) list_cell(child);
        }
      }
    }
  }
  // Pushes all rows below listed cells [begin, end) that overlap `box`.
  void pull_all(const float* box, unsigned wanted_kinds, std::size_t begin, std::size_t end) {
    BoxWalk& walk = scratch_.walk;
    put_box(box, blocks_.dimension(), walk.box);
    walk.visited = 0;
    while (begin < end) {
      walk.found = walk.depth = 0;
      while (begin < end && walk.depth < kTogether)
        walk.stack[walk.depth++] = cells_.cell(reach_.stack[kCells].number(begin++)).block;
      for (;;) {
        next_by_box_(walk);
        if (walk.found == 0) break;
        for (std::size_t k = 0; k < walk.found; ++k) {
          const std::int32_t place = cells_.place_of(walk.rows[k]);
          push_lane(place / kWidth, static_cast<std::size_t>(place % kWidth), wanted_kinds);
        }
      }
    }
    scratch_.cell_tests += walk.visited * kLanes;
  }

  // Tests the own rows of a cell with children; rows below listed cells are pulled in only for these.
  void meet(std::int32_t number, const Mark& from, const Mark& own) {
    const Mark own_end = reach_.mark();
    const std::size_t cells_begin = done_with_[depth(number)];
    if (own_end.at[kCells] > cells_begin) {
      float box[8];
      bounds_of(own, own_end, box);
      pull_all(box, wanted(number), cells_begin, own_end.at[kCells]);
    }
    test(from, own, own_end, reach_.mark(), true);
    reach_.cut(own_end);
  }
  void bounds_of(const Mark& begin, const Mark& end, float* box) const {
    const std::size_t dimension = blocks_.dimension();
    for (std::size_t k = 0; k < 2 * dimension; ++k) {
      box[k] = k < dimension ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
      for (std::size_t kind = 0; kind < 2; ++kind)
        for (std::size_t at = begin.at[kind]; at < end.at[kind]; ++at) {
          const float x = reach_.stack[kind].columns()[k][at];
          box[k] = k < dimension ? std::min(box[k], x) : std::max(box[k], x);
        }
    }
  }

  // Listed are [from, own) and [own_end, end) of each stack; the cell's own rows are in between.
  void test(const Mark& from, const Mark& own, const Mark& own_end, const Mark& end, bool among) {
    for (std::size_t kind = 0; kind < 2; ++kind)
      for (std::size_t at = own.at[kind]; at < own_end.at[kind]; ++at)
        for (std::size_t other = 0; other < 2; ++other) {
          if ((kinds_.partners[kind] >> other & 1u) == 0) continue;
          // A pair of own rows of different kinds is found by the row of kind 0.
          std::size_t limit = own.at[other];
          if (among && other == kind) limit = at;
          if (among && other > kind) limit = own_end.at[other];
          run(kind, at, other, from.at[other], limit);
          run(kind, at, other, own_end.at[other], end.at[other]);
        }
  }
  void run(std::size_t kind, std::size_t at, std::size_t other, std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    scratch_.tests += end - begin;
    float box[8];
    reach_.stack[kind].get(at, box);
    const BoxStack& stack = reach_.stack[other];
    const std::size_t found = find(stack, begin, end, box);
    if (found == 0) return;
    const bool all = is_final_ || are_sure(stack, begin, end, box, found);
    if (all && out_.counts_only()) {
      out_.add_count(found);
      return;
    }
    out_.room(found);
    std::int32_t *first = out_.first(), *second = out_.second();
    const std::int32_t row = reach_.stack[kind].number(at);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < found; ++k) {
      const std::int32_t partner = stack.number(scratch_.positions[k]);
      first[kept] = std::min(row, partner);
      second[kept] = std::max(row, partner) - kinds_.first_count;
      kept += static_cast<std::size_t>(all || overlap_exactly(row, partner));
    }
    out_.commit(kept);
  }
  // Whether all that were found for a box surely overlap it: so many meet it also where it is moved inwards.
  bool are_sure(const BoxStack& stack, std::size_t begin, std::size_t end, const float* box, std::size_t found) {
    const std::size_t dimension = blocks_.dimension();
    float inner[8];
    move_inwards(box, dimension, inner);
    if (!touching_) {
      for (std::size_t k = 0; k < dimension; ++k)
        if (!(inner[k] <= box[dimension + k])) return false;
      for (std::size_t k = 0; k < found; ++k)
        if (!surely_overlaps(inner, stack.columns(), scratch_.positions[k], dimension, true)) return false;
      return true;
    }
    if (sure_.size() < end - begin + BoxStack::kSlack) sure_.resize(2 * (end - begin) + 2 * BoxStack::kSlack);
    return overlap_({stack.columns(), begin, end, inner}, sure_.data()) == found;
  }
  bool overlap_exactly(std::int32_t i, std::int32_t j) const {
    const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j);
    return overlaps(rows_.lower_of(p), rows_.upper_of(p), rows_.lower_of(q), rows_.upper_of(q), blocks_.dimension(),
                    touching_, T(0));
  }

  const OctreeCells& cells_;
  const Blocks& blocks_;
  BoxView<T> rows_;
  bool touching_, is_final_;  // final: boxes that overlap in local coordinates are a pair
  const OctreeKinds& kinds_;
  const std::vector<std::uint8_t>& kinds_below_;
  std::int32_t crowded_;  // own rows of cells with more rows are left to OctreeCrowd
  OverlapRun<float> overlap_;
  void (*next_by_box_)(BoxWalk&);
  OctreeScratch& scratch_;
  OctreeReach& reach_;
  PairBuffer& out_;
  std::vector<std::uint32_t> sure_;
  std::size_t done_with_[OctreeLattice::kMostLevels + 2] =
      {};  // per level: listed cells before this have been expanded
};

// ---- The pairs as tasks ----

// The rows of one cell with very many of them, such as equal boxes or boxes across the world, handled by a sweep.
template <class T>
class OctreeCrowd {
 public:
  OctreeCrowd(const OctreeCells& cells, std::int32_t number, const BoxView<T>& rows, bool touching,
              const OctreeKinds& kinds, const Kernels& kernels, Interrupt& interrupt)
      : first_count_(kinds.first_count), dimension_(cells.blocks().dimension()), touching_(touching) {
    cells.for_each_row(number, [&](std::int32_t row) {
      const std::size_t kind = kinds.of(row);
      numbers_[kind].push_back(row);
      const auto at = static_cast<std::size_t>(row);
      corners_[kind].insert(corners_[kind].end(), rows.lower_of(at), rows.lower_of(at) + dimension_);
      corners_[kind].insert(corners_[kind].end(), rows.upper_of(at), rows.upper_of(at) + dimension_);
    });
    for (std::size_t kind = 0; kind < 2; ++kind)
      for (std::size_t other = kind; other < 2; ++other) {
        if ((kinds.partners[kind] >> other & 1u) == 0 || numbers_[kind].empty() || numbers_[other].empty()) continue;
        Problem<T> problem;
        problem.first = view(kind);
        problem.cross = kind != other;
        if (problem.cross) problem.second = view(other);
        problem.dimension = dimension_;
        problem.touching = touching;
        const Preparation with{kernels, 1, interrupt};
        sweeps_.push_back({kind, other, std::make_unique<SweepAndPrune<T>>(problem, with, best_axis(problem))});
      }
  }

  std::size_t sweep_count() const { return sweeps_.size(); }
  std::size_t task_count(std::size_t sweep) const { return sweeps_[sweep].method->task_count(); }
  std::uint64_t tests() const {
    std::uint64_t sum = 0;
    for (const Sweep& sweep : sweeps_) sum += sweep.method->candidate_count();
    return sum;
  }

  // About how many there are: a few rows are tested against all.
  std::uint64_t expected_pairs() const {
    constexpr std::size_t kTried = 8;
    std::uint64_t sum = 0;
    for (const Sweep& sweep : sweeps_) {
      const BoxView<T> rows = view(sweep.kind), others = view(sweep.other);
      const StratifiedSample tried(rows.count, kTried);
      std::uint64_t found = 0;
      for (std::size_t k = 0; k < tried.size(); ++k)
        for (std::size_t other = 0; other < others.count; ++other)
          found += overlaps(rows.lower_of(tried[k]), rows.upper_of(tried[k]), others.lower_of(other),
                            others.upper_of(other), dimension_, touching_, T(0));
      sum += found * rows.count / tried.size() / (sweep.kind == sweep.other ? 2 : 1);
    }
    return sum;
  }

  void run(std::size_t number, std::size_t task, typename SweepAndPrune<T>::Scratch& scratch, PairBuffer& out) const {
    const Sweep& sweep = sweeps_[number];
    PairBuffer found(nullptr, out.counts_only(), out.limit_before_filter());
    sweep.method->run(task, scratch, found);
    if (out.counts_only()) {
      out.add_count(found.count());
      return;
    }
    out.room(found.size());
    std::int32_t *first = out.first(), *second = out.second();
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::int32_t i = numbers_[sweep.kind][static_cast<std::size_t>(found.first_column()[k])];
      const std::int32_t j = numbers_[sweep.other][static_cast<std::size_t>(found.second_column()[k])];
      first[k] = std::min(i, j);
      second[k] = std::max(i, j) - first_count_;
    }
    out.commit(found.size());
  }

 private:
  struct Sweep {
    std::size_t kind, other;
    std::unique_ptr<SweepAndPrune<T>> method;
  };

  BoxView<T> view(std::size_t kind) const {
    return view_of_rows(corners_[kind].data(), dimension_, numbers_[kind].size());
  }

  std::int32_t first_count_;
  std::size_t dimension_;
  bool touching_;
  std::vector<std::int32_t> numbers_[2];
  std::vector<T> corners_[2];
  std::vector<Sweep> sweeps_;
};

// The pairs of a settled octree; satisfies Method. Refers to the tree and to the boxes of its rows.
template <class T>
class OctreePairs {
 public:
  struct Scratch {
    OctreeScratch walk;
    typename SweepAndPrune<T>::Scratch sweep;
  };

  OctreePairs(const OctreeArrangement& tree, const BoxView<T>& rows, bool touching, const OctreeKinds& kinds,
              const Kernels& kernels, Interrupt& interrupt);

  std::size_t task_count() const { return tasks_.size(); }
  std::uint64_t tests() const { return tests_.load(std::memory_order_relaxed) + crowd_tests_; }
  std::uint64_t cell_tests() const { return cell_tests_.load(std::memory_order_relaxed); }

  // True if testing boxes in vain takes longer than to pack all into a tree and to walk that, as where long boxes share
  // the largest cells. Where cells have many rows, a share of the tasks is run to see it.
  bool is_in_vain(Interrupt& interrupt) const;

  void run(std::size_t number, Scratch& scratch, PairBuffer& out) const;

 private:
  // More parts balance better among threads, but each descends from the top again.
  static constexpr std::size_t kParts = 64, kFewRows = 512, kManyRows = 16384;
  // With more rows in one cell, sorting them is cheaper than testing all pairs.
  static constexpr std::size_t kCrowded = 1024;

  enum What : std::uint8_t { kSubtree, kOwnRows, kSomeRows, kSweep };
  struct Task {
    What what;
    std::int32_t cell, begin = 0, end = 0;  // own rows; kSweep: the sweep, and its task
    std::size_t crowd = 0;
  };

  // Recursion: one call per level.
  std::size_t count_below(std::int32_t number) {
    const auto at = static_cast<std::size_t>(number);
    auto count = static_cast<std::size_t>(tree_.cell(number).rows);
    unsigned kinds = 0;
    if (!kinds_below_.empty()) tree_.for_each_row(number, [&](std::int32_t row) { kinds |= 1u << kinds_.of(row); });
    tree_.for_each_child(number, [&](std::int32_t child) {
      count += count_below(child);
      if (!kinds_below_.empty()) kinds |= kinds_below_[static_cast<std::size_t>(child)];
    });
    if (!kinds_below_.empty()) kinds_below_[at] = static_cast<std::uint8_t>(kinds);
    on_paths_ += static_cast<std::size_t>(tree_.cell(number).rows) * count;
    return below_[at] = count;
  }

  void plan(std::int32_t number, Interrupt& interrupt) {
    if (below_[static_cast<std::size_t>(number)] <= std::min(most_, kCrowded)) {
      tasks_.push_back({kSubtree, number});
      return;
    }
    const bool is_part = below_[static_cast<std::size_t>(number)] <= most_;
    if (is_part) tasks_.push_back({kSubtree, number});
    plan_rows(number, is_part, interrupt);
    tree_.for_each_child(number, [&](std::int32_t child) {
      if (is_part)
        plan_crowds(child, interrupt);
      else
        plan(child, interrupt);
    });
  }
  // Only the crowds, which a walk leaves out.
  void plan_crowds(std::int32_t number, Interrupt& interrupt) {
    if (below_[static_cast<std::size_t>(number)] <= kCrowded) return;
    plan_rows(number, true, interrupt);
    tree_.for_each_child(number, [&](std::int32_t child) { plan_crowds(child, interrupt); });
  }
  void plan_rows(std::int32_t number, bool is_walked, Interrupt& interrupt) {
    const std::int32_t rows = tree_.cell(number).rows;
    if (static_cast<std::size_t>(rows) <= kCrowded) {
      if (!is_walked && rows > 0) tasks_.push_back({kOwnRows, number, 0, rows});
      return;
    }
    constexpr auto kChunk = static_cast<std::int32_t>(kCrowded);
    if (number != OctreeCells::kTop)
      for (std::int32_t begin = 0; begin < rows; begin += kChunk)
        tasks_.push_back({kSomeRows, number, begin, std::min(rows, begin + kChunk)});
    interrupt.check();
    crowds_.push_back(std::make_unique<OctreeCrowd<T>>(tree_, number, rows_, touching_, kinds_, kernels_, interrupt));
    const OctreeCrowd<T>& crowd = *crowds_.back();
    crowd_tests_ += crowd.tests();
    for (std::size_t sweep = 0; sweep < crowd.sweep_count(); ++sweep)
      for (std::size_t task = 0; task < crowd.task_count(sweep); ++task)
        tasks_.push_back(
            {kSweep, number, static_cast<std::int32_t>(sweep), static_cast<std::int32_t>(task), crowds_.size() - 1});
  }

  const OctreeArrangement& tree_;
  BoxView<T> rows_;
  bool touching_;
  OctreeKinds kinds_;
  const Kernels& kernels_;
  std::vector<std::size_t> below_;         // rows in and below each cell
  std::vector<std::uint8_t> kinds_below_;  // their kinds, as bits
  std::size_t most_ = 0;
  std::size_t on_paths_ = 0;  // see kManyOnPaths
  std::vector<Task> tasks_;
  std::vector<std::unique_ptr<OctreeCrowd<T>>> crowds_;
  std::uint64_t crowd_tests_ = 0;
  mutable std::atomic<std::uint64_t> tests_{0}, cell_tests_{0};
};

template <class T>
OctreePairs<T>::OctreePairs(const OctreeArrangement& tree, const BoxView<T>& rows, bool touching,
                            const OctreeKinds& kinds, const Kernels& kernels, Interrupt& interrupt)
    : tree_(tree), rows_(rows), touching_(touching), kinds_(kinds), kernels_(kernels), below_(tree.limit(), 0) {
  if (tree.limit() == 0) return;
  if (!kinds.is_plain()) kinds_below_.assign(tree.limit(), 0);
  count_below(OctreeCells::kTop);
  if (!kinds_below_.empty() && !kinds.pair_among(kinds_below_[OctreeCells::kTop])) return;
  const std::size_t all = below_[OctreeCells::kTop];
  most_ = std::clamp(all / kParts, kFewRows, kManyRows);
  plan(OctreeCells::kTop, interrupt);
}

template <class T>
bool OctreePairs<T>::is_in_vain(Interrupt& interrupt) const {
  constexpr std::size_t kMost = 512, kShare = 8;  // kMost: for each row
  if (tasks_.empty() || on_paths_ <= kManyOnPaths * std::max(kFewInAll, below_[OctreeCells::kTop])) return false;
  const std::uint64_t most = kMost * below_[OctreeCells::kTop];
  Scratch scratch;
  PairBuffer found(nullptr, true);
  std::uint64_t in_vain = 0;
  std::size_t walks = 0;
  for (std::size_t number = 0; number < tasks_.size() && in_vain <= most; ++number) {
    if (tasks_[number].what == kSweep || walks++ % kShare != kShare / 2) continue;
    interrupt.check();
    run(number, scratch, found);
    in_vain = kShare * (tests_ - found.count());
  }
  tests_ = cell_tests_ = 0;
  if (in_vain > most || in_vain + crowd_tests_ <= most) return in_vain > most;
  std::uint64_t hits = 0;
  for (const auto& crowd : crowds_) hits += crowd->expected_pairs();
  return in_vain + crowd_tests_ > most + hits;
}

template <class T>
void OctreePairs<T>::run(std::size_t number, Scratch& scratch, PairBuffer& out) const {
  const Task& task = tasks_[number];
  if (task.what == kSweep) {
    crowds_[task.crowd]->run(static_cast<std::size_t>(task.begin), static_cast<std::size_t>(task.end), scratch.sweep,
                             out);
    return;
  }
  OctreeWalk<T> walk(tree_, rows_, touching_, tree_.is_exact(), kinds_, kinds_below_, kCrowded, kernels_, scratch.walk,
                     out);
  const auto from = walk.descend_to(task.cell);
  if (task.what == kSubtree)
    walk.visit(task.cell, from);
  else
    walk.visit_rows(task.cell, from, task.begin, task.end, task.what == kOwnRows);
  tests_.fetch_add(scratch.walk.tests, std::memory_order_relaxed);
  cell_tests_.fetch_add(scratch.walk.cell_tests, std::memory_order_relaxed);
  scratch.walk.tests = scratch.walk.cell_tests = 0;
}

// ---- The one-shot method ----

// Cubes that halve, each box in the smallest one that contains it; one walk down carries the boxes that reach in from
// above. In 2-d a quadtree. After D. Meagher (1982), with loose cells after T. Ulrich (2000). Where that tests too many
// boxes in vain, pairs are those of a packed tree. Satisfies Method.
template <class T>
class Octree {
 public:
  struct Scratch {
    typename OctreePairs<T>::Scratch cells;
    typename BvhPairs<T>::Scratch blocks;
  };
  static constexpr bool kReadsAgain = true;  // precondition: nobody writes to the boxes meanwhile

  Octree(const Problem<T>& problem, const Preparation& with);
  Octree(const Octree&) = delete;
  Octree& operator=(const Octree&) = delete;

  std::size_t task_count() const { return of_cells_ ? of_cells_->task_count() : of_blocks_->task_count(); }
  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const;

 private:
  // Copies both sets, with their margin, one after the other.
  void copy(const Problem<T>& problem) {
    const std::size_t dimension = problem.dimension;
    const std::size_t count = problem.first.count + (problem.cross ? problem.second.count : 0);
    if (count > static_cast<std::size_t>(INT32_MAX)) throw std::bad_alloc();  // it would take more than 64 GB
    corners_.reserve(2 * dimension * count);
    const auto add = [&](const BoxView<T>& boxes) {
      for (std::size_t row = 0; row < boxes.count; ++row) {
        for (std::size_t k = 0; k < dimension; ++k) corners_.push_back(boxes.lower_of(row)[k] - problem.grow);
        for (std::size_t k = 0; k < dimension; ++k) corners_.push_back(boxes.upper_of(row)[k] + problem.grow);
      }
    };
    add(problem.first);
    if (problem.cross) add(problem.second);
    rows_ = view_of_rows(corners_.data(), dimension, count);
  }

  std::vector<T> corners_;
  BoxView<T> rows_;
  BlockTree tree_;
  OctreeArrangement arrangement_;
  // One of them.
  std::optional<OctreePairs<T>> of_cells_;
  std::optional<BvhPairs<T>> of_blocks_;
};

template <class T>
Octree<T>::Octree(const Problem<T>& problem, const Preparation& with)
    : rows_(problem.first), tree_{Blocks(problem.dimension), kNoBlock, {}}, arrangement_(tree_, OctreeOptions{}) {
  if (problem.cross || problem.grow != 0) copy(problem);
  OctreeKinds kinds = OctreeKinds::of_static(problem.cross ? nullptr : problem.filter);
  if (problem.cross) {
    kinds.cross = true;
    kinds.first_count = static_cast<std::int32_t>(problem.first.count);
    kinds.partners[0] = 2;
    kinds.partners[1] = 1;
  }
  std::vector<std::int32_t> rows(rows_.count);
  std::iota(rows.begin(), rows.end(), 0);
  arrangement_.build(rows_, rows.data(), rows.size(), with.workers, with.interrupt);
  of_cells_.emplace(arrangement_, rows_, problem.touching, kinds, with.kernels, with.interrupt);
  if (!of_cells_->is_in_vain(with.interrupt)) return;
  of_cells_.reset();
  of_blocks_.emplace(problem, with);
}

template <class T>
void Octree<T>::run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
  if (of_cells_)
    of_cells_->run(task, scratch.cells, out);
  else
    of_blocks_->run(task, scratch.blocks, out);
}

// Compiled once: octree.cpp.
extern template class OctreePairs<float>;
extern template class OctreePairs<double>;
extern template class Octree<float>;
extern template class Octree<double>;

}  // namespace broadphase
