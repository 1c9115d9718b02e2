// Rows sorted along a Hilbert curve through the centres of their boxes: neighbours in the order are neighbours in
// space.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "boxes/grown_boxes.hpp"
#include "simd/kernels.hpp"
#include "tree/walks.hpp"

namespace broadphase {

template <class T>
class CurveOrder {
 public:
  // `rows` null: all of them. Throws bad_alloc or Interrupted.
  void sort(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count, const Kernels& kernels,
            unsigned workers, Interrupt& interrupt);

  RowKey* items() { return items_.get(); }
  std::uint32_t row(std::size_t at) const { return items_[at].row; }
  const Extent<T>& bulk() const { return bulk_; }  // where most boxes are

 private:
  using Item = RowKey;
  static constexpr std::size_t kPartRows = 20000;
  // Two passes of the sort cover enough key bits for few rows: the curve then has a few times as many cells as there
  // are rows. A key has at most 32 bits, equally many per axis.
  static constexpr std::size_t kManyRows = 150000;
  static constexpr int kDigit = 11, kMostPasses = 3;
  // Fewer are sorted sooner by comparing than by clearing and adding up the counts of a radix sort.
  static constexpr std::size_t kFewRows = 1024;
  // More rows than this in one cell of the curve are sorted again on a finer scale, this many times at most: enough to
  // resolve all bits of a float.
  static constexpr std::size_t kCrowd = kLanes;
  static constexpr int kMostScales = 6;

  int bits(std::size_t dimension) const {
    return std::min(passes_ * kDigit, 32) / static_cast<int>(dimension) - (dimension == 1 ? 2 : 0);
  }

  void make_keys(const GrownBoxes<T>& boxes, const Extent<T>& extent, const Kernels& kernels, std::size_t begin,
                 std::size_t end) {
    // The same scale along all axes: cells are cubes.
    T width = 0;
    for (std::size_t k = 0; k < boxes.dimension; ++k) width = std::max(width, extent.high[k] / 2 - extent.low[k] / 2);
    const T most = static_cast<T>((std::uint32_t{1} << bits(boxes.dimension)) - 1);
    CurveKeys<T> request{};
    request.boxes = pack_boxes(boxes);
    request.items = items_.get();
    request.begin = begin;
    request.end = end;
    std::copy_n(extent.low, 4, request.low);
    std::copy_n(extent.high, 4, request.high);
    request.scale = width > 0 ? most / 4 / width : T(0);
    request.bits = bits(boxes.dimension);
    kernels.eight->of<T>().curve_keys[boxes.dimension - 1](request);
  }

  // Stable. The result is here or in the same places of the spare items: the return value says where.
  const Item* sorted(std::size_t begin, std::size_t end, unsigned workers, Interrupt& interrupt) {
    const auto key = [](const Item& item) { return item.key; };
    return radix_sort<kDigit>(items_.get() + begin, spare_.get() + begin, end - begin, 0,
                              std::min(passes_ * kDigit, 32), key, workers, interrupt);
  }

  // Rows whose centres fall into one cell, sorted along a curve through that cell.
  void resolve(const GrownBoxes<T>& boxes, const Kernels& kernels, std::size_t begin, std::size_t end, int scale,
               Interrupt& interrupt) {
    for (std::size_t at = begin; at < end;) {
      const std::uint32_t key = items_[at].key;
      std::size_t last = at + 1;
      while (last < end && items_[last].key == key) ++last;
      if (last - at > kCrowd && scale + 1 < kMostScales) refine(boxes, kernels, at, last, scale + 1, interrupt);
      at = last;
    }
  }
  void refine(const GrownBoxes<T>& boxes, const Kernels& kernels, std::size_t begin, std::size_t end, int scale,
              Interrupt& interrupt) {
    interrupt.check();
    const auto row_at = [&](std::size_t at) { return row(at); };
    Extent<T> extent = extent_of(boxes, begin, end, row_at);
    if (end - begin > kFewRows) extent = bulk_of(boxes, extent, begin, end, row_at);
    make_keys(boxes, extent, kernels, begin, end);
    if (end - begin < kFewRows) {
      std::stable_sort(items_.get() + begin, items_.get() + end,
                       [](const Item& a, const Item& b) { return a.key < b.key; });
    } else {
      const Item* result = sorted(begin, end, 1, interrupt);
      if (result != items_.get() + begin) std::copy_n(result, end - begin, items_.get() + begin);
    }
    resolve(boxes, kernels, begin, end, scale, interrupt);
  }

  PlainArray<Item> items_, spare_;
  std::size_t count_ = 0;
  int passes_ = kMostPasses;
  Extent<T> extent_, bulk_;
};

template <class T>
void CurveOrder<T>::sort(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count,
                         const Kernels& kernels, unsigned workers, Interrupt& interrupt) {
  items_.grow(count);
  spare_.grow(count);
  count_ = count;
  passes_ = count > kManyRows ? kMostPasses : kMostPasses - 1;
  const std::size_t parts = workers > 1 && count > kPartRows ? workers : 1;
  const EvenSplit split{count, parts};
  std::vector<Extent<T>> extents(parts);
  for_each_task(parts, workers, interrupt, [&](unsigned, std::size_t part) {
    for (std::size_t at = split.at(part); at < split.at(part + 1); ++at)
      items_[at].row = rows != nullptr ? static_cast<std::uint32_t>(rows[at]) : static_cast<std::uint32_t>(at);
    extents[part] = extent_of(boxes, split.at(part), split.at(part + 1), [&](std::size_t at) { return row(at); });
  });
  extent_ = Extent<T>();
  for (const Extent<T>& part : extents) extent_.add(part);
  bulk_ = bulk_of(boxes, extent_, 0, count, [&](std::size_t at) { return row(at); });
  for_each_task(parts, workers, interrupt, [&](unsigned, std::size_t part) {
    make_keys(boxes, bulk_, kernels, split.at(part), split.at(part + 1));
  });
  if (sorted(0, count, workers, interrupt) != items_.get()) std::swap(items_, spare_);
  resolve(boxes, kernels, 0, count, 0, interrupt);
}

// Compiled once: orders.cpp.
extern template class CurveOrder<float>;
extern template class CurveOrder<double>;

}  // namespace broadphase
