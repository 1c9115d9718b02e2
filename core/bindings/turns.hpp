// Rotations as Python gives them, in one of several forms.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "shapes/shape.hpp"

namespace broadphase::python {

// The matrix of a rotation, row by row, of its numbers: an angle, a quaternion, or the matrix itself.
template <std::size_t D>
std::array<double, D * D> matrix_of(const double* rotation, std::size_t numbers) {
  std::array<double, D * D> matrix{};
  if (numbers == D * D) {
    std::copy_n(rotation, D * D, matrix.begin());
    return matrix;
  }
  const std::array<double, D> origin{};
  const Pose<D> pose(origin.data(), rotation);
  if (pose.is_turned) return pose.matrix;
  for (std::size_t k = 0; k < D; ++k) matrix[k * (D + 1)] = 1;
  return matrix;
}

// Checks that the columns of a matrix are perpendicular unit vectors, and makes one of quarter turns exact, as
// index/regions.py does.
inline bool take_matrix(double* matrix, std::size_t d) {
  constexpr double kMostError = 1e-5;
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) {
      double product = 0;
      for (std::size_t k = 0; k < d; ++k) product += matrix[k * d + i] * matrix[k * d + j];
      if (!(std::fabs(product - (i == j ? 1 : 0)) <= kMostError)) return false;
    }
  if (std::all_of(matrix, matrix + d * d, is_nearly_whole))
    for (double* number = matrix; number != matrix + d * d; ++number) *number = std::rint(*number);
  return true;
}

}  // namespace broadphase::python
