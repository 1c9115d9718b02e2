// Orientation predicates whose sign is exact for any finite input.
//
// The determinant is first computed in floating point together with a bound of its error, after Shewchuk, "Adaptive
// Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", 1997, DOI 10.1007/PL00009321. Where the
// bound does not settle the sign, the determinant is summed exactly by `ExactSum`. That deviates from the paper, whose
// expansions fail where products overflow or underflow. Needs double precision without fused multiply-adds.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/exact_sum.hpp"

namespace broadphase {

// ---- The predicates ----

namespace detail {

// Bounds of the error relative to the sum of the absolute terms: 3 and 7 units in the paper, plus one for the underflow
// terms.
inline constexpr double kError2d = 4 * 0x1p-53, kError3d = 8 * 0x1p-53;
// Multiplied by the bound's factor, far above what any product can lose by underflow.
inline constexpr double kUnderflow = 0x1p-960;

// Precondition: the result is a normal number.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// x - y, and whether it is exact (Knuth's two-sum, which computes the rounding error).
struct Difference {
  double value;
  bool exact;
};

inline Difference difference(double x, double y) {
  const double value = x - y, y_seen = x - value, x_seen = value + y_seen;
  return {value, (x - x_seen) + (y_seen - y) == 0};  // also false if the difference overflows: NaN
}

// The numbers as integers of less than 2^bits times a common power of two, if they are: so are lattices and models made
// in round numbers, where degenerate cases abound.
template <std::size_t N>
inline bool as_integers(const std::array<double, N>& values, int bits, std::array<std::int64_t, N>& integers) {
  double most = 0;
  for (const double value : values) most = std::abs(value) > most ? std::abs(value) : most;
  if (!(most > 0x1p-900 && most < 0x1p900)) return false;
  const int exponent = std::ilogb(most) + 1 - bits;  // most < 2^(exponent + bits)
  const double up = power_of_two(-exponent), down = power_of_two(exponent);
  for (std::size_t k = 0; k < N; ++k) {
    integers[k] = static_cast<std::int64_t>(values[k] * up);
    if (static_cast<double>(integers[k]) * down != values[k]) return false;
  }
  return true;
}

inline int sign_of(std::int64_t value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

// The exact sign of a determinant of differences; from the coordinates themselves if a difference is not exact.
inline int exact_orient2d(const double* a, const double* b, const double* c) {
  const Difference ux = difference(b[0], a[0]), uy = difference(b[1], a[1]), vx = difference(c[0], a[0]),
                   vy = difference(c[1], a[1]);
  ExactSum::Range range;
  range.see(1.0);
  if (ux.exact && uy.exact && vx.exact && vy.exact) {
    const std::array<double, 4> values{ux.value, uy.value, vx.value, vy.value};
    if ((values[0] == 0 || values[3] == 0) && (values[1] == 0 || values[2] == 0)) return 0;
    std::array<std::int64_t, 4> whole;
    if (as_integers(values, 31, whole)) return sign_of(whole[0] * whole[3] - whole[1] * whole[2]);
    for (const double value : values) range.see(value);
    ExactSum sum(range);
    sum.add(values[0], values[3], 1.0);
    sum.subtract(values[1], values[2], 1.0);
    return sum.sign();
  }
  for (const double* point : {a, b, c})
    for (std::size_t k = 0; k < 2; ++k) range.see(point[k]);
  ExactSum sum(range);
  const double* points[3] = {a, b, c};
  for (std::size_t k = 0; k < 3; ++k) {
    const double *p = points[k], *q = points[(k + 1) % 3];
    sum.add(p[0], q[1], 1.0);
    sum.subtract(p[1], q[0], 1.0);
  }
  return sum.sign();
}

inline void add_determinant(ExactSum& sum, const double* u, const double* v, const double* w, bool turned) {
  for (std::size_t k = 0; k < 3; ++k) {
    const double x = u[k], y = v[(k + 1) % 3], z = w[(k + 2) % 3], y_back = v[(k + 2) % 3], z_back = w[(k + 1) % 3];
    if (turned) {
      sum.subtract(x, y, z);
      sum.add(x, y_back, z_back);
    } else {
      sum.add(x, y, z);
      sum.subtract(x, y_back, z_back);
    }
  }
}

inline int exact_orient3d(const double* a, const double* b, const double* c, const double* d) {
  const double* points[3] = {b, c, d};
  std::array<double, 9> differences;
  bool exact = true;
  for (std::size_t p = 0; p < 3; ++p)
    for (std::size_t k = 0; k < 3; ++k) {
      const Difference found = difference(points[p][k], a[k]);
      differences[3 * p + k] = found.value;
      exact = exact && found.exact;
    }
  const double *u = differences.data(), *v = u + 3, *w = u + 6;
  // The most frequent degenerate case: all in a plane perpendicular to an axis.
  for (std::size_t k = 0; k < 3; ++k)
    if (u[k] == 0 && v[k] == 0 && w[k] == 0) return 0;
  ExactSum::Range range;
  if (exact) {
    std::array<std::int64_t, 9> n;
    if (as_integers(differences, 20, n))
      return sign_of(n[0] * (n[4] * n[8] - n[5] * n[7]) + n[1] * (n[5] * n[6] - n[3] * n[8]) +
                     n[2] * (n[3] * n[7] - n[4] * n[6]));
    for (const double value : differences) range.see(value);
    ExactSum sum(range);
    add_determinant(sum, u, v, w, false);
    return sum.sign();
  }
  for (const double* point : {a, b, c, d})
    for (std::size_t k = 0; k < 3; ++k) range.see(point[k]);
  ExactSum sum(range);
  add_determinant(sum, b, c, d, false);
  add_determinant(sum, a, c, d, true);
  add_determinant(sum, a, b, d, false);
  add_determinant(sum, a, b, c, true);
  return sum.sign();
}

}  // namespace detail

// The sign of det(b - a, c - a): 1 if a, b, c turn left, -1 if right, 0 if they are collinear.
inline int orient2d(const double* a, const double* b, const double* c) {
  const double left = (b[0] - a[0]) * (c[1] - a[1]), right = (b[1] - a[1]) * (c[0] - a[0]);
  const double determinant = left - right;
  const double bound = detail::kError2d * (std::abs(left) + std::abs(right) + detail::kUnderflow);
  if (determinant > bound) return 1;
  if (-determinant > bound) return -1;
  return detail::exact_orient2d(a, b, c);  // also for infinities and NaN from overflow, which pass no bound
}

// The plane through a, b and c, on whose sides points are: what is computed once for all of them.
class OrientedPlane {
 public:
  OrientedPlane(const double* a, const double* b, const double* c) : a_(a), b_(b), c_(c) {
    const double ux = b[0] - a[0], uy = b[1] - a[1], uz = b[2] - a[2];
    const double vx = c[0] - a[0], vy = c[1] - a[1], vz = c[2] - a[2];
    const double yz = uy * vz, zy = uz * vy, zx = uz * vx, xz = ux * vz, xy = ux * vy, yx = uy * vx;
    normal_ = {yz - zy, zx - xz, xy - yx};
    size_ = {std::abs(yz) + std::abs(zy) + detail::kUnderflow, std::abs(zx) + std::abs(xz) + detail::kUnderflow,
             std::abs(xy) + std::abs(yx) + detail::kUnderflow};
  }

  // The sign of det(b - a, c - a, d - a): 1 if d is on the side from which a, b, c turn left.
  int side(const double* d) const {
    const double wx = d[0] - a_[0], wy = d[1] - a_[1], wz = d[2] - a_[2];
    const double determinant = wx * normal_[0] + wy * normal_[1] + wz * normal_[2];
    const double size =
        size_[0] * std::abs(wx) + size_[1] * std::abs(wy) + size_[2] * std::abs(wz) + detail::kUnderflow;
    const double bound = detail::kError3d * size;
    if (determinant > bound) return 1;
    if (-determinant > bound) return -1;
    return detail::exact_orient3d(a_, b_, c_, d);
  }

 private:
  const double *a_, *b_, *c_;
  std::array<double, 3> normal_, size_;
};

inline int orient3d(const double* a, const double* b, const double* c, const double* d) {
  return OrientedPlane(a, b, c).side(d);
}

}  // namespace broadphase
