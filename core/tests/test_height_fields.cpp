// Height fields against the hulls of their prisms: two for each cell.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "check.hpp"
#include "narrow/geometries.hpp"
#include "narrow/turning_meshes.hpp"

namespace broadphase::tests {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

struct Ground {
  std::vector<double> heights;
  std::size_t rows, columns;
  double dx, dy, bottom;

  explicit Ground(Random& random) : rows(2 + random.below(5)), columns(2 + random.below(5)) {
    dx = 0.25 + random.uniform();
    dy = random.chance(0.5) ? dx : 0.25 + random.uniform();
    const std::size_t form = random.below(4);
    for (std::size_t k = 0; k < rows * columns; ++k)
      heights.push_back(form == 0   ? 0.5
                        : form == 1 ? static_cast<double>(random.below(3)) - 1
                        : form == 2 ? (random.chance(0.5) ? 10 : 0)
                                    : random.uniform() * 2);
    bottom = *std::min_element(heights.begin(), heights.end()) - (random.chance(0.2) ? 0.01 : random.uniform());
  }
  HeightField field() const { return HeightField(heights.data(), rows, columns, dx, dy, bottom); }
  std::vector<Polytope> prisms() const {
    const HeightField grid = field();
    std::vector<Polytope> made;
    for (std::size_t i = 0; i + 1 < rows; ++i)
      for (std::size_t j = 0; j + 1 < columns; ++j)
        for (const auto& half : {std::array<std::size_t, 6>{i, j, i, j + 1, i + 1, j + 1},
                                 std::array<std::size_t, 6>{i, j, i + 1, j + 1, i + 1, j}}) {
          std::vector<double> points;
          for (std::size_t c = 0; c < 6; c += 2)
            for (const double z : {grid.height(half[c], half[c + 1]), bottom})
              points.insert(points.end(), {grid.x(half[c + 1]), grid.y(half[c]), z});
          made.emplace_back(points);
        }
    return made;
  }
};

Vec<3> random_vector(Random& random, double size) {
  Vec<3> v;
  for (double& x : v) x = size * (2 * random.uniform() - 1);
  return v;
}

void check_pair(std::uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15u + 5);
  current_case() = "seed " + std::to_string(seed);
  const Ground ground(random);
  const HeightField field = ground.field();
  const std::vector<Polytope> prisms = ground.prisms();
  std::array<double, 4> turn{1, 0, 0, 0};
  Vec<3> at{};
  if (random.chance(0.5))
    for (double& x : turn) x = 2 * random.uniform() - 1;
  if (random.chance(0.5)) at = random_vector(random, 3);
  const Pose<3> pose(at.data(), turn.data());
  const std::array<double, 13> own{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  std::array<double, 19> local{}, record{};
  std::copy(own.begin(), own.end(), local.begin());
  const HeightField::Box box = field.box();
  std::copy_n(box.lower.begin(), 3, local.begin() + 13);
  std::copy_n(box.upper.begin(), 3, local.begin() + 16);
  place_shape<3>(ShapeKind::kHeightField, local, pose, record.data());
  const MeshSide side(field, record);

  // A shape near it.
  Vec<3> middle = random_vector(random, 2.5);
  pose.place(middle.data(), middle.data());
  std::vector<double> numbers(middle.begin(), middle.end());
  ShapeKind kind = ShapeKind::kBall;
  const std::size_t which = random.below(5);
  if (which < 2) {
    numbers.push_back(0.05 + random.uniform());
  } else if (which == 2) {
    kind = ShapeKind::kCapsule;
    for (const double x : random_vector(random, 1)) numbers.push_back(middle[numbers.size() - 3] + x);
    numbers.push_back(0.3 * random.uniform());
  } else if (which == 3) {
    kind = ShapeKind::kBox;
    for (std::size_t k = 0; k < 3; ++k) numbers.push_back(middle[k] + 0.1 + random.uniform());
  } else {
    kind = ShapeKind::kTriangle;
    for (int c = 0; c < 2; ++c) {
      const Vec<3> by = random_vector(random, 1);
      for (std::size_t k = 0; k < 3; ++k) numbers.push_back(middle[k] + by[k]);
    }
  }
  const ShapeView<3> shape{kind, numbers};
  const MeshSide alone(shape);

  const auto distance_of = [&](const ShapeView<3>& moved) {
    double least = kNone;
    Vec<3> normal;
    for (const Polytope& prism : prisms)
      least = std::min(least,
                       signed_distance(Element{moved, nullptr}, Element{{ShapeKind::kHull, record}, &prism}, &normal));
    return least;
  };
  const auto moved_by = [&](const Vec<3>& by, double share, std::vector<double>& to) {
    to = numbers;
    const Vec<3> shift{by[0] * share, by[1] * share, by[2] * share};
    shift_shape<3>(kind, to, shift.data());
    return ShapeView<3>{kind, to};
  };
  constexpr double kSlack = 1e-8;
  const double wanted = distance_of(shape);
  const NearestElements found = nearest_elements(alone, side), back = nearest_elements(side, alone);
  current_case() += ", kind " + std::to_string(static_cast<int>(kind)) + ", wanted " + std::to_string(wanted) +
                    ", found " + std::to_string(found.distance);
  CHECK(found.distance == back.distance && found.normal[0] == -back.normal[0]);
  std::vector<double> room;
  if (wanted > kSlack) {
    CHECK(std::abs(found.distance - wanted) <= kSlack);
    CHECK(!overlaps(alone, side) && !overlaps(side, alone));
    CHECK(nearest_elements(alone, side, wanted * 0.99).distance == kNone);
    const auto [first, second] = height_fields::nearest_points(alone, side);
    CHECK(std::abs(std::sqrt(solid::squared(solid::operator-(second, first))) - wanted) <= kSlack);
    // A motion towards it.
    const Vec<3> motion = random_vector(random, 6);
    Vec<3> normal;
    const double time = impact_time(alone, motion, side, &normal);
    for (int k = 0; k <= 20; ++k) {
      const double share = std::min(time, 1.0) * k / 20;
      const double gap = distance_of(moved_by(motion, share, room));
      current_case() += "";
      CHECK(gap >= -kSlack);
      if (k == 20 && time <= 1) CHECK(gap <= kSlack);
    }
  } else if (wanted < -kSlack) {
    CHECK(overlaps(alone, side) && overlaps(side, alone));
    CHECK(found.distance <= wanted + kSlack);
    CHECK(distance_of(moved_by(found.normal, found.distance - kSlack, room)) >= -kSlack);
    const Contact<3> touching = contact(alone, side);
    CHECK(touching.depth == -found.distance && touching.count >= 1);
    Vec<3> normal;
    CHECK(impact_time(alone, {1, 2, 3}, side, &normal) == 0);
  }
  for (int k = 0; k < 20; ++k) {
    const Vec<3> origin = random_vector(random, 5), way = random_vector(random, 2);
    Vec<3> normal, of_prism;
    double first = kNone;
    for (const Polytope& prism : prisms)
      first = std::min(first, ray_hit(Element{{ShapeKind::kHull, record}, &prism}, origin, way, &of_prism));
    const double hit = ray_hit(side, origin, way, &normal);
    current_case() = "seed " + std::to_string(seed) + ", ray " + std::to_string(k) + ": " + std::to_string(first) +
                     ", found " + std::to_string(hit);
    CHECK(first == hit || std::abs(first - hit) <= kSlack);
  }
}

// A placed field with its prisms.
struct PlacedGround {
  Ground ground;
  HeightField field;
  std::vector<Polytope> prisms;
  Vec<3> at;
  std::array<double, 4> turn{1, 0, 0, 0};
  std::array<double, 19> local{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, record{};

  PlacedGround(Random& random, const Vec<3>& where)
      : ground(random), field(ground.field()), prisms(ground.prisms()), at(where) {
    if (random.chance(0.5))
      for (double& x : turn) x = 2 * random.uniform() - 1;
    const HeightField::Box box = field.box();
    std::copy_n(box.lower.begin(), 3, local.begin() + 13);
    std::copy_n(box.upper.begin(), 3, local.begin() + 16);
    place_shape<3>(ShapeKind::kHeightField, local, Pose<3>(at.data(), turn.data()), record.data());
  }
  PlacedGround(const PlacedGround&) = delete;
  PlacedGround& operator=(const PlacedGround&) = delete;
  MeshSide side() const { return MeshSide(field, record); }
  double distance(const Element& other) const {
    double least = kNone;
    Vec<3> normal;
    for (const Polytope& prism : prisms)
      least = std::min(least, signed_distance(other, Element{{ShapeKind::kHull, record}, &prism}, &normal));
    return least;
  }
};

// A mesh is as near, and as deep, as one of its triangles; another field as one of its prisms.
void check_parts(std::uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15u + 7);
  current_case() = "parts, seed " + std::to_string(seed);
  const PlacedGround ground(random, random_vector(random, 1));
  std::vector<double> vertices;
  for (int k = 0; k < 5; ++k)
    for (const double x : random_vector(random, 2)) vertices.push_back(x);
  const std::vector<std::int32_t> faces{0, 1, 2, 1, 2, 3, 2, 3, 4};
  const MeshTree tree(vertices, faces);
  std::array<double, 19> own{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, record{};
  const Vec<3> at = random_vector(random, 2);
  const std::array<double, 4> turn{random.uniform(), random.uniform(), random.uniform(), random.uniform()};
  place_shape<3>(ShapeKind::kMesh, own, Pose<3>(at.data(), turn.data()), record.data());
  const MeshSide mesh(tree, record), side = ground.side();
  double wanted = kNone;
  std::size_t meeting = 0;
  for (std::int32_t face = 0; face < 3; ++face) {
    std::array<double, 9> corners;
    const Element triangle = mesh.element(face, corners);
    wanted = std::min(wanted, nearest_elements(MeshSide(triangle.shape), side).distance);
    meeting += overlaps(MeshSide(triangle.shape), side) ? 1 : 0;
  }
  const NearestElements found = nearest_elements(mesh, side);
  CHECK(std::abs(found.distance - wanted) <= 1e-9);
  CHECK(found.distance == nearest_elements(side, mesh).distance);
  std::size_t seen = 0;
  visit_overlapping(side, mesh, [&](std::int32_t face, std::int32_t other) {
    CHECK(face == -1 && other >= 0);
    ++seen;
    return false;
  });
  CHECK(seen == meeting && overlaps(mesh, side) == (meeting > 0));
  if (meeting > 0) CHECK(std::abs(contact(side, mesh).depth + wanted) <= 1e-9);

  const PlacedGround other(random, random_vector(random, 4));
  double apart = kNone;
  for (const Polytope& prism : other.prisms)
    apart = std::min(apart, ground.distance({{ShapeKind::kHull, other.record}, &prism}));
  const MeshSide there = other.side();
  const NearestElements both = nearest_elements(side, there);
  CHECK(both.distance == nearest_elements(there, side).distance);
  if (apart > 1e-8) {
    CHECK(std::abs(both.distance - apart) <= 1e-8 && !overlaps(side, there));
    const Vec<3> motion = random_vector(random, 8);
    Vec<3> normal;
    const double time = impact_time(side, motion, there, &normal),
                 back = impact_time(there, solid::operator-(motion), side, &normal);
    CHECK(time == back || std::abs(time - back) <= 1e-8);
    if (time <= 1) {
      MeshSide moved = side;
      const Vec<3> by = solid::operator*(motion, time);
      moved.move(by.data());
      CHECK(std::abs(nearest_elements(moved, there, kNone, 0.0).distance) <= 1e-7);
    }
  } else if (apart < -1e-8) {
    CHECK(overlaps(side, there) && overlaps(there, side) && both.distance <= 0);
    const Contact<3> touching = contact(side, there);
    CHECK(touching.depth == std::max(0.0, -both.distance) && touching.count >= 1);
  }
}

// A capsule, a mesh of two triangles or another field that moves and turns.
void check_turning(std::uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15u + 9);
  current_case() = "turning, seed " + std::to_string(seed);
  const PlacedGround ground(random, {});
  std::array<double, 19> own{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  std::vector<double> vertices;
  for (int k = 0; k < 4; ++k)
    for (const double x : random_vector(random, 1)) vertices.push_back(x);
  const MeshTree tree(vertices, std::vector<std::int32_t>{0, 1, 2, 1, 2, 3});
  for (std::size_t k = 0; k < 3; ++k) own[13 + k] = -1, own[16 + k] = 1;
  std::vector<double> capsule;
  for (int k = 0; k < 2; ++k)
    for (const double x : random_vector(random, 1)) capsule.push_back(x);
  capsule.push_back(0.2);
  const PlacedGround moving(random, {});
  const std::size_t which = random.below(5);
  const ShapeView<3> shape = which == 0   ? ShapeView<3>{ShapeKind::kHeightField, moving.local}
                             : which == 1 ? ShapeView<3>{ShapeKind::kMesh, own}
                                          : ShapeView<3>{ShapeKind::kCapsule, capsule};
  const Geometry geometry = which == 0   ? Geometry{.field = &moving.field}
                            : which == 1 ? Geometry{.tree = &tree}
                                         : Geometry{};
  PairMotion<3> how{};
  how.place = random_vector(random, 6);
  how.motion = random_vector(random, 8);
  how.turn = random_vector(random, 3);
  how.other_rotation = ground.turn;
  if (random.chance(0.3)) how.other_turn = random_vector(random, 1);
  const TurningPair<3> pair(shape, nullptr, {ShapeKind::kHeightField, ground.local}, nullptr, how);
  const Geometry other{.field = &ground.field};
  const double target = random.chance(0.3) ? 0.1 : 0;
  Vec<3> normal;
  const double time = impact_time(pair, geometry, other, target, &normal);
  TurningSide first(pair.first, geometry, pair.place, pair.motion), second(pair.second, other, {}, {});
  for (int k = 0; k <= 40; ++k) {
    const double share = std::min(time, 1.0) * k / 40;
    const MeshSide a = first.at(share), b = second.at(share);
    const double gap = nearest_elements(a, b, kNone, 0.0).distance;
    current_case() = "turning, seed " + std::to_string(seed) + ", " + std::to_string(which) + ", at " +
                     std::to_string(share) + " of " + std::to_string(time) + ": " + std::to_string(gap);
    if (k < 40 || time > 1) CHECK(gap > target - 1e-8 || time == 0);
    if (k == 40 && time <= 1 && time > 0) CHECK(std::abs(gap - target) <= 1e-8);
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  const std::size_t count = broadphase::tests::rounds(argc, argv, 2000);
  for (std::uint64_t seed = 0; seed < count; ++seed) broadphase::tests::check_pair(seed);
  for (std::uint64_t seed = 0; seed < count / 4; ++seed) {
    broadphase::tests::check_parts(seed);
    broadphase::tests::check_turning(seed);
  }
}
