// Changes that happen whole or not at all: everything is checked, and then written by one call, which no signal
// divides.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "bindings.hpp"
#include "change.hpp"
#include "small_arrays.hpp"
#include "world/placing.hpp"

namespace broadphase::python {

namespace {

void commit(nb::list arrays, nb::list dictionaries, nb::list items, nb::list shapes, unsigned workers) {
  PreparedChange(arrays, dictionaries, items, shapes).write(workers);
}

// Writes a few finite numbers, an array or a sequence, to a row of an array of float64, or one number to an array of
// one axis; false, and nothing has been written, where they are something else, which others look at. `columns` and
// `displaced` of a world, where it has to place the row again: then the numbers may not be too large either.
bool write_row(nb::handle array, std::size_t row, nb::handle numbers, std::optional<nb::dict> columns,
               std::optional<WrittenFlags> displaced) {
  double values[4];
  const bool is_single = read_number(numbers.ptr(), values[0]);
  const std::size_t count = is_single ? 1 : FewNumbers(numbers, values).length();
  if (count == 0) return false;
  if (!std::all_of(values, values + count, [](double x) { return std::isfinite(x); })) return false;
  if (columns && (!are_near(values, count) || !displaced || row >= displaced->shape(0))) return false;
  Py_buffer to;
  if (PyObject_GetBuffer(array.ptr(), &to, PyBUF_FORMAT | PyBUF_ND | PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool fits = std::strcmp(to.format, "d") == 0 && to.ndim == (is_single ? 1 : 2) &&
                    (is_single || to.shape[1] == static_cast<Py_ssize_t>(count)) &&
                    row < static_cast<std::size_t>(to.shape[0]);
  if (fits) std::copy_n(values, count, static_cast<double*>(to.buf) + row * count);
  PyBuffer_Release(&to);
  if (fits && columns) {
    displaced->data()[row] = 1;
    PyDict_SetItem(columns->ptr(), name_of<"has_displaced">(), Py_True);  // it exists: this cannot fail
  }
  return fits;
}

// Takes the first entry from a deque, and calls a function: an interruption leaves the entry there, or finds the call
// begun.
nb::object deliver(nb::object queue, nb::object function, nb::object argument) {
  const nb::object entry = queue.attr("popleft")();
  return function(argument);
}

}  // namespace

void bind_commit(nb::module_& module) {
  module.def(
      "commit", &commit, "arrays"_a, "dictionaries"_a, "items"_a = nb::list(), "shapes"_a = nb::list(), "workers"_a = 1,
      "Write (to, from) or (to, from, rows), where `from` is an array, a flag, None for zeros, an int64 for all, or "
      "lower and upper corners, without rows those of the first ones; then update (to, from) dictionaries, items and "
      "shapes: all of "
      "it, or nothing.");
  module.def("write_row", &write_row, "array"_a, "row"_a, "numbers"_a, "columns"_a.none() = nb::none(),
             "displaced"_a.noconvert().none() = nb::none(),
             "Write a few finite numbers to a row; false, and nothing is written, where they are something else.");
  module.def("deliver", &deliver, "queue"_a, "function"_a, "argument"_a,
             "Take the first entry from a deque and call a function, with no signal in between.");
}

}  // namespace broadphase::python
