// The sweeps, compiled once for all that use them.
#include "sweep/interval_pairs.hpp"
#include "sweep/keyed_order.hpp"
#include "sweep/sweep_and_prune.hpp"
#include "sweep/sweep_index.hpp"

namespace broadphase {

template class KeyedOrder<float>;
template class KeyedOrder<double>;
template class KeyedOrder<std::int32_t>;
template class KeyedOrder<std::int64_t>;
template class IntervalPairs<float>;
template class IntervalPairs<double>;
template class IntervalPairs<std::int32_t>;
template class SweepAndPrune<float>;
template class SweepAndPrune<double>;
template class SweepIndex<float>;
template class SweepIndex<double>;

}  // namespace broadphase
