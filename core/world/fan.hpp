// What the kernel of lidars and its callers hand to each other: a fan of beams from one place, and bodies around it.
// Plain data: this header is read by every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadphase {

// Lengths are relative to the place of the fan, and rounded such that no beam enters a body before the kernel says so.
// A ball that does not hold the place: `squared` is the square of its radius, `spare` what a distance may err by.
struct FanBall {
  float center[3], squared, spare;
  std::uint32_t number;
};
struct FanBox {
  float lower[3], upper[3];
  std::uint32_t number;
};

// The key of a body that a beam meets: where the beam enters it at the earliest, without its last eight bits, which are
// the number of the body. So keys are in the order of places, and of numbers where places are nearly equal.
struct Fan {
  static constexpr std::size_t kMostBodies = 256, kBeams = 8, kKeys = 3;
  static constexpr float kMiss = 0x1p126F;                   // keys from here on are of no body
  static constexpr float kLargest = 1e15F, kLeast = 1e-12F;  // of lengths, but for 0

  const float* along[3];    // unit vectors, by axis
  const float* inverse[3];  // of their coordinates, where there are boxes
  const FanBall* balls;
  const FanBox* boxes;
  std::size_t ball_count, box_count;
  const std::uint32_t* groups;  // of kBeams beams each
  std::size_t group_count;
  const float* after;  // of each beam, the last key that is known; null if none is
  float* keys[kKeys];  // of each beam, the least ones behind it, ascending
};

}  // namespace broadphase
