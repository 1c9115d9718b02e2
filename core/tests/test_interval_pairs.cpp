// Intervals against plain loops: with keys and without, closed and open, of every type, crowded and spread.
#include "sweep/interval_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "batches/name_numbers.hpp"
#include "methods.hpp"

namespace broadphase::tests {
namespace {

template <class T>
struct Intervals {
  std::vector<T> lower, upper;
  std::vector<std::uint32_t> keys;

  std::size_t count() const { return lower.size(); }
  KeyedIntervals<T> view(bool with_keys) const {
    return {{lower.data(), upper.data(), 1, 1, lower.size()}, with_keys ? keys.data() : nullptr};
  }
};

// Spread, all in one place, in clusters of many scales, or with a few far away: these fill buckets unevenly.
template <class T>
Intervals<T> random_intervals(Random& random, std::size_t count, std::size_t layout, std::size_t keys) {
  Intervals<T> result;
  for (std::size_t k = 0; k < count; ++k) {
    double lower = std::floor(random.uniform() * static_cast<double>(4 * count + 1));
    if (layout == 1) lower = 7;
    if (layout == 2) lower = std::floor(std::exp2(random.uniform() * 30));
    if (layout == 3 && random.chance(0.01)) lower = std::floor(2e9 * (random.uniform() - 0.5));
    const double size =
        std::floor(random.chance(0.02) ? random.uniform() * static_cast<double>(count) : 5 * random.uniform());
    result.lower.push_back(static_cast<T>(lower));
    result.upper.push_back(static_cast<T>(lower + size));
    result.keys.push_back(random.chance(0.1) ? kNoKey : static_cast<std::uint32_t>(random.below(keys)));
  }
  return result;
}

template <class T>
PairList plain(const Intervals<T>& a, const Intervals<T>& b, bool cross, bool with_keys, bool touching) {
  PairList result;
  for (std::size_t i = 0; i < a.count(); ++i)
    for (std::size_t j = cross ? 0 : i + 1; j < b.count(); ++j) {
      if (with_keys && (a.keys[i] == kNoKey || a.keys[i] != b.keys[j])) continue;
      const bool meet = touching ? a.lower[i] <= b.upper[j] && b.lower[j] <= a.upper[i]
                                 : a.lower[i] < b.upper[j] && b.lower[j] < a.upper[i] && a.lower[i] < a.upper[i] &&
                                       b.lower[j] < b.upper[j];
      if (meet) result.emplace_back(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
    }
  return result;
}

template <class Kept, class T>
void check_pairs(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  const std::size_t layout = random.below(4), keys = 1 + random.below(20);
  const Intervals<T> first = random_intervals<T>(random, random.below(count), layout, keys);
  const Intervals<T> second = random_intervals<T>(random, random.below(count), layout, keys);
  Interrupt never;
  for (const bool cross : {false, true})
    for (const bool with_keys : {false, true})
      for (const bool touching : {true, false}) {
        current_case() = "layout " + std::to_string(layout) + ", seed " + std::to_string(seed);
        const Intervals<T>& other = cross ? second : first;
        const IntervalPairs<Kept> pairs(first.view(with_keys), cross ? other.view(with_keys) : KeyedIntervals<T>{},
                                        cross, keys, touching, Kept(0), static_cast<unsigned>(1 + seed % 3), never);
        CHECK(pairs.is_exact());
        const PairList expected = plain(first, other, cross, with_keys, touching);
        CHECK(pairs_of(pairs, nullptr, 1) == expected);
        CHECK(pairs_of(pairs, nullptr, 3) == expected);
        CHECK(count_of(pairs, nullptr, 2) == expected.size());
        if (!cross) continue;
        std::vector<std::int64_t> counts(first.count()), expected_counts(first.count(), 0);
        pairs.count_each(counts.data(), never);
        for (const auto& pair : expected) ++expected_counts[static_cast<std::size_t>(pair.first)];
        CHECK(counts == expected_counts);
      }
}

// Of an interval: (gap, begin, row) of those of the other set that have its key and lie within reach, in order.
struct Neighbor {
  double gap, begin;
  std::int32_t row;
  auto operator<=>(const Neighbor&) const = default;
};
template <class T>
std::vector<Neighbor> neighbors_of(const Intervals<T>& first, std::size_t i, const Intervals<T>& second, bool before,
                                   bool behind) {
  std::vector<Neighbor> result;
  for (std::size_t j = 0; j < second.count(); ++j) {
    if (first.keys[i] == kNoKey || first.keys[i] != second.keys[j]) continue;
    const double ahead = static_cast<double>(second.lower[j]) - static_cast<double>(first.upper[i]);
    const double back = static_cast<double>(first.lower[i]) - static_cast<double>(second.upper[j]);
    if ((ahead > 0 && !behind) || (back > 0 && !before)) continue;
    result.push_back(
        {std::max({0.0, ahead, back}), static_cast<double>(second.lower[j]), static_cast<std::int32_t>(j)});
  }
  std::sort(result.begin(), result.end());
  return result;
}

template <class T>
void check_nearest(std::uint64_t seed) {
  Random random(seed);
  const std::size_t layout = random.below(4), keys = 1 + random.below(5);
  const Intervals<T> first = random_intervals<T>(random, random.below(60), layout, keys);
  const Intervals<T> second = random_intervals<T>(random, random.below(60), layout, keys);
  const bool before = random.chance(0.7), behind = random.chance(0.7), with_ties = random.chance(0.5);
  const std::size_t wanted = 1 + random.below(random.chance(0.2) ? 100 : 4);
  const double farthest =
      random.chance(0.5) ? std::numeric_limits<double>::infinity() : std::floor(random.uniform() * 9);
  Interrupt never;
  current_case() = "nearest, seed " + std::to_string(seed);
  const IntervalPairs<T> pairs(first.view(true), second.view(true), true, keys, true, T(0), 1, never);
  std::vector<std::int32_t> nearest(first.count());
  std::vector<double> gaps(first.count());
  pairs.find_nearest({before, behind}, nearest.data(), gaps.data(), never);
  std::size_t total = 0;
  const auto near = pairs.template find_near<double>({before, behind}, {wanted, with_ties, farthest, 10000}, never);
  CHECK(near.offsets.size() == first.count() + 1);
  for (std::size_t i = 0; i < first.count(); ++i) {
    std::vector<Neighbor> expected = neighbors_of(first, i, second, before, behind);
    CHECK(nearest[i] == (expected.empty() ? -1 : expected[0].row));
    CHECK(expected.empty() || gaps[i] == expected[0].gap);
    while (!expected.empty() && expected.back().gap > farthest) expected.pop_back();
    while (expected.size() > wanted && !(with_ties && expected.back().gap == expected[wanted - 1].gap))
      expected.pop_back();
    CHECK(near.offsets[i] == static_cast<std::int64_t>(total));
    for (const Neighbor& one : expected) {
      CHECK(near.rows[total] == one.row);
      CHECK(near.gaps[total] == one.gap);
      ++total;
    }
  }
  CHECK(near.offsets.back() == static_cast<std::int64_t>(total));
  CHECK(near.rows.size() == total);
  if (total == 0) return;
  bool is_too_many = false;
  try {
    pairs.template find_near<double>({before, behind}, {wanted, with_ties, farthest, total - 1}, never);
  } catch (const TooManyPairs&) {
    is_too_many = true;
  }
  CHECK(is_too_many);
}

// The same pairs in the same order, whatever the number of threads: of many keys, and where one bucket has nearly all.
void check_threads() {
  Random random(5);
  Interrupt never;
  for (const bool is_crowded : {false, true}) {
    constexpr std::size_t kCount = 200'000;
    current_case() = is_crowded ? "threads, one bucket" : "threads, many keys";
    Intervals<double> sets[2];
    for (Intervals<double>& set : sets)
      for (std::size_t k = 0; k < kCount; ++k) {
        const auto begin = static_cast<double>(random.below(10 * kCount));
        set.lower.push_back(is_crowded && k == kCount / 2 ? 1e15 : begin);
        set.upper.push_back(set.lower.back() + static_cast<double>(random.below(20)));
        set.keys.push_back(static_cast<std::uint32_t>(is_crowded ? 0 : random.below(50)));
      }
    for (const bool cross : {false, true}) {
      const auto found = [&](unsigned workers) {
        const IntervalPairs<double> pairs(sets[0].view(true), cross ? sets[1].view(true) : KeyedIntervals<double>{},
                                          cross, 50, true, 0.0, workers, never);
        PairBuffer out(nullptr, false);
        for (std::size_t task = 0; task < pairs.task_count(); ++task) pairs.run(task, out);
        std::vector<std::int32_t> columns(out.first_column(), out.first_column() + out.size());
        columns.insert(columns.end(), out.second_column(), out.second_column() + out.size());
        return columns;
      };
      const std::vector<std::int32_t> expected = found(1);
      CHECK(!expected.empty());
      CHECK(found(2) == expected);
      CHECK(found(7) == expected);
    }
  }
}

// Runs longer than a task, and one interval over all others.
void check_long_runs() {
  constexpr std::size_t kCount = 3000, kMany = 2'500'000;
  Interrupt never;
  current_case() = "equal intervals";
  const std::vector<double> zeros(kCount, 0.5);
  const KeyedIntervals<double> equal{{zeros.data(), zeros.data(), 1, 1, kCount}, nullptr};
  const IntervalPairs<double> all(equal, {}, false, 1, true, 0.0, 1, never);
  CHECK(all.task_count() > 2);
  CHECK(count_of(all, nullptr, 2) == kCount * (kCount - 1) / 2);
  CHECK(pairs_of(all, nullptr, 2).size() == kCount * (kCount - 1) / 2);
  current_case() = "one long interval";
  std::vector<float> lower(kMany), upper(kMany);
  for (std::size_t k = 0; k < kMany; ++k) lower[k] = upper[k] = static_cast<float>(k);
  upper[0] = static_cast<float>(kMany);
  const KeyedIntervals<float> line{{lower.data(), upper.data(), 1, 1, kMany}, nullptr};
  const IntervalPairs<float> one(line, {}, false, 1, true, 0.0f, 1, never);
  CHECK(one.task_count() > 2);
  CHECK(count_of(one, nullptr, 1) == kMany - 1);
}

void check_what_is_kept_and_refused() {
  Interrupt never;
  current_case() = "kept as int32";
  const auto is_exact = [&](double lower, double upper) {
    const KeyedIntervals<double> set{{&lower, &upper, 1, 1, 1}, nullptr};
    return IntervalPairs<std::int32_t>(set, set, true, 1, true, 0, 1, never).is_exact();
  };
  CHECK(is_exact(-2147483648.0, 2147483647.0) && is_exact(-0.0, 0.0));
  CHECK(!is_exact(0, 2147483648.0) && !is_exact(0.5, 1) && !is_exact(0, 1.5));
  CHECK(!is_exact(-std::numeric_limits<double>::infinity(), 0));
  const std::uint32_t none = kNoKey;
  const double blank = std::numeric_limits<double>::quiet_NaN(), half = 0.5;
  const KeyedIntervals<double> skipped{{&blank, &half, 1, 1, 1}, &none};
  CHECK(IntervalPairs<std::int32_t>(skipped, skipped, true, 1, true, 0, 1, never).is_exact());
  current_case() = "invalid intervals";
  const auto is_refused = [&](double lower, double upper) {
    const KeyedIntervals<double> set{{&lower, &upper, 1, 1, 1}, nullptr};
    try {
      const IntervalPairs<double> pairs(set, {}, false, 1, false, 0.0, 1, never);
    } catch (const InvalidBoxes&) {
      return true;
    }
    return false;
  };
  CHECK(is_refused(blank, 1) && is_refused(0, blank) && is_refused(2, 1) && !is_refused(1, 1));
}

void check_names() {
  current_case() = "names";
  Random random(3);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < 3000; ++k) {
    std::string name(random.below(20), 'a');
    for (char& letter : name) letter = static_cast<char>('a' + random.below(2));
    names.push_back(name);
  }
  NameNumbers numbers;
  std::vector<std::string> known;
  for (const std::string& name : names) {
    const std::uint32_t number = numbers.number_of(name);
    const auto found = std::find(known.begin(), known.end(), name);
    CHECK(number == static_cast<std::uint32_t>(found - known.begin()));
    if (found == known.end()) known.push_back(name);
  }
  CHECK(numbers.count() == known.size());
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t scenes = rounds(argc, argv, 60);
  check_threads();
  check_long_runs();
  check_what_is_kept_and_refused();
  check_names();
  for (std::uint64_t seed = 0; seed < scenes; ++seed) {
    const std::size_t count = seed % 10 == 0 ? 6000 : 1 + seed * 5;  // buckets below and above what a cache holds
    check_pairs<float, float>(seed, std::min<std::size_t>(count, 1500));
    check_pairs<double, double>(seed, count);
    check_pairs<std::int32_t, double>(seed, std::min<std::size_t>(count, 600));
    check_pairs<std::int64_t, std::int64_t>(seed, std::min<std::size_t>(count, 600));
    check_pairs<std::int32_t, std::int32_t>(seed, std::min<std::size_t>(count, 600));
    check_nearest<double>(seed);
    check_nearest<std::int32_t>(seed);
  }
}
