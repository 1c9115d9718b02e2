// The bodies of a world as Python hands them to one call of a query.
#pragma once

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "filters.hpp"
#include "geometries.hpp"
#include "index.hpp"
#include "many_queries.hpp"
#include "placed_shapes.hpp"
#include "tree/tightened.hpp"
#include "world/limits.hpp"
#include "world/queries.hpp"

namespace broadphase::python {

// Bodies in the tree of an index, or in the trees of the keys of the queries, or in none; rows are theirs. Keeps all of
// it alive.
class BodiesInTree {
 public:
  // `boxes` are around the shapes; those in the tree may be larger. `limits`: bodies that are not wholly in this box,
  // lower and upper corner, are left out.
  BodiesInTree(nb::object tree, nb::object shapes, Boxes boxes, nb::object geometries, nb::object filter,
               std::optional<Vector<double>> limits, std::uint64_t version)
      : tree_owner_(std::move(tree)),
        shapes_owner_(std::move(shapes)),
        geometries_owner_(std::move(geometries)),
        filter_owner_(std::move(filter)),
        tree_(tree_owner_.is_none() ? nullptr : &nb::cast<const BlockIndex&>(tree_owner_)),
        shapes_(nb::cast<const PlacedShapes&>(shapes_owner_)),
        boxes_(std::move(boxes)),
        geometries_(nb::cast<const KeptGeometries&>(geometries_owner_).geometries),
        limits_(std::move(limits)),
        version_(version) {
    if (!filter_owner_.is_none()) filter_ = nb::cast<const RowFilter&>(filter_owner_).get();
    require(boxes_.shape(1) == 2 && boxes_.shape(2) == shapes_.dimension &&
            boxes_.shape(0) <= shapes_.store.row_count());
    require(!limits_ || limits_->shape(0) == 2 * dimension());
  }

  std::size_t dimension() const { return shapes_.dimension; }
  std::size_t slots() const { return boxes_.shape(0); }
  const QueryFilter& filter() const { return filter_; }
  bool has_tree() const { return tree_ != nullptr; }
  // Whether queries may find all of them, and the shape of each is the box around it.
  bool are_all_boxes() const {
    const StoredBall* balls = shapes_.store.balls();
    return filter_.allows_all() && !limits_ &&
           std::all_of(balls, balls + slots(),
                       [d = dimension()](const StoredBall& ball) { return ball[d] == ShapeStore::kBoxMark; });
  }
  AnyBoxes boxes() const { return {view(), dimension()}; }
  BoxView<double> view() const {
    const std::size_t d = dimension();
    const auto stride = static_cast<std::ptrdiff_t>(2 * d);
    return {boxes_.data(), boxes_.data() + d, stride, stride, slots()};
  }
  // Precondition of all: there is a tree.
  const BlockIndex& index() const { return *tree_; }
  const BlockTree& tree() const { return tree_->walked(); }
  ManyQueries queries() const { return {*tree_, boxes(), filter_}; }
  // The same for walks with tests of shapes, which may be in the tree of bodies that differ.
  ManyQueries distinct_queries() const { return {*tree_, boxes(), filter_, tree_->matching, copies()}; }
  // The same on a tree around the boxes themselves, in `tight`, where there are so many queries that it pays: from
  // `for_a_copy` for each body and thread on, see QueryLimits.
  ManyQueries distinct_queries(std::size_t count, double for_a_copy, unsigned workers, BlockIndex& tight) const {
    const std::size_t bodies = slots() * std::max(1u, workers);
    if (tree_->forest != nullptr || static_cast<double>(count) < for_a_copy * static_cast<double>(bodies) ||
        ManyQueries::tree_for_all(*tree_, boxes(), filter_, tree_->matching) != nullptr ||
        ManyQueries::distinct_for_all(*tree_, filter_, tree(), search_for_copies()) != nullptr)
      return distinct_queries();
    const ReleasedGil release;
    const bool is_copy = tighten(tree(), view(), tight.tree);
    return {is_copy ? tight : *tree_, boxes(), filter_, tree_->matching, copies()};
  }
  template <std::size_t D>
  QueriedBodies<D> bodies() const {
    return {&shapes_.store, boxes_.data(), geometries_, data_of(limits_)};
  }

 private:
  SearchForCopies search_for_copies() const {
    return {tree_->distinct,
            {version_, slots() / 4, true},
            [this](const BlockTree& of, const QueryFilter& filter, std::size_t query) {
              return in_plane_or_space(dimension(), [&](auto d) {
                return tree_of_distinct(of, boxes(), bodies<d()>(), chosen_kernels(), filter, query);
              });
            }};
  }
  ManyQueries::Copies copies() const {
    if (tree_->forest == nullptr) return {search_for_copies(), std::nullopt};
    return {std::nullopt, SearchForestForCopies{tree_->forest->distinct, {version_, slots() / 4, true}, [this] {
                                                  return in_plane_or_space(dimension(), [&](auto d) {
                                                    return forest_of_distinct(*tree_->forest, boxes(), bodies<d()>(),
                                                                              chosen_kernels());
                                                  });
                                                }}};
  }

  nb::object tree_owner_, shapes_owner_, geometries_owner_, filter_owner_;
  const BlockIndex* tree_;
  const PlacedShapes& shapes_;
  Boxes boxes_;
  std::span<const Geometry> geometries_;
  std::optional<Vector<double>> limits_;
  std::uint64_t version_;
  QueryFilter filter_;
};

}  // namespace broadphase::python
