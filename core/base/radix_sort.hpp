// The core's one radix sort, and row numbers sorted by a number each: floating-point, or unsigned.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"

namespace broadphase {

template <class T>
using OrderBits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// An unsigned number that ascends exactly where x does; one and the same for -0.0 and 0.0. No NaN.
template <class T>
  requires std::is_unsigned_v<T>
OrderBits<T> order_bits(T x) {
  return x;
}
template <class T>
OrderBits<T> order_bits(T x) {
  using Bits = OrderBits<T>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits bits = std::bit_cast<Bits>(x + T(0));  // -0.0 + 0.0 is 0.0
  return (bits & kSign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kSign);
}

namespace detail {

// For each value of a digit: first how many items have it, then where the next of them goes.
template <int Digit>
using DigitPlaces = std::array<std::uint32_t, std::size_t{1} << Digit>;

// Turns counts into places: values ascending, and within a value the parts in their order.
template <int Digit>
void counts_to_places(DigitPlaces<Digit>* parts, std::size_t part_count) {
  std::uint32_t sum = 0;
  for (std::size_t value = 0; value < parts[0].size(); ++value)
    for (std::size_t part = 0; part < part_count; ++part) sum += std::exchange(parts[part][value], sum);
}

}  // namespace detail

// Sorts items by the bits [from, to) of key(item), an unsigned number. Stable; lowest digit first, at most `Digit` bits
// a pass. `spare` has room for as many items. Returns the one of the two arrays that holds the result: the same for
// any number of workers. Allocates only for more than one worker.
template <int Digit, class Item, class Key>
Item* radix_sort(Item* items, Item* spare, std::size_t count, int from, int to, const Key& key, unsigned workers,
                 Interrupt& interrupt) {
  // Fewer items are sorted sooner than threads are started.
  constexpr std::size_t kWorthWorkers = 20000;
  using Bits = decltype(key(*items));
  constexpr auto kMostPasses = (8 * sizeof(Bits) + Digit - 1) / Digit;
  const auto passes = static_cast<std::size_t>((to - from + Digit - 1) / Digit);
  if (passes == 0 || count == 0) return items;
  // Passes of equal width: the fewer values a digit has, the fewer cache lines are written to in turn.
  const int width = (to - from + static_cast<int>(passes) - 1) / static_cast<int>(passes);
  const std::size_t mask = (std::size_t{1} << width) - 1;
  // The highest digit may have fewer bits: those from `to` on are no part of it.
  const auto below_to = static_cast<Bits>(~Bits{0} >> (8 * static_cast<int>(sizeof(Bits)) - to));
  const auto digit = [&](const Item& item, std::size_t pass) {
    return static_cast<std::size_t>((key(item) & below_to) >> (from + static_cast<int>(pass) * width)) & mask;
  };
  if (workers <= 1 || count < kWorthWorkers) {
    // One reading counts all digits.
    std::array<detail::DigitPlaces<Digit>, kMostPasses> places;
    for (std::size_t pass = 0; pass < passes; ++pass) places[pass].fill(0);
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t pass = 0; pass < passes; ++pass) ++places[pass][digit(items[k], pass)];
    for (std::size_t pass = 0; pass < passes; ++pass) {
      detail::DigitPlaces<Digit>& place = places[pass];
      detail::counts_to_places<Digit>(&place, 1);
      in_stretches(count, interrupt, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) spare[place[digit(items[k], pass)]++] = items[k];
      });
      std::swap(items, spare);
    }
    return items;
  }
  const EvenSplit split{count, workers};
  std::vector<detail::DigitPlaces<Digit>> places(workers);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for_each_task(workers, workers, interrupt, [&](unsigned, std::size_t part) {
      places[part].fill(0);
      for (std::size_t k = split.at(part); k < split.at(part + 1); ++k) ++places[part][digit(items[k], pass)];
    });
    detail::counts_to_places<Digit>(places.data(), workers);
    for_each_task(workers, workers, interrupt, [&](unsigned, std::size_t part) {
      for (std::size_t k = split.at(part); k < split.at(part + 1); ++k)
        spare[places[part][digit(items[k], pass)]++] = items[k];
    });
    std::swap(items, spare);
  }
  return items;
}

// Sorts by key(value). Stable. False, with the work half done and the order of equal ones kept, if it would take more
// than `moves`.
template <class Value, class Key>
bool insertion_sort(Value* values, std::size_t count, const Key& key, std::size_t moves) {
  for (std::size_t k = 1; k < count; ++k) {
    const Value value = values[k];
    const auto here = key(value);
    std::size_t to = k;
    for (; to > 0 && here < key(values[to - 1]) && k - to <= moves; --to) values[to] = values[to - 1];
    values[to] = value;
    if (k - to > moves) return false;
    moves -= k - to;
  }
  return true;
}

// Rows with a value each: add them all, sort, read. Rows of equal value keep the order in which they were added.
// Linear in time, whatever the values; 16 bytes a row for floats, 32 for doubles, kept for the next sort.
template <class T>
class RowSorter {
  using Bits = OrderBits<T>;

 public:
  RowSorter() = default;
  explicit RowSorter(std::size_t capacity) { start(capacity); }

  // Forgets all rows; there is room for `capacity` of them.
  void start(std::size_t capacity) {
    count_ = 0;
    range_ = {};
    if (capacity > capacity_ || !items_) {
      spare_.reset();
      items_.reset();
      items_ = allocate_plain<Item>(capacity);
      capacity_ = capacity;
    }
  }
  std::size_t bytes() const { return capacity_ * sizeof(Item) * (spare_ ? 2 : 1); }

  // Adds the rows at(k) for k below `count`, each a value and a row, on threads.
  template <class At>
  void add_all(std::size_t count, unsigned workers, Interrupt& interrupt, const At& at) {
    Item* const items = items_.get() + count_;
    std::mutex mutex;
    in_stretches_on_threads(count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      Range own;
      for (std::size_t k = begin; k < end; ++k) {
        const std::pair<T, std::uint32_t> item = at(k);
        items[k] = {order_bits(item.first), item.second};
        own.add(items[k].key);
      }
      const std::lock_guard lock(mutex);
      range_.add(own.least);
      range_.add(own.most);
    });
    count_ += count;
  }
  void add(T value, std::uint32_t row) {
    items_[count_] = {order_bits(value), row};
    range_.add(items_[count_++].key);
  }
  std::size_t count() const { return count_; }
  std::uint32_t row(std::size_t position) const { return items_[position].row; }
  Bits bits(std::size_t position) const { return items_[position].key; }  // order_bits of its value

  void sort(Interrupt& interrupt, unsigned workers = 1);

 private:
  struct Item {
    Bits key;
    std::uint32_t row;
  };
  // Of the keys that have been added.
  struct Range {
    Bits least = std::numeric_limits<Bits>::max(), most = 0;

    void add(Bits key) {
      least = key < least ? key : least;
      most = key > most ? key : most;
    }
  };
  // Three digits of 11 bits cover a float, and 2048 counters are 8 KB, well within the nearest cache. Four digits of 8
  // bits have fewer counters to clear and to add up: better for few rows. For fewer yet, none at all.
  static constexpr int kDigit = 11, kShortDigit = 8;
  static constexpr std::size_t kFewRows = 1000, kInsertionSize = 32;
  // About what three more passes cost.
  static constexpr std::size_t kMovesPerItem = 4;

  void sort_digits(int from, int to, Interrupt& interrupt, unsigned workers) {
    if (count_ < kFewRows)
      sort_digits<kShortDigit>(from, to, interrupt, 1);
    else
      sort_digits<kDigit>(from, to, interrupt, workers);
  }

  // By the bits [from, to) of key - least.
  template <int Digit>
  void sort_digits(int from, int to, Interrupt& interrupt, unsigned workers) {
    const Bits least = range_.least;
    const auto key = [least](const Item& item) { return static_cast<Bits>(item.key - least); };
    if (radix_sort<Digit>(items_.get(), spare_.get(), count_, from, to, key, workers, interrupt) != items_.get())
      items_.swap(spare_);
  }

  bool insert(std::size_t begin, std::size_t end, std::size_t moves) {
    return insertion_sort(items_.get() + begin, end - begin, [](const Item& item) { return item.key; }, moves);
  }
  bool insert_all(int skipped, Interrupt& interrupt, unsigned workers);

  PlainMemory<Item> items_, spare_;
  std::size_t capacity_ = 0, count_ = 0;
  Range range_;
};

// Sorts items that are in the order of all bits but the lowest: those that the highest tell apart stay apart, so each
// thread sorts stretches between such. False, with the work half done, if that takes too many moves.
template <class T>
bool RowSorter<T>::insert_all(int skipped, Interrupt& interrupt, unsigned workers) {
  if (workers <= 1) return insert(0, count_, kMovesPerItem * count_);
  const auto begins_anew = [&](std::size_t k) {
    return (items_[k - 1].key - range_.least) >> skipped != (items_[k].key - range_.least) >> skipped;
  };
  std::atomic<bool> is_sorted{true};
  in_stretches_on_threads(count_, workers, interrupt, [&](std::size_t begin, std::size_t end) {
    while (begin > 0 && begin < end && !begins_anew(begin)) ++begin;  // belongs to the stretch before
    if (begin == end || !is_sorted.load(std::memory_order_relaxed)) return;
    while (end < count_ && !begins_anew(end)) ++end;
    if (!insert(begin, end, kMovesPerItem * (end - begin))) is_sorted.store(false, std::memory_order_relaxed);
  });
  return is_sorted.load(std::memory_order_relaxed);
}

template <class T>
void RowSorter<T>::sort(Interrupt& interrupt, unsigned workers) {
  if (count_ <= kInsertionSize) {
    insert(0, count_, count_ * count_);
    return;
  }
  if (!spare_) spare_ = allocate_plain<Item>(capacity_);
  const auto width = static_cast<int>(std::bit_width(static_cast<Bits>(range_.most - range_.least)));
  // The highest 32 bits settle all 32-bit keys, and all but a few of the 64-bit ones: those are then near their
  // places. Should they be many, every digit is sorted. Equal keys keep their order on either way.
  const int skipped = width > 32 ? width - 32 : 0;
  sort_digits(skipped, width, interrupt, workers);
  if (skipped > 0 && !insert_all(skipped, interrupt, workers)) sort_digits(0, width, interrupt, workers);
}

// Compiled once: radix_sort.cpp.
extern template class RowSorter<float>;
extern template class RowSorter<double>;
extern template class RowSorter<std::uint32_t>;
extern template class RowSorter<std::uint64_t>;

}  // namespace broadphase
