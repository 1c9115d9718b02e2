// The methods, compiled once for all tests and for what fuzzers run: as core/bindings does for Python.
#include "batches/batched_pairs.hpp"
#include "brute_force/brute_force.hpp"
#include "bvh/pairs.hpp"
#include "choose/method_calls.hpp"
#include "grid/grid.hpp"
#include "linear_tree/pairs.hpp"
#include "octree/pairs.hpp"
#include "sweep/sweep_and_prune.hpp"

BROADPHASE_COMPILED(BatchedPairs);
BROADPHASE_COMPILED(BruteForce);
BROADPHASE_COMPILED(BvhPairs);
BROADPHASE_COMPILED(Grid);
BROADPHASE_COMPILED(LinearTree);
BROADPHASE_COMPILED(Octree);
BROADPHASE_COMPILED(SweepAndPrune);

namespace broadphase {

template PreparedMethod prepare_method(MethodName, const Problem<float>&, const Preparation&);
template PreparedMethod prepare_method(MethodName, const Problem<double>&, const Preparation&);

}  // namespace broadphase
