// The general pair test of convex shapes, by support functions of the tests' own: against closed formulas, and against
// the definition of a signed distance: the greatest gap along any direction.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"
#include "narrow/curved_cores.hpp"
#include "solids.hpp"

namespace broadphase::tests {
namespace {

using polytopes::CoreGap, polytopes::Cores, polytopes::PlaneCores, polytopes::Prism, polytopes::SupportCore;

constexpr double kTolerance = 1e-9;

// Sums of an ellipsoid, a disc across an axis and a box in a frame: balls, cylinders, boxes and what is between.
struct Rounded {
  Point centre{};
  std::array<Point, 3> axes = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  Point ellipsoid{};  // half axes
  double disc = 0;    // its radius, across the first axis
  Point half{};       // of the box

  Point operator()(const Point& way) const {
    Point own{}, at = centre, stretched{};
    for (std::size_t k = 0; k < 3; ++k) own[k] = product(axes[k], way);
    for (std::size_t k = 0; k < 3; ++k) stretched[k] = ellipsoid[k] * own[k];
    const double far = length(stretched), across = std::hypot(own[1], own[2]);
    for (std::size_t k = 0; k < 3; ++k) {
      double reach = own[k] < 0 ? -half[k] : half[k];
      if (far > 0) reach += ellipsoid[k] * stretched[k] / far;
      if (k > 0 && across > 0) reach += disc * own[k] / across;
      at = add(at, axes[k], reach);
    }
    return at;
  }
};

using Core = SupportCore<Rounded>;

Rounded ball(const Point& centre, double radius) { return {.centre = centre, .ellipsoid = {radius, radius, radius}}; }
Rounded cylinder(const Point& centre, double half, double radius) {
  return {.centre = centre, .disc = radius, .half = {half, 0, 0}};
}
Rounded box(const Point& centre, const Point& half) { return {.centre = centre, .half = half}; }

double reach(const Rounded& shape, const Point& way) { return product(shape(way), way); }
double gap_along(const Core& a, const Core& b, const Point& way) {
  return Cores<Core>{a, b}.gap(way) - a.radius - b.radius;
}
void check_near(double found, double expected) {
  if (!(std::abs(found - expected) <= kTolerance)) std::printf("%.17g instead of %.17g\n", found, expected);
  CHECK(std::abs(found - expected) <= kTolerance);
}

// Its signed distance, after all that must hold of any.
double distance_of(const Core& a, const Core& b, Random& random) {
  const Cores<Core> cores{a, b};
  const CoreGap gap = polytopes::gap_of(cores);
  const double distance = gap.distance - cores.radii();
  CHECK(std::abs(length(gap.normal) - 1) <= 1e-12);
  check_near(gap_along(a, b, gap.normal), distance);
  for (int k = 0; k < 200; ++k) {
    Point way = random_direction(random);
    if (k % 2 == 1) {  // nearby
      way = add(gap.normal, way, std::pow(10.0, -1 - 6 * random.uniform()));
      way = add({}, way, 1 / length(way));
    }
    if (gap_along(a, b, way) > distance + kTolerance)
      std::printf("%.17g, but %.17g along another way\n", distance, gap_along(a, b, way));
    CHECK(gap_along(a, b, way) <= distance + kTolerance);
  }
  if (std::abs(distance) > kTolerance) CHECK(polytopes::overlap(cores) == (distance < 0));
  const CoreGap back = polytopes::gap_of(Cores<Core>{b, a});
  check_near(back.distance, gap.distance);
  if (gap.is_apart) {
    CHECK(gap_along(a, SupportCore<Rounded>(ball(gap.on_first, 0), 0), gap.normal) <= kTolerance);
    check_near(length(add(gap.on_second, gap.on_first, -1)), gap.distance);
  }
  return distance;
}

void check_balls(Random& random) {
  const Point from = random_point(random, 1), to = random_point(random, 1);
  const double r = random.uniform(), s = random.uniform(), apart = length(add(to, from, -1));
  const Core a(ball(from, r), 0), b(ball(to, s), 0), point(box(to, {}), s);
  check_near(distance_of(a, b, random), apart - r - s);
  check_near(distance_of(a, point, random), apart - r - s);  // the same, with a radius around a point
}

double distance_of_point_and_cylinder(const Point& at, double half, double radius) {
  const double along = std::abs(at[0]) - half, aside = std::hypot(at[1], at[2]) - radius;
  return along > 0 && aside > 0 ? std::hypot(along, aside) : std::max(along, aside);
}

void check_cylinders(Random& random) {
  const double half = random.uniform(), radius = random.uniform();
  const Core upright(cylinder({}, half, radius), 0);
  const Point at = random_point(random, 2);
  check_near(distance_of(upright, Core(box(at, {}), 0.25), random),
             distance_of_point_and_cylinder(at, half, radius) - 0.25);
  // Parallel: as discs, and as stretches of their axis.
  const double other_half = random.uniform(), other_radius = random.uniform();
  const double along = std::abs(at[0]) - half - other_half;
  const double aside = std::hypot(at[1], at[2]) - radius - other_radius;
  check_near(distance_of(upright, Core(cylinder(at, other_half, other_radius), 0), random),
             along > 0 && aside > 0 ? std::hypot(along, aside) : std::max(along, aside));
}

// Far within a face of a large box, only the way out through this face counts.
void check_ellipsoids(Random& random) {
  Rounded shape{.centre = random_point(random, 0.2),
                .axes = random_frame(random, false),
                .ellipsoid = {0.1 + random.uniform(), 0.1 + random.uniform(), 0.1 + random.uniform()}};
  shape.centre[2] = 3 * random.uniform();
  const Core body(shape, 0), ground(box({0, 0, -10}, {10, 10, 10}), 0);
  check_near(distance_of(ground, body, random), -reach(shape, {0, 0, -1}));
  // It falls on it.
  Point normal{};
  const double height = -reach(shape, {0, 0, -1});
  if (height > 0) {
    const double time = polytopes::first_touch(Cores<Core>{body, ground}, {0.5, 0, -4}, INFINITY, normal);
    check_near(time, height / 4);
    CHECK(length(add(normal, {0, 0, -1}, -1)) <= 1e-6);
  }
}

Rounded random_shape(Random& random) {
  Rounded shape{.centre = random_point(random, 0.7), .axes = random_frame(random, random.chance(0.3))};
  for (std::size_t k = 0; k < 3; ++k) {
    if (random.chance(0.5)) shape.half[k] = 0.5 * random.uniform();
    if (random.chance(0.3)) shape.ellipsoid[k] = 0.5 * random.uniform();
  }
  if (random.chance(0.5)) shape.disc = 0.5 * random.uniform();
  return shape;
}

void check_random(Random& random) {
  const Rounded first = random_shape(random), second = random_shape(random);
  distance_of(Core(first, 0), Core(second, random.chance(0.3) ? 0.2 : 0), random);
}

// A cylinder stands or lies on a box: its contact points.
void check_contacts() {
  const Core ground(box({0, 0, -0.5}, {2, 2, 0.5}), 0);
  const auto contact_with = [&](const Rounded& shape) {
    const Core body(shape, 0);
    const Cores<Core> cores{ground, body};
    Contact<3> contact;
    const CoreGap gap = polytopes::gap_of(cores);
    contact.normal = gap.normal;
    polytopes::put_points(cores, gap, contact);
    check_near(gap.distance, -0.01);
    CHECK(length(add(contact.normal, {0, 0, 1}, -1)) <= 1e-9);
    for (std::size_t k = 0; k < contact.count; ++k) check_near(contact.points[k][2], -0.005);
    return contact;
  };
  Rounded upright = cylinder({0.3, 0.2, 0.49}, 0.5, 0.25);
  upright.axes = {{{0, 0, 1}, {1, 0, 0}, {0, 1, 0}}};
  const Contact<3> face = contact_with(upright);
  CHECK(face.count == 4);
  for (const Point& at : face.points) CHECK(std::abs(std::hypot(at[0] - 0.3, at[1] - 0.2) - 0.25) <= 1e-3);
  const Contact<3> line = contact_with(cylinder({0.3, 0.2, 0.24}, 0.5, 0.25));
  CHECK(line.count == 2);
  for (std::size_t k = 0; k < 2; ++k)
    CHECK(std::abs(std::abs(line.points[k][0] - 0.3) - 0.5) <= 1e-3 && std::abs(line.points[k][1] - 0.2) <= 1e-3);
  const Contact<3> point = contact_with(ball({0.3, 0.2, 0.24}, 0.25));
  CHECK(point.count == 1 && length(add(point.points[0], {0.3, 0.2, -0.005}, -1)) <= 1e-3);
}

// ---- The plane ----

struct Flat {
  Vec<2> centre, ellipse, half;

  Vec<2> operator()(const Vec<2>& way) const {
    const double x = ellipse[0] * way[0], y = ellipse[1] * way[1], far = std::hypot(x, y);
    const double scale = far > 0 ? 1 / far : 0;
    return {centre[0] + ellipse[0] * x * scale + (way[0] < 0 ? -half[0] : half[0]),
            centre[1] + ellipse[1] * y * scale + (way[1] < 0 ? -half[1] : half[1])};
  }
};
using FlatCore = SupportCore<Prism<Flat>>;

FlatCore flat(const Vec<2>& centre, const Vec<2>& ellipse, const Vec<2>& half) {
  return FlatCore({{centre, ellipse, half}}, 0);
}

void check_plane(Random& random) {
  const auto number = [&] { return 2 * random.uniform() - 1; };
  const double x = number(), y = number(), r = 0.5 + random.uniform(), s = 0.5 + random.uniform();
  const FlatCore disc = flat({0, 0}, {r, r}, {}), other = flat({x, y}, {s, s}, {});
  check_near(polytopes::gap_of(PlaneCores<Flat>{disc, other}).distance, std::hypot(x, y) - r - s);
  // An ellipse over a wide ground.
  const FlatCore ground = flat({0, -4}, {}, {4, 4}), body = flat({x, 1 + y}, {r, s}, {});
  const CoreGap gap = polytopes::gap_of(PlaneCores<Flat>{ground, body});
  check_near(gap.distance, 1 + y - s);
  const Contact<2> contact = polytopes::plane_contact(PlaneCores<Flat>{ground, body}, gap);
  CHECK(contact.count == 1 && std::abs(contact.points[0][0] - x) <= 1e-3);
  check_near(contact.points[0][1], (1 + y - s) / 2);
  // A box with round corners on it.
  const FlatCore rounded = flat({x, s}, {r, s}, {0.5, 0});
  const Contact<2> line =
      polytopes::plane_contact(PlaneCores<Flat>{ground, rounded}, polytopes::gap_of(PlaneCores<Flat>{ground, rounded}));
  CHECK(line.count == 2 && std::abs(std::abs(line.points[0][0] - line.points[1][0]) - 1) <= 1e-3);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  check_contacts();
  for (std::size_t seed = 0; seed < rounds(argc, argv, 300); ++seed) {
    current_case() = "seed " + std::to_string(seed);
    Random random(seed);
    check_balls(random);
    check_cylinders(random);
    check_ellipsoids(random);
    check_random(random);
    check_plane(random);
  }
}
