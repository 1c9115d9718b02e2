// A tree for each batch of rows: queries walk the tree of their key.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/radix_sort.hpp"
#include "base/samples.hpp"
#include "batches/rows_by_key.hpp"
#include "boxes/any_boxes.hpp"
#include "bvh/build.hpp"
#include "bvh/edit.hpp"
#include "tree/blocks.hpp"
#include "tree/median_order.hpp"

namespace broadphase {

// Each tree has a frame of its own, so that its boxes are as precise as if they were alone, and its blocks are numbered
// from 0: a view of them is a tree like any other. A change of rows touches the trees of their keys only:
//
//   rows have moved, in a small tree, or many of a large one  | refit; packed again once it has become worse
//   rows have come or left, in a small tree                   | packed again
//   a few rows of a large tree                                | moved, inserted and removed one by one, as in a BVH
//
// Of a key with a few rows no more than these are kept: a query makes their only block.
//
// O(n log n) time to build; 30 to 50 bytes a row.
class Forest {
 public:
  static constexpr std::uint32_t kNoTree = 0xffffffffu;
  static constexpr std::size_t kLine = 16;  // floats on a cache line

  // What long calls need.
  struct Work {
    const Kernels& kernels;
    unsigned workers;
    Interrupt& interrupt;
  };

  explicit Forest(std::size_t dimension) : dimension_(dimension) {}

  std::size_t dimension() const { return dimension_; }
  std::size_t tree_count() const { return keys_.size(); }
  std::size_t bytes() const {
    std::size_t words = 0;
    for (const PlainArray<float>& block : memory_) words += block.size();
    std::size_t own = 0;
    for (const Tree& tree : trees_) own += tree.blocks.bytes();
    return own + words * sizeof(float) + trees_.capacity() * sizeof(Tree) + slots_.capacity() * sizeof(Slot) +
           few_rows_.capacity() * sizeof(std::int32_t) +
           keys_.capacity() * (sizeof(std::int64_t) + sizeof(std::uint32_t)) +
           2 * places_.size() * sizeof(std::uint32_t);
  }
  // How many trees were packed since the first build began.
  std::uint64_t packed_count() const { return packed_; }

  // How often the trees have changed.
  std::uint64_t changes() const { return changes_; }

  // Replaces all trees by those of `count` rows; keys are by row. After bad_alloc or Interrupted it must be called
  // again before anything else.
  template <class T>
  void build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const std::int64_t* keys,
             const Work& work) {
    ++changes_;
    memory_.clear();
    trees_.clear();
    slots_.clear();
    few_rows_.clear();
    keys_.clear();
    numbers_.clear();
    free_.clear();
    free_trees_.clear();
    for (std::vector<std::uint32_t>& rooms : free_rooms_) rooms.clear();
    rows_ = 0;
    grow(boxes.count);
    std::vector<std::int64_t> of_rows(count);
    for (std::size_t k = 0; k < count; ++k) of_rows[k] = keys[rows[k]];
    const RowsByKey by_key = rows_by_key({count, of_rows.data(), 1}, work.interrupt);
    std::vector<std::int32_t> sorted(count);
    for (std::size_t k = 0; k < count; ++k) sorted[k] = rows[by_key.row(k)];
    keys_.reserve(by_key.key_count());
    numbers_.reserve(by_key.key_count());
    slots_.reserve(by_key.key_count());
    std::vector<std::size_t> tasks{0};       // of small trees in a row; their ends
    std::vector<std::size_t> begins, sizes;  // of the rows of each tree
    std::size_t rows_of_task = 0;
    for (std::size_t k = 0; k < by_key.key_count(); ++k) {
      const std::size_t begin = by_key.start[k], end = by_key.start[k + 1];
      keys_.push_back(keys[sorted[begin]]);
      numbers_.push_back(static_cast<std::uint32_t>(k));
      for (std::size_t at = begin; at < end; ++at)
        tree_of_[static_cast<std::size_t>(sorted[at])] = static_cast<std::uint32_t>(k);
      slots_.emplace_back();
      if (end - begin <= kFew) {
        set_few_rows(slots_.back(), &sorted[begin], end - begin);
        continue;
      }
      slots_.back() = {static_cast<std::uint32_t>(begins.size()), static_cast<std::uint32_t>(end - begin)};
      begins.push_back(begin);
      sizes.push_back(end - begin);
      rows_of_task += end - begin;
      if (rows_of_task < kRowsATask) continue;
      tasks.push_back(begins.size());
      rows_of_task = 0;
    }
    if (tasks.back() != begins.size()) tasks.push_back(begins.size());
    trees_.resize(begins.size());
    for (std::size_t k = 0; k < trees_.size(); ++k)
      if (sizes[k] > kHuge) {
        TreePacker<T, MedianOrder<T>> packer;
        pack(trees_[k], boxes, &sorted[begins[k]], sizes[k], packer, work);
      }
    memory_.resize(tasks.size() - 1);
    for_each_task(memory_.size(), work.workers, work.interrupt, [&](unsigned, std::size_t task) {
      Interrupt never;
      TreePacker<T, MedianOrder<T>> packer;
      std::vector<std::size_t> places;
      std::size_t used = 0;
      for (std::size_t k = tasks[task]; k < tasks[task + 1]; ++k) {
        places.push_back(used);
        if (sizes[k] > kHuge) continue;
        Tree& tree = trees_[k];
        pack(tree, boxes, &sorted[begins[k]], sizes[k], packer, {work.kernels, 1, never});
        if (sizes[k] <= kSmall) used = put_into(memory_[task], used, tree.blocks);
      }
      for (std::size_t k = tasks[task]; k < tasks[task + 1]; ++k) {
        Tree& tree = trees_[k];
        if (tree.rows <= kSmall)
          tree.blocks = Blocks(dimension_, tree.blocks.is_wide(), first(memory_[task]) + places[k - tasks[task]],
                               tree.blocks.limit());
      }
    });
  }

  // Follows a change of these rows, some of which may be given several times: those alive are in the tree of their key
  // then, and others in none. After bad_alloc or Interrupted, build() must be called before anything else.
  template <class T>
  void follow(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const bool* alive,
              const std::int64_t* keys, const Work& work) {
    ++changes_;
    grow(boxes.count);
    const std::vector<Edit> edits = edits_of(rows, count, alive, keys, boxes.count, work.interrupt);
    // A row may leave one tree and come into another.
    for (const Edit& edit : edits)
      if (edit.what == Edit::kLeft && slots_[edit.slot].rows > kSmall)
        with_edit(trees_[slots_[edit.slot].at], [&](auto& one, auto) { one.remove(edit.row); });
    std::vector<TreeChange> changes;
    for (auto begin = edits.begin(); begin != edits.end();) {
      const auto end = std::find_if(begin, edits.end(), [&](const Edit& edit) { return edit.slot != begin->slot; });
      const Group group{std::to_address(begin), std::to_address(end)};
      begin = end;
      const std::uint32_t before = slots_[group.first->slot].rows;
      const auto after = static_cast<std::uint32_t>(before + group.count(Edit::kCame) - group.count(Edit::kLeft));
      if (after > kFew)
        changes.push_back({group, before > kFew ? slots_[group.first->slot].at : new_tree(), after});
      else if (after != before || group.count(Edit::kMoved) < static_cast<std::size_t>(group.last - group.first))
        change_few(group);
    }
    std::vector<TreePacker<T, MedianOrder<T>>> packers(std::max(1u, work.workers));
    const auto is_huge = [&](const TreeChange& one) {
      return std::max(slots_[one.edits.first->slot].rows, one.rows) > kHuge;
    };
    for (const TreeChange& one : changes)
      if (is_huge(one)) change(boxes, one, packers[0], work);
    constexpr std::size_t kTogether = 16;
    const std::size_t tasks = (changes.size() + kTogether - 1) / kTogether;
    // A few are changed sooner than threads are there.
    const unsigned workers = tasks < 4 ? 1 : work.workers;
    for_each_task(tasks, workers, work.interrupt, [&](unsigned worker, std::size_t task) {
      Interrupt never;
      for (std::size_t k = task * kTogether; k < std::min(changes.size(), (task + 1) * kTogether); ++k)
        if (!is_huge(changes[k])) change(boxes, changes[k], packers[worker], {work.kernels, 1, never});
    });
    for (const TreeChange& one : changes) {
      Slot& slot = slots_[one.edits.first->slot];
      if (slot.rows <= kFew) free_room(slot);
      slot = {one.tree, one.rows};
    }
    if (std::any_of(edits.begin(), edits.end(), [](const Edit& edit) { return edit.what == Edit::kLeft; }))
      forget_empty_trees();
  }

  // The tree of a key, or kNoTree; quick where its key follows that of the last one, whose position is given.
  std::uint32_t find(std::int64_t key, std::size_t& position) const {
    if (position < keys_.size() && keys_[position] == key) return numbers_[position];
    if (position + 1 < keys_.size() && keys_[position + 1] == key) return numbers_[++position];
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
    if (at == keys_.end() || *at != key) return kNoTree;
    position = static_cast<std::size_t>(at - keys_.begin());
    return numbers_[position];
  }

  // The number of the tree of a row; all are below number_limit().
  std::uint32_t number_of(std::int32_t row) const {
    return static_cast<std::size_t>(row) < rows_ ? tree_of_[static_cast<std::size_t>(row)] : kNoTree;
  }
  bool has(std::int32_t row) const { return number_of(row) != kNoTree; }
  std::size_t number_limit() const { return slots_.size(); }

  // How many rows the tree of a number has.
  std::size_t rows_of(std::uint32_t number) const { return number == kNoTree ? 0 : slots_[number].rows; }
  // Calls use(row) for each of them, in no order.
  template <class Use>
  void each_row(std::uint32_t number, const Use& use) const {
    const Slot& slot = slots_[number];
    if (slot.rows <= kFew)
      std::for_each_n(few_rows_.data() + slot.at, slot.rows, use);
    else if (trees_[slot.at].root != kNoBlock)
      for_each_row(trees_[slot.at].blocks, trees_[slot.at].root, use);
  }

  // Calls use(blocks, block) for so many blocks, some perhaps several times, of trees of more than a few rows. Not all
  // are in use.
  template <class Use>
  void for_some_blocks(std::size_t count, const Use& use) const {
    const StratifiedSample trees(trees_.size(), count);
    for (std::size_t k = 0; k < count && trees.size() > 0; ++k) {
      const Blocks& blocks = trees_[trees[k % trees.size()]].blocks;
      if (blocks.limit() > 0) use(blocks, static_cast<std::int32_t>(detail::hashed(k + 1) % blocks.limit()));
    }
  }

  // Room for the block of a few rows.
  struct Room {
    alignas(kLine * sizeof(float)) float words[96] = {};
  };
  // The tree of a number, or of none; `boxes`: those it was built of. Its blocks are those of this forest or in the
  // room, which must outlive it.
  BlockTree tree_of(std::uint32_t number, const AnyBoxes& boxes, Room& room) const {
    if (number == kNoTree) return {Blocks(dimension_), kNoBlock, {}};
    const Slot& slot = slots_[number];
    if (slot.rows <= kFew) return tree_of_few(few_rows_.data() + slot.at, slot.rows, boxes, room);
    const Tree& tree = trees_[slot.at];
    const Blocks& blocks = tree.blocks;
    return {Blocks(dimension_, blocks.is_wide(), const_cast<float*>(blocks.memory()), blocks.limit()), tree.root,
            tree.frame};
  }

 private:
  // So many rows are a block that is made in the time of reading it from where it would be kept. Eight would take a
  // third longer.
  static constexpr std::size_t kFew = 2;
  // Up to so many rows, packing a tree takes less than a tenth of a millisecond, and it shares memory with others when
  // it is built. From so many on, all workers pack one together.
  static constexpr std::size_t kSmall = 512, kHuge = std::size_t{1} << 16;
  static constexpr std::size_t kRowsATask = 4096;
  // As of a BVH: above this fraction of all rows (1 / k), a change of all at once is faster than one by one; and a tree
  // is packed again when the area of its blocks has grown, or shrunk, by such factors.
  static constexpr std::size_t kMany = 4;
  static constexpr double kWorse = 1.5, kShrunk = 6;
  // After so many changes of every row it is packed again in any case.
  static constexpr std::size_t kMostRefits = 16;
  // Half the surface area of all blocks, and how far they reach in the frame of the tree.
  struct Size {
    double area = -1, reach = 1;  // area < 0: not known
  };
  struct Tree {
    Blocks blocks;
    LocalFrame frame;
    std::int32_t root = kNoBlock;
    std::uint32_t rows = 0;
    std::size_t changes = 0;  // of rows, since it was packed
    Size size;                // when it was refitted first after that
  };
  // The rows of a key: no more than a few are few_rows_[at] and those behind it; more are those of trees_[at].
  struct Slot {
    std::uint32_t at = 0, rows = 0;
  };
  struct Edit {
    enum What : std::uint8_t { kMoved, kCame, kLeft };
    std::uint32_t slot;
    std::int32_t row;
    What what;
  };
  struct Group {
    const Edit *first, *last;
    const Edit* begin() const { return first; }
    const Edit* end() const { return last; }
    std::size_t count(Edit::What what) const {
      return static_cast<std::size_t>(std::count_if(first, last, [=](const Edit& edit) { return edit.what == what; }));
    }
  };

  // To a tree, which has so many rows afterwards.
  struct TreeChange {
    Group edits;
    std::uint32_t tree, rows;
  };

  BlockTree tree_of_few(const std::int32_t* rows, std::size_t count, const AnyBoxes& boxes, Room& room) const {
    if (count == 0) return {Blocks(dimension_), kNoBlock, {}};
    Blocks blocks(dimension_, false, room.words, 1);
    assert(blocks.layout().words() <= std::size(room.words));
    double given[kFew][8], low[4], high[4];
    for (std::size_t k = 0; k < count; ++k) boxes.read(static_cast<std::size_t>(rows[k]), given[k]);
    for (std::size_t d = 0; d < dimension_; ++d) {
      low[d] = std::numeric_limits<double>::infinity();
      high[d] = -low[d];
      for (std::size_t k = 0; k < count; ++k) {
        if (std::isfinite(given[k][d])) low[d] = std::min(low[d], given[k][d]);
        if (std::isfinite(given[k][dimension_ + d])) high[d] = std::max(high[d], given[k][dimension_ + d]);
      }
    }
    const LocalFrame frame = frame_between(low, high, dimension_, false);
    constexpr std::int32_t root = 0;
    blocks.occupied(root) = blocks.rows(root) = 0;
    blocks.next(root) = blocks.parent(root) = kNoBlock;
    for (std::size_t k = 0; k < count; ++k) {
      float box[8];
      for (std::size_t d = 0; d < dimension_; ++d) {
        box[d] = frame.below(given[k][d], d);
        box[dimension_ + d] = frame.above(given[k][dimension_ + d], d);
      }
      blocks.set_lane(root, k, box, rows[k], true);
    }
    return {std::move(blocks), root, frame};
  }

  void free_room(const Slot& slot) {
    if (slot.rows > 0) free_rooms_[slot.rows - 1].push_back(slot.at);
  }
  // Of a slot that has no room.
  void set_few_rows(Slot& slot, const std::int32_t* rows, std::size_t count) {
    slot.rows = static_cast<std::uint32_t>(count);
    if (count == 0) return;
    std::vector<std::uint32_t>& rooms = free_rooms_[count - 1];
    if (rooms.empty()) {
      rooms.push_back(static_cast<std::uint32_t>(few_rows_.size()));
      few_rows_.resize(few_rows_.size() + count);
    }
    slot.at = rooms.back();
    rooms.pop_back();
    std::copy_n(rows, count, few_rows_.data() + slot.at);
  }
  std::uint32_t new_tree() {
    if (free_trees_.empty()) {
      free_trees_.push_back(static_cast<std::uint32_t>(trees_.size()));
      trees_.emplace_back();
    }
    const std::uint32_t tree = free_trees_.back();
    free_trees_.pop_back();
    return tree;
  }
  // The rows of a slot after these edits.
  std::vector<std::int32_t> rows_after(const Group& edits) const {
    const std::uint32_t number = edits.first->slot;
    const Slot& slot = slots_[number];
    std::vector<std::int32_t> rows;
    const auto add = [&](std::int32_t row) {
      if (tree_of_[static_cast<std::size_t>(row)] == number) rows.push_back(row);
    };
    if (slot.rows <= kFew)
      std::for_each_n(few_rows_.data() + slot.at, slot.rows, add);
    else if (trees_[slot.at].root != kNoBlock)
      for_each_row(trees_[slot.at].blocks, trees_[slot.at].root, add);
    for (const Edit& edit : edits)
      if (edit.what == Edit::kCame) rows.push_back(edit.row);
    return rows;
  }
  // Few are left, or were there already.
  void change_few(const Group& edits) {
    const std::vector<std::int32_t> rows = rows_after(edits);
    Slot& slot = slots_[edits.first->slot];
    if (slot.rows > kFew) {
      trees_[slot.at] = Tree();
      trees_[slot.at].blocks = Blocks(dimension_);
      free_trees_.push_back(slot.at);
    } else {
      free_room(slot);
    }
    set_few_rows(slot, rows.data(), rows.size());
  }

  // Blocks begin at cache lines.
  static float* first(const PlainArray<float>& memory) {
    const auto line = reinterpret_cast<std::uintptr_t>(memory.get()) / sizeof(float) % kLine;
    return memory.get() + (kLine - line) % kLine;
  }
  // Copies blocks behind what is used of some memory; returns what is used then.
  static std::size_t put_into(PlainArray<float>& memory, std::size_t used, const Blocks& blocks) {
    const std::size_t words = blocks.limit() * blocks.layout().words();
    if (used + words + kLine > memory.size()) {
      PlainArray<float> grown;
      grown.grow((used + words) * 3 / 2 + kLine);
      if (used > 0) std::memcpy(first(grown), first(memory), used * sizeof(float));
      std::swap(memory, grown);
    }
    std::memcpy(first(memory) + used, blocks.memory(), words * sizeof(float));
    return used + words;
  }

  void grow(std::size_t rows) {
    if (rows <= rows_) return;
    if (rows > places_.size()) {
      places_.grow(rows + rows / 2);
      tree_of_.grow(rows + rows / 2);
    }
    std::fill(tree_of_.get() + rows_, tree_of_.get() + rows, kNoTree);
    rows_ = rows;
  }

  // Replaces a tree; it has blocks of its own then.
  template <class T>
  void pack(Tree& tree, const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count,
            TreePacker<T, MedianOrder<T>>& packer, const Work& work) {
    BlockTree packed{Blocks(dimension_), kNoBlock, {}};
    packer.pack(packed, GrownBoxes<T>{boxes, dimension_}, rows, count, places_.get(), work.kernels, work.workers,
                work.interrupt);
    tree.blocks = std::move(packed.blocks);
    tree.frame = packed.frame;
    tree.root = packed.root;
    tree.rows = static_cast<std::uint32_t>(count);
    tree.changes = 0;
    tree.size = {};
    packed_.fetch_add(1, std::memory_order_relaxed);
  }

  // What is to be done, tree by tree. Keys that come get trees.
  std::vector<Edit> edits_of(const std::int32_t* rows, std::size_t count, const bool* alive, const std::int64_t* keys,
                             std::size_t row_limit, Interrupt& interrupt) {
    std::vector<std::int64_t> added;
    std::size_t position = 0;
    for (std::size_t k = 0; k < count; ++k)
      if (alive[rows[k]] && find(keys[rows[k]], position) == kNoTree) added.push_back(keys[rows[k]]);
    if (!added.empty()) add_keys(added);
    std::vector<std::uint64_t> seen((row_limit + 63) / 64);
    std::vector<Edit> edits;
    edits.reserve(count);
    bool ascending = true;
    const auto add = [&](std::uint32_t tree, std::int32_t row, Edit::What what) {
      ascending = ascending && (edits.empty() || edits.back().slot <= tree);
      edits.push_back({tree, row, what});
    };
    for (std::size_t k = 0; k < count; ++k) {
      const auto row = static_cast<std::size_t>(rows[k]);
      const std::uint64_t bit = std::uint64_t{1} << (row & 63);
      if ((seen[row >> 6] & bit) != 0) continue;
      seen[row >> 6] |= bit;
      const std::uint32_t before = tree_of_[row], after = alive[row] ? find(keys[row], position) : kNoTree;
      tree_of_[row] = after;
      if (before == after) {
        if (after != kNoTree) add(after, rows[k], Edit::kMoved);
        continue;
      }
      if (before != kNoTree) add(before, rows[k], Edit::kLeft);
      if (after != kNoTree) add(after, rows[k], Edit::kCame);
    }
    if (ascending) return edits;
    RowSorter<std::uint32_t> sorter(edits.size());
    for (std::size_t k = 0; k < edits.size(); ++k) sorter.add(edits[k].slot, static_cast<std::uint32_t>(k));
    sorter.sort(interrupt);
    std::vector<Edit> sorted;
    sorted.reserve(edits.size());
    for (std::size_t k = 0; k < edits.size(); ++k) sorted.push_back(edits[sorter.row(k)]);
    return sorted;
  }

  void add_keys(std::vector<std::int64_t>& added) {
    std::sort(added.begin(), added.end());
    added.erase(std::unique(added.begin(), added.end()), added.end());
    std::vector<std::int64_t> keys;
    std::vector<std::uint32_t> numbers;
    keys.reserve(keys_.size() + added.size());
    numbers.reserve(keys_.size() + added.size());
    for (std::size_t i = 0, j = 0; i < keys_.size() || j < added.size();) {
      if (j == added.size() || (i < keys_.size() && keys_[i] < added[j])) {
        keys.push_back(keys_[i]);
        numbers.push_back(numbers_[i++]);
        continue;
      }
      keys.push_back(added[j++]);
      if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
      }
      numbers.push_back(free_.back());
      free_.pop_back();
    }
    keys_ = std::move(keys);
    numbers_ = std::move(numbers);
  }

  // Where keys come and go, those without rows are dropped when they are half of all.
  void forget_empty_trees() {
    constexpr std::size_t kFew = 64;
    const auto empty = static_cast<std::size_t>(
        std::count_if(numbers_.begin(), numbers_.end(), [&](std::uint32_t k) { return slots_[k].rows == 0; }));
    if (empty < kFew || 2 * empty < keys_.size()) return;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      if (slots_[numbers_[k]].rows == 0) {
        free_.push_back(numbers_[k]);
        continue;
      }
      keys_[kept] = keys_[k];
      numbers_[kept++] = numbers_[k];
    }
    keys_.resize(kept);
    numbers_.resize(kept);
  }

  // Changes one tree. Rows that have left a large one are out of it.
  template <class T>
  void change(const BoxView<T>& boxes, const TreeChange& one, TreePacker<T, MedianOrder<T>>& packer, const Work& work) {
    const Group& edits = one.edits;
    Tree& tree = trees_[one.tree];
    const std::size_t moved = edits.count(Edit::kMoved), came = edits.count(Edit::kCame),
                      left = edits.count(Edit::kLeft);
    const bool is_small = tree.rows <= kSmall, are_many = moved + came > tree.rows / kMany;
    if (came + left == 0 && (is_small || are_many)) {
      if (!tree.blocks.is_wide() && refit(tree, boxes, edits)) return;
    } else if (!is_small && !are_many && tree.changes <= one.rows / 2) {
      edit_rows(tree, boxes, edits);
      tree.rows = one.rows;
      tree.changes += moved + came + left;
      return;
    }
    const std::vector<std::int32_t> all = rows_after(edits);
    pack(tree, boxes, all.data(), all.size(), packer, work);
  }

  // Moves rows and refits all blocks; false if the tree has become worse than it was when it was packed. Not of wide
  // trees.
  template <class T>
  bool refit(Tree& tree, const BoxView<T>& boxes, const Group& edits) {
    if (tree.size.area < 0) tree.size = size_of(tree);
    tree.changes += static_cast<std::size_t>(edits.last - edits.first);
    if (tree.changes > kMostRefits * tree.rows) return false;
    const GrownBoxes<T> given{boxes, dimension_};
    LocalBoxes<T> local(given, tree.frame);
    float box[8];
    const auto set_boxes = [&] {
      for (const Edit& edit : edits) {
        const std::uint32_t place = places_[static_cast<std::size_t>(edit.row)];
        local.get(static_cast<std::size_t>(edit.row), box);
        tree.blocks.set_box(block_of(place), lane_of(place), box);
      }
    };
    set_boxes();
    if (tree.frame.exact && local.lossy()) {
      tree.frame.exact = false;
      set_boxes();
    }
    with_edit(tree, [&](auto& edit, auto) { edit.refit([](const auto*) {}); });
    const Size now = size_of(tree), &then = tree.size;
    return now.area <= kWorse * then.area && now.area * kShrunk >= then.area && now.reach <= 2 * then.reach;
  }

  Size size_of(const Tree& tree) const {
    constexpr float kMostExtent = 4;  // or far boxes would hide how the others lie
    Size size{0, 1};
    float box[8];
    for_each_block(tree.blocks, tree.root, [&](std::int32_t block) {
      for_each_lane(tree.blocks.occupied(block) & ~tree.blocks.rows(block), [&](std::size_t lane) {
        tree.blocks.get_box(block, lane, box);
        size.area += static_cast<double>(half_area(box, dimension_, kMostExtent));
      });
    });
    const LocalBounds<float> around = bounds_of<float>(tree.blocks, tree.root);
    for (std::size_t k = 0; k < 2 * dimension_; ++k)
      size.reach = std::max(size.reach, static_cast<double>(std::fabs(around.box[k])));
    return size;
  }

  template <class T>
  void edit_rows(Tree& tree, const BoxView<T>& boxes, const Group& edits) {
    const GrownBoxes<T> given{boxes, dimension_};
    with_edit(tree, [&](auto& one, auto number) {
      LocalBoxes<T> local(given, tree.frame);
      decltype(number) box[8];
      for (const Edit& edit : edits) {
        if (edit.what == Edit::kLeft) continue;
        one.make_room();
        local.get(static_cast<std::size_t>(edit.row), box);
        if (local.lossy()) tree.frame.exact = false, local.get(static_cast<std::size_t>(edit.row), box);
        if (edit.what == Edit::kMoved)
          one.move(edit.row, box);
        else
          one.insert(edit.row, box);
      }
    });
  }

  // use(edit, number): see BvhEdit. Trees in shared memory may only be refitted.
  template <class Use>
  void with_edit(Tree& tree, Use&& use) {
    BlockTree edited{std::move(tree.blocks), tree.root, tree.frame};
    edited.with_numbers([&](auto number) {
      BvhEdit<decltype(number)> edit(edited, places_.get());
      use(edit, number);
    });
    tree.blocks = std::move(edited.blocks);
    tree.root = edited.root;
  }

  // No deeper than kMostLevels.
  template <class Use>
  static void for_each_block(const Blocks& blocks, std::int32_t block, const Use& use) {
    use(block);
    for_each_lane(blocks.occupied(block) & ~blocks.rows(block),
                  [&](std::size_t lane) { for_each_block(blocks, blocks.child(block)[lane], use); });
  }
  template <class Use>
  static void for_each_row(const Blocks& blocks, std::int32_t root, const Use& use) {
    for_each_block(blocks, root, [&](std::int32_t block) {
      for_each_lane(blocks.rows(block), [&](std::size_t lane) { use(blocks.child(block)[lane]); });
    });
  }

  std::size_t dimension_;
  std::vector<std::int64_t> keys_;      // ascending
  std::vector<std::uint32_t> numbers_;  // of the slot of each
  std::vector<std::uint32_t> free_;     // numbers of slots without a key
  std::vector<Slot> slots_;
  std::vector<std::int32_t> few_rows_;
  std::array<std::vector<std::uint32_t>, kFew> free_rooms_;  // among few_rows_: of one row, of two
  std::vector<Tree> trees_;                                  // of more than a few rows
  std::vector<std::uint32_t> free_trees_;
  std::vector<PlainArray<float>> memory_;  // of small trees, as they were built
  std::size_t rows_ = 0;                   // all row numbers are below
  PlainArray<std::uint32_t> places_;       // of each row in its tree
  PlainArray<std::uint32_t> tree_of_;      // of each row; kNoTree: in none
  std::atomic<std::uint64_t> packed_{0};
  std::uint64_t changes_ = 0;
};

}  // namespace broadphase
