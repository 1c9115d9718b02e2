// Layers, masks, groups, static boxes, pairs and elements to leave out: by the rules, and in every method.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "methods.hpp"

namespace broadphase::tests {
namespace {

// Attributes of one set, at random: few values, so that every rule often decides.
struct Attributes {
  std::vector<std::uint64_t> layer, mask;
  std::vector<std::int64_t> group, shared;
  std::vector<std::uint8_t> is_static;

  Attributes(Random& random, std::size_t count, std::size_t shared_width) {
    constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
    for (std::size_t k = 0; k < count; ++k) {
      layer.push_back(random.below(4) | (random.chance(0.1) ? kTop : 0));
      mask.push_back(random.chance(0.2) ? kTop : random.below(4));
      group.push_back(static_cast<std::int64_t>(random.below(5)) - 2);
      is_static.push_back(random.chance(0.4));
      for (std::size_t s = 0; s < shared_width; ++s)
        shared.push_back(random.chance(0.1)
                             ? std::numeric_limits<std::int64_t>::min()
                             : static_cast<std::int64_t>(random.below(10 * shared_width * shared_width)));
      if (shared_width > Filter::kFewShared)
        std::sort(shared.end() - static_cast<std::ptrdiff_t>(shared_width), shared.end());
    }
  }
};

// Which rules are in use: one bit each.
enum Rule : unsigned { kLayers = 1, kGroups = 2, kStatic = 4, kShared = 8, kIgnored = 16 };

BoxAttributes in_use(const Attributes& all, unsigned rules, std::size_t shared_width) {
  BoxAttributes result;
  if ((rules & kLayers) != 0) {
    result.layer = all.layer.data();
    result.mask = all.mask.data();
  }
  if ((rules & kGroups) != 0) result.group = all.group.data();
  if ((rules & kStatic) != 0) result.is_static = all.is_static.data();
  if ((rules & kShared) != 0) {
    result.shared = all.shared.data();
    result.shared_width = shared_width;
  }
  return result;
}

bool plainly_allowed(const Attributes& a, const Attributes& b, unsigned rules, std::size_t width,
                     const std::vector<std::uint64_t>& ignored, std::size_t p, std::size_t q) {
  if ((rules & kStatic) != 0 && a.is_static[p] && b.is_static[q]) return false;
  if ((rules & kShared) != 0)
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t y = 0; y < width; ++y)
        if (a.shared[p * width + x] == b.shared[q * width + y]) return false;
  if ((rules & kIgnored) != 0 && std::find(ignored.begin(), ignored.end(), p << 32 | q) != ignored.end()) return false;
  if ((rules & kGroups) != 0 && a.group[p] == b.group[q] && a.group[p] != 0) return a.group[p] > 0;
  if ((rules & kLayers) == 0) return true;
  return (a.layer[p] & b.mask[q]) != 0 && (b.layer[q] & a.mask[p]) != 0;
}

void check_scene(std::uint64_t seed) {
  Random random(seed);
  SceneOptions options;
  options.dimension = 2;
  options.cells = 3;
  options.count = random.below(60);
  const Boxes<float> first = lattice_boxes<float>(random, options);
  options.count = random.below(60);
  const Boxes<float> second = lattice_boxes<float>(random, options);
  // On both sides of where rows are compared in another way.
  const std::size_t width = random.chance(0.5) ? 1 + random.below(4) : Filter::kFewShared + random.below(20);
  const Attributes a(random, first.view.count, width), b(random, second.view.count, width);
  const unsigned rules = static_cast<unsigned>(random.below(32));
  for (const bool cross : {false, true}) {
    Problem<float> problem;
    problem.first = first.view;
    problem.cross = cross;
    if (cross) problem.second = second.view;
    problem.dimension = 2;
    const PairList all = plain_pairs(problem);
    const auto key = [](const auto& pair) {
      return static_cast<std::uint64_t>(pair.first) << 32 | static_cast<std::uint64_t>(pair.second);
    };
    std::vector<std::uint64_t> ignored;
    for (const auto& pair : all)
      if (random.chance(0.3)) ignored.push_back(key(pair));
    PairSet ignored_set;
    ignored_set.start(ignored.size());
    for (const std::uint64_t one : ignored)
      ignored_set.add(static_cast<std::uint32_t>(one >> 32), static_cast<std::uint32_t>(one));
    Filter filter;
    filter.first = in_use(a, rules, width);
    filter.second = in_use(cross ? b : a, rules, width);
    if ((rules & kIgnored) != 0) filter.ignored = &ignored_set;
    problem.filter = &filter;
    PairList expected;
    for (const auto& pair : all)
      if (plainly_allowed(a, cross ? b : a, rules, width, ignored, static_cast<std::size_t>(pair.first),
                          static_cast<std::size_t>(pair.second)))
        expected.push_back(pair);
    std::size_t levels = 0;
    const Kernels& best = *available_kernels(levels)[0];
    for (const auto& [name, method] : kMethods) {
      current_case() = std::string(name) + ", rules " + std::to_string(rules) + ", " + describe(problem) + ", seed " +
                       std::to_string(seed);
      Interrupt never;
      const Preparation with{best, 2, never};
      CHECK(pairs_by(method, problem, with) == expected);
      CHECK(count_pairs(method, problem, with) == expected.size());
    }
  }
}

void check_pair_set() {
  current_case() = "pair set";
  PairSet set;
  set.start(0);
  CHECK(set.empty());
  Random random(5);
  constexpr std::uint32_t kLast = 0x7fffffff;  // of all rows
  for (const std::size_t count : {1, 2, 3, 100, 5000, 7}) {
    set.start(count);
    CHECK(set.empty());
    const auto row = [&] { return random.chance(0.1) ? kLast : static_cast<std::uint32_t>(random.below(60)); };
    std::vector<std::pair<std::uint32_t, std::uint32_t>> added;
    for (std::size_t k = 0; k < count; ++k) {
      added.emplace_back(row(), row());
      set.add(added.back().first, added.back().second);
    }
    std::sort(added.begin(), added.end());
    CHECK(!set.empty());
    for (std::uint32_t i = 0; i <= 60; ++i)
      for (std::uint32_t j = 0; j <= 60; ++j) {
        const auto pair = std::make_pair(i == 60 ? kLast : i, j == 60 ? kLast : j);
        CHECK(set.contains(pair.first, pair.second) == std::binary_search(added.begin(), added.end(), pair));
      }
  }
}

void check_buffer() {
  current_case() = "pair buffer";
  PairBuffer plain(nullptr, false), counting(nullptr, true);
  CHECK(!plain.counts_only() && counting.counts_only());
  for (std::int32_t k = 0; k < 10000; ++k) plain.push(k, k + 1);
  CHECK(plain.size() == 10000 && plain.count() == 10000);
  for (std::size_t k = 0; k < 10000; ++k)
    CHECK(plain.first_column()[k] == static_cast<std::int32_t>(k) &&
          plain.second_column()[k] == static_cast<std::int32_t>(k + 1));
  counting.push(1, 2);
  counting.add_count(std::uint64_t{1} << 40);
  CHECK(counting.size() == 0 && counting.count() == (std::uint64_t{1} << 40) + 1);
  Filter none_static;
  const std::uint8_t is_static[] = {1, 0, 1};
  none_static.first.is_static = none_static.second.is_static = is_static;
  PairBuffer filtered(&none_static, true);
  CHECK(!filtered.counts_only());
  filtered.push(0, 2);
  filtered.push(0, 1);
  CHECK(filtered.count() == 1);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  check_pair_set();
  check_buffer();
  const std::size_t scenes = rounds(argc, argv, 600);
  for (std::uint64_t seed = 0; seed < scenes; ++seed) check_scene(seed);
}
