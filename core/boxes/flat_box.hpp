// A box in the plane, as GEOS has it: an envelope.
#pragma once

#include <algorithm>

namespace broadphase {

struct FlatBox {
  double x, y, x_end, y_end;

  bool overlaps(const FlatBox& other) const {
    return x <= other.x_end && other.x <= x_end && y <= other.y_end && other.y <= y_end;
  }
  bool has(const double* point) const {
    return x <= point[0] && point[0] <= x_end && y <= point[1] && point[1] <= y_end;
  }
  void include(const FlatBox& other) {
    x = std::min(x, other.x);
    y = std::min(y, other.y);
    x_end = std::max(x_end, other.x_end);
    y_end = std::max(y_end, other.y_end);
  }
  FlatBox grown(double margin) const { return {x - margin, y - margin, x_end + margin, y_end + margin}; }
  FlatBox common(const FlatBox& other) const {
    return {std::max(x, other.x), std::max(y, other.y), std::min(x_end, other.x_end), std::min(y_end, other.y_end)};
  }
  // Width and height together.
  double size() const { return x_end - x + (y_end - y); }
  // The square of the distance to another.
  double squared_gap(const FlatBox& other) const {
    const double dx = std::max(std::max(x - other.x_end, other.x - x_end), 0.0);
    const double dy = std::max(std::max(y - other.y_end, other.y - y_end), 0.0);
    return dx * dx + dy * dy;
  }
  // As GEOS computes it: sizes are subtracted one by one, and each difference is rounded.
  double squared_gap_in_geos(const FlatBox& other) const {
    const double dx =
        std::max(0.0, std::max(x_end, other.x_end) - std::min(x, other.x) - (x_end - x) - (other.x_end - other.x));
    const double dy =
        std::max(0.0, std::max(y_end, other.y_end) - std::min(y, other.y) - (y_end - y) - (other.y_end - other.y));
    return dx * dx + dy * dy;
  }
};

}  // namespace broadphase
