// The kinds of shapes that the narrow phase itself knows, read from the table of kinds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <ranges>
#include <string>

#include "shapes/shape.hpp"

namespace broadphase::tests {

// A core of corners: neither several parts, nor kept elsewhere, nor curved, nor without an end.
template <std::size_t D>
constexpr bool is_simple(const ShapeTraits& row) {
  return row.is_in(D) && has_corners(row.core);
}

template <std::size_t D>
inline constexpr auto kSimpleKinds = [] {
  std::array<ShapeKind, static_cast<std::size_t>(std::ranges::count_if(kShapeTraits, is_simple<D>))> kinds{};
  std::ranges::transform(kShapeTraits | std::views::filter(is_simple<D>), kinds.begin(), &ShapeTraits::kind);
  return kinds;
}();

// A simple kind, or, one time in so many, a compound.
template <std::size_t D, class Random>
ShapeKind random_kind(Random& random) {
  const std::size_t chosen = random.below(kSimpleKinds<D>.size() + 1);
  return chosen < kSimpleKinds<D>.size() ? kSimpleKinds<D>[chosen] : ShapeKind::kCompound;
}
template <std::size_t D, class Random>
ShapeKind random_simple_kind(Random& random) {
  return kSimpleKinds<D>[random.below(kSimpleKinds<D>.size())];
}

// For messages: the numbers of two kinds.
inline std::string describe(ShapeKind first, ShapeKind second) {
  return "kinds " + std::to_string(static_cast<int>(first)) + " and " + std::to_string(static_cast<int>(second));
}

}  // namespace broadphase::tests
