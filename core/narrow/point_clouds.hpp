// Point clouds: balls of one radius around many points, in a tree of boxes around the points. Wherever boxes are
// compared, the radius counts, so that it may be as large as it wants.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "narrow/element_tree.hpp"

namespace broadphase {

class CloudTree : public ElementTree {
 public:
  static constexpr std::int32_t kLeaf = 4;  // points of a leaf, whose places follow each other; fewer of the last one

  // Three numbers each, which the caller keeps; at least one point, and less than 2^31. Preconditions: all is finite,
  // the radius is not negative.
  CloudTree(const double* points, std::size_t count, double radius) : points_(points), radius_(radius), rows_(count) {
    std::iota(rows_.begin(), rows_.end(), 0);
    arrange<kLeaf>(rows_, [&](std::int32_t row) { return points_ + 3 * std::ptrdiff_t{row}; });
    Bounds of_all;
    for (std::size_t k = 0; k < count; ++k) of_all.add(points_ + 3 * k);
    write_boxes(of_all, [&](std::int32_t first, Bounds& bounds) {
      for (std::int32_t place = first; place < end_of(first); ++place) bounds.add(point(place));
    });
  }

  std::size_t size() const { return rows_.size(); }
  double radius() const { return radius_; }
  const double* given() const { return points_; }
  // Of the point at some place in the tree.
  const double* point(std::int32_t place) const {
    return points_ + 3 * std::ptrdiff_t{rows_[static_cast<std::size_t>(place)]};
  }
  // One more than the last place of a leaf.
  std::int32_t end_of(std::int32_t first) const { return std::min(first + kLeaf, static_cast<std::int32_t>(size())); }
  bool precedes(const CloudTree& other) const {
    if (radius_ != other.radius_) return radius_ < other.radius_;
    return std::lexicographical_compare(points_, points_ + 3 * size(), other.points_, other.points_ + 3 * other.size());
  }
  std::size_t memory_bytes() const { return rows_.capacity() * sizeof(std::int32_t) + ElementTree::memory_bytes(); }

 private:
  const double* points_;
  double radius_;
  std::vector<std::int32_t> rows_;  // by the place
};

}  // namespace broadphase
