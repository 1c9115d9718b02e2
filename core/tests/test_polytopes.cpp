// Convex hulls against all directions in which two convex sets can be nearest or deepest.
#include "narrow/polytopes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"
#include "solids.hpp"

namespace broadphase::tests {
namespace {

Point minus(const Point& a, const Point& b) { return add(a, b, -1); }
Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// The corners of a convex set, or points in it, and a radius around them.
struct Body {
  std::vector<Point> points;
  double radius = 0;

  double reach(const Point& along) const {
    double most = -INFINITY;
    for (const Point& point : points) most = std::max(most, product(point, along));
    return most + radius;
  }
  Body moved(const Point& by) const {
    Body body = *this;
    for (Point& point : body.points) point = add(point, by);
    return body;
  }
};

double gap_along(const Body& a, const Body& b, const Point& along) {
  return -b.reach({-along[0], -along[1], -along[2]}) - a.reach(along);
}

// The signed distance is the greatest gap along any direction. It is that across a face of one, across an edge of each,
// from corner to corner, or from a corner to an edge. Other directions do no harm.
double signed_gap(const Body& a, const Body& b) {
  double most = -INFINITY;
  const auto look = [&](const Point& along) {
    const double size = length(along);
    if (!(size > 0)) return;
    for (const double sign : {1.0, -1.0})
      most = std::max(most, gap_along(a, b, {sign * along[0] / size, sign * along[1] / size, sign * along[2] / size}));
  };
  const auto edges_of = [](const Body& body) {
    std::vector<Point> edges;
    for (std::size_t i = 0; i < body.points.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) edges.push_back(minus(body.points[i], body.points[j]));
    return edges;
  };
  const std::vector<Point> of_a = edges_of(a), of_b = edges_of(b);
  for (const auto* edges : {&of_a, &of_b})
    for (std::size_t i = 0; i < edges->size(); ++i)
      for (std::size_t j = 0; j < i; ++j) look(cross((*edges)[i], (*edges)[j]));
  for (const Point& p : of_a)
    for (const Point& q : of_b) look(cross(p, q));
  for (const Point& p : a.points)
    for (const Point& q : b.points) {
      const Point between = minus(q, p);
      look(between);
      for (const auto* edges : {&of_a, &of_b})
        for (const Point& edge : *edges)
          if (const double square = product(edge, edge); square > 0)
            look(add(between, edge, -product(between, edge) / square));
    }
  for (const Point& axis : {Point{1, 0, 0}, Point{0, 1, 0}, Point{0, 0, 1}}) look(axis);
  return most;
}

struct Hull {
  Polytope polytope;
  std::vector<double> record;
  Body body;

  // Points anywhere, or on a lattice, where there are large faces, and corners and edges touch.
  Hull(Random& random, bool lattice, double size) : polytope(points_of(random, lattice, size)), record(19) {
    for (std::size_t k = 0; k < 3; ++k)
      record[1 + k] = size * (lattice ? static_cast<double>(random.below(5)) - 2 : 3 * random.uniform() - 1.5);
    Point x = random_direction(random), y = random_direction(random);
    if (lattice) x = {1, 0, 0}, y = {0, 1, 0};
    y = add(y, x, -product(x, y));
    const double scale = 1 / length(y);
    y = {y[0] * scale, y[1] * scale, y[2] * scale};
    const std::array<Point, 3> axes{x, y, cross(x, y)};
    for (std::size_t k = 0; k < 3; ++k) std::copy(axes[k].begin(), axes[k].end(), record.data() + 4 + 3 * k);
    for (std::size_t k = 0; k < polytope.corner_count(); ++k) {
      Point at{record[1], record[2], record[3]};
      for (std::size_t i = 0; i < 3; ++i) at = add(at, axes[i], std::ldexp(polytope.corner(k)[i], polytope.exponent()));
      body.points.push_back(at);
    }
  }
  Element element() const { return {{ShapeKind::kHull, record}, &polytope}; }

 private:
  static std::vector<double> points_of(Random& random, bool lattice, double size) {
    // Four of them span space.
    std::vector<double> points{0, 0, 0, size, 0, 0, 0, size, 0, 0, 0, size};
    for (std::size_t k = 3 * random.below(5); k > 0; --k)
      points.push_back(size * (lattice ? static_cast<double>(random.below(3)) - 1 : 2 * random.uniform() - 1));
    return points;
  }
};

// No point is beyond a face, each face has three corners, and corners are points given.
void check_hull(const Hull& hull) {
  const Polytope& polytope = hull.polytope;
  const std::size_t corners = polytope.corner_count(), faces = polytope.normals().size();
  CHECK(corners >= 4 && faces >= 4 && polytope.triangles().size() == 2 * corners - 4);
  for (std::size_t face = 0; face < faces; ++face) {
    const Point& normal = polytope.normals()[face];
    std::size_t on = 0;
    for (std::size_t k = 0; k < corners; ++k) {
      const double beyond = product(polytope.corner(k), normal) - polytope.limits()[face];
      CHECK(beyond <= 0);
      on += beyond >= -1e-12 * length(normal) ? 1 : 0;
    }
    CHECK(on >= 3);
  }
  std::size_t sides = 0;
  for (std::size_t k = 0; k < corners; ++k) sides += polytope.neighbours(k).size();
  CHECK(sides == 3 * polytope.triangles().size());
}

// How far b is from a that has gone a share of its way.
double gap_at(const Body& a, const Body& b, const Point& motion, double share) {
  return signed_gap(a.moved({motion[0] * share, motion[1] * share, motion[2] * share}), b);
}

void check_pair(Random& random, const Element& a, const Body& body_a, const Element& b, const Body& body_b,
                double size) {
  const double tolerance = 1e-10 * size, wanted = signed_gap(body_a, body_b);
  CHECK(overlaps(a, b) == (wanted <= 0) || std::abs(wanted) <= tolerance);
  Point normal{};
  const double distance = signed_distance(a, b, &normal);
  CHECK(std::abs(distance - wanted) <= tolerance);
  CHECK(std::abs(length(normal) - 1) <= 1e-9);
  CHECK(std::abs(wanted) <= 1e-5 * size || std::abs(gap_along(body_a, body_b, normal) - wanted) <= tolerance);
  if (wanted < -tolerance) {
    const Contact<3> found = contact(a, b);
    CHECK(found.count >= 1 && found.count <= Contact<3>::kMostPoints && std::abs(found.depth + wanted) <= tolerance);
    for (std::size_t k = 0; k < found.count; ++k)
      for (const Body* body : {&body_a, &body_b})
        CHECK(signed_gap(*body, {{found.points[k]}, 0}) <= (1e-3 + 1e-9) * size + found.depth);
  }
  if (!random.chance(0.1)) return;
  const Point motion = random_point(random, 4 * size);
  const double time = impact_time(a, motion, b, &normal);
  const double end = std::min(time, 1.0);
  for (const double share : {0.0, 0.3, 0.6, 0.9, 0.99})
    CHECK(time == 0 || gap_at(body_a, body_b, motion, share * end) >= -1e-9 * size);
  CHECK(time >= 0 && (std::isinf(time) || (time <= 1 && gap_at(body_a, body_b, motion, time) <= 1e-9 * size)));
}

void check_scene(std::uint64_t seed) {
  current_case() = "hulls, seed " + std::to_string(seed);
  Random random(seed);
  const bool lattice = random.chance(0.4);
  const double size = random.chance(0.8) ? 1 : std::ldexp(1.0, static_cast<int>(random.below(121)) - 60);
  const Hull a(random, lattice, size), b(random, lattice, size);
  check_hull(a);
  check_pair(random, a.element(), a.body, b.element(), b.body, size);
  check_pair(random, b.element(), b.body, a.element(), a.body, size);
  const Point centre = random_point(random, 2 * size);
  const double radius = size * random.uniform();
  const std::array<double, 4> ball{centre[0], centre[1], centre[2], radius};
  check_pair(random, a.element(), a.body, {{ShapeKind::kBall, ball}, nullptr}, {{centre}, radius}, size);
  const Point end = random_point(random, 2 * size);
  const std::array<double, 7> capsule{centre[0], centre[1], centre[2], end[0], end[1], end[2], radius};
  check_pair(random, {{ShapeKind::kCapsule, capsule}, nullptr}, {{centre, end}, radius}, b.element(), b.body, size);
  // A ray that ends in the hull or at its surface, against the gap of the point it has reached.
  const Point direction = random_point(random, size);
  Point normal{};
  const double time = ray_hit(a.element(), centre, direction, &normal);
  if (!std::isinf(time))
    CHECK(std::abs(signed_gap({{add(centre, direction, time)}, 0}, a.body)) <= 1e-9 * size * (1 + time) || time == 0);
  for (const double share : {0.1, 0.5, 0.9, 1.5, 3.0}) {
    const double gap =
        signed_gap({{add(centre, direction, std::isinf(time) ? share : std::min(share, 0.99) * time)}, 0}, a.body);
    CHECK(gap >= -1e-9 * size || time == 0);
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  const std::size_t count = broadphase::tests::rounds(argc, argv, 400);
  for (std::uint64_t seed = 0; seed < count; ++seed) broadphase::tests::check_scene(seed);
}
