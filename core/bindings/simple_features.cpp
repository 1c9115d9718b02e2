// Pairs of simple features that meet, and the order of a tree of them.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "narrow/simple_features.hpp"
#include "tree/str_order.hpp"

namespace broadphase::python {

void bind_simple_features(nb::module_& module);

namespace {

nb::object features_meet(Table<double> coordinates, Vector<std::int64_t> first, Vector<std::int64_t> first_part,
                         Vector<std::uint8_t> kinds, Vector<std::uint8_t> holes, Vector<std::int64_t> one,
                         Vector<std::int64_t> other) {
  std::vector<std::uint8_t> meetings;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    FeatureMeetings features(
        {coordinates.data(), first.data(), first_part.data(), kinds.data(), holes.data(), kinds.shape(0)}, interrupt);
    meetings.resize(one.shape(0));
    for (std::size_t k = 0; k < meetings.size(); ++k)
      meetings[k] = static_cast<std::uint8_t>(
          features.meet(static_cast<std::size_t>(one.data()[k]), static_cast<std::size_t>(other.data()[k])));
  }
  return as_array(std::move(meetings), 1);
}

nb::object order_by_str(Table<double> bounds, std::size_t capacity) {
  std::vector<std::int64_t> order;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    order = str_order(bounds.data(), bounds.shape(0), capacity, interrupt);
  }
  return as_array(std::move(order), 1);
}

}  // namespace

void bind_simple_features(nb::module_& module) {
  module.def("features_meet", &features_meet, nb::arg("coordinates"), nb::arg("first"), nb::arg("first_part"),
             nb::arg("kinds"), nb::arg("holes"), nb::arg("one"), nb::arg("other"),
             "Of pairs of simple features, whether they meet: 0 no, 1 yes, 2 in doubt. Kinds are 0 points, 1 lines, 2 "
             "areas, 3 unknown.");
  module.def("str_order", &order_by_str, nb::arg("bounds"), nb::arg("capacity"),
             "The order in which the STR tree of GEOS visits boxes; empty where equal centers leave it open.");
}

}  // namespace broadphase::python
