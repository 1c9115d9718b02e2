// What bodies meet on their routes, all at once: where most bodies of a world are followed, nearly all of these, in
// most worlds. Routes are straight, or have a few straight parts: those of bodies that were reflected. In a periodic
// world, bodies go straight across its boundaries, and pairs meet in the image in which they are nearest.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/read_ahead.hpp"
#include "query/collect.hpp"
#include "query/problem.hpp"
#include "world/boundary.hpp"
#include "world/columns.hpp"
#include "world/meetings.hpp"
#include "world/touching.hpp"

namespace broadphase {

// What is first read of a row: a ball that holds it during the whole of the step, on a straight route. A line of the
// cache.
template <std::size_t D>
struct alignas(64) MovingBall {
  static constexpr std::uint8_t kIsHere = 1;  // of those that are searched for at once
  static constexpr std::uint8_t kIsFollowed = 2;
  static constexpr std::uint8_t kIsActive = 4;  // it has moved, or something else about it has changed
  // Nothing but motion has changed: what touched it after the last step does so at the begin.
  static constexpr std::uint8_t kIsSettled = 8;
  static constexpr std::uint8_t kHasParts = 16;  // of its route: then it does not move as told here

  std::array<double, D> from, motion;  // its centre at the begin
  double reach;                        // a little more than its radius; infinite where no ball is known
  std::uint8_t flags;

  bool is(std::uint8_t flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(MovingBall<2>) == 64 && sizeof(MovingBall<3>) == 64);

// What is read of a row that comes near others: its box after the step, in all rotations of the step, and how far it is
// from there at the begin.
template <std::size_t D>
struct StraightRow {
  std::array<double, 2 * D> box;
  std::array<double, D> shift;

  // The reach of a ball that stays within the box, which is hardly larger.
  double reach_of_ball(const std::array<double, D>& motion) const {
    double size = 0;
    for (std::size_t k = 0; k < D; ++k)
      size += std::abs(box[k]) + std::abs(box[D + k]) + std::abs(shift[k]) + std::abs(motion[k]);
    return (0.5 + 1e-6) * (box[D] - box[0]) + 1e-12 * size;
  }
};

// The images of a periodic world: rows that are here have routes so short that two of them come near each other in one
// image only.
template <std::size_t D>
struct NearestImage {
  static constexpr double kWidestRoute = 0.25;  // and box, in worlds

  std::array<double, D> size{};  // of the world; 0: it is not periodic

  // By how much the second of two numbers, which are so far apart, is to be moved to where it is nearest to the first.
  double shift(std::size_t axis, double between) const {
    // Added and taken off again, this rounds to whole numbers.
    constexpr double kWhole = 0x1.8p52;
    return -((between / size[axis] + kWhole - kWhole) * size[axis]);
  }
  // Whether two boxes may overlap there.
  bool may_overlap(const double* p, const double* q) const {
    bool is_apart = false;
    for (std::size_t k = 0; k < D; ++k) {
      const double by = shift(k, q[k] - p[k]), slack = 0x1p-46 * (std::abs(p[k]) + std::abs(q[k]) + size[k]);
      is_apart |= (q[k] + by - p[D + k] > slack) | (p[k] - (q[D + k] + by) > slack);
    }
    return !is_apart;
  }
};

// Whether two balls are certainly apart during the whole of the step.
template <std::size_t D, bool kPeriodic>
bool are_apart(const MovingBall<D>& a, const MovingBall<D>& b, const NearestImage<D>& image) {
  // From the first to the second at the begin, and how the first moves relative to the second.
  double between[D], motion[D], along = 0, length = 0;
  for (std::size_t k = 0; k < D; ++k) {
    between[k] = b.from[k] - a.from[k];
    motion[k] = a.motion[k] - b.motion[k];
    if constexpr (kPeriodic) between[k] += image.shift(k, between[k] - 0.5 * motion[k]);
    along += between[k] * motion[k];
    length += motion[k] * motion[k];
  }
  const double time = std::min(std::max(along, 0.0) / std::max(length, std::numeric_limits<double>::min()), 1.0);
  double squared = 0;
  for (std::size_t k = 0; k < D; ++k) {
    const double gap = between[k] - motion[k] * time;
    squared += gap * gap;
  }
  const double reach = a.reach + b.reach;
  return squared > reach * reach;
}

// All rows of a world, as they move in a step. Keeps its memory from one step to the next.
template <std::size_t D>
struct StraightRoutes {
  PlainArray<StraightRow<D>> rows;
  PlainArray<MovingBall<D>> balls;
  PlainArray<double> around;  // boxes around the routes, rounded outwards; of a row that is not here, its own box
  RowFlags is_here;
  NearestImage<D> image;
  bool are_all_here = false;  // of those in use
  // Parts of routes, one row after the other, which begin so far from where the row is after the step; and the first
  // of each row that has some.
  std::vector<RoutePart<D>> parts;
  std::vector<std::int32_t> first_part;

  void begin(std::size_t slots, const double* bounds) {
    rows.grow(slots);
    balls.grow(slots);
    around.grow(slots * 2 * D);
    is_here.assign(slots, 0);
    are_all_here = true;
    parts.clear();
    first_part.resize(slots);
    image = {};
    for (std::size_t k = 0; k < D && bounds != nullptr; ++k) image.size[k] = bounds[D + k] - bounds[k];
  }
  bool is_periodic() const { return image.size[0] > 0; }
  std::size_t slots() const { return is_here.size(); }

  // Leaves a row to others.
  void leave_out(std::size_t row, const double* box) {
    balls[row].flags &= static_cast<std::uint8_t>(~MovingBall<D>::kIsHere);
    balls[row].reach = std::numeric_limits<double>::infinity();
    is_here[row] = 0;
    std::copy_n(box, 2 * D, around.get() + row * 2 * D);
    are_all_here = false;
  }

  // Writes the box around the route of a row, in a periodic world that image of it whose middle is there. False if it
  // is not finite, or so wide or far away that its images are others' concern.
  bool enclose(std::size_t row, const double* bounds) {
    const StraightRow<D>& it = rows[row];
    double* const to = around.get() + row * 2 * D;
    std::array<double, D> least{}, most{};
    const auto add = [&](const std::array<double, D>& begin, const std::array<double, D>& motion) {
      for (std::size_t k = 0; k < D; ++k) {
        const double from = begin[k], end = from + motion[k];
        least[k] = std::min(least[k], std::min(from, end));
        most[k] = std::max(most[k], std::max(from, end));
      }
    };
    if (balls[row].is(MovingBall<D>::kHasParts))
      for_each_part(row, [&](const RoutePart<D>& part) { add(part.begin, part.motion); });
    else
      add(it.shift, balls[row].motion);
    bool is_usual = true;
    for (std::size_t k = 0; k < D; ++k) {
      const double low = it.box[k], high = it.box[D + k],
                   slack = 4 * kSumSlack * (std::max(std::abs(low), std::abs(high)) - least[k] + most[k]);
      to[k] = low + least[k] - slack;
      to[D + k] = high + most[k] + slack;
      is_usual &= is_finite(to[k]) & is_finite(to[D + k]);
      if (!is_periodic()) continue;
      const double from = bounds[k], size = image.size[k], middle = 0.5 * (to[k] + to[D + k]);
      is_usual &= (to[D + k] - to[k] <= NearestImage<D>::kWidestRoute * size) & (middle >= from - size) &
                  (middle < from + 2 * size);
      if (middle >= from && middle < from + size) continue;
      const double by = middle < from ? size : -size;
      to[k] = difference_down(to[k], -by);
      to[D + k] = difference_up(to[D + k], -by);
    }
    return is_usual;
  }

  // Calls use(part) for those of the route of a row; a straight one is its only one.
  template <class Use>
  void for_each_part(std::size_t row, Use&& use) const {
    if (!balls[row].is(MovingBall<D>::kHasParts)) {
      use(RoutePart<D>{static_cast<std::int32_t>(row), 0.0, 1.0, rows[row].shift, balls[row].motion});
      return;
    }
    for (auto k = static_cast<std::size_t>(first_part[row]);
         k < parts.size() && parts[k].row == static_cast<std::int32_t>(row); ++k)
      use(parts[k]);
  }
};

// Keeps the pairs that may come near each other. Of most, few numbers tell that they do not.
template <std::size_t D>
void keep_near(const StraightRoutes<D>& routes, Pairs& pairs) {
  constexpr std::size_t kAhead = 16;
  const MovingBall<D>* const balls = routes.balls.get();
  const auto keep = [&]<bool kPeriodic>() {
    std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < pairs.size; ++k) {
      if (k + kAhead < pairs.size) {
        read_ahead(balls + first[k + kAhead]);
        read_ahead(balls + second[k + kAhead]);
      }
      const std::int32_t i = first[k], j = second[k];
      first[kept] = i;
      second[kept] = j;
      const bool has_parts = ((balls[i].flags | balls[j].flags) & MovingBall<D>::kHasParts) != 0;
      kept += has_parts | !are_apart<D, kPeriodic>(balls[i], balls[j], routes.image) ? 1 : 0;
    }
    pairs.size = kept;
  };
  if (routes.is_periodic())
    keep.template operator()<true>();
  else
    keep.template operator()<false>();
}

// The pairs that touched after the last step, and flags of those that may not have done so where they were: that only
// met on a route, or were not tested.
struct LastTouching {
  TouchingPairs touching;
  const std::uint8_t* is_uncertain;

  void read_ahead_of(std::int32_t i) const {
    if (static_cast<std::size_t>(i) < touching.rows) read_ahead(touching.pairs.second + touching.starts[i]);
  }
  bool has(std::int32_t i, std::int32_t j) const {
    const std::size_t at = detail::find_pair(touching, i, j);
    return at < touching.pairs.count && is_uncertain[at] == 0;
  }
};

// Finds the approaches of pairs of rows, one of them followed, that may not have touched at the begin.
template <std::size_t D>
class StraightApproaches {
 public:
  StraightApproaches(const StraightRoutes<D>& routes, const Filter* filter, const LastTouching& last)
      : routes_(routes), filter_(filter), last_(last) {}

  // Writes those of pairs, in their order, and for each, in the order of time.
  void find(const PairColumns& pairs, std::vector<Approach<D>>& approaches) {
    constexpr std::size_t kAhead = 16;
    const MovingBall<D>* const balls = routes_.balls.get();
    const StraightRow<D>* const rows = routes_.rows.get();
    approaches.clear();
    for (std::size_t k = 0; k < pairs.count; ++k) {
      if (k + kAhead < pairs.count) {
        for (const std::int32_t row : {pairs.first[k + kAhead], pairs.second[k + kAhead]}) {
          read_ahead(balls + row);
          read_ahead(rows + row);
          read_ahead(rows[row].shift.data());
        }
        last_.read_ahead_of(pairs.first[k + kAhead]);
      }
      const std::int32_t i = pairs.first[k], j = pairs.second[k];
      const unsigned all = balls[i].flags & balls[j].flags, any = balls[i].flags | balls[j].flags;
      constexpr unsigned kMoves = MovingBall<D>::kIsFollowed | MovingBall<D>::kIsActive;
      if ((all & MovingBall<D>::kIsHere) == 0 || (any & kMoves) != kMoves) continue;
      if (filter_ != nullptr && !filter_->allows(static_cast<std::size_t>(i), static_cast<std::size_t>(j))) continue;
      ++count_;
      if ((all & MovingBall<D>::kIsSettled) != 0 && last_.has(i, j)) continue;
      if ((any & MovingBall<D>::kHasParts) != 0)
        add_parts(i, j, approaches);
      else
        add(i, j, 0.0, 1.0, {rows[i].shift, balls[i].motion}, {rows[j].shift, balls[j].motion}, approaches);
    }
  }
  // How many pairs were looked at.
  std::size_t count() const { return count_; }

 private:
  // Where a row is, so far from where it is after the step, and how it moves from then on.
  struct Course {
    std::array<double, D> shift, motion;
  };

  // The part of a part between two times within it.
  static Course between(const RoutePart<D>& part, double since, double until) {
    const double length = part.until > part.since ? part.until - part.since : 1.0;
    Course course;
    for (std::size_t k = 0; k < D; ++k) {
      course.shift[k] = part.begin[k] + part.motion[k] * ((since - part.since) / length);
      course.motion[k] = part.motion[k] * ((until - since) / length);
    }
    return course;
  }

  MovingBall<D> ball_of(std::int32_t row, const Course& course) const {
    const StraightRow<D>& it = routes_.rows[static_cast<std::size_t>(row)];
    MovingBall<D> ball;
    ball.motion = course.motion;
    for (std::size_t k = 0; k < D; ++k) ball.from[k] = 0.5 * (it.box[k] + it.box[D + k]) + course.shift[k];
    ball.reach = routes_.balls[static_cast<std::size_t>(row)].reach;
    return ball;
  }

  void add_parts(std::int32_t i, std::int32_t j, std::vector<Approach<D>>& approaches) const {
    routes_.for_each_part(static_cast<std::size_t>(i), [&](const RoutePart<D>& one) {
      routes_.for_each_part(static_cast<std::size_t>(j), [&](const RoutePart<D>& other) {
        const double since = std::max(one.since, other.since), until = std::min(one.until, other.until);
        if (!(since <= until)) return;
        const Course a = between(one, since, until), b = between(other, since, until);
        if (!are_apart<D, false>(ball_of(i, a), ball_of(j, b), routes_.image))
          add(i, j, since, until, a, b, approaches);
      });
    });
  }

  void add(std::int32_t i, std::int32_t j, double since, double until, const Course& one, const Course& other,
           std::vector<Approach<D>>& approaches) const {
    const StraightRow<D>&a = routes_.rows[static_cast<std::size_t>(i)], &b = routes_.rows[static_cast<std::size_t>(j)];
    const MovingBall<D>* const balls = routes_.balls.get();
    const bool is_periodic = routes_.is_periodic();
    std::array<double, D> motion, offset;
    for (std::size_t k = 0; k < D; ++k) {
      motion[k] = one.motion[k] - other.motion[k];
      offset[k] = other.shift[k] - one.shift[k];
      if (is_periodic) offset[k] += routes_.image.shift(k, balls[j].from[k] - balls[i].from[k] - 0.5 * motion[k]);
    }
    const auto [begin, end] = times_of_boxes<D>(a.box, b.box, motion, offset);
    if (!(begin <= end)) return;
    Approach<D> approach{i, j, {}, {}, since, until - since, begin, end - begin};
    for (std::size_t k = 0; k < D; ++k) {
      approach.offset[k] = offset[k] - motion[k] * begin;
      approach.motion[k] = motion[k] * (end - begin);
    }
    approaches.push_back(approach);
  }

  const StraightRoutes<D>& routes_;
  const Filter* filter_;
  const LastTouching& last_;
  std::size_t count_ = 0;
};

}  // namespace broadphase
