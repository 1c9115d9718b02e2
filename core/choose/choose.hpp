// Which method for a scene, and what each is expected to cost.
#pragma once

#include <algorithm>
#include <cstddef>

#include "choose/methods.hpp"
#include "grid/plan.hpp"
#include "query/problem.hpp"

namespace broadphase {

// Milliseconds on one core of the machine that the constants were fitted on; their ratios hold more widely.
struct MethodCosts {
  double brute_force, sweep_and_prune, grid, bvh;
};

struct SceneReport {
  double box_count = 0, pair_count = 0;  // pair_count: of all pairs, overlapping or not
  SceneShape shape;
  GridPlan plan{};
  MethodCosts costs{};
  MethodName choice = MethodName::brute_force;
  double tests = 0;  // pairs of boxes that a grid compares; infinite of another choice, whose plan is not checked

  // Along which the fewest boxes overlap.
  std::size_t axis_of(std::size_t dimension) const {
    return static_cast<std::size_t>(std::min_element(shape.meeting, shape.meeting + dimension) - shape.meeting);
  }
};

// Below so many pairs sampling the scene, some 10 microseconds, costs more than it can save: 316 boxes in float32.
// With AVX-512 brute force is the quickest up to 430 of them, with SSE2 up to 250; float64 takes it twice as long.
template <class T>
inline constexpr double kPairsWorthALook = 50000.0 * sizeof(float) / sizeof(T);

template <class T>
double all_pairs(const Problem<T>& problem) {
  const auto a = static_cast<double>(problem.first.count), b = static_cast<double>(problem.second.count);
  return problem.cross ? a * b : a * (a - 1) / 2;
}

// How much more crowded a box finds its surroundings than if all were spread evenly: sampled centres in a coarse grid
// of equal cells, the sum of squares against that of an even spread.
double clustering_of(const Sample& sample, const SceneShape& shape, std::size_t dimension);

// `look`: see sample_of.
template <class T>
SceneReport report_scene(const Problem<T>& problem, unsigned look = 0);

// No more than the shape and the plan of a grid, which is the choice.
template <class T>
SceneReport report_grid(const Problem<T>& problem, unsigned look = 0);

// How many plans a search may make: see with_plan in choose/find.hpp.
inline constexpr unsigned kMostPlans = 3;

// Whether a plan that costs so much is worth a larger sample before it is followed: one that takes a hundredth of it,
// and long for each box, as where a sample does not show what tells the boxes apart.
bool is_worth_another_look(const SceneReport& report, std::size_t dimension);

// How many tests are far more than a plan expects: those that take longer than another plan, too.
double most_tests_of(const SceneReport& report);

// Whether both search in about the same way.
bool is_same_plan(const SceneReport& one, const SceneReport& other, std::size_t dimension);

}  // namespace broadphase
