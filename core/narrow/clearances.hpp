// Meshes as solids: what a closed surface holds, how far two solids are apart and where, and how deep one is in
// another.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/radix_sort.hpp"
#include "narrow/meshes.hpp"
#include "narrow/nearest_face.hpp"

namespace broadphase {

// ---- Closed surfaces ----

// What a mesh encloses. Vertices in the same place are one vertex. A surface is closed if every edge belongs to an even
// number of faces: then a ray from a point crosses it an odd number of times, if the point is inside, whatever way
// round faces are. Faces without area in a vertex or an edge do not count, and of equal faces only one does, unless the
// surface is closed with all of them, as that of two boxes with a common wall is.
class MeshSolid {
 public:
  explicit MeshSolid(const MeshTree& tree) {
    const std::size_t count = tree.face_count();
    const std::vector<std::uint32_t> places = places_of(tree);
    std::vector<Triple> corners(count);
    for (std::size_t face = 0; face < count; ++face)
      for (std::size_t c = 0; c < 3; ++c) corners[face][c] = places[tree.vertex_of(static_cast<std::int32_t>(face), c)];
    find_shells(corners, places.size());
    std::vector<Face> faces;
    faces.reserve(count);
    for (std::size_t face = 0; face < count; ++face) {
      std::sort(corners[face].begin(), corners[face].end());
      const auto [low, middle, high] = corners[face];
      if (low != middle && middle != high)
        faces.push_back({std::uint64_t{low} << 32 | middle, high, static_cast<std::int32_t>(face)});
    }
    std::vector<Face> once = sorted(faces, places.size());
    once.erase(std::unique(once.begin(), once.end(),
                           [](const Face& a, const Face& b) { return a.edge == b.edge && a.high == b.high; }),
               once.end());
    const auto count_these = [&](const std::vector<Face>& these) {
      if (these.size() == count) return;
      ignored_.assign(count, 1);
      for (const Face& face : these) ignored_[static_cast<std::size_t>(face.face)] = 0;
    };
    is_closed_ = are_closed(once, places.size());
    if (is_closed_) {
      count_these(once);
    } else if (once.size() < faces.size() && are_closed(faces, places.size())) {
      is_closed_ = true;
      count_these(faces);
    }
  }

  bool is_closed() const { return is_closed_; }
  // Whether crossing a face counts.
  bool counts(std::int32_t face) const { return ignored_.empty() || ignored_[static_cast<std::size_t>(face)] == 0; }
  // One face of each connected piece.
  std::span<const std::int32_t> shells() const { return shells_; }
  std::size_t memory_bytes() const {
    return ignored_.capacity() * sizeof(std::uint8_t) + shells_.capacity() * sizeof(std::int32_t);
  }

  // For each vertex one of those in the same place, and the same for all of them.
  static std::vector<std::uint32_t> places_of(const MeshTree& tree) {
    struct Vertex {
      std::uint64_t key;  // of the coordinates, nearly always a different one
      std::uint32_t number;
    };
    std::vector<Vertex> order(tree.vertex_count());
    for (std::size_t vertex = 0; vertex < order.size(); ++vertex) {
      std::uint64_t key = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        key = (key ^ order_bits(tree.vertex(vertex)[k])) * 0x9e3779b97f4a7c15;
        key ^= key >> 32;
      }
      order[vertex] = {key, static_cast<std::uint32_t>(vertex)};
    }
    const auto compare = [&](const Vertex& a, const Vertex& b) {
      if (a.key != b.key) return a.key < b.key ? -1 : 1;
      const double *const p = tree.vertex(a.number), *const q = tree.vertex(b.number);
      for (std::size_t k = 0; k < 3; ++k)
        if (p[k] != q[k]) return p[k] < q[k] ? -1 : 1;
      return 0;
    };
    std::sort(order.begin(), order.end(), [&](const Vertex& a, const Vertex& b) {
      const int way = compare(a, b);
      return way != 0 ? way < 0 : a.number < b.number;
    });
    std::vector<std::uint32_t> places(order.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      places[order[k].number] =
          k > 0 && compare(order[k - 1], order[k]) == 0 ? places[order[k - 1].number] : order[k].number;
    return places;
  }

 private:
  using Triple = std::array<std::uint32_t, 3>;
  // The places of its corners, ascending: that of the first in the upper half of `edge`, of the second in the lower.
  struct Face {
    std::uint64_t edge;
    std::uint32_t high;
    std::int32_t face;

    bool operator<(const Face& other) const {
      return edge != other.edge ? edge < other.edge : high != other.high ? high < other.high : face < other.face;
    }
  };

  // First by the place in the upper half of the edge, of which there are so many: few items have the same one.
  template <class Item>
  static std::vector<Item> sorted(const std::vector<Item>& items, std::size_t places) {
    const auto low = [](const Item& item) { return static_cast<std::size_t>(edge_of(item) >> 32); };
    std::vector<std::size_t> ends(places + 1);
    for (const Item& item : items) ++ends[low(item) + 1];
    for (std::size_t place = 0; place < places; ++place) ends[place + 1] += ends[place];
    std::vector<Item> result(items.size());
    for (const Item& item : items) result[ends[low(item)]++] = item;
    for (std::size_t begin = 0, place = 0; begin < result.size(); begin = ends[place++])
      std::sort(result.begin() + static_cast<std::ptrdiff_t>(begin),
                result.begin() + static_cast<std::ptrdiff_t>(ends[place]));
    return result;
  }
  static std::uint64_t edge_of(const Face& face) { return face.edge; }
  static std::uint64_t edge_of(std::uint64_t edge) { return edge; }

  void find_shells(const std::vector<Triple>& corners, std::size_t vertices) {
    std::vector<std::uint32_t> parent(vertices);
    std::iota(parent.begin(), parent.end(), 0U);
    const auto root = [&](std::uint32_t vertex) {
      while (parent[vertex] != vertex) {
        parent[vertex] = parent[parent[vertex]];
        vertex = parent[vertex];
      }
      return vertex;
    };
    for (const Triple& face : corners)
      for (std::size_t c = 1; c < 3; ++c) {
        const std::uint32_t p = root(face[0]), q = root(face[c]);
        parent[std::max(p, q)] = std::min(p, q);
      }
    std::vector<std::uint8_t> is_known(vertices);
    for (std::size_t face = 0; face < corners.size(); ++face) {
      std::uint8_t& known = is_known[root(corners[face][0])];
      if (known == 0) shells_.push_back(static_cast<std::int32_t>(face));
      known = 1;
    }
  }

  static bool are_closed(const std::vector<Face>& faces, std::size_t places) {
    std::vector<std::uint64_t> edges;
    edges.reserve(3 * faces.size());
    for (const Face& face : faces)
      edges.insert(edges.end(),
                   {face.edge, (face.edge & ~std::uint64_t{0xffffffff}) | face.high, face.edge << 32 | face.high});
    edges = sorted(edges, places);
    for (std::size_t k = 0; k < edges.size(); k += 2)
      if (k + 1 == edges.size() || edges[k] != edges[k + 1]) return false;
    return !edges.empty();
  }

  bool is_closed_ = false;
  std::vector<std::uint8_t> ignored_;  // by face; empty: all count
  std::vector<std::int32_t> shells_;
};

enum class Whereabouts { kOutside, kOnSurface, kInside };

namespace detail {

// How often a segment goes through the faces of a closed surface that count, exactly for the triangles as placed, if
// that can be told: one that passes through a corner or an edge says nothing.
struct Crossings {
  bool is_odd = false, is_clear = true;
  bool begins_on_surface = false;  // then nothing else is known
};
inline Crossings crossings(const Vec<3>& begin, const Vec<3>& end, const MeshSide& mesh, const MeshSolid& solid) {
  const Vec<3> way = solid::operator-(end, begin);
  const TriangleCorners there{begin.data(), begin.data(), begin.data()};
  Crossings found;
  MeshRay(mesh, begin, way).walk(1.0, [&](std::int32_t face) {
    if (!solid.counts(face)) return 1.0;
    std::array<double, 9> numbers;
    mesh.element(face, numbers);
    const TriangleCorners t = corners_of(numbers);
    const Sides around{orient3d(begin.data(), end.data(), t[0], t[1]), orient3d(begin.data(), end.data(), t[1], t[2]),
                       orient3d(begin.data(), end.data(), t[2], t[0])};
    if (crosses(around)) return 1.0;
    const OrientedPlane plane(t[0], t[1], t[2]);
    const int begins = plane.side(begin.data()), ends = plane.side(end.data());
    if (begins == ends && begins != 0) return 1.0;
    if (begins == 0 && triangles_meet(t, there)) {
      found.begins_on_surface = true;
      return kEnough;
    }
    if ((all(around, 1) || all(around, -1)) && ends != 0) {
      if (begins != 0) found.is_odd = !found.is_odd;
      return 1.0;
    }
    found.is_clear = false;
    return kEnough;
  });
  return found;
}

}  // namespace detail

// Where a point is, exactly for the triangles as placed. Precondition: the surface is closed.
inline Whereabouts whereabouts(const Vec<3>& point, const MeshSide& mesh, const MeshSolid& solid) {
  const MeshSide side(ShapeView<3>{ShapeKind::kPoint, point});
  const RelativePose rest(side, mesh);
  if (rest.gaps(side.blocks()->box(0), *mesh.blocks(), false)[0] > 0) return Whereabouts::kOutside;
  const double reach = 2 * rest.farthest(side, mesh);
  // Many rays say nothing only if the point is on all of those corners and edges.
  constexpr int kMostRays = 64;
  detail::Crossings found;
  for (int ray = 0; ray < kMostRays; ++ray) {
    // Along no axis, diagonal or other direction that is likely in models.
    const double turn = 0.7548776662466927 * (ray + 1), tilt = 0.5698402909980532 * (ray + 1);
    const double x = 0.3 + turn - std::floor(turn), y = 0.2 + tilt - std::floor(tilt), z = 0.8316;
    const double scale = reach / std::sqrt(x * x + y * y + z * z);
    found = detail::crossings(point, {point[0] + x * scale, point[1] + y * scale, point[2] + z * scale}, mesh, solid);
    if (found.begins_on_surface) return Whereabouts::kOnSurface;
    if (found.is_clear) break;
  }
  return found.is_odd ? Whereabouts::kInside : Whereabouts::kOutside;
}

// A ball around a point in which there is no surface: all of it is outside, or all of it is inside.
struct ClearBall {
  Vec<3> at{};
  double reach = -1;

  // Whether a point is in it, or the middle of this one in such a ball of the point.
  bool has(const Vec<3>& point, double other_reach = 0) const {
    const double farthest = std::max(reach, other_reach);
    return reach > 0 && solid::squared(solid::operator-(point, at)) < farthest * farthest;
  }
};

// ---- Clearances ----

// A placed shape, and what it encloses if it is a mesh that counts as a solid; else null.
struct PlacedSolid {
  const MeshSide& side;
  const MeshSolid* solid;

  bool is_closed() const { return solid != nullptr && solid->is_closed(); }
};

enum class Relation : std::uint8_t {
  kApart,
  kMeets,        // the surfaces intersect, or pieces of one are inside the other and pieces are not
  kHoldsSecond,  // the second is wholly inside the first
  kHeldBySecond,
};

struct Clearance {
  double gap = detail::kNone;  // infinite: beyond the limit
  Vec<3> first{}, second{};    // where on each
  Relation relation = Relation::kApart;
};

namespace detail {

// The points of two triangles that are nearest to each other; if they intersect, one that both have, or nearly so.
inline std::pair<Vec<3>, Vec<3>> nearest_points(const std::array<double, 9>& a, const std::array<double, 9>& b) {
  using namespace solid;
  const auto corner = [](const std::array<double, 9>& t, std::size_t k) {
    return Vec3{t[3 * (k % 3)], t[3 * (k % 3) + 1], t[3 * (k % 3) + 2]};
  };
  std::pair<Vec3, Vec3> best{corner(a, 0), corner(b, 0)};
  double least = kNone;
  const auto keep = [&](const Vec3& p, const Vec3& q) {
    const double square = squared(q - p);
    if (square < least) {
      least = square;
      best = {p, q};
    }
  };
  // Of two edges.
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const Vec3 p = corner(a, i), q = corner(b, j), u = corner(a, i + 1) - p, v = corner(b, j + 1) - q, w = p - q;
      const double uu = squared(u), vv = squared(v), uv = dot(u, v), uw = dot(u, w), vw = dot(v, w);
      const double spread = uu * vv - uv * uv;
      double s = spread > 0 ? clamped((uv * vw - vv * uw) / spread, 0.0, 1.0) : 0.0;
      const double t = vv > 0 ? clamped((uv * s + vw) / vv, 0.0, 1.0) : 0.0;
      s = uu > 0 ? clamped((uv * t - uw) / uu, 0.0, 1.0) : 0.0;
      keep(p + u * s, q + v * t);
    }
  // Of a corner and a face, and where an edge goes through it.
  const auto above = [&](const std::array<double, 9>& corners, const std::array<double, 9>& face, bool turned) {
    const Vec3 p = corner(face, 0), u = corner(face, 1) - p, v = corner(face, 2) - p, n = cross(u, v);
    const double nn = squared(n);
    if (!(nn > 0)) return;
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3 q = corner(corners, k), w = q - p, edge = corner(corners, k + 1) - q;
      const double height = dot(w, n), end = height + dot(edge, n);
      const bool goes_through = (height < 0 && end > 0) || (height > 0 && end < 0);
      for (const bool is_edge : {false, true}) {
        if (is_edge && !goes_through) continue;
        const Vec3 at = is_edge ? w + edge * (height / (height - end)) : w;
        const double beta = dot(cross(at, v), n) / nn, gamma = dot(cross(u, at), n) / nn;
        if (!(beta >= 0 && gamma >= 0 && beta + gamma <= 1)) continue;
        const Vec3 foot = p + u * beta + v * gamma, from = is_edge ? foot : q;
        if (turned)
          keep(foot, from);
        else
          keep(from, foot);
      }
    }
  };
  above(a, b, false);
  above(b, a, true);
  return best;
}

// Calls visit(point) for one point of each part of a cloud, until it returns false. The parts together have all points;
// each is in a ball without any of the surface of a mesh, so that all of it is inside or all is outside.
template <class Visit>
void each_part_beside(const MeshSide& cloud, const MeshSide& mesh, const Visit& visit) {
  const MeshUnits& units = cloud.units();
  const double unit = power_of_two(units.exponent);
  double size = units.size + mesh.units().size;  // of all coordinates, which rounding errors scale with
  for (std::size_t k = 0; k < 3; ++k) size += std::abs(cloud.origin(k)) + std::abs(mesh.origin(k));
  std::array<MeshBox, (MeshBlock::kBoxes - 1) * ElementTree::kMostLevels + MeshBlock::kBoxes> stack;
  std::size_t count = 0;
  stack[count++] = cloud.blocks()->box(0);
  std::array<double, 9> ball;
  const auto visit_place = [&](std::int32_t place) {
    cloud.element(place, ball);
    return visit(Vec<3>{ball[0], ball[1], ball[2]});
  };
  while (count > 0) {
    const MeshBox box = stack[--count];
    Vec<3> middle;
    double squared = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      middle[k] = cloud.origin(k);
      for (std::size_t i = 0; i < 3; ++i)
        middle[k] += cloud.axis(i)[k] * (units.middle[i] + unit * static_cast<double>(box.centre[i]));
      squared += static_cast<double>(box.half[k]) * static_cast<double>(box.half[k]);
    }
    const double reach = unit * std::sqrt(squared) * (1 + 1e-6) + 1e-12 * size;
    if (!(nearest_face({ShapeKind::kPoint, middle}, mesh, reach, reach).distance <= reach)) {
      std::uint32_t first = box.first;
      while ((first & MeshBlock::kFace) == 0) first = cloud.blocks()[first].first[0];
      if (!visit_place(static_cast<std::int32_t>(first & ~MeshBlock::kFace))) return;
    } else if ((box.first & MeshBlock::kFace) == 0) {
      const MeshBlock& block = cloud.blocks()[box.first];
      for (std::size_t lane = 0; lane < block.count; ++lane) stack[count++] = block.box(lane);
    } else {
      const auto first = static_cast<std::int32_t>(box.first & ~MeshBlock::kFace);
      for (std::int32_t place = first; place < cloud.end_of(first); ++place)
        if (!visit_place(place)) return;
    }
  }
}

// How many of the pieces of a shape are inside a closed mesh, and a point of one that is. `inner`: a point of the
// shape. The pieces of a cloud are parts of it, that of all else but meshes is the whole shape.
struct Pieces {
  std::size_t inside = 0, count = 0;
  Vec<3> at{};
};
inline Pieces pieces_inside(const PlacedSolid& outer, const PlacedSolid& pieces, const Vec<3>* inner) {
  Pieces found;
  if (!outer.is_closed()) return found;
  const auto look = [&](const Vec<3>& point) {
    ++found.count;
    if (whereabouts(point, outer.side, *outer.solid) != Whereabouts::kInside) return;
    ++found.inside;
    found.at = point;
  };
  if (pieces.side.is_cloud()) {
    each_part_beside(pieces.side, outer.side, [&](const Vec<3>& point) {
      look(point);
      return found.inside == 0 || found.inside == found.count;  // else more would tell nothing new
    });
    return found;
  }
  if (!pieces.side.is_mesh()) {
    if (inner != nullptr) look(*inner);
    return found;
  }
  for (const std::int32_t face : pieces.solid->shells()) {
    std::array<double, 9> corners;
    pieces.side.element(face, corners);
    look({corners[0], corners[1], corners[2]});
  }
  return found;
}

}  // namespace detail

// How far apart two solids are, if that is within a limit. Without `as_solids`, closed meshes are surfaces, too.
inline Clearance clearance(const PlacedSolid& a, const PlacedSolid& b, double within) {
  const bool may_hold = a.is_closed() || b.is_closed();
  // A shape without a tree tells a point of it by its distance, wherever it is.
  const bool needs_point = (a.is_closed() && !b.side.has_tree()) || (b.is_closed() && !a.side.has_tree());
  // The first elements that meet are enough: between equal surfaces in one place, all do.
  const NearestElements nearest = nearest_elements(a.side, b.side, needs_point ? detail::kNone : within, 0.0);
  Clearance found;
  if (nearest.distance < detail::kNone) {
    if (a.side.is_field() || b.side.is_field()) {
      std::tie(found.first, found.second) = height_fields::nearest_points(a.side, b.side);
    } else {
      std::array<double, 9> corners_a, corners_b;
      const Element x = a.side.element(nearest.first, corners_a), y = b.side.element(nearest.second, corners_b);
      const bool are_triangles = a.side.is_mesh() && b.side.is_mesh();
      std::tie(found.first, found.second) = are_triangles ? detail::nearest_points(corners_a, corners_b)
                                                          : nearest_points(x, y, nearest.distance, nearest.normal);
    }
    if (nearest.distance <= 0) {
      found.gap = 0;
      found.second = found.first;
      found.relation = Relation::kMeets;
      return found;
    }
  }
  if (may_hold) {
    const detail::Pieces second = detail::pieces_inside(a, b, &found.second),
                         first = detail::pieces_inside(b, a, &found.first);
    if (second.inside + first.inside > 0) {
      found.gap = 0;
      found.first = found.second = second.inside > 0 ? second.at : first.at;
      found.relation = second.inside > 0 && second.inside == second.count ? Relation::kHoldsSecond
                       : first.inside > 0 && first.inside == first.count  ? Relation::kHeldBySecond
                                                                          : Relation::kMeets;
      return found;
    }
  }
  if (nearest.distance <= within) found.gap = nearest.distance;
  return found;
}

// ---- Depths ----

enum class DepthBy : std::uint8_t {
  kShapes,     // the shortest motion that separates two convex shapes, or the deepest parts of compounds; of a height
               // field, that of its contacts
  kVertices,   // the deepest vertex of one mesh in the other, from its surface
  kFaces,      // the same of the middles of triangles, where no vertex is inside: where faces lie in one plane
  kTriangles,  // the shortest motion that separates the two triangles that are deepest in each other
};

struct Depth {
  double depth;
  DepthBy by;
};

namespace detail {

// The depth in a closed mesh of the deepest vertex, or middle of a triangle, of another one; at least `deepest`.
inline double deepest_point(const PlacedSolid& outer, const PlacedSolid& other, bool of_faces, double deepest) {
  if (!outer.is_closed() || !other.side.is_mesh()) return deepest;
  // Most points are outside the box of the other mesh.
  const MeshBox root = outer.side.blocks()->box(0);
  const MeshUnits& units = outer.side.units();
  const double unit = power_of_two(units.exponent), spare = 1e-9 * units.size;
  const auto is_far = [&](const Vec<3>& point) {
    bool far = false;
    for (std::size_t i = 0; i < 3; ++i) {
      double at = -units.middle[i];
      for (std::size_t k = 0; k < 3; ++k) at += outer.side.axis(i)[k] * (point[k] - outer.side.origin(k));
      far |= std::abs(at - unit * static_cast<double>(root.centre[i])) >
             1.000001 * unit * static_cast<double>(root.half[i]) + spare;
    }
    return far;
  };
  const MeshTree& tree = other.side.tree();
  const std::size_t count = of_faces ? tree.face_count() : tree.vertex_count();
  // Points come in the order of their tree, so one after the other is near. What was found of the last ones tells most
  // of the next: the nearest triangle, and a clear ball.
  ClearBall outside, inside;
  std::int32_t last = -1;
  std::array<double, 9> corners{};
  double size = units.size;
  for (std::size_t k = 0; k < 3; ++k) size += std::abs(outer.side.origin(k));
  const auto look = [&](std::size_t number) {
    Vec<3> point{};
    if (of_faces) {
      std::array<double, 9> own;
      other.side.element(static_cast<std::int32_t>(number), own);
      for (std::size_t c = 0; c < 9; ++c) point[c % 3] += own[c] / 3;
    } else {
      point = other.side.vertex(number);
    }
    if (is_far(point) || outside.has(point)) return;
    const ShapeView<3> shape{ShapeKind::kPoint, point};
    double within = kNone;
    if (last >= 0) {
      Vec<3> normal;
      within = signed_distance(shape, {ShapeKind::kTriangle, corners}, &normal);
      if (within <= deepest) return;
    }
    // Not deeper than another one: cheaper to find out than whether it is inside.
    const NearestElements nearest = nearest_face(shape, outer.side, within, deepest, last);
    if (nearest.second != last) outer.side.element(last = nearest.second, corners);
    if (!(nearest.distance > deepest)) return;
    const double clear =
        nearest.distance - 1e-9 * (size + std::abs(point[0]) + std::abs(point[1]) + std::abs(point[2]));
    const bool is_inside =
        inside.has(point, clear) ||
        (!outside.has(point, clear) && whereabouts(point, outer.side, *outer.solid) == Whereabouts::kInside);
    if (is_inside) deepest = nearest.distance;
    (is_inside ? inside : outside) = {point, clear};
  };
  // A few from everywhere first: what is as deep as one of these hides most others.
  constexpr std::size_t kStride = 16;
  for (std::size_t k = 0; k < count; k += kStride) look(k);
  for (std::size_t k = 0; k < count; ++k)
    if (k % kStride != 0) look(k);
  return deepest;
}

}  // namespace detail

// How deep two shapes that meet are in each other.
inline Depth depth(const PlacedSolid& a, const PlacedSolid& b) {
  if (a.side.is_field() || b.side.is_field() || (a.side.has_solid() && b.side.has_solid()))
    return {std::max(0.0, -separation(a.side, b.side, detail::kNone).distance), DepthBy::kShapes};
  for (const bool of_faces : {false, true}) {
    const double deepest = detail::deepest_point(b, a, of_faces, detail::deepest_point(a, b, of_faces, 0.0));
    if (deepest > 0) return {deepest, of_faces ? DepthBy::kFaces : DepthBy::kVertices};
  }
  return {std::max(0.0, -nearest_elements(a.side, b.side).distance), DepthBy::kTriangles};
}

// ---- Signed distances ----

// The signed distance of two solids, as `separation`, but minus the distance of the surfaces where one is inside the
// other, or pieces of it are.
inline double solid_distance(const PlacedSolid& a, const PlacedSolid& b, double within) {
  const Clearance found = clearance(a, b, within);
  if (found.relation == Relation::kApart) return found.gap;
  return 0.0 - std::abs(separation(a.side, b.side, detail::kNone).distance);
}

// The same of balls and points, one after the other, with one closed mesh. The answers are those of solid_distance;
// what was found of the last one makes the next one quick, if it is near: its nearest triangle; and where it is, for
// both are inside or both outside if they are in one clear ball, or if the segment between them crosses the surface an
// even number of times.
class BallsAndSolid {
 public:
  explicit BallsAndSolid(const PlacedSolid& closed) : mesh_(closed.side), solid_(*closed.solid) {
    size_ = mesh_.units().size;
    for (std::size_t k = 0; k < 3; ++k) size_ += std::abs(mesh_.origin(k));
  }

  double operator()(const ShapeView<3>& ball, double within) {
    NearestElements nearest = nearest_face(ball, mesh_, within, 0.0, last_);
    if (nearest.distance <= 0) return 0.0 - std::abs(separation(MeshSide(ball), mesh_, detail::kNone).distance);
    const Vec<3> middle = solid::vector_at(ball.record, 0);
    const bool is_near = nearest.distance <= within;
    const double clear = std::min(nearest.distance, within) + radius_of(ball) -
                         1e-9 * (size_ + std::abs(middle[0]) + std::abs(middle[1]) + std::abs(middle[2]));
    const bool is_inside = this->is_inside(middle, clear);
    if (is_near) last_ = nearest.second;
    if (clear > 0) {
      known_ = {middle, clear};
      is_known_inside_ = is_inside;
    }
    if (!is_inside) return nearest.distance;
    return -(is_near ? nearest : nearest_face(ball, mesh_, detail::kNone, 0.0, last_)).distance;
  }

 private:
  bool is_inside(const Vec<3>& point, double clear) const {
    if (known_.has(point, clear)) return is_known_inside_;
    if (known_.reach > 0 && clear > 0) {
      const detail::Crossings between = detail::crossings(point, known_.at, mesh_, solid_);
      if (between.is_clear && !between.begins_on_surface) return between.is_odd != is_known_inside_;
    }
    return whereabouts(point, mesh_, solid_) == Whereabouts::kInside;
  }

  const MeshSide& mesh_;
  const MeshSolid& solid_;
  double size_;
  std::int32_t last_ = -1;
  ClearBall known_;
  bool is_known_inside_ = false;
};

}  // namespace broadphase
