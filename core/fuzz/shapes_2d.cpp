// Two shapes of the plane: what must hold of any.
#include <string>

#include "tests/narrow_2d_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace broadphase;
  using namespace broadphase::tests;
  Random random(data, size);
  const Style& style = kStyles[random.below(std::size(kStyles))];
  const std::size_t first = random.below(9), second = random.below(9);
  current_case() = std::string(kNames[first]) + " and " + kNames[second];
  if (random.below(2) == 0)
    check_pair(random, style, static_cast<ShapeKind>(first), static_cast<ShapeKind>(second));
  else
    check_impact(random, style, static_cast<ShapeKind>(first), static_cast<ShapeKind>(second));
  return 0;
}
