// Trees of rows that differ: where a scene has many exact copies of a few bodies or boxes, queries test one of each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/samples.hpp"
#include "batches/matching_trees.hpp"
#include "batches/trees_on_demand.hpp"
#include "boxes/any_boxes.hpp"
#include "simd/kernels.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// The lowest of the rows that are copies of each other, and which those are.
struct DistinctTree {
  BlockTree tree;
  std::vector<std::int32_t> next_copy;  // by row: the next higher one that is a copy of it; -1: there is none

  std::size_t bytes() const { return tree.blocks.bytes() + next_copy.capacity() * sizeof(std::int32_t); }
};

struct AllRows {
  bool operator==(const AllRows&) const = default;
};

// That of one version of the rows. Queries lose the rows that they visit besides the usual ones.
class DistinctTrees : public TreesOnDemand<AllRows, DistinctTree> {
 public:
  // So many rows a query visits where there are no copies; where more, one look at a few blocks says why.
  static constexpr std::uint64_t kUsual = 32;
  static std::uint64_t lost(std::uint64_t visited) { return visited > kUsual ? visited - kUsual : 0; }
};

// How a query comes to the tree of rows that differ.
struct SearchForCopies {
  const DistinctTrees& trees;
  std::uint64_t version, enough;  // see TreesOnDemand
  bool is_made_again;             // for the next version, at once
  std::function<std::shared_ptr<const DistinctTree>()> make;

  DistinctTrees::State get() const {
    const DistinctTrees::State again = is_made_again ? trees.get({}, version, make) : DistinctTrees::State();
    return again.is_decided ? again : trees.get({}, version, enough, make);
  }
  DistinctTrees::State add_lost(std::uint64_t lost, bool is_last = false) const {
    return trees.add_lost({}, version, lost, is_last ? std::numeric_limits<std::uint64_t>::max() : enough, make);
  }
};

// Which boxes are equal, for tree_of_distinct().
class EqualBoxes {
 public:
  explicit EqualBoxes(const AnyBoxes& boxes) : boxes_(boxes) {}

  bool are_alike(std::int32_t a, std::int32_t b) const {
    double one[8], other[8];
    boxes_.read(static_cast<std::size_t>(a), one);
    boxes_.read(static_cast<std::size_t>(b), other);
    return std::memcmp(one, other, 2 * boxes_.dimension() * sizeof(double)) == 0;
  }
  std::uint64_t hash(std::int32_t row) const {
    double box[8];
    boxes_.read(static_cast<std::size_t>(row), box);
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k < 2 * boxes_.dimension(); ++k)
      hash = (std::rotl(hash, 23) ^ std::bit_cast<std::uint64_t>(box[k])) * detail::kGoldenRatio;
    return detail::hashed(hash);
  }

 private:
  const AnyBoxes& boxes_;
};

// Null where fewer than half of the rows are copies of others. `kinds` has hash(row) and are_alike(row, row): whether
// all queries find the same of both. O(rows of the tree); only a look at a few blocks where there are hardly any
// copies, which lie side by side. Throws bad_alloc.
template <class Kinds>
std::shared_ptr<const DistinctTree> tree_of_distinct(const BlockTree& tree, const AnyBoxes& boxes, const Kinds& kinds,
                                                     const Kernels& kernels) {
  constexpr std::size_t kSample = 16;
  if (tree.root == kNoBlock) return nullptr;
  const StratifiedSample sample(tree.blocks.limit(), kSample);
  std::size_t alike = 0, compared = 0;
  for (std::size_t at = 0; at < sample.size(); ++at) {
    std::vector<std::int32_t> rows = rows_in(tree.blocks, static_cast<std::int32_t>(sample[at]));
    // A block that is not in use may hold anything.
    std::erase_if(rows, [&](std::int32_t row) { return row < 0 || static_cast<std::size_t>(row) >= boxes.count(); });
    for (std::size_t k = 1; k < rows.size(); ++k, ++compared) alike += kinds.are_alike(rows[k - 1], rows[k]) ? 1 : 0;
  }
  if (2 * alike < compared) return nullptr;
  const std::vector<std::int32_t> rows = rows_of(tree);
  std::vector<std::uint8_t> is_in_tree(boxes.count());
  for (const std::int32_t row : rows) is_in_tree[static_cast<std::size_t>(row)] = 1;
  const std::shared_ptr<DistinctTree> made(new DistinctTree{{Blocks(tree.dimension()), kNoBlock, {}}, {}});
  std::vector<std::int32_t>& next = made->next_copy;
  next.assign(boxes.count(), -1);
  std::vector<std::int32_t> lowest, last(boxes.count()), table(std::bit_ceil(2 * rows.size()), -1);
  for (std::int32_t row = 0; static_cast<std::size_t>(row) < is_in_tree.size(); ++row) {
    if (is_in_tree[static_cast<std::size_t>(row)] == 0) continue;
    std::size_t place = kinds.hash(row) & (table.size() - 1);
    while (table[place] >= 0 && !kinds.are_alike(table[place], row)) place = (place + 1) & (table.size() - 1);
    std::int32_t& first = table[place];
    if (first < 0) {
      first = row;
      lowest.push_back(row);
      if (2 * lowest.size() > rows.size()) return nullptr;
    } else {
      next[static_cast<std::size_t>(last[static_cast<std::size_t>(first)])] = row;
    }
    last[static_cast<std::size_t>(first)] = row;
  }
  pack_rows(lowest, boxes, kernels, made->tree);
  return made;
}

}  // namespace broadphase
