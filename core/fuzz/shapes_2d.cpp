// Two shapes of the plane: what must hold of any.
#include "tests/narrow_2d_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace broadphase;
  using namespace broadphase::tests;
  Random random(data, size);
  const Style& style = kStyles[random.below(std::size(kStyles))];
  const ShapeKind first = random_kind<2>(random), second = random_kind<2>(random);
  current_case() = describe(first, second);
  if (random.below(2) == 0)
    check_pair(random, style, first, second);
  else
    check_impact(random, style, first, second);
  return 0;
}
