// Trees of the rows that layers and masks let queries find: where few rows match, queries walk these alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "batches/trees_on_demand.hpp"
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

// Which rows a filter lets a query find.
class AllowedRows {
 public:
  AllowedRows(const QueryFilter& filter, std::size_t query, std::size_t row_count)
      : by_layers_(filter.without_ignored()), query_(query), is_ignored_(filter.ignored_count > 0 ? row_count : 0) {
    for (std::size_t k = 0; k < filter.ignored_count; ++k)
      if (const std::int32_t row = filter.ignored_by(query)[k]; row >= 0)
        is_ignored_[static_cast<std::size_t>(row)] = true;
  }
  bool has(std::int32_t row) const {
    const auto at = static_cast<std::size_t>(row);
    return by_layers_.allows(at, query_) && (is_ignored_.empty() || !is_ignored_[at]);
  }

 private:
  QueryFilter by_layers_;
  std::size_t query_;
  std::vector<bool> is_ignored_;
};

// The rows of a tree that a filter lets a query find, packed in a tree of their own; null where they are so many that
// this would hardly be faster to walk. O(rows of the tree). Throws bad_alloc.
MatchingTree tree_of_matching(const BlockTree& tree, const AnyBoxes& boxes, const QueryFilter& filter,
                              std::size_t query, const Kernels& kernels);

// The rows in a block, and all rows of a tree in no order; and a tree packed of some of its rows.
std::vector<std::int32_t> rows_in(const Blocks& blocks, std::int32_t block);
std::vector<std::int32_t> rows_of(const BlockTree& tree);
void pack_rows(const std::vector<std::int32_t>& rows, const AnyBoxes& boxes, const Kernels& kernels, BlockTree& tree);

// A layer and a mask of queries, and those of the rows: one for all, or where they are.
struct LayerMatch {
  std::uint64_t layer, mask, row_layer, row_mask;

  static LayerMatch of(const QueryFilter& filter, std::size_t query) {
    if (!filter.has_layers()) return {0, 0, 0, 0};
    const auto of_rows = [](const std::uint64_t* words, std::size_t step) {
      return step == 0 ? *words : std::uint64_t{reinterpret_cast<std::uintptr_t>(words)};
    };
    return {filter.query_layer[query], filter.query_mask[query], of_rows(filter.row_layer, filter.row_layer_step),
            of_rows(filter.row_mask, filter.row_mask_step)};
  }
  bool operator==(const LayerMatch&) const = default;
};

// What such trees there are for the layers and masks of queries, each of one version of the rows: see QueryFilter.
// Queries lose the rows that they reject.
class MatchingTrees : public TreesOnDemand<LayerMatch, BlockTree> {
 public:
  static std::uint64_t enough(std::size_t rows) { return rows / 2; }
};

}  // namespace broadphase
