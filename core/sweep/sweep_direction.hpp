// What to sort boxes along: an axis, or any direction.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/samples.hpp"
#include "query/problem.hpp"

namespace broadphase {

// An axis, or (axis < 0) the direction `weight`, of any length but finite and not zero.
struct SweepDirection {
  int axis = 0;
  std::array<double, 4> weight{};
};

template <class T>
struct Interval {
  T begin, end;
};

// What a box, grown, covers along a direction. Boxes that overlap have intervals that overlap:
// Along an axis that is the definition. Along another direction, let boxes p and q overlap, so that on every axis
// lower_p <= upper_q. A term of p's begin is then no larger than the same term of q's end: w * lower_p <= w * upper_q
// for w > 0, w * upper_p <= w * lower_q for w < 0. Rounding is monotone: x <= y gives round(x) <= round(y). So the
// rounded products keep that order, so do their rounded sums, term by term in one and the same order, and so do the
// sums rounded to T: begin_p <= end_q, and likewise begin_q <= end_p, without a tolerance. (That the compiler fuses
// no multiplication with an addition here and not there is why the core is built with contraction off.)
// Infinite terms of both signs have no sum: the interval is then open-ended.
template <class T>
Interval<T> interval_along(const SweepDirection& direction, const T* lower, const T* upper, std::size_t dimension,
                           T grow) {
  if (direction.axis >= 0) return {lower[direction.axis] - grow, upper[direction.axis] + grow};
  double begin = 0, end = 0;
  for (std::size_t k = 0; k < dimension; ++k) {
    const double w = direction.weight[k];
    if (w == 0) continue;  // 0 * inf is no number
    const double low = w * static_cast<double>(w > 0 ? lower[k] - grow : upper[k] + grow);
    const double high = w * static_cast<double>(w > 0 ? upper[k] + grow : lower[k] - grow);
    begin += low;
    end += high;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {static_cast<T>(std::isnan(begin) ? -kInfinity : begin), static_cast<T>(std::isnan(end) ? kInfinity : end)};
}

// Up to `most` rows, which stand for all of them; of the first or the second set of a problem.
inline std::vector<std::size_t> sample_rows(std::size_t count, std::size_t most, std::size_t set = 0) {
  const RandomSample sample(count, most, set);
  std::vector<std::size_t> rows(sample.size());
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = sample[k];
  return rows;
}

namespace detail {

// The begins and ends of a sample of boxes along one direction, each in ascending order.
template <class T>
struct SortedSample {
  std::vector<T> begins, ends;

  SortedSample() = default;
  SortedSample(const BoxView<T>& boxes, const std::vector<std::size_t>& rows, std::size_t dimension, T grow,
               const SweepDirection& direction) {
    take(boxes, rows, dimension, grow, direction);
  }
  void take(const BoxView<T>& boxes, const std::vector<std::size_t>& rows, std::size_t dimension, T grow,
            const SweepDirection& direction) {
    begins.clear();
    ends.clear();
    begins.reserve(rows.size());
    ends.reserve(rows.size());
    for (const std::size_t row : rows) {
      const auto interval = interval_along(direction, boxes.lower_of(row), boxes.upper_of(row), dimension, grow);
      if (!(interval.begin <= interval.end)) continue;  // written since the check; NaN has no place in an order
      begins.push_back(interval.begin);
      ends.push_back(interval.end);
    }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
  }
};

// How many intervals of a overlap one of b: all, less those that end before it begins, and those that begin after.
template <class T>
double overlapping(const SortedSample<T>& a, const SortedSample<T>& b) {
  std::size_t begun = 0, ended = 0, sum = 0;
  for (const T end : a.ends) {
    while (begun < b.begins.size() && b.begins[begun] <= end) ++begun;
    sum += begun;
  }
  for (const T begin : a.begins) {
    while (ended < b.ends.size() && b.ends[ended] < begin) ++ended;
    sum -= ended;
  }
  return static_cast<double>(sum);
}

// Of all pairs of a sample, the share whose intervals overlap.
template <class T>
double overlapping_share(const SortedSample<T>& sample) {
  const auto m = static_cast<double>(sample.begins.size());
  return m < 2 ? 0 : (overlapping(sample, sample) - m) / (m * m - m);
}

}  // namespace detail

// The share of all pairs whose intervals overlap along a direction, 0 to 1, guessed from a sample: what a sweep tests.
template <class T>
double sweep_share(const Problem<T>& problem, const SweepDirection& direction, std::size_t most) {
  const std::vector<std::size_t> rows = sample_rows(problem.first.count, most);
  if (rows.empty()) return 0;
  const detail::SortedSample<T> a(problem.first, rows, problem.dimension, problem.grow, direction);
  const auto m = static_cast<double>(rows.size());
  if (!problem.cross) return detail::overlapping_share(a);
  const std::vector<std::size_t> others = sample_rows(problem.second.count, most, 1);
  if (others.empty()) return 0;
  const detail::SortedSample<T> b(problem.second, others, problem.dimension, problem.grow, direction);
  return detail::overlapping(a, b) / (m * static_cast<double>(others.size()));
}

// The axis along which a sweep tests the fewest pairs. Only axes: a direction between them is never better spread
// over extents. With spreads s_k (standard deviations of the centres) and extents e_k, the spread along w is at most
// sum |w_k| s_k, and the extent of a box is sum |w_k| e_k: their ratio is at most the largest s_k / e_k.
template <class T>
SweepDirection best_axis(const Problem<T>& problem) {
  // One box in 32, at least 64 and at most 512: choosing takes less than a tenth of the sweep.
  const std::size_t most = std::clamp<std::size_t>(std::max(problem.first.count, problem.second.count) / 32, 64, 512);
  SweepDirection best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < problem.dimension && problem.dimension > 1; ++k) {
    const SweepDirection axis{static_cast<int>(k), {}};
    const double share = sweep_share(problem, axis, most);
    if (share < least) {
      least = share;
      best = axis;
    }
  }
  return best;
}

using Matrix = std::array<std::array<double, 4>, 4>;

namespace detail {

// Calls use(centre) for the centre of each of these boxes, unless it is infinite.
template <class T, class Use>
void each_centre(const BoxView<T>& boxes, const std::vector<std::size_t>& rows, std::size_t dimension, Use&& use) {
  for (const std::size_t row : rows) {
    std::array<double, 4> centre{};
    bool finite = true;
    for (std::size_t k = 0; k < dimension; ++k) {
      // A quarter of the sum, so that the difference of two does not overflow.
      centre[k] =
          0.25 * static_cast<double>(boxes.lower_of(row)[k]) + 0.25 * static_cast<double>(boxes.upper_of(row)[k]);
      finite &= std::isfinite(centre[k]);
    }
    if (finite) use(centre);
  }
}

}  // namespace detail

// Covariance of the centres of these boxes, up to a factor. Boxes with an infinite centre are left out.
template <class T>
Matrix centre_covariance(const BoxView<T>& boxes, const std::vector<std::size_t>& rows, std::size_t dimension) {
  // From one of them, and scaled to [-1, 1]: no digits are lost far from the origin, and no square overflows.
  std::array<double, 4> origin{}, mean{};
  double scale = 0, count = 0;
  detail::each_centre(boxes, rows, dimension, [&](const std::array<double, 4>& centre) {
    if (count++ == 0) origin = centre;
    for (std::size_t k = 0; k < dimension; ++k) scale = std::max(scale, std::abs(centre[k] - origin[k]));
  });
  Matrix covariance{};
  if (scale == 0) return covariance;
  const auto place = [&](const std::array<double, 4>& centre, std::size_t k) {
    return (centre[k] - origin[k]) / scale;
  };
  detail::each_centre(boxes, rows, dimension, [&](const std::array<double, 4>& centre) {
    for (std::size_t k = 0; k < dimension; ++k) mean[k] += place(centre, k) / count;
  });
  detail::each_centre(boxes, rows, dimension, [&](const std::array<double, 4>& centre) {
    for (std::size_t p = 0; p < dimension; ++p)
      for (std::size_t q = 0; q < dimension; ++q)
        covariance[p][q] += (place(centre, p) - mean[p]) * (place(centre, q) - mean[q]);
  });
  return covariance;
}

// The direction along which the centres of these boxes vary most: the eigenvector of the largest eigenvalue of their
// covariance. The first axis if nothing varies.
template <class T>
SweepDirection principal_direction(const BoxView<T>& boxes, const std::vector<std::size_t>& rows,
                                   std::size_t dimension) {
  Matrix power = centre_covariance(boxes, rows, dimension);
  SweepDirection result;
  // Power iteration from all axes at once: squared n times, the matrix is its 2^n-th power, whose columns all point
  // along the answer. 2^40 separates eigenvalues as close as rounding allows.
  for (int squared = 0; squared <= 40; ++squared) {
    double trace = 0;
    for (std::size_t k = 0; k < dimension; ++k) trace += power[k][k];
    if (!(trace > 0)) return result;
    Matrix square{};
    for (std::size_t p = 0; p < dimension; ++p)
      for (std::size_t q = 0; q < dimension; ++q)
        for (std::size_t k = 0; k < dimension; ++k) square[p][q] += power[p][k] / trace * (power[k][q] / trace);
    power = square;
  }
  std::size_t longest = 0;
  for (std::size_t k = 1; k < dimension; ++k)
    if (power[k][k] > power[longest][longest]) longest = k;
  double length = 0;
  for (std::size_t k = 0; k < dimension; ++k) length = std::hypot(length, power[k][longest]);
  result.axis = -1;
  for (std::size_t k = 0; k < dimension; ++k) result.weight[k] = power[k][longest] / length;
  return result;
}

template <class T>
SweepDirection principal_direction(const BoxView<T>& boxes, std::size_t dimension) {
  return principal_direction(boxes, sample_rows(boxes.count, 4096), dimension);
}

}  // namespace broadphase
