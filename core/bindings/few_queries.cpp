// A few queries of an index, each kind by one call: the checks, the guard, the walk and the result take about as long
// as one conversion of an array in Python.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "few_answers.hpp"
#include "query/turned_boxes.hpp"
#include "turns.hpp"

namespace broadphase::python {

namespace {

class FewQueries : public FewAnswers {
 public:
  // `layer`, `mask` and `alive` are those of the rows, and `seconds` is where the time of each query goes.
  FewQueries(nb::object guard, nb::object index, AnyArray lower, AnyArray upper, FewRowsOf::Words layer,
             FewRowsOf::Words mask, AnyArray alive, nb::tuple results, nb::dict seconds)
      : FewAnswers(std::move(guard), lower.shape(1), {std::move(layer), std::move(mask), std::move(alive)},
                   std::move(results)),
        index_owner_(std::move(index)),
        index_(nb::cast<const BlockIndex&>(index_owner_)),
        lower_(std::move(lower)),
        upper_(std::move(upper)),
        boxes_(any_boxes(lower_, upper_)),
        seconds_(std::move(seconds)) {}

  nb::object query(nb::handle boxes, nb::dict options) {
    Given given;
    Asked asked;
    Allowed allowed;
    if (!read_boxes(boxes, given) || !asked.fits(given) || !of_rows().read_options(options, asked, allowed))
      return other_way();
    return rows_of(asked, allowed, [&](const TreeQueries& tree, std::size_t query, std::vector<std::int32_t>& rows) {
      BoxWalk walk;
      tree.by_box(query, given.of(query), walk, rows);
    });
  }

  nb::object query_points(nb::handle points, nb::dict options) {
    Given place;
    Asked asked;
    Allowed allowed;
    if (!read_points(points, place) || !asked.fits(place) || !of_rows().read_options(options, asked, allowed))
      return other_way();
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
        !asked.fits(radius) || !of_rows().read_options(options, asked, allowed))
      return other_way();
    return rows_of(asked, allowed, [&](const TreeQueries& tree, std::size_t query, std::vector<std::int32_t>& rows) {
      BallWalk walk;
      tree.by_ball(query, center.of(query), *radius.of(query), walk, rows);
    });
  }

  nb::object query_obb(nb::handle centers, nb::handle half_sizes, nb::handle rotations, nb::dict options) {
    Given center, half, turn;
    Asked asked;
    Allowed allowed;
    if ((dimension() != 2 && dimension() != 3) || !read_points(centers, center) || !read_half_sizes(half_sizes, half) ||
        !read_turns(rotations, turn) || !asked.fits(center) || !asked.fits(half) || !asked.fits(turn) ||
        !of_rows().read_options(options, asked, allowed))
      return other_way();
    RegionSlabs regions;
    in_plane_or_space(dimension(), [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
      for (std::size_t query = 0; query < asked.count; ++query)
        add_turned_box<D>(center.of(query), half.of(query), matrix_of<D>(turn.of(query), turn.size).data(), regions);
    });
    return in_regions(regions, asked, allowed);
  }

  nb::object frustum(nb::handle matrix, nb::handle planes, nb::handle depth, nb::dict options) {
    Asked asked;
    Allowed allowed;
    RegionSlabs regions;
    if (!read_regions(matrix, planes, depth, regions, asked) || !of_rows().read_options(options, asked, allowed))
      return other_way();
    return in_regions(regions, asked, allowed);
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
        !of_rows().read_options(options, asked, allowed) || !PyBool_Check(exclude_self.ptr()) ||
        (own >= 0 && exclude_self.is(Py_True) && !FewRowsOf::ignore(own, allowed)))
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
    if (!answer_distinct(allowed, search) || !has_place) return other_way();
    const std::size_t length = asked.is_one ? wanted : asked.count, width = asked.is_one ? 0 : wanted;
    return named_tuple(kNearest, small_array(found, length, width, NumPy::get().int32),
                       small_array(distances, length, width, NumPy::get().float64));
  }

  nb::object raycast(nb::handle origins, nb::handle directions, nb::handle max_distance, nb::dict options) {
    FewRays rays;
    Allowed allowed;
    if (!read_rays(origins, directions, max_distance, rays) || !of_rows().read_options(options, rays.asked, allowed))
      return other_way();
    return first_touched(kRayHits, rays, allowed);
  }

  nb::object raycast_all(nb::handle origins, nb::handle directions, nb::handle max_distance, nb::dict options) {
    FewRays rays;
    Allowed allowed;
    if (!read_rays(origins, directions, max_distance, rays) || !of_rows().read_options(options, rays.asked, allowed))
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
    if (!answer_distinct(allowed, search)) return other_way();
    const nb::object first = found_array(std::move(rows), NumPy::get().int32);
    const nb::object second = found_array(std::move(distances), NumPy::get().float64);
    if (rays.asked.is_one) return nb::make_tuple(first, second);
    return kind(kRayHitsAll)(first, small_array(offsets, rays.asked.count + 1, 0, NumPy::get().int64), second);
  }

  nb::object raycast_any(nb::handle origins, nb::handle directions, nb::handle max_distance, nb::dict options) {
    FewRays rays;
    Allowed allowed;
    if (!read_rays(origins, directions, max_distance, rays) || !of_rows().read_options(options, rays.asked, allowed))
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
    FewRays moving;
    Allowed allowed;
    moving.ends = true;
    if (!read_boxes(boxes, moving.from) || !moving.from.are_finite() || !read_points(motions, moving.along) ||
        !moving.asked.fits(moving.from) || !moving.asked.fits(moving.along) ||
        !of_rows().read_options(options, moving.asked, allowed))
      return other_way();
    return first_touched(kShapecastHits, moving, allowed);
  }

 private:
  // As read_rotations(); also matrices.
  bool read_turns(nb::handle from, Given& to) const {
    if (read_rotations(from, to)) return true;
    const std::size_t d = dimension();
    const std::optional<FewRows> given = FewNumbers(from, to.numbers).rows_of({d, d});
    if (!given) return false;
    to.rows = *given;
    to.size = d * d;
    for (std::size_t k = 0; k < to.rows.count; ++k)
      if (!take_matrix(to.numbers + k * to.size, d)) return false;
    return true;
  }
  // A row in use, whose place is put there later.
  bool read_row(PyObject* from, long long& row, Given& place) const {
    place.rows = {1, true};
    place.size = dimension();
    return read_whole(from, row) && of_rows().is_in_use(row);
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
  // Runs search(queries) as a query of the index. False if the index is no longer what it was.
  template <class Search>
  bool answer(const Allowed& allowed, const Search& search, const SearchForCopies* copies = nullptr) {
    const auto began = std::chrono::steady_clock::now();
    if (!FewAnswers::answer([&] { search_allowed(index_, boxes_, allowed.filter, search, copies); })) return false;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    const nb::object seconds = nb::steal(PyFloat_FromDouble(taken.count()));
    if (!seconds.is_valid() || PyDict_SetItem(seconds_.ptr(), name_of<"query">(), seconds.ptr()) != 0)
      throw nb::python_error();
    return true;
  }

  // The same where the tree may be that of boxes that differ.
  template <class Search>
  bool answer_distinct(const Allowed& allowed, const Search& search) {
    const SearchForCopies copies = index_.search_for_equal(boxes_);
    return answer(allowed, search, &copies);
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
    return rows_found(asked, std::move(rows), offsets);
  }

  nb::object in_regions(const RegionSlabs& regions, const Asked& asked, const Allowed& allowed) {
    TreeQueries::RegionScratch scratch;
    return rows_of(asked, allowed, [&](const TreeQueries& tree, std::size_t query, std::vector<std::int32_t>& rows) {
      double around[6];
      tree.by_region(query, region_of(regions, query, around), scratch, rows);
    });
  }

  nb::object first_touched(Result of, const FewRays& moving, const Allowed& allowed) {
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
    if (!answer_distinct(allowed, search)) return other_way();
    if (moving.asked.is_one) return named_tuple(of, nb::int_(rows[0]), nb::float_(values[0]));
    return named_tuple(of, small_array(rows, count, 0, NumPy::get().int32),
                       small_array(values, count, 0, NumPy::get().float64));
  }

  nb::object index_owner_;
  const BlockIndex& index_;
  AnyArray lower_, upper_;
  AnyBoxes boxes_;
  nb::dict seconds_;
};

}  // namespace

void bind_few_queries(nb::module_& module) {
  const auto origins = "origins"_a.none(), directions = "directions"_a.none(), farthest = "max_distance"_a.none();
  const auto options = "options"_a;
  nb::class_<FewQueries>(module, "FewQueries",
                         "A few queries of an index; NotImplemented where the general way must answer.")
      .def(nb::init<nb::object, nb::object, AnyArray, AnyArray, FewRowsOf::Words, FewRowsOf::Words, AnyArray, nb::tuple,
                    nb::dict>(),
           "guard"_a, "index"_a, "lower"_a, "upper"_a, "layer"_a.none(), "mask"_a.none(), "alive"_a, "results"_a,
           "seconds"_a)
      .def("query", &FewQueries::query, "boxes"_a.none(), options)
      .def("query_points", &FewQueries::query_points, "points"_a.none(), options)
      .def("query_ball", &FewQueries::query_ball, "centers"_a.none(), "radii"_a.none(), options)
      .def("query_obb", &FewQueries::query_obb, "centers"_a.none(), "half_sizes"_a.none(), "rotations"_a.none(),
           options)
      .def("frustum", &FewQueries::frustum, "matrix"_a.none(), "planes"_a.none(), "depth"_a.none(), options)
      .def("nearest", &FewQueries::nearest, "points"_a.none(), "k"_a.none(), farthest, "rows"_a.none(),
           "exclude_self"_a, options)
      .def("raycast", &FewQueries::raycast, origins, directions, farthest, options)
      .def("raycast_all", &FewQueries::raycast_all, origins, directions, farthest, options)
      .def("raycast_any", &FewQueries::raycast_any, origins, directions, farthest, options)
      .def("shapecast", &FewQueries::shapecast, "boxes"_a.none(), "motions"_a.none(), options);
}

}  // namespace broadphase::python
