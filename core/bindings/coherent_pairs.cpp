// Pairs of boxes that move a little from one search to the next.
#include "choose/coherent_pairs.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "base/forks.hpp"
#include "bindings.hpp"
#include "filters.hpp"

namespace broadphase::python {

namespace {

// Those of an index. Threads may search at once: one of them keeps near pairs, the others are told nothing.
class IndexPairs {
 public:
  // Pairs (m, 2), or None: search, and tell how many there are.
  nb::object pairs(MethodName method, AnyArray lower, AnyArray upper, std::optional<Vector<std::int32_t>> living,
                   bool touching, const PairFilter* filter, unsigned workers, bool sort, std::uint64_t limit) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return nb::none();
    std::optional<Pairs> found;
    with_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes) {
      const ReleasedGil release;
      Interrupt interrupt(signal_pending);
      Problem<T> problem;
      problem.first = boxes;
      problem.dimension = lower.shape(1);
      problem.touching = touching;
      problem.filter = filter != nullptr ? filter->get() : nullptr;
      std::span<const std::int32_t> rows;
      if (living) rows = {living->data(), living->size()};
      found = of<T>().find(problem, rows, method, limit, chosen_kernels(), workers, interrupt);
      if (found && sort) sort_pairs(*found, boxes.count, workers, interrupt);
    });
    return found ? as_array(std::move(*found)) : nb::none();
  }
  void note(std::size_t count) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    floats_.note(count);
    doubles_.note(count);
  }
  int uses() const { return floats_.uses() + doubles_.uses(); }
  std::size_t tests() const { return floats_.count() + doubles_.count(); }
  std::size_t memory_bytes() const { return floats_.memory_bytes() + doubles_.memory_bytes(); }

 private:
  template <class T>
  CoherentPairs<T>& of() {
    if constexpr (std::is_same_v<T, float>)
      return floats_;
    else
      return doubles_;
  }

  ForkedMutex mutex_;
  CoherentPairs<float> floats_;  // an index has boxes of one type
  CoherentPairs<double> doubles_;
};

}  // namespace

void bind_coherent_pairs(nb::module_& module) {
  nb::class_<IndexPairs>(module, "CoherentPairs", "Pairs of boxes that move a little from one search to the next.")
      .def(nb::init<>())
      .def("pairs", &IndexPairs::pairs, "method"_a, "lower"_a, "upper"_a, "living"_a.none(), "touching"_a,
           "filter"_a.none(), "workers"_a, "sort"_a, "limit"_a,
           "Pairs, if near ones serve; None: search, and note how many there are.")
      .def("note", &IndexPairs::note, "count"_a)
      .def_prop_ro("uses", &IndexPairs::uses)
      .def_prop_ro("tests", &IndexPairs::tests, "Near pairs, each of which a search tests.")
      .def_prop_ro("memory_bytes", &IndexPairs::memory_bytes);
}

}  // namespace broadphase::python
