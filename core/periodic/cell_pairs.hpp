// Pairs of boxes in a periodic cell, by any method: of boxes in open space, each at its place, and once more for each
// face that it crosses.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/read_ahead.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "batches/rows_by_key.hpp"
#include "boxes/box_view.hpp"
#include "choose/find.hpp"
#include "query/collect.hpp"
#include "query/method.hpp"
#include "query/problem.hpp"

namespace broadphase {

// What lies at x also lies at x + k * period for every whole k, in exact arithmetic.
struct PeriodicCell {
  std::size_t dimension = 3;
  double period[4] = {};  // positive; infinite: the axis does not repeat
  double from[4] = {};    // where it begins: see CellBoxes

  bool repeats(std::size_t axis) const { return period[axis] < std::numeric_limits<double>::infinity(); }
};

// From base + worlds * period, by width + rest; exact, and `worlds` is whole. An infinite width: all there is.
struct AxisSpan {
  double base, worlds, width, rest;

  bool is_everywhere() const { return width == std::numeric_limits<double>::infinity(); }
};

namespace detail {

// a + b == sum + error, if nothing overflows.
struct TwoSum {
  double sum, error;
  TwoSum(double a, double b) : sum(a + b) {
    const double part = sum - a;
    error = (a - (sum - part)) + (b - part);
  }
};

// The sign of start + width + rest - end + worlds * period.
inline int sign_of_way(double start, double width, double rest, double end, double worlds, double period) {
  const double shift = worlds * period;
  const TwoSum between(start, -end), moved(between.sum, shift), reached(moved.sum, width);
  const double near = reached.sum + rest;
  const double error = 0x1p-50 * (std::abs(start) + std::abs(end) + std::abs(shift) + std::abs(width));
  if (near > error || near < -error) return near > 0 ? 1 : -1;
  // Round numbers that touch.
  const bool exact_way = worlds == 0 || worlds == 1 || worlds == -1;
  if (exact_way && rest == 0 && between.error == 0 && moved.error == 0 && reached.error == 0)
    return near > 0 ? 1 : near < 0 ? -1 : 0;
  ExactSum::Range range;
  for (const double x : {start, width, rest, end, worlds, period, 1.0}) range.see(x);
  ExactSum sum(range);
  for (const double x : {start, width, rest}) sum.add(x, 1, 1);
  sum.subtract(end, 1, 1);
  sum.add(worlds, period, 1);
  return sum.sign();
}

}  // namespace detail

// Whether two spans meet if the second is moved by so many periods: as closed ones, or their interiors.
inline bool spans_meet(const AxisSpan& a, const AxisSpan& b, double worlds, double period, bool closed) {
  const double between = a.worlds - b.worlds - worlds;
  const int over = detail::sign_of_way(a.base, a.width, a.rest, b.base, between, period);
  if (over < 0 || (over == 0 && !closed)) return false;
  const int back = detail::sign_of_way(b.base, b.width, b.rest, a.base, -between, period);
  return back > 0 || (back == 0 && closed);
}

// A span where it was given. Preconditions: lower <= upper, and not the same infinity.
inline AxisSpan span_of(double lower, double upper) {
  const detail::TwoSum width(upper, -lower);
  const bool is_finite = width.sum < std::numeric_limits<double>::infinity();
  return {is_finite ? lower : 0.0, 0.0, width.sum, is_finite ? width.error : 0.0};
}

inline constexpr double kFewPeriods = 1024;

// The same at its place in the cell: either base is within half a period of 0, or it is moved by few periods.
inline void put_into_cell(const PeriodicCell& cell, std::size_t axis, AxisSpan& span) {
  if (span.is_everywhere()) return;
  const double period = cell.period[axis], from = cell.from[axis];
  // Nearly always, rounded numbers tell which period a box is in, and a sum with so few periods loses nothing to speak
  // of.
  const double periods = (span.base - from) / period;
  if (std::abs(periods) < kFewPeriods) {
    const double whole = static_cast<double>(static_cast<int>(periods)), worlds = periods < whole ? 1 - whole : -whole;
    const double beyond = span.base + worlds * period - from;
    const double room = 0x1p-48 * (std::abs(span.base) + std::abs(from) + period);
    if (beyond > room && beyond < period - room) {
      span.worlds = worlds;
      return;
    }
  }
  span.base = std::remainder(span.base, period);  // exact, however far away
  span.worlds = -std::floor((span.base - from) / period);
  const auto side = [&](double worlds) { return detail::sign_of_way(span.base, 0, 0, from, worlds, period); };
  while (side(span.worlds) < 0) span.worlds += 1;
  while (side(span.worlds - 1) >= 0) span.worlds -= 1;
}

// The lower corners of boxes at their places are within so many periods. A little more than one: lower corners of boxes
// of many sizes around the cell are.
inline constexpr double kPlaces = 9.0 / 8;

// Chooses where the cell begins along an axis, by the lower corners of some boxes, which are put in order: at the least
// of as many as possible that are within a period, so that most boxes are given at their places. Any choice is right.
inline double choose_from(double period, double* lower, std::size_t count) {
  constexpr double kFarthest = 0x1p40;  // in periods
  const auto is_near = [&](double from) {
    return std::abs(from) < kFarthest * period && std::abs(from) + period < 0x1p1000;
  };
  if (count == 0) return -period / 2;
  const auto [least, greatest] = std::minmax_element(lower, lower + count);
  double from = *least;
  if (!(*greatest - *least < kPlaces * period)) {
    // Sorting takes longer than to have a few more boxes moved.
    constexpr std::size_t kSorted = 128;
    const std::size_t one_of = (count + kSorted - 1) / kSorted;
    count /= one_of;
    for (std::size_t k = 0; k < count; ++k) lower[k] = lower[k * one_of];
    std::sort(lower, lower + count);
    std::size_t most = 0;
    for (std::size_t begin = 0, end = 0; begin < count; ++begin) {
      while (end < count && lower[end] - lower[begin] < period) ++end;
      if (end - begin > most) most = end - begin, from = lower[begin];
    }
  }
  return is_near(from) ? from : -period / 2;
}

// Two boxes meet in the cell if, along each axis, some image of one meets the other. The lower corner of a box
// may be anywhere in [from, from + kPlaces * period). If no box is wider than half a period, either two meet at their
// places, or one that reaches `from + period` meets the other when it is moved down by a period:
//
//   from                    from + period
//    |  [ j ]              [ i  |  ]           i and j meet at their places along no axis,
//  [ i' |  ]                    |              but j meets the image i' of i
//
// So the boxes at their places and, for those that reach beyond the cell, one image for each set of these axes, have
// all pairs; exact comparison says which of several ways to meet along an axis counts, and thus keeps each pair once.
// Boxes wider than half a period are put over all these places along that axis, where they are compared exactly.
//
// Numbers below the count of given boxes are their rows; images follow. Boxes that are given at a place stay as they
// are. Others are put where their lower corners are in [from, from + period), along all axes, rounded outwards.
//
// Nearly all boxes are at their places and need no image. So they are copied first, and tested together for that; then
// it is known where the cell best begins, at the least lower corner, and `place` looks at the others.
template <class T>
class CellBoxes {
 public:
  // Boxes are grown as by `overlaps`, and copied. `cell.from`: about where the cell begins. Throws InvalidBoxes.
  CellBoxes(const BoxView<T>& boxes, T grow, bool touching, const PeriodicCell& cell, unsigned workers,
            Interrupt& interrupt)
      : count_(boxes.count), grow_(grow), touching_(touching), cell_(cell) {
    for (std::size_t k = 0; k < cell.dimension; ++k) {
      if (!cell.repeats(k)) continue;
      from_[k] = not_below(cell.from[k]);
      end_[k] = end_of(lowest_from(k), cell.period[k]);
      half_[k] = static_cast<T>(cell.period[k] / 2);
    }
    corners_.grow(2 * cell.dimension * (count_ + count_ / 8 + 16));
    with_dimension(cell.dimension, [&](auto d) { copy<decltype(d)::value>(boxes, workers, interrupt); });
  }

  // Where the cell is to begin: at the least lower corner, unless that is far below where it was said to begin.
  double least_from(std::size_t k) const { return std::min<double>(cell_.from[k], least_[k]); }

  // Puts all boxes to their places. `from`: of each axis, between `least_from` and where it was said to begin. Throws
  // InvalidBoxes for boxes that are nowhere: both corners at the same infinity of an axis that repeats. Open boxes
  // without interior need no images.
  void place(const double* from, Interrupt& interrupt) {
    for (std::size_t k = 0; k < cell_.dimension; ++k) {
      if (!cell_.repeats(k)) continue;
      cell_.from[k] = from[k];
      from_[k] = not_below(from[k]);
      end_[k] = end_of(from[k], cell_.period[k]);
      beyond_[k] = end_of(from[k], kPlaces * cell_.period[k]);
      const double farthest = std::max(std::abs(from[k] - cell_.period[k]), std::abs(from[k] + 2 * cell_.period[k]));
      rounding_[k] = 8 * kRounding * farthest + 0x1p-36 * cell_.period[k] + 64 * kLeast;
    }
    in_stretches(apart_.size(), interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; ++at) {
        read_ahead_of(static_cast<std::int32_t>(apart_[std::min(at + kRowsAhead, apart_.size() - 1)]));
        place_row(apart_[at]);
      }
    });
    apart_ = {};
    if (has_moved()) {
      is_moved_.resize((count_ + images_.size()) / 64 + 1, ~std::uint64_t{0});
      is_moved_[count_ / 64] |= ~std::uint64_t{0} << count_ % 64;
    }
    if (count_ + images_.size() >= std::size_t{1} << 31)
      throw std::length_error("too many images: most boxes are as wide as half a period");
  }

  std::size_t count() const { return count_; }  // of the boxes given
  std::size_t image_count() const { return images_.size(); }
  BoxView<T> view() const { return view_of_rows<T>(corners_.get(), cell_.dimension, count() + image_count()); }
  // Whether rows are not as they were given.
  bool has_moved() const { return !moved_rows_.empty(); }
  // Whether a number is a row that is as it was given.
  bool is_as_given(std::int32_t number) const {
    const auto at = static_cast<std::size_t>(number);
    return has_moved() ? (is_moved_[at / 64] >> at % 64 & 1) == 0 : at < count_;
  }
  std::int32_t row_of(std::int32_t number) const {
    const auto at = static_cast<std::size_t>(number);
    return at < count() ? number : images_[at - count()].row;
  }

  void read_ahead_of(std::int32_t number) const { read_ahead(corners_of(number)); }

  // Calls use(row) for each image, ascending.
  template <class Use>
  void for_each_image(Use&& use) const {
    for (const Image& image : images_) use(image.row);
  }

  // Whether two boxes that are not both as they were given meet, and no other two images of theirs are to be taken.
  // They overlap as far as rounded boxes tell, and along axes that do not repeat. The second is of `others`, in the
  // same cell.
  bool takes(std::int32_t a, const CellBoxes& others, std::int32_t b) const {
    const Image own = image_of(a), other = others.image_of(b);
    if ((own.axes & other.axes) != 0) return false;
    const Covered &mine = covered_of(own.row), &theirs = others.covered_of(other.row);
    const std::uint32_t covered = mine.axes | theirs.axes, filled = mine.filled | theirs.filled;
    if ((covered & (own.axes | other.axes)) != 0) return false;
    // Nearly always, the rounded boxes tell.
    const std::size_t dimension = cell_.dimension;
    const T *one = corners_of(a), *two = others.corners_of(b);
    bool is_clear = true;
    for (std::size_t k = 0; k < dimension; ++k) {
      if (!cell_.repeats(k)) continue;
      double low = one[k], high = one[dimension + k], other_low = two[k], other_high = two[dimension + k];
      const double period = cell_.period[k], room = rounding_[k];
      if ((covered >> k & 1) != 0) {
        if ((mine.axes >> k & 1) != 0) low = mine.corners[k], high = mine.corners[4 + k];
        if ((theirs.axes >> k & 1) != 0) other_low = theirs.corners[k], other_high = theirs.corners[4 + k];
      }
      if (!touching_) is_clear &= high - low > room && other_high - other_low > room;
      if ((filled >> k & 1) != 0) continue;
      double common = std::min(high - other_low, other_high - low);
      if ((covered >> k & 1) != 0) {
        common = std::max({common, std::min(high - period - other_low, other_high - low + period),
                           std::min(high + period - other_low, other_high - low - period)});
        if (common < -room) return false;  // they meet in no image
      }
      is_clear &= common > room;
      const bool own_below = (own.axes >> k & 1) != 0, other_below = (other.axes >> k & 1) != 0;
      if (own_below || other_below) {
        const double between = own_below ? low + period - other_high : other_low + period - high;
        if (between < -room) return false;  // they meet at their places
        is_clear &= between > room;
      }
    }
    return is_clear || takes_exactly(own, others, other);
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  struct Image {
    std::int32_t row;
    std::uint32_t axes;  // bits of those along which it is one period below its place
  };
  // A row that is put over the whole cell along some axes.
  struct Covered {
    std::uint32_t axes = 0, filled = 0;  // bits of those, and of those along which it is as wide as a period or wider
    double corners[8] = {};              // along them, those of the box at its place, rounded
  };
  // Converting a number to T takes less than this from each of its units, or less than the other.
  static constexpr double kRounding = std::numeric_limits<T>::epsilon() * 4,
                          kLeast = std::numeric_limits<T>::denorm_min();

  bool takes_exactly(const Image& own, const CellBoxes& others, const Image& other) const {
    const Covered &mine = covered_of(own.row), &theirs = others.covered_of(other.row);
    for (std::size_t k = 0; k < cell_.dimension; ++k) {
      if (!cell_.repeats(k)) continue;
      const AxisSpan one = span_at(own.row, k), two = others.span_at(other.row, k);
      if (!touching_ && (one.width == 0 || two.width == 0)) return false;
      if (((mine.filled | theirs.filled) >> k & 1) != 0) continue;
      const bool own_below = (own.axes >> k & 1) != 0, other_below = (other.axes >> k & 1) != 0;
      const auto meet = [&](double worlds) { return spans_meet(one, two, worlds, cell_.period[k], touching_); };
      if (own_below || other_below) {
        if (meet(0) || !meet(own_below ? 1 : -1)) return false;
      } else if (!meet(0)) {
        if (((mine.axes | theirs.axes) >> k & 1) == 0 || !(meet(-1) || meet(1))) return false;
      }
    }
    return true;
  }

  // Rows that may not be at their places, need an image, or are wide; and of their lower corners the least at which the
  // cell may begin.
  struct Apart {
    std::vector<std::uint32_t> rows;
    std::array<T, 4> least{kBeyond, kBeyond, kBeyond, kBeyond};
  };

  // Copies all boxes, grown, and lists those that may not be at their places, need an image, or are wide: without a
  // branch, for which ones these are is a guess that a processor often makes wrong.
  template <std::size_t D>
  void copy(const BoxView<T>& boxes, unsigned workers, Interrupt& interrupt) {
    constexpr std::size_t kRowsATask = std::size_t{1} << 14, kTasksWorthThreads = 3;
    const std::size_t tasks = (count_ + kRowsATask - 1) / kRowsATask;
    std::vector<Apart> apart(tasks);
    std::atomic<bool> valid{true};
    for_each_task(tasks, tasks < kTasksWorthThreads ? 1 : workers, interrupt, [&](unsigned, std::size_t task) {
      const std::size_t begin = task * kRowsATask, end = std::min(count_, begin + kRowsATask);
      if (!copy_some<D>(boxes, begin, end, apart[task])) valid.store(false);
    });
    if (!valid) throw InvalidBoxes();
    for (const Apart& some : apart) {
      apart_.insert(apart_.end(), some.rows.begin(), some.rows.end());
      for (std::size_t k = 0; k < D; ++k) least_[k] = std::min(least_[k], some.least[k]);
    }
  }

  // Rows [begin, end); false if there is NaN or lower > upper.
  template <std::size_t D>
  bool copy_some(const BoxView<T>& boxes, std::size_t begin, std::size_t end, Apart& apart) {
    // As many numbers as compilers take at a time, where a box has fewer: nothing is asked of the last ones, which are
    // those of the next box.
    constexpr std::size_t kTogether = 64, kLanes = sizeof(T) > 4 && D < 3 ? 2 : 4;
    T from[kLanes], last[kLanes], widest[kLanes];
    for (std::size_t k = 0; k < kLanes; ++k) {
      from[k] = k < D ? from_[k] : 0;
      last[k] = k < D && cell_.repeats(k) ? std::nextafter(end_[k], -kBeyond) : kBeyond;
      widest[k] = k < D ? half_[k] - 2 * grow_ : 0;
    }
    T lowest[D];
    for (std::size_t k = 0; k < D; ++k) lowest[k] = not_below(lowest_from(k));
    const T grow = grow_;
    const bool is_dense = boxes.lower_stride == 2 * std::ptrdiff_t{D} && boxes.upper_stride == boxes.lower_stride &&
                          boxes.upper == boxes.lower + D;
    T corners[2 * D * kTogether + kLanes] = {};
    std::uint32_t listed[kTogether];
    bool valid = true;
    for (; begin < end; begin += kTogether) {
      const std::size_t here = std::min(kTogether, end - begin);
      if (is_dense) {
        std::copy_n(boxes.lower_of(begin), 2 * D * here, corners);
      } else {
        for (std::size_t k = 0; k < here; ++k) {
          std::copy_n(boxes.lower_of(begin + k), D, corners + 2 * D * k);
          std::copy_n(boxes.upper_of(begin + k), D, corners + 2 * D * k + D);
        }
      }
      std::size_t count = 0;
      for (std::size_t row = 0; row < here; ++row) {
        // What is left of each limit, the least of all along each axis; below 0 or NaN if one is passed. Of two numbers
        // the second is taken if one is NaN: a width that is, for NaN and for infinite corners, is kept.
        T left[kLanes];
        for (std::size_t k = 0; k < kLanes; ++k) {
          const T low = corners[2 * D * row + k], high = corners[2 * D * row + D + k], width = high - low;
          const T below = low - grow - from[k], above = last[k] - (high + grow), wide = widest[k] - width;
          const T place = below < above ? below : above, size = wide < width ? wide : width;
          left[k] = place < size ? place : size;
        }
        bool is_listed = false;
        for (std::size_t k = 0; k < D; ++k) is_listed |= !(left[k] >= 0);
        listed[count] = static_cast<std::uint32_t>(row);
        count += is_listed ? 1 : 0;
      }
      for (std::size_t at = 0; at < count; ++at) {
        const T* const box = corners + 2 * D * listed[at];
        for (std::size_t k = 0; k < D; ++k) {
          valid &= box[k] <= box[D + k];
          const T low = box[k] - grow;
          if (low >= lowest[k]) apart.least[k] = std::min(apart.least[k], low);
        }
        apart.rows.push_back(static_cast<std::uint32_t>(begin) + listed[at]);
      }
      T* const to = corners_.get() + 2 * D * begin;
      if (grow == 0)
        std::copy_n(corners, 2 * D * here, to);
      else
        for (std::size_t row = 0; row < here; ++row)
          for (std::size_t k = 0; k < D; ++k) {
            to[2 * D * row + k] = corners[2 * D * row + k] - grow;
            to[2 * D * row + D + k] = corners[2 * D * row + D + k] + grow;
          }
    }
    return valid;
  }

  // A box that may not be at its place, is wide, crosses a face, or has infinite corners.
  void place_row(std::size_t row) {
    const std::size_t dimension = cell_.dimension;
    T* to = corners_.get() + row * 2 * dimension;
    std::array<AxisSpan, 4> spans;
    bool has_interior = true;
    std::uint32_t crossed = 0, covered = 0, moved = 0;
    for (std::size_t k = 0; k < dimension; ++k) {
      const T low = to[k], high = to[dimension + k];
      has_interior &= low < high;
      if (!cell_.repeats(k)) continue;
      if (low == high && std::isinf(low)) throw InvalidBoxes();
      spans[k] = span_of(low, high);
      if (spans[k].width > half_[k]) covered |= 1u << k;
      if (!(low >= from_[k] && low < beyond_[k])) moved |= 1u << k;
      if (high >= end_[k]) crossed |= 1u << k;
    }
    if ((moved | covered) != 0) {
      if (!has_moved()) is_moved_.assign(count_ / 64 + 1, 0);
      is_moved_[row / 64] |= std::uint64_t{1} << row % 64;
      moved_rows_.push_back(static_cast<std::int32_t>(row));
      moved_corners_.insert(moved_corners_.end(), to, to + 2 * dimension);
      if (covered != 0) cover(row, covered, spans);
      crossed = 0;
      for (std::size_t k = 0; k < dimension; ++k) {
        if (!cell_.repeats(k)) continue;
        if ((covered >> k & 1) != 0) {
          to[k] = from_[k], to[dimension + k] = beyond_[k];
          continue;
        }
        if (!(to[k] >= from_[k] && to[k] < end_[k])) {
          put_into_cell(cell_, k, spans[k]);
          write(k, spans[k], 0, to);
        }
        if (reach_of(k, spans[k], 0)[1] >= end_[k]) crossed |= 1u << k;
      }
    }
    if (!touching_ && !has_interior) return;
    for (std::uint32_t axes = crossed; axes != 0; axes = (axes - 1) & crossed) {
      const std::size_t number = count_ + images_.size();
      images_.push_back({static_cast<std::int32_t>(row), axes});
      if (2 * dimension * (number + 1) > corners_.size()) corners_.grow(2 * dimension * (number + number / 2 + 16));
      T* image = corners_.get() + number * 2 * dimension;
      std::copy_n(corners_.get() + row * 2 * dimension, 2 * dimension, image);
      for (std::size_t k = 0; k < dimension; ++k)
        if ((axes >> k & 1) != 0) write(k, spans[k], -1, image);
    }
  }

  // Notes a row that is put over the whole cell along some axes, by its spans where they were given.
  void cover(std::size_t row, std::uint32_t axes, std::array<AxisSpan, 4>& spans) {
    Covered covered{axes};
    for (std::size_t k = 0; k < cell_.dimension; ++k) {
      if ((axes >> k & 1) == 0) continue;
      // The width is rounded to the nearest: where it is more than the period, it was not less.
      if (spans[k].width > cell_.period[k])
        covered.filled |= 1u << k;
      else
        put_into_cell(cell_, k, spans[k]);
      covered.corners[k] = spans[k].base + spans[k].worlds * cell_.period[k];
      covered.corners[4 + k] = covered.corners[k] + spans[k].width;
    }
    if (covered_at_.empty()) covered_at_.assign(count_, 0);
    covered_at_[row] = static_cast<std::uint32_t>(covered_.size());
    covered_.push_back(covered);
  }

  // The grown corners of a row where it was given.
  const T* given_corners_of(std::int32_t row) const {
    if (is_as_given(row)) return corners_of(row);
    const auto at = std::lower_bound(moved_rows_.begin(), moved_rows_.end(), row) - moved_rows_.begin();
    return moved_corners_.data() + static_cast<std::size_t>(at) * 2 * cell_.dimension;
  }

  // How far below where it is said to begin the cell may begin at the least lower corner.
  double lowest_from(std::size_t k) const { return cell_.from[k] - cell_.period[k] / 128; }
  // A number of T is less only where it is less than the exact sum.
  static T end_of(double from, double periods) {
    const detail::TwoSum end(from, periods);
    return not_below(end.error < 0 ? std::nextafter(end.sum, -kInfinity) : end.sum);
  }
  // The least number of T that is not below x, or infinity.
  static T not_below(double x) {
    const T near = static_cast<T>(x);
    return static_cast<double>(near) < x ? std::nextafter(near, std::numeric_limits<T>::infinity()) : near;
  }
  // Not less than there is of a span that is moved by so many periods, also when it is rounded to T.
  std::array<double, 2> reach_of(std::size_t k, const AxisSpan& span, double worlds) const {
    const double shift = (span.worlds + worlds) * cell_.period[k], lower = span.base + shift;
    const double upper = lower + span.width;
    const double room = 0x1p-50 * (std::abs(span.base) + std::abs(shift) + span.width) + kLeast;
    return {lower - room - kRounding * std::abs(lower), upper + room + kRounding * std::abs(upper)};
  }
  void write(std::size_t k, const AxisSpan& span, double worlds, T* box) const {
    const auto [lower, upper] = reach_of(k, span, worlds);
    constexpr double kMost = std::numeric_limits<T>::max();
    box[k] = static_cast<T>(std::min(lower, kMost));
    box[cell_.dimension + k] = static_cast<T>(std::max(upper, -kMost));
  }

  Image image_of(std::int32_t number) const {
    const auto at = static_cast<std::size_t>(number);
    return at < count() ? Image{number, 0} : images_[at - count()];
  }
  const Covered& covered_of(std::int32_t row) const {
    return covered_[covered_at_.empty() || is_as_given(row) ? 0 : covered_at_[static_cast<std::size_t>(row)]];
  }
  const T* corners_of(std::int32_t number) const {
    return corners_.get() + static_cast<std::size_t>(number) * 2 * cell_.dimension;
  }
  AxisSpan span_at(std::int32_t row, std::size_t k) const {
    const T* corners = given_corners_of(row);
    AxisSpan span = span_of(corners[k], corners[cell_.dimension + k]);
    if (!is_as_given(row)) put_into_cell(cell_, k, span);
    return span;
  }

  std::size_t count_;
  T grow_;
  bool touching_;
  PeriodicCell cell_;
  // Where boxes are at their places, need no image, and are small, in T; infinite along axes that do not repeat.
  static constexpr T kBeyond = std::numeric_limits<T>::infinity();
  std::array<T, 4> from_{-kBeyond, -kBeyond, -kBeyond, -kBeyond}, end_{kBeyond, kBeyond, kBeyond, kBeyond},
      beyond_ = end_, half_ = end_;
  std::array<T, 4> least_{kBeyond, kBeyond, kBeyond, kBeyond};  // lower corners at which the cell may begin
  double rounding_[4] = {};              // more than a difference of rounded corners differs from that of the boxes
  std::vector<std::uint32_t> apart_;     // rows that are still to be placed
  PlainArray<T> corners_;                // lower, then upper, of each number
  std::vector<Image> images_;            // ascending by row
  std::vector<std::uint64_t> is_moved_;  // a bit for each number: not a row as it was given; empty if all rows are
  // Rows that are not as they were given, ascending, and their grown corners where they were.
  std::vector<std::int32_t> moved_rows_;
  std::vector<T> moved_corners_;
  std::vector<Covered> covered_ = {{}};    // those that are put over the whole cell, behind one that is not
  std::vector<std::uint32_t> covered_at_;  // where each row is there; empty if there are none
};

// Chooses about where the cell begins, by a sample of the boxes.
template <class T>
void choose_place(const Problem<T>& problem, PeriodicCell& cell) {
  constexpr std::size_t kSample = 512;
  double lower[4][2 * kSample];
  std::size_t count[4] = {};
  for (const BoxView<T>* boxes : {&problem.first, &problem.second}) {
    if (boxes == &problem.second && !problem.cross) continue;
    const StratifiedSample places(boxes->count, std::clamp<std::size_t>(boxes->count / 4, 64, kSample));
    for (std::size_t place = 0; place < places.size(); ++place) {
      const T* const corner = boxes->lower_of(places[place]);
      for (std::size_t k = 0; k < cell.dimension; ++k) {
        const double x = corner[k] - problem.grow;
        lower[k][count[k]] = x;
        count[k] += std::isfinite(x) ? 1 : 0;
      }
    }
  }
  for (std::size_t k = 0; k < cell.dimension; ++k)
    if (cell.repeats(k)) cell.from[k] = choose_from(cell.period[k], lower[k], count[k]);
}

// Rows by key, with the images of the rows behind the rows of their key.
template <class T>
RowsByKey with_images(const RowsByKey& by_key, const CellBoxes<T>& boxes, std::vector<std::uint32_t>& before) {
  const std::size_t keys = by_key.key_count();
  std::vector<std::uint32_t> key_of(boxes.count());
  for (std::uint32_t key = 0; key < keys; ++key)
    for (std::uint32_t at = by_key.start[key]; at < by_key.start[key + 1]; ++at)
      key_of[static_cast<std::size_t>(by_key.row(at))] = key;
  before.assign(keys + 1, 0);  // how many images there are of rows of lower keys
  boxes.for_each_image([&](std::int32_t row) { ++before[key_of[static_cast<std::size_t>(row)] + 1]; });
  for (std::size_t key = 0; key < keys; ++key) before[key + 1] += before[key];

  RowsByKey result;
  result.rows.grow(boxes.count() + boxes.image_count());
  result.start.resize(keys + 1);
  std::vector<std::uint32_t> next(keys);
  for (std::size_t key = 0; key <= keys; ++key) result.start[key] = by_key.start[key] + before[key];
  for (std::size_t key = 0; key < keys; ++key) {
    std::uint32_t to = result.start[key];
    for (std::uint32_t at = by_key.start[key]; at < by_key.start[key + 1]; ++at) result.rows[to++] = by_key.row(at);
    next[key] = to;
  }
  auto number = static_cast<std::int32_t>(boxes.count());
  boxes.for_each_image(
      [&](std::int32_t row) { result.rows[next[key_of[static_cast<std::size_t>(row)]]++] = number++; });
  return result;
}

// Boxes in a cell as a problem of open space, without a filter.
template <class T>
class CellProblem {
 public:
  CellProblem(const Problem<T>& given, PeriodicCell cell, unsigned workers, Interrupt& interrupt) : given_(given) {
    choose_place(given, cell);
    sets_.reserve(2);
    sets_.emplace_back(given.first, given.grow, given.touching, cell, workers, interrupt);
    if (given.cross) sets_.emplace_back(given.second, given.grow, given.touching, cell, workers, interrupt);
    double from[4];
    for (std::size_t k = 0; k < cell.dimension; ++k) {
      from[k] = cell.from[k];
      for (const CellBoxes<T>& set : sets_) from[k] = std::min(from[k], set.least_from(k));
    }
    for (CellBoxes<T>& set : sets_) set.place(from, interrupt);
    if (given.batches != nullptr) add_batches(*given.batches);
  }

  Problem<T> in_open_space() const {
    Problem<T> result = given_;
    result.first = first().view();
    if (given_.cross) result.second = second().view();
    result.grow = 0;
    result.is_own = true;
    result.filter = nullptr;
    result.batches = given_.batches != nullptr ? &batches_ : nullptr;
    return result;
  }
  const CellBoxes<T>& first() const { return sets_.front(); }
  const CellBoxes<T>& second() const { return sets_.back(); }
  bool cross() const { return given_.cross; }
  std::size_t image_count() const { return first().image_count() + (cross() ? second().image_count() : 0); }

 private:
  void add_batches(const Batches& given) {
    batches_.key_count = given.key_count;
    batches_.with_pairs = given.with_pairs;
    for (std::size_t k = 0; k < sets_.size(); ++k) {
      const std::vector<std::uint32_t>& start = given.sets[k].start;
      std::vector<std::uint32_t> before;
      batches_.sets[k] = with_images(given.sets[k], sets_[k], before);
      for (Batch& batch : batches_.with_pairs) {
        const auto key =
            static_cast<std::size_t>(std::lower_bound(start.begin(), start.end(), batch.begin[k]) - start.begin());
        batch.begin[k] += before[key];
        batch.end[k] += before[key + 1];
      }
    }
  }

  Problem<T> given_;
  std::vector<CellBoxes<T>> sets_;
  Batches batches_;
};

// Finds the pairs of boxes and images by a method, and keeps those that are to be taken, as rows.
template <class T>
class CellPairs {
 public:
  struct Scratch {
    std::shared_ptr<void> of_method;
    PairBuffer found{nullptr, false};
  };

  CellPairs(const Problem<T>& problem, const PeriodicCell& cell, MethodName name, const Preparation& with)
      : problem_(problem, cell, with.workers, with.interrupt),
        method_(prepare_method(name, problem_.in_open_space(), with)),
        is_filtered_(problem.filter != nullptr) {}

  std::size_t task_count() const { return method_.task_count; }

  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
    if (scratch.of_method == nullptr) scratch.of_method = method_.make_scratch();
    // Where nothing else looks at the pairs before, they are kept in place.
    const bool in_place = !is_filtered_ && !out.counts_only() && out.limit_before_filter() == kNoLimit;
    PairBuffer& found = in_place ? out : scratch.found;
    if (!in_place) found.clear();
    const PairBuffer::Mark before = found.mark();
    method_.run(task, scratch.of_method.get(), found);
    const std::size_t count = found.size() - before.size;
    found.rewind(before);
    std::int32_t *first = found.first(), *second = found.second();
    for (std::size_t begin = 0; begin < count; begin += kStretch) {
      const std::size_t part = std::min(kStretch, count - begin), kept = keep(first + begin, second + begin, part);
      if (!in_place) out.room(kept);
      if (out.first() != first + begin) {
        std::copy_n(first + begin, kept, out.first());
        std::copy_n(second + begin, kept, out.second());
      }
      out.commit(kept);
    }
  }

 private:
  static constexpr std::size_t kStretch = 2048;

  // Leaves those that are to be taken, as rows; returns how many. Their order depends on nothing but these pairs.
  std::size_t keep(std::int32_t* first, std::int32_t* second, std::size_t count) const {
    const CellBoxes<T>&one = problem_.first(), &two = problem_.second();
    // Those of images, or of boxes that are not as they were given: listed without a branch, for which ones these are
    // is a guess that a processor often makes wrong.
    std::uint32_t listed[kStretch];
    std::size_t left = 0;
    const auto list = [&](const auto& is_listed) {
      for (std::uint32_t at = 0; at < count; ++at) {
        listed[left] = at;
        left += is_listed(first[at], second[at]) ? 1 : 0;
      }
    };
    const bool cross = problem_.cross();
    const auto one_count = static_cast<std::int32_t>(one.count()), two_count = static_cast<std::int32_t>(two.count());
    if (one.has_moved() || two.has_moved())
      list([&](std::int32_t a, std::int32_t b) { return !one.is_as_given(a) | !two.is_as_given(b); });
    else if (cross)
      list([&](std::int32_t a, std::int32_t b) { return (a >= one_count) | (b >= two_count); });
    else
      list([&](std::int32_t, std::int32_t b) { return b >= one_count; });  // the larger number
    // From the last to the first: the last pair takes the place of one that is not to be taken.
    for (std::size_t kept = count;;) {
      if (left == 0) return kept;
      constexpr std::size_t kAhead = 8;
      const std::size_t at = listed[--left], soon = listed[left > kAhead ? left - kAhead : 0];
      one.read_ahead_of(first[soon]);
      two.read_ahead_of(second[soon]);
      const std::int32_t a = first[at], b = second[at], row = one.row_of(a), other = two.row_of(b);
      if ((!cross && row == other) || !one.takes(a, two, b)) {
        --kept;
        first[at] = first[kept];
        second[at] = second[kept];
        continue;
      }
      first[at] = cross ? row : std::min(row, other);
      second[at] = cross ? other : std::max(row, other);
    }
  }

  CellProblem<T> problem_;
  PreparedMethod method_;
  bool is_filtered_;
};

}  // namespace broadphase
