// The methods by name, and one call that runs any of them.
#pragma once

#include <variant>

#include "boxes/check.hpp"
#include "brute_force/brute_force.hpp"
#include "bvh/pairs.hpp"
#include "choose/choose.hpp"
#include "grid/grid.hpp"
#include "linear_tree/pairs.hpp"
#include "octree/pairs.hpp"
#include "query/collect.hpp"
#include "simd/kernels.hpp"
#include "sweep/sweep_and_prune.hpp"

namespace broadphase {

template <class T>
using AnyMethod =
    std::variant<std::monostate, BruteForce<T>, SweepAndPrune<T>, Grid<T>, LinearTree<T>, BvhPairs<T>, Octree<T>>;

template <class T>
void check(const Problem<T>& problem, Interrupt& interrupt) {
  if (!all_valid(problem.first, problem.dimension, interrupt)) throw InvalidBoxes();
  if (problem.cross && !all_valid(problem.second, problem.dimension, interrupt)) throw InvalidBoxes();
}

// Prepares `name` for `problem`, in place: the methods are large and do not move. Throws InvalidBoxes for NaN and for
// lower > upper; the grid sees to that itself, in a pass that it makes anyway.
template <class T>
void prepare(AnyMethod<T>& method, MethodName name, const Problem<T>& problem, const Kernels& kernels, unsigned workers,
             Interrupt& interrupt) {
  if (name == MethodName::automatic && all_pairs(problem) < kPairsWorthALook<T>) name = MethodName::brute_force;
  if (name == MethodName::automatic || name == MethodName::grid) {
    const SceneReport report = report_scene(problem);
    if (name == MethodName::automatic) name = report.choice;
    if (name == MethodName::grid) {
      method.template emplace<Grid<T>>(problem, kernels, workers, report.shape, interrupt);
      return;
    }
  }
  check(problem, interrupt);
  if (name == MethodName::sweep_and_prune)
    method.template emplace<SweepAndPrune<T>>(problem, kernels, workers, interrupt);
  else if (name == MethodName::linear_tree)
    method.template emplace<LinearTree<T>>(problem, kernels, workers, interrupt);
  else if (name == MethodName::bvh)
    method.template emplace<BvhPairs<T>>(problem, kernels, workers, interrupt);
  else if (name == MethodName::octree)
    method.template emplace<Octree<T>>(problem, kernels, workers, interrupt);
  else
    method.template emplace<BruteForce<T>>(problem, kernels, workers, interrupt);
}

// Calls use(method) with the method that `method` holds.
template <class T, class Use>
auto with_method(const AnyMethod<T>& method, Use&& use) {
  if (const auto* grid = std::get_if<Grid<T>>(&method)) return use(*grid);
  if (const auto* tree = std::get_if<BvhPairs<T>>(&method)) return use(*tree);
  if (const auto* octree = std::get_if<Octree<T>>(&method)) return use(*octree);
  if (const auto* sweep = std::get_if<SweepAndPrune<T>>(&method)) return use(*sweep);
  if (const auto* linear = std::get_if<LinearTree<T>>(&method)) return use(*linear);
  return use(std::get<BruteForce<T>>(method));
}

}  // namespace broadphase
