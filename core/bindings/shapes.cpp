// Shapes: the store of their records, and the narrow phase on pairs of them.
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "geometries.hpp"
#include "narrow/batch.hpp"
#include "narrow/meshes.hpp"
#include "pair_answers.hpp"
#include "placed_shapes.hpp"
#include "world/placing.hpp"

namespace broadphase::python {

namespace {

// Calls use(std::integral_constant<std::size_t, D>()) without the GIL.
template <class Use>
void in_dimension(const PlacedShapes& shapes, Use&& use) {
  const ReleasedGil release;
  in_plane_or_space(shapes.dimension, use);
}

// Places rows that are known to have changed.
void place(PlacedShapes& shapes, Rows rows, Numbers positions, MaybeNumbers rotations, Written seen_positions,
           std::optional<Written> seen_rotations, Written boxes) {
  in_dimension(shapes, [&](auto d) {
    const Poses<d()> poses{positions.data(), data_of(rotations), seen_positions.data(), data_of(seen_rotations),
                           boxes.data()};
    for (std::size_t k = 0; k < rows.shape(0); ++k)
      place_row<d()>(shapes.store, poses, static_cast<std::size_t>(rows.data()[k]));
  });
}

ShapePairs pairs_of(const Rows& first, const Rows& second, const MaybeNumbers& offsets) {
  return {first.data(), second.data(), data_of(offsets), first.shape(0)};
}

// Both or none.
PairBoxes boxes_of(const MaybeNumbers& first, const MaybeNumbers& second) {
  return first && second ? PairBoxes{first->data(), second->data()} : PairBoxes{};
}

nb::object overlap_flags(const PlacedShapes& a, const PlacedShapes& b, Rows first, Rows second, MaybeNumbers offsets,
                         MaybeNumbers boxes_a, MaybeNumbers boxes_b) {
  std::vector<std::uint8_t> answers(first.shape(0));
  in_dimension(a, [&](auto d) {
    overlaps_of<d()>(a.store, b.store, pairs_of(first, second, offsets), boxes_of(boxes_a, boxes_b), answers.data());
  });
  return as_array(std::move(answers));
}

// (pairs that overlap, pairs with a hull or a mesh whose boxes do), each (m, 2). Boxes: null if those of all pairs do.
nb::object touching(const PlacedShapes& shapes, Rows first, Rows second, MaybeNumbers boxes, unsigned workers) {
  TouchingPairRows found;
  in_dimension(shapes, [&](auto d) {
    constexpr double kNoLimit = std::numeric_limits<double>::infinity();
    found = keep_touching<d()>(shapes.store, pairs_of(first, second, {}), boxes_of(boxes, boxes), kNoLimit, nullptr,
                               workers);
  });
  return as_tuple(std::move(found.touching), as_table(std::move(found.others.unknown), 2));
}

nb::object distances(const PlacedShapes& a, const PlacedShapes& b, Rows first, Rows second, MaybeNumbers offsets) {
  NumbersAndNormals found(first.shape(0), a.dimension);
  in_dimension(a, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    for_each_pair<D>(
        a.store, b.store, pairs_of(first, second, offsets),
        [&](std::size_t k, const ShapeView<D>& x, const ShapeView<D>& y) {
          found.put<D>(k, [&](Vec<D>* normal) { return signed_distance(x, y, normal); });
        },
        [&](std::size_t k) { found.leave(k); });
  });
  return std::move(found).as_tuple();
}

// Precondition: the pairs overlap.
nb::object contacts(const PlacedShapes& a, const PlacedShapes& b, Rows first, Rows second, MaybeNumbers offsets) {
  FoundContacts found(first.shape(0), a.dimension);
  in_dimension(a, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    for_each_pair<D>(
        a.store, b.store, pairs_of(first, second, offsets),
        [&](std::size_t k, const ShapeView<D>& x, const ShapeView<D>& y) { found.put<D>(k, contact(x, y)); },
        [&](std::size_t k) { found.leave(k); });
  });
  return std::move(found).as_tuple();
}

nb::object impacts(const PlacedShapes& a, const PlacedShapes& b, Rows first, Rows second, Numbers motions,
                   MaybeNumbers offsets) {
  NumbersAndNormals found(first.shape(0), a.dimension);
  in_dimension(a, [&](auto d) {
    impacts_of<d()>(a.store, b.store, pairs_of(first, second, offsets), motions.data(), found.numbers.data(),
                    found.normals.data());
  });
  return std::move(found).as_tuple();
}

// The same of bodies that turn, as rows of `PairMotion` say.
nb::object turning_impacts(const PlacedShapes& a, const PlacedShapes& b, Rows first, Rows second, Numbers motions,
                           Numbers targets) {
  NumbersAndNormals found(first.shape(0), a.dimension);
  in_dimension(a, [&](auto d) {
    turning_impacts_of<d()>(a.store, b.store, first.data(), second.data(), motions_of<d()>(motions), targets.data(),
                            first.shape(0), found.numbers.data(), found.normals.data());
  });
  return std::move(found).as_tuple();
}

// Ray k against the shape of rows[k]: the least t >= 0 with origin + t * direction in it; inf if there is none, NaN for
// hulls and meshes.
nb::object rays(const PlacedShapes& shapes, Rows rows, Numbers origins, Numbers directions) {
  NumbersAndNormals found(rows.shape(0), shapes.dimension);
  in_dimension(shapes, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
      const ShapeView<D> shape = shapes.store.placed<D>(static_cast<std::size_t>(rows.data()[k]));
      if (is_kept_elsewhere(shape.kind))
        found.leave(k);
      else
        found.put<D>(k, [&](Vec<D>* normal) {
          return ray_hit(shape, vector_of<D>(origins, k), vector_of<D>(directions, k), normal);
        });
    }
  });
  return std::move(found).as_tuple();
}

// ---- Two single shapes, each the only row of its store: the arrays that many pairs need take longer than the answer.

ShapeView<3> only(const PlacedShapes& shapes) { return shapes.store.placed<3>(0); }

// Calls use(first, second) with two shapes in space as the narrow phase of hulls and meshes takes them, without the GIL
// where one is a mesh or a cloud. None: one of them is a custom shape.
template <class Use>
nb::object with_two_sides(const PlacedShapes& a, const KeptGeometries& geometries_a, const PlacedShapes& b,
                          const KeptGeometries& geometries_b, const Use& use) {
  const ShapeView<3> one = only(a), other = only(b);
  if (one.kind == ShapeKind::kCustom || other.kind == ShapeKind::kCustom) return nb::none();
  std::vector<double> unmoved;
  const MeshSide x = side_of(one, geometries_a.geometries, nullptr, unmoved),
                 y = side_of(other, geometries_b.geometries, nullptr, unmoved);
  const auto answer = [&] {
    std::optional<ReleasedGil> release;
    if (x.has_tree() || y.has_tree()) release.emplace();
    return use(x, y);
  }();
  return nb::cast(answer);
}

// None: their boxes overlap, and one is a hull, a mesh or a custom shape.
nb::object overlap_of_two(const PlacedShapes& a, Boxes boxes_a, const PlacedShapes& b, Boxes boxes_b) {
  constexpr std::int32_t kOnly = 0;
  std::uint8_t answer = 0;
  in_plane_or_space(a.dimension, [&](auto d) {
    overlaps_of<d()>(a.store, b.store, {&kOnly, &kOnly, nullptr, 1}, {boxes_a.data(), boxes_b.data()}, &answer);
  });
  return answer < 2 ? nb::cast(answer == 1) : nb::none();
}

// The same of two whose boxes overlap, in space.
nb::object geometry_overlap_of_two(const PlacedShapes& a, const KeptGeometries& geometries_a, const PlacedShapes& b,
                                   const KeptGeometries& geometries_b) {
  if (a.dimension != 3) return nb::none();
  return with_two_sides(a, geometries_a, b, geometries_b,
                        [](const MeshSide& x, const MeshSide& y) { return overlaps(x, y); });
}

// Infinite beyond a limit. None: one of them is a custom shape.
nb::object distance_of_two(const PlacedShapes& a, const KeptGeometries& geometries_a, const PlacedShapes& b,
                           const KeptGeometries& geometries_b, double within) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (a.dimension == 3)
    return with_two_sides(a, geometries_a, b, geometries_b, [&](const MeshSide& x, const MeshSide& y) {
      const double distance = separation(x, y, within).distance;
      return distance <= within ? distance : kNone;
    });
  const ShapeView<2> one = a.store.placed<2>(0), other = b.store.placed<2>(0);
  if (one.kind == ShapeKind::kCustom || other.kind == ShapeKind::kCustom) return nb::none();
  Vec<2> normal;
  const double distance = signed_distance(one, other, &normal);
  return nb::cast(distance <= within ? distance : kNone);
}

}  // namespace

void bind_shapes(nb::module_& module) {
  const auto positions = "positions"_a, seen_positions = "seen_positions"_a, boxes = "boxes"_a, rows = "rows"_a,
             a = "a"_a, b = "b"_a, first = "first"_a, second = "second"_a;
  const auto rotations = "rotations"_a.none(), seen_rotations = "seen_rotations"_a.none(), offsets = "offsets"_a.none();
  nb::class_<KeptVertices>(module, "Vertices", "Vertices of a hull or a mesh, (k, 3), for its box in any rotation.")
      .def(nb::init<Table<double>>(), "vertices"_a)
      .def_prop_ro("memory_bytes", [](const KeptVertices& self) { return self.tree.memory_bytes(); });
  nb::class_<VerticesByNumber>(module, "VerticesByNumber", "Vertices by the numbers that records have for geometries.")
      .def(nb::init<>())
      .def("put", &VerticesByNumber::put, nb::lock_self(), "number"_a, "vertices"_a.none());
  nb::class_<PlacedShapes>(module, "ShapeStore")
      .def(
          "__init__",
          [](PlacedShapes* self, std::size_t dimension, const VerticesByNumber* vertices) {
            new (self) PlacedShapes{dimension, ShapeStore(vertices != nullptr ? &vertices->trees() : nullptr)};
          },
          "dimension"_a, "vertices"_a.none(), nb::keep_alive<1, 3>())
      .def_ro("dimension", &PlacedShapes::dimension)
      .def("set", &PlacedShapes::set, rows, "kinds"_a, "sizes"_a, "numbers"_a)
      .def("set_boxes", &PlacedShapes::set_boxes, boxes)
      .def(
          "extend", [](PlacedShapes& self, std::size_t count) { self.store.extend(count); }, "count"_a)
      .def("clear", &PlacedShapes::clear, rows)
      .def("placed", &PlacedShapes::placed, "row"_a)
      .def("records", &PlacedShapes::records, rows)
      .def("place", &place, rows, positions, rotations, seen_positions, seen_rotations, boxes)
      .def_prop_ro("memory_bytes", [](const PlacedShapes& self) { return self.store.memory_bytes(); });
  module.def("shape_overlaps", &overlap_flags, a, b, first, second, offsets, "boxes_a"_a = nb::none(),
             "boxes_b"_a = nb::none());
  module.def("shape_touching", &touching, "shapes"_a, first, second, "boxes"_a.none(), "workers"_a);
  module.def("shape_distances", &distances, a, b, first, second, offsets);
  module.def("shape_contacts", &contacts, a, b, first, second, offsets);
  module.def("shape_impacts", &impacts, a, b, first, second, "motions"_a, offsets);
  module.def("shape_turning_impacts", &turning_impacts, a, b, first, second, "motions"_a, "targets"_a);
  module.def("overlap_of_two", &overlap_of_two, a, "boxes_a"_a, b, "boxes_b"_a);
  module.def("geometry_overlap_of_two", &geometry_overlap_of_two, a, "geometries_a"_a, b, "geometries_b"_a);
  module.def("distance_of_two", &distance_of_two, a, "geometries_a"_a, b, "geometries_b"_a, "within"_a);
  module.def("shape_rays", &rays, "shapes"_a, rows, "origins"_a, "directions"_a);
}

}  // namespace broadphase::python
