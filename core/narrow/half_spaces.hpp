// Half spaces: how far another shape is from one is how low it reaches along the normal, which has a closed form for
// each kind, in the plane and in space.
//
// Two half spaces that look at each other exactly, with opposite normals, are apart or as deep in each other as their
// boundaries tell. Any others overlap, and no translation separates them: their depth is infinite.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>

#include "narrow/compounds.hpp"
#include "narrow/narrow_3d.hpp"
#include "narrow/support.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

template <std::size_t D>
constexpr bool is_half_space(const ShapeView<D>& shape) {
  return shape.kind == ShapeKind::kHalfSpace;
}

// All points at heights of at most 0.
template <std::size_t D>
struct HalfSpace {
  Vec<D> at, normal;

  explicit HalfSpace(const ShapeView<D>& shape) {
    std::copy_n(shape.record.begin(), D, at.begin());
    std::copy_n(shape.record.begin() + D, D, normal.begin());
  }

  double height(const double* point) const {
    double sum = normal[0] * (point[0] - at[0]);
    for (std::size_t k = 1; k < D; ++k) sum += normal[k] * (point[k] - at[k]);
    return sum;
  }
  double along(const double* way) const {
    double sum = normal[0] * way[0];
    for (std::size_t k = 1; k < D; ++k) sum += normal[k] * way[k];
    return sum;
  }
};

namespace half_spaces {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The least height of a shape that is no compound, no half space, and not kept elsewhere.
template <std::size_t D>
double lowest(const ShapeView<D>& shape, const HalfSpace<D>& below) {
  const double* const p = shape.record.data();
  const auto of_corners = [&](std::size_t numbers) {
    double least = below.height(p);
    for (std::size_t at = D; at < numbers; at += D) least = std::min(least, below.height(p + at));
    return least;
  };
  switch (traits_of(shape.kind).core) {
    case CoreForm::kPoint: return below.height(p) - radius_of(shape);
    case CoreForm::kSegment: return of_corners(2 * D) - radius_of(shape);
    case CoreForm::kTriangle:
    case CoreForm::kPolygon: return of_corners(shape.record.size());
    case CoreForm::kBox: {
      if (shape.kind == ShapeKind::kBox) {  // by its corners, so that what touches in round numbers does touch
        Vec<D> corner;
        for (std::size_t k = 0; k < D; ++k) corner[k] = below.normal[k] > 0 ? p[k] : p[D + k];
        return below.height(corner.data());
      }
      double reach = 0;
      for (std::size_t axis = 0; axis < D; ++axis) reach += p[D + axis] * std::abs(below.along(p + (2 + axis) * D));
      return below.height(p) - reach;
    }
    case CoreForm::kCurved:
      return below.height(p) + below.along(farthest_of<D>(shape, opposite<D>(below.normal)).data());
    case CoreForm::kHalfSpace:
    case CoreForm::kNone: break;
  }
  return -kInfinity;
}

// Where a shape may stand: the corners of the face or the edge of its core that looks down the most.
template <std::size_t D>
class Feet {
 public:
  Feet(const ShapeView<D>& shape, const HalfSpace<D>& below) {
    const double* const p = shape.record.data();
    switch (traits_of(shape.kind).core) {
      case CoreForm::kSegment:
      case CoreForm::kTriangle:
      case CoreForm::kPolygon: {
        const std::size_t corners =
            shape.kind == ShapeKind::kPolygon ? shape.record.size() / D : traits_of(shape.kind).points;
        if (D == 3 || corners == 2)
          for (std::size_t k = 0; k < corners; ++k) add(p + k * D);
        else
          add_edge(p, corners, below);
        return;
      }
      case CoreForm::kBox: {
        Vec<D> centre{}, half{};
        std::array<Vec<D>, D> axes{};
        for (std::size_t k = 0; k < D; ++k) {
          const bool turns = shape.kind == ShapeKind::kOrientedBox;
          centre[k] = turns ? p[k] : p[k] / 2 + p[D + k] / 2;
          half[k] = turns ? p[D + k] : p[D + k] / 2 - p[k] / 2;
          for (std::size_t axis = 0; axis < D; ++axis)
            axes[axis][k] = turns ? p[(2 + axis) * D + k] : k == axis ? 1.0 : 0.0;
        }
        add_face(centre, half, axes, below);
        return;
      }
      case CoreForm::kCurved: add_curved(shape, below); return;
      case CoreForm::kPoint:
      case CoreForm::kHalfSpace:
      case CoreForm::kNone: add(p);
    }
  }

  std::span<const Vec<D>> corners() const { return {corners_.data(), count_}; }

 private:
  void add(const double* point) { std::copy_n(point, D, corners_[count_++].begin()); }

  // From the lowest corner to the lower of those beside it; equal corners are one.
  void add_edge(const double* p, std::size_t count, const HalfSpace<D>& below) {
    std::size_t low = 0;
    for (std::size_t k = 1; k < count; ++k)
      if (below.height(p + k * D) < below.height(p + low * D)) low = k;
    const auto beside = [&](std::size_t step) {
      std::size_t k = (low + step) % count;
      while (k != low && std::equal(p + k * D, p + (k + 1) * D, p + low * D)) k = (k + step) % count;
      return k;
    };
    const std::size_t next = beside(1), last = beside(count - 1);
    add(p + low * D);
    if (next != low) add(p + (below.height(p + next * D) <= below.height(p + last * D) ? next : last) * D);
  }

  void add_face(const Vec<D>& centre, const Vec<D>& half, const std::array<Vec<D>, D>& axes,
                const HalfSpace<D>& below) {
    std::size_t down = 0;
    std::array<double, D> along;
    for (std::size_t axis = 0; axis < D; ++axis) {
      along[axis] = below.along(axes[axis].data());
      if (std::abs(along[axis]) > std::abs(along[down])) down = axis;
    }
    for (std::size_t corner = 0; corner < std::size_t{1} << (D - 1); ++corner) {
      Vec<D> at = centre;
      for (std::size_t axis = 0, other = 0; axis < D; ++axis) {
        const bool is_back = axis == down ? along[axis] > 0 : (corner >> other++ & 1) == 0;
        for (std::size_t k = 0; k < D; ++k) at[k] += axes[axis][k] * (is_back ? -half[axis] : half[axis]);
      }
      add(at.data());
    }
  }

  // The lowest point, and the lowest ones as seen from a little aside: the ends of an edge, points around a face.
  void add_curved(const ShapeView<D>& shape, const HalfSpace<D>& below) {
    constexpr std::size_t kWays = D == 2 ? 2 : 8;
    const Vec<D> down = opposite<D>(below.normal);
    ShapeBounds<D> bounds;
    add_bounds<D>(shape, bounds);
    double same = 0;
    for (std::size_t k = 0; k < D; ++k) same = std::max(same, polytopes::kSame * (bounds.upper[k] - bounds.lower[k]));
    const auto add_farthest = [&](const Vec<D>& way) {
      Vec<D> at = farthest_of<D>(shape, way);
      for (std::size_t k = 0; k < D; ++k) at[k] += shape.record[k];
      const auto is_same = [&](const Vec<D>& other) {
        double squared = 0;
        for (std::size_t k = 0; k < D; ++k) squared += (at[k] - other[k]) * (at[k] - other[k]);
        return squared <= same * same;
      };
      if (std::none_of(corners_.begin(), corners_.begin() + static_cast<std::ptrdiff_t>(count_), is_same))
        add(at.data());
    };
    add_farthest(down);
    for (std::size_t k = 0; k < kWays; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / kWays;
      Vec<D> way = down;
      if constexpr (D == 2) {
        const double lean = k == 0 ? polytopes::kLean : -polytopes::kLean;
        way = {down[0] - down[1] * lean, down[1] + down[0] * lean};
      } else {
        const polytopes::Across across(down);
        const Vec<D> lean = across.point({polytopes::kLean * std::cos(angle), polytopes::kLean * std::sin(angle)});
        for (std::size_t axis = 0; axis < D; ++axis) way[axis] += lean[axis];
      }
      add_farthest(way);
    }
    // Of a flat face, the lowest point was its middle.
    if (count_ > 3) corners_[0] = corners_[--count_];
  }

  std::array<Vec<D>, 9> corners_{};
  std::size_t count_ = 0;
};

// ---- What `Simple` has, of two shapes of which the second is a half space ----

// Of two half spaces.
template <std::size_t D>
ShapeGap<D> gap_of_both(const HalfSpace<D>& a, const HalfSpace<D>& b) {
  const bool are_opposite = a.normal == opposite<D>(b.normal);
  return {are_opposite ? a.height(b.at.data()) : -kInfinity, a.normal};
}

template <std::size_t D>
ShapeGap<D> gap(const ShapeView<D>& a, const ShapeView<D>& b) {
  const HalfSpace<D> below(b);
  if (is_half_space(a)) return gap_of_both(HalfSpace<D>(a), below);
  return {lowest(a, below), opposite<D>(below.normal)};
}

template <std::size_t D>
bool overlap(const ShapeView<D>& a, const ShapeView<D>& b) {
  return gap(a, b).distance <= 0;
}

template <std::size_t D>
ShapeImpact<D> cast(const ShapeView<D>& a, const Vec<D>& motion, const ShapeView<D>& b) {
  const ShapeGap<D> apart = gap(a, b);
  double speed = 0;
  for (std::size_t k = 0; k < D; ++k) speed += apart.normal[k] * motion[k];
  if (!(speed > 0)) return {};
  return {apart.distance > 0 ? apart.distance / speed : 0, apart.normal};
}

// A point in both: midway between their boundaries where these are parallel.
template <std::size_t D>
Vec<D> common_point(const HalfSpace<D>& a, const HalfSpace<D>& b) {
  Vec<D> at = a.at;
  const double height = b.height(a.at.data());
  if (a.normal == opposite<D>(b.normal)) {
    for (std::size_t k = 0; k < D; ++k) at[k] -= b.normal[k] * (height / 2);
    return at;
  }
  constexpr double kLeast = 0x1p-52;  // where they are opposite but for rounding
  const double share = std::max(0.0, height) / std::max(kLeast, 1 + a.along(b.normal.data()));
  for (std::size_t k = 0; k < D; ++k) at[k] -= (a.normal[k] + b.normal[k]) * share;
  return at;
}

// The points of a foot that are below the boundary, each midway between the two surfaces, the deepest first.
template <std::size_t D>
Contact<D> contact(const ShapeView<D>& a, const ShapeView<D>& b) {
  const HalfSpace<D> below(b);
  const ShapeGap<D> apart = gap(a, b);
  Contact<D> contact;
  contact.normal = apart.normal;
  contact.depth = apart.distance < 0 ? -apart.distance : 0;
  if (is_half_space(a)) {
    contact.points[contact.count++] = common_point(HalfSpace<D>(a), below);
    return contact;
  }
  const CoreForm core = traits_of(a.kind).core;
  const double radius = core == CoreForm::kCurved ? 0.0 : radius_of(a);
  const Feet<D> feet(a, below);
  struct Foot {
    Vec<D> point;
    double depth;
  };
  std::array<Foot, 9> found;
  std::size_t count = 0;
  double size = radius;
  for (const Vec<D>& corner : feet.corners()) {
    const double height = below.height(corner.data());
    found[count].depth = radius - height;
    for (std::size_t k = 0; k < D; ++k) {
      found[count].point[k] = corner[k] - below.normal[k] * (0.5 * (radius + height));
      size = std::max(size, std::abs(corner[k] - below.at[k]));
    }
    ++count;
  }
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(count);
  std::iter_swap(found.begin(),
                 std::max_element(found.begin(), end, [](const Foot& x, const Foot& y) { return x.depth < y.depth; }));
  const double slack = solid::kSlack * size;
  const auto touching_end =
      std::remove_if(found.begin() + 1, end, [&](const Foot& foot) { return foot.depth < -slack; });
  if constexpr (D == 3) {
    solid::Touching touching{slack};
    for (auto foot = found.begin(); foot != touching_end; ++foot) touching.add(foot->point, foot->depth);
    solid::put_points(touching, contact.normal, contact);
  } else {
    for (auto foot = found.begin(); foot != touching_end && contact.count < 2; ++foot) {
      const bool is_same = contact.count > 0 && std::hypot(foot->point[0] - contact.points[0][0],
                                                           foot->point[1] - contact.points[0][1]) <= slack;
      if (!is_same) contact.points[contact.count++] = foot->point;
    }
  }
  return contact;
}

}  // namespace half_spaces
}  // namespace broadphase
