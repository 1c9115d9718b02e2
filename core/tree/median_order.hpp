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
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "boxes/grown_boxes.hpp"
#include "simd/kernels.hpp"
#include "tree/places.hpp"

namespace broadphase {

namespace detail {

// The same number in [-1, 1]; beyond, in the same order but closer, by logarithms: places far away stay in order, and
// do not make an axis the widest. 0 for NaN, where no corner is finite.
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
template <std::size_t K>
struct Spread {
  float low[K], high[K];

  // Of those that are sampled; all of them if there are no more than `most`.
  Spread(const Place<K>* items, std::size_t count, std::size_t most) {
    for (std::size_t k = 0; k < K; ++k) low[k] = high[k] = items[0].at[k];
    if (count <= most) {
      for (std::size_t i = 0; i < count; ++i) add(items[i]);
      return;
    }
    const StratifiedSample sample(count, most);
    for (std::size_t i = 0; i < sample.size(); ++i) add(items[sample[i]]);
  }
  void add(const Place<K>& item) {
    for (std::size_t k = 0; k < K; ++k) {
      low[k] = item.at[k] < low[k] ? item.at[k] : low[k];
      high[k] = item.at[k] > high[k] ? item.at[k] : high[k];
    }
  }
  float width(std::size_t k) const { return high[k] - low[k]; }
  std::size_t widest() const {
    std::size_t axis = 0;
    for (std::size_t k = 1; k < K; ++k)
      if (width(k) > width(axis)) axis = k;
    return axis;
  }
};

// Where to halve so many rows: at a multiple of a power of eight.
inline std::size_t first_half(std::size_t count) {
  std::size_t unit = 8;
  while (unit * 8 < count) unit *= 8;
  return ((count + unit - 1) / unit + 1) / 2 * unit;
}

template <std::size_t K>
class MedianSorter {
 public:
  MedianSorter(Place<K>* items, Place<K>* spare, RowKey* rows, const Kernels& kernels)
      : select_(items, spare, kernels), rows_(rows) {}

  // Splits a part of more than eight rows in two, which can then be sorted on different threads.
  std::pair<PlacePart, PlacePart> cut(const PlacePart& part, const PartThreads& threads) const {
    const Spread<K> spread(select_.at(part), part.count(), kSample);
    return select_.cut(part, part.begin + first_half(part.count()), spread.widest(), threads);
  }

  // Recursion: one call per halving, at most 26 deep.
  void sort(const PlacePart& part, const PartThreads& threads) const {
    if (part.count() <= kFew) {
      const Place<K>* items = select_.at(part);
      sort_few(items, part.count(), Spread<K>(items, part.count(), kFew), rows_ + part.begin);
      return;
    }
    const auto [first, second] = cut(part, threads);
    sort(first, threads);
    sort(second, threads);
  }

 private:
  static constexpr std::size_t kFew = PlaceSelect<K>::kFew, kSample = 256;  // kSample: for the longest axis

  void sort_few(const Place<K>* items, std::size_t count, const Spread<K>& spread, RowKey* rows) const {
    if (count <= 8) {
      for (std::size_t i = 0; i < count; ++i) rows[i].row = items[i].row;
      return;
    }
    const std::size_t axis = spread.widest(), middle = first_half(count);
    alignas(64) std::int32_t ranks[kFew];
    Place<K> sorted[kFew];
    select_.rank(count, [&](std::size_t i) { return items[i].at[axis]; }, ranks);
    for (std::size_t i = 0; i < count; ++i) sorted[ranks[i]] = items[i];
    Spread<K> lower = spread, upper = spread;
    lower.high[axis] = sorted[middle - 1].at[axis];
    upper.low[axis] = sorted[middle].at[axis];
    sort_few(sorted, middle, lower, rows);
    sort_few(sorted + middle, count - middle, upper, rows + middle);
  }

  PlaceSelect<K> select_;
  RowKey* rows_;
};

}  // namespace detail

template <class T>
class MedianOrder {
 public:
  // `rows` null: all of them. Throws bad_alloc or Interrupted.
  void sort(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count, const Kernels& kernels,
            unsigned workers, Interrupt& interrupt);

  RowKey* items() { return items_.get(); }         // in order; their keys have no meaning
  const Extent<T>& bulk() const { return bulk_; }  // where most boxes are

 private:
  static constexpr std::size_t kStretch = std::size_t{1} << 15;  // rows that one task reads: a few milliseconds

  static std::size_t row_at(const std::int32_t* rows, std::size_t at) {
    return rows != nullptr ? static_cast<std::size_t>(rows[at]) : at;
  }

  template <std::size_t D>
  void sort_in(const GrownBoxes<T>& boxes, const std::int32_t* rows, const Kernels& kernels, unsigned workers,
               Interrupt& interrupt) {
    PlainArray<detail::Place<D>> items, spare;
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
          items[i].at[k] = detail::drawn_in(((lower / 2 - middle[k] / 2) + (upper / 2 - middle[k] / 2)) * scale);
        }
      }
    });
    detail::sort_places(detail::MedianSorter<D>(items.get(), spare.get(), items_.get(), kernels), count_, workers,
                        interrupt);
  }

  PlainArray<RowKey> items_;
  std::size_t count_ = 0;
  Extent<T> extent_, bulk_;
};

template <class T>
void MedianOrder<T>::sort(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count,
                          const Kernels& kernels, unsigned workers, Interrupt& interrupt) {
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

// Compiled once: orders.cpp.
extern template class MedianOrder<float>;
extern template class MedianOrder<double>;

}  // namespace broadphase
