// Rays against the bodies of a world, and the bodies nearest to points: see world/queries.hpp.
#include "world/queries.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "queried_bodies.hpp"

namespace broadphase::python {

namespace {

// Rays, each with its length.
struct Rays {
  Table<double> origins, directions;
  Vector<double> limits;

  std::size_t count() const { return origins.shape(0); }
  template <std::size_t D>
  BodyRay<D> ray(std::size_t query) const {
    return {query, origins.data() + query * D, directions.data() + query * D, limits.data()[query]};
  }
  BoxView<double> places() const { return places_of(origins.data(), count(), origins.shape(1)); }
  void require_fit(std::size_t dimension) const {
    require(origins.shape(1) == dimension && directions.shape(1) == dimension && directions.shape(0) == count() &&
            limits.shape(0) == count());
  }
};

template <std::size_t D>
struct RayScratch {
  TreeQueries::RaysScratch<BodyRay<D>> rays;
  RefusedRow refused;
};

// Calls visit(ray, row), which returns how far the ray still goes, for the rows that each ray may hit; then end(ray).
// Returns the row of a custom shape that decides.
template <std::size_t D, class Visit, class End>
std::int32_t for_each_ray(const BodiesInTree& given, const Rays& rays, unsigned workers, const Visit& visit,
                          const End& end) {
  using Scratch = RayScratch<D>;
  const auto ahead = [bodies = given.bodies<D>()](std::int32_t row) { bodies.read_ahead_of(row); };
  RefusedRow refused;
  const auto end_of = [&](RefusedRow& own) {
    return [&](const BodyRay<D>& ray) {
      own.note(ray.query, ray.refused());
      end(ray);
    };
  };
  // A few take turns for no gain.
  const bool is_many = rays.count() >= kManyQueries;
  given.queries().each_interleaved<Scratch>(
      rays.places(), D, workers,
      [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) {
        BodyRay<D> ray = rays.ray<D>(query);
        if (is_many) {
          queries.interleave_ray(ray, scratch.rays, ahead, visit, end_of(scratch.refused));
          return;
        }
        queries.each_on_ray(query, ray.sweep, ray.length, ray.farthest, scratch.rays.alone,
                            [&](std::int32_t row) { return visit(ray, row); });
        end_of(scratch.refused)(ray);
      },
      [&](const TreeQueries& queries, Scratch& scratch) {
        queries.finish_rays(scratch.rays, ahead, visit, end_of(scratch.refused));
        refused.note(scratch.refused);
      });
  return refused.row;
}

// (rows, distances, row of a custom shape that decides).
nb::object first_hits(const BodiesInTree& given, Table<double> origins, Table<double> directions, Vector<double> limits,
                      unsigned workers) {
  const Rays rays{std::move(origins), std::move(directions), std::move(limits)};
  rays.require_fit(given.dimension());
  std::vector<std::int32_t> rows(rays.count());
  std::vector<double> distances(rays.count());
  const std::int32_t refused = in_plane_or_space(given.dimension(), [&](auto d) {
    const QueriedBodies<d()> bodies = given.bodies<d()>();
    return for_each_ray<d()>(
        given, rays, workers, [&](BodyRay<d()>& ray, std::int32_t row) { return ray.visit(bodies, row); },
        [&](const BodyRay<d()>& ray) {
          rows[ray.query] = ray.best.second;
          distances[ray.query] = ray.best.first;
        });
  });
  return as_tuple(std::move(rows), std::move(distances), refused);
}

// (whether each ray hits a body, row of a custom shape that decides).
nb::object any_hits(const BodiesInTree& given, Table<double> origins, Table<double> directions, Vector<double> limits,
                    unsigned workers) {
  const Rays rays{std::move(origins), std::move(directions), std::move(limits)};
  rays.require_fit(given.dimension());
  std::vector<std::uint8_t> hit(rays.count());
  const std::int32_t refused = in_plane_or_space(given.dimension(), [&](auto d) {
    const QueriedBodies<d()> bodies = given.bodies<d()>();
    return for_each_ray<d()>(
        given, rays, workers,
        [&](BodyRay<d()>& ray, std::int32_t row) {
          Vec<d()> normal;
          const double distance = ray.test(bodies, row, &normal);
          if (!(distance < kNever)) return ray.farthest;
          ray.settle(row);
          return -1.0;
        },
        [&](const BodyRay<d()>& ray) { hit[ray.query] = ray.best.second >= 0 ? 1 : 0; });
  });
  return as_tuple(std::move(hit), refused);
}

// (rows, offsets, distances, normals, row of a custom shape that decides).
nb::object all_hits(const BodiesInTree& given, Table<double> origins, Table<double> directions, Vector<double> limits,
                    unsigned workers) {
  const Rays rays{std::move(origins), std::move(directions), std::move(limits)};
  rays.require_fit(given.dimension());
  return in_plane_or_space(given.dimension(), [&](auto d) -> nb::object {
    struct Scratch {
      SweepWalk walk;
      RefusedRow refused;
    };
    const QueriedBodies<d()> bodies = given.bodies<d()>();
    std::vector<std::vector<BodyHit<d()>>> found(rays.count());
    RefusedRow refused;
    given.queries().each_interleaved<Scratch>(
        rays.places(), d(), workers,
        [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) {
          BodyRay<d()> ray = rays.ray<d()>(query);
          broadphase::all_hits(queries, bodies, ray, scratch.walk, found[query]);
          scratch.refused.note(query, ray.refused());
        },
        [&](const TreeQueries&, Scratch& scratch) { refused.note(scratch.refused); });
    Ragged answers;
    std::vector<double> distances, normals;
    {
      const ReleasedGil release;
      answers.offsets.assign(rays.count() + 1, 0);
      for (std::size_t k = 0; k < found.size(); ++k)
        answers.offsets[k + 1] = answers.offsets[k] + static_cast<std::int64_t>(found[k].size());
      const auto count = static_cast<std::size_t>(answers.offsets.back());
      answers.rows.reserve(count);
      distances.reserve(count);
      normals.reserve(count * d());
      for (const auto& hits : found)
        for (const BodyHit<d()>& hit : hits) {
          answers.rows.push_back(hit.row);
          distances.push_back(hit.distance);
          normals.insert(normals.end(), hit.normal.begin(), hit.normal.end());
        }
    }
    return as_tuple(std::move(answers.rows), std::move(answers.offsets), std::move(distances),
                    as_table(std::move(normals), d()), refused.row);
  });
}

// (rows, distances, row of a custom shape that decides), `wanted` each for each point.
nb::object nearest(const BodiesInTree& given, Table<double> points, std::size_t wanted, Vector<double> limits,
                   unsigned workers) {
  const std::size_t count = points.shape(0);
  require(points.shape(1) == given.dimension() && limits.shape(0) == count);
  PlainArray<std::int32_t> rows;
  PlainArray<double> distances;
  rows.grow(count * wanted);
  distances.grow(count * wanted);
  std::fill_n(rows.get(), count * wanted, -1);
  std::fill_n(distances.get(), count * wanted, kNever);
  const std::int32_t refused = in_plane_or_space(given.dimension(), [&](auto d) {
    struct Scratch {
      BallWalk walk;
      std::vector<KeyedRow> found;
      RefusedRow refused;
    };
    const QueriedBodies<d()> bodies = given.bodies<d()>();
    RefusedRow first;
    given.queries().each<Scratch>(
        places_of(points.data(), count, d()), d(), workers,
        [&](std::size_t query) { read_ahead(points.data() + query * d()); },
        [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) {
          const double* point = points.data() + query * d();
          const double farthest = limits.data()[query];
          NearestBodies<d()> nearest(bodies, wanted, farthest, scratch.found);
          Vec<d()> at;
          std::copy_n(point, d(), at.begin());
          queries.each_near(query, point, farthest, scratch.walk,
                            [&](std::int32_t row) { return nearest.visit(at, row); });
          scratch.refused.note(query, nearest.refused());
          for (std::size_t k = 0; k < scratch.found.size(); ++k) {
            rows[query * wanted + k] = scratch.found[k].second;
            distances[query * wanted + k] = scratch.found[k].first;
          }
        },
        [&](Scratch& scratch) { first.note(scratch.refused); });
    return first.row;
  });
  return nb::make_tuple(as_array(std::move(rows), {count, wanted}), as_array(std::move(distances), {count, wanted}),
                        refused);
}

}  // namespace

void bind_world_queries(nb::module_& module) {
  const auto bodies = "bodies"_a, origins = "origins"_a, directions = "directions"_a, limits = "limits"_a,
             workers = "workers"_a;
  nb::class_<BodiesInTree>(module, "BodiesInTree", "The bodies of a world as one call of a query reads them.")
      .def(nb::init<nb::object, nb::object, Boxes, nb::list, nb::object, std::optional<Vector<double>>>(),
           "tree"_a.none(), "shapes"_a, "boxes"_a, "geometries"_a, "filter"_a.none(), limits.none());
  module.def("body_first_hits", &first_hits, bodies, origins, directions, limits, workers);
  module.def("body_any_hits", &any_hits, bodies, origins, directions, limits, workers);
  module.def("body_all_hits", &all_hits, bodies, origins, directions, limits, workers);
  module.def("body_nearest", &nearest, bodies, "points"_a, "wanted"_a, limits, workers);
}

}  // namespace broadphase::python
