// A number of dimensions, as a type.
#pragma once

#include <cstddef>
#include <type_traits>

namespace broadphase {

// Calls use(std::integral_constant<std::size_t, D>()) for the dimension, 1 to 4: loops over axes are then unrolled.
template <class Use>
auto with_dimension(std::size_t dimension, Use&& use) {
  switch (dimension) {
    case 1: return use(std::integral_constant<std::size_t, 1>());
    case 2: return use(std::integral_constant<std::size_t, 2>());
    case 3: return use(std::integral_constant<std::size_t, 3>());
    default: return use(std::integral_constant<std::size_t, 4>());
  }
}

}  // namespace broadphase
