// What the world does with whole columns of pairs.
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "filters.hpp"
#include "placed_shapes.hpp"
#include "world/kept_pairs.hpp"
#include "world/motion.hpp"
#include "world/touching.hpp"

namespace broadphase::python {

namespace {

using Column = Vector<std::int32_t>;
// Lower and upper corners, (n, 2, d).
using Boxes = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Flags = std::optional<Vector<std::uint8_t>>;
using WrittenFlags = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

PairColumns columns(const Column& first, const Column& second) { return {first.data(), second.data(), first.shape(0)}; }

nb::object as_pairs(Pairs&& pairs) {
  if (pairs.block == nullptr) {
    pairs.block = allocate_pairs(1);
    pairs.stride = 1;
  }
  return as_array(std::move(pairs));
}

nb::object owned(PlainArray<std::uint32_t>&& values) {
  const std::size_t size = values.size();
  auto kept = std::make_unique<PlainArray<std::uint32_t>>(std::move(values));
  std::uint32_t* data = kept->get();
  nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<PlainArray<std::uint32_t>*>(p); });
  (void)kept.release();
  return nb::cast(nb::ndarray<nb::numpy, std::uint32_t>(data, 1, &size, owner));
}

// (touching, starts, began, ended, began_at), the first two None if they are as before.
nb::object as_tuple(TouchingStep&& step) {
  nb::object touching = nb::none(), starts = nb::none();
  if (!step.same) {
    touching = as_pairs(std::move(step.touching));
    starts = owned(std::move(step.starts));
  }
  nb::object began = as_pairs(std::move(step.began)), ended = as_pairs(std::move(step.ended));
  return nb::make_tuple(touching, starts, began, ended, as_array(std::move(step.began_at), 1));
}

// See `next_touching`.
nb::object next(Column last_first, Column last_second, Vector<std::uint32_t> last_starts, Column found_first,
                Column found_second, Column again_first, Column again_second, Flags changed, Flags renewed,
                std::size_t rows, unsigned workers) {
  TouchingStep step;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    step = next_touching({columns(last_first, last_second), last_starts.data(), last_starts.shape(0) - 1},
                         columns(found_first, found_second), columns(again_first, again_second),
                         {changed ? changed->data() : nullptr, renewed ? renewed->data() : nullptr}, rows, workers,
                         interrupt);
  }
  return as_tuple(std::move(step));
}

// See `next_touching_of_kept`: pairs, whether each touched, where to write whether it does.
nb::object next_of_kept(const PlacedShapes& shapes, Column first, Column second, Vector<std::uint8_t> before,
                        WrittenFlags now, Boxes boxes, std::optional<Vector<double>> period, Column last_first,
                        Column last_second, Vector<std::uint32_t> last_starts, std::size_t rows, unsigned workers) {
  const std::size_t count = first.shape(0);
  if (second.shape(0) != count || before.shape(0) != count || now.shape(0) != count ||
      boxes.shape(2) != shapes.dimension || (period && period->shape(0) != shapes.dimension))
    throw nb::value_error("two flags for each pair, and a size for each axis");
  const KeptPairs kept{{first.data(), second.data(), nullptr, count}, before.data(), now.data()};
  const double* sizes = period ? period->data() : nullptr;
  TouchingStep step;
  {
    const ReleasedGil release;
    const TouchingPairs last{columns(last_first, last_second), last_starts.data(), last_starts.shape(0) - 1};
    step = shapes.dimension == 2
               ? next_touching_of_kept<2>(shapes.store, kept, boxes.data(), sizes, last, rows, workers)
               : next_touching_of_kept<3>(shapes.store, kept, boxes.data(), sizes, last, rows, workers);
  }
  return as_tuple(std::move(step));
}

// Boxes by row, some of which are enlarged by a reach.
struct EnlargedBoxes {
  const double* boxes;
  const std::uint8_t* is_enlarged;
  double reach;
  std::size_t dimension;

  bool overlap(std::size_t i, std::size_t j) const {
    // The difference of two numbers is rounded by less than a part of 2^-52 of it.
    const double gap = reach * (is_enlarged[i] + is_enlarged[j]) * (1 + 0x1p-50);
    const double *p = boxes + i * 2 * dimension, *q = boxes + j * 2 * dimension;
    bool apart = false;
    for (std::size_t axis = 0; axis < dimension; ++axis)
      apart |= (p[axis] - q[dimension + axis] > gap) | (q[axis] - p[dimension + axis] > gap);
    return !apart;
  }
};

// Pairs from queries around some rows, (m, 2): see `pairs_around`. With flags of the boxes that are enlarged by a
// reach: only those that overlap then.
nb::object around(Column rows, Column found, Vector<std::int64_t> offsets, Vector<std::uint8_t> of,
                  const PairFilter* filter, Boxes boxes, Flags is_enlarged, double reach) {
  const std::size_t count = rows.shape(0);
  if (offsets.shape(0) != count + 1 || static_cast<std::size_t>(offsets.data()[count]) != found.shape(0))
    throw nb::value_error("the offsets are those of other queries");
  Pairs pairs;
  {
    const ReleasedGil release;
    const EnlargedBoxes enlarged{boxes.data(), is_enlarged ? is_enlarged->data() : nullptr, reach, boxes.shape(2)};
    pairs =
        pairs_around(rows.data(), count, found.data(), offsets.data(), of.data(), [&](std::size_t i, std::size_t j) {
          return (filter == nullptr || filter->get()->allows(i, j)) &&
                 (enlarged.is_enlarged == nullptr || enlarged.overlap(i, j));
        });
  }
  return as_array(std::move(pairs));
}

// The rows that are flagged as behind, are in use, and whose boxes are not within those kept: ascending.
nb::object left_boxes(Boxes boxes, Boxes kept, Vector<std::uint8_t> behind, Vector<bool> alive, std::size_t slots) {
  const std::size_t numbers = 2 * boxes.shape(2), dimension = boxes.shape(2);
  if (boxes.shape(1) != 2 || kept.shape(1) != 2 || kept.shape(2) != dimension || boxes.shape(0) < slots ||
      kept.shape(0) < slots || behind.shape(0) < slots || alive.shape(0) < slots)
    throw nb::value_error("the arrays differ in their number of rows or of columns");
  std::vector<std::int32_t> rows;
  without_gil(slots, [&] {
    for_moving_rows(behind.data(), slots, [&](std::size_t begin, auto count) {
      for (std::size_t row = begin; row < begin + count(); ++row) {
        const double *box = boxes.data() + row * numbers, *within = kept.data() + row * numbers;
        bool left = false;
        for (std::size_t axis = 0; axis < dimension; ++axis)
          left |= (box[axis] < within[axis]) | (box[dimension + axis] > within[dimension + axis]);
        if (left && alive.data()[row]) rows.push_back(static_cast<std::int32_t>(row));
      }
      return true;
    });
  });
  return as_array(std::move(rows), 1);
}

// Which of a few pairs are among many.
nb::object among(Column first, Column second, Column of_first, Column of_second, bool is_ordered) {
  const std::size_t count = first.shape(0);
  std::vector<std::uint8_t> found(count);
  {
    const ReleasedGil release;
    mark_among(columns(first, second), columns(of_first, of_second), is_ordered, found);
  }
  return as_array(std::move(found), 1);
}

}  // namespace

void bind_touching(nb::module_& module) {
  module.def("among", &among, nb::arg("first"), nb::arg("second"), nb::arg("of_first"), nb::arg("of_second"),
             nb::arg("is_ordered"), "Whether each of a few pairs is among many others.");
  module.def("pairs_around", &around, nb::arg("rows"), nb::arg("found"), nb::arg("offsets"), nb::arg("of"),
             nb::arg("filter").none(), nb::arg("boxes").noconvert(), nb::arg("is_enlarged").none(), nb::arg("reach"));
  module.def("left_boxes", &left_boxes, nb::arg("boxes").noconvert(), nb::arg("kept").noconvert(), nb::arg("behind"),
             nb::arg("alive"), nb::arg("slots"), "Rows that are behind and whose boxes are not within those kept.");
  module.def("next_touching", &next, nb::arg("last_first"), nb::arg("last_second"), nb::arg("last_starts"),
             nb::arg("found_first"), nb::arg("found_second"), nb::arg("again_first"), nb::arg("again_second"),
             nb::arg("changed").none(), nb::arg("renewed").none(), nb::arg("rows"), nb::arg("workers"));
  module.def("next_touching_of_kept", &next_of_kept, nb::arg("shapes"), nb::arg("first"), nb::arg("second"),
             nb::arg("before"), nb::arg("now").noconvert(), nb::arg("boxes").noconvert(), nb::arg("period").none(),
             nb::arg("last_first"), nb::arg("last_second"), nb::arg("last_starts"), nb::arg("rows"),
             nb::arg("workers"));
}

}  // namespace broadphase::python
