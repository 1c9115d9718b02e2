// The kernel of neighbours of one level, apart from the others: it has arguments of its own and is found by
// neighbors/levels.cpp. This file is compiled once per instruction set, with BROADPHASE_LEVEL naming it.
#include "neighbors/window_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

std::size_t window_hits(WindowSearch& search, const WindowHits& hits);
std::size_t window_hits(WindowSearch& search, const WindowHits& hits) { return window_hits_in_lanes(search, hits); }

}  // namespace broadphase::BROADPHASE_LEVEL
