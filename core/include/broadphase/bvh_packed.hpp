// A tree packed from rows in the order of a curve: every eight in a row share a block, every eight blocks the next one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "broadphase/blocks.hpp"
#include "broadphase/bvh_bounds.hpp"
#include "broadphase/curve_order.hpp"

namespace broadphase {

// The frame in which the boxes of an extent fall into [-1, 1]; see frame_of.
template <class T>
LocalFrame frame_around(const Extent<T>& extent, std::size_t dimension) {
  LocalFrame frame;
  frame.exact = std::is_same_v<T, float>;
  double reach = 0;
  for (std::size_t k = 0; k < dimension; ++k) {
    const double low = static_cast<double>(extent.low[k]), high = static_cast<double>(extent.high[k]);
    if (!(low <= high)) continue;
    if (!frame.exact) frame.origin[k] = low / 2 + high / 2;
    reach = std::max(reach, frame.exact ? std::max(std::fabs(low), std::fabs(high)) : high / 2 - low / 2);
  }
  if (reach > 0) frame.scale = std::ldexp(1.0, -std::clamp(std::ilogb(reach) + 1, -1000, 1000));
  return frame;
}

// Rows to local boxes. In a frame that claims to be exact, watches whether it is: `lossy` then says that a number so
// small came up that floats lose bits of it.
template <class T>
class LocalBoxes {
 public:
  LocalBoxes(const GrownBoxes<T>& boxes, const LocalFrame& frame) : boxes_(boxes), frame_(frame) {}

  void get(std::size_t row, float* box) {
    const std::size_t dimension = boxes_.dimension;
    for (std::size_t k = 0; k < dimension; ++k) {
      const auto lower = static_cast<double>(boxes_.lower(row, k)), upper = static_cast<double>(boxes_.upper(row, k));
      if (frame_.exact) {
        const double low = lower * frame_.scale, high = upper * frame_.scale;
        lossy_ |= loses(low) | loses(high);
        box[k] = static_cast<float>(low);
        box[dimension + k] = static_cast<float>(high);
      } else {
        box[k] = frame_.below(lower, k);
        box[dimension + k] = frame_.above(upper, k);
      }
    }
  }
  bool lossy() const { return lossy_; }

 private:
  static bool loses(double local) {
    const double size = std::fabs(local);
    return ((size < 0x1p-100) & (size > 0)) | ((size > 0x1p100) & (size <= std::numeric_limits<double>::max()));
  }

  const GrownBoxes<T>& boxes_;
  const LocalFrame& frame_;
  bool lossy_ = false;
};

// Blocks of a packed tree of so many rows, level by level: the rows' blocks first, the root last.
struct PackedLevels {
  std::vector<std::size_t> first;  // block of each level; one more: how many there are in all

  explicit PackedLevels(std::size_t rows) : first{0} {
    std::size_t count = rows;
    while (count > 0) {
      count = (count + kLanes - 1) / kLanes;
      first.push_back(first.back() + count);
      if (count == 1) break;
    }
  }
  std::size_t count() const { return first.back(); }
  std::size_t levels() const { return first.size() - 1; }
};

namespace detail {

// What is below a block has been filled in: tells the level above, if there is one.
inline void hang(Blocks& blocks, const PackedLevels& packed, std::size_t level, std::size_t at, const float* box) {
  if (level + 1 == packed.levels()) return;
  const auto block = static_cast<std::int32_t>(packed.first[level] + at);
  const auto parent = static_cast<std::int32_t>(packed.first[level + 1] + at / kLanes);
  blocks.set_lane(parent, at % kLanes, box, block, false);
  blocks.parent(block) = static_cast<std::int32_t>(place_of(parent, at % kLanes));
}

// Fills the rows' blocks [begin, end). False if the frame turned out not to be exact.
template <class T>
bool pack_leaves(BlockTree& tree, const PackedLevels& packed, const GrownBoxes<T>& boxes, const CurveOrder<T>& order,
                 std::uint32_t* places, std::size_t begin, std::size_t end) {
  LocalBoxes<T> local(boxes, tree.frame);
  float box[8];
  for (std::size_t at = begin; at < end; ++at) {
    const auto block = static_cast<std::int32_t>(at);
    Bounds bounds(boxes.dimension);
    const std::size_t first = at * kLanes, count = std::min(order.count() - first, kLanes);
    for (std::size_t lane = 0; lane < count; ++lane) {
      const std::uint32_t row = order.row(first + lane);
      local.get(row, box);
      bounds.add(box);
      tree.blocks.set_lane(block, lane, box, static_cast<std::int32_t>(row), true);
      if (places != nullptr) places[row] = place_of(block, lane);
    }
    hang(tree.blocks, packed, 0, at, bounds.box);
  }
  return !local.lossy();
}

}  // namespace detail

// Replaces the tree by one of the rows in this order. The frame stays; its claim to be exact only if it is true.
// `places`, if not null, receives where each row hangs. Room for all blocks is a precondition: nothing is allocated.
template <class T>
void pack_rows(BlockTree& tree, const GrownBoxes<T>& boxes, const CurveOrder<T>& order, std::uint32_t* places,
               unsigned workers) {
  constexpr std::size_t kPartBlocks = 512;  // a multiple of the lanes: no two parts write to one parent
  const PackedLevels packed(order.count());
  const std::size_t leaves = packed.levels() > 0 ? packed.first[1] : 0;
  Interrupt never;
  std::atomic<bool> exact{true};
  do {
    tree.frame.exact &= exact;
    exact = true;
    tree.blocks.clear();
    for (std::size_t k = 0; k < packed.count(); ++k) tree.blocks.add();
    for_each_task((leaves + kPartBlocks - 1) / kPartBlocks, workers, never, [&](unsigned, std::size_t part) {
      const std::size_t begin = part * kPartBlocks, end = std::min(leaves, begin + kPartBlocks);
      if (!detail::pack_leaves(tree, packed, boxes, order, places, begin, end)) exact = false;
    });
  } while (tree.frame.exact && !exact);
  for (std::size_t level = 1; level < packed.levels(); ++level)
    for (std::size_t at = 0; at < packed.first[level + 1] - packed.first[level]; ++at) {
      const auto block = static_cast<std::int32_t>(packed.first[level] + at);
      detail::hang(tree.blocks, packed, level, at, bounds_of(tree.blocks, block).box);
    }
  tree.root = static_cast<std::int32_t>(packed.count()) - 1;
}

}  // namespace broadphase
