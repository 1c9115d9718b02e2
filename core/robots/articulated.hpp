// Robots: trees of links with shapes, asked in thousands of configurations whether and when they meet obstacles or
// themselves, and how far they are from it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "narrow/meshes.hpp"
#include "narrow/polytopes.hpp"
#include "robots/kinematics.hpp"
#include "robots/obstacles.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// A shape of a link, in the frame of the link.
struct RobotPart {
  std::size_t link = 0;
  ShapeKind kind = ShapeKind::kPoint;
  std::vector<double> local;
  const MeshTree* tree = nullptr;
  const Polytope* polytope = nullptr;
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
      reaches_.push_back(reach_of(part));
    }
    for (const ComparedParts& pair : pairs_)
      meetings_.push_back(meeting_of(parts_[pair.first].link, parts_[pair.second].link));
  }

  const Kinematics& kinematics() const { return kinematics_; }
  std::size_t part_count() const { return parts_.size(); }

  // Where everything is in one configuration. One for each thread.
  class Posed {
   public:
    explicit Posed(const Articulated& robot)
        : robot_(robot),
          poses_(robot.kinematics_.link_count()),
          numbers_(robot.numbers_),
          pieces_(robot.parts_.size()) {
      for (std::size_t k = 0; k < pieces_.size(); ++k) {
        pieces_[k].tree = robot.parts_[k].tree;
        pieces_[k].element.polytope = robot.parts_[k].polytope;
      }
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
      piece.set_box();
      return piece;
    }
    void place_all() {
      for (std::size_t part = 0; part < pieces_.size(); ++part) place(part);
    }
    const Piece& piece(std::size_t part) const { return pieces_[part]; }
    // Scratch of `first_contact`.
    std::vector<double> values, safe_until, speeds;

   private:
    const Articulated& robot_;
    std::vector<LinkPose> poses_;
    std::vector<double> numbers_;
    std::vector<Piece> pieces_;
  };

  // Whether a part meets an obstacle or another part. Parts are grown by `padding` where they are compared with
  // obstacles; these may be null. The last links go first: they are the most likely to collide.
  bool collides(const double* values, const Obstacles* obstacles, double padding, Posed& posed) const {
    posed.move(values);
    for (std::size_t part = parts_.size(); part-- > 0;) {
      const Piece& piece = posed.place(part);
      if (obstacles != nullptr && parts_[part].meets_obstacles && meets(piece, *obstacles, padding)) return true;
    }
    for (const ComparedParts& pair : pairs_)
      if (overlap(posed.piece(pair.first), posed.piece(pair.second))) return true;
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
    for (std::size_t k = 0; k < pairs_.size() && (least > 0 || !is_near); ++k) keep(between(posed, pairs_[k], least));
    for (std::size_t part = parts_.size(); part-- > 0 && (least > 0 || !is_near);)
      if (obstacles != nullptr && parts_[part].meets_obstacles) keep(nearest(posed.piece(part), *obstacles, least));
    return is_near ? least : kNone;
  }

  // The share of the straight way from some values to others up to which nothing meets, and at which something is at
  // most `tolerance` from meeting; infinite if nothing is up to the end. Conservative advancement: each part or pair is
  // looked at again when the motion since then may have used up its distance.
  double first_contact(const double* from, const double* to, const Obstacles* obstacles, double padding,
                       double tolerance, Posed& posed) const {
    const std::size_t parts = parts_.size(), items = parts + pairs_.size(), columns = kinematics_.column_count();
    posed.values.assign(columns, 0.0);
    posed.safe_until.assign(items, 0.0);
    posed.speeds.assign(items, 0.0);
    for (std::size_t item = 0; item < items; ++item)
      posed.speeds[item] = item < parts
                               ? speed_below(item, kNoLink, from, to)
                               : speed_below(pairs_[item - parts].first, meetings_[item - parts], from, to) +
                                     speed_below(pairs_[item - parts].second, meetings_[item - parts], from, to);
    for (std::size_t part = 0; part < parts; ++part)
      if (obstacles == nullptr || !parts_[part].meets_obstacles) posed.safe_until[part] = kNone;
    double time = 0;
    while (true) {
      // Exactly the given values at both ends.
      for (std::size_t k = 0; k < columns; ++k) posed.values[k] = time < 1 ? from[k] + time * (to[k] - from[k]) : to[k];
      posed.move(posed.values.data());
      double next = kNone;
      for (std::size_t item = items; item-- > 0;) {
        double& until = posed.safe_until[item];
        if (until <= time) {
          const double speed = posed.speeds[item], spare = item < parts ? padding : 0.0;
          // What is farther away stays so until the end.
          const double limit = speed * (1 - time) + spare + tolerance;
          double distance;
          if (item < parts) {
            distance = nearest(posed.place(item), *obstacles, limit) - spare;
          } else {
            const ComparedParts& pair = pairs_[item - parts];
            posed.place(pair.first);
            posed.place(pair.second);
            distance = between(posed, pair, limit);
          }
          if (distance <= tolerance) return time;
          constexpr double kRounding = 1 - 1e-12;
          until = speed > 0 ? std::max(time + distance / speed * kRounding, std::nextafter(time, 2.0)) : kNone;
        }
        next = std::min(next, until);
      }
      if (next > 1 || time >= 1) return kNone;
      time = next;
    }
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  static constexpr std::int32_t kNoLink = JointedLink::kWorld;

  static bool meets(const Piece& piece, const Obstacles& obstacles, double padding) {
    if (!(padding > 0))
      return obstacles.any_meeting(piece.box, [&](const Piece& other) { return overlap(piece, other); });
    constexpr double kMore = 1 + 1e-12;
    std::array<double, 6> box = piece.box;
    for (std::size_t k = 0; k < 3; ++k) {
      box[k] -= padding * kMore;
      box[3 + k] += padding * kMore;
    }
    return obstacles.any_meeting(box, [&](const Piece& other) {
      return squared_gap(piece.box, other.box) <= padding * padding * kMore &&
             broadphase::distance(piece, other, padding) <= padding;
    });
  }

  // At least the limit, if nothing is nearer.
  static double nearest(const Piece& piece, const Obstacles& obstacles, double limit) {
    double least = limit;
    bool is_near = false;
    obstacles.visit_near(piece.box, limit, [&](const Piece& other) {
      if (squared_gap(piece.box, other.box) > least * least) return least;
      const double found = broadphase::clearance(piece, other, least);
      is_near |= found <= least;
      least = std::min(least, found);
      return is_near && least == 0 ? -1.0 : least;
    });
    return is_near ? least : kNone;
  }
  static double between(const Posed& posed, const ComparedParts& pair, double limit) {
    const Piece &a = posed.piece(pair.first), &b = posed.piece(pair.second);
    return squared_gap(a.box, b.box) > limit * limit ? kNone : broadphase::clearance(a, b, limit);
  }

  // The greatest distance of a point of a part from the origin of its link.
  static double reach_of(const RobotPart& part) {
    const Vec<3> origin{};
    std::vector<double> placed(part.local.size());
    // Turned by nothing that counts: a box that never turns reaches as far in any rotation.
    const ShapeKind kind = place_shape<3>(part.kind, part.local, Pose<3>(origin.data(), nullptr), placed.data());
    ShapeBounds<3> bounds;
    add_bounds<3>({kind, {placed.data(), kind == ShapeKind::kBox ? 6 : placed.size()}}, bounds);
    double squared = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double most = std::max(std::abs(bounds.lower[k]), std::abs(bounds.upper[k]));
      squared += most * most;
    }
    return std::sqrt(squared);
  }

  // The last link that moves both, or kNoLink.
  std::int32_t meeting_of(std::size_t a, std::size_t b) const {
    auto x = static_cast<std::int32_t>(a), y = static_cast<std::int32_t>(b);
    // A parent has a lower number.
    while (x != y) {
      std::int32_t& last = x > y ? x : y;
      last = kinematics_.link(static_cast<std::size_t>(last)).parent;
    }
    return x;
  }

  // How far a point of a part moves at most on the way from some values to others, in the frame of a link above it: of
  // each joint in between by its change times the farthest that the point can be from it.
  double speed_below(std::size_t part, std::int32_t above, const double* from, const double* to) const {
    double reach = reaches_[part], speed = 0;
    for (auto at = static_cast<std::int32_t>(parts_[part].link); at != above;) {
      const JointedLink& link = kinematics_.link(static_cast<std::size_t>(at));
      if (link.joint == JointKind::kTurns) {
        speed += std::abs(link.value(to) - link.value(from)) * reach;
      } else if (link.joint == JointKind::kSlides) {
        speed += std::abs(link.value(to) - link.value(from));
        reach += std::max(std::abs(link.value(to)), std::abs(link.value(from)));
      }
      reach += std::sqrt(link.position[0] * link.position[0] + link.position[1] * link.position[1] +
                         link.position[2] * link.position[2]);
      at = link.parent;
    }
    constexpr double kRounding = 1 + 1e-12;
    return speed * kRounding;
  }

  Kinematics kinematics_;
  std::vector<RobotPart> parts_;
  std::vector<ComparedParts> pairs_;
  std::size_t numbers_ = 0;              // of all records
  std::vector<std::size_t> numbers_at_;  // where those of each part are
  std::vector<double> reaches_;          // of parts
  std::vector<std::int32_t> meetings_;   // of pairs
};

}  // namespace broadphase
