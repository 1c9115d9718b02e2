// The cores of hulls and of shapes with corners, as the general pair test takes them (convex_pairs.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "narrow/convex_pairs.hpp"
#include "narrow/narrow_3d.hpp"
#include "narrow/polytopes.hpp"

namespace broadphase::polytopes {

// ---- Cores in the frame of a pair: near the origin, and about 1 in size ----

// A point x of the world is at (x - origin) * to.
struct Frame {
  Vec3 origin;
  double to, back;
  int exponent;

  Frame(const Vec3& at, int power)
      : origin(at), to(std::ldexp(1.0, -power)), back(std::ldexp(1.0, power)), exponent(power) {}
  explicit Frame(const Element& hull) : Frame(solid::vector_at(hull.shape.record, 1), hull.polytope->exponent()) {}
  Vec3 place(std::span<const double> record, std::size_t at) const {
    return (solid::vector_at(record, at) - origin) * to;
  }
};

class Core {
 public:
  using Corner = std::size_t;  // its number
  static constexpr bool kIsCurved = false;

  double radius = 0;

  // A hull, or a shape whose core has corners.
  Core(const Element& element, const Frame& frame) {
    const auto& r = element.shape.record;
    if (element.polytope != nullptr) {
      polytope_ = element.polytope;
      count_ = polytope_->corner_count();
      const double size = std::ldexp(1.0, std::clamp(polytope_->exponent() - frame.exponent, -1020, 1020));
      for (std::size_t k = 0; k < 3; ++k) axes_[k] = solid::vector_at(r, 4 + 3 * k) * size;
      unit_ = 1 / size;
      origin_ = frame.place(r, 1);
      size_ = solid::magnitude(origin_) + 2 * size;
      return;
    }
    radius = radius_of(element.shape) * frame.to;
    switch (traits_of(element.shape.kind).core) {
      case CoreForm::kPoint:
      case CoreForm::kPolygon:  // in the plane only
      case CoreForm::kNone:
      case CoreForm::kHalfSpace:
      case CoreForm::kCurved: own_[count_++] = frame.place(r, 0); break;
      case CoreForm::kSegment: {
        const Vec3 edge = solid::vector_at(r, 3) - solid::vector_at(r, 0);
        own_[count_++] = frame.place(r, 0);
        if (solid::is_zero(edge)) break;
        own_[count_++] = frame.place(r, 3);
        edges_[edge_count_++] = edge * frame.to;
        break;
      }
      case CoreForm::kTriangle: {
        for (std::size_t k = 0; k < 3; ++k) own_[count_++] = frame.place(r, 3 * k);
        for (std::size_t k = 0; k < 3; ++k)
          edges_[edge_count_++] = (solid::vector_at(r, 3 * ((k + 1) % 3)) - solid::vector_at(r, 3 * k)) * frame.to;
        normals_[0] = solid::normal_of(edges_);
        normal_count_ = solid::is_zero(normals_[0]) ? 0 : 1;
        break;
      }
      case CoreForm::kBox: {
        const bool turns = element.shape.kind == ShapeKind::kOrientedBox;
        const Vec3 lower = frame.place(r, 0), upper = turns ? lower : frame.place(r, 3);
        const Vec3 half = turns ? solid::vector_at(r, 3) * frame.to : (upper - lower) * 0.5;
        const Vec3 centre = turns ? lower : (lower + upper) * 0.5;
        for (std::size_t k = 0; k < 3; ++k) {
          normals_[k] = turns ? solid::vector_at(r, 6 + 3 * k) : Vec3{};
          if (!turns) normals_[k][k] = 1;
          edges_[k] = normals_[k];
        }
        normal_count_ = edge_count_ = 3;
        for (std::size_t k = 0; k < 8; ++k)
          own_[count_++] =
              turns ? centre + normals_[0] * (k & 4 ? half[0] : -half[0]) + normals_[1] * (k & 2 ? half[1] : -half[1]) +
                          normals_[2] * (k & 1 ? half[2] : -half[2])
                    : Vec3{k & 4 ? upper[0] : lower[0], k & 2 ? upper[1] : lower[1], k & 1 ? upper[2] : lower[2]};
        break;
      }
    }
    for (std::size_t k = 0; k < count_; ++k) size_ = std::max(size_, solid::magnitude(own_[k]));
  }

  std::size_t corner_count() const { return count_; }
  // The largest absolute coordinate, or more: the scale of rounding errors.
  double size() const { return size_; }
  void move(const Vec3& by) {
    if (polytope_ != nullptr)
      origin_ = origin_ + by;
    else
      for (std::size_t k = 0; k < count_; ++k) own_[k] = own_[k] + by;
  }

  Vec3 corner(std::size_t k) const {
    if (polytope_ == nullptr) return own_[k];
    return origin_ + axes_[0] * polytope_->x()[k] + axes_[1] * polytope_->y()[k] + axes_[2] * polytope_->z()[k];
  }
  Vec3 middle() const {
    if (polytope_ != nullptr) return origin_ + turned(polytope_->middle());
    return (own_[0] + own_[count_ - 1]) * 0.5;
  }
  // How far it reaches from there, or more.
  double reach() const {
    if (polytope_ != nullptr) return polytope_->reach() / unit_;
    double most = 0;
    for (std::size_t k = 0; k < count_; ++k) most = std::max(most, squared(own_[k] - middle()));
    return std::sqrt(most) * (1 + 0x1p-40);
  }
  // Whether `farthest` looks at all corners.
  bool finds_farthest() const { return count_ <= kMostScanned; }

  // How far it reaches along a direction of any length, computed from all corners.
  Extent extent(const Vec3& way) const {
    double lower = kInfinity, upper = -kInfinity;
    if (polytope_ == nullptr) {
      for (std::size_t k = 0; k < count_; ++k) {
        const double height = dot(own_[k], way);
        lower = height < lower ? height : lower;
        upper = height > upper ? height : upper;
      }
      return {lower, upper};
    }
    const double *const x = polytope_->x(), *const y = polytope_->y(), *const z = polytope_->z();
    const Vec3 own{dot(axes_[0], way), dot(axes_[1], way), dot(axes_[2], way)};
    double low = kInfinity, up = -kInfinity;
    std::size_t k = 0;
    for (; k + 1 < count_; k += 2) {
      const double one = x[k] * own[0] + y[k] * own[1] + z[k] * own[2];
      const double two = x[k + 1] * own[0] + y[k + 1] * own[1] + z[k + 1] * own[2];
      lower = one < lower ? one : lower;
      upper = one > upper ? one : upper;
      low = two < low ? two : low;
      up = two > up ? two : up;
    }
    if (k < count_) {
      const double one = x[k] * own[0] + y[k] * own[1] + z[k] * own[2];
      lower = one < lower ? one : lower;
      upper = one > upper ? one : upper;
    }
    const double at = dot(origin_, way);
    return {at + (low < lower ? low : lower), at + (up > upper ? up : upper)};
  }

  // The corner farthest along a direction. Of many corners, by climbing from `start`: it may be missed where edges are
  // so short that rounding hides the way up.
  std::size_t farthest(const Vec3& way, std::size_t start) const {
    std::size_t best = 0;
    if (polytope_ == nullptr) {
      double highest = dot(own_[0], way);
      for (std::size_t k = 1; k < count_; ++k) {
        const double height = dot(own_[k], way);
        best = height > highest ? k : best;
        highest = height > highest ? height : highest;
      }
      return best;
    }
    const double *const x = polytope_->x(), *const y = polytope_->y(), *const z = polytope_->z();
    const Vec3 own{dot(axes_[0], way), dot(axes_[1], way), dot(axes_[2], way)};
    const auto height_of = [&](std::size_t k) { return x[k] * own[0] + y[k] * own[1] + z[k] * own[2]; };
    if (count_ > kMostScanned) {
      best = start;
      double highest = height_of(best);
      for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (const std::int32_t next : polytope_->neighbours(best)) {
          const double height = height_of(static_cast<std::size_t>(next));
          if (height > highest) {
            highest = height;
            best = static_cast<std::size_t>(next);
            goes_on = true;
          }
        }
      }
      return best;
    }
    double highest = height_of(0);
    for (std::size_t k = 1; k < count_; ++k) {
      const double height = height_of(k);
      best = height > highest ? k : best;
      highest = height > highest ? height : highest;
    }
    return best;
  }

  // Calls visit(corner) for those at most `depth` below the highest along a direction.
  template <class Visit>
  void for_each_highest(const Vec3& way, double depth, const Visit& visit) const {
    const double limit = extent(way).upper - depth, at = polytope_ == nullptr ? 0.0 : dot(origin_, way);
    const Vec3 own{dot(axes_[0], way), dot(axes_[1], way), dot(axes_[2], way)};
    for (std::size_t k = 0; k < count_; ++k) {
      const double height =
          polytope_ == nullptr
              ? dot(own_[k], way)
              : at + (polytope_->x()[k] * own[0] + polytope_->y()[k] * own[1] + polytope_->z()[k] * own[2]);
      if (height >= limit) visit(corner(k));
    }
  }

  // Calls visit(normal of a face, of any length), until it returns false.
  template <class Visit>
  void for_each_normal(const Visit& visit) const {
    for (std::size_t k = 0; k < normal_count(); ++k)
      if (!visit(polytope_ == nullptr ? normals_[k] : turned(polytope_->normals()[k]))) return;
  }
  std::size_t normal_count() const { return polytope_ != nullptr ? polytope_->normals().size() : normal_count_; }
  std::size_t edge_count() const { return polytope_ != nullptr ? polytope_->edges().size() : edge_count_; }
  void put_edges(std::vector<PolytopeEdge>& edges) const {
    edges.clear();
    if (polytope_ == nullptr)
      for (std::size_t k = 0; k < edge_count_; ++k) edges.push_back({edges_[k], {}, {}, {}});
    else
      for (const PolytopeEdge& edge : polytope_->edges())
        edges.push_back({turned(edge.along), turned(edge.first) * unit_, turned(edge.second) * unit_,
                         origin_ + turned(edge.begin)});
  }

  // Its surface: triangles, or the only segment or point. Corners beyond the count repeat the last.
  std::size_t patch_count() const {
    if (polytope_ != nullptr) return polytope_->triangles().size();
    return count_ == 8 ? kBoxTriangles.size() : 1;
  }
  HullTriangle patch(std::size_t k) const {
    if (polytope_ != nullptr) return polytope_->triangles()[k];
    if (count_ == 8) return kBoxTriangles[k];
    const auto last = static_cast<std::int32_t>(count_) - 1;
    return {0, std::min(1, last), last};
  }

 private:
  // Fewer corners are tried all, which is as quick as climbing.
  static constexpr std::size_t kMostScanned = 32;
  static constexpr std::array<HullTriangle, 12> kBoxTriangles = {{{0, 1, 3},
                                                                  {0, 3, 2},
                                                                  {4, 6, 7},
                                                                  {4, 7, 5},
                                                                  {0, 4, 5},
                                                                  {0, 5, 1},
                                                                  {2, 3, 7},
                                                                  {2, 7, 6},
                                                                  {0, 2, 6},
                                                                  {0, 6, 4},
                                                                  {1, 5, 7},
                                                                  {1, 7, 3}}};

  Vec3 turned(const Vec3& own) const { return axes_[0] * own[0] + axes_[1] * own[1] + axes_[2] * own[2]; }

  const Polytope* polytope_ = nullptr;
  std::size_t count_ = 0, normal_count_ = 0, edge_count_ = 0;
  double size_ = 0, unit_ = 1;
  Vec3 origin_{};
  std::array<Vec3, 3> axes_, normals_, edges_;
  std::array<Vec3, 8> own_;
};

}  // namespace broadphase::polytopes
