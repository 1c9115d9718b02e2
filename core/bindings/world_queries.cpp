// Rays against the bodies of a world, and the bodies nearest to points: see world/queries.hpp.
#include "world/queries.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "batches/nearest_of_batch.hpp"
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
  BlockIndex tight;
  given.distinct_queries(rays.count(), QueryLimits::rays_for_a_copy, workers, tight)
      .each_interleaved<Scratch>(
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
        given, rays, workers, [&](BodyRay<d()>& ray, std::int32_t row) { return ray.visit_any(bodies, row); },
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
    BlockIndex tight;
    given.distinct_queries(rays.count(), QueryLimits::rays_for_a_copy, workers, tight)
        .each_interleaved<Scratch>(
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

// Some bodies of a world, and in a periodic world a box around them.
struct Part {
  const BodiesInTree* bodies;
  std::optional<Table<double>> around;
};

// What is found for each point, `wanted` rows each.
struct NearestTable {
  std::size_t count, wanted;
  PlainArray<std::int32_t> rows;
  PlainArray<double> distances;

  NearestTable(std::size_t queries, std::size_t columns) : count(queries), wanted(columns) {
    rows.grow(count * wanted);
    distances.grow(count * wanted);
    std::fill_n(rows.get(), count * wanted, -1);
    std::fill_n(distances.get(), count * wanted, kNever);
  }
  void read_ahead_of(std::size_t query) const {
    read_ahead(rows.get() + query * wanted);
    read_ahead(distances.get() + query * wanted);
  }
  void get(std::size_t query, std::vector<KeyedRow>& found) const {
    found.clear();
    for (std::size_t at = query * wanted; at < (query + 1) * wanted && rows[at] >= 0; ++at)
      found.emplace_back(distances[at], rows[at]);
  }
  void put(std::size_t query, const std::vector<KeyedRow>& found) {
    std::size_t at = query * wanted;
    for (const KeyedRow& row : found) {
      rows[at] = row.second;
      distances[at++] = row.first;
    }
  }
};

// The search for the nearest of a part, which are added to those of other parts.
template <std::size_t D>
class PartSearch {
 public:
  struct Scratch : TreeQueries::NearScratch {
    std::vector<KeyedRow> found{};
    std::optional<NearestBodies<D>> nearest{};
    std::optional<NearImages<D>> images{};
    RefusedRow refused{};
    NearestOfBatch batch{};
  };

  // `is_first`: nothing has been found yet.
  PartSearch(const Part& part, bool is_first, const double* bounds, const double* points, const double* limits,
             NearestTable& table)
      : part_(part),
        is_first_(is_first),
        bodies_(part.bodies->bodies<D>()),
        bounds_(bounds),
        points_(points),
        limits_(limits),
        table_(table) {}

  // Returns the row of a custom shape that decides.
  std::int32_t run(unsigned workers) {
    BlockIndex tight;
    const ManyQueries all =
        part_.bodies->distinct_queries(table_.count, QueryLimits::nearest_for_a_copy, workers, tight);
    const BoxView<double> places = places_of(points_, table_.count, D);
    RefusedRow refused;
    const auto finish = [&](Scratch& scratch) { refused.note(scratch.refused); };
    const QueryFilter& filter = all.filter();
    const std::size_t wanted = table_.wanted + filter.ignored_count;
    // As for boxes: points that are far apart in their order have hardly a block in common.
    constexpr std::size_t kRowsForAPoint = 32;
    if (all.has_keys() && is_first_ && bounds_ == nullptr && bodies_.limits == nullptr && !filter.is_selective() &&
        NearestOfBatch::serves(chosen_kernels(), D, wanted)) {
      const BlockIndex& index = part_.bodies->index();
      all.each_group<Scratch>(
          places, D, workers,
          [&](const TreeQueries& queries, const std::uint32_t* group, std::size_t count, Scratch& scratch) {
            const auto read = [&](std::int32_t row, double* box, double& radius) {
              return read_body(row, box, radius);
            };
            if (scratch.batch.take_tree(*index.forest, index.tree_of[group[0]], count, true, read))
              search_batch(queries, group, count, wanted, filter, scratch);
            else if (count >= kTogether / 2 && queries.can_walk_together(wanted))
              search(queries, group, count, wanted, scratch);
            else
              for (std::size_t k = 0; k < count; ++k) search(queries, group[k], scratch);
          },
          finish);
    } else if (table_.count >= kManyQueries && table_.count >= part_.bodies->slots() / kRowsForAPoint &&
               !filter.is_selective() && all.can_walk_together(wanted, table_.count)) {
      all.each_group<Scratch>(
          places, D, workers,
          [&](const TreeQueries& queries, const std::uint32_t* group, std::size_t count, Scratch& scratch) {
            for (std::size_t k = 0; k < count; ++k) {
              read_ahead(limits_ + group[k]);
              table_.read_ahead_of(group[k]);
            }
            if (queries.can_walk_together(wanted))
              search(queries, group, count, wanted, scratch);
            else
              for (std::size_t k = 0; k < count; ++k) search(queries, group[k], scratch);
          },
          finish);
    } else {
      all.each<Scratch>(
          places, D, workers, [&](std::size_t query) { read_ahead(points_ + query * D); },
          [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) { search(queries, query, scratch); },
          finish);
    }
    return refused.row;
  }

 private:
  Vec<D> place(std::size_t query) const {
    Vec<D> at;
    std::copy_n(points_ + query * D, D, at.begin());
    return at;
  }
  void begin(std::size_t query, Scratch& scratch) {
    if (is_first_)
      scratch.found.clear();
    else
      table_.get(query, scratch.found);
    scratch.nearest.emplace(bodies_, table_.wanted, limits_[query], scratch.found);
  }
  void end(std::size_t query, Scratch& scratch) {
    scratch.refused.note(query, scratch.nearest->refused());
    table_.put(query, scratch.found);
  }
  void walk(const TreeQueries& queries, std::size_t query, const Vec<D>& at, Scratch& scratch) {
    queries.each_near(query, at.data(), scratch.nearest->reach(), scratch.walk, [&](std::int32_t row) {
      return scratch.nearest->visit(queries, query, at, row, bounds_ != nullptr);
    });
  }
  // At the images of a point, but for one where it has been searched.
  void walk_images(const TreeQueries& queries, std::size_t query, const Vec<D>* but, Scratch& scratch) {
    if (!scratch.images) scratch.images.emplace(PeriodicBodies{part_.around->data(), bounds_, 0});
    scratch.images->each(
        points_ + query * D, [&] { return scratch.nearest->reach(); },
        [&](const Vec<D>& at) {
          if (but == nullptr || at != *but) walk(queries, query, at, scratch);
        });
  }

  void search(const TreeQueries& queries, std::size_t query, Scratch& scratch) {
    begin(query, scratch);
    if (bounds_ != nullptr)
      walk_images(queries, query, nullptr, scratch);
    else
      walk(queries, query, place(query), scratch);
    end(query, scratch);
  }
  void search(const TreeQueries& queries, const std::uint32_t* group, std::size_t count, std::size_t wanted,
              Scratch& scratch) {
    Vec<D> at{};
    std::size_t number = 0;
    queries.each_near_together(
        group, count, points_, wanted, limits_, scratch, [&](std::int32_t row) { bodies_.read_ahead_of(row); },
        [&](std::size_t query) {
          begin(query, scratch);
          at = place(query);
          number = query;
        },
        [&](std::int32_t row) { return scratch.nearest->visit(queries, number, at, row); },
        [&](std::size_t query) {
          if (bounds_ != nullptr) walk_images(queries, query, &at, scratch);
          end(query, scratch);
        });
  }

  // Of a ball, or a box parallel to the axes; false for others.
  bool read_body(std::int32_t row, double* box, double& radius) const {
    const StoredBall& ball = bodies_.shapes->balls()[row];
    if (ball[0] == ShapeStore::kBoxMark) {
      std::copy_n(bodies_.box(row), 2 * D, box);
      return true;
    }
    if (ball[0] == ShapeStore::kNoBall) return false;
    for (std::size_t k = 0; k < D; ++k) box[k] = box[D + k] = ball[k];
    radius = ball[D];
    return true;
  }
  void search_batch(const TreeQueries& queries, const std::uint32_t* group, std::size_t count, std::size_t wanted,
                    const QueryFilter& filter, Scratch& scratch) {
    const NearestOfBatch& batch = scratch.batch;
    for (std::size_t first = 0; first < count; first += NearestOfBatch::kPoints) {
      const std::size_t together = std::min(count - first, NearestOfBatch::kPoints);
      const bool is_known = scratch.batch.compare(chosen_kernels(), points_, group + first, together, wanted);
      for (std::size_t k = 0; k < together; ++k) {
        const std::size_t query = group[first + k];
        const Vec<D> at = place(query);
        // On the border of a box in space, walks have a distance that is rounded.
        bool is_sure = is_known;
        NearestOfBatch::Found found[NearestOfBatch::kMostWanted];
        const std::size_t rows = !is_known ? 0 : batch.nearest(k, found, [&](std::uint32_t number, double distance) {
          const std::int32_t row = batch.row(number);
          if (bodies_.shapes->balls()[row][0] != ShapeStore::kBoxMark) return distance;
          is_sure = is_sure && (D == 2 || distance > 0);
          return D == 2 ? distance_to_box<D>(bodies_.box(row), at) : distance;
        });
        if (!is_sure) {
          search(queries, query, scratch);
          continue;
        }
        scratch.found.clear();
        for (std::size_t n = 0; n < rows && scratch.found.size() < table_.wanted; ++n) {
          const std::int32_t row = batch.row(found[n].at);
          if (found[n].value <= limits_[query] &&
              (filter.ignored_count == 0 || !filter.ignores(static_cast<std::size_t>(row), query)))
            scratch.found.emplace_back(found[n].value, row);
        }
        table_.put(query, scratch.found);
      }
    }
  }

  const Part& part_;
  bool is_first_;
  QueriedBodies<D> bodies_;
  const double *bounds_, *points_, *limits_;
  NearestTable& table_;
};

// (rows, distances, row of a custom shape that decides), `wanted` each for each point. Parts are tuples; `bounds`: of a
// periodic world.
nb::object nearest(nb::list parts, std::optional<Table<double>> bounds, Table<double> points, std::size_t wanted,
                   Vector<double> limits, unsigned workers) {
  const std::size_t count = points.shape(0);
  require(limits.shape(0) == count);
  NearestTable table(count, wanted);
  std::int32_t refused = -1;
  bool is_first = true;
  for (const nb::handle one : parts) {
    const auto [of, around] = nb::cast<std::tuple<nb::object, std::optional<Table<double>>>>(one);
    const Part part{&nb::cast<const BodiesInTree&>(of), around};
    require(points.shape(1) == part.bodies->dimension() && around.has_value() == bounds.has_value());
    const std::int32_t custom = in_plane_or_space(points.shape(1), [&](auto d) {
      return PartSearch<d()>(part, is_first, data_of(bounds), points.data(), limits.data(), table).run(workers);
    });
    if (refused < 0) refused = custom;
    is_first = false;
  }
  return nb::make_tuple(as_array(std::move(table.rows), {count, wanted}),
                        as_array(std::move(table.distances), {count, wanted}), refused);
}

}  // namespace

void bind_world_queries(nb::module_& module) {
  const auto bodies = "bodies"_a, origins = "origins"_a, directions = "directions"_a, limits = "limits"_a,
             workers = "workers"_a;
  nb::class_<BodiesInTree>(module, "BodiesInTree", "The bodies of a world as one call of a query reads them.")
      .def(nb::init<nb::object, nb::object, Boxes, nb::object, nb::object, std::optional<Vector<double>>,
                    std::uint64_t>(),
           "tree"_a.none(), "shapes"_a, "boxes"_a, "geometries"_a, "filter"_a.none(), limits.none(), "version"_a);
  module.def("body_first_hits", &first_hits, bodies, origins, directions, limits, workers);
  module.def("body_any_hits", &any_hits, bodies, origins, directions, limits, workers);
  module.def("body_all_hits", &all_hits, bodies, origins, directions, limits, workers);
  module.def("body_nearest", &nearest, "parts"_a, "bounds"_a.none(), "points"_a, "wanted"_a, limits, workers);
}

}  // namespace broadphase::python
