// Which records are well formed. They may come from files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shapes/shape.hpp"

namespace broadphase {

// Whether a local record has as many numbers as its kind says, for so many dimensions.
inline bool is_well_formed(std::uint8_t kind, std::span<const double> record, std::size_t dimension,
                           bool is_part = false) {
  const std::size_t size = record.size(), corner = dimension;
  if (kind >= kShapeKinds) return false;
  switch (static_cast<ShapeKind>(kind)) {
    case ShapeKind::kPoint: return size == corner;
    case ShapeKind::kBall: return size == corner + 1;
    case ShapeKind::kSegment:
    case ShapeKind::kBox: return size == 2 * corner;
    case ShapeKind::kCapsule: return size == 2 * corner + 1;
    case ShapeKind::kOrientedBox: return size == (2 + dimension) * corner;
    case ShapeKind::kTriangle: return size == 3 * corner;
    case ShapeKind::kPolygon: return dimension == 2 && size >= 6 && size % 2 == 0;
    case ShapeKind::kHull:
    case ShapeKind::kMesh:
      return !is_part && dimension == 3 && size == 1 + (3 + dimension) * corner && record[0] >= 0 && record[0] < 0x1p31;
    case ShapeKind::kCompound: break;
  }
  if (is_part || size == 0) return false;
  for (std::size_t at = 0; at < size;) {
    if (size - at < 2) return false;
    const double part = record[at], length = record[at + 1];
    if (!(part >= 0 && part < static_cast<double>(kShapeKinds) && length >= 0 &&
          length <= static_cast<double>(size - at - 2)))
      return false;
    const auto numbers = static_cast<std::size_t>(length);
    if (!is_well_formed(static_cast<std::uint8_t>(part), record.subspan(at + 2, numbers), dimension, true))
      return false;
    at += 2 + numbers;
  }
  return true;
}

}  // namespace broadphase
