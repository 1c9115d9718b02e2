// Which method for a scene: see choose.hpp.
#include "choose/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "base/samples.hpp"
#include "choose/costs.hpp"
#include "grid/few_in_cells.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

double clustering_of(const Sample& sample, const SceneShape& shape, std::size_t dimension) {
  constexpr std::size_t kAlong = 4;
  std::array<double, kAlong * kAlong * kAlong * kAlong> count{};
  double all = 0, cells = 1;
  for (std::size_t d = 0; d < dimension; ++d) cells *= shape.cut(d) ? double{kAlong} : 1.0;
  for (const Sample::Box& box : sample.boxes) {
    std::size_t cell = 0;
    for (std::size_t d = 0; d < dimension; ++d) {
      const double centre = box.lower[d] / 2 + box.upper[d] / 2;
      const double place = shape.map[d].even_place(centre) * kAlong;
      cell = cell * kAlong + static_cast<std::size_t>(place > 0 ? std::min(place, double{kAlong - 1}) : 0);
    }
    ++count[cell];
    ++all;
  }
  double squares = 0;
  for (const double x : count) squares += x * (x - 1);
  return all > 1 ? squares / (all * (all - 1)) * cells : 1;
}

namespace {

constexpr double kMillisecond = 1e6;  // in nanoseconds, as all costs
constexpr double kNone = std::numeric_limits<double>::infinity();

bool overlap(const Sample::Box& a, const Sample::Box& b, std::size_t dimension) {
  bool meet = true;
  for (std::size_t d = 0; d < dimension; ++d) meet &= a.lower[d] <= b.upper[d] && b.lower[d] <= a.upper[d];
  return meet;
}

// Of all pairs of boxes, the share that overlaps, by a few of them.
double overlapping_share(const Sample& sample, std::size_t dimension) {
  const StratifiedSample taken(sample.boxes.size(), 128);
  std::size_t overlapping = 0, all = 0;
  for (std::size_t i = 0; i < taken.size(); ++i)
    for (std::size_t j = i + 1; j < taken.size(); ++j, ++all)
      overlapping += overlap(sample.boxes[taken[i]], sample.boxes[taken[j]], dimension);
  return all > 0 ? static_cast<double>(overlapping) / static_cast<double>(all) : 0;
}

// Of the blocks of a sweep's order that begin within a box, the share that it meets along the other axes: see
// IntervalSweep. By blocks of the sample, which spread over more.
double met_blocks(const Sample& sample, std::size_t axis, std::size_t dimension) {
  std::vector<const Sample::Box*> order;
  order.reserve(sample.boxes.size());
  for (const Sample::Box& box : sample.boxes) order.push_back(&box);
  std::sort(order.begin(), order.end(),
            [axis](const Sample::Box* a, const Sample::Box* b) { return a->lower[axis] < b->lower[axis]; });
  std::vector<Sample::Box> blocks;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k % kBlockOfRun == 0) blocks.push_back(*order[k]);
    for (std::size_t d = 0; d < dimension; ++d) {
      blocks.back().lower[d] = std::min(blocks.back().lower[d], order[k]->lower[d]);
      blocks.back().upper[d] = std::max(blocks.back().upper[d], order[k]->upper[d]);
    }
  }
  std::size_t met = 0, all = 0;
  for (std::size_t k = 0; k < order.size(); ++k)
    for (std::size_t block = k / kBlockOfRun + 1; block < blocks.size(); ++block, ++all) {
      if (blocks[block].lower[axis] > order[k]->upper[axis]) break;
      met += overlap(*order[k], blocks[block], dimension);
    }
  return all > 0 ? static_cast<double>(met) / static_cast<double>(all) : 1;
}

// Nanoseconds for the pairs of a grid that whole numbers do not tell apart, where boxes lie close together in far more
// places than the plan's cells and sample can show: along every axis many more boxes meet than would by their corners.
double blur_cost(const SceneShape& shape, const GridPlan& plan, double box_count, std::size_t dimension) {
  double blur = 1;
  for (std::size_t d = 0; d < dimension; ++d) blur = std::min(blur, shape.blurred[d] - shape.meeting[d]);
  if (blur < auto_costs.grid_blur_chance) return 0;  // evenly spread boxes that end where others begin
  const double along = *std::min_element(plan.cells, plan.cells + dimension);  // each cell has whole numbers of its own
  // Of clusters wide enough, the boxes are not ranked.
  return box_count *
         std::min(auto_costs.grid_blur_ranked * GridCosts::kRank, GridCosts::kUndecided * blur / along * box_count);
}

// Cells of the few boxes of one set instead of the method of the report, where they take less.
template <class T>
void consider_few(const Problem<T>& problem, unsigned look, SceneReport& report) {
  if (!FewCells<T>::suit(problem)) return;
  const AutoCosts& in = auto_costs;
  const auto cells = std::make_shared<const FewCells<T>>(problem, look);
  const auto few = static_cast<double>(std::min(problem.first.count, problem.second.count)),
             many = static_cast<double>(std::max(problem.first.count, problem.second.count));
  constexpr double kWidth = sizeof(T) == 4 ? 1 : 2;
  const auto axes = static_cast<double>(problem.dimension);
  const auto& work = cells->work();
  const double each = in.few_row_for_each_axis * axes * kWidth + work.listed * in.few_listed +
                      work.tests * in.few_test + work.wide * in.few_wide_for_each_axis * axes * kWidth +
                      work.long_tests * in.sweep_pair * in.pair_for_each_axis * axes * kWidth,
               cost = few * in.few_box + many * each;
  MethodCosts& costs = report.costs;
  if (cost >= kMillisecond * std::min({costs.brute_force, costs.sweep_and_prune, costs.grid, costs.bvh})) return;
  costs.grid = cost / kMillisecond;
  report.choice = MethodName::grid;
  report.plan.few = cells;
  report.plan.cost = cost;
  report.plan.tests = report.tests = many * (work.tests + work.long_tests + work.wide);
  for (std::size_t d = 0; d < problem.dimension; ++d) report.plan.cells[d] = static_cast<double>(cells->cells_along(d));
}

}  // namespace

bool is_worth_another_look(const SceneReport& report, std::size_t dimension) {
  // Nanoseconds: of a sampled box for each axis, and of a box that is searched, where others are in all some 80.
  constexpr double kSampledBox = 100, kMostSampled = 2 * 8 * 512, kHundredth = 100, kOrdinaryBox = 300;
  const MethodCosts& costs = report.costs;
  const double least = report.choice == MethodName::grid
                           ? report.plan.cost  // as of the grid by name, which then makes the same plans
                           : std::min({costs.brute_force, costs.sweep_and_prune, costs.bvh}) * kMillisecond;
  return least > kOrdinaryBox * report.box_count &&
         least > kHundredth * kSampledBox * static_cast<double>(dimension) * std::min(report.box_count, kMostSampled);
}

double most_tests_of(const SceneReport& report) {
  // Of boxes that are spread unevenly, cells may have several times as many as planned. A box is filed again in the
  // time of so many tests.
  constexpr double kFarMore = 4, kOfAnotherPlan = 256;
  return kFarMore * report.tests + kOfAnotherPlan * report.box_count;
}

bool is_same_plan(const SceneReport& one, const SceneReport& other, std::size_t dimension) {
  if (one.choice != other.choice || (one.plan.few != nullptr) != (other.plan.few != nullptr)) return false;
  // Samples of the same boxes differ by less.
  constexpr double kMostApart = 1.5;
  return std::equal(one.plan.cells, one.plan.cells + dimension, other.plan.cells,
                    [](double a, double b) { return std::max(a, b) <= kMostApart * std::min(a, b); });
}

template <class T>
SceneReport report_grid(const Problem<T>& problem, unsigned look) {
  SceneReport report;
  const Sample sample = sample_of(problem, look);
  report.box_count = sample.box_count;
  report.pair_count = all_pairs(problem);
  report.shape = shape_of(sample, problem.dimension);
  report.plan = plan_cells(report.shape, report.box_count, problem.dimension);
  report.choice = MethodName::grid;
  report.tests = report.plan.tests;
  report.costs = {kNone, kNone, report.plan.cost / kMillisecond, kNone};
  consider_few(problem, look, report);
  return report;
}
template SceneReport report_grid(const Problem<float>&, unsigned);
template SceneReport report_grid(const Problem<double>&, unsigned);

template <class T>
SceneReport report_scene(const Problem<T>& problem, unsigned look) {
  const AutoCosts& in = auto_costs;
  constexpr double kWidth = sizeof(T) == 4 ? 1 : 2;  // a double takes twice as long to compare as a float
  SceneReport report;
  const Sample sample = sample_of(problem, look);
  const double n = sample.box_count;
  report.box_count = n;
  report.pair_count = all_pairs(problem);
  report.shape = shape_of(sample, problem.dimension);
  report.plan = plan_cells(report.shape, n, problem.dimension);
  const auto axes = static_cast<double>(problem.dimension);
  const double pair_cost = in.pair_for_each_axis * axes * kWidth;
  const std::size_t axis = report.axis_of(problem.dimension);
  const double in_run = report.shape.meeting[axis], run_length = n > 0 ? 2 * report.pair_count * in_run / n : 0;
  report.costs.brute_force =
      (in.brute_force_call + in.brute_force_box * n + report.pair_count * pair_cost) / kMillisecond;

  // Along a single axis a run is what is found, and no test is left. Otherwise, where it ends cannot be predicted
  // unless all are alike, which takes time for all but short ones.
  const double with_run = 1 - std::exp(-run_length / in.sweep_short_run);
  const double sorted = axes > 1 ? in.sweep_box + in.sweep_box_for_each_axis * axes + in.sweep_box_with_run * with_run +
                                       (kWidth - 1) * in.sweep_box_of_doubles
                                 : in.interval_box + (kWidth - 1) * in.interval_box_of_doubles;
  const auto swept = [&](double share, double cost_of_test) {
    return (in.sweep_call + sorted * n + in.sweep_pair * share * report.pair_count * in_run * cost_of_test) /
           kMillisecond;
  };

  const auto cut_axes =
      std::count_if(report.shape.map, report.shape.map + 4, [](const AxisMap& map) { return !map.quantiles.empty(); });
  // The plan counts on boxes that are filed one by one. They are filed two or more at a time, which saves half
  // unless tests are most of the work. Along a single axis cut at quantiles nothing else tells boxes apart, and tests
  // are.
  double planned = report.plan.cost + in.grid_quantiles * static_cast<double>(cut_axes);
  if (cut_axes == 0 || problem.dimension > 1)
    planned -= in.grid_filed_together * std::clamp(in.grid_filed_box * n - planned, 0.0, planned);
  report.costs.grid =
      (in.grid_call + planned + blur_cost(report.shape, report.plan, n, problem.dimension)) / kMillisecond;

  // Long runs of doubles are tested as floats along three axes or more, unless many boxes overlap: see RoundingTrial.
  double test_cost = pair_cost;
  if (sizeof(T) == 8 && axes >= 3 && run_length > in.sweep_rounded_run) {
    const bool matters = swept(1, pair_cost / 2) < report.costs.grid && swept(1, pair_cost) >= report.costs.grid;
    if (!matters || in.sweep_rounded_run * overlapping_share(sample, problem.dimension) < in_run) test_cost /= 2;
  }
  report.costs.sweep_and_prune = swept(1, test_cost);
  // Those of boxes that miss most of what is in them are tested in blocks. Along two axes that is slower than a tree.
  constexpr double kOfBlock = 1.0 / kBlockOfRun;
  if (axes >= 3 && run_length > in.sweep_blocks_run && swept(kOfBlock, test_cost) < report.costs.grid) {
    const double met = met_blocks(sample, axis, problem.dimension);
    if (met < in.sweep_blocks_met) report.costs.sweep_and_prune = swept(kOfBlock + met, test_cost);
  }

  // Boxes that meet on every axis, but not in one place, are what a tree is for: it takes about so long whatever they
  // are like, longer where scales nest, and the others never as long unless they fall.
  report.costs.bvh =
      (in.bvh_call + (cut_axes > 0 ? in.bvh_box_of_nested_scales : in.bvh_box) * n * std::log2(n + 2)) / kMillisecond;
  const double least = std::min({report.costs.brute_force, report.costs.sweep_and_prune, report.costs.grid});
  if (least > report.costs.bvh)
    report.costs.bvh += report.pair_count * overlapping_share(sample, problem.dimension) * in.bvh_pair / kMillisecond;
  report.choice = MethodName::grid;
  if (report.costs.sweep_and_prune < report.costs.grid || problem.dimension == 1)
    report.choice = MethodName::sweep_and_prune;
  if (report.costs.brute_force < std::min(report.costs.grid, report.costs.sweep_and_prune))
    report.choice = MethodName::brute_force;
  if (report.costs.bvh < least && problem.dimension > 1) report.choice = MethodName::bvh;
  report.tests = report.choice == MethodName::grid ? report.plan.tests : kNone;
  consider_few(problem, look, report);
  return report;
}
template SceneReport report_scene(const Problem<float>&, unsigned);
template SceneReport report_scene(const Problem<double>&, unsigned);

}  // namespace broadphase
