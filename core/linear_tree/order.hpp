// Boxes in the order of their cells: all that a linear tree stores of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "boxes/box_view.hpp"
#include "boxes/extent.hpp"
#include "linear_tree/keys.hpp"

namespace broadphase {

// Items are numbers of boxes; entry k is item[k] in cell key[k]. Ascending keys: a cell's boxes are one run, and so are
// those of a cell with all that is within it.
struct LinearOrder {
  CellKeys keys;
  std::vector<std::uint64_t> key;
  std::vector<std::uint32_t> item;

  std::size_t size() const { return item.size(); }
};

// The boxes to file: item k of two sets, one behind the other, or of one set. Grown as the problem says.
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

// The box around all boxes, infinite corners left out.
template <class T>
LinearWorld world_around(const LinearSource<T>& source, const std::uint32_t* items, std::size_t count) {
  return with_dimension(source.dimension, [&]<std::size_t D>(Dimension<D>) {
    const Extent<T> extent = finite_extent<D, T>(count, source.grow, [&](std::size_t at) {
      return BoxCorners<T>{source.lower(items[at]), source.upper(items[at])};
    });
    LinearWorld world;
    for (std::size_t k = 0; k < D; ++k)
      if (extent.low[k] <= extent.high[k]) {
        world.low[k] = static_cast<double>(extent.low[k]);
        world.high[k] = static_cast<double>(extent.high[k]);
      }
    return world;
  });
}

namespace detail {

// Boxes of one cell have one key, so theirs is no order. Where they are many, they are put in the Z order of a world of
// their own, so that those next to each other in memory are so in space.
template <std::size_t D, class T>
void order_within_cell(const LinearSource<T>& source, std::uint32_t* items, std::size_t count, Interrupt& interrupt) {
  // Boxes that lie across a cell's middle lie along planes: so many levels set almost all of them apart.
  const std::size_t along = D > 1 ? D - 1 : 1;
  const std::size_t levels = std::min<std::size_t>((std::bit_width(count) + along - 1) / along, 32 / D);
  const CellMap<D> map(world_around(source, items, count), levels);
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
}

template <class Key, class KeyOf>
void sort_by_key(const std::vector<std::uint32_t>& items, LinearOrder& order, KeyOf&& key_of, Interrupt& interrupt) {
  RowSorter<Key> sorter(items.size());
  in_stretches(items.size(), interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) sorter.add(static_cast<Key>(key_of(items[at])), items[at]);
  });
  sorter.sort(interrupt);
  order.key.resize(items.size());
  order.item.resize(items.size());
  for (std::size_t at = 0; at < items.size(); ++at) {
    order.key[at] = sorter.bits(at);
    order.item[at] = sorter.row(at);
  }
}

}  // namespace detail

// Puts the runs of equal keys that are longer than `few` in an order.
template <class T>
void order_crowds(const LinearSource<T>& source, LinearOrder& order, std::size_t few, Interrupt& interrupt) {
  with_dimension(source.dimension, [&]<std::size_t D>(Dimension<D>) {
    for (std::size_t begin = 0; begin < order.size();) {
      std::size_t end = begin + 1;
      while (end < order.size() && order.key[end] == order.key[begin]) ++end;
      if (end - begin > few) detail::order_within_cell<D>(source, order.item.data() + begin, end - begin, interrupt);
      begin = end;
    }
  });
}

// Files the items. Throws bad_alloc.
template <class T>
LinearOrder make_order(const LinearSource<T>& source, const std::vector<std::uint32_t>& items, const LinearWorld& world,
                       std::size_t depth, Interrupt& interrupt) {
  LinearOrder order;
  with_dimension(source.dimension, [&]<std::size_t D>(Dimension<D>) {
    const CellMap<D> map(world, depth);
    order.keys = map.keys();
    const auto key_of = [&](std::uint32_t item) {
      return map.key(source.lower(item), source.upper(item), source.grow);
    };
    if (order.keys.bits() <= 32)
      detail::sort_by_key<std::uint32_t>(items, order, key_of, interrupt);
    else
      detail::sort_by_key<std::uint64_t>(items, order, key_of, interrupt);
  });
  return order;
}

}  // namespace broadphase
