// Pairs of intervals as columns of a table hold them: begins and ends of any dtype, each row with a number for its key.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "filters.hpp"
#include "query/collect.hpp"
#include "sweep/interval_pairs.hpp"
#include "sweep/interval_sets.hpp"

namespace broadphase::python {

namespace {

// Begins and ends, 1-D with any stride, and the key of each row.
using Columns = std::tuple<AnyArray, AnyArray, std::optional<Vector<std::uint32_t>>>;

// One set or two, of one dtype: float32, float64, int32 or int64. Those of 8 bytes are sorted as int32 where all are
// such numbers, as places in genomes are: there is less to move.
struct IntervalQuery {
  Columns first;
  std::optional<Columns> second;
  std::size_t key_count;
  bool touching;
  unsigned workers = 1;  // for sorting them

  // Calls use(intervals, interrupt) for those of the right type, without the GIL.
  template <class Use>
  void sorted(const Use& use) const {
    made<IntervalPairs>([&](auto, const auto& intervals, Interrupt& interrupt) { use(intervals, interrupt); });
  }
  // Calls use(T(), Made<Kept>, interrupt), where T is the type of the columns, and Kept that in which they are sorted.
  template <template <class> class Made, class Use>
  void made(const Use& use) const {
    const auto dtype = std::get<0>(first).dtype();
    if (dtype == nb::dtype<float>())
      made_of<float, Made>(use);
    else if (dtype == nb::dtype<double>())
      made_of<double, Made>(use);
    else if (dtype == nb::dtype<std::int32_t>())
      made_of<std::int32_t, Made>(use);
    else
      made_of<std::int64_t, Made>(use);
  }

  template <class T>
  static KeyedIntervals<T> as(const Columns& columns) {
    const auto& [lower, upper, keys] = columns;
    return {{static_cast<const T*>(lower.data()), static_cast<const T*>(upper.data()), lower.stride(0), upper.stride(0),
             lower.shape(0)},
            keys ? keys->data() : nullptr};
  }

 private:
  template <class T, template <class> class Made, class Use>
  void made_of(const Use& use) const {
    at_work([&](Interrupt& interrupt) {
      const KeyedIntervals<T> own = as<T>(first), other = second ? as<T>(*second) : KeyedIntervals<T>{};
      if constexpr (sizeof(T) == 8) {
        const Made<std::int32_t> small(own, other, second.has_value(), key_count, touching, 0, workers, interrupt);
        if (small.is_exact()) return use(T(), small, interrupt);
      }
      use(T(), Made<T>(own, other, second.has_value(), key_count, touching, T(0), workers, interrupt), interrupt);
    });
  }
};

nb::object interval_pairs(Columns first, std::optional<Columns> second, std::size_t key_count, bool touching,
                          const PairFilter* filter, unsigned workers, bool sort, std::uint64_t limit) {
  const IntervalQuery query{first, second, key_count, touching, workers};
  Pairs result;
  query.sorted([&](const auto& intervals, Interrupt& interrupt) {
    result = collect_pairs(intervals, filter != nullptr ? filter->get() : nullptr, workers, limit, interrupt);
    if (!sort) return;
    const std::size_t other = second ? std::get<0>(*second).shape(0) : 0;
    sort_pairs(result, std::max(std::get<0>(first).shape(0), other), workers, interrupt);
  });
  return as_array(std::move(result));
}

std::uint64_t count_intervals(Columns first, std::optional<Columns> second, std::size_t key_count, bool touching,
                              const PairFilter* filter, unsigned workers) {
  const IntervalQuery query{first, second, key_count, touching, workers};
  std::uint64_t result = 0;
  query.sorted([&](const auto& intervals, Interrupt& interrupt) {
    result = count_pairs(intervals, filter != nullptr ? filter->get() : nullptr, workers, interrupt);
  });
  return result;
}

nb::object count_each_interval(Columns first, Columns second, std::size_t key_count, bool touching) {
  const IntervalQuery query{first, second, key_count, touching};
  std::vector<std::int64_t> counts(std::get<0>(first).shape(0));
  query.sorted([&](const auto& intervals, Interrupt& interrupt) { intervals.count_each(counts.data(), interrupt); });
  return as_array(std::move(counts));
}

bool is_whole(const Columns& columns) {
  const auto dtype = std::get<0>(columns).dtype();
  return dtype == nb::dtype<std::int32_t>() || dtype == nb::dtype<std::int64_t>();
}

// (row of the second set, gap); of whole numbers gaps are unsigned.
nb::tuple nearest_intervals(Columns first, Columns second, std::size_t key_count, bool before, bool behind) {
  const IntervalQuery query{first, second, key_count, true};
  const std::size_t count = std::get<0>(first).shape(0);
  std::vector<std::int32_t> rows(count);
  const auto found = [&](auto gap) {
    std::vector<decltype(gap)> gaps(count);
    query.sorted([&](const auto& intervals, Interrupt& interrupt) {
      intervals.find_nearest({before, behind}, rows.data(), gaps.data(), interrupt);
    });
    return as_tuple(std::move(rows), as_array(std::move(gaps)));
  };
  return is_whole(first) ? found(std::uint64_t{0}) : found(0.0);
}

// (offsets, rows of the second set, gaps), for more than the nearest one.
nb::tuple near_intervals(Columns first, Columns second, std::size_t key_count, bool before, bool behind, std::size_t k,
                         bool ties, double farthest, std::uint64_t whole_farthest, std::uint64_t limit) {
  const IntervalQuery query{first, second, key_count, true};
  const auto found = [&](auto most) {
    std::vector<std::int64_t> offsets;
    std::vector<std::int32_t> rows;
    std::vector<decltype(most)> gaps;
    query.sorted([&](const auto& intervals, Interrupt& interrupt) {
      auto near = intervals.template find_near<decltype(most)>({before, behind}, {k, ties, most, limit}, interrupt);
      offsets = std::move(near.offsets);
      rows = std::move(near.rows);
      gaps = std::move(near.gaps);
    });
    return as_tuple(std::move(offsets), as_array(std::move(rows)), as_array(std::move(gaps)));
  };
  return is_whole(first) ? found(whole_farthest) : found(farthest);
}

// Intervals as (m, 2), two contiguous columns seen as rows.
template <class T>
class Corners {
 public:
  explicit Corners(std::size_t count = 0) : count_(count), block_(allocate_plain<T>(2 * count)) {}
  template <class Given>
  void set(std::size_t k, Given lower, Given upper) {
    block_[k] = static_cast<T>(lower);
    block_[count_ + k] = static_cast<T>(upper);
  }
  nb::object as_array() && {
    T* data = block_.get();
    const std::int64_t strides[2] = {1, static_cast<std::int64_t>(std::max<std::size_t>(count_, 1))};
    return array_in(std::move(block_), data, {count_, 2}, strides);
  }

 private:
  std::size_t count_;
  PlainMemory<T> block_;
};

using AnyCorners = std::variant<Corners<float>, Corners<double>, Corners<std::int32_t>, Corners<std::int64_t>>;

nb::object array_of(AnyCorners&& corners) {
  return std::visit([](auto&& of_type) { return std::move(of_type).as_array(); }, std::move(corners));
}

// What is added to the numbers of the clusters of each key, so that those come first whose key comes first in the rows.
template <class T>
std::vector<std::size_t> by_first_row(const Clusters<T>& clusters, const Columns& columns, std::size_t key_count) {
  std::vector<std::size_t> shifts(std::max<std::size_t>(key_count, 1), 0);
  const auto& keys = std::get<2>(columns);
  if (!keys) return shifts;
  std::vector<bool> is_known(shifts.size(), false);
  std::size_t next = 0;
  for (std::size_t row = 0; row < keys->shape(0) && next < clusters.size(); ++row) {
    const std::uint32_t key = keys->data()[row];
    if (key == kNoKey || is_known[key]) continue;
    is_known[key] = true;
    shifts[key] = next - clusters.first(key);  // of unsigned numbers: right where they are added
    next += clusters.first(key + 1) - clusters.first(key);
  }
  return shifts;
}

// A gap for each type in which intervals are sorted; it is given in uint64 for whole numbers, in float64 for others.
using Joinings = std::tuple<Joining<float>, Joining<double>, Joining<std::int32_t>, Joining<std::int64_t>>;

Joinings joinings(const Columns& columns, const nb::object& gap) {
  if (gap.is_none()) return {};
  if (is_whole(columns)) {
    const auto length = nb::cast<std::uint64_t>(gap);
    return {{}, {}, {length}, {length}};
  }
  const auto length = nb::cast<double>(gap);
  constexpr double kMost = 0x1p32;  // no two numbers of int32 are farther apart
  return {{length}, {length}, {static_cast<std::uint64_t>(std::min(length, kMost))}, {}};
}

// (intervals, first row, rows) of each cluster.
nb::tuple merged_intervals(Columns columns, std::size_t key_count, nb::object gap, unsigned workers) {
  const IntervalQuery query{columns, std::nullopt, key_count, true, workers};
  const Joinings all = joinings(columns, gap);
  AnyCorners intervals;
  PlainMemory<std::int32_t> rows;
  PlainMemory<std::int64_t> counts;
  std::size_t size = 0;
  query.made<KeyedOrder>([&]<class T, class Kept>(T, const KeyedOrder<Kept>& order, Interrupt& interrupt) {
    const Clusters<Kept> clusters(order, 0, std::get<Joining<Kept>>(all), workers, interrupt);
    const std::vector<std::size_t> shifts = by_first_row(clusters, columns, key_count);
    const auto& column = order.column(0);
    size = clusters.size();
    Corners<T> corners(size);
    rows = allocate_plain<std::int32_t>(size);
    counts = allocate_plain<std::int64_t>(size);
    clusters.each(workers, interrupt,
                  [&](std::size_t number, std::size_t key, std::size_t begin, std::size_t end, std::size_t furthest) {
                    const std::size_t to = number + shifts[key];
                    corners.set(to, column.lower[begin], column.upper[furthest]);
                    rows[to] = column.rows[begin];
                    counts[to] = static_cast<std::int64_t>(end - begin);
                  });
    intervals = std::move(corners);
  });
  return nb::make_tuple(array_of(std::move(intervals)), as_array(std::move(rows), {size}),
                        as_array(std::move(counts), {size}));
}

// The number of the cluster of each row, -1 for one without a key.
nb::object number_clusters(Columns columns, std::size_t key_count, nb::object gap, unsigned workers) {
  const IntervalQuery query{columns, std::nullopt, key_count, true, workers};
  const Joinings all = joinings(columns, gap);
  const std::size_t count = std::get<0>(columns).shape(0);
  PlainMemory<std::int64_t> numbers = allocate_plain<std::int64_t>(count);
  query.made<KeyedOrder>([&]<class T, class Kept>(T, const KeyedOrder<Kept>& order, Interrupt& interrupt) {
    const Clusters<Kept> clusters(order, 0, std::get<Joining<Kept>>(all), workers, interrupt);
    const std::vector<std::size_t> shifts = by_first_row(clusters, columns, key_count);
    const auto& column = order.column(0);
    if (column.count < count) std::fill_n(numbers.get(), count, -1);
    clusters.each_position(workers, interrupt, [&](std::size_t position, std::size_t number, std::size_t key) {
      numbers[column.rows[position]] = static_cast<std::int64_t>(number + shifts[key]);
    });
  });
  return as_array(std::move(numbers), {count});
}

// How much of each interval of the first set those of the second cover: float64, of whole numbers uint64.
nb::object covered_lengths(Columns first, Columns second, std::size_t key_count, unsigned workers) {
  const IntervalQuery query{first, second, key_count, true, workers};
  const std::size_t count = std::get<0>(first).shape(0);
  std::variant<PlainMemory<double>, PlainMemory<std::uint64_t>> result;
  query.made<KeyedOrder>([&]<class T, class Kept>(T, const KeyedOrder<Kept>& order, Interrupt& interrupt) {
    PlainMemory<LengthOf<T>> lengths = allocate_plain<LengthOf<T>>(count);
    Coverage<Kept>(order, false, workers, interrupt).measure(lengths.get(), workers, interrupt);
    result = std::move(lengths);
  });
  return std::visit([&](auto&& lengths) { return as_array(std::move(lengths), {count}); }, std::move(result));
}

// (intervals, rows of the first set): what the second leaves of the first, row by row. A row without a key stays whole.
nb::tuple pieces_of_intervals(Columns first, Columns second, std::size_t key_count, bool cuts, unsigned workers) {
  const IntervalQuery query{first, second, key_count, true, workers};
  const std::size_t count = std::get<0>(first).shape(0);
  AnyCorners intervals;
  PlainMemory<std::int32_t> rows;
  std::size_t size = 0;
  query.made<KeyedOrder>([&]<class T, class Kept>(T, const KeyedOrder<Kept>& order, Interrupt& interrupt) {
    const Coverage<Kept> coverage(order, cuts, workers, interrupt);
    const PlainMemory<typename Coverage<Kept>::Run> runs = allocate_plain<typename Coverage<Kept>::Run>(count);
    coverage.find_runs(runs.get(), workers, interrupt);
    const BoxView<T> given = IntervalQuery::as<T>(first).boxes;
    const auto lower = [&](std::size_t row) { return static_cast<Kept>(*given.lower_of(row)); };
    const auto upper = [&](std::size_t row) { return static_cast<Kept>(*given.upper_of(row)); };
    const PlainMemory<std::size_t> places = allocate_plain<std::size_t>(count);  // first counts
    in_stretches_on_threads(count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        places[row] = runs[row].is_empty() ? 1 : coverage.piece_count(lower(row), upper(row), runs[row]);
    });
    for (std::size_t row = 0; row < count; ++row) size += std::exchange(places[row], size);
    Corners<T> corners(size);
    rows = allocate_plain<std::int32_t>(size);
    in_stretches_on_threads(count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        std::size_t place = places[row];
        if (runs[row].is_empty()) {  // as it was given: what has no key may be any number
          rows[place] = static_cast<std::int32_t>(row);
          corners.set(place, *given.lower_of(row), *given.upper_of(row));
          continue;
        }
        coverage.each_piece(lower(row), upper(row), runs[row], [&](Kept from, Kept to) {
          rows[place] = static_cast<std::int32_t>(row);
          corners.set(place++, from, to);
        });
      }
    });
    intervals = std::move(corners);
  });
  return nb::make_tuple(array_of(std::move(intervals)), as_array(std::move(rows), {size}));
}

}  // namespace

void bind_intervals(nb::module_& module) {
  module.def("interval_pairs", &interval_pairs, "first"_a, "second"_a.none(), "key_count"_a, "touching"_a,
             "filter"_a.none(), "workers"_a, "sort"_a, "limit"_a);
  module.def("count_intervals", &count_intervals, "first"_a, "second"_a.none(), "key_count"_a, "touching"_a,
             "filter"_a.none(), "workers"_a);
  module.def("count_each_interval", &count_each_interval, "first"_a, "second"_a, "key_count"_a, "touching"_a,
             "How many of the second each of the first is in a pair with.");
  module.def("nearest_intervals", &nearest_intervals, "first"_a, "second"_a, "key_count"_a, "before"_a, "behind"_a,
             "The nearest of the second to each of the first, -1 for none, and the gap between them.");
  module.def("near_intervals", &near_intervals, "first"_a, "second"_a, "key_count"_a, "before"_a, "behind"_a, "k"_a,
             "ties"_a, "farthest"_a, "whole_farthest"_a, "limit"_a,
             "The k nearest of the second to each of the first: offsets, rows and gaps.");
  module.def("merged_intervals", &merged_intervals, "columns"_a, "key_count"_a, "gap"_a.none(), "workers"_a,
             "The intervals that clusters cover, the first row of each, and how many rows there are.");
  module.def("number_clusters", &number_clusters, "columns"_a, "key_count"_a, "gap"_a.none(), "workers"_a);
  module.def("covered_lengths", &covered_lengths, "first"_a, "second"_a, "key_count"_a, "workers"_a);
  module.def("pieces_of_intervals", &pieces_of_intervals, "first"_a, "second"_a, "key_count"_a, "cuts"_a, "workers"_a,
             "What the second set leaves of the first, and the row of each piece.");
}

}  // namespace broadphase::python
