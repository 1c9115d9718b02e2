// The kernels of neighbours by level.
#include <cstring>

#include "neighbors/windows.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

namespace scalar {
std::size_t window_hits(WindowSearch& search, const WindowHits& hits);
}
#if defined(__x86_64__) || defined(_M_X64)
namespace sse2 {
std::size_t window_hits(WindowSearch& search, const WindowHits& hits);
}
namespace avx2 {
std::size_t window_hits(WindowSearch& search, const WindowHits& hits);
}
namespace avx512 {
std::size_t window_hits(WindowSearch& search, const WindowHits& hits);
}
#elif defined(__aarch64__) || defined(_M_ARM64)
namespace neon {
std::size_t window_hits(WindowSearch& search, const WindowHits& hits);
}
#endif

WindowKernel window_kernel_of(const Kernels& kernels) {
  struct Level {
    const char* name;
    WindowKernel kernel;
  };
  constexpr Level kLevels[] = {
      {"scalar", scalar::window_hits},
#if defined(__x86_64__) || defined(_M_X64)
      {"sse2", sse2::window_hits},
      {"avx2", avx2::window_hits},
      {"avx512", avx512::window_hits},
#elif defined(__aarch64__) || defined(_M_ARM64)
      {"neon", neon::window_hits},
#endif
  };
  for (const Level& level : kLevels)
    if (std::strcmp(level.name, kernels.level) == 0) return level.kernel;
  return scalar::window_hits;
}

}  // namespace broadphase
