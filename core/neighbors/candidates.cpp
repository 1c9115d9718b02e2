#include "neighbors/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neighbors/point_rows.hpp"

namespace broadphase {

NeighborCandidates::NeighborCandidates(const NeighborPairs& pairs, std::size_t points, Interrupt& interrupt)
    : count_(pairs.size), dimension_(pairs.dimension) {
  const std::int32_t *first = pairs.first(), *second = pairs.second(), *shifts = pairs.shifts.get();
  const auto shift_of = [&](std::size_t k) {
    const std::int32_t* shift = shifts + k * dimension_;
    return Shift{shift[0], shift[1], dimension_ > 2 ? shift[2] : 0};
  };
  for (std::size_t k = 0; k < count_; ++k) unshifted_ += shift_of(k) == Shift{} ? 1 : 0;
  constexpr std::uint32_t kUnnamed = ~std::uint32_t{0};
  std::vector<std::uint32_t> place(points, kUnnamed);
  order_.grow(points);
  places_.grow(count_);
  shifts_.grow(count_ - unshifted_);
  const auto place_of = [&](std::int32_t row) {
    std::uint32_t& found = place[static_cast<std::size_t>(row)];
    if (found == kUnnamed) {
      found = static_cast<std::uint32_t>(named_);
      order_[named_++] = row;
    }
    return found;
  };
  std::size_t next = 0, next_shifted = unshifted_;
  in_stretches(count_, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Shift shift = shift_of(k);
      const std::uint32_t one = place_of(first[k]), two = place_of(second[k]);
      if (shift == Shift{}) {
        places_[next++] = {one, two};
      } else {
        shifts_[next_shifted - unshifted_] = shift;
        places_[next_shifted++] = {one, two};
      }
    }
  });
}

NeighborPairs NeighborCandidates::near(const double* points, const Shift* jumps, const Cell& cell, double cutoff,
                                       bool distances, bool vectors, bool shifts, Interrupt& interrupt) const {
  NeighborPairs out(dimension_, distances, vectors, shifts);
  out.room(count_ + 1);
  const bool solid = dimension_ > 2;
  PlainArray<ExactPoint> exact;
  exact.grow(named_);
  for (std::size_t k = 0; k < named_; ++k) {
    const std::int32_t row = order_[k];
    const double* point = points + static_cast<std::size_t>(row) * dimension_;
    exact[k] = {point[0], point[1], solid ? point[2] : 0.0, row, 0};
  }
  const double limit = largest_square(cutoff);
  std::int32_t *first = out.first(), *second = out.second(), *to_shifts = out.shifts.get();
  double *to_distances = out.distances.get(), *to_vectors = out.vectors.get();
  std::size_t size = 0;
  const auto look = [&](const ExactPoint& from, const ExactPoint& to, const Shift& shift, const Vector3& translation) {
    const double x = (to.x - from.x) + translation[0], y = (to.y - from.y) + translation[1],
                 z = (to.z - from.z) + translation[2];
    const double square = x * x + y * y + z * z;
    first[size] = from.row;
    second[size] = to.row;
    if (to_distances != nullptr) to_distances[size] = std::sqrt(square);
    if (to_shifts != nullptr) {
      std::int32_t* entry = to_shifts + size * dimension_;
      entry[0] = shift[0];
      entry[1] = shift[1];
      if (solid) entry[2] = shift[2];
    }
    if (to_vectors != nullptr) {
      double* entry = to_vectors + size * dimension_;
      entry[0] = x + 0.0;
      entry[1] = y + 0.0;
      if (solid) entry[2] = z + 0.0;
    }
    size += square <= limit ? 1 : 0;
  };
  const std::size_t plain = jumps == nullptr ? unshifted_ : 0;
  in_stretches(plain, interrupt, [&](std::size_t begin, std::size_t end) {
    const Shift none{};
    const Vector3 nowhere{};
    for (std::size_t k = begin; k < end; ++k) look(exact[places_[k].first], exact[places_[k].second], none, nowhere);
  });
  in_stretches(count_ - plain, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = plain + begin; k < plain + end; ++k) {
      const ExactPoint &from = exact[places_[k].first], &to = exact[places_[k].second];
      Shift shift = k >= unshifted_ ? shifts_[k - unshifted_] : Shift{};
      if (jumps != nullptr)
        for (std::size_t l = 0; l < 3; ++l) shift[l] += jumps[from.row][l] - jumps[to.row][l];
      look(from, to, shift, cell.translation(shift));
    }
  });
  out.size = size;
  return out;
}

double most_squared_motion(const double* points, const double* before, std::size_t count, std::size_t dimension) {
  double most = 0;
  for (std::size_t k = 0; k < count; ++k) {
    double square = 0;
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      const double way = points[k * dimension + axis] - before[k * dimension + axis];
      square += way * way;
    }
    most = std::max(most, square);
  }
  return most;
}

}  // namespace broadphase
