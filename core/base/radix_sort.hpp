// A stable sort of row numbers by one number each: floating-point, or unsigned.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

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
    if (capacity > capacity_ || !items_) {
      items_ = std::make_unique_for_overwrite<Item[]>(capacity);
      spare_.reset();
      capacity_ = capacity;
    }
  }
  std::size_t bytes() const { return capacity_ * sizeof(Item) * (spare_ ? 2 : 1); }

  void add(T value, std::uint32_t row) { items_[count_++] = {order_bits(value), row}; }
  std::size_t count() const { return count_; }
  std::uint32_t row(std::size_t position) const { return items_[position].row; }
  Bits bits(std::size_t position) const { return items_[position].key; }  // order_bits of its value

  void sort(Interrupt& interrupt) {
    if (count_ <= kInsertionSize) {
      insertion_sort(count_ * count_);
      return;
    }
    if (!spare_) spare_ = std::make_unique_for_overwrite<Item[]>(capacity_);
    Bits most = least_ = items_[0].key;
    for (std::size_t k = 1; k < count_; ++k) {
      least_ = items_[k].key < least_ ? items_[k].key : least_;
      most = items_[k].key > most ? items_[k].key : most;
    }
    const auto width = static_cast<int>(std::bit_width(static_cast<Bits>(most - least_)));
    // The highest 32 bits settle all 32-bit keys, and all but a few of the 64-bit ones: those are then near their
    // places. Should they be many, every digit is sorted. Equal keys keep their order on either way.
    const int skipped = width > 32 ? width - 32 : 0;
    sort_digits(skipped, width, interrupt);
    if (skipped > 0 && !insertion_sort(kMovesPerItem * count_)) sort_digits(0, width, interrupt);
  }

 private:
  struct Item {
    Bits key;
    std::uint32_t row;
  };
  // Three digits of 11 bits cover a float, and 2048 counters are 8 KB, well within the nearest cache. Four digits of 8
  // bits have fewer counters to clear and to add up: better for few rows. For fewer yet, none at all.
  static constexpr int kDigit = 11, kShortDigit = 8;
  static constexpr std::size_t kFewRows = 1000, kInsertionSize = 32;
  // About what three more passes cost.
  static constexpr std::size_t kMovesPerItem = 4;

  void sort_digits(int from, int to, Interrupt& interrupt) {
    if (count_ < kFewRows)
      sort_digits<kShortDigit>(from, to, interrupt);
    else
      sort_digits<kDigit>(from, to, interrupt);
  }

  // By the bits [from, to) of key - least, lowest digit first.
  template <int Digit>
  void sort_digits(int from, int to, Interrupt& interrupt) {
    constexpr std::size_t kBuckets = std::size_t{1} << Digit;
    const auto bucket = [this](Bits key, int shift) {
      return static_cast<std::size_t>(static_cast<Bits>(key - least_) >> shift) & (kBuckets - 1);
    };
    for (int shift = from; shift < to; shift += Digit) {
      std::array<std::uint32_t, kBuckets> place{};
      for (std::size_t k = 0; k < count_; ++k) ++place[bucket(items_[k].key, shift)];
      std::uint32_t sum = 0;
      for (std::uint32_t& at : place) sum += std::exchange(at, sum);
      in_stretches(count_, interrupt, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) spare_[place[bucket(items_[k].key, shift)]++] = items_[k];
      });
      items_.swap(spare_);
    }
  }

  // False, with the work half done, if it would take more than `moves`.
  bool insertion_sort(std::size_t moves) {
    for (std::size_t k = 1; k < count_; ++k) {
      const Item item = items_[k];
      std::size_t to = k;
      for (; to > 0 && items_[to - 1].key > item.key && k - to <= moves; --to) items_[to] = items_[to - 1];
      items_[to] = item;
      if (k - to > moves) return false;
      moves -= k - to;
    }
    return true;
  }

  std::unique_ptr<Item[]> items_, spare_;
  std::size_t capacity_ = 0, count_ = 0;
  Bits least_ = 0;
};

}  // namespace broadphase
