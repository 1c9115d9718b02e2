// Robots: trees of links with shapes, tested in thousands of configurations for whether and when they meet obstacles or
// themselves, and how far they are from it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "narrow/meshes.hpp"
#include "narrow/polytopes.hpp"
#include "robots/obstacles.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

using Quaternion = std::array<double, 4>;  // w, x, y, z

inline Quaternion composed(const Quaternion& a, const Quaternion& b) {
  return {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
          a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
}

// Precondition: a unit quaternion, up to rounding.
inline Vec<3> rotated_by(const Quaternion& q, const Vec<3>& v) {
  const Vec<3> twice{2 * (q[2] * v[2] - q[3] * v[1]), 2 * (q[3] * v[0] - q[1] * v[2]), 2 * (q[1] * v[1] - q[2] * v[0])};
  return {v[0] + q[0] * twice[0] + (q[2] * twice[2] - q[3] * twice[1]),
          v[1] + q[0] * twice[1] + (q[3] * twice[0] - q[1] * twice[2]),
          v[2] + q[0] * twice[2] + (q[1] * twice[1] - q[2] * twice[0])};
}

// Precondition: not all 0.
inline Quaternion unit_quaternion(const double* numbers) {
  double most = 0, squared = 0;
  for (std::size_t k = 0; k < 4; ++k) most = std::max(most, std::abs(numbers[k]));
  Quaternion unit{};
  for (std::size_t k = 0; k < 4; ++k) {
    unit[k] = numbers[k] / most;  // so that no square is out of range
    squared += unit[k] * unit[k];
  }
  if (squared != 1)
    for (double& number : unit) number /= std::sqrt(squared);
  return unit;
}

// The shorter way from one rotation to another, by unit quaternions [K. Shoemake, "Animating rotation with quaternion
// curves", SIGGRAPH 1985, 10.1145/325334.325242].
struct RotationPath {
  Quaternion from{}, to{};
  double half = 0;  // half the angle of the rotation, at most a right angle

  RotationPath(const double* begin, const double* end) : from(unit_quaternion(begin)), to(unit_quaternion(end)) {
    double apart = 0, together = 0;  // of both, and of one and the opposite of the other
    for (std::size_t k = 0; k < 4; ++k) {
      apart += (to[k] - from[k]) * (to[k] - from[k]);
      together += (to[k] + from[k]) * (to[k] + from[k]);
    }
    if (apart > together) {
      std::swap(apart, together);
      for (double& number : to) number = -number;
    }
    half = 2 * std::atan2(std::sqrt(apart), std::sqrt(together));
  }

  double angle() const { return 2 * half; }
  // Where it is at a share of the way, at an even speed; not quite of length 1.
  Quaternion at(double share) const {
    const double whole = std::sin(half);
    if (!(whole > 0)) return from;
    const double a = std::sin((1 - share) * half) / whole, b = std::sin(share * half) / whole;
    Quaternion found{};
    for (std::size_t k = 0; k < 4; ++k) found[k] = a * from[k] + b * to[k];
    return found;
  }
};

enum class JointKind : std::uint8_t { kFixed, kTurns, kSlides, kBall, kFloats };
inline constexpr JointKind kLastJointKind = JointKind::kFloats;

// How many values a joint has: a quaternion of a ball, a position and a quaternion of what floats.
inline std::size_t value_count(JointKind kind) {
  switch (kind) {
    case JointKind::kFixed: return 0;
    case JointKind::kTurns:
    case JointKind::kSlides: return 1;
    case JointKind::kBall: return 4;
    case JointKind::kFloats: return 7;
  }
  return 0;
}

// A link, and the joint by which it moves in its parent's frame.
struct JointedLink {
  static constexpr std::int32_t kWorld = -1;

  std::int32_t parent = kWorld;
  JointKind joint = JointKind::kFixed;
  Vec<3> axis{};          // unit, in the frame of the link
  Vec<3> position{};      // of the link in its parent's frame while the joint is at 0
  Quaternion rotation{};  // the same; unit
  // What turns or slides is at scale * values[column] + offset: joints of one column move together.
  std::int32_t column = 0;
  double scale = 1, offset = 0;

  double value(const double* values) const { return scale * values[column] + offset; }
  bool has_quaternion() const { return joint == JointKind::kBall || joint == JointKind::kFloats; }
  // Precondition: has_quaternion().
  std::size_t quaternion_column() const {
    return static_cast<std::size_t>(column) + (joint == JointKind::kFloats ? 3 : 0);
  }
};

struct LinkPose {
  Vec<3> position;
  Quaternion rotation;
};

class Kinematics {
 public:
  // Precondition: parents come before their children.
  explicit Kinematics(std::vector<JointedLink> links) : links_(std::move(links)) {
    for (const JointedLink& link : links_) {
      is_plain_.push_back(link.rotation == Quaternion{1, 0, 0, 0} ? 1 : 0);
      const std::size_t count = value_count(link.joint);
      columns_ = std::max(columns_, count == 0 ? 0 : static_cast<std::size_t>(link.column) + count);
      if (link.has_quaternion()) quaternions_.push_back(link.quaternion_column());
    }
  }

  std::size_t link_count() const { return links_.size(); }
  // How many joint values there are at least.
  std::size_t column_count() const { return columns_; }
  const JointedLink& link(std::size_t k) const { return links_[k]; }

  // Writes the values at a share of the way between two rows of them, which all change evenly; rotations take the
  // shorter way. At both ends they are exactly those given.
  void write_between(const double* from, const double* to, double share, double* values) const {
    for (std::size_t k = 0; k < columns_; ++k) values[k] = share < 1 ? from[k] + share * (to[k] - from[k]) : to[k];
    if (share <= 0 || share >= 1) return;
    for (const std::size_t k : quaternions_) {
      const Quaternion found = RotationPath(from + k, to + k).at(share);
      std::copy(found.begin(), found.end(), values + k);
    }
  }

  // Writes the poses of all links in the world.
  void place(const double* values, LinkPose* poses) const {
    for (std::size_t k = 0; k < links_.size(); ++k) {
      const JointedLink& link = links_[k];
      LinkPose& pose = poses[k];
      pose = {link.position, link.rotation};
      if (link.parent >= 0) {
        const LinkPose& parent = poses[link.parent];
        const Vec<3> way = rotated_by(parent.rotation, link.position);
        for (std::size_t i = 0; i < 3; ++i) pose.position[i] = parent.position[i] + way[i];
        pose.rotation = is_plain_[k] != 0 ? parent.rotation : composed(parent.rotation, link.rotation);
      }
      if (link.joint == JointKind::kTurns) {
        const double half = 0.5 * link.value(values), c = std::cos(half), s = std::sin(half);
        pose.rotation = composed(pose.rotation, {c, s * link.axis[0], s * link.axis[1], s * link.axis[2]});
      } else if (link.joint == JointKind::kSlides) {
        const double by = link.value(values);
        const Vec<3> way = rotated_by(pose.rotation, {by * link.axis[0], by * link.axis[1], by * link.axis[2]});
        for (std::size_t i = 0; i < 3; ++i) pose.position[i] += way[i];
      } else if (link.has_quaternion()) {
        if (link.joint == JointKind::kFloats) {
          const double* const at = values + link.column;
          const Vec<3> way = rotated_by(pose.rotation, {at[0], at[1], at[2]});
          for (std::size_t i = 0; i < 3; ++i) pose.position[i] += way[i];
        }
        pose.rotation = composed(pose.rotation, unit_quaternion(values + link.quaternion_column()));
      }
    }
  }

 private:
  std::vector<JointedLink> links_;
  std::vector<std::uint8_t> is_plain_;    // not rotated in the parent's frame at 0
  std::vector<std::size_t> quaternions_;  // the first column of each
  std::size_t columns_ = 0;
};

// A shape of a link, in the frame of the link.
struct RobotPart {
  std::size_t link = 0;
  ShapeKind kind = ShapeKind::kPoint;
  std::vector<double> local;
  Geometry geometry{};
  const VertexTree* vertices = nullptr;
  bool meets_obstacles = true;  // whether it is compared with them
};

// Two parts that are compared, by their numbers.
struct ComparedParts {
  std::size_t first, second;
};

class Articulated {
 public:
  // Precondition: as `Kinematics`.
  Articulated(std::vector<JointedLink> links, std::vector<RobotPart> parts, std::vector<ComparedParts> pairs)
      : kinematics_(std::move(links)), parts_(std::move(parts)), pairs_(std::move(pairs)) {
    for (const RobotPart& part : parts_) {
      numbers_at_.push_back(numbers_);
      numbers_ += part.local.size();
      around_.push_back(around_of(part, kinematics_.link(part.link).axis));
    }
    for (const ComparedParts& pair : pairs_) {
      const bool turn =
          around_[pair.first].turning == Turning::kWithLink && around_[pair.second].turning == Turning::kWithLink;
      meetings_.push_back(turn ? meeting_of(parts_[pair.first].link, parts_[pair.second].link) : JointedLink::kWorld);
    }
  }

  const Kinematics& kinematics() const { return kinematics_; }
  const std::vector<RobotPart>& parts() const { return parts_; }
  const std::vector<ComparedParts>& pairs() const { return pairs_; }

  // Whether a part turns with its link: boxes parallel to the axes stay so.
  enum class Turning : std::uint8_t { kWithLink, kNever, kSomeOfIt };
  // What surrounds a part in the frame of its link, for any rotation of that; the greatest distance of its points from
  // the origin of the link, but for the radius of a part that turns with it; and about half the length of the part.
  struct Around {
    Surrounding core;
    double reach, size;
    double from_axis;  // as `reach`, from the axis about which its own joint turns it
    Turning turning;
  };
  const Around& around(std::size_t part) const { return around_[part]; }
  // The last link in whose frame both parts of a pair move as their joints below it do, or JointedLink::kWorld.
  std::int32_t meeting(std::size_t pair) const { return meetings_[pair]; }

  // Where everything is in one configuration. One for each thread.
  class Posed {
   public:
    explicit Posed(const Articulated& robot)
        : robot_(robot),
          poses_(robot.kinematics_.link_count()),
          numbers_(robot.numbers_),
          pieces_(robot.parts_.size()) {
      for (std::size_t k = 0; k < pieces_.size(); ++k) {
        pieces_[k].geometry = robot.parts_[k].geometry;
        pieces_[k].element.polytope = robot.parts_[k].geometry.polytope;
        order.push_back(pieces_.size() - 1 - k);
      }
      hits.resize(pieces_.size());
    }

    void move(const double* values) { robot_.kinematics_.place(values, poses_.data()); }
    // As `Shapes` places the shape of a row, bit for bit.
    const Piece& place(std::size_t part) {
      const RobotPart& of = robot_.parts_[part];
      const LinkPose& pose = poses_[of.link];
      double* const to = numbers_.data() + robot_.numbers_at_[part];
      const ShapeKind kind = place_shape<3>(of.kind, of.local, Pose<3>(pose.position.data(), pose.rotation.data()), to);
      Piece& piece = pieces_[part];
      piece.element.shape = {kind, {to, kind == ShapeKind::kBox ? 6 : of.local.size()}};
      piece.set_box(of.vertices);
      return piece;
    }
    void place_all() {
      for (std::size_t part = 0; part < pieces_.size(); ++part) place(part);
    }
    const Piece& piece(std::size_t part) const { return pieces_[part]; }
    const LinkPose& pose(std::size_t link) const { return poses_[link]; }
    // In which order `collides` looks at parts, and how often each has met an obstacle.
    std::vector<std::size_t> order, hits;

   private:
    const Articulated& robot_;
    std::vector<LinkPose> poses_;
    std::vector<double> numbers_;
    std::vector<Piece> pieces_;
  };

  // Whether a part meets an obstacle or another part. Parts are grown by `padding` where they are compared with
  // obstacles; these may be null. Those that have met most so far go first, and before that the last links.
  bool collides(const double* values, const Obstacles* obstacles, double padding, Posed& posed) const {
    posed.move(values);
    for (std::size_t k = 0; k < posed.order.size(); ++k) {
      const std::size_t part = posed.order[k];
      const Piece& piece = posed.place(part);
      if (obstacles == nullptr || !parts_[part].meets_obstacles || !meets(piece, *obstacles, padding)) continue;
      ++posed.hits[part];
      if (k > 0 && posed.hits[part] > posed.hits[posed.order[k - 1]]) std::swap(posed.order[k], posed.order[k - 1]);
      return true;
    }
    for (const ComparedParts& pair : pairs_)
      if (parts_meet(posed.piece(pair.first), posed.piece(pair.second))) return true;
    return false;
  }

  // The least distance of a part from an obstacle or another part; 0 where any overlap; infinite beyond the limit.
  double clearance(const double* values, const Obstacles* obstacles, double within, Posed& posed) const {
    posed.move(values);
    double least = within;
    bool is_near = false;
    const auto keep = [&](double distance) {
      is_near |= distance <= least;
      least = std::min(least, distance);
    };
    posed.place_all();
    // First the pair that seems to be the nearest: others, and most obstacles, are then seen to be farther away.
    const std::size_t first = seemingly_nearest(posed);
    for (std::size_t k = 0; k < pairs_.size() && (least > 0 || !is_near); ++k)
      keep(between(posed, pairs_[k == 0 ? first : k <= first ? k - 1 : k], least, kNone));
    for (std::size_t part = parts_.size(); part-- > 0 && (least > 0 || !is_near);)
      if (obstacles != nullptr && parts_[part].meets_obstacles) {
        const Piece* last = nullptr;
        keep(nearest(posed.piece(part), *obstacles, least, kNone, last));
      }
    return is_near ? least : kNone;
  }

  // As `overlap`. What surrounds hulls and meshes is compared first: that is quick, and their own test is not.
  static bool parts_meet(const Piece& a, const Piece& b) {
    if (!boxes_meet(a.box, b.box)) return false;
    const bool is_quick = !a.has_geometry() && !b.has_geometry();
    return (is_quick || Surrounding::apart(Surrounding(a.element.shape), Surrounding(b.element.shape)) <= 0) &&
           overlap(a, b);
  }

  static bool meets(const Piece& piece, const Obstacles& obstacles, double padding) {
    if (!(padding > 0))
      return obstacles.any_near(
          piece.box, 0, [&] { return Surrounding(piece.element.shape); },
          [&](const Piece& other) { return parts_meet(piece, other); });
    constexpr double kMore = 1 + 1e-12;
    const Surrounding around(piece.element.shape);
    return obstacles.any_near(
        piece.box, padding * kMore, [&] { return around; },
        [&](const Piece& other) {
          return squared_gap(piece.box, other.box) <= padding * padding * kMore &&
                 Surrounding::apart(around, obstacles.around(other)) <= padding &&
                 broadphase::distance(piece, other, padding) <= padding;
        });
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  // The least distance from an obstacle; infinite beyond the limit. Those of hulls and meshes above `exact_below` may
  // be lower bounds, which cost a hundredth. `last`: an obstacle that is likely to be the nearest, or null; is set to
  // the nearest.
  static double nearest(const Piece& piece, const Obstacles& obstacles, double limit, double exact_below,
                        const Piece*& last) {
    double least = limit;
    bool is_near = false;
    const Surrounding around(piece.element.shape);
    const auto look = [&](const Piece& other) {
      if (squared_gap(piece.box, other.box) > least * least) return least;
      const double apart = Surrounding::apart(around, obstacles.around(other));
      if (apart > least) return least;
      const double found =
          is_coarse(piece, other, apart, exact_below) ? apart : broadphase::clearance(piece, other, least);
      if (found <= least) {
        is_near = true;
        least = found;
        last = &other;
      }
      return is_near && least == 0 ? -1.0 : least;
    };
    const Piece* const guess = last;
    if (guess != nullptr && look(*guess) < 0) return 0;
    obstacles.visit_near(piece.box, around, least,
                         [&](const Piece& other) { return &other == guess ? least : look(other); });
    return is_near ? least : kNone;
  }
  // The pair whose boxes are nearest; 0 if there is none.
  std::size_t seemingly_nearest(const Posed& posed) const {
    std::size_t nearest = 0;
    double least = kNone;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const double squared = squared_gap(posed.piece(pairs_[k].first).box, posed.piece(pairs_[k].second).box);
      if (squared < least) {
        least = squared;
        nearest = k;
      }
    }
    return nearest;
  }
  static double between(const Posed& posed, const ComparedParts& pair, double limit, double exact_below) {
    const Piece &a = posed.piece(pair.first), &b = posed.piece(pair.second);
    if (squared_gap(a.box, b.box) > limit * limit) return kNone;
    const double apart = Surrounding::apart(Surrounding(a.element.shape), Surrounding(b.element.shape));
    if (apart > limit) return kNone;
    return is_coarse(a, b, apart, exact_below) ? apart : broadphase::clearance(a, b, limit);
  }
  static bool is_coarse(const Piece& a, const Piece& b, double apart, double exact_below) {
    return apart > exact_below && (a.has_geometry() || b.has_geometry());
  }

  static Around around_of(const RobotPart& part, const Vec<3>& axis) {
    const Vec<3> origin{};
    std::vector<double> placed(part.local.size());
    const ShapeKind kind = place_shape<3>(part.kind, part.local, Pose<3>(origin.data(), nullptr), placed.data());
    const ShapeView<3> shape{kind, {placed.data(), kind == ShapeKind::kBox ? 6 : placed.size()}};
    Around around{Surrounding(shape), 0, 0, 0, Turning::kWithLink};
    Surrounding& core = around.core;
    if (core.is_unbounded()) return around;  // of a link that never moves
    constexpr double kRounding = 1 + 1e-12;
    for (int corner = 0; corner < 8; ++corner) {
      Vec<3> at = core.centre;
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t k = 0; k < 3; ++k) at[k] += ((corner >> i & 1) != 0 ? 1 : -1) * core.half[i] * core.axes[i][k];
      around.reach = std::max(around.reach, length_of(at) * kRounding);
      const double along = at[0] * axis[0] + at[1] * axis[1] + at[2] * axis[2];
      for (std::size_t k = 0; k < 3; ++k) at[k] -= along * axis[k];
      around.from_axis = std::max(around.from_axis, length_of(at) * kRounding);
    }
    around.from_axis += 1e-12 * around.reach;
    around.size = length_of(core.half) + core.radius;
    if (part.kind == ShapeKind::kBox) around.turning = Turning::kNever;
    if (part.kind == ShapeKind::kCompound) {
      for_each_part<3>(part.local, [&](const ShapeView<3>& inner) {
        if (inner.kind == ShapeKind::kBox) around.turning = Turning::kSomeOfIt;
        return true;
      });
      if (around.turning == Turning::kSomeOfIt) {  // a ball around the origin of the link
        around.reach += length_of(core.half) * kRounding;
        around.from_axis = around.reach;
        core = {};
        core.radius = around.reach;
        core.is_shape = false;
      }
    }
    return around;
  }
  static double length_of(const Vec<3>& way) { return std::sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]); }

  // The last link that moves both, or JointedLink::kWorld.
  std::int32_t meeting_of(std::size_t a, std::size_t b) const {
    auto x = static_cast<std::int32_t>(a), y = static_cast<std::int32_t>(b);
    // A parent has a lower number.
    while (x != y) {
      std::int32_t& last = x > y ? x : y;
      last = kinematics_.link(static_cast<std::size_t>(last)).parent;
    }
    return x;
  }

  Kinematics kinematics_;
  std::vector<RobotPart> parts_;
  std::vector<ComparedParts> pairs_;
  std::size_t numbers_ = 0;              // of all records
  std::vector<std::size_t> numbers_at_;  // where those of each part are
  std::vector<Around> around_;           // of parts
  std::vector<std::int32_t> meetings_;   // of pairs
};

}  // namespace broadphase
