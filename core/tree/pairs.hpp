// The pairs of a tree of blocks with itself or with another tree of the same frame.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory.hpp"
#include "base/read_ahead.hpp"
#include "query/method.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// Number of rows below each block, including continued blocks, and the depth of the tree.
struct BlockCounts {
  std::vector<std::uint32_t> rows;
  std::size_t depth = 0;

  explicit BlockCounts(const BlockTree& tree) : rows(tree.blocks.limit(), 0) {
    if (tree.root != kNoBlock) count(tree.blocks, tree.root, 1);
  }

 private:
  // No deeper than kMostLevels.
  std::uint32_t count(const Blocks& blocks, std::int32_t block, std::size_t level) {
    depth = std::max(depth, level);
    std::uint32_t sum = 0;
    const auto occupied = static_cast<std::uint32_t>(blocks.occupied(block));
    const auto own = occupied & static_cast<std::uint32_t>(blocks.rows(block));
    sum += static_cast<std::uint32_t>(std::popcount(own));
    for (std::uint32_t inner = occupied ^ own; inner != 0; inner &= inner - 1)
      sum += count(blocks, blocks.child(block)[std::countr_zero(inner)], level + 1);
    if (blocks.next(block) != kNoBlock) sum += count(blocks, blocks.next(block), level + 1);
    return rows[static_cast<std::size_t>(block)] = sum;
  }
};

// Keeps the pairs whose exact boxes overlap.
template <class T>
struct KeepOverlaps {
  const Problem<T>& problem;
  bool certain;  // the test on the trees' float boxes is exact already
  static constexpr bool kTestsBoxes = true;

  std::size_t operator()(std::int32_t* first, std::int32_t* second, std::size_t count) const {
    constexpr std::size_t kAhead = 8;
    const BoxView<T>&a = problem.first, &b = problem.cross ? problem.second : problem.first;
    const auto ahead = [](const BoxView<T>& boxes, std::int32_t row) {
      read_ahead(boxes.lower_of(static_cast<std::size_t>(row)));
      read_ahead(boxes.upper_of(static_cast<std::size_t>(row)));
    };
    std::size_t kept = 0;
    for (std::size_t k = 0; k < count; ++k) {
      if (k + kAhead < count) {
        ahead(a, first[k + kAhead]);
        ahead(b, second[k + kAhead]);
      }
      const std::int32_t i = first[k], j = second[k];
      first[kept] = i;
      second[kept] = j;
      kept += static_cast<std::size_t>(overlaps(problem, i, j));
    }
    return kept;
  }
};

// The pairs of a tree with itself or with another one; satisfies Method. Lanes contain the boxes including their
// margin. `keep` gets the candidates in batches and returns how many are pairs, unless `keep.certain`; where it tests
// the boxes themselves, kTestsBoxes, only those that may be none. Blocks are tested against blocks from the roots down,
// 64 tests at a time; a pair of disjoint blocks is not descended into.
template <class Keep>
class TreePairs {
 public:
  struct Scratch {
    PlainArray<BlockPair> stack;
  };

  // Within one tree.
  TreePairs(const BlockTree& tree, const Keep& keep, const Kernels& kernels)
      : TreePairs(tree, tree, true, false, keep, kernels) {}
  // Between two trees. `swapped`: the first tree holds the second set of rows. `one_task`: there are so few pairs that
  // counting rows to split tasks takes longer than finding the pairs.
  TreePairs(const BlockTree& first, const BlockTree& second, bool swapped, const Keep& keep, const Kernels& kernels,
            bool one_task = false)
      : TreePairs(first, second, false, swapped, keep, kernels, one_task) {}

  std::size_t task_count() const { return task_begin_.size() - 1; }
  std::uint64_t tests() const { return tests_.load(std::memory_order_relaxed); }

  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const;

 private:
  TreePairs(const BlockTree& first, const BlockTree& second, bool one, bool swapped, const Keep& keep,
            const Kernels& kernels, bool one_task = false)
      : first_(first),
        second_(second),
        keep_(keep),
        one_(one),
        swapped_(swapped),
        step_((first.is_wide() ? kernels.trees->doubles : kernels.trees->floats).pair_blocks[first.dimension() - 1]) {
    stack_size_ = (2 * kMostLevels + 1) * kPairsAStep;
    const bool any = first.root != kNoBlock && second.root != kNoBlock;
    if (any && one_task) {
      entries_.push_back(roots());
      task_begin_.push_back(0);
    } else if (any) {
      const BlockCounts counts(first);
      std::optional<BlockCounts> other;
      if (!one) other.emplace(second);
      const BlockCounts* both[2] = {&counts, one ? &counts : &*other};
      stack_size_ = (both[0]->depth + both[1]->depth + 1) * kPairsAStep;
      make_tasks(both);
    }
    task_begin_.push_back(entries_.size());
  }

  BlockPair roots() const {
    return {first_.root, second_.root, BlockPair::kAllLanes, one_ ? BlockPair::kSelf : std::uint16_t{0}};
  }

  PairWalk start(BlockPair* stack) const {
    PairWalk walk;
    walk.memory[0] = first_.blocks.memory();
    walk.memory[1] = second_.blocks.memory();
    walk.one_tree = one_;
    walk.stack = stack;
    return walk;
  }

  // Descends from the roots until no entry has more candidates than a task may have; small entries share a task.
  void make_tasks(const BlockCounts* const* counts);

  const BlockTree& tree_of_a(const BlockPair& entry) const {
    return (entry.flags & BlockPair::kSwapped) != 0 ? second_ : first_;
  }
  const BlockTree& tree_of_b(const BlockPair& entry) const {
    return (entry.flags & BlockPair::kSwapped) != 0 ? first_ : second_;
  }
  bool has_rows(const BlockPair& entry) const {
    return tree_of_a(entry).blocks.rows(entry.a) != 0 && tree_of_b(entry).blocks.rows(entry.b) != 0;
  }
  // Not for rows against a chain of continued blocks: each step would only remove eight rows.
  bool worth_a_step(const BlockPair& entry) const {
    const Blocks& blocks = tree_of_a(entry).blocks;
    const bool only_rows = (blocks.occupied(entry.a) & entry.lanes & ~blocks.rows(entry.a)) == 0;
    return (entry.flags & BlockPair::kAlone) == 0 || !only_rows || tree_of_b(entry).blocks.next(entry.b) == kNoBlock;
  }
  std::uint64_t candidates_of(const BlockPair& entry, const BlockCounts* const* counts) const {
    if ((entry.flags & BlockPair::kRowsOnly) != 0) return kHitsAStep;
    const bool swapped = (entry.flags & BlockPair::kSwapped) != 0;
    const std::uint64_t a = counts[swapped]->rows[static_cast<std::size_t>(entry.a)];
    const std::uint64_t b = counts[!swapped]->rows[static_cast<std::size_t>(entry.b)];
    if ((entry.flags & BlockPair::kSelf) != 0) return a * (a - 1) / 2;
    return (entry.flags & BlockPair::kAlone) != 0 && entry.lanes != BlockPair::kAllLanes
               ? std::min<std::uint64_t>(a, kLanes) * b
               : a * b;
  }

  const BlockTree &first_, &second_;
  Keep keep_;
  bool one_, swapped_;
  bool (*step_)(PairWalk&);
  std::size_t stack_size_ = 0;
  std::vector<BlockPair> entries_;
  std::vector<std::size_t> task_begin_;
  mutable std::atomic<std::uint64_t> tests_{0};
};

template <class Keep>
void TreePairs<Keep>::run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
  const std::size_t begin = task_begin_[task], count = task_begin_[task + 1] - begin;
  scratch.stack.grow(stack_size_ + count);
  PairWalk walk = start(scratch.stack.get());
  std::copy_n(entries_.begin() + static_cast<std::ptrdiff_t>(begin), count, walk.stack);
  walk.depth = count;
  if constexpr (Keep::kTestsBoxes) {
    // Not of boxes of one axis: along their second one, none has an interior.
    walk.split = !keep_.certain && !first_.is_wide() && first_.dimension() > 1;
    walk.open = !keep_.problem.touching;
  }
  walk.counting = out.counts_only() && (keep_.certain || walk.split);
  bool more = true;
  while (more) {
    constexpr std::size_t kRoom = 4096;
    out.room(kRoom);
    walk.first = swapped_ ? out.second() : out.first();
    walk.second = swapped_ ? out.first() : out.second();
    walk.room = kRoom;
    walk.found = walk.doubts = 0;
    more = step_(walk);
    if (!keep_.certain && !walk.split) walk.found = keep_(out.first(), out.second(), walk.found);
    if (walk.doubts > 0) {
      std::int32_t *first = out.first() + kRoom - walk.doubts, *second = out.second() + kRoom - walk.doubts;
      const std::size_t kept = keep_(first, second, walk.doubts);
      std::copy_n(first, kept, out.first() + walk.found);
      std::copy_n(second, kept, out.second() + walk.found);
      walk.found += kept;
    }
    out.commit(walk.found);
  }
  out.add_count(walk.count);
  tests_.fetch_add(walk.tests, std::memory_order_relaxed);
}

template <class Keep>
void TreePairs<Keep>::make_tasks(const BlockCounts* const* counts) {
  std::vector<BlockPair> open = {roots()};
  std::vector<BlockPair> below(kPairsAStep);
  std::uint64_t sum = kTaskCandidates;
  while (!open.empty()) {
    BlockPair entry = open.back();
    open.pop_back();
    const std::uint64_t candidates = candidates_of(entry, counts);
    if (candidates > kTaskCandidates && worth_a_step(entry)) {
      PairWalk walk = start(below.data());
      walk.room = kHitsAStep;
      walk.expanding = true;
      walk.stack[walk.depth++] = entry;
      step_(walk);
      open.insert(open.end(), below.begin(), below.begin() + static_cast<std::ptrdiff_t>(walk.depth));
      tests_.fetch_add(walk.tests, std::memory_order_relaxed);
      if (!has_rows(entry)) continue;
      entry.flags |= BlockPair::kRowsOnly;
      open.push_back(entry);
      continue;
    }
    if (sum + candidates > kTaskCandidates) {
      task_begin_.push_back(entries_.size());
      sum = 0;
    }
    sum += candidates;
    entries_.push_back(entry);
  }
}

// Compiled once: bvh/bvh.cpp.
extern template class TreePairs<KeepOverlaps<float>>;
extern template class TreePairs<KeepOverlaps<double>>;

}  // namespace broadphase
