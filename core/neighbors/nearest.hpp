// The nearest neighbours of each point, in open space or in a periodic cell, with all images.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>

#include "base/parallel.hpp"
#include "batches/rows_by_key.hpp"
#include "neighbors/framed_points.hpp"
#include "neighbors/group_walk.hpp"
#include "neighbors/lists.hpp"

namespace broadphase {

struct NearestQuery {
  PointView points, others;  // without reaches
  bool cross = false;        // neighbours are other points
  // Points of different keys are no neighbours. For both sets or for none.
  std::optional<RowKeys> keys, other_keys;
  // One for all points, or that of key k at k.
  const Cell* cells = nullptr;
  std::size_t cell_count = 1;
  std::size_t wanted = 1;  // neighbours of each point, at least one
  double cutoff = std::numeric_limits<double>::infinity();
  bool distances = false, vectors = false, shifts = false;
};

// Of each point, the `wanted` neighbours of the least distance, then row, then shift, in this order; fewer where there
// are fewer within the cutoff. The same for every number of workers and every level.
NeighborLists find_nearest(const NearestQuery& query, GroupKernel kernel, unsigned workers, Interrupt& interrupt);

}  // namespace broadphase
