// The narrow phase over arrays of pairs of rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/parallel.hpp"
#include "base/read_ahead.hpp"
#include "narrow/shape_queries.hpp"
#include "narrow/turning.hpp"
#include "query/collect.hpp"
#include "shapes/store.hpp"

namespace broadphase {

// Rows first[k] of one store and second[k] of another or the same one. Offsets (D values each), which may be null, move
// the second.
struct ShapePairs {
  const std::int32_t* first;
  const std::int32_t* second;
  const double* offsets;
  std::size_t count;
};

// Calls use(k, a, b) for each pair of supported shapes, unknown(k) for pairs with one that is kept elsewhere.
template <std::size_t D, class Use, class Unknown>
void for_each_pair(const ShapeStore& a, const ShapeStore& b, const ShapePairs& pairs, Use&& use, Unknown&& unknown) {
  std::vector<double> moved;
  for (std::size_t k = 0; k < pairs.count; ++k) {
    const ShapeView<D> first = a.placed<D>(static_cast<std::size_t>(pairs.first[k]));
    ShapeView<D> second = b.placed<D>(static_cast<std::size_t>(pairs.second[k]));
    if (is_kept_elsewhere(first.kind) || is_kept_elsewhere(second.kind)) {
      unknown(k);
      continue;
    }
    if (pairs.offsets != nullptr) {
      moved.assign(second.record.begin(), second.record.end());
      shift_shape<D>(second.kind, moved, pairs.offsets + k * D);
      second.record = moved;
    }
    use(k, first, second);
  }
}

// Two shapes overlap if both their bounding boxes and the shapes do. Boxes are compared by the numbers by which
// candidates are found. Shapes are calculated, and beside a large shape the rounding error may exceed the gap to a
// small one, and the enlargement of its box. So the answer is the same for candidates and for pairs that are given.

// Bounding boxes of all rows, lower[D] and upper[D] each; null: those of all pairs are known to overlap.
struct PairBoxes {
  const double *first = nullptr, *second = nullptr;

  // Whether those of a pair do.
  template <std::size_t D>
  bool overlap(const ShapePairs& pairs, std::size_t k) const {
    if (first == nullptr) return true;
    const double* p = first + 2 * D * static_cast<std::size_t>(pairs.first[k]);
    const double* q = second + 2 * D * static_cast<std::size_t>(pairs.second[k]);
    bool apart = false;
    for (std::size_t axis = 0; axis < D; ++axis) {
      const double offset = pairs.offsets != nullptr ? pairs.offsets[k * D + axis] : 0.0;
      apart |= (p[axis] > q[D + axis] + offset) | (q[axis] + offset > p[D + axis]);
    }
    return !apart;
  }
  // How far the lower corners of a pair are apart, squared; 0 where the boxes are known to overlap.
  template <std::size_t D>
  double squared_way(const ShapePairs& pairs, std::size_t k) const {
    double squared = 0;
    for (std::size_t axis = 0; axis < D && first != nullptr; ++axis) {
      const double way = second[2 * D * static_cast<std::size_t>(pairs.second[k]) + axis] -
                         first[2 * D * static_cast<std::size_t>(pairs.first[k]) + axis];
      squared += way * way;
    }
    return squared;
  }
};

// Within these limits squares of the sum of two radii neither overflow nor underflow. Then boxes of balls that overlap
// do so, too: they are enlarged by more than the rounding error.
inline constexpr double kLeastReach = 0x1p-500, kMostReach = 0x1p500;

// Whether the boxes of two shapes certainly overlap if the shapes do.
template <std::size_t D>
bool implies_boxes(const ShapeView<D>& a, const ShapeView<D>& b) {
  if (a.kind != b.kind) return false;
  return a.kind == ShapeKind::kBox || (a.kind == ShapeKind::kBall && a.record[D] + b.record[D] >= kLeastReach);
}

// Whether they overlap: 0 no, 1 yes, 2 not supported here (hulls and meshes), but their boxes do.
template <std::size_t D>
void overlaps_of(const ShapeStore& a, const ShapeStore& b, const ShapePairs& pairs, const PairBoxes& boxes,
                 std::uint8_t* answers) {
  for_each_pair<D>(
      a, b, pairs,
      [&](std::size_t k, const ShapeView<D>& first, const ShapeView<D>& second) {
        const bool may = implies_boxes(first, second) || boxes.overlap<D>(pairs, k);
        answers[k] = may && overlaps(first, second) ? 1 : 0;
      },
      [&](std::size_t k) { answers[k] = boxes.overlap<D>(pairs, k) ? 2 : 0; });
}

// Pairs, first and second row, one pair after the other.
using RowPairs = std::vector<std::int32_t>;

// Pairs that were not decided: with a hull or a mesh, whose boxes overlap; and the places of those that do not overlap
// and are farther apart than a limit, which is squared.
struct OtherPairs {
  RowPairs unknown;
  std::vector<std::size_t> far;
  double limit = std::numeric_limits<double>::infinity();
};

// Writes those of the pairs that overlap to `first` and `second`, adds to the others, and returns how many were
// written. `hits`: where to write whether each pair overlaps; may be null.
template <std::size_t D>
std::size_t keep_touching(const ShapeStore& shapes, const ShapePairs& pairs, const PairBoxes& boxes,
                          std::int32_t* first, std::int32_t* second, OtherPairs& others, std::uint8_t* hits = nullptr) {
  // Rows of consecutive pairs are anywhere in memory: prefetched this many pairs ahead.
  constexpr std::size_t kAhead = 24;
  const StoredBall* balls = shapes.balls();
  const bool is_limited = others.limit < std::numeric_limits<double>::infinity();
  std::uint8_t nowhere;
  std::uint8_t* to = hits != nullptr ? hits : &nowhere;
  const std::size_t step = hits != nullptr ? 1 : 0;
  const auto add_if_far = [&](std::size_t k) {
    if (boxes.squared_way<D>(pairs, k) > others.limit) others.far.push_back(k);
  };
  std::size_t count = 0;
  for (std::size_t k = 0; k < pairs.count; ++k) {
    if (k + kAhead < pairs.count) {
      read_ahead(balls + pairs.first[k + kAhead]);
      read_ahead(balls + pairs.second[k + kAhead]);
    }
    const auto i = static_cast<std::size_t>(pairs.first[k]), j = static_cast<std::size_t>(pairs.second[k]);
    const double reach = balls[i][D] + balls[j][D];
    std::uint8_t hit;
    if (reach >= kLeastReach && reach <= kMostReach) {
      double squared = 0;
      for (std::size_t axis = 0; axis < D; ++axis) {
        const double gap = balls[j][axis] - balls[i][axis];
        squared += gap * gap;
      }
      hit = static_cast<std::uint8_t>(squared <= reach * reach);
      if (squared > others.limit && hit == 0) others.far.push_back(k);
    } else if (reach == 2 * ShapeStore::kBoxMark) {
      hit = static_cast<std::uint8_t>(boxes.overlap<D>(pairs, k));
      if (is_limited && hit == 0) add_if_far(k);
    } else {
      to[k * step] = 0;
      if (!boxes.overlap<D>(pairs, k)) {
        if (is_limited) add_if_far(k);
        continue;
      }
      const ShapeView<D> a = shapes.placed<D>(i), b = shapes.placed<D>(j);
      if (is_kept_elsewhere(a.kind) || is_kept_elsewhere(b.kind)) {
        others.unknown.insert(others.unknown.end(), {pairs.first[k], pairs.second[k]});
        continue;
      }
      hit = static_cast<std::uint8_t>(overlaps(a, b));
    }
    to[k * step] = hit;
    // Written unconditionally, then counted: whether a pair touches cannot be predicted.
    first[count] = pairs.first[k];
    second[count] = pairs.second[k];
    count += hit;
  }
  return count;
}

// The pairs that overlap, and the others, on threads; all in the order given.
struct TouchingPairRows {
  Pairs touching;
  OtherPairs others;
};

template <std::size_t D>
TouchingPairRows keep_touching(const ShapeStore& shapes, const ShapePairs& pairs, const PairBoxes& boxes, double limit,
                               std::uint8_t* hits, unsigned workers) {
  constexpr std::size_t kPairsATask = 8192, kTasksWorthThreads = 4;
  const bool is_alone = workers <= 1 || pairs.count < kTasksWorthThreads * kPairsATask;
  const std::size_t pairs_a_task = is_alone ? std::max<std::size_t>(pairs.count, 1) : kPairsATask,
                    tasks = (pairs.count + pairs_a_task - 1) / pairs_a_task;
  TouchingPairRows found;
  found.touching.stride = std::max<std::size_t>(pairs.count, 1);
  found.touching.block = allocate_pairs(found.touching.stride);
  std::int32_t *first = found.touching.block.get(), *second = first + found.touching.stride;
  std::vector<std::size_t> counts(tasks);
  std::vector<OtherPairs> others(tasks, OtherPairs{{}, {}, limit});
  Interrupt none;
  for_each_task(tasks, workers, none, [&](unsigned, std::size_t task) {
    const std::size_t begin = task * pairs_a_task;
    const ShapePairs part{pairs.first + begin, pairs.second + begin, nullptr,
                          std::min(pairs_a_task, pairs.count - begin)};
    counts[task] = keep_touching<D>(shapes, part, boxes, first + begin, second + begin, others[task],
                                    hits != nullptr ? hits + begin : nullptr);
  });
  for (std::size_t task = 0; task < tasks; ++task) {
    if (task > 0) {
      std::copy_n(first + task * pairs_a_task, counts[task], first + found.touching.size);
      std::copy_n(second + task * pairs_a_task, counts[task], second + found.touching.size);
    }
    found.touching.size += counts[task];
    const RowPairs& unknown = others[task].unknown;
    found.others.unknown.insert(found.others.unknown.end(), unknown.begin(), unknown.end());
    for (const std::size_t at : others[task].far) found.others.far.push_back(at + task * pairs_a_task);
  }
  return found;
}

// Beyond half a world along an axis, squared, shapes that do not overlap may do so in another image; null: never.
template <std::size_t D>
double squared_half(const double* period) {
  double half = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < D && period != nullptr; ++k) half = std::min(half, period[k] / 2);
  return half * half;
}

// Pairs with the offsets that bring the second of each to the image nearest to the first in a periodic world: by their
// boxes, which are fewer than 2^51 worlds apart.
template <std::size_t D>
struct NearestImages {
  std::vector<std::int32_t> first, second;
  std::vector<double> offsets;

  // Those at some places of other pairs.
  NearestImages(const ShapePairs& pairs, const std::vector<std::size_t>& places, const double* boxes,
                const double* period) {
    // Added and taken off again, this rounds to whole numbers; calls of the library take ten times as long.
    constexpr double kWhole = 0x1.8p52;
    first.reserve(places.size());
    second.reserve(places.size());
    offsets.reserve(places.size() * D);
    for (const std::size_t k : places) {
      first.push_back(pairs.first[k]);
      second.push_back(pairs.second[k]);
      const double *p = boxes + 2 * D * static_cast<std::size_t>(first.back()),
                   *q = boxes + 2 * D * static_cast<std::size_t>(second.back());
      for (std::size_t axis = 0; axis < D; ++axis)
        offsets.push_back(((p[axis] - q[axis]) / period[axis] + kWhole - kWhole) * period[axis]);
    }
  }

  ShapePairs pairs() const { return {first.data(), second.data(), offsets.data(), first.size()}; }
};

// Of pairs whose second shape is moved, the places of those that overlap then, but not where they are; and of those
// with a hull or a mesh whose boxes overlap when moved.
struct TouchingImages {
  std::vector<std::size_t> touching, unknown;
};

template <std::size_t D>
TouchingImages keep_touching_images(const ShapeStore& shapes, const ShapePairs& pairs, const PairBoxes& boxes) {
  constexpr std::size_t kAhead = 16;
  const StoredBall* balls = shapes.balls();
  TouchingImages found;
  for (std::size_t k = 0; k < pairs.count; ++k) {
    if (k + kAhead < pairs.count) {
      read_ahead(balls + pairs.first[k + kAhead]);
      read_ahead(balls + pairs.second[k + kAhead]);
    }
    const auto i = static_cast<std::size_t>(pairs.first[k]), j = static_cast<std::size_t>(pairs.second[k]);
    const double reach = balls[i][D] + balls[j][D];
    std::uint8_t moved = 0, here = 0;
    if (reach >= kLeastReach && reach <= kMostReach) {
      double squared = 0, squared_here = 0;
      for (std::size_t axis = 0; axis < D; ++axis) {
        const double gap = balls[j][axis] + pairs.offsets[k * D + axis] - balls[i][axis],
                     gap_here = balls[j][axis] - balls[i][axis];
        squared += gap * gap;
        squared_here += gap_here * gap_here;
      }
      moved = squared <= reach * reach ? 1 : 0;
      here = squared_here <= reach * reach ? 1 : 0;
    } else {
      overlaps_of<D>(shapes, shapes, {pairs.first + k, pairs.second + k, pairs.offsets + k * D, 1}, boxes, &moved);
      if (moved == 1) overlaps_of<D>(shapes, shapes, {pairs.first + k, pairs.second + k, nullptr, 1}, boxes, &here);
    }
    if (moved == 2) found.unknown.push_back(k);
    if (moved == 1 && here == 0) found.touching.push_back(k);
  }
  return found;
}

// The first time in [0, 1] at which the first of each pair, moved by motions[k] relative to the second, touches it; inf
// if never, NaN for hulls and meshes. `normals`: D values each, from the first to the second.
template <std::size_t D>
void impacts_of(const ShapeStore& a, const ShapeStore& b, const ShapePairs& pairs, const double* motions, double* times,
                double* normals) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  constexpr std::size_t kAhead = 16;
  const StoredBall *balls = a.balls(), *others = b.balls();
  for (std::size_t k = 0; k < pairs.count; ++k) {
    if (k + kAhead < pairs.count) {
      read_ahead(balls + pairs.first[k + kAhead]);
      read_ahead(others + pairs.second[k + kAhead]);
    }
    const StoredBall& ball = balls[pairs.first[k]];
    StoredBall other = others[pairs.second[k]];
    Vec<D> motion, normal{};
    std::copy_n(motions + k * D, D, motion.begin());
    if (const double reach = ball[D] + other[D]; reach >= kLeastReach && reach <= kMostReach) {
      for (std::size_t axis = 0; axis < D && pairs.offsets != nullptr; ++axis)
        other[axis] += pairs.offsets[k * D + axis];
      times[k] = impact_time({ShapeKind::kBall, {ball.data(), D + 1}}, motion,
                             ShapeView<D>{ShapeKind::kBall, {other.data(), D + 1}}, &normal);
    } else {
      const ShapePairs one{pairs.first + k, pairs.second + k,
                           pairs.offsets != nullptr ? pairs.offsets + k * D : nullptr, 1};
      for_each_pair<D>(
          a, b, one,
          [&](std::size_t, const ShapeView<D>& first, const ShapeView<D>& second) {
            times[k] = impact_time(first, motion, second, &normal);
          },
          [&](std::size_t) {
            times[k] = kUnknown;
            normal.fill(kUnknown);
          });
    }
    std::copy_n(normal.begin(), D, normals + k * D);
  }
}

// The same of bodies that move and turn, until they are at most `targets[k]` apart.
template <std::size_t D>
void turning_impacts_of(const ShapeStore& a, const ShapeStore& b, const std::int32_t* first, const std::int32_t* second,
                        const PairMotion<D>* motions, const double* targets, std::size_t count, double* times,
                        double* normals) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  ShapeStore::LocalRoom room, other_room;
  for (std::size_t k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>(first[k]), j = static_cast<std::size_t>(second[k]);
    Vec<D> normal{};
    if (is_kept_elsewhere(a.kind(i)) || is_kept_elsewhere(b.kind(j))) {
      times[k] = kUnknown;
      normal.fill(kUnknown);
    } else {
      const TurningPair<D> pair({a.kind(i), a.local(i, room)}, nullptr, {b.kind(j), b.local(j, other_room)}, nullptr,
                                motions[k]);
      times[k] = pair.is_straight() && targets[k] == 0
                     ? impact_time(a.placed<D>(i), pair.motion, b.placed<D>(j), &normal)
                     : impact_time(pair, targets[k], &normal);
    }
    std::copy_n(normal.begin(), D, normals + k * D);
  }
}

}  // namespace broadphase
