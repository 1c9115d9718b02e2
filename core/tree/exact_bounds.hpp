// The given boxes below each block of a tree, and the least row there: what tells many rows apart whose distances are
// nearly, or exactly, the same. Few trees ever need them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/forks.hpp"
#include "boxes/any_boxes.hpp"

namespace broadphase {

class Blocks;

// Of all rows below a block and the blocks that continue it.
struct ExactBound {
  double box[8];  // lower corner, then upper corner
  std::int32_t least_row;
};

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
  bool are_known() const { return known_.load(std::memory_order_relaxed); }
  // For every change of the tree.
  void forget() { known_.store(false, std::memory_order_relaxed); }

 private:
  void make(const Blocks& blocks, std::int32_t root, const AnyBoxes& rows) const;

  mutable ForkedMutex making_;
  mutable std::atomic<bool> known_{false};
  mutable std::vector<ExactBound> bounds_;
};

}  // namespace broadphase
