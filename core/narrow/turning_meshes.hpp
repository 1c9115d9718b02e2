// When a mesh, a point cloud or a height field first touches another shape, both of which move and turn (turning.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "narrow/geometries.hpp"
#include "narrow/meshes.hpp"
#include "narrow/turning.hpp"

namespace broadphase {

// A shape of a pair where it is at some share of the motion.
class TurningSide {
 public:
  TurningSide(const TurningShape<3>& shape, const Geometry& geometry, const Vec<3>& place, const Vec<3>& motion)
      : shape_(shape), geometry_(geometry), path_(shape, place, motion), local_(side_of(shape.local, geometry)) {}

  // Valid until the next call.
  MeshSide at(double share) {
    record_.resize(shape_.local.record.size());
    const ShapeKind kind = place_shape<3>(shape_.local.kind, shape_.local.record, path_.at(share), record_.data());
    return side_of({kind, {record_.data(), kind == ShapeKind::kBox ? 6 : record_.size()}}, geometry_);
  }
  // An element as its body has it; of a height field, the triangle with these corners, or the box below its lowest
  // height.
  ShapeView<3> local(std::int32_t face, const double* corners, std::array<double, 15>& numbers) const {
    if (local_.is_field()) return local_of_field(corners, numbers);
    if (!local_.has_tree()) return shape_.local;
    std::array<double, 9> placed{};
    const ShapeView<3> element = local_.element(face, placed).shape;
    std::copy(placed.begin(), placed.end(), numbers.begin());
    return {element.kind, {numbers.data(), element.record.size()}};
  }
  double faces() const {
    if (local_.is_field())
      return 2 * static_cast<double>(local_.field().cell_rows()) * static_cast<double>(local_.field().cell_columns());
    return static_cast<double>(local_.element_count());
  }
  // No point is faster; of a half space, none at a distance.
  double fastest(double distance) const {
    const TurnVector<3>& turn = shape_.turn;
    return std::sqrt(solid::squared(turn)) * std::min(reach_of(shape_.local), distance);
  }

 private:
  ShapeView<3> local_of_field(const double* corners, std::array<double, 15>& numbers) const {
    const auto place = [&](const double* own, double* to) {
      for (std::size_t k = 0; k < 3; ++k)
        to[k] = local_.origin(k) + own[0] * local_.axis(0)[k] + own[1] * local_.axis(1)[k] + own[2] * local_.axis(2)[k];
    };
    if (corners != nullptr) {
      for (std::size_t c = 0; c < 3; ++c) place(corners + 3 * c, numbers.data() + 3 * c);
      return {ShapeKind::kTriangle, {numbers.data(), 9}};
    }
    const HeightField::Box base = local_.field().base();
    Vec<3> centre;
    for (std::size_t k = 0; k < 3; ++k) {
      centre[k] = base.lower[k] / 2 + base.upper[k] / 2;
      numbers[3 + k] = base.upper[k] / 2 - base.lower[k] / 2;
      std::copy_n(local_.axis(k).begin(), 3, numbers.begin() + 6 + 3 * static_cast<std::ptrdiff_t>(k));
    }
    place(centre.data(), numbers.data());
    return {ShapeKind::kOrientedBox, numbers};
  }

  const TurningShape<3>& shape_;
  Geometry geometry_;
  PosePath<3> path_;
  MeshSide local_;
  std::vector<double> record_;
};

// As for other shapes: the first share of the motion at which they are at most `target` apart. While they are far
// apart, they advance by their distance; where they are near, by about the size of a triangle, and all pairs of
// elements that can touch meanwhile are followed one by one.
inline double impact_time(const TurningPair<3>& pair, const Geometry& geometry, const Geometry& other_geometry,
                          double target, Vec<3>* normal) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const bool has_field = geometry.field != nullptr || other_geometry.field != nullptr;
  if (geometry.is_element() && other_geometry.is_element()) return impact_time(pair, target, normal);
  NearMotion<3> near;
  if (!find_near_motion(pair, target, near)) return kNone;
  TurningSide first(near.pair.first, geometry, near.pair.place, near.pair.motion),
      second(near.pair.second, other_geometry, {}, {});
  const double fastest =
      std::sqrt(solid::squared(near.pair.motion)) + first.fastest(near.scale) + second.fastest(near.scale);
  const double touching = touching_below(near.scale);
  constexpr double kLongest = 0x1p-3, kShortest = 0x1p-8;
  const double stretch =
      near.scale * std::clamp(1 / std::sqrt(std::max(first.faces(), second.faces())), kShortest, kLongest);
  double time = 0, radii = 0;  // of clouds, whose boxes are around points
  for (const Geometry* of : {&geometry, &other_geometry})
    if (of->cloud != nullptr) radii += of->cloud->radius();
  for (;;) {
    const MeshSide a = first.at(time), b = second.at(time);
    const bool is_above =
        is_tree_above(a, b) || (has_field && (is_unbounded(pair.first.local) || is_unbounded(pair.second.local)));
    std::optional<RelativePose> view;
    if (!is_above) view.emplace(a, b);
    double apart = is_above ? -kNone : view->apart(a.blocks()->box(0), *b.blocks(), false)[0] - radii;
    if (apart < target + stretch) {
      const NearestElements nearest = nearest_elements(a, b, target + touching + fastest * (1 - time));
      if (nearest.distance <= target + touching) {
        *normal = nearest.normal;
        return near.begin + near.length * time;
      }
      apart = nearest.distance;
    }
    // What moves no farther than this, up to the end, does not touch.
    const double free = apart - target - touching / 2;
    if (!(free < fastest * (1 - time))) return kNone;
    if (free >= stretch) {
      time = std::max(time + free / fastest, std::nextafter(time, 2.0));
      continue;
    }
    const double until = std::min(1.0, std::max(time + stretch / fastest, std::nextafter(time, 2.0)));
    const double reach = target + touching + fastest * (until - time);
    double found = kNone;
    const auto follow = [&](const ShapeView<3>& one, const ShapeView<3>& other) {
      TurningPair<3> elements = near.pair;
      elements.first.local = one;
      elements.second.local = other;
      if (one.kind != ShapeKind::kHull) elements.first.polytope = nullptr;
      if (other.kind != ShapeKind::kHull) elements.second.polytope = nullptr;
      Vec<3> way;
      const double touched = impact_time_within(elements, target, near.scale, time, std::min(until, found), &way);
      if (touched < found) {
        found = touched;
        *normal = way;
      }
    };
    std::array<double, 15> numbers, other_numbers;
    const auto follow_faces = [&](std::int32_t face, std::int32_t other_face) {
      follow(first.local(face, nullptr, numbers), second.local(other_face, nullptr, other_numbers));
      return found < kNone ? target + touching + fastest * (found - time) : reach;
    };
    const auto follow_cores = [&](std::int32_t face, std::int32_t other_face) {
      return follow_faces(face, other_face) + radii;
    };
    if (has_field) {
      const bool is_second = b.is_field();
      height_fields::visit_near(is_second ? b : a, is_second ? a : b, reach,
                                [&](std::int32_t face, const double* of_other, const double* of_field) {
                                  follow(first.local(face, is_second ? of_other : of_field, numbers),
                                         second.local(face, is_second ? of_field : of_other, other_numbers));
                                });
    } else if (is_above) {
      walk_down(a.has_tree() ? a : b, (a.has_tree() ? b : a).alone().shape, reach,
                [&](std::int32_t face) { return follow_faces(face, face); });
    } else {
      walk_meshes(
          a, b, reach + radii,
          [&](const MeshBox& box, const MeshBlock& block, bool of_first) { return view->apart(box, block, of_first); },
          each_of_leaves(a, b, follow_cores));
    }
    if (found < kNone) return near.begin + near.length * found;
    if (until >= 1) return kNone;
    time = until;
  }
}

}  // namespace broadphase
