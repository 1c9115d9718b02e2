// The candidates of a search for many nearest rows: what a walk in floats lists, cut to those that may be wanted and
// put in order before they are measured in doubles.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/memory.hpp"
#include "tree/walks.hpp"

namespace broadphase {

class NearCandidates {
 public:
  // With room for more than are wanted: the more, the less often they are cut. Throws bad_alloc.
  void begin(std::size_t wanted, NearWalk& walk) {
    constexpr std::size_t kMore = 4 * kLanes;  // a quarter of the room is for a block, at least
    wanted_ = wanted;
    const std::size_t room = 2 * wanted + kMore;
    if (rows_.size() < room + kLanes) {
      for (PlainArray<std::int32_t>* one : {&rows_, &bucket_, &order_}) one->grow(room + kLanes);
      for (PlainArray<float>* one : {&keys_, &spare_}) one->grow(room + kLanes);
      next_.grow(std::bit_ceil(room + kLanes));
    }
    walk.near_rows = rows_.get();
    walk.near_keys = keys_.get();
    walk.near_room = room;
    walk.found = 0;
  }

  // Puts row_of(row) in the place of each candidate from number `from` on, and drops those for which it is negative.
  template <class RowOf>
  void replace(NearWalk& walk, std::size_t from, const RowOf& row_of) {
    std::size_t kept = from;
    for (std::size_t at = from; at < walk.found; ++at) {
      rows_[kept] = row_of(rows_[at]);
      keys_[kept] = keys_[at];
      kept += rows_[kept] >= 0 ? 1 : 0;
    }
    walk.found = kept;
  }

  // Lowers the limit to limit_of(key) of the last row wanted so far, and drops the candidates beyond. False if hardly
  // any are.
  template <class LimitOf>
  bool cut(NearWalk& walk, const LimitOf& limit_of) {
    if (walk.found >= wanted_) {
      std::copy_n(keys_.get(), walk.found, spare_.get());
      float* const last = spare_.get() + wanted_ - 1;
      std::nth_element(spare_.get(), last, spare_.get() + walk.found);
      walk.limit = std::min(walk.limit, limit_of(*last));
      std::size_t kept = 0;
      for (std::size_t at = 0; at < walk.found; ++at) {
        rows_[kept] = rows_[at];
        keys_[kept] = keys_[at];
        kept += keys_[at] <= walk.limit ? 1 : 0;
      }
      walk.found = kept;
    }
    return walk.found + walk.near_room / 4 <= walk.near_room;
  }

  // Puts the candidates in the order of their keys, but for those that are nearly the same. Returns limit_of(key) of a
  // key that is hardly above that of the last row wanted; infinite if there are fewer. `count` receives how many
  // candidates may be within that: they are at rows(), before the others.
  template <class LimitOf>
  float put_in_order(const NearWalk& walk, const LimitOf& limit_of, std::size_t& count) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::size_t found = walk.found, buckets = std::bit_ceil(found + 1);
    float most = 0;
    for (std::size_t at = 0; at < found; ++at) most = std::max(most, keys_[at]);
    const float scale = static_cast<float>(buckets - 1) / most;
    if (!(scale > 0 && scale < kMostScale)) {  // all are 0, or one is infinite
      std::copy_n(rows_.get(), found, order_.get());
      count = found;
      return found < wanted_ ? kInfinity : limit_of(most);
    }
    std::uint32_t* const next = next_.get();
    std::fill_n(next, buckets, 0u);
    for (std::size_t at = 0; at < found; ++at) {
      bucket_[at] = static_cast<std::int32_t>(keys_[at] * scale);
      ++next[bucket_[at]];
    }
    std::uint32_t before = 0;
    std::size_t last = 0;  // the bucket of the last one wanted
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      last = before < wanted_ ? bucket : last;
      before += std::exchange(next[bucket], before);
    }
    // What is in a bucket is below the begin of the next one, but for a rounding.
    const float limit = found < wanted_ ? kInfinity : limit_of(static_cast<float>(last + 1) / scale * kLonger);
    const float end = limit * scale;
    last = end < static_cast<float>(buckets - 1) ? static_cast<std::size_t>(end) : buckets - 1;
    for (std::size_t at = 0; at < found; ++at) order_[next[bucket_[at]]++] = rows_[at];
    count = next[last];  // where the next bucket begins
    return limit;
  }

  const std::int32_t* rows() const { return order_.get(); }

 private:
  static constexpr float kMostScale = 1e30F, kLonger = 1.000001F;

  std::size_t wanted_ = 0;
  PlainArray<std::int32_t> rows_, bucket_, order_;
  PlainArray<float> keys_, spare_;
  PlainArray<std::uint32_t> next_;
};

}  // namespace broadphase
