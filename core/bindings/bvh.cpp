// The BVH as an index.
#include "bvh/bvh.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "bvh/changes.hpp"
#include "bvh/pairs.hpp"
#include "choose/method_calls.hpp"
#include "index.hpp"

BROADPHASE_COMPILED(BvhPairs);

namespace broadphase::python {

namespace {

class BvhIndex : public BlockIndex {
 public:
  BvhIndex(std::size_t dimension, BvhQuality quality)
      : bvh_(tree, quality), changes_(std::in_place_type<BvhChanges<float>>, dimension) {
    tree.blocks = Blocks(dimension);
  }

  void build(AnyArray lower, AnyArray upper, Rows rows, unsigned workers) {
    change(lower, upper, workers, [&](const auto& boxes, auto& changes, const Bvh::Work& work) {
      require_boxes(rows.data(), rows.shape(0), boxes.count, work.workers, work.interrupt);
      std::vector<std::int32_t> before;
      bvh_.for_each_row([&](std::int32_t row) { before.push_back(row); });
      changes.mark(before.data(), before.size(), boxes.count, false);
      changes.mark(rows.data(), rows.shape(0), boxes.count, false);
      bvh_.build(boxes, rows.data(), rows.shape(0), work);
    });
  }
  void insert(AnyArray lower, AnyArray upper, Rows rows, unsigned workers) {
    change(lower, upper, workers, [&](const auto& boxes, auto& changes, const Bvh::Work& work) {
      bvh_.require_new_rows(rows.data(), rows.shape(0), boxes.count);
      changes.mark(rows.data(), rows.shape(0), boxes.count, false);
      bvh_.insert(boxes, rows.data(), rows.shape(0), work);
    });
  }
  void update(AnyArray lower, AnyArray upper, Rows rows, unsigned workers) {
    on_boxes(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
      move(boxes, rows.data(), rows.shape(0), {chosen_kernels(), workers, interrupt});
    });
  }
  template <class T>
  void move(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const Bvh::Work& work) {
    bvh_.require_rows(rows, count);
    changes_of<T>().mark(rows, count, boxes.count, false);
    bvh_.update(boxes, rows, count, work);
  }
  void remove(Rows rows) {
    const ReleasedGil release;
    bvh_.require_distinct_rows(rows.data(), rows.shape(0));
    std::visit([&](auto& changes) { changes.mark(rows.data(), rows.shape(0), bvh_.limit(), true); }, changes_);
    bvh_.remove(rows.data(), rows.shape(0));
  }

  std::size_t optimize() {
    return at_work([&](Interrupt& interrupt) { return bvh_.optimize(interrupt); });
  }

  // Appends to a list (pairs that entered, pairs that exited) since the last call. Throws, and then neither the list
  // has changed nor what the next call is about: no report is lost between this call and the next instruction of
  // Python.
  void changes(const AnyArray& lower, const AnyArray& upper, bool touching, unsigned workers, nb::list& reports) {
    PairChanges found;
    change(lower, upper, workers, [&](const auto& boxes, auto& changes, const Bvh::Work& work) {
      found = changes.find(bvh_, tree, boxes, touching, work);
    });
    reports.append(as_tuple(std::move(found.enter), std::move(found.exit)));
    on_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes, Interrupt&) {
      std::get<BvhChanges<T>>(changes_).keep(bvh_, boxes);
    });
  }

  template <class Use>
  void with_pairs(const AnyArray& lower, const AnyArray& upper, const PairSearch& search, Use&& use) const {
    with_boxes(lower, upper, [&](const auto& boxes) { use_pairs_of(tree, boxes, search, use); });
  }
  void note(const auto& method, std::uint64_t found) { last_.note(method.tests(), found); }

  nb::dict stats() const {
    const BvhReport report = bvh_.report();
    nb::dict result;
    result["method"] = "bvh";
    result["rows"] = bvh_.rows();
    result["nodes"] = tree.blocks.count();
    result["depth"] = report.depth;
    result["nodes_by_level"] = report.blocks_by_level;
    result["fill"] =
        report.lanes > 0 ? static_cast<double>(report.lanes) / static_cast<double>(tree.blocks.count() * kLanes) : 0.0;
    result["cost"] = report.cost;
    result["bytes"] = memory_bytes();
    result["regroupings"] = bvh_.regroupings();
    result["rebuilds"] = bvh_.rebuilds();
    last_.put(result, static_cast<std::uint64_t>(bvh_.rows()));
    return result;
  }

  nb::tuple outline() const {
    Outline outline(tree.dimension());
    bvh_.for_each_block([&](std::int32_t block, std::size_t depth) {
      const LocalBounds<double> bounds = read_bounds(tree.blocks, block);
      for (std::size_t k = 0; k < outline.dimension; ++k) {
        outline.lower.push_back(tree.frame.given(bounds.box[k], k));
        outline.upper.push_back(tree.frame.given(bounds.box[outline.dimension + k], k));
      }
      outline.level.push_back(static_cast<std::int32_t>(depth));
    });
    return std::move(outline).as_tuple();
  }

  std::string validate(AnyArray lower, AnyArray upper, Rows rows) const {
    const AnyBoxes boxes = any_boxes(lower, upper);
    const ReleasedGil release;
    return bvh_.validate(boxes, rows.data(), rows.shape(0));
  }

  std::size_t memory_bytes() const {
    return bvh_.bytes() + std::visit([](const auto& changes) { return changes.bytes(); }, changes_);
  }

 private:
  template <class Use>
  void change(const AnyArray& lower, const AnyArray& upper, unsigned workers, Use&& use) {
    on_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes, Interrupt& interrupt) {
      use(boxes, changes_of<T>(), Bvh::Work{chosen_kernels(), workers, interrupt});
    });
  }
  // An index keeps its dtype; an empty one has none yet.
  template <class T>
  BvhChanges<T>& changes_of() {
    if (!std::holds_alternative<BvhChanges<T>>(changes_)) changes_.template emplace<BvhChanges<T>>(tree.dimension());
    return std::get<BvhChanges<T>>(changes_);
  }

  Bvh bvh_;
  std::variant<BvhChanges<float>, BvhChanges<double>> changes_;
  LastSearch last_;
};

}  // namespace

void update_bvh(nb::handle index, const BoxView<double>& boxes, const std::vector<std::int32_t>& rows,
                unsigned workers) {
  auto& bvh = nb::cast<BvhIndex&>(index);
  at_work(
      [&](Interrupt& interrupt) { bvh.move(boxes, rows.data(), rows.size(), {chosen_kernels(), workers, interrupt}); });
}

void bind_bvh(nb::module_& module) {
  nb::enum_<BvhQuality>(module, "BvhQuality")
      .value("fast", BvhQuality::fast)
      .value("balanced", BvhQuality::balanced)
      .value("sah", BvhQuality::sah);
  nb::class_<BvhIndex, BlockIndex> bound(module, "Bvh");
  bind_index(bound, "workers"_a = 1);
  bound.def(nb::init<std::size_t, BvhQuality>(), "dimension"_a, "quality"_a = BvhQuality::balanced)
      .def("optimize", &BvhIndex::optimize)
      .def("changes", &BvhIndex::changes, "lower"_a, "upper"_a, "touching"_a, "workers"_a, "reports"_a)
      .def("outline", &BvhIndex::outline);
}

}  // namespace broadphase::python
