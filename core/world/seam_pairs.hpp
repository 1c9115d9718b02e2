// The search for pairs across the seams of a periodic world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batches/rows_by_key.hpp"
#include "choose/find.hpp"
#include "query/collect.hpp"
#include "world/seams.hpp"

namespace broadphase {

// Boxes by row, and which pairs of them are wanted; what may be null: all.
struct SeamSearch {
  const double *boxes, *bounds;
  const std::uint8_t* counts;  // 0 for rows that are not looked at
  std::size_t rows;
  const std::uint8_t* changed;  // 0 for rows of which no two make a pair
  const Filter* filter;
  const std::int64_t* keys;
  bool any_width;
  unsigned workers;
};

struct FoundSeams {
  std::int32_t wide_row = -1;  // the first row that reaches out and is wider than the world, if it must not be
  std::vector<std::int32_t> first, second;
  std::vector<double> offsets;  // of D numbers: what brings the second to the image that the first overlaps
};

template <std::size_t D>
FoundSeams find_seams(const SeamSearch& search, const Kernels& kernels, Interrupt& interrupt) {
  const Period<D> period{search.bounds, search.bounds + D};
  const SeamImages<D> images(search.boxes, search.counts, search.rows, period, search.any_width, search.workers);
  FoundSeams found;
  found.wide_row = images.wide_row();
  for (const SeamScene<D>* scene : {&images.across(), &images.from_afar()}) {
    Problem<double> problem;
    const auto boxes_of = [](const MovedBoxes<D>& moved) {
      constexpr auto kStride = static_cast<std::int64_t>(2 * D);
      const double* corners = moved.corners.empty() ? nullptr : moved.corners.front().data();
      return BoxView<double>{corners, corners + D, kStride, kStride, moved.count()};
    };
    problem.first = boxes_of(scene->first);
    problem.second = boxes_of(scene->second);
    problem.dimension = D;
    problem.cross = true;
    Batches batches;
    if (search.keys != nullptr) {
      const auto keys_of = [&](const MovedBoxes<D>& moved) {
        std::vector<std::int64_t> keys;
        for (const std::int32_t row : moved.rows) keys.push_back(search.keys[row]);
        return keys;
      };
      const std::vector<std::int64_t> own = keys_of(scene->first), others = keys_of(scene->second);
      const RowKeys second{others.size(), others.data(), 1};
      batches = batches_of({own.size(), own.data(), 1}, &second, interrupt);
      if (!batches.is_whole) problem.batches = &batches;
    }
    const Pairs close = with_method(MethodName::automatic, problem, {kernels, search.workers, interrupt},
                                    [&](const MethodCalls<double>& calls, const Preparation& with) {
                                      return calls.collect(problem, kNoLimit, with);
                                    });
    for (std::size_t k = 0; k < close.size; ++k) {
      SeamPair<D> pair;
      if (!scene->take(static_cast<std::size_t>(close.block[k]),
                       static_cast<std::size_t>(close.block[close.stride + k]), pair))
        continue;
      const auto first = static_cast<std::size_t>(pair.first), second = static_cast<std::size_t>(pair.second);
      if (search.changed != nullptr && (search.changed[first] | search.changed[second]) == 0) continue;
      if (search.filter != nullptr && !search.filter->allows(first, second)) continue;
      found.first.push_back(pair.first);
      found.second.push_back(pair.second);
      for (std::size_t axis = 0; axis < D; ++axis) found.offsets.push_back(pair.worlds[axis] * period.size(axis));
    }
  }
  return found;
}

}  // namespace broadphase
