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
    double corners[8 * kMostQueries];
    const std::size_t dimension = tree_.dimension();
    // A tuple may be lower and upper corners.
    if (!is_plain(workers, layer, mask) || PyTuple_Check(boxes.ptr())) return nb::none();
    const FewNumbers given(boxes, corners);
    const std::size_t count = std::max(many(given.rows_of({2, dimension})), many(given.rows_of({2 * dimension})));
    if (count == 0 || count > kMostQueries) return nb::none();
    for (std::size_t query = 0; query < count; ++query)
      for (std::size_t k = 0; k < dimension; ++k) {
        const double* box = corners + query * 2 * dimension;
        if (!(box[k] <= box[dimension + k])) return nb::none();
      }
    return rows_of(count, [&](const TreeQueries& queries, std::size_t query, std::vector<std::int32_t>& rows) {
      BoxWalk walk;
      queries.by_box(query, corners + query * 2 * dimension, walk, rows);
    });
  }

  nb::object points(nb::handle points, nb::handle workers, nb::handle layer, nb::handle mask) {
    double place[4 * kMostQueries];
    const std::size_t dimension = tree_.dimension(), count = read_points(points, place);
    if (!is_plain(workers, layer, mask) || count == 0) return nb::none();
    return rows_of(count, [&](const TreeQueries& queries, std::size_t query, std::vector<std::int32_t>& rows) {
      double box[8];
      for (double* corner : {box, box + dimension}) std::copy_n(place + query * dimension, dimension, corner);
      BoxWalk walk;
      queries.by_box(query, box, walk, rows);
    });
  }

  nb::object balls(nb::handle centers, nb::handle radius, nb::handle workers, nb::handle layer, nb::handle mask) {
    double place[4 * kMostQueries];
    const std::size_t dimension = tree_.dimension(), count = read_points(centers, place);
    double reach = 0;
    if (!is_plain(workers, layer, mask) || count == 0 || !read_number(radius.ptr(), reach)) return nb::none();
    if (!(reach >= 0 && reach < kNever)) return nb::none();
    return rows_of(count, [&](const TreeQueries& queries, std::size_t query, std::vector<std::int32_t>& rows) {
      BallWalk walk;
      queries.by_ball(query, place + query * dimension, reach, walk, rows);
    });
  }

  nb::object nearest(nb::handle points, nb::handle k, nb::handle max_distance, nb::handle workers, nb::handle layer,
                     nb::handle mask) {
    double place[4 * kMostQueries];
    const std::size_t dimension = tree_.dimension(), wanted = columns(k), queries = read_points(points, place);
    double farthest = 0;
    if (wanted == 0 || queries == 0 || !is_plain(workers, layer, mask)) return nb::none();
    if (!read_number(max_distance.ptr(), farthest) || !(farthest >= 0)) return nb::none();
    std::int32_t rows[kMostQueries * kMostNearest];
    double distances[kMostQueries * kMostNearest];
    std::fill_n(rows, queries * wanted, -1);
    std::fill_n(distances, queries * wanted, kNever);
    const auto search = [&](const TreeQueries& tree) {
      TreeQueries::NearestScratch scratch;
      for (std::size_t query = 0; query < queries; ++query) {
        std::size_t at = query * wanted;
        tree.nearest(query, place + query * dimension, wanted, farthest, scratch,
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
    const std::size_t dimension = tree_.dimension(), queries = read_points(origins, place);
    double farthest = 0;
    if (queries == 0 || !is_plain(workers, layer, mask) || read_points(directions, along) != queries) return nb::none();
    if (!read_number(max_distance.ptr(), farthest) || !(farthest >= 0)) return nb::none();
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
        tree.first_touched(query, sweep, farthest, walk, [&](std::int32_t row, double distance) {
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
    long long number = 0;
    return read_whole(value.ptr(), number) && number > 0 ? static_cast<std::size_t>(number) : 0;
  }
  static std::size_t many(const std::optional<FewRows>& rows) { return rows && !rows->is_one ? rows->count : 0; }
  // Finite points, (q, d). How many; 0 where they are something else, or too many.
  template <std::size_t room>
  std::size_t read_points(nb::handle given, double (&place)[room]) const {
    const std::size_t dimension = tree_.dimension(), count = many(FewNumbers(given, place).rows_of({dimension}));
    const bool is_finite = std::all_of(place, place + std::min(count, kMostQueries) * dimension,
                                       [](double x) { return std::isfinite(x); });
    return count <= kMostQueries && is_finite ? count : 0;
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
