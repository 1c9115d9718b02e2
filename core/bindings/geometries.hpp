// What the core keeps of hulls, meshes, height fields and point clouds, as a list of Python has it by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "narrow/geometries.hpp"
#include "shapes/store.hpp"

namespace broadphase::python {

// Keeps the heights.
struct KeptHeightField {
  KeptHeightField(Table<double> of, double dx, double dy, double bottom)
      : heights(std::move(of)),
        field(heights.data(), checked(heights.shape(0)), checked(heights.shape(1)), dx, dy, bottom) {}

  Table<double> heights;
  HeightField field;

 private:
  static std::size_t checked(std::size_t points) {
    if (points < 2 || points >= std::size_t{1} << 31) throw nb::value_error("heights must have two rows and columns");
    return points;
  }
};

// Keeps the points.
struct KeptCloud {
  KeptCloud(Table<double> of, double radius)
      : points(std::move(of)), cloud(points.data(), checked(points.shape(0), points.shape(1)), radius) {}

  Table<double> points;
  CloudTree cloud;

 private:
  static std::size_t checked(std::size_t count, std::size_t columns) {
    if (columns != 3 || count < 1 || count >= std::size_t{1} << 31) throw nb::value_error("points must be (n, 3)");
    return count;
  }
};

inline Geometry geometry_of(nb::handle kept) {
  if (nb::isinstance<MeshTree>(kept)) return {.tree = nb::cast<const MeshTree*>(kept)};
  if (nb::isinstance<KeptHeightField>(kept)) return {.field = &nb::cast<const KeptHeightField&>(kept).field};
  if (nb::isinstance<KeptCloud>(kept)) return {.cloud = &nb::cast<const KeptCloud&>(kept).cloud};
  return {.polytope = kept.is_none() ? nullptr : nb::cast<const Polytope*>(kept)};
}

inline std::vector<Geometry> geometries_of(const nb::list& list) {
  std::vector<Geometry> geometries;
  geometries.reserve(list.size());
  for (const nb::handle kept : list) geometries.push_back(geometry_of(kept));
  return geometries;
}

// All of them, looked up once. Keeps the list.
struct KeptGeometries {
  explicit KeptGeometries(nb::list prepared) : list(std::move(prepared)), geometries(geometries_of(list)) {}

  nb::list list;
  std::vector<Geometry> geometries;
};

// Those of some rows by their numbers: all that are known, if there are not more of them than rows.
inline std::vector<Geometry> geometries_of(const nb::list& list, const ShapeStore& store,
                                           std::span<const std::int32_t> rows) {
  if (rows.size() >= list.size()) return geometries_of(list);
  std::vector<Geometry> geometries(list.size());
  for (const std::int32_t row : rows) {
    const ShapeView<3> shape = store.placed<3>(static_cast<std::size_t>(row));
    if (!is_kept_elsewhere(shape.kind)) continue;
    const auto number = static_cast<std::size_t>(shape.record[0]);
    geometries[number] = geometry_of(list[number]);
  }
  return geometries;
}

}  // namespace broadphase::python
