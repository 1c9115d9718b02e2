// The trees of an index by key, for its queries with keys.
#include "batches/forest.hpp"

#include "batches/distinct_forest.hpp"
#include "bindings.hpp"

namespace broadphase::python {

namespace {

using Keys = Vector<std::int64_t>;

void build(SearchedForest& forest, AnyArray lower, AnyArray upper, Rows rows, Keys keys, unsigned workers) {
  on_boxes(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
    forest.build(boxes, rows.data(), rows.shape(0), keys.data(), {chosen_kernels(), workers, interrupt});
  });
}

void follow(SearchedForest& forest, AnyArray lower, AnyArray upper, Rows rows, Vector<bool> alive, Keys keys,
            unsigned workers) {
  on_boxes(lower, upper, [&](const auto& boxes, Interrupt& interrupt) {
    forest.follow(boxes, rows.data(), rows.shape(0), alive.data(), keys.data(), {chosen_kernels(), workers, interrupt});
  });
}

}  // namespace

void bind_forest(nb::module_& module) {
  nb::class_<SearchedForest>(module, "Forest", "A tree for each key.")
      .def(nb::init<std::size_t>(), "dimension"_a)
      .def("build", &build, "lower"_a, "upper"_a, "rows"_a, "keys"_a, "workers"_a,
           "Replace all trees by those of these rows; keys are by row.")
      .def("follow", &follow, "lower"_a, "upper"_a, "rows"_a, "alive"_a, "keys"_a, "workers"_a,
           "Let the trees follow what has become of these rows. After an exception, they must be built again.")
      .def_prop_ro(
          "packed_count", [](const SearchedForest& forest) { return forest.packed_count(); },
          "How many trees were packed so far.")
      .def_prop_ro("memory_bytes", &SearchedForest::all_bytes);
}

}  // namespace broadphase::python
