// The kernel that tests one box against a run: every level against plain comparisons, on runs of every length and
// start.
#include <algorithm>
#include <limits>
#include <vector>

#include "boxes/box_columns.hpp"
#include "methods.hpp"

namespace broadphase::tests {
namespace {

constexpr std::uint32_t kUntouched = 0xdeadbeef;

template <class T>
void check_run(const Kernels& kernels, const BoxColumns<T>& columns, const T* box, std::size_t dimension, bool touching,
               std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> expected;
  for (std::size_t j = begin; j < end; ++j) {
    bool hit = true;
    for (std::size_t k = 0; k < dimension; ++k) {
      const T lower = columns.lower(k)[j], upper = columns.upper(k)[j];
      hit = hit &&
            (touching ? box[k] <= upper && lower <= box[dimension + k] : box[k] < upper && lower < box[dimension + k]);
    }
    if (hit) expected.push_back(static_cast<std::uint32_t>(j));
  }
  const OverlapKernels<T>& kernel = overlap_kernels<T>(kernels, touching);
  // Written to no further than promised: the last places stay as they were.
  std::vector<std::uint32_t> positions(end - begin + 64 + 8, kUntouched);
  const std::size_t found = kernel.run[dimension - 1]({columns.pointers(), begin, end, box}, positions.data());
  CHECK(found == expected.size());
  CHECK(std::equal(expected.begin(), expected.end(), positions.begin()));
  for (std::size_t k = end - begin + 64; k < positions.size(); ++k) CHECK(positions[k] == kUntouched);
  // The same in blocks, of which every third is left out.
  std::vector<std::uint32_t> blocks, of_blocks;
  for (std::size_t block = (begin + kBlockOfRun - 1) / kBlockOfRun; block < end / kBlockOfRun; ++block)
    if (block % 3 != 0) blocks.push_back(static_cast<std::uint32_t>(block));
  for (const std::uint32_t j : expected)
    if (std::find(blocks.begin(), blocks.end(), j / kBlockOfRun) != blocks.end()) of_blocks.push_back(j);
  positions.assign(blocks.size() * kBlockOfRun + 64 + 8, kUntouched);
  const std::size_t in_blocks =
      kernel.blocks[dimension - 1]({columns.pointers(), blocks.data(), blocks.size(), box}, positions.data());
  CHECK(in_blocks == of_blocks.size());
  CHECK(std::equal(of_blocks.begin(), of_blocks.end(), positions.begin()));
  for (std::size_t k = blocks.size() * kBlockOfRun + 64; k < positions.size(); ++k) CHECK(positions[k] == kUntouched);
}

template <class T>
void check_level(const Kernels& kernels, std::size_t dimension, std::uint64_t seed) {
  Random random(seed);
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const std::size_t count = 1 + random.below(300);
  // From no hit in a run to nothing but hits; infinite and denormal corners among them.
  const std::size_t cells = 1 + random.below(random.chance(0.5) ? 4 : 40);
  const auto corner = [&] {
    if (random.chance(0.02)) return random.chance(0.5) ? kInfinity : -kInfinity;
    if (random.chance(0.05)) return std::numeric_limits<T>::denorm_min();
    if (random.chance(0.05)) return -T(0);
    return static_cast<T>(random.below(cells)) * T(0.1);
  };
  BoxColumns<T> columns(count, dimension);
  for (std::size_t k = 0; k < dimension; ++k)
    for (std::size_t j = 0; j < count; ++j) {
      const T a = corner(), b = corner();
      columns.lower(k)[j] = std::min(a, b);
      columns.upper(k)[j] = std::max(a, b);
    }
  for (int round = 0; round < 12; ++round) {
    T box[8];
    columns.gather(random.below(count), box);
    const std::size_t begin = random.below(count + 1);
    const std::size_t end =
        begin + random.below(std::min<std::size_t>(count - begin, random.chance(0.5) ? 20 : 300) + 1);
    current_case() = std::string(kernels.level) + (sizeof(T) == 4 ? ", float" : ", double") + ", D " +
                     std::to_string(dimension) + ", [" + std::to_string(begin) + ", " + std::to_string(end) +
                     "), seed " + std::to_string(seed);
    for (const bool touching : {true, false}) check_run(kernels, columns, box, dimension, touching, begin, end);
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t scenes = rounds(argc, argv, 500);
  for_each_level([&](const broadphase::Kernels& kernels) {
    for (std::size_t dimension = 1; dimension <= 4; ++dimension)
      for (std::uint64_t seed = 0; seed < scenes; ++seed) {
        check_level<float>(kernels, dimension, seed);
        check_level<double>(kernels, dimension, seed);
      }
  });
}
