// Filters as Python passes them: of pairs, and of the rows that a query may return. They keep their arrays alive.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "bindings.hpp"
#include "query/filter.hpp"
#include "query/queries.hpp"
#include "query/sight.hpp"

namespace broadphase::python {

// The attributes of boxes that a filter of pairs reads.
class PairFilter {
 public:
  using Words = std::optional<Vector<std::uint64_t>>;
  using Integers = std::optional<Vector<std::int64_t>>;
  using Bytes = std::optional<Vector<std::uint8_t>>;
  using Rows = std::optional<Table<std::int64_t>>;

  // Two of each where there are two sets, else the same array twice. `shared`: as `BoxAttributes` says. `ignored`:
  // pairs of rows, (k, 2), less than 2^31; of one set in either order, unless they have one.
  PairFilter(std::pair<Words, Words> layer, std::pair<Words, Words> mask, std::pair<Integers, Integers> group,
             std::pair<Bytes, Bytes> is_static, std::pair<Rows, Rows> shared, const Rows& ignored, bool has_order,
             std::pair<Integers, Integers> batch)
      : layer_(std::move(layer)),
        mask_(std::move(mask)),
        group_(std::move(group)),
        static_(std::move(is_static)),
        shared_(std::move(shared)),
        batch_(std::move(batch)) {
    set(filter_.first, layer_.first, mask_.first, group_.first, static_.first, shared_.first);
    set(filter_.second, layer_.second, mask_.second, group_.second, static_.second, shared_.second);
    if (batch_.first) filter_.first.batch = batch_.first->data();
    if (batch_.second) filter_.second.batch = batch_.second->data();
    if (ignored) {
      const std::int64_t* pair = ignored->data();
      ignored_.start(ignored->shape(0));
      for (std::size_t k = 0; k < ignored->shape(0); ++k, pair += 2) {
        const auto one = static_cast<std::uint32_t>(pair[0]), other = static_cast<std::uint32_t>(pair[1]);
        ignored_.add(has_order ? one : std::min(one, other), has_order ? other : std::max(one, other));
      }
      filter_.ignored = &ignored_;
    }
  }
  // One of arrays that the caller keeps alive.
  explicit PairFilter(const Filter& filter) : filter_(filter) {}
  const Filter* get() const { return &filter_; }

 private:
  static void set(BoxAttributes& to, const Words& layer, const Words& mask, const Integers& group,
                  const Bytes& is_static, const Rows& shared) {
    if (layer) to.layer = layer->data();
    if (mask) to.mask = mask->data();
    if (group) to.group = group->data();
    if (is_static) to.is_static = is_static->data();
    if (shared) {
      to.shared = shared->data();
      to.shared_width = shared->shape(1);
    }
  }

  std::pair<Words, Words> layer_, mask_;
  std::pair<Integers, Integers> group_;
  std::pair<Bytes, Bytes> static_;
  std::pair<Rows, Rows> shared_;
  PairSet ignored_;
  std::pair<Integers, Integers> batch_;
  Filter filter_;
};

// What queries may find, by layers and masks and without some rows. Keeps the arrays alive.
class RowFilter {
 public:
  using Words = Vector<std::uint64_t>;

  // A single layer or mask of the rows is that of all. `version` as in QueryFilter.
  void set_layers(Words row_layer, Words row_mask, Words query_layer, Words query_mask, std::uint64_t version) {
    const auto are_one = [](const Words& words) {
      const std::uint64_t* end = words.data() + words.shape(0);
      return words.shape(0) > 0 &&
             std::find_if(words.data(), end, [&](auto word) { return word != *words.data(); }) == end;
    };
    filter_.version = version;
    filter_.is_uniform = are_one(query_layer) && are_one(query_mask);
    filter_.row_layer = row_layer.data();
    filter_.row_mask = row_mask.data();
    filter_.query_layer = query_layer.data();
    filter_.query_mask = query_mask.data();
    filter_.row_layer_step = row_layer.shape(0) == 1 ? 0 : 1;
    filter_.row_mask_step = row_mask.shape(0) == 1 ? 0 : 1;
    layers_[0] = std::move(row_layer);
    layers_[1] = std::move(row_mask);
    layers_[2] = std::move(query_layer);
    layers_[3] = std::move(query_mask);
  }
  // (q, k), or (1, k) for all queries; each list ascending.
  void set_ignored(Table<std::int32_t> rows) {
    filter_.ignored = rows.data();
    filter_.ignored_count = rows.shape(1);
    filter_.ignored_step = rows.shape(0) == 1 ? 0 : rows.shape(1);
    ignored_ = std::move(rows);
  }
  // Queries at (q, d) points with (q, d) headings see what lies within their angle: rows by places, (n, d), in a
  // periodic world with these edges, or by the centers of boxes.
  void set_sight(Table<double> points, Table<double> headings, Vector<double> angles, Table<double> places,
                 std::optional<Vector<double>> edges) {
    see(points, headings, angles).look_at(places.data(), edges ? edges->data() : nullptr);
    places_ = std::move(places);
    edges_ = std::move(edges);
  }
  void set_sight_of_boxes(Table<double> points, Table<double> headings, Vector<double> angles, AnyArray lower,
                          AnyArray upper) {
    see(points, headings, angles).look_at(any_boxes(lower, upper));
    boxes_[0] = std::move(lower);
    boxes_[1] = std::move(upper);
  }
  const QueryFilter& get() const { return filter_; }

 private:
  RowSight& see(const Table<double>& points, const Table<double>& headings, const Vector<double>& angles) {
    const Sight sight{headings.data(), angles.data(), angles.shape(0) == 1};
    sight_ = std::make_unique<RowSight>(sight, points.data(), points.shape(0), points.shape(1));
    filter_.sight = sight_.get();
    points_ = points;
    return *sight_;
  }

  std::unique_ptr<RowSight> sight_;
  Table<double> points_, places_;
  std::optional<Vector<double>> edges_;
  AnyArray boxes_[2];
  Words layers_[4];
  Table<std::int32_t> ignored_;
  QueryFilter filter_;
};

}  // namespace broadphase::python
