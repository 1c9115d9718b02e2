// What a change of a world writes besides arrays and dictionaries: shapes, single entries of dictionaries, attributes.
// Made, each is checked and has all the memory that it needs: `write` cannot fail.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "placed_shapes.hpp"
#include "world/noticing.hpp"

namespace broadphase::python {

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
      look_at_row<D>(shapes_.store, poses, static_cast<std::size_t>(rows_.data()[k]));
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

}  // namespace broadphase::python
