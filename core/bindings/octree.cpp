// The octree as an index.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "bvh/bvh.hpp"
#include "choose/method_calls.hpp"
#include "index.hpp"
#include "octree/index.hpp"
#include "octree/pairs.hpp"

BROADPHASE_COMPILED(Octree);

namespace broadphase::python {

namespace {

class OctreeIndex : public BlockIndex {
 public:
  OctreeIndex(std::size_t dimension, double minimum, double looseness, std::size_t leaf_capacity,
              std::vector<double> world_lower, std::vector<double> world_upper)
      : octree_(tree, packed, {minimum, looseness, leaf_capacity, std::move(world_lower), std::move(world_upper)}) {
    tree.blocks = Blocks(dimension);
    packed.blocks = Blocks(dimension);
  }

  // Changes are only queued; `settle` applies them.
  void build(const AnyArray& lower, const AnyArray& /*upper*/, const Rows& rows) {
    octree_.replace(lower.shape(0), rows.data(), rows.shape(0));
  }
  void insert(const AnyArray& lower, const AnyArray& /*upper*/, const Rows& rows) {
    octree_.insert(lower.shape(0), rows.data(), rows.shape(0));
  }
  void update(const AnyArray& /*lower*/, const AnyArray& /*upper*/, const Rows& rows) {
    octree_.update(rows.data(), rows.shape(0));
  }
  void remove(const Rows& rows) { octree_.remove(rows.data(), rows.shape(0)); }

  void settle(const AnyArray& lower, const AnyArray& upper, unsigned workers) {
    on_boxes(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
      octree_.settle(boxes, chosen_kernels(), workers, interrupt);
    });
  }
  void pack(const AnyArray& lower, const AnyArray& upper) {
    on_boxes(lower, upper,
             [&](const auto& boxes, Interrupt& interrupt) { octree_.pack(boxes, chosen_kernels(), interrupt); });
  }

  // The same for pairs, but only if a search through the cells would be in vain for the most part.
  void pack_for_pairs(const AnyArray& lower, const AnyArray& upper) {
    on_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes, Interrupt& interrupt) {
      if (looks_ != octree_.looks()) {
        const OctreePairs<T> pairs(octree_, boxes, true, OctreeKinds(), chosen_kernels(), interrupt);
        pairs_are_packed_ = pairs.is_in_vain(interrupt);
        looks_ = octree_.looks();
      }
      if (pairs_are_packed_ && octree_.needs_packing()) octree_.pack(boxes, chosen_kernels(), interrupt);
    });
  }

  template <class Use>
  void with_pairs(const AnyArray& lower, const AnyArray& upper, const PairSearch& search, Use&& use) const {
    const OctreeKinds kinds = OctreeKinds::of_static(search.filter);
    with_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes) {
      const bool is_packed = pairs_are_packed_ && octree_.is_packed();
      if (is_packed && kinds.is_plain()) return use_pairs_of(packed, boxes, search, use);
      // Of boxes that are static for the most part, few may be tested in vain.
      const OctreePairs<T> cells(octree_, boxes, search.touching, kinds, chosen_kernels(), search.interrupt);
      if (is_packed && cells.is_in_vain(search.interrupt)) return use_pairs_of(packed, boxes, search, use);
      use(cells);
    });
  }
  template <class T>
  void note(const OctreePairs<T>& method, std::uint64_t found) {
    note(method.tests(), method.cell_tests(), found);
  }
  template <class Keep>
  void note(const TreePairs<Keep>& method, std::uint64_t found) {
    note(method.tests(), 0, found);
  }

  nb::dict stats() const {
    std::vector<std::size_t> cells_by_level, rows_by_level;
    std::vector<int> lives;
    std::size_t cells = 0, leaves = 0;
    for_each_cell(octree_, [&](std::int32_t number, std::int32_t depth) {
      const OctreeCell& cell = octree_.cell(number);
      ++cells;
      leaves += cell.children == 0;
      cells_by_level.resize(std::max(cells_by_level.size(), static_cast<std::size_t>(depth) + 1));
      rows_by_level.resize(cells_by_level.size());
      ++cells_by_level[static_cast<std::size_t>(depth)];
      rows_by_level[static_cast<std::size_t>(depth)] += static_cast<std::size_t>(cell.rows);
      if (cell.is_idle) lives.push_back(cell.life);
    });
    std::sort(lives.begin(), lives.end());
    const OctreePoolFigures& pool = octree_.figures();
    nb::dict result;
    result["method"] = "octree";
    result["rows"] = octree_.alive();
    result["cells"] = cells;
    result["leaves"] = leaves;
    result["depth"] = cells_by_level.empty() ? 0 : cells_by_level.size() - 1;
    result["cells_by_level"] = cells_by_level;
    result["rows_by_level"] = rows_by_level;
    result["outside"] = octree_.limit() > 0 ? octree_.cell(OctreeCells::kTop).rows : 0;
    result["root_edge"] = root_edge();
    result["smallest_edge"] = octree_.lattice().edge(0) / tree.frame.scale;
    result["cell_tests"] = cell_tests_.load();
    last_.put(result, octree_.alive());
    result["lives"] = lives;
    result["pool"] = octree_.pooled();
    result["cells_created"] = pool.created;
    result["cells_reused"] = pool.reused;
    result["cells_freed"] = pool.freed;
    result["builds"] = octree_.builds();
    result["updates"] = octree_.updates();
    result["pending"] = octree_.pending();
    result["bytes"] = memory_bytes();
    return result;
  }

  // The corners of the root, in given coordinates.
  nb::tuple world() const {
    Outline root(tree.dimension());
    add_cube(octree_.root(), root);
    return as_tuple(std::move(root.lower), std::move(root.upper));
  }

  nb::tuple outline() const {
    Outline outline(tree.dimension());
    for_each_cell(octree_, [&](std::int32_t number, std::int32_t depth) {
      add_cube(number, outline);
      outline.level.push_back(depth);
    });
    return std::move(outline).as_tuple();
  }
  // The cell of the outline that each row is in; -1 outside the root.
  nb::object cells_of(const Rows& rows) const {
    std::vector<std::int32_t> place(octree_.limit(), -1), result;
    std::int32_t next = 0;
    for_each_cell(octree_,
                  [&](std::int32_t number, std::int32_t) { place[static_cast<std::size_t>(number)] = next++; });
    result.reserve(rows.shape(0));
    for (std::size_t k = 0; k < rows.shape(0); ++k)
      result.push_back(place[static_cast<std::size_t>(octree_.cell_of(rows.data()[k]))]);
    return as_array(std::move(result));
  }

  std::string validate(const AnyArray& lower, const AnyArray& upper, const Rows& rows) const {
    const AnyBoxes boxes = any_boxes(lower, upper);
    const ReleasedGil release;
    const std::string fault = OctreeCheck(octree_, boxes).fault(rows.data(), rows.shape(0));
    return fault.empty() ? octree_.fault_of_packed(boxes, rows.data(), rows.shape(0)) : fault;
  }

  std::size_t pending() const { return octree_.pending(); }
  bool is_settled() const { return octree_.is_settled(); }
  bool needs_packing() const { return octree_.needs_packing(); }
  bool is_crowded() const { return octree_.is_crowded(); }
  bool needs_build() const { return octree_.needs_build(); }
  std::size_t memory_bytes() const { return octree_.bytes() + octree_.packed_bytes(); }

 private:
  void note(std::uint64_t tests, std::uint64_t cell_tests, std::uint64_t found) {
    last_.note(tests, found);
    cell_tests_ = cell_tests;
  }

  double root_edge() const { return octree_.lattice().edge(octree_.lattice().levels()) / tree.frame.scale; }

  void add_cube(std::int32_t number, Outline& to) const {
    const OctreeCell& cell = octree_.cell(number);
    const OctreeLattice& lattice = octree_.lattice();
    for (std::size_t k = 0; k < tree.dimension(); ++k) {
      const auto corner = static_cast<double>(cell.corner[k]);
      to.lower.push_back(tree.frame.given(lattice.local(corner, k), k));
      to.upper.push_back(tree.frame.given(lattice.local(corner + std::ldexp(1.0, cell.level), k), k));
    }
  }

  PendingOctree octree_;
  std::uint64_t looks_ = 0;  // the looks for crowds when it was last seen what is best for pairs
  bool pairs_are_packed_ = false;
  LastSearch last_;
  std::atomic<std::uint64_t> cell_tests_{0};  // of the last search for pairs
};

}  // namespace

void bind_octree(nb::module_& module) {
  nb::class_<OctreeIndex, BlockIndex> bound(module, "Octree");
  bind_index(bound);
  bound
      .def(nb::init<std::size_t, double, double, std::size_t, std::vector<double>, std::vector<double>>(),
           "dimension"_a, "minimum"_a, "looseness"_a, "leaf_capacity"_a, "world_lower"_a, "world_upper"_a)
      .def("settle", &OctreeIndex::settle, "lower"_a, "upper"_a, "workers"_a)
      .def("pack", &OctreeIndex::pack, "lower"_a, "upper"_a)
      .def("pack_for_pairs", &OctreeIndex::pack_for_pairs, "lower"_a, "upper"_a)
      .def("world", &OctreeIndex::world)
      .def("outline", &OctreeIndex::outline)
      .def("cells_of", &OctreeIndex::cells_of, "rows"_a)
      .def_prop_ro("pending", &OctreeIndex::pending)
      .def_prop_ro("is_settled", &OctreeIndex::is_settled)
      .def_prop_ro("needs_build", &OctreeIndex::needs_build)
      .def_prop_ro("needs_packing", &OctreeIndex::needs_packing)
      .def_prop_ro("is_crowded", &OctreeIndex::is_crowded);
}

}  // namespace broadphase::python
