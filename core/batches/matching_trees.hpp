// Trees of the rows that layers and masks let queries find: where few rows match, queries walk these alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/forks.hpp"
#include "boxes/any_boxes.hpp"
#include "query/queries.hpp"
#include "simd/kernels.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

using MatchingTree = std::shared_ptr<const BlockTree>;

// Whether there are blocks that a walk may leave out; not in the chain of blocks of BruteForce, or in a single one.
inline bool has_inner_blocks(const BlockTree& tree) {
  return tree.root != kNoBlock && tree.blocks.rows(tree.root) != tree.blocks.occupied(tree.root);
}

// The rows of a tree that a filter lets a query find, packed in a tree of their own; null where they are so many that
// this would hardly be faster to walk. O(rows of the tree). Throws bad_alloc.
MatchingTree tree_of_matching(const BlockTree& tree, const AnyBoxes& boxes, const QueryFilter& filter,
                              std::size_t query, const Kernels& kernels);

// What such trees there are for the layers and masks of queries, each of one version of the rows: see QueryFilter.
//
// A tree is packed when queries have rejected half as many rows as there are, which takes about as long: whether many
// more follow or none, they take no more than twice as long as with what turns out to be the better way.
class MatchingTrees {
 public:
  // A layer and a mask of queries, and those of the rows: one for all, or where they are.
  struct Match {
    std::uint64_t layer, mask, row_layer, row_mask;

    static Match of(const QueryFilter& filter, std::size_t query) {
      if (!filter.has_layers()) return {0, 0, 0, 0};
      const auto of_rows = [](const std::uint64_t* words, std::size_t step) {
        return step == 0 ? *words : std::uint64_t{reinterpret_cast<std::uintptr_t>(words)};
      };
      return {filter.query_layer[query], filter.query_mask[query], of_rows(filter.row_layer, filter.row_layer_step),
              of_rows(filter.row_mask, filter.row_mask_step)};
    }
    bool operator==(const Match&) const = default;
  };
  struct State {
    MatchingTree tree;        // null: not known, or many match
    bool is_decided = false;  // there is a tree, or there will be none
  };

  static std::uint64_t enough(std::size_t rows) { return rows / 2; }

  // What is known of a match in a version. Where the one before had a tree, make() returns that of this one: a world
  // that moves is asked alike in each step.
  template <class Make>
  State get(const Match& match, std::uint64_t version, const Make& make) const {
    const std::lock_guard<ForkedMutex> lock(mutex_);
    Kept* kept = find(match);
    if (kept == nullptr) return {};
    const bool is_due = kept->version != version && kept->state.tree != nullptr;
    take_up(*kept, version);
    if (is_due) kept->state = {make(), true};
    return kept->state;
  }
  // Adds rows that queries have rejected. If these are `enough` by now, the tree is what make() returns.
  template <class Make>
  State add_rejected(const Match& match, std::uint64_t version, std::uint64_t rejected, std::uint64_t enough,
                     const Make& make) const {
    const std::lock_guard<ForkedMutex> lock(mutex_);
    Kept* kept = find(match);
    if (kept == nullptr) {
      if (kept_.size() == kMost) kept_.erase(kept_.begin());
      kept = &kept_.emplace_back(Kept{match, version});
    }
    take_up(*kept, version);
    kept->rejected += rejected;
    if (!kept->state.is_decided && kept->rejected >= enough) kept->state = {make(), true};
    return kept->state;
  }
  std::size_t bytes() const {
    const std::lock_guard<ForkedMutex> lock(mutex_);
    std::size_t sum = 0;
    for (const Kept& kept : kept_) sum += kept.state.tree != nullptr ? kept.state.tree->blocks.bytes() : 0;
    return sum;
  }

 private:
  static constexpr std::size_t kMost = 8;  // the oldest goes first: scenes have few combinations of layers
  struct Kept {
    Match match;
    std::uint64_t version;
    State state{};
    std::uint64_t rejected = 0;
  };

  Kept* find(const Match& match) const {
    for (Kept& kept : kept_)
      if (kept.match == match) return &kept;
    return nullptr;
  }
  static void take_up(Kept& kept, std::uint64_t version) {
    if (kept.version != version) kept = {kept.match, version};
  }

  mutable ForkedMutex mutex_;
  mutable std::vector<Kept> kept_;
  // Another thread may have been changing them when the process was forked.
  AtFork at_fork_{[](void* trees) { ::new (&static_cast<MatchingTrees*>(trees)->kept_) std::vector<Kept>(); }, this};
};

}  // namespace broadphase
