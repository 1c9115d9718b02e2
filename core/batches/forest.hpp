// A tree for each batch of rows: queries walk the tree of their key.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/radix_sort.hpp"
#include "batches/rows_by_key.hpp"
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
// O(n log n) time to build; 30 to 50 bytes a row.
class Forest {
 public:
  static constexpr std::uint32_t kNoTree = 0xffffffffu;

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
    return own + words * sizeof(float) + trees_.capacity() * sizeof(Tree) +
           keys_.capacity() * (sizeof(std::int64_t) + sizeof(std::uint32_t)) +
           2 * places_.size() * sizeof(std::uint32_t);
  }
  // How many trees were packed since the first build began.
  std::uint64_t packed_count() const { return packed_; }

  // Replaces all trees by those of `count` rows; keys are by row. After bad_alloc or Interrupted it must be called
  // again before anything else.
  template <class T>
  void build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const std::int64_t* keys,
             const Work& work) {
    memory_.clear();
    trees_.clear();
    keys_.clear();
    numbers_.clear();
    free_.clear();
    rows_ = 0;
    grow(boxes.count);
    std::vector<std::int64_t> of_rows(count);
    for (std::size_t k = 0; k < count; ++k) of_rows[k] = keys[rows[k]];
    const RowsByKey by_key = rows_by_key({count, of_rows.data(), 1}, work.interrupt);
    std::vector<std::int32_t> sorted(count);
    for (std::size_t k = 0; k < count; ++k) sorted[k] = rows[by_key.row(k)];
    trees_.resize(by_key.key_count());
    std::vector<std::size_t> tasks{0};  // of small trees in a row; their ends
    std::size_t rows_of_task = 0;
    for (std::size_t k = 0; k < trees_.size(); ++k) {
      const std::size_t begin = by_key.start[k], end = by_key.start[k + 1];
      keys_.push_back(keys[sorted[begin]]);
      numbers_.push_back(static_cast<std::uint32_t>(k));
      for (std::size_t at = begin; at < end; ++at)
        tree_of_[static_cast<std::size_t>(sorted[at])] = static_cast<std::uint32_t>(k);
      rows_of_task += end - begin;
      if (rows_of_task < kRowsATask && k + 1 < trees_.size()) continue;
      tasks.push_back(k + 1);
      rows_of_task = 0;
    }
    for (std::size_t k = 0; k < trees_.size(); ++k)
      if (is_huge(by_key, k)) {
        TreePacker<T, MedianOrder<T>> packer;
        pack(trees_[k], boxes, &sorted[by_key.start[k]], by_key.start[k + 1] - by_key.start[k], packer, work);
      }
    memory_.resize(tasks.size() - 1);
    for_each_task(memory_.size(), work.workers, work.interrupt, [&](unsigned, std::size_t task) {
      Interrupt never;
      TreePacker<T, MedianOrder<T>> packer;
      std::vector<std::size_t> begins;
      std::size_t used = 0;
      for (std::size_t k = tasks[task]; k < tasks[task + 1]; ++k) {
        begins.push_back(used);
        if (is_huge(by_key, k)) continue;
        Tree& tree = trees_[k];
        const std::size_t count_here = by_key.start[k + 1] - by_key.start[k];
        pack(tree, boxes, &sorted[by_key.start[k]], count_here, packer, {work.kernels, 1, never});
        if (count_here <= kSmall) used = put_into(memory_[task], used, tree.blocks);
      }
      for (std::size_t k = tasks[task]; k < tasks[task + 1]; ++k) {
        Tree& tree = trees_[k];
        if (tree.rows <= kSmall)
          tree.blocks = Blocks(dimension_, tree.blocks.is_wide(), first(memory_[task]) + begins[k - tasks[task]],
                               tree.blocks.limit());
      }
    });
  }

  // Follows a change of these rows, some of which may be given several times: those alive are in the tree of their key
  // then, and others in none. After bad_alloc or Interrupted, build() must be called before anything else.
  template <class T>
  void follow(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const bool* alive,
              const std::int64_t* keys, const Work& work) {
    grow(boxes.count);
    const std::vector<Edit> edits = edits_of(rows, count, alive, keys, boxes.count, work.interrupt);
    // A row may leave one tree and come into another.
    for (const Edit& edit : edits)
      if (edit.what == Edit::kLeft && trees_[edit.tree].rows > kSmall)
        with_edit(trees_[edit.tree], [&](auto& one, auto) { one.remove(edit.row); });
    std::vector<std::size_t> begins;
    for (std::size_t k = 0; k < edits.size(); ++k)
      if (k == 0 || edits[k].tree != edits[k - 1].tree) begins.push_back(k);
    begins.push_back(edits.size());
    const auto edits_at = [&](std::size_t k) { return Group{edits.data() + begins[k], edits.data() + begins[k + 1]}; };
    std::vector<TreePacker<T, MedianOrder<T>>> packers(std::max(1u, work.workers));
    for (std::size_t k = 0; k + 1 < begins.size(); ++k)
      if (trees_[edits[begins[k]].tree].rows > kHuge) change(boxes, edits_at(k), packers[0], work);
    constexpr std::size_t kTogether = 16;
    const std::size_t tasks = (begins.size() - 1 + kTogether - 1) / kTogether;
    // A few are changed sooner than threads are there.
    const unsigned workers = tasks < 4 ? 1 : work.workers;
    for_each_task(tasks, workers, work.interrupt, [&](unsigned worker, std::size_t task) {
      Interrupt never;
      for (std::size_t k = task * kTogether; k < std::min(begins.size() - 1, (task + 1) * kTogether); ++k)
        if (trees_[edits[begins[k]].tree].rows <= kHuge)
          change(boxes, edits_at(k), packers[worker], {work.kernels, 1, never});
    });
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

  // What the tree of a number, or of none, is made of. The blocks are those of this forest, which must outlive them.
  Blocks blocks_of(std::uint32_t number) const {
    if (number == kNoTree) return Blocks(dimension_);
    const Blocks& blocks = trees_[number].blocks;
    return Blocks(dimension_, blocks.is_wide(), const_cast<float*>(blocks.memory()), blocks.limit());
  }
  std::int32_t root_of(std::uint32_t number) const { return number == kNoTree ? kNoBlock : trees_[number].root; }
  LocalFrame frame_of(std::uint32_t number) const { return number == kNoTree ? LocalFrame() : trees_[number].frame; }

 private:
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
  static constexpr std::size_t kLine = 16;  // floats on a cache line

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
  struct Edit {
    enum What : std::uint8_t { kMoved, kCame, kLeft };
    std::uint32_t tree;
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

  static bool is_huge(const RowsByKey& by_key, std::size_t k) { return by_key.start[k + 1] - by_key.start[k] > kHuge; }

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
      ascending = ascending && (edits.empty() || edits.back().tree <= tree);
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
    for (std::size_t k = 0; k < edits.size(); ++k) sorter.add(edits[k].tree, static_cast<std::uint32_t>(k));
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
        free_.push_back(static_cast<std::uint32_t>(trees_.size()));
        trees_.emplace_back();
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
        std::count_if(numbers_.begin(), numbers_.end(), [&](std::uint32_t k) { return trees_[k].rows == 0; }));
    if (empty < kFew || 2 * empty < keys_.size()) return;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      if (trees_[numbers_[k]].rows == 0) {
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
  void change(const BoxView<T>& boxes, const Group& edits, TreePacker<T, MedianOrder<T>>& packer, const Work& work) {
    const std::uint32_t number = edits.first->tree;
    Tree& tree = trees_[number];
    const std::size_t moved = edits.count(Edit::kMoved), came = edits.count(Edit::kCame),
                      left = edits.count(Edit::kLeft), rows = tree.rows + came - left;
    const bool is_small = tree.rows <= kSmall, are_many = moved + came > tree.rows / kMany;
    if (rows == 0) {
      tree.blocks = Blocks(dimension_);
      tree.root = kNoBlock;
      tree.rows = 0;
      return;
    }
    if (came + left == 0 && (is_small || are_many)) {
      if (!tree.blocks.is_wide() && refit(tree, boxes, edits)) return;
    } else if (!is_small && !are_many && tree.changes <= rows / 2) {
      edit_rows(tree, boxes, edits);
      tree.rows = static_cast<std::uint32_t>(rows);
      tree.changes += moved + came + left;
      return;
    }
    std::vector<std::int32_t> all;
    all.reserve(rows);
    if (tree.root != kNoBlock)
      for_each_row(tree.blocks, tree.root, [&](std::int32_t row) {
        if (tree_of_[static_cast<std::size_t>(row)] == number) all.push_back(row);
      });
    for (const Edit& edit : edits)
      if (edit.what == Edit::kCame) all.push_back(edit.row);
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
  std::vector<std::uint32_t> numbers_;  // of the tree of each
  std::vector<std::uint32_t> free_;     // numbers of trees without a key
  std::vector<Tree> trees_;
  std::vector<PlainArray<float>> memory_;  // of small trees, as they were built
  std::size_t rows_ = 0;                   // all row numbers are below
  PlainArray<std::uint32_t> places_;       // of each row in its tree
  PlainArray<std::uint32_t> tree_of_;      // of each row; kNoTree: in none
  std::atomic<std::uint64_t> packed_{0};
};

}  // namespace broadphase
