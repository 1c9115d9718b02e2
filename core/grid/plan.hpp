// How to cut a scene: which axis to sweep, how many cells along the others.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/even_sample.hpp"
#include "grid/record.hpp"
#include "query/problem.hpp"

namespace broadphase {

// What the plan rests on: some boxes of the scene, taken at even steps.
struct Sample {
  struct Box {
    double lower[4], upper[4];

    // Both corners may be the same infinity.
    double size(std::size_t axis) const { return upper[axis] > lower[axis] ? upper[axis] - lower[axis] : 0; }
  };
  std::vector<Box> boxes;
  double box_count = 0;  // of the scene
};

// `rows`: the boxes to sample; empty: all.
template <class T>
void take_sample(const BoxView<T>& from, const std::vector<std::uint32_t>& rows, std::size_t dimension, T grow,
                 std::size_t most, Sample& sample) {
  const std::size_t count = rows.empty() ? from.count : rows.size();
  const EvenSample taken(count, most);
  sample.boxes.reserve(sample.boxes.size() + taken.size());
  for (std::size_t k = 0; k < taken.size(); ++k) {
    const std::size_t row = rows.empty() ? taken[k] : rows[taken[k]];
    Sample::Box box{};
    bool valid = true;
    for (std::size_t d = 0; d < dimension; ++d) {
      box.lower[d] = static_cast<double>(from.lower_of(row)[d] - grow);
      box.upper[d] = static_cast<double>(from.upper_of(row)[d] + grow);
      valid &= box.lower[d] <= box.upper[d];
    }
    if (valid) sample.boxes.push_back(box);
  }
  sample.box_count += static_cast<double>(count);
}

// Of a whole problem. A larger sample would cost more than the better plan saves.
template <class T>
Sample sample_of(const Problem<T>& problem) {
  const std::size_t most = std::clamp<std::size_t>((problem.first.count + problem.second.count) / 64, 32, 512);
  const std::vector<std::uint32_t> all;
  Sample sample;
  take_sample(problem.first, all, problem.dimension, problem.grow, most, sample);
  if (problem.cross) take_sample(problem.second, all, problem.dimension, problem.grow, most, sample);
  return sample;
}

// The ends of the sampled boxes along one axis, each in order.
struct SampledEnds {
  std::vector<double> lower, upper;

  void take(const Sample& sample, std::size_t axis) {
    lower.clear();
    upper.clear();
    for (const Sample::Box& box : sample.boxes) {
      lower.push_back(box.lower[axis]);
      upper.push_back(box.upper[axis]);
    }
    std::sort(lower.begin(), lower.end());
    std::sort(upper.begin(), upper.end());
  }
};

// The stretch of an axis where nearly all boxes lie. A few far ones do not widen it: they are kept at the border.
struct Stretch {
  double low = 0, high = 0;
};

inline Stretch usual_stretch(const SampledEnds& ends) {
  const auto finite = [](double x) { return std::isfinite(x); };
  const auto low_end = std::find_if(ends.lower.begin(), ends.lower.end(), finite);
  const auto high_end = std::find_if(ends.upper.rbegin(), ends.upper.rend(), finite);
  if (low_end == ends.lower.end() || high_end == ends.upper.rend()) return {};
  const double low = *low_end, high = *high_end;
  const std::size_t count = ends.lower.size(), cut = (count - 1) / 50;
  const double usual_low = std::max(ends.lower[cut], low), usual_high = std::min(ends.upper[count - 1 - cut], high);
  const double usual = usual_high - usual_low;
  // The boxes that were not sampled reach a little further than those that were.
  if (high - low <= 3 * usual || !(usual > 0)) {
    const double more = (high - low) * std::min(0.5, 2 / static_cast<double>(count));
    return {low - more, high + more};
  }
  return {std::max(low, usual_low - 0.05 * usual), std::min(high, usual_high + 0.05 * usual)};
}

// Of all pairs of sampled boxes, the share that overlaps along the axis, as far as `value` distinguishes numbers:
// halved, so that it is the part of all others that a box meets behind it.
template <class Value>
double meeting_share(const SampledEnds& ends, Value value) {
  const std::size_t count = ends.lower.size();
  if (count < 2) return 0;
  std::size_t ended = 0;
  double apart = 0;
  for (const double lower : ends.lower) {
    while (ended < count && value(ends.upper[ended]) < value(lower)) ++ended;
    apart += static_cast<double>(ended);
  }
  const auto n = static_cast<double>(count);
  return std::max(0.0, (n * (n - 1) / 2 - apart) / (n * (n - 1)));
}

// Costs in nanoseconds, fitted to measurements of the kernels; only their ratios matter.
struct GridCosts {
  static constexpr double kRecord = 30, kBlock = 12, kCell = 250;
  static constexpr double kRefile = 40;  // a record taken to another grid
};

// Fewer boxes in a cell than this are swept as they are, however they lie; more may get a grid of their own.
inline constexpr std::size_t kCrowd = 3000;

// Where the boxes lie and how large they are, along each axis.
struct SceneShape {
  double low[4] = {0, 0, 0, 0}, width[4] = {0, 0, 0, 0};
  double share[4] = {1, 1, 1, 1};              // of the axis, that a box takes on average
  double meeting[4] = {1, 1, 1, 1};            // of all others, that a box meets behind it along the axis ...
  double blurred[4] = {1, 1, 1, 1};            // ... and in the resolution of one row of cells
  std::vector<std::array<double, 4>> extents;  // of some boxes, as shares
};

inline SceneShape shape_of(const Sample& sample, std::size_t dimension) {
  constexpr std::size_t kMostExtents = 128;
  SceneShape shape;
  SampledEnds ends;
  const std::size_t step = sample.boxes.size() / kMostExtents + 1;
  shape.extents.resize((sample.boxes.size() + step - 1) / step);
  if (sample.boxes.empty()) return shape;
  for (std::size_t d = 0; d < dimension; ++d) {
    ends.take(sample, d);
    const Stretch stretch = usual_stretch(ends);
    const double low = stretch.low, width = stretch.high - stretch.low;
    shape.low[d] = low;
    shape.width[d] = width > 0 && std::isfinite(width) ? width : 0;
    shape.meeting[d] = meeting_share(ends, [](double x) { return x; });
    const double scale = shape.width[d] > 0 ? kCellSteps / shape.width[d] : 0;
    shape.blurred[d] = meeting_share(
        ends, [&](double x) { return std::floor(std::clamp((x - low) * scale, 0.0, double{kCellSteps - 1})); });
    double sum = 0;
    for (const Sample::Box& box : sample.boxes) sum += std::min(box.size(d), shape.width[d]);
    if (shape.width[d] > 0) shape.share[d] = sum / static_cast<double>(sample.boxes.size()) / shape.width[d];
    for (std::size_t k = 0; k < shape.extents.size(); ++k) {
      const Sample::Box& box = sample.boxes[k * step];
      shape.extents[k][d] = shape.width[d] > 0 ? std::min(box.size(d) / shape.width[d], 1.0) : 0;
    }
  }
  return shape;
}

// What the grid is expected to cost with so many cells along each axis.
inline double grid_cost(const SceneShape& shape, double box_count, std::size_t dimension, std::size_t sweep_axis,
                        const double* cells) {
  double copies = 0, all = 1;
  for (const auto& extent : shape.extents) {
    double product = 1;
    for (std::size_t d = 0; d < dimension; ++d) product *= 1 + (cells[d] - 1) * extent[d];
    copies += product;
  }
  for (std::size_t d = 0; d < dimension; ++d) all *= cells[d];
  const double records = box_count * copies / std::max(1.0, static_cast<double>(shape.extents.size()));
  const double in_cell = records / all;
  const double run = in_cell * std::min(1.0, shape.blurred[sweep_axis] * cells[sweep_axis]) + 1;
  const double blocks = 1 + std::max(0.0, (run - 16) / 32);
  const double cache = in_cell > 3000 ? 1.25 : 1;
  return records * (GridCosts::kRecord * cache + GridCosts::kBlock * blocks) + GridCosts::kCell * all;
}

struct GridPlan {
  std::size_t sweep_axis;
  double cells[4] = {1, 1, 1, 1};
  double cost;
};

inline GridPlan plan_cells(const SceneShape& shape, double box_count, std::size_t dimension) {
  GridPlan plan{};
  plan.sweep_axis =
      static_cast<std::size_t>(std::min_element(shape.blurred, shape.blurred + dimension) - shape.blurred);
  double* cells = plan.cells;
  std::fill(cells, cells + 4, 1.0);
  plan.cost = grid_cost(shape, box_count, dimension, plan.sweep_axis, cells);
  for (bool better = true; better;) {
    better = false;
    std::size_t best_axis = 0;
    double best_cells = 0;
    for (std::size_t d = 0; d < dimension; ++d) {
      if (shape.width[d] <= 0 || cells[d] >= 1024) continue;
      for (const double factor : {1.3, 2.0}) {
        const double before = cells[d];
        cells[d] = std::ceil(before * factor);
        const double now = grid_cost(shape, box_count, dimension, plan.sweep_axis, cells);
        if (now < plan.cost) plan.cost = now, best_axis = d, best_cells = cells[d], better = true;
        cells[d] = before;
      }
    }
    if (better) cells[best_axis] = best_cells;
  }
  return plan;
}

template <class T>
GridLayout<T> plan_grid(const SceneShape& shape, double box_count, std::size_t dimension) {
  const GridPlan plan = plan_cells(shape, box_count, dimension);
  GridLayout<T> layout{};
  layout.sweep_axis = plan.sweep_axis;
  for (std::size_t d = 0; d < 4; ++d) layout.cells[d] = static_cast<std::int32_t>(plan.cells[d]);
  // The stretch may begin below what T holds.
  constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max());
  for (std::size_t d = 0; d < dimension; ++d)
    layout.origin[d] = static_cast<T>(std::clamp(shape.low[d], -kMost, kMost));
  return layout;
}

// Fills in what follows from the cells along each axis.
template <class T>
void finish_layout(GridLayout<T>& layout, const SceneShape& shape, std::size_t dimension) {
  std::int32_t stride = 1;
  for (std::size_t d = 0; d < 4; ++d) {
    layout.cell_stride[d] = stride;
    layout.largest[d] = layout.cells[d] * kCellSteps - 1;
    stride *= layout.cells[d];
    if (d >= dimension) continue;
    const double steps = static_cast<double>(layout.cells[d]) * kCellSteps;
    const double scale = shape.width[d] > 0 ? steps / shape.width[d] : 1.0;
    layout.scale[d] = static_cast<T>(std::min(scale, 0.001 * static_cast<double>(std::numeric_limits<T>::max())));
  }
  layout.cell_count = static_cast<std::size_t>(stride);
  // Where there are most cells, boxes reach into a second one most often.
  std::size_t order[4] = {0, 1, 2, 3};
  std::stable_sort(order, order + dimension,
                   [&](std::size_t a, std::size_t b) { return layout.cells[a] > layout.cells[b]; });
  layout.split_axes[0] = order[0];
  layout.split_axes[1] = order[dimension > 1 ? 1 : 0];
}

}  // namespace broadphase
