// Features on a lattice against plain loops over their segments in whole numbers.
#include "narrow/simple_features.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

struct Point {
  std::int64_t x, y;
};
using Part = std::vector<Point>;

struct Shape {
  FeatureKind kind;
  std::vector<Part> parts;  // of points: one
  std::vector<bool> holes;
};

// ---- The judge: below 2^29, all products and their differences are 64-bit numbers ----

int turn(const Point& a, const Point& b, const Point& c) {
  const std::int64_t side = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
  return (side > 0) - (side < 0);
}

bool is_between(const Point& a, const Point& b, const Point& c) {
  return std::min(a.x, b.x) <= c.x && c.x <= std::max(a.x, b.x) && std::min(a.y, b.y) <= c.y &&
         c.y <= std::max(a.y, b.y);
}

// Two segments meet if an end of one is on the other, or each separates the ends of the other.
bool cross(const Point& a, const Point& b, const Point& c, const Point& d) {
  const int abc = turn(a, b, c), abd = turn(a, b, d), cda = turn(c, d, a), cdb = turn(c, d, b);
  return (abc == 0 && is_between(a, b, c)) || (abd == 0 && is_between(a, b, d)) || (cda == 0 && is_between(c, d, a)) ||
         (cdb == 0 && is_between(c, d, b)) || (abc * abd < 0 && cda * cdb < 0);
}

std::vector<std::pair<Point, Point>> segments_of(const Shape& shape) {
  std::vector<std::pair<Point, Point>> segments;
  for (const Part& part : shape.parts)
    if (shape.kind == FeatureKind::kPoints)
      for (const Point& point : part) segments.push_back({point, point});
    else
      for (std::size_t k = 1; k < part.size(); ++k) segments.push_back({part[k - 1], part[k]});
  return segments;
}

// Whether a ray towards larger x crosses the rings an odd number of times. The point is on none of them.
bool is_inside(const Shape& area, const Point& point) {
  bool inside = false;
  for (const auto& [a, b] : segments_of(area)) {
    const Point &low = a.y < b.y ? a : b, &high = a.y < b.y ? b : a;
    if (low.y <= point.y && point.y < high.y && turn(low, high, point) > 0) inside = !inside;
  }
  return inside;
}

bool meet(const Shape& one, const Shape& other) {
  const auto segments = segments_of(one), others = segments_of(other);
  for (const auto& [a, b] : segments)
    for (const auto& [c, d] : others)
      if (cross(a, b, c, d)) return true;
  for (const auto& [outer, inner] : {std::pair(&one, &other), std::pair(&other, &one)})
    if (outer->kind == FeatureKind::kAreas)
      for (const Part& part : inner->parts)
        for (std::size_t k = 0; k < (inner->kind == FeatureKind::kPoints ? part.size() : 1); ++k)
          if (is_inside(*outer, part[k])) return true;
  return false;
}

// The sign of the distance between a point and a segment, less a whole number.
int compare_distance(const Point& point, const Point& a, const Point& b, std::int64_t reach) {
  const Point u{b.x - a.x, b.y - a.y}, v{point.x - a.x, point.y - a.y}, w{point.x - b.x, point.y - b.y};
  const std::int64_t along = u.x * v.x + u.y * v.y, length = u.x * u.x + u.y * u.y, across = u.x * v.y - u.y * v.x;
  const std::int64_t difference = along <= 0        ? v.x * v.x + v.y * v.y - reach * reach
                                  : along >= length ? w.x * w.x + w.y * w.y - reach * reach
                                                    : across * across - reach * reach * length;
  return (difference > 0) - (difference < 0);
}

// The same of two shapes that do not meet.
int compare_distance(const Shape& one, const Shape& other, std::int64_t reach) {
  int least = 1;
  for (const auto& [a, b] : segments_of(one))
    for (const auto& [c, d] : segments_of(other))
      least = std::min({least, compare_distance(a, c, d, reach), compare_distance(b, c, d, reach),
                        compare_distance(c, a, b, reach), compare_distance(d, a, b, reach)});
  return least;
}

// The square of the distance between a point and a segment, rounded a few times.
long double squared_distance(const Point& point, const Point& a, const Point& b) {
  const Point u{b.x - a.x, b.y - a.y}, v{point.x - a.x, point.y - a.y}, w{point.x - b.x, point.y - b.y};
  const std::int64_t along = u.x * v.x + u.y * v.y, length = u.x * u.x + u.y * u.y, across = u.x * v.y - u.y * v.x;
  if (along <= 0) return static_cast<long double>(v.x * v.x + v.y * v.y);
  if (along >= length) return static_cast<long double>(w.x * w.x + w.y * w.y);
  return static_cast<long double>(across * across) / static_cast<long double>(length);
}

// The distance of two shapes that do not meet.
double distance_of(const Shape& one, const Shape& other) {
  long double least = 1e18L;
  for (const auto& [a, b] : segments_of(one))
    for (const auto& [c, d] : segments_of(other))
      least = std::min({least, squared_distance(a, c, d), squared_distance(b, c, d), squared_distance(c, a, b),
                        squared_distance(d, a, b)});
  return static_cast<double>(std::sqrt(least));
}

bool has_one_part(const Shape& shape) { return shape.kind != FeatureKind::kPoints && shape.parts.size() == 1; }

Relation relation_of(const Shape& one, const Shape& other) {
  if (one.kind == FeatureKind::kPoints || other.kind == FeatureKind::kPoints) return Relation::kDoubt;
  const bool is_area = one.kind == FeatureKind::kAreas, is_other_area = other.kind == FeatureKind::kAreas;
  const Relation mixed = is_area && is_other_area   ? Relation::kOverlap
                         : is_area || is_other_area ? Relation::kPass
                                                    : Relation::kDoubt;
  bool touch = false;
  for (const auto& [a, b] : segments_of(one))
    for (const auto& [c, d] : segments_of(other)) {
      if (turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0) return mixed;
      touch = touch || cross(a, b, c, d);
    }
  if (touch) return is_area ? Relation::kMeet : Relation::kDoubt;
  const auto count_inside = [](const Shape& shape, const Shape& area, bool with_holes) {
    std::size_t count = 0;
    for (std::size_t k = 0; k < shape.parts.size(); ++k)
      if (area.kind == FeatureKind::kAreas && (with_holes || !shape.holes[k]) && is_inside(area, shape.parts[k][0]))
        ++count;
    return count;
  };
  const auto shells = [](const Shape& shape) {
    return static_cast<std::size_t>(std::count(shape.holes.begin(), shape.holes.end(), false));
  };
  const bool first = count_inside(one, other, true) > 0, second = count_inside(other, one, true) > 0;
  if (!first && !second) return Relation::kApart;
  if (!second && count_inside(one, other, false) == shells(one)) return Relation::kFirstInside;
  if (!first && count_inside(other, one, false) == shells(other)) return Relation::kSecondInside;
  return mixed;
}

Place place_of(const Shape& area, const Point& point) {
  for (const auto& [a, b] : segments_of(area))
    if (turn(a, b, point) == 0 && is_between(a, b, point)) return Place::kBoundary;
  return is_inside(area, point) ? Place::kInside : Place::kOutside;
}

// Whether an area of one shell is valid, and no ring touches another one or itself.
bool is_simple(const Shape& area) {
  for (std::size_t part = 0; part < area.parts.size(); ++part) {
    if (area.holes[part] != (part > 0)) return false;
    const Shape ring{FeatureKind::kAreas, {area.parts[part]}, {false}};
    const auto segments = segments_of(ring);
    const std::size_t count = segments.size();
    if (count < 3) return false;
    for (std::size_t k = 0; k < count; ++k) {
      const auto& [a, b] = segments[k];
      if (turn(a, b, segments[(k + 1) % count].second) == 0) return false;
      for (std::size_t j = k + 2; j < count; ++j)
        if ((k > 0 || j + 1 < count) && cross(a, b, segments[j].first, segments[j].second)) return false;
    }
    for (std::size_t other = 0; other < area.parts.size(); ++other) {
      if (other == part) continue;
      const Shape ring_of_other{FeatureKind::kAreas, {area.parts[other]}, {false}};
      for (const auto& [a, b] : segments)
        for (const auto& [c, d] : segments_of(ring_of_other))
          if (cross(a, b, c, d)) return false;
      if (part > 0 && is_inside(ring_of_other, area.parts[part][0]) != (other == 0)) return false;
    }
  }
  return true;
}

// What GEOS takes for the rectangle around it, though the outline goes there and back.
bool is_folded_rectangle(const Shape& area) {
  if (area.kind != FeatureKind::kAreas || area.parts.size() != 1 || area.parts[0].size() != 5) return false;
  const Part& p = area.parts[0];
  for (std::size_t k = 1; k < 5; ++k)
    if ((p[k].x != p[k - 1].x) == (p[k].y != p[k - 1].y)) return false;
  const auto spread = [&](auto value) {
    std::vector<std::int64_t> values;
    for (const Point& point : p) values.push_back(value(point));
    std::sort(values.begin(), values.end());
    return std::unique(values.begin(), values.end()) - values.begin();
  };
  if (spread([](const Point& q) { return q.x; }) > 2 || spread([](const Point& q) { return q.y; }) > 2) return false;
  return (p[0].x == p[2].x && p[0].y == p[2].y) || (p[1].x == p[3].x && p[1].y == p[3].y);
}

// ---- Shapes ----

Part random_part(Random& random, std::size_t count, std::size_t side) {
  Part part(count);
  do
    for (Point& point : part)
      point = {static_cast<std::int64_t>(random.below(side)), static_cast<std::int64_t>(random.below(side))};
  while (std::all_of(part.begin(), part.end(), [&](const Point& p) { return p.x == part[0].x && p.y == part[0].y; }) &&
         count > 1);
  return part;
}

// A walk by small steps, so that a tree along it is narrow.
Part random_walk(Random& random, std::size_t count, std::size_t side) {
  Part part = random_part(random, 2, side);
  while (part.size() < count)
    part.push_back({part.back().x + static_cast<std::int64_t>(random.below(5)) - 2,
                    part.back().y + static_cast<std::int64_t>(random.below(5)) - 2});
  return part;
}

Part rectangle(const Point& low, const Point& high) { return {low, {high.x, low.y}, high, {low.x, high.y}, low}; }

Part closed(Part part) {
  part.push_back(part[0]);
  return part;
}

Shape random_shape(Random& random, std::size_t side) {
  // Both sides of the size from which on a tree is made, and trees of one level, two and three.
  constexpr std::size_t kSizes[] = {2, 3, 4, 5, 31, 32, 33, 34, 64, 65, 66, 300};
  const std::size_t count = kSizes[random.below(random.chance(0.2) ? std::size(kSizes) : 4)];
  Shape shape{FeatureKind::kPoints, {}, {}};
  switch (random.below(8)) {
    case 0: shape.parts = {random_part(random, count - 1, side)}; break;
    case 1: shape = {FeatureKind::kLines, {random_part(random, count, side)}, {}}; break;
    case 2: shape = {FeatureKind::kLines, {random_walk(random, count, side)}, {}}; break;
    case 3:
      shape.kind = FeatureKind::kLines;
      for (std::size_t k = 0; k < count; ++k) shape.parts.push_back(random_part(random, 2, side));
      break;
    case 4: shape = {FeatureKind::kAreas, {closed(random_part(random, count + 1, side))}, {}}; break;
    case 5: shape = {FeatureKind::kAreas, {closed(random_walk(random, count + 1, side))}, {}}; break;
    case 6: {  // a shell with holes, some of which are not in it, or in one another
      shape.kind = FeatureKind::kAreas;
      const Point at = random_part(random, 1, side)[0];
      const auto edge = static_cast<std::int64_t>(4 + random.below(side));
      shape.parts.push_back(rectangle(at, {at.x + edge, at.y + edge}));
      for (std::size_t k = random.below(4); k > 0; --k) {
        const Point low{at.x + static_cast<std::int64_t>(random.below(static_cast<std::size_t>(edge))),
                        at.y + static_cast<std::int64_t>(random.below(static_cast<std::size_t>(edge)))};
        shape.parts.push_back(rectangle(low, {low.x + 1 + static_cast<std::int64_t>(random.below(3)),
                                              low.y + 1 + static_cast<std::int64_t>(random.below(3))}));
      }
      shape.holes.resize(shape.parts.size(), true);
      shape.holes[0] = false;
      break;
    }
    default: {  // cells side by side, each with a hole
      shape.kind = FeatureKind::kAreas;
      const Point at = random_part(random, 1, side)[0];
      for (std::size_t k = 0; k < count; ++k) {
        const Point low{at.x + 5 * static_cast<std::int64_t>(k % 8), at.y + 5 * static_cast<std::int64_t>(k / 8)};
        shape.parts.push_back(rectangle(low, {low.x + 4, low.y + 4}));
        shape.parts.push_back(rectangle({low.x + 1, low.y + 1}, {low.x + 3, low.y + 3}));
        shape.holes.insert(shape.holes.end(), {false, true});
      }
    }
  }
  shape.holes.resize(shape.parts.size());
  return shape;
}

// ---- Tables ----

struct Table {
  std::vector<double> coordinates;
  std::vector<std::int64_t> first{0}, first_part{0};
  std::vector<std::uint8_t> kinds, holes;

  void add(const Shape& shape, double scale) {
    for (std::size_t part = 0; part < shape.parts.size(); ++part) {
      for (const Point& point : shape.parts[part]) {
        coordinates.push_back(static_cast<double>(point.x) * scale);
        coordinates.push_back(static_cast<double>(point.y) * scale);
      }
      holes.push_back(shape.holes[part] ? 1 : 0);
      first.push_back(static_cast<std::int64_t>(coordinates.size() / 2));
    }
    first_part.push_back(static_cast<std::int64_t>(holes.size()));
    kinds.push_back(static_cast<std::uint8_t>(shape.kind));
  }
  FeatureTable view() const {
    return {coordinates.data(), first.data(), first_part.data(), kinds.data(), holes.data(), kinds.size()};
  }
};

std::vector<std::uint8_t> meetings(const Table& table, std::vector<std::int64_t> one, std::vector<std::int64_t> other) {
  Interrupt interrupt;
  FeatureMeetings features(table.view(), interrupt);
  std::vector<std::uint8_t> found(one.size());
  features.meet(one.data(), other.data(), one.size(), found.data());
  return found;
}

void random_features_meet_as_their_segments_do(std::size_t seed) {
  Random random(seed);
  current_case() = "random features, seed " + std::to_string(seed);
  const std::size_t side = std::size_t{1} << (2 + random.below(6));
  // Rounding of any power of two is none.
  const int exponent = static_cast<int>(random.below(600)) - 300;
  const double scale = std::ldexp(1.0, exponent);
  std::vector<Shape> shapes;
  Table table;
  for (std::size_t k = 0; k < 24; ++k) {
    shapes.push_back(random_shape(random, side));
    table.add(shapes.back(), scale);
  }
  std::vector<std::int64_t> one, other;
  for (std::int64_t k = 0; k < 24; ++k)
    for (std::int64_t j = 0; j < 24; ++j) {
      one.push_back(k);
      other.push_back(j);
    }
  const std::vector<std::uint8_t> found = meetings(table, one, other);
  Interrupt interrupt;
  FeatureMeetings features(table.view(), interrupt);
  const auto is_sound = [](const Shape& shape) {  // or of one ring; or cells side by side, which are valid too
    return shape.kind != FeatureKind::kAreas || shape.parts.size() == 1 || is_simple(shape) ||
           std::count(shape.holes.begin(), shape.holes.end(), false) > 1;
  };
  std::size_t doubts = 0, unsure = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const auto a = static_cast<std::size_t>(one[k]), b = static_cast<std::size_t>(other[k]);
    current_case() = "features " + std::to_string(a) + " and " + std::to_string(b) + ", seed " + std::to_string(seed);
    const Meeting alone = features.meet(a, b);
    CHECK(static_cast<std::uint8_t>(alone) == found[k] || alone == Meeting::kDoubt);
    if (is_folded_rectangle(shapes[a]) || is_folded_rectangle(shapes[b])) {
      CHECK(found[k] == static_cast<std::uint8_t>(Meeting::kDoubt));
      continue;
    }
    if (is_sound(shapes[a]) && is_sound(shapes[b])) CHECK(features.relate(a, b) == relation_of(shapes[a], shapes[b]));
    const auto reach = static_cast<std::int64_t>(random.below(side));
    const Meeting within = features.are_within(a, b, static_cast<double>(reach) * scale);
    if (found[k] == static_cast<std::uint8_t>(Meeting::kNo) && std::abs(exponent) < 80) {
      const int sign = compare_distance(shapes[a], shapes[b], reach);
      CHECK(within == (sign > 0 ? Meeting::kNo : sign < 0 ? Meeting::kYes : Meeting::kDoubt));
    } else if (found[k] != static_cast<std::uint8_t>(Meeting::kNo) && within != Meeting::kDoubt) {
      CHECK(within == Meeting::kYes);
    }
    if (std::abs(exponent) < 80) {
      const double limit =
          random.chance(0.5) ? std::numeric_limits<double>::infinity() : static_cast<double>(reach) * scale;
      const FeatureMeetings::Distance distance = features.distance(a, b, limit);
      if (distance.is_sure && found[k] == static_cast<std::uint8_t>(Meeting::kNo)) {
        const double expected = distance_of(shapes[a], shapes[b]) * scale;
        CHECK(expected <= limit ? std::abs(distance.value - expected) <= 1e-14 * expected : distance.value > limit);
      } else if (distance.is_sure && found[k] == static_cast<std::uint8_t>(Meeting::kYes)) {
        CHECK(distance.value == 0);
      }
      unsure += distance.is_sure || !is_sound(shapes[a]) || !is_sound(shapes[b]) ? 0 : 1;
    }
    if (shapes[b].kind == FeatureKind::kAreas) CHECK(features.is_simple(b) == is_simple(shapes[b]));
    if (has_one_part(shapes[b]) && shapes[b].kind == FeatureKind::kAreas) {
      for (const Point& point : shapes[a].parts[0]) {
        const double at[2] = {static_cast<double>(point.x) * scale, static_cast<double>(point.y) * scale};
        const Place place = place_of(shapes[b], point);
        CHECK(features.place(b, at) == place);
        if (place != Place::kOutside || std::abs(exponent) >= 80) continue;
        const int sign = compare_distance({FeatureKind::kPoints, {{point}}, {}}, shapes[b], reach);
        CHECK(features.place_within(b, at, static_cast<double>(reach) * scale) == (sign > 0   ? Place::kOutside
                                                                                   : sign < 0 ? Place::kInside
                                                                                              : Place::kDoubt));
      }
    }
    if (found[k] == static_cast<std::uint8_t>(Meeting::kDoubt)) {
      // A point on the boundary of an area of many rings.
      const bool has_rings = (shapes[a].kind == FeatureKind::kAreas && shapes[a].parts.size() > 1) ||
                             (shapes[b].kind == FeatureKind::kAreas && shapes[b].parts.size() > 1);
      CHECK(has_rings);
      doubts += is_sound(shapes[a]) && is_sound(shapes[b]) ? 1 : 0;
      continue;
    }
    CHECK((found[k] == static_cast<std::uint8_t>(Meeting::kYes)) == meet(shapes[a], shapes[b]));
  }
  CHECK(doubts * 10 < found.size());
  CHECK(unsure * 4 < found.size());
}

// Lines whose ends are as near to each other's lines as whole numbers can be.
void almost_collinear_segments_meet_exactly(std::size_t seed) {
  Random random(seed);
  current_case() = "almost collinear segments, seed " + std::to_string(seed);
  constexpr std::size_t kSide = std::size_t{1} << 29;
  std::vector<Shape> shapes;
  Table table;
  for (std::size_t k = 0; k < 40; ++k) {
    Part line = random_part(random, 2, kSide);
    if (k % 2 == 1) {  // from near the line before to anywhere, or to near it too
      const Point a = shapes.back().parts[0][0], b = shapes.back().parts[0][1];
      for (std::size_t end = 0; end < 1 + random.below(2); ++end) {
        const double t = random.uniform();
        line[end] = {a.x + std::llround(t * static_cast<double>(b.x - a.x)),
                     a.y + std::llround(t * static_cast<double>(b.y - a.y))};
      }
    }
    shapes.push_back({FeatureKind::kLines, {line}, {false}});
    table.add(shapes.back(), 1);
  }
  for (std::int64_t k = 0; k + 1 < 40; k += 2) {
    const auto row = static_cast<std::size_t>(k);
    CHECK((meetings(table, {k}, {k + 1})[0] == 1) == meet(shapes[row], shapes[row + 1]));
    CHECK((meetings(table, {k + 1}, {k})[0] == 1) == meet(shapes[row], shapes[row + 1]));
  }
}

// Many points in one area, which is sliced on the way.
void many_points_are_located_exactly(std::size_t seed) {
  Random random(seed);
  current_case() = "points in an area, seed " + std::to_string(seed);
  const Shape area{FeatureKind::kAreas, {closed(random_walk(random, 500, 40))}, {false}};
  Table table;
  table.add(area, 1);
  std::vector<Shape> points;
  std::vector<std::int64_t> one, other;
  for (std::int64_t k = 0; k < 400; ++k) {
    points.push_back({FeatureKind::kPoints, {random_part(random, 1, 60)}, {false}});
    table.add(points.back(), 1);
    one.push_back(0);
    other.push_back(k + 1);
  }
  const std::vector<std::uint8_t> found = meetings(table, one, other);
  for (std::size_t k = 0; k < points.size(); ++k) CHECK((found[k] == 1) == meet(area, points[k]) && found[k] != 2);
  // The same at once; by few points and by many, with edges one by one and from a tree.
  std::vector<RowPoint> places;
  for (const Shape& point : points) {
    const auto [x, y] = point.parts[0][0];
    places.push_back({{static_cast<double>(x), static_cast<double>(y)}, 0});
  }
  for (const std::size_t count : {1, 7, 8, 100, 255, 256, 400}) {
    Interrupt interrupt;
    FeatureMeetings features(table.view(), interrupt);
    std::vector<std::uint8_t> at_once(count);
    features.places(0, {places.data(), count}, at_once.data());
    for (std::size_t k = 0; k < count; ++k)
      CHECK(at_once[k] == static_cast<std::uint8_t>(place_of(area, points[k].parts[0][0])));
  }
}

void unsound_features_are_in_doubt() {
  const Shape square{FeatureKind::kAreas, {rectangle({0, 0}, {4, 4})}, {false}};
  const auto doubted = [&](const char* what, Shape shape, double factor) {
    current_case() = what;
    Table table;
    table.add(square, 1);
    table.add(shape, factor);
    for (const auto& [one, other] : {std::pair(0, 1), std::pair(1, 0), std::pair(1, 1)})
      CHECK(meetings(table, {one}, {other})[0] == static_cast<std::uint8_t>(Meeting::kDoubt));
    CHECK(meetings(table, {0}, {0})[0] == static_cast<std::uint8_t>(Meeting::kYes));
  };
  doubted("a line that is one point", {FeatureKind::kLines, {{{1, 1}, {1, 1}}}, {false}}, 1);
  doubted("NaN", square, std::numeric_limits<double>::quiet_NaN());
  doubted("infinity", square, std::numeric_limits<double>::infinity());
  doubted("far", square, 0x1p500);
  doubted("a hole beside its shell",
          {FeatureKind::kAreas, {rectangle({0, 0}, {2, 2}), rectangle({3, 3}, {4, 4})}, {false, true}}, 1);
  doubted("unknown", {FeatureKind::kUnknown, {}, {}}, 1);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  unsound_features_are_in_doubt();
  for (std::size_t seed = 0; seed < rounds(argc, argv, 60); ++seed) {
    random_features_meet_as_their_segments_do(seed);
    almost_collinear_segments_meet_exactly(seed);
    many_points_are_located_exactly(seed);
  }
}
