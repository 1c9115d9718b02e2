// Which kernels of together.hpp belong to which level.
#include "tree/together.hpp"

#include <cstring>

namespace broadphase {

namespace scalar {
extern const TogetherKernels kTogetherKernels;
}
#if defined(__x86_64__) || defined(_M_X64)
namespace sse2 {
extern const TogetherKernels kTogetherKernels;
}
namespace avx2 {
extern const TogetherKernels kTogetherKernels;
}
namespace avx512 {
extern const TogetherKernels kTogetherKernels;
}
#elif defined(__aarch64__) || defined(_M_ARM64)
namespace neon {
extern const TogetherKernels kTogetherKernels;
}
#endif

const TogetherKernels& together_kernels(const Kernels& kernels) {
#if defined(__x86_64__) || defined(_M_X64)
  if (std::strcmp(kernels.level, "sse2") == 0) return sse2::kTogetherKernels;
  if (std::strcmp(kernels.level, "avx2") == 0) return avx2::kTogetherKernels;
  if (std::strcmp(kernels.level, "avx512") == 0) return avx512::kTogetherKernels;
#elif defined(__aarch64__) || defined(_M_ARM64)
  if (std::strcmp(kernels.level, "neon") == 0) return neon::kTogetherKernels;
#endif
  (void)kernels;
  return scalar::kTogetherKernels;
}

}  // namespace broadphase
