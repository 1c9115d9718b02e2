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

// Lowest and highest number along the sweep axis, if beyond what is there. This is the first to read the records, which
// lie in many places.
template <std::size_t D>
void sweep_range(const CellRecords& from, std::size_t axis, std::int32_t* lowest, std::int32_t* highest) {
  constexpr std::size_t kRunsAhead = 3;
  std::int32_t low = *lowest, high = *highest;
  for (std::size_t r = 0; r < from.run_count; ++r) {
    const auto* records = static_cast<const Record<D>*>(from.runs[r].records);
    const std::size_t count = from.runs[r].count;
    if (r + kRunsAhead < from.run_count) {
      const RecordRun& soon = from.runs[r + kRunsAhead];
      for (std::size_t at = 0; at < soon.count * sizeof(Record<D>); at += 64)
        prefetch(static_cast<const std::byte*>(soon.records) + at);
    }
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

// Records to structure of arrays, from `begin` on.
template <std::size_t D>
void spread_records(const Record<D>* records, std::size_t begin, const CellArrays& to) {
  for (std::size_t k = begin; k < to.count; ++k) {
    unsigned before = 0;
    for (std::size_t d = 0; d < D; ++d) {
      to.lower[d][k] = records[k].lower[d];
      to.negated_upper[d][k] = records[k].negated_upper[d];
      before |= static_cast<unsigned>(records[k].lower[d] == kBeganBefore) << d;
    }
    to.began_before[k] = static_cast<std::uint16_t>(before);
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
        const Eights bit = Eights::splat(static_cast<std::int16_t>(1 << d));
        began_before = began_before | (Eights::equal(words[d], before) & bit);
      }
      began_before.store(to.began_before + k);
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

// One record in every lane, or 32 records side by side.
template <std::size_t D, std::size_t Parts>
struct SweptRecords {
  static_assert(Parts == 1 || Parts == Words::kParts);
  Words::Vector lower[D][Parts], upper[D][Parts], before[Parts];

  // Tests them against the candidates from j on, lane by lane; false if no pair may overlap. `begins`: the sums along
  // the first axis, negative where the candidate begins before the end of the record.
  bool test(const std::int16_t* const (&lower_j)[D], const std::int16_t* const (&upper_j)[D],
            const std::uint16_t* before_j, std::size_t j, Words::Vector (&begins)[Words::kParts],
            CandidateBlock& to) const {
    Words::Vector worst[Words::kParts];
    for (std::size_t part = 0; part < Words::kParts; ++part) {
      const std::size_t own = Parts == 1 ? 0 : part, at = j + part * Words::kWidth;
      Words::Vector most = begins[part] = Words::add(upper[0][own], Words::load(lower_j[0] + at));
      most = Words::larger(most, Words::add(lower[0][own], Words::load(upper_j[0] + at)));
      for (std::size_t d = 1; d < D; ++d) {
        most = Words::larger(most, Words::add(lower[d][own], Words::load(upper_j[d] + at)));
        most = Words::larger(most, Words::add(upper[d][own], Words::load(lower_j[d] + at)));
      }
      worst[part] = most;
    }
    // Where both began before the cell, along any axis, another cell has the pair.
    return Words::decide(worst, before_j + j, before, Parts == 1 ? 0 : 1, to.sure, to.possible);
  }
};

// A set's share of a cell, the sweep axis first.
template <std::size_t D>
struct SweptSet {
  const std::int16_t *lower[D], *upper[D];
  const std::uint16_t* before;

  SweptSet(const CellArrays& from, std::size_t sweep_axis) : before(from.began_before) {
    for (std::size_t d = 0; d < D; ++d) {
      const std::size_t axis = d + sweep_axis < D ? d + sweep_axis : d + sweep_axis - D;
      lower[d] = from.lower[axis];
      upper[d] = from.negated_upper[axis];
    }
  }
  SweptRecords<D, 1> spread(std::size_t i) const {
    SweptRecords<D, 1> one;
    for (std::size_t d = 0; d < D; ++d) {
      one.lower[d][0] = Words::splat(lower[d][i]);
      one.upper[d][0] = Words::splat(upper[d][i]);
    }
    one.before[0] = Words::splat(static_cast<std::int16_t>(before[i]));
    return one;
  }
  SweptRecords<D, Words::kParts> side_by_side(std::size_t i) const {
    SweptRecords<D, Words::kParts> all;
    for (std::size_t part = 0; part < Words::kParts; ++part) {
      const std::size_t at = i + part * Words::kWidth;
      for (std::size_t d = 0; d < D; ++d) {
        all.lower[d][part] = Words::load(lower[d] + at);
        all.upper[d][part] = Words::load(upper[d] + at);
      }
      all.before[part] = Words::load(reinterpret_cast<const std::int16_t*>(before) + at);
    }
    return all;
  }
};

// Tests record i against [from, end), and against the first 32 in any case. False: for want of
// room it has stopped at `from`.
template <std::size_t D>
bool sweep_run(const SweptSet<D>& a, const SweptSet<D>& b, std::size_t i, std::uint32_t& from, std::uint32_t end,
               CandidateBlock*& to, const CandidateBlock* full) {
  const SweptRecords<D, 1> own = a.spread(i);
  Words::Vector begins[Words::kParts];
  do {
    if (to == full) return false;
    to->record = static_cast<std::uint32_t>(i);
    to->candidate = from;
    to += own.test(b.lower, b.upper, b.before, from, begins, *to);  // most are empty: no branch
    from += static_cast<std::uint32_t>(kBlockLanes);
  } while (from < end);
  return true;
}

// Steps of 32 records between two looks at whose runs have ended. One look takes half as long as a step; of four steps
// together, those behind the last run of short ones are too many.
inline constexpr int kStepsTogether = 3;

// Where up to half of 32 boxes have long runs, they are tested one by one. Whether that pays is decided once, when so
// few have been left for so many looks. A test of a record by itself takes as long as some of 32 side by side.
inline constexpr std::uint32_t kFewLeft = 16, kStepsWithFew = 3, kAlone = 2;

// Of the 32 records from i on, those of `bits` have candidates from j on, those of the first. Whether they are sooner
// tested one by one than side by side.
inline bool better_alone(const SweepRequest& request, std::size_t i, std::size_t j, std::uint32_t bits) {
  const CellArrays& a = *request.a;
  std::size_t longest = 0, blocks = 0;
  for (; bits != 0; bits &= bits - 1) {
    const std::size_t lane = lowest_bit(bits), from = j + lane;
    const std::size_t end = a.bucket_end[bucket_of(-a.negated_upper[request.sweep_axis][i + lane], *request.buckets)];
    if (end <= from) continue;
    longest = end - from > longest ? end - from : longest;
    blocks += (end - from) / kBlockLanes + 1;
  }
  return blocks * kAlone < longest;
}

// The pairs of one set: fills blocks, but for those without a possible pair, until all records of the request are done
// or there is no room for three more; returns how many. The request then says where to go on.
template <std::size_t D>
std::size_t sweep_behind(SweepRequest& request, CandidateBlock* blocks) {
  const CellArrays& a = *request.a;
  const SweptSet<D> set(a, request.sweep_axis);
  const std::size_t count = a.count, axis = request.sweep_axis;
  // A candidate that begins so much above the end of a record is in a bucket behind its run.
  const Words::Vector bucket_width = Words::splat(static_cast<std::int16_t>(-(1 << request.buckets->shift)));
  CandidateBlock *to = blocks, *const full = blocks + request.capacity;
  for (; request.begin < request.end; request.begin += kBlockLanes) {
    const std::size_t i = request.begin;
    if (request.left == 0) {
      const SweptRecords<D, Words::kParts> own = set.side_by_side(i);
      std::size_t j = request.begin_candidate == 0 ? i + 1 : request.begin_candidate;
      request.begin_candidate = 0;
      for (std::uint32_t steps_with_few = 0; j < count;) {
        if (full - to < kStepsTogether) {
          request.begin_candidate = static_cast<std::uint32_t>(j);
          return static_cast<std::size_t>(to - blocks);
        }
        Words::Vector begins[Words::kParts];
        for (int step = 0; step < kStepsTogether; ++step, ++j) {
          to->record = static_cast<std::uint32_t>(i) | kDiagonal;
          to->candidate = static_cast<std::uint32_t>(j);
          to += own.test(set.lower, set.upper, set.before, j, begins, *to);
        }
        for (Words::Vector& part : begins) part = Words::add(part, bucket_width);
        const std::uint32_t left = Words::negative(begins);
        if (left == 0) break;
        steps_with_few += bit_count(left) <= kFewLeft;
        if (steps_with_few == kStepsWithFew && better_alone(request, i, j, left)) {
          request.left = left;
          request.left_candidate = static_cast<std::uint32_t>(j);
          break;
        }
      }
    }
    for (; request.left != 0; request.left &= request.left - 1) {
      const std::uint32_t lane = lowest_bit(request.left), own_from = request.left_candidate + lane;
      const std::uint32_t end = a.bucket_end[bucket_of(-a.negated_upper[axis][i + lane], *request.buckets)];
      std::uint32_t& from = request.begin_candidate;
      if (from == 0) from = own_from;
      if (from < end && !sweep_run(set, set, i + lane, from, end, to, full))
        return static_cast<std::size_t>(to - blocks);
      from = 0;
    }
  }
  return static_cast<std::size_t>(to - blocks);
}

// The runs of 32 records in another set, as steps of all 32 side by side: at step j, record i + k is tested against
// candidate j + k.
struct RunsSideBySide {
  static constexpr std::uint32_t kMostApart = 64;  // how many steps after the first run the last one may begin
  std::uint32_t begin, all_begun, end;             // steps
  std::uint32_t beginning[kMostApart];             // at each step from `begin` on, the lanes whose runs begin there
};

// Of each so many times 32 records, the first are looked at, while they are sooner tested one by one.
inline constexpr std::size_t kLookEvery = 8;

inline std::uint32_t run_begin(const SweepRequest& request, std::size_t i) {
  const std::uint32_t* const ends = request.b->bucket_end;
  const std::uint32_t bucket = bucket_of(request.a->lower[request.sweep_axis][i], *request.buckets);
  return request.skip_own_bucket ? ends[bucket] : (bucket == 0 ? 0 : ends[bucket - 1]);
}
inline std::uint32_t run_end(const SweepRequest& request, std::size_t i) {
  return request.b->bucket_end[bucket_of(-request.a->negated_upper[request.sweep_axis][i], *request.buckets)];
}

// Sets the runs of the records from i on. False if they are sooner tested one by one, or a run begins before the lane
// of its record.
inline bool find_side_by_side(const SweepRequest& request, std::size_t i, RunsSideBySide& runs) {
  constexpr auto kLanes = static_cast<std::int32_t>(kBlockLanes);
  std::int32_t steps[kBlockLanes], first = 0, last = 0, end = 0;
  // Some of them first: mostly they show it.
  constexpr std::int32_t kStrides[] = {10, 1};
  for (const std::int32_t stride : kStrides) {
    first = 2147483647;
    last = end = 0;
    std::int32_t blocks = 0;
    for (std::int32_t lane = 0; lane < kLanes; lane += stride) {
      const std::size_t k = i + static_cast<std::size_t>(lane);
      const auto from = static_cast<std::int32_t>(run_begin(request, k)),
                 to = static_cast<std::int32_t>(run_end(request, k));
      const std::int32_t step = steps[lane] = from - lane;
      first = step < first ? step : first;
      last = step > last ? step : last;
      end = to - lane > end ? to - lane : end;
      blocks += to > from ? (to - from - 1) / kLanes + 1 : 1;
    }
    if (first < 0 || last - first >= static_cast<std::int32_t>(RunsSideBySide::kMostApart)) return false;
    if (end - first > blocks * stride * static_cast<std::int32_t>(kAlone)) return false;
  }
  runs.begin = static_cast<std::uint32_t>(first);
  runs.all_begun = static_cast<std::uint32_t>(last);
  runs.end = static_cast<std::uint32_t>(end);
  for (std::uint32_t& lanes_there : runs.beginning) lanes_there = 0;
  for (std::int32_t lane = 0; lane < kLanes; ++lane) runs.beginning[steps[lane] - first] |= std::uint32_t{1} << lane;
  return true;
}

// The pairs of two sets: the same.
template <std::size_t D>
std::size_t sweep_across(SweepRequest& request, CandidateBlock* blocks) {
  const CellArrays &a = *request.a, &b = *request.b;
  const SweptSet<D> own(a, request.sweep_axis), other(b, request.sweep_axis);
  CandidateBlock *to = blocks, *const full = blocks + request.capacity;
  RunsSideBySide runs;
  std::size_t next_look = 0;
  while (request.begin < request.end) {
    const std::size_t i = request.begin;
    const bool all_32 = i % kBlockLanes == 0 && i + kBlockLanes <= request.end;
    const bool looked_at = all_32 && request.begin_candidate == 0 && (i >= next_look || request.left != 0);
    if (looked_at && find_side_by_side(request, i, runs)) {
      const SweptRecords<D, Words::kParts> all = own.side_by_side(i);
      Words::Vector begins[Words::kParts];
      std::uint32_t j = request.left != 0 ? request.left_candidate : runs.begin, begun = 0;
      request.left = 0;
      for (std::uint32_t step = runs.begin; step < j && step <= runs.all_begun; ++step)
        begun |= runs.beginning[step - runs.begin];
      while (j < runs.end) {
        if (to == full) {
          request.left = 1;
          request.left_candidate = j;
          return static_cast<std::size_t>(to - blocks);
        }
        to->record = static_cast<std::uint32_t>(i) | kDiagonal;
        to->candidate = j;
        const bool any = all.test(other.lower, other.upper, other.before, j, begins, *to);
        if (j <= runs.all_begun) {
          begun |= runs.beginning[j - runs.begin];
          to->sure &= begun;
          to->possible &= begun;
          to += to->possible != 0;
        } else {
          to += any;
        }
        ++j;
      }
      request.begin += kBlockLanes;
      continue;
    }
    // Where these are not, the next ones will hardly be, but for the first of a cell.
    if (looked_at && i > 0) next_look = i + kBlockLanes * kLookEvery;
    const std::size_t behind = i - i % kBlockLanes + kBlockLanes, end = behind < request.end ? behind : request.end;
    for (; request.begin < end; ++request.begin) {
      const std::size_t k = request.begin;
      std::uint32_t& from = request.begin_candidate;
      if (from == 0) from = run_begin(request, k);
      if (!sweep_run(own, other, k, from, run_end(request, k), to, full)) return static_cast<std::size_t>(to - blocks);
      from = 0;
    }
  }
  return static_cast<std::size_t>(to - blocks);
}

inline std::uint64_t count_hits(const CandidateBlock* blocks, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += bit_count(blocks[k].sure);
  return sum;
}

// Writes record << 32 | candidate for every sure pair, block by block; returns how many. Room for four more is a
// precondition: most blocks hold few hits, and four writes without a branch cost less than one wrong guess of a branch.
inline std::size_t list_hits(const CandidateBlock* blocks, std::size_t count, std::uint64_t* hits) {
  std::size_t found = 0;
  for (std::size_t k = 0; k < count; ++k) {
    std::uint32_t bits = blocks[k].sure;
    const std::uint32_t record = blocks[k].record & ~kDiagonal, here = bit_count(bits);
    const std::uint64_t base = static_cast<std::uint64_t>(record) << 32 | blocks[k].candidate;
    const std::uint64_t step = static_cast<std::uint64_t>(blocks[k].record & kDiagonal) << 1 | 1;
    std::uint64_t* to = hits + found;
    for (int unrolled = 0; unrolled < 4; ++unrolled) {
      to[unrolled] = base + lowest_bit(bits) * step;
      bits &= bits - 1;
    }
    if (here > 4) {
      for (to += 4; bits != 0; bits &= bits - 1) *to++ = base + lowest_bit(bits) * step;
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
