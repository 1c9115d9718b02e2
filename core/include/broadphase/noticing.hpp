// Which rows have moved since they were last looked at: their shapes are placed anew, and their boxes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

// Looks at the rows whose flag is set, writes those that have moved to `moved`, ascending, and says how many.
template <std::size_t D>
std::size_t notice_moved(ShapeStore& shapes, const Poses<D>& poses, const std::uint8_t* look, std::size_t count,
                         std::int32_t* moved) {
  constexpr std::size_t R = kRotationNumbers<D>;
  std::size_t moved_count = 0;
  for (std::size_t row = 0; row < count; ++row) {
    if (look[row] == 0) continue;
    bool differs = false;
    for (std::size_t k = row * D; k < (row + 1) * D; ++k) differs |= poses.positions[k] != poses.seen_positions[k];
    if (poses.rotations != nullptr)
      for (std::size_t k = row * R; k < (row + 1) * R; ++k) differs |= poses.rotations[k] != poses.seen_rotations[k];
    if (!differs) continue;
    look_at_row(shapes, poses, row);
    moved[moved_count++] = static_cast<std::int32_t>(row);
  }
  return moved_count;
}

}  // namespace broadphase
