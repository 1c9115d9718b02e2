// Which method for a scene, and what each is expected to cost.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "grid/plan.hpp"
#include "query/problem.hpp"

namespace broadphase {

enum class MethodName { automatic, brute_force, sweep_and_prune, grid, linear_tree, bvh, octree };

// Milliseconds on one core of the machine that the constants were fitted on; their ratios hold more widely.
struct MethodCosts {
  double brute_force, sweep_and_prune, grid;
};

struct SceneReport {
  double box_count = 0, pair_count = 0;  // pair_count: of all pairs, overlapping or not
  SceneShape shape;
  double clustering = 1;  // how much more crowded a box finds its surroundings than if all were spread evenly
  GridPlan plan{};
  MethodCosts costs{};
  MethodName choice = MethodName::brute_force;
};

// Below so many pairs sampling the scene, some 10 microseconds, costs more than it can save: 316 boxes in float32.
// With AVX-512 brute force is the quickest up to 430 of them, with SSE2 up to 250; float64 takes it twice as long.
template <class T>
inline constexpr double kPairsWorthALook = 50000.0 * sizeof(float) / sizeof(T);

// Nanoseconds for a pair that the grid's whole numbers do not decide.
inline constexpr double kUndecidedPair = 25;

template <class T>
double all_pairs(const Problem<T>& problem) {
  const auto a = static_cast<double>(problem.first.count), b = static_cast<double>(problem.second.count);
  return problem.cross ? a * b : a * (a - 1) / 2;
}

// Sampled centres in a coarse grid of equal cells: sum of squares against that of an even spread.
inline double clustering_of(const Sample& sample, const SceneShape& shape, std::size_t dimension) {
  constexpr std::size_t kAlong = 4;
  std::array<double, kAlong * kAlong * kAlong * kAlong> count{};
  double all = 0, cells = 1;
  for (std::size_t d = 0; d < dimension; ++d) cells *= shape.width[d] > 0 ? double{kAlong} : 1.0;
  for (const Sample::Box& box : sample.boxes) {
    std::size_t cell = 0;
    for (std::size_t d = 0; d < dimension; ++d) {
      const double centre = box.lower[d] / 2 + box.upper[d] / 2;
      const double place = shape.width[d] > 0 ? (centre - shape.low[d]) / shape.width[d] * kAlong : 0;
      cell = cell * kAlong + static_cast<std::size_t>(place > 0 ? std::min(place, double{kAlong - 1}) : 0);
    }
    ++count[cell];
    ++all;
  }
  double squares = 0;
  for (const double x : count) squares += x * (x - 1);
  return all > 1 ? squares / (all * (all - 1)) * cells : 1;
}

template <class T>
SceneReport report_scene(const Problem<T>& problem) {
  constexpr double kMillisecond = 1e6;
  SceneReport report;
  const Sample sample = sample_of(problem);
  const double n = sample.box_count;
  report.box_count = n;
  report.pair_count = all_pairs(problem);
  report.shape = shape_of(sample, problem.dimension);
  report.clustering = clustering_of(sample, report.shape, problem.dimension);
  report.plan = plan_cells(report.shape, n, problem.dimension);
  const double pair_cost = 0.25 * static_cast<double>(problem.dimension) * (sizeof(T) == 4 ? 1 : 2) / 3;
  const double* meeting = report.shape.meeting;
  const double in_run = *std::min_element(meeting, meeting + problem.dimension);
  report.costs.brute_force = (500 + 20 * n + report.pair_count * pair_cost) / kMillisecond;
  report.costs.sweep_and_prune = (3000 + 100 * n + 2 * report.pair_count * in_run * pair_cost) / kMillisecond;
  report.costs.grid = (4000 + report.plan.cost) / kMillisecond;
  // Boxes on many scales around one place: cells put them into one heap, in which whole numbers decide nothing. A
  // large heap where hardly any boxes meet is one dense spot, which a grid of its own resolves; else those have heaps,
  // too, however deep.
  const double blurred = report.shape.blurred[report.plan.sweep_axis];
  if (blurred > 2 * in_run) {
    const double heap = n * std::sqrt(2 * blurred);
    if (heap < static_cast<double>(kCrowd))
      report.costs.grid += n * n * (blurred - in_run) * kUndecidedPair / kMillisecond;
    else if (in_run > 0.02)
      report.costs.grid += n * n * blurred / kBlockLanes * GridCosts::kBlock / kMillisecond;
  }
  report.choice = MethodName::grid;
  if (report.costs.sweep_and_prune < report.costs.grid) report.choice = MethodName::sweep_and_prune;
  if (report.costs.brute_force < std::min(report.costs.grid, report.costs.sweep_and_prune))
    report.choice = MethodName::brute_force;
  return report;
}

}  // namespace broadphase
