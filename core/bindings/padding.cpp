// Results of a fixed shape: so many columns for each query, or for each group of rows, and how many there would be. And
// answers of queries that are made of those of several.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "bindings.hpp"

namespace broadphase::python {

namespace {

// The numbers in a table, if there is memory for so many.
std::size_t table_size(std::size_t rows, std::size_t columns) {
  constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(double);
  if (rows > 0 && columns > kMost / rows) throw std::bad_alloc();
  return rows * columns;
}

// The first so many values of each query, and `fill` behind the last. There is one offset more than queries. The arrays
// are results, which their owner may have written to: offsets beyond the values end there.
template <class T>
nb::object padded_values(Vector<T> values, Vector<std::int64_t> offsets, std::size_t width, T fill) {
  const std::size_t count = offsets.shape(0) - 1;
  std::vector<T> table(table_size(count, width), fill);
  without_gil(table.size(), [&] {
    const auto most = static_cast<std::int64_t>(values.shape(0));
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t begin = std::clamp<std::int64_t>(offsets.data()[k], 0, most);
      const std::int64_t end = std::clamp(offsets.data()[k + 1], begin, most);
      std::copy_n(values.data() + begin, std::min(width, static_cast<std::size_t>(end - begin)),
                  table.data() + k * width);
    }
  });
  return as_array(std::move(table), {count, width});
}

// The first members of each group, in their order, -1 behind the last; and how many it has.
nb::tuple padded_groups(Vector<std::int64_t> group_of, std::size_t count, std::size_t width) {
  std::vector<std::int32_t> members(table_size(count, width), -1), counts(table_size(count, 1));
  without_gil(members.size() + group_of.shape(0), [&] {
    for (std::size_t k = 0; k < group_of.shape(0); ++k) {
      const auto group = static_cast<std::size_t>(group_of.data()[k]);
      const auto place = static_cast<std::size_t>(counts[group]++);
      if (place < width) members[group * width + place] = static_cast<std::int32_t>(k);
    }
  });
  return as_tuple(as_array(std::move(members), {count, width}), std::move(counts));
}

using Entry = std::pair<double, std::int32_t>;  // value, row

// The least entries, ascending, in place; each row once, by its least value. Returns their end.
Entry* least_entries(Entry* begin, Entry* end, std::size_t wanted) {
  constexpr std::size_t kFew = 32;
  if (wanted > kFew) {
    std::sort(begin, end, [](const Entry& a, const Entry& b) {
      return a.second != b.second ? a.second < b.second : a.first < b.first;
    });
    end = std::unique(begin, end, [](const Entry& a, const Entry& b) { return a.second == b.second; });
    Entry* const last = begin + std::min(wanted, static_cast<std::size_t>(end - begin));
    std::partial_sort(begin, last, end);
    return last;
  }
  Entry* last = begin;
  for (const Entry* from = begin; from < end; ++from) {
    const Entry entry = *from;
    const bool is_full = last == begin + wanted;
    if (is_full && (wanted == 0 || !(entry < last[-1]))) continue;
    Entry* to = std::find_if(begin, last, [&](const Entry& kept) { return kept.second == entry.second; });
    if (to == last) {
      if (is_full)
        --to;
      else
        ++last;
    } else if (!(entry < *to)) {
      continue;
    }
    for (; to > begin && entry < to[-1]; --to) *to = to[-1];
    *to = entry;
  }
  return last;
}

// Of the finite values of each query, in any order, the least that are within its limit, ascending, of equal ones the
// least row first; -1 and infinity behind the last.
nb::tuple least_of_each(Vector<std::int32_t> rows, Vector<std::int32_t> queries, Vector<double> values,
                        Vector<double> limits, std::size_t wanted) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const std::size_t count = limits.shape(0), given = rows.shape(0), size = table_size(count, wanted);
  std::vector<std::int32_t> table(size, -1);
  std::vector<double> least(size, kNone);
  without_gil(size + given, [&] {
    const auto query_of = [&](std::size_t k) { return static_cast<std::size_t>(queries.data()[k]); };
    const auto is_wanted = [&](std::size_t k) {
      const double value = values.data()[k];
      return value <= limits.data()[query_of(k)] && value < kNone;
    };
    std::vector<std::size_t> end(count + 1, 0);  // of the entries of each query, once these are in place
    for (std::size_t k = 0; k < given; ++k) end[query_of(k) + 1] += is_wanted(k) ? 1 : 0;
    for (std::size_t k = 0; k < count; ++k) end[k + 1] += end[k];
    std::vector<Entry> entries(end[count]);
    for (std::size_t k = 0; k < given; ++k)
      if (is_wanted(k)) entries[end[query_of(k)]++] = {values.data()[k], rows.data()[k]};
    Entry* begin = entries.data();
    for (std::size_t query = 0; query < count; ++query) {
      Entry* const next = entries.data() + end[query];
      Entry* const last = least_entries(begin, next, wanted);
      for (std::size_t at = query * wanted; begin < last; ++begin, ++at) {
        least[at] = begin->first;
        table[at] = begin->second;
      }
      begin = next;
    }
  });
  return as_tuple(as_array(std::move(table), {count, wanted}), as_array(std::move(least), {count, wanted}));
}

// The answers of queries together with those of more queries, each of which belongs to one of them: ascending, each row
// once. All answers are ascending, and owners are numbers of queries.
nb::tuple united_answers(Rows rows, Vector<std::int64_t> offsets, Rows more_rows, Vector<std::int64_t> more_offsets,
                         Vector<std::int64_t> owners) {
  const std::size_t count = offsets.shape(0) - 1, more = owners.shape(0);
  require(more_offsets.shape(0) == more + 1);
  return as_tuple(without_gil(rows.shape(0), [&] {
    std::vector<std::size_t> starts(count + 2), of_owner(more);
    for (std::size_t k = 0; k < more; ++k) ++starts[static_cast<std::size_t>(owners.data()[k]) + 2];
    for (std::size_t query = 0; query < count; ++query) starts[query + 2] += starts[query + 1];
    for (std::size_t k = 0; k < more; ++k) of_owner[starts[static_cast<std::size_t>(owners.data()[k]) + 1]++] = k;
    Ragged result;
    result.rows.reserve(rows.shape(0) + more_rows.shape(0));
    result.offsets.assign(count + 1, 0);
    const auto append = [&](const Rows& of, const Vector<std::int64_t>& ends, std::size_t answer) {
      result.rows.insert(result.rows.end(), of.data() + ends.data()[answer], of.data() + ends.data()[answer + 1]);
    };
    for (std::size_t query = 0; query < count; ++query) {
      append(rows, offsets, query);
      if (starts[query] < starts[query + 1]) {
        for (std::size_t at = starts[query]; at < starts[query + 1]; ++at)
          append(more_rows, more_offsets, of_owner[at]);
        const auto begin = result.rows.begin() + static_cast<std::ptrdiff_t>(result.offsets[query]);
        std::sort(begin, result.rows.end());
        result.rows.erase(std::unique(begin, result.rows.end()), result.rows.end());
      }
      result.offsets[query + 1] = static_cast<std::int64_t>(result.rows.size());
    }
    return result;
  }));
}

}  // namespace

void bind_padding(nb::module_& module) {
  constexpr const char* kDoc = "The first so many values of each query, filled up behind the last.";
  module.def("padded_values", &padded_values<std::int32_t>, "values"_a, "offsets"_a, "width"_a, "fill"_a, kDoc);
  module.def("padded_values", &padded_values<double>, "values"_a, "offsets"_a, "width"_a, "fill"_a, kDoc);
  module.def("padded_groups", &padded_groups, "group_of"_a, "count"_a, "width"_a,
             "The first so many members of each group, -1 behind the last, and how many there are.");
  module.def("united_answers", &united_answers, "rows"_a, "offsets"_a, "more_rows"_a, "more_offsets"_a, "owners"_a,
             "The answers of queries and of more queries, each of which has an owner among the first; each row once.");
  module.def("least_of_each", &least_of_each, "rows"_a, "queries"_a, "values"_a, "limits"_a, "wanted"_a,
             "The least values of each query within its limit, and their rows; each row once.");
}

}  // namespace broadphase::python
