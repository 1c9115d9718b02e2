// What the world does with whole columns of pairs.
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "broadphase/touching.hpp"

namespace broadphase::python {

namespace {

using Column = Vector<std::int32_t>;
using Flags = std::optional<Vector<std::uint8_t>>;

PairColumns columns(const Column& first, const Column& second) { return {first.data(), second.data(), first.shape(0)}; }

nb::object as_pairs(const std::vector<std::int32_t>& first, const std::vector<std::int32_t>& second) {
  Pairs pairs;
  pairs.block = allocate_pairs(first.size() + 1);
  pairs.stride = first.size() + 1;
  pairs.size = first.size();
  std::copy(first.begin(), first.end(), pairs.block.get());
  std::copy(second.begin(), second.end(), pairs.block.get() + pairs.stride);
  return as_array(std::move(pairs));
}

nb::object as_flags(PlainMemory<std::uint8_t>&& flags, std::size_t count) {
  std::uint8_t* data = flags.release();
  nb::capsule owner(data, [](void* block) noexcept { std::free(block); });
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, 1, &count, owner));
}

// (touching, is_new, began, ended): see `next_touching`.
nb::object next(Column last_first, Column last_second, Column found_first, Column found_second, Column again_first,
                Column again_second, Flags changed, Flags renewed, std::size_t rows) {
  TouchingStep step;
  {
    const nb::gil_scoped_release release;
    step = next_touching(columns(last_first, last_second), columns(found_first, found_second),
                         columns(again_first, again_second),
                         {changed ? changed->data() : nullptr, renewed ? renewed->data() : nullptr}, rows);
  }
  const std::size_t size = step.touching.size;
  nb::object began = as_pairs(step.began_first, step.began_second),
             ended = as_pairs(step.ended_first, step.ended_second);
  nb::object is_new = as_flags(std::move(step.is_new), size);
  return nb::make_tuple(as_array(std::move(step.touching)), is_new, began, ended);
}

}  // namespace

void bind_touching(nb::module_& module) {
  module.def("next_touching", &next, nb::arg("last_first"), nb::arg("last_second"), nb::arg("found_first"),
             nb::arg("found_second"), nb::arg("again_first"), nb::arg("again_second"), nb::arg("changed").none(),
             nb::arg("renewed").none(), nb::arg("rows"));
}

}  // namespace broadphase::python
