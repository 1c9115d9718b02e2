// Boxes to the cells they cover: once to count, once to write their records.
#pragma once

#include "grid/record.hpp"
#include "simd/float_lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// The monotone map. Beyond the scene it stops at the border. The float limit keeps the conversion defined, and is a
// number that float32 has; the whole-number limit is exact.
template <class T>
inline std::int32_t to_steps(T x, T origin, T scale, std::int32_t largest) {
  T steps = (x - origin) * scale;
  steps = steps > T{0} ? steps : T{0};
  steps = steps < T{1073741824} ? steps : T{1073741824};
  const auto whole = static_cast<std::int32_t>(steps);
  return whole < largest ? whole : largest;
}

template <class T, std::size_t D>
struct Steps {
  std::int32_t lower[D], upper[D];

  // False for a box that is to be left out.
  bool read(FileBoxes<T>& boxes, std::size_t place) {
    const std::size_t row = boxes.rows != nullptr ? boxes.rows[place] : place;
    const T* from_lower = boxes.lower + static_cast<std::ptrdiff_t>(row) * boxes.lower_stride;
    const T* from_upper = boxes.upper + static_cast<std::ptrdiff_t>(row) * boxes.upper_stride;
    const GridLayout<T>& layout = *boxes.layout;
    bool kept = true;
    for (std::size_t d = 0; d < D; ++d) {
      const T low = from_lower[d] - boxes.grow, high = from_upper[d] + boxes.grow;
      boxes.valid &= from_lower[d] <= from_upper[d];  // false for NaN
      kept &= boxes.drop_empty ? low < high : low <= high;
      lower[d] = to_steps(low, layout.origin[d], layout.scale[d], layout.largest[d]);
      upper[d] = to_steps(high, layout.origin[d], layout.scale[d], layout.largest[d]);
    }
    return kept;
  }
};

inline std::int16_t saturated(std::int32_t x) {
  return static_cast<std::int16_t>(x < -32768 ? -32768 : x > 32767 ? 32767 : x);
}

template <class T, std::size_t D>
void write_record(const Steps<T, D>& steps, const std::int32_t* cell, std::uint32_t row, Record<D>& to) {
  for (std::size_t d = 0; d < D; ++d) {
    const std::int32_t centre = cell[d] * kCellSteps + kCellSteps / 2;
    const std::int16_t low = saturated(steps.lower[d] - centre);
    to.lower[d] = low < kBeganBefore ? kBeganBefore : low;
    to.negated_upper[d] = saturated(centre - steps.upper[d]);
  }
  to.set_row(row);
}

// Calls visit(number of the cell, its coordinates) for every cell that the box covers.
template <class T, std::size_t D, class Visit>
inline void for_each_cell(const Steps<T, D>& steps, const GridLayout<T>& layout, Visit visit) {
  std::int32_t first[D], cell[D], number = 0;
  bool one = true;
  for (std::size_t d = 0; d < D; ++d) {
    cell[d] = first[d] = steps.lower[d] >> kCellBits;
    one &= first[d] == steps.upper[d] >> kCellBits;
    number += cell[d] * layout.cell_stride[d];
  }
  if (one) {
    visit(number, cell);
    return;
  }
  for (;;) {
    visit(number, cell);
    std::size_t d = 0;
    while (cell[d] == steps.upper[d] >> kCellBits) {
      number -= (cell[d] - first[d]) * layout.cell_stride[d];
      cell[d] = first[d];
      if (++d == D) return;
    }
    ++cell[d];
    number += layout.cell_stride[d];
  }
}

// The record to write next for a cell; takes a chunk where that is due.
inline std::uint32_t place_for(ChunkPool& pool, std::size_t cell) {
  const std::uint32_t slot = pool.slots[cell];
  if ((slot & ((1u << pool.chunk_bits) - 1)) != 0) return slot;
  const std::uint32_t chunk = pool.used++;
  pool.next_chunk[chunk] = kNoChunk;
  if (slot == 0)
    pool.first_chunk[cell] = chunk;
  else
    pool.next_chunk[(slot - 1) >> pool.chunk_bits] = chunk;
  return chunk << pool.chunk_bits;
}

// Files rows from boxes.begin on; returns the row where the pool may not do, or boxes.end.
template <class T, std::size_t D>
std::size_t file_one_by_one(FileBoxes<T>& boxes) {
  auto* records = static_cast<Record<D>*>(boxes.pool->records);
  for (std::size_t row = boxes.begin; row < boxes.end; ++row) {
    Steps<T, D> steps;
    if (!steps.read(boxes, row)) continue;
    std::size_t covered = 1;
    for (std::size_t d = 0; d < D; ++d)
      covered *= static_cast<std::size_t>((steps.upper[d] >> kCellBits) - (steps.lower[d] >> kCellBits)) + 1;
    if (boxes.pool->capacity - boxes.pool->used < covered) return row;
    for_each_cell(steps, *boxes.layout, [&](std::int32_t number, const std::int32_t* cell) {
      const std::uint32_t place = place_for(*boxes.pool, static_cast<std::size_t>(number));
      write_record(steps, cell, static_cast<std::uint32_t>(row), records[place]);
      boxes.pool->slots[number] = place + 1;
    });
  }
  return boxes.end;
}

}  // namespace broadphase::BROADPHASE_LEVEL
