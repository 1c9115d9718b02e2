// Where two rounded polygons touch: one point, or two where a stretch of one faces an edge of the other.
#pragma once

#include <cmath>
#include <cstddef>

#include "narrow/narrow_2d_separation.hpp"

namespace broadphase::narrow_2d {

// Corners lie on one line with an edge if they are as near to it as this, relative to the largest coordinate.
inline constexpr double kFlat = 1e-14;

// An edge's own axes: places along it, gaps in front of it.
struct EdgeFrame {
  double x, y;
  Vec<2> along, normal;

  // `towards`: the edge's normal, or against it for an edge that stands for the one that leads back.
  EdgeFrame(const Edge& edge, const Vec<2>& towards) : x(edge.x), y(edge.y), normal(towards) {
    const double length = std::sqrt(edge.squared_length());
    along = {edge.dx / length, edge.dy / length};
  }
  double place(double px, double py) const { return (px - x) * along[0] + (py - y) * along[1]; }
  double gap(double px, double py) const { return (px - x) * normal[0] + (py - y) * normal[1]; }
  Vec<2> at(double place, double gap) const {
    return {x + place * along[0] + gap * normal[0], y + place * along[1] + gap * normal[1]};
  }
};

// The places of those corners whose gap, times `sign`, is least but for rounding. More than one corner of a polygon may
// lie on the line of an edge.
struct Stretch {
  double from = kInfinity, to = -kInfinity;
  double gap = kInfinity;
  std::size_t corner = 0;

  Stretch(const Rounded& polygon, const EdgeFrame& frame, double sign, double flat) {
    for (std::size_t k = 0; k < polygon.count; ++k) {
      const double at = sign * frame.gap(polygon.x(k), polygon.y(k));
      if (at < gap) {
        gap = at;
        corner = k;
      }
    }
    for (std::size_t k = 0; k < polygon.count; ++k) {
      if (sign * frame.gap(polygon.x(k), polygon.y(k)) > gap + flat) continue;
      const double place = frame.place(polygon.x(k), polygon.y(k));
      from = place < from ? place : from;
      to = place > to ? place : to;
    }
  }
};

// The corner next to `corner` towards which the boundary rises least in front of the edge.
inline std::size_t flattest_neighbour(const Rounded& polygon, std::size_t corner, const EdgeFrame& frame) {
  std::size_t flattest = corner;
  double least = kInfinity;
  for (const bool forward : {false, true}) {
    std::size_t next = corner;
    double dx = 0, dy = 0;
    // Past corners that coincide with this one.
    for (std::size_t step = 1; step < polygon.count && dx == 0 && dy == 0; ++step) {
      next = forward ? polygon.after(next) : polygon.before(next);
      dx = polygon.x(next) - polygon.x(corner);
      dy = polygon.y(next) - polygon.y(corner);
    }
    const double length = std::sqrt(dx * dx + dy * dy);
    if (length == 0) continue;
    const double slope = (dx * frame.normal[0] + dy * frame.normal[1]) / length;
    if (slope < least) {
      least = slope;
      flattest = next;
    }
  }
  return flattest;
}

inline double clamped(double value, double low, double high) { return value < low ? low : value > high ? high : value; }

// An edge of `polygon`, that looks `towards` the other.
inline void touch_along_edge(const Rounded& polygon, std::size_t k, const Vec<2>& towards, const Rounded& other,
                             Contact<2>& contact) {
  const EdgeFrame frame(Edge(polygon, k), towards);
  const double flat = kFlat * (magnitude(polygon) + magnitude(other));
  const Stretch own(polygon, frame, -1, flat), facing(other, frame, 1, flat);
  // Midway between the two surfaces, where a point of the other's core is at some gap.
  const auto add = [&](double place, double gap) {
    contact.points[contact.count++] = frame.at(place, (gap + polygon.radius - other.radius) / 2);
  };
  const double first = clamped(facing.from, own.from, own.to);
  if (facing.to - facing.from > flat) {
    const double second = clamped(facing.to, own.from, own.to);
    add(first, facing.gap);
    if (second - first > flat) add(second, facing.gap);
    return;
  }
  add(first, facing.gap);
  const std::size_t next = flattest_neighbour(other, facing.corner, frame);
  const double place = frame.place(other.x(next), other.y(next)), gap = frame.gap(other.x(next), other.y(next));
  const double second = clamped(place, own.from, own.to);
  if (std::abs(second - first) <= flat) return;
  const double second_gap = facing.gap + (second - first) / (place - first) * (gap - facing.gap);
  if (second_gap <= polygon.radius + other.radius) add(second, second_gap);
}

// Corners that face each other so nearly as an edge does that the two do not differ are taken for an edge: what stands
// on another's end rests on two points, whatever rounding makes of it.
inline Separation with_edge_preferred(const Separation& apart, const Rounded& a, const Rounded& b) {
  constexpr double kSame = 1 - 1e-12;
  Separation best;
  if (a.count > 1) raise_by_edges(a, b, true, best);
  if (b.count > 1) raise_by_edges(b, a, false, best);
  return best.distance > 0 && best.distance >= kSame * apart.distance ? best : apart;
}

// Precondition: they overlap.
inline Contact<2> contact(const Rounded& a, const Rounded& b) {
  const double reach = a.radius + b.radius;
  Separation found = separation(a, b);
  const bool with_disc = a.count == 1 || b.count == 1;
  if (found.feature == Feature::kCorners && found.distance > 0 && !with_disc) found = with_edge_preferred(found, a, b);
  Contact<2> result;
  result.normal = found.normal;
  result.depth = found.distance < reach ? reach - found.distance : 0;
  if (with_disc) {
    // On the way from the disc's centre to the other shape: half the depth back from its surface.
    const Rounded& disc = b.count == 1 ? b : a;
    const double forward = (b.count == 1 ? -1 : 1) * (disc.radius - result.depth / 2);
    result.count = 1;
    result.points[0] = {disc.x(0) + forward * found.normal[0], disc.y(0) + forward * found.normal[1]};
    return result;
  }
  switch (found.feature) {
    case Feature::kEdgeOfFirst: touch_along_edge(a, found.first, found.normal, b, result); break;
    case Feature::kEdgeOfSecond:
      touch_along_edge(b, found.second, {-found.normal[0], -found.normal[1]}, a, result);
      break;
    case Feature::kCorners: {
      const double back = (found.distance + b.radius - a.radius) / 2;
      const double x = b.x(found.second), y = b.y(found.second);
      result.points[result.count++] = {x - back * found.normal[0], y - back * found.normal[1]};
      break;
    }
  }
  return result;
}

}  // namespace broadphase::narrow_2d
