// Reads the corpus of a target once more, without a fuzzer: in each, four bytes of length stand before an input.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int, char** arguments) {
  std::ifstream file(arguments[1], std::ios::binary);
  const std::vector<char> corpus((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::size_t count = 0, at = 0;
  while (at + 4 <= corpus.size()) {
    std::size_t size = 0;
    for (std::size_t byte = 4; byte-- > 0;) size = size << 8 | static_cast<unsigned char>(corpus[at + byte]);
    at += 4;
    if (corpus.size() - at < size) break;
    const std::vector<std::uint8_t> input(corpus.data() + at, corpus.data() + at + size);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    at += size;
    ++count;
  }
  std::printf("%zu inputs\n", count);
  return count > 0 && at == corpus.size() ? 0 : 1;
}
