// Pairs across the seams of a periodic world.
#include "world/seams.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "batches/rows_by_key.hpp"
#include "bindings.hpp"
#include "choose/find.hpp"
#include "filters.hpp"
#include "moving_rows.hpp"
#include "query/collect.hpp"

namespace broadphase::python {

void bind_seams(nb::module_& module);

namespace {

struct Seams {
  std::int32_t wide_row = -1;
  Pairs pairs;
  std::vector<double> offsets;
};

template <std::size_t D>
Seams find_seams(const Boxes& boxes, const Table<double>& bounds, const Flags& counts,
                 const std::optional<Flags>& changed, const Filter* filter,
                 const std::optional<Vector<std::int64_t>>& keys, bool any_width, unsigned workers) {
  Interrupt interrupt(signal_pending);
  const Period<D> period{bounds.data(), bounds.data() + D};
  const SeamImages<D> images(boxes.data(), counts.data(), counts.shape(0), period, any_width, workers);
  std::vector<std::int32_t> first_rows, second_rows;
  Seams found;
  found.wide_row = images.wide_row();
  for (const SeamScene<D>* scene : {&images.across(), &images.from_afar()}) {
    Problem<double> problem;
    const auto boxes_of = [](const MovedBoxes<D>& moved) {
      constexpr auto kStride = static_cast<std::int64_t>(2 * D);
      const double* corners = moved.corners.empty() ? nullptr : moved.corners.front().data();
      return BoxView<double>{corners, corners + D, kStride, kStride, moved.count()};
    };
    problem.first = boxes_of(scene->first);
    problem.second = boxes_of(scene->second);
    problem.dimension = D;
    problem.cross = true;
    Batches batches;
    if (keys) {
      const auto keys_of = [&](const MovedBoxes<D>& moved) {
        std::vector<std::int64_t> found_keys;
        for (const std::int32_t row : moved.rows) found_keys.push_back(keys->data()[row]);
        return found_keys;
      };
      const std::vector<std::int64_t> own = keys_of(scene->first), others = keys_of(scene->second);
      const RowKeys second{others.size(), others.data(), 1};
      batches = batches_of({own.size(), own.data(), 1}, &second, interrupt);
      if (!batches.is_whole) problem.batches = &batches;
    }
    const Pairs close = with_method(MethodName::automatic, problem, {chosen_kernels(), workers, interrupt},
                                    [&](const MethodCalls<double>& calls, const Preparation& with) {
                                      return calls.collect(problem, kNoLimit, with);
                                    });
    for (std::size_t k = 0; k < close.size; ++k) {
      SeamPair<D> pair;
      if (!scene->take(static_cast<std::size_t>(close.block[k]),
                       static_cast<std::size_t>(close.block[close.stride + k]), pair))
        continue;
      const auto first = static_cast<std::size_t>(pair.first), second = static_cast<std::size_t>(pair.second);
      if (changed && (changed->data()[first] | changed->data()[second]) == 0) continue;
      if (filter != nullptr && !filter->allows(first, second)) continue;
      first_rows.push_back(pair.first);
      second_rows.push_back(pair.second);
      for (std::size_t axis = 0; axis < D; ++axis) found.offsets.push_back(pair.worlds[axis] * period.size(axis));
    }
  }
  found.pairs.size = first_rows.size();
  found.pairs.stride = std::max<std::size_t>(first_rows.size(), 1);
  found.pairs.block = allocate_pairs(found.pairs.stride);
  std::copy(first_rows.begin(), first_rows.end(), found.pairs.block.get());
  std::copy(second_rows.begin(), second_rows.end(), found.pairs.block.get() + found.pairs.stride);
  return found;
}

// (first row that reaches out and is wider than the world or -1, pairs (m, 2), offsets (m, d)).
nb::object seam_pairs(Boxes boxes, Table<double> bounds, Flags counts, std::optional<Flags> changed,
                      const PairFilter* filter, std::optional<Vector<std::int64_t>> keys, bool any_width,
                      unsigned workers) {
  const std::size_t dimension = boxes.shape(2);
  if ((dimension != 2 && dimension != 3) || boxes.shape(1) != 2 || bounds.shape(0) != 2 ||
      bounds.shape(1) != dimension || counts.shape(0) > boxes.shape(0) ||
      (changed && changed->shape(0) < counts.shape(0)) || (keys && keys->shape(0) < counts.shape(0)))
    throw nb::value_error("the arrays differ in their number of rows or of columns");
  Seams found;
  {
    const ReleasedGil release;
    const Filter* chosen = filter != nullptr ? filter->get() : nullptr;
    found = dimension == 2 ? find_seams<2>(boxes, bounds, counts, changed, chosen, keys, any_width, workers)
                           : find_seams<3>(boxes, bounds, counts, changed, chosen, keys, any_width, workers);
  }
  nb::object pairs = as_array(std::move(found.pairs));
  return nb::make_tuple(found.wide_row, pairs, as_corners(std::move(found.offsets), dimension));
}

}  // namespace

void bind_seams(nb::module_& module) {
  module.def("seam_pairs", &seam_pairs, nb::arg("boxes"), nb::arg("bounds"), nb::arg("counts"),
             nb::arg("changed").none(), nb::arg("filter").none(), nb::arg("keys").none(), nb::arg("any_width"),
             nb::arg("workers"),
             "Pairs of which one overlaps another image of the other; the first row that is too wide, or -1.");
}

}  // namespace broadphase::python
