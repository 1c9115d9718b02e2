// What a store of boxes checks and looks up: boxes, rows in use, rows that are free.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "bindings.hpp"
#include "boxes/check.hpp"

namespace broadphase::python {

namespace {

std::int64_t first_invalid_row(AnyArray lower, AnyArray upper, unsigned workers) {
  const auto find = [&](const auto& boxes) -> std::int64_t {
    const std::size_t row = without_gil(boxes.count, [&] {
      Interrupt none;  // a few milliseconds
      return with_dimension(lower.shape(1), [&](auto d) { return first_invalid<d()>(boxes, workers, none); });
    });
    return row < boxes.count ? static_cast<std::int64_t>(row) : -1;
  };
  return with_boxes(lower, upper, find);
}

// The position of the first of `rows` (int32 or int64) that is not in use; -1 if all are and they ascend, -2 if they do
// not.
std::int64_t check_rows(nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu> rows, Vector<bool> alive, std::size_t slots) {
  if (slots > alive.shape(0)) throw nb::value_error("more slots than there is room for");
  const auto check = [&](const auto* first) -> std::int64_t {
    const std::ptrdiff_t stride = rows.shape(0) > 1 ? rows.stride(0) : 1;
    const auto count = static_cast<std::ptrdiff_t>(rows.shape(0));
    std::int64_t last = -1;
    bool ascend = true;
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      const std::int64_t row = first[k * stride];
      if (static_cast<std::uint64_t>(row) >= slots || !alive.data()[row]) return k;
      ascend &= row > last;
      last = row;
    }
    return ascend ? -1 : -2;
  };
  if (rows.dtype() == nb::dtype<std::int32_t>()) return check(static_cast<const std::int32_t*>(rows.data()));
  if (rows.dtype() == nb::dtype<std::int64_t>()) return check(static_cast<const std::int64_t*>(rows.data()));
  throw nb::value_error("rows are int32 or int64");
}

// The rows that `count` new boxes get: the free ones, the lowest first, then new ones from `slots` on. No row below
// `first` is free, and none whose generation is beyond `last_generation` is used again.
nb::object next_rows(Vector<bool> alive, Vector<std::int64_t> generation, std::size_t slots, std::size_t first,
                     std::int64_t last_generation, std::size_t count) {
  if (slots > alive.shape(0) || slots > generation.shape(0)) throw nb::value_error("more slots than there is room for");
  constexpr auto kLimit = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  if (slots > kLimit || count > kLimit - slots) throw nb::value_error("row numbers are int32");
  std::vector<std::int32_t> rows(count);
  std::size_t found = 0;
  for (std::size_t row = first; found < count && row < slots; ++row) {
    const void* free = std::memchr(alive.data() + row, 0, slots - row);
    if (free == nullptr) break;
    row = static_cast<std::size_t>(static_cast<const bool*>(free) - alive.data());
    if (generation.data()[row] <= last_generation) rows[found++] = static_cast<std::int32_t>(row);
  }
  for (std::size_t row = slots; found < count; ++row) rows[found++] = static_cast<std::int32_t>(row);
  return as_array(std::move(rows));
}

// The rows 0 to count - 1.
nb::object first_rows(std::size_t count, unsigned workers) {
  PlainMemory<std::int32_t> rows = allocate_plain<std::int32_t>(count);
  without_gil(count, [&] {
    Interrupt none;  // a few milliseconds
    in_stretches_on_threads(count, workers, none, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) rows[row] = static_cast<std::int32_t>(row);
    });
  });
  return as_array(std::move(rows), {count});
}

nb::object sample_rows(std::size_t count, std::size_t most) {
  if (most >= std::size_t{1} << 31) throw nb::value_error("a sample has fewer than 2^31 rows");
  const StratifiedSample sample(count, most);
  std::vector<std::int64_t> rows(sample.size());
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<std::int64_t>(sample[k]);
  return as_array(std::move(rows));
}

}  // namespace

void bind_store(nb::module_& module) {
  module.def("first_invalid", &first_invalid_row, "lower"_a, "upper"_a, "workers"_a = 1,
             "The first row with NaN or lower > upper; -1 if there is none.");
  module.def("check_rows", &check_rows, "rows"_a, "alive"_a, "slots"_a,
             "The position of the first row that is not in use; -1 if all are and they ascend, -2 if they do not.");
  module.def("next_rows", &next_rows, "alive"_a, "generation"_a, "slots"_a, "first"_a, "last_generation"_a, "count"_a,
             "The rows of new boxes: the free ones from `first` on, the lowest first, then new ones.");
  module.def("first_rows", &first_rows, "count"_a, "workers"_a, "The rows 0 to count - 1.");
  module.def("sample_rows", &sample_rows, "count"_a, "most"_a,
             "Up to `most` of `count` rows, ascending: one of each of as many equal stretches, by a fixed hash.");
}

}  // namespace broadphase::python
