// Tiles of space, for boxes that do not fit into memory.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "tiles/tiling.hpp"

namespace broadphase::python {

namespace {

// What comes from a file is checked here, since a wrong number would be read as an address.
Tiling tiling_of(Vector<double> at, Vector<std::int32_t> axis, Vector<std::int32_t> leaves, std::size_t dimension) {
  const std::size_t planes = at.shape(0);
  if (dimension < 1 || dimension > 4 || leaves.shape(0) != planes + 1 || axis.shape(0) != planes ||
      (planes & (planes + 1)) != 0 || planes >= std::size_t{1} << Tiling::kMaxDepth)
    throw std::invalid_argument("planes and leaves are no complete binary tree");
  std::vector<Tiling::Plane> kept;
  kept.reserve(planes);
  for (std::size_t k = 0; k < planes; ++k) {
    if (axis.data()[k] < 0 || static_cast<std::size_t>(axis.data()[k]) >= dimension)
      throw std::invalid_argument("a plane is along no axis");
    kept.push_back({at.data()[k], axis.data()[k]});
  }
  std::vector<std::int32_t> tiles(leaves.data(), leaves.data() + leaves.shape(0));
  // Whatever can be reached has a number of its own.
  std::vector<std::uint8_t> reached(tiles.size() + planes), numbered(tiles.size());
  reached[0] = 1;
  for (std::size_t k = 0; k < planes; ++k) {
    reached[2 * k + 1] = reached[k];
    reached[2 * k + 2] = reached[k] != 0 && !std::isnan(kept[k].at) ? 1 : 0;
  }
  for (std::size_t leaf = 0; leaf < tiles.size(); ++leaf) {
    if (reached[planes + leaf] == 0) {
      tiles[leaf] = -1;
      continue;
    }
    const std::int32_t tile = tiles[leaf];
    if (tile < 0 || static_cast<std::size_t>(tile) >= tiles.size() || numbered[static_cast<std::size_t>(tile)] != 0)
      throw std::invalid_argument("the tiles are not numbered");
    numbered[static_cast<std::size_t>(tile)] = 1;
  }
  return {std::move(kept), std::move(tiles), dimension};
}

// Of each tile: where its rows begin, how many of them have their lower corner in it; the rows; and the wide ones.
nb::object assign(const Tiling& tiling, AnyArray lower, AnyArray upper, std::size_t most) {
  TileRows found = at_work([&](Interrupt&) {
    return with_boxes(lower, upper, [&](const auto& boxes) { return tiling.assign(boxes, most); });
  });
  return as_tuple(std::move(found.offsets), std::move(found.homes), std::move(found.rows), std::move(found.wide));
}

}  // namespace

void bind_tiles(nb::module_& module) {
  nb::class_<Tiling>(module, "Tiling")
      .def(
          "__init__",
          [](Tiling* self, Vector<double> at, Vector<std::int32_t> axis, Vector<std::int32_t> leaves,
             std::size_t dimension) { new (self) Tiling(tiling_of(at, axis, leaves, dimension)); },
          "at"_a, "axis"_a, "leaves"_a, "dimension"_a)
      .def_prop_ro("tiles", &Tiling::tiles)
      .def("assign", &assign, "lower"_a, "upper"_a, "most"_a);
}

}  // namespace broadphase::python
