// Which meshes are the surface of a convex body.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <span>
#include <vector>

#include "narrow/clearances.hpp"
#include "narrow/meshes.hpp"
#include "narrow/polytopes.hpp"

namespace broadphase {

namespace detail {

class ConvexityCheck {
 public:
  explicit ConvexityCheck(const MeshTree& tree) : tree_(tree) {
    for (std::size_t k = 0; k < tree.vertex_count(); ++k)
      for (std::size_t axis = 0; axis < 3; ++axis)
        middle_[axis] += tree.vertex(k)[axis] / static_cast<double>(tree.vertex_count());
    for (std::size_t k = 0; k < tree.vertex_count(); ++k)
      for (std::size_t axis = 0; axis < 3; ++axis)
        size_ = std::max(size_, std::abs(tree.vertex(k)[axis] - middle_[axis]));
  }

  // A closed surface is that of a convex body if it is convex at each edge, a point is behind all faces, and the faces
  // go around it once: K. Mehlhorn et al., "Checking geometric programs or verification of geometric structures",
  // Computational Geometry 12, 1999, DOI 10.1016/S0925-7721(98)00036-4. What is cheap and tells most comes first.
  bool passes() {
    if (tree_.face_count() < 4 || !(size_ > kLeast && size_ < kMost)) return false;
    return is_around_middle() && has_all_behind_some() && is_convex_at_edges();
  }

 private:
  // The squares and cubes of sizes in between are numbers.
  static constexpr double kLeast = 0x1p-300, kMost = 0x1p300;
  // Hundreds of roundings.
  static constexpr double kRounding = 1e-13;

  Vec<3> at(std::int32_t face, std::size_t corner) const {
    const double* const vertex = tree_.corner(face, corner);
    return {(vertex[0] - middle_[0]) / size_, (vertex[1] - middle_[1]) / size_, (vertex[2] - middle_[2]) / size_};
  }
  // Above 0: outside a face, times the length of its normal, which is returned.
  struct Plane {
    Vec<3> from, normal;
    double length;

    bool has_beyond(const Vec<3>& point) const {
      return solid::dot(normal, solid::operator-(point, from)) > kRounding * (length + kRounding);
    }
  };
  Plane plane(std::int32_t face) const {
    using solid::operator-;
    const Vec<3> p = at(face, 0), normal = solid::cross(at(face, 1) - p, at(face, 2) - p);
    return {p, normal, std::sqrt(solid::squared(normal))};
  }

  // Whether the middle is behind all faces, and these cover all directions once. Faces that go round clockwise, seen
  // from outside, are the walls of a room: what is in it is not to be pushed out.
  bool is_around_middle() {
    double angles = 0;
    for (std::size_t face = 0; face < tree_.face_count(); ++face) {
      const Vec<3> p = at(static_cast<std::int32_t>(face), 0), q = at(static_cast<std::int32_t>(face), 1),
                   r = at(static_cast<std::int32_t>(face), 2);
      const double volume = solid::dot(p, solid::cross(q, r));
      if (!(volume > 0)) return false;
      // A. Van Oosterom, J. Strackee, "The Solid Angle of a Plane Triangle", 1983, DOI 10.1109/TBME.1983.325207.
      const double a = std::sqrt(solid::squared(p)), b = std::sqrt(solid::squared(q)), c = std::sqrt(solid::squared(r));
      angles += 2 * std::atan2(volume, a * b * c + solid::dot(p, q) * c + solid::dot(q, r) * a + solid::dot(r, p) * b);
    }
    return angles > 3 * std::numbers::pi && angles < 5 * std::numbers::pi;
  }

  // Of a few faces, whether all vertices are behind them: of most other surfaces that is not so.
  bool has_all_behind_some() const {
    constexpr std::size_t kFaces = 8;
    const std::size_t count = tree_.face_count(), step = std::max<std::size_t>(1, count / kFaces);
    for (std::size_t face = 0; face < count; face += step) {
      const Plane of = plane(static_cast<std::int32_t>(face));
      for (std::size_t other = 0; other < count; ++other)
        if (of.has_beyond(at(static_cast<std::int32_t>(other), 0))) return false;
    }
    return true;
  }

  // Whether each edge belongs to two faces, which go along it in opposite directions, and each is behind the other.
  bool is_convex_at_edges() const {
    struct Edge {
      std::uint64_t key;   // its two places, the lower one first
      std::uint32_t side;  // three times the face, plus the corner where the edge begins; the highest bit: it descends
    };
    constexpr std::uint32_t kDescends = 1U << 31;
    if (tree_.face_count() > kDescends / 3) return false;
    const std::vector<std::uint32_t> places = MeshSolid::places_of(tree_);
    std::vector<Edge> edges;
    edges.reserve(3 * tree_.face_count());
    for (std::size_t face = 0; face < tree_.face_count(); ++face)
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint64_t from = places[tree_.vertex_of(static_cast<std::int32_t>(face), c)],
                            to = places[tree_.vertex_of(static_cast<std::int32_t>(face), (c + 1) % 3)];
        edges.push_back({std::min(from, to) << 32 | std::max(from, to),
                         static_cast<std::uint32_t>(3 * face + c) | (from > to ? kDescends : 0)});
      }
    std::sort(edges.begin(), edges.end(),
              [](const Edge& a, const Edge& b) { return a.key != b.key ? a.key < b.key : a.side < b.side; });
    if (edges.size() % 2 != 0) return false;
    for (std::size_t k = 0; k < edges.size(); k += 2) {
      const Edge &one = edges[k], &two = edges[k + 1];
      const bool is_pair = one.key == two.key && (k + 2 == edges.size() || edges[k + 2].key != one.key);
      if (!is_pair || ((one.side ^ two.side) & kDescends) == 0) return false;
      const std::uint32_t x = one.side & ~kDescends, y = two.side & ~kDescends;
      const auto face = static_cast<std::int32_t>(x / 3), other = static_cast<std::int32_t>(y / 3);
      if (plane(face).has_beyond(at(other, (y + 2) % 3)) || plane(other).has_beyond(at(face, (x + 2) % 3)))
        return false;
    }
    return true;
  }

  const MeshTree& tree_;
  Vec<3> middle_{};
  double size_ = 0;
};

}  // namespace detail

// A hull takes time that grows with the square of its faces, 2 ms for that many, and its tree one of nearly linear
// time.
inline constexpr std::size_t kMostFacesOfHull = 2000;

// The hull of a mesh that is the surface of a convex body, but for rounding; null for any other, and for large ones.
inline std::unique_ptr<const Polytope> hull_if_convex(const MeshTree& tree) {
  if (tree.face_count() > kMostFacesOfHull || !detail::ConvexityCheck(tree).passes()) return nullptr;
  auto hull = std::make_unique<Polytope>(std::span(tree.vertex(0), 3 * tree.vertex_count()));
  return hull->corner_count() > 0 ? std::move(hull) : nullptr;
}

}  // namespace broadphase
