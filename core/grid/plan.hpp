// How to cut a scene: which axis to sweep, how many cells along the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/samples.hpp"
#include "grid/record.hpp"
#include "query/problem.hpp"

namespace broadphase {

// What the plan rests on: a sample of the boxes of the scene.
struct Sample {
  struct Box {
    double lower[4], upper[4];

    // Both corners may be the same infinity.
    double size(std::size_t axis) const { return upper[axis] > lower[axis] ? upper[axis] - lower[axis] : 0; }
  };
  std::vector<Box> boxes;
  double box_count = 0;  // of the scene
};

// `rows`: the boxes to sample; empty: all. `draw`: another one for the second set of a problem, which may be the first
// one a little moved: a box and its copy in one sample would say that all boxes meet.
template <class T>
void take_sample(const BoxView<T>& from, const std::vector<std::uint32_t>& rows, std::size_t dimension, T grow,
                 std::size_t most, std::uint64_t draw, Sample& sample) {
  const std::size_t count = rows.empty() ? from.count : rows.size();
  const RandomSample taken(count, most, draw);
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

// Of so many boxes, those of both sets. A larger one would cost more than the better plan saves.
inline std::size_t sample_size(std::size_t boxes) { return std::clamp<std::size_t>(boxes / 64, 32, 512); }

// Of a whole problem. `look`: 0, the first sample; the next ones are eight times as large, and of other rows.
template <class T>
Sample sample_of(const Problem<T>& problem, unsigned look = 0) {
  const std::size_t most = sample_size(problem.first.count + problem.second.count) * (look == 0 ? 1 : 8);
  const std::vector<std::uint32_t> all;
  Sample sample;
  take_sample(problem.first, all, problem.dimension, problem.grow, most, 2 * look, sample);
  if (problem.cross) take_sample(problem.second, all, problem.dimension, problem.grow, most, 2 * look + 1, sample);
  return sample;
}

// The ends of the sampled boxes along one axis, each in order.
struct SampledEnds {
  std::vector<double> lower, upper, room;

  void take(const Sample& sample, std::size_t axis) {
    lower.clear();
    upper.clear();
    for (const Sample::Box& box : sample.boxes) {
      lower.push_back(box.lower[axis]);
      upper.push_back(box.upper[axis]);
    }
    sort();
  }
  void sort();
};

// Where a number lies along an axis, as the grid maps it: 0 at the low end of the stretch, 1 at the high end.
struct AxisMap {
  double low = 0, width = 0;
  std::vector<double> quantiles;  // kSegments + 1 of them; none: even steps

  double even_place(double x) const { return width > 0 ? std::clamp((x - low) / width, 0.0, 1.0) : 0; }
  double place(double x) const {
    if (quantiles.empty()) return even_place(x);
    const auto past = std::upper_bound(quantiles.begin() + 1, quantiles.end() - 1, x);
    return place_within(static_cast<std::size_t>(past - quantiles.begin()) - 1, x);
  }
  // Of ascending numbers.
  void places(const std::vector<double>& ascending, std::vector<double>& to) const {
    to.resize(ascending.size());
    std::size_t segment = 0;
    for (std::size_t k = 0; k < to.size(); ++k) {
      const double x = ascending[k];
      if (quantiles.empty()) {
        to[k] = even_place(x);
        continue;
      }
      while (segment + 1 < kSegments && quantiles[segment + 1] <= x) ++segment;
      to[k] = place_within(segment, x);
    }
  }
  double place_within(std::size_t segment, double x) const {
    const double begin = quantiles[segment], end = quantiles[segment + 1];
    const double within = end > begin ? std::clamp((x - begin) / (end - begin), 0.0, 1.0) : 0;
    return (static_cast<double>(segment) + within) / kSegments;
  }
  // The lowest number at a place.
  double at(double place) const {
    if (quantiles.empty()) return low + place * width;
    const double scaled = std::clamp(place, 0.0, 1.0) * kSegments;
    const auto segment = std::min(static_cast<std::size_t>(scaled), kSegments - 1);
    const double share = scaled - static_cast<double>(segment);
    return (1 - share) * quantiles[segment] + share * quantiles[segment + 1];
  }
};

// Of all pairs of sampled boxes, the share that overlaps along the axis: halved, so that it is the part of all others
// that a box meets behind it.
double meeting_share(const SampledEnds& ends);

// Costs in nanoseconds, fitted to measurements of the kernels; only their ratios matter.
struct GridCosts {
  static constexpr double kRecord = 30, kBlock = 12, kCell = 250;
  static constexpr double kDoubling = 4;    // a record, each time that its cell holds twice as many
  static constexpr double kRefile = 40;     // a record taken to another grid
  static constexpr double kSearch = 8;      // two numbers looked up among the quantiles of an axis
  static constexpr double kRank = 150;      // a box of a cell where ranks take the place of whole numbers
  static constexpr double kUndecided = 10;  // a pair of boxes that whole numbers do not tell apart
};

// So many records of a cell are sorted in a near cache. Of 10^7 squares, cells of 39,000 take half as long again.
inline constexpr double kInNearCache = 2000;

// Fewer boxes in a cell than this are swept as they are, however they lie; more may get a grid of their own.
inline constexpr std::size_t kCrowd = 3000;

// Of more boxes than this, clusters are crowds.
inline constexpr double kFew = 10 * kCrowd;

// Where the boxes lie and how large they are, along each axis.
struct SceneShape {
  AxisMap map[4];
  double share[4] = {1, 1, 1, 1};    // of the axis, that a box takes on average
  double meeting[4] = {1, 1, 1, 1};  // of all others, that a box meets behind it along the axis ...
  double blurred[4] = {1, 1, 1, 1};  // ... and in the resolution of one row of cells
  struct Range {
    double from[4] = {0, 0, 0, 0}, to[4] = {0, 0, 0, 0};
  };
  std::vector<Range> ranges;  // of some boxes, as places on the mapped axes
  double covered[16] = {};    // entry A: the mean over them of the product of their lengths along the axes in A

  // Fills in `covered`, from the ranges.
  void cover(std::size_t dimension) {
    std::fill(covered, covered + 16, 0.0);
    for (const Range& range : ranges) {
      double product[16] = {1 / static_cast<double>(ranges.size())};
      for (std::size_t d = 0; d < dimension; ++d)
        for (std::size_t axes = 0; axes < std::size_t{1} << d; ++axes)
          product[axes | std::size_t{1} << d] = product[axes] * (range.to[d] - range.from[d]);
      for (std::size_t axes = 0; axes < std::size_t{1} << dimension; ++axes) covered[axes] += product[axes];
    }
  }
  bool cut(std::size_t axis) const { return map[axis].width > 0 || !map[axis].quantiles.empty(); }

  // How many of so many cells along each axis a box covers on average. It covers 1 + (cells - 1) * length of them along
  // each: the product over the axes, multiplied out.
  double cells_covered(const double* cells, std::size_t dimension) const {
    double all = 0;
    for (std::size_t axes = 0; axes < std::size_t{1} << dimension; ++axes) {
      double product = covered[axes];
      for (std::size_t d = 0; d < dimension; ++d) product *= (axes >> d & 1) != 0 ? cells[d] - 1 : 1;
      all += product;
    }
    return all;
  }
};

SceneShape shape_of(const Sample& sample, std::size_t dimension);

struct GridPlan {
  std::size_t sweep_axis;
  double cells[4] = {1, 1, 1, 1};
  double cost;
  double tests = 0;  // pairs of boxes to compare
  // FewCells, which replace the grid where one set is far smaller than the other: see few_in_cells.hpp.
  std::shared_ptr<const void> few;
};

GridPlan plan_cells(const SceneShape& shape, double box_count, std::size_t dimension);

// Cuts one axis after the other into more cells, for as long as that lowers cost(cells, how many these are).
template <class Cost>
void cut_while_cheaper(GridPlan& plan, const SceneShape& shape, std::size_t dimension, double step, const Cost& cost) {
  constexpr double kMostAlong = 1024;
  double* const cells = plan.cells;
  const auto cost_now = [&] {
    double all = 1;
    for (std::size_t d = 0; d < dimension; ++d) all *= cells[d];
    return cost(cells, all);
  };
  plan.cost = cost_now();
  for (bool better = true; better;) {
    better = false;
    std::size_t best_axis = 0;
    double best_cells = 0;
    for (std::size_t d = 0; d < dimension; ++d) {
      if (!shape.cut(d) || cells[d] >= kMostAlong) continue;
      for (const double factor : {step, 2.0}) {
        const double before = cells[d];
        cells[d] = std::min(std::ceil(before * factor), kMostAlong);
        if (const double now = cost_now(); now < plan.cost)
          plan.cost = now, best_axis = d, best_cells = cells[d], better = true;
        cells[d] = before;
      }
    }
    if (better) cells[best_axis] = best_cells;
  }
}

// How many chunks a pool has: at first, for so many boxes, and more of them where these cover more cells than expected.
class PoolSize {
 public:
  // Slots are numbered in 32 bits, and so is what is behind the last one.
  static constexpr std::size_t kMostSlots = std::numeric_limits<std::uint32_t>::max();

  PoolSize(std::size_t rows, std::size_t cells, std::size_t most_slots = kMostSlots)
      : rows_(rows),
        cells_(cells),
        most_slots_(most_slots),
        // Small enough that the last chunk of each cell, half empty, does not count, and that what is written to now
        // lies close together; large enough to be read in a run.
        chunk_bits_(rows / cells / 8 >= 32 ? 5 : 4),
        at_a_time_(std::min(cells + (kRecordsAtATime >> chunk_bits_), kRecordsAtATime)) {}

  int chunk_bits() const { return chunk_bits_; }
  std::size_t at_a_time() const { return at_a_time_; }  // see ChunkPool
  std::size_t first() const { return chunks_for(rows_ + rows_ / 2); }
  // How many in place of so many; 0 where the boxes cover too many cells, and these are to be fewer. Not of a single
  // cell, which has each box once.
  std::size_t after(std::size_t chunks) const {
    const std::size_t room = chunks << chunk_bits_;
    if (cells_ > 1 && room > 5 * rows_ + 4096) return 0;
    const std::size_t more = chunks_for(room + room / 2);
    return more > chunks ? more : 0;
  }

 private:
  // Each cell may start a chunk.
  std::size_t chunks_for(std::size_t records) const {
    return std::min((records >> chunk_bits_) + cells_ + at_a_time_ + 2, most_slots_ >> chunk_bits_);
  }

  std::size_t rows_, cells_, most_slots_;
  int chunk_bits_;
  std::size_t at_a_time_;
};

template <class T>
GridLayout<T> layout_of(const GridPlan& plan, const SceneShape& shape, std::size_t dimension) {
  GridLayout<T> layout{};
  layout.sweep_axis = plan.sweep_axis;
  for (std::size_t d = 0; d < 4; ++d) layout.cells[d] = static_cast<std::int32_t>(plan.cells[d]);
  // The stretch may begin below what T holds.
  constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max());
  for (std::size_t d = 0; d < dimension; ++d)
    layout.origin[d] = static_cast<T>(std::clamp(shape.map[d].low, -kMost, kMost));
  return layout;
}

// Quantiles are numbers of T already.
template <class T>
Segments<T> segments_of(const AxisMap& map) {
  Segments<T> segments;
  for (std::size_t k = 0; k < kSegments; ++k) {
    segments.begin[k] = static_cast<T>(map.quantiles[k]);
    segments.inverse_width[k] = static_cast<T>(std::clamp(1 / (map.quantiles[k + 1] - map.quantiles[k]), 0.0,
                                                          0.001 * static_cast<double>(std::numeric_limits<T>::max())));
  }
  segments.begin[kSegments] = std::numeric_limits<T>::quiet_NaN();
  return segments;
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
    const double scale = shape.map[d].width > 0 ? steps / shape.map[d].width : 1.0;
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
