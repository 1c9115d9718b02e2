// Sorting of rows by floating-point values, and the search for the end of a run.
#include "base/radix_sort.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "check.hpp"
#include "sweep/sorted_intervals.hpp"

namespace broadphase::tests {
namespace {

template <class T>
void check_order_bits() {
  current_case() = "order of bits";
  using Limits = std::numeric_limits<T>;
  const T ascending[] = {-Limits::infinity(),      Limits::lowest(),      T(-1),
                         -Limits::min(),           -Limits::denorm_min(), T(0),
                         Limits::denorm_min(),     Limits::min(),         T(1),
                         T(1) + Limits::epsilon(), Limits::max(),         Limits::infinity()};
  for (const T a : ascending)
    for (const T b : ascending) {
      CHECK((a < b) == (order_bits(a) < order_bits(b)));
      CHECK((a == b) == (order_bits(a) == order_bits(b)));
    }
  CHECK(order_bits(T(0)) == order_bits(-T(0)));
}

// Values of one kind each: all digits, few digits, only the lowest digits, special ones; a few far from many that only
// the lowest digits tell apart, or in runs of such.
template <class T>
T value_of_kind(Random& random, std::size_t kind) {
  switch (kind) {
    case 0: return static_cast<T>(random.uniform());
    case 1: return static_cast<T>(random.below(5)) - T(2);
    case 2: return std::bit_cast<T>(static_cast<OrderBits<T>>(order_bits(T(1)) ^ random.below(1000)));
    case 3: return T(1e15) + static_cast<T>(random.uniform());
    case 4: {
      const T special[] = {-T(0),
                           T(0),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::denorm_min(),
                           -std::numeric_limits<T>::max()};
      return special[random.below(6)];
    }
    case 5: {
      const auto low = random.chance(0.001) ? random.bits() % 1000 : random.bits() % 4;
      return random.chance(0.001) ? T(1e30)
                                  : static_cast<T>(T(1) + static_cast<T>(low) * std::numeric_limits<T>::epsilon());
    }
    case 6:
      return static_cast<T>(random.below(50)) +
             static_cast<T>(random.below(3)) * std::numeric_limits<T>::epsilon() * T(64);
    default: {
      // Any bits that are a number.
      const auto x = std::bit_cast<T>(static_cast<OrderBits<T>>(random.bits()));
      return x == x ? x : T(0);
    }
  }
}

template <class T>
void check_sort(std::size_t count, std::size_t kind) {
  current_case() = std::string(sizeof(T) == 4 ? "float" : "double") + ", " + std::to_string(count) +
                   " values of kind " + std::to_string(kind);
  Random random(count * 10 + kind);
  std::vector<T> values(count);
  for (T& value : values) value = value_of_kind<T>(random, kind);
  std::vector<std::uint32_t> expected(count);
  std::iota(expected.begin(), expected.end(), 0u);
  std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  RowSorter<T> sorter(count);
  for (const unsigned workers : {1u, 2u, 5u}) {
    Interrupt never;
    sorter.start(count);
    // Some one by one, the others at once.
    const std::size_t some = count / 3;
    for (std::size_t k = 0; k < some; ++k) sorter.add(values[k], static_cast<std::uint32_t>(k));
    sorter.add_all(count - some, workers, never,
                   [&](std::size_t k) { return std::pair(values[some + k], static_cast<std::uint32_t>(some + k)); });
    sorter.sort(never, workers);
    CHECK(sorter.count() == count);
    for (std::size_t k = 0; k < count; ++k) CHECK(sorter.row(k) == expected[k]);
  }
}

template <class T>
void check_end_of_run(std::uint64_t seed) {
  Random random(seed);
  const std::size_t count = random.below(400);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random.below(1 + random.below(300)));
  std::sort(values.begin(), values.end());
  current_case() = "end of run, seed " + std::to_string(seed);
  for (int k = 0; k < 20; ++k) {
    const std::size_t guess = random.below(count + 100);
    const auto limit = static_cast<T>(random.below(300));
    // The answer is never before `from`: what lies before is within the limit by precondition.
    const auto closed =
        static_cast<std::size_t>(std::upper_bound(values.begin(), values.end(), limit) - values.begin());
    const auto open = static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), limit) - values.begin());
    CHECK(end_of_run<true>(values.data(), random.below(closed + 1), count, guess, limit) == closed);
    CHECK(end_of_run<false>(values.data(), random.below(open + 1), count, guess, limit) == open);
  }
}

// By some of the bits of a key, stably, and alike for any number of workers: from 20000 items on they share the work.
void check_bits(std::size_t count, int from, int to) {
  struct Item {
    std::uint32_t key, row;
  };
  Random random(count + static_cast<std::size_t>(to));
  std::vector<Item> items(count);
  for (std::size_t k = 0; k < count; ++k)
    items[k] = {static_cast<std::uint32_t>(random.bits()), static_cast<std::uint32_t>(k)};
  const std::uint32_t mask = to - from < 32 ? (1u << (to - from)) - 1u : ~0u;
  const auto key_of = [&](const Item& item) { return item.key >> from & mask; };
  std::vector<Item> expected = items;
  std::stable_sort(expected.begin(), expected.end(),
                   [&](const Item& a, const Item& b) { return key_of(a) < key_of(b); });
  for (const unsigned workers : {1u, 2u, 5u}) {
    current_case() = std::to_string(count) + " items, bits " + std::to_string(from) + " to " + std::to_string(to) +
                     ", workers " + std::to_string(workers);
    std::vector<Item> given = items, spare(count);
    Interrupt never;
    const Item* sorted = radix_sort<11>(
        given.data(), spare.data(), count, from, to, [](const Item& item) { return item.key; }, workers, never);
    for (std::size_t k = 0; k < count; ++k) CHECK(sorted[k].row == expected[k].row);
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  check_order_bits<float>();
  check_order_bits<double>();
  for (const std::size_t count : {0u, 1u, 2u, 3u, 31u, 32u, 33u, 100u, 999u, 1000u, 1001u, 5000u, 100000u})
    for (std::size_t kind = 0; kind < 8; ++kind) {
      check_sort<float>(count, kind);
      check_sort<double>(count, kind);
    }
  const std::size_t searches = rounds(argc, argv, 2000);
  for (std::uint64_t seed = 0; seed < searches; ++seed) {
    check_end_of_run<float>(seed);
    check_end_of_run<double>(seed);
  }
  for (const std::size_t count : {0u, 1u, 2u, 500u, 19999u, 20000u, 20001u, 70000u})
    for (const int to : {1, 11, 12, 13, 22, 23, 30, 31}) check_bits(count, 0, to);  // 13 bits: digits of 7 and of 6
  check_bits(30000, 0, 32);
  check_bits(30000, 7, 24);
  check_bits(30000, 7, 25);
  check_bits(30000, 3, 32);
  check_bits(30000, 9, 9);
}
