// Better neighbours for what hangs two levels below a block.
//
// After T. Karras, T. Aila, "Fast Parallel Construction of High-Quality Bounding Volume Hierarchies", HPG 2013,
// 10.1145/2492045.2492055: parts of a tree are taken apart and put together again so that less surface is left.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "bvh/edit.hpp"

namespace broadphase {

// Shares the lanes of a block's children out anew among those children. All that hangs there keeps its depth.
class BvhRegroup {
 public:
  BvhRegroup(BlockTree& tree, std::uint32_t* places) : blocks_(tree.blocks), places_(places) {}

  // True if less surface is left; otherwise nothing has changed.
  bool run(std::int32_t block) {
    count_ = children_ = groups_ = 0;
    double before = 0, after = 0;
    for_each_lane(blocks_.occupied(block) & ~blocks_.rows(block), [&](std::size_t lane) {
      lanes_[children_++] = lane;
      const std::int32_t child = blocks_.child(block)[lane];
      float box[8];
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
    float box[8];
    std::int32_t what;
    bool is_row;
  };
  struct Group {
    std::size_t begin, end;
  };
  // Smaller gains are not worth the writing.
  static constexpr double kWorthIt = 0.98;
  static std::size_t needed(std::size_t entries) { return (entries + kLanes - 1) / kLanes; }

  Bounds around(const Group& group) const {
    Bounds bounds(blocks_.dimension());
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
      const float sum = e.box[axis] + e.box[other];
      return sum == sum ? sum : 0.0F;  // of an axis without ends
    };
    std::stable_sort(entries_.begin() + static_cast<std::ptrdiff_t>(begin),
                     entries_.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
  }

  // Cuts the entries into at most `blocks` groups of at most eight, which is possible. At most seven calls deep.
  void share(std::size_t begin, std::size_t end, std::size_t blocks) {
    const std::size_t n = end - begin, dimension = blocks_.dimension();
    if (blocks == 1 || n < 2) {
      group_[groups_++] = {begin, end};
      return;
    }
    float least = 0;
    std::size_t best = 0, best_axis = 0;
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      sort(begin, end, axis);
      std::array<float, kLanes * kLanes> behind;
      Bounds bounds(dimension);
      for (std::size_t at = n; at-- > 1;) {
        bounds.add(entries_[begin + at].box);
        behind[at] = half_area(bounds.box, dimension);
      }
      bounds = Bounds(dimension);
      for (std::size_t at = 1; at < n; ++at) {
        bounds.add(entries_[begin + at - 1].box);
        if (needed(at) + needed(n - at) > blocks) continue;
        const float cost =
            half_area(bounds.box, dimension) * static_cast<float>(at) + behind[at] * static_cast<float>(n - at);
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

}  // namespace broadphase
