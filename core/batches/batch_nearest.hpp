// What the kernel of the nearest rows of a small batch and its callers hand to each other.
// Plain data: this header is read by every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadphase {

// Up to eight points side by side, each against all rows of a batch: boxes, or boxes grown by a radius.
//
// The values of a row are its squared distances to the points, or with radii its distances. Coordinates are such that
// no square overflows.
struct BatchNearest {
  static constexpr std::size_t kPoints = 8, kMostRows = 256, kMostWanted = 16;
  static constexpr std::uint32_t kNumber = kMostRows - 1;  // the bits of a key that are the number of a row

  std::size_t count, wanted;  // rows; and how many for each point, kMostWanted at most
  bool has_radii;
  double lower[3][kMostRows], upper[3][kMostRows], radius[kMostRows];  // by axis, of each row
  double center[3][kPoints];                                           // by axis, of each point
  double value[kMostRows][kPoints];      // of each row: the kernel writes them, and the following
  double key[kMostWanted + 1][kPoints];  // of each point the least values, ascending, one more than are wanted, with
                                         // the numbers of their rows as last bits; infinite for none
};

}  // namespace broadphase
