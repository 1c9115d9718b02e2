// Convex regions between planes, such as frustums, as queries take them: slabs along the axes that may separate a box
// from the region, and a box around it.
//
// Two convex polytopes are disjoint exactly if their projections on some axis are: on a face normal of either or, in
// 3D, on a cross product of an edge of each. The corners and edges of a region are found by trying every D planes:
// O(p^D * p) for p planes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/parallel.hpp"

namespace broadphase {

// Regions as ConvexRegion takes them: the slabs of region j are `offsets[j]` to `offsets[j + 1]`. Faces come first.
struct RegionSlabs {
  std::vector<std::int64_t> offsets{0};
  std::vector<double> axes, least, most;  // axes: D numbers a slab
  std::vector<double> around_lower, around_upper;
};

namespace detail {

template <std::size_t D>
using Point = std::array<double, D>;

template <std::size_t D>
double dot(const Point<D>& a, const Point<D>& b) {
  double sum = a[0] * b[0];
  for (std::size_t k = 1; k < D; ++k) sum += a[k] * b[k];
  return sum;
}

inline Point<3> cross(const Point<3>& a, const Point<3>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// Scaled to length 1, without overflow; zero stays zero.
template <std::size_t D>
Point<D> unit(Point<D> a) {
  double largest = 0;
  for (const double x : a) largest = std::max(largest, std::fabs(x));
  if (!(largest > 0)) return a;
  const int exponent = std::ilogb(largest);
  for (double& x : a) x = std::ldexp(x, -exponent);
  const double length = std::sqrt(dot(a, a));
  for (double& x : a) x /= length;
  return a;
}

// The singular value decomposition of a matrix with N columns by one-sided Jacobi rotations, which finds small singular
// values to their last digits: columns = U * S * turn^T, with the columns of U * S left in place of the given ones.
template <std::size_t N, class Column>
struct Jacobi {
  std::array<Point<N>, N> turn{};  // turn[k]: what column k of U * S is combined of
  std::array<double, N> strength{};

  explicit Jacobi(std::array<Column, N>& columns) {
    constexpr double kDone = 4 * std::numeric_limits<double>::epsilon();
    constexpr int kMostSweeps = 30;  // five are usual
    for (std::size_t k = 0; k < N; ++k) turn[k][k] = 1;
    bool is_done = false;
    for (int sweep = 0; sweep < kMostSweeps && !is_done; ++sweep) {
      is_done = true;
      for (std::size_t i = 0; i + 1 < N; ++i)
        for (std::size_t j = i + 1; j < N; ++j) {
          double a = 0, b = 0, both = 0;
          for (std::size_t k = 0; k < columns[i].size(); ++k) {
            a += columns[i][k] * columns[i][k];
            b += columns[j][k] * columns[j][k];
            both += columns[i][k] * columns[j][k];
          }
          if (!(std::fabs(both) > kDone * std::sqrt(a * b))) continue;
          is_done = false;
          const double zeta = (b - a) / (2 * both);
          const double tangent = std::copysign(1 / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta)), zeta);
          const double cosine = 1 / std::sqrt(1 + tangent * tangent), sine = cosine * tangent;
          const auto rotate = [=](double& x, double& y) {
            const double before = x;
            x = cosine * before - sine * y;
            y = sine * before + cosine * y;
          };
          for (std::size_t k = 0; k < columns[i].size(); ++k) rotate(columns[i][k], columns[j][k]);
          for (std::size_t k = 0; k < N; ++k) rotate(turn[i][k], turn[j][k]);
        }
    }
    for (std::size_t k = 0; k < N; ++k) {
      double sum = 0;
      for (const double x : columns[k]) sum += x * x;
      strength[k] = std::sqrt(sum);
    }
  }
};

// One region after the other; keeps its memory.
template <std::size_t D>
class RegionMaker {
 public:
  // Rows n, c of D + 1 finite numbers: inside is where n . x + c >= 0. Appends the region and
  // returns true, unless the normals must span all directions and do not.
  bool add(const double* planes, std::size_t count, bool must_span, RegionSlabs& to) {
    const bool excludes_everything = take(planes, count);
    if (must_span && rank_of(directions_) < D) return false;
    const std::size_t rank = rank_of(units_);
    if (excludes_everything || (rank > 0 && !find_corners(rank))) {
      append_nothing(to);
    } else if (rank == 0) {
      append_everything(to);
    } else {
      find_rays(rank);
      find_axes(rank);
      append(to);
    }
    return true;
  }

 private:
  using Axis = Point<D>;
  struct Corner {
    Axis point;
    double error;
  };

  static constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  // Of the sums that axes are multiplied out to, on both sides of a comparison.
  static constexpr double kAxisRounding = 32 * kEpsilon;
  static constexpr double kLeast = 0x1p-1069;    // more than a few roundings of the smallest numbers
  static constexpr double kSingular = 1e-12;     // planes that meet at a smaller angle are taken for parallel
  static constexpr double kNoComponent = 1e-15;  // of a unit vector: rounding
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // Scales the planes. True if one of them excludes everything.
  bool take(const double* planes, std::size_t count) {
    normals_.clear(), directions_.clear(), units_.clear(), ends_.clear(), distances_.clear();
    bool excludes_everything = false;
    for (std::size_t p = 0; p < count; ++p) {
      const double* plane = planes + p * (D + 1);
      double largest = 0;
      for (std::size_t k = 0; k < D; ++k) largest = std::max(largest, std::fabs(plane[k]));
      int exponent = largest > 0 ? std::ilogb(largest) : 0;
      if (std::isinf(std::ldexp(plane[D], -exponent))) exponent += 2;  // the distance may still be a number
      Axis normal;
      for (std::size_t k = 0; k < D; ++k) normal[k] = std::ldexp(plane[k], -exponent);
      const double end = std::ldexp(plane[D], -exponent);  // beyond the largest number is at infinity
      const double length = std::sqrt(dot(normal, normal));
      Axis direction = normal;
      if (length > 0)
        for (double& x : direction) x /= length;
      directions_.push_back(direction);
      if (!(length > 0) || std::isinf(end)) {
        excludes_everything |= end < 0;
        continue;
      }
      normals_.push_back(normal);
      ends_.push_back(end);
      units_.push_back(direction);
      distances_.push_back(end / length);
    }
    return excludes_everything;
  }

  // The number of directions that the normals span; the others are left in lines_.
  std::size_t rank_of(const std::vector<Axis>& units) {
    std::array<std::vector<double>, D> columns;
    for (std::size_t k = 0; k < D; ++k) {
      columns[k].resize(units.size());
      for (std::size_t p = 0; p < units.size(); ++p) columns[k][p] = units[p][k];
    }
    const Jacobi<D, std::vector<double>> jacobi(columns);
    lines_.clear();
    for (std::size_t k = 0; k < D; ++k)
      if (!(jacobi.strength[k] > kSingular)) lines_.push_back(jacobi.turn[k]);
    return D - lines_.size();
  }

  // Where `rank` planes meet, inside all others. False if there is no such point.
  bool find_corners(std::size_t rank) {
    corners_.clear(), edges_.clear();
    const std::size_t count = units_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (rank == 1) try_corner<1>({i});
      if (rank > 1)
        for (std::size_t j = i + 1; j < count; ++j) {
          if (rank == 2) try_corner<2>({i, j});
          if constexpr (D == 3)
            if (rank == 3)
              for (std::size_t k = j + 1; k < count; ++k) try_corner<3>({i, j, k});
        }
    }
    return !corners_.empty();
  }

  // The point of these planes that is nearest to the origin.
  template <std::size_t R>
  void try_corner(const std::array<std::size_t, R>& meeting) {
    std::array<Axis, R> columns;
    for (std::size_t r = 0; r < R; ++r) columns[r] = units_[meeting[r]];
    const Jacobi<R, Axis> jacobi(columns);
    const double strength = *std::min_element(jacobi.strength.begin(), jacobi.strength.end());
    if (!(strength > kSingular)) return;
    Corner corner{};
    double offset = 0;
    for (std::size_t round = 0; round < 2; ++round) {  // the second takes away most of what the first has rounded
      Point<R> rest;
      for (std::size_t r = 0; r < R; ++r) {
        rest[r] = -(dot(units_[meeting[r]], corner.point) + distances_[meeting[r]]);
        offset = std::max(offset, std::fabs(distances_[meeting[r]]));
      }
      for (std::size_t r = 0; r < R; ++r) {
        const double along = dot(jacobi.turn[r], rest) / jacobi.strength[r] / jacobi.strength[r];
        for (std::size_t k = 0; k < D; ++k) corner.point[k] += along * columns[r][k];
      }
    }
    double rounding = 8 * kEpsilon * offset + kLeast / 4;
    for (const double x : corner.point) rounding += 8 * kEpsilon * std::fabs(x);
    corner.error = rounding / strength;
    for (std::size_t p = 0; p < units_.size(); ++p)
      if (!(dot(units_[p], corner.point) + distances_[p] >= -4 * corner.error)) return;
    corners_.push_back(corner);
    for (std::size_t i = 0; i + 1 < R; ++i)
      for (std::size_t j = i + 1; j < R; ++j)
        edges_.push_back({static_cast<std::uint16_t>(meeting[i]), static_cast<std::uint16_t>(meeting[j])});
  }

  // The directions in which the region is unbounded: along lines_, and along edges that have no end.
  void find_rays(std::size_t rank) {
    rays_.clear();
    if (rank == 1) {
      for (const Axis& normal : units_) try_ray(normal);
    } else if constexpr (D == 2) {
      for (const Axis& normal : units_) try_ray({-normal[1], normal[0]});
    } else if (rank == 2) {
      for (const Axis& normal : units_) try_ray(cross(normal, lines_[0]));
    } else {
      for (std::size_t i = 0; i < units_.size(); ++i)
        for (std::size_t j = i + 1; j < units_.size(); ++j) try_ray(cross(units_[i], units_[j]));
    }
    for (Axis line : lines_) {
      rays_.push_back(line);
      for (double& x : line) x = -x;
      rays_.push_back(line);
    }
  }
  void try_ray(Axis direction) {
    const double length = std::sqrt(dot(direction, direction));
    if (!(length > kSingular)) return;
    for (double& x : direction) x /= length;
    for (const double sign : {1.0, -1.0}) {
      bool is_inside = true;
      for (std::size_t p = 0; p < units_.size() && is_inside; ++p)
        is_inside = sign * dot(units_[p], direction) >= -16 * kEpsilon / length;
      if (!is_inside) continue;
      rays_.push_back(direction);
      for (double& x : rays_.back()) x *= sign;
    }
  }

  // Each direction once, as a unit vector, without the coordinate axes: the box around stands for those.
  void find_axes(std::size_t rank) {
    axes_.clear();
    for (const Axis& normal : units_) keep_axis(normal);
    if constexpr (D == 3)
      if (rank > 1) {
        std::sort(edges_.begin(), edges_.end());
        edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
        for (const auto& [i, j] : edges_) {
          const auto [x, y, z] = unit<3>(cross(units_[i], units_[j]));
          keep_axis({0, -z, y});
          keep_axis({z, 0, -x});
          keep_axis({-y, x, 0});
        }
      }
  }
  void keep_axis(Axis axis) {
    axis = unit<D>(axis);
    std::size_t used = 0;
    double first = 0;
    for (double& x : axis) {
      if (std::fabs(x) < kNoComponent) x = 0;
      used += x != 0 ? 1 : 0;
      if (first == 0) first = x;
    }
    if (used < 2) return;
    if (first < 0)
      for (double& x : axis) x = 0 - x;
    constexpr double kSame = 1e-12;
    for (const Axis& other : axes_) {
      double apart = 0;
      for (std::size_t k = 0; k < D; ++k) apart = std::max(apart, std::fabs(axis[k] - other[k]));
      if (apart < kSame) return;
    }
    axes_.push_back(axis);
  }

  // Where the region begins and ends on an axis, a little further out than rounding may have moved it.
  void support(const Axis& axis, double& least, double& most) const {
    double sizes = 0, slack = 0;
    for (std::size_t k = 0; k < D; ++k) sizes += std::fabs(axis[k]), slack += std::fabs(axis[k]) * reach_[k];
    slack = kAxisRounding * slack + kLeast;
    least = kInfinity, most = -kInfinity;
    for (const Corner& corner : corners_) {
      const double place = dot(axis, corner.point), spread = sizes * corner.error;
      const bool is_number = std::isfinite(place);  // and not beyond all doubles
      least = std::min(least, is_number ? place - spread : -kInfinity);
      most = std::max(most, is_number ? place + spread : kInfinity);
    }
    least -= slack, most += slack;
    const double rounding = 16 * kEpsilon * std::sqrt(dot(axis, axis));
    for (const Axis& ray : rays_) {
      const double onward = dot(axis, ray);
      if (onward < -rounding) least = -kInfinity;
      if (onward > rounding) most = kInfinity;
    }
  }

  void append(RegionSlabs& to) {
    reach_ = {};
    for (const Corner& corner : corners_)
      for (std::size_t k = 0; k < D; ++k) reach_[k] = std::max(reach_[k], std::fabs(corner.point[k]));
    for (const Axis& axis : axes_) {
      double least, most;
      support(axis, least, most);
      to.axes.insert(to.axes.end(), axis.begin(), axis.end());
      to.least.push_back(least);
      to.most.push_back(most);
    }
    Axis lower, upper;
    for (std::size_t k = 0; k < D; ++k) {
      Axis axis{};
      axis[k] = 1;
      support(axis, lower[k], upper[k]);
    }
    // Planes along the coordinate axes are taken as they were given.
    for (std::size_t p = 0; p < normals_.size(); ++p) {
      std::size_t used = 0, axis = 0;
      for (std::size_t k = 0; k < D; ++k)
        if (normals_[p][k] != 0) ++used, axis = k;
      if (used != 1) continue;
      const double end = -ends_[p] / normals_[p][axis];
      if (normals_[p][axis] > 0)
        lower[axis] = std::max(lower[axis], end);
      else
        upper[axis] = std::min(upper[axis], end);
    }
    append_box(lower, upper, to);
  }

  static void append_everything(RegionSlabs& to) {
    Axis far;
    far.fill(kInfinity);
    Axis near;
    near.fill(-kInfinity);
    append_box(near, far, to);
  }
  // A slab of a zero axis, which no box meets.
  static void append_nothing(RegionSlabs& to) {
    to.axes.insert(to.axes.end(), D, 0.0);
    to.least.push_back(1);
    to.most.push_back(0);
    Axis far;
    far.fill(kInfinity);
    Axis near;
    near.fill(-kInfinity);
    append_box(far, near, to);
  }
  static void append_box(const Axis& lower, const Axis& upper, RegionSlabs& to) {
    to.around_lower.insert(to.around_lower.end(), lower.begin(), lower.end());
    to.around_upper.insert(to.around_upper.end(), upper.begin(), upper.end());
    to.offsets.push_back(static_cast<std::int64_t>(to.least.size()));
  }

  std::vector<Axis> directions_;          // of all planes, of length 1 or 0
  std::vector<Axis> normals_, units_;     // of those that exclude something
  std::vector<double> ends_, distances_;  // likewise: the last numbers of both
  std::vector<Axis> lines_, rays_, axes_;
  std::vector<Corner> corners_;
  std::vector<std::array<std::uint16_t, 2>> edges_;  // planes that meet in a corner
  Axis reach_{};
};

}  // namespace detail

// Appends `count` regions between `planes` planes each: see RegionMaker::add. Returns the number of the first that
// is not appended; `count` if all are.
inline std::size_t make_regions(const double* planes, std::size_t count, std::size_t planes_each, std::size_t dimension,
                                bool must_span, Interrupt& interrupt, RegionSlabs& to) {
  const auto make = [&]<std::size_t D>(detail::RegionMaker<D> maker) {
    for (std::size_t k = 0; k < count; ++k) {
      if (!maker.add(planes + k * planes_each * (D + 1), planes_each, must_span, to)) return k;
      interrupt.check();
    }
    return count;
  };
  return dimension == 2 ? make(detail::RegionMaker<2>()) : make(detail::RegionMaker<3>());
}

}  // namespace broadphase
