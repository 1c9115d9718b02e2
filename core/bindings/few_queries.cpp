// A few queries of an index in their plainest form, each kind by one call: the checks, the guard, the walk and the
// result take about as long as one conversion of an array in Python.
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

constexpr std::size_t kMostQueries = 8;
constexpr std::size_t kMostNearest = 64;

// Answers for an index as it is when this is made, and without filters. Each query returns None where it is not made
// for the arguments, or where the index has begun to change since: then the other way through Python answers, or
// raises.
class FewQueries {
 public:
  // Made inside a query. `seconds` is where the time of each query goes.
  FewQueries(nb::object guard, nb::object index, AnyArray lower, AnyArray upper, nb::dict seconds)
      : guard_owner_(std::move(guard)),
        index_owner_(std::move(index)),
        guard_(nb::cast<Guard&>(guard_owner_)),
        tree_(nb::cast<const BlockIndex&>(index_owner_).walked()),
        lower_(std::move(lower)),
        upper_(std::move(upper)),
        boxes_(any_boxes(lower_, upper_)),
        seconds_(std::move(seconds)),
        changes_(guard_.changes()) {}

  nb::object boxes(nb::handle boxes, nb::handle workers, nb::handle layer, nb::handle mask) {
    const FewNumbers given(boxes);
    const std::size_t dimension = tree_.dimension();
    if (!is_plain(workers, layer, mask) || !(are_few(given, {2, dimension}) || are_few(given, {2 * dimension})))
      return nb::none();
    double corners[8 * kMostQueries];
    if (!given.read(corners)) return nb::none();
    for (std::size_t query = 0; query < given.rows(); ++query)
      for (std::size_t k = 0; k < dimension; ++k) {
        const double* box = corners + query * 2 * dimension;
        if (!(box[k] <= box[dimension + k])) return nb::none();
      }
    return rows_of(given.rows(), [&](const TreeQueries& queries, std::size_t query, std::vector<std::int32_t>& rows) {
      BoxWalk walk;
      queries.by_box(query, corners + query * 2 * dimension, walk, rows);
    });
  }

  nb::object points(nb::handle points, nb::handle workers, nb::handle layer, nb::handle mask) {
    double place[4 * kMostQueries];
    const FewNumbers given(points);
    const std::size_t dimension = tree_.dimension();
    if (!is_plain(workers, layer, mask) || !read_points(given, place)) return nb::none();
    return rows_of(given.rows(), [&](const TreeQueries& queries, std::size_t query, std::vector<std::int32_t>& rows) {
      double box[8];
      for (double* corner : {box, box + dimension}) std::copy_n(place + query * dimension, dimension, corner);
      BoxWalk walk;
      queries.by_box(query, box, walk, rows);
    });
  }

  nb::object balls(nb::handle centers, nb::handle radius, nb::handle workers, nb::handle layer, nb::handle mask) {
    double place[4 * kMostQueries];
    const FewNumbers given(centers);
    const std::size_t dimension = tree_.dimension();
    const std::optional<double> reach = number(radius);
    if (!is_plain(workers, layer, mask) || !reach || !(*reach >= 0 && *reach < kNever) || !read_points(given, place))
      return nb::none();
    return rows_of(given.rows(), [&](const TreeQueries& queries, std::size_t query, std::vector<std::int32_t>& rows) {
      BallWalk walk;
      queries.by_ball(query, place + query * dimension, *reach, walk, rows);
    });
  }

  nb::object nearest(nb::handle points, nb::handle k, nb::handle max_distance, nb::handle workers, nb::handle layer,
                     nb::handle mask) {
    double place[4 * kMostQueries];
    const FewNumbers given(points);
    const std::size_t dimension = tree_.dimension(), wanted = columns(k);
    const std::optional<double> farthest = number(max_distance);
    if (wanted == 0 || !is_plain(workers, layer, mask) || !farthest || !(*farthest >= 0) || !read_points(given, place))
      return nb::none();
    const std::size_t queries = given.rows();
    std::int32_t rows[kMostQueries * kMostNearest];
    double distances[kMostQueries * kMostNearest];
    std::fill_n(rows, queries * wanted, -1);
    std::fill_n(distances, queries * wanted, kNever);
    const auto search = [&](const TreeQueries& tree) {
      TreeQueries::NearestScratch scratch;
      for (std::size_t query = 0; query < queries; ++query) {
        std::size_t at = query * wanted;
        tree.nearest(query, place + query * dimension, wanted, *farthest, scratch,
                     [&](std::int32_t row, double distance) {
                       rows[at] = row;
                       distances[at++] = distance;
                     });
      }
    };
    if (!answer(search)) return nb::none();
    nb::object first = small_array(rows, queries, wanted, NumPy::get().int32);
    return nb::make_tuple(first, small_array(distances, queries, wanted, NumPy::get().float64));
  }

  nb::object first_hits(nb::handle origins, nb::handle directions, nb::handle max_distance, nb::handle workers,
                        nb::handle layer, nb::handle mask) {
    double place[4 * kMostQueries], along[4 * kMostQueries];
    const FewNumbers from(origins), onward(directions);
    const std::optional<double> farthest = number(max_distance);
    if (!is_plain(workers, layer, mask) || !farthest || !(*farthest >= 0) || !read_points(from, place) ||
        !read_points(onward, along) || from.rows() != onward.rows())
      return nb::none();
    const std::size_t queries = from.rows(), dimension = tree_.dimension();
    std::int32_t rows[kMostQueries];
    double distances[kMostQueries];
    std::fill_n(rows, queries, -1);
    std::fill_n(distances, queries, kNever);
    const auto search = [&](const TreeQueries& tree) {
      SweepWalk walk;
      for (std::size_t query = 0; query < queries; ++query) {
        Sweep sweep;
        for (double* corner : {sweep.box, sweep.box + dimension})
          std::copy_n(place + query * dimension, dimension, corner);
        std::copy_n(along + query * dimension, dimension, sweep.motion);
        tree.first_touched(query, sweep, *farthest, walk, [&](std::int32_t row, double distance) {
          rows[query] = row;
          distances[query] = distance;
        });
      }
    };
    if (!answer(search)) return nb::none();
    nb::object first = small_array(rows, queries, 0, NumPy::get().int32);
    return nb::make_tuple(first, small_array(distances, queries, 0, NumPy::get().float64));
  }

 private:
  static bool is_plain(nb::handle workers, nb::handle layer, nb::handle mask) {
    return layer.is_none() && mask.is_none() && whole(workers) == 1;
  }
  // 0 where it is no int, or a negative or large one.
  static std::size_t whole(nb::handle value) {
    int overflow = 0;
    const long number = PyLong_CheckExact(value.ptr()) ? PyLong_AsLongAndOverflow(value.ptr(), &overflow) : 0;
    return number < 0 ? 0 : static_cast<std::size_t>(number);
  }
  static std::optional<double> number(nb::handle value) {
    if (PyFloat_Check(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());  // numpy.float64 too
    const std::size_t large = std::size_t{1} << 53;  // up to here, every whole number is a double
    const std::size_t integer = whole(value);
    if (integer == 0 || integer > large) return std::nullopt;
    return static_cast<double>(integer);
  }
  static bool are_few(const FewNumbers& given, std::initializer_list<std::size_t> row) {
    return given.is_array() && given.has_rows_of(row) && given.rows() <= kMostQueries;
  }
  // Finite points, (q, d).
  bool read_points(const FewNumbers& given, double* place) const {
    const std::size_t dimension = tree_.dimension();
    return are_few(given, {dimension}) && given.read(place) &&
           std::all_of(place, place + given.rows() * dimension, [](double x) { return std::isfinite(x); });
  }
  // Of the result for the k nearest; 0 where that is no int, or a large one.
  std::size_t columns(nb::handle k) const {
    const std::size_t wanted = whole(k);
    return wanted > kMostNearest ? 0 : wanted;
  }

  // Runs search(queries) as a query of the index. False if the index is no longer what it was.
  template <class Search>
  bool answer(const Search& search) {
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
      search(TreeQueries(tree_, boxes_, QueryFilter(), chosen_kernels()));
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    const nb::object seconds = nb::steal(PyFloat_FromDouble(taken.count()));
    if (!seconds.is_valid() || PyDict_SetItem(seconds_.ptr(), name_of<"query">(), seconds.ptr()) != 0)
      throw nb::python_error();
    return true;
  }

  // find(queries, query, rows) appends the rows of a query.
  template <class Find>
  nb::object rows_of(std::size_t queries, const Find& find) {
    std::vector<std::int32_t> rows;
    std::int64_t offsets[kMostQueries + 1] = {};
    const auto search = [&](const TreeQueries& tree) {
      for (std::size_t query = 0; query < queries; ++query) {
        find(tree, query, rows);
        offsets[query + 1] = static_cast<std::int64_t>(rows.size());
      }
    };
    if (!answer(search)) return nb::none();
    constexpr std::size_t kSmall = 1024;
    nb::object found =
        rows.size() > kSmall ? as_array(std::move(rows)) : small_array(rows.data(), rows.size(), 0, NumPy::get().int32);
    return nb::make_tuple(found, small_array(offsets, queries + 1, 0, NumPy::get().int64));
  }

  nb::object guard_owner_, index_owner_;
  Guard& guard_;
  const BlockTree& tree_;
  AnyArray lower_, upper_;
  AnyBoxes boxes_;
  nb::dict seconds_;
  std::uint64_t changes_;
};

}  // namespace

void bind_few_queries(nb::module_& module) {
  const auto workers = "workers"_a, layer = "layer"_a, mask = "mask"_a;
  nb::class_<FewQueries>(module, "FewQueries",
                         "A few queries of an index in their plainest form; None where the general way must answer.")
      .def(nb::init<nb::object, nb::object, AnyArray, AnyArray, nb::dict>(), "guard"_a, "index"_a, "lower"_a, "upper"_a,
           "seconds"_a)
      .def("boxes", &FewQueries::boxes, "boxes"_a.none(), workers.none(), layer.none(), mask.none())
      .def("points", &FewQueries::points, "points"_a.none(), workers.none(), layer.none(), mask.none())
      .def("balls", &FewQueries::balls, "centers"_a.none(), "radius"_a.none(), workers.none(), layer.none(),
           mask.none())
      .def("nearest", &FewQueries::nearest, "points"_a.none(), "k"_a.none(), "max_distance"_a.none(), workers.none(),
           layer.none(), mask.none())
      .def("first_hits", &FewQueries::first_hits, "origins"_a.none(), "directions"_a.none(), "max_distance"_a.none(),
           workers.none(), layer.none(), mask.none());
}

}  // namespace broadphase::python
