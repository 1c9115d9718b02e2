// A few boxes in cells, and others looked up: small scenes on a lattice and uneven ones against a double loop.
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "grid/few_in_cells.hpp"
#include "grid/plan.hpp"
#include "methods.hpp"

namespace broadphase::tests {
namespace {

template <class T>
void compare(const Problem<T>& problem, unsigned look) {
  const PairList expected = plain_pairs(problem);
  GridPlan plan{};
  plan.few = std::make_shared<const FewCells<T>>(problem, look);
  for_each_level([&](const Kernels& kernels) {
    for (const unsigned workers : {1u, 3u}) {
      Interrupt never;
      Preparation with{kernels, workers, never};
      with.plan = &plan;
      const FewInCells<T> method(problem, with);
      CHECK(pairs_of(method, problem.filter, workers) == expected);
      CHECK(count_of(method, problem.filter, workers) == expected.size());
    }
  });
}

// Lengths from 0 to many times the usual one, in one place or apart.
template <class T>
Boxes<T> uneven_boxes(Random& random, std::size_t count, std::size_t dimension, std::size_t layout) {
  std::vector<T> lower, upper;
  const double scale = random.chance(0.2) ? 1e30 : random.chance(0.2) ? 1e-30 : 1;
  const bool has_long = random.chance(0.5), is_spot = random.chance(0.2);
  const auto unit = [&] { return static_cast<double>(random.below(1 << 20)) / (1 << 20); };
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t k = 0; k < dimension; ++k) {
      const double at = (is_spot ? 0.5 + 1e-4 * unit() : unit()) * (random.chance(0.01) ? 100 : 1);
      const double size = has_long ? 1e-3 * std::pow(unit() + 1e-3, -1.0) : 0.05 * unit();
      lower.push_back(static_cast<T>(scale * at));
      upper.push_back(static_cast<T>(scale * (at + size)));
    }
  return Boxes<T>(lower, upper, dimension, layout);
}

template <class T>
void try_scene(std::uint64_t seed) {
  Random random(seed);
  const std::size_t dimension = 2 + random.below(2);
  SceneOptions options = any_lattice(random, dimension, 60);
  const bool is_lattice = random.chance(0.6);
  const auto boxes = [&](std::size_t count) {
    options.count = count;
    options.layout = random.below(3);
    return is_lattice ? lattice_boxes<T>(random, options) : uneven_boxes<T>(random, count, dimension, options.layout);
  };
  const std::size_t few = random.chance(0.2) ? 1 : 1 + random.below(random.chance(0.1) ? 300 : 40);
  const Boxes<T> small = boxes(few), large = boxes(few + 1 + random.below(random.chance(0.1) ? 20000 : 700));
  Problem<T> problem;
  problem.dimension = dimension;
  problem.cross = true;
  problem.grow = random.chance(0.5) ? T(0) : random.chance(0.5) ? T(0.5) : T(0.3);
  for (const bool swapped : {false, true})
    for (const bool touching : {true, false}) {
      problem.first = swapped ? large.view : small.view;
      problem.second = swapped ? small.view : large.view;
      problem.touching = touching;
      current_case() = describe(problem) + ", seed " + std::to_string(seed);
      compare(problem, static_cast<unsigned>(seed % 2));
    }
}

// A box that is invalid, in either set, at either end of a block of rows.
template <class T>
void check_invalid() {
  for (const std::size_t row : {0u, 63u, 64u, 199u})
    for (const bool is_few : {false, true}) {
      std::vector<T> lower(400, T(0)), upper(400, T(1)), few_lower(8, T(5)), few_upper(8, T(6));
      (is_few ? few_lower[row % 8] : lower[2 * row + 1]) = T(9);
      const Boxes<T> many(lower, upper, 2, 0), few(few_lower, few_upper, 2, 0);
      Problem<T> problem;
      problem.first = few.view;
      problem.second = many.view;
      problem.dimension = 2;
      problem.cross = true;
      current_case() = "invalid row " + std::to_string(row);
      GridPlan plan{};
      plan.few = std::make_shared<const FewCells<T>>(problem, 0);
      bool found = false;
      for_each_level([&](const Kernels& kernels) {
        Preparation with{kernels, 1, never};
        with.plan = &plan;
        try {
          const FewInCells<T> method(problem, with);
        } catch (const InvalidBoxes&) {
          found = true;
        }
      });
      CHECK(found);
    }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  check_invalid<float>();
  check_invalid<double>();
  const std::size_t scenes = rounds(argc, argv, 150);
  for (std::uint64_t seed = 0; seed < scenes; ++seed) {
    try_scene<float>(seed);
    try_scene<double>(seed + 1'000'000'000);
  }
}
