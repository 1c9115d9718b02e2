// Sweep and prune as an index.
#include "sweep/sweep_and_prune.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "choose/method_calls.hpp"
#include "filters.hpp"
#include "query/collect.hpp"
#include "sweep/sweep_index.hpp"

BROADPHASE_COMPILED(SweepAndPrune);

namespace broadphase::python {

namespace {

// float32 or float64, as the store is when it is built.
class SweepBoxes {
 public:
  // `along`: "automatic", "principal", or neither: the axis, or the weights where there are any.
  SweepBoxes(std::size_t dimension, const std::string& along, int axis, const std::vector<double>& weights,
             unsigned workers)
      : dimension_(dimension), workers_(workers), along_(SweepAlong::given) {
    if (along == "automatic") along_ = SweepAlong::automatic;
    if (along == "principal") along_ = SweepAlong::principal;
    given_.axis = weights.empty() ? axis : -1;
    std::copy(weights.begin(), weights.end(), given_.weight.begin());
  }

  void build(AnyArray lower, AnyArray, Rows rows) {
    const bool is_float32 = lower.dtype() == nb::dtype<float>();
    if (!index_ || is_float32 != std::holds_alternative<Index<float>>(*index_)) {
      if (is_float32)
        index_.emplace(std::make_unique<SweepIndex<float>>(dimension_, along_, given_, workers_));
      else
        index_.emplace(std::make_unique<SweepIndex<double>>(dimension_, along_, given_, workers_));
    }
    each([&](auto& index) { index.replace(lower.shape(0), rows.data(), rows.shape(0)); });
  }
  void insert(AnyArray lower, AnyArray upper, Rows rows) {
    if (!index_) return build(lower, upper, rows);
    each([&](auto& index) { index.order().insert(lower.shape(0), rows.data(), rows.shape(0)); });
  }
  void update(AnyArray, AnyArray, Rows rows) {
    each([&](auto& index) { index.order().move(rows.data(), rows.shape(0)); });
  }
  void remove(Rows rows) {
    each([&](auto& index) { index.order().remove(rows.data(), rows.shape(0)); });
  }

  void arrange(AnyArray lower, AnyArray upper) {
    with_index(lower, upper,
               [](auto& index, const auto& boxes, Interrupt& interrupt) { index.arrange(boxes, interrupt); });
  }

  nb::object pairs(AnyArray lower, AnyArray upper, bool touching, const PairFilter* filter, unsigned workers, bool sort,
                   std::uint64_t limit) {
    Pairs found;
    with_index(lower, upper, [&](auto& index, const auto& boxes, Interrupt& interrupt) {
      found = index.pairs(boxes, touching, filter != nullptr ? filter->get() : nullptr, chosen_kernels(), workers,
                          limit, interrupt);
      if (sort) sort_pairs(found, boxes.count, workers, interrupt);
    });
    return as_array(std::move(found));
  }
  std::uint64_t count(AnyArray lower, AnyArray upper, bool touching, const PairFilter* filter, unsigned workers) {
    std::uint64_t found = 0;
    with_index(lower, upper, [&](auto& index, const auto& boxes, Interrupt& interrupt) {
      found = index.count(boxes, touching, filter != nullptr ? filter->get() : nullptr, chosen_kernels(), workers,
                          interrupt);
    });
    return found;
  }

  // For each row of `queries`, which must be in use: the rows that interfere with it, without itself.
  nb::object query_rows(AnyArray lower, AnyArray upper, Rows queries, unsigned workers) {
    const std::int32_t* rows = queries.data();
    return answer(lower, upper, queries.shape(0), workers, true, [=](const auto& index, const auto& interference) {
      return [&, rows](std::size_t k, auto& scratch, auto& found) {
        interference.query_position(index.order().position_of(static_cast<std::size_t>(rows[k])), scratch, found);
      };
    });
  }
  // For boxes in the dtype of the store; where they had to be rounded to it, lower corners up and upper corners down.
  nb::object query(AnyArray lower, AnyArray upper, AnyArray query_lower, AnyArray query_upper, unsigned workers) {
    return answer(lower, upper, query_lower.shape(0), workers, false, [&](const auto&, const auto& interference) {
      using T = std::remove_cvref_t<decltype(*interference.sorted().begins())>;
      return [&, queries = view<T>(query_lower, query_upper)](std::size_t k, auto& scratch, auto& found) {
        interference.query(queries.lower_of(k), queries.upper_of(k), scratch, found);
      };
    });
  }

  nb::object void_borders(AnyArray lower, AnyArray upper) {
    nb::object result;
    with_index(lower, upper, [&](auto& index, const auto& boxes, Interrupt& interrupt) {
      using T = std::remove_cvref_t<decltype(*boxes.lower)>;
      std::vector<T> ends;
      for (const VoidBorder<T>& border : index.interference(boxes, chosen_kernels(), interrupt).void_borders()) {
        ends.push_back(border.end);
        ends.push_back(border.begin);
      }
      const RetakenGil gil;
      result = as_table(std::move(ends), 2);
    });
    return result;
  }

  // After arrange(): the axis, -1 where it is none, and the direction, of any length.
  nb::object direction() const {
    std::vector<double> weights(dimension_, 0.0);
    SweepDirection along = given_;
    if (index_) each([&](const auto& index) { along = index.choice().direction(); });
    for (std::size_t k = 0; k < dimension_; ++k)
      weights[k] = along.axis < 0 ? along.weight[k] : static_cast<double>(along.axis == static_cast<int>(k));
    return nb::make_tuple(along.axis, weights);
  }

  nb::dict stats() const {
    nb::dict result;
    each([&](const auto& index) {
      const SortCounts& sorts = index.order().sorts();
      const std::uint64_t rows = index.order().alive();
      std::uint64_t groups = 0;
      index.order().for_each_group([&](const double*) { ++groups; });
      result["rows"] = rows;
      result["cells"] = groups;
      result["depth"] = 1;
      result["brute_force_tests"] = rows > 0 ? rows * (rows - 1) / 2 : 0;
      result["tests"] = index.tests();
      result["pairs"] = index.pairs_found();
      result["direction_changes"] = index.choice().times_changed();
      result["sorts_full"] = sorts.full;
      result["sorts_merged"] = sorts.merged;
      result["sorts_nearly_sorted"] = sorts.nearly_sorted;
      result["moves"] = sorts.moves;
      result["bytes"] = static_cast<std::uint64_t>(index.bytes());
    });
    return result;
  }

  // The groups of boxes between void borders. After arrange().
  nb::tuple outline() const {
    Outline outline(dimension_);
    each([&](const auto& index) {
      index.order().for_each_group([&](const double* box) {
        outline.lower.insert(outline.lower.end(), box, box + dimension_);
        outline.upper.insert(outline.upper.end(), box + dimension_, box + 2 * dimension_);
        outline.level.push_back(0);
      });
    });
    return std::move(outline).as_tuple();
  }

  // The first violation, or "". `rows`: all rows that should be in the index.
  std::string validate(AnyArray lower, AnyArray upper, Rows rows) {
    std::string wrong;
    with_index(lower, upper, [&](auto& index, const auto& boxes, Interrupt& interrupt) {
      index.arrange(boxes, interrupt);
      if (rows.shape(0) != index.order().alive()) wrong = "the number of rows is not the number in the index";
      for (std::size_t k = 0; k < rows.shape(0) && wrong.empty(); ++k)
        if (!index.order().is_alive(static_cast<std::size_t>(rows.data()[k])))
          wrong = "row " + std::to_string(rows.data()[k]) + " is missing";
      const char* fault = wrong.empty() ? index.order().fault(boxes) : nullptr;
      if (fault != nullptr) wrong = fault;
    });
    return wrong;
  }

  std::size_t memory_bytes() const {
    std::size_t result = 0;
    if (index_) each([&](const auto& index) { result = index.bytes(); });
    return result;
  }

 private:
  template <class T>
  using Index = std::unique_ptr<SweepIndex<T>>;

  template <class Use>
  void each(Use&& use) {
    if (index_) std::visit([&](auto& index) { use(*index); }, *index_);
  }
  template <class Use>
  void each(Use&& use) const {
    if (index_) std::visit([&](const auto& index) { use(std::as_const(*index)); }, *index_);
  }

  // Without the GIL.
  template <class Use>
  void with_index(const AnyArray& lower, const AnyArray& upper, Use&& use) {
    if (!index_) return;
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    if (auto* index = std::get_if<Index<float>>(&*index_))
      use(**index, view<float>(lower, upper), interrupt);
    else
      use(*std::get<Index<double>>(*index_), view<double>(lower, upper), interrupt);
  }

  // make(index, interference) returns the function that answers each query, by positions of rows or not.
  template <class Make>
  nb::object answer(const AnyArray& lower, const AnyArray& upper, std::size_t count, unsigned workers, bool by_position,
                    const Make& make) {
    RaggedBlocks answers;
    answers.begin(count);
    with_index(lower, upper, [&](auto& index, const auto& boxes, Interrupt& interrupt) {
      using T = std::remove_cvref_t<decltype(*boxes.lower)>;
      const Interference<T>& interference = index.interference(boxes, chosen_kernels(), interrupt, by_position);
      answers = collect_ragged<typename Interference<T>::Scratch>(count, interference.count(), workers, interrupt,
                                                                  make(std::as_const(index), interference));
    });
    return as_tuple(std::move(answers));
  }

  std::size_t dimension_;
  unsigned workers_;
  SweepAlong along_;
  SweepDirection given_;
  std::optional<std::variant<Index<float>, Index<double>>> index_;
};

}  // namespace

void bind_sweep_and_prune(nb::module_& module) {
  const auto lower = "lower"_a, upper = "upper"_a, rows = "rows"_a, workers = "workers"_a;
  const auto touching = "touching"_a;
  const auto filter = "filter"_a.none();
  nb::class_<SweepBoxes>(module, "SweepIndex")
      .def(nb::init<std::size_t, std::string, int, std::vector<double>, unsigned>(), "dimension"_a, "along"_a, "axis"_a,
           "weights"_a, "workers"_a)
      .def("build", &SweepBoxes::build, lower, upper, rows)
      .def("insert", &SweepBoxes::insert, lower, upper, rows)
      .def("update", &SweepBoxes::update, lower, upper, rows)
      .def("remove", &SweepBoxes::remove, rows)
      .def("arrange", &SweepBoxes::arrange, lower, upper)
      .def("pairs", &SweepBoxes::pairs, lower, upper, touching, filter, workers, "sort"_a, "limit"_a)
      .def("count", &SweepBoxes::count, lower, upper, touching, filter, workers)
      .def("query_rows", &SweepBoxes::query_rows, lower, upper, "queries"_a, workers)
      .def("query", &SweepBoxes::query, lower, upper, "query_lower"_a, "query_upper"_a, workers)
      .def("void_borders", &SweepBoxes::void_borders, lower, upper)
      .def("direction", &SweepBoxes::direction)
      .def("stats", &SweepBoxes::stats)
      .def("outline", &SweepBoxes::outline)
      .def("validate", &SweepBoxes::validate, lower, upper, rows)
      .def_prop_ro("memory_bytes", &SweepBoxes::memory_bytes);
}

}  // namespace broadphase::python
