// Which levels this build holds and this processor runs.
#include <array>

#include "simd/kernels.hpp"

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace broadphase {

namespace scalar {
extern const Kernels kKernels;
}
#if defined(__x86_64__) || defined(_M_X64)
namespace sse2 {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
#elif defined(__aarch64__) || defined(_M_ARM64)
namespace neon {
extern const Kernels kKernels;
}
#endif

namespace {

#if defined(__x86_64__) || defined(_M_X64)
struct Processor {
  bool avx2 = false, avx512 = false;
  Processor() {
#if defined(_MSC_VER)
    int leaf1[4], leaf7[4];
    __cpuid(leaf1, 1);
    __cpuidex(leaf7, 7, 0);
    const bool saves_ymm = (leaf1[2] >> 27 & 1) != 0 && (_xgetbv(0) & 6) == 6;
    const bool saves_zmm = saves_ymm && (_xgetbv(0) & 0xe6) == 0xe6;
    const int avx512_bits = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31;  // F, DQ, CD, BW, VL
    avx2 = saves_ymm && (leaf7[1] >> 5 & 1) != 0 && (leaf7[1] >> 3 & 1) != 0 && (leaf7[1] >> 8 & 1) != 0;
    avx512 = avx2 && saves_zmm && (leaf7[1] & avx512_bits) == avx512_bits;
#else
    __builtin_cpu_init();
    avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
           __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("popcnt") != 0;
    avx512 = avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
             __builtin_cpu_supports("avx512cd") != 0;
#endif
  }
};
#endif

struct Levels {
  std::array<const Kernels*, 4> level{};
  std::size_t count = 0;
  Levels() {
    level[count++] = &scalar::kKernels;
#if defined(__x86_64__) || defined(_M_X64)
    const Processor processor;
    level[count++] = &sse2::kKernels;
    if (processor.avx2) level[count++] = &avx2::kKernels;
    if (processor.avx512) level[count++] = &avx512::kKernels;
#elif defined(__aarch64__) || defined(_M_ARM64)
    level[count++] = &neon::kKernels;
#endif
  }
};

}  // namespace

const Kernels* const* available_kernels(std::size_t& count) {
  static const Levels levels;
  count = levels.count;
  return levels.level.data();
}

}  // namespace broadphase
