// The kernels of one level that walk through trees: this file is compiled once per instruction set that has eight
// numbers in a register, and for the scalar level, with BROADPHASE_LEVEL naming it.
#include "simd/kernels.hpp"
#include "simd/lanes.hpp"
#include "tree/in_turn_kernel.hpp"
#include "tree/pairs_kernel.hpp"
#include "tree/queries_kernel.hpp"

// Walks on eight floats, which wider registers do not make faster: AVX-512 takes those of AVX2.
#ifdef BROADPHASE_PARTIAL
#define BROADPHASE_OF_FLOATS(...) \
  {                               \
  }
#else
#define BROADPHASE_OF_FLOATS(...) __VA_ARGS__
#endif

namespace broadphase::BROADPHASE_LEVEL {

extern const TreeKernels kTreeKernels;
const TreeKernels kTreeKernels = {
    BROADPHASE_OF_FLOATS({
        {next_by_box<1, Eight, BoxWalk>, next_by_box<2, Eight, BoxWalk>, next_by_box<3, Eight, BoxWalk>,
         next_by_box<4, Eight, BoxWalk>},
        {next_by_distance<1, Eight>, next_by_distance<2, Eight>, next_by_distance<3, Eight>,
         next_by_distance<4, Eight>},
        {next_by_time<1, Eight>, next_by_time<2, Eight>, next_by_time<3, Eight>, next_by_time<4, Eight>},
        {next_by_region<1>, next_by_region<2>, next_by_region<3>, next_by_region<4>},
        {pair_blocks<1, Eight>, pair_blocks<2, Eight>, pair_blocks<3, Eight>, pair_blocks<4, Eight>},
    }),
    {
        {BROADPHASE_RARE(next_by_box<1, WideEight, BoxWalk>), next_by_box<2, WideEight, BoxWalk>,
         next_by_box<3, WideEight, BoxWalk>, BROADPHASE_RARE(next_by_box<4, WideEight, BoxWalk>)},
        {BROADPHASE_RARE(next_by_distance<1, WideEight>), next_by_distance<2, WideEight>,
         next_by_distance<3, WideEight>, BROADPHASE_RARE(next_by_distance<4, WideEight>)},
        {BROADPHASE_RARE(next_by_time<1, WideEight>), next_by_time<2, WideEight>, next_by_time<3, WideEight>,
         BROADPHASE_RARE(next_by_time<4, WideEight>)},
        {BROADPHASE_RARE(next_by_box<1, WideEight, ConvexWalk>), next_by_box<2, WideEight, ConvexWalk>,
         next_by_box<3, WideEight, ConvexWalk>, BROADPHASE_RARE(next_by_box<4, WideEight, ConvexWalk>)},
        {BROADPHASE_RARE(pair_blocks<1, WideEight>), pair_blocks<2, WideEight>, pair_blocks<3, WideEight>,
         BROADPHASE_RARE(pair_blocks<4, WideEight>)},
    },
    BROADPHASE_OF_FLOATS({finish_sweep<1>, finish_sweep<2>, finish_sweep<3>, finish_sweep<4>}),
    BROADPHASE_OF_FLOATS({find_touched<1>, find_touched<2>, find_touched<3>, find_touched<4>}),
};

}  // namespace broadphase::BROADPHASE_LEVEL
