// The least a test needs: a check that says where and in what case it failed, and random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace broadphase::tests {

// What the running test is doing: printed when a check fails.
inline std::string& current_case() {
  static std::string text;
  return text;
}

[[noreturn]] inline void fail(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: failed: %s\n  in the case: %s\n", file, line, condition, current_case().c_str());
  std::exit(1);
}

// SplitMix64: the same numbers on every platform, which the distributions of <random> do not promise. Or the numbers
// that some bytes spell, for as long as there are any: of these a fuzzer is the author.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  Random(const std::uint8_t* bytes, std::size_t count) : state_(0), at_(bytes), end_(bytes + count) {}

  bool has_bytes() const { return at_ != end_; }
  std::uint64_t bits() { return has_bytes() ? spelled(8) : mixed(); }
  std::size_t below(std::size_t limit) {
    if (!has_bytes()) return static_cast<std::size_t>(mixed() % limit);
    return static_cast<std::size_t>(spelled(limit <= 0x100 ? 1 : limit <= 0x10000 ? 2 : 8) % limit);
  }
  // Where bytes spell it, most often a small fraction.
  double uniform() {
    if (!has_bytes()) return static_cast<double>(mixed() >> 11) * 0x1p-53;
    const std::uint64_t first = spelled(1);
    return first < 0x80 ? static_cast<double>(first) * 0x1p-7 : static_cast<double>(spelled(8) >> 11) * 0x1p-53;
  }
  bool chance(double probability) {
    return has_bytes() ? static_cast<double>(spelled(1)) * 0x1p-8 < probability : uniform() < probability;
  }

 private:
  std::uint64_t mixed() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  std::uint64_t spelled(std::size_t count) {
    std::uint64_t number = 0;
    for (; count > 0 && has_bytes(); --count) number = number << 8 | *at_++;
    return number;
  }

  std::uint64_t state_;
  const std::uint8_t *at_ = nullptr, *end_ = nullptr;
};

// How many random cases to try: the first argument of the test, or `normal`.
inline std::size_t rounds(int argc, char** argv, std::size_t normal) {
  return argc > 1 ? static_cast<std::size_t>(std::strtoull(argv[1], nullptr, 10)) : normal;
}

// Whether a call is refused as a caller's mistake.
template <class Call>
bool is_refused(Call&& call) {
  try {
    call();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

}  // namespace broadphase::tests

#define CHECK(condition) ((condition) ? static_cast<void>(0) : broadphase::tests::fail(__FILE__, __LINE__, #condition))
