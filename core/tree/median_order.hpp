// Rows sorted so that every aligned run of 8, 64, 512, ... rows has its boxes close together.
//
// The rows are split at the median along the axis on which their centres spread furthest, rounded to a multiple of a
// power of eight, and each half again, down to eight: the leaves of a balanced k-d tree (J. L. Bentley,
// "Multidimensional binary search trees used for associative searching", 1975, 10.1145/361002.361007). Blocks packed in
// this order are full, nearly cubic and overlap little: a query visits half as many blocks as with a curve order.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/even_sample.hpp"
#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/with_dimension.hpp"
#include "boxes/grown_boxes.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

namespace detail {

// A row and its first K numbers, its coordinates.
template <std::size_t K, class Number>
struct Place {
  Number at[K];
  std::uint32_t row;
};
// Filled up to a power of two and aligned to it, so that it is moved in one piece; filled up by hand, because MSVC
// warns of padding that an alignment adds (C4324).
template <std::size_t K>
struct alignas(K == 1 ? 8 : 16) Place<K, float> {
  static constexpr std::size_t kNumbers = K == 1 ? 1 : K == 4 ? 7 : 3;
  float at[kNumbers];
  std::uint32_t row;
};

// An int32 that ascends where x does.
inline std::int32_t ascending_key(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return bits ^ (bits >> 31 & 0x7fffffff);
}

// The same in [-1, 1], and in the same order, but closer beyond, by logarithms: places far away stay in order, and do
// not make an axis the widest. 0 for NaN, where no corner is finite.
template <class T>
float drawn_in(T x) {
  constexpr T kMost = T(1e38);
  constexpr float kOctave = 0x1p-27F;  // the bits of a float are 2^23 times its logarithm; an octave becomes a 16th
  if (std::fabs(x) <= 1) return static_cast<float>(x);
  if (std::isnan(x)) return 0.0F;
  const std::int32_t bits = std::bit_cast<std::int32_t>(static_cast<float>(std::min(std::fabs(x), kMost)));
  const float far = 1 + static_cast<float>(bits - std::bit_cast<std::int32_t>(1.0F)) * kOctave;
  return x < 0 ? -far : far;
}

// The extent of the rows along each coordinate.
template <std::size_t K, class Number>
struct Spread {
  Number low[K], high[K];

  Spread(const Place<K, Number>* items, std::size_t count, std::size_t step) {
    for (std::size_t k = 0; k < K; ++k) low[k] = high[k] = items[0].at[k];
    for (std::size_t i = 0; i < count; i += step)
      for (std::size_t k = 0; k < K; ++k) {
        low[k] = items[i].at[k] < low[k] ? items[i].at[k] : low[k];
        high[k] = items[i].at[k] > high[k] ? items[i].at[k] : high[k];
      }
  }
  Number width(std::size_t k) const { return high[k] - low[k]; }
  std::size_t widest() const {
    std::size_t axis = 0;
    for (std::size_t k = 1; k < K; ++k)
      if (width(k) > width(axis)) axis = k;
    return axis;
  }
};

template <std::size_t K, class Number>
class MedianSorter {
 public:
  MedianSorter(Place<K, Number>* items, Place<K, Number>* spare, RowKey* rows, const Kernels& kernels)
      : items_(items), spare_(spare), rows_(rows), kernels_(kernels) {}

  struct Part {
    std::size_t begin, end;
    bool in_spare;
    std::size_t count() const { return end - begin; }
  };

  // Splits a part of more than eight rows in two, which can then be sorted on different threads.
  std::pair<Part, Part> cut(const Part& part) const {
    const std::size_t middle = part.begin + first_half(part.count());
    Place<K, Number>* own = part.in_spare ? spare_ : items_;
    Place<K, Number>* other = part.in_spare ? items_ : spare_;
    const Spread<K, Number> spread(own + part.begin, part.count(), 1 + part.count() / kSample);
    const std::size_t axis = spread.widest();
    const bool turned = select(own, other, part.begin, part.end, middle, axis);
    return {{part.begin, middle, part.in_spare != turned}, {middle, part.end, part.in_spare != turned}};
  }

  // Recursion: one call per halving, at most 26 deep.
  void sort(const Part& part) const {
    if (part.count() <= kFew) {
      const Place<K, Number>* items = (part.in_spare ? spare_ : items_) + part.begin;
      sort_few(items, part.count(), Spread<K, Number>(items, part.count(), 1), rows_ + part.begin);
      return;
    }
    const auto [first, second] = cut(part);
    sort(first);
    sort(second);
  }

 private:
  // kFew: up to this many rows are sorted by comparing all with all. kSample: sample size for the longest axis.
  // kPivots, kFewPivots: sample sizes for the median. kMostRounds: attempts to narrow down the median before
  // nth_element is used, which happens where most coordinates are equal.
  static constexpr std::size_t kFew = 64, kSample = 256, kPivots = 64, kFewPivots = 32;
  static constexpr int kMostRounds = 12;

  static std::size_t first_half(std::size_t count) {
    std::size_t unit = 8;
    while (unit * 8 < count) unit *= 8;
    return ((count + unit - 1) / unit + 1) / 2 * unit;
  }

  // The ranks of up to 64 coordinates; equal ones keep their order, and so do those that differ in the last bits only.
  template <class At>
  void rank(std::size_t count, const At& at, std::int32_t* ranks) const {
    if constexpr (sizeof(Number) > sizeof(float)) {
      std::int64_t order[kFew];
      for (std::size_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<std::int64_t>(at(i));
        const std::int64_t ascending = bits ^ (bits >> 63 & std::numeric_limits<std::int64_t>::max());
        order[i] = (ascending & ~static_cast<std::int64_t>(kFew - 1)) | static_cast<std::int64_t>(i);
      }
      std::sort(order, order + count);
      for (std::size_t i = 0; i < count; ++i)
        ranks[static_cast<std::size_t>(order[i]) & (kFew - 1)] = static_cast<std::int32_t>(i);
      return;
    }
    alignas(64) std::int32_t keys[kFew];
    const std::size_t padded = (count + 7) / 8 * 8;
    for (std::size_t i = 0; i < count; ++i)
      keys[i] = (ascending_key(static_cast<float>(at(i))) & ~static_cast<std::int32_t>(kFew - 1)) |
                static_cast<std::int32_t>(i);
    for (std::size_t i = count; i < padded; ++i) keys[i] = 0x7fffffff - static_cast<std::int32_t>(kFew - i);
    kernels_.eight->rank_keys(keys, padded, ranks);
  }

  // Partitions [begin, end) at the element of rank `middle`. The result is in `to` if this returns true, else in
  // `from`.
  bool select(Place<K, Number>* from, Place<K, Number>* to, std::size_t begin, std::size_t end, std::size_t middle,
              std::size_t axis) const {
    bool turned = false;
    for (int round = 0; end - begin > kFew; ++round) {
      const std::size_t count = end - begin, pivots = count > 2048 ? kPivots : kFewPivots;
      const EvenSample places(count, pivots);
      const auto sample = [&](std::size_t i) { return from[begin + places[i]].at[axis]; };
      alignas(64) std::int32_t ranks[kFew];
      Number sorted[kFew];
      rank(pivots, sample, ranks);
      for (std::size_t i = 0; i < pivots; ++i) sorted[ranks[i]] = sample(i);
      if (round == kMostRounds || sorted[0] == sorted[pivots - 1]) {
        std::nth_element(
            from + begin, from + middle, from + end,
            [axis](const Place<K, Number>& a, const Place<K, Number>& b) { return a.at[axis] < b.at[axis]; });
        std::copy(from + begin, from + end, to + begin);
        return turned;
      }
      // Slightly beyond the expected median, so that it falls into the smaller part.
      const double share = static_cast<double>(middle - begin) / static_cast<double>(count);
      const double error = std::sqrt(static_cast<double>(pivots) * share * (1 - share));
      const double wanted = share * static_cast<double>(pivots) + (share < 0.5 ? error : -error);
      const Number pivot = sorted[static_cast<std::size_t>(std::clamp(wanted, 0.0, static_cast<double>(pivots - 1)))];
      const std::size_t split = part(from, to, begin, end, axis, pivot);
      // Both arrays keep the settled part, so that either may be read in the end.
      if (middle < split) {
        std::copy(to + split, to + end, from + split);
        end = split;
      } else {
        std::copy(to + begin, to + split, from + begin);
        begin = split;
      }
      std::swap(from, to);
      turned = !turned;
      if (middle == begin || middle == end) return turned;
    }
    alignas(64) std::int32_t ranks[kFew];
    rank(end - begin, [&](std::size_t i) { return from[begin + i].at[axis]; }, ranks);
    for (std::size_t i = begin; i < end; ++i) to[begin + static_cast<std::size_t>(ranks[i - begin])] = from[i];
    std::copy(to + begin, to + end, from + begin);
    return turned;
  }

  // Elements less than the pivot go to the front of `to`, the others to its back. Each is written to both places,
  // without a branch.
  static std::size_t part(const Place<K, Number>* from, Place<K, Number>* to, std::size_t begin, std::size_t end,
                          std::size_t axis, Number pivot) {
    std::size_t front = begin, back = end;
    for (std::size_t i = begin; i < end; ++i) {
      const auto before = static_cast<std::size_t>(from[i].at[axis] < pivot);
      std::memcpy(to + front, from + i, sizeof(Place<K, Number>));
      std::memcpy(to + back - 1, from + i, sizeof(Place<K, Number>));
      front += before;
      back -= 1 - before;
    }
    return front;
  }

  void sort_few(const Place<K, Number>* items, std::size_t count, const Spread<K, Number>& spread, RowKey* rows) const {
    if (count <= 8) {
      for (std::size_t i = 0; i < count; ++i) rows[i].row = items[i].row;
      return;
    }
    const std::size_t axis = spread.widest(), middle = first_half(count);
    alignas(64) std::int32_t ranks[kFew];
    Place<K, Number> sorted[kFew];
    rank(count, [&](std::size_t i) { return items[i].at[axis]; }, ranks);
    for (std::size_t i = 0; i < count; ++i) sorted[ranks[i]] = items[i];
    Spread<K, Number> lower = spread, upper = spread;
    lower.high[axis] = sorted[middle - 1].at[axis];
    upper.low[axis] = sorted[middle].at[axis];
    sort_few(sorted, middle, lower, rows);
    sort_few(sorted + middle, count - middle, upper, rows + middle);
  }

  Place<K, Number>*items_, *spare_;
  RowKey* rows_;
  const Kernels& kernels_;
};

}  // namespace detail

// Number: float, which sorts faster; or double, for scenes that floats do not resolve.
template <class T, class Number = float>
class MedianOrder {
 public:
  // `rows` null: all of them. Throws bad_alloc or Interrupted.
  void sort(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count, const Kernels& kernels,
            unsigned workers, Interrupt& interrupt) {
    items_.grow(count);
    count_ = count;
    std::vector<Extent<T>> parts((count + kStretch - 1) / kStretch);
    for_each_task(parts.size(), workers, interrupt, [&](unsigned, std::size_t part) {
      parts[part] = extent_of(boxes, part * kStretch, std::min(count, (part + 1) * kStretch),
                              [&](std::size_t at) { return row_at(rows, at); });
    });
    extent_ = Extent<T>();
    for (const Extent<T>& part : parts) extent_.add(part);
    bulk_ = bulk_of(boxes, extent_, 0, count, [&](std::size_t at) { return row_at(rows, at); });
    if (count == 0) return;
    with_dimension(boxes.dimension, [&](auto dimension) {
      sort_in<decltype(dimension)::value>(boxes, rows, kernels, workers, interrupt);
    });
  }

  std::size_t count() const { return count_; }
  const RowKey* items() const { return items_.get(); }  // in order; their keys have no meaning
  const Extent<T>& bulk() const { return bulk_; }       // where most boxes are

 private:
  // Rows that one task sorts and that one task reads: a few milliseconds.
  static constexpr std::size_t kTaskRows = std::size_t{1} << 14, kStretch = std::size_t{1} << 15;

  static std::size_t row_at(const std::int32_t* rows, std::size_t at) {
    return rows != nullptr ? static_cast<std::size_t>(rows[at]) : at;
  }

  template <std::size_t D>
  void sort_in(const GrownBoxes<T>& boxes, const std::int32_t* rows, const Kernels& kernels, unsigned workers,
               Interrupt& interrupt) {
    // Where scales nest, boxes around one point are told apart by their corners, not by their centres.
    constexpr bool kIsWide = sizeof(Number) > sizeof(float);
    constexpr std::size_t kNumbers = kIsWide ? 2 * D : D;
    PlainArray<detail::Place<kNumbers, Number>> items, spare;
    items.grow(count_);
    spare.grow(count_);
    T width = 0, middle[D];
    for (std::size_t k = 0; k < D; ++k) {
      width = std::max(width, bulk_.high[k] / 2 - bulk_.low[k] / 2);
      middle[k] = bulk_.high[k] / 2 + bulk_.low[k] / 2;
    }
    const T scale = width > 0 ? 1 / width : T(0);
    for_each_task((count_ + kStretch - 1) / kStretch, workers, interrupt, [&](unsigned, std::size_t task) {
      for (std::size_t i = task * kStretch; i < std::min(count_, (task + 1) * kStretch); ++i) {
        const std::size_t row = row_at(rows, i);
        items[i].row = static_cast<std::uint32_t>(row);
        for (std::size_t k = 0; k < D; ++k) {
          const T lower = std::max(boxes.lower(row, k), extent_.low[k]);
          const T upper = std::min(boxes.upper(row, k), extent_.high[k]);
          if constexpr (kIsWide) {
            items[i].at[k] = std::isnan(lower) ? Number(0) : static_cast<Number>(lower);
            items[i].at[D + k] = std::isnan(upper) ? Number(0) : static_cast<Number>(upper);
          } else {
            items[i].at[k] = detail::drawn_in(((lower / 2 - middle[k] / 2) + (upper / 2 - middle[k] / 2)) * scale);
          }
        }
      }
    });
    const detail::MedianSorter<kNumbers, Number> sorter(items.get(), spare.get(), items_.get(), kernels);
    using Part = typename detail::MedianSorter<kNumbers, Number>::Part;
    std::vector<Part> open = {{0, count_, false}}, small;
    // The same splits for any number of workers, so the order does not depend on it.
    while (!open.empty()) {
      std::vector<std::pair<Part, Part>> halves(open.size());
      for_each_task(open.size(), workers, interrupt, [&](unsigned, std::size_t task) {
        if (open[task].count() > kTaskRows) halves[task] = sorter.cut(open[task]);
      });
      std::vector<Part> next;
      for (std::size_t k = 0; k < open.size(); ++k)
        if (open[k].count() > kTaskRows) {
          next.push_back(halves[k].first);
          next.push_back(halves[k].second);
        } else {
          small.push_back(open[k]);
        }
      open.swap(next);
    }
    for_each_task(small.size(), workers, interrupt, [&](unsigned, std::size_t task) { sorter.sort(small[task]); });
  }

  PlainArray<RowKey> items_;
  std::size_t count_ = 0;
  Extent<T> extent_, bulk_;
};

}  // namespace broadphase
