// The narrow phase of convex hulls: a hull with a hull, or with a shape of another kind.
//
// By the general test of convex pairs (convex_pairs.hpp). What that leaves undecided is decided by separating axes, the
// normals of faces and the cross products of edges, and distances by all faces that may be nearest.
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

#include "narrow/convex_pairs.hpp"
#include "narrow/half_spaces.hpp"
#include "narrow/narrow_3d.hpp"
#include "narrow/polytope_core.hpp"
#include "narrow/support.hpp"

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
  keep_middle();
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

void Polytope::keep_middle() {
  if (x_.empty()) return;
  constexpr double kSlack = 1 + 0x1p-40;
  for (const auto& [axis, values] : {std::pair{0, &x_}, {1, &y_}, {2, &z_}}) {
    const auto [low, high] = std::minmax_element(values->begin(), values->end());
    middle_[static_cast<std::size_t>(axis)] = 0.5 * (*low + *high);
  }
  for (std::size_t k = 0; k < x_.size(); ++k)
    reach_ = std::max(reach_, kSlack * std::sqrt(solid::squared(solid::operator-(corner(k), middle_))));
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

// By separating axes: the greatest gap along any normal of a face or cross product of two edges. Of gaps that are equal
// up to rounding the first, that of a face, because face contacts have several points. `most`: none is greater, but for
// rounding; one as great ends the search, which of round hulls that touch would take seconds.
inline WayOut widest_gap(const Cores<Core>& cores, double most) {
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

inline WayOut way_out(const Cores<Core>& cores, const Search<Core>& found) {
  // Nanoseconds, roughly: of separating axes; EPA takes one or two thousand.
  constexpr std::size_t kWorthIt = 2000, kRound = 20000;
  const std::size_t corners = cores.first.corner_count() + cores.second.corner_count();
  const std::size_t cost = (cores.first.normal_count() + cores.second.normal_count()) * corners * 3 / 2 +
                           cores.first.edge_count() * cores.second.edge_count() * 20;
  if (cost <= kWorthIt) return widest_gap(cores, found.upper);
  WayOut out;
  Expansion<Core>::Room<128> room;
  Expansion<Core> expansion(room, cost > kRound);
  return expand_from(cores, found, expansion, cost > kRound, out) ? out : widest_gap(cores, found.upper);
}

// The distance of two cores that are hardly apart, by at least `least` along its direction and at most `most`: that of
// the nearest parts of their surfaces.
inline WayOut distance_of_patches(const Cores<Core>& cores, const WayOut& least, double most) {
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

inline WayOut undecided_gap(const Cores<Core>& cores, const Search<Core>& found) {
  const WayOut out = way_out(cores, found);
  return out.gap > 0 ? distance_of_patches(cores, out, found.upper) : out;
}

// ---- Pairs of elements: the hull, or that of two which comes first in a fixed order, leads ----

inline bool leads(const Element& a, const Element& b) {
  if (a.polytope == nullptr || b.polytope == nullptr) return a.polytope != nullptr;
  for (std::size_t k = 1; k < a.shape.record.size(); ++k)
    if (a.shape.record[k] != b.shape.record[k]) return a.shape.record[k] < b.shape.record[k];
  return !b.polytope->precedes(*a.polytope);
}

// A hull above a half space, as the queries take two cores.
struct AboveBoundary {
  struct Boundary {
    Vec3 at, normal;
    double radius = 0;
  };
  Core first;
  Boundary second;

  double radii() const { return 0; }
};

inline double height_of(const AboveBoundary& pair) {
  return pair.first.extent(pair.second.normal).lower - dot(pair.second.at, pair.second.normal);
}
inline bool overlap(const AboveBoundary& pair) { return height_of(pair) <= 0; }
inline CoreGap gap_of(const AboveBoundary& pair) {
  const Vec3& up = pair.second.normal;
  CoreGap gap{height_of(pair), -up, true, {}, {}};
  double lowest = kInfinity;
  for (std::size_t k = 0; k < pair.first.corner_count(); ++k) {
    const Vec3 corner = pair.first.corner(k);
    if (const double height = dot(corner, up); height < lowest) {
      lowest = height;
      gap.on_first = corner;
    }
  }
  gap.on_second = gap.on_first - up * gap.distance;
  return gap;
}
// Corners of the lowest face, midway between the surfaces; the nearest to its middle first.
inline Contact<3> contact_of(const AboveBoundary& pair, const CoreGap& gap, const Frame& frame) {
  Contact<3> found;
  found.normal = gap.normal;
  found.depth = gap.distance < 0 ? -gap.distance * frame.back : 0;
  const Across across(gap.normal);
  Outline places = outline_of(pair.first, gap.normal, across);
  const Vec3 level = gap.normal * (dot(pair.second.at, gap.normal) - gap.distance / 2);
  const Place middle = meeting_place(places, {}, places);
  for (Place& place : places) place = {place[0] - middle[0], place[1] - middle[1]};
  keep_four(places);
  for (const Place& place : places)
    found.points[found.count++] =
        (across.point({place[0] + middle[0], place[1] + middle[1]}) + level) * frame.back + frame.origin;
  return found;
}
inline double first_touch(const AboveBoundary& pair, const Vec3& motion, double limit, Vec3& normal) {
  const double height = height_of(pair), speed = -dot(motion, pair.second.normal);
  normal = -pair.second.normal;
  if (height <= 0) return 0;
  const double time = speed > 0 ? height / speed : kInfinity;
  return time <= 1 && time < limit ? time : kInfinity;
}

// Calls visit(cores, frame) for the leading hull and each part of the other, until it returns false.
template <class Visit>
void for_each_cores(const Element& hull, const Element& other, const Visit& visit) {
  const Frame frame(hull);
  const Core first(hull, frame);
  for_each_simple<3>(other.shape, [&](const ShapeView<3>& part) {
    if (is_half_space(part)) {
      const HalfSpace<3> below(part);
      return visit(AboveBoundary{first, {(below.at - frame.origin) * frame.to, below.normal}}, frame);
    }
    if (is_curved(part)) {
      const auto whole = ElementSupport(hull, frame).core(), round = ElementSupport({part, nullptr}, frame).core();
      return visit(CurvedCores{whole, round}, frame);
    }
    return visit(Cores<Core>{first, Core({part, other.polytope}, frame)}, frame);
  });
}

inline bool overlap(const Element& hull, const Element& other) {
  bool found = false;
  for_each_cores(hull, other, [&](const auto& cores, const Frame&) {
    found = overlap(cores);
    return !found;
  });
  return found;
}

inline double signed_distance(const Element& hull, const Element& other, Vec3* normal) {
  double nearest = kInfinity;
  for_each_cores(hull, other, [&](const auto& cores, const Frame& frame) {
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
  for_each_cores(hull, other, [&](const auto& cores, const Frame& frame) {
    const CoreGap gap = gap_of(cores);
    const double distance = gap.distance - cores.radii();
    if (!(distance < nearest)) return true;
    nearest = distance;
    found = contact_of(cores, gap, frame);
    return true;
  });
  return found;
}

inline double impact_time(const Element& hull, const Vec3& motion, const Element& other, Vec3* normal) {
  double first = kInfinity;
  for_each_cores(hull, other, [&](const auto& cores, const Frame& frame) {
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
    const double met = first_touch(Cores<Core>{point, core}, direction * (frame.to * all_the_way), kInfinity, *normal);
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
  for_each_cores(hull, other, [&](const auto& cores, const Frame& frame) {
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
