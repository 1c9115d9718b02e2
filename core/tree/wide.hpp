// The kernels of wide trees, whose blocks hold doubles: see BlockTree.
#pragma once

#include "simd/kernels.hpp"
#include "tree/walks.hpp"

namespace broadphase {

// The kernels of one level, as those of the same names in Kernels; entry D - 1.
struct WideKernels {
  void (*next_by_box[4])(BoxWalk&);
  void (*next_by_distance[4])(BallWalk&);
  void (*next_by_time[4])(SweepWalk&);
  void (*next_by_region[4])(ConvexWalk&);
  bool (*pair_blocks[4])(PairWalk&);
};

// Those of the same level as these.
const WideKernels& wide_kernels(const Kernels& kernels);

}  // namespace broadphase
