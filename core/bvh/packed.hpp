// A tree packed from rows in an order that has neighbours follow each other, by medians or along a curve: every eight
// in a row share a block, every eight blocks the next one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/parallel.hpp"
#include "base/with_dimension.hpp"
#include "boxes/grown_boxes.hpp"
#include "bvh/bounds.hpp"
#include "simd/kernels.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// The frame of the boxes of an extent; that of float32 claims to be exact if it may be.
template <class T>
LocalFrame frame_around(const Extent<T>& extent, std::size_t dimension) {
  double low[4], high[4];
  std::copy_n(extent.low, 4, low);
  std::copy_n(extent.high, 4, high);
  LocalFrame frame = frame_between(low, high, dimension, std::is_same_v<T, float>);
  // The scale is to be a float itself, and no denormal one.
  if (std::abs(std::ilogb(frame.scale)) > 100) frame.exact = false;
  return frame;
}

// Rows to local boxes. In a frame that claims to be exact, watches whether it is: `lossy` then says that a number came
// up of which floats lose bits.
template <class T>
class LocalBoxes {
 public:
  LocalBoxes(const GrownBoxes<T>& boxes, const LocalFrame& frame) : boxes_(boxes), frame_(frame) {}

  template <std::size_t D>
  void get(std::size_t row, float* box) {
    if (frame_.exact) {
      for (std::size_t k = 0; k < D; ++k) {
        box[k] = scaled(boxes_.lower(row, k));
        box[D + k] = scaled(boxes_.upper(row, k));
      }
    } else {
      for (std::size_t k = 0; k < D; ++k) {
        box[k] = frame_.below(static_cast<double>(boxes_.lower(row, k)), k);
        box[D + k] = frame_.above(static_cast<double>(boxes_.upper(row, k)), k);
      }
    }
  }
  void get(std::size_t row, float* box) {
    with_dimension(boxes_.dimension, [&](auto dimension) { get<decltype(dimension)::value>(row, box); });
  }
  bool lossy() const { return lossy_; }

 private:
  float scaled(T given) {
    constexpr float kLeast = 0x1p-100F, kMost = 0x1p100F;
    const auto local = static_cast<float>(static_cast<double>(given) * frame_.scale);
    const float size = std::fabs(local);
    lossy_ |= ((size < kLeast) & (given != 0)) | ((size > kMost) & (std::fabs(given) <= std::numeric_limits<T>::max()));
    return local;
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
template <class T, class Order>
bool pack_leaves(BlockTree& tree, const PackedLevels& packed, const GrownBoxes<T>& boxes, const Order& order,
                 std::uint32_t* places, std::size_t begin, std::size_t end, const Kernels& kernels) {
  constexpr std::size_t kAtATime = 64;
  float bounds[kAtATime][8];
  PackLeaves<T> request{};
  request.boxes = pack_boxes(boxes);
  request.items = order.items();
  request.count = order.count();
  request.blocks = tree.blocks.lower(0, 0);
  request.places = places;
  request.bounds = bounds;
  std::copy_n(tree.frame.origin, 4, request.origin);
  request.scale = tree.frame.scale;
  request.exact = tree.frame.exact;
  bool exact = true;
  for (; begin < end; begin += kAtATime) {
    request.begin = begin;
    request.end = std::min(end, begin + kAtATime);
    if constexpr (std::is_same_v<T, float>)
      exact &= kernels.pack_leaves_f32[boxes.dimension - 1](request);
    else
      exact &= kernels.pack_leaves_f64[boxes.dimension - 1](request);
    for (std::size_t at = begin; at < request.end; ++at) hang(tree.blocks, packed, 0, at, bounds[at - begin]);
  }
  return exact;
}

}  // namespace detail

// Replaces the tree by one of the rows in this order. The frame stays; its claim to be exact only if it is true.
// `places`, if not null, receives where each row hangs. Room for all blocks is a precondition: nothing is allocated.
template <class T, class Order>
void pack_rows(BlockTree& tree, const GrownBoxes<T>& boxes, const Order& order, std::uint32_t* places,
               const Kernels& kernels, unsigned workers) {
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
      if (!detail::pack_leaves(tree, packed, boxes, order, places, begin, end, kernels)) exact = false;
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
