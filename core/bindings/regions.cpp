// Convex regions between planes.
#include <cstddef>
#include <utility>

#include "bindings.hpp"
#include "query/planes.hpp"

namespace broadphase::python {

namespace {

using Planes = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

nb::object regions_of_planes(Planes planes, bool must_span) {
  const std::size_t count = planes.shape(0), dimension = planes.shape(2) - 1;
  if (dimension != 2 && dimension != 3) throw nb::value_error("regions have 2 or 3 dimensions");
  RegionSlabs regions;
  const std::size_t made = at_work([&](Interrupt& interrupt) {
    return make_regions(planes.data(), count, planes.shape(1), dimension, must_span, interrupt, regions);
  });
  if (made < count) return nb::int_(made);
  return as_tuple(std::move(regions.offsets), as_table(std::move(regions.axes), dimension), std::move(regions.least),
                  std::move(regions.most), as_table(std::move(regions.around_lower), dimension),
                  as_table(std::move(regions.around_upper), dimension));
}

}  // namespace

void bind_regions(nb::module_& module) {
  module.def("regions_of_planes", &regions_of_planes, "planes"_a, "must_span"_a = false,
             "Regions between planes, (q, p, d + 1): offsets, axes, least, most, lower and upper corners around. Where "
             "their normals must span all directions, the number of the first region whose do not.");
}

}  // namespace broadphase::python
