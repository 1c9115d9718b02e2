// What questions to any index come with: boxes of either type, and layers.
#pragma once

#include "bindings.hpp"
#include "boxes/any_boxes.hpp"
#include "query/queries.hpp"

namespace broadphase::python {

inline AnyBoxes any_boxes(const AnyArray& lower, const AnyArray& upper) {
  return with_boxes(lower, upper, [&](const auto& boxes) { return AnyBoxes(boxes, lower.shape(1)); });
}

// Keeps its arrays alive.
class LayerFilter {
 public:
  using Words = Vector<std::uint64_t>;
  LayerFilter(Words row_layer, Words row_mask, Words query_layer, Words query_mask)
      : arrays_{row_layer, row_mask, query_layer, query_mask},
        filter_{row_layer.data(), row_mask.data(), query_layer.data(), query_mask.data()} {}
  const QueryFilter& get() const { return filter_; }

 private:
  Words arrays_[4];
  QueryFilter filter_;
};

}  // namespace broadphase::python
