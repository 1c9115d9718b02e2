// Which bodies of a world overlap boxes, points, balls, placed shapes and convex regions, and which a moving shape
// touches first: by a walk through the tree of their boxes, or among candidates that an index without a tree has found.
#include "world/overlaps.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "geometries.hpp"
#include "many_queries.hpp"
#include "placed_shapes.hpp"
#include "queried_bodies.hpp"
#include "world/images.hpp"

namespace broadphase::python {

namespace {

// ---- What queries look for, and where ----

// The images of some queries in a periodic world: those of query k are begins[k] to begins[k + 1]. An image with an
// infinite box is everywhere.
struct QueryImages {
  std::size_t dimension;
  std::vector<std::int64_t> begins{0};
  Images images{};
};

// Boxes, points, balls or placed shapes, one for each query. It keeps their arrays alive.
class Sought {
 public:
  static Sought of_boxes(nb::object boxes) {
    auto corners = nb::cast<Boxes>(boxes);
    Sought made(corners.shape(2), corners.shape(0));
    made.boxes_ = std::move(boxes);
    made.corners_ = std::move(corners);
    return made;
  }
  static Sought of_points(Table<double> places) {
    Sought made(places.shape(1), places.shape(0));
    made.places_ = std::move(places);
    return made;
  }
  static Sought of_balls(Table<double> centres, Vector<double> radii) {
    Sought made = of_points(std::move(centres));
    made.radii_ = std::move(radii);
    return made;
  }
  static Sought of_shapes(nb::object store, nb::object boxes, nb::object geometries) {
    Sought made = of_boxes(std::move(boxes));
    made.store_ = &nb::cast<const PlacedShapes&>(store).store;
    made.store_owner_ = std::move(store);
    made.geometries_ = nb::cast<const KeptGeometries&>(geometries).geometries;
    made.geometry_owner_ = std::move(geometries);
    return made;
  }

  std::size_t dimension() const { return dimension_; }
  std::size_t count() const { return count_; }
  bool are_boxes() const { return store_ == nullptr && !places_.is_valid(); }

  template <std::size_t D>
  SoughtShapes<D> shapes() const {
    if (store_ != nullptr) return SoughtShapes<D>::of_shapes(*store_, corners_.data(), geometries_, count_);
    if (radii_.is_valid()) return SoughtShapes<D>::of_balls(places_.data(), radii_.data(), count_);
    if (places_.is_valid()) return SoughtShapes<D>::of_points(places_.data(), count_);
    return SoughtShapes<D>::of_boxes(corners_.data(), count_);
  }

  // The boxes around them, (q, 2, d).
  nb::object boxes() const {
    if (boxes_.is_valid()) return boxes_;
    return in_plane_or_space(dimension_, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
      std::vector<double> boxes(count_ * 2 * D);
      SoughtShape<D> sought;
      for (std::size_t k = 0; k < count_; ++k) {
        shapes<D>().get(k, sought);
        std::copy_n(sought.box(), 2 * D, boxes.data() + k * 2 * D);
      }
      return as_array(std::move(boxes), {count_, 2, D});
    });
  }

  // Where in a periodic world they are; `around` is a box around its bodies, of which there are so many. Shapes into
  // which a ball of everything fits are everywhere, and others that are said to be. ValueError names a query with too
  // many images.
  nb::object images(Table<double> around, Table<double> bounds, std::size_t bodies,
                    std::optional<Vector<bool>> is_everywhere, double few, double worth_halving) const {
    const bool* everywhere = is_everywhere ? is_everywhere->data() : nullptr;
    return in_plane_or_space(dimension_, [&]<std::size_t D>(std::integral_constant<std::size_t, D>) -> nb::object {
      const double everything = radius_of_everything<D>(bounds.data());
      const ImageFinder<D> finder({around.data(), bounds.data(), bodies}, {few, worth_halving});
      QueryImages found{D};
      SoughtShape<D> sought;
      const std::size_t done = at_work([&](Interrupt& interrupt) {
        const SoughtShapes<D> all = shapes<D>();
        for (std::size_t k = 0; k < count_; ++k) {
          all.get(k, sought);
          if ((everywhere != nullptr && everywhere[k]) || inner_radius<D>(k) >= everything) {
            add_everywhere<D>(found.images);
          } else if (is_kept_elsewhere(sought.shape().kind)) {
            if (!finder.add(sought.box(), found.images)) return k;
          } else if (!finder.add(
                         sought.box(), [&](const double* box) { return sought.overlaps_box(box); }, interrupt,
                         found.images)) {
            return k;
          }
          found.begins.push_back(static_cast<std::int64_t>(found.images.shifts.size() / D));
          interrupt.check();
        }
        return count_;
      });
      if (done < count_) {
        char text[160];
        std::snprintf(
            text, sizeof(text),
            "row %zu of the queries reaches across %.3g periods of the world; at most 1,000,000 can be tested", done,
            finder.count(sought.box()));
        throw nb::value_error(text);
      }
      return nb::cast(std::move(found));
    });
  }

 private:
  Sought(std::size_t dimension, std::size_t count) : dimension_(dimension), count_(count) {}

  // Of a placed shape: its least length, where that is the radius of a ball that fits into it.
  template <std::size_t D>
  double inner_radius(std::size_t query) const {
    if (store_ == nullptr) return 0;
    ShapeStore::LocalRoom room;
    return broadphase::inner_radius<D>(store_->kind(query), store_->local(query, room));
  }
  template <std::size_t D>
  static void add_everywhere(Images& to) {
    to.shifts.insert(to.shifts.end(), D, 0.0);
    to.boxes.insert(to.boxes.end(), D, -kNever);
    to.boxes.insert(to.boxes.end(), D, kNever);
  }

  std::size_t dimension_, count_;
  Boxes corners_;
  Table<double> places_;
  Vector<double> radii_;
  nb::object boxes_, store_owner_, geometry_owner_;
  const ShapeStore* store_ = nullptr;
  std::span<const Geometry> geometries_;
};

// What was found for boxes without a tree: of box k, rows[offsets[k]] to rows[offsets[k + 1]].
struct Candidates {
  Vector<std::int32_t> rows;
  Vector<std::int64_t> offsets;

  static std::optional<Candidates> of(nb::handle found) {
    if (found.is_none()) return std::nullopt;
    return Candidates{nb::cast<Vector<std::int32_t>>(found[0]), nb::cast<Vector<std::int64_t>>(found[1])};
  }
  std::size_t most_of_one(std::size_t count) const { return rows.shape(0) / std::max<std::size_t>(count, 1); }
};

NearRows near_of(const Candidates& candidates, std::size_t number) {
  const auto begin = static_cast<std::size_t>(candidates.offsets.data()[number]),
             end = static_cast<std::size_t>(candidates.offsets.data()[number + 1]);
  return {{candidates.rows.data() + begin, end - begin}, candidates.rows.shape(0) - end};
}

// ---- Overlaps ----

nb::tuple no_unknown() {
  return nb::make_tuple(as_array(std::vector<std::int32_t>()), as_array(std::vector<std::int32_t>()), nb::none());
}

template <std::size_t D>
class OverlapSearch {
 public:
  struct Scratch : OverlapScratch<D> {
    std::vector<Unknown> unknown;
  };

  OverlapSearch(const QueriedBodies<D>& bodies, const SoughtShapes<D>& sought, const QueryImages* images)
      : bodies_(bodies), sought_(sought), images_(images) {}

  // Appends the bodies that overlap a query, ascending. near(box, number) gives those near what is sought, or near the
  // box of the image with this number; `filter` says which of them count, if that is not known.
  template <class Near>
  void find(std::size_t query, Scratch& scratch, std::vector<std::int32_t>& rows, const QueryFilter* filter,
            const Near& near) {
    const std::size_t begin = rows.size();
    SoughtShape<D>& sought = scratch.sought;
    sought_.get(query, sought);
    const bool is_filtered = filter != nullptr && !filter->allows_all();
    const std::size_t first = images_ == nullptr ? 0 : static_cast<std::size_t>(images_->begins[query]),
                      last = images_ == nullptr ? 0 : static_cast<std::size_t>(images_->begins[query + 1]);
    look_among(
        bodies_, static_cast<std::int32_t>(query), sought, images_ == nullptr ? nullptr : &images_->images, first, last,
        near, [&](std::int32_t row) { return !is_filtered || filter->allows(static_cast<std::size_t>(row), query); },
        rows, scratch.unknown);
    put_in_order(rows, begin, images_ != nullptr);
    if (scratch.unknown.empty()) return;
    const std::lock_guard lock(mutex_);
    unknown_.insert(unknown_.end(), scratch.unknown.begin(), scratch.unknown.end());
    scratch.unknown.clear();
  }

  // What is left to be asked: rows, their queries, and what moves the queries, in the order of queries and rows.
  nb::tuple unknown() && {
    std::sort(unknown_.begin(), unknown_.end());
    std::vector<std::int32_t> rows, queries;
    std::vector<double> shifts;
    for (const Unknown& one : unknown_) {
      rows.push_back(one.row);
      queries.push_back(one.query);
      if (images_ == nullptr) continue;
      const double* shift = images_->images.shifts.data() + static_cast<std::size_t>(one.image) * D;
      shifts.insert(shifts.end(), shift, shift + D);
    }
    if (images_ == nullptr) return nb::make_tuple(as_array(std::move(rows)), as_array(std::move(queries)), nb::none());
    return nb::make_tuple(as_array(std::move(rows)), as_array(std::move(queries)), as_table(std::move(shifts), D));
  }

 private:
  const QueriedBodies<D>& bodies_;
  const SoughtShapes<D>& sought_;
  const QueryImages* images_;
  std::mutex mutex_;
  std::vector<Unknown> unknown_;
};

// `found`: what overlaps the boxes around the queries, or around their images, or None. `by_their_boxes`: as the boxes
// around bodies say, and not those of an index, which may be larger.
nb::object overlapping(const BodiesInTree& kept, const Sought& sought, const QueryImages* images, nb::object found_near,
                       bool by_their_boxes, unsigned workers) {
  if (by_their_boxes && images == nullptr && sought.are_boxes() && kept.are_all_boxes())
    return nb::make_tuple(found_near[0], found_near[1], no_unknown());
  const std::optional<Candidates> candidates = Candidates::of(found_near);
  require(kept.dimension() == sought.dimension());
  return in_plane_or_space(sought.dimension(), [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    const QueriedBodies<D> bodies = kept.bodies<D>();
    const SoughtShapes<D> shapes = sought.shapes<D>();
    OverlapSearch<D> search(bodies, shapes, images);
    using Scratch = typename OverlapSearch<D>::Scratch;
    nb::object found;
    if (candidates) {
      found = as_tuple(at_work([&](Interrupt& interrupt) {
        return collect_ragged<Scratch>(
            shapes.count(), candidates->most_of_one(shapes.count()), workers, interrupt,
            [&](std::size_t query, Scratch& scratch, std::vector<std::int32_t>& rows) {
              search.find(query, scratch, rows, &kept.filter(),
                          [&](const double*, std::size_t number) { return near_of(*candidates, number); });
            });
      }));
    } else {
      const bool are_balls = images == nullptr && shapes.are_balls();
      found = kept.queries().ragged<Scratch>(
          shapes.places(), D, workers,
          [&](const TreeQueries& tree, std::size_t query, Scratch& scratch, std::vector<std::int32_t>& rows) {
            search.find(query, scratch, rows, nullptr, [&](const double* box, std::size_t) {
              if (are_balls)
                find_near_ball(tree, query, scratch);
              else
                find_near_box(tree, query, box, scratch);
              return NearRows{scratch.near, 0};
            });
          });
    }
    return nb::make_tuple(found[0], found[1], std::move(search).unknown());
  });
}

// The bodies whose boxes overlap convex regions. Region k has the slabs region_offsets[k] to region_offsets[k + 1].
nb::object in_regions(const BodiesInTree& kept, Vector<std::int64_t> region_offsets, Table<double> axes,
                      Vector<double> least, Vector<double> most, Table<double> around_lower, Table<double> around_upper,
                      nb::object found_near, unsigned workers) {
  const std::optional<Candidates> candidates = Candidates::of(found_near);
  const std::size_t count = around_lower.shape(0);
  return in_plane_or_space(around_lower.shape(1), [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    const QueriedBodies<D> bodies = kept.bodies<D>();
    const double *low = around_lower.data(), *high = around_upper.data();
    struct Scratch {
      TreeQueries::RegionScratch walk;
      double around[2 * D];
    };
    const auto region_of = [&](std::size_t query, double* around) {
      std::copy_n(low + query * D, D, around);
      std::copy_n(high + query * D, D, around + D);
      const auto begin = static_cast<std::size_t>(region_offsets.data()[query]),
                 end = static_cast<std::size_t>(region_offsets.data()[query + 1]);
      return ConvexRegion{around, axes.data() + begin * D, least.data() + begin, most.data() + begin, end - begin};
    };
    const auto keep = [&](const ConvexRegion& region, std::vector<std::int32_t>& rows) {
      return [&](std::int32_t row) {
        if (!bodies.is_left_out(row) && meets(region, bodies.box(row), D)) rows.push_back(row);
      };
    };
    if (!candidates)
      return kept.queries().ragged<Scratch>(
          places_of(low, count, D), D, workers,
          [&](const TreeQueries& tree, std::size_t query, Scratch& scratch, std::vector<std::int32_t>& rows) {
            const std::size_t begin = rows.size();
            const ConvexRegion region = region_of(query, scratch.around);
            tree.each_in_region(query, region, scratch.walk, keep(region, rows));
            sort_rows(rows.data() + begin, rows.size() - begin);
          });
    const QueryFilter& filter = kept.filter();
    return nb::object(as_tuple(at_work([&](Interrupt& interrupt) {
      return collect_ragged<Scratch>(count, candidates->most_of_one(count), workers, interrupt,
                                     [&](std::size_t query, Scratch& scratch, std::vector<std::int32_t>& rows) {
                                       const ConvexRegion region = region_of(query, scratch.around);
                                       const auto keep_row = keep(region, rows);
                                       for (const std::int32_t row : near_of(*candidates, query).rows)
                                         if (filter.allows(static_cast<std::size_t>(row), query)) keep_row(row);
                                     });
    })));
  });
}

// ---- Casts ----

// Which body each moving shape touches first, and when; and the query and the row of a custom shape in the way, which
// cannot say when it is touched: of the first query that has one, or None.
nb::object first_touched(const BodiesInTree& kept, const Sought& sought, Table<double> motions, nb::object found_near,
                         unsigned workers) {
  const std::optional<Candidates> candidates = Candidates::of(found_near);
  const std::size_t count = sought.count();
  require(kept.dimension() == sought.dimension() && motions.shape(0) == count && motions.shape(1) == kept.dimension());
  std::vector<std::int32_t> rows(count, -1);
  std::vector<double> times(count, kNever);
  RefusedRow refused;
  std::mutex mutex;
  in_plane_or_space(sought.dimension(), [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    const QueriedBodies<D> bodies = kept.bodies<D>();
    const SoughtShapes<D> shapes = sought.shapes<D>();
    struct Scratch {
      SweepWalk walk;
      SoughtShape<D> sought;
    };
    // each_on_way(moving, visit(row)) calls it for bodies on the way; it returns the time after which none counts.
    const auto find = [&](std::size_t query, Scratch& scratch, const auto& each_on_way) {
      shapes.get(query, scratch.sought);
      const MovingBox<D> moving(scratch.sought.box(), motions.data() + query * D);
      FirstTouched first;
      each_on_way(moving, [&](std::int32_t row) {
        if (!bodies.is_left_out(row)) touch(bodies, row, scratch.sought, moving, first);
        return std::min(first.touched.first, 1.0);
      });
      if (first.touched.second != FirstTouched::kNobody) rows[query] = first.touched.second;
      times[query] = first.touched.first;
      if (first.is_known()) return;
      const std::lock_guard lock(mutex);
      refused.note(query, first.custom.second);
    };
    if (candidates) {
      const QueryFilter& filter = kept.filter();
      at_work([&](Interrupt& interrupt) {
        Scratch scratch;
        for (std::size_t query = 0; query < count; ++query) {
          find(query, scratch, [&](const MovingBox<D>&, const auto& visit) {
            for (const std::int32_t row : near_of(*candidates, query).rows)
              if (filter.allows(static_cast<std::size_t>(row), query)) visit(row);
          });
          interrupt.check();
        }
      });
    } else {
      kept.distinct_queries().each<Scratch>(
          shapes.places(), D, workers, [](std::size_t) {},
          [&](const TreeQueries& tree, std::size_t query, Scratch& scratch) {
            find(query, scratch, [&](const MovingBox<D>& moving, const auto& visit) {
              tree.each_on_ray(query, moving.sweep(), 1.0, 1.0, scratch.walk, visit);
            });
          });
    }
  });
  const nb::object in_the_way = refused.row < 0 ? nb::object(nb::none()) : nb::make_tuple(refused.query, refused.row);
  return nb::make_tuple(as_array(std::move(rows)), as_array(std::move(times)), in_the_way);
}

}  // namespace

void bind_world_overlaps(nb::module_& module) {
  const auto bodies = "bodies"_a, sought = "sought"_a, workers = "workers"_a;
  const auto found = "found"_a.none();
  nb::class_<QueryImages>(module, "QueryImages", "The images of queries in a periodic world.")
      .def_prop_ro("begins", [](const QueryImages& self) { return as_array(std::vector(self.begins)); })
      .def_prop_ro("shifts",
                   [](const QueryImages& self) { return as_table(std::vector(self.images.shifts), self.dimension); })
      .def_prop_ro("boxes", [](const QueryImages& self) {
        std::vector<double> boxes = self.images.boxes;
        const std::size_t count = boxes.size() / (2 * self.dimension);
        return as_array(std::move(boxes), {count, 2, self.dimension});
      });
  nb::class_<Sought>(module, "Sought", "What queries of a world look for.")
      .def_static("of_boxes", &Sought::of_boxes, "corners"_a)
      .def_static("of_points", &Sought::of_points, "places"_a)
      .def_static("of_balls", &Sought::of_balls, "centers"_a, "radii"_a)
      .def_static("of_shapes", &Sought::of_shapes, "store"_a, "boxes"_a, "geometries"_a)
      .def_prop_ro("count", &Sought::count)
      .def_prop_ro("boxes", &Sought::boxes)
      .def("images", &Sought::images, "around"_a, "bounds"_a, "bodies"_a, "is_everywhere"_a.none(), "few"_a,
           "worth_halving"_a);
  module.def("body_overlaps", &overlapping, bodies, sought, "images"_a.none(), found, "by_their_boxes"_a, workers);
  module.def("body_regions", &in_regions, bodies, "region_offsets"_a, "axes"_a, "least"_a, "most"_a, "around_lower"_a,
             "around_upper"_a, found, workers);
  module.def("body_impacts", &first_touched, bodies, sought, "motions"_a, found, workers);
}

}  // namespace broadphase::python
