// Points within a cutoff of one another.
#include "neighbors/candidates.hpp"
#include "neighbors/lists.hpp"
#include "neighbors/nearest.hpp"
#include "neighbors/pair_rules.hpp"
#include "neighbors/search.hpp"
#include "neighbors/sight.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "choose/find.hpp"

namespace broadphase::python {

namespace {

// What the pairs have besides their rows, or None.
nb::tuple details(NeighborPairs& pairs) {
  const std::size_t size = pairs.size, dimension = pairs.dimension;
  return as_tuple(pairs.has_distances ? as_array(std::move(pairs.distances), {size}) : nb::none(),
                  pairs.has_vectors ? as_array(std::move(pairs.vectors), {size, dimension}) : nb::none(),
                  pairs.has_shifts ? as_array(std::move(pairs.shifts), {size, dimension}) : nb::none());
}

PointView points_of(const Table<double>& points, const std::optional<Vector<double>>& reaches) {
  return {points.data(), points.shape(0), points.shape(1), reaches ? reaches->data() : nullptr};
}

// (S, S) cutoffs by species, of which these are those of the points, or none; and pairs to leave out, or none.
NeighborRules rules(std::size_t points, bool two_sets, const std::optional<Table<double>>& cutoffs,
                    const std::optional<Vector<std::int32_t>>& kinds,
                    const std::optional<Vector<std::int32_t>>& other_kinds,
                    const std::optional<Table<std::int64_t>>& ignored) {
  NeighborRules made;
  const auto copied = [](const auto& array) { return std::vector(array->data(), array->data() + array->size()); };
  if (cutoffs) {
    made.species = cutoffs->shape(0);
    made.cutoffs = copied(cutoffs);
    made.kinds = copied(kinds);
    if (other_kinds) made.other_kinds = copied(other_kinds);
  }
  if (ignored) made.ignored = IgnoredPairs(ignored->data(), ignored->shape(0), points, two_sets);
  made.prepare();
  return made;
}

void follow(const NeighborRules* rules, NeighborQuery& query) {
  query.rules = rules;
  if (rules == nullptr || !rules->by_species()) return;
  query.kind = PairCutoff::kBySpecies;
  query.points.reaches = rules->reaches.data();
  query.points.kinds = rules->kinds.data();
  if (!query.cross) return;
  query.others.reaches = rules->other_reaches.data();
  query.others.kinds = rules->other_kinds.data();
}

// How many points, and the key of each, or none: then so many in a row are a batch.
using KeyedSet = std::tuple<std::size_t, std::optional<Vector<std::int64_t>>, std::size_t>;

std::optional<RowKeys> keys_of(const std::optional<KeyedSet>& set) {
  if (!set) return std::nullopt;
  const auto& [count, keys, each] = *set;
  return RowKeys{count, keys ? keys->data() : nullptr, each};
}

using Matrices = nb::ndarray<const double, nb::shape<-1, 3, 3>, nb::c_contig, nb::device::cpu>;
using AxisFlags = nb::ndarray<const bool, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

// Lattice vectors as rows, and along which of them the scene repeats.
std::vector<Cell> cells_of(const Matrices& vectors, const AxisFlags& periodic) {
  std::vector<Cell> cells(vectors.shape(0));
  for (std::size_t cell = 0; cell < cells.size(); ++cell)
    for (std::size_t k = 0; k < 3; ++k) {
      cells[cell].periodic[k] = periodic.data()[3 * cell + k];
      for (std::size_t axis = 0; axis < 3; ++axis)
        cells[cell].vectors[k][axis] = vectors.data()[9 * cell + 3 * k + axis];
    }
  return cells;
}

// The lattice of each cell: the axes of its frame, the components of its short vectors along them, of which given
// vectors these are made, and how many they are, or -1 where they do not span a volume.
nb::tuple lattices(Matrices vectors, AxisFlags periodic) {
  std::vector<double> frames, components, combinations;
  std::vector<std::int32_t> counts;
  for (const Cell& cell : cells_of(vectors, periodic)) {
    const Lattice lattice(cell);
    counts.push_back(lattice.is_valid() ? static_cast<std::int32_t>(lattice.count()) : -1);
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        frames.push_back(lattice.axis_of_frame(k)[axis]);
        components.push_back(lattice.components(k)[axis]);
        combinations.push_back(static_cast<double>(lattice.combination(k)[axis]));
      }
  }
  const std::size_t count = counts.size();
  return as_tuple(as_array(std::move(frames), {count, 3, 3}), as_array(std::move(components), {count, 3, 3}),
                  as_array(std::move(combinations), {count, 3, 3}), std::move(counts));
}

PointCells point_cells(const std::vector<Cell>& cells, const std::optional<RowKeys>& keys) {
  return {cells.data(), keys ? *keys : RowKeys{}, cells.size() == 1};
}

OverlappingBoxes overlaps(const BoxView<double>& first, const BoxView<double>* second, std::size_t dimension,
                          unsigned workers, Interrupt& interrupt) {
  Problem<double> problem;
  problem.first = first;
  problem.cross = second != nullptr;
  if (problem.cross) problem.second = *second;
  problem.dimension = dimension;
  problem.is_own = true;
  Pairs pairs = find_pairs(MethodName::automatic, problem, kNoLimit, {chosen_kernels(), workers, interrupt});
  return {std::move(pairs.block), pairs.size, pairs.stride};
}

// (pairs, offsets or None, details).
nb::tuple result_of(NeighborPairs& found, const nb::object& offsets) {
  const nb::tuple more = details(found);
  return as_tuple(Pairs{std::move(found.rows), found.size, found.capacity}, offsets, more);
}

// As result_of; with offsets, pairs are in the order of their first points. `find` returns pairs of points and others.
// With sight, or only the nearest of each: those that are left of the lists.
template <class Find>
nb::tuple result(std::size_t points, std::size_t others, bool by_point, bool both, bool sorted, unsigned workers,
                 Find&& find, const std::optional<Sight>& sight = std::nullopt,
                 std::optional<std::size_t> nearest = std::nullopt) {
  NeighborPairs pairs;
  NeighborLists lists;
  at_work([&](Interrupt& interrupt) {
    pairs = find(interrupt);
    if (by_point) lists = list_by_point(std::move(pairs), points, others, both, sorted, workers, interrupt);
    if (sight) keep_in_sight(lists, *sight, interrupt);
    if (nearest) keep_nearest(lists, *nearest, interrupt);
  });
  NeighborPairs& found = by_point ? lists.entries : pairs;
  return result_of(found, by_point ? as_array(std::move(lists.offsets)) : nb::none());
}

nb::tuple neighbors(Table<double> points, std::optional<Table<double>> others, std::optional<KeyedSet> keys,
                    std::optional<KeyedSet> other_keys, Matrices vectors_of_cells, AxisFlags periodic, double cutoff,
                    std::optional<Vector<double>> reaches, std::optional<Vector<double>> other_reaches, bool larger,
                    const NeighborRules* rules, bool distances, bool vectors, bool shifts, bool by_point, bool both,
                    bool sorted, unsigned workers, std::optional<Table<double>> headings,
                    std::optional<Vector<double>> angles, std::optional<std::size_t> nearest) {
  const std::vector<Cell> cells = cells_of(vectors_of_cells, periodic);
  NeighborQuery query;
  query.points = points_of(points, reaches);
  query.cross = others.has_value();
  if (query.cross) query.others = points_of(*others, other_reaches);
  query.keys = keys_of(keys);
  query.other_keys = keys_of(other_keys);
  query.cells = cells.data();
  query.cell_count = cells.size();
  query.kind = larger ? PairCutoff::kLarger : PairCutoff::kSum;
  query.cutoff = cutoff;
  follow(rules, query);
  query.distances = distances;
  query.vectors = vectors;
  query.shifts = shifts;
  std::optional<Sight> sight;
  if (headings) sight = Sight{headings->data(), angles->data(), angles->shape(0) == 1};
  const std::size_t count = query.points.count, other_count = query.cross ? query.others.count : count;
  return result(
      count, other_count, by_point, both, sorted, workers,
      [&](Interrupt& interrupt) {
        return find_neighbors(query, chosen_kernels().window_hits, overlaps, workers, interrupt);
      },
      sight, nearest);
}

nb::tuple nearest_neighbors(Table<double> points, std::optional<Table<double>> others, std::optional<KeyedSet> keys,
                            std::optional<KeyedSet> other_keys, Matrices vectors_of_cells, AxisFlags periodic,
                            double cutoff, std::size_t wanted, bool distances, bool vectors, bool shifts,
                            unsigned workers) {
  const std::vector<Cell> cells = cells_of(vectors_of_cells, periodic);
  NearestQuery query;
  query.points = points_of(points, std::nullopt);
  query.cross = others.has_value();
  if (query.cross) query.others = points_of(*others, std::nullopt);
  query.keys = keys_of(keys);
  query.other_keys = keys_of(other_keys);
  query.cells = cells.data();
  query.cell_count = cells.size();
  query.wanted = wanted;
  query.cutoff = cutoff;
  query.distances = distances;
  query.vectors = vectors;
  query.shifts = shifts;
  NeighborLists lists = at_work(
      [&](Interrupt& interrupt) { return find_nearest(query, chosen_kernels().next_near_leaf, workers, interrupt); });
  return result_of(lists.entries, as_array(std::move(lists.offsets)));
}

NeighborCandidates candidates(Table<double> points, std::optional<KeyedSet> keys, Matrices vectors, AxisFlags periodic,
                              double cutoff, const NeighborRules* rules, bool both, bool sorted, unsigned workers) {
  const std::vector<Cell> cells = cells_of(vectors, periodic);
  NeighborQuery query;
  query.points = points_of(points, std::nullopt);
  query.keys = keys_of(keys);
  query.cells = cells.data();
  query.cell_count = cells.size();
  query.cutoff = cutoff;
  follow(rules, query);
  query.shifts = true;
  return at_work([&](Interrupt& interrupt) {
    const WindowKernel kernel = chosen_kernels().window_hits;
    PlacedPairs pairs;
    if (!place_pairs(query, kernel, workers, interrupt, pairs))
      pairs = placed(find_neighbors(query, kernel, overlaps, workers, interrupt), query.points.count, interrupt);
    return NeighborCandidates(std::move(pairs), both, sorted, interrupt);
  });
}

static_assert(sizeof(Jump) == 4 * sizeof(std::int32_t) && sizeof(Matrix3) == 9 * sizeof(double));

nb::tuple near(const NeighborCandidates& candidates, Table<double> points, std::optional<Table<std::int32_t>> jumps,
               std::optional<KeyedSet> keys, Matrices vectors_of_cells, AxisFlags periodic, double cutoff,
               const NeighborRules* rules, bool distances, bool vectors, bool shifts, bool by_point, unsigned workers) {
  const std::vector<Cell> cells = cells_of(vectors_of_cells, periodic);
  NearQuery query;
  query.points = points.data();
  query.dimension = points.shape(1);
  if (jumps) query.jumps = reinterpret_cast<const Jump*>(jumps->data()), query.jump_count = jumps->shape(0);
  query.cells = point_cells(cells, keys_of(keys));
  query.cutoff = cutoff;
  query.rules = rules;
  query.distances = distances, query.vectors = vectors, query.shifts = shifts;
  query.by_point = by_point;
  const NearKernels& kernels = near_kernels(chosen_kernels().level);
  NeighborLists lists =
      at_work([&](Interrupt& interrupt) { return candidates.near(query, kernels, workers, interrupt); });
  return result_of(lists.entries, by_point ? as_array(std::move(lists.offsets)) : nb::none());
}

// The nearest entries of each point in tables, `width` of each: rows, -1 behind the last; distances, infinity; vectors
// and shifts, 0. The columns are results, which their owner may have written to: offsets beyond them end there.
nb::tuple nearest_table(Vector<std::int64_t> offsets, Vector<std::int32_t> rows, Vector<double> distances,
                        std::optional<Table<double>> vectors, std::optional<Table<std::int32_t>> shifts,
                        std::size_t width) {
  const std::size_t count = offsets.shape(0) - 1, dimension = vectors  ? vectors->shape(1)
                                                              : shifts ? shifts->shape(1)
                                                                       : 0;
  constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max() / (3 * sizeof(double));
  if (count > 0 && width > kMost / count) throw std::bad_alloc();
  const std::size_t size = count * width;
  std::vector<std::int32_t> table(size, -1), table_of_shifts(shifts ? size * dimension : 0, 0);
  std::vector<double> lengths(size, std::numeric_limits<double>::infinity()),
      table_of_vectors(vectors ? size * dimension : 0, 0.0);
  without_gil(size + rows.shape(0), [&] {
    const NearestOrder order{distances.data(), rows.data(), shifts ? shifts->data() : nullptr, dimension};
    const auto most = static_cast<std::int64_t>(rows.shape(0));
    std::vector<std::size_t> places;
    for (std::size_t point = 0; point < count; ++point) {
      const std::int64_t begin = std::clamp<std::int64_t>(offsets.data()[point], 0, most);
      const std::int64_t end = std::clamp(offsets.data()[point + 1], begin, most);
      order.first(static_cast<std::size_t>(begin), static_cast<std::size_t>(end), width, places);
      for (std::size_t k = 0; k < places.size(); ++k) {
        const std::size_t from = places[k], to = point * width + k;
        table[to] = rows.data()[from];
        lengths[to] = distances.data()[from];
        for (std::size_t axis = 0; axis < dimension; ++axis) {
          if (vectors) table_of_vectors[to * dimension + axis] = vectors->data()[from * dimension + axis];
          if (shifts) table_of_shifts[to * dimension + axis] = shifts->data()[from * dimension + axis];
        }
      }
    }
  });
  return as_tuple(as_array(std::move(table), {count, width}), as_array(std::move(lengths), {count, width}),
                  vectors ? as_array(std::move(table_of_vectors), {count, width, dimension}) : nb::none(),
                  shifts ? as_array(std::move(table_of_shifts), {count, width, dimension}) : nb::none());
}

// (whether no point has moved by more than the limit, how far at most, None or a table of the rows that were moved by
// lattice vectors and how many these are)
nb::tuple motion(Table<double> points, Table<double> before, std::optional<KeyedSet> keys, Matrices cells_before,
                 std::optional<Matrices> back, std::optional<Matrices> inverses, double limit, double rounding,
                 unsigned workers) {
  std::vector<Cell> cells(cells_before.shape(0));
  for (std::size_t cell = 0; cell < cells.size(); ++cell)
    std::memcpy(&cells[cell].vectors, cells_before.data() + 9 * cell, sizeof(Matrix3));
  const auto matrices = [](const std::optional<Matrices>& array) {
    return array ? reinterpret_cast<const Matrix3*>(array->data()) : nullptr;
  };
  const Motion motion{points.data(),      before.data(),  points.shape(0),
                      points.shape(1),    matrices(back), point_cells(cells, keys_of(keys)),
                      matrices(inverses), limit,          rounding};
  const Moved moved = at_work([&](Interrupt& interrupt) { return motion_of(motion, workers, interrupt); });
  if (moved.jumps.empty()) return as_tuple(moved.is_little, moved.farthest, nb::none());
  std::vector<std::int32_t> numbers(4 * moved.jumps.size());
  std::memcpy(numbers.data(), moved.jumps.data(), numbers.size() * sizeof(std::int32_t));
  return as_tuple(moved.is_little, moved.farthest, as_table(std::move(numbers), 4));
}

}  // namespace

void bind_neighbors(nb::module_& module) {
  nb::exception<ManyImages>(module, "ManyImages", PyExc_ValueError);
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const FarPoint& far) {
      PyErr_Format(PyExc_ValueError, "%s: row %d is more than 10^9 periodic cells away",
                   far.of_others ? "other" : "points", static_cast<int>(far.row));
    } catch (const FlatCell& flat) {
      if (flat.is_one)
        PyErr_SetString(PyExc_ValueError, "cell: the periodic vectors do not span a volume");
      else
        PyErr_Format(PyExc_ValueError, "cell: the periodic vectors of cell %zu do not span a volume", flat.cell);
    }
  });
  nb::class_<NeighborRules>(module, "NeighborRules").def("longer_by", &NeighborRules::longer_by, "skin"_a);
  module.def("neighbor_rules", &rules, "points"_a, "two_sets"_a, "cutoffs"_a.none(), "kinds"_a.none(),
             "other_kinds"_a.none(), "ignored"_a.none());
  module.def("neighbors", &neighbors, "points"_a, "others"_a.none(), "keys"_a.none(), "other_keys"_a.none(), "cells"_a,
             "periodic"_a, "cutoff"_a, "reaches"_a.none(), "other_reaches"_a.none(), "larger"_a, "rules"_a.none(),
             "distances"_a, "vectors"_a, "shifts"_a, "by_point"_a, "both"_a, "sorted"_a, "workers"_a,
             "headings"_a.none(), "angles"_a.none(), "nearest"_a.none());
  module.def("nearest_table", &nearest_table, "offsets"_a, "rows"_a, "distances"_a, "vectors"_a.none(),
             "shifts"_a.none(), "width"_a);
  module.def("nearest_neighbors", &nearest_neighbors, "points"_a, "others"_a.none(), "keys"_a.none(),
             "other_keys"_a.none(), "cells"_a, "periodic"_a, "cutoff"_a, "wanted"_a, "distances"_a, "vectors"_a,
             "shifts"_a, "workers"_a);
  module.def("lattices", &lattices, "cells"_a, "periodic"_a);
  nb::class_<NeighborCandidates>(module, "NeighborCandidates")
      .def("__len__", &NeighborCandidates::count)
      .def("near", &near, "points"_a, "jumps"_a.none(), "keys"_a.none(), "cells"_a, "periodic"_a, "cutoff"_a,
           "rules"_a.none(), "distances"_a, "vectors"_a, "shifts"_a, "by_point"_a, "workers"_a);
  module.def("neighbor_candidates", &candidates, "points"_a, "keys"_a.none(), "cells"_a, "periodic"_a, "cutoff"_a,
             "rules"_a.none(), "both"_a, "sorted"_a, "workers"_a);
  module.def("motion", &motion, "points"_a, "before"_a, "keys"_a.none(), "cells_before"_a, "back"_a.none(),
             "inverses"_a.none(), "limit"_a, "rounding"_a, "workers"_a);
}

}  // namespace broadphase::python
