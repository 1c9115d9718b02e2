// Every pair of kinds, in the plane and in space, where rounding matters most: against certificates.
#include "hard_pairs.hpp"
#include "shape_kinds.hpp"

namespace broadphase::tests {
namespace {

template <class Numbers>
std::string spelled(const Numbers& numbers) {
  std::string text;
  char number[40];
  for (const double value : numbers) {
    std::snprintf(number, sizeof number, "%.17g, ", value);
    text += number;
  }
  return text;
}

template <std::size_t D>
void check_kinds(const std::vector<ShapeKind>& kinds, std::uint64_t rounds) {
  for (std::size_t first = 0; first < kinds.size(); ++first)
    for (std::size_t second = 0; second <= first; ++second)
      for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        Random random(seed * 1000 + 100 * D + 10 * first + second);
        const auto pair = HardPairs<D>(random).make(kinds[first], kinds[second]);
        current_case() = std::to_string(D) + " dimensions, seed " + std::to_string(seed);
        for (const HardShape<D>* shape : {&pair.a, &pair.b})
          current_case() +=
              "\n  " + std::to_string(static_cast<int>(shape->kind)) + " {" + spelled(shape->record) + "}";
        current_case() += "\n  " + spelled(pair.motion);
        check_hard_pair<D>(pair);
      }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase;
  using namespace broadphase::tests;
  const std::size_t count = rounds(argc, argv, 40);
  std::vector<ShapeKind> in_space(kSimpleKinds<3>.begin(), kSimpleKinds<3>.end());
  check_kinds<2>({kSimpleKinds<2>.begin(), kSimpleKinds<2>.end()}, 10 * count);
  check_kinds<3>(in_space, count);
  in_space.push_back(ShapeKind::kHull);
  check_kinds<3>(in_space, count / 8);
}
