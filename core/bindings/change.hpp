// What a change of a world writes besides arrays and dictionaries: shapes, single entries of dictionaries, attributes.
// Made, each is checked and has all the memory that it needs: `write` cannot fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/with_dimension.hpp"
#include "bindings.hpp"
#include "boxes/box_view.hpp"
#include "placed_shapes.hpp"
#include "world/placing.hpp"

namespace broadphase::python {

// One array that is to be written to. Made, it is checked, and writing cannot fail.
class Writing {
 public:
  // `rows` are those of the entry before: often these are the same object.
  Writing(const nb::tuple& entry, std::pair<nb::object, Rows>& rows) : to_(nb::cast<Target>(entry[0], false)) {
    if (entry.size() < 2 || entry.size() > 3 || to_.ndim() == 0) throw nb::value_error("not something to be written");
    const std::size_t size = to_.shape(0);
    count_ = size;
    width_ = size > 0 ? to_.nbytes() / size : 0;
    if (entry.size() == 3 && !entry[2].is_none()) {
      if (!rows.first.is(entry[2])) rows = {entry[2], nb::cast<Rows>(entry[2], false)};
      rows_ = rows.second.data();
      count_ = rows.second.shape(0);
      for (std::size_t k = 0; k < count_; ++k)
        if (static_cast<std::size_t>(rows_[k]) >= size) throw nb::value_error("a row that does not exist");
    }
    const nb::object from = entry[1];
    if (nb::isinstance<nb::tuple>(from))
      take_boxes(nb::cast<nb::tuple>(from));
    else if (nb::isinstance<nb::bool_>(from))
      take_flag(nb::cast<bool>(from));
    else if (nb::isinstance<nb::int_>(from))
      take_number(nb::cast<std::int64_t>(from));
    else if (!from.is_none())
      take(nb::cast<Source>(from, false));
  }

  std::size_t count() const { return count_; }

  // Parts that threads may write at once: a few of a large array all of which is written, otherwise one.
  std::size_t parts() const {
    constexpr std::size_t kBytesAPart = std::size_t{1} << 18;
    return rows_ == nullptr ? count_ * width_ / kBytesAPart + 1 : 1;
  }
  void write(std::size_t part) const noexcept {
    if (form_ == Form::boxes) {
      const EvenSplit split{count_, parts()};
      write_boxes(split.at(part), split.at(part + 1));
      return;
    }
    if (rows_ != nullptr) {
      write();
      return;
    }
    if (form_ == Form::number) {
      const EvenSplit split{count_, parts()};
      std::fill(static_cast<std::int64_t*>(to_.data()) + split.at(part),
                static_cast<std::int64_t*>(to_.data()) + split.at(part + 1), number_);
      return;
    }
    const EvenSplit split{count_ * width_, parts()};
    const std::size_t begin = split.at(part), size = split.at(part + 1) - begin;
    auto* to = static_cast<std::byte*>(to_.data()) + begin;
    if (form_ == Form::values)
      std::memcpy(to, static_cast<const std::byte*>(values_.data()) + begin, size);
    else
      std::memset(to, flag_, size);
  }

 private:
  enum class Form : std::uint8_t { flag, number, values, boxes };
  using Target = nb::ndarray<nb::c_contig, nb::device::cpu>;
  using Source = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

  void write_boxes(std::size_t begin, std::size_t end) const noexcept {
    with_boxes(lower_, upper_, [&]<class T>(const BoxView<T>& boxes) {
      with_dimension(lower_.shape(1), [&](auto d) {
        T* const to = static_cast<T*>(to_.data());
        keep_boxes<d()>(boxes.part(begin, end), rows_, rows_ == nullptr ? to + begin * 2 * d() : to);
      });
    });
  }
  // To some rows.
  void write() const noexcept {
    auto* to = static_cast<std::byte*>(to_.data());
    if (form_ == Form::flag)
      for (std::size_t k = 0; k < count_; ++k) std::memset(to + at(k) * width_, flag_, width_);
    else if (width_ == 8)
      copy_rows(static_cast<std::uint64_t*>(to_.data()), static_cast<const std::uint64_t*>(values_.data()));
    else
      for (std::size_t k = 0; k < count_; ++k)
        std::memcpy(to + at(k) * width_, static_cast<const std::byte*>(values_.data()) + k * width_, width_);
  }

  void take_boxes(const nb::tuple& corners) {
    if (corners.size() != 2) throw nb::value_error("boxes are lower and upper corners");
    lower_ = nb::cast<AnyArray>(corners[0], false), upper_ = nb::cast<AnyArray>(corners[1], false);
    form_ = Form::boxes;
    if (rows_ == nullptr) count_ = std::min(count_, lower_.shape(0));
    const auto fits = [&](const AnyArray& corner) {
      return corner.ndim() == 2 && corner.dtype() == to_.dtype() && corner.shape(0) == count_ &&
             corner.shape(1) == to_.shape(2) && (corner.shape(0) == 0 || corner.stride(1) == 1);
    };
    if (to_.ndim() != 3 || to_.shape(1) != 2 || !fits(lower_) || !fits(upper_)) throw_misfit();
  }
  void take_flag(bool flag) {
    flag_ = flag;
    if (to_.dtype().bits != 8) throw_misfit();
  }
  void take_number(std::int64_t number) {
    number_ = number;
    form_ = Form::number;
    if (rows_ != nullptr || to_.ndim() != 1 || to_.dtype() != nb::dtype<std::int64_t>()) throw_misfit();
  }
  void take(Source&& values) {
    if (values.dtype() != to_.dtype() || values.nbytes() != count_ * width_) throw_misfit();
    values_ = std::move(values);
    form_ = Form::values;
  }
  [[noreturn]] static void throw_misfit() {
    throw nb::value_error("the array that is given does not fit the one that is to be written");
  }

  std::size_t at(std::size_t k) const { return static_cast<std::size_t>(rows_[k]); }
  template <class T>
  void copy_rows(T* to, const T* from) const {
    for (std::size_t k = 0; k < count_; ++k) to[at(k)] = from[k];
  }

  Target to_;
  std::size_t count_ = 0, width_ = 0;   // of rows; bytes of each
  const std::int32_t* rows_ = nullptr;  // null: all of them
  Form form_ = Form::flag;
  bool flag_ = false;
  std::int64_t number_ = 0;
  Source values_;
  AnyArray lower_, upper_;
};

// Shapes that rows are given: (store, rows, kinds, sizes, numbers), and to be placed at once
// (..., positions, rotations or None, boxes), arrays by row. Without kinds: the shapes that they have are placed.
class ShapeWriting {
 public:
  explicit ShapeWriting(const nb::tuple& entry)
      : shapes_(nb::cast<PlacedShapes&>(entry[0])), owner_(entry[0]), rows_(nb::cast<Rows>(entry[1], false)) {
    if (entry.size() == 8) {
      positions_ = nb::cast<Written>(entry[5], false);
      if (!entry[6].is_none()) rotations_ = nb::cast<Written>(entry[6], false);
      boxes_ = nb::cast<Written>(entry[7], false);
      for (std::size_t k = 0; k < rows_.shape(0); ++k)
        if (static_cast<std::size_t>(rows_.data()[k]) >= positions_->shape(0))
          throw nb::value_error("a row that does not exist");
    }
    if (entry[2].is_none()) {
      for (std::size_t k = 0; k < rows_.shape(0); ++k)
        if (!shapes_.store.has(static_cast<std::size_t>(rows_.data()[k]))) throw nb::value_error("a row has no shape");
      return;
    }
    kinds_ = nb::cast<Vector<std::uint8_t>>(entry[2], false);
    sizes_ = nb::cast<Rows>(entry[3], false);
    numbers_ = nb::cast<Vector<double>>(entry[4], false);
    shapes_.make_room(rows_, *kinds_, *sizes_, *numbers_);
  }

  void write() const noexcept {
    if (kinds_) shapes_.put(rows_, *kinds_, *sizes_, *numbers_);
    if (!positions_) return;
    if (shapes_.dimension == 2)
      place<2>();
    else
      place<3>();
  }

 private:
  template <std::size_t D>
  void place() const noexcept {
    double* rotations = rotations_ ? rotations_->data() : nullptr;
    const Poses<D> poses{positions_->data(), rotations, positions_->data(), rotations, boxes_->data()};
    for (std::size_t k = 0; k < rows_.shape(0); ++k)
      place_row<D>(shapes_.store, poses, static_cast<std::size_t>(rows_.data()[k]));
  }

  PlacedShapes& shapes_;
  nb::object owner_;
  Rows rows_;
  std::optional<Vector<std::uint8_t>> kinds_;
  std::optional<Rows> sizes_;
  std::optional<Vector<double>> numbers_;
  std::optional<Written> positions_, rotations_, boxes_;
};

// Entries: (dictionary, key, value) to be set, (dictionary, key) to be deleted, (object, name, value) for an attribute
// that is stored in a slot. New keys are inserted here, and deleted again if nothing is written.
class ItemWritings {
 public:
  explicit ItemWritings(const nb::list& entries) {
    entries_.reserve(entries.size());
    inserted_.reserve(entries.size());
    for (const nb::handle entry : entries) entries_.push_back(nb::cast<nb::tuple>(entry, false));
    try {
      for (const nb::tuple& entry : entries_) prepare(entry);
    } catch (...) {
      take_back();
      throw;
    }
  }
  ItemWritings(const ItemWritings&) = delete;
  ItemWritings& operator=(const ItemWritings&) = delete;
  ~ItemWritings() {
    if (!is_written_) take_back();
  }

  void write() noexcept {
    for (const nb::tuple& entry : entries_) {
      PyObject *to = PyTuple_GET_ITEM(entry.ptr(), 0), *key = PyTuple_GET_ITEM(entry.ptr(), 1);
      if (entry.size() == 2)
        PyDict_DelItem(to, key);
      else if (PyDict_CheckExact(to))
        PyDict_SetItem(to, key, PyTuple_GET_ITEM(entry.ptr(), 2));
      else
        PyObject_GenericSetAttr(to, key, PyTuple_GET_ITEM(entry.ptr(), 2));
    }
    is_written_ = true;
  }

 private:
  void prepare(const nb::tuple& entry) {
    if (entry.size() != 2 && entry.size() != 3) throw nb::value_error("not an item that is to be written");
    PyObject *to = PyTuple_GET_ITEM(entry.ptr(), 0), *key = PyTuple_GET_ITEM(entry.ptr(), 1);
    if (!PyDict_CheckExact(to)) {
      const nb::object slot = nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(to)), key));
      if (!slot.is_valid()) throw nb::python_error();
      if (entry.size() != 3 || Py_TYPE(slot.ptr())->tp_descr_set == nullptr)
        throw nb::value_error("not an attribute that is stored in a slot");
      return;
    }
    const int is_there = PyDict_Contains(to, key);
    if (is_there < 0) throw nb::python_error();
    if (is_there == 0 && entry.size() == 2) throw nb::key_error("a key that does not exist");
    if (is_there == 1 || entry.size() == 2) return;
    if (PyDict_SetItem(to, key, PyTuple_GET_ITEM(entry.ptr(), 2)) < 0) throw nb::python_error();
    inserted_.push_back(entry);
  }
  void take_back() noexcept {
    for (const nb::tuple& entry : inserted_)
      if (PyDict_DelItem(PyTuple_GET_ITEM(entry.ptr(), 0), PyTuple_GET_ITEM(entry.ptr(), 1)) < 0) PyErr_Clear();
    inserted_.clear();
  }

  std::vector<nb::tuple> entries_, inserted_;
  bool is_written_ = false;
};

// Writes arrays, then updates dictionaries, whose keys exist. All is checked where it is made; from there on nothing
// fails, and no signal is handled: who is interrupted finds all of it done, or nothing.
class PreparedChange {
 public:
  PreparedChange(const nb::list& arrays, const nb::list& dictionaries, const nb::list& items, const nb::list& shapes)
      : arrays_(arrays), dictionaries_(dictionaries), items_(items) {
    writings_.reserve(arrays.size());
    std::pair<nb::object, Rows> rows;
    for (const nb::handle entry : arrays) {
      writings_.emplace_back(nb::cast<nb::tuple>(entry, false), rows);
      count_ += writings_.back().count();
    }
    for (const nb::handle entry : dictionaries) {
      const auto parts = nb::cast<nb::tuple>(entry, false);
      if (parts.size() != 2 || !PyDict_CheckExact(parts[0].ptr()) || !PyDict_CheckExact(parts[1].ptr()))
        throw nb::value_error("not a dictionary and what it is to be updated with");
      for (const auto& [key, value] : nb::borrow<nb::dict>(parts[1]))
        if (!nb::borrow<nb::dict>(parts[0]).contains(key)) throw nb::key_error("a key that does not exist");
    }
    shapes_.reserve(shapes.size());
    for (const nb::handle entry : shapes) shapes_.emplace_back(nb::cast<nb::tuple>(entry, false));
  }

  void write(unsigned workers) {
    without_gil(count_, [&] {
      Interrupt none;
      for (const Writing& writing : writings_)
        for_each_task(writing.parts(), workers, none, [&](unsigned, std::size_t part) { writing.write(part); });
    });
    for (const ShapeWriting& writing : shapes_) writing.write();
    for (const nb::handle entry : dictionaries_)
      for (const auto& [key, value] : nb::borrow<nb::dict>(entry[1]))
        PyDict_SetItem(nb::object(entry[0]).ptr(), key.ptr(), value.ptr());
    items_.write();
  }

 private:
  nb::list arrays_;  // the rows that are written to belong to these
  std::vector<Writing> writings_;
  nb::list dictionaries_;
  std::vector<ShapeWriting> shapes_;
  ItemWritings items_;
  std::size_t count_ = 0;
};

}  // namespace broadphase::python
