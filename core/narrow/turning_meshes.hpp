// When a mesh first touches another shape, both of which move and turn (turning.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "narrow/meshes.hpp"
#include "narrow/turning.hpp"

namespace broadphase {

// A shape of a pair where it is at some share of the motion; `tree` is that of a mesh, null for others.
class TurningSide {
 public:
  TurningSide(const TurningShape<3>& shape, const MeshTree* tree, const Vec<3>& place, const Vec<3>& motion)
      : shape_(shape), tree_(tree), path_(shape, place, motion), local_(side_of(shape.local)) {}

  // Valid until the next call.
  MeshSide at(double share) {
    record_.resize(shape_.local.record.size());
    const ShapeKind kind = place_shape<3>(shape_.local.kind, shape_.local.record, path_.at(share), record_.data());
    return side_of({kind, {record_.data(), kind == ShapeKind::kBox ? 6 : record_.size()}});
  }
  // An element as its body has it.
  ShapeView<3> local(std::int32_t face, std::array<double, 9>& corners) const {
    return tree_ != nullptr ? local_.element(face, corners).shape : shape_.local;
  }
  const Polytope* polytope() const { return shape_.polytope; }
  double faces() const { return tree_ != nullptr ? static_cast<double>(tree_->face_count()) : 1.0; }
  // No point is faster.
  double fastest() const {
    const TurnVector<3>& turn = shape_.turn;
    return std::sqrt(solid::squared(turn)) * reach_of(shape_.local);
  }

 private:
  MeshSide side_of(const ShapeView<3>& shape) const {
    return tree_ != nullptr ? MeshSide(*tree_, shape.record) : MeshSide(shape, shape_.polytope);
  }

  const TurningShape<3>& shape_;
  const MeshTree* tree_;
  PosePath<3> path_;
  MeshSide local_;
  std::vector<double> record_;
};

// As for other shapes: the first share of the motion at which they are at most `target` apart. While they are far
// apart, they advance by their distance; where they are near, by about the size of a triangle, and all pairs of
// elements that can touch meanwhile are followed one by one.
inline double impact_time(const TurningPair<3>& pair, const MeshTree* tree, const MeshTree* other_tree, double target,
                          Vec<3>* normal) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (tree == nullptr && other_tree == nullptr) return impact_time(pair, target, normal);
  NearMotion<3> near;
  if (!find_near_motion(pair, target, near)) return kNone;
  TurningSide first(near.pair.first, tree, near.pair.place, near.pair.motion),
      second(near.pair.second, other_tree, {}, {});
  const double fastest = std::sqrt(solid::squared(near.pair.motion)) + first.fastest() + second.fastest();
  const double touching = touching_below(near.scale);
  constexpr double kLongest = 0x1p-3, kShortest = 0x1p-8;
  const double stretch =
      near.scale * std::clamp(1 / std::sqrt(std::max(first.faces(), second.faces())), kShortest, kLongest);
  double time = 0;
  for (;;) {
    const MeshSide a = first.at(time), b = second.at(time);
    const RelativePose view(a, b);
    double apart = view.apart(a.blocks()->box(0), *b.blocks(), false)[0];
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
    walk_meshes(
        a, b, reach,
        [&](const MeshBox& box, const MeshBlock& block, bool of_first) { return view.apart(box, block, of_first); },
        [&](std::int32_t face, std::int32_t other_face) {
          std::array<double, 9> corners, other_corners;
          TurningPair<3> elements = near.pair;
          elements.first.local = first.local(face, corners);
          elements.second.local = second.local(other_face, other_corners);
          Vec<3> way;
          const double touched = impact_time_within(elements, target, near.scale, time, std::min(until, found), &way);
          if (touched < found) {
            found = touched;
            *normal = way;
          }
          return found < kNone ? target + touching + fastest * (found - time) : reach;
        });
    if (found < kNone) return near.begin + near.length * found;
    if (until >= 1) return kNone;
    time = until;
  }
}

}  // namespace broadphase
