// The kernels of one level over eight numbers: this file is compiled once per instruction set that has them, and for
// the scalar level, with BROADPHASE_LEVEL naming it.
#include "grid/file_boxes_kernel.hpp"
#include "simd/kernels.hpp"
#include "simd/lanes.hpp"
#include "tree/pack_kernel.hpp"
#include "tree/pairs_kernel.hpp"
#include "tree/queries_kernel.hpp"
#include "tree/together_kernel.hpp"
#include "tree/wide_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

extern const EightKernels kEightKernels;
const EightKernels kEightKernels = {
    {
        {next_by_box<1>, next_by_box<2>, next_by_box<3>, next_by_box<4>},
        {next_by_distance<1>, next_by_distance<2>, next_by_distance<3>, next_by_distance<4>},
        {next_by_time<1>, next_by_time<2>, next_by_time<3>, next_by_time<4>},
        {next_by_region<1>, next_by_region<2>, next_by_region<3>, next_by_region<4>},
        {pair_blocks<1, Eight>, pair_blocks<2, Eight>, pair_blocks<3, Eight>, pair_blocks<4, Eight>},
    },
    {
        {wide_next_by_box<1, BoxWalk>, wide_next_by_box<2, BoxWalk>, wide_next_by_box<3, BoxWalk>,
         wide_next_by_box<4, BoxWalk>},
        {wide_next_by_distance<1>, wide_next_by_distance<2>, wide_next_by_distance<3>, wide_next_by_distance<4>},
        {wide_next_by_time<1>, wide_next_by_time<2>, wide_next_by_time<3>, wide_next_by_time<4>},
        {wide_next_by_box<1, ConvexWalk>, wide_next_by_box<2, ConvexWalk>, wide_next_by_box<3, ConvexWalk>,
         wide_next_by_box<4, ConvexWalk>},
        {pair_blocks<1, WideEight>, pair_blocks<2, WideEight>, pair_blocks<3, WideEight>, pair_blocks<4, WideEight>},
    },
    {nearest_together<1>, nearest_together<2>, nearest_together<3>, nearest_together<4>},
    {balls_together<1>, balls_together<2>, balls_together<3>, balls_together<4>},
    {curve_keys<float, 1>, curve_keys<float, 2>, curve_keys<float, 3>, curve_keys<float, 4>},
    {curve_keys<double, 1>, curve_keys<double, 2>, curve_keys<double, 3>, curve_keys<double, 4>},
    {pack_leaves<float, 1>, pack_leaves<float, 2>, pack_leaves<float, 3>, pack_leaves<float, 4>},
    {pack_leaves<double, 1>, pack_leaves<double, 2>, pack_leaves<double, 3>, pack_leaves<double, 4>},
    rank_keys,
    {file_boxes<float, 1>, file_boxes<float, 2>, file_boxes<float, 3>, file_boxes<float, 4>},
    {file_boxes<double, 1>, file_boxes<double, 2>, file_boxes<double, 3>, file_boxes<double, 4>},
};

}  // namespace broadphase::BROADPHASE_LEVEL
