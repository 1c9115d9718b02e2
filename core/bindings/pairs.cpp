// Pairs by any method: all at once, their number, in portions, or by query.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "choose/find.hpp"
#include "filters.hpp"
#include "query/collect.hpp"
#include "query/ragged.hpp"

namespace broadphase::python {

namespace {

nb::object allowed_pairs(const PairFilter& filter, Vector<std::int32_t> first, Vector<std::int32_t> second) {
  std::vector<std::uint8_t> allowed(first.shape(0));
  for (std::size_t k = 0; k < allowed.size(); ++k)
    allowed[k] =
        filter.get()->allows(static_cast<std::size_t>(first.data()[k]), static_cast<std::size_t>(second.data()[k]));
  return as_array(std::move(allowed), 1);
}

// The arguments of a search for pairs.
struct PairQuery {
  AnyArray lower, upper;
  std::optional<AnyArray> other_lower, other_upper;
  bool touching;
  double margin;
  const PairFilter* filter;
  unsigned workers;

  bool is_float32() const { return lower.dtype() == nb::dtype<float>(); }

  template <class T>
  Problem<T> problem() const {
    Problem<T> result;
    result.first = view<T>(lower, upper);
    result.cross = other_lower.has_value();
    if (result.cross) result.second = view<T>(*other_lower, *other_upper);
    result.dimension = lower.shape(1);
    result.touching = touching;
    result.grow = static_cast<T>(margin / 2);
    result.filter = filter != nullptr ? filter->get() : nullptr;
    return result;
  }

  template <class Use>
  auto with_problem(Use&& use) const {
    return is_float32() ? use(problem<float>()) : use(problem<double>());
  }
};

template <class T>
Pairs find_pairs(MethodName name, const Problem<T>& problem, std::uint64_t limit, const Preparation& with) {
  return with_method(name, problem, with, [&](const MethodCalls<T>& calls, const Preparation& prepared) {
    return calls.collect(problem, limit, prepared);
  });
}

nb::object pairs(MethodName name, AnyArray lower, AnyArray upper, std::optional<AnyArray> other_lower,
                 std::optional<AnyArray> other_upper, bool touching, double margin, const PairFilter* filter,
                 unsigned workers, bool sort, std::uint64_t limit) {
  const PairQuery query{lower, upper, other_lower, other_upper, touching, margin, filter, workers};
  Pairs result;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    result = query.with_problem(
        [&](const auto& problem) { return find_pairs(name, problem, limit, {chosen_kernels(), workers, interrupt}); });
    if (sort) {
      const std::size_t other = other_lower ? other_lower->shape(0) : 0;
      sort_pairs(result, std::max(lower.shape(0), other), workers, interrupt);
    }
  }
  return as_array(std::move(result));
}

std::uint64_t count(MethodName name, AnyArray lower, AnyArray upper, std::optional<AnyArray> other_lower,
                    std::optional<AnyArray> other_upper, bool touching, double margin, const PairFilter* filter,
                    unsigned workers) {
  const PairQuery query{lower, upper, other_lower, other_upper, touching, margin, filter, workers};
  const ReleasedGil release;
  Interrupt interrupt(signal_pending);
  return query.with_problem([&](const auto& problem) {
    return with_method(name, problem, {chosen_kernels(), workers, interrupt},
                       [&](const auto& calls, const Preparation& with) { return calls.count(problem, with); });
  });
}

// The rows of `boxes` that each box of `asked`, in the same dtype, overlaps: ascending, with the offset of each result.
nb::object join(MethodName name, AnyArray lower, AnyArray upper, AnyArray asked_lower, AnyArray asked_upper,
                unsigned workers) {
  Ragged answers;
  with_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes) {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    Problem<T> problem;
    problem.first = view<T>(asked_lower, asked_upper);
    problem.second = boxes;
    problem.dimension = lower.shape(1);
    problem.cross = true;
    Pairs pairs = find_pairs(name, problem, kNoLimit, {chosen_kernels(), workers, interrupt});
    answers = by_query(std::move(pairs), problem.first.count, boxes.count, workers, interrupt);
  });
  return as_tuple(std::move(answers));
}

// What "auto" measures and expects.
nb::dict report(AnyArray lower, AnyArray upper, std::optional<AnyArray> other_lower,
                std::optional<AnyArray> other_upper) {
  const PairQuery query{lower, upper, other_lower, other_upper, true, 0.0, nullptr, 1};
  const std::size_t dimension = lower.shape(1);
  const SceneReport found = query.with_problem([&](const auto& problem) {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    check(problem, interrupt);
    SceneReport result = report_scene(problem);
    using T = std::remove_cvref_t<decltype(problem.grow)>;
    if (result.pair_count < kPairsWorthALook<T>) result.choice = MethodName::brute_force;
    return result;
  });
  double low[4], width[4];
  for (std::size_t d = 0; d < dimension; ++d) low[d] = found.shape.map[d].low, width[d] = found.shape.map[d].width;
  const auto axes = [&](const auto* values) {
    nb::list list;
    for (std::size_t d = 0; d < dimension; ++d) list.append(values[d]);
    return list;
  };
  nb::dict result;
  result["method"] = found.choice;
  result["box_count"] = static_cast<std::uint64_t>(found.box_count);
  result["pair_count"] = found.pair_count;
  result["low"] = axes(low);
  result["width"] = axes(width);
  result["share"] = axes(found.shape.share);
  result["meeting"] = axes(found.shape.meeting);
  result["blurred"] = axes(found.shape.blurred);
  result["clustering"] = found.clustering;
  result["cells"] = axes(found.plan.cells);
  result["sweep_axis"] = found.plan.sweep_axis;
  result["brute_force"] = found.costs.brute_force;
  result["sweep_and_prune"] = found.costs.sweep_and_prune;
  result["grid"] = found.costs.grid;
  result["bvh"] = found.costs.bvh;
  return result;
}

// Pairs in portions, with memory bounded by the portion. Keeps the arrays alive.
class PairStream {
 public:
  PairStream(MethodName name, AnyArray lower, AnyArray upper, std::optional<AnyArray> other_lower,
             std::optional<AnyArray> other_upper, bool touching, double margin, nb::object filter, unsigned workers)
      : filter_(std::move(filter)),
        query_{lower,
               upper,
               other_lower,
               other_upper,
               touching,
               margin,
               filter_.is_none() ? nullptr : nb::cast<const PairFilter*>(filter_),
               workers} {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    search_ = query_.with_problem([&](const auto& problem) {
      return with_method(name, problem, {chosen_kernels(), workers, interrupt},
                         [&](const auto& calls, const Preparation& with) { return calls.start(problem, with); });
    });
  }

  // At least `wanted` more pairs, or the last ones; then an empty array.
  nb::object next(std::size_t wanted) {
    Pairs result;
    {
      const ReleasedGil release;
      Interrupt interrupt(signal_pending);
      result = search_.next(query_.filter != nullptr ? query_.filter->get() : nullptr, wanted, interrupt);
    }
    return as_array(std::move(result));
  }

 private:
  nb::object filter_;
  PairQuery query_;
  PortionedSearch search_;
};

}  // namespace

void bind_pairs(nb::module_& module) {
  nb::enum_<MethodName>(module, "Method")
      .value("auto", MethodName::automatic)
      .value("brute_force", MethodName::brute_force)
      .value("sweep_and_prune", MethodName::sweep_and_prune)
      .value("grid", MethodName::grid)
      .value("linear_tree", MethodName::linear_tree)
      .value("bvh", MethodName::bvh)
      .value("octree", MethodName::octree);
  nb::class_<PairFilter>(module, "PairFilter")
      .def(nb::init<std::pair<PairFilter::Words, PairFilter::Words>, std::pair<PairFilter::Words, PairFilter::Words>,
                    std::pair<PairFilter::Integers, PairFilter::Integers>,
                    std::pair<PairFilter::Bytes, PairFilter::Bytes>, std::pair<PairFilter::Rows, PairFilter::Rows>,
                    PairFilter::Words>(),
           nb::arg("layer"), nb::arg("mask"), nb::arg("group"), nb::arg("static"), nb::arg("shared"),
           nb::arg("ignored").none())
      .def("allows", &allowed_pairs, nb::arg("first"), nb::arg("second"), "Whether each pair passes the filter.");
  nb::class_<PairStream>(module, "PairStream")
      .def(nb::init<MethodName, AnyArray, AnyArray, std::optional<AnyArray>, std::optional<AnyArray>, bool, double,
                    nb::object, unsigned>(),
           nb::arg("method"), nb::arg("lower"), nb::arg("upper"), nb::arg("other_lower").none(),
           nb::arg("other_upper").none(), nb::arg("touching"), nb::arg("margin"), nb::arg("filter").none(),
           nb::arg("workers"))
      .def("next", &PairStream::next, nb::arg("wanted"));
  module.def("pairs", &pairs, nb::arg("method"), nb::arg("lower"), nb::arg("upper"), nb::arg("other_lower").none(),
             nb::arg("other_upper").none(), nb::arg("touching"), nb::arg("margin"), nb::arg("filter").none(),
             nb::arg("workers"), nb::arg("sort"), nb::arg("limit"));
  module.def("report", &report, nb::arg("lower"), nb::arg("upper"), nb::arg("other_lower").none(),
             nb::arg("other_upper").none());
  module.def("count", &count, nb::arg("method"), nb::arg("lower"), nb::arg("upper"), nb::arg("other_lower").none(),
             nb::arg("other_upper").none(), nb::arg("touching"), nb::arg("margin"), nb::arg("filter").none(),
             nb::arg("workers"));
  module.def("join", &join, nb::arg("method"), nb::arg("lower"), nb::arg("upper"), nb::arg("asked_lower"),
             nb::arg("asked_upper"), nb::arg("workers"));
}

}  // namespace broadphase::python
