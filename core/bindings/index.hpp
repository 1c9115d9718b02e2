// What the bindings of the indexes share: the base class of indexes on a tree of blocks, and pairs() and count().
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "bindings.hpp"
#include "filters.hpp"
#include "query/collect.hpp"
#include "tree/blocks.hpp"
#include "tree/pairs.hpp"

namespace broadphase {
class Forest;
}

namespace broadphase::python {

// The base of every index on a tree of blocks. Queries are functions over it (tree_queries.cpp), written once.
struct BlockIndex {
  BlockTree tree;
  // Where it has a root, queries walk this tree of the same rows instead: see PendingOctree.
  BlockTree packed;

  // Where queries have keys: the tree of each. Then the tree above is empty.
  const Forest* forest = nullptr;
  const std::uint32_t* tree_of = nullptr;

  const BlockTree& walked() const { return packed.root != kNoBlock ? packed : tree; }
};

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

// Binds pairs() and count(). The index has
//   with_pairs(lower, upper, search, use): makes a method of its boxes and calls use(method), unless there can be no
//     pair; called without the GIL;
//   note(method, found): records the statistics of the search.
template <class Class>
void bind_index_pairs(Class& bound) {
  using Index = typename Class::Type;
  const auto lower = nb::arg("lower"), upper = nb::arg("upper"), touching = nb::arg("touching"),
             workers = nb::arg("workers");
  const auto filter = nb::arg("filter").none();
  bound.def(
      "pairs",
      [](Index& index, const AnyArray& low, const AnyArray& high, bool closed, const PairFilter* attributes,
         unsigned threads, bool sort, std::uint64_t limit) {
        Pairs found;
        {
          const ReleasedGil release;
          Interrupt interrupt(signal_pending);
          const PairSearch search{closed, attributes != nullptr ? attributes->get() : nullptr, threads, interrupt};
          found.block = allocate_pairs(0);
          index.with_pairs(low, high, search, [&](const auto& method) {
            found = collect_pairs(method, search.filter, threads, limit, interrupt);
            index.note(method, found.size);
          });
          if (sort) sort_pairs(found, low.shape(0), threads, interrupt);
        }
        return as_array(std::move(found));
      },
      lower, upper, touching, filter, workers, nb::arg("sort"), nb::arg("limit"));
  bound.def(
      "count",
      [](Index& index, const AnyArray& low, const AnyArray& high, bool closed, const PairFilter* attributes,
         unsigned threads) {
        const ReleasedGil release;
        Interrupt interrupt(signal_pending);
        const PairSearch search{closed, attributes != nullptr ? attributes->get() : nullptr, threads, interrupt};
        std::uint64_t found = 0;
        index.with_pairs(low, high, search, [&](const auto& method) {
          found = count_pairs(method, search.filter, threads, interrupt);
          index.note(method, found);
        });
        return found;
      },
      lower, upper, touching, filter, workers);
}

}  // namespace broadphase::python
