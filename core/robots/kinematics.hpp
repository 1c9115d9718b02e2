// Trees of links: where each link is, of joint values. Positions and quaternions (w, x, y, z), in doubles.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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

enum class JointKind : std::uint8_t { kFixed, kTurns, kSlides };

// A link, and the joint by which it moves in its parent's frame.
struct JointedLink {
  static constexpr std::int32_t kWorld = -1;

  std::int32_t parent = kWorld;
  JointKind joint = JointKind::kFixed;
  Vec<3> axis{};          // unit, in the frame of the link
  Vec<3> position{};      // of the link in its parent's frame while the joint is at 0
  Quaternion rotation{};  // the same; unit
  // The joint is at scale * values[column] + offset: joints of one column move together.
  std::int32_t column = 0;
  double scale = 1, offset = 0;

  double value(const double* values) const { return scale * values[column] + offset; }
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
      columns_ = std::max(columns_, link.joint == JointKind::kFixed ? 0 : static_cast<std::size_t>(link.column) + 1);
    }
  }

  std::size_t link_count() const { return links_.size(); }
  // How many joint values there are at least.
  std::size_t column_count() const { return columns_; }
  const JointedLink& link(std::size_t k) const { return links_[k]; }

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
      }
    }
  }

 private:
  std::vector<JointedLink> links_;
  std::vector<std::uint8_t> is_plain_;  // not rotated in the parent's frame at 0
  std::size_t columns_ = 0;
};

}  // namespace broadphase
