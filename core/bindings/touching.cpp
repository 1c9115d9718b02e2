// What the world does with whole columns of pairs.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "world/motion.hpp"
#include "world/touching.hpp"

namespace broadphase::python {

namespace {

using Column = Vector<std::int32_t>;
// Lower and upper corners, (n, 2, d).
using Boxes = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

PairColumns columns(const Column& first, const Column& second) { return {first.data(), second.data(), first.shape(0)}; }

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
  module.def("left_boxes", &left_boxes, nb::arg("boxes").noconvert(), nb::arg("kept").noconvert(), nb::arg("behind"),
             nb::arg("alive"), nb::arg("slots"), "Rows that are behind and whose boxes are not within those kept.");
}

}  // namespace broadphase::python
