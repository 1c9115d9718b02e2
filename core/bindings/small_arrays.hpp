// Arrays of a few numbers, in and out: a conversion through nanobind would take longer than a query.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "bindings.hpp"

namespace broadphase::python {

// What belongs to NumPy, looked up once.
struct NumPy {
  PyObject *array, *empty, *int32, *int64, *float64, *boolean;  // the class, a function, dtypes
  PyObject *float32_number, *int32_number, *int64_number;       // classes of single numbers

  static const NumPy& get() {
    static const NumPy numpy = [] {
      const nb::module_ module = nb::module_::import_("numpy");
      const auto dtype = [&](const char* name) { return module.attr("dtype")(name).release().ptr(); };
      const auto kept = [&](const char* name) { return nb::object(module.attr(name)).release().ptr(); };
      return NumPy{kept("ndarray"), kept("empty"),   dtype("int32"), dtype("int64"), dtype("float64"),
                   dtype("bool"),   kept("float32"), kept("int32"),  kept("int64")};
    }();
    return numpy;
  }
};

// Reads an int, or an int32 or int64 of NumPy. False where it is something else, or out of range.
inline bool read_whole(PyObject* from, long long& to) {
  int overflow = 0;
  if (PyLong_CheckExact(from)) {
    to = PyLong_AsLongLongAndOverflow(from, &overflow);
    return overflow == 0;
  }
  const NumPy& numpy = NumPy::get();
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(from));
  if (type != numpy.int64_number && type != numpy.int32_number) return false;
  const nb::object number = nb::steal(PyNumber_Index(from));
  if (!number.is_valid()) {
    PyErr_Clear();
    return false;
  }
  to = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  return overflow == 0;
}

// Every whole number up to here is a double. Beyond, numbers are left to Python, which refuses them.
inline bool is_exact(long long number) {
  constexpr long long kLargest = 1LL << 53;
  return -kLargest <= number && number <= kLargest;
}

// Reads a float, an int, or a number of NumPy: int32, int64, float32 or float64. False where it is something else.
inline bool read_number(PyObject* from, double& to) {
  if (PyFloat_Check(from)) {  // numpy.float64 too
    to = PyFloat_AS_DOUBLE(from);
    return true;
  }
  if (reinterpret_cast<PyObject*>(Py_TYPE(from)) == NumPy::get().float32_number) {
    to = PyFloat_AsDouble(from);
    return true;
  }
  long long whole = 0;
  if (!read_whole(from, whole) || !is_exact(whole)) return false;
  to = static_cast<double>(whole);
  return true;
}

// The memory of an array, which stays as long as this holds it.
struct HeldBuffer {
  Py_buffer view;
  bool is_held;

  explicit HeldBuffer(PyObject* of) : is_held(PyObject_GetBuffer(of, &view, PyBUF_FORMAT | PyBUF_STRIDES) == 0) {
    if (!is_held) PyErr_Clear();
  }
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;
  ~HeldBuffer() {
    if (is_held) PyBuffer_Release(&view);
  }
};

// A few numbers given as an array of NumPy, a list or a tuple, nested or not, as NumPy converts them to float64. What
// NumPy would refuse, and what is rare (other dtypes, no numbers, too many), is not read: the general way in Python
// converts it, or raises.
//
//     double place[4 * kMost];
//     const FewNumbers given(points, place);
//     if (const std::optional<FewRows> rows = given.rows_of({dimension})) ...
struct FewRows {
  std::size_t count;
  bool is_one;  // it was given without an axis of rows
};

class FewNumbers {
 public:
  static constexpr std::size_t kMostAxes = 3;

  FewNumbers(nb::handle from, double* to, std::size_t room) : to_(to), end_(to + room) {
    if (!read(from.ptr(), 0)) axes_ = 0;
  }
  template <std::size_t room>
  FewNumbers(nb::handle from, double (&to)[room]) : FewNumbers(from, to, room) {}
  FewNumbers(const FewNumbers&) = delete;
  FewNumbers& operator=(const FewNumbers&) = delete;

  // Of what was read; 0 where it was not.
  std::size_t axes() const { return axes_; }
  std::size_t length_along(std::size_t axis) const { return shape_[axis]; }
  bool has_shape(std::initializer_list<std::size_t> shape) const {
    return axes_ == shape.size() && std::equal(shape.begin(), shape.end(), shape_);
  }
  // How many numbers stand along a single axis; 0 where it is not such.
  std::size_t length() const { return axes_ == 1 ? shape_[0] : 0; }
  // Rows of this shape, or one without an axis of rows.
  std::optional<FewRows> rows_of(std::initializer_list<std::size_t> row) const {
    if (has_shape(row)) return FewRows{1, true};
    if (axes_ != row.size() + 1 || !std::equal(row.begin(), row.end(), shape_ + 1)) return std::nullopt;
    return FewRows{shape_[0], false};
  }

  // Where an array of one axis begins, if its numbers are one after another; for comparison only.
  const void* first() const { return first_; }

 private:
  // Reads what stands at some depth.
  bool read(PyObject* from, std::size_t axis) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(from)) == NumPy::get().array) return read_array(from, axis);
    const bool is_tuple = PyTuple_Check(from) && Py_TYPE(from)->tp_iter == PyTuple_Type.tp_iter;
    if (!is_tuple && !PyList_CheckExact(from)) return false;
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(from);
    if (!has_length(axis, length)) return false;
    for (Py_ssize_t k = 0; k < length; ++k) {
      const nb::object item = is_tuple ? nb::borrow(PyTuple_GET_ITEM(from, k)) : nb::steal(PySequence_GetItem(from, k));
      if (!item.is_valid()) {  // another thread has shortened the list
        PyErr_Clear();
        return false;
      }
      double number = 0;
      const bool is_number = read_number(item.ptr(), number);
      if (is_number ? !put(number, axis + 1) : !read(item.ptr(), axis + 1)) return false;
    }
    return true;
  }

  bool read_array(PyObject* from, std::size_t axis) {
    const HeldBuffer buffer(from);
    const Py_buffer& view = buffer.view;
    if (!buffer.is_held || view.ndim == 0 || axis + static_cast<std::size_t>(view.ndim) > kMostAxes) return false;
    if (view.format[0] == '\0' || view.format[1] != '\0') return false;
    std::array<Py_ssize_t, kMostAxes> counts{1, 1, 1}, steps{};
    for (int k = 0; k < view.ndim; ++k)
      if (!has_length(axis + static_cast<std::size_t>(k), view.shape[k])) return false;
    std::copy_n(view.shape, view.ndim, counts.end() - view.ndim);
    std::copy_n(view.strides, view.ndim, steps.end() - view.ndim);
    if (counts[0] * counts[1] * counts[2] > end_ - to_) return false;  // no product of a few small numbers overflows
    if (axis == 0 && view.ndim == 1 && view.strides[0] == view.itemsize) first_ = view.buf;
    const std::size_t depth = axis + static_cast<std::size_t>(view.ndim);
    for (Py_ssize_t i = 0; i < counts[0]; ++i)
      for (Py_ssize_t j = 0; j < counts[1]; ++j)
        for (Py_ssize_t k = 0; k < counts[2]; ++k) {
          double number = 0;
          const char* at = static_cast<const char*>(view.buf) + i * steps[0] + j * steps[1] + k * steps[2];
          if (!read_item(at, view.format[0], number) || !put(number, depth)) return false;
        }
    return true;
  }
  static bool read_item(const char* at, char format, double& to) {
    const auto value = [&]<class T>(T number) {
      std::memcpy(&number, at, sizeof(number));
      to = static_cast<double>(number);
      return std::is_floating_point_v<T> || is_exact(static_cast<long long>(number));
    };
    switch (format) {
      case 'd': return value(double());
      case 'f': return value(float());
      case 'i': return value(int());
      case 'l': return value(long());
      case 'q': return value(static_cast<long long>(0));
      default: return false;
    }
  }

  // All parts at one depth have one length, and all numbers stand at one depth.
  bool has_length(std::size_t axis, Py_ssize_t given) {
    if (axis >= kMostAxes || given == 0 || given > end_ - to_ || (axes_ != 0 && axis >= axes_)) return false;
    const auto length = static_cast<std::size_t>(given);
    if (shape_[axis] == 0) shape_[axis] = length;
    return shape_[axis] == length;
  }
  bool put(double number, std::size_t depth) {
    if (to_ == end_ || (axes_ != 0 && axes_ != depth)) return false;
    axes_ = depth;
    *to_++ = number;
    return true;
  }

  double *to_, *end_;
  std::size_t axes_ = 0, shape_[kMostAxes] = {};
  const void* first_ = nullptr;
};

// A new array of NumPy, to be filled: of shape (rows, columns) unless there are 0 columns.
template <class T>
struct NewTable {
  nb::object array;
  T* data = nullptr;

  NewTable(std::size_t rows, std::size_t columns, PyObject* dtype = dtype_of()) {
    nb::object shape = nb::steal(columns == 0 ? PyLong_FromSize_t(rows) : Py_BuildValue("(nn)", rows, columns));
    PyObject* arguments[] = {nullptr, shape.ptr(), dtype};
    array =
        nb::steal(PyObject_Vectorcall(NumPy::get().empty, arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    Py_buffer view;
    if (!array.is_valid() || PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
    data = static_cast<T*>(view.buf);
    PyBuffer_Release(&view);  // the memory stays where it is
  }

 private:
  static PyObject* dtype_of() {
    if constexpr (std::is_same_v<T, double>) {
      return NumPy::get().float64;
    } else {
      static_assert(std::is_same_v<T, std::int32_t>);
      return NumPy::get().int32;
    }
  }
};

// A copy of some values as an array; of shape (rows, columns) unless there are 0 columns.
template <class T>
nb::object small_array(const T* values, std::size_t rows, std::size_t columns, PyObject* dtype) {
  NewTable<T> table(rows, columns, dtype);
  std::copy_n(values, rows * std::max<std::size_t>(1, columns), table.data);
  return std::move(table.array);
}

}  // namespace broadphase::python
