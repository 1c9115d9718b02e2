// Every point at which a ray crosses the surface of a shape.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "narrow/exact_sign.hpp"
#include "narrow/half_spaces.hpp"
#include "narrow/meshes.hpp"
#include "narrow/shape_queries.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

template <std::size_t D>
struct RayCrossing {
  double time;
  Vec<D> normal;      // of length 1, out of the shape; of a face, to the side from which it is counterclockwise
  std::int32_t face;  // its row; -1 for shapes without faces
};

namespace detail {

// On which side of an edge the origin of the plane is: 1 or -1. Where the edge passes through it, an origin decides
// that is moved a little along the first axis, and far less along the second one. So of the faces around an edge or a
// vertex as many count as if the ray passed beside it. 0: the edge is a point.
inline int side_of_edge(const Vec<3>& p, const Vec<3>& q, double area) {
  constexpr double kError = 4 * 0x1p-53, kUnderflow = 0x1p-960;
  const double bound = kError * (std::abs(p[0] * q[1]) + std::abs(p[1] * q[0])) + kUnderflow;
  if (area > bound) return 1;
  if (area < -bound) return -1;
  constexpr double kOrigin[2] = {0, 0};
  if (const int side = orient2d(kOrigin, p.data(), q.data()); side != 0) return side;
  if (p[1] != q[1]) return p[1] > q[1] ? 1 : -1;
  return q[0] > p[0] ? 1 : q[0] < p[0] ? -1 : 0;
}

// A shape without an inside: where a ray leaves it is where it enters it.
template <std::size_t D>
bool is_thin(const ShapeView<D>& part) {
  const CoreForm core = traits_of(part.kind).core;
  const bool is_flat =
      core == CoreForm::kPoint || core == CoreForm::kSegment || (D == 3 && core == CoreForm::kTriangle);
  return is_flat && !(radius_of(part) > 0);
}

// Appends where a ray enters a convex shape and where it leaves it, at times from 0 to `limit`: of one that begins
// inside, only the second. `hit(origin, direction, normal)` is the shape's `ray_hit`, `farthest` a time at which the
// ray has left it. The direction has length 1.
template <std::size_t D, class Hit>
void add_crossings_of_convex(const Hit& hit, const Vec<D>& origin, const Vec<D>& direction, double farthest,
                             bool is_thin, double limit, std::vector<RayCrossing<D>>& found) {
  Vec<D> normal{};
  const double enters = hit(origin, direction, &normal);
  if (!(enters <= limit && enters < std::numeric_limits<double>::infinity())) return;
  if (is_thin || enters > 0) found.push_back({enters, normal, -1});
  if (is_thin) return;
  // From there back. A power of two keeps round numbers round.
  int exponent;
  std::frexp(std::max(farthest, enters), &exponent);
  const double beyond = std::ldexp(1.0, exponent + 1);
  Vec<D> from, back;
  for (std::size_t k = 0; k < D; ++k) {
    from[k] = origin[k] + direction[k] * beyond;
    back[k] = -direction[k];
  }
  Vec<D> other{};
  const double left = hit(from, back, &other);
  // Rounding may hide one of two crossings that are in one place.
  const bool is_known = left < std::numeric_limits<double>::infinity() && beyond - left >= enters;
  const double leaves = is_known ? beyond - left : enters;
  if (leaves <= limit) found.push_back({leaves, is_known ? other : direction, -1});
}

// A time at which a ray from the origin has left a box for sure, not much shorter than the box.
template <std::size_t D>
double time_beyond(const Vec<D>& lower, const Vec<D>& upper, const Vec<D>& origin, const Vec<D>& direction) {
  double time = 0, size = 0;
  for (std::size_t k = 0; k < D; ++k) {
    time += std::max((lower[k] - origin[k]) * direction[k], (upper[k] - origin[k]) * direction[k]);
    size += upper[k] - lower[k];
  }
  return std::max({time, 0x1p-10 * size, 0x1p-500});
}

template <std::size_t D>
void add_crossings_of_simple(const ShapeView<D>& shape, const Vec<D>& origin, const Vec<D>& direction, double limit,
                             std::vector<RayCrossing<D>>& found) {
  for_each_simple<D>(shape, [&](const ShapeView<D>& part) {
    if (is_half_space(part)) {  // its surface is crossed once
      const HalfSpace<D> below(part);
      const double time = -below.height(origin.data()) / below.along(direction.data());
      if (time >= 0 && time <= limit && time < std::numeric_limits<double>::infinity())
        found.push_back({time + 0.0, below.normal, -1});
      return true;
    }
    ShapeBounds<D> bounds;
    add_bounds<D>(part, bounds);
    add_crossings_of_convex<D>(
        [&](const Vec<D>& from, const Vec<D>& way, Vec<D>* normal) { return ray_hit(part, from, way, normal); }, origin,
        direction, time_beyond<D>(bounds.lower, bounds.upper, origin, direction), is_thin(part), limit, found);
    return true;
  });
}

inline std::array<double, 3> areas_of(const MeshRay::Seen& corners) {
  return {MeshRay::side(corners[0], corners[1]), MeshRay::side(corners[1], corners[2]),
          MeshRay::side(corners[2], corners[0])};
}
// Whether the ray passes through a triangle.
inline bool crosses(const MeshRay::Seen& corners, const std::array<double, 3>& areas) {
  const int side = side_of_edge(corners[0], corners[1], areas[0]);
  return side != 0 && side_of_edge(corners[1], corners[2], areas[1]) == side &&
         side_of_edge(corners[2], corners[0], areas[2]) == side;
}

// The direction is not rounded to length 1: rays in round numbers pass through vertices in round numbers.
inline void add_crossings_of_mesh(const MeshSide& mesh, const Vec<3>& origin, const Vec<3>& direction, double limit,
                                  std::vector<RayCrossing<3>>& found) {
  using namespace solid;
  const MeshRay ray(mesh, origin, direction);
  const double length = std::sqrt(squared(direction)), last = limit / length;
  ray.walk(last, [&](std::int32_t face) {
    const MeshRay::Seen corners = ray.seen(face);
    const std::array<double, 3> areas = areas_of(corners);
    if (!crosses(corners, areas)) return last;
    const double time = ray.time(corners, areas) * length + 0.0;  // makes 0.0 of -0.0
    if (!(time >= 0 && time <= limit)) return last;
    const MeshTree& tree = mesh.tree();
    const Vec3 p = vector_at(std::span(tree.corner(face, 0), 3), 0),
               q = vector_at(std::span(tree.corner(face, 1), 3), 0),
               r = vector_at(std::span(tree.corner(face, 2), 3), 0);
    const Vec3 own = normal_of({q - p, r - q, p - r});
    found.push_back(
        {time, unit(mesh.axis(0) * own[0] + mesh.axis(1) * own[1] + mesh.axis(2) * own[2]), mesh.row_of(face)});
    return last;
  });
}

// A ray goes into the ground and out of it in turns: through its surface, and where it comes into the box around the
// field and leaves it, which it does in the ground if it was in the ground before.
inline void add_crossings_of_field(const MeshSide& side, const Vec<3>& origin, const Vec<3>& direction, double limit,
                                   std::vector<RayCrossing<3>>& found) {
  using namespace solid;
  constexpr double kNever = std::numeric_limits<double>::infinity(), kRounding = 1e-13;
  const MeshRay::Lines lines = MeshRay::lines_of(side, origin, direction);
  const HeightField& field = side.field();
  const HeightField::Box box = field.box();
  const double length = std::sqrt(squared(direction)), last = limit / length;
  double begin = 0, end = kNever, size = magnitude(lines.from);
  std::size_t enters = 3, leaves = 3;
  for (std::size_t k = 0; k < 3; ++k) {
    size += std::abs(box.lower[k]) + std::abs(box.upper[k]);
    if (lines.way[k] == 0) {
      if (!(lines.from[k] >= box.lower[k] && lines.from[k] <= box.upper[k])) return;
      continue;
    }
    const bool ahead = lines.way[k] > 0;
    const double in = ((ahead ? box.lower[k] : box.upper[k]) - lines.from[k]) / lines.way[k],
                 out = ((ahead ? box.upper[k] : box.lower[k]) - lines.from[k]) / lines.way[k];
    if (in > begin) {
      begin = in;
      enters = k;
    }
    if (out < end) {
      end = out;
      leaves = k;
    }
  }
  if (!(begin <= end && begin <= last)) return;
  const auto add = [&](double time, const Vec3& own) {
    if (time <= last)
      found.push_back({time * length + 0.0, side.axis(0) * own[0] + side.axis(1) * own[1] + side.axis(2) * own[2], -1});
  };
  const auto wall = [](std::size_t axis, bool is_upper) {
    Vec3 normal{};
    normal[axis] = is_upper ? 1 : -1;
    return normal;
  };
  bool is_inside;
  if (enters == 3) {
    is_inside = field.contains(lines.from);
  } else if (enters == 2) {
    is_inside = lines.way[2] > 0;
  } else {
    Vec3 at = lines.from + lines.way * begin;
    for (std::size_t k = 0; k < 3; ++k) at[k] = std::clamp(at[k], box.lower[k], box.upper[k]);
    at[enters] = lines.way[enters] > 0 ? box.lower[enters] : box.upper[enters];
    is_inside = field.contains(at);
  }
  if (is_inside && enters < 3) add(begin, wall(enters, lines.way[enters] < 0));

  struct Passage {
    double time;
    Vec3 normal;
  };
  std::vector<Passage> passages;
  const double spare = kRounding * size;
  HeightField::Box way_box;
  for (std::size_t k = 0; k < 3; ++k) {
    const double one = lines.from[k] + lines.way[k] * begin, two = lines.from[k] + lines.way[k] * std::min(end, last);
    way_box.lower[k] = std::min(one, two) - spare;
    way_box.upper[k] = std::max(one, two) + spare;
  }
  const auto bound = [&](const HeightField::Box& block) {
    double first = -kNever, until = kNever;
    for (std::size_t k = 0; k < 3; ++k) {
      const double low = block.lower[k] - spare - lines.from[k], high = block.upper[k] + spare - lines.from[k];
      if (lines.way[k] == 0) {
        if (low > 0 || high < 0) return kNever;
        continue;
      }
      const double in = (lines.way[k] > 0 ? low : high) / lines.way[k],
                   out = (lines.way[k] > 0 ? high : low) / lines.way[k];
      first = std::max(first, in);
      until = std::min(until, out);
    }
    return first <= until ? 0.0 : kNever;
  };
  field.walk(field.window(way_box), 0.0, bound, [&](std::size_t row, std::size_t column) {
    field.each_top(row, column, [&](const HeightField::Corners& t) {
      const MeshRay::Seen corners{lines.seen(t.data()), lines.seen(t.data() + 3), lines.seen(t.data() + 6)};
      const std::array<double, 3> areas = areas_of(corners);
      if (!crosses(corners, areas)) return true;
      const double time = MeshRay::time(lines, corners, areas);
      const Vec3 p{t[0], t[1], t[2]}, q{t[3], t[4], t[5]}, r{t[6], t[7], t[8]};
      if (time >= 0) passages.push_back({time, unit(normal_of({q - p, r - q, p - r}))});
      return true;
    });
    return 0.0;
  });
  std::stable_sort(passages.begin(), passages.end(),
                   [](const Passage& a, const Passage& b) { return a.time < b.time; });
  for (const Passage& passage : passages) {
    if ((dot(passage.normal, lines.way) < 0) == is_inside) continue;  // rounding has shown it twice, or at the border
    is_inside = !is_inside;
    add(std::clamp(passage.time, begin, end), passage.normal);
  }
  if (is_inside && leaves < 3) add(end, wall(leaves, lines.way[leaves] > 0));
}

template <std::size_t D>
void sort_crossings(std::vector<RayCrossing<D>>& found) {
  std::stable_sort(found.begin(), found.end(), [](const RayCrossing<D>& a, const RayCrossing<D>& b) {
    return a.time != b.time ? a.time < b.time : a.face < b.face;
  });
}

}  // namespace detail

// A ray: its direction with length 1, and as it was given but for a power of two, its largest number near 1.
template <std::size_t D>
struct CrossingRay {
  Vec<D> origin, direction, given;
};

// Replaces `found` by the crossings of a ray at distances from 0 to `limit`, in their order; at one distance, by the
// row of the face. A ray of zero direction has none.
inline void ray_crossings(const ShapeView<2>& shape, const CrossingRay<2>& ray, double limit,
                          std::vector<RayCrossing<2>>& found) {
  const auto& [origin, direction, given] = ray;
  found.clear();
  if (direction == Vec<2>{}) return;
  detail::add_crossings_of_simple<2>(shape, origin, direction, limit, found);
  detail::sort_crossings(found);
}

inline void ray_crossings(const MeshSide& shape, const CrossingRay<3>& ray, double limit,
                          std::vector<RayCrossing<3>>& found) {
  const auto& [origin, direction, given] = ray;
  found.clear();
  if (direction == Vec<3>{}) return;
  if (shape.is_field()) {
    detail::add_crossings_of_field(shape, origin, given, limit, found);
  } else if (shape.is_cloud()) {
    const double last = limit / std::sqrt(solid::squared(given));
    std::array<double, 9> ball;
    MeshRay(shape, origin, given).walk(last, [&](std::int32_t point) {
      detail::add_crossings_of_simple<3>(shape.element(point, ball).shape, origin, direction, limit, found);
      return last;
    });
  } else if (shape.is_mesh()) {
    detail::add_crossings_of_mesh(shape, origin, given, limit, found);
  } else if (const Element& alone = shape.alone(); alone.polytope == nullptr) {
    detail::add_crossings_of_simple<3>(alone.shape, origin, direction, limit, found);
  } else {
    const double reach = std::ldexp(2 * alone.polytope->reach(), alone.polytope->exponent());
    Vec<3> lower, upper;
    for (std::size_t k = 0; k < 3; ++k) {
      double middle = alone.shape.record[1 + k];
      for (std::size_t i = 0; i < 3; ++i)
        middle += std::ldexp(alone.polytope->middle()[i], alone.polytope->exponent()) * shape.axis(i)[k];
      lower[k] = middle - reach;
      upper[k] = middle + reach;
    }
    detail::add_crossings_of_convex<3>(
        [&](const Vec<3>& from, const Vec<3>& way, Vec<3>* normal) { return ray_hit(alone, from, way, normal); },
        origin, direction, detail::time_beyond<3>(lower, upper, origin, direction), false, limit, found);
  }
  detail::sort_crossings(found);
}

}  // namespace broadphase
