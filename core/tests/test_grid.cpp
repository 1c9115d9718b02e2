// The grid as a whole: crowded cells that get a grid of their own, boxes that cover more cells than promised, and
// coordinates at the ends of their type.
#include "grid/grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "methods.hpp"

namespace broadphase::tests {
namespace {

// A shape that makes the grid plan a single cell, whatever the boxes.
SceneShape one_cell(std::size_t dimension) {
  SceneShape shape;
  for (std::size_t k = 0; k < dimension; ++k) shape.map[k].width = 1e7;
  return shape;
}

// `count` boxes of this size, spread evenly over [0, 1000) along every axis.
template <class T>
Boxes<T> spread_boxes(Random& random, std::size_t count, std::size_t dimension, double size, std::size_t layout = 0) {
  std::vector<T> lower, upper;
  for (std::size_t at = 0; at < count * dimension; ++at) {
    lower.push_back(static_cast<T>(random.uniform() * 1000));
    upper.push_back(lower.back() + static_cast<T>(size * random.uniform()));
  }
  return Boxes<T>(lower, upper, dimension, layout);
}

template <class T>
std::size_t grids_for(std::size_t count, std::size_t other_count, std::size_t dimension, bool touching, double size) {
  Random random(count + dimension);
  const Boxes<T> first = spread_boxes<T>(random, count, dimension, size);
  const Boxes<T> second = spread_boxes<T>(random, other_count, dimension, size);
  Problem<T> problem;
  problem.first = first.view;
  problem.second = second.view;
  problem.cross = other_count > 0;
  problem.dimension = dimension;
  problem.touching = touching;
  current_case() = "a crowd, " + describe(problem);
  const PairList expected = pairs_by_brute_force(problem);
  std::size_t grids = 0;
  for_each_level([&](const Kernels& kernels) {
    const SceneShape shape = one_cell(dimension);
    const Grid<T> grid(problem, {kernels, 1, never, &shape});
    CHECK(grid.level(0).layout().cell_count == 1);
    CHECK(grids == 0 || grids == grid.level_count());
    grids = grid.level_count();
    CHECK(pairs_of(grid, nullptr, 1) == expected);
    CHECK(pairs_of(grid, nullptr, 3) == expected);
    CHECK(count_of(grid, nullptr, 1) == expected.size());
  });
  return grids;
}

// A cell of kCrowd boxes is swept as it is; one box more, and it is cut.
template <class T>
void check_crowds(std::size_t dimension) {
  CHECK(grids_for<T>(kCrowd, 0, dimension, true, 2) == 1);
  CHECK(grids_for<T>(kCrowd + 1, 0, dimension, true, 2) > 1);
  CHECK(grids_for<T>(kCrowd + 1, 0, dimension, false, 2) > 1);
  CHECK(grids_for<T>(kCrowd / 2, kCrowd - kCrowd / 2, dimension, true, 2) == 1);
  CHECK(grids_for<T>(2 * kCrowd, 2 * kCrowd, dimension, true, 2) > 1);
}

// A crowd within a crowd: so few of all boxes that the outer grid is not cut by it, and in one place for that grid.
template <class T>
void check_nested_crowds() {
  Random random(11);
  std::vector<T> lower, upper;
  const std::size_t inner = kCrowd + 500;
  for (std::size_t at = 0; at < 2 * 30 * inner; ++at) {
    const double scale = at < 2 * inner ? 1e-7 : 1;
    lower.push_back(static_cast<T>(random.uniform() * 1000 * scale));
    upper.push_back(lower.back() + static_cast<T>(random.uniform() * scale));
  }
  const Boxes<T> boxes(lower, upper, 2, 1);
  Problem<T> problem;
  problem.first = boxes.view;
  problem.dimension = 2;
  current_case() = "crowds in crowds, " + describe(problem);
  std::size_t levels = 0;
  Interrupt never;
  const PairList expected = pairs_by(MethodName::sweep_and_prune, problem, {*available_kernels(levels)[0], 1, never});
  for_each_level([&](const Kernels& kernels) {
    const SceneShape shape = one_cell(2);
    const Grid<T> grid(problem, {kernels, 1, never, &shape});
    std::size_t deepest = 0;
    for (std::size_t k = 0; k < grid.level_count(); ++k) deepest = std::max(deepest, grid.level(k).depth());
    CHECK(deepest >= 2);
    CHECK(pairs_of(grid, nullptr, 2) == expected);
  });
}

// The plan is made for points, but the boxes are long: filing runs out of room and grows it, and where the boxes cover
// far more cells than promised, the cells are made larger and all is filed again.
template <class T>
void check_refills(std::size_t dimension, double size, bool coarser) {
  Random random(dimension);
  const Boxes<T> boxes = spread_boxes<T>(random, 2500, dimension, size);
  Problem<T> problem;
  problem.first = boxes.view;
  problem.dimension = dimension;
  SceneShape promised;
  for (std::size_t k = 0; k < dimension; ++k) {
    promised.map[k].width = 1000;
    promised.blurred[k] = promised.meeting[k] = 0.4;
  }
  promised.ranges.resize(1);
  promised.cover(dimension);
  const GridPlan plan = plan_cells(promised, 2500, dimension);
  current_case() = "boxes of size " + std::to_string(size) + " that were taken for points, " + describe(problem);
  const PairList expected = pairs_by_brute_force(problem);
  for_each_level([&](const Kernels& kernels) {
    for (const unsigned workers : {1u, 2u}) {
      const Grid<T> grid(problem, {kernels, workers, never, &promised});
      double planned = 1;
      for (std::size_t k = 0; k < dimension; ++k) planned *= plan.cells[k];
      CHECK(planned > 1);
      CHECK((static_cast<double>(grid.level(0).layout().cell_count) < planned) == coarser);
      CHECK(grid.level(0).record_count() > 2500 + 2500 / 2);
      CHECK(pairs_of(grid, nullptr, workers) == expected);
    }
  });
}

// Boxes on a log scale: axes are cut at quantiles, however many boxes, and all grids together file each box a few
// times.
template <class T>
void check_many_scales(std::size_t dimension, bool touching, bool cross) {
  Random random(dimension);
  const std::size_t count = 4 * kCrowd;
  std::vector<T> lower, upper;
  for (std::size_t box = 0; box < count; ++box) {
    const double scale = std::pow(2.0, 60 * random.uniform() - 30);
    for (std::size_t k = 0; k < dimension; ++k) {
      lower.push_back(static_cast<T>(scale * (random.uniform() - 0.5)));
      upper.push_back(lower.back() + static_cast<T>(0.05 * scale * random.uniform()));
    }
  }
  const Boxes<T> boxes(lower, upper, dimension, 0);
  Problem<T> problem;
  problem.first = problem.second = boxes.view;
  problem.second.count = cross ? kCrowd : 0;
  problem.cross = cross;
  problem.dimension = dimension;
  problem.touching = touching;
  current_case() = "many scales, " + describe(problem);
  const PairList expected = pairs_by_brute_force(problem);
  for_each_level([&](const Kernels& kernels) {
    const Grid<T> grid(problem, {kernels, 1, never});
    CHECK(grid.level(0).layout().segments[0] != nullptr);
    std::size_t records = 0;
    for (std::size_t k = 0; k < grid.level_count(); ++k) records += grid.level(k).record_count();
    CHECK(records < 8 * count);
    CHECK(pairs_of(grid, nullptr, 2) == expected);
  });
}

// Clusters of which the narrow ones lie in one step of the whole scene: every axis is cut at quantiles, which tell
// their boxes apart, and none is where boxes are spread evenly. `flat`: along the first axis alone, for along the
// others the boxes are as long as their clusters are wide.
template <class T>
void check_narrow_clusters(std::size_t dimension, bool touching, bool flat) {
  Random random(dimension);
  std::vector<std::array<double, 4>> places(60);
  std::vector<double> widths;
  for (auto& place : places) {
    for (double& x : place) x = 24 * random.uniform();
    widths.push_back(std::pow(10.0, 5 * random.uniform() - 2.5));
  }
  std::vector<T> lower, upper;
  for (std::size_t box = 0; box < 4 * kCrowd; ++box) {
    const std::size_t own = random.below(60);
    for (std::size_t k = 0; k < dimension; ++k) {
      lower.push_back(static_cast<T>(places[own][k] + widths[own] * random.uniform()));
      upper.push_back(lower.back() + static_cast<T>((!flat ? 0.1 : k == 0 ? 1e-3 : 1) * widths[own]));
    }
  }
  const Boxes<T> boxes(lower, upper, dimension, 0);
  Problem<T> problem;
  problem.first = boxes.view;
  problem.dimension = dimension;
  problem.touching = touching;
  current_case() = (flat ? "narrow clusters of flat boxes, " : "narrow clusters, ") + describe(problem);
  const SceneShape shape = shape_of(sample_of(problem), dimension);
  const Boxes<T> spread = spread_boxes<T>(random, 4 * kCrowd, dimension, 20);
  problem.first = spread.view;
  const SceneShape even = shape_of(sample_of(problem), dimension);
  for (std::size_t k = 0; k < dimension; ++k) {
    CHECK(!shape.map[k].quantiles.empty() || (flat && k > 0));
    CHECK(shape.blurred[k] < shape.meeting[k] + 1e-3);
    CHECK(even.map[k].quantiles.empty());
  }
  problem.first = boxes.view;
  const PairList expected = pairs_by_brute_force(problem);
  for_each_level(
      [&](const Kernels& kernels) { CHECK(pairs_of(Grid<T>(problem, {kernels, 1, never}), nullptr, 2) == expected); });
}

// A heap of boxes that one step of the cell's numbers holds: ranks decide, and no pair is found twice.
template <class T>
void check_heaps(std::size_t heap, bool touching, bool cross) {
  Random random(heap);
  std::vector<T> lower, upper;
  for (std::size_t box = 0; box < heap + 50; ++box)
    for (std::size_t k = 0; k < 3; ++k) {
      const double scale = box < heap ? 1e-9 : 1;
      lower.push_back(static_cast<T>(scale * std::floor(40 * random.uniform())));
      upper.push_back(lower.back() + static_cast<T>(scale * std::floor(4 * random.uniform())));
    }
  const Boxes<T> boxes(lower, upper, 3, 0);
  Problem<T> problem;
  problem.first = problem.second = boxes.view;
  problem.cross = cross;
  problem.touching = touching;
  current_case() = "a heap of " + std::to_string(heap) + ", " + describe(problem);
  const PairList expected = pairs_by_brute_force(problem);
  for_each_level([&](const Kernels& kernels) {
    const SceneShape shape = one_cell(3);
    const Grid<T> grid(problem, {kernels, 1, never, &shape});
    CHECK(pairs_of(grid, nullptr, 1) == expected);
    CHECK(pairs_of(grid, nullptr, 3) == expected);
    CHECK(count_of(grid, nullptr, 1) == expected.size());
  });
}

// Boxes at the largest number of their type: the scene is wider than it, and so is the stretch that the plan adds.
template <class T>
void check_largest_numbers(std::size_t dimension) {
  constexpr T kMost = std::numeric_limits<T>::max();
  Random random(dimension);
  std::vector<T> lower, upper;
  for (std::size_t at = 0; at < 300 * dimension; ++at) {
    const std::size_t kind = random.below(6);
    const auto near = static_cast<T>(random.uniform());
    lower.push_back(kind == 0 ? -kMost : kind == 1 ? kMost : kind == 2 ? -kMost * near : near);
    upper.push_back(kind == 1 ? kMost : kind == 3 ? kMost * near : kind == 4 ? kMost : std::max(lower.back(), near));
    upper.back() = std::max(upper.back(), lower.back());
  }
  const Boxes<T> boxes(lower, upper, dimension, 0);
  Problem<T> problem;
  problem.first = boxes.view;
  problem.dimension = dimension;
  current_case() = "largest numbers, " + describe(problem);
  const SceneShape shape = shape_of(sample_of(problem), dimension);
  const GridLayout<T> layout = layout_of<T>(plan_cells(shape, 300, dimension), shape, dimension);
  for (std::size_t k = 0; k < dimension; ++k) CHECK(std::isfinite(layout.origin[k]));
  const PairList expected = pairs_by_brute_force(problem);
  for_each_level([&](const Kernels& kernels) {
    CHECK(pairs_of(Grid<T>(problem, {kernels, 1, never, &shape}), nullptr, 1) == expected);
    problem.grow = T(1);
    CHECK(pairs_of(Grid<T>(problem, {kernels, 1, never, &shape}), nullptr, 1) == pairs_by_brute_force(problem));
    problem.grow = 0;
  });
}

// Corners of three numbers are read four at a time: a row that is the last in memory, first or last in its order, and
// one row that stands for all. The memory ends with the last number, so that the address sanitizer sees a step too far.
template <class T>
void check_ends_of_memory() {
  Random random(3);
  const std::vector<T> one = {T(1), T(2), T(3)};
  for (std::size_t layout = 0; layout < 3; ++layout) {
    const Boxes<T> boxes = spread_boxes<T>(random, 300, 3, 100, layout);
    Problem<T> problem;
    problem.first = boxes.view;
    current_case() = "the end of the memory, layout " + std::to_string(layout);
    const PairList expected = pairs_by_brute_force(problem);
    for_each_level([&](const Kernels& kernels) {
      CHECK(pairs_of(Grid<T>(problem, {kernels, 1, never}), nullptr, 1) == expected);
    });
  }
  Problem<T> repeated;
  repeated.first = {one.data(), one.data(), 0, 0, 300};
  current_case() = "one row that stands for all";
  for_each_level([&](const Kernels& kernels) {
    CHECK(count_of(Grid<T>(repeated, {kernels, 1, never}), nullptr, 1) == 300 * 299 / 2);
  });
}

// Chunks that follow each other until the boxes are refused: their slots are never more than a number of 32 bits tells
// apart, however many boxes there are and however many cells each covers.
void check_pool_sizes() {
  for (const std::size_t rows : {std::size_t{1}, std::size_t{1000}, std::size_t{850'000'000}, std::size_t{900'000'000},
                                 std::size_t{1} << 30, (std::size_t{1} << 31) - 1})
    for (const std::size_t cells : {std::size_t{1}, std::size_t{2}, std::size_t{1000}, std::size_t{100'000'000}}) {
      current_case() = "the pool of " + std::to_string(rows) + " boxes in " + std::to_string(cells) + " cells";
      const PoolSize size(rows, cells);
      const std::size_t most = std::size_t{0xffffffffu} >> size.chunk_bits();
      std::size_t chunks = size.first(), times = 0;
      CHECK(chunks << size.chunk_bits() > rows + rows / 2);
      for (std::size_t next = chunks; next != 0 && times < 100; ++times) {
        CHECK(next <= most);
        CHECK(times == 0 || next > chunks);
        chunks = next;
        next = size.after(chunks);
      }
      CHECK(times < 100);
      // As much as is allowed, of what can be numbered.
      CHECK(chunks == most || chunks << size.chunk_bits() > 5 * rows);
    }
  // The same limit, where memory allows the rest of the way: a pool that has reached it grows no more.
  current_case() = "a pool at its limit";
  const PoolSize small(10'000, 100, 20'000);
  CHECK(small.first() << small.chunk_bits() <= 20'000);
  std::size_t chunks = small.first();
  for (std::size_t next = small.after(chunks); next != 0; next = small.after(chunks)) {
    CHECK(next << small.chunk_bits() <= 20'000);
    chunks = next;
  }
  CHECK(chunks == std::size_t{20'000} >> small.chunk_bits());
}

// However many boxes there are, a cell has no more of them than are sorted in a near cache, and few need many tests.
void check_cells_of_many() {
  for (std::size_t dimension = 2; dimension <= 4; ++dimension)
    for (const double box_count : {1e5, 1e6, 1e7, 1e8}) {
      current_case() = std::to_string(box_count) + " boxes spread evenly in " + std::to_string(dimension);
      Random random(dimension);
      const double size = std::pow(4 / box_count, 1 / static_cast<double>(dimension)) / 2;
      Sample sample;
      sample.box_count = box_count;
      for (int k = 0; k < 512; ++k) {
        Sample::Box& box = sample.boxes.emplace_back();
        for (std::size_t d = 0; d < dimension; ++d) {
          box.lower[d] = random.uniform();
          box.upper[d] = box.lower[d] + size;
        }
      }
      const SceneShape shape = shape_of(sample, dimension);
      const GridPlan plan = plan_cells(shape, box_count, dimension);
      double cells = 1;
      for (std::size_t d = 0; d < dimension; ++d) cells *= plan.cells[d];
      const double records = box_count * shape.cells_covered(plan.cells, dimension);
      CHECK(records / cells < kCrowd);
      CHECK(records < 2.5 * box_count);
      CHECK(plan.tests < 100 * box_count);
    }
}

// Sizes are log-normal, over three decades, and places even. A few samples show uneven cells by chance, which are no
// reason for other cells: eight by eight columns take 0.7 of the time of four by four by four cells.
void check_plans_by_chance() {
  constexpr double kBoxes = 1e5, kTwoPi = 6.283185307179586;
  std::size_t others = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Sample sample;
    sample.box_count = kBoxes;
    for (int k = 0; k < 512; ++k) {
      Sample::Box& box = sample.boxes.emplace_back();
      const double normal = std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(kTwoPi * random.uniform());
      const double half = 0.00155 * std::exp(1.38 * normal);
      for (std::size_t d = 0; d < 3; ++d) {
        const double middle = random.uniform(), own = half * (0.7 + 0.6 * random.uniform());
        box.lower[d] = middle - own;
        box.upper[d] = middle + own;
      }
    }
    const GridPlan plan = plan_cells(shape_of(sample, 3), kBoxes, 3);
    const auto [least, most] = std::minmax({plan.cells[0], plan.cells[1], plan.cells[2]});
    others += least > 2 || most < 6 ? 1 : 0;
  }
  current_case() = "log-normal sizes, " + std::to_string(others) + " of 300 samples mislead";
  CHECK(others <= 5);
}

template <class T>
void check_all() {
  for (std::size_t dimension = 1; dimension <= 4; ++dimension) check_largest_numbers<T>(dimension);
  check_ends_of_memory<T>();
  for (std::size_t dimension = 2; dimension <= 3; ++dimension) {
    check_refills<T>(dimension, 30, false);
    check_refills<T>(dimension, 600, true);
  }
  check_crowds<T>(2);
  check_crowds<T>(3);
  check_nested_crowds<T>();
  for (std::size_t dimension = 1; dimension <= 4; ++dimension)
    check_many_scales<T>(dimension, dimension % 2 == 0, dimension == 3);
  for (std::size_t dimension = 2; dimension <= 4; ++dimension)
    for (const bool flat : {false, true}) check_narrow_clusters<T>(dimension, dimension == 3, flat);
  for (const std::size_t heap : {200U, 2500U})
    for (const bool touching : {false, true})
      for (const bool cross : {false, true}) check_heaps<T>(heap, touching, cross && heap == 200);
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  broadphase::tests::check_pool_sizes();
  broadphase::tests::check_cells_of_many();
  broadphase::tests::check_plans_by_chance();
  broadphase::tests::check_all<float>();
  broadphase::tests::check_all<double>();
}
