// Cores of which only the support function is known, for the general pair test (convex_pairs.hpp): their gaps.
//
// GJK and EPA come nearer to a curved surface with each step, but never arrive. Where a support function can tell how
// its surface bends, they are left as soon as they have shown which features are nearest, two rims or an edge and an
// ellipsoid, and Newton's method finds the direction along which these are nearest: of five digits it makes ten.
// The answer counts on the same condition as others: the gap along that direction proves it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <numbers>
#include <optional>
#include <utility>

#include "narrow/convex_pairs.hpp"

namespace broadphase::polytopes {

// The point of a surface that is farthest along a direction, and on which feature it is: a number that a kind of shape
// gives to each part of its surface that bends evenly, and to each corner.
template <std::size_t D>
struct FarthestPoint {
  Vec<D> at{};
  std::size_t feature = 0;

  bool operator==(const FarthestPoint& other) const { return at == other.at; }
};

// The second derivatives of how far a feature reaches along a unit vector, by two vectors across it: how its farthest
// point turns with that. 0 for a corner.
struct Bend {
  double xx = 0, xy = 0, yy = 0;

  // Of the multiple of a matrix of one row.
  static Bend of(double x, double y, double scale) { return {x * x * scale, x * y * scale, y * y * scale}; }
  Bend operator+(const Bend& other) const { return {xx + other.xx, xy + other.xy, yy + other.yy}; }
  Bend operator*(double scale) const { return {xx * scale, xy * scale, yy * scale}; }
};
struct FeaturePoint {
  Vec3 at{};
  Bend bend;
};

// A unit vector and two across it.
struct Tangent {
  Vec3 normal, x, y;

  explicit Tangent(const Vec3& unit) : normal(unit), x(solid::perpendicular(unit)), y(cross(unit, x)) {}
};

// A flat round face.
struct DiscFace {
  Vec3 centre{}, normal{};  // outwards, a unit vector
  double radius = 0;        // 0: there is none
};

// Directions that lean this much from each other are those of one face, and points that near to each other, in sizes of
// a core, are one: a curved surface whose radius is up to fifty times its size touches in a point.
inline constexpr double kLean = 1e-5, kSame = 1e-3;

// `support(way)` is the point farthest along a direction of any length but 0: a pure function, in the frame of the
// pair. A support function may know more than the point:
//   farthest(way, start)     its feature too; `start`: a feature that may be near
//   on(feature, tangent)     the farthest point of one feature alone along a unit vector, and its bend
//   facing(way)              the flat round face whose normal is the nearest to a direction, within a quarter turn
template <class Support>
concept KnowsFeatures = requires(const Support& support, const Vec3& way, std::size_t feature, const Tangent& tangent) {
  { support.farthest(way, feature) } -> std::same_as<FarthestPoint<3>>;
  { support.on(feature, tangent) } -> std::same_as<FeaturePoint>;
  { support.facing(way) } -> std::same_as<DiscFace>;
};

template <class Support>
class SupportCore {
 public:
  using Corner = FarthestPoint<3>;
  static constexpr bool kIsCurved = true;

  double radius = 0;

  SupportCore(Support support, double around) : radius(around), support_(std::move(support)) {
    for (std::size_t k = 0; k < 3; ++k) {
      Vec3 way{};
      way[k] = 1;
      const Vec3 high = farthest(way, {}).at, low = farthest(-way, {}).at;
      middle_ = middle_ + (high + low) * (1.0 / 6);
      size_ = std::max({size_, std::fabs(high[k]), std::fabs(low[k])});
    }
  }

  Corner farthest(const Vec3& way, const Corner& start) const {
    if constexpr (KnowsFeatures<Support>) {
      const Corner found = support_.farthest(way, start.feature);
      return {found.at + offset_, found.feature};
    } else {
      return {support_(way) + offset_, 0};
    }
  }
  Vec3 corner(const Corner& name) const { return name.at; }
  Extent extent(const Vec3& way) const { return {dot(farthest(-way, {}).at, way), dot(farthest(way, {}).at, way)}; }
  Vec3 middle() const { return middle_ + offset_; }
  double size() const { return size_ + solid::magnitude(offset_); }
  void move(const Vec3& by) { offset_ = offset_ + by; }

  FeaturePoint on(std::size_t feature, const Tangent& tangent) const
    requires KnowsFeatures<Support>
  {
    const FeaturePoint own = support_.on(feature, tangent);
    return {own.at + offset_, own.bend};
  }
  DiscFace facing(const Vec3& way) const
    requires KnowsFeatures<Support>
  {
    const DiscFace own = support_.facing(way);
    return {own.centre + offset_, own.normal, own.radius};
  }

  // The farthest point along a unit vector, and those along vectors that lean from it a little: the corners of a face,
  // the ends of an edge, and points on the outline of what is round. What is that near to another is the same point.
  template <class Visit>
  void for_each_highest(const Vec3& way, double, const Visit& visit) const {
    constexpr std::size_t kWays = 8;
    const double same = kSame * size_;
    const Across across(way);
    std::array<Vec3, 1 + kWays> found{farthest(way, {}).at};
    visit(found[0]);
    for (std::size_t k = 0, count = 1; k < kWays; ++k) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(k) / kWays;
      const Vec3 at = farthest(way + across.point({kLean * std::cos(turn), kLean * std::sin(turn)}), {}).at;
      const auto is_same = [&](const Vec3& other) { return squared(at - other) <= same * same; };
      if (std::any_of(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), is_same)) continue;
      found[count++] = at;
      visit(at);
    }
  }

 private:
  Support support_;
  Vec3 middle_{}, offset_{};
  double size_ = 0;
};

// ---- The direction along which known features are nearest, or deepest in each other ----

// Pairs of features that are nearest, and the share of each of the point of the difference that is.
struct NearestFeatures {
  struct Pair {
    std::size_t first, second;
    double share;
  };
  std::size_t count = 0;
  std::array<Pair, 3> pairs{};

  // False where there is no room.
  bool add(std::size_t first, std::size_t second, double share) {
    for (std::size_t k = 0; k < count; ++k)
      if (pairs[k].first == first && pairs[k].second == second) {
        pairs[k].share += share;
        return true;
      }
    if (count == pairs.size()) return false;
    pairs[count++] = {first, second, share};
    return true;
  }
  bool has(std::size_t first, std::size_t second) const {
    return std::any_of(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](const Pair& pair) { return pair.first == first && pair.second == second; });
  }
  std::size_t least() const {
    std::size_t found = 0;
    for (std::size_t k = 1; k < count; ++k)
      if (pairs[k].share < pairs[found].share) found = k;
    return found;
  }
  // Leaves out the pair of the least share.
  void drop_least() {
    pairs[least()] = pairs[count - 1];
    --count;
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += pairs[k].share = std::max(pairs[k].share, 0.0);
    for (std::size_t k = 0; k < count; ++k)
      pairs[k].share = sum > 0 ? pairs[k].share / sum : 1 / static_cast<double>(count);
  }
};

// A direction in which both cores have a point of the same features, opposite each other.
struct Opposite {
  WayOut way;
  double length = kInfinity, aside = kInfinity;  // of the vector between the points, and of its part across the way
  Vec3 on_first{}, on_second{};
};

// One step of Newton's method: with n turned by a small u across it, each pair k of features is s_k + J_k u apart,
// where -J_k is the bend of both, and the point that has the shares must lie along n + u, at a distance d, at which all
// pairs are. The bend plus d, as a matrix across n, must be above 0: else the gap is no wider there than beside it.
class FeatureStep {
 public:
  FeatureStep(const NearestFeatures& features, const Tangent& tangent, const std::array<Vec3, 3>& between,
              const Bend& bend) {
    double distance = 0;
    for (std::size_t k = 0; k < features.count; ++k) {
      aside_[k] = {dot(between[k], tangent.x), dot(between[k], tangent.y)};
      along_[k] = dot(between[k], tangent.normal);
      distance += features.pairs[k].share * along_[k];
    }
    matrix_ = {bend.xx + distance, bend.xy, bend.yy + distance};
  }

  // False where there is no such turn. Sets the shares.
  bool find(NearestFeatures& features) {
    switch (features.count) {
      case 1: return find_one();
      case 2: return find_two(features);
      default: return find_three(features);
    }
  }
  const Place& turn() const { return turn_; }

 private:
  static double product(const Place& a, const Place& b) { return a[0] * b[0] + a[1] * b[1]; }
  static double area(const Place& a, const Place& b) { return a[0] * b[1] - a[1] * b[0]; }
  static Place minus(const Place& a, const Place& b) { return {a[0] - b[0], a[1] - b[1]}; }
  Place bent(const Place& at) const {
    return {matrix_.xx * at[0] + matrix_.xy * at[1], matrix_.xy * at[0] + matrix_.yy * at[1]};
  }

  bool find_one() {
    const double area = matrix_.xx * matrix_.yy - matrix_.xy * matrix_.xy;
    if (!(matrix_.xx > 0 && area > 0)) return false;
    turn_ = {(matrix_.yy * aside_[0][0] - matrix_.xy * aside_[0][1]) / area,
             (matrix_.xx * aside_[0][1] - matrix_.xy * aside_[0][0]) / area};
    return true;
  }

  // Both pairs become equally far apart by a turn in the direction in which they differ.
  bool find_two(NearestFeatures& features) {
    const Place apart = minus(aside_[0], aside_[1]);
    const double square = product(apart, apart);
    if (!(square > kLeast)) return false;
    const double needed = (along_[1] - along_[0]) / square, scale = 1 / std::sqrt(square);
    const Place base{apart[0] * needed, apart[1] * needed}, free{-apart[1] * scale, apart[0] * scale};
    const double curvature = product(free, bent(free));
    if (!(curvature > 0)) return false;
    const double rest = (product(free, aside_[1]) - product(free, bent(base))) / curvature;
    turn_ = {base[0] + free[0] * rest, base[1] + free[1] * rest};
    const double share = product(apart, minus(bent(turn_), aside_[1])) / square;
    features.pairs[0].share = share;
    features.pairs[1].share = 1 - share;
    return true;
  }

  bool find_three(NearestFeatures& features) {
    const Place one = minus(aside_[0], aside_[2]), two = minus(aside_[1], aside_[2]);
    const double both = area(one, two), first = along_[2] - along_[0], second = along_[2] - along_[1];
    if (!(both * both > kLeast * product(one, one) * product(two, two))) {  // on one line
      features.drop_least();
      return true;
    }
    turn_ = {(first * two[1] - second * one[1]) / both, (second * one[0] - first * two[0]) / both};
    const Place to = minus(bent(turn_), aside_[2]);
    features.pairs[0].share = area(to, two) / both;
    features.pairs[1].share = area(one, to) / both;
    features.pairs[2].share = 1 - features.pairs[0].share - features.pairs[1].share;
    return true;
  }

  static constexpr double kLeast = 1e-20;

  std::array<Place, 3> aside_{};
  std::array<double, 3> along_{};
  Bend matrix_;
  Place turn_{kInfinity, kInfinity};
};

// Nothing where Newton's method does not get there from a direction.
template <KnowsFeatures Support>
std::optional<Opposite> opposite_near(const Cores<SupportCore<Support>>& cores, NearestFeatures features, Vec3 normal) {
  constexpr int kMostSteps = 16;
  constexpr double kSettled = 1e-9, kMostTurn = 0.5, kNegative = -1e-6;
  double turned = kInfinity;
  for (int step = 0; step < kMostSteps; ++step) {
    const Tangent tangent(normal);
    Tangent back = tangent;
    back.normal = -normal;
    std::array<FeaturePoint, 3> first, second;
    std::array<Vec3, 3> between{};
    Bend bend;
    Vec3 all{};
    for (std::size_t k = 0; k < features.count; ++k) {
      const auto& pair = features.pairs[k];
      first[k] = cores.first.on(pair.first, tangent);
      second[k] = cores.second.on(pair.second, back);
      between[k] = second[k].at - first[k].at;
      bend = bend + (first[k].bend + second[k].bend) * pair.share;
      all = all + between[k] * pair.share;
    }
    if (turned < kSettled) {
      const auto one = cores.first.farthest(normal, {}), two = cores.second.farthest(-normal, {});
      Opposite found;
      found.way = {dot(two.at - one.at, normal), normal};
      const double distance = dot(all, normal);
      if (distance - found.way.gap > kExact * cores.rounding()) {  // others reach farther
        if (features.has(one.feature, two.feature)) return {};
        if (features.count == features.pairs.size()) features.drop_least();
        features.add(one.feature, two.feature, 0);
        turned = kInfinity;
      } else {
        found.length = std::sqrt(squared(all));
        found.aside = std::sqrt(squared(all - normal * distance));
        for (std::size_t k = 0; k < features.count; ++k) {
          found.on_first = found.on_first + first[k].at * features.pairs[k].share;
          found.on_second = found.on_second + second[k].at * features.pairs[k].share;
        }
        return found;
      }
    }
    const std::size_t count = features.count;
    FeatureStep newton(features, tangent, between, bend);
    if (!newton.find(features)) return {};
    if (features.count < count) continue;
    if (features.count > 1 && features.pairs[features.least()].share < kNegative) {
      features.drop_least();
      continue;
    }
    auto [x, y] = newton.turn();
    turned = std::hypot(x, y);
    if (!(turned < kInfinity)) return {};
    const double scale = turned > kMostTurn ? kMostTurn / turned : 1;
    normal = solid::unit(normal + tangent.x * (x * scale) + tangent.y * (y * scale));
  }
  return {};
}

// Where a flat round face of one looks at a point of the other, in about this direction.
template <KnowsFeatures Support>
std::optional<Opposite> opposite_face(const Cores<SupportCore<Support>>& cores, const Vec3& normal) {
  constexpr double kAbout = 0.9;
  for (const bool is_first : {true, false}) {
    const DiscFace face = is_first ? cores.first.facing(normal) : cores.second.facing(-normal);
    const double lean = dot(face.normal, normal);
    if (!(face.radius > 0) || !((is_first ? lean : -lean) > kAbout)) continue;
    const Vec3 at = (is_first ? cores.second : cores.first).farthest(-face.normal, {}).at;
    const double height = dot(at - face.centre, face.normal);
    const Vec3 below = at - face.normal * height;
    if (squared(below - face.centre) >= face.radius * face.radius) continue;
    const Vec3 way = is_first ? face.normal : -face.normal;
    return Opposite{{height, way}, std::fabs(height), 0, is_first ? below : at, is_first ? at : below};
  }
  return {};
}

// ---- Where features are not known, or lead nowhere ----

// Turns a direction to where the gap along it is the widest nearby: along the slope, with steps that grow while they
// gain; then, as faces and edges make ridges where that ends, by trying directions around it, closer and closer.
template <class Core>
WayOut widest_nearby(const Cores<Core>& cores, WayOut out) {
  constexpr int kMostSteps = 60;
  const double size = cores.first.size() + cores.second.size();
  double step = 1 / size;
  for (int k = 0; k < kMostSteps; ++k) {
    const Vec3 between = cores.second.farthest(-out.normal, {}).at - cores.first.farthest(out.normal, {}).at;
    const Vec3 slope = between - out.normal * dot(between, out.normal);
    if (!(squared(slope) * step * step > 0x1p-104)) break;
    const Vec3 normal = solid::unit(out.normal + slope * step);
    const double gap = cores.gap(normal);
    step *= gap > out.gap ? 2 : 0.25;
    if (gap > out.gap) out = {gap, normal};
  }
  for (double turn = 1e-2; turn > 1e-11;) {
    const Vec3 one = solid::perpendicular(out.normal), two = cross(out.normal, one);
    WayOut best = out;
    for (const Vec3& side : {one, two, one + two, one - two})
      for (const double sign : {turn, -turn}) {
        const Vec3 normal = solid::unit(out.normal + side * sign);
        if (const double gap = cores.gap(normal); gap > best.gap) best = {gap, normal};
      }
    turn *= best.gap > out.gap ? 2 : 0.25;
    out = best;
  }
  return out;
}

// Turns the way out of two curved cores to where it is the shortest nearby. Moved apart by s along the way n, until
// they are some room apart, they have a distance d, which is known, along a normal m: gap(m) = d - s dot(n, m), and d
// is at least gap(n) + s, so that the gap along m is at least as wide as that along n. The less room, the sooner it
// gets there, and the less is known of m.
template <class Core>
WayOut shortest_nearby(const Cores<Core>& cores, WayOut out) {
  const double size = cores.first.size() + cores.second.size();
  double room = 1e-2 * size;
  while (room > 1e-8 * size) {
    Core away = cores.second;
    away.move(out.normal * std::max(0.0, room - out.gap));
    const Search<Core> found =
        search(Cores<Core>{cores.first, away}, [](double, double) { return false; }, &out.normal);
    const Vec3 turn = found.normal - out.normal;
    WayOut best = out;
    for (double reach = 1;; reach *= 2) {  // farther in the same direction, as long as that gains
      const Vec3 normal = solid::unit(out.normal + turn * reach);
      const double gap = cores.gap(normal);
      if (!(gap > best.gap)) break;
      best = {gap, normal};
    }
    room *= best.gap > out.gap + cores.rounding() ? 0.7 : 0.03;
    out = best;
  }
  return out;
}

// The way out that EPA has found, which is known up to its steps, turned to where it is the shortest nearby.
template <class Support>
WayOut shortest_from(const Cores<SupportCore<Support>>& cores, const Expansion<SupportCore<Support>>& expansion,
                     const WayOut& out) {
  if constexpr (KnowsFeatures<Support>) {
    const double exact = kExact * cores.rounding();
    if (-out.gap - expansion.least() <= exact) return out;
    if (const auto face = opposite_face(cores, out.normal); face && face->way.gap >= out.gap) return face->way;
    NearestFeatures features;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto& corner = expansion.corner_of_face(k);
      features.add(corner.first.feature, corner.second.feature, 1.0 / 3);
    }
    const auto there = opposite_near(cores, features, out.normal);
    if (there && there->way.gap >= out.gap - exact && there->aside <= exact) return there->way;
  }
  return shortest_nearby(cores, out);
}

// Of curved cores the search may end early, where its simplex gets so flat that rounding hides its nearest point: it
// goes on along the direction of the widest gap nearby.
template <class Core>
void go_on(const Cores<Core>& cores, Search<Core>& found) {
  constexpr int kMostSearches = 4;
  for (int k = 0; k < kMostSearches && found.upper - found.lower > kExact * cores.rounding(); ++k) {
    const WayOut wide = widest_nearby(cores, {found.lower, found.normal});
    const Search<Core> other = search(cores, [](double, double) { return false; }, &wide.normal);
    if (other.upper < found.upper) {
      found.upper = other.upper;
      found.simplex = other.simplex;
    }
    if (wide.gap > found.lower) {
      found.lower = wide.gap;
      found.normal = wide.normal;
    }
    if (other.lower > found.lower) {
      found.lower = other.lower;
      found.normal = other.normal;
    }
  }
}

// Where EPA finds no way out, as of cores without volume, the best near some directions.
template <class Support>
WayOut undecided_gap(const Cores<SupportCore<Support>>& cores, const Search<SupportCore<Support>>& found) {
  using Growth = Expansion<SupportCore<Support>>;
  typename Growth::template Room<256> room;
  Growth expansion(room, false);
  WayOut out{cores.gap(found.normal), found.normal};
  if (found.upper - out.gap <= kExact * cores.rounding()) return out;
  out = {};
  if (expand_from(cores, found, expansion, true, out)) return shortest_from(cores, expansion, out);
  constexpr std::size_t kTried = 4;
  std::array<WayOut, 15> ways{WayOut{cores.gap(out.normal), out.normal}};
  std::size_t count = 1;
  for (const Vec3& way : {found.normal, Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}, kAxes[0], kAxes[1], kAxes[2]})
    for (const Vec3& normal : {way, -way}) ways[count++] = {cores.gap(normal), normal};
  std::stable_sort(ways.begin(), ways.end(), [](const WayOut& a, const WayOut& b) { return a.gap > b.gap; });
  for (std::size_t k = 0; k < kTried; ++k)
    if (const WayOut other = shortest_nearby(cores, ways[k]); k == 0 || other.gap > out.gap) out = other;
  return out;
}

// The gap of two cores of which one is curved.
template <class Support>
CoreGap gap_of(const Cores<SupportCore<Support>>& cores) {
  Search<SupportCore<Support>> found;
  if constexpr (KnowsFeatures<Support>) {
    constexpr double kRoughly = 0.01;
    found = search(cores, [](double lower, double upper) { return lower > 0 && upper - lower < kRoughly * upper; });
    if (found.relation == Relation::kApart) {
      const auto is_proven = [&](const std::optional<Opposite>& there) {
        return there && there->way.gap > 4 * cores.rounding() &&
               there->length - there->way.gap <= kExact * cores.rounding();
      };
      std::optional<Opposite> there = opposite_face(cores, found.normal);
      if (!is_proven(there)) {
        NearestFeatures features;
        for (std::size_t k = 0; k < found.simplex.count; ++k) {
          const auto& corner = found.simplex.corners[k];
          features.add(corner.first.feature, corner.second.feature, corner.share);
        }
        there = opposite_near(cores, features, found.normal);
      }
      if (is_proven(there)) return {there->way.gap, there->way.normal, true, there->on_first, there->on_second};
      found = search(cores, [](double, double) { return false; }, &found.normal);
    }
  } else {
    found = search(cores, [](double, double) { return false; });
  }
  if (found.relation != Relation::kApart) return gap_inside(undecided_gap(cores, found));
  go_on(cores, found);
  return gap_between(cores, found);
}

// ---- The plane: cores of it as prisms in space, so high that no way out leads along them ----

template <class Support>
struct Prism {
  static constexpr double kHeight = 8;  // of cores about 1 in size

  Support support;  // Vec<2>(const Vec<2>& way), where the way may be 0

  Vec3 operator()(const Vec3& way) const {
    const Vec<2> at = support(Vec<2>{way[0], way[1]});
    return {at[0], at[1], way[2] < 0 ? -kHeight : kHeight};
  }
};

template <class Support>
using PlaneCores = Cores<SupportCore<Prism<Support>>>;

inline Vec<2> in_plane(const Vec3& way) {
  const double length = std::hypot(way[0], way[1]);
  return {way[0] / length, way[1] / length};
}

// The ends of what two faces share, or one point: midway between the surfaces.
template <class Support>
Contact<2> plane_contact(const PlaneCores<Support>& cores, const CoreGap& gap) {
  Contact<2> contact;
  const double distance = gap.distance - cores.radii();
  contact.normal = in_plane(gap.normal);
  contact.depth = distance < 0 ? -distance : 0;
  const Vec3 normal{contact.normal[0], contact.normal[1], 0}, along{-normal[1], normal[0], 0};
  const auto end = [&](const auto& core, const Vec3& way, double side) {
    return dot(core.farthest(way + along * (side * kLean), {}).at, along);
  };
  const double lower = std::max(end(cores.first, normal, -1), end(cores.second, -normal, -1));
  const double upper = std::min(end(cores.first, normal, 1), end(cores.second, -normal, 1));
  const double top = cores.first.extent(normal).upper + cores.first.radius;
  const double bottom = cores.second.extent(normal).lower - cores.second.radius;
  const auto add = [&](double at) {
    contact.points[contact.count++] = {along[0] * at + normal[0] * (top + bottom) / 2,
                                       along[1] * at + normal[1] * (top + bottom) / 2};
  };
  if (upper - lower > kSame) {
    add(lower);
    add(upper);
  } else {
    add(gap.is_apart ? dot(gap.on_first + gap.on_second, along) / 2 : (lower + upper) / 2);
  }
  return contact;
}

}  // namespace broadphase::polytopes
