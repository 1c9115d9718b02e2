// A point against its list of candidates, eight at a time. See near_lists.hpp.
#pragma once

#include "neighbors/near_lists.hpp"
#include "neighbors/near_rows.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// A template, so that levels without such rows do not compile it.
template <class Rows>
std::size_t near_list(NearList& list, const NearColumns& columns, std::size_t size) {
  const NearList given = list;
  const NearColumns to = columns;
  const NearPlace& from = given.places[given.from];
  const WideEight x = WideEight::splat(from.x), y = WideEight::splat(from.y), z = WideEight::splat(from.z),
                  most = WideEight::splat(given.limit);
  const typename Rows::Marks own = Rows::splat(from.mark);
  const typename Rows::Marks row = Rows::splat(static_cast<std::uint32_t>(from.row));
  typename Rows::Marks differ = Rows::splat(0);
  for (std::size_t k = 0; k < given.count; k += 8) {
    for (std::size_t l = k; l < k + 8 && l < given.ahead_count; ++l) prefetch(given.places + given.ahead[l]);
    // Behind the end are candidates of another point, or of none: each is a place.
    const Rows others = Rows::gather(given.places, given.list + k);
    WideEight dx = others.x - x, dy = others.y - y, dz = others.z - z;
    if (given.images != nullptr) {
      const Rows moved = Rows::gather(given.translations, given.images + k);
      dx = dx + moved.x, dy = dy + moved.y, dz = dz + moved.z;
    }
    const WideEight square = dx * dx + dy * dy + dz * dz;
    WideTests near;
    near.at_most(square, most);
    const std::uint32_t used = given.count - k >= 8 ? 0xffu : (1u << (given.count - k)) - 1;
    const std::uint32_t bits = near.bits() & used;
    differ = Rows::differing(differ, others.marks(), own, used);
    const typename Rows::Kept kept(bits);
    kept.store(dx, to.x + size);
    kept.store(dy, to.y + size);
    kept.store(dz, to.z + size);
    kept.store(square, to.squares + size);
    Rows::store(row, to.first + size);
    size += kept.store(others.numbers(), to.second + size);
  }
  list.marks = Rows::any_bits(differ);
  return size;
}

template <class Rows>
void write_near(const NearColumns& columns, std::size_t count, const NearOutput& out) {
  const NearColumns from = columns;
  const WideEight zero = WideEight::splat(0.0);  // 0 is never negative
  double rest[24];
  for (std::size_t k = 0; k < count; k += 8) {
    const std::size_t left = count - k;
    if (out.distances != nullptr) {
      const WideEight distances = Rows::root(WideEight::read(from.squares + k));
      if (left >= 8) {
        Rows::store(distances, out.distances + k);
      } else {
        Rows::store(distances, rest);
        for (std::size_t l = 0; l < left; ++l) out.distances[k + l] = rest[l];
      }
    }
    if (out.vectors != nullptr) {
      double* const to = left >= 8 ? out.vectors + 3 * k : rest;
      Rows::store_in_threes(WideEight::read(from.x + k) + zero, WideEight::read(from.y + k) + zero,
                            WideEight::read(from.z + k) + zero, to);
      for (std::size_t l = 0; left < 8 && l < 3 * left; ++l) out.vectors[3 * k + l] = rest[l];
    }
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
