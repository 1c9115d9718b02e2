// Shapes whose core is curved (`CoreForm::kCurved`): a support function is all that the narrow phase asks of them.
// Their pairs, with each other and with any other shape, are those of the general test (convex_pairs.hpp).
//
// Distances are true to a billionth of the size of the larger shape, depths mostly as well.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "narrow/compounds.hpp"
#include "narrow/convex_pairs.hpp"
#include "narrow/polytope_core.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// The point of a placed shape that is farthest along a direction, as seen from the first point of its record, so that
// nothing is lost far from the origin. Any point, if the direction is 0.
template <std::size_t D>
using SupportFunction = Vec<D> (*)(std::span<const double> record, const Vec<D>& way);

template <std::size_t D>
struct SupportRow {
  ShapeKind kind;
  SupportFunction<D> support;
};

// ---- One row for each curved kind of space, and of the plane ----

inline constexpr std::array<SupportRow<3>, 0> kSpaceSupports{};
inline constexpr std::array<SupportRow<2>, 0> kPlaneSupports{};

template <std::size_t D>
constexpr SupportFunction<D> support_of(ShapeKind kind) {
  const auto find = [&](const auto& rows) -> SupportFunction<D> {
    for (const SupportRow<D>& row : rows)
      if (row.kind == kind) return row.support;
    return nullptr;
  };
  if constexpr (D == 2)
    return find(kPlaneSupports);
  else
    return find(kSpaceSupports);
}

template <std::size_t D>
inline constexpr std::uint32_t kCurvedKinds =
    kinds_that([](const ShapeTraits& row) { return row.core == CoreForm::kCurved && row.is_in(D); });
static_assert(kCurvedKinds<2> == kinds_that([](const ShapeTraits& row) { return support_of<2>(row.kind) != nullptr; }),
              "narrow/support.hpp: kPlaneSupports has a row for each curved kind");
static_assert(kCurvedKinds<3> == kinds_that([](const ShapeTraits& row) { return support_of<3>(row.kind) != nullptr; }),
              "narrow/support.hpp: kSpaceSupports has a row for each curved kind");

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

// The support function of an element that is no compound and no mesh, in the frame of a pair.
class ElementSupport {
 public:
  ElementSupport(const Element& element, const Frame& frame) : frame_(&frame), record_(element.shape.record) {
    if (is_curved(element.shape)) {
      support_ = support_of<3>(element.shape.kind);
      place_ = frame.place(record_, 0);
    } else {
      core_.emplace(element, frame);
      radius_ = std::exchange(core_->radius, 0.0);
    }
  }

  Vec3 operator()(const Vec3& way) const {
    return core_ ? core_->corner(core_->farthest(way, 0)) : place_ + support_(record_, way) * frame_->to;
  }
  SupportCore<ElementSupport> core() const { return {*this, radius_}; }

 private:
  const Frame* frame_;
  std::span<const double> record_;
  SupportFunction<3> support_ = nullptr;
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
