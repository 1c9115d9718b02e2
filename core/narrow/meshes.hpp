// The narrow phase of triangle meshes, point clouds and convex hulls: trees of boxes over the triangles of a mesh or
// the points of a cloud, the simultaneous walk of two such trees, and the queries on them. Any other shape is a tree of
// one box. Pairs with a height field are found from its grid (height_field_pairs.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/nearest_last.hpp"
#include "narrow/element_tree.hpp"
#include "narrow/half_spaces.hpp"
#include "narrow/height_field.hpp"
#include "narrow/narrow_3d.hpp"
#include "narrow/point_clouds.hpp"
#include "narrow/polytopes.hpp"
#include "narrow/simplex.hpp"
#include "narrow/triangles.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// ---- The triangles of a mesh, in a tree ----

class MeshTree : public ElementTree {
 public:
  // Vertices: three numbers each; faces: three vertex rows each, at least one face. Preconditions: rows in range,
  // finite vertices.
  MeshTree(std::span<const double> vertices, std::span<const std::int32_t> faces)
      : vertices_(vertices.begin(), vertices.end()), faces_(faces.begin(), faces.end()), rows_(faces.size() / 3) {
    std::iota(rows_.begin(), rows_.end(), 0);
    std::vector<Vec<3>> middles(rows_.size());
    for (std::size_t face = 0; face < rows_.size(); ++face)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto at = [&](std::size_t c) { return corner(static_cast<std::int32_t>(face), c)[axis] / 3; };
        middles[face][axis] = at(0) + at(1) + at(2);
      }
    arrange<1>(rows_, [&](std::int32_t face) { return middles[static_cast<std::size_t>(face)].data(); });
    sort_by(rows_);
    Bounds of_all;
    for (std::size_t k = 0; k < vertex_count(); ++k) of_all.add(vertex(k));
    write_boxes(of_all, [&](std::int32_t face, Bounds& bounds) {
      for (std::size_t c = 0; c < 3; ++c) bounds.add(corner(face, c));
    });
  }

  // The hull of a convex mesh, which is its surface with the inside; null of all others. `seek` finds it when it is
  // first needed, on any thread (convex_meshes.hpp).
  using SeekHull = std::unique_ptr<const Polytope> (*)(const MeshTree& tree);
  void seek_hull_by(SeekHull seek) {
    seek_hull_ = seek;
    hull_ = std::make_unique<SoughtHull>();
  }
  const Polytope* hull() const {
    if (hull_ == nullptr) return nullptr;
    std::call_once(hull_->once, [&] {
      hull_->kept = seek_hull_(*this);
      hull_->known = hull_->kept.get();
    });
    return hull_->kept.get();
  }

  std::size_t face_count() const { return faces_.size() / 3; }
  std::size_t vertex_count() const { return vertices_.size() / 3; }
  const double* vertex(std::size_t number) const { return vertices_.data() + 3 * number; }
  // The row of a face as it was given; all others know them by their place in the tree.
  std::int32_t row_of(std::int32_t face) const { return rows_[static_cast<std::size_t>(face)]; }
  std::size_t vertex_of(std::int32_t face, std::size_t which) const {
    return static_cast<std::size_t>(faces_[3 * static_cast<std::size_t>(face) + which]);
  }
  const double* corner(std::int32_t face, std::size_t which) const { return vertex(vertex_of(face, which)); }
  bool precedes(const MeshTree& other) const {
    return vertices_ != other.vertices_ ? vertices_ < other.vertices_ : faces_ < other.faces_;
  }
  std::size_t memory_bytes() const {
    return vertices_.capacity() * sizeof(double) + (faces_.capacity() + rows_.capacity()) * sizeof(std::int32_t) +
           ElementTree::memory_bytes() + hull_bytes();
  }

 private:
  struct SoughtHull {
    std::once_flag once;
    std::unique_ptr<const Polytope> kept;
    std::atomic<const Polytope*> known{nullptr};  // as soon as it is
  };
  std::size_t hull_bytes() const {
    const Polytope* const hull = hull_ != nullptr ? hull_->known.load() : nullptr;
    return hull != nullptr ? hull->memory_bytes() : 0;
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

  std::vector<double> vertices_;
  std::vector<std::int32_t> faces_, rows_;
  SeekHull seek_hull_ = nullptr;
  std::unique_ptr<SoughtHull> hull_;
};

// ---- The walk: pairs of elements of two placed trees whose boxes are close, nearest first ----

// A placed mesh or cloud, whose elements are triangles or balls; or another shape, as a tree of one box with the shape
// as its only element. Elements are known by their places in the tree.
class MeshSide {
 public:
  // The record of a placed mesh: number, origin, axes (and more).
  MeshSide(const MeshTree& tree, std::span<const double> record) : tree_(&tree) { read_frame(record); }
  // The same of a cloud.
  MeshSide(const CloudTree& cloud, std::span<const double> record) : cloud_(&cloud) { read_frame(record); }
  // The same of a height field.
  MeshSide(const HeightField& field, std::span<const double> record)
      : field_(&field), alone_{{ShapeKind::kHeightField, record}, nullptr} {
    read_frame(record);
  }
  // `polytope`: of a hull. Its box is that in its own frame, as are those of rotated boxes and of capsules: boxes
  // around them along the axes of the world are much larger, and hold many triangles that are not near.
  explicit MeshSide(const ShapeView<3>& shape, const Polytope* polytope = nullptr) : alone_{shape, polytope} {
    if (polytope != nullptr)
      read_frame(shape.record);
    else if (!set_own_frame())
      for (std::size_t k = 0; k < 3; ++k) axes_[k][k] = 1;
  }
  void move(const double* offset) {
    for (std::size_t k = 0; k < 3; ++k) offset_[k] = offset[k];
  }

  bool is_mesh() const { return tree_ != nullptr; }
  bool is_cloud() const { return cloud_ != nullptr; }
  bool has_tree() const { return is_mesh() || is_cloud(); }
  bool is_field() const { return field_ != nullptr; }
  const HeightField& field() const { return *field_; }
  // Whether it has an inside that a depth is measured in: all but height fields, and meshes that are not convex.
  bool has_solid() const { return !is_field() && (tree_ == nullptr || tree_->hull() != nullptr); }
  // The shape with its inside. `record` is its storage. Precondition: it has one, and is no cloud.
  Element solid(std::array<double, 13>& record) const {
    if (tree_ == nullptr) return alone_;
    for (std::size_t i = 0; i < 3; ++i) {
      record[1 + i] = origin(i);
      for (std::size_t k = 0; k < 3; ++k) record[4 + 3 * i + k] = axes_[i][k];
    }
    return {{ShapeKind::kHull, record}, tree_->hull()};
  }
  // The shape, if it is no mesh and no cloud.
  const Element& alone() const { return alone_; }
  // Of a cloud, boxes are around points, which are so far inside its surface; else 0.
  double radius() const { return cloud_ != nullptr ? cloud_->radius() : 0; }
  const MeshBlock* blocks() const {
    return tree_ != nullptr ? tree_->blocks() : cloud_ != nullptr ? cloud_->blocks() : &box().block;
  }
  const MeshUnits& units() const {
    return tree_ != nullptr ? tree_->units() : cloud_ != nullptr ? cloud_->units() : box().units;
  }
  std::size_t element_count() const {
    return tree_ != nullptr ? tree_->face_count() : cloud_ != nullptr ? cloud_->size() : 1;
  }
  // One more than the last element of a leaf.
  std::int32_t end_of(std::int32_t first) const { return cloud_ != nullptr ? cloud_->end_of(first) : first + 1; }
  const Vec<3>& axis(std::size_t i) const { return axes_[i]; }
  // The origin of the mesh's frame.
  double origin(std::size_t k) const { return origin_[k] + offset_[k]; }

  const MeshTree& tree() const { return *tree_; }
  const CloudTree& cloud() const { return *cloud_; }
  // An order of shapes that are not the same: meshes come first, then clouds.
  bool precedes(const MeshSide& other) const {
    if (is_mesh() != other.is_mesh()) return is_mesh();
    if (is_cloud() != other.is_cloud()) return is_cloud();
    for (std::size_t k = 0; k < 3; ++k)
      if (origin(k) != other.origin(k)) return origin(k) < other.origin(k);
    if (axes_ != other.axes_) return axes_ < other.axes_;
    if (is_cloud()) return cloud_ != other.cloud_ && cloud_->precedes(*other.cloud_);
    return is_mesh() && tree_ != other.tree_ && tree_->precedes(*other.tree_);
  }
  // A placed vertex in world coordinates.
  Vec<3> vertex(std::size_t number) const { return placed(tree_->vertex(number)); }
  // The row of a face in the mesh as it was given; -1 for other shapes.
  std::int32_t row_of(std::int32_t face) const { return tree_ == nullptr ? -1 : tree_->row_of(face); }
  // A placed triangle or ball in world coordinates. Exact answers refer to these rounded numbers. `corners` is its
  // storage.
  Element element(std::int32_t face, std::array<double, 9>& corners) const {
    if (cloud_ != nullptr) {
      const Vec<3> centre = placed(cloud_->point(face));
      std::copy_n(centre.begin(), 3, corners.data());
      corners[3] = cloud_->radius();
      return {{ShapeKind::kBall, {corners.data(), 4}}, nullptr};
    }
    if (tree_ == nullptr) return alone_;
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec<3> corner = placed(tree_->corner(face, c));
      std::copy_n(corner.begin(), 3, corners.data() + 3 * c);
    }
    return {{ShapeKind::kTriangle, corners}, nullptr};
  }

 private:
  void read_frame(std::span<const double> record) {
    for (std::size_t i = 0; i < 3; ++i) {
      origin_[i] = record[1 + i];
      for (std::size_t k = 0; k < 3; ++k) axes_[i][k] = record[4 + 3 * i + k];
    }
  }
  Vec<3> placed(const double* own) const {
    Vec<3> at;
    for (std::size_t k = 0; k < 3; ++k)
      at[k] = origin_[k] + own[0] * axes_[0][k] + own[1] * axes_[1][k] + own[2] * axes_[2][k] + offset_[k];
    return at;
  }

  // Sets the frame of a rotated box, or of a segment that is neither so short nor so long that its direction is lost.
  bool set_own_frame() {
    const std::span<const double> r = alone_.shape.record;
    if (alone_.shape.kind == ShapeKind::kOrientedBox) {
      origin_ = solid::vector_at(r, 0);
      own_half_ = solid::vector_at(r, 3);
      for (std::size_t i = 0; i < 3; ++i) axes_[i] = solid::vector_at(r, 6 + 3 * i);
      return has_own_frame_ = true;
    }
    if (traits_of(alone_.shape.kind).core != CoreForm::kSegment) return false;
    Vec<3> half;
    for (std::size_t k = 0; k < 3; ++k) {
      origin_[k] = r[k] / 2 + r[3 + k] / 2;
      half[k] = r[3 + k] / 2 - r[k] / 2;
    }
    const double squared = solid::squared(half), length = std::sqrt(squared), radius = radius_of(alone_.shape);
    if (!(squared > 0x1p-900 && squared < 0x1p900)) {
      origin_ = {};
      return false;
    }
    for (std::size_t k = 0; k < 3; ++k) axes_[0][k] = half[k] / length;
    axes_[1] = solid::perpendicular(axes_[0]);
    axes_[2] = solid::cross(axes_[0], axes_[1]);
    own_half_ = {length + radius, radius, radius};
    return has_own_frame_ = true;
  }

  // The tree of one box, made when it is first asked for: pairs without a mesh need none.
  struct Box {
    MeshUnits units;
    MeshBlock block{};
  };
  const Box& box() const {
    if (box_.block.count == 0) {
      ShapeBounds<3> bounds;
      if (alone_.polytope != nullptr || field_ != nullptr) {
        constexpr std::size_t kBounds = 13;  // where they are in the record
        std::copy_n(alone_.shape.record.begin() + kBounds, 3, bounds.lower.begin());
        std::copy_n(alone_.shape.record.begin() + kBounds + 3, 3, bounds.upper.begin());
      } else if (has_own_frame_) {
        for (std::size_t k = 0; k < 3; ++k) {
          bounds.lower[k] = -own_half_[k];
          bounds.upper[k] = own_half_[k];
        }
      } else {
        add_bounds<3>(alone_.shape, bounds);
      }
      box_.units = MeshUnits(bounds.lower, bounds.upper);
      box_.units.write(bounds.lower, bounds.upper, box_.block, 0);
      box_.block.first[0] = MeshBlock::kFace;
      box_.block.count = 1;
    }
    return box_;
  }

  const MeshTree* tree_ = nullptr;
  const CloudTree* cloud_ = nullptr;
  const HeightField* field_ = nullptr;
  Element alone_{};
  mutable Box box_{};
  Vec<3> origin_{}, offset_{};
  std::array<Vec<3>, 3> axes_{};
  bool has_own_frame_ = false;  // of a shape that is no hull and no mesh
  Vec<3> own_half_{};           // of its box there
};

// How far a triangle reaches along a vector.
inline solid::Projection extent_along(const std::array<double, 9>& corners, const Vec<3>& way) {
  const auto height = [&](std::size_t k) {
    return corners[k] * way[0] + corners[k + 1] * way[1] + corners[k + 2] * way[2];
  };
  const double p = height(0), q = height(3), r = height(6);
  return {p < q ? (p < r ? p : r) : (q < r ? q : r), p > q ? (p > r ? p : r) : (q > r ? q : r)};
}

// The elements of a side that is no cloud: a walk comes back to the same triangles again and again, and the last ones
// are kept placed.
class PlacedElements {
 public:
  explicit PlacedElements(const MeshSide& side) : side_(side) { faces_.fill(-1); }

  // How far a triangle reaches along a vector, which is the `number`-th that is asked for, counted from 1.
  solid::Projection extent(std::int32_t face, const Vec<3>& way, std::uint32_t number) {
    const std::array<double, 9>& at = corners(face);
    const std::size_t slot = static_cast<std::size_t>(face) % kKept;
    if (numbers_[slot] != number) {
      numbers_[slot] = number;
      extents_[slot] = extent_along(at, way);
    }
    return extents_[slot];
  }

  // Valid until the next call.
  const std::array<double, 9>& corners(std::int32_t face) {
    const std::size_t slot = static_cast<std::size_t>(face) % kKept;
    if (faces_[slot] != face) {
      faces_[slot] = face;
      numbers_[slot] = 0;
      side_.element(face, corners_[slot]);
    }
    return corners_[slot];
  }
  Element element(std::int32_t face) {
    if (!side_.is_mesh()) return side_.alone();
    return {{ShapeKind::kTriangle, corners(face)}, nullptr};
  }

 private:
  static constexpr std::size_t kKept = 64;

  const MeshSide& side_;
  std::array<std::int32_t, kKept> faces_;
  std::array<std::array<double, 9>, kKept> corners_;
  std::array<std::uint32_t, kKept> numbers_;
  std::array<solid::Projection, kKept> extents_;
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
    rounding_ = 1e-13 * (rounding_ + (units_a.size + units_b.size) + (a.radius() + b.radius()));
    double largest = 0;
    // The same numbers in either order of the two: so boxes are visited in the same order.
    Vec<3> shift_of_second;
    for (std::size_t i = 0; i < 3; ++i) {
      shift[i] = dot(a.axis(i), between) - units_a.middle[i];
      for (std::size_t j = 0; j < 3; ++j) {
        turn_[i][j] = dot(a.axis(i), b.axis(j));
        shift[i] += turn_[i][j] * units_b.middle[j];
      }
      largest = std::max(largest, std::abs(shift[i]));
    }
    for (std::size_t j = 0; j < 3; ++j) {
      shift_of_second[j] = units_b.middle[j] - dot(b.axis(j), {-between[0], -between[1], -between[2]});
      for (std::size_t i = 0; i < 3; ++i) shift_of_second[j] -= turn_[i][j] * units_a.middle[i];
      largest = std::max(largest, std::abs(shift_of_second[j]));
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
    farthest_shift_ = largest * inverse_;
    const double size_a = power_of_two(std::max(units_a.exponent - exponent, -kMost)),
                 size_b = power_of_two(std::max(units_b.exponent - exponent, -kMost));
    for (std::size_t i = 0; i < 3; ++i) {
      shift[i] *= inverse_;
      shift_of_second[i] *= inverse_;
    }
    first_.lane_size = second_.box_size = static_cast<float>(size_a);
    first_.box_size = second_.lane_size = static_cast<float>(size_b);
    for (std::size_t i = 0; i < 3; ++i) {
      second_.box_shift[i] = shift[i];
      second_.lane_shift[i] = shift_of_second[i];
      first_.box_shift[i] = -shift_of_second[i];
      first_.lane_shift[i] = -shift[i];
      for (std::size_t j = 0; j < 3; ++j) {
        first_.from_lane[j][i] = second_.from_box[i][j] = static_cast<float>(turn_[i][j] * size_a);
        first_.from_box[j][i] = second_.from_lane[i][j] = static_cast<float>(turn_[i][j] * size_b);
        first_.lane_extent[j][i] = second_.box_extent[i][j] = std::abs(second_.from_box[i][j]);
        first_.box_extent[j][i] = second_.lane_extent[i][j] = std::abs(second_.from_lane[i][j]);
      }
    }
    // A hundred rounding errors of floats.
    spare_ = rounding_ * inverse_ + 0x1p-17 * (size_a + size_b);
  }

  // Numbers for each of the boxes of a block.
  template <class T>
  using Lanes = std::array<T, MeshBlock::kBoxes>;

  // The boxes of a block of one tree, which is the first if `of_first`, are compared with a box of the other.

  // How far they are apart along one of the axes of both trees: at most 0 where they may overlap.
  Lanes<float> gaps(const MeshBox& box, const MeshBlock& block, bool of_first) const {
    return gaps_of<float>(box, block, of_first).widest();
  }

  // The boxes of a block along the axes of the other tree, and along its own. `reach` has what is spared for rounding.
  template <class T>
  struct SeenBlock {
    std::array<Lanes<T>, 3> at, reach, own_at, own_reach;
  };
  template <class T>
  SeenBlock<T> seen(const MeshBlock& block, bool of_first) const {
    constexpr double kMost = 0x1p400;  // beyond all numbers of boxes
    const double spare = sizeof(T) == sizeof(float) ? spare_ + 0x1p-20 * farthest_shift_ : std::min(spare_, kMost);
    return seen(block, of_first, static_cast<T>(spare));
  }
  template <class T>
  SeenBlock<T> seen(const MeshBlock& block, bool of_first, T spare) const {
    const Side& side = of_first ? first_ : second_;
    SeenBlock<T> found;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::array<float, 3>&turn = side.from_lane[i], &extent = side.lane_extent[i];
      const T shift = static_cast<T>(side.box_shift[i]);
      for (std::size_t lane = 0; lane < MeshBlock::kBoxes; ++lane) {
        found.at[i][lane] = shift + static_cast<T>(turn[0] * block.centre[0][lane] + turn[1] * block.centre[1][lane] +
                                                   turn[2] * block.centre[2][lane]);
        found.reach[i][lane] = static_cast<T>(extent[0] * block.half[0][lane] + extent[1] * block.half[1][lane] +
                                              extent[2] * block.half[2][lane]) +
                               spare;
        found.own_at[i][lane] = static_cast<T>(side.lane_size * block.centre[i][lane]);
        found.own_reach[i][lane] = static_cast<T>(side.lane_size * block.half[i][lane]);
      }
    }
    return found;
  }

  // The same of all boxes of a block of the first and all of one of the second. Precondition: the boxes around the
  // trees may overlap; so the distance of the trees is not much larger than they are, and floats are enough for it.
  std::array<Lanes<float>, MeshBlock::kBoxes> gaps(const MeshBlock& a, const MeshBlock& b) const {
    const SeenBlock<float> first = seen(a, true, 0.0F), second = seen(b, false, 0.0F);
    const float spare = static_cast<float>(spare_);
    std::array<Lanes<float>, MeshBlock::kBoxes> widest;
    for (std::size_t k = 0; k < MeshBlock::kBoxes; ++k)
      for (std::size_t lane = 0; lane < MeshBlock::kBoxes; ++lane) {
        const auto along = [&](std::size_t i) {
          return std::abs(second.at[i][lane] - first.own_at[i][k]) - (second.reach[i][lane] + first.own_reach[i][k]);
        };
        const auto own_along = [&](std::size_t i) {
          return std::abs(first.at[i][k] - second.own_at[i][lane]) - (first.reach[i][k] + second.own_reach[i][lane]);
        };
        const float gap = widest_of(along(0), along(1), along(2), own_along(0), own_along(1), own_along(2));
        widest[k][lane] = gap - spare;
      }
    return widest;
  }

  // Whether floats tell the boxes apart: the trees are not much farther from each other than they are large.
  bool is_near() const {
    constexpr double kNear = 256, kMostSpare = 1e15;
    return farthest_shift_ <= kNear && spare_ <= kMostSpare;
  }
  // Lower bounds, in units of the view, of the signed distances of what box k of one block and those of a block of the
  // other tree hold. Precondition: of floats, the trees are near.
  template <class T>
  Lanes<T> apart(const SeenBlock<T>& of, std::size_t k, const SeenBlock<T>& lanes) const {
    constexpr bool kAreFloats = sizeof(T) == sizeof(float);
    constexpr T kRounding = (kAreFloats ? T{1} - static_cast<T>(0x1p-20) : T{1}) / 2;
    Lanes<T> widest, squares{}, own_squares{}, bounds;
    widest.fill(-std::numeric_limits<T>::infinity());
    // Without branches, which compilers would not make vectors of: |x| + x is twice what of x is above 0.
    for (std::size_t i = 0; i < 3; ++i) {
      const T from = of.own_at[i][k], room = of.own_reach[i][k], own_from = of.at[i][k], own_room = of.reach[i][k];
      for (std::size_t lane = 0; lane < MeshBlock::kBoxes; ++lane) {
        const T gap = std::abs(lanes.at[i][lane] - from) - (lanes.reach[i][lane] + room), above = std::abs(gap) + gap;
        const T own = std::abs(lanes.own_at[i][lane] - own_from) - (lanes.own_reach[i][lane] + own_room),
                own_above = std::abs(own) + own, wider = gap > own ? gap : own;
        widest[lane] = widest[lane] > wider ? widest[lane] : wider;
        squares[lane] += above * above;
        own_squares[lane] += own_above * own_above;
      }
    }
    for (std::size_t lane = 0; lane < MeshBlock::kBoxes; ++lane) {
      const T squared = squares[lane] > own_squares[lane] ? squares[lane] : own_squares[lane];
      bounds[lane] = std::sqrt(squared) * kRounding + (widest[lane] - std::abs(widest[lane])) / 2;
    }
    return bounds;
  }
  // A distance in units of the view, rounded up.
  template <class T>
  T in_units(double distance) const {
    const double own = distance * inverse_;
    return static_cast<T>(own + 0x1p-22 * std::abs(own));
  }

  // Lower bounds of the signed distances of what the boxes hold.
  Lanes<double> apart(const MeshBox& box, const MeshBlock& block, bool of_first) const {
    const Gaps<double> six = gaps_of<double>(box, block, of_first);
    const Lanes<double> widest = six.widest();
    Lanes<double> bounds;
    for (std::size_t lane = 0; lane < MeshBlock::kBoxes; ++lane) {
      const double along_box = square_above(six.x[lane]) + square_above(six.y[lane]) + square_above(six.z[lane]),
                   along_block = square_above(six.u[lane]) + square_above(six.v[lane]) + square_above(six.w[lane]);
      bounds[lane] = (widest[lane] > 0 ? std::sqrt(larger(along_box, along_block)) : widest[lane]) * unit_;
    }
    return bounds;
  }

  // The fractions of a motion of the first before which they cannot touch. The motion is one of `along_axes`.
  Lanes<double> meets(const MeshBox& box, const MeshBlock& block, bool of_first,
                      const std::array<double, 6>& motion) const {
    const AxesOfBox<double> axes = axes_of<double>(box, of_first);
    constexpr double kRounding = 1e-12;
    Lanes<double> times;
    for (std::size_t lane = 0; lane < MeshBlock::kBoxes; ++lane) {
      const std::array<float, 3> centre{block.centre[0][lane], block.centre[1][lane], block.centre[2][lane]},
          half{block.half[0][lane], block.half[1][lane], block.half[2][lane]};
      double begin = 0, end = 1;
      for (std::size_t k = 0; k < 6; ++k) {
        const double at = k < 3 ? axes.at(k, centre) : axes.own_at(k - 3, centre);
        const double reach = k < 3 ? axes.reach(k, half) : axes.own_reach(k - 3, half);
        const double speed = of_first ? -motion[(k + 3) % 6] : motion[k], low = at - reach, high = at + reach;
        // Inside while low <= speed * t <= high.
        if (speed == 0) {
          if (low > 0 || high < 0) begin = kNever;
          continue;
        }
        const double in = (speed > 0 ? low : high) / speed, out = (speed > 0 ? high : low) / speed;
        if (in > begin) begin = in;
        if (out < end) end = out;
      }
      times[lane] = begin <= end + kRounding ? begin - kRounding : kNever;
    }
    return times;
  }

  // From now on, boxes are as much larger to each side, as those around balls are than those around their centres.
  void grow(double by) { spare_ += by * inverse_ * (1 + 0x1p-18); }

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

  // An upper bound of the distance of any two points of the trees.
  double farthest(const MeshSide& a, const MeshSide& b) const {
    const MeshBox of_b = b.blocks()->box(0);
    const AxesOfBox<double> axes = axes_of<double>(a.blocks()->box(0), false);
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += std::abs(axes.at(i, of_b.centre)) + axes.reach(i, of_b.half);
    return sum * unit_;
  }
  // An upper bound of the rounding error of a distance.
  double rounding() const { return rounding_; }

  static constexpr double kNever = std::numeric_limits<double>::infinity();

 private:
  static constexpr int kMost = MeshUnits::kMost;

  // How blocks of one tree are compared with boxes of the other.
  struct Side {
    // [i][j]: axis i of the boxes' tree times axis j of the blocks' tree, in units of the one or the other; and without
    // signs.
    std::array<std::array<float, 3>, 3> from_box, box_extent, from_lane, lane_extent;
    float box_size, lane_size;     // of the trees' units
    Vec<3> box_shift, lane_shift;  // from the middle of the boxes' tree to that of the blocks', along the axes of each
  };

  static double dot(const Vec<3>& a, const Vec<3>& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  template <class T>
  static T larger(T a, T b) {
    return a > b ? a : b;
  }
  static double square_above(double gap) { return gap > 0 ? gap * gap : 0; }

  template <class T>
  static T widest_of(T x, T y, T z, T u, T v, T w) {
    return larger(larger(larger(x, y), larger(z, u)), larger(v, w));
  }

  // Between a box and those of a block, along the axes of the one and of the others.
  template <class T>
  struct Gaps {
    Lanes<T> x, y, z, u, v, w;

    Lanes<T> widest() const {
      Lanes<T> found;
      for (std::size_t lane = 0; lane < MeshBlock::kBoxes; ++lane)
        found[lane] = widest_of(x[lane], y[lane], z[lane], u[lane], v[lane], w[lane]);
      return found;
    }
  };

  // What of the comparison is the same for all boxes of a block.
  template <class T>
  struct AxesOfBox {
    const Side& side;
    std::array<T, 3> shift, room, own_shift, own_room;

    // From the centre of the box to that of one in the block, and the sum of their extents: along axis i of the box.
    T at(std::size_t i, const std::array<float, 3>& c) const {
      const std::array<float, 3>& turn = side.from_lane[i];
      return shift[i] + static_cast<T>(turn[0] * c[0] + turn[1] * c[1] + turn[2] * c[2]);
    }
    T reach(std::size_t i, const std::array<float, 3>& half) const {
      const std::array<float, 3>& turn = side.lane_extent[i];
      return room[i] + static_cast<T>(turn[0] * half[0] + turn[1] * half[1] + turn[2] * half[2]);
    }
    // The same along axis j of the block.
    T own_at(std::size_t j, const std::array<float, 3>& c) const {
      return own_shift[j] + static_cast<T>(side.lane_size * c[j]);
    }
    T own_reach(std::size_t j, const std::array<float, 3>& half) const {
      return own_room[j] + static_cast<T>(side.lane_size * half[j]);
    }
  };
  template <class T>
  AxesOfBox<T> axes_of(const MeshBox& box, bool of_first) const {
    const Side& side = of_first ? first_ : second_;
    const T spare = static_cast<T>(spare_);
    AxesOfBox<T> axes{side, {}, {}, {}, {}};
    for (std::size_t i = 0; i < 3; ++i) {
      axes.shift[i] = static_cast<T>(side.box_shift[i] - static_cast<double>(box.centre[i] * side.box_size));
      axes.room[i] = spare + static_cast<T>(box.half[i] * side.box_size);
      const float from = side.from_box[0][i] * box.centre[0] + side.from_box[1][i] * box.centre[1] +
                         side.from_box[2][i] * box.centre[2],
                  extent = side.box_extent[0][i] * box.half[0] + side.box_extent[1][i] * box.half[1] +
                           side.box_extent[2][i] * box.half[2];
      axes.own_shift[i] = static_cast<T>(side.lane_shift[i] - static_cast<double>(from));
      axes.own_room[i] = spare + static_cast<T>(extent);
    }
    return axes;
  }

  template <class T>
  Gaps<T> gaps_of(const MeshBox& box, const MeshBlock& block, bool of_first) const {
    const AxesOfBox<T> axes = axes_of<T>(box, of_first);
    Gaps<T> gaps;
    for (std::size_t lane = 0; lane < MeshBlock::kBoxes; ++lane) {
      const std::array<float, 3> centre{block.centre[0][lane], block.centre[1][lane], block.centre[2][lane]},
          half{block.half[0][lane], block.half[1][lane], block.half[2][lane]};
      gaps.x[lane] = std::abs(axes.at(0, centre)) - axes.reach(0, half);
      gaps.y[lane] = std::abs(axes.at(1, centre)) - axes.reach(1, half);
      gaps.z[lane] = std::abs(axes.at(2, centre)) - axes.reach(2, half);
      gaps.u[lane] = std::abs(axes.own_at(0, centre)) - axes.own_reach(0, half);
      gaps.v[lane] = std::abs(axes.own_at(1, centre)) - axes.own_reach(1, half);
      gaps.w[lane] = std::abs(axes.own_at(2, centre)) - axes.own_reach(2, half);
    }
    return gaps;
  }

  std::array<Vec<3>, 3> turn_;  // [i][j]: axis i of the first times axis j of the second
  Side first_, second_;         // blocks of the first, and of the second
  double unit_, inverse_;
  double farthest_shift_;        // of the shifts of both sides, in units
  double spare_, rounding_ = 0;  // rounding errors of boxes, in units, and of distances
};

// The sizes of the boxes of two trees, compared with one another: the larger box is divided.
class BoxSizes {
 public:
  BoxSizes(const MeshSide& a, const MeshSide& b) {
    const int larger = std::max(a.units().exponent, b.units().exponent);
    const auto unit_of = [&](const MeshSide& side) {
      return static_cast<float>(power_of_two(std::max(side.units().exponent - larger, -MeshUnits::kMost)));
    };
    unit_a_ = unit_of(a);
    unit_b_ = unit_of(b);
  }
  float of_a(const MeshBlock& block, std::size_t lane) const { return size(block, lane) * unit_a_; }
  float of_b(const MeshBlock& block, std::size_t lane) const { return size(block, lane) * unit_b_; }

 private:
  static float size(const MeshBlock& block, std::size_t lane) {
    return block.half[0][lane] + block.half[1][lane] + block.half[2][lane];
  }

  float unit_a_, unit_b_;
};

// As a visitor of leaves: calls visit(element of a, element of b) for all of two leaves, until it returns NaN, and
// returns what it returned last.
template <class Visit>
auto each_of_leaves(const MeshSide& a, const MeshSide& b, const Visit& visit) {
  return [&](std::int32_t first_a, std::int32_t first_b) {
    const std::int32_t end_a = a.end_of(first_a), end_b = b.end_of(first_b);
    double limit = 0;
    for (std::int32_t at_a = first_a; at_a < end_a; ++at_a)
      for (std::int32_t at_b = first_b; at_b < end_b; ++at_b)
        if (limit = visit(at_a, at_b); limit != limit) return limit;
    return limit;
  };
}

// Calls visit(face of a, face of b) for pairs of elements whose boxes have a bound within the limit, nearest boxes
// first: bounds(box of one tree, block of the other, whether the block is of the first) are those of the boxes in the
// block. `visit` returns the new limit; NaN stops the walk.
template <class T, class Bounds, class Visit>
void walk_meshes(const MeshSide& a, const MeshSide& b, T limit, const Bounds& bounds, const Visit& visit) {
  struct Entry {
    std::uint64_t boxes;  // of a and, in the lower half, of b: number of the block, times four, plus that of the box
    T bound;
  };
  constexpr std::size_t kBoxes = MeshBlock::kBoxes;
  // Each step descends one level in one of the trees and leaves up to three pairs behind.
  std::array<Entry, 2 * (kBoxes - 1) * MeshTree::kMostLevels + 8> stack;
  std::size_t size = 0;
  const MeshBlock *const blocks_a = a.blocks(), *const blocks_b = b.blocks();
  const BoxSizes sizes(a, b);
  stack[size++] = {0, bounds(blocks_a->box(0), *blocks_b, false)[0]};
  while (size > 0) {
    const Entry entry = stack[--size];
    if (!(entry.bound <= limit)) continue;
    const std::uint64_t box_a = entry.boxes >> 32, box_b = entry.boxes & 0xffffffff;
    const MeshBlock &block_a = blocks_a[box_a / kBoxes], &block_b = blocks_b[box_b / kBoxes];
    const std::size_t lane_a = box_a % kBoxes, lane_b = box_b % kBoxes;
    const std::uint32_t first_a = block_a.first[lane_a], first_b = block_b.first[lane_b];
    const bool is_face_a = (first_a & MeshBlock::kFace) != 0, is_face_b = (first_b & MeshBlock::kFace) != 0;
    if (is_face_a && is_face_b) {
      limit = visit(static_cast<std::int32_t>(first_a & ~MeshBlock::kFace),
                    static_cast<std::int32_t>(first_b & ~MeshBlock::kFace));
      if (limit != limit) return;
      continue;
    }
    const bool down_a = is_face_b || (!is_face_a && sizes.of_a(block_a, lane_a) >= sizes.of_b(block_b, lane_b));
    const MeshBlock& block = down_a ? blocks_a[first_a] : blocks_b[first_b];
    const RelativePose::Lanes<T> found =
        down_a ? bounds(block_b.box(lane_b), block, true) : bounds(block_a.box(lane_a), block, false);
    const std::uint64_t boxes =
        down_a ? std::uint64_t{first_a} * kBoxes << 32 | box_b : box_a << 32 | std::uint64_t{first_b} * kBoxes;
    const std::uint64_t step = down_a ? std::uint64_t{1} << 32 : 1;
    // Written unconditionally, then counted: which are within the limit cannot be predicted.
    const std::size_t begin = size;
    for (std::size_t lane = 0; lane < kBoxes; ++lane) {
      stack[size] = {boxes + step * lane, found[lane]};
      size += found[lane] <= limit && lane < block.count ? 1 : 0;
    }
    for (std::size_t k = begin + 1; k < size; ++k) put_nearest_last(&stack[begin], &stack[k], &Entry::bound);
    assert(size + kBoxes <= stack.size());
  }
}

// Calls visit(face of a, face of b) for pairs of elements whose boxes are no farther apart than a limit, nearest boxes
// first. `visit` returns the new limit; NaN stops the walk. Boxes of about the same size are divided together. T: of
// the bounds; floats, if the trees are near.
template <class T, class Visit>
void walk_nearest(const MeshSide& a, const MeshSide& b, const RelativePose& view, double within, const Visit& visit) {
  struct Entry {
    std::uint32_t box_a, box_b;  // number of the block, times four, plus that of the box
    T bound;
  };
  using Seen = RelativePose::SeenBlock<T>;
  constexpr std::uint32_t kBoxes = MeshBlock::kBoxes;
  // Each step descends one level in both of the trees, or in one, and leaves all of its pairs but one behind.
  std::array<Entry, (kBoxes * kBoxes - 1) * MeshTree::kMostLevels + kBoxes * kBoxes> stack;
  std::size_t size = 0;
  const MeshBlock *const blocks_a = a.blocks(), *const blocks_b = b.blocks();
  const BoxSizes sizes(a, b);
  T limit = view.in_units<T>(within);
  stack[size++] = {0, 0, view.apart(view.seen<T>(*blocks_a, true), 0, view.seen<T>(*blocks_b, false))[0]};
  while (size > 0) {
    const Entry entry = stack[--size];
    if (!(entry.bound <= limit)) continue;
    const MeshBlock &block_a = blocks_a[entry.box_a / kBoxes], &block_b = blocks_b[entry.box_b / kBoxes];
    const std::size_t lane_a = entry.box_a % kBoxes, lane_b = entry.box_b % kBoxes;
    const std::uint32_t first_a = block_a.first[lane_a], first_b = block_b.first[lane_b];
    const bool is_face_a = (first_a & MeshBlock::kFace) != 0, is_face_b = (first_b & MeshBlock::kFace) != 0;
    if (is_face_a && is_face_b) {
      const double next = visit(static_cast<std::int32_t>(first_a & ~MeshBlock::kFace),
                                static_cast<std::int32_t>(first_b & ~MeshBlock::kFace));
      if (next != next) return;
      limit = view.in_units<T>(next);
      continue;
    }
    const float size_a = sizes.of_a(block_a, lane_a), size_b = sizes.of_b(block_b, lane_b);
    const bool both = !is_face_a && !is_face_b && size_a <= 4 * size_b && size_b <= 4 * size_a,
               down_a = both || is_face_b || (!is_face_a && size_a >= size_b), down_b = both || !down_a;
    const MeshBlock &next_a = down_a ? blocks_a[first_a] : block_a, &next_b = down_b ? blocks_b[first_b] : block_b;
    const Seen seen_a = view.seen<T>(next_a, true), seen_b = view.seen<T>(next_b, false);
    const std::uint32_t boxes_a = down_a ? first_a * kBoxes : entry.box_a,
                        boxes_b = down_b ? first_b * kBoxes : entry.box_b;
    // Written unconditionally, then counted: which are within the limit cannot be predicted.
    const std::size_t begin = size;
    const auto push = [&](std::uint32_t box_a, std::uint32_t box_b, T bound, bool is_box) {
      stack[size] = {box_a, box_b, bound};
      size += bound <= limit && is_box ? 1 : 0;
    };
    if (!down_b) {
      const RelativePose::Lanes<T> found = view.apart(seen_b, lane_b, seen_a);
      for (std::uint32_t lane = 0; lane < kBoxes; ++lane)
        push(boxes_a + lane, boxes_b, found[lane], lane < next_a.count);
    } else {
      const std::uint32_t from = down_a ? 0 : static_cast<std::uint32_t>(lane_a), to = down_a ? next_a.count : from + 1;
      for (std::uint32_t k = from; k < to; ++k) {
        const RelativePose::Lanes<T> found = view.apart(seen_a, k, seen_b);
        if (!((found[0] <= limit) | (found[1] <= limit) | (found[2] <= limit) | (found[3] <= limit))) continue;
        for (std::uint32_t lane = 0; lane < kBoxes; ++lane)
          push(boxes_a + (k - from), boxes_b + lane, found[lane], lane < next_b.count);
      }
    }
    for (std::size_t k = begin + 1; k < size; ++k) put_nearest_last(&stack[begin], &stack[k], &Entry::bound);
    assert(size + kBoxes * kBoxes <= stack.size());
  }
}

// Calls visit(face of a, face of b) for pairs of elements whose boxes may overlap, until it returns true: from each
// pair of boxes to those that overlap most. Boxes of about the same size are divided together.
template <class Visit>
void walk_overlapping(const MeshSide& a, const MeshSide& b, const RelativePose& view, const Visit& visit) {
  struct Entry {
    std::uint32_t box_a, box_b;  // number of the block, times four, plus that of the box
    float gap;
  };
  constexpr std::uint32_t kBoxes = MeshBlock::kBoxes;
  // Each step descends one level in both of the trees, or in one, and leaves all of its pairs but one behind.
  std::array<Entry, (kBoxes * kBoxes - 1) * MeshTree::kMostLevels + kBoxes * kBoxes> stack;
  std::size_t size = 0;
  const MeshBlock *const blocks_a = a.blocks(), *const blocks_b = b.blocks();
  if (view.gaps(blocks_a->box(0), *blocks_b, false)[0] > 0) return;
  const BoxSizes sizes(a, b);
  stack[size++] = {0, 0, 0};
  while (size > 0) {
    const Entry entry = stack[--size];
    const MeshBlock &block_a = blocks_a[entry.box_a / kBoxes], &block_b = blocks_b[entry.box_b / kBoxes];
    const std::size_t lane_a = entry.box_a % kBoxes, lane_b = entry.box_b % kBoxes;
    const std::uint32_t first_a = block_a.first[lane_a], first_b = block_b.first[lane_b];
    const bool is_face_a = (first_a & MeshBlock::kFace) != 0, is_face_b = (first_b & MeshBlock::kFace) != 0;
    if (is_face_a && is_face_b) {
      if (visit(static_cast<std::int32_t>(first_a & ~MeshBlock::kFace),
                static_cast<std::int32_t>(first_b & ~MeshBlock::kFace)))
        return;
      continue;
    }
    const float size_a = sizes.of_a(block_a, lane_a), size_b = sizes.of_b(block_b, lane_b);
    const std::size_t begin = size;
    // Written unconditionally, then counted: which boxes overlap cannot be predicted. NaN: not known to be apart.
    const auto push = [&](std::uint32_t box_a, std::uint32_t box_b, float gap, bool is_box) {
      stack[size] = {box_a, box_b, gap};
      size += !(gap > 0) && is_box ? 1 : 0;
    };
    if (!is_face_a && !is_face_b && size_a <= 2 * size_b && size_b <= 2 * size_a) {
      const MeshBlock &next_a = blocks_a[first_a], &next_b = blocks_b[first_b];
      const std::array<RelativePose::Lanes<float>, kBoxes> gaps = view.gaps(next_a, next_b);
      for (std::uint32_t k = 0; k < next_a.count; ++k)
        for (std::uint32_t lane = 0; lane < kBoxes; ++lane)
          push(first_a * kBoxes + k, first_b * kBoxes + lane, gaps[k][lane], lane < next_b.count);
    } else if (is_face_b || (!is_face_a && size_a >= size_b)) {
      const MeshBlock& next = blocks_a[first_a];
      const RelativePose::Lanes<float> gaps = view.gaps(block_b.box(lane_b), next, true);
      for (std::uint32_t lane = 0; lane < kBoxes; ++lane)
        push(first_a * kBoxes + lane, entry.box_b, gaps[lane], lane < next.count);
    } else {
      const MeshBlock& next = blocks_b[first_b];
      const RelativePose::Lanes<float> gaps = view.gaps(block_a.box(lane_a), next, false);
      for (std::uint32_t lane = 0; lane < kBoxes; ++lane)
        push(entry.box_a, first_b * kBoxes + lane, gaps[lane], lane < next.count);
    }
    if (size > begin + 1) {
      std::size_t most = begin;
      for (std::size_t k = begin + 1; k < size; ++k) most = stack[k].gap < stack[most].gap ? k : most;
      std::swap(stack[most], stack[size - 1]);
    }
    assert(size + kBoxes * kBoxes <= stack.size());
  }
}

// Calls visit(face) for the elements of a tree whose boxes reach down to a height of at most `limit` above a half
// space, lowest boxes of a block first; of a compound with a half space, for all. `visit` returns the new limit; NaN
// stops the walk.
template <class Visit>
void walk_down(const MeshSide& mesh, const ShapeView<3>& unbounded, double limit, const Visit& visit) {
  if (!is_half_space(unbounded)) {
    for (std::size_t face = 0; face < mesh.element_count(); ++face)
      if (const double next = visit(static_cast<std::int32_t>(face)); next != next) return;
    return;
  }
  const HalfSpace<3> below(unbounded);
  const MeshUnits& units = mesh.units();
  const double unit = power_of_two(units.exponent);
  Vec<3> along, middle;
  double size = units.size + mesh.radius();
  for (std::size_t i = 0; i < 3; ++i) {
    along[i] = below.along(mesh.axis(i).data());
    middle[i] = mesh.origin(i);
    for (std::size_t j = 0; j < 3; ++j) middle[i] += mesh.axis(j)[i] * units.middle[j];
    size += std::abs(mesh.origin(i)) + std::abs(below.at[i]);
  }
  // Hundreds of rounding errors.
  const double height = below.height(middle.data()) - mesh.radius() - 1e-13 * size;
  struct Entry {
    std::uint32_t first;  // as in MeshBlock
    double height;        // or less
  };
  constexpr std::size_t kBoxes = MeshBlock::kBoxes;
  std::array<Entry, (kBoxes - 1) * MeshTree::kMostLevels + kBoxes> stack;
  std::size_t count = 0;
  stack[count++] = {0, -std::numeric_limits<double>::infinity()};
  while (count > 0) {
    const Entry entry = stack[--count];
    if (!(entry.height <= limit)) continue;
    if ((entry.first & MeshBlock::kFace) != 0) {
      const auto first = static_cast<std::int32_t>(entry.first & ~MeshBlock::kFace);
      for (std::int32_t face = first; face < mesh.end_of(first); ++face)
        if (limit = visit(face); limit != limit) return;
      continue;
    }
    const MeshBlock& block = mesh.blocks()[entry.first];
    const std::size_t begin = count;
    for (std::size_t lane = 0; lane < block.count; ++lane) {
      double low = 0;
      for (std::size_t i = 0; i < 3; ++i)
        low += along[i] * static_cast<double>(block.centre[i][lane]) -
               std::abs(along[i]) * static_cast<double>(block.half[i][lane]);
      const Entry one{block.first[lane], height + unit * low};
      if (!(one.height <= limit)) continue;
      stack[count] = one;
      put_nearest_last(&stack[begin], &stack[count++], &Entry::height);
    }
    assert(count + kBoxes <= stack.size());
  }
}

// Whether one of two shapes has a tree and the other is a half space, or has one as a part.
inline bool is_tree_above(const MeshSide& a, const MeshSide& b) {
  return a.has_tree() != b.has_tree() && is_unbounded((a.has_tree() ? b : a).alone().shape);
}
// The elements that are nearest to each other or deepest in each other; of several, the first visited.
struct NearestElements {
  double distance = std::numeric_limits<double>::infinity();
  Vec<3> normal{};
  std::int32_t first = 0, second = 0;
};

// ---- Pairs with a height field (height_field_pairs.cpp): as the queries below, which call these ----

namespace height_fields {

// Calls visit(face of the other) for its faces that overlap the field, by their rows, or with -1 for a shape without
// faces, until it returns true.
void visit_overlapping(const MeshSide& field, const MeshSide& other, const std::function<bool(std::int32_t)>& visit);
NearestElements nearest_elements(const MeshSide& a, const MeshSide& b, double within, double enough);
Contact<3> contact(const MeshSide& a, const MeshSide& b);
double impact_time(const MeshSide& a, const Vec<3>& motion, const MeshSide& b, Vec<3>* normal);
double ray_hit(const MeshSide& field, const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal);
// Where two shapes are nearest; if they meet, a point where they do.
std::pair<Vec<3>, Vec<3>> nearest_points(const MeshSide& a, const MeshSide& b);
// Calls visit(face of the other, its corners, corners of a triangle of the field) for pairs that may be at most so far
// apart. Corners are in the frames of their shapes; null for what is no triangle, as the box below the lowest height.
using Nearby = std::function<void(std::int32_t, const double*, const double*)>;
void visit_near(const MeshSide& field, const MeshSide& other, double reach, const Nearby& visit);

}  // namespace height_fields

// ---- The queries: a mesh or a cloud with another shape; they are the union of their triangles or balls ----

namespace detail {

inline constexpr double kNone = std::numeric_limits<double>::infinity();
inline constexpr double kEnough = std::numeric_limits<double>::quiet_NaN();

inline TriangleCorners corners_of(const std::array<double, 9>& numbers) {
  return {numbers.data(), numbers.data() + 3, numbers.data() + 6};
}

// Precondition: the first has a tree, and is a mesh if the other is one.
template <class Visit>
void visit_overlapping_faces(const MeshSide& a, const MeshSide& b, const Visit& visit) {
  if (is_tree_above(a, b)) {
    walk_down(a, b.alone().shape, 0.0, [&](std::int32_t face) {
      std::array<double, 9> corners;
      return overlaps(a.element(face, corners), b.alone()) && visit(face, std::int32_t{0}) ? kEnough : 0.0;
    });
    return;
  }
  RelativePose view(a, b);
  if (a.is_cloud() || b.is_cloud()) {
    view.grow(a.radius() + b.radius());
    std::array<double, 9> numbers_a, numbers_b;
    const auto meets = [&](std::int32_t place_a, std::int32_t place_b) {
      const bool found = overlaps(a.element(place_a, numbers_a), b.element(place_b, numbers_b));
      return found && visit(place_a, place_b) ? kEnough : 0.0;
    };
    const auto visit_leaves = each_of_leaves(a, b, meets);
    walk_overlapping(a, b, view, [&](std::int32_t first_a, std::int32_t first_b) {
      const double next = visit_leaves(first_a, first_b);
      return next != next;
    });
    return;
  }
  const bool are_meshes = b.is_mesh();
  PlacedElements placed_a(a), placed_b(b);
  walk_overlapping(a, b, view, [&](std::int32_t face_a, std::int32_t face_b) {
    const bool found = are_meshes ? triangles_meet(detail::corners_of(placed_a.corners(face_a)),
                                                   detail::corners_of(placed_b.corners(face_b)))
                                  : overlaps(placed_a.element(face_a), placed_b.element(face_b));
    return found && visit(face_a, face_b);
  });
}

}  // namespace detail

// Calls visit(face of a, face of b) for those that overlap, by their places in the trees, until it returns true. Of two
// meshes, exact for the triangles as placed. A mesh and another shape are compared in one order only: where they are
// too small to be told apart, the boxes of the trees decide, which are compared in floats. Precondition: one has a
// tree.
template <class Visit>
void visit_overlapping_faces(const MeshSide& a, const MeshSide& b, const Visit& visit) {
  if (a.is_mesh() || (a.is_cloud() && !b.is_mesh()))
    detail::visit_overlapping_faces(a, b, visit);
  else
    detail::visit_overlapping_faces(b, a,
                                    [&](std::int32_t face_b, std::int32_t face_a) { return visit(face_a, face_b); });
}

namespace detail {

// As visit_overlapping below. Precondition: one is a cloud.
template <class Visit>
void visit_overlapping_cloud(const MeshSide& a, const MeshSide& b, const Visit& visit) {
  const bool has_faces = a.is_mesh() || b.is_mesh();
  std::unordered_set<std::int32_t> visited;  // a face may overlap many balls
  broadphase::visit_overlapping_faces(a, b, [&](std::int32_t face_a, std::int32_t face_b) {
    const bool is_first = !has_faces || visited.insert(a.is_mesh() ? face_a : face_b).second;
    return (is_first && visit(a.row_of(face_a), b.row_of(face_b))) || !has_faces;
  });
}

}  // namespace detail

// The same by rows of the faces as they were given, and of any two shapes; -1 for a shape without faces. Each pair
// once.
template <class Visit>
void visit_overlapping(const MeshSide& a, const MeshSide& b, const Visit& visit) {
  if (b.is_field())
    height_fields::visit_overlapping(b, a, [&](std::int32_t face) { return visit(face, std::int32_t{-1}); });
  else if (a.is_field())
    height_fields::visit_overlapping(a, b, [&](std::int32_t face) { return visit(std::int32_t{-1}, face); });
  else if (a.is_cloud() || b.is_cloud())
    detail::visit_overlapping_cloud(a, b, visit);
  else if (a.is_mesh() || b.is_mesh())
    visit_overlapping_faces(
        a, b, [&](std::int32_t face_a, std::int32_t face_b) { return visit(a.row_of(face_a), b.row_of(face_b)); });
  else if (overlaps(a.alone(), b.alone()))
    visit(std::int32_t{-1}, std::int32_t{-1});
}

inline bool overlaps(const MeshSide& a, const MeshSide& b) {
  bool found = false;
  visit_overlapping(a, b, [&](std::int32_t, std::int32_t) { return found = true; });
  return found;
}

inline double gap_of(const solid::Projection& a, const solid::Projection& b) {
  const double onwards = b.lower - a.upper, back = a.lower - b.upper;
  return onwards > back ? onwards : back;
}

// Whether some axis proves that the signed distance of two triangles is above a limit: the gap along any is at most
// that. `way`: a unit vector that is tried first, and is set to one that has proven it.
inline bool are_beyond(const std::array<double, 9>& a, const std::array<double, 9>& b, double limit, Vec<3>& way) {
  using namespace solid;
  const auto gap_along = [&](const Vec3& axis) { return gap_of(extent_along(a, axis), extent_along(b, axis)); };
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
  polytopes::Simplex<std::size_t> simplex;
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

// How far an element that is no mesh reaches along a unit vector; everywhere, if that is not known of its kind.
inline solid::Projection extent_along(const Element& element, const Vec<3>& way) {
  using namespace solid;
  if (element.polytope != nullptr) {
    const Polytope& hull = *element.polytope;
    const double size = std::ldexp(1.0, hull.exponent()), at = dot(vector_at(element.shape.record, 1), way);
    Vec3 own;
    for (std::size_t k = 0; k < 3; ++k) own[k] = dot(vector_at(element.shape.record, 4 + 3 * k), way) * size;
    Projection found{detail::kNone, -detail::kNone};
    for (std::size_t k = 0; k < hull.corner_count(); ++k) {
      const double height = dot(hull.corner(k), own);
      found.lower = height < found.lower ? height : found.lower;
      found.upper = height > found.upper ? height : found.upper;
    }
    return {at + found.lower, at + found.upper};
  }
  Projection found{detail::kNone, -detail::kNone};
  for_each_simple<3>(element.shape, [&](const ShapeView<3>& part) {
    if (!has_corners(traits_of(part.kind).core)) {
      found = {-detail::kNone, detail::kNone};
      return false;
    }
    with_core(part, Vec3{}, [&](const auto& core, double radius) {
      const Projection of_part = project(core, way);
      found.lower = std::min(found.lower, of_part.lower - radius);
      found.upper = std::max(found.upper, of_part.upper + radius);
    });
    return true;
  });
  return found;
}

namespace detail {

// As nearest_in_order. Precondition: one is a cloud, and none is above the other.
inline NearestElements nearest_of_cloud(const MeshSide& a, const MeshSide& b, double within, double enough) {
  const RelativePose view(a, b);
  const double radii = a.radius() + b.radius();
  NearestElements best;
  double limit = within;
  std::array<double, 9> numbers_a, numbers_b;
  // Along the direction of the nearest so far, most others are farther.
  solid::Projection of_alone{};
  const auto extent = [&](const MeshSide& side, const std::array<double, 9>& at) -> solid::Projection {
    if (side.is_mesh()) return extent_along(at, best.normal);
    if (!side.is_cloud()) return of_alone;
    const double height = solid::dot({at[0], at[1], at[2]}, best.normal);
    return {height - at[3], height + at[3]};
  };
  const auto visit = [&](std::int32_t place_a, std::int32_t place_b) {
    const Element x = a.element(place_a, numbers_a), y = b.element(place_b, numbers_b);
    if (best.distance < kNone && gap_of(extent(a, numbers_a), extent(b, numbers_b)) > limit - 0x1p-8 * view.rounding())
      return limit + radii;
    Vec<3> normal;
    const double distance = signed_distance(x, y, &normal);
    if (distance < best.distance && distance <= within) {
      best = {distance, normal, place_a, place_b};
      if (!a.has_tree() || !b.has_tree()) of_alone = extent_along(a.has_tree() ? y : x, normal);
    }
    if (best.distance <= enough) return kEnough;
    limit = std::min(best.distance, within);
    return limit + radii;
  };
  const auto visit_leaves = each_of_leaves(a, b, visit);
  if (view.is_near())
    walk_nearest<float>(a, b, view, within + radii, visit_leaves);
  else
    walk_nearest<double>(a, b, view, within + radii, visit_leaves);
  return best;
}

// As nearest_elements; of several that are equally near but for rounding, the order of the two shapes decides.
inline NearestElements nearest_in_order(const MeshSide& a, const MeshSide& b, double within, double enough) {
  NearestElements best;
  if (!a.has_tree() && !b.has_tree()) {
    best.distance = signed_distance(a.alone(), b.alone(), &best.normal);
    if (!(best.distance <= within)) best = {};
    return best;
  }
  double limit = within;
  if (is_tree_above(a, b)) {
    walk_down(a.has_tree() ? a : b, (a.has_tree() ? b : a).alone().shape, within, [&](std::int32_t face) {
      std::array<double, 9> corners;
      NearestElements one{0, {}, a.has_tree() ? face : 0, a.has_tree() ? 0 : face};
      one.distance = signed_distance(a.element(one.first, corners), b.element(one.second, corners), &one.normal);
      if (one.distance < best.distance && one.distance <= within) best = one;
      if (best.distance <= enough) return detail::kEnough;
      return limit = std::min(best.distance, within);
    });
    return best;
  }
  if (a.is_cloud() || b.is_cloud()) return nearest_of_cloud(a, b, within, enough);
  const RelativePose view(a, b);
  const bool are_meshes = a.is_mesh() && b.is_mesh();
  PlacedElements placed_a(a), placed_b(b);
  // What separated two elements last is tried first.
  Vec<3> way{1, 0, 0};
  std::uint32_t number = 1;      // of such vectors
  solid::Projection of_other{};  // of a shape that is no mesh, along `way`
  // Around the nearest corner or edge are several triangles, equally near but for rounding; and where surfaces lie upon
  // one another, all triangles are equally deep.
  const auto slack_of = [&](double distance) {
    const bool is_clear = distance < detail::kNone && distance > view.rounding();
    return (is_clear ? -0x1p-8 : distance <= 0 ? -0x1p-6 : 1.0) * view.rounding();
  };
  const auto visit = [&](std::int32_t face_a, std::int32_t face_b) {
    if (are_meshes) {
      const double least = limit + slack_of(best.distance);
      if (gap_of(placed_a.extent(face_a, way, number), placed_b.extent(face_b, way, number)) > least) return limit;
      const std::array<double, 9>&corners_a = placed_a.corners(face_a), &corners_b = placed_b.corners(face_b);
      if (limit < detail::kNone && are_beyond(corners_a, corners_b, least, way)) {
        ++number;
        return limit;
      }
      const ShapeView<3> x{ShapeKind::kTriangle, corners_a}, y{ShapeKind::kTriangle, corners_b};
      Vec<3> normal;
      double distance = signed_distance(x, y, &normal);
      // Triangles that intersect have distance 0, whatever rounding says.
      if (distance > 0 && best.distance > 0 && distance < view.rounding() &&
          triangles_meet(detail::corners_of(corners_a), detail::corners_of(corners_b)))
        distance = 0;
      if (distance < best.distance && distance <= within) {
        best = {distance, normal, face_a, face_b};
        way = normal;
        ++number;
      }
    } else {
      const auto& corners = a.is_mesh() ? placed_a.corners(face_a) : placed_b.corners(face_b);
      if (best.distance < detail::kNone &&
          gap_of(extent_along(corners, way), of_other) > limit + slack_of(best.distance))
        return limit;
      const Element triangle{{ShapeKind::kTriangle, corners}, nullptr};
      Vec<3> normal;
      const double distance =
          a.is_mesh() ? signed_distance(triangle, b.alone(), &normal) : signed_distance(a.alone(), triangle, &normal);
      if (distance < best.distance && distance <= within) {
        best = {distance, normal, face_a, face_b};
        way = normal;
        of_other = extent_along(a.is_mesh() ? b.alone() : a.alone(), way);
      }
    }
    if (best.distance <= enough) return detail::kEnough;
    limit = std::min(best.distance, within);
    return limit;
  };
  if (view.is_near())
    walk_nearest<float>(a, b, view, within, visit);
  else
    walk_nearest<double>(a, b, view, within, visit);
  return best;
}

}  // namespace detail

// Those within a limit; stops as soon as some are at most `enough` apart. The same in either order of the two shapes.
inline NearestElements nearest_elements(const MeshSide& a, const MeshSide& b, double within = detail::kNone,
                                        double enough = -detail::kNone) {
  if (a.is_field() || b.is_field()) return height_fields::nearest_elements(a, b, within, enough);
  if (!b.precedes(a)) return detail::nearest_in_order(a, b, within, enough);
  NearestElements found = detail::nearest_in_order(b, a, within, enough);
  found.normal = solid::operator-(found.normal);
  std::swap(found.first, found.second);
  return found;
}

// A shape with its inside. `record` is its storage. Precondition: it has one.
inline MeshSide solid_side(const MeshSide& side, std::array<double, 13>& record) {
  if (side.is_cloud()) return side;
  const Element solid = side.solid(record);
  return MeshSide(solid.shape, solid.polytope);
}

// The signed distance of two shapes that is at most `within`, and its direction. Of surfaces that meet, the depth is
// that of the solids, if both have an inside; else that of the elements which are deepest in each other.
struct Separation {
  double distance;
  Vec<3> normal;
};
inline Separation separation(const MeshSide& a, const MeshSide& b, double within) {
  const bool may_be_solid = !a.is_field() && !b.is_field() && (a.is_mesh() || b.is_mesh());
  const NearestElements first = nearest_elements(a, b, within, may_be_solid ? 0.0 : -detail::kNone);
  if (!may_be_solid || first.distance > 0) return {first.distance, first.normal};
  if (!a.has_solid() || !b.has_solid()) {
    const NearestElements deepest = nearest_elements(a, b, within);
    return {deepest.distance, deepest.normal};
  }
  std::array<double, 13> record_a, record_b;
  Separation found;
  if (a.is_cloud() || b.is_cloud()) {
    const NearestElements deepest = nearest_elements(solid_side(a, record_a), solid_side(b, record_b));
    return {std::min(0.0, deepest.distance), deepest.normal};
  }
  found.distance = std::min(0.0, signed_distance(a.solid(record_a), b.solid(record_b), &found.normal));
  return found;
}

// The contact of two convex solids, or of the two nearest elements. Precondition: they overlap.
inline Contact<3> contact(const MeshSide& a, const MeshSide& b) {
  if (a.is_field() || b.is_field()) return height_fields::contact(a, b);
  const bool has_cloud = a.is_cloud() || b.is_cloud();
  if ((a.is_mesh() || b.is_mesh() || !has_cloud) && a.has_solid() && b.has_solid()) {
    std::array<double, 13> record_a, record_b;
    if (has_cloud) return contact(solid_side(a, record_a), solid_side(b, record_b));
    return contact(a.solid(record_a), b.solid(record_b));
  }
  const NearestElements nearest = nearest_elements(a, b);
  std::array<double, 9> corners_a, corners_b;
  return contact(a.element(nearest.first, corners_a), b.element(nearest.second, corners_b));
}

namespace detail {

// The least time_of(face of a, face of b, normal), of elements whose boxes meet while the first moves by `motion`,
// which takes `scale`; infinite if there is none.
template <class TimeOf>
double first_time(const MeshSide& a, const Vec<3>& motion, const MeshSide& b, RelativePose& view, double scale,
                  Vec<3>* normal, const TimeOf& time_of) {
  const std::array<double, 6> own_motion = view.along_axes(a, motion);
  double first = kNone;
  const auto look = [&](std::int32_t face_a, std::int32_t face_b) {
    Vec<3> way;
    const double time = time_of(face_a, face_b, &way);
    if (time < first) {
      first = time;
      *normal = way;
    }
    return first < scale ? first / scale : 1.0;
  };
  walk_meshes(
      a, b, 1.0,
      [&](const MeshBox& box, const MeshBlock& block, bool of_first) {
        return view.meets(box, block, of_first, own_motion);
      },
      each_of_leaves(a, b, look));
  return first;
}

}  // namespace detail

// As for other shapes: the first time in [0, 1] at which the first, moved, touches the second.
inline double impact_time(const MeshSide& a, const Vec<3>& motion, const MeshSide& b, Vec<3>* normal) {
  if (a.is_field() || b.is_field()) return height_fields::impact_time(a, motion, b, normal);
  if (!a.has_tree() && !b.has_tree()) return impact_time(a.alone(), motion, b.alone(), normal);
  if ((a.is_cloud() || b.is_cloud()) && overlaps(a, b)) {
    *normal = separation(a, b, detail::kNone).normal;
    return 0;
  }
  if (is_tree_above(a, b)) {
    std::array<double, 9> corners;
    if (is_half_space((a.has_tree() ? b : a).alone().shape)) {  // the lowest element is the first
      const NearestElements lowest = nearest_elements(a, b);
      return impact_time(a.element(lowest.first, corners), motion, b.element(lowest.second, corners), normal);
    }
    double first = detail::kNone;
    walk_down(a.has_tree() ? a : b, (a.has_tree() ? b : a).alone().shape, detail::kNone, [&](std::int32_t face) {
      Vec<3> way;
      const double time = impact_time(a.element(face, corners), motion, b.element(face, corners), &way);
      if (time < first) {
        first = time;
        *normal = way;
      }
      return first;
    });
    return first;
  }
  RelativePose view(a, b);
  if (a.is_cloud() || b.is_cloud()) view.grow(a.radius() + b.radius());
  return detail::first_time(a, motion, b, view, 1, normal, [&](std::int32_t face_a, std::int32_t face_b, Vec<3>* way) {
    std::array<double, 9> corners_a, corners_b;
    return impact_time(a.element(face_a, corners_a), motion, b.element(face_b, corners_b), way);
  });
}

// ---- Rays: one line through the tree of a mesh or a cloud, in its own frame ----

// A ray with a direction in the frame of a tree, and the walk to the elements whose boxes it meets.
class MeshRay {
 public:
  // Precondition: the shape has a tree, and the direction is not zero.
  MeshRay(const MeshSide& mesh, const Vec<3>& origin, const Vec<3>& direction)
      : mesh_(mesh), lines_(lines_of(mesh, origin, direction)) {
    const MeshUnits& units = mesh.units();
    const double inverse = power_of_two(-units.exponent);
    double size = units.size + mesh.radius(), slope = 0, along = 0, square = 0;
    Vec<3> at, way;
    for (std::size_t k = 0; k < 3; ++k) {
      size += std::abs(origin[k]) + std::abs(mesh.origin(k));
      slope = std::max(slope, std::abs(lines_.way[k]));
    }
    for (std::size_t k = 0; k < 3; ++k) {
      at[k] = (lines_.from[k] - units.middle[k]) * inverse;
      way[k] = lines_.way[k] / slope;
      along -= at[k] * way[k];
      square += way[k] * way[k];
    }
    // Floats compare the ray with boxes, from its point that is nearest to their middle on.
    begin_ = along / square;
    speed_ = slope * inverse;
    rounding_ = 1e-13 * size;
    double most = 1;
    for (std::size_t k = 0; k < 3; ++k) {
      const double there = std::clamp(at[k] + begin_ * way[k], -kFarthest, kFarthest);
      near_[k] = static_cast<float>(there);
      // So slow a motion is none within the tree.
      constexpr double kSlow = 0x1p-64;
      inverse_[k] = static_cast<float>(1 / (std::abs(way[k]) > kSlow ? way[k] : kSlow));
      most = std::max(most, std::abs(there));
    }
    const double grown = mesh.radius() * inverse;
    spare_ = static_cast<float>(std::min(4 * rounding_ * inverse + 0x1p-20 * (most + grown), kFarthest));
    grown_ = spare_ + static_cast<float>(std::min(grown, kFarthest));
  }

  // A ray in the frame of a shape, and points as seen along it.
  struct Lines {
    Vec<3> from, way;
    std::size_t x, y, z;
    double slope_x, slope_y;

    Vec<3> seen(const double* vertex) const {
      const double along = vertex[z] - from[z];
      return {vertex[x] - from[x] - slope_x * along, vertex[y] - from[y] - slope_y * along, along};
    }
  };
  static Lines lines_of(const MeshSide& mesh, const Vec<3>& origin, const Vec<3>& direction) {
    Lines lines{};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < 3; ++k) {
        lines.from[i] += mesh.axis(i)[k] * (origin[k] - mesh.origin(k));
        lines.way[i] += mesh.axis(i)[k] * direction[k];
      }
    for (std::size_t k = 1; k < 3; ++k)
      if (std::abs(lines.way[k]) > std::abs(lines.way[lines.z])) lines.z = k;
    lines.x = (lines.z + 1) % 3;
    lines.y = (lines.z + 2) % 3;
    lines.slope_x = lines.way[lines.x] / lines.way[lines.z];
    lines.slope_y = lines.way[lines.y] / lines.way[lines.z];
    return lines;
  }

  // The corners of a triangle seen along the ray, which is the origin of the plane; the third coordinate is how far the
  // corner is along the axis along which the ray is fastest. A vertex is seen in one place, whichever of its faces is
  // looked at. After S. Woop, C. Benthin, I. Wald, "Watertight Ray/Triangle Intersection", Journal of Computer Graphics
  // Techniques 2(1), 2013.
  using Seen = std::array<Vec<3>, 3>;
  Seen seen(std::int32_t face) const {
    Seen corners;
    for (std::size_t c = 0; c < 3; ++c) corners[c] = lines_.seen(mesh_.tree().corner(face, c));
    return corners;
  }
  // When the ray comes to a triangle that it passes through. `sides`: those of the edges from each corner to the next.
  double time(const Seen& corners, const std::array<double, 3>& sides) const { return time(lines_, corners, sides); }
  static double time(const Lines& lines, const Seen& corners, const std::array<double, 3>& sides) {
    const double sum = sides[0] + sides[1] + sides[2];
    const double depth = sum != 0
                             ? (sides[1] * corners[0][2] + sides[2] * corners[1][2] + sides[0] * corners[2][2]) / sum
                             : corners[0][2] / 3 + corners[1][2] / 3 + corners[2][2] / 3;
    const auto [least, most] = std::minmax({corners[0][2], corners[1][2], corners[2][2]});
    return std::clamp(depth, least, most) / lines.way[lines.z];
  }
  // Above 0: the ray is on the left of the edge. Exactly the opposite for the opposite edge.
  static double side(const Vec<3>& p, const Vec<3>& q) { return p[0] * q[1] - p[1] * q[0]; }

  // Whether rounding of placed corners may let the ray meet a triangle.
  bool may_meet(const Seen& corners) const {
    bool may_be_left = true, may_be_right = true;
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec<3>&p = corners[c], &q = corners[(c + 1) % 3];
      const double area = side(p, q),
                   spare =
                       4 * rounding_ * (std::abs(p[0]) + std::abs(p[1]) + std::abs(q[0]) + std::abs(q[1]) + rounding_);
      may_be_left &= area >= -spare;
      may_be_right &= area <= spare;
    }
    return may_be_left || may_be_right;
  }

  // Calls visit(face) for triangles whose boxes the ray may meet at times from 0 to `limit`, nearest boxes first;
  // `visit` returns the new limit.
  template <class Visit>
  void walk(double limit, const Visit& visit) const {
    constexpr std::size_t kBoxes = MeshBlock::kBoxes;
    struct Entry {
      std::uint32_t first;  // as in MeshBlock
      float time;
    };
    std::array<Entry, (kBoxes - 1) * MeshTree::kMostLevels + kBoxes> stack;
    std::size_t count = 0;
    stack[count++] = {0, -std::numeric_limits<float>::infinity()};
    const MeshBlock* const blocks = mesh_.blocks();
    const float begin = time_of(0, -1);
    float end = time_of(limit, 1);
    while (count > 0) {
      const Entry entry = stack[--count];
      if (entry.time > end) continue;
      if ((entry.first & MeshBlock::kFace) != 0) {
        const auto first = static_cast<std::int32_t>(entry.first & ~MeshBlock::kFace);
        double next = limit;
        for (std::int32_t face = first; face < mesh_.end_of(first); ++face) next = visit(face);
        end = time_of(next, 1);
        continue;
      }
      const MeshBlock& block = blocks[entry.first];
      std::array<float, kBoxes> low, high;
      low.fill(begin);
      high.fill(end);
      for (std::size_t k = 0; k < 3; ++k) {
        const float width = std::abs(inverse_[k]);
        for (std::size_t lane = 0; lane < kBoxes; ++lane) {
          const float middle = (block.centre[k][lane] - near_[k]) * inverse_[k],
                      reach = (block.half[k][lane] + grown_) * width, enters = middle - reach, leaves = middle + reach;
          low[lane] = low[lane] > enters ? low[lane] : enters;
          high[lane] = high[lane] < leaves ? high[lane] : leaves;
        }
      }
      const std::size_t first = count;
      for (std::size_t lane = 0; lane < block.count; ++lane) {
        if (low[lane] > high[lane]) continue;
        std::size_t place = count++;
        for (; place > first && stack[place - 1].time < low[lane]; --place) stack[place] = stack[place - 1];
        stack[place] = {block.first[lane], low[lane]};
      }
      assert(count + kBoxes <= stack.size());
    }
  }

 private:
  static constexpr double kFarthest = 1e18;

  // The ray in the mesh's frame, and the axes across it and along it, along which it is fastest.
  // A time as boxes are compared, rounded well down (-1) or up (1).
  float time_of(double time, int way) const {
    const double at = std::min(time * speed_, kFarthest) - begin_,
                 spare = 4 * static_cast<double>(spare_) + 0x1p-20 * (std::abs(at) + std::abs(begin_) * 0x1p-30);
    return static_cast<float>(std::clamp(at + way * spare, -kFarthest, kFarthest));
  }

  const MeshSide& mesh_;
  Lines lines_;
  std::array<float, 3> near_, inverse_;
  double begin_, speed_, rounding_;
  float spare_, grown_;  // for rounding; and with the radius of a cloud
};

// As for other shapes: where a ray first hits a shape.
inline double ray_hit(const MeshSide& mesh, const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal) {
  if (mesh.is_field()) return height_fields::ray_hit(mesh, origin, direction, normal);
  if (!mesh.has_tree()) return ray_hit(mesh.alone(), origin, direction, normal);
  double first = detail::kNone;
  std::array<double, 9> corners;
  const auto look = [&](std::int32_t face) {
    Vec<3> way;
    const double time = ray_hit(mesh.element(face, corners), origin, direction, &way);
    if (time < first) {
      first = time;
      *normal = way;
    }
    return first;
  };
  if (solid::is_zero(direction)) {
    const MeshSide point(ShapeView<3>{ShapeKind::kPoint, origin});
    visit_overlapping_faces(mesh, point, [&](std::int32_t face, std::int32_t) { return look(face) == 0; });
    return first;
  }
  const MeshRay ray(mesh, origin, direction);
  ray.walk(detail::kNone,
           [&](std::int32_t face) { return mesh.is_cloud() || ray.may_meet(ray.seen(face)) ? look(face) : first; });
  return first;
}

}  // namespace broadphase
