// The columns of a world as the core borrows them: arrays that attributes of Python objects have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "placed_shapes.hpp"
#include "world/columns.hpp"
#include "world/touching.hpp"

namespace broadphase::python {

// An array (m, 2) of whatever strides.
inline Pairs pairs_of(nb::handle array) {
  const auto given = nb::cast<nb::ndarray<const std::int32_t, nb::ndim<2>, nb::device::cpu>>(array);
  if (given.shape(1) != 2) throw nb::value_error("pairs have two columns");
  Pairs pairs{allocate_pairs(given.shape(0) + 1), 0, given.shape(0) + 1};
  for (std::size_t k = 0; k < given.shape(0); ++k) push(pairs, given(k, 0), given(k, 1));
  return pairs;
}

// An array that an attribute had when it was last looked at. Where it is the same object still, nothing is converted.
class Borrowed {
 public:
  // Arrays of `numbers` values a row, of at least so many rows; null where the attribute is None. Flags may be of
  // either type that NumPy has for them.
  template <class T>
  T* look(nb::handle value, std::size_t numbers, std::size_t rows) {
    if (!value.is(kept_)) take(value, nb::dtype<T>(), numbers, std::is_same_v<T, std::uint8_t>);
    if (data_ != nullptr && rows_ < rows) throw nb::value_error("a column of a world is too short");
    return static_cast<T*>(data_);
  }
  void let_go() {
    kept_ = nb::object();
    data_ = nullptr;
  }
  // How many rows there are; as many as any where there is no array.
  std::size_t rows() const { return data_ == nullptr ? std::numeric_limits<std::size_t>::max() : rows_; }
  // Whether others than the attribute and this hold the array.
  bool is_held() const { return data_ != nullptr && Py_REFCNT(kept_.ptr()) > 2; }

 private:
  void take(nb::handle value, nb::dlpack::dtype type, std::size_t numbers, bool are_flags) {
    void* data = nullptr;
    std::size_t rows = 0;
    if (!value.is_none()) {
      const auto array = nb::cast<nb::ndarray<nb::c_contig, nb::device::cpu>>(value, false);
      if ((are_flags ? array.itemsize() != 1 : array.dtype() != type) || array.ndim() == 0 ||
          array.size() != array.shape(0) * numbers)
        throw nb::value_error("a column of a world has another type or shape");
      data = array.data();
      rows = array.shape(0);
    }
    kept_ = nb::borrow(value);
    data_ = data;
    rows_ = rows;
  }

  nb::object kept_;
  void* data_ = nullptr;
  std::size_t rows_ = 0;
};

// The attributes of an object, by name.
class Attributes {
 public:
  explicit Attributes(nb::handle owner) : dictionary_(owner.attr("__dict__")) {}
  nb::handle operator[](PyObject* name) const {
    PyObject* value = PyDict_GetItemWithError(dictionary_.ptr(), name);
    if (value == nullptr) throw nb::key_error("an attribute of a world is missing");
    return value;
  }
  std::size_t number(PyObject* name) const { return nb::cast<std::size_t>((*this)[name]); }
  bool flag(PyObject* name) const { return (*this)[name].ptr() == Py_True; }
  nb::object dictionary() const { return dictionary_; }
  // Of an attribute that exists: cannot fail.
  void set(PyObject* name, nb::handle value) noexcept { PyDict_SetItem(dictionary_.ptr(), name, value.ptr()); }

 private:
  nb::object dictionary_;
};

// A placement: the object, and its arrays.
struct BorrowedPlacement {
  nb::object owner;
  std::optional<Attributes> attributes;
  PlacedShapes* shapes = nullptr;
  Borrowed boxes, positions, rotations;

  template <std::size_t D>
  Placement<D> look(std::size_t slots) {
    const Attributes& own = *attributes;
    return {&shapes->store, positions.look<double>(own[name_of<"positions">()], D, slots),
            rotations.look<double>(own[name_of<"rotations">()], D == 2 ? 1 : 4, slots),
            boxes.look<double>(own[name_of<"boxes">()], 2 * D, slots)};
  }
  void take(nb::handle placement) {
    Attributes own(placement);
    shapes = nb::cast<PlacedShapes*>(own[name_of<"store">()]);
    attributes.emplace(std::move(own));
    owner = nb::borrow(placement);
  }
};

// What `Columns` and its `BoxStore` have in Python.
class BorrowedColumns {
 public:
  BorrowedColumns(nb::handle columns, nb::handle rows, std::size_t dimension,
                  const std::optional<Vector<double>>& bounds, Boundary boundary, bool closed)
      : own_(columns), rows_(rows), boundary_(boundary), closed_(closed) {
    if (bounds) bounds_.assign(bounds->data(), bounds->data() + bounds->size());
    if (!bounds_.empty() && bounds_.size() != 2 * dimension) throw nb::value_error("bounds are two corners");
  }

  template <std::size_t D>
  Columns<D> look() {
    Columns<D> to{};
    to.bounds = bounds_.empty() ? nullptr : bounds_.data();
    to.boundary = boundary_;
    to.closed = closed_;
    const std::size_t slots = to.slots = rows_.number(name_of<"slots">());
    to.living = rows_.number(name_of<"living">());
    to.alive = flags(0, rows_[name_of<"alive">()], slots);
    to.generation = arrays_[1].look<std::int64_t>(rows_[name_of<"generation">()], 1, slots);
    to.layer = arrays_[2].look<std::uint64_t>(rows_[name_of<"layer">()], 1, slots);
    to.mask = arrays_[3].look<std::uint64_t>(rows_[name_of<"mask">()], 1, slots);
    to.positions = arrays_[kPositions].look<double>(own_[name_of<"positions">()], D, slots);
    to.velocities = arrays_[5].look<double>(own_[name_of<"velocities">()], D, slots);
    to.rotations = arrays_[6].look<double>(own_[name_of<"rotations">()], D == 2 ? 1 : 4, slots);
    to.angular_velocities = arrays_[7].look<double>(own_[name_of<"angular_velocities">()], D == 2 ? 1 : 3, slots);
    to.body_types = flags(8, own_[name_of<"body_types">()], slots);
    to.boundaries = flags(9, own_[name_of<"boundaries">()], slots);
    to.ccd = flags(10, own_[name_of<"ccd">()], slots);
    to.asleep = flags(11, own_[name_of<"asleep">()], slots);
    to.displaced = flags(12, own_[name_of<"displaced">()], slots);
    to.changed = flags(13, own_[name_of<"changed">()], slots);
    to.renewed = flags(14, own_[name_of<"renewed">()], slots);
    to.next_changed = flags(15, own_[name_of<"next_changed">()], slots);
    to.update_intervals = arrays_[16].look<std::int32_t>(own_[name_of<"update_intervals">()], 1, slots);
    to.group = arrays_[17].look<std::int64_t>(own_[name_of<"groups">()], 1, slots);
    to.batch = arrays_[18].look<std::int64_t>(own_[name_of<"batches">()], 1, slots);
    to.generation_then = arrays_[kGenerationThen].look<std::int64_t>(own_[name_of<"generation_then">()], 1, 0);
    // These two change places with every step.
    nb::handle stale = own_[name_of<"stale">()], moved = own_[name_of<"moved">()];
    if (stale.is(moved_)) std::swap(arrays_[20], arrays_[21]);
    to.stale = flags(20, stale, slots);
    to.moved = flags(21, moved, slots);
    moved_ = moved;
    const nb::handle seen = own_[name_of<"seen">()], spare = own_[name_of<"spare">()];
    if (seen.is(spare_.owner)) std::swap(seen_, spare_);
    if (!seen.is(seen_.owner)) seen_.take(seen);
    if (!spare.is(spare_.owner)) spare_.take(spare);
    to.seen = seen_.look<D>(slots);
    to.spare = spare_.look<D>(slots);
    const nb::handle ignored = own_[name_of<"ignored">()];
    if (!ignored.is_none()) {
      if (!ignored.is(ignored_)) {
        const Pairs pairs = pairs_of(ignored);
        ignored_pairs_.clear();
        for (std::size_t k = 0; k < pairs.size; ++k)
          ignored_pairs_.insert(ignored_pairs_.end(), {pairs.block[k], pairs.block[pairs.stride + k]});
        ignored_ = nb::borrow(ignored);
      }
      to.ignored = ignored_pairs_.data();
      to.ignored_count = ignored_pairs_.size() / 2;
    }
    to.version = own_.number(name_of<"version">());
    return to;
  }

  const Attributes& columns() const { return own_; }
  const Attributes& rows() const { return rows_; }
  // Lets go of the arrays that a user may write to: the world has made longer ones, and looks after those that somebody
  // else holds.
  void let_go() {
    for (std::size_t k = kPositions; k < kPositions + kWritable; ++k) arrays_[k].let_go();
  }
  // Which rows have events and no contacts, which a step need not know; null where there are none.
  std::uint8_t* sensors(std::size_t slots) { return flags(22, own_[name_of<"sensors">()], slots); }
  // How many rows all arrays have room for. Precondition: `look` and `sensors` have been called.
  std::size_t capacity() const {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (std::size_t k = 0; k < std::size(arrays_); ++k)
      if (k != kGenerationThen) least = std::min(least, arrays_[k].rows());
    return least;
  }

  bool has_displaced() const { return own_.flag(name_of<"has_displaced">()); }
  std::uint64_t writes() const { return own_.number(name_of<"writes">()); }
  bool has_view() const { return !own_[name_of<"_view">()].is_none(); }
  // Whether somebody holds arrays that a user may write to, or such that these have replaced.
  bool is_held() const {
    for (std::size_t k = kPositions; k < kPositions + kWritable; ++k)
      if (arrays_[k].is_held()) return true;
    return PyList_GET_SIZE(own_[name_of<"_replaced">()].ptr()) > 0;
  }

  // Lets the spare placement become the one that is seen. Cannot fail.
  void swap_placements(nb::handle number) noexcept {
    const nb::object seen = seen_.owner, spare = spare_.owner,
                     boxes = nb::borrow((*spare_.attributes)[name_of<"boxes">()]),
                     stale = nb::borrow(own_[name_of<"stale">()]), moved = nb::borrow(own_[name_of<"moved">()]);
    own_.set(name_of<"seen">(), spare);
    own_.set(name_of<"spare">(), seen);
    own_.set(name_of<"stale">(), moved);
    own_.set(name_of<"moved">(), stale);
    own_.set(name_of<"has_displaced">(), nb::handle(Py_False));
    own_.set(name_of<"contacts_of">(), number);
    rows_.set(name_of<"corners">(), boxes);
    rows_.set(name_of<"_views">(), nb::handle(Py_None));
  }
  // No row has been removed since. Cannot fail.
  void forget_removals() noexcept { own_.set(name_of<"generation_then">(), nb::handle(Py_None)); }

 private:
  std::uint8_t* flags(std::size_t k, nb::handle value, std::size_t slots) {
    return arrays_[k].look<std::uint8_t>(value, 1, slots);
  }

  Attributes own_, rows_;
  std::vector<double> bounds_;
  Boundary boundary_;
  bool closed_;
  // Positions and velocities, of bodies and of their rotations, which a user may write to.
  static constexpr std::size_t kPositions = 4, kWritable = 4;
  static constexpr std::size_t kGenerationThen = 19;  // of the rows that there were
  Borrowed arrays_[23];
  BorrowedPlacement seen_, spare_;
  nb::handle moved_;
  nb::object ignored_;
  std::vector<std::int32_t> ignored_pairs_;
};

}  // namespace broadphase::python
