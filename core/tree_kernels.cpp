// The kernels of one level that walk through trees: this file is compiled once per instruction set that has eight
// numbers in a register, and for the scalar level, with BROADPHASE_LEVEL naming it.
#include "simd/kernels.hpp"
#include "simd/lanes.hpp"
#include "tree/interleaved_kernel.hpp"
#include "tree/pairs_kernel.hpp"
#include "tree/queries_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// In a wide tree, a walk tests only the box around a region.
template <std::size_t D, class E>
struct RegionWalk {
  static constexpr auto kNext = next_by_box<D, E, ConvexWalk>;
};
template <std::size_t D>
struct RegionWalk<D, Eight> {
  static constexpr auto kNext = next_by_region<D>;
};

// Boxes of one axis are walked as boxes of two: see BlockLayout.
template <class E>
constexpr WalkKernels kWalkKernels = {
    {next_by_box<2, E, BoxWalk>, next_by_box<2, E, BoxWalk>, next_by_box<3, E, BoxWalk>,
     BROADPHASE_SCALAR_ONLY(next_by_box<4, E, BoxWalk>)},
    {next_by_distance<2, E>, next_by_distance<2, E>, next_by_distance<3, E>,
     BROADPHASE_SCALAR_ONLY(next_by_distance<4, E>)},
    {next_by_time<2, E>, next_by_time<2, E>, next_by_time<3, E>, BROADPHASE_SCALAR_ONLY(next_by_time<4, E>)},
    {next_by_distance<2, E, true>, next_by_distance<2, E, true>, next_by_distance<3, E, true>,
     BROADPHASE_SCALAR_ONLY(next_by_distance<4, E, true>)},
    {next_by_time<2, E, true>, next_by_time<2, E, true>, next_by_time<3, E, true>,
     BROADPHASE_SCALAR_ONLY(next_by_time<4, E, true>)},
    {RegionWalk<2, E>::kNext, RegionWalk<2, E>::kNext, RegionWalk<3, E>::kNext,
     BROADPHASE_SCALAR_ONLY(RegionWalk<4, E>::kNext)},
    {pair_blocks<2, E>, pair_blocks<2, E>, pair_blocks<3, E>, BROADPHASE_SCALAR_ONLY(pair_blocks<4, E>)},
};

extern const TreeKernels kTreeKernels;
const TreeKernels kTreeKernels = {
    kWalkKernels<Eight>,
    kWalkKernels<WideEight>,
    {next_surely_by_box<2>, next_surely_by_box<2>, next_surely_by_box<3>,
     BROADPHASE_SCALAR_ONLY(next_surely_by_box<4>)},
    {finish_sweep<2>, finish_sweep<2>, finish_sweep<3>, BROADPHASE_SCALAR_ONLY(finish_sweep<4>)},
    {find_touched<2>, find_touched<2>, find_touched<3>, BROADPHASE_SCALAR_ONLY(find_touched<4>)},
    {find_on_ray<2>, find_on_ray<2>, find_on_ray<3>, BROADPHASE_SCALAR_ONLY(find_on_ray<4>)},
    {{collect_near<2, Eight>, collect_near<2, Eight>, collect_near<3, Eight>,
      BROADPHASE_SCALAR_ONLY(collect_near<4, Eight>)},
     {collect_near<2, WideEight>, collect_near<2, WideEight>, collect_near<3, WideEight>,
      BROADPHASE_SCALAR_ONLY(collect_near<4, WideEight>)}},
    {finish_near<2>, finish_near<2>, finish_near<3>, BROADPHASE_SCALAR_ONLY(finish_near<4>)},
};

}  // namespace broadphase::BROADPHASE_LEVEL
