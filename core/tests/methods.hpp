// The methods under test by name, and the answers of these and of others in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "choose/find.hpp"
#include "query/collect.hpp"
#include "scenes.hpp"
#include "simd/kernels.hpp"

namespace broadphase::tests {

// For what is prepared or searched without being interrupted.
inline Interrupt never;

// Each is compiled once, for all tests: methods.cpp.
struct NamedMethod {
  const char* name;
  MethodName method;
};
#define BROADPHASE_NAMED(name, Method, slowness) {#name, MethodName::name},
inline constexpr NamedMethod kMethods[] = {{"auto", MethodName::automatic}, BROADPHASE_METHODS(BROADPHASE_NAMED)};

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

template <class T>
PairList pairs_by(MethodName method, const Problem<T>& problem, const Preparation& with) {
  return in_order(find_pairs(method, problem, kNoLimit, with));
}

// The pairs by brute force, on the level where that takes least.
template <class T>
PairList pairs_by_brute_force(const Problem<T>& problem) {
  std::size_t count = 0;
  const Kernels* const* levels = available_kernels(count);
  Interrupt never;
  return pairs_by(MethodName::brute_force, problem, {*levels[count - 1], 1, never});
}

}  // namespace broadphase::tests
