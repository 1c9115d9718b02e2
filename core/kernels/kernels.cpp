// All kernels of one level: this file is compiled once per instruction set, with BROADPHASE_LEVEL naming it.
#include "broadphase/kernels.hpp"

#include "overlap_run.hpp"

namespace broadphase::BROADPHASE_LEVEL {

#define BROADPHASE_TEXT(x) #x
#define BROADPHASE_NAME(x) BROADPHASE_TEXT(x)

extern const Kernels kKernels;
const Kernels kKernels = {
    BROADPHASE_NAME(BROADPHASE_LEVEL),
    {overlap_run<float, 1, true>, overlap_run<float, 2, true>, overlap_run<float, 3, true>, overlap_run<float, 4, true>},
    {overlap_run<float, 1, false>, overlap_run<float, 2, false>, overlap_run<float, 3, false>,
     overlap_run<float, 4, false>},
    {overlap_run<double, 1, true>, overlap_run<double, 2, true>, overlap_run<double, 3, true>,
     overlap_run<double, 4, true>},
    {overlap_run<double, 1, false>, overlap_run<double, 2, false>, overlap_run<double, 3, false>,
     overlap_run<double, 4, false>},
};

}  // namespace broadphase::BROADPHASE_LEVEL
