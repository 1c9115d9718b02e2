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

namespace broadphase::python {

namespace {

void commit(nb::list arrays, nb::list dictionaries, nb::list items, nb::list shapes, unsigned workers) {
  PreparedChange(arrays, dictionaries, items, shapes).write(workers);
}

// Takes a row into use behind all others, with its actor, as `commit` would: all of it, or nothing. `rows` and
// `columns` have the attributes of what keeps them; those of an actor are in slots. Its reference goes into `seen`, and
// the actor into `held`, if given.
void insert_body(nb::dict rows, nb::dict columns, nb::ndarray<nb::ndim<1>, nb::c_contig, nb::device::cpu> alive,
                 nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> changed, std::size_t row,
                 nb::object actor, nb::object world, nb::object handle, nb::object data, nb::dict seen,
                 nb::object reference, std::optional<nb::dict> held) {
  if (alive.itemsize() != 1 || row >= alive.shape(0) || row >= changed.shape(0))
    throw nb::value_error("a row that does not exist");
  struct Entry {
    nb::handle to, key, value;
  };
  const auto one_more = [](const nb::dict& dict, nb::handle key) {
    return nb::int_(nb::cast<std::size_t>(dict[key]) + 1);
  };
  const nb::object end = nb::int_(row + 1), living = one_more(rows, name_of<"living">()), none = nb::none(),
                   version = one_more(columns, name_of<"version">());
  const Entry entries[] = {{rows, name_of<"slots">(), end},       {rows, name_of<"living">(), living},
                           {rows, name_of<"_first_free">(), end}, {rows, name_of<"_numbers">(), none},
                           {rows, name_of<"_views">(), none},     {columns, name_of<"version">(), version}};
  const Entry slots[] = {
      {actor, name_of<"_world">(), world}, {actor, name_of<"_handle">(), handle}, {actor, name_of<"_data">(), data}};
  for (const Entry& entry : entries)
    if (PyDict_Contains(entry.to.ptr(), entry.key.ptr()) != 1) throw nb::key_error("a key that does not exist");
  if (PyDict_SetItem(seen.ptr(), handle.ptr(), reference.ptr()) < 0) throw nb::python_error();
  if (held && PyDict_SetItem(held->ptr(), handle.ptr(), actor.ptr()) < 0) {
    nb::python_error error;
    if (PyDict_DelItem(seen.ptr(), handle.ptr()) < 0) PyErr_Clear();
    throw error;
  }
  static_cast<std::uint8_t*>(alive.data())[row] = 1;
  changed.data()[row] = 1;
  for (const Entry& entry : entries) PyDict_SetItem(entry.to.ptr(), entry.key.ptr(), entry.value.ptr());
  for (const Entry& slot : slots) PyObject_GenericSetAttr(slot.to.ptr(), slot.key.ptr(), slot.value.ptr());
}

// Writes a few finite numbers, an array or a sequence, to a row of an array of float64; false, and nothing has been
// written, where they are something else, which others look at.
bool write_row(nb::handle array, std::size_t row, nb::handle numbers) {
  double values[4];
  const std::size_t count = FewNumbers(numbers, values).length();
  if (count == 0) return false;
  if (!std::all_of(values, values + count, [](double x) { return std::isfinite(x); })) return false;
  Py_buffer to;
  if (PyObject_GetBuffer(array.ptr(), &to, PyBUF_FORMAT | PyBUF_ND | PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool fits = std::strcmp(to.format, "d") == 0 && to.ndim == 2 && to.shape[1] == static_cast<Py_ssize_t>(count) &&
                    row < static_cast<std::size_t>(to.shape[0]);
  if (fits) std::copy_n(values, count, static_cast<double*>(to.buf) + row * count);
  PyBuffer_Release(&to);
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
      "Write (to, from) or (to, from, rows), where `from` is an array, a flag, None for zeros, or lower and upper "
      "corners, without rows those of the first ones; then update (to, from) dictionaries, items and shapes: all of "
      "it, or nothing.");
  module.def("insert_body", &insert_body, "rows"_a, "columns"_a, "alive"_a.noconvert(), "changed"_a.noconvert(),
             "row"_a, "actor"_a, "world"_a, "handle"_a, "data"_a.none(), "seen"_a, "reference"_a, "held"_a.none(),
             "Take a row into use behind all others, with its actor: all of it, or nothing.");
  module.def("write_row", &write_row, "array"_a, "row"_a, "numbers"_a,
             "Write a few finite numbers to a row; false, and nothing is written, where they are something else.");
  module.def("deliver", &deliver, "queue"_a, "function"_a, "argument"_a,
             "Take the first entry from a deque and call a function, with no signal in between.");
}

}  // namespace broadphase::python
