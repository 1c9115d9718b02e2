// All boxes in a row, kept and asked from Python.
#include "broadphase/brute_force.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "block_index.hpp"
#include "broadphase/row_chain.hpp"
#include "broadphase/sort_pairs.hpp"
#include "pair_filter.hpp"

namespace broadphase::python {

namespace {

class BruteForceIndex : public BlockIndex {
 public:
  explicit BruteForceIndex(std::size_t dimension) : chain_(tree) { tree.blocks = Blocks(dimension); }

  using Rows = Vector<std::int32_t>;

  void build(AnyArray lower, AnyArray upper, Rows rows) {
    const nb::gil_scoped_release release;
    with_boxes(lower, upper, [&](const auto& boxes) { chain_.build(boxes, rows.data(), rows.shape(0)); });
  }
  void insert(AnyArray lower, AnyArray upper, Rows rows) {
    const nb::gil_scoped_release release;
    with_boxes(lower, upper, [&](const auto& boxes) { chain_.insert(boxes, rows.data(), rows.shape(0)); });
  }
  void update(AnyArray lower, AnyArray upper, Rows rows) {
    const nb::gil_scoped_release release;
    with_boxes(lower, upper, [&](const auto& boxes) { chain_.update(boxes, rows.data(), rows.shape(0)); });
  }
  void remove(Rows rows) { chain_.remove(rows.data(), rows.shape(0)); }

  nb::object pairs(AnyArray lower, AnyArray upper, bool touching, const PairFilter* filter, unsigned workers, bool sort,
                   std::uint64_t limit) {
    Pairs found;
    found.block = allocate_pairs(0);
    with_method(lower, upper, touching, filter, workers, [&](const auto& method, const Filter* wanted) {
      Interrupt interrupt(signal_pending);
      found = collect_pairs(method, wanted, workers, limit, interrupt);
      if (sort) sort_pairs(found, lower.shape(0), workers, interrupt);
    });
    pairs_ = found.size;
    return python::as_array(std::move(found));
  }
  std::uint64_t count(AnyArray lower, AnyArray upper, bool touching, const PairFilter* filter, unsigned workers) {
    std::uint64_t found = 0;
    with_method(lower, upper, touching, filter, workers, [&](const auto& method, const Filter* wanted) {
      Interrupt interrupt(signal_pending);
      found = count_pairs(method, wanted, workers, interrupt);
    });
    pairs_ = found;
    return found;
  }

  nb::dict stats() const {
    const std::uint64_t n = chain_.count(), all = n > 0 ? n * (n - 1) / 2 : 0;
    nb::dict result;
    result["rows"] = n;
    result["nodes"] = static_cast<std::uint64_t>(tree.blocks.count());
    result["depth"] = n > 0 ? 1 : 0;
    result["tests"] = tests_.load();
    result["pairs"] = pairs_.load();
    result["brute_force_tests"] = all;
    return result;
  }

  std::string validate(AnyArray lower, AnyArray upper, Rows rows) const {
    const nb::gil_scoped_release release;
    const char* fault =
        with_boxes(lower, upper, [&](const auto& boxes) { return chain_.fault(boxes, rows.data(), rows.shape(0)); });
    return fault != nullptr ? fault : "";
  }

  std::size_t memory_bytes() const { return chain_.bytes(); }

 private:
  template <class Use>
  void with_method(const AnyArray& lower, const AnyArray& upper, bool touching, const PairFilter* filter,
                   unsigned workers, Use&& use) {
    const std::uint64_t n = chain_.count();
    tests_ = n > 0 ? n * (n - 1) / 2 : 0;
    if (n == 0) return;
    const nb::gil_scoped_release release;
    with_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes) {
      Problem<T> problem;
      problem.first = boxes;
      problem.dimension = tree.dimension();
      problem.touching = touching;
      std::vector<std::int32_t> rows;
      if (n < boxes.count) {
        rows = chain_.rows();
        std::sort(rows.begin(), rows.end());
      }
      const BruteForce<T> method(problem, chosen_kernels(), workers, Interrupt(signal_pending), std::move(rows));
      use(method, filter != nullptr ? filter->get() : nullptr);
    });
  }

  RowChain chain_;
  std::atomic<std::uint64_t> tests_{0}, pairs_{0};  // of the last search for pairs
};

}  // namespace

void bind_brute_force(nb::module_& module) {
  const auto lower = nb::arg("lower"), upper = nb::arg("upper"), rows = nb::arg("rows"), workers = nb::arg("workers");
  const auto filter = nb::arg("filter").none();
  nb::class_<BruteForceIndex, BlockIndex>(module, "BruteForceIndex")
      .def(nb::init<std::size_t>(), nb::arg("dimension"))
      .def("build", &BruteForceIndex::build, lower, upper, rows)
      .def("insert", &BruteForceIndex::insert, lower, upper, rows)
      .def("update", &BruteForceIndex::update, lower, upper, rows)
      .def("remove", &BruteForceIndex::remove, rows)
      .def("pairs", &BruteForceIndex::pairs, lower, upper, nb::arg("touching"), filter, workers, nb::arg("sort"),
           nb::arg("limit"))
      .def("count", &BruteForceIndex::count, lower, upper, nb::arg("touching"), filter, workers)
      .def("stats", &BruteForceIndex::stats)
      .def("validate", &BruteForceIndex::validate, lower, upper, rows)
      .def_prop_ro("memory_bytes", &BruteForceIndex::memory_bytes);
}

}  // namespace broadphase::python
