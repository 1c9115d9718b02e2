// A step of a world in which few rows move, and nobody has written to the others: only those are touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "world/boundary.hpp"
#include "world/motion.hpp"
#include "world/noticing.hpp"

namespace broadphase {

// Bounds of a world, lower and upper corner, and flags of the rows that come in at the other side; both may be null.
struct Wrapping {
  const double* bounds;
  const std::uint8_t* wraps;
};

struct FewMoved {
  std::size_t lost;             // the first row that would not be finite, or the number of rows
  std::ptrdiff_t nowhere = -1;  // a row without a place
  std::vector<std::int32_t> wrapped;
};

// Moves the rows listed, ascending, as `integrate` moves all, and places them as `notice_moved` does; then places again
// what is stale. Of the arrays of `motion`, only these rows are written.
template <std::size_t D>
FewMoved move_few(ShapeStore& shapes, const Motion<D>& motion, const Wrapping& wrapping, const NextPoses<D>& poses,
                  const NoticedFlags& flags, std::size_t count, const std::int32_t* rows, std::size_t row_count,
                  FewRows& shifted, FewRows& rotated) {
  FewMoved found{count, -1, {}};
  std::memset(flags.moved, 0, count);
  for (std::size_t k = 0; k < row_count; ++k) {
    const auto row = static_cast<std::size_t>(rows[k]);
    if (integrate_rows<D>(motion, row, row + 1, shifted, rotated) != row + 1) {
      found.lost = row;
      return found;
    }
    if (wrapping.wraps != nullptr &&
        !wrap<D>(motion.to_positions + row * D, wrapping.bounds, wrapping.wraps + row, 1).empty())
      found.wrapped.push_back(rows[k]);
  }
  for (std::size_t k = 0; k < row_count; ++k) {
    const auto row = static_cast<std::size_t>(rows[k]);
    found.nowhere = notice_moved<D>(shapes, poses, flags, row, row + 1).nowhere;
    if (found.nowhere >= 0) return found;
  }
  place_stale<D>(shapes, poses, flags, count);
  return found;
}

}  // namespace broadphase
