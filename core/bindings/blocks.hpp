// Arrays of NumPy that take over blocks of the core.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/memory.hpp"
#include "bindings.hpp"

namespace broadphase::python {

// An array of shape (rows, columns), or (rows,) if there are 0 columns, that takes over a block.
template <class T>
nb::object owned(PlainMemory<T>&& block, std::size_t rows, std::size_t columns) {
  auto kept = std::make_unique<PlainMemory<T>>(std::move(block));
  T* data = kept->get();
  nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<PlainMemory<T>*>(p); });
  (void)kept.release();
  const std::size_t shape[2] = {rows, columns};
  return nb::cast(nb::ndarray<nb::numpy, T>(data, columns > 0 ? 2 : 1, shape, owner));
}

}  // namespace broadphase::python
