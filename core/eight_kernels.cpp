// The kernels of one level over eight numbers: this file is compiled once per instruction set that has them, and for
// the scalar level, with BROADPHASE_LEVEL naming it.
#include "batches/batch_nearest_kernel.hpp"
#include "grid/file_boxes_kernel.hpp"
#include "simd/kernels.hpp"
#include "simd/lanes.hpp"
#include "tree/pack_kernel.hpp"
#include "tree/together_kernel.hpp"
#include "world/fan_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

template <class T>
constexpr FilingKernels<T> kFilingKernels = {
    {BROADPHASE_SCALAR_ONLY(curve_keys<T, 1>), curve_keys<T, 2>, curve_keys<T, 3>,
     BROADPHASE_SCALAR_ONLY(curve_keys<T, 4>)},
    {BROADPHASE_SCALAR_ONLY(pack_leaves<T, 1>), pack_leaves<T, 2>, pack_leaves<T, 3>,
     BROADPHASE_SCALAR_ONLY(pack_leaves<T, 4>)},
    {BROADPHASE_SCALAR_ONLY(file_boxes<T, 1>), file_boxes<T, 2>, file_boxes<T, 3>,
     BROADPHASE_SCALAR_ONLY(file_boxes<T, 4>)},
};

extern const EightKernels kEightKernels;
const EightKernels kEightKernels = {
    {nearest_together_if_faster<2>(), nearest_together_if_faster<2>(), nearest_together_if_faster<3>(), nullptr},
    {balls_together<2>, balls_together<2>, balls_together<3>, BROADPHASE_SCALAR_ONLY(balls_together<4>)},
    {nullptr, batch_nearest<2>, batch_nearest<3>, nullptr},
    {fan_keys<2>, fan_keys<3>},
    rank_keys,
    kFilingKernels<float>,
    kFilingKernels<double>,
};

}  // namespace broadphase::BROADPHASE_LEVEL
