// Where bodies are after a step: motion, the sides of a periodic world, and the placed shapes, in one pass over the
// rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "world/boundary.hpp"
#include "world/motion.hpp"
#include "world/noticing.hpp"

namespace broadphase {

// Bounds of a world, lower and upper corner, and flags of the rows that come in at the other side; both may be null.
struct Wrapping {
  const double* bounds;
  const std::uint8_t* wraps;
};

// What a step reads and writes, arrays by row.
template <std::size_t D>
struct Advance {
  Motion<D> motion;
  Wrapping wrapping;
  Placements<D> placements;
  NoticedFlags flags;
  double *to_positions, *to_rotations;  // where all rows are afterwards; may be null
  const double* period;                 // the sizes of a periodic world, or null
};

template <std::size_t D>
struct Advanced {
  std::size_t lost;             // the first row that would not be finite, or the number of rows
  std::ptrdiff_t nowhere = -1;  // a row without a place
  FewRows shifted, rotated;     // whose position, or rotation, the motion has changed
  std::vector<std::int32_t> wrapped;
  Growth<D> growth;
};

// Moves, wraps and places the rows from `begin` to `end`. Block by block, which stay in the cache: of each row, only
// what it was and what it becomes is read from memory and written there.
//
// Poses may be written to by other threads meanwhile: each is copied, and the copy is looked at and used.
template <std::size_t D>
void advance_rows(ShapeStore& shapes, const Advance<D>& step, std::size_t begin, std::size_t end, std::size_t count,
                  Advanced<D>& found) {
  constexpr std::size_t kBlock = 16 * kRowsAStretch, R = kRotationNumbers<D>;
  double positions[kBlock * D], rotations[kBlock * R];
  const bool turn = step.motion.rotations != nullptr;
  for (; begin < end; begin += kBlock) {
    const std::size_t size = std::min(kBlock, end - begin);
    double reach = 0;
    const std::size_t at =
        integrate_rows<D>(step.motion, begin, begin + size, positions, rotations, reach, found.shifted, found.rotated);
    if (at < begin + size) {
      found.lost = std::min(at, count);
      return;
    }
    if (step.wrapping.wraps != nullptr) {
      const auto rows = wrap<D>(positions, step.wrapping.bounds, step.wrapping.wraps + begin, size);
      for (const std::int32_t row : rows) found.wrapped.push_back(row + static_cast<std::int32_t>(begin));
      if (!rows.empty()) reach = sum_of_sizes(positions, size * D);
    }
    if (step.to_positions != nullptr) std::copy_n(positions, size * D, step.to_positions + begin * D);
    if (turn && step.to_rotations != nullptr) std::copy_n(rotations, size * R, step.to_rotations + begin * R);
    const NextPoses<D> next{positions, turn ? rotations : nullptr, begin, reach};
    found.nowhere = place_moved<D>(shapes, next, step.placements, step.flags, found.growth, begin, begin + size);
    if (found.nowhere >= 0) return;
  }
}

// The same for all rows, on threads. The row that is lost, or without a place, is the first one.
template <std::size_t D>
Advanced<D> advance_all(ShapeStore& shapes, const Advance<D>& step, std::size_t count, unsigned workers) {
  constexpr std::size_t kRowsATask = 4096, kTasksWorthThreads = 4;
  const std::size_t size =
      workers <= 1 || count < kTasksWorthThreads * kRowsATask ? std::max<std::size_t>(count, 1) : kRowsATask;
  const std::size_t tasks = (count + size - 1) / size;
  std::vector<Advanced<D>> parts(tasks,
                                 Advanced<D>{count, -1, FewRows(count), FewRows(count), {}, Growth<D>(step.period)});
  Interrupt none;
  for_each_task(tasks, workers, none, [&](unsigned, std::size_t task) {
    advance_rows<D>(shapes, step, task * size, std::min(count, (task + 1) * size), count, parts[task]);
  });
  Advanced<D> all{count, -1, FewRows(count), FewRows(count), {}, Growth<D>(step.period)};
  for (Advanced<D>& part : parts) {
    if (part.lost < count || part.nowhere >= 0) return std::move(part);
    all.shifted.append(part.shifted);
    all.rotated.append(part.rotated);
    all.wrapped.insert(all.wrapped.end(), part.wrapped.begin(), part.wrapped.end());
    all.growth.append(part.growth);
  }
  return all;
}

// The same for the rows listed, ascending, and then for what is stale: for a world in which few rows move, and nobody
// has written to the others.
template <std::size_t D>
Advanced<D> advance_few(ShapeStore& shapes, const Advance<D>& step, std::size_t count, const std::int32_t* rows,
                        std::size_t row_count) {
  Advanced<D> found{count, -1, FewRows::up_to(row_count), FewRows::up_to(row_count), {}, Growth<D>(step.period)};
  std::fill_n(step.flags.moved, count, std::uint8_t{0});
  for (std::size_t k = 0; k < row_count && found.lost == count && found.nowhere < 0; ++k) {
    const auto row = static_cast<std::size_t>(rows[k]);
    advance_rows<D>(shapes, step, row, row + 1, count, found);
  }
  if (found.lost == count && found.nowhere < 0)
    place_stale<D>(shapes, step.placements, step.motion.rotations != nullptr, step.flags, count);
  return found;
}

}  // namespace broadphase
