// The methods by name, and one call that runs any of them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "choose/choose.hpp"
#include "choose/scaled.hpp"
#include "query/collect.hpp"
#include "query/preparation.hpp"

namespace broadphase {

template <class T>
class BatchedPairs;
template <class T>
class FewInCells;

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

// Those that follow the plan.
template <class T>
const MethodCalls<T>& calls_by(const SceneReport& report) {
  return report.plan.few != nullptr ? calls_of<FewInCells, T>() : calls_by<T>(report.choice);
}

// How the plan of a search came about.
struct PlanHistory {
  unsigned plans = 0;
  double expected = 0, found = 0;  // tests, by the last plan that was given up; 0: none was
};

// Calls use(report, with) for the plan of "auto", or of the grid. A grid that finds, as soon as boxes are filed, that
// it would test far more of them than planned throws PlanMissed while it is prepared, before there is any answer. Then
// another plan is made, by a larger sample of other rows; so is one where a plan is expensive. The last
// one is followed whatever it costs, and so is one that is the same again. Nothing of this depends on `workers`.
template <class T, class Use>
auto with_plan(MethodName name, const Problem<T>& problem, Preparation with, PlanHistory& history, Use&& use) {
  const auto plan = [&] {
    const unsigned look = history.plans++;
    return name == MethodName::grid ? report_grid(problem, look) : report_scene(problem, look);
  };
  SceneReport report = plan();
  if (is_worth_another_look(report, problem.dimension)) report = plan();
  for (bool is_checked = true;;) {
    with.axis = static_cast<int>(report.axis_of(problem.dimension));
    with.shape = &report.shape;
    with.plan = &report.plan;
    with.most_tests = is_checked ? most_tests_of(report) : std::numeric_limits<double>::infinity();
    try {
      return use(report, with);
    } catch (const PlanMissed& missed) {
      history.expected = report.tests;
      history.found = missed.tests;
    }
    SceneReport next = plan();
    is_checked = history.plans < kMostPlans && !is_same_plan(report, next, problem.dimension);
    report = std::move(next);
  }
}

// Calls use(calls, problem, with, boxes) for the method of this name. The problem may be another one with the same
// answer, whose boxes `boxes` owns. The method throws InvalidBoxes for NaN and for lower > upper.
template <class T, class Use>
auto with_method(MethodName name, const Problem<T>& problem, Preparation with, Use&& use) {
  using Boxes = std::shared_ptr<const void>;
  if (problem.batches != nullptr) {
    with.name = name;
    return use(calls_of<BatchedPairs, T>(), problem, with, Boxes());
  }
  const bool are_few = all_pairs(problem) < kPairsWorthALook<T>;
  if (name == MethodName::automatic && are_few) name = MethodName::brute_force;
  const auto search = [&](const Problem<T>& of, const Boxes& boxes) {
    if (name != MethodName::automatic && name != MethodName::grid) return use(calls_by<T>(name), of, with, boxes);
    PlanHistory history;
    return with_plan(name, of, with, history, [&](const SceneReport& report, const Preparation& planned) {
      return use(calls_by<T>(report), of, planned, boxes);
    });
  };
  if (name != MethodName::brute_force && !are_few && are_tiny(problem)) {
    const auto scaled = std::make_shared<const ScaledProblem<T>>(problem, with.interrupt);
    return search(scaled->problem(), scaled);
  }
  return search(problem, nullptr);
}

// All pairs, by the method of this name. Throws TooManyPairs beyond the limit.
template <class T>
Pairs find_pairs(MethodName name, const Problem<T>& problem, std::uint64_t limit, const Preparation& with) {
  return with_method(name, problem, with,
                     [&](const MethodCalls<T>& calls, const Problem<T>& of, const Preparation& prepared, const auto&) {
                       return calls.collect(of, limit, prepared);
                     });
}

// Their number.
template <class T>
std::uint64_t count_pairs(MethodName name, const Problem<T>& problem, const Preparation& with) {
  return with_method(name, problem, with,
                     [](const MethodCalls<T>& calls, const Problem<T>& of, const Preparation& prepared, const auto&) {
                       return calls.count(of, prepared);
                     });
}

// The method of this name, prepared to be kept; compiled once, in bindings/pairs.cpp.
template <class T>
PreparedMethod prepare_method(MethodName name, const Problem<T>& problem, const Preparation& with) {
  return with_method(name, problem, with,
                     [](const MethodCalls<T>& calls, const Problem<T>& of, const Preparation& prepared,
                        const std::shared_ptr<const void>& boxes) {
                       PreparedMethod result = calls.prepare(of, prepared);
                       if (boxes != nullptr) result.keep(boxes);
                       return result;
                     });
}
extern template PreparedMethod prepare_method(MethodName, const Problem<float>&, const Preparation&);
extern template PreparedMethod prepare_method(MethodName, const Problem<double>&, const Preparation&);

}  // namespace broadphase
