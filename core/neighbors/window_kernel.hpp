// Points of a row, each against the window of another row that its ball can reach. See windows.hpp.
#pragma once

#include "neighbors/windows.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

inline std::size_t window_hits(WindowSearch& search, const WindowHits& hits) {
  const double *x = search.columns[0], *y = search.columns[1], *z = search.columns[2];
  const double reach = search.reach, squared_reach = search.squared_reach;
  const WideEight most = WideEight::splat(squared_reach);
  const std::size_t own_end = search.own_end, end = search.end;
  std::size_t own = search.own, low = search.low, next = search.next;
  std::size_t count = 0;
  for (; own < own_end; ++own) {
    const double own_x = search.own_columns[0][own] - search.shift[0];
    const double own_y = search.own_columns[1][own], own_z = search.own_columns[2][own];
    const double most_x = own_x + reach;
    std::size_t j = next;
    if (j >= end) {
      const double least_x = own_x - reach;
      if (x[end - 1] < least_x) {
        own = own_end;
        break;
      }
      // By eights: a branch that is foreseen costs less than seven points that are tested in vain.
      while (low + 8 <= end && x[low + 7] < least_x) low += 8;
      j = low;
      if (search.behind && j <= own) j = own + 1;
      const double below_y = search.lower[0] - own_y, above_y = own_y - search.upper[0];
      const double below_z = search.lower[1] - own_z, above_z = own_z - search.upper[1];
      double gap_y = below_y > above_y ? below_y : above_y, gap_z = below_z > above_z ? below_z : above_z;
      gap_y = gap_y > 0 ? gap_y : 0;
      gap_z = gap_z > 0 ? gap_z : 0;
      if (gap_y * gap_y + gap_z * gap_z > squared_reach) continue;
    }
    const WideEight from_x = WideEight::splat(own_x), from_y = WideEight::splat(own_y - search.shift[1]),
                    from_z = WideEight::splat(own_z - search.shift[2]);
    for (; j < end && x[j] <= most_x && count <= kMostWindowHits; j += 8) {
      const WideEight dx = WideEight::read(x + j) - from_x, dy = WideEight::read(y + j) - from_y,
                      dz = WideEight::read(z + j) - from_z;
      WideTests near;
      near.at_most(dx * dx + dy * dy + dz * dz, most);
      const std::size_t left = end - j;
      const std::uint32_t bits = near.bits() & (left < 8 ? (1u << left) - 1u : 255u);
      for (std::size_t l = 0; l < 8; ++l) hits.own[count + l] = static_cast<std::uint32_t>(own);
      count += emit_eight(bits, static_cast<std::uint32_t>(j), hits.other + count);
    }
    next = end;
    if (count > kMostWindowHits) {
      if (j < end)
        next = j;
      else
        ++own;
      break;
    }
  }
  search.own = own, search.low = low, search.next = next;
  return count;
}

}  // namespace broadphase::BROADPHASE_LEVEL
