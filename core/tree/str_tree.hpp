// The STR tree of GEOS: its nodes, the order in which it visits its leaves and pairs in that order, and its search for
// what is nearest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "boxes/flat_box.hpp"

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

// Rows of boxes, packed level by level: slices of equal count along x, in each of them nodes of `capacity` boxes along
// y, by the centers. Where centers are equal, the order is that of `std::sort`, which GEOS uses.
//
// After S. Leutenegger, M. Lopez, J. Edgington (1997), STR: A Simple and Efficient Algorithm for R-Tree Packing,
// 10.1109/ICDE.1997.582015.
class StrTree {
 public:
  // What a search has to look at, and how far that is.
  struct Waiting {
    double distance;
    std::uint32_t node;
  };

  // `bounds`: x, y, x_end, y_end of each row. Time O(rows), but for the sorting of centers that are equal or almost.
  // Preconditions: capacity >= 2; bounds are finite; fewer than 2^31 rows.
  StrTree(const double* bounds, std::size_t rows, std::size_t capacity, Interrupt& interrupt) : leaf_count_(rows) {
    PlainArray<Node> level, above;
    level.grow(rows);
    above.grow(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const double* box = bounds + 4 * row;
      const auto number = static_cast<std::uint32_t>(row);
      level[row] = {{box[0], box[1], box[2], box[3]}, number, number};
    }
    SlicedSorter sorter;
    std::vector<std::uint32_t> order;
    std::size_t count = rows;
    for (std::size_t parents = 0; count > 1; count = std::exchange(parents, 0), std::swap(level, above)) {
      const auto slices =
          static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>((count + capacity - 1) / capacity))));
      const std::size_t size = (count + slices - 1) / slices, begin = count_;
      sort_level(level, count, size, sorter, order, interrupt);
      nodes_.grow(begin == 0 ? rows + rows / (capacity - 1) + 64 : begin + 2 * count + 1);  // as a rule, once
      for (const std::uint32_t row : order) nodes_[count_++] = level[row];
      for (std::size_t slice = 0; slice < count; slice += size)
        for (std::size_t first = slice, end = std::min(count, slice + size); first < end; first += capacity) {
          const std::size_t last = std::min(end, first + capacity);
          Node node{nodes_[begin + first].box, static_cast<std::uint32_t>(begin + first),
                    static_cast<std::uint32_t>(begin + last)};
          for (std::size_t k = first + 1; k < last; ++k) node.box.include(nodes_[begin + k].box);
          above[parents++] = node;
        }
    }
    if (count == 0) return;
    nodes_.grow(count_ + 1);
    nodes_[count_++] = level[0];
  }

  // Whether equal centers leave the order to the sort that GEOS uses.
  bool is_open() const { return is_open_; }
  std::size_t size() const { return leaf_count_; }
  // The box around all. Precondition: there is a row.
  const FlatBox& box() const { return nodes_[root()].box; }

  // The rows in the order in which GEOS visits them.
  std::vector<std::int64_t> visited() const {
    std::vector<std::int64_t> rows;
    std::vector<std::uint32_t> waiting;
    if (count_ > 0) waiting.push_back(root());
    while (!waiting.empty()) {
      const std::uint32_t number = waiting.back();
      waiting.pop_back();
      const Node& node = nodes_[number];
      if (is_leaf(number)) rows.push_back(node.begin);
      for (std::uint32_t child = node.end; !is_leaf(number) && child-- > node.begin;) waiting.push_back(child);
    }
    return rows;
  }

  // Calls use(row, its box) for the rows whose box is not farther from another than the root of `square`, which `use`
  // may lower: the nearer ones of a node first.
  template <class Use>
  void for_near(const FlatBox& box, const double& square, std::vector<Waiting>& waiting, const Use& use) const {
    waiting.clear();
    if (count_ > 0) waiting.push_back({nodes_[root()].box.squared_gap(box), root()});
    while (!waiting.empty()) {
      const Waiting next = waiting.back();
      waiting.pop_back();
      if (next.distance > square) continue;
      const Node& node = nodes_[next.node];
      if (is_leaf(next.node)) {
        use(std::size_t{node.begin}, node.box);
        continue;
      }
      const auto first = static_cast<std::ptrdiff_t>(waiting.size());
      for (std::uint32_t child = node.begin; child < node.end; ++child) {
        const double gap = nodes_[child].box.squared_gap(box);
        if (gap <= square) waiting.push_back({gap, child});
      }
      std::sort(waiting.begin() + first, waiting.end(),
                [](const Waiting& a, const Waiting& b) { return a.distance > b.distance; });
    }
  }

  // Whether there is a row whose box overlaps another.
  bool has_overlap(const FlatBox& box, std::vector<Waiting>& waiting) const {
    waiting.clear();
    if (count_ > 0) waiting.push_back({0, root()});
    while (!waiting.empty()) {
      const std::uint32_t number = waiting.back().node;
      waiting.pop_back();
      const Node& node = nodes_[number];
      if (!node.box.overlaps(box)) continue;
      if (is_leaf(number)) return true;
      for (std::uint32_t child = node.begin; child < node.end; ++child) waiting.push_back({0, child});
    }
    return false;
  }

  // The row that GEOS finds nearest to a box: of what waits, it looks at the nearest, and which of equals that is
  // depends on its heap. Calls key(row, its box), how far a row is, as GEOS does and in its order.
  //
  // The search ends before it comes to what is surely farther than the root of `square`, which `key` may lower: how far
  // that is, is left open, and it waits as the farthest. Which of these lies where in the heap depends on that, but
  // nothing nearer does: it passes them on its way to the root wherever they lie.
  // Preconditions: there is a row; some key is not more than the root of `square`, but for rounding.
  template <class Key>
  std::size_t find_as_geos(const FlatBox& box, const double& square, std::vector<Waiting>& waiting,
                           const Key& key) const {
    const auto is_farther = [](const Waiting& a, const Waiting& b) { return a.distance > b.distance; };
    waiting.clear();
    const auto add = [&](std::uint32_t number) {
      const Node& node = nodes_[number];
      if (node.box.squared_gap(box) > square) {
        waiting.push_back({std::numeric_limits<double>::infinity(), number});  // at its place in the heap
        return;
      }
      const double distance =
          is_leaf(number) ? key(std::size_t{node.begin}, node.box) : std::sqrt(node.box.squared_gap_in_geos(box));
      waiting.push_back({distance, number});
      std::push_heap(waiting.begin(), waiting.end(), is_farther);
    };
    for (add(root());;) {
      const std::uint32_t nearest = waiting.front().node;
      const Node& node = nodes_[nearest];
      if (is_leaf(nearest)) return node.begin;
      std::pop_heap(waiting.begin(), waiting.end(), is_farther);
      waiting.pop_back();
      for (std::uint32_t child = node.begin; child < node.end; ++child) add(child);
    }
  }

 private:
  // Children are nodes begin to end; a leaf has its row, twice.
  struct Node {
    FlatBox box;
    std::uint32_t begin, end;
  };

  std::uint32_t root() const { return static_cast<std::uint32_t>(count_ - 1); }
  bool is_leaf(std::uint32_t node) const { return node < leaf_count_; }

  // Puts the nodes of a level in order: by x, and in each slice of `size` nodes by y.
  void sort_level(const PlainArray<Node>& level, std::size_t count, std::size_t size, SlicedSorter& sorter,
                  std::vector<std::uint32_t>& order, Interrupt& interrupt) {
    const auto x = [&](std::size_t k) { return level[k].box.x + level[k].box.x_end; };
    const auto y = [&](std::size_t k) { return level[k].box.y + level[k].box.y_end; };
    order.resize(count);
    const auto sort = [&](std::size_t begin, std::size_t end, const auto& value) {
      std::sort(order.data() + begin, order.data() + end,
                [&](std::uint32_t a, std::uint32_t b) { return value(a) < value(b); });
      for (std::size_t k = begin + 1; k < end; ++k) is_open_ = is_open_ || value(order[k - 1]) == value(order[k]);
    };
    const auto take = [&] {
      for (std::size_t k = 0; k < count; ++k) order[k] = sorter.row(k);
    };
    std::vector<std::uint32_t> slice_of;
    if (sorter.sort(count, 1, slice_of, x, interrupt)) {
      take();
    } else {
      std::iota(order.begin(), order.end(), 0);
      sort(0, count, x);
    }
    slice_of.resize(count);
    for (std::size_t k = 0; k < count; ++k) slice_of[order[k]] = static_cast<std::uint32_t>(k / size);
    if (sorter.sort(count, (count + size - 1) / size, slice_of, y, interrupt))
      take();
    else
      for (std::size_t begin = 0; begin < count; begin += size) sort(begin, std::min(count, begin + size), y);
  }

  PlainArray<Node> nodes_;  // level by level, the leaves first
  std::size_t count_ = 0;
  std::size_t leaf_count_;
  bool is_open_ = false;
};

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
