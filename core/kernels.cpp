// The kernels of one level over its lanes: this file is compiled once per instruction set, with BROADPHASE_LEVEL naming
// it, and BROADPHASE_EIGHT naming the level whose kernels over eight numbers it takes.
#include "simd/kernels.hpp"
#include "brute_force/overlap_kernel.hpp"
#include "grid/sweep_cell_kernel.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_TREES {
extern const TreeKernels kTreeKernels;
}
namespace broadphase::BROADPHASE_EIGHT {
extern const EightKernels kEightKernels;
}

namespace broadphase::BROADPHASE_LEVEL {

extern const Kernels kKernels;
const Kernels kKernels = {
    BROADPHASE_QUOTE(BROADPHASE_LEVEL),
    &BROADPHASE_TREES::kTreeKernels,
    &BROADPHASE_EIGHT::kEightKernels,
    {overlap_run<float, 1, true>, overlap_run<float, 2, true>, overlap_run<float, 3, true>,
     overlap_run<float, 4, true>},
    {overlap_run<float, 1, false>, overlap_run<float, 2, false>, overlap_run<float, 3, false>,
     overlap_run<float, 4, false>},
    {overlap_run<double, 1, true>, overlap_run<double, 2, true>, overlap_run<double, 3, true>,
     overlap_run<double, 4, true>},
    {overlap_run<double, 1, false>, overlap_run<double, 2, false>, overlap_run<double, 3, false>,
     overlap_run<double, 4, false>},
    {overlap_blocks<float, 1, true>, overlap_blocks<float, 2, true>, overlap_blocks<float, 3, true>,
     overlap_blocks<float, 4, true>},
    {overlap_blocks<float, 1, false>, overlap_blocks<float, 2, false>, overlap_blocks<float, 3, false>,
     overlap_blocks<float, 4, false>},
    {overlap_blocks<double, 1, true>, overlap_blocks<double, 2, true>, overlap_blocks<double, 3, true>,
     overlap_blocks<double, 4, true>},
    {overlap_blocks<double, 1, false>, overlap_blocks<double, 2, false>, overlap_blocks<double, 3, false>,
     overlap_blocks<double, 4, false>},
    {overlap_runs<float, 1, true>, overlap_runs<float, 2, true>, overlap_runs<float, 3, true>,
     overlap_runs<float, 4, true>},
    {overlap_runs<float, 1, false>, overlap_runs<float, 2, false>, overlap_runs<float, 3, false>,
     overlap_runs<float, 4, false>},
    {overlap_runs<double, 1, true>, overlap_runs<double, 2, true>, overlap_runs<double, 3, true>,
     overlap_runs<double, 4, true>},
    {overlap_runs<double, 1, false>, overlap_runs<double, 2, false>, overlap_runs<double, 3, false>,
     overlap_runs<double, 4, false>},
    {sweep_ahead<float, 1, true>, sweep_ahead<float, 2, true>, sweep_ahead<float, 3, true>},
    {sweep_ahead<float, 1, false>, sweep_ahead<float, 2, false>, sweep_ahead<float, 3, false>},
    {sweep_ahead<double, 1, true>, sweep_ahead<double, 2, true>, sweep_ahead<double, 3, true>},
    {sweep_ahead<double, 1, false>, sweep_ahead<double, 2, false>, sweep_ahead<double, 3, false>},
    {sweep_range<1>, sweep_range<2>, sweep_range<3>, sweep_range<4>},
    {sort_cell<1>, sort_cell<2>, sort_cell<3>, sort_cell<4>},
    {sweep_behind<1>, sweep_behind<2>, sweep_behind<3>, sweep_behind<4>},
    {sweep_across<1>, sweep_across<2>, sweep_across<3>, sweep_across<4>},
    count_hits,
    list_hits,
    name_rows,
};

}  // namespace broadphase::BROADPHASE_LEVEL
