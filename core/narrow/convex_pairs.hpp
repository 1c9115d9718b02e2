// The general pair test of convex shapes, by their support functions: the point of a core that is farthest along a
// direction. A shape is such a core and a radius around it. Hulls take this way (polytopes.cpp), and every kind of
// shape whose core is curved (support.hpp).
//
// The Minkowski difference of two cores is searched by GJK for its point nearest to the origin, and by EPA for its face
// nearest to an origin inside. Neither is believed: the gap along a direction, between the highest point of one and the
// lowest of the other, is a lower bound of the distance and minus it an upper bound of the depth, whatever the
// direction. An answer counts if such a gap proves it up to rounding. All others, mostly of cores that touch up to
// rounding, are left to `undecided_gap`, which is written for each type of core.
//
// E. G. Gilbert, D. W. Johnson, S. S. Keerthi, "A Fast Procedure for Computing the Distance Between Complex Objects in
// Three-Dimensional Space", IEEE Journal of Robotics and Automation 4, 1988, DOI 10.1109/56.2083.
// G. van den Bergen, "Proximity Queries and Penetration Depth Computation on 3D Game Objects", GDC 2001.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "narrow/narrow_3d.hpp"
#include "narrow/simplex.hpp"

namespace broadphase::polytopes {

struct Extent {
  double lower, upper;
};

// What the test asks of a core, which is near the origin and about 1 in size:
//   Corner                       what names a point of its surface: the number of a corner, or the point itself
//   kIsCurved                    whether its surface is approached, not reached
//   farthest(way, start)         the point farthest along a direction of any length; `start`: where to begin
//   corner(name)                 that point
//   extent(way)                  the range of the products with a vector
//   middle(), radius             any point inside; the radius around the core
//   size()                       the largest absolute coordinate, or more: the scale of rounding errors
//   for_each_highest(way, depth, visit)   its corners at most so far below the highest along a unit vector
//   move(by)
// and of one that is not curved:
//   reach()                      how far it reaches from its middle, or more
//   finds_farthest()             whether `farthest` looks at all corners
template <class Core>
concept ConvexCore = requires(Core core, const Core& fixed, const Vec3& way, typename Core::Corner name) {
  { Core::kIsCurved } -> std::convertible_to<bool>;
  { fixed.farthest(way, name) } -> std::same_as<typename Core::Corner>;
  { fixed.corner(name) } -> std::same_as<Vec3>;
  { fixed.extent(way) } -> std::same_as<Extent>;
  { fixed.middle() } -> std::same_as<Vec3>;
  { fixed.radius } -> std::convertible_to<double>;
  { fixed.size() } -> std::same_as<double>;
  fixed.for_each_highest(way, 0.0, [](const Vec3&) {});
  core.move(way);
};

// Two cores of a pair. What is found is about the second seen from the first.
template <ConvexCore Core>
struct Cores {
  const Core &first, &second;

  double radii() const { return first.radius + second.radius; }
  // Errors of a coordinate, of a distance, of a gap.
  double rounding() const { return 0x1p-52 * (first.size() + second.size()); }
  // The gap along a direction, in units of its length: below it is the first, above it the second.
  double gap(const Vec3& way) const { return second.extent(way).lower - first.extent(way).upper; }
};

// ---- GJK ----

// How far apart, in roundings, the bounds of a distance or of a depth may be for it to be known.
inline constexpr double kExact = 1e3;

enum class Relation { kApart, kInside, kDoubt };

template <class Core>
struct Search {
  Relation relation = Relation::kDoubt;
  double lower = -kInfinity, upper = kInfinity;  // of the distance
  Vec3 normal{1, 0, 0};                          // the direction of `lower`
  Simplex<typename Core::Corner> simplex;
};

// Says whether a search that ended proves the distance: by a gap along the normal of what is nearest.
template <class Core>
inline Search<Core> conclude(const Cores<Core>& cores, Search<Core> found) {
  const auto& s = found.simplex;
  Vec3 way = nearest_of(s);
  if (s.count == 3) {
    const Vec3 normal = cross(s.corners[1].at - s.corners[0].at, s.corners[2].at - s.corners[0].at);
    way = dot(normal, way) < 0 ? -normal : normal;
  } else if (s.count == 2) {
    const Vec3 edge = s.corners[1].at - s.corners[0].at;
    way = solid::without(way, edge, squared(edge));
  }
  found.lower = cores.gap(found.normal);
  const double length = std::sqrt(squared(way));
  if (length > 0) {
    const Vec3 normal = way * (1 / length);
    if (const double gap = cores.gap(normal); gap > found.lower) {
      found.lower = gap;
      found.normal = normal;
    }
  }
  const bool is_proven =
      found.lower > 4 * cores.rounding() && (Core::kIsCurved || found.upper - found.lower <= kExact * cores.rounding());
  found.relation = is_proven ? Relation::kApart : Relation::kDoubt;
  return found;
}

// Looks for the point of the difference nearest to the origin, until it is known up to rounding, or `enough(lower,
// upper)` holds. `from`: the way to look first, if it is not that from middle to middle.
template <class Core, class Enough>
Search<Core> search(const Cores<Core>& cores, const Enough& enough, const Vec3* from = nullptr) {
  constexpr int kMostSteps = 100;
  const double rounding = cores.rounding();
  Search<Core> found;
  auto& s = found.simplex;
  Vec3 way = from != nullptr ? *from : cores.second.middle() - cores.first.middle();
  if (!(squared(way) > 0)) way = {1, 0, 0};
  typename Core::Corner one{}, two{};
  for (int step = 0; step < kMostSteps; ++step) {
    one = cores.first.farthest(way, one);
    two = cores.second.farthest(-way, two);
    const Vec3 at = cores.second.corner(two) - cores.first.corner(one);
    const double length = std::sqrt(squared(way)), gap = dot(at, way) / length;
    if (gap > found.lower) {
      found.lower = gap;
      found.normal = way * (1 / length);
    }
    if (enough(found.lower, found.upper)) {
      found.relation = found.lower > 0 ? Relation::kApart : Relation::kDoubt;
      return found;
    }
    if (found.upper - gap <= rounding) break;
    for (std::size_t k = 0; k < s.count; ++k)
      if (s.corners[k].first == one && s.corners[k].second == two) return conclude(cores, found);
    [[maybe_unused]] std::conditional_t<Core::kIsCurved, Simplex<typename Core::Corner>, char> before;
    if constexpr (Core::kIsCurved) before = s;
    s.corners[s.count++] = {at, one, two, 1.0};
    switch (s.count) {
      case 1: way = at; break;
      case 2: way = nearest_of_segment(s); break;
      case 3: way = nearest_of_triangle(s); break;
      default: way = nearest_of_tetrahedron(s); break;
    }
    if (s.count == 4) {
      if constexpr (Core::kIsCurved)
        if (found.lower > 0) {  // proven to be apart, so rounding made the tetrahedron
          s = before;
          break;
        }
      found.relation = Relation::kInside;
      return found;
    }
    // Simplexes of curved cores get as slim as rounding allows: what counts is the point that their shares make.
    if constexpr (Core::kIsCurved) way = nearest_of(s);
    const double upper = std::sqrt(squared(way));
    if (!(upper < found.upper)) {
      if constexpr (Core::kIsCurved) s = before;
      break;
    }
    found.upper = upper;
    if (upper <= rounding) break;
  }
  return conclude(cores, found);
}

// Whether a tetrahedron holds the origin, farther from its faces than `rounding`.
template <class Corner>
inline bool holds_origin(const Simplex<Corner>& s, double rounding) {
  for (const auto& face : kFacesOfFour) {
    const Vec3 &a = s.corners[face[0]].at, &b = s.corners[face[1]].at, &c = s.corners[face[2]].at;
    const Vec3 one = b - a, two = c - a, normal = cross(one, two);
    const double size = std::sqrt(squared(normal)), origin = -dot(normal, a);
    const double top = dot(normal, s.corners[face[3]].at - a);
    // The plane is known up to rounding, and its direction up to rounding of the edges in it.
    const double longest = std::sqrt(std::max(squared(one), squared(two)));
    const double error = rounding * (size + longest * (longest + std::sqrt(squared(a))));
    if (!(std::min(std::fabs(origin), std::fabs(top)) > error) || (top > 0) != (origin > 0)) return false;
  }
  return true;
}

// ---- The shortest way out of each other ----

struct WayOut {
  double gap = -kInfinity;  // minus the depth; above 0 if they do not overlap
  Vec3 normal{1, 0, 0};
};

// EPA: a polytope of corners of the difference around the origin grows towards the nearest face of the difference. Its
// surface is closed, and all of it is at least as far from the origin as the nearest of its planes: a lower bound of
// the depth. The gap along that plane's normal is an upper bound: faces beyond it are never grown.
//
// Faces know those beside them, so that a step looks at the faces that its corner sees and those around them only.
template <class Core>
class Expansion {
 public:
  using Index = std::uint32_t;

  struct Corner {
    Vec3 at;
    typename Core::Corner first, second;
  };
  struct Face {
    std::array<Index, 3> corners;  // counterclockwise from outside
    std::array<Index, 3> beside;   // the faces across its edges, the k-th from corner k to the next
    Vec3 normal;
    double height;  // a lower bound of that of its plane over the origin; 0 if it is none of the polytope's any more
    double above;   // what is higher sees it
  };
  // Between a face that is seen and one that is not, as the first has it.
  struct Edge {
    Index from, to, face, side;  // of the second face
  };

  // Room for so many corners, and the faces between them.
  template <std::size_t kCorners>
  struct Room {
    std::array<Corner, kCorners> corners;
    std::array<Index, kCorners> first;  // the number of the face that a corner begins on the edge of what is seen
    std::array<Face, 2 * kCorners> faces;
    std::array<Index, 2 * kCorners> spare;  // faces that are none any more
    std::array<Edge, 2 * kCorners> edges;
    std::array<double, 2 * kCorners> heights;  // of the faces that may be grown; infinite for others
  };
  // As much as cores in nearly the same place need that have many corners. Beyond, each corner costs as much as
  // hundreds of pairs of edges.
  static constexpr std::size_t kMostCorners = 2048;

  // `grows`: whether it may take more room, if that is too little.
  template <std::size_t kCorners>
  Expansion(Room<kCorners>& room, bool grows) : grows_(grows) {
    use(room);
  }

  // Whether more room might have helped.
  bool was_full() const { return was_full_; }
  // Of a way out that was found: a lower bound of the depth, and the corners of the face that it leads through.
  double least() const { return least_; }
  const Corner& corner_of_face(std::size_t k) const { return corners_[face_corners_[k]]; }

  // Returns whether the way out is known up to rounding. Precondition: the tetrahedron holds the origin.
  bool find(const Cores<Core>& cores, const Simplex<typename Core::Corner>& tetrahedron, WayOut& out) {
    begin(cores.rounding());
    for (std::size_t k = 0; k < 4; ++k) {
      const auto& corner = tetrahedron.corners[k];
      corners_[corner_count_++] = {corner.at, corner.first, corner.second};
    }
    const Vec3 &a = corners_[0].at, &b = corners_[1].at, &c = corners_[2].at, &d = corners_[3].at;
    if (dot(cross(b - a, c - a), d - a) > 0) std::swap(corners_[1], corners_[2]);
    return add(0, 1, 2) && add(0, 2, 3) && add(2, 1, 3) && add(1, 0, 3) && grow(cores, out);
  }

  // The same from the corners that are extreme along three axes: where the origin is on a side of every simplex, as of
  // round cores in the same place.
  bool find_around(const Cores<Core>& cores, const std::array<Vec3, 3>& axes, WayOut& out) {
    return surrounds(cores, axes, cores.rounding()) && grow(cores, out);
  }

  // Whether those corners hold the origin, farther from the faces between them than `rounding`.
  bool surrounds(const Cores<Core>& cores, const std::array<Vec3, 3>& axes, double rounding) {
    begin(rounding);
    for (const Vec3& axis : axes)
      for (const Vec3& way : {axis, -axis}) {
        const auto one = cores.first.farthest(-way, {}), two = cores.second.farthest(way, {});
        corners_[corner_count_++] = {cores.second.corner(two) - cores.first.corner(one), one, two};
      }
    for (Index x = 0; x < 2; ++x)
      for (Index y = 2; y < 4; ++y)
        for (Index z = 4; z < 6; ++z)
          if (!((x + y + z) % 2 == 0 ? add(x, y, z) : add(x, z, y))) return false;
    return true;
  }

 private:
  static constexpr Index kNone = ~Index{0};
  // How far apart, in roundings, the bounds of a depth may be. That of curved cores is known to 1e-7 of their size,
  // and their way out from then on turned to where it is the shortest nearby.
  static constexpr double kEnough = Core::kIsCurved ? 0x1p28 : kExact;

  template <std::size_t kCorners>
  void use(Room<kCorners>& room) {
    corners_ = room.corners.data();
    first_ = room.first.data();
    faces_ = room.faces.data();
    spare_ = room.spare.data();
    edges_ = room.edges.data();
    heights_ = room.heights.data();
    most_corners_ = kCorners;
  }

  void begin(double rounding) {
    rounding_ = rounding;
    corner_count_ = face_count_ = spare_count_ = 0;
    was_full_ = false;
  }

  bool grow(const Cores<Core>& cores, WayOut& out) {
    out.gap = -kInfinity;
    join_faces();
    for (std::size_t k = 0; k < face_count_; ++k) heights_[k] = faces_[k].height;
    while (const Face* const face = nearest()) {
      const auto one = cores.first.farthest(-face->normal, corners_[face->corners[0]].first);
      const auto two = cores.second.farthest(face->normal, corners_[face->corners[0]].second);
      const Vec3 at = cores.second.corner(two) - cores.first.corner(one);
      const double height = dot(at, face->normal);
      if (-height > out.gap) {
        out = {-height, -face->normal};
        face_corners_ = face->corners;
      }
      if (-out.gap - face->height <= kEnough * rounding_) return is_exact(cores, face->height, out);
      for (const Index k : face->corners)
        if (corners_[k].first == one && corners_[k].second == two) return false;
      const auto number = static_cast<Index>(face - faces_);
      if (corner_count_ == most_corners_ && !take_more_room()) return full();
      corners_[corner_count_] = {at, one, two};
      if (!expand(number, -out.gap)) return false;
      ++corner_count_;
    }
    return is_exact(cores, -out.gap, out);  // all faces are as far as the nearest plane, or farther
  }

  bool is_exact(const Cores<Core>& cores, double least, WayOut& out) {
    out.gap = cores.gap(out.normal);
    least_ = least;
    return -out.gap - least <= kEnough * rounding_;
  }

  bool full() {
    was_full_ = true;
    return false;
  }

  bool take_more_room() {
    if (!grows_ || more_room_ != nullptr) return false;
    more_room_ = std::make_unique_for_overwrite<Room<kMostCorners>>();
    std::copy_n(corners_, corner_count_, more_room_->corners.data());
    std::copy_n(faces_, face_count_, more_room_->faces.data());
    std::copy_n(spare_, spare_count_, more_room_->spare.data());
    std::copy_n(heights_, face_count_, more_room_->heights.data());
    use(*more_room_);
    return true;
  }

  // The nearest of the faces that may be grown; null if there are none. A heap takes longer for as many faces as there
  // usually are: which way it goes cannot be predicted.
  const Face* nearest() const {
    std::array<double, 4> least;
    least.fill(kInfinity);
    std::size_t k = 0;
    for (; k + 4 <= face_count_; k += 4)
      for (std::size_t j = 0; j < 4; ++j) least[j] = heights_[k + j] < least[j] ? heights_[k + j] : least[j];
    for (; k < face_count_; ++k) least[0] = heights_[k] < least[0] ? heights_[k] : least[0];
    const double height = std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
    if (height == kInfinity) return nullptr;
    return faces_ + (std::find(heights_, heights_ + face_count_, height) - heights_);
  }

  // ---- The surface ----

  bool add(Index i, Index j, Index k) { return put(static_cast<Index>(face_count_++), i, j, k); }

  bool put(Index face, Index i, Index j, Index k) {
    // Half of the time of a step: written out, because compilers call the functions of vectors here.
    const Vec3 &a = corners_[i].at, &b = corners_[j].at, &c = corners_[k].at;
    const double ax = a[0], ay = a[1], az = a[2];
    const double px = b[0] - ax, py = b[1] - ay, pz = b[2] - az, qx = c[0] - ax, qy = c[1] - ay, qz = c[2] - az;
    const double x = py * qz - pz * qy, y = pz * qx - px * qz, z = px * qy - py * qx, square = x * x + y * y + z * z;
    if (!(square > 0)) return false;
    // The error of the normal leans the plane by that of the edges over the width of the triangle.
    const double longest = std::max(px * px + py * py + pz * pz, qx * qx + qy * qy + qz * qz);
    const double scale = 1 / std::sqrt(square);
    const double error = rounding_ * (1 + (longest + std::sqrt(longest * (ax * ax + ay * ay + az * az))) * scale);
    const double height = (x * ax + y * ay + z * az) * scale;
    if (!(height - error > 0)) return false;
    faces_[face] = {{i, j, k}, {}, {x * scale, y * scale, z * scale}, height - error, height + error};
    return true;
  }

  // Finds which of the first faces are beside each other.
  void join_faces() {
    for (Index one = 0; one < face_count_; ++one)
      for (Index other = 0; other < face_count_; ++other)
        for (std::size_t k = 0; k < 3; ++k)
          if (side_from(faces_[other], faces_[one].corners[(k + 1) % 3], faces_[one].corners[k]) != kNone)
            faces_[one].beside[k] = other;
  }

  // Which edge of a face that between two corners is.
  static Index side_from(const Face& face, Index from, Index to) {
    for (Index k = 0; k < 3; ++k)
      if (face.corners[k] == from && face.corners[(k + 1) % 3] == to) return k;
    return kNone;
  }

  void drop(Index face) {
    faces_[face].height = 0;
    heights_[face] = kInfinity;
    spare_[spare_count_++] = face;
  }

  // Replaces the faces that the last corner sees, `seen` and those around it. Faces of a height of `limit` or more are
  // never grown.
  bool expand(Index seen, double limit) {
    const auto top = static_cast<Index>(corner_count_);
    std::size_t edge_count = 0, at = spare_count_;
    drop(seen);
    for (; at < spare_count_; ++at) {
      const Face& face = faces_[spare_[at]];
      for (std::size_t k = 0; k < 3; ++k) {
        const Index other = face.beside[k], from = face.corners[k], to = face.corners[(k + 1) % 3];
        if (!(faces_[other].height > 0)) continue;
        if (dot(faces_[other].normal, corners_[top].at) > faces_[other].above) {
          drop(other);
          continue;
        }
        if (edge_count == 2 * most_corners_) return false;
        edges_[edge_count++] = {from, to, other, side_from(faces_[other], to, from)};
        first_[from] = kNone;
      }
    }
    // The edges are one line around what was seen, or rounding has spoilt it.
    for (std::size_t k = 0; k < edge_count; ++k) {
      const Edge& edge = edges_[k];
      if (spare_count_ == 0 && face_count_ == 2 * most_corners_) return false;
      const Index face = spare_count_ > 0 ? spare_[--spare_count_] : static_cast<Index>(face_count_++);
      if (first_[edge.from] != kNone || !put(face, edge.from, edge.to, top)) return false;
      first_[edge.from] = face;
      faces_[face].beside[0] = edge.face;
      faces_[edge.face].beside[edge.side] = face;
    }
    for (std::size_t k = 0; k < edge_count; ++k) {
      const Index face = first_[edges_[k].from], next = first_[edges_[k].to];
      faces_[face].beside[1] = next;
      faces_[next].beside[2] = face;
      heights_[face] = faces_[face].height < limit ? faces_[face].height : kInfinity;
    }
    return true;
  }

  bool grows_, was_full_ = false;
  double rounding_ = 0, least_ = 0;
  std::array<Index, 3> face_corners_{};
  Corner* corners_;
  Index* first_;
  Face* faces_;
  Index* spare_;
  Edge* edges_;
  double* heights_;
  std::size_t most_corners_, corner_count_ = 0, face_count_ = 0, spare_count_ = 0;
  std::unique_ptr<Room<kMostCorners>> more_room_;
};

// Of cores beside each other along an axis, the origin often lies on a side of the simplex. From ways that are not
// theirs it seldom does.
inline constexpr std::array<Vec3, 3> kAxes = {
    {{2.0 / 7, -3.0 / 7, 6.0 / 7}, {3.0 / 7, 6.0 / 7, 2.0 / 7}, {-6.0 / 7, 2.0 / 7, 3.0 / 7}}};

// Tries to find the way out by EPA; `is_round`: there is much to save.
template <class Core>
inline bool expand_from(const Cores<Core>& cores, const Search<Core>& found, Expansion<Core>& expansion, bool is_round,
                        WayOut& out) {
  if (found.relation == Relation::kInside && expansion.find(cores, found.simplex, out)) return true;
  const bool is_between_corners = found.relation == Relation::kDoubt && found.upper <= cores.rounding();
  if (!(is_round || is_between_corners) || expansion.was_full()) return false;
  if (expansion.find_around(cores, kAxes, out)) return true;
  if (!is_round || expansion.was_full()) return false;
  for (const Vec3& way : kAxes) {
    const Search<Core> other = search(cores, [](double, double) { return false; }, &way);
    if (other.relation == Relation::kApart) return false;
    if (other.relation != Relation::kInside) continue;
    if (expansion.find(cores, other.simplex, out)) return true;
    if (expansion.was_full()) return false;
  }
  return false;
}

// ---- The queries on two cores ----

struct CoreGap {
  double distance = kInfinity;  // of the cores, without the radii
  Vec3 normal{1, 0, 0};
  bool is_apart = false;
  Vec3 on_first{}, on_second{};  // the nearest points, if they are apart
};

// What a search says of cores that are apart.
template <class Core>
inline CoreGap gap_between(const Cores<Core>& cores, const Search<Core>& found) {
  CoreGap gap{found.lower, found.normal, true, {}, {}};
  for (std::size_t k = 0; k < found.simplex.count; ++k) {
    const auto& corner = found.simplex.corners[k];
    gap.on_first = gap.on_first + cores.first.corner(corner.first) * corner.share;
    gap.on_second = gap.on_second + cores.second.corner(corner.second) * corner.share;
  }
  return gap;
}

inline CoreGap gap_inside(const WayOut& out) { return {out.gap, out.normal, false, {}, {}}; }

// Curved cores have another (curved_cores.hpp).
template <class Core>
inline CoreGap gap_of(const Cores<Core>& cores) {
  const Search<Core> found = search(cores, [](double, double) { return false; });
  return found.relation == Relation::kApart ? gap_between(cores, found) : gap_inside(undecided_gap(cores, found));
}

template <class Core>
inline bool overlap(const Cores<Core>& cores) {
  const double radii = cores.radii(), rounding = 4 * cores.rounding();
  const double clear = radii + rounding, sure = radii - rounding;
  const Search<Core> found = search(cores, [&](double lower, double upper) { return lower > clear || upper < sure; });
  if (found.lower > clear && cores.gap(found.normal) > clear) return false;
  if (found.upper < sure || (found.relation == Relation::kInside && holds_origin(found.simplex, rounding))) return true;
  // The difference of equal cores in one place is the same seen from both sides: the origin lies between two corners.
  if (found.relation == Relation::kInside || found.upper <= rounding) {
    typename Expansion<Core>::template Room<6> room;
    if (Expansion<Core>(room, false).surrounds(cores, kAxes, rounding)) return true;
  }
  return gap_of(cores).distance <= radii;
}

// ---- When cores first touch ----

// In sizes of the hull: what is nearer touches.
inline constexpr double kNear = 1e-12;

// Where to look first for what keeps two cores apart: from middle to middle when balls around them meet, or are nearest
// to each other. Nothing if these balls never meet.
inline std::optional<Vec3> way_where_balls_meet(const Vec3& between, const Vec3& motion, double reach,
                                                double rounding) {
  const double square = squared(motion), along = square > 0 ? dot(between, motion) / square : 0.0;
  const Vec3 nearest = between - motion * solid::clamped(along, 0, 1);
  const double limit = reach + rounding;
  if (squared(nearest) > limit * limit) return {};
  const Vec3 aside = between - motion * along;
  const double before = square > 0 ? std::sqrt(std::max(0.0, reach * reach - squared(aside)) / square) : 0.0;
  const Vec3 way = between - motion * solid::clamped(along - before, 0, 1);
  return squared(way) > 0 ? way : Vec3{1, 0, 0};
}

// When the first, moved by `motion`, first touches the second, by a cast of the origin along the motion against the
// difference: GJK that goes on with its simplex whenever a plane in its way lets the origin advance. Each plane proves
// that there is nothing before the time reached, and the simplex that it is at the surface. Infinite if not before
// `limit`; nothing where that is in doubt, as of cores that touch at the begin.
//
// G. van den Bergen, "Ray Casting against General Convex Objects with Application to Continuous Collision Detection",
// 2004.
template <class Core>
std::optional<double> cast_origin(const Cores<Core>& cores, const Vec3& motion, double limit, Vec3& normal) {
  constexpr int kMostSteps = 64;
  const double radii = cores.radii(), rounding = 4 * cores.rounding(), length = std::sqrt(squared(motion));
  const auto first_way =
      way_where_balls_meet(cores.second.middle() - cores.first.middle(), motion,
                           cores.first.reach() + cores.second.reach() + radii, rounding + 0x1p-50 * length);
  if (!first_way) return kInfinity;
  Vec3 way = *first_way;
  const bool is_proven = cores.first.finds_farthest() && cores.second.finds_farthest();
  // Whether the cores are apart up to a time, on either side of a plane.
  const auto are_apart = [&](const Vec3& along, double until) {
    return is_proven || cores.gap(along) - radii * std::sqrt(squared(along)) - until * dot(motion, along) >=
                            -rounding * std::sqrt(squared(along));
  };
  double time = 0;
  Simplex<typename Core::Corner> s;
  typename Core::Corner one{}, two{};
  for (int step = 0; step < kMostSteps; ++step) {
    one = cores.first.farthest(way, one);
    two = cores.second.farthest(-way, two);
    const Vec3 between = cores.second.corner(two) - cores.first.corner(one);
    const double size = std::sqrt(squared(way)), gap = dot(between, way) - radii * size, speed = dot(motion, way);
    const bool advances = gap - time * speed > rounding * size;
    if (advances) {
      const double last = time;
      if (speed > 0) time = gap / speed;
      if (!(speed > 0) || time > 1 || time >= limit)
        return are_apart(way, std::min({time, limit, 1.0})) ? std::optional(kInfinity) : std::nullopt;
      normal = way * (1 / size);
      const Vec3 back = motion * (time - last);
      for (std::size_t k = 0; k < s.count; ++k) s.corners[k].at = s.corners[k].at - back;
    }
    bool is_known = false;
    for (std::size_t k = 0; k < s.count; ++k)
      is_known = is_known || (s.corners[k].first == one && s.corners[k].second == two);
    if (is_known && !advances) return {};
    if (!is_known) s.corners[s.count++] = {between - motion * time, one, two, 1.0};
    switch (s.count) {
      case 1: way = s.corners[0].at; break;
      case 2: way = nearest_of_segment(s); break;
      case 3: way = nearest_of_triangle(s); break;
      default: way = nearest_of_tetrahedron(s); break;
    }
    if (s.count == 4) way = nearest_of_faces(s);  // the origin is inside, or on a side but for rounding
    if (std::sqrt(squared(way)) <= radii + std::max(kNear, rounding + 0x1p-50 * time * length))
      return time > 0 && are_apart(normal, time) ? std::optional(time) : std::nullopt;
    if (s.count == 4) return {};
  }
  return {};
}

// The same where that is in doubt: the first advances as far as the planes across the gap allow, again and again.
template <class Core>
double advance(const Cores<Core>& cores, const Vec3& motion, double limit, Vec3& normal) {
  // The normal of cores nearer than `kWide` may be little but rounding: it counts if the gap along it is wider. A
  // motion that has not got there after so many steps is grazing, and the time reached is not too late.
  constexpr double kWide = 1e-6;
  constexpr int kMostSteps = 100;
  double time = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    Core moved = cores.first;
    moved.move(motion * time);
    const CoreGap gap = gap_of(Cores<Core>{moved, cores.second});
    const double distance = gap.distance - cores.radii(), speed = dot(motion, gap.normal);
    const auto gap_along = [&](const Vec3& way) { return cores.gap(way) - time * dot(motion, way); };
    const double along = gap_along(gap.normal), free = along - cores.radii();
    const bool is_better = speed > 0 && (gap.distance > kWide || along > gap_along(normal) + kNear);
    if (time == 0 || is_better) normal = gap.normal;
    if (distance <= (time > 0 ? kNear : 0.0) || free <= 0) return time;
    if (speed <= 0) return kInfinity;
    time += free / speed;
    if (time > 1 || time >= limit) return kInfinity;
  }
  return time;
}

// When the first, moved by `motion`, first touches the second. Infinite if not before `limit`.
template <class Core>
double first_touch(const Cores<Core>& cores, const Vec3& motion, double limit, Vec3& normal) {
  if constexpr (!Core::kIsCurved)
    if (const std::optional<double> time = cast_origin(cores, motion, limit, normal)) return *time;
  return advance(cores, motion, limit, normal);
}

// ---- The area in which two cores touch, seen along the normal ----

using Place = std::array<double, 2>;
using Outline = std::vector<Place>;

struct Across {
  std::array<Vec3, 2> axes;

  explicit Across(const Vec3& normal) : axes{solid::perpendicular(normal), {}} { axes[1] = cross(normal, axes[0]); }
  Place place(const Vec3& at) const { return {dot(at, axes[0]), dot(at, axes[1])}; }
  Vec3 point(const Place& place) const { return axes[0] * place[0] + axes[1] * place[1]; }
};

// Twice the area of a triangle, above 0 if it is counterclockwise.
inline double turn(const Place& a, const Place& b, const Place& c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}
inline Place between(const Place& p, const Place& q, double share) {
  return {p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])};
}

// Corners at most this much below the highest belong to the face, so that a slightly tilted body rests on its face.
inline constexpr double kFlat = 1e-4;

// The outline of the corners that are the highest along `way`, counterclockwise: one place, two, or more.
template <class Core>
inline Outline outline_of(const Core& core, const Vec3& way, const Across& across) {
  Outline places;
  core.for_each_highest(way, kFlat, [&](const Vec3& at) { places.push_back(across.place(at)); });
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (places.size() < 3) return places;
  Outline outline;
  for (int side = 0; side < 2; ++side) {
    const std::size_t begin = outline.size();
    for (const Place& place : places) {
      while (outline.size() > begin + 1 && turn(outline[outline.size() - 2], outline.back(), place) <= 0)
        outline.pop_back();
      outline.push_back(place);
    }
    outline.pop_back();
    std::reverse(places.begin(), places.end());
  }
  return outline;
}

// The segment that two collinear segments share; nothing if they cross.
inline Outline common_line(const Outline& first, const Outline& second) {
  const Place &p = first[0], &q = first[1];
  const Place along{q[0] - p[0], q[1] - p[1]};
  const double length = along[0] * along[0] + along[1] * along[1];
  if (std::max(std::fabs(turn(p, q, second[0])), std::fabs(turn(p, q, second[1]))) > kFlat * std::sqrt(length))
    return {};
  const auto share_of = [&](const Place& at) {
    return ((at[0] - p[0]) * along[0] + (at[1] - p[1]) * along[1]) / length;
  };
  const double one = share_of(second[0]), two = share_of(second[1]);
  const double begin = std::max(0.0, std::min(one, two)), end = std::min(1.0, std::max(one, two));
  if (!(begin < end)) return {};
  return {between(p, q, begin), between(p, q, end)};
}

// Clips one outline by the other.
inline Outline common_of(const Outline& one, const Outline& other) {
  const Outline &first = one.size() < other.size() ? other : one, &second = one.size() < other.size() ? one : other;
  if (first.size() < 3) return second.size() == 2 ? common_line(first, second) : second;
  Outline clipped = second, kept;
  for (std::size_t e = 0; e < first.size(); ++e) {
    const Place &p = first[e], &q = first[(e + 1) % first.size()];
    kept.clear();
    for (std::size_t k = 0; k < clipped.size(); ++k) {
      const Place &place = clipped[k], &following = clipped[(k + 1) % clipped.size()];
      const double height = turn(p, q, place), next = turn(p, q, following);
      if (height >= 0) kept.push_back(place);
      // A line is not closed: it has no way back.
      if (((height < 0 && next > 0) || (next < 0 && height > 0)) && (clipped.size() > 2 || k == 0))
        kept.push_back(between(place, following, height / (height - next)));
    }
    std::swap(clipped, kept);
  }
  return clipped;
}

// Midway between two outlines where they are nearest; where they cross, if both are segments that do.
inline Place nearest_place(const Outline& first, const Outline& second) {
  if (first.size() == 2 && second.size() == 2) {
    const double before = turn(second[0], second[1], first[0]), after = turn(second[0], second[1], first[1]);
    const double one = turn(first[0], first[1], second[0]), two = turn(first[0], first[1], second[1]);
    if ((before < 0) != (after < 0) && (one < 0) != (two < 0))
      return between(first[0], first[1], before / (before - after));
  }
  double least = kInfinity;
  Place nearest{};
  for (const auto& [places, lines] : {std::pair{&first, &second}, std::pair{&second, &first}})
    for (const Place& place : *places)
      for (std::size_t k = 0; k < lines->size(); ++k) {
        const Place &p = (*lines)[k], &q = (*lines)[(k + 1) % lines->size()];
        const Place along{q[0] - p[0], q[1] - p[1]}, from{place[0] - p[0], place[1] - p[1]};
        const double length = along[0] * along[0] + along[1] * along[1];
        const double at = along[0] * from[0] + along[1] * from[1];
        const Place on_line = between(p, q, length > 0 ? solid::clamped(at / length, 0, 1) : 0);
        const double x = place[0] - on_line[0], y = place[1] - on_line[1];
        if (x * x + y * y >= least) continue;
        least = x * x + y * y;
        nearest = between(place, on_line, 0.5);
      }
  return nearest;
}

// At most four places: the nearest to the origin, the farthest from it, and the extreme one on either side.
inline void keep_four(Outline& places) {
  const auto square = [](const Place& place) { return place[0] * place[0] + place[1] * place[1]; };
  std::stable_sort(places.begin(), places.end(), [&](const Place& a, const Place& b) { return square(a) < square(b); });
  if (places.size() <= 4) return;
  const Place near = places[0];
  const auto farthest = [&](const auto& height) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < places.size(); ++k)
      if (height(places[k]) > height(places[best])) best = k;
    return best;
  };
  const std::size_t far = farthest([&](const Place& at) { return square({at[0] - near[0], at[1] - near[1]}); });
  const Place end = places[far];
  const std::size_t left = farthest([&](const Place& at) { return turn(near, end, at); });
  const std::size_t right = farthest([&](const Place& at) { return -turn(near, end, at); });
  Outline four;
  std::array<std::size_t, 4> rows{0, far, left, right};
  for (std::size_t k = 0; k < 4; ++k)
    if (std::find(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(k), rows[k]) ==
        rows.begin() + static_cast<std::ptrdiff_t>(k))
      four.push_back(places[rows[k]]);
  places = four;
}

// Where they first touch if the second comes against the normal: the middle of what the outlines share. What they share
// may be hidden by rounding.
inline Place meeting_place(const Outline& first, const Outline& second, const Outline& common) {
  if (common.empty()) return nearest_place(first, second);
  Place sum{};
  for (const Place& place : common) {
    sum[0] += place[0];
    sum[1] += place[1];
  }
  const double share = 1 / static_cast<double>(common.size());
  return {sum[0] * share, sum[1] * share};
}

// Corners of what the faces that look at each other have in common, midway between the surfaces, the nearest to the
// deepest point first; that point itself, if it is not even a line.
template <class Core>
inline void put_points(const Cores<Core>& cores, const CoreGap& gap, Contact<3>& contact) {
  const Vec3& normal = gap.normal;
  const Across across(normal);
  const Outline first = outline_of(cores.first, normal, across), second = outline_of(cores.second, -normal, across);
  Outline common = common_of(first, second);
  Vec3 middle;
  if (gap.is_apart) {
    middle = (gap.on_first + normal * cores.first.radius + gap.on_second - normal * cores.second.radius) * 0.5;
  } else {
    const double top = cores.first.extent(normal).upper + cores.first.radius;
    const double bottom = cores.second.extent(normal).lower - cores.second.radius;
    middle = across.point(meeting_place(first, second, common)) + normal * ((top + bottom) / 2);
  }
  if (common.size() < 2) {
    contact.points[contact.count++] = middle;
    return;
  }
  const Place centre = across.place(middle);
  for (Place& place : common) place = {place[0] - centre[0], place[1] - centre[1]};
  keep_four(common);
  for (const Place& place : common) contact.points[contact.count++] = across.point(place) + middle;
}
// Frame: what a point of the world is in the units of the pair (polytope_core.hpp).
template <class Core, class Frame>
Contact<3> contact_of(const Cores<Core>& cores, const CoreGap& gap, const Frame& frame) {
  const double distance = gap.distance - cores.radii();
  Contact<3> found;
  found.normal = gap.normal;
  found.depth = distance < 0 ? -distance * frame.back : 0;
  put_points(cores, gap, found);
  for (std::size_t k = 0; k < found.count; ++k) found.points[k] = found.points[k] * frame.back + frame.origin;
  return found;
}

}  // namespace broadphase::polytopes
