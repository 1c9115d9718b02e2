// Convex regions: between planes, and oriented boxes.
#include <cstddef>
#include <type_traits>
#include <utility>

#include "bindings.hpp"
#include "query/planes.hpp"
#include "query/turned_boxes.hpp"
#include "turns.hpp"

namespace broadphase::python {

namespace {

using Planes = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

nb::object arrays_of(RegionSlabs&& regions, std::size_t dimension) {
  return as_tuple(std::move(regions.offsets), as_table(std::move(regions.axes), dimension), std::move(regions.least),
                  std::move(regions.most), as_table(std::move(regions.around_lower), dimension),
                  as_table(std::move(regions.around_upper), dimension));
}

nb::object regions_of_planes(Planes planes, bool must_span) {
  const std::size_t count = planes.shape(0), dimension = planes.shape(2) - 1;
  if (dimension != 2 && dimension != 3) throw nb::value_error("regions have 2 or 3 dimensions");
  RegionSlabs regions;
  const std::size_t made = at_work([&](Interrupt& interrupt) {
    return make_regions(planes.data(), count, planes.shape(1), dimension, must_span, interrupt, regions);
  });
  if (made < count) return nb::int_(made);
  return arrays_of(std::move(regions), dimension);
}

nb::object regions_of_boxes(Table<double> centers, Table<double> half_sizes, Table<double> rotations) {
  const std::size_t count = centers.shape(0), d = centers.shape(1), numbers = rotations.shape(1);
  require(half_sizes.shape(0) == count && half_sizes.shape(1) == d &&
          (rotations.shape(0) == count || rotations.shape(0) == 1) &&
          (numbers == d * d || numbers == (d == 2 ? 1 : 4)));
  const std::size_t step = rotations.shape(0) == 1 ? 0 : numbers;
  RegionSlabs regions;
  at_work([&](Interrupt& interrupt) {
    in_plane_or_space(d, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
      for (std::size_t k = 0; k < count; ++k) {
        const auto turn = matrix_of<D>(rotations.data() + k * step, numbers);
        add_turned_box<D>(centers.data() + k * D, half_sizes.data() + k * D, turn.data(), regions);
        interrupt.check();
      }
    });
  });
  return arrays_of(std::move(regions), d);
}

}  // namespace

void bind_regions(nb::module_& module) {
  module.def("regions_of_planes", &regions_of_planes, "planes"_a, "must_span"_a = false,
             "Regions between planes, (q, p, d + 1): offsets, axes, least, most, lower and upper corners around. Where "
             "their normals must span all directions, the number of the first region whose do not.");
  module.def("regions_of_boxes", &regions_of_boxes, "centers"_a, "half_sizes"_a, "rotations"_a,
             "The same of oriented boxes; rotations are angles, quaternions or matrices, a row each, or one for all.");
}

}  // namespace broadphase::python
