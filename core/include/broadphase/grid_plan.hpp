// How to cut a scene: which axis to sweep, how many cells along the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "broadphase/grid_record.hpp"
#include "broadphase/problem.hpp"
#include "broadphase/scan.hpp"

namespace broadphase {

// What the plan rests on: some boxes of the scene, taken at even steps.
struct Sample {
  struct Box {
    double lower[4], upper[4];
  };
  std::vector<Box> boxes;
  double box_count = 0;  // of the scene
};

template <class T>
void take_sample(const BoxView<T>& from, std::size_t dimension, T grow, std::size_t most, Sample& sample) {
  const std::size_t taken = std::min(from.count, most);
  for (std::size_t k = 0; k < taken; ++k) {
    // The middle of each of `taken` equal stretches.
    const auto row = static_cast<std::size_t>((static_cast<double>(k) + 0.5) * static_cast<double>(from.count) /
                                              static_cast<double>(taken));
    Sample::Box box{};
    for (std::size_t d = 0; d < dimension; ++d) {
      box.lower[d] = static_cast<double>(from.lower_of(row)[d] - grow);
      box.upper[d] = static_cast<double>(from.upper_of(row)[d] + grow);
    }
    sample.boxes.push_back(box);
  }
  sample.box_count += static_cast<double>(from.count);
}

// The stretch of each axis where nearly all boxes lie. A few far ones do not widen it: they are kept at the border.
struct Stretch {
  double low = 0, high = 0;
};

inline Stretch usual_stretch(const Sample& sample, std::size_t axis, double lowest, double highest) {
  std::vector<double> lower, upper;
  for (const Sample::Box& box : sample.boxes) {
    if (std::isfinite(box.lower[axis])) lower.push_back(box.lower[axis]);
    if (std::isfinite(box.upper[axis])) upper.push_back(box.upper[axis]);
  }
  if (lower.empty() || upper.empty()) return {};
  const auto at = [](std::vector<double>& values, double part) {
    const auto place = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5);
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
    return values[place];
  };
  double low = at(lower, 0.02), high = at(upper, 0.98);
  const double width = high - low;
  if (!(width > 0)) low = at(lower, 0.0), high = at(upper, 1.0);
  if (std::isfinite(lowest) && std::isfinite(highest) && highest - lowest <= 3 * width) return {lowest, highest};
  return {std::max(low - 0.05 * width, lowest), std::min(high + 0.05 * width, highest)};
}

// Rough costs in nanoseconds, fitted to measurements of the kernels; only their ratios matter.
struct GridCosts {
  static constexpr double kRecord = 14, kBlock = 4, kCell = 120;
};

template <class T>
GridLayout<T> plan_grid(const Sample& sample, std::size_t dimension, const double* lowest, const double* highest) {
  GridLayout<T> layout{};
  double width[4], mean[4], density[4];
  const double n = sample.box_count, sampled = static_cast<double>(sample.boxes.size());
  for (std::size_t d = 0; d < dimension; ++d) {
    const Stretch stretch = usual_stretch(sample, d, lowest[d], highest[d]);
    layout.origin[d] = static_cast<T>(stretch.low);
    width[d] = stretch.high - stretch.low;
    if (!(width[d] > 0) || !std::isfinite(width[d])) width[d] = 0;
    double sum = 0;
    for (const Sample::Box& box : sample.boxes) sum += std::min(box.upper[d] - box.lower[d], width[d]);
    mean[d] = sampled > 0 ? sum / sampled : 0;
    density[d] = width[d] > 0 ? mean[d] / width[d] : 1;  // the share of the axis that a box takes
  }
  layout.sweep_axis = static_cast<std::size_t>(std::min_element(density, density + dimension) - density);
  double cells[4] = {1, 1, 1, 1};
  const auto cost = [&] {
    double copies = 0, all = 1;
    for (const Sample::Box& box : sample.boxes) {
      double product = 1;
      for (std::size_t d = 0; d < dimension; ++d)
        if (cells[d] > 1) product *= 1 + (cells[d] - 1) * std::min((box.upper[d] - box.lower[d]) / width[d], 1.0);
      copies += product;
    }
    for (std::size_t d = 0; d < dimension; ++d) all *= cells[d];
    const double records = n * std::max(copies / std::max(sampled, 1.0), 1.0);
    const std::size_t s = layout.sweep_axis;
    const double run = records / all * (std::min(density[s] * cells[s], 1.0)) + 1;
    const double blocks = 1 + std::max(0.0, (run - 20) / 32);
    const double cache = records / all > 4000 ? 1.3 : 1.0;
    return records * (GridCosts::kRecord * cache + GridCosts::kBlock * blocks) + GridCosts::kCell * all;
  };
  double best = cost();
  for (bool better = sampled > 0; better;) {
    better = false;
    std::size_t best_axis = 0;
    double best_cells = 0;
    for (std::size_t d = 0; d < dimension; ++d) {
      if (width[d] <= 0 || cells[d] >= 1024) continue;
      for (const double factor : {1.3, 2.0}) {
        const double before = cells[d];
        cells[d] = std::ceil(before * factor);
        if (const double now = cost(); now < best) best = now, best_axis = d, best_cells = cells[d], better = true;
        cells[d] = before;
      }
    }
    if (better) cells[best_axis] = best_cells;
  }
  std::int32_t stride = 1;
  for (std::size_t d = 0; d < 4; ++d) {
    layout.cells[d] = static_cast<std::int32_t>(cells[d]);
    layout.cell_stride[d] = stride;
    layout.largest[d] = layout.cells[d] * kCellSteps - 1;
    stride *= layout.cells[d];
    if (d >= dimension) continue;
    const double scale = width[d] > 0 ? cells[d] * kCellSteps / width[d] : 1.0;
    layout.scale[d] = static_cast<T>(std::min(scale, 0.001 * static_cast<double>(std::numeric_limits<T>::max())));
  }
  layout.cell_count = static_cast<std::size_t>(stride);
  return layout;
}

}  // namespace broadphase
