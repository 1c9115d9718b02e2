// Pairs across the seams of a periodic world.
#include "world/seam_pairs.hpp"

#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "filters.hpp"
#include "moving_rows.hpp"
#include "narrow/batch.hpp"

namespace broadphase::python {

void bind_seams(nb::module_& module);

namespace {

// (first row that reaches out and is wider than the world or -1, pairs (m, 2), offsets (m, d)).
nb::object seam_pairs(Boxes boxes, Table<double> bounds, Flags counts, std::optional<Flags> changed,
                      const PairFilter* filter, std::optional<Vector<std::int64_t>> keys, bool any_width,
                      unsigned workers) {
  const std::size_t dimension = boxes.shape(2);
  if ((dimension != 2 && dimension != 3) || boxes.shape(1) != 2 || bounds.shape(0) != 2 ||
      bounds.shape(1) != dimension || counts.shape(0) > boxes.shape(0) ||
      (changed && changed->shape(0) < counts.shape(0)) || (keys && keys->shape(0) < counts.shape(0)))
    throw nb::value_error("the arrays differ in their number of rows or of columns");
  FoundSeams found;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    const SeamSearch search{boxes.data(),
                            bounds.data(),
                            counts.data(),
                            counts.shape(0),
                            changed ? changed->data() : nullptr,
                            filter != nullptr ? filter->get() : nullptr,
                            keys ? keys->data() : nullptr,
                            any_width,
                            workers};
    found = dimension == 2 ? find_seams<2>(search, chosen_kernels(), interrupt)
                           : find_seams<3>(search, chosen_kernels(), interrupt);
  }
  RowPairs pairs;
  for (std::size_t k = 0; k < found.first.size(); ++k) pairs.insert(pairs.end(), {found.first[k], found.second[k]});
  nb::object kept = as_array(std::move(pairs), 2);
  return nb::make_tuple(found.wide_row, kept, as_corners(std::move(found.offsets), dimension));
}

}  // namespace

void bind_seams(nb::module_& module) {
  module.def("seam_pairs", &seam_pairs, nb::arg("boxes"), nb::arg("bounds"), nb::arg("counts"),
             nb::arg("changed").none(), nb::arg("filter").none(), nb::arg("keys").none(), nb::arg("any_width"),
             nb::arg("workers"),
             "Pairs of which one overlaps another image of the other; the first row that is too wide, or -1.");
}

}  // namespace broadphase::python
