// Shapes: the store of their records, and the narrow phase on pairs of them.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "narrow/batch.hpp"
#include "placed_shapes.hpp"
#include "world/noticing.hpp"

namespace broadphase::python {

namespace {

// Calls use(std::integral_constant<std::size_t, D>()) without the GIL.
template <class Use>
void in_dimension(std::size_t dimension, Use&& use) {
  const ReleasedGil release;
  if (dimension == 2)
    use(std::integral_constant<std::size_t, 2>());
  else
    use(std::integral_constant<std::size_t, 3>());
}

template <std::size_t D>
Poses<D> poses_of(const Numbers& positions, const MaybeNumbers& rotations, Written& seen_positions,
                  std::optional<Written>& seen_rotations, Written& boxes) {
  return {positions.data(), rotations ? rotations->data() : nullptr, seen_positions.data(),
          seen_rotations ? seen_rotations->data() : nullptr, boxes.data()};
}

// Places rows that are known to have changed.
void place(PlacedShapes& shapes, Rows rows, Numbers positions, MaybeNumbers rotations, Written seen_positions,
           std::optional<Written> seen_rotations, Written boxes) {
  in_dimension(shapes.dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    const Poses<D> poses = poses_of<D>(positions, rotations, seen_positions, seen_rotations, boxes);
    for (std::size_t k = 0; k < rows.shape(0); ++k)
      look_at_row<D>(shapes.store, poses, static_cast<std::size_t>(rows.data()[k]));
  });
}

// The bounding boxes of shapes at the origin, (k, 2, d), rotated as their rows are.
nb::object relative_boxes(const PlacedShapes& shapes, Rows rows, MaybeNumbers rotations) {
  const std::size_t count = rows.shape(0), dimension = shapes.dimension;
  std::vector<double> boxes(count * 2 * dimension);
  in_dimension(dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    for (std::size_t k = 0; k < count; ++k) {
      const auto row = static_cast<std::size_t>(rows.data()[k]);
      const auto bounds =
          shapes.store.relative_bounds<D>(row, rotations ? rotations->data() + row * kRotationNumbers<D> : nullptr);
      std::copy_n(bounds.lower.begin(), D, boxes.data() + 2 * k * D);
      std::copy_n(bounds.upper.begin(), D, boxes.data() + (2 * k + 1) * D);
    }
  });
  return as_array(std::move(boxes), 1).attr("reshape")(count, 2, dimension);
}

ShapePairs pairs_of(const Rows& first, const Rows& second, const MaybeNumbers& offsets) {
  return {first.data(), second.data(), offsets ? offsets->data() : nullptr, first.shape(0)};
}

// Both or none.
PairBoxes boxes_of(const MaybeNumbers& first, const MaybeNumbers& second) {
  return first && second ? PairBoxes{first->data(), second->data()} : PairBoxes{};
}

nb::object overlap_flags(const PlacedShapes& a, const PlacedShapes& b, Rows first, Rows second, MaybeNumbers offsets,
                         MaybeNumbers boxes_a, MaybeNumbers boxes_b) {
  std::vector<std::uint8_t> answers(first.shape(0));
  in_dimension(a.dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    overlaps_of<D>(a.store, b.store, pairs_of(first, second, offsets), boxes_of(boxes_a, boxes_b), answers.data());
  });
  return as_array(std::move(answers), 1);
}

// (pairs that overlap, pairs with a hull or a mesh whose boxes do), each (m, 2). Boxes: null if those of all pairs do.
nb::object touching(const PlacedShapes& shapes, Rows first, Rows second, MaybeNumbers boxes, unsigned workers) {
  TouchingPairRows found;
  in_dimension(shapes.dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    constexpr double kNoLimit = std::numeric_limits<double>::infinity();
    found =
        keep_touching<D>(shapes.store, pairs_of(first, second, {}), boxes_of(boxes, boxes), kNoLimit, nullptr, workers);
  });
  nb::object kept = as_array(std::move(found.touching));
  return nb::make_tuple(kept, as_array(std::move(found.others.unknown), 2));
}

nb::object distances(const PlacedShapes& a, const PlacedShapes& b, Rows first, Rows second, MaybeNumbers offsets) {
  const std::size_t count = first.shape(0), dimension = a.dimension;
  std::vector<double> values(count), normals(count * dimension);
  in_dimension(dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    distances_of<D>(a.store, b.store, pairs_of(first, second, offsets), values.data(), normals.data());
  });
  nb::object gaps = as_array(std::move(values), 1);
  return nb::make_tuple(gaps, as_corners(std::move(normals), dimension));
}

nb::object contacts(const PlacedShapes& a, const PlacedShapes& b, Rows first, Rows second, MaybeNumbers offsets) {
  const std::size_t count = first.shape(0), dimension = a.dimension, most = dimension == 2 ? 2 : 4;
  std::vector<double> normals(count * dimension), depths(count), points(count * most * dimension);
  std::vector<std::int8_t> counts(count);
  in_dimension(dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    contacts_of<D>(a.store, b.store, pairs_of(first, second, offsets),
                   {normals.data(), depths.data(), counts.data(), points.data()});
  });
  nb::object of_normals = as_corners(std::move(normals), dimension), of_depths = as_array(std::move(depths), 1),
             of_counts = as_array(std::move(counts), 1);
  return nb::make_tuple(of_normals, of_depths, of_counts,
                        as_array(std::move(points), 1).attr("reshape")(count, most, dimension));
}

nb::object impacts(const PlacedShapes& a, const PlacedShapes& b, Rows first, Rows second, Numbers motions,
                   MaybeNumbers offsets) {
  const std::size_t count = first.shape(0), dimension = a.dimension;
  std::vector<double> times(count), normals(count * dimension);
  in_dimension(dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    impacts_of<D>(a.store, b.store, pairs_of(first, second, offsets), motions.data(), times.data(), normals.data());
  });
  nb::object of_times = as_array(std::move(times), 1);
  return nb::make_tuple(of_times, as_corners(std::move(normals), dimension));
}

nb::object rays(const PlacedShapes& shapes, Rows rows, Numbers origins, Numbers directions) {
  const std::size_t count = rows.shape(0), dimension = shapes.dimension;
  std::vector<double> times(count), normals(count * dimension);
  in_dimension(dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    ray_hits_of<D>(shapes.store, rows.data(), count, origins.data(), directions.data(), times.data(), normals.data());
  });
  nb::object of_times = as_array(std::move(times), 1);
  return nb::make_tuple(of_times, as_corners(std::move(normals), dimension));
}

}  // namespace

void bind_shapes(nb::module_& module) {
  const auto positions = nb::arg("positions"), seen_positions = nb::arg("seen_positions"), boxes = nb::arg("boxes"),
             rows = nb::arg("rows"), a = nb::arg("a"), b = nb::arg("b"), first = nb::arg("first"),
             second = nb::arg("second");
  const auto rotations = nb::arg("rotations").none(), seen_rotations = nb::arg("seen_rotations").none(),
             offsets = nb::arg("offsets").none();
  nb::class_<PlacedShapes>(module, "ShapeStore")
      .def(
          "__init__", [](PlacedShapes* self, std::size_t dimension) { new (self) PlacedShapes{dimension, {}}; },
          nb::arg("dimension"))
      .def_ro("dimension", &PlacedShapes::dimension)
      .def("set", &PlacedShapes::set, rows, nb::arg("kinds"), nb::arg("sizes"), nb::arg("numbers"))
      .def("set_boxes", &PlacedShapes::set_boxes, boxes)
      .def("relative_boxes", &relative_boxes, rows, rotations)
      .def("clear", &PlacedShapes::clear, rows)
      .def("placed_kind", &PlacedShapes::placed_kind, nb::arg("row"))
      .def("placed", &PlacedShapes::placed, nb::arg("row"))
      .def("records", &PlacedShapes::records, rows)
      .def("place", &place, rows, positions, rotations, seen_positions, seen_rotations, boxes)
      .def_prop_ro("memory_bytes", [](const PlacedShapes& self) { return self.store.memory_bytes(); });
  module.def("shape_overlaps", &overlap_flags, a, b, first, second, offsets, nb::arg("boxes_a") = nb::none(),
             nb::arg("boxes_b") = nb::none());
  module.def("shape_touching", &touching, nb::arg("shapes"), first, second, nb::arg("boxes").none(),
             nb::arg("workers"));
  module.def("shape_distances", &distances, a, b, first, second, offsets);
  module.def("shape_contacts", &contacts, a, b, first, second, offsets);
  module.def("shape_impacts", &impacts, a, b, first, second, nb::arg("motions"), offsets);
  module.def("shape_rays", &rays, nb::arg("shapes"), rows, nb::arg("origins"), nb::arg("directions"));
}

}  // namespace broadphase::python
