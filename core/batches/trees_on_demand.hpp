// Trees of some of the rows of another tree, which are packed once queries have lost enough time without them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/forks.hpp"

namespace broadphase {

// Of each Key, a tree of one version of the rows.
//
// A tree is packed when queries have lost `enough`, which is about as long as that takes: whether many more follow or
// none, they take no more than twice as long as with what turns out to be the better way.
template <class Key, class Tree>
class TreesOnDemand {
 public:
  struct State {
    std::shared_ptr<const Tree> tree;  // null: not known, or of no use
    bool is_decided = false;           // there is a tree, or there will be none
  };

  // What is known of a key in a version. Where the one before had a tree, make() returns that of this one: a world that
  // moves is asked alike in each step.
  template <class Make>
  State get(const Key& key, std::uint64_t version, const Make& make) const {
    if (!has_any_.load(std::memory_order_relaxed)) return {};
    const std::lock_guard<ForkedMutex> lock(mutex_);
    Kept* kept = find(key);
    if (kept == nullptr) return {};
    const bool is_due = kept->version != version && kept->state.tree != nullptr;
    take_up(*kept, version);
    if (is_due) kept->state = {make(), true};
    return kept->state;
  }
  // The same where a tree is only made if queries of this version have lost `enough`.
  template <class Make>
  State get(const Key& key, std::uint64_t version, std::uint64_t enough, const Make& make) const {
    if (!has_any_.load(std::memory_order_relaxed)) return {};
    return add_lost(key, version, 0, enough, make);
  }
  // Adds what queries have lost. If that is `enough` by now, the tree is what make() returns.
  template <class Make>
  State add_lost(const Key& key, std::uint64_t version, std::uint64_t lost, std::uint64_t enough,
                 const Make& make) const {
    const std::lock_guard<ForkedMutex> lock(mutex_);
    Kept* kept = find(key);
    if (kept == nullptr) {
      if (kept_.size() == kMost) kept_.erase(kept_.begin());
      kept = &kept_.emplace_back(Kept{key, version});
      has_any_.store(true, std::memory_order_relaxed);
    }
    take_up(*kept, version);
    kept->lost += lost;
    if (!kept->state.is_decided && kept->lost >= enough) kept->state = {make(), true};
    return kept->state;
  }
  std::size_t bytes() const {
    const std::lock_guard<ForkedMutex> lock(mutex_);
    std::size_t sum = 0;
    for (const Kept& kept : kept_) sum += kept.state.tree != nullptr ? bytes_of(*kept.state.tree) : 0;
    return sum;
  }

 private:
  static constexpr std::size_t kMost = 8;  // the oldest goes first: scenes have few combinations of layers
  struct Kept {
    Key key;
    std::uint64_t version;
    State state{};
    std::uint64_t lost = 0;
  };

  static std::size_t bytes_of(const Tree& tree) {
    if constexpr (requires { tree.bytes(); })
      return tree.bytes();
    else
      return tree.blocks.bytes();
  }
  Kept* find(const Key& key) const {
    for (Kept& kept : kept_)
      if (kept.key == key) return &kept;
    return nullptr;
  }
  static void take_up(Kept& kept, std::uint64_t version) {
    if (kept.version != version) kept = {kept.key, version};
  }

  mutable ForkedMutex mutex_;
  mutable std::vector<Kept> kept_;
  mutable std::atomic<bool> has_any_{false};
  // Another thread may have been changing them when the process was forked.
  AtFork at_fork_{[](void* trees) { ::new (&static_cast<TreesOnDemand*>(trees)->kept_) std::vector<Kept>(); }, this};
};

}  // namespace broadphase
