// The methods by name, and one call that runs any of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "choose/choose.hpp"
#include "query/collect.hpp"
#include "query/preparation.hpp"

namespace broadphase {

template <class T>
class BatchedPairs;

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
const MethodCalls<T>& calls_by(MethodName name) {
  switch (name) {
    case MethodName::automatic: break;
#define BROADPHASE_CASE(name, Method, slowness) \
  case MethodName::name: return calls_of<Method, T>();
      BROADPHASE_METHODS(BROADPHASE_CASE)
#undef BROADPHASE_CASE
  }
  return calls_of<BruteForce, T>();
}

// Calls use(calls, with) for the method of this name. The method throws InvalidBoxes for NaN and for lower > upper.
template <class T, class Use>
auto with_method(MethodName name, const Problem<T>& problem, Preparation with, Use&& use) {
  if (problem.batches != nullptr) {
    with.name = name;
    return use(calls_of<BatchedPairs, T>(), with);
  }
  std::optional<SceneReport> report;
  if (name == MethodName::automatic && all_pairs(problem) < kPairsWorthALook<T>) {
    name = MethodName::brute_force;
  } else if (name == MethodName::automatic) {
    report.emplace(report_scene(problem));
    name = report->choice;
    const double* meeting = report->shape.meeting;
    with.axis = static_cast<int>(std::min_element(meeting, meeting + problem.dimension) - meeting);
    with.shape = &report->shape;
    with.plan = &report->plan;
  }
  return use(calls_by<T>(name), with);
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
