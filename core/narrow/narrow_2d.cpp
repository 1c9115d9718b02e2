// The narrow phase in 2-d: overlap, signed distance, contact, raycast and time of impact of two placed shapes.
//
// A shape whose core has corners is a rounded polygon: a convex polygon of one or more corners and all points within
// some radius of it. So each query has one general algorithm, and closed forms for the most frequent types. Time is
// O(corners * corners). Nothing is allocated. Pairs with a curved core are those of its support function.
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "narrow/compounds.hpp"
#include "narrow/disc_rays.hpp"
#include "narrow/half_spaces.hpp"
#include "narrow/shape_queries.hpp"
#include "narrow/support.hpp"
#include "shapes/shape.hpp"

namespace broadphase::narrow_2d {

// ---- Rounded polygons ----

// Corners are in counter-clockwise order. There may be one or two, and corners may coincide or be collinear, so the
// length of an edge must be checked before its normal is used. A polygon of two corners has two edges, there and back,
// so the normals of both sides are among those of the edges.
struct Rounded {
  const double* corners;  // x, y of each
  std::size_t count;
  double radius;

  double x(std::size_t corner) const { return corners[2 * corner]; }
  double y(std::size_t corner) const { return corners[2 * corner + 1]; }
  // Number of edges on different lines: both edges of a segment are on one.
  std::size_t lines() const { return count == 2 ? 1 : count; }
  std::size_t after(std::size_t corner) const { return corner + 1 == count ? 0 : corner + 1; }
  std::size_t before(std::size_t corner) const { return corner == 0 ? count - 1 : corner - 1; }
};

// An edge whose squared length is less is too short for its length to be known: it decides nothing, its ends do.
inline constexpr double kLeastSquare = std::numeric_limits<double>::min();

// The edge from one corner to the next.
struct Edge {
  double x, y;    // where it begins
  double dx, dy;  // to where it ends

  Edge(const Rounded& polygon, std::size_t corner)
      : x(polygon.x(corner)),
        y(polygon.y(corner)),
        dx(polygon.x(polygon.after(corner)) - x),
        dy(polygon.y(polygon.after(corner)) - y) {}

  double squared_length() const { return dx * dx + dy * dy; }
  // 0 where it is too short for its length to be known.
  double length() const {
    const double squared = squared_length();
    return squared < kLeastSquare ? 0 : std::sqrt(squared);
  }
  // Distance of a point outside the edge's line, times the length of the edge.
  double outside(double px, double py) const { return dy * (px - x) - dx * (py - y); }
  Vec<2> normal(double length) const { return {dy / length, -dx / length}; }
};

// A shape as a rounded polygon. Refers to the corners in the record where they are in order, else to corners of its
// own.
class RoundedShape {
 public:
  // Any core that has corners.
  explicit RoundedShape(const ShapeView<2>& shape) {
    const double* record = shape.record.data();
    switch (traits_of(shape.kind).core) {
      case CoreForm::kBox:
        if (shape.kind == ShapeKind::kOrientedBox) {
          set_oriented_box(record);
        } else {
          own_ = {record[0], record[1], record[2], record[1], record[2], record[3], record[0], record[3]};
          view_ = {own_.data(), 4, 0};
        }
        return;
      case CoreForm::kTriangle: set_triangle(record); return;
      case CoreForm::kPoint:
      case CoreForm::kSegment:
      case CoreForm::kPolygon:
      case CoreForm::kNone:
      case CoreForm::kHalfSpace:
      case CoreForm::kCurved: view_ = {record, shape.record.size() / 2, radius_of(shape)};
    }
  }
  RoundedShape(const RoundedShape&) = delete;
  RoundedShape& operator=(const RoundedShape&) = delete;

  const Rounded& view() const { return view_; }

 private:
  void set_oriented_box(const double* record) {
    const double ux = record[2] * record[4], uy = record[2] * record[5];
    double vx = record[3] * record[6], vy = record[3] * record[7];
    if (ux * vy - uy * vx < 0) {  // axes that are mirrored
      vx = -vx;
      vy = -vy;
    }
    own_ = {record[0] - ux - vx, record[1] - uy - vy, record[0] + ux - vx, record[1] + uy - vy,
            record[0] + ux + vx, record[1] + uy + vy, record[0] - ux + vx, record[1] - uy + vy};
    view_ = {own_.data(), 4, 0};
  }

  void set_triangle(const double* record) {
    const double turn =
        (record[2] - record[0]) * (record[5] - record[1]) - (record[3] - record[1]) * (record[4] - record[0]);
    if (turn >= 0) {
      view_ = {record, 3, 0};
    } else {
      own_ = {record[0], record[1], record[4], record[5], record[2], record[3]};
      view_ = {own_.data(), 3, 0};
    }
  }

  Rounded view_{};
  std::array<double, 8> own_;  // only set for the kinds that need it
};

// The largest absolute coordinate, the scale of rounding errors.
inline double magnitude(const Rounded& polygon) {
  double largest_x = 0, largest_y = 0;  // separate maxima: shorter dependency chains
  for (std::size_t k = 0; k < polygon.count; ++k) {
    const double x = std::abs(polygon.x(k)), y = std::abs(polygon.y(k));
    largest_x = x > largest_x ? x : largest_x;
    largest_y = y > largest_y ? y : largest_y;
  }
  return largest_x > largest_y ? largest_x : largest_y;
}

// ---- Signed distance of two polygons, and the features that determine it ----
//
// The signed distance of two convex sets is the largest gap between them over all directions. Where they overlap, that
// direction is the normal of an edge of either; where they are disjoint, such a normal or the direction from a corner
// of one to a corner of the other. The gap along any direction is never more than the distance, so a degenerate edge of
// a few rounding errors' length, whose normal is arbitrary, does no harm as long as the gap is computed from the whole
// polygon and not only from that edge's line.

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Relative to the largest coordinate. Polygons with less depth than kShallow along every normal may still be disjoint:
// collinear, or so nearly that the rounding of their corners decides. They are examined more closely. If this were much
// larger, resting shapes would take the slower path; if it were below the rounding of placed corners, needles far from
// the origin would overlap what is in front of them.
inline constexpr double kShallow = 1e-12;
// Rounding error of a few subtractions and a product: smaller distances count as 0.
inline constexpr double kRounding = 1e-15;

enum class Feature : unsigned char {
  kCorners,       // a corner of each
  kEdgeOfFirst,   // an edge of the first, a corner of the second
  kEdgeOfSecond,  // a corner of the first, an edge of the second
};

// The separation of two polygons, without their radii.
struct Separation {
  double distance = -kInfinity;  // minus the depth where they overlap
  Vec<2> normal{1, 0};           // unit, from the first to the second
  Feature feature = Feature::kCorners;
  std::size_t first = 0, second = 0;  // corners, or the corner where the edge begins
};

// The least distance of a corner of `other` outside an edge, times the edge's length.
inline double least_outside(const Edge& edge, const Rounded& other) {
  double least = edge.outside(other.x(0), other.y(0));
  for (std::size_t k = 1; k < other.count; ++k) {
    const double outside = edge.outside(other.x(k), other.y(k));
    least = outside < least ? outside : least;
  }
  return least;
}

inline double most_outside(const Edge& edge, const Rounded& other) {
  double most = edge.outside(other.x(0), other.y(0));
  for (std::size_t k = 1; k < other.count; ++k) {
    const double outside = edge.outside(other.x(k), other.y(k));
    most = outside > most ? outside : most;
  }
  return most;
}

// How far an edge's own polygon reaches outside it: 0, except for rounding and degenerate edges.
inline double overhang(const Edge& edge, const Rounded& polygon) {
  const double most = most_outside(edge, polygon);
  return most > 0 ? most : 0;
}

inline std::size_t innermost_corner(const Edge& edge, const Rounded& other) {
  std::size_t innermost = 0;
  double least = edge.outside(other.x(0), other.y(0));
  for (std::size_t k = 1; k < other.count; ++k) {
    const double outside = edge.outside(other.x(k), other.y(k));
    if (outside < least) {
      least = outside;
      innermost = k;
    }
  }
  return innermost;
}

// Raises `best` to the largest gap along a normal of `polygon`.
inline void raise_by_edges(const Rounded& polygon, const Rounded& other, bool polygon_is_first, Separation& best) {
  for (std::size_t k = 0; k < polygon.count; ++k) {
    const Edge edge(polygon, k);
    const double length = edge.length();
    if (length == 0) continue;
    const double outside = least_outside(edge, other);
    if (!(outside > best.distance * length)) continue;
    const double gap = (outside - overhang(edge, polygon)) / length;
    if (!(gap > best.distance)) continue;
    const Vec<2> normal = edge.normal(length);
    best.distance = gap;
    if (polygon_is_first) {
      best.normal = normal;
      best.feature = Feature::kEdgeOfFirst;
      best.first = k;
    } else {
      best.normal = {-normal[0], -normal[1]};
      best.feature = Feature::kEdgeOfSecond;
      best.second = k;
    }
  }
}

// The features of least distance of two polygons, found by testing all.
struct Closest {
  double squared = kInfinity;
  Feature feature = Feature::kCorners;
  std::size_t first = 0, second = 0;
};

// Tests corners of `other`, moved by `shift`, in front of or behind an edge.
inline void lower_by_edges(const Rounded& polygon, const Rounded& other, const Vec<2>& shift, bool polygon_is_first,
                           Closest& best) {
  for (std::size_t k = 0; k < polygon.lines(); ++k) {
    const Edge edge(polygon, k);
    const double squared_length = edge.squared_length();
    if (squared_length < kLeastSquare) continue;
    for (std::size_t corner = 0; corner < other.count; ++corner) {
      // Differences first, then the shift: coordinates far from the origin would round it.
      const double px = other.x(corner) - edge.x + shift[0], py = other.y(corner) - edge.y + shift[1];
      const double along = px * edge.dx + py * edge.dy;
      if (!(along > 0 && along < squared_length)) continue;
      const double outside = edge.dy * px - edge.dx * py;
      const double squared = outside / squared_length * outside;
      if (!(squared < best.squared)) continue;
      best.squared = squared;
      best.feature = polygon_is_first ? Feature::kEdgeOfFirst : Feature::kEdgeOfSecond;
      best.first = polygon_is_first ? k : corner;
      best.second = polygon_is_first ? corner : k;
    }
  }
}

// With `a` moved by `shift`.
inline Closest closest_features(const Rounded& a, const Rounded& b, const Vec<2>& shift = {0, 0}) {
  Closest best;
  for (std::size_t i = 0; i < a.count; ++i) {
    for (std::size_t j = 0; j < b.count; ++j) {
      const double dx = b.x(j) - a.x(i) - shift[0], dy = b.y(j) - a.y(i) - shift[1];
      const double squared = dx * dx + dy * dy;
      if (squared < best.squared) best = {squared, Feature::kCorners, i, j};
    }
  }
  if (a.count > 1) lower_by_edges(a, b, {-shift[0], -shift[1]}, true, best);
  if (b.count > 1) lower_by_edges(b, a, shift, false, best);
  return best;
}

// The distance and direction of two separate features, computed from the given numbers and not from derived points.
inline Separation separation_of(const Closest& closest, const Rounded& a, const Rounded& b) {
  Separation result{.feature = closest.feature, .first = closest.first, .second = closest.second};
  if (closest.feature == Feature::kCorners) {
    const double dx = b.x(closest.second) - a.x(closest.first), dy = b.y(closest.second) - a.y(closest.first);
    result.distance = std::sqrt(closest.squared);
    if (result.distance > 0) result.normal = {dx / result.distance, dy / result.distance};
    return result;
  }
  const bool of_first = closest.feature == Feature::kEdgeOfFirst;
  const Edge edge = of_first ? Edge(a, closest.first) : Edge(b, closest.second);
  const double outside = of_first ? edge.outside(b.x(closest.second), b.y(closest.second))
                                  : edge.outside(a.x(closest.first), a.y(closest.first));
  const double length = std::sqrt(edge.squared_length());
  // A segment's edge also stands for the reverse one.
  const double sign = (outside < 0) == of_first ? -1 : 1;
  const Vec<2> normal = edge.normal(length);
  result.distance = std::abs(outside) / length;
  result.normal = {sign * normal[0], sign * normal[1]};
  return result;
}

// Whether a corner is in front of an edge, between its ends and at most `gap` away: then no features are closer.
inline bool is_across(const Rounded& polygon, std::size_t k, const Rounded& other, std::size_t corner, double gap) {
  const Edge edge(polygon, k);
  const double x = other.x(corner), y = other.y(corner), squared_length = edge.squared_length();
  const double along = (x - edge.x) * edge.dx + (y - edge.y) * edge.dy;
  return along >= 0 && along <= squared_length && edge.outside(x, y) <= gap * std::sqrt(squared_length);
}

// The range of the products with `axis` of corners of b minus corners of a.
struct Range {
  double least, most;
};

inline Range range_along(const Rounded& a, const Rounded& b, const Vec<2>& axis) {
  // Relative to one of the corners, so that coordinates far from the origin cancel before the multiplication.
  const double x = a.x(0), y = a.y(0);
  const auto range = [&](const Rounded& polygon) {
    Range found{kInfinity, -kInfinity};
    for (std::size_t k = 0; k < polygon.count; ++k) {
      const double at = axis[0] * (polygon.x(k) - x) + axis[1] * (polygon.y(k) - y);
      found.least = at < found.least ? at : found.least;
      found.most = at > found.most ? at : found.most;
    }
    return found;
  };
  const Range of_a = range(a), of_b = range(b);
  return {of_b.least - of_a.most, of_b.most - of_a.least};
}

inline Separation separation(const Rounded& a, const Rounded& b) {
  Separation best;
  if (a.count > 1) raise_by_edges(a, b, true, best);
  if (b.count > 1) raise_by_edges(b, a, false, best);
  const double scale = magnitude(a) + magnitude(b);
  if (best.feature == Feature::kEdgeOfFirst) best.second = innermost_corner(Edge(a, best.first), b);
  if (best.feature == Feature::kEdgeOfSecond) best.first = innermost_corner(Edge(b, best.second), a);
  if (best.feature != Feature::kCorners) {
    if (best.distance < -kShallow * scale) return best;
    const double gap = best.distance + kRounding * scale;
    if (best.distance > kShallow * scale &&
        (best.feature == Feature::kEdgeOfFirst ? is_across(a, best.first, b, best.second, gap)
                                               : is_across(b, best.second, a, best.first, gap)))
      return best;
  }
  const Separation closest = separation_of(closest_features(a, b), a, b);
  if (best.feature == Feature::kCorners) return closest;  // two points
  // In overlapping polygons, a corner of one is as close to an edge of the other as they are deep.
  const double certain = best.distance > 0 ? 0 : -best.distance;
  if (!(closest.distance > certain + kRounding * scale)) return best;
  // Where an edge is as far up to rounding, and the gap along the direction between nearest corners is not, rounding
  // has made this direction.
  const double error = 8 * kRounding * scale;
  if (best.distance > closest.distance - error && best.distance > range_along(a, b, closest.normal).least + error) {
    best.distance = closest.distance;
    return best;
  }
  return closest;
}

// The decision by the edges of `polygon`. `shallow` is a distance.
enum class Verdict : unsigned char { kOverlap, kShallow, kApart, kFarApart };

inline Verdict verdict_by_edges(const Rounded& polygon, const Rounded& other, double reach, double shallow) {
  Verdict verdict = Verdict::kOverlap;
  for (std::size_t k = 0; k < polygon.lines(); ++k) {
    const Edge edge(polygon, k);
    double outside = least_outside(edge, other);
    if (polygon.count == 2) {
      const double behind = -most_outside(edge, other);
      outside = behind > outside ? behind : outside;
    }
    // The sum is 1 to 1.4 times the length, without a square root.
    if (outside < -shallow * (std::abs(edge.dx) + std::abs(edge.dy))) continue;
    outside -= overhang(edge, polygon);
    // Less may be what the smallest of numbers have rounded.
    const bool is_outside = outside > kLeastSquare;
    if (is_outside && reach == 0) return Verdict::kFarApart;
    const double length = is_outside ? edge.length() : 0;
    if (length > 0) {
      if (outside > reach * length) return Verdict::kFarApart;
      verdict = Verdict::kApart;
    } else if (verdict == Verdict::kOverlap) {
      verdict = Verdict::kShallow;
    }
  }
  return verdict;
}

// Signs are those of products of differences, so corners on a lattice are decided exactly.
inline bool overlaps(const Rounded& a, const Rounded& b) {
  const double reach = a.radius + b.radius;
  const double shallow = kShallow * (magnitude(a) + magnitude(b));
  const Verdict first = a.count > 1 ? verdict_by_edges(a, b, reach, shallow) : Verdict::kOverlap;
  if (first == Verdict::kFarApart) return false;
  const Verdict second = b.count > 1 ? verdict_by_edges(b, a, reach, shallow) : Verdict::kOverlap;
  if (second == Verdict::kFarApart) return false;
  if (first == Verdict::kApart || second == Verdict::kApart || a.count + b.count == 2)
    return closest_features(a, b).squared <= reach * reach;
  if (first == Verdict::kOverlap && second == Verdict::kOverlap) return true;
  return separation(a, b).distance <= reach;
}

// ---- Closed forms for balls, points and boxes, the most frequent moving shapes ----

// A ball, or a point as a ball of radius 0.
struct Disc {
  double x, y, radius;

  explicit Disc(const ShapeView<2>& shape)
      : x(shape.record[0]), y(shape.record[1]), radius(shape.kind == ShapeKind::kBall ? shape.record[2] : 0) {}
};

inline bool is_disc(const ShapeView<2>& shape) {
  return shape.kind == ShapeKind::kBall || shape.kind == ShapeKind::kPoint;
}

inline bool discs_overlap(const Disc& a, const Disc& b) {
  const double dx = b.x - a.x, dy = b.y - a.y, reach = a.radius + b.radius;
  return dx * dx + dy * dy <= reach * reach;
}

inline double disc_distance(const Disc& a, const Disc& b, Vec<2>* normal) {
  const double dx = b.x - a.x, dy = b.y - a.y, between = std::sqrt(dx * dx + dy * dy);
  *normal = between > 0 ? Vec<2>{dx / between, dy / between} : Vec<2>{1, 0};
  return between - (a.radius + b.radius);
}

// Precondition: they overlap. One point, midway between the two surfaces.
inline Contact<2> disc_contact(const Disc& a, const Disc& b) {
  Contact<2> result;
  const double distance = disc_distance(a, b, &result.normal);
  result.depth = distance < 0 ? -distance : 0;
  result.count = 1;
  const double forward = (a.radius - b.radius) / 2;
  result.points[0] = {(a.x + b.x) / 2 + forward * result.normal[0], (a.y + b.y) / 2 + forward * result.normal[1]};
  return result;
}

// How far a coordinate is outside [-half, half], or 0.
inline double beyond(double at, double half) {
  const double outside = std::abs(at) - half;
  return outside > 0 ? outside : 0;
}

// A placed box: lower and upper corner.
struct Corners {
  Vec<2> lower, upper;

  explicit Corners(const ShapeView<2>& box)
      : lower{box.record[0], box.record[1]}, upper{box.record[2], box.record[3]} {}
  Corners(const Vec<2>& lower_corner, const Vec<2>& upper_corner) : lower(lower_corner), upper(upper_corner) {}
};

inline bool boxes_overlap(const ShapeView<2>& a, const ShapeView<2>& b) {
  const double* p = a.record.data();
  const double* q = b.record.data();
  return (p[0] <= q[2]) & (q[0] <= p[2]) & (p[1] <= q[3]) & (q[1] <= p[3]);
}

inline bool disc_overlaps_box(const Disc& disc, const Corners& box) {
  const auto outside = [](double at, double lower, double upper) {
    return at < lower ? lower - at : at > upper ? at - upper : 0.0;
  };
  const double dx = outside(disc.x, box.lower[0], box.upper[0]), dy = outside(disc.y, box.lower[1], box.upper[1]);
  return dx * dx + dy * dy <= disc.radius * disc.radius;
}

inline bool disc_overlaps_oriented_box(const Disc& disc, const ShapeView<2>& box) {
  const double* record = box.record.data();
  const double dx = disc.x - record[0], dy = disc.y - record[1];
  const double u = beyond(dx * record[4] + dy * record[5], record[2]);
  const double v = beyond(dx * record[6] + dy * record[7], record[3]);
  return u * u + v * v <= disc.radius * disc.radius;
}

// The signed distance of a point from a box, negative inside, and the outward normal at the nearest surface point.
inline double distance_from_box(const Vec<2>& at, const Corners& box, Vec<2>* outward) {
  Vec<2> outside;
  for (std::size_t axis = 0; axis < 2; ++axis)
    outside[axis] = at[axis] < box.lower[axis]   ? at[axis] - box.lower[axis]
                    : at[axis] > box.upper[axis] ? at[axis] - box.upper[axis]
                                                 : 0;
  if (outside[0] != 0 || outside[1] != 0) {
    const double distance =
        outside[0] == 0 || outside[1] == 0 ? std::abs(outside[0] + outside[1]) : std::hypot(outside[0], outside[1]);
    *outward = {outside[0] / distance, outside[1] / distance};
    return distance;
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const double below = at[axis] - box.lower[axis], above = box.upper[axis] - at[axis];
    const double inside = below < above ? below : above;
    if (inside < least) {
      least = inside;
      *outward = {0, 0};
      (*outward)[axis] = below < above ? -1 : 1;
    }
  }
  return -least;
}

// A box, oriented or not; the normal is from the disc to the box.
inline double disc_box_distance(const Disc& disc, const ShapeView<2>& box, Vec<2>* normal) {
  const double* record = box.record.data();
  Vec<2> outward;
  if (box.kind == ShapeKind::kBox) {
    const double distance = distance_from_box({disc.x, disc.y}, Corners(box), &outward);
    *normal = {-outward[0], -outward[1]};
    return distance - disc.radius;
  }
  const double dx = disc.x - record[0], dy = disc.y - record[1];
  const Corners own({-record[2], -record[3]}, {record[2], record[3]});
  const double distance =
      distance_from_box({dx * record[4] + dy * record[5], dx * record[6] + dy * record[7]}, own, &outward);
  *normal = {-outward[0] * record[4] - outward[1] * record[6], -outward[0] * record[5] - outward[1] * record[7]};
  return distance - disc.radius;
}

// Precondition: they overlap. One point, midway between the two surfaces.
inline Contact<2> disc_box_contact(const Disc& disc, const ShapeView<2>& box) {
  Contact<2> result;
  const double distance = disc_box_distance(disc, box, &result.normal);
  result.depth = distance < 0 ? -distance : 0;
  result.count = 1;
  const double forward = disc.radius - result.depth / 2;
  result.points[0] = {disc.x + forward * result.normal[0], disc.y + forward * result.normal[1]};
  return result;
}

inline bool is_any_box(const ShapeView<2>& shape) {
  return shape.kind == ShapeKind::kBox || shape.kind == ShapeKind::kOrientedBox;
}

// A box, oriented or not: its centre and half its sides along their directions.
struct OrientedBox2d {
  double x, y;
  double half_u, half_v;
  double ux = 1, uy = 0, vx = 0, vy = 1;

  explicit OrientedBox2d(const ShapeView<2>& box) {
    const double* record = box.record.data();
    if (box.kind == ShapeKind::kBox) {
      half_u = (record[2] - record[0]) / 2;
      half_v = (record[3] - record[1]) / 2;
      x = record[0] + half_u;
      y = record[1] + half_v;
      return;
    }
    x = record[0];
    y = record[1];
    half_u = record[2];
    half_v = record[3];
    ux = record[4];
    uy = record[5];
    vx = record[6];
    vy = record[7];
  }

  // Whether there is a gap along one of its directions.
  bool is_apart(const OrientedBox2d& other) const {
    const double dx = other.x - x, dy = other.y - y;
    const auto reach = [&](double nx, double ny) {
      return std::abs(nx * other.ux + ny * other.uy) * other.half_u +
             std::abs(nx * other.vx + ny * other.vy) * other.half_v;
    };
    return std::abs(dx * ux + dy * uy) > half_u + reach(ux, uy) || std::abs(dx * vx + dy * vy) > half_v + reach(vx, vy);
  }
};

inline bool oriented_boxes_overlap(const OrientedBox2d& a, const OrientedBox2d& b) {
  return !a.is_apart(b) && !b.is_apart(a);
}

// The gap between two boxes along each axis, negative where they overlap, and whether b is above a.
struct AxisGaps {
  Vec<2> gap;
  std::array<bool, 2> above;

  AxisGaps(const Corners& a, const Corners& b) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const double up = b.lower[axis] - a.upper[axis], down = a.lower[axis] - b.upper[axis];
      above[axis] = up >= down;
      gap[axis] = above[axis] ? up : down;
    }
  }
  double signed_gap(std::size_t axis) const { return above[axis] ? gap[axis] : -gap[axis]; }
  std::size_t widest() const { return gap[1] > gap[0] ? 1 : 0; }
};

inline double box_distance(const Corners& a, const Corners& b, Vec<2>* normal) {
  const AxisGaps gaps(a, b);
  if (gaps.gap[0] > 0 && gaps.gap[1] > 0) {
    const double between = std::hypot(gaps.gap[0], gaps.gap[1]);
    *normal = {gaps.signed_gap(0) / between, gaps.signed_gap(1) / between};
    return between;
  }
  const std::size_t axis = gaps.widest();
  *normal = {0, 0};
  (*normal)[axis] = gaps.above[axis] ? 1 : -1;
  return gaps.gap[axis];
}

// Precondition: they overlap, but for rounding. Two points where the faces have a length in common.
inline Contact<2> box_contact(const Corners& a, const Corners& b) {
  const AxisGaps gaps(a, b);
  const std::size_t axis = gaps.widest(), along = 1 - axis;
  const bool above = gaps.above[axis];
  Contact<2> result;
  result.normal[axis] = above ? 1 : -1;
  result.depth = gaps.gap[axis] < 0 ? -gaps.gap[axis] : 0;
  const double at = above ? (a.upper[axis] + b.lower[axis]) / 2 : (a.lower[axis] + b.upper[axis]) / 2;
  const double from = a.lower[along] > b.lower[along] ? a.lower[along] : b.lower[along];
  const double to = a.upper[along] < b.upper[along] ? a.upper[along] : b.upper[along];
  result.count = from < to ? 2 : 1;
  for (std::size_t k = 0; k < result.count; ++k) {
    result.points[k][axis] = at;
    result.points[k][along] = k == 0 ? from : to;
  }
  return result;
}

// The first t >= 0 at which a ray is in a box, by intersecting the intervals of t between opposite sides.
inline double ray_meets_box(const Corners& box, const Vec<2>& origin, const Vec<2>& direction, Vec<2>* normal) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double first = 0, last = kNever;
  std::size_t entered = 2;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const double speed = direction[axis];
    if (speed == 0) {
      if (origin[axis] < box.lower[axis] || origin[axis] > box.upper[axis]) return kNever;
      continue;
    }
    double in = (box.lower[axis] - origin[axis]) / speed, out = (box.upper[axis] - origin[axis]) / speed;
    if (speed < 0) std::swap(in, out);
    if (in > first || (entered == 2 && in == 0)) {  // 0 where a quotient underflows
      first = in;
      entered = axis;
    }
    last = out < last ? out : last;
  }
  if (first > last || entered == 2) return kNever;  // the caller handles rays that start inside
  *normal = {0, 0};
  (*normal)[entered] = direction[entered] > 0 ? -1 : 1;
  return first;
}

// ---- Closed forms for segments and capsules: overlap with each other and with a disc ----

// A segment with a radius.
struct Straight {
  double x, y, end_x, end_y;
  double radius;

  explicit Straight(const ShapeView<2>& shape)
      : x(shape.record[0]),
        y(shape.record[1]),
        end_x(shape.record[2]),
        end_y(shape.record[3]),
        radius(shape.kind == ShapeKind::kCapsule ? shape.record[4] : 0) {}

  // The side of the line that a point is on, by the sign.
  double side(double px, double py) const { return (px - x) * (end_y - y) - (py - y) * (end_x - x); }

  double squared_distance(double px, double py) const {
    const double dx = end_x - x, dy = end_y - y;
    const double along = (px - x) * dx + (py - y) * dy, squared_length = dx * dx + dy * dy;
    if (along > 0 && along < squared_length) {
      const double aside = side(px, py);
      return aside / squared_length * aside;
    }
    const double to_x = px - (along > 0 ? end_x : x), to_y = py - (along > 0 ? end_y : y);
    return to_x * to_x + to_y * to_y;
  }
};

inline bool is_straight(const ShapeView<2>& shape) {
  return shape.kind == ShapeKind::kSegment || shape.kind == ShapeKind::kCapsule;
}

inline bool disc_overlaps_straight(const Disc& disc, const Straight& other) {
  const double reach = disc.radius + other.radius;
  return other.squared_distance(disc.x, disc.y) <= reach * reach;
}

// Whether each has its ends on both sides of the other. For collinear segments the sides are decided by rounding, so
// their boxes must overlap as well.
inline bool straights_cross(const Straight& a, const Straight& b) {
  const auto straddles = [](const Straight& p, const Straight& q) {
    const double begin = p.side(q.x, q.y), end = p.side(q.end_x, q.end_y);
    return (begin > 0 && end < 0) || (begin < 0 && end > 0);
  };
  const auto meet = [](double from, double to, double other_from, double other_to) {
    return (from < to ? from : to) <= (other_from > other_to ? other_from : other_to) &&
           (other_from < other_to ? other_from : other_to) <= (from > to ? from : to);
  };
  return straddles(a, b) && straddles(b, a) && meet(a.x, a.end_x, b.x, b.end_x) && meet(a.y, a.end_y, b.y, b.end_y);
}

inline bool straights_overlap(const Straight& a, const Straight& b) {
  const double reach = a.radius + b.radius, squared_reach = reach * reach;
  return a.squared_distance(b.x, b.y) <= squared_reach || a.squared_distance(b.end_x, b.end_y) <= squared_reach ||
         b.squared_distance(a.x, a.y) <= squared_reach || b.squared_distance(a.end_x, a.end_y) <= squared_reach ||
         straights_cross(a, b);
}

// ---- Contact of two rounded polygons: one point, or two where edges face each other ----

// Corners are collinear with an edge if they are within this of its line, relative to the largest coordinate.
inline constexpr double kFlat = 1e-14;

// The frame of an edge: positions along it, gaps in front of it.
struct EdgeFrame {
  double x, y;
  Vec<2> along, normal;

  // `towards`: the edge's normal, or its negative for an edge that stands for the reverse one.
  EdgeFrame(const Edge& edge, const Vec<2>& towards) : x(edge.x), y(edge.y), normal(towards) {
    const double length = std::sqrt(edge.squared_length());
    along = {edge.dx / length, edge.dy / length};
  }
  double place(double px, double py) const { return (px - x) * along[0] + (py - y) * along[1]; }
  double gap(double px, double py) const { return (px - x) * normal[0] + (py - y) * normal[1]; }
  Vec<2> at(double place, double gap) const {
    return {x + place * along[0] + gap * normal[0], y + place * along[1] + gap * normal[1]};
  }
};

// The range along the edge of the corners whose gap, times `sign`, is least up to rounding. Several corners of a
// polygon may be on the line of an edge.
struct EdgeSpan {
  double from = kInfinity, to = -kInfinity;
  double gap = kInfinity;
  std::size_t corner = 0;

  EdgeSpan(const Rounded& polygon, const EdgeFrame& frame, double sign, double flat) {
    for (std::size_t k = 0; k < polygon.count; ++k) {
      const double at = sign * frame.gap(polygon.x(k), polygon.y(k));
      if (at < gap) {
        gap = at;
        corner = k;
      }
    }
    for (std::size_t k = 0; k < polygon.count; ++k) {
      if (sign * frame.gap(polygon.x(k), polygon.y(k)) > gap + flat) continue;
      const double place = frame.place(polygon.x(k), polygon.y(k));
      from = place < from ? place : from;
      to = place > to ? place : to;
    }
  }
};

// The neighbour of `corner` towards which the boundary rises least in front of the edge.
inline std::size_t flattest_neighbour(const Rounded& polygon, std::size_t corner, const EdgeFrame& frame) {
  std::size_t flattest = corner;
  double least = kInfinity;
  for (const bool forward : {false, true}) {
    std::size_t next = corner;
    double dx = 0, dy = 0;
    // Skips corners that coincide with this one.
    for (std::size_t step = 1; step < polygon.count && dx == 0 && dy == 0; ++step) {
      next = forward ? polygon.after(next) : polygon.before(next);
      dx = polygon.x(next) - polygon.x(corner);
      dy = polygon.y(next) - polygon.y(corner);
    }
    const double length = std::sqrt(dx * dx + dy * dy);
    if (length == 0) continue;
    const double slope = (dx * frame.normal[0] + dy * frame.normal[1]) / length;
    if (slope < least) {
      least = slope;
      flattest = next;
    }
  }
  return flattest;
}

inline double clamped(double value, double low, double high) { return value < low ? low : value > high ? high : value; }

// Contact points on the side of `polygon` that faces the other in the direction `towards`, the normal of an edge. Gaps
// are in front of that edge's line, beyond which its polygon may reach: a flat one has edges of a few rounding errors'
// length anywhere.
inline void touch_along_edge(const Rounded& polygon, std::size_t k, const Vec<2>& towards, const Rounded& other,
                             Contact<2>& contact) {
  const EdgeFrame frame(Edge(polygon, k), towards);
  const double flat = kFlat * (magnitude(polygon) + magnitude(other));
  const EdgeSpan own(polygon, frame, -1, flat), facing(other, frame, 1, flat);
  const double surface = polygon.radius - own.gap;
  // Midway between the two surfaces, where a point of the other's core is at some gap.
  const auto add = [&](double place, double gap) {
    contact.points[contact.count++] = frame.at(place, (gap + surface - other.radius) / 2);
  };
  const double first = clamped(facing.from, own.from, own.to);
  if (facing.to - facing.from > flat) {
    const double second = clamped(facing.to, own.from, own.to);
    add(first, facing.gap);
    if (second - first > flat) add(second, facing.gap);
    return;
  }
  add(first, facing.gap);
  const std::size_t next = flattest_neighbour(other, facing.corner, frame);
  const double place = frame.place(other.x(next), other.y(next)), gap = frame.gap(other.x(next), other.y(next));
  const double second = clamped(place, own.from, own.to);
  if (std::abs(second - first) <= flat) return;
  const double second_gap = facing.gap + (second - first) / (place - first) * (gap - facing.gap);
  if (second_gap <= surface + other.radius) add(second, second_gap);
}

// If the corners are at the same distance as an edge up to rounding, the edge is used: a shape that stands on another's
// end rests on two points, whatever the rounding.
inline Separation with_edge_preferred(const Separation& apart, const Rounded& a, const Rounded& b) {
  constexpr double kSame = 1 - 1e-12;
  Separation best;
  if (a.count > 1) raise_by_edges(a, b, true, best);
  if (b.count > 1) raise_by_edges(b, a, false, best);
  return best.distance > 0 && best.distance >= kSame * apart.distance ? best : apart;
}

// Precondition: they overlap.
inline Contact<2> contact(const Rounded& a, const Rounded& b) {
  const double reach = a.radius + b.radius;
  Separation found = separation(a, b);
  const bool with_disc = a.count == 1 || b.count == 1;
  if (found.feature == Feature::kCorners && found.distance > 0 && !with_disc) found = with_edge_preferred(found, a, b);
  Contact<2> result;
  result.normal = found.normal;
  result.depth = found.distance < reach ? reach - found.distance : 0;
  if (with_disc) {
    // On the line from the disc's centre to the other shape, half the depth inside its surface.
    const Rounded& disc = b.count == 1 ? b : a;
    const double forward = (b.count == 1 ? -1 : 1) * (disc.radius - result.depth / 2);
    result.count = 1;
    result.points[0] = {disc.x(0) + forward * found.normal[0], disc.y(0) + forward * found.normal[1]};
    return result;
  }
  switch (found.feature) {
    case Feature::kEdgeOfFirst: touch_along_edge(a, found.first, found.normal, b, result); break;
    case Feature::kEdgeOfSecond:
      touch_along_edge(b, found.second, {-found.normal[0], -found.normal[1]}, a, result);
      break;
    case Feature::kCorners: {
      const double back = (found.distance + b.radius - a.radius) / 2;
      const double x = b.x(found.second), y = b.y(found.second);
      result.points[result.count++] = {x - back * found.normal[0], y - back * found.normal[1]};
      break;
    }
  }
  return result;
}

// ---- Time of impact: when a moving rounded polygon first touches another; a ray is a moving point ----
//
// Relative to the moving polygon this is a ray against the Minkowski difference, again a rounded polygon. It is solved
// directly, without time steps or iterations, so no speed is too high:
// 1. Does the ray's line meet the difference at all? It does if the difference has points on both sides of the line.
// 2. Along the normal of every edge, when does the gap close? The ray does not enter before the latest of these times,
//    at which it enters the polygon with the same edges but sharp corners.
// 3. There it is at an edge, and done, or in front of a rounded corner. Then it meets the disc of that corner, or
// passes
//    it without a hit, which step 1 has ruled out.

struct Approach {
  Vec<2> motion;
  double squared_speed, speed;  // length of the motion
  double reach;                 // sum of the radii
  double time;                  // they do not touch before
  Vec<2> normal;                // of the feature that determines `time`, from the moving polygon to the other
  bool parting = false;
  bool grazes = false;  // the motion is nearly along that feature: its rounding is much of the time
};

// At a smaller angle than this to the motion, in radians, the polygon slides along the edge.
inline constexpr double kSliding = 1e-15;

// At a smaller one, rounding moves the time of entry by a hundred times as much, or more.
inline constexpr double kGrazing = 0.01;

// `sign` is 1 if the polygon moves, -1 if the other does. Gaps and closing speeds are both multiplied by the length of
// the edge, so times are quotients of numbers that are exact on a lattice.
inline void approach_edges(const Rounded& polygon, const Rounded& other, double sign, Approach& approach) {
  for (std::size_t k = 0; k < polygon.count; ++k) {
    const Edge edge(polygon, k);
    const double length = edge.length();
    if (length == 0) continue;
    const double closing = sign * (edge.dy * approach.motion[0] - edge.dx * approach.motion[1]);
    const bool is_ahead = closing > kSliding * length * approach.speed;
    double gap = least_outside(edge, other) - approach.reach * length;
    if (is_ahead ? !(gap > approach.time * closing) : !(closing <= 0 && gap > 0)) continue;
    gap -= overhang(edge, polygon);
    if (is_ahead) {
      if (gap > approach.time * closing) {
        approach.time = gap / closing;
        approach.grazes = closing < kGrazing * length * approach.speed;
        const Vec<2> outward = edge.normal(length);
        approach.normal = {sign * outward[0], sign * outward[1]};
      }
    } else if (gap > 0) {
      approach.parting = true;
      return;
    }
  }
}

// The time at which the first edge is left behind, or `latest`. `error`: of distances, by which it may be later.
inline double leave_edges(const Rounded& polygon, const Rounded& other, double sign, const Approach& approach,
                          double error, double latest) {
  for (std::size_t k = 0; k < polygon.count; ++k) {
    const Edge edge(polygon, k);
    const double length = edge.length();
    if (length == 0) continue;
    const double leaving = sign * (edge.dx * approach.motion[1] - edge.dy * approach.motion[0]);
    if (!(leaving > kSliding * length * approach.speed)) continue;
    const double left = overhang(edge, polygon) - least_outside(edge, other) + (approach.reach + error) * length;
    latest = left < latest * leaving ? left / leaving : latest;
  }
  return latest;
}

// The time at which a moving corner meets the disc around another, which is so far away; up to rounding, it does meet
// it.
inline double time_of_corners(double dx, double dy, Approach& approach) {
  const Vec<2>& m = approach.motion;
  const double middle = m[0] * dx + m[1] * dy;
  if (middle < 0) return kInfinity;  // it moves away
  const double aside = m[0] * dy - m[1] * dx;
  const double inside = approach.reach * approach.reach * approach.squared_speed - aside * aside;
  const double met = (middle - std::sqrt(inside > 0 ? inside : 0)) / approach.squared_speed;
  // A polygon with sharp corners that grazes the other may meet it later than the disc.
  const double earliest = approach.grazes ? 0 : approach.time, time = met > earliest ? met : earliest;
  const double nx = dx - time * m[0], ny = dy - time * m[1];
  const double length = std::sqrt(nx * nx + ny * ny);
  // For radii of almost 0, this direction is mere rounding.
  if (length > 16 * kRounding * (std::abs(dx) + std::abs(dy))) approach.normal = {nx / length, ny / length};
  return time;
}

// One that begins where the nearest corner ahead, so far along the motion, is reached.
inline Approach approach_from(const Vec<2>& m, double squared_speed, double speed, double reach, double ahead) {
  const double nearest = ahead - reach * speed;
  return {.motion = m,
          .squared_speed = squared_speed,
          .speed = speed,
          .reach = reach,
          .time = nearest > 0 ? nearest / squared_speed : 0,
          .normal = {m[0] / speed, m[1] / speed}};
}

// The first t >= 0 at which `a`, moved by t * motion, touches `b`; infinity if it never does, and then the normal, from
// a to b at that time, is not written. Precondition: they do not overlap.
inline double first_touch(const Rounded& a, const Vec<2>& motion, const Rounded& b, Vec<2>* normal) {
  // The motion scaled to about 1 by a power of two, which rounds nothing.
  int exponent = 0;
  std::frexp(std::abs(motion[0]) > std::abs(motion[1]) ? motion[0] : motion[1], &exponent);
  const Vec<2> m{std::ldexp(motion[0], -exponent), std::ldexp(motion[1], -exponent)};
  const double squared_speed = m[0] * m[0] + m[1] * m[1];
  if (squared_speed == 0) return kInfinity;
  const double speed = std::sqrt(squared_speed), reach = a.radius + b.radius;
  const Range sides = range_along(a, b, {-m[1], m[0]});
  // It passes if the other is entirely on one side and farther away than the radii. Squares are exact on a lattice.
  const double aside = sides.least > 0 ? sides.least : sides.most < 0 ? sides.most : 0;
  if (aside * aside > reach * reach * squared_speed) return kInfinity;
  const Range ahead = range_along(a, b, m);
  if (ahead.most < -reach * speed) return kInfinity;
  Approach approach = approach_from(m, squared_speed, speed, reach, ahead.least);
  if (a.count > 1) approach_edges(a, b, 1, approach);
  if (b.count > 1 && !approach.parting) approach_edges(b, a, -1, approach);
  if (approach.parting) return kInfinity;
  if (approach.grazes) {
    // What meets does so before it has passed.
    const double error = kRounding * (magnitude(a) + magnitude(b));
    double latest = (ahead.most + (reach + error) * speed) / squared_speed;
    if (a.count > 1) latest = leave_edges(a, b, 1, approach, error, latest);
    if (b.count > 1) latest = leave_edges(b, a, -1, approach, error, latest);
    approach.time = latest < approach.time ? latest : approach.time;
  }
  if (reach > 0) {
    const Closest closest = closest_features(a, b, {approach.time * m[0], approach.time * m[1]});
    if (closest.feature == Feature::kCorners) {
      approach.time =
          time_of_corners(b.x(closest.second) - a.x(closest.first), b.y(closest.second) - a.y(closest.first), approach);
      if (approach.time == kInfinity) return kInfinity;
    }
  }
  *normal = approach.normal;
  return std::ldexp(approach.time, -exponent);
}

// The same of two discs, bit for bit, with a motion scaled to about 1.
inline double first_touch(const Disc& a, const Vec<2>& m, const Disc& b, Vec<2>* normal) {
  const double dx = b.x - a.x, dy = b.y - a.y, reach = a.radius + b.radius;
  const double squared_speed = m[0] * m[0] + m[1] * m[1], speed = std::sqrt(squared_speed),
               aside = m[0] * dy - m[1] * dx, ahead = m[0] * dx + m[1] * dy;
  if (aside * aside > reach * reach * squared_speed || ahead < -reach * speed) return kInfinity;
  Approach approach = approach_from(m, squared_speed, speed, reach, ahead);
  if (reach > 0) approach.time = time_of_corners(dx, dy, approach);
  *normal = approach.normal;
  return approach.time;
}

// A power of two by which a motion becomes about 1, as std::frexp says; 0 where that is no number of usual size.
inline double unit_of(const Vec<2>& motion) {
  const double size = std::abs(motion[0]) > std::abs(motion[1]) ? std::abs(motion[0]) : std::abs(motion[1]);
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(size) >> 52;
  return exponent > 0 && exponent < 2045 ? std::bit_cast<double>((2045 - exponent) << 52) : 0;
}

// ---- Pairs with a curved core, by support functions: in a frame in which they are about 1 in size ----

struct PlaneSupport {
  const Rounded* corners;  // null for a curved core
  ShapeView<2> shape;
  Vec<2> origin;  // of the frame
  double to;      // its units

  Vec<2> operator()(const Vec<2>& way) const {
    Vec<2> at{shape.record[0], shape.record[1]}, beyond{};
    if (corners == nullptr) {
      beyond = farthest_of(shape, way);
    } else {
      double highest = -kInfinity;
      for (std::size_t k = 0; k < corners->count; ++k) {
        const double x = corners->x(k), y = corners->y(k), height = (x - at[0]) * way[0] + (y - at[1]) * way[1];
        if (!(height > highest)) continue;
        highest = height;
        beyond = {x - at[0], y - at[1]};
      }
    }
    return {(at[0] - origin[0]) * to + beyond[0] * to, (at[1] - origin[1]) * to + beyond[1] * to};
  }
};

// Calls visit(cores, origin, units) and returns what it does.
template <class Visit>
auto with_curved_cores(const ShapeView<2>& a, const ShapeView<2>& b, const Visit& visit) {
  const Vec<2> origin{a.record[0], a.record[1]};
  const double to = std::ldexp(1.0, -PairSize<2>(a, b).exponent());
  const auto with_core = [&](const ShapeView<2>& shape, const auto& use) {
    if (is_curved(shape))
      return use(polytopes::SupportCore(polytopes::Prism<PlaneSupport>{{nullptr, shape, origin, to}}, 0));
    const RoundedShape rounded(shape);
    return use(polytopes::SupportCore(polytopes::Prism<PlaneSupport>{{&rounded.view(), shape, origin, to}},
                                      rounded.view().radius * to));
  };
  return with_core(a, [&](const auto& first) {
    return with_core(b, [&](const auto& second) {
      return visit(polytopes::PlaneCores<PlaneSupport>{first, second}, origin, 1 / to);
    });
  });
}

using CurvedCores = polytopes::PlaneCores<PlaneSupport>;

inline bool overlap_of_curved(const ShapeView<2>& a, const ShapeView<2>& b) {
  return with_curved_cores(a, b,
                           [](const CurvedCores& cores, const Vec<2>&, double) { return polytopes::overlap(cores); });
}

inline ShapeGap<2> gap_of_curved(const ShapeView<2>& a, const ShapeView<2>& b) {
  return with_curved_cores(a, b, [](const CurvedCores& cores, const Vec<2>&, double back) {
    const polytopes::CoreGap gap = polytopes::gap_of(cores);
    return ShapeGap<2>{(gap.distance - cores.radii()) * back, polytopes::in_plane(gap.normal)};
  });
}

inline Contact<2> contact_of_curved(const ShapeView<2>& a, const ShapeView<2>& b) {
  return with_curved_cores(a, b, [](const CurvedCores& cores, const Vec<2>& origin, double back) {
    Contact<2> contact = polytopes::plane_contact(cores, polytopes::gap_of(cores));
    contact.depth *= back;
    for (std::size_t k = 0; k < contact.count; ++k)
      for (std::size_t axis = 0; axis < 2; ++axis)
        contact.points[k][axis] = contact.points[k][axis] * back + origin[axis];
    return contact;
  });
}

inline ShapeImpact<2> cast_of_curved(const ShapeView<2>& a, const Vec<2>& motion, const ShapeView<2>& b) {
  const double length = std::hypot(motion[0], motion[1]);
  if (!(length > 0)) return {};
  return with_curved_cores(a, b, [&](const CurvedCores& cores, const Vec<2>&, double back) {
    const double all_the_way = PairSize<2>(a, b).apart / length, scale = all_the_way / back;
    Vec<3> normal{};
    ShapeImpact<2> impact;
    impact.time =
        all_the_way * polytopes::first_touch(cores, {motion[0] * scale, motion[1] * scale, 0}, kInfinity, normal);
    if (impact.time < kInfinity) impact.normal = polytopes::in_plane(normal);
    return impact;
  });
}

// ---- The queries ----

struct Simple {
  // Neither is a compound.
  static bool overlap(const ShapeView<2>& a, const ShapeView<2>& b) {
    if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) return boxes_overlap(a, b);
    if (is_any_box(a) && is_any_box(b)) return oriented_boxes_overlap(OrientedBox2d(a), OrientedBox2d(b));
    if (is_straight(a) && is_straight(b)) return straights_overlap(Straight(a), Straight(b));
    if (is_half_space(a) || is_half_space(b))
      return is_turned(a, b) ? half_spaces::overlap(b, a) : half_spaces::overlap(a, b);
    if (is_any_curved(a, b)) return is_turned(a, b) ? overlap_of_curved(b, a) : overlap_of_curved(a, b);
    if (is_disc(a) || is_disc(b)) {
      const Disc disc(is_disc(a) ? a : b);
      const ShapeView<2>& other = is_disc(a) ? b : a;
      if (is_disc(other)) return discs_overlap(disc, Disc(other));
      if (is_straight(other)) return disc_overlaps_straight(disc, Straight(other));
      if (other.kind == ShapeKind::kBox) return disc_overlaps_box(disc, Corners(other));
      if (other.kind == ShapeKind::kOrientedBox) return disc_overlaps_oriented_box(disc, other);
    }
    const bool is_swapped = is_turned(a, b);
    const RoundedShape first(is_swapped ? b : a), second(is_swapped ? a : b);
    return narrow_2d::overlaps(first.view(), second.view());
  }

  // Neither is a compound, in this and the following functions. Two discs are in order either way.
  static ShapeGap<2> gap(const ShapeView<2>& a, const ShapeView<2>& b) {
    ShapeGap<2> gap{};
    if (is_disc(a) && is_disc(b)) {
      gap.distance = disc_distance(Disc(a), Disc(b), &gap.normal);
    } else if (is_turned(a, b)) {
      gap = turned(Simple::gap(b, a));
    } else if (is_half_space(b)) {
      gap = half_spaces::gap(a, b);
    } else if (is_any_curved(a, b)) {
      gap = gap_of_curved(a, b);
    } else if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) {
      gap.distance = box_distance(Corners(a), Corners(b), &gap.normal);
    } else if (is_disc(a) && is_any_box(b)) {
      gap.distance = disc_box_distance(Disc(a), b, &gap.normal);
    } else {
      const RoundedShape first(a), second(b);
      const Separation found = separation(first.view(), second.view());
      gap = {found.distance - (first.view().radius + second.view().radius), found.normal};
    }
    return gap;
  }

  static Contact<2> contact(const ShapeView<2>& a, const ShapeView<2>& b) {
    if (is_disc(a) && is_disc(b)) return disc_contact(Disc(a), Disc(b));
    if (is_turned(a, b)) return turned(contact(b, a));
    if (is_half_space(b)) return half_spaces::contact(a, b);
    if (is_any_curved(a, b)) return contact_of_curved(a, b);
    if (a.kind == ShapeKind::kBox && b.kind == ShapeKind::kBox) return box_contact(Corners(a), Corners(b));
    if (is_disc(a) && is_any_box(b)) return disc_box_contact(Disc(a), b);
    const RoundedShape first(a), second(b);
    return narrow_2d::contact(first.view(), second.view());
  }

  // Precondition: they do not overlap.
  static ShapeImpact<2> cast(const ShapeView<2>& a, const Vec<2>& motion, const ShapeView<2>& b) {
    if (is_turned(a, b)) return turned(cast(b, opposite<2>(motion), a));
    if (is_half_space(b)) return half_spaces::cast(a, motion, b);
    if (is_any_curved(a, b)) return cast_of_curved(a, motion, b);
    ShapeImpact<2> impact;
    if (b.kind == ShapeKind::kBox && (a.kind == ShapeKind::kBox || a.kind == ShapeKind::kPoint)) {
      // A ray against the box of all differences of their points.
      const Corners q(b),
          p = a.kind == ShapeKind::kBox ? Corners(a) : Corners({a.record[0], a.record[1]}, {a.record[0], a.record[1]});
      const Corners differences({q.lower[0] - p.upper[0], q.lower[1] - p.upper[1]},
                                {q.upper[0] - p.lower[0], q.upper[1] - p.lower[1]});
      Vec<2> outward{};
      impact.time = ray_meets_box(differences, {0, 0}, motion, &outward);
      impact.normal = opposite<2>(outward);
      return impact;
    }
    const RoundedShape first(a), second(b);
    impact.time = first_touch(first.view(), motion, second.view(), &impact.normal);
    return impact;
  }
};

}  // namespace broadphase::narrow_2d

namespace broadphase {

using Queries = ShapeQueries<2, narrow_2d::Simple>;

// Discs first: what else there is to ask takes as long as their answer.
bool overlaps(const ShapeView<2>& a, const ShapeView<2>& b) {
  using namespace narrow_2d;
  return is_disc(a) && is_disc(b) ? discs_overlap(Disc(a), Disc(b)) : Queries::overlap(a, b);
}
double signed_distance(const ShapeView<2>& a, const ShapeView<2>& b, Vec<2>* normal) {
  using namespace narrow_2d;
  if (is_disc(a) && is_disc(b)) return disc_distance(Disc(a), Disc(b), normal);
  return Queries::signed_distance(a, b, normal);
}
Contact<2> contact(const ShapeView<2>& a, const ShapeView<2>& b) { return Queries::contact(a, b); }
double ray_hit(const ShapeView<2>& shape, const Vec<2>& origin, const Vec<2>& direction, Vec<2>* normal) {
  if (shape.kind == ShapeKind::kBall) return narrow_2d::ray_meets_disc(shape.record.data(), origin, direction, normal);
  return Queries::ray_hit(shape, origin, direction, normal);
}
double impact_time(const ShapeView<2>& a, const Vec<2>& motion, const ShapeView<2>& b, Vec<2>* normal) {
  using namespace narrow_2d;
  if (a.kind != ShapeKind::kBall || b.kind != ShapeKind::kBall) return Queries::impact_time(a, motion, b, normal);
  return Queries::impact_time(a, b, normal, discs_overlap(Disc(a), Disc(b)), [&] {
    const double scale = unit_of(motion);
    if (scale == 0) return Simple::cast(a, motion, b);
    ShapeImpact<2> impact;
    impact.time = scale * first_touch(Disc(a), {motion[0] * scale, motion[1] * scale}, Disc(b), &impact.normal);
    return impact;
  });
}

}  // namespace broadphase
