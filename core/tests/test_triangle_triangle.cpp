// Signs of determinants against whole numbers, and triangles that meet however they are written down.
#include "narrow/triangles.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

int sign_of(std::int64_t value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

// Points of whole numbers below 2^19, many of them in a plane but for one unit: the products fit 64 bits.
void check_orientations(std::uint64_t seed) {
  Random random(seed);
  const auto limit = std::size_t{1} << (1 + random.below(19));
  std::int64_t p[4][3];
  for (auto& point : p)
    for (std::int64_t& x : point) x = static_cast<std::int64_t>(random.below(limit));
  if (random.chance(0.7))
    for (std::size_t k = 0; k < 3; ++k) p[3][k] = p[0][k] + (p[1][k] - p[0][k]) / 2 + (p[2][k] - p[0][k]) / 2;
  if (random.chance(0.5)) p[3][random.below(3)] += 1;
  std::int64_t e[3][3];
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t k = 0; k < 3; ++k) e[r][k] = p[r + 1][k] - p[0][k];
  const std::int64_t volume = e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) +
                              e[0][1] * (e[1][2] * e[2][0] - e[1][0] * e[2][2]) +
                              e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
  const std::int64_t area = e[0][0] * e[1][1] - e[0][1] * e[1][0];
  // Far from the origin and at any scale, down to subnormal numbers and up to where products overflow.
  const double shift = random.chance(0.5) ? std::ldexp(1.0, static_cast<int>(random.below(32))) : 0.0;
  const int exponent = random.chance(0.3) ? 0 : static_cast<int>(random.below(2030)) - 1074;
  double q[4][3];
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t k = 0; k < 3; ++k)
      q[r][k] = exponent > 970 ? std::ldexp(static_cast<double>(p[r][k]), exponent - 20)
                               : std::ldexp(static_cast<double>(p[r][k]) + shift, exponent > 940 ? 940 : exponent);
  current_case() = "orientations, seed " + std::to_string(seed) + ", exponent " + std::to_string(exponent);
  CHECK(orient3d(q[0], q[1], q[2], q[3]) == sign_of(volume));
  CHECK(orient3d(q[1], q[0], q[2], q[3]) == -sign_of(volume));
  CHECK(orient3d(q[3], q[2], q[1], q[0]) == sign_of(volume));
  CHECK(detail::exact_orient3d(q[0], q[1], q[2], q[3]) == sign_of(volume));
  CHECK(orient2d(q[0], q[1], q[2]) == sign_of(area));
  CHECK(orient2d(q[1], q[0], q[2]) == -sign_of(area));
  CHECK(detail::exact_orient2d(q[0], q[1], q[2]) == sign_of(area));
}

// Any finite numbers: turning the points turns the sign, and a point of the plane is in it.
void check_any_numbers(std::uint64_t seed) {
  Random random(seed);
  double q[4][3];
  for (auto& point : q)
    for (double& x : point) {
      x = std::bit_cast<double>(random.bits());
      if (!std::isfinite(x)) x = random.chance(0.5) ? 0x1.fffffffffffffp1023 : -0x1.fffffffffffffp1023;
    }
  current_case() = "any numbers, seed " + std::to_string(seed);
  const int sign = orient3d(q[0], q[1], q[2], q[3]);
  CHECK(orient3d(q[1], q[2], q[0], q[3]) == sign);
  CHECK(orient3d(q[1], q[0], q[3], q[2]) == sign);
  CHECK(orient3d(q[0], q[2], q[1], q[3]) == -sign);
  CHECK(orient3d(q[0], q[1], q[2], q[random.below(3)]) == 0);
  const int turn = orient2d(q[0], q[1], q[2]);
  CHECK(orient2d(q[1], q[2], q[0]) == turn);
  CHECK(orient2d(q[1], q[0], q[2]) == -turn);
  CHECK(orient2d(q[0], q[1], q[random.below(2)]) == 0);
}

void check_sum(std::uint64_t seed) {
  Random random(seed);
  current_case() = "sum, seed " + std::to_string(seed);
  ExactSum::Range range;
  const auto some = [&] {
    return std::ldexp(static_cast<double>(random.bits() >> 11), static_cast<int>(random.below(1900)) - 1000);
  };
  std::vector<double> values(9);
  for (double& value : values) range.see(value = random.chance(0.1) ? 0.0 : some());
  range.see(0x1p-1074);
  ExactSum sum(range);
  const auto each = [&](bool turned) {
    for (std::size_t k = 0; k < 9; k += 3)
      turned ? sum.subtract(values[k + 1], values[k + 2], values[k]) : sum.add(values[k], values[k + 1], values[k + 2]);
  };
  each(false);
  each(true);
  CHECK(sum.sign() == 0);
  sum.add(0x1p-1074, -0x1p-1074, 0x1p-1074);
  CHECK(sum.sign() == -1);
}

// On a small lattice nearly everything touches: in any order of corners and of triangles, the answer is one.
void check_triangles(std::uint64_t seed) {
  Random random(seed);
  double points[6][3];
  const std::size_t width = 2 + random.below(3);
  const bool rounded = random.chance(0.5);
  for (auto& point : points)
    for (double& x : point)
      x = rounded ? 0.1 + static_cast<double>(random.below(width)) / 3.0 : static_cast<double>(random.below(width));
  current_case() = "triangles, seed " + std::to_string(seed);
  const TriangleCorners a{points[0], points[1], points[2]}, b{points[3], points[4], points[5]};
  const bool closed = triangles_meet(a, b), open = triangles_meet(a, b, false);
  CHECK(closed || !open);
  for (std::size_t k = 0; k < 3; ++k) {
    const TriangleCorners turned{a[k], a[(k + 1) % 3], a[(k + 2) % 3]}, back{b[(k + 2) % 3], b[(k + 1) % 3], b[k]};
    CHECK(triangles_meet(turned, back) == closed);
    CHECK(triangles_meet(back, turned) == closed);
    CHECK(triangles_meet(turned, back, false) == open);
    CHECK(triangles_meet(back, turned, false) == open);
    CHECK(triangles_meet(a, {a[k], b[0], b[1]}));
    CHECK(triangles_meet({a[k], a[k], a[k]}, a));
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t count = rounds(argc, argv, 20000);
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    check_orientations(seed);
    check_any_numbers(seed);
    check_sum(seed);
    check_triangles(seed);
  }
}
