// Each of many boxes against those in every cell that it covers, 32 at a time.
#pragma once

#include "grid/look_up.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// Tests a box, given by its steps, against the blocks of a cell. Returns where the rows end, and adds to `open` where
// equal numbers leave it open.
template <std::size_t D>
std::int32_t* look_in_cell(const std::int32_t* steps, const std::int32_t* cell, const std::int16_t* words,
                           std::size_t entries, std::int32_t* found, std::uint32_t& open) {
  Words::Vector low[D], high[D];
  unsigned before = 0;
  for (std::size_t d = 0; d < D; ++d) {
    const std::int32_t centre = cell[d] * kCellSteps + kCellSteps / 2;
    const std::int32_t below = steps[d] - centre, above = centre - steps[D + d];
    before |= static_cast<unsigned>(below <= kBeganBefore) << d;
    low[d] = Words::splat(below < kBeganBefore ? kBeganBefore : static_cast<std::int16_t>(below));
    high[d] = Words::splat(above < -32768 ? std::int16_t{-32768} : static_cast<std::int16_t>(above));
  }
  const Words::Vector began = Words::splat(static_cast<std::int16_t>(before));
  const std::int16_t* marks = words + 2 * D * entries;
  const auto* rows = reinterpret_cast<const std::int32_t*>(marks + entries);
  for (std::size_t j = 0; j < entries; j += kBlockLanes) {
    Words::Vector worst[Words::kParts];
    for (std::size_t part = 0; part < Words::kParts; ++part) {
      const std::int16_t* at = words + j + part * Words::kWidth;
      Words::Vector most = Words::add(high[0], Words::load(at));
      most = Words::larger(most, Words::add(low[0], Words::load(at + entries)));
      for (std::size_t d = 1; d < D; ++d) {
        most = Words::larger(most, Words::add(high[d], Words::load(at + 2 * d * entries)));
        most = Words::larger(most, Words::add(low[d], Words::load(at + (2 * d + 1) * entries)));
      }
      worst[part] = most;
    }
    // Where both began before the cell, along any axis, another cell has the pair.
    std::uint32_t sure, possible;
    Words::decide(worst, reinterpret_cast<const std::uint16_t*>(marks + j), &began, 0, sure, possible);
    open |= sure ^ possible;
    found += keep_of_block(rows + j, possible, found);
  }
  return found;
}

// Returns how many queries it has answered: fewer than all where there is no room for another one.
template <std::size_t D>
std::size_t look_up(const LookUps& request) {
  constexpr std::size_t kWords = words_of_block(D);
  const FiledBoxes& boxes = *request.boxes;
  const std::int32_t* const limit = request.found + request.room;
  std::int32_t* found = request.found;
  for (std::size_t k = 0; k < request.count; ++k) {
    const std::int32_t* steps = request.steps + 2 * D * k;
    std::int32_t first[D], last[D], cell[D], number = 0;
    for (std::size_t d = 0; d < D; ++d) {
      cell[d] = first[d] = steps[d] >> kCellBits;
      last[d] = steps[D + d] >> kCellBits;
      number += cell[d] * boxes.cell_stride[d];
    }
    std::int32_t* const begin = found;
    std::uint32_t open = 0;
    int cells_with_rows = 0;
    for (;;) {
      const std::uint32_t start = boxes.start[number];
      const std::size_t entries = std::size_t{boxes.start[number + 1] - start} * kBlockLanes;
      if (static_cast<std::size_t>(limit - found) < entries + 2 * kBlockLanes) return k;
      std::int32_t* const end = look_in_cell<D>(steps, cell, boxes.words + start * kWords, entries, found, open);
      cells_with_rows += end > found ? 1 : 0;
      found = end;
      std::size_t d = 0;
      while (d < D && cell[d] == last[d]) {
        number -= (cell[d] - first[d]) * boxes.cell_stride[d];
        cell[d] = first[d];
        ++d;
      }
      if (d == D) break;
      ++cell[d];
      number += boxes.cell_stride[d];
    }
    const auto count = static_cast<std::size_t>(found - begin);
    request.answers[k] = {static_cast<std::uint32_t>(count), cells_with_rows <= 1, open == 0};
  }
  return request.count;
}

}  // namespace broadphase::BROADPHASE_LEVEL
