// Boxes to cells, two boxes in one register: AVX2 and later. Elsewhere, and where a box is out of the ordinary, one
// number at a time (file_boxes.hpp).
#pragma once

#include "grid/file_boxes_kernel.hpp"

namespace broadphase::BROADPHASE_LEVEL {

#if BROADPHASE_LANES == BROADPHASE_LANES_avx2 || BROADPHASE_LANES == BROADPHASE_LANES_avx512

// One corner as it lies, one number a lane; lanes past D hold anything. The fourth number is read for D = 3, so the
// last row of a set must not come here.
template <std::size_t D>
inline __m128 load_corner(const float* p) {
  if constexpr (D == 1) return _mm_load_ss(p);
  if constexpr (D == 2) return _mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double*>(p)));
  return _mm_loadu_ps(p);
}
template <std::size_t D>
inline __m256d load_corner(const double* p) {
  if constexpr (D == 1) return _mm256_castpd128_pd256(_mm_load_sd(p));
  if constexpr (D == 2) return _mm256_castpd128_pd256(_mm_loadu_pd(p));
  return _mm256_loadu_pd(p);
}

// The map to whole numbers of two corners at a time: to_steps of file_boxes.hpp, lane by lane. A lane past D has scale
// 0, and max() takes its second operand for NaN. `bad` gathers lanes where the first of two corners is not at most the
// second.
template <class T>
struct WideMap;

template <>
struct WideMap<float> {
  __m256 origin, scale, grow, bad = _mm256_setzero_ps();
  explicit WideMap(const GridLayout<float>& layout, float g)
      : origin(_mm256_broadcast_ps(reinterpret_cast<const __m128*>(layout.origin))),
        scale(_mm256_broadcast_ps(reinterpret_cast<const __m128*>(layout.scale))),
        grow(_mm256_set1_ps(g)) {}
  struct Corners {
    __m256 x;
  };
  template <std::size_t D>
  static Corners load(const float* p, const float* q) {
    return {_mm256_insertf128_ps(_mm256_castps128_ps256(load_corner<D>(p)), load_corner<D>(q), 1)};
  }
  void compare(Corners a, Corners b) { bad = _mm256_or_ps(bad, _mm256_cmp_ps(a.x, b.x, _CMP_NLE_UQ)); }
  template <std::size_t D>
  bool any_bad() const {
    return (_mm256_movemask_ps(bad) & ((1 << D) - 1) * 0x11) != 0;
  }
  __m256i steps(__m256 x) const {
    const __m256 steps = _mm256_mul_ps(_mm256_sub_ps(x, origin), scale);
    return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(steps, _mm256_setzero_ps()), _mm256_set1_ps(1073741824.0f)));
  }
  __m256i lower_steps(Corners c) const { return steps(_mm256_sub_ps(c.x, grow)); }
  __m256i upper_steps(Corners c) const { return steps(_mm256_add_ps(c.x, grow)); }
};

template <>
struct WideMap<double> {
  __m256d origin, scale, grow, bad = _mm256_setzero_pd();
  explicit WideMap(const GridLayout<double>& layout, double g)
      : origin(_mm256_loadu_pd(layout.origin)), scale(_mm256_loadu_pd(layout.scale)), grow(_mm256_set1_pd(g)) {}
  struct Corners {
    __m256d x, y;
  };
  template <std::size_t D>
  static Corners load(const double* p, const double* q) {
    return {load_corner<D>(p), load_corner<D>(q)};
  }
  void compare(Corners a, Corners b) {
    bad = _mm256_or_pd(bad, _mm256_cmp_pd(a.x, b.x, _CMP_NLE_UQ));
    bad = _mm256_or_pd(bad, _mm256_cmp_pd(a.y, b.y, _CMP_NLE_UQ));
  }
  template <std::size_t D>
  bool any_bad() const {
    return (_mm256_movemask_pd(bad) & ((1 << D) - 1)) != 0;
  }
  __m128i steps(__m256d x) const {
    const __m256d steps = _mm256_mul_pd(_mm256_sub_pd(x, origin), scale);
    return _mm256_cvttpd_epi32(_mm256_min_pd(_mm256_max_pd(steps, _mm256_setzero_pd()), _mm256_set1_pd(1073741824.0)));
  }
  static __m256i join(__m128i a, __m128i b) { return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1); }
  __m256i lower_steps(Corners c) const {
    return join(steps(_mm256_sub_pd(c.x, grow)), steps(_mm256_sub_pd(c.y, grow)));
  }
  __m256i upper_steps(Corners c) const {
    return join(steps(_mm256_add_pd(c.x, grow)), steps(_mm256_add_pd(c.y, grow)));
  }
};

inline __m128i load_words(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline void store_words(void* p, __m128i a) { _mm_storeu_si128(static_cast<__m128i*>(p), a); }
inline __m256i twice(__m128i a) { return _mm256_broadcastsi128_si256(a); }

// What filing needs besides the map: in each half, a lane for each axis or for each of the four places of a box.
struct FilingMasks {
  __m256i delta[2], other_axes, stride, largest;
  __m256i spread[2], has[2];  // shuffles that spread the lane of a split axis; the places past that axis
  __m256i offset;

  template <class T>
  explicit FilingMasks(const GridLayout<T>& layout) {
    std::int32_t other[4] = {-1, -1, -1, -1}, steps[4] = {0, 0, 0, 0};
    for (unsigned k = 0; k < 2; ++k) {
      const std::size_t axis = layout.split_axes[k];
      std::int32_t to[4] = {0, 0, 0, 0}, past[4];
      to[axis] = kCellSteps;
      delta[k] = twice(load_words(to));
      other[axis] = 0;
      const bool used = k == 0 || axis != layout.split_axes[0];
      for (unsigned place = 0; place < 4; ++place) {
        const bool here = (place >> k & 1u) != 0;
        past[place] = here ? -1 : 0;
        if (here) steps[place] += layout.cell_stride[axis];
      }
      has[k] = twice(load_words(past));
      // A byte shuffle; a byte with its top bit set gives zero: no box is past an axis that does not count.
      spread[k] = used ? _mm256_add_epi8(_mm256_set1_epi32(0x03020100), _mm256_set1_epi8(static_cast<char>(4 * axis)))
                       : _mm256_set1_epi8(-128);
    }
    other_axes = twice(load_words(other));
    offset = twice(load_words(steps));
    stride = twice(load_words(layout.cell_stride));
    largest = twice(load_words(layout.largest));
  }
};

// Some boxes' records for their four places, before they are written: a first loop computes, a second one scatters, so
// that neither waits for the other's latencies.
struct Waiting {
  static constexpr std::size_t kTwos = kRecordsAtATime / 8;
  alignas(64) __m256i records[kTwos][4];       // of two boxes, by place
  alignas(64) std::uint32_t places[kTwos][8];  // cells
  std::uint16_t present[8 * kTwos + 8];        // numbers of the records that there are: 8 * two + 4 * which + place
  std::size_t present_count, twos;
};

// Prepares rows from `row` on, two at a time and never the last, up to the first that needs the general way.
template <class T, std::size_t D>
void prepare_twos(const FileBoxes<T>& boxes, const FilingMasks& masks, WideMap<T>& map, std::size_t row,
                  Waiting& waiting) {
  const __m256i largest = masks.largest, other_axes = masks.other_axes, stride = masks.stride;
  const __m256i floor =
      twice(_mm_setr_epi16(kBeganBefore, kBeganBefore, kBeganBefore, -32768, -32768, -32768, -32768, -32768));
  const __m256i half = _mm256_set1_epi32(kCellSteps / 2), one = _mm256_set1_epi32(1);
  const std::ptrdiff_t lower_stride = boxes.lower_stride, upper_stride = boxes.upper_stride;
  const T* at_lower = boxes.lower + static_cast<std::ptrdiff_t>(row) * lower_stride;
  const T* at_upper = boxes.upper + static_cast<std::ptrdiff_t>(row) * upper_stride;
  std::size_t two = 0, present = 0;
  for (; two < Waiting::kTwos && row + 2 < boxes.end; ++two, row += 2) {
    const auto lower_corners = map.template load<D>(at_lower, at_lower + lower_stride);
    const auto upper_corners = map.template load<D>(at_upper, at_upper + upper_stride);
    at_lower += 2 * lower_stride, at_upper += 2 * upper_stride;
    map.compare(lower_corners, upper_corners);
    const __m256i lower = _mm256_min_epi32(map.lower_steps(lower_corners), largest);
    const __m256i upper = _mm256_min_epi32(map.upper_steps(upper_corners), largest);
    const __m256i cell = _mm256_srli_epi32(lower, kCellBits);
    const __m256i extra = _mm256_sub_epi32(_mm256_srli_epi32(upper, kCellBits), cell);
    // More than two cells along an axis, or two along an axis that is cut coarsely: seldom, or the plan is wrong.
    const __m256i rare = _mm256_or_si256(_mm256_cmpgt_epi32(extra, one), _mm256_and_si256(extra, other_axes));
    if (_mm256_testz_si256(rare, rare) == 0) break;
    __m256i home = _mm256_mullo_epi32(cell, stride);
    home = _mm256_add_epi32(home, _mm256_shuffle_epi32(home, 0x4e));
    home = _mm256_add_epi32(home, _mm256_shuffle_epi32(home, 0xb1));
    // `extra` is 0 or 1 now, and a box is in at most four cells: its own, and past its upper side along either split
    // axis and both. All four records are made, and those that there are get on the list: no branch to guess.
    const __m256i sides = _mm256_cmpgt_epi32(extra, _mm256_setzero_si256());
    const __m256i missing =
        _mm256_or_si256(_mm256_andnot_si256(_mm256_shuffle_epi8(sides, masks.spread[0]), masks.has[0]),
                        _mm256_andnot_si256(_mm256_shuffle_epi8(sides, masks.spread[1]), masks.has[1]));
    _mm256_store_si256(reinterpret_cast<__m256i*>(waiting.places[two]), _mm256_add_epi32(home, masks.offset));
    const __m256i centre = _mm256_add_epi32(_mm256_slli_epi32(cell, kCellBits), half);
    const __m256i low = _mm256_sub_epi32(lower, centre), high = _mm256_sub_epi32(centre, upper);
    const __m256i number =
        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(row)), _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
    // The halves of the row number go to words 3 and 7.
    const __m256i halves = _mm256_blend_epi16(_mm256_slli_epi64(number, 48), number, 0x80);
    const auto put = [&](int place, __m256i l, __m256i u) {
      waiting.records[two][place] = _mm256_blend_epi16(_mm256_max_epi16(_mm256_packs_epi32(l, u), floor), halves, 0x88);
    };
    const __m256i low_a = _mm256_sub_epi32(low, masks.delta[0]), high_a = _mm256_add_epi32(high, masks.delta[0]);
    put(0, low, high);
    put(1, low_a, high_a);
    put(2, _mm256_sub_epi32(low, masks.delta[1]), _mm256_add_epi32(high, masks.delta[1]));
    put(3, _mm256_sub_epi32(low_a, masks.delta[1]), _mm256_add_epi32(high_a, masks.delta[1]));
    const auto gone = static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(missing)));
    const auto base = static_cast<std::uint32_t>(8 * two);
    for (std::uint32_t k = 0; k < 8; ++k) {
      waiting.present[present] = static_cast<std::uint16_t>(base + k);
      present += k % 4 == 0 ? 1u : ~gone >> k & 1u;
    }
  }
  waiting.twos = two;
  waiting.present_count = present;
}

// Files rows from `row` on up to the first that needs the general way or a pool with more room; returns that row.
template <class T, std::size_t D>
std::size_t file_twos(FileBoxes<T>& boxes, const FilingMasks& masks, std::size_t row) {
  WideMap<T> map(*boxes.layout, boxes.grow);
  ChunkPool& pool = *boxes.pool;
  auto* records = static_cast<Record<3>*>(pool.records);
  std::uint32_t* slots = pool.slots;
  const std::uint32_t chunk_mask = (1u << pool.chunk_bits) - 1;
  Waiting waiting;
  const std::size_t chunks = chunks_at_a_time(boxes.layout->cell_count, pool.chunk_bits);
  while (pool.capacity - pool.used >= chunks) {
    prepare_twos<T, D>(boxes, masks, map, row, waiting);
    const std::uint32_t* places = waiting.places[0];
    for (std::size_t k = 0; k < waiting.present_count; ++k) {
      const std::uint32_t from = waiting.present[k], place = places[from];
      std::uint32_t slot = slots[place];
      if ((slot & chunk_mask) == 0) slot = place_for(pool, place);
      // Record `place` of box `which` is half `which` of register `place`.
      const auto* record =
          reinterpret_cast<const __m128i*>(waiting.records[from >> 3]) + 2 * (from & 3) + (from >> 2 & 1);
      store_words(records + slot, _mm_load_si128(record));
      slots[place] = slot + 1;
    }
    row += 2 * waiting.twos;
    if (waiting.twos < Waiting::kTwos) break;
  }
  boxes.valid &= !map.template any_bad<D>();
  return row;
}

template <class T, std::size_t D>
std::size_t file_boxes(FileBoxes<T>& boxes) {
  if constexpr (D == 4) {
    return file_one_by_one<T, D>(boxes);
  } else {
    if (boxes.drop_empty || boxes.rows != nullptr) return file_one_by_one<T, D>(boxes);
    const FilingMasks masks(*boxes.layout);
    const std::size_t end = boxes.end;
    std::size_t row = boxes.begin;
    while (row < end) {
      row = file_twos<T, D>(boxes, masks, row);
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

#else

template <class T, std::size_t D>
std::size_t file_boxes(FileBoxes<T>& boxes) {
  return file_one_by_one<T, D>(boxes);
}

#endif

}  // namespace broadphase::BROADPHASE_LEVEL
