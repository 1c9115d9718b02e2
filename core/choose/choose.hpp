// Which method for a scene, and what each is expected to cost.
#pragma once

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

template <class T>
SceneReport report_scene(const Problem<T>& problem);

}  // namespace broadphase
