// Points of a row, each against the window of another row that its ball can reach. See windows.hpp.
#pragma once

#include "neighbors/windows.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

inline std::size_t window_hits(WindowSearch& search, const WindowHits& hits) {
  // Local, for the writes below could be to them for all that the compiler knows.
  const WindowSearch given = search;
  std::uint32_t *const own_hits = hits.own, *const other_hits = hits.other;
  const double *x = given.columns[0], *y = given.columns[1], *z = given.columns[2];
  const double reach = given.reach, squared_reach = given.squared_reach;
  const WideEight most = WideEight::splat(squared_reach);
  const std::size_t own_end = given.own_end, end = given.end;
  std::size_t own = given.own, low = given.low, next = given.next;
  std::size_t count = 0;
  for (; own < own_end; ++own) {
    const double own_x = given.own_columns[0][own] - given.shift[0];
    const double own_y = given.own_columns[1][own], own_z = given.own_columns[2][own];
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
      if (given.behind && j <= own) j = own + 1;
      const double below_y = given.lower[0] - own_y, above_y = own_y - given.upper[0];
      const double below_z = given.lower[1] - own_z, above_z = own_z - given.upper[1];
      double gap_y = below_y > above_y ? below_y : above_y, gap_z = below_z > above_z ? below_z : above_z;
      gap_y = gap_y > 0 ? gap_y : 0;
      gap_z = gap_z > 0 ? gap_z : 0;
      if (gap_y * gap_y + gap_z * gap_z > squared_reach) continue;
    }
    const WideEight from_x = WideEight::splat(own_x), from_y = WideEight::splat(own_y - given.shift[1]),
                    from_z = WideEight::splat(own_z - given.shift[2]);
    for (; j < end && x[j] <= most_x && count <= kMostWindowHits; j += 8) {
      const WideEight dx = WideEight::read(x + j) - from_x, dy = WideEight::read(y + j) - from_y,
                      dz = WideEight::read(z + j) - from_z;
      WideTests near;
      near.at_most(dx * dx + dy * dy + dz * dz, most);
      for (std::size_t l = 0; l < 8; ++l) own_hits[count + l] = static_cast<std::uint32_t>(own);
      count += emit_eight(near.bits(), static_cast<std::uint32_t>(j), other_hits + count);
    }
    // The last eight may have gone past the end. Hits of points before this one are below it, too.
    if (j > end)
      while (count > 0 && other_hits[count - 1] >= end) --count;
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
