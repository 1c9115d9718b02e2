// Columns of names as numbers, read where they lie by the Arrow C data interface, which pandas, polars, PyArrow and
// DuckDB share: https://arrow.apache.org/docs/format/CDataInterface.html
#include "batches/name_numbers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
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

// A column: its chunks stay in memory as long as this. Offsets, indices and views are checked where they are used, so
// that damaged data raises ValueError, which names the column. The interface gives the size of no buffer but
// those of views: that the others are as long as the length and the last offset say cannot be checked here.
class Column {
 public:
  Column(nb::handle capsule, std::string title) : title_(std::move(title)) {
    auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (stream == nullptr) throw nb::python_error();
    if (stream->release == nullptr) refuse("it has been read before");
    if (stream->get_schema(stream, &schema_) != 0) fail(stream);
    for (;;) {
      auto chunk = std::make_unique<Released<ArrowArray>>();
      if (stream->get_next(stream, chunk.get()) != 0) fail(stream);
      if (chunk->release == nullptr) break;
      require_length(*chunk);
      rows_ += static_cast<std::size_t>(chunk->length);
      if (rows_ > kMostRows) throw nb::value_error((title_ + " has more than 2147483647 rows").c_str());
      chunks_.push_back(std::move(chunk));
    }
  }

  std::size_t size() const { return rows_; }
  // False if what it holds are no names.
  bool number(NameNumbers& numbers, std::uint32_t* to) const {
    std::int64_t first_row = 0;
    for (const auto& chunk : chunks_) {
      if (!number(schema_, *chunk, {"row ", first_row}, numbers, to + first_row)) return false;
      first_row += chunk->length;
    }
    return true;
  }

 private:
  // Row numbers are int32 in all results.
  static constexpr std::size_t kMostRows = std::numeric_limits<std::int32_t>::max();

  // What the first value of an array is called in messages.
  struct Place {
    const char* what;
    std::int64_t first;
  };

  [[noreturn]] void fail(ArrowArrayStream* stream) const {
    const char* reason = stream->get_last_error(stream);
    refuse(reason != nullptr ? reason : "it cannot be read");
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    throw nb::value_error((title_ + ": the Arrow data is damaged: " + reason).c_str());
  }
  [[noreturn]] void refuse(const Place& place, std::int64_t row, const std::string& reason) const {
    refuse(place.what + std::to_string(place.first + row) + " " + reason);
  }
  static std::string text(std::int64_t number) { return std::to_string(number); }

  void require_length(const ArrowArray& array) const {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - 1;
    if (array.length < 0 || array.offset < 0 || array.length > kMost - array.offset)
      refuse("an array has the length " + text(array.length) + " and the offset " + text(array.offset));
  }
  // Makes sure that there are as many buffers, and those that are read.
  void require_buffers(const ArrowArray& array, std::int64_t least, std::int64_t most) const {
    if (array.n_buffers < least || array.n_buffers > most || array.buffers == nullptr)
      refuse("an array has " + text(array.n_buffers) + " buffers");
    if (array.length > 0 && array.buffers[1] == nullptr) refuse("a buffer is missing");
  }

  bool number(const ArrowSchema& schema, const ArrowArray& array, const Place& place, NameNumbers& numbers,
              std::uint32_t* to) const {
    if (schema.format == nullptr) refuse("a type is missing");
    const std::string_view format = schema.format;
    if (schema.dictionary != nullptr) {
      if (array.dictionary == nullptr) refuse("a dictionary is missing");
      if (schema.dictionary->dictionary != nullptr) return false;
      require_length(*array.dictionary);
      if (static_cast<std::size_t>(array.dictionary->length) > kMostRows) refuse("a dictionary is too long");
      std::vector<std::uint32_t> of_value(static_cast<std::size_t>(array.dictionary->length));
      if (!number(*schema.dictionary, *array.dictionary, {"value ", 0}, numbers, of_value.data())) return false;
      return look_up(format, array, place, of_value, to);
    }
    if (format == "u" || format == "z")
      number_offsets<std::int32_t>(array, place, numbers, to);
    else if (format == "U" || format == "Z")
      number_offsets<std::int64_t>(array, place, numbers, to);
    else if (format == "vu" || format == "vz")
      number_views(array, place, numbers, to);
    else
      return false;
    return true;
  }

  // Calls use(position, row) for each row that is not null; the others have no key.
  template <class Use>
  static void each_row(const ArrowArray& array, std::uint32_t* to, const Use& use) {
    const auto* valid = static_cast<const std::uint8_t*>(array.buffers[0]);
    for (std::int64_t row = 0; row < array.length; ++row) {
      const std::int64_t at = array.offset + row;
      if (valid != nullptr && array.null_count != 0 && (valid[at / 8] >> (at % 8) & 1) == 0)
        to[row] = kNoKey;
      else
        to[row] = use(at, row);
    }
  }

  template <class Offset>
  void number_offsets(const ArrowArray& array, const Place& place, NameNumbers& numbers, std::uint32_t* to) const {
    require_buffers(array, 3, 3);
    if (array.length == 0) return;  // its buffers may be missing
    const auto* offsets = static_cast<const Offset*>(array.buffers[1]);
    const auto* names = static_cast<const char*>(array.buffers[2]);
    const Offset last = offsets[array.offset + array.length];
    if (names == nullptr && last != 0) refuse("a buffer is missing");
    each_row(array, to, [&](std::int64_t at, std::int64_t row) {
      const Offset begin = offsets[at];
      const Offset end = offsets[at + 1];
      if (begin < 0 || end < begin || last < end)
        refuse(place, row, "is text from byte " + text(begin) + " to " + text(end) + " of " + text(last));
      const char* name = names == nullptr ? "" : names + begin;
      const auto size = static_cast<std::size_t>(end - begin);
      if (size <= 8 && last - begin >= 8) return numbers.number_of({name, size}, NameNumbers::word_at(name, size));
      return numbers.number_of({name, size});
    });
  }

  // Sixteen bytes each: the size, and up to 12 bytes of the name, or its begin, the buffer and the place there. The
  // last buffer has the sizes of those between.
  void number_views(const ArrowArray& array, const Place& place, NameNumbers& numbers, std::uint32_t* to) const {
    require_buffers(array, 2, std::numeric_limits<std::int64_t>::max());
    const std::int64_t count = std::max<std::int64_t>(array.n_buffers - 3, 0);
    const auto* views = static_cast<const char*>(array.buffers[1]);
    const auto* sizes = count == 0 ? nullptr : static_cast<const std::int64_t*>(array.buffers[array.n_buffers - 1]);
    if (count != 0 && sizes == nullptr) refuse("a buffer is missing");
    each_row(array, to, [&](std::int64_t at, std::int64_t row) {
      const char* view = views + 16 * at;
      std::int32_t words[4];
      std::memcpy(words, view, sizeof(words));
      if (words[0] < 0) refuse(place, row, "is text of " + text(words[0]) + " bytes");
      const auto size = static_cast<std::size_t>(words[0]);
      if (size <= 8) return numbers.number_of({view + 4, size}, NameNumbers::word_at(view + 4, size));
      if (size <= 12) return numbers.number_of({view + 4, size});
      const std::int32_t buffer = words[2];
      if (buffer < 0 || buffer >= count || array.buffers[2 + buffer] == nullptr || words[3] < 0 ||
          sizes[buffer] - words[3] < words[0])
        refuse(place, row, "is text of " + text(words[0]) + " bytes beyond its buffer");
      return numbers.number_of({static_cast<const char*>(array.buffers[2 + buffer]) + words[3], size});
    });
  }

  // Numbers of values, of any type of whole numbers.
  bool look_up(std::string_view format, const ArrowArray& array, const Place& place,
               const std::vector<std::uint32_t>& of_value, std::uint32_t* to) const {
    require_buffers(array, 2, 2);
    const auto look_up_as = [&](auto of_type) {
      const auto* values = static_cast<const decltype(of_type)*>(array.buffers[1]);
      each_row(array, to, [&](std::int64_t at, std::int64_t row) {
        const auto value = values[at];
        const auto index = static_cast<std::size_t>(value);  // of a negative one, beyond all
        if (index >= of_value.size())
          refuse(place, row,
                 "has the index " + std::to_string(value) + " into a dictionary of " + std::to_string(of_value.size()));
        return of_value[index];
      });
      return true;
    };
    switch (format.empty() ? ' ' : format[0]) {
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

  std::string title_;
  std::size_t rows_ = 0;
  Released<ArrowSchema> schema_;
  std::vector<std::unique_ptr<Released<ArrowArray>>> chunks_;
};

// The number of each row's name, the same for equal names of all columns, 2^32 - 1 for null; and how many numbers there
// are. None if a column holds no names.
nb::object number_names(nb::list capsules, nb::list titles) {
  std::vector<std::unique_ptr<Column>> columns;
  for (std::size_t k = 0; k < capsules.size(); ++k)
    columns.push_back(std::make_unique<Column>(capsules[k], std::string(nb::str(titles[k]).c_str())));
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
  module.def(
      "number_names", &number_names, "capsules"_a, "titles"_a,
      "Number the names in Arrow streams: an array each, and how many there are; None for other data. ValueError "
      "names by its title the stream whose data is damaged.");
}

}  // namespace broadphase::python
