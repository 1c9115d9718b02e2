// The lattice of a periodic cell, seen in a frame in which a box holds one image of each point.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace broadphase {

using Vector3 = std::array<double, 3>;
using Shift = std::array<std::int32_t, 3>;

inline double dot(const Vector3& a, const Vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// Lattice vectors as rows, and along which of them the scene repeats. Plane cells leave the third axis empty.
struct Cell {
  std::array<Vector3, 3> vectors{};
  std::array<bool, 3> periodic{};

  // shift @ vectors along one axis, rounded as ((a + b) + c): so that everyone who adds in this order gets the same
  // numbers.
  double along(std::size_t axis, std::int32_t a, std::int32_t b, std::int32_t c) const {
    return (a * vectors[0][axis] + b * vectors[1][axis]) + c * vectors[2][axis];
  }
  Vector3 translation(const Shift& shift) const {
    Vector3 sum{};
    for (std::size_t axis = 0; axis < 3; ++axis) sum[axis] = along(axis, shift[0], shift[1], shift[2]);
    return sum;
  }
};

inline Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// The square of the least height of a cell: no image of a point is nearer to it. Infinity where nothing repeats; 0
// where the cell may be flat, or its numbers are too large or too small.
inline double squared_height(const Cell& cell) {
  Vector3 vectors[3];
  std::size_t count = 0;
  double longest = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    if (!cell.periodic[k]) continue;
    vectors[count++] = cell.vectors[k];
    longest = std::max(longest, dot(cell.vectors[k], cell.vectors[k]));
  }
  if (count == 0) return std::numeric_limits<double>::infinity();
  double height = longest;
  if (count > 1) {
    const Vector3 &a = vectors[0], &b = vectors[1];
    const Vector3 normal = cross(a, b);
    double widest = longest, volume = dot(normal, normal);
    if (count > 2) {
      const Vector3 &c = vectors[2], of_a = cross(b, c), of_b = cross(c, a);
      widest = std::max({volume, dot(of_a, of_a), dot(of_b, of_b)});
      volume = dot(normal, c) * dot(normal, c);
    }
    height = volume / widest;
  }
  // Not less than a hundredth of the longest vector: then rounding does not matter, and the lattice is valid.
  return 1e4 * height > longest && longest < 1e200 && longest > 1e-200 ? height : 0.0;
}

// The periodic vectors of a cell, `count` of them, replaced by short ones that span the same lattice, in an orthonormal
// frame whose first axes they span: vector k has components along axes 0 to k only. So the box with the edges
// edge(0), edge(1) ... along these axes holds one image of each point, however skewed the cell is.
class Lattice {
 public:
  // Shifts have 32 bits, and rounding must not reach a cutoff.
  static constexpr double kMostCells = 1 << 30;

  explicit Lattice(const Cell& cell) {
    for (std::size_t k = 0; k < 3; ++k)
      if (cell.periodic[k]) {
        vectors_[count_] = cell.vectors[k];
        combination_[count_++][k] = 1;
      }
    reduce();
    find_frame();
  }

  std::size_t count() const { return count_; }
  // False where the vectors do not span a volume.
  bool is_valid() const { return valid_; }
  double edge(std::size_t k) const { return components_[k][k]; }
  const Vector3& components(std::size_t k) const { return components_[k]; }
  const Vector3& axis_of_frame(std::size_t k) const { return frame_[k]; }
  // Which original vectors make up short vector k.
  const std::array<std::int64_t, 3>& combination(std::size_t k) const { return combination_[k]; }
  // True if axis l of the space has no part in the lattice.
  bool is_apart(std::size_t l) const {
    for (std::size_t k = count_; k < 3; ++k)
      if (frame_[k][l] == 1) return true;
    return false;
  }

  // `cells` times the short vectors as a sum of the original ones.
  std::array<std::int64_t, 3> original(const std::array<std::int64_t, 3>& cells) const {
    std::array<std::int64_t, 3> sum{};
    for (std::size_t k = 0; k < count_; ++k)
      for (std::size_t l = 0; l < 3; ++l) sum[l] += cells[k] * combination_[k][l];
    return sum;
  }

  Vector3 in_frame(const Vector3& point) const {
    return {dot(frame_[0], point), dot(frame_[1], point), dot(frame_[2], point)};
  }
  // Moves a point of the frame into the box, up to rounding; `cells` short vectors were taken off. False if too many.
  bool wrap(Vector3& point, std::array<std::int64_t, 3>& cells) const {
    for (std::size_t k = count_; k-- > 0;) {
      const double steps = std::floor(point[k] / edge(k));
      if (steps == 0) continue;
      if (!(std::abs(steps) <= kMostCells)) return false;
      cells[k] = static_cast<std::int64_t>(steps);
      for (std::size_t axis = 0; axis <= k; ++axis) point[axis] -= steps * components_[k][axis];
    }
    return true;
  }

 private:
  // Takes multiples of the others off each vector for as long as that makes it shorter: after H. Minkowski, with
  // coefficients that suffice in three dimensions (P. Nguyen and D. Stehle, ACM TALG 5, 2009, 10.1145/1597036.1597050).
  void reduce() {
    const auto take_off = [&](std::size_t k, std::size_t l, double steps) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        vectors_[k][axis] -= steps * vectors_[l][axis];
        combination_[k][axis] -= static_cast<std::int64_t>(steps) * combination_[l][axis];
      }
    };
    constexpr double kShorter = 1 - 1e-9;  // or rounding could go on for ever
    constexpr int kMostRounds = 1000;
    bool changed = count_ > 1;
    for (int round = 0; changed && round < kMostRounds; ++round) {
      changed = false;
      for (std::size_t k = 0; k < count_; ++k)
        for (std::size_t l = 0; l < count_; ++l) {
          const double length = dot(vectors_[l], vectors_[l]), along = dot(vectors_[k], vectors_[l]);
          if (k == l || !(length > 0) || 2 * std::abs(along) <= length)
            continue;  // the usual case, as quick as it can be
          const double steps = std::nearbyint(along / length);
          if (steps == 0 || !(std::abs(steps) < kMostCells)) continue;
          Vector3 shorter = vectors_[k];
          for (std::size_t axis = 0; axis < 3; ++axis) shorter[axis] -= steps * vectors_[l][axis];
          if (!(dot(shorter, shorter) < kShorter * dot(vectors_[k], vectors_[k]))) continue;
          take_off(k, l, steps);
          changed = true;
        }
      if (count_ < 3 || changed) continue;
      for (std::size_t k = 0; k < 3 && !changed; ++k)
        for (const double one : {-1.0, 1.0})
          for (const double two : {-1.0, 1.0}) {
            const std::size_t l = (k + 1) % 3, m = (k + 2) % 3;
            Vector3 shorter = vectors_[k];
            for (std::size_t axis = 0; axis < 3; ++axis)
              shorter[axis] -= one * vectors_[l][axis] + two * vectors_[m][axis];
            if (changed || !(dot(shorter, shorter) < kShorter * dot(vectors_[k], vectors_[k]))) continue;
            take_off(k, l, one);
            take_off(k, m, two);
            changed = true;
          }
    }
    for (std::size_t k = 0; k < count_; ++k)
      for (const std::int64_t steps : combination_[k])
        valid_ = valid_ && static_cast<double>(std::abs(steps)) < kMostCells;
  }

  void find_frame() {
    // Gram and Schmidt, twice, because once is not enough where vectors are nearly parallel.
    const auto orthogonal = [&](Vector3 vector, std::size_t axes) {
      for (int repeat = 0; repeat < 2; ++repeat)
        for (std::size_t k = 0; k < axes; ++k) {
          const double along = dot(vector, frame_[k]);
          for (std::size_t axis = 0; axis < 3; ++axis) vector[axis] -= along * frame_[k][axis];
        }
      return vector;
    };
    const auto add_axis = [&](std::size_t k, const Vector3& vector) {
      const double length = std::sqrt(dot(vector, vector));
      for (std::size_t axis = 0; axis < 3; ++axis) frame_[k][axis] = vector[axis] / length;
      return length;
    };
    constexpr double kFlattest = 1e-9;
    for (std::size_t k = 0; k < count_; ++k) {
      const double length = std::sqrt(dot(vectors_[k], vectors_[k])), height = add_axis(k, orthogonal(vectors_[k], k));
      valid_ = valid_ && height > kFlattest * length;
      for (std::size_t axis = 0; axis < k; ++axis) components_[k][axis] = dot(vectors_[k], frame_[axis]);
      components_[k][k] = height;
    }
    std::array<bool, 3> used{};
    for (std::size_t k = count_; k < 3; ++k) {
      std::size_t best = 3;
      double most = -1;
      Vector3 axis_of_best{};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        Vector3 unit{};
        unit[axis] = 1;
        const Vector3 rest = orthogonal(unit, k);
        if (used[axis] || !(dot(rest, rest) > most)) continue;
        best = axis, most = dot(rest, rest), axis_of_best = rest;
      }
      if (best < 3) used[best] = true;
      add_axis(k, axis_of_best);
    }
  }

  std::size_t count_ = 0;
  bool valid_ = true;
  std::array<Vector3, 3> vectors_{}, components_{}, frame_{};
  std::array<std::array<std::int64_t, 3>, 3> combination_{};
};

}  // namespace broadphase
