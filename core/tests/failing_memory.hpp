// Memory that runs out when a test wants it to.
#pragma once

namespace broadphase::tests {

// So many more allocations succeed, on all threads together, and none after them; negative: all succeed.
void allow_allocations(long long count);

}  // namespace broadphase::tests
