// One cell of the grid: sort its records along the sweep axis, test each against the run behind it, name the hits.
#pragma once

#include "grid/record.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// As sweep_range() below, of records that are a register each.
template <class Eights, class Record>
void least_and_most(const Record* records, std::size_t count, std::size_t axis, std::int32_t& low, std::int32_t& high) {
  Eights least = Eights::splat(32767), most = Eights::splat(-32768);
  for (std::size_t k = 0; k < count; ++k) {
    const Eights record = Eights::load(records + k);
    least = Eights::smaller(least, record);
    most = Eights::larger(most, record);
  }
  std::int16_t words[2][8];
  least.store(words[0]);
  most.store(words[1]);
  low = words[0][axis] < low ? words[0][axis] : low;
  high = words[1][axis] > high ? words[1][axis] : high;
}

// Lowest and highest number along the sweep axis, if beyond what is there.
template <std::size_t D>
void sweep_range(const CellRecords& from, std::size_t axis, std::int32_t* lowest, std::int32_t* highest) {
  std::int32_t low = *lowest, high = *highest;
  for (std::size_t r = 0; r < from.run_count; ++r) {
    const auto* records = static_cast<const Record<D>*>(from.runs[r].records);
    const std::size_t count = from.runs[r].count;
    if constexpr (EightWords::kInRegister && D < 4) {
      least_and_most<EightWords>(records, count, axis, low, high);
      continue;
    }
    for (std::size_t k = 0; k < count; ++k) {
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

// Here and not in the record: functions outside of a level's namespace would be shared between levels.
template <std::size_t D>
std::uint32_t row_of(const Record<D>& record) {
  if constexpr (D < 4)
    return record.row_low | static_cast<std::uint32_t>(record.row_high) << 16;
  else
    return record.row;
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
    to.row[k] = row_of(records[k]);
  }
}

// Eight records at a time; returns where the rest begins: at 0 where records are no registers.
template <class Eights, std::size_t D>
std::size_t spread_eights(const Record<D>* records, const CellArrays& to) {
  std::size_t k = 0;
  if constexpr (Eights::kInRegister && D < 4) {
    const Eights before = Eights::splat(kBeganBefore);
    for (; k + 8 <= to.count; k += 8) {
      Eights rows[8], words[8];
      for (std::size_t x = 0; x < 8; ++x) rows[x] = Eights::load(records + k + x);
      Eights::transpose(rows, words);
      Eights began_before = Eights::splat(0);
      for (std::size_t d = 0; d < D; ++d) {
        words[d].store(to.lower[d] + k);
        words[4 + d].store(to.negated_upper[d] + k);
        Eights::store_pairs(to.doubled_lower[d] + k, words[d], words[d]);
        Eights::store_pairs(to.doubled_negated_upper[d] + k, words[4 + d], words[4 + d]);
        const Eights bit = Eights::splat(static_cast<std::int16_t>(1 << d));
        began_before = began_before | (Eights::equal(words[d], before) & bit);
      }
      began_before.store(to.began_before + k);
      Eights::store_pairs(to.doubled_began_before + k, began_before, began_before);
      Eights::store_pairs(to.row + k, words[3], words[7]);
    }
  }
  return k;
}

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
  spread_records<D>(sorted, spread_eights<EightWords>(sorted, to), to);
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

inline std::uint64_t count_hits(const std::uint32_t* sure, std::size_t blocks) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < blocks; ++k) sum += bit_count(sure[k]);
  return sum;
}

// Writes record << 32 | candidate for every set bit, ascending; returns how many. Room for four more is a precondition:
// most blocks hold few hits, and four writes without asking cost less than one wrong guess of a branch.
inline std::size_t list_hits(const CandidateBlock* blocks, const std::uint32_t* sure, std::size_t count,
                             std::uint64_t* hits) {
  std::size_t found = 0;
  for (std::size_t k = 0; k < count; ++k) {
    std::uint32_t bits = sure[k];
    const std::uint64_t base = static_cast<std::uint64_t>(blocks[k].record) << 32 | blocks[k].first_candidate;
    const std::uint32_t here = bit_count(bits);
    std::uint64_t* to = hits + found;
    for (int unrolled = 0; unrolled < 4; ++unrolled) {
      to[unrolled] = base + lowest_bit(bits);
      bits &= bits - 1;
    }
    if (here > 4) {
      for (to += 4; bits != 0; bits &= bits - 1) *to++ = base + lowest_bit(bits);
    }
    found += here;
  }
  return found;
}

// Hits to rows. `ordered`: the smaller row goes first; otherwise the row of `a`.
inline void name_rows(const std::uint64_t* hits, std::size_t count, const std::uint32_t* a, const std::uint32_t* b,
                      bool ordered, std::int32_t* first, std::int32_t* second) {
  if (ordered) {
    for (std::size_t k = 0; k < count; ++k) {
      const auto p = static_cast<std::int32_t>(a[hits[k] >> 32]),
                 q = static_cast<std::int32_t>(b[hits[k] & 0xffffffffu]);
      first[k] = p < q ? p : q;
      second[k] = p < q ? q : p;
    }
  } else {
    for (std::size_t k = 0; k < count; ++k) {
      first[k] = static_cast<std::int32_t>(a[hits[k] >> 32]);
      second[k] = static_cast<std::int32_t>(b[hits[k] & 0xffffffffu]);
    }
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
