// When two shapes first touch that move along a straight line and turn about the positions of their bodies, both at an
// even speed: compiled once, in turning.cpp.
//
// By conservative advancement: from each pose, as far as nothing can have touched. Pairs of convex parts are bounded
// along their separating direction, whose gap closes by the speeds of the corners and, as these turn, by half their
// acceleration: so a pair that comes nearer takes a few steps, one that grazes takes the logarithm of its gap, and one
// that turns along a plane takes one. Nothing is missed that is deeper than rounding.
//
// B. Mirtich, "Impulse-based Dynamic Simulation of Rigid Body Systems", PhD thesis, University of California, Berkeley,
// 1996.
// X. Zhang, S. Redon, M. Lee, Y. J. Kim, "Continuous Collision Detection for Articulated Models using Taylor Models and
// Temporal Culling", ACM Transactions on Graphics 26(3), 2007, DOI 10.1145/1276377.1276396.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "narrow/polytopes.hpp"
#include "shapes/rotations.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// An angle in the plane; in space a rotation vector, an axis in the world times an angle.
template <std::size_t D>
inline constexpr std::size_t kTurnNumbers = D == 2 ? 1 : 3;
template <std::size_t D>
using TurnVector = std::array<double, kTurnNumbers<D>>;
template <std::size_t D>
using Rotation = std::array<double, kRotationNumbers<D>>;

template <std::size_t D>
constexpr Rotation<D> no_rotation() {
  Rotation<D> rotation{};
  if constexpr (D == 3) rotation[0] = 1;
  return rotation;
}

// A rotation after a share of a turn.
template <std::size_t D>
Rotation<D> turned_by(const Rotation<D>& rotation, const TurnVector<D>& turn, double share) {
  if constexpr (D == 2)
    return {rotation[0] + turn[0] * share};
  else
    return turned(unit(rotation), {turn[0] * share, turn[1] * share, turn[2] * share});
}

// No motion turns more often: its speed or its time is wrong.
inline constexpr double kMostFullTurns = 10000;

// The greatest distance of any point of a shape from the position of its body, however that is turned; of a hull or a
// mesh, of the box around it in its own frame. Infinite with a half space.
template <std::size_t D>
double reach_of(const ShapeView<D>& local);

// Whether a shape is elsewhere after a turn: not a ball around the position of its body, nor a box there that never
// turns.
template <std::size_t D>
bool is_moved_by_turning(const ShapeView<D>& local);

// How two bodies move and turn: an array of numbers, as Python passes it.
template <std::size_t D>
struct PairMotion {
  Vec<D> place, motion;  // of the first relative to the second: at the begin, and from there to the end
  Rotation<D> rotation = no_rotation<D>();  // of the first at the begin
  TurnVector<D> turn{};                     // and by how much it turns until the end
  Rotation<D> other_rotation = no_rotation<D>();
  TurnVector<D> other_turn{};

  static constexpr std::size_t kNumbers = 2 * (D + kRotationNumbers<D> + kTurnNumbers<D>);
};
static_assert(sizeof(PairMotion<2>) == PairMotion<2>::kNumbers * sizeof(double));
static_assert(sizeof(PairMotion<3>) == PairMotion<3>::kNumbers * sizeof(double));

// A shape as its body has it, and how the body turns.
template <std::size_t D>
struct TurningShape {
  ShapeView<D> local;
  const Polytope* polytope;  // of a hull
  Rotation<D> rotation;      // at the begin
  TurnVector<D> turn;        // by how much until the end

  bool turns() const {
    return std::any_of(turn.begin(), turn.end(), [](double x) { return x != 0; });
  }
};

// Two of them. The second stays where it is, at the origin.
template <std::size_t D>
struct TurningPair {
  TurningShape<D> first, second;
  Vec<D> place, motion;

  // Whether nothing is moved by turning.
  bool is_straight() const { return !first.turns() && !second.turns(); }

  TurningPair() = default;
  TurningPair(const ShapeView<D>& one, const Polytope* hull, const ShapeView<D>& other, const Polytope* other_hull,
              const PairMotion<D>& how)
      : first{one, hull, how.rotation, how.turn},
        second{other, other_hull, how.other_rotation, how.other_turn},
        place(how.place),
        motion(how.motion) {
    for (TurningShape<D>* shape : {&first, &second})
      if (shape->turns() && !is_moved_by_turning(shape->local)) shape->turn.fill(0);
  }
};

// The poses of one of them: those at shares of the motion.
template <std::size_t D>
class PosePath {
 public:
  PosePath(const TurningShape<D>& shape, const Vec<D>& place, const Vec<D>& motion)
      : place_(place),
        motion_(motion),
        rotation_(shape.rotation),
        turn_(shape.turn),
        turns_(shape.turns()),
        begin_(place.data(), shape.rotation.data()) {}

  Pose<D> at(double share) const {
    Vec<D> place;
    for (std::size_t k = 0; k < D; ++k) place[k] = place_[k] + motion_[k] * share;
    if (turns_) return Pose<D>(place.data(), turned_by<D>(rotation_, turn_, share).data());
    Pose<D> pose = begin_;
    pose.position = place;
    return pose;
  }

 private:
  Vec<D> place_, motion_;
  Rotation<D> rotation_;
  TurnVector<D> turn_;
  bool turns_;
  Pose<D> begin_;
};

// The first share of the motion, from 0 to 1, at which the shapes are at most `target` apart, or touch but for
// rounding; infinite if there is none, and then `normal` is of no meaning: it is from the first to the second at that
// time.
double impact_time(const TurningPair<2>& pair, double target, Vec<2>* normal);
double impact_time(const TurningPair<3>& pair, double target, Vec<3>* normal);

// The same from one share of the motion to another. `scale`: the size of the pair, by which rounding is measured.
double impact_time_within(const TurningPair<3>& pair, double target, double scale, double from, double until,
                          Vec<3>* normal);

// The same motion between two shares of it, where the balls around the shapes are at most `target` apart; nothing where
// they never are. With a half space, all of it, and the size is that of all coordinates.
template <std::size_t D>
struct NearMotion {
  TurningPair<D> pair;
  double begin, length;  // shares
  double scale;          // the size of the pair
};
template <std::size_t D>
bool find_near_motion(const TurningPair<D>& pair, double target, NearMotion<D>& near);

// What is that near touches: a thousand roundings.
constexpr double touching_below(double scale) { return 0x1p-43 * scale; }

}  // namespace broadphase
