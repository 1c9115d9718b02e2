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

// Those of the rows that layers and masks let queries find, each of one version of the rows; without layers, of all.
// Queries lose the rows that they visit besides the usual ones.
class DistinctTrees : public TreesOnDemand<LayerMatch, DistinctTree> {
 public:
  // Hardly more rows a query visits where boxes are sparse; where more, a look at a few blocks says whether these are
  // copies.
  static constexpr std::uint64_t kUsual = 8;
  static std::uint64_t lost(std::uint64_t visited) { return visited > kUsual ? visited - kUsual : 0; }
};

// When a tree of rows that differ is made: see TreesOnDemand.
struct WhenCopies {
  std::uint64_t version, enough;
  bool is_made_again;  // for the next version, at once

  template <class Trees, class Key, class Make>
  typename Trees::State get(const Trees& trees, const Key& key, const Make& make) const {
    const typename Trees::State again = is_made_again ? trees.get(key, version, make) : typename Trees::State();
    return again.is_decided ? again : trees.get(key, version, enough, make);
  }
  // The `last` of a call decides nothing: the next one may not come.
  template <class Trees, class Key, class Make>
  typename Trees::State add_lost(const Trees& trees, const Key& key, std::uint64_t lost, bool is_last,
                                 const Make& make) const {
    return trees.add_lost(key, version, lost, is_last ? std::numeric_limits<std::uint64_t>::max() : enough, make);
  }
};

// How queries come to a tree of rows that differ.
struct SearchForCopies {
  const DistinctTrees& trees;
  WhenCopies when;  // the version is that of the rows; with layers, that of the filter counts
  // Of the rows of a tree that a filter lets a query find.
  std::function<std::shared_ptr<const DistinctTree>(const BlockTree&, const QueryFilter&, std::size_t)> make;

  WhenCopies when_by(const QueryFilter& filter) const {
    return filter.has_layers() ? WhenCopies{filter.version, when.enough, when.is_made_again} : when;
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

// Looks at a few rows that lie side by side, as copies do: whether most are.
template <class Kinds>
class CopySample {
 public:
  // `is_in(row)`: whether it counts. A block that is not in use may hold anything.
  template <class IsIn>
  void add(const Blocks& blocks, std::int32_t block, std::size_t row_count, const Kinds& kinds, const IsIn& is_in) {
    std::int32_t last = -1;
    for (const std::int32_t row : rows_in(blocks, block)) {
      if (row < 0 || static_cast<std::size_t>(row) >= row_count || !is_in(row)) continue;
      if (last >= 0) {
        ++compared_;
        alike_ += kinds.are_alike(last, row) ? 1 : 0;
      }
      last = row;
    }
  }
  bool are_few() const { return 2 * alike_ < compared_; }

 private:
  std::size_t alike_ = 0, compared_ = 0;
};

// Of the rows for which is_in(row), `count` of `row_count`: the lowest of each kind, and of each row the next higher
// one that is a copy of it. False where fewer than half of them are copies of others.
template <class Kinds, class IsIn>
bool link_copies(std::size_t row_count, std::size_t count, const Kinds& kinds, const IsIn& is_in,
                 std::vector<std::int32_t>& lowest, std::vector<std::int32_t>& next) {
  next.assign(row_count, -1);
  std::vector<std::int32_t> last(row_count), table(std::bit_ceil(2 * count + 1), -1);
  for (std::int32_t row = 0; static_cast<std::size_t>(row) < row_count; ++row) {
    if (!is_in(row)) continue;
    std::size_t place = kinds.hash(row) & (table.size() - 1);
    while (table[place] >= 0 && !kinds.are_alike(table[place], row)) place = (place + 1) & (table.size() - 1);
    std::int32_t& first = table[place];
    if (first < 0) {
      first = row;
      lowest.push_back(row);
      if (2 * lowest.size() > count) return false;
    } else {
      next[static_cast<std::size_t>(last[static_cast<std::size_t>(first)])] = row;
    }
    last[static_cast<std::size_t>(first)] = row;
  }
  return true;
}

// Of the rows that a filter lets a query find. Null where fewer than half of these are copies of others. `kinds` has
// hash(row) and are_alike(row, row): whether all queries find the same of both. O(rows of the tree); only a look at a
// few blocks where there are hardly any copies. Throws bad_alloc.
template <class Kinds>
std::shared_ptr<const DistinctTree> tree_of_distinct(const BlockTree& tree, const AnyBoxes& boxes, const Kinds& kinds,
                                                     const Kernels& kernels, const QueryFilter& filter = {},
                                                     std::size_t query = 0) {
  constexpr std::size_t kSample = 16;
  if (tree.root == kNoBlock) return nullptr;
  const AllowedRows allowed(filter, query, boxes.count());
  CopySample<Kinds> copies;
  const StratifiedSample sample(tree.blocks.limit(), kSample);
  for (std::size_t at = 0; at < sample.size(); ++at)
    copies.add(tree.blocks, static_cast<std::int32_t>(sample[at]), boxes.count(), kinds,
               [&](std::int32_t row) { return allowed.has(row); });
  if (copies.are_few()) return nullptr;
  std::vector<std::uint8_t> is_in(boxes.count());
  std::size_t count = 0;
  for (const std::int32_t row : rows_of(tree))
    if (allowed.has(row)) {
      is_in[static_cast<std::size_t>(row)] = 1;
      ++count;
    }
  const std::shared_ptr<DistinctTree> made(new DistinctTree{{Blocks(tree.dimension()), kNoBlock, {}}, {}});
  std::vector<std::int32_t> lowest;
  if (!link_copies(
          boxes.count(), count, kinds, [&](std::int32_t row) { return is_in[static_cast<std::size_t>(row)] != 0; },
          lowest, made->next_copy))
    return nullptr;
  pack_rows(lowest, boxes, kernels, made->tree);
  return made;
}

}  // namespace broadphase
