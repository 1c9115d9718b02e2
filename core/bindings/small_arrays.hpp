// Arrays of a few numbers, in and out: a conversion through nanobind would take longer than a query.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>

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

// The numbers of an array of NumPy, of a list or of a tuple, read one by one.
class FewNumbers {
 public:
  explicit FewNumbers(nb::handle from) : from_(from.ptr()) {
    if (Py_TYPE(from_) == reinterpret_cast<PyTypeObject*>(NumPy::get().array)) {
      is_array_ = PyObject_GetBuffer(from_, &view_, PyBUF_FORMAT | PyBUF_STRIDES) == 0;
      if (!is_array_) PyErr_Clear();
    } else {
      is_tuple_ = PyTuple_Check(from_) && Py_TYPE(from_)->tp_iter == PyTuple_Type.tp_iter;
      if (is_tuple_ || PyList_CheckExact(from_)) length_ = PySequence_Fast_GET_SIZE(from_);
    }
  }
  FewNumbers(const FewNumbers&) = delete;
  FewNumbers& operator=(const FewNumbers&) = delete;
  ~FewNumbers() {
    if (is_array_) PyBuffer_Release(&view_);
  }

  bool is_array() const { return is_array_; }
  // Whether each row has this shape, of one axis or two; or none: then rows are single numbers.
  bool has_rows_of(std::initializer_list<std::size_t> row) const {
    if (!is_array_) return length_ >= 0 && row.size() == 0;
    return view_.ndim == static_cast<int>(row.size()) + 1 &&
           std::equal(row.begin(), row.end(), view_.shape + 1,
                      [](std::size_t wanted, Py_ssize_t length) { return static_cast<Py_ssize_t>(wanted) == length; });
  }
  std::size_t rows() const { return static_cast<std::size_t>(is_array_ ? view_.shape[0] : length_); }

  // Reads all, in the order of the axes. False, with `to` in any state, unless all are floats or ints. Precondition:
  // they have rows of a shape.
  bool read(double* to) const {
    if (!is_array_) return read_sequence(to);
    std::array<Py_ssize_t, 3> counts{1, 1, 1}, steps{};
    std::copy_n(view_.shape, view_.ndim, counts.end() - view_.ndim);
    std::copy_n(view_.strides, view_.ndim, steps.end() - view_.ndim);
    for (Py_ssize_t i = 0; i < counts[0]; ++i)
      for (Py_ssize_t j = 0; j < counts[1]; ++j)
        for (Py_ssize_t k = 0; k < counts[2]; ++k)
          if (!read_number(static_cast<const char*>(view_.buf) + i * steps[0] + j * steps[1] + k * steps[2], *to++))
            return false;
    return true;
  }

  // Where an array begins, if its numbers are one after another.
  const void* first() const { return is_array_ && view_.strides[0] == view_.itemsize ? view_.buf : nullptr; }

 private:
  template <class T>
  static double number(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof(value));
    return static_cast<double>(value);
  }
  bool read_number(const char* at, double& to) const {
    if (view_.format[0] == '\0' || view_.format[1] != '\0') return false;
    switch (view_.format[0]) {
      case 'd': to = number<double>(at); return true;
      case 'f': to = number<float>(at); return true;
      case 'i': to = number<int>(at); return true;
      case 'l': to = number<long>(at); return true;
      case 'q': to = number<long long>(at); return true;
      default: return false;
    }
  }
  bool read_sequence(double* to) const {
    for (Py_ssize_t k = 0; k < length_; ++k) {
      const nb::object item =
          is_tuple_ ? nb::borrow(PyTuple_GET_ITEM(from_, k)) : nb::steal(PySequence_GetItem(from_, k));
      if (!item.is_valid()) {  // another thread has shortened the list
        PyErr_Clear();
        return false;
      }
      if (PyFloat_Check(item.ptr())) {  // numpy.float64 too
        to[k] = PyFloat_AS_DOUBLE(item.ptr());
        continue;
      }
      if (!PyLong_CheckExact(item.ptr())) return false;
      to[k] = PyLong_AsDouble(item.ptr());
      if (to[k] == -1.0 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return false;
      }
    }
    return true;
  }

  PyObject* from_;
  Py_buffer view_;
  Py_ssize_t length_ = -1;  // of a list or a tuple
  bool is_array_ = false, is_tuple_ = false;
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
