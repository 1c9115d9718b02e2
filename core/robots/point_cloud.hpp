// Point clouds as obstacles: balls in a tree of eight boxes a node and eight points a leaf, which a shape is compared
// with by the distance of each point from the box or segment that surrounds it. Of many points, a field of distances
// tells first which shapes are free.
//
// The idea of pruning by what a robot's own shapes can reach, rather than by boxes of balls, is that of C. W. Ramsey,
// Z. Kingston, W. Thomason, L. E. Kavraki, "Collision-Affording Point Trees: SIMD-Amenable Nearest Neighbors for Fast
// Collision Checking", Robotics: Science and Systems, 2024, 10.15607/RSS.2024.XX.038
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "robots/distance_field.hpp"
#include "robots/surrounding.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

class PointCloud {
 public:
  struct Ball {
    Vec<3> centre;
    double radius;
    std::uint32_t number;
  };

  PointCloud() = default;
  // Precondition: nothing is farther than kFarthest from the middle.
  PointCloud(const Vec<3>& middle, const std::vector<Ball>& balls) : middle_(middle) {
    std::vector<Point> points;
    points.reserve(balls.size());
    for (const Ball& ball : balls) {
      Point point{};
      for (std::size_t k = 0; k < 3; ++k) {
        point.at[k] = static_cast<float>(ball.centre[k] - middle[k]);
        const double slack = 1e-9 * (std::abs(ball.centre[k]) + ball.radius);
        lower_[k] = std::min(lower_[k], ball.centre[k] - ball.radius - slack);
        upper_[k] = std::max(upper_[k], ball.centre[k] + ball.radius + slack);
      }
      point.radius = static_cast<float>(ball.radius * kMore);
      radius_ = std::max(radius_, point.radius);
      point.number = ball.number;
      points.push_back(point);
    }
    if (points.empty()) return;
    if (points.size() >= kMany) {
      std::vector<DistanceField::Place> places;
      places.reserve(points.size());
      for (const Point& point : points) places.push_back(point.at);
      field_ = DistanceField(places);
    }
    build(points);
  }
  static constexpr double kFarthest = 1e15;  // so that no square overflows

  bool empty() const { return leaves_.empty(); }
  std::size_t memory_bytes() const {
    return nodes_.capacity() * sizeof(Node) + leaves_.capacity() * sizeof(Leaf) + field_.memory_bytes();
  }

  // Calls visit(number) for balls that may be at most `reach` from a shape, until it returns true, and returns whether
  // one did. `core()` is what surrounds the shape, which is only needed where its box is near any.
  template <class Core, class Visit>
  bool any_near(const std::array<double, 6>& box, double reach, const Core& core, const Visit& visit) const {
    if (leaves_.empty()) return false;
    for (std::size_t k = 0; k < 3; ++k)
      if (box[k] > upper_[k] + reach || box[3 + k] < lower_[k] - reach) return false;
    std::optional<Surrounding> around;
    const auto surrounding = [&]() -> const Surrounding& { return around ? *around : around.emplace(core()); };
    if (!field_.empty() && is_beyond(surrounding(), reach)) return false;
    BoxQuery rough(box, middle_);
    if (!rough.is_in_range || !(reach <= kFarthest)) return any_of_all(visit);
    const auto more = static_cast<float>(reach * kMore);
    for (float& half : rough.half) half += more;
    Query query;
    float within = 0;
    bool has_query = false;
    const auto prepare = [&] {
      if (has_query) return;
      has_query = true;
      query = Query(surrounding(), middle_);
      within = query.radius + more;
    };
    std::array<std::uint32_t, kStack> stack;
    std::size_t size = 0;
    if (root_ == kLeaf) {
      prepare();
      stack[size++] = root_;
    } else {
      stack[size++] = 0;
    }
    while (size > 0) {
      const std::uint32_t what = stack[--size];
      if ((what & kLeaf) != 0) {
        const Leaf& leaf = leaves_[what & ~kLeaf];
        for (std::uint32_t left = query.near_in(leaf, within); left != 0; left &= left - 1)
          if (visit(leaf.number[static_cast<std::size_t>(std::countr_zero(left))])) return true;
        continue;
      }
      const Node& node = nodes_[what];
      std::uint32_t left = rough.near_in(node);
      if (left == 0) continue;
      prepare();
      if (!query.is_ball) left &= query.near_in(node, within);
      for (; left != 0; left &= left - 1) stack[size++] = node.first[static_cast<std::size_t>(std::countr_zero(left))];
      assert(size + kLanes <= stack.size());
    }
    return false;
  }

  // Calls visit(number) for balls that may be at most `limit` from what surrounds a shape, nearest parts of the cloud
  // first. It returns the new limit; a negative one ends the walk.
  template <class Visit>
  void visit_near(const Surrounding& core, double limit, const Visit& visit) const {
    if (leaves_.empty()) return;
    if (is_beyond(core, limit)) return;
    const Query query(core, middle_);
    if (!query.is_in_range) {
      any_of_all([&](std::uint32_t number) { return (limit = visit(number)) < 0; });
      return;
    }
    struct Entry {
      float gap;  // a lower bound of the distance
      std::uint32_t what;
    };
    std::array<Entry, kStack> stack;
    std::size_t size = 0;
    stack[size++] = {0, root_};
    while (size > 0) {
      const Entry entry = stack[--size];
      if (static_cast<double>(entry.gap) > limit) continue;
      if ((entry.what & kLeaf) != 0) {
        const Leaf& leaf = leaves_[entry.what & ~kLeaf];
        const Lanes gaps = query.gaps_of(leaf);
        for (std::size_t lane = 0; lane < leaf.count; ++lane)
          if (static_cast<double>(gaps[lane]) <= limit && (limit = visit(leaf.number[lane])) < 0) return;
        continue;
      }
      const Node& node = nodes_[entry.what];
      const Lanes gaps = query.gaps_of(node);
      const std::size_t begin = size;
      for (std::size_t lane = 0; lane < node.count; ++lane) {
        if (static_cast<double>(gaps[lane]) > limit) continue;
        std::size_t at = size++;
        for (; at > begin && stack[at - 1].gap < gaps[lane]; --at) stack[at] = stack[at - 1];
        stack[at] = {gaps[lane], node.first[lane]};
      }
      assert(size + kLanes <= stack.size());
    }
  }

 private:
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kMany = 1024;  // the cells of fewer points are so large that they tell nothing
  static constexpr std::uint32_t kLeaf = 1U << 31;
  using Lanes = std::array<float, kLanes>;
  // Each level divides less than 2^31 points by eight, or nearly so. A step leaves seven lanes behind.
  static constexpr std::size_t kMostLevels = 16, kStack = (kLanes - 1) * kMostLevels + kLanes;

  static constexpr double kNone = std::numeric_limits<double>::infinity();
  static constexpr double kMore = 1 + 0x1p-17;  // of floats far from the middle: errors are in proportion

  // Whether all that surrounds a shape is farther from all balls than `reach`, as far as the field tells: of a box, a
  // rod along its longest axis that holds it.
  bool is_beyond(const Surrounding& core, double reach) const {
    if (field_.empty()) return false;
    const std::size_t along = core.half[2] > std::max(core.half[0], core.half[1]) ? 2
                              : core.half[1] > core.half[0]                       ? 1
                                                                                  : 0;
    double across = 0, most = core.half[along];
    if (core.has_frame) {
      for (std::size_t k = 0; k < 3; ++k) across += k == along ? 0 : core.half[k] * core.half[k];
      across = std::sqrt(across);
    }
    DistanceField::Place centre, axis;
    for (std::size_t k = 0; k < 3; ++k) {
      const double at = core.centre[k] - middle_[k];
      most = std::max(most, std::abs(at));
      centre[k] = static_cast<float>(at);
      axis[k] = static_cast<float>(core.axes[along][k]);
    }
    const double distance = core.radius + reach + across;
    if (!(most + distance <= kFarthest)) return false;
    return field_.is_beyond(centre, axis, static_cast<float>(core.half[along]), slackened(distance, most) + radius_);
  }
  // A distance with what rounding may do: some tens of roundings, and more than what underflows in squares.
  static float slackened(double distance, double most) {
    return static_cast<float>((1e-18 + distance + 0x1p-17 * most) * kMore);
  }

  template <class Visit>
  bool any_of_all(const Visit& visit) const {
    for (const Leaf& leaf : leaves_)
      for (std::size_t lane = 0; lane < leaf.count; ++lane)
        if (visit(leaf.number[lane])) return true;
    return false;
  }

  struct Point {
    std::array<float, 3> at;
    float radius;
    std::uint32_t number;
  };
  struct alignas(32) Leaf {
    std::array<Lanes, 3> at{};
    Lanes radius{};
    std::array<std::uint32_t, kLanes> number{};
    std::uint32_t count = 0;
  };
  struct alignas(32) Node {
    std::array<Lanes, 3> centre{}, half{};  // of the boxes around the centres of balls
    Lanes radius{};                         // the largest
    std::array<std::uint32_t, kLanes> first{};
    std::uint32_t count = 0;
  };

  static float larger(float a, float b) { return a > b ? a : b; }
  // Of lanes that are below 0, by their signs.
  static std::uint32_t bits_of(const Lanes& over) {
    constexpr std::array<std::int32_t, kLanes> kBits{1, 2, 4, 8, 16, 32, 64, 128};
    std::array<std::int32_t, kLanes> bits;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      bits[lane] = (std::bit_cast<std::int32_t>(over[lane]) >> 31) & kBits[lane];
    std::int32_t found = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) found |= bits[lane];
    return static_cast<std::uint32_t>(found);
  }
  // A box along the axes in floats, enlarged by what rounding may do.
  struct BoxQuery {
    std::array<float, 3> centre{}, half{};
    bool is_in_range = false;

    BoxQuery(const std::array<double, 6>& box, const Vec<3>& middle) {
      double most = 0;
      for (std::size_t k = 0; k < 3; ++k)
        most = std::max({most, std::abs(box[k] - middle[k]), std::abs(box[3 + k] - middle[k])});
      is_in_range = most <= kFarthest;
      if (!is_in_range) return;
      const double slack = 1e-18 + 0x1p-17 * most;
      for (std::size_t k = 0; k < 3; ++k) {
        centre[k] = static_cast<float>(box[k] / 2 + box[3 + k] / 2 - middle[k]);
        half[k] = static_cast<float>(box[3 + k] / 2 - box[k] / 2 + slack);
      }
    }
    std::uint32_t near_in(const Node& node) const {
      Lanes over;
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        over[lane] = std::abs(node.centre[0][lane] - centre[0]) - (node.half[0][lane] + half[0]);
      for (std::size_t k = 1; k < 3; ++k)
        for (std::size_t lane = 0; lane < kLanes; ++lane)
          over[lane] = larger(over[lane], std::abs(node.centre[k][lane] - centre[k]) - (node.half[k][lane] + half[k]));
      for (std::size_t lane = 0; lane < kLanes; ++lane) over[lane] -= node.radius[lane];
      return bits_of(over) & ((1U << node.count) - 1);
    }
  };

  // A box in floats, of which a ball or a rod are special cases, within a radius of which the shape is.
  struct Query {
    std::array<float, 3> centre{}, half{}, around{};     // `around`: half of the box around it along the axes
    std::array<std::array<float, 3>, 3> axes{}, size{};  // and their absolute values
    float radius = 0;                                    // less what rounding may do
    bool is_in_range = false, is_ball = false;

    Query() = default;
    Query(const Surrounding& core, const Vec<3>& middle) {
      double most = core.radius;
      for (std::size_t k = 0; k < 3; ++k) {
        const double at = core.centre[k] - middle[k];
        centre[k] = static_cast<float>(std::clamp(at, -2 * kFarthest, 2 * kFarthest));
        half[k] = static_cast<float>(std::min(core.half[k], kFarthest));
        most = std::max({most, std::abs(at), core.half[k]});
      }
      is_in_range = most <= kFarthest;
      is_ball = !core.has_frame && !(core.half[0] > 0);
      std::array<Vec<3>, 3> frame = core.axes;
      if (!core.has_frame) frame = frame_of(core.half[0] > 0 ? core.axes[0] : Vec<3>{1, 0, 0});
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t k = 0; k < 3; ++k) {
          axes[i][k] = static_cast<float>(frame[i][k]);
          size[i][k] = std::abs(axes[i][k]);
          around[k] += half[i] * size[i][k];
        }
      radius = slackened(core.radius, most);
    }
    static std::array<Vec<3>, 3> frame_of(const Vec<3>& along) {
      const double sign = std::copysign(1.0, along[2]), a = -1 / (sign + along[2]), b = along[0] * along[1] * a;
      return {along, Vec<3>{1 + sign * along[0] * along[0] * a, sign * b, -sign * along[0]},
              Vec<3>{b, sign + along[1] * along[1] * a, -along[1]}};
    }

    static float above(float gap) { return gap > 0 ? gap : 0; }
    // Twice a gap above 0, or 0. Without a choice, which compilers would branch at before they multiply.
    static float twice(float gap) { return gap + std::abs(gap); }
    // Four times the squares of distances.
    Lanes squares_of(const Leaf& leaf) const {
      Lanes squared{};
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const float along = axes[i][0] * (leaf.at[0][lane] - centre[0]) +
                              axes[i][1] * (leaf.at[1][lane] - centre[1]) + axes[i][2] * (leaf.at[2][lane] - centre[2]);
          const float gap = twice(std::abs(along) - half[i]);
          squared[lane] += gap * gap;
        }
      return squared;
    }
    // From boxes: by how far they are apart in either frame.
    Lanes squares_of(const Node& node) const {
      Lanes squared{}, other{};
      for (std::size_t k = 0; k < 3; ++k)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const float gap = twice(std::abs(node.centre[k][lane] - centre[k]) - (node.half[k][lane] + around[k]));
          squared[lane] += gap * gap;
        }
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const float along = axes[i][0] * (node.centre[0][lane] - centre[0]) +
                              axes[i][1] * (node.centre[1][lane] - centre[1]) +
                              axes[i][2] * (node.centre[2][lane] - centre[2]);
          const float extent = half[i] + size[i][0] * node.half[0][lane] + size[i][1] * node.half[1][lane] +
                               size[i][2] * node.half[2][lane];
          const float gap = twice(std::abs(along) - extent);
          other[lane] += gap * gap;
        }
      for (std::size_t lane = 0; lane < kLanes; ++lane) squared[lane] = larger(squared[lane], other[lane]);
      return squared;
    }
    // A bit for each lane that may be within a distance.
    std::uint32_t near_in(const Leaf& leaf, float within) const {
      const Lanes squared = squares_of(leaf);
      Lanes over;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const float far = 2 * (leaf.radius[lane] + within);
        over[lane] = squared[lane] - far * far;
      }
      return bits_of(over) & ((1U << leaf.count) - 1);
    }
    // By the axes of its own box.
    std::uint32_t near_in(const Node& node, float within) const {
      Lanes over{};
      for (std::size_t lane = 0; lane < kLanes; ++lane) over[lane] = -std::numeric_limits<float>::max();
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const float along = axes[i][0] * (node.centre[0][lane] - centre[0]) +
                              axes[i][1] * (node.centre[1][lane] - centre[1]) +
                              axes[i][2] * (node.centre[2][lane] - centre[2]);
          const float extent = half[i] + size[i][0] * node.half[0][lane] + size[i][1] * node.half[1][lane] +
                               size[i][2] * node.half[2][lane];
          over[lane] = larger(over[lane], std::abs(along) - extent);
        }
      for (std::size_t lane = 0; lane < kLanes; ++lane) over[lane] -= node.radius[lane] + within;
      return bits_of(over) & ((1U << node.count) - 1);
    }
    template <class Lanes8>
    Lanes gaps_of(const Lanes8& lanes) const {
      constexpr float kHalf = 0.5F - 0x1p-18F;
      Lanes gaps = squares_of(lanes);
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        gaps[lane] = above(std::sqrt(gaps[lane]) * kHalf - lanes.radius[lane] - radius);
      return gaps;
    }
  };

  struct Bounds {
    std::array<float, 3> lower, upper;
    float radius;
  };
  static Bounds bounds_of(std::span<const Point> points) {
    Bounds bounds{points[0].at, points[0].at, points[0].radius};
    for (const Point& point : points) {
      for (std::size_t k = 0; k < 3; ++k) {
        bounds.lower[k] = std::min(bounds.lower[k], point.at[k]);
        bounds.upper[k] = std::max(bounds.upper[k], point.at[k]);
      }
      bounds.radius = std::max(bounds.radius, point.radius);
    }
    return bounds;
  }

  // Puts half of the points before the others, along the axis along which they are spread most.
  static std::size_t divide(std::span<Point> points) {
    const Bounds bounds = bounds_of(points);
    std::size_t longest = 0;
    for (std::size_t k = 1; k < 3; ++k)
      if (bounds.upper[k] - bounds.lower[k] > bounds.upper[longest] - bounds.lower[longest]) longest = k;
    const std::size_t half = points.size() / 2;
    std::nth_element(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(half), points.end(),
                     [longest](const Point& a, const Point& b) {
                       return a.at[longest] != b.at[longest] ? a.at[longest] < b.at[longest] : a.number < b.number;
                     });
    return half;
  }

  void build(std::vector<Point>& points) {
    struct Part {
      std::size_t first, count;
    };
    const auto is_leaf = [](std::size_t count) { return count <= kLanes; };
    if (is_leaf(points.size())) {
      root_ = kLeaf | add_leaf(points);
      return;
    }
    // As often as all have to be halved; the root takes what is not divisible by three, so that most nodes are full.
    int rounds = 0;
    for (std::size_t most = points.size(); !is_leaf(most); most -= most / 2) ++rounds;
    const int first_rounds = rounds % 3 == 0 ? 3 : rounds % 3;
    std::vector<Part> parts{{0, points.size()}};  // of each node
    // Children come after their parent, so one pass over the growing array divides all.
    for (std::size_t at = 0; at < parts.size(); ++at) {
      std::array<Part, kLanes> eighths{parts[at]};
      std::size_t count = 1;
      for (int round = at == 0 ? 3 - first_rounds : 0; round < 3; ++round)
        for (std::size_t k = count; k-- > 0;) {
          const Part part = eighths[k];
          if (is_leaf(part.count)) continue;
          const std::size_t left = divide(std::span(points).subspan(part.first, part.count));
          eighths[k].count = left;
          eighths[count++] = {part.first + left, part.count - left};
        }
      Node node;
      node.count = static_cast<std::uint32_t>(count);
      for (std::size_t lane = 0; lane < count; ++lane) {
        const std::span<const Point> some = std::span(points).subspan(eighths[lane].first, eighths[lane].count);
        const Bounds bounds = bounds_of(some);
        for (std::size_t k = 0; k < 3; ++k) {
          node.centre[k][lane] = bounds.lower[k] / 2 + bounds.upper[k] / 2;
          node.half[k][lane] = bounds.upper[k] / 2 - bounds.lower[k] / 2 +
                               0x1p-20F * (std::abs(bounds.lower[k]) + std::abs(bounds.upper[k]));
        }
        node.radius[lane] = bounds.radius;
        if (is_leaf(some.size())) {
          node.first[lane] = kLeaf | add_leaf(some);
        } else {
          node.first[lane] = static_cast<std::uint32_t>(parts.size());
          parts.push_back(eighths[lane]);
        }
      }
      nodes_.push_back(node);
    }
  }
  std::uint32_t add_leaf(std::span<const Point> points) {
    Leaf leaf;
    leaf.count = static_cast<std::uint32_t>(points.size());
    for (std::size_t lane = 0; lane < points.size(); ++lane) {
      for (std::size_t k = 0; k < 3; ++k) leaf.at[k][lane] = points[lane].at[k];
      leaf.radius[lane] = points[lane].radius;
      leaf.number[lane] = points[lane].number;
    }
    leaves_.push_back(leaf);
    return static_cast<std::uint32_t>(leaves_.size() - 1);
  }

  Vec<3> middle_{};
  // Of all balls; rounded outwards.
  Vec<3> lower_{kNone, kNone, kNone}, upper_{-kNone, -kNone, -kNone};
  float radius_ = 0;  // the largest
  DistanceField field_;
  std::uint32_t root_ = 0;
  std::vector<Node> nodes_;
  std::vector<Leaf> leaves_;
};

}  // namespace broadphase
