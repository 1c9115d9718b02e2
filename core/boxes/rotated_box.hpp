// A rectangle at any angle, or a box in space that is turned about the vertical axis, and how much two of them share.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/read_ahead.hpp"
#include "boxes/overlap_ratio.hpp"

namespace broadphase {

struct Turn {
  double cosine, sine;
};

inline Turn turn_by(double angle, bool is_in_degrees) {
  if (!is_in_degrees) return {std::cos(angle), std::sin(angle)};
  constexpr double kRadians = 0.017453292519943295;
  // Exact, however many turns: quarters of a turn, and the rest.
  const double part = std::remainder(angle, 360.0);
  const double quarters = std::nearbyint(part / 90);
  const double rest = (part - 90 * quarters) * kRadians;
  const double cosine = std::cos(rest), sine = std::sin(rest);
  switch (static_cast<int>(quarters)) {
    case 0: return {cosine, sine};
    case 1: return {-sine, cosine};
    case -1: return {sine, -cosine};
    default: return {-cosine, -sine};
  }
}

// In the plane (D = 2): center, sizes, angle. In space (D = 3): center, sizes, angle about the third axis. The angle
// turns the first axis towards the second.
template <std::size_t D>
class RotatedBox {
  static_assert(D == 2 || D == 3);

 public:
  static constexpr std::size_t kDimension = D, kNumbers = 2 * D + 1;

  RotatedBox() = default;
  // Of kNumbers numbers, finite, the sizes not negative.
  RotatedBox(const double* numbers, bool is_in_degrees) {
    for (std::size_t k = 0; k < D; ++k) {
      center_[k] = numbers[k];
      half_[k] = numbers[D + k] / 2;
    }
    turn_ = turn_by(numbers[2 * D], is_in_degrees);
    measure();
    for (std::size_t k = 0; k < D; ++k)
      is_usual_ &= half_[k] >= kSmall && half_[k] <= 1 / kSmall && std::abs(center_[k]) <= 1 / kSmall;
  }

  bool has_volume() const {
    bool has = true;
    for (std::size_t k = 0; k < D; ++k) has &= half_[k] > 0;
    return has;
  }
  // Of the box with sides along the axes that encloses it.
  double lower(std::size_t k) const { return center_[k] - reach(k); }
  double upper(std::size_t k) const { return center_[k] + reach(k); }
  double size(std::size_t k) const { return 2 * reach(k); }

  // The same for (a, b) and (b, a). To the union, or to the smaller one.
  double ratio(const RotatedBox& other, RatioTo measure) const { return ratio_or_bound(other, measure, -1); }
  bool exceeds(const RotatedBox& other, RatioTo measure, double threshold) const {
    if ((is_thin_ || other.is_thin_) && measure == RatioTo::kUnion && crosses(other, threshold)) return false;
    return ratio_or_bound(other, measure, threshold) > threshold;
  }

  // Whether both have a common point or, without touching, a common volume: unless an axis of either tells them apart.
  // The same for (a, b) and (b, a).
  bool meets(const RotatedBox& other, bool touching) const {
    if (!touching && !(has_volume() && other.has_volume())) return false;
    const auto are_apart = [touching](double way, double reach) {
      return touching ? std::abs(way) > reach : std::abs(way) >= reach;
    };
    if constexpr (D == 3)
      if (are_apart(other.center_[2] - center_[2], half_[2] + other.half_[2])) return false;
    const double x = other.center_[0] - center_[0], y = other.center_[1] - center_[1];
    const double c = std::abs(turn_.cosine * other.turn_.cosine + turn_.sine * other.turn_.sine);
    const double s = std::abs(turn_.cosine * other.turn_.sine - turn_.sine * other.turn_.cosine);
    const auto is_apart_along = [&](const RotatedBox& own, const RotatedBox& another) {
      const Turn& turn = own.turn_;
      return are_apart(turn.cosine * x + turn.sine * y, own.half_[0] + (c * another.half_[0] + s * another.half_[1])) ||
             are_apart(turn.cosine * y - turn.sine * x, own.half_[1] + (s * another.half_[0] + c * another.half_[1]));
    };
    return !is_apart_along(*this, other) && !is_apart_along(other, *this);
  }

  // Which boxes may have a ratio with another that exceeds a threshold t.
  //
  // By their centers. A box is its own mirror image about its center, and the volume that is in one of two sets but not
  // in both is a metric. So b differs from itself, moved by twice the vector d between the centers of a and b, by at
  // most twice what a and b differ by: as a share of its volume, by less than k = 2 (1 - t) / (1 + t) if it is the
  // larger one, and (1 - t) / t if it is not. Along its axes, what it shares with itself then is a product of 1 - |d| /
  // half its side. So d is in k times b, if k < 1. For any t: let the centers be farther apart along an axis than half
  // of either extent, and let both share a strip e. Sections grow towards the center, so e has at most e / extent of
  // the volume of each, and e is more than 2 t / (1 + t) times half of both extents.
  //
  // By their directions. Strips of widths v and w that cross at an angle share v w / sin of it. So the sine is less
  // than w / (t l), for the length l of one box and the width w of the other. By mirror images about the axis of a, b
  // also differs little from itself, turned by twice the angle: what its ends lose limits the angle where k is small.
  // Boxes that are at least four times as long as wide are in frames of 8 directions, at least 16 times in frames of
  // 16, and 64 times of 32.
  class Reach {
   public:
    static constexpr std::size_t kFrames = 1 + 8 + 16 + 32;
    struct Seen {
      std::array<double, D> place, extent;  // the center; half of what encloses the box
      double rounding = 0;                  // what it changes of places
    };
    struct Sought {
      double length, width, direction;  // the share of half a turn, from 0 to 1
    };
    // Frames of boxes of a shape: as many directions, from number `begin` on.
    struct Set {
      std::size_t begin, directions;
      double thin;  // the most that a box is wide, as a share of its length
    };
    static constexpr std::array<Set, 4> kSets{{{0, 1, 1}, {1, 8, 1.0 / 4}, {9, 16, 1.0 / 16}, {25, 32, 1.0 / 64}}};

    Reach(double threshold, RatioTo measure) {
      if (measure != RatioTo::kUnion) return;
      const double t = std::max(0.0, threshold - kMore);
      threshold_ = t;
      apart_ = 2 * (1 - t) / (1 + t);
      if (t > 0.5) of_each_ = (1 - t) / t;
    }
    std::size_t frame_of(const RotatedBox& box) const {
      constexpr double kWorthFrames = 0.7;  // the sine of the angle between boxes of a set, at most
      const double length = box.length(), width = box.width();
      if (!(width > 0) || length < 4 * width || length > kThinnest * width) return 0;
      const Set& set = kSets[length < 16 * width ? 1 : length < 64 * width ? 2 : 3];
      if (set.thin > kWorthFrames * threshold_) return 0;
      const auto at = static_cast<std::size_t>(direction_of(box) * static_cast<double>(set.directions));
      return set.begin + std::min(at, set.directions - 1);
    }
    static std::size_t set_of(std::size_t frame) {
      std::size_t set = kSets.size() - 1;
      while (frame < kSets[set].begin) --set;
      return set;
    }
    static Seen seen(const RotatedBox& box, std::size_t frame) {
      const Turn turn = frames()[frame].turn;
      const double c = std::abs(turn.cosine * box.turn_.cosine + turn.sine * box.turn_.sine);
      const double s = std::abs(turn.cosine * box.turn_.sine - turn.sine * box.turn_.cosine);
      const double more = kMoreExtent * (box.half_[0] + box.half_[1]), x = box.center_[0], y = box.center_[1];
      Seen seen;
      seen.place[0] = turn.cosine * x + turn.sine * y;
      seen.place[1] = turn.cosine * y - turn.sine * x;
      seen.extent[0] = c * box.half_[0] + s * box.half_[1] + more;
      seen.extent[1] = s * box.half_[0] + c * box.half_[1] + more;
      if (frame > 0) seen.rounding = 0x1p-48 * (std::abs(x) + std::abs(y));
      if constexpr (D == 3) seen.place[2] = box.center_[2], seen.extent[2] = box.half_[2];
      return seen;
    }
    static double widest(std::size_t frame, std::size_t k) { return k == 2 ? 0.5 : frames()[frame].widest[k]; }
    double cell(std::size_t frame, std::size_t k) const {
      return (frame == 0 ? 1 : 2) * std::max(before(k, widest(frame, k), widest(frame, k)), kMore * widest(frame, k));
    }
    // In frames, sizes are lengths: each box has more than t of that of the other, but it may be along a diagonal.
    // Across an axis, the lengths of the sections of a rectangle rise, stay and fall alike at both ends: a strip with a
    // share s of its extent has at most 1 - (1 - s)^2 of its area, so s exceeds 1 - sqrt(1 - t).
    double least_share(std::size_t set) const { return set > 0 ? threshold_ * 0.97 : 1 - std::sqrt(1 - threshold_); }
    static double size(const RotatedBox& box, std::size_t set, std::size_t k) {
      return set == 0 || k == 2 ? box.size(k) : box.length();
    }
    static std::size_t unit_of(std::size_t set, std::size_t k) { return set > 0 && k == 1 ? 0 : k; }
    Sought sought(const RotatedBox& box) const {
      const double length = box.length(), width = box.width();
      if (threshold_ == 0 || length > kThinnest * width) return {length, length, 0};
      return {length, width, direction_of(box)};
    }
    template <class Visit>
    bool any_frame(const Sought& sought, std::size_t set, std::array<double, 2> sizes, Visit&& visit) const {
      const auto [begin, directions, thin] = kSets[set];
      // In space, the size may be the height.
      const double shortest = std::max(D == 2 ? sizes[0] : 0, sought.length * threshold_ * 0.97);
      const double sine = std::min(sought.width / shortest, sizes[1] * thin / sought.length) / threshold_ + kMore;
      double angle = sine * (1 + 0.5708 * sine * sine);
      if (of_each_ < 0.46 && angle < 1.2)
        angle = std::min(angle, 2.3 * of_each_ * std::min(sought.width / sought.length, thin));
      const double half = static_cast<double>(directions) * angle / kPi,
                   middle = static_cast<double>(directions) * sought.direction;
      if (!(2 * half + 1 < static_cast<double>(directions))) {
        for (std::size_t k = 0; k < directions; ++k)
          if (visit(begin + k)) return true;
        return false;
      }
      const auto from = static_cast<long>(std::floor(middle - half)), to = static_cast<long>(std::floor(middle + half));
      const auto all = static_cast<long>(directions);
      for (long k = from; k <= to; ++k)
        if (visit(begin + static_cast<std::size_t>(k < 0 ? k + all : k >= all ? k - all : k))) return true;
      return false;
    }
    double before(std::size_t, double own, double other) const {
      const double longer = std::max(own, other);
      const double by_both = apart_ < 1 ? apart_ * longer : std::max(longer, apart_ / 2 * (own + other));
      return std::min({of_each_ * std::min(own, other), by_both, own + other});
    }
    double behind(std::size_t k, double own, double other) const { return before(k, own, other); }

   private:
    static constexpr double kMore = 1e-5;  // more than what rounding changes of a ratio
    static constexpr double kMoreExtent = 0x1p-30, kThinnest = 0x1p26, kPi = 3.14159265358979323846;

    static double direction_of(const RotatedBox& box) {
      const double turns = std::atan2(box.along().sine, box.along().cosine) / kPi;
      return turns - std::floor(turns);
    }
    struct Frame {
      Turn turn{1, 0};
      std::array<double, 2> widest{0.5, 0.5};  // half of what encloses a box, as a share of its size
    };
    static const std::array<Frame, kFrames>& frames() {
      static const std::array<Frame, kFrames> all = [] {
        std::array<Frame, kFrames> made{};
        for (const Set& set : kSets)
          for (std::size_t k = 0; set.begin > 0 && k < set.directions; ++k) {
            const double half = kPi / 2 / static_cast<double>(set.directions), apart = std::sin(half);
            made[set.begin + k] = {turn_by((2 * static_cast<double>(k) + 1) * half, false),
                                   {0.5 * (1 + set.thin * apart) + kMore, 0.5 * (set.thin + apart) + kMore}};
          }
        return made;
      }();
      return all;
    }

    // By default, of a ratio to the smaller one: boxes of all sizes that meet.
    double threshold_ = 0, apart_ = std::numeric_limits<double>::infinity();
    double of_each_ = std::numeric_limits<double>::infinity();
  };

 private:
  // Products of four such numbers are normal.
  static constexpr double kSmall = 0x1p-250;

  double length() const { return std::max(half_[0], half_[1]) * 2; }
  double width() const { return std::min(half_[0], half_[1]) * 2; }
  // The direction of its longer side.
  Turn along() const { return half_[0] >= half_[1] ? turn_ : Turn{-turn_.sine, turn_.cosine}; }

  // Whether the directions of two boxes say that the ratio is not more than this: see `Reach`.
  bool crosses(const RotatedBox& other, double threshold) const {
    const double cosines[2] = {turn_.cosine * other.turn_.cosine + turn_.sine * other.turn_.sine,
                               turn_.cosine * other.turn_.sine - turn_.sine * other.turn_.cosine};
    const bool are_alike = (half_[0] >= half_[1]) == (other.half_[0] >= other.half_[1]);
    const double sine = std::abs(cosines[are_alike ? 1 : 0]) * threshold - 1e-7;  // not a branch
    return sine * length() > (1 + 1e-4) * other.width() || sine * other.length() > (1 + 1e-4) * width();
  }
  bool goes_first(const RotatedBox& other) const {
    if (area_ != other.area_) return area_ < other.area_;
    for (std::size_t k = 0; k < D; ++k) {
      if (center_[k] != other.center_[k]) return center_[k] < other.center_[k];
      if (half_[k] != other.half_[k]) return half_[k] < other.half_[k];
    }
    if (turn_.cosine != other.turn_.cosine) return turn_.cosine < other.turn_.cosine;
    return turn_.sine < other.turn_.sine;
  }

  // Where a bound says that the ratio is `enough` or less, the bound: no ratio exceeds its bound, in floats too, for
  // each area is clipped to it and all steps after that are monotonic.
  double ratio_or_bound(const RotatedBox& other, RatioTo measure, double enough) const {
    if (!is_usual_ || !other.is_usual_) return unusual_ratio(other, measure, enough);
    const RotatedBox* both[2] = {&other, this};
    const std::size_t first = goes_first(other) ? 1 : 0;  // not a branch, which would be guessed wrong
    return ratio_of(*both[first], *both[1 - first], measure, enough);
  }
  // With units of length in which the smaller box is usual.
  double unusual_ratio(const RotatedBox& other, RatioTo measure, double enough) const {
    if (!has_volume() || !other.has_volume()) return 0;
    const auto size = [](const RotatedBox& box) { return (std::ilogb(box.half_[0]) + std::ilogb(box.half_[1])) / 2; };
    const int flat = std::min(size(*this), size(other));
    const int upright = D == 3 ? std::ilogb(std::min(half_[D - 1], other.half_[D - 1])) : 0;
    const RotatedBox a = scaled(-flat, -upright), b = other.scaled(-flat, -upright);
    return a.goes_first(b) ? ratio_of(a, b, measure, enough) : ratio_of(b, a, measure, enough);
  }

  // Of `a`, which is the smaller one in the plane, and b.
  static double ratio_of(const RotatedBox& a, const RotatedBox& b, RatioTo measure, double enough) {
    double between[D], height = 1;  // from the center of a to that of b
    for (std::size_t k = 0; k < D; ++k) between[k] = b.center_[k] - a.center_[k];
    if constexpr (D == 3) height = common(a.half_[2], between[2], b.half_[2]);
    if (!(height > 0)) return 0;
    const double least = std::min(a.volume(), b.volume());
    const auto ratio_for = [&](double both) {
      return both / (measure == RatioTo::kUnion ? a.volume() + b.volume() - both : least);
    };
    const auto share = [&](double area) { return ratio_for(std::min(area * height, least)); };
    // Bounds that cost more and more.
    if (const double bound = ratio_for(least); bound <= enough) return bound;
    Clip clip(a, b, between);
    if (const double bound = share(clip.most()); bound <= enough || clip.most() == 0) return bound;
    clip.look_along_other();
    if (const double bound = share(clip.most()); bound <= enough || clip.most() == 0) return bound;
    return share(clip.area());
  }
  RotatedBox scaled(int exponent, int upright) const {
    RotatedBox box = *this;
    for (std::size_t k = 0; k < D; ++k) {
      box.center_[k] = std::ldexp(center_[k], k < 2 ? exponent : upright);
      box.half_[k] = std::ldexp(half_[k], k < 2 ? exponent : upright);
    }
    box.measure();
    return box;
  }
  void measure() {
    area_ = (2 * half_[0]) * (2 * half_[1]);
    is_thin_ = length() >= 4 * width();
  }
  double volume() const { return D == 3 ? area_ * (2 * half_[D - 1]) : area_; }

  // Half the side of the enclosing box, and more than rounding changes, so that boxes that overlap do so there too.
  double reach(std::size_t k) const {
    const double c = std::abs(turn_.cosine), s = std::abs(turn_.sine);
    const double exact = k == 2 ? half_[D - 1] : k == 0 ? c * half_[0] + s * half_[1] : s * half_[0] + c * half_[1];
    return exact + 0x1p-48 * (std::abs(center_[k]) + exact);
  }

  // What [-own, own] and [at - other, at + other] share; negative where they are apart.
  static double common(double own, double at, double other) {
    return std::min(own, at + other) - std::max(-own, at - other);
  }

  // The rectangle of `a` within that of b, seen from the center of a along the axes of b.
  class Clip {
   public:
    Clip(const RotatedBox& a, const RotatedBox& b, const double* between) : a_(a), b_(b) {
      const auto [bc, bs] = b.turn_;
      turn_ = {bc * a.turn_.cosine + bs * a.turn_.sine, bc * a.turn_.sine - bs * a.turn_.cosine};
      is_parallel_ = turn_.sine == 0 || turn_.cosine == 0;
      if (is_parallel_) turn_ = {turn_.cosine == 0 ? 0.0 : 1.0, turn_.sine == 0 ? 0.0 : 1.0};
      x_ = bc * between[0] + bs * between[1], y_ = bc * between[1] - bs * between[0];
      const double c = std::abs(turn_.cosine), s = std::abs(turn_.sine);
      wide_ = c * a.half_[0] + s * a.half_[1];
      high_ = s * a.half_[0] + c * a.half_[1];
      left_ = std::max(x_ - b.half_[0], -wide_), right_ = std::min(x_ + b.half_[0], wide_);
      low_ = std::max(y_ - b.half_[1], -high_), top_ = std::min(y_ + b.half_[1], high_);
      most_ = positive_product(right_ - left_, top_ - low_);
    }

    // The same along the axes of a. Rectangles that meet along these four axes have points in common.
    void look_along_other() {
      if (is_parallel_) return;
      const auto [c, s] = turn_;
      const double x = c * x_ + s * y_, y = c * y_ - s * x_;
      const double wide = std::abs(c) * b_.half_[0] + std::abs(s) * b_.half_[1];
      const double high = std::abs(s) * b_.half_[0] + std::abs(c) * b_.half_[1];
      most_ = std::min(most_, positive_product(common(a_.half_[0], x, wide), common(a_.half_[1], y, high)));
    }

    // No less than the area.
    double most() const { return most_; }

    // By Green's theorem, the sum over the edges of the area below each: of its part between left and right, with
    // heights below `low_` raised to it and those above `top_` lowered. Precondition: most() > 0.
    double area() const {
      if (is_parallel_) return most_;
      if (left_ == -wide_ && right_ == wide_ && low_ == -high_ && top_ == high_) return std::min(most_, a_.area_);
      const double c = turn_.cosine, s = turn_.sine, u = a_.half_[0], v = a_.half_[1];
      const double x = c * u - s * v, y = s * u + c * v, other_x = -c * u - s * v, other_y = c * v - s * u;
      const double along = s / c, across = -c / s;  // slopes of its edges
      const double sum = below(x, y, other_x, along) + below(other_x, other_y, -x, across) +
                         below(-x, -y, -other_x, along) + below(-other_x, -other_y, x, across);
      return std::isfinite(sum) ? clipped(sum, 0, most_) : most_;
    }

   private:
    static double positive_product(double x, double y) { return x > 0 && y > 0 ? x * y : 0; }
    static double clipped(double x, double low, double top) { return std::max(low, std::min(x, top)); }

    // Of the edge from (x0, y0) to x1. Without a branch that would be guessed wrong.
    double below(double x0, double y0, double x1, double slope) const {
      constexpr double kTiny = 0x1p-700;  // 0 / 0 is `mean` then
      const double from = clipped(x0, left_, right_), to = clipped(x1, left_, right_);
      const double first = y0 + (from - x0) * slope, last = y0 + (to - x0) * slope;
      const double least = std::min(first, last), greatest = std::max(first, last);
      const double begin = clipped(least, low_, top_), end = clipped(greatest, low_, top_);
      const double under = std::min(greatest, low_) - std::min(least, low_);
      const double over = std::max(greatest, top_) - std::max(least, top_);
      const double middle = (low_ + top_) / 2;  // heights are measured from here: less is lost by rounding
      const double mean = (begin + end) / 2 - middle, inside = end - begin;
      const double sum = under * (low_ - middle) + inside * mean + over * (top_ - middle);
      return (from - to) * ((sum + kTiny * mean) / (under + inside + over + kTiny));
    }

    const RotatedBox &a_, &b_;
    Turn turn_;  // of a from b
    bool is_parallel_;
    double x_, y_;  // the center of b
    double wide_, high_, left_, right_, low_, top_, most_;
  };

  double area_ = 0;  // in the plane of the first two axes
  std::array<double, D> center_{}, half_{};
  Turn turn_{1, 0};
  bool is_usual_ = true, is_thin_ = false;
};

// Boxes by row, read once from rows of numbers.
template <std::size_t D>
class RotatedBoxRows {
 public:
  static constexpr std::size_t kDimension = D;

  RotatedBoxRows(const double* numbers, std::size_t count, bool is_in_degrees) {
    boxes_.reserve(count);
    for (std::size_t row = 0; row < count; ++row)
      boxes_.push_back({RotatedBox<D>(numbers + row * RotatedBox<D>::kNumbers, is_in_degrees)});
  }

  std::size_t size() const { return boxes_.size(); }
  const RotatedBox<D>& operator[](std::size_t row) const { return boxes_[row].box; }
  void read_ahead(std::size_t row) const { broadphase::read_ahead(&boxes_[row]); }

 private:
  struct alignas(D == 2 ? 64 : alignof(double)) Row {  // in the plane, a line of the cache
    RotatedBox<D> box;
  };

  std::vector<Row> boxes_;
};

}  // namespace broadphase
