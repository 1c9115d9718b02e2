#include "neighbors/sight.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace broadphase {

namespace {

template <std::size_t D>
void keep_seen(NeighborLists& lists, const Sight& sight, Interrupt& interrupt) {
  NeighborPairs& entries = lists.entries;
  const std::vector<std::int64_t> offsets = lists.offsets;
  std::vector<char> is_seen(entries.size);
  const double* vectors = entries.vectors.get();
  std::int64_t kept = 0;
  for (std::size_t point = 0; point + 1 < offsets.size(); ++point) {
    const Cone cone = sight.cone(point, D);
    for (auto k = static_cast<std::size_t>(offsets[point]); k < static_cast<std::size_t>(offsets[point + 1]); ++k) {
      is_seen[k] = cone.holds<D>(vectors + k * D) ? 1 : 0;
      kept += is_seen[k];
    }
    lists.offsets[point + 1] = kept;
    if (point % 4096 == 0) interrupt.check();
  }
  entries.keep_if(0, [&](std::size_t k) { return is_seen[k] != 0; });
}

}  // namespace

void keep_in_sight(NeighborLists& lists, const Sight& sight, Interrupt& interrupt) {
  if (lists.entries.dimension == 2)
    keep_seen<2>(lists, sight, interrupt);
  else
    keep_seen<3>(lists, sight, interrupt);
}

void NearestOrder::first(std::size_t begin, std::size_t end, std::size_t most, std::vector<std::size_t>& places) const {
  const auto is_nearer = [this](std::size_t a, std::size_t b) {
    if (distances[a] < distances[b]) return true;
    if (distances[b] < distances[a]) return false;
    const bool is_odd = std::isnan(distances[a]), is_other_odd = std::isnan(distances[b]);
    if (is_odd != is_other_odd) return is_other_odd;
    if (rows[a] != rows[b] || shifts == nullptr) return rows[a] < rows[b];
    const std::int32_t *one = shifts + a * dimension, *other = shifts + b * dimension;
    return std::lexicographical_compare(one, one + dimension, other, other + dimension);
  };
  constexpr std::size_t kFew = 32;
  if (most <= kFew) {
    places.clear();
    for (std::size_t k = begin; k < end; ++k) {
      std::size_t at = places.size();
      if (at < most)
        places.push_back(k);
      else if (at == 0 || !is_nearer(k, places[--at]))
        continue;
      for (; at > 0 && is_nearer(k, places[at - 1]); --at) places[at] = places[at - 1];
      places[at] = k;
    }
    return;
  }
  places.resize(end - begin);
  std::iota(places.begin(), places.end(), begin);
  const std::size_t count = std::min(most, places.size());
  std::partial_sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count), places.end(), is_nearer);
  places.resize(count);
}

void keep_nearest(NeighborLists& lists, std::size_t most, Interrupt& interrupt) {
  NeighborPairs& entries = lists.entries;
  const NearestOrder order{entries.distances.get(), entries.second(),
                           entries.has_shifts ? entries.shifts.get() : nullptr, entries.dimension};
  NeighborPairs kept(entries.dimension, entries.has_distances, entries.has_vectors, entries.has_shifts);
  std::vector<std::size_t> places;
  std::int64_t begin = 0;
  for (std::size_t point = 0; point + 1 < lists.offsets.size(); ++point) {
    const std::int64_t end = lists.offsets[point + 1];
    order.first(static_cast<std::size_t>(begin), static_cast<std::size_t>(end), most, places);
    begin = end;
    kept.room(places.size());
    for (const std::size_t place : places) kept.copy(entries, place, place + 1, kept.size++);
    lists.offsets[point + 1] = static_cast<std::int64_t>(kept.size);
    if (point % 4096 == 0) interrupt.check();
  }
  entries = std::move(kept);
}

}  // namespace broadphase
