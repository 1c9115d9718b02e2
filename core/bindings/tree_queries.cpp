// Queries on any tree of blocks: functions over the base class of those indexes.
#include "tree/queries.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/radix_sort.hpp"
#include "batches/forest.hpp"
#include "filters.hpp"
#include "index.hpp"

namespace broadphase::python {

namespace {

// The places of queries around points, or of others that begin at them.
BoxView<double> places_of(const double* points, std::size_t count, std::size_t dimension) {
  const auto stride = static_cast<std::ptrdiff_t>(dimension);
  return {points, points, stride, stride, count};
}

// Moving boxes or rays, each with its limit.
class Sweeps {
 public:
  Sweeps(const Table<double>& lower, const Table<double>& upper, const Table<double>& motion,
         const Vector<double>& limit, bool is_ray)
      : lower_(lower.data()),
        upper_(upper.data()),
        motion_(motion.data()),
        limit_(limit.data()),
        count_(lower.shape(0)),
        dimension_(lower.shape(1)),
        is_ray_(is_ray) {}

  std::size_t count() const { return count_; }
  double limit(std::size_t query) const { return limit_[query]; }
  Sweep sweep(std::size_t query) const {
    Sweep result;
    result.ends = !is_ray_;
    for (std::size_t k = 0; k < dimension_; ++k) {
      result.box[k] = lower_[query * dimension_ + k];
      result.box[dimension_ + k] = upper_[query * dimension_ + k];
      result.motion[k] = motion_[query * dimension_ + k];
    }
    return result;
  }
  BoxView<double> places() const { return places_of(lower_, count_, dimension_); }
  void read_ahead_of(std::size_t query) const {
    for (const double* numbers : {lower_, upper_, motion_}) read_ahead(numbers + query * dimension_);
  }
  std::size_t dimension() const { return dimension_; }

 private:
  const double *lower_, *upper_, *motion_, *limit_;
  std::size_t count_, dimension_;
  bool is_ray_;
};

// What all queries have in common: the tree, the exact boxes of its rows, and the filter.
class Queries {
 public:
  Queries(const BlockIndex& index, const AnyArray& lower, const AnyArray& upper, const RowFilter* filter)
      : index_(index),
        boxes_(any_boxes(lower, upper)),
        filter_(filter != nullptr ? filter->get() : QueryFilter()),
        queries_(index.walked(), boxes_, filter_, chosen_kernels()),
        rows_(lower.shape(0)) {}

  // search(queries, query, scratch, rows) appends the result of a query; `places` are the boxes that they search about.
  template <class Scratch, class T, class Search>
  nb::object ragged(const BoxView<T>& places, std::size_t dimension, unsigned workers, const Search& search) const {
    return as_tuple(at_work([&](Interrupt& interrupt) {
      const std::vector<std::uint32_t> order = order_of(places, dimension, interrupt);
      return collect_ragged<OfWorker<Scratch>>(
          places.count, rows_, workers, interrupt,
          [&](std::size_t query, OfWorker<Scratch>& own, std::vector<std::int32_t>& rows) {
            search(queries_for(query, own.walked), query, own.scratch, rows);
          },
          order.empty() ? nullptr : order.data());
    }));
  }

  // search(queries, query, scratch) stores the result of a query itself. read_ahead_of(query) is called a little
  // earlier, where queries do not follow each other in memory.
  template <class Scratch, class Ahead, class Search>
  void each(const BoxView<double>& places, std::size_t dimension, unsigned workers, const Ahead& read_ahead_of,
            const Search& search) const {
    constexpr std::size_t kAhead = 8;
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    const std::vector<std::uint32_t> order = order_of(places, dimension, interrupt);
    const std::size_t together = queries_together(rows_), tasks = (places.count + together - 1) / together;
    std::vector<OfWorker<Scratch>> own(std::max(1u, workers));
    for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
      for (std::size_t k = task * together; k < std::min(places.count, (task + 1) * together); ++k) {
        if (k + kAhead < order.size()) read_ahead_of(order[k + kAhead]);
        const std::size_t query = order.empty() ? k : order[k];
        search(queries_for(query, own[worker].walked), query, own[worker].scratch);
      }
    });
  }

  // Reports the results of moving boxes or rays, interleaved: in their own order, or tree by tree.
  template <class Scratch, class Report>
  void each_interleaved(const Sweeps& sweeps, unsigned workers, const Report& report) const {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    std::vector<std::uint32_t> order;
    if (has_keys()) order = order_of(sweeps.places(), sweeps.dimension(), interrupt);
    const std::size_t together = queries_together(rows_), tasks = (sweeps.count() + together - 1) / together;
    std::vector<OfWorker<Scratch>> own(std::max(1u, workers));
    for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
      for (std::size_t k = task * together; k < std::min(sweeps.count(), (task + 1) * together); ++k) {
        const std::size_t query = order.empty() ? k : order[k];
        queries_for(query, own[worker].walked)
            .interleave(query, sweeps.sweep(query), sweeps.limit(query), own[worker].scratch, report);
      }
    });
    for (OfWorker<Scratch>& worker : own) queries_.finish_interleaved(worker.scratch, report);
  }

  // The same for groups of points near each other. search(queries, group, count, scratch, rows, ended) appends the
  // results of a group, and calls ended(query) after each.
  template <class Scratch, class Search>
  nb::object ragged_groups(const BoxView<double>& places, std::size_t dimension, unsigned workers,
                           const Search& search) const {
    return as_tuple(at_work([&](Interrupt& interrupt) {
      Ragged answers;
      const Groups groups(nearby_order(places, dimension, chosen_kernels(), interrupt), kTogether);
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

  // search(queries, group, count, scratch) stores the results of a group itself.
  template <class Scratch, class Search>
  void each_group(const BoxView<double>& places, std::size_t dimension, unsigned workers, const Search& search) const {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    const Groups groups(nearby_order(places, dimension, chosen_kernels(), interrupt), Scratch::kGroup);
    const std::size_t together = (queries_together(rows_) + Scratch::kGroup - 1) / Scratch::kGroup;
    std::vector<Scratch> scratch(std::max(1u, workers));
    for_each_task((groups.count() + together - 1) / together, workers, interrupt,
                  [&](unsigned worker, std::size_t task) {
                    for (std::size_t k = task * together; k < std::min(groups.count(), (task + 1) * together); ++k) {
                      groups.read_ahead_of(k + 1, places);
                      search(queries_, groups.begin(k), groups.size(k), scratch[worker]);
                    }
                  });
  }

  bool can_interleave() const { return index_.forest != nullptr || queries_.can_interleave(); }
  // Queries with keys do not share a tree.
  bool walks_together(std::size_t wanted) const { return index_.forest == nullptr && queries_.walks_together(wanted); }
  bool has_keys() const { return index_.forest != nullptr; }

 private:
  // One tree of a forest, as if it were alone.
  struct Walked {
    std::uint32_t number;
    BlockTree tree;
    TreeQueries queries;
    Walked(const Forest& forest, std::uint32_t of, const AnyBoxes& boxes, const QueryFilter& filter)
        : number(of),
          tree{forest.blocks_of(of), forest.root_of(of), forest.frame_of(of)},
          queries(tree, boxes, filter, chosen_kernels()) {}
  };
  template <class Scratch>
  struct OfWorker {
    Scratch scratch;
    std::optional<Walked> walked{};  // by the last query
  };

  const TreeQueries& queries_for(std::size_t query, std::optional<Walked>& walked) const {
    if (index_.forest == nullptr) return queries_;
    const std::uint32_t number = index_.tree_of[query];
    if (!walked || walked->number != number) walked.emplace(*index_.forest, number, boxes_, filter_);
    return walked->queries;
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

  // Queries in the order of a curve, in groups of as many.
  struct Groups {
    Groups(std::vector<std::uint32_t> along, std::size_t queries) : order(std::move(along)), most(queries) {}
    std::size_t count() const { return (order.size() + most - 1) / most; }
    std::size_t size(std::size_t group) const { return std::min(most, order.size() - group * most); }
    const std::uint32_t* begin(std::size_t group) const { return order.data() + group * most; }
    void read_ahead_of(std::size_t group, const BoxView<double>& places) const {
      for (std::size_t k = group * most; k < std::min((group + 1) * most, order.size()); ++k)
        read_ahead(places.lower_of(order[k]));
    }
    std::vector<std::uint32_t> order;
    std::size_t most;
  };

  const BlockIndex& index_;
  AnyBoxes boxes_;
  QueryFilter filter_;
  TreeQueries queries_;
  std::size_t rows_;
};

// A forest with the key of each query to come: takes the place of an index in one call. It keeps the forest alive.
class KeyedQueries : public BlockIndex {
 public:
  KeyedQueries(nb::object of, Vector<std::int64_t> keys) : kept_(std::move(of)), numbers_(keys.shape(0)) {
    forest = &nb::cast<const Forest&>(kept_);
    tree.blocks = Blocks(forest->dimension());
    std::size_t position = 0;
    for (std::size_t k = 0; k < numbers_.size(); ++k) numbers_[k] = forest->find(keys.data()[k], position);
    tree_of = numbers_.data();
  }

 private:
  nb::object kept_;
  std::vector<std::uint32_t> numbers_;
};

nb::object query_boxes(const BlockIndex& index, AnyArray lower, AnyArray upper, AnyArray query_lower,
                       AnyArray query_upper, const RowFilter* filter, unsigned workers, bool loosely) {
  const AnyBoxes requested = any_boxes(query_lower, query_upper);
  return with_boxes(query_lower, query_upper, [&](const auto& places) {
    return Queries(index, lower, upper, filter)
        .ragged<BoxWalk>(
            places, requested.dimension(), workers,
            [&](const TreeQueries& queries, std::size_t query, BoxWalk& walk, std::vector<std::int32_t>& rows) {
              double box[8];
              requested.read(query, box);
              queries.by_box(query, box, walk, rows, loosely);
            });
  });
}

nb::object query_balls(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> centers,
                       Vector<double> radii, const RowFilter* filter, unsigned workers) {
  const double *points = centers.data(), *radius = radii.data();
  const std::size_t count = centers.shape(0), dimension = centers.shape(1);
  const BoxView<double> places = places_of(points, count, dimension);
  const Queries all(index, lower, upper, filter);
  if (count < kManyQueries || all.has_keys())
    return all.ragged<BallWalk>(
        places, dimension, workers,
        [&](const TreeQueries& queries, std::size_t query, BallWalk& walk, std::vector<std::int32_t>& rows) {
          queries.by_ball(query, points + query * dimension, radius[query], walk, rows);
        });
  using Scratch = TreeQueries::BallsScratch;
  return all.ragged_groups<Scratch>(places, dimension, workers,
                                    [&](const TreeQueries& queries, const std::uint32_t* group, std::size_t number,
                                        Scratch& scratch, std::vector<std::int32_t>& rows, const auto& ended) {
                                      queries.by_balls(group, number, points, radius, scratch, rows, ended);
                                    });
}

struct NearestAnswers {
  PlainArray<std::int32_t> rows;
  PlainArray<double> distances;
};

NearestAnswers nearest_of(const BlockIndex& index, const AnyArray& lower, const AnyArray& upper,
                          const Table<double>& centers, std::size_t wanted, const Vector<double>& farthest,
                          const RowFilter* filter, unsigned workers) {
  const double *points = centers.data(), *limit = farthest.data();
  const std::size_t count = centers.shape(0), dimension = centers.shape(1);
  const BoxView<double> places = places_of(points, count, dimension);
  NearestAnswers answers;
  PlainArray<std::int32_t>& rows = answers.rows;
  PlainArray<double>& distances = answers.distances;
  rows.grow(count * wanted);
  distances.grow(count * wanted);
  std::fill_n(rows.get(), count * wanted, -1);
  std::fill_n(distances.get(), count * wanted, kNever);
  const Queries all(index, lower, upper, filter);
  // Eight points that are far apart in their order have hardly a block in common.
  constexpr std::size_t kRowsForAPoint = 32;
  if (count < kManyQueries || count < lower.shape(0) / kRowsForAPoint || !all.walks_together(wanted)) {
    using Scratch = TreeQueries::NearestScratch;
    all.each<Scratch>(
        places, dimension, workers, [&](std::size_t query) { read_ahead(points + query * dimension); },
        [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) {
          std::size_t at = query * wanted;
          queries.nearest(query, points + query * dimension, wanted, limit[query], scratch,
                          [&](std::int32_t row, double distance) {
                            rows[at] = row;
                            distances[at++] = distance;
                          });
        });
  } else {
    using Scratch = TreeQueries::TogetherScratch;
    with_boxes(lower, upper, [&](const auto& boxes) {
      all.each_group<Scratch>(
          places, dimension, workers,
          [&](const TreeQueries& queries, const std::uint32_t* group, std::size_t number, Scratch& scratch) {
            for (std::size_t k = 0; k < number; ++k) {
              read_ahead(rows.get() + group[k] * wanted);
              read_ahead(distances.get() + group[k] * wanted);
            }
            queries.nearest_together(boxes, group, number, points, wanted, limit, scratch,
                                     [&](std::size_t query, std::size_t rank, std::int32_t row, double distance) {
                                       rows[query * wanted + rank] = row;
                                       distances[query * wanted + rank] = distance;
                                     });
          });
    });
  }
  return answers;
}

nb::object nearest(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> centers, std::size_t wanted,
                   Vector<double> farthest, const RowFilter* filter, unsigned workers) {
  const QueryFilter allowed = filter != nullptr ? filter->get() : QueryFilter();
  const std::size_t count = centers.shape(0), requested = wanted + allowed.ignored_count;
  NearestAnswers answers;
  if (allowed.allows_all() || allowed.has_layers() || wanted == 0 || requested > NearestTogether::kMostWanted) {
    answers = nearest_of(index, lower, upper, centers, wanted, farthest, filter, workers);
  } else {
    // Points can be walked together without a filter, and with so many more wanted, none of the others is missing once
    // the ignored rows are left out.
    answers = nearest_of(index, lower, upper, centers, requested, farthest, nullptr, workers);
    for (std::size_t query = 0; query < count; ++query) {
      std::size_t to = query * wanted;
      const std::size_t end = to + wanted;
      for (std::size_t at = query * requested; to < end; ++at) {
        const std::int32_t row = answers.rows[at];
        if (row >= 0 && allowed.ignores(static_cast<std::size_t>(row), query)) continue;
        answers.rows[to] = row;
        answers.distances[to++] = answers.distances[at];
      }
    }
  }
  // Reshaped by the caller: the shape of an empty array is ambiguous.
  return as_tuple(as_array(std::move(answers.rows), {count * wanted}),
                  as_array(std::move(answers.distances), {count * wanted}));
}

nb::object sweep_first(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> from_lower,
                       Table<double> from_upper, Table<double> motion, Vector<double> limit, bool is_ray,
                       const RowFilter* filter, unsigned workers) {
  const Sweeps sweeps(from_lower, from_upper, motion, limit, is_ray);
  std::vector<std::int32_t> rows(sweeps.count(), -1);
  std::vector<double> times(sweeps.count(), kNever);
  const auto report = [&](std::size_t query, std::int32_t row, double time) {
    rows[query] = row;
    times[query] = time;
  };
  const Queries all(index, lower, upper, filter);
  if (sweeps.count() < kManyQueries || !all.can_interleave() || all.has_keys() ||
      (filter != nullptr && !filter->allows_interleaving())) {
    all.each<SweepWalk>(
        sweeps.places(), sweeps.dimension(), workers, [&](std::size_t query) { sweeps.read_ahead_of(query); },
        [&](const TreeQueries& queries, std::size_t query, SweepWalk& walk) {
          queries.first_touched(query, sweeps.sweep(query), sweeps.limit(query), walk,
                                [&](std::int32_t row, double time) { report(query, row, time); });
        });
  } else {
    all.each_interleaved<TreeQueries::FirstInterleaved>(sweeps, workers, report);
  }
  return as_tuple(std::move(rows), std::move(times));
}

nb::object sweep_any(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> from_lower,
                     Table<double> from_upper, Table<double> motion, Vector<double> limit, bool is_ray,
                     const RowFilter* filter, unsigned workers) {
  const Sweeps sweeps(from_lower, from_upper, motion, limit, is_ray);
  std::vector<std::uint8_t> touched(sweeps.count(), 0);
  const Queries all(index, lower, upper, filter);
  if (sweeps.count() < kManyQueries || !all.can_interleave()) {
    all.each<SweepWalk>(
        sweeps.places(), sweeps.dimension(), workers, [&](std::size_t query) { sweeps.read_ahead_of(query); },
        [&](const TreeQueries& queries, std::size_t query, SweepWalk& walk) {
          const Sweep sweep = sweeps.sweep(query);
          touched[query] = queries.any_touched(query, sweep, sweeps.limit(query), walk) ? 1 : 0;
        });
  } else {
    all.each_interleaved<TreeQueries::AnyInterleaved>(sweeps, workers, [&](std::size_t query) { touched[query] = 1; });
  }
  return as_array(std::move(touched));
}

nb::object sweep_all(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> from_lower,
                     Table<double> from_upper, Table<double> motion, Vector<double> limit, bool is_ray,
                     const RowFilter* filter, unsigned workers) {
  const Sweeps sweeps(from_lower, from_upper, motion, limit, is_ray);
  const auto ahead = [&](std::size_t query) { sweeps.read_ahead_of(query); };
  std::vector<std::vector<KeyedRow>> found(sweeps.count());
  using Scratch = TreeQueries::TouchedScratch;
  Queries(index, lower, upper, filter)
      .each<Scratch>(sweeps.places(), sweeps.dimension(), workers, ahead,
                     [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) {
                       const Sweep sweep = sweeps.sweep(query);
                       queries.all_touched(
                           query, sweep, sweeps.limit(query), scratch,
                           [&](std::int32_t row, double time) { found[query].emplace_back(time, row); });
                     });
  Ragged answers;
  std::vector<double> times;
  {
    const ReleasedGil release;
    answers.offsets.assign(sweeps.count() + 1, 0);
    for (std::size_t k = 0; k < found.size(); ++k)
      answers.offsets[k + 1] = answers.offsets[k] + static_cast<std::int64_t>(found[k].size());
    answers.rows.reserve(static_cast<std::size_t>(answers.offsets.back()));
    times.reserve(answers.rows.capacity());
    for (const auto& hits : found)
      for (const KeyedRow& hit : hits) {
        answers.rows.push_back(hit.second);
        times.push_back(hit.first);
      }
  }
  return as_tuple(std::move(answers.rows), std::move(answers.offsets), std::move(times));
}

// Region k has the slabs region_offsets[k] to region_offsets[k + 1].
nb::object query_convex(const BlockIndex& index, AnyArray lower, AnyArray upper, Vector<std::int64_t> region_offsets,
                        Table<double> axes, Vector<double> least, Vector<double> most, Table<double> around_lower,
                        Table<double> around_upper, const RowFilter* filter, unsigned workers) {
  const std::size_t count = around_lower.shape(0), dimension = around_lower.shape(1);
  const double *low = around_lower.data(), *high = around_upper.data();
  return Queries(index, lower, upper, filter)
      .ragged<TreeQueries::RegionScratch>(places_of(low, count, dimension), dimension, workers,
                                          [&](const TreeQueries& queries, std::size_t query,
                                              TreeQueries::RegionScratch& scratch, std::vector<std::int32_t>& rows) {
                                            double around[8];
                                            std::copy_n(low + query * dimension, dimension, around);
                                            std::copy_n(high + query * dimension, dimension, around + dimension);
                                            const auto begin = static_cast<std::size_t>(region_offsets(query)),
                                                       end = static_cast<std::size_t>(region_offsets(query + 1));
                                            queries.by_region(query,
                                                              {around, axes.data() + begin * dimension,
                                                               least.data() + begin, most.data() + begin, end - begin},
                                                              scratch, rows);
                                          });
}

}  // namespace

void bind_tree_queries(nb::module_& module) {
  nb::class_<BlockIndex>(module, "BlockIndex");
  nb::class_<KeyedQueries, BlockIndex>(module, "KeyedQueries")
      .def(nb::init<nb::object, Vector<std::int64_t>>(), "forest"_a, "keys"_a);
  nb::class_<RowFilter>(module, "QueryFilter")
      .def(nb::init<>())
      .def("set_layers", &RowFilter::set_layers, "row_layer"_a, "row_mask"_a, "query_layer"_a, "query_mask"_a)
      .def("set_ignored", &RowFilter::set_ignored, "rows"_a);
  module.def("query_boxes", &query_boxes, "index"_a, "lower"_a, "upper"_a, "query_lower"_a, "query_upper"_a,
             "filter"_a.none(), "workers"_a, "loosely"_a = false);
  module.def("query_balls", &query_balls, "index"_a, "lower"_a, "upper"_a, "centers"_a, "radii"_a, "filter"_a.none(),
             "workers"_a);
  module.def("nearest", &nearest, "index"_a, "lower"_a, "upper"_a, "points"_a, "wanted"_a, "farthest"_a,
             "filter"_a.none(), "workers"_a);
  const auto sweeps = [&module](const char* name, auto function) {
    module.def(name, function, "index"_a, "lower"_a, "upper"_a, "from_lower"_a, "from_upper"_a, "motion"_a, "limit"_a,
               "is_ray"_a, "filter"_a.none(), "workers"_a);
  };
  sweeps("sweep_first", &sweep_first);
  sweeps("sweep_any", &sweep_any);
  sweeps("sweep_all", &sweep_all);
  module.def("query_convex", &query_convex, "index"_a, "lower"_a, "upper"_a, "region_offsets"_a, "axes"_a, "least"_a,
             "most"_a, "around_lower"_a, "around_upper"_a, "filter"_a.none(), "workers"_a);
}

}  // namespace broadphase::python
