// What followed bodies meet on their ways.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "filters.hpp"
#include "meetings.hpp"
#include "placed_shapes.hpp"
#include "world/ccd.hpp"

namespace broadphase::python {

namespace {

// Rows that the boundary turned, ascending: how, and where they would be if there were none.
using Turned = std::tuple<Rows, Flags, Table<double>>;

template <std::size_t D>
nb::object as_object(Impacts<D>&& found) {
  nb::object endless = nb::none();
  if (found.endless) {
    nb::list from, motion;
    for (const double x : found.endless->from) from.append(x);
    for (const double x : found.endless->motion) motion.append(x);
    endless = nb::make_tuple(found.endless->row, kMostBends, from, motion);
  }
  return as_tuple(as_columns(found.meetings), endless, std::move(found.rows), std::move(found.candidate_counts));
}

// ((pairs (m, 2), times, normals), (row, most, from, motion) of a followed row that crosses the world more than `most`
// times, or None, the rows that were looked at, and how many pairs of parts of ways, portion by portion).
// others(first, second, motions, offsets) gives the times and normals of pairs with a hull, a mesh or a custom shape;
// None where there are no such shapes. Without `rows`, those near the ways are looked at.
nb::object find_impacts(const PlacedShapes& shapes, Boxes boxes, MaybeNumbers rotations, Table<double> before,
                        Table<double> after, Table<double> now, Flags alive, Flags is_ccd, Flags looked_at,
                        std::optional<Rows> update_intervals, Flags renewed,
                        std::optional<Vector<std::int64_t>> batches, std::optional<Turned> turned,
                        std::optional<Table<double>> bounds, bool is_periodic, const PairFilter* filter, Rows first,
                        Rows second, nb::object others, std::optional<Rows> rows, unsigned workers) {
  const std::size_t count = is_ccd.shape(0), dimension = shapes.dimension;
  const auto fits = [&](const auto& array) { return array.shape(0) >= count; };
  const auto are_places = [&](const Table<double>& table) { return fits(table) && table.shape(1) == dimension; };
  require(are_places(before) && are_places(after) && are_places(now) && fits(boxes) && boxes.shape(1) == 2 &&
          boxes.shape(2) == dimension && fits(alive) && fits(looked_at) && fits(renewed) &&
          (!update_intervals || fits(*update_intervals)) && (!batches || fits(*batches)) &&
          (!rotations || rotations->shape(0) >= count) && first.shape(0) == second.shape(0) &&
          (bounds || (!turned && !is_periodic)) &&
          (!bounds || (bounds->shape(0) == 2 && bounds->shape(1) == dimension)));
  const auto require_row = [&](std::int32_t row) {
    if (static_cast<std::size_t>(row) >= count) throw nb::index_error("a row that does not exist");
  };
  std::vector<std::uint8_t> turns(turned ? count : 0);
  if (turned) {
    const auto& [some, how, ends] = *turned;
    require(how.shape(0) == some.shape(0) && ends.shape(0) == some.shape(0) && ends.shape(1) == dimension);
    for (std::size_t k = 0; k < some.shape(0); ++k) {
      require_row(some.data()[k]);
      turns[static_cast<std::size_t>(some.data()[k])] = how.data()[k];
    }
  }
  for (std::size_t k = 0; rows && k < rows->shape(0); ++k) require_row(rows->data()[k]);
  const auto find = [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    const Followed<D> followed{
        count,
        {before.data(), after.data(), now.data(), boxes.data(), alive.data(), is_ccd.data(), data_of(batches),
         turned ? turns.data() : nullptr, turned ? std::get<0>(*turned).data() : nullptr,
         turned ? std::get<2>(*turned).data() : nullptr, turned ? std::get<0>(*turned).shape(0) : 0, data_of(bounds),
         is_periodic},
        &shapes.store,
        data_of(rotations),
        looked_at.data(),
        data_of(update_intervals),
        renewed.data(),
        {first.data(), second.data(), first.shape(0)},
        filter != nullptr ? filter->get() : nullptr};
    return as_object(at_work([&](Interrupt& interrupt) {
      return impacts_on_the_way(followed,
                                rows ? std::vector(rows->data(), rows->data() + rows->shape(0))
                                     : rows_near_ways(followed.journeys, count, workers),
                                chosen_kernels(), workers, interrupt, [&](Approaches<D>& some) {
                                  if (!others.is_none()) ask_for_times(others, some);
                                });
    }));
  };
  return in_plane_or_space(dimension, find);
}

}  // namespace

void bind_meetings(nb::module_& module) {
  module.def("impacts_on_the_way", &find_impacts, "shapes"_a, "boxes"_a, "rotations"_a.none(), "before"_a, "after"_a,
             "now"_a, "alive"_a, "is_ccd"_a, "looked_at"_a, "update_intervals"_a.none(), "renewed"_a,
             "batches"_a.none(), "turned"_a.none(), "bounds"_a.none(), "is_periodic"_a, "filter"_a.none(), "first"_a,
             "second"_a, "others"_a.none(), "rows"_a.none(), "workers"_a,
             "What touched a followed body since the last step.");
}

}  // namespace broadphase::python
