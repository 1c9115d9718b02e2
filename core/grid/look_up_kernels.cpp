// The kernels of one level that look up boxes in cells, apart from the others: found by grid/levels.cpp. This file is
// compiled once per instruction set, with BROADPHASE_LEVEL naming it.
#include "grid/look_up_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

extern const LookUpKernel kLookUpKernels[4];
const LookUpKernel kLookUpKernels[4] = {look_up<1>, look_up<2>, look_up<3>, look_up<4>};

}  // namespace broadphase::BROADPHASE_LEVEL
