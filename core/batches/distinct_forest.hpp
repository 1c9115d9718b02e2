// A forest of rows that differ: where batches have many exact copies of a few bodies or boxes, queries with keys test
// one of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/samples.hpp"
#include "batches/distinct_trees.hpp"
#include "batches/forest.hpp"
#include "batches/trees_on_demand.hpp"
#include "boxes/any_boxes.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

// The lowest of the rows of each tree of a forest that are copies of each other, and which those are.
struct DistinctForest {
  Forest forest;
  std::vector<std::uint32_t> tree_of;   // by the number of a tree of the other one; kNoTree: it has no rows
  std::vector<std::int32_t> next_copy;  // see DistinctTree

  std::uint32_t number_of(std::uint32_t tree) const {
    return tree == Forest::kNoTree ? Forest::kNoTree : tree_of[tree];
  }
  std::size_t bytes() const {
    return forest.bytes() + tree_of.capacity() * sizeof(std::uint32_t) + next_copy.capacity() * sizeof(std::int32_t);
  }
};

struct AllRows {
  bool operator==(const AllRows&) const = default;
};
using DistinctForests = TreesOnDemand<AllRows, DistinctForest>;

// A forest, and what is made of it for its queries.
struct SearchedForest : Forest {
  using Forest::Forest;

  DistinctForests distinct;        // of bodies
  DistinctForests distinct_boxes;  // of its version: how often the trees have changed

  std::size_t all_bytes() const { return bytes() + distinct.bytes() + distinct_boxes.bytes(); }
};

// How queries come to a forest of rows that differ.
struct SearchForestForCopies {
  const DistinctForests& forests;
  WhenCopies when;
  std::function<std::shared_ptr<const DistinctForest>()> make;

  DistinctForests::State get() const { return when.get(forests, AllRows{}, make); }
  DistinctForests::State add_lost(std::uint64_t lost, bool is_last) const {
    return when.add_lost(forests, AllRows{}, lost, is_last, make);
  }
};

// As tree_of_distinct(); copies are of one tree.
template <class Kinds>
std::shared_ptr<const DistinctForest> forest_of_distinct(const Forest& forest, const AnyBoxes& boxes,
                                                         const Kinds& kinds, const Kernels& kernels) {
  constexpr std::size_t kSample = 16;
  struct InTrees {
    const Forest& forest;
    const Kinds& kinds;
    bool are_alike(std::int32_t a, std::int32_t b) const {
      return forest.number_of(a) == forest.number_of(b) && kinds.are_alike(a, b);
    }
    std::uint64_t hash(std::int32_t row) const { return detail::hashed(kinds.hash(row) + forest.number_of(row)); }
  };
  const InTrees in_trees{forest, kinds};
  CopySample<InTrees> copies;
  forest.for_some_blocks(kSample, [&](const Blocks& blocks, std::int32_t block) {
    copies.add(blocks, block, boxes.count(), in_trees, [&](std::int32_t row) { return forest.has(row); });
  });
  if (copies.are_few()) return nullptr;
  std::vector<std::int64_t> numbers(boxes.count());
  std::size_t count = 0;
  for (std::size_t row = 0; row < boxes.count(); ++row) {
    numbers[row] = forest.number_of(static_cast<std::int32_t>(row));
    count += forest.has(static_cast<std::int32_t>(row)) ? 1 : 0;
  }
  const std::shared_ptr<DistinctForest> made(new DistinctForest{Forest(forest.dimension()), {}, {}});
  std::vector<std::int32_t> lowest;
  if (!link_copies(
          boxes.count(), count, in_trees, [&](std::int32_t row) { return forest.has(row); }, lowest, made->next_copy))
    return nullptr;
  Interrupt never;
  boxes.use([&]<class T>(const BoxView<T>& given) {
    made->forest.build(given, lowest.data(), lowest.size(), numbers.data(), {kernels, 1, never});
  });
  made->tree_of.resize(forest.number_limit());
  std::size_t position = 0;
  for (std::size_t k = 0; k < made->tree_of.size(); ++k)
    made->tree_of[k] = made->forest.find(static_cast<std::int64_t>(k), position);
  return made;
}

}  // namespace broadphase
