// Shapes as the narrow phase reads them: a kind, and a record of numbers.
//
// A record is local (relative to an actor) or placed (in the world). Both have the same form, but for `kBox`; and an
// oriented box that turns out parallel to the axes is placed as a `kBox`, for which everything is quicker and exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace broadphase {

template <std::size_t D>
using Vec = std::array<double, D>;

// Numbers in records, D being the dimension:
enum class ShapeKind : std::uint8_t {
  kPoint,        // centre[D]
  kBall,         // centre[D], radius: a disc in the plane
  kSegment,      // begin[D], end[D]
  kCapsule,      // begin[D], end[D], radius
  kBox,          // parallel to the axes. Local: centre[D], half[D]; never turns. Placed: lower[D], upper[D]
  kOrientedBox,  // turns: centre[D], half[D], axes[D][D]: one unit vector after the other
  kTriangle,     // three corners [D]
  kPolygon,      // in the plane only, convex: three corners or more [D], counter-clockwise
  kCompound,     // parts, each one after the other: kind, length of its record, its record
  kHull,         // number, origin[D], axes[D][D], lower[D], upper[D] of it in its own frame: geometry lies elsewhere
  kMesh,         // likewise
};

inline constexpr std::size_t kShapeKinds = 11;

// The core knows nothing of these but where they are.
constexpr bool is_kept_elsewhere(ShapeKind kind) { return kind >= ShapeKind::kHull; }

template <std::size_t D>
struct ShapeView {
  ShapeKind kind;
  std::span<const double> record;
};

// Calls `visit(part)` for each part of a compound, until it returns false.
template <std::size_t D, class Visit>
void for_each_part(std::span<const double> record, Visit&& visit) {
  for (std::size_t at = 0; at < record.size();) {
    const auto kind = static_cast<ShapeKind>(static_cast<std::uint8_t>(record[at]));
    const auto length = static_cast<std::size_t>(record[at + 1]);
    if (!visit(ShapeView<D>{kind, record.subspan(at + 2, kind == ShapeKind::kBox ? 2 * D : length)})) return;
    at += 2 + length;
  }
}

// Where two shapes that overlap touch.
template <std::size_t D>
struct Contact {
  static constexpr std::size_t kMostPoints = D == 2 ? 2 : 4;

  Vec<D> normal{};  // unit, from the first to the second
  double depth = 0;
  std::size_t count = 0;
  std::array<Vec<D>, kMostPoints> points{};  // the deepest first, midway between the two surfaces
};

}  // namespace broadphase
