// Asking for memory before it is needed.
#pragma once

#include <cstddef>

namespace broadphase {

// How many rows ahead a loop over boxes in another order than theirs reads: they lie anywhere in memory.
inline constexpr std::size_t kRowsAhead = 24;

// Memory that will be read or written soon.
inline void read_ahead(const void* memory) {
#if defined(__GNUC__)
  __builtin_prefetch(memory);
  // GCC takes a function that does nothing else for one without effects, and leaves out calls of it.
  __asm__ volatile("");
#else
  (void)memory;
#endif
}

}  // namespace broadphase
