// Boxes to the cells they cover: a record in each. Two boxes at a time where there are registers for that; one number
// at a time elsewhere, and where a box is out of the ordinary.
#pragma once

#include "grid/record.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// The limit before the conversion to whole numbers, which keeps it defined: float32 has it exactly.
template <class T>
inline constexpr T kMostSteps = T{1073741824};

// The monotone map. Beyond the scene it stops at the border.
template <class T>
inline std::int32_t to_steps(T x, T origin, T scale, std::int32_t largest) {
  T steps = (x - origin) * scale;
  steps = steps > T{0} ? steps : T{0};
  steps = steps < kMostSteps<T> ? steps : kMostSteps<T>;
  const auto whole = static_cast<std::int32_t>(steps);
  return whole < largest ? whole : largest;
}

// The map of an axis cut at quantiles, within a segment. Beyond the first and the last of them it stops at the border.
template <class T>
inline std::int32_t steps_within(T x, const Segments<T>& segments, std::size_t at, std::int32_t each) {
  const T end = static_cast<T>(each);
  T steps = (x - segments.begin[at]) * segments.inverse_width[at] * end;
  steps = steps > T{0} ? steps : T{0};
  const auto whole = static_cast<std::int32_t>(steps < end ? steps : end);
  return static_cast<std::int32_t>(at) * each + (whole < each ? whole : each - 1);
}

template <class T>
inline std::uint32_t segment_of(T x, const Segments<T>& segments) {
  std::uint32_t at = 0;
  for (std::uint32_t half = kSegments / 2; half > 0; half /= 2) at += segments.begin[at + half] <= x ? half : 0;
  return at;
}

template <class T>
inline std::int32_t to_steps(T x, const GridLayout<T>& layout, std::size_t axis) {
  if (layout.segments[axis] == nullptr)
    return to_steps(x, layout.origin[axis], layout.scale[axis], layout.largest[axis]);
  const Segments<T>& segments = *layout.segments[axis];
  return steps_within(x, segments, segment_of(x, segments), (layout.largest[axis] + 1) >> kSegmentBits);
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
      lower[d] = to_steps(low, layout, d);
      upper[d] = to_steps(high, layout, d);
    }
    return kept;
  }
};

// Many boxes one axis after the other: of a search among quantiles each step waits for the one before, so that many
// searches go on side by side.
inline constexpr std::size_t kSideBySide = 16;

template <class T>
inline void steps_within(const T (&x)[kSideBySide], const Segments<T>& segments, const std::uint32_t (&at)[kSideBySide],
                         std::int32_t each, std::int32_t (&steps)[kSideBySide]) {
  T begin[kSideBySide], inverse_width[kSideBySide];
  for (std::size_t k = 0; k < kSideBySide; ++k)
    begin[k] = segments.begin[at[k]], inverse_width[k] = segments.inverse_width[at[k]];
  const T end = static_cast<T>(each);
  for (std::size_t k = 0; k < kSideBySide; ++k) {
    T within = (x[k] - begin[k]) * inverse_width[k] * end;
    within = within > T{0} ? within : T{0};
    within = within < end ? within : end;
    const auto whole = static_cast<std::int32_t>(within);
    steps[k] = static_cast<std::int32_t>(at[k]) * each + (whole < each ? whole : each - 1);
  }
}

// Both ends of boxes, low <= high.
template <class T>
inline void to_steps(const T (&low)[kSideBySide], const T (&high)[kSideBySide], const GridLayout<T>& layout,
                     std::size_t axis, std::int32_t (&lower)[kSideBySide], std::int32_t (&upper)[kSideBySide]) {
  if (layout.segments[axis] == nullptr) {
    for (std::size_t k = 0; k < kSideBySide; ++k) {
      lower[k] = to_steps(low[k], layout, axis);
      upper[k] = to_steps(high[k], layout, axis);
    }
    return;
  }
  const Segments<T>& segments = *layout.segments[axis];
  const std::int32_t each = (layout.largest[axis] + 1) >> kSegmentBits;
  std::uint32_t at[kSideBySide] = {};
  for (std::uint32_t half = kSegments / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < kSideBySide; ++k) at[k] += segments.begin[at[k] + half] <= low[k] ? half : 0;
  steps_within(low, segments, at, each, lower);
  // Most boxes end in the segment where they begin, or in the next; a few others are looked up one by one.
  constexpr std::uint32_t kFewBeyond = 3;
  std::uint32_t beyond[kSideBySide], count = 0;
  for (std::size_t k = 0; k < kSideBySide; ++k) {
    at[k] += segments.begin[at[k] + 1] <= high[k] ? 1 : 0;
    beyond[count] = static_cast<std::uint32_t>(k);
    count += segments.begin[at[k] + 1] <= high[k] ? 1 : 0;
  }
  if (count <= kFewBeyond) {
    for (std::uint32_t b = 0; b < count; ++b) at[beyond[b]] = segment_of(high[beyond[b]], segments);
  } else {
    for (std::uint32_t& segment : at) segment = 0;
    for (std::uint32_t half = kSegments / 2; half > 0; half /= 2)
      for (std::size_t k = 0; k < kSideBySide; ++k) at[k] += segments.begin[at[k] + half] <= high[k] ? half : 0;
  }
  steps_within(high, segments, at, each, upper);
}

// Reads an axis of the boxes from `place` on; bit k of the result: along this axis, box k is not to be left out.
// Compiled once for all dimensions.
template <class T>
std::uint32_t read_axis(FileBoxes<T>& boxes, std::size_t place, std::size_t axis, std::int32_t (&lower)[kSideBySide],
                        std::int32_t (&upper)[kSideBySide]) {
  constexpr std::uint32_t kAll = (1u << kSideBySide) - 1;
  // Local, for the writes below could be to them for all that the compiler knows.
  const T *from_lower = boxes.lower + axis, *from_upper = boxes.upper + axis, grow = boxes.grow;
  const std::ptrdiff_t lower_stride = boxes.lower_stride, upper_stride = boxes.upper_stride;
  const std::uint32_t* rows = boxes.rows;
  T low[kSideBySide], high[kSideBySide];
  if (rows != nullptr) {
    for (std::size_t k = 0; k < kSideBySide; ++k) {
      const auto row = static_cast<std::ptrdiff_t>(rows[place + k]);
      low[k] = from_lower[row * lower_stride];
      high[k] = from_upper[row * upper_stride];
    }
  } else {
    from_lower += static_cast<std::ptrdiff_t>(place) * lower_stride;
    from_upper += static_cast<std::ptrdiff_t>(place) * upper_stride;
    for (std::size_t k = 0; k < kSideBySide; ++k, from_lower += lower_stride, from_upper += upper_stride) {
      low[k] = *from_lower;
      high[k] = *from_upper;
    }
  }
  std::uint32_t kept = 0;
  for (std::size_t k = 0; k < kSideBySide; ++k) kept += low[k] <= high[k] ? 1 : 0;  // not NaN
  boxes.valid &= kept == kSideBySide;
  const bool all = kept == kSideBySide && !boxes.drop_empty;
  kept = all ? kAll : 0;
  for (std::size_t k = 0; k < kSideBySide; ++k) {
    low[k] -= grow;
    high[k] += grow;
  }
  for (std::size_t k = 0; k < kSideBySide && !all; ++k)
    kept |= static_cast<std::uint32_t>(boxes.drop_empty ? low[k] < high[k] : low[k] <= high[k]) << k;
  to_steps(low, high, *boxes.layout, axis, lower, upper);
  return kept;
}

inline std::int16_t saturated(std::int32_t x) {
  return static_cast<std::int16_t>(x < -32768 ? -32768 : x > 32767 ? 32767 : x);
}

template <std::size_t D>
void name_record(std::uint32_t row, Record<D>& to) {
  if constexpr (D < 4) {
    to.row_low = static_cast<std::uint16_t>(row & 0xffffu);
    to.row_high = static_cast<std::uint16_t>(row >> 16);
  } else {
    to.row = row;
  }
}

template <class T, std::size_t D>
void write_record(const Steps<T, D>& steps, const std::int32_t* cell, std::uint32_t row, Record<D>& to) {
  for (std::size_t d = 0; d < D; ++d) {
    const std::int32_t centre = cell[d] * kCellSteps + kCellSteps / 2;
    const std::int16_t low = saturated(steps.lower[d] - centre);
    to.lower[d] = low < kBeganBefore ? kBeganBefore : low;
    to.negated_upper[d] = saturated(centre - steps.upper[d]);
  }
  name_record(row, to);
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

// Files a box; false where the pool may not do.
template <class T, std::size_t D>
inline bool file_one(FileBoxes<T>& boxes, std::size_t row, const Steps<T, D>& steps) {
  auto* records = static_cast<Record<D>*>(boxes.pool->records);
  std::size_t covered = 1;
  for (std::size_t d = 0; d < D; ++d)
    covered *= static_cast<std::size_t>((steps.upper[d] >> kCellBits) - (steps.lower[d] >> kCellBits)) + 1;
  if (boxes.pool->capacity - boxes.pool->used < covered) return false;
  for_each_cell(steps, *boxes.layout, [&](std::int32_t number, const std::int32_t* cell) {
    const std::uint32_t place = place_for(*boxes.pool, static_cast<std::size_t>(number));
    write_record(steps, cell, static_cast<std::uint32_t>(row), records[place]);
    boxes.pool->slots[number] = place + 1;
  });
  return true;
}

// Files a box that lies in one cell, at these numbers from its centre; false where the pool may not do.
template <std::size_t D>
inline bool file_within(ChunkPool& pool, std::int32_t cell, std::size_t row, const std::int16_t* low,
                        const std::int16_t* high) {
  if (pool.capacity == pool.used) return false;
  const std::uint32_t place = place_for(pool, static_cast<std::size_t>(cell));
  Record<D>& to = static_cast<Record<D>*>(pool.records)[place];
  for (std::size_t d = 0; d < D; ++d) {
    to.lower[d] = low[d * kSideBySide];
    to.negated_upper[d] = high[d * kSideBySide];
  }
  name_record(static_cast<std::uint32_t>(row), to);
  pool.slots[cell] = place + 1;
  return true;
}

// Files kSideBySide boxes of a grid that is cut at quantiles; returns the first row where the pool may not do.
template <class T, std::size_t D>
std::size_t file_side_by_side(FileBoxes<T>& boxes, std::size_t row) {
  const GridLayout<T>& layout = *boxes.layout;
  std::int32_t lower[D][kSideBySide], upper[D][kSideBySide], cell[kSideBySide] = {}, across[kSideBySide] = {};
  std::int16_t low[D][kSideBySide], high[D][kSideBySide];
  std::uint32_t kept = ~std::uint32_t{0};
  for (std::size_t d = 0; d < D; ++d) {
    kept &= read_axis(boxes, row, d, lower[d], upper[d]);
    const std::int32_t stride = layout.cell_stride[d];
    for (std::size_t k = 0; k < kSideBySide; ++k) {
      const std::int32_t own = lower[d][k] >> kCellBits, centre = own * kCellSteps + kCellSteps / 2;
      cell[k] += own * stride;
      across[k] |= own ^ upper[d][k] >> kCellBits;
      low[d][k] = static_cast<std::int16_t>(lower[d][k] - centre);
      high[d][k] = static_cast<std::int16_t>(centre - upper[d][k]);  // of no use where it is in another cell
    }
  }
  for (std::size_t k = 0; k < kSideBySide; ++k, ++row) {
    if ((kept >> k & 1u) == 0) continue;
    if (across[k] == 0) {
      if (!file_within<D>(*boxes.pool, cell[k], row, &low[0][k], &high[0][k])) return row;
      continue;
    }
    Steps<T, D> steps;
    for (std::size_t d = 0; d < D; ++d) steps.lower[d] = lower[d][k], steps.upper[d] = upper[d][k];
    if (!file_one(boxes, row, steps)) return row;
  }
  return row;
}

// Files rows from boxes.begin on; returns the row where the pool may not do, or boxes.end.
template <class T, std::size_t D>
std::size_t file_one_by_one(FileBoxes<T>& boxes) {
  bool searches = false;
  for (std::size_t d = 0; d < D; ++d) searches |= boxes.layout->segments[d] != nullptr;
  std::size_t row = boxes.begin;
  for (; searches && boxes.end - row >= kSideBySide; row += kSideBySide) {
    const std::size_t stopped = file_side_by_side<T, D>(boxes, row);
    if (stopped < row + kSideBySide) return stopped;
  }
  for (; row < boxes.end; ++row) {
    Steps<T, D> steps;
    if (steps.read(boxes, row) && !file_one(boxes, row, steps)) return row;
  }
  return boxes.end;
}

// What filing two boxes at a time needs besides the map: in each half, a lane for each axis or for each of the four
// places of a box.
template <class F>
struct FilingMasks {
  F delta[2], other_axes, stride, largest;
  F choice[2], has[2];  // the lane of a split axis, for all places; the places past that axis
  F offset;

  template <class T>
  explicit FilingMasks(const GridLayout<T>& layout) {
    std::int32_t other[4] = {-1, -1, -1, -1}, steps[4] = {0, 0, 0, 0};
    for (unsigned k = 0; k < 2; ++k) {
      const std::size_t axis = layout.split_axes[k];
      std::int32_t to[4] = {0, 0, 0, 0}, past[4];
      to[axis] = kCellSteps;
      delta[k] = F::twice(to);
      other[axis] = 0;
      const bool used = k == 0 || axis != layout.split_axes[0];
      for (unsigned place = 0; place < 4; ++place) {
        const bool here = (place >> k & 1u) != 0;
        past[place] = here ? -1 : 0;
        if (here) steps[place] += layout.cell_stride[axis];
      }
      has[k] = F::twice(past);
      choice[k] = used ? F::choice_of(axis) : F::choice_of_none();  // no box is past an axis that does not count
    }
    other_axes = F::twice(other);
    offset = F::twice(steps);
    stride = F::twice(layout.cell_stride);
    largest = F::twice(layout.largest);
  }
};

// Some boxes' records for their four places, before they are written: a first loop computes, a second one scatters, so
// that neither waits for the other's latencies.
template <class F>
struct Waiting {
  static constexpr std::size_t kTwos = kRecordsAtATime / 8;
  F records[kTwos][4];             // of two boxes, by place
  std::uint32_t places[kTwos][8];  // cells
  // Numbers of the records that there are: 8 * two + 4 * which + place. Up to eight more are written; the rest fills up
  // the last register's worth of the structure, of which MSVC would warn as padding.
  std::uint16_t present[8 * kTwos + (sizeof(F) - 2 * sizeof(std::uint32_t)) / sizeof(std::uint16_t)];
  std::uint32_t present_count, twos;
};

// Of the numbers 0 to 7 those that are in a set of bits, in order.
struct NumbersOfBits {
  std::uint16_t numbers[256][8] = {};

  constexpr NumbersOfBits() {
    for (std::uint32_t bits = 0; bits < 256; ++bits)
      for (std::uint32_t number = 0, count = 0; number < 8; ++number)
        if ((bits >> number & 1u) != 0) numbers[bits][count++] = static_cast<std::uint16_t>(number);
  }
};
inline constexpr NumbersOfBits kNumbersOfBits;

// Prepares rows from `row` on, two at a time and never the last, up to the first that needs the general way.
template <class T, std::size_t D, class F>
void prepare_twos(const FileBoxes<T>& boxes, const FilingMasks<F>& masks, typename CornerFours<T>::Faults& faults,
                  std::size_t row, Waiting<F>& waiting) {
  using Corners = CornerFours<T>;
  const Corners origin = Corners::twice(boxes.layout->origin), scale = Corners::twice(boxes.layout->scale);
  const Corners grow = Corners::splat(boxes.grow);
  const F largest = masks.largest, other_axes = masks.other_axes, stride = masks.stride;
  const F floor = F::record_floor(kBeganBefore, -32768);
  const F half = F::splat(kCellSteps / 2), one = F::splat(1), none = F::splat(0);
  const std::ptrdiff_t lower_stride = boxes.lower_stride, upper_stride = boxes.upper_stride;
  const T* at_lower = boxes.lower + static_cast<std::ptrdiff_t>(row) * lower_stride;
  const T* at_upper = boxes.upper + static_cast<std::ptrdiff_t>(row) * upper_stride;
  std::uint32_t two = 0, present = 0;
  for (; two < Waiting<F>::kTwos && row + 2 < boxes.end; ++two, row += 2) {
    const Corners lower_corners = Corners::template load<D>(at_lower, at_lower + lower_stride);
    const Corners upper_corners = Corners::template load<D>(at_upper, at_upper + upper_stride);
    at_lower += 2 * lower_stride, at_upper += 2 * upper_stride;
    faults.add(lower_corners, upper_corners);
    // to_steps(), lane by lane. A lane past D has scale 0.
    const F lower = F::smaller(Corners::whole((lower_corners - grow - origin) * scale, kMostSteps<T>), largest);
    const F upper = F::smaller(Corners::whole((upper_corners + grow - origin) * scale, kMostSteps<T>), largest);
    const F cell = F::template down<kCellBits>(lower);
    const F extra = F::template down<kCellBits>(upper) - cell;
    // More than two cells along an axis, or two along an axis that is cut coarsely: seldom, or the plan is wrong.
    if ((F::above(extra, one) | (extra & other_axes)).any()) break;
    const F home = F::half_sums(cell * stride);
    // `extra` is 0 or 1 now, and a box is in at most four cells: its own, and past its upper side along either split
    // axis and both. All four records are made, and those that there are get on the list: no branch to guess.
    const F sides = F::above(extra, none);
    const F missing = F::without(masks.has[0], F::chosen(sides, masks.choice[0])) |
                      F::without(masks.has[1], F::chosen(sides, masks.choice[1]));
    (home + masks.offset).store(waiting.places[two]);
    const F centre = F::template up<kCellBits>(cell) + half;
    const F low = lower - centre, high = centre - upper;
    const auto number = static_cast<std::int32_t>(row);
    const F record_rows = F::record_rows(F::halves(number, number + 1));
    const auto put = [&](int place, F l, F u) { waiting.records[two][place] = F::records(l, u, floor, record_rows); };
    const F low_a = low - masks.delta[0], high_a = high + masks.delta[0];
    put(0, low, high);
    put(1, low_a, high_a);
    put(2, low - masks.delta[1], high + masks.delta[1]);
    put(3, low_a - masks.delta[1], high_a + masks.delta[1]);
    // Four numbers to a word, all eight written: the next ones overwrite those that are too many.
    const std::uint32_t there = ~missing.negative() & 0xffu;
    std::uint64_t words[2];
    memcpy(words, kNumbersOfBits.numbers[there], sizeof words);
    for (std::uint64_t& word : words) word += std::uint64_t{8} * two * 0x0001000100010001u;
    memcpy(waiting.present + present, words, sizeof words);
    present += bit_count(there);
  }
  waiting.twos = two;
  waiting.present_count = present;
}

// Files rows from `row` on up to the first that needs the general way or a pool with more room; returns that row.
template <class T, std::size_t D, class F>
std::size_t file_twos(FileBoxes<T>& boxes, const FilingMasks<F>& masks, std::size_t row) {
  typename CornerFours<T>::Faults faults;
  ChunkPool& pool = *boxes.pool;
  auto* records = static_cast<Record<3>*>(pool.records);
  std::uint32_t* slots = pool.slots;
  const std::uint32_t chunk_mask = (1u << pool.chunk_bits) - 1;
  constexpr std::size_t kRecordsALine = 64 / sizeof(Record<3>);
  Waiting<F> waiting;
  while (pool.capacity - pool.used >= pool.at_a_time) {
    prepare_twos<T, D, F>(boxes, masks, faults, row, waiting);
    const std::uint32_t* places = waiting.places[0];
    const auto* made = reinterpret_cast<const typename F::Half*>(waiting.records);
    for (std::size_t k = 0; k < waiting.present_count; ++k) {
      const std::uint32_t from = waiting.present[k], place = places[from];
      std::uint32_t slot = slots[place];
      if ((slot & chunk_mask) == 0) slot = place_for(pool, place);
      // Record `place` of box `which` is half `which` of register `place`.
      F::Half::load(made + 8 * (from >> 3) + 2 * (from & 3) + (from >> 2 & 1)).store(records + slot);
      slots[place] = slot + 1;
      prefetch(records + slot + kRecordsALine);
    }
    row += std::size_t{2} * waiting.twos;
    if (waiting.twos < Waiting<F>::kTwos) break;
  }
  boxes.valid &= !faults.template any<D>();
  return row;
}

template <class F, class T, std::size_t D>
std::size_t file_with(FileBoxes<T>& boxes) {
  if constexpr (!F::kInRegister || D == 4) {
    return file_one_by_one<T, D>(boxes);
  } else {
    // A corner is read with the number behind it where D is 3. That one lies between the first box and the last as
    // long as rows follow each other upwards in memory; the last row itself is filed by itself.
    if (boxes.drop_empty || boxes.rows != nullptr || boxes.lower_stride <= 0 || boxes.upper_stride <= 0)
      return file_one_by_one<T, D>(boxes);
    for (std::size_t d = 0; d < D; ++d)
      if (boxes.layout->segments[d] != nullptr) return file_one_by_one<T, D>(boxes);
    const FilingMasks<F> masks(*boxes.layout);
    const std::size_t end = boxes.end;
    std::size_t row = boxes.begin;
    while (row < end) {
      row = file_twos<T, D, F>(boxes, masks, row);
      boxes.begin = row;
      boxes.end = row + 2 < end ? row + 2 : end;
      const std::size_t stopped = file_one_by_one<T, D>(boxes), wanted = boxes.end;
      boxes.end = end;
      row = stopped;
      if (stopped < wanted) break;
    }
    boxes.begin = row;
    return row;
  }
}

template <class T, std::size_t D>
std::size_t file_boxes(FileBoxes<T>& boxes) {
  return file_with<Fours, T, D>(boxes);
}

}  // namespace broadphase::BROADPHASE_LEVEL
