// Clusters, coverage and pieces against plain loops: by one row after the other, and by the cells of a small line.
#include "sweep/interval_sets.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"
#include "methods.hpp"

namespace broadphase::tests {
namespace {

template <class T>
struct Rows {
  std::vector<T> lower, upper;
  std::vector<std::uint32_t> keys;

  std::size_t count() const { return lower.size(); }
  KeyedIntervals<T> view() const { return {{lower.data(), upper.data(), 1, 1, lower.size()}, keys.data()}; }
};

// Layouts: short ones spread, or crowded; all in one place; one that holds all others; points.
template <class T>
Rows<T> random_rows(Random& random, std::size_t count, std::size_t places, std::size_t layout, std::size_t keys) {
  Rows<T> rows;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t begin = layout == 1 ? places / 2 : random.below(places);
    std::size_t size = layout == 3 ? 0 : random.below(4);
    if (random.chance(0.02)) size = random.below(places);
    const bool holds_all = layout == 2 && k == count / 2;
    rows.lower.push_back(static_cast<T>(holds_all ? 0 : begin));
    rows.upper.push_back(static_cast<T>(holds_all ? places : std::min(places, begin + size)));
    rows.keys.push_back(random.chance(0.1) ? kNoKey : static_cast<std::uint32_t>(random.below(keys)));
  }
  return rows;
}

using Cluster = std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::vector<std::int32_t>>;  // key, ends, rows

template <class T>
std::vector<Cluster> plain_clusters(const Rows<T>& rows, std::optional<LengthOf<T>> gap) {
  std::vector<std::int32_t> order;
  for (std::size_t row = 0; row < rows.count(); ++row)
    if (rows.keys[row] != kNoKey) order.push_back(static_cast<std::int32_t>(row));
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    return std::pair(rows.keys[i], rows.lower[i]) < std::pair(rows.keys[j], rows.lower[j]);
  });
  std::vector<Cluster> clusters;
  for (const std::int32_t one : order) {
    const auto row = static_cast<std::size_t>(one);
    const auto lower = static_cast<std::int64_t>(rows.lower[row]), upper = static_cast<std::int64_t>(rows.upper[row]);
    bool is_new = clusters.empty() || std::get<0>(clusters.back()) != rows.keys[row];
    if (!is_new) {
      const std::int64_t distance = lower - std::get<2>(clusters.back());
      is_new = gap ? distance > static_cast<std::int64_t>(*gap) : distance >= 0;
    }
    if (is_new) clusters.push_back({rows.keys[row], lower, upper, {}});
    std::get<2>(clusters.back()) = std::max(std::get<2>(clusters.back()), upper);
    std::get<3>(clusters.back()).push_back(one);
  }
  return clusters;
}

template <class Kept, class T>
void check_clusters(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  const std::size_t layout = random.below(4), keys = 1 + random.below(seed % 3 == 0 ? count + 1 : 3);
  const Rows<T> rows = random_rows<T>(random, count, 1 + random.below(6 * count + 1), layout, keys);
  std::optional<LengthOf<T>> gap;
  if (random.chance(0.7)) gap = static_cast<LengthOf<T>>(random.below(4));
  const std::vector<Cluster> expected = plain_clusters(rows, gap);
  Interrupt never;
  for (const unsigned workers : {1u, 3u}) {
    current_case() = "clusters, seed " + std::to_string(seed) + ", workers " + std::to_string(workers);
    const KeyedOrder<Kept> order(rows.view(), KeyedIntervals<T>{}, false, keys, true, Kept(0), workers, never);
    Joining<Kept> joining;
    if (gap) joining.gap = static_cast<LengthOf<Kept>>(*gap);
    const Clusters<Kept> clusters(order, 0, joining, workers, never);
    CHECK(clusters.size() == expected.size());
    const auto& column = order.column(0);
    std::vector<Cluster> found(clusters.size());
    clusters.each(workers, never,
                  [&](std::size_t number, std::size_t key, std::size_t begin, std::size_t end, std::size_t furthest) {
                    Cluster& cluster = found[number];
                    cluster = {static_cast<std::uint32_t>(key), static_cast<std::int64_t>(column.lower[begin]),
                               static_cast<std::int64_t>(column.upper[furthest]),
                               std::vector<std::int32_t>(column.rows.get() + begin, column.rows.get() + end)};
                    CHECK(clusters.first(key) <= number && number < clusters.first(key + 1));
                    CHECK(begin <= furthest && furthest < end);
                  });
    CHECK(found == expected);
    std::vector<std::size_t> numbers(column.count);
    clusters.each_position(workers, never, [&](std::size_t position, std::size_t number, std::size_t key) {
      CHECK(std::get<0>(expected[number]) == key);
      numbers[position] = number;
    });
    std::size_t position = 0;
    for (std::size_t number = 0; number < expected.size(); ++number)
      for (const std::int32_t row : std::get<3>(expected[number])) {
        CHECK(column.rows[position] == row);
        CHECK(numbers[position++] == number);
      }
  }
}

// Whether the cell from a place to the next is covered, for each key.
template <class T>
std::vector<std::vector<bool>> cells_of(const Rows<T>& rows, std::size_t places, std::size_t keys) {
  std::vector<std::vector<bool>> cells(keys, std::vector<bool>(places, false));
  for (std::size_t row = 0; row < rows.count(); ++row)
    for (auto place = static_cast<std::size_t>(rows.lower[row]);
         rows.keys[row] != kNoKey && place < static_cast<std::size_t>(rows.upper[row]); ++place)
      cells[rows.keys[row]][place] = true;
  return cells;
}

template <class T>
std::vector<std::pair<T, T>> plain_pieces(const Rows<T>& first, std::size_t row,
                                          const std::vector<std::vector<bool>>& cells, const Rows<T>& second,
                                          bool cuts) {
  const T begin = first.lower[row], end = first.upper[row];
  const std::uint32_t key = first.keys[row];
  std::vector<std::pair<T, T>> pieces;
  if (key == kNoKey) return {{begin, end}};
  if (begin == end) {
    const bool is_covered =
        static_cast<std::size_t>(begin) < cells[key].size() && cells[key][static_cast<std::size_t>(begin)];
    if (!is_covered) pieces.push_back({begin, end});
    return pieces;
  }
  bool is_open = false;
  for (T place = begin; place < end; place += 1) {
    bool is_cut = false;
    for (std::size_t k = 0; cuts && k < second.count(); ++k)
      is_cut |= second.keys[k] == key && second.lower[k] == place && second.upper[k] == place;
    if (cells[key][static_cast<std::size_t>(place)]) {
      is_open = false;
      continue;
    }
    if (!is_open || is_cut) pieces.push_back({place, place});
    is_open = true;
    pieces.back().second = place + 1;
  }
  return pieces;
}

template <class Kept, class T>
void check_coverage(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  const std::size_t places = 1 + random.below(3 * count + 1), layout = random.below(4), keys = 1 + random.below(3);
  const Rows<T> first = random_rows<T>(random, random.below(count), places, random.below(4), keys);
  const Rows<T> second = random_rows<T>(random, random.below(count), places, layout, keys);
  const auto cells = cells_of(second, places, keys);
  Interrupt never;
  for (const unsigned workers : {1u, 3u})
    for (const bool cuts : {false, true}) {
      current_case() = "coverage, seed " + std::to_string(seed) + ", workers " + std::to_string(workers);
      const KeyedOrder<Kept> order(first.view(), second.view(), true, keys, true, Kept(0), workers, never);
      Coverage<Kept> coverage(order, cuts, workers, never);
      std::vector<LengthOf<T>> lengths(first.count());
      coverage.measure(lengths.data(), workers, never);
      std::vector<typename Coverage<Kept>::Run> runs(first.count());
      coverage.find_runs(runs.data(), workers, never);
      for (std::size_t row = 0; row < first.count(); ++row) {
        LengthOf<T> length = 0;
        const auto begin = static_cast<std::size_t>(first.lower[row]), end = static_cast<std::size_t>(first.upper[row]);
        if (first.keys[row] != kNoKey)
          for (std::size_t place = begin; place < end; ++place) length += cells[first.keys[row]][place] ? 1 : 0;
        CHECK(lengths[row] == length);
        const auto expected = plain_pieces(first, row, cells, second, cuts);
        const auto lower = static_cast<Kept>(first.lower[row]), upper = static_cast<Kept>(first.upper[row]);
        if (runs[row].is_empty()) {
          CHECK(expected == (std::vector<std::pair<T, T>>{{first.lower[row], first.upper[row]}}));
          continue;
        }
        CHECK(coverage.piece_count(lower, upper, runs[row]) == expected.size());
        std::vector<std::pair<T, T>> pieces;
        coverage.each_piece(lower, upper, runs[row],
                            [&](Kept from, Kept to) { pieces.push_back({static_cast<T>(from), static_cast<T>(to)}); });
        CHECK(pieces == expected);
      }
    }
}

// Sums of lengths of very different sizes, and blocks without end.
void check_far_numbers() {
  current_case() = "far numbers";
  constexpr double kFar = std::numeric_limits<double>::infinity();
  Rows<double> blocks{{-kFar}, {-1e15}, {0}}, whole{{-kFar, 0, 0.25, 1}, {kFar, 100, 0.5, 300}, {0, 0, 0, 0}};
  for (std::size_t k = 0; k < 100; ++k) {
    blocks.lower.push_back(static_cast<double>(k));
    blocks.upper.push_back(static_cast<double>(k) + 0x1p-40);
    blocks.keys.push_back(0);
  }
  blocks.lower.push_back(200);
  blocks.upper.push_back(kFar);
  blocks.keys.push_back(0);
  Interrupt never;
  const KeyedOrder<double> order(whole.view(), blocks.view(), true, 1, true, 0.0, 1, never);
  std::vector<double> lengths(4);
  Coverage<double>(order, false, 1, never).measure(lengths.data(), 1, never);
  CHECK(lengths[0] == kFar);
  CHECK(lengths[1] == 100 * 0x1p-40);
  CHECK(lengths[2] == 0);
  CHECK(lengths[3] == 99 * 0x1p-40 + 100);

  // All numbers of 64 bits: a gap may be longer than half of them.
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  const Rows<std::int64_t> ends{{kLeast, kMost}, {kLeast, kMost}, {0, 0}};
  const KeyedOrder<std::int64_t> far(ends.view(), KeyedIntervals<std::int64_t>{}, false, 1, true, 0, 1, never);
  CHECK(Clusters<std::int64_t>(far, 0, {std::numeric_limits<std::uint64_t>::max() - 1}, 1, never).size() == 2);
  CHECK(Clusters<std::int64_t>(far, 0, {std::numeric_limits<std::uint64_t>::max()}, 1, never).size() == 1);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t scenes = rounds(argc, argv, 60);
  check_far_numbers();
  for (std::uint64_t seed = 0; seed < scenes; ++seed) {
    const std::size_t count = seed % 20 == 0 ? 90000 : 1 + seed * 5;  // of several parts, or of one
    check_clusters<double, double>(seed, count);
    check_clusters<std::int32_t, double>(seed, std::min<std::size_t>(count, 600));
    check_clusters<std::int64_t, std::int64_t>(seed, std::min<std::size_t>(count, 600));
    check_clusters<float, float>(seed, std::min<std::size_t>(count, 600));
    check_coverage<double, double>(seed, 1 + seed);
    check_coverage<std::int32_t, std::int64_t>(seed, 1 + seed);
    check_coverage<std::int64_t, std::int64_t>(seed, 1 + seed);
  }
}
