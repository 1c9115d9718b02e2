// Changes to a BVH in place: insertion, removal and motion of single rows, refit, and regrouping of nearby blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/memory.hpp"
#include "bvh/bounds.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// ---- Single rows, as in R-trees, with blocks for nodes ----
//
// A. Guttman, "R-trees: a dynamic index structure for spatial searching", SIGMOD 1984, 10.1145/602259.602266.

// Invariants: every lane's box contains everything below it, and is its exact union unless an insertion has only
// extended it; every block but the root has a lane in use and knows its parent; `places` holds the place of each row.
//
// Rows and blocks keep their depth, except when the root is split or has one lane left. A block is split when a ninth
// entry is added, into two of at most six, so another split takes three more blocks below: a root of height h is split
// only after at least 3^h insertions, whatever was removed in between, and kMostLevels is out of reach.
template <class Number>
class BvhEdit {
 public:
  BvhEdit(BlockTree& tree, std::uint32_t* places) : tree_(tree), blocks_(tree.blocks), places_(places) {}

  // To be called before each insertion: room for the blocks that it may need. Throws bad_alloc, and then nothing has
  // changed.
  void make_room() {
    const std::size_t capacity = blocks_.bytes() / (blocks_.layout().words() * sizeof(float));
    if (blocks_.limit() + kMostLevels > capacity) blocks_.reserve(capacity + capacity / 2 + 2 * kMostLevels);
  }

  void insert(std::int32_t row, const Number* box) {
    if (tree_.root == kNoBlock) tree_.root = blocks_.add();
    std::int32_t block = tree_.root;
    while ((blocks_.occupied(block) & ~blocks_.rows(block)) != 0) {
      const std::size_t lane = best_lane(block, box);
      extend(block, lane, box);
      block = blocks_.child(block)[lane];
    }
    add(block, {row, true, bounds(box)});
  }

  void remove(std::int32_t row) {
    const std::uint32_t place = places_[row];
    places_[row] = kNoPlace;
    blocks_.clear_lane(block_of(place), lane_of(place));
    shrink(block_of(place));
  }

  // Sets the box of a row and refits the lanes above. A row that has left the box of its block is removed and inserted.
  void move(std::int32_t row, const Number* box) {
    const std::uint32_t place = places_[row];
    const std::int32_t block = block_of(place);
    if (block != tree_.root && !meets_parent_lane(block, box)) {
      remove(row);
      insert(row, box);
      return;
    }
    blocks_.set_box(block, lane_of(place), box);
    follow(block);
  }

  // Refits all lanes of blocks, bottom-up, and calls use(box) with the new box of each.
  template <class Use>
  void refit(const Use& use) {
    if (tree_.root != kNoBlock) refit(tree_.root, use);
  }

 private:
  struct Entry {
    std::int32_t what;
    bool is_row;
    LocalBounds<Number> around;
  };

  LocalBounds<Number> bounds(const Number* box) const {
    LocalBounds<Number> result(blocks_.dimension());
    result.add(box);
    return result;
  }

  void put(std::int32_t block, std::size_t lane, const Entry& entry) {
    blocks_.set_lane(block, lane, entry.around.box, entry.what, entry.is_row);
    if (entry.is_row)
      places_[entry.what] = place_of(block, lane);
    else
      blocks_.parent(entry.what) = static_cast<std::int32_t>(place_of(block, lane));
  }
  Entry take(std::int32_t block, std::size_t lane) const {
    Number box[8];
    blocks_.get_box(block, lane, box);
    return {blocks_.child(block)[lane], (blocks_.rows(block) >> lane & 1) != 0, bounds(box)};
  }

  // The child block whose half-area grows least; of several, the smallest.
  std::size_t best_lane(std::int32_t block, const Number* box) const {
    const std::size_t dimension = blocks_.dimension();
    std::size_t best = 0;
    Number least_growth = 0, least_area = -1;
    for_each_lane(blocks_.occupied(block) & ~blocks_.rows(block), [&](std::size_t lane) {
      LocalBounds<Number> around(dimension);
      blocks_.get_box(block, lane, around.box);
      const Number area = half_area(around.box, dimension);
      around.add(box);
      const Number growth = half_area(around.box, dimension) - area;
      if (least_area >= 0 && !(growth < least_growth || (growth == least_growth && area < least_area))) return;
      best = lane;
      least_growth = growth;
      least_area = area;
    });
    return best;
  }

  void extend(std::int32_t block, std::size_t lane, const Number* box) {
    LocalBounds<Number> around(blocks_.dimension());
    blocks_.get_box(block, lane, around.box);
    around.add(box);
    blocks_.set_box(block, lane, around.box);
  }

  // Adds an entry to a block, splitting it if it is full. The lanes above already contain the entry.
  void add(std::int32_t block, Entry entry) {
    for (;;) {
      const auto free = ~static_cast<std::uint32_t>(blocks_.occupied(block)) & 0xffu;
      if (free != 0) {
        put(block, static_cast<std::size_t>(std::countr_zero(free)), entry);
        return;
      }
      const Entry other = split(block, entry);
      if (block == tree_.root) {
        tree_.root = blocks_.add();
        put(tree_.root, 0, {block, false, bounds_of<Number>(blocks_, block)});
        put(tree_.root, 1, other);
        return;
      }
      const auto place = static_cast<std::uint32_t>(blocks_.parent(block));
      put(block_of(place), lane_of(place), {block, false, bounds_of<Number>(blocks_, block)});
      block = block_of(place);
      entry = other;
    }
  }

  // Splits nine entries between the block and another one, so that the sum of the half-areas, weighted by the number of
  // entries, is least along the best axis. Returns the entry of the other block.
  Entry split(std::int32_t block, const Entry& ninth) {
    constexpr std::size_t kCount = kLanes + 1, kLeast = 3;
    const std::size_t dimension = blocks_.dimension();
    Entry entries[kCount] = {ninth, ninth, ninth, ninth, ninth, ninth, ninth, ninth, ninth};
    for (std::size_t lane = 0; lane < kLanes; ++lane) entries[lane] = take(block, lane);
    std::size_t order[kCount], best_order[kCount], best_count = kLeast;
    Number least = 0;
    for (std::size_t k = 0; k < dimension; ++k) {
      Number centre[kCount], behind[kCount];
      for (std::size_t e = 0; e < kCount; ++e) {
        order[e] = e;
        const Number* box = entries[e].around.box;
        const Number middle = box[k] + box[dimension + k];
        centre[e] = middle == middle ? middle : Number(0);  // of an axis that is infinite both ways
      }
      std::stable_sort(order, order + kCount, [&](std::size_t a, std::size_t b) { return centre[a] < centre[b]; });
      LocalBounds<Number> around(dimension);
      for (std::size_t e = kCount; e-- > kLeast;) {
        around.add(entries[order[e]].around.box);
        behind[e] = half_area(around.box, dimension);
      }
      around = LocalBounds<Number>(dimension);
      for (std::size_t e = 0; e <= kCount - kLeast; ++e) {
        const Number cost = e < kLeast ? Number(0)
                                       : half_area(around.box, dimension) * static_cast<Number>(e) +
                                             behind[e] * static_cast<Number>(kCount - e);
        around.add(entries[order[e]].around.box);
        if (e < kLeast || (!(cost < least) && (k > 0 || e > kLeast))) continue;
        least = cost;
        best_count = e;
        std::copy_n(order, kCount, best_order);
      }
    }
    const std::int32_t other = blocks_.add();
    blocks_.occupied(block) = blocks_.rows(block) = 0;
    for (std::size_t e = 0; e < kCount; ++e)
      if (e < best_count)
        put(block, e, entries[best_order[e]]);
      else
        put(other, e - best_count, entries[best_order[e]]);
    return {other, false, bounds_of<Number>(blocks_, other)};
  }

  bool meets_parent_lane(std::int32_t block, const Number* box) const {
    const auto place = static_cast<std::uint32_t>(blocks_.parent(block));
    Number lane[8];
    blocks_.get_box(block_of(place), lane_of(place), lane);
    for (std::size_t k = 0; k < blocks_.dimension(); ++k)
      if (!(lane[k] <= box[blocks_.dimension() + k] && box[k] <= lane[blocks_.dimension() + k])) return false;
    return true;
  }

  // Refits the lanes above a block, up to the first one that does not change.
  void follow(std::int32_t block) {
    while (block != tree_.root) {
      const auto place = static_cast<std::uint32_t>(blocks_.parent(block));
      const LocalBounds<Number> around = bounds_of<Number>(blocks_, block);
      block = block_of(place);
      Number box[8];
      blocks_.get_box(block, lane_of(place), box);
      if (std::equal(box, box + 2 * blocks_.dimension(), around.box)) return;
      blocks_.set_box(block, lane_of(place), around.box);
    }
  }

  // After a lane of the block was cleared.
  void shrink(std::int32_t block) {
    while (block != tree_.root) {
      const auto place = static_cast<std::uint32_t>(blocks_.parent(block));
      if (blocks_.occupied(block) != 0 && !merged(block)) {
        follow(block);
        break;
      }
      blocks_.clear_lane(block_of(place), lane_of(place));
      blocks_.release(block);
      block = block_of(place);
    }
    while (blocks_.occupied(tree_.root) == 0 || is_only_child_a_block()) {
      const std::int32_t old = tree_.root;
      const std::int32_t occupied = blocks_.occupied(old);
      tree_.root = occupied == 0 ? kNoBlock : blocks_.child(old)[std::countr_zero(static_cast<unsigned>(occupied))];
      blocks_.release(old);
      if (tree_.root == kNoBlock) return;
      blocks_.parent(tree_.root) = static_cast<std::int32_t>(kNoPlace);
    }
  }
  bool is_only_child_a_block() const { return blocks_.lanes_in_use(tree_.root) == 1 && blocks_.rows(tree_.root) == 0; }

  // Merges a block of few entries into a sibling with room: true, and the block is empty.
  bool merged(std::int32_t block) {
    constexpr std::size_t kFew = 3;
    const std::size_t own = blocks_.lanes_in_use(block);
    if (own > kFew) return false;
    const auto place = static_cast<std::uint32_t>(blocks_.parent(block));
    const std::int32_t parent = block_of(place);
    const LocalBounds<Number> around = bounds_of<Number>(blocks_, block);
    const std::size_t dimension = blocks_.dimension();
    std::int32_t best = kNoBlock;
    std::size_t best_lane = 0;
    Number least = 0;
    for_each_lane(blocks_.occupied(parent) & ~blocks_.rows(parent), [&](std::size_t lane) {
      const std::int32_t beside = blocks_.child(parent)[lane];
      if (beside == block || blocks_.lanes_in_use(beside) + own > kLanes) return;
      LocalBounds<Number> together(dimension);
      blocks_.get_box(parent, lane, together.box);
      const Number before = half_area(together.box, dimension);
      together.add(around.box);
      const Number growth = half_area(together.box, dimension) - before;
      if (best != kNoBlock && !(growth < least)) return;
      best = beside;
      best_lane = lane;
      least = growth;
    });
    if (best == kNoBlock) return false;
    for_each_lane(blocks_.occupied(block), [&](std::size_t lane) {
      const auto free = ~static_cast<std::uint32_t>(blocks_.occupied(best)) & 0xffu;
      put(best, static_cast<std::size_t>(std::countr_zero(free)), take(block, lane));
    });
    extend(parent, best_lane, around.box);
    blocks_.occupied(block) = blocks_.rows(block) = 0;
    return true;
  }

  // No deeper than kMostLevels.
  template <class Use>
  LocalBounds<Number> refit(std::int32_t block, const Use& use) {
    for_each_lane(blocks_.occupied(block) & ~blocks_.rows(block), [&](std::size_t lane) {
      const LocalBounds<Number> around = refit(blocks_.child(block)[lane], use);
      use(around.box);
      blocks_.set_box(block, lane, around.box);
    });
    return bounds_of<Number>(blocks_, block);
  }

  BlockTree& tree_;
  Blocks& blocks_;
  std::uint32_t* places_;
};

// ---- Regrouping the grandchildren of a block ----
//
// After T. Karras, T. Aila, "Fast Parallel Construction of High-Quality Bounding Volume Hierarchies", HPG 2013,
// 10.1145/2492045.2492055: treelets are taken apart and rebuilt with less total surface area.

// Redistributes the grandchildren of a block among its children. Every row keeps its depth.
template <class Number>
class BvhRegroup {
 public:
  BvhRegroup(BlockTree& tree, std::uint32_t* places) : blocks_(tree.blocks), places_(places) {}

  // True if the total surface area shrinks; otherwise nothing has changed.
  bool run(std::int32_t block) {
    count_ = children_ = groups_ = 0;
    double before = 0, after = 0;
    for_each_lane(blocks_.occupied(block) & ~blocks_.rows(block), [&](std::size_t lane) {
      lanes_[children_++] = lane;
      const std::int32_t child = blocks_.child(block)[lane];
      Number box[8];
      blocks_.get_box(block, lane, box);
      before += half_area(box, blocks_.dimension());
      for_each_lane(blocks_.occupied(child), [&](std::size_t below) {
        Entry& entry = entries_[count_++];
        blocks_.get_box(child, below, entry.box);
        entry.what = blocks_.child(child)[below];
        entry.is_row = (blocks_.rows(child) >> below & 1) != 0;
      });
    });
    if (children_ < 2) return false;
    share(0, count_, children_);
    for (std::size_t g = 0; g < groups_; ++g) after += half_area(around(group_[g]).box, blocks_.dimension());
    if (!(after < kWorthIt * before)) return false;
    for (std::size_t g = 0; g < children_; ++g) {
      const std::int32_t child = blocks_.child(block)[lanes_[g]];
      blocks_.occupied(child) = blocks_.rows(child) = 0;
      if (g >= groups_) {
        blocks_.clear_lane(block, lanes_[g]);
        blocks_.release(child);
        continue;
      }
      for (std::size_t at = group_[g].begin; at < group_[g].end; ++at) put(child, at - group_[g].begin, entries_[at]);
      blocks_.set_box(block, lanes_[g], around(group_[g]).box);
    }
    return true;
  }

 private:
  struct Entry {
    Number box[8];
    std::int32_t what;
    bool is_row;
  };
  struct Group {
    std::size_t begin, end;
  };
  // Smaller gains do not pay for the writing.
  static constexpr double kWorthIt = 0.98;
  static std::size_t needed(std::size_t entries) { return (entries + kLanes - 1) / kLanes; }

  LocalBounds<Number> around(const Group& group) const {
    LocalBounds<Number> bounds(blocks_.dimension());
    for (std::size_t at = group.begin; at < group.end; ++at) bounds.add(entries_[at].box);
    return bounds;
  }
  void put(std::int32_t block, std::size_t lane, const Entry& entry) {
    blocks_.set_lane(block, lane, entry.box, entry.what, entry.is_row);
    if (entry.is_row)
      places_[entry.what] = place_of(block, lane);
    else
      blocks_.parent(entry.what) = static_cast<std::int32_t>(place_of(block, lane));
  }
  void sort(std::size_t begin, std::size_t end, std::size_t axis) {
    const std::size_t other = blocks_.dimension() + axis;
    const auto key = [=](const Entry& e) {
      const Number sum = e.box[axis] + e.box[other];
      return sum == sum ? sum : Number(0);  // of an axis that is infinite both ways
    };
    std::stable_sort(entries_.begin() + static_cast<std::ptrdiff_t>(begin),
                     entries_.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
  }

  // Splits the entries into at most `blocks` groups of at most eight. Recursion: at most seven calls.
  void share(std::size_t begin, std::size_t end, std::size_t blocks) {
    const std::size_t n = end - begin, dimension = blocks_.dimension();
    if (blocks == 1 || n < 2) {
      group_[groups_++] = {begin, end};
      return;
    }
    Number least = 0;
    std::size_t best = 0, best_axis = 0;
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      sort(begin, end, axis);
      std::array<Number, kLanes * kLanes> behind;
      LocalBounds<Number> bounds(dimension);
      for (std::size_t at = n; at-- > 1;) {
        bounds.add(entries_[begin + at].box);
        behind[at] = half_area(bounds.box, dimension);
      }
      bounds = LocalBounds<Number>(dimension);
      for (std::size_t at = 1; at < n; ++at) {
        bounds.add(entries_[begin + at - 1].box);
        if (needed(at) + needed(n - at) > blocks) continue;
        const Number cost =
            half_area(bounds.box, dimension) * static_cast<Number>(at) + behind[at] * static_cast<Number>(n - at);
        if (best > 0 && !(cost < least)) continue;
        least = cost;
        best = at;
        best_axis = axis;
      }
    }
    sort(begin, end, best_axis);
    const std::size_t left = std::clamp((blocks * best + n / 2) / n, needed(best), blocks - needed(n - best));
    share(begin, begin + best, left);
    share(begin + best, end, blocks - left);
  }

  Blocks& blocks_;
  std::uint32_t* places_;
  std::array<Entry, kLanes * kLanes> entries_;
  std::array<Group, kLanes> group_;
  std::array<std::size_t, kLanes> lanes_;
  std::size_t count_ = 0, children_ = 0, groups_ = 0;
};

// Compiled once: bvh.cpp.
extern template class BvhEdit<float>;
extern template class BvhEdit<double>;

}  // namespace broadphase
