// Pairs by any method: all at once, their number, in portions, or by query.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "batches/batched_pairs.hpp"
#include "bindings.hpp"
#include "choose/costs.hpp"
#include "choose/find.hpp"
#include "filters.hpp"
#include "periodic/cell_pairs.hpp"
#include "query/collect.hpp"
#include "query/ragged.hpp"

namespace broadphase {

template PreparedMethod prepare_method(MethodName, const Problem<float>&, const Preparation&);
template PreparedMethod prepare_method(MethodName, const Problem<double>&, const Preparation&);

}  // namespace broadphase

namespace broadphase::python {

namespace {

nb::object allowed_pairs(const PairFilter& filter, Vector<std::int32_t> first, Vector<std::int32_t> second) {
  std::vector<std::uint8_t> allowed(first.shape(0));
  for (std::size_t k = 0; k < allowed.size(); ++k)
    allowed[k] =
        filter.get()->allows(static_cast<std::size_t>(first.data()[k]), static_cast<std::size_t>(second.data()[k]));
  return as_array(std::move(allowed));
}

// Which boxes of one set, or of two, are compared at all. Nothing is left of the keys but the order of the rows, so
// they serve any number of searches among as many boxes.
class BatchedRows {
 public:
  // How many boxes, and the key of each, or none: then so many in a row are a batch.
  using Set = std::tuple<std::size_t, std::optional<Vector<std::int64_t>>, std::size_t>;

  BatchedRows(const Set& first, const std::optional<Set>& second) {
    const RowKeys own = keys_of(first), other = second ? keys_of(*second) : RowKeys{};
    batches_ = at_work([&](Interrupt& interrupt) { return batches_of(own, second ? &other : nullptr, interrupt); });
  }
  // Null where all boxes are compared.
  const Batches* get() const { return batches_.is_whole ? nullptr : &batches_; }
  std::size_t key_count() const { return batches_.key_count; }

 private:
  static RowKeys keys_of(const Set& set) {
    const auto& [count, keys, each] = set;
    return {count, keys ? keys->data() : nullptr, each};
  }

  Batches batches_;
};

// The arguments of a search for pairs.
struct PairQuery {
  AnyArray lower, upper;
  std::optional<AnyArray> other_lower, other_upper;
  bool touching;
  double margin;
  const PairFilter* filter;
  const BatchedRows* batches;
  std::optional<Vector<double>> period;  // of each axis; none: open space
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
    result.batches = batches != nullptr ? batches->get() : nullptr;
    return result;
  }

  PeriodicCell cell() const {
    PeriodicCell result;
    result.dimension = lower.shape(1);
    std::copy_n(period->data(), result.dimension, result.period);
    return result;
  }

  template <class Use>
  auto with_problem(Use&& use) const {
    return is_float32() ? use(problem<float>()) : use(problem<double>());
  }
};

// A method that is prepared already, as one that is run.
struct AnyMethod {
  using Scratch = std::shared_ptr<void>;
  PreparedMethod method;

  std::size_t task_count() const { return method.task_count; }
  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
    if (scratch == nullptr) scratch = method.make_scratch();
    method.run(task, scratch.get(), out);
  }
};

template <class T>
PreparedMethod prepare(MethodName name, const PairQuery& query, const Problem<T>& problem, const Preparation& with) {
  if (!query.period) return prepare_method(name, problem, with);
  return prepared(std::shared_ptr<const CellPairs<T>>(new CellPairs<T>(problem, query.cell(), name, with)));
}

nb::object pairs(MethodName name, AnyArray lower, AnyArray upper, std::optional<AnyArray> other_lower,
                 std::optional<AnyArray> other_upper, bool touching, double margin, const PairFilter* filter,
                 const BatchedRows* batches, unsigned workers, bool sort, std::uint64_t limit,
                 std::optional<Vector<double>> period) {
  const PairQuery query{lower, upper, other_lower, other_upper, touching, margin, filter, batches, period, workers};
  return as_array(at_work([&](Interrupt& interrupt) {
    Pairs result = query.with_problem([&](const auto& problem) {
      const Preparation with{chosen_kernels(), workers, interrupt};
      if (!query.period) return find_pairs(name, problem, limit, with);
      return collect_pairs(AnyMethod{prepare(name, query, problem, with)}, problem.filter, workers, limit, interrupt);
    });
    if (sort) {
      const std::size_t other = other_lower ? other_lower->shape(0) : 0;
      sort_pairs(result, std::max(lower.shape(0), other), workers, interrupt);
    }
    return result;
  }));
}

std::uint64_t count(MethodName name, AnyArray lower, AnyArray upper, std::optional<AnyArray> other_lower,
                    std::optional<AnyArray> other_upper, bool touching, double margin, const PairFilter* filter,
                    const BatchedRows* batches, unsigned workers, std::optional<Vector<double>> period) {
  const PairQuery query{lower, upper, other_lower, other_upper, touching, margin, filter, batches, period, workers};
  const ReleasedGil release;
  Interrupt interrupt(signal_pending);
  return query.with_problem([&](const auto& problem) {
    if (query.period) {
      const AnyMethod method{prepare(name, query, problem, {chosen_kernels(), workers, interrupt})};
      return count_pairs(method, problem.filter, workers, interrupt);
    }
    return count_pairs(name, problem, {chosen_kernels(), workers, interrupt});
  });
}

// The rows of `boxes` that each box of `queries`, in the same dtype, overlaps: ascending, with the offset of each
// result.
nb::object join(MethodName name, AnyArray lower, AnyArray upper, AnyArray query_lower, AnyArray query_upper,
                unsigned workers) {
  return as_tuple(on_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes, Interrupt& interrupt) {
    Problem<T> problem;
    problem.first = view<T>(query_lower, query_upper);
    problem.second = boxes;
    problem.dimension = lower.shape(1);
    problem.cross = true;
    Pairs pairs = find_pairs(name, problem, kNoLimit, {chosen_kernels(), workers, interrupt});
    return by_query(std::move(pairs), problem.first.count, boxes.count, workers, interrupt);
  }));
}

// What "auto" measures and expects: of boxes in batches, of the batch with the most candidates.
nb::dict report(AnyArray lower, AnyArray upper, std::optional<AnyArray> other_lower,
                std::optional<AnyArray> other_upper, const BatchedRows* batches, std::optional<Vector<double>> period) {
  const PairQuery query{lower, upper, other_lower, other_upper, true, 0.0, nullptr, batches, period, 1};
  const std::size_t dimension = lower.shape(1);
  std::size_t largest = 0, searched = 0;  // boxes of the largest batch, and batches that are not compared pair by pair
  std::size_t images = 0;                 // of boxes that cross faces of a periodic cell
  double clustering = 1;
  PlanHistory history;
  const SceneReport found = query.with_problem([&](const auto& given) {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    check(given, {chosen_kernels(), 1, interrupt});
    using T = std::remove_cvref_t<decltype(given.grow)>;
    std::optional<CellProblem<T>> in_cell;
    if (period) in_cell.emplace(given, query.cell(), 1, interrupt);
    const Problem<T> problem = in_cell ? in_cell->in_open_space() : given;
    images = in_cell ? in_cell->image_count() : 0;
    const auto report_on = [&](const Problem<T>& given_boxes) {
      std::optional<ScaledProblem<T>> scaled;
      if (are_tiny(given_boxes)) scaled.emplace(given_boxes, interrupt);
      const Problem<T>& of = scaled ? scaled->problem() : given_boxes;
      const bool are_few = all_pairs(of) < kPairsWorthALook<T>;
      SceneReport result = are_few ? report_scene(of)
                                   : with_plan(MethodName::automatic, of, {chosen_kernels(), 1, interrupt}, history,
                                               [&](const SceneReport& plan, const Preparation& with) {
                                                 if (!std::isinf(with.most_tests)) calls_by<T>(plan).prepare(of, with);
                                                 return plan;
                                               });
      clustering = clustering_of(sample_of(of), result.shape, dimension);
      if (are_few) result.choice = MethodName::brute_force;
      for (std::size_t d = 0; d < dimension && scaled; ++d)
        for (double* x : {&result.shape.map[d].low, &result.shape.map[d].width}) *x = scaled->given(d, *x);
      return result;
    };
    largest = problem.first.count + problem.second.count;
    searched = !is_small<T>(all_pairs(problem));
    if (problem.batches == nullptr) return report_on(problem);
    Batch most{};
    searched = 0;
    for (const Batch& batch : problem.batches->with_pairs) {
      const double here = batch.all_pairs(problem.cross);
      searched += !is_small<T>(here);
      if (here > most.all_pairs(problem.cross)) most = batch;
    }
    largest = most.count(0) + most.count(1);
    PlainArray<T> copies[2];
    RowNames names[2];
    return report_on(problem_of(problem, most, copies, names));
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
  result["largest_batch"] = largest;
  result["searched_batches"] = searched;
  result["image_count"] = images;
  result["pair_count"] = found.pair_count;
  result["plans"] = std::max(history.plans, 1u);
  result["expected_tests"] = history.expected;
  result["found_tests"] = history.found;
  result["low"] = axes(low);
  result["width"] = axes(width);
  result["share"] = axes(found.shape.share);
  result["meeting"] = axes(found.shape.meeting);
  result["blurred"] = axes(found.shape.blurred);
  result["clustering"] = clustering;
  result["cells"] = axes(found.plan.cells);
  result["sweep_axis"] = found.plan.sweep_axis;
  result["is_of_few"] = found.plan.few != nullptr;
  result["brute_force"] = found.costs.brute_force;
  result["sweep_and_prune"] = found.costs.sweep_and_prune;
  result["grid"] = found.costs.grid;
  result["bvh"] = found.costs.bvh;
  return result;
}

// The rows of one set that the first plan of a search is made by.
nb::object planned_rows(std::size_t count) {
  const RandomSample sample(count, sample_size(count));
  std::vector<std::int32_t> rows(sample.size());
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<std::int32_t>(sample[k]);
  return as_array(std::move(rows), {sample.size()});
}

// Pairs in portions, with memory bounded by the portion. Keeps the arrays alive.
class PairStream {
 public:
  PairStream(MethodName name, AnyArray lower, AnyArray upper, std::optional<AnyArray> other_lower,
             std::optional<AnyArray> other_upper, bool touching, double margin, nb::object filter, nb::object batches,
             unsigned workers, std::optional<Vector<double>> period)
      : filter_(std::move(filter)),
        batches_(std::move(batches)),
        query_{lower,
               upper,
               other_lower,
               other_upper,
               touching,
               margin,
               filter_.is_none() ? nullptr : nb::cast<const PairFilter*>(filter_),
               batches_.is_none() ? nullptr : nb::cast<const BatchedRows*>(batches_),
               period,
               workers} {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    search_ = query_.with_problem([&](const auto& problem) {
      return PortionedSearch(prepare(name, query_, problem, {chosen_kernels(), workers, interrupt}));
    });
  }

  // At least `wanted` more pairs, or the last ones; then an empty array.
  nb::object next(std::size_t wanted) {
    return as_array(at_work([&](Interrupt& interrupt) {
      return search_.next(query_.filter != nullptr ? query_.filter->get() : nullptr, wanted, interrupt);
    }));
  }

 private:
  nb::object filter_, batches_;
  PairQuery query_;
  PortionedSearch search_;
};

// Boxes at their places in a periodic cell, and their images: what an index of such boxes keeps.
class PlacedBoxes {
 public:
  using Corners = Table<double>;

  PlacedBoxes(Corners lower, Corners upper, const PeriodicCell& cell)
      : lower_(lower), upper_(upper), cell_(cell), boxes_(put(lower, upper, cell)) {}
  static PlacedBoxes in_cell(Corners lower, Corners upper, Vector<double> period) {
    Problem<double> problem;
    problem.first = view_of(lower, upper);
    PeriodicCell cell;
    cell.dimension = lower.shape(1);
    std::copy_n(period.data(), cell.dimension, cell.period);
    choose_place(problem, cell);
    return {lower, upper, cell};
  }
  // Others in the same cell.
  PlacedBoxes others(Corners lower, Corners upper) const { return {lower, upper, cell_}; }

  // (boxes (n, 2, d), the row of each). The boxes are read where they are, and keep this alive.
  nb::tuple placed() {
    const BoxView<double> boxes = boxes_.view();
    std::vector<std::int32_t> rows(boxes.count);
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = boxes_.row_of(static_cast<std::int32_t>(k));
    const nb::ndarray<nb::numpy, const double> corners(boxes.lower, {boxes.count, 2, cell_.dimension}, nb::find(*this));
    return as_tuple(nb::cast(corners), std::move(rows));
  }

  // The rows that each queried box overlaps in the cell, ascending, by those that its images were found to.
  nb::object keep(const PlacedBoxes& queries, Vector<std::int32_t> found, Vector<std::int64_t> offsets,
                  unsigned workers) const {
    if (offsets.shape(0) != queries.boxes_.view().count + 1)
      throw nb::value_error("there must be one answer for each box and image");
    RaggedBlocks answers;
    {
      const ReleasedGil release;
      Interrupt interrupt(signal_pending);
      PairBuffer kept(nullptr, false);
      kept.room(found.shape(0));
      for (std::size_t query = 0; query + 1 < offsets.shape(0); ++query) {
        if (query % 1024 == 0) interrupt.check();
        for (std::int64_t at = offsets.data()[query]; at < offsets.data()[query + 1]; ++at) {
          const auto number = static_cast<std::int32_t>(query);
          const std::int32_t box = found.data()[at];
          if ((queries.boxes_.is_as_given(number) && boxes_.is_as_given(box)) ||
              queries.boxes_.takes(number, boxes_, box))
            kept.push(queries.boxes_.row_of(number), boxes_.row_of(box));
        }
      }
      Pairs pairs;
      pairs.size = kept.size();
      pairs.stride = kept.capacity();
      pairs.block = kept.capacity() > 0 ? kept.release() : allocate_pairs(0);
      answers = by_query(std::move(pairs), queries.boxes_.count(), boxes_.count(), workers, interrupt);
    }
    return as_tuple(std::move(answers));
  }

 private:
  static BoxView<double> view_of(const Corners& lower, const Corners& upper) {
    const auto stride = static_cast<std::ptrdiff_t>(lower.shape(1));
    return {lower.data(), upper.data(), stride, stride, lower.shape(0)};
  }

  static CellBoxes<double> put(const Corners& lower, const Corners& upper, const PeriodicCell& cell) {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    CellBoxes<double> boxes(view_of(lower, upper), 0, true, cell, 1, interrupt);
    boxes.place(cell.from, interrupt);
    return boxes;
  }

  Corners lower_, upper_;
  PeriodicCell cell_;
  CellBoxes<double> boxes_;
};

}  // namespace

void bind_pairs(nb::module_& module) {
  nb::enum_<MethodName>(module, "Method")
      .value("auto", MethodName::automatic)
#define BROADPHASE_VALUE(name, Method, slowness) .value(#name, MethodName::name)
          BROADPHASE_METHODS(BROADPHASE_VALUE);
  nb::class_<AutoCosts> costs(module, "AutoCosts",
                              "What \"auto\" expects calls, boxes and pairs to cost: for `make tune`.");
#define BROADPHASE_BOUND(name, value, without) costs.def_rw(#name, &AutoCosts::name);
  BROADPHASE_AUTO_COSTS(BROADPHASE_BOUND)
  nb::dict without;
#define BROADPHASE_WITHOUT(name, value, without_it) without[#name] = double{without_it};
  BROADPHASE_AUTO_COSTS(BROADPHASE_WITHOUT)
  module.attr("auto_costs") = nb::cast(&auto_costs, nb::rv_policy::reference);
  module.attr("without_auto_costs") = without;
  nb::class_<PairFilter> filter(module, "PairFilter");
  filter
      .def(nb::init<std::pair<PairFilter::Words, PairFilter::Words>, std::pair<PairFilter::Words, PairFilter::Words>,
                    std::pair<PairFilter::Integers, PairFilter::Integers>,
                    std::pair<PairFilter::Bytes, PairFilter::Bytes>, std::pair<PairFilter::Rows, PairFilter::Rows>,
                    const PairFilter::Rows&, bool, std::pair<PairFilter::Integers, PairFilter::Integers>>(),
           "layer"_a, "mask"_a, "group"_a, "static"_a, "shared"_a, "ignored"_a.none(), "has_order"_a, "batch"_a)
      .def("allows", &allowed_pairs, "first"_a, "second"_a, "Whether each pair passes the filter.");
  filter.attr("few_shared") = Filter::kFewShared;
  nb::class_<BatchedRows>(module, "BatchedRows")
      .def(nb::init<const BatchedRows::Set&, const std::optional<BatchedRows::Set>&>(), "first"_a, "second"_a.none())
      .def_prop_ro("key_count", &BatchedRows::key_count);
  nb::class_<PlacedBoxes>(module, "PlacedBoxes")
      .def_static("in_cell", &PlacedBoxes::in_cell, "lower"_a, "upper"_a, "period"_a)
      .def("others", &PlacedBoxes::others, "lower"_a, "upper"_a)
      .def("placed", &PlacedBoxes::placed)
      .def("keep", &PlacedBoxes::keep, "queries"_a, "found"_a, "offsets"_a, "workers"_a);
  nb::class_<PairStream>(module, "PairStream")
      .def(nb::init<MethodName, AnyArray, AnyArray, std::optional<AnyArray>, std::optional<AnyArray>, bool, double,
                    nb::object, nb::object, unsigned, std::optional<Vector<double>>>(),
           "method"_a, "lower"_a, "upper"_a, "other_lower"_a.none(), "other_upper"_a.none(), "touching"_a, "margin"_a,
           "filter"_a.none(), "batches"_a.none(), "workers"_a, "period"_a = nb::none())
      .def("next", &PairStream::next, "wanted"_a);
  module.def("pairs", &pairs, "method"_a, "lower"_a, "upper"_a, "other_lower"_a.none(), "other_upper"_a.none(),
             "touching"_a, "margin"_a, "filter"_a.none(), "batches"_a.none(), "workers"_a, "sort"_a, "limit"_a,
             "period"_a = nb::none());
  module.def("planned_rows", &planned_rows, "count"_a,
             "The rows of one set that the first plan of a search is made by.");
  module.def("report", &report, "lower"_a, "upper"_a, "other_lower"_a.none(), "other_upper"_a.none(),
             "batches"_a.none(), "period"_a = nb::none());
  module.def("count", &count, "method"_a, "lower"_a, "upper"_a, "other_lower"_a.none(), "other_upper"_a.none(),
             "touching"_a, "margin"_a, "filter"_a.none(), "batches"_a.none(), "workers"_a, "period"_a = nb::none());
  module.def("join", &join, "method"_a, "lower"_a, "upper"_a, "query_lower"_a, "query_upper"_a, "workers"_a);
}

}  // namespace broadphase::python
