// Pairs of boxes in batches, compiled once.
#include "batches/batched_pairs.hpp"
#include "choose/method_calls.hpp"

namespace broadphase {

template const MethodCalls<float>& calls_of<BatchedPairs, float>();
template const MethodCalls<double>& calls_of<BatchedPairs, double>();

}  // namespace broadphase
