// Points that move one at a time between queries for those around a place: rows in the cells of a grid.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/samples.hpp"

namespace broadphase {

// What is within a distance, and how distances are measured. Each difference along an axis is rounded, then its square,
// then each sum from the first axis on: as NumPy and SciPy do, so that results equal theirs to the bit.
struct PlaceToSearch {
  const double* point = nullptr;  // one number per axis, all finite
  const double* size = nullptr;   // of the space, where it repeats: the way across the border counts if it is shorter
  double radius = 0;              // not negative; may be infinite
  bool is_squared = false;        // compares squares with `limit`; else their roots with the radius
  double limit = 0;               // about the square of the radius
  std::int32_t without = -1;      // a row that does not count
};

struct FoundPoint {
  std::int32_t row;
  double distance;  // squared, if that is compared
};

// One type for both orders, so that sorting is compiled once.
struct OrderOfPoints {
  bool by_row;
  bool operator()(const FoundPoint& a, const FoundPoint& b) const {
    const bool is_lower = a.row < b.row;
    return by_row ? is_lower : (a.distance < b.distance) | ((a.distance == b.distance) & is_lower);
  }
};

// A copy of the points, and each cell's rows as a list. To move a point takes the same time however many there are.
// Points may be anywhere, be infinite or NaN: the cells at the border hold those beyond it.
class MovingPoints {
 public:
  explicit MovingPoints(std::size_t dimension) : dimension_(dimension), axes_(std::min(dimension, kAxes)) {}

  std::size_t size() const { return places_.size() / dimension_; }
  std::size_t dimension() const { return dimension_; }
  // How many points have been compared, since this was made.
  std::uint64_t comparisons() const { return comparisons_; }

  // Forgets all, as after an allocation has failed in the middle of a change.
  void clear() noexcept {
    places_.clear();
    links_.clear();
    built_for_ = 0;
  }

  // Takes over all points, (count, dimension). Those that are where they were cost one comparison.
  void update(const double* points, std::size_t count) {
    if (count > 2 * built_for_ || 8 * count + 1024 < built_for_) {
      places_.clear();
      links_.clear();
      places_.insert(places_.end(), points, points + count * dimension_);
      build();
      return;
    }
    while (size() > count) {
      unlink(static_cast<std::int32_t>(size() - 1));
      links_.pop_back();
      places_.erase(places_.end() - static_cast<std::ptrdiff_t>(dimension_), places_.end());
    }
    constexpr std::size_t kRows = 64;
    const std::size_t old = size();
    for (std::size_t start = 0; start < old; start += kRows) {
      const std::size_t end = std::min(start + kRows, old), bytes = (end - start) * dimension_ * sizeof(double);
      if (std::memcmp(&places_[start * dimension_], points + start * dimension_, bytes) != 0)
        for (std::size_t row = start; row < end; ++row) move(row, points + row * dimension_);
    }
    places_.insert(places_.end(), points + old * dimension_, points + count * dimension_);
    links_.insert(links_.end(), count - links_.size(), Link());
    for (std::size_t row = old; row < count; ++row) link(static_cast<std::int32_t>(row));
  }

  void move(std::size_t row, const double* to) {
    double* place = &places_[row * dimension_];
    if (std::memcmp(place, to, dimension_ * sizeof(double)) == 0) return;
    std::copy_n(to, dimension_, place);
    const auto number = static_cast<std::int32_t>(row);
    if (cell_of(place) == links_[row].cell) {
      widen(place);
      return;
    }
    unlink(number);
    link(number);
  }

  // Appends the points within a radius, by rows.
  void within(const PlaceToSearch& search, std::vector<FoundPoint>& found) {
    build_if_worth();
    const std::size_t first = found.size();
    if (!by_cells(search, found)) {
      found.erase(found.begin() + static_cast<std::ptrdiff_t>(first), found.end());
      by_rows(search, found);
    } else {
      std::sort(found.begin() + static_cast<std::ptrdiff_t>(first), found.end(), OrderOfPoints{true});
    }
  }

  // The nearest points, nearest first, of equally near ones that with the lower row first. Fewer than `count` only
  // where no others have a distance at all. The radius of `search` is of no account.
  void nearest(PlaceToSearch search, std::size_t count, std::vector<FoundPoint>& found) {
    build_if_worth();
    const double portion = static_cast<double>(count + 1) / static_cast<double>(count_of_last_ + 1);
    double radius = radius_of_last_ * 1.2 * (portion == 1 ? 1 : std::pow(portion, 1 / static_cast<double>(axes_)));
    if (!(radius > 0)) radius = std::max(width_ * std::cbrt(static_cast<double>(count + 1)), 1e-150);
    for (;; radius *= 1.6) {
      found.clear();
      search.radius = radius;
      if (!by_cells(search, found)) {
        found.clear();
        search.radius = std::numeric_limits<double>::infinity();
        by_rows(search, found, count);
        break;
      }
      if (found.size() >= count) break;
    }
    if (found.size() > 2 * count + 32) keep_nearest(count, found);
    sort_by_distance(found);
    if (found.size() > count) found.erase(found.begin() + static_cast<std::ptrdiff_t>(count), found.end());
    if (!found.empty()) {
      radius_of_last_ = found.back().distance;
      count_of_last_ = count;
    }
  }

 private:
  static constexpr std::size_t kAxes = 3;
  static constexpr std::size_t kPointsPerCell = 2;
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  struct Axis {
    double lower = 0, cells_per_length = 0;
    std::int32_t cells = 1;
    double least = 0, most = 0;  // of all points since the cells were made

    // Not less for a larger x. NaN is in cell 0.
    std::int32_t cell(double x) const {
      const double at = (x - lower) * cells_per_length;
      if (!(at > 0)) return 0;
      return at >= static_cast<double>(cells) ? cells - 1 : static_cast<std::int32_t>(at);
    }
  };
  // A row in the list of its cell.
  struct Link {
    std::int32_t next = -1, previous = -1, cell = 0;
  };
  // Cells along an axis: up to three stretches, which do not overlap.
  struct Stretches {
    std::array<std::pair<std::int32_t, std::int32_t>, 3> cells;
    std::size_t count = 0;
    std::size_t size() const {
      std::size_t sum = 0;
      for (std::size_t k = 0; k < count; ++k) sum += static_cast<std::size_t>(cells[k].second - cells[k].first + 1);
      return sum;
    }
  };

  std::int32_t cell_of(const double* place) const {
    std::int32_t cell = 0;
    for (std::size_t k = axes_; k-- > 0;) cell = cell * grid_[k].cells + grid_[k].cell(place[k]);
    return cell;
  }

  void widen(const double* place) {
    for (std::size_t k = 0; k < axes_; ++k) {
      if (place[k] < grid_[k].least) grid_[k].least = place[k];
      if (place[k] > grid_[k].most) grid_[k].most = place[k];
    }
  }

  void link(std::int32_t row) {
    const auto at = static_cast<std::size_t>(row);
    const double* place = &places_[at * dimension_];
    const std::int32_t cell = cell_of(place);
    std::int32_t& head = heads_[static_cast<std::size_t>(cell)];
    links_[at] = {head, -1, cell};
    if (head >= 0) links_[static_cast<std::size_t>(head)].previous = row;
    head = row;
    widen(place);
  }

  void unlink(std::int32_t row) {
    const Link link = links_[static_cast<std::size_t>(row)];
    if (link.next >= 0) links_[static_cast<std::size_t>(link.next)].previous = link.previous;
    (link.previous >= 0 ? links_[static_cast<std::size_t>(link.previous)].next
                        : heads_[static_cast<std::size_t>(link.cell)]) = link.next;
  }

  // Chooses the cells for where the points are now, about as long as wide.
  void build() {
    const std::size_t count = size();
    built_for_ = std::max<std::size_t>(count, 16);
    wasted_ = 0;
    radius_of_last_ = 0;
    std::array<double, kAxes> lengths{};
    for (std::size_t k = 0; k < axes_; ++k) {
      const auto [lower, upper] = middle_of(k);
      const double length = upper - lower;
      grid_[k] = Axis();
      grid_[k].lower = lower;
      grid_[k].least = std::numeric_limits<double>::infinity();
      grid_[k].most = -grid_[k].least;
      lengths[k] = length > 0 && length < 1e300 ? length : 0;
    }
    // An axis that is shorter than a cell has one; the others share the cells.
    const double wanted = static_cast<double>(count) / static_cast<double>(kPointsPerCell);
    for (std::size_t tried = 0; tried <= axes_; ++tried) {
      double logarithm = 0;  // products of lengths may overflow
      std::size_t open = 0;
      for (std::size_t k = 0; k < axes_; ++k)
        if (lengths[k] > 0) {
          logarithm += std::log(lengths[k]);
          ++open;
        }
      width_ = open == 0 ? 1 : std::exp((logarithm - std::log(std::max(wanted, 1.0))) / static_cast<double>(open));
      for (std::size_t k = 0; k < axes_; ++k)
        if (lengths[k] < width_) lengths[k] = 0;
    }
    std::size_t cells = 1;
    for (std::size_t k = 0; k < axes_; ++k)
      if (lengths[k] > 0 && lengths[k] / width_ < 1e9) {
        grid_[k].cells = std::max(1, static_cast<std::int32_t>(lengths[k] / width_));
        const double per_length = static_cast<double>(grid_[k].cells) / lengths[k];
        if (std::isfinite(per_length)) grid_[k].cells_per_length = per_length;
        cells *= static_cast<std::size_t>(grid_[k].cells);
      }
    heads_.assign(cells, -1);
    links_.insert(links_.end(), count - links_.size(), Link());
    for (std::size_t row = 0; row < count; ++row) link(static_cast<std::int32_t>(row));
  }

  // From where to where most points are along an axis: a few far ones do not make the cells of all others coarse.
  std::pair<double, double> middle_of(std::size_t axis) const {
    const StratifiedSample rows(size(), 512);
    std::vector<FoundPoint> sample;
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (const double at = places_[rows[k] * dimension_ + axis]; std::isfinite(at)) sample.push_back({0, at});
    if (sample.empty()) return {0, 0};
    std::sort(sample.begin(), sample.end(), OrderOfPoints{false});
    const std::size_t tail = sample.size() / 32;
    const double lower = sample[tail].distance, upper = sample[sample.size() - 1 - tail].distance,
                 rest = (upper - lower) / 16;
    return {std::max(lower - rest, sample.front().distance), std::min(upper + rest, sample.back().distance)};
  }

  // Once queries have compared many points in vain, the points are no longer where they were.
  void build_if_worth() {
    if (wasted_ > 64 * built_for_) build();
  }

  // The cells along an axis that can hold points within the radius. What is rounded in the distances, and in the sums
  // here, is less than the reach is longer than the radius.
  Stretches stretches(const PlaceToSearch& search, std::size_t axis) const {
    const Axis& line = grid_[axis];
    const double at = search.point[axis], size = search.size == nullptr ? 0 : search.size[axis];
    const double reach = search.radius * (1 + 1e-12) + 1e-150;
    const double reach_across = reach + 1e-14 * (search.radius + std::abs(size) + std::abs(at));
    Stretches found;
    // From the lowest on: what overlaps the one before makes that longer.
    const auto add = [&](double center, double length) {
      const double lower = center - length, upper = center + length;
      if (upper < line.least || lower > line.most) return;
      const std::int32_t first = line.cell(lower), last = line.cell(upper);
      if (found.count > 0 && first <= found.cells[found.count - 1].second) {
        auto& before = found.cells[found.count - 1];
        before = {std::min(before.first, first), std::max(before.second, last)};
      } else {
        found.cells[found.count++] = {first, last};
      }
    };
    if (search.size != nullptr) add(at - size, reach_across);
    add(at, reach);
    if (search.size != nullptr) add(at + size, reach_across);
    return found;
  }

  void compare(const PlaceToSearch& search, double limit, std::int32_t row, std::vector<FoundPoint>& found) const {
    const double* place = &places_[static_cast<std::size_t>(row) * dimension_];
    const auto square = [&](std::size_t k) {
      double difference = std::abs(search.point[k] - place[k]);
      if (search.size != nullptr) difference = std::min(difference, search.size[k] - difference);
      return difference * difference;
    };
    double sum = square(0);
    if (dimension_ == 2)  // a loop takes half as long again
      sum += square(1);
    else
      for (std::size_t k = 1; k < dimension_; ++k) sum += square(k);
    if (!(sum <= limit) || row == search.without) return;
    if (search.is_squared) {
      found.push_back({row, sum});
      return;
    }
    const double distance = std::sqrt(sum);
    if (distance <= search.radius) found.push_back({row, distance});
  }

  static double limit_of(const PlaceToSearch& search) {
    if (search.is_squared) return search.limit;
    const double reach = search.radius * (1 + 1e-12) + 1e-150;
    return reach * reach;
  }

  // False where so many points would be compared that all of them in turn take less time.
  bool by_cells(const PlaceToSearch& search, std::vector<FoundPoint>& found) {
    const std::size_t before = found.size();
    std::array<Stretches, kAxes> around;
    std::size_t cells = 1;
    for (std::size_t k = 0; k < axes_; ++k) {
      around[k] = stretches(search, k);
      cells *= around[k].size();
    }
    if (cells == 0) return true;
    const std::size_t most = size() / 4 + 32;
    if (cells > most || cells == heads_.size() || !(search.radius < std::numeric_limits<double>::infinity()))
      return false;
    const double limit = limit_of(search);
    std::size_t compared = 0;
    std::array<std::size_t, kAxes> part{};
    std::array<std::int32_t, kAxes> at{};
    for (std::size_t k = 0; k < axes_; ++k) at[k] = around[k].cells[0].first;
    for (;;) {
      std::int32_t row_of_cells = 0;
      for (std::size_t k = axes_; k-- > 1;) row_of_cells = (row_of_cells + at[k]) * grid_[k - 1].cells;
      for (std::size_t p = 0; p < around[0].count; ++p)
        for (std::int32_t x = around[0].cells[p].first; x <= around[0].cells[p].second; ++x)
          for (std::int32_t row = heads_[static_cast<std::size_t>(row_of_cells + x)]; row >= 0;
               row = links_[static_cast<std::size_t>(row)].next) {
            compare(search, limit, row, found);
            ++compared;
          }
      if (compared > most) break;
      std::size_t k = 1;
      for (; k < axes_; ++k) {
        if (++at[k] <= around[k].cells[part[k]].second) break;
        if (++part[k] < around[k].count) {
          at[k] = around[k].cells[part[k]].first;
          break;
        }
        part[k] = 0;
        at[k] = around[k].cells[0].first;
      }
      if (k >= axes_) break;
    }
    comparisons_ += compared;
    note_waste(compared + cells, found.size() - before);
    return compared <= most;
  }

  // All points in turn; only the nearest, if there are more than `count`.
  void by_rows(PlaceToSearch search, std::vector<FoundPoint>& found, std::size_t count = kAll) {
    double limit = limit_of(search);
    const std::size_t before = found.size();
    for (std::size_t row = 0; row < size(); ++row) {
      compare(search, limit, static_cast<std::int32_t>(row), found);
      if (count == kAll || found.size() < 2 * count + 32) continue;
      keep_nearest(count, found);
      // Of points as near as the last one, only those with a lower row would count.
      const double last = found.back().distance;
      if (last == 0) break;
      search.radius = std::nextafter(last, 0.0);
      limit = limit_of(search);
    }
    comparisons_ += size();
    note_waste(size(), found.size() - before);
  }

  // Many are dealt out by their distance first, into as many parts, which are sorted one by one.
  static void sort_by_distance(std::vector<FoundPoint>& found) {
    constexpr std::size_t kFew = 256;
    double most = 0;
    for (const FoundPoint& one : found) most = std::max(most, one.distance);
    const double scale = static_cast<double>(found.size() - 1) / most;
    if (found.size() < kFew || !(scale < std::numeric_limits<double>::max())) {
      std::sort(found.begin(), found.end(), OrderOfPoints{false});
      return;
    }
    const auto part = [&](const FoundPoint& one) { return static_cast<std::size_t>(one.distance * scale); };
    std::vector<std::int32_t> ends(found.size() + 1);
    for (const FoundPoint& one : found) ++ends[part(one)];
    std::int32_t end = 0;
    for (std::int32_t& at : ends) at = end += at;
    std::vector<FoundPoint> dealt(found.size());
    for (const FoundPoint& one : found) dealt[static_cast<std::size_t>(--ends[part(one)])] = one;
    for (std::size_t k = 0; k + 1 < ends.size(); ++k)
      if (ends[k + 1] - ends[k] > 1)
        std::sort(dealt.begin() + ends[k], dealt.begin() + ends[k + 1], OrderOfPoints{false});
    found.swap(dealt);
  }

  // The nearest in no order, but for the last, which is the farthest of them.
  static void keep_nearest(std::size_t count, std::vector<FoundPoint>& found) {
    const auto end = found.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(found.begin(), end - 1, found.end(), OrderOfPoints{false});
    found.erase(end, found.end());
  }

  void note_waste(std::size_t work, std::size_t found) {
    const std::size_t fair = 16 * (found + 4);
    wasted_ += work > fair ? work - fair : 0;
  }

  std::size_t dimension_, axes_;
  std::array<Axis, kAxes> grid_;
  double width_ = 1;
  std::vector<double> places_;
  std::vector<std::int32_t> heads_;  // the first row of each cell, or -1
  std::vector<Link> links_;
  std::size_t built_for_ = 0;
  std::uint64_t wasted_ = 0, comparisons_ = 0;
  double radius_of_last_ = 0;
  std::size_t count_of_last_ = 0;
};

}  // namespace broadphase
