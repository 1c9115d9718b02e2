#include "neighbors/lists.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/radix_sort.hpp"
#include "base/read_ahead.hpp"
#include "base/samples.hpp"

namespace broadphase {

namespace {

constexpr std::size_t kWorthWorkers = 20000;  // entries

int bits_of(std::size_t count) { return static_cast<int>(std::bit_width(count > 0 ? count - 1 : 0)); }

// Stable, by the bits [from, to) of number(item), which has none above. Returns the one of the two arrays that holds
// the result.
template <class Item, class Number>
Item* sort_items(Item* items, Item* spare, std::size_t count, int from, int to, const Number& number) {
  constexpr std::size_t kInsertionSize = 32, kFewItems = 1000;
  if (to == from) return items;
  if (count <= kInsertionSize) {
    const auto above = [&number, from](const Item& item) { return number(item) >> from; };
    insertion_sort(items, count, above, count * count);
    return items;
  }
  Interrupt none;  // this may not be the calling thread, the only one that can be interrupted
  return count < kFewItems ? radix_sort<8>(items, spare, count, from, to, number, 1, none)
                           : radix_sort<11>(items, spare, count, from, to, number, 1, none);
}

struct SignedShift {
  const std::int32_t* numbers;
  std::int64_t sign;
};

// Sorts entries that differ in their shifts alone, the images of a point.
template <class Entry>
class ImageSorter {
 public:
  // By shift_of(entry), a SignedShift.
  template <class ShiftOf>
  void sort(Entry* entries, std::size_t count, std::size_t dimension, const ShiftOf& shift_of) {
    room_.grow(count);
    spare_.grow(count);
    Image *images = room_.get(), *spare = spare_.get();
    for (std::size_t k = 0; k < count; ++k) read_ahead(shift_of(entries[k]).numbers);
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
    std::int64_t least[3] = {kFar, kFar, kFar}, most[3] = {-kFar, -kFar, -kFar};
    const auto each = [&](const auto& use) {
      for (std::size_t k = 0; k < count; ++k) {
        const auto [numbers, sign] = shift_of(entries[k]);
        use(k, sign * numbers[0], sign * numbers[1], dimension > 2 ? sign * numbers[2] : 0);
      }
    };
    each([&](std::size_t, std::int64_t a, std::int64_t b, std::int64_t c) {
      least[0] = std::min(least[0], a), least[1] = std::min(least[1], b), least[2] = std::min(least[2], c);
      most[0] = std::max(most[0], a), most[1] = std::max(most[1], b), most[2] = std::max(most[2], c);
    });
    int bits[3];
    for (std::size_t axis = 0; axis < 3; ++axis)
      bits[axis] = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most[axis] - least[axis])));
    const int low_bits = bits[1] + bits[2];
    const bool is_one = bits[0] + low_bits < 64;  // else the first axis is another number
    each([&](std::size_t k, std::int64_t a, std::int64_t b, std::int64_t c) {
      const auto first = static_cast<std::uint64_t>(a - least[0]), second = static_cast<std::uint64_t>(b - least[1]),
                 third = static_cast<std::uint64_t>(c - least[2]);
      const std::uint64_t low = second << bits[2] | third;
      images[k] = {is_one ? first << low_bits | low : low, static_cast<std::uint32_t>(first), entries[k]};
    });
    const auto sort_by = [&](int width, const auto& number) {
      if (sort_items(images, spare, count, 0, width, number) == spare) std::swap(images, spare);
    };
    sort_by(is_one ? bits[0] + low_bits : low_bits, [](const Image& image) { return image.low; });
    if (!is_one) sort_by(bits[0], [](const Image& image) { return image.high; });
    for (std::size_t k = 0; k < count; ++k) entries[k] = images[k].entry;
  }

 private:
  // An entry by its shift, in numbers that ascend as it does.
  struct Image {
    std::uint64_t low;
    std::uint32_t high;
    Entry entry;
  };

  PlainArray<Image> room_, spare_;
};

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

// Makes lists of pairs. In the order of the pairs, they are written as they are read. Sorted ones are put into order by
// their rows and origins alone: twice the number of the pair, and 1 if it is that pair the other way round; what pairs
// have besides is moved once, when the order is known. A key has the origin below the row; where pairs have nothing
// else, it is the row, and there are no origins.
template <class Key, class Origin>
class ListMaker {
 public:
  ListMaker(NeighborPairs& pairs, std::size_t points, std::size_t others, bool both, unsigned workers,
            Interrupt& interrupt)
      : pairs_(pairs),
        both_(both),
        workers_(workers),
        interrupt_(interrupt),
        total_(both ? 2 * pairs.size : pairs.size),
        origin_bits_(kHasOrigin ? bits_of(2 * pairs.size) : 0),
        origin_mask_((Key{1} << origin_bits_) - 1),
        others_(others),
        starts_(points + 1, 0) {
    // More than 2^31 rows, or 2^33 entries, and then neither keys nor entries would fit into memory.
    if (origin_bits_ + bits_of(std::max(points, others)) > std::numeric_limits<Key>::digits) throw std::bad_alloc();
  }

  // In the order of the pairs: written as they are read.
  NeighborLists in_order() {
    both_ ? count<true>() : count<false>();
    make_entries();
    if (pairs_.has_shifts) {
      entries_.shifts = allocate_plain<std::int32_t>(total_ * pairs_.dimension);
      std::memset(entries_.shifts.get(), 0, total_ * pairs_.dimension * sizeof(std::int32_t));
    }
    if (pairs_.has_distances) entries_.distances = allocate_plain<double>(total_);
    if (pairs_.has_vectors) entries_.vectors = allocate_plain<double>(total_ * pairs_.dimension);
    const EntryWriter writer{pairs_, entries_};
    each_pair(
        pairs_.first(), pairs_.second(), starts_,
        [&](std::int64_t place) { writer.prefetch(static_cast<std::size_t>(place)); },
        [&](std::int64_t place, std::int32_t row, std::size_t pair, bool turned) {
          writer.write(pair, static_cast<std::size_t>(place), row, turned);
        });
    return finish();
  }

  // Pairs by their second rows, and then these in turn by their first ones: so each list ascends, without that its
  // rows are compared.
  NeighborLists sorted() {
    sort();
    if constexpr (kHasOrigin) {
      if (pairs_.has_shifts) sort_images();
      move_columns();
    }
    return finish();
  }

 private:
  static constexpr bool kHasOrigin = sizeof(Key) > sizeof(std::int32_t);
  static constexpr std::size_t kAhead = 24;
  using Starts = std::vector<std::int64_t>;

  Key key_of(std::int32_t row, std::size_t origin) const {
    if constexpr (kHasOrigin) return static_cast<Key>(row) << origin_bits_ | origin;
    return static_cast<Key>(row);
  }
  std::int32_t row_in(Key key) const { return static_cast<std::int32_t>(key >> origin_bits_); }

  // Finds where the entries of each point begin, and those of each other point. The places of both are counted at once:
  // the processor waits for a number that it has just written.
  template <bool Others>
  void count() {
    const std::int32_t *first = pairs_.first(), *second = pairs_.second();
    if (Others && !both_) other_starts_.assign(others_ + 1, 0);
    std::int64_t *own = starts_.data() + 1, *others = both_ || !Others ? own : other_starts_.data() + 1;
    for (std::size_t k = 0; k < pairs_.size; ++k) {
      ++own[first[k]];
      if constexpr (Others) ++others[second[k]];
    }
    for (Starts* starts : {&starts_, &other_starts_})
      for (std::size_t row = 1; row < starts->size(); ++row) (*starts)[row] += (*starts)[row - 1];
  }

  // Calls put(place, row, pair, turned) for the pairs in turn: `other` at the next place of `at`, and if `both` the
  // other way round.
  template <class Ahead, class Put>
  void each_pair(const std::int32_t* at, const std::int32_t* other, Starts next, const Ahead& ahead, const Put& put) {
    std::int64_t* const places = next.data();
    const auto run = [&](auto both) {
      in_stretches(pairs_.size, interrupt_, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
          if (k + kAhead < end) {
            ahead(places[at[k + kAhead]]);
            if constexpr (both) ahead(places[other[k + kAhead]]);
          }
          put(places[at[k]]++, other[k], k, false);
          if constexpr (both) put(places[other[k]]++, at[k], k, true);
        }
      });
    };
    both_ ? run(std::true_type{}) : run(std::false_type{});
  }

  void sort() {
    count<true>();
    const Starts& seconds = both_ ? starts_ : other_starts_;
    const PlainArray<Key> by_second = keys_at(pairs_.second(), pairs_.first(), seconds);
    const Key* const keys = by_second.get();
    reuse_entries();
    std::int32_t* rows = entries_.second();
    Origin* origins = origins_.get();
    Starts next = starts_;
    std::int64_t* const places = next.data();
    std::size_t second = 0;
    in_stretches(total_, interrupt_, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end;) {
        const auto all = static_cast<std::size_t>(seconds[second + 1]), last = std::min(all, end);
        for (; k < last; ++k) {
          if (k + kAhead < end) {
            const std::int64_t place = places[row_in(keys[k + kAhead])];
            read_ahead(rows + place);
            if constexpr (kHasOrigin) read_ahead(origins + place);
          }
          const std::int64_t place = places[row_in(keys[k])]++;
          rows[place] = static_cast<std::int32_t>(second);
          if constexpr (kHasOrigin) origins[place] = static_cast<Origin>(keys[k] & origin_mask_);
        }
        if (last == all) ++second;
      }
    });
  }

  // Entries of one point and one row, by their shifts.
  void sort_images() {
    ImageSorter<Origin> sorter;
    const std::int32_t *rows = entries_.second(), *shifts = pairs_.shifts.get();
    const std::size_t dimension = pairs_.dimension;
    for (std::size_t point = 0; point + 1 < starts_.size(); ++point) {
      const auto last = static_cast<std::size_t>(starts_[point + 1]);
      for (auto k = static_cast<std::size_t>(starts_[point]), end = k; k < last; k = end) {
        for (end = k + 1; end < last && rows[end] == rows[k];) ++end;
        if (end == k + 1) continue;
        sorter.sort(origins_.get() + k, end - k, dimension, [=](Origin origin) {
          return SignedShift{shifts + origin / 2 * dimension, origin % 2 == 0 ? 1 : -1};
        });
      }
    }
  }

  // The other row and the origin of each entry, at the places of row `at`.
  PlainArray<Key> keys_at(const std::int32_t* at, const std::int32_t* other, const Starts& starts) {
    PlainArray<Key> result;
    result.grow(total_);
    Key* const keys = result.get();
    each_pair(
        at, other, starts, [=](std::int64_t place) { read_ahead(keys + place); },
        [=, this](std::int64_t place, std::int32_t row, std::size_t pair, bool turned) {
          keys[place] = key_of(row, 2 * pair + (turned ? 1 : 0));
        });
    return result;
  }

  // Memory of entries, with that of the pairs' rows, which are no longer needed.
  void reuse_entries() {
    if (both_)
      pairs_.rows.reset();
    else
      entries_.rows = std::move(pairs_.rows);
    make_entries();
    if constexpr (kHasOrigin) origins_.grow(total_);
  }
  // Those whose memory was that of the pairs keep it.
  void make_entries() {
    PlainMemory<std::int32_t> rows = std::move(entries_.rows);
    entries_ = NeighborPairs(pairs_.dimension, pairs_.has_distances, pairs_.has_vectors, pairs_.has_shifts);
    entries_.size = total_;
    entries_.capacity = rows != nullptr ? pairs_.capacity : std::max<std::size_t>(total_, 1);
    entries_.rows = rows != nullptr ? std::move(rows) : allocate_plain<std::int32_t>(2 * entries_.capacity);
  }

  NeighborLists finish() {
    std::int32_t* first = entries_.first();
    for (std::size_t point = 0; point + 1 < starts_.size(); ++point)
      std::fill(first + starts_[point], first + starts_[point + 1], static_cast<std::int32_t>(point));
    return {std::move(starts_), std::move(entries_)};
  }

  void move_columns() {
    const auto of_axes = [&](auto& column) {
      const bool is_flat = pairs_.dimension == 2;
      if (both_) return is_flat ? gathered<2, true>(column) : gathered<3, true>(column);
      return is_flat ? gathered<2, false>(column) : gathered<3, false>(column);
    };
    // The longest columns first: the memory of one serves for the next.
    if (pairs_.has_vectors) entries_.vectors = of_axes(pairs_.vectors);
    if (pairs_.has_shifts) entries_.shifts = of_axes(pairs_.shifts);
    if (pairs_.has_distances) entries_.distances = gathered<1, false>(pairs_.distances);
  }

  // A column of the pairs, which is given back, by entries. Signed: the other way round for pairs that are.
  template <std::size_t Width, bool Signed, class T>
  PlainMemory<T> gathered(PlainMemory<T>& column) {
    PlainMemory<T> result = allocate_plain<T>(total_ * Width);
    const T* from = column.get();
    T* to = result.get();
    const Origin* origins = origins_.get();
    in_stretches_on_threads(total_, workers_, interrupt_, [=](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        if (k + kAhead < end) read_ahead(from + origins[k + kAhead] / 2 * Width);
        const T* entry = from + origins[k] / 2 * Width;
        if constexpr (Signed) {
          const T sign = T(1) - T(2) * static_cast<T>(origins[k] % 2);  // a branch would be taken at random
          for (std::size_t axis = 0; axis < Width; ++axis)              // + 0: and 0 is never negative
            to[k * Width + axis] = sign * entry[axis] + T(0);
        } else {
          for (std::size_t axis = 0; axis < Width; ++axis) to[k * Width + axis] = entry[axis];
        }
      }
    });
    column.reset();
    return result;
  }

  NeighborPairs& pairs_;
  bool both_;
  unsigned workers_;
  Interrupt& interrupt_;
  std::size_t total_;
  int origin_bits_;
  Key origin_mask_;
  std::size_t others_;
  Starts starts_, other_starts_;
  PlainArray<Origin> origins_;
  NeighborPairs entries_;
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
    if (lists_.entries.size < kWorthWorkers) workers = 1;
    std::vector<Scratch> scratch(std::max(workers, 1u));
    for_each_task(starts_.size() - 1, workers, interrupt, [&](unsigned worker, std::size_t stretch) {
      sort(starts_[stretch], starts_[stretch + 1], scratch[worker]);
    });
  }

 private:
  struct Scratch {
    PlainArray<std::uint64_t> keys, spare;
    ImageSorter<std::uint64_t> images;
    PlainArray<double> column;
  };

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
    const std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;
    if (entries.has_shifts) {
      for (std::size_t k = 0, end = 0; k < count; k = end) {
        for (end = k + 1; end < count && keys[end] >> place_bits == keys[k] >> place_bits;) ++end;
        if (end == k + 1) continue;
        scratch.images.sort(keys + k, end - k, entries.dimension, [&](std::uint64_t key) {
          return SignedShift{entries.shifts.get() + (begin + (key & place_mask)) * entries.dimension, 1};
        });
      }
    }
    const std::uint64_t row_mask = (std::uint64_t{1} << row_bits_) - 1;
    for (std::size_t k = 0; k < count; ++k) rows[k] = static_cast<std::int32_t>(keys[k] >> place_bits & row_mask);
    if (!has_more) return;
    for (std::size_t k = 0; k < count; ++k) keys[k] &= place_mask;
    if (entries.has_distances) move<1>(entries.distances.get() + begin, keys, count, scratch.column);
    if (entries.dimension == 2)
      move_axes<2>(begin, keys, count, scratch.column);
    else
      move_axes<3>(begin, keys, count, scratch.column);
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

NeighborLists list_by_point(NeighborPairs pairs, std::size_t points, std::size_t others, bool both, bool sorted,
                            unsigned workers, Interrupt& interrupt) {
  // The lists of more points are written to in no order that a cache could follow, few pairs of a point are soon
  // compared, and several workers share the stretches: then each stretch of lists is sorted in a cache.
  constexpr std::size_t kManyPoints = std::size_t{1} << 17, kFewPairs = 4;
  const auto made_by = [&]<class Key, class Origin>() {
    ListMaker<Key, Origin> maker(pairs, points, others, both, workers, interrupt);
    const bool is_shared = workers > 2 && pairs.size >= kWorthWorkers;
    if (sorted && !is_shared && points <= kManyPoints && pairs.size >= kFewPairs * points) return maker.sorted();
    NeighborLists lists = maker.in_order();
    if (sorted && lists.entries.size > 0) ListSorter(lists, others).run(workers, interrupt);
    return lists;
  };
  const bool has_more = pairs.has_distances || pairs.has_vectors || pairs.has_shifts;
  if (!has_more) return made_by.operator()<std::uint32_t, std::uint32_t>();
  if (pairs.size >> 31 == 0) return made_by.operator()<std::uint64_t, std::uint32_t>();
  return made_by.operator()<std::uint64_t, std::uint64_t>();
}

}  // namespace broadphase
