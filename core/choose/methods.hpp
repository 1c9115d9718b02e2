// The methods, one row each. From these rows come their enumeration here and in Python, the calls by name, the
// functions that bind their indexes, and the lists of sources (core/bindings/CMakeLists.txt), tests, fuzz targets and
// the playground. `broadphase.methods` describes the same methods for Python.
#pragma once

// What compiles all of them, as tests and the playground do, defines this first.
#ifdef BROADPHASE_EVERY_METHOD
#include "brute_force/brute_force.hpp"
#include "bvh/pairs.hpp"
#include "grid/grid.hpp"
#include "linear_tree/pairs.hpp"
#include "octree/pairs.hpp"
#include "sweep/sweep_and_prune.hpp"
#endif

// each(name, class, slowness): the name in Python and of the file in bindings/, the class template that satisfies
// Method, and how many times as long as "auto" a search by it takes, where it takes long: see search_of.
// A row a line, which CMake reads.
// clang-format off
#define BROADPHASE_METHODS(each) \
  each(brute_force, BruteForce, 2) \
  each(sweep_and_prune, SweepAndPrune, 2) \
  each(grid, Grid, 0.8) \
  each(linear_tree, LinearTree, 2) \
  each(bvh, BvhPairs, 2) \
  each(octree, Octree, 3)
// clang-format on

namespace broadphase {

#define BROADPHASE_ENUMERATOR(name, Method, slowness) name,
enum class MethodName : int { automatic, BROADPHASE_METHODS(BROADPHASE_ENUMERATOR) };
#undef BROADPHASE_ENUMERATOR

#define BROADPHASE_DECLARATION(name, Method, slowness) \
  template <class T>                                   \
  class Method;
BROADPHASE_METHODS(BROADPHASE_DECLARATION)
#undef BROADPHASE_DECLARATION

}  // namespace broadphase
