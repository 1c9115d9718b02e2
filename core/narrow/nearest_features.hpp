// The features of a tree that are nearest to others: as shapely finds them, or k of them.
//
// shapely lets GEOS search its STR tree, by the distances that GEOS computes. It adds 1e-6 to that of the nearest row
// so far, so that rows as near as this one are found too. Which rows the search comes to, and in which order, depends
// on distances of boxes, which GEOS rounds, and on its heap: `NearestFeatures` repeats it, step by step. But of what is
// farther than the nearest row so far, and what is added, it does not compute how far: the search ends before. On which
// place of the heap that lies matters to nothing nearer, whose places are the same whatever the order of the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "boxes/flat_box.hpp"
#include "tree/str_tree.hpp"

namespace broadphase {

// What is nearest: all that are equally near or the first of these that the search comes to, as `query_nearest` of
// shapely's tree returns them; the one at which the search ends, as `nearest` returns it; or k rows, the nearest first,
// then the smaller row: with all that are as far as the last of them, or without.
enum class NearestKind : std::uint8_t { kAll, kFirst, kLast, kSomeAndEqual, kSome };

struct NearestOptions {
  NearestKind kind;
  std::size_t k;          // of the last two kinds; at least 1
  double most;            // rows that are farther are not found; may be infinite
  bool leaves_out_equal;  // rows that are equal to the query
};

// `Judge` has distance(query, row, limit), as GEOS computes it, or anything more than the limit if that is more;
// and are_equal(query, row), of those that have the same box.
template <class Judge>
class NearestFeatures {
 public:
  struct Found {
    double distance;
    std::size_t row;
    const FlatBox* box;
  };

  NearestFeatures(const StrTree& tree, const NearestOptions& options, Judge& judge)
      : tree_(tree), options_(options), judge_(judge) {}

  // What is nearest to a query: in `found`. `is_in_box`: whether boxes are around the query and around all rows, which
  // those of invalid polygons need not be.
  void find(std::size_t query, const FlatBox& box, bool is_in_box) {
    const bool has_found = !found_.empty();
    if (has_found) before_ = found_[0];
    found_.clear();
    if (tree_.size() == 0) return;
    FlatBox all = tree_.box();
    all.include(box);
    // More than differences of boxes, and distances, are rounded by.
    const double error = is_in_box ? 0x1p-44 * all.size() : std::numeric_limits<double>::infinity();
    switch (options_.kind) {
      case NearestKind::kSomeAndEqual:
      case NearestKind::kSome: find_some(query, box, error); break;
      case NearestKind::kAll:
      case NearestKind::kFirst:
      case NearestKind::kLast: find_as_shapely(query, box, error, has_found); break;
    }
  }
  const std::vector<Found>& found() const { return found_; }

 private:
  // Rows of other boxes are not equal.
  bool is_left_out(std::size_t query, const FlatBox& box, std::size_t row, const FlatBox& own) {
    return options_.leaves_out_equal && box.x == own.x && box.y == own.y && box.x_end == own.x_end &&
           box.y_end == own.y_end && judge_.are_equal(query, row);
  }

  // `error`: how much nearer rows may be than their boxes.
  void find_some(std::size_t query, const FlatBox& box, double error) {
    nearest_.clear();
    double limit = options_.most, square = (limit + error) * (limit + error);
    tree_.for_near(box, square, waiting_, [&](std::size_t row, const FlatBox& own) {
      if (is_left_out(query, box, row, own)) return;
      const double distance = judge_.distance(query, row, limit);
      if (distance > limit) return;
      found_.push_back({distance, row, &own});
      if (nearest_.size() == options_.k) {
        std::pop_heap(nearest_.begin(), nearest_.end());
        nearest_.pop_back();
      }
      nearest_.push_back(distance);
      std::push_heap(nearest_.begin(), nearest_.end());
      if (nearest_.size() < options_.k) return;
      limit = nearest_.front();
      square = (limit + error) * (limit + error);
    });
    std::erase_if(found_, [&](const Found& one) { return one.distance > limit; });
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return std::pair(a.distance, a.row) < std::pair(b.distance, b.row);
    });
    if (options_.kind == NearestKind::kSome) found_.resize(std::min(found_.size(), options_.k));
  }

  void find_as_shapely(std::size_t query, const FlatBox& box, double error, bool has_found) {
    constexpr double kFar = std::numeric_limits<double>::max();
    const double added = options_.kind == NearestKind::kAll ? 1e-6 : 0;
    double nearest = kFar, limit = kFar, square = std::numeric_limits<double>::infinity();
    const auto look_within = [&](double distance) {
      limit = distance + added;
      square = (limit + error) * (limit + error);
    };
    // What the query before has found is near to this one too, as a rule.
    Found near{kFar, tree_.size(), nullptr};
    if (has_found && !is_left_out(query, box, before_.row, *before_.box)) {
      near = {judge_.distance(query, before_.row, kFar), before_.row, before_.box};
      look_within(near.distance + error);
    }
    const std::size_t last = tree_.find_as_geos(box, square, waiting_, [&](std::size_t row, const FlatBox& own) {
      if (is_left_out(query, box, row, own)) return kFar;
      const double distance = row == near.row ? near.distance : judge_.distance(query, row, limit);
      if (distance > nearest || distance > limit) return distance;
      if (distance < nearest) found_.clear();
      nearest = distance;
      found_.push_back({distance, row, &own});
      if (nearest + added < limit) look_within(nearest);
      return distance + added;
    });
    if (options_.kind == NearestKind::kFirst) found_.resize(std::min<std::size_t>(found_.size(), 1));
    if (options_.kind == NearestKind::kLast) std::erase_if(found_, [&](const Found& one) { return one.row != last; });
    leave_out_far(box);
  }

  // shapely looks for boxes first, those that overlap the grown box of the query: rounding may leave out all.
  void leave_out_far(const FlatBox& box) {
    std::erase_if(found_, [&](const Found& one) { return one.distance > options_.most; });
    if (found_.empty() || std::isinf(options_.most)) return;
    const FlatBox grown = box.grown(options_.most);
    if (!found_[0].box->overlaps(grown) && !tree_.has_overlap(grown, waiting_)) found_.clear();
  }

  const StrTree& tree_;
  const NearestOptions options_;
  Judge& judge_;
  Found before_{};  // what was found last
  std::vector<Found> found_;
  std::vector<double> nearest_;  // a heap of the k least distances
  std::vector<StrTree::Waiting> waiting_;
};

}  // namespace broadphase
