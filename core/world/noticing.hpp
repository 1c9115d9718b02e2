// Which rows have moved since they were last looked at: their shapes are placed anew, and their boxes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "shapes/shape.hpp"
#include "shapes/store.hpp"

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

// Beyond, the products of lengths in the narrow phase might not be finite.
inline constexpr double kLargestCoordinate = 1e40;

// Whether numbers say where something is, or how it is turned. NaN does not.
inline bool are_near(const double* numbers, std::size_t count) {
  return std::all_of(numbers, numbers + count, [](double x) { return std::abs(x) <= kLargestCoordinate; });
}
inline bool has_length(const double* quaternion) {
  const double squared = quaternion[0] * quaternion[0] + quaternion[1] * quaternion[1] + quaternion[2] * quaternion[2] +
                         quaternion[3] * quaternion[3];
  return squared >= 0x1p-900;
}

// Whether a row has a place.
template <std::size_t D>
bool is_somewhere(const Poses<D>& poses, std::size_t row) {
  constexpr std::size_t R = kRotationNumbers<D>;
  if (!are_near(poses.positions + row * D, D)) return false;
  if (poses.rotations == nullptr) return true;
  const double* rotation = poses.rotations + row * R;
  return are_near(rotation, R) && (D == 2 || has_length(rotation));
}

// What a look at all rows found.
struct Noticed {
  std::size_t moved = 0;
  std::ptrdiff_t nowhere = -1;  // a row that has no place: there the look ended
};

// Whether nothing has moved in a stretch of rows: that is quickly compared, and all there is to do in most worlds.
template <std::size_t D>
bool is_as_seen(const Poses<D>& poses, std::size_t row, std::size_t count) {
  constexpr std::size_t R = kRotationNumbers<D>;
  return std::memcmp(poses.positions + row * D, poses.seen_positions + row * D, count * D * sizeof(double)) == 0 &&
         (poses.rotations == nullptr ||
          std::memcmp(poses.rotations + row * R, poses.seen_rotations + row * R, count * R * sizeof(double)) == 0);
}

// Looks at the rows whose flag is set, and sets the flags in `changed` and `behind` of those that have moved.
template <std::size_t D>
Noticed notice_moved(ShapeStore& shapes, const Poses<D>& poses, const std::uint8_t* look, std::size_t count,
                     std::uint8_t* changed, std::uint8_t* behind) {
  constexpr std::size_t R = kRotationNumbers<D>;
  constexpr std::size_t kStretch = 16;
  constexpr std::uint8_t kNotLookedAt[kStretch] = {};
  Noticed noticed;
  for (std::size_t row = 0; row < count; ++row) {
    if (row % kStretch == 0 && row + kStretch <= count &&
        (std::memcmp(look + row, kNotLookedAt, kStretch) == 0 || is_as_seen<D>(poses, row, kStretch))) {
      row += kStretch - 1;
      continue;
    }
    if (look[row] == 0) continue;
    bool differs = false;
    for (std::size_t k = row * D; k < (row + 1) * D; ++k) differs |= poses.positions[k] != poses.seen_positions[k];
    if (poses.rotations != nullptr)
      for (std::size_t k = row * R; k < (row + 1) * R; ++k) differs |= poses.rotations[k] != poses.seen_rotations[k];
    if (!differs) continue;
    if (!is_somewhere(poses, row)) {
      noticed.nowhere = static_cast<std::ptrdiff_t>(row);
      return noticed;
    }
    look_at_row(shapes, poses, row);
    changed[row] = behind[row] = 1;
    ++noticed.moved;
  }
  return noticed;
}

}  // namespace broadphase
