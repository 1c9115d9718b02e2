// Description of the grid over some boxes, for statistics and drawings.
#include "grid/grid.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/memory.hpp"
#include "bindings.hpp"
#include "choose/method_calls.hpp"
#include "grid/box_cells.hpp"
#include "grid/few_in_cells.hpp"

BROADPHASE_COMPILED(Grid);
BROADPHASE_COMPILED(FewInCells);

namespace broadphase::python {

namespace {

struct Seen {
  explicit Seen(std::size_t dimension) : outline(dimension) {}
  std::vector<std::int64_t> cells;  // along each axis, of the grid over all boxes
  std::size_t sweep_axis = 0, grids = 0, records = 0, depth = 0;
  std::uint64_t tests = 0;
  Outline outline;  // of the cells with two boxes or more
};

template <class T>
Seen look(const BoxView<T>& boxes, std::size_t dimension, bool closely, Interrupt& interrupt) {
  Problem<T> problem;
  problem.first = boxes;
  problem.dimension = dimension;
  const Grid<T> grid(problem, {chosen_kernels(), 1, interrupt});
  Seen seen(dimension);
  const GridLayout<T>& top = grid.level(0).layout();
  seen.cells.assign(top.cells, top.cells + dimension);
  seen.sweep_axis = top.sweep_axis;
  seen.grids = grid.level_count();
  seen.records = grid.level(0).record_count();
  if (closely) seen.tests = grid.count_tests(interrupt);
  grid.for_each_cell([&](const GridLevel<T>& level, std::size_t cell) {
    const GridLayout<T>& layout = level.layout();
    seen.depth = std::max(seen.depth, level.depth() + 1);
    seen.outline.level.push_back(static_cast<std::int32_t>(level.depth()));
    for (std::size_t k = 0; k < dimension; ++k) {
      const std::size_t at =
          cell / static_cast<std::size_t>(layout.cell_stride[k]) % static_cast<std::size_t>(layout.cells[k]);
      seen.outline.lower.push_back(level.edge(k, at));
      seen.outline.upper.push_back(level.edge(k, at + 1));
    }
  });
  return seen;
}

// `closely`: also counts the tests of a search, which takes about as long as the search.
nb::dict describe_grid(AnyArray lower, AnyArray upper, bool closely) {
  const std::size_t dimension = lower.shape(1);
  Seen seen = on_boxes(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
    return look(boxes, dimension, closely, interrupt);
  });
  nb::dict result;
  result["cells_by_axis"] = seen.cells;
  result["sweep_axis"] = seen.sweep_axis;
  result["grids"] = seen.grids;
  result["records"] = seen.records;
  result["cells"] = seen.outline.level.size();
  result["depth"] = seen.depth;
  result["tests"] = seen.tests;
  result["outline"] = std::move(seen.outline).as_tuple();
  return result;
}

// Boxes of either dtype in cells; in none where cells do not suit them.
class AnyBoxCells {
 public:
  AnyBoxCells(AnyArray lower, AnyArray upper, unsigned workers) {
    on_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes, Interrupt& interrupt) {
      auto& cells = cells_.emplace<std::unique_ptr<BoxCells<T>>>(std::make_unique<BoxCells<T>>());
      if (!cells->file(boxes, lower.shape(1), chosen_kernels(), workers, interrupt)) cells.reset();
    });
  }

  // The rows that each query overlaps, ascending. `lower`, `upper`: the boxes that were filed; the queries are of the
  // same dtype. None where cells do not suit them.
  nb::object find(AnyArray lower, AnyArray upper, AnyArray query_lower, AnyArray query_upper, unsigned workers) const {
    std::optional<RaggedBlocks> answers;
    on_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes, Interrupt& interrupt) {
      const auto& cells = std::get<std::unique_ptr<BoxCells<T>>>(cells_);
      if (cells == nullptr) return;
      answers = cells->find(boxes, view<T>(query_lower, query_upper), chosen_kernels(), workers, interrupt);
    });
    if (!answers) return nb::none();
    return as_tuple(std::move(*answers));
  }

  std::size_t memory_bytes() const {
    return std::visit([](const auto& cells) { return cells == nullptr ? 0 : cells->bytes(); }, cells_);
  }

 private:
  std::variant<std::unique_ptr<BoxCells<float>>, std::unique_ptr<BoxCells<double>>> cells_;
};

// How many of the boxes a query of the same dtype overlaps on average, by some of both.
double boxes_of_any_query(AnyArray lower, AnyArray upper, AnyArray query_lower, AnyArray query_upper) {
  return with_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes) {
    return boxes_of_query(boxes, view<T>(query_lower, query_upper), lower.shape(1), chosen_kernels());
  });
}

}  // namespace

void bind_grid(nb::module_& module) {
  nb::class_<AnyBoxCells>(module, "BoxCells")
      .def(nb::init<AnyArray, AnyArray, unsigned>(), "lower"_a, "upper"_a, "workers"_a)
      .def("find", &AnyBoxCells::find, "lower"_a, "upper"_a, "query_lower"_a, "query_upper"_a, "workers"_a)
      .def_prop_ro("memory_bytes", &AnyBoxCells::memory_bytes);
  module.def("boxes_of_query", &boxes_of_any_query, "lower"_a, "upper"_a, "query_lower"_a, "query_upper"_a);
  module.def("describe_grid", &describe_grid, "lower"_a, "upper"_a, "closely"_a);
}

}  // namespace broadphase::python
