// One box against a contiguous run of boxes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadphase/kernels.hpp"

namespace broadphase::BROADPHASE_LEVEL {

template <class T, std::size_t D, bool Closed>
std::size_t overlap_run(const RunQuery<T>& query, std::uint32_t* positions) {
  std::size_t found = 0;
  for (std::size_t j = query.begin; j < query.end; ++j) {
    bool hit = true;
    for (std::size_t k = 0; k < D; ++k) {
      const T lower = query.columns[k][j], upper = query.columns[D + k][j];
      hit &= Closed ? (query.box[k] <= upper) & (lower <= query.box[D + k])
                    : (query.box[k] < upper) & (lower < query.box[D + k]);
    }
    positions[found] = static_cast<std::uint32_t>(j);
    found += static_cast<std::size_t>(hit);
  }
  return found;
}

}  // namespace broadphase::BROADPHASE_LEVEL
