// The triangle of a mesh that is nearest to a point, or to a ball.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/nearest_last.hpp"
#include "narrow/meshes.hpp"

namespace broadphase {

namespace detail {

// The way from a point to the nearest point of a triangle; NaN of one without area, or so slim that rounding may hide
// most of the distance. Otherwise its length is off by less than 1e-12 of the largest coordinate.
//
// C. Ericson, "Real-Time Collision Detection", Morgan Kaufmann 2005, section 5.1.5.
inline Vec<3> way_to_triangle(const Vec<3>& point, const double* a, const double* b, const double* c) {
  using namespace solid;
  const Vec3 from{a[0] - point[0], a[1] - point[1], a[2] - point[2]}, u{b[0] - a[0], b[1] - a[1], b[2] - a[2]},
      v{c[0] - a[0], c[1] - a[1], c[2] - a[2]}, w = v - u, normal = cross(u, v);
  const double uu = squared(u), vv = squared(v), uv = dot(u, v), ww = squared(w), nn = squared(normal);
  const double longest = std::max(std::max(uu, vv), ww);
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  if (!(nn > kNearlyParallel * longest * longest)) return {kUnknown, kUnknown, kUnknown};
  const double along_u = -dot(from, u), along_v = -dot(from, v);
  // The shares of the corners in the foot of the perpendicular, times nn.
  const double of_b = vv * along_u - uv * along_v, of_c = uu * along_v - uv * along_u, of_a = nn - of_b - of_c;
  double least = kNone;
  Vec3 way{};
  const auto look = [&](const Vec3& begin, const Vec3& edge, double along, double length) {
    const Vec3 to = begin + edge * clamped(along / length, 0.0, 1.0);
    const double square = squared(to);
    if (!(square < least)) return;
    least = square;
    way = to;
  };
  if (of_c < 0) look(from, u, along_u, uu);
  if (of_b < 0) look(from, v, along_v, vv);
  if (of_a < 0) look(from + u, w, along_v - along_u - uv + uu, ww);
  return least < kNone ? way : normal * (dot(from, normal) / nn);
}

}  // namespace detail

// The triangle of a mesh, as `second`, that is nearest to a ball, or to a point, and its signed distance: the least of
// all, of several the first in the tree. Nothing if that is above `within`. Stops as soon as one is at most `enough`
// apart. `guess`: a face that may be near, or -1; the answer does not depend on it. As nearest_elements, in a fifth of
// the time: a point is compared with boxes along the axes of the mesh alone, and few triangles are placed.
inline NearestElements nearest_face(const ShapeView<3>& round, const MeshSide& mesh, double within, double enough,
                                    std::int32_t guess = -1) {
  const Vec<3> point = solid::vector_at(round.record, 0);
  const double radius = radius_of(round);
  const MeshUnits& units = mesh.units();
  const MeshTree& tree = mesh.tree();
  const double inverse = power_of_two(-units.exponent);
  Vec<3> own{}, at;
  double size = units.size;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) own[i] += mesh.axis(i)[k] * (point[k] - mesh.origin(k));
    at[i] = (own[i] - units.middle[i]) * inverse;
    size += std::abs(point[i]) + std::abs(mesh.origin(i));
  }
  // Floats tell four boxes apart together. What is farther away than they can tell is not nearer than that.
  constexpr double kFarthest = 1e18;
  std::array<float, 3> seen;
  double most = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const double there = std::clamp(at[i], -kFarthest, kFarthest);
    seen[i] = static_cast<float>(there);
    most = std::max(most, std::abs(there));
  }
  const auto spare = static_cast<float>(std::min(1e-13 * size * inverse + 0x1p-21 * most, kFarthest));
  // Of distances in the frame of the mesh from those of the triangles as placed, and of the former.
  const double slack = 1e-11 * (size + radius);

  NearestElements best;
  const auto measure = [&](std::int32_t face) {
    std::array<double, 9> corners;
    Vec<3> normal;
    const double distance = signed_distance(round, mesh.element(face, corners).shape, &normal);
    const bool is_nearer = distance < best.distance || (distance == best.distance && face < best.second);
    if (is_nearer && distance <= within) best = {distance, normal, 0, face};
  };
  // All distances that count are at most `limit`; of their boxes, the squares of twice that in units at most
  // `farthest`.
  const auto square_of = [](double x) { return x * x * (1 + 1e-6); };  // more than the rounding of squares
  double limit, farthest, most_square;
  const auto set_limit = [&](double to) {
    limit = to;
    farthest = square_of(2 * limit * inverse);
    most_square = square_of(limit + slack);
  };
  set_limit(within + radius + slack);
  // Triangles that are about as near as the nearest so far, not yet measured.
  struct Near {
    std::int32_t face;
    double distance;
  };
  constexpr std::size_t kMostNear = 8;
  std::array<Near, kMostNear> near;
  std::size_t near_count = 0;
  const auto measure_near = [&] {
    for (std::size_t k = 0; k < near_count; ++k)
      if (near[k].distance <= limit + slack) measure(near[k].face);
    near_count = 0;
  };
  const auto look = [&](std::int32_t face) {
    const double square =
        solid::squared(detail::way_to_triangle(own, tree.corner(face, 0), tree.corner(face, 1), tree.corner(face, 2)));
    if (square > most_square) return;
    const double distance = std::sqrt(square);
    if (!(distance < detail::kNone)) {
      measure(face);
      if (best.distance + radius < limit) set_limit(best.distance + radius);
      return;
    }
    if (near_count == kMostNear) measure_near();
    near[near_count++] = {face, distance};
    if (distance + slack < limit) set_limit(distance + slack);
  };
  if (guess >= 0) look(guess);

  struct Entry {
    std::uint32_t first;  // as in MeshBlock
    float square;         // of twice a lower bound of the distance, in units
  };
  constexpr std::size_t kBoxes = MeshBlock::kBoxes;
  std::array<Entry, (kBoxes - 1) * MeshTree::kMostLevels + kBoxes> stack;
  std::size_t count = 0;
  stack[count++] = {0, 0.0F};
  while (count > 0 && limit - radius > enough) {
    const Entry entry = stack[--count];
    if (static_cast<double>(entry.square) > farthest) continue;
    if ((entry.first & MeshBlock::kFace) != 0) {
      if (const auto face = static_cast<std::int32_t>(entry.first & ~MeshBlock::kFace); face != guess) look(face);
      continue;
    }
    const MeshBlock& block = mesh.blocks()[entry.first];
    // Without branches, which compilers would not make vectors of: |x| + x is twice what of x is above 0.
    std::array<float, kBoxes> squares{};
    for (std::size_t i = 0; i < 3; ++i) {
      const float there = seen[i];
      for (std::size_t lane = 0; lane < kBoxes; ++lane) {
        const float gap = std::abs(there - block.centre[i][lane]) - (block.half[i][lane] + spare),
                    above = std::abs(gap) + gap;
        squares[lane] += above * above;
      }
    }
    // Written unconditionally, then counted: which are within the limit cannot be predicted.
    const std::size_t begin = count;
    for (std::size_t lane = 0; lane < kBoxes; ++lane) {
      stack[count] = {block.first[lane], squares[lane]};
      count += static_cast<double>(squares[lane]) <= farthest && lane < block.count ? 1 : 0;
    }
    for (std::size_t k = begin + 1; k < count; ++k) put_nearest_last(&stack[begin], &stack[k], &Entry::square);
    assert(count + kBoxes <= stack.size());
  }
  measure_near();
  return best;
}

}  // namespace broadphase
