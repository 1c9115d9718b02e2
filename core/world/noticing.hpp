// Which rows have moved since they were last looked at: their shapes are placed again, and their boxes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/parallel.hpp"
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

// What a look at rows found.
struct Noticed {
  std::size_t moved = 0;
  std::ptrdiff_t nowhere = -1;  // a row that has no place: there the look ended
};

// Flags by row.
struct NoticedFlags {
  const std::uint8_t* look;
  std::uint8_t *stale, *changed, *moved;
};

// Two placements of the same shapes: the current one, which is only read, and a spare one, which is written, and which
// is swapped for the current one when all else has succeeded. So a step that fails has changed nothing that is seen.
template <std::size_t D>
struct NextPoses {
  Poses<D> next;                 // where rows are to be; and the spare placement
  const double* seen_positions;  // of the current placement
  const double* seen_rotations;
};

// Whether nothing has moved in a stretch of rows: that is quickly compared, and all there is to do in most worlds.
template <std::size_t D>
bool is_as_seen(const NextPoses<D>& poses, std::size_t row, std::size_t count) {
  constexpr std::size_t R = kRotationNumbers<D>;
  return std::memcmp(poses.next.positions + row * D, poses.seen_positions + row * D, count * D * sizeof(double)) == 0 &&
         (poses.next.rotations == nullptr ||
          std::memcmp(poses.next.rotations + row * R, poses.seen_rotations + row * R, count * R * sizeof(double)) == 0);
}

template <std::size_t D>
bool has_moved(const NextPoses<D>& poses, std::size_t row) {
  constexpr std::size_t R = kRotationNumbers<D>;
  bool differs = false;
  for (std::size_t k = row * D; k < (row + 1) * D; ++k) differs |= poses.next.positions[k] != poses.seen_positions[k];
  if (poses.next.rotations != nullptr)
    for (std::size_t k = row * R; k < (row + 1) * R; ++k) differs |= poses.next.rotations[k] != poses.seen_rotations[k];
  return differs;
}

// Brings stretches of the spare placement up to date. Rows whose flag in `look` is set are placed where they are to be,
// if that is not where they were seen: they are flagged in `changed` and `moved`. The others stay where they were seen:
// of these, those that `stale` flags lie elsewhere in the spare placement, and are placed again. Afterwards the two
// placements differ in the rows that are flagged in `moved`, which are stale for the next time. They are flagged as
// stale before they are written to, too: if the placements are not swapped after all, these rows are placed again.
//
// Poses may be written to by other threads meanwhile: each is copied, and the copy is looked at and used.
template <std::size_t D>
Noticed notice_moved(ShapeStore& shapes, const NextPoses<D>& poses, const NoticedFlags& flags, std::size_t begin,
                     std::size_t end) {
  constexpr std::size_t kStretch = 16, R = kRotationNumbers<D>;
  const auto& [look, stale, changed, moved] = flags;
  constexpr std::uint8_t kNone[kStretch] = {};
  const bool turn = poses.next.rotations != nullptr;
  const Poses<D> seen{poses.seen_positions, turn ? poses.seen_rotations : nullptr, poses.next.seen_positions,
                      poses.next.seen_rotations, poses.next.boxes};
  const Poses<D> copied{poses.next.seen_positions, turn ? poses.next.seen_rotations : nullptr,
                        poses.next.seen_positions, poses.next.seen_rotations, poses.next.boxes};
  Noticed noticed;
  std::memset(moved + begin, 0, end - begin);
  for (std::size_t row = begin; row < end; ++row) {
    if (row % kStretch == 0 && row + kStretch <= end && std::memcmp(stale + row, kNone, kStretch) == 0 &&
        (std::memcmp(look + row, kNone, kStretch) == 0 || is_as_seen<D>(poses, row, kStretch))) {
      row += kStretch - 1;
      continue;
    }
    if (look[row] != 0 && has_moved(poses, row)) {
      stale[row] = 1;
      std::copy_n(poses.next.positions + row * D, D, poses.next.seen_positions + row * D);
      if (turn) std::copy_n(poses.next.rotations + row * R, R, poses.next.seen_rotations + row * R);
      if (!is_somewhere(copied, row)) {
        noticed.nowhere = static_cast<std::ptrdiff_t>(row);
        return noticed;
      }
      look_at_row(shapes, copied, row);
      changed[row] = moved[row] = 1;
      ++noticed.moved;
    } else if (stale[row] != 0 && shapes.has(row)) {
      look_at_row(shapes, seen, row);
    }
  }
  return noticed;
}

// Places again, where they were seen, the stale rows that have not moved.
template <std::size_t D>
void place_stale(ShapeStore& shapes, const NextPoses<D>& poses, const NoticedFlags& flags, std::size_t count) {
  constexpr std::size_t kStretch = 64;
  constexpr std::uint8_t kNone[kStretch] = {};
  const bool turn = poses.next.rotations != nullptr;
  const Poses<D> seen{poses.seen_positions, turn ? poses.seen_rotations : nullptr, poses.next.seen_positions,
                      poses.next.seen_rotations, poses.next.boxes};
  for (std::size_t begin = 0; begin < count; begin += kStretch) {
    const std::size_t end = std::min(count, begin + kStretch);
    if (std::memcmp(flags.stale + begin, kNone, end - begin) == 0) continue;
    for (std::size_t row = begin; row < end; ++row)
      if (flags.stale[row] != 0 && flags.moved[row] == 0 && shapes.has(row)) look_at_row<D>(shapes, seen, row);
  }
}

// The same for all rows, on threads. The row without a place is the first one.
template <std::size_t D>
Noticed notice_all(ShapeStore& shapes, const NextPoses<D>& poses, const NoticedFlags& flags, std::size_t count,
                   unsigned workers) {
  constexpr std::size_t kRowsATask = 4096, kTasksWorthThreads = 4;
  const std::size_t tasks = (count + kRowsATask - 1) / kRowsATask;
  std::vector<Noticed> parts(tasks);
  Interrupt none;
  for_each_task(tasks, tasks < kTasksWorthThreads ? 1 : workers, none, [&](unsigned, std::size_t task) {
    const std::size_t begin = task * kRowsATask;
    parts[task] = notice_moved<D>(shapes, poses, flags, begin, std::min(count, begin + kRowsATask));
  });
  Noticed all;
  for (const Noticed& part : parts) {
    all.moved += part.moved;
    if (all.nowhere < 0) all.nowhere = part.nowhere;
  }
  return all;
}

}  // namespace broadphase
