// The linear tree and its pairs, compiled once for all that use them.
#include "linear_tree/index.hpp"
#include "linear_tree/pairs.hpp"

namespace broadphase {

template void LinearIndex::build(const BoxView<float>&, const std::int32_t*, std::size_t, Interrupt&);
template void LinearIndex::insert(const BoxView<float>&, const std::int32_t*, std::size_t, Interrupt&);
template void LinearIndex::update(const BoxView<float>&, const std::int32_t*, std::size_t, Interrupt&);
template void LinearIndex::settle(const BoxView<float>&, Interrupt&);
template void LinearIndex::build(const BoxView<double>&, const std::int32_t*, std::size_t, Interrupt&);
template void LinearIndex::insert(const BoxView<double>&, const std::int32_t*, std::size_t, Interrupt&);
template void LinearIndex::update(const BoxView<double>&, const std::int32_t*, std::size_t, Interrupt&);
template void LinearIndex::settle(const BoxView<double>&, Interrupt&);
template class LinearWalkOf<float, float>;
template class LinearWalkOf<double, double>;
template class LinearWalkOf<double, float>;
template class LinearWalk<float>;
template class LinearWalk<double>;
template class CoveredLeaves<float>;
template class CoveredLeaves<double>;
template class LinearTree<float>;
template class LinearTree<double>;

}  // namespace broadphase
