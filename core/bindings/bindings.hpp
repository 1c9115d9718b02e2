// What all files of the Python module share: conversions of arrays, boxes and results.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "boxes/any_boxes.hpp"
#include "boxes/box_view.hpp"
#include "gil.hpp"
#include "query/collect.hpp"
#include "query/problem.hpp"
#include "query/ragged.hpp"
#include "simd/kernels.hpp"

namespace nb = nanobind;

namespace broadphase::python {

using namespace nb::literals;

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = Vector<std::int32_t>;
using Flags = Vector<std::uint8_t>;
using WrittenFlags = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Lower and upper numbers of each row: (n, 2, d).
using Boxes = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Rows of `lower` and `upper`, (n, d) arrays of T whose last axis is contiguous (checked in Python).
template <class T>
BoxView<T> view(const AnyArray& lower, const AnyArray& upper) {
  return {static_cast<const T*>(lower.data()), static_cast<const T*>(upper.data()), lower.stride(0), upper.stride(0),
          lower.shape(0)};
}

// Calls use(view) with the boxes in their own dtype.
template <class Use>
auto with_boxes(const AnyArray& lower, const AnyArray& upper, Use&& use) {
  return lower.dtype() == nb::dtype<float>() ? use(view<float>(lower, upper)) : use(view<double>(lower, upper));
}

inline AnyBoxes any_boxes(const AnyArray& lower, const AnyArray& upper) {
  return with_boxes(lower, upper, [&](const auto& boxes) { return AnyBoxes(boxes, lower.shape(1)); });
}

// An array of some values, which lives as long as it keeps what holds them.
template <class T, class Holder>
nb::object array_in(Holder&& holder, T* values, std::initializer_list<std::size_t> shape,
                    const std::int64_t* strides = nullptr) {
  using Kept = std::remove_cvref_t<Holder>;
  auto kept = std::make_unique<Kept>(std::forward<Holder>(holder));
  nb::capsule owner(kept.get(), [](void* held) noexcept { delete static_cast<Kept*>(held); });
  (void)kept.release();
  return nb::cast(nb::ndarray<nb::numpy, T>(values, shape.size(), shape.begin(), owner, strides));
}

// Arrays that take over the values of vectors and blocks.
template <class T>
nb::object as_array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  T* data = values.data();
  return array_in(std::move(values), data, shape);
}
template <class T>
nb::object as_array(std::vector<T>&& values) {
  const std::size_t size = values.size();
  return as_array(std::move(values), {size});
}
template <class T>
nb::object as_table(std::vector<T>&& values, std::size_t columns) {
  const std::size_t rows = values.size() / columns;
  return as_array(std::move(values), {rows, columns});
}
template <class T>
nb::object as_array(PlainMemory<T>&& block, std::initializer_list<std::size_t> shape) {
  T* data = block.get();
  return array_in(std::move(block), data, shape);
}
// One whose memory waits for the next call when Python drops it.
template <class T>
nb::object as_array(PlainArray<T>&& values, std::initializer_list<std::size_t> shape) {
  T* data = values.get();
  return array_in(std::move(values), data, shape);
}
template <class T>
nb::object as_array(PlainArray<T>&& values) {
  const std::size_t size = values.size();
  return as_array(std::move(values), {size});
}
// (m, 2): two contiguous columns, seen as rows.
inline nb::object as_array(Pairs&& pairs) {
  if (pairs.block == nullptr) pairs.block = allocate_pairs(0);
  std::int32_t* data = pairs.block.get();
  const std::int64_t strides[2] = {1, static_cast<std::int64_t>(std::max<std::size_t>(pairs.stride, 1))};
  return array_in(std::move(pairs.block), data, {pairs.size, 2}, strides);
}

// A tuple of arrays that take over vectors and pairs; other values are there as they are.
template <class Value>
decltype(auto) as_part(Value&& value) {
  if constexpr (requires { as_array(std::forward<Value>(value)); })
    return as_array(std::forward<Value>(value));
  else
    return std::forward<Value>(value);
}
template <class... Values>
nb::tuple as_tuple(Values&&... values) {
  return nb::make_tuple(as_part(std::forward<Values>(values))...);
}
inline nb::tuple as_tuple(Ragged&& answers) { return as_tuple(std::move(answers.rows), std::move(answers.offsets)); }
inline nb::tuple as_tuple(RaggedBlocks&& answers) {
  return as_tuple(std::move(answers.rows), std::move(answers.offsets));
}

// A text as an argument of templates.
template <std::size_t N>
struct Text {
  char text[N];
  consteval Text(const char (&from)[N]) { std::copy_n(from, N, text); }
};

// A key of dictionaries. Made once: a new string would have to be hashed, and compared with the key that is there. It
// lives for ever.
template <Text name>
PyObject* name_of() {
  static PyObject* const string = [] {
    PyObject* made = PyUnicode_InternFromString(name.text);
    if (made == nullptr) throw nb::python_error();
    return made;
  }();
  return string;
}

// Below, releasing the GIL takes longer than the work.
constexpr std::size_t kWorthLettingGo = 4096;

template <class Use>
auto without_gil(std::size_t count, Use&& use) {
  if (count < kWorthLettingGo) return use();
  const ReleasedGil release;
  return use();
}

// Runs pending Python signal handlers, from a thread that has released the GIL, and tells who watches this thread how
// far a search has come; true if one of these has raised.
bool signal_pending(std::size_t done, std::size_t total);

// Calls work(interrupt) without the GIL, and returns what it returns.
template <class Work>
auto at_work(Work&& work) {
  const ReleasedGil release;
  Interrupt interrupt(signal_pending);
  return work(interrupt);
}

// Calls use(std::integral_constant<std::size_t, D>()): worlds and shapes are in the plane or in space.
template <class Use>
auto in_plane_or_space(std::size_t dimension, Use&& use) {
  if (dimension != 2 && dimension != 3) throw nb::value_error("2 or 3 numbers a row are needed");
  return dimension == 2 ? use(std::integral_constant<std::size_t, 2>()) : use(std::integral_constant<std::size_t, 3>());
}

// Calls use(view, interrupt) with the boxes in their own dtype, without the GIL.
template <class Use>
auto on_boxes(const AnyArray& lower, const AnyArray& upper, Use&& use) {
  return at_work([&](Interrupt& interrupt) {
    return with_boxes(lower, upper, [&](const auto& boxes) { return use(boxes, interrupt); });
  });
}

// Boxes of an outline as they are found, and the level of each.
struct Outline {
  explicit Outline(std::size_t of) : dimension(of) {}
  nb::tuple as_tuple() && {
    return python::as_tuple(as_table(std::move(lower), dimension), as_table(std::move(upper), dimension),
                            std::move(level));
  }
  std::size_t dimension;
  std::vector<double> lower, upper;
  std::vector<std::int32_t> level;
};

// Null where there is none.
template <class Array>
auto data_of(const std::optional<Array>& array) {
  return array ? array->data() : nullptr;
}

inline void require(bool fits) {
  if (!fits) throw nb::value_error("the arrays differ in their number of rows or of columns");
}

const Kernels& chosen_kernels();

}  // namespace broadphase::python
