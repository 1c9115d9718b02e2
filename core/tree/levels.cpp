// The kernels of sweeps that take turns, by level.
#include <cstring>

#include "simd/kernels.hpp"
#include "tree/in_turn.hpp"

namespace broadphase {

namespace scalar {
extern const SweepKernel kSweepKernels[4];
}
#if defined(__x86_64__) || defined(_M_X64)
namespace avx2 {
extern const SweepKernel kSweepKernels[4];
}
namespace avx512 {
extern const SweepKernel kSweepKernels[4];
}
#elif defined(__aarch64__) || defined(_M_ARM64)
namespace neon {
extern const SweepKernel kSweepKernels[4];
}
#endif

SweepKernel sweep_kernel_of(const Kernels& kernels, std::size_t dimension) {
  struct Level {
    const char* name;
    const SweepKernel* kernels;
  };
  constexpr Level kLevels[] = {
      {"scalar", scalar::kSweepKernels},
#if defined(__x86_64__) || defined(_M_X64)
      {"avx2", avx2::kSweepKernels},
      {"avx512", avx512::kSweepKernels},
#elif defined(__aarch64__) || defined(_M_ARM64)
      {"neon", neon::kSweepKernels},
#endif
  };
  for (const Level& level : kLevels)
    if (std::strcmp(level.name, kernels.level) == 0) return level.kernels[dimension - 1];
  return scalar::kSweepKernels[dimension - 1];
}

}  // namespace broadphase
