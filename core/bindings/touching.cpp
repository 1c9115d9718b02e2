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

PairColumns columns(const Rows& first, const Rows& second) { return {first.data(), second.data(), first.shape(0)}; }

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
  return as_array(std::move(rows));
}

// Which of a few pairs are among many.
nb::object among(Rows first, Rows second, Rows of_first, Rows of_second, bool is_ordered) {
  const std::size_t count = first.shape(0);
  std::vector<std::uint8_t> found(count);
  at_work([&](Interrupt&) { mark_among(columns(first, second), columns(of_first, of_second), is_ordered, found); });
  return as_array(std::move(found));
}

}  // namespace

void bind_touching(nb::module_& module) {
  module.def("among", &among, "first"_a, "second"_a, "of_first"_a, "of_second"_a, "is_ordered"_a,
             "Whether each of a few pairs is among many others.");
  module.def("left_boxes", &left_boxes, "boxes"_a.noconvert(), "kept"_a.noconvert(), "behind"_a, "alive"_a, "slots"_a,
             "Rows that are behind and whose boxes are not within those kept.");
}

}  // namespace broadphase::python
