// Cells over the box of an area, for many points: those that no edge comes into are inside or outside as a whole.
//
// Each point of the box is in one cell: its row and its column never fall as its coordinates rise, whatever rounding
// does. An edge is in no other cells than those between the cells of its ends. So two cells side by side that no edge
// comes into have no boundary between them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace broadphase {

class AreaCells {
 public:
  static constexpr std::size_t kMostRows = 64;

  // A row has 64 columns, a bit each. False if the box cannot be divided.
  bool cover(double x, double y, double x_end, double y_end, std::size_t rows) {
    x_ = x, y_ = y, rows_ = rows;
    columns_per_unit_ = static_cast<double>(kColumns) / (x_end - x);
    rows_per_unit_ = static_cast<double>(rows) / (y_end - y);
    if (!std::isfinite(columns_per_unit_) || !std::isfinite(rows_per_unit_)) return false;
    std::fill_n(used_.data(), rows, 0);
    std::fill_n(inside_.data(), rows, 0);
    std::fill_n(outside_.data(), rows, 0);
    return true;
  }

  // Preconditions of all below: the points are in the box.
  void add_edge(const double* a, const double* b) {
    const std::size_t from = column_of(std::min(a[0], b[0])), to = column_of(std::max(a[0], b[0]));
    const std::uint64_t columns = up_to(to) & ~(up_to(from) >> 1);
    const std::size_t end = row_of(std::max(a[1], b[1]));
    for (std::size_t row = row_of(std::min(a[1], b[1])); row <= end; ++row) used_[row] |= columns;
  }

  // Learns, when all edges are there, that what reaches the sides of the box is outside.
  void begin() {
    for (std::size_t row = 0; row < rows_; ++row) {
      const int first = std::countr_zero(used_[row]), last = std::countl_zero(used_[row]);
      outside_[row] = first == kColumns ? kAll : up_to_count(first) | ~up_to_count(kColumns - last);
    }
  }

  enum class Known : std::uint8_t { kNothing, kOutside, kInside };
  Known look(const double* point) const {
    const std::size_t row = row_of(point[1]), column = column_of(point[0]);
    if ((inside_[row] >> column & 1) != 0) return Known::kInside;
    return (outside_[row] >> column & 1) != 0 ? Known::kOutside : Known::kNothing;
  }

  // Whether all cells of a box are known to be so.
  bool are(Known where, const double* low, const double* high) const {
    const std::array<std::uint64_t, kMostRows>& known = where == Known::kInside ? inside_ : outside_;
    const std::uint64_t columns = up_to(column_of(high[0])) & ~(up_to(column_of(low[0])) >> 1);
    const std::size_t end = row_of(high[1]);
    for (std::size_t row = row_of(low[1]); row <= end; ++row)
      if ((columns & ~known[row]) != 0) return false;
    return true;
  }
  // Whether an edge comes into the cell of a point.
  bool is_used(const double* point) const { return (used_[row_of(point[1])] >> column_of(point[0]) & 1) != 0; }

  // Where a point is that is not on the boundary: so are all cells that its cell leads to by columns that are free one
  // above the other.
  void learn(const double* point, bool is_inside) {
    const std::size_t row = row_of(point[1]), column = column_of(point[0]);
    if ((used_[row] >> column & 1) != 0) return;
    std::array<std::uint64_t, kMostRows>& known = is_inside ? inside_ : outside_;
    std::uint64_t run = free_around(row, column);
    known[row] |= run;
    for (std::size_t up = row + 1; up < rows_ && (run = next_run(up, run, known)) != 0; ++up) known[up] |= run;
    run = known[row];
    for (std::size_t down = row; down-- > 0 && (run = next_run(down, run, known)) != 0;) known[down] |= run;
  }

 private:
  static constexpr int kColumns = 64;
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  static std::uint64_t up_to(std::size_t column) { return kAll >> (kColumns - 1 - static_cast<int>(column)); }
  static std::uint64_t up_to_count(int count) { return count == 0 ? 0 : kAll >> (kColumns - count); }

  // The free cells of a row from a free one to both sides.
  std::uint64_t free_around(std::size_t row, std::size_t column) const {
    const std::uint64_t below = used_[row] & (up_to(column) >> 1), above = used_[row] & ~up_to(column);
    const int from = kColumns - std::countl_zero(below), to = std::countr_zero(above);
    return up_to_count(to) & ~up_to_count(from);
  }

  // Of a row, the run of free cells beside a run of the row before; none if it is known.
  std::uint64_t next_run(std::size_t row, std::uint64_t run, const std::array<std::uint64_t, kMostRows>& known) const {
    const std::uint64_t beside = run & ~used_[row] & ~known[row];
    return beside == 0 ? 0 : free_around(row, static_cast<std::size_t>(std::countr_zero(beside)));
  }

  std::size_t column_of(double x) const {
    return std::min(static_cast<std::size_t>((x - x_) * columns_per_unit_), std::size_t{kColumns - 1});
  }
  std::size_t row_of(double y) const {
    return std::min(static_cast<std::size_t>((y - y_) * rows_per_unit_), rows_ - 1);
  }

  double x_, y_, columns_per_unit_, rows_per_unit_;
  std::size_t rows_;
  std::array<std::uint64_t, kMostRows> used_, inside_, outside_;
};

}  // namespace broadphase
