// The kernels that look up boxes in cells, by level.
#include <cstring>

#include "grid/look_up.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

namespace scalar {
extern const LookUpKernel kLookUpKernels[4];
}
#if defined(__x86_64__) || defined(_M_X64)
namespace sse2 {
extern const LookUpKernel kLookUpKernels[4];
}
namespace avx2 {
extern const LookUpKernel kLookUpKernels[4];
}
namespace avx512 {
extern const LookUpKernel kLookUpKernels[4];
}
#elif defined(__aarch64__) || defined(_M_ARM64)
namespace neon {
extern const LookUpKernel kLookUpKernels[4];
}
#endif

LookUpKernel look_up_kernel_of(const Kernels& kernels, std::size_t dimension) {
  struct Level {
    const char* name;
    const LookUpKernel* kernels;
  };
  constexpr Level kLevels[] = {
      {"scalar", scalar::kLookUpKernels},
#if defined(__x86_64__) || defined(_M_X64)
      {"sse2", sse2::kLookUpKernels},
      {"avx2", avx2::kLookUpKernels},
      {"avx512", avx512::kLookUpKernels},
#elif defined(__aarch64__) || defined(_M_ARM64)
      {"neon", neon::kLookUpKernels},
#endif
  };
  for (const Level& level : kLevels)
    if (std::strcmp(level.name, kernels.level) == 0) return level.kernels[dimension - 1];
  return scalar::kLookUpKernels[dimension - 1];
}

}  // namespace broadphase
