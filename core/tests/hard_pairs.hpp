// Pairs of shapes at the limits of rounding, and a judge that needs no algorithm: certificates.
//
// The gap along any direction is a lower bound of the signed distance of two convex shapes, and along one of a few
// directions it is that: across a face, across an edge of each, from corner to corner, or from corner to edge. So a
// distance is right if the gap along its normal is as wide and none of these is wider. Time of impact follows: the
// distance is a convex function of time, and Newton's method never steps beyond its first zero.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "check.hpp"
#include "narrow/polytopes.hpp"
#include "narrow/shape_queries.hpp"

namespace broadphase::tests {

using Real = long double;

template <class T, std::size_t D>
std::array<T, D> sum(const std::array<T, D>& a, const std::array<T, D>& b, std::type_identity_t<T> times = 1) {
  std::array<T, D> c;
  for (std::size_t k = 0; k < D; ++k) c[k] = a[k] + times * b[k];
  return c;
}
template <class T, std::size_t D>
std::array<T, D> scaled(const std::array<T, D>& a, std::type_identity_t<T> times) {
  return sum(std::array<T, D>{}, a, times);
}
template <class T, std::size_t D>
T product(const std::array<T, D>& a, const std::array<T, D>& b) {
  T total = 0;
  for (std::size_t k = 0; k < D; ++k) total += a[k] * b[k];
  return total;
}
template <class T>
std::array<T, 3> cross(const std::array<T, 3>& a, const std::array<T, 3>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
// Perpendicular to both, also if they are nearly parallel: the product itself is, but for rounding of their lengths.
template <class T>
std::array<T, 3> across(const std::array<T, 3>& a, const std::array<T, 3>& b) {
  const std::array<T, 3> way = cross(a, b);
  return sum(way, a, -product(way, a) / product(a, a));
}
template <class T, std::size_t D>
T length(const std::array<T, D>& a) {
  return std::sqrt(product(a, a));
}

// ---- The judge ----

template <std::size_t D>
struct HardShape {
  ShapeKind kind;
  std::vector<double> record;
  std::shared_ptr<const Polytope> polytope{};  // of a hull

  auto view() const {
    if constexpr (D == 3)
      return Element{{kind, record}, polytope.get()};
    else
      return ShapeView<2>{kind, record};
  }
  Vec<D> place() const {
    Vec<D> at;
    for (std::size_t k = 0; k < D; ++k) at[k] = record[k + (kind == ShapeKind::kHull ? 1 : 0)];
    return at;
  }
  void move(const Vec<D>& by) { shift_shape<D>(kind, record, by.data()); }
};

// The corners of a convex shape, relative to some place, directions of edges and normals of faces, and its radius.
template <std::size_t D>
struct Body {
  using Point = std::array<Real, D>;
  std::vector<Point> corners, edges, normals;
  Real radius = 0;

  Body(const HardShape<D>& shape, const Vec<D>& origin) {
    const auto& r = shape.record;
    const auto vector_at = [&](std::size_t from) {
      Point vector;
      for (std::size_t k = 0; k < D; ++k) vector[k] = r[from + k];
      return vector;
    };
    const auto place_at = [&](std::size_t from) {
      Point place = vector_at(from);
      for (std::size_t k = 0; k < D; ++k) place[k] -= origin[k];
      return place;
    };
    const bool turns = shape.kind == ShapeKind::kOrientedBox;
    const ShapeTraits& traits = traits_of(shape.kind);
    radius = radius_of(ShapeView<D>{shape.kind, r});
    if (traits.core == CoreForm::kBox) {
      for (std::size_t row = 0; row < std::size_t{1} << D; ++row) {
        Point corner = place_at(0);
        for (std::size_t k = 0; k < D; ++k) {
          const bool high = (row >> k & 1) != 0;
          if (turns)
            corner = sum(corner, vector_at(2 * D + D * k), high ? r[D + k] : -r[D + k]);
          else if (high)
            corner[k] = place_at(D)[k];
        }
        corners.push_back(corner);
      }
      for (std::size_t k = 0; k < D; ++k) {
        Point axis{};
        axis[k] = 1;
        edges.push_back(turns ? vector_at(2 * D + D * k) : axis);
      }
    } else if (shape.polytope != nullptr) {
      if constexpr (D == 3)
        for (std::size_t k = 0; k < shape.polytope->corner_count(); ++k) {
          Point corner = place_at(1);
          for (std::size_t axis = 0; axis < 3; ++axis)
            corner = sum(corner, vector_at(4 + 3 * axis),
                         std::ldexp(shape.polytope->corner(k)[axis], shape.polytope->exponent()));
          corners.push_back(corner);
        }
    } else {
      for (std::size_t k = 0; k + traits.lengths < r.size(); k += D) corners.push_back(place_at(k));
    }
    // Without knowing which are edges: more directions do no harm.
    if (edges.empty())
      for (std::size_t j = 0; j < corners.size(); ++j)
        for (std::size_t i = 0; i < j; ++i) edges.push_back(sum(corners[j], corners[i], -1));
    if constexpr (D == 3)
      for (std::size_t j = 0; j < edges.size() && corners.size() > 2; ++j)
        for (std::size_t i = 0; i < j; ++i) normals.push_back(across(edges[j], edges[i]));
  }
};

template <std::size_t D>
struct Bodies {
  using Point = std::array<Real, D>;
  Body<D> a, b;

  Bodies(const HardShape<D>& first, const HardShape<D>& second) : a(first, first.place()), b(second, first.place()) {}

  Real reach() const { return a.radius + b.radius; }

  // The gap along a direction of any length but 0; `by`: where the first has moved.
  Real gap_along(const Point& way, const Point& by = {}) const {
    Real most = -INFINITY, least = INFINITY;
    for (const Point& corner : a.corners) most = std::max(most, product(corner, way));
    for (const Point& corner : b.corners) least = std::min(least, product(corner, way));
    return (least - most - product(by, way)) / length(way) - reach();
  }

  struct Gap {
    Real distance = -INFINITY;
    Point normal{};
  };

  Gap widest(const Point& by = {}) const {
    Gap found;
    const auto look = [&](const Point& way) {
      const Real size = length(way);
      if (!(size > 0)) return;
      for (const Real sign : {1.0L, -1.0L}) {
        const Point normal = scaled(way, sign / size);
        if (const Real gap = gap_along(normal, by); gap > found.distance) found = {gap, normal};
      }
    };
    // Across one edge in its plane, or in any plane.
    const auto look_across = [&](const Point& edge) {
      if constexpr (D == 2) {
        look({edge[1], -edge[0]});
      } else {
        for (std::size_t k = 0; k < 3; ++k) {
          Point axis{};
          axis[k] = 1;
          look(cross(edge, axis));
        }
      }
    };
    for (const Body<D>* body : {&a, &b}) {
      for (const Point& normal : body->normals) look(normal);
      for (const Point& edge : body->edges) look_across(edge);
      if constexpr (D == 3)
        if (body->corners.size() == 3)
          for (const Body<D>* other : {&a, &b})
            for (const Point& edge : other->edges) look(cross(body->normals[0], edge));
    }
    if constexpr (D == 3)
      for (const Point& edge : a.edges)
        for (const Point& other : b.edges) look(across(edge, other));
    for (const Point& here : a.corners)
      for (const Point& there : b.corners) {
        const Point between = sum(sum(there, here, -1), by, -1);
        look(between);
        for (const Body<D>* body : {&a, &b})
          for (const Point& edge : body->edges)
            if (const Real square = product(edge, edge); square > 0) {
              const Point once = sum(between, edge, -product(between, edge) / square);
              look(sum(once, edge, -product(once, edge) / square));
            }
      }
    Point axis{};
    axis[0] = 1;
    look(axis);
    return found;
  }

  // The first time at most `last` at which they are within `level`, or infinity.
  Real first_time(const Point& motion, Real level, Real last) const {
    Real time = 0;
    for (int step = 0; step < 400 && time <= last; ++step) {
      const Gap gap = widest(scaled(motion, time));
      const Real left = gap.distance - level, speed = product(gap.normal, motion);
      if (left <= 0) return time;
      if (!(speed > 0) || time + left / speed == time) break;
      time += left / speed;
    }
    return INFINITY;
  }
};

// ---- Hard pairs ----

template <std::size_t D>
class HardPairs {
 public:
  explicit HardPairs(Random& random) : random_(random) {}

  struct Pair {
    HardShape<D> a, b;
    Vec<D> motion;
  };

  // Slim, tiny beside huge, nearly parallel, with a common place or corner, touching but for rounding, and far away; a
  // motion along an edge, aslant or at a surface, long or short, that ends at or passes such a place.
  Pair make(ShapeKind first, ShapeKind second) {
    const Frame frame = random_frame();
    const double size = random_.chance(0.25) ? power(-12, 0) : 1;
    Pair pair{make_shape(first, frame, 1),
              make_shape(second, random_.chance(0.5) ? tilted(frame) : random_frame(), size),
              {}};
    HardShape<D>&a = pair.a, &b = pair.b;
    const auto corner_of = [&](const HardShape<D>& shape) {
      const Body<D> body(shape, {});
      return rounded(body.corners[random_.below(body.corners.size())]);
    };
    const std::size_t meeting = random_.below(4);
    if (meeting == 0 || meeting == 3) b.move(scaled(direction(), 2 * random_.uniform()));
    if (meeting == 1) b.move(sum(corner_of(a), corner_of(b), -1));
    const auto gap_of = [&] { return Bodies<D>(a, b).widest(); };
    if (meeting >= 2) {
      const auto gap = gap_of();
      const double beyond = random_.chance(0.3) ? 0 : (random_.chance(0.5) ? 1 : -1) * power(-17, 0);
      b.move(scaled(rounded(gap.normal), beyond - static_cast<double>(gap.distance)));
    }
    if (random_.chance(0.3)) {
      const Vec<D> away = scaled(direction(), power(0, 9));
      a.move(away);
      b.move(away);
    }
    if (random_.chance(0.5)) std::swap(a, b);
    const Vec<D> normal = rounded(gap_of().normal), side = direction();
    Vec<D>& motion = pair.motion;
    switch (random_.below(4)) {
      case 0: motion = side; break;
      case 1: motion = sum(corner_of(a), corner_of(random_.chance(0.5) ? a : b), -1); break;
      case 2: motion = sum(side, normal, -product(side, normal)); break;
      default: motion = sum(normal, side, random_.uniform());
    }
    if (!(length(motion) > 0)) motion = side;
    motion = scaled(motion, 1 / length(motion));
    if (random_.chance(0.4)) motion = sum(motion, direction(), power(-17, -1));
    motion = scaled(motion, random_.chance(0.6) ? 1 : power(-9, 6));
    if (random_.chance(0.5)) a.move(scaled(motion, -random_.uniform()));
    return pair;
  }

 private:
  using Frame = std::array<Vec<D>, D>;

  double power(double low, double high) { return std::pow(10.0, low + (high - low) * random_.uniform()); }
  static Vec<D> rounded(const std::array<Real, D>& point) {
    Vec<D> result;
    for (std::size_t k = 0; k < D; ++k) result[k] = static_cast<double>(point[k]);
    return result;
  }
  Vec<D> direction() {
    for (;;) {
      Vec<D> way;
      for (double& x : way) x = 2 * random_.uniform() - 1;
      if (const double size = length(way); size > 0.1 && size < 1) return scaled(way, 1 / size);
    }
  }
  // Along the axes, or in any way.
  Frame random_frame() {
    Frame frame{};
    for (std::size_t k = 0; k < D; ++k) frame[k][k] = 1;
    if (random_.chance(0.25)) return frame;
    for (std::size_t k = 0; k < D; ++k) turn(frame, k, 7 * random_.uniform());
    return frame;
  }
  Frame tilted(Frame frame) {
    for (std::size_t k = 0; k < D; ++k)
      if (random_.chance(0.5)) turn(frame, k, power(-16, -1));
    return frame;
  }
  static void turn(Frame& frame, std::size_t axis, double angle) {
    const Vec<D> x = frame[axis], y = frame[(axis + 1) % D];
    frame[axis] = sum(scaled(x, std::cos(angle)), y, std::sin(angle));
    frame[(axis + 1) % D] = sum(scaled(y, std::cos(angle)), x, -std::sin(angle));
  }

  HardShape<D> make_shape(ShapeKind kind, const Frame& frame, double size) {
    HardShape<D> shape{kind, {}};
    auto& r = shape.record;
    const double slim = random_.chance(0.5) ? power(-17, -1) : 0.2 + random_.uniform();
    const auto extent = [&] { return size * (random_.chance(0.4) ? slim : random_.chance(0.1) ? 0 : 1); };
    const auto put = [&](double x, double y = 0) {
      const Vec<D> point = sum(scaled(frame[0], size * x), frame[1], size * slim * y);
      r.insert(r.end(), point.begin(), point.end());
    };
    switch (traits_of(kind).core) {
      case CoreForm::kPoint: put(0); break;
      case CoreForm::kSegment: {
        const double half = random_.chance(0.8) ? 0.5 : slim;
        put(-half);
        put(half);
        break;
      }
      case CoreForm::kBox:
        if (kind == ShapeKind::kBox) {
          for (std::size_t k = 0; k < D; ++k) r.push_back(0);
          for (std::size_t k = 0; k < D; ++k) r.push_back(extent());
        } else {
          put(0);
          for (std::size_t k = 0; k < D; ++k) r.push_back(extent() / 2);
          for (const Vec<D>& axis : frame) r.insert(r.end(), axis.begin(), axis.end());
        }
        break;
      case CoreForm::kTriangle:
        put(-0.5);
        put(0.5);
        put(random_.uniform() - 0.5, 1);
        break;
      case CoreForm::kPolygon: {
        const std::size_t count = 3 + random_.below(5);
        for (std::size_t k = 0; k < count; ++k) {
          const double angle = 6.28 * (static_cast<double>(k) + 0.8 * random_.uniform()) / static_cast<double>(count);
          put(0.5 * std::cos(angle), 0.5 * std::sin(angle));
        }
        break;
      }
      case CoreForm::kNone: {  // a hull
        std::vector<double> points;
        do {
          points.clear();
          for (std::size_t k = 0; k < 15; ++k)
            points.push_back(size * (k % 3 == 1 ? slim : 1) * (random_.uniform() - 0.5));
          shape.polytope = std::make_shared<const Polytope>(points);
        } while (shape.polytope->corner_count() == 0);
        r.push_back(0);
        put(0);
        for (const Vec<D>& axis : frame) r.insert(r.end(), axis.begin(), axis.end());
        r.resize(1 + (3 + D) * D);
        break;
      }
      case CoreForm::kHalfSpace:
      case CoreForm::kCurved: break;
    }
    if (traits_of(kind).lengths > 0) r.push_back(extent());
    return shape;
  }

  Random& random_;
};

// ---- What must hold ----

template <std::size_t D>
bool has_no_direction(const HardShape<D>& a, const HardShape<D>& b) {
  return (a.kind == b.kind && a.record == b.record) ||
         (traits_of(a.kind).core == CoreForm::kPoint && traits_of(b.kind).core == CoreForm::kPoint &&
          a.place() == b.place());
}

template <std::size_t D>
void check_hard_pair(const typename HardPairs<D>::Pair& pair) {
  using Point = std::array<Real, D>;
  const HardShape<D>&a = pair.a, &b = pair.b;
  const Bodies<D> bodies(a, b);
  const auto real = [](const Vec<D>& v) {
    Point point;
    for (std::size_t k = 0; k < D; ++k) point[k] = v[k];
    return point;
  };
  // What counts as rounding: a little of the sizes and the distance, less of the coordinates. A time may be later where
  // the motion is nearly along a surface.
  Real size = bodies.reach(), coordinates = length(a.place()) + length(b.place());
  for (const Body<D>* body : {&bodies.a, &bodies.b})
    for (const Point& corner : body->corners) size = std::max(size, length(corner));
  const Real tolerance = 2e-11L * size + 4e-15L * coordinates;

  Vec<D> normal{}, back{}, opposite{};
  const double distance = signed_distance(a.view(), b.view(), &normal);
  const Real wanted = bodies.widest().distance;
  CHECK(std::abs(distance - wanted) <= tolerance);
  CHECK(std::abs(length(normal) - 1) <= 1e-9);
  // The direction between features in contact is known as well as their distance.
  const Real lean = wanted == 0 ? 0 : 1e-15L * size * size / std::abs(wanted);
  CHECK(bodies.gap_along(real(normal)) >= wanted - tolerance - std::min(lean, 1e-6L * size));
  CHECK(signed_distance(b.view(), a.view(), &back) == distance);
  for (std::size_t k = 0; k < D; ++k) CHECK(normal[k] == -back[k] || has_no_direction(a, b));
  const bool overlap = overlaps(a.view(), b.view());
  CHECK(overlap == overlaps(b.view(), a.view()));
  CHECK(overlap == (wanted <= 0) || std::abs(wanted) <= tolerance);
  if (overlap) {
    const auto found = contact(a.view(), b.view());
    CHECK(found.count >= 1 && std::abs(found.depth - std::max(0.0, -distance)) <= tolerance);
    // Points of faces and edges that are nearly parallel are not in both shapes.
    const Real slack = 2e-3L * size + 10 * tolerance + found.depth / 2;
    for (std::size_t k = 0; k < found.count; ++k)
      for (const HardShape<D>* shape : {&a, &b})
        CHECK(Bodies<D>({ShapeKind::kPoint, {found.points[k].begin(), found.points[k].end()}}, *shape)
                  .widest()
                  .distance <= slack);
  }

  for (std::size_t k = 0; k < D; ++k) opposite[k] = -pair.motion[k];
  const double time = impact_time(a.view(), pair.motion, b.view(), &normal);
  CHECK(time == impact_time(b.view(), opposite, a.view(), &back));
  CHECK(!overlap || time == 0);
  const Point motion = real(pair.motion);
  const auto check_time = [&](Real at, Real last, const Point& way) {
    const Real travel = length(motion) * std::min(at, last), spare = tolerance + 4e-15L * travel + 1e-12L * coordinates;
    if (overlap) return;
    CHECK(bodies.first_time(motion, -spare, std::min(at, last)) >= at);
    if (at > last) return;
    const Point by = scaled(motion, at);
    CHECK(at >= 0 && std::abs(bodies.widest(by).distance) <= spare);
    CHECK(std::abs(length(way) - 1) <= 1e-9L);
    // Of almost no radius, and of what touches already and goes on, the normal may be any.
    const bool is_known = bodies.reach() == 0 || bodies.reach() > 1e-4L * (size + coordinates + travel);
    if (is_known && wanted > tolerance) {
      CHECK(product(way, motion) >= -1e-7L * length(motion));
      CHECK(bodies.gap_along(way, by) >= -1e-8L * size - 10 * spare);
    }
    if (at == 0) CHECK(bodies.gap_along(way) >= wanted - spare - std::min(lean, 1e-6L * size));
  };
  check_time(time, 1, real(normal));
  if (a.kind != ShapeKind::kPoint) return;
  const double hit = ray_hit(b.view(), a.place(), pair.motion, &normal);
  for (double& x : normal) x = -x;
  if (hit > 0) check_time(hit, 10 * size / length(motion), real(normal));
}

}  // namespace broadphase::tests
