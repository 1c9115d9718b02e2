// A number of dimensions, as a type.
#pragma once

#include <cstddef>
#include <type_traits>

namespace broadphase {

template <std::size_t D>
using Dimension = std::integral_constant<std::size_t, D>;

// Calls use(Dimension<D>()) for a number of axes, 1 to 4: loops over axes are then unrolled.
template <class Use>
auto with_dimension(std::size_t dimension, Use&& use) {
  switch (dimension) {
    case 1: return use(Dimension<1>());
    case 2: return use(Dimension<2>());
    case 3: return use(Dimension<3>());
    default: return use(Dimension<4>());
  }
}

}  // namespace broadphase
