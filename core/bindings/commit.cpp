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

namespace broadphase::python {

namespace {

// The numbers of an array of NumPy.
class BufferView {
 public:
  BufferView(nb::handle array, int flags) : is_any_(PyObject_GetBuffer(array.ptr(), &view_, flags) == 0) {
    if (!is_any_) PyErr_Clear();
  }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  ~BufferView() {
    if (is_any_) PyBuffer_Release(&view_);
  }
  bool is_float64() const { return is_any_ && view_.format != nullptr && std::strcmp(view_.format, "d") == 0; }
  const Py_buffer* operator->() const { return &view_; }

 private:
  Py_buffer view_;
  bool is_any_;
};

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

// Writes a few finite numbers, an array or a sequence of floats, to a row of an array of float64; false, and nothing
// has been written, where they are something else, which others look at.
bool write_row(nb::handle array, std::size_t row, nb::handle numbers) {
  constexpr Py_ssize_t kMost = 4;
  double values[kMost];
  Py_ssize_t count = 0;
  if (Py_TYPE(numbers.ptr()) == Py_TYPE(array.ptr())) {
    const BufferView view(numbers, PyBUF_FORMAT | PyBUF_ND | PyBUF_STRIDES);
    if (!view.is_float64() || view->ndim != 1 || view->shape[0] > kMost) return false;
    for (count = 0; count < view->shape[0]; ++count)
      values[count] =
          *reinterpret_cast<const double*>(static_cast<const std::byte*>(view->buf) + count * view->strides[0]);
  } else if (PyTuple_CheckExact(numbers.ptr()) || PyList_CheckExact(numbers.ptr())) {
    if (count = PySequence_Fast_GET_SIZE(numbers.ptr()); count > kMost) return false;
    for (Py_ssize_t k = 0; k < count; ++k) {
      PyObject* number = PySequence_Fast_GET_ITEM(numbers.ptr(), k);
      if (!PyFloat_Check(number)) return false;
      values[k] = PyFloat_AS_DOUBLE(number);
    }
  } else {
    return false;
  }
  for (Py_ssize_t k = 0; k < count; ++k)
    if (!std::isfinite(values[k])) return false;
  const BufferView to(array, PyBUF_FORMAT | PyBUF_ND | PyBUF_WRITABLE);
  if (!to.is_float64() || to->ndim != 2 || to->shape[1] != count || row >= static_cast<std::size_t>(to->shape[0]))
    return false;
  std::copy_n(values, count, static_cast<double*>(to->buf) + row * static_cast<std::size_t>(count));
  return true;
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
  module.def("write_row", &write_row, nb::arg("array"), nb::arg("row"), nb::arg("numbers"),
             "Write a few finite numbers to a row; false, and nothing is written, where they are something else.");
  module.def("deliver", &deliver, nb::arg("queue"), nb::arg("function"), nb::arg("argument"),
             "Take the first entry from a deque and call a function, with no signal in between.");
}

}  // namespace broadphase::python
