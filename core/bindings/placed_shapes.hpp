// The store of shapes as Python uses it, and the types of its arrays.
#pragma once

#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "shapes/shape.hpp"
#include "shapes/store.hpp"

namespace broadphase::python {

using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Written = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using MaybeNumbers = std::optional<Numbers>;

// The vertices of a hull or a mesh.
struct KeptVertices {
  explicit KeptVertices(Table<double> of) : array(std::move(of)), tree({array.data(), array.size()}) {
    if (array.shape(1) != 3) throw nb::value_error("vertices must have shape (k, 3)");
  }

  Table<double> array;
  VertexTree tree;
};

// Those of all geometries by number.
class VerticesByNumber {
 public:
  // None: of a number that is not in use, or names no vertices.
  void put(std::size_t number, nb::object vertices) {
    constexpr std::size_t kMost = std::size_t{1} << 31;
    if (number >= kMost) throw nb::index_error("numbers of geometries are below 2^31");
    if (number >= kept_.size()) kept_.resize(number + 1);
    trees_.put(number, vertices.is_none() ? nullptr : &nb::cast<const KeptVertices&>(vertices).tree);
    kept_[number] = std::move(vertices);
  }
  const VertexTrees& trees() const { return trees_; }

 private:
  std::vector<nb::object> kept_;
  VertexTrees trees_;
};

// In 2-d or 3-d. Python checks the shapes of the arrays.
struct PlacedShapes {
  std::size_t dimension;
  ShapeStore store;

  // Gives rows shapes, all of them or none.
  void set(const Rows& rows, const Vector<std::uint8_t>& kinds, const Rows& sizes, const Vector<double>& numbers) {
    make_room(rows, kinds, sizes, numbers);
    put(rows, kinds, sizes, numbers);
  }
  // Checks what `put` is given, and makes room for it.
  void make_room(const Rows& rows, const Vector<std::uint8_t>& kinds, const Rows& sizes,
                 const Vector<double>& numbers) {
    const std::size_t count = rows.shape(0);
    if (kinds.shape(0) != count || sizes.shape(0) != count)
      throw nb::value_error("kinds and sizes must have one entry per row");
    ShapeStore::Room room;
    std::size_t at = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::int32_t size = sizes.data()[k];
      if (rows.data()[k] < 0 || size < 0 || static_cast<std::size_t>(size) > numbers.shape(0) - at ||
          !is_well_formed(kinds.data()[k], {numbers.data() + at, static_cast<std::size_t>(size)}, dimension))
        throw nb::value_error(("malformed record of shape " + std::to_string(k)).c_str());
      room.add(store, static_cast<std::size_t>(rows.data()[k]), static_cast<ShapeKind>(kinds.data()[k]),
               {numbers.data() + at, static_cast<std::size_t>(size)});
      at += static_cast<std::size_t>(size);
    }
    if (at != numbers.shape(0)) throw nb::value_error("numbers has more values than the records need");
    store.reserve(room);
  }
  void put(const Rows& rows, const Vector<std::uint8_t>& kinds, const Rows& sizes,
           const Vector<double>& numbers) noexcept {
    const double* record = numbers.data();
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
      const auto size = static_cast<std::size_t>(sizes.data()[k]);
      store.put(static_cast<std::size_t>(rows.data()[k]), static_cast<ShapeKind>(kinds.data()[k]), {record, size});
      record += size;
    }
    store.tidy();
  }
  // The records of rows, in the form that `set` takes.
  nb::object records(const Rows& rows) const {
    std::vector<std::uint8_t> kinds;
    std::vector<std::int32_t> sizes;
    std::vector<double> numbers;
    ShapeStore::LocalRoom room;
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
      const auto row = static_cast<std::size_t>(rows.data()[k]);
      require(row);
      const std::span<const double> record = store.local(row, room);
      kinds.push_back(static_cast<std::uint8_t>(store.kind(row)));
      sizes.push_back(static_cast<std::int32_t>(record.size()));
      numbers.insert(numbers.end(), record.begin(), record.end());
    }
    return as_tuple(std::move(kinds), std::move(sizes), std::move(numbers));
  }
  // Makes row k the axis-aligned box k of (n, 2, d), already placed: its corners are stored as given.
  void set_boxes(const Numbers& boxes) {
    const std::size_t length = 2 * dimension;
    for (std::size_t row = 0; row < boxes.shape(0); ++row)
      store.set_placed_box(row, {boxes.data() + row * length, length});
  }
  void clear(const Rows& rows) {
    for (std::size_t k = 0; k < rows.shape(0); ++k)
      if (static_cast<std::size_t>(rows.data()[k]) >= store.row_count()) throw nb::index_error("the row has no shape");
    for (std::size_t k = 0; k < rows.shape(0); ++k) store.clear(static_cast<std::size_t>(rows.data()[k]));
  }
  nb::object placed(std::size_t row) const {
    require(row);
    const std::span<const double> record = dimension == 2 ? store.placed<2>(row).record : store.placed<3>(row).record;
    return as_array(std::vector<double>(record.begin(), record.end()));
  }

 private:
  void require(std::size_t row) const {
    if (!store.has(row)) throw nb::index_error("the row has no shape");
  }
};

}  // namespace broadphase::python
