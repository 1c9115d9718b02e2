// Brute force as an index.
#include "brute_force/brute_force.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "brute_force/row_chain.hpp"
#include "choose/method_calls.hpp"
#include "index.hpp"

BROADPHASE_COMPILED(BruteForce);

namespace broadphase::python {

namespace {

class BruteForceIndex : public BlockIndex {
 public:
  explicit BruteForceIndex(std::size_t dimension) : chain_(tree) { tree.blocks = Blocks(dimension); }

  void build(AnyArray lower, AnyArray upper, Rows rows) {
    on_boxes(lower, upper, [&](const auto& boxes, Interrupt&) { chain_.build(boxes, rows.data(), rows.shape(0)); });
  }
  void insert(AnyArray lower, AnyArray upper, Rows rows) {
    on_boxes(lower, upper, [&](const auto& boxes, Interrupt&) { chain_.insert(boxes, rows.data(), rows.shape(0)); });
  }
  void update(AnyArray lower, AnyArray upper, Rows rows) {
    on_boxes(lower, upper, [&](const auto& boxes, Interrupt&) { chain_.update(boxes, rows.data(), rows.shape(0)); });
  }
  void remove(Rows rows) { chain_.remove(rows.data(), rows.shape(0)); }

  template <class Use>
  void with_pairs(const AnyArray& lower, const AnyArray& upper, const PairSearch& search, Use&& use) {
    const std::uint64_t n = chain_.count();
    last_.note(n > 0 ? n * (n - 1) / 2 : 0, 0);
    if (chain_.count() == 0) return;
    with_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes) {
      Problem<T> problem;
      problem.first = boxes;
      problem.dimension = tree.dimension();
      problem.touching = search.touching;
      std::vector<std::int32_t> rows;
      if (chain_.count() < boxes.count) {
        rows = chain_.rows();
        std::sort(rows.begin(), rows.end());
      }
      use(BruteForce<T>(problem, {chosen_kernels(), search.workers, search.interrupt}, std::move(rows)));
    });
  }
  void note(const auto& /*method*/, std::uint64_t found) { last_.found = found; }

  nb::dict stats() const {
    const std::uint64_t n = chain_.count();
    nb::dict result;
    result["rows"] = n;
    result["nodes"] = static_cast<std::uint64_t>(tree.blocks.count());
    result["depth"] = n > 0 ? 1 : 0;
    last_.put(result, n);
    return result;
  }

  std::string validate(AnyArray lower, AnyArray upper, Rows rows) const {
    const char* fault = on_boxes(
        lower, upper, [&](const auto& boxes, Interrupt&) { return chain_.fault(boxes, rows.data(), rows.shape(0)); });
    return fault != nullptr ? fault : "";
  }

  std::size_t memory_bytes() const { return chain_.bytes(); }

 private:
  RowChain chain_;
  LastSearch last_;
};

}  // namespace

void bind_brute_force(nb::module_& module) {
  nb::class_<BruteForceIndex, BlockIndex> bound(module, "BruteForceIndex");
  bind_index(bound);
  bound.def(nb::init<std::size_t>(), "dimension"_a);
}

}  // namespace broadphase::python
