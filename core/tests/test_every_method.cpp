// Every method × level × dtype × dimension × one set or two × closed or open × grown or not, against a double loop.
#include <cstddef>
#include <string>
#include <type_traits>

#include "boxes/box_view.hpp"
#include "methods.hpp"

namespace broadphase::tests {
namespace {

template <class T>
void compare(const Problem<T>& problem, const PairList& expected) {
  const std::string scene = current_case();
  for_each_level([&](const Kernels& kernels) {
    for (const auto& [name, method] : kMethods) {
      current_case() = std::string(name) + ", " + kernels.level + ", " + scene;
      for (const unsigned workers : {1u, 3u}) {
        Interrupt never;
        const Preparation with{kernels, workers, never};
        CHECK(pairs_by(method, problem, with) == expected);
        CHECK(count_pairs(method, problem, with) == expected.size());
      }
    }
  });
  current_case() = scene;
}

template <class T>
void try_problem(const Boxes<T>& first, const Boxes<T>& second, std::size_t dimension, bool cross, bool touching,
                 T grow, const std::string& seed) {
  Problem<T> problem;
  problem.first = first.view;
  problem.cross = cross;
  if (cross) problem.second = second.view;
  problem.dimension = dimension;
  problem.touching = touching;
  problem.grow = grow;
  current_case() = describe(problem) + ", " + seed;
  compare(problem, plain_pairs(problem));
}

template <class T>
void try_scene(std::uint64_t seed, std::size_t most) {
  Random random(seed);
  const std::size_t dimension = 1 + random.below(4);
  SceneOptions options = any_lattice(random, dimension, 40);
  options.count = random.below(most + 1);
  options.layout = random.below(3);
  const Boxes<T> first = lattice_boxes<T>(random, options);
  options.count = random.below(random.chance(0.2) ? 3 : most + 1);
  options.layout = random.below(3);
  const Boxes<T> second = lattice_boxes<T>(random, options);
  const T grow = random.chance(0.5) ? T(0) : random.chance(0.5) ? T(0.5) : T(0.3);
  for (const bool cross : {false, true})
    for (const bool touching : {true, false})
      try_problem<T>(first, second, dimension, cross, touching, grow, "seed " + std::to_string(seed));
}

// Sizes on both sides of every threshold: lanes, tiles, rows of a task.
template <class T>
void try_size(std::size_t count, std::size_t other_count, std::size_t dimension) {
  Random random(count * 31 + other_count * 7 + dimension);
  SceneOptions options;
  options.dimension = dimension;
  options.count = count;
  options.cells = 60;
  const Boxes<T> first = lattice_boxes<T>(random, options);
  options.count = other_count;
  const Boxes<T> second = lattice_boxes<T>(random, options);
  for (const bool cross : {false, true})
    for (const bool touching : {true, false}) try_problem<T>(first, second, dimension, cross, touching, T(0), "sizes");
}

template <class T>
void try_sizes() {
  for (const std::size_t n : {0u, 1u, 2u, 3u, 15u, 16u, 17u, 31u, 33u, 47u, 48u, 49u, 63u, 64u, 65u}) {
    try_size<T>(n, 5, 2);
    try_size<T>(n, 70 - n, 3);
  }
  constexpr std::size_t kTiles = std::is_same_v<T, float> ? 1024 : 2048;
  for (const std::size_t n : {kTiles - 1, kTiles + 1}) try_size<T>(n, 40, 3);
  try_size<T>(3, 3000, 2);
  try_size<T>(3000, 3, 1);
}

// Whose corners may be at null, to which nothing may be added.
void check_view_of_none() {
  current_case() = "a view of no rows";
  const BoxView<float> none = view_of_rows<float>(nullptr, 3, 0);
  CHECK(none.lower == nullptr && none.upper == nullptr && none.count == 0);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  check_view_of_none();
  const std::size_t scenes = rounds(argc, argv, 40);
  for (std::uint64_t seed = 0; seed < scenes; ++seed) {
    try_scene<float>(seed, seed % 10 == 0 ? 400 : 64);
    try_scene<double>(seed + 1'000'000'000, seed % 10 == 0 ? 400 : 64);
  }
  try_sizes<float>();
  try_sizes<double>();
}
