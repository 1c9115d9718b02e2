// Which bodies turn during a step, from what rotation and by how much, and boxes that hold them meanwhile: all but the
// first is computed when it is asked for, of few rows.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <vector>

#include "narrow/turning.hpp"
#include "world/columns.hpp"

namespace broadphase {

namespace detail {

inline constexpr double kFullTurn = 2 * std::numbers::pi;

// From one rotation to another: of all turns that lead there, which differ by full turns, the one nearest to `spin`.
inline TurnVector<2> turn_between(const Rotation<2>& from, const Rotation<2>& to, const TurnVector<2>& spin) {
  return {std::remainder(to[0] - from[0] - spin[0], kFullTurn) + spin[0]};
}
inline TurnVector<3> turn_between(const Rotation<3>& from, const Rotation<3>& to, const TurnVector<3>& spin) {
  const Quaternion p = unit(from), q = unit(to);  // q times the inverse of p
  const double w = q[0] * p[0] + q[1] * p[1] + q[2] * p[2] + q[3] * p[3];
  TurnVector<3> axis{p[0] * q[1] - q[0] * p[1] + p[2] * q[3] - p[3] * q[2],
                     p[0] * q[2] - q[0] * p[2] + p[3] * q[1] - p[1] * q[3],
                     p[0] * q[3] - q[0] * p[3] + p[1] * q[2] - p[2] * q[1]};
  const double sine = std::hypot(axis[0], axis[1], axis[2]), length = std::hypot(spin[0], spin[1], spin[2]);
  if (!(sine > 0) && !(length > 0)) return {};
  for (std::size_t k = 0; k < 3; ++k) axis[k] = sine > 0 ? axis[k] / sine : spin[k] / length;
  double angle = 2 * std::atan2(sine, w);
  const double along = axis[0] * spin[0] + axis[1] * spin[1] + axis[2] * spin[2];
  angle += std::rint((along - angle) / kFullTurn) * kFullTurn;
  return {axis[0] * angle, axis[1] * angle, axis[2] * angle};
}

}  // namespace detail

// Calls use(row) for the rows listed, or for all so many where there is no list, until it returns false.
template <class Use>
void for_rows_that_can_move(const RowList* few, std::size_t count, Use&& use) {
  for (std::size_t k = 0; k < (few != nullptr ? few->size() : count); ++k)
    if (!use(few != nullptr ? static_cast<std::size_t>((*few)[k]) : k)) return;
}

// Rows whose shapes turning moves during a step, after which the spare placement of the columns is where the rows are:
// balls around their positions are none.
//
// A body whose rotation was written to turns the shortest way there, and then as its angular velocity says.
template <std::size_t D>
class TurningRows {
 public:
  static constexpr std::size_t R = kRotationNumbers<D>, S = kTurnNumbers<D>;

  TurningRows() = default;
  // `few`: the rows that can be elsewhere than they were seen, or null for all.
  TurningRows(const Columns<D>& columns, const RowKinds& kinds, const RowFlags& is_ccd, const RowList* few,
              const std::uint8_t* looked_at, double dt, bool has_displaced)
      : columns_(columns), is_ccd_(is_ccd.data()), moves_(kinds.moves.data()), dt_(dt), has_displaced_(has_displaced) {
    if (columns.rotations == nullptr) return;
    const bool spins = columns.angular_velocities != nullptr && dt != 0;
    for_rows_that_can_move(few, columns.slots, [&](std::size_t row) {
      if ((!spins && columns.moved[row] == 0) || looked_at[row] == 0) return true;
      const bool is_new = is_written(row);
      if (!(spins && has_spin(row)) && !is_new) return true;
      // One that is seldom looked at only appears where it is seen.
      if (columns.update_intervals != nullptr && is_ccd[row] == 0 && columns.update_intervals[row] != 1) return true;
      if (!is_moved(row)) return true;
      if (is_new || is_ccd[row] != 0) {
        const double angle = angle_of(turn_of(row));
        if (!(angle > 0)) return true;
        if (is_ccd[row] != 0 && angle > detail::kFullTurn * kMostFullTurns) {
          too_often_ = static_cast<std::int32_t>(row);
          return false;
        }
      }
      if (are_.empty()) are_.resize(columns.slots);
      are_[row] = 1;
      return true;
    });
  }

  // Flags by row; null: there are none.
  const std::uint8_t* flags() const { return or_null(are_); }
  bool has(std::size_t row) const { return !are_.empty() && are_[row] != 0; }
  // A followed row that makes more than `kMostFullTurns`, or -1.
  std::int32_t too_often() const { return too_often_; }

  // By how much a row turns during the step. What others than followed rows do beyond whole turns counts, if they make
  // too many.
  TurnVector<D> turn_of(std::size_t row) const {
    TurnVector<D> turn = spin_of(row);
    if (is_written(row)) turn = detail::turn_between(rotation_at(before(row)), rotation_at(after(row)), turn);
    const double angle = angle_of(turn);
    if (is_ccd_[row] == 0 && angle > detail::kFullTurn * kMostFullTurns)
      for (double& x : turn) x *= std::remainder(angle, detail::kFullTurn) / angle;
    return turn;
  }
  // The rotation of a row at a share of the step.
  Rotation<D> rotation_at(std::size_t row, const TurnVector<D>& turn, double share) const {
    return turned_by<D>(rotation_at(after(row)), turn, share - 1);
  }

  // A box around a row, where it is now, in all rotations of the step, by its corners: no point is farther from the
  // position than `reach`, nor farther from where it is now than it turns.
  std::array<double, 2 * D> box_of(std::size_t row, double reach) const {
    const double angle = angle_of(turn_of(row));
    const double *box = columns_.spare.boxes + row * 2 * D, *place = columns_.spare.positions + row * D;
    std::array<double, 2 * D> around;
    for (std::size_t k = 0; k < D; ++k) {
      const double slack = 0x1p-48 * (std::abs(place[k]) + reach);
      around[k] = std::max(place[k] - reach, box[k] - angle * reach) - slack;
      around[D + k] = std::min(place[k] + reach, box[D + k] + angle * reach) + slack;
    }
    return around;
  }
  std::array<double, 2 * D> box_of(std::size_t row) const {
    ShapeStore::LocalRoom room;
    return box_of(row, reach_of(local(row, room)) * (1 + 0x1p-40));
  }
  // A wider one, without a look at the shape.
  std::array<double, 2 * D> rough_box_of(std::size_t row) const {
    const double *box = columns_.spare.boxes + row * 2 * D, *place = columns_.spare.positions + row * D;
    double squared = 0;
    for (std::size_t k = 0; k < D; ++k) {
      const double farthest = std::max(place[k] - box[k], box[D + k] - place[k]);
      squared += farthest * farthest;
    }
    return box_of(row, std::sqrt(squared) * (1 + 0x1p-40));
  }

 private:
  static double angle_of(const TurnVector<D>& turn) {
    if constexpr (D == 2)
      return std::abs(turn[0]);
    else
      return std::hypot(turn[0], turn[1], turn[2]);
  }
  static Rotation<D> rotation_at(const double* numbers) {
    Rotation<D> rotation;
    std::copy_n(numbers, R, rotation.begin());
    return rotation;
  }

  ShapeView<D> local(std::size_t row, ShapeStore::LocalRoom& room) const {
    return {columns_.spare.shapes->kind(row), columns_.spare.shapes->local(row, room)};
  }
  bool is_moved(std::size_t row) const {
    const ShapeKind kind = columns_.spare.shapes->kind(row);
    if (kind == ShapeKind::kOrientedBox) return true;  // whose record is long
    ShapeStore::LocalRoom room;
    return is_moved_by_turning(local(row, room));
  }
  bool has_spin(std::size_t row) const {
    const double* speeds = columns_.angular_velocities + row * S;
    return moves_[row] != 0 && std::any_of(speeds, speeds + S, [](double x) { return x != 0; });
  }
  TurnVector<D> spin_of(std::size_t row) const {
    TurnVector<D> spin{};
    if (columns_.angular_velocities != nullptr && moves_[row] != 0)
      for (std::size_t k = 0; k < S; ++k) spin[k] = columns_.angular_velocities[row * S + k] * dt_;
    return spin;
  }
  const double* after(std::size_t row) const { return columns_.spare.rotations + row * R; }
  // Where the world saw it; what was moved turns from there.
  const double* before(std::size_t row) const {
    const bool is_displaced = has_displaced_ && columns_.displaced[row] != 0;
    return (is_displaced ? columns_.rotations : columns_.seen.rotations) + row * R;
  }
  bool is_written(std::size_t row) const {
    return std::memcmp(before(row), columns_.rotations + row * R, R * sizeof(double)) != 0;
  }

  Columns<D> columns_{};
  const std::uint8_t *is_ccd_ = nullptr, *moves_ = nullptr;
  double dt_ = 0;
  bool has_displaced_ = false;
  RowFlags are_;
  std::int32_t too_often_ = -1;
};

}  // namespace broadphase
