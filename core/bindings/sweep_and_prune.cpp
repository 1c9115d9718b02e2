// Boxes sorted once, and asked from Python.
#include "broadphase/sweep_and_prune.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "broadphase/interference.hpp"
#include "broadphase/ragged.hpp"
#include "broadphase/scan.hpp"
#include "broadphase/sweep_direction.hpp"

#include <nanobind/stl/vector.h>

namespace broadphase::python {

namespace {

template <class T>
class SweepIndex {
 public:
  // `axis`: -1 for the best, -2 for the principal direction, -3 for `weight`.
  SweepIndex(AnyArray lower, AnyArray upper, int axis, std::vector<double> weight) {
    Problem<T> problem;
    problem.first = view<T>(lower, upper);
    problem.dimension = lower.shape(1);
    const nb::gil_scoped_release release;
    if (!all_valid(problem.first, problem.dimension)) throw InvalidBoxes();
    SweepDirection direction;
    if (axis == -1) {
      direction = best_axis(problem);
    } else if (axis == -2) {
      direction = principal_direction(problem.first, problem.dimension);
    } else if (axis == -3) {
      direction.axis = -1;
      std::copy(weight.begin(), weight.end(), direction.weight.begin());
    } else {
      direction.axis = axis;
    }
    boxes_ = std::make_unique<Interference<T>>(problem.first, problem.dimension, direction, chosen_kernels());
  }

  int axis() const { return boxes_->sorted().direction().axis; }
  std::vector<double> weight() const {
    const SweepDirection& direction = boxes_->sorted().direction();
    std::vector<double> weight(boxes_->sorted().dimension(), 0.0);
    for (std::size_t k = 0; k < weight.size(); ++k)
      weight[k] = direction.axis < 0 ? direction.weight[k] : static_cast<double>(direction.axis == static_cast<int>(k));
    return weight;
  }

  nb::object void_borders() const {
    std::vector<T> ends;
    for (const VoidBorder<T>& border : boxes_->void_borders()) {
      ends.push_back(border.end);
      ends.push_back(border.begin);
    }
    return as_array(std::move(ends), 2);
  }

  nb::object query_rows(Vector<std::int64_t> rows, unsigned workers) const {
    const std::int64_t* asked = rows.data();
    const std::size_t count = rows.shape(0);
    return answer(count, workers, [&](std::size_t k, auto& scratch, auto& found) {
      boxes_->query_row(static_cast<std::size_t>(asked[k]), scratch, found);
    });
  }

  nb::object query(AnyArray lower, AnyArray upper, unsigned workers) const {
    const BoxView<T> asked = view<T>(lower, upper);
    {
      const nb::gil_scoped_release release;
      if (!all_valid(asked, boxes_->sorted().dimension())) throw InvalidBoxes();
    }
    return answer(asked.count, workers, [&](std::size_t k, auto& scratch, auto& found) {
      boxes_->query(asked.lower_of(k), asked.upper_of(k), scratch, found);
    });
  }

  nb::object pairs(unsigned workers) const {
    Pairs found;
    {
      const nb::gil_scoped_release release;
      Interrupt interrupt(signal_pending);
      const SweepAndPrune<T> method(boxes_->sorted(), chosen_kernels());
      found = collect_pairs(method, nullptr, workers, kNoLimit, interrupt);
    }
    return python::as_array(std::move(found));
  }

 private:
  template <class Ask>
  nb::object answer(std::size_t count, unsigned workers, const Ask& ask) const {
    Ragged answers;
    {
      const nb::gil_scoped_release release;
      Interrupt interrupt(signal_pending);
      answers = collect_ragged<typename Interference<T>::Scratch>(count, boxes_->count(), workers, interrupt, ask);
    }
    return as_tuple(std::move(answers));
  }

  std::unique_ptr<Interference<T>> boxes_;
};

template <class T>
void bind(nb::module_& module, const char* name) {
  using Index = SweepIndex<T>;
  nb::class_<Index>(module, name)
      .def(nb::init<AnyArray, AnyArray, int, std::vector<double>>(), nb::arg("lower"), nb::arg("upper"),
           nb::arg("axis"), nb::arg("weight"))
      .def_prop_ro("axis", &Index::axis)
      .def_prop_ro("weight", &Index::weight)
      .def("void_borders", &Index::void_borders)
      .def("query_rows", &Index::query_rows, nb::arg("rows"), nb::arg("workers"))
      .def("query", &Index::query, nb::arg("lower"), nb::arg("upper"), nb::arg("workers"))
      .def("pairs", &Index::pairs, nb::arg("workers"));
}

}  // namespace

void bind_sweep_and_prune(nb::module_& module) {
  bind<float>(module, "SweepIndex32");
  bind<double>(module, "SweepIndex64");
}

}  // namespace broadphase::python
