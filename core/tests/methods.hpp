// The methods under test, one row each, and their answers in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "brute_force/brute_force.hpp"
#include "bvh/pairs.hpp"
#include "grid/grid.hpp"
#include "linear_tree/pairs.hpp"
#include "octree/pairs.hpp"
#include "query/collect.hpp"
#include "scenes.hpp"
#include "simd/kernels.hpp"
#include "sweep/sweep_and_prune.hpp"

namespace broadphase::tests {

// Calls use.operator()<Method>(name) for each.
template <class T, class Use>
void for_each_method(Use&& use) {
  use.template operator()<BruteForce<T>>("brute_force");
  use.template operator()<SweepAndPrune<T>>("sweep_and_prune");
  use.template operator()<Grid<T>>("grid");
  use.template operator()<LinearTree<T>>("linear_tree");
  use.template operator()<BvhPairs<T>>("bvh");
  use.template operator()<Octree<T>>("octree");
}

// Calls use(kernels) for each level that this processor runs.
template <class Use>
void for_each_level(Use&& use) {
  std::size_t count = 0;
  const Kernels* const* levels = available_kernels(count);
  CHECK(count > 0);
  for (std::size_t k = 0; k < count; ++k) use(*levels[k]);
}

inline PairList in_order(const Pairs& pairs) {
  PairList result;
  for (std::size_t k = 0; k < pairs.size; ++k) result.emplace_back(pairs.block[k], pairs.block[pairs.stride + k]);
  std::sort(result.begin(), result.end());
  return result;
}

template <Method M>
PairList pairs_of(const M& method, const Filter* filter, unsigned workers) {
  Interrupt never;
  return in_order(collect_pairs(method, filter, workers, kNoLimit, never));
}

template <Method M>
std::uint64_t count_of(const M& method, const Filter* filter, unsigned workers) {
  Interrupt never;
  return count_pairs(method, filter, workers, never);
}

}  // namespace broadphase::tests
