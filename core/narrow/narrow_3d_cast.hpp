// When a moving core touches another: a ray against their Minkowski difference, rounded by the sum of their radii.
//
// Of two polytopes the difference is cut out by slabs, one for each separating axis, and the ray is inside between the
// last entry and the first exit. Against a ball or a capsule, it is a quadratic. Of the rest, the distance along the
// way is a convex function, and Newton's method never steps over where it comes down to the radius.
//
// Reference: G. van den Bergen, "Ray Casting against General Convex Objects with Application to Continuous Collision
// Detection", 2004.
#pragma once

#include "narrow/narrow_3d_gap.hpp"

namespace broadphase::solid {

// The time is `kNever` where the two never touch; the normal leads from the first, which moves, to the second.
struct Impact {
  double time = kNever;
  Vec3 normal{};
};

inline Impact turned(const Impact& impact) { return {impact.time, -impact.normal}; }
inline void keep_first(Impact& best, const Impact& other) {
  if (other.time < best.time) best = other;
}

// A ray clipped by slabs. Each is taken as it is, and once more as wide as rounding may make it: what passes through
// where two faces meet is not lost between them.
class SlabClip {
 public:
  explicit SlabClip(const Vec3& motion) : motion_(motion), still_(1e-16 * std::sqrt(squared(motion))) {}

  // Inside while lower <= speed * time <= upper; `normal` is a unit vector. False: never.
  bool clip(double lower, double upper, const Vec3& normal, double error) {
    const double speed = dot(motion_, normal);
    if (std::fabs(speed) <= still_) return lower <= error && upper >= -error;
    const double entry = speed > 0 ? lower : upper, exit = speed > 0 ? upper : lower;
    const double inverse = 1 / speed, slack = error * std::fabs(inverse);
    if (entry * inverse > entry_) {
      entry_ = entry * inverse;
      normal_ = speed > 0 ? normal : -normal;
    }
    if (entry * inverse - slack > wide_entry_) wide_entry_ = entry * inverse - slack;
    if (exit * inverse + slack < wide_exit_) wide_exit_ = exit * inverse + slack;
    return wide_exit_ >= 0 && wide_entry_ <= wide_exit_;
  }

  // The entry, if all slabs were met; `scale`: the size of things.
  Impact entry(double scale) const {
    // Grazing a face, it may be late by much more than rounding, at next to no distance.
    const bool is_sharp = (entry_ - wide_entry_) * std::sqrt(squared(motion_)) <= 1e-9 * scale;
    const double time = is_sharp && entry_ <= wide_exit_ ? entry_ : wide_entry_;
    return {time > 0 ? time : 0, normal_};
  }

 private:
  Vec3 motion_;
  double still_;
  double entry_ = -kNever, wide_entry_ = -kNever, wide_exit_ = kNever;
  Vec3 normal_{};
};

// Where the first moves into the slabs of their separating axes, widened by `radius`.
template <class A, class B>
Impact cast_on_axes(const A& a, const Vec3& motion, const B& b, double radius) {
  SlabClip slabs(motion);
  const double size = magnitude(a) + magnitude(b) + radius, error = 2 * kRounding * size;
  const bool met = for_each_axis(a, b, [&](const Vec3& axis, bool) {
    const double scale = 1 / std::sqrt(squared(axis));
    const Interval at = project(a, axis), to = project(b, axis);
    return slabs.clip((to.lower - at.upper) * scale - radius, (to.upper - at.lower) * scale + radius, axis * scale,
                      error);
  });
  if (!met || is_zero(motion)) return {};
  return slabs.entry(size);
}

// A moving point that starts outside the ball.
inline Impact cast(const PointCore& a, const Vec3& motion, const PointCore& b, double radius) {
  const Vec3 to = b.at - a.at;
  const double speed = squared(motion), toward = dot(to, motion);
  if (!(speed > 0) || toward < 0) return {};
  const double distance = std::sqrt(squared(to)), reach = radius + kRounding * distance;
  const double aside = squared(cross(to, motion)) / speed;
  if (aside > reach * reach) return {};
  const double deep = radius * radius - aside;
  const double half = std::sqrt(deep > 0 ? deep * speed : 0);
  // The lesser root, as the product of both over the greater: nothing is lost where it is near 0.
  const double greater = toward + half;
  const double time = greater > 0 ? (distance - radius) * (distance + radius) / greater : 0;
  const Vec3 normal = to - motion * time;
  // Of what is next to no ball, it is nothing but rounding.
  const bool is_point = std::sqrt(squared(normal)) <= 8 * kRounding * distance;
  return {time > 0 ? time : 0, unit(is_point ? motion : normal)};
}

// A moving point that starts outside the capsule: against the cylinder, as a ball seen along its edge, and its ends.
inline Impact cast(const PointCore& a, const Vec3& motion, const SegmentCore& b, double radius) {
  const double length = squared(b.edge);
  const Vec3 to = b.begin - a.at;
  const Vec3 aside = without(motion, b.edge, length);
  Impact first{};
  if (squared(aside) > 1e-30 * squared(motion)) {
    const Impact side = cast(PointCore{}, aside, PointCore{without(to, b.edge, length)}, radius);
    if (side.time < kNever) {
      const double at = dot(motion * side.time - to, b.edge);
      if (at >= 0 && at <= length) first = side;
    }
  }
  keep_first(first, cast(a, motion, PointCore{b.begin}, radius));
  keep_first(first, cast(a, motion, PointCore{b.end}, radius));
  return first;
}

// Newton's method on the distance, from a time that is not too late. `gap_at(way)` is the gap when the first has gone
// that way, and `size` that of things. Precondition: they do not overlap at time 0.
template <class GapAt>
Impact cast_by_steps(GapAt&& gap_at, const Vec3& motion, double radius, double size, Impact impact) {
  // Where a ball grazes, the steps only halve the rest: after so many, none is left.
  constexpr int kMostSteps = 200;
  const double fastest = std::sqrt(squared(motion));
  for (int step = 0; step < kMostSteps; ++step) {
    const Gap gap = gap_at(motion * impact.time);
    const double left = gap.distance - radius, speed = dot(gap.normal, motion);
    const bool touches = left <= 2 * kRounding * (size + fastest * impact.time);
    if (!touches && !(speed > 0)) return {};
    if (!is_zero(gap.normal)) impact.normal = gap.normal;
    if (touches) {
      if (left > 0 && speed > 1e-3 * fastest) impact.time += left / speed;
      return impact;
    }
    const double next = impact.time + left / speed;
    if (!(next < kNever) || next == impact.time) return next < kNever ? impact : Impact{};
    impact.time = next;
  }
  return impact;
}

// When the first core, moving by `motion` in a unit of time, is within `radius` of the second. Precondition: it is not
// at time 0.
template <class A, class B>
Impact cast(const A& a, const Vec3& motion, const B& b, double radius) {
  const Impact slabs = cast_on_axes(a, motion, b, radius);
  if (slabs.time == kNever || (kAxesTell<A, B> && radius == 0)) return slabs;
  const double size = magnitude(a) + magnitude(b) + radius;
  return cast_by_steps([&](const Vec3& way) { return gap_of(moved(a, way), b); }, motion, radius, size, slabs);
}

}  // namespace broadphase::solid
