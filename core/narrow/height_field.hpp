// Terrain: heights over a regular grid, solid down to a flat bottom. What lies in a region, or on a ray, is found from
// the grid itself, by the lowest and highest surface over blocks of 4 x 4 cells, of 4 x 4 such blocks, and so on.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/nearest_last.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// In its own frame the middle of the grid is the origin; columns follow each other along x, and rows along y. Each cell
// is two triangles, whose common edge goes from its corner of least x and y to that of greatest:
//
//     row + 1  +-----+
//              |   / |
//              | /   |
//     row      +-----+
//            column  column + 1
class HeightField {
 public:
  // Row after row, which the caller keeps; two rows and two columns at least. The bottom is not above any of them.
  HeightField(const double* heights, std::size_t rows, std::size_t columns, double dx, double dy, double bottom)
      : heights_(heights),
        rows_(rows),
        columns_(columns),
        dx_(dx),
        dy_(dy),
        half_x_(static_cast<double>(columns - 1) / 2),
        half_y_(static_cast<double>(rows - 1) / 2),
        bottom_(bottom) {
    build();
  }

  struct Box {
    Vec<3> lower, upper;
  };
  // Cells from the first row and column to before the last.
  struct Window {
    std::size_t row, column, row_end, column_end;
  };
  using Corners = std::array<double, 9>;  // of a triangle, counter-clockwise seen from outside

  std::size_t cell_rows() const { return rows_ - 1; }
  std::size_t cell_columns() const { return columns_ - 1; }
  double x(std::size_t column) const { return (static_cast<double>(column) - half_x_) * dx_; }
  double y(std::size_t row) const { return (static_cast<double>(row) - half_y_) * dy_; }
  double height(std::size_t row, std::size_t column) const { return heights_[row * columns_ + column]; }
  double lowest() const { return lowest_; }
  double highest() const { return highest_; }
  Box box() const { return {{x(0), y(0), bottom_}, {x(columns_ - 1), y(rows_ - 1), highest_}}; }
  // From the bottom to the lowest height.
  Box base() const { return {{x(0), y(0), bottom_}, {x(columns_ - 1), y(rows_ - 1), lowest_}}; }
  std::size_t memory_bytes() const { return ranges_.capacity() * sizeof(Range) + levels_.capacity() * sizeof(Level); }

  Window all() const { return {0, 0, cell_rows(), cell_columns()}; }
  // The cells that a box may meet.
  Window window(const Box& box) const {
    const auto [column, column_end] = span_of(box.lower[0] / dx_ + half_x_, box.upper[0] / dx_ + half_x_, columns_);
    const auto [row, row_end] = span_of(box.lower[1] / dy_ + half_y_, box.upper[1] / dy_ + half_y_, rows_);
    return {row, column, row_end, column_end};
  }

  bool contains(const Vec<3>& at) const {
    const Box around = box();
    for (std::size_t k = 0; k < 3; ++k)
      if (!(at[k] >= around.lower[k] && at[k] <= around.upper[k])) return false;
    const Cell cell = this->cell(row_at(at[1]), column_at(at[0]));
    const double u = (at[0] - cell.x) / dx_, v = (at[1] - cell.y) / dy_;
    return at[2] <= cell.surface(u, v, u >= v);
  }

  // Around the triangles of a cell.
  Box cell_box(std::size_t row, std::size_t column) const { return box_of(0, row, column); }

  // Calls visit(triangle) for the two over a cell, until it returns false. Returns whether both returned true.
  template <class Visit>
  bool each_top(std::size_t row, std::size_t column, const Visit& visit) const {
    const Vec<3> a = point(row, column), d = point(row + 1, column + 1);
    return visit(corners_of(a, point(row, column + 1), d)) && visit(corners_of(a, d, point(row + 1, column)));
  }

  // Calls visit(triangle) for those over a cell and, at the border, of its walls above the base, until it returns
  // false. Returns whether all returned true.
  template <class Visit>
  bool each_triangle(std::size_t row, std::size_t column, const Visit& visit) const {
    const Vec<3> a = point(row, column), b = point(row, column + 1), c = point(row + 1, column),
                 d = point(row + 1, column + 1);
    const auto triangle = [&](const Vec<3>& p, const Vec<3>& q, const Vec<3>& r) { return visit(corners_of(p, q, r)); };
    const auto wall = [&](const Vec<3>& p, const Vec<3>& q) {  // seen from outside, p is on the left
      const Vec<3> below_p{p[0], p[1], lowest_}, below_q{q[0], q[1], lowest_};
      return (q[2] <= lowest_ || triangle(below_p, below_q, q)) && (p[2] <= lowest_ || triangle(below_p, q, p));
    };
    return each_top(row, column, visit) && (row > 0 || wall(a, b)) && (row + 2 < rows_ || wall(d, c)) &&
           (column > 0 || wall(c, a)) && (column + 2 < columns_ || wall(b, d));
  }

  // Calls visit(row, column) for cells of a window whose bound is within the limit, least first among those of a block:
  // bound(box) is that of what the triangles of a block, or a cell, lie in. `visit` returns the new limit; NaN stops
  // the walk.
  template <class Bound, class Visit>
  void walk(const Window& window, double limit, const Bound& bound, const Visit& visit) const {
    struct Entry {
      double bound;
      std::uint32_t level, row, column;
    };
    if (window.row >= window.row_end || window.column >= window.column_end) return;
    constexpr std::size_t kChildren = kFan * kFan;
    std::array<Entry, kMostLevels*(kChildren - 1) + kChildren> stack;
    std::size_t size = 0;
    const auto top = static_cast<std::uint32_t>(levels_.size());
    stack[size++] = {-std::numeric_limits<double>::infinity(), top, 0, 0};
    while (size > 0) {
      const Entry entry = stack[--size];
      if (entry.bound > limit) continue;
      if (entry.level == 0) {
        limit = visit(std::size_t{entry.row}, std::size_t{entry.column});
        if (limit != limit) return;
        continue;
      }
      const std::uint32_t level = entry.level - 1, shift = kShift * level;
      const std::size_t row_end = std::min<std::size_t>({(std::size_t{entry.row} + 1) * kFan, level_rows(level),
                                                         ((window.row_end - 1) >> shift) + 1}),
                        column_end =
                            std::min<std::size_t>({(std::size_t{entry.column} + 1) * kFan, level_columns(level),
                                                   ((window.column_end - 1) >> shift) + 1});
      const std::size_t begin = size;
      for (std::size_t row = std::max(std::size_t{entry.row} * kFan, window.row >> shift); row < row_end; ++row)
        for (std::size_t column = std::max(std::size_t{entry.column} * kFan, window.column >> shift);
             column < column_end; ++column) {
          const double found = bound(box_of(level, row, column));
          if (found > limit) continue;
          stack[size] = {found, level, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column)};
          put_nearest_last(&stack[begin], &stack[size++], &Entry::bound);
        }
      assert(size <= stack.size());
    }
  }

  // The first t >= 0 with origin + t * direction in the field, as of other shapes. From block to block, the larger the
  // higher the ray is above them.
  //
  // J. Amanatides, A. Woo, "A Fast Voxel Traversal Algorithm for Ray Tracing", Eurographics 1987; A. Tevs, I. Ihrke,
  // H.-P. Seidel, "Maximum Mipmaps for Fast, Accurate, and Scalable Dynamic Height Field Rendering", I3D 2008,
  // doi:10.1145/1342250.1342279.
  double ray_hit(const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal) const {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    *normal = {};
    const double length = std::hypot(direction[0], direction[1], direction[2]);
    if (contains(origin)) {
      for (std::size_t k = 0; k < 3 && length > 0; ++k) (*normal)[k] = -direction[k] / length;
      return 0;
    }
    // Where it is in the box around the field.
    const Box around = box();
    double time = 0, end = kNever;
    std::size_t wall = 3;
    for (std::size_t k = 0; k < 3; ++k) {
      if (direction[k] == 0) {
        if (!(origin[k] >= around.lower[k] && origin[k] <= around.upper[k])) return kNever;
        continue;
      }
      const bool ahead = direction[k] > 0;
      const double in = ((ahead ? around.lower[k] : around.upper[k]) - origin[k]) / direction[k],
                   out = ((ahead ? around.upper[k] : around.lower[k]) - origin[k]) / direction[k];
      if (in > time) {
        time = in;
        wall = k;
      }
      end = std::min(end, out);
    }
    if (!(time <= end) || end == kNever) return kNever;
    const auto at = [&](std::size_t k, double t) { return origin[k] + t * direction[k]; };
    std::size_t row = row_at(at(1, time)), column = column_at(at(0, time));
    if (wall < 3 && (wall < 2 || direction[2] > 0)) {
      const Cell cell = this->cell(row, column);
      const double u = (at(0, time) - cell.x) / dx_, v = (at(1, time) - cell.y) / dy_;
      if (wall == 2 || at(2, time) <= cell.surface(u, v, u >= v)) {
        (*normal)[wall] = direction[wall] > 0 ? -1 : 1;
        return time;
      }
    }
    const Vec<2> inverse{1 / direction[0], 1 / direction[1]};
    const auto top = static_cast<std::uint32_t>(levels_.size());
    std::uint32_t level = top;
    for (;;) {
      const std::uint32_t shift = kShift * level;
      const std::size_t row_begin = (row >> shift) << shift, column_begin = (column >> shift) << shift,
                        row_end = std::min(row_begin + (std::size_t{1} << shift), cell_rows()),
                        column_end = std::min(column_begin + (std::size_t{1} << shift), cell_columns());
      const double past_x = direction[0] > 0   ? (x(column_end) - origin[0]) * inverse[0]
                            : direction[0] < 0 ? (x(column_begin) - origin[0]) * inverse[0]
                                               : kNever,
                   past_y = direction[1] > 0   ? (y(row_end) - origin[1]) * inverse[1]
                            : direction[1] < 0 ? (y(row_begin) - origin[1]) * inverse[1]
                                               : kNever;
      const double leaves = std::max(time, std::min({past_x, past_y, end}));
      if (std::min(at(2, time), at(2, leaves)) <= high_of(level, row >> shift, column >> shift)) {
        if (level > 0) {
          --level;
          continue;
        }
        if (const double hit = hit_in_cell(row, column, origin, direction, time, leaves, normal); hit < kNever)
          return hit;
      }
      if (leaves >= end) return kNever;
      time = leaves;
      if (past_x <= past_y) {
        if (direction[0] > 0 ? column_end == cell_columns() : column_begin == 0) return kNever;
        column = direction[0] > 0 ? column_end : column_begin - 1;
        row = std::clamp(row_at(at(1, time)), row_begin, row_end - 1);
      } else {
        if (direction[1] > 0 ? row_end == cell_rows() : row_begin == 0) return kNever;
        row = direction[1] > 0 ? row_end : row_begin - 1;
        column = std::clamp(column_at(at(0, time)), column_begin, column_end - 1);
      }
      level = std::min(level + 1, top);
    }
  }

 private:
  static constexpr std::uint32_t kShift = 2;
  static constexpr std::size_t kFan = std::size_t{1} << kShift;
  static constexpr std::size_t kMostLevels = 17;  // there are less than 2^32 rows and columns

  // Of the surface over a block, rounded outwards.
  struct Range {
    float low, high;
  };
  struct Level {
    std::size_t rows, columns, begin;
  };
  struct Cell {
    double x, y, a, b, c, d;  // its first corner, and the heights at its four
    // `is_first`: of the triangle with more of x than of y.
    double surface(double u, double v, bool is_first) const {
      return is_first ? a + u * (b - a) + v * (d - b) : a + v * (c - a) + u * (d - c);
    }
  };

  static float below(double value) {
    const float rounded = static_cast<float>(value);
    return static_cast<double>(rounded) > value ? std::nextafter(rounded, -std::numeric_limits<float>::infinity())
                                                : rounded;
  }

  void build() {
    // Level 1 from the heights, one row of blocks at a time; all others from the level below.
    std::size_t rows = (cell_rows() + kFan - 1) / kFan, columns = (cell_columns() + kFan - 1) / kFan, count = 0;
    for (;; rows = (rows + kFan - 1) / kFan, columns = (columns + kFan - 1) / kFan) {
      levels_.push_back({rows, columns, count});
      count += rows * columns;
      if (rows == 1 && columns == 1) break;
    }
    ranges_.resize(count);
    std::vector<double> least(columns_), most(columns_);
    lowest_ = std::numeric_limits<double>::infinity();
    highest_ = -lowest_;
    for (std::size_t block = 0; block < levels_[0].rows; ++block) {
      const std::size_t begin = block * kFan, end = std::min(begin + kFan + 1, rows_);
      std::copy_n(heights_ + begin * columns_, columns_, least.begin());
      std::copy_n(heights_ + begin * columns_, columns_, most.begin());
      for (std::size_t row = begin + 1; row < end; ++row) {
        const double* const from = heights_ + row * columns_;
        for (std::size_t column = 0; column < columns_; ++column) {
          least[column] = from[column] < least[column] ? from[column] : least[column];
          most[column] = from[column] > most[column] ? from[column] : most[column];
        }
      }
      for (std::size_t column = 0; column < levels_[0].columns; ++column) {
        const std::size_t first = column * kFan, last = std::min(first + kFan + 1, columns_);
        double low = least[first], high = most[first];
        for (std::size_t k = first + 1; k < last; ++k) {
          low = std::min(low, least[k]);
          high = std::max(high, most[k]);
        }
        ranges_[block * levels_[0].columns + column] = {below(low), -below(-high)};
        lowest_ = std::min(lowest_, low);
        highest_ = std::max(highest_, high);
      }
    }
    for (std::size_t k = 1; k < levels_.size(); ++k)
      for (std::size_t row = 0; row < levels_[k].rows; ++row)
        for (std::size_t column = 0; column < levels_[k].columns; ++column) {
          const Level& from = levels_[k - 1];
          Range range{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
          for (std::size_t i = row * kFan; i < std::min((row + 1) * kFan, from.rows); ++i)
            for (std::size_t j = column * kFan; j < std::min((column + 1) * kFan, from.columns); ++j) {
              const Range& one = ranges_[from.begin + i * from.columns + j];
              range = {std::min(range.low, one.low), std::max(range.high, one.high)};
            }
          ranges_[levels_[k].begin + row * levels_[k].columns + column] = range;
        }
  }

  static Corners corners_of(const Vec<3>& p, const Vec<3>& q, const Vec<3>& r) {
    return {p[0], p[1], p[2], q[0], q[1], q[2], r[0], r[1], r[2]};
  }
  Vec<3> point(std::size_t row, std::size_t column) const { return {x(column), y(row), height(row, column)}; }
  Cell cell(std::size_t row, std::size_t column) const {
    return {x(column),
            y(row),
            height(row, column),
            height(row, column + 1),
            height(row + 1, column),
            height(row + 1, column + 1)};
  }
  static std::size_t index_at(double place, std::size_t cells) {
    const double most = static_cast<double>(cells - 1);
    return static_cast<std::size_t>(place > 0 ? (place < most ? place : most) : 0);
  }
  std::size_t column_at(double x) const { return index_at(x / dx_ + half_x_, cell_columns()); }
  std::size_t row_at(double y) const { return index_at(y / dy_ + half_y_, cell_rows()); }
  // Cells along an axis between two places in units of cells, with those that rounding may hide.
  static std::array<std::size_t, 2> span_of(double from, double to, std::size_t points) {
    const double cells = static_cast<double>(points - 1), spare = 1e-9 + 1e-14 * cells;
    from -= spare;
    to += spare;
    if (!(to >= 0 && from <= cells)) return {0, 0};
    return {index_at(from, points - 1), index_at(to, points - 1) + 1};
  }

  std::size_t level_rows(std::uint32_t level) const { return level == 0 ? cell_rows() : levels_[level - 1].rows; }
  std::size_t level_columns(std::uint32_t level) const {
    return level == 0 ? cell_columns() : levels_[level - 1].columns;
  }
  const Range& range(std::uint32_t level, std::size_t row, std::size_t column) const {
    const Level& of = levels_[level - 1];
    return ranges_[of.begin + row * of.columns + column];
  }
  double high_of(std::uint32_t level, std::size_t row, std::size_t column) const {
    if (level > 0) return static_cast<double>(range(level, row, column).high);
    const Cell one = cell(row, column);
    return std::max(std::max(one.a, one.b), std::max(one.c, one.d));
  }
  // Around the triangles of a block, with its walls if it is at the border.
  Box box_of(std::uint32_t level, std::size_t row, std::size_t column) const {
    const std::uint32_t shift = kShift * level;
    const std::size_t row_end = std::min((row + 1) << shift, cell_rows()),
                      column_end = std::min((column + 1) << shift, cell_columns());
    double low = lowest_, high;
    if (level == 0) {
      const Cell one = cell(row, column);
      low = std::min(std::min(one.a, one.b), std::min(one.c, one.d));
      high = std::max(std::max(one.a, one.b), std::max(one.c, one.d));
    } else {
      low = static_cast<double>(range(level, row, column).low);
      high = static_cast<double>(range(level, row, column).high);
    }
    if (row == 0 || column == 0 || row_end == cell_rows() || column_end == cell_columns()) low = std::min(low, lowest_);
    return {{x(column << shift), y(row << shift), low}, {x(column_end), y(row_end), high}};
  }

  // Where a ray that is above the surface of a cell at one time meets it until another.
  double hit_in_cell(std::size_t row, std::size_t column, const Vec<3>& origin, const Vec<3>& direction, double from,
                     double until, Vec<3>* normal) const {
    const Cell cell = this->cell(row, column);
    const double u = (origin[0] - cell.x) / dx_, du = direction[0] / dx_, v = (origin[1] - cell.y) / dy_,
                 dv = direction[1] / dy_;
    // Where it goes from one triangle to the other.
    const double crosses = du != dv ? (v - u) / (du - dv) : until;
    const bool is_split = crosses > from && crosses < until;
    double begin = from;
    for (int part = 0; part < 2; ++part) {
      const double end = is_split && part == 0 ? crosses : until, middle = begin / 2 + end / 2;
      const bool is_first = u + middle * du >= v + middle * dv;
      const auto above = [&](double t) {
        return origin[2] + t * direction[2] - cell.surface(u + t * du, v + t * dv, is_first);
      };
      const double first = above(begin), last = above(end);
      if (first <= 0 || last <= 0) {
        const Vec<3> way{(is_first ? cell.a - cell.b : cell.c - cell.d) / dx_,
                         (is_first ? cell.b - cell.d : cell.a - cell.c) / dy_, 1.0};
        const double length = std::hypot(way[0], way[1], way[2]);
        *normal = {way[0] / length, way[1] / length, way[2] / length};
        return first <= 0 ? begin : begin + (end - begin) * (first / (first - last));
      }
      if (!is_split) break;
      begin = end;
    }
    return std::numeric_limits<double>::infinity();
  }

  const double* heights_;
  std::size_t rows_, columns_;
  double dx_, dy_, half_x_, half_y_, bottom_;
  double lowest_ = 0, highest_ = 0;
  std::vector<Level> levels_;  // from blocks of 4 x 4 cells on
  std::vector<Range> ranges_;
};

}  // namespace broadphase
