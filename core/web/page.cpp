// The core for a page of the documentation, compiled to WebAssembly by `make playground`: squares that move in a
// square, which of them touch, and the cells of a method. The page is docs/playground/index.html.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#define BROADPHASE_EVERY_METHOD
#include "batches/batched_pairs.hpp"
#include "bvh/bvh.hpp"
#include "choose/find.hpp"
#include "choose/method_calls.hpp"
#include "choose/methods.hpp"
#include "grid/few_in_cells.hpp"
#include "linear_tree/cells.hpp"
#include "linear_tree/index.hpp"
#include "octree/index.hpp"

namespace broadphase {

#define BROADPHASE_COMPILED_FLOAT(name, Method, slowness) template const MethodCalls<float>& calls_of<Method, float>();
BROADPHASE_METHODS(BROADPHASE_COMPILED_FLOAT)
template const MethodCalls<float>& calls_of<FewInCells, float>();
template <>
const MethodCalls<float>& calls_of<BatchedPairs, float>() {  // the page has no batches
  static const MethodCalls<float> none{};
  return none;
}

namespace {

struct Scene {
  std::vector<float> boxes, velocities;  // (n, 4): lower and upper corner; (n, 2)
  std::vector<std::uint8_t> touching;
  std::vector<float> cells;  // (c, 5): lower and upper corner, level
  Pairs pairs;
  float edge = 1;

  BoxView<float> view() const { return {boxes.data(), boxes.data() + 2, 4, 4, touching.size()}; }
} scene;

const Kernels& kernels() {
  std::size_t count = 0;
  return *available_kernels(count)[0];
}

// SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
struct Draws {
  std::uint64_t state;
  float next() {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<float>((z ^ (z >> 31)) >> 40) * 0x1p-24F;
  }
};

}  // namespace
}  // namespace broadphase

namespace broadphase {
namespace {

void add_cell(double low_x, double low_y, double high_x, double high_y, double level) {
  for (const double value : {low_x, low_y, high_x, high_y, level}) scene.cells.push_back(static_cast<float>(value));
}

void add_octree(const std::vector<std::int32_t>& rows, Interrupt& interrupt) {
  BlockTree tree, packed;
  tree.blocks = Blocks(2);
  packed.blocks = Blocks(2);
  PendingOctree octree(tree, packed, {});
  octree.replace(rows.size(), rows.data(), rows.size());
  octree.settle(scene.view(), kernels(), 1, interrupt);
  for_each_cell(octree, [&](std::int32_t number, std::int32_t depth) {
    const OctreeCell& cell = octree.cell(number);
    double at[4];
    for (std::size_t k = 0; k < 2; ++k) {
      const auto corner = static_cast<double>(cell.corner[k]);
      at[k] = tree.frame.given(octree.lattice().local(corner, k), k);
      at[2 + k] = tree.frame.given(octree.lattice().local(corner + std::ldexp(1.0, cell.level), k), k);
    }
    add_cell(at[0], at[1], at[2], at[3], depth);
  });
}

void add_linear_tree(const std::vector<std::int32_t>& rows, Interrupt& interrupt) {
  BlockTree tree;
  tree.blocks = Blocks(2);
  LinearWorld world;
  for (std::size_t k = 0; k < 4; ++k) {
    world.low[k] = k < 2 ? 0.0 : -std::numeric_limits<double>::infinity();
    world.high[k] = k < 2 ? static_cast<double>(scene.edge) : std::numeric_limits<double>::infinity();
  }
  LinearIndex index(tree, {false, 0, false, 12, world}, kernels());
  index.build(scene.view(), rows.data(), rows.size(), interrupt);
  const LinearCells& cells = index.cells();
  for (std::size_t cell = 0; cell < cells.count(); ++cell) {
    const auto at = morton_cell(cells.number(cell), 2);
    const double edge = static_cast<double>(scene.edge) * std::ldexp(1.0, -static_cast<int>(cells.level(cell)));
    const double x = static_cast<double>(at[0]) * edge, y = static_cast<double>(at[1]) * edge;
    add_cell(x, y, x + edge, y + edge, static_cast<double>(cells.level(cell)));
  }
}

void add_bvh(const std::vector<std::int32_t>& rows, Interrupt& interrupt) {
  BlockTree tree;
  tree.blocks = Blocks(2);
  Bvh bvh(tree);
  bvh.build(scene.view(), rows.data(), rows.size(), {kernels(), 1, interrupt});
  bvh.for_each_block([&](std::int32_t block, std::size_t depth) {
    const LocalBounds<double> bounds = read_bounds(tree.blocks, block);
    const LocalFrame& frame = tree.frame;
    add_cell(frame.given(bounds.box[0], 0), frame.given(bounds.box[1], 1), frame.given(bounds.box[2], 0),
             frame.given(bounds.box[3], 1), static_cast<double>(depth));
  });
}

void add_grid(Interrupt& interrupt) {
  Problem<float> problem;
  problem.first = scene.view();
  problem.dimension = 2;
  const Grid<float> grid(problem, {kernels(), 1, interrupt});
  grid.for_each_cell([&](const GridLevel<float>& level, std::size_t cell) {
    const GridLayout<float>& layout = level.layout();
    double low[2], high[2];
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t at =
          cell / static_cast<std::size_t>(layout.cell_stride[k]) % static_cast<std::size_t>(layout.cells[k]);
      low[k] = static_cast<double>(level.edge(k, at));
      high[k] = static_cast<double>(level.edge(k, at + 1));
    }
    add_cell(low[0], low[1], high[0], high[1], static_cast<double>(level.depth()));
  });
}

}  // namespace
}  // namespace broadphase

using namespace broadphase;

extern "C" {

void make(std::uint32_t count, std::uint32_t seed, float edge, float size, std::uint32_t clusters) {
  scene.boxes.resize(4 * std::size_t{count});
  scene.velocities.resize(2 * std::size_t{count});
  scene.touching.assign(count, 0);
  scene.edge = edge;
  Draws draws{seed};
  std::vector<float> middles(2 * std::size_t{clusters});
  for (float& middle : middles) middle = draws.next() * edge;
  for (std::size_t row = 0; row < count; ++row) {
    float* box = &scene.boxes[4 * row];
    const float width = size * (0.5F + draws.next());
    for (std::size_t k = 0; k < 2; ++k) {
      float place = draws.next() * (edge - width);
      if (clusters > 0) {
        const float spread = (draws.next() + draws.next() + draws.next() - 1.5F) * 0.12F * edge;
        place = std::min(std::max(middles[2 * (row % clusters) + k] + spread, 0.0F), edge - width);
      }
      box[k] = place;
      box[2 + k] = place + width;
      scene.velocities[2 * row + k] = (draws.next() - 0.5F) * 0.1F * edge;
    }
  }
}

void step(float seconds) {
  for (std::size_t row = 0; row < scene.touching.size(); ++row)
    for (std::size_t k = 0; k < 2; ++k) {
      float &low = scene.boxes[4 * row + k], &high = scene.boxes[4 * row + 2 + k];
      float& velocity = scene.velocities[2 * row + k];
      const float way = velocity * seconds;
      if ((low + way < 0 && velocity < 0) || (high + way > scene.edge && velocity > 0)) velocity = -velocity;
      low += velocity * seconds;
      high += velocity * seconds;
    }
}

// Methods are numbered as MethodName. Returns how many pairs there are.
std::uint32_t find(std::uint32_t method) {
  Problem<float> problem;
  problem.first = scene.view();
  problem.dimension = 2;
  Interrupt interrupt;
  scene.pairs = find_pairs(static_cast<MethodName>(method), problem, kNoLimit, {kernels(), 1, interrupt});
  std::fill(scene.touching.begin(), scene.touching.end(), std::uint8_t{0});
  for (std::size_t column = 0; column < 2; ++column)
    for (std::size_t k = 0; k < scene.pairs.size; ++k)
      scene.touching[static_cast<std::size_t>(scene.pairs.block[column * scene.pairs.stride + k])] = 1;
  return static_cast<std::uint32_t>(scene.pairs.size);
}

// Makes what the method has of cells or nodes, 5 numbers each; returns how many.
std::uint32_t cells(std::uint32_t method) {
  Interrupt interrupt;
  std::vector<std::int32_t> rows(scene.touching.size());
  std::iota(rows.begin(), rows.end(), 0);
  scene.cells.clear();
  const auto name = static_cast<MethodName>(method);
  if (name == MethodName::grid) add_grid(interrupt);
  if (name == MethodName::linear_tree) add_linear_tree(rows, interrupt);
  if (name == MethodName::bvh) add_bvh(rows, interrupt);
  if (name == MethodName::octree) add_octree(rows, interrupt);
  return static_cast<std::uint32_t>(scene.cells.size() / 5);
}
const float* cell_list() { return scene.cells.data(); }

// Takes a square along: its lower corner goes to a place within the scene.
void drag(std::uint32_t row, float x, float y) {
  float* box = &scene.boxes[4 * std::size_t{row}];
  const float place[2] = {x, y};
  for (std::size_t k = 0; k < 2; ++k) {
    const float width = box[2 + k] - box[k];
    box[k] = std::min(std::max(place[k], 0.0F), scene.edge - width);
    box[2 + k] = box[k] + width;
    scene.velocities[2 * std::size_t{row} + k] = 0;
  }
}

const float* boxes() { return scene.boxes.data(); }
const std::uint8_t* touching() { return scene.touching.data(); }
const std::int32_t* pairs() { return scene.pairs.block.get(); }
std::uint32_t stride() { return static_cast<std::uint32_t>(scene.pairs.stride); }
}
