// One query of a world, or a few, each kind by one call.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "few_answers.hpp"
#include "queried_bodies.hpp"
#include "world/overlaps.hpp"
#include "world/queries.hpp"

namespace broadphase::python {

namespace {

// Of a world whose index has a tree. Where it is periodic, only rays, which end at its boundaries.
class FewBodies : public FewAnswers {
 public:
  // `bodies` have a tree and no filter; their positions are by row. hit(row, distance, origin, direction, normal) makes
  // a hit of a single ray, from tuples.
  FewBodies(nb::object guard, nb::object bodies, Table<double> positions, bool is_periodic, FewRowsOf rows,
            nb::tuple results, nb::object hit)
      : FewAnswers(std::move(guard), nb::cast<const BodiesInTree&>(bodies).dimension(), std::move(rows),
                   std::move(results)),
        bodies_owner_(std::move(bodies)),
        bodies_(nb::cast<const BodiesInTree&>(bodies_owner_)),
        positions_(std::move(positions)),
        is_periodic_(is_periodic),
        hit_(std::move(hit)) {
    require(positions_.shape(0) >= bodies_.slots() && positions_.shape(1) == dimension());
  }

  nb::object query(nb::handle boxes, nb::dict options) const {
    Given given;
    Asked asked;
    if (is_periodic_ || !read_boxes(boxes, given) || !given.are_within(kLargest) || !asked.fits(given))
      return other_way();
    return rows_of<false>(asked, options, [&](std::size_t query, auto& sought) { sought.set_box(given.of(query)); });
  }

  nb::object query_points(nb::handle points, nb::dict options) const {
    Given place;
    Asked asked;
    if (is_periodic_ || !read_points(points, place) || !place.are_within(kLargest) || !asked.fits(place))
      return other_way();
    return rows_of<false>(asked, options, [&](std::size_t query, auto& sought) { sought.set_point(place.of(query)); });
  }

  nb::object query_ball(nb::handle centers, nb::handle radii, nb::dict options) const {
    Given centre, radius;
    Asked asked;
    if (is_periodic_ || !read_points(centers, centre) || !centre.are_within(kLargest) || !read_lengths(radii, radius) ||
        !radius.are_within(kLargest) || !asked.fits(centre) || !asked.fits(radius))
      return other_way();
    return rows_of<true>(
        asked, options, [&](std::size_t query, auto& sought) { sought.set_ball(centre.of(query), *radius.of(query)); });
  }

  // Of rows, only of one.
  nb::object nearest(nb::handle points, nb::handle k, nb::handle max_distance, nb::handle rows, nb::handle exclude_self,
                     nb::dict options) const {
    Given place, farthest;
    Asked asked;
    Allowed allowed;
    long long columns = 0, own = -1;
    if (is_periodic_ || !read_whole(k.ptr(), columns) || columns < 1 ||
        columns > static_cast<long long>(kMostNearest) || !read_lengths(max_distance, farthest) ||
        !asked.fits(farthest) || points.is_none() == rows.is_none() ||
        !(rows.is_none() ? read_points(points, place) : read_row(rows.ptr(), own, place)) || !asked.fits(place) ||
        !of_rows().read_options(options, asked, allowed) || !PyBool_Check(exclude_self.ptr()) ||
        (own >= 0 && exclude_self.is(Py_True) && !FewRowsOf::ignore(own, allowed)))
      return other_way();
    const auto wanted = static_cast<std::size_t>(columns);
    std::int32_t table[kMostQueries * kMostNearest];
    double distances[kMostQueries * kMostNearest];
    std::fill_n(table, asked.count * wanted, -1);
    std::fill_n(distances, asked.count * wanted, kNever);
    bool is_known = true;
    const auto search = [&]<std::size_t D>(const TreeQueries& tree, const QueriedBodies<D>& bodies) {
      if (own >= 0) std::copy_n(positions_.data() + static_cast<std::size_t>(own) * D, D, place.numbers);
      std::vector<KeyedRow> found;
      BallWalk walk;
      for (std::size_t query = 0; query < asked.count && is_known; ++query) {
        found.clear();
        NearestBodies<D> nearest(bodies, wanted, *farthest.of(query), found);
        Vec<D> at;
        std::copy_n(place.of(query), D, at.begin());
        tree.each_near(query, at.data(), nearest.reach(), walk,
                       [&](std::int32_t row) { return nearest.visit(at, row); });
        is_known = nearest.refused() < 0;
        for (std::size_t rank = 0; rank < found.size(); ++rank) {
          table[query * wanted + rank] = found[rank].second;
          distances[query * wanted + rank] = found[rank].first;
        }
      }
    };
    if (!walk_bodies(allowed, search) || !is_known) return other_way();
    const std::size_t length = asked.is_one ? wanted : asked.count, width = asked.is_one ? 0 : wanted;
    return named_tuple(kNearest, small_array(table, length, width, NumPy::get().int32),
                       small_array(distances, length, width, NumPy::get().float64));
  }

  nb::object raycast(nb::handle origins, nb::handle directions, nb::handle max_distance, nb::dict options) const {
    FewRays rays;
    Allowed allowed;
    if (!read_rays(origins, directions, max_distance, rays) || !of_rows().read_options(options, rays.asked, allowed))
      return other_way();
    std::int32_t rows[kMostQueries];
    double distances[kMostQueries], normal[3];
    bool is_known = true;
    const auto search = [&]<std::size_t D>(const TreeQueries& tree, const QueriedBodies<D>& bodies) {
      SweepWalk walk;
      for (std::size_t query = 0; query < rays.asked.count; ++query) {
        BodyRay<D> ray = ray_of<D>(rays, query);
        first_hit(tree, bodies, ray, walk);
        is_known = is_known && ray.refused() < 0;
        rows[query] = ray.best.second;
        distances[query] = ray.best.first;
        std::copy_n(ray.normal.begin(), D, normal);
      }
    };
    if (!walk_bodies(allowed, search) || !is_known) return other_way();
    if (rays.asked.is_one) return rows[0] < 0 ? nb::none() : hit(rows[0], distances[0], rays, normal);
    return named_tuple(kRayHits, small_array(rows, rays.asked.count, 0, NumPy::get().int32),
                       small_array(distances, rays.asked.count, 0, NumPy::get().float64));
  }

  nb::object raycast_all(nb::handle origins, nb::handle directions, nb::handle max_distance, nb::dict options) const {
    FewRays rays;
    Allowed allowed;
    // Arrays of many rays are put together by the general way.
    if (!read_rays(origins, directions, max_distance, rays) || !rays.asked.is_one ||
        !of_rows().read_options(options, rays.asked, allowed))
      return other_way();
    std::vector<std::int32_t> rows;
    std::vector<double> numbers;  // of each hit: its distance and normal
    bool is_known = true;
    const auto search = [&]<std::size_t D>(const TreeQueries& tree, const QueriedBodies<D>& bodies) {
      SweepWalk walk;
      std::vector<BodyHit<D>> found;
      BodyRay<D> ray = ray_of<D>(rays, 0);
      all_hits(tree, bodies, ray, walk, found);
      is_known = ray.refused() < 0;
      for (const BodyHit<D>& one : found) {
        rows.push_back(one.row);
        numbers.push_back(one.distance);
        numbers.insert(numbers.end(), one.normal.begin(), one.normal.end());
      }
    };
    if (!walk_bodies(allowed, search) || !is_known) return other_way();
    nb::list hits;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const double* of = numbers.data() + k * (1 + dimension());
      hits.append(hit(rows[k], of[0], rays, of + 1));
    }
    return hits;
  }

  nb::object raycast_any(nb::handle origins, nb::handle directions, nb::handle max_distance, nb::dict options) const {
    FewRays rays;
    Allowed allowed;
    if (!read_rays(origins, directions, max_distance, rays) || !of_rows().read_options(options, rays.asked, allowed))
      return other_way();
    bool is_hit[kMostQueries], is_known = true;
    const auto search = [&]<std::size_t D>(const TreeQueries& tree, const QueriedBodies<D>& bodies) {
      SweepWalk walk;
      for (std::size_t query = 0; query < rays.asked.count; ++query) {
        BodyRay<D> ray = ray_of<D>(rays, query);
        is_hit[query] = any_hit(tree, bodies, ray, walk);
        is_known = is_known && ray.refused() < 0;
      }
    };
    if (!walk_bodies(allowed, search) || !is_known) return other_way();
    if (rays.asked.is_one) return nb::bool_(is_hit[0]);
    return small_array(is_hit, rays.asked.count, 0, NumPy::get().boolean);
  }

 private:
  // A row in use, whose place is put there later.
  bool read_row(PyObject* from, long long& row, Given& place) const {
    place.rows = {1, true};
    place.size = dimension();
    return read_whole(from, row) && of_rows().is_in_use(row);
  }
  template <std::size_t D>
  static BodyRay<D> ray_of(const FewRays& rays, std::size_t query) {
    return {query, rays.from.of(query), rays.along.of(query), *rays.farthest.of(query)};
  }

  nb::object hit(std::int32_t row, double distance, const FewRays& ray, const double* normal) const {
    const auto tuple_of = [this](const double* numbers) {
      nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(dimension())));
      if (!tuple.is_valid()) throw nb::python_error();
      for (std::size_t k = 0; k < dimension(); ++k) {
        PyObject* const number = PyFloat_FromDouble(numbers[k] + 0.0);  // makes 0.0 of -0.0
        if (number == nullptr) throw nb::python_error();
        PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(k), number);
      }
      return tuple;
    };
    return hit_(row, distance, tuple_of(ray.from.numbers), tuple_of(ray.along.numbers), tuple_of(normal));
  }

  // Calls search(tree, bodies) as a query. False if that is no longer about what it was.
  template <class Search>
  bool walk_bodies(const Allowed& allowed, const Search& search) const {
    return answer([&] {
      const TreeQueries tree(bodies_.tree(), bodies_.boxes(), allowed.filter, chosen_kernels());
      in_plane_or_space(dimension(), [&](auto d) { search(tree, bodies_.bodies<d()>()); });
    });
  }

  // Of coordinates and lengths of shapes: see shapes/parameters.py.
  static constexpr double kLargest = 1e40;

  // Finds what overlaps the shape that set(query, sought) sets for each query: a ball or another one.
  template <bool are_balls, class Set>
  nb::object rows_of(const Asked& asked, nb::handle options, const Set& set) const {
    Allowed allowed;
    if (!of_rows().read_options(options, asked, allowed)) return other_way();
    std::vector<std::int32_t> rows;
    std::int64_t offsets[kMostQueries + 1] = {};
    bool is_known = true;
    const auto search = [&] {
      const TreeQueries tree(bodies_.tree(), bodies_.boxes(), allowed.filter, chosen_kernels());
      in_plane_or_space(dimension(), [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
        const QueriedBodies<D> bodies = bodies_.bodies<D>();
        OverlapScratch<D> scratch;
        for (std::size_t query = 0; query < asked.count && is_known; ++query) {
          set(query, scratch.sought);
          if constexpr (are_balls)
            find_near_ball(tree, query, scratch);
          else
            find_near_box(tree, query, scratch.sought.box(), scratch);
          const std::size_t begin = rows.size();
          for_each_body(bodies, std::span<const std::int32_t>(scratch.near), 0, [&](std::int32_t row) {
            if (bodies.is_left_out(row)) return;
            const Overlap overlap = overlap_of(bodies, row, scratch.sought);
            is_known = is_known && overlap != Overlap::unknown;
            if (overlap == Overlap::yes) rows.push_back(row);
          });
          sort_rows(rows.data() + begin, rows.size() - begin);
          offsets[query + 1] = static_cast<std::int64_t>(rows.size());
        }
      });
    };
    if (!answer(search) || !is_known) return other_way();
    return rows_found(asked, std::move(rows), offsets);
  }

  nb::object bodies_owner_;
  const BodiesInTree& bodies_;
  Table<double> positions_;
  bool is_periodic_;
  nb::object hit_;
};

}  // namespace

void bind_few_bodies(nb::module_& module) {
  const auto options = "options"_a;
  const auto origins = "origins"_a.none(), directions = "directions"_a.none(), max_distance = "max_distance"_a.none();
  nb::class_<FewBodies> bound(module, "FewBodies",
                              "A few queries of a world; NotImplemented where the general way must answer.");
  bound
      .def(
          "__init__",
          [](FewBodies* self, nb::object guard, nb::object bodies, Table<double> positions, bool is_periodic,
             FewRowsOf::Words layer, FewRowsOf::Words mask, AnyArray alive, Vector<std::int64_t> generation,
             nb::dict layers, nb::object actors, nb::handle world, nb::tuple results, nb::object hit) {
            constexpr std::uint64_t kDefaultLayer = 1;
            new (self) FewBodies(std::move(guard), std::move(bodies), std::move(positions), is_periodic,
                                 {std::move(layer), std::move(mask), std::move(alive), kDefaultLayer,
                                  std::move(generation), std::move(layers), std::move(actors), world.ptr()},
                                 std::move(results), std::move(hit));
          },
          "guard"_a, "bodies"_a, "positions"_a, "is_periodic"_a, "layer"_a.none(), "mask"_a.none(), "alive"_a,
          "generation"_a, "layers"_a, "actors"_a, "world"_a, "results"_a, "hit"_a)
      .def_prop_ro("is_current", &FewBodies::is_current)
      .def("query", &FewBodies::query, "boxes"_a.none(), options)
      .def("query_points", &FewBodies::query_points, "points"_a.none(), options)
      .def("query_ball", &FewBodies::query_ball, "centers"_a.none(), "radii"_a.none(), options);
  bound
      .def("nearest", &FewBodies::nearest, "points"_a.none(), "k"_a.none(), "max_distance"_a.none(), "rows"_a.none(),
           "exclude_self"_a.none(), options)
      .def("raycast", &FewBodies::raycast, origins, directions, max_distance, options)
      .def("raycast_all", &FewBodies::raycast_all, origins, directions, max_distance, options)
      .def("raycast_any", &FewBodies::raycast_any, origins, directions, max_distance, options);
}

}  // namespace broadphase::python
