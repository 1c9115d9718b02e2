// Rows of a column of a table, copied on threads: what libraries do on one.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/memory.hpp"
#include "bindings.hpp"

namespace broadphase::python {

namespace {

using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

template <class Word>
nb::object copied(const Column& column, const Rows& rows, unsigned workers) {
  const auto* const values = static_cast<const Word*>(column.data());
  const std::int32_t* const at = rows.data();
  const std::size_t count = rows.shape(0), size = column.shape(0);
  const std::ptrdiff_t stride = size > 1 ? column.stride(0) : 1;
  PlainMemory<Word> result = allocate_plain<Word>(count);
  std::atomic<bool> are_there{true};
  at_work([&](Interrupt& interrupt) {
    in_stretches_on_threads(count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      bool have = true;
      for (std::size_t k = begin; k < end; ++k) {
        const auto row = static_cast<std::size_t>(at[k]);
        if (row < size)
          result[k] = values[static_cast<std::ptrdiff_t>(row) * stride];
        else
          have = false;
      }
      if (!have) are_there.store(false, std::memory_order_relaxed);
    });
  });
  if (!are_there) throw nb::index_error("a row that does not exist");
  return as_array(std::move(result), {count});
}

// Of unsigned numbers of any size.
nb::object rows_of_column(Column column, Rows rows, unsigned workers) {
  switch (column.dtype().bits) {
    case 8: return copied<std::uint8_t>(column, rows, workers);
    case 16: return copied<std::uint16_t>(column, rows, workers);
    case 32: return copied<std::uint32_t>(column, rows, workers);
    case 64: return copied<std::uint64_t>(column, rows, workers);
    default: throw nb::type_error("numbers of 8 to 64 bits");
  }
}

}  // namespace

void bind_column_rows(nb::module_& module) {
  module.def("rows_of_column", &rows_of_column, "column"_a, "rows"_a, "workers"_a,
             "Copy rows of an array of unsigned numbers, in this order.");
}

}  // namespace broadphase::python
