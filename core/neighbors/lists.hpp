// Pairs of points as a list of neighbours for each point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "neighbors/search.hpp"

namespace broadphase {

// Neighbours of each point: those of point i are entries offsets[i] to offsets[i + 1].
struct NeighborLists {
  std::vector<std::int64_t> offsets;
  NeighborPairs entries;
};

// By first point, for `points` of them; second points are below `others`. `both`: also by the second one, the other way
// round. `sorted`: entries of a point by row and shift; otherwise in the order of the pairs. The same for every number
// of workers. O(points + others + pairs) time. Memory besides the lists: 16 bytes for each entry, 8 for each point, and
// the pairs, which are given back column by column.
NeighborLists list_by_point(NeighborPairs pairs, std::size_t points, std::size_t others, bool both, bool sorted,
                            unsigned workers, Interrupt& interrupt);

}  // namespace broadphase
