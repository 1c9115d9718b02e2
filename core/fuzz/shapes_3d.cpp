// Two shapes in space: what must hold of any; and compounds, whose answers are those of their parts.
#include "tests/narrow_3d_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace broadphase;
  using namespace broadphase::tests;
  Random random(data, size);
  const std::size_t what = random.below(256);
  if (what < 32) {
    current_case() = "compounds";
    check_compound(random, 1 + what % 3, 1 + what / 3 % 3);
    return 0;
  }
  const Form form = kForms[what % kForms.size()];
  const ShapeKind first = random_simple_kind<3>(random), second = random_simple_kind<3>(random);
  const Solid a = random_solid(random, first, form), b = random_solid(random, second, form);
  current_case() = describe(a) + "\n  " + describe(b);
  check_pair(random, a, b);
  return 0;
}
