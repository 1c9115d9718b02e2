// The kernel of the nearest rows of a small batch (batch_nearest.hpp). A lane is a point: each row is compared with
// eight points at once, and takes its place among the nearest of each without a branch.
#pragma once

#include <math.h>

#include <cstddef>
#include <cstdint>

#include "batches/batch_nearest.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// `Kept`: more rows than are wanted.
template <std::size_t D, std::size_t Kept>
void batch_nearest_of(BatchNearest& batch) {
  WideEight center[D], best[Kept];
  for (std::size_t k = 0; k < D; ++k) center[k] = WideEight::read(batch.center[k]);
  // The first ones are below all where fewer are kept.
  const std::size_t kept = batch.wanted + 1, unused = Kept - kept;
  for (std::size_t k = 0; k < Kept; ++k) best[k] = WideEight::splat(k < unused ? -HUGE_VAL : HUGE_VAL);
  const bool has_radii = batch.has_radii;
  for (std::size_t row = 0; row < batch.count; ++row) {
    WideEight value = WideEight::splat(0.0);
    for (std::size_t k = 0; k < D; ++k) {
      const WideEight low = WideEight::splat(batch.lower[k][row]), high = WideEight::splat(batch.upper[k][row]);
      const WideEight gap = center[k] - lowered(raised(center[k], low), high);
      value = k == 0 ? gap * gap : value + gap * gap;
    }
    if (has_radii) value = larger(root(value) - WideEight::splat(batch.radius[row]), WideEight::splat(0.0));
    value.store(batch.value[row]);
    WideEight key = marked(value, static_cast<std::uint32_t>(row));
    for (std::size_t k = 0; k < Kept; ++k) {
      const WideEight other = best[k];
      best[k] = smaller(key, other);
      key = larger(other, key);
    }
  }
  for (std::size_t k = 0; k < kept; ++k) best[unused + k].store(batch.key[k]);
}

template <std::size_t D>
void batch_nearest(BatchNearest& batch) {
  if (batch.wanted < 3) return batch_nearest_of<D, 3>(batch);
  if (batch.wanted < 6) return batch_nearest_of<D, 6>(batch);
  if (batch.wanted < 10) return batch_nearest_of<D, 10>(batch);
  batch_nearest_of<D, BatchNearest::kMostWanted + 1>(batch);
}

}  // namespace broadphase::BROADPHASE_LEVEL
