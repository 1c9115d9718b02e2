// A scene of hulls and surfaces that move, against each pair tested alone.
#include "world/mesh_scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "simd/kernels.hpp"

namespace broadphase::tests {
namespace {

using Pair = MeshScene::SlotPair;

// Compares all boxes with all.
struct Find {
  const Kernels& kernels;
  Interrupt& interrupt;

  Pairs operator()(const Problem<double>& problem) const {
    const std::size_t count = problem.first.count, others = problem.cross ? problem.second.count : count;
    Pairs pairs;
    pairs.stride = count * others + 1;
    pairs.block = allocate_pairs(pairs.stride);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = problem.cross ? 0 : i + 1; j < others; ++j)
        if (overlaps(problem, static_cast<std::int32_t>(i), static_cast<std::int32_t>(j))) {
          pairs.block[pairs.size] = static_cast<std::int32_t>(i);
          pairs.block[pairs.stride + pairs.size++] = static_cast<std::int32_t>(j);
        }
    return pairs;
  }
};

// A box as a solid, or as the surface of twelve triangles.
struct Mesh {
  std::unique_ptr<MeshTree> tree;
  std::unique_ptr<Polytope> solid, smaller;
  SceneMesh mesh;

  Mesh(const Vec<3>& half, bool is_surface) {
    std::vector<double> corners, inner;
    for (std::size_t k = 0; k < 8; ++k)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        corners.push_back((k >> axis & 1) != 0 ? half[axis] : -half[axis]);
        inner.push_back(corners.back() * (1 - 0x1p-36));
      }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      mesh.bounds[axis] = -half[axis];
      mesh.bounds[3 + axis] = half[axis];
    }
    if (is_surface) {
      const std::vector<std::int32_t> faces{0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                            2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
      tree = std::make_unique<MeshTree>(corners, faces);
      mesh.surface = tree.get();
    } else {
      solid = std::make_unique<Polytope>(corners);
      smaller = std::make_unique<Polytope>(inner);
      mesh.solid = solid.get();
      mesh.smaller = smaller.get();
      for (std::size_t k = 0; k < 6; ++k) mesh.bounds_of_smaller[k] = mesh.bounds[k] * (1 - 0x1p-36);
    }
  }
};

struct Placed {
  const SceneMesh* mesh = nullptr;  // null: none
  Vec<3> position{};
  std::array<double, 4> rotation{};

  void put_into(MeshScene& scene, std::size_t slot) const { scene.put(slot, *mesh, position, rotation.data()); }
};

Placed random_placed(Random& random, const std::vector<Mesh>& meshes, double width) {
  Placed placed{&meshes[random.below(meshes.size())].mesh, {}, {}};
  for (double& number : placed.position) number = width * random.uniform();
  for (double& number : placed.rotation) number = random.uniform() - 0.5;
  return placed;
}

void check_history(std::uint64_t seed, std::size_t count, double width) {
  current_case() = "seed " + std::to_string(seed) + ", " + std::to_string(count) + " objects";
  Random random(seed);
  Interrupt interrupt;
  std::size_t levels = 0;
  const Kernels* const* kernels = available_kernels(levels);
  const Find find{*kernels[levels - 1], interrupt};
  std::vector<Mesh> meshes;
  for (const bool is_surface : {false, true, false, true})
    meshes.emplace_back(Vec<3>{0.2 + random.uniform(), 0.2 + random.uniform(), 0.2 + random.uniform()}, is_surface);
  MeshScene scene, other;
  std::vector<Placed> placed(count), others(12);
  for (std::size_t slot = 0; slot < count; ++slot) {
    placed[slot] = random_placed(random, meshes, width);
    placed[slot].put_into(scene, slot);
  }
  for (std::size_t slot = 0; slot < others.size(); ++slot) {
    others[slot] = random_placed(random, meshes, width);
    others[slot].put_into(other, slot);
  }
  // One pair, each in a scene of its own.
  const auto collide = [&](const Placed& a, const Placed& b, MeshScene::Nearest& nearest) {
    MeshScene one, two;
    a.put_into(one, 0);
    b.put_into(two, 0);
    nearest = one.nearest_to(two, find);
    return !one.hits_with(two, true, find).empty();
  };
  const auto check_nearest = [](double found, double expected) {
    CHECK(std::abs(found - expected) < 1e-9 || std::max(found, expected) <= 0);
  };
  for (int step = 0; step < 40; ++step) {
    for (std::size_t change = random.below(step % 5 == 0 ? count : 3); change-- > 0;) {
      const std::size_t slot = random.below(count);
      if (placed[slot].mesh != nullptr && random.chance(0.2)) {
        scene.remove(slot);
        placed[slot].mesh = nullptr;
      } else {
        placed[slot] = random_placed(random, meshes, width);
        placed[slot].put_into(scene, slot);
      }
    }
    for (int question = 0; question < 3; ++question) {
      std::vector<Pair> hits;
      MeshScene::Nearest nearest, pair;
      for (std::size_t slot = 0; slot < count; ++slot)
        for (std::size_t place = 0; placed[slot].mesh != nullptr && place < others.size(); ++place) {
          if (collide(placed[slot], others[place], pair))
            hits.push_back({static_cast<std::int32_t>(slot), static_cast<std::int32_t>(place)});
          if (pair.distance < nearest.distance) nearest = pair;
        }
      std::vector<Pair> found = scene.hits_with(other, true, find);
      std::sort(found.begin(), found.end());
      CHECK(found == hits);
      CHECK(scene.hits_with(other, false, find).empty() == hits.empty());
      CHECK(other.hits_with(scene, true, find).size() == hits.size());
      check_nearest(scene.nearest_to(other, find).distance, nearest.distance);
      check_nearest(other.nearest_to(scene, find).distance, nearest.distance);
      if (count > 100) break;
    }
    if (count > 100 && step % 8 != 0) continue;
    std::vector<Pair> hits;
    MeshScene::Nearest nearest, pair;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = i + 1; placed[i].mesh != nullptr && j < count; ++j) {
        if (placed[j].mesh == nullptr) continue;
        if (collide(placed[i], placed[j], pair))
          hits.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)});
        if (pair.distance < nearest.distance) nearest = pair;
      }
    CHECK(scene.any_hit(find) == !hits.empty());
    std::vector<Pair> found = scene.all_hits(find);
    std::sort(found.begin(), found.end());
    CHECK(found == hits);
    check_nearest(scene.nearest(-1, find).distance, nearest.distance);
  }
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase::tests;
  for (const std::size_t count : {1, 2, 5, 30})
    for (std::uint64_t seed = 0; seed < 6; ++seed) check_history(seed, count, seed % 2 == 0 ? 3.0 : 12.0);
  for (std::uint64_t seed = 0; seed < 2; ++seed) check_history(seed, 300, seed == 0 ? 14.0 : 60.0);
}
