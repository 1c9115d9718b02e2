// The candidates of many queries, filtered.
#include <algorithm>
#include <cstdint>

#include "filters.hpp"
#include "query/ragged.hpp"

namespace broadphase::python {

namespace {

// The candidates, in the form of results, that pass both the filter and test(query, box).
template <class Test>
nb::object keep(const Vector<std::int32_t>& rows, const Vector<std::int64_t>& offsets, const AnyArray& lower,
                const AnyArray& upper, const RowFilter* filter, unsigned workers, const Test& test) {
  const AnyBoxes boxes = any_boxes(lower, upper);
  const QueryFilter allowed = filter != nullptr ? filter->get() : QueryFilter();
  const std::int32_t* candidates = rows.data();
  const std::int64_t* at = offsets.data();
  const std::size_t count = offsets.shape(0) - 1;
  struct Nothing {};
  const auto pick = [&](std::size_t query, Nothing&, std::vector<std::int32_t>& kept) {
    double box[8];
    for (std::int64_t k = at[query]; k < at[query + 1]; ++k) {
      const auto row = static_cast<std::size_t>(candidates[k]);
      if (!allowed.allows(row, query)) continue;
      boxes.read(row, box);
      if (test(query, box)) kept.push_back(candidates[k]);
    }
  };
  return as_tuple(at_work([&](Interrupt& interrupt) {
    return collect_ragged<Nothing>(count, rows.shape(0) / std::max<std::size_t>(count, 1), workers, interrupt, pick);
  }));
}

nb::object keep_allowed(Vector<std::int32_t> rows, Vector<std::int64_t> offsets, AnyArray lower, AnyArray upper,
                        const RowFilter& filter, unsigned workers) {
  return keep(rows, offsets, lower, upper, &filter, workers, [](std::size_t, const double*) { return true; });
}

nb::object keep_near(Vector<std::int32_t> rows, Vector<std::int64_t> offsets, AnyArray lower, AnyArray upper,
                     Table<double> centers, Vector<double> radii, const RowFilter* filter, unsigned workers) {
  const std::size_t dimension = centers.shape(1);
  const double *points = centers.data(), *radius = radii.data();
  return keep(rows, offsets, lower, upper, filter, workers, [=](std::size_t query, const double* box) {
    return Ball(points + query * dimension, radius[query], dimension).meets(box);
  });
}

// Region k has the slabs region_offsets[k] to region_offsets[k + 1].
nb::object keep_convex(Vector<std::int32_t> rows, Vector<std::int64_t> offsets, AnyArray lower, AnyArray upper,
                       Vector<std::int64_t> region_offsets, Table<double> axes, Vector<double> least,
                       Vector<double> most, Table<double> around_lower, Table<double> around_upper,
                       const RowFilter* filter, unsigned workers) {
  const std::size_t dimension = around_lower.shape(1);
  return keep(
      rows, offsets, lower, upper, filter, workers,
      [&, first = region_offsets.data(), low = around_lower.data(), high = around_upper.data()](std::size_t query,
                                                                                                const double* box) {
        double around[8];
        std::copy_n(low + query * dimension, dimension, around);
        std::copy_n(high + query * dimension, dimension, around + dimension);
        const auto begin = static_cast<std::size_t>(first[query]), end = static_cast<std::size_t>(first[query + 1]);
        return meets({around, axes.data() + begin * dimension, least.data() + begin, most.data() + begin, end - begin},
                     box, dimension);
      });
}

}  // namespace

void bind_joining(nb::module_& module) {
  const auto rows = "rows"_a, offsets = "offsets"_a, lower = "lower"_a, upper = "upper"_a, workers = "workers"_a;
  const auto filter = "filter"_a.none();
  module.def("keep_allowed", &keep_allowed, rows, offsets, lower, upper, "filter"_a, workers);
  module.def("keep_near", &keep_near, rows, offsets, lower, upper, "centers"_a, "radii"_a, filter, workers);
  module.def("keep_convex", &keep_convex, rows, offsets, lower, upper, "region_offsets"_a, "axes"_a, "least"_a,
             "most"_a, "around_lower"_a, "around_upper"_a, filter, workers);
}

}  // namespace broadphase::python
