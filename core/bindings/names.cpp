// Columns of names as numbers, read where they lie by the Arrow C data interface, which pandas, polars, PyArrow and
// DuckDB share: https://arrow.apache.org/docs/format/CDataInterface.html
#include "batches/name_numbers.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "sweep/interval_pairs.hpp"

// As the interface defines them.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace broadphase::python {

namespace {

// Gives back what it holds, as the interface wants it.
template <class T>
struct Released : T {
  Released() : T{} {}
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() {
    if (this->release != nullptr) this->release(this);
  }
};

// A column: its chunks stay in memory as long as this.
class Column {
 public:
  explicit Column(nb::handle capsule) {
    auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (stream == nullptr) throw nb::python_error();
    if (stream->get_schema(stream, &schema_) != 0) fail(stream);
    for (;;) {
      auto chunk = std::make_unique<Released<ArrowArray>>();
      if (stream->get_next(stream, chunk.get()) != 0) fail(stream);
      if (chunk->release == nullptr) break;
      chunks_.push_back(std::move(chunk));
    }
  }

  std::size_t size() const {
    std::size_t rows = 0;
    for (const auto& chunk : chunks_) rows += static_cast<std::size_t>(chunk->length);
    return rows;
  }
  // False if what it holds are no names.
  bool number(NameNumbers& numbers, std::uint32_t* to) const {
    for (const auto& chunk : chunks_) {
      if (!number(schema_, *chunk, numbers, to)) return false;
      to += chunk->length;
    }
    return true;
  }

 private:
  [[noreturn]] static void fail(ArrowArrayStream* stream) {
    const char* reason = stream->get_last_error(stream);
    throw std::runtime_error(reason != nullptr ? reason : "the column cannot be read");
  }

  static bool number(const ArrowSchema& schema, const ArrowArray& array, NameNumbers& numbers, std::uint32_t* to) {
    const std::string_view format = schema.format;
    if (schema.dictionary != nullptr) {
      std::vector<std::uint32_t> of_value(static_cast<std::size_t>(array.dictionary->length));
      if (!number(*schema.dictionary, *array.dictionary, numbers, of_value.data())) return false;
      return look_up(format, array, of_value, to);
    }
    if (format == "u" || format == "z")
      number_offsets<std::int32_t>(array, numbers, to);
    else if (format == "U" || format == "Z")
      number_offsets<std::int64_t>(array, numbers, to);
    else if (format == "vu" || format == "vz")
      number_views(array, numbers, to);
    else
      return false;
    return true;
  }

  // Calls use(row, position) for each row that is not null; the others have no key.
  template <class Use>
  static void each_row(const ArrowArray& array, std::uint32_t* to, const Use& use) {
    const auto* valid = static_cast<const std::uint8_t*>(array.buffers[0]);
    for (std::int64_t row = 0; row < array.length; ++row) {
      const std::int64_t at = array.offset + row;
      if (valid != nullptr && array.null_count != 0 && (valid[at / 8] >> (at % 8) & 1) == 0)
        to[row] = kNoKey;
      else
        to[row] = use(at);
    }
  }

  template <class Offset>
  static void number_offsets(const ArrowArray& array, NameNumbers& numbers, std::uint32_t* to) {
    const auto* offsets = static_cast<const Offset*>(array.buffers[1]);
    const auto* text = static_cast<const char*>(array.buffers[2]);
    if (array.length == 0) return;  // its buffers may be missing
    const auto last = offsets[array.offset + array.length];
    each_row(array, to, [&](std::int64_t at) {
      const char* name = text + offsets[at];
      const auto size = static_cast<std::size_t>(offsets[at + 1] - offsets[at]);
      if (size <= 8 && offsets[at] + 8 <= last)
        return numbers.number_of({name, size}, NameNumbers::word_at(name, size));
      return numbers.number_of({name, size});
    });
  }

  // Sixteen bytes each: the size, and up to 12 bytes of the name, or its begin, the buffer and the place there.
  static void number_views(const ArrowArray& array, NameNumbers& numbers, std::uint32_t* to) {
    const auto* views = static_cast<const char*>(array.buffers[1]);
    each_row(array, to, [&](std::int64_t at) {
      const char* view = views + 16 * at;
      std::int32_t words[4];
      std::memcpy(words, view, sizeof(words));
      const auto size = static_cast<std::size_t>(words[0]);
      if (size <= 8) return numbers.number_of({view + 4, size}, NameNumbers::word_at(view + 4, size));
      const char* name = size <= 12 ? view + 4 : static_cast<const char*>(array.buffers[2 + words[2]]) + words[3];
      return numbers.number_of({name, size});
    });
  }

  // Numbers of values, of any type of whole numbers.
  static bool look_up(std::string_view format, const ArrowArray& array, const std::vector<std::uint32_t>& of_value,
                      std::uint32_t* to) {
    const auto look_up_as = [&](auto of_type) {
      const auto* values = static_cast<const decltype(of_type)*>(array.buffers[1]);
      each_row(array, to, [&](std::int64_t at) { return of_value[static_cast<std::size_t>(values[at])]; });
      return true;
    };
    switch (format[0]) {
      case 'c': return look_up_as(std::int8_t());
      case 'C': return look_up_as(std::uint8_t());
      case 's': return look_up_as(std::int16_t());
      case 'S': return look_up_as(std::uint16_t());
      case 'i': return look_up_as(std::int32_t());
      case 'I': return look_up_as(std::uint32_t());
      case 'l': return look_up_as(std::int64_t());
      case 'L': return look_up_as(std::uint64_t());
      default: return false;
    }
  }

  Released<ArrowSchema> schema_;
  std::vector<std::unique_ptr<Released<ArrowArray>>> chunks_;
};

// The number of each row's name, the same for equal names of all columns, 2^32 - 1 for null; and how many numbers there
// are. None if a column holds no names.
nb::object number_names(nb::list capsules) {
  std::vector<std::unique_ptr<Column>> columns;
  for (const nb::handle capsule : capsules) columns.push_back(std::make_unique<Column>(capsule));
  std::vector<std::vector<std::uint32_t>> numbers(columns.size());
  NameNumbers names;
  bool are_names = true;
  {
    const ReleasedGil release;
    for (std::size_t k = 0; are_names && k < columns.size(); ++k) {
      numbers[k].resize(columns[k]->size());
      are_names = columns[k]->number(names, numbers[k].data());
    }
  }
  if (!are_names) return nb::none();
  nb::list arrays;
  for (auto& of_column : numbers) arrays.append(as_array(std::move(of_column)));
  return nb::make_tuple(arrays, names.count());
}

}  // namespace

void bind_names(nb::module_& module) {
  module.def("number_names", &number_names, "capsules"_a,
             "Number the names in Arrow streams: an array each, and how many there are; None for other data.");
}

}  // namespace broadphase::python
