// Brute force as an index.
#include "brute_force/brute_force.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "brute_force/row_chain.hpp"
#include "choose/method_calls.hpp"
#include "index.hpp"

namespace broadphase {

template const MethodCalls<float>& calls_of<BruteForce, float>();
template const MethodCalls<double>& calls_of<BruteForce, double>();

}  // namespace broadphase

namespace broadphase::python {

namespace {

class BruteForceIndex : public BlockIndex {
 public:
  explicit BruteForceIndex(std::size_t dimension) : chain_(tree) { tree.blocks = Blocks(dimension); }

  using Rows = Vector<std::int32_t>;

  void build(AnyArray lower, AnyArray upper, Rows rows) {
    const ReleasedGil release;
    with_boxes(lower, upper, [&](const auto& boxes) { chain_.build(boxes, rows.data(), rows.shape(0)); });
  }
  void insert(AnyArray lower, AnyArray upper, Rows rows) {
    const ReleasedGil release;
    with_boxes(lower, upper, [&](const auto& boxes) { chain_.insert(boxes, rows.data(), rows.shape(0)); });
  }
  void update(AnyArray lower, AnyArray upper, Rows rows) {
    const ReleasedGil release;
    with_boxes(lower, upper, [&](const auto& boxes) { chain_.update(boxes, rows.data(), rows.shape(0)); });
  }
  void remove(Rows rows) { chain_.remove(rows.data(), rows.shape(0)); }

  template <class Use>
  void with_pairs(const AnyArray& lower, const AnyArray& upper, const PairSearch& search, Use&& use) {
    tests_ = all_pairs();
    found_ = 0;
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
      use(BruteForce<T>(problem, chosen_kernels(), search.workers, Interrupt(signal_pending), std::move(rows)));
    });
  }
  void note(const auto& /*method*/, std::uint64_t found) { found_ = found; }

  nb::dict stats() const {
    const std::uint64_t n = chain_.count();
    nb::dict result;
    result["rows"] = n;
    result["nodes"] = static_cast<std::uint64_t>(tree.blocks.count());
    result["depth"] = n > 0 ? 1 : 0;
    result["tests"] = tests_.load();
    result["pairs"] = found_.load();
    result["brute_force_tests"] = all_pairs();
    return result;
  }

  std::string validate(AnyArray lower, AnyArray upper, Rows rows) const {
    const ReleasedGil release;
    const char* fault =
        with_boxes(lower, upper, [&](const auto& boxes) { return chain_.fault(boxes, rows.data(), rows.shape(0)); });
    return fault != nullptr ? fault : "";
  }

  std::size_t memory_bytes() const { return chain_.bytes(); }

 private:
  std::uint64_t all_pairs() const {
    const std::uint64_t n = chain_.count();
    return n > 0 ? n * (n - 1) / 2 : 0;
  }

  RowChain chain_;
  std::atomic<std::uint64_t> tests_{0}, found_{0};  // of the last search for pairs
};

}  // namespace

void bind_brute_force(nb::module_& module) {
  const auto lower = nb::arg("lower"), upper = nb::arg("upper"), rows = nb::arg("rows");
  nb::class_<BruteForceIndex, BlockIndex> bound(module, "BruteForceIndex");
  bind_index_pairs(bound);
  bound.def(nb::init<std::size_t>(), nb::arg("dimension"))
      .def("build", &BruteForceIndex::build, lower, upper, rows)
      .def("insert", &BruteForceIndex::insert, lower, upper, rows)
      .def("update", &BruteForceIndex::update, lower, upper, rows)
      .def("remove", &BruteForceIndex::remove, rows)
      .def("stats", &BruteForceIndex::stats)
      .def("validate", &BruteForceIndex::validate, lower, upper, rows)
      .def_prop_ro("memory_bytes", &BruteForceIndex::memory_bytes);
}

}  // namespace broadphase::python
