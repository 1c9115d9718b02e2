// Boxes as a tree takes them, with a margin, and how far they reach.
#pragma once

#include <cstddef>

#include "boxes/box_view.hpp"
#include "boxes/extent.hpp"
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

// The extent of the boxes row(begin) to row(end - 1).
template <class T, class Row>
Extent<T> extent_of(const GrownBoxes<T>& boxes, std::size_t begin, std::size_t end, Row&& row) {
  return finite_extent(boxes.dimension, end - begin, boxes.grow, [&](std::size_t k) {
    const auto at = static_cast<std::size_t>(row(begin + k));
    return BoxCorners<T>{boxes.boxes.lower_of(at), boxes.boxes.upper_of(at)};
  });
}

// The part of their extent that holds most of the boxes row(begin) to row(end - 1).
template <class T, class Row>
Extent<T> bulk_of(const GrownBoxes<T>& boxes, const Extent<T>& extent, std::size_t begin, std::size_t end, Row&& row) {
  return bulk_of(extent, boxes.dimension, end - begin, [&](std::size_t k) {
    const auto at = static_cast<std::size_t>(row(begin + k));
    return BoxCorners<T>{boxes.boxes.lower_of(at), boxes.boxes.upper_of(at)};
  });
}

}  // namespace broadphase
