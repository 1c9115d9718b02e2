// Single bodies that come into a world or leave it, as games add and remove them: all of it, or nothing. What is not
// usual is left to the functions of Python that take many bodies, which check everything and say what is wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "borrowed_columns.hpp"
#include "small_arrays.hpp"
#include "world/placing.hpp"

namespace broadphase::python {

// What a body begins with. None: not given.
struct NewBody {
  nb::handle kind, record;  // of its shape; the record is an array (1, n)
  nb::handle position, velocity, rotation, angular_velocity;
  std::uint8_t type;
  int boundary;  // -1: that of its type
  std::uint64_t layer, mask;
  nb::tuple rare;  // group, sensor, ccd, update interval, batch
  nb::handle actor, world, data;
  int hooks;     // what the class of the actor overrides
  bool is_held;  // whether the world keeps the actor
};

// What follows the bodies of a world: the actors; the index, None where there is none; what is called before the
// shape of a removed row makes room; the dictionary of the view of shapes, and what it has when there is one more row,
// None where there is no view or a row is free.
struct Followers {
  nb::handle actors, index, settle, view;
};

// Entries of dictionaries, whose keys exist: `write` cannot fail.
class Assignments {
 public:
  void add(const Attributes& to, PyObject* key, nb::object value) {
    static_cast<void>(to[key]);  // it exists
    entries_.push_back({to.dictionary(), nb::borrow(key), std::move(value)});
  }
  void add_all(const nb::dict& to, const nb::dict& from) {
    for (const auto& [key, value] : from) entries_.push_back({to, nb::borrow(key), nb::borrow(value)});
  }
  // Adds to the count of each hook that is among some.
  void count(const nb::dict& counts, int hooks, std::int64_t change) {
    for (const auto& [key, value] : counts)
      if ((nb::cast<int>(key) & hooks) != 0)
        entries_.push_back({counts, nb::borrow(key), nb::int_(nb::cast<std::int64_t>(value) + change)});
  }
  // That the index has to follow a row.
  void follow(nb::handle index, bool is_new, std::int32_t row) {
    const Attributes own(index);
    const nb::object rows = small_array(&row, 1, 0, NumPy::get().int32);
    add(own, name_of<"_pending">(), nb::make_tuple(own[name_of<"_pending">()], nb::bool_(is_new), rows));
    add(own, name_of<"_pending_count">(), nb::int_(own.number(name_of<"_pending_count">()) + 1));
  }
  void write() noexcept {
    for (const Entry& entry : entries_) PyDict_SetItem(entry.to.ptr(), entry.key.ptr(), entry.value.ptr());
  }

 private:
  struct Entry {
    nb::object to, key, value;
  };
  std::vector<Entry> entries_;
};

inline bool read_numbers(nb::handle from, std::span<double> to) {
  return FewNumbers(from, to.data(), to.size()).length() == to.size();
}
inline bool read_whole(nb::handle from, std::int64_t least, std::int64_t most, std::int64_t& to) {
  long long number = 0;
  if (!python::read_whole(from.ptr(), number)) return false;
  to = number;
  return least <= to && to <= most;
}
inline bool are_finite(std::span<const double> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

// What few bodies are given, in the order of `NewBody::rare`.
struct RareValues {
  std::int64_t group, interval, batch;
  bool sensor, ccd;

  bool read(const nb::tuple& from) {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                           kMost = std::numeric_limits<std::int64_t>::max();
    const auto is_flag = [&](std::size_t k, bool& to) {
      to = from[k].is(nb::handle(Py_True));
      return to || from[k].is(nb::handle(Py_False));
    };
    return from.size() == 5 && read_whole(from[0], kLeast, kMost, group) && is_flag(1, sensor) && is_flag(2, ccd) &&
           read_whole(from[3], 1, std::numeric_limits<std::int32_t>::max(), interval) &&
           read_whole(from[4], kLeast, kMost, batch);
  }
};

// The numbers that a body begins with, checked.
template <std::size_t D>
struct FirstPose {
  std::array<double, D> position, velocity{};
  std::array<double, kRotationNumbers<D>> rotation{};
  std::array<double, D == 2 ? 1 : 3> spin{};

  bool read(const NewBody& body, bool may_turn, bool may_spin) {
    if (!read_numbers(body.position, position) || !are_near(position.data(), D)) return false;
    if (!body.velocity.is_none() && (!read_numbers(body.velocity, velocity) || !are_finite(velocity))) return false;
    if constexpr (D == 3) rotation[0] = 1;
    if (!body.rotation.is_none() && !(may_turn && read_turn(body.rotation, rotation) && is_rotation())) return false;
    return body.angular_velocity.is_none() || (may_spin && read_turn(body.angular_velocity, spin) && are_finite(spin));
  }

 private:
  template <std::size_t N>
  static bool read_turn(nb::handle from, std::array<double, N>& to) {
    if constexpr (N == 1)
      return read_number(from.ptr(), to[0]);
    else
      return read_numbers(from, to);
  }
  bool is_rotation() const {
    if constexpr (D == 3)
      if (!has_length(rotation.data())) return false;
    return are_near(rotation.data(), rotation.size());
  }
};

// The lowest row that is free, or the first that has never been in use.
template <std::size_t D>
std::size_t next_row(const BorrowedColumns& borrowed, const Columns<D>& columns) {
  constexpr std::int64_t kLastGeneration = std::numeric_limits<std::int32_t>::max();
  if (columns.living == columns.slots) return columns.slots;
  std::size_t row = borrowed.rows().number(name_of<"_first_free">());
  for (; row < columns.slots; ++row) {
    const void* free = std::memchr(columns.alive + row, 0, columns.slots - row);
    if (free == nullptr) return columns.slots;
    row = static_cast<std::size_t>(static_cast<const std::uint8_t*>(free) - columns.alive);
    if (columns.generation[row] <= kLastGeneration) return row;
  }
  return columns.slots;
}

// Writes to a row of a column, which a step only reads, if there is one.
template <class T, class Value>
void put(const T* column, std::size_t row, Value value) {
  if (column != nullptr) const_cast<T*>(column)[row] = static_cast<T>(value);
}
template <std::size_t N>
void put_numbers(double* column, std::size_t row, const std::array<double, N>& values) {
  if (column != nullptr) std::copy_n(values.data(), N, column + row * N);
}

// Takes a row into use. False, and nothing has changed, where that takes more than to write to a row: room, columns
// that are not there yet, values that are to be refused.
template <std::size_t D>
bool add_body(BorrowedColumns& borrowed, const NewBody& body, const Followers& followers) {
  Columns<D> columns = borrowed.look<D>();
  const std::size_t row = next_row(borrowed, columns);
  const bool is_last = row == columns.slots;
  if (row >= borrowed.capacity() || (is_last && borrowed.has_view() && followers.view.is_none())) return false;

  FirstPose<D> pose;
  RareValues rare{};
  if (!pose.read(body, columns.rotations != nullptr, columns.angular_velocities != nullptr) || !rare.read(body.rare))
    return false;
  const auto shape = nb::cast<Numbers>(body.record, false);
  const std::span<const double> record{shape.data(), shape.size()};
  const auto kind = nb::cast<std::uint8_t>(nb::int_(body.kind));
  if (!is_well_formed(kind, record, D) || kShapeTraits[kind].is_kept_elsewhere) return false;

  const auto of_type = static_cast<int>(body.type == kDynamic ? columns.boundary : Boundary::none);
  const int boundary = body.boundary < 0 ? of_type : body.boundary;
  const std::uint8_t* sensors = borrowed.sensors(columns.slots);
  const auto fits = [](const auto* column, auto value, auto blank) { return column != nullptr || value == blank; };
  if (!fits(columns.boundaries, boundary, of_type) || (boundary != 0 && columns.bounds == nullptr) ||
      (rare.ccd && !columns.closed) || !fits(columns.layer, body.layer, std::uint64_t{1}) ||
      !fits(columns.mask, body.mask, ~std::uint64_t{0}) || !fits(columns.group, rare.group, std::int64_t{0}) ||
      !fits(sensors, rare.sensor, false) || !fits(columns.ccd, rare.ccd, false) ||
      !fits(columns.update_intervals, rare.interval, std::int64_t{1}) ||
      !fits(columns.batch, rare.batch, std::int64_t{0}))
    return false;
  const Attributes actors(followers.actors);
  const auto hooks = nb::cast<WrittenFlags>(actors[name_of<"_hooks">()], false);
  if (body.hooks != 0 && row >= hooks.shape(0)) return false;

  if (!is_last && borrowed.columns().number(name_of<"contacts_of">()) != 0) {
    call_python(followers.settle);
    columns = borrowed.look<D>();
  }

  // All that is needed is made before anything is written.
  const nb::object handle = nb::int_(columns.generation[row] << 32 | static_cast<std::int64_t>(row)),
                   reference = call_python(followers.actors.attr("_reference"), body.actor, handle);
  Assignments assignments;
  assignments.add(borrowed.rows(), name_of<"living">(), nb::int_(columns.living + 1));
  assignments.add(borrowed.rows(), name_of<"_first_free">(), nb::int_(row + 1));
  assignments.add(borrowed.rows(), name_of<"_numbers">(), nb::none());
  if (is_last) {
    assignments.add(borrowed.rows(), name_of<"slots">(), nb::int_(row + 1));
    assignments.add(borrowed.rows(), name_of<"_views">(), nb::none());
    if (!followers.view.is_none())
      assignments.add_all(nb::cast<nb::dict>(followers.view[0]), nb::cast<nb::dict>(followers.view[1]));
  }
  assignments.add(borrowed.columns(), name_of<"version">(), nb::int_(columns.version + 1));
  if (body.hooks != 0) assignments.count(nb::borrow<nb::dict>(actors[name_of<"_counts">()]), body.hooks, 1);
  if (!followers.index.is_none()) assignments.follow(followers.index, true, static_cast<std::int32_t>(row));
  for (ShapeStore* store : {columns.seen.shapes, columns.spare.shapes}) {
    ShapeStore::Room room;
    room.add(*store, row, static_cast<ShapeKind>(kind), record);
    store->reserve(room);
  }
  const nb::object seen = nb::borrow(actors[name_of<"_seen">()]), held = nb::borrow(actors[name_of<"_held">()]);
  if (PyDict_SetItem(seen.ptr(), handle.ptr(), reference.ptr()) < 0) throw nb::python_error();
  if (body.is_held && PyDict_SetItem(held.ptr(), handle.ptr(), body.actor.ptr()) < 0) {
    nb::python_error error;
    if (PyDict_DelItem(seen.ptr(), handle.ptr()) < 0) PyErr_Clear();
    throw error;
  }

  for (ShapeStore* store : {columns.seen.shapes, columns.spare.shapes}) {
    store->put(row, static_cast<ShapeKind>(kind), record);
    store->tidy();
  }
  put_numbers(columns.positions, row, pose.position);
  put_numbers(columns.velocities, row, pose.velocity);
  put_numbers(columns.rotations, row, pose.rotation);
  put_numbers(columns.angular_velocities, row, pose.spin);
  const Placement<D>& place = columns.seen;
  put_numbers(place.positions, row, pose.position);
  put_numbers(place.rotations, row, pose.rotation);
  place_row<D>(*place.shapes, Poses<D>{place.positions, place.rotations, place.positions, place.rotations, place.boxes},
               row);
  put(columns.body_types, row, body.type);
  put(columns.boundaries, row, boundary);
  put(columns.layer, row, body.layer);
  put(columns.mask, row, body.mask);
  put(columns.group, row, rare.group);
  put(sensors, row, rare.sensor);
  put(columns.ccd, row, rare.ccd);
  put(columns.update_intervals, row, rare.interval);
  put(columns.asleep, row, false);
  put(columns.batch, row, rare.batch);
  put(columns.stale, row, true);
  put(columns.changed, row, true);
  put(columns.alive, row, true);
  if (body.hooks != 0) hooks.data()[row] = static_cast<std::uint8_t>(body.hooks);
  assignments.write();
  PyObject* actor = body.actor.ptr();
  PyObject_GenericSetAttr(actor, name_of<"_world">(), body.world.ptr());
  PyObject_GenericSetAttr(actor, name_of<"_handle">(), handle.ptr());
  PyObject_GenericSetAttr(actor, name_of<"_data">(), body.data.ptr());
  return true;
}

// Takes a row out of use. `then`: the generations at the last step, where this is the first removal since, or None.
// False, and nothing has changed, where others have to hear of it: its hull or mesh, pairs of it that are ignored.
template <std::size_t D>
bool remove_body(BorrowedColumns& borrowed, std::size_t row, nb::handle then, const Followers& followers) {
  const Columns<D> columns = borrowed.look<D>();
  if (row >= columns.slots || columns.alive[row] == 0) return false;
  const std::int32_t* end = columns.ignored + 2 * columns.ignored_count;
  if (std::find(columns.ignored, end, static_cast<std::int32_t>(row)) != end) return false;
  if (kShapeTraits[static_cast<std::size_t>(columns.seen.shapes->kind(row))].is_kept_elsewhere) return false;

  const Attributes actors(followers.actors);
  const nb::object handle = nb::int_(columns.generation[row] << 32 | static_cast<std::int64_t>(row)),
                   held = nb::borrow(actors[name_of<"_held">()]), removed = nb::borrow(actors[name_of<"_removed">()]);
  Assignments assignments;
  assignments.add(borrowed.rows(), name_of<"living">(), nb::int_(columns.living - 1));
  assignments.add(borrowed.rows(), name_of<"_first_free">(),
                  nb::int_(std::min(borrowed.rows().number(name_of<"_first_free">()), row)));
  assignments.add(borrowed.rows(), name_of<"_numbers">(), nb::none());
  assignments.add(borrowed.columns(), name_of<"version">(), nb::int_(columns.version + 1));
  if (!then.is_none()) assignments.add(borrowed.columns(), name_of<"generation_then">(), nb::borrow(then));
  if (!followers.index.is_none()) assignments.follow(followers.index, false, static_cast<std::int32_t>(row));
  const nb::object actor = nb::borrow(PyDict_GetItemWithError(held.ptr(), handle.ptr()));
  std::uint8_t* hooks = nullptr;
  if (actor.is_valid()) {
    if (const int some = nb::cast<int>(actor.type().attr("_hooks")); some != 0) {
      const auto of_rows = nb::cast<WrittenFlags>(actors[name_of<"_hooks">()], false);
      if (row < of_rows.shape(0)) hooks = of_rows.data();
      assignments.count(nb::borrow<nb::dict>(actors[name_of<"_counts">()]), some, -1);
    }
    if (PyDict_SetItem(removed.ptr(), handle.ptr(), actor.ptr()) < 0) throw nb::python_error();
  }

  if (actor.is_valid()) PyDict_DelItem(held.ptr(), handle.ptr());
  if (hooks != nullptr) hooks[row] = 0;
  put(columns.alive, row, false);
  put(columns.generation, row, columns.generation[row] + 1);
  put(columns.changed, row, false);
  put(columns.displaced, row, false);
  put(columns.renewed, row, true);
  put_numbers(columns.velocities, row, std::array<double, D>{});
  assignments.write();
  return true;
}

}  // namespace broadphase::python
