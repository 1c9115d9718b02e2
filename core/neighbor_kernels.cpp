// The kernel of neighbours of one level, apart from the others: it has arguments of its own and is found by
// neighbors/levels.cpp. This file is compiled once per instruction set, with BROADPHASE_LEVEL naming it.
#include "neighbors/window_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

std::size_t window_hits(WindowSearch& search, std::uint32_t* positions, WindowEnd* ends);
std::size_t window_hits(WindowSearch& search, std::uint32_t* positions, WindowEnd* ends) {
  return window_hits_in_lanes(search, positions, ends);
}

}  // namespace broadphase::BROADPHASE_LEVEL
