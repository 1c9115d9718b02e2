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
#include "batches/distinct_forest.hpp"
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
      : ManyQueries(index, boxes, filter, index.matching, Copies()) {}
  // How queries come to trees of rows that differ, those of an index or of a forest.
  struct Copies {
    std::optional<SearchForCopies> of_tree{};
    std::optional<SearchForestForCopies> of_forest{};
  };
  // `trees` are those of the rows of the index, if it is a copy of another one. With `copies`, the queries may be in a
  // tree of rows that differ.
  ManyQueries(const BlockIndex& index, const AnyBoxes& boxes, const QueryFilter& filter, const MatchingTrees& trees,
              Copies copies)
      : ManyQueries(index, boxes, filter, trees, [&](const AnyBoxes&) { return std::move(copies); }) {}
  ManyQueries(const BlockIndex& index, const AnyArray& lower, const AnyArray& upper, const RowFilter* filter)
      : ManyQueries(index, any_boxes(lower, upper), filter != nullptr ? filter->get() : QueryFilter()) {}
  ManyQueries(const ManyQueries&) = delete;
  ManyQueries& operator=(const ManyQueries&) = delete;

  // For the nearest boxes, or those touched: these may be in a tree of boxes that differ.
  static ManyQueries among_distinct(const BlockIndex& index, const AnyArray& lower, const AnyArray& upper,
                                    const RowFilter* filter) {
    return {index, any_boxes(lower, upper), filter != nullptr ? filter->get() : QueryFilter(), index.matching,
            [&](const AnyBoxes& boxes) { return equal_boxes(index, boxes); }};
  }

  // search(queries, query, scratch, rows) appends the result of a query; `places` are the boxes that they search about.
  template <class Scratch, class T, class Search>
  nb::object ragged(const BoxView<T>& places, std::size_t dimension, unsigned workers, const Search& search) const {
    return as_tuple(at_work([&](Interrupt& interrupt) {
      const std::vector<std::uint32_t> order = order_of(places, dimension, workers, interrupt);
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
    in_order<Scratch>(order_of(places, dimension, workers, interrupt), places.count, workers, interrupt, read_ahead_of,
                      search, finish);
  }

  // The same in their own order, or tree by tree: where several are under way at a time, and search(queries, query,
  // scratch) may store the results of queries before; finish(queries, scratch) stores what is left.
  template <class Scratch, class Search, class Finish>
  void each_interleaved(const BoxView<double>& places, std::size_t dimension, unsigned workers, const Search& search,
                        const Finish& finish) const {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    std::vector<std::uint32_t> order;
    if (has_keys()) order = order_of(places, dimension, workers, interrupt);
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
      RaggedBlocks answers;
      const Groups groups(nearby_order(places, dimension, chosen_kernels(), workers, interrupt), kTogether, nullptr);
      answers.begin(places.count);
      const RaggedBlocks grouped = collect_ragged<OfWorker<Scratch>>(
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
      answers.add_up();
      in_stretches_on_threads(groups.count(), workers, interrupt, [&](std::size_t first, std::size_t last) {
        const std::int32_t* from = grouped.rows.get() + grouped.offsets[first];
        for (std::size_t k = groups.starts[first]; k < groups.starts[last]; ++k) {
          const std::uint32_t query = groups.order[k];
          const std::int64_t begin = answers.offsets[query], length = answers.offsets[query + 1] - begin;
          std::copy_n(from, length, answers.rows.get() + begin);
          from += length;
        }
      });
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
    const Groups groups(order_in_trees(places, dimension, workers, interrupt), Scratch::kGroup, index_.tree_of);
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
    if (index.forest != nullptr || !is_known(filter)) return nullptr;
    const auto make = [&] {
      return tree_of_matching(index.walked(), boxes, filter.without_ignored(), 0, chosen_kernels());
    };
    return trees.get(LayerMatch::of(filter, 0), filter.version, make).tree;
  }

  // The same of the rows that differ among those.
  static std::shared_ptr<const DistinctTree> distinct_for_all(const BlockIndex& index, const QueryFilter& filter,
                                                              const BlockTree& tree, const SearchForCopies& copies) {
    if (index.forest != nullptr || !has_inner_blocks(tree) || (filter.has_layers() && !is_known(filter)))
      return nullptr;
    const LayerMatch match = LayerMatch::of(filter, 0);
    return copies.when_by(filter)
        .get(copies.trees, match, [&] { return copies.make(tree, filter.without_ignored(), 0); })
        .tree;
  }

  bool can_interleave() const { return index_.forest != nullptr || queries_.can_interleave(); }
  bool can_interleave_near(std::size_t wanted) const {
    return index_.forest == nullptr && queries_.can_interleave_near(wanted);
  }
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
  // `copies_of(boxes)`: of the boxes that this keeps.
  template <class CopiesOf>
  ManyQueries(const BlockIndex& index, const AnyBoxes& boxes, const QueryFilter& filter, const MatchingTrees& trees,
              const CopiesOf& copies_of)
      : index_(index),
        boxes_(boxes),
        trees_(trees),
        copies_(copies_of(boxes_)),
        matching_(tree_for_all(index, boxes, filter, trees)),
        distinct_(known_distinct(filter)),
        filter_(matching_ != nullptr || distinct_ != nullptr ? filter.without_layers() : filter),
        queries_(tree(), boxes_, filter_, chosen_kernels(),
                 distinct_ != nullptr ? distinct_->next_copy.data() : nullptr),
        rows_(boxes.count()),
        can_match_((filter_.has_layers() || ignores_many()) && filter_.sight == nullptr && has_inner_blocks(tree())) {
    // There may still be many copies among rows that match.
    all_match_ = matching_ != nullptr ? LayerMatch::of(filter, 0) : LayerMatch{};
    all_version_ = matching_ != nullptr ? filter.version : copies_.of_tree ? copies_.of_tree->when.version : 0;
    if (index.forest != nullptr || distinct_ != nullptr || !has_inner_blocks(tree())) copies_.of_tree.reset();
    if (can_match_ && (ignores_many() || filter_.version == QueryFilter::kNoVersion)) of_call_.emplace();
  }
  // One tree of a forest, as if it were alone; or of one of rows that differ, see DistinctTree.
  struct Walked {
    std::uint32_t number;  // of queries
    BlockTree tree;
    TreeQueries queries;
    Walked(std::uint32_t of_queries, const Forest& forest, std::uint32_t of, const ManyQueries& all, Forest::Room& room,
           const std::int32_t* next_copy)
        : number(of_queries),
          tree(forest.tree_of(of, all.boxes_, room)),
          queries(tree, all.boxes_, all.filter_, chosen_kernels(), next_copy) {}
  };

  // What queries have lost to copies so far.
  class Lost {
   public:
    // The rows that queries have visited since begin().
    void note(const TreeQueries* queries) {
      if (queries == nullptr || queries != used_) return;
      lost_ += DistinctTrees::lost(queries->visited() - visited_);
      used_ = nullptr;
    }
    const TreeQueries& begin(const TreeQueries& queries) {
      used_ = &queries;
      visited_ = queries.visited();
      return queries;
    }
    bool is_more_than(std::uint64_t count) const { return lost_ >= added_ + count; }
    // Those that have not been taken.
    std::uint64_t take() { return lost_ - std::exchange(added_, lost_); }

   private:
    const TreeQueries* used_ = nullptr;
    std::uint64_t visited_ = 0, lost_ = 0, added_ = 0;
  };
  static constexpr std::size_t kMostKinds = 16, kLooks = 4;  // what is lost is looked at so often before it is enough

  // Queries that may find the same rows, if they are by layers; or all. They look among all rows until so many were
  // rejected, or so many copies visited, that the rows that match, or those that differ, are given a tree.
  class Kind {
    auto make_matching() const {
      return [this] { return all_.tree_for(query_); };
    }
    auto make_distinct() const {
      return [this] {
        return all_.copies_.of_tree->make(matching_ != nullptr ? *matching_ : all_.tree(),
                                          is_by_match_ ? all_.shared_filter() : QueryFilter(), query_);
      };
    }

   public:
    // `query` is one of them. `is_by_match`: they may find those rows alone that match.
    Kind(const ManyQueries& all, const LayerMatch& match, std::size_t query, bool is_by_match)
        : all_(all), match_(match), query_(query), is_by_match_(is_by_match), is_matching_decided_(!is_by_match) {
      queries_.emplace(all.queries_);
      if (!is_matching_decided_) {
        if (all.ignores_nearly_all())
          look_at_rejected(0);
        else
          take(all.matching_trees().get(match_, version(), make_matching()));
      }
      are_copies_decided_ = !all.copies_.of_tree;
      if (!are_copies_decided_) take(when().get(all.distinct_trees(), match_, make_distinct()));
    }
    ~Kind() {
      if (!is_matching_decided_)
        all_.matching_trees().add_lost(match_, version(), rejected(), kNever, [] { return nullptr; });
      if (are_copies_decided_) return;
      lost_.note(&*queries_);
      if (lost_.is_more_than(1))
        when().add_lost(all_.distinct_trees(), match_, lost_.take(), true, [] { return nullptr; });
    }
    Kind(const Kind&) = delete;
    Kind& operator=(const Kind&) = delete;

    const LayerMatch& match() const { return match_; }
    // For the next query.
    const TreeQueries& next() {
      if (!are_copies_decided_) lost_.note(&*queries_);
      if (!is_matching_decided_ && rejected() >= all_.rows_ / kLooks)
        look_at_rejected(MatchingTrees::enough(all_.rows_));
      if (are_copies_decided_) return *queries_;
      if (lost_.is_more_than(all_.rows_ / kLooks))
        take(when().add_lost(all_.distinct_trees(), match_, lost_.take(), false, make_distinct()));
      return lost_.begin(*queries_);
    }

   private:
    static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

    std::uint64_t version() const { return all_.filter_.version; }
    WhenCopies when() const {
      WhenCopies when = all_.copies_.of_tree->when;
      when.version = is_by_match_ ? version() : all_.all_version_;
      return when;
    }
    // So many rows were rejected since they were looked at.
    std::uint64_t rejected() const { return queries_->rejected() - looked_at_; }
    void look_at_rejected(std::uint64_t enough) {
      const std::uint64_t more = rejected();
      looked_at_ += more;
      take(all_.matching_trees().add_lost(match_, version(), more, enough, make_matching()));
    }
    // Rows are still tested by the filter: with others, queries may be at their end in another tree.
    void take(const MatchingTrees::State& state) {
      is_matching_decided_ = state.is_decided;
      if (state.tree == nullptr) return;
      matching_ = state.tree;
      queries_.emplace(*matching_, all_.boxes_, all_.filter_, chosen_kernels());
    }
    // Only rows that match are in such a tree.
    void take(const DistinctTrees::State& state) {
      are_copies_decided_ = state.is_decided;
      if (state.tree == nullptr) return;
      is_matching_decided_ = true;
      distinct_ = state.tree;
      queries_.emplace(distinct_->tree, all_.boxes_, all_.filter_, chosen_kernels(), distinct_->next_copy.data());
    }

    const ManyQueries& all_;
    LayerMatch match_;
    std::size_t query_;
    MatchingTree matching_{};  // kept where the others follow: queries may be at their end in it
    std::shared_ptr<const DistinctTree> distinct_{};
    std::optional<TreeQueries> queries_{};
    bool is_by_match_, is_matching_decided_, are_copies_decided_ = true;
    std::uint64_t looked_at_ = 0;  // when so many rows were rejected
    Lost lost_{};
  };

  // The queries as one thread asks them.
  class Asking {
   public:
    Asking() = default;
    ~Asking() {
      if (of_forest_ == nullptr || are_copies_decided_) return;
      if (walked_) lost_.note(&walked_->queries);
      if (lost_.is_more_than(1)) of_forest_->add_lost(lost_.take(), true);
    }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

    const TreeQueries& of_all(const ManyQueries& all) {
      if (!all_) all_.emplace(all, all.all_match_, 0, false);
      return all_->next();
    }
    const TreeQueries& of(const ManyQueries& all, std::size_t query) {
      if (all.index_.forest != nullptr) return in_batch(all, all.index_.tree_of[query]);
      if (!all.can_match_) return of_all(all);
      const LayerMatch match = LayerMatch::of(all.filter_, query);
      if (last_ == nullptr || !(last_->match() == match)) {
        const auto known =
            std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& kind) { return kind->match() == match; });
        if (known == kinds_.end() && kinds_.size() == kMostKinds) return of_all(all);
        last_ = known != kinds_.end() ? known->get()
                                      : kinds_.emplace_back(std::make_unique<Kind>(all, match, query, true)).get();
      }
      return last_->next();
    }

   private:
    const TreeQueries& in_batch(const ManyQueries& all, std::uint32_t number) {
      if (all.copies_.of_forest && of_forest_ == nullptr) {
        of_forest_ = &*all.copies_.of_forest;
        take(of_forest_->get());
      }
      if (!are_copies_decided_) {
        if (walked_) lost_.note(&walked_->queries);
        if (lost_.is_more_than(all.rows_ / kLooks)) take(of_forest_->add_lost(lost_.take(), false));
      }
      if (!walked_ || walked_->number != number) {
        if (distinct_ != nullptr)
          walked_.emplace(number, distinct_->forest, distinct_->number_of(number), all, room_,
                          distinct_->next_copy.data());
        else
          walked_.emplace(number, *all.index_.forest, number, all, room_, nullptr);
      }
      return are_copies_decided_ ? walked_->queries : lost_.begin(walked_->queries);
    }
    void take(const DistinctForests::State& state) {
      are_copies_decided_ = state.is_decided;
      if (state.tree == nullptr) return;
      distinct_ = state.tree;
      walked_.reset();
    }

    std::optional<Kind> all_;
    std::vector<std::unique_ptr<Kind>> kinds_;
    Kind* last_ = nullptr;

    // Of the trees of a forest.
    const SearchForestForCopies* of_forest_ = nullptr;
    std::shared_ptr<const DistinctForest> distinct_;  // null: not known, or there are few copies
    Forest::Room room_{};                             // before what lies in it
    std::optional<Walked> walked_;                    // by the last query
    Lost lost_;
    bool are_copies_decided_ = true;
  };
  template <class Scratch>
  struct OfWorker {
    Scratch scratch;
    Asking queries{};
  };

  static Copies equal_boxes(const BlockIndex& index, const AnyBoxes& boxes) {
    if (index.forest == nullptr) return {index.search_for_equal(boxes), std::nullopt};
    const SearchedForest& forest = *index.forest;
    return {std::nullopt, SearchForestForCopies{
                              forest.distinct_boxes, {forest.changes(), boxes.count() / 4, false}, [&forest, &boxes] {
                                return forest_of_distinct(forest, boxes, EqualBoxes(boxes), chosen_kernels());
                              }}};
  }
  // Whether trees of rows that all queries match may be known.
  static bool is_known(const QueryFilter& filter) {
    return filter.is_uniform && filter.version != QueryFilter::kNoVersion;
  }
  std::shared_ptr<const DistinctTree> known_distinct(const QueryFilter& filter) const {
    if (!copies_.of_tree || ignores_many(filter)) return nullptr;
    return distinct_for_all(index_, filter, matching_ != nullptr ? *matching_ : index_.walked(), *copies_.of_tree);
  }

  const BlockTree& tree() const {
    return distinct_ != nullptr ? distinct_->tree : matching_ != nullptr ? *matching_ : index_.walked();
  }
  // What trees say of the rows of a query.
  QueryFilter shared_filter() const { return ignores_many() ? filter_ : filter_.without_ignored(); }
  MatchingTree tree_for(std::size_t query) const {
    return tree_of_matching(tree(), boxes_, shared_filter(), query, chosen_kernels());
  }
  // Rows that all queries ignore have no share in the tree of a call, if they are many. If they are nearly all, it is
  // packed at once: it takes no longer than to hand them over.
  bool ignores_many() const { return ignores_many(filter_); }
  bool ignores_many(const QueryFilter& filter) const {
    return filter.ignored_step == 0 && filter.ignored_count > QueryFilter::kFewIgnored &&
           filter.ignored_count >= boxes_.count() / 4;
  }
  bool ignores_nearly_all() const { return ignores_many() && filter_.ignored_count >= rows_ - rows_ / 8; }
  const MatchingTrees& matching_trees() const { return of_call_ ? of_call_->matching : trees_; }
  const DistinctTrees& distinct_trees() const { return of_call_ ? of_call_->distinct : copies_.of_tree->trees; }

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
  std::vector<std::uint32_t> order_of(const BoxView<T>& places, std::size_t dimension, unsigned workers,
                                      Interrupt& interrupt) const {
    if (index_.forest == nullptr) return nearby_order(places, dimension, chosen_kernels(), workers, interrupt);
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
  std::vector<std::uint32_t> order_in_trees(const BoxView<double>& places, std::size_t dimension, unsigned workers,
                                            Interrupt& interrupt) const {
    constexpr std::size_t kSmall = 256;  // rows: most queries of such a tree visit most of its blocks
    std::vector<std::uint32_t> order;
    if (index_.forest == nullptr || rows_ > kSmall * index_.forest->tree_count())
      order = nearby_order(places, dimension, chosen_kernels(), workers, interrupt);
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
  Copies copies_;                                 // while it is not known of all
  MatchingTree matching_;                         // of the rows that all queries match, if that is known
  std::shared_ptr<const DistinctTree> distinct_;  // the same, of those that differ
  QueryFilter filter_;
  TreeQueries queries_;
  std::size_t rows_;
  bool can_match_;  // whether rows may be given a tree because they match
  LayerMatch all_match_;
  std::uint64_t all_version_;
  struct Trees {
    MatchingTrees matching;
    DistinctTrees distinct;
  };
  std::optional<Trees> of_call_;  // where others have no use for them
};

}  // namespace broadphase::python
