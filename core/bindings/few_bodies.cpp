// One query of a world, or a few, each kind by one call; and what the index of the world has to follow before.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "borrowed_columns.hpp"
#include "few_answers.hpp"
#include "geometries.hpp"
#include "index.hpp"
#include "placed_shapes.hpp"
#include "world/boundary.hpp"
#include "world/images.hpp"
#include "world/larger_boxes.hpp"
#include "world/overlaps.hpp"
#include "world/placing.hpp"
#include "world/queries.hpp"

namespace broadphase::python {

namespace {

// A single shape of Python, at the origin: its record, and what the core keeps of a hull or a mesh.
struct FewShape {
  ShapeKind kind = ShapeKind::kPoint;
  std::vector<double> record;
  bool is_one = false;
  VertexTrees vertices;
  std::vector<Geometry> geometries;
  nb::object prepared, kept_vertices;  // which these belong to
};

// The bodies far away from a periodic world, at their images there: a tree of these alone, shapes and boxes by row, and
// a box around them.
struct FarBodies {
  nb::object tree_owner, shapes_owner;
  Boxes boxes;
  Table<double> around;
  const BlockIndex& tree = nb::cast<const BlockIndex&>(tree_owner);
  const ShapeStore& shapes = nb::cast<const PlacedShapes&>(shapes_owner).store;

  AnyBoxes all_boxes() const {
    const std::size_t d = boxes.shape(2);
    const auto stride = static_cast<std::ptrdiff_t>(2 * d);
    return {BoxView<double>{boxes.data(), boxes.data() + d, stride, stride, boxes.shape(0)}, d};
  }
};

// Of a world whose index has a tree. `follow` lets it be about the world as it is after a step.
class FewBodies : public FewAnswers {
 public:
  // Objects of Python: `columns`, `broad` and its index, the arrangement of which is `tree`. `bounds` are those of a
  // periodic world; bodies that are not wholly in `limits` are left out. hit(row, distance, origin, direction, normal)
  // makes a hit of a single ray, from tuples; `shape` is the class of shapes.
  FewBodies(nb::object guard, nb::object columns, nb::object broad, nb::object tree,
            std::optional<Vector<double>> bounds, std::optional<FarBodies> far, std::optional<Vector<double>> limits,
            FewRowsOf rows, nb::tuple results, nb::object hit, nb::object shape)
      : FewAnswers(std::move(guard), nb::cast<std::size_t>(columns.attr("dim")), std::move(rows), std::move(results)),
        columns_(columns),
        rows_(columns_[name_of<"rows">()]),
        kept_geometries_(columns_[name_of<"geometries">()]),
        layers_(nb::borrow(columns_[name_of<"layers">()])),
        broad_owner_(std::move(broad)),
        broad_(broad_owner_),
        index_(nb::borrow(broad_[name_of<"index">()])),
        tree_owner_(std::move(tree)),
        tree_(nb::cast<const BlockIndex&>(tree_owner_)),
        in_core_(columns.attr("geometries").attr("in_core")),
        geometries_(nb::cast<const KeptGeometries&>(in_core_).geometries),
        bounds_(std::move(bounds)),
        far_(std::move(far)),
        limits_(std::move(limits)),
        hit_(std::move(hit)),
        shape_(std::move(shape)) {
    for (std::size_t k = 0; k < kByRow; ++k) by_row_[k] = nb::borrow(rows_[name_by_row(k)]);
    require(!bounds_ || bounds_->shape(0) == 2 * dimension());
    require(!far_ || (bounds_ && far_->boxes.shape(2) == dimension() && far_->around.size() == 2 * dimension()));
    require(!limits_ || limits_->shape(0) == 2 * dimension());
    require(in_plane_or_space(dimension(), [&](auto d) { return look<d()>(); }) == far_.has_value());
  }

  // Lets the index follow bodies that have moved, and takes their places as they are seen. False, and nothing has
  // changed, where more has changed than these. To be called by one thread at a time.
  bool follow(nb::handle broad) {
    const Reading reading(guard());
    if (is_current()) return true;  // another thread was first
    if (!broad.is(broad_owner_) || !broad_[name_of<"index">()].is(index_) || !broad_[name_of<"_pending">()].is_none() ||
        columns_.flag(name_of<"has_displaced">()) || !kept_geometries_[name_of<"_in_core">()].is(in_core_))
      return false;
    for (std::size_t k = 0; k < kByRow; ++k)
      if (!rows_[name_by_row(k)].is(by_row_[k])) return false;
    return in_plane_or_space(dimension(), [&](auto d) {
      const bool has_far = look<d()>();
      if (has_far || far_ || !follow_boxes<d()>()) return false;
      // As by any query of the index.
      const nb::object arranged = index_.attr("_arranged")("queries");
      if (!arranged.is(tree_owner_)) return false;
      renew();
      return true;
    });
  }

  nb::object query(nb::handle boxes, nb::dict options) const {
    Given given;
    Asked asked;
    if (!read_boxes(boxes, given) || !given.are_within(kLargest) || !asked.fits(given)) return other_way();
    move_near(given, [](const double* bounds, double* box, auto d) { move_box_near<d()>(bounds, box); });
    return rows_of<false>(asked, options, [&](std::size_t query, auto& sought) { sought.set_box(given.of(query)); });
  }

  nb::object query_points(nb::handle points, nb::dict options) const {
    Given place;
    Asked asked;
    if (!read_places(points, place) || !asked.fits(place)) return other_way();
    return rows_of<false>(asked, options, [&](std::size_t query, auto& sought) { sought.set_point(place.of(query)); });
  }

  nb::object query_ball(nb::handle centers, nb::handle radii, nb::dict options) const {
    Given centre, radius;
    Asked asked;
    if (!read_places(centers, centre) || !read_lengths(radii, radius) || !radius.are_within(kLargest) ||
        !asked.fits(centre) || !asked.fits(radius))
      return other_way();
    return rows_of<true>(
        asked, options, [&](std::size_t query, auto& sought) { sought.set_ball(centre.of(query), *radius.of(query)); });
  }

  nb::object query_obb(nb::handle centers, nb::handle half_sizes, nb::handle rotations, nb::dict options) const {
    Given centre, half, turn;
    Asked asked;
    if (!read_places(centers, centre) || !read_half_sizes(half_sizes, half) || !half.are_within(kLargest / 2) ||
        !read_rotations(rotations, turn) || !asked.fits(centre) || !asked.fits(half) || !asked.fits(turn))
      return other_way();
    ShapeStore store;
    double around[6];
    return rows_of<false>(asked, options, [&]<std::size_t D>(std::size_t query, SoughtShape<D>& sought) {
      std::array<double, 2 * D + D * D> record{};  // in the middle, and not rotated
      std::copy_n(half.of(query), D, record.begin() + D);
      for (std::size_t axis = 0; axis < D; ++axis) record[2 * D + axis * (D + 1)] = 1;
      store.set(0, ShapeKind::kOrientedBox, record);
      set_placed(store, centre.of(query), turn.of(query), around, {}, sought);
    });
  }

  nb::object query_shape(nb::handle shape, nb::handle positions, nb::handle rotations, nb::dict options) const {
    FewShape given;
    Given place, turn;
    Asked asked;
    if (!read_shape(shape, given) || !read_places(positions, place) || !asked.fits(place) ||
        !(rotations.is_none() || read_rotations_of(rotations, place.rows, turn, asked)))
      return other_way();
    asked.is_one = asked.is_one && given.is_one;
    ShapeStore store(&given.vertices);
    store.set(0, given.kind, given.record);
    double around[6];
    return rows_of<false>(asked, options, [&](std::size_t query, auto& sought) {
      set_placed(store, place.of(query), rotations.is_none() ? nullptr : turn.of(query), around, given.geometries,
                 sought);
    });
  }

  nb::object shapecast(nb::handle shape, nb::handle positions, nb::handle motions, nb::handle rotations,
                       nb::dict options) const {
    FewShape given;
    Given place, turn, along;
    Asked asked;
    Allowed allowed;
    if (!read_shape(shape, given) || !read_points(positions, place) || !place.are_within(kLargest) ||
        !read_points(motions, along) || !asked.fits(place) || !asked.fits(along) ||
        !(rotations.is_none() ||
          read_rotations_of(rotations, along.rows.is_one ? place.rows : FewRows{asked.count, false}, turn, asked)) ||
        !of_rows().read_options(options, asked, allowed))
      return other_way();
    asked.is_one = asked.is_one && given.is_one;
    std::int32_t rows[kMostQueries];
    double times[kMostQueries];
    bool is_known = true;
    const auto search = [&]<std::size_t D>(const TreeQueries& tree, const QueriedBodies<D>& bodies) {
      ShapeStore store(&given.vertices);
      store.set(0, given.kind, given.record);
      SoughtShape<D> sought;
      SweepWalk walk;
      double around[2 * D];
      for (std::size_t query = 0; query < asked.count; ++query) {
        set_placed(store, place.of(query), rotations.is_none() ? nullptr : turn.of(query), around, given.geometries,
                   sought);
        const MovingBox<D> moving(sought.box(), along.of(query));
        FirstTouched first;
        tree.each_on_ray(query, moving.sweep(), 1.0, 1.0, walk, [&](std::int32_t row) {
          if (!bodies.is_left_out(row)) touch(bodies, row, sought, moving, first);
          return std::min(first.touched.first, 1.0);
        });
        is_known = is_known && first.is_known();
        rows[query] = first.touched.second == FirstTouched::kNobody ? -1 : first.touched.second;
        times[query] = first.touched.first;
      }
    };
    if (!walk_distinct(allowed, search) || !is_known) return other_way();
    if (asked.is_one) return named_tuple(kShapecastHits, nb::int_(rows[0]), nb::float_(times[0]));
    return named_tuple(kShapecastHits, small_array(rows, asked.count, 0, NumPy::get().int32),
                       small_array(times, asked.count, 0, NumPy::get().float64));
  }

  nb::object frustum(nb::handle matrix, nb::handle planes, nb::handle depth, nb::dict options) const {
    Asked asked;
    Allowed allowed;
    RegionSlabs regions;
    if (!read_regions(matrix, planes, depth, regions, asked) || !of_rows().read_options(options, asked, allowed))
      return other_way();
    std::vector<std::int32_t> rows;
    std::int64_t offsets[kMostQueries + 1] = {};
    const auto search = [&]<std::size_t D>(const TreeQueries& tree, const QueriedBodies<D>& bodies) {
      TreeQueries::RegionScratch scratch;
      double around[2 * D];
      for (std::size_t query = 0; query < asked.count; ++query) {
        const ConvexRegion region = region_of(regions, query, around);
        const std::size_t begin = rows.size();
        tree.each_in_region(query, region, scratch, [&](std::int32_t row) {
          if (!bodies.is_left_out(row) && meets(region, bodies.box(row), D)) rows.push_back(row);
        });
        sort_rows(rows.data() + begin, rows.size() - begin);
        offsets[query + 1] = static_cast<std::int64_t>(rows.size());
      }
    };
    if (!walk_bodies(allowed, search)) return other_way();
    return rows_found(asked, std::move(rows), offsets);
  }

  // Of rows, only of one.
  nb::object nearest(nb::handle points, nb::handle k, nb::handle max_distance, nb::handle rows, nb::handle exclude_self,
                     nb::dict options) const {
    Given place, farthest;
    Asked asked;
    Allowed allowed;
    long long columns = 0, own = -1;
    if (!read_whole(k.ptr(), columns) || columns < 1 || columns > static_cast<long long>(kMostNearest) ||
        !read_lengths(max_distance, farthest) || !asked.fits(farthest) || points.is_none() == rows.is_none() ||
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
      if (own >= 0) std::copy_n(positions_ + static_cast<std::size_t>(own) * D, D, place.numbers);
      move_near(place, [](const double* bounds, double* at, auto d) { broadphase::move_near<d()>(bounds, at); });
      std::vector<KeyedRow> found;
      BallWalk walk;
      for (std::size_t query = 0; query < asked.count && is_known; ++query) {
        found.clear();
        each_part<D>(allowed, tree, bodies,
                     [&](const TreeQueries& of, const QueriedBodies<D>& some, const double* around) {
                       NearestBodies<D> nearest(some, wanted, *farthest.of(query), found);
                       const auto look_near = [&](const Vec<D>& image) {
                         of.each_near(query, image.data(), nearest.reach(), walk, [&](std::int32_t row) {
                           return nearest.visit(of, query, image, row, bounds_.has_value());
                         });
                       };
                       if (bounds_) {
                         NearImages<D>({around, bounds_->data(), slots_})
                             .each(place.of(query), [&] { return nearest.reach(); }, look_near);
                       } else {
                         Vec<D> at;
                         std::copy_n(place.of(query), D, at.begin());
                         look_near(at);
                       }
                       is_known = is_known && nearest.refused() < 0;
                     });
        for (std::size_t rank = 0; rank < found.size(); ++rank) {
          table[query * wanted + rank] = found[rank].second;
          distances[query * wanted + rank] = found[rank].first;
        }
      }
    };
    if (!walk_distinct(allowed, search) || !is_known) return other_way();
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
    if (!walk_distinct(allowed, search) || !is_known) return other_way();
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
    if (!walk_distinct(allowed, search) || !is_known) return other_way();
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
    if (!walk_distinct(allowed, search) || !is_known) return other_way();
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

  template <std::size_t D>
  QueriedBodies<D> bodies() const {
    return {shapes_, boxes_, geometries_, data_of(limits_)};
  }
  AnyBoxes boxes() const {
    const auto stride = static_cast<std::ptrdiff_t>(2 * dimension());
    return {BoxView<double>{boxes_, boxes_ + dimension(), stride, stride, slots_}, dimension()};
  }

  // Calls search(tree, bodies) as a query. False if that is no longer about what it was.
  template <class Search>
  bool walk_bodies(const Allowed& allowed, const Search& search, const SearchForCopies* copies = nullptr) const {
    return answer([&] {
      search_allowed(
          tree_, boxes(), allowed.filter,
          [&](const TreeQueries& tree) {
            in_plane_or_space(dimension(), [&](auto d) { search(tree, bodies<d()>()); });
          },
          copies);
    });
  }
  // The same where the tree may be that of bodies that differ.
  template <class Search>
  bool walk_distinct(const Allowed& allowed, const Search& search) const {
    const SearchForCopies copies{tree_.distinct,
                                 {changes(), slots_ / 4, true},
                                 [this](const BlockTree& of, const QueryFilter& filter, std::size_t query) {
                                   return in_plane_or_space(dimension(), [&](auto d) {
                                     return tree_of_distinct(of, boxes(), bodies<d()>(), chosen_kernels(), filter,
                                                             query);
                                   });
                                 }};
    return walk_bodies(allowed, search, &copies);
  }

  // Calls search(tree, bodies, around) for the bodies; in a periodic world for those near it and for the others, with a
  // box around them.
  template <std::size_t D, class Search>
  void each_part(const Allowed& allowed, const TreeQueries& tree, const QueriedBodies<D>& bodies,
                 const Search& search) const {
    search(tree, bodies, around_);
    if (!far_) return;
    const TreeQueries of_far(far_->tree.walked(), far_->all_boxes(), allowed.filter, chosen_kernels());
    const QueriedBodies<D> others{&far_->shapes, far_->boxes.data(), geometries_};
    search(of_far, others, far_->around.data());
  }

  // Of coordinates and lengths of shapes: see shapes/parameters.py.
  static constexpr double kLargest = kLargestCoordinate;

  // In a periodic world: move(bounds, row, dimension) for each row of an argument.
  template <class Move>
  void move_near(Given& given, const Move& move) const {
    if (!bounds_) return;
    in_plane_or_space(dimension(), [&](auto d) {
      for (std::size_t k = 0; k < given.rows.count; ++k) move(bounds_->data(), given.numbers + k * given.size, d);
    });
  }
  // Where shapes may be; in a periodic world near it.
  bool read_places(nb::handle from, Given& to) const {
    if (!read_points(from, to) || !to.are_within(kLargest)) return false;
    move_near(to, [](const double* bounds, double* at, auto d) { broadphase::move_near<d()>(bounds, at); });
    return true;
  }
  bool read_shape(nb::handle from, FewShape& to) const {
    if (PyObject_TypeCheck(from.ptr(), reinterpret_cast<PyTypeObject*>(shape_.ptr())) == 0) return false;
    const auto attribute = [&](PyObject* name) {
      nb::object value = nb::steal(PyObject_GetAttr(from.ptr(), name));
      if (!value.is_valid()) throw nb::python_error();
      return value;
    };
    long long of = 0;
    if (!python::read_whole(attribute(name_of<"_dim">()).ptr(), of) || of != static_cast<long long>(dimension()))
      return false;
    to.kind = static_cast<ShapeKind>(nb::cast<std::uint8_t>(attribute(name_of<"kind">())));
    if (to.kind == ShapeKind::kCustom) return false;
    const auto records = nb::cast<Table<double>>(attribute(name_of<"_records">()));
    if (records.shape(0) != 1) return false;
    to.record.assign(records.data(), records.data() + records.shape(1));
    to.is_one = attribute(name_of<"_single">()).ptr() == Py_True;
    if (!is_kept_elsewhere(to.kind)) return true;
    to.prepared = attribute(name_of<"prepared">());
    to.kept_vertices = attribute(name_of<"core_vertices">());
    to.record[0] = 0;
    if (!to.kept_vertices.is_none()) to.vertices.put(0, &nb::cast<const KeptVertices&>(to.kept_vertices).tree);
    to.geometries.push_back(geometry_of(to.prepared));
    return true;
  }
  // Rotations of shapes at some places: one for all, or one for each. A single place is for all rotations.
  bool read_rotations_of(nb::handle from, const FewRows& places, Given& to, Asked& asked) const {
    return read_rotations(from, to) && asked.fits(to) &&
           (places.is_one || to.rows.count == 1 || to.rows.count == places.count);
  }
  // Places the first shape of a store, and looks for it. `around` has room for the box around it.
  template <std::size_t D>
  static void set_placed(ShapeStore& store, const double* position, const double* rotation, double* around,
                         std::span<const Geometry> geometries, SoughtShape<D>& sought) {
    store.place<D>(0, position, rotation, around, around + D);
    sought.set(store.placed<D>(0), around, geometries);
  }

  // Finds what overlaps the shape that set(query, sought) sets for each query: a ball or another one.
  template <bool are_balls, class Set>
  nb::object rows_of(const Asked& asked, nb::handle options, const Set& set) const {
    Allowed allowed;
    if (!of_rows().read_options(options, asked, allowed)) return other_way();
    std::vector<std::int32_t> rows;
    std::vector<Unknown> unknown;
    std::int64_t offsets[kMostQueries + 1] = {};
    bool are_few = true;  // images of each query
    const auto search = [&]<std::size_t D>(const TreeQueries& tree, const QueriedBodies<D>& bodies) {
      OverlapScratch<D> scratch;
      Images images;
      for (std::size_t query = 0; query < asked.count && unknown.empty() && are_few; ++query) {
        set(query, scratch.sought);
        double box[2 * D];
        std::copy_n(scratch.sought.box(), 2 * D, box);
        const std::size_t begin = rows.size();
        std::size_t number = 0;
        each_part<D>(allowed, tree, bodies,
                     [&](const TreeQueries& of, const QueriedBodies<D>& some, const double* around) {
                       images.shifts.clear();
                       images.boxes.clear();
                       if (bounds_) {
                         const ImageFinder<D> finder({around, bounds_->data(), slots_});
                         are_few = are_few && finder.count(box) <= ImageLimits().few;
                         if (are_few) finder.add(box, images);
                       }
                       const auto near = [&](const double* there, std::size_t) {
                         if (are_balls && !bounds_)
                           find_near_ball(of, query, scratch);
                         else
                           find_near_box(of, query, there, scratch);
                         return NearRows{scratch.near, 0};
                       };
                       const std::size_t here = images.shifts.size() / D;
                       number += here;
                       look_among(
                           some, static_cast<std::int32_t>(query), scratch.sought, bounds_ ? &images : nullptr, 0, here,
                           near, [](std::int32_t) { return true; }, rows, unknown);
                     });
        put_in_order(rows, begin, number > 1);
        offsets[query + 1] = static_cast<std::int64_t>(rows.size());
      }
    };
    if (!walk_bodies(allowed, search) || !unknown.empty() || !are_few) return other_way();
    return rows_found(asked, std::move(rows), offsets);
  }

  // Arrays by row of the world; others come with more rows.
  static constexpr std::size_t kByRow = 4;
  static PyObject* name_by_row(std::size_t k) {
    PyObject* const names[] = {name_of<"alive">(), name_of<"generation">(), name_of<"layer">(), name_of<"mask">()};
    return names[k];
  }

  // Takes what is seen now. Says whether there are bodies far away from a periodic world.
  template <std::size_t D>
  bool look() {
    const nb::handle seen = columns_[name_of<"seen">()];
    if (!seen.is(here_.owner)) std::swap(here_, there_);
    if (!seen.is(here_.owner)) here_.take(seen);
    slots_ = rows_.number(name_of<"slots">());
    const Placement<D> placement = here_.look<D>(slots_);
    shapes_ = placement.shapes;
    boxes_ = placement.boxes;
    positions_ = placement.positions;
    if (!bounds_) return false;
    const NearAndFar<D> parts(boxes_, bounds_->data(),
                              rows_sticking_out<D>(boxes_, bounds_->data(), of_rows().in_use(), slots_));
    std::copy(parts.around.begin(), parts.around.end(), around_);
    return !parts.far.empty();
  }

  // Gives the rows that have left their boxes in the index others there. False if the index does not follow so many.
  template <std::size_t D>
  bool follow_boxes() {
    auto* behind = behind_.look<std::uint8_t>(broad_[name_of<"_behind">()], 1, slots_);
    const Attributes store(nb::object(index_.attr("_store")));
    auto* kept = corners_.look<double>(store[name_of<"corners">()], 2 * D, slots_);
    left_.clear();
    add_rows_that_left<D>(boxes_, kept, behind, of_rows().in_use(), slots_, left_);
    if (!left_.empty()) {
      const nb::object owner = index_.attr("_guard");
      auto& of_index = nb::cast<Guard&>(owner);
      const Changing changing(of_index);
      if (!nb::cast<bool>(index_.attr("_starts_to_follow")(left_.size()))) return false;
      const auto [share, length] = nb::cast<std::pair<double, double>>(broad_[name_of<"reach">()]);
      for (const std::int32_t row : left_) {
        const std::size_t at = static_cast<std::size_t>(row) * 2 * D;
        enlarge<D>(boxes_ + at, share, length, kept + at);
      }
      const auto stride = static_cast<std::ptrdiff_t>(2 * D);
      const std::size_t count = store.number(name_of<"slots">());
      update_bvh(tree_owner_, BoxView<double>{kept, kept + D, stride, stride, count}, left_,
                 nb::cast<unsigned>(index_.attr("_threads")));
      index_.attr("_is_stale") = false;
    }
    std::fill_n(behind, slots_, std::uint8_t{0});
    return true;
  }

  Attributes columns_, rows_, kept_geometries_;
  nb::object layers_;
  nb::object broad_owner_;
  Attributes broad_;
  nb::object index_, tree_owner_;
  const BlockIndex& tree_;
  nb::object in_core_;
  std::span<const Geometry> geometries_;
  std::optional<Vector<double>> bounds_;
  std::optional<FarBodies> far_;
  std::optional<Vector<double>> limits_;
  nb::object hit_, shape_, by_row_[kByRow];
  BorrowedPlacement here_, there_;  // what is seen, and what was before, and will be after the next step
  Borrowed behind_, corners_;
  std::vector<std::int32_t> left_;
  // What is seen: read inside queries only, by threads that find all of this current.
  const ShapeStore* shapes_ = nullptr;
  const double *boxes_ = nullptr, *positions_ = nullptr;
  std::size_t slots_ = 0;
  double around_[6] = {};  // of a periodic world: a box around the bodies near it
};

}  // namespace

void bind_few_bodies(nb::module_& module) {
  const auto options = "options"_a;
  const auto origins = "origins"_a.none(), directions = "directions"_a.none(), max_distance = "max_distance"_a.none(),
             centers = "centers"_a.none(), positions = "positions"_a.none(), rotations = "rotations"_a.none();
  nb::class_<FewBodies> bound(module, "FewBodies",
                              "A few queries of a world; NotImplemented where the general way must answer.");
  bound
      .def(
          "__init__",
          [](FewBodies* self, nb::object guard, nb::object columns, nb::object broad, nb::object tree,
             std::optional<Vector<double>> bounds, nb::object far, std::optional<Vector<double>> limits,
             nb::object actors, nb::handle world, nb::tuple results, nb::object hit, nb::object shape) {
            constexpr std::uint64_t kDefaultLayer = 1;
            std::optional<FarBodies> others;
            if (!far.is_none())
              others.emplace(FarBodies{far[0], far[1], nb::cast<Boxes>(far[2]), nb::cast<Table<double>>(far[3])});
            const nb::object rows = columns.attr("rows");
            FewRowsOf of_rows{nb::cast<FewRowsOf::Words>(rows.attr("layer")),
                              nb::cast<FewRowsOf::Words>(rows.attr("mask")),
                              nb::cast<AnyArray>(rows.attr("alive")),
                              kDefaultLayer,
                              nb::cast<Vector<std::int64_t>>(rows.attr("generation")),
                              columns.attr("layers").attr("_numbers"),
                              std::move(actors),
                              world.ptr()};
            new (self) FewBodies(std::move(guard), std::move(columns), std::move(broad), std::move(tree),
                                 std::move(bounds), std::move(others), std::move(limits), std::move(of_rows),
                                 std::move(results), std::move(hit), std::move(shape));
          },
          "guard"_a, "columns"_a, "broad"_a, "tree"_a, "bounds"_a.none(), "far"_a.none(), "limits"_a.none(), "actors"_a,
          "world"_a, "results"_a, "hit"_a, "shape"_a)
      .def_prop_ro("is_current", &FewBodies::is_current)
      .def("follow", &FewBodies::follow, "broad"_a,
           "Let the index follow bodies that have moved; false where more than that has changed.")
      .def("query", &FewBodies::query, "boxes"_a.none(), options)
      .def("query_points", &FewBodies::query_points, "points"_a.none(), options)
      .def("query_ball", &FewBodies::query_ball, centers, "radii"_a.none(), options)
      .def("query_obb", &FewBodies::query_obb, centers, "half_sizes"_a.none(), rotations, options)
      .def("query_shape", &FewBodies::query_shape, "shape"_a.none(), positions, rotations, options)
      .def("shapecast", &FewBodies::shapecast, "shape"_a.none(), positions, "motions"_a.none(), rotations, options)
      .def("frustum", &FewBodies::frustum, "matrix"_a.none(), "planes"_a.none(), "depth"_a, options);
  bound
      .def("nearest", &FewBodies::nearest, "points"_a.none(), "k"_a.none(), "max_distance"_a.none(), "rows"_a.none(),
           "exclude_self"_a.none(), options)
      .def("raycast", &FewBodies::raycast, origins, directions, max_distance, options)
      .def("raycast_all", &FewBodies::raycast_all, origins, directions, max_distance, options)
      .def("raycast_any", &FewBodies::raycast_any, origins, directions, max_distance, options);
}

}  // namespace broadphase::python
