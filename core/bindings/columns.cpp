// What a world does with whole columns besides its steps: new rows, the boundary, and pairs that are looked up.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "placed_shapes.hpp"
#include "world/boundary.hpp"
#include "world/images.hpp"
#include "world/larger_boxes.hpp"
#include "world/motion.hpp"
#include "world/placing.hpp"

namespace broadphase::python {

namespace {

// Rows that are written to.
using Changed = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Rows that are not in use get shapes, which are placed, and all else that bodies begin with. Each value is a row of
// its array; those that are not given are 0, and rotations those of nothing rotated.
void fill(PlacedShapes& seen, PlacedShapes& spare, Rows rows, Vector<std::uint8_t> kinds, Rows sizes,
          Vector<double> numbers, Vector<std::uint8_t> types, Numbers places, MaybeNumbers speeds, MaybeNumbers turns,
          MaybeNumbers spins, Written positions, Written velocities, std::optional<Written> rotations,
          std::optional<Written> angular_velocities, Written seen_positions, std::optional<Written> seen_rotations,
          Written boxes, WrittenFlags body_types, WrittenFlags stale) {
  const std::size_t count = rows.shape(0), dimension = seen.dimension, turn = dimension == 2 ? 1 : 4,
                    spin = dimension == 2 ? 1 : 3, capacity = stale.shape(0);
  const auto is_of = [](const auto& array, std::size_t size) { return array.size() == size; };
  const auto may_be_of = [](const auto& array, std::size_t size) { return !array || array->size() == size; };
  require(spare.dimension == dimension && is_of(types, count) && is_of(places, count * dimension) &&
          may_be_of(speeds, count * dimension) && may_be_of(turns, count * turn) && may_be_of(spins, count * spin) &&
          is_of(positions, capacity * dimension) && is_of(velocities, capacity * dimension) &&
          may_be_of(rotations, capacity * turn) && may_be_of(angular_velocities, capacity * spin) &&
          is_of(seen_positions, capacity * dimension) && may_be_of(seen_rotations, capacity * turn) &&
          is_of(boxes, capacity * 2 * dimension) && is_of(body_types, capacity) && (!turns || rotations) &&
          (!spins || angular_velocities) && rotations.has_value() == seen_rotations.has_value());
  for (std::size_t k = 0; k < count; ++k)
    if (static_cast<std::size_t>(rows.data()[k]) >= capacity) throw nb::index_error("a row that does not exist");
  seen.set(rows, kinds, sizes, numbers);
  spare.set(rows, kinds, sizes, numbers);
  const auto write = [](double* to, const double* from, std::size_t row, std::size_t k, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) to[row * width + i] = from != nullptr ? from[k * width + i] : 0.0;
  };
  for (std::size_t k = 0; k < count; ++k) {
    const auto row = static_cast<std::size_t>(rows.data()[k]);
    stale.data()[row] = 1;
    body_types.data()[row] = types.data()[k];
    write(positions.data(), places.data(), row, k, dimension);
    write(seen_positions.data(), places.data(), row, k, dimension);
    write(velocities.data(), data_of(speeds), row, k, dimension);
    for (double* of : {data_of(rotations), data_of(seen_rotations)}) {
      if (of == nullptr) continue;
      write(of, data_of(turns), row, k, turn);
      if (!turns && dimension == 3) of[row * turn] = 1.0;
    }
    if (angular_velocities) write(angular_velocities->data(), data_of(spins), row, k, spin);
  }
  const auto place = [&](auto d) {
    double *to = seen_positions.data(), *turned = data_of(seen_rotations);
    for (std::size_t k = 0; k < count; ++k)
      place_row<d()>(seen.store, Poses<d()>{to, turned, to, turned, boxes.data()},
                     static_cast<std::size_t>(rows.data()[k]));
  };
  without_gil(count, [&] { in_plane_or_space(dimension, place); });
}

void require_boxes(const Boxes& boxes, const Table<double>& bounds, std::size_t count) {
  require(boxes.shape(0) == count && boxes.shape(1) == 2 && bounds.shape(0) == 2 && bounds.shape(1) == boxes.shape(2));
}

// Calls use(d) without the GIL: the rows that it returns.
template <class Use>
nb::object rows_of(std::size_t dimension, const Use& use) {
  return as_array(at_work([&](Interrupt&) { return in_plane_or_space(dimension, use); }));
}

nb::object rows_sticking_out_of(Boxes boxes, Table<double> bounds, Flags moves) {
  require_boxes(boxes, bounds, moves.shape(0));
  return rows_of(boxes.shape(2), [&](auto d) {
    return rows_sticking_out<d()>(boxes.data(), bounds.data(), moves.data(), moves.shape(0));
  });
}

nb::object bounce_rows(Changed positions, Changed velocities, Rows rows, Boxes boxes, Table<double> bounds) {
  require_boxes(boxes, bounds, rows.shape(0));
  const std::size_t dimension = positions.shape(1);
  require(velocities.shape(0) == rows.shape(0) && velocities.shape(1) == dimension && boxes.shape(2) == dimension);
  for (std::size_t i = 0; i < rows.shape(0); ++i)
    require(static_cast<std::size_t>(rows.data()[i]) < positions.shape(0));
  return rows_of(dimension, [&](auto d) {
    return bounce<d()>(positions.data(), velocities.data(), rows.data(), boxes.data(), rows.shape(0), bounds.data());
  });
}

nb::object wrap_rows(Changed positions, Table<double> bounds, Flags moves) {
  const std::size_t count = positions.shape(0), dimension = positions.shape(1);
  require(moves.shape(0) == count && bounds.shape(0) == 2 && bounds.shape(1) == dimension);
  return rows_of(dimension, [&](auto d) { return wrap<d()>(positions.data(), bounds.data(), moves.data(), count); });
}

// The rows that are behind, and whose boxes are not within those kept.
nb::object left_boxes(Boxes boxes, Boxes kept, Vector<std::uint8_t> behind, Vector<bool> alive, std::size_t slots) {
  const std::size_t dimension = boxes.shape(2);
  require(boxes.shape(1) == 2 && kept.shape(1) == 2 && kept.shape(2) == dimension && boxes.shape(0) >= slots &&
          kept.shape(0) >= slots && behind.shape(0) >= slots && alive.shape(0) >= slots);
  std::vector<std::int32_t> rows;
  without_gil(slots, [&] {
    in_plane_or_space(dimension, [&](auto d) {
      add_rows_that_left<d()>(boxes.data(), kept.data(), behind.data(),
                              reinterpret_cast<const std::uint8_t*>(alive.data()), slots, rows);
    });
  });
  return as_array(std::move(rows));
}

// The boxes of some rows, or of all, larger on both sides by a share of their extents and by a length.
nb::object enlarged_boxes(Boxes boxes, std::optional<Rows> rows, double share, double length) {
  const std::size_t count = rows ? rows->shape(0) : boxes.shape(0), dimension = boxes.shape(2);
  require(boxes.shape(1) == 2);
  for (std::size_t k = 0; rows && k < count; ++k) require(static_cast<std::size_t>(rows->data()[k]) < boxes.shape(0));
  PlainArray<double> larger;
  larger.grow(count * 2 * dimension);
  without_gil(count, [&] {
    in_plane_or_space(dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
      for (std::size_t k = 0; k < count; ++k)
        enlarge<D>(boxes.data() + (rows ? static_cast<std::size_t>(rows->data()[k]) : k) * 2 * D, share, length,
                   larger.get() + k * 2 * D);
    });
  });
  return as_array(std::move(larger), {count, std::size_t{2}, dimension});
}

// Cuts boxes off where they are farther beyond all bodies than these are apart.
template <std::size_t D>
void cut_beyond(const double* bodies, const std::uint8_t* alive, std::size_t slots, std::vector<double>& boxes) {
  std::array<double, 2 * D> around;
  std::fill_n(around.begin(), D, std::numeric_limits<double>::infinity());
  std::fill_n(around.begin() + D, D, -std::numeric_limits<double>::infinity());
  bool is_empty = true;
  for (std::size_t row = 0; row < slots; ++row) {
    if (alive[row] == 0) continue;
    is_empty = false;
    for (std::size_t k = 0; k < D; ++k) {
      around[k] = std::min(around[k], bodies[row * 2 * D + k]);
      around[D + k] = std::max(around[D + k], bodies[row * 2 * D + D + k]);
    }
  }
  if (is_empty) std::fill_n(around.begin(), 2 * D, 0.0);
  for (std::size_t k = 0; k < D; ++k) {
    const double beyond = is_empty ? 0.0 : std::max(around[D + k] - around[k], 1.0);
    for (std::size_t at = k; at < boxes.size(); at += D)
      boxes[at] = std::clamp(boxes[at], around[k] - beyond, around[D + k] + beyond);
  }
}

// Where the bodies of a periodic world are: a box around those near it; and None, or the others, at their images in it:
// rows, boxes and positions by row, and a box around them; `moved` gets their shapes.
nb::object near_and_far(const PlacedShapes& shapes, PlacedShapes& moved, Boxes boxes, Table<double> positions,
                        MaybeNumbers rotations, Table<double> bounds, Flags alive) {
  const std::size_t count = alive.shape(0), dimension = shapes.dimension;
  require_boxes(boxes, bounds, count);
  require(positions.shape(0) == count && positions.shape(1) == dimension);
  return in_plane_or_space(dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) -> nb::object {
    const NearAndFar<D> parts(boxes.data(), bounds.data(),
                              rows_sticking_out<D>(boxes.data(), bounds.data(), alive.data(), count));
    const auto box_of = [](const std::array<double, 2 * D>& box) {
      return as_array(std::vector<double>(box.begin(), box.end()), {std::size_t{2}, D});
    };
    if (parts.far.empty()) return nb::make_tuple(box_of(parts.around), nb::none());
    const std::size_t slots = static_cast<std::size_t>(parts.far.back()) + 1;
    std::vector<double> there(slots * D), around_each(slots * 2 * D);
    std::array<double, 2 * D> around;
    for (std::size_t k = 0; k < D; ++k) {
      around[k] = std::numeric_limits<double>::infinity();
      around[D + k] = -around[k];
    }
    ShapeStore::LocalRoom room;
    for (const std::int32_t number : parts.far) {
      const auto row = static_cast<std::size_t>(number);
      moved.store.set(row, shapes.store.kind(row), shapes.store.local(row, room));
      double *place = there.data() + row * D, *box = around_each.data() + row * 2 * D;
      for (std::size_t k = 0; k < D; ++k)
        place[k] = wrapped(bounds.data()[k], bounds.data()[D + k], positions.data()[row * D + k]);
      const double* rotation = rotations ? rotations->data() + row * kRotationNumbers<D> : nullptr;
      moved.store.template place<D>(row, place, rotation, box, box + D);
      for (std::size_t k = 0; k < D; ++k) {
        around[k] = std::min(around[k], box[k]);
        around[D + k] = std::max(around[D + k], box[D + k]);
      }
    }
    return nb::make_tuple(
        box_of(parts.around),
        nb::make_tuple(as_array(std::vector(parts.far)), as_array(std::move(around_each), {slots, std::size_t{2}, D}),
                       as_table(std::move(there), D), box_of(around)));
  });
}

// Moves finite points that are more than a period outside a periodic world by whole periods.
nb::object points_near(Table<double> points, Table<double> bounds) {
  require(points.shape(1) == bounds.shape(1) && bounds.shape(0) == 2);
  std::vector<double> moved(points.data(), points.data() + points.size());
  at_work([&](Interrupt&) {
    in_plane_or_space(points.shape(1), [&](auto d) {
      for (std::size_t at = 0; at < moved.size(); at += d()) move_near<d()>(bounds.data(), moved.data() + at);
    });
  });
  return as_table(std::move(moved), points.shape(1));
}

// Boxes as queries for shapes take them. In a periodic world they are moved likewise, and become no wider than it;
// elsewhere, where some are larger than shapes may be, all are cut off beyond the bodies.
nb::object boxes_as_shapes(nb::object corners, std::optional<Table<double>> bounds, Boxes bodies, Flags alive) {
  const auto given = nb::cast<Boxes>(corners);
  const std::size_t count = given.shape(0), dimension = given.shape(2);
  require(given.shape(1) == 2 && bodies.shape(2) == dimension && alive.shape(0) == bodies.shape(0));
  if (bounds) require_boxes(given, *bounds, count);
  if (!bounds && are_near(given.data(), given.size())) return corners;
  std::vector<double> moved(given.data(), given.data() + given.size());
  at_work([&](Interrupt&) {
    in_plane_or_space(dimension, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
      if (bounds) {
        for (std::size_t k = 0; k < count; ++k) move_box_near<D>(bounds->data(), moved.data() + k * 2 * D);
      } else {
        cut_beyond<D>(bodies.data(), alive.data(), alive.shape(0), moved);
      }
    });
  });
  return as_array(std::move(moved), {count, std::size_t{2}, dimension});
}

}  // namespace

void bind_columns(nb::module_& module) {
  // A converted copy would be changed instead.
  const auto positions = "positions"_a.noconvert(), velocities = "velocities"_a.noconvert();
  module.def("fill", &fill, "seen"_a, "spare"_a, "rows"_a, "kinds"_a, "sizes"_a, "numbers"_a, "types"_a, "places"_a,
             "speeds"_a.none(), "turns"_a.none(), "spins"_a.none(), positions, velocities,
             "rotations"_a.noconvert().none(), "angular_velocities"_a.noconvert().none(),
             "seen_positions"_a.noconvert(), "seen_rotations"_a.noconvert().none(), "boxes"_a.noconvert(),
             "body_types"_a.noconvert(), "stale"_a.noconvert(),
             "Write to rows that are not in use what bodies begin with.");
  module.def("sticking_out", &rows_sticking_out_of, "boxes"_a, "bounds"_a, "moves"_a,
             "Rows of boxes that are not wholly within the bounds.");
  module.def("bounce", &bounce_rows, positions, velocities, "rows"_a, "boxes"_a, "bounds"_a,
             "Reflect rows into the bounds in place, and their velocities; which of the rows have changed.");
  module.def("wrap", &wrap_rows, positions, "bounds"_a, "moves"_a,
             "Move rows into the half-open bounds in place, by multiples of their size; which are others now.");
  module.def("near_and_far", &near_and_far, "shapes"_a, "moved"_a, "boxes"_a.noconvert(), "positions"_a.noconvert(),
             "rotations"_a.noconvert().none(), "bounds"_a, "alive"_a,
             "A box around the bodies near a periodic world; None, or what is far away, at its images there.");
  module.def("points_near", &points_near, "points"_a, "bounds"_a, "Move points to a periodic world by whole periods.");
  module.def("boxes_as_shapes", &boxes_as_shapes, "corners"_a, "bounds"_a.none(), "bodies"_a.noconvert(), "alive"_a,
             "Move boxes to a periodic world, or cut them off beyond all bodies where they are larger than shapes.");
  module.def(
      "radius_of_everything",
      [](Table<double> bounds) {
        return in_plane_or_space(bounds.shape(1), [&](auto d) { return radius_of_everything<d()>(bounds.data()); });
      },
      "bounds"_a, "From which radius on a ball, with its images, leaves out no place of a periodic world.");
  module.def("left_boxes", &left_boxes, "boxes"_a.noconvert(), "kept"_a.noconvert(), "behind"_a, "alive"_a, "slots"_a,
             "Rows that are behind and whose boxes are not within those kept.");
  module.def("enlarged_boxes", &enlarged_boxes, "boxes"_a.noconvert(), "rows"_a.none(), "share"_a, "length"_a,
             "Boxes of some rows, or of all, larger on both sides by a share of their extents and by a length.");
}

}  // namespace broadphase::python
