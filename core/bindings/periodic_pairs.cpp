// Pairs across periodic boundaries of a world.
#include "world/periodic_pairs.hpp"

#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "bindings.hpp"
#include "filters.hpp"
#include "narrow/batch.hpp"

namespace broadphase::python {

namespace {

// (first row that reaches out and is wider than the world or -1, pairs (m, 2), offsets (m, d)).
nb::object periodic_pairs(Boxes boxes, Table<double> bounds, Flags counts, std::optional<Flags> changed,
                          const PairFilter* filter, std::optional<Vector<std::int64_t>> keys, bool any_width,
                          unsigned workers) {
  const std::size_t dimension = boxes.shape(2);
  require(boxes.shape(1) == 2 && bounds.shape(0) == 2 && bounds.shape(1) == dimension &&
          counts.shape(0) <= boxes.shape(0) && (!changed || changed->shape(0) >= counts.shape(0)) &&
          (!keys || keys->shape(0) >= counts.shape(0)));
  PeriodicPairs found = at_work([&](Interrupt& interrupt) {
    const PeriodicSearch search{boxes.data(),    bounds.data(),    counts.data(),
                                counts.shape(0), data_of(changed), filter != nullptr ? filter->get() : nullptr,
                                data_of(keys),   any_width,        workers};
    return in_plane_or_space(dimension,
                             [&](auto d) { return find_periodic_pairs<d()>(search, chosen_kernels(), interrupt); });
  });
  RowPairs pairs;
  for (std::size_t k = 0; k < found.first.size(); ++k) pairs.insert(pairs.end(), {found.first[k], found.second[k]});
  return as_tuple(found.wide_row, as_table(std::move(pairs), 2), as_table(std::move(found.offsets), dimension));
}

}  // namespace

void bind_periodic_pairs(nb::module_& module) {
  module.def("periodic_pairs", &periodic_pairs, "boxes"_a, "bounds"_a, "counts"_a, "changed"_a.none(),
             "filter"_a.none(), "keys"_a.none(), "any_width"_a, "workers"_a,
             "Pairs of which one overlaps another image of the other; the first row that is too wide, or -1.");
}

}  // namespace broadphase::python
