// Pairs among the boxes of an index, found and counted: the same two functions for every class of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "bindings.hpp"
#include "pair_filter.hpp"
#include "query/collect.hpp"

namespace broadphase::python {

// One search, as the index is asked for its method.
struct PairSearch {
  bool touching;
  const Filter* filter;  // may be null
  unsigned workers;
  Interrupt& interrupt;
};

// Binds pairs() and count(). The index has
//   with_pairs(lower, upper, search, use): makes a method of its boxes and calls use(method), or finds that no pair can
//     be, and does not; without the GIL;
//   note(method, found): keeps the figures of this search.
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
          const nb::gil_scoped_release release;
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
        const nb::gil_scoped_release release;
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
