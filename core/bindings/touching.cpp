// What the world does with whole columns of pairs.
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "change.hpp"
#include "world/touching.hpp"

namespace broadphase::python {

namespace {

using Column = Vector<std::int32_t>;
using Flags = std::optional<Vector<std::uint8_t>>;

PairColumns columns(const Column& first, const Column& second) { return {first.data(), second.data(), first.shape(0)}; }

nb::object as_pairs(Pairs&& pairs) {
  if (pairs.block == nullptr) {
    pairs.block = allocate_pairs(1);
    pairs.stride = 1;
  }
  return as_array(std::move(pairs));
}

// (touching, starts, began, ended, began_at), the first two None if they are as before: see `next_touching`.
nb::object next(Column last_first, Column last_second, Vector<std::uint32_t> last_starts, Column found_first,
                Column found_second, Column again_first, Column again_second, Flags changed, Flags renewed,
                std::size_t rows) {
  TouchingStep step;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    step = next_touching({columns(last_first, last_second), last_starts.data(), last_starts.shape(0) - 1},
                         columns(found_first, found_second), columns(again_first, again_second),
                         {changed ? changed->data() : nullptr, renewed ? renewed->data() : nullptr}, rows, interrupt);
  }
  nb::object touching = nb::none(), starts = nb::none();
  if (!step.same) {
    touching = as_pairs(std::move(step.touching));
    starts = as_array(std::move(step.starts), 1);
  }
  nb::object began = as_pairs(std::move(step.began)), ended = as_pairs(std::move(step.ended));
  return nb::make_tuple(touching, starts, began, ended, as_array(std::move(step.began_at), 1));
}

// One array that is to be written to.
struct Writing {
  std::byte* to;
  const std::byte* from;     // null: all bytes are `flag`
  std::size_t bytes;         // of all of it; where there are rows, of one
  const std::int32_t* rows;  // null: all
  std::size_t row_count;
  bool flag = false;
};

using Target = nb::ndarray<nb::c_contig, nb::device::cpu>;
using Source = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

Writing writing_of(const nb::tuple& entry) {
  const auto to = nb::cast<Target>(entry[0], false);
  Writing writing{static_cast<std::byte*>(to.data()), nullptr, to.nbytes(), nullptr, 0};
  std::size_t needed = writing.bytes;
  if (entry.size() == 3 && !entry[2].is_none()) {
    const auto rows = nb::cast<Column>(entry[2], false);
    writing.rows = rows.data();
    writing.row_count = rows.shape(0);
    if (to.shape(0) > 0) writing.bytes /= to.shape(0);
    needed = writing.bytes * writing.row_count;
    for (std::size_t k = 0; k < writing.row_count; ++k)
      if (static_cast<std::size_t>(writing.rows[k]) >= to.shape(0)) throw nb::value_error("a row that does not exist");
  }
  if (entry[1].is_none()) return writing;
  if (nb::isinstance<nb::bool_>(entry[1])) {
    writing.flag = nb::cast<bool>(entry[1]);
    if (to.dtype().bits != 8) throw nb::value_error("a flag is written to bytes");
    return writing;
  }
  const auto from = nb::cast<Source>(entry[1], false);
  writing.from = static_cast<const std::byte*>(from.data());
  if (from.dtype() != to.dtype() || from.nbytes() != needed)
    throw nb::value_error("the array that is given does not fit the one that is to be written");
  return writing;
}

// Writes arrays, then updates dictionaries, whose keys exist. All is checked first; from there on nothing fails, and no
// signal is handled: who is interrupted finds all of it done, or nothing.
void commit(nb::list arrays, nb::list dictionaries, nb::list items, nb::list shapes) {
  std::vector<Writing> writings;
  writings.reserve(arrays.size());
  for (const nb::handle entry : arrays) writings.push_back(writing_of(nb::cast<nb::tuple>(entry)));
  std::vector<std::pair<nb::dict, nb::dict>> updates;
  updates.reserve(dictionaries.size());
  for (const nb::handle entry : dictionaries) {
    const auto parts = nb::cast<nb::tuple>(entry);
    auto to = nb::cast<nb::dict>(parts[0]), from = nb::cast<nb::dict>(parts[1]);
    for (const auto& [key, value] : from)
      if (!to.contains(key)) throw nb::key_error("a key that does not exist");
    updates.emplace_back(std::move(to), std::move(from));
  }
  std::vector<ShapeWriting> shape_writings;
  shape_writings.reserve(shapes.size());
  for (const nb::handle entry : shapes) shape_writings.emplace_back(nb::cast<nb::tuple>(entry));
  ItemWritings item_writings(items);
  for (const Writing& writing : writings) {
    if (writing.from == nullptr && writing.rows == nullptr)
      std::memset(writing.to, writing.flag, writing.bytes);
    else if (writing.from == nullptr)
      for (std::size_t k = 0; k < writing.row_count; ++k)
        std::memset(writing.to + static_cast<std::size_t>(writing.rows[k]) * writing.bytes, writing.flag,
                    writing.bytes);
    else if (writing.rows == nullptr)
      std::memcpy(writing.to, writing.from, writing.bytes);
    else
      for (std::size_t k = 0; k < writing.row_count; ++k)
        std::memcpy(writing.to + static_cast<std::size_t>(writing.rows[k]) * writing.bytes,
                    writing.from + k * writing.bytes, writing.bytes);
  }
  for (const ShapeWriting& writing : shape_writings) writing.write();
  for (auto& [to, from] : updates) PyDict_Update(to.ptr(), from.ptr());
  item_writings.write();
}

// Takes the first entry from a deque, and calls a function: whoever is interrupted finds the entry still there, or the
// call begun.
nb::object deliver(nb::object queue, nb::object function, nb::object argument) {
  const nb::object entry = queue.attr("popleft")();
  return function(argument);
}

}  // namespace

void bind_touching(nb::module_& module) {
  module.def("next_touching", &next, nb::arg("last_first"), nb::arg("last_second"), nb::arg("last_starts"),
             nb::arg("found_first"), nb::arg("found_second"), nb::arg("again_first"), nb::arg("again_second"),
             nb::arg("changed").none(), nb::arg("renewed").none(), nb::arg("rows"));
  module.def(
      "commit", &commit, nb::arg("arrays"), nb::arg("dictionaries"), nb::arg("items") = nb::list(),
      nb::arg("shapes") = nb::list(),
      "Write (to, from), (to, None) for zeros or (to, from, rows), then update (to, from) dictionaries, items and "
      "shapes: all of it, or nothing.");
  module.def("deliver", &deliver, nb::arg("queue"), nb::arg("function"), nb::arg("argument"),
             "Take the first entry from a deque and call a function, with no signal in between.");
}

}  // namespace broadphase::python
