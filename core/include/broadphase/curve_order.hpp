// Rows in the order in which a Hilbert curve comes by the centres of their boxes: neighbours in the list are neighbours
// in space.
//
// J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004, 10.1063/1.1751381.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "broadphase/box_view.hpp"
#include "broadphase/kernels.hpp"
#include "broadphase/parallel.hpp"
#include "broadphase/plain_array.hpp"

namespace broadphase {

// Boxes as a tree takes them: `grow` taken from each lower corner and added to each upper one, rounded once.
template <class T>
struct GrownBoxes {
  BoxView<T> boxes;
  std::size_t dimension = 3;
  T grow = 0;

  T lower(std::size_t row, std::size_t k) const { return boxes.lower_of(row)[k] - grow; }
  T upper(std::size_t row, std::size_t k) const { return boxes.upper_of(row)[k] + grow; }
};

// From the least finite lower corner to the largest finite upper one; low > high where there is none.
template <class T>
struct Extent {
  T low[4], high[4];

  Extent() {
    std::fill_n(low, 4, std::numeric_limits<T>::infinity());
    std::fill_n(high, 4, -std::numeric_limits<T>::infinity());
  }
  void add(const GrownBoxes<T>& boxes, std::size_t row) {
    constexpr T kMost = std::numeric_limits<T>::max();
    for (std::size_t k = 0; k < boxes.dimension; ++k) {
      const T lower = boxes.lower(row, k), upper = boxes.upper(row, k);
      if (lower >= -kMost && lower < low[k]) low[k] = lower;
      if (upper <= kMost && upper > high[k]) high[k] = upper;
    }
  }
  void add(const Extent& other) {
    for (std::size_t k = 0; k < 4; ++k) {
      low[k] = std::min(low[k], other.low[k]);
      high[k] = std::max(high[k], other.high[k]);
    }
  }
};

// Of these rows; `rows` null: of all of them.
template <class T>
Extent<T> extent_of(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count, unsigned workers,
                    Interrupt& interrupt) {
  constexpr std::size_t kPart = std::size_t{1} << 16;
  std::vector<Extent<T>> parts((count + kPart - 1) / kPart);
  for_each_task(parts.size(), workers, interrupt, [&](unsigned, std::size_t part) {
    Extent<T> own;
    for (std::size_t at = part * kPart; at < std::min(count, (part + 1) * kPart); ++at)
      own.add(boxes, rows != nullptr ? static_cast<std::size_t>(rows[at]) : at);
    parts[part] = own;
  });
  Extent<T> all;
  for (const Extent<T>& part : parts) all.add(part);
  return all;
}

template <class T>
class CurveOrder {
 public:
  // `rows` null: all of them. Throws bad_alloc or Interrupted.
  void sort(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count, const Extent<T>& extent,
            const Kernels& kernels, unsigned workers, Interrupt& interrupt) {
    items_.grow(count);
    spare_.grow(count);
    count_ = count;
    for (std::size_t at = 0; at < count; ++at)
      items_[at].row = static_cast<std::uint32_t>(rows != nullptr ? rows[at] : static_cast<std::int32_t>(at));
    const std::size_t parts = workers > 1 && count > kPartRows ? workers : 1;
    const EvenSplit split{count, parts};
    for_each_task(parts, workers, interrupt, [&](unsigned, std::size_t part) {
      make_keys(boxes, extent, kernels, split.at(part), split.at(part + 1));
    });
    sort_keys(0, count, parts, workers, interrupt);
    resolve(boxes, kernels, 0, count, 0, interrupt);
  }

  std::size_t count() const { return count_; }
  std::uint32_t row(std::size_t at) const { return items_[at].row; }

 private:
  struct Item {
    std::uint32_t key, row;
  };
  static constexpr std::size_t kPartRows = 20000;
  // As many bits along each axis as three passes of the sort take.
  static constexpr int kBits[4] = {30, 16, 10, 8};
  static constexpr int kDigit = 11, kPasses = 3;
  // More rows than this in one cell of the curve are put in order on a finer scale, so many times at most: four times
  // the least number of bits are all that a float has.
  static constexpr std::size_t kCrowd = 32;
  static constexpr int kMostScales = 4;

  void make_keys(const GrownBoxes<T>& boxes, const Extent<T>& extent, const Kernels& kernels, std::size_t begin,
                 std::size_t end) {
    const std::size_t dimension = boxes.dimension;
    const int bits = kBits[dimension - 1];
    // The same scale along all axes: cells are cubes.
    T width = 0;
    for (std::size_t k = 0; k < dimension; ++k) width = std::max(width, extent.high[k] / 2 - extent.low[k] / 2);
    const T most = static_cast<T>((std::uint32_t{1} << bits) - 1);
    const T scale = width > 0 ? most / 2 / width : T(0);
    std::uint32_t place[4][kCurveRun], key[kCurveRun];
    for (std::size_t from = begin; from < end; from += kCurveRun) {
      const std::size_t run = std::min(kCurveRun, end - from);
      for (std::size_t at = 0; at < run; ++at) {
        const std::size_t row = items_[from + at].row;
        for (std::size_t k = 0; k < dimension; ++k) {
          const T low = extent.low[k], high = extent.high[k];
          const T lower = std::max(boxes.lower(row, k), low), upper = std::min(boxes.upper(row, k), high);
          const T step = ((lower / 2 - low / 2) + (upper / 2 - low / 2)) * scale;
          place[k][at] = static_cast<std::uint32_t>(static_cast<std::int32_t>(step > 0 ? std::min(step, most) : T(0)));
        }
      }
      kernels.curve_keys[dimension - 1](place, run, bits, key);
      for (std::size_t at = 0; at < run; ++at) items_[from + at].key = key[at];
    }
  }

  // Stable, lowest digit first; each part counts and moves a stretch of its own.
  void sort_keys(std::size_t begin, std::size_t end, std::size_t parts, unsigned workers, Interrupt& interrupt) {
    constexpr std::size_t kBuckets = std::size_t{1} << kDigit;
    Item *from = items_.get(), *to = spare_.get();
    const EvenSplit split{end - begin, parts};
    std::vector<std::array<std::uint32_t, kBuckets>> places(parts);
    for (int pass = 0; pass < kPasses; ++pass) {
      const auto digit = [shift = pass * kDigit](const Item& item) { return item.key >> shift & (kBuckets - 1); };
      for_each_task(parts, workers, interrupt, [&](unsigned, std::size_t part) {
        places[part].fill(0);
        for (std::size_t at = begin + split.at(part); at < begin + split.at(part + 1); ++at)
          ++places[part][digit(from[at])];
      });
      auto sum = static_cast<std::uint32_t>(begin);
      for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        for (std::size_t part = 0; part < parts; ++part) sum += std::exchange(places[part][bucket], sum);
      for_each_task(parts, workers, interrupt, [&](unsigned, std::size_t part) {
        for (std::size_t at = begin + split.at(part); at < begin + split.at(part + 1); ++at)
          to[places[part][digit(from[at])]++] = from[at];
      });
      std::swap(from, to);
    }
    std::copy_n(from + begin, end - begin, to + begin);
  }

  // Rows whose centres fall into one cell, in the order of a curve through that cell.
  void resolve(const GrownBoxes<T>& boxes, const Kernels& kernels, std::size_t begin, std::size_t end, int scale,
               Interrupt& interrupt) {
    for (std::size_t at = begin; at < end;) {
      std::size_t last = at + 1;
      while (last < end && items_[last].key == items_[at].key) ++last;
      if (last - at > kCrowd && scale + 1 < kMostScales) refine(boxes, kernels, at, last, scale + 1, interrupt);
      at = last;
    }
  }
  void refine(const GrownBoxes<T>& boxes, const Kernels& kernels, std::size_t begin, std::size_t end, int scale,
              Interrupt& interrupt) {
    Extent<T> extent;
    for (std::size_t at = begin; at < end; ++at) extent.add(boxes, items_[at].row);
    make_keys(boxes, extent, kernels, begin, end);
    if (end - begin < kPartRows / 16)
      std::stable_sort(items_.get() + begin, items_.get() + end,
                       [](const Item& a, const Item& b) { return a.key < b.key; });
    else
      sort_keys(begin, end, 1, 1, interrupt);
    resolve(boxes, kernels, begin, end, scale, interrupt);
  }

  PlainArray<Item> items_, spare_;
  std::size_t count_ = 0;
};

}  // namespace broadphase
