// Steps with a budget: the order in which pairs are tested, tests until the time is up, and what is left.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "placed_shapes.hpp"
#include "world/turns.hpp"

namespace broadphase::python {

namespace {

using Flags = Vector<std::uint8_t>;
using Numbers64 = Vector<std::int64_t>;

PairColumns columns(const Rows& first, const Rows& second) { return {first.data(), second.data(), first.shape(0)}; }

Pairs copy_of(const Rows& first, const Rows& second) {
  Pairs pairs;
  pairs.size = first.shape(0);
  pairs.stride = std::max<std::size_t>(pairs.size, 1);
  pairs.block = allocate_pairs(pairs.stride);
  std::copy_n(first.data(), pairs.size, pairs.block.get());
  std::copy_n(second.data(), pairs.size, pairs.block.get() + pairs.stride);
  return pairs;
}

nb::object as_pairs(Pairs&& pairs) {
  if (pairs.block == nullptr) {
    pairs.block = allocate_pairs(1);
    pairs.stride = 1;
  }
  return as_array(std::move(pairs));
}

// (pairs, since, is_idle, order, ends, oldest): see `turns_of`. `ranks`: those of the 64 layers, of rows in no named
// layer, and how many there are; or None.
nb::object turns(std::size_t dimension, Rows first, Rows second, bool is_tight, Rows waiting_first, Rows waiting_second,
                 Numbers64 waiting_since, Flags waiting_dropped, Numbers boxes, Flags changed, Flags renewed,
                 std::size_t rows, std::optional<Flags> ranks, std::optional<Vector<std::uint64_t>> bits,
                 std::int64_t number, bool is_sorted) {
  Turns found;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    Ranks of_layers{bits ? bits->data() : nullptr, {}, 0};
    std::size_t rank_count = 1;
    if (ranks) {
      std::copy_n(ranks->data(), 64, of_layers.of_bit.begin());
      of_layers.otherwise = ranks->data()[64];
      rank_count = ranks->data()[65];
    }
    const WaitingPairs waiting{columns(waiting_first, waiting_second), waiting_since.data(), waiting_dropped.data()};
    const RowsOfStep of_step{boxes.data(), changed.data(), renewed.data(), rows};
    const auto made = [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
      return turns_of<D>(copy_of(first, second), is_tight, waiting, of_step, ranks ? &of_layers : nullptr, rank_count,
                         number, is_sorted, interrupt);
    };
    found = dimension == 2 ? made(std::integral_constant<std::size_t, 2>())
                           : made(std::integral_constant<std::size_t, 3>());
  }
  nb::object pairs = as_pairs(std::move(found.pairs)), since = as_array(std::move(found.since), 1),
             is_idle = as_array(std::move(found.is_idle), 1), order = as_array(std::move(found.order), 1);
  nb::object ends = as_array(std::move(found.ends), 1);
  return nb::make_tuple(pairs, since, is_idle, order, ends, found.oldest);
}

nb::object weights(const PlacedShapes& shapes, Flags alive) {
  const std::size_t rows = alive.shape(0);
  return as_array(shapes.dimension == 2 ? weights_of<2>(shapes.store, alive.data(), rows)
                                        : weights_of<3>(shapes.store, alive.data(), rows),
                  1);
}

// (pairs without a flagged row, pairs with one).
nb::object parted(Rows first, Rows second, Flags flags) {
  PairBuffer without(nullptr, false), with(nullptr, false);
  {
    const ReleasedGil release;
    const std::size_t count = first.shape(0);
    for (PairBuffer* buffer : {&without, &with}) buffer->room(count + 1);
    std::int32_t* to[2][2] = {{without.first(), without.second()}, {with.first(), with.second()}};
    std::size_t sizes[2] = {0, 0};
    for (std::size_t k = 0; k < count; ++k) {
      const std::int32_t i = first.data()[k], j = second.data()[k];
      const std::size_t which = (flags.data()[i] | flags.data()[j]) != 0 ? 1 : 0;
      to[which][0][sizes[which]] = i;
      to[which][1][sizes[which]++] = j;
    }
    without.commit(sizes[0]);
    with.commit(sizes[1]);
  }
  const auto listed = [](PairBuffer& buffer) {
    Pairs pairs;
    pairs.size = buffer.size();
    pairs.stride = buffer.capacity();
    pairs.block = buffer.release();
    return as_pairs(std::move(pairs));
  };
  nb::object quick = listed(without);
  return nb::make_tuple(quick, listed(with));
}

// (how many were tested, pairs that overlap, places of pairs with a hull or a mesh): see `touching_in_time`.
nb::object touching(const PlacedShapes& shapes, Rows first, Rows second, Rows order, Flags weights, double seconds,
                    unsigned workers) {
  TestedPairs found;
  {
    const ReleasedGil release;
    const PairColumns pairs = columns(first, second);
    found =
        shapes.dimension == 2
            ? touching_in_time<2>(shapes.store, pairs, order.data(), order.shape(0), weights.data(), seconds, workers)
            : touching_in_time<3>(shapes.store, pairs, order.data(), order.shape(0), weights.data(), seconds, workers);
  }
  nb::object kept = as_pairs(std::move(found.touching));
  return nb::make_tuple(found.tested, kept, as_array(std::move(found.unknown), 1));
}

// (pairs, since, is_dropped, touching): see `left_pairs`.
nb::object left(Rows first, Rows second, Numbers64 since, Flags is_idle, Flags is_tested, Rows last_first,
                Rows last_second, Flags renewed, std::size_t rows, bool is_sorted) {
  LeftPairs found;
  {
    const ReleasedGil release;
    Interrupt interrupt(signal_pending);
    found = left_pairs(columns(first, second), since.data(), is_idle.data(), is_tested.data(),
                       columns(last_first, last_second), renewed.data(), rows, is_sorted, interrupt);
  }
  nb::object pairs = as_pairs(std::move(found.pairs)), ages = as_array(std::move(found.since), 1),
             is_dropped = as_array(std::move(found.is_dropped), 1);
  return nb::make_tuple(pairs, ages, is_dropped, as_pairs(std::move(found.touching)));
}

}  // namespace

void bind_turns(nb::module_& module);

void bind_turns(nb::module_& module) {
  const auto first = nb::arg("first"), second = nb::arg("second"), renewed = nb::arg("renewed"),
             shapes = nb::arg("shapes"), since = nb::arg("since"), order = nb::arg("order");
  module.def("turns", &turns, nb::arg("dimension"), first, second, nb::arg("is_tight"), nb::arg("waiting_first"),
             nb::arg("waiting_second"), nb::arg("waiting_since"), nb::arg("waiting_dropped"), nb::arg("boxes"),
             nb::arg("changed"), renewed, nb::arg("rows"), nb::arg("ranks").none(), nb::arg("bits").none(),
             nb::arg("number"), nb::arg("is_sorted"),
             "Pairs in lexicographic order, since when each waits, which are idle, the order of their turns, and where "
             "each priority ends.");
  module.def("test_weights", &weights, shapes, nb::arg("alive"),
             "How long tests with each row take, roughly; 0: no time.");
  module.def("parted_pairs", &parted, first, second, nb::arg("flags"), "Pairs without a flagged row; pairs with one.");
  module.def("shape_touching_in_time", &touching, shapes, first, second, order, nb::arg("weights"), nb::arg("seconds"),
             nb::arg("workers"), "Test pairs until the time is up: how many were tested, and those that overlap.");
  module.def("left_pairs", &left, first, second, since, nb::arg("is_idle"), nb::arg("is_tested"), nb::arg("last_first"),
             nb::arg("last_second"), renewed, nb::arg("rows"), nb::arg("is_sorted"),
             "What had no turn, since when, and what of it touched after the last step.");
}

}  // namespace broadphase::python
