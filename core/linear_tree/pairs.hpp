// The overlapping pairs of a linear tree, and the linear tree as a one-shot method.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/read_ahead.hpp"
#include "boxes/box_columns.hpp"
#include "linear_tree/cells.hpp"
#include "linear_tree/order.hpp"
#include "query/hits.hpp"
#include "query/method.hpp"
#include "query/preparation.hpp"
#include "query/problem.hpp"
#include "simd/kernels.hpp"
#include "tree/blocks.hpp"
#include "tree/sure_box.hpp"

namespace broadphase {

// ---- The boxes in the order of their cells, as the kernels read them ----

// One set of columns for each set of boxes, with margin: in T, and tests on them are exact; or in floats rounded
// outwards in local coordinates.
template <class T, class Number = T>
struct LinearBoxes {
  static constexpr bool kRounds = !std::is_same_v<T, Number>;

  bool cross;
  BoxColumns<Number> columns[2];
  std::vector<std::int32_t> rows[2];
  std::vector<std::uint32_t> rank;  // with two sets: the number of entries of the first set before each entry

  LinearBoxes(const LinearOrder& order, const LinearSource<T>& source, const LocalFrame& frame, bool two_sets,
              bool touching, unsigned workers, Interrupt& interrupt)
      : cross(two_sets) {
    std::size_t count[2] = {order.size(), 0};
    if (cross) {
      rank.resize(order.size() + 1);
      std::uint32_t first = 0;
      for (std::size_t entry = 0; entry < order.size(); ++entry) {
        rank[entry] = first;
        first += order.item[entry] < source.first_count;
      }
      rank[order.size()] = first;
      count[0] = first;
      count[1] = order.size() - first;
    }
    for (std::size_t set = 0; set < (cross ? 2 : 1); ++set) {
      columns[set] = BoxColumns<Number>(count[set], source.dimension);
      rows[set].resize(count[set]);
    }
    with_dimension(source.dimension,
                   [&]<std::size_t D>(Dimension<D>) { fill<D>(order, source, frame, touching, workers, interrupt); });
  }

  // Where an entry's boxes begin in the columns of a set.
  std::size_t place(std::size_t set, std::size_t entry) const {
    if (!cross) return entry;
    return set == 0 ? rank[entry] : entry - rank[entry];
  }

 private:
  // As LocalFrame rounds a number, in fewer steps; `outwards`: -1 for lower corners, 1 for upper ones.
  static float rounded(const LocalFrame& frame, double given, std::size_t axis, double outwards) {
    constexpr double kStep = 0x1p-23, kLeast = 1e-37, kMost = 1e30;
    const double local = (given - frame.origin[axis]) * frame.scale, size = std::fabs(local);
    if (size < kMost) return static_cast<float>(local + outwards * (size * kStep + kLeast));
    return outwards < 0 ? frame.below(given, axis) : frame.above(given, axis);
  }

  template <std::size_t D>
  void fill(const LinearOrder& order, const LinearSource<T>& source, const LocalFrame& frame, bool touching,
            unsigned workers, Interrupt& interrupt) {
    Number* column[2][2 * D] = {};
    for (std::size_t set = 0; set < (cross ? 2 : 1); ++set)
      for (std::size_t k = 0; k < D; ++k) {
        column[set][k] = columns[set].lower(k);
        column[set][D + k] = columns[set].upper(k);
      }
    in_stretches_on_threads(order.size(), workers, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t entry = begin; entry < end; ++entry) {
        const std::uint32_t item = order.item[entry], soon = order.item[std::min(entry + kRowsAhead, order.size() - 1)];
        read_ahead(source.lower(soon));
        read_ahead(source.upper(soon));
        const std::size_t set = cross && item >= source.first_count ? 1 : 0, at = place(set, entry);
        const T *lower = source.lower(item), *upper = source.upper(item);
        bool interior = true;
        for (std::size_t k = 0; k < D; ++k) {
          const T l = lower[k] - source.grow, u = upper[k] + source.grow;
          if constexpr (kRounds) {
            column[set][k][at] = rounded(frame, l, k, -1);
            column[set][D + k][at] = rounded(frame, u, k, 1);
          } else {
            column[set][k][at] = l;
            column[set][D + k][at] = u;
          }
          interior &= l < u;
        }
        // An open box without interior must overlap nothing.
        if (!touching && !interior)
          for (std::size_t k = 0; k < D; ++k) column[set][D + k][at] = -std::numeric_limits<Number>::infinity();
        rows[set][at] = static_cast<std::int32_t>(set == 1 ? item - source.first_count : item);
      }
    });
  }
};

// ---- The lists that a walk carries down: boxes of ancestors that reach into the current cell ----

// A stack of boxes as structure of arrays, each with its place among the boxes of its set.
template <class T>
class ReachingBoxes {
 public:
  std::size_t size() const { return size_; }
  void resize(std::size_t size) { size_ = size; }  // must not grow
  const T* const* columns() const { return columns_.pointers(); }
  const std::uint32_t* places() const { return places_.data(); }

  void clear(std::size_t dimension) {
    if (dimension != dimension_) capacity_ = 0;
    dimension_ = dimension;
    size_ = 0;
  }

  // Room for this many more, and for what kernels read past them.
  void room(std::size_t more) {
    if (size_ + more <= capacity_) return;
    const std::size_t capacity = size_ + more + (size_ + more) / 2 + 256;
    BoxColumns<T> columns(capacity, dimension_);
    for (std::size_t k = 0; k < dimension_; ++k) {
      std::copy_n(columns_.lower(k), size_, columns.lower(k));
      std::copy_n(columns_.upper(k), size_, columns.upper(k));
    }
    places_.resize(capacity);
    columns_ = std::move(columns);
    capacity_ = capacity;
  }

  // Pushes some of the boxes of `from`. Room for them is a precondition.
  template <class Place>
  void push(const T* const* from, const std::uint32_t* positions, std::size_t count, Place&& place) {
    for (std::size_t k = 0; k < 2 * dimension_; ++k) {
      const T* source = from[k];
      T* target = column(k) + size_;
      for (std::size_t at = 0; at < count; ++at) target[at] = source[positions[at]];
    }
    for (std::size_t at = 0; at < count; ++at) places_[size_ + at] = place(positions[at]);
    size_ += count;
  }
  // Pushes the boxes in [begin, end).
  void push_run(const BoxColumns<T>& from, std::size_t begin, std::size_t end) {
    for (std::size_t k = 0; k < 2 * dimension_; ++k)
      std::copy_n(from.pointers()[k] + begin, end - begin, column(k) + size_);
    for (std::size_t at = begin; at < end; ++at) places_[size_ + at - begin] = static_cast<std::uint32_t>(at);
    size_ += end - begin;
  }

 private:
  T* column(std::size_t k) { return k < dimension_ ? columns_.lower(k) : columns_.upper(k - dimension_); }

  BoxColumns<T> columns_;
  std::vector<std::uint32_t> places_;
  std::size_t dimension_ = 0, size_ = 0, capacity_ = 0;
};

// Scratch of one thread for a walk.
template <class T>
struct WalkScratch {
  // The path from the root: a node, and its part of each list.
  struct Step {
    std::uint32_t node;
    std::size_t begin[2], end[2];
  };
  std::vector<Step> way;
  std::vector<std::uint32_t> ancestors;
  ReachingBoxes<T> reaching[2];
  std::vector<std::uint32_t> positions;
  std::vector<RunHits> hits;
  std::uint64_t tests = 0;

  void start(std::size_t dimension) {
    way.clear();
    reaching[0].clear(dimension);
    reaching[1].clear(dimension);
    tests = 0;
  }
};

// ---- The walk: all pairs in one pass down the tree ----

// Boxes of disjoint cells do not overlap, so a box can overlap only boxes of its own cell, of descendants and of
// ancestors. On the way down, a cell takes over from its parent those boxes that reach into it, selected by one run of
// the kernel; on the way up they are dropped. So a box across the middle of the region is tested against the few cells
// that it reaches, not against everything below.
//
// With two sets there are two lists, and the boxes of each set are tested against the list of the other.
//
// Refers to `order`, `nodes` and the boxes. Boxes are tested as LinearBoxes holds them; pairs of rounded ones that do
// not surely overlap are tested again, as they were given.
template <class T, class Number>
class LinearWalkOf {
 public:
  using Scratch = WalkScratch<Number>;

  LinearWalkOf(const LinearOrder& order, const LinearNodes& nodes, const LinearSource<T>& source,
               const LocalFrame& frame, bool cross, bool touching, const Kernels& kernels, unsigned workers,
               Interrupt& interrupt);
  LinearWalkOf(const LinearWalkOf&) = delete;
  LinearWalkOf& operator=(const LinearWalkOf&) = delete;

  std::size_t task_count() const { return tasks_.size(); }
  // Box tests of all tasks that have run, including those against cells.
  std::uint64_t test_count() const { return tests_.load(std::memory_order_relaxed); }

  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const;

 private:
  // Nodes [first, end); of a leaf that is split into several tasks, the queries [query_begin, query_end).
  struct Task {
    std::uint32_t first, end;
    std::size_t query_begin, query_end;
  };
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  static constexpr bool kRounds = LinearBoxes<T, Number>::kRounds;

  std::size_t sides() const { return cross_ ? 2 : 1; }
  // The set whose boxes are tested against a list.
  std::size_t partner(std::size_t side) const { return cross_ ? 1 - side : 0; }
  std::size_t place(std::size_t set, std::size_t entry) const { return boxes_.place(set, entry); }
  const Number* box_of(std::size_t set, std::size_t node) const { return bounds_[set].data() + node * 2 * dimension_; }

  // The bounding box of all boxes of a node, for each set: of leaves from their boxes, then of others from their
  // children, which come after them.
  void bound(unsigned workers, Interrupt& interrupt) {
    with_dimension(dimension_, [&]<std::size_t D>(Dimension<D>) {
      for (std::size_t set = 0; set < sides(); ++set) {
        std::vector<Number>& bounds = bounds_[set];
        bounds.resize(nodes_.count() * 2 * D);
        in_stretches_on_threads(nodes_.count(), workers, interrupt, [&](std::size_t from, std::size_t to) {
          for (std::size_t node = from; node < to; ++node) {
            const std::size_t begin = place(set, nodes_[node].begin);
            const std::size_t end = nodes_.is_leaf(node) ? place(set, nodes_[node].end) : begin;
            for (std::size_t k = 0; k < D; ++k) {
              const Number *lower = boxes_.columns[set].lower(k), *upper = boxes_.columns[set].upper(k);
              Number low = std::numeric_limits<Number>::infinity(), high = -low;
              for (std::size_t at = begin; at < end; ++at) {
                low = lower[at] < low ? lower[at] : low;
                high = upper[at] > high ? upper[at] : high;
              }
              bounds[node * 2 * D + k] = low;
              bounds[node * 2 * D + D + k] = high;
            }
          }
        });
        for (std::size_t node = nodes_.count(); node-- > 0;) {
          const Number* box = bounds.data() + node * 2 * D;
          if (nodes_[node].parent == kNoNode) continue;
          Number* around = bounds.data() + nodes_[node].parent * 2 * D;
          for (std::size_t k = 0; k < D; ++k) {
            around[k] = std::min(around[k], box[k]);
            around[D + k] = std::max(around[D + k], box[D + k]);
          }
        }
      }
    });
  }

  // Tasks are runs of nodes. The number of tests of a node is estimated on the way down: all its boxes against all that
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

  // Brings the scratch into the state of a walk that is about to enter `node`.
  void go_to(std::uint32_t node, Scratch& scratch) const {
    scratch.start(dimension_);
    scratch.ancestors.clear();
    for (std::uint32_t at = nodes_[node].parent; at != kNoNode; at = nodes_[at].parent) scratch.ancestors.push_back(at);
    for (std::size_t k = scratch.ancestors.size(); k-- > 0;) enter(scratch.ancestors[k], scratch);
  }

  // Moves up to the parent of `node` and down to it.
  void enter(std::uint32_t node, Scratch& scratch) const {
    auto& way = scratch.way;
    const std::uint32_t parent = nodes_[node].parent;
    while (!way.empty() && way.back().node != parent) way.pop_back();
    typename Scratch::Step step{node, {0, 0}, {0, 0}};
    if (!way.empty())
      for (std::size_t side = 0; side < sides(); ++side) {
        const auto& above = way.back();
        ReachingBoxes<Number>& list = scratch.reaching[side];
        list.resize(above.end[side]);
        step.begin[side] = above.end[side];
        const LinearNode& from = nodes_[parent];
        const Number* box = box_of(partner(side), node);
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
  void take_over(const Number* const* columns, std::size_t begin, std::size_t end, const Number* box,
                 ReachingBoxes<Number>& list, Scratch& scratch, Place&& place_of) const {
    if (begin == end) return;
    room(scratch.positions, end - begin);
    list.room(end - begin);  // `columns` may be the list's own, which then point to the new memory
    const std::size_t found = overlap_({columns, begin, end, box}, scratch.positions.data());
    scratch.tests += end - begin;
    list.push(columns, scratch.positions.data(), found, place_of);
  }

  // Tests the boxes of a leaf against those that reach into it, and against each other.
  void search(std::uint32_t node, const Task& part, Scratch& scratch, PairBuffer& out) const {
    const auto step = scratch.way.back();
    const LinearNode& leaf = nodes_[node];
    ReachingBoxes<Number>& list = scratch.reaching[0];
    const std::size_t begin = place(0, leaf.begin), count = place(0, leaf.end) - begin;
    list.room(count);
    list.push_run(boxes_.columns[0], begin, begin + count);
    const std::size_t first = std::min(part.query_begin, count), last = std::min(part.query_end, count);
    if (!cross_) {
      // The boxes of the leaf are at the end of the list: each is tested against all before it.
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

  // Tests boxes [first, last) of `set`, at most kLeafBoxes, against [begin, end) of a list; see RunsQuery for `growth`.
  void test(std::size_t set, std::size_t first, std::size_t last, std::size_t side, std::size_t begin, std::size_t end,
            std::size_t growth, Scratch& scratch, PairBuffer& out) const {
    if (first == last) return;
    const ReachingBoxes<Number>& list = scratch.reaching[side];
    // A part of a long list at a time stays in the nearest cache, and bounds the number of hits.
    constexpr std::size_t kStretch = 512;
    scratch.hits.resize(kLeafBoxes * (kStretch + kLeafBoxes) + 1);
    for (; end - begin > kStretch; begin += kStretch)
      test_stretch(set, {boxes_.columns[set].pointers(), first, last, list.columns(), begin, begin + kStretch, 0}, side,
                   scratch, out);
    test_stretch(set, {boxes_.columns[set].pointers(), first, last, list.columns(), begin, end, growth}, side, scratch,
                 out);
  }
  void test_stretch(std::size_t set, const RunsQuery<Number>& query, std::size_t side, Scratch& scratch,
                    PairBuffer& out) const {
    const std::size_t queries = query.last - query.first;
    scratch.tests += queries * (query.end - query.begin) + query.growth * (queries * (queries - 1) / 2);
    const std::size_t hits = overlaps_(query, scratch.hits.data());
    if constexpr (kRounds) {
      with_dimension(dimension_,
                     [&]<std::size_t D>(Dimension<D>) { put_decided<D>(query, set, side, scratch, hits, out); });
    } else {
      const std::int32_t *rows = boxes_.rows[set].data(), *others = boxes_.rows[side].data();
      const std::uint32_t* places = scratch.reaching[side].places();
      put_hits(
          scratch.hits.data(), hits, first_row(cross_, set == 1), [rows](std::uint32_t box) { return rows[box]; },
          [=](std::uint32_t position) { return others[places[position]]; }, out);
    }
  }

  // As put_hits(), without hits that are none as they were given. Nearly all of them surely are hits, and the given
  // boxes are read for the others alone.
  template <std::size_t D>
  void put_decided(const RunsQuery<float>& query, std::size_t set, std::size_t side, const Scratch& scratch,
                   std::size_t hits, PairBuffer& out) const
    requires kRounds
  {
    std::size_t most = 0;
    for (std::size_t k = 0; k < hits; ++k) most += count_lanes(scratch.hits[k].lanes);
    if (most == 0) return;
    const bool counting = out.counts_only();
    if (!counting) out.room(most);
    std::int32_t *first = out.first(), *second = out.second();
    const std::int32_t *rows = boxes_.rows[set].data(), *others = boxes_.rows[side].data();
    const std::uint32_t* places = scratch.reaching[side].places();
    const FirstRow which = first_row(cross_, set == 1);
    const float* column[2 * D];
    std::copy_n(query.columns, 2 * D, column);
    std::size_t pairs = 0;
    const RunHits *hit = scratch.hits.data(), *const end = hit + hits;
    while (hit != end) {
      const std::uint32_t box = hit->box;
      const std::int32_t own = rows[box];
      float outer[2 * D], inner[2 * D];
      for (std::size_t k = 0; k < 2 * D; ++k) outer[k] = query.boxes[k][box];
      move_inwards(outer, D, inner);
      for (; hit != end && hit->box == box; ++hit)
        for (std::uint32_t lanes = hit->lanes; lanes != 0; lanes &= lanes - 1) {
          const std::uint32_t position = hit->position + static_cast<std::uint32_t>(std::countr_zero(lanes));
          const std::int32_t other = others[places[position]];
          if (!surely_overlaps<D>(inner, column, position) && !overlap(set, own, side, other)) continue;
          if (!counting) {
            const bool swapped = which == FirstRow::kLower ? other < own : which == FirstRow::kOther;
            // Without a branch: which row is the lower one cannot be predicted.
            const std::int32_t change = (own ^ other) & -static_cast<std::int32_t>(swapped);
            first[pairs] = own ^ change;
            second[pairs] = other ^ change;
          }
          ++pairs;
        }
    }
    if (counting)
      out.add_count(pairs);
    else
      out.commit(pairs);
  }
  bool overlap(std::size_t set, std::int32_t row, std::size_t side, std::int32_t other) const {
    const BoxView<T>&a = set == 0 ? source_.first : source_.second, &b = side == 0 ? source_.first : source_.second;
    const auto p = static_cast<std::size_t>(row), q = static_cast<std::size_t>(other);
    return overlaps(a.lower_of(p), a.upper_of(p), b.lower_of(q), b.upper_of(q), dimension_, touching_, source_.grow);
  }

  static void room(std::vector<std::uint32_t>& positions, std::size_t count) {
    if (positions.size() < count + 64) positions.resize(count + count / 2 + 256);
  }

  const LinearNodes& nodes_;
  LinearSource<T> source_;
  std::size_t dimension_;
  bool cross_, touching_;
  OverlapRun<Number> overlap_;
  OverlapRuns<Number> overlaps_;
  LinearBoxes<T, Number> boxes_;
  std::vector<Number> bounds_[2];
  std::vector<Task> tasks_;
  mutable std::atomic<std::uint64_t> tests_{0};
};

template <class T, class Number>
LinearWalkOf<T, Number>::LinearWalkOf(const LinearOrder& order, const LinearNodes& nodes, const LinearSource<T>& source,
                                      const LocalFrame& frame, bool cross, bool touching, const Kernels& kernels,
                                      unsigned workers, Interrupt& interrupt)
    : nodes_(nodes),
      source_(source),
      dimension_(source.dimension),
      cross_(cross),
      touching_(touching),
      overlap_(overlap_kernels<Number>(kernels, touching || kRounds).run[source.dimension - 1]),
      overlaps_(overlap_kernels<Number>(kernels, touching || kRounds).runs[source.dimension - 1]),
      boxes_(order, source, frame, cross, touching, workers, interrupt) {
  if (nodes.count() == 0) return;
  bound(workers, interrupt);
  plan(interrupt);
}

template <class T, class Number>
void LinearWalkOf<T, Number>::run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
  const Task& part = tasks_[task];
  go_to(part.first, scratch);
  for (std::uint32_t node = part.first; node < part.end; ++node) {
    enter(node, scratch);
    if (nodes_.is_leaf(node)) search(node, part, scratch, out);
  }
  tests_.fetch_add(scratch.tests, std::memory_order_relaxed);
}

// The walk over boxes as they were given, or, of doubles that floats can tell apart, over floats: those take half of
// the memory, and twice as many are tested at a time.
template <class T>
class LinearWalk {
 public:
  struct Scratch {
    WalkScratch<T> given;
    WalkScratch<float> rounded;
  };

  LinearWalk(const LinearOrder& order, const LinearNodes& nodes, const LinearWorld& world,
             const LinearSource<T>& source, bool cross, bool touching, const Kernels& kernels, unsigned workers,
             Interrupt& interrupt);

  std::size_t task_count() const { return rounded_ ? rounded_->task_count() : given_->task_count(); }
  std::uint64_t test_count() const { return rounded_ ? rounded_->test_count() : given_->test_count(); }
  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
    if (rounded_)
      rounded_->run(task, scratch.rounded, out);
    else
      given_->run(task, scratch.given, out);
  }

 private:
  // Whether floats do not tell many boxes of a set from others near them.
  static bool are_blurred(const LinearOrder& order, const LinearWorld& world, const LinearSource<T>& source, bool cross,
                          bool second) {
    Extent<T> bulk;
    for (std::size_t k = 0; k < source.dimension; ++k) {
      bulk.low[k] = static_cast<T>(world.low[k]);
      bulk.high[k] = static_cast<T>(world.high[k]);
    }
    const GrownBoxes<T> boxes{second ? source.second : source.first, source.dimension, source.grow};
    if (!cross) return is_blurred(bulk, boxes, order.size(), [&](std::size_t at) { return order.item[at]; });
    std::vector<std::uint32_t> rows;
    for (const std::uint32_t item : order.item)
      if ((item >= source.first_count) == second)
        rows.push_back(static_cast<std::uint32_t>(second ? item - source.first_count : item));
    return is_blurred(bulk, boxes, rows.size(), [&](std::size_t at) { return rows[at]; });
  }

  // One of them.
  std::optional<LinearWalkOf<T, T>> given_;
  std::optional<LinearWalkOf<double, float>> rounded_;
};

template <class T>
LinearWalk<T>::LinearWalk(const LinearOrder& order, const LinearNodes& nodes, const LinearWorld& world,
                          const LinearSource<T>& source, bool cross, bool touching, const Kernels& kernels,
                          unsigned workers, Interrupt& interrupt) {
  LocalFrame frame;
  if constexpr (std::is_same_v<T, double>) {
    if (!are_blurred(order, world, source, cross, false) && !(cross && are_blurred(order, world, source, true, true))) {
      frame = frame_between(world.low, world.high, source.dimension, false);
      rounded_.emplace(order, nodes, source, frame, cross, touching, kernels, workers, interrupt);
      return;
    }
  }
  given_.emplace(order, nodes, source, frame, cross, touching, kernels, workers, interrupt);
}

// ---- Covered leaves: all pairs by visiting, from each box, the deepest cells that it covers ----

// Pairs of boxes within a cell are tested directly. Each box of a cell that has occupied cells within it also visits
// the deepest cells that the box covers, and from each climbs to the box's own cell, skipping cells that it has
// visited. If a box covers more of the deepest cells than there are occupied ones, it goes through the occupied ones
// instead.
//
// One set of boxes. Refers to its arguments.
template <class T>
class CoveredLeaves {
 public:
  struct Scratch {
    std::vector<std::uint32_t> positions;
    std::vector<std::uint32_t> visited;  // for each cell, the last entry that visited it
    std::uint64_t tests = 0;
  };

  CoveredLeaves(const LinearOrder& order, const LinearCells& cells, const LinearWorld& world,
                const LinearSource<T>& source, bool touching, const Kernels& kernels, unsigned workers,
                Interrupt& interrupt);
  CoveredLeaves(const CoveredLeaves&) = delete;
  CoveredLeaves& operator=(const CoveredLeaves&) = delete;

  std::size_t task_count() const { return tasks_.size(); }
  std::uint64_t test_count() const { return tests_.load(std::memory_order_relaxed); }

  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const;

 private:
  // The entries in [begin, end) of cells [cell, cell_end).
  struct Task {
    std::size_t cell, cell_end, begin, end;
  };

  void plan() {
    std::size_t pending = kTaskCandidates;
    for (std::size_t cell = 0; cell < cells_.count(); ++cell) {
      const std::size_t begin = cells_.begin(cell), end = cells_.begin(cell + 1);
      const std::size_t below = cells_.begin(cells_.behind(cell)) - begin, work = (end - begin) * below;
      if (work <= kTaskCandidates) {
        if (pending + work > kTaskCandidates) {
          tasks_.push_back({cell, cell, begin, begin});
          pending = 0;
        }
        tasks_.back().cell_end = cell + 1;
        tasks_.back().end = end;
        pending += work;
        continue;
      }
      const std::size_t rows = std::max<std::size_t>(1, kTaskCandidates / below);
      for (std::size_t at = begin; at < end; at += rows)
        tasks_.push_back({cell, cell + 1, at, std::min(end, at + rows)});
      pending = kTaskCandidates;
    }
  }

  template <std::size_t D>
  void visit(const CellMap<D>& map, std::size_t cell, std::size_t entry, Scratch& scratch, PairBuffer& out) const {
    std::uint64_t low[D], high[D];
    const std::size_t within = cells_.behind(cell) - cell;
    double covered = 1;
    for (std::size_t k = 0; k < D; ++k) {
      low[k] = map.coordinate(static_cast<double>(boxes_.columns[0].lower(k)[entry]), k);
      high[k] = std::max(low[k], map.coordinate(static_cast<double>(boxes_.columns[0].upper(k)[entry]), k));
      covered *= static_cast<double>(high[k] - low[k] + 1);
    }
    if (covered > static_cast<double>(within)) {
      for (std::size_t other = cell + 1; other < cell + within; ++other)
        if (meets<D>(other, low, high)) search(other, entry, scratch, out);
      return;
    }
    std::uint64_t at[D];
    std::copy_n(low, D, at);
    for (;;) {
      for (std::uint32_t other = cells_.around(morton_number<D>(at)); other != cell; other = cells_.parent(other)) {
        if (scratch.visited[other] == entry) break;
        scratch.visited[other] = static_cast<std::uint32_t>(entry);
        search(other, entry, scratch, out);
      }
      std::size_t k = 0;
      while (k < D && at[k] == high[k]) {
        at[k] = low[k];
        ++k;
      }
      if (k == D) return;
      ++at[k];
    }
  }
  template <std::size_t D>
  bool meets(std::size_t cell, const std::uint64_t* low, const std::uint64_t* high) const {
    const std::size_t up = cells_.keys().depth - cells_.level(cell);
    const auto at = morton_cell(cells_.number(cell), D);
    for (std::size_t k = 0; k < D; ++k)
      if (low[k] >> up > at[k] || high[k] >> up < at[k]) return false;
    return true;
  }

  void search(std::size_t cell, std::size_t entry, Scratch& scratch, PairBuffer& out) const {
    test(entry, cells_.begin(cell), cells_.begin(cell + 1), scratch, out);
  }
  void test(std::size_t entry, std::size_t begin, std::size_t end, Scratch& scratch, PairBuffer& out) const {
    if (begin >= end) return;
    if (scratch.positions.size() < end - begin + 64) scratch.positions.resize(end - begin + 64);
    T box[8];
    boxes_.columns[0].gather(entry, box);
    scratch.tests += end - begin;
    const std::size_t found = overlap_({boxes_.columns[0].pointers(), begin, end, box}, scratch.positions.data());
    if (found == 0) return;
    if (out.counts_only()) {
      out.add_count(found);
      return;
    }
    out.room(found);
    const std::int32_t row = boxes_.rows[0][entry];
    for (std::size_t k = 0; k < found; ++k) {
      const std::int32_t other = boxes_.rows[0][scratch.positions[k]];
      out.first()[k] = std::min(row, other);
      out.second()[k] = std::max(row, other);
    }
    out.commit(found);
  }

  const LinearCells& cells_;
  LinearWorld world_;
  std::size_t dimension_;
  OverlapRun<T> overlap_;
  LinearBoxes<T> boxes_;
  std::vector<Task> tasks_;
  mutable std::atomic<std::uint64_t> tests_{0};
};

template <class T>
CoveredLeaves<T>::CoveredLeaves(const LinearOrder& order, const LinearCells& cells, const LinearWorld& world,
                                const LinearSource<T>& source, bool touching, const Kernels& kernels, unsigned workers,
                                Interrupt& interrupt)
    : cells_(cells),
      world_(world),
      dimension_(source.dimension),
      overlap_(overlap_kernels<T>(kernels, touching).run[source.dimension - 1]),
      boxes_(order, source, LocalFrame(), false, touching, workers, interrupt) {
  plan();
}

template <class T>
void CoveredLeaves<T>::run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
  scratch.visited.resize(cells_.count(), kNotOccupied);
  scratch.tests = 0;
  with_dimension(dimension_, [&]<std::size_t D>(Dimension<D>) {
    const CellMap<D> map(world_, cells_.keys().depth);
    const Task& part = tasks_[task];
    for (std::size_t cell = part.cell; cell < part.cell_end; ++cell) {
      const std::size_t end = cells_.begin(cell + 1);
      for (std::size_t entry = std::max(part.begin, cells_.begin(cell)); entry < std::min(part.end, end); ++entry) {
        test(entry, entry + 1, end, scratch, out);
        if (cells_.behind(cell) > cell + 1) visit<D>(map, cell, entry, scratch, out);
      }
    }
  });
  tests_.fetch_add(scratch.tests, std::memory_order_relaxed);
}

// ---- The one-shot method ----

// Quadtree, octree and their like in one and four dimensions; satisfies Method. After G. M. Morton (1966) for the
// numbering of cells and I. Gargantini (1982) for a tree that is only a sorted list of them. The level of a box follows
// from the numbers of its corners' cells. Only the boxes are stored, so the depth costs no memory.
template <class T>
class LinearTree {
 public:
  using Scratch = typename LinearWalk<T>::Scratch;
  static constexpr bool kReadsAgain = true;  // precondition: nobody writes to the boxes meanwhile

  LinearTree(const Problem<T>& problem, const Preparation& with)
      : source_(source_of(problem)),
        order_(file(problem, with)),
        nodes_(order_, with.workers, with.interrupt),
        walk_(order_, nodes_, world_, source_, problem.cross, problem.touching, with.kernels, with.workers,
              with.interrupt) {}
  LinearTree(const LinearTree&) = delete;
  LinearTree& operator=(const LinearTree&) = delete;

  std::size_t task_count() const { return walk_.task_count(); }
  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const { walk_.run(task, scratch, out); }
  std::uint64_t test_count() const { return walk_.test_count(); }

 private:
  static LinearSource<T> source_of(const Problem<T>& problem) {
    return {problem.first, problem.second, problem.first.count, problem.dimension, problem.grow};
  }
  LinearOrder file(const Problem<T>& problem, const Preparation& with);

  LinearSource<T> source_;
  LinearWorld world_;
  LinearOrder order_;
  LinearNodes nodes_;
  LinearWalk<T> walk_;
};

template <class T>
LinearOrder LinearTree<T>::file(const Problem<T>& problem, const Preparation& with) {
  const std::size_t count = problem.first.count + (problem.cross ? problem.second.count : 0);
  std::vector<std::uint32_t> items(count);
  for (std::size_t item = 0; item < count; ++item) items[item] = static_cast<std::uint32_t>(item);
  world_ = world_around(source_, items.data(), count, with.workers, with.interrupt);
  const std::size_t depth = measured_depth(source_, items, world_, with.interrupt);
  LinearOrder order = make_order(source_, items, world_, depth, with.workers, with.interrupt);
  order_crowds(source_, order, kLeafBoxes, with.kernels, with.workers, with.interrupt);
  return order;
}

// Compiled once: linear_tree.cpp.
extern template class LinearWalkOf<float, float>;
extern template class LinearWalkOf<double, double>;
extern template class LinearWalkOf<double, float>;
extern template class LinearWalk<float>;
extern template class LinearWalk<double>;
extern template class CoveredLeaves<float>;
extern template class CoveredLeaves<double>;
extern template class LinearTree<float>;
extern template class LinearTree<double>;

}  // namespace broadphase
