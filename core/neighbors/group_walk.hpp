// What the kernel of nearest points reads and writes: a few points near each other, against a tree of points.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadphase {

// Points of a leaf of the tree, and of a group that is searched at once. A multiple of 8.
inline constexpr std::size_t kLeafPoints = 16;

// A leaf's points, axis by axis. The last leaf may have fewer: its last places are those of the last point.
struct PointLeaf {
  double columns[3][kLeafPoints];
};

// Nodes are in preorder: the left child is the next one, the right one comes behind all nodes of the left.
struct PointNode {
  double lower[3], upper[3];
  std::int32_t least_row;
  std::uint32_t first_leaf, leaves;  // a leaf has one
};

// The walk of a group through a tree, whose points are moved by `shift`: nearest nodes first.
struct GroupWalk {
  // The group. Of each point the square of the reach, with room for rounding: -1 of places without a point.
  alignas(64) PointLeaf own;
  alignas(64) double reach[kLeafPoints];
  // Of the last of so many neighbors as are wanted, if there are: a node that is at least as far needs a lower row, or
  // it has no nearer point. Else infinity, and the highest row.
  alignas(64) double last_square[kLeafPoints];
  std::int32_t last_row[kLeafPoints];
  double lower[3], upper[3];

  const PointNode* nodes;
  const PointLeaf* leaves;
  double shift[3];
  std::uint32_t own_leaf;  // in the tree: is first; or the highest number

  // What is still to do. A walk goes down one child and leaves the other: there are never more than levels.
  static constexpr std::size_t kMostLevels = 32;
  std::uint32_t stack[kMostLevels];
  std::size_t height;

  // Hits: positions in the tree within reach of the points of the group whose bits are set, up to `hit_end` of each.
  std::uint32_t with_hits;
  std::uint32_t hit_end[kLeafPoints];
  std::uint32_t hits[kLeafPoints * kLeafPoints + 8];
};

// Goes on to the next leaf with hits. False if there is none.
using GroupKernel = bool (*)(GroupWalk& walk);

}  // namespace broadphase
