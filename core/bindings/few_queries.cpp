// A few queries of an index, each kind by one call: the checks, the guard, the walk and the result take about as long
// as one conversion of an array in Python.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "guard.hpp"
#include "index.hpp"
#include "small_arrays.hpp"
#include "tree/queries.hpp"

namespace broadphase::python {

namespace {

// More are sooner sorted and walked together, and take longer than the conversion of their arrays.
constexpr std::size_t kMostQueries = 64;
constexpr std::size_t kMostNearest = 64;

// One argument of a few queries: a row for each of them, or one for all.
struct Given {
  double numbers[8 * kMostQueries];
  FewRows rows{0, false};
  std::size_t size = 0;  // of a row

  const double* of(std::size_t query) const { return numbers + (rows.count == 1 ? 0 : query * size); }
  bool are_finite() const {
    return std::all_of(numbers, numbers + rows.count * size, [](double x) { return std::isfinite(x); });
  }
};

// How many queries there are. One, if none of the arguments has an axis of queries; its result has none either.
struct Asked {
  std::size_t count = 1;
  bool is_one = true;

  // False where the arguments differ in their number, or are too many.
  bool fits(const Given& given) {
    const std::size_t more = given.rows.count;
    is_one = is_one && given.rows.is_one;
    if (more == 0 || more > kMostQueries || (more != 1 && count != 1 && more != count)) return false;
    count = std::max(count, more);
    return true;
  }
};

// What the queries may find.
struct Allowed {
  QueryFilter filter;
  std::uint64_t layer[kMostQueries], mask[kMostQueries];
  std::int32_t ignored[QueryFilter::kFewIgnored];
};

// Answers for an index as it is when this is made. Each query takes the arguments and the options of the method of the
// same name, and gives what that gives; or NotImplemented where it is not made for the arguments, or where the index
// has begun to change since: then the general way in Python answers, or raises.
class FewQueries {
 public:
  using Words = std::optional<Vector<std::uint64_t>>;

  // Made inside a query. `layer`, `mask` and `alive` are those of the rows, `results` the classes of results, and
  // `seconds` is where the time of each query goes.
  FewQueries(nb::object guard, nb::object index, AnyArray lower, AnyArray upper, Words layer, Words mask,
             AnyArray alive, nb::tuple results, nb::dict seconds)
      : guard_owner_(std::move(guard)),
        index_owner_(std::move(index)),
        guard_(nb::cast<Guard&>(guard_owner_)),
        tree_(nb::cast<const BlockIndex&>(index_owner_).walked()),
        lower_(std::move(lower)),
        upper_(std::move(upper)),
        boxes_(any_boxes(lower_, upper_)),
        layer_(std::move(layer)),
        mask_(std::move(mask)),
        alive_(std::move(alive)),
        results_(std::move(results)),
        seconds_(std::move(seconds)),
        changes_(guard_.changes()) {}

  nb::object query(nb::handle boxes, nb::dict options) {
    Given given;
    Asked asked;
    Allowed allowed;
    if (!read_boxes(boxes, given) || !asked.fits(given) || !read_options(options, asked, allowed)) return other_way();
    return rows_of(asked, allowed, [&](const TreeQueries& tree, std::size_t query, std::vector<std::int32_t>& rows) {
      BoxWalk walk;
      tree.by_box(query, given.of(query), walk, rows);
    });
  }

  nb::object query_points(nb::handle points, nb::dict options) {
    Given place;
    Asked asked;
    Allowed allowed;
    if (!read_points(points, place) || !asked.fits(place) || !read_options(options, asked, allowed)) return other_way();
    return rows_of(asked, allowed, [&](const TreeQueries& tree, std::size_t query, std::vector<std::int32_t>& rows) {
      double box[8];
      for (double* corner : {box, box + place.size}) std::copy_n(place.of(query), place.size, corner);
      BoxWalk walk;
      tree.by_box(query, box, walk, rows);
    });
  }

  nb::object query_ball(nb::handle centers, nb::handle radii, nb::dict options) {
    Given center, radius;
    Asked asked;
    Allowed allowed;
    if (!read_points(centers, center) || !read_lengths(radii, radius) || !radius.are_finite() || !asked.fits(center) ||
        !asked.fits(radius) || !read_options(options, asked, allowed))
      return other_way();
    return rows_of(asked, allowed, [&](const TreeQueries& tree, std::size_t query, std::vector<std::int32_t>& rows) {
      BallWalk walk;
      tree.by_ball(query, center.of(query), *radius.of(query), walk, rows);
    });
  }

  // Of rows, only of one.
  nb::object nearest(nb::handle points, nb::handle k, nb::handle max_distance, nb::handle rows, nb::handle exclude_self,
                     nb::dict options) {
    Given place, farthest;
    Asked asked;
    Allowed allowed;
    long long columns = 0, own = -1;
    if (!read_whole(k.ptr(), columns) || columns < 1 || columns > static_cast<long long>(kMostNearest) ||
        !read_lengths(max_distance, farthest) || !asked.fits(farthest) || (!points.is_none() && !rows.is_none()) ||
        !(rows.is_none() ? read_points(points, place) : read_row(rows.ptr(), own, place)) || !asked.fits(place) ||
        !read_options(options, asked, allowed) || !PyBool_Check(exclude_self.ptr()) ||
        (own >= 0 && exclude_self.is(Py_True) && !ignore(own, allowed)))
      return other_way();
    const auto wanted = static_cast<std::size_t>(columns);
    std::int32_t found[kMostQueries * kMostNearest];
    double distances[kMostQueries * kMostNearest];
    std::fill_n(found, asked.count * wanted, -1);
    std::fill_n(distances, asked.count * wanted, kNever);
    bool has_place = true;
    const auto search = [&](const TreeQueries& tree) {
      if (own >= 0 && !(has_place = put_center(static_cast<std::size_t>(own), place))) return;
      TreeQueries::NearestScratch scratch;
      for (std::size_t query = 0; query < asked.count; ++query) {
        std::size_t at = query * wanted;
        tree.nearest(query, place.of(query), wanted, *farthest.of(query), scratch,
                     [&](std::int32_t row, double distance) {
                       found[at] = row;
                       distances[at++] = distance;
                     });
      }
    };
    if (!answer(allowed, search) || !has_place) return other_way();
    const std::size_t length = asked.is_one ? wanted : asked.count, width = asked.is_one ? 0 : wanted;
    return named_tuple(kNearest, small_array(found, length, width, NumPy::get().int32),
                       small_array(distances, length, width, NumPy::get().float64));
  }

  nb::object raycast(nb::handle origins, nb::handle directions, nb::handle max_distance, nb::dict options) {
    Rays rays;
    Allowed allowed;
    if (!read_rays(origins, directions, max_distance, rays) || !read_options(options, rays.asked, allowed))
      return other_way();
    return first_touched(kRayHits, rays, allowed);
  }

  nb::object raycast_all(nb::handle origins, nb::handle directions, nb::handle max_distance, nb::dict options) {
    Rays rays;
    Allowed allowed;
    if (!read_rays(origins, directions, max_distance, rays) || !read_options(options, rays.asked, allowed))
      return other_way();
    std::vector<std::int32_t> rows;
    std::vector<double> distances;
    std::int64_t offsets[kMostQueries + 1] = {};
    const auto search = [&](const TreeQueries& tree) {
      TreeQueries::TouchedScratch scratch;
      for (std::size_t query = 0; query < rays.asked.count; ++query) {
        tree.all_touched(query, rays.sweep(query), rays.limit(query), scratch, [&](std::int32_t row, double distance) {
          rows.push_back(row);
          distances.push_back(distance);
        });
        offsets[query + 1] = static_cast<std::int64_t>(rows.size());
      }
    };
    if (!answer(allowed, search)) return other_way();
    const nb::object first = found_array(std::move(rows), NumPy::get().int32);
    const nb::object second = found_array(std::move(distances), NumPy::get().float64);
    if (rays.asked.is_one) return nb::make_tuple(first, second);
    return kind(kRayHitsAll)(first, small_array(offsets, rays.asked.count + 1, 0, NumPy::get().int64), second);
  }

  nb::object raycast_any(nb::handle origins, nb::handle directions, nb::handle max_distance, nb::dict options) {
    Rays rays;
    Allowed allowed;
    if (!read_rays(origins, directions, max_distance, rays) || !read_options(options, rays.asked, allowed))
      return other_way();
    bool is_hit[kMostQueries];
    const auto search = [&](const TreeQueries& tree) {
      SweepWalk walk;
      for (std::size_t query = 0; query < rays.asked.count; ++query)
        is_hit[query] = tree.any_touched(query, rays.sweep(query), rays.limit(query), walk);
    };
    if (!answer(allowed, search)) return other_way();
    if (rays.asked.is_one) return nb::bool_(is_hit[0]);
    return small_array(is_hit, rays.asked.count, 0, NumPy::get().boolean);
  }

  nb::object shapecast(nb::handle boxes, nb::handle motions, nb::dict options) {
    Rays moving;
    Allowed allowed;
    moving.ends = true;
    if (!read_boxes(boxes, moving.from) || !moving.from.are_finite() || !read_points(motions, moving.along) ||
        !moving.asked.fits(moving.from) || !moving.asked.fits(moving.along) ||
        !read_options(options, moving.asked, allowed))
      return other_way();
    return first_touched(kShapecastHits, moving, allowed);
  }

 private:
  // Places in `results`.
  enum Result { kQueryResult, kNearest, kRayHits, kRayHitsAll, kShapecastHits };

  // Rays, or boxes that move and stop.
  struct Rays {
    Given from, along, farthest;
    Asked asked;
    bool ends = false;

    double limit(std::size_t query) const { return ends ? 1 : *farthest.of(query); }
    Sweep sweep(std::size_t query) const {
      const std::size_t dimension = along.size;
      Sweep result;
      result.ends = ends;
      std::copy_n(from.of(query), dimension, result.box);
      std::copy_n(from.of(query) + (ends ? dimension : 0), dimension, result.box + dimension);
      std::copy_n(along.of(query), dimension, result.motion);
      return result;
    }
  };

  static nb::object other_way() { return nb::borrow(Py_NotImplemented); }

  // Arguments. Each of these is false where they are not what the queries are made for.

  bool read_boxes(nb::handle from, Given& to) const {
    const std::size_t dimension = tree_.dimension();
    const FewNumbers read(from, to.numbers);
    std::optional<FewRows> rows = read.rows_of({2, dimension});
    if (!rows) rows = read.rows_of({2 * dimension});
    // A tuple of two is lower and upper corners, of one box here.
    if (!rows || (!rows->is_one && PyTuple_Check(from.ptr()) && PyTuple_GET_SIZE(from.ptr()) == 2)) return false;
    to.rows = *rows;
    to.size = 2 * dimension;
    for (const double* box = to.numbers; box != to.numbers + rows->count * to.size; box += to.size)
      for (std::size_t k = 0; k < dimension; ++k)
        if (!(box[k] <= box[dimension + k])) return false;
    return true;
  }
  // Finite points or vectors.
  bool read_points(nb::handle from, Given& to) const {
    to.size = tree_.dimension();
    const std::optional<FewRows> rows = FewNumbers(from, to.numbers).rows_of({to.size});
    if (!rows) return false;
    to.rows = *rows;
    return to.are_finite();
  }
  // A row in use, whose place is put there later.
  bool read_row(PyObject* from, long long& row, Given& place) const {
    place.rows = {1, true};
    place.size = tree_.dimension();
    return read_whole(from, row) && is_in_use(row);
  }
  // False for an infinite box.
  bool put_center(std::size_t row, Given& place) const {
    double box[8];
    boxes_.read(row, box);
    for (std::size_t k = 0; k < place.size; ++k) {
      if (!std::isfinite(box[k]) || !std::isfinite(box[place.size + k])) return false;
      place.numbers[k] = box[k] / 2 + box[place.size + k] / 2;
    }
    return true;
  }
  // At least 0.
  static bool read_lengths(nb::handle from, Given& to) {
    to.size = 1;
    if (read_number(from.ptr(), to.numbers[0]))
      to.rows = {1, true};
    else
      to.rows = {FewNumbers(from, to.numbers).length(), false};
    return to.rows.count > 0 &&
           std::all_of(to.numbers, to.numbers + to.rows.count, [](double length) { return length >= 0; });
  }
  bool read_rays(nb::handle origins, nb::handle directions, nb::handle max_distance, Rays& to) const {
    return read_points(origins, to.from) && read_points(directions, to.along) &&
           read_lengths(max_distance, to.farthest) && to.asked.fits(to.from) && to.asked.fits(to.along) &&
           to.asked.fits(to.farthest);
  }

  bool read_options(nb::handle options, const Asked& asked, Allowed& to) const {
    std::uint64_t layer = kEveryBit, mask = kEveryBit;
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(options.ptr(), &at, &name, &value) != 0;) {
      if (value == Py_None) {
        if (name != name_of<"by">() && name != name_of<"batch">() && name != name_of<"workers">() &&
            name != name_of<"layer">() && name != name_of<"mask">() && name != name_of<"ignore">())
          return false;
      } else if (name == name_of<"workers">()) {  // does not change the answer
        long long workers = 0;
        if (!read_whole(value, workers) || (workers < 1 && workers != -1)) return false;
      } else if (name == name_of<"layer">()) {
        if (!read_bits(value, layer)) return false;
      } else if (name == name_of<"mask">()) {
        if (!read_bits(value, mask)) return false;
      } else if (name != name_of<"ignore">() || !read_ignored(value, asked.is_one, to)) {
        return false;
      }
    }
    if (!layer_ && !mask_ && layer == kEveryBit && mask == kEveryBit) return true;
    QueryFilter& filter = to.filter;
    std::fill_n(to.layer, asked.count, layer);
    std::fill_n(to.mask, asked.count, mask);
    filter.query_layer = to.layer;
    filter.query_mask = to.mask;
    filter.row_layer = layer_ ? layer_->data() : &kEveryBit;
    filter.row_mask = mask_ ? mask_->data() : &kEveryBit;
    filter.row_layer_step = layer_ ? 1 : 0;
    filter.row_mask_step = mask_ ? 1 : 0;
    return true;
  }
  // Of all queries, as one int of 64 bits, with a sign or without.
  static bool read_bits(PyObject* from, std::uint64_t& to) {
    if (!PyLong_CheckExact(from)) return false;
    int overflow = 0;
    to = static_cast<std::uint64_t>(PyLong_AsLongLongAndOverflow(from, &overflow));
    if (overflow > 0) {
      to = PyLong_AsUnsignedLongLong(from);
      if (PyErr_Occurred() == nullptr) return true;
      PyErr_Clear();
    }
    return overflow == 0;
  }
  // A row that all queries ignore, or some rows that one does. Each is in use, or -1.
  bool read_ignored(PyObject* from, bool is_one, Allowed& to) const {
    const auto add = [&](PyObject* given) {
      long long row = 0;
      return read_whole(given, row) && (row == -1 || is_in_use(row)) && ignore(row, to);
    };
    if (add(from)) return true;
    if (!is_one || !(PyList_CheckExact(from) || PyTuple_CheckExact(from))) return false;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(from); ++k) {
      const nb::object item = nb::steal(PySequence_GetItem(from, k));
      if (!item.is_valid()) PyErr_Clear();  // another thread has shortened the list
      if (!item.is_valid() || !add(item.ptr())) return false;
    }
    return true;
  }
  bool is_in_use(long long row) const {
    return row >= 0 && row < static_cast<long long>(alive_.shape(0)) &&
           static_cast<const std::uint8_t*>(alive_.data())[row] != 0;
  }
  // Adds a row, or -1, to those that all queries ignore. False where they are too many.
  static bool ignore(long long row, Allowed& to) {
    if (to.filter.ignored_count == QueryFilter::kFewIgnored) return false;
    to.ignored[to.filter.ignored_count++] = static_cast<std::int32_t>(row);
    to.filter.ignored = to.ignored;
    std::sort(to.ignored, to.ignored + to.filter.ignored_count);
    return true;
  }

  // Results.

  nb::handle kind(Result of) const { return PyTuple_GET_ITEM(results_.ptr(), static_cast<Py_ssize_t>(of)); }

  // Runs search(queries) as a query of the index. False if the index is no longer what it was.
  template <class Search>
  bool answer(const Allowed& allowed, const Search& search) {
    const auto began = std::chrono::steady_clock::now();
    struct Reading {
      Guard& guard;
      explicit Reading(Guard& of) : guard(of) { guard.start_reading(); }
      ~Reading() { guard.stop_reading(); }
    };
    {
      const Reading reading(guard_);
      if (guard_.changes() != changes_) return false;
      const ReleasedGil release;
      search(TreeQueries(tree_, boxes_, allowed.filter, chosen_kernels()));
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    const nb::object seconds = nb::steal(PyFloat_FromDouble(taken.count()));
    if (!seconds.is_valid() || PyDict_SetItem(seconds_.ptr(), name_of<"query">(), seconds.ptr()) != 0)
      throw nb::python_error();
    return true;
  }

  // find(queries, query, rows) appends the rows of a query.
  template <class Find>
  nb::object rows_of(const Asked& asked, const Allowed& allowed, const Find& find) {
    std::vector<std::int32_t> rows;
    std::int64_t offsets[kMostQueries + 1] = {};
    const auto search = [&](const TreeQueries& tree) {
      for (std::size_t query = 0; query < asked.count; ++query) {
        find(tree, query, rows);
        offsets[query + 1] = static_cast<std::int64_t>(rows.size());
      }
    };
    if (!answer(allowed, search)) return other_way();
    const nb::object found = found_array(std::move(rows), NumPy::get().int32);
    if (asked.is_one) return found;
    return kind(kQueryResult)(found, small_array(offsets, asked.count + 1, 0, NumPy::get().int64));
  }

  nb::object first_touched(Result of, const Rays& moving, const Allowed& allowed) {
    std::int32_t rows[kMostQueries];
    double values[kMostQueries];
    std::fill_n(rows, kMostQueries, -1);
    std::fill_n(values, kMostQueries, kNever);
    const std::size_t count = moving.asked.count;
    const auto search = [&](const TreeQueries& tree) {
      SweepWalk walk;
      for (std::size_t query = 0; query < count; ++query)
        tree.first_touched(query, moving.sweep(query), moving.limit(query), walk, [&](std::int32_t row, double value) {
          rows[query] = row;
          values[query] = value;
        });
    };
    if (!answer(allowed, search)) return other_way();
    if (moving.asked.is_one) return named_tuple(of, nb::int_(rows[0]), nb::float_(values[0]));
    return named_tuple(of, small_array(rows, count, 0, NumPy::get().int32),
                       small_array(values, count, 0, NumPy::get().float64));
  }

  template <class T>
  static nb::object found_array(std::vector<T>&& values, PyObject* dtype) {
    constexpr std::size_t kSmall = 1024;
    return values.size() > kSmall ? as_array(std::move(values)) : small_array(values.data(), values.size(), 0, dtype);
  }
  // Past the function of Python that a named tuple is called by, which would take as long as a query.
  nb::object named_tuple(Result of, nb::object first, nb::object second) const {
    const nb::tuple fields = nb::make_tuple(nb::make_tuple(first, second));
    auto* type = reinterpret_cast<PyTypeObject*>(kind(of).ptr());
    nb::object made = nb::steal(PyTuple_Type.tp_new(type, fields.ptr(), nullptr));
    if (!made.is_valid()) throw nb::python_error();
    return made;
  }

  static constexpr std::uint64_t kEveryBit = ~std::uint64_t{0};

  nb::object guard_owner_, index_owner_;
  Guard& guard_;
  const BlockTree& tree_;
  AnyArray lower_, upper_;
  AnyBoxes boxes_;
  Words layer_, mask_;
  AnyArray alive_;
  nb::tuple results_;
  nb::dict seconds_;
  std::uint64_t changes_;
};

}  // namespace

void bind_few_queries(nb::module_& module) {
  const auto origins = "origins"_a.none(), directions = "directions"_a.none(), farthest = "max_distance"_a.none();
  const auto options = "options"_a;
  nb::class_<FewQueries>(module, "FewQueries",
                         "A few queries of an index; NotImplemented where the general way must answer.")
      .def(nb::init<nb::object, nb::object, AnyArray, AnyArray, FewQueries::Words, FewQueries::Words, AnyArray,
                    nb::tuple, nb::dict>(),
           "guard"_a, "index"_a, "lower"_a, "upper"_a, "layer"_a.none(), "mask"_a.none(), "alive"_a, "results"_a,
           "seconds"_a)
      .def("query", &FewQueries::query, "boxes"_a.none(), options)
      .def("query_points", &FewQueries::query_points, "points"_a.none(), options)
      .def("query_ball", &FewQueries::query_ball, "centers"_a.none(), "radii"_a.none(), options)
      .def("nearest", &FewQueries::nearest, "points"_a.none(), "k"_a.none(), farthest, "rows"_a.none(),
           "exclude_self"_a, options)
      .def("raycast", &FewQueries::raycast, origins, directions, farthest, options)
      .def("raycast_all", &FewQueries::raycast_all, origins, directions, farthest, options)
      .def("raycast_any", &FewQueries::raycast_any, origins, directions, farthest, options)
      .def("shapecast", &FewQueries::shapecast, "boxes"_a.none(), "motions"_a.none(), options);
}

}  // namespace broadphase::python
