// Shapes whose core is curved (`CoreForm::kCurved`): a support function is all that the narrow phase asks of them.
// Their pairs, with each other and with any other shape, are those of the general test (convex_pairs.hpp).
//
// Distances are true to a billionth of the size of the larger shape, depths mostly as well.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "narrow/compounds.hpp"
#include "narrow/curved_cores.hpp"
#include "narrow/polytope_core.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// The point of a placed shape that is farthest along a direction, as seen from the first point of its record, so that
// nothing is lost far from the origin. Any point, if the direction is 0.
template <std::size_t D>
using SupportFunction = polytopes::FarthestPoint<D> (*)(std::span<const double> record, const Vec<D>& way);

// In space, besides: the farthest point of one feature alone along a unit vector, and its bend, not a number where that
// is too strong; and the flat round face that looks in about a direction.
using FeatureFunction = polytopes::FeaturePoint (*)(std::span<const double> record, std::size_t feature,
                                                    const polytopes::Tangent& tangent);
using FaceFunction = polytopes::DiscFace (*)(std::span<const double> record, const Vec<3>& way);

template <std::size_t D>
struct SupportRow {
  ShapeKind kind;
  SupportFunction<D> support;
  FeatureFunction on = nullptr;
  FaceFunction facing = nullptr;
};

// The point of a circle about an axis of any length that is farthest along a direction, from its centre; the centre, if
// the direction is that of the axis up to rounding. Of a ball, if rounding has left no axis.
inline Vec<3> farthest_of_circle(Vec<3> axis, double radius, const Vec<3>& way) {
  using namespace solid;
  if (squared(axis) < 0x1p-600) axis = axis * 0x1p500;  // so that no square is out of range
  const double square = squared(axis);
  const Vec<3> across = square > 0 ? without(way, axis, square) : way;
  const double length = std::sqrt(squared(across));
  return length > 0x1p-50 * std::sqrt(squared(way)) ? across * (radius / length) : Vec<3>{};
}

// The same, and its bend: it turns along the circle only, by as much more as the direction is along the axis.
inline polytopes::FeaturePoint on_circle(const Vec<3>& axis, double radius, const polytopes::Tangent& tangent) {
  using namespace solid;
  const Vec<3> at = farthest_of_circle(axis, radius, tangent.normal);
  const Vec<3> along = unit(cross(axis, at));
  const double aside = dot(at, tangent.normal);  // radius times the sine of the angle to the axis
  return {at, polytopes::Bend::of(dot(along, tangent.x), dot(along, tangent.y), radius * radius / aside)};
}

inline Vec<3> axis_of(std::span<const double> record) {
  using namespace solid;
  return vector_at(record, 3) - vector_at(record, 0);
}

// Its rims are features 0, at the start, and 1.
inline polytopes::FarthestPoint<3> farthest_of_cylinder(std::span<const double> record, const Vec<3>& way) {
  using namespace solid;
  const Vec<3> axis = axis_of(record), on_rim = farthest_of_circle(axis, record[6], way);
  if (dot(axis, way) > 0) return {axis + on_rim, 1};
  return {on_rim, 0};
}

inline polytopes::FeaturePoint on_cylinder(std::span<const double> record, std::size_t feature,
                                           const polytopes::Tangent& tangent) {
  using namespace solid;
  const Vec<3> axis = axis_of(record);
  polytopes::FeaturePoint found = on_circle(axis, record[6], tangent);
  if (feature == 1) found.at = axis + found.at;
  return found;
}

inline polytopes::DiscFace cylinder_facing(std::span<const double> record, const Vec<3>& way) {
  using namespace solid;
  const Vec<3> axis = axis_of(record);
  const bool is_end = dot(axis, way) > 0;
  return {is_end ? axis : Vec<3>{}, unit(is_end ? axis : -axis), record[6]};
}

// Its rim is feature 0, its apex 1.
inline polytopes::FarthestPoint<3> farthest_of_cone(std::span<const double> record, const Vec<3>& way) {
  using namespace solid;
  const Vec<3> axis = axis_of(record), on_rim = farthest_of_circle(axis, record[6], way);
  if (dot(axis - on_rim, way) > 0) return {axis, 1};
  return {on_rim, 0};
}

inline polytopes::FeaturePoint on_cone(std::span<const double> record, std::size_t feature,
                                       const polytopes::Tangent& tangent) {
  const Vec<3> axis = axis_of(record);
  if (feature == 1) return {axis, {}};
  return on_circle(axis, record[6], tangent);
}

inline polytopes::DiscFace cone_facing(std::span<const double> record, const Vec<3>& way) {
  using namespace solid;
  const Vec<3> axis = axis_of(record);
  if (!(dot(axis, way) < 0)) return {};
  return {{}, unit(-axis), record[6]};
}

inline Vec<3> own_axis(std::span<const double> record, std::size_t k) { return solid::vector_at(record, 6 + 3 * k); }

inline polytopes::FarthestPoint<3> farthest_of_ellipsoid(std::span<const double> record, const Vec<3>& way) {
  using namespace solid;
  Vec<3> on_ball{};
  for (std::size_t k = 0; k < 3; ++k) on_ball[k] = record[3 + k] * dot(own_axis(record, k), way);
  const double length = std::sqrt(squared(on_ball));
  Vec<3> at{};
  if (length > 0)
    for (std::size_t k = 0; k < 3; ++k) at = at + own_axis(record, k) * (record[3 + k] * on_ball[k] / length);
  return {at, 0};
}

inline polytopes::FeaturePoint on_ellipsoid(std::span<const double> record, std::size_t,
                                            const polytopes::Tangent& tangent) {
  using namespace solid;
  Vec<3> on_ball{}, x{}, y{};
  for (std::size_t k = 0; k < 3; ++k) {
    const Vec<3> axis = own_axis(record, k) * record[3 + k];
    on_ball[k] = dot(axis, tangent.normal);
    x[k] = dot(axis, tangent.x);
    y[k] = dot(axis, tangent.y);
  }
  const double length = std::sqrt(squared(on_ball)), scale = 1 / length;
  on_ball = on_ball * scale;
  Vec<3> at{};
  for (std::size_t k = 0; k < 3; ++k) at = at + own_axis(record, k) * (record[3 + k] * on_ball[k]);
  const double along_x = dot(on_ball, x), along_y = dot(on_ball, y);
  return {at,
          {(squared(x) - along_x * along_x) * scale, (dot(x, y) - along_x * along_y) * scale,
           (squared(y) - along_y * along_y) * scale}};
}

inline polytopes::DiscFace no_facing(std::span<const double>, const Vec<3>&) { return {}; }

inline polytopes::FarthestPoint<2> farthest_of_sector(std::span<const double> record, const Vec<2>& way) {
  const double* const p = record.data();
  const Vec<2> begin{p[2] - p[0], p[3] - p[1]}, end{p[4] - p[0], p[5] - p[1]};
  if (const double length = std::hypot(way[0], way[1]); length > 0 && is_on_arc(p, way)) {
    const double reach = arc_radius(p) / length;
    return {{way[0] * reach, way[1] * reach}, 0};
  }
  const double first = begin[0] * way[0] + begin[1] * way[1], last = end[0] * way[0] + end[1] * way[1];
  if (first <= 0 && last <= 0) return {{}, 1};
  return {first >= last ? begin : end, first >= last ? std::size_t{2} : std::size_t{3}};
}

// ---- One row for each curved kind of space, and of the plane ----

inline constexpr std::array kSpaceSupports{
    SupportRow<3>{ShapeKind::kCylinder, &farthest_of_cylinder, &on_cylinder, &cylinder_facing},
    SupportRow<3>{ShapeKind::kCone, &farthest_of_cone, &on_cone, &cone_facing},
    SupportRow<3>{ShapeKind::kEllipsoid, &farthest_of_ellipsoid, &on_ellipsoid, &no_facing},
};
inline constexpr std::array kPlaneSupports{
    SupportRow<2>{ShapeKind::kSector, &farthest_of_sector},
};

template <std::size_t D>
constexpr std::span<const SupportRow<D>> support_rows() {
  if constexpr (D == 2)
    return kPlaneSupports;
  else
    return kSpaceSupports;
}

// Empty if a kind has none.
template <std::size_t D>
constexpr SupportRow<D> support_row(ShapeKind kind) {
  for (const SupportRow<D>& row : support_rows<D>())
    if (row.kind == kind) return row;
  return {};
}
// The point of a curved shape that is farthest along a direction, as seen from the first point of its record.
template <std::size_t D>
Vec<D> farthest_of(const ShapeView<D>& shape, const Vec<D>& way) {
  return support_row<D>(shape.kind).support(shape.record, way).at;
}

template <std::size_t D>
inline constexpr std::uint32_t kCurvedKinds =
    kinds_that([](const ShapeTraits& row) { return row.core == CoreForm::kCurved && row.is_in(D); });
// By the kinds of the rows: to a sanitizer, the address of a function is not known while compiling.
template <std::size_t D>
inline constexpr std::uint32_t kSupportedKinds = kinds_that([](const ShapeTraits& row) {
  const auto rows = support_rows<D>();
  return std::any_of(rows.begin(), rows.end(), [&](const SupportRow<D>& support) { return support.kind == row.kind; });
});
static_assert(kCurvedKinds<2> == kSupportedKinds<2>, "kPlaneSupports has a row for each curved kind");
static_assert(kCurvedKinds<3> == kSupportedKinds<3>, "kSpaceSupports has a row for each curved kind");

template <std::size_t D>
constexpr bool is_curved(const ShapeView<D>& shape) {
  return (kCurvedKinds<D> >> static_cast<std::uint8_t>(shape.kind) & 1) != 0;
}
template <std::size_t D>
constexpr bool is_any_curved(const ShapeView<D>& a, const ShapeView<D>& b) {
  return is_curved(a) || is_curved(b);
}

// How large two shapes are, and how far apart at most: a motion of that length has passed.
template <std::size_t D>
struct PairSize {
  double larger = 0, apart = 0;

  PairSize(const ShapeView<D>& a, const ShapeView<D>& b) {
    ShapeBounds<D> first, second;
    add_bounds<D>(a, first);
    add_bounds<D>(b, second);
    for (std::size_t k = 0; k < D; ++k) {
      larger = std::max({larger, first.upper[k] - first.lower[k], second.upper[k] - second.lower[k]});
      apart += std::max(first.upper[k], second.upper[k]) - std::min(first.lower[k], second.lower[k]);
    }
  }
  // The power of two in which both are about 1 in size.
  int exponent() const { return larger > 0 ? std::clamp(std::ilogb(larger) + 1, -900, 900) : 0; }
};

namespace polytopes {

// The support function of an element that is no compound and no mesh, in the frame of a pair. The features of a core
// with corners are these.
class ElementSupport {
 public:
  ElementSupport(const Element& element, const Frame& frame) : frame_(&frame), record_(element.shape.record) {
    if (is_curved(element.shape)) {
      row_ = support_row<3>(element.shape.kind);
      place_ = frame.place(record_, 0);
    } else {
      core_.emplace(element, frame);
      radius_ = std::exchange(core_->radius, 0.0);
    }
  }

  FarthestPoint<3> farthest(const Vec3& way, std::size_t start) const {
    if (core_) {
      const std::size_t corner = core_->farthest(way, start);
      return {core_->corner(corner), corner};
    }
    const FarthestPoint<3> own = row_.support(record_, way);
    return {place_ + own.at * frame_->to, own.feature};
  }
  FeaturePoint on(std::size_t feature, const Tangent& tangent) const {
    if (core_) return {core_->corner(feature), {}};
    const FeaturePoint own = row_.on(record_, feature, tangent);
    return {place_ + own.at * frame_->to, own.bend * frame_->to};
  }
  DiscFace facing(const Vec3& way) const {
    if (core_) return {};
    const DiscFace own = row_.facing(record_, way);
    return {place_ + own.centre * frame_->to, own.normal, own.radius * frame_->to};
  }
  SupportCore<ElementSupport> core() const { return {*this, radius_}; }

 private:
  const Frame* frame_;
  std::span<const double> record_;
  SupportRow<3> row_{};
  Vec3 place_{};
  double radius_ = 0;
  std::optional<Core> core_;
};

using CurvedCores = Cores<SupportCore<ElementSupport>>;

// Calls visit(cores, frame) with those of two shapes, one of which is curved, and returns what it does.
template <class Visit>
auto with_curved_cores(const ShapeView<3>& a, const ShapeView<3>& b, const Visit& visit) {
  const Frame frame(solid::place_of(a), PairSize<3>(a, b).exponent());
  const auto first = ElementSupport({a, nullptr}, frame).core(), second = ElementSupport({b, nullptr}, frame).core();
  return visit(CurvedCores{first, second}, frame);
}

// ---- What `Simple` has in narrow_3d.cpp, of two shapes of which one is curved, in the canonical order ----

inline bool overlap_of_curved(const ShapeView<3>& a, const ShapeView<3>& b) {
  return with_curved_cores(a, b, [](const CurvedCores& cores, const Frame&) { return overlap(cores); });
}

inline solid::Gap gap_of_curved(const ShapeView<3>& a, const ShapeView<3>& b) {
  return with_curved_cores(a, b, [](const CurvedCores& cores, const Frame& frame) {
    const CoreGap gap = gap_of(cores);
    return solid::Gap{(gap.distance - cores.radii()) * frame.back, gap.normal};
  });
}

inline Contact<3> contact_of_curved(const ShapeView<3>& a, const ShapeView<3>& b) {
  return with_curved_cores(
      a, b, [](const CurvedCores& cores, const Frame& frame) { return contact_of(cores, gap_of(cores), frame); });
}

inline solid::Impact cast_of_curved(const ShapeView<3>& a, const Vec3& motion, const ShapeView<3>& b) {
  const double length = std::sqrt(squared(motion));
  if (!(length > 0)) return {};
  return with_curved_cores(a, b, [&](const CurvedCores& cores, const Frame& frame) {
    const double all_the_way = PairSize<3>(a, b).apart / length;
    solid::Impact impact;
    impact.time = all_the_way * first_touch(cores, motion * (frame.to * all_the_way), kInfinity, impact.normal);
    return impact;
  });
}

}  // namespace polytopes
}  // namespace broadphase
