// Lists of neighbours cut down to those that a point sees, or to its nearest ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neighbors/lists.hpp"
#include "query/sight.hpp"

namespace broadphase {

// Keeps the entries whose vectors are within sight of their point, and those without a length.
// Precondition: the entries have vectors. O(points + entries) time.
void keep_in_sight(NeighborLists& lists, const Sight& sight, Interrupt& interrupt);

// The columns that tell which neighbour is nearer: by distance, then row, then shift. NaN is the farthest.
struct NearestOrder {
  const double* distances;
  const std::int32_t *rows, *shifts;  // or no shifts
  std::size_t dimension;

  // The places of the `most` nearest of the entries [begin, end), nearest first.
  void first(std::size_t begin, std::size_t end, std::size_t most, std::vector<std::size_t>& places) const;
};

// Keeps the `most` nearest entries of each point, nearest first, of equal distances by row and shift. Precondition: the
// entries have distances, and shifts where a point can be a neighbour several times.
void keep_nearest(NeighborLists& lists, std::size_t most, Interrupt& interrupt);

}  // namespace broadphase
