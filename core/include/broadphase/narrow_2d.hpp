// The narrow phase in the plane.
#pragma once

#include <cstddef>
#include <limits>

#include "broadphase/shape.hpp"

namespace broadphase {

inline bool overlaps(const ShapeView<2>& a, const ShapeView<2>& b) {
  double d2 = 0;
  for (std::size_t k = 0; k < 2; ++k) d2 += (b.record[k] - a.record[k]) * (b.record[k] - a.record[k]);
  const double reach = a.record[2] + b.record[2];
  return d2 <= reach * reach;
}
inline double signed_distance(const ShapeView<2>&, const ShapeView<2>&, Vec<2>*) { return 0; }
inline Contact<2> contact(const ShapeView<2>&, const ShapeView<2>&) { return {}; }
inline double ray_hit(const ShapeView<2>&, const Vec<2>&, const Vec<2>&, Vec<2>*) { return 0; }
inline double impact_time(const ShapeView<2>&, const Vec<2>&, const ShapeView<2>&, Vec<2>*) { return 0; }

}  // namespace broadphase
