// Which rows have moved since they were last looked at: their shapes are placed anew, and their boxes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "broadphase/shape_place.hpp"
#include "broadphase/shape_store.hpp"

namespace broadphase {

// Arrays by row: what the user writes, and what the world saw last. Rotations may be null: nothing is turned.
template <std::size_t D>
struct Poses {
  const double* positions;  // (n, D)
  const double* rotations;  // (n, kRotationNumbers<D>)
  double* seen_positions;
  double* seen_rotations;
  double* boxes;  // (n, 2, D): lower corner, then upper
};

template <std::size_t D>
void look_at_row(ShapeStore& shapes, const Poses<D>& poses, std::size_t row) {
  constexpr std::size_t R = kRotationNumbers<D>;
  const double* rotation = nullptr;
  std::copy_n(poses.positions + row * D, D, poses.seen_positions + row * D);
  if (poses.rotations != nullptr) {
    rotation = poses.rotations + row * R;
    std::copy_n(rotation, R, poses.seen_rotations + row * R);
  }
  double* lower = poses.boxes + row * 2 * D;
  shapes.place<D>(row, poses.positions + row * D, rotation, lower, lower + D);
}

inline bool has_no_length(const double* quaternion) {
  return std::all_of(quaternion, quaternion + 4, [](double number) { return number == 0.0; });
}

// What a look at all rows found.
struct Noticed {
  std::size_t moved = 0;
  std::ptrdiff_t nowhere =
      -1;  // a row with NaN, an infinite number, or a quaternion of no length: there the look ended
};

// Whether nothing has moved in a stretch of rows: that is quickly compared, and all there is to do in most worlds.
template <std::size_t D>
bool is_as_seen(const Poses<D>& poses, std::size_t row, std::size_t count) {
  constexpr std::size_t R = kRotationNumbers<D>;
  return std::memcmp(poses.positions + row * D, poses.seen_positions + row * D, count * D * sizeof(double)) == 0 &&
         (poses.rotations == nullptr ||
          std::memcmp(poses.rotations + row * R, poses.seen_rotations + row * R, count * R * sizeof(double)) == 0);
}

// Looks at the rows whose flag is set, and sets the flag in `changed` of those that have moved.
template <std::size_t D>
Noticed notice_moved(ShapeStore& shapes, const Poses<D>& poses, const std::uint8_t* look, std::size_t count,
                     std::uint8_t* changed) {
  constexpr std::size_t R = kRotationNumbers<D>;
  constexpr std::size_t kStretch = 16;
  Noticed noticed;
  for (std::size_t row = 0; row < count; ++row) {
    if (row % kStretch == 0 && row + kStretch <= count && is_as_seen<D>(poses, row, kStretch)) {
      row += kStretch - 1;
      continue;
    }
    if (look[row] == 0) continue;
    bool differs = false;
    double sum = 0;  // is finite times zero
    for (std::size_t k = row * D; k < (row + 1) * D; ++k) {
      differs |= poses.positions[k] != poses.seen_positions[k];
      sum += poses.positions[k] * 0.0;
    }
    if (poses.rotations != nullptr) {
      for (std::size_t k = row * R; k < (row + 1) * R; ++k) {
        differs |= poses.rotations[k] != poses.seen_rotations[k];
        sum += poses.rotations[k] * 0.0;
      }
    }
    if (!differs) continue;
    if constexpr (D == 3)
      if (poses.rotations != nullptr && has_no_length(poses.rotations + row * R)) sum = 1.0;
    if (sum != 0.0) {
      noticed.nowhere = static_cast<std::ptrdiff_t>(row);
      return noticed;
    }
    look_at_row(shapes, poses, row);
    changed[row] = 1;
    ++noticed.moved;
  }
  return noticed;
}

}  // namespace broadphase
