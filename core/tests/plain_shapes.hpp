// The narrow phase of the plane from its definition: the hull of all differences, and where the origin lies to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "shapes/shape.hpp"

namespace broadphase::tests {

using Real = long double;
using Point = std::pair<Real, Real>;

struct PlainCore {
  std::vector<Point> corners;
  Real radius = 0;
};

inline PlainCore plain_core(const ShapeView<2>& shape) {
  const auto& r = shape.record;
  PlainCore core;
  core.radius = radius_of(shape);
  if (shape.kind == ShapeKind::kBox) {
    for (const std::size_t x : {0u, 2u})
      for (const std::size_t y : {1u, 3u}) core.corners.emplace_back(r[x], r[y]);
  } else if (shape.kind == ShapeKind::kOrientedBox) {
    for (const Real u : {-1, 1})
      for (const Real v : {-1, 1})
        core.corners.emplace_back(r[0] + u * r[2] * r[4] + v * r[3] * r[6], r[1] + u * r[2] * r[5] + v * r[3] * r[7]);
  } else {
    for (std::size_t k = 0; k + 1 < r.size(); k += 2) core.corners.emplace_back(r[k], r[k + 1]);
  }
  return core;
}

inline Real turn(const Point& a, const Point& b, const Point& c) {
  return (b.first - a.first) * (c.second - a.second) - (b.second - a.second) * (c.first - a.first);
}

// Convex hull by monotone chain, counter-clockwise. What stands out by no more than rounding is left out: of points
// closer than that, one could hide that the other, and more after it, do not stand out at all.
inline std::vector<Point> hull(std::vector<Point> points) {
  const auto stands_out = [](const Point& a, const Point& b, const Point& c) {
    const Real products =
        std::abs((b.first - a.first) * (c.second - a.second)) + std::abs((b.second - a.second) * (c.first - a.first));
    return turn(a, b, c) > 4 * std::numeric_limits<Real>::epsilon() * products;
  };
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  if (points.size() < 3) return points;
  std::vector<Point> chain;
  for (const bool upper : {false, true}) {
    const std::size_t start = chain.size();
    for (const Point& point : points) {
      while (chain.size() >= start + 2 && !stands_out(chain[chain.size() - 2], chain.back(), point)) chain.pop_back();
      chain.push_back(point);
    }
    chain.pop_back();
    std::reverse(points.begin(), points.end());
    (void)upper;
  }
  return chain;
}

// The differences of two simple shapes: a hull and a radius.
struct Differences {
  std::vector<Point> corners;
  Real radius = 0;

  Differences(const ShapeView<2>& a, const ShapeView<2>& b) {
    const PlainCore p = plain_core(a), q = plain_core(b);
    radius = p.radius + q.radius;
    std::vector<Point> all;
    for (const Point& from : p.corners)
      for (const Point& to : q.corners) all.emplace_back(to.first - from.first, to.second - from.second);
    corners = hull(all);
  }

  // Signed distance from a place. What is nearest to a place inside is never the end of an edge that it lies beyond:
  // where it is, the hull is so thin that the signs of the turns are noise.
  Real distance(const Point& at) const {
    Real nearest = std::numeric_limits<Real>::infinity();
    bool inside = corners.size() > 2, beyond = false;
    for (std::size_t k = 0; k < corners.size(); ++k) {
      const Point& from = corners[k];
      const Point& to = corners[(k + 1) % corners.size()];
      const Real dx = to.first - from.first, dy = to.second - from.second, squared = dx * dx + dy * dy;
      const Real along = squared > 0 ? ((at.first - from.first) * dx + (at.second - from.second) * dy) / squared : 0;
      const Real share = std::clamp<Real>(along, 0, 1);
      const Real gap = std::hypot(from.first + share * dx - at.first, from.second + share * dy - at.second);
      if (gap < nearest) {
        nearest = gap;
        beyond = std::abs(along - share) * std::sqrt(squared) > gap / 2;
      }
      inside = inside && turn(from, to, at) >= 0;
    }
    return (inside && !beyond ? -nearest : nearest) - radius;
  }
};

// Calls visit(p, q) for each part of a and each of b.
template <class Visit>
void for_all_parts(const ShapeView<2>& a, const ShapeView<2>& b, Visit&& visit) {
  const auto parts = [](const ShapeView<2>& shape) {
    std::vector<ShapeView<2>> found;
    if (shape.kind != ShapeKind::kCompound)
      found.push_back(shape);
    else
      for_each_part<2>(shape.record, [&](const ShapeView<2>& part) {
        found.push_back(part);
        return true;
      });
    return found;
  };
  for (const auto& p : parts(a))
    for (const auto& q : parts(b)) visit(p, q);
}

inline Real plain_distance(const ShapeView<2>& a, const ShapeView<2>& b) {
  Real least = std::numeric_limits<Real>::infinity();
  for_all_parts(a, b,
                [&](const auto& p, const auto& q) { least = std::min(least, Differences(p, q).distance({0, 0})); });
  return least;
}

// How long a wholly overlaps b on the way of `motion` times 0 to `last`: the least distance, and the first time it is
// at most `tolerance`, or infinity. The distance is a convex function of time, so both are found by cutting intervals.
struct PlainImpact {
  Real least = std::numeric_limits<Real>::infinity(), time = std::numeric_limits<Real>::infinity();
};

inline PlainImpact plain_impact(const ShapeView<2>& a, const Vec<2>& motion, const ShapeView<2>& b, Real last,
                                Real tolerance) {
  PlainImpact result;
  for_all_parts(a, b, [&](const auto& p, const auto& q) {
    const Differences differences(p, q);
    const auto at = [&](Real t) { return differences.distance({t * motion[0], t * motion[1]}); };
    Real from = 0, to = last;
    for (int k = 0; k < 200; ++k) {
      const Real low = from + (to - from) / 3, high = to - (to - from) / 3;
      (at(low) <= at(high) ? to : from) = at(low) <= at(high) ? high : low;
    }
    Real lowest = from;
    for (const Real t : {Real(0), last})
      if (at(t) < at(lowest)) lowest = t;
    result.least = std::min(result.least, at(lowest));
    if (at(lowest) > tolerance) return;
    Real before = 0, after = lowest;
    if (at(0) <= tolerance) after = 0;
    for (int k = 0; k < 200 && after > before; ++k) {
      const Real middle = before + (after - before) / 2;
      (at(middle) <= tolerance ? after : before) = middle;
    }
    result.time = std::min(result.time, after);
  });
  return result;
}

}  // namespace broadphase::tests
