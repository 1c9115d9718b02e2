// Edges of motion planners: whether a robot meets something on the straight way from one configuration to another, and
// where first. Exact: the way is halved until every part of it is seen to be free, or something meets in its middle.
//
// Around the middle of a stretch, each point is where its velocity takes it but for half its greatest acceleration
// times the square of the time [1]. So two shapes that are separated along a direction in the middle stay so while the
// gap along this direction, which closes at the speed of their corners, is larger than that. Each shape is compared
// again in both halves only with those from which it was not seen to be apart in the whole stretch [2].
//
// 1. S. Redon, Y. J. Kim, M. C. Lin, D. Manocha, "Fast Continuous Collision Detection for Articulated Models", Journal
//    of Computing and Information Science in Engineering 5(2), 2005, 10.1115/1.1884133
// 2. F. Schwarzer, M. Saha, J.-C. Latombe, "Adaptive Dynamic Collision Checking for Single and Multiple Articulated
//    Robots in Complex Environments", IEEE Transactions on Robotics 21(3), 2005, 10.1109/TRO.2004.838012
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "robots/articulated.hpp"
#include "robots/obstacles.hpp"

namespace broadphase {

// What surrounds a shape, and how it moves now: the velocity of its middle, and those of the ends of its half axes
// beyond that.
struct MovingCore {
  Surrounding core;
  Vec<3> velocity{};
  std::array<Vec<3>, 3> swing{};
};

// Where two of them are not known to be apart, from -h to h.
struct Doubt {
  bool before = true, after = true;
  double gap = -std::numeric_limits<double>::infinity();  // at 0, a lower bound of their distance if not negative
};

class EdgeSearch {
 public:
  // One for each thread.
  explicit EdgeSearch(const Articulated& robot)
      : robot_(robot),
        posed_(robot),
        links_(robot.kinematics().link_count()),
        moving_(robot.kinematics().link_count()),
        cores_(robot.parts().size()),
        seen_(robot.parts().size()),
        placed_(robot.parts().size()),
        values_(robot.kinematics().column_count()),
        bounds_(robot.parts().size() + robot.pairs().size()) {}

  // Whether anything meets on the way. What comes nearer than the tolerance may count as meeting. Stretches of one
  // length are looked at before their halves, so that most ways on which something meets are left after a few.
  template <class Look>
  bool collides(const double* from, const double* to, const Obstacles* obstacles, double padding, double tolerance,
                const Look& look) {
    begin(from, to, obstacles, padding, tolerance);
    broad_.clear();
    deep_.clear();
    broad_items_.clear();
    deep_items_.clear();
    push(broad_, broad_items_, first_items(), {0.5, 0.5});
    for (std::size_t k = 0; k < broad_.size(); ++k) {
      const Stretch stretch = broad_[k];
      items_.assign(broad_items_.begin() + static_cast<std::ptrdiff_t>(stretch.first),
                    broad_items_.begin() + static_cast<std::ptrdiff_t>(stretch.first + stretch.count));
      const bool is_broad = stretch.half > kBroad;
      if (examine(stretch, look) != Found::kNothing) return true;
      const double quarter = stretch.half / 2;
      push(is_broad ? broad_ : deep_, is_broad ? broad_items_ : deep_items_, before_,
           {stretch.middle - quarter, quarter});
      push(is_broad ? broad_ : deep_, is_broad ? broad_items_ : deep_items_, after_,
           {stretch.middle + quarter, quarter});
      while (!deep_.empty()) {
        const Stretch deeper = pop();
        if (examine(deeper, look) != Found::kNothing) return true;
        push_halves(deeper);
      }
    }
    return false;
  }

  // The share of the way up to which nothing meets, and at which something is at most `tolerance` from meeting;
  // infinite if nothing meets up to the end.
  template <class Look>
  double first_contact(const double* from, const double* to, const Obstacles* obstacles, double padding,
                       double tolerance, const Look& look) {
    if (robot_.collides(from, obstacles, padding, posed_)) return 0;
    begin(from, to, obstacles, padding, tolerance);
    deep_.clear();
    deep_items_.clear();
    push(deep_, deep_items_, first_items(), {0.5, 0.5});
    double contact = kNone;
    while (!deep_.empty()) {
      const Stretch stretch = pop();
      const Found found = examine(stretch, look);
      if (found == Found::kNothing) {
        push_halves(stretch);
      } else if (found == Found::kTouches) {
        return stretch.middle - stretch.half;
      } else {  // everything later is of no interest
        contact = stretch.middle;
        deep_.clear();
        deep_items_.clear();
        before_ = items_;
        const double quarter = stretch.half / 2;
        push(deep_, deep_items_, before_, {stretch.middle - quarter, quarter});
      }
    }
    return contact;
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  static constexpr double kBroad = 1.0 / 64;
  static constexpr double kShortest = 0x1p-46;  // the shares of shorter ones are not told apart
  static constexpr std::size_t kStepsALook = 1024;
  // More candidates are found again in the halves: among 500 boxes 16 take as long, near point clouds twice as long.
  static constexpr std::size_t kMostKept = 4;
  static constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();

  enum class Found : std::uint8_t { kNothing, kMeets, kTouches };

  // From middle - half to middle + half, with what is to be compared there: for each item, its number, how many
  // obstacles follow, or kAll, and these.
  struct Stretch {
    double middle, half;
    std::size_t first = 0, count = 0;
  };

  // How a link moves relative to its parent, per unit of the way.
  struct JointMotion {
    Vec<3> turn{}, slide{};  // in the frame in which the joint turns it
    double turn_rate = 0, slide_rate = 0;
    double farthest = 0;  // of the link from the origin of its parent
    double most_value = 0;
  };
  struct LinkVelocity {
    Vec<3> position{}, turn{};
  };
  // Of a part, or of two relative to each other: by how far any point moves at most, per unit of the way; a bound of
  // its acceleration; and how far rounding may take it.
  struct Bounds {
    double speed = 0, bend = 0, slack = 0;
    bool is_known = false;
  };

  static double dot(const Vec<3>& a, const Vec<3>& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  static Vec<3> cross(const Vec<3>& a, const Vec<3>& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  }
  static double length_of(const Vec<3>& way) { return std::sqrt(dot(way, way)); }
  static Vec<3> sum_of(const Vec<3>& a, const Vec<3>& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
  static Vec<3> way_to(const Vec<3>& a, const Vec<3>& b) { return {b[0] - a[0], b[1] - a[1], b[2] - a[2]}; }
  static std::size_t axis_count(const Surrounding& core) { return core.has_frame ? 3 : core.half[0] > 0 ? 1 : 0; }

  // ---- Stretches ----

  void push(std::vector<Stretch>& stretches, std::vector<std::uint32_t>& kept, const std::vector<std::uint32_t>& items,
            Stretch stretch) {
    if (items.empty()) return;
    stretch.first = kept.size();
    stretch.count = items.size();
    kept.insert(kept.end(), items.begin(), items.end());
    stretches.push_back(stretch);
  }
  void push_halves(const Stretch& stretch) {
    const double quarter = stretch.half / 2;
    push(deep_, deep_items_, after_, {stretch.middle + quarter, quarter});
    push(deep_, deep_items_, before_, {stretch.middle - quarter, quarter});
  }
  Stretch pop() {
    const Stretch stretch = deep_.back();
    deep_.pop_back();
    const auto begin = deep_items_.begin() + static_cast<std::ptrdiff_t>(stretch.first);
    items_.assign(begin, deep_items_.end());
    deep_items_.erase(begin, deep_items_.end());
    return stretch;
  }
  const std::vector<std::uint32_t>& first_items() {
    items_.clear();
    // The last links first, which move most. Always in one order, so that answers do not depend on what a thread has
    // seen.
    for (std::size_t part = robot_.parts().size(); part-- > 0;)
      if (obstacles_ != nullptr && obstacles_->size() > 0 && robot_.parts()[part].meets_obstacles) {
        items_.push_back(static_cast<std::uint32_t>(part));
        items_.push_back(kAll);
      }
    for (std::size_t pair = 0; pair < robot_.pairs().size(); ++pair) {
      items_.push_back(static_cast<std::uint32_t>(robot_.parts().size() + pair));
      items_.push_back(0);
    }
    return items_;
  }

  // ---- Bounds of a way ----

  void begin(const double* from, const double* to, const Obstacles* obstacles, double padding, double tolerance) {
    from_ = from;
    to_ = to;
    obstacles_ = obstacles;
    padding_ = padding;
    tolerance_ = tolerance;
    const Kinematics& kinematics = robot_.kinematics();
    for (std::size_t k = 0; k < links_.size(); ++k) {
      const JointedLink& link = kinematics.link(k);
      JointMotion& motion = links_[k];
      motion = {};
      motion.farthest = length_of(link.position);
      if (link.has_quaternion()) {
        const std::size_t column = link.quaternion_column();
        const RotationPath path(from + column, to + column);
        const Quaternion way = composed(path.to, {path.from[0], -path.from[1], -path.from[2], -path.from[3]});
        const Vec<3> axis{way[1], way[2], way[3]};
        const double sine = length_of(axis);
        if (sine > 0) {
          motion.turn_rate = path.angle();
          const double sign = way[0] < 0 ? -1 : 1;
          for (std::size_t i = 0; i < 3; ++i) motion.turn[i] = sign * axis[i] / sine * motion.turn_rate;
        }
        motion.most_value = 8;
        if (link.joint == JointKind::kFloats) {
          Vec<3> most{};
          for (std::size_t i = 0; i < 3; ++i) {
            const double a = from[static_cast<std::size_t>(link.column) + i],
                         b = to[static_cast<std::size_t>(link.column) + i];
            motion.slide[i] = b - a;
            most[i] = std::max(std::abs(a), std::abs(b));
          }
          motion.slide_rate = length_of(motion.slide);
          motion.farthest += length_of(most);
        }
      } else if (link.joint != JointKind::kFixed) {
        const double a = link.value(from), b = link.value(to), most = std::max(std::abs(a), std::abs(b));
        const bool turns = link.joint == JointKind::kTurns;
        for (std::size_t i = 0; i < 3; ++i) (turns ? motion.turn : motion.slide)[i] = (b - a) * link.axis[i];
        (turns ? motion.turn_rate : motion.slide_rate) = std::abs(b - a);
        motion.most_value = std::abs(link.scale) * std::max(std::abs(from[link.column]), std::abs(to[link.column])) +
                            std::abs(link.offset);
        if (!turns) motion.farthest += most;
      }
    }
    for (Bounds& bounds : bounds_) bounds.is_known = false;
  }

  // In the frame of a link above it.
  Bounds bounds_below(std::size_t part, std::int32_t above) const {
    Bounds bounds;
    double reach = robot_.around(part).reach;
    for (auto at = static_cast<std::int32_t>(robot_.parts()[part].link); at != above;) {
      const JointMotion& motion = links_[static_cast<std::size_t>(at)];
      const JointedLink& link = robot_.kinematics().link(static_cast<std::size_t>(at));
      const bool is_own = static_cast<std::size_t>(at) == robot_.parts()[part].link && link.joint == JointKind::kTurns;
      const double turned = motion.turn_rate * (is_own ? robot_.around(part).from_axis : reach);
      // Of each two joints, the upper one turns the velocity that is due to the lower one.
      bounds.bend += motion.turn_rate * (turned + 2 * bounds.speed);
      bounds.speed += turned + motion.slide_rate;
      bounds.slack += kRounding * motion.most_value * (link.joint == JointKind::kSlides ? 1 : reach);
      reach += motion.farthest;
      at = link.parent;
    }
    bounds.slack += kRounding * reach;
    return bounds;
  }
  static constexpr double kRounding = 0x1p-47;

  const Bounds& bounds_of(std::size_t item) {
    Bounds& bounds = bounds_[item];
    if (bounds.is_known) return bounds;
    const std::size_t parts = robot_.parts().size();
    if (item < parts) {
      bounds = bounds_below(item, JointedLink::kWorld);
    } else {
      const ComparedParts& pair = robot_.pairs()[item - parts];
      const std::int32_t above = robot_.meeting(item - parts);
      const Bounds a = bounds_below(pair.first, above), b = bounds_below(pair.second, above);
      bounds = {a.speed + b.speed, a.bend + b.bend, a.slack + b.slack, true};
    }
    if (!(bounds.speed > 0) && item < parts) bounds.slack = 0;  // it is at the very same place all the way
    bounds.is_known = true;
    return bounds;
  }

  // ---- Where everything is in the middle of a stretch, and how it moves ----

  void move(double share) {
    const Kinematics& kinematics = robot_.kinematics();
    kinematics.write_between(from_, to_, share, values_.data());
    posed_.move(values_.data());
    ++now_;
    for (std::size_t k = 0; k < links_.size(); ++k) {
      const JointedLink& link = kinematics.link(k);
      const JointMotion& joint = links_[k];
      LinkVelocity& moving = moving_[k];
      moving = {};
      const LinkPose& pose = posed_.pose(k);
      Quaternion before = pose.rotation;
      if (link.parent >= 0) {
        const auto parent = static_cast<std::size_t>(link.parent);
        moving = moving_[parent];
        const LinkPose& above = posed_.pose(parent);
        moving.position = sum_of(moving.position, cross(moving.turn, way_to(above.position, pose.position)));
        if (link.has_quaternion()) before = composed(above.rotation, link.rotation);
      } else if (link.has_quaternion()) {
        before = link.rotation;
      }
      if (joint.turn_rate > 0) moving.turn = sum_of(moving.turn, rotated_by(before, joint.turn));
      if (joint.slide_rate > 0) moving.position = sum_of(moving.position, rotated_by(before, joint.slide));
    }
  }
  // The greatest speed of a point of a part.
  double speed_of(std::size_t part, const MovingCore& core) const {
    return robot_.around(part).turning == Articulated::Turning::kSomeOfIt ? kNone : speed_of(core);
  }
  const MovingCore& core_of(std::size_t part) {
    MovingCore& core = cores_[part];
    if (seen_[part] == now_) return core;
    seen_[part] = now_;
    const std::size_t link = robot_.parts()[part].link;
    const LinkPose& pose = posed_.pose(link);
    const Surrounding& local = robot_.around(part).core;
    core.core = local;
    core.core.centre = sum_of(pose.position, rotated_by(pose.rotation, local.centre));
    const bool turns = robot_.around(part).turning == Articulated::Turning::kWithLink;
    for (std::size_t i = 0; i < axis_count(local) && turns; ++i)
      core.core.axes[i] = rotated_by(pose.rotation, local.axes[i]);
    set_velocities(link, JointedLink::kWorld, core);
    if (!turns) core.swing = {};
    return core;
  }
  // In the frame of a link above, as that is now.
  void set_velocities(std::size_t link, std::int32_t above, MovingCore& core) const {
    LinkVelocity moving = moving_[link];
    const Vec<3>& origin = posed_.pose(link).position;
    if (above >= 0) {
      const LinkVelocity& base = moving_[static_cast<std::size_t>(above)];
      const Vec<3> carried = cross(base.turn, way_to(posed_.pose(static_cast<std::size_t>(above)).position, origin));
      for (std::size_t k = 0; k < 3; ++k) {
        moving.position[k] -= base.position[k] + carried[k];
        moving.turn[k] -= base.turn[k];
      }
    }
    core.velocity = sum_of(moving.position, cross(moving.turn, way_to(origin, core.core.centre)));
    for (std::size_t i = 0; i < axis_count(core.core); ++i) {
      core.swing[i] = cross(moving.turn, core.core.axes[i]);
      for (double& x : core.swing[i]) x *= core.core.half[i];
    }
  }
  const Piece& piece_of(std::size_t part) {
    if (placed_[part] != now_) {
      placed_[part] = now_;
      posed_.place(part);
    }
    return posed_.piece(part);
  }
  // The greatest speed of its corners.
  static double speed_of(const MovingCore& core) {
    const std::size_t count = axis_count(core.core);
    double most = 0;
    const double own = dot(core.velocity, core.velocity);
    const auto look = [&](const Vec<3>& by) {
      most = std::max(most, own + dot(by, by) + 2 * std::abs(dot(by, core.velocity)));
    };
    if (count == 0) return std::sqrt(own);
    if (count == 1) {
      look(core.swing[0]);
      return std::sqrt(most);
    }
    for (const double y : {-1.0, 1.0})
      for (const double z : {-1.0, 1.0}) {
        Vec<3> by;
        for (std::size_t k = 0; k < 3; ++k) by[k] = core.swing[0][k] + y * core.swing[1][k] + z * core.swing[2][k];
        look(by);
      }
    return std::sqrt(most);
  }

  // ---- Two shapes in a stretch ----

  // Along which they seem to be farthest apart, from the second to the first; zeros where this is not seen.
  static Vec<3> direction_between(const Surrounding& a, const Surrounding& b) {
    const Vec<3> way = way_to(b.centre, a.centre);
    if (!a.has_frame && !b.has_frame) {
      if (a.half[0] == 0 && b.half[0] == 0) return way;
      return between_segments(a, b, way);
    }
    Vec<3> found{};
    double most = 0;
    const auto look = [&](const Surrounding& box, const Surrounding& other) {
      Vec<3> gaps{};
      double squared = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        const double along = dot(way, box.axes[i]);
        double gap = std::abs(along) - box.half[i] - other.half[0] * std::abs(dot(other.axes[0], box.axes[i]));
        if (other.has_frame)
          gap -= other.half[1] * std::abs(dot(other.axes[1], box.axes[i])) +
                 other.half[2] * std::abs(dot(other.axes[2], box.axes[i]));
        if (gap > 0) {
          squared += gap * gap;
          for (std::size_t k = 0; k < 3; ++k) gaps[k] += std::copysign(gap, along) * box.axes[i][k];
        }
      }
      if (squared > most) {
        most = squared;
        found = gaps;
      }
    };
    if (a.has_frame) look(a, b);
    if (b.has_frame) look(b, a);
    return found;
  }
  // Of the nearest points of two segments, or of one and a point.
  static Vec<3> between_segments(const Surrounding& a, const Surrounding& b, const Vec<3>& way) {
    const double along = dot(a.axes[0], b.axes[0]), x = dot(a.axes[0], way), y = dot(b.axes[0], way);
    const double whole = 1 - along * along;
    double s = whole > 1e-12 ? std::clamp((along * y - x) / whole, -a.half[0], a.half[0]) : 0.0;
    const double t = std::clamp(along * s + y, -b.half[0], b.half[0]);
    s = std::clamp(along * t - x, -a.half[0], a.half[0]);
    Vec<3> found;
    for (std::size_t k = 0; k < 3; ++k) found[k] = way[k] + s * a.axes[0][k] - t * b.axes[0][k];
    return found;
  }

  // Looks along a direction: whether the gap in the middle, less by how much each closes it until both ends, is above
  // `room`. `other` may stand still. Precondition: `size` bounds the coordinates.
  template <bool kBothMove>
  static void look_along(const Vec<3>& direction, const MovingCore& a, const Surrounding& still,
                         const MovingCore* other, double half, double bend, double room, Doubt& doubt) {
    const double squared = dot(direction, direction);
    if (!(squared > 0) || !(squared < kNone)) return;
    const double scale = 1 / std::sqrt(squared);
    const Vec<3> n{direction[0] * scale, direction[1] * scale, direction[2] * scale};
    const Surrounding& b = kBothMove ? other->core : still;
    const double apart = dot(n, a.core.centre) - dot(n, b.centre);
    double rate = dot(n, a.velocity);
    if (kBothMove) rate -= dot(n, other->velocity);
    double now = apart - a.core.radius - b.radius, before = now - half * rate, after = now + half * rate;
    double size = b.half[0] + b.half[1] + b.half[2] + b.radius + a.core.radius;
    for (std::size_t k = 0; k < 3; ++k) size += std::abs(a.core.centre[k]) + std::abs(b.centre[k]) + a.core.half[k];
    const auto subtract = [&](const MovingCore& core) {
      for (std::size_t i = 0; i < axis_count(core.core); ++i) {
        const double at = core.core.half[i] * dot(n, core.core.axes[i]), by = half * dot(n, core.swing[i]);
        now -= std::abs(at);
        before -= std::abs(at - by);
        after -= std::abs(at + by);
      }
    };
    subtract(a);
    if (kBothMove) {
      subtract(*other);
    } else {
      double extent = 0;
      for (std::size_t i = 0; i < axis_count(b); ++i) extent += b.half[i] * std::abs(dot(n, b.axes[i]));
      now -= extent;
      before -= extent;
      after -= extent;
    }
    const double slack = 1e-13 * size + room;
    doubt.gap = std::max(doubt.gap, now - slack);
    // The gap is that of straight motions less half the acceleration times the square of the time: least at an end.
    if (now <= slack) return;
    if (before > slack + bend) doubt.before = false;
    if (after > slack + bend) doubt.after = false;
  }

  struct Reach {
    double far;    // how far anything moves at most in half of the stretch
    double bend;   // of this, what is due to accelerations
    double slack;  // rounding
  };
  Reach reach_of(const Bounds& bounds, double fastest, double half) const {
    Reach reach;
    reach.slack = bounds.slack;
    reach.bend = bounds.bend * half * half / 2 * kMore;
    reach.far = std::min(bounds.speed * half, fastest * half + reach.bend) * kMore;
    return reach;
  }
  static constexpr double kMore = 1 + 1e-11;
  // So that what is in doubt from beginning to end is at most the tolerance away all the time.
  bool is_short_for(const Reach& reach, double half) const { return reach.far <= tolerance_ / 2 || half <= kShortest; }

  // Whether they meet in the middle; otherwise, sets where they are not known to be apart.
  // A piece is only placed if it must be.
  template <bool kBothMove, class PieceA, class PieceB>
  Found compare(const MovingCore& a, const Surrounding& still, const MovingCore* other, const PieceA& first,
                const PieceB& second, double size, double spare, const Reach& reach, double half, Doubt& doubt) {
    const Surrounding& b = kBothMove ? other->core : still;
    if (!kBothMove && b.is_unbounded()) {
      // Of a half space alone, its boundary point that is below the other counts.
      const Element& ground = second().element;
      if (is_half_space(ground.shape)) {
        Surrounding boundary;
        std::copy_n(ground.shape.record.begin(), 3, boundary.centre.begin());
        const Vec<3> normal{ground.shape.record[3], ground.shape.record[4], ground.shape.record[5]};
        look_along<false>(normal, a, boundary, other, half, reach.bend, reach.slack + spare, doubt);
      }
    } else {
      look_along<kBothMove>(direction_between(a.core, b), a, b, other, half, reach.bend, reach.slack + spare, doubt);
    }
    if (doubt.gap > reach.far) doubt.before = doubt.after = false;
    if (!doubt.before && !doubt.after) return Found::kNothing;
    // By how much the gap may be too small: not at all where the direction is that of the nearest points.
    const bool is_nearest = a.core.is_shape && b.is_shape &&
                            (axis_count(a.core) == 0 || axis_count(b) == 0 || !(a.core.has_frame || b.has_frame));
    const double loose = is_nearest ? 0 : kLoose * size + looseness_of(a.core) + looseness_of(b);
    const bool is_short = is_short_for(reach, half);
    const Found meets = is_short ? Found::kTouches : Found::kMeets;
    if (doubt.gap > 0 && !is_short && reach.far > doubt.gap + loose) return Found::kNothing;
    const Piece &x = first(), &y = second();
    if (!is_short && reach.far > loose + std::max(doubt.gap, 0.0)) {  // only whether they meet
      const bool meet = spare > 0 ? broadphase::distance(x, y, spare) <= spare : Articulated::parts_meet(x, y);
      return meet ? meets : Found::kNothing;
    }
    double distance;
    if (x.is_element() && y.is_element()) {
      Vec<3> normal{};
      distance = signed_distance(x.element, y.element, &normal);
      if (spare > 0 ? distance <= spare : distance <= 0 || overlap(x, y)) return meets;
      if (distance < kNone)
        look_along<kBothMove>({-normal[0], -normal[1], -normal[2]}, a, b, other, half, reach.bend, reach.slack + spare,
                              doubt);
    } else {
      distance = broadphase::clearance(x, y, (reach.far + spare + reach.slack) * kMore);
      if (distance <= spare) return meets;
    }
    if (distance - spare - reach.slack > reach.far * kMore + 1e-12 * (size_of(x) + size_of(y)))
      doubt.before = doubt.after = false;
    if (!doubt.before && !doubt.after) return Found::kNothing;
    return is_short ? Found::kTouches : Found::kNothing;
  }
  static constexpr double kLoose = 0.5;
  static double looseness_of(const Surrounding& core) { return core.is_shape ? 0 : length_of(core.half) + core.radius; }
  // Of its coordinates; what has no end has them where the other shape is.
  static double size_of(const Piece& piece) {
    double size = 0;
    for (const double x : piece.box) size += std::isfinite(x) ? std::abs(x) : 0;
    return size;
  }

  // Compares everything that is in `items_`, in the middle of a stretch. Writes what is in doubt before and after it.
  template <class Look>
  Found examine(const Stretch& stretch, const Look& look) {
    if (++steps_ % kStepsALook == 0) look();
    before_.clear();
    after_.clear();
    move(stretch.middle);
    const std::size_t parts = robot_.parts().size();
    for (std::size_t at = 0; at < items_.size();) {
      const std::size_t item = items_[at];
      const std::uint32_t count = items_[at + 1];
      const std::span<const std::uint32_t> given(items_.data() + at + 2, count == kAll ? 0 : count);
      at += 2 + given.size();
      const Found found = item < parts ? examine_part(item, count == kAll, given, stretch.half)
                                       : examine_pair(item - parts, stretch.half);
      if (found != Found::kNothing) return found;
    }
    return Found::kNothing;
  }

  Found examine_pair(std::size_t pair, double half) {
    const std::size_t item = robot_.parts().size() + pair;
    const ComparedParts& compared = robot_.pairs()[pair];
    const Bounds& bounds = bounds_of(item);
    const MovingCore &a = core_of(compared.first), &b = core_of(compared.second);
    MovingCore x = a, y = b;
    const std::int32_t above = robot_.meeting(pair);
    if (above >= 0) {
      set_velocities(robot_.parts()[compared.first].link, above, x);
      set_velocities(robot_.parts()[compared.second].link, above, y);
    }
    const Reach reach = reach_of(bounds, speed_of(compared.first, x) + speed_of(compared.second, y), half);
    Doubt doubt;
    const Found found = compare<true>(
        x, y.core, &y, [&]() -> const Piece& { return piece_of(compared.first); },
        [&]() -> const Piece& { return piece_of(compared.second); },
        robot_.around(compared.first).size + robot_.around(compared.second).size, 0, reach, half, doubt);
    if (found != Found::kNothing) return found;
    for (const auto& [is_in_doubt, to] : {std::pair{doubt.before, &before_}, std::pair{doubt.after, &after_}})
      if (is_in_doubt) {
        to->push_back(static_cast<std::uint32_t>(item));
        to->push_back(0);
      }
    return Found::kNothing;
  }

  Found examine_part(std::size_t part, bool all, std::span<const std::uint32_t> given, double half) {
    const Bounds& bounds = bounds_of(part);
    const MovingCore& core = core_of(part);
    const Reach reach = reach_of(bounds, speed_of(part, core), half);
    const std::size_t begin_before = before_.size(), begin_after = after_.size();
    for (std::vector<std::uint32_t>* const to : {&before_, &after_}) {
      to->push_back(static_cast<std::uint32_t>(part));
      to->push_back(0);
    }
    Found found = Found::kNothing;
    std::size_t kept = 0;
    double nearest = kNone;
    const auto visit = [&](std::uint32_t obstacle) {
      Doubt doubt;
      found = compare<false>(
          core, obstacles_->around(obstacle), nullptr, [&]() -> const Piece& { return piece_of(part); },
          [&]() -> const Piece& { return obstacles_->piece(obstacle); }, robot_.around(part).size, padding_, reach,
          half, doubt);
      if (found != Found::kNothing) return true;
      if (doubt.before) before_.push_back(obstacle);
      if (doubt.after) after_.push_back(obstacle);
      if (doubt.before || doubt.after) ++kept;
      if (doubt.before && doubt.after) nearest = std::min(nearest, std::max(doubt.gap, 0.0));
      return false;
    };
    bool is_given_up = false;
    if (!all) {
      for (const std::uint32_t obstacle : given)
        if (visit(obstacle)) return found;
    } else if (half > kBroad && reach.far > kCoarse * robot_.around(part).size) {
      is_given_up = true;
    } else {
      std::array<double, 6> box;
      for (std::size_t k = 0; k < 3; ++k) {
        double extent = core.core.radius;
        for (std::size_t i = 0; i < axis_count(core.core); ++i)
          extent += core.core.half[i] * std::abs(core.core.axes[i][k]);
        extent += 1e-13 * (extent + std::abs(core.core.centre[k]));
        if (core.core.is_unbounded()) extent = kNone;
        box[k] = core.core.centre[k] - extent;
        box[3 + k] = core.core.centre[k] + extent;
      }
      const double by = (padding_ + reach.far + reach.slack) * kMore;
      obstacles_->any_near(
          box, by, [&] { return core.core; },
          [&](const Piece& piece) {
            if (visit(obstacles_->number_of(piece))) return true;
            is_given_up = kept > kMostKept || nearest < kHopeless * reach.far;
            return is_given_up;
          });
      if (found != Found::kNothing) return found;
    }
    if (is_given_up && robot_.meets(piece_of(part), *obstacles_, padding_))
      return is_short_for(reach, half) ? Found::kTouches : Found::kMeets;
    close_item(before_, begin_before, is_given_up);
    close_item(after_, begin_after, is_given_up);
    return Found::kNothing;
  }
  // What moves by more than some times its size is only compared as it is, and so is what comes so near an obstacle.
  static constexpr double kCoarse = 3, kHopeless = 0.25;
  static void close_item(std::vector<std::uint32_t>& items, std::size_t begin, bool is_given_up) {
    const std::size_t count = items.size() - begin - 2;
    if (is_given_up || count > kMostKept) {
      items.resize(begin + 2);
      items[begin + 1] = kAll;
    } else if (count == 0) {
      items.resize(begin);
    } else {
      items[begin + 1] = static_cast<std::uint32_t>(count);
    }
  }

  const Articulated& robot_;
  Articulated::Posed posed_;
  std::vector<JointMotion> links_;
  std::vector<LinkVelocity> moving_;
  std::vector<MovingCore> cores_;
  std::vector<std::uint64_t> seen_, placed_;  // when those of each part were last computed
  std::uint64_t now_ = 0, steps_ = 0;
  std::vector<double> values_;
  std::vector<Bounds> bounds_;  // of parts, then of pairs
  std::vector<Stretch> broad_, deep_;
  std::vector<std::uint32_t> broad_items_, deep_items_, items_, before_, after_;
  const double *from_ = nullptr, *to_ = nullptr;
  const Obstacles* obstacles_ = nullptr;
  double padding_ = 0, tolerance_ = 0;
};

}  // namespace broadphase
