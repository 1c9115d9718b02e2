// Many queries of a tree of blocks, or of one tree for each key: in which order they are answered, on how many threads,
// and where the answers go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/radix_sort.hpp"
#include "batches/forest.hpp"
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
      : index_(index),
        boxes_(boxes),
        filter_(filter),
        queries_(index.walked(), boxes_, filter_, chosen_kernels()),
        rows_(boxes.count()) {}
  ManyQueries(const BlockIndex& index, const AnyArray& lower, const AnyArray& upper, const RowFilter* filter)
      : ManyQueries(index, any_boxes(lower, upper), filter != nullptr ? filter->get() : QueryFilter()) {}

  // search(queries, query, scratch, rows) appends the result of a query; `places` are the boxes that they search about.
  template <class Scratch, class T, class Search>
  nb::object ragged(const BoxView<T>& places, std::size_t dimension, unsigned workers, const Search& search) const {
    return as_tuple(at_work([&](Interrupt& interrupt) {
      const std::vector<std::uint32_t> order = order_of(places, dimension, interrupt);
      return collect_ragged<OfWorker<Scratch>>(
          places.count, rows_, workers, interrupt,
          [&](std::size_t query, OfWorker<Scratch>& own, std::vector<std::int32_t>& rows) {
            search(queries_for(query, own), query, own.scratch, rows);
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
      const Ragged grouped = collect_ragged<Scratch>(
          groups.count(), rows_, workers, interrupt,
          [&](std::size_t group, Scratch& scratch, std::vector<std::int32_t>& rows) {
            groups.read_ahead_of(group + 1, places);
            std::size_t before = rows.size();
            search(queries_, groups.begin(group), groups.size(group), scratch, rows, [&](std::size_t query) {
              answers.offsets[query + 1] = static_cast<std::int64_t>(rows.size() - before);
              before = rows.size();
            });
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
                      search(queries_for(*group, own[worker]), group, groups.size(k), own[worker].scratch);
                    }
                  });
    for (OfWorker<Scratch>& worker : own) finish(worker.scratch);
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

 private:
  // One tree of a forest, as if it were alone.
  struct Walked {
    std::uint32_t number;
    BlockTree tree;
    TreeQueries queries;
    Walked(const Forest& forest, std::uint32_t of, const AnyBoxes& boxes, const QueryFilter& filter, Forest::Room& room)
        : number(of), tree(forest.tree_of(of, boxes, room)), queries(tree, boxes, filter, chosen_kernels()) {}
  };
  template <class Scratch>
  struct OfWorker {
    Scratch scratch;
    Forest::Room room{};             // before what lies in it
    std::optional<Walked> walked{};  // by the last query
  };

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
        search(queries_for(query, own[worker]), query, own[worker].scratch);
      }
    });
    for (OfWorker<Scratch>& worker : own) finish(worker.scratch);
  }

  template <class Scratch>
  const TreeQueries& queries_for(std::size_t query, OfWorker<Scratch>& own) const {
    if (index_.forest == nullptr) return queries_;
    const std::uint32_t number = index_.tree_of[query];
    if (!own.walked || own.walked->number != number)
      own.walked.emplace(*index_.forest, number, boxes_, filter_, own.room);
    return own.walked->queries;
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
  QueryFilter filter_;
  TreeQueries queries_;
  std::size_t rows_;
};

}  // namespace broadphase::python
