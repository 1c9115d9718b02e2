// Pairs of intervals as columns of a table hold them: begins and ends of any dtype, each row with a number for its key.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "filters.hpp"
#include "query/collect.hpp"
#include "sweep/interval_pairs.hpp"

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
    const auto dtype = std::get<0>(first).dtype();
    if (dtype == nb::dtype<float>())
      sorted_as<float>(use);
    else if (dtype == nb::dtype<double>())
      sorted_as<double>(use);
    else if (dtype == nb::dtype<std::int32_t>())
      sorted_as<std::int32_t>(use);
    else
      sorted_as<std::int64_t>(use);
  }

 private:
  template <class T>
  static KeyedIntervals<T> as(const Columns& columns) {
    const auto& [lower, upper, keys] = columns;
    return {{static_cast<const T*>(lower.data()), static_cast<const T*>(upper.data()), lower.stride(0), upper.stride(0),
             lower.shape(0)},
            keys ? keys->data() : nullptr};
  }
  template <class T, class Use>
  void sorted_as(const Use& use) const {
    at_work([&](Interrupt& interrupt) {
      const KeyedIntervals<T> own = as<T>(first), other = second ? as<T>(*second) : KeyedIntervals<T>{};
      if constexpr (sizeof(T) == 8) {
        const IntervalPairs<std::int32_t> small(own, other, second.has_value(), key_count, touching, 0, workers,
                                                interrupt);
        if (small.is_exact()) return use(small, interrupt);
      }
      use(IntervalPairs<T>(own, other, second.has_value(), key_count, touching, T(0), workers, interrupt), interrupt);
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
}

}  // namespace broadphase::python
