// Pairs of simple features that meet, and pairs in the order of a tree.
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "bindings.hpp"
#include "geos.hpp"
#include "narrow/simple_features.hpp"
#include "tree/str_tree.hpp"

namespace broadphase::python {

namespace {

nb::object bounds_of(const GeosFunctions& geos, nb::handle geometries) {
  const std::vector<GeosFunctions::Geometry> read = geometries_of(geos, geometries);
  return as_table(at_work([&](Interrupt& interrupt) { return geos_bounds(geos, read, interrupt); }), 4);
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
    struct Queried {
      double place[2];
      std::size_t pair;
    };
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
    PlainArray<Queried> queried;
    queried.grow(end.back());
    for (std::size_t k = 0; k < count; ++k) {
      if (!is_queried(k)) continue;
      const double* box = bounds.data() + point.data()[k] * 4;
      queried[end[static_cast<std::size_t>(area.data()[k])]++] = {{box[0], box[1]}, k};
    }
    const GeosFeatures table(geos, read, interrupt);
    FeatureMeetings features(table.table(), interrupt);
    for (std::size_t f = 0, at = 0; f < all.size(); ++f)
      for (; at < end[f]; ++at) {
        const auto& [place, pair] = queried[at];
        places[pair] = static_cast<std::uint8_t>(reach ? features.place_within(number[f], place, reach->data()[pair])
                                                       : features.place(number[f], place));
      }
  }
  return as_array(std::move(places));
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
    for (std::size_t k = 0; k < relations.size(); ++k) {
      const auto i = static_cast<std::size_t>(one.data()[k]), j = static_cast<std::size_t>(other.data()[k]);
      const Relation relation = features.relate(i, j);
      relations[k] = static_cast<std::uint8_t>(relation);
      if (with_validity && (relation == Relation::kOverlap || relation == Relation::kPass)) used[i] = used[j] = 1;
    }
    for (std::size_t k = 0; k < read.size(); ++k) are_simple[k] = used[k] != 0 && features.is_simple(k) ? 1 : 0;
  }
  return as_tuple(std::move(relations), std::move(are_simple));
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
             "The box of each geometry; NaN for None and empty ones.");
  module.def("features_meet", &features_meet, "geos"_a, "geometries"_a, "one"_a, "other"_a, "reach"_a = nb::none(),
             "Of pairs of geometries, whether they meet, or are at most so far apart: 0 no, 1 yes, 2 in doubt.");
  module.def("features_relate", &features_relate, "geos"_a, "geometries"_a, "one"_a, "other"_a, "with_validity"_a,
             "Of pairs of lines and valid areas: 0 apart, 1 the first inside, 2 the second inside, 3 areas "
             "overlap, 4 a line crosses an area, 5 in doubt; and which geometries of the last two are surely valid "
             "areas, if that is wanted.");
  module.def("places_in_areas", &places_in_areas, "geos"_a, "geometries"_a, "area"_a, "bounds"_a, "point"_a,
             "is_point"_a, "reach"_a = nb::none(),
             "Where points, by their boxes, are in areas: 0 outside, 1 inside or within reach, 2 on the boundary, 3 in "
             "doubt.");
  module.def("pairs_in_order", &put_in_order, "one"_a, "other"_a, "both_ways"_a, "visited"_a, "row_count"_a,
             "Pairs of rows, as they are or both ways, by the first, and then as the second ones are visited.");
}

}  // namespace broadphase::python
