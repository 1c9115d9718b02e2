// The kernels of one level for sweeps that take turns, apart from the others: found by tree/levels.cpp. This file is
// compiled once per instruction set that has kernels of trees, with BROADPHASE_LEVEL naming it.
#include "tree/in_turn_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

extern const TurnKernels kTurnKernels;
const TurnKernels kTurnKernels = {
    {finish_sweep<1>, finish_sweep<2>, finish_sweep<3>, finish_sweep<4>},
    {find_touched<1>, find_touched<2>, find_touched<3>, find_touched<4>},
};

}  // namespace broadphase::BROADPHASE_LEVEL
