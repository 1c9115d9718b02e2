// The kernels of eight queries walked together (together.hpp). In most registers a lane is a query: a box is compared
// with eight points at once, and neither how near the points are to each other nor what is found for each is branched
// on.
#pragma once

#include <math.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd/lanes.hpp"
#include "tree/pack_kernel.hpp"
#include "tree/queries_kernel.hpp"
#include "tree/together.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// The squared distances of eight points to the box of a lane.
template <std::size_t D>
Eight squares_to(const float* block, std::size_t lane, const Eight* center) {
  Eight square = Eight::splat(0.0F);
  for (std::size_t k = 0; k < D; ++k) {
    const Eight low = Eight::splat(block[k * kLanes + lane]), high = Eight::splat(block[(D + k) * kLanes + lane]);
    const Eight gap = center[k] - lowered(raised(center[k], low), high);
    square = k == 0 ? gap * gap : square + gap * gap;
  }
  return square;
}

inline float largest_lane(Eight a) {
  float lane[kLanes];
  a.store(lane);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lane[l] = lane[l] > lane[l + half] ? lane[l] : lane[l + half];
  return lane[0];
}

// The limits of eight queries, without those whose bits are set.
inline Eight without(Eight limit, std::uint32_t queries) {
  if (queries == 0) return limit;
  float limits[kTogether];
  limit.store(limits);
  for (std::size_t q = 0; q < kTogether; ++q) limits[q] = (queries >> q & 1u) != 0 ? -1.0F : limits[q];
  return Eight::read(limits);
}

inline std::uint32_t set_bits(std::uint32_t lanes, std::size_t lane) { return (lanes >> lane & 1u) != 0 ? 0xff : 0; }

// Lists the rows of the blocks noted so far that are within the limits, and forgets the blocks.
template <std::size_t D>
void list_candidates(NearestTogether& walk, Eight limit) {
  float limits[kTogether];
  limit.store(limits);
  for (std::size_t at = 0; at < walk.leaves; ++at) {
    const BlockReader<D> block(walk.memory, walk.leaf[at]);
    const std::uint32_t lanes = block.occupied() & block.rows();
    for (std::size_t half = 0; half < 2; ++half) {
      std::uint32_t hits = 0;  // bit 8 * l + q: lane 4 * half + l, query q
      for (std::size_t l = 0; l < 4; ++l) {
        const std::size_t lane = 4 * half + l;
        hits |= static_cast<std::uint32_t>(at_most(Eight::read(walk.leaf_key[at][lane]), limit) & set_bits(lanes, lane))
                << 8 * l;
      }
      for (; hits != 0; hits &= hits - 1) {
        const std::size_t bit = lowest_bit(hits), query = bit % kTogether, lane = 4 * half + bit / kTogether;
        std::size_t& found = walk.found[query];
        if ((walk.crowded >> query & 1u) != 0) continue;
        if (found == NearestTogether::kRoom) {
          const std::size_t before = found;
          found = 0;
          for (std::size_t k = 0; k < before; ++k) {
            if (walk.row_key[query][k] > limits[query]) continue;
            walk.row_key[query][found] = walk.row_key[query][k];
            walk.rows[query][found++] = walk.rows[query][k];
          }
          if (found == before) {
            walk.crowded |= 1u << query;
            continue;
          }
        }
        walk.rows[query][found] = block.child(lane);
        walk.row_key[query][found++] = walk.leaf_key[at][lane][query];
      }
    }
  }
  walk.leaves = 0;
}

// Drops the candidates of a query that are beyond its limit, and puts the others in order, but for distances that are
// nearly the same.
inline void order_candidates(NearestTogether& walk, std::size_t query) {
  constexpr std::size_t kRoom = NearestTogether::kRoom;
  std::int32_t rows[kRoom], key[kRoom], rank[kRoom] = {};
  std::size_t kept = 0;
  for (std::size_t at = 0; at < walk.found[query]; ++at) {
    // Floats that are not negative are in the order of their bits. The last ones are lost to the place, so that no two
    // are equal.
    std::memcpy(key + kept, walk.row_key[query] + at, sizeof(float));
    key[kept] = (key[kept] & ~static_cast<std::int32_t>(kRoom - 1)) | static_cast<std::int32_t>(kept);
    rows[kept] = walk.rows[query][at];
    kept += walk.row_key[query][at] <= walk.limit[query] ? 1 : 0;
  }
  const std::size_t padded = (kept + kLanes - 1) / kLanes * kLanes;
  for (std::size_t at = kept; at < padded; ++at) key[at] = 0x7fffffff;
  rank_keys(key, padded, rank);
  for (std::size_t at = 0; at < kept; ++at) walk.rows[query][rank[at]] = rows[at];
  walk.found[query] = kept;
}

// The candidates of a query are the rows wanted if the row behind them is surely farther away.
template <std::size_t D, std::size_t Wanted>
void name_candidates(NearestTogether& walk, const Eight* best, std::uint32_t queries) {
  std::int32_t key[Wanted][kTogether];
  static_assert(sizeof(key[0]) == sizeof(float[kTogether]));
  for (std::size_t k = 0; k < walk.wanted; ++k) {
    float keys[kTogether];
    best[Wanted - walk.wanted + k].store(keys);
    std::memcpy(key[k], keys, sizeof(keys));
  }
  for (; queries != 0; queries &= queries - 1) {
    const std::size_t query = lowest_bit(queries);
    for (std::size_t k = 0; k < walk.wanted; ++k) {
      const auto mark = static_cast<std::uint32_t>(key[k][query]);
      walk.rows[query][k] =
          BlockReader<D>(walk.memory, walk.leaf[mark / kLanes % NearestTogether::kLeaves]).child(mark % kLanes);
    }
    walk.found[query] = walk.wanted;
  }
}

// The limits of queries by what is known of the points before: a row is no farther from a query than from another point
// and that from the query.
template <std::size_t D>
Eight limit_by_reach(const NearestTogether& walk, const Eight* center, Eight error) {
  constexpr float kLonger = 1.000002F;
  Eight least = Eight::splat(HUGE_VALF);
  for (std::size_t p = 0; p < kTogether; ++p) {
    Eight square = Eight::splat(0.0F);
    for (std::size_t k = 0; k < D; ++k) {
      const Eight gap = center[k] - Eight::splat(walk.before[k][p]);
      square = k == 0 ? gap * gap : square + gap * gap;
    }
    least = smaller(root(square) * Eight::splat(kLonger) + Eight::splat(walk.reach[p]), least);
  }
  // A gap lacks the errors of two points, and a distance to a box the error of one.
  const Eight reach = least * Eight::splat(kLonger) + error + error + error;
  return reach * reach * Eight::splat(kLonger);
}

// `Wanted`: at least as many rows as are wanted.
template <std::size_t D, std::size_t Wanted>
void nearest_together_of(NearestTogether& walk) {
  constexpr float kInfinity = HUGE_VALF, kLonger = 1.000002F;
  Eight center[D], low[D], high[D], best[Wanted + 1];
  for (std::size_t k = 0; k < D; ++k) {
    center[k] = Eight::read(walk.center[k]);
    float least = walk.center[k][0], most = least;
    for (const float x : walk.center[k]) {
      least = x < least ? x : least;
      most = x > most ? x : most;
    }
    low[k] = Eight::splat(least);
    high[k] = Eight::splat(most);
  }
  // The smallest squared distances of each query so far, ascending, and one more than are wanted; the first ones are
  // below all if fewer are wanted. Each is marked by its lane and its block among those noted.
  for (std::size_t k = 0; k <= Wanted; ++k) best[k] = Eight::splat(k + walk.wanted < Wanted ? -kInfinity : kInfinity);
  const Eight error = Eight::read(walk.error);
  Eight limit = smaller(limit_by_reach<D>(walk, center, error), Eight::read(walk.limit));
  float most = largest_lane(limit);
  bool is_marked = walk.unmarked == 0;
  while (walk.depth > 0) {
    const std::int32_t at = walk.stack[--walk.depth];
    const float own_key = walk.key[walk.depth];
    if (own_key > most) continue;
    const BlockReader<D> block(walk.memory, at);
    ++walk.visited;
    const std::uint32_t rows = block.occupied() & block.rows(), inner = block.occupied() ^ rows;
    if (block.next() != kNoBlock) {
      walk.key[walk.depth] = own_key;
      walk.stack[walk.depth++] = block.next();
    }
    if (rows != 0) {
      if (walk.leaves == NearestTogether::kLeaves) {
        is_marked = false;
        list_candidates<D>(walk, limit);
        limit = without(limit, walk.crowded);
      }
      float (*key)[kTogether] = walk.leaf_key[walk.leaves];
      const auto mark = static_cast<std::uint32_t>(kLanes * walk.leaves);
      walk.leaf[walk.leaves++] = at;
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        Eight square = squares_to<D>(block.memory(), lane, center);
        if ((rows >> lane & 1u) == 0) square = Eight::splat(kInfinity);
        square.store(key[lane]);
        // An infinite one becomes NaN, and is passed on to the end.
        if (is_marked) square = marked(square, mark + lane);
        for (std::size_t k = 0; k < Wanted; ++k) {
          const Eight other = best[k];
          best[k] = smaller(square, other);
          square = larger(other, square);
        }
        if (is_marked) best[Wanted] = smaller(square, best[Wanted]);
      }
      const Eight reach = root(marked(best[Wanted - 1], 0xff)) * Eight::splat(kLonger) + error;
      limit = smaller(reach * reach * Eight::splat(kLonger), limit);
      most = largest_lane(limit);
    }
    if (inner != 0) {
      Eight square = Eight::splat(0.0F);
      std::uint32_t near = 0;
      for (std::size_t k = 0; k < D; ++k) {
        const Eight gap = raised(low[k] - block.upper(k), raised(block.lower(k) - high[k], Eight::splat(0.0F)));
        square = k == 0 ? gap * gap : square + gap * gap;
      }
      for (std::uint32_t lane = 0; lane < kLanes; ++lane)
        near |= static_cast<std::uint32_t>(at_most(squares_to<D>(block.memory(), lane, center), limit) != 0) << lane;
      float* key = walk.key + walk.depth;
      std::int32_t* stack = walk.stack + walk.depth;
      std::size_t count = 0;
      if (!keep_few_in_order(square, block.children(), near & inner, key, stack, count))
        count = push_in_order(square, block.children(), near & inner, key, stack);
      walk.depth += count;
      constexpr std::size_t kLine = 16;  // floats
      for (std::size_t k = 0; k < count; ++k) {
        const BlockReader<D> soon(walk.memory, stack[k]);
        for (std::size_t word = 0; word < BlockReader<D>::kWords; word += kLine) prefetch(soon.memory() + word);
      }
    }
  }
  std::uint32_t sure = 0;
  if (is_marked) {
    sure = below(limit, marked(best[Wanted], 0)) & below(best[Wanted - 1], Eight::splat(kInfinity)) &
           at_most(marked(best[Wanted - 1], 0), limit);
    name_candidates<D, Wanted>(walk, best, sure);
    constexpr std::uint32_t kWithout = 15;
    walk.unmarked = bit_count(sure) < kTogether / 2 ? kWithout : 0;
  } else if (walk.unmarked > 0) {
    --walk.unmarked;
  }
  // Not of points that are far away or not in use: their errors are unknown.
  const std::uint32_t known = at_most(Eight::splat(0.0F), Eight::read(walk.limit));
  const Eight reach = root(marked(best[Wanted - 1], 0xff)) * Eight::splat(kLonger) + error;
  smaller(reach, Eight::splat(kInfinity)).store(walk.reach);
  for (std::size_t q = 0; q < kTogether; ++q) {
    if ((known >> q & 1u) == 0) walk.reach[q] = kInfinity;
    for (std::size_t k = 0; k < D; ++k) walk.before[k][q] = walk.center[k][q];
  }
  if (sure != 0xff) list_candidates<D>(walk, without(limit, sure));
  limit.store(walk.limit);
  if (sure != 0xff) {
    for (std::size_t q = 0; q < kTogether; ++q)
      if ((sure >> q & 1u) == 0) order_candidates(walk, q);
  }
}

template <std::size_t D>
void nearest_together(NearestTogether& walk) {
  // Points of one axis and of four are rare, and have fewer copies.
  if constexpr (D == 2 || D == 3) {
    if (walk.wanted <= 1) return nearest_together_of<D, 1>(walk);
    if (walk.wanted > 4 && walk.wanted <= 8) return nearest_together_of<D, 8>(walk);
  }
  if (walk.wanted <= 4) return nearest_together_of<D, 4>(walk);
  nearest_together_of<D, NearestTogether::kMostWanted>(walk);
}

// Null where they take no less time than one query after the other: where eight numbers are in no register.
template <std::size_t D>
constexpr auto nearest_together_if_faster() -> void (*)(NearestTogether&) {
  if constexpr (Lanes<float>::kWidth == 1)
    return nullptr;
  else
    return nearest_together<D>;
}

template <std::size_t D>
void balls_together(BallsTogether& walk) {
  Eight center[D];
  for (std::size_t k = 0; k < D; ++k) center[k] = Eight::read(walk.center[k]);
  const Eight limit = Eight::read(walk.limit);
  std::size_t fullest = 0;
  while (walk.depth > 0 && fullest <= BallsTogether::kRoom && walk.doubts <= BallsTogether::kMostDoubts) {
    const BlockReader<D> block(walk.memory, walk.stack[--walk.depth]);
    const std::uint32_t active = walk.active[walk.depth];
    ++walk.visited;
    const std::uint32_t rows = block.occupied() & block.rows(), inner = block.occupied() ^ rows;
    if (block.next() != kNoBlock) {
      walk.active[walk.depth] = active;
      walk.stack[walk.depth++] = block.next();
    }
    if (rows != 0) {
      // Here a lane is a row.
      for (std::uint32_t left = active; left != 0; left &= left - 1) {
        const std::size_t query = lowest_bit(left);
        Eight square = Eight::splat(0.0F);
        for (std::size_t k = 0; k < D; ++k) {
          const Eight at = Eight::splat(walk.center[k][query]);
          const Eight gap = at - lowered(raised(at, block.lower(k)), block.upper(k));
          square = k == 0 ? gap * gap : square + gap * gap;
        }
        const std::uint32_t sure = at_most(square, Eight::splat(walk.sure[query])) & rows;
        std::uint32_t doubts = at_most(square, Eight::splat(walk.limit[query])) & (rows ^ sure);
        std::size_t& found = walk.found[query];
        found += keep(block.children(), sure, walk.rows[query] + found);
        fullest = found > fullest ? found : fullest;
        for (; doubts != 0; doubts &= doubts - 1) {
          walk.doubt_row[walk.doubts] = block.child(lowest_bit(doubts));
          walk.doubt_query[walk.doubts++] = static_cast<std::uint32_t>(query);
        }
      }
    }
    if (inner != 0) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::uint32_t near = at_most(squares_to<D>(block.memory(), lane, center), limit);
        walk.stack[walk.depth] = block.child(lane);
        walk.active[walk.depth] = near;
        walk.depth += static_cast<std::size_t>((inner >> lane & 1u) & static_cast<std::uint32_t>(near != 0));
      }
    }
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
