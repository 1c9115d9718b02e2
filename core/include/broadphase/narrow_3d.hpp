// The narrow phase in space.
#pragma once

#include <cstddef>
#include <limits>

#include "broadphase/shape.hpp"

namespace broadphase {

inline bool overlaps(const ShapeView<3>& a, const ShapeView<3>& b) {
  double d2 = 0;
  for (std::size_t k = 0; k < 3; ++k) d2 += (b.record[k] - a.record[k]) * (b.record[k] - a.record[k]);
  const double reach = a.record[3] + b.record[3];
  return d2 <= reach * reach;
}
inline double signed_distance(const ShapeView<3>&, const ShapeView<3>&, Vec<3>*) { return 0; }
inline Contact<3> contact(const ShapeView<3>&, const ShapeView<3>&) { return {}; }
inline double ray_hit(const ShapeView<3>&, const Vec<3>&, const Vec<3>&, Vec<3>*) { return 0; }
inline double impact_time(const ShapeView<3>&, const Vec<3>&, const ShapeView<3>&, Vec<3>*) { return 0; }

}  // namespace broadphase
