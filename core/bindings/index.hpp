// What the bindings of the indexes share: the base class of indexes on a tree of blocks, and pairs() and count().
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "batches/distinct_trees.hpp"
#include "batches/matching_trees.hpp"
#include "bindings.hpp"
#include "filters.hpp"
#include "query/collect.hpp"
#include "tree/blocks.hpp"
#include "tree/pairs.hpp"

namespace broadphase {
struct SearchedForest;
}

namespace broadphase::python {

// The base of every index on a tree of blocks. Queries are functions over it (tree_queries.cpp), written once.
struct BlockIndex {
  BlockTree tree;
  // Where it has a root, queries walk this tree of the same rows instead: see PendingOctree.
  BlockTree packed;

  // Where queries have keys: the tree of each. Then the tree above is empty.
  const SearchedForest* forest = nullptr;
  const std::uint32_t* tree_of = nullptr;

  // Of rows of the tree above.
  MatchingTrees matching;
  DistinctTrees distinct;        // of bodies
  DistinctTrees distinct_boxes;  // without layers, of its version: how often the trees above have changed

  const BlockTree& walked() const { return packed.root != kNoBlock ? packed : tree; }
  // To be used while the boxes of the rows are there. Indexes that change between a few queries are asked as they
  // are.
  SearchForCopies search_for_equal(const AnyBoxes& boxes) const {
    const std::uint64_t version = tree.exact_bounds.changes() + packed.exact_bounds.changes();
    return {distinct_boxes,
            {version, boxes.count() / 4, false},
            [&boxes](const BlockTree& of, const QueryFilter& filter, std::size_t query) {
              return tree_of_distinct(of, boxes, EqualBoxes(boxes), chosen_kernels(), filter, query);
            }};
  }
};

// Moves rows of a Bvh, an object of Python, to where these boxes are.
void update_bvh(nb::handle index, const BoxView<double>& boxes, const std::vector<std::int32_t>& rows,
                unsigned workers);

// The arguments of a search for pairs.
struct PairSearch {
  bool touching;
  const Filter* filter;  // may be null
  unsigned workers;
  Interrupt& interrupt;
};

// Calls use(method) with the method of the pairs of a tree's boxes.
template <class T, class Use>
void use_pairs_of(const BlockTree& tree, const BoxView<T>& boxes, const PairSearch& search, Use&& use) {
  Problem<T> problem;
  problem.first = boxes;
  problem.dimension = tree.dimension();
  problem.touching = search.touching;
  const KeepOverlaps<T> keep{problem, search.touching && tree.is_exact()};
  use(TreePairs<KeepOverlaps<T>>(tree, keep, chosen_kernels()));
}

// The numbers of tests and pairs of the last search for pairs of an index.
struct LastSearch {
  std::atomic<std::uint64_t> tests{0}, found{0};
  void note(std::uint64_t some_tests, std::uint64_t some_pairs) {
    tests = some_tests;
    found = some_pairs;
  }
  void put(nb::dict& stats, std::uint64_t rows) const {
    stats["tests"] = tests.load();
    stats["pairs"] = found.load();
    stats["brute_force_tests"] = rows > 0 ? rows * (rows - 1) / 2 : 0;
  }
};

// Binds what all indexes on a tree have; `more` are the arguments of changes besides boxes and rows. The index has
//   with_pairs(lower, upper, search, use): makes a method of its boxes and calls use(method), unless there can be no
//     pair; called without the GIL;
//   note(method, found): records the statistics of the search.
template <class Class, class... More>
void bind_index(Class& bound, const More&... more) {
  using Index = typename Class::Type;
  const auto lower = "lower"_a, upper = "upper"_a, rows = "rows"_a, touching = "touching"_a, workers = "workers"_a;
  const auto filter = "filter"_a.none();
  bound.def("build", &Index::build, lower, upper, rows, more...)
      .def("insert", &Index::insert, lower, upper, rows, more...)
      .def("update", &Index::update, lower, upper, rows, more...)
      .def("remove", &Index::remove, rows)
      .def("stats", &Index::stats)
      .def("validate", &Index::validate, lower, upper, rows)
      .def_prop_ro("memory_bytes", [](const Index& index) {
        return index.memory_bytes() + index.matching.bytes() + index.distinct.bytes() + index.distinct_boxes.bytes();
      });
  bound.def(
      "pairs",
      [](Index& index, const AnyArray& low, const AnyArray& high, bool closed, const PairFilter* attributes,
         unsigned threads, bool sort, std::uint64_t limit) {
        return as_array(at_work([&](Interrupt& interrupt) {
          const PairSearch search{closed, attributes != nullptr ? attributes->get() : nullptr, threads, interrupt};
          Pairs found;
          found.block = allocate_pairs(0);
          index.with_pairs(low, high, search, [&](const auto& method) {
            found = collect_pairs(method, search.filter, threads, limit, interrupt);
            index.note(method, found.size);
          });
          if (sort) sort_pairs(found, low.shape(0), threads, interrupt);
          return found;
        }));
      },
      lower, upper, touching, filter, workers, "sort"_a, "limit"_a);
  bound.def(
      "count",
      [](Index& index, const AnyArray& low, const AnyArray& high, bool closed, const PairFilter* attributes,
         unsigned threads) {
        return at_work([&](Interrupt& interrupt) {
          const PairSearch search{closed, attributes != nullptr ? attributes->get() : nullptr, threads, interrupt};
          std::uint64_t found = 0;
          index.with_pairs(low, high, search, [&](const auto& method) {
            found = count_pairs(method, search.filter, threads, interrupt);
            index.note(method, found);
          });
          return found;
        });
      },
      lower, upper, touching, filter, workers);
}

}  // namespace broadphase::python
