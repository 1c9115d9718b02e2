// By how much boxes are enlarged to find pairs that are near each other, which serve several searches.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "choose/methods.hpp"

namespace broadphase {

// Near pairs for each box, beyond which testing them takes longer than another search.
inline constexpr std::size_t kMostNearPairs = 16;

// How many times as long as by "auto" a search by a method takes, where that is little. Below 1: near pairs must save
// what may go wrong.
inline double search_of(MethodName method) {
  switch (method) {
    case MethodName::automatic: break;
#define BROADPHASE_CASE(name, Method, slowness) \
  case MethodName::name: return slowness;
      BROADPHASE_METHODS(BROADPHASE_CASE)
#undef BROADPHASE_CASE
  }
  return 0.8;
}

// The extent of a usual box, by a sample, which is sorted.
inline double usual_extent(std::vector<double>& extents) {
  if (extents.empty()) return 0;
  std::sort(extents.begin(), extents.end());
  const std::size_t middle = extents.size() / 2;
  return extents.size() % 2 == 1 ? extents[middle] : (extents[middle - 1] + extents[middle]) / 2;
}

// The reach that near pairs are to be found with, where boxes of an extent grow by so much a step; 0 for none. A longer
// reach saves searches, and adds pairs to every test.
struct Reach {
  // It is to last for so many more steps, or is not worth the search.
  static constexpr int kFewestUses = 2;
  static constexpr double kManyUses = 1000;

  // What takes how long, in any unit: a search for all pairs, for each row and for each pair that it finds; a search
  // among near pairs, likewise; and how many times as long as the first another one takes, which is done if none are
  // kept.
  struct Costs {
    double row, pair, near_row, near_pair, instead;
  };
  // Of the narrow phase of a world. Measured with 1,000 to 100,000 discs and balls, of which 0.2 to 12 overlap each.
  static constexpr Costs kOfShapes{5, 4, 0, 1, 1};

  // Where all pairs are searched for. `pairs_a_row`: of boxes that overlap; of boxes enlarged by a reach there are as
  // many more as their places take up more room.
  static double among_all(double extent, double growth, double pairs_a_row, std::size_t dimension, bool has_images,
                          const Costs& costs) {
    constexpr double kWorthIt = 0.9;
    double best = 0, least = kWorthIt * costs.instead * (costs.row + costs.pair * pairs_a_row);
    for (const double share : {0.01, 0.02, 0.04, 0.08, 0.16, 0.24, 0.32, 0.48, 0.64}) {
      const double reach = share * extent, uses = growth > 0 ? std::floor(reach / growth) : kManyUses,
                   pairs = std::max(pairs_a_row, 0.1) * std::pow(1 + 2 * share, static_cast<double>(dimension)),
                   search = (has_images ? 2 : 1) * costs.row + costs.pair * pairs,
                   test = costs.near_row + costs.near_pair * pairs,
                   cost = (search + std::min(uses, kManyUses) * test) / (std::min(uses, kManyUses) + 1);
      if (!(reach >= kFewestUses * growth) || !(pairs <= kMostNearPairs) || !(cost < least)) continue;
      least = cost;
      best = reach;
    }
    return best < std::numeric_limits<double>::infinity() ? best : 0.0;
  }

  // Where few boxes move, finding the pairs of each takes as long as 50 tests.
  static double among_few(double extent, double growth) {
    const double reach = std::min(0.2 * extent, std::max(2 * std::sqrt(growth * extent), 0.01 * extent));
    return reach >= kFewestUses * growth && reach < std::numeric_limits<double>::infinity() ? reach : 0.0;
  }
};

}  // namespace broadphase
