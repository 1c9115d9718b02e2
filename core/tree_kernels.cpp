// The kernels of one level that walk through trees: this file is compiled once per instruction set that has eight
// numbers in a register, and for the scalar level, with BROADPHASE_LEVEL naming it.
#include "simd/kernels.hpp"
#include "simd/lanes.hpp"
#include "tree/pairs_kernel.hpp"
#include "tree/queries_kernel.hpp"
#include "tree/wide_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

extern const TreeKernels kTreeKernels;
const TreeKernels kTreeKernels = {
    {
        {next_by_box<1>, next_by_box<2>, next_by_box<3>, next_by_box<4>},
        {next_by_distance<1>, next_by_distance<2>, next_by_distance<3>, next_by_distance<4>},
        {next_by_time<1, Eight>, next_by_time<2, Eight>, next_by_time<3, Eight>, next_by_time<4, Eight>},
        {next_by_region<1>, next_by_region<2>, next_by_region<3>, next_by_region<4>},
        {pair_blocks<1, Eight>, pair_blocks<2, Eight>, pair_blocks<3, Eight>, pair_blocks<4, Eight>},
    },
    {
        {wide_next_by_box<1, BoxWalk>, wide_next_by_box<2, BoxWalk>, wide_next_by_box<3, BoxWalk>,
         wide_next_by_box<4, BoxWalk>},
        {wide_next_by_distance<1>, wide_next_by_distance<2>, wide_next_by_distance<3>, wide_next_by_distance<4>},
        {next_by_time<1, WideEight>, next_by_time<2, WideEight>, next_by_time<3, WideEight>,
         next_by_time<4, WideEight>},
        {wide_next_by_box<1, ConvexWalk>, wide_next_by_box<2, ConvexWalk>, wide_next_by_box<3, ConvexWalk>,
         wide_next_by_box<4, ConvexWalk>},
        {pair_blocks<1, WideEight>, pair_blocks<2, WideEight>, pair_blocks<3, WideEight>, pair_blocks<4, WideEight>},
    },
};

}  // namespace broadphase::BROADPHASE_LEVEL
