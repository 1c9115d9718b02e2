// Meshes by their trees against meshes triangle by triangle.
#include "mesh_checks.hpp"

#include <string>

namespace broadphase::tests {
namespace {

// Faces in a row, on top of one another, in an order made for no method, and of sizes near the ends of the numbers.
void check_trees_of_many(std::uint64_t seed) {
  Random random(seed);
  current_case() = "many faces, seed " + std::to_string(seed);
  for (const double size : {1.0, 0.0, 0x1p-1060, 0x1p-899, 0x1p-901, 0x1p899, 0x1p1020}) {
    const std::size_t faces = 1 + random.below(700);
    const bool is_row = random.chance(0.5), is_saw = random.chance(0.5);
    std::vector<double> vertices;
    std::vector<std::int32_t> corners;
    for (std::size_t face = 0; face < faces; ++face)
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t place = is_saw && face % 2 == 1 ? faces - face : face;
        const double along = static_cast<double>(place) / static_cast<double>(faces);
        for (std::size_t k = 0; k < 3; ++k)
          vertices.push_back(size * (is_row ? (k == 0 ? along : 0) : random.below(3) == c ? 0.25 : 0.5));
        corners.push_back(static_cast<std::int32_t>(3 * face + c));
      }
    check_tree(MeshTree(vertices, corners));
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  const std::size_t count = broadphase::tests::rounds(argc, argv, 600);
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    broadphase::tests::current_case() = "meshes, seed " + std::to_string(seed);
    broadphase::tests::Random random(seed);
    broadphase::tests::check_meshes(random);
  }
  for (std::uint64_t seed = 0; seed < count / 20; ++seed) broadphase::tests::check_trees_of_many(seed);
}
