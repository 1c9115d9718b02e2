// The kernels that pack leaves take each number to where LocalFrame takes it, rounded outwards and not far: what a tree
// is asked for goes through the frame, what it holds through a kernel.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "boxes/pack_boxes.hpp"
#include "methods.hpp"
#include "tree/blocks.hpp"
#include "tree/local_frame.hpp"

namespace broadphase::tests {
namespace {

// Of any magnitude and sign, and often one at which something ends.
template <class T>
T extreme_number(Random& random) {
  using Limits = std::numeric_limits<T>;
  const T sign = random.chance(0.5) ? T(1) : T(-1);
  switch (random.below(8)) {
    case 0: return sign * Limits::max();
    case 1: return sign * Limits::denorm_min();
    case 2: return sign * T(0);
    case 3: return sign * static_cast<T>(random.uniform());
    case 4: return sign * Limits::max() * static_cast<T>(random.uniform());
    default: {
      const int least = Limits::min_exponent - Limits::digits;
      const int exponent =
          least + static_cast<int>(random.below(static_cast<std::size_t>(Limits::max_exponent - least)));
      return sign * std::ldexp(static_cast<T>(0.5 + random.uniform() / 2), exponent);
    }
  }
}

// Not beyond `value` and less than three steps of a frame before it; `outwards` -1 for a lower corner, 1 for an upper.
void check_number(float held, double value, float outwards, const LocalFrame& frame) {
  const auto by = [&](double x) { return outwards < 0 ? frame.below(x) : frame.above(x); };
  const double limit = by(by(by(value)));
  CHECK(outwards < 0 ? held <= value && held >= limit : held >= value && held <= limit);
}

template <class T>
void check_leaves(std::uint64_t seed, const Kernels& kernels) {
  Random random(seed);
  const std::size_t dimension = 1 + random.below(4), count = 1 + random.below(30);
  std::vector<T> lower(count * dimension), upper(count * dimension);
  for (std::size_t at = 0; at < lower.size(); ++at) {
    lower[at] = extreme_number<T>(random);
    upper[at] = random.chance(0.3) ? lower[at] : extreme_number<T>(random);
    if (upper[at] < lower[at]) std::swap(lower[at], upper[at]);
    if (random.chance(0.05)) lower[at] = -std::numeric_limits<T>::infinity();
    if (random.chance(0.05)) upper[at] = std::numeric_limits<T>::infinity();
  }
  double low[4] = {}, high[4] = {};
  for (std::size_t k = 0; k < dimension; ++k) {
    low[k] = static_cast<double>(extreme_number<T>(random));
    high[k] = random.chance(0.2) ? low[k] : static_cast<double>(extreme_number<T>(random));
    if (high[k] < low[k]) std::swap(low[k], high[k]);
  }
  const LocalFrame frame = frame_between(low, high, dimension, false);
  current_case() = std::string(kernels.level) + ", seed " + std::to_string(seed) + (sizeof(T) == 4 ? ", float" : "");

  std::vector<RowKey> items(count);
  for (std::size_t at = 0; at < count; ++at) items[at] = {0, static_cast<std::uint32_t>(count - 1 - at)};
  const std::size_t blocks = (count + kLanes - 1) / kLanes;
  const BlockLayout layout{axes_of_blocks(dimension)};
  std::vector<float> words(blocks * layout.words());
  std::vector<std::array<float, 8>> bounds(blocks);
  const auto stride = static_cast<std::ptrdiff_t>(dimension);
  PackLeaves<T> request{
      {lower.data(), upper.data(), stride, stride, T(0)}, items.data(), count,       words.data(), 0, blocks, nullptr,
      reinterpret_cast<float (*)[8]>(bounds.data()),      {},           frame.scale, false};
  std::copy_n(frame.origin, 4, request.origin);
  CHECK(kernels.eight->of<T>().pack_leaves[dimension - 1](request));
  for (std::size_t at = 0; at < count; ++at)
    for (std::size_t k = 0; k < dimension; ++k) {
      const float* block = words.data() + at / kLanes * layout.words() + at % kLanes;
      const std::size_t number = items[at].row * dimension + k;
      const double below = frame.local(static_cast<double>(lower[number]), k);
      const double above = frame.local(static_cast<double>(upper[number]), k);
      check_number(block[layout.lower(k)], below, -1.0F, frame);
      check_number(block[layout.upper(k)], above, 1.0F, frame);
      CHECK(bounds[at / kLanes][k] <= below && bounds[at / kLanes][dimension + k] >= above);
    }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t scenes = rounds(argc, argv, 5000);
  for_each_level([&](const broadphase::Kernels& kernels) {
    for (std::uint64_t seed = 0; seed < scenes; ++seed) {
      check_leaves<float>(seed, kernels);
      check_leaves<double>(seed, kernels);
    }
  });
}
