// Description of the grid over some boxes, for statistics and drawings.
#include "grid/grid.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "choose/method_calls.hpp"

namespace broadphase {

template const MethodCalls<float>& calls_of<Grid, float>();
template const MethodCalls<double>& calls_of<Grid, double>();

}  // namespace broadphase

namespace broadphase::python {

namespace {

struct Seen {
  std::vector<std::int64_t> cells;  // along each axis, of the grid over all boxes
  std::size_t sweep_axis = 0, grids = 0, records = 0, depth = 0;
  std::uint64_t tests = 0;
  std::vector<double> lower, upper;  // of the cells with two boxes or more
  std::vector<std::int32_t> level;
};

template <class T>
Seen look(const BoxView<T>& boxes, std::size_t dimension, bool closely) {
  Interrupt interrupt(signal_pending);
  Problem<T> problem;
  problem.first = boxes;
  problem.dimension = dimension;
  const SceneShape shape = shape_of(sample_of(problem), problem.dimension);
  const Grid<T> grid(problem, chosen_kernels(), 1, shape, interrupt);
  Seen seen;
  const GridLayout<T>& top = grid.level(0).layout();
  seen.cells.assign(top.cells, top.cells + dimension);
  seen.sweep_axis = top.sweep_axis;
  seen.grids = grid.level_count();
  seen.records = grid.level(0).record_count();
  if (closely) seen.tests = grid.count_tests(interrupt);
  grid.for_each_cell([&](const GridLevel<T>& level, std::size_t cell) {
    const GridLayout<T>& layout = level.layout();
    seen.depth = std::max(seen.depth, level.depth() + 1);
    seen.level.push_back(static_cast<std::int32_t>(level.depth()));
    for (std::size_t k = 0; k < dimension; ++k) {
      const std::size_t at =
          cell / static_cast<std::size_t>(layout.cell_stride[k]) % static_cast<std::size_t>(layout.cells[k]);
      seen.lower.push_back(level.edge(k, at));
      seen.upper.push_back(level.edge(k, at + 1));
    }
  });
  return seen;
}

// `closely`: also counts the tests of a search, which takes about as long as the search.
nb::dict describe_grid(AnyArray lower, AnyArray upper, bool closely) {
  const std::size_t dimension = lower.shape(1);
  Seen seen;
  {
    const ReleasedGil release;
    seen = with_boxes(lower, upper, [&](const auto& boxes) { return look(boxes, dimension, closely); });
  }
  nb::dict result;
  result["cells_by_axis"] = seen.cells;
  result["sweep_axis"] = seen.sweep_axis;
  result["grids"] = seen.grids;
  result["records"] = seen.records;
  result["cells"] = seen.level.size();
  result["depth"] = seen.depth;
  result["tests"] = seen.tests;
  nb::object low = as_corners(std::move(seen.lower), dimension), high = as_corners(std::move(seen.upper), dimension);
  result["outline"] = nb::make_tuple(low, high, python::as_array(std::move(seen.level), 1));
  return result;
}

}  // namespace

void bind_grid(nb::module_& module) {
  module.def("describe_grid", &describe_grid, nb::arg("lower"), nb::arg("upper"), nb::arg("closely"));
}

}  // namespace broadphase::python
