// The narrow phase in space: what two placed shapes have to do with each other, for all kinds but hulls and meshes.
//
// Shapes are closed: those that touch overlap. The answer does not depend on which comes first, bit for bit: pairs are
// put in one order, and the normal is turned round if that was not the order asked for.
#pragma once

#include "narrow/narrow_3d_boxes.hpp"
#include "narrow/narrow_3d_contact.hpp"
#include "narrow/narrow_3d_parts.hpp"

namespace broadphase {
namespace solid {

// Whether (b, a) is the order to ask in. Of most pairs, the kinds or the first numbers tell.
inline bool is_turned(const ShapeView<3>& a, const ShapeView<3>& b) {
  if (a.kind != b.kind) return a.kind > b.kind;
  const std::size_t count = a.record.size() < b.record.size() ? a.record.size() : b.record.size();
  for (std::size_t k = 0; k < count; ++k)
    if (a.record[k] != b.record[k]) return a.record[k] > b.record[k];
  return a.record.size() > b.record.size();
}

inline bool is_round(ShapeKind kind) { return kind == ShapeKind::kPoint || kind == ShapeKind::kBall; }
inline double radius_of(const ShapeView<3>& round) { return round.kind == ShapeKind::kBall ? round.record[3] : 0; }

// Two balls at one place are apart along the x axis, whichever comes first.
inline bool are_concentric(const ShapeView<3>& a, const ShapeView<3>& b) {
  return is_round(a.kind) && is_round(b.kind) && a.record[0] == b.record[0] && a.record[1] == b.record[1] &&
         a.record[2] == b.record[2];
}

inline bool rounds_overlap(const ShapeView<3>& a, const ShapeView<3>& b) {
  const double reach = radius_of(a) + radius_of(b);
  return squared(vector_at(b.record, 0) - vector_at(a.record, 0)) <= reach * reach;
}

// Of this and the following, the shapes are no compounds.
inline bool simple_overlap(const ShapeView<3>& a, const ShapeView<3>& b) {
  if (is_round(a.kind) && is_round(b.kind)) return rounds_overlap(a, b);
  if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) return boxes_overlap(a.record, b.record);
  if (is_round(a.kind) && b.kind == ShapeKind::kBox)
    return squared_distance_to_box(a.record, b.record) <= radius_of(a) * radius_of(a);
  return with_cores(a, b, [](const auto& first, const auto& second, double x, double y, bool) {
    return within(first, second, x + y);
  });
}

inline Gap simple_gap(const ShapeView<3>& a, const ShapeView<3>& b) {
  if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) return gap_of_boxes(a.record, b.record);
  if (is_round(a.kind) && b.kind == ShapeKind::kBox) {
    const Vec3 way = to_box(a.record, b.record);
    const double distance = std::sqrt(squared(way));
    if (distance > 0) return {distance - radius_of(a), way * (1 / distance)};
  }
  return with_cores(a, b, [](const auto& first, const auto& second, double x, double y, bool turns) {
    const Gap gap = gap_of(first, second);
    return Gap{gap.distance - (x + y), turns ? -gap.normal : gap.normal};
  });
}

inline Impact simple_cast(const ShapeView<3>& a, const Vec3& motion, const ShapeView<3>& b) {
  if (b.kind == ShapeKind::kBox) {
    if (a.kind == ShapeKind::kBox) return cast_box(a.record, motion, b.record);
    if (is_round(a.kind)) return cast_ball(a.record, radius_of(a), motion, b.record);
  }
  return with_cores(a, b, [&](const auto& first, const auto& second, double x, double y, bool turns) {
    return turns ? turned(cast(first, -motion, second, x + y)) : cast(first, motion, second, x + y);
  });
}

inline Contact<3> simple_contact(const ShapeView<3>& a, const ShapeView<3>& b) {
  const Gap gap = simple_gap(a, b);
  Contact<3> contact;
  contact.normal = gap.normal;
  contact.depth = gap.distance < 0 ? -gap.distance : 0;
  if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) {
    put_points_of_boxes(a.record, b.record, contact);
    return contact;
  }
  const Vec3 origin = place_of(a);
  with_cores(a, b, [&](const auto& first, const auto& second, double x, double y, bool turns) {
    const Vec3 normal = turns ? -gap.normal : gap.normal;
    if constexpr (std::decay_t<decltype(first)>::kRank == PointCore::kRank) {
      // A ball touches at one point: where it is the deepest.
      contact.points[contact.count++] = first.at + normal * (x - 0.5 * contact.depth);
    } else {
      put_points(touching_of(first, second, normal, x, y), normal, contact);
    }
  });
  for (std::size_t k = 0; k < contact.count; ++k) contact.points[k] = contact.points[k] + origin;
  return contact;
}

// Of two shapes of which one is a compound at least: the nearest parts, or those that overlap the deepest.
struct NearestParts {
  Gap gap{kNever, {1, 0, 0}};
  ShapeView<3> first{}, second{};
};

inline NearestParts nearest_parts(const ShapeView<3>& a, const ShapeView<3>& b) {
  NearestParts best;
  for_each_pair_of_parts(a, b, [&](const auto& x, const auto& y, const Bounds& x_bounds, const Bounds& y_bounds) {
    const double least = squared_distance(x_bounds, y_bounds), limit = best.gap.distance;
    if (least > 0 && (limit <= 0 || least >= limit * limit)) return true;
    const Gap gap = simple_gap(x, y);
    if (gap.distance < limit) best = {gap, x, y};
    return true;
  });
  return best;
}

inline bool parts_overlap(const ShapeView<3>& a, const ShapeView<3>& b) {
  bool found = false;
  for_each_pair_of_parts(a, b, [&](const auto& x, const auto& y, const Bounds& x_bounds, const Bounds& y_bounds) {
    found = squared_distance(x_bounds, y_bounds) == 0 && simple_overlap(x, y);
    return !found;
  });
  return found;
}

inline Impact cast_parts(const ShapeView<3>& a, const Vec3& motion, const ShapeView<3>& b) {
  Impact first{};
  for_each_pair_of_parts(a, b, [&](const auto& x, const auto& y, const Bounds& x_bounds, const Bounds& y_bounds) {
    if (may_meet(x_bounds, motion, y_bounds, first.time)) keep_first(first, simple_cast(x, motion, y));
    return true;
  });
  return first;
}

inline bool has_parts(const ShapeView<3>& a, const ShapeView<3>& b) {
  return a.kind == ShapeKind::kCompound || b.kind == ShapeKind::kCompound;
}

// In this order, for all but `overlaps`; the answers are then turned round.
inline Gap gap_in_turn(const ShapeView<3>& a, const ShapeView<3>& b) {
  return has_parts(a, b) ? nearest_parts(a, b).gap : simple_gap(a, b);
}
inline Contact<3> contact_in_turn(const ShapeView<3>& a, const ShapeView<3>& b) {
  if (!has_parts(a, b)) return simple_contact(a, b);
  const NearestParts parts = nearest_parts(a, b);
  return parts.gap.distance < kNever ? simple_contact(parts.first, parts.second) : Contact<3>{};
}

}  // namespace solid

inline bool overlaps(const ShapeView<3>& a, const ShapeView<3>& b) {
  if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) return solid::boxes_overlap(a.record, b.record);
  if (solid::is_round(a.kind) && solid::is_round(b.kind)) return solid::rounds_overlap(a, b);
  if (solid::is_turned(a, b)) return solid::has_parts(a, b) ? solid::parts_overlap(b, a) : solid::simple_overlap(b, a);
  return solid::has_parts(a, b) ? solid::parts_overlap(a, b) : solid::simple_overlap(a, b);
}

// The distance of the surfaces; if the shapes overlap, minus the least translation that takes them apart. The normal is
// a unit vector from the first to the second. Time: of compounds, the product of their parts.
inline double signed_distance(const ShapeView<3>& a, const ShapeView<3>& b, Vec<3>* normal) {
  const bool turns = solid::is_turned(a, b) && !solid::are_concentric(a, b);
  const solid::Gap gap = turns ? solid::gap_in_turn(b, a) : solid::gap_in_turn(a, b);
  *normal = turns ? solid::operator-(gap.normal) : gap.normal;
  return gap.distance;
}

// Where two shapes that overlap touch: of compounds, where their deepest parts do.
inline Contact<3> contact(const ShapeView<3>& a, const ShapeView<3>& b) {
  const bool turns = solid::is_turned(a, b) && !solid::are_concentric(a, b);
  Contact<3> found = turns ? solid::contact_in_turn(b, a) : solid::contact_in_turn(a, b);
  if (turns) found.normal = solid::operator-(found.normal);
  return found;
}

// The first time, 0 or later, at which a ray is in a shape; infinite if never. The normal is the shape's, outwards; of
// a ray that starts inside, against it.
inline double ray_hit(const ShapeView<3>& shape, const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal) {
  const ShapeView<3> point{ShapeKind::kPoint, origin};
  *normal = {};
  if (overlaps(point, shape)) {
    if (!solid::is_zero(direction)) *normal = solid::unit(solid::operator-(direction));
    return 0;
  }
  const solid::Impact impact = shape.kind == ShapeKind::kCompound ? solid::cast_parts(point, direction, shape)
                                                                  : solid::simple_cast(point, direction, shape);
  if (impact.time < solid::kNever) *normal = solid::operator-(impact.normal);
  return impact.time;
}

// The first time in [0, 1] at which `a`, moved by `motion` relative to `b`, touches it; infinite if never. The normal
// leads from the first to the second, where they are then.
inline double impact_time(const ShapeView<3>& a, const Vec<3>& motion, const ShapeView<3>& b, Vec<3>* normal) {
  *normal = {};
  if (overlaps(a, b)) {
    signed_distance(a, b, normal);
    return 0;
  }
  const bool turns = solid::is_turned(a, b);
  const Vec<3> way = turns ? solid::operator-(motion) : motion;
  const ShapeView<3>&first = turns ? b : a, &second = turns ? a : b;
  const solid::Impact impact =
      solid::has_parts(a, b) ? solid::cast_parts(first, way, second) : solid::simple_cast(first, way, second);
  // At the very end of the way, rounding must not part what touches there.
  if (!(impact.time <= 1 + solid::kRounding)) return solid::kNever;
  *normal = turns ? solid::operator-(impact.normal) : impact.normal;
  return impact.time < 1 ? impact.time : 1;
}

}  // namespace broadphase
