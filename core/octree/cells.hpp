// The cells of an octree and its rows, stored as lanes of a tree of blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/parallel.hpp"
#include "base/plain_vector.hpp"
#include "octree/lattice.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

inline constexpr std::int32_t kNoCell = -1, kUnhung = -1;

struct OctreeCell {
  std::int64_t corner[4];         // lower, in lattice coordinates
  std::int32_t block = kNoBlock;  // the first of its chain
  std::int32_t parent = kNoCell;
  std::int32_t place = kUnhung;  // its lane in the parent's chain; kUnhung while its subtree is empty
  std::int32_t rows = 0;         // of its own
  std::int32_t sinking = 0;      // those of them that fit into a smaller cell
  std::uint16_t children = 0;    // which exist: bit `octant`
  std::uint8_t octant = 0, life = 0, longest_life = 0;
  std::int8_t level = 0;
  bool is_used = false, is_idle = false, is_listed = false,
       is_dirty = false;  // is_listed: has an entry in idle_, perhaps an outdated one
};

struct OctreePoolFigures {
  std::uint64_t created = 0, reused = 0, freed = 0;
};

// Cells by number. Each has a chain of blocks for its lanes: its rows, and its children with a non-empty subtree. Cell
// 0 is the top: its child 0 is the root, its rows are those outside the root.
//
// Lanes are in no order. All blocks of a chain but the second are full, so a free lane is found and a hole filled in
// constant time; a single block need not be full.
class OctreeCells {
 public:
  static constexpr std::int32_t kTop = 0;
  static constexpr std::uint8_t kShortLife = 8, kLongLife = 64;  // in updates

  explicit OctreeCells(BlockTree& tree) : tree_(&tree) {}

  const Blocks& blocks() const { return tree_->blocks; }
  const LocalFrame& frame() const { return tree_->frame; }
  const OctreeCell& cell(std::int32_t number) const { return cells_[static_cast<std::size_t>(number)]; }
  std::size_t limit() const {
    return cells_.size();
  }  // all numbers are below; cells that are not `is_used` are in the pool
  std::size_t pooled() const { return pool_.size(); }
  const OctreePoolFigures& figures() const { return figures_; }
  std::int32_t child(std::int32_t number, std::size_t octant) const {
    return children_[static_cast<std::size_t>(number) << blocks().dimension() | octant];
  }
  std::int32_t root() const { return child(kTop, 0); }
  std::int32_t place_of(std::int32_t row) const { return places_[row]; }
  bool has(std::int32_t row) const { return static_cast<std::size_t>(row) < place_.size() && place_of(row) != kUnhung; }
  std::int32_t cell_of(std::int32_t row) const { return cell_at(place_of(row)); }
  int level_of(std::int32_t row) const { return levels_[row]; }
  std::size_t bytes() const {
    return blocks().bytes() + cells_.capacity() * sizeof(OctreeCell) +
           (children_.capacity() + place_.capacity() + pool_.capacity() + idle_.capacity()) * sizeof(std::int32_t) +
           level_.capacity();
  }

  // Calls use(row) for a cell's own rows.
  template <class Use>
  void for_each_row(std::int32_t number, Use&& use) const {
    for (std::int32_t block = cell(number).block; block != kNoBlock; block = blocks().next(block))
      for (auto bits = static_cast<std::uint32_t>(blocks().rows(block)); bits != 0; bits &= bits - 1)
        use(blocks().child(block)[std::countr_zero(bits)]);
  }
  // Calls use(cell) for the children of a cell, by octant.
  template <class Use>
  void for_each_child(std::int32_t number, Use&& use) const {
    for (unsigned bits = cell(number).children; bits != 0; bits &= bits - 1)
      use(child(number, static_cast<std::size_t>(std::countr_zero(bits))));
  }

  // The union of all lanes of a cell; false if it has none.
  bool bounds(std::int32_t number, float* box) const {
    const std::size_t dimension = blocks().dimension();
    std::fill_n(box, dimension, std::numeric_limits<float>::infinity());
    std::fill_n(box + dimension, dimension, -std::numeric_limits<float>::infinity());
    bool any = false;
    for (std::int32_t block = cell(number).block; block != kNoBlock; block = blocks().next(block)) {
      const auto occupied = static_cast<std::uint32_t>(blocks().occupied(block));
      any = any || occupied != 0;
      for (std::size_t k = 0; k < dimension; ++k) {
        const float *lower = blocks().lower(block, k), *upper = blocks().upper(block, k);
        float least = box[k], most = box[dimension + k];
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const bool is_on = (occupied >> lane & 1u) != 0;
          least = is_on && lower[lane] < least ? lower[lane] : least;
          most = is_on && upper[lane] > most ? upper[lane] : most;
        }
        box[k] = least;
        box[dimension + k] = most;
      }
    }
    return any;
  }

 protected:
  BlockTree& tree() { return *tree_; }
  const BlockTree& tree() const { return *tree_; }
  OctreeCell& at(std::int32_t number) { return cells_[static_cast<std::size_t>(number)]; }

  // Releases all cells and makes a top without a root, for rows below `row_limit`.
  void start(std::size_t row_limit, unsigned workers, Interrupt& interrupt) {
    place_.resize(row_limit);
    level_.resize(row_limit);
    places_ = place_.data();
    levels_ = level_.data();
    in_stretches_on_threads(row_limit, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      std::fill(places_ + begin, places_ + end, kUnhung);
      std::fill(levels_ + begin, levels_ + end, std::int8_t{0});
    });
    start();
  }
  // The same for a branch of another tree, which has the places of its rows.
  void start_branch_of(const OctreeCells& whole) {
    places_ = whole.places_;
    levels_ = whole.levels_;
    start();
  }
  void start() {
    tree_->blocks.clear();
    cells_.clear();
    children_.clear();
    pool_.clear();
    idle_.clear();
    for (auto& cells : dirty_) cells.clear();
    const std::int32_t top = add_cell(kNoCell, 0);
    at(top).level = OctreeLattice::kOutside;
    tree_->root = at(top).block;
  }
  // Reserves memory for about this many rows: most cells are leaves, two thirds full.
  void make_room(std::size_t count, std::size_t capacity) {
    tree_->blocks.reserve(count / 5 + 16);
    cells_.reserve(count / std::max<std::size_t>(capacity / 2, 4) + 16);
    children_.reserve(cells_.capacity() << blocks().dimension());
  }
  void make_room(std::size_t row_limit) {
    if (row_limit <= place_.size()) return;
    place_.resize(row_limit, kUnhung);
    level_.resize(row_limit, 0);
    places_ = place_.data();
    levels_ = level_.data();
  }

  // Adds an empty child, not yet on a lane of its parent. Its corner and level are set by the caller.
  std::int32_t add_cell(std::int32_t parent, std::size_t octant) {
    std::int32_t number;
    const std::int32_t block = tree_->blocks.add();
    if (!pool_.empty()) {
      number = pool_.back();
      pool_.pop_back();
      ++figures_.reused;
    } else {
      number = static_cast<std::int32_t>(cells_.size());
      cells_.emplace_back();
      children_.resize(cells_.size() << blocks().dimension());
      ++figures_.created;
    }
    const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(number) << blocks().dimension());
    std::fill_n(children_.begin() + first, std::ptrdiff_t{1} << blocks().dimension(), kNoCell);
    OctreeCell& cell = at(number) = OctreeCell{};
    cell.block = block;
    cell.octant = static_cast<std::uint8_t>(octant);
    cell.longest_life = kShortLife;
    cell.is_used = true;
    tree_->blocks.parent(block) = number;
    if (parent != kNoCell) adopt(parent, number, octant);
    return number;
  }
  void adopt(std::int32_t parent, std::int32_t number, std::size_t octant) {
    OctreeCell &above = at(parent), &cell = at(number);
    cell.parent = parent;
    cell.octant = static_cast<std::uint8_t>(octant);
    above.children = static_cast<std::uint16_t>(above.children | 1u << octant);
    children_[static_cast<std::size_t>(parent) << blocks().dimension() | octant] = number;
    wake(above);
  }

  void add_row(std::int32_t number, std::int32_t row, int level, const float* box) {
    wake(at(number));
    const std::int32_t place = add_lane(number, box, row, true);
    places_[row] = place;
    ++at(number).rows;
    set_level(number, row, level, false);
    mark_dirty(number);
  }
  void remove_row(std::int32_t row) {
    const std::int32_t place = place_of(row), number = cell_at(place);
    OctreeCell& cell = at(number);
    clear_lane(number, place);
    places_[row] = kUnhung;
    --cell.rows;
    cell.sinking -= level_of(row) < cell.level;
    mark_dirty(number);
    rest(number);
  }
  // Gives a row another box in the same cell.
  void set_row(std::int32_t row, int level, const float* box) {
    const std::int32_t place = place_of(row), number = cell_at(place);
    tree_->blocks.set_box(place / kWidth, static_cast<std::size_t>(place % kWidth), box);
    set_level(number, row, level, true);
    mark_dirty(number);
  }

  // Hangs the cells below one by octant, from the lowest up. Recursion: one call a level.
  void hang_below(std::int32_t number) {
    for_each_child(number, [&](std::int32_t child) {
      if (cell(child).place != kUnhung) return;
      hang_below(child);
      float box[8];
      const bool is_empty = !bounds(child, box);
      hang(child, box, is_empty);
    });
  }

  // Starts the countdown of a leaf without rows.
  void rest(std::int32_t number) {
    OctreeCell& cell = at(number);
    if (number == kTop || number == root() || cell.rows > 0 || cell.children != 0) return;
    cell.is_idle = true;
    cell.life = cell.longest_life;
    if (!cell.is_listed) idle_.push_back(number);
    cell.is_listed = true;
  }
  // Marks a cell whose lanes have changed for `clean`.
  void mark_dirty(std::int32_t number) {
    OctreeCell& cell = at(number);
    if (cell.is_dirty) return;
    dirty_[static_cast<std::size_t>(cell.level)].push_back(number);
    cell.is_dirty = true;
  }

  // Refits the lanes of all marked cells and their ancestors, from the lowest level to the top.
  void clean() {
    for (std::size_t level = 0; level < kLevels; ++level)
      for (std::size_t k = 0; k < dirty_[level].size(); ++k) {
        const std::int32_t number = dirty_[level][k];
        if (!at(number).is_dirty) continue;
        at(number).is_dirty = false;
        float box[8];
        const bool is_empty = !bounds(number, box);
        if (number != kTop && hang(number, box, is_empty)) mark_dirty(at(number).parent);
      }
    for (auto& cells : dirty_) cells.clear();
  }

  // Where no cell is on a lane yet, but those below a branch that is taken over: hang_below(kTop) is enough then.
  void forget_marks() {
    for (OctreeCell& cell : cells_) cell.is_dirty = false;
    for (auto& cells : dirty_) cells.clear();
  }

  // Cells and blocks of a branch: its root is cell `root` here, whose first block is `block`; all others follow from
  // `first_cell` and `first_block` on. The top of the branch, which is first in it, has no part here.
  struct Grafting {
    const OctreeCells* branch;
    std::int32_t root, block, first_cell, first_block;

    std::int32_t cell_here(std::int32_t number) const { return number == 1 ? root : number - 2 + first_cell; }
    std::int32_t block_here(std::int32_t number) const {
      return number == kNoBlock ? kNoBlock : number == 1 ? block : number - 2 + first_block;
    }
  };
  // How many cells and blocks a branch adds.
  static std::size_t cells_of(const OctreeCells& branch) { return branch.limit() - 2; }
  static std::size_t blocks_of(const OctreeCells& branch) { return branch.blocks().limit() - 2; }
  // Makes room for so many more.
  void make_room_for_branches(std::size_t cells, std::size_t blocks) {
    cells_.reserve(cells_.size() + cells);
    children_.reserve((cells_.size() + cells) << tree_->dimension());
    tree_->blocks.reserve(tree_->blocks.limit() + blocks);
  }
  // Makes room for a branch that has begun with start_branch_of() and add_root(), and whose cells hang below its root:
  // in place of a cell without rows and children.
  Grafting graft(const OctreeCells& branch, std::int32_t root) {
    const Grafting to{&branch, root, cell(root).block, static_cast<std::int32_t>(cells_.size()),
                      tree_->blocks.add_unwritten(blocks_of(branch))};
    cells_.resize(cells_.size() + cells_of(branch));
    children_.resize(cells_.size() << blocks().dimension());
    figures_.created += cells_of(branch);
    branch.blocks().for_each_free([&](std::int32_t block) {
      tree_->blocks.make_empty(to.block_here(block));
      tree_->blocks.release(to.block_here(block));
    });
    tree_->lossy = tree_->lossy || branch.tree_->lossy;
    return to;
  }
  // Copies it there. Several may be copied at the same time.
  void fill_in(const Grafting& to) {
    const OctreeCells& branch = *to.branch;
    const std::size_t words = blocks().layout().words(), children = std::size_t{1} << blocks().dimension();
    for (std::int32_t number = 1; static_cast<std::size_t>(number) < branch.limit(); ++number) {
      const std::int32_t here = to.cell_here(number);
      OctreeCell made = branch.cell(number);
      made.block = to.block_here(made.block);
      if (number == 1) {
        made.parent = cell(here).parent;
        made.octant = cell(here).octant;
        made.place = kUnhung;
      } else {
        made.parent = to.cell_here(made.parent);
        if (made.place != kUnhung) made.place = to.block_here(made.place / kWidth) * kWidth + made.place % kWidth;
      }
      at(here) = made;
      for (std::size_t octant = 0; octant < children; ++octant) {
        const std::int32_t child = branch.child(number, octant);
        children_[static_cast<std::size_t>(here) * children + octant] =
            child == kNoCell ? kNoCell : to.cell_here(child);
      }
      for (std::int32_t block = branch.cell(number).block; block != kNoBlock; block = branch.blocks().next(block)) {
        Blocks& own = tree_->blocks;
        const std::int32_t copy = to.block_here(block);
        std::memcpy(own.lower(copy, 0) - own.layout().lower(0), branch.blocks().lower(block, 0) - own.layout().lower(0),
                    words * sizeof(float));
        own.parent(copy) = here;
        own.next(copy) = to.block_here(branch.blocks().next(block));
        for (auto bits = static_cast<std::uint32_t>(own.occupied(copy)); bits != 0; bits &= bits - 1) {
          const auto lane = static_cast<std::size_t>(std::countr_zero(bits));
          const std::int32_t what = own.child(copy)[lane];
          if ((static_cast<std::uint32_t>(own.rows(copy)) >> lane & 1u) != 0)
            places_[what] = copy * kWidth + static_cast<std::int32_t>(lane);
          else
            own.set_child(copy, lane, to.block_here(what));
        }
      }
    }
  }

  // Adds, updates or removes a cell's lane in its parent; false if nothing changes.
  bool hang(std::int32_t number, const float* box, bool is_empty) {
    const std::int32_t place = cell(number).place, parent = cell(number).parent;
    if (is_empty) {
      if (place == kUnhung) return false;
      at(number).place = kUnhung;
      clear_lane(parent, place);
      return true;
    }
    if (place == kUnhung) {
      const std::int32_t lane = add_lane(parent, box, cell(number).block, false);
      at(number).place = lane;
      return true;
    }
    float before[8];
    blocks().get_box(place / kWidth, static_cast<std::size_t>(place % kWidth), before);
    if (std::equal(box, box + 2 * blocks().dimension(), before)) return false;
    tree_->blocks.set_box(place / kWidth, static_cast<std::size_t>(place % kWidth), box);
    return true;
  }

  // To be called once per update: empty leaves lose one of their remaining updates, and are finally removed.
  void age() {
    std::vector<std::int32_t> staying;
    for (std::size_t k = 0; k < idle_.size(); ++k) {  // grows when an empty cell loses its last child
      const std::int32_t number = idle_[k];
      OctreeCell& cell = at(number);
      if (!cell.is_idle) {
        cell.is_listed = false;
      } else if (cell.life > 1) {
        --cell.life;
        staying.push_back(number);
      } else {
        free_cell(number);
      }
    }
    idle_.swap(staying);
  }

 private:
  static constexpr std::int32_t kWidth = static_cast<std::int32_t>(kLanes);
  static constexpr std::size_t kLevels = OctreeLattice::kOutside + 1;

  std::int32_t cell_at(std::int32_t place) const { return blocks().parent(place / kWidth); }

  void set_level(std::int32_t number, std::int32_t row, int level, bool was_here) {
    OctreeCell& cell = at(number);
    std::int8_t& stored = levels_[row];
    if (was_here) cell.sinking -= stored < cell.level;
    stored = static_cast<std::int8_t>(level);
    cell.sinking += level < cell.level;
  }

  // An empty leaf is used again: it will be kept longer next time.
  static void wake(OctreeCell& cell) {
    if (!cell.is_idle) return;
    cell.is_idle = false;
    cell.longest_life = static_cast<std::uint8_t>(std::min<int>(2 * cell.longest_life, kLongLife));
  }
  void free_cell(std::int32_t number) {
    const std::int32_t parent = cell(number).parent;
    const std::size_t octant = cell(number).octant;
    tree_->blocks.release(cell(number).block);
    at(number).is_used = at(number).is_idle = at(number).is_dirty = false;
    children_[static_cast<std::size_t>(parent) << blocks().dimension() | octant] = kNoCell;
    at(parent).children = static_cast<std::uint16_t>(at(parent).children & ~(1u << octant));
    pool_.push_back(number);
    ++figures_.freed;
    rest(parent);
  }

  // Throws bad_alloc, and then nothing has changed.
  std::int32_t add_lane(std::int32_t number, const float* box, std::int32_t what, bool is_row) {
    Blocks& blocks = tree_->blocks;
    const std::int32_t first = cell(number).block;
    std::int32_t block = first;
    if (blocks.occupied(block) == kFull) {
      block = blocks.next(first);
      if (block == kNoBlock || blocks.occupied(block) == kFull) {
        const std::int32_t added = blocks.add();
        blocks.parent(added) = number;
        blocks.next(added) = block;
        blocks.next(first) = added;
        block = added;
      }
    }
    const auto lane = static_cast<std::size_t>(std::countr_one(static_cast<std::uint32_t>(blocks.occupied(block))));
    blocks.set_lane(block, lane, box, what, is_row);
    return block * kWidth + static_cast<std::int32_t>(lane);
  }
  void clear_lane(std::int32_t number, std::int32_t place) {
    Blocks& blocks = tree_->blocks;
    const std::int32_t first = cell(number).block, second = blocks.next(first), block = place / kWidth;
    const auto lane = static_cast<std::size_t>(place % kWidth);
    blocks.clear_lane(block, lane);
    if (second == kNoBlock) return;
    if (block != second) move_lane(second, block, lane);
    if (blocks.occupied(second) == 0) {
      blocks.next(first) = blocks.next(second);
      blocks.release(second);
    }
  }
  // Moves any lane of `from` to a free lane.
  void move_lane(std::int32_t from, std::int32_t block, std::size_t lane) {
    Blocks& blocks = tree_->blocks;
    const auto taken = static_cast<std::size_t>(std::countr_zero(static_cast<std::uint32_t>(blocks.occupied(from))));
    float box[8];
    blocks.get_box(from, taken, box);
    const std::int32_t what = blocks.child(from)[taken];
    const bool is_row = (static_cast<std::uint32_t>(blocks.rows(from)) >> taken & 1u) != 0;
    blocks.clear_lane(from, taken);
    blocks.set_lane(block, lane, box, what, is_row);
    const std::int32_t place = block * kWidth + static_cast<std::int32_t>(lane);
    if (is_row)
      places_[what] = place;
    else
      at(blocks.parent(what)).place = place;
  }

  static constexpr std::int32_t kFull = 255;

  BlockTree* tree_;
  PlainVector<OctreeCell> cells_;
  PlainVector<std::int32_t> children_;  // of each cell 2^D, by octant
  std::vector<std::int32_t> pool_, idle_;
  std::vector<std::int32_t> dirty_[kLevels];
  PlainVector<std::int32_t> place_;  // of each row: block * 8 + lane
  PlainVector<std::int8_t> level_;   // of each row: of the smallest cell that would contain it
  // Those, or the ones of the tree that this is a branch of.
  std::int32_t* places_ = nullptr;
  std::int8_t* levels_ = nullptr;
  OctreePoolFigures figures_;
};

}  // namespace broadphase
