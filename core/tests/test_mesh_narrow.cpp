// Meshes by their trees against meshes triangle by triangle.
#include "narrow/meshes.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

double around(Random& random, double reach) { return (2 * random.uniform() - 1) * reach; }

// Triangles anywhere, or on a lattice, where they touch and coincide; some are segments or points. `size` is that of
// the mesh, `away` moves it off the origin of its own frame.
MeshTree random_mesh(Random& random, std::size_t faces, bool lattice, double size, double away) {
  std::vector<double> vertices(3 * (faces + 2));
  for (double& x : vertices) x = (lattice ? static_cast<double>(random.below(4)) : around(random, 1)) * size + away;
  std::vector<std::int32_t> corners(3 * faces);
  for (std::int32_t& corner : corners) corner = static_cast<std::int32_t>(random.below(faces + 2));
  return MeshTree(vertices, corners);
}

// The record of a placed mesh: turned in any way, or along the axes.
std::vector<double> random_place(Random& random, bool lattice, double size) {
  std::vector<double> record(19);
  for (std::size_t k = 0; k < 3; ++k)
    record[1 + k] = (lattice ? static_cast<double>(random.below(5)) - 2 : around(random, 1.5)) * size;
  double w = lattice ? 1 : around(random, 1), x = lattice ? 0 : around(random, 1), y = lattice ? 0 : around(random, 1),
         z = lattice ? 0 : around(random, 1);
  const double length = std::sqrt(w * w + x * x + y * y + z * z) + 1e-300;
  w /= length, x /= length, y /= length, z /= length;
  const double axes[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + w * z),     2 * (x * z - w * y),
                          2 * (x * y - w * z),     1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
                          2 * (x * z + w * y),     2 * (y * z - w * x),     1 - 2 * (x * x + y * y)};
  for (std::size_t k = 0; k < 9; ++k) record[4 + k] = axes[k];
  return record;
}

// Every pair of elements, one by one.
struct BruteForce {
  bool overlap = false;
  double distance = detail::kNone, time = detail::kNone;

  BruteForce(const MeshSide& a, std::size_t faces_a, const MeshSide& b, std::size_t faces_b, const Vec<3>& motion) {
    for (std::size_t i = 0; i < faces_a; ++i)
      for (std::size_t j = 0; j < faces_b; ++j) {
        std::array<double, 9> corners_a, corners_b;
        const Element x = a.element(static_cast<std::int32_t>(i), corners_a),
                      y = b.element(static_cast<std::int32_t>(j), corners_b);
        const bool meet = a.is_mesh() && b.is_mesh()
                              ? triangles_meet(detail::corners_of(corners_a), detail::corners_of(corners_b))
                              : overlaps(x, y);
        overlap = overlap || meet;
        Vec<3> normal;
        const double gap = signed_distance(x, y, &normal);
        distance = std::min(distance, meet && gap > 0 && a.is_mesh() && b.is_mesh() ? 0.0 : gap);
        time = std::min(time, impact_time(x, motion, y, &normal));
      }
  }
};

void check_pair(const MeshSide& a, std::size_t faces_a, const MeshSide& b, std::size_t faces_b, const Vec<3>& motion,
                double tolerance) {
  const BruteForce wanted(a, faces_a, b, faces_b, motion);
  CHECK(overlaps(a, b) == wanted.overlap);
  const NearestElements nearest = nearest_elements(a, b);
  CHECK(std::abs(nearest.distance - wanted.distance) <= tolerance);
  Vec<3> normal{};
  const double time = impact_time(a, motion, b, &normal);
  CHECK(time == wanted.time || std::abs(time - wanted.time) <= 1e-12);
  if (wanted.overlap) {
    const Contact<3> found = contact(a, b);
    CHECK(found.count >= 1 && found.depth >= 0);
  }
}

void check_scene(std::uint64_t seed) {
  Random random(seed);
  current_case() = "meshes, seed " + std::to_string(seed);
  const bool lattice = random.chance(0.5);
  const std::size_t faces_a = 1 + random.below(20), faces_b = 1 + random.below(20);
  // Most are of one size. Others are huge, tiny, of sizes that have nothing in common, or far from their own origin.
  const int power = random.chance(0.7) ? 0 : static_cast<int>(random.below(201)) - 100;
  const double size = std::ldexp(1.0, power);
  const double size_b = random.chance(0.8) ? size : std::ldexp(size, static_cast<int>(random.below(161)) - 80);
  const double away = random.chance(0.8) ? 0 : 1e6 * size, larger = std::max({size, size_b, away});
  const MeshTree tree_a = random_mesh(random, faces_a, lattice, size, away),
                 tree_b = random_mesh(random, faces_b, lattice, size_b, 0);
  const std::vector<double> place_a = random_place(random, lattice, size),
                            place_b = random_place(random, lattice, size);
  const MeshSide a(tree_a, place_a);
  MeshSide b(tree_b, place_b);
  const double far = random.chance(0.3) ? 1000 : 1;
  const Vec<3> offset{around(random, 2) * far * size, around(random, 2) * size, around(random, 2) * size};
  const Vec<3> motion{around(random, 3) * far * size, around(random, 3) * size, around(random, 3) * size};
  const double tolerance = 1e-12 * larger;
  if (random.chance(0.5)) b.move(offset.data());
  check_pair(a, faces_a, b, faces_b, motion, tolerance);
  check_pair(b, faces_b, a, faces_a, motion, tolerance);
  const std::array<double, 4> ball{around(random, 2) * size, around(random, 2) * size, around(random, 2) * size,
                                   random.uniform() * size};
  const MeshSide shape(ShapeView<3>{ShapeKind::kBall, ball});
  check_pair(a, faces_a, shape, 1, motion, tolerance);
  check_pair(shape, 1, b, faces_b, motion, tolerance);
  const Vec<3> origin{around(random, 3) * size, around(random, 3) * size, around(random, 3) * size};
  Vec<3> normal{}, direction = random.chance(0.05) ? Vec<3>{} : motion;
  double wanted = detail::kNone;
  for (std::size_t face = 0; face < faces_a; ++face) {
    std::array<double, 9> corners;
    wanted = std::min(wanted, ray_hit(a.element(static_cast<std::int32_t>(face), corners), origin, direction, &normal));
  }
  CHECK(ray_hit(a, origin, direction, &normal) == wanted);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  const std::size_t count = broadphase::tests::rounds(argc, argv, 600);
  for (std::uint64_t seed = 0; seed < count; ++seed) broadphase::tests::check_scene(seed);
}
