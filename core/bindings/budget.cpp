// Steps with a budget: the order in which pairs are tested, tests until the time is up, and what is left.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "bindings.hpp"
#include "placed_shapes.hpp"
#include "world/budget.hpp"

namespace broadphase::python {

namespace {

using Numbers64 = Vector<std::int64_t>;

PairColumns columns(const Rows& first, const Rows& second) { return {first.data(), second.data(), first.shape(0)}; }

// (pairs, since, is_idle, order, ends, oldest): see `test_queue_of`. `ranks`: those of the 64 layers, of rows in no
// named layer, and how many there are; or None.
nb::object test_queue(std::size_t dimension, Rows first, Rows second, bool is_tight, Rows waiting_first,
                      Rows waiting_second, Numbers64 waiting_since, Flags waiting_dropped, Numbers boxes, Flags changed,
                      Flags renewed, std::size_t rows, std::optional<Flags> ranks,
                      std::optional<Vector<std::uint64_t>> bits, std::int64_t number, bool is_sorted) {
  TestQueue found = at_work([&](Interrupt& interrupt) {
    Ranks of_layers{data_of(bits), {}, 0};
    std::size_t rank_count = 1;
    if (ranks) {
      std::copy_n(ranks->data(), 64, of_layers.of_bit.begin());
      of_layers.otherwise = ranks->data()[64];
      rank_count = ranks->data()[65];
    }
    const WaitingPairs waiting{columns(waiting_first, waiting_second), waiting_since.data(), waiting_dropped.data()};
    const RowsOfStep of_step{boxes.data(), changed.data(), renewed.data(), rows};
    return in_plane_or_space(dimension, [&](auto d) {
      return test_queue_of<d()>(copy_of(columns(first, second)), is_tight, waiting, of_step,
                                ranks ? &of_layers : nullptr, rank_count, number, is_sorted, interrupt);
    });
  });
  return as_tuple(std::move(found.pairs), std::move(found.since), std::move(found.is_idle), std::move(found.order),
                  std::move(found.ends), found.oldest);
}

nb::object weights(const PlacedShapes& shapes, Flags alive) {
  return as_array(in_plane_or_space(
      shapes.dimension, [&](auto d) { return weights_of<d()>(shapes.store, alive.data(), alive.shape(0)); }));
}

// (pairs without a flagged row, pairs with one).
nb::object parted(Rows first, Rows second, Flags flags) {
  Pairs parts[2];
  at_work([&](Interrupt&) {
    const std::size_t count = first.shape(0);
    for (Pairs& part : parts) part = {allocate_pairs(count + 1), 0, count + 1};
    for (std::size_t k = 0; k < count; ++k) {
      const std::int32_t i = first.data()[k], j = second.data()[k];
      push(parts[(flags.data()[i] | flags.data()[j]) != 0 ? 1 : 0], i, j);
    }
  });
  return as_tuple(std::move(parts[0]), std::move(parts[1]));
}

// (how many were tested, pairs that overlap, places of pairs with a hull or a mesh): see `touching_in_time`.
nb::object touching(const PlacedShapes& shapes, Rows first, Rows second, Rows order, Flags weights, double seconds,
                    unsigned workers) {
  TestedPairs found = at_work([&](Interrupt&) {
    return in_plane_or_space(shapes.dimension, [&](auto d) {
      return touching_in_time<d()>(shapes.store, columns(first, second), order.data(), order.shape(0), weights.data(),
                                   seconds, workers);
    });
  });
  return as_tuple(found.tested, std::move(found.touching), std::move(found.unknown));
}

// (pairs, since, is_dropped, touching): see `left_pairs`.
nb::object left(Rows first, Rows second, Numbers64 since, Flags is_idle, Flags is_tested, Rows last_first,
                Rows last_second, Flags renewed, std::size_t rows, bool is_sorted) {
  LeftPairs found = at_work([&](Interrupt& interrupt) {
    return left_pairs(columns(first, second), since.data(), is_idle.data(), is_tested.data(),
                      columns(last_first, last_second), renewed.data(), rows, is_sorted, interrupt);
  });
  return as_tuple(std::move(found.pairs), std::move(found.since), std::move(found.is_dropped),
                  std::move(found.touching));
}

}  // namespace

void bind_budget(nb::module_& module) {
  const auto first = "first"_a, second = "second"_a, renewed = "renewed"_a, shapes = "shapes"_a, since = "since"_a,
             order = "order"_a;
  module.def("test_queue", &test_queue, "dimension"_a, first, second, "is_tight"_a, "waiting_first"_a,
             "waiting_second"_a, "waiting_since"_a, "waiting_dropped"_a, "boxes"_a, "changed"_a, renewed, "rows"_a,
             "ranks"_a.none(), "bits"_a.none(), "number"_a, "is_sorted"_a,
             "Pairs in lexicographic order, since when each waits, which are idle, the order of their tests, and where "
             "each priority ends.");
  module.def("test_weights", &weights, shapes, "alive"_a, "How long tests with each row take, roughly; 0: no time.");
  module.def("parted_pairs", &parted, first, second, "flags"_a, "Pairs without a flagged row; pairs with one.");
  module.def("shape_touching_in_time", &touching, shapes, first, second, order, "weights"_a, "seconds"_a, "workers"_a,
             "Test pairs until the time is up: how many were tested, and those that overlap.");
  module.def("left_pairs", &left, first, second, since, "is_idle"_a, "is_tested"_a, "last_first"_a, "last_second"_a,
             renewed, "rows"_a, "is_sorted"_a,
             "What was not tested, since when, and what of it touched after the last step.");
}

}  // namespace broadphase::python
