// Many queries of a tree of blocks, or of one tree for each key: in which order they are answered, on how many threads,
// and where the answers go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/radix_sort.hpp"
#include "batches/distinct_trees.hpp"
#include "batches/forest.hpp"
#include "batches/matching_trees.hpp"
#include "filters.hpp"
#include "index.hpp"
#include "tree/queries.hpp"

namespace broadphase::python {

// The places of queries around points, or of others that begin at them.
inline BoxView<double> places_of(const double* points, std::size_t count, std::size_t dimension) {
  const auto stride = static_cast<std::ptrdiff_t>(dimension);
  return {points, points, stride, stride, count};
}

// What all queries have in common: the tree, the exact boxes of its rows, and the filter.
class ManyQueries {
 public:
  ManyQueries(const BlockIndex& index, const AnyBoxes& boxes, const QueryFilter& filter)
      : ManyQueries(index, boxes, filter, index.matching) {}
  // `trees` are those of the rows of the index, if it is a copy of another one. With `copies`, the queries may be in
  // the tree of rows that differ.
  ManyQueries(const BlockIndex& index, const AnyBoxes& boxes, const QueryFilter& filter, const MatchingTrees& trees,
              std::optional<SearchForCopies> copies = std::nullopt)
      : index_(index),
        boxes_(boxes),
        trees_(trees),
        matching_(tree_for_all(index, boxes, filter, trees)),
        filter_(matching_ != nullptr ? filter.without_layers() : filter),
        queries_(tree(), boxes_, filter_, chosen_kernels()),
        rows_(boxes.count()),
        can_match_((filter_.has_layers() || ignores_many()) && has_inner_blocks(tree())) {
    if (copies && index.forest == nullptr && matching_ == nullptr && has_inner_blocks(tree()))
      copies_.emplace(*std::move(copies));
    if (can_match_ && (ignores_many() || filter_.version == QueryFilter::kNoVersion)) of_call_.emplace();
  }
  ManyQueries(const BlockIndex& index, const AnyArray& lower, const AnyArray& upper, const RowFilter* filter)
      : ManyQueries(index, any_boxes(lower, upper), filter != nullptr ? filter->get() : QueryFilter()) {}
  ManyQueries(const ManyQueries&) = delete;
  ManyQueries& operator=(const ManyQueries&) = delete;

  // Lets queries for the nearest boxes, or for those touched, be in the tree of boxes that differ. Where the filter
  // leaves out many, they are in the tree of the others.
  void look_for_equal_boxes() {
    if (index_.forest == nullptr && matching_ == nullptr && has_inner_blocks(tree()) && !can_match_)
      copies_.emplace(index_.search_for_equal(boxes_));
  }

  // search(queries, query, scratch, rows) appends the result of a query; `places` are the boxes that they search about.
  template <class Scratch, class T, class Search>
  nb::object ragged(const BoxView<T>& places, std::size_t dimension, unsigned workers, const Search& search) const {
    return as_tuple(at_work([&](Interrupt& interrupt) {
      const std::vector<std::uint32_t> order = order_of(places, dimension, interrupt);
      return collect_ragged<OfWorker<Scratch>>(
          places.count, rows_, workers, interrupt,
          [&](std::size_t query, OfWorker<Scratch>& own, std::vector<std::int32_t>& rows) {
            search(own.queries.of(*this, query), query, own.scratch, rows);
          },
          order.empty() ? nullptr : order.data());
    }));
  }

  // search(queries, query, scratch) stores the result of a query itself. read_ahead_of(query) is called a little
  // earlier, where queries do not follow each other in memory.
  template <class Scratch, class Ahead, class Search>
  void each(const BoxView<double>& places, std::size_t dimension, unsigned workers, const Ahead& read_ahead_of,
            const Search& search) const {
    each<Scratch>(places, dimension, workers, read_ahead_of, search, [](Scratch&) {});
  }
  // finish(scratch) is called for each thread at the end.
  template <class Scratch, class Ahead, class Search, class Finish>
  void each(const BoxView<double>& places, std::size_t dimension, unsigned workers, const Ahead& read_ahead_of,
            const Search& search, const Finish& finish) const {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    in_order<Scratch>(order_of(places, dimension, interrupt), places.count, workers, interrupt, read_ahead_of, search,
                      finish);
  }

  // The same in their own order, or tree by tree: where several are under way at a time, and search(queries, query,
  // scratch) may store the results of queries before; finish(queries, scratch) stores what is left.
  template <class Scratch, class Search, class Finish>
  void each_interleaved(const BoxView<double>& places, std::size_t dimension, unsigned workers, const Search& search,
                        const Finish& finish) const {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    std::vector<std::uint32_t> order;
    if (has_keys()) order = order_of(places, dimension, interrupt);
    in_order<Scratch>(
        order, places.count, workers, interrupt, [](std::size_t) {}, search,
        [&](Scratch& scratch) { finish(queries_, scratch); });
  }

  // The same for groups of points near each other. search(queries, group, count, scratch, rows, ended) appends the
  // results of a group, and calls ended(query) after each.
  template <class Scratch, class Search>
  nb::object ragged_groups(const BoxView<double>& places, std::size_t dimension, unsigned workers,
                           const Search& search) const {
    return as_tuple(at_work([&](Interrupt& interrupt) {
      Ragged answers;
      const Groups groups(nearby_order(places, dimension, chosen_kernels(), interrupt), kTogether, nullptr);
      answers.offsets.assign(places.count + 1, 0);
      const Ragged grouped = collect_ragged<OfWorker<Scratch>>(
          groups.count(), rows_, workers, interrupt,
          [&](std::size_t group, OfWorker<Scratch>& own, std::vector<std::int32_t>& rows) {
            groups.read_ahead_of(group + 1, places);
            std::size_t before = rows.size();
            const auto ended = [&](std::size_t query) {
              answers.offsets[query + 1] = static_cast<std::int64_t>(rows.size() - before);
              before = rows.size();
            };
            search(own.queries.of_all(*this), groups.begin(group), groups.size(group), own.scratch, rows, ended);
          });
      for (std::size_t k = 0; k < places.count; ++k) answers.offsets[k + 1] += answers.offsets[k];
      answers.rows.resize(grouped.rows.size());
      auto from = grouped.rows.begin();
      for (const std::uint32_t query : groups.order) {
        const std::int64_t begin = answers.offsets[query], length = answers.offsets[query + 1] - begin;
        std::copy_n(from, length, answers.rows.begin() + begin);
        from += length;
      }
      return answers;
    }));
  }

  // search(queries, group, count, scratch) stores the results of a group itself, of one tree. finish(scratch) as of
  // each().
  template <class Scratch, class Search>
  void each_group(const BoxView<double>& places, std::size_t dimension, unsigned workers, const Search& search) const {
    each_group<Scratch>(places, dimension, workers, search, [](Scratch&) {});
  }
  template <class Scratch, class Search, class Finish>
  void each_group(const BoxView<double>& places, std::size_t dimension, unsigned workers, const Search& search,
                  const Finish& finish) const {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    const Groups groups(order_in_trees(places, dimension, interrupt), Scratch::kGroup, index_.tree_of);
    const std::size_t together = (queries_together(rows_) + Scratch::kGroup - 1) / Scratch::kGroup;
    std::vector<OfWorker<Scratch>> own(std::max(1u, workers));
    for_each_task((groups.count() + together - 1) / together, workers, interrupt,
                  [&](unsigned worker, std::size_t task) {
                    for (std::size_t k = task * together; k < std::min(groups.count(), (task + 1) * together); ++k) {
                      groups.read_ahead_of(k + 1, places);
                      const std::uint32_t* group = groups.begin(k);
                      Asking& asking = own[worker].queries;
                      const TreeQueries& queries = has_keys() ? asking.of(*this, *group) : asking.of_all(*this);
                      search(queries, group, groups.size(k), own[worker].scratch);
                    }
                  });
    for (OfWorker<Scratch>& worker : own) finish(worker.scratch);
  }

  // The tree of the rows that all queries match, if it is known. Then their layers need no test.
  static MatchingTree tree_for_all(const BlockIndex& index, const AnyBoxes& boxes, const QueryFilter& filter,
                                   const MatchingTrees& trees) {
    if (index.forest != nullptr || !filter.is_uniform || filter.version == QueryFilter::kNoVersion) return nullptr;
    const auto make = [&] {
      return tree_of_matching(index.walked(), boxes, filter.without_ignored(), 0, chosen_kernels());
    };
    return trees.get(LayerMatch::of(filter, 0), filter.version, make).tree;
  }

  bool can_interleave() const { return index_.forest != nullptr || queries_.can_interleave(); }
  // Whether groups of so many queries may walk together: of those with keys, each group in a tree that can.
  bool walks_together(std::size_t wanted, std::size_t count) const {
    return queries_.walks_together(wanted) && are_groups(count);
  }
  // The same where the caller tests rows, and the filter, of its own.
  bool can_walk_together(std::size_t wanted, std::size_t count) const {
    return queries_.can_walk_together(wanted) && are_groups(count);
  }
  bool has_keys() const { return index_.forest != nullptr; }
  // What is left to be tested for the rows of the tree.
  const QueryFilter& filter() const { return filter_; }

 private:
  // One tree of a forest, as if it were alone.
  struct Walked {
    std::uint32_t number;
    BlockTree tree;
    TreeQueries queries;
    Walked(const Forest& forest, std::uint32_t of, const AnyBoxes& boxes, const QueryFilter& filter, Forest::Room& room)
        : number(of), tree(forest.tree_of(of, boxes, room)), queries(tree, boxes, filter, chosen_kernels()) {}
  };
  // The queries as one thread asks them. Those by layers, and those that ignore many rows, look among all rows, until
  // so many were rejected that those that match are given a tree.
  class Asking {
   public:
    Asking() = default;
    ~Asking() {
      if (copies_ == nullptr) return;
      note_visits();
      if (!is_decided_ && lost_ > added_) add_lost(true);
    }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

    const TreeQueries& of_all(const ManyQueries& all) {
      if (all.copies_) look_for_copies(all);
      if (distinct_ != nullptr) return *among_distinct_;
      return used(among_all(all));
    }
    const TreeQueries& of(const ManyQueries& all, std::size_t query) {
      if (all.copies_) look_for_copies(all);
      const TreeQueries& found = among_matching(all, query);
      if (distinct_ == nullptr) return used(found);
      return last_ != nullptr && &found == &*last_->queries ? last_->among(*distinct_, all) : *among_distinct_;
    }

   private:
    const TreeQueries& among_all(const ManyQueries& all) {
      if (!all_) all_.emplace(all.queries_);
      return *all_;
    }
    const TreeQueries& among_matching(const ManyQueries& all, std::size_t query) {
      if (all.index_.forest != nullptr) {
        const std::uint32_t number = all.index_.tree_of[query];
        if (!walked_ || walked_->number != number)
          walked_.emplace(*all.index_.forest, number, all.boxes_, all.filter_, room_);
        return walked_->queries;
      }
      if (!all.can_match_) return among_all(all);
      const LayerMatch match = LayerMatch::of(all.filter_, query);
      if (last_ == nullptr || !(last_->match == match)) {
        const auto known =
            std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& kind) { return kind->match == match; });
        if (known == kinds_.end() && kinds_.size() == kMostKinds) return among_all(all);
        last_ =
            known != kinds_.end() ? known->get() : kinds_.emplace_back(std::make_unique<Kind>(all, match, query)).get();
      }
      if (!last_->is_decided && last_->rejected() >= last_->looked_at + all.rows_ / kLooks)
        last_->look(all, query, MatchingTrees::enough(all.rows_));
      return *last_->queries;
    }

    // Decides, where queries have visited many rows by now, whether these are copies.
    void look_for_copies(const ManyQueries& all) {
      if (copies_ == nullptr) {
        copies_ = &*all.copies_;
        take(all, copies_->get());
      }
      if (is_decided_) return;
      note_visits();
      if (lost_ >= added_ + all.rows_ / kLooks) take(all, add_lost(false));
    }
    DistinctTrees::State add_lost(bool is_last) {
      return copies_->add_lost(lost_ - std::exchange(added_, lost_), is_last);
    }
    void take(const ManyQueries& all, const DistinctTrees::State& state) {
      is_decided_ = state.is_decided;
      if (state.tree == nullptr) return;
      distinct_ = state.tree;
      among_distinct_.emplace(distinct_->tree, all.boxes_, all.filter_, chosen_kernels(), distinct_->next_copy.data());
    }
    const TreeQueries& used(const TreeQueries& queries) {
      used_ = &queries;
      visited_ = queries.visited();
      return queries;
    }
    void note_visits() {
      if (used_ != nullptr) lost_ += DistinctTrees::lost(used_->visited() - visited_);
      used_ = nullptr;
    }

    static constexpr std::size_t kMostKinds = 16, kLooks = 4;
    struct Kind {
      const MatchingTrees& trees;
      LayerMatch match;
      std::uint64_t version;
      MatchingTree tree{};
      std::optional<TreeQueries> queries{};
      std::uint64_t looked_at = 0;  // when so many rows were rejected
      bool is_decided = false, is_among_distinct = false;

      Kind(const ManyQueries& all, const LayerMatch& of, std::size_t query)
          : trees(all.trees()), match(of), version(all.filter_.version) {
        queries.emplace(all.queries_);
        if (all.ignores_nearly_all())
          look(all, query, 0);
        else
          take(all, trees.get(match, version, [&] { return all.tree_for(query); }));
      }
      ~Kind() {
        if (!is_decided) tell();
      }
      Kind(const Kind&) = delete;
      Kind& operator=(const Kind&) = delete;

      // Unless it has a tree of rows that match, looks among those that differ: what is rejected there counts as well.
      const TreeQueries& among(const DistinctTree& distinct, const ManyQueries& all) {
        if (tree == nullptr && !is_among_distinct) {
          if (!is_decided) tell();
          is_among_distinct = true;
          looked_at = 0;
          queries.emplace(distinct.tree, all.boxes_, all.filter_, chosen_kernels(), distinct.next_copy.data());
        }
        return *queries;
      }
      // How many rows were rejected in vain. Of copies, a few may be before one that matches: in a tree of those that
      // do, many would follow it.
      std::uint64_t rejected() const {
        constexpr std::uint64_t kCopies = 16;
        const std::uint64_t all = queries->rejected(), few = is_among_distinct ? kCopies * queries->visited() : 0;
        return all > few ? std::max(all - few, looked_at) : looked_at;
      }
      // Says so, without a decision.
      void tell() {
        trees.add_lost(match, version, rejected() - looked_at, kNever, [] { return nullptr; });
      }
      void look(const ManyQueries& all, std::size_t query, std::uint64_t enough) {
        const std::uint64_t more = rejected() - looked_at;
        looked_at += more;
        take(all, trees.add_lost(match, version, more, enough, [&] { return all.tree_for(query); }));
      }
      // Rows are still tested by the filter: with others, queries may be at their end in another tree.
      void take(const ManyQueries& all, const MatchingTrees::State& state) {
        is_decided = state.is_decided;
        if (state.tree == nullptr) return;
        tree = state.tree;
        queries.emplace(*tree, all.boxes_, all.filter_, chosen_kernels());
      }
      static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
    };

    std::optional<TreeQueries> all_;
    Forest::Room room_{};           // before what lies in it
    std::optional<Walked> walked_;  // by the last query
    std::vector<std::unique_ptr<Kind>> kinds_;
    Kind* last_ = nullptr;

    const SearchForCopies* copies_ = nullptr;
    std::shared_ptr<const DistinctTree> distinct_;  // null: not known, or there are few copies
    std::optional<TreeQueries> among_distinct_;
    const TreeQueries* used_ = nullptr;  // by the last query, and how many rows it had visited before
    std::uint64_t visited_ = 0, lost_ = 0, added_ = 0;
    bool is_decided_ = false;
  };
  template <class Scratch>
  struct OfWorker {
    Scratch scratch;
    Asking queries{};
  };

  const BlockTree& tree() const { return matching_ != nullptr ? *matching_ : index_.walked(); }
  MatchingTree tree_for(std::size_t query) const {
    const QueryFilter filter = ignores_many() ? filter_ : filter_.without_ignored();
    return tree_of_matching(tree(), boxes_, filter, query, chosen_kernels());
  }
  // Rows that all queries ignore have no share in the tree of a call, if they are many. If they are nearly all, it is
  // packed at once: it takes no longer than to hand them over.
  bool ignores_many() const {
    return filter_.ignored_step == 0 && filter_.ignored_count > QueryFilter::kFewIgnored &&
           filter_.ignored_count >= rows_ / 4;
  }
  bool ignores_nearly_all() const { return ignores_many() && filter_.ignored_count >= rows_ - rows_ / 8; }
  const MatchingTrees& trees() const { return of_call_ ? *of_call_ : trees_; }

  template <class Scratch, class Ahead, class Search, class Finish>
  void in_order(const std::vector<std::uint32_t>& order, std::size_t count, unsigned workers, Interrupt& interrupt,
                const Ahead& read_ahead_of, const Search& search, const Finish& finish) const {
    constexpr std::size_t kAhead = 8;
    const std::size_t together = queries_together(rows_), tasks = (count + together - 1) / together;
    std::vector<OfWorker<Scratch>> own(std::max(1u, workers));
    for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
      for (std::size_t k = task * together; k < std::min(count, (task + 1) * together); ++k) {
        if (k + kAhead < order.size()) read_ahead_of(order[k + kAhead]);
        const std::size_t query = order.empty() ? k : order[k];
        search(own[worker].queries.of(*this, query), query, own[worker].scratch);
      }
    });
    for (OfWorker<Scratch>& worker : own) finish(worker.scratch);
  }

  // Along a curve; queries with keys tree by tree, or as they come where these ascend.
  template <class T>
  std::vector<std::uint32_t> order_of(const BoxView<T>& places, std::size_t dimension, Interrupt& interrupt) const {
    if (index_.forest == nullptr) return nearby_order(places, dimension, chosen_kernels(), interrupt);
    std::vector<std::uint32_t> order;
    if (std::is_sorted(index_.tree_of, index_.tree_of + places.count)) return order;
    RowSorter<std::uint32_t> sorter(places.count);
    for (std::size_t k = 0; k < places.count; ++k) sorter.add(index_.tree_of[k], static_cast<std::uint32_t>(k));
    sorter.sort(interrupt);
    order.resize(places.count);
    for (std::size_t k = 0; k < places.count; ++k) order[k] = sorter.row(k);
    return order;
  }

  // As order_of(), never empty. In a large tree, queries with keys follow a curve too.
  std::vector<std::uint32_t> order_in_trees(const BoxView<double>& places, std::size_t dimension,
                                            Interrupt& interrupt) const {
    constexpr std::size_t kSmall = 256;  // rows: most queries of such a tree visit most of its blocks
    std::vector<std::uint32_t> order;
    if (index_.forest == nullptr || rows_ > kSmall * index_.forest->tree_count())
      order = nearby_order(places, dimension, chosen_kernels(), interrupt);
    if (order.empty()) {
      order.resize(places.count);
      std::iota(order.begin(), order.end(), 0u);
    }
    if (index_.forest == nullptr || std::is_sorted(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
          return index_.tree_of[a] < index_.tree_of[b];
        }))
      return order;
    RowSorter<std::uint32_t> sorter(places.count);
    for (const std::uint32_t query : order) sorter.add(index_.tree_of[query], query);
    sorter.sort(interrupt);
    for (std::size_t k = 0; k < places.count; ++k) order[k] = sorter.row(k);
    return order;
  }
  // Whether there are several queries for each tree: one alone is faster by itself.
  bool are_groups(std::size_t count) const {
    return index_.forest == nullptr || count >= kTogether / 2 * index_.forest->tree_count();
  }

  // Queries in the order of a curve, in groups of as many, or fewer where the next one is of another tree.
  struct Groups {
    Groups(std::vector<std::uint32_t> along, std::size_t most, const std::uint32_t* tree_of) : order(std::move(along)) {
      for (std::size_t at = 0; at < order.size(); ++at)
        if (starts.empty() || at - starts.back() == most ||
            (tree_of != nullptr && tree_of[order[at]] != tree_of[order[at - 1]]))
          starts.push_back(static_cast<std::uint32_t>(at));
      starts.push_back(static_cast<std::uint32_t>(order.size()));
    }
    std::size_t count() const { return starts.size() - 1; }
    std::size_t size(std::size_t group) const { return starts[group + 1] - starts[group]; }
    const std::uint32_t* begin(std::size_t group) const { return order.data() + starts[group]; }
    void read_ahead_of(std::size_t group, const BoxView<double>& places) const {
      if (group >= count()) return;
      for (std::size_t k = starts[group]; k < starts[group + 1]; ++k) read_ahead(places.lower_of(order[k]));
    }
    std::vector<std::uint32_t> order, starts;
  };

  const BlockIndex& index_;
  AnyBoxes boxes_;
  const MatchingTrees& trees_;
  MatchingTree matching_;  // of the rows that all queries match, if that is known
  QueryFilter filter_;
  TreeQueries queries_;
  std::size_t rows_;
  bool can_match_;                        // whether rows may be given a tree because they match
  std::optional<MatchingTrees> of_call_;  // where others have no use for it
  std::optional<SearchForCopies> copies_;
};

}  // namespace broadphase::python
