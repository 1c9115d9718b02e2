// Pairs of boxes in a periodic cell, by any method: of boxes in open space, each at its place, and once more for each
// face that it crosses.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/memory.hpp"
#include "base/parallel.hpp"
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
  double from[4] = {};    // a box has its place where its lower corner is in [from, from + period)

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

// Chooses where the cell begins along an axis, by the lower corners of some boxes, which are sorted: so that most boxes
// are given at their places. Any choice is right.
inline double choose_from(double period, double* lower, std::size_t count) {
  constexpr double kFarthest = 0x1p40;  // in periods
  std::sort(lower, lower + count);
  std::size_t best = 0, most = 0;
  for (std::size_t begin = 0, end = 0; begin < count; ++begin) {
    while (end < count && lower[end] - lower[begin] < period) ++end;
    if (end - begin > most) most = end - begin, best = begin;
  }
  const double least = most > 0 ? lower[best] : -period / 2,
               spread = most > 0 ? lower[best + most - 1] - least : period;
  const double from = least - (period - spread) / 2;
  const bool is_near = std::abs(from) < kFarthest * period && std::abs(from) + period < 0x1p1000;
  return is_near ? from : -period / 2;
}

// Two boxes meet in the cell if, along each axis, some image of one meets the other. With lower corners in
// [from, from + period) and no box wider than that, either they meet at their places, or the one that crosses the upper
// face meets the other when it is moved down by a period:
//
//   from                    from + period
//    |  [ j ]              [ i  |  ]           i and j meet at their places along no axis,
//  [ i' |  ]                    |              but j meets the image i' of i
//
// So the boxes at their places and, for those that cross upper faces, one image for each set of these faces, have all
// pairs; exact comparison says which of several ways to meet along an axis counts, and thus keeps each pair once.
// Boxes wider than half a period are put over the whole cell along that axis, where they are compared exactly.
//
// Numbers below the count of given boxes are their rows; images follow. Boxes that are given at their places stay as
// they are; all others are rounded outwards.
template <class T>
class CellBoxes {
 public:
  // Boxes are grown as by `overlaps`. Throws InvalidBoxes also for those that are nowhere: both corners at the same
  // infinity of an axis that repeats. Open boxes without interior need no images.
  CellBoxes(const BoxView<T>& boxes, T grow, bool touching, const PeriodicCell& cell, unsigned workers,
            Interrupt& interrupt)
      : boxes_(boxes), grow_(grow), touching_(touching), cell_(cell) {
    const std::size_t dimension = cell.dimension;
    for (std::size_t k = 0; k < dimension; ++k) {
      if (!cell.repeats(k)) continue;
      const detail::TwoSum end(cell.from[k], cell.period[k]);
      from_[k] = not_below(cell.from[k]);
      end_[k] = not_below(end.error < 0 ? std::nextafter(end.sum, -kInfinity) : end.sum);  // never beyond the end
      half_[k] = static_cast<T>(cell.period[k] / 2);
    }
    corners_.grow(2 * dimension * (boxes.count + boxes.count / 8 + 16));
    is_moved_.assign(boxes.count / 64 + 1, 0);
    with_dimension(dimension, [&](auto d) { place_all<decltype(d)::value>(workers, interrupt); });
    is_moved_.resize((boxes.count + images_.size()) / 64 + 1, ~std::uint64_t{0});
    is_moved_[boxes.count / 64] |= ~std::uint64_t{0} << boxes.count % 64;
    if (boxes.count + images_.size() >= std::size_t{1} << 31)
      throw std::length_error("too many images: most boxes are as wide as half a period");
  }

  std::size_t count() const { return boxes_.count; }  // of the boxes given
  std::size_t image_count() const { return images_.size(); }
  BoxView<T> view() const { return view_of_rows<T>(corners_.get(), cell_.dimension, count() + image_count()); }
  // Whether a number is a row that is as it was given.
  bool is_as_given(std::int32_t number) const {
    const auto at = static_cast<std::size_t>(number);
    return (is_moved_[at / 64] >> at % 64 & 1) == 0;
  }
  std::int32_t row_of(std::int32_t number) const {
    const auto at = static_cast<std::size_t>(number);
    return at < count() ? number : images_[at - count()].row;
  }

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
      const auto [low, high] = mine.reach(k, one, dimension);
      const auto [other_low, other_high] = theirs.reach(k, two, dimension);
      const double period = cell_.period[k];
      const double room =
          16 * kRounding * (std::abs(low) + std::abs(high) + std::abs(other_low) + std::abs(other_high)) +
          0x1p-36 * period + 64 * kLeast;
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

    // From where to where the box is along an axis: those of the cell, or at its place.
    std::array<double, 2> reach(std::size_t k, const T* box, std::size_t dimension) const {
      if ((axes >> k & 1) != 0) return {corners[k], corners[4 + k]};
      return {box[k], box[dimension + k]};
    }
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

  // Threads write the boxes that are at their places, and set the others aside, with the corners that they have read:
  // another thread may write to them. These are placed one after the other.
  template <std::size_t D>
  void place_all(unsigned workers, Interrupt& interrupt) {
    constexpr std::size_t kRowsATask = std::size_t{1} << 14, kTasksWorthThreads = 3;
    struct Other {
      std::size_t row;
      T lower[D], upper[D];
    };
    const std::array<T, 4> from = from_, ends = end_;
    std::array<T, 4> widest = half_;
    for (T& width : widest) width -= 2 * grow_;
    const T grow = grow_;
    const std::size_t tasks = (boxes_.count + kRowsATask - 1) / kRowsATask;
    std::vector<std::vector<Other>> others(tasks);
    for_each_task(tasks, tasks < kTasksWorthThreads ? 1 : workers, interrupt, [&](unsigned, std::size_t task) {
      for (std::size_t row = task * kRowsATask; row < std::min(boxes_.count, (task + 1) * kRowsATask); ++row) {
        Other box{row, {}, {}};
        for (std::size_t k = 0; k < D; ++k)
          box.lower[k] = boxes_.lower_of(row)[k], box.upper[k] = boxes_.upper_of(row)[k];
        T* to = corners_.get() + row * 2 * D;
        // All differences are at least 0 for most boxes, and then the box stays as it is. std::min passes over NaN as
        // its second argument, which the sum shows.
        T least = kBeyond, beneath = kBeyond, sum = 0;
        for (std::size_t k = 0; k < D; ++k) {
          const T low = box.lower[k] - grow, high = box.upper[k] + grow, width = box.upper[k] - box.lower[k];
          to[k] = low;
          to[D + k] = high;
          sum += width;
          least = std::min(least, width);
          least = std::min(least, low - from[k]);
          least = std::min(least, widest[k] - width);
          beneath = std::min(beneath, ends[k] - high);
        }
        if (!(least >= 0) || !(beneath > 0) || !(sum >= 0)) others[task].push_back(box);
      }
    });
    for (const std::vector<Other>& some : others) {
      for (const Other& box : some) place(box.row, box.lower, box.upper);
      interrupt.check();
    }
  }

  // A box that is not at its place, is wide, crosses a face, has infinite corners, or is none.
  void place(std::size_t row, const T* lower, const T* upper) {
    const std::size_t dimension = cell_.dimension;
    std::array<AxisSpan, 4> spans;
    bool has_interior = true;
    std::uint32_t crossed = 0, covered = 0, moved = 0;
    for (std::size_t k = 0; k < dimension; ++k) {
      if (!(lower[k] <= upper[k])) throw InvalidBoxes();
      const double low = lower[k] - grow_, high = upper[k] + grow_;
      has_interior &= low < high;
      if (!cell_.repeats(k)) continue;
      if (low == high && std::isinf(low)) throw InvalidBoxes();
      AxisSpan& span = spans[k] = span_of(low, high);
      if (span.width > half_[k]) {
        covered |= 1u << k;
        continue;
      }
      if (!(low >= from_[k] && low < end_[k])) {
        put_into_cell(cell_, k, span);
        moved |= 1u << k;
      }
      if (reach_of(k, span, 0)[1] >= end_[k]) crossed |= 1u << k;
    }
    T* to = corners_.get() + row * 2 * dimension;
    if ((moved | covered) != 0) {
      is_moved_[row / 64] |= std::uint64_t{1} << row % 64;
      moved_rows_.push_back(static_cast<std::int32_t>(row));
      moved_corners_.insert(moved_corners_.end(), to, to + 2 * dimension);
      if (covered != 0) cover(row, covered, spans);
      for (std::size_t k = 0; k < dimension; ++k)
        if ((covered >> k & 1) != 0)
          to[k] = from_[k], to[dimension + k] = end_[k];
        else if ((moved >> k & 1) != 0)
          write(k, spans[k], 0, to);
    }
    if (!touching_ && !has_interior) return;
    for (std::uint32_t axes = crossed; axes != 0; axes = (axes - 1) & crossed) {
      const std::size_t number = boxes_.count + images_.size();
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
    if (covered_at_.empty()) covered_at_.assign(boxes_.count, 0);
    covered_at_[row] = static_cast<std::uint32_t>(covered_.size());
    covered_.push_back(covered);
  }

  // The grown corners of a row where it was given.
  const T* given_corners_of(std::int32_t row) const {
    if (is_as_given(row)) return corners_of(row);
    const auto at = std::lower_bound(moved_rows_.begin(), moved_rows_.end(), row) - moved_rows_.begin();
    return moved_corners_.data() + static_cast<std::size_t>(at) * 2 * cell_.dimension;
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
    return covered_[covered_at_.empty() ? 0 : covered_at_[static_cast<std::size_t>(row)]];
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

  BoxView<T> boxes_;
  T grow_;
  bool touching_;
  PeriodicCell cell_;
  // Where boxes are at their places and small, in T; infinite along axes that do not repeat.
  static constexpr T kBeyond = std::numeric_limits<T>::infinity();
  std::array<T, 4> from_{-kBeyond, -kBeyond, -kBeyond, -kBeyond}, end_{kBeyond, kBeyond, kBeyond, kBeyond},
      half_ = end_;
  PlainArray<T> corners_;                // lower, then upper, of each number
  std::vector<Image> images_;            // ascending by row
  std::vector<std::uint64_t> is_moved_;  // a bit for each number: not a row as it was given
  // Rows that are not as they were given, ascending, and their grown corners where they were.
  std::vector<std::int32_t> moved_rows_;
  std::vector<T> moved_corners_;
  std::vector<Covered> covered_ = {{}};    // those that are put over the whole cell, behind one that is not
  std::vector<std::uint32_t> covered_at_;  // where each row is there; empty if there are none
};

// Chooses where the cell begins, by a sample of the boxes.
template <class T>
void choose_place(const Problem<T>& problem, PeriodicCell& cell) {
  constexpr std::size_t kSample = 128;
  std::array<double, 2 * kSample> lower;
  for (std::size_t k = 0; k < cell.dimension; ++k) {
    if (!cell.repeats(k)) continue;
    std::size_t count = 0;
    for (const BoxView<T>* boxes : {&problem.first, &problem.second}) {
      if (boxes == &problem.second && !problem.cross) continue;
      const StratifiedSample places(boxes->count, kSample);
      for (std::size_t place = 0; place < places.size(); ++place) {
        const double x = boxes->lower_of(places[place])[k] - problem.grow;
        if (std::isfinite(x)) lower[count++] = x;
      }
    }
    cell.from[k] = choose_from(cell.period[k], lower.data(), count);
  }
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
    const std::int32_t *first = found.first(), *second = found.second();
    if (in_place) {
      out.commit(keep(first, second, count, out));
      return;
    }
    for (std::size_t begin = 0; begin < count; begin += kStretch) {
      const std::size_t part = std::min(kStretch, count - begin);
      out.room(part);
      out.commit(keep(first + begin, second + begin, part, out));
    }
  }

 private:
  static constexpr std::size_t kStretch = 8192;

  // Writes those that are to be taken to where `out` has room, which may be where they are; returns how many.
  std::size_t keep(const std::int32_t* first, const std::int32_t* second, std::size_t count, PairBuffer& out) const {
    const CellBoxes<T>&one = problem_.first(), &two = problem_.second();
    const bool cross = problem_.cross();
    std::int32_t *to_first = out.first(), *to_second = out.second();
    std::size_t kept = 0;
    for (std::size_t at = 0; at < count; ++at) {
      std::int32_t a = first[at], b = second[at];
      if (!one.is_as_given(a) || !two.is_as_given(b)) {
        const std::int32_t row = one.row_of(a), other = two.row_of(b);
        if ((!cross && row == other) || !one.takes(a, two, b)) continue;
        a = cross ? row : std::min(row, other);
        b = cross ? other : std::max(row, other);
      }
      to_first[kept] = a;
      to_second[kept++] = b;
    }
    return kept;
  }

  CellProblem<T> problem_;
  PreparedMethod method_;
  bool is_filtered_;
};

}  // namespace broadphase
