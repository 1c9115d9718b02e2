// Pairs of simple features that meet, and pairs in the order of a tree.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "bindings.hpp"
#include "geos.hpp"
#include "narrow/overlap_areas.hpp"
#include "narrow/simple_features.hpp"
#include "narrow/sliced_points.hpp"
#include "tree/str_tree.hpp"

namespace broadphase::python {

namespace {

nb::tuple bounds_of(const GeosFunctions& geos, nb::handle geometries) {
  const std::vector<GeosFunctions::Geometry> read = geometries_of(geos, geometries);
  GeosBounds bounds = at_work([&](Interrupt& interrupt) { return geos_bounds(geos, read, interrupt); });
  return nb::make_tuple(as_array(std::move(bounds.boxes), {read.size(), 4}),
                        as_array(std::move(bounds.types), {read.size()}), bounds.are_finite);
}

// Whether pairs meet, or are not farther apart than `reach`.
nb::object features_meet(const GeosFunctions& geos, nb::handle geometries, Vector<std::int64_t> one,
                         Vector<std::int64_t> other, std::optional<Vector<double>> reach) {
  const std::vector<GeosFunctions::Geometry> read = geometries_of(geos, geometries);
  std::vector<std::uint8_t> meetings(one.shape(0));
  at_work([&](Interrupt& interrupt) {
    const GeosFeatures table(geos, read, interrupt);
    FeatureMeetings features(table.table(), interrupt);
    if (reach)
      features.within(one.data(), other.data(), reach->data(), meetings.size(), meetings.data());
    else
      features.meet(one.data(), other.data(), meetings.size(), meetings.data());
  });
  return as_array(std::move(meetings));
}

// Pair k: point[k], whose box is that row of `bounds`, in the area area[k] of the geometries, or inside if not farther
// than reach[k]; in doubt where the row is no point.
nb::object places_in_areas(const GeosFunctions& geos, nb::handle geometries, Vector<std::int64_t> area,
                           Table<double> bounds, Vector<std::int64_t> point, Vector<std::uint8_t> is_point,
                           std::optional<Vector<double>> reach) {
  const std::vector<GeosFunctions::Geometry> all = geometries_of(geos, geometries);
  const std::size_t count = area.shape(0);
  std::vector<std::uint8_t> places(count, static_cast<std::uint8_t>(Place::kDoubt));
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    // Area by area: what one is made of stays in the processor's cache.
    const auto is_queried = [&](std::size_t k) { return is_point.data()[point.data()[k]] != 0; };
    std::vector<std::size_t> end(all.size() + 1);
    for (std::size_t k = 0; k < count; ++k)
      if (is_queried(k)) ++end[static_cast<std::size_t>(area.data()[k]) + 1];
    std::vector<GeosFunctions::Geometry> read;
    std::vector<std::size_t> number(all.size());
    for (std::size_t f = 0; f < all.size(); ++f) {
      if (end[f + 1] > 0) {
        number[f] = read.size();
        read.push_back(all[f]);
      }
      end[f + 1] += end[f];
    }
    PlainArray<RowPoint> queried;  // whose rows are pairs
    queried.grow(end.back());
    for (std::size_t k = 0; k < count; ++k) {
      if (!is_queried(k)) continue;
      const double* box = bounds.data() + point.data()[k] * 4;
      queried[end[static_cast<std::size_t>(area.data()[k])]++] = {{box[0], box[1]}, static_cast<std::int64_t>(k)};
    }
    const GeosFeatures table(geos, read, interrupt);
    FeatureMeetings features(table.table(), interrupt);
    std::vector<std::uint8_t> found;
    for (std::size_t f = 0, begin = 0; f < all.size(); begin = end[f++]) {
      const std::span<const RowPoint> points(queried.get() + begin, end[f] - begin);
      if (points.empty()) continue;
      found.resize(points.size());
      if (!reach) features.places(number[f], points, found.data());
      for (std::size_t k = 0; k < points.size(); ++k) {
        const auto& [place, pair] = points[k];
        places[static_cast<std::size_t>(pair)] =
            reach ? static_cast<std::uint8_t>(features.place_within(number[f], place, reach->data()[pair])) : found[k];
      }
    }
  }
  return as_array(std::move(places));
}

// Two columns of rows that grow together.
class FoundPairs {
 public:
  // Room for so many more.
  void reserve(std::size_t count) {
    for (PlainArray<std::int64_t>& rows : rows_)
      if (size_ + count > rows.size()) rows.grow(2 * size_ + count);
  }
  // If that is true. Precondition: there is room.
  void add(std::int64_t one, std::int64_t other, bool is_found) {
    rows_[0][size_] = one;
    rows_[1][size_] = other;
    size_ += is_found ? 1 : 0;
  }
  // (2, n), as they are.
  nb::object as_columns() const {
    PlainArray<std::int64_t> columns;
    columns.grow(2 * size_);
    for (std::size_t k = 0; k < 2; ++k) std::copy_n(rows_[k].get(), size_, columns.get() + k * size_);
    return as_array(std::move(columns), {2, size_});
  }
  // (2, n), the other way round and by what comes first then. Precondition: second rows are below row_count.
  nb::object as_columns_by_second(std::size_t row_count) const {
    PlainArray<std::int64_t> columns;
    columns.grow(2 * size_);
    std::vector<std::size_t> next(row_count + 1);
    for (std::size_t k = 0; k < size_; ++k) ++next[static_cast<std::size_t>(rows_[1][k]) + 1];
    for (std::size_t row = 0; row < row_count; ++row) next[row + 1] += next[row];
    for (std::size_t k = 0; k < size_; ++k) {
      const std::size_t to = next[static_cast<std::size_t>(rows_[1][k])]++;
      columns[to] = rows_[1][k];
      columns[size_ + to] = rows_[0][k];
    }
    return as_array(std::move(columns), {2, size_});
  }

 private:
  std::array<PlainArray<std::int64_t>, 2> rows_;
  std::size_t size_ = 0;
};

// Points, by row of a table of their boxes, in areas whose boxes and order are given: the areas and the points of pairs
// of which the place of the point means 1, area by area, and those of which it means 2.
nb::tuple points_in_areas(const GeosFunctions& geos, nb::handle geometries, Table<double> bounds,
                          Vector<std::int64_t> order, Table<double> point_bounds, Vector<std::int64_t> points,
                          Vector<std::uint8_t> meanings, bool by_point) {
  constexpr std::size_t kTogether = 1 << 16;  // points near areas that are read together
  const std::vector<GeosFunctions::Geometry> all = geometries_of(geos, geometries);
  FoundPairs met, doubtful;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    const SlicedPoints sliced(point_bounds.data(), {points.data(), points.shape(0)}, interrupt);
    PlainArray<RowPoint> near;
    std::size_t near_count = 0;
    std::vector<std::size_t> ends;  // of each area's
    std::vector<std::int64_t> areas;
    std::vector<GeosFunctions::Geometry> read;
    std::vector<std::uint8_t> places;
    const auto place_near = [&] {
      const GeosFeatures table(geos, read, interrupt);
      FeatureMeetings features(table.table(), interrupt);
      places.resize(near_count);
      for (std::size_t f = 0, begin = 0; f < areas.size(); begin = ends[f++])
        features.places(f, {near.get() + begin, ends[f] - begin}, places.data() + begin);
      for (FoundPairs* pairs : {&met, &doubtful}) {
        pairs->reserve(near_count);
        for (std::size_t f = 0, k = 0; f < areas.size(); ++f)
          for (; k < ends[f]; ++k)
            pairs->add(areas[f], near[k].row, meanings.data()[places[k]] == (pairs == &met ? 1 : 2));
      }
      near_count = 0;
      ends.clear();
      areas.clear();
      read.clear();
    };
    for (std::size_t k = 0; k < order.shape(0); ++k) {
      if (k % 256 == 0) interrupt.check();
      const std::int64_t area = order.data()[k];
      const std::size_t before = near_count;
      near_count = sliced.find(bounds.data() + 4 * area, near, near_count);
      if (near_count == before) continue;
      ends.push_back(near_count);
      areas.push_back(area);
      read.push_back(all[static_cast<std::size_t>(area)]);
      if (near_count >= kTogether) place_near();
    }
    place_near();
  }
  const auto as_columns = [&](const FoundPairs& pairs) {
    return by_point ? pairs.as_columns_by_second(point_bounds.shape(0)) : pairs.as_columns();
  };
  return nb::make_tuple(as_columns(met), as_columns(doubtful));
}

// The relations of pairs; and if that is wanted, whether each geometry is an area of one shell that is surely valid, if
// it crosses another.
nb::tuple features_relate(const GeosFunctions& geos, nb::handle geometries, Vector<std::int64_t> one,
                          Vector<std::int64_t> other, bool with_validity) {
  const std::vector<GeosFunctions::Geometry> read = geometries_of(geos, geometries);
  std::vector<std::uint8_t> relations(one.shape(0)), are_simple(read.size());
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    const GeosFeatures table(geos, read, interrupt);
    FeatureMeetings features(table.table(), interrupt);
    std::vector<std::uint8_t> used(read.size());
    features.relate(one.data(), other.data(), relations.size(), relations.data());
    for (std::size_t k = 0; with_validity && k < relations.size(); ++k) {
      const auto relation = static_cast<Relation>(relations[k]);
      if (relation == Relation::kOverlap || relation == Relation::kPass)
        for (const std::int64_t row : {one.data()[k], other.data()[k]}) used[static_cast<std::size_t>(row)] = 1;
    }
    for (std::size_t k = 0; k < read.size(); ++k) are_simple[k] = used[k] != 0 && features.is_simple(k) ? 1 : 0;
  }
  return as_tuple(std::move(relations), std::move(are_simple));
}

// How much area pairs have in common, NaN if one is not known here; and which geometries this depends on that are not
// surely valid.
nb::tuple overlap_areas(const GeosFunctions& geos, nb::handle geometries, Vector<std::int64_t> one,
                        Vector<std::int64_t> other) {
  const std::vector<GeosFunctions::Geometry> read = geometries_of(geos, geometries);
  std::vector<double> areas(one.shape(0));
  std::vector<std::uint8_t> are_unsure(read.size());
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    const GeosFeatures table(geos, read, interrupt);
    FeatureMeetings features(table.table(), interrupt);
    OverlapAreas overlaps(table.table(), interrupt);
    std::vector<std::uint8_t> used(read.size());
    for (std::size_t k = 0; k < areas.size(); ++k) {
      const auto i = static_cast<std::size_t>(one.data()[k]), j = static_cast<std::size_t>(other.data()[k]);
      const auto kinds = {features.kind(i), features.kind(j)};
      if (std::ranges::count(kinds, FeatureKind::kUnknown) > 0)
        areas[k] = std::numeric_limits<double>::quiet_NaN();
      else if (std::ranges::count(kinds, FeatureKind::kAreas) == 2) {
        const FlatBox window = features.box(i).common(features.box(j));
        if (!(window.x < window.x_end && window.y < window.y_end)) continue;
        areas[k] = overlaps.area(i, j, window);
        used[i] = used[j] = 1;
      }
    }
    for (std::size_t k = 0; k < read.size(); ++k) are_unsure[k] = used[k] != 0 && !features.is_simple(k) ? 1 : 0;
  }
  return as_tuple(std::move(areas), std::move(are_unsure));
}

nb::object put_in_order(Vector<std::int64_t> one, Vector<std::int64_t> other, bool both_ways,
                        Vector<std::int64_t> visited, std::size_t row_count) {
  PairsInOrder found = at_work([&](Interrupt& interrupt) {
    return pairs_in_order(one.data(), other.data(), one.shape(0), both_ways, {visited.data(), visited.shape(0)},
                          row_count, interrupt);
  });
  return as_array(std::move(found.rows), {2, found.size});
}

}  // namespace

void bind_simple_features(nb::module_& module) {
  nb::class_<GeosFunctions>(module, "GeosFunctions", "What is called of the GEOS that shapely has loaded.")
      .def(nb::init<const nb::callable&>(), "find"_a);
  module.def(
      "are_geometries",
      [](const GeosFunctions& geos, nb::handle objects) { return find_geometries(geos, objects).has_value(); },
      "geos"_a, "objects"_a, "Whether all objects of an array are geometries or None.");
  module.def("geometry_bounds", &bounds_of, "geos"_a, "geometries"_a,
             "The box of each geometry, NaN for None and empty ones; its type, -1 for None; and whether all boxes are "
             "finite.");
  module.def("features_meet", &features_meet, "geos"_a, "geometries"_a, "one"_a, "other"_a, "reach"_a = nb::none(),
             "Of pairs of geometries, whether they meet, or are at most so far apart: 0 no, 1 yes, 2 in doubt.");
  module.def("features_relate", &features_relate, "geos"_a, "geometries"_a, "one"_a, "other"_a, "with_validity"_a,
             "Of pairs of lines and valid areas: 0 apart, 1 the first inside, 2 the second inside, 3 areas "
             "overlap, 4 a line crosses an area, 5 the boundary of the first, an area, is met, 6 in doubt; and which "
             "geometries of 3 and 4 are surely valid areas, if that is wanted.");
  module.def("places_in_areas", &places_in_areas, "geos"_a, "geometries"_a, "area"_a, "bounds"_a, "point"_a,
             "is_point"_a, "reach"_a = nb::none(),
             "Where points, by their boxes, are in areas: 0 outside, 1 inside or within reach, 2 on the boundary, 3 in "
             "doubt.");
  module.def(
      "points_in_areas", &points_in_areas, "geos"_a, "geometries"_a, "bounds"_a, "order"_a, "point_bounds"_a,
      "points"_a, "meanings"_a, "by_point"_a,
      "Pairs of an area, in this order, and a point, a row of the boxes; or of a point and an area, by point. By "
      "what a place as of places_in_areas means: those that mean 1, and those that mean 2.");
  module.def("overlap_areas", &overlap_areas, "geos"_a, "geometries"_a, "one"_a, "other"_a,
             "How much area pairs of geometries have in common if they are valid, NaN for what is not read; and which "
             "geometries matter and are not surely valid.");
  module.def("pairs_in_order", &put_in_order, "one"_a, "other"_a, "both_ways"_a, "visited"_a, "row_count"_a,
             "Pairs of rows, as they are or both ways, by the first, and then as the second ones are visited.");
}

}  // namespace broadphase::python
