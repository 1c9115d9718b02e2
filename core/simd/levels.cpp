// Which levels this build holds and this processor runs.
#include <array>

#include "simd/kernels.hpp"

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#elif defined(__x86_64__)
#include <cpuid.h>
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
// Not every compiler's function knows this name.
bool has_lzcnt() {
  constexpr unsigned kExtended = 0x80000000, kFeatures = kExtended + 1, kBit = 5;
#if defined(_MSC_VER)
  int highest[4], features[4];
  __cpuid(highest, static_cast<int>(kExtended));
  if (static_cast<unsigned>(highest[0]) < kFeatures) return false;
  __cpuid(features, static_cast<int>(kFeatures));
  return (features[2] >> kBit & 1) != 0;
#else
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(kFeatures, &a, &b, &c, &d) != 0 && (c >> kBit & 1) != 0;
#endif
}

// Each flag that a level's kernels are compiled with, in core/CMakeLists.txt, is asked for.
struct Processor {
  bool avx2 = false, avx512 = false;
  Processor() {
#if defined(_MSC_VER)
    // /arch:AVX2 stands for FMA, BMI, BMI2, LZCNT and POPCNT too.
    int leaf1[4], leaf7[4];
    __cpuid(leaf1, 1);
    __cpuidex(leaf7, 7, 0);
    const bool saves_ymm = (leaf1[2] >> 27 & 1) != 0 && (_xgetbv(0) & 6) == 6;
    const bool saves_zmm = saves_ymm && (_xgetbv(0) & 0xe6) == 0xe6;
    const int avx512_bits = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31;             // F, DQ, CD, BW, VL
    const int avx2_bits = 1 << 3 | 1 << 5 | 1 << 8, popcnt_and_fma = 1 << 23 | 1 << 12;  // BMI, AVX2, BMI2
    avx2 = saves_ymm && (leaf7[1] & avx2_bits) == avx2_bits && (leaf1[2] & popcnt_and_fma) == popcnt_and_fma &&
           has_lzcnt();
    avx512 = avx2 && saves_zmm && (leaf7[1] & avx512_bits) == avx512_bits;
#else
    __builtin_cpu_init();
    avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
           __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("popcnt") != 0 && has_lzcnt();
    avx512 = avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
             __builtin_cpu_supports("avx512cd") != 0;
#endif
  }
};

#endif

template <class Kernel, std::size_t N>
void complete(Kernel (&own)[N], const Kernel (&below)[N]) {
  for (std::size_t k = 0; k < N; ++k)
    if (own[k] == nullptr) own[k] = below[k];
}

template <class T>
void complete(OverlapKernels<T>& own, const OverlapKernels<T>& below) {
  complete(own.run, below.run);
  complete(own.blocks, below.blocks);
  complete(own.runs, below.runs);
  complete(own.ahead, below.ahead);
}

template <class T>
void complete(FilingKernels<T>& own, const FilingKernels<T>& below) {
  complete(own.curve_keys, below.curve_keys);
  complete(own.pack_leaves, below.pack_leaves);
  complete(own.file_boxes, below.file_boxes);
}

void complete(WalkKernels& own, const WalkKernels& below) {
  complete(own.next_by_box, below.next_by_box);
  complete(own.next_by_distance, below.next_by_distance);
  complete(own.next_by_time, below.next_by_time);
  complete(own.next_by_distance_and_row, below.next_by_distance_and_row);
  complete(own.next_by_time_and_row, below.next_by_time_and_row);
  complete(own.next_by_region, below.next_by_region);
  complete(own.pair_blocks, below.pair_blocks);
}

// A level with the kernels that it lacks from the level below: those of boxes of one axis and of four, which are rare.
// Each copy for one more instruction set would be a fiftieth of the module.
struct Completed {
  Kernels kernels;
  TreeKernels trees;
  EightKernels eight;

  Completed(const Kernels& own, const Kernels& below) : kernels(own), trees(*own.trees), eight(*own.eight) {
    complete(kernels.closed_f32, below.closed_f32);
    complete(kernels.open_f32, below.open_f32);
    complete(kernels.closed_f64, below.closed_f64);
    complete(kernels.open_f64, below.open_f64);
    complete(kernels.sweep_range, below.sweep_range);
    complete(kernels.sort_cell, below.sort_cell);
    complete(kernels.sweep_behind, below.sweep_behind);
    complete(kernels.sweep_across, below.sweep_across);
    complete(kernels.look_up, below.look_up);
    complete(trees.floats, below.trees->floats);
    complete(trees.doubles, below.trees->doubles);
    complete(trees.next_surely_by_box, below.trees->next_surely_by_box);
    complete(trees.finish_sweep, below.trees->finish_sweep);
    complete(trees.find_touched, below.trees->find_touched);
    complete(trees.find_on_ray, below.trees->find_on_ray);
    for (std::size_t wide = 0; wide < 2; ++wide) complete(trees.collect_near[wide], below.trees->collect_near[wide]);
    complete(trees.finish_near, below.trees->finish_near);
    complete(eight.balls_together, below.eight->balls_together);
    complete(eight.floats, below.eight->floats);
    complete(eight.doubles, below.eight->doubles);
    kernels.trees = &trees;
    kernels.eight = &eight;
  }
};

struct Levels {
  std::array<const Kernels*, 4> level{};
  std::size_t count = 0;
  Levels() {
    level[count++] = &scalar::kKernels;
#if defined(__x86_64__) || defined(_M_X64)
    const Processor processor;
    static const Completed narrow(sse2::kKernels, scalar::kKernels), middle(avx2::kKernels, scalar::kKernels),
        wide(avx512::kKernels, middle.kernels);
    level[count++] = &narrow.kernels;
    if (processor.avx2) level[count++] = &middle.kernels;
    if (processor.avx512) level[count++] = &wide.kernels;
#elif defined(__aarch64__) || defined(_M_ARM64)
    static const Completed arm(neon::kKernels, scalar::kKernels);
    level[count++] = &arm.kernels;
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
