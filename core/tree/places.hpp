// Rows with coordinates, and how to part them at a rank: what the orders by halving share.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/samples.hpp"
#include "simd/kernels.hpp"

namespace broadphase::detail {

// A row and its first K numbers, its coordinates. Filled up to a multiple of its alignment, so that it is moved in
// whole registers; filled up by hand, because MSVC warns of padding that an alignment adds (C4324).
template <std::size_t K>
struct alignas(K == 1 ? 8 : 16) Place {
  static constexpr std::size_t kNumbers = K == 1 ? 1 : K / 4 * 4 + 3;
  float at[kNumbers];
  std::uint32_t row;
};

// An int32 that ascends where x does.
inline std::int32_t ascending_key(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return bits ^ (bits >> 31 & 0x7fffffff);
}

// Places in one of two arrays of the same size.
struct PlacePart {
  std::size_t begin, end;
  bool in_spare;
  std::size_t count() const { return end - begin; }
};

// Those who part places together, or one thread alone.
struct PartThreads {
  unsigned workers;
  Interrupt& interrupt;
};

template <std::size_t K>
class PlaceSelect {
 public:
  // Up to this many are ranked by comparing all with all.
  static constexpr std::size_t kFew = 64;

  PlaceSelect(Place<K>* items, Place<K>* spare, const Kernels& kernels)
      : items_(items), spare_(spare), kernels_(kernels) {}

  const Place<K>* at(const PlacePart& part) const { return (part.in_spare ? spare_ : items_) + part.begin; }

  // The ranks of up to 64 coordinates; equal ones keep their order, and so do those that differ in the last bits only.
  template <class At>
  void rank(std::size_t count, const At& at, std::int32_t* ranks) const {
    alignas(64) std::int32_t keys[kFew];
    const std::size_t padded = (count + 7) / 8 * 8;
    for (std::size_t i = 0; i < count; ++i)
      keys[i] = (ascending_key(at(i)) & ~static_cast<std::int32_t>(kFew - 1)) | static_cast<std::int32_t>(i);
    for (std::size_t i = count; i < padded; ++i) keys[i] = 0x7fffffff - static_cast<std::int32_t>(kFew - i);
    kernels_.eight->rank_keys(keys, padded, ranks);
  }

  // Parts the places so that those in front of `middle` have the smaller coordinates along an axis. The same for any
  // number of threads.
  std::pair<PlacePart, PlacePart> cut(const PlacePart& part, std::size_t middle, std::size_t axis,
                                      const PartThreads& threads) const {
    Place<K>* own = part.in_spare ? spare_ : items_;
    Place<K>* other = part.in_spare ? items_ : spare_;
    const bool in_spare = part.in_spare != select(own, other, part.begin, part.end, middle, axis, threads);
    return {{part.begin, middle, in_spare}, {middle, part.end, in_spare}};
  }

 private:
  // kPivots, kFewPivots: sample sizes for the median. kMostRounds: attempts to narrow down the median before
  // nth_element is used, which happens where most coordinates are equal.
  static constexpr std::size_t kPivots = 64, kFewPivots = 32;
  static constexpr int kMostRounds = 12;
  static constexpr std::size_t kStretch = std::size_t{1} << 15;  // elements that one task parts

  // Partitions [begin, end) at the element of rank `middle`. The result is in `to` if this returns true, else in
  // `from`.
  bool select(Place<K>* from, Place<K>* to, std::size_t begin, std::size_t end, std::size_t middle, std::size_t axis,
              const PartThreads& threads) const {
    bool turned = false;
    for (int round = 0; end - begin > kFew; ++round) {
      const std::size_t count = end - begin, pivots = count > 2048 ? kPivots : kFewPivots;
      const StratifiedSample places(count, pivots);
      const auto sample = [&](std::size_t i) { return from[begin + places[i]].at[axis]; };
      alignas(64) std::int32_t ranks[kFew];
      float sorted[kFew];
      rank(pivots, sample, ranks);
      for (std::size_t i = 0; i < pivots; ++i) sorted[ranks[i]] = sample(i);
      if (round == kMostRounds || sorted[0] == sorted[pivots - 1]) {
        std::nth_element(from + begin, from + middle, from + end,
                         [axis](const Place<K>& a, const Place<K>& b) { return a.at[axis] < b.at[axis]; });
        std::copy(from + begin, from + end, to + begin);
        return turned;
      }
      // Slightly beyond the expected median, so that it falls into the smaller part.
      const double share = static_cast<double>(middle - begin) / static_cast<double>(count);
      const double error = std::sqrt(static_cast<double>(pivots) * share * (1 - share));
      const double wanted = share * static_cast<double>(pivots) + (share < 0.5 ? error : -error);
      const float pivot = sorted[static_cast<std::size_t>(std::clamp(wanted, 0.0, static_cast<double>(pivots - 1)))];
      const bool is_shared = threads.workers > 1 && count >= 2 * kStretch;
      const std::size_t split = is_shared ? part_on_threads(from, to, begin, end, axis, pivot, threads)
                                          : part(from, to, begin, end, axis, pivot);
      // Both arrays keep the settled part, so that either may be read in the end.
      const bool is_in_front = middle < split;
      const std::size_t settled = is_in_front ? split : begin, settled_end = is_in_front ? end : split;
      const auto keep = [=](std::size_t first, std::size_t last) {
        std::copy(to + settled + first, to + settled + last, from + settled + first);
      };
      if (is_shared)
        in_stretches_on_threads(settled_end - settled, threads.workers, threads.interrupt, keep);
      else
        keep(0, settled_end - settled);
      (is_in_front ? end : begin) = split;
      std::swap(from, to);
      turned = !turned;
      if (middle == begin || middle == end) return turned;
    }
    alignas(64) std::int32_t ranks[kFew];
    rank(end - begin, [&](std::size_t i) { return from[begin + i].at[axis]; }, ranks);
    for (std::size_t i = begin; i < end; ++i) to[begin + static_cast<std::size_t>(ranks[i - begin])] = from[i];
    std::copy(to + begin, to + end, from + begin);
    return turned;
  }

  // Elements less than the pivot go to the front of `to`, the others to its back.
  static std::size_t part(const Place<K>* from, Place<K>* to, std::size_t begin, std::size_t end, std::size_t axis,
                          float pivot) {
    return part(from + begin, from + end, to, {begin, end, end, begin}, axis, pivot);
  }
  // To the same places.
  static std::size_t part_on_threads(const Place<K>* from, Place<K>* to, std::size_t begin, std::size_t end,
                                     std::size_t axis, float pivot, const PartThreads& threads) {
    const EvenSplit split{end - begin, (end - begin) / kStretch};
    std::vector<std::size_t> before(split.parts + 1, 0);  // elements less than the pivot
    for_each_task(split.parts, threads.workers, threads.interrupt, [&](unsigned, std::size_t k) {
      std::size_t less = 0;
      for (std::size_t i = begin + split.at(k); i < begin + split.at(k + 1); ++i) less += from[i].at[axis] < pivot;
      before[k + 1] = less;
    });
    for (std::size_t k = 0; k < split.parts; ++k) before[k + 1] += before[k];
    for_each_task(split.parts, threads.workers, threads.interrupt, [&](unsigned, std::size_t k) {
      const std::size_t first = split.at(k), last = split.at(k + 1);
      part(from + begin + first, from + begin + last, to,
           {begin + before[k], begin + before[k + 1], end - (first - before[k]), end - (last - before[k + 1])}, axis,
           pivot);
    });
    return begin + before.back();
  }
  // Where the next elements go: upwards from `front`, and downwards from `back`.
  struct Room {
    std::size_t front, front_end, back, back_end;
  };
  // Each is written to both places, without a branch, as long as both are there.
  static std::size_t part(const Place<K>* first, const Place<K>* last, Place<K>* to, Room room, std::size_t axis,
                          float pivot) {
    std::size_t front = room.front, back = room.back;
    for (; first < last && front < room.front_end && back > room.back_end; ++first) {
      const auto before = static_cast<std::size_t>(first->at[axis] < pivot);
      std::memcpy(to + front, first, sizeof(Place<K>));
      std::memcpy(to + back - 1, first, sizeof(Place<K>));
      front += before;
      back -= 1 - before;
    }
    const bool is_front = front < room.front_end;
    for (; first < last; ++first) std::memcpy(to + (is_front ? front++ : --back), first, sizeof(Place<K>));
    return front;
  }

  Place<K>*items_, *spare_;
  const Kernels& kernels_;
};

// Sorts all `count` places by sorter.cut(part, threads), which halves a part of more than kFew, and sorter.sort(part,
// threads).
// The same parts for any number of workers, so the order does not depend on it.
template <class Sorter>
void sort_places(const Sorter& sorter, std::size_t count, unsigned workers, Interrupt& interrupt) {
  constexpr std::size_t kTaskRows = std::size_t{1} << 14;  // a few milliseconds
  std::vector<PlacePart> open = {{0, count, false}}, small;
  while (!open.empty()) {
    std::vector<std::pair<PlacePart, PlacePart>> halves(open.size());
    // Fewer parts than threads are cut one after the other, each by all threads.
    const bool are_few = open.size() < workers;
    for_each_task(open.size(), are_few ? 1 : workers, interrupt, [&](unsigned, std::size_t task) {
      if (open[task].count() <= kTaskRows) return;
      Interrupt none;  // this may not be the calling thread
      halves[task] = sorter.cut(open[task], are_few ? PartThreads{workers, interrupt} : PartThreads{1, none});
    });
    std::vector<PlacePart> next;
    for (std::size_t k = 0; k < open.size(); ++k)
      if (open[k].count() > kTaskRows) {
        next.push_back(halves[k].first);
        next.push_back(halves[k].second);
      } else {
        small.push_back(open[k]);
      }
    open.swap(next);
  }
  for_each_task(small.size(), workers, interrupt, [&](unsigned, std::size_t task) {
    Interrupt none;
    sorter.sort(small[task], {1, none});
  });
}

}  // namespace broadphase::detail
