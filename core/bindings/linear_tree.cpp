// The linear tree as an index; and Morton numbers.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "choose/method_calls.hpp"
#include "index.hpp"
#include "linear_tree/index.hpp"
#include "linear_tree/pairs.hpp"

BROADPHASE_COMPILED(LinearTree);

namespace broadphase::python {

namespace {

using Corner = std::array<double, 4>;

LinearWorld world_of(const Corner& low, const Corner& high) {
  LinearWorld world;
  std::copy(low.begin(), low.end(), world.low);
  std::copy(high.begin(), high.end(), world.high);
  return world;
}

class LinearTreeIndex : public BlockIndex {
 public:
  LinearTreeIndex(std::size_t dimension, bool flat, bool covered, int depth, std::size_t most_depth, const Corner& low,
                  const Corner& high, unsigned workers)
      : covered_(covered),
        index_(
            tree,
            {flat, static_cast<std::size_t>(std::max(depth, 0)), depth >= 0, most_depth, world_of(low, high), workers},
            chosen_kernels()) {
    tree.blocks = Blocks(dimension);
  }

  void build(AnyArray lower, AnyArray upper, Rows rows) {
    on_boxes(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
      index_.build(boxes, rows.data(), rows.shape(0), interrupt);
    });
  }
  void insert(AnyArray lower, AnyArray upper, Rows rows) {
    on_boxes(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
      index_.insert(boxes, rows.data(), rows.shape(0), interrupt);
    });
  }
  void update(AnyArray lower, AnyArray upper, Rows rows) {
    on_boxes(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
      index_.update(boxes, rows.data(), rows.shape(0), interrupt);
    });
  }
  void remove(Rows rows) {
    const ReleasedGil release;
    index_.remove(rows.data(), rows.shape(0));
  }
  bool is_settled() const { return index_.is_settled(); }

  template <class Use>
  void with_pairs(const AnyArray& lower, const AnyArray& upper, const PairSearch& search, Use&& use) const {
    with_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes) {
      const LinearSource<T> source = index_.source_of(boxes);
      if (covered_ && !index_.cells().is_crowded())
        use(CoveredLeaves<T>(index_.order(), index_.cells(), index_.world(), source, search.touching, chosen_kernels(),
                             search.workers, search.interrupt));
      else
        use(LinearWalk<T>(index_.order(), index_.nodes(), index_.world(), source, false, search.touching,
                          chosen_kernels(), search.workers, search.interrupt));
    });
  }
  void note(const auto& method, std::uint64_t found) { last_.note(method.test_count(), found); }

  nb::dict stats() const {
    const LinearCells& cells = index_.cells();
    const auto n = static_cast<std::uint64_t>(index_.rows());
    nb::dict result;
    result["method"] = "linear_tree";
    result["rows"] = n;
    result["cells"] = cells.count();
    result["depth"] = cells.keys().depth;
    result["cells_by_level"] = cells.count_by_level();
    result["bytes_by_level"] = cells.bytes_by_level();
    result["bytes"] = index_.bytes();
    last_.put(result, n);
    result["leaf_share"] = leaf_share();
    return result;
  }

  std::size_t depth() const { return index_.order().keys.depth; }
  // Share of the deepest level in the occupied cells.
  double leaf_share() const {
    const LinearCells& cells = index_.cells();
    if (cells.count() == 0) return 0.0;
    return static_cast<double>(cells.count_by_level().back()) / static_cast<double>(cells.count());
  }

  // Level and Morton number of the smallest cell that contains each box.
  nb::tuple cells_of(AnyArray lower, AnyArray upper) const {
    std::vector<std::int32_t> level;
    std::vector<std::uint64_t> number;
    const CellKeys keys = index_.order().keys;
    with_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes) {
      with_dimension(tree.dimension(), [&]<std::size_t D>(Dimension<D>) {
        const CellMap<D> map(index_.world(), keys.depth);
        for (std::size_t row = 0; row < boxes.count; ++row) {
          const std::uint64_t key = map.key(boxes.lower_of(row), boxes.upper_of(row), T(0));
          level.push_back(static_cast<std::int32_t>(keys.level(key)));
          number.push_back(keys.number(key));
        }
      });
    });
    return as_tuple(std::move(level), std::move(number));
  }

  nb::tuple outline() const {
    const LinearCells& cells = index_.cells();
    const LinearWorld& world = index_.world();
    Outline outline(tree.dimension());
    for (std::size_t cell = 0; cell < cells.count(); ++cell) {
      const auto at = morton_cell(cells.number(cell), outline.dimension);
      const double along = std::ldexp(1.0, static_cast<int>(cells.level(cell)));
      for (std::size_t k = 0; k < outline.dimension; ++k) {
        const double share = static_cast<double>(at[k]) / along, next = static_cast<double>(at[k] + 1) / along;
        outline.lower.push_back(world.low[k] * (1 - share) + world.high[k] * share);
        outline.upper.push_back(world.low[k] * (1 - next) + world.high[k] * next);
      }
      outline.level.push_back(static_cast<std::int32_t>(cells.level(cell)));
    }
    return std::move(outline).as_tuple();
  }

  nb::tuple bounds() const {
    const auto corner = [&](const double* values) { return std::vector<double>(values, values + tree.dimension()); };
    return nb::make_tuple(corner(index_.world().low), corner(index_.world().high));
  }

  std::string validate(AnyArray lower, AnyArray upper, Rows rows) const {
    const AnyBoxes boxes = any_boxes(lower, upper);
    const ReleasedGil release;
    return LinearValidation(index_, tree, boxes, rows.data(), rows.shape(0)).fault();
  }
  std::size_t memory_bytes() const { return index_.bytes(); }

 private:
  bool covered_;
  LinearIndex index_;
  LastSearch last_;
};

}  // namespace

void bind_linear_tree(nb::module_& module) {
  nb::class_<LinearTreeIndex, BlockIndex> bound(module, "LinearTree");
  bind_index(bound);
  bound
      .def(nb::init<std::size_t, bool, bool, int, std::size_t, const Corner&, const Corner&, unsigned>(), "dimension"_a,
           "flat"_a, "covered"_a, "depth"_a, "most_depth"_a, "low"_a, "high"_a, "workers"_a)
      .def_prop_ro("is_settled", &LinearTreeIndex::is_settled, "Whether it may be asked for anything but queries.")
      .def("cells_of", &LinearTreeIndex::cells_of, "lower"_a, "upper"_a)
      .def("outline", &LinearTreeIndex::outline)
      .def_prop_ro("depth", &LinearTreeIndex::depth)
      .def_prop_ro("leaf_share", &LinearTreeIndex::leaf_share)
      .def_prop_ro("bounds", &LinearTreeIndex::bounds);
  module.def(
      "morton_number", [](const std::vector<std::uint64_t>& cell) { return morton_number(cell.data(), cell.size()); },
      "cell"_a);
  module.def(
      "morton_cell",
      [](std::uint64_t number, std::size_t dimension) {
        const auto cell = morton_cell(number, dimension);
        return std::vector<std::uint64_t>(cell.begin(), cell.begin() + static_cast<std::ptrdiff_t>(dimension));
      },
      "number"_a, "dimension"_a);
  module.def("levels_to_common", &levels_to_common, "a"_a, "b"_a, "dimension"_a);
  module.def("level_start", &level_start, "level"_a, "dimension"_a);
}

}  // namespace broadphase::python
