#include "neighbors/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "neighbors/point_rows.hpp"

#include "neighbors/point_batches.hpp"

namespace broadphase {

double largest_square(double cutoff) {
  double square = cutoff * cutoff;
  while (std::sqrt(square) > cutoff) square = std::nextafter(square, 0.0);
  for (;;) {
    const double next = std::nextafter(square, std::numeric_limits<double>::infinity());
    if (!(std::sqrt(next) <= cutoff)) return square;
    square = next;
  }
}

namespace {

// Positions of points in their rows.
struct Hits {
  std::vector<std::uint32_t> own, others;
};

// Points that are searched at once, and all that belongs to them.
struct SearchPart {
  PointView points, others;
  bool cross = false;    // pairs of a point and another one
  bool one_set = false;  // of which both are parts without a common row: the lower row comes first
  const Cell* cell = nullptr;
  const Lattice* lattice = nullptr;  // of the cell
  PairCutoff kind = PairCutoff::kSum;
  double cutoff = 0;
  const NeighborRules* rules = nullptr;
};

// What a distance is compared with.
enum class Limits { kOne, kReaches, kSpecies };

// Keeps its memory for the next part.
class Search {
 public:
  explicit Search(WindowKernel window_kernel) : window_kernel_(window_kernel) {}

  void start(const SearchPart& part, unsigned workers, Interrupt& interrupt) {
    place(part, workers, interrupt);
    prepare(own_, placed_others());
    rows_.file(own_, cells_[0], cells_[1], workers, interrupt);
    if (part.cross) other_rows_.file(others_, cells_[0], cells_[1], workers, interrupt);
    limit_ = part.points.reaches == nullptr ? largest_square(part.cutoff) : 0;
  }

  // Places the points of a part whose reaches differ much, and finds the boxes around them that overlap, with those of
  // images: for each point as far as it reaches itself, where rows would be as wide as the farthest reach. False where
  // there would be many images.
  bool start_boxes(const SearchPart& part, FindOverlaps find_overlaps, unsigned workers, Interrupt& interrupt) {
    place(part, workers, interrupt);
    const FramedPoints& others = placed_others();
    const double error = rounded_by(own_, others) / 2;  // of either point of a pair
    const auto reach = [error](const FramedPoints& points, std::size_t k) {
      return reach_of(points.points().reaches[static_cast<std::size_t>(points.points().row(k))], error);
    };
    if (!find_images(others, reach, interrupt)) return false;
    // Axes along which all points lie at the same place tell none apart.
    std::array<std::size_t, 3> axes{};
    std::size_t dimension = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      Bounds bounds = own_.bounds()[axis];
      bounds.add(others.bounds()[axis]);
      const bool is_flat = axis >= lattice().count() && bounds.lower == bounds.upper;
      if (!is_flat || (axis == 2 && dimension == 0)) axes[dimension++] = axis;
    }
    const std::size_t own_count = own_.points().count, other_count = others.points().count + image_points_.size();
    const auto box_in = [&](PlainArray<double>& corners, std::size_t at, const FramedPoints& points, std::size_t k,
                            const Image& image) {
      const double around = reach(points, k);
      for (std::size_t d = 0; d < dimension; ++d) {
        const double centre = points.place(k)[axes[d]] + image.in_frame[axes[d]];
        corners[2 * dimension * at + d] = centre - around;
        corners[2 * dimension * at + dimension + d] = centre + around;
      }
    };
    const Image none;
    PlainArray<double> corners, other_corners;
    if (part.cross) {
      corners.grow(2 * dimension * own_count);
      for (std::size_t k = 0; k < own_count; ++k) box_in(corners, k, own_, k, none);
    }
    other_corners.grow(2 * dimension * other_count);
    for (std::size_t k = 0; k < others.points().count; ++k) box_in(other_corners, k, others, k, none);
    for (std::size_t k = 0; k < image_points_.size(); ++k)
      box_in(other_corners, others.points().count + k, others, image_points_[k].point, images_[image_points_[k].image]);
    interrupt.check();
    const BoxView<double> other_boxes = view_of_rows<double>(other_corners.get(), dimension, other_count);
    if (part.cross) {
      const BoxView<double> boxes = view_of_rows<double>(corners.get(), dimension, own_count);
      overlaps_ = find_overlaps(boxes, &other_boxes, dimension, workers, interrupt);
    } else {
      overlaps_ = find_overlaps(other_boxes, nullptr, dimension, workers, interrupt);
    }
    return true;
  }

  std::size_t overlap_count() const { return overlaps_.size; }

  // The pairs of points of the overlaps [begin, end).
  void run_boxes(std::size_t begin, std::size_t end, NeighborPairs& out) const {
    out.room(end - begin);
    const FramedPoints& others = placed_others();
    const bool wrapped = own_.has_wraps() || others.has_wraps() || !image_points_.empty();
    const std::size_t before = out.size;
    const bool by_species = part_.kind == PairCutoff::kBySpecies;
    if (by_species && wrapped)
      decide_boxes<true, Limits::kSpecies>(others, begin, end, out);
    else if (by_species)
      decide_boxes<false, Limits::kSpecies>(others, begin, end, out);
    else if (wrapped)
      decide_boxes<true, Limits::kReaches>(others, begin, end, out);
    else
      decide_boxes<false, Limits::kReaches>(others, begin, end, out);
    leave_out(before, out);
  }

  std::size_t count() const { return rows_.count(); }

  // Of points that are spread evenly; not many more than there are points, if they are not.
  std::size_t expected_pairs() const {
    const double points = static_cast<double>(rows_.count()), cutoff = part_.cutoff;
    double share = 4.19 * cutoff * cutoff * cutoff;  // of a ball in the volume of all
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Bounds& bounds = neighbor_rows().bounds()[axis];
      const double extent = axis < lattice().count() ? lattice().edge(axis) : bounds.upper - bounds.lower;
      share /= std::max({extent, 2 * cutoff, std::numeric_limits<double>::min()});
    }
    const double around = std::min(share * static_cast<double>(neighbor_rows().count()), 64.0);
    return static_cast<std::size_t>((part_.cross ? around : around / 2) * 1.06 * points) + 2 * kMostWindowHits;
  }

  // The pairs of points [begin, end) in the order of rows, with those behind them.
  void run(std::size_t begin, std::size_t end, Hits& hits, NeighborPairs& out) const {
    hits.own.resize(kMostWindowHits + 16);
    hits.others.resize(kMostWindowHits + 16);
    run_rows(begin, end, [&](const Image& image, WindowSearch& window) {
      const std::size_t found = window_kernel_(window, {hits.own.data(), hits.others.data()});
      if (found > 0) decide(image, neighbor_rows(), hits, found, out);
    });
  }

  // The same as places, whatever their distance is.
  void place_pairs(std::size_t begin, std::size_t end, PlacedHits& out) const {
    const IgnoredPairs* ignored = part_.rules != nullptr ? &part_.rules->ignored : nullptr;
    if (ignored != nullptr && ignored->empty()) ignored = nullptr;
    run_rows(begin, end, [&](const Image& image, WindowSearch& window) {
      out.room(kMostWindowHits + 16);
      std::uint32_t *own = out.own.get() + out.size, *others = out.others.get() + out.size;
      std::size_t found = window_kernel_(window, {own, others});
      if (ignored != nullptr) {
        std::size_t kept = 0;
        for (std::size_t k = 0; k < found; ++k) {
          const auto [first, second] = std::minmax(rows_.exact(own[k]).row, rows_.exact(others[k]).row);
          own[kept] = own[k], others[kept] = others[k];
          kept += ignored->contains(first, second) ? 0 : 1;
        }
        found = kept;
      }
      if (found == 0) return;
      out.size += found;
      if (out.runs.empty() || out.runs.back().shift != image.shift) out.runs.push_back({out.size, image.shift});
      out.runs.back().end = out.size;
    });
  }

  const PointRows& rows() const { return rows_; }

 private:
  // 4,096 systems of 50 points took a quarter longer with 8 points to a row, and in periodic cells two thirds longer.
  static constexpr std::size_t kFewPoints = 128;
  static constexpr double kPointsPerRow = 14;

  const Lattice& lattice() const { return *part_.lattice; }
  const PointRows& neighbor_rows() const { return part_.cross ? other_rows_ : rows_; }
  const FramedPoints& placed_others() const { return part_.cross ? others_ : own_; }

  void place(const SearchPart& part, unsigned workers, Interrupt& interrupt) {
    part_ = part;
    own_.place(part.points, *part.lattice, workers, interrupt);
    if (own_.far_row() >= 0) throw FarPoint(false, own_.far_row());
    if (!part.cross) return;
    others_.place(part.others, *part.lattice, workers, interrupt);
    if (others_.far_row() >= 0) throw FarPoint(!part.one_set, others_.far_row());
  }

  double rounded_by(const FramedPoints& own, const FramedPoints& others) const {
    return broadphase::rounded_by(lattice(), *part_.cell, part_.cutoff, own, others);
  }

  // Cells of y and z as wide as the reach, or wider where there are few points: then rows cost more than points that
  // are compared in vain.
  void prepare(const FramedPoints& own, const FramedPoints& others) {
    reach_ = reach_of(part_.cutoff, rounded_by(own, others));
    double width = reach_;
    std::array<Bounds, 3> bounds = own.bounds();
    for (std::size_t axis = 1; axis < 3; ++axis) {
      bounds[axis].add(others.bounds()[axis]);
      if (axis < lattice().count()) bounds[axis] = {0.0, lattice().edge(axis)};
    }
    const std::size_t points = std::max(own.points().count, others.points().count);
    if (points <= kFewPoints) {
      double rows = 1;
      for (std::size_t axis = 1; axis < 3; ++axis)
        rows *= std::max((bounds[axis].upper - bounds[axis].lower) / reach_, 1.0);
      const double wanted = std::max(static_cast<double>(points) / kPointsPerRow, 1.0);
      if (rows > wanted) width *= std::sqrt(rows / wanted);
    }
    for (std::size_t axis = 1; axis < 3; ++axis) {
      RowCells& cells = cells_[axis - 1];
      if (axis < lattice().count()) {
        constexpr double kMostCells = 1 << 20;
        const double number = std::clamp(std::floor(lattice().edge(axis) / width), 1.0, kMostCells);
        cells = {0.0, number / lattice().edge(axis), number - 1};
      } else {
        constexpr double kMostCells = 0xffffffffu;
        cells = {bounds[axis].lower, 1 / width, kMostCells};
      }
    }
  }

  // Calls use(cells) for the images along axis k of something at `bounds`, moved by `base`, that can be within reach of
  // `own`.
  template <class Use>
  void with_images(std::size_t k, const Bounds& own, const Bounds& bounds, double base, Use&& use) const {
    if (k >= lattice().count()) return use(std::int64_t{0});
    const double edge = lattice().edge(k);
    const double first = std::floor((own.lower - reach_ - base - bounds.upper) / edge);
    const double last = std::ceil((own.upper + reach_ - base - bounds.lower) / edge);
    for (auto cells = static_cast<std::int64_t>(first); cells <= static_cast<std::int64_t>(last); ++cells) use(cells);
  }

  // Calls use(image, window) until no window has anything left.
  template <class Use>
  void run_rows(std::size_t begin, std::size_t end, const Use& use) const {
    for (std::size_t row = rows_.row_of(begin); begin < end; ++row) {
      const std::size_t until = std::min<std::size_t>(end, rows_.rows()[row].end);
      run_row(row, begin, until, use);
      begin = until;
    }
  }

  template <class Use>
  void run_row(std::size_t row, std::size_t begin, std::size_t end, const Use& use) const {
    const PointRows& others = neighbor_rows();
    if (others.count() == 0) return;
    const std::array<Bounds, 3>& own = rows_.rows()[row].bounds;
    const Bounds own_x{rows_.column(0)[begin], rows_.column(0)[end - 1]};
    std::array<std::int64_t, 3> cells{};
    with_images(2, own[2], others.bounds()[2], 0.0, [&](std::int64_t z_cells) {
      const double z = static_cast<double>(z_cells) * lattice().components(2)[2];
      const double y_base = static_cast<double>(z_cells) * lattice().components(2)[1];
      if (own[2].upper + reach_ < others.bounds()[2].lower + z || own[2].lower - reach_ > others.bounds()[2].upper + z)
        return;
      const std::uint32_t z_first = cells_[1].number(own[2].lower - reach_ - z),
                          z_last = cells_[1].number(own[2].upper + reach_ - z);
      with_images(1, own[1], others.bounds()[1], y_base, [&](std::int64_t y_cells) {
        const double y = y_base + static_cast<double>(y_cells) * lattice().components(1)[1];
        if (own[1].upper + reach_ < others.bounds()[1].lower + y ||
            own[1].lower - reach_ > others.bounds()[1].upper + y)
          return;
        const std::uint32_t y_first = cells_[0].number(own[1].lower - reach_ - y),
                            y_last = cells_[0].number(own[1].upper + reach_ - y);
        const double x_base = static_cast<double>(z_cells) * lattice().components(2)[0] +
                              static_cast<double>(y_cells) * lattice().components(1)[0];
        for (std::size_t other = others.row_from(PointRows::key_of(y_first, z_first)); other < others.rows().size();) {
          const PointRow& at = others.rows()[other];
          const auto at_y = static_cast<std::uint32_t>(at.key);
          const auto at_z = static_cast<std::uint32_t>(at.key >> 32);
          if (at_z > z_last) break;
          if (at_y < y_first) {
            other = others.row_from(PointRows::key_of(y_first, at_z));
            continue;
          }
          if (at_y > y_last) {
            if (at_z == z_last) break;
            other = others.row_from(PointRows::key_of(y_first, at_z + 1));
            continue;
          }
          with_images(0, own_x, at.bounds[0], x_base, [&](std::int64_t x_cells) {
            cells = {x_cells, y_cells, z_cells};
            run_pair(row, begin, end, other, image_of(cells), use);
          });
          ++other;
        }
      });
    });
  }

  Image image_of(const std::array<std::int64_t, 3>& cells) const {
    return broadphase::image_of(lattice(), *part_.cell, cells);
  }

  template <class Use>
  void run_pair(std::size_t row, std::size_t begin, std::size_t end, std::size_t other, const Image& image,
                const Use& use) const {
    // Of one set, a pair of rows and an image is the same as the other way round with the opposite image.
    if (!part_.cross && (image.order < 0 || (image.order == 0 && other < row))) return;
    const PointRows& others = neighbor_rows();
    const PointRow &own_row = rows_.rows()[row], &other_row = others.rows()[other];
    double gaps = 0;
    WindowSearch window;
    for (std::size_t axis = 1; axis < 3; ++axis) {
      const double lower = other_row.bounds[axis].lower + image.in_frame[axis],
                   upper = other_row.bounds[axis].upper + image.in_frame[axis];
      const double gap = std::max({0.0, lower - own_row.bounds[axis].upper, own_row.bounds[axis].lower - upper});
      gaps += gap * gap;
      window.lower[axis - 1] = lower;
      window.upper[axis - 1] = upper;
    }
    window.squared_reach = reach_ * reach_;
    if (gaps > window.squared_reach) return;
    window.reach = std::sqrt(window.squared_reach - gaps);
    const double *own_x = rows_.column(0), *other_x = others.column(0);
    const double shift_x = image.in_frame[0];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      window.own_columns[axis] = rows_.column(axis);
      window.columns[axis] = others.column(axis);
      window.shift[axis] = image.in_frame[axis];
    }
    window.behind = !part_.cross && image.order == 0 && other == row;
    // The first own point that reaches the other row, and the first of the other row that it reaches.
    const double row_begins = other_x[other_row.begin];
    window.own = static_cast<std::size_t>(
        std::partition_point(own_x + begin, own_x + end,
                             [&](double x) { return (x - shift_x) + window.reach < row_begins; }) -
        own_x);
    if (window.own == end) return;
    const double first = (own_x[window.own] - shift_x) - window.reach;
    window.own_end = end;
    window.end = window.next = other_row.end;
    window.low =
        static_cast<std::size_t>(std::lower_bound(other_x + other_row.begin, other_x + other_row.end, first) - other_x);
    if (window.low == other_row.end) return;
    while (window.own < end) use(image, window);
  }

  // Images of others that may be within reach of some point. Of one set, one of each two opposite images. False if they
  // are many: then rows take less.
  template <class Reach>
  bool find_images(const FramedPoints& others, const Reach& reach, Interrupt& interrupt) {
    images_.clear();
    image_points_.clear();
    if (lattice().count() == 0) return true;
    double farthest = 0;
    for (std::size_t k = 0; k < own_.points().count; ++k) farthest = std::max(farthest, reach(own_, k));
    const std::size_t most = 4 * others.points().count + 64;
    std::map<std::array<std::int64_t, 3>, std::uint32_t> known;
    const std::array<Bounds, 3>& own = own_.bounds();
    for (std::size_t k = 0; k < others.points().count; ++k) {
      const Vector3& at = others.place(k);
      reach_ = farthest + reach(others, k);
      const auto is_near = [&](std::size_t axis, double x) {
        return x >= own[axis].lower - reach_ && x <= own[axis].upper + reach_;
      };
      // Calls use(cells) for those that are near along it.
      const auto each_near = [&](std::size_t axis, double base, const auto& use) {
        with_images(axis, own[axis], {at[axis], at[axis]}, base, [&](std::int64_t cells) {
          const double x =
              axis < lattice().count() ? base + static_cast<double>(cells) * lattice().components(axis)[axis] : base;
          if (is_near(axis, at[axis] + x)) use(cells);
        });
      };
      each_near(2, 0.0, [&](std::int64_t z_cells) {
        const double y_base = static_cast<double>(z_cells) * lattice().components(2)[1];
        each_near(1, y_base, [&](std::int64_t y_cells) {
          const double x_base = static_cast<double>(z_cells) * lattice().components(2)[0] +
                                static_cast<double>(y_cells) * lattice().components(1)[0];
          each_near(0, x_base, [&](std::int64_t x_cells) {
            const std::array<std::int64_t, 3> cells{x_cells, y_cells, z_cells};
            if (cells == std::array<std::int64_t, 3>{} || image_points_.size() > most) return;
            const auto [found, is_new] = known.try_emplace(cells, static_cast<std::uint32_t>(images_.size()));
            if (is_new) images_.push_back(image_of(cells));
            if (part_.cross || images_[found->second].order > 0)
              image_points_.push_back({static_cast<std::uint32_t>(k), found->second});
          });
        });
      });
      if (k % 4096 == 0) interrupt.check();
    }
    return image_points_.size() <= most;
  }

  // Of the pairs from `before` on, those that are ignored.
  void leave_out(std::size_t before, NeighborPairs& out) const {
    if (part_.rules == nullptr || part_.rules->ignored.empty()) return;
    const IgnoredPairs& ignored = part_.rules->ignored;
    const std::int32_t *first = out.first(), *second = out.second();
    out.keep_if(before, [&](std::size_t k) { return !ignored.contains(first[k], second[k]); });
  }

  template <bool Wrapped, Limits By>
  void decide_boxes(const FramedPoints& others, std::size_t begin, std::size_t end, NeighborPairs& out) const {
    const Image none;
    const std::size_t count = others.points().count;
    [[maybe_unused]] const double *own_reaches = part_.points.reaches, *other_reaches = others.points().reaches;
    decide_all<Wrapped, By>(begin, end, out, [&](std::size_t k) {
      auto own = static_cast<std::size_t>(overlaps_.rows[k]),
           other = static_cast<std::size_t>(overlaps_.rows[overlaps_.stride + k]);
      Candidate pair;
      pair.image = &none;
      if (other >= count) {
        // Two images are also a point and an image.
        pair.image = !part_.cross && own >= count ? nullptr : &images_[image_points_[other - count].image];
        if (pair.image == nullptr) return pair;
        other = image_points_[other - count].point;
      }
      pair.turned_from = turned_from(*pair.image);
      pair.from = own_.points().row(own);
      pair.to = others.points().row(other);
      const Vector3 from = own_.points().at(own), to = others.points().at(other);
      pair.x = to[0] - from[0], pair.y = to[1] - from[1], pair.z = to[2] - from[2];
      if constexpr (Wrapped) pair.wrap(own_.wrap(own), others.wrap(other));
      if constexpr (By == Limits::kReaches) pair.own_reach = own_reaches[pair.from];
      if constexpr (By == Limits::kReaches) pair.other_reach = other_reaches[pair.to];
      if constexpr (By == Limits::kSpecies) pair.limit = limit_of(own_.points().kind(own), others.points().kind(other));
      return pair;
    });
  }

  void decide(const Image& image, const PointRows& others, const Hits& found, std::size_t hits,
              NeighborPairs& out) const {
    out.room(hits);
    const bool wrapped = rows_.wraps() != nullptr || others.wraps() != nullptr;
    const std::size_t before = out.size;
    if (part_.kind == PairCutoff::kBySpecies)
      decide_in<true, Limits::kSpecies>(image, others, found, hits, out);
    else if (rows_.reaches() != nullptr)
      decide_in<true, Limits::kReaches>(image, others, found, hits, out);
    else if (wrapped)
      decide_in<true, Limits::kOne>(image, others, found, hits, out);
    else
      decide_in<false, Limits::kOne>(image, others, found, hits, out);
    leave_out(before, out);
  }

  // A pair of points that may be near each other. Of single numbers, which stay in registers: arrays that are written
  // number by number and read at once wait for each other.
  struct Candidate {
    double x, y, z;  // the other one's given place less the own one's
    std::int32_t from, to;
    const Image* image;
    // From how many rows above its own the other row comes first.
    std::int64_t turned_from;
    // By how many lattice vectors the own point was moved into the cell, less the other.
    std::int32_t wrap_0 = 0, wrap_1 = 0, wrap_2 = 0;
    double own_reach, other_reach;
    double limit;  // of the squared distance, by species

    void wrap(const Shift& own, const Shift& other) {
      wrap_0 = own[0] - other[0], wrap_1 = own[1] - other[1], wrap_2 = own[2] - other[2];
    }
  };
  // Of one set, the lower row comes first; of a point and its own image, so that the shift is lexicographically
  // positive. Pairs of two sets stay as they are.
  std::int64_t turned_from(const Image& image) const {
    const bool two_sets = part_.cross && !part_.one_set;
    return two_sets ? std::int64_t{1} << 40 : image.shift < Shift{} ? 0 : 1;
  }

  // Those of candidate(k) for k in [begin, end) that are near, by the given numbers: (other - own) + translation,
  // rounded axis by axis. Wrapped: points may have been moved into the cell by lattice vectors.
  template <bool Wrapped, Limits By, class Get>
  void decide_all(std::size_t begin, std::size_t end, NeighborPairs& out, const Get& candidate) const {
    const std::size_t dimension = out.dimension;
    std::int32_t *first = out.first(), *second = out.second();
    std::int32_t* shifts = out.has_shifts ? out.shifts.get() : nullptr;
    double* distances = out.has_distances ? out.distances.get() : nullptr;
    double* vectors = out.has_vectors ? out.vectors.get() : nullptr;
    [[maybe_unused]] const double limit = limit_;
    [[maybe_unused]] const bool are_summed = part_.kind == PairCutoff::kSum;
    [[maybe_unused]] const Cell* const cell = part_.cell;
    std::size_t size = out.size;
    for (std::size_t k = begin; k < end; ++k) {
      const Candidate pair = candidate(k);
      if (pair.image == nullptr) continue;
      // All ones or none, instead of a branch that half of all pairs would take.
      const auto turned = -static_cast<std::int32_t>(pair.from >= pair.to + pair.turned_from);
      const std::int32_t difference = (pair.from ^ pair.to) & turned;
      first[size] = pair.from ^ difference;
      second[size] = pair.to ^ difference;
      const Image& image = *pair.image;
      std::int32_t shift_0 = image.shift[0], shift_1 = image.shift[1], shift_2 = image.shift[2];
      double x = image.exact[0], y = image.exact[1], z = image.exact[2];
      if constexpr (Wrapped)
        if ((pair.wrap_0 | pair.wrap_1 | pair.wrap_2) != 0) {
          shift_0 += pair.wrap_0;
          shift_1 += pair.wrap_1;
          shift_2 += pair.wrap_2;
          x = cell->along(0, shift_0, shift_1, shift_2);
          y = cell->along(1, shift_0, shift_1, shift_2);
          z = cell->along(2, shift_0, shift_1, shift_2);
        }
      x += pair.x;
      y += pair.y;
      z += pair.z;
      const double square = x * x + y * y + z * z;
      bool near;
      if constexpr (By == Limits::kSpecies)
        near = square <= pair.limit;
      else if constexpr (By == Limits::kReaches)
        near = std::sqrt(square) <=
               (are_summed ? pair.own_reach + pair.other_reach : std::max(pair.own_reach, pair.other_reach));
      else
        near = square <= limit;
      if (distances != nullptr) distances[size] = std::sqrt(square);
      if (shifts != nullptr) {
        std::int32_t* entry = shifts + size * dimension;
        entry[0] = (shift_0 ^ turned) - turned;
        entry[1] = (shift_1 ^ turned) - turned;
        if (dimension > 2) entry[2] = (shift_2 ^ turned) - turned;
      }
      if (vectors != nullptr) {
        const double sign = 1.0 + 2 * turned;  // and 0 is never negative
        double* entry = vectors + size * dimension;
        entry[0] = x * sign + 0.0;
        entry[1] = y * sign + 0.0;
        if (dimension > 2) entry[2] = z * sign + 0.0;
      }
      size += near ? 1 : 0;
    }
    out.size = size;
  }

  double limit_of(std::int32_t own, std::int32_t other) const {
    const NeighborRules& rules = *part_.rules;
    return rules.squares[static_cast<std::size_t>(own) * rules.species + static_cast<std::size_t>(other)];
  }

  template <bool Wrapped, Limits By>
  void decide_in(const Image& image, const PointRows& others, const Hits& found, std::size_t hits,
                 NeighborPairs& out) const {
    [[maybe_unused]] const double *own_reaches = rows_.reaches(), *other_reaches = others.reaches();
    const Shift *own_wraps = rows_.wraps(), *other_wraps = others.wraps();
    [[maybe_unused]] const Shift none{};
    const std::int64_t turned = turned_from(image);
    decide_all<Wrapped, By>(0, hits, out, [&, turned](std::size_t hit) {
      const std::size_t own = found.own[hit], other = found.others[hit];
      const ExactPoint &from = rows_.exact(own), &to = others.exact(other);
      Candidate pair;
      pair.x = to.x - from.x, pair.y = to.y - from.y, pair.z = to.z - from.z;
      pair.from = from.row, pair.to = to.row;
      pair.image = &image;
      pair.turned_from = turned;
      if constexpr (Wrapped)
        pair.wrap(own_wraps != nullptr ? own_wraps[own] : none, other_wraps != nullptr ? other_wraps[other] : none);
      if constexpr (By == Limits::kReaches) pair.own_reach = own_reaches[own], pair.other_reach = other_reaches[other];
      if constexpr (By == Limits::kSpecies) pair.limit = limit_of(from.kind, to.kind);
      return pair;
    });
  }

  WindowKernel window_kernel_;
  SearchPart part_;
  FramedPoints own_, others_;
  PointRows rows_, other_rows_;
  std::array<RowCells, 2> cells_{};
  double reach_ = 0, limit_ = 0;
  // Boxes around points: those of image_points_[k] are behind those of the other points.
  struct ImagePoint {
    std::uint32_t point, image;
  };
  std::vector<Image> images_;
  std::vector<ImagePoint> image_points_;
  OverlappingBoxes overlaps_;
};

}  // namespace

void NeighborPairs::copy(const NeighborPairs& from, std::size_t begin, std::size_t end, std::size_t to) const {
  const std::size_t count = end - begin;
  if (count == 0) return;
  std::memcpy(first() + to, from.first() + begin, count * sizeof(std::int32_t));
  std::memcpy(second() + to, from.second() + begin, count * sizeof(std::int32_t));
  if (has_shifts)
    std::memcpy(shifts.get() + to * dimension, from.shifts.get() + begin * dimension,
                count * dimension * sizeof(std::int32_t));
  if (has_distances) std::memcpy(distances.get() + to, from.distances.get() + begin, count * sizeof(double));
  if (has_vectors)
    std::memcpy(vectors.get() + to * dimension, from.vectors.get() + begin * dimension,
                count * dimension * sizeof(double));
}

void NeighborPairs::move(std::size_t from, std::size_t to) const {
  first()[to] = first()[from];
  second()[to] = second()[from];
  for (std::size_t axis = 0; axis < dimension; ++axis) {
    if (has_shifts) shifts[to * dimension + axis] = shifts[from * dimension + axis];
    if (has_vectors) vectors[to * dimension + axis] = vectors[from * dimension + axis];
  }
  if (has_distances) distances[to] = distances[from];
}

void NeighborPairs::grow(std::size_t needed) {
  NeighborPairs larger(dimension, has_distances, has_vectors, has_shifts);
  larger.capacity = std::max({needed, expected_, capacity + capacity / 2 + 1024});
  larger.rows = allocate_plain<std::int32_t>(2 * larger.capacity);
  if (has_shifts) larger.shifts = allocate_plain<std::int32_t>(dimension * larger.capacity);
  if (has_distances) larger.distances = allocate_plain<double>(larger.capacity);
  if (has_vectors) larger.vectors = allocate_plain<double>(dimension * larger.capacity);
  larger.copy(*this, 0, size, 0);
  larger.size = size;
  larger.expected_ = expected_;
  *this = std::move(larger);
}

namespace {

NeighborPairs pairs_for(const NeighborQuery& query) {
  return NeighborPairs(query.points.dimension, query.distances, query.vectors, query.shifts);
}

// Calls run(worker, task, pairs) for all tasks, which may find so many pairs in all, on several threads, which writes
// behind the pairs that are there; and writes all of these in the order of tasks behind those that `out` has.
template <class Run>
void join_tasks(std::size_t tasks, unsigned workers, std::size_t expected, Interrupt& interrupt, NeighborPairs& out,
                Run&& run) {
  struct Segment {
    std::size_t worker, begin, end;
  };
  std::vector<Segment> segments(tasks);
  std::vector<NeighborPairs> found;
  for (unsigned worker = 0; worker < workers; ++worker)
    found.emplace_back(out.dimension, out.has_distances, out.has_vectors, out.has_shifts).expect(expected / workers);
  for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
    NeighborPairs& own = found[worker];
    const std::size_t begin = own.size;
    run(worker, task, own);
    segments[task] = {worker, begin, own.size};
  });
  std::vector<std::size_t> target(tasks + 1, out.size);
  for (std::size_t task = 0; task < tasks; ++task)
    target[task + 1] = target[task] + segments[task].end - segments[task].begin;
  out.room(target.back() - out.size);
  out.size = target.back();
  for_each_task(tasks, workers, interrupt, [&](unsigned, std::size_t task) {
    out.copy(found[segments[task].worker], segments[task].begin, segments[task].end, target[task]);
  });
}

// What one thread needs, kept from one batch to the next.
struct Room {
  Search search;
  Hits hits;
};

// So many pairs may be expected in all, if `done` of `all` have given those that were found since `before`.
void expect(NeighborPairs& out, std::size_t before, std::size_t done, std::size_t all) {
  if (done >= all / 16)
    out.expect(before +
               static_cast<std::size_t>(1.06 * static_cast<double>(out.size - before) * static_cast<double>(all) /
                                        static_cast<double>(done)) +
               2 * kMostWindowHits);
}

// Rows of points by reach: those of a class reach at least a quarter as far as its farthest one.
struct ReachClass {
  double most = 0;
  std::vector<std::int32_t> rows;
};

// Of all points, from the farthest reach on; the last class takes what is left.
std::vector<ReachClass> reach_classes(const PointView& points) {
  constexpr std::size_t kMostClasses = 12;
  constexpr double kStep = 0.25;
  std::vector<ReachClass> classes;
  std::vector<std::int32_t> left(points.count);
  for (std::size_t k = 0; k < points.count; ++k) left[k] = points.row(k);
  const auto reach = [&](std::int32_t row) { return points.reaches[row]; };
  while (!left.empty()) {
    ReachClass next;
    for (const std::int32_t row : left) next.most = std::max(next.most, reach(row));
    const bool is_last = classes.size() + 1 == kMostClasses;
    const double least = is_last ? 0 : next.most * kStep;
    const auto shorter =
        std::stable_partition(left.begin(), left.end(), [&](std::int32_t row) { return reach(row) >= least; });
    next.rows.assign(left.begin(), shorter);
    left.erase(left.begin(), shorter);
    classes.push_back(std::move(next));
  }
  return classes;
}

PointView part_of(const PointView& points, const ReachClass& part) {
  PointView view = points;
  view.rows = part.rows.data();
  view.count = part.rows.size();
  return view;
}

double most_reach(const PointView& points) {
  double most = 0;
  for (std::size_t k = 0; k < points.count; ++k)
    most = std::max(most, points.reaches[static_cast<std::size_t>(points.row(k))]);
  return most;
}

// Searches the points of a batch, or all.
class BatchSearch {
 public:
  BatchSearch(const NeighborQuery& query, WindowKernel window_kernel, FindOverlaps find_overlaps)
      : query_(query),
        window_kernel_(window_kernel),
        find_overlaps_(find_overlaps),
        lattices_(query.cells, query.cell_count) {}

  Room room() const { return {Search(window_kernel_), {}}; }

  // On more threads than one only where the points are many: with a room for each.
  void run(const PointView& points, const PointView& others, std::size_t cell, std::vector<Room>& rooms,
           unsigned workers, Interrupt& interrupt, NeighborPairs& out) const {
    if (points.count == 0 || (query_.cross && others.count == 0) || is_alone(points, cell)) return;
    std::optional<Lattice> own_lattice;
    SearchPart part;
    part.points = points;
    part.others = others;
    part.cross = query_.cross;
    part.cell = query_.cells + cell;
    part.lattice = &lattices_.of(cell, own_lattice);
    part.kind = query_.kind;
    part.cutoff = query_.cutoff;
    part.rules = query_.rules;
    if (points.reaches == nullptr) return run(part, rooms, workers, interrupt, out);
    const auto cutoff_of = [&](double a, double b) {
      if (query_.kind == PairCutoff::kBySpecies) return std::min(a, b);
      return query_.kind == PairCutoff::kSum ? a + b : std::max(a, b);
    };
    // Rows are as wide as the longest cutoff of a pair. So that a few long ones do not widen them for all, points of
    // different classes are searched apart, where that can make a difference.
    constexpr std::size_t kFewPoints = 64;
    if (std::max(points.count, others.count) <= kFewPoints) {
      const double most = most_reach(points);
      part.cutoff = cutoff_of(most, query_.cross ? most_reach(others) : most);
      return run(part, rooms, workers, interrupt, out);
    }
    const std::vector<ReachClass> own = reach_classes(points);
    const std::vector<ReachClass> of_others = query_.cross ? reach_classes(others) : std::vector<ReachClass>();
    const std::vector<ReachClass>& second = query_.cross ? of_others : own;
    // Points are filed once for each two classes: of many, boxes around them take less time.
    constexpr std::size_t kManyClasses = 3;
    if (std::max(own.size(), second.size()) >= kManyClasses) {
      part.cutoff = cutoff_of(own.front().most, second.front().most);
      if (run_boxes(part, rooms[0].search, workers, interrupt, out)) return;
    }
    for (std::size_t a = 0; a < own.size(); ++a)
      for (std::size_t b = query_.cross ? 0 : a; b < second.size(); ++b) {
        part.points = part_of(points, own[a]);
        part.cutoff = cutoff_of(own[a].most, second[b].most);
        part.cross = query_.cross || a != b;
        part.one_set = !query_.cross && a != b;
        if (part.cross) part.others = part_of(query_.cross ? others : points, second[b]);
        run(part, rooms, workers, interrupt, out);
      }
  }

 private:
  // Whether it is one point, which is not near its own images, nor too many cells away to say so.
  bool is_alone(const PointView& points, std::size_t cell) const {
    constexpr double kFar = 0x1p40, kSlack = 1.001;
    if (points.count != 1 || query_.cross) return false;
    const double height = squared_height(query_.cells[cell]);
    const Vector3 at = points.at(0);
    return query_.cutoff * query_.cutoff * kSlack < height && dot(at, at) < kFar * height;
  }

  void run(const SearchPart& part, std::vector<Room>& rooms, unsigned workers, Interrupt& interrupt,
           NeighborPairs& out) const {
    Search& search = rooms[0].search;
    search.start(part, workers, interrupt);
    const std::size_t count = search.count(), tasks = (count + kPointsATask - 1) / kPointsATask, before = out.size;
    const auto run_task = [&](std::size_t task, Hits& hits, NeighborPairs& to) {
      search.run(task * kPointsATask, std::min(count, (task + 1) * kPointsATask), hits, to);
    };
    workers = static_cast<unsigned>(std::min<std::size_t>(workers, tasks));
    if (workers > 1)
      return join_tasks(
          tasks, workers, search.expected_pairs(), interrupt, out,
          [&](unsigned worker, std::size_t task, NeighborPairs& to) { run_task(task, rooms[worker].hits, to); });
    if (!query_.keys) out.expect(before + search.expected_pairs());
    for (std::size_t task = 0; task < tasks; ++task) {
      run_task(task, rooms[0].hits, out);
      if (tasks > 1) expect(out, before, task + 1, tasks);
      interrupt.check();
    }
  }

  // False, with nothing done, where that would take long.
  bool run_boxes(const SearchPart& part, Search& search, unsigned workers, Interrupt& interrupt,
                 NeighborPairs& out) const {
    constexpr std::size_t kOverlapsATask = std::size_t{1} << 16;
    if (!search.start_boxes(part, find_overlaps_, workers, interrupt)) return false;
    const std::size_t count = search.overlap_count(), tasks = (count + kOverlapsATask - 1) / kOverlapsATask;
    const auto run_task = [&](std::size_t task, NeighborPairs& to) {
      search.run_boxes(task * kOverlapsATask, std::min(count, (task + 1) * kOverlapsATask), to);
    };
    workers = static_cast<unsigned>(std::min<std::size_t>(workers, tasks));
    if (workers > 1) {
      join_tasks(tasks, workers, count / 2, interrupt, out,
                 [&](unsigned, std::size_t task, NeighborPairs& to) { run_task(task, to); });
      return true;
    }
    const std::size_t before = out.size;
    for (std::size_t task = 0; task < tasks; ++task) {
      run_task(task, out);
      if (tasks > 1) expect(out, before, task + 1, tasks);
      interrupt.check();
    }
    return true;
  }

  const NeighborQuery& query_;
  WindowKernel window_kernel_;
  FindOverlaps find_overlaps_;
  LatticesOfCells lattices_;
};

// Batch after batch; many small ones are a task.
void find_in_batches(const NeighborQuery& query, const BatchSearch& search, std::vector<Room>& rooms, unsigned workers,
                     Interrupt& interrupt, NeighborPairs& out) {
  const Batches batches = batches_of(*query.keys, query.cross ? &*query.other_keys : nullptr, interrupt);
  const std::vector<Batch> own_only = query.cross ? std::vector<Batch>() : batches_of_points(batches);
  const std::vector<Batch>& all = query.cross ? batches.with_pairs : own_only;
  const auto run = [&](const Batch& batch, std::vector<Room>& own_rooms, unsigned threads, Interrupt& own_interrupt,
                       NeighborPairs& to) {
    const PointView others = query.cross ? points_of(query.others, batches, batch, 1) : PointView{};
    search.run(points_of(query.points, batches, batch, 0), others,
               cell_of(batch, batches, *query.keys, query.cell_count), own_rooms, threads, own_interrupt, to);
  };
  if (workers <= 1) {
    std::size_t done = 0, next = 0;
    for (const Batch& batch : all) {
      run(batch, rooms, 1, interrupt, out);
      done += batch.count(0);
      if (done < next) continue;
      next = done + kPointsATask;
      expect(out, 0, done, query.points.count);
    }
    return;
  }
  for_tasks_of(
      all, [&](const Batch& batch) { run(batch, rooms, workers, interrupt, out); },
      [&](const std::vector<std::size_t>& tasks) {
        std::vector<std::vector<Room>> own_rooms(workers);
        for (std::vector<Room>& own : own_rooms) own.push_back(search.room());
        join_tasks(tasks.size() - 1, workers, 0, interrupt, out,
                   [&](unsigned worker, std::size_t task, NeighborPairs& to) {
                     Interrupt no_interrupt;
                     for (std::size_t k = tasks[task]; k < tasks[task + 1]; ++k)
                       run(all[k], own_rooms[worker], 1, no_interrupt, to);
                   });
      });
}

}  // namespace

NeighborPairs find_neighbors(const NeighborQuery& query, WindowKernel window_kernel, FindOverlaps find_overlaps,
                             unsigned workers, Interrupt& interrupt) {
  NeighborPairs out = pairs_for(query);
  out.room(1);
  const BatchSearch search(query, window_kernel, find_overlaps);
  std::vector<Room> rooms;
  for (unsigned worker = 0; worker < std::max(workers, 1u); ++worker) rooms.push_back(search.room());
  if (query.keys)
    find_in_batches(query, search, rooms, workers, interrupt, out);
  else
    search.run(query.points, query.others, 0, rooms, workers, interrupt, out);
  return out;
}

bool place_pairs(const NeighborQuery& query, WindowKernel window_kernel, unsigned workers, Interrupt& interrupt,
                 PlacedPairs& out) {
  const PointView& points = query.points;
  if (query.keys || query.cross || points.reaches != nullptr || points.count < 2) return false;
  const Lattice lattice(*query.cells);
  if (!lattice.is_valid()) throw FlatCell(0, true);
  SearchPart part;
  part.points = part.others = points;
  part.cell = query.cells;
  part.lattice = &lattice;
  part.cutoff = query.cutoff;
  part.rules = query.rules;
  Search search(window_kernel);
  search.start(part, workers, interrupt);
  const std::size_t count = search.count(), tasks = (count + kPointsATask - 1) / kPointsATask;
  workers = static_cast<unsigned>(std::min<std::size_t>(workers, tasks));
  const auto run_task = [&](std::size_t task, PlacedHits& to) {
    search.place_pairs(task * kPointsATask, std::min(count, (task + 1) * kPointsATask), to);
  };
  out.parts = std::vector<PlacedHits>(workers > 1 ? tasks : 1);
  if (workers > 1) {
    for_each_task(tasks, workers, interrupt, [&](unsigned, std::size_t task) { run_task(task, out.parts[task]); });
  } else {
    out.parts[0].room(search.expected_pairs() + search.expected_pairs() / 16);
    for (std::size_t task = 0; task < tasks; ++task) {
      run_task(task, out.parts[0]);
      interrupt.check();
    }
  }
  const PointRows& rows = search.rows();
  out.rows.grow(count);
  for (std::size_t k = 0; k < count; ++k) out.rows[k] = rows.exact(k).row;
  if (const Shift* wraps = rows.wraps(); wraps != nullptr) out.wraps.assign(wraps, wraps + count);
  return true;
}

}  // namespace broadphase
