// What must hold of any two shapes of the plane: overlap, distance, contact, rays and impacts against their
// definitions.
#pragma once

#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "narrow/shape_queries.hpp"
#include "plain_shapes.hpp"
#include "shape_kinds.hpp"

namespace broadphase::tests {

// How a scene is made: on a lattice, where touching, lying on one line and coinciding are common, or anywhere.
struct Style {
  bool lattice;
  double size, away;  // of shapes; of the scene from the origin
  double flat = 1;    // how thin shapes are, along a slanting line
};

struct Shape {
  ShapeKind kind;
  std::vector<double> record;
  ShapeView<2> view() const { return {kind, record}; }
};

class Shapes {
 public:
  Shapes(Random& random, const Style& style) : random_(random), style_(style) {}

  Shape of_kind(ShapeKind kind) {
    Shape shape{kind, {}};
    auto& r = shape.record;
    const ShapeTraits& traits = traits_of(kind);
    switch (traits.core) {
      case CoreForm::kPoint:
      case CoreForm::kSegment:
      case CoreForm::kTriangle: add_points(r, traits.points); break;
      case CoreForm::kBox:
        if (kind == ShapeKind::kOrientedBox) {
          add_oriented_box(r);
        } else {
          add_points(r, 1);
          const double x = r[0] + 2 * size(), y = r[1] + 2 * size();
          r.insert(r.end(), {x, y});
        }
        break;
      case CoreForm::kPolygon: add_polygon(r); break;
      case CoreForm::kNone:
      case CoreForm::kHalfSpace:
      case CoreForm::kCurved: add_parts(r);
    }
    if (traits.lengths > 0) r.push_back(size());
    return shape;
  }

 private:
  double number() { return style_.lattice ? static_cast<double>(random_.below(9)) : 8 * random_.uniform(); }
  // Of boxes and radii.
  double size() {
    return style_.size * (style_.lattice ? static_cast<double>(random_.below(3)) : 2 * random_.uniform());
  }
  void add_points(std::vector<double>& r, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      const double x = style_.size * number(), y = style_.size * number();
      const bool slant = style_.flat < 1;
      r.push_back(style_.away + (slant ? 0.8 * x - 0.6 * style_.flat * y : x));
      r.push_back(style_.away + (slant ? 0.6 * x + 0.8 * style_.flat * y : y));
    }
  }
  void add_oriented_box(std::vector<double>& r) {
    add_points(r, 1);
    r.push_back(size());
    r.push_back(size());
    const double angle =
        style_.lattice ? 0.78539816339744831 * static_cast<double>(random_.below(8)) : 7 * random_.uniform();
    const double c = std::cos(angle), s = std::sin(angle);
    r.insert(r.end(), {c, s, -s, c});
  }
  // The hull of some points, with corners in the middle of edges left in or put in now and then.
  void add_polygon(std::vector<double>& r) {
    std::vector<double> loose;
    std::vector<Point> points, corners;
    do {
      loose.clear();
      points.clear();
      add_points(loose, 3 + random_.below(6));
      for (std::size_t k = 0; k < loose.size(); k += 2) points.emplace_back(loose[k], loose[k + 1]);
      corners = hull(points);
    } while (corners.empty());
    while (corners.size() < 3 || (style_.lattice && random_.chance(0.3))) {
      const std::size_t k = random_.below(corners.size());
      const Point& next = corners[(k + 1) % corners.size()];
      Point middle = corners[k];  // or a corner twice
      if (random_.chance(0.5)) middle = {(middle.first + next.first) / 2, (middle.second + next.second) / 2};
      corners.insert(corners.begin() + static_cast<std::ptrdiff_t>(k) + 1, middle);
    }
    for (const Point& corner : corners) {
      const double x = static_cast<double>(corner.first), y = static_cast<double>(corner.second);
      r.insert(r.end(), {x, y});
      // A corner once more, a rounding away: the edge between them may point anywhere.
      if (!style_.lattice && random_.chance(0.2))
        r.insert(r.end(),
                 {std::nextafter(x, random_.chance(0.5) ? 0 : 1e9), std::nextafter(y, random_.chance(0.5) ? 0 : 1e9)});
    }
  }
  void add_parts(std::vector<double>& r) {
    for (std::size_t count = 1 + random_.below(3); count > 0; --count) {
      const Shape part = of_kind(random_simple_kind<2>(random_));
      r.push_back(static_cast<double>(part.kind));
      r.push_back(static_cast<double>(part.record.size()));
      r.insert(r.end(), part.record.begin(), part.record.end());
    }
  }

  Random& random_;
  Style style_;
};

// Whether corners on a lattice are exact: those of boxes that are turned are not.
inline bool is_whole(ShapeKind kind) { return kind != ShapeKind::kOrientedBox && kind != ShapeKind::kCompound; }

inline bool near(double a, Real b, double tolerance) {
  return std::abs(static_cast<Real>(a) - b) <= static_cast<Real>(tolerance);
}

inline Shape moved(const Shape& shape, const Vec<2>& by) {
  Shape result = shape;
  shift_shape<2>(result.kind, result.record, by.data());
  return result;
}

inline Vec<2> opposite(const Vec<2>& v) { return {-v[0], -v[1]}; }

// Equal shapes, or discs of one centre: they are the same from both sides. A compound may have such parts.
inline bool has_no_direction(const Shape& a, const Shape& b) {
  if (a.kind == ShapeKind::kCompound || b.kind == ShapeKind::kCompound) return true;
  if (a.kind == b.kind && a.record == b.record) return true;
  const auto is_disc = [](const Shape& shape) { return traits_of(shape.kind).core == CoreForm::kPoint; };
  return is_disc(a) && is_disc(b) && a.record[0] == b.record[0] && a.record[1] == b.record[1];
}

inline void check_contact(const Shape& a, const Shape& b, double tolerance) {
  const Contact<2> found = contact(a.view(), b.view()), back = contact(b.view(), a.view());
  Vec<2> normal{};
  const double distance = signed_distance(a.view(), b.view(), &normal);
  CHECK(found.depth >= 0 && near(found.depth, distance < 0 ? -distance : 0, tolerance));
  CHECK(found.depth == back.depth && found.count == back.count);
  CHECK(near(std::hypot(found.normal[0], found.normal[1]), 1, 1e-12));
  CHECK(found.normal == opposite(back.normal) || has_no_direction(a, b));
  CHECK(found.count >= 1 && found.count <= 2);
  for (std::size_t k = 0; k < found.count; ++k) {
    // Where no direction is better than another, it is the same both ways, and so is the side on which the point lies.
    CHECK(found.normal == back.normal || found.points[k] == back.points[k]);
    const Shape point{ShapeKind::kPoint, {found.points[k][0], found.points[k][1]}};
    for (const Shape* shape : {&a, &b})
      CHECK(plain_distance(point.view(), shape->view()) <= found.depth / 2 + tolerance);
  }
  if (a.kind == ShapeKind::kCompound || b.kind == ShapeKind::kCompound) return;
  // Moved apart by the depth they touch; by a little less, they still overlap.
  const auto apart = moved(b, {found.depth * found.normal[0], found.depth * found.normal[1]});
  CHECK(std::abs(plain_distance(a.view(), apart.view())) <= tolerance);
}

inline void check_pair(Random& random, const Style& style, ShapeKind first, ShapeKind second) {
  Shapes shapes(random, style);
  const Shape a = shapes.of_kind(first), b = shapes.of_kind(second);
  const double tolerance = 4e-14 * (16 * style.size + std::abs(style.away));
  Vec<2> normal{}, back{};
  const Real expected = plain_distance(a.view(), b.view());
  const double distance = signed_distance(a.view(), b.view(), &normal);
  CHECK(near(distance, expected, tolerance));
  CHECK(near(std::hypot(normal[0], normal[1]), 1, 1e-12));
  CHECK(distance == signed_distance(b.view(), a.view(), &back));
  CHECK(normal == opposite(back) || has_no_direction(a, b));
  const bool overlap = overlaps(a.view(), b.view());
  CHECK(overlap == overlaps(b.view(), a.view()));
  if (std::abs(expected) > static_cast<Real>(tolerance)) CHECK(overlap == (expected < 0));
  // On the lattice, what does not need roots and angles is judged exactly.
  if (style.lattice && is_whole(a.kind) && is_whole(b.kind))
    CHECK(overlap == (expected <= 1e-16L * static_cast<Real>(style.size)));
  if (overlap) {
    check_contact(a, b, tolerance);
  } else if (a.kind != ShapeKind::kCompound && b.kind != ShapeKind::kCompound) {
    const auto touching = moved(b, {-distance * normal[0], -distance * normal[1]});
    CHECK(std::abs(plain_distance(a.view(), touching.view())) <= tolerance);
  }
}

inline void check_impact(Random& random, const Style& style, ShapeKind first, ShapeKind second) {
  Shapes shapes(random, style);
  const Shape a = shapes.of_kind(first), b = shapes.of_kind(second);
  const double scale = 16 * style.size + std::abs(style.away);
  const double speed = style.size * (random.chance(0.3) ? 1e6 : 1);
  Vec<2> motion;
  for (double& x : motion)
    x = speed * (style.lattice ? static_cast<double>(random.below(17)) - 8 : 16 * random.uniform() - 8);
  bool on_lattice = style.lattice;
  const Shape& guide = random.chance(0.5) ? a : b;
  if (random.chance(0.2) && guide.record.size() >= 4 && guide.kind != ShapeKind::kCompound) {
    // Along an edge, or a little askew.
    on_lattice = false;
    const double askew = random.chance(0.5) ? 0 : 1e-9 * random.uniform();
    motion = {guide.record[2] - guide.record[0] + askew, guide.record[3] - guide.record[1]};
  }
  const bool is_ray = first == ShapeKind::kPoint && random.chance(0.5);
  const Real last = is_ray ? 1000 : 1;
  const double length = std::hypot(motion[0], motion[1]);
  const double tolerance = 1e-13 * (scale + length);
  Vec<2> normal{};
  const double time = is_ray ? ray_hit(b.view(), {a.record[0], a.record[1]}, motion, &normal)
                             : impact_time(a.view(), motion, b.view(), &normal);
  if (time == std::numeric_limits<double>::infinity()) {
    const Real least = plain_impact(a.view(), motion, b.view(), last, 0).least;
    CHECK(least >= -static_cast<Real>(tolerance));
    // On the lattice, what only touches in passing is met as well.
    if (on_lattice && is_whole(a.kind) && is_whole(b.kind)) CHECK(least > 1e-9L * static_cast<Real>(style.size));
    return;
  }
  CHECK(time >= 0 && (is_ray || time <= 1));
  if (overlaps(a.view(), b.view())) {
    CHECK(time == 0);
    return;
  }
  CHECK(near(std::hypot(normal[0], normal[1]), 1, 1e-12));
  const double towards = (is_ray ? -1 : 1) * (normal[0] * motion[0] + normal[1] * motion[1]);
  CHECK(time == 0 || towards >= -1e-7 * length);
  // They touch then, and did not touch before.
  const Real t = time;
  Real at = std::numeric_limits<Real>::infinity();
  for_all_parts(a.view(), b.view(), [&](const auto& p, const auto& q) {
    at = std::min(at, Differences(p, q).distance({t * motion[0], t * motion[1]}));
  });
  CHECK(std::abs(at) <= static_cast<Real>(tolerance));
  const Real before = plain_impact(a.view(), motion, b.view(), last, -static_cast<Real>(tolerance)).time;
  CHECK(t <= before + 1e-12L);
}

inline constexpr Style kStyles[] = {{true, 1, 0},     {true, 1, 0},        {false, 1, 0},          {false, 1, 1e6},
                                    {false, 1e-6, 1}, {false, 1, 0, 1e-9}, {false, 1, 100, 1e-14}, {true, 0x1p20, 0}};

}  // namespace broadphase::tests
