// One cell of the grid: sort its records along the sweep axis, test each against the run behind it, name the hits.
#pragma once

#include "broadphase/grid_record.hpp"
#include "word_lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// Lowest and highest number of `count` records along the sweep axis.
template <std::size_t D>
void sweep_range(const void* from, std::size_t count, std::size_t axis, std::int32_t* lowest, std::int32_t* highest) {
  const auto* records = static_cast<const Record<D>*>(from);
  std::int32_t low = *lowest, high = *highest;
  for (std::size_t k = 0; k < count; ++k) {
    const std::int32_t x = records[k].lower[axis];
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  *lowest = low;
  *highest = high;
}

inline std::uint32_t bucket_of(std::int32_t x, const Buckets& buckets) {
  const std::int32_t bucket = (x - buckets.lowest) >> buckets.shift;
  const auto last = static_cast<std::int32_t>(buckets.count) - 1;
  return static_cast<std::uint32_t>(bucket > last ? last : bucket);
}

// Counting sort by bucket, stable; then structure of arrays, closed by records that overlap nothing.
// `bucket_end` has room for buckets.count + 1 and afterwards holds the end of each bucket.
template <std::size_t D>
void sort_cell(const void* from, std::size_t axis, const Buckets& buckets, const CellArrays& to) {
  const auto* records = static_cast<const Record<D>*>(from);
  const std::size_t count = to.count;
  std::uint32_t* end = to.bucket_end;
  for (std::size_t b = 0; b <= buckets.count; ++b) end[b] = 0;
  for (std::size_t k = 0; k < count; ++k) ++end[bucket_of(records[k].lower[axis], buckets) + 1];
  std::uint32_t sum = 0;
  for (std::size_t b = 0; b <= buckets.count; ++b) end[b] = sum += end[b];
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t place = end[bucket_of(records[k].lower[axis], buckets)]++;
    for (std::size_t d = 0; d < D; ++d) {
      to.lower[d][place] = records[k].lower[d];
      to.negated_upper[d][place] = records[k].negated_upper[d];
      to.began[d][place] = records[k].lower[d] == kBeganBefore ? 1 : -1;
    }
    to.row[place] = records[k].row;
  }
  for (std::size_t k = count; k < count + kCellPadding; ++k) {
    for (std::size_t d = 0; d < D; ++d) to.lower[d][k] = to.negated_upper[d][k] = 32767, to.began[d][k] = 1;
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
    const std::int16_t* begun[D];
    for (std::size_t d = 0; d < D; ++d) {
      // Where the box began before the cell, so that its lower side tells nothing, the other must have begun in it.
      const std::int16_t low = a.lower[d][i];
      const bool before = low == kBeganBefore;
      lower[d] = Words::splat(before ? std::int16_t{0} : low);
      begun[d] = before ? b.began[d] : b.negated_upper[d];
      upper[d] = Words::splat(a.negated_upper[d][i]);
    }
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
        Words::Vector most = Words::add(lower[0], Words::load(begun[0] + j));
        most = Words::larger(most, Words::add(upper[0], Words::load(b.lower[0] + j)));
        for (std::size_t d = 1; d < D; ++d) {
          most = Words::larger(most, Words::add(lower[d], Words::load(begun[d] + j)));
          most = Words::larger(most, Words::add(upper[d], Words::load(b.lower[d] + j)));
        }
        worst[part] = most;
      }
      blocks[used] = {static_cast<std::uint32_t>(i), from};
      sure[used] = Words::negative(worst);
      possible[used] = Words::not_positive(worst);
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
