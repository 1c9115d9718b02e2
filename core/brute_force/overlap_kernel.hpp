// One box against a run of boxes, and many boxes against a run each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/kernels.hpp"
#include "simd/lanes.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// Tests the box of a query against kWidth boxes of the run at once.
template <class T, std::size_t D, bool Closed>
class LaneTest {
  using L = Lanes<T>;

 public:
  explicit LaneTest(const RunQuery<T>& query) : columns_(query.columns) {
    for (std::size_t k = 0; k < 2 * D; ++k) corner_[k] = L::splat(query.box[k]);
  }

  // Lane l: the box at position j + l overlaps.
  typename L::Mask mask(std::size_t j) const {
    typename L::Mask hit = axis(0, j);
    for (std::size_t k = 1; k < D; ++k) hit = L::both(hit, axis(k, j));
    return hit;
  }
  std::uint32_t operator()(std::size_t j) const { return L::bits(mask(j)); }

 private:
  typename L::Mask axis(std::size_t k, std::size_t j) const {
    const typename L::Vector lower = L::load(columns_[k] + j), upper = L::load(columns_[D + k] + j);
    if constexpr (Closed)
      return L::both(L::less_equal(corner_[k], upper), L::less_equal(lower, corner_[D + k]));
    else
      return L::both(L::less(corner_[k], upper), L::less(lower, corner_[D + k]));
  }

  const T* const* columns_;
  typename L::Vector corner_[2 * D];
};

template <class T, std::size_t D, bool Closed>
std::size_t overlap_run(const RunQuery<T>& query, std::uint32_t* positions) {
  using L = Lanes<T>;
  constexpr std::size_t kWidth = L::kWidth;
  const LaneTest<T, D, Closed> test(query);
  std::size_t found = 0, j = query.begin;
  const auto put = [&](std::uint32_t hits, std::size_t at) {
    found += L::emit(hits, static_cast<std::uint32_t>(at), positions + found);
  };
  if constexpr (kWidth > 1) {
    // Long runs hold few hits: one branch for four vectors without any. Where there are some, none of the four is
    // worth a branch of its own.
    for (; j + 4 * kWidth <= query.end; j += 4 * kWidth) {
      const std::uint32_t a = test(j), b = test(j + kWidth), c = test(j + 2 * kWidth), d = test(j + 3 * kWidth);
      if ((a | b | c | d) == 0) continue;
      put(a, j);
      put(b, j + kWidth);
      put(c, j + 2 * kWidth);
      put(d, j + 3 * kWidth);
    }
  }
  for (; j + kWidth <= query.end; j += kWidth) put(test(j), j);
  if (j < query.end) put(test(j) & ((1u << (query.end - j)) - 1u), j);
  return found;
}

template <class T, std::size_t D, bool Closed>
std::size_t overlap_blocks(const BlocksQuery<T>& query, std::uint32_t* positions) {
  using L = Lanes<T>;
  const LaneTest<T, D, Closed> test({query.columns, 0, 0, query.box});
  std::size_t found = 0;
  for (std::size_t k = 0; k < query.count; ++k) {
    const std::size_t begin = kBlockOfRun * query.blocks[k];
    for (std::size_t j = begin; j < begin + kBlockOfRun; j += L::kWidth)
      found += L::emit(test(j), static_cast<std::uint32_t>(j), positions + found);
  }
  return found;
}

template <class T, std::size_t D, bool Closed>
std::size_t overlap_runs(const RunsQuery<T>& query, RunHits* hits) {
  using L = Lanes<T>;
  constexpr std::size_t kWidth = L::kWidth;
  std::size_t found = 0, end = query.end;
  for (std::size_t at = query.first; at < query.last; ++at, end += query.growth) {
    T box[2 * D];
    for (std::size_t k = 0; k < 2 * D; ++k) box[k] = query.boxes[k][at];
    const LaneTest<T, D, Closed> test({query.columns, query.begin, end, box});
    // Written whether anything was hit or not: the next one overwrites it then.
    const auto put = [&](std::size_t j, std::uint32_t lanes) {
      hits[found] = {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(j), lanes};
      found += lanes != 0;
    };
    std::size_t j = query.begin;
    for (; j + kWidth <= end; j += kWidth) put(j, test(j));
    if (j < end) put(j, test(j) & ((1u << (end - j)) - 1u));
  }
  return found;
}

// No run is looked up beforehand: whether it goes on is measured during the search, for where it ends cannot be
// predicted, and to guess that wrong twice would take longer than most tests. From multiples of the step on: a vector
// that crosses two lines of cache takes twice as long to read.
template <class T, std::size_t D, bool Closed>
std::size_t sweep_ahead(const SweepQuery<T>& query, RunHits* hits) {
  using L = Lanes<T>;
  constexpr std::size_t kWidth = L::kWidth, kStep = kWidth * (kWidth == 1 || kWidth * sizeof(T) >= 128 ? 1 : 2);
  // Local, for the writes below could be to them for all that the compiler knows.
  const T *const begins = query.begins, *const ends = query.ends;
  const std::size_t count = query.count, most = query.most, last = query.last;
  std::uint32_t* from = query.from;
  RunHits* to = hits;
  for (std::size_t at = query.first; at < last; ++at, ++from) {
    T box[2 * D];
    for (std::size_t k = 0; k < 2 * D; ++k) box[k] = query.boxes[k][at];
    const LaneTest<T, D, Closed> test({query.columns, 0, 0, box});
    const typename L::Vector end = L::splat(ends[at]);
    const auto lanes_at = [&](std::size_t j) {
      const typename L::Vector begin = L::load(begins + j);
      return L::bits(L::both(Closed ? L::less_equal(begin, end) : L::less(begin, end), test.mask(j)));
    };
    // Written whether anything was hit or not: the next one overwrites it then.
    const auto put = [&](std::size_t j, std::uint32_t lanes) {
      *to = {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(j), lanes};
      to += lanes != 0;
    };
    std::size_t j = *from / kStep * kStep;
    std::uint32_t counted = ~0u << (*from - j);
    const std::size_t stop = count - j > most ? j + most : count;
    bool goes_on = true;
    for (; goes_on && j + kStep <= stop; j += kStep, counted = ~0u) {
      std::uint32_t lanes = 0;
      for (std::size_t part = 0; part < kStep; part += kWidth) lanes |= lanes_at(j + part) << part;
      goes_on = Closed ? begins[j + kStep - 1] <= ends[at] : begins[j + kStep - 1] < ends[at];
      put(j, lanes & counted);
    }
    // The last ones of all.
    for (; goes_on && j < stop; j += kWidth) {
      counted = *from > j ? ~0u << (*from - j) : ~0u;
      if (stop - j < kWidth) counted &= (1u << (stop - j)) - 1u;
      put(j, lanes_at(j) & counted);
    }
    *from = goes_on && stop < count ? static_cast<std::uint32_t>(stop) : ~0u;
  }
  return static_cast<std::size_t>(to - hits);
}

}  // namespace broadphase::BROADPHASE_LEVEL
