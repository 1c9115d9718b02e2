// Queries on any tree of blocks: functions over the base class of those indexes.
#include "tree/queries.hpp"

#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <vector>

#include "filters.hpp"
#include "index.hpp"

namespace broadphase::python {

namespace {

// What all queries have in common: the tree, the exact boxes of its rows, and the filter.
class Queries {
 public:
  Queries(const BlockIndex& index, const AnyArray& lower, const AnyArray& upper, const LayerFilter* filter)
      : tree_(index.tree),
        queries_(index.tree, any_boxes(lower, upper), filter != nullptr ? filter->get() : QueryFilter(),
                 chosen_kernels()),
        rows_(lower.shape(0)) {}

  // ask(queries, query, scratch, rows) appends the result of a query; place(query, point) writes its position.
  template <class Scratch, class Place, class Ask>
  nb::object ragged(std::size_t count, unsigned workers, const Place& place, const Ask& ask) const {
    Ragged answers;
    {
      const ReleasedGil release;
      Interrupt interrupt(signal_pending);
      const std::vector<std::uint32_t> order = nearby_order(count, tree_, place, interrupt);
      answers = collect_ragged<Scratch>(
          count, rows_, workers, interrupt,
          [&](std::size_t query, Scratch& scratch, std::vector<std::int32_t>& rows) {
            ask(queries_, query, scratch, rows);
          },
          order.empty() ? nullptr : order.data());
    }
    return as_tuple(std::move(answers));
  }

  // ask(queries, query, scratch) stores the result of a query itself.
  template <class Scratch, class Place, class Ask>
  void each(std::size_t count, unsigned workers, const Place& place, const Ask& ask) const {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    const std::vector<std::uint32_t> order = nearby_order(count, tree_, place, interrupt);
    const std::size_t together = queries_together(rows_), tasks = (count + together - 1) / together;
    std::vector<Scratch> scratch(std::max(1u, workers));
    for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
      for (std::size_t k = task * together; k < std::min(count, (task + 1) * together); ++k)
        ask(queries_, order.empty() ? k : order[k], scratch[worker]);
    });
  }

 private:
  const BlockTree& tree_;
  TreeQueries queries_;
  std::size_t rows_;
};

nb::object query_boxes(const BlockIndex& index, AnyArray lower, AnyArray upper, AnyArray asked_lower,
                       AnyArray asked_upper, const LayerFilter* filter, unsigned workers, bool loosely) {
  const AnyBoxes asked = any_boxes(asked_lower, asked_upper);
  const std::size_t dimension = asked.dimension();
  return Queries(index, lower, upper, filter)
      .ragged<BoxWalk>(
          asked.count(), workers,
          [&](std::size_t query, double* point) {
            double box[8];
            asked.read(query, box);
            for (std::size_t k = 0; k < dimension; ++k) point[k] = box[k] / 2 + box[dimension + k] / 2;
          },
          [&](const TreeQueries& queries, std::size_t query, BoxWalk& walk, std::vector<std::int32_t>& rows) {
            double box[8];
            asked.read(query, box);
            queries.by_box(query, box, walk, rows, loosely);
          });
}

auto place_at(const double* points, std::size_t dimension) {
  return [=](std::size_t query, double* point) { std::copy_n(points + query * dimension, dimension, point); };
}

nb::object query_balls(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> centers,
                       Vector<double> radii, const LayerFilter* filter, unsigned workers) {
  const double *points = centers.data(), *radius = radii.data();
  const std::size_t dimension = centers.shape(1);
  return Queries(index, lower, upper, filter)
      .ragged<BallWalk>(
          centers.shape(0), workers, place_at(points, dimension),
          [&](const TreeQueries& queries, std::size_t query, BallWalk& walk, std::vector<std::int32_t>& rows) {
            queries.by_ball(query, points + query * dimension, radius[query], walk, rows);
          });
}

nb::object nearest(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> centers, std::size_t wanted,
                   Vector<double> farthest, const LayerFilter* filter, unsigned workers) {
  const double *points = centers.data(), *limit = farthest.data();
  const std::size_t count = centers.shape(0), dimension = centers.shape(1);
  std::vector<std::int32_t> rows(count * wanted, -1);
  std::vector<double> distances(count * wanted, kNever);
  using Scratch = TreeQueries::NearestScratch;
  Queries(index, lower, upper, filter)
      .each<Scratch>(count, workers, place_at(points, dimension),
                     [&](const TreeQueries& queries, std::size_t query, Scratch& scratch) {
                       std::size_t at = query * wanted;
                       queries.nearest(query, points + query * dimension, wanted, limit[query], scratch,
                                       [&](std::int32_t row, double distance) {
                                         rows[at] = row;
                                         distances[at++] = distance;
                                       });
                     });
  // Reshaped by the caller: the shape of an empty array is ambiguous.
  nb::object first = as_array(std::move(rows), 1);
  return nb::make_tuple(first, as_array(std::move(distances), 1));
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
  auto place() const { return place_at(lower_, dimension_); }

 private:
  const double *lower_, *upper_, *motion_, *limit_;
  std::size_t count_, dimension_;
  bool is_ray_;
};

nb::object sweep_first(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> from_lower,
                       Table<double> from_upper, Table<double> motion, Vector<double> limit, bool is_ray,
                       const LayerFilter* filter, unsigned workers) {
  const Sweeps sweeps(from_lower, from_upper, motion, limit, is_ray);
  std::vector<std::int32_t> rows(sweeps.count(), -1);
  std::vector<double> times(sweeps.count(), kNever);
  Queries(index, lower, upper, filter)
      .each<SweepWalk>(
          sweeps.count(), workers, sweeps.place(), [&](const TreeQueries& queries, std::size_t query, SweepWalk& walk) {
            const Sweep sweep = sweeps.sweep(query);
            queries.first_touched(query, sweep, sweeps.limit(query), walk, [&](std::int32_t row, double time) {
              rows[query] = row;
              times[query] = time;
            });
          });
  nb::object first = as_array(std::move(rows), 1);
  return nb::make_tuple(first, as_array(std::move(times), 1));
}

nb::object sweep_any(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> from_lower,
                     Table<double> from_upper, Table<double> motion, Vector<double> limit, bool is_ray,
                     const LayerFilter* filter, unsigned workers) {
  const Sweeps sweeps(from_lower, from_upper, motion, limit, is_ray);
  std::vector<std::uint8_t> touched(sweeps.count(), 0);
  Queries(index, lower, upper, filter)
      .each<SweepWalk>(sweeps.count(), workers, sweeps.place(),
                       [&](const TreeQueries& queries, std::size_t query, SweepWalk& walk) {
                         const Sweep sweep = sweeps.sweep(query);
                         touched[query] = queries.any_touched(query, sweep, sweeps.limit(query), walk) ? 1 : 0;
                       });
  return as_array(std::move(touched), 1);
}

nb::object sweep_all(const BlockIndex& index, AnyArray lower, AnyArray upper, Table<double> from_lower,
                     Table<double> from_upper, Table<double> motion, Vector<double> limit, bool is_ray,
                     const LayerFilter* filter, unsigned workers) {
  const Sweeps sweeps(from_lower, from_upper, motion, limit, is_ray);
  std::vector<std::vector<KeyedRow>> found(sweeps.count());
  using Scratch = TreeQueries::TouchedScratch;
  Queries(index, lower, upper, filter)
      .each<Scratch>(sweeps.count(), workers, sweeps.place(),
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
  nb::object rows = as_array(std::move(answers.rows), 1), offsets = as_array(std::move(answers.offsets), 1);
  return nb::make_tuple(rows, offsets, as_array(std::move(times), 1));
}

// Region k has the slabs region_offsets[k] to region_offsets[k + 1].
nb::object query_convex(const BlockIndex& index, AnyArray lower, AnyArray upper, Vector<std::int64_t> region_offsets,
                        Table<double> axes, Vector<double> least, Vector<double> most, Table<double> around_lower,
                        Table<double> around_upper, const LayerFilter* filter, unsigned workers) {
  const std::size_t count = around_lower.shape(0), dimension = around_lower.shape(1);
  const double *low = around_lower.data(), *high = around_upper.data();
  return Queries(index, lower, upper, filter)
      .ragged<TreeQueries::RegionScratch>(count, workers, place_at(low, dimension),
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
  nb::class_<LayerFilter>(module, "QueryFilter")
      .def(nb::init<LayerFilter::Words, LayerFilter::Words, LayerFilter::Words, LayerFilter::Words>(),
           nb::arg("row_layer"), nb::arg("row_mask"), nb::arg("query_layer"), nb::arg("query_mask"));
  module.def("query_boxes", &query_boxes, nb::arg("index"), nb::arg("lower"), nb::arg("upper"), nb::arg("asked_lower"),
             nb::arg("asked_upper"), nb::arg("filter").none(), nb::arg("workers"), nb::arg("loosely") = false);
  module.def("query_balls", &query_balls, nb::arg("index"), nb::arg("lower"), nb::arg("upper"), nb::arg("centers"),
             nb::arg("radii"), nb::arg("filter").none(), nb::arg("workers"));
  module.def("nearest", &nearest, nb::arg("index"), nb::arg("lower"), nb::arg("upper"), nb::arg("points"),
             nb::arg("wanted"), nb::arg("farthest"), nb::arg("filter").none(), nb::arg("workers"));
  const auto sweeps = [&module](const char* name, auto function) {
    module.def(name, function, nb::arg("index"), nb::arg("lower"), nb::arg("upper"), nb::arg("from_lower"),
               nb::arg("from_upper"), nb::arg("motion"), nb::arg("limit"), nb::arg("is_ray"), nb::arg("filter").none(),
               nb::arg("workers"));
  };
  sweeps("sweep_first", &sweep_first);
  sweeps("sweep_any", &sweep_any);
  sweeps("sweep_all", &sweep_all);
  module.def("query_convex", &query_convex, nb::arg("index"), nb::arg("lower"), nb::arg("upper"),
             nb::arg("region_offsets"), nb::arg("axes"), nb::arg("least"), nb::arg("most"), nb::arg("around_lower"),
             nb::arg("around_upper"), nb::arg("filter").none(), nb::arg("workers"));
}

}  // namespace broadphase::python
