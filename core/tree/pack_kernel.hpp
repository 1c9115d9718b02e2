// Kernels that pack a tree: keys along a Hilbert curve, ranks of a few numbers, and rows to blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "boxes/pack_boxes.hpp"
#include "simd/lanes.hpp"
#include "tree/walks.hpp"

namespace broadphase::BROADPHASE_LEVEL {

template <class T>
const T* row_of(const T* corner, std::ptrdiff_t stride, std::size_t row) {
  return corner + static_cast<std::ptrdiff_t>(row) * stride;
}

// Positions on a grid to numbers along the Hilbert curve, after J. Skilling, "Programming the Hilbert curve", AIP
// Conference Proceedings 707, 2004, 10.1063/1.1751381: rotations and reflections of ever smaller cells, then a Gray
// code, then the interleaved bits of the axes. Without branches, so that the compiler can vectorize it.
template <std::size_t D, std::size_t Strip>
void follow_curve(std::uint32_t (&x)[D][Strip], int bits, std::uint32_t (&key)[Strip]) {
  if constexpr (D > 1) {
    for (int bit = bits - 1; bit > 0; --bit) {
      const std::uint32_t below = (1u << bit) - 1u;
      for (std::size_t l = 0; l < Strip; ++l) x[0][l] ^= below & (0u - (x[0][l] >> bit & 1u));
      for (std::size_t k = 1; k < D; ++k)
        for (std::size_t l = 0; l < Strip; ++l) {
          const std::uint32_t set = 0u - (x[k][l] >> bit & 1u);
          const std::uint32_t swapped = (x[0][l] ^ x[k][l]) & below & ~set;
          x[0][l] ^= (below & set) ^ swapped;
          x[k][l] ^= swapped;
        }
    }
    for (std::size_t k = 1; k < D; ++k)
      for (std::size_t l = 0; l < Strip; ++l) x[k][l] ^= x[k - 1][l];
    std::uint32_t turned[Strip];
    for (std::size_t l = 0; l < Strip; ++l) turned[l] = x[D - 1][l] >> 1;
    for (int shift = 1; shift < 32; shift *= 2)
      for (std::size_t l = 0; l < Strip; ++l) turned[l] ^= turned[l] >> shift;
    for (std::size_t k = 0; k < D; ++k)
      for (std::size_t l = 0; l < Strip; ++l) x[k][l] ^= turned[l];
  }
  for (std::size_t l = 0; l < Strip; ++l) key[l] = 0;
  for (int bit = bits - 1; bit >= 0; --bit)
    for (std::size_t k = 0; k < D; ++k)
      for (std::size_t l = 0; l < Strip; ++l) key[l] = key[l] << 1 | (x[k][l] >> bit & 1u);
}

template <class T, std::size_t D>
void curve_keys(const CurveKeys<T>& request) {
  constexpr std::size_t kStrip = 32;
  const PackBoxes<T>& boxes = request.boxes;
  const T most = static_cast<T>((std::uint32_t{1} << request.bits) - 1u);
  for (std::size_t from = request.begin; from < request.end; from += kStrip) {
    const std::size_t run = request.end - from < kStrip ? request.end - from : kStrip;
    T lower[D][kStrip], upper[D][kStrip];
    for (std::size_t l = 0; l < kStrip; ++l) {
      const std::size_t row = request.items[from + (l < run ? l : 0)].row;
      const T* low = row_of(boxes.lower, boxes.lower_stride, row);
      const T* high = row_of(boxes.upper, boxes.upper_stride, row);
      for (std::size_t k = 0; k < D; ++k) {
        lower[k][l] = low[k];
        upper[k][l] = high[k];
      }
    }
    std::uint32_t place[D][kStrip], key[kStrip];
    for (std::size_t k = 0; k < D; ++k) {
      const T least = request.low[k], largest = request.high[k];
      for (std::size_t l = 0; l < kStrip; ++l) {
        const T low = lower[k][l] - boxes.grow, high = upper[k][l] + boxes.grow;
        // NaN, for an axis without a finite extent or with one too wide for T, is not greater than 0.
        T step = (((low > least ? low : least) - least) + ((high < largest ? high : largest) - least)) * request.scale;
        step = step > T(0) ? step : T(0);
        step = step < most ? step : most;
        place[k][l] = static_cast<std::uint32_t>(static_cast<std::int32_t>(step));
      }
    }
    follow_curve<D, kStrip>(place, request.bits, key);
    for (std::size_t l = 0; l < run; ++l) request.items[from + l].key = key[l];
  }
}

// Eight numbers of one axis to floats in a block, rounded outwards. `outwards`: -1 for lower corners, 1 for upper ones.
// As LocalFrame::local, to which core/tests/test_pack_leaves.cpp holds it, but for the rounding: so far from 0 that a
// difference alone may overflow, all are halved first, and what denormals lose by that is nothing beside the origin.
template <class T>
void to_local(const T* given, double origin, double scale, float outwards, float* local) {
  constexpr float kStep = 1.25e-7F, kLeast = 1e-37F, kMost = 3.402823466e38F;
  constexpr double kFar = 0x1p969;
  const double part = origin > kFar || origin < -kFar ? 0.5 : 1, from = origin * part, by = scale / part;
  const Eight near =
      narrowed((widened(given) * WideEight::splat(part) - WideEight::splat(from)) * WideEight::splat(by));
  const Eight size = absolute(near), way = Eight::splat(outwards);
  const Eight moved = near + way * (size * Eight::splat(kStep) + Eight::splat(kLeast));
  // A finite number too large for a float becomes the largest float where infinity would be inwards.
  const Eight edge = where_at_most(near * way, Eight::splat(0.0F), Eight::splat(-outwards * kMost), near);
  where_at_most(size, Eight::splat(kMost), moved, edge).store(local);
}

// Unchanged except for the exponent; a set bit of the result means that a number lost bits.
inline std::uint32_t to_local_exact(const float* given, float scale, float* local) {
  constexpr float kSmall = 0x1p-100F, kLarge = 0x1p100F, kMost = 3.402823466e38F;
  std::uint32_t lost = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    local[l] = given[l] * scale;
    const float size = local[l] < 0 ? -local[l] : local[l], before = given[l] < 0 ? -given[l] : given[l];
    lost |= static_cast<std::uint32_t>(size < kSmall) & static_cast<std::uint32_t>(before > 0.0F);
    lost |= static_cast<std::uint32_t>(size > kLarge) & static_cast<std::uint32_t>(before <= kMost);
  }
  return lost;
}

inline float least_of(const float* lanes) {
  float four[4], two[2];
  for (std::size_t l = 0; l < 4; ++l) four[l] = lanes[l] < lanes[l + 4] ? lanes[l] : lanes[l + 4];
  for (std::size_t l = 0; l < 2; ++l) two[l] = four[l] < four[l + 2] ? four[l] : four[l + 2];
  return two[0] < two[1] ? two[0] : two[1];
}
inline float largest_of(const float* lanes) {
  float four[4], two[2];
  for (std::size_t l = 0; l < 4; ++l) four[l] = lanes[l] > lanes[l + 4] ? lanes[l] : lanes[l + 4];
  for (std::size_t l = 0; l < 2; ++l) two[l] = four[l] > four[l + 2] ? four[l] : four[l + 2];
  return two[0] > two[1] ? two[0] : two[1];
}

// False if the frame is not exact for these rows.
template <class T, std::size_t D>
bool pack_leaves(const PackLeaves<T>& request) {
  constexpr BlockLayout kLayout{axes_of_blocks(D)};
  constexpr std::size_t kWords = kLayout.words(), kChild = kLayout.child(), kOccupied = kLayout.occupied(),
                        kRows = kLayout.rows();
  constexpr std::size_t kAhead = 24;  // items ahead to prefetch: their rows lie anywhere in memory
  const PackBoxes<T>& boxes = request.boxes;
  std::uint32_t lost = 0;
  for (std::size_t at = request.begin; at < request.end; ++at) {
    float* block = request.blocks + at * kWords;
    const std::size_t first = at * kLanes, left = request.count - first, count = left < kLanes ? left : kLanes;
    T corner[2 * D][kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t item = first + (lane < count ? lane : 0), soon = item + kAhead;
      const std::size_t row_soon = request.items[soon < request.count ? soon : item].row;
      prefetch(row_of(boxes.lower, boxes.lower_stride, row_soon));
      prefetch(row_of(boxes.upper, boxes.upper_stride, row_soon));
      const std::uint32_t row = request.items[item].row;
      const T* low = row_of(boxes.lower, boxes.lower_stride, row);
      const T* high = row_of(boxes.upper, boxes.upper_stride, row);
      for (std::size_t k = 0; k < D; ++k) {
        corner[k][lane] = low[k] - boxes.grow;
        corner[D + k][lane] = high[k] + boxes.grow;
      }
      std::memcpy(block + kChild + lane, &row, sizeof row);
      if (request.places != nullptr && lane < count)
        request.places[row] = static_cast<std::uint32_t>(at * kLanes + lane);
    }
    for (std::size_t k = 0; k < 2 * D; ++k) {
      float* local = block + (k < D ? kLayout.lower(k) : kLayout.upper(k - D));
      if constexpr (sizeof(T) == sizeof(float)) {
        if (request.exact) {
          lost |= to_local_exact(corner[k], static_cast<float>(request.scale), local);
          continue;
        }
      }
      to_local(corner[k], request.origin[k % D], request.scale, k < D ? -1.0F : 1.0F, local);
    }
    float* bounds = request.bounds[at - request.begin];
    for (std::size_t k = 0; k < D; ++k) {
      bounds[k] = least_of(block + kLayout.lower(k));
      bounds[D + k] = largest_of(block + kLayout.upper(k));
    }
    const std::uint32_t in_use = (1u << count) - 1u;
    std::memcpy(block + kOccupied, &in_use, sizeof in_use);
    std::memcpy(block + kRows, &in_use, sizeof in_use);
  }
  return lost == 0;
}

// rank[k]: the number of keys less than key[k], by comparing each with all, which is faster than sorting so few. Keys
// are all different; `count` is a multiple of 8. Written so that the compiler vectorizes it for any register width. By
// eight of the others at a time: GCC keeps the counts in memory, and would wait for it after each.
inline void rank_keys(const std::int32_t* key, std::size_t count, std::int32_t* rank) {
  for (std::size_t begin = 0; begin < count; begin += 8) {
    std::int32_t less[8] = {}, own[8];
    for (std::size_t l = 0; l < 8; ++l) own[l] = key[begin + l];
    for (std::size_t j = 0; j < count; j += 8) {
      const std::int32_t* other = key + j;
      for (std::size_t l = 0; l < 8; ++l) {
        const std::int32_t mine = own[l];
        less[l] += (other[0] < mine) + (other[1] < mine) + (other[2] < mine) + (other[3] < mine) + (other[4] < mine) +
                   (other[5] < mine) + (other[6] < mine) + (other[7] < mine);
      }
    }
    for (std::size_t l = 0; l < 8; ++l) rank[begin + l] = less[l];
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
