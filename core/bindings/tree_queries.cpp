// Queries on any tree of blocks: functions over the base class of those indexes.
#include "tree/queries.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "batches/distinct_forest.hpp"
#include "batches/nearest_of_batch.hpp"
#include "filters.hpp"
#include "index.hpp"
#include "many_queries.hpp"

namespace broadphase::python {

namespace {

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

// A forest with the key of each query to come: takes the place of an index in one call. It keeps the forest alive.
class KeyedQueries : public BlockIndex {
 public:
  KeyedQueries(nb::object of, Vector<std::int64_t> keys) : kept_(std::move(of)), numbers_(keys.shape(0)) {
    forest = &nb::cast<const SearchedForest&>(kept_);
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
    return ManyQueries(index, lower, upper, filter)
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
  const ManyQueries all(index, lower, upper, filter);
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
  const ManyQueries all = ManyQueries::among_distinct(index, lower, upper, filter);
  // Eight points that are far apart in their order have hardly a block in common.
  constexpr std::size_t kRowsForAPoint = 32;
  // In space, more than so many are found in less time one point after the other.
  constexpr std::size_t kFewInSpace = 8;
  // A few take turns for no gain; and in the plane, for many nearest.
  constexpr std::size_t kFewPoints = 16, kFewInPlane = 8;
  const auto alone = [&](const TreeQueries& queries, std::size_t query, TreeQueries::NearestScratch& scratch) {
    std::size_t at = query * wanted;
    queries.nearest(query, points + query * dimension, wanted, limit[query], scratch,
                    [&](std::int32_t row, double distance) {
                      rows[at] = row;
                      distances[at++] = distance;
                    });
  };
  const auto report = [&](std::size_t query, std::size_t rank, std::int32_t row, double distance) {
    rows[query * wanted + rank] = row;
    distances[query * wanted + rank] = distance;
  };
  const bool are_far_apart = count < kManyQueries || count < lower.shape(0) / kRowsForAPoint;
  const bool go_together =
      !are_far_apart && !(dimension > 2 && wanted > kFewInSpace) && all.walks_together(wanted, count);
  const bool take_turns = are_far_apart && count >= kFewPoints && (dimension > 2 || wanted <= kFewInPlane);
  if (take_turns && all.can_interleave_near(wanted)) {
    using Scratch = TreeQueries::InterleavedNearScratch;
    with_boxes(lower, upper, [&](const auto& boxes) {
      all.each_interleaved<Scratch>(
          places, dimension, workers,
          [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) {
            queries.interleave_near(boxes, query, points + query * dimension, wanted, limit[query], scratch, report);
          },
          [&](const TreeQueries& queries, Scratch& scratch) { queries.finish_near(boxes, wanted, scratch, report); });
    });
  } else if (!go_together) {
    using Scratch = TreeQueries::NearestScratch;
    all.each<Scratch>(
        places, dimension, workers, [&](std::size_t query) { read_ahead(points + query * dimension); }, alone);
  } else {
    using Scratch = TreeQueries::TogetherScratch;
    with_boxes(lower, upper, [&](const auto& boxes) {
      all.each_group<Scratch>(
          places, dimension, workers,
          [&](const TreeQueries& queries, const std::uint32_t* group, std::size_t number, Scratch& scratch) {
            for (std::size_t k = 0; k < number; ++k) {
              read_ahead(limit + group[k]);
              read_ahead(rows.get() + group[k] * wanted);
              read_ahead(distances.get() + group[k] * wanted);
            }
            if (!queries.walks_together(wanted)) {
              for (std::size_t k = 0; k < number; ++k) alone(queries, group[k], scratch);
              return;
            }
            queries.nearest_together(boxes, group, number, points, wanted, limit, scratch, report);
          });
    });
  }
  return answers;
}

// Of points with keys: those of one key are compared with all rows of a small batch, and walk together through the tree
// of a larger one. So many more rows are looked for as each point ignores that none of the others is missing.
NearestAnswers nearest_in_batches(const BlockIndex& index, const AnyArray& lower, const AnyArray& upper,
                                  const Table<double>& centers, std::size_t wanted, const Vector<double>& farthest,
                                  const QueryFilter& filter, unsigned workers) {
  struct Scratch : TreeQueries::TogetherScratch {
    NearestOfBatch batch;
  };
  constexpr std::size_t kFewInSpace = 8;  // as in nearest_of()
  const double *points = centers.data(), *limit = farthest.data();
  const std::size_t count = centers.shape(0), dimension = centers.shape(1), requested = wanted + filter.ignored_count;
  NearestAnswers answers;
  answers.rows.grow(count * wanted);
  answers.distances.grow(count * wanted);
  const ManyQueries all = ManyQueries::among_distinct(index, lower, upper, nullptr);
  const Kernels& kernels = chosen_kernels();
  // Rows of a point, in their order.
  struct Place {
    NearestAnswers* answers;
    const QueryFilter* filter;
    std::size_t query, at, end;
    void add(std::int32_t row, double distance) {
      if (at == end || (filter->ignored_count > 0 && filter->ignores(static_cast<std::size_t>(row), query))) return;
      answers->rows[at] = row;
      answers->distances[at++] = distance;
    }
  };
  const auto place_of = [&](std::size_t query) {
    std::fill_n(answers.rows.get() + query * wanted, wanted, -1);
    std::fill_n(answers.distances.get() + query * wanted, wanted, kNever);
    return Place{&answers, &filter, query, query * wanted, (query + 1) * wanted};
  };
  const auto alone = [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) {
    Place place = place_of(query);
    queries.nearest(query, points + query * dimension, requested, limit[query], scratch,
                    [&](std::int32_t row, double distance) { place.add(row, distance); });
  };
  with_boxes(lower, upper, [&](const auto& boxes) {
    const auto read = [&](std::int32_t row, double* box, double&) {
      const auto *low = boxes.lower_of(static_cast<std::size_t>(row)),
                 *high = boxes.upper_of(static_cast<std::size_t>(row));
      for (std::size_t k = 0; k < dimension; ++k) {
        box[k] = static_cast<double>(low[k]);
        box[dimension + k] = static_cast<double>(high[k]);
      }
      return true;
    };
    // False where doubles do not tell, or the limit takes a row away that others may be behind.
    const auto in_batch = [&](const NearestOfBatch& batch, std::size_t number, std::size_t query) {
      NearestOfBatch::Found found[NearestOfBatch::kMostWanted];
      const std::size_t rows = batch.nearest(number, found, [](std::uint32_t, double squared) { return squared; });
      const double squared_limit = limit[query] * limit[query];
      Place place = place_of(query);
      for (std::size_t k = 0; k < rows; ++k) {
        const double squared = found[k].value;
        const std::int32_t row = batch.row(found[k].at);
        double box[8], none;
        if (squared > squared_limit * (1 + kRounding)) break;
        const bool is_small = squared < kLeastSafe, is_last = squared > 0 && squared >= squared_limit * (1 - kRounding);
        if (is_small || (is_last && limit[query] < kNever)) {
          read(row, box, none);
          if (is_small && !holds_point(box, points + query * dimension, dimension)) return false;
          if (is_last && !Ball(points + query * dimension, limit[query], dimension).meets_exactly(box)) return false;
        }
        place.add(row, std::sqrt(squared));
      }
      return true;
    };
    all.each_group<Scratch>(
        places_of(points, count, dimension), dimension, workers,
        [&](const TreeQueries& queries, const std::uint32_t* group, std::size_t number, Scratch& scratch) {
          if (scratch.batch.take_tree(*index.forest, index.tree_of[group[0]], number, false, read)) {
            for (std::size_t first = 0; first < number; first += NearestOfBatch::kPoints) {
              const std::size_t together = std::min(number - first, NearestOfBatch::kPoints);
              const bool is_known = scratch.batch.compare(kernels, points, group + first, together, requested);
              for (std::size_t k = 0; k < together; ++k)
                if (!is_known || !in_batch(scratch.batch, k, group[first + k]))
                  alone(queries, group[first + k], scratch);
            }
          } else if (number < kTogether / 2 || (dimension > 2 && requested > kFewInSpace) ||
                     !queries.walks_together(requested)) {
            for (std::size_t k = 0; k < number; ++k) alone(queries, group[k], scratch);
          } else {
            for (std::size_t k = 0; k < number; ++k) place_of(group[k]);
            Place place = place_of(group[0]);
            queries.nearest_together(boxes, group, number, points, requested, limit, scratch,
                                     [&](std::size_t query, std::size_t rank, std::int32_t row, double distance) {
                                       if (rank == 0) place = place_of(query);
                                       place.add(row, distance);
                                     });
          }
        });
  });
  return answers;
}

nb::object nearest(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> centers, std::size_t wanted,
                   Vector<double> farthest, const RowFilter* filter, unsigned workers) {
  const QueryFilter allowed = filter != nullptr ? filter->get() : QueryFilter();
  const std::size_t count = centers.shape(0), requested = wanted + allowed.ignored_count;
  NearestAnswers answers;
  if (index.forest != nullptr && !allowed.is_selective() && wanted > 0 &&
      NearestOfBatch::serves(chosen_kernels(), centers.shape(1), requested)) {
    answers = nearest_in_batches(index, lower, upper, centers, wanted, farthest, allowed, workers);
  } else if (allowed.allows_all() || allowed.is_selective() || wanted == 0 ||
             requested > NearestTogether::kMostWanted) {
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

// Reports the results of moving boxes or rays.
template <class Scratch, class Report>
void interleave(const ManyQueries& all, const Sweeps& sweeps, unsigned workers, const Report& report) {
  all.each_interleaved<Scratch>(
      sweeps.places(), sweeps.dimension(), workers,
      [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) {
        queries.interleave(query, sweeps.sweep(query), sweeps.limit(query), scratch, report);
      },
      [&](const TreeQueries& queries, Scratch& scratch) { queries.finish_interleaved(scratch, report); });
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
  const ManyQueries all = ManyQueries::among_distinct(index, lower, upper, filter);
  if (sweeps.count() < kManyQueries || !all.can_interleave() || all.has_keys() || all.filter().has_layers() ||
      all.filter().ignored_count > QueryFilter::kFewIgnored) {
    all.each<SweepWalk>(
        sweeps.places(), sweeps.dimension(), workers, [&](std::size_t query) { sweeps.read_ahead_of(query); },
        [&](const TreeQueries& queries, std::size_t query, SweepWalk& walk) {
          queries.first_touched(query, sweeps.sweep(query), sweeps.limit(query), walk,
                                [&](std::int32_t row, double time) { report(query, row, time); });
        });
  } else {
    interleave<TreeQueries::FirstInterleaved>(all, sweeps, workers, report);
  }
  return as_tuple(std::move(rows), std::move(times));
}

nb::object sweep_any(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> from_lower,
                     Table<double> from_upper, Table<double> motion, Vector<double> limit, bool is_ray,
                     const RowFilter* filter, unsigned workers) {
  const Sweeps sweeps(from_lower, from_upper, motion, limit, is_ray);
  std::vector<std::uint8_t> touched(sweeps.count(), 0);
  const ManyQueries all(index, lower, upper, filter);
  if (sweeps.count() < kManyQueries || !all.can_interleave()) {
    all.each<SweepWalk>(
        sweeps.places(), sweeps.dimension(), workers, [&](std::size_t query) { sweeps.read_ahead_of(query); },
        [&](const TreeQueries& queries, std::size_t query, SweepWalk& walk) {
          const Sweep sweep = sweeps.sweep(query);
          touched[query] = queries.any_touched(query, sweep, sweeps.limit(query), walk) ? 1 : 0;
        });
  } else {
    interleave<TreeQueries::AnyInterleaved>(all, sweeps, workers, [&](std::size_t query) { touched[query] = 1; });
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
  const ManyQueries all = ManyQueries::among_distinct(index, lower, upper, filter);
  all.each<Scratch>(sweeps.places(), sweeps.dimension(), workers, ahead,
                    [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) {
                      queries.all_touched(query, sweeps.sweep(query), sweeps.limit(query), scratch,
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
  return ManyQueries(index, lower, upper, filter)
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
      .def("set_layers", &RowFilter::set_layers, "row_layer"_a, "row_mask"_a, "query_layer"_a, "query_mask"_a,
           "version"_a)
      .def("set_ignored", &RowFilter::set_ignored, "rows"_a)
      .def("set_sight", &RowFilter::set_sight, "points"_a, "headings"_a, "angles"_a, "places"_a, "edges"_a.none())
      .def("set_sight_of_boxes", &RowFilter::set_sight_of_boxes, "points"_a, "headings"_a, "angles"_a, "lower"_a,
           "upper"_a);
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
