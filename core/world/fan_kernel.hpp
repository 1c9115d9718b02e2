// The kernel of lidars: which bodies each beam of a fan meets first, eight beams side by side (fan.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/lanes.hpp"
#include "world/fan.hpp"

namespace broadphase::BROADPHASE_LEVEL {

// The least keys of eight beams. Not an array, which compilers would keep in memory.
struct LeastKeys {
  Eight first = Eight::splat(2 * Fan::kMiss), second = first, third = first;

  void put(Eight key) {
    const Eight behind = larger(key, first), last = larger(behind, second);
    first = smaller(key, first);
    second = smaller(behind, second);
    third = smaller(last, third);
  }
  void store(const Fan& fan, std::size_t beam) const {
    first.store(fan.keys[0] + beam);
    second.store(fan.keys[1] + beam);
    third.store(fan.keys[2] + beam);
  }
};

template <std::size_t D, bool First>
void list_keys(const Fan& fan, std::size_t beam) {
  const Eight nothing = Eight::splat(0.0F), miss = Eight::splat(Fan::kMiss);
  const Eight after = First ? nothing : Eight::read(fan.after + beam);
  Eight along[D];
  LeastKeys least;
  const auto put = [&](Eight key, std::uint32_t number) {
    key = marked(key, number);
    least.put(First ? key : where_at_most(key, after, miss, key));
  };
  for (std::size_t k = 0; k < D; ++k) along[k] = Eight::read(fan.along[k] + beam);
  for (const FanBall* ball = fan.balls; ball != fan.balls + fan.ball_count; ++ball) {
    Eight center[D], aside, ahead;
    for (std::size_t k = 0; k < D; ++k) {
      center[k] = Eight::splat(ball->center[k]);
      const Eight part = center[k] * along[k];
      ahead = k == 0 ? part : ahead + part;
    }
    // The square of the distance of the center from the beam's line.
    for (std::size_t k = 0; k < (D == 2 ? 1 : 3); ++k) {
      const std::size_t i = D == 2 ? 0 : (k + 1) % D, j = D == 2 ? 1 : (k + 2) % D;
      const Eight part = center[i] * along[j] - center[j] * along[i];
      aside = k == 0 ? part * part : aside + part * part;
    }
    // The root is NaN, and so at least nothing, where the line misses the ball.
    const Eight enter = ahead - root(Eight::splat(ball->squared) - aside) - Eight::splat(ball->spare);
    put(where_at_most(nothing, enter, enter, miss), ball->number);
  }
  if (fan.box_count > 0) {
    Eight inverse[D];
    for (std::size_t k = 0; k < D; ++k) inverse[k] = Eight::read(fan.inverse[k] + beam);
    for (const FanBox* box = fan.boxes; box != fan.boxes + fan.box_count; ++box) {
      Eight enter = nothing, leave = miss;
      for (std::size_t k = 0; k < D; ++k) {
        const Eight low = Eight::splat(box->lower[k]) * inverse[k], high = Eight::splat(box->upper[k]) * inverse[k];
        enter = larger(enter, smaller(low, high));
        leave = smaller(leave, larger(low, high));
      }
      put(where_at_most(enter, leave, enter, miss), box->number);
    }
  }
  least.store(fan, beam);
}

template <std::size_t D>
void fan_keys(const Fan& fan) {
  for (std::size_t at = 0; at < fan.group_count; ++at) {
    const std::size_t beam = fan.groups[at] * Fan::kBeams;
    if (fan.after == nullptr)
      list_keys<D, true>(fan, beam);
    else
      list_keys<D, false>(fan, beam);
  }
}

}  // namespace broadphase::BROADPHASE_LEVEL
