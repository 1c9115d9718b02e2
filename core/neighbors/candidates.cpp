#include "neighbors/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
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

NeighborPairs NeighborCandidates::near(const double* points, const Shift* jumps, const PointCells& cells, double cutoff,
                                       const NeighborRules* rules, bool distances, bool vectors, bool shifts,
                                       unsigned workers, Interrupt& interrupt) const {
  constexpr std::size_t kTask = std::size_t{1} << 16;
  const std::size_t tasks = (count_ + kTask - 1) / kTask;
  workers = static_cast<unsigned>(std::min<std::size_t>(workers, std::max<std::size_t>(tasks, 1)));
  NeighborPairs out(dimension_, distances, vectors, shifts);
  const bool solid = dimension_ > 2;
  const std::int32_t* kinds = rules != nullptr && rules->by_species() ? rules->kinds.data() : nullptr;
  PlainArray<ExactPoint> exact;
  exact.grow(named_);
  const auto place = [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t row = order_[k];
      const double* point = points + static_cast<std::size_t>(row) * dimension_;
      exact[k] = {point[0], point[1], solid ? point[2] : 0.0, row,
                  kinds != nullptr ? kinds[static_cast<std::size_t>(row)] : 0};
    }
  };
  const double limit = largest_square(cutoff);
  const double* limits = kinds != nullptr ? rules->squares.data() : nullptr;
  const auto species = static_cast<std::int32_t>(kinds != nullptr ? rules->species : 0);
  const auto is_near = [=](const ExactPoint& from, const ExactPoint& to, double square) {
    return square <= (limits == nullptr ? limit : limits[from.kind * species + to.kind]);
  };
  // Returns size = use(shifted, size, from, to, shift, vector, square) for the candidates [begin, end) in turn. There
  // is one call for each type of `shifted`, which the compiler puts in line, with all values in registers.
  const auto each = [&](std::size_t begin, std::size_t end, std::size_t size, const auto& use) {
    const auto look = [&](auto shifted, std::size_t first, std::size_t last) {
      const auto own_use = use;
      std::size_t own_size = size;
      for (std::size_t k = first; k < last; ++k) {
        const ExactPoint &from = exact[places_[k].first], &to = exact[places_[k].second];
        Shift shift{};
        Vector3 way{to.x - from.x, to.y - from.y, to.z - from.z};
        if constexpr (shifted) {
          if (k >= unshifted_) shift = shifts_[k - unshifted_];
          if (jumps != nullptr) {
            const Shift &own = jumps[from.row], &other = jumps[to.row];
            shift = {shift[0] + (own[0] - other[0]), shift[1] + (own[1] - other[1]), shift[2] + (own[2] - other[2])};
          }
          if ((shift[0] | shift[1] | shift[2]) != 0) {
            const Cell& cell = cells.of(static_cast<std::size_t>(from.row));
            way[0] += cell.along(0, shift[0], shift[1], shift[2]);
            way[1] += cell.along(1, shift[0], shift[1], shift[2]);
            way[2] += cell.along(2, shift[0], shift[1], shift[2]);
          }
        }
        own_size = own_use(shifted, own_size, from, to, shift, way, dot(way, way));
      }
      size = own_size;
    };
    const std::size_t plain = jumps == nullptr ? std::clamp(unshifted_, begin, end) : begin;
    look(std::false_type{}, begin, plain);
    look(std::true_type{}, plain, end);
    return size;
  };
  // Writes those within the cutoff to entries [size, last), without a branch for each; returns where they end.
  const auto write = [&](std::size_t begin, std::size_t end, std::size_t size, std::size_t last) {
    std::int32_t *first = out.first(), *second = out.second(), *to_shifts = out.shifts.get();
    double *to_distances = out.distances.get(), *to_vectors = out.vectors.get();
    const std::size_t dimension = dimension_;
    return each(begin, end, size,
                [=](auto, std::size_t at, const ExactPoint& from, const ExactPoint& to, const Shift& shift,
                    const Vector3& way, double square) {
                  if (at == last) return at;
                  first[at] = from.row;
                  second[at] = to.row;
                  if (to_distances != nullptr) to_distances[at] = std::sqrt(square);
                  if (to_shifts != nullptr) {
                    std::int32_t* entry = to_shifts + at * dimension;
                    entry[0] = shift[0];
                    entry[1] = shift[1];
                    if (solid) entry[2] = shift[2];
                  }
                  if (to_vectors != nullptr) {
                    double* entry = to_vectors + at * dimension;
                    entry[0] = way[0] + 0.0;
                    entry[1] = way[1] + 0.0;
                    if (solid) entry[2] = way[2] + 0.0;
                  }
                  return at + (is_near(from, to, square) ? 1 : 0);
                });
  };
  if (workers <= 1) {
    place(0, named_);
    out.room(count_ + 1);
    for (std::size_t task = 0; task < tasks; ++task) {
      out.size = write(task * kTask, std::min(count_, (task + 1) * kTask), out.size, out.capacity);
      interrupt.check();
    }
    return out;
  }
  const EvenSplit rows{named_, workers};
  for_each_task(workers, workers, interrupt,
                [&](unsigned, std::size_t part) { place(rows.at(part), rows.at(part + 1)); });
  // Counted first, so that each task knows where its own begin.
  std::vector<std::size_t> target(tasks + 1, 0);
  for_each_task(tasks, workers, interrupt, [&](unsigned, std::size_t task) {
    target[task + 1] = each(task * kTask, std::min(count_, (task + 1) * kTask), 0,
                            [=](auto, std::size_t near, const ExactPoint& from, const ExactPoint& to, const Shift&,
                                const Vector3&, double square) { return near + (is_near(from, to, square) ? 1 : 0); });
  });
  for (std::size_t task = 0; task < tasks; ++task) target[task + 1] += target[task];
  out.room(target.back() + 1);
  out.size = target.back();
  for_each_task(tasks, workers, interrupt, [&](unsigned, std::size_t task) {
    write(task * kTask, std::min(count_, (task + 1) * kTask), target[task], target[task + 1]);
  });
  return out;
}

namespace {

Vector3 times(const Vector3& row, const Matrix3& matrix) {
  Vector3 product{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    product[axis] = (row[0] * matrix[0][axis] + row[1] * matrix[1][axis]) + row[2] * matrix[2][axis];
  return product;
}

}  // namespace

Moved motion_of(const Motion& motion, unsigned workers, Interrupt& interrupt, PlainArray<Shift>& jumps) {
  constexpr std::size_t kTask = std::size_t{1} << 14;
  constexpr double kMostJumps = 1 << 20;
  const std::size_t tasks = (motion.count + kTask - 1) / kTask;
  const auto at = [&](const double* points, std::size_t row) {
    const double* from = points + row * motion.dimension;
    return Vector3{from[0], from[1], motion.dimension > 2 ? from[2] : 0.0};
  };
  // The greatest of use(row, way) for all points.
  std::vector<double> of_tasks(tasks);
  const auto most = [&](auto&& use) {
    for_each_task(tasks, workers, interrupt, [&](unsigned, std::size_t task) {
      double greatest = 0;
      for (std::size_t row = task * kTask; row < std::min(motion.count, (task + 1) * kTask); ++row) {
        Vector3 way = at(motion.points, row);
        if (motion.back != nullptr) way = times(way, motion.back[motion.cells_before.at(row)]);
        const Vector3 before = at(motion.before, row);
        for (std::size_t axis = 0; axis < 3; ++axis) way[axis] -= before[axis];
        greatest = std::max(greatest, use(row, way));
      }
      of_tasks[task] = greatest;
    });
    return *std::max_element(of_tasks.begin(), of_tasks.end());
  };
  if (motion.count == 0) return Moved::kLittle;
  const double size = most([&](std::size_t row, const Vector3&) {
    double largest = 0;
    for (const Vector3& point : {at(motion.points, row), at(motion.before, row)})
      for (const double coordinate : point) largest = std::max(largest, std::abs(coordinate));
    return largest;
  });
  const double limit = motion.limit - motion.rounding * size;
  if (!(limit >= 0)) return Moved::kTooFar;
  if (most([](std::size_t, const Vector3& way) { return dot(way, way); }) <= limit * limit) return Moved::kLittle;
  if (motion.inverses == nullptr) return Moved::kTooFar;
  // Points that were put back into the cell have moved by lattice vectors, and by the rest.
  jumps.grow(motion.count);
  constexpr double kFar = std::numeric_limits<double>::infinity();
  const double rest = most([&](std::size_t row, const Vector3& way) {
    const std::size_t cell = motion.cells_before.at(row);
    const Vector3 steps = times(way, motion.inverses[cell]);
    Shift jump{};
    for (std::size_t k = 0; k < 3; ++k) {
      const double number = std::nearbyint(steps[k]);
      if (!(std::abs(number) < kMostJumps)) return kFar;
      jump[k] = static_cast<std::int32_t>(number);
    }
    jumps[row] = jump;
    const Vector3 moved = motion.cells_before.cells[cell].translation(jump);
    const Vector3 left{way[0] - moved[0], way[1] - moved[1], way[2] - moved[2]};
    return dot(left, left);
  });
  return rest <= limit * limit ? Moved::kLittleAfterJumps : Moved::kTooFar;
}

}  // namespace broadphase
