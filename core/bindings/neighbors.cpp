// Points within a cutoff of one another.
#include "neighbors/candidates.hpp"
#include "neighbors/search.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "bindings.hpp"

namespace broadphase::python {

namespace {

// An array that takes over a block.
template <class T>
nb::object owned(PlainMemory<T>&& block, std::size_t rows, std::size_t columns) {
  auto kept = std::make_unique<PlainMemory<T>>(std::move(block));
  T* data = kept->get();
  nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<PlainMemory<T>*>(p); });
  (void)kept.release();
  const std::size_t shape[2] = {rows, columns};
  return nb::cast(nb::ndarray<nb::numpy, T>(data, columns > 0 ? 2 : 1, shape, owner));
}

// What the pairs have besides their rows, or None.
nb::tuple details(NeighborPairs& pairs) {
  return nb::make_tuple(pairs.has_distances ? owned(std::move(pairs.distances), pairs.size, 0) : nb::none(),
                        pairs.has_vectors ? owned(std::move(pairs.vectors), pairs.size, pairs.dimension) : nb::none(),
                        pairs.has_shifts ? owned(std::move(pairs.shifts), pairs.size, pairs.dimension) : nb::none());
}

PointView points_of(const Table<double>& points, const std::optional<Vector<double>>& reaches) {
  return {points.data(), points.shape(0), points.shape(1), reaches ? reaches->data() : nullptr, nullptr};
}

Cell cell_of(const std::array<double, 9>& vectors, const std::array<bool, 3>& periodic) {
  Cell cell;
  for (std::size_t k = 0; k < 9; ++k) cell.vectors[k / 3][k % 3] = vectors[k];
  cell.periodic = periodic;
  return cell;
}

// (pairs, offsets or None, details); with offsets, pairs are in the order of their first points. `find` returns pairs.
template <class Find>
nb::tuple result(std::size_t points, bool by_point, bool both, bool sorted, Find&& find) {
  NeighborPairs pairs;
  NeighborLists lists;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    pairs = find(interrupt);
    if (by_point) lists = list_by_point(pairs, points, both, sorted, interrupt);
  }
  NeighborPairs& found = by_point ? lists.entries : pairs;
  const nb::tuple more = details(found);
  const nb::object offsets = by_point ? as_array(std::move(lists.offsets), 1) : nb::none();
  return nb::make_tuple(as_array(Pairs{std::move(found.rows), found.size, found.capacity}), offsets, more);
}

nb::tuple neighbors(Table<double> points, std::optional<Table<double>> others, std::array<double, 9> cell,
                    std::array<bool, 3> periodic, double cutoff, std::optional<Vector<double>> reaches,
                    std::optional<Vector<double>> other_reaches, bool larger, bool distances, bool vectors, bool shifts,
                    bool by_point, bool both, bool sorted, unsigned workers) {
  NeighborQuery query;
  query.points = points_of(points, reaches);
  query.cross = others.has_value();
  if (query.cross) query.others = points_of(*others, other_reaches);
  query.cell = cell_of(cell, periodic);
  query.kind = !reaches ? PairCutoff::kOne : larger ? PairCutoff::kLarger : PairCutoff::kSum;
  query.cutoff = cutoff;
  query.distances = distances;
  query.vectors = vectors;
  query.shifts = shifts;
  return result(query.points.count, by_point, both, sorted, [&](Interrupt& interrupt) {
    return find_neighbors(query, window_kernel_of(chosen_kernels()), workers, interrupt);
  });
}

NeighborCandidates candidates(Table<double> points, std::array<double, 9> cell, std::array<bool, 3> periodic,
                              double cutoff, unsigned workers) {
  NeighborQuery query;
  query.points = points_of(points, std::nullopt);
  query.cell = cell_of(cell, periodic);
  query.cutoff = cutoff;
  query.shifts = true;
  const ReleasedGil release;
  Interrupt interrupt(signal_pending);
  return NeighborCandidates(find_neighbors(query, window_kernel_of(chosen_kernels()), workers, interrupt),
                            query.points.count, interrupt);
}

nb::tuple near(const NeighborCandidates& candidates, Table<double> points, std::optional<Table<std::int32_t>> jumps,
               std::array<double, 9> cell, std::array<bool, 3> periodic, double cutoff, bool distances, bool vectors,
               bool shifts, bool by_point, bool both, bool sorted) {
  static_assert(sizeof(Shift) == 3 * sizeof(std::int32_t));
  const auto* jump = jumps ? reinterpret_cast<const Shift*>(jumps->data()) : nullptr;
  return result(points.shape(0), by_point, both, sorted, [&](Interrupt& interrupt) {
    return candidates.near(points.data(), jump, cell_of(cell, periodic), cutoff, distances, vectors, shifts, interrupt);
  });
}

double most_motion(Table<double> points, Table<double> before) {
  return std::sqrt(most_squared_motion(points.data(), before.data(), points.shape(0), points.shape(1)));
}

}  // namespace

void bind_neighbors(nb::module_& module) {
  nb::exception<FlatCell>(module, "FlatCell", PyExc_ValueError);
  nb::exception<ManyImages>(module, "ManyImages", PyExc_ValueError);
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const FarPoint& far) {
      PyErr_Format(PyExc_ValueError, "%s: row %d is more than 10^9 periodic cells away",
                   far.of_others ? "other" : "points", static_cast<int>(far.row));
    }
  });
  module.def("neighbors", &neighbors, nb::arg("points"), nb::arg("others").none(), nb::arg("cell"), nb::arg("periodic"),
             nb::arg("cutoff"), nb::arg("reaches").none(), nb::arg("other_reaches").none(), nb::arg("larger"),
             nb::arg("distances"), nb::arg("vectors"), nb::arg("shifts"), nb::arg("by_point"), nb::arg("both"),
             nb::arg("sorted"), nb::arg("workers"));
  nb::class_<NeighborCandidates>(module, "NeighborCandidates")
      .def("__len__", &NeighborCandidates::count)
      .def("near", &near, nb::arg("points"), nb::arg("jumps").none(), nb::arg("cell"), nb::arg("periodic"),
           nb::arg("cutoff"), nb::arg("distances"), nb::arg("vectors"), nb::arg("shifts"), nb::arg("by_point"),
           nb::arg("both"), nb::arg("sorted"));
  module.def("neighbor_candidates", &candidates, nb::arg("points"), nb::arg("cell"), nb::arg("periodic"),
             nb::arg("cutoff"), nb::arg("workers"));
  module.def("most_motion", &most_motion, nb::arg("points"), nb::arg("before"),
             "The greatest distance between a point and where it was before.");
}

}  // namespace broadphase::python
