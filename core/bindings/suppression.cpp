// Suppression of boxes that overlap better ones, pair by pair, and the ratios by which it decides.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/with_dimension.hpp"
#include "bindings.hpp"
#include "boxes/overlap_ratio.hpp"

namespace broadphase::python {

namespace {

using Flags = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Boxes are rows of d lower and d upper corners.
nb::object overlap_ratios(Table<double> boxes, Table<double> others, Vector<std::int32_t> first,
                          Vector<std::int32_t> second, RatioTo measure) {
  const std::size_t pairs = first.shape(0), width = boxes.shape(1);
  std::vector<double> ratios;
  {
    const ReleasedGil release;
    ratios.resize(pairs);
    for (std::size_t k = 0; k < pairs; ++k) {
      const auto i = static_cast<std::size_t>(first.data()[k]), j = static_cast<std::size_t>(second.data()[k]);
      ratios[k] = overlap_ratio(boxes.data() + i * width, others.data() + j * width, width / 2, measure);
    }
  }
  return as_array(std::move(ratios), 1);
}

// The pairs with a ratio above the threshold.
nb::object pairs_above(Table<double> boxes, Table<double> others, Vector<std::int32_t> first,
                       Vector<std::int32_t> second, double threshold, RatioTo measure) {
  Pairs above;
  {
    const ReleasedGil release;
    const std::size_t pairs = first.shape(0);
    above.block = allocate_pairs(pairs);
    above.stride = pairs;
    const double *own = boxes.data(), *other = others.data();
    with_dimension(boxes.shape(1) / 2, [&](auto dimension) {
      constexpr std::size_t kDimension = decltype(dimension)::value;
      for (std::size_t k = 0; k < pairs; ++k) {
        const std::int32_t i = first.data()[k], j = second.data()[k];
        above.block[above.size] = i;
        above.block[pairs + above.size] = j;
        const double* box = own + static_cast<std::size_t>(i) * 2 * kDimension;
        const double ratio =
            overlap_ratio(box, other + static_cast<std::size_t>(j) * 2 * kDimension, kDimension, measure);
        above.size += ratio > threshold ? 1 : 0;
      }
    });
  }
  return as_array(std::move(above));
}

// In the order of the pairs: a first one that is kept takes away its second one. A pair is first << 32 | second.
void suppress(Vector<std::int64_t> pairs, Flags kept) {
  const ReleasedGil release;
  std::uint8_t* flags = kept.data();
  for (std::size_t k = 0; k < pairs.shape(0); ++k) {
    const std::int64_t pair = pairs.data()[k];
    if (flags[pair >> 32] != 0) flags[pair & 0xffffffff] = 0;
  }
}

}  // namespace

void bind_suppression(nb::module_& module) {
  nb::enum_<RatioTo>(module, "RatioTo").value("union", RatioTo::kUnion).value("smaller", RatioTo::kSmaller);
  module.def("overlap_ratios", &overlap_ratios, nb::arg("boxes"), nb::arg("others"), nb::arg("first"),
             nb::arg("second"), nb::arg("measure"));
  module.def("pairs_above", &pairs_above, nb::arg("boxes"), nb::arg("others"), nb::arg("first"), nb::arg("second"),
             nb::arg("threshold"), nb::arg("measure"));
  module.def("suppress", &suppress, nb::arg("pairs"), nb::arg("kept").noconvert());
}

}  // namespace broadphase::python
