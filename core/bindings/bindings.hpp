// What all files of the Python module share: conversions of arrays, boxes and results.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "boxes/any_boxes.hpp"
#include "boxes/box_view.hpp"
#include "gil.hpp"
#include "query/collect.hpp"
#include "query/problem.hpp"
#include "query/ragged.hpp"
#include "simd/kernels.hpp"

namespace nb = nanobind;

namespace broadphase::python {

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Rows of `lower` and `upper`, (n, d) arrays of T whose last axis is contiguous (checked in Python).
template <class T>
BoxView<T> view(const AnyArray& lower, const AnyArray& upper) {
  return {static_cast<const T*>(lower.data()), static_cast<const T*>(upper.data()), lower.stride(0), upper.stride(0),
          lower.shape(0)};
}

// Calls use(view) with the boxes in their own dtype.
template <class Use>
auto with_boxes(const AnyArray& lower, const AnyArray& upper, Use&& use) {
  return lower.dtype() == nb::dtype<float>() ? use(view<float>(lower, upper)) : use(view<double>(lower, upper));
}

inline AnyBoxes any_boxes(const AnyArray& lower, const AnyArray& upper) {
  return with_boxes(lower, upper, [&](const auto& boxes) { return AnyBoxes(boxes, lower.shape(1)); });
}

// An (m, 2) array that owns the block: two contiguous columns, seen as rows.
inline nb::object as_array(Pairs&& pairs) {
  std::int32_t* data = pairs.block.get();
  auto kept = std::make_unique<PairBlock>(std::move(pairs.block));
  nb::capsule owner(kept.get(), [](void* block) noexcept { delete static_cast<PairBlock*>(block); });
  (void)kept.release();
  const std::size_t shape[2] = {pairs.size, 2};
  const std::int64_t strides[2] = {1, static_cast<std::int64_t>(pairs.stride)};
  return nb::cast(nb::ndarray<nb::numpy, std::int32_t>(data, 2, shape, owner, strides));
}

// An array that takes over the values of a vector.
template <class T>
nb::object as_array(std::vector<T>&& values, std::size_t columns) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  T* data = kept->data();
  const std::size_t shape[2] = {kept->size() / columns, columns};
  nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  (void)kept.release();
  return nb::cast(nb::ndarray<nb::numpy, T>(data, columns > 1 ? 2 : 1, shape, owner));
}

// (n, dimension) values.
inline nb::object as_corners(std::vector<double>&& values, std::size_t dimension) {
  const std::size_t count = values.size() / dimension;
  return as_array(std::move(values), 1).attr("reshape")(count, dimension);
}

inline nb::object as_tuple(Ragged&& answers) {
  nb::object rows = as_array(std::move(answers.rows), 1);
  return nb::make_tuple(rows, as_array(std::move(answers.offsets), 1));
}

// Below, releasing the GIL takes longer than the work.
constexpr std::size_t kWorthLettingGo = 4096;

template <class Use>
auto without_gil(std::size_t count, Use&& use) {
  if (count < kWorthLettingGo) return use();
  const ReleasedGil release;
  return use();
}

// Runs pending Python signal handlers, from a thread that has released the GIL, and tells who watches this thread how
// far a search has come; true if one of these has raised.
bool signal_pending(std::size_t done, std::size_t total);

const Kernels& chosen_kernels();

// Before any index: it binds their filters.
void bind_pairs(nb::module_& module);
void bind_guard(nb::module_& module);
void bind_store(nb::module_& module);
void bind_commit(nb::module_& module);
void bind_regions(nb::module_& module);
void bind_suppression(nb::module_& module);
void bind_padding(nb::module_& module);
// Before any index: it binds their base class.
void bind_tree_queries(nb::module_& module);
void bind_few_queries(nb::module_& module);
void bind_bvh(nb::module_& module);
void bind_octree(nb::module_& module);
void bind_linear_tree(nb::module_& module);
void bind_sweep_and_prune(nb::module_& module);
void bind_brute_force(nb::module_& module);
void bind_joining(nb::module_& module);
void bind_grid(nb::module_& module);
void bind_shapes(nb::module_& module);
// After the shapes, whose class it uses.
void bind_meshes(nb::module_& module);
void bind_touching(nb::module_& module);
void bind_motion(nb::module_& module);

}  // namespace broadphase::python
