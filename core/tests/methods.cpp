// The methods, compiled once for all tests and for what fuzzers run: as core/bindings does for Python.
#define BROADPHASE_EVERY_METHOD
#include "choose/methods.hpp"
#include "batches/batched_pairs.hpp"
#include "choose/method_calls.hpp"
#include "grid/few_in_cells.hpp"

#define BROADPHASE_COMPILED_METHOD(name, Method, slowness) BROADPHASE_COMPILED(Method);
BROADPHASE_METHODS(BROADPHASE_COMPILED_METHOD)
BROADPHASE_COMPILED(BatchedPairs);
BROADPHASE_COMPILED(FewInCells);

namespace broadphase {

template PreparedMethod prepare_method(MethodName, const Problem<float>&, const Preparation&);
template PreparedMethod prepare_method(MethodName, const Problem<double>&, const Preparation&);

}  // namespace broadphase
