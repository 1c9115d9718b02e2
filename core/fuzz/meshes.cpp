// Two meshes and a ball: by their trees as face by face.
#include "tests/mesh_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  broadphase::tests::Random random(data, size);
  broadphase::tests::current_case() = "meshes";
  broadphase::tests::check_meshes(random);
  return 0;
}
