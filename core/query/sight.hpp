// What lies within an angle of a heading, in the plane and in space.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "boxes/any_boxes.hpp"

namespace broadphase {

// All directions within an angle, in radians from 0 to pi, of a heading of any length; of one of zero, all.
class Cone {
 public:
  Cone(const double* heading, std::size_t dimension, double angle) {
    double largest = 0;
    for (std::size_t axis = 0; axis < dimension; ++axis) largest = std::max(largest, std::abs(heading[axis]));
    // Of the size of one, so that no product with a vector is too large or too small.
    for (std::size_t axis = 0; axis < dimension; ++axis) heading_[axis] = largest > 0 ? heading[axis] / largest : 0.0;
    is_all_ = angle >= std::numbers::pi || !(largest > 0);
    is_forward_ = angle <= std::numbers::pi / 2;
    sine_ = std::sin(angle);
    cosine_ = std::cos(angle);
  }

  // A vector without a length is in every cone.
  template <std::size_t D>
  bool holds(const double* vector) const {
    if (is_all_) return true;
    if constexpr (D == 2) {
      const double along = heading_[0] * vector[0] + heading_[1] * vector[1];
      return is_within(along, std::abs(heading_[0] * vector[1] - heading_[1] * vector[0]));
    } else {
      const double along = heading_[0] * vector[0] + heading_[1] * vector[1] + heading_[2] * vector[2];
      const double x = heading_[1] * vector[2] - heading_[2] * vector[1],
                   y = heading_[2] * vector[0] - heading_[0] * vector[2],
                   z = heading_[0] * vector[1] - heading_[1] * vector[0];
      return is_within(along, std::sqrt(x * x + y * y + z * z));
    }
  }

 private:
  // By the sine of what is left of the angle, which is as exact near 0 and pi as elsewhere.
  bool is_within(double along, double across) const {
    return sine_ * along >= cosine_ * across && !(is_forward_ && along < 0);
  }

  std::array<double, 3> heading_{};
  double sine_, cosine_;
  bool is_all_, is_forward_;
};

// Where queries look, (q, d), and how far to either side, in radians: one angle for each, or one for all.
struct Sight {
  const double *headings, *angles;
  bool is_one_angle;

  Cone cone(std::size_t query, std::size_t dimension) const {
    return {headings + query * dimension, dimension, angles[is_one_angle ? 0 : query]};
  }
};

// Which rows queries see from where they are: by places, (n, d), or else by the centers of boxes.
class RowSight {
 public:
  RowSight(const Sight& sight, const double* points, std::size_t count, std::size_t dimension)
      : points_(points), dimension_(dimension) {
    for (std::size_t query = 0; query < count; ++query) cones_.push_back(sight.cone(query, dimension));
  }
  void look_at(const AnyBoxes& boxes) { boxes_ = boxes; }
  // `edges`: of a periodic world, of which the nearest image counts; or null.
  void look_at(const double* places, const double* edges) {
    places_ = places;
    edges_ = edges;
  }

  bool sees(std::size_t row, std::size_t query) const {
    double vector[3]{};
    if (places_ == nullptr) {
      double box[8];
      boxes_.read(row, box);
      for (std::size_t axis = 0; axis < dimension_; ++axis) vector[axis] = box[axis] / 2 + box[dimension_ + axis] / 2;
    } else {
      std::copy_n(places_ + row * dimension_, dimension_, vector);
    }
    for (std::size_t axis = 0; axis < dimension_; ++axis) {
      vector[axis] -= points_[query * dimension_ + axis];
      if (edges_ != nullptr) vector[axis] -= std::nearbyint(vector[axis] / edges_[axis]) * edges_[axis];
    }
    return dimension_ == 2 ? cones_[query].holds<2>(vector) : cones_[query].holds<3>(vector);
  }

 private:
  std::vector<Cone> cones_;
  const double *points_, *places_ = nullptr, *edges_ = nullptr;
  std::size_t dimension_;
  AnyBoxes boxes_;
};

}  // namespace broadphase
