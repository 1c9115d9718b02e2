// The given boxes below each block of a tree, and the least row there: what tells many rows apart whose distances are
// nearly, or exactly, the same. Few trees ever need them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/forks.hpp"
#include "boxes/any_boxes.hpp"
#include "tree/walks.hpp"

namespace broadphase {

class Blocks;

// Computed by the first thread that needs them, and kept until the tree changes.
class ExactBounds {
 public:
  // One for each block by number; those of blocks not in use mean nothing. O(rows) the first time. Throws bad_alloc.
  const ExactBound* get(const Blocks& blocks, std::int32_t root, const AnyBoxes& rows) const {
    if (!known_.load(std::memory_order_acquire)) {
      const std::lock_guard<ForkedMutex> lock(making_);
      if (!known_.load(std::memory_order_relaxed)) {
        make(blocks, root, rows);
        known_.store(true, std::memory_order_release);
      }
    }
    return bounds_.data();
  }
  std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }
  bool are_known() const { return known_.load(std::memory_order_relaxed); }
  // Rows that were looked at only because they tie with others: so many are worth the time to compute them.
  void note_ties(std::uint64_t rows) const { ties_.fetch_add(rows, std::memory_order_relaxed); }
  std::uint64_t ties_until_due(std::size_t blocks) const {
    constexpr std::uint64_t kFew = 512;
    const std::uint64_t enough = kFew + 2 * blocks, noted = ties_.load(std::memory_order_relaxed);
    return noted < enough ? enough - noted : 0;
  }
  // For every change of the tree, which is counted.
  void forget() {
    changes_.store(changes() + 1, std::memory_order_relaxed);
    known_.store(false, std::memory_order_relaxed);
    ties_.store(0, std::memory_order_relaxed);
  }

 private:
  void make(const Blocks& blocks, std::int32_t root, const AnyBoxes& rows) const;

  mutable ForkedMutex making_;
  mutable std::atomic<bool> known_{false};
  mutable std::atomic<std::uint64_t> ties_{0};
  std::atomic<std::uint64_t> changes_{0};
  mutable std::vector<ExactBound> bounds_;
};

}  // namespace broadphase
