// All pairs in one walk through a linear tree, with a stack of the ancestors' boxes.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "linear_tree/boxes.hpp"
#include "linear_tree/lists.hpp"
#include "linear_tree/nodes.hpp"
#include "query/method.hpp"
#include "query/problem.hpp"

namespace broadphase {

// Boxes of cells apart do not meet, so a box meets boxes of its own cell, of cells below and of cells above. On the way
// down, a cell takes over from the one above those boxes that reach into it, which one run of the kernel finds out; on
// the way up they are dropped. So a box that lies across the middle of the world is tested against the few cells that
// it reaches, and not against all that lie below.
//
// With two sets there are two lists, and the boxes of either set are tested against the list of the other.
//
// `order`, `nodes` and the boxes must outlive this. Boxes are tested in T, as grown: exactly.
template <class T>
class LinearWalk {
 public:
  using Scratch = WalkScratch<T>;

  LinearWalk(const LinearOrder& order, const LinearNodes& nodes, const LinearSource<T>& source, bool cross,
             bool touching, const Kernels& kernels, Interrupt& interrupt)
      : nodes_(nodes),
        dimension_(source.dimension),
        cross_(cross),
        overlap_(overlap_kernel<T>(kernels, source.dimension, touching)),
        overlaps_(overlaps_kernel<T>(kernels, source.dimension, touching)),
        boxes_(order, source, cross, touching, interrupt) {
    if (nodes.count() == 0) return;
    bound();
    plan(interrupt);
  }
  LinearWalk(const LinearWalk&) = delete;
  LinearWalk& operator=(const LinearWalk&) = delete;

  std::size_t task_count() const { return tasks_.size(); }
  // Tests of two boxes in all tasks that have run, those against a cell included.
  std::uint64_t test_count() const { return tests_.load(std::memory_order_relaxed); }

  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
    const Task& part = tasks_[task];
    go_to(part.first, scratch);
    for (std::uint32_t node = part.first; node < part.end; ++node) {
      enter(node, scratch);
      if (nodes_.is_leaf(node)) search(node, part, scratch, out);
    }
    tests_.fetch_add(scratch.tests, std::memory_order_relaxed);
  }

 private:
  // Nodes [first, end); of the queries of a leaf that is a task of its own, [query_begin, query_end).
  struct Task {
    std::uint32_t first, end;
    std::size_t query_begin, query_end;
  };
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  std::size_t sides() const { return cross_ ? 2 : 1; }
  // The set that a list's boxes are tested against.
  std::size_t partner(std::size_t side) const { return cross_ ? 1 - side : 0; }
  std::size_t place(std::size_t set, std::size_t entry) const { return boxes_.place(set, entry); }
  const T* box_of(std::size_t set, std::size_t node) const { return bounds_[set].data() + node * 2 * dimension_; }

  // The box around all boxes of a node, for each set.
  void bound() {
    with_dimension(dimension_, [&]<std::size_t D>(Dimension<D>) {
      for (std::size_t set = 0; set < sides(); ++set) {
        std::vector<T>& bounds = bounds_[set];
        bounds.resize(nodes_.count() * 2 * D);
        for (std::size_t at = 0; at < bounds.size(); ++at)
          bounds[at] = at % (2 * D) < D ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
        for (std::size_t node = nodes_.count(); node-- > 0;) {
          T* box = bounds.data() + node * 2 * D;
          if (nodes_.is_leaf(node)) {
            const std::size_t begin = place(set, nodes_[node].begin), end = place(set, nodes_[node].end);
            for (std::size_t k = 0; k < D; ++k) {
              const T *lower = boxes_.columns[set].lower(k), *upper = boxes_.columns[set].upper(k);
              T low = box[k], high = box[D + k];
              for (std::size_t at = begin; at < end; ++at) {
                low = lower[at] < low ? lower[at] : low;
                high = upper[at] > high ? upper[at] : high;
              }
              box[k] = low;
              box[D + k] = high;
            }
          }
          if (nodes_[node].parent == kNoNode) continue;
          T* around = bounds.data() + nodes_[node].parent * 2 * D;
          for (std::size_t k = 0; k < D; ++k) {
            around[k] = std::min(around[k], box[k]);
            around[D + k] = std::max(around[D + k], box[D + k]);
          }
        }
      }
    });
  }

  // Tasks are runs of nodes. How many tests a node may take is known on the way down: all its boxes against all that
  // reach into it, and against each other.
  void plan(Interrupt& interrupt) {
    Scratch scratch;
    go_to(0, scratch);
    std::size_t pending = 0;  // candidates of the last task
    for (std::uint32_t node = 0; node < nodes_.count();) {
      enter(node, scratch);
      interrupt.check();
      const std::size_t candidates = candidates_of(node, scratch);
      if (candidates > kTaskCandidates && !nodes_.is_leaf(node)) {
        ++node;
        continue;
      }
      if (candidates > kTaskCandidates) {
        const std::size_t queries = nodes_[node].end - nodes_[node].begin;
        const std::size_t parts = std::min(queries, candidates / kTaskCandidates + 1);
        const EvenSplit split{queries, parts};
        for (std::size_t part = 0; part < parts; ++part)
          tasks_.push_back({node, node + 1, split.at(part), split.at(part + 1)});
        pending = kTaskCandidates;
      } else if (!tasks_.empty() && pending + candidates <= kTaskCandidates) {
        tasks_.back().end = nodes_[node].next;
        pending += candidates;
      } else {
        tasks_.push_back({node, nodes_[node].next, 0, kAll});
        pending = candidates;
      }
      node = nodes_[node].next;
    }
  }
  std::size_t candidates_of(std::size_t node, const Scratch& scratch) const {
    const auto& step = scratch.way.back();
    std::size_t count[2] = {0, 0}, candidates = 0;
    for (std::size_t set = 0; set < sides(); ++set)
      count[set] = place(set, nodes_[node].end) - place(set, nodes_[node].begin);
    for (std::size_t side = 0; side < sides(); ++side)
      candidates += (step.end[side] - step.begin[side]) * count[partner(side)];
    return candidates + (cross_ ? count[0] * count[1] : count[0] * count[0] / 2);
  }

  // To where a walk that begins at the root is before it enters `node`.
  void go_to(std::uint32_t node, Scratch& scratch) const {
    scratch.start(dimension_);
    scratch.ancestors.clear();
    for (std::uint32_t at = nodes_[node].parent; at != kNoNode; at = nodes_[at].parent) scratch.ancestors.push_back(at);
    for (std::size_t k = scratch.ancestors.size(); k-- > 0;) enter(scratch.ancestors[k], scratch);
  }

  // Goes up to the parent of `node` and down to it.
  void enter(std::uint32_t node, Scratch& scratch) const {
    auto& way = scratch.way;
    const std::uint32_t parent = nodes_[node].parent;
    while (!way.empty() && way.back().node != parent) way.pop_back();
    typename Scratch::Step step{node, {0, 0}, {0, 0}};
    if (!way.empty())
      for (std::size_t side = 0; side < sides(); ++side) {
        const auto& above = way.back();
        ReachingBoxes<T>& list = scratch.reaching[side];
        list.resize(above.end[side]);
        step.begin[side] = above.end[side];
        const LinearNode& from = nodes_[parent];
        const T* box = box_of(partner(side), node);
        const std::size_t own_begin = place(side, from.begin);
        const std::size_t own_end = place(side, std::min(nodes_[node].begin, from.own_end));
        take_over(list.columns(), above.begin[side], above.end[side], box, list, scratch,
                  [&](std::uint32_t position) { return list.places()[position]; });
        take_over(boxes_.columns[side].pointers(), own_begin, own_end, box, list, scratch,
                  [](std::uint32_t position) { return position; });
        step.end[side] = list.size();
      }
    way.push_back(step);
  }
  // Pushes those of [begin, end) that overlap `box`.
  template <class Place>
  void take_over(const T* const* columns, std::size_t begin, std::size_t end, const T* box, ReachingBoxes<T>& list,
                 Scratch& scratch, Place&& place_of) const {
    if (begin == end) return;
    room(scratch.positions, end - begin);
    list.room(end - begin);  // `columns` may be the list's own, which then point to where it is now
    const std::size_t found = overlap_({columns, begin, end, box}, scratch.positions.data());
    scratch.tests += end - begin;
    list.push(columns, scratch.positions.data(), found, place_of);
  }

  // The boxes of a leaf against those that reach into it, and against each other.
  void search(std::uint32_t node, const Task& part, Scratch& scratch, PairBuffer& out) const {
    const auto step = scratch.way.back();
    const LinearNode& leaf = nodes_[node];
    ReachingBoxes<T>& list = scratch.reaching[0];
    const std::size_t begin = place(0, leaf.begin), count = place(0, leaf.end) - begin;
    list.room(count);
    list.push_run(boxes_.columns[0], begin, begin + count);
    const std::size_t first = std::min(part.query_begin, count), last = std::min(part.query_end, count);
    if (!cross_) {
      // The boxes of the leaf are behind the others in the list: each is tested against all before it.
      test(0, begin + first, begin + last, 0, step.begin[0], step.end[0] + first, 1, scratch, out);
      return;
    }
    test(0, begin + first, begin + last, 1, step.begin[1], step.end[1], 0, scratch, out);
    const std::size_t other_begin = place(1, leaf.begin), all = count + place(1, leaf.end) - other_begin;
    const std::size_t other_first = std::clamp(part.query_begin, count, all);
    const std::size_t other_last = std::clamp(part.query_end, count, all);
    test(1, other_begin + other_first - count, other_begin + other_last - count, 0, step.begin[0], list.size(), 0,
         scratch, out);
  }

  // Boxes [first, last) of `set`, at most kLeafBoxes, against [begin, end) of a list; see RunsQuery for `growth`.
  void test(std::size_t set, std::size_t first, std::size_t last, std::size_t side, std::size_t begin, std::size_t end,
            std::size_t growth, Scratch& scratch, PairBuffer& out) const {
    if (first == last) return;
    const ReachingBoxes<T>& list = scratch.reaching[side];
    // A stretch of a long list at a time stays in the nearest cache, and bounds the hits.
    constexpr std::size_t kStretch = 512;
    scratch.hits.resize(kLeafBoxes * (kStretch + kLeafBoxes) + 1);
    for (; end - begin > kStretch; begin += kStretch)
      test_stretch(set, {boxes_.columns[set].pointers(), first, last, list.columns(), begin, begin + kStretch, 0}, side,
                   scratch, out);
    test_stretch(set, {boxes_.columns[set].pointers(), first, last, list.columns(), begin, end, growth}, side, scratch,
                 out);
  }
  void test_stretch(std::size_t set, const RunsQuery<T>& query, std::size_t side, Scratch& scratch,
                    PairBuffer& out) const {
    const std::size_t queries = query.last - query.first;
    scratch.tests += queries * (query.end - query.begin) + query.growth * (queries * (queries - 1) / 2);
    const RunHits* hits = scratch.hits.data();
    const RunHits* last = hits + overlaps_(query, scratch.hits.data());
    if (hits == last) return;
    std::size_t found = 0;
    for (const RunHits* hit = hits; hit < last; ++hit) found += count_lanes(hit->lanes);
    if (out.counts_only()) {
      out.add_count(found);
      return;
    }
    out.room(found);
    std::int32_t *first = out.first(), *second = out.second();
    const std::int32_t *rows = boxes_.rows[set].data(), *others = boxes_.rows[side].data();
    const std::uint32_t* places = scratch.reaching[side].places();
    for (; hits < last; ++hits) {
      const std::int32_t row = rows[hits->box];
      for (std::uint32_t lanes = hits->lanes; lanes != 0; lanes &= lanes - 1) {
        const std::int32_t other = others[places[hits->position + static_cast<std::uint32_t>(std::countr_zero(lanes))]];
        const bool swapped = cross_ ? set == 1 : other < row;
        *first++ = swapped ? other : row;
        *second++ = swapped ? row : other;
      }
    }
    out.commit(found);
  }

  // Of 16 lanes at most. Processors of the oldest kind have no instruction for it, and no compiler assumes it.
  static std::size_t count_lanes(std::uint32_t lanes) {
    lanes = lanes - (lanes >> 1 & 0x5555);
    lanes = (lanes & 0x3333) + (lanes >> 2 & 0x3333);
    lanes = (lanes + (lanes >> 4)) & 0x0F0F;
    return (lanes + (lanes >> 8)) & 0x1F;
  }
  static void room(std::vector<std::uint32_t>& positions, std::size_t count) {
    if (positions.size() < count + 64) positions.resize(count + count / 2 + 256);
  }

  const LinearNodes& nodes_;
  std::size_t dimension_;
  bool cross_;
  OverlapRun<T> overlap_;
  OverlapRuns<T> overlaps_;
  LinearBoxes<T> boxes_;
  std::vector<T> bounds_[2];
  std::vector<Task> tasks_;
  mutable std::atomic<std::uint64_t> tests_{0};
};

}  // namespace broadphase
