// Which simple features meet: points, lines and areas in the plane, each of one part or many, closed sets.
//
// A feature is a stretch of coordinates, divided into parts: single points, lines, or rings, of which a hole follows
// the shell that it is in. Two features meet if any of their segments do, or if one has a part inside the other. Rings
// need not be simple: what is inside is what a ray crosses an odd number of rings to leave.
//
// Answers are those of GEOS 3.14 (prepared `intersects`), whose orientation is computed with about 106 bits, or there
// is none: `kDoubt` says that rounding in GEOS, or how it reads an invalid polygon of several rings, could decide. In
// doubt are features with coordinates that are not finite or above 2^500, with parts that are one point repeated, and
// almost collinear points whose differences are no doubles. Of distances, those that differ from the one in question by
// what rounding may do.
//
// `distance` gives the double that GEOS computes: by its formulas, with their operations in their order. In doubt are
// features of which it may skip the nearest segments, as their boxes are farther away than others by rounding.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/morton.hpp"
#include "base/parallel.hpp"
#include "base/read_ahead.hpp"
#include "boxes/flat_box.hpp"
#include "narrow/area_cells.hpp"
#include "narrow/exact_sign.hpp"
#include "narrow/sliced_points.hpp"

namespace broadphase {

enum class FeatureKind : std::uint8_t { kPoints, kLines, kAreas, kUnknown };
// The last only where it is told from the others.
enum class Meeting : std::uint8_t { kNo, kYes, kDoubt, kTouch };
// Of a point, in an area.
enum class Place : std::uint8_t { kOutside, kInside, kBoundary, kDoubt };
// Of lines and valid areas, which are closed: neither has a point of the other; one lies within the interior of the
// other; two areas have interiors in common, and each has some of its own; a line is in the interior of an area and
// outside; the boundary of the first, an area, has a point of the other's, and nothing crosses it.
enum class Relation : std::uint8_t { kApart, kFirstInside, kSecondInside, kOverlap, kPass, kMeet, kDoubt };

// Feature f has the parts first_part[f] to first_part[f + 1], part p the coordinates first[p] to first[p + 1]; of
// points, one part has all. Preconditions: features that are not unknown have a part, none of their parts is empty, and
// those of areas are closed.
struct FeatureTable {
  const double* coordinates;  // x and y in turn
  const std::int64_t* first;
  const std::int64_t* first_part;
  const std::uint8_t* kinds;  // as FeatureKind
  const std::uint8_t* holes;  // of each part, whether it is one
  std::size_t count;
};

namespace detail {

constexpr int kUnsure = 2;

// As `orient2d`, where GEOS finds the same: kUnsure elsewhere.
inline int side_of(const double* a, const double* b, const double* c) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - a[0], vy = c[1] - a[1];
  const double left = ux * vy, right = uy * vx, determinant = left - right;
  // The last terms: what the error of 106 bits can reach if differences are taken from b or c.
  const double bound =
      kError2d * (std::abs(left) + std::abs(right) + kUnderflow) + 0x1p-85 * (std::abs(vx * vy) + std::abs(ux * uy));
  if (determinant > bound) return 1;
  if (-determinant > bound) return -1;
  if ((ux == 0 || vy == 0) && (uy == 0 || vx == 0)) return 0;
  const double wx = c[0] - b[0], wy = c[1] - b[1];
  if (wx == 0 && wy == 0) return 0;
  for (const double value : {ux, uy, vx, vy, wx, wy})
    if (value != 0 && std::abs(value) < 0x1p-400) return kUnsure;
  const bool exact = difference(b[0], a[0]).exact && difference(b[1], a[1]).exact && difference(c[0], b[0]).exact &&
                     difference(c[1], b[1]).exact;
  return exact ? exact_orient2d(a, b, c) : kUnsure;
}

inline FlatBox box_of(const double* a, const double* b) {
  return {std::min(a[0], b[0]), std::min(a[1], b[1]), std::max(a[0], b[0]), std::max(a[1], b[1])};
}

// Preconditions: their boxes overlap. `touching`: what it is if an end of one is on the line of the other.
inline Meeting segments_meet(const double* a, const double* b, const double* c, const double* d,
                             Meeting touching = Meeting::kYes) {
  const int c_side = side_of(a, b, c), d_side = side_of(a, b, d);
  if (c_side == d_side && (c_side == 1 || c_side == -1)) return Meeting::kNo;
  const int a_side = side_of(c, d, a), b_side = side_of(c, d, b);
  if (a_side == b_side && (a_side == 1 || a_side == -1)) return Meeting::kNo;
  const bool unsure = c_side == kUnsure || d_side == kUnsure || a_side == kUnsure || b_side == kUnsure;
  if (unsure) return Meeting::kDoubt;
  const bool on_line = c_side == 0 || d_side == 0 || a_side == 0 || b_side == 0;
  return on_line ? touching : Meeting::kYes;
}

// The square of the distance between a point and a segment.
inline double squared_distance(const double* point, const double* a, const double* b) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = point[0] - a[0], vy = point[1] - a[1];
  const double along = ux * vx + uy * vy, length = ux * ux + uy * uy;
  if (along <= 0) return vx * vx + vy * vy;
  if (along >= length) {
    const double wx = point[0] - b[0], wy = point[1] - b[1];
    return wx * wx + wy * wy;
  }
  const double across = ux * vy - uy * vx;
  return across * across / length;
}

// Whether that is at most `square`, but for rounding; without a division.
inline bool is_near(const double* point, const double* a, const double* b, double square) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = point[0] - a[0], vy = point[1] - a[1];
  const double along = ux * vx + uy * vy, length = ux * ux + uy * uy;
  if (along <= 0) return vx * vx + vy * vy <= square;
  if (along >= length) {
    const double wx = point[0] - b[0], wy = point[1] - b[1];
    return wx * wx + wy * wy <= square;
  }
  const double across = ux * vy - uy * vx;
  return across * across <= square * length;
}

// ---- The distances of GEOS, operation by operation ----

// CoordinateXY::distance
inline double point_distance(const double* p, const double* q) {
  const double dx = p[0] - q[0], dy = p[1] - q[1];
  return std::sqrt(dx * dx + dy * dy);
}

// Distance::pointToSegment
inline double distance_to_segment(const double* p, const double* a, const double* b) {
  if (a[0] == b[0] && a[1] == b[1]) return point_distance(p, a);
  const double ux = b[0] - a[0], uy = b[1] - a[1], length = ux * ux + uy * uy;
  const double along = ((p[0] - a[0]) * ux + (p[1] - a[1]) * uy) / length;
  if (along <= 0.0) return point_distance(p, a);
  if (along >= 1.0) return point_distance(p, b);
  const double across = ((a[1] - p[1]) * ux - (a[0] - p[0]) * uy) / length;
  return std::abs(across) * std::sqrt(length);
}

// Distance::segmentToSegment
inline double distance_of_segments(const double* a, const double* b, const double* c, const double* d) {
  if (a[0] == b[0] && a[1] == b[1]) return distance_to_segment(a, c, d);
  if (c[0] == d[0] && c[1] == d[1]) return distance_to_segment(d, a, b);
  if (box_of(a, b).overlaps(box_of(c, d))) {
    const double ux = b[0] - a[0], uy = b[1] - a[1], vx = d[0] - c[0], vy = d[1] - c[1];
    const double across = ux * vy - uy * vx;
    if (across != 0) {
      const double wx = a[0] - c[0], wy = a[1] - c[1], r = (wy * vx - wx * vy) / across,
                   s = (wy * ux - wx * uy) / across;
      if (!(r < 0 || r > 1 || s < 0 || s > 1)) return 0;
    }
  }
  return std::min(
      distance_to_segment(a, c, d),
      std::min(distance_to_segment(b, c, d), std::min(distance_to_segment(c, a, b), distance_to_segment(d, a, b))));
}

}  // namespace detail

class FeatureMeetings {
 public:
  FeatureMeetings(const FeatureTable& table, Interrupt& interrupt) : table_(table), interrupt_(interrupt) {
    table_.count = 0;
    extend(table);
  }

  // Takes a table that has grown; what it had may have moved in memory.
  void extend(const FeatureTable& table) {
    const std::size_t known = std::exchange(table_, table).count;
    if (table.count > features_.size()) features_.grow(std::max(table.count, features_.size() * 3 / 2));
    for (std::size_t f = known; f < table.count; ++f) {
      look_at(f);
      take_a_step();
    }
  }

  FeatureKind kind(std::size_t f) const { return features_[f].kind; }
  const FlatBox& box(std::size_t f) const { return features_[f].box; }

  // As `meet`, of many pairs; surer where cells tell.
  void meet(const std::int64_t* one, const std::int64_t* other, std::size_t count, std::uint8_t* meetings) {
    for_pairs_by_area(one, other, count, true, [&](std::size_t k, std::size_t a, std::size_t b, const Sight& line) {
      meetings[k] = static_cast<std::uint8_t>(line.some_inside   ? Meeting::kYes
                                              : line.all_outside ? Meeting::kNo
                                                                 : meet(a, b));
    });
  }

  // As `relate`, of many pairs; surer where cells tell.
  void relate(const std::int64_t* one, const std::int64_t* other, std::size_t count, std::uint8_t* relations) {
    for_pairs_by_area(one, other, count, false, [&](std::size_t k, std::size_t a, std::size_t b, const Sight& line) {
      const bool is_first = features_[a].kind == FeatureKind::kLines;
      relations[k] = static_cast<std::uint8_t>(line.some_inside && line.some_outside ? Relation::kPass
                                               : line.all_outside                    ? Relation::kApart
                                               : !line.all_inside                    ? relate(a, b)
                                               : is_first                            ? Relation::kFirstInside
                                                                                     : Relation::kSecondInside);
    });
  }

  // As `are_within`, of many pairs.
  void within(const std::int64_t* one, const std::int64_t* other, const double* reach, std::size_t count,
              std::uint8_t* meetings) {
    std::vector<std::size_t> pairs(count);
    std::iota(pairs.begin(), pairs.end(), std::size_t{0});
    for_pairs(one, other, pairs.data(), count, [&](std::size_t k, std::size_t a, std::size_t b) {
      meetings[k] = static_cast<std::uint8_t>(are_within(a, b, reach[k]));
    });
  }

  // Where a point is in a feature: in doubt if that is no area.
  Place place(std::size_t area, const double* point) {
    take_a_step();
    Feature& feature = features_[area];
    if (feature.kind != FeatureKind::kAreas) return Place::kDoubt;
    if (!(std::abs(point[0]) < kMost && std::abs(point[1]) < kMost)) return Place::kDoubt;
    plant(feature);
    return place(feature, point);
  }

  // The same for many points.
  void places(std::size_t area, std::span<const RowPoint> points, std::uint8_t* places) {
    Feature& feature = features_[area];
    const bool has_cells = points.size() >= kWorthCells && cover(feature, points.size());
    // Few points are in cells with an edge: those are found sooner than a tree is made.
    if (points.size() >= kManyPoints) plant(feature);
    for (std::size_t k = 0; k < points.size(); ++k) {
      const double* point = points[k].place;
      const bool has_cell = has_cells && feature.box.has(point);
      const AreaCells::Known known = has_cell ? cells_.look(point) : AreaCells::Known::kNothing;
      Place found = known == AreaCells::Known::kInside ? Place::kInside : Place::kOutside;
      if (known == AreaCells::Known::kNothing) {
        found = has_cells ? place(feature, point) : place(area, point);
        if (has_cell && (found == Place::kInside || found == Place::kOutside))
          cells_.learn(point, found == Place::kInside);
      }
      places[k] = static_cast<std::uint8_t>(found);
    }
  }

  Meeting meet(std::size_t one, std::size_t other) {
    take_a_step();
    Feature *a = &features_[one], *b = &features_[other];
    if (a->kind == FeatureKind::kUnknown || b->kind == FeatureKind::kUnknown) return Meeting::kDoubt;
    const FlatBox window = a->box.common(b->box);
    if (window.x > window.x_end || window.y > window.y_end) return Meeting::kNo;
    if (at(a->begin)[0] == at(b->begin)[0] && at(a->begin)[1] == at(b->begin)[1] && a->kind != FeatureKind::kPoints &&
        b->kind != FeatureKind::kPoints)
      return Meeting::kYes;
    if (a->end - a->begin > b->end - b->begin) std::swap(a, b);
    plant(*a);
    plant(*b);
    Meeting found = Meeting::kNo;
    // Keeps the surest answer, and returns whether it is final.
    const auto take = [&found](Meeting answer) {
      if (answer != Meeting::kNo) found = answer;
      return answer == Meeting::kYes;
    };
    for (const auto& [points, area] : {std::pair(a, b), std::pair(b, a)})
      if (points->kind == FeatureKind::kPoints && area->kind == FeatureKind::kAreas) {
        for_segments(*points, window, [&, area = area](std::size_t k) {
          take_a_step();
          return take(locate(*area, at(k)));
        });
        return found;
      }
    for_segment_pairs(*a, *b, window, [&](const double* p, const double* p_end, const double* q, const double* q_end) {
      return take(detail::segments_meet(p, p_end, q, q_end));
    });
    for (const auto& [parts, area] : {std::pair(a, b), std::pair(b, a)})
      if (area->kind == FeatureKind::kAreas && found != Meeting::kYes)
        for_parts(*parts, window, [&, area = area](std::size_t k) {
          take_a_step();
          return take(locate(*area, at(k)));
        });
    return found;
  }

  // Whether two features are not farther apart than `reach`, which is not negative.
  Meeting are_within(std::size_t one, std::size_t other, double reach) {
    take_a_step();
    Feature *a = &features_[one], *b = &features_[other];
    if (a->kind == FeatureKind::kUnknown || b->kind == FeatureKind::kUnknown) return Meeting::kDoubt;
    const Reach within = reach_between(a->box, b->box, reach);
    if (within.is_unsure) return Meeting::kDoubt;
    const FlatBox window = a->box.grown(within.far).common(b->box.grown(within.far));
    if (window.x > window.x_end || window.y > window.y_end) return Meeting::kNo;
    if (a->end - a->begin > b->end - b->begin) std::swap(a, b);
    plant(*a);
    plant(*b);
    double nearest = std::numeric_limits<double>::infinity();
    // One pair of segments that is near enough is found soon, if there is one.
    for_segments(*a, window, [&](std::size_t k) {
      take_a_step();
      const double *p = at(k), *p_end = end_of(*a, k);
      return for_segments(*b, window.common(detail::box_of(p, p_end).grown(within.far)), [&](std::size_t j) {
        const double *q = at(j), *q_end = end_of(*b, j);
        nearest = std::min(nearest, detail::squared_distance(p, q, q_end));
        if (p != p_end)
          nearest = std::min({nearest, detail::squared_distance(p_end, q, q_end), detail::squared_distance(q, p, p_end),
                              detail::squared_distance(q_end, p, p_end)});
        return nearest < within.near * within.near;
      });
    });
    if (nearest < within.near * within.near) return Meeting::kYes;
    const Meeting found = meet(one, other);
    return found == Meeting::kNo && nearest <= within.far * within.far ? Meeting::kDoubt : found;
  }

  // A distance, and whether it surely is that of GEOS.
  struct Distance {
    double value;
    bool is_sure;
  };

  // How far one feature is from another, in GEOS `one.distance(other)`: where that is more than `limit`, anything more.
  Distance distance(std::size_t one, std::size_t other, double limit) {
    take_a_step();
    Feature &a = features_[one], &b = features_[other];
    if (a.kind == FeatureKind::kUnknown || b.kind == FeatureKind::kUnknown) return {0, false};
    if (is_point(a) && is_point(b)) return {detail::point_distance(at(a.begin), at(b.begin)), true};
    FlatBox both = a.box;
    both.include(b.box);
    const double size = both.size();
    if (size != 0 && !(size > kLeastSize && size < kMostSize)) return {0, false};
    plant(a);
    plant(b);
    const Meeting inside = has_first_inside(a, b);
    if (inside != Meeting::kNo) return {0, inside == Meeting::kYes};
    const bool are_points = a.kind == FeatureKind::kPoints, are_others_points = b.kind == FeatureKind::kPoints;
    // Differences of two boxes, and distances, are rounded by less than a sixteenth of that.
    Nearest nearest(limit, 0x1p-44 * size);
    for_nearest(a, b.box, nearest.square, [&](std::size_t k) {
      take_a_step();
      const double *p = at(k), *p_end = end_of(a, k);
      const FlatBox box = detail::box_of(p, p_end);
      return for_nearest(b, box, nearest.square, [&](std::size_t j) {
        const double *q = at(j), *q_end = end_of(b, j);
        double value;
        if (are_points && are_others_points) {
          value = detail::point_distance(p, q);
        } else if (are_points) {
          if (!detail::is_near(p, q, q_end, nearest.square)) return false;
          value = detail::distance_to_segment(p, q, q_end);
        } else if (are_others_points) {
          if (!detail::is_near(q, p, p_end, nearest.square)) return false;
          value = detail::distance_to_segment(q, p, p_end);
        } else {
          const FlatBox other_box = detail::box_of(q, q_end);
          if (!box.overlaps(other_box) && !detail::is_near(p, q, q_end, nearest.square) &&
              !detail::is_near(p_end, q, q_end, nearest.square) && !detail::is_near(q, p, p_end, nearest.square) &&
              !detail::is_near(q_end, p, p_end, nearest.square))
            return false;
          value = detail::distance_of_segments(p, p_end, q, q_end);
        }
        return nearest.take(value, k, j) && is_visited(a, k, b, j, 0);
      });
    });
    return {nearest.value,
            nearest.is_sure() || is_visited(a, nearest.segment, b, nearest.other_segment, nearest.value)};
  }

  // Whether a feature is points at one place.
  bool is_at_one_place(std::size_t one) const {
    const Feature& feature = features_[one];
    return feature.kind == FeatureKind::kPoints && feature.box.x == feature.box.x_end &&
           feature.box.y == feature.box.y_end;
  }

  // As `place`: inside if the point is not farther from the area than `reach`, which is not negative, else outside.
  Place place_within(std::size_t area, const double* point, double reach) {
    const Place found = place(area, point);
    if (found != Place::kOutside) return found;
    const Feature& feature = features_[area];
    const Reach within = reach_between(feature.box, {point[0], point[1], point[0], point[1]}, reach);
    if (within.is_unsure) return Place::kDoubt;
    double nearest = std::numeric_limits<double>::infinity();
    for_segments(feature, detail::box_of(point, point).grown(within.far), [&](std::size_t k) {
      nearest = std::min(nearest, detail::squared_distance(point, at(k), at(k + 1)));
      return nearest < within.near * within.near;
    });
    if (nearest < within.near * within.near) return Place::kInside;
    return nearest <= within.far * within.far ? Place::kDoubt : Place::kOutside;
  }

  // Whether an area of one shell is surely valid: no two of its segments meet but where one follows the other, at an
  // angle, and each hole is in the shell and in no other hole.
  bool is_simple(std::size_t area) {
    Feature& feature = features_[area];
    if (feature.kind != FeatureKind::kAreas) return false;
    for (std::size_t part = feature.part; part < feature.parts_end; ++part)
      if ((table_.holes[part] != 0) != (part > feature.part)) return false;
    if (is_convex(feature)) return true;
    plant(feature);
    for (std::size_t part = feature.part; part < feature.parts_end; ++part) {
      const std::size_t begin = first(part), last = first(part + 1) - 2;  // segments
      if (last < begin + 2) return false;
      for (std::size_t k = begin; k <= last; ++k) {
        take_a_step();
        const double *p = at(k), *p_end = at(k + 1), *after = k == last ? at(begin + 1) : at(k + 2);
        if (detail::side_of(p, p_end, after) % 2 == 0) return false;  // none, or unsure
        const bool meets = for_segments(feature, detail::box_of(p, p_end), [&](std::size_t j) {
          if (j <= k || j == k + 1 || (k == begin && j == last)) return false;
          return detail::segments_meet(p, p_end, at(j), at(j + 1)) != Meeting::kNo;
        });
        if (meets) return false;
      }
    }
    for (std::size_t part = feature.part + 1; part < feature.parts_end; ++part)
      if (!is_in_shell_alone(feature, part)) return false;
    return true;
  }

  Relation relate(std::size_t one, std::size_t other) {
    take_a_step();
    Feature *a = &features_[one], *b = &features_[other];
    for (const Feature* feature : {a, b})
      if (feature->kind == FeatureKind::kUnknown || feature->kind == FeatureKind::kPoints) return Relation::kDoubt;
    const FlatBox window = a->box.common(b->box);
    if (window.x > window.x_end || window.y > window.y_end) return Relation::kApart;
    const bool is_swapped = a->end - a->begin > b->end - b->begin;
    if (is_swapped) std::swap(a, b);
    plant(*a);
    plant(*b);
    bool cross = false, touch = false, is_unsure = false;
    for_segment_pairs(*a, *b, window, [&](const double* p, const double* p_end, const double* q, const double* q_end) {
      const Meeting found = detail::segments_meet(p, p_end, q, q_end, Meeting::kTouch);
      is_unsure = is_unsure || found == Meeting::kDoubt;
      touch = touch || found == Meeting::kTouch;
      cross = found == Meeting::kYes;
      return cross;
    });
    const bool is_area = a->kind == FeatureKind::kAreas, is_other_area = b->kind == FeatureKind::kAreas;
    const Relation mixed = is_area && is_other_area   ? Relation::kOverlap
                           : is_area || is_other_area ? Relation::kPass
                                                      : Relation::kDoubt;
    // Both sides of the one outline are on both sides of the other.
    if (cross) return mixed;
    if (touch) return features_[one].kind == FeatureKind::kAreas ? Relation::kMeet : Relation::kDoubt;
    if (is_unsure) return Relation::kDoubt;
    // No outline meets the other feature's: each ring and each line is inside of the other or outside, as a whole.
    const Inside first = inside(*a, *b), second = inside(*b, *a);
    if (first.is_unsure || second.is_unsure) return Relation::kDoubt;
    if (!first.some && !second.some) return Relation::kApart;
    if (first.all && !second.some) return is_swapped ? Relation::kSecondInside : Relation::kFirstInside;
    if (second.all && !first.some) return is_swapped ? Relation::kFirstInside : Relation::kSecondInside;
    return mixed;
  }

 private:
  static constexpr std::size_t kFan = 8;                               // segments of a leaf, children of a node
  static constexpr std::size_t kScanned = 32;                          // without a tree up to here
  static constexpr std::size_t kWorthCells = 8, kManyPoints = 256;     // points of an area
  static constexpr double kMost = 0x1p500;                             // coordinates are below
  static constexpr double kLeastSize = 0x1p-100, kMostSize = 0x1p200;  // of which distances are found

  // Boxes around the segments of a feature of many.
  struct Tree {
    std::size_t boxes, order, segments;  // where they begin, where its segments begin, and how many these are
    std::size_t located = 0;             // points
    std::size_t slabs = 0;               // where they begin; the last one ends where one more would begin
    std::size_t slab_count = 0;
    double slabs_per_unit = 0;
  };

  struct Feature {
    FlatBox box;
    std::size_t begin, end;  // coordinates
    std::size_t part, parts_end;
    std::uint32_t tree;  // 0 without one, 1 for the first
    FeatureKind kind;
  };

  // Distances that are surely less or more than one between two boxes, whatever rounding does.
  struct Reach {
    double near, far;
    bool is_unsure;
  };
  static Reach reach_between(const FlatBox& one, const FlatBox& other, double reach) {
    FlatBox both = one;
    both.include(other);
    const double size = both.x_end - both.x + (both.y_end - both.y) + reach, error = 0x1p-40 * size;
    return {std::max(reach - error, 0.0), reach + error, !(size > kLeastSize && size < kMostSize)};
  }

  // The least distance of two segments so far, and the next one.
  struct Nearest {
    Nearest(double limit, double error) : error_(error), limit_(limit) { look_within(limit); }

    // Takes the distance of two segments; returns whether none can be less.
    bool take(double distance, std::size_t k, std::size_t j) {
      if (distance < value) {
        next_ = value;
        value = distance;
        segment = k;
        other_segment = j;
        look_within(std::min(value, limit_));
      } else if (distance > value) {
        next_ = std::min(next_, distance);
      }
      return distance == 0;
    }
    // GEOS skips segments for the sake of others that are less than the error farther away.
    bool is_sure() const { return value > limit_ || next_ > value + error_ / 2; }

    double value = std::numeric_limits<double>::infinity();
    std::size_t segment = 0, other_segment = 0;
    double square;  // of the distance up to which segments are looked for

   private:
    void look_within(double distance) { square = (distance + error_) * (distance + error_); }

    double next_ = value, error_, limit_;
  };

  // Whether GEOS surely comes to two segments at a distance from one another, which is the least.
  bool is_visited(const Feature& a, std::size_t k, const Feature& b, std::size_t j, double distance) const {
    const bool are_points = a.kind == FeatureKind::kPoints, are_others_points = b.kind == FeatureKind::kPoints;
    if (are_points && are_others_points) return true;
    const FlatBox box = segment_box(a, k), other_box = segment_box(b, j);
    if (are_points || are_others_points) {
      const FlatBox &line = are_points ? part_boxes_[part_of(b, j)] : part_boxes_[part_of(a, k)],
                    &point = are_points ? box : other_box;
      return std::sqrt(line.squared_gap_in_geos(point)) <= distance;
    }
    const FlatBox &line = part_boxes_[part_of(a, k)], &other_line = part_boxes_[part_of(b, j)];
    return std::sqrt(line.squared_gap_in_geos(other_line)) <= distance &&
           box.squared_gap_in_geos(other_line) <= distance * distance &&
           box.squared_gap_in_geos(other_box) <= distance * distance;
  }

  // Whether one of two features is an area that has the first point of a part of the other, of polygons of the shell.
  Meeting has_first_inside(const Feature& a, const Feature& b) {
    for (const auto& [area, feature] : {std::pair(&b, &a), std::pair(&a, &b)}) {
      if (area->kind != FeatureKind::kAreas) continue;
      Meeting found = Meeting::kNo;
      const auto locate_first = [&, area = area](std::size_t k) {
        take_a_step();
        found = locate(*area, at(k));
        return found != Meeting::kNo;
      };
      if (feature->kind == FeatureKind::kPoints)
        for_segments(*feature, area->box, locate_first);
      else
        for_parts(*feature, area->box, [&, feature = feature](std::size_t k) {
          return table_.holes[part_of(*feature, k)] == 0 && locate_first(k);
        });
      if (found != Meeting::kNo) return found;
    }
    return Meeting::kNo;
  }

  // Puts cells over an area, for so many points or lines; false if it cannot be divided.
  bool cover(const Feature& area, std::size_t count) {
    const std::size_t rows = count < kManyPoints ? AreaCells::kMostRows / 2 : AreaCells::kMostRows;
    const auto& [x, y, x_end, y_end] = area.box;
    if (area.kind != FeatureKind::kAreas || !cells_.cover(x, y, x_end, y_end, rows)) return false;
    for_all(area, [&](std::size_t k) {
      cells_.add_edge(at(k), at(k + 1));
      return false;
    });
    cells_.begin();
    return true;
  }

  // What the cells over an area say about a line: about its vertices, and about all its segments. No more than that
  // some is inside if that is enough.
  struct Sight {
    bool some_inside = false, some_outside = false, all_inside = false, all_outside = false;
  };
  Sight see(const Feature& area, const Feature& line, bool some_is_enough) {
    Sight sight;
    for (std::size_t k = line.begin; k < line.end; ++k) {
      const double* point = at(k);
      const bool has_cell = area.box.has(point);
      AreaCells::Known known = has_cell ? cells_.look(point) : AreaCells::Known::kOutside;
      if (known == AreaCells::Known::kNothing && !cells_.is_used(point)) {
        const Place found = place(area, point);
        if (found == Place::kInside || found == Place::kOutside) {
          cells_.learn(point, found == Place::kInside);
          known = found == Place::kInside ? AreaCells::Known::kInside : AreaCells::Known::kOutside;
        }
      }
      sight.some_inside = sight.some_inside || known == AreaCells::Known::kInside;
      if (some_is_enough && sight.some_inside) return sight;
      sight.some_outside = sight.some_outside || known == AreaCells::Known::kOutside;
    }
    if (sight.some_inside == sight.some_outside) return sight;
    const auto known = sight.some_inside ? AreaCells::Known::kInside : AreaCells::Known::kOutside;
    const bool are_all = !for_all(line, [&](std::size_t k) {
      const FlatBox box = segment_box(line, k), common = box.common(area.box);
      if (common.x > common.x_end || common.y > common.y_end) return false;  // outside, as its ends are
      return !cells_.are(known, &common.x, &common.x_end);
    });
    (sight.some_inside ? sight.all_inside : sight.all_outside) = are_all;
    return sight;
  }

  // Calls use(k, one[k], other[k], sight) for pairs. Those of an area and short lines come area by area: cells over one
  // with many of them decide most.
  template <class Use>
  void for_pairs_by_area(const std::int64_t* one, const std::int64_t* other, std::size_t count, bool some_is_enough,
                         const Use& use) {
    enum Role : std::uint8_t { kOther, kShortLine, kArea };
    std::vector<Role> roles(table_.count);  // side by side in memory
    for (std::size_t f = 0; f < table_.count; ++f) {
      const Feature& feature = features_[f];
      if (feature.kind == FeatureKind::kAreas) roles[f] = kArea;
      if (feature.kind == FeatureKind::kLines && feature.end - feature.begin <= kScanned) roles[f] = kShortLine;
    }
    const auto area_of = [&](std::size_t k) {
      const auto a = static_cast<std::size_t>(one[k]), b = static_cast<std::size_t>(other[k]);
      if (roles[a] == kShortLine && roles[b] == kArea) return b;
      return roles[b] == kShortLine && roles[a] == kArea ? a : table_.count;
    };
    std::vector<std::size_t> sizes(table_.count + 1), next(table_.count + 1), order(count);
    for (std::size_t k = 0; k < count; ++k) ++sizes[area_of(k)];
    const auto group_of = [&](std::size_t k) {  // the last one has all other pairs
      const std::size_t area = area_of(k);
      return sizes[area] >= kWorthCells ? area : table_.count;
    };
    std::size_t begin = 0;
    for (std::size_t area = 0; area < table_.count; ++area)
      if (sizes[area] >= kWorthCells) next[area] = std::exchange(begin, begin + sizes[area]);
    next[table_.count] = begin;
    for (std::size_t k = 0; k < count; ++k) order[next[group_of(k)]++] = k;
    std::size_t covered = table_.count;
    bool has_cells = false;
    for_pairs(one, other, order.data(), count, [&](std::size_t k, std::size_t a, std::size_t b) {
      const std::size_t area = group_of(k);
      if (area == table_.count) return use(k, a, b, Sight());
      if (area != covered) has_cells = cover(features_[area], sizes[area]);
      covered = area;
      take_a_step();
      use(k, a, b, has_cells ? see(features_[area], features_[a == area ? b : a], some_is_enough) : Sight());
    });
  }

  // Whether a ring surely turns one way at each corner, and once around: so its direction along x changes twice.
  bool is_convex(const Feature& area) const {
    const std::size_t begin = area.begin, last = area.end - 2;  // segments
    if (area.parts_end - area.part != 1 || last < begin + 2) return false;
    const auto runs_right = [&](std::size_t k) {  // upright ones as what comes before in every turn
      const double *a = at(k), *b = at(k + 1);
      return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
    };
    const int turn = detail::side_of(at(last), at(begin), at(begin + 1));
    if (turn != 1 && turn != -1) return false;
    int changes = runs_right(last) != runs_right(begin) ? 1 : 0;
    for (std::size_t k = begin; k < last; ++k) {
      if (detail::side_of(at(k), at(k + 1), at(k + 2)) != turn) return false;
      if (runs_right(k) != runs_right(k + 1)) ++changes;
    }
    return changes == 2;
  }

  // Whether the first point of a hole, which is on no other ring, is surely in the shell and in no other hole.
  bool is_in_shell_alone(const Feature& area, std::size_t hole) {
    const double* point = at(first(hole));
    bool is_unsure = false;
    crossed_.clear();
    for_ray(area, point, [&](std::size_t k) {
      const double *a = at(k), *b = at(k + 1);
      const std::size_t part = part_of(area, k);
      if (part == hole || (a[1] > point[1]) == (b[1] > point[1])) return false;
      const int side = detail::side_of(a, b, point);
      is_unsure = is_unsure || side % 2 == 0;
      if ((side > 0) == (b[1] > a[1])) crossed_.push_back(part);
      return is_unsure;
    });
    std::sort(crossed_.begin(), crossed_.end());
    bool is_alone = !is_unsure && !crossed_.empty() && crossed_.front() == area.part;
    for (std::size_t k = 0, next = 0; is_alone && k < crossed_.size(); k = next) {
      while (next < crossed_.size() && crossed_[next] == crossed_[k]) ++next;
      is_alone = ((next - k) % 2 == 1) == (crossed_[k] == area.part);
    }
    return is_alone;
  }

  // Of the lines or rings of a feature: whether some, and all shells and lines, are inside an area.
  struct Inside {
    bool some = false, all = false, is_unsure = false;
  };
  Inside inside(const Feature& feature, const Feature& area) {
    if (area.kind != FeatureKind::kAreas) return {};
    Inside found{false, true, false};
    for (std::size_t part = feature.part; part < feature.parts_end; ++part) {
      take_a_step();
      const Place where = place(area, at(first(part)));
      found.some = found.some || where == Place::kInside;
      found.all = found.all && (where == Place::kInside || table_.holes[part] != 0);
      found.is_unsure = found.is_unsure || where == Place::kBoundary || where == Place::kDoubt;
    }
    return found;
  }

  // Calls use(k, one[k], other[k]) for some pairs. What they need of features lies anywhere in memory, and is asked for
  // some pairs ahead.
  template <class Use>
  void for_pairs(const std::int64_t* one, const std::int64_t* other, const std::size_t* pairs, std::size_t count,
                 const Use& use) const {
    constexpr std::size_t kAhead = 8;
    for (std::size_t p = 0; p < std::min(count, 2 * kAhead); ++p)
      for (const std::int64_t* row : {one, other})
        prefetch(&features_[static_cast<std::size_t>(row[pairs[p]])], sizeof(Feature));
    for (std::size_t p = 0; p < count; ++p) {
      for (const std::int64_t* row : {one, other}) {
        if (p + 2 * kAhead < count)
          prefetch(&features_[static_cast<std::size_t>(row[pairs[p + 2 * kAhead]])], sizeof(Feature));
        if (p + kAhead >= count) continue;
        const Feature& soon = features_[static_cast<std::size_t>(row[pairs[p + kAhead]])];
        prefetch(at(soon.begin), std::min<std::size_t>(soon.end - soon.begin, kScanned) * 2 * sizeof(double));
      }
      const std::size_t k = pairs[p];
      use(k, static_cast<std::size_t>(one[k]), static_cast<std::size_t>(other[k]));
    }
  }

  static void prefetch(const void* memory, std::size_t bytes) {
    for (std::size_t k = 0; k < bytes; k += 64) read_ahead(static_cast<const char*>(memory) + k);
  }

  const double* at(std::size_t k) const { return table_.coordinates + 2 * k; }
  std::size_t first(std::size_t part) const { return static_cast<std::size_t>(table_.first[part]); }
  static bool is_point(const Feature& feature) {
    return feature.kind == FeatureKind::kPoints && feature.end - feature.begin == 1;
  }
  // A point is a segment to itself.
  const double* end_of(const Feature& feature, std::size_t k) const {
    return at(feature.kind == FeatureKind::kPoints ? k : k + 1);
  }
  FlatBox segment_box(const Feature& feature, std::size_t k) const { return detail::box_of(at(k), end_of(feature, k)); }

  void take_a_step() {
    if (++steps_ % 256 == 0) interrupt_.check();
  }

  void look_at(std::size_t f) {
    Feature& feature = features_[f];
    feature.kind = static_cast<FeatureKind>(table_.kinds[f]);
    feature.tree = 0;
    feature.part = static_cast<std::size_t>(table_.first_part[f]);
    feature.parts_end = static_cast<std::size_t>(table_.first_part[f + 1]);
    feature.begin = first(feature.part);
    feature.end = first(feature.parts_end);
    feature.box = {kMost, kMost, -kMost, -kMost};
    bool is_sound = feature.end - feature.begin <= std::numeric_limits<std::uint32_t>::max();
    FlatBox shell = feature.box;
    for (std::size_t part = feature.part; part < feature.parts_end; ++part) {
      FlatBox box{kMost, kMost, -kMost, -kMost};
      for (std::size_t k = first(part); k < first(part + 1); ++k) {
        const double* p = at(k);
        is_sound = is_sound && std::abs(p[0]) < kMost && std::abs(p[1]) < kMost;
        box.include({p[0], p[1], p[0], p[1]});
      }
      is_sound = is_sound && (feature.kind == FeatureKind::kPoints || box.x < box.x_end || box.y < box.y_end);
      // GEOS takes the box of a polygon from its shell.
      if (table_.holes[part] == 0) shell = box;
      is_sound =
          is_sound && shell.x <= box.x && shell.y <= box.y && box.x_end <= shell.x_end && box.y_end <= shell.y_end;
      feature.box.include(box);
      part_boxes_.push_back(box);
    }
    if (!is_sound || is_folded_rectangle(feature)) feature.kind = FeatureKind::kUnknown;
  }

  // GEOS takes five coordinates for the rectangle around them if each is a corner of it, beside the one before: also
  // where the outline goes there and back.
  bool is_folded_rectangle(const Feature& area) const {
    if (area.kind != FeatureKind::kAreas || area.parts_end - area.part != 1 || area.end - area.begin != 5) return false;
    const FlatBox& box = area.box;
    for (std::size_t k = area.begin; k < area.end; ++k) {
      const double *p = at(k), *before = at(k == area.begin ? area.end - 2 : k - 1);
      if ((p[0] != box.x && p[0] != box.x_end) || (p[1] != box.y && p[1] != box.y_end)) return false;
      if ((p[0] != before[0]) == (p[1] != before[1])) return false;
    }
    const double *p = at(area.begin), *opposite = at(area.begin + 2);
    return p[0] == opposite[0] || p[1] == opposite[1] || at(area.begin + 1)[0] == at(area.begin + 3)[0];
  }

  // Calls use(segments, count), of segments numbered in their feature, for all leaves whose box overlaps the window
  // until it returns true; returns whether it did.
  template <class Use>
  bool for_leaves(const Tree& tree, const FlatBox& window, const Use& use) const {
    // Nodes by level, the leaves first; at most kFan - 1 wait at each of 21 levels.
    std::array<std::array<std::size_t, 3>, kFan * 22> waiting;
    std::size_t depth = 0;
    std::size_t start = 0, count = nodes_above(tree.segments), level = 0;
    for (; count > 1; count = nodes_above(count), ++level) start += count;
    waiting[depth++] = {level, start, 0};
    while (depth > 0) {
      const auto [at_level, begins, number] = waiting[--depth];
      if (!boxes_[tree.boxes + begins + number].overlaps(window)) continue;
      std::size_t below = tree.segments;
      if (at_level == 0) {
        const std::size_t from = number * kFan;
        if (use(order_.data() + tree.order + from, std::min(below - from, kFan))) return true;
        continue;
      }
      for (std::size_t l = 0; l < at_level; ++l) below = nodes_above(below);
      for (std::size_t child = std::min(below, (number + 1) * kFan); child-- > number * kFan;)
        waiting[depth++] = {at_level - 1, begins - below, child};
    }
    return false;
  }

  // Calls use(k) for all segments until it returns true; returns whether it did.
  template <class Use>
  bool for_all(const Feature& feature, const Use& use) const {
    const std::size_t last = feature.kind == FeatureKind::kPoints ? 0 : 1;
    for (std::size_t part = feature.part; part < feature.parts_end; ++part)
      for (std::size_t k = first(part), end = first(part + 1) - last; k < end; ++k)
        if (use(k)) return true;
    return false;
  }

  // The same for segments whose box overlaps the window.
  template <class Use>
  bool for_segments(const Feature& feature, const FlatBox& window, const Use& use) const {
    const auto use_in_window = [&](std::size_t k) { return segment_box(feature, k).overlaps(window) && use(k); };
    if (feature.tree == 0) return for_all(feature, use_in_window);
    return for_leaves(trees_[feature.tree - 1], window, [&](const std::uint32_t* segments, std::size_t count) {
      return std::any_of(segments, segments + count,
                         [&](std::uint32_t segment) { return use_in_window(feature.begin + segment); });
    });
  }

  // The same for segments whose box is not farther from another than the root of `square`, which `use` may lower; of
  // those in a tree, the nearer ones of a node first.
  template <class Use>
  bool for_nearest(const Feature& feature, const FlatBox& box, const double& square, const Use& use) const {
    const auto use_near = [&](std::size_t k) { return segment_box(feature, k).squared_gap(box) <= square && use(k); };
    if (feature.tree == 0) return for_all(feature, use_near);
    const Tree& tree = trees_[feature.tree - 1];
    struct Waiting {
      double gap;
      std::size_t level, begins, number;  // as in for_leaves
    };
    std::array<Waiting, kFan * 22> waiting;
    std::size_t depth = 0, start = 0, count = nodes_above(tree.segments), level = 0;
    for (; count > 1; count = nodes_above(count), ++level) start += count;
    waiting[depth++] = {boxes_[tree.boxes + start].squared_gap(box), level, start, 0};
    while (depth > 0) {
      const Waiting node = waiting[--depth];
      if (!(node.gap <= square)) continue;
      std::size_t below = tree.segments;
      if (node.level == 0) {
        const std::size_t from = node.number * kFan;
        const std::uint32_t* segments = order_.data() + tree.order + from;
        if (std::any_of(segments, segments + std::min(below - from, kFan),
                        [&](std::uint32_t segment) { return use_near(feature.begin + segment); }))
          return true;
        continue;
      }
      for (std::size_t l = 0; l < node.level; ++l) below = nodes_above(below);
      const std::size_t begins = node.begins - below, first = depth;
      for (std::size_t child = node.number * kFan; child < std::min(below, (node.number + 1) * kFan); ++child) {
        const double gap = boxes_[tree.boxes + begins + child].squared_gap(box);
        std::size_t place = depth++;
        for (; place > first && waiting[place - 1].gap < gap; --place) waiting[place] = waiting[place - 1];
        waiting[place] = {gap, node.level - 1, begins, child};
      }
    }
    return false;
  }

  // Calls use(p, p_end, q, q_end) for segments of two features whose boxes overlap, in the window, until it returns
  // true.
  template <class Use>
  void for_segment_pairs(const Feature& a, const Feature& b, const FlatBox& window, const Use& use) {
    struct Near {
      FlatBox box;
      std::size_t segment;
    };
    // Few of the larger feature are in the window, as a rule: none if it has the smaller one inside.
    std::array<Near, kScanned> near;
    std::size_t near_count = 0;
    FlatBox around{};
    const bool has_many = for_segments(b, window, [&](std::size_t j) {
      if (near_count == near.size()) return true;
      const FlatBox box = segment_box(b, j);
      if (near_count == 0) around = box;
      around.include(box);
      near[near_count++] = {box, j};
      return false;
    });
    if (!has_many) {
      if (near_count == 0) return;
      for_segments(a, window.common(around), [&](std::size_t k) {
        take_a_step();
        const double *p = at(k), *p_end = end_of(a, k);
        const FlatBox box = detail::box_of(p, p_end);
        return std::any_of(near.data(), near.data() + near_count, [&](const Near& other) {
          return box.overlaps(other.box) && use(p, p_end, at(other.segment), end_of(b, other.segment));
        });
      });
    } else if (a.tree == 0) {
      for_segments(a, window, [&](std::size_t k) {
        take_a_step();
        const double *p = at(k), *p_end = end_of(a, k);
        return for_segments(b, window.common(detail::box_of(p, p_end)),
                            [&](std::size_t j) { return use(p, p_end, at(j), end_of(b, j)); });
      });
    } else {
      for_leaves(trees_[a.tree - 1], window, [&](const std::uint32_t* segments, std::size_t count) {
        take_a_step();
        return for_pairs_of_leaf(a, segments, count, b, window, use);
      });
    }
  }

  // The same for the segments of a leaf: those of the other feature are found once for the whole leaf.
  template <class Use>
  bool for_pairs_of_leaf(const Feature& feature, const std::uint32_t* segments, std::size_t count, const Feature& other,
                         const FlatBox& window, const Use& use) const {
    std::array<std::size_t, kFan> near;
    std::array<FlatBox, kFan> boxes;
    std::size_t near_count = 0;
    FlatBox around{};
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t segment = feature.begin + segments[k];
      const FlatBox box = segment_box(feature, segment);
      if (!box.overlaps(window)) continue;
      if (near_count == 0) around = box;
      around.include(box);
      near[near_count] = segment;
      boxes[near_count++] = box;
    }
    return near_count > 0 && for_segments(other, around.common(window), [&](std::size_t j) {
             const FlatBox box = segment_box(other, j);
             for (std::size_t k = 0; k < near_count; ++k)
               if (boxes[k].overlaps(box) && use(at(near[k]), end_of(feature, near[k]), at(j), end_of(other, j)))
                 return true;
             return false;
           });
  }

  // As for_segments, for those whose box a ray from the point towards larger x meets.
  template <class Use>
  void for_ray(const Feature& area, const double* point, const Use& use) const {
    const FlatBox ray{point[0], point[1], std::numeric_limits<double>::infinity(), point[1]};
    if (area.tree == 0) {
      const double x = point[0], y = point[1];
      for_all(area, [&](std::size_t k) {
        const double *a = at(k), *b = at(k + 1);
        if ((a[1] < y && b[1] < y) || (a[1] > y && b[1] > y) || (a[0] < x && b[0] < x)) return false;
        return use(k);
      });
      return;
    }
    if (trees_[area.tree - 1].slab_count == 0) {
      for_segments(area, ray, use);
      return;
    }
    const Tree& tree = trees_[area.tree - 1];
    const std::size_t* ends = slab_ends_.data() + tree.slabs + slab_of(tree, area.box, point[1]);
    for (std::size_t k = ends[0]; k < ends[1]; ++k) {
      const std::size_t segment = area.begin + in_slabs_[k];
      if (segment_box(area, segment).overlaps(ray) && use(segment)) return;
    }
  }

  static std::size_t slab_of(const Tree& tree, const FlatBox& box, double y) {
    return std::min(static_cast<std::size_t>((y - box.y) * tree.slabs_per_unit), tree.slab_count - 1);
  }

  // Slabs of equal height, each with the segments that pass through it, where many points are located in an area:
  // a slab for two segments, and none where a segment passes through more than kFan of them on average.
  void slice(const Feature& area, Tree& tree) {
    const double height = area.box.y_end - area.box.y;
    const std::size_t count = tree.segments / 2;
    const double per_unit = static_cast<double>(count) / height;
    if (!std::isfinite(per_unit) || per_unit == 0) return;
    tree.slabs_per_unit = per_unit;
    tree.slab_count = count;
    const auto for_slabs = [&](const auto& use) {
      for (std::size_t k = 0; k < tree.segments; ++k) {
        const FlatBox box = segment_box(area, area.begin + order_[tree.order + k]);
        use(order_[tree.order + k], slab_of(tree, area.box, box.y), slab_of(tree, area.box, box.y_end));
      }
    };
    std::size_t total = 0;
    for_slabs([&](std::uint32_t, std::size_t from, std::size_t to) { total += to - from + 1; });
    if (total > kFan * tree.segments) {
      tree.slab_count = 0;
      return;
    }
    tree.slabs = slab_ends_.size();
    slab_ends_.resize(tree.slabs + count + 2);
    std::size_t* next = slab_ends_.data() + tree.slabs + 1;  // of each slab, where its next segment goes
    for_slabs([&](std::uint32_t, std::size_t from, std::size_t to) {
      for (std::size_t slab = from; slab <= to; ++slab) ++next[slab + 1];
    });
    next[0] = in_slabs_.size();
    for (std::size_t slab = 0; slab < count; ++slab) next[slab + 1] += next[slab];
    in_slabs_.resize(in_slabs_.size() + total);
    for_slabs([&](std::uint32_t segment, std::size_t from, std::size_t to) {
      for (std::size_t slab = from; slab <= to; ++slab) in_slabs_[next[slab]++] = segment;
    });
    next[-1] = in_slabs_.size() - total;
  }

  // The same for the first coordinate of each part in the window.
  template <class Use>
  void for_parts(const Feature& feature, const FlatBox& window, const Use& use) const {
    if (feature.parts_end - feature.part <= kFan) {
      for (std::size_t part = feature.part; part < feature.parts_end; ++part)
        if (window.has(at(first(part))) && use(first(part))) return;
      return;
    }
    for_segments(feature, window,
                 [&](std::size_t k) { return first(part_of(feature, k)) == k && window.has(at(k)) && use(k); });
  }

  std::size_t part_of(const Feature& feature, std::size_t k) const {
    if (feature.parts_end - feature.part == 1) return feature.part;
    const std::int64_t *begin = table_.first + feature.part, *end = table_.first + feature.parts_end;
    return feature.part + static_cast<std::size_t>(std::upper_bound(begin, end, static_cast<std::int64_t>(k)) - begin) -
           1;
  }

  // Whether a point is in an area, or on its boundary.
  Meeting locate(const Feature& area, const double* point) {
    switch (place(area, point)) {
      case Place::kOutside: return Meeting::kNo;
      case Place::kDoubt: return Meeting::kDoubt;
      case Place::kInside:
      case Place::kBoundary: break;
    }
    return Meeting::kYes;
  }
  // As GEOS finds by its rings one by one and by all of them at once.
  Place place(const Feature& area, const double* point) {
    if (!area.box.has(point)) return Place::kOutside;
    if (area.tree != 0) {
      Tree& tree = trees_[area.tree - 1];
      if (++tree.located == tree.segments / kFan) slice(area, tree);
    }
    const bool has_one_ring = area.parts_end - area.part == 1;
    bool is_inside = false, is_on_ring = false, is_unsure = false;
    crossed_.clear();
    for_ray(area, point, [&](std::size_t k) {
      const double *a = at(k), *b = at(k + 1);
      if (a[1] == b[1]) {
        is_on_ring = std::min(a[0], b[0]) <= point[0];
        return is_on_ring;
      }
      // A segment that is clearly to the right is crossed if it passes by, whatever rounding does.
      const double near = std::min(a[0], b[0]) - point[0], far = std::max(a[0], b[0]) - point[0];
      if (near > 0x1p-30 * far && near * std::abs(b[1] - a[1]) > 0x1p-800) {
        if ((a[1] > point[1]) == (b[1] > point[1])) return false;
        is_inside = !is_inside;
        if (!has_one_ring) crossed_.push_back(part_of(area, k));
        return false;
      }
      const int side = detail::side_of(a, b, point);
      is_unsure = is_unsure || side == detail::kUnsure;
      is_on_ring = side == 0;
      if ((a[1] > point[1]) != (b[1] > point[1]) && (side > 0) == (b[1] > a[1])) {
        is_inside = !is_inside;
        if (!has_one_ring) crossed_.push_back(part_of(area, k));
      }
      return is_on_ring;
    });
    if (is_on_ring) return has_one_ring ? Place::kBoundary : Place::kDoubt;
    if (is_unsure) return Place::kDoubt;
    if (has_one_ring) return is_inside ? Place::kInside : Place::kOutside;
    std::sort(crossed_.begin(), crossed_.end());
    bool is_in_polygon = false, is_in_shell = false;
    std::size_t shell = area.part;
    for (std::size_t k = 0, next = 0; k < crossed_.size(); k = next) {
      while (next < crossed_.size() && crossed_[next] == crossed_[k]) ++next;
      if ((next - k) % 2 == 0) continue;
      const std::size_t ring = crossed_[k];
      if (table_.holes[ring] == 0) {
        is_in_polygon = is_in_polygon || is_in_shell;
        is_in_shell = true;
        shell = ring;
      } else if (is_in_shell && std::all_of(table_.holes + shell + 1, table_.holes + ring,
                                            [](std::uint8_t hole) { return hole != 0; })) {
        is_in_shell = false;
      }
    }
    is_in_polygon = is_in_polygon || is_in_shell;
    return is_in_polygon != is_inside ? Place::kDoubt : is_inside ? Place::kInside : Place::kOutside;
  }

  static std::size_t nodes_above(std::size_t count) { return (count + kFan - 1) / kFan; }

  // Boxes of eight segments, of eight such boxes, and so on: along the lines, or along a curve where lines jump about.
  void plant(Feature& feature) {
    if (feature.tree != 0 || feature.end - feature.begin <= kScanned) return;
    Tree tree{.boxes = boxes_.size(), .order = order_.size(), .segments = 0};
    for_all(feature, [&](std::size_t k) {
      order_.push_back(static_cast<std::uint32_t>(k - feature.begin));
      return false;
    });
    tree.segments = order_.size() - tree.order;
    enclose_segments(feature, tree);
    // In the units of the feature, boxes of r stretches of a line have sides of about 1 / r, those of a curve through
    // all of space 1 / sqrt(r), and those that jump about 1.
    const double width = feature.box.x_end - feature.box.x, height = feature.box.y_end - feature.box.y;
    double sides = 0;
    for (std::size_t k = tree.boxes; k < boxes_.size(); ++k)
      sides += std::max((boxes_[k].x_end - boxes_[k].x) / (width > 0 ? width : 1),
                        (boxes_[k].y_end - boxes_[k].y) / (height > 0 ? height : 1));
    if (sides > 4 * std::sqrt(static_cast<double>(boxes_.size() - tree.boxes))) {
      sort_along_curve(feature, tree, width, height);
      boxes_.resize(tree.boxes);
      enclose_segments(feature, tree);
    }
    for (std::size_t start = tree.boxes, count = boxes_.size() - start; count > 1;) {
      for (std::size_t k = 0; k < count; k += kFan) {
        FlatBox box = boxes_[start + k];
        for (std::size_t j = k + 1; j < std::min(count, k + kFan); ++j) box.include(boxes_[start + j]);
        boxes_.push_back(box);
      }
      start += count;
      count = nodes_above(count);
    }
    trees_.push_back(tree);
    feature.tree = static_cast<std::uint32_t>(trees_.size());
  }

  void enclose_segments(const Feature& feature, const Tree& tree) {
    const std::uint32_t* order = order_.data() + tree.order;
    for (std::size_t k = 0; k < tree.segments; k += kFan) {
      FlatBox box = segment_box(feature, feature.begin + order[k]);
      for (std::size_t j = k + 1; j < std::min(tree.segments, k + kFan); ++j)
        box.include(segment_box(feature, feature.begin + order[j]));
      boxes_.push_back(box);
    }
  }

  void sort_along_curve(const Feature& feature, const Tree& tree, double width, double height) {
    std::uint32_t* order = order_.data() + tree.order;
    keys_.clear();
    const auto cell = [](double value, double low, double extent) {
      return extent > 0 ? static_cast<std::uint64_t>(std::clamp((value - low) / extent, 0.0, 1.0) * 65535) : 0;
    };
    for (std::size_t k = 0; k < tree.segments; ++k) {
      const FlatBox box = segment_box(feature, feature.begin + order[k]);
      const std::uint64_t place[2] = {cell(box.x / 2 + box.x_end / 2, feature.box.x, width),
                                      cell(box.y / 2 + box.y_end / 2, feature.box.y, height)};
      keys_.push_back(morton_number<2>(place) << 32 | order[k]);
    }
    std::sort(keys_.begin(), keys_.end());
    for (std::size_t k = 0; k < tree.segments; ++k) order[k] = static_cast<std::uint32_t>(keys_[k]);
  }

  FeatureTable table_;
  Interrupt& interrupt_;
  std::size_t steps_ = 0;
  PlainArray<Feature> features_;
  std::vector<FlatBox> part_boxes_;
  std::vector<Tree> trees_;
  std::vector<FlatBox> boxes_;  // of each tree: its leaves, the nodes above them, and so on
  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> slab_ends_;   // of each sliced area: where its slabs begin, and the last one's end
  std::vector<std::uint32_t> in_slabs_;  // segments, numbered in their feature
  std::vector<std::size_t> crossed_;
  std::vector<std::uint64_t> keys_;
  AreaCells cells_;
};

}  // namespace broadphase
