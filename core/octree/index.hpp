// An octree that is kept: rows are filed into its cells, changes are queued and applied before the next query.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/morton.hpp"
#include "base/parallel.hpp"
#include "base/plain_vector.hpp"
#include "base/row_numbers.hpp"
#include "base/with_dimension.hpp"
#include "boxes/any_boxes.hpp"
#include "bvh/bvh.hpp"
#include "octree/cells.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

// Files rows into cells, all at once or one by one. A row is in the smallest existing cell that contains it: a leaf is
// split when it has more than `capacity` rows of which one fits into a smaller cell. A cell with children keeps only
// rows that fit into none of them.
class OctreeArrangement : public OctreeCells {
 public:
  OctreeArrangement(BlockTree& tree, const OctreeOptions& options) : OctreeCells(tree), options_(options) {}

  const OctreeLattice& lattice() const { return lattice_; }
  const OctreeOptions& options() const { return options_; }
  // True if the lanes of rows hold exactly the given numbers, scaled by a power of two.
  bool is_exact() const { return tree().is_exact(); }

  // Replaces all rows by these.
  template <class T>
  void build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, unsigned workers,
             Interrupt& interrupt);

 protected:
  template <std::size_t D>
  void file_row(const AnyBoxes& boxes, std::int32_t row) {
    const Entry<D> entry = enclosed<D>(boxes, row);
    sink<D>(boxes, entry.spot.level == OctreeLattice::kOutside ? kTop : root(), row, entry);
  }

  // Moves a row: up to the first cell that contains it, then down as far as possible.
  template <std::size_t D>
  void move_row(const AnyBoxes& boxes, std::int32_t row) {
    const Entry<D> entry = enclosed<D>(boxes, row);
    const Spot& spot = entry.spot;
    std::int32_t number = cell_of(row);
    if (contains<D>(number, spot) && (cell(number).children == 0 || spot.level == cell(number).level)) {
      set_row(row, spot.level, entry.box);
      split_if_full<D>(boxes, number);
      return;
    }
    while (!contains<D>(number, spot)) number = cell(number).parent;
    remove_row(row);
    sink<D>(boxes, number, row, entry);
  }

  static constexpr std::size_t kStretch = std::size_t{1} << 16;  // rows between two checks for an interrupt

  // Set when the root cannot grow: the tree must be rebuilt with larger cells.
  bool needs_build_ = false;

 private:
  // A row to be sorted by cell. `key` interleaves the bits of its lattice coordinates relative to the root.
  struct Item {
    std::uint64_t key;
    std::int32_t row, level;
  };

  // The corners of a row, in local coordinates as doubles; and a row as an entry of a cell: its lattice cell, and
  // floats that contain its box.
  template <std::size_t D>
  struct Corners {
    double lower[D], upper[D];
  };
  template <std::size_t D>
  struct Entry {
    Spot spot;
    float box[2 * D];
  };
  template <std::size_t D>
  Corners<D> corners_of(const AnyBoxes& boxes, std::int32_t row) const {
    Corners<D> corners;
    double box[2 * D];
    boxes.read<D>(static_cast<std::size_t>(row), box);
    for (std::size_t k = 0; k < D; ++k) {
      corners.lower[k] = frame().local(box[k], k);
      corners.upper[k] = frame().local(box[D + k], k);
    }
    return corners;
  }
  template <std::size_t D>
  void round(const Corners<D>& corners, float* box) {
    const LocalFrame& it = frame();
    bool is_exact = it.exact;
    for (std::size_t k = 0; k < D; ++k) {
      box[k] = static_cast<float>(corners.lower[k]);
      box[D + k] = static_cast<float>(corners.upper[k]);
      is_exact = is_exact && static_cast<double>(box[k]) == corners.lower[k] &&
                 static_cast<double>(box[D + k]) == corners.upper[k];
    }
    if (is_exact) return;
    tree().lossy = true;
    for (std::size_t k = 0; k < D; ++k) {
      box[k] = it.below(corners.lower[k]);
      box[D + k] = it.above(corners.upper[k]);
    }
  }
  template <std::size_t D>
  Entry<D> entry_of(const AnyBoxes& boxes, std::int32_t row) {
    Entry<D> entry;
    const Corners<D> corners = corners_of<D>(boxes, row);
    round(corners, entry.box);
    lattice_.place<D>(corners.lower, corners.upper, entry.spot);
    return entry;
  }
  // The same, after growing the root to contain the row, if that takes a few levels. What is further away stays
  // outside, like a box with an infinite corner; when that has become many, the tree must be rebuilt.
  template <std::size_t D>
  Entry<D> enclosed(const AnyBoxes& boxes, std::int32_t row) {
    Entry<D> entry = entry_of<D>(boxes, row);
    if (entry.spot.level == OctreeLattice::kOutside) grow_to(corners_of<D>(boxes, row), entry.spot);
    return entry;
  }
  template <std::size_t D>
  void grow_to(const Corners<D>& corners, Spot& spot) {
    for (std::size_t k = 0; k < D; ++k)
      if (!std::isfinite(corners.lower[k]) || !std::isfinite(corners.upper[k])) return;
    if (!lattice_.is_near(corners.lower, corners.upper)) {
      needs_build_ = needs_build_ || static_cast<std::size_t>(cell(kTop).rows) > most_outside_;
      return;
    }
    while (!lattice_.place<D>(corners.lower, corners.upper, spot)) {
      if (!lattice_.grow(corners.lower)) {
        needs_build_ = true;
        return;
      }
      const std::int32_t before = root();
      float none[8] = {};
      hang(before, none, true);
      add_root();
      adopt(root(), before, octant_of<D>(cell(root()), cell(before).corner));
      mark_dirty(before);
      rest(before);
    }
  }

  void add_root() {
    const std::int32_t number = add_cell(kTop, 0);
    OctreeCell& cell = at(number);
    cell.level = static_cast<std::int8_t>(lattice_.levels());
    for (std::size_t k = 0; k < blocks().dimension(); ++k) cell.corner[k] = lattice_.low(k);
  }

  template <std::size_t D>
  bool contains(std::int32_t number, const Spot& spot) const {
    const OctreeCell& it = cell(number);
    if (number == kTop) return true;
    if (spot.level > it.level) return false;
    for (std::size_t k = 0; k < D; ++k)
      if ((spot.at[k] - it.corner[k]) >> it.level != 0) return false;
    return true;
  }
  template <std::size_t D>
  std::size_t octant_of(const OctreeCell& it, const std::int64_t* at) const {
    if (it.level == OctreeLattice::kOutside) return 0;
    std::size_t octant = 0;
    for (std::size_t k = 0; k < D; ++k)
      octant |= static_cast<std::size_t>((at[k] - it.corner[k]) >> (it.level - 1) & 1) << k;
    return octant;
  }
  std::int32_t child_for(std::int32_t number, std::size_t octant) {
    const std::int32_t there = child(number, octant);
    if (there != kNoCell) return there;
    const std::int32_t made = add_cell(number, octant);
    const OctreeCell& above = cell(number);
    OctreeCell& it = at(made);
    it.level = static_cast<std::int8_t>(above.level - 1);
    for (std::size_t k = 0; k < blocks().dimension(); ++k)
      it.corner[k] = above.corner[k] + (static_cast<std::int64_t>(octant >> k & 1u) << it.level);
    return made;
  }

  template <std::size_t D>
  void sink(const AnyBoxes& boxes, std::int32_t number, std::int32_t row, const Entry<D>& entry) {
    while (entry.spot.level < cell(number).level && cell(number).children != 0)
      number = child_for(number, octant_of<D>(cell(number), entry.spot.at));
    add_row(number, row, entry.spot.level, entry.box);
    split_if_full<D>(boxes, number);
  }

  // Recursion: one call a level, OctreeLattice::kMostLevels at most.
  template <std::size_t D>
  void split_if_full(const AnyBoxes& boxes, std::int32_t number) {
    const OctreeCell& it = cell(number);
    if (number == kTop || it.sinking == 0 || static_cast<std::size_t>(it.rows) <= options_.capacity) return;
    std::vector<std::int32_t> rows;
    for_each_row(number, [&](std::int32_t row) {
      if (level_of(row) < it.level) rows.push_back(row);
    });
    std::int64_t last[D];  // copied: cells move when children are added
    for (std::size_t k = 0; k < D; ++k) last[k] = it.corner[k] + (std::int64_t{1} << it.level) - 1;
    for (const std::int32_t row : rows) {
      Entry<D> entry = entry_of<D>(boxes, row);
      // A row on the upper face of the root was filed into the last cell. Once the root has grown, it belongs to the
      // cell beyond, but it is still in this one.
      for (std::size_t k = 0; k < D; ++k) entry.spot.at[k] = std::min(entry.spot.at[k], last[k]);
      remove_row(row);
      add_row(child_for(number, octant_of<D>(cell(number), entry.spot.at)), row, entry.spot.level, entry.box);
    }
    for_each_child(number, [&](std::int32_t below) { split_if_full<D>(boxes, below); });
  }

  template <std::size_t D>
  void build_all(const AnyBoxes& boxes, const std::int32_t* rows, std::size_t count, unsigned workers,
                 Interrupt& interrupt) {
    constexpr std::size_t kFewRows = 4096;  // a branch of so many takes some 0.5 ms
    const PlainMemory<Item> items = allocate_plain<Item>(count), spare = allocate_plain<Item>(count);
    const bool are_branches = workers > 1;
    if (!are_branches) make_room(count, options_.capacity);
    std::atomic<std::size_t> outside_count{0};
    const int bits = key_bits(), skipped = lattice_.levels() - bits;
    in_stretches_on_threads(count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      std::size_t out = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const Corners<D> corners = corners_of<D>(boxes, rows[k]);
        Spot spot;
        std::uint64_t key = 0;
        if (lattice_.place<D>(corners.lower, corners.upper, spot))
          for (std::size_t axis = 0; axis < D; ++axis)
            key |= spread_bits<D>(static_cast<std::uint64_t>(spot.at[axis] - lattice_.low(axis)) >> skipped) << axis;
        items[k] = {key, rows[k], spot.level};
        out += spot.level == OctreeLattice::kOutside ? 1 : 0;
      }
      if (out > 0) outside_count.fetch_add(out, std::memory_order_relaxed);
    });
    std::vector<Item> outside;
    const bool are_all_inside = outside_count.load(std::memory_order_relaxed) == 0;
    std::size_t inside = are_all_inside ? count : 0;
    for (std::size_t k = inside; k < count; ++k)
      if (items[k].level == OctreeLattice::kOutside)
        outside.push_back(items[k]);
      else
        items[inside++] = items[k];
    std::vector<Branch> branches;
    Filling filling{interrupt, are_branches ? &branches : nullptr,
                    std::max(kFewRows, count / (std::size_t{kBranchesAWorker} * workers)), workers};
    fill<D>(boxes, root(), items.get(), items.get() + inside, spare.get(), filling);
    file<D>(boxes, kTop, outside.data(), outside.data() + outside.size());
    forget_marks();
    add_branches<D>(boxes, branches, workers, interrupt);
  }

  // A cell whose rows one thread files into a tree of its own.
  struct Branch {
    std::int32_t number;
    Item *begin, *end, *spare;
    std::unique_ptr<BlockTree> blocks{};
    std::unique_ptr<OctreeArrangement> tree{};
  };
  static constexpr std::size_t kBranchesAWorker = 16;
  struct Filling {
    Interrupt& interrupt;
    std::vector<Branch>* branches;  // null: everything is filed at once
    std::size_t most;               // rows of a branch
    unsigned workers;
  };

  // Files the rows of branches, and takes these over.
  template <std::size_t D>
  void add_branches(const AnyBoxes& boxes, std::vector<Branch>& branches, unsigned workers, Interrupt& interrupt) {
    for_each_task(branches.size(), workers, interrupt, [&](unsigned worker, std::size_t k) {
      Interrupt alone;  // for threads other than the calling one
      Branch& branch = branches[k];
      branch.blocks.reset(new BlockTree{Blocks(D), kNoBlock, frame()});
      branch.tree = std::make_unique<OctreeArrangement>(*branch.blocks, options_);
      OctreeArrangement& it = *branch.tree;
      it.lattice_ = lattice_;
      it.start_branch_of(*this);
      it.add_root();
      OctreeCell& root = it.at(it.root());
      root.level = cell(branch.number).level;
      std::copy_n(cell(branch.number).corner, 4, root.corner);
      it.make_room(static_cast<std::size_t>(branch.end - branch.begin), options_.capacity);
      Filling filling{worker == 0 ? interrupt : alone, nullptr, 0, 1};
      it.fill<D>(boxes, it.root(), branch.begin, branch.end, branch.spare, filling);
      it.forget_marks();
      it.hang_below(kTop);
    });
    std::size_t cells = 0, blocks = 0;
    for (const Branch& branch : branches) {
      cells += cells_of(*branch.tree);
      blocks += blocks_of(*branch.tree);
    }
    make_room_for_branches(cells, blocks);
    std::vector<Grafting> graftings;
    for (const Branch& branch : branches) graftings.push_back(graft(*branch.tree, branch.number));
    for_each_task(branches.size(), workers, interrupt, [&](unsigned, std::size_t k) {
      fill_in(graftings[k]);
      branches[k].tree.reset();
      branches[k].blocks.reset();
    });
  }
  // Bits of each coordinate that a key holds.
  int key_bits() const {
    return std::min(blocks().dimension() <= 2 ? 32 : static_cast<int>(64 / blocks().dimension()), lattice_.levels());
  }

  template <std::size_t D>
  void file(const AnyBoxes& boxes, std::int32_t number, const Item* begin, const Item* end) {
    // Several rows are read before the first is filed, so that their cache misses overlap.
    constexpr std::ptrdiff_t kTogether = 16;
    Corners<D> corners[kTogether];
    for (; begin != end; begin += std::min(end - begin, kTogether)) {
      const std::ptrdiff_t together = std::min(end - begin, kTogether);
      for (std::ptrdiff_t k = 0; k < together; ++k) corners[k] = corners_of<D>(boxes, begin[k].row);
      for (std::ptrdiff_t k = 0; k < together; ++k) {
        float box[2 * D];
        round(corners[k], box);
        add_row(number, begin[k].row, begin[k].level, box);
      }
    }
  }

  // Recursion: one call a level, OctreeLattice::kMostLevels at most.
  template <std::size_t D>
  void fill(const AnyBoxes& boxes, std::int32_t number, Item* begin, Item* end, Item* spare, Filling& filling) {
    constexpr std::ptrdiff_t kFewForABranch = 256;
    if (filling.branches != nullptr && end - begin > kFewForABranch && number != root() &&
        static_cast<std::size_t>(end - begin) <= filling.most) {
      filling.branches->push_back({number, begin, end, spare});
      return;
    }
    const int level = cell(number).level, depth = lattice_.levels() - level;
    const bool has_key = depth < key_bits();
    const auto stays = [level](const Item& item) { return item.level >= level; };
    if (static_cast<std::size_t>(end - begin) <= options_.capacity || !has_key || std::all_of(begin, end, stays)) {
      file<D>(boxes, number, begin, end);
      split_if_full<D>(boxes, number);
      return;
    }
    filling.interrupt.check();
    // Sorted by octant into `spare`, rows of this cell last; the recursion uses the part of the other array that is
    // free here.
    constexpr std::size_t kOctants = std::size_t{1} << D;
    const int shift = (key_bits() - 1 - depth) * static_cast<int>(D);
    const auto bucket = [&](const Item& item) {
      return stays(item) ? kOctants : static_cast<std::size_t>(item.key >> shift) & (kOctants - 1);
    };
    std::size_t first[kOctants + 2] = {};  // where each octant begins, then the rows of this cell, and the end
    const auto count = static_cast<std::size_t>(end - begin);
    if (count < kWorthThreads || filling.workers <= 1) {
      for (const Item* item = begin; item != end; ++item) ++first[bucket(*item) + 1];
      for (std::size_t k = 1; k <= kOctants + 1; ++k) first[k] += first[k - 1];
      std::size_t place[kOctants + 1];
      std::copy_n(first, kOctants + 1, place);
      for (const Item* item = begin; item != end; ++item) spare[place[bucket(*item)]++] = *item;
    } else {
      const EvenSplit split{count, filling.workers};
      std::vector<std::array<std::size_t, kOctants + 1>> places(split.parts);  // of the rows of each part
      for_each_task(split.parts, filling.workers, filling.interrupt, [&](unsigned, std::size_t part) {
        places[part].fill(0);
        for (std::size_t k = split.at(part); k < split.at(part + 1); ++k) ++places[part][bucket(begin[k])];
      });
      std::size_t sum = 0;
      for (std::size_t k = 0; k <= kOctants; ++k) {
        first[k] = sum;
        for (auto& place : places) sum += std::exchange(place[k], sum);
      }
      first[kOctants + 1] = sum;
      for_each_task(split.parts, filling.workers, filling.interrupt, [&](unsigned, std::size_t part) {
        for (std::size_t k = split.at(part); k < split.at(part + 1); ++k)
          spare[places[part][bucket(begin[k])]++] = begin[k];
      });
    }
    for (std::size_t octant = 0; octant < kOctants; ++octant)
      if (first[octant] < first[octant + 1])
        fill<D>(boxes, child_for(number, octant), spare + first[octant], spare + first[octant + 1],
                begin + first[octant], filling);
    file<D>(boxes, number, spare + first[kOctants], spare + first[kOctants + 1]);
  }

  static constexpr std::size_t kFewOutside = 64, kWorthThreads = std::size_t{1} << 15;

  OctreeOptions options_;
  OctreeLattice lattice_;
  std::size_t most_outside_ = 0;  // rows outside the root, until it is rebuilt
};

template <class T>
void OctreeArrangement::build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, unsigned workers,
                              Interrupt& interrupt) {
  const std::size_t dimension = blocks().dimension();
  const Reach<T> reach = reach_of(boxes, dimension, rows, count, workers, interrupt);
  tree().frame = frame_of(reach, dimension);
  lattice_ = lattice_of(tree().frame, reach, boxes, dimension, rows, count, options_);
  tree().lossy = false;
  start(boxes.count, workers, interrupt);
  add_root();
  const AnyBoxes any(boxes, dimension);
  with_dimension(dimension, [&]<std::size_t D>(Dimension<D>) { build_all<D>(any, rows, count, workers, interrupt); });
  most_outside_ = kFewOutside + 2 * static_cast<std::size_t>(cell(kTop).rows);
  hang_below(kTop);
}

// With more rows than this in the cells on the way down to an average row, going through them takes longer than all the
// rest of a query; with so few rows in all, that does not matter.
inline constexpr std::size_t kManyOnPaths = 192, kFewInAll = 1024;

// An octree with deferred changes. Rows that are inserted, moved or removed are queued, each once; `settle` applies
// their final state: a thousand single inserts cost one build, and a row inserted and removed again costs nothing.
//
// Where cells do not tell boxes apart, queries would test each box of a crowd: many boxes that are long, or far away,
// or in one of the smallest cells, or nearer to each other than floats can tell. Then `packed` becomes a BVH of all
// rows for them to walk, packed before the first query and changed with the rows from then on. Else it is empty. A
// search for pairs uses it only if the cells would test too many: see OctreePairs::is_in_vain.
class PendingOctree : public OctreeArrangement {
 public:
  PendingOctree(BlockTree& tree, BlockTree& packed, const OctreeOptions& options)
      : OctreeArrangement(tree, options), packed_(packed), bvh_(packed) {}

  // Replaces all rows by these, which are below `row_limit`. Throws bad_alloc or invalid_argument, and then nothing has
  // changed.
  void replace(std::size_t row_limit, const std::int32_t* rows, std::size_t count) {
    require_boxes(rows, count, row_limit);
    std::vector<std::uint8_t> state(row_limit, 0);
    for (std::size_t k = 0; k < count; ++k) state[static_cast<std::size_t>(rows[k])] = kAlive;
    state_.swap(state);
    queue_.clear();
    alive_ = count;
    needs_build_ = true;
    is_settled_.store(false, std::memory_order_relaxed);
  }
  // Each of these happens whole or, throwing bad_alloc or invalid_argument, not at all. Rows that are inserted, which
  // are below `row_limit`, must not be in the tree, and rows that move or are removed must be. Those that are inserted
  // or removed are given once.
  void insert(std::size_t row_limit, const std::int32_t* rows, std::size_t count) {
    if (row_limit > state_.size()) state_.resize(row_limit, 0);
    require(rows, count, row_limit, false);
    enqueue(rows, count, true);
  }
  void update(const std::int32_t* rows, std::size_t count) {
    require_rows(rows, count, state_.size(), [this](std::size_t row) { return is_alive(row); });
    enqueue(rows, count, true);
  }
  void remove(const std::int32_t* rows, std::size_t count) {
    require(rows, count, state_.size(), true);
    enqueue(rows, count, false);
  }

  std::size_t alive() const { return alive_; }
  std::size_t pending() const { return needs_build_ ? alive_ : queue_.size(); }
  bool needs_build() const { return needs_build_; }
  // Whether there is nothing to apply. May be called while another thread settles: once it is true, that has ended.
  bool is_settled() const { return is_settled_.load(std::memory_order_acquire); }
  std::uint64_t builds() const { return builds_; }
  std::uint64_t updates() const { return updates_; }

  // Applies all queued changes. If this throws, the next call rebuilds the tree.
  template <class T>
  void settle(const BoxView<T>& boxes, const Kernels& kernels, unsigned workers, Interrupt& interrupt);

  // True if the settled tree is to be packed before it is queried.
  bool needs_packing() const { return is_crowded_ && !is_packed(); }
  bool is_crowded() const { return is_crowded_; }
  bool is_packed() const { return is_packed_.load(std::memory_order_acquire); }
  // How often crowds were looked for.
  std::uint64_t looks() const { return looks_; }
  // Throws bad_alloc or Interrupted, and then nothing has changed.
  template <class T>
  void pack(const BoxView<T>& boxes, const Kernels& kernels, Interrupt& interrupt);
  std::size_t packed_bytes() const { return bvh_.bytes(); }
  // The first violation of an invariant of what is packed, or an empty string.
  std::string fault_of_packed(const AnyBoxes& boxes, const std::int32_t* rows, std::size_t count) const {
    return is_packed() ? bvh_.validate(boxes, rows, count) : "";
  }

 private:
  static constexpr std::uint8_t kAlive = 1, kQueued = 2;
  // When more than this share of the rows (1 / k) has changed, crowds may have come or gone.
  static constexpr std::size_t kManyChanges = 16;

  void unpack() {
    is_packed_.store(false, std::memory_order_relaxed);
    packed_.root = kNoBlock;
    packed_.blocks = Blocks(blocks().dimension());
  }
  PlainVector<std::int32_t> alive_rows(unsigned workers, Interrupt& interrupt) const {
    PlainVector<std::int32_t> rows;
    if (alive_ == state_.size()) {
      rows.resize(alive_);
      in_stretches_on_threads(alive_, workers, interrupt, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) rows[row] = static_cast<std::int32_t>(row);
      });
      return rows;
    }
    rows.reserve(alive_);
    for (std::size_t row = 0; row < state_.size(); ++row)
      if (is_alive(row)) rows.push_back(static_cast<std::int32_t>(row));
    return rows;
  }

  template <class T>
  void look_for_crowds(const BoxView<T>& boxes, unsigned workers, Interrupt& interrupt) {
    ++looks_;
    is_crowded_ = alive_ >= kFewInAll &&
                  (rows_on_paths(workers, interrupt) > kManyOnPaths * alive_ ||
                   blocks_are_blurred(tree(), GrownBoxes<T>{boxes, blocks().dimension()}, alive_,
                                      [this](std::size_t row) { return has(static_cast<std::int32_t>(row)); }));
  }
  // The rows in or below a cell; and added up for each of them, those of all cells from there down to it.
  struct Ways {
    std::size_t rows = 0, on_paths = 0;
  };
  // Gives those of a cell by those of its children. Recursion: one call per level.
  template <class OfChild>
  Ways ways(std::int32_t number, const OfChild& of_child) const {
    const auto own = static_cast<std::size_t>(cell(number).rows);
    Ways result{own, 0};
    for_each_child(number, [&](std::int32_t child) {
      const Ways below = of_child(child);
      result.rows += below.rows;
      result.on_paths += below.on_paths;
    });
    result.on_paths += own * result.rows;
    return result;
  }
  Ways all_ways(std::int32_t number) const {
    return ways(number, [this](std::int32_t child) { return all_ways(child); });
  }
  // Of all rows. Threads share the cells of a level that has many enough of them.
  std::size_t rows_on_paths(unsigned workers, Interrupt& interrupt) const {
    constexpr std::size_t kWorthThreads = 4096, kCellsAWorker = 16;
    if (workers <= 1 || limit() < kWorthThreads) return all_ways(OctreeCells::kTop).on_paths;
    std::vector<std::vector<std::int32_t>> levels{{OctreeCells::kTop}};
    while (!levels.back().empty() && levels.back().size() < kCellsAWorker * workers) {
      std::vector<std::int32_t> below;
      for (const std::int32_t number : levels.back())
        for_each_child(number, [&](std::int32_t child) { below.push_back(child); });
      levels.push_back(std::move(below));
    }
    std::vector<Ways> found(levels.back().size());
    for_each_task(found.size(), workers, interrupt,
                  [&](unsigned, std::size_t k) { found[k] = all_ways(levels.back()[k]); });
    while (levels.size() > 1) {
      levels.pop_back();
      std::vector<Ways> above;
      std::size_t next = 0;
      for (const std::int32_t number : levels.back())
        above.push_back(ways(number, [&](std::int32_t) { return found[next++]; }));
      found = std::move(above);
    }
    return found[0].on_paths;
  }

  std::uint8_t& state(std::int32_t row) { return state_[static_cast<std::size_t>(row)]; }

  bool is_alive(std::size_t row) const { return (state_[row] & kAlive) != 0; }
  void require(const std::int32_t* rows, std::size_t count, std::size_t row_limit, bool present) {
    require_distinct_rows(
        rows, count, row_limit, present, [this](std::size_t row) { return is_alive(row); },
        [this](std::size_t row) { state_[row] ^= kAlive; });
  }
  void enqueue(const std::int32_t* rows, std::size_t count, bool is_alive) {
    if (!needs_build_) reserve_ahead(queue_, queue_.size() + count);
    if (count > 0) is_settled_.store(false, std::memory_order_relaxed);
    for (std::size_t k = 0; k < count; ++k) {
      std::uint8_t& of_row = state(rows[k]);
      alive_ += static_cast<std::size_t>(is_alive) - (of_row & kAlive);
      if ((of_row & kQueued) == 0 && !needs_build_) {
        queue_.push_back(rows[k]);
        of_row |= kQueued;
      }
      of_row = static_cast<std::uint8_t>(is_alive ? of_row | kAlive : of_row & ~kAlive);
    }
  }

  template <class T>
  void build_all(const BoxView<T>& boxes, unsigned workers, Interrupt& interrupt) {
    needs_build_ = true;
    tree().exact_bounds.forget();
    const PlainVector<std::int32_t> rows = alive_rows(workers, interrupt);
    for (std::uint8_t& state : state_) state &= kAlive;
    build(boxes, rows.data(), rows.size(), workers, interrupt);
    needs_build_ = false;
    ++builds_;
  }

  template <class T>
  void apply(const BoxView<T>& boxes, const Kernels& kernels, Interrupt& interrupt) {
    std::vector<std::int32_t> moved, come, gone;
    needs_build_ = true;  // unless this succeeds
    tree().exact_bounds.forget();
    make_room(state_.size());
    for (const std::int32_t row : queue_) {
      state(row) &= kAlive;
      if (state(row) != 0)
        (has(row) ? moved : come).push_back(row);
      else if (has(row))
        gone.push_back(row);
    }
    for (const std::int32_t row : gone) remove_row(row);
    // With this many new rows, a rebuild with cells fitted to them is cheaper.
    if (come.size() > alive_ / 2) return;
    needs_build_ = false;
    try {
      move_and_file(AnyBoxes(boxes, blocks().dimension()), moved, come, interrupt);
      if (needs_build_) return;
      clean();
      age();
      if (is_packed()) {
        const Bvh::Work work{kernels, 1, interrupt};
        bvh_.remove(gone.data(), gone.size());
        bvh_.update(boxes, moved.data(), moved.size(), work);
        bvh_.insert(boxes, come.data(), come.size(), work);
      }
    } catch (...) {
      needs_build_ = true;
      throw;
    }
    ++updates_;
  }

  void move_and_file(const AnyBoxes& boxes, const std::vector<std::int32_t>& moved,
                     const std::vector<std::int32_t>& come, Interrupt& interrupt) {
    with_dimension(blocks().dimension(), [&]<std::size_t D>(Dimension<D>) {
      for (std::size_t k = 0; k < moved.size() && !needs_build_; ++k) {
        move_row<D>(boxes, moved[k]);
        if (k % kStretch == 0) interrupt.check();
      }
      for (std::size_t k = 0; k < come.size() && !needs_build_; ++k) {
        file_row<D>(boxes, come[k]);
        if (k % kStretch == 0) interrupt.check();
      }
    });
  }

  std::vector<std::uint8_t> state_;  // of each row
  std::vector<std::int32_t> queue_;
  std::size_t alive_ = 0;
  std::uint64_t builds_ = 0, updates_ = 0;
  BlockTree& packed_;
  Bvh bvh_;                              // in `packed_`
  std::atomic<bool> is_packed_ = false;  // a thread may search for pairs while another one packs
  std::atomic<bool> is_settled_ = true;
  bool is_crowded_ = false;
  std::size_t changes_ = 0;  // since crowds were last looked for
  std::uint64_t looks_ = 0;
};

template <class T>
void PendingOctree::settle(const BoxView<T>& boxes, const Kernels& kernels, unsigned workers, Interrupt& interrupt) {
  if (is_settled()) return;
  changes_ += queue_.size();
  if (!needs_build_) apply(boxes, kernels, interrupt);
  const bool is_built = needs_build_;
  if (is_built) {
    unpack();
    build_all(boxes, workers, interrupt);
  }
  if (is_built || changes_ > alive_ / kManyChanges) {
    changes_ = 0;
    look_for_crowds(boxes, workers, interrupt);
    if (!is_crowded_) unpack();
  }
  queue_.clear();
  is_settled_.store(true, std::memory_order_release);
}

template <class T>
void PendingOctree::pack(const BoxView<T>& boxes, const Kernels& kernels, Interrupt& interrupt) {
  const PlainVector<std::int32_t> rows = alive_rows(1, interrupt);
  bvh_.build(boxes, rows.data(), rows.size(), {kernels, 1, interrupt});
  is_packed_.store(true, std::memory_order_release);
}

// ---- Inspection: the cells of an octree, and whether all its invariants hold ----

// Calls use(cell, depth) for the root and all cells below it, parents before children; the root has depth 0.
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

// Checks every invariant of a settled octree.
class OctreeCheck {
 public:
  OctreeCheck(const PendingOctree& tree, const AnyBoxes& boxes) : tree_(tree), boxes_(boxes) {}

  // The first violation, or an empty string. `rows` are those that should be in the tree.
  std::string fault(const std::int32_t* rows, std::size_t count) const {
    if (!tree_.is_settled()) return "changes are pending";
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
    if (filed != count)
      return std::to_string(filed) + " rows are in the tree, " + std::to_string(count) + " were expected";
    if (cells + tree_.pooled() != tree_.limit()) return "a cell is neither in the tree nor in the pool";
    for (std::size_t k = 0; k < count && found.empty(); ++k) found = fault_of_row(rows[k]);
    return found;
  }

 private:
  std::string name(std::int32_t number) const { return "cell " + std::to_string(number) + " "; }

  std::string fault_of_cell(std::int32_t number) const {
    const OctreeCell& cell = tree_.cell(number);
    const Blocks& blocks = tree_.blocks();
    if (!cell.is_used || cell.is_dirty) return name(number) + "is unused or marked dirty";
    std::size_t lanes = 0, rows = 0, sinking = 0, hung = 0;
    for (std::int32_t block = cell.block, at = 0; block != kNoBlock; block = blocks.next(block), ++at) {
      if (blocks.parent(block) != number) return name(number) + "has a block that belongs to another cell";
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
        found = name(child) + "has a wrong parent";
      hung += below.place != kUnhung;
      for (std::size_t k = 0; k < blocks.dimension() && number != OctreeCells::kTop; ++k)
        if (below.corner[k] != cell.corner[k] + (static_cast<std::int64_t>(below.octant >> k & 1) << below.level))
          found = name(child) + "has a wrong corner";
    });
    if (!found.empty()) return found;
    for (std::size_t octant = 0; octant < std::size_t{1} << blocks.dimension(); ++octant)
      if ((tree_.child(number, octant) != kNoCell) != ((cell.children >> octant & 1u) != 0))
        return name(number) + "has a wrong bit mask of children";
    if (rows != static_cast<std::size_t>(cell.rows)) return name(number) + "has a wrong number of rows";
    if (lanes != rows + hung) return name(number) + "has a wrong number of lanes";
    if (number == OctreeCells::kTop) return "";
    if (sinking != static_cast<std::size_t>(cell.sinking))
      return name(number) + "has a wrong number of rows that fit into a smaller cell";
    if (sinking > 0 && cell.children != 0) return name(number) + "has a row that fits into a child";
    if (sinking > 0 && rows > tree_.options().capacity) return name(number) + "should be split";
    return fault_of_life(number, lanes);
  }

  std::string fault_of_life(std::int32_t number, std::size_t lanes) const {
    const OctreeCell& cell = tree_.cell(number);
    const bool is_empty_leaf = cell.rows == 0 && cell.children == 0 && number != tree_.root();
    if (cell.is_idle != is_empty_leaf && number != tree_.root()) return name(number) + "has a wrong idle flag";
    if (cell.longest_life < OctreeCells::kShortLife || cell.longest_life > OctreeCells::kLongLife)
      return name(number) + "has a lifetime out of bounds";
    if (cell.is_idle && (cell.life == 0 || cell.life > cell.longest_life))
      return name(number) + "has a wrong remaining lifetime";
    if (cell.is_idle && !cell.is_listed) return name(number) + "is idle but not listed";
    if ((cell.place != kUnhung) != (lanes > 0))
      return name(number) + "is empty but has a lane, or is not empty and has none";
    if (lanes == 0) return "";
    const Blocks& blocks = tree_.blocks();
    const std::int32_t block = cell.place / kWidth;
    const auto lane = static_cast<std::size_t>(cell.place % kWidth);
    if (blocks.parent(block) != cell.parent || blocks.child(block)[lane] != cell.block)
      return name(number) + "is on a wrong lane";
    float around[8], stored[8];
    tree_.bounds(number, around);
    blocks.get_box(block, lane, stored);
    if (!std::equal(around, around + 2 * blocks.dimension(), stored)) return name(number) + "has a wrong box";
    return "";
  }

  std::string fault_of_row(std::int32_t row) const {
    const std::string who = "row " + std::to_string(row) + " ";
    if (!tree_.has(row)) return who + "is not in the tree";
    const Blocks& blocks = tree_.blocks();
    const std::int32_t place = tree_.place_of(row), block = place / kWidth;
    const auto lane = static_cast<std::size_t>(place % kWidth);
    if ((static_cast<std::uint32_t>(blocks.rows(block)) >> lane & 1u) == 0 || blocks.child(block)[lane] != row)
      return who + "is not at its recorded place";
    double given[8];
    boxes_.read(static_cast<std::size_t>(row), given);
    float box[8], stored[8];
    local_box(tree_.frame(), view_of_rows(given, blocks.dimension(), 1), 0, blocks.dimension(), box);
    blocks.get_box(block, lane, stored);
    if (!std::equal(box, box + 2 * blocks.dimension(), stored)) return who + "has a wrong box";
    return is_in_cell(row) ? "" : who + "is not in its cell";
  }

  // Its box is contained in the enlarged cell. Rows outside the root stay there when it grows to contain them.
  bool is_in_cell(std::int32_t row) const {
    const std::int32_t number = tree_.cell_of(row);
    if (number == OctreeCells::kTop) return true;
    const OctreeCell& cell = tree_.cell(number);
    const OctreeLattice& lattice = tree_.lattice();
    const double edge = lattice.edge(cell.level), beyond = (lattice.looseness() - 1) / 2 * edge;
    const std::size_t dimension = tree_.blocks().dimension();
    double box[8];
    boxes_.read(static_cast<std::size_t>(row), box);
    bool is_in = true;
    for (std::size_t k = 0; k < dimension; ++k) {
      const double begin = lattice.local(static_cast<double>(cell.corner[k]), k);
      // Lattice coordinates are rounded on the way here, relative to where the lattice begins.
      const double slack = 0x1p-48 * (std::fabs(begin) + std::fabs(lattice.local(0, k))) + 1e-12 * edge;
      is_in = is_in && tree_.frame().local(box[k], k) >= begin - beyond - slack &&
              tree_.frame().local(box[dimension + k], k) <= begin + edge + beyond + slack;
    }
    return is_in;
  }

  static constexpr std::int32_t kWidth = static_cast<std::int32_t>(kLanes);
  const PendingOctree& tree_;
  const AnyBoxes& boxes_;
};

// Compiled once: octree.cpp.
extern template void OctreeArrangement::build(const BoxView<float>&, const std::int32_t*, std::size_t, unsigned,
                                              Interrupt&);
extern template void PendingOctree::settle(const BoxView<float>&, const Kernels&, unsigned, Interrupt&);
extern template void PendingOctree::pack(const BoxView<float>&, const Kernels&, Interrupt&);
extern template void OctreeArrangement::build(const BoxView<double>&, const std::int32_t*, std::size_t, unsigned,
                                              Interrupt&);
extern template void PendingOctree::settle(const BoxView<double>&, const Kernels&, unsigned, Interrupt&);
extern template void PendingOctree::pack(const BoxView<double>&, const Kernels&, Interrupt&);

}  // namespace broadphase
