// The order in which the STR tree of GEOS visits its leaves, and pairs in that order.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"

namespace broadphase {

// Row numbers and their values, sorted by the values and, stably, by slices.
class SlicedSorter {
 public:
  // False where values are equal, or a difference of them is no finite double, or so small that its inverse is not.
  template <class Value>
  bool sort(std::size_t count, std::size_t slice_count, const std::vector<std::uint32_t>& slice_of, const Value& value,
            Interrupt& interrupt) {
    double low = value(0), high = low;
    for (std::size_t k = 1; k < count; ++k) {
      low = std::min(low, value(k));
      high = std::max(high, value(k));
    }
    constexpr double kMost = 4294967295.0;
    const double scale = kMost / (high - low);
    if (!std::isfinite(low) || !std::isfinite(high) || !std::isfinite(scale) || scale == 0) return false;
    items_.resize(count);
    spare_.resize(count);
    for (std::size_t k = 0; k < count; ++k)
      items_[k] = static_cast<std::uint64_t>(std::min((value(k) - low) * scale, kMost)) << 32 | k;
    const auto key = [](std::uint64_t item) { return item >> 32; };
    const auto by_value = [&](std::uint64_t* from, std::uint64_t* to) {
      return count < 1000 ? radix_sort<8>(from, to, count, 0, 32, key, 1, interrupt)
                          : radix_sort<11>(from, to, count, 0, 32, key, 1, interrupt);
    };
    if (by_value(items_.data(), spare_.data()) != items_.data()) std::swap(items_, spare_);
    std::vector<std::size_t> next(slice_count + 1);
    if (slice_count > 1) {
      for (std::size_t k = 0; k < count; ++k) ++next[slice_of[k] + 1];
      for (std::size_t slice = 0; slice < slice_count; ++slice) next[slice + 1] += next[slice];
      for (const std::uint64_t item : items_) spare_[next[slice_of[static_cast<std::uint32_t>(item)]]++] = item;
      std::swap(items_, spare_);
    } else {
      next[0] = count;
    }
    // Values that are equal as scaled.
    for (std::size_t begin = 0, slice = 0; slice < slice_count; begin = next[slice++])
      for (std::size_t k = begin, end = k; k < next[slice]; k = end) {
        while (end < next[slice] && items_[end] >> 32 == items_[k] >> 32) ++end;
        if (end - k == 1) continue;
        const auto exactly = [&](std::uint64_t item) { return value(static_cast<std::uint32_t>(item)); };
        std::sort(items_.data() + k, items_.data() + end,
                  [&](std::uint64_t a, std::uint64_t b) { return exactly(a) < exactly(b); });
        for (std::size_t j = k + 1; j < end; ++j)
          if (exactly(items_[j - 1]) == exactly(items_[j])) return false;
      }
    return true;
  }
  std::uint32_t row(std::size_t position) const { return static_cast<std::uint32_t>(items_[position]); }

 private:
  std::vector<std::uint64_t> items_, spare_;  // a value, scaled to 32 bits, and its row
};

// Rows of boxes (x, y, x_end, y_end), packed level by level: slices of equal count along x, in each of them nodes of
// `capacity` boxes along y, by the centers. Empty where equal centers leave the order to the sort that GEOS uses, and
// where `SlicedSorter` cannot scale them. Time O(rows), but for the sorting of centers that are almost equal.
// Preconditions: capacity >= 2; bounds are finite; fewer than 2^32 rows.
//
// After S. Leutenegger, M. Lopez, J. Edgington (1997), STR: A Simple and Efficient Algorithm for R-Tree Packing,
// 10.1109/ICDE.1997.582015.
inline std::vector<std::int64_t> str_order(const double* bounds, std::size_t rows, std::size_t capacity,
                                           Interrupt& interrupt) {
  struct Level {
    std::vector<std::uint32_t> order, starts;  // of each node, where its children begin in the order
  };
  std::vector<Level> levels;
  std::vector<std::array<double, 4>> boxes, nodes;
  std::vector<std::uint32_t> slice_of;
  SlicedSorter sorter;
  for (std::size_t count = rows; count > 1; count = boxes.size()) {
    const auto slices =
        static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>((count + capacity - 1) / capacity))));
    const std::size_t size = (count + slices - 1) / slices;
    const auto center = [bounds](std::size_t axis) {
      return [bounds, axis](std::size_t k) { return bounds[4 * k + axis] + bounds[4 * k + axis + 2]; };
    };
    if (!sorter.sort(count, 1, slice_of, center(0), interrupt)) return {};
    slice_of.resize(count);
    for (std::size_t begin = 0, slice = 0; begin < count; begin += size, ++slice)
      for (std::size_t k = begin; k < std::min(count, begin + size); ++k)
        slice_of[sorter.row(k)] = static_cast<std::uint32_t>(slice);
    if (!sorter.sort(count, (count + size - 1) / size, slice_of, center(1), interrupt)) return {};
    Level& level = levels.emplace_back();
    level.order.resize(count);
    nodes.clear();
    for (std::size_t begin = 0; begin < count; begin += size)
      for (std::size_t first = begin, end = std::min(count, begin + size); first < end; first += capacity) {
        level.starts.push_back(static_cast<std::uint32_t>(first));
        std::array<double, 4> node{};
        for (std::size_t k = first; k < std::min(end, first + capacity); ++k) {
          level.order[k] = sorter.row(k);
          const double* box = bounds + 4 * std::size_t{sorter.row(k)};
          if (k == first) node = {box[0], box[1], box[2], box[3]};
          node = {std::min(node[0], box[0]), std::min(node[1], box[1]), std::max(node[2], box[2]),
                  std::max(node[3], box[3])};
        }
        nodes.push_back(node);
      }
    std::swap(boxes, nodes);
    bounds = boxes.data()->data();
  }
  std::vector<std::int64_t> visited(rows > 0 ? 1 : 0), children;
  for (std::size_t k = levels.size(); k-- > 0;) {
    const Level& level = levels[k];
    children.clear();
    children.reserve(level.order.size());
    for (const std::int64_t node : visited) {
      const auto next = static_cast<std::size_t>(node) + 1;
      const std::size_t end = next < level.starts.size() ? level.starts[next] : level.order.size();
      for (std::size_t child = level.starts[next - 1]; child < end; ++child) children.push_back(level.order[child]);
    }
    std::swap(visited, children);
  }
  return visited;
}

struct PairsInOrder {
  PlainMemory<std::int64_t> rows;  // the first of all pairs, then the second of all
  std::size_t size;
};

// Pairs of rows below `row_count`, by their first row, and then by the place of the second one in `visited`. With
// `both_ways`, pairs of different rows are there the other way round too. Time O(pairs + rows).
// Preconditions: second rows (both, with `both_ways`) are in `visited`, which has no row twice; fewer than 2^32 rows.
inline PairsInOrder pairs_in_order(const std::int64_t* one, const std::int64_t* other, std::size_t count,
                                   bool both_ways, std::span<const std::int64_t> visited, std::size_t row_count,
                                   Interrupt& interrupt) {
  // By second row: the first ones of its pairs.
  std::vector<std::size_t> starts(row_count + 1), next(row_count + 1);
  const auto for_pairs = [&](const auto& use) {
    for (std::size_t k = 0; k < count; ++k) {
      if (k % 65536 == 0) interrupt.check();
      const auto first = static_cast<std::size_t>(one[k]), second = static_cast<std::size_t>(other[k]);
      use(first, second);
      if (both_ways && first != second) use(second, first);
    }
  };
  for_pairs([&](std::size_t first, std::size_t second) {
    ++starts[second + 1];
    ++next[first + 1];
  });
  for (std::size_t row = 0; row < row_count; ++row) {
    starts[row + 1] += starts[row];
    next[row + 1] += next[row];
  }
  const std::size_t size = starts[row_count];
  const PlainMemory<std::uint32_t> firsts = allocate_plain<std::uint32_t>(size);
  PairsInOrder found{allocate_plain<std::int64_t>(2 * size), size};
  for (std::size_t row = 0; row < row_count; ++row)
    std::fill(found.rows.get() + next[row], found.rows.get() + next[row + 1], static_cast<std::int64_t>(row));
  for_pairs(
      [&](std::size_t first, std::size_t second) { firsts[starts[second]++] = static_cast<std::uint32_t>(first); });
  interrupt.check();
  for (const std::int64_t row : visited) {
    const auto second = static_cast<std::size_t>(row);
    for (std::size_t k = second > 0 ? starts[second - 1] : 0; k < starts[second]; ++k)
      found.rows[size + next[firsts[k]]++] = row;
  }
  return found;
}

}  // namespace broadphase
