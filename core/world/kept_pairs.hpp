// Pairs that several steps test, and of which it is known whether they touched after the last one.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/parallel.hpp"
#include "narrow/batch.hpp"
#include "world/touching.hpp"

namespace broadphase {

// All pairs that can have begun to touch, or stopped. Flags: which touched before; where to write which touch now.
struct KeptPairs {
  ShapePairs pairs;
  const std::uint8_t* before;
  std::uint8_t* now;
};

namespace detail {

// Those of a stretch of pairs that began to touch, and those that ended.
struct Differences {
  Pairs began, ended;

  void add(const KeptPairs& kept, std::size_t begin, std::size_t end) {
    constexpr std::size_t kTogether = 8;
    for (std::size_t k = begin; k < end; ++k) {
      if (k + kTogether <= end && std::memcmp(kept.before + k, kept.now + k, kTogether) == 0) {
        k += kTogether - 1;
        continue;
      }
      if (kept.before[k] == kept.now[k]) continue;
      push(kept.now[k] != 0 ? began : ended, kept.pairs.first[k], kept.pairs.second[k]);
    }
  }
};

}  // namespace detail

// As `next_touching`, where nothing else can have begun or ended. Nothing is looked up but what has: in the few steps
// for which a search serves, that is a fiftieth of what touches. With the sizes of a periodic world, pairs may touch in
// the image where they are nearest. Precondition: no shape is a hull or a mesh. Pairs may be there twice.
template <std::size_t D>
TouchingStep next_touching_of_kept(const ShapeStore& shapes, const KeptPairs& kept, const double* boxes,
                                   const double* period, const TouchingPairs& last, std::size_t rows, unsigned workers,
                                   std::size_t pairs_a_task = 8192) {
  const std::size_t count = kept.pairs.count, tasks = (count + pairs_a_task - 1) / pairs_a_task;
  const PairBoxes around{boxes, boxes};
  struct Scratch {
    PlainArray<std::int32_t> touching;  // pairs, which nobody reads
    OtherPairs others;
  };
  std::vector<Scratch> scratch(std::max(1u, workers));
  std::vector<detail::Differences> found(tasks);
  Interrupt none;
  for_each_task(tasks, tasks < detail::kTasksWorthThreads ? 1 : workers, none, [&](unsigned worker, std::size_t task) {
    const std::size_t begin = task * pairs_a_task, size = std::min(pairs_a_task, count - begin);
    const ShapePairs part{kept.pairs.first + begin, kept.pairs.second + begin, nullptr, size};
    Scratch& own = scratch[worker];
    own.touching.grow(2 * pairs_a_task);
    own.others.far.clear();
    own.others.limit = squared_half<D>(period);
    keep_touching<D>(shapes, part, around, own.touching.get(), own.touching.get() + pairs_a_task, own.others,
                     kept.now + begin);
    assert(own.others.unknown.empty());
    if (!own.others.far.empty()) {
      const NearestImages<D> images(part, own.others.far, boxes, period);
      for (const std::size_t k : keep_touching_images<D>(shapes, images.pairs(), around).touching)
        kept.now[begin + own.others.far[k]] = 1;
    }
    found[task].add(kept, begin, begin + size);
  });

  TouchingStep step;
  for (detail::Differences& some : found) {
    append(step.began, std::move(some.began));
    append(step.ended, std::move(some.ended));
  }
  if (step.began.size + step.ended.size == 0) {
    step.same = true;
    return step;
  }
  for_each_task(2, workers, none, [&](unsigned, std::size_t which) {
    Interrupt alone;  // this may not be the calling thread
    Pairs& pairs = which == 0 ? step.began : step.ended;
    if (pairs.size > 0) sort_pairs(pairs, rows, 1, alone);
    if (pairs.size > 0) detail::make_unique(pairs);
  });
  std::vector<std::size_t> ended_at(step.ended.size);
  for (std::size_t k = 0; k < step.ended.size; ++k)
    ended_at[k] = detail::find_pair(last, step.ended.block[k], step.ended.block[step.ended.stride + k]);
  detail::merge(last, ended_at, rows, workers, 4096, step);
  return step;
}

}  // namespace broadphase
