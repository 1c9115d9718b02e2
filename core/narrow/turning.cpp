#include "narrow/turning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "narrow/compounds.hpp"
#include "narrow/half_spaces.hpp"
#include "narrow/shape_queries.hpp"
#include "narrow/support.hpp"

namespace broadphase {

namespace turning {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

template <std::size_t D>
double product(const Vec<D>& a, const Vec<D>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < D; ++k) sum += a[k] * b[k];
  return sum;
}
template <std::size_t D>
double length_of(const Vec<D>& a) {
  return std::sqrt(product<D>(a, a));
}
// a + b * by
template <std::size_t D>
Vec<D> sum_of(const Vec<D>& a, const Vec<D>& b, double by) {
  Vec<D> sum;
  for (std::size_t k = 0; k < D; ++k) sum[k] = a[k] + b[k] * by;
  return sum;
}
template <std::size_t D>
double angle_of(const TurnVector<D>& turn) {
  if constexpr (D == 2)
    return std::fabs(turn[0]);
  else
    return length_of<3>(turn);
}
// The speed of a turning point along `way` is its product with this.
template <std::size_t D>
Vec<D> tilt_of(const Vec<D>& way, const TurnVector<D>& turn) {
  if constexpr (D == 2)
    return {turn[0] * way[1], -turn[0] * way[0]};
  else
    return solid::cross(way, turn);
}
// How far a point is from the axis of a turn through the origin.
template <std::size_t D>
double distance_from_axis(const Vec<D>& at, const TurnVector<D>& turn, double angle) {
  if constexpr (D == 2)
    return length_of<2>(at);
  else
    return length_of<3>(solid::cross(at, turn)) / angle;
}

// Calls visit(corner) for those of a placed core. `never_turns`: of a box that is parallel to the axes however its body
// turns, only the middle does.
template <std::size_t D, class Visit>
void for_each_corner(const ShapeView<D>& placed, const Polytope* polytope, bool never_turns, const Visit& visit) {
  const double* p = placed.record.data();
  const auto vector_at = [&](std::size_t at) {
    Vec<D> vector;
    std::copy_n(p + at, D, vector.begin());
    return vector;
  };
  const auto visit_box = [&](const Vec<D>& centre, const auto& side) {
    for (std::size_t corner = 0; corner < std::size_t{1} << D; ++corner) {
      Vec<D> at = centre;
      for (std::size_t axis = 0; axis < D; ++axis)
        at = sum_of<D>(at, side(axis), (corner >> axis & 1) != 0 ? 1.0 : -1.0);
      visit(at);
    }
  };
  const auto visit_bounds = [&](const Vec<D>& lower, const Vec<D>& upper) {
    Vec<D> centre;
    for (std::size_t k = 0; k < D; ++k) centre[k] = lower[k] / 2 + upper[k] / 2;
    if (never_turns) {
      visit(centre);
      return;
    }
    visit_box(centre, [&](std::size_t axis) {
      Vec<D> side{};
      side[axis] = upper[axis] / 2 - lower[axis] / 2;
      return side;
    });
  };
  switch (traits_of(placed.kind).core) {
    case CoreForm::kPoint:
    case CoreForm::kHalfSpace: visit(vector_at(0)); return;  // of a half space, a point of its boundary
    case CoreForm::kSegment:
    case CoreForm::kTriangle:
      for (std::size_t k = 0; k < traits_of(placed.kind).points; ++k) visit(vector_at(k * D));
      return;
    case CoreForm::kPolygon:
      for (std::size_t at = 0; at < placed.record.size(); at += D) visit(vector_at(at));
      return;
    case CoreForm::kBox:
      if (placed.kind == ShapeKind::kBox) {
        visit_bounds(vector_at(0), vector_at(D));
        return;
      }
      visit_box(vector_at(0), [&](std::size_t axis) {
        Vec<D> side{};
        return sum_of<D>(side, vector_at((2 + axis) * D), p[D + axis]);
      });
      return;
    case CoreForm::kCurved: {
      ShapeBounds<D> bounds;
      add_bounds<D>(placed, bounds);
      visit_bounds(bounds.lower, bounds.upper);
      return;
    }
    case CoreForm::kNone:
      if constexpr (D == 3) {
        if (polytope != nullptr) {
          const double size = std::ldexp(1.0, polytope->exponent());
          for (std::size_t k = 0; k < polytope->corner_count(); ++k) {
            const Vec<3> own = polytope->corner(k);
            Vec<3> at = vector_at(1);
            for (std::size_t axis = 0; axis < 3; ++axis) at = sum_of<3>(at, vector_at(4 + 3 * axis), own[axis] * size);
            visit(at);
          }
          return;
        }
      }
      // Of what is kept elsewhere, the box in its own frame.
      {
        const std::size_t axes = 1 + D, low = axes + D * D;
        Vec<D> centre = vector_at(1);
        for (std::size_t axis = 0; axis < D; ++axis)
          centre = sum_of<D>(centre, vector_at(axes + axis * D), p[low + axis] / 2 + p[low + D + axis] / 2);
        visit_box(centre, [&](std::size_t axis) {
          const Vec<D> none{};
          return sum_of<D>(none, vector_at(axes + axis * D), p[low + D + axis] / 2 - p[low + axis] / 2);
        });
      }
      return;
  }
}

// One convex part of a shape: a core that turns, and a radius around it.
template <std::size_t D>
struct Part {
  ShapeView<D> local;
  const Polytope* polytope;
  bool turns, never_turns;
  double radius;
  // Of its corners, the greatest distance from the axis and, with what never turns, from the position of the body.
  double off_axis, farthest;
};

// A part in a pose.
template <std::size_t D>
class PlacedPart {
 public:
  void place(const Part<D>& part, const Pose<D>& pose) {
    part_ = &part;
    position_ = pose.position;
    record_.resize(part.local.record.size());
    kind_ = place_shape<D>(part.local.kind, part.local.record, pose, record_.data());
  }
  ShapeView<D> view() const { return {kind_, {record_.data(), kind_ == ShapeKind::kBox ? 2 * D : record_.size()}}; }
  const Polytope* polytope() const { return part_->polytope; }

  // The corner farthest along a direction, seen from the position of the body.
  Vec<D> farthest(const Vec<D>& way) const {
    const double* p = record_.data();
    const auto seen = [&](std::size_t at) {
      Vec<D> vector;
      for (std::size_t k = 0; k < D; ++k) vector[k] = p[at + k] - position_[k];
      return vector;
    };
    switch (traits_of(kind_).core) {
      case CoreForm::kPoint: return seen(0);
      case CoreForm::kHalfSpace: return seen(0);  // along its normal, which alone is asked for
      case CoreForm::kSegment:
      case CoreForm::kTriangle:
      case CoreForm::kPolygon: {
        const std::size_t end = kind_ == ShapeKind::kPolygon ? record_.size() : traits_of(kind_).points * D;
        Vec<D> best = seen(0);
        double highest = product<D>(best, way);
        for (std::size_t at = D; at < end; at += D) {
          const Vec<D> other = seen(at);
          const double height = product<D>(other, way);
          if (height <= highest) continue;
          highest = height;
          best = other;
        }
        return best;
      }
      case CoreForm::kBox: {
        if (kind_ == ShapeKind::kBox) {
          const Vec<D> lower = seen(0), upper = seen(D);
          Vec<D> at;
          for (std::size_t k = 0; k < D; ++k)
            at[k] = part_->never_turns ? lower[k] / 2 + upper[k] / 2 : way[k] > 0 ? upper[k] : lower[k];
          return at;
        }
        Vec<D> at = seen(0);
        for (std::size_t axis = 0; axis < D; ++axis) {
          const double* unit = p + (2 + axis) * D;
          double along = 0;
          for (std::size_t k = 0; k < D; ++k) along += unit[k] * way[k];
          const double side = along > 0 ? p[D + axis] : -p[D + axis];
          for (std::size_t k = 0; k < D; ++k) at[k] += unit[k] * side;
        }
        return at;
      }
      case CoreForm::kCurved: {
        const Vec<D> beyond = farthest_of(view(), way);
        return sum_of<D>(seen(0), beyond, 1.0);
      }
      case CoreForm::kNone: break;
    }
    if constexpr (D == 3) {
      const Polytope& hull = *part_->polytope;
      const double *const x = hull.x(), *const y = hull.y(), *const z = hull.z();
      Vec<3> own;
      for (std::size_t axis = 0; axis < 3; ++axis)
        own[axis] = p[4 + 3 * axis] * way[0] + p[5 + 3 * axis] * way[1] + p[6 + 3 * axis] * way[2];
      std::size_t best = 0;
      double highest = -kNever;
      for (std::size_t k = 0; k < hull.corner_count(); ++k) {
        const double height = x[k] * own[0] + y[k] * own[1] + z[k] * own[2];
        best = height > highest ? k : best;
        highest = height > highest ? height : highest;
      }
      const double size = std::ldexp(1.0, hull.exponent());
      Vec<3> at = seen(1);
      const Vec<3> corner = hull.corner(best);
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (std::size_t k = 0; k < 3; ++k) at[k] += p[4 + 3 * axis + k] * (corner[axis] * size);
      return at;
    }
    return {};
  }
  // Where what never turns is farthest along a direction, seen from the corner.
  Vec<D> farthest_still(const Vec<D>& way) const {
    Vec<D> at{};
    for (std::size_t k = 0; part_->never_turns && k < D; ++k)
      at[k] = std::copysign(record_[D + k] / 2 - record_[k] / 2, way[k]);
    return at;
  }

 private:
  const Part<D>* part_ = nullptr;
  ShapeKind kind_{};
  Vec<D> position_{};
  std::vector<double> record_;
};

inline double distance_of(const PlacedPart<2>& a, const PlacedPart<2>& b, Vec<2>* normal) {
  return signed_distance(a.view(), b.view(), normal);
}
inline double distance_of(const PlacedPart<3>& a, const PlacedPart<3>& b, Vec<3>* normal) {
  return signed_distance(Element{a.view(), a.polytope()}, Element{b.view(), b.polytope()}, normal);
}

// Two shapes on their motion, between shares of it.
template <std::size_t D>
class Advancement {
 public:
  Advancement(const TurningPair<D>& pair, double target, double scale)
      : pair_(pair),
        first_path_(pair.first, pair.place, pair.motion),
        second_path_(pair.second, {}, {}),
        target_(target),
        scale_(scale),
        first_angle_(angle_of<D>(pair.first.turn)),
        second_angle_(angle_of<D>(pair.second.turn)),
        speed_(length_of<D>(pair.motion)) {}

  // Of all pairs of parts.
  double first_touch(double from, double until, Vec<D>& normal) {
    double first = kNever;
    for_each_simple<D>(pair_.first.local, [&](const ShapeView<D>& one) {
      const Part<D> a = part_of(pair_.first, one, first_path_, first_angle_);
      for_each_simple<D>(pair_.second.local, [&](const ShapeView<D>& other) {
        const Part<D> b = part_of(pair_.second, other, second_path_, second_angle_);
        Vec<D> way{};
        if (const double time = first_touch(a, b, from, std::min(first, until), way); time < first) {
          first = time;
          normal = way;
        }
        return first > from;
      });
      return first > from;
    });
    return first;
  }

 private:
  // After so many steps two that are nearer than a billionth of their size count as touching: only what slides along a
  // curve at such a gap takes them.
  static constexpr int kManySteps = 1 << 13, kMostSteps = 1 << 20;
  static constexpr int kStepsAlong = 2;  // from then on, directions that turn are tried, too
  static constexpr double kBillionth = 0x1p-30;

  Part<D> part_of(const TurningShape<D>& shape, const ShapeView<D>& local, const PosePath<D>& path,
                  double angle) const {
    Part<D> part{local, shape.polytope, angle > 0, angle > 0 && local.kind == ShapeKind::kBox, 0, 0, 0};
    const CoreForm core = traits_of(local.kind).core;
    if (has_corners(core)) part.radius = radius_of(local);
    Pose<D> pose = path.at(0);
    pose.position = {};
    PlacedPart<D> placed;
    placed.place(part, pose);
    for_each_corner<D>(placed.view(), part.polytope, part.never_turns, [&](const Vec<D>& corner) {
      part.farthest = std::max(part.farthest, length_of<D>(corner));
      if (part.turns) part.off_axis = std::max(part.off_axis, distance_from_axis<D>(corner, shape.turn, angle));
    });
    Vec<D> all;
    all.fill(1);
    part.farthest += length_of<D>(placed.farthest_still(all));
    return part;
  }

  double first_touch(const Part<D>& a, const Part<D>& b, double from, double until, Vec<D>& normal) {
    first_part_ = &a;
    second_part_ = &b;
    if (is_half_space(a.local) || is_half_space(b.local)) return first_touch_along_normal(from, until, normal);
    double near = touching_below(scale_), time = from, last_time = from;
    int uncertain = 0;
    second_.place(b, second_path_.at(from));
    for (int step = 0;; ++step) {
      if (step == kManySteps) near = std::max(near, kBillionth * scale_);
      place_ = sum_of<D>(pair_.place, pair_.motion, time);
      first_.place(a, first_path_.at(time));
      if (b.turns && step > 0) second_.place(b, second_path_.at(time));
      if (step == 0 && stays_apart(until - time)) return kNever;
      Vec<D> way{};
      const double distance = distance_of(first_, second_, &way), limit = target_ + near / 2;
      const Vec<D> last = normal;
      Heading heading = heading_along(way, limit);
      if (step > 0) {
        // The direction between what nearly touches may be little but rounding.
        const Heading other = heading_along(last, limit);
        if (other.gap > heading.gap) heading = other;
      }
      normal = heading.way;
      if (distance <= target_ + near || step == kMostSteps) return time;
      const double rest = until - time;
      double free = 0;
      if (heading.gap > 0) {
        free = safe_step(heading, rest);
        if (step >= kStepsAlong && free < rest)
          free = std::max(free, safe_step_of_turning(heading, last, time - last_time, rest));
      } else {
        // The numbers are so large that rounding hides the direction.
        if (++uncertain > kManySteps) return time;
        free = (distance - limit) / (speed_ + first_angle_ * a.off_axis + second_angle_ * b.off_axis);
      }
      if (!(free < rest)) return kNever;
      last_time = time;
      time = std::max(time + free, std::nextafter(time, 2.0));
    }
  }

  // Of a part and a half space: the direction is always its normal, with which it turns.
  double first_touch_along_normal(double from, double until, Vec<D>& normal) {
    const bool is_first = is_half_space(first_part_->local), are_both = is_first && is_half_space(second_part_->local);
    const bool turns = (is_first ? first_part_ : second_part_)->turns;
    double near = touching_below(scale_), time = from;
    for (int step = 0;; ++step) {
      if (step == kManySteps) near = std::max(near, kBillionth * scale_);
      place_ = sum_of<D>(pair_.place, pair_.motion, time);
      first_.place(*first_part_, first_path_.at(time));
      second_.place(*second_part_, second_path_.at(time));
      const double distance = distance_of(first_, second_, &normal), rest = until - time;
      const Heading heading = heading_along(normal, target_ + near / 2);
      if (distance <= target_ + near || !(heading.gap > 0) || step == kMostSteps) return time;
      double free = 0;
      if (are_both) {
        // They no longer look at each other exactly once one of them turns, but about its normal.
        if (length_of<D>(heading.first_tilt) > 0 || length_of<D>(heading.second_tilt) > 0) return time;
        free = heading.speed > 0 ? heading.gap / heading.speed : kNever;
      } else {
        free = turns ? safe_step_along_normal(heading, is_first, rest) : safe_step(heading, rest);
      }
      if (!(free < rest)) return kNever;
      time = std::max(time + free, std::nextafter(time, 2.0));
    }
  }

  // A direction from the first to the second, and what closes the gap along it.
  struct Heading {
    Vec<D> way, turning;             // and how it turns
    Vec<D> first_tilt, second_tilt;  // the speed of a corner along the way is its product with the tilt
    double fixed;                    // of the gap: what is no corner's
    double speed, gap;
  };
  // The gap after a while if every corner went straight on, and how it changes then.
  struct Closing {
    double gap, slope;
  };

  Heading heading_along(const Vec<D>& way, double limit) const {
    Heading heading{way, {}, {}, {}, 0, product<D>(way, pair_.motion), 0};
    if (first_part_->turns) heading.first_tilt = tilt_of<D>(way, pair_.first.turn);
    if (second_part_->turns) heading.second_tilt = tilt_of<D>(way, pair_.second.turn);
    heading.fixed = -product<D>(way, place_) - first_part_->radius - second_part_->radius - limit;
    heading.gap = closing_at(heading, 0).gap;
    return heading;
  }

  Closing closing_at(const Heading& heading, double after) const {
    const Vec<D> along_first = sum_of<D>(heading.way, heading.first_tilt, after),
                 along_second = sum_of<D>(heading.way, heading.second_tilt, after);
    const Vec<D> top = first_.farthest(along_first), bottom = second_.farthest(opposite<D>(along_second));
    Closing closing{
        heading.fixed - after * heading.speed + product<D>(along_second, bottom) - product<D>(along_first, top),
        product<D>(heading.second_tilt, bottom) - product<D>(heading.first_tilt, top) - heading.speed};
    if (first_part_->never_turns || second_part_->never_turns) {
      const Vec<D> along = sum_of<D>(heading.way, heading.turning, after);
      const Vec<D> between = sum_of<D>(second_.farthest_still(opposite<D>(along)), first_.farthest_still(along), -1.0);
      closing.gap += product<D>(along, between);
      closing.slope += product<D>(heading.turning, between);
    }
    return closing;
  }

  // Whether the gap along the line between their middles tells that they do not touch up to the end: that is known
  // sooner than their distance.
  bool stays_apart(double rest) const {
    Vec<D> between = opposite<D>(place_);
    const auto add_middle = [&](const PlacedPart<D>& part, const Vec<D>& way, double sign) {
      between = sum_of<D>(between, part.farthest(way), 0.5 * sign);
      between = sum_of<D>(between, part.farthest(opposite<D>(way)), 0.5 * sign);
    };
    const Vec<D> way = between;
    add_middle(first_, way, -1);
    add_middle(second_, way, 1);
    const double length = length_of<D>(between);
    if (!(length > 0)) return false;
    for (double& x : between) x /= length;
    const Heading heading = heading_along(between, target_ + touching_below(scale_));
    return heading.gap > 0 && !(safe_step(heading, rest) < rest);
  }

  // For how long, up to `rest`, the gap along a direction surely stays open; infinite where that is all of the rest.
  double safe_step(const Heading& heading, double rest) const {
    const Part<D>&a = *first_part_, &b = *second_part_;
    const double first_tilt = length_of<D>(heading.first_tilt), second_tilt = length_of<D>(heading.second_tilt);
    // No corner is ever faster; and none ever reaches higher than it is far from its body.
    const double fastest = std::max(heading.speed, 0.0) + first_tilt * a.off_axis + second_tilt * b.off_axis;
    if (!(fastest * rest >= heading.gap)) return kNever;
    double free = heading.gap / fastest;
    if (const double apart = heading.fixed - a.farthest - b.farthest; apart > 0) {
      if (!(heading.speed * rest >= apart)) return kNever;
      free = std::max(free, apart / heading.speed);
    }
    const double bend = first_tilt * first_angle_ * a.off_axis + second_tilt * second_angle_ * b.off_axis;
    return std::max(free, bent_step(heading, bend, rest));
  }

  // The same along the normal of a half space, the first or the second, that turns.
  double safe_step_along_normal(const Heading& heading, bool is_first, double rest) const {
    const Part<D>& other = is_first ? *second_part_ : *first_part_;
    const TurnVector<D>& turn = is_first ? pair_.first.turn : pair_.second.turn;
    const double angle = is_first ? first_angle_ : second_angle_, other_angle = is_first ? second_angle_ : first_angle_,
                 other_speed = other_angle * other.off_axis;
    const Vec<D> turning = opposite<D>(tilt_of<D>(heading.way, turn));
    const double apart = length_of<D>(place_) + speed_ * rest, speed = length_of<D>(turning);
    const double fastest = speed_ + speed * (apart + other.farthest) + other_speed;
    if (!(fastest * rest >= heading.gap)) return kNever;
    const double bend =
        speed * (angle * (apart + other.farthest) + 2 * (speed_ + other_speed)) + other_angle * other_speed;
    return std::max(heading.gap / fastest, bent_step(turned_heading(heading, turning), bend, rest));
  }

  // What closes the gap along a direction that turns.
  Heading turned_heading(const Heading& heading, const Vec<D>& turning) const {
    Heading other = heading;
    other.turning = turning;
    other.first_tilt = sum_of<D>(heading.first_tilt, turning, 1.0);
    other.second_tilt = sum_of<D>(heading.second_tilt, turning, 1.0);
    other.speed = heading.speed + product<D>(turning, place_);
    return other;
  }

  // The same along a direction that turns: with either shape, as that of a face does; or as it has turned since the
  // last step, in the time `since`, as that between two edges or corners does.
  double safe_step_of_turning(const Heading& heading, const Vec<D>& last, double since, double rest) const {
    const Part<D>&a = *first_part_, &b = *second_part_;
    const double first_speed = first_angle_ * a.off_axis, second_speed = second_angle_ * b.off_axis,
                 first_bend = first_angle_ * first_speed, second_bend = second_angle_ * second_speed;
    const double apart = length_of<D>(place_) + speed_ * rest;
    const auto along = [&](const Vec<D>& turning, double bend) {
      return bent_step(turned_heading(heading, turning), bend, rest);
    };
    double free = 0;
    // Of the shape with which it turns, all heights stay.
    if (a.turns && !a.never_turns) {
      const Vec<D> turning = opposite<D>(tilt_of<D>(heading.way, pair_.first.turn));
      const double speed = length_of<D>(turning);
      free = along(turning, speed * (first_angle_ * (apart + b.farthest) + 2 * (speed_ + second_speed)) + second_bend);
    }
    if (b.turns && !b.never_turns && free < rest) {
      const Vec<D> turning = opposite<D>(tilt_of<D>(heading.way, pair_.second.turn));
      const double speed = length_of<D>(turning);
      free = std::max(free, along(turning, speed * (second_angle_ * (apart + a.farthest) + 2 * (speed_ + first_speed)) +
                                               first_bend));
    }
    if (const double cosine = product<D>(last, heading.way); since > 0 && cosine > 0.5 && free < rest) {
      Vec<D> turning;
      for (std::size_t k = 0; k < D; ++k) turning[k] = (heading.way[k] * cosine - last[k]) / since;
      const double speed = length_of<D>(turning);
      const double bend =
          speed * (speed * (apart + a.farthest + b.farthest) + 2 * (speed_ + first_speed + second_speed)) + first_bend +
          second_bend;
      free = std::max(free, along(turning, bend));
    }
    return free;
  }

  // As corners and the direction turn, the gap leaves its straight course by at most half of `bend`, its greatest
  // second derivative, times the squared time. What is left of it is concave in time: above its chords, below its
  // tangents.
  double bent_step(const Heading& heading, double bend, double rest) const {
    const auto left_at = [&](double after) {
      Closing closing = closing_at(heading, after);
      closing.gap -= 0.5 * bend * after * after;
      closing.slope -= bend * after;
      return closing;
    };
    const double gap = heading.gap, slope = closing_at(heading, 0).slope;
    // Where its tangent, less the bend, is zero.
    const double root = std::sqrt(slope * slope + 2 * bend * gap);
    double high = slope > 0 ? (slope + root) / bend : 2 * gap / (root - slope);
    if (!(high < rest)) high = rest;
    Closing at_high = left_at(high);
    if (at_high.gap >= 0) return high < rest ? high : kNever;
    double low = 0, at_low = gap;
    constexpr int kMostCuts = 6;
    for (int cut = 0; cut < kMostCuts && low < 0.9 * high; ++cut) {
      const double chord = low + (high - low) * (at_low / (at_low - at_high.gap));
      if (const double left = left_at(chord).gap; left >= 0) {
        low = chord;
        at_low = left;
      }
      const double tangent = high - at_high.gap / at_high.slope;
      if (!(tangent > low && tangent < high)) break;
      const Closing at_tangent = left_at(tangent);
      if (at_tangent.gap >= 0) return std::max(low, tangent);
      high = tangent;
      at_high = at_tangent;
    }
    return low;
  }

  const TurningPair<D>& pair_;
  PosePath<D> first_path_, second_path_;
  double target_, scale_, first_angle_, second_angle_, speed_;
  // The pair of parts that is looked at, where they are.
  const Part<D>*first_part_ = nullptr, *second_part_ = nullptr;
  PlacedPart<D> first_, second_;
  Vec<D> place_{};
};

template <std::size_t D>
double impact_time(const TurningPair<D>& pair, double target, Vec<D>* normal) {
  NearMotion<D> near;
  if (!find_near_motion(pair, target, near)) return kNever;
  const double time = Advancement<D>(near.pair, target, near.scale).first_touch(0, 1, *normal);
  return near.begin + near.length * time;
}

}  // namespace turning

// The same, but of a half space as far as the point of its boundary.
template <std::size_t D>
double bounded_reach_of(const ShapeView<D>& local) {
  double reach = 0;
  for_each_simple<D>(local, [&](const ShapeView<D>& part) {
    const CoreForm core = traits_of(part.kind).core;
    const double radius = has_corners(core) ? radius_of(part) : 0.0;
    const auto add = [&](const Vec<D>& corner) { reach = std::max(reach, turning::length_of<D>(corner) + radius); };
    if (part.kind == ShapeKind::kBox) {  // its middle turns, its corners do not
      Vec<D> middle, half;
      std::copy_n(part.record.begin(), D, middle.begin());
      std::copy_n(part.record.begin() + D, D, half.begin());
      reach = std::max(reach, turning::length_of<D>(middle) + turning::length_of<D>(half));
    } else {
      turning::for_each_corner<D>(part, nullptr, false, add);
    }
    return true;
  });
  return reach;
}
template <std::size_t D>
double reach_of(const ShapeView<D>& local) {
  return is_unbounded(local) ? turning::kNever : bounded_reach_of(local);
}
template double reach_of(const ShapeView<2>& local);
template double reach_of(const ShapeView<3>& local);

template <std::size_t D>
bool is_moved_by_turning(const ShapeView<D>& local) {
  bool is_moved = false;
  for_each_simple<D>(local, [&](const ShapeView<D>& part) {
    const bool is_same = traits_of(part.kind).core == CoreForm::kPoint || part.kind == ShapeKind::kBox;
    is_moved = !is_same || std::any_of(part.record.begin(), part.record.begin() + D, [](double x) { return x != 0; });
    return !is_moved;
  });
  return is_moved;
}
template bool is_moved_by_turning(const ShapeView<2>& local);
template bool is_moved_by_turning(const ShapeView<3>& local);

template <std::size_t D>
bool find_near_motion(const TurningPair<D>& pair, double target, NearMotion<D>& near) {
  using namespace turning;
  if (is_unbounded(pair.first.local) || is_unbounded(pair.second.local)) {
    near = {pair, 0, 1,
            bounded_reach_of(pair.first.local) + bounded_reach_of(pair.second.local) + target +
                length_of<D>(pair.place) + length_of<D>(pair.motion)};
    return true;
  }
  near.scale = reach_of(pair.first.local) + reach_of(pair.second.local) + target;
  const double far = length_of<D>(pair.place) + length_of<D>(pair.motion);
  const double reach = near.scale * (1 + 0x1p-40) + 0x1p-46 * far, squared = product<D>(pair.motion, pair.motion);
  double begin = 0, end = 1;
  // Where the motion is nearest to the second, and how far before and behind it is near.
  const double middle = squared > 0 ? -product<D>(pair.place, pair.motion) / squared : 0.0;
  const Vec<D> nearest = squared > 0 ? sum_of<D>(pair.place, pair.motion, middle) : pair.place;
  const double least = length_of<D>(nearest);
  if (!(least <= reach)) return false;
  if (squared > 0) {
    const double half = std::sqrt((reach - least) * (reach + least) / squared);
    begin = std::max(begin, middle - half);
    end = std::min(end, middle + half);
    if (!(begin <= end)) return false;
  }
  near.begin = begin;
  near.length = end - begin;
  near.pair = pair;
  near.pair.place = sum_of<D>(pair.place, pair.motion, begin);
  for (double& x : near.pair.motion) x *= near.length;
  for (TurningShape<D>* shape : {&near.pair.first, &near.pair.second}) {
    if (begin > 0 && shape->turns()) shape->rotation = turned_by<D>(shape->rotation, shape->turn, begin);
    for (double& x : shape->turn) x *= near.length;
  }
  return true;
}
template bool find_near_motion(const TurningPair<2>& pair, double target, NearMotion<2>& near);
template bool find_near_motion(const TurningPair<3>& pair, double target, NearMotion<3>& near);

double impact_time(const TurningPair<2>& pair, double target, Vec<2>* normal) {
  return turning::impact_time<2>(pair, target, normal);
}
double impact_time(const TurningPair<3>& pair, double target, Vec<3>* normal) {
  return turning::impact_time<3>(pair, target, normal);
}
double impact_time_within(const TurningPair<3>& pair, double target, double scale, double from, double until,
                          Vec<3>* normal) {
  return turning::Advancement<3>(pair, target, scale).first_touch(from, until, *normal);
}

}  // namespace broadphase
