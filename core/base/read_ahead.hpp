// Asking for memory before it is needed.
#pragma once

namespace broadphase {

// Memory that will be read or written soon.
inline void read_ahead(const void* memory) {
#if defined(__GNUC__)
  __builtin_prefetch(memory);
#else
  (void)memory;
#endif
}

}  // namespace broadphase
