// An octree that is brought up to date when somebody asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "octree/arrangement.hpp"

namespace broadphase {

// Rows that come, move or go are only put in a queue, each once. `settle` then looks at what has become of them: a
// thousand rows that came one by one cost one build, and a row that came and went costs nothing.
class PendingOctree : public OctreeArrangement {
 public:
  using OctreeArrangement::OctreeArrangement;

  // The rows that live from now on, and no others.
  void replace(std::size_t row_limit, const std::int32_t* rows, std::size_t count) {
    std::vector<std::uint8_t> state(row_limit, 0);
    for (std::size_t k = 0; k < count; ++k) state[static_cast<std::size_t>(rows[k])] = kAlive;
    state_.swap(state);
    queue_.clear();
    alive_ = count;
    needs_build_ = true;
  }
  // Rows that came, or moved.
  void put(std::size_t row_limit, const std::int32_t* rows, std::size_t count) {
    if (row_limit > state_.size()) state_.resize(row_limit, 0);
    enqueue(rows, count, true);
  }
  void remove(const std::int32_t* rows, std::size_t count) { enqueue(rows, count, false); }

  std::size_t alive() const { return alive_; }
  std::size_t pending() const { return needs_build_ ? alive_ : queue_.size(); }
  bool needs_build() const { return needs_build_; }
  bool is_settled() const { return !needs_build_ && queue_.empty(); }
  std::uint64_t builds() const { return builds_; }
  std::uint64_t updates() const { return updates_; }

  // If this throws, the next call builds anew.
  template <class T>
  void settle(const BoxView<T>& boxes, Interrupt& interrupt) {
    if (is_settled()) return;
    if (!needs_build_)
      with_dimension(blocks().dimension(), [&]<std::size_t D>(Dimension<D>) { update<D>(boxes, interrupt); });
    if (needs_build_) build_all(boxes, interrupt);
    queue_.clear();
  }

 private:
  static constexpr std::uint8_t kAlive = 1, kQueued = 2;

  std::uint8_t& state(std::int32_t row) { return state_[static_cast<std::size_t>(row)]; }

  void enqueue(const std::int32_t* rows, std::size_t count, bool is_alive) {
    if (!needs_build_) queue_.reserve(queue_.size() + count);
    for (std::size_t k = 0; k < count; ++k) {
      std::uint8_t& of_row = state(rows[k]);
      alive_ += static_cast<std::size_t>(is_alive) - (of_row & kAlive);
      if ((of_row & kQueued) == 0 && !needs_build_) {
        queue_.push_back(rows[k]);
        of_row |= kQueued;
      }
      of_row = static_cast<std::uint8_t>(is_alive ? of_row | kAlive : of_row & ~kAlive);
    }
  }

  template <class T>
  void build_all(const BoxView<T>& boxes, Interrupt& interrupt) {
    needs_build_ = true;
    std::vector<std::int32_t> rows;
    rows.reserve(alive_);
    for (std::size_t row = 0; row < state_.size(); ++row) {
      state_[row] &= kAlive;
      if (state_[row] != 0) rows.push_back(static_cast<std::int32_t>(row));
    }
    build(boxes, rows.data(), rows.size(), interrupt);
    needs_build_ = false;
    ++builds_;
  }

  template <std::size_t D, class T>
  void update(const BoxView<T>& boxes, Interrupt& interrupt) {
    std::vector<std::int32_t> moved, come;
    needs_build_ = true;  // unless all of this comes to its end
    make_room(state_.size());
    for (const std::int32_t row : queue_) {
      state(row) &= kAlive;
      const bool is_alive = state(row) != 0;
      if (has(row) && !is_alive)
        remove_row(row);
      else if (is_alive)
        (has(row) ? moved : come).push_back(row);
    }
    // So many come that cells fitted to them are worth a build.
    if (come.size() > alive_ / 2) return;
    needs_build_ = false;
    try {
      for (std::size_t k = 0; k < moved.size() && !needs_build_; ++k) {
        move<D>(boxes, moved[k]);
        if (k % kStretch == 0) interrupt.check();
      }
      for (std::size_t k = 0; k < come.size() && !needs_build_; ++k) {
        insert<D>(boxes, come[k]);
        if (k % kStretch == 0) interrupt.check();
      }
      if (needs_build_) return;
      clean();
      age();
    } catch (...) {
      needs_build_ = true;
      throw;
    }
    ++updates_;
  }

  std::vector<std::uint8_t> state_;  // of each row
  std::vector<std::int32_t> queue_;
  std::size_t alive_ = 0;
  std::uint64_t builds_ = 0, updates_ = 0;
};

}  // namespace broadphase
