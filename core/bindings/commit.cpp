// Changes that happen whole or not at all: everything is checked, and then written by one call, which no signal
// divides.
#include <nanobind/stl/optional.h>

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
#include "change.hpp"

namespace broadphase::python {

namespace {

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
    else if (!from.is_none())
      take(nb::cast<Source>(from, false));
  }

  std::size_t count() const { return count_; }

  // Parts that threads may write at once: a few of a large array that is copied as it is, otherwise one.
  std::size_t parts() const {
    constexpr std::size_t kBytesAPart = std::size_t{1} << 18;
    return is_whole() ? count_ * width_ / kBytesAPart + 1 : 1;
  }
  void write(std::size_t part) const noexcept {
    if (!is_whole()) {
      write();
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
  enum class Form : std::uint8_t { flag, values, boxes };
  using Target = nb::ndarray<nb::c_contig, nb::device::cpu>;
  using Source = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

  // Whether all of the array is written, and nothing but bytes.
  bool is_whole() const { return rows_ == nullptr && form_ != Form::boxes; }
  void write() const noexcept {
    auto* to = static_cast<std::byte*>(to_.data());
    if (form_ == Form::boxes)
      with_boxes(lower_, upper_, [&]<class T>(const BoxView<T>& boxes) {
        with_dimension(lower_.shape(1), [&](auto d) { keep_boxes<d()>(boxes, rows_, static_cast<T*>(to_.data())); });
      });
    else if (form_ == Form::flag)
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
  Source values_;
  AnyArray lower_, upper_;
};

// Writes arrays, then updates dictionaries, whose keys exist. All is checked first; from there on nothing fails, and no
// signal is handled: who is interrupted finds all of it done, or nothing.
void commit(nb::list arrays, nb::list dictionaries, nb::list items, nb::list shapes, unsigned workers) {
  std::vector<Writing> writings;
  writings.reserve(arrays.size());
  std::pair<nb::object, Rows> rows;
  std::size_t count = 0;
  for (const nb::handle entry : arrays) {
    writings.emplace_back(nb::cast<nb::tuple>(entry, false), rows);
    count += writings.back().count();
  }
  for (const nb::handle entry : dictionaries) {
    const auto parts = nb::cast<nb::tuple>(entry, false);
    if (parts.size() != 2 || !PyDict_CheckExact(parts[0].ptr()) || !PyDict_CheckExact(parts[1].ptr()))
      throw nb::value_error("not a dictionary and what it is to be updated with");
    for (const auto& [key, value] : nb::borrow<nb::dict>(parts[1]))
      if (!nb::borrow<nb::dict>(parts[0]).contains(key)) throw nb::key_error("a key that does not exist");
  }
  std::vector<ShapeWriting> shape_writings;
  shape_writings.reserve(shapes.size());
  for (const nb::handle entry : shapes) shape_writings.emplace_back(nb::cast<nb::tuple>(entry, false));
  ItemWritings item_writings(items);
  without_gil(count, [&] {
    Interrupt none;
    for (const Writing& writing : writings)
      for_each_task(writing.parts(), workers, none, [&](unsigned, std::size_t part) { writing.write(part); });
  });
  for (const ShapeWriting& writing : shape_writings) writing.write();
  for (const nb::handle entry : dictionaries)
    for (const auto& [key, value] : nb::borrow<nb::dict>(entry[1]))
      PyDict_SetItem(nb::object(entry[0]).ptr(), key.ptr(), value.ptr());
  item_writings.write();
}

PyObject* interned(const char* text) {
  PyObject* string = PyUnicode_InternFromString(text);
  if (string == nullptr) throw nb::python_error();
  return string;
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
  const nb::object end = nb::int_(row + 1), living = nb::int_(nb::cast<std::size_t>(rows["living"]) + 1),
                   none = nb::none(), flags = nb::dict();
  struct Entry {
    nb::handle to, key, value;
  };
  // Made once: a new string would have to be hashed, and compared with the key that is there. They live for ever.
  static const nb::handle kSlots = interned("slots"), kLiving = interned("living"),
                          kFirstFree = interned("_first_free"), kNumbers = interned("_numbers"),
                          kViews = interned("_views"), kFlags = interned("_flags"), kSteady = interned("_steady"),
                          kNames[] = {interned("_world"), interned("_handle"), interned("_data")};
  const Entry entries[] = {{rows, kSlots, end},     {rows, kLiving, living}, {rows, kFirstFree, end},
                           {rows, kNumbers, none},  {rows, kViews, none},    {columns, kFlags, flags},
                           {columns, kSteady, none}};
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
