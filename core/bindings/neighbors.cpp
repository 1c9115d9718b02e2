// Points within a cutoff of one another.
#include "neighbors/search.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include <array>
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

// (pairs, offsets or None, details); with offsets, pairs are in the order of their first points.
nb::tuple neighbors(Table<double> points, std::optional<Table<double>> others, std::array<double, 9> cell,
                    std::array<bool, 3> periodic, double cutoff, std::optional<Vector<double>> reaches,
                    std::optional<Vector<double>> other_reaches, bool larger, bool distances, bool vectors, bool shifts,
                    bool by_point, bool both, bool sorted, unsigned workers) {
  NeighborQuery query;
  query.points = points_of(points, reaches);
  query.cross = others.has_value();
  if (query.cross) query.others = points_of(*others, other_reaches);
  for (std::size_t k = 0; k < 9; ++k) query.cell.vectors[k / 3][k % 3] = cell[k];
  query.cell.periodic = periodic;
  query.kind = !reaches ? PairCutoff::kOne : larger ? PairCutoff::kLarger : PairCutoff::kSum;
  query.cutoff = cutoff;
  query.distances = distances;
  query.vectors = vectors;
  query.shifts = shifts;
  NeighborPairs pairs;
  NeighborLists lists;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    pairs = find_neighbors(query, window_hits_of(chosen_kernels()), workers, interrupt);
    if (by_point) lists = list_by_point(pairs, query.points.count, both, sorted, interrupt);
  }
  NeighborPairs& found = by_point ? lists.entries : pairs;
  const nb::tuple more = details(found);
  const nb::object offsets = by_point ? as_array(std::move(lists.offsets), 1) : nb::none();
  return nb::make_tuple(as_array(Pairs{std::move(found.rows), found.size, found.capacity}), offsets, more);
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
}

}  // namespace broadphase::python
