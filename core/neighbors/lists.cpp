#include "neighbors/lists.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/radix_sort.hpp"
#include "base/read_ahead.hpp"
#include "base/samples.hpp"

namespace broadphase {

namespace {

// Writes entry `from` of pairs as entry `to` of a list, the other way round if `turned`. Shifts are 0 before: in large
// cells most stay so, and their stores would take half of the time of a list.
struct EntryWriter {
  explicit EntryWriter(const NeighborPairs& pairs, const NeighborPairs& entries)
      : dimension(entries.dimension),
        shifts(pairs.shifts.get()),
        distances(pairs.distances.get()),
        vectors(pairs.vectors.get()),
        to_rows(entries.second()),
        to_shifts(entries.shifts.get()),
        to_distances(entries.distances.get()),
        to_vectors(entries.vectors.get()) {
    if (shifts == nullptr) return;
    // Pairs come image by image, so that the branch is foreseen if these are few.
    const StratifiedSample sample(pairs.size, 256);
    std::size_t moved = 0;
    for (std::size_t k = 0; k < sample.size(); ++k) {
      const std::int32_t* shift = shifts + sample[k] * dimension;
      moved += (shift[0] | shift[1] | (dimension > 2 ? shift[2] : 0)) != 0 ? 1 : 0;
    }
    all_shifts = 3 * moved > sample.size();
  }

  void write(std::size_t from, std::size_t to, std::int32_t row, bool turned) const {
    to_rows[to] = row;
    if (to_shifts != nullptr) {
      const std::int32_t sign = turned ? -1 : 1, *shift = shifts + from * dimension;
      const std::int32_t third = dimension > 2 ? shift[2] : 0;
      if (all_shifts || (shift[0] | shift[1] | third) != 0) {
        std::int32_t* entry = to_shifts + to * dimension;
        entry[0] = sign * shift[0];
        entry[1] = sign * shift[1];
        if (dimension > 2) entry[2] = sign * third;
      }
    }
    if (to_distances != nullptr) to_distances[to] = distances[from];
    if (to_vectors != nullptr) {
      const double sign = turned ? -1.0 : 1.0, *vector = vectors + from * dimension;
      double* entry = to_vectors + to * dimension;
      entry[0] = sign * vector[0] + 0.0;
      entry[1] = sign * vector[1] + 0.0;
      if (dimension > 2) entry[2] = sign * vector[2] + 0.0;
    }
  }
  // Asks for the memory of an entry that will be written soon.
  void prefetch(std::size_t to) const {
    read_ahead(to_rows + to);
    if (to_distances != nullptr) read_ahead(to_distances + to);
    if (to_vectors != nullptr) read_ahead(to_vectors + to * dimension);
  }

  std::size_t dimension;
  bool all_shifts = false;
  const std::int32_t* shifts;
  const double *distances, *vectors;
  std::int32_t *to_rows, *to_shifts;
  double *to_distances, *to_vectors;
};

// Sorts the entries of each point by row and, with shifts, by shift; equal ones keep their order.
class ListSorter {
 public:
  ListSorter(NeighborLists& lists, std::size_t others) : lists_(lists), row_bits_(bits_of(others)) {
    // The entries of a stretch of points, and what they are sorted with, stay in a near cache.
    constexpr std::int64_t kEntriesAStretch = 8192;
    constexpr std::size_t kPointsAStretch = 4096;
    const std::vector<std::int64_t>& offsets = lists.offsets;
    starts_.push_back(0);
    for (std::size_t point = 1; point + 1 < offsets.size(); ++point)
      if (offsets[point + 1] - offsets[starts_.back()] > kEntriesAStretch || point - starts_.back() >= kPointsAStretch)
        starts_.push_back(point);
    starts_.push_back(offsets.size() - 1);
  }

  void run(unsigned workers, Interrupt& interrupt) const {
    constexpr std::size_t kWorthWorkers = 20000;
    if (lists_.entries.size < kWorthWorkers) workers = 1;
    std::vector<Scratch> scratch(std::max(workers, 1u));
    for_each_task(starts_.size() - 1, workers, interrupt, [&](unsigned worker, std::size_t stretch) {
      sort(starts_[stretch], starts_[stretch + 1], scratch[worker]);
    });
  }

 private:
  // An entry by its shift, in numbers that ascend as it does.
  struct Shifted {
    std::array<std::uint32_t, 3> shift;
    std::uint64_t key;
  };
  struct Scratch {
    PlainArray<std::uint64_t> keys, spare;
    PlainArray<Shifted> shifted, spare_shifted;
    PlainArray<double> column;
  };

  static int bits_of(std::size_t count) { return static_cast<int>(std::bit_width(count > 0 ? count - 1 : 0)); }

  // Stable, by the bits [from, to) of key(item), which has none above. Returns the one of the two arrays that holds the
  // result.
  template <class Item, class Key>
  static Item* sort_items(Item* items, Item* spare, std::size_t count, int from, int to, const Key& key) {
    constexpr std::size_t kInsertionSize = 32, kFewItems = 1000;
    if (count <= kInsertionSize) {
      const auto above = [&key, from](const Item& item) { return key(item) >> from; };
      insertion_sort(items, count, above, count * count);
      return items;
    }
    Interrupt none;  // this may not be the calling thread, the only one that can be interrupted
    return count < kFewItems ? radix_sort<8>(items, spare, count, from, to, key, 1, none)
                             : radix_sort<11>(items, spare, count, from, to, key, 1, none);
  }

  // The lists of the points [first, last).
  void sort(std::size_t first, std::size_t last, Scratch& scratch) const {
    const NeighborPairs& entries = lists_.entries;
    const auto begin = static_cast<std::size_t>(lists_.offsets[first]),
               count = static_cast<std::size_t>(lists_.offsets[last]) - begin;
    // The point's place in the stretch, the row, and the entry's place if more than rows moves: at most 64 bits, as
    // only stretches of one point have more than a few thousand entries.
    const bool has_more = entries.has_distances || entries.has_vectors || entries.has_shifts;
    const int place_bits = has_more ? bits_of(count) : 0, bits = place_bits + row_bits_ + bits_of(last - first);
    scratch.keys.grow(count);
    scratch.spare.grow(count);
    std::uint64_t* keys = scratch.keys.get();
    const std::int32_t* points = entries.first() + begin;
    std::int32_t* rows = entries.second() + begin;
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint64_t point = static_cast<std::uint64_t>(points[k]) - first;
      keys[k] = (point << row_bits_ | static_cast<std::uint64_t>(rows[k])) << place_bits | (has_more ? k : 0);
    }
    keys = sort_items(keys, scratch.spare.get(), count, place_bits, bits, [](std::uint64_t key) { return key; });
    if (entries.has_shifts) {
      for (std::size_t k = 0, end = 0; k < count; k = end) {
        for (end = k + 1; end < count && keys[end] >> place_bits == keys[k] >> place_bits;) ++end;
        if (end > k + 1) sort_by_shift(begin, place_bits, keys + k, end - k, scratch);
      }
    }
    const std::uint64_t row_mask = (std::uint64_t{1} << row_bits_) - 1;
    for (std::size_t k = 0; k < count; ++k) rows[k] = static_cast<std::int32_t>(keys[k] >> place_bits & row_mask);
    if (!has_more) return;
    const std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;
    for (std::size_t k = 0; k < count; ++k) keys[k] &= place_mask;
    if (entries.has_distances) move<1>(entries.distances.get() + begin, keys, count, scratch.column);
    if (entries.dimension == 2)
      move_axes<2>(begin, keys, count, scratch.column);
    else
      move_axes<3>(begin, keys, count, scratch.column);
  }

  // Entries of one point and one row, by their shifts.
  void sort_by_shift(std::size_t begin, int place_bits, std::uint64_t* keys, std::size_t count,
                     Scratch& scratch) const {
    const std::size_t dimension = lists_.entries.dimension;
    const std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;
    scratch.shifted.grow(count);
    scratch.spare_shifted.grow(count);
    Shifted *items = scratch.shifted.get(), *spare = scratch.spare_shifted.get();
    for (std::size_t k = 0; k < count; ++k) {
      const std::int32_t* shift = lists_.entries.shifts.get() + (begin + (keys[k] & place_mask)) * dimension;
      items[k] = {{}, keys[k]};
      for (std::size_t axis = 0; axis < dimension; ++axis)
        items[k].shift[axis] = static_cast<std::uint32_t>(shift[axis]) ^ 0x80000000u;
    }
    for (std::size_t axis = dimension; axis-- > 0;) {
      std::uint32_t least = ~std::uint32_t{0}, most = 0;
      for (std::size_t k = 0; k < count; ++k) {
        least = std::min(least, items[k].shift[axis]);
        most = std::max(most, items[k].shift[axis]);
      }
      const auto above_least = [axis, least](const Shifted& item) { return item.shift[axis] - least; };
      const Shifted* sorted =
          sort_items(items, spare, count, 0, static_cast<int>(std::bit_width(most - least)), above_least);
      if (sorted != items) std::swap(items, spare);
    }
    for (std::size_t k = 0; k < count; ++k) keys[k] = items[k].key;
  }

  template <std::size_t D>
  void move_axes(std::size_t begin, const std::uint64_t* places, std::size_t count, PlainArray<double>& room) const {
    const NeighborPairs& entries = lists_.entries;
    if (entries.has_vectors) move<D>(entries.vectors.get() + begin * D, places, count, room);
    if (entries.has_shifts) move<D>(entries.shifts.get() + begin * D, places, count, room);
  }
  // Entry k becomes what entry places[k] was.
  template <std::size_t Width, class T>
  static void move(T* column, const std::uint64_t* places, std::size_t count, PlainArray<double>& room) {
    room.grow(count * Width);
    T* moved = reinterpret_cast<T*>(room.get());
    for (std::size_t k = 0; k < count; ++k)
      std::memcpy(moved + k * Width, column + places[k] * Width, sizeof(T[Width]));
    std::memcpy(column, moved, count * sizeof(T[Width]));
  }

  NeighborLists& lists_;
  int row_bits_;
  std::vector<std::size_t> starts_;  // first points of stretches, and the end
};

}  // namespace

NeighborLists list_by_point(const NeighborPairs& pairs, std::size_t points, std::size_t others, bool both, bool sorted,
                            unsigned workers, Interrupt& interrupt) {
  NeighborLists lists;
  lists.offsets.assign(points + 1, 0);
  const std::int32_t *first = pairs.first(), *second = pairs.second();
  for (std::size_t k = 0; k < pairs.size; ++k) {
    ++lists.offsets[static_cast<std::size_t>(first[k]) + 1];
    if (both) ++lists.offsets[static_cast<std::size_t>(second[k]) + 1];
  }
  for (std::size_t point = 0; point < points; ++point) lists.offsets[point + 1] += lists.offsets[point];
  lists.entries = NeighborPairs(pairs.dimension, pairs.has_distances, pairs.has_vectors, pairs.has_shifts);
  const std::size_t total = both ? 2 * pairs.size : pairs.size;
  lists.entries.room(std::max<std::size_t>(total, 1));
  lists.entries.size = total;
  lists.entries.clear_shifts();
  std::vector<std::int64_t> next(lists.offsets.begin(), lists.offsets.end() - 1);
  const EntryWriter writer{pairs, lists.entries};
  constexpr std::size_t kAhead = 24;
  in_stretches(pairs.size, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      if (k + kAhead < end) {
        writer.prefetch(static_cast<std::size_t>(next[static_cast<std::size_t>(first[k + kAhead])]));
        if (both) writer.prefetch(static_cast<std::size_t>(next[static_cast<std::size_t>(second[k + kAhead])]));
      }
      const auto i = static_cast<std::size_t>(first[k]), j = static_cast<std::size_t>(second[k]);
      writer.write(k, static_cast<std::size_t>(next[i]++), second[k], false);
      if (both) writer.write(k, static_cast<std::size_t>(next[j]++), first[k], true);
    }
  });
  for (std::size_t point = 0; point < points; ++point)
    std::fill(lists.entries.first() + lists.offsets[point], lists.entries.first() + lists.offsets[point + 1],
              static_cast<std::int32_t>(point));
  if (sorted && total > 0) ListSorter(lists, others).run(workers, interrupt);
  return lists;
}

}  // namespace broadphase
