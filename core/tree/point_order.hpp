// Points sorted as MedianOrder sorts boxes, in the numbers as they were given: where scales nest, floats do not tell
// points apart, and the ranks of RankOrder forget how far apart they are, which is what decides which are nearest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "boxes/grown_boxes.hpp"
#include "tree/median_order.hpp"
#include "tree/places.hpp"
#include "tree/walks.hpp"

namespace broadphase {

namespace detail {

template <class T, std::size_t D>
struct Point {
  T at[D];
  std::uint32_t row;
};

template <class T, std::size_t D>
class PointSorter {
 public:
  PointSorter(Point<T, D>* points, RowKey* rows) : points_(points), rows_(rows) {}

  // Splits a part of more than eight rows in two, which can then be sorted on different threads.
  std::pair<PlacePart, PlacePart> cut(const PlacePart& part, const PartThreads&) const {
    const std::size_t middle = part.begin + first_half(part.count()), axis = widest(part);
    std::nth_element(points_ + part.begin, points_ + middle, points_ + part.end,
                     [axis](const Point<T, D>& a, const Point<T, D>& b) { return a.at[axis] < b.at[axis]; });
    return {{part.begin, middle, false}, {middle, part.end, false}};
  }
  // Recursion: one call per halving, at most 26 deep.
  void sort(const PlacePart& part, const PartThreads& threads) const {
    if (part.count() <= kLanes) {
      for (std::size_t at = part.begin; at < part.end; ++at) rows_[at].row = points_[at].row;
      return;
    }
    const auto [first, second] = cut(part, threads);
    sort(first, threads);
    sort(second, threads);
  }

 private:
  static constexpr std::size_t kSample = 256;

  std::size_t widest(const PlacePart& part) const {
    const StratifiedSample sample(part.count(), kSample);
    std::size_t axis = 0;
    T most = -1;
    for (std::size_t k = 0; k < D; ++k) {
      T low = points_[part.begin + sample[0]].at[k], high = low;
      for (std::size_t at = 1; at < sample.size(); ++at) {
        const T x = points_[part.begin + sample[at]].at[k];
        low = x < low ? x : low;
        high = x > high ? x : high;
      }
      const T width = high - low;  // NaN where all are at one infinity
      if (!(width > most)) continue;
      most = width;
      axis = k;
    }
    return axis;
  }

  Point<T, D>* points_;
  RowKey* rows_;
};

}  // namespace detail

// Whether a sample of the rows has no box that is not a point. `rows` null: all of them.
template <class T>
bool are_points(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count) {
  constexpr std::size_t kSample = 256;
  const StratifiedSample sample(count, kSample);
  for (std::size_t at = 0; at < sample.size(); ++at) {
    const std::size_t row = rows != nullptr ? static_cast<std::size_t>(rows[sample[at]]) : sample[at];
    for (std::size_t k = 0; k < boxes.dimension; ++k)
      if (boxes.lower(row, k) != boxes.upper(row, k)) return false;
  }
  return true;
}

template <class T>
class PointOrder {
 public:
  // By the lower corners. `rows` null: all of them. Throws bad_alloc or Interrupted.
  void sort(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count, unsigned workers,
            Interrupt& interrupt) {
    items_.grow(count);
    if (count == 0) return;
    with_dimension(boxes.dimension, [&](auto dimension) {
      constexpr std::size_t D = decltype(dimension)::value;
      PlainArray<detail::Point<T, D>> points;
      points.grow(count);
      in_stretches_on_threads(count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t row = rows != nullptr ? static_cast<std::size_t>(rows[i]) : i;
          points[i].row = static_cast<std::uint32_t>(row);
          for (std::size_t k = 0; k < D; ++k) points[i].at[k] = boxes.lower(row, k);
        }
      });
      detail::sort_places(detail::PointSorter<T, D>(points.get(), items_.get()), count, workers, interrupt);
    });
  }

  RowKey* items() { return items_.get(); }  // in order; their keys have no meaning

 private:
  PlainArray<RowKey> items_;
};

}  // namespace broadphase
