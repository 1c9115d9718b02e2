// Memory that runs out when a test wants it to.
#pragma once

#include <cstddef>

namespace broadphase::tests {

// So many more allocations succeed, on all threads together, and none after them; negative: all succeed.
void allow_allocations(long long count);

// No block larger than so many bytes, on any thread; 0: any. Only where the linker can put functions in between.
void refuse_blocks_above(std::size_t bytes);

// Bytes of the largest block asked for, on any thread, since the last call.
std::size_t largest_block_asked_for();

}  // namespace broadphase::tests
