// Which kernels of wide.hpp belong to which level.
#include "tree/wide.hpp"

#include <cstring>

namespace broadphase {

namespace scalar {
extern const WideKernels kWideKernels;
}
#if defined(__x86_64__) || defined(_M_X64)
namespace sse2 {
extern const WideKernels kWideKernels;
}
namespace avx2 {
extern const WideKernels kWideKernels;
}
namespace avx512 {
extern const WideKernels kWideKernels;
}
#elif defined(__aarch64__) || defined(_M_ARM64)
namespace neon {
extern const WideKernels kWideKernels;
}
#endif

const WideKernels& wide_kernels(const Kernels& kernels) {
#if defined(__x86_64__) || defined(_M_X64)
  if (std::strcmp(kernels.level, "sse2") == 0) return sse2::kWideKernels;
  if (std::strcmp(kernels.level, "avx2") == 0) return avx2::kWideKernels;
  if (std::strcmp(kernels.level, "avx512") == 0) return avx512::kWideKernels;
#elif defined(__aarch64__) || defined(_M_ARM64)
  if (std::strcmp(kernels.level, "neon") == 0) return neon::kWideKernels;
#endif
  (void)kernels;
  return scalar::kWideKernels;
}

}  // namespace broadphase
