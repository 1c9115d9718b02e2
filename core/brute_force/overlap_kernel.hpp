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

  // Bit l: the box at position j + l overlaps.
  std::uint32_t operator()(std::size_t j) const {
    typename L::Mask hit = axis(0, j);
    for (std::size_t k = 1; k < D; ++k) hit = L::both(hit, axis(k, j));
    return L::bits(hit);
  }

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

}  // namespace broadphase::BROADPHASE_LEVEL
