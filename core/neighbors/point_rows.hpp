// Points in rows: filed by where they are in y and z, and sorted by x within a row.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "neighbors/framed_points.hpp"

namespace broadphase {

// The cells of y and z in which rows are filed. `number` is monotone, so that the cells of an interval are those from
// the one of its lower end to that of its upper end, whatever is rounded.
struct RowCells {
  double low = 0, per_unit = 0;
  double most = 0;  // the highest number

  std::uint32_t number(double x) const {
    const double cell = (x - low) * per_unit;
    return static_cast<std::uint32_t>(cell > 0 ? std::min(cell, most) : 0.0);  // NaN, of 0 times infinity, is 0
  }
};

struct PointRow {
  std::uint64_t key;
  std::uint32_t begin, end;
  std::array<Bounds, 3> bounds;
};

// Keeps its memory for the next points.
class PointRows {
 public:
  void file(const FramedPoints& framed, const RowCells& y_cells, const RowCells& z_cells, unsigned workers,
            Interrupt& interrupt) {
    constexpr std::size_t kBehind = 8;  // values that a kernel may read
    count_ = framed.points().count;
    for (auto& column : columns_) {
      column.grow(count_ + kBehind);
      for (std::size_t k = 0; k < kBehind; ++k) column[count_ + k] = 0;
    }
    exact_.grow(count_);
    has_reaches_ = framed.points().reaches != nullptr && framed.points().kinds == nullptr;
    has_wraps_ = framed.has_wraps();
    if (has_reaches_) reaches_.grow(count_);
    if (has_wraps_) wraps_.grow(count_);
    const Item* sorted = sort(framed, y_cells, z_cells, workers, interrupt);
    rows_.clear();
    if (count_ <= kFewPoints)
      file_few(framed, sorted);
    else
      file_many(framed, sorted, workers, interrupt);
    bounds_ = {};
    for (const PointRow& row : rows_)
      for (std::size_t axis = 0; axis < 3; ++axis) bounds_[axis].add(row.bounds[axis]);
    if (count_ > kFewPoints) {
      by_x_ = {};
      items_ = {};
      spare_ = {};
    }
  }

  static std::uint64_t key_of(std::uint32_t y, std::uint32_t z) { return std::uint64_t{z} << 32 | y; }

  std::size_t count() const { return count_; }
  const std::vector<PointRow>& rows() const { return rows_; }
  const double* column(std::size_t axis) const { return columns_[axis].get(); }
  const ExactPoint& exact(std::size_t k) const { return exact_[k]; }
  const Shift* wraps() const { return has_wraps_ ? wraps_.get() : nullptr; }  // or null: none is wrapped
  const double* reaches() const { return has_reaches_ ? reaches_.get() : nullptr; }
  const std::array<Bounds, 3>& bounds() const { return bounds_; }

  // The first row whose key is at least this.
  std::size_t row_from(std::uint64_t key) const {
    return static_cast<std::size_t>(
        std::lower_bound(rows_.begin(), rows_.end(), key,
                         [](const PointRow& row, std::uint64_t wanted) { return row.key < wanted; }) -
        rows_.begin());
  }
  // The row of a position.
  std::size_t row_of(std::size_t position) const {
    return static_cast<std::size_t>(
               std::upper_bound(rows_.begin(), rows_.end(), position,
                                [](std::size_t wanted, const PointRow& row) { return wanted < row.begin; }) -
               rows_.begin()) -
           1;
  }

 private:
  struct Item {
    std::uint64_t key;
    std::uint32_t from;
  };
  // Of fewer, what is needed to sort them waits for the next ones.
  static constexpr std::size_t kFewPoints = 4096;

  // Rows one after the other; and many on threads, which take stretches of points.
  void file_few(const FramedPoints& framed, const Item* sorted) {
    for (std::size_t begin = 0, end = 0; begin < count_; begin = end) {
      for (end = begin + 1; end < count_ && sorted[end].key == sorted[begin].key;) ++end;
      rows_.push_back({sorted[begin].key, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end),
                       fill(framed, sorted, begin, end)});
    }
  }
  void file_many(const FramedPoints& framed, const Item* sorted, unsigned workers, Interrupt& interrupt) {
    for (std::size_t k = 0; k < count_; ++k) {
      if (k > 0 && sorted[k].key == sorted[k - 1].key) continue;
      if (k > 0) rows_.back().end = static_cast<std::uint32_t>(k);
      rows_.push_back({sorted[k].key, static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(count_), {}});
    }
    std::mutex mutex;  // of bounds of rows that are cut
    in_stretches_on_threads(count_, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = row_of(begin); begin < end; ++row) {
        PointRow& to = rows_[row];
        const std::size_t until = std::min<std::size_t>(end, to.end);
        const std::array<Bounds, 3> bounds = fill(framed, sorted, begin, until);
        if (begin == to.begin && until == to.end) {
          to.bounds = bounds;
        } else {
          const std::lock_guard lock(mutex);
          for (std::size_t axis = 0; axis < 3; ++axis) to.bounds[axis].add(bounds[axis]);
        }
        begin = until;
      }
    });
  }
  // The positions [begin, end), which are of one row. Returns their bounds.
  std::array<Bounds, 3> fill(const FramedPoints& framed, const Item* sorted, std::size_t begin, std::size_t end) {
    std::array<Bounds, 3> bounds{};
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t from = sorted[k].from;
      const Vector3 point = framed.points().at(from), &place = framed.place(from);
      exact_[k] = {point[0], point[1], point[2], framed.points().row(from), framed.points().kind(from)};
      if (has_reaches_) reaches_[k] = framed.points().reaches[static_cast<std::size_t>(framed.points().row(from))];
      if (has_wraps_) wraps_[k] = framed.wrap(from);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        columns_[axis][k] = place[axis];
        bounds[axis].add(place[axis]);
      }
    }
    return bounds;
  }

  // By row and by x.
  const Item* sort(const FramedPoints& framed, const RowCells& y_cells, const RowCells& z_cells, unsigned workers,
                   Interrupt& interrupt) {
    by_x_.start(count_);
    by_x_.add_all(count_, workers, interrupt,
                  [&](std::size_t k) { return std::pair(framed.place(k)[0], static_cast<std::uint32_t>(k)); });
    by_x_.sort(interrupt, workers);
    items_.grow(count_);
    std::uint32_t most_y = 0, most_z = 0;
    std::mutex mutex;
    in_stretches_on_threads(count_, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      std::uint32_t own_y = 0, own_z = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const Vector3& place = framed.place(by_x_.row(k));
        const std::uint32_t y = y_cells.number(place[1]), z = z_cells.number(place[2]);
        own_y = std::max(own_y, y), own_z = std::max(own_z, z);
        items_[k] = {key_of(y, z), by_x_.row(k)};
      }
      const std::lock_guard lock(mutex);
      most_y = std::max(most_y, own_y), most_z = std::max(most_z, own_z);
    });
    if (most_y == 0 && most_z == 0) return items_.get();
    constexpr std::size_t kInsertionSize = 64;
    if (count_ <= kInsertionSize) {
      insertion_sort(items_.get(), count_, [](const Item& item) { return item.key; }, count_ * count_);
      return items_.get();
    }
    spare_.grow(count_);
    return count_ < 1000 ? sort_rows<8>(most_y, most_z, 1, interrupt)
                         : sort_rows<11>(most_y, most_z, workers, interrupt);
  }
  template <int Digit>
  const Item* sort_rows(std::uint32_t most_y, std::uint32_t most_z, unsigned workers, Interrupt& interrupt) {
    const auto key = [](const Item& item) { return item.key; };
    Item* sorted = radix_sort<Digit>(items_.get(), spare_.get(), count_, 0, static_cast<int>(std::bit_width(most_y)),
                                     key, workers, interrupt);
    Item* other = sorted == items_.get() ? spare_.get() : items_.get();
    return radix_sort<Digit>(sorted, other, count_, 32, 32 + static_cast<int>(std::bit_width(most_z)), key, workers,
                             interrupt);
  }

  RowSorter<double> by_x_;
  PlainArray<Item> items_, spare_;
  std::size_t count_ = 0;
  bool has_reaches_ = false, has_wraps_ = false;
  PlainArray<double> columns_[3];
  PlainArray<ExactPoint> exact_;
  PlainArray<double> reaches_;
  PlainArray<Shift> wraps_;
  std::vector<PointRow> rows_;
  std::array<Bounds, 3> bounds_{};
};

}  // namespace broadphase
