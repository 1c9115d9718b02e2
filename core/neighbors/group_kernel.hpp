// The walk of a group of points to what is near them. See group_walk.hpp.
#pragma once

#include "neighbors/group_walk.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// The points of the group that may have neighbors in the node.
inline std::uint32_t reaching(const GroupWalk& walk, const PointNode& node) {
  WideEight lower[3], upper[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    lower[axis] = WideEight::splat(node.lower[axis] + walk.shift[axis]);
    upper[axis] = WideEight::splat(node.upper[axis] + walk.shift[axis]);
  }
  const WideEight zero = WideEight::splat(0);
  std::uint32_t reach = 0, ties = 0;
  for (std::size_t from = 0; from < kLeafPoints; from += 8) {
    const auto gap = [&](std::size_t axis) {
      const WideEight at = WideEight::load(walk.own.columns[axis] + from);
      return raised(raised(lower[axis] - at, at - upper[axis]), zero);
    };
    const WideEight x = gap(0), y = gap(1), z = gap(2);
    const WideEight square = x * x + y * y + z * z;
    WideTests near, far;
    near.at_most(square, WideEight::load(walk.reach + from));
    far.at_most(WideEight::load(walk.last_square + from), square);
    reach |= near.bits() << from;
    ties |= far.bits() << from;
  }
  ties &= reach;
  for (; ties != 0; ties &= ties - 1) {
    const std::uint32_t own = lowest_bit(ties);
    if (node.least_row > walk.last_row[own]) reach &= ~(1u << own);
  }
  return reach;
}

inline double gap_to(const GroupWalk& walk, const PointNode& node) {
  double square = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double below = (node.lower[axis] + walk.shift[axis]) - walk.upper[axis],
                 above = walk.lower[axis] - (node.upper[axis] + walk.shift[axis]);
    double gap = below > above ? below : above;
    gap = gap > 0 ? gap : 0;
    square += gap * gap;
  }
  return square;
}

inline bool next_near_leaf(GroupWalk& walk) {
  while (walk.height > 0) {
    std::uint32_t at = walk.stack[--walk.height];
    for (;;) {
      const PointNode& node = walk.nodes[at];
      std::uint32_t reach = reaching(walk, node);
      if (reach == 0) break;
      if (node.leaves > 1) {
        const std::uint32_t left = at + 1, right = at + 2 * walk.nodes[at + 1].leaves;
        const PointNode &one = walk.nodes[left], &other = walk.nodes[right];
        bool is_right;
        if (walk.own_leaf - node.first_leaf < node.leaves) {
          is_right = walk.own_leaf >= other.first_leaf;
        } else {
          const double to_one = gap_to(walk, one), to_other = gap_to(walk, other);
          is_right = to_other < to_one || (to_other == to_one && other.least_row < one.least_row);
        }
        at = is_right ? right : left;
        walk.stack[walk.height++] = is_right ? left : right;
        continue;
      }
      const PointLeaf& leaf = walk.leaves[node.first_leaf];
      const auto first = static_cast<std::uint32_t>(node.first_leaf * kLeafPoints);
      std::size_t count = 0;
      walk.with_hits = 0;
      for (; reach != 0; reach &= reach - 1) {
        const std::uint32_t own = lowest_bit(reach);
        const WideEight x = WideEight::splat(walk.own.columns[0][own] - walk.shift[0]),
                        y = WideEight::splat(walk.own.columns[1][own] - walk.shift[1]),
                        z = WideEight::splat(walk.own.columns[2][own] - walk.shift[2]),
                        most = WideEight::splat(walk.reach[own]);
        const std::size_t before = count;
        for (std::size_t from = 0; from < kLeafPoints; from += 8) {
          const WideEight dx = WideEight::read(leaf.columns[0] + from) - x,
                          dy = WideEight::read(leaf.columns[1] + from) - y,
                          dz = WideEight::read(leaf.columns[2] + from) - z;
          WideTests near;
          near.at_most(dx * dx + dy * dy + dz * dz, most);
          count += emit_eight(near.bits(), first + static_cast<std::uint32_t>(from), walk.hits + count);
        }
        walk.with_hits |= count > before ? 1u << own : 0u;
        walk.hit_end[own] = static_cast<std::uint32_t>(count);
      }
      if (walk.with_hits != 0) return true;
      break;
    }
  }
  return false;
}

}  // namespace broadphase::BROADPHASE_LEVEL
