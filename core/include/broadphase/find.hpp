// The methods by name, and one call that runs any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "broadphase/brute_force.hpp"
#include "broadphase/collect.hpp"
#include "broadphase/grid.hpp"
#include "broadphase/kernels.hpp"
#include "broadphase/scan.hpp"

namespace broadphase {

enum class MethodName { automatic, brute_force, sweep_and_prune, grid };

template <class T>
using AnyMethod = std::variant<std::monostate, BruteForce<T>, Grid<T>>;

// Prepares `name` for `problem`, in place: the methods are large and do not move.
template <class T>
void check(const Problem<T>& problem) {
  if (!all_valid(problem.first, problem.dimension)) throw InvalidBoxes();
  if (problem.cross && !all_valid(problem.second, problem.dimension)) throw InvalidBoxes();
}

// Throws InvalidBoxes for NaN and for lower > upper. The grid sees to that itself, in the pass it makes anyway.
template <class T>
void prepare(AnyMethod<T>& method, MethodName name, const Problem<T>& problem, const Kernels& kernels,
             unsigned workers) {
  switch (name) {
    case MethodName::brute_force: check(problem); method.template emplace<BruteForce<T>>(problem, kernels, workers); break;
    case MethodName::automatic:
    case MethodName::sweep_and_prune:
    case MethodName::grid: method.template emplace<Grid<T>>(problem, kernels, workers); break;
  }
}

// Calls use(method) with the method that `method` holds.
template <class T, class Use>
auto with_method(const AnyMethod<T>& method, Use&& use) {
  if (const auto* grid = std::get_if<Grid<T>>(&method)) return use(*grid);
  return use(std::get<BruteForce<T>>(method));
}

}  // namespace broadphase
