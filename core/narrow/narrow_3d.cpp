// The narrow phase in 3-d: overlap, signed distance, contact, raycast and time of impact of two placed shapes of any
// type but hulls and meshes.
//
// A pair is put into a canonical order first, and the normal is negated if that swapped the shapes.
#include "narrow/narrow_3d.hpp"

#include "narrow/half_spaces.hpp"
#include "narrow/shape_queries.hpp"
#include "narrow/support.hpp"

namespace broadphase {

namespace solid {

inline bool is_round(ShapeKind kind) { return kind == ShapeKind::kPoint || kind == ShapeKind::kBall; }

// Concentric balls are separated along the x axis, in either order.
inline bool are_concentric(const ShapeView<3>& a, const ShapeView<3>& b) {
  return is_round(a.kind) && is_round(b.kind) && a.record[0] == b.record[0] && a.record[1] == b.record[1] &&
         a.record[2] == b.record[2];
}

inline bool rounds_overlap(const ShapeView<3>& a, const ShapeView<3>& b) {
  const double reach = radius_of(a) + radius_of(b);
  return squared(vector_at(b.record, 0) - vector_at(a.record, 0)) <= reach * reach;
}

// Queries on two shapes that are not compounds, in either order.
struct Simple {
  static bool overlap(const ShapeView<3>& a, const ShapeView<3>& b) {
    if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) return boxes_overlap(a.record, b.record);
    if (is_round(a.kind) && is_round(b.kind)) return rounds_overlap(a, b);
    if (is_turned(a, b)) return overlap(b, a);
    if (is_half_space(b)) return half_spaces::overlap(a, b);
    if (is_any_curved(a, b)) return polytopes::overlap_of_curved(a, b);
    if (is_round(a.kind) && b.kind == ShapeKind::kBox)
      return squared_distance_to_box(a.record, b.record) <= radius_of(a) * radius_of(a);
    return with_cores(a, b, [](const auto& first, const auto& second, double x, double y, bool) {
      return within(first, second, x + y);
    });
  }

  static Gap gap(const ShapeView<3>& a, const ShapeView<3>& b) {
    if (is_round(a.kind) && is_round(b.kind)) {
      const Gap gap = gap_of(PointCore{}, PointCore{vector_at(b.record, 0) - vector_at(a.record, 0)});
      return {gap.distance - (radius_of(a) + radius_of(b)), gap.normal};
    }
    if (is_turned(a, b)) return turned(gap(b, a));
    if (is_half_space(b)) return half_spaces::gap(a, b);
    if (is_any_curved(a, b)) return polytopes::gap_of_curved(a, b);
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

  static Impact cast(const ShapeView<3>& a, const Vec3& motion, const ShapeView<3>& b) {
    if (is_turned(a, b)) return turned(cast(b, -motion, a));
    if (is_half_space(b)) return half_spaces::cast(a, motion, b);
    if (is_any_curved(a, b)) return polytopes::cast_of_curved(a, motion, b);
    if (b.kind == ShapeKind::kBox) {
      if (a.kind == ShapeKind::kBox) return cast_box(a.record, motion, b.record);
      if (is_round(a.kind)) return cast_ball(a.record, radius_of(a), motion, b.record);
    }
    return with_cores(a, b, [&](const auto& first, const auto& second, double x, double y, bool turns) {
      return turns ? turned(solid::cast(first, -motion, second, x + y)) : solid::cast(first, motion, second, x + y);
    });
  }

  static Contact<3> contact(const ShapeView<3>& a, const ShapeView<3>& b) {
    if (is_turned(a, b) && !are_concentric(a, b)) return turned(contact(b, a));
    if (is_half_space(b)) return half_spaces::contact(a, b);
    if (is_any_curved(a, b)) return polytopes::contact_of_curved(a, b);
    const Gap gap = Simple::gap(a, b);
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
        // A ball has one contact point: its deepest.
        contact.points[contact.count++] = first.at + normal * (x - 0.5 * contact.depth);
      } else {
        put_points(touching_of(first, second, normal, x, y), normal, contact);
      }
    });
    for (std::size_t k = 0; k < contact.count; ++k) contact.points[k] = contact.points[k] + origin;
    return contact;
  }
};

}  // namespace solid

using Queries = ShapeQueries<3, solid::Simple>;

bool overlaps(const ShapeView<3>& a, const ShapeView<3>& b) { return Queries::overlap(a, b); }
double signed_distance(const ShapeView<3>& a, const ShapeView<3>& b, Vec<3>* normal) {
  return Queries::signed_distance(a, b, normal);
}
Contact<3> contact(const ShapeView<3>& a, const ShapeView<3>& b) { return Queries::contact(a, b); }
double ray_hit(const ShapeView<3>& shape, const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal) {
  return Queries::ray_hit(shape, origin, direction, normal);
}
double impact_time(const ShapeView<3>& a, const Vec<3>& motion, const ShapeView<3>& b, Vec<3>* normal) {
  if (a.kind != ShapeKind::kBall || b.kind != ShapeKind::kBall) return Queries::impact_time(a, motion, b, normal);
  // Balls first: what else there is to ask takes as long as their answer.
  return Queries::impact_time(a, b, normal, solid::rounds_overlap(a, b), [&] {
    using namespace solid;
    const PointCore to{vector_at(b.record, 0) - vector_at(a.record, 0)};
    return solid::cast(PointCore{}, motion, to, a.record[3] + b.record[3]);
  });
}

}  // namespace broadphase
