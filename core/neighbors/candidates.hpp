// Pairs that were within a longer cutoff, looked at again after the points have moved a little.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "neighbors/lattice.hpp"
#include "neighbors/search.hpp"

namespace broadphase {

class NeighborCandidates {
 public:
  // Pairs with shifts. Those without one come first, because they need no translation.
  NeighborCandidates(const NeighborPairs& pairs, std::size_t points, Interrupt& interrupt);

  std::size_t count() const { return count_; }

  // Those within the cutoff now. `jumps`: by how many lattice vectors each point was moved, as by a program that keeps
  // its points in the cell; or null. `points`: (n, d), d as of the pairs.
  NeighborPairs near(const double* points, const Shift* jumps, const Cell& cell, double cutoff, bool distances,
                     bool vectors, bool shifts, Interrupt& interrupt) const;

 private:
  // Places in `order_`.
  struct Places {
    std::uint32_t first, second;
  };
  // Rows of points in the order in which pairs name them, which keeps together what is near in space.
  PlainArray<std::int32_t> order_;
  PlainArray<Places> places_;
  PlainArray<Shift> shifts_;  // of those from `unshifted_` on
  std::size_t count_ = 0, named_ = 0, unshifted_ = 0, dimension_ = 3;
};

// The greatest distance between a point and where it was before, squared. `count`: of points with `dimension` numbers.
double most_squared_motion(const double* points, const double* before, std::size_t count, std::size_t dimension);

}  // namespace broadphase
