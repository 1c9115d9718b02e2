// The kernels of one level over eight numbers: this file is compiled once per instruction set that has them, and for
// the scalar level, with BROADPHASE_LEVEL naming it.
#include "grid/file_boxes_kernel.hpp"
#include "simd/kernels.hpp"
#include "simd/lanes.hpp"
#include "tree/pack_kernel.hpp"
#include "tree/together_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

extern const EightKernels kEightKernels;
const EightKernels kEightKernels = {
    {nearest_together_if_faster<1>(), nearest_together_if_faster<2>(), nearest_together_if_faster<3>(),
     nearest_together_if_faster<4>()},
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
