// Pairs of boxes in batches, compiled once.
#include "batches/batched_pairs.hpp"
#include "choose/method_calls.hpp"

BROADPHASE_COMPILED(BatchedPairs);
