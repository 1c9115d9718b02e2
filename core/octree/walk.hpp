// One walk down an octree that meets every pair once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "octree/cells.hpp"
#include "octree/reach.hpp"
#include "query/pair_buffer.hpp"
#include "query/problem.hpp"
#include "tree/walks.hpp"

namespace broadphase {

// Rows are of two kinds at most, so that pairs of two kinds that never count are not even tested: static boxes among
// moving ones, or the boxes of the first set and of the second. Bit q of partners[p]: kind p may pair with kind q.
struct OctreeKinds {
  std::uint8_t partners[2] = {1, 0};
  const std::uint8_t* is_static = nullptr;  // of each row: kind 1
  std::int32_t first_count = 0;             // cross: rows from here on are of the second set, kind 1
  bool cross = false;

  // Static boxes are one kind, if the filter knows any.
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
  // The kinds that those in a set of kinds may pair with.
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

// Carries down the list of what reaches into a cell from outside: its ancestors' rows, and, as loose cells overlap,
// also cells beside it that come before it. On the way down the list is cut to what meets each child; listed cells are
// replaced by what is in them, a level at a time:
//
//       +-----------+-----------+
//       |  a        |   b +--+  |     in b: the rows of the cell above, and cell a;
//       |        +--|--+  |  |  |     in a child of b: those of them that meet it, and, in place of a,
//       |        +--|--+  +--+  |     the rows and children of a that do
//       +-----------+-----------+
//
// A row meets the list, and the rows of its cell before it. With cells that are not loose, the list is the ancestors'.
template <class T>
class OctreeWalk {
 public:
  using Mark = OctreeReach::Mark;

  // `kinds_below`: of each cell; empty if all rows are of kind 0. Boxes of `rows` are those of the numbers in the tree.
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
        overlap_(kernels.closed_run_f32[blocks_.dimension() - 1]),
        next_by_box_(kernels.next_by_box[blocks_.dimension() - 1]),
        scratch_(scratch),
        reach_(scratch.reach),
        out_(out) {
    reach_.start(blocks_.dimension());
    scratch_.walk.memory = blocks_.memory();
  }

  // Prepares the list for a cell, from the top down; gives where its part of the list begins.
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

  // All pairs of a row below the cell, or in it, with one that is listed from `from` on, or that is below the cell,
  // too; but for those of the own rows of crowded cells. Recursion: one call a level, OctreeLattice::kMostLevels at
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

  // The pairs of the cell's own rows [begin, end) with what is listed, and, if `among`, with each other.
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

  // False if there is no pair to be found below the cell.
  bool matters(std::int32_t number, const Mark& from) const {
    if (kinds_.pair_among(below(number))) return true;
    for (std::size_t k = 0; k < 3; ++k)
      if (reach_.stack[k].size() > from.at[k]) return true;
    return false;
  }

  // Adds what is in the listed cells that reach into this one, and its own rows; gives where these begin.
  Mark widen(std::int32_t number, const Mark& from) {
    const std::size_t cells_end = reach_.stack[kCells].size();
    float box[8];
    if (cells_end > from.at[kCells] && get_bounds(number, box))
      for (std::size_t k = from.at[kCells]; k < cells_end; ++k)
        pull_lanes(reach_.stack[kCells].number(k), box, wanted(number));
    // The listed cells themselves are done with; what was pulled out of them lies behind.
    const Mark own = reach_.mark();
    done_with_[depth(number)] = cells_end;
    push_rows(number, 0, cells_.cell(number).rows);
    return own;
  }
  std::size_t depth(std::int32_t number) const {
    const int level = cells_.cell(number).level;
    return level == OctreeLattice::kOutside ? OctreeLattice::kMostLevels + 1 : static_cast<std::size_t>(level);
  }

  // The part of the list that meets a child, put on top of it.
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
    std::int32_t at = 0;
    for (std::int32_t block = cells_.cell(number).block; block != kNoBlock && at < end; block = blocks_.next(block))
      for (auto bits = static_cast<std::uint32_t>(blocks_.rows(block)); bits != 0; bits &= bits - 1, ++at)
        if (at >= begin && at < end) push_lane(block, static_cast<std::size_t>(std::countr_zero(bits)), 3u);
  }
  void push_lane(std::int32_t block, std::size_t lane, unsigned wanted_kinds) {
    const std::int32_t row = blocks_.child(block)[lane];
    const std::size_t kind = kinds_.of(row);
    if ((wanted_kinds >> kind & 1u) == 0) return;
    float box[8];
    blocks_.get_box(block, lane, box);
    reach_.stack[kind].push(box, row);
  }

  // Rows and children of a listed cell that meet `box`.
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
  // All rows below listed cells [begin, end) that meet `box`.
  void pull_all(const float* box, unsigned wanted_kinds, std::size_t begin, std::size_t end) {
    BoxWalk& walk = scratch_.walk;
    std::copy_n(box, 2 * blocks_.dimension(), walk.box);
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

  // The own rows of a cell with children: those below listed cells come in only for them.
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

  // Listed are [from, own) and [own_end, end) of each stack; the cell's rows are in between.
  void test(const Mark& from, const Mark& own, const Mark& own_end, const Mark& end, bool among) {
    for (std::size_t kind = 0; kind < 2; ++kind)
      for (std::size_t at = own.at[kind]; at < own_end.at[kind]; ++at)
        for (std::size_t other = 0; other < 2; ++other) {
          if ((kinds_.partners[kind] >> other & 1u) == 0) continue;
          // Of two own rows of different kinds, the one of kind 0 has met the other.
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
    if (is_final_ && out_.counts_only()) {
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
      kept += static_cast<std::size_t>(is_final_ || overlap_exactly(row, partner));
    }
    out_.commit(kept);
  }
  bool overlap_exactly(std::int32_t i, std::int32_t j) const {
    const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j);
    return overlaps(rows_.lower_of(p), rows_.upper_of(p), rows_.lower_of(q), rows_.upper_of(q), blocks_.dimension(),
                    touching_, T(0));
  }

  const OctreeCells& cells_;
  const Blocks& blocks_;
  BoxView<T> rows_;
  bool touching_, is_final_;  // final: what overlaps in local coordinates is a pair
  const OctreeKinds& kinds_;
  const std::vector<std::uint8_t>& kinds_below_;
  std::int32_t crowded_;  // the own rows of cells with more are not this walk's
  OverlapRun<float> overlap_;
  void (*next_by_box_)(BoxWalk&);
  OctreeScratch& scratch_;
  OctreeReach& reach_;
  PairBuffer& out_;
  std::size_t done_with_[OctreeLattice::kMostLevels + 2] = {};  // of each level: listed cells below are expanded
};

}  // namespace broadphase
