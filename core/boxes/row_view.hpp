// Boxes that lie one after the other, the numbers of each lower corner before those of the upper one.
#pragma once

#include <cstddef>

#include "boxes/box_view.hpp"

namespace broadphase {

// The pointer may be null if there are none: then nothing is added to it.
template <class T>
BoxView<T> view_of_rows(const T* corners, std::size_t dimension, std::size_t count) {
  if (count == 0) return {};
  const auto stride = static_cast<std::ptrdiff_t>(2 * dimension);
  return {corners, corners + dimension, stride, stride, count};
}

}  // namespace broadphase
