// Boxes of either type, read as doubles: exact for both, and queries need no second copy of their code.
#pragma once

#include <cstddef>

#include "boxes/box_view.hpp"

namespace broadphase {

class AnyBoxes {
 public:
  AnyBoxes() = default;
  AnyBoxes(const BoxView<float>& boxes, std::size_t dimension) : floats_(boxes), dimension_(dimension) {}
  AnyBoxes(const BoxView<double>& boxes, std::size_t dimension)
      : doubles_(boxes), dimension_(dimension), is_double_(true) {}

  std::size_t dimension() const { return dimension_; }
  std::size_t count() const { return is_double_ ? doubles_.count : floats_.count; }

  // Lower corner, then upper corner.
  void read(std::size_t row, double* box) const {
    if (is_double_)
      copy(doubles_, row, dimension_, box);
    else
      copy(floats_, row, dimension_, box);
  }
  // Calls use(boxes) with the view of their own type.
  template <class Use>
  decltype(auto) use(const Use& use) const {
    return is_double_ ? use(doubles_) : use(floats_);
  }
  // As read(), where the dimension is known.
  template <std::size_t D>
  void read(std::size_t row, double* box) const {
    if (is_double_)
      copy(doubles_, row, D, box);
    else
      copy(floats_, row, D, box);
  }

 private:
  template <class T>
  static void copy(const BoxView<T>& boxes, std::size_t row, std::size_t dimension, double* box) {
    const T *lower = boxes.lower_of(row), *upper = boxes.upper_of(row);
    for (std::size_t k = 0; k < dimension; ++k) {
      box[k] = static_cast<double>(lower[k]);
      box[dimension + k] = static_cast<double>(upper[k]);
    }
  }

  BoxView<float> floats_;
  BoxView<double> doubles_;
  std::size_t dimension_ = 0;
  bool is_double_ = false;
};

// Closed boxes, corners as AnyBoxes reads them.
inline bool boxes_meet(const double* a, const double* b, std::size_t dimension) {
  bool meet = true;
  for (std::size_t k = 0; k < dimension; ++k) meet &= a[k] <= b[dimension + k] && b[k] <= a[dimension + k];
  return meet;
}

}  // namespace broadphase
