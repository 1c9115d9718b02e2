// Boxes sorted by the key of their cell, which is all that a linear tree stores of them; cell keys, and the depth.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/morton.hpp"
#include "base/parallel.hpp"
#include "base/plain_vector.hpp"
#include "base/radix_sort.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "boxes/box_view.hpp"
#include "boxes/extent.hpp"
#include "boxes/grown_boxes.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"
#include "tree/rank_order.hpp"

namespace broadphase {

// ---- Cells and their keys ----

// The region that the tree subdivides. Its outermost cells extend to infinity and hold what lies outside.
struct LinearWorld {
  double low[4] = {0, 0, 0, 0}, high[4] = {0, 0, 0, 0};
};

// A cell as a 64-bit key: the Morton number of its first deepest cell, then its level. In the order of keys a cell
// precedes all cells within it, and these precede everything after the cell: the order of a depth-first walk.
struct CellKeys {
  std::size_t dimension = 2, depth = 0, level_bits = 0;

  CellKeys() = default;
  CellKeys(std::size_t dimensions, std::size_t levels)
      : dimension(dimensions), depth(levels), level_bits(static_cast<std::size_t>(std::bit_width(levels))) {}

  std::uint64_t key(std::uint64_t first, std::size_t level) const { return first << level_bits | level; }
  std::uint64_t first(std::uint64_t key) const { return key >> level_bits; }
  std::size_t level(std::uint64_t key) const { return key & ((std::uint64_t{1} << level_bits) - 1); }
  // Number of bits of a deepest cell's number below a level.
  std::size_t shift(std::size_t level) const { return dimension * (depth - level); }
  std::uint64_t number(std::uint64_t key) const { return first(key) >> shift(level(key)); }
  // The first key after all cells within this one.
  std::uint64_t behind(std::uint64_t first, std::size_t level) const {
    return (first + (std::uint64_t{1} << shift(level))) << level_bits;
  }
  // The smallest cell around two.
  std::uint64_t common(std::uint64_t a, std::uint64_t b) const {
    const std::size_t apart = levels_to_common(first(a), first(b), dimension);
    const std::size_t level_of = std::min({depth - apart, level(a), level(b)});
    return key(first(a) >> shift(level_of) << shift(level_of), level_of);
  }
  bool contains(std::uint64_t outer, std::uint64_t inner) const { return common(outer, inner) == outer; }

  int bits() const { return static_cast<int>(dimension * depth + level_bits); }
};

// Maximum depth by dimension: keys fit into 64 bits, with a bit to spare for the key after the last.
inline constexpr std::size_t kMostDepth[4] = {57, 29, 19, 14};

// Maps coordinates to cells of the deepest level. Monotone: the larger of two numbers never gets the smaller cell, so
// overlapping boxes share a cell, whatever the rounding.
template <std::size_t D>
class CellMap {
 public:
  CellMap(const LinearWorld& world, std::size_t depth) : keys_(D, depth) {
    const double cells = std::ldexp(1.0, static_cast<int>(depth));
    last_ = std::nextafter(cells, 0.0);
    for (std::size_t k = 0; k < D; ++k) {
      low_[k] = world.low[k];
      const double half = world.high[k] / 2 - world.low[k] / 2;
      scale_[k] = std::min(cells / 2 / half, std::numeric_limits<double>::max());  // half 0: one cell
    }
  }

  const CellKeys& keys() const { return keys_; }

  // The first cell for NaN, which the middle of an infinite box is.
  std::uint64_t coordinate(double x, std::size_t k) const {
    const double place = std::min(std::max(0.0, (x - low_[k]) * scale_[k]), last_);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(place));
  }

  // The smallest cell around a box.
  template <class T>
  std::uint64_t key(const T* lower, const T* upper, T grow) const {
    return key(lower, upper, grow, std::make_index_sequence<D>());
  }

 private:
  // Expanded per axis by hand: compilers keep a loop here, and the coordinates in memory.
  template <class T, std::size_t... K>
  std::uint64_t key(const T* lower, const T* upper, T grow, std::index_sequence<K...>) const {
    const std::uint64_t cell[] = {coordinate(static_cast<double>(lower[K] - grow), K)...};
    const std::uint64_t differ = ((cell[K] ^ coordinate(static_cast<double>(upper[K] + grow), K)) | ...);
    // The highest bit in which the corners differ along any axis is the highest digit in which their Morton numbers
    // differ.
    const auto up = static_cast<std::size_t>(std::bit_width(differ << 1 | 1)) - 1;
    const std::uint64_t first = ((spread_bits<D>(cell[K] >> up << up) << K) | ...);
    return keys_.key(first, keys_.depth - up);
  }

  CellKeys keys_;
  double low_[D], scale_[D], last_;
};

// ---- The order ----

// Items are box numbers; entry k is item[k] in the cell with key[k]. Keys ascend, so the boxes of a cell are
// contiguous, and so are those of a cell with everything within it.
struct LinearOrder {
  CellKeys keys;
  PlainVector<std::uint64_t> key;
  PlainVector<std::uint32_t> item;

  std::size_t size() const { return item.size(); }
};

// The boxes to sort: items of one set, or of two sets, one after the other; with the margin of the problem.
template <class T>
struct LinearSource {
  BoxView<T> first, second;
  std::size_t first_count = 0;  // items from here on are of the second set
  std::size_t dimension = 3;
  T grow = 0;

  const T* lower(std::uint32_t item) const {
    return item < first_count ? first.lower_of(item) : second.lower_of(item - first_count);
  }
  const T* upper(std::uint32_t item) const {
    return item < first_count ? first.upper_of(item) : second.upper_of(item - first_count);
  }
};

// Where most boxes are.
template <class T>
LinearWorld world_around(const LinearSource<T>& source, const std::uint32_t* items, std::size_t count, unsigned workers,
                         Interrupt& interrupt) {
  return with_dimension(source.dimension, [&]<std::size_t D>(Dimension<D>) {
    const auto corners = [&](std::size_t at) {
      return BoxCorners<T>{source.lower(items[at]), source.upper(items[at])};
    };
    constexpr std::size_t kFew = 256;  // a sample costs more than all boxes of a small cell
    Extent<T> extent;
    std::mutex mutex;
    in_stretches_on_threads(count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      const Extent<T> part =
          finite_extent(D, end - begin, source.grow, [&](std::size_t at) { return corners(begin + at); });
      const std::lock_guard lock(mutex);
      extent.add(part);
    });
    const Extent<T> bulk = count > kFew ? bulk_of(extent, D, count, corners) : extent;
    LinearWorld world;
    for (std::size_t k = 0; k < D; ++k)
      if (bulk.low[k] <= bulk.high[k]) {
        world.low[k] = static_cast<double>(bulk.low[k]);
        world.high[k] = static_cast<double>(bulk.high[k]);
      }
    return world;
  });
}

namespace detail {

// Some of the boxes of a source.
template <class T>
struct SourceBoxes {
  const LinearSource<T>& source;
  std::size_t dimension;

  T lower(std::size_t item, std::size_t k) const { return source.lower(static_cast<std::uint32_t>(item))[k]; }
  T upper(std::size_t item, std::size_t k) const { return source.upper(static_cast<std::uint32_t>(item))[k]; }
};

// Makes cells of a world as long, along each axis, as most boxes of a sample are, in proportion: so blocks of
// neighbours have the least volume. Returns how many halvings that takes off, all axes together.
template <std::size_t D, class T>
double fit_to_lengths(const LinearSource<T>& source, const std::uint32_t* items, std::size_t count,
                      LinearWorld& world) {
  constexpr std::size_t kLookedAt = 31;
  const StratifiedSample sample(count, kLookedAt);
  double across[D], most = 1;  // long boxes, one behind the other
  for (std::size_t k = 0; k < D; ++k) {
    const double width = world.high[k] / 2 - world.low[k] / 2;
    double length[kLookedAt];  // never NaN
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const std::uint32_t item = items[sample[i]];
      length[i] = std::min(
          width, static_cast<double>(source.upper(item)[k]) / 2 - static_cast<double>(source.lower(item)[k]) / 2);
    }
    double* const long_one = length + sample.size() * 7 / 8;
    std::nth_element(length, long_one, length + sample.size());
    across[k] = width > *long_one ? std::min(width / *long_one, static_cast<double>(count)) : 1.0;
    most = std::max(most, across[k]);
  }
  double halvings = 0;
  for (std::size_t k = 0; k < D; ++k) {
    const double by = most / across[k], high = world.low[k] + (world.high[k] - world.low[k]) * by;
    if (!(high <= std::numeric_limits<double>::max())) continue;
    world.high[k] = high;
    halvings += std::log2(by);
  }
  return halvings;
}

// Whether boxes in this order are long and cross each other, so that an order by ranks would have far fewer parts that
// overlap. Most orders are good enough, and sorting by ranks takes several times as long.
template <std::size_t D, class T>
bool should_be_ranked(const LinearSource<T>& source, const std::uint32_t* items, std::size_t count,
                      const Kernels& kernels) {
  constexpr std::size_t kPart = 32, kFewParts = 32, kLookedAt = 64;
  constexpr double kMostBeside = 64;  // parts that overlap one
  const std::size_t parts = count / kPart;
  if (parts < kFewParts) return false;
  const StratifiedSample sample(parts, kLookedAt);
  T lower[kLookedAt][D], upper[kLookedAt][D];
  std::size_t beside = 0;
  for (std::size_t p = 0; p < sample.size(); ++p) {
    const std::uint32_t* part = items + sample[p] * kPart;
    std::copy_n(source.lower(part[0]), D, lower[p]);
    std::copy_n(source.upper(part[0]), D, upper[p]);
    for (std::size_t at = 1; at < kPart; ++at)
      for (std::size_t k = 0; k < D; ++k) {
        lower[p][k] = std::min(lower[p][k], source.lower(part[at])[k]);
        upper[p][k] = std::max(upper[p][k], source.upper(part[at])[k]);
      }
    for (std::size_t other = 0; other < p; ++other)
      beside += overlaps(lower[p], upper[p], lower[other], upper[other], D, true, T(0)) ? 1 : 0;
  }
  const auto looked_at = static_cast<double>(sample.size());
  const double pairs = looked_at * (looked_at - 1) / 2;
  if (static_cast<double>(beside) * static_cast<double>(parts) < kMostBeside * pairs) return false;
  std::vector<T> corners;
  corners.reserve(2 * D * count);
  for (std::size_t at = 0; at < count; ++at) {
    corners.insert(corners.end(), source.lower(items[at]), source.lower(items[at]) + D);
    corners.insert(corners.end(), source.upper(items[at]), source.upper(items[at]) + D);
  }
  return boxes_cross(GrownBoxes<T>{view_of_rows(corners.data(), D, count), D}, nullptr, count, kernels);
}

// Boxes of one cell have equal keys, so they are in no order. Where they are many, they are sorted by the Morton order
// of a region of their own, so that neighbours in memory are neighbours in space; and where that region does not tell
// them apart either, as on many scales around one point or where long boxes cross, by ranks.
template <std::size_t D, class T>
void order_within_cell(const LinearSource<T>& source, std::uint32_t* items, std::size_t count, const Kernels& kernels,
                       Interrupt& interrupt) {
  LinearWorld world = world_around(source, items, count, 1, interrupt);
  const double halvings = fit_to_lengths<D>(source, items, count, world);
  // Boxes across a cell's middle are along planes: this many levels separate almost all of them.
  const std::size_t along = D > 1 ? D - 1 : 1, most = 32 / D;
  const std::size_t levels = (std::bit_width(count) + along - 1) / along + static_cast<std::size_t>(halvings / D);
  const CellMap<D> map(world, std::min(levels, most));
  RowSorter<std::uint32_t> sorter(count);
  for (std::size_t at = 0; at < count; ++at) {
    const T *lower = source.lower(items[at]), *upper = source.upper(items[at]);
    std::uint64_t cell[D];
    for (std::size_t k = 0; k < D; ++k)
      cell[k] = map.coordinate(static_cast<double>(lower[k]) / 2 + static_cast<double>(upper[k]) / 2, k);
    sorter.add(static_cast<std::uint32_t>(morton_number<D>(cell)), items[at]);
  }
  sorter.sort(interrupt);
  for (std::size_t at = 0; at < count; ++at) items[at] = sorter.row(at);
  constexpr std::size_t kMany = 256, kTogether = 16;
  if (count < kMany) return;
  std::size_t crowded = 0;
  for (std::size_t at = kTogether; at < count; ++at) crowded += sorter.bits(at) == sorter.bits(at - kTogether) ? 1 : 0;
  if (crowded < count / 4 && !should_be_ranked<D>(source, items, count, kernels)) return;
  const std::vector<std::int32_t> rows(items, items + count);
  RankOrder<T> ranks;
  ranks.sort(SourceBoxes<T>{source, D}, rows.data(), count, kernels, 1, interrupt);
  for (std::size_t at = 0; at < count; ++at) items[at] = ranks.items()[at].row;
}

template <class Key, class KeyOf>
void sort_by_key(std::span<const std::uint32_t> items, LinearOrder& order, KeyOf&& key_of, unsigned workers,
                 Interrupt& interrupt) {
  RowSorter<Key> sorter(items.size());
  sorter.add_all(items.size(), workers, interrupt,
                 [&](std::size_t at) { return std::pair(static_cast<Key>(key_of(items[at])), items[at]); });
  sorter.sort(interrupt, workers);
  order.key.resize(items.size());
  order.item.resize(items.size());
  in_stretches_on_threads(items.size(), workers, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      order.key[at] = sorter.bits(at);
      order.item[at] = sorter.row(at);
    }
  });
}

}  // namespace detail

// Sorts the runs of equal keys that are longer than `few`.
template <class T>
void order_crowds(const LinearSource<T>& source, LinearOrder& order, std::size_t few, const Kernels& kernels,
                  unsigned workers, Interrupt& interrupt) {
  struct Run {
    std::size_t begin, count;
  };
  std::vector<Run> runs;
  // Of places `few` apart, a longer run holds one, and reaches half as far to one side of it.
  const std::size_t half = few / 2;
  for (std::size_t at = 0; at < order.size();) {
    const std::uint64_t key = order.key[at];
    const bool reaches =
        (at >= half && order.key[at - half] == key) || (at + half < order.size() && order.key[at + half] == key);
    at += few;
    if (!reaches) continue;
    const auto [first, last] = std::equal_range(order.key.begin(), order.key.end(), key);
    const auto begin = static_cast<std::size_t>(first - order.key.begin()),
               count = static_cast<std::size_t>(last - first);
    if (count <= few) continue;
    runs.push_back({begin, count});
    at = begin + count;
  }
  with_dimension(source.dimension, [&]<std::size_t D>(Dimension<D>) {
    for_each_task(runs.size(), workers, interrupt, [&](unsigned worker, std::size_t number) {
      Interrupt alone;  // for threads other than the calling one
      const Run& run = runs[number];
      detail::order_within_cell<D>(source, order.item.data() + run.begin, run.count, kernels,
                                   worker == 0 ? interrupt : alone);
    });
  });
}

// Sorts the items by key. Throws bad_alloc.
template <class T>
LinearOrder make_order(const LinearSource<T>& source, std::span<const std::uint32_t> items, const LinearWorld& world,
                       std::size_t depth, unsigned workers, Interrupt& interrupt) {
  LinearOrder order;
  with_dimension(source.dimension, [&]<std::size_t D>(Dimension<D>) {
    const CellMap<D> map(world, depth);
    order.keys = map.keys();
    const auto key_of = [&](std::uint32_t item) {
      return map.key(source.lower(item), source.upper(item), source.grow);
    };
    if (order.keys.bits() <= 32)
      detail::sort_by_key<std::uint32_t>(items, order, key_of, workers, interrupt);
    else
      detail::sort_by_key<std::uint64_t>(items, order, key_of, workers, interrupt);
  });
  return order;
}

// ---- The depth ----

// The depth from a sample: deep enough that most boxes share their cell with few others, but not deeper than most boxes
// can sink: a box of 2^-L times the region's length is in no cell below level L.
template <class T>
std::size_t measured_depth(const LinearSource<T>& source, std::span<const std::uint32_t> items,
                           const LinearWorld& world, Interrupt& interrupt) {
  // 512 boxes give the quartiles within a few per cent. A cell of 8 boxes is a quarter of a leaf: deeper cells would
  // only add digits to sort by.
  constexpr std::size_t kLookedAt = 512, kInCell = 8;
  const std::size_t count = items.size(), dimension = source.dimension;
  const RandomSample sample(count, kLookedAt);
  const std::size_t looked_at = sample.size();
  if (looked_at < 2) return 1;
  std::vector<std::size_t> apart(looked_at), sinks(looked_at);
  const std::size_t most = kMostDepth[dimension - 1];
  RowSorter<std::uint64_t> sorter(looked_at);
  with_dimension(dimension, [&]<std::size_t D>(Dimension<D>) {
    const CellMap<D> map(world, most);
    for (std::size_t at = 0; at < looked_at; ++at) {
      const std::uint32_t item = items[sample[at]];
      const T *lower = source.lower(item), *upper = source.upper(item);
      std::uint64_t cell[D], length = 0;
      for (std::size_t k = 0; k < D; ++k) {
        cell[k] = map.coordinate(static_cast<double>(lower[k]) / 2 + static_cast<double>(upper[k]) / 2, k);
        length = std::max(length, map.coordinate(static_cast<double>(upper[k] + source.grow), k) -
                                      map.coordinate(static_cast<double>(lower[k] - source.grow), k));
      }
      sinks[at] = most - static_cast<std::size_t>(std::bit_width(length));
      sorter.add(morton_number<D>(cell), static_cast<std::uint32_t>(at));
    }
  });
  sorter.sort(interrupt);
  // The level at which neighbours in Z order separate.
  for (std::size_t at = 0; at + 1 < looked_at; ++at)
    apart[at] = most - levels_to_common(sorter.bits(at), sorter.bits(at + 1), dimension) + 1;
  apart.pop_back();
  const auto quarter = [](std::vector<std::size_t>& levels) {
    const auto at = levels.begin() + static_cast<std::ptrdiff_t>(levels.size() * 3 / 4);
    std::nth_element(levels.begin(), at, levels.end());
    return *at;
  };
  const double more = std::log2(static_cast<double>(count) / static_cast<double>(looked_at * kInCell));
  const double crowded = static_cast<double>(quarter(apart)) + more / static_cast<double>(dimension);
  const auto depth = static_cast<std::size_t>(std::max(1.0, std::ceil(crowded)));
  return std::clamp<std::size_t>(std::min(depth, quarter(sinks)), 1, most);
}

}  // namespace broadphase
