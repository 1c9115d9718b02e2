// Several boxes, each against a run of boxes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "brute_force/overlap_run_kernel.hpp"
#include "simd/float_lanes.hpp"
#include "simd/kernels.hpp"

namespace broadphase::BROADPHASE_LEVEL {

template <class T, std::size_t D, bool Closed>
std::size_t overlap_runs(const RunsQuery<T>& query, RunHits* hits) {
  using L = Lanes<T>;
  constexpr std::size_t kWidth = L::kWidth;
  std::size_t found = 0, end = query.end;
  for (std::size_t at = query.first; at < query.last; ++at, end += query.growth) {
    T box[2 * D];
    for (std::size_t k = 0; k < 2 * D; ++k) box[k] = query.boxes[k][at];
    const LaneTest<T, D, Closed> test({query.columns, query.begin, end, box});
    // Written whether anything was hit or not: the next one overwrites it then.
    const auto put = [&](std::size_t j, std::uint32_t lanes) {
      hits[found] = {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(j), lanes};
      found += lanes != 0;
    };
    std::size_t j = query.begin;
    for (; j + kWidth <= end; j += kWidth) put(j, test(j));
    if (j < end) put(j, test(j) & ((1u << (end - j)) - 1u));
  }
  return found;
}

}  // namespace broadphase::BROADPHASE_LEVEL
