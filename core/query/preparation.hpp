// What a method is constructed with, besides its problem.
#pragma once

#include <exception>
#include <limits>

#include "base/parallel.hpp"
#include "boxes/check.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

struct GridPlan;
struct SceneShape;
enum class MethodName : int;  // choose/methods.hpp

// Thrown while a method is prepared by a plan: the search would test far more pairs than the plan expected.
struct PlanMissed : std::exception {
  explicit PlanMissed(double found) : tests(found) {}
  const char* what() const noexcept override { return "far more tests than were planned"; }
  double tests;  // pairs of boxes that would be compared, and do not overlap
};

// All methods have one constructor in common: (problem, preparation). What "auto" has found out while choosing a method
// is passed on to it; where the method is named, it finds out itself what it needs.
struct Preparation {
  const Kernels& kernels;
  unsigned workers;
  Interrupt& interrupt;
  const SceneShape* shape = nullptr;  // of the problem's boxes, for the grid, with the plan by that shape
  const GridPlan* plan = nullptr;
  double most_tests = std::numeric_limits<double>::infinity();  // beyond them, the constructor throws PlanMissed
  int axis = -1;      // along which the fewest boxes overlap, for the sweep; below 0: not known
  MethodName name{};  // for each batch, for boxes in batches
};

template <class T>
void check(const Problem<T>& problem, const Preparation& with) {
  const auto check_set = [&](const BoxView<T>& boxes) {
    if (!all_valid(boxes, problem.dimension, with.workers, with.interrupt)) throw InvalidBoxes();
  };
  check_set(problem.first);
  if (problem.cross) check_set(problem.second);
}
// The same problem, after the check: for the first of a constructor's initializers.
template <class T>
const Problem<T>& checked(const Problem<T>& problem, const Preparation& with) {
  check(problem, with);
  return problem;
}

}  // namespace broadphase
