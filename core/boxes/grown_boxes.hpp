// Boxes on their way into a packed tree, and how far they reach.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "base/with_dimension.hpp"
#include "boxes/box_view.hpp"
#include "boxes/pack_boxes.hpp"

namespace broadphase {

// Boxes as a tree takes them: `grow` taken from each lower corner and added to each upper one, rounded once.
template <class T>
struct GrownBoxes {
  BoxView<T> boxes;
  std::size_t dimension = 3;
  T grow = 0;

  T lower(std::size_t row, std::size_t k) const { return boxes.lower_of(row)[k] - grow; }
  T upper(std::size_t row, std::size_t k) const { return boxes.upper_of(row)[k] + grow; }
};

template <class T>
PackBoxes<T> pack_boxes(const GrownBoxes<T>& grown) {
  const BoxView<T>& boxes = grown.boxes;
  return {boxes.lower, boxes.upper, boxes.lower_stride, boxes.upper_stride, grown.grow};
}

// From the least finite lower corner to the largest finite upper one; low > high where there is none.
template <class T>
struct Extent {
  T low[4], high[4];

  Extent() {
    std::fill_n(low, 4, std::numeric_limits<T>::infinity());
    std::fill_n(high, 4, -std::numeric_limits<T>::infinity());
  }
  template <std::size_t D>
  void add_row(const GrownBoxes<T>& boxes, std::size_t row) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < D; ++k) {
      const T lower = boxes.lower(row, k), upper = boxes.upper(row, k);
      const T from = lower == -kInfinity ? kInfinity : lower, to = upper == kInfinity ? -kInfinity : upper;
      low[k] = from < low[k] ? from : low[k];
      high[k] = to > high[k] ? to : high[k];
    }
  }
  void add(const Extent& other) {
    for (std::size_t k = 0; k < 4; ++k) {
      low[k] = std::min(low[k], other.low[k]);
      high[k] = std::max(high[k], other.high[k]);
    }
  }
};

// Of rows [begin, end) of those that row(at) names.
template <class T, class Row>
Extent<T> extent_of(const GrownBoxes<T>& boxes, std::size_t begin, std::size_t end, Row&& row) {
  return with_dimension(boxes.dimension, [&](auto dimension) {
    Extent<T> extent;
    for (std::size_t at = begin; at < end; ++at)
      extent.template add_row<decltype(dimension)::value>(boxes, static_cast<std::size_t>(row(at)));
    return extent;
  });
}

}  // namespace broadphase
