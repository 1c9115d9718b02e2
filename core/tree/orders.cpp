// The orders in which rows are packed in trees, compiled once for all that use them.
#include "tree/curve_order.hpp"
#include "tree/median_order.hpp"
#include "tree/rank_order.hpp"

namespace broadphase {

template class MedianOrder<float>;
template class MedianOrder<double>;
template class CurveOrder<float>;
template class CurveOrder<double>;
template bool boxes_cross(const GrownBoxes<float>&, const std::int32_t*, std::size_t, const Kernels&);
template bool boxes_cross(const GrownBoxes<double>&, const std::int32_t*, std::size_t, const Kernels&);
template void RankOrder<float>::sort(const GrownBoxes<float>&, const std::int32_t*, std::size_t, const Kernels&,
                                     unsigned, Interrupt&);
template void RankOrder<double>::sort(const GrownBoxes<double>&, const std::int32_t*, std::size_t, const Kernels&,
                                      unsigned, Interrupt&);

}  // namespace broadphase
