#include "batches/rows_by_key.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/radix_sort.hpp"

namespace broadphase {

namespace {

// Signed numbers as unsigned ones in the same order.
std::uint64_t ascending(std::int64_t key) { return static_cast<std::uint64_t>(key) ^ (std::uint64_t{1} << 63); }

// Counters that fit a near cache.
constexpr std::uint64_t kFewKeys = std::uint64_t{1} << 14;

template <class Key>
void sort_rows(const RowKeys& keys, std::uint64_t least, RowsByKey& to, Interrupt& interrupt) {
  RowSorter<Key> sorter(keys.count);
  for (std::size_t row = 0; row < keys.count; ++row)
    sorter.add(static_cast<Key>(ascending(keys.keys[row]) - least), static_cast<std::uint32_t>(row));
  interrupt.check();
  sorter.sort(interrupt);
  to.rows.grow(keys.count);
  Key last{};
  for (std::size_t k = 0; k < keys.count; ++k) {
    to.rows[k] = static_cast<std::int32_t>(sorter.row(k));
    if (k == 0 || sorter.bits(k) != last) to.start.push_back(static_cast<std::uint32_t>(k));
    last = sorter.bits(k);
  }
}

// By counting: a few keys, such as names that were numbered.
void count_rows(const RowKeys& keys, std::uint64_t least, std::size_t range, RowsByKey& to, Interrupt& interrupt) {
  std::vector<std::uint32_t> next(range + 1, 0);
  const auto place = [&](std::size_t row) { return static_cast<std::size_t>(ascending(keys.keys[row]) - least); };
  for (std::size_t row = 0; row < keys.count; ++row) ++next[place(row)];
  std::uint32_t sum = 0;
  for (std::uint32_t& count : next) {
    if (count > 0) to.start.push_back(sum);
    sum += std::exchange(count, sum);
  }
  to.rows.grow(keys.count);
  in_stretches(keys.count, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) to.rows[next[place(row)]++] = static_cast<std::int32_t>(row);
  });
}

}  // namespace

RowsByKey rows_by_key(const RowKeys& keys, Interrupt& interrupt) {
  RowsByKey result;
  if (keys.keys == nullptr) {
    for (std::size_t row = 0; row < keys.count; row += keys.each)
      result.start.push_back(static_cast<std::uint32_t>(row));
  } else {
    std::size_t row = 0;
    for (; row < keys.count && (row == 0 || keys.keys[row - 1] <= keys.keys[row]); ++row)
      if (row == 0 || keys.keys[row - 1] != keys.keys[row]) result.start.push_back(static_cast<std::uint32_t>(row));
    if (row < keys.count) {
      result.start.clear();
      const auto [low, high] = std::minmax_element(keys.keys, keys.keys + keys.count);
      const std::uint64_t least = ascending(*low);
      const std::uint64_t range = ascending(*high) - least;
      if (range < kFewKeys && range <= keys.count)
        count_rows(keys, least, static_cast<std::size_t>(range), result, interrupt);
      else if (range >> 32 == 0)
        sort_rows<std::uint32_t>(keys, least, result, interrupt);
      else
        sort_rows<std::uint64_t>(keys, least, result, interrupt);
    }
  }
  result.start.push_back(static_cast<std::uint32_t>(keys.count));
  return result;
}

Batches batches_of(const RowKeys& first, const RowKeys* second, Interrupt& interrupt) {
  Batches result;
  result.sets[0] = rows_by_key(first, interrupt);
  const RowsByKey& own = result.sets[0];
  if (second == nullptr) {
    result.key_count = own.key_count();
    for (std::size_t k = 0; k < own.key_count(); ++k)
      if (own.start[k + 1] - own.start[k] > 1) result.with_pairs.push_back({{own.start[k], 0}, {own.start[k + 1], 0}});
    result.is_whole = own.key_count() <= 1;
    return result;
  }
  result.sets[1] = rows_by_key(*second, interrupt);
  const RowsByKey& other = result.sets[1];
  for (std::size_t i = 0, j = 0; i < own.key_count() || j < other.key_count(); ++result.key_count) {
    const auto key_at = [](const RowKeys& keys, const RowsByKey& rows, std::size_t k) {
      return keys.of(static_cast<std::size_t>(rows.row(rows.start[k])));
    };
    const bool here =
        j == other.key_count() || (i < own.key_count() && key_at(first, own, i) <= key_at(*second, other, j));
    const bool there =
        i == own.key_count() || (j < other.key_count() && key_at(*second, other, j) <= key_at(first, own, i));
    if (here && there)
      result.with_pairs.push_back({{own.start[i], other.start[j]}, {own.start[i + 1], other.start[j + 1]}});
    i += here;
    j += there;
  }
  result.is_whole = result.key_count <= 1;
  return result;
}

}  // namespace broadphase
