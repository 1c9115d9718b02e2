// Which pairs touch from step to step, against sets of pairs.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "world/touching.hpp"

namespace broadphase::tests {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;
using Set = std::set<Pair>;

struct Columns {
  std::vector<std::int32_t> first, second;

  template <class Some>
  explicit Columns(const Some& pairs) {
    for (const Pair& pair : pairs) {
      first.push_back(pair.first);
      second.push_back(pair.second);
    }
  }
  PairColumns view() const { return {first.data(), second.data(), first.size()}; }
};

std::vector<Pair> listed(const Pairs& pairs) {
  std::vector<Pair> list;
  for (std::size_t k = 0; k < pairs.size; ++k) list.emplace_back(pairs.block[k], pairs.block[pairs.stride + k]);
  return list;
}

std::vector<std::uint32_t> starts_of(const Set& pairs, std::size_t rows) {
  std::vector<std::uint32_t> starts(rows + 1, 0);
  for (const Pair& pair : pairs)
    for (std::size_t row = static_cast<std::size_t>(pair.first) + 1; row <= rows; ++row) ++starts[row];
  return starts;
}

// A history of steps in which rows change, are removed and come, and few or many pairs touch.
void test_history(std::uint64_t seed, std::size_t most_rows, double density, unsigned workers = 1,
                  std::size_t pairs_a_task = 16384) {
  current_case() = "seed " + std::to_string(seed) + ", rows " + std::to_string(most_rows);
  Random random(seed);
  const auto chance = [&](double share) { return random.chance(share); };
  Set last;
  std::size_t rows = 0;
  for (int step = 0; step < 30; ++step) {
    const std::size_t known = rows;
    rows = std::max(rows, 1 + random.below(most_rows));
    std::vector<std::uint8_t> changed(rows), renewed(rows);
    const double share = chance(0.3) ? 1.0 : 0.2;
    const bool only_changes = chance(0.3);  // nothing was removed, and no other pair was tested
    for (std::size_t row = 0; row < rows; ++row) {
      renewed[row] = !only_changes && chance(0.05);
      changed[row] = chance(share) || renewed[row] != 0 || row >= known;
    }
    const bool all = share == 1.0 && chance(0.5);
    Set now, again;
    std::vector<Pair> found;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(rows); ++i)
      for (std::int32_t j = i + 1; j < static_cast<std::int32_t>(rows); ++j) {
        const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
        const bool was = last.contains({i, j}), gone = (renewed[a] | renewed[b]) != 0;
        const bool is_retested = !all && (changed[a] | changed[b]) == 0 && !gone && !only_changes && chance(0.02);
        if (is_retested) again.insert({i, j});
        if (!all && (changed[a] | changed[b]) == 0 && !is_retested) {
          if (was && !gone) now.insert({i, j});
          continue;
        }
        if (!chance(was ? 0.8 : density)) continue;
        now.insert({i, j});
        for (int times = chance(0.1) ? 2 : 1; times > 0; --times) found.emplace_back(i, j);
      }
    for (std::size_t k = found.size(); k > 1; --k) std::swap(found[k - 1], found[random.below(k)]);

    Set began, ended;
    for (const Pair& pair : now) {
      const auto a = static_cast<std::size_t>(pair.first), b = static_cast<std::size_t>(pair.second);
      if (!last.contains(pair) || (renewed[a] | renewed[b]) != 0) began.insert(pair);
    }
    for (const Pair& pair : last) {
      const auto a = static_cast<std::size_t>(pair.first), b = static_cast<std::size_t>(pair.second);
      if (!now.contains(pair) || (renewed[a] | renewed[b]) != 0) ended.insert(pair);
    }

    const Columns before(last), tested(found), waited(again);
    const std::vector<std::uint32_t> starts = starts_of(last, known);
    Interrupt interrupt;
    const TouchingStep made = next_touching({before.view(), starts.data(), known}, tested.view(), waited.view(),
                                            {all ? nullptr : changed.data(), only_changes ? nullptr : renewed.data()},
                                            rows, workers, interrupt, pairs_a_task);
    CHECK(listed(made.began) == std::vector<Pair>(began.begin(), began.end()));
    CHECK(listed(made.ended) == std::vector<Pair>(ended.begin(), ended.end()));
    CHECK(made.same == (began.empty() && ended.empty()));
    if (!made.same) {
      const std::vector<Pair> touching = listed(made.touching);
      CHECK(touching == std::vector<Pair>(now.begin(), now.end()));
      const std::vector<std::uint32_t> starts = starts_of(now, rows);
      CHECK(std::equal(starts.begin(), starts.end(), made.starts.get(), made.starts.get() + made.starts.size()));
      std::vector<Pair> at_places;
      for (const std::int64_t place : made.began_at) at_places.push_back(touching[static_cast<std::size_t>(place)]);
      CHECK(at_places == std::vector<Pair>(began.begin(), began.end()));
    }
    last = now;
  }
}

// Which of some pairs are among others, of which there are fewer or more.
void test_marks(std::uint64_t seed, std::size_t rows, std::size_t count, std::size_t other_count) {
  current_case() = "seed " + std::to_string(seed) + ", rows " + std::to_string(rows);
  Random random(seed);
  const auto some = [&](std::size_t most) {
    std::vector<Pair> pairs;
    for (std::size_t k = random.below(most + 1); k > 0; --k) {
      const auto i = static_cast<std::int32_t>(random.below(rows)), j = static_cast<std::int32_t>(random.below(rows));
      pairs.emplace_back(std::min(i, j), std::max(i, j));
    }
    return pairs;
  };
  const std::vector<Pair> few = some(count), many = some(other_count);
  const Set all(many.begin(), many.end());
  std::vector<std::uint8_t> found(few.size());
  mark_among(Columns(few).view(), Columns(many).view(), false, found);
  for (std::size_t k = 0; k < few.size(); ++k) CHECK((found[k] != 0) == all.contains(few[k]));
  found.assign(few.size(), 0);
  mark_among(Columns(few).view(), Columns(all).view(), true, found);
  for (std::size_t k = 0; k < few.size(); ++k) CHECK((found[k] != 0) == all.contains(few[k]));
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using broadphase::tests::test_history;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    test_history(seed, 12, 0.3);
    test_history(seed, 60, 0.02);
  }
  // On threads, in tasks of a few pairs.
  for (std::uint64_t seed = 40; seed < 50; ++seed) {
    test_history(seed, 12, 0.3, 3, 1);
    test_history(seed, 60, 0.05, 2, 7);
  }
  // Rows with more partners than are compared four at a time, and with so many that they are searched.
  for (std::uint64_t seed = 0; seed < 3; ++seed) test_history(seed, 150, 0.7);
  using broadphase::tests::test_marks;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test_marks(seed, 1 + seed % 50, 40, 60);
    test_marks(seed, 40, 2, 900);
    test_marks(seed, 5000, 10, 10);
  }
}
