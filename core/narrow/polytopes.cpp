// The narrow phase of convex hulls: a hull with a hull, or with a shape of another kind.
//
// A shape is a convex core, the hull of a few corners, and a radius around it. The Minkowski difference of two cores is
// searched by GJK for its point nearest to the origin, and by EPA for its face nearest to an origin inside. Neither is
// believed: the gap along a direction, between the highest corner of one and the lowest of the other, is a lower bound
// of the distance and minus it an upper bound of the depth, whatever the direction. An answer counts if such a gap
// proves it up to rounding. All others, mostly of cores that touch up to rounding, are decided by separating axes, the
// normals of faces and the cross products of edges, and their distances by all faces that may be nearest.
//
// E. G. Gilbert, D. W. Johnson, S. S. Keerthi, "A Fast Procedure for Computing the Distance Between Complex Objects in
// Three-Dimensional Space", IEEE Journal of Robotics and Automation 4, 1988, DOI 10.1109/56.2083.
// G. van den Bergen, "Proximity Queries and Penetration Depth Computation on 3D Game Objects", GDC 2001.
#include "narrow/polytopes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "narrow/narrow_3d.hpp"
#include "narrow/simplex.hpp"

namespace broadphase {

Polytope::Polytope(std::span<const double> points) {
  double most = 0;
  for (const double x : points) most = std::max(most, std::abs(x));
  exponent_ = most > 0 ? std::clamp(std::ilogb(most) + 1, -kMostExponent, kMostExponent) : 0;
  std::vector<double> scaled(points.begin(), points.end());
  for (double& x : scaled) x = std::ldexp(x, -exponent_);
  triangles_ = Quickhull(scaled).triangles();
  keep_corners(scaled);
  keep_faces();
}

bool Polytope::precedes(const Polytope& other) const {
  if (exponent_ != other.exponent_) return exponent_ < other.exponent_;
  for (const auto& [mine, others] : {std::pair{&x_, &other.x_}, {&y_, &other.y_}, {&z_, &other.z_}})
    if (*mine != *others) return *mine < *others;
  return triangles_ < other.triangles_;
}

std::size_t Polytope::memory_bytes() const {
  return (x_.capacity() + y_.capacity() + z_.capacity() + limits_.capacity()) * sizeof(double) +
         triangles_.capacity() * sizeof(HullTriangle) + normals_.capacity() * sizeof(Vec<3>) +
         edges_.capacity() * sizeof(PolytopeEdge) + neighbours_.capacity() * sizeof(std::int32_t) +
         begins_.capacity() * sizeof(std::size_t);
}

void Polytope::keep_corners(const std::vector<double>& points) {
  std::vector<std::int32_t> numbers(points.size() / 3, -1);
  for (HullTriangle& triangle : triangles_)
    for (std::int32_t& row : triangle) {
      const auto point = static_cast<std::size_t>(row);
      if (numbers[point] < 0) {
        numbers[point] = static_cast<std::int32_t>(x_.size());
        x_.push_back(points[3 * point]);
        y_.push_back(points[3 * point + 1]);
        z_.push_back(points[3 * point + 2]);
      }
      row = numbers[point];
    }
}

void Polytope::keep_faces() {
  using solid::operator-, solid::operator*;
  struct Side {
    std::int32_t low, high, opposite;
    std::size_t triangle;
  };
  std::vector<Side> sides;
  for (std::size_t t = 0; t < triangles_.size(); ++t)
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int32_t p = triangles_[t][k], q = triangles_[t][(k + 1) % 3];
      sides.push_back({std::min(p, q), std::max(p, q), triangles_[t][(k + 2) % 3], t});
    }
  std::sort(sides.begin(), sides.end(), [](const Side& a, const Side& b) {
    return a.low != b.low ? a.low < b.low : a.high != b.high ? a.high < b.high : a.triangle < b.triangle;
  });
  // Triangles in one plane are one face. Its name is its first triangle.
  std::vector<std::size_t> face(triangles_.size());
  for (std::size_t t = 0; t < face.size(); ++t) face[t] = t;
  const auto face_of = [&](std::size_t t) {
    while (face[t] != t) t = face[t] = face[face[t]];
    return t;
  };
  std::vector<std::pair<std::int32_t, std::int32_t>> joined;
  for (std::size_t k = 0; k + 1 < sides.size(); k += 2) {
    const Side &one = sides[k], &two = sides[k + 1];
    joined.push_back({one.low, one.high});
    joined.push_back({one.high, one.low});
    const std::array<std::array<double, 3>, 4> at = {
        corner(static_cast<std::size_t>(one.low)), corner(static_cast<std::size_t>(one.high)),
        corner(static_cast<std::size_t>(one.opposite)), corner(static_cast<std::size_t>(two.opposite))};
    if (orient3d(at[0].data(), at[1].data(), at[2].data(), at[3].data()) == 0) {
      const std::size_t a = face_of(one.triangle), b = face_of(two.triangle);
      face[std::max(a, b)] = std::min(a, b);
    } else {
      edges_.push_back({at[1] - at[0], solid::unit(at[2] - at[0]), solid::unit(at[3] - at[0]), at[0]});
    }
  }
  // The normal of the largest triangle is the most accurate.
  std::vector<double> largest(triangles_.size(), 0.0);
  std::vector<Vec<3>> normals(triangles_.size());
  for (std::size_t t = 0; t < triangles_.size(); ++t) {
    const HullTriangle& of = triangles_[t];
    const Vec<3> p = corner(static_cast<std::size_t>(of[0])), q = corner(static_cast<std::size_t>(of[1])),
                 r = corner(static_cast<std::size_t>(of[2]));
    const Vec<3> normal = solid::normal_of({q - p, r - q, p - r});
    const double size = solid::squared(normal);
    if (size > largest[face_of(t)]) {
      largest[face_of(t)] = size;
      normals[face_of(t)] = normal;
    }
  }
  for (std::size_t t = 0; t < triangles_.size(); ++t)
    if (face[t] == t && largest[t] > 0) {
      double limit = -std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < x_.size(); ++k) limit = std::max(limit, solid::dot(corner(k), normals[t]));
      normals_.push_back(normals[t]);
      limits_.push_back(limit);
    }
  join_parallel_edges();
  std::sort(joined.begin(), joined.end());
  begins_.assign(x_.size() + 1, 0);
  for (const auto& [from, to] : joined) {
    ++begins_[static_cast<std::size_t>(from) + 1];
    neighbours_.push_back(to);
  }
  for (std::size_t k = 0; k < x_.size(); ++k) begins_[k + 1] += begins_[k];
}

void Polytope::join_parallel_edges() {
  constexpr std::size_t kMostDirections = 8;
  std::vector<PolytopeEdge> directions;
  for (const PolytopeEdge& edge : edges_) {
    const bool is_known = std::any_of(directions.begin(), directions.end(), [&](const PolytopeEdge& other) {
      return solid::is_zero(solid::cross(edge.along, other.along));
    });
    if (is_known) continue;
    if (directions.size() == kMostDirections) return;
    directions.push_back({edge.along, {}, {}, {}});
  }
  if (3 * directions.size() <= edges_.size()) edges_ = std::move(directions);
}

namespace polytopes {

// ---- Cores in the frame of a pair: near the origin, and about 1 in size ----

// A point x of the world is at (x - origin) * to.
struct Frame {
  Vec3 origin;
  double to, back;
  int exponent;

  explicit Frame(const Element& hull)
      : origin{hull.shape.record[1], hull.shape.record[2], hull.shape.record[3]},
        to(std::ldexp(1.0, -hull.polytope->exponent())),
        back(std::ldexp(1.0, hull.polytope->exponent())),
        exponent(hull.polytope->exponent()) {}
  Vec3 place(std::span<const double> record, std::size_t at) const {
    return (solid::vector_at(record, at) - origin) * to;
  }
};

struct Extent {
  double lower, upper;
};

class Core {
 public:
  double radius = 0;

  // A hull, or a shape that is neither a compound nor a mesh.
  Core(const Element& element, const Frame& frame) {
    const auto& r = element.shape.record;
    switch (element.shape.kind) {
      case ShapeKind::kHull: {
        polytope_ = element.polytope;
        count_ = polytope_->corner_count();
        const double size = std::ldexp(1.0, std::clamp(polytope_->exponent() - frame.exponent, -1020, 1020));
        for (std::size_t k = 0; k < 3; ++k) axes_[k] = solid::vector_at(r, 4 + 3 * k) * size;
        unit_ = 1 / size;
        origin_ = frame.place(r, 1);
        size_ = solid::magnitude(origin_) + 2 * size;
        return;
      }
      case ShapeKind::kBall: radius = r[3] * frame.to; [[fallthrough]];
      case ShapeKind::kPoint:
      case ShapeKind::kPolygon:  // in the plane only, as those below are no single core
      case ShapeKind::kCompound:
      case ShapeKind::kMesh:
      case ShapeKind::kCustom: own_[count_++] = frame.place(r, 0); break;
      case ShapeKind::kCapsule: radius = r[6] * frame.to; [[fallthrough]];
      case ShapeKind::kSegment: {
        const Vec3 edge = solid::vector_at(r, 3) - solid::vector_at(r, 0);
        own_[count_++] = frame.place(r, 0);
        if (solid::is_zero(edge)) break;
        own_[count_++] = frame.place(r, 3);
        edges_[edge_count_++] = edge * frame.to;
        break;
      }
      case ShapeKind::kTriangle: {
        for (std::size_t k = 0; k < 3; ++k) own_[count_++] = frame.place(r, 3 * k);
        for (std::size_t k = 0; k < 3; ++k)
          edges_[edge_count_++] = (solid::vector_at(r, 3 * ((k + 1) % 3)) - solid::vector_at(r, 3 * k)) * frame.to;
        normals_[0] = solid::normal_of(edges_);
        normal_count_ = solid::is_zero(normals_[0]) ? 0 : 1;
        break;
      }
      case ShapeKind::kBox:
      case ShapeKind::kOrientedBox: {
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
    if (polytope_ != nullptr) return origin_;
    return (own_[0] + own_[count_ - 1]) * 0.5;
  }

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

// Two cores of a pair. What is found is about the second seen from the first.
struct Cores {
  const Core &first, &second;

  double radii() const { return first.radius + second.radius; }
  // Errors of a coordinate, of a distance, of a gap.
  double rounding() const { return 0x1p-52 * (first.size() + second.size()); }
  // The gap along a direction, in units of its length: below it is the first, above it the second.
  double gap(const Vec3& way) const { return second.extent(way).lower - first.extent(way).upper; }
};

// ---- GJK ----

enum class Relation { kApart, kInside, kDoubt };

struct Search {
  Relation relation = Relation::kDoubt;
  double lower = -kInfinity, upper = kInfinity;  // of the distance
  Vec3 normal{1, 0, 0};                          // the direction of `lower`
  Simplex simplex;
};

// Says whether a search that ended proves the distance: by a gap along the normal of what is nearest.
inline Search conclude(const Cores& cores, Search found) {
  const Simplex& s = found.simplex;
  Vec3 way{};
  for (std::size_t k = 0; k < s.count; ++k) way = way + s.corners[k].at * s.corners[k].share;
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
  constexpr double kExact = 1e3;  // roundings
  const bool is_proven = found.lower > 4 * cores.rounding() && found.upper - found.lower <= kExact * cores.rounding();
  found.relation = is_proven ? Relation::kApart : Relation::kDoubt;
  return found;
}

// Looks for the point of the difference nearest to the origin, until it is known up to rounding, or `enough(lower,
// upper)` holds. `from`: the way to look first, if it is not that from middle to middle.
template <class Enough>
Search search(const Cores& cores, const Enough& enough, const Vec3* from = nullptr) {
  constexpr int kMostSteps = 100;
  const double rounding = cores.rounding();
  Search found;
  Simplex& s = found.simplex;
  Vec3 way = from != nullptr ? *from : cores.second.middle() - cores.first.middle();
  if (!(squared(way) > 0)) way = {1, 0, 0};
  std::size_t one = 0, two = 0;
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
    s.corners[s.count++] = {at, one, two, 1.0};
    switch (s.count) {
      case 1: way = at; break;
      case 2: way = nearest_of_segment(s); break;
      case 3: way = nearest_of_triangle(s); break;
      default: way = nearest_of_tetrahedron(s); break;
    }
    if (s.count == 4) {
      found.relation = Relation::kInside;
      return found;
    }
    const double upper = std::sqrt(squared(way));
    if (!(upper < found.upper)) break;
    found.upper = upper;
    if (upper <= rounding) break;
  }
  return conclude(cores, found);
}

// Whether a tetrahedron holds the origin, farther from its faces than `rounding`.
inline bool holds_origin(const Simplex& s, double rounding) {
  constexpr std::array<std::array<std::size_t, 4>, 4> kFaces = {
      {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}}};
  for (const auto& face : kFaces) {
    const Vec3 &a = s.corners[face[0]].at, &b = s.corners[face[1]].at, &c = s.corners[face[2]].at;
    const Vec3 one = b - a, two = c - a, normal = cross(one, two);
    const double size = std::sqrt(squared(normal)), origin = -dot(normal, a);
    // The plane is known up to rounding, and its direction up to rounding of the edges in it.
    const double longest = std::sqrt(std::max(squared(one), squared(two)));
    const double error = rounding * (size + longest * (longest + std::sqrt(squared(a))));
    if (!(std::fabs(origin) > error) || (dot(normal, s.corners[face[3]].at - a) > 0) != (origin > 0)) return false;
  }
  return true;
}

// ---- The shortest way out of each other ----

struct WayOut {
  double gap = -kInfinity;  // minus the depth; above 0 if they do not overlap
  Vec3 normal{1, 0, 0};
};

// By separating axes: the greatest gap along any normal of a face or cross product of two edges. Of gaps that are equal
// up to rounding the first, that of a face, because face contacts have several points. `most`: none is greater, but for
// rounding; one as great ends the search, which of round hulls that touch would take seconds.
inline WayOut widest_gap(const Cores& cores, double most) {
  const double slack = 16 * cores.rounding(), enough = most - slack / 2;
  WayOut widest;
  const auto consider = [&](const Vec3& way) {
    const Extent one = cores.first.extent(way), two = cores.second.extent(way);
    const double onwards = two.lower - one.upper, back = one.lower - two.upper;
    const double scale = 1 / std::sqrt(squared(way)), gap = (back > onwards ? back : onwards) * scale;
    if (gap > widest.gap + slack) widest = {gap, way * (back > onwards ? -scale : scale)};
  };
  for (const Core* core : {&cores.first, &cores.second})
    core->for_each_normal([&](const Vec3& way) {
      consider(way);
      return widest.gap < enough;
    });
  if (widest.gap >= enough) return widest;
  std::vector<PolytopeEdge> edges, others;
  cores.first.put_edges(edges);
  cores.second.put_edges(others);
  for (const PolytopeEdge& edge : edges)
    for (const PolytopeEdge& other : others) {
      const Vec3 way = solid::across(edge.along, other.along);
      // Less than any of these edges' own errors: the way is then hardly known.
      const double slope = 1e-4 * (std::fabs(way[0]) + std::fabs(way[1]) + std::fabs(way[2]));
      const double a = dot(way, edge.first), b = dot(way, edge.second);
      const double c = dot(way, other.first), d = dot(way, other.second);
      // Out of the first and into the second, or the other way round.
      const bool onwards = (a <= slope) & (b <= slope) & (c >= -slope) & (d >= -slope);
      const bool back = (a >= -slope) & (b >= -slope) & (c <= slope) & (d <= slope);
      if (!(onwards | back) || solid::is_zero(way)) continue;
      if (!solid::is_zero(edge.first) && !solid::is_zero(other.first)) {
        // No gap is greater than that of any two points. Of round hulls many edges are as good but for rounding.
        const double height = dot(way, other.begin - edge.begin);
        const double apart = onwards && back ? std::fabs(height) : onwards ? height : -height;
        if (apart <= (widest.gap + slack) * std::sqrt(squared(way))) continue;
      }
      consider(way);
      if (widest.gap >= enough) return widest;
    }
  return widest;
}

// EPA: a polytope of corners of the difference around the origin grows towards the nearest face of the difference. Its
// surface is closed, and all of it is at least as far from the origin as the nearest of its planes: a lower bound of
// the depth. The gap along that plane's normal is an upper bound.
class Expansion {
 public:
  struct Corner {
    Vec3 at;
    std::size_t first, second;
  };
  struct Face {
    std::array<std::size_t, 3> corners;  // counterclockwise from outside
    Vec3 normal;
    double height;  // a lower bound of that of its plane over the origin
    double above;   // what is higher sees it
  };
  using Edge = std::array<std::size_t, 2>;

  // Room for so many corners, and twice as many faces and edges.
  Expansion(Corner* corners, Face* faces, Edge* edges, std::size_t most_corners)
      : corners_(corners), faces_(faces), edges_(edges), most_corners_(most_corners) {}

  // Whether more room might have helped.
  bool was_full() const { return was_full_; }

  // Returns whether the way out is known up to rounding. Precondition: the tetrahedron holds the origin.
  bool find(const Cores& cores, const Simplex& tetrahedron, WayOut& out) {
    rounding_ = cores.rounding();
    corner_count_ = face_count_ = 0;
    was_full_ = false;
    for (std::size_t k = 0; k < 4; ++k) {
      const Simplex::Corner& corner = tetrahedron.corners[k];
      corners_[corner_count_++] = {corner.at, corner.first, corner.second};
    }
    const Vec3 &a = corners_[0].at, &b = corners_[1].at, &c = corners_[2].at, &d = corners_[3].at;
    if (dot(cross(b - a, c - a), d - a) > 0) std::swap(corners_[1], corners_[2]);
    return put(0, 1, 2) && put(0, 2, 3) && put(2, 1, 3) && put(1, 0, 3) && grow(cores, out);
  }

  // The same from the corners that are extreme along three axes: where the origin is on a side of every simplex, as of
  // round cores in the same place.
  bool find_around(const Cores& cores, const std::array<Vec3, 3>& axes, WayOut& out) {
    rounding_ = cores.rounding();
    corner_count_ = face_count_ = 0;
    was_full_ = false;
    for (const Vec3& axis : axes)
      for (const Vec3& way : {axis, -axis}) {
        const std::size_t one = cores.first.farthest(-way, 0), two = cores.second.farthest(way, 0);
        corners_[corner_count_++] = {cores.second.corner(two) - cores.first.corner(one), one, two};
      }
    for (std::size_t x = 0; x < 2; ++x)
      for (std::size_t y = 2; y < 4; ++y)
        for (std::size_t z = 4; z < 6; ++z)
          if (!((x + y + z) % 2 == 0 ? put(x, y, z) : put(x, z, y))) return false;
    return grow(cores, out);
  }

 private:
  bool grow(const Cores& cores, WayOut& out) {
    out.gap = -kInfinity;
    while (corner_count_ < most_corners_) {
      std::size_t nearest = 0;
      for (std::size_t k = 1; k < face_count_; ++k)
        if (faces_[k].height < faces_[nearest].height) nearest = k;
      const Face face = faces_[nearest];
      const std::size_t one = cores.first.farthest(-face.normal, corners_[face.corners[0]].first);
      const std::size_t two = cores.second.farthest(face.normal, corners_[face.corners[0]].second);
      const Vec3 at = cores.second.corner(two) - cores.first.corner(one);
      const double height = dot(at, face.normal);
      if (-height > out.gap) out = {-height, -face.normal};
      constexpr double kExact = 1e3;  // roundings
      if (-out.gap - face.height <= kExact * rounding_) {
        out.gap = cores.gap(out.normal);
        return -out.gap - face.height <= kExact * rounding_;
      }
      for (const std::size_t k : face.corners)
        if (corners_[k].first == one && corners_[k].second == two) return false;
      corners_[corner_count_] = {at, one, two};
      if (!expand(nearest)) return false;
      ++corner_count_;
    }
    return full();
  }

  bool full() {
    was_full_ = true;
    return false;
  }

  bool put(std::size_t i, std::size_t j, std::size_t k) {
    if (face_count_ == 2 * most_corners_) return full();
    const Vec3 &a = corners_[i].at, &b = corners_[j].at, &c = corners_[k].at;
    const Vec3 one = b - a, two = c - a, normal = cross(one, two);
    const double size = std::sqrt(squared(normal));
    if (!(size > 0)) return false;
    // The error of the normal leans the plane by that of the edges over the width of the triangle.
    const double longest = std::sqrt(std::max(squared(one), squared(two)));
    const double error = rounding_ * (1 + longest * (longest + std::sqrt(squared(a))) / size);
    const Vec3 unit = normal * (1 / size);
    const double height = dot(unit, a);
    if (!(height - error > 0)) return false;
    faces_[face_count_++] = {{i, j, k}, unit, height - error, height + error};
    return true;
  }

  // Replaces the faces that the last corner sees.
  bool expand(std::size_t nearest) {
    const std::size_t top = corner_count_;
    std::size_t edge_count = 0;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < face_count_; ++k) {
      if (k != nearest && !(dot(faces_[k].normal, corners_[top].at) > faces_[k].above)) {
        faces_[kept++] = faces_[k];
        continue;
      }
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t p = faces_[k].corners[c], q = faces_[k].corners[(c + 1) % 3];
        std::size_t back = 0;
        while (back < edge_count && !(edges_[back][0] == q && edges_[back][1] == p)) ++back;
        if (back < edge_count) {
          edges_[back] = edges_[--edge_count];
        } else {
          if (edge_count == 2 * most_corners_) return full();
          edges_[edge_count++] = {p, q};
        }
      }
    }
    face_count_ = kept;
    for (std::size_t k = 0; k < edge_count; ++k)
      if (!put(edges_[k][0], edges_[k][1], top)) return false;
    return true;
  }

  double rounding_ = 0;
  Corner* corners_;
  Face* faces_;
  Edge* edges_;
  std::size_t most_corners_, corner_count_ = 0, face_count_ = 0;
  bool was_full_ = false;
};

// Tries to find the way out by EPA; `is_round`: there is much to save.
inline bool expand_from(const Cores& cores, const Search& found, Expansion& expansion, bool is_round, WayOut& out) {
  if (found.relation == Relation::kInside && expansion.find(cores, found.simplex, out)) return true;
  if (!is_round || expansion.was_full()) return false;
  // Of cores beside each other along an axis, the origin often lies on a side of the simplex. From ways that are not
  // theirs it seldom does.
  constexpr std::array<Vec3, 3> kAxes = {
      {{2.0 / 7, -3.0 / 7, 6.0 / 7}, {3.0 / 7, 6.0 / 7, 2.0 / 7}, {-6.0 / 7, 2.0 / 7, 3.0 / 7}}};
  for (const Vec3& way : kAxes) {
    const Search other = search(cores, [](double, double) { return false; }, &way);
    if (other.relation == Relation::kApart) return false;
    if (other.relation != Relation::kInside) continue;
    if (expansion.find(cores, other.simplex, out)) return true;
    if (expansion.was_full()) return false;
  }
  return expansion.find_around(cores, kAxes, out);
}

inline WayOut way_out(const Cores& cores, const Search& found) {
  // Nanoseconds, roughly: of separating axes; EPA takes a few thousand.
  constexpr std::size_t kWorthIt = 4000, kRound = 20000;
  const std::size_t corners = cores.first.corner_count() + cores.second.corner_count();
  const std::size_t cost = (cores.first.normal_count() + cores.second.normal_count()) * corners * 3 / 2 +
                           cores.first.edge_count() * cores.second.edge_count() * 20;
  if (cost <= kWorthIt) return widest_gap(cores, found.upper);
  WayOut out;
  constexpr std::size_t kCorners = 128;
  std::array<Expansion::Corner, kCorners> some_corners;
  std::array<Expansion::Face, 2 * kCorners> faces;
  std::array<Expansion::Edge, 2 * kCorners> edges;
  Expansion expansion(some_corners.data(), faces.data(), edges.data(), kCorners);
  if (expand_from(cores, found, expansion, cost > kRound, out)) return out;
  if (cost <= kRound || !expansion.was_full()) return widest_gap(cores, found.upper);
  // Of round cores in nearly the same place, all corners of the difference are needed. Beyond so many, each costs as
  // much as hundreds of pairs of edges.
  constexpr std::size_t kMostCorners = 2048;
  std::vector<Expansion::Corner> all_corners(kMostCorners);
  std::vector<Expansion::Face> all_faces(2 * kMostCorners);
  std::vector<Expansion::Edge> all_edges(2 * kMostCorners);
  Expansion whole(all_corners.data(), all_faces.data(), all_edges.data(), kMostCorners);
  return expand_from(cores, found, whole, true, out) ? out : widest_gap(cores, found.upper);
}

// The distance of two cores that are hardly apart, by at least `least` along its direction and at most `most`: that of
// the nearest parts of their surfaces.
inline WayOut distance_of_patches(const Cores& cores, const WayOut& least, double most) {
  const double spare = std::max(0.0, most - least.gap) + 16 * cores.rounding();
  const double top = cores.first.extent(least.normal).upper, bottom = cores.second.extent(least.normal).lower;
  const auto near = [](const Core& core, const Vec3& way, double height, std::vector<std::array<Vec3, 3>>& patches) {
    for (std::size_t k = 0; k < core.patch_count(); ++k) {
      const HullTriangle rows = core.patch(k);
      std::array<Vec3, 3> patch;
      bool is_near = false;
      for (std::size_t c = 0; c < 3; ++c) {
        patch[c] = core.corner(static_cast<std::size_t>(rows[c]));
        is_near = is_near || dot(patch[c], way) >= height;
      }
      if (is_near) patches.push_back(patch);
    }
  };
  std::vector<std::array<Vec3, 3>> patches, others;
  near(cores.first, least.normal, top - spare, patches);
  near(cores.second, -least.normal, -bottom - spare, others);
  WayOut nearest{kInfinity, {}};
  for (const std::array<Vec3, 3>& patch : patches)
    for (const std::array<Vec3, 3>& other : others)
      solid::with_triangle(patch, {}, [&](const auto& one, double) {
        solid::with_triangle(other, {}, [&](const auto& two, double) {
          constexpr bool kTurns = std::decay_t<decltype(one)>::kRank > std::decay_t<decltype(two)>::kRank;
          solid::Gap gap;
          if constexpr (kTurns)
            gap = solid::gap_of(two, one);
          else
            gap = solid::gap_of(one, two);
          if (gap.distance < nearest.gap) nearest = {gap.distance, kTurns ? -gap.normal : gap.normal};
        });
      });
  // Not where they touch but for rounding: there the direction says nothing.
  return cores.gap(nearest.normal) >= least.gap ? nearest : least;
}

// ---- The queries on two cores ----

struct CoreGap {
  double distance = kInfinity;  // of the cores, without the radii
  Vec3 normal{1, 0, 0};
  bool is_apart = false;
  Vec3 on_first{}, on_second{};  // the nearest points, if they are apart
};

inline CoreGap gap_of(const Cores& cores) {
  const Search found = search(cores, [](double, double) { return false; });
  CoreGap gap;
  if (found.relation == Relation::kApart) {
    gap = {found.lower, found.normal, true, {}, {}};
    for (std::size_t k = 0; k < found.simplex.count; ++k) {
      const Simplex::Corner& corner = found.simplex.corners[k];
      gap.on_first = gap.on_first + cores.first.corner(corner.first) * corner.share;
      gap.on_second = gap.on_second + cores.second.corner(corner.second) * corner.share;
    }
    return gap;
  }
  WayOut out = way_out(cores, found);
  if (out.gap > 0) out = distance_of_patches(cores, out, found.upper);
  return {out.gap, out.normal, false, {}, {}};
}

inline bool overlap(const Cores& cores) {
  const double radii = cores.radii(), rounding = 4 * cores.rounding();
  const double clear = radii + rounding, sure = radii - rounding;
  const Search found = search(cores, [&](double lower, double upper) { return lower > clear || upper < sure; });
  if (found.lower > clear && cores.gap(found.normal) > clear) return false;
  if (found.upper < sure || (found.relation == Relation::kInside && holds_origin(found.simplex, rounding))) return true;
  return gap_of(cores).distance <= radii;
}

// When the first, moved by `motion`, first touches the second: it advances as far as the planes across the gap allow,
// again and again. Infinite if not before `limit`.
inline double first_touch(const Cores& cores, const Vec3& motion, double limit, Vec3& normal) {
  // In sizes of the hull: what is nearer than `kNear` touches. The normal of cores nearer than `kWide` may be little
  // but rounding: it counts if the gap along it is wider. A motion that has not got there after so many steps is
  // grazing, and the time reached is not too late.
  constexpr double kNear = 1e-12, kWide = 1e-6;
  constexpr int kMostSteps = 100;
  double time = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    Core moved = cores.first;
    moved.move(motion * time);
    const CoreGap gap = gap_of({moved, cores.second});
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
inline void put_points(const Cores& cores, const CoreGap& gap, Contact<3>& contact) {
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

// ---- Pairs of elements: the hull, or that of two which comes first in a fixed order, leads ----

inline bool leads(const Element& a, const Element& b) {
  if (a.polytope == nullptr || b.polytope == nullptr) return a.polytope != nullptr;
  for (std::size_t k = 1; k < a.shape.record.size(); ++k)
    if (a.shape.record[k] != b.shape.record[k]) return a.shape.record[k] < b.shape.record[k];
  return !b.polytope->precedes(*a.polytope);
}

// Calls visit(cores, frame) for the leading hull and each part of the other, until it returns false.
template <class Visit>
void for_each_cores(const Element& hull, const Element& other, const Visit& visit) {
  const Frame frame(hull);
  const Core first(hull, frame);
  for_each_simple<3>(other.shape, [&](const ShapeView<3>& part) {
    return visit(Cores{first, Core({part, other.polytope}, frame)}, frame);
  });
}

inline bool overlap(const Element& hull, const Element& other) {
  bool found = false;
  for_each_cores(hull, other, [&](const Cores& cores, const Frame&) {
    found = overlap(cores);
    return !found;
  });
  return found;
}

inline double signed_distance(const Element& hull, const Element& other, Vec3* normal) {
  double nearest = kInfinity;
  for_each_cores(hull, other, [&](const Cores& cores, const Frame& frame) {
    const CoreGap gap = gap_of(cores);
    if (const double distance = (gap.distance - cores.radii()) * frame.back; distance < nearest) {
      nearest = distance;
      *normal = gap.normal;
    }
    return true;
  });
  return nearest;
}

inline Contact<3> contact(const Element& hull, const Element& other) {
  double nearest = kInfinity;
  Contact<3> found;
  for_each_cores(hull, other, [&](const Cores& cores, const Frame& frame) {
    const CoreGap gap = gap_of(cores);
    const double distance = gap.distance - cores.radii();
    if (!(distance < nearest)) return true;
    nearest = distance;
    found = {};
    found.normal = gap.normal;
    found.depth = distance < 0 ? -distance * frame.back : 0;
    put_points(cores, gap, found);
    for (std::size_t k = 0; k < found.count; ++k) found.points[k] = found.points[k] * frame.back + frame.origin;
    return true;
  });
  return found;
}

inline double impact_time(const Element& hull, const Vec3& motion, const Element& other, Vec3* normal) {
  double first = kInfinity;
  for_each_cores(hull, other, [&](const Cores& cores, const Frame& frame) {
    Vec3 way;
    if (const double time = first_touch(cores, motion * frame.to, first, way); time < first) {
      first = time;
      *normal = way;
    }
    return true;
  });
  return first;
}

// Where a ray is behind the planes of all faces.
inline double ray_hit(const Element& hull, const Vec3& origin, const Vec3& direction, Vec3* normal) {
  const Frame frame(hull);
  const auto own = [&](const Vec3& way) {
    Vec3 found;
    for (std::size_t k = 0; k < 3; ++k) found[k] = dot(solid::vector_at(hull.shape.record, 4 + 3 * k), way) * frame.to;
    return found;
  };
  const Vec3 from = own(origin - frame.origin), way = own(direction);
  double enters = -kInfinity, leaves = kInfinity;
  bool is_inside = true;
  std::size_t face = 0;
  const std::span<const Vec3> normals = hull.polytope->normals();
  for (std::size_t k = 0; k < normals.size(); ++k) {
    const double beyond = dot(normals[k], from) - hull.polytope->limits()[k], speed = dot(normals[k], way);
    is_inside = is_inside && beyond <= 0;
    if (speed < 0 && -beyond / speed > enters) {
      enters = -beyond / speed;
      face = k;
    }
    if (speed > 0) leaves = std::min(leaves, -beyond / speed);
    if (speed == 0 && beyond > 0) return kInfinity;
  }
  *normal = {};
  if (is_inside) {
    if (!solid::is_zero(direction)) *normal = solid::unit(-direction);
    return 0;
  }
  const double time = std::max(enters, 0.0), speed = std::sqrt(squared(way));
  if (constexpr double kThin = 1e-9; std::fabs(leaves - time) <= kThin * (time + 1 / speed)) {
    // So near to where its faces meet, rounding of their planes may hide where a thin hull ends.
    const double all_the_way = (std::sqrt(squared(from)) + 4) / speed;
    const Core point({{ShapeKind::kPoint, origin}, nullptr}, frame), core(hull, frame);
    const double met = first_touch({point, core}, direction * (frame.to * all_the_way), kInfinity, *normal);
    *normal = met < kInfinity ? -*normal : Vec3{};
    return met * all_the_way;
  }
  if (!(time <= leaves)) return kInfinity;
  for (std::size_t k = 0; k < 3; ++k)
    *normal = *normal + solid::vector_at(hull.shape.record, 4 + 3 * k) * normals[face][k];
  *normal = solid::unit(*normal);
  return time;
}

// The nearest points of a hull and another element that are surely apart; nothing where that is in doubt.
std::optional<std::pair<Vec<3>, Vec<3>>> nearest_points_of_hull(const Element& hull, const Element& other) {
  double nearest = kInfinity;
  std::optional<std::pair<Vec<3>, Vec<3>>> found;
  for_each_cores(hull, other, [&](const Cores& cores, const Frame& frame) {
    const CoreGap gap = gap_of(cores);
    const double distance = gap.distance - cores.radii();
    if (!(distance < nearest)) return true;
    nearest = distance;
    found.reset();
    if (!gap.is_apart || !(distance > 0)) return true;
    const Vec3 first = gap.on_first + gap.normal * cores.first.radius;
    const Vec3 second = gap.on_second - gap.normal * cores.second.radius;
    found = {first * frame.back + frame.origin, second * frame.back + frame.origin};
    return true;
  });
  return found;
}

}  // namespace polytopes

// ---- The queries on any two elements, as those on two shapes ----

bool overlaps(const Element& a, const Element& b) {
  if (a.polytope == nullptr && b.polytope == nullptr) return overlaps(a.shape, b.shape);
  return polytopes::leads(a, b) ? polytopes::overlap(a, b) : polytopes::overlap(b, a);
}

double signed_distance(const Element& a, const Element& b, Vec<3>* normal) {
  if (a.polytope == nullptr && b.polytope == nullptr) return signed_distance(a.shape, b.shape, normal);
  if (polytopes::leads(a, b)) return polytopes::signed_distance(a, b, normal);
  const double distance = polytopes::signed_distance(b, a, normal);
  *normal = solid::operator-(*normal);
  return distance;
}

Contact<3> contact(const Element& a, const Element& b) {
  if (a.polytope == nullptr && b.polytope == nullptr) return contact(a.shape, b.shape);
  if (polytopes::leads(a, b)) return polytopes::contact(a, b);
  Contact<3> found = polytopes::contact(b, a);
  found.normal = solid::operator-(found.normal);
  return found;
}

double impact_time(const Element& a, const Vec<3>& motion, const Element& b, Vec<3>* normal) {
  if (a.polytope == nullptr && b.polytope == nullptr) return impact_time(a.shape, motion, b.shape, normal);
  if (polytopes::leads(a, b)) return polytopes::impact_time(a, motion, b, normal);
  const double time = polytopes::impact_time(b, solid::operator-(motion), a, normal);
  *normal = solid::operator-(*normal);
  return time;
}

double ray_hit(const Element& element, const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal) {
  if (element.polytope == nullptr) return ray_hit(element.shape, origin, direction, normal);
  return polytopes::ray_hit(element, origin, direction, normal);
}

std::pair<Vec<3>, Vec<3>> nearest_points(const Element& a, const Element& b, double distance, const Vec<3>& normal) {
  using solid::operator*, solid::operator-;
  if (distance <= 0) {
    const Contact<3> found = contact(a, b);
    return {found.points[0], found.points[0]};
  }
  if (a.polytope != nullptr || b.polytope != nullptr) {
    const bool leads = polytopes::leads(a, b);
    if (const auto found = leads ? polytopes::nearest_points_of_hull(a, b) : polytopes::nearest_points_of_hull(b, a))
      return leads ? *found : std::pair{found->second, found->first};
  }
  // Moved until they touch.
  std::vector<double> moved(b.shape.record.begin(), b.shape.record.end());
  const Vec<3> back = normal * -distance;
  shift_shape<3>(b.shape.kind, moved, back.data());
  const Contact<3> found = contact(a, Element{{b.shape.kind, moved}, b.polytope});
  return {found.points[0], found.points[0] - back};
}

}  // namespace broadphase
