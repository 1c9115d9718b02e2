// Points moved into the box of a lattice, images of them, and how far rounding may have moved them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "neighbors/lattice.hpp"

namespace broadphase {

// What is wrong with a query that only the core can see.
struct FlatCell : std::invalid_argument {
  FlatCell(std::size_t cell, bool is_one)
      : std::invalid_argument("the periodic vectors of the cell do not span a volume"), cell(cell), is_one(is_one) {}
  std::size_t cell;
  bool is_one;
};
struct FarPoint : std::invalid_argument {
  FarPoint(bool other, std::int32_t at) : std::invalid_argument("too many cells away"), of_others(other), row(at) {}
  bool of_others;
  std::int32_t row;
};
struct ManyImages : std::invalid_argument {
  ManyImages() : std::invalid_argument("the cutoff spans too many cells") {}
};

// (n, d) coordinates, and a reach for each point where pairs have their own cutoffs, and its species where these
// decide; or some of these points: `rows`, or `count` of them from `first` on.
struct PointView {
  const double* coordinates = nullptr;
  std::size_t count = 0, dimension = 3;
  const double* reaches = nullptr;
  const std::int32_t* rows = nullptr;
  std::size_t first = 0;
  const std::int32_t* kinds = nullptr;

  std::int32_t kind(std::size_t k) const { return kinds != nullptr ? kinds[static_cast<std::size_t>(row(k))] : 0; }
  std::int32_t row(std::size_t k) const { return rows != nullptr ? rows[k] : static_cast<std::int32_t>(first + k); }
  Vector3 at(std::size_t k) const {
    const double* from = coordinates + static_cast<std::size_t>(row(k)) * dimension;
    return {from[0], from[1], dimension > 2 ? from[2] : 0.0};
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

// The given numbers of a point, its row in the input, and its species.
struct ExactPoint {
  double x, y, z;
  std::int32_t row, kind;
};

// Points moved into the box of a lattice, in its frame. Keeps its memory for the next points.
class FramedPoints {
 public:
  void place(const PointView& points, const Lattice& lattice, unsigned workers, Interrupt& interrupt) {
    points_ = points;
    all_ = {};
    places_.grow(points.count);
    if (lattice.count() > 0) wraps_.grow(points.count);
    std::mutex mutex;
    in_stretches_on_threads(points.count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      const Summary some = place(begin, end, lattice);
      const std::lock_guard lock(mutex);
      all_.add(some);
    });
  }

  const PointView& points() const { return points_; }
  const Vector3& place(std::size_t k) const { return places_[k]; }
  const Shift& wrap(std::size_t k) const { return wraps_[k]; }
  bool has_wraps() const { return all_.most_wraps[0] + all_.most_wraps[1] + all_.most_wraps[2] > 0; }
  const std::array<Bounds, 3>& bounds() const { return all_.bounds; }
  double most(std::size_t axis) const { return all_.most[axis]; }
  double most_wraps(std::size_t l) const { return all_.most_wraps[l]; }
  // Of the first point that is too many cells away, or -1.
  std::int32_t far_row() const { return all_.far < points_.count ? points_.row(all_.far) : -1; }

 private:
  // What is known of some points together.
  struct Summary {
    std::array<Bounds, 3> bounds{};
    std::array<double, 3> most{}, most_wraps{};
    std::size_t far = std::numeric_limits<std::size_t>::max();  // the first that is too many cells away

    void add(const Summary& others) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        bounds[axis].add(others.bounds[axis]);
        most[axis] = std::max(most[axis], others.most[axis]);
        most_wraps[axis] = std::max(most_wraps[axis], others.most_wraps[axis]);
      }
      far = std::min(far, others.far);
    }
  };

  Summary place(std::size_t begin, std::size_t end, const Lattice& lattice) const {
    Summary summary;
    for (std::size_t k = begin; k < end; ++k) {
      const Vector3 point = points_.at(k);
      Vector3 place = lattice.in_frame(point);
      if (lattice.count() > 0) {
        std::array<std::int64_t, 3> cells{};
        if (!lattice.wrap(place, cells)) {
          summary.far = std::min(summary.far, k);
          place = {};
          cells = {};
        }
        Shift wrap{};
        if ((cells[0] | cells[1] | cells[2]) != 0) {
          const std::array<std::int64_t, 3> sum = lattice.original(cells);
          for (std::size_t l = 0; l < 3; ++l) {
            const auto size = static_cast<double>(std::abs(sum[l]));
            if (size > Lattice::kMostCells) summary.far = std::min(summary.far, k);
            summary.most_wraps[l] = std::max(summary.most_wraps[l], size);
            wrap[l] = static_cast<std::int32_t>(sum[l]);
          }
        }
        wraps_[k] = wrap;
      }
      places_[k] = place;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        summary.bounds[axis].add(place[axis]);
        summary.most[axis] = std::max(summary.most[axis], std::abs(point[axis]));
      }
    }
    return summary;
  }

  PointView points_;
  PlainArray<Vector3> places_;
  PlainArray<Shift> wraps_;
  Summary all_;
};

// An image of points.
struct Image {
  Vector3 in_frame{}, exact{};
  Shift shift{};
  int order = 0;  // of its cells to none: lexicographic
};

// Moved by `cells` short vectors.
inline Image image_of(const Lattice& lattice, const Cell& cell, const std::array<std::int64_t, 3>& cells) {
  Image image;
  for (std::size_t k = 0; k < 3; ++k) {
    if (cells[k] == 0) continue;
    if (image.order == 0) image.order = cells[k] < 0 ? -1 : 1;
    for (std::size_t axis = 0; axis <= k; ++axis)
      image.in_frame[axis] += static_cast<double>(cells[k]) * lattice.components(k)[axis];
  }
  if (image.order == 0) return image;
  const std::array<std::int64_t, 3> shift = lattice.original(cells);
  for (std::size_t l = 0; l < 3; ++l) image.shift[l] = static_cast<std::int32_t>(shift[l]);
  image.exact = cell.translation(image.shift);
  return image;
}

// How far numbers of the frame, of images within the reach, may be off the numbers that decide.
inline double rounded_by(const Lattice& lattice, const Cell& cell, double reach, const FramedPoints& own,
                         const FramedPoints& others) {
  constexpr double kRounding = 0x1p-48;
  double error = 0;
  if (lattice.count() > 0) {
    std::array<std::int64_t, 3> most_cells{};
    for (std::size_t k = lattice.count(); k-- > 0;) {
      double across = reach;
      for (std::size_t above = k; above < lattice.count(); ++above)
        across += (static_cast<double>(most_cells[above]) + 1) * std::abs(lattice.components(above)[k]);
      const double cells = across / lattice.edge(k) + 2;
      if (!(cells < 1e6)) throw ManyImages();
      most_cells[k] = static_cast<std::int64_t>(cells);
    }
    for (std::size_t l = 0; l < 3; ++l) {
      if (lattice.is_apart(l)) continue;
      error += std::max(own.most(l), others.most(l));
    }
    for (std::size_t l = 0; l < 3; ++l) {
      double shifts = std::max(own.most_wraps(l), others.most_wraps(l));
      for (std::size_t k = 0; k < lattice.count(); ++k)
        shifts += static_cast<double>(most_cells[k]) * static_cast<double>(std::abs(lattice.combination(k)[l]));
      if (!(shifts < 2 * Lattice::kMostCells)) throw ManyImages();
      for (const double component : cell.vectors[l]) error += shifts * std::abs(component);
    }
  }
  return error * kRounding;
}

// Of a cutoff, or of the reach of a point: longer, by what numbers are off. A pair at no distance at all is found too.
inline double reach_of(double cutoff, double error) {
  constexpr double kSlack = 1 + 1e-11;
  return std::max((cutoff + 4 * error) * kSlack, std::numeric_limits<double>::min());
}

}  // namespace broadphase
