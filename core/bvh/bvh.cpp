// The BVH, its packing and its pairs, compiled once for all that use them.
#include "bvh/bvh.hpp"
#include "bvh/build.hpp"
#include "bvh/changes.hpp"
#include "bvh/edit.hpp"
#include "bvh/pairs.hpp"
#include "tree/pairs.hpp"

namespace broadphase {

template class TreePacker<float, CurveOrder<float>>;
template class TreePacker<double, CurveOrder<double>>;
template class TreePacker<float, MedianOrder<float>>;
template class TreePacker<double, MedianOrder<double>>;
template class BvhEdit<float>;
template class BvhEdit<double>;
template class BvhPairs<float>;
template class BvhPairs<double>;
template class BvhChanges<float>;
template class BvhChanges<double>;
template void Bvh::build(const BoxView<float>&, const std::int32_t*, std::size_t, const Bvh::Work&);
template void Bvh::insert(const BoxView<float>&, const std::int32_t*, std::size_t, const Bvh::Work&);
template void Bvh::update(const BoxView<float>&, const std::int32_t*, std::size_t, const Bvh::Work&);
template void Bvh::build(const BoxView<double>&, const std::int32_t*, std::size_t, const Bvh::Work&);
template void Bvh::insert(const BoxView<double>&, const std::int32_t*, std::size_t, const Bvh::Work&);
template void Bvh::update(const BoxView<double>&, const std::int32_t*, std::size_t, const Bvh::Work&);
template class TreePairs<KeepOverlaps<float>>;
template class TreePairs<KeepOverlaps<double>>;

}  // namespace broadphase
