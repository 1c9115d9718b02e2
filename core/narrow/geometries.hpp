// Hulls, meshes, height fields and point clouds by the numbers that placed records have for them, and shapes of any
// kind as the narrow phase of meshes takes them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "narrow/meshes.hpp"
#include "narrow/polytopes.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// All but one are null; all are for a custom shape, and for a number that is not in use.
struct Geometry {
  const MeshTree* tree = nullptr;
  const Polytope* polytope = nullptr;
  const HeightField* field = nullptr;
  const CloudTree* cloud = nullptr;

  // Whether it is a convex shape, or none at all.
  bool is_element() const { return tree == nullptr && field == nullptr && cloud == nullptr; }
  bool is_known() const { return !is_element() || polytope != nullptr; }
  bool operator==(const Geometry&) const = default;
};

// A placed shape, and its geometry if it has one.
inline MeshSide side_of(const ShapeView<3>& shape, const Geometry& geometry) {
  if (geometry.tree != nullptr) return MeshSide(*geometry.tree, shape.record);
  if (geometry.field != nullptr) return MeshSide(*geometry.field, shape.record);
  if (geometry.cloud != nullptr) return MeshSide(*geometry.cloud, shape.record);
  return MeshSide(shape, geometry.polytope);
}

// That of a record of any kind; none of one that the core knows.
inline Geometry geometry_of(const ShapeView<3>& shape, std::span<const Geometry> geometries) {
  return is_kept_elsewhere(shape.kind) ? geometries[static_cast<std::size_t>(shape.record[0])] : Geometry{};
}

// A placed shape of any kind but a custom one. `moved` is the storage for the record of a shape that `offset`, which
// may be null, moves.
inline MeshSide side_of(const ShapeView<3>& shape, std::span<const Geometry> geometries, const double* offset,
                        std::vector<double>& moved) {
  const Geometry geometry = geometry_of(shape, geometries);
  if (offset == nullptr) return side_of(shape, geometry);
  if (!geometry.is_element()) {
    MeshSide side = side_of(shape, geometry);
    side.move(offset);
    return side;
  }
  moved.assign(shape.record.begin(), shape.record.end());
  shift_shape<3>(shape.kind, moved, offset);
  return MeshSide({shape.kind, moved}, geometry.polytope);
}

}  // namespace broadphase
