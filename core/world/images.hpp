// The images of a query in a periodic world: where everything exists again at every multiple of the world's size along
// every axis, a query meets bodies at each of its images that reaches to where they are. Bodies and queries that are
// far away are moved by whole periods first, so that a query has the images that its own size asks for.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/parallel.hpp"

namespace broadphase {

// ---- To the periodic world, by whole periods. `bounds` are D lower and D upper numbers ----

// Where in the world from `from` to `to` a coordinate is that is more than a period away from it.
inline double moved_by_periods(double from, double to, double x) {
  const double period = to - from, moved = std::fmod(x, period) - std::fmod(from, period);
  return from + (moved < 0 ? moved + period : moved);
}

// Moves a point that is farther away than a period. What is not finite stays.
template <std::size_t D>
void move_near(const double* bounds, double* point) {
  for (std::size_t k = 0; k < D; ++k) {
    const double from = bounds[k], to = bounds[D + k], period = to - from;
    if ((point[k] < from - period || point[k] > to + period) && std::isfinite(point[k]))
      point[k] = moved_by_periods(from, to, point[k]);
  }
}

// Moves a box, D lower and D upper numbers, and makes it as wide as the world where it is wider. One that is infinitely
// far away stays there.
template <std::size_t D>
void move_box_near(const double* bounds, double* box) {
  for (std::size_t k = 0; k < D; ++k) {
    const double from = bounds[k], to = bounds[D + k], period = to - from, width = box[D + k] - box[k];
    if (width >= period) {
      box[k] = from;
      box[D + k] = to;
    } else if (!std::isnan(width) && (box[k] < from - period || box[D + k] > to + period)) {
      box[k] = moved_by_periods(from, to, box[k]);
      box[D + k] = box[k] + width;
    }
  }
}

// The radius from which on a ball, with its images, leaves out no place.
template <std::size_t D>
double radius_of_everything(const double* bounds) {
  constexpr double kRoom = 1 + 1e-9;  // more than all roundings of a few lengths
  double largest = 0, squared = 0;
  for (std::size_t k = 0; k < D; ++k) largest = std::max(largest, bounds[D + k] - bounds[k]);
  for (std::size_t k = 0; k < D; ++k) {
    const double share = (bounds[D + k] - bounds[k]) / largest;
    squared += share * share;
  }
  return largest * (std::sqrt(squared) / 2 * kRoom);
}

// The bodies of a periodic world: a box around those near it, and around its bounds; and the rows of the others, more
// than a period away, ascending. `rows` are those that are not wholly within the bounds.
template <std::size_t D>
struct NearAndFar {
  std::array<double, 2 * D> around;
  std::vector<std::int32_t> far;

  NearAndFar(const double* boxes, const double* bounds, const std::vector<std::int32_t>& rows) {
    std::copy_n(bounds, 2 * D, around.begin());
    for (const std::int32_t row : rows) {
      const double* box = boxes + static_cast<std::size_t>(row) * 2 * D;
      bool is_far = false;
      for (std::size_t k = 0; k < D; ++k) {
        const double period = bounds[D + k] - bounds[k];
        is_far |= box[k] < bounds[k] - period || box[D + k] > bounds[D + k] + period;
      }
      if (is_far) {
        far.push_back(row);
        continue;
      }
      for (std::size_t k = 0; k < D; ++k) {
        around[k] = std::min(around[k], box[k]);
        around[D + k] = std::max(around[D + k], box[D + k]);
      }
    }
  }
};

// ---- Images ----

// Bodies of a periodic world: a box around them, the bounds of the world, D lower and D upper numbers each, and how
// many they are.
struct PeriodicBodies {
  const double* around;
  const double* bounds;
  std::size_t count;
};

// Images of queries, or parts of them: D numbers by which the query is moved, and 2 D of a box around what may meet
// bodies.
struct Images {
  std::vector<double> shifts, boxes;
};

// Of one query: some 100 MB of scratch memory.
inline constexpr double kMostImages = 1'000'000;

// If a box has more images than `few`, those that its shape has are looked for, in parts of the world that are halved
// while an image leaves out more of the smaller ones than the rest of `worth_halving`.
struct ImageLimits {
  double few = 32, worth_halving = 0.75;
};

template <std::size_t D>
class ImageFinder {
 public:
  explicit ImageFinder(const PeriodicBodies& bodies, const ImageLimits& limits = {})
      : bodies_(bodies), limits_(limits) {
    for (std::size_t k = 0; k < D; ++k) period_[k] = bodies.bounds[D + k] - bodies.bounds[k];
  }

  // How many images a box has; none if it is infinitely far away.
  double count(const double* box) const {
    Ranges ranges;
    return ranges_of(box, ranges);
  }

  // Calls use(shift) for each image of a box. False if they are more than can be tested.
  template <class Use>
  bool each(const double* box, const Use& use) const {
    Ranges ranges;
    const double number = ranges_of(box, ranges);
    if (number > kMostImages) return false;
    if (!(number > 0)) return true;
    std::array<double, D> at = ranges.first, shift;
    for (;;) {
      for (std::size_t k = 0; k < D; ++k) shift[k] = at[k] * period_[k];
      use(shift.data());
      std::size_t axis = D;
      while (axis > 0 && at[axis - 1] == ranges.last[axis - 1]) --axis;
      if (axis == 0) return true;
      ++at[axis - 1];
      for (std::size_t k = axis; k < D; ++k) at[k] = ranges.first[k];
    }
  }

  // Appends the images of a box. False if they are more than can be tested.
  bool add(const double* box, Images& to) const {
    return each(box, [&](const double* shift) { append(box, shift, to); });
  }

  // The same of a shape with this box. Where the box has many images, meets(box) says whether the shape overlaps
  // another box: only the images of the shape are appended then, and of these the parts where the shape is. They are
  // found by halving ranges of worlds: the number of ranges is in proportion to that of images, for each halving.
  template <class Meets>
  bool add(const double* box, const Meets& meets, Interrupt& interrupt, Images& to) const {
    Ranges all;
    const double number = ranges_of(box, all);
    if (number <= limits_.few) return add(box, to);
    // A shape has at least one image for each period that it reaches across along an axis.
    for (std::size_t k = 0; k < D; ++k)
      if (all.last[k] - all.first[k] >= kMostImages) return false;
    const double room = room_of(box);
    std::vector<Ranges> left{all};
    std::vector<std::array<double, D>> shifts;
    while (!left.empty()) {
      interrupt.check();
      const Ranges some = left.back();
      left.pop_back();
      double reached[2 * D];
      std::size_t widest = 0;
      for (std::size_t k = 0; k < D; ++k) {
        reached[k] = bodies_.around[k] - some.last[k] * period_[k] - room;
        reached[D + k] = bodies_.around[D + k] - some.first[k] * period_[k] + room;
        if (some.last[k] - some.first[k] > some.last[widest] - some.first[widest]) widest = k;
      }
      if (!meets(reached)) continue;
      if (some.first[widest] == some.last[widest]) {
        if (static_cast<double>(shifts.size()) >= kMostImages) return false;
        std::array<double, D> shift;
        for (std::size_t k = 0; k < D; ++k) shift[k] = some.first[k] * period_[k];
        shifts.push_back(shift);
        continue;
      }
      Ranges lower = some, upper = some;
      lower.last[widest] = std::floor(some.first[widest] / 2 + some.last[widest] / 2);
      upper.first[widest] = lower.last[widest] + 1;
      left.push_back(upper);
      left.push_back(lower);
    }
    if (static_cast<double>(shifts.size()) > limits_.few)
      add_parts(box, room, shifts, meets, interrupt, to);
    else
      for (const auto& shift : shifts) append(box, shift.data(), to);
    return true;
  }

 private:
  // Of coordinates: what rounding may take from the images that a shape has.
  static double room_of(const double* box) {
    double largest = 0;
    for (std::size_t k = 0; k < 2 * D; ++k) largest = std::max(largest, std::fabs(box[k]));
    return 0x1p-40 * largest;
  }

  // Whole periods by which images are moved, along each axis.
  struct Ranges {
    std::array<double, D> first, last;
  };
  // Returns the number of images.
  double ranges_of(const double* box, Ranges& to) const {
    double number = 1;
    for (std::size_t k = 0; k < D; ++k) {
      to.first[k] = std::ceil((bodies_.around[k] - box[D + k]) / period_[k]);
      to.last[k] = std::floor((bodies_.around[D + k] - box[k]) / period_[k]);
      const double images = to.last[k] - to.first[k] + 1;
      if (!(images > 0)) return 0;  // NaN for a box at infinity
      number *= images;
    }
    return number;
  }

  void append(const double* box, const double* shift, Images& to) const {
    to.shifts.insert(to.shifts.end(), shift, shift + D);
    for (std::size_t k = 0; k < 2 * D; ++k) to.boxes.push_back(box[k] + shift[k % D]);
  }

  // Mostly, an image of a shape that has many is in a part of the world only. In each part there should be a few
  // bodies.
  template <class Meets>
  void add_parts(const double* box, double room, const std::vector<std::array<double, D>>& shifts, const Meets& meets,
                 Interrupt& interrupt, Images& to) const {
    struct Part {
      std::array<double, D> shift, low, high;
    };
    std::vector<Part> parts, halves;
    for (const auto& shift : shifts) {
      Part part{shift, {}, {}};
      for (std::size_t k = 0; k < D; ++k) {
        part.low[k] = std::max(box[k] + shift[k], bodies_.around[k]);
        part.high[k] = std::min(box[D + k] + shift[k], bodies_.around[D + k]);
      }
      parts.push_back(part);
    }
    for (std::size_t in_each = bodies_.count / 4; (in_each >>= D) > 0;) {
      halves.clear();
      std::size_t tried = 0;
      for (const Part& part : parts)
        for (std::size_t corner = 0; corner < std::size_t{1} << D; ++corner) {
          Part half = part;
          double there[2 * D];
          for (std::size_t k = 0; k < D; ++k) {
            const double middle = part.low[k] / 2 + part.high[k] / 2;
            ((corner >> k & 1) != 0 ? half.low : half.high)[k] = middle;
            there[k] = half.low[k] - room - part.shift[k];
            there[D + k] = half.high[k] + room - part.shift[k];
          }
          ++tried;
          interrupt.check();
          if (meets(there)) halves.push_back(half);
        }
      if (static_cast<double>(halves.size()) > limits_.worth_halving * static_cast<double>(tried)) break;
      parts.swap(halves);
    }
    for (const Part& part : parts) {
      to.shifts.insert(to.shifts.end(), part.shift.begin(), part.shift.end());
      for (std::size_t k = 0; k < D; ++k) to.boxes.push_back(part.low[k] - room);
      for (std::size_t k = 0; k < D; ++k) to.boxes.push_back(part.high[k] + room);
    }
  }

  PeriodicBodies bodies_;
  ImageLimits limits_;
  std::array<double, D> period_;
};

}  // namespace broadphase
