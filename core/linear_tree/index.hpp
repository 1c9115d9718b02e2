// A linear tree that is kept: rows can be inserted, moved and removed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/forks.hpp"
#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/plain_vector.hpp"
#include "base/read_ahead.hpp"
#include "base/row_numbers.hpp"
#include "boxes/any_boxes.hpp"
#include "linear_tree/cells.hpp"
#include "linear_tree/order.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// ---- The linear tree as a tree of blocks, for queries ----

// Makes a lane for every node, with the exact union of the boxes in it. Nodes with more than eight children continue in
// another block. Blocks are in the order of nodes, those of a node's rows behind its own.
template <class T, class Number>
class LinearBlocks {
 public:
  // `block_of`: where to write in which block each row is.
  LinearBlocks(const LinearOrder& order, const LinearNodes& nodes, const BoxView<T>& boxes, BlockTree& tree,
               PlainVector<std::int32_t>& block_of)
      : order_(order), nodes_(nodes), boxes_(boxes), tree_(tree), block_of_(block_of), dimension_(tree.dimension()) {}

  // Throws bad_alloc or Interrupted, and then the tree is empty.
  void make(unsigned workers, Interrupt& interrupt) {
    constexpr std::size_t kNodesATask = 256, kTasksWorthThreads = 8;
    tree_.root = kNoBlock;
    tree_.blocks.clear();
    if (nodes_.count() == 0) return;
    first_.resize(nodes_.count() + 1);
    first_[0] = 0;
    in_stretches_on_threads(nodes_.count(), workers, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t node = begin; node < end; ++node) first_[node + 1] = block_count(node);
    });
    for (std::size_t node = 0; node < nodes_.count(); ++node) first_[node + 1] += first_[node];
    around_.grow(nodes_.count() * 2 * dimension_);
    tree_.blocks.reserve(first_.back());
    const std::size_t tasks = (nodes_.count() + kNodesATask - 1) / kNodesATask;
    // Of the nodes whose children are not all in one task there are few.
    const auto end_of_task = [&](std::size_t node) {
      return std::min(nodes_.count(), (node / kNodesATask + 1) * kNodesATask);
    };
    for_each_task(tasks, tasks < kTasksWorthThreads ? 1 : workers, interrupt, [&](unsigned, std::size_t task) {
      const std::size_t begin = task * kNodesATask, end = end_of_task(begin);
      for (std::size_t node = begin; node < end; ++node) {
        for (std::size_t block = first_[node]; block < first_[node + 1]; ++block)
          tree_.blocks.make_empty(static_cast<std::int32_t>(block));
        if (nodes_.is_leaf(node)) add_leaf(node);
      }
      for (std::size_t node = end; node-- > begin;)
        if (!nodes_.is_leaf(node) && nodes_[node].next <= end) add_children(node);
    });
    for (std::size_t node = nodes_.count(); node-- > 0;)
      if (nodes_[node].next > end_of_task(node)) add_children(node);
    tree_.blocks.restart(first_.back());
    tree_.root = 0;
  }

 private:
  static std::size_t blocks_of(std::size_t lanes) { return (lanes + kLanes - 1) / kLanes; }
  std::size_t block_count(std::size_t node) const {
    if (nodes_.is_leaf(node)) {
      const std::size_t of_rows = blocks_of(nodes_[node].end - nodes_[node].begin);
      return of_rows + (of_rows > 1 ? blocks_of(of_rows) : 0);
    }
    std::size_t children = 0;
    for (std::size_t child = node + 1; child < nodes_[node].next; child = nodes_[child].next) ++children;
    return blocks_of(children);
  }
  Number* around(std::size_t node) const { return around_.get() + node * 2 * dimension_; }
  void widen(Number* bounds, const Number* box) const {
    for (std::size_t k = 0; k < dimension_; ++k) {
      bounds[k] = std::min(bounds[k], box[k]);
      bounds[dimension_ + k] = std::max(bounds[dimension_ + k], box[dimension_ + k]);
    }
  }
  void start(Number* bounds) const {
    std::fill_n(bounds, dimension_, std::numeric_limits<Number>::infinity());
    std::fill_n(bounds + dimension_, dimension_, -std::numeric_limits<Number>::infinity());
  }

  // Fills the lanes of a node's own blocks one after another.
  class Lanes {
   public:
    Lanes(BlockTree& tree, std::size_t first) : tree_(tree), block_(static_cast<std::int32_t>(first)) {}
    void put(const Number* box, std::size_t below) {
      if (lane_ == kLanes) {
        tree_.blocks.next(block_) = block_ + 1;
        ++block_;
        lane_ = 0;
      }
      tree_.blocks.set_lane(block_, lane_++, box, static_cast<std::int32_t>(below), false);
    }

   private:
    BlockTree& tree_;
    std::int32_t block_;
    std::size_t lane_ = 0;
  };

  void add_leaf(std::size_t node) {
    const LinearNode& from = nodes_[node];
    Number* const bounds = around(node);
    start(bounds);
    if (from.end - from.begin <= kLanes) return add_rows(first_[node], from.begin, from.end, bounds);
    std::size_t below = first_[node + 1] - blocks_of(from.end - from.begin);
    Lanes lanes(tree_, first_[node]);
    Number box[8];
    for (std::size_t begin = from.begin; begin < from.end; begin += kLanes, ++below) {
      start(box);
      add_rows(below, begin, std::min<std::size_t>(from.end, begin + kLanes), box);
      lanes.put(box, below);
      widen(bounds, box);
    }
  }
  void add_children(std::size_t node) {
    Number* const bounds = around(node);
    start(bounds);
    Lanes lanes(tree_, first_[node]);
    for (std::size_t child = node + 1; child < nodes_[node].next; child = nodes_[child].next) {
      lanes.put(around(child), first_[child]);
      widen(bounds, around(child));
    }
  }
  void add_rows(std::size_t number, std::size_t begin, std::size_t end, Number* bounds) {
    const auto block = static_cast<std::int32_t>(number);
    for (std::size_t entry = begin; entry < end; ++entry) {
      if (entry + kRowsAhead < order_.item.size()) {
        const std::size_t soon = order_.item[entry + kRowsAhead];
        read_ahead(boxes_.lower_of(soon));
        read_ahead(boxes_.upper_of(soon) + dimension_ - 1);
        read_ahead(&block_of_[soon]);
      }
      Number box[8];
      local_box(tree_.frame, boxes_, order_.item[entry], dimension_, box);
      tree_.blocks.set_lane(block, entry - begin, box, static_cast<std::int32_t>(order_.item[entry]), true);
      block_of_[order_.item[entry]] = block;
      widen(bounds, box);
    }
  }

  const LinearOrder& order_;
  const LinearNodes& nodes_;
  const BoxView<T>& boxes_;
  BlockTree& tree_;
  PlainVector<std::int32_t>& block_of_;
  std::size_t dimension_;
  PlainVector<std::size_t> first_;  // block of each node; one more: how many there are in all
  PlainArray<Number> around_;       // each node
};

// ---- The index ----

struct LinearOptions {
  bool flat = false;
  std::size_t depth = 0;  // given, if `fixed`; otherwise measured from a sample
  bool fixed = false;
  std::size_t most_depth = 0;  // upper limit for a measured depth
  // The region; infinite where it is derived from the boxes.
  LinearWorld bounds{{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL}};
  unsigned workers = 1;
};

// A few rows that come one by one are put into blocks of their own beside the others, for queries, and of a row that
// leaves only the lane is cleared: to file them goes through the whole order. Until they are filed, the order, the
// nodes and the cells are of use to nobody.
class LinearIndex {
 public:
  LinearIndex(BlockTree& tree, const LinearOptions& options, const Kernels& kernels)
      : tree_(tree), options_(options), kernels_(kernels), depth_(options.depth) {}

  const LinearOrder& order() const { return order_; }
  const LinearNodes& nodes() const { return nodes_; }
  // Made when they are first needed, on any thread: queries walk the blocks.
  const LinearCells& cells() const {
    const std::lock_guard<ForkedMutex> guard(lock_);
    if (!has_cells_) {
      cells_ = LinearCells(order_, options_.flat);
      has_cells_ = true;
    }
    return cells_;
  }
  const LinearWorld& world() const { return world_; }
  std::size_t rows() const { return order_.size(); }
  bool is_settled() const { return fresh_.empty() && gone_.empty(); }
  std::size_t bytes() const {
    std::size_t cells = 0;
    for (const std::uint64_t level : this->cells().bytes_by_level()) cells += level;
    return order_.size() * (sizeof(std::uint64_t) + sizeof(std::uint32_t)) + nodes_.bytes() + cells +
           tree_.blocks.bytes() + filed_.size() / 8 +
           (block_of_.capacity() + fresh_.capacity() + gone_.capacity()) * sizeof(std::int32_t);
  }

  // Each of these throws invalid_argument, naming a row, where a row has no box or is given twice, where one that is
  // inserted is in the tree, or one that moves or is removed is not; then nothing has changed. They throw bad_alloc or
  // Interrupted, and then the tree is empty: build it again.
  template <class T>
  void build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt);
  template <class T>
  void insert(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt);
  template <class T>
  void update(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt);
  // Does not read the boxes: the lanes above stay as wide as they are.
  void remove(const std::int32_t* rows, std::size_t count) {
    require(rows, count, filed_.size(), true);
    whole_or_empty([&] {
      gone_.reserve(gone_.size() + count);
      if (count == living_)
        clear();
      else
        for (std::size_t at = 0; at < count; ++at) take_out(rows[at]);
    });
    for (std::size_t at = 0; at < count; ++at) filed_[static_cast<std::size_t>(rows[at])] = false;
    living_ -= count;
  }
  // Files what has come, and drops what has gone.
  template <class T>
  void settle(const BoxView<T>& boxes, Interrupt& interrupt);

  template <class T>
  LinearSource<T> source_of(const BoxView<T>& boxes) const {
    return {boxes, {}, SIZE_MAX, tree_.dimension(), T(0)};
  }

 private:
  template <class Change>
  void whole_or_empty(const Change& change) {
    tree_.exact_bounds.forget();
    try {
      change();
    } catch (...) {
      forget();
      std::fill(filed_.begin(), filed_.end(), false);
      living_ = 0;
      throw;
    }
  }

  void forget() noexcept {
    order_ = LinearOrder();
    nodes_ = LinearNodes();
    has_cells_ = false;
    clear_blocks();
  }
  // No rows, at the depth that there is.
  void clear() {
    order_.item.clear();
    order_.key.clear();
    nodes_ = LinearNodes();
    has_cells_ = false;
    clear_blocks();
  }
  void clear_blocks() noexcept {
    fresh_.clear();
    gone_.clear();
    tree_.root = top_ = kNoBlock;
    tree_.blocks.clear();
  }

  // Whether so many more rows may be put beside the others: queries look at these blocks as well.
  bool are_few(std::size_t count) const {
    constexpr std::size_t kMostFresh = 256;
    return tree_.root != kNoBlock && fresh_.size() + count <= kMostFresh;
  }

  // Clears the lane of a row.
  void take_out(std::int32_t row) {
    const std::int32_t block = block_of_[static_cast<std::size_t>(row)];
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      if ((tree_.blocks.rows(block) >> lane & 1) != 0 && tree_.blocks.child(block)[lane] == row)
        tree_.blocks.clear_lane(block, lane);
    const auto fresh = std::find(fresh_.begin(), fresh_.end(), row);
    if (fresh != fresh_.end())
      fresh_.erase(fresh);
    else
      gone_.push_back(static_cast<std::uint32_t>(row));
  }

  // Puts a row into a block of such rows, below a root of its own: beside what was the root.
  template <class T>
  void put_beside(const BoxView<T>& boxes, std::int32_t row) {
    const auto at = static_cast<std::size_t>(row);
    if (!tree_.lossy && !tree_.is_wide()) tree_.lossy = !keeps_box(tree_.frame, boxes, at, tree_.dimension());
    if (block_of_.size() < boxes.count) block_of_.resize(boxes.count, kNoBlock);
    fresh_.reserve(fresh_.size() + 1);
    tree_.with_numbers([&](auto number) {
      using Number = decltype(number);
      Blocks& blocks = tree_.blocks;
      Number box[8], around[8];
      local_box(tree_.frame, boxes, at, tree_.dimension(), box);
      if (top_ == kNoBlock) {
        const std::int32_t top = blocks.add();
        start(around);
        for (std::int32_t block = tree_.root; block != kNoBlock; block = blocks.next(block))
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            if ((blocks.occupied(block) >> lane & 1) == 0) continue;
            Number below[8];
            blocks.get_box(block, lane, below);
            widen(around, below);
          }
        blocks.set_lane(top, 0, around, tree_.root, false);
        tree_.root = top_ = top;
        top_lane_ = 0;
        leaf_lane_ = kLanes;
      }
      if (leaf_lane_ == kLanes) {
        const std::int32_t leaf = blocks.add();
        if (top_lane_ + 1 == kLanes) {
          const std::int32_t next = blocks.add();
          blocks.next(top_) = next;
          top_ = next;
        }
        top_lane_ = (top_lane_ + 1) % kLanes;
        leaf_ = leaf;
        leaf_lane_ = 0;
        blocks.set_lane(top_, top_lane_, box, leaf, false);
      }
      blocks.get_box(top_, top_lane_, around);
      widen(around, box);
      blocks.set_box(top_, top_lane_, around);
      blocks.set_lane(leaf_, leaf_lane_++, box, row, true);
    });
    block_of_[at] = leaf_;
    fresh_.push_back(row);
  }

  template <class Number>
  void start(Number* around) const {
    std::fill_n(around, tree_.dimension(), std::numeric_limits<Number>::infinity());
    std::fill_n(around + tree_.dimension(), tree_.dimension(), -std::numeric_limits<Number>::infinity());
  }
  template <class Number>
  void widen(Number* around, const Number* box) const {
    for (std::size_t k = 0, d = tree_.dimension(); k < d; ++k) {
      around[k] = std::min(around[k], box[k]);
      around[d + k] = std::max(around[d + k], box[d + k]);
    }
  }

  template <class T>
  void replace(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt) {
    const LinearSource<T> source = source_of(boxes);
    const std::span items(reinterpret_cast<const std::uint32_t*>(rows), count);
    world_ = world_around(source, items.data(), count, options_.workers, interrupt);
    for (std::size_t k = 0; k < tree_.dimension(); ++k) {
      if (std::isfinite(options_.bounds.low[k])) world_.low[k] = options_.bounds.low[k];
      if (std::isfinite(options_.bounds.high[k])) world_.high[k] = options_.bounds.high[k];
      world_.high[k] = std::max(world_.low[k], world_.high[k]);
    }
    if (!options_.fixed) depth_ = std::min(measured_depth(source, items, world_, interrupt), options_.most_depth);
    order_ = make_order(source, items, world_, depth_, options_.workers, interrupt);
    arrange(boxes, true, interrupt);
    std::atomic<bool> are_all{count == boxes.count};  // in their order, as is usual
    if (are_all)
      in_stretches_on_threads(count, options_.workers, interrupt, [&](std::size_t begin, std::size_t end) {
        bool are_here = true;
        for (std::size_t at = begin; at < end; ++at) are_here &= static_cast<std::size_t>(rows[at]) == at;
        if (!are_here) are_all.store(false, std::memory_order_relaxed);
      });
    filed_.assign(boxes.count, are_all);
    for (std::size_t at = 0; !are_all && at < count; ++at) filed_[static_cast<std::size_t>(rows[at])] = true;
    living_ = count;
  }

  template <class T>
  void refile(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt) {
    for (std::size_t at = 0; at < count && !tree_.lossy && !tree_.is_wide(); ++at)
      tree_.lossy = !keeps_box(tree_.frame, boxes, static_cast<std::size_t>(rows[at]), tree_.dimension());
    std::vector<std::uint32_t> items(rows, rows + count);
    drop(items);
    for (const std::int32_t row : fresh_)
      if (std::find(rows, rows + count, row) == rows + count) items.push_back(static_cast<std::uint32_t>(row));
    drop(gone_);
    LinearOrder changed = make_order(source_of(boxes), items, world_, order_.keys.depth, options_.workers, interrupt);
    merge(changed);
    arrange(boxes, tree_.is_wide(), interrupt);
  }

  void require(const std::int32_t* rows, std::size_t count, std::size_t row_limit, bool present) {
    require_distinct_rows(
        rows, count, row_limit, present, [this](std::size_t row) { return filed_[row]; },
        [this](std::size_t row) { filed_[row] = !filed_[row]; });
  }

  // Removes items from the order.
  void drop(const std::vector<std::uint32_t>& items) {
    if (items.empty()) return;
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
  }
  // Merges from the end, so that nothing has to be moved out of the way.
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

  // `new_frame`: take a frame for these boxes; otherwise the present one stays unless it has become too coarse.
  template <class T>
  void arrange(const BoxView<T>& boxes, bool new_frame, Interrupt& interrupt) {
    order_crowds(source_of(boxes), order_, kLeafBoxes, kernels_, options_.workers, interrupt);
    if (new_frame || is_blurred(boxes)) {
      tree_.frame = frame_of(boxes, tree_.dimension(), reinterpret_cast<const std::int32_t*>(order_.item.data()),
                             order_.size(), options_.workers, interrupt);
      tree_.lossy = false;
      const bool wide = is_blurred(boxes);
      if (wide) tree_.frame = LocalFrame();
      if (wide != tree_.is_wide()) {
        tree_.root = kNoBlock;
        tree_.blocks = Blocks(tree_.dimension(), wide);
      }
    }
    nodes_ = LinearNodes(order_, options_.workers, interrupt);
    has_cells_ = false;
    if (options_.flat) cells();  // a change fails where there is no memory for the table
    make_room(boxes.count, interrupt);
    top_ = kNoBlock;
    fresh_.clear();
    gone_.clear();
    tree_.with_numbers([&](auto number) {
      LinearBlocks<T, decltype(number)>(order_, nodes_, boxes, tree_, block_of_).make(options_.workers, interrupt);
    });
  }

  void make_room(std::size_t row_limit, Interrupt& interrupt) {
    const std::size_t known = block_of_.size();
    if (known >= row_limit) return;
    block_of_.resize(row_limit);
    in_stretches_on_threads(row_limit - known, options_.workers, interrupt, [&](std::size_t begin, std::size_t end) {
      std::fill_n(block_of_.data() + known + begin, end - begin, kNoBlock);
    });
  }

  // True if many boxes are nearer to each other than floats in the frame can tell.
  template <class T>
  bool is_blurred(const BoxView<T>& boxes) const {
    Extent<T> middle;
    for (std::size_t k = 0; k < tree_.dimension(); ++k)
      middle.low[k] = middle.high[k] = static_cast<T>(tree_.frame.origin[k]);
    return !tree_.frame.exact && broadphase::is_blurred(middle, GrownBoxes<T>{boxes, tree_.dimension()}, order_.size(),
                                                        [this](std::size_t at) { return order_.item[at]; });
  }

  BlockTree& tree_;
  LinearOptions options_;
  const Kernels& kernels_;
  LinearWorld world_;
  std::size_t depth_;
  LinearOrder order_;
  LinearNodes nodes_;
  mutable ForkedMutex lock_;  // held while cells are made
  mutable LinearCells cells_;
  mutable bool has_cells_ = false;
  std::vector<bool> filed_;             // by row
  std::size_t living_ = 0;              // of those
  PlainVector<std::int32_t> block_of_;  // by row, of those that are filed
  // Rows that are beside the others, and items of the order that have gone.
  std::vector<std::int32_t> fresh_;
  std::vector<std::uint32_t> gone_;
  // Where the next one goes: the block and lane above, and the block and its next lane. No block: there are none.
  std::int32_t top_ = kNoBlock, leaf_ = kNoBlock;
  std::size_t top_lane_ = 0, leaf_lane_ = 0;
};

template <class T>
void LinearIndex::build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt) {
  require_boxes(rows, count, boxes.count, options_.workers, interrupt);
  whole_or_empty([&] { replace(boxes, rows, count, interrupt); });
}

template <class T>
void LinearIndex::insert(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt) {
  if (boxes.count > filed_.size()) filed_.resize(boxes.count, false);
  require(rows, count, boxes.count, false);
  whole_or_empty([&] {
    if (are_few(count))
      for (std::size_t at = 0; at < count; ++at) put_beside(boxes, rows[at]);
    else
      refile(boxes, rows, count, interrupt);
  });
  for (std::size_t at = 0; at < count; ++at) filed_[static_cast<std::size_t>(rows[at])] = true;
  living_ += count;
}

template <class T>
void LinearIndex::update(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt) {
  require(rows, count, filed_.size(), true);
  whole_or_empty([&] {
    if (!are_few(count)) return refile(boxes, rows, count, interrupt);
    for (std::size_t at = 0; at < count; ++at) {
      take_out(rows[at]);
      put_beside(boxes, rows[at]);
    }
  });
}

template <class T>
void LinearIndex::settle(const BoxView<T>& boxes, Interrupt& interrupt) {
  if (!is_settled()) whole_or_empty([&] { refile(boxes, nullptr, 0, interrupt); });
}

// ---- Validation ----

class LinearValidation {
 public:
  LinearValidation(const LinearIndex& index, const BlockTree& tree, const AnyBoxes& boxes, const std::int32_t* rows,
                   std::size_t count)
      : index_(index), tree_(tree), boxes_(boxes), expected_(rows, rows + count) {}

  // The first violation, or an empty string.
  std::string fault() {
    for (const std::string& wrong : {entries(), cells(), nodes()})
      if (!wrong.empty()) return wrong;
    return blocks();
  }

 private:
  std::string entries() const {
    const LinearOrder& order = index_.order();
    std::vector<std::int32_t> rows(order.item.begin(), order.item.end()), expected = expected_;
    std::sort(rows.begin(), rows.end());
    std::sort(expected.begin(), expected.end());
    if (rows != expected) return "the tree does not hold the expected rows";
    for (std::size_t entry = 1; entry < order.size(); ++entry)
      if (order.key[entry - 1] > order.key[entry]) return "keys are not sorted at entry " + std::to_string(entry);
    return with_dimension(tree_.dimension(), [&]<std::size_t D>(Dimension<D>) -> std::string {
      const CellMap<D> map(index_.world(), order.keys.depth);
      double box[2 * D];
      for (std::size_t entry = 0; entry < order.size(); ++entry) {
        boxes_.read(order.item[entry], box);
        if (map.key(box, box + D, 0.0) != order.key[entry])
          return "row " + std::to_string(order.item[entry]) + " is not in the smallest cell that contains it";
      }
      return {};
    });
  }

  std::string cells() const {
    const LinearCells& cells = index_.cells();
    const LinearOrder& order = index_.order();
    std::uint64_t counted = 0;
    for (const std::uint64_t level : cells.count_by_level()) counted += level;
    if (counted != cells.count()) return "the numbers of cells by level do not add up";
    for (std::size_t cell = 0; cell < cells.count(); ++cell) {
      const std::string name = "cell " + std::to_string(cell);
      if (cells.begin(cell) >= cells.begin(cell + 1)) return name + " is empty";
      for (std::size_t entry = cells.begin(cell); entry < cells.begin(cell + 1); ++entry)
        if (order.key[entry] != cells.key(cell)) return name + " has entries of another cell";
      const std::uint32_t parent = cells.parent(cell);
      if (parent != kNotOccupied && !(parent < cell && cells.behind(parent) >= cells.behind(cell) &&
                                      cells.keys().contains(cells.key(parent), cells.key(cell))))
        return name + " is not within its parent";
      if (cells.around(cells.keys().first(cells.key(cell))) < cell) return name + " cannot be found by its number";
    }
    return {};
  }

  std::string nodes() const {
    const LinearNodes& nodes = index_.nodes();
    std::size_t leaves_end = 0;
    for (std::size_t node = 0; node < nodes.count(); ++node) {
      const LinearNode& at = nodes[node];
      const std::string name = "node " + std::to_string(node);
      if (nodes.is_leaf(node)) {
        if (at.begin != leaves_end || at.end <= at.begin || at.end - at.begin > kLeafBoxes)
          return name + " is not the next leaf, or has a wrong size";
        leaves_end = at.end;
        continue;
      }
      std::size_t end = at.begin;
      for (std::size_t child = node + 1; child < at.next; child = nodes[child].next) {
        if (nodes[child].parent != node || nodes[child].begin != end) return name + " has a wrong child";
        if (nodes[child].begin < at.own_end && nodes[child].end > at.own_end)
          return name + " has a child that mixes own rows with others";
        end = nodes[child].end;
      }
      if (end != at.end) return name + " has entries that no child has";
    }
    return leaves_end == index_.order().size() ? "" : "the leaves do not cover all entries";
  }

  std::string blocks() {
    std::vector<std::int32_t> found;
    if (tree_.root != kNoBlock)
      if (std::string wrong =
              tree_.with_numbers([&](auto number) { return block<decltype(number)>(tree_.root, nullptr, 1, found); });
          !wrong.empty())
        return wrong;
    std::sort(found.begin(), found.end());
    std::vector<std::int32_t> expected = expected_;
    std::sort(expected.begin(), expected.end());
    return found == expected ? "" : "the blocks do not hold each row exactly once";
  }
  // Recursion: at most kMostLevels.
  template <class Number>
  std::string block(std::int32_t at, const Number* around, std::size_t level, std::vector<std::int32_t>& found) const {
    const std::size_t dimension = tree_.dimension();
    if (level > kMostLevels) return "the blocks are too deep";
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if ((tree_.blocks.occupied(at) >> lane & 1) == 0) continue;
      const std::string name = "lane " + std::to_string(lane) + " of block " + std::to_string(at);
      const std::int32_t child = tree_.blocks.child(at)[lane];
      Number box[8], own[8];
      tree_.blocks.get_box(at, lane, box);
      if (around != nullptr && !within(box, around)) return name + " is not contained in the lane above";
      if ((tree_.blocks.rows(at) >> lane & 1) == 0) {
        if (std::string wrong = block<Number>(child, box, level + 1, found); !wrong.empty()) return wrong;
        continue;
      }
      double given[8];
      boxes_.read(static_cast<std::size_t>(child), given);
      local_box(tree_.frame, view_of_rows(given, dimension, 1), 0, dimension, own);
      if (!within(own, box)) return name + " does not contain its row";
      found.push_back(child);
    }
    return tree_.blocks.next(at) == kNoBlock ? "" : block<Number>(tree_.blocks.next(at), around, level + 1, found);
  }
  template <class Number>
  bool within(const Number* inner, const Number* outer) const {
    bool inside = true;
    for (std::size_t k = 0; k < tree_.dimension(); ++k)
      inside &= outer[k] <= inner[k] && inner[tree_.dimension() + k] <= outer[tree_.dimension() + k];
    return inside;
  }

  const LinearIndex& index_;
  const BlockTree& tree_;
  const AnyBoxes& boxes_;
  std::vector<std::int32_t> expected_;
};

// Compiled once: linear_tree.cpp.
extern template void LinearIndex::build(const BoxView<float>&, const std::int32_t*, std::size_t, Interrupt&);
extern template void LinearIndex::insert(const BoxView<float>&, const std::int32_t*, std::size_t, Interrupt&);
extern template void LinearIndex::update(const BoxView<float>&, const std::int32_t*, std::size_t, Interrupt&);
extern template void LinearIndex::settle(const BoxView<float>&, Interrupt&);
extern template void LinearIndex::build(const BoxView<double>&, const std::int32_t*, std::size_t, Interrupt&);
extern template void LinearIndex::insert(const BoxView<double>&, const std::int32_t*, std::size_t, Interrupt&);
extern template void LinearIndex::update(const BoxView<double>&, const std::int32_t*, std::size_t, Interrupt&);
extern template void LinearIndex::settle(const BoxView<double>&, Interrupt&);

}  // namespace broadphase
