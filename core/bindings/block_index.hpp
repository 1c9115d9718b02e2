// What every index that is a tree of blocks looks like from Python: the base of its class.
#pragma once

#include "bindings.hpp"
#include "tree/blocks.hpp"

namespace broadphase::python {

// Queries are functions over this base (tree_queries.cpp), so they are written once.
struct BlockIndex {
  BlockTree tree;
};

}  // namespace broadphase::python
