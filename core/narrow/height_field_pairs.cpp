// The narrow phase of a height field and another shape, in the frame of the field.
//
// A shape that is outside is as far from the field as from its outer surface: the triangles over its cells, the walls
// at its border, and the box from its bottom to its lowest height, whose top is inside or part of the surface. What is
// between two cells is no surface, so it has no normal either. A convex shape overlaps the field if it meets that
// surface or if any one of its points is inside.
//
// Depth: how far a shape must move, straight, so that it leaves the whole field. The ways that are tried are: up; out
// of the part of the surface that is nearest to the shape; across the steepest triangles that it overlaps; and out of
// the walls and the bottom. Where the shape comes free on such a way it touches the surface. The plane across the
// normal there tells of a shorter way, from which the search goes on until no way is shorter. So a depth is always that
// of a motion which ends the contact, the shortest nearby, but possibly not the shortest of all.
//
// C. Je, M. Tang, Y. Lee, M. Lee, Y. J. Kim, "PolyDepth: Real-time Penetration Depth Computation Using Iterative
// Contact-Space Projection", ACM Transactions on Graphics 31, 2012, doi:10.1145/2077341.2077346.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "narrow/half_spaces.hpp"
#include "narrow/height_field.hpp"
#include "narrow/meshes.hpp"
#include "narrow/nearest_face.hpp"
#include "narrow/polytope_core.hpp"
#include "narrow/support.hpp"

namespace broadphase::height_fields {

namespace {

using solid::Vec3, solid::operator+, solid::operator-, solid::operator*, solid::dot, solid::squared;
using Box = HeightField::Box;
using Corners = HeightField::Corners;

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kEnough = std::numeric_limits<double>::quiet_NaN();
// Of bounds of boxes, relative to the size of all that is compared.
constexpr double kRounding = 1e-13;
// Of detail::way_to_triangle, likewise.
constexpr double kSlack = 1e-11;

Element triangle_of(const Corners& corners) { return {{ShapeKind::kTriangle, corners}, nullptr}; }

Box box_of(const Corners& t) {
  Box box;
  for (std::size_t k = 0; k < 3; ++k) {
    box.lower[k] = std::min(std::min(t[k], t[3 + k]), t[6 + k]);
    box.upper[k] = std::max(std::max(t[k], t[3 + k]), t[6 + k]);
  }
  return box;
}

bool meet(const Box& a, const Box& b) {
  bool apart = false;
  for (std::size_t k = 0; k < 3; ++k) apart |= (a.lower[k] > b.upper[k]) | (b.lower[k] > a.upper[k]);
  return !apart;
}
double gap_between(const Box& a, const Box& b) {
  double sum = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double onwards = b.lower[k] - a.upper[k], back = a.lower[k] - b.upper[k], gap = std::max(onwards, back);
    sum += gap > 0 ? gap * gap : 0;
  }
  return std::sqrt(sum);
}
double size_of(const Box& box) {
  double size = 0;
  for (std::size_t k = 0; k < 3; ++k) size = std::max({size, std::abs(box.lower[k]), std::abs(box.upper[k])});
  return size;
}
Box grown(Box box, double by) {
  for (std::size_t k = 0; k < 3; ++k) box.lower[k] -= by, box.upper[k] += by;
  return box;
}
Box joined(Box box, const Box& other) {
  for (std::size_t k = 0; k < 3; ++k) {
    box.lower[k] = std::min(box.lower[k], other.lower[k]);
    box.upper[k] = std::max(box.upper[k], other.upper[k]);
  }
  return box;
}
Box shifted(Box box, const Vec3& by) {
  box.lower = box.lower + by;
  box.upper = box.upper + by;
  return box;
}
// How far a box reaches back along a vector.
double lowest_of(const Box& box, const Vec3& way) {
  double lowest = 0;
  for (std::size_t k = 0; k < 3; ++k) lowest += way[k] * (way[k] > 0 ? box.lower[k] : box.upper[k]);
  return lowest;
}
// When a box that moves first meets another one, if it does before the end; else infinite.
double entry_of(const Box& moving, const Vec3& motion, const Box& still) {
  double begin = 0, end = 1;
  for (std::size_t k = 0; k < 3; ++k) {
    const double low = still.lower[k] - moving.upper[k], high = still.upper[k] - moving.lower[k];
    if (motion[k] == 0) {
      if (low > 0 || high < 0) return kNone;
      continue;
    }
    begin = std::max(begin, (motion[k] > 0 ? low : high) / motion[k]);
    end = std::min(end, (motion[k] > 0 ? high : low) / motion[k]);
  }
  return begin <= end ? begin : kNone;
}

// The numbers of a convex shape.
struct Record {
  std::array<double, 19> numbers;  // as of a hull, which has most
  std::size_t count = 0;

  void take(std::span<const double> record) {
    assert(record.size() <= numbers.size());
    count = record.size();
    std::copy(record.begin(), record.end(), numbers.begin());
  }
  std::span<double> span() { return {numbers.data(), count}; }
};

// Where the field is.
class Frame {
 public:
  explicit Frame(const MeshSide& side) {
    for (std::size_t k = 0; k < 3; ++k) {
      origin_[k] = side.origin(k);
      axes_[k] = side.axis(k);
      for (std::size_t i = 0; i < 3; ++i) is_turned_ |= axes_[k][i] != (i == k ? 1.0 : 0.0);
    }
  }
  bool is_turned() const { return is_turned_; }
  const Vec3& origin() const { return origin_; }
  Vec3 own_way(const Vec3& way) const {
    return is_turned_ ? Vec3{dot(axes_[0], way), dot(axes_[1], way), dot(axes_[2], way)} : way;
  }
  Vec3 own(const Vec3& at) const { return own_way(at - origin_); }
  Vec3 way(const Vec3& own) const {
    return is_turned_ ? axes_[0] * own[0] + axes_[1] * own[1] + axes_[2] * own[2] : own;
  }
  Vec3 place(const Vec3& own) const { return way(own) + origin_; }
  // Whether it is that of the world.
  bool is_world() const { return !is_turned_ && solid::is_zero(origin_); }
  // A placed record of a convex shape in this frame. The kind may become that of a box along the axes, or be one no
  // more.
  ShapeView<3> bring(const ShapeView<3>& shape, Record& to) const {
    ShapeKind kind = shape.kind;
    to.take(shape.record);
    if (kind == ShapeKind::kBox && is_turned_) {
      to.count = 15;
      to.numbers.fill(0.0);
      for (std::size_t k = 0; k < 3; ++k) {
        to.numbers[k] = shape.record[k] / 2 + shape.record[3 + k] / 2;
        to.numbers[3 + k] = shape.record[3 + k] / 2 - shape.record[k] / 2;
        to.numbers[6 + 4 * k] = 1;
      }
      kind = ShapeKind::kOrientedBox;
    }
    const Vec3 back = -origin_;
    shift_shape<3>(kind, to.span(), back.data());
    if (!is_turned_) return {kind, to.span()};
    constexpr Vec3 kHere{};
    Pose<3> pose(kHere.data(), nullptr);
    pose.is_turned = true;
    for (std::size_t i = 0; i < 3; ++i)
      std::copy_n(axes_[i].begin(), 3, pose.matrix.begin() + 3 * static_cast<std::ptrdiff_t>(i));
    Record from = to;
    kind = place_shape<3>(kind, from.span(), pose, to.numbers.data());
    if (kind == ShapeKind::kBox) to.count = 6;
    return {kind, to.span()};
  }

 private:
  Vec3 origin_;
  std::array<Vec3, 3> axes_;
  bool is_turned_ = false;
};

// A convex shape in the frame of the field, and the box around it.
struct Part {
  Element element;
  Box box;
  bool is_ball;  // or a point

  explicit Part(const Element& of)
      : element(of), is_ball(of.shape.kind == ShapeKind::kBall || of.shape.kind == ShapeKind::kPoint) {
    ShapeBounds<3> bounds;
    add_bounds<3>(of.shape, bounds);
    box = {bounds.lower, bounds.upper};
  }
  // Moved; `numbers` is the storage of its record.
  Part(const Part& of, const Vec3& by, Record& numbers)
      : element(of.element), box(shifted(of.box, by)), is_ball(of.is_ball) {
    numbers.take(of.element.shape.record);
    shift_shape<3>(of.element.shape.kind, numbers.span(), by.data());
    element.shape.record = numbers.span();
  }
  // A lower bound of the distance from a box.
  double gap_to(const Box& other) const {
    if (!is_ball) return gap_between(box, other);
    const Vec3 middle = inner();
    return gap_between({middle, middle}, other) - radius_of(element.shape);
  }
  // Any point of it; of a ball, its middle.
  Vec3 inner() const {
    if (element.polytope == nullptr) return solid::vector_at(element.shape.record, 0);
    const Polytope& hull = *element.polytope;
    const Vec3 corner = hull.corner(0) * std::ldexp(1.0, hull.exponent());
    Vec3 at = solid::vector_at(element.shape.record, 1);
    for (std::size_t k = 0; k < 3; ++k) at = at + solid::vector_at(element.shape.record, 4 + 3 * k) * corner[k];
    return at;
  }
};

double highest_along(const Part& part, const Vec3& way) {
  const ShapeView<3>& shape = part.element.shape;
  if (!is_curved(shape)) return extent_along(part.element, way).upper;
  return dot(solid::vector_at(shape.record, 0) + farthest_of<3>(shape, way), way);
}

struct Nearest {
  double distance = kNone;
  Vec3 normal{};                      // from the shape to the field
  std::optional<Corners> triangle{};  // where they are nearest; nothing: the box below the lowest height
};

// The queries on one convex shape.
class Terrain {
 public:
  explicit Terrain(const HeightField& field) : field_(field), box_(field.box()), base_(field.base()) {
    std::copy_n(base_.lower.begin(), 3, base_numbers_.begin());
    std::copy_n(base_.upper.begin(), 3, base_numbers_.begin() + 3);
    size_ = size_of(box_);
  }
  const HeightField& field() const { return field_; }
  const Box& box() const { return box_; }
  Element base() const { return {{ShapeKind::kBox, base_numbers_}, nullptr}; }

  // Calls visit(triangle, box) for those of the outer surface whose boxes meet one, until it returns false.
  template <class Visit>
  void each_meeting(const Box& box, const Visit& visit) const {
    field_.walk(
        field_.window(box), 0.0, [&](const Box& block) { return meet(block, box) ? 0.0 : 1.0; },
        [&](std::size_t row, std::size_t column) {
          const bool goes_on = field_.each_triangle(row, column, [&](const Corners& corners) {
            const Box around = box_of(corners);
            return !meet(around, box) || visit(corners, around);
          });
          return goes_on ? 0.0 : kEnough;
        });
  }

  bool overlaps(const Part& part) const {
    if (is_half_space(part.element.shape)) return lowest_above(HalfSpace<3>(part.element.shape), 0.0) <= 0;
    if (!meet(part.box, box_)) return false;
    if (field_.contains(part.inner())) return true;
    if (meet(part.box, base_) && broadphase::overlaps(part.element, base())) return true;
    bool found = false;
    const double spare = kRounding * (size_of(part.box) + size_);
    field_.walk(
        field_.window(part.box), spare, [&](const Box& block) { return part.gap_to(block); },
        [&](std::size_t row, std::size_t column) {
          const bool goes_on = field_.each_triangle(row, column, [&](const Corners& corners) {
            found = part.gap_to(box_of(corners)) <= spare && broadphase::overlaps(part.element, triangle_of(corners));
            return !found;
          });
          return goes_on ? spare : kEnough;
        });
    return found;
  }

  // A lower bound of the distance of anything in a box; any number above the limit, if it is above that.
  double bound_of(const Box& box, double limit) const {
    const double spare = kRounding * (size_of(box) + size_);
    double least = std::min(limit, gap_between(box, base_));
    field_.walk(
        least < kNone ? field_.window(grown(box, least)) : field_.all(), least,
        [&](const Box& block) { return gap_between(box, block); },
        [&](std::size_t row, std::size_t column) {
          least = std::min(least, gap_between(box, field_.cell_box(row, column)));
          return least > 0 ? least : kEnough;
        });
    return least - spare;
  }

  // The signed distance, if it is within a limit. Stops as soon as it is known to be at most `enough`, below 0 the
  // depth counts.
  Nearest nearest(const Part& part, double within, double enough) const {
    Nearest best;
    if (is_half_space(part.element.shape)) {
      const HalfSpace<3> below(part.element.shape);
      const double height = lowest_above(below, enough);
      return height <= within ? Nearest{height, below.normal, {}} : best;
    }
    const bool is_inside = meet(part.box, box_) && field_.contains(part.inner());
    // From inside, the nearest of the surface is where the search for a way out begins, however far it is.
    const double most = is_inside ? kNone : within;
    double limit = most, reach = kNone;
    const double spare = kRounding * (size_of(part.box) + size_);
    const auto keep = [&](const Element& with, const Corners* corners) {
      Vec3 normal;
      const double distance = signed_distance(part.element, with, &normal);
      if (!(distance < best.distance && distance <= most)) return;
      best = {distance, normal, corners != nullptr ? std::optional(*corners) : std::nullopt};
      limit = std::min(limit, distance);
      reach = highest_along(part, normal);
    };
    // How far what is in a box is away; at least as far as along the direction of what is nearest so far.
    const auto bound = [&](const Box& box) {
      double along = -reach;
      for (std::size_t k = 0; k < 3; ++k) along += best.normal[k] * (best.normal[k] > 0 ? box.lower[k] : box.upper[k]);
      if (part.is_ball && part.gap_to(box) - spare > limit) return kNone;
      return std::max(gap_between(part.box, box), along) - spare;
    };
    // Few triangles need more than that.
    const Vec3 middle = part.inner();
    const double beside = radius_of(part.element.shape) + kSlack * (size_of(part.box) + size_);
    const auto is_beyond = [&](const Corners& t) {
      if (!part.is_ball) return extent_along(t, best.normal).lower - reach - spare > limit;
      const double most_apart = limit + beside;
      return squared(detail::way_to_triangle(middle, t.data(), t.data() + 3, t.data() + 6)) > most_apart * most_apart;
    };
    if (!is_inside || enough < 0) {
      if (bound(base_) <= limit) keep(base(), nullptr);
      field_.walk(limit < kNone ? field_.window(grown(part.box, std::max(0.0, limit) + spare)) : field_.all(), limit,
                  bound, [&](std::size_t row, std::size_t column) {
                    field_.each_triangle(row, column, [&](const Corners& corners) {
                      if (bound(box_of(corners)) <= limit && !is_beyond(corners)) keep(triangle_of(corners), &corners);
                      return true;
                    });
                    return best.distance <= enough || best.distance <= 0 ? kEnough : limit;
                  });
    }
    if (!is_inside && !(best.distance <= 0)) return best;
    if (enough >= 0) {
      best.distance = std::min(best.distance, 0.0);
      return best;
    }
    const Vec3 nearest = is_inside ? best.normal : -best.normal;
    const WayOut out = way_out(part, best.distance < kNone ? std::optional(nearest) : std::nullopt);
    best.distance = out.length > 0 ? -out.length : 0.0;
    best.normal = -out.way;
    return best;
  }

  // When a part that does not overlap the field first touches it; infinite if not before the end. Stops as soon as it
  // is known to be before `enough`.
  double first_touch(const Part& part, const Vec3& motion, Vec3* normal, double enough = -1) const {
    double first = kNone;
    if (is_half_space(part.element.shape)) {
      const HalfSpace<3> below(part.element.shape);
      const double speed = dot(below.normal, motion);
      if (!(speed > 0)) return first;
      *normal = below.normal;
      first = lowest_above(below, -kNone) / speed;
      return first <= 1 ? first : kNone;
    }
    const double spare = kRounding * (size_of(part.box) + size_of(shifted(part.box, motion)) + size_);
    const Box around = grown(part.box, spare);
    // How far the part reaches along the normal of what it touches first, as far as is known, and how fast it moves so.
    Vec3 way{};
    double reach = kNone, speed = 1;
    // Where it is then: what is ahead of it there, and apart, is not touched before.
    Record numbers;
    Part there = part;
    const double slack = kSlack / kRounding * spare;
    const bool is_capsule = traits_of(part.element.shape.kind).core == CoreForm::kSegment;
    const auto is_behind = [&](const Corners& t) {
      if (first == kNone || !(part.is_ball || is_capsule)) return false;  // of others, that takes as long as the impact
      if (is_capsule) {
        Vec3 ahead;
        return signed_distance(there.element, triangle_of(t), &ahead) > slack && dot(ahead, motion) >= 0;
      }
      const Vec3 ahead = detail::way_to_triangle(there.inner(), t.data(), t.data() + 3, t.data() + 6);
      const double apart = radius_of(part.element.shape) + slack;
      return squared(ahead) > apart * apart && dot(ahead, motion) >= 0;
    };
    const auto keep = [&](const Element& with) {
      Vec3 found;
      const double time = broadphase::impact_time(part.element, motion, with, &found);
      if (!(time < first)) return;
      first = time;
      *normal = found;
      there = Part(part, motion * first, numbers);
      if (!(dot(found, motion) > 0)) return;
      way = found;
      speed = dot(way, motion);
      reach = highest_along(part, way) + spare;
    };
    const auto bound = [&](const Box& box) {
      if (part.is_ball && first < kNone && lowest_of(box, motion) >= dot(there.inner(), motion) &&
          there.gap_to(box) > spare)
        return kNone;
      return std::max(entry_of(around, motion, box), (lowest_of(box, way) - reach) / speed);
    };
    if (bound(base_) < kNone) keep(base());
    field_.walk(field_.window(joined(around, shifted(around, motion))), std::min(first, 1.0), bound,
                [&](std::size_t row, std::size_t column) {
                  field_.each_triangle(row, column, [&](const Corners& corners) {
                    const double limit = std::min(first, 1.0);
                    if (bound(box_of(corners)) <= limit && extent_along(corners, way).lower - reach <= limit * speed &&
                        !is_behind(corners))
                      keep(triangle_of(corners));
                    return true;
                  });
                  return first < enough ? kEnough : std::min(first, 1.0);
                });
    return first;
  }

  // How low the field reaches above a half space, exactly if that is more than `enough`: the lowest of its corners.
  double lowest_above(const HalfSpace<3>& below, double enough) const {
    double lowest = kNone;
    each_corner(below, kNone, [&](const Vec3&, double height) {
      lowest = std::min(lowest, height);
      return lowest <= enough ? kEnough : lowest;
    });
    return lowest;
  }
  // Calls visit(corner, height above a half space) for corners of the field whose height is at most a limit, and for
  // some that are higher. `visit` returns the new limit; NaN ends it.
  template <class Visit>
  void each_corner(const HalfSpace<3>& below, double limit, const Visit& visit) const {
    const auto look = [&](const Vec3& at) {
      const double height = below.height(at.data());
      if (height <= limit) limit = visit(at, height);
      return limit == limit;
    };
    for (std::size_t c = 0; c < 8; ++c)
      if (!look({c & 1 ? base_.upper[0] : base_.lower[0], c & 2 ? base_.upper[1] : base_.lower[1],
                 c & 4 ? base_.upper[2] : base_.lower[2]}))
        return;
    const double spare = kRounding * (size_ + solid::magnitude(below.at));
    field_.walk(
        field_.all(), limit,
        [&](const Box& box) {
          Vec3 corner;
          for (std::size_t k = 0; k < 3; ++k) corner[k] = below.normal[k] > 0 ? box.lower[k] : box.upper[k];
          return below.height(corner.data()) - spare;
        },
        [&](std::size_t row, std::size_t column) {
          field_.each_triangle(row, column, [&](const Corners& t) {
            return look({t[0], t[1], t[2]}) && look({t[3], t[4], t[5]}) && look({t[6], t[7], t[8]});
          });
          return limit;
        });
  }

  // Points of the contact of a part, in order of their depth.
  void put_points(const Part& part, Contact<3>& contact) const;

 private:
  struct WayOut {
    double length = kNone;
    Vec3 way{0, 0, 1};
  };

  // How far a part must move along a unit vector so that it leaves the field for good, and the outward normal where it
  // does; some number from `most` on, if it is not less than that.
  double length_of_way(const Part& part, const Vec3& way, double most, Vec3* normal) const {
    // Beyond the box around the field.
    double past = kNone, size = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      size += part.box.upper[k] - part.box.lower[k];
      if (way[k] != 0)
        past = std::min(past,
                        (way[k] > 0 ? box_.upper[k] - part.box.lower[k] : box_.lower[k] - part.box.upper[k]) / way[k]);
    }
    *normal = way;
    if (!(past > 0)) return 0;
    Record numbers;
    // Most ways are no shorter than the best so far, and there the part is still in the field.
    if (most < past && overlaps(Part(part, way * most, numbers))) return most;
    double length = past + size + 0x1p-20 * (size_ + size);
    for (int round = 0; round < 2; ++round) {
      Vec3 at_touch;
      const double time = first_touch(Part(part, way * length, numbers), way * -length, &at_touch, 1 - most / length);
      if (!(time < 1)) return 0;
      *normal = -at_touch;
      const double found = length * (1 - time);
      if (found >= most) return found;
      // From near by, so that little is rounded.
      constexpr double kFar = 16;
      const double nearer = found + size;
      if (length < kFar * nearer || !(size > 0)) return found;
      length = nearer;
    }
    return length;  // not reached
  }

  WayOut way_out(const Part& part, const std::optional<Vec3>& nearest) const {
    const double spare = kRounding * (size_of(part.box) + size_);
    WayOut best;
    std::vector<Vec3> tried;
    const auto look = [&](Vec3 way) {
      constexpr int kMostSteps = 8;
      constexpr double kSame = 1e-9;
      for (int step = 0; step < kMostSteps; ++step) {
        const auto is_same = [&](const Vec3& other) { return squared(way - other) <= kSame * kSame; };
        if (std::any_of(tried.begin(), tried.end(), is_same)) return;
        tried.push_back(way);
        Vec3 normal;
        const double length = length_of_way(part, way, best.length - spare, &normal);
        if (!(length < best.length - spare)) return;
        best = {length, way};
        if (!(length > 0 && dot(way, normal) > 0)) return;
        way = normal;
      }
    };
    look({0, 0, 1});
    if (nearest && best.length > 0) look(*nearest);
    if (best.length > 0) {
      // The steepest triangles, on all four sides.
      std::array<Vec3, 4> steepest{};
      std::array<double, 4> slopes{};
      std::size_t left = kMostLookedAt;
      each_meeting(part.box, [&](const Corners& t, const Box&) {
        const Vec3 p{t[0], t[1], t[2]}, u = Vec3{t[3], t[4], t[5]} - p, v = Vec3{t[6], t[7], t[8]} - p;
        const Vec3 across = solid::cross(u, v);
        const double length = std::sqrt(squared(across));
        if (!(length > 0)) return true;
        const Vec3 normal = across * (1 / length);
        for (std::size_t k = 0; k < 4; ++k) {
          const double slope = k % 2 == 0 ? normal[k / 2] : -normal[k / 2];
          if (slope <= slopes[k] + kLeast) continue;
          // Where the part is less deep than on the best way.
          const double depth = dot(p, normal) + highest_along(part, -normal);
          if (!(depth >= 0 && depth < best.length) || !broadphase::overlaps(part.element, triangle_of(t))) continue;
          slopes[k] = slope;
          steepest[k] = normal;
        }
        return --left > 0;
      });
      for (const Vec3& way : steepest)
        if (!solid::is_zero(way)) look(way);
    }
    for (std::size_t k = 0; k < 3; ++k)
      for (const double sign : {-1.0, 1.0}) {
        if (k == 2 && sign > 0) continue;
        const double past = sign > 0 ? part.box.upper[k] - box_.upper[k] : box_.lower[k] - part.box.lower[k];
        const double until = sign > 0 ? box_.upper[k] - part.box.lower[k] : part.box.upper[k] - box_.lower[k];
        if (!(past > 0 || until < best.length)) continue;
        Vec3 way{};
        way[k] = sign;
        look(way);
      }
    return best;
  }

  // Of the triangles that a part overlaps, so many are looked at for the steepest.
  static constexpr std::size_t kMostLookedAt = 4096;
  static constexpr double kLeast = 1e-3;

  const HeightField& field_;
  Box box_, base_;
  std::array<double, 6> base_numbers_{};
  double size_;
};

// What faces the shape: the outline of its highest corners along the normal is clipped by each triangle that faces it.
void Terrain::put_points(const Part& part, Contact<3>& contact) const {
  using polytopes::Outline, polytopes::Place;
  const Vec3& normal = contact.normal;
  if (is_half_space(part.element.shape)) {
    // Of the lowest corners, those that reach the farthest in eight directions.
    constexpr std::size_t kWays = 8;
    const HalfSpace<3> below(part.element.shape);
    const polytopes::Across across(normal);
    Vec3 lowest{};
    double least = kNone;
    each_corner(below, kNone, [&](const Vec3& at, double height) {
      if (height < least) lowest = at;
      least = std::min(least, height);
      return least;
    });
    std::array<Vec3, kWays> corners;
    std::array<double, kWays> reaches;
    corners.fill(lowest);
    reaches.fill(0);
    const double limit = least + polytopes::kFlat * size_;
    each_corner(below, limit, [&](const Vec3& at, double) {
      const Place seen = across.place(at - lowest);
      for (std::size_t k = 0; k < kWays; ++k) {
        constexpr std::array<Place, kWays> kSides{
            {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1}}};
        const double reach = seen[0] * kSides[k][0] + seen[1] * kSides[k][1];
        if (!(reach > reaches[k])) continue;
        reaches[k] = reach;
        corners[k] = at;
      }
      return limit;
    });
    Outline places{Place{}};
    std::vector<Vec3> found{lowest};
    for (const Vec3& at : corners)
      if (std::find(found.begin(), found.end(), at) == found.end()) {
        found.push_back(at);
        places.push_back(across.place(at - lowest));
      }
    const Outline all = places;
    polytopes::keep_four(places);
    for (const Place& place : places) {
      const Vec3& at = found[static_cast<std::size_t>(std::find(all.begin(), all.end(), place) - all.begin())];
      contact.points[contact.count++] = at - normal * (below.height(at.data()) / 2);
    }
    return;
  }
  double size = 0;
  for (std::size_t k = 0; k < 3; ++k) size = std::max(size, part.box.upper[k] - part.box.lower[k]);
  const polytopes::Frame frame(part.inner(), size > 0 ? std::clamp(std::ilogb(size) + 1, -900, 900) : 0);
  const polytopes::Across across(normal);
  Outline outline;
  double top = 0;
  const auto take = [&](const auto& core) {
    outline = polytopes::outline_of(core, normal, across);
    top = core.extent(normal).upper + core.radius;
  };
  if (is_curved(part.element.shape))
    take(polytopes::ElementSupport(part.element, frame).core());
  else
    take(polytopes::Core(part.element, frame));
  struct Found {
    Place place;
    double depth;
  };
  std::vector<Found> found;
  const double depth = contact.depth * frame.to;
  if (outline.size() > 1) {
    const auto clip = [&](const Corners& t) {
      std::array<Vec3, 3> corners;
      for (std::size_t k = 0; k < 3; ++k)
        corners[k] = (Vec3{t[3 * k], t[3 * k + 1], t[3 * k + 2]} - frame.origin) * frame.to;
      const Vec3 outwards = solid::cross(corners[1] - corners[0], corners[2] - corners[0]);
      const double slope = dot(outwards, normal);
      if (!(slope < 0)) return true;
      Outline face;
      for (const Vec3& corner : corners) face.push_back(across.place(corner));
      if (polytopes::turn(face[0], face[1], face[2]) < 0) std::swap(face[1], face[2]);
      for (const Place& place : polytopes::common_of(outline, face)) {
        const double height = dot(outwards, corners[0] - across.point(place)) / slope, deep = top - height;
        if (deep >= -polytopes::kFlat && deep <= depth + polytopes::kFlat) found.push_back({place, deep});
      }
      return true;
    };
    each_meeting(grown(part.box, polytopes::kFlat * size), [&](const Corners& t, const Box&) { return clip(t); });
    // Of the box below, only its sides and its bottom are surface.
    if (meet(grown(part.box, polytopes::kFlat * size), base_))
      for (std::size_t k = 0; k < 3; ++k)
        for (const bool is_upper : {false, true}) {
          if (k == 2 && is_upper) continue;
          std::array<Vec3, 4> quad;
          const std::size_t u = (k + 1) % 3, v = (k + 2) % 3;
          for (std::size_t c = 0; c < 4; ++c) {
            quad[c][k] = is_upper ? base_.upper[k] : base_.lower[k];
            quad[c][u] = (c == 1 || c == 2) == is_upper ? base_.upper[u] : base_.lower[u];
            quad[c][v] = c < 2 ? base_.lower[v] : base_.upper[v];
          }
          for (const std::size_t c : {std::size_t{1}, std::size_t{2}}) {
            Corners t;
            std::copy_n(quad[0].begin(), 3, t.begin());
            std::copy_n(quad[c].begin(), 3, t.begin() + 3);
            std::copy_n(quad[c + 1].begin(), 3, t.begin() + 6);
            clip(t);
          }
        }
  }
  const auto put = [&](const Place& place, double deep) {
    const Vec3 at = across.point(place) + normal * (top - deep / 2);
    contact.points[contact.count++] = at * frame.back + frame.origin;
  };
  Place middle{};
  const std::size_t corners = found.empty() ? outline.size() : found.size();
  for (std::size_t k = 0; k < corners; ++k)
    for (std::size_t i = 0; i < 2; ++i)
      middle[i] += (found.empty() ? outline[k] : found[k].place)[i] / static_cast<double>(corners);
  if (found.empty()) {
    put(middle, depth);
    return;
  }
  // The deepest, of several the one farthest from the middle; then as polytopes::keep_four.
  constexpr double kSame = 1e-9;
  const auto square = [](const Place& a, const Place& b) {
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
  };
  const auto best = [&](const auto& value) {
    std::size_t at = 0;
    for (std::size_t k = 1; k < found.size(); ++k)
      if (value(found[k]) > value(found[at])) at = k;
    return at;
  };
  const double deepest = found[best([](const Found& one) { return one.depth; })].depth;
  const Place near =
      found[best([&](const Found& one) { return one.depth >= deepest - kSame ? square(one.place, middle) : -1.0; })]
          .place;
  const Place far = found[best([&](const Found& one) { return square(one.place, near); })].place;
  const auto side = [&](double sign) {
    return best([&](const Found& one) { return sign * polytopes::turn(near, far, one.place); });
  };
  std::vector<Place> kept;
  for (const std::size_t k :
       {best([&](const Found& one) { return one.depth >= deepest - kSame ? square(one.place, middle) : -1.0; }),
        best([&](const Found& one) { return square(one.place, near); }), side(1), side(-1)}) {
    const bool is_kept = std::any_of(
        kept.begin(), kept.end(), [&](const Place& place) { return square(place, found[k].place) <= kSame * kSame; });
    if (is_kept) continue;
    kept.push_back(found[k].place);
    put(found[k].place, found[k].depth);
  }
}

// Calls visit(part, face) for convex parts of a shape in the frame of the field: those of a compound; the triangles of
// a mesh, the balls of a cloud, and the triangles of the outer surface of another field, in boxes whose bound is within
// the limit, nearest first. bound(box, limit): any number above the limit leaves all in the box out. visit(part, face,
// corners), the corners of a triangle in its own frame, or null, returns the new limit; NaN ends it.
template <class Bound, class Visit>
void each_part(const MeshSide& side, const Frame& frame, double limit, const Bound& bound, const Visit& visit) {
  if (!side.has_tree() && !side.is_field()) {
    const Element& alone = side.alone();
    Record numbers;
    for_each_simple<3>(alone.shape, [&](const ShapeView<3>& part) {
      const ShapeView<3> own = frame.is_world() ? part : frame.bring(part, numbers);
      const double found = visit(Part({own, alone.polytope}), std::int32_t{-1}, nullptr);
      return found == found;
    });
    return;
  }
  // Its own frame as this one sees it.
  Vec3 origin;
  std::array<Vec3, 3> axes;
  for (std::size_t k = 0; k < 3; ++k) origin[k] = side.origin(k);
  origin = frame.own(origin);
  for (std::size_t k = 0; k < 3; ++k) axes[k] = frame.own_way(side.axis(k));
  const auto place = [&](const Vec3& own) { return origin + axes[0] * own[0] + axes[1] * own[1] + axes[2] * own[2]; };
  const auto around = [&](const Vec3& centre, const Vec3& half) {
    const Vec3 at = place(centre);
    Box box{at, at};
    for (std::size_t k = 0; k < 3; ++k) {
      const double reach =
          std::abs(axes[0][k]) * half[0] + std::abs(axes[1][k]) * half[1] + std::abs(axes[2][k]) * half[2];
      const double spare = kRounding * (std::abs(origin[k]) + std::abs(at[k]) + reach);
      box.lower[k] -= reach + spare;
      box.upper[k] += reach + spare;
    }
    return box;
  };
  const auto see = [&](const double* own, std::int32_t face) {
    Corners corners;
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec3 at = place({own[3 * c], own[3 * c + 1], own[3 * c + 2]});
      std::copy_n(at.begin(), 3, corners.begin() + 3 * static_cast<std::ptrdiff_t>(c));
    }
    return visit(Part(triangle_of(corners)), face, own);
  };
  if (side.is_field()) {
    const HeightField& other = side.field();
    const Box base = other.base();
    std::array<double, 15> box{};
    for (std::size_t k = 0; k < 3; ++k) box[3 + k] = base.upper[k] / 2 - base.lower[k] / 2;
    const Vec3 centre = place(base.lower * 0.5 + base.upper * 0.5);
    std::copy_n(centre.begin(), 3, box.begin());
    for (std::size_t k = 0; k < 3; ++k)
      std::copy_n(axes[k].begin(), 3, box.begin() + 6 + 3 * static_cast<std::ptrdiff_t>(k));
    limit = visit(Part({{ShapeKind::kOrientedBox, box}, nullptr}), std::int32_t{-1}, nullptr);
    if (limit != limit) return;
    other.walk(
        other.all(), limit,
        [&](const Box& block) {
          return bound(around(block.lower * 0.5 + block.upper * 0.5, block.upper * 0.5 - block.lower * 0.5), limit);
        },
        [&](std::size_t row, std::size_t column) {
          other.each_triangle(row, column, [&](const Corners& corners) {
            limit = see(corners.data(), -1);
            return limit == limit;
          });
          return limit;
        });
    return;
  }
  const MeshUnits& units = side.units();
  const double unit = power_of_two(units.exponent);
  const auto see_face = [&](std::int32_t face) {
    std::array<double, 9> own;
    for (std::size_t c = 0; c < 3; ++c)
      std::copy_n(side.tree().corner(face, c), 3, own.begin() + 3 * static_cast<std::ptrdiff_t>(c));
    return see(own.data(), face);
  };
  const auto see_ball = [&](std::int32_t point) {
    const Vec3 centre = place(solid::vector_at({side.cloud().point(point), 3}, 0));
    const std::array<double, 4> ball{centre[0], centre[1], centre[2], side.radius()};
    return visit(Part({{ShapeKind::kBall, ball}, nullptr}), point, nullptr);
  };
  struct Entry {
    double bound;
    std::uint32_t first;  // as in MeshBlock
  };
  std::vector<Entry> stack{{-kNone, 0}};
  std::array<Entry, MeshBlock::kBoxes> children;
  while (!stack.empty()) {
    const Entry entry = stack.back();
    stack.pop_back();
    if (entry.bound > limit) continue;
    if ((entry.first & MeshBlock::kFace) != 0) {
      const auto first = static_cast<std::int32_t>(entry.first & ~MeshBlock::kFace);
      for (std::int32_t face = first; face < side.end_of(first); ++face)
        if (limit = side.is_cloud() ? see_ball(face) : see_face(face); limit != limit) return;
      continue;
    }
    const MeshBlock& block = side.blocks()[entry.first];
    std::size_t count = 0;
    for (std::size_t lane = 0; lane < block.count; ++lane) {
      Vec3 centre, half;
      for (std::size_t k = 0; k < 3; ++k) {
        centre[k] = units.middle[k] + static_cast<double>(block.centre[k][lane]) * unit;
        half[k] = static_cast<double>(block.half[k][lane]) * unit + side.radius();
      }
      children[count++] = {bound(around(centre, half), limit), block.first[lane]};
    }
    std::sort(children.begin(), children.begin() + static_cast<std::ptrdiff_t>(count),
              [](const Entry& a, const Entry& b) { return a.bound > b.bound; });
    stack.insert(stack.end(), children.begin(), children.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

// Whether the first is the field whose frame is used: of two, that which comes first in an order of their places and
// sizes.
bool leads(const MeshSide& a, const MeshSide& b) {
  if (!a.is_field() || !b.is_field()) return a.is_field();
  for (std::size_t k = 0; k < 3; ++k)
    if (a.origin(k) != b.origin(k)) return a.origin(k) < b.origin(k);
  const std::span<const double> one = a.alone().shape.record, other = b.alone().shape.record;
  for (std::size_t k = 4; k < one.size(); ++k)
    if (one[k] != other[k]) return one[k] < other[k];
  const HeightField &first = a.field(), &second = b.field();
  if (first.cell_rows() != second.cell_rows()) return first.cell_rows() < second.cell_rows();
  if (first.cell_columns() != second.cell_columns()) return first.cell_columns() < second.cell_columns();
  for (std::size_t row = 0; row <= first.cell_rows(); ++row)
    for (std::size_t column = 0; column <= first.cell_columns(); ++column)
      if (first.height(row, column) != second.height(row, column))
        return first.height(row, column) < second.height(row, column);
  return true;
}

// Whether some point of a field is inside another one: the corner of its bottom.
bool holds(const Terrain& terrain, const Frame& frame, const MeshSide& other) {
  const Vec3 corner = other.field().box().lower;
  return terrain.field().contains(frame.own(Frame(other).place(corner)));
}

struct NearestPart {
  Nearest nearest;  // in the frame of the field
  std::int32_t face = 0;
};

NearestPart nearest_part(const Terrain& terrain, const Frame& frame, const MeshSide& other, double within,
                         double enough) {
  NearestPart best;
  each_part(
      other, frame, within, [&](const Box& box, double limit) { return terrain.bound_of(box, limit); },
      [&](const Part& part, std::int32_t face, const double*) {
        // Of parts that overlap, each may be the deepest.
        const auto limit = [&] { return std::min(within, std::max(0.0, best.nearest.distance)); };
        Nearest found = terrain.nearest(part, limit(), enough);
        if (found.distance < best.nearest.distance) best = {std::move(found), std::max(face, std::int32_t{0})};
        return best.nearest.distance <= enough ? kEnough : limit();
      });
  return best;
}

// Of a field with another shape, the first field being the one whose frame is used.
NearestPart nearest_of(const MeshSide& field, const MeshSide& other, double within, double enough) {
  const Frame frame(field);
  NearestPart best = nearest_part(Terrain(field.field()), frame, other, within, enough);
  if (!other.is_field() || best.nearest.distance <= 0) return best;
  // Their surfaces do not meet, but the other may hold the first.
  const Frame there(other);
  const Terrain terrain(other.field());
  if (!holds(terrain, there, field)) return best;
  best = nearest_part(terrain, there, field, within, enough);
  best.nearest.normal = frame.own_way(there.way(-best.nearest.normal));
  best.nearest.triangle.reset();
  return best;
}

}  // namespace

void visit_overlapping(const MeshSide& field, const MeshSide& other, const std::function<bool(std::int32_t)>& visit) {
  const bool turns = !leads(field, other);
  const MeshSide &first = turns ? other : field, &second = turns ? field : other;
  const Frame frame(first);
  const Terrain terrain(first.field());
  bool found = false;
  each_part(
      second, frame, 0.0, [&](const Box& box, double limit) { return terrain.bound_of(box, limit); },
      [&](const Part& part, std::int32_t face, const double*) {
        if (!terrain.overlaps(part)) return 0.0;
        found = true;
        return visit(second.row_of(face)) || !second.is_mesh() ? kEnough : 0.0;
      });
  if (!found && second.is_field() && holds(Terrain(second.field()), Frame(second), first)) visit(-1);
}

NearestElements nearest_elements(const MeshSide& a, const MeshSide& b, double within, double enough) {
  const bool turns = leads(a, b);
  const MeshSide &field = turns ? a : b, &other = turns ? b : a;
  const NearestPart found = nearest_of(field, other, within, enough);
  NearestElements result;
  if (!(found.nearest.distance <= within)) return result;
  result.distance = found.nearest.distance;
  result.normal = Frame(field).way(turns ? -found.nearest.normal : found.nearest.normal);
  (turns ? result.second : result.first) = found.face;
  return result;
}

Contact<3> contact(const MeshSide& a, const MeshSide& b) {
  const bool turns = leads(a, b);
  const MeshSide &field = turns ? a : b, &other = turns ? b : a;
  const Frame frame(field);
  const Terrain terrain(field.field());
  NearestPart best;
  Record numbers;
  ShapeKind kind = ShapeKind::kPoint;
  const Polytope* polytope = nullptr;
  const auto look = [&](const Part& part, std::int32_t face, const double*) {
    Nearest found = terrain.nearest(part, kNone, -kNone);
    if (found.distance < best.nearest.distance) {
      best = {std::move(found), face};
      numbers.take(part.element.shape.record);
      kind = part.element.shape.kind;
      polytope = part.element.polytope;
    }
    return 0.0;
  };
  each_part(
      other, frame, 0.0, [&](const Box& box, double limit) { return terrain.bound_of(box, std::max(limit, 0.0)); },
      look);
  Contact<3> result;
  if (numbers.count == 0 || (other.is_field() && best.nearest.distance > 0)) {
    // The other field holds this one.
    const NearestPart found = nearest_of(field, other, kNone, -kNone);
    result.normal = found.nearest.normal;
    result.depth = std::max(0.0, -found.nearest.distance);
    result.points[result.count++] = field.field().box().lower;
  } else {
    result.normal = best.nearest.normal;
    result.depth = std::max(0.0, -best.nearest.distance);
    terrain.put_points(Part({{kind, numbers.span()}, polytope}), result);
  }
  result.normal = frame.way(turns ? -result.normal : result.normal);
  for (std::size_t k = 0; k < result.count; ++k) result.points[k] = frame.place(result.points[k]);
  return result;
}

double impact_time(const MeshSide& a, const Vec<3>& motion, const MeshSide& b, Vec<3>* normal) {
  const NearestElements begin = height_fields::nearest_elements(a, b, 0.0, -kNone);
  if (begin.distance <= 0) {
    *normal = begin.normal;
    return 0;
  }
  const bool turns = leads(a, b);
  const MeshSide &field = turns ? a : b, &other = turns ? b : a;
  const Frame frame(field);
  const Terrain terrain(field.field());
  const Vec3 own = frame.own_way(turns ? -motion : motion);
  double first = kNone;
  Vec3 way{};
  const double size = size_of(terrain.box());
  each_part(
      other, frame, 1.0,
      [&](const Box& box, double) {
        const double spare = kRounding * (size + size_of(box) + size_of(shifted(box, own)));
        return entry_of(grown(box, spare), own, terrain.box());
      },
      [&](const Part& part, std::int32_t, const double*) {
        Vec3 found;
        if (const double time = terrain.first_touch(part, own, &found); time < first) {
          first = time;
          way = found;
        }
        return std::min(first, 1.0);
      });
  *normal = frame.way(turns ? -way : way);
  return first;
}

double ray_hit(const MeshSide& field, const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal) {
  const Frame frame(field);
  Vec3 own;
  const double time = field.field().ray_hit(frame.own(origin), frame.own_way(direction), &own);
  *normal = frame.way(own);
  return time;
}

std::pair<Vec<3>, Vec<3>> nearest_points(const MeshSide& a, const MeshSide& b) {
  const bool turns = leads(a, b);
  const MeshSide &field = turns ? a : b, &other = turns ? b : a;
  const Frame frame(field);
  const Terrain terrain(field.field());
  const NearestPart found = nearest_of(field, other, kNone, 0.0);
  if (found.nearest.distance <= 0) {
    const Contact<3> touching = height_fields::contact(a, b);
    return {touching.points[0], touching.points[0]};
  }
  // Of the part that is so near.
  double least = kNone;
  std::pair<Vec3, Vec3> points;
  each_part(
      other, frame, found.nearest.distance, [&](const Box& box, double limit) { return terrain.bound_of(box, limit); },
      [&](const Part& part, std::int32_t, const double*) {
        const Nearest nearest = terrain.nearest(part, std::min(found.nearest.distance, least), 0.0);
        if (nearest.distance < least) {
          least = nearest.distance;
          const Element with = nearest.triangle ? triangle_of(*nearest.triangle) : terrain.base();
          points = broadphase::nearest_points(part.element, with, nearest.distance, nearest.normal);
        }
        return std::min(found.nearest.distance, least);
      });
  points = {frame.place(points.first), frame.place(points.second)};
  if (turns) std::swap(points.first, points.second);
  return points;
}

void visit_near(const MeshSide& field, const MeshSide& other, double reach, const Nearby& visit) {
  const Frame frame(field);
  const Terrain terrain(field.field());
  each_part(
      other, frame, reach, [&](const Box& box, double limit) { return terrain.bound_of(box, limit); },
      [&](const Part& part, std::int32_t face, const double* own) {
        const Box near = grown(part.box, std::max(0.0, reach));
        const std::int32_t of_other = std::max(face, std::int32_t{0});
        if (meet(near, terrain.box())) visit(of_other, own, nullptr);
        terrain.each_meeting(near, [&](const Corners& corners, const Box&) {
          visit(of_other, own, corners.data());
          return true;
        });
        return reach;
      });
}

}  // namespace broadphase::height_fields
