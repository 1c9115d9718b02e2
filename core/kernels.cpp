// The kernels of one level over its lanes: this file is compiled once per instruction set, with BROADPHASE_LEVEL naming
// it, and BROADPHASE_TREES and BROADPHASE_EIGHT naming those whose kernels of trees and over eight numbers it takes.
#include "simd/kernels.hpp"
#include "brute_force/overlap_kernel.hpp"
#include "grid/look_up_kernel.hpp"
#include "grid/sweep_cell_kernel.hpp"
#include "neighbors/group_kernel.hpp"
#include "neighbors/window_kernel.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_TREES {
extern const TreeKernels kTreeKernels;
}
namespace broadphase::BROADPHASE_EIGHT {
extern const EightKernels kEightKernels;
}

namespace broadphase::BROADPHASE_LEVEL {

template <class T, bool Touching>
constexpr OverlapKernels<T> kOverlapKernels = {
    {overlap_run<T, 1, Touching>, overlap_run<T, 2, Touching>, overlap_run<T, 3, Touching>,
     BROADPHASE_RARE(overlap_run<T, 4, Touching>)},
    {BROADPHASE_RARE(overlap_blocks<T, 1, Touching>), overlap_blocks<T, 2, Touching>, overlap_blocks<T, 3, Touching>,
     BROADPHASE_RARE(overlap_blocks<T, 4, Touching>)},
    {BROADPHASE_RARE(overlap_runs<T, 1, Touching>), overlap_runs<T, 2, Touching>, overlap_runs<T, 3, Touching>,
     BROADPHASE_RARE(overlap_runs<T, 4, Touching>)},
    {sweep_ahead<T, 1, Touching>, sweep_ahead<T, 2, Touching>, BROADPHASE_RARE(sweep_ahead<T, 3, Touching>)},
};

extern const Kernels kKernels;
const Kernels kKernels = {
    BROADPHASE_QUOTE(BROADPHASE_LEVEL),
    &BROADPHASE_TREES::kTreeKernels,
    &BROADPHASE_EIGHT::kEightKernels,
    kOverlapKernels<float, true>,
    kOverlapKernels<float, false>,
    kOverlapKernels<double, true>,
    kOverlapKernels<double, false>,
    {BROADPHASE_SCALAR_ONLY(sweep_range<1>), sweep_range<2>, sweep_range<3>, BROADPHASE_RARE(sweep_range<4>)},
    {BROADPHASE_SCALAR_ONLY(sort_cell<1>), sort_cell<2>, sort_cell<3>, BROADPHASE_RARE(sort_cell<4>)},
    {BROADPHASE_SCALAR_ONLY(sweep_behind<1>), sweep_behind<2>, sweep_behind<3>, BROADPHASE_RARE(sweep_behind<4>)},
    {BROADPHASE_SCALAR_ONLY(sweep_across<1>), sweep_across<2>, sweep_across<3>, BROADPHASE_RARE(sweep_across<4>)},
    count_hits,
    list_hits,
    name_rows,
    {BROADPHASE_SCALAR_ONLY(look_up<1>), look_up<2>, look_up<3>, BROADPHASE_RARE(look_up<4>)},
    window_hits,
    next_near_leaf,
};

}  // namespace broadphase::BROADPHASE_LEVEL
