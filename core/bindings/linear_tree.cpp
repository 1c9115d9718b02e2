// The linear tree as an index; and Morton numbers.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <atomic>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "choose/method_calls.hpp"
#include "index.hpp"
#include "linear_tree/index.hpp"
#include "linear_tree/pairs.hpp"

namespace broadphase {

template const MethodCalls<float>& calls_of<LinearTree, float>();
template const MethodCalls<double>& calls_of<LinearTree, double>();

}  // namespace broadphase

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
  using Rows = Vector<std::int32_t>;

  LinearTreeIndex(std::size_t dimension, bool flat, bool covered, int depth, std::size_t most_depth, const Corner& low,
                  const Corner& high)
      : covered_(covered),
        index_(tree, {flat, static_cast<std::size_t>(std::max(depth, 0)), depth >= 0, most_depth, world_of(low, high)},
               chosen_kernels()) {
    tree.blocks = Blocks(dimension);
  }

  void build(AnyArray lower, AnyArray upper, Rows rows) {
    change(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
      index_.build(boxes, rows.data(), rows.shape(0), interrupt);
    });
  }
  void insert(AnyArray lower, AnyArray upper, Rows rows) {
    change(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
      index_.insert(boxes, rows.data(), rows.shape(0), interrupt);
    });
  }
  void update(AnyArray lower, AnyArray upper, Rows rows) {
    change(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
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
                             search.interrupt));
      else
        use(LinearWalk<T>(index_.order(), index_.nodes(), source, false, search.touching, chosen_kernels(),
                          search.interrupt));
    });
  }
  void note(const auto& method, std::uint64_t found) {
    tests_ = method.test_count();
    found_ = found;
  }

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
    result["tests"] = tests_.load();
    result["pairs"] = found_.load();
    result["brute_force_tests"] = n * (n > 0 ? n - 1 : 0) / 2;
    result["leaf_share"] = leaf_share();
    return result;
  }

  std::size_t depth() const { return index_.cells().keys().depth; }
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
    const CellKeys keys = index_.cells().keys();
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
    return nb::make_tuple(as_array(std::move(level), 1), as_array(std::move(number), 1));
  }

  nb::tuple outline() const {
    const LinearCells& cells = index_.cells();
    const LinearWorld& world = index_.world();
    const std::size_t dimension = tree.dimension();
    std::vector<double> lower, upper;
    std::vector<std::int32_t> level;
    for (std::size_t cell = 0; cell < cells.count(); ++cell) {
      const auto at = morton_cell(cells.number(cell), dimension);
      const double along = std::ldexp(1.0, static_cast<int>(cells.level(cell)));
      for (std::size_t k = 0; k < dimension; ++k) {
        const double share = static_cast<double>(at[k]) / along, next = static_cast<double>(at[k] + 1) / along;
        lower.push_back(world.low[k] * (1 - share) + world.high[k] * share);
        upper.push_back(world.low[k] * (1 - next) + world.high[k] * next);
      }
      level.push_back(static_cast<std::int32_t>(cells.level(cell)));
    }
    return nb::make_tuple(as_corners(std::move(lower), dimension), as_corners(std::move(upper), dimension),
                          as_array(std::move(level), 1));
  }

  nb::tuple bounds() const {
    const auto corner = [&](const double* values) { return std::vector<double>(values, values + tree.dimension()); };
    return nb::make_tuple(corner(index_.world().low), corner(index_.world().high));
  }

  std::string validate(AnyArray lower, AnyArray upper, Rows rows) const {
    const ReleasedGil release;
    return with_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes) {
      return LinearValidation<T>(index_, tree, boxes, rows.data(), rows.shape(0)).fault();
    });
  }
  std::size_t memory_bytes() const { return index_.bytes(); }

 private:
  template <class Use>
  void change(const AnyArray& lower, const AnyArray& upper, Use&& use) {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    with_boxes(lower, upper, [&](const auto& boxes) { use(boxes, interrupt); });
  }

  bool covered_;
  LinearIndex index_;
  std::atomic<std::uint64_t> tests_{0}, found_{0};  // of the last search for pairs
};

}  // namespace

void bind_linear_tree(nb::module_& module) {
  nb::class_<LinearTreeIndex, BlockIndex> bound(module, "LinearTree");
  bind_index_pairs(bound);
  bound
      .def(nb::init<std::size_t, bool, bool, int, std::size_t, const Corner&, const Corner&>(), nb::arg("dimension"),
           nb::arg("flat"), nb::arg("covered"), nb::arg("depth"), nb::arg("most_depth"), nb::arg("low"),
           nb::arg("high"))
      .def("build", &LinearTreeIndex::build, nb::arg("lower"), nb::arg("upper"), nb::arg("rows"))
      .def("insert", &LinearTreeIndex::insert, nb::arg("lower"), nb::arg("upper"), nb::arg("rows"))
      .def("update", &LinearTreeIndex::update, nb::arg("lower"), nb::arg("upper"), nb::arg("rows"))
      .def("remove", &LinearTreeIndex::remove, nb::arg("rows"))
      .def_prop_ro("is_settled", &LinearTreeIndex::is_settled, "Whether it may be asked for anything but queries.")
      .def("stats", &LinearTreeIndex::stats)
      .def("cells_of", &LinearTreeIndex::cells_of, nb::arg("lower"), nb::arg("upper"))
      .def("outline", &LinearTreeIndex::outline)
      .def_prop_ro("depth", &LinearTreeIndex::depth)
      .def_prop_ro("leaf_share", &LinearTreeIndex::leaf_share)
      .def_prop_ro("bounds", &LinearTreeIndex::bounds)
      .def("validate", &LinearTreeIndex::validate, nb::arg("lower"), nb::arg("upper"), nb::arg("rows"))
      .def_prop_ro("memory_bytes", &LinearTreeIndex::memory_bytes);
  module.def(
      "morton_number", [](const std::vector<std::uint64_t>& cell) { return morton_number(cell.data(), cell.size()); },
      nb::arg("cell"));
  module.def(
      "morton_cell",
      [](std::uint64_t number, std::size_t dimension) {
        const auto cell = morton_cell(number, dimension);
        return std::vector<std::uint64_t>(cell.begin(), cell.begin() + static_cast<std::ptrdiff_t>(dimension));
      },
      nb::arg("number"), nb::arg("dimension"));
  module.def("levels_to_common", &levels_to_common, nb::arg("a"), nb::arg("b"), nb::arg("dimension"));
  module.def("level_start", &level_start, nb::arg("level"), nb::arg("dimension"));
}

}  // namespace broadphase::python
