// Checking boxes and copying them into an index.
#include "boxes/check.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "base/with_dimension.hpp"
#include "bindings.hpp"

namespace broadphase::python {

namespace {

// Below, releasing the GIL takes longer than the work.
constexpr std::size_t kWorthLettingGo = 4096;

template <class Use>
auto without_gil(std::size_t count, Use&& use) {
  if (count < kWorthLettingGo) return use();
  const ReleasedGil release;
  return use();
}

std::int64_t first_invalid_row(AnyArray lower, AnyArray upper) {
  const auto find = [&](const auto& boxes) -> std::int64_t {
    const std::size_t row = without_gil(
        boxes.count, [&] { return with_dimension(lower.shape(1), [&](auto d) { return first_invalid<d()>(boxes); }); });
    return row < boxes.count ? static_cast<std::int64_t>(row) : -1;
  };
  return with_boxes(lower, upper, find);
}

void keep(AnyArray lower, AnyArray upper, std::optional<Vector<std::int32_t>> rows,
          nb::ndarray<nb::ndim<3>, nb::c_contig, nb::device::cpu> corners) {
  const std::int32_t* to = rows ? rows->data() : nullptr;
  with_boxes(lower, upper, [&]<class T>(const BoxView<T>& boxes) {
    T* kept = static_cast<T*>(corners.data());
    without_gil(boxes.count,
                [&] { with_dimension(lower.shape(1), [&](auto d) { keep_boxes<d()>(boxes, to, kept); }); });
  });
}

}  // namespace

void bind_keep_boxes(nb::module_& module) {
  module.def("first_invalid", &first_invalid_row, nb::arg("lower"), nb::arg("upper"),
             "The first row with NaN or lower > upper; -1 if there is none.");
  module.def("keep_boxes", &keep, nb::arg("lower"), nb::arg("upper"), nb::arg("rows").none(), nb::arg("corners"),
             "Copy boxes to rows of an array of shape (n, 2, d) and the same dtype; None: to the first ones.");
}

}  // namespace broadphase::python
