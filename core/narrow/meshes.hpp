// The narrow phase of triangle meshes and convex hulls: a tree of boxes over the triangles of a mesh, the simultaneous
// walk of two such trees, and the queries on them. A shape that is no mesh is a tree of one box.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "narrow/narrow_3d.hpp"
#include "narrow/polytopes.hpp"
#include "narrow/triangles.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// ---- A tree of boxes over the triangles, in the mesh's own frame: built once, queried in any pose ----

// In units of the tree, from its middle; the halves are rounded up.
struct MeshNode {
  std::array<float, 3> centre, half;
  std::uint32_t first;  // of a leaf: its first face; else its first child, which the second follows
  std::uint32_t count;  // of faces; 0: not a leaf
};
static_assert(sizeof(MeshNode) == 32);

// For exponents from -1000 to 1000.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// How the boxes of a tree are written: x = middle + 2^exponent * number. Numbers are at most 1, or 2^25 for the largest
// meshes, whose 2^exponent would have no inverse.
struct MeshUnits {
  Vec<3> middle{};
  int exponent = 0;
  double size = 0;  // of all coordinates, roughly: the scale of rounding errors

  MeshUnits() = default;
  MeshUnits(const Vec<3>& lower, const Vec<3>& upper) {
    double half = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      middle[k] = lower[k] / 2 + upper[k] / 2;
      half = std::max(half, upper[k] / 2 - lower[k] / 2);
      size += std::abs(middle[k]) + (upper[k] / 2 - lower[k] / 2);
    }
    if (half > 0) std::frexp(half, &exponent);
    exponent = std::clamp(exponent, -kMost, kMost);
    inverse_ = power_of_two(-exponent);
  }

  // The smallest box around the given one. The rounding error of the differences is added back where boxes are
  // compared (RelativePose).
  void write(const Vec<3>& lower, const Vec<3>& upper, MeshNode& node) const {
    for (std::size_t k = 0; k < 3; ++k) {
      const double low = (lower[k] - middle[k]) * inverse_, high = (upper[k] - middle[k]) * inverse_;
      node.centre[k] = static_cast<float>(low / 2 + high / 2);
      const double centre = static_cast<double>(node.centre[k]), half = std::max(high - centre, centre - low);
      node.half[k] = static_cast<float>(half);
      if (static_cast<double>(node.half[k]) < half)
        node.half[k] = std::nextafter(node.half[k], std::numeric_limits<float>::infinity());
    }
  }

  static constexpr int kMost = 1000;

 private:
  double inverse_ = 1;
};

class MeshTree {
 public:
  // Maximum depth: there are less than 2^31 faces, and each level halves them.
  static constexpr std::size_t kMostLevels = 32;

  // Vertices: three numbers each; faces: three vertex rows each, at least one face. Preconditions: rows in range,
  // finite vertices.
  MeshTree(std::span<const double> vertices, std::span<const std::int32_t> faces)
      : vertices_(vertices.begin(), vertices.end()), faces_(faces.begin(), faces.end()) {
    std::vector<std::int32_t> order(faces.size() / 3);
    std::iota(order.begin(), order.end(), 0);
    Vec<3> lower, upper;
    lower.fill(std::numeric_limits<double>::infinity());
    upper.fill(-std::numeric_limits<double>::infinity());
    for (const std::int32_t face : order) add_face(face, lower, upper);
    units_ = MeshUnits(lower, upper);
    nodes_.reserve(order.size());
    nodes_.push_back({{}, {}, 0, static_cast<std::uint32_t>(order.size())});
    // Children come after their parent, so one pass over the growing array splits all.
    for (std::size_t at = 0; at < nodes_.size(); ++at) split(at, order);
    sort_by(order);
  }

  const MeshNode* nodes() const { return nodes_.data(); }
  const MeshUnits& units() const { return units_; }
  std::size_t face_count() const { return faces_.size() / 3; }
  const double* corner(std::int32_t face, std::size_t which) const {
    return vertices_.data() + 3 * std::ptrdiff_t{faces_[3 * static_cast<std::size_t>(face) + which]};
  }
  std::size_t memory_bytes() const {
    return vertices_.capacity() * sizeof(double) + faces_.capacity() * sizeof(std::int32_t) +
           nodes_.capacity() * sizeof(MeshNode);
  }

 private:
  static constexpr std::uint32_t kLeaf = 2;

  double middle(std::int32_t face, std::size_t axis) const {
    return corner(face, 0)[axis] / 3 + corner(face, 1)[axis] / 3 + corner(face, 2)[axis] / 3;
  }

  void add_face(std::int32_t face, Vec<3>& lower, Vec<3>& upper) const {
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        lower[axis] = std::min(lower[axis], corner(face, k)[axis]);
        upper[axis] = std::max(upper[axis], corner(face, k)[axis]);
      }
  }

  // Computes the box of a node, and splits its faces between two children if they are many.
  void split(std::size_t at, std::vector<std::int32_t>& order) {
    const std::uint32_t first = nodes_[at].first, count = nodes_[at].count;
    const std::span<std::int32_t> faces(order.data() + first, count);
    Vec<3> lower, upper, least, most;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      lower[axis] = upper[axis] = corner(faces[0], 0)[axis];
      least[axis] = most[axis] = middle(faces[0], axis);
    }
    for (const std::int32_t face : faces) {
      add_face(face, lower, upper);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        least[axis] = std::min(least[axis], middle(face, axis));
        most[axis] = std::max(most[axis], middle(face, axis));
      }
    }
    units_.write(lower, upper, nodes_[at]);
    std::size_t longest = 0;
    for (std::size_t axis = 1; axis < 3; ++axis)
      if (most[axis] - least[axis] > most[longest] - least[longest]) longest = axis;
    if (count <= kLeaf) return;
    const std::uint32_t left = count / 2;
    std::nth_element(faces.begin(), faces.begin() + left, faces.end(), [&](std::int32_t a, std::int32_t b) {
      const double x = middle(a, longest), y = middle(b, longest);
      return x != y ? x < y : a < b;
    });
    nodes_[at].first = static_cast<std::uint32_t>(nodes_.size());
    nodes_[at].count = 0;
    nodes_.push_back({{}, {}, first, left});
    nodes_.push_back({{}, {}, first + left, count - left});
  }

  // Puts the faces in the order of the leaves, and vertices in that of the faces: a leaf reads from one place.
  void sort_by(const std::vector<std::int32_t>& order) {
    const std::vector<std::int32_t> faces = std::move(faces_);
    const std::vector<double> vertices = std::move(vertices_);
    std::vector<std::int32_t> places(vertices.size() / 3, -1);
    faces_.resize(faces.size());
    vertices_.clear();
    vertices_.reserve(vertices.size());
    for (std::size_t k = 0; k < faces.size(); ++k) {
      const std::int32_t from = faces[3 * static_cast<std::size_t>(order[k / 3]) + k % 3];
      std::int32_t& place = places[static_cast<std::size_t>(from)];
      if (place < 0) {
        place = static_cast<std::int32_t>(vertices_.size() / 3);
        const double* const vertex = vertices.data() + 3 * std::ptrdiff_t{from};
        vertices_.insert(vertices_.end(), vertex, vertex + 3);
      }
      faces_[k] = place;
    }
  }

  MeshUnits units_;
  std::vector<double> vertices_;
  std::vector<std::int32_t> faces_;
  std::vector<MeshNode> nodes_;
};

// ---- The walk: pairs of triangles of two placed meshes whose boxes are close, nearest first ----

// A placed mesh; or another shape, as a tree of one box with the shape as its only element.
class MeshSide {
 public:
  // The record of a placed mesh: number, origin, axes (and more).
  MeshSide(const MeshTree& tree, std::span<const double> record) : tree_(&tree) {
    for (std::size_t i = 0; i < 3; ++i) {
      origin_[i] = record[1 + i];
      for (std::size_t k = 0; k < 3; ++k) axes_[i][k] = record[4 + 3 * i + k];
    }
  }
  // `polytope`: of a hull.
  explicit MeshSide(const ShapeView<3>& shape, const Polytope* polytope = nullptr) : alone_{shape, polytope} {
    for (std::size_t k = 0; k < 3; ++k) axes_[k][k] = 1;
  }
  void move(const double* offset) {
    for (std::size_t k = 0; k < 3; ++k) offset_[k] = offset[k];
  }

  bool is_mesh() const { return tree_ != nullptr; }
  // The shape, if it is no mesh.
  const Element& alone() const { return alone_; }
  const MeshNode* nodes() const { return tree_ != nullptr ? tree_->nodes() : &box().node; }
  const MeshUnits& units() const { return tree_ != nullptr ? tree_->units() : box().units; }
  const Vec<3>& axis(std::size_t i) const { return axes_[i]; }
  // The origin of the mesh's frame.
  double origin(std::size_t k) const { return origin_[k] + offset_[k]; }

  // A placed triangle in world coordinates. Exact answers refer to these rounded corners. `corners` is its storage.
  Element element(std::int32_t face, std::array<double, 9>& corners) const {
    if (tree_ == nullptr) return alone_;
    for (std::size_t c = 0; c < 3; ++c) {
      const double* const own = tree_->corner(face, c);
      for (std::size_t k = 0; k < 3; ++k)
        corners[3 * c + k] =
            origin_[k] + own[0] * axes_[0][k] + own[1] * axes_[1][k] + own[2] * axes_[2][k] + offset_[k];
    }
    return {{ShapeKind::kTriangle, corners}, nullptr};
  }

 private:
  // The tree of one box, made when it is first asked for: pairs without a mesh need none.
  struct Box {
    MeshUnits units;
    MeshNode node{};
  };
  const Box& box() const {
    if (box_.node.count == 0) {
      ShapeBounds<3> bounds;
      add_bounds<3>(alone_.shape, bounds);
      box_.units = MeshUnits(bounds.lower, bounds.upper);
      box_.units.write(bounds.lower, bounds.upper, box_.node);
      box_.node.count = 1;
    }
    return box_;
  }

  const MeshTree* tree_ = nullptr;
  Element alone_{};
  mutable Box box_{};
  Vec<3> origin_{}, offset_{};
  std::array<Vec<3>, 3> axes_{};
};

// The elements of one side: a walk comes back to the same triangles again and again, and the last ones are kept placed.
class PlacedElements {
 public:
  explicit PlacedElements(const MeshSide& side) : side_(side) { faces_.fill(-1); }

  // Valid until the next call.
  const std::array<double, 9>& corners(std::int32_t face) {
    const std::size_t slot = static_cast<std::size_t>(face) % kKept;
    if (faces_[slot] != face) {
      faces_[slot] = face;
      side_.element(face, corners_[slot]);
    }
    return corners_[slot];
  }

 private:
  static constexpr std::size_t kKept = 64;

  const MeshSide& side_;
  std::array<std::int32_t, kKept> faces_;
  std::array<std::array<double, 9>, kKept> corners_;
};

// The pose of one tree's frame relative to the other's, to compare their boxes. Positions of boxes within their trees
// are floats, and the distance of the trees is in doubles, so that it may be as large as it wants. All in one unit, a
// power of two that keeps the numbers of both trees below 1, but for the largest meshes.
class RelativePose {
 public:
  RelativePose(const MeshSide& a, const MeshSide& b) {
    const MeshUnits &units_a = a.units(), &units_b = b.units();
    Vec<3> shift, between;
    for (std::size_t k = 0; k < 3; ++k) {
      between[k] = b.origin(k) - a.origin(k);
      rounding_ += std::abs(a.origin(k)) + std::abs(b.origin(k));
    }
    // Hundreds of rounding errors; a few dozen occur.
    rounding_ = 1e-13 * (rounding_ + units_a.size + units_b.size);
    double largest = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      shift[i] = dot(a.axis(i), between) - units_a.middle[i];
      for (std::size_t j = 0; j < 3; ++j) {
        turn_[i][j] = dot(a.axis(i), b.axis(j));
        shift[i] += turn_[i][j] * units_b.middle[j];
      }
      largest = std::max(largest, std::abs(shift[i]));
    }
    // Of trees that are very far apart, the unit leaves the numbers of the distance room to be squared.
    constexpr int kFarthest = 300;
    int exponent = std::max(units_a.exponent, units_b.exponent);
    if (largest > power_of_two(std::min(exponent + kFarthest, kMost))) {
      std::frexp(largest, &exponent);
      exponent = std::min(exponent - kFarthest, kMost);
    }
    unit_ = power_of_two(exponent);
    inverse_ = power_of_two(-exponent);
    const double size_a = power_of_two(std::max(units_a.exponent - exponent, -kMost)),
                 size_b = power_of_two(std::max(units_b.exponent - exponent, -kMost));
    for (std::size_t i = 0; i < 3; ++i) {
      shift_[i] = shift[i] * inverse_;
      own_first_[i][i] = static_cast<float>(size_a);
      own_second_[i][i] = static_cast<float>(size_b);
      for (std::size_t j = 0; j < 3; ++j) {
        to_first_[j][i] = static_cast<float>(turn_[i][j] * size_b);
        to_second_[i][j] = static_cast<float>(turn_[i][j]);
        reach_of_second_[j][i] = std::abs(to_first_[j][i]);
        reach_of_first_[i][j] = std::abs(static_cast<float>(turn_[i][j] * size_a));
      }
    }
    for (std::size_t j = 0; j < 3; ++j) shift_[3 + j] = dot({turn_[0][j], turn_[1][j], turn_[2][j]}, shift_);
    // A hundred rounding errors of floats.
    spare_ = rounding_ * inverse_ + 0x1p-17 * (size_a + size_b);
  }

  // A lower bound of the signed distance of what two boxes hold.
  double apart(const MeshNode& a, const MeshNode& b) const {
    const Axes gaps = axes_between(a, b);
    double first = 0, second = 0, deepest = -kNever;
    for (std::size_t k = 0; k < 3; ++k) {
      const double x = std::abs(gaps.at[k]) - gaps.reach[k], y = std::abs(gaps.at[3 + k]) - gaps.reach[3 + k];
      const double larger = x > y ? x : y;
      deepest = larger > deepest ? larger : deepest;
      first += x > 0 ? x * x : 0;
      second += y > 0 ? y * y : 0;
    }
    if (deepest <= 0) return deepest * unit_;
    return std::sqrt(first > second ? first : second) * unit_;
  }

  // A unit vector in the world as boxes are compared along it: heights of centres, and by how much boxes reach.
  struct Axis {
    std::array<float, 3> first, second, first_reach, second_reach;
    double shift;
  };
  Axis axis_along(const MeshSide& a, const MeshSide& b, const Vec<3>& way) const {
    Axis axis;
    axis.shift = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const double along = dot(a.axis(i), way);
      axis.first[i] = static_cast<float>(along) * own_first_[0][0];
      axis.second[i] = static_cast<float>(dot(b.axis(i), way)) * own_second_[0][0];
      axis.first_reach[i] = std::abs(axis.first[i]);
      axis.second_reach[i] = std::abs(axis.second[i]);
      axis.shift += shift_[i] * along;
    }
    return axis;
  }
  // The gap along an axis, another lower bound: above 0 if it separates them.
  double apart(const MeshNode& a, const MeshNode& b, const Axis& axis) const {
    const float between = dot(axis.second, b.centre) - dot(axis.first, a.centre);
    const float reach = dot(axis.first_reach, a.half) + dot(axis.second_reach, b.half);
    return (std::abs(axis.shift + static_cast<double>(between)) - static_cast<double>(reach) - 2 * spare_) * unit_;
  }

  // The fraction of a motion of the first before which they cannot touch. The motion is one of `along_axes`.
  double meets(const MeshNode& a, const MeshNode& b, const std::array<double, 6>& motion) const {
    const Axes gaps = axes_between(a, b);
    double begin = 0, end = 1;
    for (std::size_t k = 0; k < 6; ++k) {
      const double speed = motion[k], low = gaps.at[k] - gaps.reach[k], high = gaps.at[k] + gaps.reach[k];
      // Inside while low <= speed * t <= high.
      if (speed == 0) {
        if (low > 0 || high < 0) return kNever;
        continue;
      }
      const double in = (speed > 0 ? low : high) / speed, out = (speed > 0 ? high : low) / speed;
      if (in > begin) begin = in;
      if (out < end) end = out;
    }
    constexpr double kRounding = 1e-12;
    return begin <= end + kRounding ? begin - kRounding : kNever;
  }

  // A motion of the first in the world, along the axes of both, and accounts for its rounding over its whole length.
  std::array<double, 6> along_axes(const MeshSide& a, const Vec<3>& motion) {
    std::array<double, 6> along{};
    for (std::size_t i = 0; i < 3; ++i) {
      along[i] = dot(a.axis(i), motion) * inverse_;
      for (std::size_t j = 0; j < 3; ++j) along[3 + j] += turn_[i][j] * along[i];
    }
    for (const double part : motion) spare_ += 1e-13 * std::abs(part) * inverse_;
    return along;
  }

  // An upper bound of the distance of any two points of the boxes.
  double farthest(const MeshNode& a, const MeshNode& b) const {
    const Axes gaps = axes_between(a, b);
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) sum += std::abs(gaps.at[k]) + gaps.reach[k];
    return sum * unit_;
  }
  // An upper bound of the rounding error of a distance.
  double rounding() const { return rounding_; }

  static constexpr double kNever = std::numeric_limits<double>::infinity();

 private:
  static constexpr int kMost = MeshUnits::kMost;

  // Along the three axes of each: the distance of the centres, and the sum of the extents.
  struct Axes {
    std::array<double, 6> at, reach;
  };
  // The fourth number is not used: with it, the compiler makes one vector of four.
  using Four = std::array<float, 4>;

  static double dot(const Vec<3>& a, const Vec<3>& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  static double dot(const Vec<3>& a, const std::array<double, 6>& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  static float dot(const std::array<float, 3>& a, const std::array<float, 3>& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  }

  // Three vectors of four, and one lane of their sum.
  using Columns = std::array<Four, 3>;
  static float sum(const Columns& columns, const std::array<float, 3>& numbers, std::size_t lane) {
    return columns[0][lane] * numbers[0] + columns[1][lane] * numbers[1] + columns[2][lane] * numbers[2];
  }

  Axes axes_between(const MeshNode& a, const MeshNode& b) const {
    Four at, reach, turned, turned_reach;
    for (std::size_t i = 0; i < 4; ++i) {
      at[i] = sum(to_first_, b.centre, i) - sum(own_first_, a.centre, i);
      reach[i] = sum(reach_of_second_, b.half, i) + sum(own_first_, a.half, i);
    }
    const std::array<float, 3> between{at[0], at[1], at[2]};
    for (std::size_t i = 0; i < 4; ++i) {
      turned[i] = sum(to_second_, between, i);
      turned_reach[i] = sum(reach_of_first_, a.half, i) + sum(own_second_, b.half, i);
    }
    Axes found;
    for (std::size_t k = 0; k < 3; ++k) {
      found.at[k] = shift_[k] + static_cast<double>(at[k]);
      found.at[3 + k] = shift_[3 + k] + static_cast<double>(turned[k]);
      found.reach[k] = spare_ + static_cast<double>(reach[k]);
      found.reach[3 + k] = spare_ + static_cast<double>(turned_reach[k]);
    }
    return found;
  }

  std::array<Vec<3>, 3> turn_;  // [i][j]: axis i of the first times axis j of the second
  // Of a box of the second, column by column, its centre and half along the axes of the first; and the other way.
  Columns to_first_{}, to_second_{}, reach_of_second_{}, reach_of_first_{};
  Columns own_first_{}, own_second_{};  // the same for boxes along their own axes: the sizes of the trees' units
  std::array<double, 6> shift_;         // from the first middle to the second, along the axes of both
  double unit_, inverse_;
  double spare_, rounding_ = 0;  // rounding errors of boxes, in units, and of distances
};

// Calls visit(face of a, face of b) for pairs of elements whose boxes have a bound(node, node) within the limit,
// nearest boxes first. `visit` returns the new limit; NaN stops the walk.
template <class Bound, class Visit>
void walk_meshes(const MeshSide& a, const MeshSide& b, double limit, const Bound& bound, const Visit& visit) {
  struct Entry {
    std::uint32_t a, b;
    double bound;
  };
  // Each step descends one level in one of the trees and leaves one pair behind.
  std::array<Entry, 2 * MeshTree::kMostLevels + 8> stack;
  std::size_t size = 0;
  const MeshNode *const nodes_a = a.nodes(), *const nodes_b = b.nodes();
  // The larger box is divided.
  const int larger = std::max(a.units().exponent, b.units().exponent);
  const auto size_of = [&](const MeshSide& side) {
    return static_cast<float>(power_of_two(std::max(side.units().exponent - larger, -MeshUnits::kMost)));
  };
  const float unit_a = size_of(a), unit_b = size_of(b);
  stack[size++] = {0, 0, bound(nodes_a[0], nodes_b[0])};
  while (size > 0) {
    const Entry entry = stack[--size];
    if (!(entry.bound <= limit)) continue;
    const MeshNode &x = nodes_a[entry.a], &y = nodes_b[entry.b];
    if (x.count > 0 && y.count > 0) {
      for (std::uint32_t i = 0; i < x.count; ++i)
        for (std::uint32_t j = 0; j < y.count; ++j) {
          limit = visit(static_cast<std::int32_t>(x.first + i), static_cast<std::int32_t>(y.first + j));
          if (limit != limit) return;
        }
      continue;
    }
    const float size_x = (x.half[0] + x.half[1] + x.half[2]) * unit_a,
                size_y = (y.half[0] + y.half[1] + y.half[2]) * unit_b;
    const bool down_a = y.count > 0 || (x.count == 0 && size_x >= size_y);
    Entry near = entry, far = entry;
    if (down_a) {
      near.a = x.first;
      far.a = x.first + 1;
    } else {
      near.b = y.first;
      far.b = y.first + 1;
    }
    near.bound = bound(nodes_a[near.a], nodes_b[near.b]);
    far.bound = bound(nodes_a[far.a], nodes_b[far.b]);
    if (far.bound < near.bound) std::swap(near, far);
#if defined(__GNUC__)
    __builtin_prefetch(nodes_a + nodes_a[near.a].first);
    __builtin_prefetch(nodes_b + nodes_b[near.b].first);
#endif
    assert(size + 2 <= stack.size());
    stack[size++] = far;
    stack[size++] = near;
  }
}

// ---- The queries: a mesh with a mesh or with another shape; a mesh is the union of its triangles ----

namespace detail {

inline constexpr double kNone = std::numeric_limits<double>::infinity();
inline constexpr double kEnough = std::numeric_limits<double>::quiet_NaN();

inline TriangleCorners corners_of(const std::array<double, 9>& numbers) {
  return {numbers.data(), numbers.data() + 3, numbers.data() + 6};
}

}  // namespace detail

// Whether they overlap; for two meshes, exact for the triangles as placed.
inline bool overlaps(const MeshSide& a, const MeshSide& b) {
  if (!a.is_mesh() && !b.is_mesh()) return overlaps(a.alone(), b.alone());
  const RelativePose view(a, b);
  bool found = false;
  walk_meshes(
      a, b, 0.0, [&](const MeshNode& x, const MeshNode& y) { return view.apart(x, y); },
      [&](std::int32_t face_a, std::int32_t face_b) {
        std::array<double, 9> corners_a, corners_b;
        const Element x = a.element(face_a, corners_a), y = b.element(face_b, corners_b);
        found = a.is_mesh() && b.is_mesh()
                    ? triangles_meet(detail::corners_of(corners_a), detail::corners_of(corners_b))
                    : overlaps(x, y);
        return found ? detail::kEnough : 0.0;
      });
  return found;
}

// Whether some axis proves that the signed distance of two triangles is above a limit: the gap along any is at most
// that. `way`: a unit vector that is tried first, and is set to one that has proven it.
inline bool are_beyond(const std::array<double, 9>& a, const std::array<double, 9>& b, double limit, Vec<3>& way) {
  using namespace solid;
  const auto gap_along = [&](const Vec3& axis) {
    const auto height = [&](const std::array<double, 9>& t, std::size_t k) {
      return t[k] * axis[0] + t[k + 1] * axis[1] + t[k + 2] * axis[2];
    };
    const double p = height(a, 0), q = height(a, 3), r = height(a, 6);
    const double x = height(b, 0), y = height(b, 3), z = height(b, 6);
    const double top = p > q ? (p > r ? p : r) : (q > r ? q : r), low = p < q ? (p < r ? p : r) : (q < r ? q : r);
    const double high = x > y ? (x > z ? x : z) : (y > z ? y : z), bottom = x < y ? (x < z ? x : z) : (y < z ? y : z);
    const double onwards = bottom - top, back = low - high;
    return onwards > back ? onwards : back;
  };
  if (gap_along(way) > limit) return true;
  const auto beyond = [&](const Vec3& axis) {
    const double length = std::sqrt(squared(axis));
    if (!(length > 0 && gap_along(axis) > limit * length)) return false;
    way = axis * (1 / length);
    return true;
  };
  const auto at = [](const std::array<double, 9>& t, std::size_t k) { return Vec3{t[k], t[k + 1], t[k + 2]}; };
  const std::array<Vec3, 3> p{at(a, 0), at(a, 3), at(a, 6)}, q{at(b, 0), at(b, 3), at(b, 6)};
  if (limit <= 0) return beyond(cross(p[1] - p[0], p[2] - p[0])) || beyond(cross(q[1] - q[0], q[2] - q[0]));
  // A few steps of GJK.
  constexpr int kMostSteps = 8;
  const auto farthest = [](const std::array<Vec3, 3>& t, const Vec3& to) -> std::size_t {
    const double x = dot(t[0], to), y = dot(t[1], to), z = dot(t[2], to);
    return x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
  };
  polytopes::Simplex simplex;
  Vec3 to = (q[0] + q[1] + q[2]) - (p[0] + p[1] + p[2]);
  for (int step = 0; step < kMostSteps; ++step) {
    const std::size_t i = farthest(p, to), j = farthest(q, -to);
    const Vec3 between = q[j] - p[i];
    const double length = std::sqrt(squared(to));
    if (dot(between, to) > limit * length && length > 0) {
      way = to * (1 / length);
      return true;
    }
    for (std::size_t k = 0; k < simplex.count; ++k)
      if (simplex.corners[k].first == i && simplex.corners[k].second == j) return false;
    simplex.corners[simplex.count++] = {between, i, j, 1.0};
    switch (simplex.count) {
      case 1: to = between; break;
      case 2: to = polytopes::nearest_of_segment(simplex); break;
      case 3: to = polytopes::nearest_of_triangle(simplex); break;
      default: to = polytopes::nearest_of_tetrahedron(simplex); break;
    }
    if (simplex.count == 4) return false;
  }
  return false;
}

// The elements that are nearest to each other or deepest in each other; of several, the first visited.
struct NearestElements {
  double distance = detail::kNone;
  Vec<3> normal{};
  std::int32_t first = 0, second = 0;
};

inline NearestElements nearest_elements(const MeshSide& a, const MeshSide& b) {
  NearestElements best;
  if (!a.is_mesh() && !b.is_mesh()) {
    best.distance = signed_distance(a.alone(), b.alone(), &best.normal);
    return best;
  }
  const RelativePose view(a, b);
  const bool are_meshes = a.is_mesh() && b.is_mesh();
  PlacedElements placed_a(a), placed_b(b);
  // What separated two elements last is tried first on boxes and elements.
  Vec<3> way{1, 0, 0};
  RelativePose::Axis axis = view.axis_along(a, b, way);
  const auto bound = [&](const MeshNode& x, const MeshNode& y) {
    const double along = view.apart(x, y, axis);
    return along > 0 && along > best.distance ? along : view.apart(x, y);
  };
  walk_meshes(a, b, detail::kNone, bound, [&](std::int32_t face_a, std::int32_t face_b) {
    if (are_meshes) {
      const std::array<double, 9>&corners_a = placed_a.corners(face_a), &corners_b = placed_b.corners(face_b);
      if (best.distance < detail::kNone) {
        // Around the nearest corner or edge are several triangles, equally near but for rounding.
        const bool is_clear = best.distance > view.rounding();
        const double limit = best.distance + (is_clear ? -0x1p-8 : 1.0) * view.rounding();
        if (are_beyond(corners_a, corners_b, limit, way)) return best.distance;
      }
      const ShapeView<3> x{ShapeKind::kTriangle, corners_a}, y{ShapeKind::kTriangle, corners_b};
      Vec<3> normal;
      double distance = signed_distance(x, y, &normal);
      // Triangles that intersect have distance 0, whatever rounding says.
      if (distance > 0 && best.distance > 0 && distance < view.rounding() &&
          triangles_meet(detail::corners_of(corners_a), detail::corners_of(corners_b)))
        distance = 0;
      if (distance < best.distance) {
        best = {distance, normal, face_a, face_b};
        way = normal;
        axis = view.axis_along(a, b, way);
      }
    } else {
      std::array<double, 9> corners_a, corners_b;
      Vec<3> normal;
      const double distance = signed_distance(a.element(face_a, corners_a), b.element(face_b, corners_b), &normal);
      if (distance < best.distance) best = {distance, normal, face_a, face_b};
    }
    return best.distance;
  });
  return best;
}

// The contact of the two nearest elements. Precondition: they overlap.
inline Contact<3> contact(const MeshSide& a, const MeshSide& b) {
  if (!a.is_mesh() && !b.is_mesh()) return contact(a.alone(), b.alone());
  const NearestElements nearest = nearest_elements(a, b);
  std::array<double, 9> corners_a, corners_b;
  return contact(a.element(nearest.first, corners_a), b.element(nearest.second, corners_b));
}

// As for other shapes: the first time in [0, 1] at which the first, moved, touches the second.
inline double impact_time(const MeshSide& a, const Vec<3>& motion, const MeshSide& b, Vec<3>* normal) {
  if (!a.is_mesh() && !b.is_mesh()) return impact_time(a.alone(), motion, b.alone(), normal);
  RelativePose view(a, b);
  const std::array<double, 6> own_motion = view.along_axes(a, motion);
  double first = detail::kNone;
  walk_meshes(
      a, b, 1.0, [&](const MeshNode& x, const MeshNode& y) { return view.meets(x, y, own_motion); },
      [&](std::int32_t face_a, std::int32_t face_b) {
        std::array<double, 9> corners_a, corners_b;
        Vec<3> way;
        const double time = impact_time(a.element(face_a, corners_a), motion, b.element(face_b, corners_b), &way);
        if (time < first) {
          first = time;
          *normal = way;
        }
        return first < 1 ? first : 1.0;
      });
  return first;
}

// As for other shapes: where a ray first hits the mesh. The ray is cut where it leaves the mesh's box.
inline double ray_hit(const MeshSide& mesh, const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal) {
  if (!mesh.is_mesh()) return ray_hit(mesh.alone(), origin, direction, normal);
  const MeshSide point(ShapeView<3>{ShapeKind::kPoint, origin});
  RelativePose view(point, mesh);
  // Far enough to reach everything.
  const double reach = view.farthest(*point.nodes(), *mesh.nodes());
  double speed = 0;
  for (const double part : direction) speed = std::abs(part) > speed ? std::abs(part) : speed;
  double scale = speed > 0 ? 2 * reach / speed : 0;
  if (!(scale < 0x1p1000)) scale = 0x1p1000;
  const Vec<3> motion{direction[0] * scale, direction[1] * scale, direction[2] * scale};
  const std::array<double, 6> own_motion = view.along_axes(point, motion);
  double first = detail::kNone;
  walk_meshes(
      point, mesh, 1.0, [&](const MeshNode& x, const MeshNode& y) { return view.meets(x, y, own_motion); },
      [&](std::int32_t, std::int32_t face) {
        std::array<double, 9> corners;
        Vec<3> way;
        const double time = ray_hit(mesh.element(face, corners), origin, direction, &way);
        if (time < first) {
          first = time;
          *normal = way;
        }
        return first < scale ? first / scale : 1.0;
      });
  return first;
}

}  // namespace broadphase
