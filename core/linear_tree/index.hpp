// A linear tree that is kept: boxes come, go and move.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "linear_tree/blocks.hpp"
#include "linear_tree/cells.hpp"
#include "linear_tree/depth.hpp"
#include "linear_tree/nodes.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

struct LinearOptions {
  bool flat = false;
  bool tuned = false;     // by the origins' rule, otherwise measured
  std::size_t depth = 0;  // given, if `fixed`
  bool fixed = false;
  std::size_t most_depth = 0;  // that tuning goes to
  // Infinite where the boxes decide.
  LinearWorld bounds{{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL}};
};

// What was decided about the depth so far.
struct LinearTuning {
  std::uint64_t updates = 0, deeper = 0, shallower = 0;
  double leaf_share = 0;  // of the occupied cells, those of the deepest level
};

class LinearIndex {
 public:
  LinearIndex(BlockTree& tree, const LinearOptions& options) : tree_(tree), options_(options) {
    depth_ = options.fixed ? options.depth : std::min(TunedDepth::kFirst, options.most_depth);
  }

  const LinearOrder& order() const { return order_; }
  const LinearNodes& nodes() const { return nodes_; }
  const LinearCells& cells() const { return cells_; }
  const LinearWorld& world() const { return world_; }
  const LinearTuning& tuning() const { return tuning_; }
  std::size_t rows() const { return order_.size(); }
  std::size_t bytes() const {
    std::size_t cells = 0;
    for (const std::uint64_t level : cells_.bytes_by_level()) cells += level;
    return order_.size() * (sizeof(std::uint64_t) + sizeof(std::uint32_t)) + nodes_.bytes() + cells +
           tree_.blocks.bytes();
  }
  // Where the boxes do not decide about the world; heeded by the next build.
  void set_bounds(const LinearWorld& bounds) { options_.bounds = bounds; }

  // Files all rows anew. If it throws, build again.
  template <class T>
  void build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt) {
    const LinearSource<T> source = source_of(boxes);
    const std::vector<std::uint32_t> items(rows, rows + count);
    world_ = world_around(source, items.data(), count);
    for (std::size_t k = 0; k < tree_.dimension(); ++k) {
      if (std::isfinite(options_.bounds.low[k])) world_.low[k] = options_.bounds.low[k];
      if (std::isfinite(options_.bounds.high[k])) world_.high[k] = options_.bounds.high[k];
      world_.high[k] = std::max(world_.low[k], world_.high[k]);
    }
    tune();
    if (!options_.fixed && !options_.tuned)
      depth_ = std::min(measured_depth(source, items, world_, interrupt), options_.most_depth);
    order_ = make_order(source, items, world_, depth_, interrupt);
    tree_.frame = frame_of(boxes, tree_.dimension(), rows, count);
    tree_.lossy = false;
    arrange(boxes, interrupt);
  }

  // Files some rows anew, or for the first time. If it throws, build again.
  template <class T>
  void refile(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt) {
    const std::size_t before = depth_;
    tune();
    for (std::size_t at = 0; at < count && !tree_.lossy; ++at)
      tree_.lossy = !keeps_box(tree_.frame, boxes, static_cast<std::size_t>(rows[at]), tree_.dimension());
    const std::vector<std::uint32_t> items(rows, rows + count);
    drop(items);
    LinearOrder changed = make_order(source_of(boxes), items, world_, order_.keys.depth, interrupt);
    merge(changed);
    if (depth_ != before) {
      order_ = make_order(source_of(boxes), {order_.item.begin(), order_.item.end()}, world_, depth_, interrupt);
    }
    arrange(boxes, interrupt);
  }

  // Without a look at the boxes: the lanes above stay as wide as they are. If it throws, build again.
  void remove(const std::int32_t* rows, std::size_t count) {
    ++tuning_.updates;
    const std::vector<bool> dropped = drop({rows, rows + count});
    nodes_ = LinearNodes(order_);
    cells_ = LinearCells(order_, options_.flat);
    for (std::int32_t block = 0; block < static_cast<std::int32_t>(tree_.blocks.limit()); ++block)
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const auto row = static_cast<std::size_t>(tree_.blocks.child(block)[lane]);
        if ((tree_.blocks.rows(block) >> lane & 1) != 0 && row < dropped.size() && dropped[row])
          tree_.blocks.clear_lane(block, lane);
      }
    if (order_.size() == 0) tree_.root = kNoBlock;
  }

  template <class T>
  LinearSource<T> source_of(const BoxView<T>& boxes) const {
    return {boxes, {}, SIZE_MAX, tree_.dimension(), T(0)};
  }

 private:
  // Counts an update, and every now and then applies the origins' rule.
  void tune() {
    ++tuning_.updates;
    std::uint64_t leaves = 0;
    if (cells_.count() > 0) leaves = cells_.count_by_level().back();
    tuning_.leaf_share = static_cast<double>(leaves) / static_cast<double>(std::max<std::size_t>(1, cells_.count()));
    if (options_.fixed || !options_.tuned || tuning_.updates % TunedDepth::kEvery != 0) return;
    const std::size_t next = TunedDepth::next(depth_, options_.most_depth, cells_.count(), leaves);
    tuning_.deeper += next > depth_;
    tuning_.shallower += next < depth_;
    depth_ = next;
  }

  // Which items those were, by number.
  std::vector<bool> drop(const std::vector<std::uint32_t>& items) {
    std::uint32_t most = 0;
    for (const std::uint32_t item : items) most = std::max(most, item);
    std::vector<bool> dropped(std::size_t{most} + 1, false);
    for (const std::uint32_t item : items) dropped[item] = true;
    std::size_t kept = 0;
    for (std::size_t entry = 0; entry < order_.size(); ++entry) {
      const std::uint32_t item = order_.item[entry];
      if (item <= most && dropped[item]) continue;
      order_.item[kept] = item;
      order_.key[kept++] = order_.key[entry];
    }
    order_.item.resize(kept);
    order_.key.resize(kept);
    return dropped;
  }
  // From behind, so that nothing has to be moved out of the way.
  void merge(const LinearOrder& changed) {
    std::size_t a = order_.size(), b = changed.size(), to = a + b;
    order_.key.resize(to);
    order_.item.resize(to);
    while (b > 0) {
      const bool from_a = a > 0 && order_.key[a - 1] > changed.key[b - 1];
      const LinearOrder& from = from_a ? order_ : changed;
      std::size_t& at = from_a ? a : b;
      --at;
      --to;
      order_.key[to] = from.key[at];
      order_.item[to] = from.item[at];
    }
  }

  template <class T>
  void arrange(const BoxView<T>& boxes, Interrupt& interrupt) {
    order_crowds(source_of(boxes), order_, kLeafBoxes, interrupt);
    nodes_ = LinearNodes(order_);
    cells_ = LinearCells(order_, options_.flat);
    LinearBlocks<T>(order_, nodes_, boxes, tree_).make();
  }

  BlockTree& tree_;
  LinearOptions options_;
  LinearWorld world_;
  std::size_t depth_ = 0;
  LinearTuning tuning_;
  LinearOrder order_;
  LinearNodes nodes_;
  LinearCells cells_;
};

}  // namespace broadphase
