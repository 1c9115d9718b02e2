// Results of a fixed shape: so many columns for each query, or for each group of rows, and how many there would be.
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

template <class T>
nb::object table_of(std::vector<T>&& values, std::size_t rows, std::size_t columns) {
  return as_array(std::move(values), 1).attr("reshape")(rows, columns);
}

// The first so many values of each query, and `fill` behind the last. There is one offset more than queries.
template <class T>
nb::object padded_values(Vector<T> values, Vector<std::int64_t> offsets, std::size_t width, T fill) {
  const std::size_t count = offsets.shape(0) - 1;
  std::vector<T> table(table_size(count, width), fill);
  without_gil(table.size(), [&] {
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t begin = offsets.data()[k];
      const auto found = static_cast<std::size_t>(offsets.data()[k + 1] - begin);
      std::copy_n(values.data() + begin, std::min(width, found), table.data() + k * width);
    }
  });
  return table_of(std::move(table), count, width);
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
  nb::object table = table_of(std::move(members), count, width);
  return nb::make_tuple(table, as_array(std::move(counts), 1));
}

}  // namespace

void bind_padding(nb::module_& module) {
  constexpr const char* kDoc = "The first so many values of each query, filled up behind the last.";
  module.def("padded_values", &padded_values<std::int32_t>, nb::arg("values"), nb::arg("offsets"), nb::arg("width"),
             nb::arg("fill"), kDoc);
  module.def("padded_values", &padded_values<double>, nb::arg("values"), nb::arg("offsets"), nb::arg("width"),
             nb::arg("fill"), kDoc);
  module.def("padded_groups", &padded_groups, nb::arg("group_of"), nb::arg("count"), nb::arg("width"),
             "The first so many members of each group, -1 behind the last, and how many there are.");
}

}  // namespace broadphase::python
