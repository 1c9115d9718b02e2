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
  std::size_t made = 0;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    made = make_regions(planes.data(), count, planes.shape(1), dimension, must_span, interrupt, regions);
  }
  if (made < count) return nb::int_(made);
  nb::object offsets = as_array(std::move(regions.offsets), 1), axes = as_corners(std::move(regions.axes), dimension);
  nb::object least = as_array(std::move(regions.least), 1), most = as_array(std::move(regions.most), 1);
  nb::object lower = as_corners(std::move(regions.around_lower), dimension);
  return nb::make_tuple(offsets, axes, least, most, lower, as_corners(std::move(regions.around_upper), dimension));
}

}  // namespace

void bind_regions(nb::module_& module) {
  module.def("regions_of_planes", &regions_of_planes, nb::arg("planes"), nb::arg("must_span") = false,
             "Regions between planes, (q, p, d + 1): offsets, axes, least, most, lower and upper corners around. Where "
             "their normals must span all directions, the number of the first region whose do not.");
}

}  // namespace broadphase::python
