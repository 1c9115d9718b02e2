// The narrow phase in the plane: whether two placed shapes overlap, how far apart they are, where they touch; what a
// ray or a shape that moves meets first.
//
// All shapes are closed: those that only touch overlap. A shape but a compound is a convex polygon of one corner or
// more and all within some radius of it (`narrow_2d_rounded.hpp`), so there is one way to answer each question for any
// two (`narrow_2d_separation.hpp`, `narrow_2d_contact.hpp`, `narrow_2d_motion.hpp`), and closed forms for the commonest
// (`narrow_2d_simple.hpp`, `narrow_2d_straight.hpp`). Time is O(corners * corners). Nothing is allocated.
//
// Answers do not depend on which shape is named first: overlaps and distances are the same bit for bit and normals
// opposite, but where the shapes are equal or, being balls, have one centre, and no direction is better than another.
//
// Preconditions: placed records of any kind but kHull and kMesh; the parts of a compound are not compounds; numbers are
// finite, and their squares neither overflow nor vanish.
#pragma once

#include <cmath>
#include <cstddef>

#include "narrow/narrow_2d_contact.hpp"
#include "narrow/narrow_2d_motion.hpp"
#include "narrow/narrow_2d_rounded.hpp"
#include "narrow/narrow_2d_separation.hpp"
#include "narrow/narrow_2d_simple.hpp"
#include "narrow/narrow_2d_straight.hpp"
#include "shapes/shape.hpp"
#include "shapes/shape_place.hpp"

namespace broadphase {

namespace narrow_2d {

// Calls `visit(p, q)` for each part of one and each of the other, until it returns false. A shape that is no compound
// is its only part.
template <class Visit>
void for_each_part_pair(const ShapeView<2>& a, const ShapeView<2>& b, Visit&& visit) {
  bool going = true;
  const auto with_parts_of = [](const ShapeView<2>& shape, auto&& use) {
    if (shape.kind == ShapeKind::kCompound)
      for_each_part<2>(shape.record, use);
    else
      use(shape);
  };
  with_parts_of(a, [&](const ShapeView<2>& p) {
    with_parts_of(b, [&](const ShapeView<2>& q) { return going = visit(p, q); });
    return going;
  });
}

inline bool has_compound(const ShapeView<2>& a, const ShapeView<2>& b) {
  return a.kind == ShapeKind::kCompound || b.kind == ShapeKind::kCompound;
}

inline Bounds<2> bounds_of(const ShapeView<2>& shape) {
  Bounds<2> bounds;
  add_bounds<2>(shape, bounds);
  return bounds;
}

// The gap between the boxes of two shapes: their distance is no less.
inline double gap_of_bounds(const Bounds<2>& a, const Bounds<2>& b) {
  const AxisGaps gaps(Corners(a.lower, a.upper), Corners(b.lower, b.upper));
  return gaps.gap[gaps.widest()];
}

// Neither is a compound.
inline bool simple_overlap(const ShapeView<2>& a, const ShapeView<2>& b) {
  if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) return boxes_overlap(a, b);
  if (is_any_box(a) && is_any_box(b)) return turned_boxes_overlap(TurnedBox(a), TurnedBox(b));
  if (is_straight(a) && is_straight(b)) return straights_overlap(Straight(a), Straight(b));
  if (is_disc(a) || is_disc(b)) {
    const Disc disc(is_disc(a) ? a : b);
    const ShapeView<2>& other = is_disc(a) ? b : a;
    switch (other.kind) {
      case ShapeKind::kPoint:
      case ShapeKind::kBall: return discs_overlap(disc, Disc(other));
      case ShapeKind::kSegment:
      case ShapeKind::kCapsule: return disc_overlaps_straight(disc, Straight(other));
      case ShapeKind::kBox: return disc_overlaps_box(disc, Corners(other));
      case ShapeKind::kOrientedBox: return disc_overlaps_oriented_box(disc, other);
      default: break;
    }
  }
  const bool ordered = in_order(a, b);
  const RoundedShape first(ordered ? a : b), second(ordered ? b : a);
  return overlaps(first.view(), second.view());
}

// Neither is a compound, and they are in order.
inline double simple_distance(const ShapeView<2>& a, const ShapeView<2>& b, Vec<2>* normal) {
  if (is_disc(a) && is_disc(b)) return disc_distance(Disc(a), Disc(b), normal);
  if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) return box_distance(Corners(a), Corners(b), normal);
  if (is_disc(a) && is_any_box(b)) return disc_box_distance(Disc(a), b, normal);
  const RoundedShape first(a), second(b);
  const Separation found = separation(first.view(), second.view());
  *normal = found.normal;
  return found.distance - (first.view().radius + second.view().radius);
}

// Of the pair of parts that is deepest in each other, or nearest.
struct PartPair {
  double distance = kInfinity;
  Vec<2> normal{1, 0};
  ShapeView<2> first, second;
};

inline PartPair deepest_parts(const ShapeView<2>& a, const ShapeView<2>& b) {
  PartPair best{.first = a, .second = b};
  const Bounds<2> bounds = bounds_of(b);
  for_each_part_pair(a, b, [&](const ShapeView<2>& p, const ShapeView<2>& q) {
    const Bounds<2> part = bounds_of(p);
    if (gap_of_bounds(part, bounds) > best.distance || gap_of_bounds(part, bounds_of(q)) > best.distance) return true;
    const bool ordered = in_order(p, q);
    Vec<2> normal;
    const double distance = ordered ? simple_distance(p, q, &normal) : simple_distance(q, p, &normal);
    if (distance < best.distance) {
      best = {distance, normal, p, q};
      if (!ordered) best.normal = {-normal[0], -normal[1]};
    }
    return true;
  });
  return best;
}

// Neither is a compound, and they are in order.
inline Contact<2> simple_contact(const ShapeView<2>& a, const ShapeView<2>& b) {
  if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) return box_contact(Corners(a), Corners(b));
  if (is_disc(a) && is_any_box(b)) return disc_box_contact(Disc(a), b);
  const RoundedShape first(a), second(b);
  return contact(first.view(), second.view());
}

// Neither is a compound, and they are in order and do not overlap.
inline double simple_impact(const ShapeView<2>& a, const Vec<2>& motion, const ShapeView<2>& b, Vec<2>* normal) {
  if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) {
    const Corners p(a), q(b);
    const Corners differences({q.lower[0] - p.upper[0], q.lower[1] - p.upper[1]},
                              {q.upper[0] - p.lower[0], q.upper[1] - p.lower[1]});
    Vec<2> outward;
    const double time = ray_meets_box(differences, {0, 0}, motion, &outward);
    if (time < kInfinity) *normal = {-outward[0], -outward[1]};
    return time;
  }
  const RoundedShape first(a), second(b);
  return first_touch(first.view(), motion, second.view(), normal);
}

inline Vec<2> opposite(const Vec<2>& v) { return {-v[0], -v[1]}; }

}  // namespace narrow_2d

// Whether they have a point in common.
inline bool overlaps(const ShapeView<2>& a, const ShapeView<2>& b) {
  if (a.kind == ShapeKind::kBall && b.kind == ShapeKind::kBall)
    return narrow_2d::discs_overlap(narrow_2d::Disc(a), narrow_2d::Disc(b));
  if (!narrow_2d::has_compound(a, b)) return narrow_2d::simple_overlap(a, b);
  bool found = false;
  const Bounds<2> bounds = narrow_2d::bounds_of(b);
  narrow_2d::for_each_part_pair(a, b, [&](const ShapeView<2>& p, const ShapeView<2>& q) {
    if (narrow_2d::gap_of_bounds(narrow_2d::bounds_of(p), bounds) <= 0) found = narrow_2d::simple_overlap(p, q);
    return !found;
  });
  return found;
}

// The gap between them; where they overlap, minus the length of the shortest translation that separates them. `normal`
// is the direction of both, from a to b: of length 1. Infinite if one is a compound of no parts.
inline double signed_distance(const ShapeView<2>& a, const ShapeView<2>& b, Vec<2>* normal) {
  if (narrow_2d::is_disc(a) && narrow_2d::is_disc(b))
    return narrow_2d::disc_distance(narrow_2d::Disc(a), narrow_2d::Disc(b), normal);
  if (!narrow_2d::in_order(a, b)) {
    const double distance = signed_distance(b, a, normal);
    *normal = narrow_2d::opposite(*normal);
    return distance;
  }
  if (!narrow_2d::has_compound(a, b)) return narrow_2d::simple_distance(a, b, normal);
  const narrow_2d::PartPair deepest = narrow_2d::deepest_parts(a, b);
  *normal = deepest.normal;
  return deepest.distance;
}

// Where they touch. Precondition: they overlap. Of compounds, where the two parts touch that are deepest in each other.
inline Contact<2> contact(const ShapeView<2>& a, const ShapeView<2>& b) {
  ShapeView<2> p = a, q = b;
  if (narrow_2d::has_compound(a, b)) {
    const bool ordered = narrow_2d::in_order(a, b);
    const narrow_2d::PartPair deepest = ordered ? narrow_2d::deepest_parts(a, b) : narrow_2d::deepest_parts(b, a);
    p = ordered ? deepest.first : deepest.second;
    q = ordered ? deepest.second : deepest.first;
  }
  if (narrow_2d::is_disc(p) && narrow_2d::is_disc(q))
    return narrow_2d::disc_contact(narrow_2d::Disc(p), narrow_2d::Disc(q));
  if (narrow_2d::in_order(p, q)) return narrow_2d::simple_contact(p, q);
  Contact<2> result = narrow_2d::simple_contact(q, p);
  result.normal = narrow_2d::opposite(result.normal);
  return result;
}

// The least t >= 0 with origin + t * direction in the shape; infinity if there is none. `normal`, left alone then, is
// the outward one of the surface where the ray enters; where it starts inside, it is against the ray.
inline double ray_hit(const ShapeView<2>& shape, const Vec<2>& origin, const Vec<2>& direction, Vec<2>* normal) {
  const ShapeView<2> point{ShapeKind::kPoint, origin};
  if (overlaps(point, shape)) {
    const double length = std::hypot(direction[0], direction[1]);
    *normal = length > 0 ? Vec<2>{-direction[0] / length, -direction[1] / length} : Vec<2>{0, 0};
    return 0;
  }
  double first = narrow_2d::kInfinity;
  narrow_2d::for_each_part_pair(point, shape, [&](const ShapeView<2>& start, const ShapeView<2>& part) {
    Vec<2> found{};
    double time = narrow_2d::kInfinity;
    if (part.kind == ShapeKind::kBox) {
      time = narrow_2d::ray_meets_box(narrow_2d::Corners(part), origin, direction, &found);
    } else {
      time = narrow_2d::first_touch(narrow_2d::RoundedShape(start).view(), direction,
                                    narrow_2d::RoundedShape(part).view(), &found);
      found = narrow_2d::opposite(found);
    }
    if (time < first) {
      first = time;
      *normal = found;
    }
    return true;
  });
  return first;
}

// The first t in [0, 1] at which `a`, moved by t * motion, touches `b`; infinity if there is none. `normal`, left alone
// then, is from a to b when they touch; where they overlap from the start, that of their distance.
inline double impact_time(const ShapeView<2>& a, const Vec<2>& motion, const ShapeView<2>& b, Vec<2>* normal) {
  if (overlaps(a, b)) {
    signed_distance(a, b, normal);
    return 0;
  }
  double first = narrow_2d::kInfinity;
  narrow_2d::for_each_part_pair(a, b, [&](const ShapeView<2>& p, const ShapeView<2>& q) {
    Vec<2> found{};
    double time = narrow_2d::kInfinity;
    if (narrow_2d::in_order(p, q)) {
      time = narrow_2d::simple_impact(p, motion, q, &found);
    } else {
      time = narrow_2d::simple_impact(q, narrow_2d::opposite(motion), p, &found);
      found = narrow_2d::opposite(found);
    }
    if (time <= 1 && time < first) {
      first = time;
      *normal = found;
    }
    return true;
  });
  return first;
}

}  // namespace broadphase
