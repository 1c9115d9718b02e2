// One cell of the grid: sort its records along the sweep axis, test each against the run behind it, name the hits.
#pragma once

#include "grid/record.hpp"
#include "simd/word_lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// Lowest and highest number along the sweep axis, if beyond what is there.
template <std::size_t D>
void sweep_range(const CellRecords& from, std::size_t axis, std::int32_t* lowest, std::int32_t* highest) {
  std::int32_t low = *lowest, high = *highest;
  for (std::size_t r = 0; r < from.run_count; ++r) {
    const auto* records = static_cast<const Record<D>*>(from.runs[r].records);
    const std::size_t count = from.runs[r].count;
    std::size_t k = 0;
#if BROADPHASE_LANES == BROADPHASE_LANES_sse2 || BROADPHASE_LANES == BROADPHASE_LANES_avx2 || \
    BROADPHASE_LANES == BROADPHASE_LANES_avx512
    if constexpr (D < 4) {
      __m128i least = _mm_set1_epi16(32767), most = _mm_set1_epi16(-32768);
      for (; k < count; ++k) {
        const __m128i record = _mm_loadu_si128(reinterpret_cast<const __m128i*>(records + k));
        least = _mm_min_epi16(least, record);
        most = _mm_max_epi16(most, record);
      }
      alignas(16) std::int16_t words[2][8];
      _mm_store_si128(reinterpret_cast<__m128i*>(words[0]), least);
      _mm_store_si128(reinterpret_cast<__m128i*>(words[1]), most);
      low = words[0][axis] < low ? words[0][axis] : low;
      high = words[1][axis] > high ? words[1][axis] : high;
    }
#endif
    for (; k < count; ++k) {
      const std::int32_t x = records[k].lower[axis];
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
  }
  *lowest = low;
  *highest = high;
}

inline std::uint32_t bucket_of(std::int32_t x, const Buckets& buckets) {
  const std::int32_t bucket = (x - buckets.lowest) >> buckets.shift;
  const auto last = static_cast<std::int32_t>(buckets.count) - 1;
  return static_cast<std::uint32_t>(bucket > last ? last : bucket);
}

inline std::uint32_t doubled(std::int16_t x) { return static_cast<std::uint16_t>(x) * 0x10001u; }

// Records to structure of arrays, from `begin` on.
template <std::size_t D>
void spread_records(const Record<D>* records, std::size_t begin, const CellArrays& to) {
  for (std::size_t k = begin; k < to.count; ++k) {
    unsigned before = 0;
    for (std::size_t d = 0; d < D; ++d) {
      to.lower[d][k] = records[k].lower[d];
      to.negated_upper[d][k] = records[k].negated_upper[d];
      to.doubled_lower[d][k] = doubled(records[k].lower[d]);
      to.doubled_negated_upper[d][k] = doubled(records[k].negated_upper[d]);
      before |= static_cast<unsigned>(records[k].lower[d] == kBeganBefore) << d;
    }
    to.began_before[k] = static_cast<std::uint16_t>(before);
    to.doubled_began_before[k] = before * 0x10001u;
    to.row[k] = records[k].row();
  }
}

#if BROADPHASE_LANES == BROADPHASE_LANES_sse2 || BROADPHASE_LANES == BROADPHASE_LANES_avx2 || \
    BROADPHASE_LANES == BROADPHASE_LANES_avx512

// Eight records at a time, an 8 x 8 transposition of words; returns where the rest begins.
template <std::size_t D>
std::size_t spread_eights(const Record<D>* records, const CellArrays& to) {
  const auto store = [](void* p, __m128i a) { _mm_storeu_si128(static_cast<__m128i*>(p), a); };
  const __m128i before = _mm_set1_epi16(kBeganBefore);
  const auto store_doubled = [&](std::uint32_t* p, __m128i a) {
    store(p, _mm_unpacklo_epi16(a, a));
    store(p + 4, _mm_unpackhi_epi16(a, a));
  };
  std::size_t k = 0;
  for (; k + 8 <= to.count; k += 8) {
    const auto* r = reinterpret_cast<const __m128i*>(records + k);
    __m128i a[4], b[4];  // words 0-3 and 4-7 of records x and x + 4, in turn
    for (int x = 0; x < 4; ++x) {
      const __m128i p = _mm_loadu_si128(r + x), q = _mm_loadu_si128(r + x + 4);
      a[x] = _mm_unpacklo_epi16(p, q);
      b[x] = _mm_unpackhi_epi16(p, q);
    }
    // Two words of the records 0, 2, 4, 6, and of 1, 3, 5, 7.
    const __m128i even[4] = {_mm_unpacklo_epi16(a[0], a[2]), _mm_unpackhi_epi16(a[0], a[2]),
                             _mm_unpacklo_epi16(b[0], b[2]), _mm_unpackhi_epi16(b[0], b[2])};
    const __m128i odd[4] = {_mm_unpacklo_epi16(a[1], a[3]), _mm_unpackhi_epi16(a[1], a[3]),
                            _mm_unpacklo_epi16(b[1], b[3]), _mm_unpackhi_epi16(b[1], b[3])};
    __m128i words[8];
    for (int x = 0; x < 4; ++x) {
      words[2 * x] = _mm_unpacklo_epi16(even[x], odd[x]);
      words[2 * x + 1] = _mm_unpackhi_epi16(even[x], odd[x]);
    }
    __m128i began_before = _mm_setzero_si128();
    for (std::size_t d = 0; d < D; ++d) {
      store(to.lower[d] + k, words[d]);
      store(to.negated_upper[d] + k, words[4 + d]);
      store_doubled(to.doubled_lower[d] + k, words[d]);
      store_doubled(to.doubled_negated_upper[d] + k, words[4 + d]);
      const __m128i bit = _mm_set1_epi16(static_cast<short>(1 << d));
      began_before = _mm_or_si128(began_before, _mm_and_si128(_mm_cmpeq_epi16(words[d], before), bit));
    }
    store(to.began_before + k, began_before);
    store_doubled(to.doubled_began_before + k, began_before);
    store(to.row + k, _mm_unpacklo_epi16(words[3], words[7]));
    store(to.row + k + 4, _mm_unpackhi_epi16(words[3], words[7]));
  }
  return k;
}
inline std::size_t spread_eights(const Record<4>*, const CellArrays&) { return 0; }

#else

template <std::size_t D>
std::size_t spread_eights(const Record<D>*, const CellArrays&) {
  return 0;
}

#endif

// Counting sort by bucket, stable; then structure of arrays, closed by records that overlap nothing.
// `room` takes the sorted records; `bucket_end` takes buckets.count + 1 numbers and then holds the end of each bucket.
template <std::size_t D>
void sort_cell(const CellRecords& from, std::size_t axis, const Buckets& buckets, void* room, const CellArrays& to) {
  auto* sorted = static_cast<Record<D>*>(room);
  const std::size_t count = to.count;
  const std::int32_t lowest = buckets.lowest, shift = buckets.shift;
  std::uint32_t* end = to.bucket_end;
  for (std::size_t b = 0; b <= buckets.count; ++b) end[b] = 0;
  for (std::size_t r = 0; r < from.run_count; ++r) {
    const auto* records = static_cast<const Record<D>*>(from.runs[r].records);
    for (std::size_t k = 0; k < from.runs[r].count; ++k) ++end[((records[k].lower[axis] - lowest) >> shift) + 1];
  }
  std::uint32_t sum = 0;
  for (std::size_t b = 0; b <= buckets.count; ++b) end[b] = sum += end[b];
  for (std::size_t r = 0; r < from.run_count; ++r) {
    const auto* records = static_cast<const Record<D>*>(from.runs[r].records);
    for (std::size_t k = 0; k < from.runs[r].count; ++k)
      sorted[end[(records[k].lower[axis] - lowest) >> shift]++] = records[k];
  }
  spread_records<D>(sorted, spread_eights(sorted, to), to);
  for (std::size_t k = count; k < count + kCellPadding; ++k) {
    for (std::size_t d = 0; d < D; ++d) to.lower[d][k] = to.negated_upper[d][k] = 32767;
    to.began_before[k] = 0;
    to.row[k] = 0;
  }
}

// Fills blocks until all records of the request are done or `capacity` blocks are used; returns how many. The request
// then says where to go on.
template <std::size_t D>
std::size_t sweep_blocks(SweepRequest& request, CandidateBlock* blocks, std::uint32_t* sure, std::uint32_t* possible) {
  const CellArrays &a = *request.a, &b = *request.b;
  const Buckets& buckets = *request.buckets;
  std::size_t used = 0, i = request.begin;
  std::uint32_t from = request.begin_candidate;
  for (; i < request.end; ++i) {
    Words::Vector lower[D], upper[D];
    for (std::size_t d = 0; d < D; ++d) {
      lower[d] = Words::splat(a.doubled_lower[d][i]);
      upper[d] = Words::splat(a.doubled_negated_upper[d][i]);
    }
    const Words::Vector before = Words::splat(a.doubled_began_before[i]);
    const std::uint32_t end = b.bucket_end[bucket_of(-a.negated_upper[request.sweep_axis][i], buckets)];
    if (from == 0) {
      if (request.behind) {
        from = static_cast<std::uint32_t>(i) + 1;
      } else {
        const std::uint32_t own = bucket_of(a.lower[request.sweep_axis][i], buckets);
        from = request.skip_own_bucket ? b.bucket_end[own] : (own == 0 ? 0 : b.bucket_end[own - 1]);
      }
    }
    do {
      if (used == request.capacity) {
        request.begin = i;
        request.begin_candidate = from;
        return used;
      }
      Words::Vector worst[Words::kParts];
      for (std::size_t part = 0; part < Words::kParts; ++part) {
        const std::size_t j = from + part * Words::kWidth;
        Words::Vector most = Words::add(lower[0], Words::load(b.negated_upper[0] + j));
        most = Words::larger(most, Words::add(upper[0], Words::load(b.lower[0] + j)));
        for (std::size_t d = 1; d < D; ++d) {
          most = Words::larger(most, Words::add(lower[d], Words::load(b.negated_upper[d] + j)));
          most = Words::larger(most, Words::add(upper[d], Words::load(b.lower[d] + j)));
        }
        worst[part] = most;
      }
      blocks[used] = {static_cast<std::uint32_t>(i), from};
      // Where both began before the cell, along any axis, another cell has the pair.
      const std::uint32_t apart = Words::apart(b.began_before + from, before);
      sure[used] = Words::negative(worst) & apart;
      possible[used] = Words::not_positive(worst) & apart;
      ++used;
      from += static_cast<std::uint32_t>(kBlockLanes);
    } while (from < end);
    from = 0;
  }
  request.begin = i;
  request.begin_candidate = 0;
  return used;
}

}  // namespace broadphase::BROADPHASE_LEVEL
