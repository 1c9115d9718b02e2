// Arrays of a few numbers, in and out: a conversion through nanobind would take longer than a query.
#pragma once

#include <algorithm>
#include <cstddef>

#include "bindings.hpp"

namespace broadphase::python {

// What belongs to NumPy, looked up once.
struct NumPy {
  PyObject *array, *empty, *int32, *int64, *float64;

  static const NumPy& get() {
    static const NumPy numpy = [] {
      const nb::module_ module = nb::module_::import_("numpy");
      const auto dtype = [&](const char* name) { return module.attr("dtype")(name).release().ptr(); };
      const auto kept = [&](const char* name) { return nb::object(module.attr(name)).release().ptr(); };
      return NumPy{kept("ndarray"), kept("empty"), dtype("int32"), dtype("int64"), dtype("float64")};
    }();
    return numpy;
  }
};

// A copy of some values as an array; of shape (rows, columns) unless there are 0 columns.
template <class T>
nb::object small_array(const T* values, std::size_t rows, std::size_t columns, PyObject* dtype) {
  nb::object shape = nb::steal(columns == 0 ? PyLong_FromSize_t(rows) : Py_BuildValue("(nn)", rows, columns));
  PyObject* arguments[] = {nullptr, shape.ptr(), dtype};
  nb::object array =
      nb::steal(PyObject_Vectorcall(NumPy::get().empty, arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  Py_buffer view;
  if (!array.is_valid() || PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
  std::copy_n(values, rows * std::max<std::size_t>(1, columns), static_cast<T*>(view.buf));
  PyBuffer_Release(&view);
  return array;
}

}  // namespace broadphase::python
