// Meshes by their trees against meshes triangle by triangle.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "narrow/meshes.hpp"

namespace broadphase::tests {

inline double around(Random& random, double reach) { return (2 * random.uniform() - 1) * reach; }

// Triangles anywhere, or on a lattice, where they touch and coincide; some are segments or points. `size` is that of
// the mesh, `away` moves it off the origin of its own frame.
inline MeshTree random_mesh(Random& random, std::size_t faces, bool lattice, double size, double away) {
  std::vector<double> vertices(3 * (faces + 2));
  for (double& x : vertices) x = (lattice ? static_cast<double>(random.below(4)) : around(random, 1)) * size + away;
  std::vector<std::int32_t> corners(3 * faces);
  for (std::int32_t& corner : corners) corner = static_cast<std::int32_t>(random.below(faces + 2));
  return MeshTree(vertices, corners);
}

// The record of a placed mesh: turned in any way, or along the axes.
inline std::vector<double> random_place(Random& random, bool lattice, double size) {
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

inline void check_pair(const MeshSide& a, std::size_t faces_a, const MeshSide& b, std::size_t faces_b,
                       const Vec<3>& motion, double tolerance) {
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

// Every face is in one leaf, and in all boxes around that.
inline void check_tree(const MeshTree& tree) {
  std::vector<int> found(tree.face_count());
  const double unit = power_of_two(tree.units().exponent);
  const auto check_face = [&](std::size_t face, const std::vector<MeshBox>& around) {
    ++found[face];
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t k = 0; k < 3; ++k)
        for (const MeshBox& box : around) {
          const double at = tree.corner(static_cast<std::int32_t>(face), c)[k] - tree.units().middle[k],
                       middle = unit * static_cast<double>(box.centre[k]),
                       half = unit * static_cast<double>(box.half[k]);
          CHECK(std::abs(at - middle) <= half + 1e-15 * tree.units().size + 0x1p-1070);
        }
  };
  std::vector<MeshBox> around;
  const auto descend = [&](const auto& self, std::size_t block) -> void {
    for (std::size_t lane = 0; lane < tree.blocks()[block].count; ++lane) {
      around.push_back(tree.blocks()[block].box(lane));
      const std::uint32_t first = around.back().first;
      if ((first & MeshBlock::kFace) != 0)
        check_face(first & ~MeshBlock::kFace, around);
      else
        self(self, first);
      around.pop_back();
    }
    CHECK(around.size() < MeshTree::kMostLevels);
  };
  descend(descend, 0);
  for (const int times : found) CHECK(times == 1);
}

// Two meshes, a ball, a capsule and a turned box, against each other face by face.
inline void check_meshes(Random& random) {
  const bool lattice = random.chance(0.5);
  const std::size_t faces_a = 1 + random.below(20), faces_b = 1 + random.below(20);
  // Most are of one size. Others are huge, tiny, of sizes that have nothing in common, or far from their own origin.
  const int power = random.chance(0.7) ? 0 : static_cast<int>(random.below(201)) - 100;
  const double size = std::ldexp(1.0, power);
  // Lengths stay within 1e40, beyond which shapes are refused.
  const int power_b = random.chance(0.8) ? power : std::min(power + static_cast<int>(random.below(161)) - 80, 120);
  const double size_b = std::ldexp(1.0, power_b);
  const double away = random.chance(0.8) ? 0 : 1e6 * size, larger = std::max({size, size_b, away});
  const MeshTree tree_a = random_mesh(random, faces_a, lattice, size, away),
                 tree_b = random_mesh(random, faces_b, lattice, size_b, 0);
  check_tree(tree_a);
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
  const double length = random.chance(0.1) ? 0 : random.chance(0.3) ? 100 * size : size;
  std::array<double, 7> capsule{ball[0], ball[1], ball[2], ball[0], ball[1], ball[2], ball[3]};
  for (std::size_t k = 3; k < 6; ++k) capsule[k] += lattice ? (k == 4 ? length : 0) : around(random, 1) * length;
  const std::span<const double> axes(place_b.begin() + 4, 9);
  std::array<double, 15> box{ball[0], ball[1], ball[2], length, ball[3], random.uniform() * size};
  std::copy(axes.begin(), axes.end(), box.begin() + 6);
  for (const ShapeView<3>& long_one : {ShapeView<3>{ShapeKind::kCapsule, capsule},
                                       {ShapeKind::kSegment, std::span(capsule).first(6)},
                                       {ShapeKind::kOrientedBox, box}}) {
    const MeshSide side(long_one);
    const double rough = std::max(tolerance, 1e-12 * length);
    check_pair(a, faces_a, side, 1, motion, rough);
    check_pair(side, 1, b, faces_b, motion, rough);
  }
  const Vec<3> origin{around(random, 3) * size, around(random, 3) * size, around(random, 3) * size};
  Vec<3> normal{}, direction = random.chance(0.05) ? Vec<3>{} : motion;
  double wanted = detail::kNone;
  for (std::size_t face = 0; face < faces_a; ++face) {
    std::array<double, 9> corners;
    wanted = std::min(wanted, ray_hit(a.element(static_cast<std::int32_t>(face), corners), origin, direction, &normal));
  }
  CHECK(ray_hit(a, origin, direction, &normal) == wanted);
}

}  // namespace broadphase::tests
