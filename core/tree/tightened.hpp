// A copy of a tree around the boxes that its rows have, where those in the tree are larger: many queries visit fewer
// rows then, and fewer blocks.
#pragma once

#include "boxes/box_view.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// Sets `tight` to a copy of a tree, of two or three axes, around `boxes` of its rows, which lie in those of the tree.
// False if most of these are the same: then there is no copy. O(rows). Throws bad_alloc.
bool tighten(const BlockTree& tree, const BoxView<double>& boxes, BlockTree& tight);

}  // namespace broadphase
