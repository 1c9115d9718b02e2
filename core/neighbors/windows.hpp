// What the kernel of neighbours reads and writes: points of a row, each against a window of another row.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadphase {

// Points [own, own_end), ascending in x, against those of another row, [low, end), ascending too, moved by `shift`.
struct WindowSearch {
  const double* own_columns[3];
  const double* columns[3];  // readable for eight values behind `end`
  double shift[3];
  double reach, squared_reach;  // with room for rounding
  double lower[2], upper[2];    // of the other row's y and z, moved
  bool behind;                  // the same row, not moved: only points behind the own one
  std::size_t own, own_end, low, end;
  std::size_t next;  // where to go on within the window of `own`; `end` or more: at its beginning
};

// Where hits go: positions of own points, and of others.
struct WindowHits {
  std::uint32_t *own, *other;
};

// With more hits than these, the kernel returns.
inline constexpr std::size_t kMostWindowHits = 4096;

// Finds hits until all own points are done or there is no more room. Returns their number. Room for kMostWindowHits +
// 16 of them is a precondition.
using WindowKernel = std::size_t (*)(WindowSearch& search, const WindowHits& hits);

}  // namespace broadphase
