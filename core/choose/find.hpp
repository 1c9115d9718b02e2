// The methods by name, and one call that runs any of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "boxes/check.hpp"
#include "choose/choose.hpp"
#include "query/collect.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

template <class T>
class BruteForce;
template <class T>
class SweepAndPrune;
template <class T>
class Grid;
template <class T>
class LinearTree;
template <class T>
class BvhPairs;
template <class T>
class Octree;
template <class T>
class BatchedPairs;

// What a method is prepared with.
struct Preparation {
  const Kernels& kernels;
  unsigned workers;
  Interrupt& interrupt;
  const SceneShape* shape = nullptr;        // of the problem's boxes, for the grid
  const GridPlan* plan = nullptr;           // by that shape
  int axis = -1;                            // along which the fewest boxes overlap, for the sweep; below 0: not known
  MethodName name = MethodName::automatic;  // for each batch, for boxes in batches
};

// What can be done with a method, without its type: each prepares the method for the problem first.
template <class T>
struct MethodCalls {
  Pairs (*collect)(const Problem<T>& problem, std::uint64_t limit, const Preparation& with);
  std::uint64_t (*count)(const Problem<T>& problem, const Preparation& with);
  PreparedMethod (*prepare)(const Problem<T>& problem, const Preparation& with);
};

// Those of a method. A method takes seconds to compile, so each is compiled once: in a file that includes
// choose/method_calls.hpp and the method, and has BROADPHASE_COMPILED(Name).
template <template <class> class M, class T>
const MethodCalls<T>& calls_of();

template <class T>
void check(const Problem<T>& problem, Interrupt& interrupt) {
  if (!all_valid(problem.first, problem.dimension, interrupt)) throw InvalidBoxes();
  if (problem.cross && !all_valid(problem.second, problem.dimension, interrupt)) throw InvalidBoxes();
}

// Calls use(calls, with) for the method of this name. Throws InvalidBoxes for NaN and for lower > upper; the grid, the
// sweep of one axis and the trees see to that themselves, the first two in a pass that they make anyway.
template <class T, class Use>
auto with_method(MethodName name, const Problem<T>& problem, Preparation with, Use&& use) {
  if (problem.batches != nullptr) {
    check(problem, with.interrupt);
    with.name = name;
    return use(calls_of<BatchedPairs, T>(), with);
  }
  if (name == MethodName::automatic && all_pairs(problem) < kPairsWorthALook<T>) name = MethodName::brute_force;
  if (name == MethodName::automatic || name == MethodName::grid) {
    const SceneReport report = report_scene(problem);
    if (name == MethodName::automatic) name = report.choice;
    const double* meeting = report.shape.meeting;
    with.axis = static_cast<int>(std::min_element(meeting, meeting + problem.dimension) - meeting);
    if (name == MethodName::grid) {
      with.shape = &report.shape;
      with.plan = &report.plan;
      return use(calls_of<Grid, T>(), with);
    }
  }
  if (name == MethodName::linear_tree) return use(calls_of<LinearTree, T>(), with);
  if (name == MethodName::bvh) return use(calls_of<BvhPairs, T>(), with);
  if (name == MethodName::octree) return use(calls_of<Octree, T>(), with);
  if (name != MethodName::sweep_and_prune || problem.dimension > 1) check(problem, with.interrupt);
  if (name == MethodName::sweep_and_prune) return use(calls_of<SweepAndPrune, T>(), with);
  return use(calls_of<BruteForce, T>(), with);
}

// The method of this name, prepared to be kept; compiled once, in bindings/pairs.cpp.
template <class T>
PreparedMethod prepare_method(MethodName name, const Problem<T>& problem, const Preparation& with) {
  return with_method(name, problem, with, [&](const MethodCalls<T>& calls, const Preparation& prepared) {
    return calls.prepare(problem, prepared);
  });
}
extern template PreparedMethod prepare_method(MethodName, const Problem<float>&, const Preparation&);
extern template PreparedMethod prepare_method(MethodName, const Problem<double>&, const Preparation&);

}  // namespace broadphase
