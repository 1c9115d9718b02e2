// Positions of agents that are written one at a time, or as an array, between queries for those around a place.
#include "neighbors/moving_points.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "small_arrays.hpp"

namespace broadphase::python {

namespace {

constexpr std::size_t kMostAxes = 8;

// The positions that are an array of NumPy, which anybody may write to who holds it or a view of it. Views that have
// been handed out are noted; as long as one is alive, which the counts of references tell, so is the note, and each
// query looks whether what is noted has changed.
class WatchedPoints {
 public:
  WatchedPoints(std::size_t dimension, bool is_private) : points_(dimension), is_private_(is_private) {}
  WatchedPoints(const WatchedPoints&) = delete;
  WatchedPoints& operator=(const WatchedPoints&) = delete;

  // Looks at an array of float64, (n, d), from now on; false if it is none. `owner` is what it is a view of: a space
  // holds a reference to each of the two.
  bool adopt(nb::handle array, nb::handle owner) {
    Py_buffer view;
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
      PyErr_Clear();
      return false;
    }
    const auto width = static_cast<Py_ssize_t>(points_.dimension()), step = static_cast<Py_ssize_t>(sizeof(double));
    const bool is_good = std::strcmp(view.format, "d") == 0 && view.ndim == 2 && view.shape[1] == width &&
                         view.shape[0] < std::numeric_limits<std::int32_t>::max() && view.strides[1] == step &&
                         (view.strides[0] == width * step || view.shape[0] <= 1);
    data_ = static_cast<double*>(view.buf);
    count_ = is_good ? static_cast<std::size_t>(view.shape[0]) : 0;
    is_writable_ = view.readonly == 0;
    PyBuffer_Release(&view);
    if (!is_good) return false;
    array_ = nb::borrow(array);
    const nb::object base = array_.attr("base");
    owner_ = base.is_none() ? array.ptr() : base.ptr();
    is_shared_ = !base.is_none() && !base.is(owner);
    // To the owner: of the space, and of the array, or of the space for the array and of this.
    owned_ = !base.is_none() ? 2 : array.is(owner) ? 3 : 2;
    note_all();
    return true;
  }

  void note(std::size_t row) {
    if (row >= is_noted_.size()) is_noted_.resize(std::max(row + 1, count_));
    if (is_noted_[row] != 0) return;
    noted_.push_back(static_cast<std::int32_t>(row));
    is_noted_[row] = 1;
  }
  void note_all() { all_noted_ = true; }

  // Writes a position within the closed bounds, (d, 2). False: written nothing, since it is not, or is no position.
  bool move(std::size_t row, nb::handle to, nb::handle bounds) {
    const std::size_t dimension = points_.dimension();
    double place[kMostAxes], box[2 * kMostAxes];
    if (row >= count_ || !is_writable_ || !FewNumbers(to, place).has_shape({dimension})) return false;
    if (!FewNumbers(bounds, box).has_shape({dimension, 2})) return false;
    for (std::size_t k = 0; k < dimension; ++k)
      if (!(place[k] >= box[2 * k] && place[k] <= box[2 * k + 1])) return false;
    std::copy_n(place, dimension, data_ + row * dimension);
    note(row);
    return true;
  }

  // (items, distances) of those within a radius of a point; or of a row, which does not count, unless that is -1. None
  // where the numbers are none that this is made for.
  nb::object within(nb::list items, nb::handle point, std::int32_t row, nb::handle radius, bool repeats,
                    nb::handle size) {
    Search search;
    if (!read_number(radius.ptr(), search.radius) || !begin(search, items, point, row, repeats, size))
      return nb::none();
    std::vector<FoundPoint> found = room();
    points_.within(search, found);
    return answer(items, found);
  }

  // The same for the nearest. A row counts while they are looked for, and is then left out.
  nb::object nearest(nb::list items, nb::handle point, std::int32_t row, std::size_t count, bool repeats,
                     nb::handle size) {
    Search search;
    if (count == 0 || count >= count_ || !begin(search, items, point, row, repeats, size)) return nb::none();
    const std::int32_t without = std::exchange(search.without, -1);
    std::vector<FoundPoint> found = room();
    points_.nearest(search, count, found);
    if (found.size() < count) return nb::none();
    const auto is_it = [&](const FoundPoint& one) { return one.row == without; };
    found.erase(std::remove_if(found.begin(), found.end(), is_it), found.end());
    return answer(items, found);
  }

  // Items whose squared distance is at most a limit, the square of the radius; `is_apart`: and not 0.
  nb::object squared_within(nb::list items, nb::handle point, double radius, double limit, bool is_apart, bool repeats,
                            nb::handle size) {
    Search search;
    search.radius = std::abs(radius);
    search.is_squared = true;
    search.limit = limit;
    if (!begin(search, items, point, -1, repeats, size)) return nb::none();
    std::vector<FoundPoint> found = room();
    points_.within(search, found);
    const auto is_there = [](const FoundPoint& one) { return one.distance == 0; };
    if (is_apart) found.erase(std::remove_if(found.begin(), found.end(), is_there), found.end());
    return listed(items, found);
  }

  std::uint64_t comparisons() const { return points_.comparisons(); }
  std::size_t noted() const { return all_noted_ ? count_ : noted_.size(); }

 private:
  struct Search : PlaceToSearch {
    double place[kMostAxes], lengths[kMostAxes];
  };

  static std::vector<FoundPoint> room() {
    std::vector<FoundPoint> found;
    found.reserve(64);
    return found;
  }

  // Reads the place and sees what has moved.
  bool begin(Search& search, nb::list items, nb::handle point, std::int32_t row, bool repeats, nb::handle size) {
    const std::size_t dimension = points_.dimension();
    if (count_ == 0 || items.size() < count_ || !(search.radius >= 0 && std::isfinite(search.radius))) return false;
    if (row >= 0) {
      const auto at = static_cast<std::size_t>(row);
      if (at >= count_) return false;
      std::copy_n(data_ + at * dimension, dimension, search.place);
      search.without = row;
      see_moves(point, nullptr);
    } else {
      const FewNumbers numbers(point, search.place);
      if (!numbers.has_shape({dimension})) return false;
      see_moves(point, numbers.first());
    }
    search.point = search.place;
    if (repeats) {
      if (!FewNumbers(size, search.lengths).has_shape({dimension})) return false;
      search.size = search.lengths;
    }
    for (std::size_t k = 0; k < dimension; ++k)
      if (!std::isfinite(search.place[k]) || (repeats && !(search.lengths[k] > 0 && std::isfinite(search.lengths[k]))))
        return false;
    return true;
  }

  void see_moves(nb::handle point, const void* first) {
    try {
      if (all_noted_) {
        points_.update(data_, count_);
      } else {
        for (const std::int32_t row : noted_) {
          const auto at = static_cast<std::size_t>(row);
          points_.move(at, data_ + at * points_.dimension());
        }
      }
    } catch (...) {
      points_.clear();
      note_all();
      throw;
    }
    std::size_t held = static_cast<std::size_t>(-1);
    if (!is_private_ && !nobody_holds_a_view(point, first, held)) return;
    all_noted_ = false;
    for (const std::int32_t row : noted_) is_noted_[static_cast<std::size_t>(row)] = 0;
    noted_.clear();
    if (held < count_) note(held);
  }

  // Whether no view is alive but one of a single row, which is `held` then: the point of a query, mostly.
  bool nobody_holds_a_view(nb::handle point, const void* first, std::size_t& held) const {
    if (is_shared_) return false;
    const bool is_own = owner_ == array_.ptr();
    const Py_ssize_t views = Py_REFCNT(owner_) - owned_, holders = is_own ? 0 : Py_REFCNT(array_.ptr()) - 2;
    if (holders != 0 || views < 0 || views > 1) return false;
    if (views == 0) return true;
    const std::size_t dimension = points_.dimension(),
                      offset = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(first) -
                                                        reinterpret_cast<std::uintptr_t>(data_));
    if (first == nullptr || offset % (dimension * sizeof(double)) != 0) return false;
    held = offset / (dimension * sizeof(double));
    return held < count_ && point.attr("base").ptr() == owner_;
  }

  static nb::object listed(nb::list items, const std::vector<FoundPoint>& found) {
    nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(found.size())));
    if (!list.is_valid()) throw nb::python_error();
    Py_ssize_t at = 0;
    for (const FoundPoint& one : found)
      PyList_SET_ITEM(list.ptr(), at++, nb::object(items[static_cast<std::size_t>(one.row)]).release().ptr());
    return list;
  }
  static nb::object answer(nb::list items, const std::vector<FoundPoint>& found) {
    nb::object list = listed(items, found);
    nb::object shape = nb::steal(PyLong_FromSize_t(found.size()));
    nb::object distances = nb::steal(PyObject_CallOneArg(NumPy::get().empty, shape.ptr()));
    Py_buffer view;
    if (!distances.is_valid() || PyObject_GetBuffer(distances.ptr(), &view, PyBUF_WRITABLE) != 0)
      throw nb::python_error();
    double* to = static_cast<double*>(view.buf);
    for (const FoundPoint& one : found) *to++ = one.distance;
    PyBuffer_Release(&view);
    return nb::make_tuple(list, distances);
  }

  MovingPoints points_;
  bool is_private_;
  nb::object array_;
  PyObject* owner_ = nullptr;  // kept alive by the array
  Py_ssize_t owned_ = 0;       // references to the owner without any view but the array
  double* data_ = nullptr;
  std::size_t count_ = 0;
  bool is_writable_ = false, is_shared_ = false, all_noted_ = true;
  std::vector<std::int32_t> noted_;
  std::vector<std::uint8_t> is_noted_;
};

// The attribute `pos` of each, (n, 2); None unless all are tuples of two floats.
nb::object places_of(nb::list agents) {
  static PyObject* const name = nb::str("pos").release().ptr();
  const std::size_t count = agents.size();
  std::vector<double> places;
  places.reserve(2 * count);
  for (std::size_t k = 0; k < count; ++k) {
    const nb::object agent(agents[k]), place = nb::steal(PyObject_GetAttr(agent.ptr(), name));
    if (!place.is_valid()) throw nb::python_error();
    if (!PyTuple_CheckExact(place.ptr()) || PyTuple_GET_SIZE(place.ptr()) != 2) return nb::none();
    for (const Py_ssize_t axis : {0, 1}) {
      PyObject* const number = PyTuple_GET_ITEM(place.ptr(), axis);
      if (!PyFloat_CheckExact(number)) return nb::none();
      places.push_back(PyFloat_AS_DOUBLE(number));
    }
  }
  return small_array(places.data(), count, 2, NumPy::get().float64);
}

}  // namespace

void bind_moving_points(nb::module_& module) {
  const auto row = "row"_a, items = "items"_a, repeats = "repeats"_a;
  const auto point = "point"_a.none(), size = "size"_a.none();
  const nb::lock_self lock;
  module.def("places_of", &places_of, "agents"_a, "Attributes `pos`, if all are tuples of two floats.");
  nb::class_<WatchedPoints>(module, "MovingPoints",
                            "Positions that are written one at a time between queries for those around a place.")
      .def(nb::init<std::size_t, bool>(), "dimension"_a, "is_private"_a)
      .def("adopt", &WatchedPoints::adopt, "array"_a.none(), "owner"_a.none(), lock)
      .def("note", &WatchedPoints::note, row, lock)
      .def("note_all", &WatchedPoints::note_all, lock)
      .def("move", &WatchedPoints::move, row, "to"_a.none(), "bounds"_a.none(), lock)
      .def("within", &WatchedPoints::within, items, point, row, "radius"_a.none(), repeats, size, lock)
      .def("nearest", &WatchedPoints::nearest, items, point, row, "count"_a, repeats, size, lock)
      .def("squared_within", &WatchedPoints::squared_within, items, point, "radius"_a, "limit"_a, "is_apart"_a, repeats,
           size, lock)
      .def_prop_ro("comparisons", &WatchedPoints::comparisons, lock)
      .def_prop_ro("noted", &WatchedPoints::noted, lock);
}

}  // namespace broadphase::python
