// Looking over an octree: what it is made of, and whether all of it is right.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "octree/pending.hpp"

namespace broadphase {

// Calls use(cell, depth) for the root and all cells below it, parents before their children; the root has depth 0.
template <class Use>
void for_each_cell(const OctreeCells& cells, Use&& use) {
  if (cells.limit() == 0) return;
  std::vector<std::pair<std::int32_t, std::int32_t>> waiting{{cells.root(), 0}};
  while (!waiting.empty()) {
    const auto [number, depth] = waiting.back();
    waiting.pop_back();
    use(number, depth);
    const std::size_t first = waiting.size();
    const std::int32_t below = depth + 1;
    cells.for_each_child(number, [&](std::int32_t child) { waiting.emplace_back(child, below); });
    std::reverse(waiting.begin() + static_cast<std::ptrdiff_t>(first), waiting.end());
  }
}

// Every invariant of an octree that is up to date.
template <class T>
class OctreeCheck {
 public:
  OctreeCheck(const PendingOctree& tree, const BoxView<T>& boxes) : tree_(tree), boxes_(boxes) {}

  // Empty, or what is wrong. `rows` are those that live.
  std::string fault(const std::int32_t* rows, std::size_t count) const {
    if (!tree_.is_settled()) return "rows are pending";
    if (tree_.limit() == 0) return count == 0 ? "" : "no cells";
    std::size_t cells = 1, filed = static_cast<std::size_t>(tree_.cell(OctreeCells::kTop).rows);
    std::string found = fault_of_cell(OctreeCells::kTop);
    for_each_cell(tree_, [&](std::int32_t number, std::int32_t depth) {
      if (!found.empty()) return;
      ++cells;
      filed += static_cast<std::size_t>(tree_.cell(number).rows);
      if (depth + tree_.cell(number).level != tree_.lattice().levels()) found = name(number) + "is on a wrong level";
      if (found.empty()) found = fault_of_cell(number);
    });
    if (!found.empty()) return found;
    if (filed != count) return std::to_string(filed) + " rows are filed, " + std::to_string(count) + " live";
    if (cells + tree_.pooled() != tree_.limit()) return "a cell is neither in the tree nor in the pool";
    for (std::size_t k = 0; k < count && found.empty(); ++k) found = fault_of_row(rows[k]);
    return found;
  }

 private:
  std::string name(std::int32_t number) const { return "cell " + std::to_string(number) + " "; }

  std::string fault_of_cell(std::int32_t number) const {
    const OctreeCell& cell = tree_.cell(number);
    const Blocks& blocks = tree_.blocks();
    if (!cell.is_used || cell.is_dirty) return name(number) + "is not ready";
    std::size_t lanes = 0, rows = 0, sinking = 0, hung = 0;
    for (std::int32_t block = cell.block, at = 0; block != kNoBlock; block = blocks.next(block), ++at) {
      if (blocks.parent(block) != number) return name(number) + "has a block of another";
      const std::size_t in_block = blocks.lanes_in_use(block);
      const bool is_alone = at == 0 && blocks.next(block) == kNoBlock;
      if (in_block != kLanes && at != 1 && !is_alone) return name(number) + "has a gap in its chain";
      if (in_block == 0 && !is_alone) return name(number) + "has an empty block";
      lanes += in_block;
    }
    tree_.for_each_row(number, [&](std::int32_t row) {
      ++rows;
      sinking += tree_.level_of(row) < cell.level;
    });
    std::string found;
    tree_.for_each_child(number, [&](std::int32_t child) {
      const OctreeCell& below = tree_.cell(child);
      if (below.parent != number || tree_.child(number, below.octant) != child)
        found = name(child) + "has lost its parent";
      hung += below.place != kUnhung;
      for (std::size_t k = 0; k < blocks.dimension() && number != OctreeCells::kTop; ++k)
        if (below.corner[k] != cell.corner[k] + (static_cast<std::int64_t>(below.octant >> k & 1) << below.level))
          found = name(child) + "is in a wrong place";
    });
    if (!found.empty()) return found;
    for (std::size_t octant = 0; octant < std::size_t{1} << blocks.dimension(); ++octant)
      if ((tree_.child(number, octant) != kNoCell) != ((cell.children >> octant & 1u) != 0))
        return name(number) + "has a wrong mask of children";
    if (rows != static_cast<std::size_t>(cell.rows)) return name(number) + "has miscounted its rows";
    if (lanes != rows + hung) return name(number) + "has a lane too many, or too few";
    if (number == OctreeCells::kTop) return "";
    if (sinking != static_cast<std::size_t>(cell.sinking)) return name(number) + "has miscounted what would sink";
    if (sinking > 0 && cell.children != 0) return name(number) + "keeps a row that a child would hold";
    if (sinking > 0 && rows > tree_.options().capacity) return name(number) + "is not split";
    return fault_of_life(number, lanes);
  }

  std::string fault_of_life(std::int32_t number, std::size_t lanes) const {
    const OctreeCell& cell = tree_.cell(number);
    const bool is_empty_leaf = cell.rows == 0 && cell.children == 0 && number != tree_.root();
    if (cell.is_idle != is_empty_leaf && number != tree_.root()) return name(number) + "is idle, or should be";
    if (cell.longest_life < OctreeCells::kShortLife || cell.longest_life > OctreeCells::kLongLife)
      return name(number) + "has a life out of bounds";
    if (cell.is_idle && (cell.life == 0 || cell.life > cell.longest_life)) return name(number) + "outlives itself";
    if (cell.is_idle && !cell.is_listed) return name(number) + "never ages";
    if ((cell.place != kUnhung) != (lanes > 0)) return name(number) + "hangs in the tree empty, or does not hang in it";
    if (lanes == 0) return "";
    const Blocks& blocks = tree_.blocks();
    const std::int32_t block = cell.place / kWidth;
    const auto lane = static_cast<std::size_t>(cell.place % kWidth);
    if (blocks.parent(block) != cell.parent || blocks.child(block)[lane] != cell.block)
      return name(number) + "hangs on a wrong lane";
    float around[8], stored[8];
    tree_.bounds(number, around);
    blocks.get_box(block, lane, stored);
    if (!std::equal(around, around + 2 * blocks.dimension(), stored)) return name(number) + "has a wrong box";
    return "";
  }

  std::string fault_of_row(std::int32_t row) const {
    const std::string who = "row " + std::to_string(row) + " ";
    if (!tree_.has(row)) return who + "is not filed";
    const Blocks& blocks = tree_.blocks();
    const std::int32_t place = tree_.place_of(row), block = place / kWidth;
    const auto lane = static_cast<std::size_t>(place % kWidth);
    if ((static_cast<std::uint32_t>(blocks.rows(block)) >> lane & 1u) == 0 || blocks.child(block)[lane] != row)
      return who + "is not where it should be";
    float box[8], stored[8];
    local_box(tree_.frame(), boxes_, static_cast<std::size_t>(row), blocks.dimension(), box);
    blocks.get_box(block, lane, stored);
    if (!std::equal(box, box + 2 * blocks.dimension(), stored)) return who + "has a wrong box";
    return is_in_cell(row) ? "" : who + "is not in its cell";
  }

  // Its box is wholly in the cell, made looser; or, outside the root, it is not wholly in that.
  bool is_in_cell(std::int32_t row) const {
    const std::int32_t number = tree_.cell_of(row);
    const bool is_outside = number == OctreeCells::kTop;
    const OctreeCell& cell = tree_.cell(is_outside ? tree_.root() : number);
    const OctreeLattice& lattice = tree_.lattice();
    const double edge = lattice.edge(cell.level), beyond = is_outside ? 0 : (lattice.looseness() - 1) / 2 * edge;
    bool is_in = true;
    for (std::size_t k = 0; k < tree_.blocks().dimension(); ++k) {
      const double begin = lattice.local(static_cast<double>(cell.corner[k]), k);
      // Lattice coordinates are rounded once more on the way here.
      const double slack = 1e-12 * (std::fabs(begin) + edge);
      const auto at = static_cast<std::size_t>(row);
      is_in = is_in && tree_.frame().local(static_cast<double>(boxes_.lower_of(at)[k]), k) >= begin - beyond - slack &&
              tree_.frame().local(static_cast<double>(boxes_.upper_of(at)[k]), k) <= begin + edge + beyond + slack;
    }
    return is_in != is_outside;
  }

  static constexpr std::int32_t kWidth = static_cast<std::int32_t>(kLanes);
  const PendingOctree& tree_;
  BoxView<T> boxes_;
};

}  // namespace broadphase
