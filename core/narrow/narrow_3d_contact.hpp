// Where two overlapping cores touch: up to four points.
#pragma once

#include <initializer_list>

#include "narrow/narrow_3d_clip.hpp"

namespace broadphase::solid {

// Points at which two cores may touch, with how deep they lie. Those within `same` of each other are one.
struct Touching {
  double same;
  std::size_t count = 0;
  std::array<Vec3, Feature::kMostCorners> points{};
  std::array<double, Feature::kMostCorners> depths{};

  void add(const Vec3& point, double depth) {
    for (std::size_t k = 0; k < count; ++k)
      if (squared(points[k] - point) <= same * same) {
        if (depth > depths[k]) {
          points[k] = point;
          depths[k] = depth;
        }
        return;
      }
    if (count == Feature::kMostCorners) return;
    points[count] = point;
    depths[count++] = depth;
  }
};

// What counts as nothing, relative to the size of things.
inline constexpr double kSlack = 1e-12;

// Moves to the front, of those from `from` on, the one that `value` likes most.
template <class Value>
void pull_best(Touching& touching, std::size_t from, Value&& value) {
  std::size_t best = from;
  for (std::size_t k = from + 1; k < touching.count; ++k)
    if (value(k) > value(best)) best = k;
  const Vec3 point = touching.points[best];
  const double depth = touching.depths[best];
  touching.points[best] = touching.points[from];
  touching.depths[best] = touching.depths[from];
  touching.points[from] = point;
  touching.depths[from] = depth;
}

// The deepest point comes first; then those that span the most: the farthest from it, the farthest from the line of
// both, and the farthest from that triangle, on its other side.
inline void put_points(Touching touching, const Vec3& normal, Contact<3>& contact) {
  const auto& at = touching.points;
  if (touching.count > 0) pull_best(touching, 0, [&](std::size_t k) { return touching.depths[k]; });
  if (touching.count > 4) {
    pull_best(touching, 1, [&](std::size_t k) { return squared(at[k] - at[0]); });
    const auto area = [&](std::size_t i, std::size_t j, std::size_t k) {
      return dot(normal, cross(at[j] - at[i], at[k] - at[i]));
    };
    pull_best(touching, 2, [&](std::size_t k) { return std::fabs(area(0, 1, k)); });
    const double side = area(0, 1, 2) < 0 ? -1 : 1;
    pull_best(touching, 3, [&](std::size_t k) {
      const double ab = -side * area(0, 1, k), bc = -side * area(1, 2, k), ca = -side * area(2, 0, k);
      const double most = ab > bc ? ab : bc;
      return most > ca ? most : ca;
    });
    touching.count = 4;
  }
  contact.count = touching.count;
  for (std::size_t k = 0; k < touching.count; ++k) contact.points[k] = at[k];
}

// The points of a feature that lie below a face, moved midway between the two surfaces. `normal` leads out of the
// face, nearly as its own does, and is what depths are measured along; the radii are those of the face's side and of
// the feature's.
inline Touching below_face(const Feature& face, const Feature& feature, const Vec3& normal, double face_radius,
                           double radius, double size) {
  const double slack = size * kSlack;
  Touching touching{slack};
  const Feature inside = cut_by_sides(feature, face, slack);
  const double slope = 1 / dot(face.normal, normal);
  for (std::size_t k = 0; k < inside.count; ++k) {
    const double gap = dot(face.normal, inside.corners[k] - face.corners[0]) * slope;
    const double depth = face_radius + radius - gap;
    if (depth < -slack) continue;
    touching.add(inside.corners[k] + normal * (0.5 * (face_radius - radius - gap)), depth);
  }
  return touching;
}

// Two edges or corners: the nearest points of both, or, of edges that are nearly parallel, the ends of where they are
// side by side.
inline Touching between_edges(const Feature& a, const Feature& b, const Vec3& normal, double first_radius,
                              double second_radius, double size) {
  const double slack = size * kSlack;
  Touching touching{slack};
  const auto add = [&](const Vec3& x, const Vec3& y) {
    const Vec3 middle = (x + normal * first_radius + y - normal * second_radius) * 0.5;
    touching.add(middle, first_radius + second_radius - dot(normal, y - x));
  };
  const Vec3 begin = a.corners[0], from = b.corners[0];
  const Vec3 e = a.count == 2 ? a.corners[1] - begin : Vec3{}, f = b.count == 2 ? b.corners[1] - from : Vec3{};
  const double ee = squared(e), ff = squared(f), limit = ee * ff;
  const double nn = squared(cross(e, f));
  if (limit > 0 && nn <= kPerpendicular * kPerpendicular * limit) {
    const double x = dot(from - begin, e), y = dot(b.corners[1] - begin, e);
    const double lower = clamped(x < y ? x : y, 0, ee), upper = clamped(x < y ? y : x, 0, ee);
    if (upper > lower) {
      for (const double at : {lower, upper}) {
        const Vec3 here = begin + e * (at / ee);
        const Vec3 there = from + f * clamped(dot(here - from, f) / ff, 0, 1);
        if (first_radius + second_radius - dot(normal, there - here) >= -slack) add(here, there);
      }
      if (touching.count > 0) return touching;
    }
  }
  // Along the normal they may lie past each other, so it is their shadows on a plane that are brought together.
  const Vec3 apart = from - begin;
  const Vec3 flat = apart - normal * dot(normal, apart);
  double s = 0, t = 0;
  if (limit > 0 && nn > kPerpendicular * kPerpendicular * limit) {
    const Vec3 both = cross(e, f);
    s = clamped(dot(cross(flat, f), both) / nn, 0, 1);
    t = clamped(dot(cross(flat, e), both) / nn, 0, 1);
  } else if (ee > 0) {
    s = clamped(dot(flat + f * 0.5, e) / ee, 0, 1);
    t = ff > 0 ? clamped(dot(e * s - flat, f) / ff, 0, 1) : 0;
  } else if (ff > 0) {
    t = clamped(-dot(flat, f) / ff, 0, 1);
  }
  add(begin + e * s, from + f * t);
  return touching;
}

// Where two cores touch that overlap along `n`, within their radii. They are no points.
template <class A, class B>
Touching touching_of(const A& a, const B& b, const Vec3& n, double first_radius, double second_radius) {
  const double size = magnitude(a) + magnitude(b) + first_radius + second_radius;
  const Feature first = face_along(a, n);
  Touching touching{0};
  if (first.count > 0) {
    touching = below_face(first, facing(b, -n), n, first_radius, second_radius, size);
  } else {
    const Feature second = face_along(b, -n);
    if (second.count > 0) touching = below_face(second, facing(a, n), -n, second_radius, first_radius, size);
  }
  if (touching.count == 0)
    touching = between_edges(outermost(a, n), outermost(b, -n), n, first_radius, second_radius, size);
  return touching;
}

}  // namespace broadphase::solid
