// What followed bodies meet on their ways.
#include "world/meetings.hpp"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "choose/find.hpp"
#include "filters.hpp"
#include "moving_rows.hpp"
#include "query/collect.hpp"

namespace broadphase::python {

void bind_meetings(nb::module_& module);

namespace {

struct WaySearch {
  std::variant<MeetingSearch<2>, MeetingSearch<3>> search;
};

template <std::size_t D>
MeetingSearch<D> search_of(const Boxes& boxes, const Vector<std::int32_t>& numbers, const Table<double>& places,
                           const Table<double>& motions, const Flags& counts, const Flags& is_followed,
                           const Vector<std::int32_t>& way_rows, const Vector<double>& since,
                           const Vector<double>& until, const Table<double>& begin, const Table<double>& way_motions,
                           const double* bounds, const std::int64_t* keys) {
  std::vector<WayRow<D>> rows(numbers.shape(0));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    WayRow<D>& row = rows[k];
    row.key = keys != nullptr ? keys[k] : 0;
    row.number = numbers.data()[k];
    if (static_cast<std::size_t>(row.number) >= boxes.shape(0)) throw nb::index_error("a row that does not exist");
    std::copy_n(boxes.data() + static_cast<std::size_t>(row.number) * 2 * D, 2 * D, row.box.begin());
    std::copy_n(places.data() + k * D, D, row.place.begin());
    std::copy_n(motions.data() + k * D, D, row.motion.begin());
    row.counts = counts.data()[k] != 0;
    row.is_followed = is_followed.data()[k] != 0;
  }
  std::vector<WayPart<D>> ways(way_rows.shape(0));
  for (std::size_t k = 0; k < ways.size(); ++k) {
    WayPart<D>& way = ways[k];
    way.row = way_rows.data()[k];
    if (static_cast<std::size_t>(way.row) >= rows.size()) throw nb::index_error("a row that does not exist");
    way.since = since.data()[k];
    way.until = until.data()[k];
    std::copy_n(begin.data() + k * D, D, way.begin.begin());
    std::copy_n(way_motions.data() + k * D, D, way.motion.begin());
  }
  return MeetingSearch<D>(std::move(rows), std::move(ways), bounds);
}

void make(WaySearch* self, Boxes boxes, Vector<std::int32_t> numbers, Table<double> places, Table<double> motions,
          Flags counts, Flags is_followed, Vector<std::int32_t> way_rows, Vector<double> since, Vector<double> until,
          Table<double> begin, Table<double> way_motions, std::optional<Table<double>> bounds,
          std::optional<Vector<std::int64_t>> keys) {
  const std::size_t dimension = boxes.shape(2), count = numbers.shape(0), ways = way_rows.shape(0);
  const auto fits = [&](const Table<double>& table, std::size_t rows) {
    return table.shape(0) == rows && table.shape(1) == dimension;
  };
  require((dimension == 2 || dimension == 3) && boxes.shape(1) == 2 && fits(places, count) && fits(motions, count) &&
          counts.shape(0) == count && is_followed.shape(0) == count && since.shape(0) == ways &&
          until.shape(0) == ways && fits(begin, ways) && fits(way_motions, ways) && (!bounds || fits(*bounds, 2)) &&
          (!keys || keys->shape(0) == count));
  const auto with = [&]<std::size_t D>() {
    return search_of<D>(boxes, numbers, places, motions, counts, is_followed, way_rows, since, until, begin,
                        way_motions, bounds ? bounds->data() : nullptr, keys ? keys->data() : nullptr);
  };
  if (dimension == 2)
    new (self) WaySearch{with.template operator()<2>()};
  else
    new (self) WaySearch{with.template operator()<3>()};
}

template <std::size_t D>
nb::object approaches_of(MeetingSearch<D>& search, const Filter* filter) {
  bool is_left;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    is_left = search.next(filter, [&](const Problem<double>& problem) {
      // To look at so few boxes takes longer than to compare them all.
      constexpr double kFew = 262144;
      const MethodName name = all_pairs(problem) < kFew ? MethodName::brute_force : MethodName::automatic;
      return with_method(name, problem, {chosen_kernels(), 1, interrupt},
                         [&](const MethodCalls<double>& calls, const Preparation& with) {
                           return calls.collect(problem, kNoLimit, with);
                         });
    });
  }
  if (!is_left) return nb::none();
  std::vector<std::int32_t> first, second;
  std::vector<double> motions, offsets;
  for (const Approach<D>& one : search.approaches()) {
    first.push_back(search.number_of(one.first));
    second.push_back(search.number_of(one.second));
    motions.insert(motions.end(), one.motion.begin(), one.motion.end());
    offsets.insert(offsets.end(), one.offset.begin(), one.offset.end());
  }
  nb::object rows = as_array(std::move(first), 1), others = as_array(std::move(second), 1),
             ways = as_corners(std::move(motions), D);
  return nb::make_tuple(rows, others, ways, as_corners(std::move(offsets), D));
}

template <std::size_t D>
nb::object meetings_of(const MeetingSearch<D>& search) {
  const std::vector<Meeting<D>>& meetings = search.meetings();
  Pairs pairs;
  pairs.size = meetings.size();
  pairs.stride = std::max<std::size_t>(pairs.size, 1);
  pairs.block = allocate_pairs(pairs.stride);
  std::vector<double> times, normals;
  for (std::size_t k = 0; k < meetings.size(); ++k) {
    pairs.block[k] = search.number_of(meetings[k].first);
    pairs.block[pairs.stride + k] = search.number_of(meetings[k].second);
    times.push_back(meetings[k].time);
    normals.insert(normals.end(), meetings[k].normal.begin(), meetings[k].normal.end());
  }
  nb::object rows = as_array(std::move(pairs)), at = as_array(std::move(times), 1);
  return nb::make_tuple(rows, at, as_corners(std::move(normals), D));
}

}  // namespace

void bind_meetings(nb::module_& module) {
  nb::class_<WaySearch>(module, "WaySearch", "A search for what followed bodies meet on their ways.")
      .def("__init__", &make, nb::arg("boxes"), nb::arg("numbers"), nb::arg("places"), nb::arg("motions"),
           nb::arg("counts"), nb::arg("is_followed"), nb::arg("way_rows"), nb::arg("since"), nb::arg("until"),
           nb::arg("begin"), nb::arg("way_motions"), nb::arg("bounds").none(), nb::arg("keys").none())
      .def(
          "next",
          [](WaySearch& self, const PairFilter* filter) {
            const Filter* wanted = filter != nullptr ? filter->get() : nullptr;
            return std::visit([&](auto& search) { return approaches_of(search, wanted); }, self.search);
          },
          nb::arg("filter").none(),
          "(first rows, second rows, motions, offsets) of pairs that come near each other; None when there are no "
          "more.")
      .def(
          "note",
          [](WaySearch& self, Vector<double> times, Table<double> normals) {
            std::visit(
                [&](auto& search) {
                  require(times.shape(0) == search.approaches().size() && normals.shape(0) == times.shape(0) &&
                          normals.size() == times.shape(0) * search.kDimension);
                  search.note(times.data(), normals.data());
                },
                self.search);
          },
          nb::arg("times"), nb::arg("normals"), "Take when these pairs touch, as shares of their motions.")
      .def(
          "meetings",
          [](const WaySearch& self) {
            return std::visit([](const auto& search) { return meetings_of(search); }, self.search);
          },
          "(pairs (m, 2), times, normals): each pair once, in lexicographic order.")
      .def_prop_ro(
          "candidate_counts",
          [](const WaySearch& self) {
            return as_array(
                std::visit([](const auto& search) { return std::vector(search.candidate_counts()); }, self.search), 1);
          },
          "How many pairs of parts of ways were looked at by each `next`.");
}

}  // namespace broadphase::python
