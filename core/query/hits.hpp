// From what kernels find to pairs of rows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "query/method.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

// Which row of a pair comes first: the lower one, that of the box which was tested, or the other one.
enum class FirstRow { kLower, kOwn, kOther };

inline FirstRow first_row(bool cross, bool swapped) {
  return !cross ? FirstRow::kLower : swapped ? FirstRow::kOther : FirstRow::kOwn;
}

// Set bits, without the instruction that baseline processors lack.
inline std::size_t count_lanes(std::uint32_t lanes) {
  lanes = lanes - (lanes >> 1 & 0x55555555u);
  lanes = (lanes & 0x33333333u) + (lanes >> 2 & 0x33333333u);
  lanes = (lanes + (lanes >> 4)) & 0x0F0F0F0Fu;
  return lanes * 0x01010101u >> 24;
}

// Pairs of boxes with others that overlap them; row_of(box) and other_of(position) are their rows.
template <class RowOf, class OtherOf>
void put_hits(const RunHits* hits, std::size_t count, FirstRow which, const RowOf& row_of, const OtherOf& other_of,
              PairBuffer& out) {
  std::size_t pairs = 0;
  for (std::size_t k = 0; k < count; ++k) pairs += count_lanes(hits[k].lanes);
  if (pairs == 0) return;
  if (out.counts_only()) {
    out.add_count(pairs);
    return;
  }
  out.room(pairs);
  std::int32_t *first = out.first(), *second = out.second();
  for (std::size_t k = 0; k < count; ++k) {
    const std::int32_t own = row_of(hits[k].box);
    for (std::uint32_t lanes = hits[k].lanes; lanes != 0; lanes &= lanes - 1) {
      const std::int32_t other = other_of(hits[k].position + static_cast<std::uint32_t>(std::countr_zero(lanes)));
      const bool swapped = which == FirstRow::kLower ? other < own : which == FirstRow::kOther;
      // Without a branch: which row is the lower one cannot be predicted.
      const std::int32_t change = (own ^ other) & -static_cast<std::int32_t>(swapped);
      *first++ = own ^ change;
      *second++ = other ^ change;
    }
  }
  out.commit(pairs);
}

}  // namespace broadphase
