// The kernels of sweeps that take turns, by level.
#include <cstring>

#include "simd/kernels.hpp"
#include "tree/in_turn.hpp"

namespace broadphase {

namespace scalar {
extern const TurnKernels kTurnKernels;
}
#if defined(__x86_64__) || defined(_M_X64)
namespace avx2 {
extern const TurnKernels kTurnKernels;
}
namespace avx512 {
extern const TurnKernels kTurnKernels;
}
#elif defined(__aarch64__) || defined(_M_ARM64)
namespace neon {
extern const TurnKernels kTurnKernels;
}
#endif

const TurnKernels& turn_kernels_of(const Kernels& kernels) {
  struct Level {
    const char* name;
    const TurnKernels* kernels;
  };
  constexpr Level kLevels[] = {
      {"scalar", &scalar::kTurnKernels},
#if defined(__x86_64__) || defined(_M_X64)
      {"avx2", &avx2::kTurnKernels},
      {"avx512", &avx512::kTurnKernels},
#elif defined(__aarch64__) || defined(_M_ARM64)
      {"neon", &neon::kTurnKernels},
#endif
  };
  for (const Level& level : kLevels)
    if (std::strcmp(level.name, kernels.level) == 0) return *level.kernels;
  return scalar::kTurnKernels;
}

}  // namespace broadphase
