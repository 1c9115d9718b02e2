// The arrays of moving rows that Python hands over, and how they are checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "bindings.hpp"

namespace broadphase::python {

using Flags = Vector<std::uint8_t>;
// Lower and upper numbers of each row: (n, 2, d).
using Boxes = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

inline void require(bool fits) {
  if (!fits) throw nb::value_error("the arrays differ in their number of rows or of columns");
}

// Calls use(std::integral_constant<std::size_t, D>()) without the GIL: worlds are planes or spaces.
template <class Use>
auto in_plane_or_space(std::size_t dimension, Use&& use) {
  if (dimension != 2 && dimension != 3) throw nb::value_error("2 or 3 numbers a row are needed");
  const ReleasedGil release;
  return dimension == 2 ? use(std::integral_constant<std::size_t, 2>()) : use(std::integral_constant<std::size_t, 3>());
}

}  // namespace broadphase::python
