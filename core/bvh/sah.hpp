// A tree built from above by the surface-area heuristic: slower to build than a packed one, quicker to ask.
//
// I. Wald, "On fast Construction of SAH-based Bounding Volume Hierarchies", IEEE Symposium on Interactive Ray Tracing
// 2007, 10.1109/RT.2007.4342588.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "bvh/bounds.hpp"
#include "bvh/packed.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// Puts items in order, and says which of them share a block. A set of more than eight is cut in two, the larger-looking
// part again, until there are eight parts, one a lane; parts of at most eight are blocks of rows.
template <std::size_t D>
class SahPlan {
 public:
  struct Item {
    float box[2 * D];
    std::int32_t row;
  };
  // Of a block: each lane another one, or an item (its complement).
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
      plan(nodes, {0, items.size(), Bounds(D)}, 0, &interrupt);
      return;
    }
    // The uppermost block here; what is below each of its lanes is a task.
    nodes.emplace_back();
    const std::vector<Range> parts = cut({0, items.size(), Bounds(D)}, 0);
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
    Bounds around;
    std::size_t count() const { return end - begin; }
  };
  static constexpr std::size_t kPartItems = 20000;
  // Below, the best cut is found by sorting; above, among the limits of bins.
  static constexpr std::size_t kSorted = 48, kBins = 16;
  // From here on down, sets are cut in the middle, so that no tree is deeper than this and ten levels more.
  static constexpr std::size_t kMostCut = 48;

  static float centre(const Item& item, std::size_t axis) {
    const float sum = std::clamp(item.box[axis], -4.0F, 4.0F) + std::clamp(item.box[D + axis], -4.0F, 4.0F);
    return sum;
  }
  static float blocks(std::size_t count) { return static_cast<float>((count + kLanes - 1) / kLanes); }
  Bounds around(std::size_t begin, std::size_t end) const {
    Bounds bounds(D);
    for (std::size_t at = begin; at < end; ++at) bounds.add(items[at].box);
    return bounds;
  }

  // Returns the number of the block. No deeper than kMostCut and ten.
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

  void sort(const Range& range, std::size_t axis) {
    std::sort(items.begin() + static_cast<std::ptrdiff_t>(range.begin),
              items.begin() + static_cast<std::ptrdiff_t>(range.end), [axis](const Item& a, const Item& b) {
                const float p = centre(a, axis), q = centre(b, axis);
                return p != q ? p < q : a.row < b.row;
              });
  }

  std::size_t cut_sorted(const Range& range) {
    const std::size_t n = range.count();
    std::array<float, kSorted + 1> behind;
    float least = -1;
    std::size_t best = n / 2, best_axis = 0, sorted_by = 0;
    for (std::size_t axis = 0; axis < D; ++axis) {
      sort(range, axis);
      sorted_by = axis;
      Bounds bounds(D);
      for (std::size_t at = n; at-- > 1;) {
        bounds.add(items[range.begin + at].box);
        behind[at] = half_area(bounds.box, D);
      }
      bounds = Bounds(D);
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
      std::array<Bounds, kBins> bounds = make_bounds();
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
      Bounds all(D);
      std::size_t n = 0;
      for (std::size_t b = kBins; b-- > 1;) {
        all.add(bounds[b].box);
        n += count[b];
        behind[b] = n > 0 ? half_area(all.box, D) * blocks(n) : -1;
      }
      all = Bounds(D);
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
  static std::array<Bounds, kBins> make_bounds() {
    const Bounds empty(D);
    return [&]<std::size_t... B>(std::index_sequence<B...>) {
      return std::array<Bounds, kBins>{((void)B, empty)...};
    }(std::make_index_sequence<kBins>());
  }

  // At a multiple of what fills the blocks below, if there are so many.
  std::size_t cut_in_half(const Range& range) {
    std::size_t axis = 0;
    for (std::size_t k = 1; k < D; ++k)
      if (range.around.box[D + k] - range.around.box[k] > range.around.box[D + axis] - range.around.box[axis]) axis = k;
    const std::size_t middle = range.begin + (range.count() / 2 + kLanes - 1) / kLanes * kLanes;
    const auto first = items.begin();
    std::nth_element(first + static_cast<std::ptrdiff_t>(range.begin), first + static_cast<std::ptrdiff_t>(middle),
                     first + static_cast<std::ptrdiff_t>(range.end), [axis](const Item& a, const Item& b) {
                       const float p = centre(a, axis), q = centre(b, axis);
                       return p != q ? p < q : a.row < b.row;
                     });
    return middle;
  }
};

// Replaces the tree by one of these rows, with a frame of its own. Throws bad_alloc or Interrupted, and then it is what
// it was.
template <class T>
void build_by_area(BlockTree& tree, const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count,
                   std::uint32_t* places, unsigned workers, Interrupt& interrupt) {
  with_dimension(boxes.dimension, [&](auto dimension) {
    constexpr std::size_t D = decltype(dimension)::value;
    LocalFrame frame =
        frame_around(extent_of(boxes, 0, count, [&](std::size_t at) { return rows[at]; }), boxes.dimension);
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
    tree.blocks.reserve(plan.nodes.size());
    // From here on nothing throws.
    tree.frame = frame;
    tree.root = plan.nodes.empty() ? kNoBlock : 0;
    tree.blocks.clear();
    for (std::size_t k = 0; k < plan.nodes.size(); ++k) tree.blocks.add();
    for (std::size_t k = plan.nodes.size(); k-- > 0;) {
      const auto block = static_cast<std::int32_t>(k);
      const auto& node = plan.nodes[k];
      for (std::size_t lane = 0; lane < node.lanes; ++lane) {
        const std::int32_t below = node.lane[lane];
        if (below >= 0) {
          tree.blocks.set_lane(block, lane, bounds_of(tree.blocks, below).box, below, false);
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

}  // namespace broadphase
