// The kernels of candidates of one level over its lanes: compiled once per instruction set, as kernels.cpp.
#include "neighbors/near_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

template <class Rows>
constexpr NearKernels kernels_of() {
  if constexpr (kHasWideRows)
    return {near_list<Rows>, write_near<Rows>};
  else
    return {};
}

extern const NearKernels kNearKernels;
const NearKernels kNearKernels = kernels_of<WideRows>();

}  // namespace broadphase::BROADPHASE_LEVEL
