// The compiled module: arrays in, row numbers out.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "choose/find.hpp"
#include "filters.hpp"
#include "query/collect.hpp"

namespace broadphase::python {

namespace {

std::atomic<const Kernels*> chosen{nullptr};

std::vector<std::string> simd_levels() {
  std::size_t count = 0;
  const Kernels* const* levels = available_kernels(count);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < count; ++k) names.emplace_back(levels[k]->level);
  return names;
}

void set_simd_level(const std::string& name) {
  std::size_t count = 0;
  const Kernels* const* levels = available_kernels(count);
  for (std::size_t k = 0; k < count; ++k)
    if (name == levels[k]->level) {
      chosen = levels[k];
      return;
    }
  std::string known;
  for (const std::string& level : simd_levels()) known += (known.empty() ? "" : ", ") + level;
  throw nb::value_error(("SIMD level '" + name + "' is not one of: " + known).c_str());
}

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

nb::object pairs(MethodName name, AnyArray lower, AnyArray upper, std::optional<AnyArray> other_lower,
                 std::optional<AnyArray> other_upper, bool touching, double margin, const PairFilter* filter,
                 unsigned workers, bool sort, std::uint64_t limit) {
  const PairQuery query{lower, upper, other_lower, other_upper, touching, margin, filter, workers};
  Pairs result;
  {
    const nb::gil_scoped_release release;
    Interrupt interrupt(signal_pending);
    result = query.with_problem([&](const auto& problem) {
      using T = std::remove_cvref_t<decltype(problem.grow)>;
      AnyMethod<T> method;
      prepare(method, name, problem, chosen_kernels(), workers, interrupt);
      return with_method(
          method, [&](const auto& made) { return collect_pairs(made, problem.filter, workers, limit, interrupt); });
    });
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
  const nb::gil_scoped_release release;
  Interrupt interrupt(signal_pending);
  return query.with_problem([&](const auto& problem) {
    using T = std::remove_cvref_t<decltype(problem.grow)>;
    AnyMethod<T> method;
    prepare(method, name, problem, chosen_kernels(), workers, interrupt);
    return with_method(method, [&](const auto& made) { return count_pairs(made, problem.filter, workers, interrupt); });
  });
}

// What "auto" measures and expects.
nb::dict report(AnyArray lower, AnyArray upper, std::optional<AnyArray> other_lower,
                std::optional<AnyArray> other_upper) {
  const PairQuery query{lower, upper, other_lower, other_upper, true, 0.0, nullptr, 1};
  const std::size_t dimension = lower.shape(1);
  const SceneReport found = query.with_problem([&](const auto& problem) {
    const nb::gil_scoped_release release;
    Interrupt interrupt(signal_pending);
    check(problem, interrupt);
    SceneReport result = report_scene(problem);
    using T = std::remove_cvref_t<decltype(problem.grow)>;
    if (result.pair_count < kPairsWorthALook<T>) result.choice = MethodName::brute_force;
    return result;
  });
  const auto axes = [&](const auto* values) {
    nb::list list;
    for (std::size_t d = 0; d < dimension; ++d) list.append(values[d]);
    return list;
  };
  nb::dict result;
  result["method"] = found.choice;
  result["box_count"] = static_cast<std::uint64_t>(found.box_count);
  result["pair_count"] = found.pair_count;
  result["low"] = axes(found.shape.low);
  result["width"] = axes(found.shape.width);
  result["share"] = axes(found.shape.share);
  result["meeting"] = axes(found.shape.meeting);
  result["blurred"] = axes(found.shape.blurred);
  result["clustering"] = found.clustering;
  result["cells"] = axes(found.plan.cells);
  result["sweep_axis"] = found.plan.sweep_axis;
  result["brute_force"] = found.costs.brute_force;
  result["sweep_and_prune"] = found.costs.sweep_and_prune;
  result["grid"] = found.costs.grid;
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
    const nb::gil_scoped_release release;
    Interrupt interrupt(signal_pending);
    query_.with_problem([&](const auto& problem) {
      using T = std::remove_cvref_t<decltype(problem.grow)>;
      prepare(method_.emplace<State<T>>().method, name, problem, chosen_kernels(), workers, interrupt);
    });
  }

  // At least `wanted` more pairs, or the last ones; then an empty array.
  nb::object next(std::size_t wanted) {
    Pairs result;
    {
      const nb::gil_scoped_release release;
      Interrupt interrupt(signal_pending);
      result = std::visit(
          [&](auto& state) -> Pairs {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(state)>, std::monostate>)
              return {};
            else
              return state.next(wanted, task_, query_.filter, interrupt);
          },
          method_);
    }
    return as_array(std::move(result));
  }

 private:
  template <class T>
  struct State {
    AnyMethod<T> method;
    Pairs next(std::size_t wanted, std::size_t& task, const PairFilter* filter, Interrupt& interrupt) {
      return with_method(method, [&](const auto& made) {
        return collect_some(made, filter != nullptr ? filter->get() : nullptr, wanted, task, interrupt);
      });
    }
  };

  nb::object filter_;
  PairQuery query_;
  std::size_t task_ = 0;
  std::variant<std::monostate, State<float>, State<double>> method_;
};

}  // namespace

const Kernels& chosen_kernels() { return *chosen.load(); }

}  // namespace broadphase::python

NB_MODULE(_core, m) {
  using namespace broadphase;
  using namespace broadphase::python;

  const char* wanted = std::getenv("BROADPHASE_SIMD");
  set_simd_level(wanted != nullptr && *wanted != '\0' ? std::string(wanted) : simd_levels().back());
  m.def("simd_levels", &simd_levels, "SIMD levels of this build that this processor supports, weakest first.");
  m.def("simd_level", [] { return std::string(chosen_kernels().level); }, "The SIMD level in use.");
  m.def("set_simd_level", &set_simd_level, nb::arg("name"), "Select the SIMD level.");

  nb::exception<InvalidBoxes>(m, "InvalidBoxes", PyExc_ValueError);
  nb::exception<TooManyPairs>(m, "TooManyPairs", PyExc_RuntimeError);
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const Interrupted&) {
      // PyErr_CheckSignals has set the exception of the signal's handler.
    }
  });

  nb::enum_<MethodName>(m, "Method")
      .value("auto", MethodName::automatic)
      .value("brute_force", MethodName::brute_force)
      .value("sweep_and_prune", MethodName::sweep_and_prune)
      .value("grid", MethodName::grid)
      .value("linear_tree", MethodName::linear_tree)
      .value("bvh", MethodName::bvh)
      .value("octree", MethodName::octree);
  nb::class_<PairFilter>(m, "PairFilter")
      .def(nb::init<std::pair<PairFilter::Words, PairFilter::Words>, std::pair<PairFilter::Words, PairFilter::Words>,
                    std::pair<PairFilter::Integers, PairFilter::Integers>,
                    std::pair<PairFilter::Bytes, PairFilter::Bytes>, std::pair<PairFilter::Rows, PairFilter::Rows>,
                    PairFilter::Words>(),
           nb::arg("layer"), nb::arg("mask"), nb::arg("group"), nb::arg("static"), nb::arg("shared"),
           nb::arg("ignored").none())
      .def("allows", &allowed_pairs, nb::arg("first"), nb::arg("second"), "Whether each pair passes the filter.");
  nb::class_<PairStream>(m, "PairStream")
      .def(nb::init<MethodName, AnyArray, AnyArray, std::optional<AnyArray>, std::optional<AnyArray>, bool, double,
                    nb::object, unsigned>(),
           nb::arg("method"), nb::arg("lower"), nb::arg("upper"), nb::arg("other_lower").none(),
           nb::arg("other_upper").none(), nb::arg("touching"), nb::arg("margin"), nb::arg("filter").none(),
           nb::arg("workers"))
      .def("next", &PairStream::next, nb::arg("wanted"));
  m.def("pairs", &pairs, nb::arg("method"), nb::arg("lower"), nb::arg("upper"), nb::arg("other_lower").none(),
        nb::arg("other_upper").none(), nb::arg("touching"), nb::arg("margin"), nb::arg("filter").none(),
        nb::arg("workers"), nb::arg("sort"), nb::arg("limit"));
  bind_guard(m);
  bind_keep_boxes(m);
  bind_tree_queries(m);
  bind_bvh(m);
  bind_octree(m);
  bind_linear_tree(m);
  bind_sweep_and_prune(m);
  bind_brute_force(m);
  bind_joining(m);
  bind_grid(m);
  bind_shapes(m);
  bind_meshes(m);
  bind_touching(m);
  bind_motion(m);
  m.def("report", &report, nb::arg("lower"), nb::arg("upper"), nb::arg("other_lower").none(),
        nb::arg("other_upper").none());
  m.def("count", &count, nb::arg("method"), nb::arg("lower"), nb::arg("upper"), nb::arg("other_lower").none(),
        nb::arg("other_upper").none(), nb::arg("touching"), nb::arg("margin"), nb::arg("filter").none(),
        nb::arg("workers"));
}
