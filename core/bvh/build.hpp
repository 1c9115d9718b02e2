// Building a tree of blocks: packed from sorted rows (fast), or split top-down by the surface-area heuristic.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/with_dimension.hpp"
#include "boxes/grown_boxes.hpp"
#include "bvh/bounds.hpp"
#include "simd/kernels.hpp"
#include "tree/blocks.hpp"
#include "tree/curve_order.hpp"
#include "tree/median_order.hpp"
#include "tree/point_order.hpp"
#include "tree/rank_order.hpp"

namespace broadphase {

// ---- Packed trees ----
//
// Rows are sorted so that neighbours in the order are neighbours in space (median_order.hpp, curve_order.hpp). Every
// eight consecutive rows share a block, every eight consecutive blocks share a parent.

// The frame of where most boxes are; for float32 it is exact where possible.
template <class T>
LocalFrame frame_around(const Extent<T>& bulk, std::size_t dimension) {
  double low[4], high[4];
  std::copy_n(bulk.low, 4, low);
  std::copy_n(bulk.high, 4, high);
  LocalFrame frame = frame_between(low, high, dimension, std::is_same_v<T, float>);
  // The scale must be a normal float, too.
  if (std::abs(std::ilogb(frame.scale)) > 100) frame.exact = false;
  return frame;
}

// Converts rows to boxes as lanes hold them. In a frame that is supposed to be exact, `lossy` becomes true as soon as a
// number loses bits as a float.
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
  // For a wide tree.
  void get(std::size_t row, double* box) {
    for (std::size_t k = 0; k < boxes_.dimension; ++k) {
      box[k] = static_cast<double>(boxes_.lower(row, k));
      box[boxes_.dimension + k] = static_cast<double>(boxes_.upper(row, k));
    }
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

// Numbers of the blocks of a packed tree, level by level: the blocks of rows first, the root last.
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

inline void make_empty(Blocks& blocks, std::size_t begin, std::size_t end) {
  for (std::size_t block = begin; block < end; ++block) blocks.make_empty(static_cast<std::int32_t>(block));
}

// Enters a finished block into its parent, if there is one.
template <class Number>
void hang(Blocks& blocks, const PackedLevels& packed, std::size_t level, std::size_t at, const Number* box) {
  if (level + 1 == packed.levels()) return;
  const auto block = static_cast<std::int32_t>(packed.first[level] + at);
  const auto parent = static_cast<std::int32_t>(packed.first[level + 1] + at / kLanes);
  blocks.set_lane(parent, at % kLanes, box, block, false);
  blocks.parent(block) = static_cast<std::int32_t>(place_of(parent, at % kLanes));
}

// Fills blocks [begin, end) of rows. False if the frame is not exact for these rows.
template <class T>
bool pack_leaves(BlockTree& tree, const PackedLevels& packed, const GrownBoxes<T>& boxes, std::span<const RowKey> items,
                 std::uint32_t* places, std::size_t begin, std::size_t end, const Kernels& kernels) {
  constexpr std::size_t kAtATime = 64;
  float bounds[kAtATime][8];
  PackLeaves<T> request{};
  request.boxes = pack_boxes(boxes);
  request.items = items.data();
  request.count = items.size();
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
    exact &= kernels.eight->of<T>().pack_leaves[boxes.dimension - 1](request);
    for (std::size_t at = begin; at < request.end; ++at) hang(tree.blocks, packed, 0, at, bounds[at - begin]);
  }
  return exact;
}

// The same in a wide tree.
template <class T>
void pack_wide_leaves(BlockTree& tree, const PackedLevels& packed, const GrownBoxes<T>& boxes,
                      std::span<const RowKey> items, std::uint32_t* places, std::size_t begin, std::size_t end) {
  with_dimension(boxes.dimension, [&](auto dimension) {
    constexpr std::size_t D = decltype(dimension)::value;
    for (std::size_t at = begin; at < end; ++at) {
      const auto block = static_cast<std::int32_t>(at);
      const std::size_t first = at * kLanes, count = std::min(kLanes, items.size() - first);
      double around[2 * D];
      std::fill_n(around, D, HUGE_VAL);
      std::fill_n(around + D, D, -HUGE_VAL);
      for (std::size_t lane = 0; lane < count; ++lane) {
        const std::uint32_t row = items[first + lane].row;
        double box[2 * D];
        for (std::size_t k = 0; k < D; ++k) {
          box[k] = static_cast<double>(boxes.lower(row, k));
          box[D + k] = static_cast<double>(boxes.upper(row, k));
          around[k] = box[k] < around[k] ? box[k] : around[k];
          around[D + k] = box[D + k] > around[D + k] ? box[D + k] : around[D + k];
        }
        tree.blocks.set_lane(block, lane, box, static_cast<std::int32_t>(row), true);
        if (places != nullptr) places[row] = static_cast<std::uint32_t>(first + lane);
      }
      hang(tree.blocks, packed, 0, at, around);
    }
  });
}

}  // namespace detail

// Replaces the tree by a packed tree of the rows in this order. The frame stays; it stays exact only if it is exact for
// all rows. `places`, if not null, receives the place of each row. `packed` is that of the rows, and the tree has room
// for its blocks: nothing is allocated, so nothing can fail.
template <class T>
void pack_rows(BlockTree& tree, const PackedLevels& packed, const GrownBoxes<T>& boxes, std::span<const RowKey> items,
               std::uint32_t* places, const Kernels& kernels, unsigned workers) {
  Interrupt never;
  // Calls use(begin, end) for parts of a level. Before that, the blocks above them are made empty.
  const auto in_parts = [&](std::size_t level, const auto& use) {
    constexpr std::size_t kPartBlocks = 512;  // a multiple of the lanes: no two parts write to the same parent
    const std::size_t count = level < packed.levels() ? packed.first[level + 1] - packed.first[level] : 0;
    for_each_task((count + kPartBlocks - 1) / kPartBlocks, workers, never, [&](unsigned, std::size_t part) {
      const std::size_t begin = part * kPartBlocks, end = std::min(count, begin + kPartBlocks);
      if (level + 1 < packed.levels())
        detail::make_empty(tree.blocks, packed.first[level + 1] + begin / kLanes,
                           packed.first[level + 1] + (end + kLanes - 1) / kLanes);
      use(begin, end);
    });
  };
  std::atomic<bool> exact{true};
  tree.exact_bounds.forget();
  do {
    tree.frame.exact &= exact;
    exact = true;
    tree.blocks.restart(packed.count());
    in_parts(0, [&](std::size_t begin, std::size_t end) {
      detail::make_empty(tree.blocks, begin, end);
      if (tree.is_wide())
        detail::pack_wide_leaves(tree, packed, boxes, items, places, begin, end);
      else if (!detail::pack_leaves(tree, packed, boxes, items, places, begin, end, kernels))
        exact = false;
    });
  } while (tree.frame.exact && !exact);
  tree.with_numbers([&](auto number) {
    for (std::size_t level = 1; level < packed.levels(); ++level)
      in_parts(level, [&](std::size_t begin, std::size_t end) {
        for (std::size_t at = begin; at < end; ++at) {
          const auto block = static_cast<std::int32_t>(packed.first[level] + at);
          detail::hang(tree.blocks, packed, level, at, bounds_of<decltype(number)>(tree.blocks, block).box);
        }
      });
  });
  tree.root = static_cast<std::int32_t>(packed.count()) - 1;
}

// Packs trees; keeps its scratch memory for the next one. CurveOrder sorts faster; queries on trees in MedianOrder
// visit half as many blocks. Where either would fail, rows are packed in RankOrder; points, in PointOrder.
template <class T, class Order = CurveOrder<T>>
class TreePacker {
 public:
  // `rows` null: all rows. Throws bad_alloc or Interrupted, and then the tree is unchanged.
  void pack(BlockTree& tree, const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count,
            std::uint32_t* places, const Kernels& kernels, unsigned workers, Interrupt& interrupt);
  void pack_wide(BlockTree& tree, const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count,
                 std::uint32_t* places, const Kernels& kernels, unsigned workers, Interrupt& interrupt);
  // Packs a tree that shares the frame of another one.
  void pack_like(const BlockTree& other, BlockTree& tree, const GrownBoxes<T>& boxes, const std::int32_t* rows,
                 std::size_t count, const Kernels& kernels, unsigned workers, Interrupt& interrupt);
  // Where most boxes of the last call to pack() are.
  const Extent<T>& bulk() const { return bulk_; }
  // The rows of the last call in order.
  const RowKey* items() const { return items_; }

 private:
  static std::size_t row_at(const std::int32_t* rows, std::size_t at) {
    return rows != nullptr ? static_cast<std::size_t>(rows[at]) : at;
  }
  // Of many rows, a few often show that they are blurred without sorting all: their neighbors are no farther apart than
  // those among the few.
  bool sample_is_blurred(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count,
                         const Kernels& kernels, Interrupt& interrupt) {
    constexpr std::size_t kMany = 4096, kMost = BlurSample<T>::kGroups * kLanes;
    if (count < kMany || std::is_same_v<T, float>) return false;
    // More than one in 64 would take a notable part of the time to sort them all.
    const StratifiedSample sample(count, std::min(kMost, count / 64 / kLanes * kLanes));
    std::int32_t few[kMost] = {};
    for (std::size_t k = 0; k < sample.size(); ++k) few[k] = static_cast<std::int32_t>(row_at(rows, sample[k]));
    order_.sort(boxes, few, sample.size(), kernels, 1, interrupt);
    BlurSample<T> blur(order_.bulk(), boxes);
    for (std::size_t k = 0; k < sample.size(); ++k) few[k] = static_cast<std::int32_t>(order_.items()[k].row);
    for (std::size_t at = 0; at < sample.size(); at += kLanes) blur.look(few + at, kLanes);
    return blur.is_blurred(sample.size());
  }
  bool is_blurred(const GrownBoxes<T>& boxes, std::size_t count) const {
    return broadphase::is_blurred(bulk_, boxes, count, [this](std::size_t at) { return items_[at].row; });
  }

  // Sorts rows that floats do not tell apart.
  void sort_finely(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count, const Kernels& kernels,
                   unsigned workers, Interrupt& interrupt) {
    if (are_points(boxes, rows, count)) {
      points_.sort(boxes, rows, count, workers, interrupt);
      items_ = points_.items();
    } else {
      ranks_.sort(boxes, rows, count, kernels, workers, interrupt);
      items_ = ranks_.items();
    }
  }

  // Puts rows with equal boxes, which are neighbors in the order, in the order of their numbers: those that come first
  // where boxes tie are then below few blocks.
  void sort_equal(const GrownBoxes<T>& boxes, std::size_t count) {
    constexpr std::size_t kSample = 64;
    const auto are_equal = [&](std::size_t a, std::size_t b) {
      bool equal = true;
      for (std::size_t k = 0; k < boxes.dimension; ++k)
        equal = equal && boxes.lower(items_[a].row, k) == boxes.lower(items_[b].row, k) &&
                boxes.upper(items_[a].row, k) == boxes.upper(items_[b].row, k);
      return equal;
    };
    const StratifiedSample sample(count > 0 ? count - 1 : 0, kSample);
    bool any = false;
    for (std::size_t at = 0; at < sample.size() && !any; ++at) any = are_equal(sample[at], sample[at] + 1);
    if (!any) return;
    for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
      for (end = begin + 1; end < count && are_equal(begin, end);) ++end;
      std::sort(items_ + begin, items_ + end, [](const RowKey& a, const RowKey& b) { return a.row < b.row; });
    }
  }

  // Of the rows in the order of `items_`.
  void make_tree(BlockTree& tree, const GrownBoxes<T>& boxes, std::size_t count, bool wide, const LocalFrame& frame,
                 std::uint32_t* places, const Kernels& kernels, unsigned workers) {
    const PackedLevels packed(count);
    sort_equal(boxes, count);
    if (tree.is_wide() == wide) {
      tree.blocks.reserve(packed.count());
    } else {
      Blocks blocks(tree.dimension(), wide);
      blocks.reserve(packed.count());
      tree.blocks = std::move(blocks);
    }
    tree.frame = frame;
    pack_rows(tree, packed, boxes, {items_, count}, places, kernels, workers);
  }

  Order order_;
  RankOrder<T> ranks_;
  PointOrder<T> points_;
  Extent<T> bulk_;
  RowKey* items_ = nullptr;
};

template <class T, class Order>
void TreePacker<T, Order>::pack(BlockTree& tree, const GrownBoxes<T>& boxes, const std::int32_t* rows,
                                std::size_t count, std::uint32_t* places, const Kernels& kernels, unsigned workers,
                                Interrupt& interrupt) {
  const bool crossing = boxes_cross(boxes, rows, count, kernels);
  if (!crossing && sample_is_blurred(boxes, rows, count, kernels, interrupt)) {
    bulk_ = order_.bulk();  // of the sample
    return pack_wide(tree, boxes, rows, count, places, kernels, workers, interrupt);
  }
  const Extent<T> extent = extent_of(boxes, 0, crossing ? count : 0, [&](std::size_t at) { return row_at(rows, at); });
  if (crossing) {
    bulk_ = bulk_of(boxes, extent, 0, count, [&](std::size_t at) { return row_at(rows, at); });
  } else {
    order_.sort(boxes, rows, count, kernels, workers, interrupt);
    items_ = order_.items();
    bulk_ = order_.bulk();
    if (!is_blurred(boxes, count)) {
      make_tree(tree, boxes, count, false, frame_around(bulk_, boxes.dimension), places, kernels, workers);
      return;
    }
  }
  if (crossing) {
    ranks_.sort(boxes, rows, count, kernels, workers, interrupt);
    items_ = ranks_.items();
  } else {
    sort_finely(boxes, rows, count, kernels, workers, interrupt);
  }
  const bool wide = !crossing || is_blurred(boxes, count);
  make_tree(tree, boxes, count, wide, wide ? LocalFrame() : frame_around(bulk_, boxes.dimension), places, kernels,
            workers);
}

template <class T, class Order>
void TreePacker<T, Order>::pack_wide(BlockTree& tree, const GrownBoxes<T>& boxes, const std::int32_t* rows,
                                     std::size_t count, std::uint32_t* places, const Kernels& kernels, unsigned workers,
                                     Interrupt& interrupt) {
  sort_finely(boxes, rows, count, kernels, workers, interrupt);
  make_tree(tree, boxes, count, true, LocalFrame(), places, kernels, workers);
}

template <class T, class Order>
void TreePacker<T, Order>::pack_like(const BlockTree& other, BlockTree& tree, const GrownBoxes<T>& boxes,
                                     const std::int32_t* rows, std::size_t count, const Kernels& kernels,
                                     unsigned workers, Interrupt& interrupt) {
  if (other.is_wide()) return pack_wide(tree, boxes, rows, count, nullptr, kernels, workers, interrupt);
  if (boxes_cross(boxes, rows, count, kernels)) {
    ranks_.sort(boxes, rows, count, kernels, workers, interrupt);
    items_ = ranks_.items();
    make_tree(tree, boxes, count, false, other.frame, nullptr, kernels, workers);
    return;
  }
  order_.sort(boxes, rows, count, kernels, workers, interrupt);
  items_ = order_.items();
  make_tree(tree, boxes, count, false, other.frame, nullptr, kernels, workers);
}

// ---- Top-down by the surface-area heuristic: slower to build, faster to query ----
//
// I. Wald, "On fast Construction of SAH-based Bounding Volume Hierarchies", IEEE Symposium on Interactive Ray Tracing
// 2007, 10.1109/RT.2007.4342588.

// Sorts items and decides which of them share a block. A set of more than eight is split in two, then repeatedly the
// part with the largest surface area, until there are eight parts, one per lane; parts of at most eight are blocks of
// rows.
template <std::size_t D>
class SahPlan {
 public:
  struct Item {
    float box[2 * D];
    std::int32_t row;
  };
  // A block: each lane is the number of another block, or of an item as its complement.
  struct Node {
    std::array<std::int32_t, kLanes> lane;
    std::size_t lanes = 0;
  };

  std::vector<Item> items;
  std::vector<Node> nodes;  // the root first, every block before those below it

  void make(unsigned workers, Interrupt& interrupt) {
    nodes.clear();
    if (items.empty()) return;
    if (workers <= 1 || items.size() < kPartItems) {
      plan(nodes, {0, items.size(), LocalBounds<float>(D)}, 0, &interrupt);
      return;
    }
    // The root is split here; what is below each of its lanes is a task.
    nodes.emplace_back();
    const std::vector<Range> parts = cut({0, items.size(), LocalBounds<float>(D)}, 0);
    std::vector<std::vector<Node>> below(parts.size());
    for_each_task(parts.size(), workers, interrupt,
                  [&](unsigned, std::size_t k) { plan(below[k], parts[k], 1, nullptr); });
    for (std::vector<Node>& part : below) {
      const auto offset = static_cast<std::int32_t>(nodes.size());
      nodes.front().lane[nodes.front().lanes++] = offset;
      for (Node& node : part) {
        for (std::size_t lane = 0; lane < node.lanes; ++lane)
          if (node.lane[lane] >= 0) node.lane[lane] += offset;
        nodes.push_back(node);
      }
    }
  }

 private:
  struct Range {
    std::size_t begin, end;
    LocalBounds<float> around;
    std::size_t count() const { return end - begin; }
  };
  static constexpr std::size_t kPartItems = 20000;
  // Sets up to kSorted are split at the best position of all, found by sorting; larger ones at the best limit of kBins
  // bins.
  static constexpr std::size_t kSorted = 48, kBins = 16;
  // From this depth on, sets are split in the middle, so that no tree is deeper than this and ten levels more.
  static constexpr std::size_t kMostCut = 48;

  static float centre(const Item& item, std::size_t axis) {
    const float sum = std::clamp(item.box[axis], -4.0F, 4.0F) + std::clamp(item.box[D + axis], -4.0F, 4.0F);
    return sum;
  }
  static float blocks(std::size_t count) { return static_cast<float>((count + kLanes - 1) / kLanes); }
  LocalBounds<float> around(std::size_t begin, std::size_t end) const {
    LocalBounds<float> bounds(D);
    for (std::size_t at = begin; at < end; ++at) bounds.add(items[at].box);
    return bounds;
  }

  // Returns the number of the block. Recursion: at most kMostCut and ten levels.
  std::int32_t plan(std::vector<Node>& to, const Range& range, std::size_t level, Interrupt* interrupt) {
    const auto number = static_cast<std::int32_t>(to.size());
    to.emplace_back();
    if (range.count() <= kLanes) {
      for (std::size_t at = range.begin; at < range.end; ++at)
        to.back().lane[to.back().lanes++] = ~static_cast<std::int32_t>(at);
      return number;
    }
    if (interrupt != nullptr) interrupt->check();
    for (const Range& part : cut(range, level)) {
      const std::int32_t child =
          part.count() == 1 ? ~static_cast<std::int32_t>(part.begin) : plan(to, part, level + 1, interrupt);
      Node& node = to[static_cast<std::size_t>(number)];
      node.lane[node.lanes++] = child;
    }
    return number;
  }

  std::vector<Range> cut(const Range& whole, std::size_t level) {
    std::vector<Range> parts = {{whole.begin, whole.end, around(whole.begin, whole.end)}};
    parts.reserve(kLanes);
    while (parts.size() < kLanes) {
      std::size_t best = parts.size();
      float largest = -1;
      for (std::size_t k = 0; k < parts.size(); ++k) {
        const float area = half_area(parts[k].around.box, D);
        if (parts[k].count() <= kLanes || !(area > largest)) continue;
        best = k;
        largest = area;
      }
      if (best == parts.size()) break;
      const Range range = parts[best];
      const std::size_t middle = level >= kMostCut          ? cut_in_half(range)
                                 : range.count() <= kSorted ? cut_sorted(range)
                                                            : cut_binned(range);
      parts[best] = {range.begin, middle, around(range.begin, middle)};
      parts.push_back({middle, range.end, around(middle, range.end)});
    }
    return parts;
  }

  static auto is_before(std::size_t axis) {
    return [axis](const Item& a, const Item& b) {
      const float p = centre(a, axis), q = centre(b, axis);
      return p != q ? p < q : a.row < b.row;
    };
  }
  void sort(const Range& range, std::size_t axis) {
    std::sort(items.begin() + static_cast<std::ptrdiff_t>(range.begin),
              items.begin() + static_cast<std::ptrdiff_t>(range.end), is_before(axis));
  }

  std::size_t cut_sorted(const Range& range) {
    const std::size_t n = range.count();
    std::array<float, kSorted + 1> behind;
    float least = -1;
    std::size_t best = n / 2, best_axis = 0, sorted_by = 0;
    for (std::size_t axis = 0; axis < D; ++axis) {
      sort(range, axis);
      sorted_by = axis;
      LocalBounds<float> bounds(D);
      for (std::size_t at = n; at-- > 1;) {
        bounds.add(items[range.begin + at].box);
        behind[at] = half_area(bounds.box, D);
      }
      bounds = LocalBounds<float>(D);
      for (std::size_t at = 1; at < n; ++at) {
        bounds.add(items[range.begin + at - 1].box);
        const float cost = half_area(bounds.box, D) * blocks(at) + behind[at] * blocks(n - at);
        if (least >= 0 && !(cost < least)) continue;
        least = cost;
        best = at;
        best_axis = axis;
      }
    }
    if (sorted_by != best_axis) sort(range, best_axis);
    return range.begin + best;
  }

  struct Bins {
    float low, scale;
    std::size_t operator()(float x) const {
      return static_cast<std::size_t>(std::clamp((x - low) * scale, 0.0F, static_cast<float>(kBins - 1)));
    }
  };

  std::size_t cut_binned(const Range& range) {
    float low[D], high[D];
    std::fill_n(low, D, std::numeric_limits<float>::infinity());
    std::fill_n(high, D, -std::numeric_limits<float>::infinity());
    for (std::size_t at = range.begin; at < range.end; ++at)
      for (std::size_t k = 0; k < D; ++k) {
        const float x = centre(items[at], k);
        low[k] = x < low[k] ? x : low[k];
        high[k] = x > high[k] ? x : high[k];
      }
    float least = -1;
    std::size_t best_bin = 0, best_axis = 0;
    Bins best_bins{};
    for (std::size_t axis = 0; axis < D; ++axis) {
      const Bins bin{low[axis], static_cast<float>(kBins) / (high[axis] - low[axis])};
      if (!(high[axis] > low[axis]) || !std::isfinite(bin.scale)) continue;
      std::array<LocalBounds<float>, kBins> bounds = make_bounds();
      std::array<std::size_t, kBins> count{};
      for (std::size_t at = range.begin; at < range.end; ++at) {
        const std::size_t b = bin(centre(items[at], axis));
        for (std::size_t k = 0; k < D; ++k) {
          float *lower = bounds[b].box + k, *upper = bounds[b].box + D + k;
          *lower = items[at].box[k] < *lower ? items[at].box[k] : *lower;
          *upper = items[at].box[D + k] > *upper ? items[at].box[D + k] : *upper;
        }
        ++count[b];
      }
      std::array<float, kBins> behind{};
      LocalBounds<float> all(D);
      std::size_t n = 0;
      for (std::size_t b = kBins; b-- > 1;) {
        all.add(bounds[b].box);
        n += count[b];
        behind[b] = n > 0 ? half_area(all.box, D) * blocks(n) : -1;
      }
      all = LocalBounds<float>(D);
      n = 0;
      for (std::size_t b = 1; b < kBins; ++b) {
        all.add(bounds[b - 1].box);
        n += count[b - 1];
        if (n == 0 || behind[b] < 0) continue;
        const float cost = half_area(all.box, D) * blocks(n) + behind[b];
        if (least >= 0 && !(cost < least)) continue;
        least = cost;
        best_bin = b;
        best_axis = axis;
        best_bins = bin;
      }
    }
    if (least < 0) return cut_in_half(range);
    const auto middle = std::partition(items.begin() + static_cast<std::ptrdiff_t>(range.begin),
                                       items.begin() + static_cast<std::ptrdiff_t>(range.end),
                                       [&](const Item& item) { return best_bins(centre(item, best_axis)) < best_bin; });
    return static_cast<std::size_t>(middle - items.begin());
  }
  static std::array<LocalBounds<float>, kBins> make_bounds() {
    const LocalBounds<float> empty(D);
    return [&]<std::size_t... B>(std::index_sequence<B...>) {
      return std::array<LocalBounds<float>, kBins>{((void)B, empty)...};
    }(std::make_index_sequence<kBins>());
  }

  // Splits at a multiple of eight, so that blocks are full.
  std::size_t cut_in_half(const Range& range) {
    std::size_t axis = 0;
    for (std::size_t k = 1; k < D; ++k)
      if (range.around.box[D + k] - range.around.box[k] > range.around.box[D + axis] - range.around.box[axis]) axis = k;
    const std::size_t middle = range.begin + (range.count() / 2 + kLanes - 1) / kLanes * kLanes;
    const auto first = items.begin();
    std::nth_element(first + static_cast<std::ptrdiff_t>(range.begin), first + static_cast<std::ptrdiff_t>(middle),
                     first + static_cast<std::ptrdiff_t>(range.end), is_before(axis));
    return middle;
  }
};

// Replaces the tree by one of these rows, with a frame of its own. Throws bad_alloc or Interrupted, and then the tree
// is unchanged.
template <class T>
void build_by_area(BlockTree& tree, const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count,
                   std::uint32_t* places, const Kernels& kernels, unsigned workers, Interrupt& interrupt) {
  with_dimension(boxes.dimension, [&](auto dimension) {
    constexpr std::size_t D = decltype(dimension)::value;
    const auto row_at = [&](std::size_t at) { return rows[at]; };
    const Extent<T> extent = extent_of(boxes, 0, count, row_at);
    const Extent<T> bulk = bulk_of(boxes, extent, 0, count, row_at);
    LocalFrame frame = frame_around(bulk, boxes.dimension);
    SahPlan<D> plan;
    plan.items.resize(count);
    bool lossy = true;
    while (lossy) {
      LocalBoxes<T> local(boxes, frame);
      for (std::size_t at = 0; at < count; ++at) {
        plan.items[at].row = rows[at];
        local.template get<D>(static_cast<std::size_t>(rows[at]), plan.items[at].box);
      }
      lossy = local.lossy();
      frame.exact &= !lossy;
    }
    plan.make(workers, interrupt);
    if (is_blurred(bulk, boxes, count, [&](std::size_t at) { return plan.items[at].row; })) {
      TreePacker<T>().pack_wide(tree, boxes, rows, count, places, kernels, workers, interrupt);
      return;
    }
    Blocks blocks(boxes.dimension);
    blocks.reserve(plan.nodes.size());
    tree.blocks = std::move(blocks);
    // From here on nothing throws.
    tree.frame = frame;
    tree.root = plan.nodes.empty() ? kNoBlock : 0;
    for (std::size_t k = 0; k < plan.nodes.size(); ++k) tree.blocks.add();
    for (std::size_t k = plan.nodes.size(); k-- > 0;) {
      const auto block = static_cast<std::int32_t>(k);
      const auto& node = plan.nodes[k];
      for (std::size_t lane = 0; lane < node.lanes; ++lane) {
        const std::int32_t below = node.lane[lane];
        if (below >= 0) {
          tree.blocks.set_lane(block, lane, bounds_of<float>(tree.blocks, below).box, below, false);
          tree.blocks.parent(below) = static_cast<std::int32_t>(place_of(block, lane));
        } else {
          const auto& item = plan.items[static_cast<std::size_t>(~below)];
          tree.blocks.set_lane(block, lane, item.box, item.row, true);
          places[item.row] = place_of(block, lane);
        }
      }
    }
  });
}

// Compiled once: bvh.cpp.
extern template class TreePacker<float, CurveOrder<float>>;
extern template class TreePacker<double, CurveOrder<double>>;
extern template class TreePacker<float, MedianOrder<float>>;
extern template class TreePacker<double, MedianOrder<double>>;

}  // namespace broadphase
