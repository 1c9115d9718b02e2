// The input of a method: one or two sets of boxes, and which pairs count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "boxes/box_view.hpp"

namespace broadphase {

class Filter;
struct Batches;

// A box has NaN in a corner, or a lower corner above its upper one. Thrown while a method is prepared; the row is found
// by the caller.
struct InvalidBoxes : std::exception {
  const char* what() const noexcept override { return "NaN, or lower > upper"; }
};

// Preconditions, which Python checks: fewer than 2^31 - 64 boxes in each set, and `grow` is finite and not negative.
// NaN and lower > upper are no precondition: preparing a method finds them and throws InvalidBoxes. Boxes may lie where
// another thread writes meanwhile: a method reads each number once, or needs no two readings to be the same, or takes
// copies (OverCopies).
template <class T>
struct Problem {
  BoxView<T> first;
  BoxView<T> second;                 // read only if `cross`
  std::size_t dimension = 3;         // 1 to 4
  bool cross = false;                // pairs of a box of `first` with one of `second`
  bool touching = true;              // closed boxes; otherwise the interiors must meet
  T grow = 0;                        // taken from each lower corner, added to each upper one, rounded once
  const Filter* filter = nullptr;    // none: every overlap counts
  const Batches* batches = nullptr;  // none: all boxes are compared
  bool is_own = false;               // the boxes are copies, which nobody else writes to
};

// The exact test, on the numbers as they were given. Every method agrees with it.
template <class T>
inline bool overlaps(const T* lower_i, const T* upper_i, const T* lower_j, const T* upper_j, std::size_t dimension,
                     bool touching, T grow) {
  for (std::size_t k = 0; k < dimension; ++k) {
    const T li = lower_i[k] - grow, ui = upper_i[k] + grow, lj = lower_j[k] - grow, uj = upper_j[k] + grow;
    if (touching ? !(li <= uj && lj <= ui) : !(li < uj && lj < ui && li < ui && lj < uj)) return false;
  }
  return true;
}

// Row i of the first set against row j of the second (of the first, too, where there is one set).
template <class T>
inline bool overlaps(const Problem<T>& problem, std::int32_t i, std::int32_t j) {
  const BoxView<T>& a = problem.first;
  const BoxView<T>& b = problem.cross ? problem.second : problem.first;
  const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j);
  return overlaps(a.lower_of(p), a.upper_of(p), b.lower_of(q), b.upper_of(q), problem.dimension, problem.touching,
                  problem.grow);
}

}  // namespace broadphase
