// Changes that happen whole or not at all: everything is checked, and then written by one call, which no signal
// divides.
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bindings.hpp"
#include "change.hpp"

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
  static const nb::handle kSlots = interned("slots"), kLiving = interned("living"),
                          kFirstFree = interned("_first_free"), kNumbers = interned("_numbers"),
                          kViews = interned("_views"), kVersion = interned("version"),
                          kNames[] = {interned("_world"), interned("_handle"), interned("_data")};
  const auto one_more = [](const nb::dict& dict, nb::handle key) {
    return nb::int_(nb::cast<std::size_t>(dict[key]) + 1);
  };
  const nb::object end = nb::int_(row + 1), living = one_more(rows, kLiving), none = nb::none(),
                   version = one_more(columns, kVersion);
  const Entry entries[] = {{rows, kSlots, end},    {rows, kLiving, living}, {rows, kFirstFree, end},
                           {rows, kNumbers, none}, {rows, kViews, none},    {columns, kVersion, version}};
  for (const Entry& entry : entries)
    if (PyDict_Contains(entry.to.ptr(), entry.key.ptr()) != 1) throw nb::key_error("a key that does not exist");
  const nb::handle values[] = {world, handle, data};
  if (PyDict_SetItem(seen.ptr(), handle.ptr(), reference.ptr()) < 0) throw nb::python_error();
  if (held && PyDict_SetItem(held->ptr(), handle.ptr(), actor.ptr()) < 0) {
    nb::python_error error;
    if (PyDict_DelItem(seen.ptr(), handle.ptr()) < 0) PyErr_Clear();
    throw error;
  }
  static_cast<std::uint8_t*>(alive.data())[row] = 1;
  changed.data()[row] = 1;
  for (const Entry& entry : entries) PyDict_SetItem(entry.to.ptr(), entry.key.ptr(), entry.value.ptr());
  for (std::size_t k = 0; k < 3; ++k) PyObject_GenericSetAttr(actor.ptr(), kNames[k].ptr(), values[k].ptr());
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
      "commit", &commit, nb::arg("arrays"), nb::arg("dictionaries"), nb::arg("items") = nb::list(),
      nb::arg("shapes") = nb::list(), nb::arg("workers") = 1,
      "Write (to, from) or (to, from, rows), where `from` is an array, a flag, None for zeros, or lower and upper "
      "corners, without rows those of the first ones; then update (to, from) dictionaries, items and shapes: all of "
      "it, or nothing.");
  module.def("insert_body", &insert_body, nb::arg("rows"), nb::arg("columns"), nb::arg("alive").noconvert(),
             nb::arg("changed").noconvert(), nb::arg("row"), nb::arg("actor"), nb::arg("world"), nb::arg("handle"),
             nb::arg("data").none(), nb::arg("seen"), nb::arg("reference"), nb::arg("held").none(),
             "Take a row into use behind all others, with its actor: all of it, or nothing.");
  module.def("deliver", &deliver, nb::arg("queue"), nb::arg("function"), nb::arg("argument"),
             "Take the first entry from a deque and call a function, with no signal in between.");
}

}  // namespace broadphase::python
