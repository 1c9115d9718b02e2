// Points in rows: filed by where they are in y and z, and sorted by x within a row.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "neighbors/lattice.hpp"

namespace broadphase {

// (n, d) coordinates, and a reach for each point where pairs have their own cutoffs; or only the points `rows`.
struct PointView {
  const double* coordinates = nullptr;
  std::size_t count = 0, dimension = 3;
  const double* reaches = nullptr;
  const std::int32_t* rows = nullptr;

  std::int32_t row(std::size_t k) const { return rows != nullptr ? rows[k] : static_cast<std::int32_t>(k); }
  Vector3 at(std::size_t k) const {
    const double* from = coordinates + static_cast<std::size_t>(row(k)) * dimension;
    return {from[0], from[1], dimension > 2 ? from[2] : 0.0};
  }
};

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

struct Bounds {
  double lower = std::numeric_limits<double>::infinity(), upper = -std::numeric_limits<double>::infinity();
  void add(double x) {
    lower = x < lower ? x : lower;
    upper = x > upper ? x : upper;
  }
  void add(const Bounds& other) {
    lower = std::min(lower, other.lower);
    upper = std::max(upper, other.upper);
  }
};

struct PointRow {
  std::uint64_t key;
  std::uint32_t begin, end;
  std::array<Bounds, 3> bounds;
};

// The given numbers of a point and its row in the input.
struct ExactPoint {
  double x, y, z;
  std::int32_t row, padding;
};

// Points moved into the box of a lattice, in its frame.
class FramedPoints {
 public:
  // `far_row`: of a point that is too many cells away, or -1.
  FramedPoints(const PointView& points, const Lattice& lattice, Interrupt& interrupt) : points_(points) {
    places_.grow(points.count);
    if (lattice.count() > 0) wraps_.grow(points.count);
    in_stretches(points.count, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const Vector3 point = points.at(k);
        Vector3 place = lattice.in_frame(point);
        if (lattice.count() > 0) {
          std::array<std::int64_t, 3> cells{};
          if (!lattice.wrap(place, cells)) {
            if (far_row_ < 0) far_row_ = points.row(k);
            place = {};
            cells = {};
          }
          Shift wrap{};
          if ((cells[0] | cells[1] | cells[2]) != 0) {
            const std::array<std::int64_t, 3> sum = lattice.original(cells);
            for (std::size_t l = 0; l < 3; ++l) {
              const auto size = static_cast<double>(std::abs(sum[l]));
              if (size > Lattice::kMostCells && far_row_ < 0) far_row_ = points.row(k);
              most_wraps_[l] = std::max(most_wraps_[l], size);
              wrap[l] = static_cast<std::int32_t>(sum[l]);
            }
          }
          wraps_[k] = wrap;
        }
        places_[k] = place;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          bounds_[axis].add(place[axis]);
          most_[axis] = std::max(most_[axis], std::abs(point[axis]));
        }
      }
    });
  }

  const PointView& points() const { return points_; }
  const Vector3& place(std::size_t k) const { return places_[k]; }
  const Shift& wrap(std::size_t k) const { return wraps_[k]; }
  bool has_wraps() const { return most_wraps_[0] + most_wraps_[1] + most_wraps_[2] > 0; }
  const std::array<Bounds, 3>& bounds() const { return bounds_; }
  double most(std::size_t axis) const { return most_[axis]; }
  double most_wraps(std::size_t l) const { return most_wraps_[l]; }
  std::int32_t far_row() const { return far_row_; }

 private:
  PointView points_;
  PlainArray<Vector3> places_;
  PlainArray<Shift> wraps_;
  std::array<Bounds, 3> bounds_{};
  std::array<double, 3> most_{}, most_wraps_{};
  std::int32_t far_row_ = -1;
};

class PointRows {
 public:
  PointRows(const FramedPoints& framed, const RowCells& y_cells, const RowCells& z_cells, Interrupt& interrupt)
      : count_(framed.points().count) {
    constexpr std::size_t kBehind = 8;  // values that a kernel may read
    for (auto& column : columns_) {
      column.grow(count_ + kBehind);
      for (std::size_t k = 0; k < kBehind; ++k) column[count_ + k] = 0;
    }
    exact_.grow(count_);
    if (framed.points().reaches != nullptr) reaches_.grow(count_);
    if (framed.has_wraps()) wraps_.grow(count_);
    RowSorter<double> by_x(count_);
    for (std::size_t k = 0; k < count_; ++k) by_x.add(framed.place(k)[0], static_cast<std::uint32_t>(k));
    by_x.sort(interrupt);
    struct Item {
      std::uint64_t key;
      std::uint32_t from;
    };
    PlainArray<Item> items, spare;
    items.grow(count_);
    spare.grow(count_);
    std::uint32_t most_y = 0, most_z = 0;
    for (std::size_t k = 0; k < count_; ++k) {
      const Vector3& place = framed.place(by_x.row(k));
      const std::uint32_t y = y_cells.number(place[1]), z = z_cells.number(place[2]);
      most_y = std::max(most_y, y), most_z = std::max(most_z, z);
      items[k] = {key_of(y, z), by_x.row(k)};
    }
    const auto key = [](const Item& item) { return item.key; };
    Item* sorted = radix_sort<11>(items.get(), spare.get(), count_, 0, static_cast<int>(std::bit_width(most_y)), key, 1,
                                  interrupt);
    Item* other = sorted == items.get() ? spare.get() : items.get();
    sorted =
        radix_sort<11>(sorted, other, count_, 32, 32 + static_cast<int>(std::bit_width(most_z)), key, 1, interrupt);
    for (std::size_t k = 0; k < count_; ++k) {
      const std::size_t from = sorted[k].from;
      const Vector3 point = framed.points().at(from), &place = framed.place(from);
      exact_[k] = {point[0], point[1], point[2], framed.points().row(from), 0};
      if (reaches_.size() > 0)
        reaches_[k] = framed.points().reaches[static_cast<std::size_t>(framed.points().row(from))];
      if (wraps_.size() > 0) wraps_[k] = framed.wrap(from);
      if (rows_.empty() || rows_.back().key != sorted[k].key)
        rows_.push_back({sorted[k].key, static_cast<std::uint32_t>(k), 0, {}});
      rows_.back().end = static_cast<std::uint32_t>(k + 1);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        columns_[axis][k] = place[axis];
        rows_.back().bounds[axis].add(place[axis]);
      }
    }
    for (const PointRow& row : rows_)
      for (std::size_t axis = 0; axis < 3; ++axis) bounds_[axis].add(row.bounds[axis]);
  }

  static std::uint64_t key_of(std::uint32_t y, std::uint32_t z) { return std::uint64_t{z} << 32 | y; }

  std::size_t count() const { return count_; }
  const std::vector<PointRow>& rows() const { return rows_; }
  const double* column(std::size_t axis) const { return columns_[axis].get(); }
  const ExactPoint& exact(std::size_t k) const { return exact_[k]; }
  const Shift* wraps() const { return wraps_.get(); }       // or null: none is wrapped
  const double* reaches() const { return reaches_.get(); }  // or null
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
  std::size_t count_;
  PlainArray<double> columns_[3];
  PlainArray<ExactPoint> exact_;
  PlainArray<double> reaches_;
  PlainArray<Shift> wraps_;
  std::vector<PointRow> rows_;
  std::array<Bounds, 3> bounds_{};
};

}  // namespace broadphase
