// Inner loops of the drop-ins for other libraries: streams of boxes with ids, sets of pairs, lists of numbers, pairs by
// atom. What takes the time of Python objects is memory that is touched out of order, and the garbage collector where
// it finds new ones.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/read_ahead.hpp"
#include "bindings.hpp"
#include "small_arrays.hpp"

namespace broadphase::python {

namespace {

constexpr std::size_t kMostNumbers = 8;
constexpr std::size_t kLeastRoom = 256;
constexpr std::size_t kBetweenSignals = std::size_t{1} << 16;

nb::object checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

void handle_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Whether an object is a tuple, and iterating it gives what is in the tuple.
bool is_tuple(PyObject* object) { return PyTuple_Check(object) && Py_TYPE(object)->tp_iter == PyTuple_Type.tp_iter; }

// A tuple or a list as a tuple: another thread may change a list. Nothing for other objects.
nb::object tuple_of(PyObject* object) {
  if (is_tuple(object)) return nb::borrow(object);
  return PyList_CheckExact(object) ? checked(PyList_AsTuple(object)) : nb::object();
}

// Whether an object cannot change, nor anything in it, and has no other copy than itself.
bool is_constant(PyObject* object) {
  const PyTypeObject* const type = Py_TYPE(object);
  return object == Py_None || type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type ||
         type == &PyBool_Type || type == &PyComplex_Type;
}

// A copy of a dict or a list of constants, or constants and tuples of them as they are. Nothing for other objects.
nb::object flat_copy(PyObject* object) {
  if (is_constant(object)) return nb::borrow(object);
  nb::object copy;
  if (PyDict_CheckExact(object)) {
    copy = checked(PyDict_Copy(object));
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(copy.ptr(), &at, &key, &value) != 0;)
      if (!is_constant(key) || !is_constant(value)) return {};
  } else if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
    const nb::object parts = checked(PySequence_Tuple(object));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(parts.ptr()); ++k)
      if (!is_constant(PyTuple_GET_ITEM(parts.ptr(), k))) return {};
    copy = PyList_CheckExact(object) ? checked(PySequence_List(parts.ptr())) : parts;
  }
  return copy;
}

// Reads the numbers of a tuple, a list or an array. How many there are; 0 where there are others, or more than `most`.
std::size_t read_numbers(PyObject* from, double* to, std::size_t most) { return FewNumbers(from, to, most).length(); }

template <class T>
PlainMemory<T> larger(const PlainMemory<T>& block, std::size_t used, std::size_t room) {
  auto next = allocate_plain<T>(room);
  std::copy_n(block.get(), used, next.get());
  return next;
}

// Reads a stream of (id, 2 d numbers, object): ids, corners (n, 2 d), and what is kept of each object: `flat_copy` if
// `is_flat` and it has one, else what copy(object) returns; None of None. Any item that is another, such as one whose
// box is none, goes to other(item, number), which returns the three, corners in order, or raises.
nb::tuple read_boxes(nb::handle stream, std::size_t dimension, bool interleaved, bool is_flat, nb::handle copy,
                     nb::handle other) {
  const std::size_t width = 2 * dimension;
  if (width > kMostNumbers) throw nb::value_error("at most 4 dimensions");
  const nb::object iterator = checked(PyObject_GetIter(stream.ptr()));
  const Py_ssize_t expected = PyObject_LengthHint(stream.ptr(), 0);
  if (expected < 0) throw nb::python_error();
  std::size_t count = 0, room = std::max(kLeastRoom, static_cast<std::size_t>(expected));
  auto ids = allocate_plain<std::int64_t>(room);
  auto corners = allocate_plain<double>(room * width);
  const nb::object kept = checked(PyList_New(0));
  for (;;) {
    const nb::object item = nb::steal(PyIter_Next(iterator.ptr()));
    if (!item.is_valid()) break;
    if (count % kBetweenSignals == 0) handle_signals();
    nb::object parts = tuple_of(item.ptr());
    double numbers[kMostNumbers], box[kMostNumbers];
    bool is_plain = parts.is_valid() && PyTuple_GET_SIZE(parts.ptr()) == 3 &&
                    PyIndex_Check(PyTuple_GET_ITEM(parts.ptr(), 0)) &&
                    read_numbers(PyTuple_GET_ITEM(parts.ptr(), 1), numbers, width) == width;
    for (std::size_t k = 0; is_plain && k < dimension; ++k) {
      box[k] = numbers[interleaved ? k : 2 * k];
      box[dimension + k] = numbers[interleaved ? dimension + k : 2 * k + 1];
      is_plain = box[k] <= box[dimension + k];
    }
    nb::object object;
    if (is_plain) {
      object = nb::borrow(PyTuple_GET_ITEM(parts.ptr(), 2));
      nb::object same = is_flat || object.is_none() ? flat_copy(object.ptr()) : nb::object();
      object = same.is_valid() ? std::move(same) : copy(object);
    } else {
      parts = checked(PySequence_Tuple(other(item, count).ptr()));
      if (PyTuple_GET_SIZE(parts.ptr()) != 3 || read_numbers(PyTuple_GET_ITEM(parts.ptr(), 1), box, width) != width)
        throw nb::value_error("other(item, number) returns an id, the corners and an object");
      object = nb::borrow(PyTuple_GET_ITEM(parts.ptr(), 2));
    }
    const auto id = static_cast<std::int64_t>(PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(parts.ptr(), 0)));
    if (PyErr_Occurred() != nullptr || PyList_Append(kept.ptr(), object.ptr()) != 0) throw nb::python_error();
    if (count == room) {
      room *= 2;
      ids = larger(ids, count, room);
      corners = larger(corners, count * width, room * width);
    }
    ids[count] = id;
    std::copy_n(box, width, corners.get() + count++ * width);
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return as_tuple(as_array(std::move(ids), {count}), as_array(std::move(corners), {count, width}), kept);
}

// The ints from 0 on, each made when it is first needed and then shared.
class Ints {
 public:
  explicit Ints(std::size_t count) : made_(count) {}
  PyObject* operator[](std::int32_t number) {  // a new reference
    nb::object& one = made_.at(static_cast<std::size_t>(number));
    if (!one.is_valid()) one = checked(PyLong_FromLong(number));
    return nb::object(one).release().ptr();
  }

 private:
  std::vector<nb::object> made_;
};

// (first, second). The collector would take it from its lists when it sees what is in it.
nb::object pair_of(Ints& ints, std::int32_t first, std::int32_t second) {
  nb::object pair = checked(PyTuple_New(2));
  PyTuple_SET_ITEM(pair.ptr(), 0, ints[first]);
  PyTuple_SET_ITEM(pair.ptr(), 1, ints[second]);
  PyObject_GC_UnTrack(pair.ptr());
  return pair;
}

using PairTable = nb::ndarray<const std::int32_t, nb::shape<-1, 2>, nb::device::cpu>;

// Calls use(row, pair) for each pair of rows below `count`.
template <class Use>
void with_pairs(const PairTable& pairs, std::size_t count, Use&& use) {
  Ints ints(count);
  const std::int32_t* row = pairs.data();
  for (std::size_t k = 0; k < pairs.shape(0); ++k, row += pairs.stride(0)) {
    if (k % kBetweenSignals == 0) handle_signals();
    if (use(k, pair_of(ints, row[0], row[pairs.stride(1)])) != 0) throw nb::python_error();
  }
}

// The hash of the tuple (first, second) in CPython, the last bits of which are its place in a set. Where it is another
// one, results are the same and take longer.
std::uint64_t hash_of_pair(std::int32_t first, std::int32_t second) {
  constexpr std::uint64_t kPrime1 = 11400714785074694791U, kPrime2 = 14029467366897019727U,
                          kPrime5 = 2870177450012600261U;
  std::uint64_t hash = kPrime5;
  for (const std::int32_t row : {first, second})
    hash = std::rotl(hash + static_cast<std::uint64_t>(row) * kPrime2, 31) * kPrime1;
  return hash + (2 ^ kPrime5 ^ 3527539U);
}

nb::object set_of_pairs(PairTable pairs, std::size_t count) {
  nb::object set = checked(PySet_New(nullptr));
  // Where a pair goes in the table is somewhere else for each: that memory is fetched while others are put in.
  constexpr std::size_t kAhead = 8;
  const auto* const table = reinterpret_cast<const PySetObject*>(set.ptr());
  with_pairs(pairs, count, [&](std::size_t k, const nb::object& pair) {
    if (const std::size_t next = k + kAhead; next < pairs.shape(0)) {
      const std::uint64_t hash = hash_of_pair(pairs(next, 0), pairs(next, 1));
      read_ahead(table->table + (hash & static_cast<std::uint64_t>(table->mask)));
    }
    return PySet_Add(set.ptr(), pair.ptr());
  });
  return set;
}

nb::object dict_of_pairs(PairTable pairs, nb::list values, std::size_t count) {
  if (values.size() != pairs.shape(0)) throw nb::value_error("one value for each pair");
  nb::object dict = checked(PyDict_New());
  with_pairs(pairs, count, [&](std::size_t k, const nb::object& pair) {
    return PyDict_SetItem(dict.ptr(), pair.ptr(), nb::object(values[k]).ptr());
  });
  return dict;
}

// The garbage collector would come again and again for thousands of new lists. No Python code may run while this
// exists.
class PausedCollector {
#ifndef Py_GIL_DISABLED  // there, other threads need it
 public:
  PausedCollector() = default;
  PausedCollector(const PausedCollector&) = delete;
  PausedCollector& operator=(const PausedCollector&) = delete;
  ~PausedCollector() {
    if (was_on_) PyGC_Enable();
  }

 private:
  bool was_on_ = PyGC_Disable() != 0;
#endif
};

// A list of lists: of `rows`, below `count`, as many as `sizes` says.
nb::object lists_of(Vector<std::int32_t> rows, Vector<std::int64_t> sizes, std::size_t count) {
  Ints ints(count);
  const std::int32_t* next = rows.data();
  [[maybe_unused]] const PausedCollector paused;
  const nb::object lists = checked(PyList_New(static_cast<Py_ssize_t>(sizes.shape(0))));
  for (std::size_t k = 0; k < sizes.shape(0); ++k) {
    const std::int64_t size = sizes.data()[k];
    if (size > rows.data() + rows.shape(0) - next) throw nb::value_error("fewer rows than the sizes say");
    nb::object list = checked(PyList_New(static_cast<Py_ssize_t>(size)));
    for (std::int64_t at = 0; at < size; ++at) PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(at), ints[*next++]);
    PyList_SET_ITEM(lists.ptr(), static_cast<Py_ssize_t>(k), list.release().ptr());
  }
  return lists;
}

// Of the rows that a query has, those whose distance from its point is at most its radius, and how many these are:
// squares are summed and rounded as by SciPy.
nb::tuple within(Table<double> places, Table<double> points, Vector<std::int32_t> rows, Vector<std::int64_t> offsets,
                 Vector<double> radii) {
  const std::size_t queries = places.shape(0), dimension = places.shape(1);
  if (points.shape(1) != dimension || radii.shape(0) != queries || offsets.shape(0) != queries + 1)
    throw nb::value_error("arrays do not fit one another");
  auto kept = allocate_plain<std::int32_t>(rows.shape(0));
  std::vector<std::int64_t> sizes(queries);
  std::size_t count = 0;
  const auto choose = [&] {
    for (std::size_t query = 0; query < queries; ++query) {
      const double* place = places.data() + query * dimension;
      const double limit = radii.data()[query] * radii.data()[query];
      const std::size_t first = count;
      for (std::int64_t at = offsets.data()[query]; at < offsets.data()[query + 1]; ++at) {
        const std::int32_t row = rows.data()[at];
        const double* point = points.data() + static_cast<std::size_t>(row) * dimension;
        double square = 0;
        for (std::size_t axis = 0; axis < dimension; ++axis)
          square += (place[axis] - point[axis]) * (place[axis] - point[axis]);
        kept[count] = row;
        count += square <= limit;
      }
      sizes[query] = static_cast<std::int64_t>(count - first);
    }
  };
  without_gil(rows.shape(0), choose);
  return as_tuple(as_array(std::move(kept), {count}), std::move(sizes));
}

// The three numbers of row k, or their opposites.
template <class T, class U>
void copy_row(const T* from, std::size_t k, bool is_back, U* to, std::size_t at) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    to[3 * at + axis] = static_cast<U>(is_back ? -from[3 * k + axis] : from[3 * k + axis]);
}

using Corners = nb::ndarray<const double, nb::shape<-1, 2, -1>, nb::c_contig, nb::device::cpu>;

// Which entries (id, corners, object) of a list have a box that overlaps one, by their places; `within`: lies in it.
nb::list entries_in(nb::list entries, nb::handle corners, bool within) {
  double box[kMostNumbers], other[kMostNumbers];
  const std::size_t numbers = read_numbers(corners.ptr(), box, kMostNumbers), dimension = numbers / 2;
  nb::list found;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    PyObject* const entry = entries[k].ptr();
    if (!PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 3 ||
        read_numbers(PyTuple_GET_ITEM(entry, 1), other, kMostNumbers) != numbers)
      throw nb::value_error("entries do not fit the box");
    bool is_in = true;
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      const double low = other[axis], high = other[dimension + axis];
      is_in &= within ? box[axis] <= low && high <= box[dimension + axis]
                      : low <= box[dimension + axis] && box[axis] <= high;
    }
    if (is_in) found.append(k);
  }
  return found;
}

// Of some rows and their boxes, the `most` nearest to a box, and those that are as far as the last of them: the nearest
// first, then the smaller row.
nb::object nearest_to_box(Vector<std::int32_t> rows, Corners boxes, nb::handle corners, std::size_t most) {
  const std::size_t count = rows.shape(0), dimension = boxes.shape(2);
  double box[kMostNumbers];
  if (boxes.shape(0) != count || 2 * dimension > kMostNumbers ||
      read_numbers(corners.ptr(), box, kMostNumbers) != 2 * dimension)
    throw nb::value_error("arrays do not fit one another");
  std::vector<std::pair<double, std::int32_t>> found(count);
  const double* lower = boxes.data();
  for (std::size_t k = 0; k < count; ++k, lower += 2 * dimension) {
    double square = 0;
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      const double gap = std::max({lower[axis] - box[dimension + axis], box[axis] - lower[dimension + axis], 0.0});
      square += gap * gap;
    }
    found[k] = {std::sqrt(square), rows.data()[k]};
  }
  if (most < count) {
    const auto last = found.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(found.begin(), last, found.end());
    const double farthest = most > 0 ? std::max_element(found.begin(), last)->first : -1.0;
    found.erase(std::partition(last, found.end(), [&](const auto& one) { return one.first <= farthest; }), found.end());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::int32_t> nearest;
  nearest.reserve(found.size());
  for (const auto& one : found) nearest.push_back(one.second);
  return as_array(std::move(nearest));
}

// Whether a pair without a shift goes from the larger row to the smaller, or the first part of its shift is negative.
bool goes_back(const std::int32_t* shift, std::int32_t first, std::int32_t second) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (shift[axis] != 0) return shift[axis] < 0;
  return first > second;
}

// Pairs in space, each given once, by the atom that they are found from: both, or only one as `goes_back` says. With
// radii, those that are nearer than the sum of both. Atoms of `selves` are their own neighbors, too: the first ones,
// or, if the pairs ascend, in order among the others. Where the pairs of each atom start; first rows if `with_first`;
// second rows; distances, vectors and shifts if they are given.
nb::tuple pairs_by_atom(PairTable pairs, std::optional<Vector<double>> distances, std::optional<Table<double>> vectors,
                        std::optional<Table<std::int32_t>> shifts, std::size_t count,
                        std::optional<Vector<double>> radii, std::optional<Vector<bool>> selves, bool both,
                        bool ascending, bool with_first) {
  const std::size_t size = pairs.shape(0);
  const auto fits = [size](const auto& rows) { return !rows || (rows->shape(0) == size && rows->shape(1) == 3); };
  if ((distances && distances->shape(0) != size) || !fits(vectors) || !fits(shifts) || (radii && !distances) ||
      (radii && radii->shape(0) != count) || (selves && selves->shape(0) != count) || (!both && !shifts))
    throw nb::value_error("arrays do not fit one another");
  std::vector<std::int64_t> starts(count + 1);
  PlainMemory<std::int64_t> atoms, neighbors, images;
  PlainMemory<double> lengths, differences;
  std::size_t total = 0;
  const auto file = [&] {
    const std::int32_t *first_of = pairs.data(), *second_of = first_of + pairs.stride(1);
    const auto step = static_cast<std::size_t>(pairs.stride(0));
    const double *length_of = data_of(distances), *difference_of = data_of(vectors), *radius_of = data_of(radii);
    const std::int32_t* image_of = data_of(shifts);
    const bool* is_own = data_of(selves);
    const auto is_pair = [=](std::size_t k, std::int32_t first, std::int32_t second) {
      return radius_of == nullptr || length_of[k] < radius_of[first] + radius_of[second];
    };
    std::int64_t* const start_of = starts.data();
    for (std::size_t k = 0; k < size; ++k) {
      const std::int32_t first = first_of[k * step], second = second_of[k * step];
      if (!is_pair(k, first, second)) continue;
      ++start_of[(both || !goes_back(image_of + 3 * k, first, second) ? first : second) + 1];
      if (both) ++start_of[second + 1];
    }
    for (std::size_t atom = 0; atom < count; ++atom)
      start_of[atom + 1] += start_of[atom] + (is_own != nullptr && is_own[atom] ? 1 : 0);
    total = static_cast<std::size_t>(starts[count]);
    if (with_first) atoms = allocate_plain<std::int64_t>(total);
    neighbors = allocate_plain<std::int64_t>(total);
    if (distances) lengths = allocate_plain<double>(total);
    if (vectors) differences = allocate_plain<double>(3 * total);
    if (shifts) images = allocate_plain<std::int64_t>(3 * total);
    std::int64_t *const to_neighbors = neighbors.get(), *const to_images = images.get();
    double *const to_lengths = lengths.get(), *const to_differences = differences.get();
    std::vector<std::int64_t> places(starts.begin(), starts.end() - 1);
    std::int64_t* const next = places.data();
    const auto write = [=](std::int32_t atom, std::int32_t neighbor, std::size_t k, bool is_back) {
      const auto at = static_cast<std::size_t>(next[atom]++);
      to_neighbors[at] = neighbor;
      if (to_lengths != nullptr) to_lengths[at] = length_of[k];
      if (to_differences != nullptr) copy_row(difference_of, k, is_back, to_differences, at);
      if (to_images != nullptr) copy_row(image_of, k, is_back, to_images, at);
    };
    std::size_t done = 0;  // atoms that are listed as their own neighbors if they are
    const auto list_selves = [&](std::size_t end) {
      for (; done < end; ++done) {
        if (is_own == nullptr || !is_own[done]) continue;
        const auto at = static_cast<std::size_t>(next[done]++);
        to_neighbors[at] = static_cast<std::int64_t>(done);
        if (to_lengths != nullptr) to_lengths[at] = 0.0;
        if (to_differences != nullptr) std::fill_n(to_differences + 3 * at, 3, 0.0);
        if (to_images != nullptr) std::fill_n(to_images + 3 * at, 3, 0);
      }
    };
    if (!ascending) list_selves(count);
    for (std::size_t k = 0; k < size; ++k) {
      const std::int32_t first = first_of[k * step], second = second_of[k * step];
      if (!is_pair(k, first, second)) continue;
      if (ascending) list_selves(static_cast<std::size_t>(first) + 1);  // smaller ones have been listed
      if (both || !goes_back(image_of + 3 * k, first, second))
        write(first, second, k, false);
      else
        write(second, first, k, true);
      if (both) write(second, first, k, true);
    }
    list_selves(count);
    for (std::size_t atom = 0; with_first && atom < count; ++atom)
      std::fill(atoms.get() + start_of[atom], atoms.get() + start_of[atom + 1], static_cast<std::int64_t>(atom));
  };
  without_gil(size, file);
  const auto given = [](auto&& block, bool is_wanted, std::initializer_list<std::size_t> shape) {
    return is_wanted ? as_array(std::move(block), shape) : nb::object(nb::none());
  };
  return as_tuple(std::move(starts), given(std::move(atoms), with_first, {total}),
                  as_array(std::move(neighbors), {total}), given(std::move(lengths), distances.has_value(), {total}),
                  given(std::move(differences), vectors.has_value(), {total, 3}),
                  given(std::move(images), shifts.has_value(), {total, 3}));
}

}  // namespace

void bind_drop_ins(nb::module_& module) {
  module.def("read_boxes", &read_boxes, "stream"_a, "dimension"_a, "interleaved"_a, "is_flat"_a, "copy"_a, "other"_a,
             "Ids, corners and kept objects of a stream of (id, coordinates, object).");
  module.def("set_of_pairs", &set_of_pairs, "pairs"_a, "count"_a, "A set of (first, second).");
  module.def("dict_of_pairs", &dict_of_pairs, "pairs"_a, "values"_a, "count"_a, "A dict of values by (first, second).");
  module.def("lists_of", &lists_of, "rows"_a, "sizes"_a, "count"_a, "Rows divided into lists of these sizes.");
  module.def("within", &within, "places"_a, "points"_a, "rows"_a, "offsets"_a, "radii"_a,
             "The rows of each query within its radius, and how many these are.");
  module.def("entries_in", &entries_in, "entries"_a, "corners"_a, "within"_a,
             "Which entries (id, corners, object) overlap a box, or lie within it.");
  module.def("nearest_to_box", &nearest_to_box, "rows"_a, "boxes"_a, "corners"_a, "most"_a,
             "The nearest of some rows to a box, with all that are as far as the last.");
  module.def("pairs_by_atom", &pairs_by_atom, "pairs"_a, "distances"_a.none(), "vectors"_a.none(), "shifts"_a.none(),
             "count"_a, "radii"_a.none(), "selves"_a.none(), "both"_a, "ascending"_a, "with_first"_a,
             "Pairs by their atoms: starts, first and second rows, distances, vectors and shifts.");
}

}  // namespace broadphase::python
