// How to cut a scene: see plan.hpp.
#include "grid/plan.hpp"

#include <array>
#include <cstdint>
#include <utility>

namespace broadphase {

namespace {

// Sorts numbers, none of them NaN, each near its place first and then by insertion: of so few, std::sort takes four
// times as long to sort them, nearly all of it for wrong guesses of branches. It is left those that lie unevenly.
// `room` is overwritten.
void sort_sampled(std::vector<double>& numbers, std::vector<double>& room) {
  constexpr std::size_t kMost = 1024;
  constexpr std::size_t kMostSteps = 24;  // of insertion, for each number
  const std::size_t count = numbers.size();
  if (count < 2) return;
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  const double least = *low, scale = static_cast<double>(count - 1) / (*high - least);
  const auto place_of = [&](double x) { return static_cast<std::size_t>((x - least) * scale); };
  std::array<std::uint32_t, kMost + 1> end{};
  std::size_t steps = 0;
  const bool even = count <= kMost && std::isfinite(*high - least) && std::isfinite(scale);
  for (std::size_t k = 0; k < count && even; ++k) steps += end[place_of(numbers[k]) + 1]++;
  if (!even || steps / 2 > kMostSteps * count) return std::sort(numbers.begin(), numbers.end());
  for (std::size_t k = 0; k < count; ++k) end[k + 1] += end[k];
  room.resize(count);
  for (const double x : numbers) room[end[place_of(x)]++] = x;
  for (std::size_t k = 1; k < count; ++k) {
    const double x = room[k];
    std::size_t to = k;
    for (; to > 0 && room[to - 1] > x; --to) room[to] = room[to - 1];
    room[to] = x;
  }
  numbers.swap(room);
}

}  // namespace

void SampledEnds::sort() {
  sort_sampled(lower, room);
  sort_sampled(upper, room);
}

double meeting_share(const SampledEnds& ends) {
  const std::size_t count = ends.lower.size();
  if (count < 2) return 0;
  // Both in order, as a merge, and without a branch on which comes next: nothing is known of that.
  std::uint64_t apart = 0;
  for (std::size_t begun = 0, ended = 0; begun < count;) {
    const bool ends_next = ended < count && ends.upper[ended] < ends.lower[begun];
    apart += ends_next ? 0 : ended;
    ended += ends_next;
    begun += !ends_next;
  }
  const auto n = static_cast<double>(count);
  return std::max(0.0, (n * (n - 1) / 2 - static_cast<double>(apart)) / (n * (n - 1)));
}

namespace {

// The stretch of an axis where nearly all boxes lie. A few far ones do not widen it: they are kept at the border.
struct Stretch {
  double low = 0, high = 0;
};

Stretch usual_stretch(const SampledEnds& ends) {
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

// Whether the ascending numbers [begin, end) lie on many scales: many are in a small part of the stretch, and many of
// those again in a small part of it. One dense spot is no reason to count: its cell gets a grid of its own.
bool on_many_scales(const double* begin, const double* end, double width) {
  constexpr double kPart = 1.0 / 64, kMost = 0.33;
  for (int zoomed = 0; zoomed < 2; ++zoomed) {
    const auto all = static_cast<double>(end - begin);
    if (all < 8 || !(width > 0)) return false;
    const double part = width * kPart;
    const double *from = begin, *densest = begin, *densest_end = begin;
    for (const double* to = begin; to < end; ++to) {
      while (*to - *from > part) ++from;
      if (to + 1 - from > densest_end - densest) densest = from, densest_end = to + 1;
    }
    if (static_cast<double>(densest_end - densest) < kMost * all) return false;
    const std::ptrdiff_t few = (densest_end - densest) / 16;  // at either end: of what surrounds the densest part
    begin = densest + few;
    end = densest_end - few;
    width = end[-1] - *begin;
  }
  return true;
}

std::vector<double> quantiles_of(const SampledEnds& ends) {
  std::vector<double> values(ends.lower.size() + ends.upper.size());
  std::merge(ends.lower.begin(), ends.lower.end(), ends.upper.begin(), ends.upper.end(), values.begin());
  std::erase_if(values, [](double x) { return !std::isfinite(x); });
  if (values.empty()) return values;
  std::vector<double> quantiles(kSegments + 1);
  for (std::size_t k = 0; k <= kSegments; ++k) quantiles[k] = values[(values.size() - 1) * k / kSegments];
  return quantiles;
}

AxisMap map_of(const SampledEnds& ends) {
  const Stretch stretch = usual_stretch(ends);
  AxisMap map;
  map.low = stretch.low;
  const double width = stretch.high - stretch.low;
  map.width = width > 0 && std::isfinite(width) ? width : 0;
  const double* begin = std::to_address(std::lower_bound(ends.lower.begin(), ends.lower.end(), stretch.low));
  const double* end = std::to_address(std::upper_bound(ends.lower.begin(), ends.lower.end(), stretch.high));
  if (width > 0 && (map.width == 0 || on_many_scales(begin, end, width))) map.quantiles = quantiles_of(ends);
  return map;
}

// Of all pairs of sampled boxes, the share that overlaps along the axis as far as the steps of one row of cells tell.
double blurred_share(const SampledEnds& ends, const AxisMap& map, SampledEnds& steps) {
  const auto map_all = [&](const std::vector<double>& from, std::vector<double>& to) {
    map.places(from, to);
    for (double& place : to) {
      const double step = place * (kCellSteps - 1);
      place = step > 0 ? static_cast<std::int32_t>(step) : 0;  // NaN: infinity in an infinite stretch
    }
  };
  map_all(ends.lower, steps.lower);
  map_all(ends.upper, steps.upper);
  return meeting_share(steps);
}

// The largest share of ascending numbers that are equal.
double largest_heap(const std::vector<double>& ascending) {
  std::size_t begin = 0, largest = 0;
  for (std::size_t k = 0; k < ascending.size(); ++k) {
    if (ascending[k] != ascending[begin]) begin = k;
    largest = std::max(largest, k + 1 - begin);
  }
  return ascending.empty() ? 0 : static_cast<double>(largest) / static_cast<double>(ascending.size());
}

// Cuts the axis at quantiles where even steps do not tell the boxes apart, and quantiles do. `everywhere`: the steps of
// no axis tell them apart.
void cut_blurred_axis(const SampledEnds& ends, std::size_t axis, bool everywhere, SampledEnds& steps,
                      SceneShape& shape) {
  // Of evenly spread boxes, a few in 2^15 begin in the step where another one ends.
  constexpr double kBlur = 1.0 / 1024;
  AxisMap& map = shape.map[axis];
  const double meeting = shape.meeting[axis], even = shape.blurred[axis];
  if (!map.quantiles.empty() || (!everywhere && even <= 2 * meeting + kBlur)) return;
  map.quantiles = quantiles_of(ends);
  const double cut = blurred_share(ends, map, steps);
  if (cut - meeting < 0.5 * (even - meeting))
    shape.blurred[axis] = cut;
  else
    map.quantiles.clear();
}

// Of all pairs of sampled boxes, the share that the steps of one row of cells leave undecided: no axis tells them
// apart, and along one their numbers are equal. Sorted along the axis of the fewest that seem to overlap.
double undecided_share(const Sample& sample, const SceneShape& shape, std::size_t dimension) {
  struct Numbers {
    std::int32_t lower[4] = {0, 0, 0, 0}, upper[4] = {1, 1, 1, 1};
  };
  const auto axis =
      static_cast<std::size_t>(std::min_element(shape.blurred, shape.blurred + dimension) - shape.blurred);
  const auto number_of = [](double place) {
    const double step = place * (kCellSteps - 1);
    return step > 0 ? static_cast<std::int32_t>(step) : 0;  // NaN: infinity in an infinite stretch
  };
  std::vector<Numbers> boxes(sample.boxes.size());
  for (std::size_t k = 0; k < boxes.size(); ++k)
    for (std::size_t d = 0; d < dimension; ++d) {
      boxes[k].lower[d] = number_of(shape.map[d].place(sample.boxes[k].lower[d]));
      boxes[k].upper[d] = number_of(shape.map[d].place(sample.boxes[k].upper[d]));
    }
  std::sort(boxes.begin(), boxes.end(),
            [&](const Numbers& a, const Numbers& b) { return a.lower[axis] < b.lower[axis]; });
  std::size_t undecided = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = i + 1; j < boxes.size() && boxes[j].lower[axis] <= boxes[i].upper[axis]; ++j) {
      std::int32_t least = 1;
      for (std::size_t d = 0; d < 4; ++d)
        least = std::min({least, boxes[i].upper[d] - boxes[j].lower[d], boxes[j].upper[d] - boxes[i].lower[d]});
      undecided += least == 0 ? 1 : 0;
    }
  const auto n = static_cast<double>(boxes.size());
  return n > 1 ? static_cast<double>(undecided) / (n * (n - 1) / 2) : 0;
}

}  // namespace

SceneShape shape_of(const Sample& sample, std::size_t dimension) {
  constexpr std::size_t kMostRanges = 256;
  // Boxes that one axis does not tell apart are told apart by another one, but for those of clusters much narrower than
  // the scene. Of such clusters it is a thousandth of all pairs, of evenly spread boxes one in 2^15.
  constexpr double kBlurEverywhere = 1.0 / 2048, kBlur = 1.0 / 4096;
  SceneShape shape;
  SampledEnds ends[4], steps;
  const std::size_t one_of = std::max<std::size_t>(sample.boxes.size() / kMostRanges, sample.boxes.size() > 64 ? 2 : 1);
  const StratifiedSample ranged(sample.boxes.size(), (sample.boxes.size() + one_of - 1) / one_of);
  shape.ranges.resize(ranged.size());
  if (sample.boxes.empty()) return shape;
  double least = 1, heap = 1;
  bool blurs = false;
  for (std::size_t d = 0; d < dimension; ++d) {
    ends[d].take(sample, d);
    shape.map[d] = map_of(ends[d]);
    shape.meeting[d] = meeting_share(ends[d]);
    std::vector<double> quantiles = std::exchange(shape.map[d].quantiles, {});
    shape.blurred[d] = blurred_share(ends[d], shape.map[d], steps);
    least = std::min(least, shape.blurred[d] - shape.meeting[d]);
    blurs |= shape.blurred[d] - shape.meeting[d] > kBlur;
    heap = std::min(heap, largest_heap(steps.lower));
    if (quantiles.empty()) continue;
    shape.map[d].quantiles = std::move(quantiles);
    shape.blurred[d] = blurred_share(ends[d], shape.map[d], steps);
  }
  // One large heap of boxes is a crowd: its cell gets a grid of its own. So do the clusters of a scene of many boxes.
  const bool crowds = sample.box_count > kFew || (heap * sample.box_count > kCrowd && heap * heap > least);
  bool everywhere = least > kBlurEverywhere && !crowds;
  // Boxes that truly meet along one axis are left to the others, which may not tell narrow clusters apart: a closer
  // look.
  if (!everywhere && !crowds && blurs) {
    const double undecided = undecided_share(sample, shape, dimension) * sample.box_count / 2;
    everywhere = undecided * GridCosts::kUndecided > GridCosts::kSearch * static_cast<double>(dimension);
  }
  for (std::size_t d = 0; d < dimension; ++d) {
    const AxisMap& map = shape.map[d];
    cut_blurred_axis(ends[d], d, everywhere, steps, shape);
    double sum = 0;
    for (const Sample::Box& box : sample.boxes) sum += std::min(box.size(d), map.width);
    if (map.width > 0) shape.share[d] = sum / static_cast<double>(sample.boxes.size()) / map.width;
    for (std::size_t k = 0; k < shape.ranges.size() && shape.cut(d); ++k) {
      shape.ranges[k].from[d] = map.place(sample.boxes[ranged[k]].lower[d]);
      shape.ranges[k].to[d] = map.place(sample.boxes[ranged[k]].upper[d]);
    }
  }
  shape.cover(dimension);
  return shape;
}

namespace {

// Of axes with quantiles: boxes are filed one number at a time.
double searches_cost(const SceneShape& shape, double box_count, std::size_t dimension) {
  double searches = 0;
  for (std::size_t d = 0; d < dimension; ++d) searches += shape.map[d].quantiles.empty() ? 0 : 1;
  return searches * box_count * GridCosts::kSearch;
}

// How many boxes of its cell a box is tested against, if the boxes were spread evenly.
double even_run(const SceneShape& shape, double in_cell, std::size_t sweep_axis, const double* cells) {
  return in_cell * std::min(1.0, shape.blurred[sweep_axis] * cells[sweep_axis]);
}

// What the grid is expected to cost with so many cells along each axis, `all` of them, if the boxes were spread evenly.
double even_cost(const SceneShape& shape, double box_count, std::size_t dimension, std::size_t sweep_axis,
                 const double* cells, double all) {
  const double records = box_count * shape.cells_covered(cells, dimension);
  const double in_cell = records / all;
  const double run = even_run(shape, in_cell, sweep_axis, cells) + 1;
  const double blocks = 1 + std::max(0.0, (run - 16) / 32);
  const double doublings = in_cell > kInNearCache ? std::log2(in_cell / kInNearCache) : 0;
  return searches_cost(shape, box_count, dimension) +
         records * (GridCosts::kRecord + GridCosts::kDoubling * doublings + GridCosts::kBlock * blocks) +
         GridCosts::kCell * all;
}

// Sets the cost and the tests of a plan by the cells that some of the boxes cover, and the axis that is best in each.
// Returns what it costs if all cells are swept along the same axis, to compare plans by: a few boxes do not show which
// is best in a cell, and the least of their counts is too low, the lower the fewer they are. Infinite costs where they
// cover too many cells to look at.
double cost_by_sample(const SceneShape& shape, double box_count, std::size_t dimension, GridPlan& plan) {
  const double* const cells = plan.cells;
  constexpr std::size_t kMostCopies = 8;
  constexpr std::size_t kCompared = 64;     // boxes of a cell
  constexpr std::uint64_t kBuckets = 1024;  // of cells; more of them share buckets
  struct Copy {
    std::int32_t lower[4], upper[4];
    std::uint64_t cell;
  };
  std::vector<Copy> copies;
  copies.reserve(2 * shape.ranges.size());
  std::vector<std::uint32_t> end(kBuckets + 1), order;
  const auto bucket_of = [](std::uint64_t cell) { return (cell ^ cell >> 10 ^ cell >> 20) % kBuckets; };
  for (const SceneShape::Range& range : shape.ranges) {
    Copy copy{{0, 0, 0, 0}, {1, 1, 1, 1}, 0};
    std::int32_t at[4] = {0, 0, 0, 0};
    std::size_t covered = 1;
    for (std::size_t d = 0; d < dimension; ++d) {
      const double steps = cells[d] * kCellSteps;
      const auto number_of = [steps](double place) {
        return place > 0 ? static_cast<std::int32_t>(std::min(place * steps, steps - 1)) : 0;
      };
      copy.lower[d] = number_of(range.from[d]);
      copy.upper[d] = number_of(range.to[d]);
      at[d] = copy.lower[d] >> kCellBits;
      covered *= static_cast<std::size_t>((copy.upper[d] >> kCellBits) - at[d]) + 1;
    }
    if (copies.size() + covered > kMostCopies * shape.ranges.size()) {
      return plan.cost = std::numeric_limits<double>::infinity();
    }
    for (;;) {
      copy.cell = 0;
      for (std::size_t d = dimension; d-- > 0;)
        copy.cell = copy.cell * static_cast<std::uint64_t>(cells[d]) + static_cast<std::uint64_t>(at[d]);
      copies.push_back(copy);
      ++end[bucket_of(copy.cell) + 1];
      std::size_t d = 0;
      for (; d < dimension && at[d] == copy.upper[d] >> kCellBits; ++d) at[d] = copy.lower[d] >> kCellBits;
      if (d == dimension) break;
      ++at[d];
    }
  }
  for (std::size_t b = 0; b < kBuckets; ++b) end[b + 1] += end[b];
  order.resize(copies.size());
  for (std::uint32_t k = 0; k < copies.size(); ++k) order[end[bucket_of(copies[k].cell)]++] = k;
  const double scale = box_count / static_cast<double>(shape.ranges.size());
  // A record of a crowd, which may get a grid of its own. Among plans, one that leaves much to such grids is worse.
  constexpr double kSplit = 2 * GridCosts::kRecord + GridCosts::kRefile + 2 * GridCosts::kBlock, kAmongPlans = 1.3;
  double cost = 0, along[4] = {}, all = 1;
  plan.tests = 0;
  std::size_t begin = 0;
  for (std::size_t b = 0; begin < copies.size(); begin = end[b++]) {
    if (end[b] == begin) continue;
    const StratifiedSample compared(end[b] - begin, kCompared);
    std::size_t apart_along[16] = {}, undecided = 0;
    for (std::size_t i = 0; i < compared.size(); ++i) {
      const Copy& one = copies[order[begin + compared[i]]];
      for (std::size_t j = i + 1; j < compared.size(); ++j) {
        const Copy& other = copies[order[begin + compared[j]]];
        const std::size_t together = one.cell == other.cell ? 1 : 0;
        std::int32_t least = 1;
        unsigned apart = 0;
        for (std::size_t d = 0; d < 4; ++d) {
          const std::int32_t gap = std::min(other.upper[d] - one.lower[d], one.upper[d] - other.lower[d]);
          least = std::min(least, gap);
          apart |= static_cast<unsigned>(gap < 0) << d;
        }
        apart_along[apart] += together;
        undecided += least == 0 ? together : 0;
      }
    }
    const double share = static_cast<double>(end[b] - begin) / static_cast<double>(compared.size());
    const double records = static_cast<double>(end[b] - begin) * scale, pairs = share * share * scale * scale;
    // A single one is chance: it stands for as many pairs as would cost more than all the rest.
    const double open = undecided > 1 ? pairs * static_cast<double>(undecided) : 0;
    const double split = records > kCrowd ? kSplit * records : std::numeric_limits<double>::infinity();
    const auto swept = [&](double tests) {
      return records * (GridCosts::kRecord + GridCosts::kBlock) + tests / 32 * GridCosts::kBlock +
             std::min(open * GridCosts::kUndecided, records * GridCosts::kRank);
    };
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t d = 0; d < dimension; ++d) {
      std::size_t meeting = 0;
      for (std::size_t axes = 0; axes < 16; ++axes) meeting += (axes >> d & 1) != 0 ? 0 : apart_along[axes];
      const double tests = pairs * static_cast<double>(meeting);
      least = std::min(least, tests);
      along[d] += std::min(swept(tests), kAmongPlans * split);
    }
    cost += std::min(swept(least), split);
    plan.tests += swept(least) <= split ? least : 2 * kBlockLanes * records;
  }
  for (std::size_t d = 0; d < dimension; ++d) all *= cells[d];
  const double other = searches_cost(shape, box_count, dimension) + GridCosts::kCell * all;
  plan.cost = cost + other;
  return *std::min_element(along, along + dimension) + other;
}

}  // namespace

GridPlan plan_cells(const SceneShape& shape, double box_count, std::size_t dimension) {
  GridPlan plan{};
  plan.sweep_axis =
      static_cast<std::size_t>(std::min_element(shape.blurred, shape.blurred + dimension) - shape.blurred);
  cut_while_cheaper(plan, shape, dimension, 1.3, [&](const double* cells, double all) {
    return even_cost(shape, box_count, dimension, plan.sweep_axis, cells, all);
  });
  // Where the boxes lie unevenly, a closer look at where they do costs little of what it saves.
  constexpr double kUneven = 1.3, kWorthALook = 3e5;
  // Even cells are left only for a plan that seems so much cheaper: of several that cost the same, the least is chance.
  constexpr double kSurelyCheaper = 0.95;
  GridPlan best = plan;
  const double even = cost_by_sample(shape, box_count, dimension, best);
  if (even < kUneven * plan.cost + kWorthALook) {
    const double records = box_count * shape.cells_covered(plan.cells, dimension);
    double all = 1;
    for (std::size_t d = 0; d < dimension; ++d) all *= plan.cells[d];
    plan.tests = records * even_run(shape, records / all, plan.sweep_axis, plan.cells);
    return plan;
  }
  double least = kSurelyCheaper * even;
  for (double along = 2; along <= 256; along *= 2) {
    GridPlan other = plan;
    double all = 1;
    for (std::size_t d = 0; d < dimension; ++d) all *= other.cells[d] = shape.cut(d) ? along : 1;
    if (GridCosts::kCell * all > even) break;
    const double cost = cost_by_sample(shape, box_count, dimension, other);
    if (std::isinf(cost)) break;
    if (cost >= least) continue;
    least = cost;
    best = other;
  }
  return best;
}

}  // namespace broadphase
