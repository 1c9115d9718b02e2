// Sorted boxes that stay: pairs and questions about single boxes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "broadphase/interference.hpp"
#include "broadphase/ragged.hpp"
#include "broadphase/scan.hpp"
#include "broadphase/sort_pairs.hpp"
#include "broadphase/sweep_and_prune.hpp"

namespace broadphase::python {

namespace {

// A one-dimensional array that owns its numbers.
template <class Number>
nb::object as_array(std::vector<Number>&& numbers) {
  auto kept = std::make_unique<std::vector<Number>>(std::move(numbers));
  Number* data = kept->data();
  const std::size_t size = kept->size();
  nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, Number>(data, 1, &size, owner));
}

nb::object as_arrays(Ragged&& answers) {
  return nb::make_tuple(as_array(std::move(answers.rows)), as_array(std::move(answers.offsets)));
}

// Immutable once made, and so safe to ask from many threads at once.
class SweepIndex {
 public:
  // An axis, 0 to d - 1; a direction, d numbers; or "auto" or "principal".
  using Along = std::variant<int, std::vector<double>, std::string>;

  SweepIndex(const AnyArray& lower, const AnyArray& upper, const Along& along) {
    const nb::gil_scoped_release release;
    if (lower.dtype() == nb::dtype<float>())
      build<float>(lower, upper, along);
    else
      build<double>(lower, upper, along);
  }

  // The axis, or nothing, and the unit vector.
  std::pair<std::optional<int>, std::vector<double>> direction() const {
    return with_index([](const auto& index) -> std::pair<std::optional<int>, std::vector<double>> {
      const SweepDirection& along = index.sorted().direction();
      std::vector<double> weight(index.sorted().dimension(), 0.0);
      if (along.axis >= 0) {
        weight[static_cast<std::size_t>(along.axis)] = 1;
        return {along.axis, weight};
      }
      std::copy_n(along.weight.begin(), weight.size(), weight.begin());
      return {std::nullopt, weight};
    });
  }

  // End and begin of each in turn.
  nb::object void_borders() const {
    return with_index([](const auto& index) {
      const auto borders = index.void_borders();
      std::vector<std::remove_cvref_t<decltype(borders[0].end)>> numbers;
      numbers.reserve(2 * borders.size());
      for (const auto& border : borders) {
        numbers.push_back(border.end);
        numbers.push_back(border.begin);
      }
      return as_array(std::move(numbers));
    });
  }

  nb::object pairs(unsigned workers, bool sort, std::uint64_t limit) const {
    Pairs result;
    {
      const nb::gil_scoped_release release;
      Interrupt interrupt(signal_pending);
      result = with_index([&](const auto& index) {
        const SweepAndPrune method(index.sorted(), chosen_kernels(), interrupt);
        return collect_pairs(method, nullptr, workers, limit, interrupt);
      });
      if (sort) sort_pairs(result, count(), workers, interrupt);
    }
    return broadphase::python::as_array(std::move(result));
  }

  // Rows are those of this index: Python sees to that.
  nb::object query_rows(const Vector<std::int64_t>& rows, unsigned workers) const {
    const std::int64_t* row = rows.data();
    return ask(rows.shape(0), workers, [&](const auto& index, std::size_t k, auto& scratch, auto& answer) {
      index.query_row(static_cast<std::size_t>(row[k]), scratch, answer);
    });
  }

  // Boxes of the dtype and dimension of this index: Python sees to that, too.
  nb::object query(const AnyArray& lower, const AnyArray& upper, unsigned workers) const {
    return ask(lower.shape(0), workers, [&](const auto& index, std::size_t k, auto& scratch, auto& answer) {
      const auto boxes = view<typename std::remove_cvref_t<decltype(index)>::Number>(lower, upper);
      index.query(boxes.lower_of(k), boxes.upper_of(k), scratch, answer);
    });
  }

 private:
  template <class T>
  void build(const AnyArray& lower, const AnyArray& upper, const Along& along) {
    Problem<T> problem;
    problem.first = view<T>(lower, upper);
    problem.dimension = lower.shape(1);
    if (!all_valid(problem.first, problem.dimension)) throw InvalidBoxes();
    SweepDirection direction;
    if (const auto* axis = std::get_if<int>(&along)) {
      direction.axis = *axis;
    } else if (const auto* weight = std::get_if<std::vector<double>>(&along)) {
      direction.axis = -1;
      std::copy_n(weight->begin(), problem.dimension, direction.weight.begin());
    } else {
      const bool principal = std::get<std::string>(along) == "principal";
      direction = principal ? principal_direction(problem.first, problem.dimension) : best_axis(problem);
    }
    index_.emplace<std::unique_ptr<Interference<T>>>(std::make_unique<Interference<T>>(
        problem.first, problem.dimension, direction, chosen_kernels(), Interrupt(signal_pending)));
  }

  template <class Use>
  auto with_index(Use&& use) const {
    if (const auto* index = std::get_if<std::unique_ptr<Interference<float>>>(&index_)) return use(**index);
    return use(*std::get<std::unique_ptr<Interference<double>>>(index_));
  }

  std::size_t count() const {
    return with_index([](const auto& index) { return index.count(); });
  }

  template <class Ask>
  nb::object ask(std::size_t questions, unsigned workers, const Ask& ask_one) const {
    using Scratch = Interference<float>::Scratch;  // the same for doubles
    Ragged answers;
    {
      const nb::gil_scoped_release release;
      Interrupt interrupt(signal_pending);
      answers = with_index([&](const auto& index) {
        return collect_ragged<Scratch>(
            questions, index.count(), workers, interrupt,
            [&](std::size_t k, Scratch& scratch, auto& answer) { ask_one(index, k, scratch, answer); });
      });
    }
    return as_arrays(std::move(answers));
  }

  std::variant<std::unique_ptr<Interference<float>>, std::unique_ptr<Interference<double>>> index_;
};

}  // namespace

void bind_sweep_and_prune(nb::module_& module) {
  nb::class_<SweepIndex>(module, "SweepIndex")
      .def(nb::init<const AnyArray&, const AnyArray&, const SweepIndex::Along&>(), nb::arg("lower"), nb::arg("upper"),
           nb::arg("along"))
      .def("direction", &SweepIndex::direction)
      .def("void_borders", &SweepIndex::void_borders)
      .def("pairs", &SweepIndex::pairs, nb::arg("workers"), nb::arg("sort"), nb::arg("limit"))
      .def("query_rows", &SweepIndex::query_rows, nb::arg("rows"), nb::arg("workers"))
      .def("query", &SweepIndex::query, nb::arg("lower"), nb::arg("upper"), nb::arg("workers"));
}

}  // namespace broadphase::python
