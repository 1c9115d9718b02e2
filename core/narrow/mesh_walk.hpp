// The triangles of a placed mesh that come near another mesh, or a shape, best first.
#pragma once

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "narrow/mesh_tree.hpp"
#include "shapes/shape_place.hpp"

namespace broadphase {

// A mesh in its place, or a shape of the core, which is a tree of one box with one element: a triangle, or the shape.
class MeshSide {
 public:
  // The record of a placed mesh: number, origin, axes (and more).
  MeshSide(const MeshTree& tree, std::span<const double> record) : tree_(&tree) {
    for (std::size_t i = 0; i < 3; ++i) {
      origin_[i] = record[1 + i];
      for (std::size_t k = 0; k < 3; ++k) axes_[i][k] = record[4 + 3 * i + k];
    }
  }
  explicit MeshSide(const ShapeView<3>& shape) : shape_(shape) {
    Bounds<3> bounds;
    add_bounds<3>(shape, bounds);
    for (std::size_t k = 0; k < 3; ++k) {
      axes_[k][k] = 1;
      alone_.centre[k] = bounds.lower[k] / 2 + bounds.upper[k] / 2;
      alone_.half[k] = bounds.upper[k] / 2 - bounds.lower[k] / 2;
    }
    alone_.count = 1;
  }
  void move(const double* offset) {
    for (std::size_t k = 0; k < 3; ++k) offset_[k] = offset[k];
  }

  bool is_mesh() const { return tree_ != nullptr; }
  const MeshNode* nodes() const { return tree_ != nullptr ? tree_->nodes() : &alone_; }
  std::int32_t face(std::uint32_t place) const { return tree_ != nullptr ? tree_->order()[place] : 0; }
  const Vec<3>& axis(std::size_t i) const { return axes_[i]; }
  // Of the frame.
  double origin(std::size_t k) const { return origin_[k] + offset_[k]; }

  // A triangle in its place, one sum after the other, in the world: what is exact is said of these corners. `corners`
  // keeps it.
  ShapeView<3> element(std::int32_t face, std::array<double, 9>& corners) const {
    if (tree_ == nullptr) return shape_;
    for (std::size_t c = 0; c < 3; ++c) {
      const double* const own = tree_->corner(face, c);
      for (std::size_t k = 0; k < 3; ++k)
        corners[3 * c + k] =
            origin_[k] + own[0] * axes_[0][k] + own[1] * axes_[1][k] + own[2] * axes_[2][k] + offset_[k];
    }
    return {ShapeKind::kTriangle, corners};
  }

 private:
  const MeshTree* tree_ = nullptr;
  ShapeView<3> shape_{};
  MeshNode alone_{};
  Vec<3> origin_{}, offset_{};
  std::array<Vec<3>, 3> axes_{};
};

// Where the boxes of two trees are to each other, which are turned against each other.
class RelativePose {
 public:
  RelativePose(const MeshSide& a, const MeshSide& b) {
    double size = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) turn_[i][j] = dot(a.axis(i), b.axis(j));
      Vec<3> between;
      for (std::size_t k = 0; k < 3; ++k) between[k] = b.origin(k) - a.origin(k);
      shift_[i] = dot(a.axis(i), between);
      for (const MeshSide* side : {&a, &b})
        size += std::abs(side->origin(i)) + std::abs(side->nodes()->centre[i]) + side->nodes()->half[i];
    }
    // Hundreds of roundings, where there are a few dozen of them.
    spare_ = 1e-13 * size;
  }

  // A distance that the two boxes are apart at the least; endlessly below 0 if they may overlap.
  double apart(const MeshNode& a, const MeshNode& b) const {
    const Axes gaps = axes_between(a, b);
    double first = 0, second = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double x = std::abs(gaps.at[k]) - gaps.reach[k], y = std::abs(gaps.at[3 + k]) - gaps.reach[3 + k];
      if (x > 0) first += x * x;
      if (y > 0) second += y * y;
    }
    const double most = first > second ? first : second;
    return most > 0 ? std::sqrt(most) : -std::numeric_limits<double>::infinity();
  }

  // The share of `motion` (in the frame of the first, which moves) after which they touch at the earliest.
  double meets(const MeshNode& a, const MeshNode& b, const Vec<3>& motion) const {
    const Axes gaps = axes_between(a, b);
    double begin = 0, end = 1;
    for (std::size_t k = 0; k < 6; ++k) {
      double speed = 0;
      if (k < 3)
        speed = motion[k];
      else
        for (std::size_t i = 0; i < 3; ++i) speed += turn_[i][k - 3] * motion[i];
      const double low = gaps.at[k] - gaps.reach[k], high = gaps.at[k] + gaps.reach[k];
      // Within while low <= speed * t <= high.
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

  Vec<3> in_first_frame(const MeshSide& a, const double* direction) const {
    const Vec<3> world{direction[0], direction[1], direction[2]};
    return {dot(a.axis(0), world), dot(a.axis(1), world), dot(a.axis(2), world)};
  }
  // What is missing to a motion that is rounded as it is turned, over its whole length.
  void allow_for(const Vec<3>& motion) {
    for (const double part : motion) spare_ += 1e-13 * std::abs(part);
  }

  // No point of one box is farther than this from any of the other.
  double farthest(const MeshNode& a, const MeshNode& b) const {
    const Axes gaps = axes_between(a, b);
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) sum += std::abs(gaps.at[k]) + gaps.reach[k];
    return sum;
  }
  // More than rounding may change of a distance.
  double rounding() const { return spare_; }

  static constexpr double kNever = std::numeric_limits<double>::infinity();

 private:
  // Along the three axes of either: how far the centres are apart, and how far the boxes reach together.
  struct Axes {
    std::array<double, 6> at, reach;
  };

  static double dot(const Vec<3>& a, const Vec<3>& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

  Axes axes_between(const MeshNode& a, const MeshNode& b) const {
    Axes found;
    for (std::size_t i = 0; i < 3; ++i) {
      found.at[i] = shift_[i] - a.centre[i];
      found.reach[i] = a.half[i] + spare_;
      for (std::size_t j = 0; j < 3; ++j) {
        found.at[i] += turn_[i][j] * b.centre[j];
        found.reach[i] += std::abs(turn_[i][j]) * b.half[j];
      }
    }
    for (std::size_t j = 0; j < 3; ++j) {
      found.at[3 + j] = 0;
      found.reach[3 + j] = b.half[j] + spare_;
      for (std::size_t i = 0; i < 3; ++i) {
        found.at[3 + j] += turn_[i][j] * found.at[i];
        found.reach[3 + j] += std::abs(turn_[i][j]) * a.half[i];
      }
    }
    return found;
  }

  std::array<Vec<3>, 3> turn_;  // [i][j]: axis i of the first times axis j of the second
  Vec<3> shift_;                // from the first origin to the second, along the axes of the first
  double spare_;
};

// Calls visit(face of a, face of b) for pairs of elements whose boxes are within the limit by bound(node, node): the
// nearest boxes first. `visit` gives the limit from then on; NaN: enough.
template <class Bound, class Visit>
void walk_meshes(const MeshSide& a, const MeshSide& b, double limit, const Bound& bound, const Visit& visit) {
  struct Entry {
    std::uint32_t a, b;
    double bound;
  };
  // Each step goes one level down in one of the trees, and leaves one pair behind.
  std::array<Entry, 2 * MeshTree::kMostLevels + 8> stack;
  std::size_t size = 0;
  const MeshNode *const nodes_a = a.nodes(), *const nodes_b = b.nodes();
  stack[size++] = {0, 0, bound(nodes_a[0], nodes_b[0])};
  while (size > 0) {
    const Entry entry = stack[--size];
    if (!(entry.bound <= limit)) continue;
    const MeshNode &x = nodes_a[entry.a], &y = nodes_b[entry.b];
    if (x.count > 0 && y.count > 0) {
      for (std::uint32_t i = 0; i < x.count; ++i)
        for (std::uint32_t j = 0; j < y.count; ++j) {
          limit = visit(a.face(x.first + i), b.face(y.first + j));
          if (limit != limit) return;
        }
      continue;
    }
    const double size_x = x.half[0] + x.half[1] + x.half[2], size_y = y.half[0] + y.half[1] + y.half[2];
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
    assert(size + 2 <= stack.size());
    stack[size++] = far;
    stack[size++] = near;
  }
}

}  // namespace broadphase
