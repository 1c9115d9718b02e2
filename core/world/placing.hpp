// Rows that are elsewhere than at the last step: their shapes and boxes are placed again.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

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
void place_row(ShapeStore& shapes, const Poses<D>& poses, std::size_t row) {
  constexpr std::size_t R = kRotationNumbers<D>;
  const double* rotation = nullptr;
  if (poses.positions != poses.seen_positions)
    std::copy_n(poses.positions + row * D, D, poses.seen_positions + row * D);
  if (poses.rotations != nullptr) {
    rotation = poses.rotations + row * R;
    if (rotation != poses.seen_rotations + row * R) std::copy_n(rotation, R, poses.seen_rotations + row * R);
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

// Flags by row.
struct ChangeFlags {
  const std::uint8_t* look;
  std::uint8_t *stale, *changed, *moved;
};

// Two placements of the same shapes: the current one, which is only read, and a spare one, which is written, and which
// is swapped for the current one when all else has succeeded. So a step that fails has changed nothing that is seen.
template <std::size_t D>
struct Placements {
  const double *seen_positions, *seen_rotations;  // of the current placement
  double *positions, *rotations, *boxes;          // of the spare one
  const double* seen_boxes;
  // Whether rows that are not looked at are written there, too: it then tells where every row is.
  bool holds_all;
};

// Where rows are to be, the first of which is `begin`.
template <std::size_t D>
struct NextPoses {
  static constexpr std::size_t R = kRotationNumbers<D>;
  const double *positions, *rotations;  // rotations: null where nothing is rotated
  std::size_t begin;
  double reach;  // the sum of the sizes of all positions' numbers, or more

  // Whether the numbers of all positions are known to be small enough to say where something is.
  bool are_near() const { return reach <= kLargestCoordinate; }

  const double* position(std::size_t row) const { return positions + (row - begin) * D; }
  const double* rotation(std::size_t row) const {
    return rotations != nullptr ? rotations + (row - begin) * R : nullptr;
  }
  bool are_as_seen(const Placements<D>& to, std::size_t row, std::size_t count) const {
    return std::memcmp(position(row), to.seen_positions + row * D, count * D * sizeof(double)) == 0 &&
           (rotations == nullptr ||
            std::memcmp(rotation(row), to.seen_rotations + row * R, count * R * sizeof(double)) == 0);
  }
  void write(const Placements<D>& to, std::size_t row, std::size_t count) const {
    std::copy_n(position(row), count * D, to.positions + row * D);
    if (rotations != nullptr) std::copy_n(rotation(row), count * R, to.rotations + row * R);
  }
};

// By how much the boxes of rows that have moved reach beyond where they were seen, along any axis, or less. In a
// periodic world, of which there are the sizes, where a row is but for whole worlds.
template <std::size_t D>
class Growth {
 public:
  explicit Growth(const double* period) : period_(period) {
    for (std::size_t k = 0; k < D && period != nullptr; ++k) usual_ = std::min(usual_, period[k] / 2);
  }

  double most() const { return most_; }

  // A row, by its box before and after.
  void add_box(const double* before, const double* after) {
    double grown = 0;
    for (std::size_t k = 0; k < D; ++k) {
      const double below = beyond(before[k], after[k]), above = beyond(after[D + k], before[D + k]);
      const double worlds = std::max(std::abs(below), std::abs(above)) <= usual_ ? 0.0 : shift_of_worlds(k, -below);
      const double rounding = 0x1p-48 * std::abs(worlds);
      grown = std::max({grown, size_or_all(below + worlds) + rounding, size_or_all(above - worlds) + rounding});
    }
    add(grown);
  }
  // N rows with balls around positions, whose sizes are together no more than `reach`.
  template <std::size_t N>
  void add_balls(const double* before, const double* after, const StoredBall* balls, double reach) {
    double farthest[N * D], radius = 0;
    for (std::size_t k = 0; k < N * D; ++k) farthest[k] = std::abs(after[k] - before[k]);
    for (std::size_t k = 0; k < N; ++k) radius = std::max(radius, balls[k][D]);
    const double rounding = 0x1p-48 * (2 * reach + radius);  // of the boxes, and more
    double all = largest_of<N>(farthest);
    if (!(all <= usual_)) {
      for (std::size_t k = 0; k < N * D; ++k) {
        const double route = after[k] - before[k];
        if (!(farthest[k] <= usual_))
          farthest[k] = size_or_all(std::abs(route - shift_of_worlds(k % D, route))) + 0x1p-48 * std::abs(route);
      }
      all = largest_of<N>(farthest);
    }
    add(all + rounding);
  }
  void append(const Growth& more) { most_ = std::max(most_, more.most_); }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  template <std::size_t N>
  static double largest_of(const double* sizes) {
    double most[N * D / 2], all = 0;
    for (std::size_t k = 0; k < N * D / 2; ++k) most[k] = std::max(sizes[k], sizes[N * D / 2 + k]);
    for (std::size_t half = N * D / 4; half >= D; half /= 2)
      for (std::size_t k = 0; k < half; ++k) most[k] = std::max(most[k], most[half + k]);
    for (std::size_t k = 0; k < D; ++k) all = std::max(all, most[k]);
    return all;
  }
  // By how much one number is above another; 0 if both are infinite.
  static double beyond(double x, double y) { return x == y ? 0.0 : x - y; }
  // What is no number may be any.
  static double size_or_all(double x) { return x == x ? x : kInfinity; }
  double shift_of_worlds(std::size_t axis, double route) const {
    return period_ != nullptr ? std::nearbyint(route / period_[axis]) * period_[axis] : 0.0;
  }
  void add(double grown) { most_ = std::max(most_, (1 + 0x1p-40) * grown); }

  const double* period_;
  double usual_ = kInfinity, most_ = 0;
};

inline constexpr std::size_t kRowsAStretch = 16;

// Whether the flags of a stretch of rows are all `flag`, 0 or 1.
inline bool are_all(std::uint64_t flag, const std::uint8_t* flags) {
  std::uint64_t halves[2];
  static_assert(sizeof(halves) == kRowsAStretch);
  std::memcpy(halves, flags, sizeof(halves));
  const std::uint64_t wanted = flag * 0x0101010101010101u;
  return ((halves[0] ^ wanted) | (halves[1] ^ wanted)) == 0;
}

// Places a stretch of rows all of which have balls around their positions, are looked at and have moved; if so.
template <std::size_t D>
bool place_moved_balls(ShapeStore& shapes, const NextPoses<D>& next, const Placements<D>& to, const ChangeFlags& flags,
                       Growth<D>& growth, std::size_t row) {
  constexpr std::size_t kCount = kRowsAStretch;
  if (next.rotations != nullptr || !next.are_near() || !are_all(1, flags.look + row) ||
      !shapes.are_centred_balls(row, kCount))
    return false;
  const double *position = next.position(row), *seen = to.seen_positions + row * D;
  bool all_moved = true;
  for (std::size_t k = 0; k < kCount; ++k) {
    std::uint64_t differs = 0;
    for (std::size_t axis = k * D; axis < (k + 1) * D; ++axis)
      differs |= std::bit_cast<std::uint64_t>(position[axis]) ^ std::bit_cast<std::uint64_t>(seen[axis]);
    all_moved &= differs != 0;
  }
  if (!all_moved) return false;
  std::memset(flags.stale + row, 1, kCount);
  growth.template add_balls<kCount>(seen, position, shapes.balls() + row, next.reach);
  next.write(to, row, kCount);
  shapes.place_centred_balls<D>(row, kCount, position, to.boxes + row * 2 * D);
  std::memset(flags.changed + row, 1, kCount);
  std::memset(flags.moved + row, 1, kCount);
  return true;
}

// Brings the spare placement up to date in the rows from `begin` to `end`. Rows whose flag in `look` is set are placed
// where they are to be, if that is not, to the bit, where they were seen: they are flagged in `changed` and `moved`.
// The others stay where they were seen: of these, those that `stale` flags lie elsewhere in the spare placement, and
// are placed again. Afterwards the two placements differ in the rows that are flagged in `moved`, which are stale for
// the next time. They are flagged as stale before they are written to, too: if the placements are not swapped after
// all, these rows are placed again. Returns a row that has no place, where it ended, or -1.
template <std::size_t D>
std::ptrdiff_t place_moved(ShapeStore& shapes, const NextPoses<D>& next, const Placements<D>& to,
                           const ChangeFlags& flags, Growth<D>& growth, std::size_t begin, std::size_t end) {
  const auto& [look, stale, changed, moved] = flags;
  const bool turn = next.rotations != nullptr;
  const Poses<D> spare{to.positions, turn ? to.rotations : nullptr, to.positions, to.rotations, to.boxes};
  const Poses<D> seen{to.seen_positions, turn ? to.seen_rotations : nullptr, to.positions, to.rotations, to.boxes};
  std::memset(moved + begin, 0, end - begin);
  for (std::size_t row = begin; row < end; ++row) {
    if (row % kRowsAStretch == 0 && row + kRowsAStretch <= end) {
      const bool none_looked_at = are_all(0, look + row);
      if (are_all(0, stale + row) && (none_looked_at || next.are_as_seen(to, row, kRowsAStretch))) {
        if (none_looked_at && to.holds_all) next.write(to, row, kRowsAStretch);
        row += kRowsAStretch - 1;
        continue;
      }
      if (place_moved_balls<D>(shapes, next, to, flags, growth, row)) {
        row += kRowsAStretch - 1;
        continue;
      }
    }
    if (look[row] != 0 && !next.are_as_seen(to, row, 1)) {
      stale[row] = 1;
      next.write(to, row, 1);
      if (!is_somewhere(spare, row)) return static_cast<std::ptrdiff_t>(row);
      place_row(shapes, spare, row);
      growth.add_box(to.seen_boxes + row * 2 * D, to.boxes + row * 2 * D);
      changed[row] = moved[row] = 1;
    } else {
      if (stale[row] != 0 && shapes.has(row)) place_row(shapes, seen, row);
      if (look[row] == 0 && to.holds_all) next.write(to, row, 1);
    }
  }
  return -1;
}

// Places again, where they were seen, the stale rows that have not moved.
template <std::size_t D>
void place_stale(ShapeStore& shapes, const Placements<D>& to, bool turn, const ChangeFlags& flags, std::size_t count) {
  constexpr std::size_t kStretch = 64;
  constexpr std::uint8_t kNone[kStretch] = {};
  const Poses<D> seen{to.seen_positions, turn ? to.seen_rotations : nullptr, to.positions, to.rotations, to.boxes};
  for (std::size_t begin = 0; begin < count; begin += kStretch) {
    const std::size_t end = std::min(count, begin + kStretch);
    if (std::memcmp(flags.stale + begin, kNone, end - begin) == 0) continue;
    for (std::size_t row = begin; row < end; ++row)
      if (flags.stale[row] != 0 && flags.moved[row] == 0 && shapes.has(row)) place_row<D>(shapes, seen, row);
  }
}

}  // namespace broadphase
