// The simple features of a tree that are nearest to others.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/morton.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "bindings.hpp"
#include "geos.hpp"
#include "narrow/nearest_features.hpp"
#include "narrow/simple_features.hpp"
#include "tree/str_tree.hpp"

namespace broadphase::python {

namespace {

// What GEOS cannot measure: it tells shapely why.
struct NotMeasured {};

// Geometries that are asked for, and rows of a tree, which are read when they are first needed.
class GeosJudge {
 public:
  using Geometries = std::vector<GeosFunctions::Geometry>;

  GeosJudge(const GeosFunctions& geos, const Geometries& rows, const Geometries& queries, Interrupt& interrupt)
      : geos_(geos),
        context_(geos),
        rows_(rows),
        queries_(queries),
        interrupt_(interrupt),
        read_(geos, queries, interrupt),
        features_(read_.table(), interrupt),
        number_of_(rows.size(), kUnread),
        next_(queries.size()) {}

  double distance(std::size_t query, std::size_t row, double limit) {
    const FeatureMeetings::Distance found = features_.distance(query, feature_of(row), limit);
    if (found.is_sure) return found.value;
    double value;
    if (geos_.distance(context_, queries_[query], rows_[row], &value) == 0) throw NotMeasured();
    return value;
  }

  // Of those that have the same box.
  bool are_equal(std::size_t query, std::size_t row) {
    return (features_.is_at_one_place(query) && features_.is_at_one_place(feature_of(row))) ||
           geos_.equal(context_, queries_[query], rows_[row]) != 0;
  }

 private:
  static constexpr std::size_t kUnread = std::numeric_limits<std::size_t>::max();

  std::size_t feature_of(std::size_t row) {
    std::size_t& number = number_of_[row];
    if (number == kUnread) {
      read_.extend({&rows_[row], 1}, interrupt_);
      features_.extend(read_.table());
      number = next_++;
    }
    return number;
  }

  const GeosFunctions& geos_;
  const GeosContext context_;
  const Geometries &rows_, &queries_;
  Interrupt& interrupt_;
  GeosFeatures read_;
  FeatureMeetings features_;
  std::vector<std::size_t> number_of_;  // of each row, the number of its feature
  std::size_t next_;
};

// The rows of boxes (x, y, x_end, y_end), so that what is near follows each other.
std::vector<std::uint32_t> along_curve(Table<double> bounds, Interrupt& interrupt) {
  const std::size_t count = bounds.shape(0);
  const auto center = [&](std::size_t k, std::size_t axis) {
    const double* box = bounds.data() + 4 * k;
    return box[axis] / 2 + box[axis + 2] / 2;
  };
  double low[2], scale[2];
  for (std::size_t axis = 0; axis < 2; ++axis) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (std::size_t k = 0; k < count; ++k) {
      least = std::min(least, center(k, axis));
      most = std::max(most, center(k, axis));
    }
    low[axis] = least;
    scale[axis] = 65535 / (most - least);
  }
  const auto cell = [&](std::size_t k, std::size_t axis) {
    const double place = (center(k, axis) - low[axis]) * scale[axis];
    return place > 0 && place < 65536 ? static_cast<std::uint64_t>(place) : 0;  // 0 too where all are at one place
  };
  std::vector<std::uint64_t> items(count), spare(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t place[2] = {cell(k, 0), cell(k, 1)};
    items[k] = morton_number<2>(place) << 32 | k;
  }
  const std::uint64_t* sorted = radix_sort<11>(
      items.data(), spare.data(), count, 0, 32, [](std::uint64_t item) { return item >> 32; }, 1, interrupt);
  std::vector<std::uint32_t> rows(count);
  for (std::size_t k = 0; k < count; ++k) rows[k] = static_cast<std::uint32_t>(sorted[k]);
  return rows;
}

// Of queries, whose boxes are `bounds`: the pairs of one and a row, by query, and their distances. None where GEOS
// cannot measure one. `are_in_boxes`: of each query, as `NearestFeatures` takes it.
nb::object nearest_features(const GeosFunctions& geos, const StrTree& tree, nb::handle geometries, nb::handle queries,
                            Table<double> bounds, Flags are_in_boxes, NearestKind kind, std::size_t k, double most,
                            bool leaves_out_equal) {
  const GeosJudge::Geometries rows = geometries_of(geos, geometries), asked = geometries_of(geos, queries);
  const std::size_t count = asked.size();
  if (rows.size() != tree.size() || bounds.shape(0) != count || bounds.shape(1) != 4 || are_in_boxes.shape(0) != count)
    throw nb::value_error("arrays do not fit one another");
  std::vector<std::int64_t> numbers, found;
  std::vector<double> distances;
  const bool is_measured = at_work([&](Interrupt& interrupt) {
    // What queries near each other look at stays in the processor's cache.
    const std::vector<std::uint32_t> order = along_curve(bounds, interrupt);
    GeosJudge::Geometries in_order(count);
    for (std::size_t place = 0; place < count; ++place) in_order[place] = asked[order[place]];
    GeosJudge judge(geos, rows, in_order, interrupt);
    NearestFeatures<GeosJudge> nearest(tree, {kind, k, most, leaves_out_equal}, judge);
    std::vector<NearestFeatures<GeosJudge>::Found> all;
    std::vector<std::size_t> begins(count + 1), from(count);  // by query: in the answer, and in `all`
    try {
      for (std::size_t place = 0; place < count; ++place) {
        const std::size_t query = order[place];
        const double* box = bounds.data() + 4 * query;
        if (place % 64 == 0) interrupt.check();
        nearest.find(place, {box[0], box[1], box[2], box[3]}, are_in_boxes.data()[query] != 0);
        from[query] = all.size();
        begins[query + 1] = nearest.found().size();
        all.insert(all.end(), nearest.found().begin(), nearest.found().end());
      }
    } catch (const NotMeasured&) {
      return false;
    }
    for (std::size_t query = 0; query < count; ++query) begins[query + 1] += begins[query];
    numbers.resize(all.size());
    found.resize(all.size());
    distances.resize(all.size());
    for (std::size_t query = 0; query < count; ++query)
      for (std::size_t at = begins[query]; at < begins[query + 1]; ++at) {
        const auto& [distance, row, _] = all[from[query] + at - begins[query]];
        numbers[at] = static_cast<std::int64_t>(query);
        found[at] = static_cast<std::int64_t>(row);
        distances[at] = distance;
      }
    return true;
  });
  if (!is_measured) return nb::none();
  return as_tuple(std::move(numbers), std::move(found), std::move(distances));
}

}  // namespace

void bind_nearest_features(nb::module_& module) {
  nb::class_<StrTree>(module, "StrTree", "The STR tree that GEOS makes of boxes.")
      .def(
          "__init__",
          [](StrTree* made, Table<double> bounds, std::size_t capacity) {
            if (bounds.shape(1) != 4 || capacity < 2) throw nb::value_error("arrays do not fit one another");
            at_work([&](Interrupt& interrupt) {
              return new (made) StrTree(bounds.data(), bounds.shape(0), capacity, interrupt);
            });
          },
          "bounds"_a, "capacity"_a)
      .def_prop_ro("is_open", &StrTree::is_open, "Whether equal centers leave its order to the sort that GEOS uses.")
      .def(
          "visited", [](const StrTree& tree) { return as_array(tree.visited()); },
          "The rows in the order in which GEOS visits them.");
  nb::enum_<NearestKind>(module, "NearestKind", "Which of the nearest rows are wanted.")
      .value("ALL", NearestKind::kAll)
      .value("FIRST", NearestKind::kFirst)
      .value("LAST", NearestKind::kLast)
      .value("SOME_AND_EQUAL", NearestKind::kSomeAndEqual)
      .value("SOME", NearestKind::kSome);
  module.def("nearest_features", &nearest_features, "geos"_a, "tree"_a, "geometries"_a, "queries"_a, "bounds"_a,
             "are_in_boxes"_a, "kind"_a, "k"_a, "most"_a, "leaves_out_equal"_a,
             "Numbers of queries, the rows nearest to them, and distances; None where GEOS cannot measure one.");
}

}  // namespace broadphase::python
