// The octree and its pairs, compiled once for all that use them.
#include "octree/index.hpp"
#include "octree/pairs.hpp"

namespace broadphase {

template void OctreeArrangement::build(const BoxView<float>&, const std::int32_t*, std::size_t, unsigned, Interrupt&);
template void PendingOctree::settle(const BoxView<float>&, const Kernels&, unsigned, Interrupt&);
template void PendingOctree::pack(const BoxView<float>&, const Kernels&, Interrupt&);
template void OctreeArrangement::build(const BoxView<double>&, const std::int32_t*, std::size_t, unsigned, Interrupt&);
template void PendingOctree::settle(const BoxView<double>&, const Kernels&, unsigned, Interrupt&);
template void PendingOctree::pack(const BoxView<double>&, const Kernels&, Interrupt&);
template class OctreePairs<float>;
template class OctreePairs<double>;
template class Octree<float>;
template class Octree<double>;

}  // namespace broadphase
