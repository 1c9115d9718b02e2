// Meshes as solids against what plain loops over their triangles say.
#include "narrow/clearances.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A surface as its triangles.
struct Surface {
  std::vector<Vec<3>> vertices;
  std::vector<std::array<std::int32_t, 3>> faces;

  MeshTree tree() const {
    std::vector<double> numbers;
    std::vector<std::int32_t> corners;
    for (const Vec<3>& vertex : vertices) numbers.insert(numbers.end(), vertex.begin(), vertex.end());
    for (const auto& face : faces) corners.insert(corners.end(), face.begin(), face.end());
    return MeshTree(numbers, corners);
  }
  const Vec<3>& at(std::size_t face, std::size_t c) const {
    return vertices[static_cast<std::size_t>(faces[face][c % 3])];
  }
};

Vec<3> minus(const Vec<3>& a, const Vec<3>& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
double product(const Vec<3>& a, const Vec<3>& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
double length(const Vec<3>& a) { return std::sqrt(product(a, a)); }

// A box, each side cut into two triangles, some turned over, some there twice; its corners are moved a little.
Surface rough_box(Random& random, double size, const Vec<3>& middle) {
  Surface box;
  for (std::size_t k = 0; k < 8; ++k) {
    Vec<3> corner{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      corner[axis] = middle[axis] + size * (((k >> axis & 1) != 0 ? 1 : -1) + 0.2 * random.uniform());
    box.vertices.push_back(corner);
  }
  for (const std::array<std::int32_t, 4>& side : std::vector<std::array<std::int32_t, 4>>{
           {0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}})
    for (const std::size_t c : {1U, 2U}) {
      std::array<std::int32_t, 3> face{side[0], side[c], side[c + 1]};
      const bool is_twice = random.chance(0.1);
      box.faces.push_back(face);
      if (random.chance(0.3)) std::swap(box.faces.back()[0], box.faces.back()[1]);
      if (is_twice) box.faces.push_back(face);
    }
  // Without area, and in pieces that are joined by place only.
  if (random.chance(0.3)) box.faces.push_back({1, 1, 5});
  if (random.chance(0.3)) {
    box.vertices.push_back(box.vertices[3]);
    box.faces[0] = {0, 2, 8};
    box.faces[1] = {0, 3, 1};
  }
  if (random.chance(0.2)) box.faces.erase(box.faces.begin());
  return box;
}

// Whether each edge, by the places of its ends, belongs to an even number of faces: with each face once or all.
bool is_closed(const Surface& surface) {
  using Place = std::array<double, 3>;
  for (const bool only_once : {true, false}) {
    std::map<std::pair<Place, Place>, int> edges;
    std::vector<std::array<Place, 3>> seen;
    for (std::size_t face = 0; face < surface.faces.size(); ++face) {
      std::array<Place, 3> corners{surface.at(face, 0), surface.at(face, 1), surface.at(face, 2)};
      std::sort(corners.begin(), corners.end());
      if (corners[0] == corners[1] || corners[1] == corners[2]) continue;
      if (only_once && std::find(seen.begin(), seen.end(), corners) != seen.end()) continue;
      seen.push_back(corners);
      for (const auto& [p, q] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}})
        ++edges[{corners[static_cast<std::size_t>(p)], corners[static_cast<std::size_t>(q)]}];
    }
    bool closed = !edges.empty();
    for (const auto& [edge, times] : edges) closed = closed && times % 2 == 0;
    if (closed) return true;
  }
  return false;
}

// A rough box is star-shaped around its middle, so a point is inside if the way from the middle meets no face. NaN-free
// and independent of rays of the code: solves each triangle's three equations by Cramer's rule.
bool is_inside(const Vec<3>& point, const Surface& box, const Vec<3>& middle) {
  const Vec<3> way = minus(point, middle);
  for (std::size_t face = 0; face < box.faces.size(); ++face) {
    const Vec<3> a = minus(box.at(face, 0), middle), b = minus(box.at(face, 1), middle),
                 c = minus(box.at(face, 2), middle);
    const auto determinant = [](const Vec<3>& x, const Vec<3>& y, const Vec<3>& z) {
      return x[0] * (y[1] * z[2] - y[2] * z[1]) + x[1] * (y[2] * z[0] - y[0] * z[2]) +
             x[2] * (y[0] * z[1] - y[1] * z[0]);
    };
    const double whole = determinant(a, b, c);
    if (whole == 0) continue;
    // way = r a + s b + t c: beyond the face if all are from 0 on and their sum is above 1.
    const double r = determinant(way, b, c) / whole, s = determinant(a, way, c) / whole,
                 t = determinant(a, b, way) / whole;
    if (r >= 0 && s >= 0 && t >= 0 && r + s + t > 1) return false;
  }
  return true;
}

// How far a point is from the nearest triangle, over a grid on each that is refined around its best point.
double distance_to(const Vec<3>& point, const Surface& surface) {
  double least = detail::kNone;
  for (std::size_t face = 0; face < surface.faces.size(); ++face) {
    const Vec<3> a = surface.at(face, 0), u = minus(surface.at(face, 1), a), v = minus(surface.at(face, 2), a);
    double best = detail::kNone, s_best = 0.25, t_best = 0.25;
    for (double step = 0.5; step > 1e-9; step *= 0.6) {
      const double s_middle = s_best, t_middle = t_best;
      for (int i = -3; i <= 3; ++i)
        for (int j = -3; j <= 3; ++j) {
          const double s = std::max(0.0, std::min(1.0, s_middle + i * step / 3)),
                       t = std::max(0.0, std::min(1.0 - s, t_middle + j * step / 3));
          const Vec<3> at{a[0] + s * u[0] + t * v[0], a[1] + s * u[1] + t * v[1], a[2] + s * u[2] + t * v[2]};
          const double gap = length(minus(point, at));
          if (gap < best) {
            best = gap;
            s_best = s;
            t_best = t;
          }
        }
    }
    least = std::min(least, best);
  }
  return least;
}

std::vector<double> unmoved() {
  std::vector<double> record(19);
  for (std::size_t k = 0; k < 3; ++k) record[4 + 4 * k] = 1;
  return record;
}

void check_pair(std::uint64_t seed) {
  Random random(seed);
  current_case() = "clearances, seed " + std::to_string(seed);
  const double scale = random.chance(0.7) ? 1 : std::ldexp(1.0, static_cast<int>(random.below(81)) - 40);
  const double small = (random.chance(0.3) ? 0.2 : 1) * scale;
  const Vec<3> here{}, there{3 * random.uniform() * scale, 3 * random.uniform() * scale, random.uniform() * scale};
  const Surface one = rough_box(random, scale, here), two = rough_box(random, small, there);
  const MeshTree tree_one = one.tree(), tree_two = two.tree();
  const MeshSolid solid_one(tree_one), solid_two(tree_two);
  CHECK(solid_one.is_closed() == is_closed(one));
  CHECK(solid_two.is_closed() == is_closed(two));
  const std::vector<double> record = unmoved();
  const MeshSide side_one(tree_one, record), side_two(tree_two, record);

  // The least distance of two triangles, by the narrow phase of triangles, which has oracles of its own.
  double gap = detail::kNone;
  bool meet = false;
  for (std::size_t i = 0; i < one.faces.size(); ++i)
    for (std::size_t j = 0; j < two.faces.size(); ++j) {
      std::array<double, 9> a, b;
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t k = 0; k < 3; ++k) {
          a[3 * c + k] = one.at(i, c)[k];
          b[3 * c + k] = two.at(j, c)[k];
        }
      Vec<3> normal;
      meet = meet || triangles_meet(detail::corners_of(a), detail::corners_of(b));
      gap = std::min(
          gap, signed_distance(ShapeView<3>{ShapeKind::kTriangle, a}, ShapeView<3>{ShapeKind::kTriangle, b}, &normal));
    }
  const PlacedSolid solid{side_one, &solid_one}, other{side_two, &solid_two};
  const bool second_inside = solid_one.is_closed() && !meet && is_inside(two.vertices[0], one, here);
  const bool first_inside = solid_two.is_closed() && !meet && is_inside(one.vertices[0], two, there);
  const Clearance found = clearance(solid, other, detail::kNone);
  const double tolerance = 1e-7 * scale;
  if (meet || second_inside || first_inside) {
    CHECK(found.gap == 0 && found.first == found.second);
    CHECK(found.relation == (meet            ? Relation::kMeets
                             : second_inside ? Relation::kHoldsSecond
                                             : Relation::kHeldBySecond));
  } else {
    CHECK(found.relation == Relation::kApart && std::abs(found.gap - gap) <= 1e-12 * scale);
    CHECK(std::abs(length(minus(found.second, found.first)) - found.gap) <= 1e-12 * scale);
    CHECK(clearance(solid, other, gap / 2).gap == detail::kNone);
    CHECK(std::abs(clearance(solid, other, gap * 1.01).gap - gap) <= 1e-12 * scale);
  }
  if (!second_inside && !first_inside) {
    CHECK(distance_to(found.first, one) <= tolerance);
    CHECK(distance_to(found.second, two) <= tolerance);
  }
  const Clearance back = clearance(other, solid, detail::kNone);
  CHECK(std::abs(back.gap - found.gap) <= 1e-12 * scale || back.gap == found.gap);

  if (solid_one.is_closed())
    for (int k = 0; k < 20; ++k) {
      const Vec<3> point{(3 * random.uniform() - 1.5) * scale, (3 * random.uniform() - 1.5) * scale,
                         (3 * random.uniform() - 1.5) * scale};
      CHECK((whereabouts(point, side_one, solid_one) == Whereabouts::kInside) == is_inside(point, one, here));
    }
  if (meet) {
    // The deepest vertex is no deeper than told, and some depth is told where one is inside.
    double deepest = 0;
    for (const auto& [points, outer, middle, closed] :
         {std::tuple{&two, &one, here, solid_one.is_closed()}, std::tuple{&one, &two, there, solid_two.is_closed()}})
      for (const Vec<3>& point : points->vertices)
        if (closed && is_inside(point, *outer, middle)) deepest = std::max(deepest, distance_to(point, *outer));
    const Depth told = depth(solid, other);
    if (deepest > tolerance) CHECK(told.by == DepthBy::kVertices && std::abs(told.depth - deepest) <= tolerance);
    CHECK(told.depth >= 0);
  }
}

// Points and balls beside a surface of two shells, one in the other, across it or beside it: one after the other, and
// each on its own.
void check_balls(std::uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15u + 11);
  current_case() = "balls, seed " + std::to_string(seed);
  const Vec<3> here{}, there{2 * random.uniform(), random.uniform(), 0.2};
  const Surface one = rough_box(random, 1, here), two = rough_box(random, 0.1 + 0.5 * random.uniform(), there);
  if (!is_closed(one) || !is_closed(two)) return;
  Surface both = one;
  for (const auto& [p, q, r] : two.faces) {
    const auto count = static_cast<std::int32_t>(one.vertices.size());
    both.faces.push_back({p + count, q + count, r + count});
  }
  both.vertices.insert(both.vertices.end(), two.vertices.begin(), two.vertices.end());
  if (!is_closed(both)) return;  // of one shell all faces count twice, of the other once
  const MeshTree tree = both.tree();
  const MeshSolid solid(tree);
  CHECK(solid.is_closed());
  const std::vector<double> record = unmoved();
  const MeshSide side(tree, record);
  const PlacedSolid placed{side, &solid};
  BallsAndSolid distance(placed);
  for (int k = 0; k < 40; ++k) {
    Vec<3> point{};
    const Vec<3>&p = both.at(random.below(both.faces.size()), 0), &q = both.at(random.below(both.faces.size()), 1);
    const std::size_t way = random.below(4);
    for (std::size_t axis = 0; axis < 3; ++axis)
      point[axis] = way == 0   ? p[axis]
                    : way == 1 ? (p[axis] + q[axis]) / 2
                    : way == 2 ? static_cast<double>(random.below(9)) / 2 - 2
                               : 4 * random.uniform() - 2;
    const double radius = random.chance(0.5) ? 0 : 0.3 * random.uniform(), within = random.chance(0.5) ? kNever : 0.2;
    const std::array<double, 4> numbers{point[0], point[1], point[2], radius};
    const ShapeView<3> ball{ShapeKind::kBall, numbers};
    const double found = distance(ball, within);
    CHECK(found == BallsAndSolid(placed)(ball, within));
    const MeshSide alone(ball);
    const double other = solid_distance({alone, nullptr}, placed, within);
    const double apart = distance_to(point, both) - radius;
    CHECK(found == other || std::abs(found - other) <= 1e-14);
    if (std::abs(apart) <= 1e-6) continue;
    const bool is_in = is_inside(point, one, here) != is_inside(point, two, there);
    if (apart < 0)
      CHECK(found < 0);
    else if (is_in)
      CHECK(std::abs(found + apart) <= 1e-6);
    else if (std::abs(apart - within) > 1e-6)
      CHECK(apart > within ? found == kNever : std::abs(found - apart) <= 1e-6);
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  const std::size_t count = broadphase::tests::rounds(argc, argv, 150);
  for (std::uint64_t seed = 0; seed < count; ++seed) broadphase::tests::check_pair(seed);
  for (std::uint64_t seed = 0; seed < count; ++seed) broadphase::tests::check_balls(seed);
}
